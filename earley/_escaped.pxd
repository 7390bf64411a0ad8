# The spellings of texts within a JSON string.

from libc.stdint cimport uint32_t, uint64_t

from earleymask.earley._nodes cimport Nodes
from earleymask.earley._tables cimport ByteSet

# Styles, any of them together.
cdef enum:
    STYLE_SHORTEST = 1              # only the escapes that are needed, each in its shortest form and with small letters
    STYLE_ASCII = 2                 # characters beyond ASCII are escaped

# In a node, E_BODY is the rest of the text; E_PHASE is how much of an escape has been read (0: nothing), E_VALUE the
# number that its hexadecimal digits make, and E_HIGH the first half of a surrogate pair while the second is read.
cdef uint32_t make_escaped(Nodes nodes, uint32_t body, uint32_t style, uint32_t phase, uint32_t value,
                           uint32_t high) except? 0xFFFFFFFF nogil
cdef uint32_t derive_escaped(Nodes nodes, uint32_t node, uint32_t byte, ByteSet* same) except? 0xFFFFFFFF nogil

# How many bytes a spelling has at least: of the rest of a text of `length` bytes or more, in a phase.
cdef uint64_t least_spelling(uint32_t phase, uint64_t length) noexcept nogil
