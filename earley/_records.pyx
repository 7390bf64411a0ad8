"""Parts as words, to be saved and to be loaded by another process.

A record:

    words of the record; node of the trie; key of the regex (2 words); tokens inside; 1 if these are a bitmap;
    numbers of exits, open, late and live nodes; the bytes of live nodes (8 words);
    tokens or bitmap; exits, open, late, live nodes;
    for each byte of the exits, then of the live nodes, a trie of rests: its nodes, lists and tokens as in `RestTrie`,
    after their numbers (3 words).

The reader knows which parts must come, and their keys. So it recognises a file for other terminals, or of a version
that builds the same regex otherwise. Each index is checked before it is used, so the worst that a wrong file can do is
to lead to wrong masks.
"""

import numpy as np

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from earleymask.earley._part cimport ROOT_NODE, Exits, Part, group_by_byte, set_open
from earleymask.earley._parts cimport Parts
from earleymask.earley._rests cimport RestTrie
from earleymask.earley._tables cimport NONE, Words, copy_of, words_extend, words_free, words_push
from earleymask.trie._memory cimport calloc
from earleymask.trie._trie cimport node_byte, node_depth, node_skip, node_t, node_token

cdef enum:                      # words of a record by their places
    LENGTH = 0
    NODE = 1
    KEY = 2
    N_TOKENS = 4
    DENSE = 5
    N_EXITS = 6
    N_OPEN = 7
    N_LATE = 8
    N_LIVE = 9
    LIVE_BYTES = 10
    HEADER = 18


