# Long lists of texts as regex nodes.

from libc.stdint cimport uint32_t

from earleymask.earley._nodes cimport Nodes
from earleymask.earley._tables cimport ByteSet

# Words of a K_CHOICES node: those texts of a K_LIST node from number C_FIRST on that come before C_END, which begin alike;
# what they have before C_DEPTH has been read.
cdef enum:
    C_LIST = 1
    C_FIRST = 2
    C_END = 3
    C_DEPTH = 4
    C_WORDS = 5

# The node of texts, bytes that are sorted and different from each other, and at least one.
cdef uint32_t make_choices(Nodes nodes, list texts) except? 0xFFFFFFFF
# The derivative of a K_CHOICES node, as `Nodes.derive`.
cdef uint32_t derive_choices(Nodes nodes, uint32_t node, uint32_t byte, ByteSet* same) except? 0xFFFFFFFF nogil
# Whether one of the texts of such a node, of which these are the words, has been read to its end.
cdef bint have_ended(Nodes nodes, const uint32_t* words) noexcept nogil
# Bytes that are left of its shortest text.
cdef uint32_t least_left(Nodes nodes, const uint32_t* words) noexcept nogil
