"""Rests: how tokens continue after they have left a lexeme, merged into one trie for each first byte.

Tokens leave a lexeme at many nodes of the vocabulary's trie (`name(`, `count(`, ...) and continue with the same few
rests. So the subtrees below these nodes are merged: equal nodes become one node, which lists the tokens of all of them.
A rest is then walked once, however many tokens end with it.
"""

from libc.stdlib cimport free

from earleymask.earley._meter cimport exceeds
from earleymask.earley._tables cimport (
    NONE, ByteSet, byteset_add, byteset_fill, byteset_has, copy_of, lowest_bit, reserve, words_extend, words_free, words_push,
)
from earleymask.trie._memory cimport calloc
from earleymask.trie._trie cimport (
    DEPTH_SHIFT, SKIP_SHIFT, TOKEN_SHIFT, node_byte, node_depth, node_skip, node_t, node_token,
)

from earleymask.earley.errors import LimitError

cdef enum:
    MAX_NODES = (1 << 22) - 1   # a skip and the number of a list have 22 bits in a node
    MAX_MERGED = 100            # nodes deeper than this are copied one by one: `merge` recurses along the depth


cdef class Rests:
    """Makes the tries of rests of one vocabulary."""

    def __cinit__(self, TokenTrie trie not None):
        cdef size_t depths = <size_t> trie.max_depth + 2
        self.trie = trie
        self.next_place = trie.n_nodes
        self.stamp = 2
        self.path_copies = <uint32_t*> calloc(depths, sizeof(uint32_t))
        self.path_nodes = <uint32_t*> calloc(depths, sizeof(uint32_t))
        if self.path_copies == NULL or self.path_nodes == NULL:
            raise MemoryError("rests")

    def __dealloc__(self):
        free(self.path_copies)
        free(self.path_nodes)
        free(self.stamps)
        free(self.nodes)
        words_free(&self.starts)
        words_free(&self.tokens)
        words_free(&self.groups)

    cdef int new_stamp(self) except -1 nogil:
        if self.stamps == NULL:
            self.stamps = <uint32_t*> calloc(self.trie.n_nodes, sizeof(uint32_t))
            if self.stamps == NULL:
                with gil:
                    raise MemoryError("rests")
        self.stamp += 2
        return 0

    cdef RestTrie* make(self, const uint32_t* nodes, uint32_t n, bint only_stamped) except NULL nogil:
        """Return one trie of what is below these trie nodes, which have the same byte."""
        cdef RestTrie* rests = <RestTrie*> calloc(1, sizeof(RestTrie))
        cdef bint made = False
        if rests == NULL:
            with gil:
                raise MemoryError("rests")
        try:
            self.only_stamped = only_stamped
            self.n_nodes = self.starts.n = self.tokens.n = self.groups.n = 0
            words_extend(&self.groups, nodes, n)
            self.merge(0, n, 1)
            words_push(&self.starts, <uint32_t> self.tokens.n)
            if exceeds(self.next_place + self.n_nodes, NONE - 2):
                with gil:
                    raise LimitError("rests of tokens: more than 4,294,967,293 nodes in all; make a new vocabulary")
            rests.base = self.next_place
            rests.n_nodes = <uint32_t> self.n_nodes
            copy_of(<void**> &rests.nodes, self.nodes, self.n_nodes * sizeof(node_t))
            copy_of(<void**> &rests.starts, self.starts.data, self.starts.n * sizeof(uint32_t))
            copy_of(<void**> &rests.tokens, self.tokens.data, self.tokens.n * sizeof(uint32_t))
            self.next_place += rests.n_nodes
            self.n_made += 1
            self.n_bytes += (sizeof(RestTrie) + self.n_nodes * sizeof(node_t)
                                + (self.starts.n + self.tokens.n) * sizeof(uint32_t))
            made = True
        finally:
            if not made:
                free_rests(rests)
        return rests

    cdef int merge(self, size_t first, size_t end, uint32_t depth) except -1 nogil:
        """Append one node for groups[first:end], which are nodes of the trie, and all nodes below it."""
        cdef size_t index = self.n_nodes, start = self.tokens.n, base = self.groups.n, at, i
        cdef uint32_t ends[256]
        cdef ByteSet bytes_
        cdef uint64_t word
        cdef uint32_t node, child, last, byte, w, n_children = 0
        if end == first + 1:
            return self.copy_rests(self.groups.data[first], depth)
        self.push_rest(depth, self.trie.nodes[self.groups.data[first]])
        byteset_fill(&bytes_, 0)
        for i in range(first, end):
            node = self.groups.data[i]
            self.take_token(node)
            child = node + 1
            last = node + node_skip(self.trie.nodes[node])
            while child < last:
                if self.is_wanted(child, node):
                    byte = node_byte(self.trie.nodes[child])
                    if not byteset_has(&bytes_, byte):
                        byteset_add(&bytes_, byte)
                        ends[byte] = 0
                    ends[byte] += 1
                child += node_skip(self.trie.nodes[child])
        self.close_list(index, start)
        # Push the children of all of them, sorted by their byte; ends[byte] is the start of a group at first.
        for w in range(4):
            word = bytes_.w[w]
            while word:
                byte = 64 * w + lowest_bit(word)
                word &= word - 1
                last = ends[byte]
                ends[byte] = n_children
                n_children += last
        reserve(<void**> &self.groups.data, &self.groups.capacity, base + n_children, sizeof(uint32_t))
        self.groups.n = base + n_children
        for i in range(first, end):
            node = self.groups.data[i]
            child = node + 1
            last = node + node_skip(self.trie.nodes[node])
            while child < last:
                if self.is_wanted(child, node):
                    byte = node_byte(self.trie.nodes[child])
                    self.groups.data[base + ends[byte]] = child
                    ends[byte] += 1
                child += node_skip(self.trie.nodes[child])
        at = base
        for w in range(4):
            word = bytes_.w[w]
            while word:
                byte = 64 * w + lowest_bit(word)
                word &= word - 1
                while at < base + ends[byte]:
                    # So deep down, equal nodes are not merged: no token may exhaust the stack of the process.
                    end = base + ends[byte] if depth < MAX_MERGED else at + 1
                    self.merge(at, end, depth + 1)
                    at = end
        self.groups.n = base
        self.nodes[index] |= <uint64_t> (self.n_nodes - index) << SKIP_SHIFT
        return 0

    cdef int copy_rests(self, uint32_t node, uint32_t depth) except -1 nogil:
        """Append one node of the trie and all nodes below it."""
        cdef uint32_t i = node + 1, end = node + node_skip(self.trie.nodes[node]), d = depth, last = depth
        cdef uint32_t up = node_depth(self.trie.nodes[node]) - depth
        cdef uint32_t* copies = self.path_copies        # per depth: the copy of the node there
        cdef uint32_t* nodes = self.path_nodes          # and that node
        cdef size_t start
        copies[d] = <uint32_t> self.n_nodes
        nodes[d] = node
        self.push_rest(depth, self.trie.nodes[node])
        start = self.tokens.n
        self.take_token(node)
        self.close_list(copies[d], start)
        while i < end:
            d = node_depth(self.trie.nodes[i]) - up
            while last >= d:                            # the path leaves these nodes
                self.nodes[copies[last]] |= <uint64_t> (self.n_nodes - copies[last]) << SKIP_SHIFT
                last -= 1
            if not self.is_wanted(i, nodes[d - 1]):
                i += node_skip(self.trie.nodes[i])
                continue
            copies[d] = <uint32_t> self.n_nodes
            nodes[d] = i
            last = d
            self.push_rest(d, self.trie.nodes[i])
            start = self.tokens.n
            self.take_token(i)
            self.close_list(copies[d], start)
            i += 1
        while last >= depth:
            self.nodes[copies[last]] |= <uint64_t> (self.n_nodes - copies[last]) << SKIP_SHIFT
            last -= 1
        return 0

    cdef inline bint is_wanted(self, uint32_t node, uint32_t parent) noexcept nogil:
        """Return whether a rest may lead over this node. Late rests lead to nodes at which tokens die, and only over
        nodes on the way."""
        if not self.only_stamped:
            return True
        if self.stamps[parent] == self.stamp:
            self.stamps[node] = self.stamp
            return True
        return self.stamps[node] >= self.stamp - 1

    cdef inline int take_token(self, uint32_t node) except -1 nogil:
        cdef uint32_t token = node_token(self.trie.nodes[node])
        if token and (not self.only_stamped or self.stamps[node] == self.stamp):
            words_push(&self.tokens, token - 1)
        return 0

    cdef int push_rest(self, uint32_t depth, node_t like) except -1 nogil:
        """Append a node at this depth with the byte of another node; its skip and tokens are set later."""
        if exceeds(self.n_nodes + 1, MAX_NODES):
            with gil:
                raise LimitError(f"rests of tokens: more than {MAX_NODES} nodes")
        reserve(<void**> &self.nodes, &self.nodes_capacity, self.n_nodes + 1, sizeof(node_t))
        self.nodes[self.n_nodes] = <uint64_t> node_byte(like) | <uint64_t> depth << DEPTH_SHIFT
        self.n_nodes += 1
        return 0

    cdef int close_list(self, size_t index, size_t start) except -1 nogil:
        """Let the tokens since `start` be the list of the node."""
        if self.tokens.n > start:
            words_push(&self.starts, <uint32_t> start)
            self.nodes[index] |= <uint64_t> self.starts.n << TOKEN_SHIFT
        return 0


cdef void free_rests(RestTrie* rests) noexcept nogil:
    free(rests.nodes)
    free(rests.starts)
    free(rests.tokens)
    free(rests)
