"""Doubtful tokens: tokens of one vocabulary that are tried one by one before a mask is right.

The text of a *followed* terminal decides what may follow it (`Engine.add_followed`). Masks are made of what all texts
have in common, so for them one symbol stands for everything that may follow. Then a mask may hold a token in which such
a lexeme ends and continues as its text does not allow: the end of a key, its value, and the same key again. The front
end gives regexes that all such tokens match, see `Engine.set_doubtful`. They are few and short; each of them that is in
a mask, and in which a lexeme that is under way can end, is tried, byte by byte, on the rows of the matcher, which know
the text (`Masks.look_through`).

Most tokens are words, and nearly all doubtful ones hold a quote or a bracket, a comma or a colon: a *mark*. From most states
of these regexes nothing is matched before a mark comes, so the walk leaves out what is below a node without marks.
"""

cimport cython
from libc.stdint cimport uint64_t
from libc.stdlib cimport free

from earleymask.earley._nodes cimport R_EMPTY, nullable
from earleymask.earley._tables cimport (
    NONE, ByteSet, bits_add, bits_have, byteset_add, byteset_and_not, byteset_fill, byteset_has, lowest_bit, sort_words,
    words_free, words_push,
)
from earleymask.trie._memory cimport calloc, malloc
from earleymask.trie._trie cimport node_byte, node_depth, node_skip, node_t, node_token

cdef enum:
    NOT_KNOWN = 0               # whether a state matches before a mark comes
    MATCHES = 1
    NEEDS_MARK = 2
    MOST_SEARCHED = 1 << 8      # states that the searches of `needs_mark` visit in all: the regexes of JSON have few

cdef ByteSet MARKS


cdef void list_marks() noexcept:
    cdef bytes marks = b'"[]{},:'
    cdef Py_ssize_t i
    byteset_fill(&MARKS, 0)
    for i in range(len(marks)):
        byteset_add(&MARKS, <unsigned char> marks[i])


list_marks()


@cython.final
cdef class Marked:
    """The trie nodes at or below which there is a mark."""

    def __cinit__(self, TokenTrie trie not None):
        cdef uint32_t i = trie.n_nodes, next_marked = trie.n_nodes
        self.bits = <uint32_t*> calloc(trie.n_nodes // 32 + 1, sizeof(uint32_t))
        if self.bits == NULL:
            raise MemoryError("doubtful tokens")
        while i:
            i -= 1
            if byteset_has(&MARKS, node_byte(trie.nodes[i])) or next_marked < i + node_skip(trie.nodes[i]):
                bits_add(self.bits, i)
                next_marked = i

    def __dealloc__(self):
        free(self.bits)


@cython.final
cdef class States:
    """The derivatives of one regex, and where each byte leads from them. A state that matches nothing is DEAD."""

    def __cinit__(self, Regexes regexes not None, uint32_t node):
        self.regexes = regexes
        self.states = Map()
        self.start = self.state(node)

    def __dealloc__(self):
        words_free(&self.nodes)
        words_free(&self.tables)
        words_free(&self.verdicts)
        words_free(&self.agenda)

    cdef uint32_t state(self, uint32_t node) except? 0xFFFFFFFF:
        cdef uint32_t state, byte
        if node == R_EMPTY:
            return DEAD
        state = self.states.get(node)
        if state == NONE:
            state = <uint32_t> self.nodes.n
            words_push(&self.nodes, node)
            words_push(&self.verdicts, MATCHES if nullable(self.regexes, node) else NOT_KNOWN)
            for byte in range(256):
                words_push(&self.tables, NONE)
            self.states.put(node, state)
        return state

    cdef int fill_row(self, uint32_t state, uint32_t byte) except -1:
        """Note the state after `byte`, and after all bytes that lead to the same one."""
        cdef ByteSet same
        cdef uint32_t target, other
        byteset_fill(&same, <uint64_t> -1)
        self.regexes.meter.derivations = self.regexes.meter.most_derivations
        target = self.state(self.regexes.derive(self.nodes.data[state], byte, &same))
        for other in range(256):
            if byteset_has(&same, other):
                self.tables.data[256 * state + other] = target
        return 0

    cdef bint needs_mark(self, uint32_t state) except -1:
        """Return whether nothing is surely matched from this state before a mark has been read."""
        cdef ByteSet left
        cdef uint32_t byte, target, w, i = 0
        if self.verdicts.data[state] == NOT_KNOWN:
            # All states that bytes other than marks lead to; none of them is in `agenda` twice.
            self.agenda.n = 0
            words_push(&self.agenda, state)
            self.verdicts.data[state] = NEEDS_MARK
            while i < self.agenda.n and self.verdicts.data[state] == NEEDS_MARK:
                byteset_fill(&left, <uint64_t> -1)
                byteset_and_not(&left, &MARKS)
                for w in range(4):
                    while left.w[w]:
                        byte = 64 * w + lowest_bit(left.w[w])
                        left.w[w] &= left.w[w] - 1
                        if self.tables.data[256 * self.agenda.data[i] + byte] == NONE:
                            self.fill_row(self.agenda.data[i], byte)
                        target = self.tables.data[256 * self.agenda.data[i] + byte]
                        if target == DEAD:
                            continue
                        if self.verdicts.data[target] == NOT_KNOWN:
                            self.verdicts.data[target] = NEEDS_MARK
                            words_push(&self.agenda, target)
                        elif self.verdicts.data[target] == MATCHES:
                            self.verdicts.data[state] = MATCHES
                i += 1
                self.n_searched += 1
                if self.n_searched > MOST_SEARCHED:
                    self.verdicts.data[state] = MATCHES
            if self.verdicts.data[state] == MATCHES:    # of the others, that is not known
                for i in range(1, <uint32_t> self.agenda.n):
                    self.verdicts.data[self.agenda.data[i]] = NOT_KNOWN
        return self.verdicts.data[state] == NEEDS_MARK


@cython.final
cdef class Doubtful:
    """The tokens of `trie` that match a regex."""

    def __cinit__(self, TokenTrie trie not None, Marked marked not None, Regexes regexes not None, uint32_t node):
        self.find(trie, marked, States(regexes, node))

    def __dealloc__(self):
        words_free(&self.tokens)

    def to_list(self) -> list[int]:
        """Return the token ids, for tests."""
        return [self.tokens.data[i] for i in range(self.tokens.n)]

    cdef int find(self, TokenTrie trie, Marked marked, States states) except -1:
        """Find the tokens by one walk over the trie, with a table of 256 states for each derivative of the regex."""
        cdef Words* found = &self.tokens
        cdef uint32_t* path
        cdef uint32_t i = 0, k, depth, state, byte
        cdef node_t trie_node
        if states.start == DEAD:
            return 0
        path = <uint32_t*> malloc((<size_t> trie.max_depth + 1) * sizeof(uint32_t))
        if path == NULL:
            raise MemoryError("doubtful tokens")
        try:
            path[0] = states.start
            while i < trie.n_nodes:
                trie_node = trie.nodes[i]
                depth = node_depth(trie_node)
                state = path[depth - 1]
                if not bits_have(marked.bits, i) and states.needs_mark(state):
                    i += node_skip(trie_node)
                    continue
                byte = node_byte(trie_node)
                if states.tables.data[256 * state + byte] == NONE:
                    states.fill_row(state, byte)
                state = states.tables.data[256 * state + byte]
                if state == DEAD:
                    i += node_skip(trie_node)
                    continue
                path[depth] = state
                if node_token(trie_node) and nullable(states.regexes, states.nodes.data[state]):
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
        return 0
