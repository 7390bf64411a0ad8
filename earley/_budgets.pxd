# How many tokens lexemes may take, counted along one sequence.

from libc.stdint cimport uint32_t

from earleymask.earley._chart cimport Chart
from earleymask.earley._history cimport History
from earleymask.earley._tables cimport Words

cdef class Budgets:
    cdef Chart chart
    cdef dict most              # terminal -> tokens that a lexeme may take, bytes of the shortest text that ends it or 0
    # The notes for the position that `spend` has returned. Per live pair of the position: the first token with a byte of
    # the lexeme, now or in future.
    cdef Words coming

    # Return the position after a token that leads from the last position of a history to `after` by these bytes, with
    # budgets applied.
    cdef uint32_t spend(self, History* history, uint32_t after, const unsigned char* data, size_t n) except? 0xFFFFFFFF
    cdef object moved(self, dict begun, uint32_t position, uint32_t byte, uint32_t target, uint32_t fresh)
    cdef uint32_t spent_state(self, uint32_t state, uint32_t n_tokens) except? 0xFFFFFFFF
    cdef bint is_loose(self, uint32_t terminal)
    cdef uint32_t spent_node(self, uint32_t terminal, uint32_t node, uint32_t n_tokens) except? 0xFFFFFFFF
