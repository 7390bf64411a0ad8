# cython: language_level=3
"""Builds the token trie and shows it to Python. The layout of a node is in `_trie.pxd`.

Tokens that are sorted by their bytes come in the order in which a depth-first walk of their trie meets them. So one pass
over the sorted tokens writes the trie: each token shares its first bytes with the token before it. The nodes of that token
after the shared bytes are closed, which fills in their `skip`; then one node is appended for each byte that is not shared.

Sorting takes most of the time. Other threads run meanwhile: a server makes a vocabulary for
some requests while it answers others. The memory is 8 bytes a node and a copy of the token bytes. A trie never changes once
it is built, so threads share it without locks, except for `learned`: the layers above own it and lock it.

Not here: where token bytes come from (`vocabulary` and the modules beside it), walking the trie under a grammar (`earley/`).
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy

from ._build cimport DEBUG
from ._memory cimport malloc, shrunk

from .errors import VocabularyError

NO_TOKEN = -1       # `node()` gives it if no token ends at the node


cdef class TokenTrie:
    """The text tokens of one vocabulary as a flat prefix trie; see `_trie.pyi` for the Python side."""

    def __cinit__(self, list tokens not None):
        self._copy_tokens(tokens)
        self._build()
        if DEBUG:
            self.check()

    def __dealloc__(self):
        free(self.nodes)
        free(self.duplicates)
        free(self.token_buffer)
        free(self.token_offsets)

    cdef int _copy_tokens(self, list tokens) except -1:
        """Check the limits and copy the bytes of all tokens into one buffer."""
        cdef Py_ssize_t n = len(tokens), token_id, length
        cdef uint64_t total = 0
        if n > MAX_TOKENS:
            raise VocabularyError(f"vocabulary of {n:,} ids, limit {MAX_TOKENS:,} (22 bits of token id in a trie node)")
        for token_id in range(n):
            token = tokens[token_id]
            if type(token) is not bytes:
                raise VocabularyError(
                    f"token {token_id}: expected bytes, got {type(token).__name__}; encode text as UTF-8, "
                    "and give b'' for ids that are not text"
                )
            length = PyBytes_GET_SIZE(token)
            if length > MAX_TOKEN_BYTES:
                raise VocabularyError(
                    f"token {token_id}: {length:,} bytes, limit {MAX_TOKEN_BYTES:,} (12 bits of depth in a trie node); "
                    "give b'' for it to exclude it from every mask, or name it in special_token_ids"
                )
            total += length
        if total > 0xFFFFFFFF:
            raise VocabularyError(f"tokens of {total:,} bytes in all, limit {0xFFFFFFFF:,} (32-bit offsets)")

        self.n_tokens = <uint32_t>n
        self.n_words = (self.n_tokens + 31) >> 5
        self.token_offsets = <uint32_t*>malloc((<size_t>n + 1) * sizeof(uint32_t))
        self.token_buffer = <unsigned char*>malloc(<size_t>total + 1)      # + 1: malloc(0) may return NULL
        if self.token_offsets is NULL or self.token_buffer is NULL:
            raise MemoryError()
        total = 0
        for token_id in range(n):
            token = tokens[token_id]
            length = PyBytes_GET_SIZE(token)
            self.token_offsets[token_id] = <uint32_t>total
            memcpy(self.token_buffer + total, PyBytes_AS_STRING(token), length)
            total += length
            if length > 0:
                self.n_text_tokens += 1
                if <uint32_t>length > self.max_depth:
                    self.max_depth = <uint32_t>length
        self.token_offsets[n] = <uint32_t>total
        return 0

    cdef int _build(self) except -1:
        """Write nodes and duplicates."""
        cdef uint64_t most = min(self.token_offsets[self.n_tokens], <uint64_t>MAX_NODES)
        cdef sortable* order
        cdef bint fits

        # Allocate room for as many nodes as there can be: only pages that are written to are used, and the rest is freed.
        self.nodes = <node_t*>malloc((<size_t>most + 1) * sizeof(node_t))
        self.duplicates = <uint32_t*>malloc((2 * <size_t>self.n_text_tokens + 1) * sizeof(uint32_t))
        order = <sortable*>malloc((2 * <size_t>self.n_text_tokens + 1) * sizeof(sortable))    # the second half for merging
        if self.nodes is NULL or self.duplicates is NULL or order is NULL:
            free(order)
            raise MemoryError()
        with nogil:
            fits = self._write_nodes(self._sorted(order, order + self.n_text_tokens))
        free(order)
        if not fits:
            raise VocabularyError(f"token trie of more than {MAX_NODES:,} nodes (22 bits of skip in a trie node)")
        self.nodes = <node_t*>shrunk(self.nodes, (<size_t>self.n_nodes + 1) * sizeof(node_t))
        self.duplicates = <uint32_t*>shrunk(self.duplicates, (2 * <size_t>self.n_duplicates + 1) * sizeof(uint32_t))
        return 0

    cdef sortable* _sorted(self, sortable* order, sortable* other) noexcept nogil:
        """Return the text tokens sorted by their bytes, equal ones by id, in one of two arrays with room for all."""
        cdef uint32_t n = 0, token_id, i, length, width = 1, begin, middle, end, left, right, at
        cdef unsigned char* data
        cdef uint64_t first_bytes
        cdef sortable* merged
        for token_id in range(self.n_tokens):
            data = self.token_buffer + self.token_offsets[token_id]
            length = self.token_offsets[token_id + 1] - self.token_offsets[token_id]
            if length == 0:
                continue
            first_bytes = 0
            for i in range(8):
                first_bytes = first_bytes << 8 | (data[i] if i < length else 0)
            order[n].first_bytes, order[n].token_id = first_bytes, token_id
            n += 1
        while width < n:        # runs of `width` are sorted; merge two at a time
            begin = 0
            while begin < n:
                middle, end = min(begin + width, n), min(begin + 2 * width, n)
                left, right = begin, middle
                for at in range(begin, end):
                    if right == end or (left < middle and not self._is_before(order + right, order + left)):
                        other[at] = order[left]
                        left += 1
                    else:
                        other[at] = order[right]
                        right += 1
                begin = end
            merged = other
            other, order = order, merged
            width *= 2
        return order

    cdef bint _is_before(self, const sortable* a, const sortable* b) noexcept nogil:
        """Tell whether the bytes of `a` come before those of `b`."""
        cdef uint32_t a_length, b_length
        cdef int order
        if a.first_bytes != b.first_bytes:
            return a.first_bytes < b.first_bytes
        a_length = self.token_offsets[a.token_id + 1] - self.token_offsets[a.token_id]
        b_length = self.token_offsets[b.token_id + 1] - self.token_offsets[b.token_id]
        order = memcmp(
            self.token_buffer + self.token_offsets[a.token_id], self.token_buffer + self.token_offsets[b.token_id],
            min(a_length, b_length),
        )
        return order < 0 or (order == 0 and a_length < b_length)

    cdef bint _write_nodes(self, const sortable* order) noexcept nogil:
        """Write nodes and duplicates of the sorted text tokens. Return False if there are too many."""
        cdef uint32_t open_node[MAX_TOKEN_BYTES + 1]    # open_node[d]: the last node of depth d; depths 1 to before_length are open
        cdef unsigned char* before = NULL               # the token before this one in byte order
        cdef unsigned char* data
        cdef uint32_t before_length = 0, length, shared, depth, token_id, representative = 0, n = 0, i
        for i in range(self.n_text_tokens):
            token_id = order[i].token_id
            data = self.token_buffer + self.token_offsets[token_id]
            length = self.token_offsets[token_id + 1] - self.token_offsets[token_id]
            shared = _shared_prefix(before, before_length, data, length)
            if shared == length:        # the same bytes as the token before it
                self.duplicates[2 * self.n_duplicates] = representative
                self.duplicates[2 * self.n_duplicates + 1] = token_id
                self.n_duplicates += 1
                continue
            if n + <uint64_t>(length - shared) > MAX_NODES:
                return False
            for depth in range(shared + 1, before_length + 1):
                self.nodes[open_node[depth]] |= <uint64_t>(n - open_node[depth]) << SKIP_SHIFT
            for depth in range(shared + 1, length + 1):
                open_node[depth] = n
                self.nodes[n] = <uint64_t>data[depth - 1] | <uint64_t>depth << DEPTH_SHIFT
                n += 1
            self.nodes[n - 1] |= <uint64_t>(token_id + 1) << TOKEN_SHIFT
            representative = token_id
            before, before_length = data, length
        for depth in range(1, before_length + 1):
            self.nodes[open_node[depth]] |= <uint64_t>(n - open_node[depth]) << SKIP_SHIFT
        self.nodes[n] = 0
        self.n_nodes = n
        return True

    def token_bytes(self, token_id):
        cdef uint32_t t
        if not 0 <= token_id < self.n_tokens:
            raise VocabularyError(f"token id {token_id} is not in this vocabulary of {self.n_tokens:,} ids (0 .. {self.n_tokens - 1})")
        t = token_id
        return PyBytes_FromStringAndSize(
            <char*>self.token_buffer + self.token_offsets[t], self.token_offsets[t + 1] - self.token_offsets[t]
        )

    def node(self, index):
        if not 0 <= index < self.n_nodes:
            raise IndexError(f"node {index} of a trie of {self.n_nodes:,} nodes")
        cdef node_t node = self.nodes[<uint32_t>index]
        return node_byte(node), node_depth(node), <int>node_token(node) - 1, node_skip(node)

    def packed_nodes(self):
        return PyBytes_FromStringAndSize(<char*>self.nodes, <Py_ssize_t>self.n_nodes * sizeof(node_t))

    def duplicate_pairs(self):
        return [(self.duplicates[2 * i], self.duplicates[2 * i + 1]) for i in range(self.n_duplicates)]

    def check(self):
        cdef unsigned char[MAX_TOKEN_BYTES + 1] path        # path[d - 1]: the byte of the open node of depth d
        cdef uint32_t[MAX_TOKEN_BYTES + 1] end              # end[d]: where the subtree of the open node of depth d ends
        cdef uint32_t i, depth, token_id, length, before = 0, n_in_trie = 0
        cdef node_t node
        end[0] = self.n_nodes
        for i in range(self.n_nodes):
            node = self.nodes[i]
            depth = node_depth(node)
            _must(1 <= depth <= before + 1, i, "its depth skips a level")
            _must(node_skip(node) >= 1 and i + node_skip(node) <= end[depth - 1], i, "its subtree leaves its parent's")
            if depth <= before:         # the open node of this depth is an elder sibling
                _must(end[depth] == i, i, "an elder sibling's subtree does not end where this node begins")
                _must(path[depth - 1] < node_byte(node), i, "siblings are not in byte order")
            else:
                _must(i == 0 or i < end[depth - 1], i, "it is a child outside its parent's subtree")
            path[depth - 1] = <unsigned char>node_byte(node)
            end[depth] = i + node_skip(node)
            before = depth
            if node_token(node) == 0:
                _must(node_skip(node) > 1, i, "it is a leaf without a token")
                continue
            n_in_trie += 1
            token_id = node_token(node) - 1
            _must(token_id < self.n_tokens, i, "its token id is not in the vocabulary")
            length = self.token_offsets[token_id + 1] - self.token_offsets[token_id]
            _must(
                length == depth and memcmp(path, self.token_buffer + self.token_offsets[token_id], length) == 0,
                i, "the path to it does not spell its token",
            )
        _must(self.nodes[self.n_nodes] == 0, self.n_nodes, "the node after the last is not zero")
        _must(n_in_trie + self.n_duplicates == self.n_text_tokens, 0, "text tokens are missing from the trie")
        for representative, duplicate in self.duplicate_pairs():
            _must(representative < duplicate, representative, "a representative is not the smallest of its ids")
            _must(
                self.token_bytes(representative) == self.token_bytes(duplicate) != b"",
                representative, "duplicates are spelled differently",
            )

    def __sizeof__(self):
        return (
            object.__sizeof__(self)
            + (<size_t>self.n_nodes + 1) * sizeof(node_t)
            + (<size_t>self.n_tokens + 1 + 2 * self.n_duplicates) * sizeof(uint32_t)
            + self.token_offsets[self.n_tokens]
        )

    def __reduce__(self):
        return TokenTrie, ([self.token_bytes(t) for t in range(self.n_tokens)],)


cdef inline uint32_t _shared_prefix(
    const unsigned char* a, uint32_t a_length, const unsigned char* b, uint32_t b_length
) noexcept nogil:
    """Return how many first bytes `a` and `b` have in common."""
    cdef uint32_t i = 0, shorter = min(a_length, b_length)
    while i < shorter and a[i] == b[i]:
        i += 1
    return i


cdef int _must(bint holds, uint32_t index, str what) except -1:
    if not holds:
        raise AssertionError(f"token trie, node {index}: {what}. This is a bug in earleymask.")
    return 0
