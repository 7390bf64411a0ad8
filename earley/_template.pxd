# Rows whose stack is unknown: what all rows of one skeleton have in common.

from libc.stdint cimport uint32_t

from earleymask.earley._chart cimport Chart
from earleymask.earley._tables cimport NONE, ByteSet, Words

# Bytes that lead from a position to the same position.
cdef struct Step:
    ByteSet bytes
    uint32_t target             # maybe DEAD
    uint32_t next               # another step from the same position, or NONE

cdef class Template(Chart):
    cdef bint modest            # for the second of two masks, see `_masks`
    cdef Words variables        # [i]: the continuation that stands for a row's i-th one
    cdef Words row_of           # per skeleton: its row over variables, or NONE; may be shorter
    cdef Words split_of         # per row: where in `splits`, or NONE; may be shorter than there are rows
    cdef Words splits           # row without its marks (NONE: it has only marks), number of marks, marks ...
    cdef Words marked           # per position: where in `splits`, NONE if its row has no marks; may be shorter

    # Steps from positions at which few bytes may come: a list for each, in place of a table.
    cdef Step* steps
    cdef size_t n_listed, steps_capacity
    cdef Words first_steps      # per position: its first step, or NONE; may be shorter than there are

    cdef int clear(self) except -1
    # Return the position after a byte (maybe DEAD), looked up in the list of steps and entered there.
    cdef uint32_t step_by(self, uint32_t position, uint32_t byte) except? 0xFFFFFFFF nogil
    # Make the steps by all bytes and return the first one in the list.
    cdef uint32_t all_steps(self, uint32_t position) except? 0xFFFFFFFF nogil
    # Return the row of this skeleton over variables.
    cdef uint32_t abstract_row(self, uint32_t skeleton) except? 0xFFFFFFFF nogil
    # Return where in `splits` the row is, without its marks.
    cdef uint32_t split(self, uint32_t row) except? 0xFFFFFFFF nogil
    # Return the lexer state in which lexemes begin at a row of this skeleton.
    cdef uint32_t begin_at(self, uint32_t skeleton) except? 0xFFFFFFFF nogil
    # Return the position of one live pair.
    cdef uint32_t position(self, uint32_t row, uint32_t state) except? 0xFFFFFFFF nogil
    # Return i if the continuation is the variable for a row's i-th one; else NONE.
    cdef uint32_t variable_index(self, uint32_t continuation) noexcept nogil
    # Return i if the continuation is that of the i-th variable's mark.
    cdef uint32_t mark_index(self, uint32_t base) noexcept nogil


# Where in `splits` the marks of a position's row are, or NONE.
cdef inline uint32_t marks_at(Template template, uint32_t position) noexcept nogil:
    return template.marked.data[position] if position < template.marked.n else <uint32_t> NONE


# An entry of `splits`: the row without its marks, or NONE; and the numbers of the continuations that the marks stand
# for.
cdef inline uint32_t rest_of(Template template, uint32_t split) noexcept nogil:
    return template.splits.data[split]


cdef inline uint32_t n_marks_of(Template template, uint32_t split) noexcept nogil:
    return template.splits.data[split + 1]


cdef inline uint32_t mark_of(Template template, uint32_t split, size_t i) noexcept nogil:
    return template.splits.data[split + 2 + i]
