# Upper bounds in regexes that short texts do not come near.

from libc.stdint cimport uint32_t

from earleymask.earley._nodes cimport Nodes
from earleymask.earley._regex cimport Regexes

cdef enum:
    MOST_REACH = 0xFFFE         # `farthest` says no more than this; a text of more bytes is no token

# Return the most bytes that a text may have so that it cannot come near the farthest of the node's upper bounds; 0 if
# there is none.
cdef uint32_t farthest(Nodes nodes, uint32_t node) noexcept nogil
# Return the node without those of its bounds that no text of so many bytes comes near.
cdef uint32_t without_far(Regexes regexes, uint32_t node, uint32_t n_bytes) except? 0xFFFFFFFF nogil
