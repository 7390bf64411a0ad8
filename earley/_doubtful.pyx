"""Doubtful tokens: tokens of one vocabulary that are tried one by one before a mask is right.

The text of a *followed* terminal decides what may follow it (`Engine.add_followed`). Masks are made of what all texts
have in common, so for them one symbol stands for everything that may follow. Then a mask may hold a token in which such
a lexeme ends and continues as its text does not allow: the end of a key, its value, and the same key again. The front
end gives regexes that all such tokens match, see `Engine.set_doubtful`. They are few and short; each of them that is in
a mask, and in which a lexeme that is under way can end, is tried, byte by byte, on the rows of the matcher, which know
the text (`Masks.look_through`).
"""

from libc.stdint cimport uint64_t
from libc.stdlib cimport free

from earleymask.earley._nodes cimport R_EMPTY, nullable
from earleymask.earley._tables cimport (
    NONE, ByteSet, Map, byteset_fill, byteset_has, sort_words, words_free, words_push,
)
from earleymask.trie._memory cimport malloc
from earleymask.trie._trie cimport node_byte, node_depth, node_skip, node_t, node_token


cdef class Doubtful:
    """The tokens of `trie` that match a regex."""

    def __cinit__(self, TokenTrie trie not None, Regexes regexes not None, uint32_t node):
        self.find(trie, regexes, node)

    def __dealloc__(self):
        words_free(&self.tokens)

    cdef int find(self, TokenTrie trie, Regexes regexes, uint32_t node) except -1:
        """Find the tokens by one walk over the trie, with a table of 256 states for each derivative of the regex."""
        cdef Map states = Map()                     # regex node -> state
        cdef Words nodes, tables                    # by state
        cdef Words* found = &self.tokens
        cdef uint32_t* path = <uint32_t*> malloc((<size_t> trie.max_depth + 1) * sizeof(uint32_t))
        cdef uint32_t i = 0, k, depth, state, byte
        cdef node_t trie_node
        nodes.data = tables.data = NULL
        nodes.n = tables.n = nodes.capacity = tables.capacity = 0
        try:
            if path == NULL:
                raise MemoryError("doubtful tokens")
            path[0] = state_of(states, &nodes, &tables, node)
            while i < trie.n_nodes:
                trie_node = trie.nodes[i]
                depth = node_depth(trie_node)
                byte = node_byte(trie_node)
                state = tables.data[256 * path[depth - 1] + byte]
                if state == NONE:
                    fill_row(regexes, states, &nodes, &tables, path[depth - 1], byte)
                    state = tables.data[256 * path[depth - 1] + byte]
                node = nodes.data[state]
                if node == R_EMPTY:
                    i += node_skip(trie_node)
                    continue
                path[depth] = state
                if node_token(trie_node) and nullable(regexes, node):
                    words_push(found, node_token(trie_node) - 1)
                i += 1
            sort_words(found.data, found.n)
            for i in range(trie.n_duplicates):
                for k in range(found.n):
                    if found.data[k] == trie.duplicates[2 * i]:
                        words_push(found, trie.duplicates[2 * i + 1])
                        break
            sort_words(found.data, found.n)
        finally:
            free(path)
            words_free(&nodes)
            words_free(&tables)
        return 0


cdef uint32_t state_of(Map states, Words* nodes, Words* tables, uint32_t node) except? 0xFFFFFFFF:
    cdef uint32_t state = states.get(node), byte
    if state == NONE:
        state = <uint32_t> nodes.n
        words_push(nodes, node)
        for byte in range(256):
            words_push(tables, NONE)
        states.put(node, state)
    return state


cdef int fill_row(Regexes regexes, Map states, Words* nodes, Words* tables, uint32_t state, uint32_t byte) except -1:
    """Note the state after `byte`, and after all bytes that lead to the same one."""
    cdef ByteSet same
    cdef uint32_t target, other
    byteset_fill(&same, <uint64_t> -1)
    regexes.meter.derivations = regexes.meter.most_derivations
    target = state_of(states, nodes, tables, regexes.derive(nodes.data[state], byte, &same))
    for other in range(256):
        if byteset_has(&same, other):
            tables.data[256 * state + other] = target
    return 0
