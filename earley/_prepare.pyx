"""Parts of a vocabulary made before any grammar asks for them.

Parts are known by what a regex is, whatever grammar it stands in (`_parts`). So the parts of usual terminals can be made
when a server starts: for each terminal the parts of its states at the root of the trie, and that of its start below the
blank with which most words of a vocabulary begin; with all exits and rests, whichever byte a grammar goes on with.

Which terminals are usual is not for here to say: they are those of the engine that is given.
"""

from libc.stdint cimport uint32_t, uint64_t

from cpython.pythread cimport WAIT_LOCK, PyThread_acquire_lock, PyThread_release_lock, PyThread_type_lock

from earleymask.earley._automaton cimport DEAD_END
from earleymask.earley._engine cimport Engine
from earleymask.earley._parts cimport ROOT_NODE, Part, Parts, parts_of
from earleymask.earley._rules cimport S_TERMINAL
from earleymask.earley._tables cimport NONE, Words, words_free, words_push
from earleymask.trie._trie cimport TokenTrie

cdef enum:
    # Of a terminal. Those that ASCII leads to come first; `\w` has some 150, most of them within a character.
    MAX_STATES = 32


cdef class Preparation:
    """The parts of the terminals of an engine over one vocabulary.

    `make()` makes those that are not there. It may be called from several threads and when there are matchers at work,
    which wait for one part at a time at most.
    """

    def __cinit__(self, Engine engine not None, TokenTrie trie not None):
        cdef uint32_t blank
        self.trie = trie
        self.parts = parts_of(trie)
        blank = self.parts.quotient.child(NONE, b" "[0])
        with nogil:
            self.want(engine, blank)

    def __dealloc__(self):
        words_free(&self.wanted)
        words_free(&self.states)

    def make(self) -> None:
        """Make what is missing."""
        with nogil:
            self.make_all()

    # ---- which --------------------------------------------------------------------------------------------------

    cdef int want(self, Engine engine, uint32_t blank) except -1 nogil:
        cdef Words adopted
        cdef uint32_t symbol, regex
        adopted.data = NULL
        adopted.n = adopted.capacity = 0
        PyThread_acquire_lock(<PyThread_type_lock> self.parts.lock, WAIT_LOCK)
        try:
            for symbol in range(engine.rules.n_symbols):
                if engine.rules.symbols[symbol].kind == S_TERMINAL:
                    regex = self.parts.automaton.adopt(engine.regexes, engine.rules.symbols[symbol].node, &adopted)
                    self.want_terminal(regex, blank)
        finally:
            PyThread_release_lock(<PyThread_type_lock> self.parts.lock)
            words_free(&adopted)
        return 0

    cdef int want_terminal(self, uint32_t regex, uint32_t blank) except -1 nogil:
        """Needs the lock of the parts."""
        cdef uint32_t i = 0, byte, state
        cdef const uint32_t* row
        self.states.n = 0
        self.reach(self.parts.automaton.state(regex))
        while i < self.states.n:
            state = self.states.data[i]
            self.add(ROOT_NODE, self.parts.automaton.states[state].regex)
            if self.states.n < MAX_STATES:
                row = self.parts.automaton.by_byte(state)
                for byte in range(256):
                    if row[byte] != DEAD_END:
                        self.reach(row[byte])
            i += 1
        if blank != NONE:
            self.add(blank, self.parts.automaton.states[self.states.data[0]].regex)
        return 0

    cdef int reach(self, uint32_t state) except -1 nogil:
        cdef size_t i
        for i in range(self.states.n):
            if self.states.data[i] == state:
                return 0
        if self.states.n < MAX_STATES:
            words_push(&self.states, state)
        return 0

    cdef int add(self, uint32_t node, uint32_t regex) except -1 nogil:
        cdef size_t i
        for i in range(0, self.wanted.n, 2):            # a few hundred
            if self.wanted.data[i] == node and self.wanted.data[i + 1] == regex:
                return 0
        words_push(&self.wanted, node)
        words_push(&self.wanted, regex)
        return 0

    # ---- making -------------------------------------------------------------------------------------------------

    cdef int make_all(self) except -1 nogil:
        cdef size_t i
        for i in range(0, self.wanted.n, 2):
            self.complete(self.part(self.wanted.data[i], self.wanted.data[i + 1]))
        return 0

    cdef Part* part(self, uint32_t node, uint32_t regex) except NULL nogil:
        cdef uint64_t n_built
        PyThread_acquire_lock(<PyThread_type_lock> self.parts.lock, WAIT_LOCK)
        try:
            n_built = self.parts.n_built
            part = self.parts.find_or_build(node, regex)
            if self.parts.n_built == n_built:
                self.n_known += 1
            else:
                self.n_built += 1
            return part
        finally:
            PyThread_release_lock(<PyThread_type_lock> self.parts.lock)

    cdef int complete(self, Part* part) except -1 nogil:
        """All exits and rests of a part."""
        cdef uint32_t k
        for k in range(part.exits.n_bytes):
            self.parts.need_rests(part, &part.exits, k)
        if part.n_late:
            self.parts.need_live(part)
            for k in range(part.live.n_bytes):
                self.parts.need_rests(part, &part.live, k)
        return 0
