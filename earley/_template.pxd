# Rows above unknown ones: what every row of one skeleton has in common.

from libc.stdint cimport uint32_t

from earleymask.earley._chart cimport Chart
from earleymask.earley._tables cimport NONE, Words

cdef class Template(Chart):
    cdef Words variables        # [i]: the continuation that stands for a row's i-th one
    cdef Words row_of           # per skeleton: its row over variables, or NONE; may be shorter
    cdef Words split_of         # per row: where in `splits`, or NONE; may be shorter than there are rows
    cdef Words splits           # row without its marks (NONE: there is nothing else), number of marks, marks ...
    cdef Words marked           # per position: where in `splits`, NONE where its row has no marks; may be shorter

    cdef int clear(self) except -1
    # The row of this skeleton over variables.
    cdef uint32_t abstract_row(self, uint32_t skeleton) except? 0xFFFFFFFF nogil
    # Where in `splits` it says what the row is besides its marks.
    cdef uint32_t split(self, uint32_t row) except? 0xFFFFFFFF nogil
    # The position of one live pair.
    cdef uint32_t position(self, uint32_t row, uint32_t state) except? 0xFFFFFFFF nogil
    # i, where the continuation is the variable for a row's i-th one; else NONE.
    cdef uint32_t variable_index(self, uint32_t continuation) noexcept nogil
    # The same of what a mark goes on with.
    cdef uint32_t mark_index(self, uint32_t base) noexcept nogil


# Where in `splits` the marks of a position's row are, or NONE.
cdef inline uint32_t marks_at(Template template, uint32_t position) noexcept nogil:
    return template.marked.data[position] if position < template.marked.n else <uint32_t> NONE


# An entry of `splits`: the row without its marks, or NONE; and the numbers of the continuations that the marks stand for.
cdef inline uint32_t rest_of(Template template, uint32_t split) noexcept nogil:
    return template.splits.data[split]


cdef inline uint32_t n_marks_of(Template template, uint32_t split) noexcept nogil:
    return template.splits.data[split + 1]


cdef inline uint32_t mark_of(Template template, uint32_t split, size_t i) noexcept nogil:
    return template.splits.data[split + 2 + i]
