# What stays of the parts of a vocabulary when all others are dropped.

from libc.stdint cimport uint32_t

from earleymask.earley._adopt cimport Adopter
from earleymask.earley._automaton cimport Automaton
from earleymask.earley._families cimport Families
from earleymask.earley._part cimport Part
from earleymask.earley._regex cimport Regexes
from earleymask.earley._tables cimport Map, Words

cdef class Kept:
    cdef Part** parts               # owned
    cdef size_t n_parts
    cdef Families families          # that own what the keys in `families_of` lead to
    cdef Regexes regexes            # of the two lists
    cdef Adopter adopter
    cdef Words parts_of             # trie node, regex, part: for each key
    cdef Words families_of          # trie node, regex of the state, family: the same
    cdef uint32_t next_place        # places of their rests come before this one, see `Rests`
    cdef size_t n_bytes

    # List the first n of these parts, and all families, by regexes of this object. Then the caller hands them over.
    cdef int list_all(self, Part** parts, size_t n, Map known, Families families, Automaton automaton) except -1 nogil
    # Enter all of them by the regexes of another automaton, which has none yet.
    cdef int enter_all(self, Map known, Families families, Automaton automaton) except -1 nogil
    cdef size_t n_own_bytes(self) noexcept nogil
