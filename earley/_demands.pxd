# Whether what lookaheads demand of the text after a position can be met.

from libc.stdint cimport uint32_t

from earleymask.earley._chart cimport Chart

cdef enum:
    UNDECIDED = 2

# Return whether some text meets what is demanded at the position and leads to a sentence, or UNDECIDED if that takes too
# long. Unless `proven`, nothing is assumed of rows of which nothing is demanded.
cdef int can_be_met(Chart chart, uint32_t position, bint proven) except -1
