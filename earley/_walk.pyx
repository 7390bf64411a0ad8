"""The merged walk: tries every token of the trie, and each common beginning of tokens once.

It goes through the trie depth first and skips a node whose position is dead with everything below it. It parses only if
a lexeme ends, and only the first time it meets a (position, class of bytes); everything else is one look-up in the
tables of the chart. It may visit every node of the trie, a few ns each. It is the reference for all faster ways, which
must give the same mask.
"""

from libc.stdlib cimport free
from libc.string cimport memset

from earleymask.earley._chart cimport DEAD, MAX_TABLES, MET, UNKNOWN, path_allocate, path_free
from earleymask.trie._bitmask cimport mask_allow, mask_allows
from earleymask.trie._memory cimport malloc
from earleymask.trie._trie cimport node_byte, node_depth, node_skip, node_t, node_token


cdef class Walk:
    """Scratch memory and counters for walks of one grammar over one trie. Needs the engine's lock."""

    def __cinit__(self, TokenTrie trie not None):
        self.trie = trie
        path_allocate(&self.path, <size_t> trie.max_depth + 1)
        self.shifted = <uint32_t*> malloc((<size_t> trie.n_words + 1) * sizeof(uint32_t))
        if self.shifted == NULL:
            raise MemoryError("walk")

    def __dealloc__(self):
        path_free(&self.path)
        free(self.shifted)

    cdef int fill(self, Chart chart, uint32_t position, uint32_t* words) except -1 nogil:
        cdef uint32_t n_words = self.trie.n_words, i
        cdef uint32_t* shifted = self.shifted
        memset(shifted, 0, (<size_t> n_words + 1) * sizeof(uint32_t))
        self.n_walks += 1
        chart.max_tables = MAX_TABLES
        self.descend(chart, position)
        for i in range(n_words):
            words[i] = (shifted[i] >> 1) | (shifted[i + 1] << 31)
        for i in range(self.trie.n_duplicates):
            if mask_allows(words, self.trie.duplicates[2 * i]):
                mask_allow(words, self.trie.duplicates[2 * i + 1])
        return 0

    cdef int descend(self, Chart chart, uint32_t position) except -1 nogil:
        cdef const node_t* nodes = self.trie.nodes
        cdef uint32_t* path_tables = self.path.tables
        cdef uint32_t* shifted = self.shifted
        cdef uint32_t* tables
        cdef uint32_t i = 0, n = self.trie.n_nodes, depth, target, table
        cdef uint64_t n_visited = 0
        cdef node_t node
        if n == 0:
            return 0
        chart.enter(&self.path, 0, 0, position)
        tables = chart.tables
        while i < n:
            node = nodes[i]
            n_visited += 1
            depth = node_depth(node)
            # SAFETY: depth <= max_depth, and path_tables[depth - 1] was set when the walk entered the parent.
            target = tables[path_tables[depth - 1] + node_byte(node)]
            if target == UNKNOWN:
                target = chart.fill(self.path.positions[depth - 1], path_tables[depth - 1] >> 8, node_byte(node))
            if target == DEAD:
                i += node_skip(node)
                continue
            mask_allow(shifted, node_token(node))
            if node_skip(node) != 1:
                self.path.positions[depth] = target
                table = chart.table_of.data[target]
                if table < MET:
                    path_tables[depth] = table << 8
                else:
                    path_tables[depth] = chart.enter(&self.path, 0, depth, target)
                    tables = chart.tables
            i += 1
        self.n_nodes += n_visited
        return 0
