# Tokens in which a followed terminal may end and in which it matters what follows it.

from libc.stdint cimport uint32_t

from earleymask.earley._regex cimport Regexes
from earleymask.earley._tables cimport Words
from earleymask.trie._trie cimport TokenTrie

cdef class Doubtful:
    cdef Words tokens               # token ids, ascending

    cdef int find(self, TokenTrie trie, Regexes regexes, uint32_t node) except -1
