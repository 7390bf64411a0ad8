"""What stays of the parts of a vocabulary when all others are dropped: those that `prepare` has made.

Parts that many grammars need are worth their memory at all times. They refer to regexes by number, but only while they
are made: when all of their exits and rests are there, nothing in them changes any more. So those of one table (`Parts`) can
be handed on to the next one, whose regexes have other numbers. Only the keys must be entered anew; for this, their
regexes are here.
"""

from libc.stdint cimport uint64_t
from libc.string cimport memset

from earleymask.earley._part cimport leave_parts, part_key
from earleymask.earley._tables cimport NONE, copy_of, words_free, words_push


cdef class Kept:

    def __cinit__(self):
        self.regexes = Regexes()
        self.regexes.meter.defers_signals = True        # it works with the lock of the parts
        self.regexes.meter.holds_lock = False
        self.adopter = Adopter(self.regexes)

    def __dealloc__(self):
        leave_parts(self.parts, 0, self.n_parts, self.n_bytes)
        words_free(&self.parts_of)
        words_free(&self.families_of)

    cdef int list_all(self, Part** parts, size_t n, Map known, Families families, Automaton automaton) except -1 nogil:
        cdef Words adopted
        cdef uint64_t key
        cdef uint32_t value, regex
        cdef size_t i
        memset(&adopted, 0, sizeof(adopted))
        copy_of(<void**> &self.parts, parts, n * sizeof(Part*))
        try:
            for i in range(known.n_slots):
                key, value = known.slots[i].key, known.slots[i].value
                if value < n:                           # NONE is larger
                    regex = self.adopter.adopt(automaton.regexes, <uint32_t> key, &adopted)
                    push_key(&self.parts_of, key, regex, value)
            for i in range(families.family_of.n_slots):
                key, value = families.family_of.slots[i].key, families.family_of.slots[i].value
                if value != NONE:
                    regex = self.adopter.adopt(automaton.regexes, automaton.states[<uint32_t> key].regex, &adopted)
                    push_key(&self.families_of, key, regex, value)
        finally:
            words_free(&adopted)
        return 0

    cdef int enter_all(self, Map known, Families families, Automaton automaton) except -1 nogil:
        cdef Words adopted
        cdef uint32_t regex
        cdef size_t i
        memset(&adopted, 0, sizeof(adopted))
        try:
            for i in range(0, self.parts_of.n, 3):
                regex = automaton.adopter.adopt(self.regexes, self.parts_of.data[i + 1], &adopted)
                known.put(part_key(self.parts_of.data[i], regex), self.parts_of.data[i + 2])
            for i in range(0, self.families_of.n, 3):
                regex = automaton.adopter.adopt(self.regexes, self.families_of.data[i + 1], &adopted)
                families.family_of.put(part_key(self.families_of.data[i], automaton.state(regex)), self.families_of.data[i + 2])
        finally:
            words_free(&adopted)
        return 0

    cdef size_t n_own_bytes(self) noexcept nogil:
        return self.regexes.n_bytes() + (self.parts_of.n + self.families_of.n) * sizeof(uint32_t) + self.n_parts * sizeof(Part*)


cdef int push_key(Words* list_, uint64_t key, uint32_t regex, uint32_t value) except -1 nogil:
    words_push(list_, <uint32_t> (key >> 32) - 1)       # see `part_key`
    words_push(list_, regex)
    return words_push(list_, value)
