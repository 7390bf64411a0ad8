"""Makes parts of a vocabulary before any grammar asks for them.

A part belongs to a regex, whatever grammar the regex is in (`_parts`). So the parts of common terminals can be made
when a server starts: for each terminal the parts of its states at the root of the trie, and the part of its start below
the blank with which most words of a vocabulary begin. They are made with all exits and rests, for every byte with which
a grammar may continue. The terminals are those of the engine that is given. Of terminals with many states, such as the
formats of JSON Schema, those states are taken that lead through an example.

What was made can be saved, with a record for each part (`_records`), and loaded. The records are in the order in which
the terminals ask for their parts.
"""

from libc.stdint cimport uint32_t, uint64_t

from earleymask.earley._automaton cimport DEAD_END
from earleymask.earley._engine cimport Engine
from earleymask.earley._keys cimport Keys
from earleymask.earley._part cimport ROOT_NODE, Part, free_part, new_part
from earleymask.earley._parts cimport MAX_MEMBERS, Parts, parts_of, union_members
from earleymask.earley._records cimport Records
from earleymask.earley._rules cimport S_TERMINAL
from earleymask.earley._tables cimport NONE, Words, words_free, words_push
from earleymask.trie._quotient cimport Quotient
from earleymask.trie._trie cimport TokenTrie

cdef enum:
    # States of one terminal whose parts are made, those that ASCII leads to first. `\w` has some 150 states, most of
    # them within a character.
    MAX_STATES = 32
    MOST_BEFORE = 1 << 22       # bytes of parts that stay, too, because they were there before


