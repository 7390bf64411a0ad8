# Regexes less some words: what differs from the regex without its complements.

from libc.stdint cimport uint32_t

from earleymask.earley._nodes cimport Nodes
from earleymask.earley._tables cimport ByteSet

# Return the regex without the complements with which it, or its beginning, is intersected; NONE if there are none.
cdef uint32_t without_complements(Nodes nodes, uint32_t regex) except? 0xFFFFFFFF nogil
# Set `bytes_` to the bytes by which such a regex may have another derivative than the one without complements. Return
# False if that is not known.
cdef bint find_differing(Nodes nodes, uint32_t regex, ByteSet* bytes_) except? -1 nogil
# Return whether it is seen without a search that such a regex matches something.
cdef bint is_inhabited(Nodes nodes, uint32_t regex) except? -1 nogil
