"""The tokens that reach beyond a text that is already known, into what the grammar allows after it.

A tokenizer may join the end of a known text and the beginning of what follows in one token. `forced` decides with these
tokens which of the known text's own tokens are certain.
"""

from libc.stdlib cimport free
from libc.stdint cimport uint32_t

from earleymask.earley._chart cimport DEAD, Chart
from earleymask.trie._memory cimport malloc
from earleymask.trie._trie cimport TokenTrie, node_byte, node_depth, node_skip, node_t, node_token

cdef enum:
    # The tokens that are listed for each first byte after the known text. A list of one byte that has as many need not be
    # complete; `forced` takes it that there are more.
    MOST_PER_BYTE = 16


cdef list find_crossing(Chart chart, TokenTrie trie, uint32_t position, bytes known):
    # Twice the longest token: before one that crosses the end, there may be one that ends inside a character.
    cdef size_t n_rest, most = min(<size_t> len(known), 2 * <size_t> trie.max_depth)
    cdef uint32_t* places = <uint32_t*> malloc((<size_t> trie.max_depth + 1) * sizeof(uint32_t))
    cdef list found = []
    if places == NULL:
        raise MemoryError("crossing")
    try:
        for n_rest in range(most + 1):
            found.append(crossing(chart, trie, position, known[<size_t> len(known) - n_rest:], places))
    finally:
        free(places)
    return found


cdef tuple crossing(Chart chart, TokenTrie trie, uint32_t position, bytes rest, uint32_t* places):
    """Return the tokens that begin with `rest` and continue at `position`, and the lengths of those that `rest` begins
    with. `places` has room for the position at each depth."""
    cdef const node_t* nodes = trie.nodes
    cdef uint32_t i = 0, end = trie.n_nodes, depth, target, n_rest = len(rest), n_listed = 0
    cdef const unsigned char* data = rest
    cdef list tokens = [], ends = []
    cdef node_t node
    for depth in range(n_rest):
        while i < end and node_byte(nodes[i]) != data[depth]:
            i += node_skip(nodes[i])
        if i >= end:
            return tokens, ends
        node = nodes[i]
        if node_token(node):
            ends.append(node_depth(node))
        end = i + node_skip(node)
        i += 1
    places[n_rest] = position
    while i < end:
        node = nodes[i]
        depth = node_depth(node)
        if depth == n_rest + 1:
            n_listed = 0
        # SAFETY: depth <= max_depth, and places[depth - 1] was set when the loop entered the parent.
        target = chart.advance(places[depth - 1], node_byte(node)) if n_listed < MOST_PER_BYTE else <uint32_t> DEAD
        if target == DEAD:
            i += node_skip(node)
            continue
        places[depth] = target
        if node_token(node):
            tokens.append(node_token(node) - 1)
            n_listed += 1
        i += 1
    return tokens, ends
