# Late exits: where tokens could have left a lexeme before the byte by which it dies. Per vocabulary.

from libc.stdint cimport uint32_t

from earleymask.earley._automaton cimport Automaton
from earleymask.earley._part cimport Exits, Part
from earleymask.earley._rests cimport Rests, RestTrie
from earleymask.earley._tables cimport Words
from earleymask.trie._quotient cimport Quotient
from earleymask.trie._trie cimport TokenTrie

cdef class LateExits:
    cdef TokenTrie trie
    cdef Quotient quotient
    cdef Automaton automaton
    cdef Rests rests
    cdef uint32_t stamped       # index of the part whose late exits are stamped in `rests.stamps`, or NONE

    # scratch
    cdef uint32_t* node_states  # per trie node: the state after its path; allocated by the first `stamp`
    cdef Words way              # trie nodes from a dead one upwards
    cdef Words nodes            # where a rest may begin

    # Fill `part.live`.
    cdef int find(self, Part* part) except -1 nogil
    # The rests that begin with byte k of `part.live`.
    cdef RestTrie* make_rests(self, Part* part, uint32_t k) except NULL nogil
    cdef int stamp(self, Part* part) except -1 nogil
