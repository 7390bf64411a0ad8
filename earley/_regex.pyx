"""Regex nodes over bytes and their derivatives.

The derivative of a language L by a byte b is what may follow b: { w : bw in L }. Deriving byte by byte turns a regex
into an automaton whose states are regexes, with intersection and complement for free (Brzozowski 1964). There are
finitely many of them, because nodes are hash-consed and kept in a normal form (`_nodes`, `_unions`).

This departs from the textbook:
- Each derivative comes with a set of bytes that have the same derivative (the "approximate classes" of Owens, Reppy,
  Turon 2009, computed in the same recursion), so a state takes as many derivations as it has different continuations,
  not 256.
- Counted repetition stays a count (`_unions` has the counts that can be read in several ways), and a class of code
  points stays a class (`_characters`).
- A terminal with lazy quantifiers is one K_ORDERED leaf (`_threads`), one with lookarounds or atomic groups one K_CUTS
  leaf (`_cuts`).
- The spellings of a text within a JSON string are a node over the regex of the text (`_escaped`).
- A long list of texts stays a list (`_choices`). In a K_MARKED node, some bytes of such a list stand for nodes: the
  white space around the commas of constants may vary.
- Multiples of numbers with very many remainders are one leaf that computes (`_multiples`).

Not here: regex syntax (`earleymask.grammar`), sets of terminals (`_lexer`).
"""

from libc.string cimport memcpy, memset

from earleymask.earley._characters cimport derive_char, derive_tail, push_range
from earleymask.earley._choices cimport derive_choices, make_choices
from earleymask.earley._cuts cimport MAX_EXPLORED, end_lexeme
from earleymask.earley._emptiness cimport search
from earleymask.earley._escaped cimport STYLE_ASCII, STYLE_SHORTEST, derive_escaped, make_escaped
from earleymask.earley._meter cimport exceeds, spend_steps
from earleymask.earley._multiples cimport derive_multiples, make_multiples
from earleymask.earley._nodes cimport (
    F_KNOWN_EMPTY, F_KNOWN_INHABITED, F_NULLABLE, F_ORDERED, F_SEARCH, IN_TABLE, K_BYTES, K_CHAR, K_CHOICES, K_CONCAT, K_CUTS,
    K_EPSILON, K_ESCAPED, K_MARKED, K_MULTIPLES, K_NOT, K_ORDERED, K_READ, K_REPEAT, K_TAIL, K_UNION, MANY_EDGES, MAX_MARKS, OP_ATOM, OP_BEHIND, OP_COMMIT,
    OP_GROUP, OP_JUMP, OP_MATCH, OP_SPLIT, READ_BODY, READ_BYTES, READ_LENGTH, R_EMPTY, R_EPSILON, Edge,
    Instruction, kind_of, load_bytes, nullable, Q_BEFORE, Q_DECIDED, Q_LAST, Q_MIXED, Q_OPEN, Q_OUTSIDE,
)
from earleymask.earley._tables cimport (
    NONE, Words, byteset_add, byteset_and, byteset_and_not, byteset_fill, byteset_has, byteset_or, reserve,
    sequence, sequence_length, set_all, words_extend, words_free, words_push,
)

from earleymask.earley.errors import LimitError


