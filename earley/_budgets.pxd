# How many tokens lexemes may take, counted along one sequence.

from libc.stdint cimport uint32_t

from earleymask.earley._chart cimport Chart
from earleymask.earley._tables cimport Words

cdef class Budgets:
    cdef Chart chart
    cdef dict most              # terminal -> tokens that a lexeme may take, bytes of the shortest text that ends it or 0
    # Per live pair of the position after i tokens, i = 0, 1, ...: the first token with a byte of the lexeme, now or in
    # future.
    cdef Words begun
    cdef Words ends             # those after i tokens are begun[ends[i - 1]:ends[i]]
    cdef Words coming           # those of the position that `spend` has returned

    # Return the position after a token that leads from `before` to `after` by these bytes, with budgets applied.
    cdef uint32_t spend(self, uint32_t before, uint32_t after, const unsigned char* data, size_t n) except? 0xFFFFFFFF
    cdef int push(self) except -1               # the token has been accepted
    cdef int truncate(self, size_t n_tokens) except -1
    cdef Budgets copy(self)
    cdef object moved(self, dict begun, uint32_t position, uint32_t byte, uint32_t target, uint32_t fresh)
    cdef uint32_t spent_state(self, uint32_t state, uint32_t n_tokens) except? 0xFFFFFFFF
    cdef uint32_t spent_node(self, uint32_t terminal, uint32_t node, uint32_t n_tokens) except? 0xFFFFFFFF
