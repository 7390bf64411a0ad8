# Long lists of texts as regex nodes.

from libc.stdint cimport uint32_t

from earleymask.earley._nodes cimport Nodes
from earleymask.earley._tables cimport ByteSet

# Words of a K_CHOICES node: the texts of a K_LIST node from number C_FIRST up to C_END, exclusive. Their first C_DEPTH
# bytes are the same, and have been read.
cdef enum:
    C_LIST = 1
    C_FIRST = 2
    C_END = 3
    C_DEPTH = 4
    C_WORDS = 5

# Return the node of these texts: at least one, sorted, and different from each other.
cdef uint32_t make_choices(Nodes nodes, list texts) except? 0xFFFFFFFF
# Derive a K_CHOICES node, as `Nodes.derive` does.
cdef uint32_t derive_choices(Nodes nodes, uint32_t node, uint32_t byte, ByteSet* same) except? 0xFFFFFFFF nogil
# Return whether a text of the node with these words has been read to its end.
cdef bint have_ended(Nodes nodes, const uint32_t* words) noexcept nogil
# Return how many bytes of its shortest text have not been read.
cdef uint32_t least_left(Nodes nodes, const uint32_t* words) noexcept nogil
