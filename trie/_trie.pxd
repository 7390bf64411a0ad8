"""The token trie: every text token of a vocabulary in one array of packed nodes, in depth-first order.

One node is one `uint64_t`:

    bits  0..7    byte     the byte on the edge that leads to this node
    bits  8..19   depth    bytes from the start of the token; children of the (unstored) root have depth 1
    bits 20..41   token    id of the token spelled by the path to this node, plus 1; 0: no token ends here
    bits 42..63   skip     nodes in this subtree, itself included: `nodes[i + skip]` is the next sibling or uncle

12 bits of depth suffice for tokens thirty times as long as the longest that we test (Llama 3 and DeepSeek: 128 bytes).
22 bits suffice for vocabularies ten times as large as those (Llama 4: 202,048 ids, 420,757 nodes; Gemma: 262,144 ids).
A node is one word because the mask walk reads all four fields of every node that it visits: this takes one load instead
of four from four arrays.
"""

from libc.stdint cimport uint32_t, uint64_t

ctypedef uint64_t node_t

cdef enum:
    DEPTH_SHIFT = 8
    TOKEN_SHIFT = 20
    SKIP_SHIFT = 42
    MAX_TOKEN_BYTES = 4095          # 12 bits of depth
    MAX_TOKENS = 4194303            # 22 bits of token id + 1: ids 0 .. 4,194,302
    MAX_NODES = 4194303             # 22 bits of skip


cdef inline uint32_t node_byte(node_t node) noexcept nogil:
    """Return the byte on the edge into this node."""
    return <uint32_t>(node & 0xFF)


cdef inline uint32_t node_depth(node_t node) noexcept nogil:
    """Return the length of the path to this node in bytes, 1 or more."""
    return <uint32_t>(node >> DEPTH_SHIFT) & 0xFFF


cdef inline uint32_t node_token(node_t node) noexcept nogil:
    """Return the token id PLUS ONE; 0 means that no token ends here."""
    return <uint32_t>(node >> TOKEN_SHIFT) & 0x3FFFFF


cdef inline uint32_t node_skip(node_t node) noexcept nogil:
    """Return the number of nodes in this subtree, itself included; never 0."""
    return <uint32_t>(node >> SKIP_SHIFT)


cdef struct sortable:
    uint64_t first_bytes            # of a token, the first one highest; zeros after its end
    uint32_t token_id


cdef class TokenTrie:
    cdef node_t* nodes              # owned; nodes[0:n_nodes], then one zero node, so that nodes[i + skip] may be loaded
    cdef readonly uint32_t n_nodes
    cdef readonly uint32_t n_tokens         # ids 0 .. n_tokens - 1, gaps, special tokens and padding included
    cdef readonly uint32_t n_words          # uint32 words of a bitmask: ceil(n_tokens / 32)
    cdef readonly uint32_t max_depth        # bytes of the longest text token
    cdef readonly uint32_t n_text_tokens    # ids with bytes, duplicates included
    cdef readonly uint32_t n_duplicates
    cdef uint32_t* duplicates       # owned; n_duplicates pairs (representative, duplicate): spelled alike, only the
                                    # representative (the smallest such id) is in `nodes`; ascending in both
    cdef unsigned char* token_buffer        # owned; the bytes of all tokens, in order of their ids
    cdef uint32_t* token_offsets    # owned; n_tokens + 1 of them; token t is token_buffer[token_offsets[t]:token_offsets[t + 1]],
                                    # empty for what is not text
    cdef public object learned      # what the layers above remember about this vocabulary, None at first; not part of
                                    # the trie's value: not pickled, may be replaced by None at any time

    cdef int _copy_tokens(self, list tokens) except -1
    cdef int _build(self) except -1
    cdef sortable* _sorted(self, sortable* order, sortable* other) noexcept nogil
    cdef bint _is_before(self, const sortable* a, const sortable* b) noexcept nogil
    cdef bint _write_nodes(self, const sortable* order) noexcept nogil
