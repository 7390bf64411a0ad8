"""Late exits: where tokens could have left a lexeme before the byte by which it dies.

The text `foo(` dies at `(` as a name, and usually leaves the name there. But the grammar may continue with `o(` after
the name `fo`. Rows that can continue like this are rare, so the exits are found when one asks for them: for each node
at which tokens die late (`Part.late`), follow the way from the start of the lexeme down to it. If the lexeme may end at
the parent of a node on this way, a rest may begin with the node.
"""

from libc.stdlib cimport free

from earleymask.earley._part cimport group_by_byte
from earleymask.earley._tables cimport NONE, words_free, words_push
from earleymask.trie._memory cimport malloc
from earleymask.trie._trie cimport node_byte


cdef class LateExits:
    """Find the late exits of parts. Needs the lock of the parts."""

    def __cinit__(self, Quotient quotient not None, Automaton automaton not None, Rests rests not None):
        self.trie = quotient.trie
        self.quotient = quotient
        self.automaton = automaton
        self.rests = rests
        self.stamped = NONE

    def __dealloc__(self):
        free(self.node_states)
        words_free(&self.way)
        words_free(&self.nodes)

    cdef int find(self, Part* part) except -1 nogil:
        self.stamp(part)
        group_by_byte(&part.live, self.trie, &self.nodes)
        part.live_made = True
        return 0

    cdef RestTrie* make_rests(self, Part* part, uint32_t k) except NULL nogil:
        cdef uint32_t first = part.live.starts[k]
        if self.stamped != part.index:
            self.stamp(part)
        return self.rests.make(part.live.nodes + first, part.live.starts[k + 1] - first, True)

    cdef int stamp(self, Part* part) except -1 nogil:
        """Stamp the nodes in `part.late` with `rests.stamp`, and all nodes on the way to them with one less. Fill
        `nodes`."""
        cdef uint32_t i, node, parent, state, stamp
        cdef uint32_t* stamps
        cdef size_t n_nodes = self.trie.n_nodes
        if self.node_states == NULL:
            self.node_states = <uint32_t*> malloc(n_nodes * sizeof(uint32_t))
            if self.node_states == NULL:
                with gil:
                    raise MemoryError("exits of a part")
        self.rests.new_stamp()
        self.stamped = NONE                             # until all stamps are set
        stamps = self.rests.stamps
        stamp = self.rests.stamp
        self.nodes.n = 0
        for i in range(part.n_late):
            # Go up to a node whose state is known, then down again.
            stamps[part.late[i]] = stamp
            self.way.n = 0
            node = self.quotient.parents[part.late[i]]
            while node != part.node and stamps[node] != stamp - 1:
                words_push(&self.way, node)
                node = self.quotient.parents[node]
            while self.way.n:
                parent = node
                self.way.n -= 1
                node = self.way.data[self.way.n]
                state = self.automaton.state(part.regex) if parent == part.node else self.node_states[parent]
                if parent != part.node and self.automaton.states[state].accepts:
                    words_push(&self.nodes, node)
                stamps[node] = stamp - 1
                self.node_states[node] = self.automaton.by_byte(state)[node_byte(self.trie.nodes[node])]
        self.stamped = part.index
        return 0
