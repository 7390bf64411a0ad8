# Regex nodes of one arena, adopted into another.

from libc.stdint cimport uint32_t

from earleymask.earley._regex cimport Regexes
from earleymask.earley._tables cimport Sequences, Words

cdef class Adopter:
    cdef Regexes regexes
    cdef Sequences programs     # contents of ordered programs
    cdef Words program_bases    # where each of these begins in regexes.code
    cdef Words agenda           # nodes of another arena that are being adopted; each call leaves it as it found it

    # Return the node of this arena that equals `node` of another one. `adopted` remembers the other arena's nodes.
    cdef uint32_t adopt(self, Regexes other, uint32_t node, Words* adopted) except? 0xFFFFFFFF nogil
    cdef int push_unknown(self, Regexes other, uint32_t node, const Words* adopted) except -1 nogil
    cdef uint32_t adopt_new(self, Regexes other, uint32_t node, Words* adopted) except? 0xFFFFFFFF nogil
    cdef uint32_t adopt_cuts(self, Regexes other, uint32_t node, Words* adopted) except? 0xFFFFFFFF nogil
    cdef uint32_t adopt_class(self, Regexes other, uint32_t class_) except? 0xFFFFFFFF nogil
    cdef uint32_t adopt_program(self, Regexes other, uint32_t instruction, Words* adopted) except? 0xFFFFFFFF nogil
