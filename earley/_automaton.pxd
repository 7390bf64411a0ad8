# The automaton of single regex nodes, for all grammars over one vocabulary.

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from earleymask.earley._adopt cimport Adopter
from earleymask.earley._regex cimport Regexes
from earleymask.earley._tables cimport ByteSet, Words
from earleymask.trie._quotient cimport Quotient

cdef enum:
    DEAD_END = 0                # a state: nothing can match any more
    MIXED = 0xFFFFFFFF          # the bytes of a class lead to several states
    MAX_EDGES = 8               # the most bytes by which a narrow state continues
    MAX_ODD = 8                 # the most bytes of a class that may lead elsewhere than the others; each has trie nodes
                                # of its own to be looked at

cdef struct State:
    uint32_t regex
    uint8_t accepts
    uint8_t expanded
    uint8_t narrow              # continues by at most MAX_EDGES bytes, which are in `edges`
    uint8_t n_edges
    # Texts of at most so many bytes do not distinguish this state from the one in `beyond`; 0: there is none (`near`)
    uint16_t reach
    uint8_t counted             # whether the regex is body{least,most} tail and has a family (`_families`)
    uint32_t edges[2 * MAX_EDGES]   # byte, target
    uint32_t least, most        # if counted; most NONE: unbounded
    uint32_t family             # the state of body* tail
    uint32_t beyond             # the state without the bounds that the texts in `reach` do not come near
    uint32_t* by_byte           # [256] target or DEAD_END; NULL until needed
    # [classes of the quotient] target, DEAD_END or MIXED; then, for each class again, the target, or that of all bytes
    # of the class but a few, or MIXED (`most_common`); NULL until needed
    uint32_t* by_class

cdef class Automaton:
    cdef Quotient quotient
    cdef Regexes regexes        # all regexes met, in one arena
    cdef Adopter adopter        # brings them there
    cdef State* states
    cdef size_t n_states, states_capacity
    cdef Words state_of         # per regex node
    cdef size_t state_bytes

    cdef uint32_t state(self, uint32_t regex) except? 0xFFFFFFFF nogil
    # Return the regex with its upper bounds removed, except in complements; or, with `lower`, replaced by the smallest
    # bounds that would be removed: `enough` for a body of any length, a token's length for others. Smaller bounds stay
    # as they are. Return NONE if nothing changes, and if the regex is too large.
    cdef uint32_t without_bounds(self, uint32_t regex, uint32_t enough, bint lower) except? 0xFFFFFFFF nogil
    cdef uint32_t replace_bounds(self, uint32_t regex, uint32_t enough, bint lower, uint32_t* room) except? 0xFFFFFFFF nogil
    cdef bint has_bounds(self, uint32_t regex, uint32_t enough, uint32_t* room) noexcept nogil
    cdef bint is_long(self, uint32_t regex) noexcept nogil
    # Return the state without the upper bounds that no text of so many bytes comes near.
    cdef uint32_t near(self, uint32_t state, uint32_t n_bytes) except? 0xFFFFFFFF nogil
    # Return the most bytes for which `near` returns another state; 0: there is none.
    cdef uint32_t reach(self, uint32_t state) except? 0xFFFFFFFF nogil
    # Return the state to which a byte leads.
    cdef uint32_t target(self, uint32_t state, uint32_t byte) except? 0xFFFFFFFF nogil
    # Pointers into `states` are valid until the next call of any of these.
    cdef int expand(self, uint32_t state) except -1 nogil
    cdef uint32_t* by_byte(self, uint32_t state) except NULL nogil
    cdef uint32_t* by_class(self, uint32_t state) except NULL nogil

    cdef bint is_narrow(self, uint32_t state) except -1 nogil
    cdef bint is_counted(self, uint32_t state) except -1 nogil
    cdef int recognize(self, uint32_t state) except -1 nogil
    cdef bint prefix_free(self, uint32_t node) except -1 nogil
    # Find the bytes with which a match of a counted state's body begins.
    cdef int unit_bytes(self, uint32_t state, ByteSet* bytes_) except -1 nogil
    cdef int first_bytes(self, uint32_t node, ByteSet* bytes_) except -1 nogil
    cdef size_t n_bytes(self) noexcept nogil