cdef class Regexes(Unions):
    """An arena of regex nodes. A node is an int; two equal nodes, in normal form, are the same int.

    `EMPTY` (0) matches no string, `EPSILON` (1) only the empty one. Nodes live as long as the arena. The constructors
    return a node; they raise `ValueError` for a node of another arena and `LimitError` if the arena is full.
    """

    EMPTY = R_EMPTY
    EPSILON = R_EPSILON
    BEFORE = Q_BEFORE
    DECIDED = Q_DECIDED
    LAST = Q_LAST
    OUTSIDE = Q_OUTSIDE
    MIXED = Q_MIXED
    OPEN = Q_OPEN

    def __cinit__(self):
        self.threads = Threads()
        self.cutter = Cuts()
        self.any_char = Regexes.char_class(self, [(0, 0x10FFFF)])  # a subclass's method would meet an object that is not made yet

    # ---- constructors -------------------------------------------------------------------------------------------

    @property
    def n_nodes(self) -> int:
        """The number of nodes made so far."""
        return self.nodes.n

    def byte_set(self, values) -> int:
        """Match one byte out of `values` (ints 0..255)."""
        cdef ByteSet s
        cdef long value
        byteset_fill(&s, 0)
        for value in values:
            if not 0 <= value <= 255:
                raise ValueError(f"byte_set: {value!r} is not a byte value (0..255)")
            byteset_add(&s, <uint32_t> value)
        return self.make_bytes(&s)

    cpdef uint32_t literal(self, bytes data, uint32_t rest=R_EPSILON) except? 0xFFFFFFFF:
        """Match exactly these bytes and then `rest`."""
        if data is None:
            raise TypeError("literal: bytes are needed, not None")
        cdef const unsigned char* p = data
        cdef uint32_t node = rest
        cdef Py_ssize_t i
        cdef ByteSet s
        for i in range(len(data) - 1, -1, -1):
            spend_steps(self.meter, 8)
            byteset_fill(&s, 0)
            byteset_add(&s, p[i])
            node = self.make_concat(self.make_bytes(&s), node)
        return node

    cpdef uint32_t char_class(self, ranges) except? 0xFFFFFFFF:
        """Match one code point out of sorted, disjoint, inclusive `ranges`, in UTF-8. Surrogates are skipped."""
        cdef Words words
        cdef uint32_t key[2]
        cdef ByteSet s
        cdef uint32_t lo, hi, code, previous = 0
        cdef size_t i
        memset(&words, 0, sizeof(words))
        byteset_fill(&s, 0)
        try:
            for lo, hi in ranges:
                spend_steps(self.meter, 8)
                if lo > hi or hi > 0x10FFFF or (words.n and lo <= previous):
                    raise ValueError(f"char_class: ranges must be sorted and disjoint code points, got {lo:#x}..{hi:#x}")
                previous = hi
                if lo < 0xD800 <= hi:
                    push_range(&words, lo, 0xD7FF)
                    lo = 0xE000
                elif 0xD800 <= lo <= 0xDFFF:
                    lo = 0xE000
                if lo <= hi:
                    push_range(&words, lo, hi)
            if words.n == 0:
                return R_EMPTY
            if words.data[words.n - 1] < 0x80:
                for i in range(0, words.n, 2):
                    for code in range(words.data[i], words.data[i + 1] + 1):
                        byteset_add(&s, code)
                return self.make_bytes(&s)
            key[0] = K_CHAR
            key[1] = self.classes.intern(words.data, words.n)
            return self.make(key, 2)
        finally:
            words_free(&words)

    cpdef uint32_t concat(self, nodes) except? 0xFFFFFFFF:
        """Match the nodes one after the other."""
        cdef size_t base = self.push(nodes)
        cdef uint32_t node = R_EPSILON
        try:
            while self.stack.n > base:
                spend_steps(self.meter, 8)
                self.stack.n -= 1
                node = self.make_concat(self.stack.data[self.stack.n], node)
        finally:
            self.stack.n = base
        return node

    cpdef uint32_t union(self, nodes) except? 0xFFFFFFFF:
        """Match what any of the nodes matches; without nodes, EMPTY."""
        return self.make_union(self.push(nodes))

    def intersection(self, nodes) -> int:
        """Match what all the nodes match; there must be at least one."""
        cdef size_t base = self.push(nodes)
        if self.stack.n == base:
            raise ValueError("intersection of no nodes")
        return self.make_and(base)

    def complement(self, node) -> int:
        """Match all sequences of Unicode scalar values, in UTF-8, that the node does not match."""
        cdef size_t base = self.stack.n
        cdef uint32_t other = self.make_not(self.known(node))
        words_push(&self.stack, other)
        words_push(&self.stack, self.make_repeat(self.any_char, 0, NONE))
        return self.make_and(base)

    cpdef uint32_t difference(self, node, other) except? 0xFFFFFFFF:
        """Match what `node` matches and `other` does not."""
        cdef size_t base = self.stack.n
        cdef uint32_t without = self.make_not(self.known(other))
        words_push(&self.stack, self.known(node))
        words_push(&self.stack, without)
        return self.make_and(base)

    cpdef uint32_t repeat(self, node, minimum, maximum=None) except? 0xFFFFFFFF:
        """Match `node` at least `minimum` and at most `maximum` times (None: unbounded)."""
        cdef uint32_t most = NONE
        if not 0 <= minimum < 0xFFFFFFFF or (maximum is not None and not minimum <= maximum < 0xFFFFFFFF):
            raise ValueError(f"repeat: bad bounds {{{minimum},{maximum}}}")
        if maximum is not None:
            most = maximum
        return self.make_repeat(self.known(node), minimum, most)

    cpdef uint32_t choices(self, list texts) except? 0xFFFFFFFF:
        """Match exactly one of these texts: different bytes objects, sorted. A long list stays a list; it does not
        become a trie of literals."""
        cdef size_t i
        if not texts:
            return R_EMPTY
        for i in range(1, len(texts)):
            spend_steps(self.meter, 8)
            if not <bytes?> texts[i - 1] < <bytes?> texts[i]:
                raise ValueError(f"choices: {texts[i]!r} must come after {texts[i - 1]!r}: texts are sorted and differ")
        return make_choices(self, texts)

    def marked(self, list texts not None, list marks not None) -> int:
        """Match what `choices(texts)` matches, but that the byte i stands for any text of the node marks[i].

        There may be eight marks. None of them is nullable, an intersection, a complement or a program.
        """
        cdef uint32_t nodes[MAX_MARKS]
        cdef uint32_t i
        if len(marks) > MAX_MARKS:
            raise ValueError(f"{len(marks)} marks, at most {MAX_MARKS}")
        for i in range(MAX_MARKS):
            nodes[i] = self.known(marks[i]) if i < <uint32_t> len(marks) else R_EMPTY
            if self.flags[nodes[i]] & (F_NULLABLE | F_SEARCH):
                raise ValueError(f"mark {i} is nullable, or needs a search")
        return self.make_marked(self.choices(texts), nodes)

    def multiples(self, list words not None) -> int:
        """Match the numbers that the words of a K_DIVISORS node describe, see `_multiples`. They must be right: they
        are not checked."""
        return make_multiples(self, words)

    def escaped(self, node, bint shortest=False, bint ascii=False) -> int:
        """Match all spellings of the node's texts within a JSON string, without the quotes (RFC 8259, section 7).

        With `shortest`, each character has only its shortest spelling, as `json.dumps` writes it. With `ascii`,
        characters beyond ASCII are written as escapes only.
        """
        return make_escaped(self, self.known(node), shortest * STYLE_SHORTEST | ascii * STYLE_ASCII, 0, 0, 0)

    def ordered(self, program) -> int:
        """Match w if the preferred match of the program on w consumes all of w: leftmost-first, with ordered threads.

        `program` is a sequence of (op, x, y), numbered from 0, where threads start:
        ATOM=0 reads node x, in which no string is a prefix of another, and continues at the next instruction;
        SPLIT=1 prefers instruction x to y; JUMP=2 continues at x; MATCH=3.
        """
        cdef size_t base, n = len(program), i
        cdef Instruction* code
        if n == 0 or program[n - 1][0] == OP_ATOM:
            raise ValueError("ordered: a program must not end in ATOM, which continues at the next instruction")
        for i, (op, x, y) in enumerate(program):
            spend_steps(self.meter, 16)
            if op == OP_ATOM:
                if self.flags[self.known(x)] & (F_NULLABLE | F_ORDERED):
                    raise ValueError(f"ordered: instruction {i}: an atom must not contain the empty string, nor a program")
            elif op in (OP_SPLIT, OP_JUMP):
                if not 0 <= x < n or not 0 <= y < n:
                    raise ValueError(f"ordered: instruction {i} leads out of the program")
            elif op != OP_MATCH:
                raise ValueError(f"ordered: instruction {i} has unknown op {op!r}")
        base = self.add_code(n)
        code = self.code + base
        for i, (op, x, y) in enumerate(program):
            code[i].op, code[i].x, code[i].y = op, x, y
            if op in (OP_SPLIT, OP_JUMP):
                code[i].x += base
                code[i].y += base
        self.threads.begin(self)
        self.threads.close(self, base)
        return self.threads.make(self)

    def cuts(self, program, groups, oracles, points, followings, question, bint ordered) -> int:
        """Match what `program` matches: threads in groups that cuts end, for lookarounds and atomic groups (see
        `_cuts`).

        `program` is a sequence of (op, x, y, owner, asks), numbered from 0, where it starts:
        ATOM=0 reads one or more bytes, of node x, and continues at y; SPLIT=1 prefers x to y; JUMP=2 continues at x;
        MATCH=3; BEHIND=4 asks an oracle, x = 2 * oracle + negative, and continues at y; GROUP=5 opens group x;
        COMMIT=6 has matched the body of group x and continues at y, or ends if y is -1.
        `owner` is the group whose body contains the instruction, or -1; `asks` has bit i if oracle i may be asked from
        there on.
        `groups`: (parent or -1, whether it is a lookahead, body, instruction at which to continue if the body fails or
        -1).
        `oracles`: for each, the node that must match what was read.
        `points`: code points, one for each kind that lookaheads distinguish. `followings`: what may follow a text that
        matches: (whether the text may end, and by point the number of what may follow that): 0 nothing, 1 anything,
        2 + i followings[i].
        `question`: 0 asks for what matches as a whole text; f > 0 for what matches exactly if number f follows. Without
        followings, DECIDED asks for what matches whatever follows, and OPEN for what may match if the right text follows.
        Of the latter, OUTSIDE asks for those that match if the text ends or any of the points follows, and MIXED for those
        that match if some of these follow and not if others do. BEFORE asks for those that match before any text that begins
        with the points, one after the other, and LAST for those that match if the text ends after the points.
        `ordered`: match what the preferred match consumes whole; else all that can be matched whole.
        """
        cdef size_t base = self.stack.n, n = len(program), n_groups = len(groups), i
        cdef uint32_t number, result
        if len(oracles) > 32:
            raise LimitError(f"{len(oracles)} different lookbehinds in one terminal, limit 32; use fewer")
        if not (0 <= question < 2 + len(followings) or question in (Q_BEFORE, Q_LAST, Q_DECIDED, Q_OUTSIDE, Q_MIXED, Q_OPEN)):
            raise ValueError(f"cuts: question {question} about {len(followings)} followings")
        try:
            for word in (ordered, len(oracles), len(points), len(followings), n_groups, *points):
                words_push(&self.stack, word)
            for following in followings:
                if len(following) != 1 + len(points) or not 0 <= max(following) < 2 + len(followings):
                    raise ValueError(f"cuts: bad following {following}")
                spend_steps(self.meter, 16 + 4 * <uint64_t> len(following))
                for word in following:
                    words_push(&self.stack, word)
            for parent, look, body, otherwise in groups:
                if not -1 <= parent < n_groups or not 0 <= body < n or not -1 <= otherwise < n:
                    raise ValueError("cuts: a group leads out of the program")
                words_push(&self.stack, <uint32_t> <int> parent)
                words_push(&self.stack, bool(look))
                words_push(&self.stack, body)
                words_push(&self.stack, <uint32_t> <int> otherwise)
            for i, (op, x, y, owner, asks) in enumerate(program):
                spend_steps(self.meter, 16)
                if op == OP_ATOM and self.flags[self.known(x)] & F_ORDERED:
                    raise ValueError(f"cuts: instruction {i}: an atom must not contain a program")
                if not OP_ATOM <= op <= OP_COMMIT:
                    raise ValueError(f"cuts: instruction {i} has unknown op {op!r}")
                if (op in (OP_ATOM, OP_SPLIT, OP_BEHIND) and not 0 <= y < n) or (op in (OP_SPLIT, OP_JUMP) and not 0 <= x < n):
                    raise ValueError(f"cuts: instruction {i} leads out of the program")
                if op in (OP_GROUP, OP_COMMIT) and (not 0 <= x < n_groups or not -1 <= y < n):
                    raise ValueError(f"cuts: instruction {i} names a group that does not exist")
                if op == OP_BEHIND and not 0 <= x < 2 * len(oracles):
                    raise ValueError(f"cuts: instruction {i} asks an oracle that does not exist")
                words_push(&self.stack, op)
                words_push(&self.stack, x)
                words_push(&self.stack, <uint32_t> <int> y)
                words_push(&self.stack, <uint32_t> <int> owner)
                words_push(&self.stack, asks)
            number = self.cut_programs.intern(self.stack.data + base, self.stack.n - base)
        finally:
            self.stack.n = base
        try:
            words_push(&self.stack, K_CUTS)
            words_push(&self.stack, number)
            words_push(&self.stack, question)
            for oracle in oracles:
                words_push(&self.stack, self.known(oracle))
            self.cutter.begin(self, base)
            self.cutter.visit(self, base, 0)
            self.cutter.end(self, base)
            result = self.cutter.make(self, base)
        finally:
            self.stack.n = base
        return result

    def cut_followings(self, node, texts) -> tuple[list[tuple[int, ...]], set[int]] | None:
        """Find what may follow the texts of `node`, which `cuts` made with question 0 and no followings.

        Return all followings, in the form of `cuts`, each after those to which it refers, and the numbers of those that
        belong to a state to which `texts` lead, one text for each kind of character. Return None if a state asks for
        more than 64 code points.
        """
        cdef uint32_t state = self.known(node), target
        cdef size_t base = self.stack.n
        cdef ByteSet same
        cdef unsigned char byte
        followings = []
        met = {}
        found = set()
        seen = {state}
        agenda = [state]
        try:
            while agenda:
                spend_steps(self.meter, 64)
                state = agenda.pop()
                if kind_of(self, state) != K_CUTS:
                    found.add(0 if state == R_EMPTY else 1)     # nothing is asked any more
                    continue
                words_extend(&self.stack, sequence(self.nodes, state), sequence_length(self.nodes, state))
                if end_lexeme(self.cutter, self, base):
                    number = self.cutter.following_of(self, base, 0, followings, met)
                    if number is None:
                        return None
                    found.add(number)
                self.stack.n = base
                for text in texts:
                    target = state
                    for byte in <bytes> text:
                        byteset_fill(&same, <uint64_t> -1)
                        target = self.derive(target, byte, &same)
                    if target not in seen:
                        if exceeds(len(seen), MAX_EXPLORED):
                            raise LimitError(f"what may follow a terminal: more than {MAX_EXPLORED} states; simplify its lookaheads")
                        seen.add(target)
                        agenda.append(target)
        finally:
            self.stack.n = base
        return followings, found

    # ---- questions ----------------------------------------------------------------------------------------------

    cpdef bint is_nullable(self, node) except -1:
        """Return whether the node matches the empty string."""
        return nullable(self, self.known(node))

    cpdef bint is_empty(self, node) except -1:
        """Return whether the node matches nothing at all. Exact; raises `LimitError` if the search takes too long."""
        return self.empty(self.known(node))

    def demand(self, node) -> int:
        """Return the node of the texts that may follow those that end in `node`, to which texts have led from one that `cuts`
        made with the question OPEN."""
        if kind_of(self, self.known(node)) != K_CUTS:
            raise ValueError(f"node {node} is no program")
        return self.cutter.demand(self, node, self.make_not(R_EMPTY))

    def is_anything(self, node) -> bool:
        """Return whether the node is a demand that every text meets."""
        return self.known(node) == self.make_not(R_EMPTY)

    def matches(self, node, bytes data not None) -> bool:
        """Return whether the node matches `data`. For tests and tools; matchers use the lexer."""
        cdef ByteSet same
        cdef uint32_t state = self.known(node)
        cdef unsigned char byte
        for byte in data:
            spend_steps(self.meter, 8)
            state = self.derive(state, byte, &same)
        return bool(nullable(self, state))

    def derivatives(self, node) -> dict[int, bytes]:
        """Return the node's derivatives that match anything, each with the bytes that lead to it. For deciding
        questions about small languages."""
        cdef uint32_t start = self.known(node), byte, target
        cdef ByteSet seen, same
        found = {}
        byteset_fill(&seen, 0)
        while True:
            target = self.next_derivative(start, &seen, &same)
            if target == R_EMPTY:
                return found
            found[target] = found.get(target, b"") + bytes([byte for byte in range(256) if byteset_has(&same, byte)])

    def first_bytes(self, node) -> int:
        """Return the set of the bytes with which the node's texts may begin, as an integer with a bit for each."""
        cdef uint32_t start = self.known(node), i
        cdef ByteSet seen, same, found
        byteset_fill(&seen, 0)
        byteset_fill(&found, 0)
        while self.next_derivative(start, &seen, &same) != R_EMPTY:
            byteset_or(&found, &same)
        number = 0
        for i in range(4):
            number |= (<object> found.w[i]) << (64 * i)
        return number

    cdef uint32_t next_derivative(self, uint32_t node, ByteSet* seen, ByteSet* same) except? 0xFFFFFFFF:
        """Return a derivative of the node by bytes that are not in `seen`, and set `same` to these bytes. Return R_EMPTY
        if no other byte leads to a text. Bytes that were looked at are added to `seen`."""
        cdef uint32_t byte, target
        for byte in range(256):
            if byteset_has(seen, byte):
                continue
            byteset_fill(same, <uint64_t> -1)
            target = self.derive(node, byte, same)
            byteset_or(seen, same)
            if target != R_EMPTY and not self.empty(target):
                return target
        return R_EMPTY

    cdef int empty(self, uint32_t node) except -1 nogil:
        cdef uint8_t flags = self.flags[node]
        if not flags & F_SEARCH:
            return node == R_EMPTY
        if flags & (F_NULLABLE | F_KNOWN_INHABITED):
            return 0
        if flags & F_KNOWN_EMPTY:
            return 1
        return search(self, self.without_memory(node))

    # ---- derivatives --------------------------------------------------------------------------------------------

    cdef uint32_t derive(self, uint32_t node, uint32_t byte, ByteSet* same) except? 0xFFFFFFFF nogil:
        cdef const uint32_t* p = sequence(self.nodes, node)
        cdef uint32_t kind = p[0], edge, target, first, n = 0
        cdef ByteSet bytes_
        if kind <= K_EPSILON:
            return R_EMPTY
        if kind == K_BYTES:
            load_bytes(p, &bytes_)
            if byteset_has(&bytes_, byte):
                byteset_and(same, &bytes_)
                return R_EPSILON
            byteset_and_not(same, &bytes_)
            return R_EMPTY
        edge = first = self.first_edge[node]
        if first != NONE and first & IN_TABLE:
            edge = self.edge_tables[((<size_t> first & ~<uint32_t> IN_TABLE) << 8) + byte]
        else:
            while edge != NONE and not byteset_has(&self.edges[edge].bytes, byte):
                edge = self.edges[edge].next
                n += 1
            if n >= MANY_EDGES:
                self.make_edge_table(node)
        if edge != NONE:
            byteset_and(same, &self.edges[edge].bytes)
            return self.edges[edge].target
        byteset_fill(&bytes_, <uint64_t> -1)
        target = self.work_out(node, byte, &bytes_)
        if exceeds(self.n_edges + 2, IN_TABLE):
            with gil:
                raise LimitError("regex derivatives: the arena is full; simplify the grammar")
        reserve(<void**> &self.edges, &self.edges_capacity, self.n_edges + 1, sizeof(Edge))
        first = self.first_edge[node]
        edge = <uint32_t> self.n_edges
        self.edges[edge].bytes = bytes_
        self.edges[edge].target = target
        if first != NONE and first & IN_TABLE:
            self.edges[edge].next = NONE
            set_all(self.edge_tables + ((<size_t> first & ~<uint32_t> IN_TABLE) << 8), &bytes_, edge)
        else:
            self.edges[edge].next = first
            self.first_edge[node] = edge
        self.n_edges += 1
        byteset_and(same, &bytes_)
        return target

    cdef int make_edge_table(self, uint32_t node) except -1 nogil:
        """Make a table by byte of the node's list of edges."""
        cdef size_t at = self.n_edge_tables << 8
        cdef uint32_t edge = self.first_edge[node]
        reserve(<void**> &self.edge_tables, &self.edge_tables_capacity, at + 256, sizeof(uint32_t))
        memset(self.edge_tables + at, 0xFF, 256 * sizeof(uint32_t))             # NONE
        while edge != NONE:
            set_all(self.edge_tables + at, &self.edges[edge].bytes, edge)
            edge = self.edges[edge].next
        self.first_edge[node] = IN_TABLE | <uint32_t> self.n_edge_tables
        self.n_edge_tables += 1
        return 0

    cdef uint32_t work_out(self, uint32_t node, uint32_t byte, ByteSet* same) except? 0xFFFFFFFF nogil:
        # The rules of Brzozowski 1964, section 3.
        cdef const uint32_t* p = sequence(self.nodes, node)
        cdef uint32_t kind = p[0], first, rest, minimum, maximum, part
        cdef size_t base = self.stack.n, i, n
        spend_steps(self.meter, 8)
        self.meter.derivations -= 1
        if self.meter.derivations < 0 or exceeds(0, 0):
            with gil:
                self.meter.exceeded("derivations", "one byte of text asks for more derivations")
        if kind == K_CHAR:
            return derive_char(self, p[1], byte, same)
        if kind == K_TAIL:
            return derive_tail(self, p[1], p[2], p[3], p[4], byte, same)
        if kind == K_ORDERED:
            return self.threads.derive(self, node, byte, same)
        if kind == K_CUTS:
            return self.cutter.derive(self, node, byte, same)
        if kind == K_ESCAPED:
            return derive_escaped(self, node, byte, same)
        if kind == K_READ:
            return self.derive_read(node, byte, same)
        if kind == K_CHOICES:
            return derive_choices(self, node, byte, same)
        if kind == K_MARKED:
            return self.derive_marked(node, byte, same)
        if kind == K_MULTIPLES:
            return derive_multiples(self, node, byte, same)
        if kind == K_NOT:
            return self.make_not(self.derive(p[1], byte, same))
        if kind == K_REPEAT:
            first = p[1]
            minimum = p[2] - 1 if p[2] else 0
            maximum = p[3] if p[3] == NONE else p[3] - 1
            part = self.derive(first, byte, same)
            if part == R_EMPTY:
                return R_EMPTY
            return self.make_concat(part, self.make_repeat(first, minimum, maximum))
        if kind == K_CONCAT:
            # d(a b c) = d(a) b c | [a nullable] d(b) c | ..., along the chain
            while True:
                p = sequence(self.nodes, node)
                if p[0] != K_CONCAT:
                    words_push(&self.stack, self.derive(node, byte, same))
                    break
                first = p[1]
                rest = p[2]
                part = self.derive(first, byte, same)
                words_push(&self.stack, self.make_concat(part, rest))
                if not nullable(self, first):
                    break
                node = rest
            return self.make_union(base)
        # K_UNION, K_AND: the members are on the stack; `derive` uses the stack above them and leaves it as it was.
        n = sequence_length(self.nodes, node) - 1
        words_extend(&self.stack, p + 1, n)
        for i in range(n):
            part = self.derive(self.stack.data[base + i], byte, same)
            self.stack.data[base + i] = part
        if kind == K_UNION:
            return self.make_union(base)
        return self.make_and(base)

    cdef uint32_t make_marked(self, uint32_t body, const uint32_t* marks) except? 0xFFFFFFFF nogil:
        cdef uint32_t words[2 + MAX_MARKS]
        if body == R_EMPTY or body == R_EPSILON:
            return body
        words[0] = K_MARKED
        words[1] = body
        memcpy(words + 2, marks, MAX_MARKS * sizeof(uint32_t))
        return self.make(words, 2 + MAX_MARKS)

    cdef uint32_t derive_marked(self, uint32_t node, uint32_t byte, ByteSet* same) except? 0xFFFFFFFF nogil:
        """Derive a K_MARKED node: its body by the byte, and each mark with which the body continues."""
        cdef uint32_t marks[MAX_MARKS]
        cdef uint32_t body = sequence(self.nodes, node)[1], mark, rest, part
        cdef size_t base = self.stack.n
        cdef ByteSet other
        memcpy(marks, sequence(self.nodes, node) + 2, sizeof(marks))
        byteset_fill(&other, 0)
        if byte < MAX_MARKS:
            byteset_add(&other, byte)
            byteset_and(same, &other)
        else:
            part = self.make_marked(self.derive(body, byte, same), marks)
            words_push(&self.stack, part)
        for mark in range(MAX_MARKS):
            rest = self.derive(body, mark, &other)
            if rest != R_EMPTY:
                part = self.derive(marks[mark], byte, same)
                part = self.make_concat(part, self.make_marked(rest, marks))
                words_push(&self.stack, part)
        return self.make_union(base)

    cdef uint32_t derive_read(self, uint32_t node, uint32_t byte, ByteSet* same) except? 0xFFFFFFFF nogil:
        """Derive a node that remembers what it has read: derive its body, and remember one byte more."""
        cdef size_t base = self.stack.n
        cdef uint32_t part = self.derive(sequence(self.nodes, node)[READ_BODY], byte, same), length
        cdef ByteSet one
        if part == R_EMPTY:
            return R_EMPTY
        byteset_fill(&one, 0)
        byteset_add(&one, byte)
        byteset_and(same, &one)
        words_extend(&self.stack, sequence(self.nodes, node), sequence_length(self.nodes, node))
        length = self.stack.data[base + READ_LENGTH]
        if length % 4 == 0:
            words_push(&self.stack, 0)
        self.stack.data[base + READ_BODY] = part
        self.stack.data[base + READ_LENGTH] = length + 1
        self.stack.data[base + READ_BYTES + length // 4] |= byte << (8 * (length % 4))
        part = self.make(self.stack.data + base, self.stack.n - base)
        self.stack.n = base
        return part