cdef class Preparation:
    """The parts of the terminals of an engine over one vocabulary.

    `make()` makes the parts that are missing. Several threads may call it, and matchers may be working; these wait for
    at most one part at a time. `saved` is what `arrays()` gave for the same vocabulary, perhaps read from a file: then
    parts are loaded instead of made if the records belong to the same terminals. Raises `VocabularyError` if `saved`
    belongs to another vocabulary. `examples`: engines with a text of one of their terminals; the parts of the states
    along the text are made.
    """

    def __cinit__(self, Engine engine not None, TokenTrie trie not None, saved=None, examples=()):
        cdef uint32_t blank
        cdef Engine other
        cdef const unsigned char[::1] text
        if saved is not None and trie.learned is None:
            made = Parts(trie, Quotient(trie, arrays=saved))
            if trie.learned is None:                    # no other thread was faster
                trie.learned = made
        self.parts = parts_of(trie)
        if self.parts.kept is None and self.parts.n_bytes() > MOST_BEFORE:
            # What is made now is to stay for ever, so it begins without what happens to be there.
            fewer = Parts(trie, before=self.parts)
            if trie.learned is self.parts:              # no other thread was faster
                trie.learned = fewer
            self.parts = trie.learned
        self.records = Records(self.parts, saved.get("parts") if saved is not None else None)
        blank = self.parts.quotient.child(NONE, b" "[0])
        with nogil:
            self.want(engine, blank)
        for other, text in examples:
            with nogil:
                self.want_along(other, &text[0], text.shape[0])
        self.keys = Keys(self.parts.automaton.regexes)
        with nogil:
            self.split_unions()

    def __dealloc__(self):
        words_free(&self.wanted)
        words_free(&self.states)

    @property
    def n_missing(self) -> int:
        """The number of parts that `make` would make."""
        cdef size_t i
        cdef uint32_t n = 0
        with nogil:
            self.parts.acquire()
            for i in range(0, self.wanted.n, 2):
                n += self.parts.find(self.wanted.data[i], self.wanted.data[i + 1]) == NULL
            self.parts.release()
        return n

    @property
    def damaged(self) -> bool:
        """Whether `make` met a damaged record; the part of this record and all later parts were made."""
        return self.records.damaged

    def make(self) -> None:
        """Make the parts that are missing, or load them."""
        cdef uint32_t n_missing = self.n_missing
        with nogil:
            self.make_all()
        # Other parts need some parts, too (`Part.like`), and another thread may make some: so count those that were
        # missing.
        self.n_known = <uint32_t> (self.wanted.n // 2) - n_missing
        self.n_built = n_missing - self.n_taken
        if self.parts.kept is None:
            self.parts.keep()

    def arrays(self):
        """Return what can be saved: the quotient's arrays, and `parts` (uint32). Makes missing parts first."""
        cdef Records records = Records(self.parts)
        with nogil:
            self.write_all(records)
        arrays = self.parts.quotient.arrays()
        arrays["parts"] = records.array()
        return arrays

    # ---- which --------------------------------------------------------------------------------------------------

    cdef int want(self, Engine engine, uint32_t blank) except -1 nogil:
        cdef Words adopted
        cdef uint32_t symbol, regex
        adopted.data = NULL
        adopted.n = adopted.capacity = 0
        self.parts.acquire()
        try:
            for symbol in range(engine.rules.n_symbols):
                if engine.rules.symbols[symbol].kind == S_TERMINAL:
                    regex = self.parts.automaton.adopter.adopt(engine.regexes, engine.rules.symbols[symbol].node, &adopted)
                    self.want_terminal(regex, blank)
        finally:
            self.parts.release()
            words_free(&adopted)
        return 0

    cdef int want_terminal(self, uint32_t regex, uint32_t blank) except -1 nogil:
        """Want the parts of one terminal. Needs the lock of the parts."""
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

    cdef int want_along(self, Engine engine, const unsigned char* text, size_t n) except -1 nogil:
        """Want the parts of the states of a terminal that lead through a text of it, but for the last, after which hardly
        anything may come."""
        cdef Words adopted
        cdef uint32_t symbol, regex, state
        cdef size_t k
        adopted.data = NULL
        adopted.n = adopted.capacity = 0
        self.parts.acquire()
        try:
            for symbol in range(engine.rules.n_symbols):
                if engine.rules.symbols[symbol].kind != S_TERMINAL:
                    continue
                regex = self.parts.automaton.adopter.adopt(engine.regexes, engine.rules.symbols[symbol].node, &adopted)
                state = self.parts.automaton.state(regex)
                self.states.n = 0
                for k in range(n):
                    words_push(&self.states, state)
                    state = self.parts.automaton.by_byte(state)[text[k]]
                    if state == DEAD_END:               # another terminal, such as white space
                        break
                for k in range(self.states.n if state != DEAD_END else 0):
                    self.add(ROOT_NODE, self.parts.automaton.states[self.states.data[k]].regex)
        finally:
            self.parts.release()
            words_free(&adopted)
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

    cdef int split_unions(self) except -1 nogil:
        """Replace small unions by their members, as masks do, in an order that is the same in every process."""
        cdef Words wanted = self.wanted
        cdef uint32_t members[MAX_MEMBERS]
        cdef size_t i, j, k, n
        self.wanted.data = NULL
        self.wanted.n = self.wanted.capacity = 0
        self.parts.acquire()
        try:
            for k in range(0, wanted.n, 2):
                n = union_members(self.parts.automaton.regexes, wanted.data[k + 1], members)
                for i in range(n):
                    for j in range(i + 1, n):
                        if self.keys.key(members[j]) < self.keys.key(members[i]):
                            members[i], members[j] = members[j], members[i]
                    self.add(wanted.data[k], members[i])
        finally:
            self.parts.release()
            words_free(&wanted)
        return 0

    # ---- making -------------------------------------------------------------------------------------------------

    cdef int make_all(self) except -1 nogil:
        cdef size_t i
        for i in range(0, self.wanted.n, 2):
            self.parts.complete(self.part(self.wanted.data[i], self.wanted.data[i + 1]))
        return 0

    cdef Part* part(self, uint32_t node, uint32_t regex) except NULL nogil:
        cdef Part* part = NULL
        self.parts.acquire()
        try:
            if not self.take(node, regex, &part):
                part = self.parts.find_or_build(node, regex)
            return part
        finally:
            self.parts.release()

    cdef bint take(self, uint32_t node, uint32_t regex, Part** taken) except -1 nogil:
        """Find the part, or load it from the next record; return False if it must be made. Needs the lock of the
        parts."""
        cdef const uint32_t* record = self.records.next(node, self.keys.key(regex))
        cdef Part* part
        cdef bint read = False
        taken[0] = self.parts.find(node, regex)
        if taken[0] != NULL:
            return True
        if record == NULL:
            return False
        part = new_part()
        part.node = node
        part.regex = regex
        try:
            read = self.records.read(record, part)
        finally:
            if not read:
                free_part(part)
        if not read:
            return False
        self.parts.enter(part)
        self.n_taken += 1
        taken[0] = part
        return True

    cdef int write_all(self, Records records) except -1 nogil:
        cdef size_t i
        cdef uint64_t key
        cdef Part* part
        for i in range(0, self.wanted.n, 2):
            self.parts.acquire()
            try:
                key = self.keys.key(self.wanted.data[i + 1])
                part = self.parts.find_or_build(self.wanted.data[i], self.wanted.data[i + 1])
            finally:
                self.parts.release()
            self.parts.complete(part)
            records.write(self.wanted.data[i], key, part)
        return 0