cdef class Records:

    def __cinit__(self, Parts parts not None, saved=None):
        """Read from `saved`, an array of words, if it is given."""
        cdef const uint32_t[::1] words
        self.parts = parts
        self.trie = parts.trie
        self.ends = <uint32_t*> calloc(<size_t> self.trie.max_depth + 1, sizeof(uint32_t))
        if self.ends == NULL:
            raise MemoryError("records of parts")
        if saved is not None and len(saved):
            self.saved = words = np.ascontiguousarray(saved, np.uint32).reshape(-1)
            self.words = &words[0]
            self.n_words = len(words)

    def __dealloc__(self):
        words_free(&self.written)
        free(self.ends)

    def array(self):
        """Return a copy of what was written."""
        cdef uint32_t[::1] words
        array = np.zeros(self.written.n, np.uint32)
        if self.written.n:
            words = array
            memcpy(&words[0], self.written.data, self.written.n * sizeof(uint32_t))
        return array

    # ---- writing ------------------------------------------------------------------------------------------------

    cdef int write(self, uint32_t node, uint64_t key, Part* part) except -1 nogil:
        """Append the record of a part, which is complete."""
        cdef size_t start = self.written.n
        words_push(&self.written, 0)
        words_push(&self.written, node)
        words_push(&self.written, <uint32_t> key)
        words_push(&self.written, <uint32_t> (key >> 32))
        words_push(&self.written, part.n_tokens)
        words_push(&self.written, part.bits != NULL)
        words_push(&self.written, part.exits.n)
        words_push(&self.written, part.n_open)
        words_push(&self.written, part.n_late)
        words_push(&self.written, part.live.n)
        words_extend(&self.written, <const uint32_t*> part.live_bytes.w, 8)
        if part.bits != NULL:
            words_extend(&self.written, part.bits, self.trie.n_words)
        else:
            words_extend(&self.written, part.tokens, part.n_tokens)
        words_extend(&self.written, part.exits.nodes, part.exits.n)
        words_extend(&self.written, part.open, part.n_open)
        words_extend(&self.written, part.late, part.n_late)
        words_extend(&self.written, part.live.nodes, part.live.n)
        self.write_rests(part, &part.exits)
        self.write_rests(part, &part.live)
        if self.written.n - start >= NONE:
            with gil:
                raise OverflowError("a part of the vocabulary is too large to be saved: 2**32 words or more")
        self.written.data[start] = <uint32_t> (self.written.n - start)
        return 0

    cdef int write_rests(self, Part* part, Exits* exits) except -1 nogil:
        cdef uint32_t k, n_lists, i
        cdef const RestTrie* rests
        for k in range(exits.n_bytes):
            rests = self.parts.need_rests(part, exits, k)
            n_lists = 0
            for i in range(rests.n_nodes):
                n_lists = max(n_lists, node_token(rests.nodes[i]))
            words_push(&self.written, rests.n_nodes)
            words_push(&self.written, n_lists)
            words_push(&self.written, rests.starts[n_lists])
            words_extend(&self.written, <const uint32_t*> rests.nodes, 2 * <size_t> rests.n_nodes)
            words_extend(&self.written, rests.starts, n_lists + 1)
            words_extend(&self.written, rests.tokens, rests.starts[n_lists])
        return 0

    # ---- reading ------------------------------------------------------------------------------------------------

    cdef const uint32_t* next(self, uint32_t node, uint64_t key) noexcept nogil:
        cdef const uint32_t* words = self.words
        if words == NULL:
            return NULL
        self.damaged = self.n_words < HEADER or not HEADER <= words[LENGTH] <= self.n_words
        if self.damaged or words[NODE] != node or (<uint64_t> words[KEY + 1] << 32 | words[KEY]) != key:
            self.words = NULL
            return NULL
        self.n_words -= words[LENGTH]
        self.words = words + words[LENGTH] if self.n_words else NULL
        return words

    cdef bint read(self, const uint32_t* words, Part* part) except -1 nogil:
        self.damaged = not self.fill(words, part)
        if self.damaged:
            self.words = NULL
            return False
        self.parts.part_bytes += sizeof(Part) + (words[LENGTH] + 2 * <size_t> words[N_OPEN]) * sizeof(uint32_t)
        return True

    cdef bint fill(self, const uint32_t* words, Part* part) except -1 nogil:
        cdef uint64_t n_inside = self.trie.n_words if words[DENSE] else words[N_TOKENS], i
        cdef const uint32_t* inside = words + HEADER
        cdef const uint32_t* exits = inside + n_inside
        cdef const uint32_t* open_ = exits + words[N_EXITS]
        cdef const uint32_t* late = open_ + words[N_OPEN]
        cdef const uint32_t* live = late + words[N_LATE]
        cdef uint64_t at = HEADER + n_inside + words[N_EXITS] + words[N_OPEN] + words[N_LATE] + <uint64_t> words[N_LIVE]
        cdef size_t n = words[LENGTH], taken
        # SAFETY: none of these addresses is read unless all of them are within the record.
        if at > n or words[DENSE] > 1 or words[N_TOKENS] > self.trie.n_tokens or (words[N_LIVE] and not words[N_LATE]):
            return False
        if words[DENSE]:
            if self.trie.n_tokens & 31 and inside[self.trie.n_words - 1] >> (self.trie.n_tokens & 31):
                return False
            copy_of(<void**> &part.bits, inside, n_inside * sizeof(uint32_t))
        else:
            for i in range(n_inside):
                if inside[i] >= self.trie.n_tokens:
                    return False
            copy_of(<void**> &part.tokens, inside, n_inside * sizeof(uint32_t))
        part.n_tokens = words[N_TOKENS]
        if not self.below(part.node, open_, words[N_OPEN]) or not self.below(part.node, late, words[N_LATE]):
            return False
        set_open(part, self.trie, open_, words[N_OPEN])
        part.n_late = words[N_LATE]
        copy_of(<void**> &part.late, late, part.n_late * sizeof(uint32_t))
        memcpy(part.live_bytes.w, words + LIVE_BYTES, 8 * sizeof(uint32_t))
        part.live_made = True
        if not self.read_exits(part, &part.exits, exits, words[N_EXITS]):
            return False
        if part.n_late and not self.read_exits(part, &part.live, live, words[N_LIVE]):
            return False
        taken = self.read_rests(&part.exits, words + at, n - at)
        if taken == NONE:
            return False
        at += taken
        taken = self.read_rests(&part.live, words + at, n - at)
        return taken != NONE and at + taken == n

    cdef bint below(self, uint32_t node, const uint32_t* nodes, uint32_t n) noexcept nogil:
        """Return whether all of these are nodes of the trie below this one."""
        cdef uint32_t first = 0, end = self.trie.n_nodes, i
        if node != ROOT_NODE:
            first = node + 1
            end = node + node_skip(self.trie.nodes[node])
        for i in range(n):
            if not first <= nodes[i] < end:
                return False
        return True

    cdef bint read_exits(self, Part* part, Exits* exits, const uint32_t* nodes, uint32_t n) except -1 nogil:
        cdef Words list_
        if not self.below(part.node, nodes, n):
            return False
        list_.data = <uint32_t*> nodes                  # only read
        list_.n = list_.capacity = n
        group_by_byte(exits, self.trie, &list_)
        return True

    cdef size_t read_rests(self, Exits* exits, const uint32_t* words, size_t n) except? 0xFFFFFFFE nogil:
        """Read the rests of exits and return how many words they take; NONE if they are no rests."""
        cdef uint32_t k, n_nodes, n_lists, n_tokens
        cdef uint64_t at = 0, length
        cdef RestTrie* rests
        for k in range(exits.n_bytes):
            if n - at < 3:
                return NONE
            n_nodes, n_lists, n_tokens = words[at], words[at + 1], words[at + 2]
            at += 3
            length = 2 * <uint64_t> n_nodes + n_lists + 1 + <uint64_t> n_tokens
            # Each node needs a place, as in `Rests.make`.
            if n_nodes == 0 or length > n - at or self.parts.rests.next_place > NONE - 2 - n_nodes:
                return NONE
            rests = <RestTrie*> calloc(1, sizeof(RestTrie))
            if rests == NULL:
                with gil:
                    raise MemoryError("rests")
            exits.rests[k] = rests                      # freed with the part
            copy_of(<void**> &rests.nodes, words + at, n_nodes * sizeof(node_t))
            copy_of(<void**> &rests.starts, words + at + 2 * n_nodes, (n_lists + 1) * sizeof(uint32_t))
            copy_of(<void**> &rests.tokens, words + at + 2 * n_nodes + n_lists + 1, n_tokens * sizeof(uint32_t))
            rests.n_nodes = n_nodes
            rests.base = self.parts.rests.next_place
            self.parts.rests.next_place += n_nodes
            if not self.is_trie(rests, n_lists, n_tokens, exits.bytes[k]):
                return NONE
            at += length
        return at

    cdef bint is_trie(self, const RestTrie* rests, uint32_t n_lists, uint32_t n_tokens, uint32_t byte) noexcept nogil:
        """Return whether depths and skips of the nodes fit together, and lists and tokens are within their bounds."""
        cdef uint32_t* ends = self.ends
        cdef uint32_t i, d, open_ = 0                   # nodes of depth 1 .. open_ are open
        cdef node_t node
        if node_byte(rests.nodes[0]) != byte or node_skip(rests.nodes[0]) != rests.n_nodes:
            return False
        ends[0] = rests.n_nodes
        for i in range(rests.n_nodes):
            node = rests.nodes[i]
            d = node_depth(node)
            while open_ and ends[open_] <= i:
                open_ -= 1
            if (d != open_ + 1 or d > self.trie.max_depth or node_skip(node) == 0 or node_skip(node) > ends[open_] - i
                    or node_token(node) > n_lists):
                return False
            ends[d] = i + node_skip(node)
            open_ = d
        if rests.starts[n_lists] != n_tokens:
            return False
        for i in range(n_lists):
            if rests.starts[i] > rests.starts[i + 1]:
                return False
        for i in range(n_tokens):
            if rests.tokens[i] >= self.trie.n_tokens:
                return False
        return True
