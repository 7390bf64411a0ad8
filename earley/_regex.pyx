"""Regex nodes over bytes and their derivatives.

The derivative of a language by a byte b is what may follow b: { w : bw in L }. Repeating it byte by byte turns a regex
into an automaton whose states are regexes, with intersection and complement for free (Brzozowski 1964). Nodes are
hash-consed and kept in a normal form (associative, commutative and idempotent union and intersection, neutral elements
removed), so that there are finitely many (Owens, Reppy, Turon 2009, "Regular-expression derivatives reexamined").

Where this departs from the textbook:
- Each derivative comes with a set of bytes that have the same one (their "approximate classes", worked out in the same
  recursion), so a state costs as many derivations as it has different continuations, not 256.
- Counted repetition stays a count. A class of code points stays a class; its UTF-8 bytes appear as the text reaches them.
- Where turns of a counted repetition can be told apart in several ways, `(a|aa){1,100000}`, the counts that may be left
  are kept as intervals: equal members of a union that differ in one count are joined.
- A terminal with lookarounds or atomic groups is one K_CUTS leaf, see `_cuts.pxi`.
- A terminal with lazy quantifiers is one K_ORDERED leaf: a list of threads in order of preference, cut at the first
  match (Pike's simulation of backtracking; Cox 2010, "Regular expression matching: the virtual machine approach").
  Its language is { w : the preferred match on w consumes all of w }.

Not here: regex syntax (`earleymask.grammar`), sets of terminals (`_lexer`).
"""

from cpython.long cimport PyLong_AsLongLongAndOverflow
from libc.stdlib cimport free
from libc.string cimport memcmp, memmove, memset

from earleymask.earley._meter cimport spend_steps, start
from earleymask.earley._tables cimport (
    NONE, byteset_add, byteset_and, byteset_and_not, byteset_fill, byteset_has, byteset_or,
    keep_marked, rehash, reserve, sequence, sequence_length, sort_u64, sort_words, words_extend, words_free, words_push,
)

from earleymask.earley.errors import LimitError

cdef enum:
    MAX_SEARCHED = 1 << 18      # nodes visited to decide one emptiness
    MAX_DEPTH = 4000            # nodes on a path down, which derivation recurses along
    MAX_EXPLORED = 1 << 14      # states in which it is asked what may follow
    MAX_AHEAD = 64              # code points that a lookahead may look beyond its terminal
    MAX_MEMBERS = 1 << 12       # of a union that derivation makes
    CHANGED = 0x80000000           # `merge_counts`: the member's bounds were widened
    ANY = NONE              # K_TAIL: any continuation bytes
    UNKNOWN = 2             # `verdict`: more has to be read
    ENDED = 0x80000000      # with a question: the lexeme has ended, what follows it is being read


include "_cuts.pxi"


cdef class Regexes:
    """An arena of regex nodes. A node is an int; equal languages in normal form are the same int.

    `EMPTY` (0) has no string, `EPSILON` (1) only the empty one. Nodes live as long as the arena. The constructors raise
    `ValueError` for a node that is not of this arena, `LimitError` when the arena is full.
    """

    EMPTY = R_EMPTY
    EPSILON = R_EPSILON

    def __cinit__(self):
        cdef uint32_t word
        self.meter = Meter()
        self.nodes = Sequences("regex nodes", 1 << 26)
        self.classes = Sequences("character classes", 1 << 24)
        self.cut_programs = Sequences("programs of lookarounds", 1 << 24)
        word = K_EMPTY
        self.make(&word, 1)
        word = K_EPSILON
        self.make(&word, 1)
        self.any_char = Regexes.char_class(self, [(0, 0x10FFFF)])  # not a subclass's, which is not made yet

    def __dealloc__(self):
        free(self.flags)
        free(self.depths)
        free(self.first_edge)
        free(self.edges)
        free(self.code)
        free(self.visited)
        free(self.cut_visited)
        words_free(&self.stack)
        words_free(&self.threads)
        words_free(&self.agenda)
        words_free(&self.programs)
        words_free(&self.frames)
        words_free(&self.items)
        words_free(&self.undo)
        words_free(&self.chain)

    # ---- constructors -------------------------------------------------------------------------------------------

    @property
    def n_nodes(self) -> int:
        """Nodes made so far."""
        return self.nodes.n

    def byte_set(self, values) -> int:
        """One byte out of `values` (ints 0..255)."""
        cdef ByteSet s
        byteset_fill(&s, 0)
        for value in values:
            if not 0 <= value <= 255:
                raise ValueError(f"byte_set: {value!r} is not a byte value (0..255)")
            byteset_add(&s, value)
        return self.make_bytes(&s)

    cpdef uint32_t literal(self, bytes data) except? 0xFFFFFFFF:
        """Exactly these bytes."""
        if data is None:
            raise TypeError("literal: bytes are needed, not None")
        cdef const unsigned char* p = data
        cdef uint32_t node = R_EPSILON
        cdef Py_ssize_t i
        cdef ByteSet s
        for i in range(len(data) - 1, -1, -1):
            byteset_fill(&s, 0)
            byteset_add(&s, p[i])
            node = self.make_concat(self.make_bytes(&s), node)
        return node

    cpdef uint32_t char_class(self, ranges) except? 0xFFFFFFFF:
        """One code point out of sorted, disjoint, inclusive `ranges`, in UTF-8. Surrogates are left out."""
        cdef Words words
        cdef uint32_t key[2]
        cdef ByteSet s
        cdef uint32_t lo, hi, code, previous = 0
        cdef size_t i
        memset(&words, 0, sizeof(words))
        byteset_fill(&s, 0)
        try:
            for lo, hi in ranges:
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
        """The nodes one after the other."""
        cdef size_t base = self.push(nodes)
        cdef uint32_t node = R_EPSILON
        try:
            while self.stack.n > base:
                self.stack.n -= 1
                node = self.make_concat(self.stack.data[self.stack.n], node)
        finally:
            self.stack.n = base
        return node

    cpdef uint32_t union(self, nodes) except? 0xFFFFFFFF:
        """Any of the nodes; none at all is EMPTY."""
        return self.make_union(self.push(nodes))

    def intersection(self, nodes) -> int:
        """What all the nodes contain; there must be at least one."""
        cdef size_t base = self.push(nodes)
        if self.stack.n == base:
            raise ValueError("intersection of no nodes")
        return self.make_and(base)

    def complement(self, node) -> int:
        """All sequences of Unicode scalar values, in UTF-8, that the node does not contain."""
        cdef size_t base = self.stack.n
        cdef uint32_t other = self.make_not(self.known(node))
        words_push(&self.stack, other)
        words_push(&self.stack, self.make_repeat(self.any_char, 0, NONE))
        return self.make_and(base)

    cpdef uint32_t repeat(self, node, minimum, maximum=None) except? 0xFFFFFFFF:
        """`node` at least `minimum` and at most `maximum` times (None: unbounded)."""
        cdef uint32_t most = NONE
        if not 0 <= minimum < 0xFFFFFFFF or (maximum is not None and not minimum <= maximum < 0xFFFFFFFF):
            raise ValueError(f"repeat: bad bounds {{{minimum},{maximum}}}")
        if maximum is not None:
            most = maximum
        return self.make_repeat(self.known(node), minimum, most)

    def ordered(self, program) -> int:
        """Leftmost-first ordered threads: { w : the preferred match of the program on w consumes all of w }.

        `program` is a sequence of (op, x, y):
        ATOM=0, x a node in which no string is a prefix of another, goes on at the next instruction;
        SPLIT=1 prefers instruction x to y; JUMP=2 to x; MATCH=3.
        Instructions are numbered from 0, where threads start.
        """
        cdef size_t base, n = len(program), i
        cdef Instruction* code
        if n == 0 or program[n - 1][0] == OP_ATOM:
            raise ValueError("ordered: a program must not end in ATOM, which goes on at the next instruction")
        for i, (op, x, y) in enumerate(program):
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
        self.threads.n = 0
        words_push(&self.threads, K_ORDERED)
        self.closure_number += 1
        self.close_threads(base)
        return self.make_ordered()

    def cuts(self, program, groups, oracles, points, followings, question, bint ordered) -> int:
        """Threads in groups that cuts end (see `_cuts.pxi`): what `program` matches, lookarounds and atomic groups heeded.

        `program` is a sequence of (op, x, y, owner, asks), numbered from 0, where it starts: ATOM=0 reads one or more
        bytes, of node x, and goes on at y; SPLIT=1 prefers x to y; JUMP=2 to x; MATCH=3; BEHIND=4, x = 2 * oracle + negative, goes
        on at y; GROUP=5 opens group x; COMMIT=6 has matched the body of group x and goes on at y or (-1) ends.
        `owner` is the group whose body it is in, or -1; `asks` has bit i where oracle i may be asked from there on.
        `groups`: (parent or -1, whether it is a lookahead, body, instruction to go on at if the body fails or -1).
        `oracles`: for each, the node that what was read must be in.
        `points`: code points, one for each kind that lookaheads tell apart. `followings`: what may follow a text that
        matches, (whether the text may end, by point the number of what may follow that): 0 nothing, 1 anything, 2 + i
        followings[i].
        `question`: 0 asks for what matches as a whole text; f > 0 for what matches if, and only if, number f follows.
        `ordered`: the language is what the preferred match consumes whole; else all that can be matched whole.
        """
        cdef size_t base = self.stack.n, n = len(program), n_groups = len(groups), i
        cdef uint32_t number, result
        if len(oracles) > 32:
            raise LimitError(f"{len(oracles)} different lookbehinds in one terminal, limit 32; use fewer")
        if not 0 <= question < 2 + len(followings):
            raise ValueError(f"cuts: question {question} about {len(followings)} followings")
        try:
            for word in (ordered, len(oracles), len(points), len(followings), n_groups, *points):
                words_push(&self.stack, word)
            for following in followings:
                if len(following) != 1 + len(points) or not 0 <= max(following) < 2 + len(followings):
                    raise ValueError(f"cuts: bad following {following}")
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
                if op == OP_ATOM and self.flags[self.known(x)] & F_ORDERED:
                    raise ValueError(f"cuts: instruction {i}: an atom must not contain a program")
                if not OP_ATOM <= op <= OP_COMMIT:
                    raise ValueError(f"cuts: instruction {i} has unknown op {op!r}")
                if (op in (OP_ATOM, OP_SPLIT, OP_BEHIND) and not 0 <= y < n) or (op in (OP_SPLIT, OP_JUMP) and not 0 <= x < n):
                    raise ValueError(f"cuts: instruction {i} leads out of the program")
                if op in (OP_GROUP, OP_COMMIT) and (not 0 <= x < n_groups or not -1 <= y < n):
                    raise ValueError(f"cuts: instruction {i} is about a group that there is not")
                if op == OP_BEHIND and not 0 <= x < 2 * len(oracles):
                    raise ValueError(f"cuts: instruction {i} asks an oracle that there is not")
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
            self.cut_start(base)
            self.visit(base, 0)
            self.cut_end(base)
            result = self.make_cuts(base)
        finally:
            self.stack.n = base
        return result

    def cut_followings(self, node, texts) -> tuple[list[tuple[int, ...]], set[int]] | None:
        """What may follow what `node`, made by `cuts` with question 0 and no followings, matches.

        All followings, in the form of `cuts`, each after those that it refers to; and the numbers of those that belong to
        one of the states that `texts`, one for each kind of character, lead to. None where one asks for more than
        MAX_AHEAD code points.
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
                state = agenda.pop()
                if sequence(self.nodes, state)[0] != K_CUTS:
                    found.add(0 if state == R_EMPTY else 1)     # nothing is asked any more
                    continue
                words_extend(&self.stack, sequence(self.nodes, state), sequence_length(self.nodes, state))
                if end_lexeme(self, base):
                    number = self.following_of(base, 0, followings, met)
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
                        if len(seen) > MAX_EXPLORED:
                            raise LimitError(f"what may follow a terminal: more than {MAX_EXPLORED} states; simplify its lookaheads")
                        seen.add(target)
                        agenda.append(target)
        finally:
            self.stack.n = base
        return followings, found

    cdef following_of(self, size_t base, int depth, list followings, dict met):
        """The number of what may follow the ended lexeme stack[base:], or None; `met` has those of states seen before."""
        cdef size_t here = self.stack.n
        cdef uint32_t known = verdict(self, base), point
        if known != UNKNOWN:
            return known
        if depth == MAX_AHEAD:
            return None
        state = (<const char*> (self.stack.data + base))[:(here - base) * sizeof(uint32_t)]
        if state in met:
            return met[state]
        if len(met) > MAX_EXPLORED:
            raise LimitError(f"what may follow a terminal: more than {MAX_EXPLORED} states; simplify its lookaheads")
        row = [ends_well(self, base)]
        for point in range(n_points_of(self, base)):
            look_on(self, base, point)
            number = self.following_of(here, depth + 1, followings, met)
            if number is None:
                return None
            row.append(number)
            self.stack.n = here
        if max(row) < UNKNOWN and min(row) == max(row):
            number = row[0]
        else:
            number = met.get(tuple(row))
            if number is None:
                number = met[tuple(row)] = UNKNOWN + len(followings)
                followings.append(tuple(row))
        met[state] = number
        return number

    # ---- questions ----------------------------------------------------------------------------------------------

    cpdef bint is_nullable(self, node) except -1:
        """Whether the node contains the empty string."""
        return nullable(self, self.known(node))

    cpdef bint is_empty(self, node) except -1:
        """Whether the node contains no string at all. Exact; raises `LimitError` when that takes too long a search."""
        start(self.meter)
        return self.empty(self.known(node))

    def matches(self, node, bytes data not None) -> bool:
        """Whether the node contains `data`. For tests and tools; matchers go through the lexer."""
        cdef ByteSet same
        cdef uint32_t state = self.known(node)
        cdef unsigned char byte
        for byte in data:
            state = self.derive(state, byte, &same)
        return bool(nullable(self, state))

    # ---- making nodes -------------------------------------------------------------------------------------------

    cdef uint32_t known(self, object node) except? 0xFFFFFFFF:
        cdef int overflow = 0
        cdef long long id_ = PyLong_AsLongLongAndOverflow(node, &overflow)
        if overflow or not 0 <= id_ < self.nodes.n:
            raise ValueError(f"node {node!r} is not of this arena ({self.nodes.n} nodes)")
        return <uint32_t> id_

    cdef size_t push(self, nodes) except? -1:
        """Puts the nodes on the stack; answers where they begin. After an error none is there."""
        cdef size_t base = self.stack.n
        try:
            for item in nodes:
                words_push(&self.stack, self.known(item))
        except:
            self.stack.n = base
            raise
        return base

    cdef uint32_t make(self, const uint32_t* words, size_t n) except? 0xFFFFFFFF nogil:
        cdef uint32_t before = self.nodes.n, node
        cdef uint16_t depth
        reserve(<void**> &self.flags, &self.flags_capacity, before + 1, sizeof(uint8_t))
        reserve(<void**> &self.first_edge, &self.first_edge_capacity, before + 1, sizeof(uint32_t))
        reserve(<void**> &self.depths, &self.depths_capacity, before + 1, sizeof(uint16_t))
        depth = self.depth_of(words, n)
        if depth > MAX_DEPTH:
            with gil:
                raise LimitError(f"regex: nested deeper than {MAX_DEPTH}")
        if before >= self.meter.most_regex_nodes and self.nodes.find(words, n) == NONE:
            with gil:
                self.meter.exceeded("regex_nodes", "the terminals become more regex nodes")
        node = self.nodes.intern(words, n)
        if node == before:
            self.depths[node] = depth
            self.flags[node] = self.flags_of(words, n)
            self.first_edge[node] = NONE
        return node

    cdef uint16_t depth_of(self, const uint32_t* words, size_t n) noexcept nogil:
        """How deep `derive` recurses; along the rest of a concatenation it does not.

        Behind a byte nothing is derived before the byte is gone, so a trie of literals may be as deep as it likes.
        """
        cdef uint32_t kind = words[0]
        cdef uint16_t depth = 0, rest
        cdef size_t i
        if kind == K_CONCAT:
            if sequence(self.nodes, words[1])[0] == K_BYTES:
                return 2
            rest = self.depths[words[2]]
            depth = self.depths[words[1]] + 1
            return depth if depth > rest else rest
        if kind == K_NOT or kind == K_REPEAT:
            return self.depths[words[1]] + 1
        if kind == K_UNION or kind == K_AND:
            for i in range(1, n):
                if self.depths[words[i]] > depth:
                    depth = self.depths[words[i]]
            return depth + 1
        return 1

    cdef uint8_t flags_of(self, const uint32_t* words, size_t n) noexcept nogil:
        cdef uint8_t* flags = self.flags
        cdef uint8_t result = 0
        cdef uint32_t kind = words[0]
        cdef size_t i
        if kind == K_EPSILON:
            return F_NULLABLE
        if kind == K_CONCAT:                                # unions have no F_COUNTED, so it is that of a K_REPEAT here
            return ((flags[words[1]] & flags[words[2]] & F_NULLABLE)
                    | ((flags[words[1]] | flags[words[2]]) & (F_INHERITED | F_COUNTED)))
        if kind == K_UNION:
            for i in range(1, n):
                result |= flags[words[i]] & (F_NULLABLE | F_INHERITED)
            return result
        if kind == K_AND:
            result = F_NULLABLE
            for i in range(1, n):
                result &= flags[words[i]]
            for i in range(1, n):
                result |= flags[words[i]] & F_INHERITED
            return result | F_SEARCH
        if kind == K_NOT:
            return ((flags[words[1]] & F_NULLABLE) ^ F_NULLABLE) | (flags[words[1]] & F_INHERITED) | F_SEARCH
        if kind == K_REPEAT:
            if words[2] == 0:
                result = F_NULLABLE
            if words[2] or words[3] != NONE:
                result |= F_COUNTED
            return result | (flags[words[1]] & F_INHERITED)
        if kind == K_ORDERED:
            # A thread need not lead to MATCH.
            if self.code[words[n - 2]].op == OP_MATCH:
                result = F_NULLABLE
            return result | F_SEARCH | F_ORDERED
        if kind == K_CUTS:
            return F_SEARCH | F_ORDERED                     # `make_cuts` adds F_NULLABLE
        return 0

    cdef uint32_t make_bytes(self, const ByteSet* s) except? 0xFFFFFFFF nogil:
        cdef uint32_t words[9]
        cdef int i
        if (s.w[0] | s.w[1] | s.w[2] | s.w[3]) == 0:
            return R_EMPTY
        words[0] = K_BYTES
        for i in range(4):
            words[1 + 2 * i] = <uint32_t> s.w[i]
            words[2 + 2 * i] = <uint32_t> (s.w[i] >> 32)
        return self.make(words, 9)

    cdef uint32_t make_concat(self, uint32_t first, uint32_t rest) except? 0xFFFFFFFF nogil:
        cdef uint32_t words[3]
        cdef size_t base = self.stack.n
        cdef const uint32_t* p
        if first == R_EMPTY or rest == R_EMPTY:
            return R_EMPTY
        if first == R_EPSILON:
            return rest
        if rest == R_EPSILON:
            return first
        # (a b) c -> a (b c), however long the chain on the left
        p = sequence(self.nodes, first)
        while p[0] == K_CONCAT:
            words_push(&self.stack, p[1])
            first = p[2]
            p = sequence(self.nodes, first)
        words[0] = K_CONCAT
        words[1] = first
        words[2] = rest
        rest = self.make(words, 3)
        while self.stack.n > base:
            self.stack.n -= 1
            words[1] = self.stack.data[self.stack.n]
            words[2] = rest
            rest = self.make(words, 3)
        return rest

    cdef uint32_t make_union(self, size_t base) except? 0xFFFFFFFF nogil:
        """The union of stack[base:], which is taken off."""
        cdef ByteSet bytes_, other
        cdef bint epsilon = False, other_nullable = False, any_bytes = False
        cdef size_t i, n = base, end = self.stack.n, j, n_counted = 0
        cdef uint32_t node
        cdef const uint32_t* p
        if end == base:
            return R_EMPTY
        if end == base + 1:
            self.stack.n = base
            return self.stack.data[base]
        byteset_fill(&bytes_, 0)
        # stack[base:n] are members in normal form, stack[i:end] wait; members of a union take the place of the union.
        i = base
        while i < self.stack.n:
            node = self.stack.data[i]
            i += 1
            if node == R_EMPTY:
                continue
            p = sequence(self.nodes, node)
            if p[0] == K_UNION:
                for j in range(1, sequence_length(self.nodes, node)):
                    words_push(&self.stack, p[j])
            elif p[0] == K_BYTES:
                load_bytes(p, &other)
                byteset_or(&bytes_, &other)
                any_bytes = True
            elif p[0] == K_EPSILON:
                epsilon = True
            else:
                other_nullable |= nullable(self, node)
                n_counted += self.flags[node] & F_COUNTED != 0
                self.stack.data[n] = node
                n += 1
        self.stack.n = n
        if n_counted > 1:
            self.merge_counts(base)
        if any_bytes:
            words_push(&self.stack, self.make_bytes(&bytes_))
        if epsilon and not other_nullable:
            words_push(&self.stack, R_EPSILON)
        if n_counted > MAX_MEMBERS and self.stack.n > base + MAX_MEMBERS:
            self.stack.n = base
            with gil:
                raise LimitError(f"regex: a state with more than {MAX_MEMBERS} alternatives; simplify the counts of the terminal")
        return self.make_sorted(K_UNION, base)

    cdef int merge_counts(self, size_t base) except -1 nogil:
        """Joins those of the union's members stack[base:] that are equal but for one count, where the counts join up.

        (x r{1,3} y | x r{2,5} y) is x r{1,5} y. Looks at the first count along each member, then at the last one.
        """
        cdef size_t i, j, k, run, n, end
        cdef uint32_t place, least, most, node, which
        cdef uint64_t* keys = NULL
        cdef size_t capacity = 0
        try:
            for which in range(2):
                end = self.stack.n
                reserve(<void**> &keys, &capacity, end - base, sizeof(uint64_t))
                self.chain.n = 0                            # place, minimum, maximum of each member with a count
                n = 0
                for i in range(base, end):
                    words_push(&self.chain, 0)
                    words_push(&self.chain, 0)
                    words_push(&self.chain, 0)
                    if self.flags[self.stack.data[i]] & F_COUNTED:
                        keys[n] = (<uint64_t> self.count_place(self.stack.data[i], which, 3 * (i - base)) << 32) | (i - base)
                        n += 1
                sort_u64(keys, n)
                i = 0
                while i < n:
                    run = i + 1
                    while run < n and keys[run] >> 32 == keys[i] >> 32:
                        run += 1
                    for j in range(i, run):                 # those of one hash: by their minima
                        k = <uint32_t> keys[j]
                        keys[j] = (<uint64_t> self.chain.data[3 * k + 1] << 32) | k
                    sort_u64(keys + i, run - i)
                    k = <uint32_t> keys[i]
                    for j in range(i + 1, run):
                        self.join(base, k, <uint32_t> keys[j], &k)
                    i = run
                for i in range(base, end):
                    if self.chain.data[3 * (i - base)] & CHANGED:
                        place = self.chain.data[3 * (i - base)] & ~<uint32_t> CHANGED
                        least, most = self.chain.data[3 * (i - base) + 1], self.chain.data[3 * (i - base) + 2]
                        node = self.with_counts(self.stack.data[i], place, least, most)
                        self.stack.data[i] = node
                j = base
                for i in range(base, end):
                    if self.stack.data[i] != R_EMPTY:
                        self.stack.data[j] = self.stack.data[i]
                        j += 1
                self.stack.n = j
        finally:
            free(keys)
        return 0

    cdef uint32_t count_place(self, uint32_t node, uint32_t last, size_t entry) noexcept nogil:
        """A hash of a member without its first (or last) count; notes which part of it that is, and its bounds."""
        cdef const uint32_t* p
        cdef uint32_t place = 0, part, rest, found = NONE
        cdef uint32_t h = 0, before = 0
        while node != R_EPSILON:
            p = sequence(self.nodes, node)
            part, rest = node, R_EPSILON
            if p[0] == K_CONCAT:
                part, rest = p[1], p[2]
            p = sequence(self.nodes, part)
            if p[0] == K_REPEAT and self.flags[part] & F_COUNTED:
                found = place
                self.chain.data[entry] = place
                self.chain.data[entry + 1] = p[2]
                self.chain.data[entry + 2] = p[3]
                h = ((before * 0x9E3779B1u) ^ p[1]) * 0x85EBCA77u ^ rest
                if not last:
                    break
            if not self.flags[rest] & F_COUNTED:
                break
            before = (before ^ part) * 0xC2B2AE3Du + 1
            place += 1
            node = rest
        return h

    cdef int join(self, size_t base, size_t first, size_t second, size_t* current) noexcept nogil:
        """Joins two members if all but their counts is equal; `current` becomes the one to go on with."""
        cdef uint32_t* a = self.chain.data + 3 * first
        cdef uint32_t* b = self.chain.data + 3 * second
        cdef uint32_t x = self.stack.data[base + first], y = self.stack.data[base + second]
        cdef uint32_t place = a[0] & ~<uint32_t> CHANGED, i, x_rest, y_rest
        cdef const uint32_t* p
        cdef const uint32_t* q
        current[0] = second
        if x == R_EMPTY or place != b[0] or (a[2] != NONE and b[1] > a[2] + 1):
            return 0
        for i in range(place):
            p, q = sequence(self.nodes, x), sequence(self.nodes, y)
            if p[1] != q[1]:
                return 0
            x, y = p[2], q[2]
        p, q = sequence(self.nodes, x), sequence(self.nodes, y)
        x_rest = y_rest = R_EPSILON
        if p[0] == K_CONCAT:
            x_rest = p[2]
            p = sequence(self.nodes, p[1])
        if q[0] == K_CONCAT:
            y_rest = q[2]
            q = sequence(self.nodes, q[1])
        if x_rest != y_rest or p[1] != q[1]:
            return 0
        if a[2] != NONE and (b[2] == NONE or b[2] > a[2]):
            a[0] |= CHANGED
            a[2] = b[2]
        self.stack.data[base + second] = R_EMPTY
        current[0] = first
        return 0

    cdef uint32_t with_counts(self, uint32_t node, uint32_t place, uint32_t minimum, uint32_t maximum) except? 0xFFFFFFFF nogil:
        """A member of a union with other bounds of the count that is its part number `place`."""
        cdef size_t base = self.stack.n
        cdef const uint32_t* p = sequence(self.nodes, node)
        cdef uint32_t i, rest = R_EPSILON
        for i in range(place):
            words_push(&self.stack, p[1])
            p = sequence(self.nodes, p[2])
        if p[0] == K_CONCAT:
            rest = p[2]
            p = sequence(self.nodes, p[1])
        node = self.make_repeat(p[1], minimum, maximum)
        node = self.make_concat(node, rest)
        while self.stack.n > base:
            self.stack.n -= 1
            node = self.make_concat(self.stack.data[self.stack.n], node)
        return node

    cdef uint32_t make_and(self, size_t base) except? 0xFFFFFFFF nogil:
        """The intersection of stack[base:], which is taken off; at least one."""
        cdef size_t i, n = base, j
        cdef uint32_t node
        cdef const uint32_t* p
        cdef ByteSet bytes_, other
        cdef bint any_bytes = False, epsilon = False, all_nullable = True
        byteset_fill(&bytes_, <uint64_t> -1)
        i = base
        while i < self.stack.n:
            node = self.stack.data[i]
            i += 1
            p = sequence(self.nodes, node)
            all_nullable &= nullable(self, node)
            if p[0] == K_EMPTY:
                self.stack.n = base
                return R_EMPTY
            if p[0] == K_AND:
                for j in range(1, sequence_length(self.nodes, node)):
                    words_push(&self.stack, p[j])
            elif p[0] == K_BYTES:
                load_bytes(p, &other)
                byteset_and(&bytes_, &other)
                any_bytes = True
            elif p[0] == K_EPSILON:
                epsilon = True
            elif p[0] == K_NOT and p[1] == R_EMPTY:
                continue                                    # everything: neutral
            else:
                self.stack.data[n] = node
                n += 1
        self.stack.n = n
        if epsilon:
            self.stack.n = base
            return R_EPSILON if all_nullable else R_EMPTY
        if any_bytes:
            words_push(&self.stack, self.make_bytes(&bytes_))
        if self.stack.n == base:
            return self.make_not(R_EMPTY)
        return self.make_sorted(K_AND, base)

    cdef uint32_t make_sorted(self, uint32_t kind, size_t base) except? 0xFFFFFFFF nogil:
        """A node of this kind over the set stack[base:], which is taken off."""
        cdef size_t i, n = base
        cdef uint32_t* data = self.stack.data
        cdef uint32_t node
        sort_words(data + base, self.stack.n - base)
        for i in range(base, self.stack.n):
            if n == base or data[n - 1] != data[i]:
                data[n] = data[i]
                n += 1
        if n == base:
            self.stack.n = base
            return R_EMPTY
        if n == base + 1:
            self.stack.n = base
            return data[base]
        if kind == K_AND and data[base] == R_EMPTY:
            self.stack.n = base
            return R_EMPTY
        self.stack.n = n
        words_push(&self.stack, 0)                          # make room for the kind in front
        data = self.stack.data
        for i in range(n, base, -1):
            data[i] = data[i - 1]
        data[base] = kind
        node = self.make(data + base, n - base + 1)
        self.stack.n = base
        return node

    cdef uint32_t make_not(self, uint32_t node) except? 0xFFFFFFFF nogil:
        cdef uint32_t words[2]
        cdef const uint32_t* p = sequence(self.nodes, node)
        if p[0] == K_NOT:
            return p[1]
        words[0] = K_NOT
        words[1] = node
        return self.make(words, 2)

    cdef uint32_t make_repeat(self, uint32_t body, uint32_t minimum, uint32_t maximum) except? 0xFFFFFFFF nogil:
        cdef uint32_t words[4]
        cdef const uint32_t* p
        if maximum == 0 or body == R_EPSILON:
            return R_EPSILON
        if body == R_EMPTY:
            return R_EPSILON if minimum == 0 else R_EMPTY
        if nullable(self, body):
            minimum = 0
        if minimum == 1 and maximum == 1:
            return body
        p = sequence(self.nodes, body)
        if p[0] == K_REPEAT and p[2] == 0 and p[3] == NONE:
            return body                                     # (r*){n,m} with m > 0 is r*
        words[0] = K_REPEAT
        words[1] = body
        words[2] = minimum
        words[3] = maximum
        return self.make(words, 4)

    # ---- memory -------------------------------------------------------------------------------------------------

    cdef void mark(self, uint8_t* marks) noexcept nogil:
        cdef size_t i
        for i in range(self.nodes.n, 0, -1):            # what a node refers to is older
            if marks[i - 1]:
                self.refer(i - 1, marks, NULL)

    cdef void collect(self, const uint8_t* marks, uint32_t* map_) noexcept nogil:
        cdef size_t i, n = self.nodes.n
        keep_marked(self.nodes, marks, map_)
        for i in range(n):
            if marks[i]:                                # SAFETY: entries only move down
                self.flags[map_[i]] = self.flags[i]
                self.depths[map_[i]] = self.depths[i]
        for i in range(self.nodes.n):
            self.first_edge[i] = NONE
            self.refer(i, NULL, map_)                   # old and new ids ascend alike, so sorted nodes stay sorted
        rehash(self.nodes)
        self.n_edges = self.stack.n = self.threads.n = self.agenda.n = 0

    cdef void refer(self, size_t node, uint8_t* marks, const uint32_t* map_) noexcept nogil:
        """Marks the nodes that a node refers to, or gives them their new ids. What programs refer to is always kept."""
        cdef uint32_t* p = self.nodes.words.data + self.nodes.starts[node]
        cdef size_t i, n = self.nodes.starts[node + 1] - self.nodes.starts[node]
        cdef uint32_t kind = p[0]
        if kind == K_CONCAT or kind == K_UNION or kind == K_AND:
            for i in range(1, n):
                touch(p + i, marks, map_)
        elif kind == K_NOT or kind == K_REPEAT:
            touch(p + 1, marks, map_)
        elif kind == K_ORDERED:
            for i in range(2, n, 2):
                touch(p + i, marks, map_)
        elif kind == K_CUTS:
            for i in range(3, 3 + sequence(self.cut_programs, p[1])[CP_ORACLES]):
                touch(p + i, marks, map_)
            i = 3 + sequence(self.cut_programs, p[1])[CP_ORACLES]
            while i < n:
                if p[i] == T_THREAD:
                    touch(p + i + 2, marks, map_)
                i += item_length(p[i])

    # ---- derivatives --------------------------------------------------------------------------------------------

    cdef uint32_t derive(self, uint32_t node, uint32_t byte, ByteSet* same) except? 0xFFFFFFFF nogil:
        cdef const uint32_t* p = sequence(self.nodes, node)
        cdef uint32_t kind = p[0], edge, target
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
        edge = self.first_edge[node]
        while edge != NONE:
            if byteset_has(&self.edges[edge].bytes, byte):
                byteset_and(same, &self.edges[edge].bytes)
                return self.edges[edge].target
            edge = self.edges[edge].next
        byteset_fill(&bytes_, <uint64_t> -1)
        target = self.work_out(node, byte, &bytes_)
        if self.n_edges >= NONE - 1:
            with gil:
                raise LimitError("regex derivatives: the arena is full; simplify the grammar")
        reserve(<void**> &self.edges, &self.edges_capacity, self.n_edges + 1, sizeof(Edge))
        edge = <uint32_t> self.n_edges
        self.edges[edge].bytes = bytes_
        self.edges[edge].target = target
        self.edges[edge].next = self.first_edge[node]
        self.first_edge[node] = edge
        self.n_edges += 1
        byteset_and(same, &bytes_)
        return target

    cdef uint32_t work_out(self, uint32_t node, uint32_t byte, ByteSet* same) except? 0xFFFFFFFF nogil:
        # The rules of Brzozowski 1964, section 3.
        cdef const uint32_t* p = sequence(self.nodes, node)
        cdef uint32_t kind = p[0], first, rest, minimum, maximum, part
        cdef size_t base = self.stack.n, i, n
        spend_steps(self.meter, 8)
        self.meter.derivations -= 1
        if self.meter.derivations < 0:
            with gil:
                self.meter.exceeded("derivations", "one byte of text asks for more derivations")
        if kind == K_CHAR:
            return self.derive_char(p[1], byte, same)
        if kind == K_TAIL:
            return self.derive_tail(p[1], p[2], p[3], p[4], byte, same)
        if kind == K_ORDERED:
            return self.derive_ordered(node, byte, same)
        if kind == K_CUTS:
            return self.derive_cuts(node, byte, same)
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
        # K_UNION, K_AND: the members wait on the stack, which `derive` uses above them and leaves as it was.
        n = sequence_length(self.nodes, node) - 1
        words_extend(&self.stack, p + 1, n)
        for i in range(n):
            part = self.derive(self.stack.data[base + i], byte, same)
            self.stack.data[base + i] = part
        if kind == K_UNION:
            return self.make_union(base)
        return self.make_and(base)

    cdef uint32_t derive_char(self, uint32_t class_, uint32_t byte, ByteSet* same) except? 0xFFFFFFFF nogil:
        # SAFETY: the first byte of UTF-8 (RFC 3629): 00..7F, C2..DF, E0..EF, F0..F4; all others lead nowhere.
        cdef uint32_t other, left, status = lead_status(self, class_, byte, &left)
        cdef ByteSet alike
        cdef uint32_t other_left
        byteset_fill(&alike, 0)
        if status == MIXED:
            byteset_add(&alike, byte)
        else:
            for other in range(256):
                if lead_status(self, class_, other, &other_left) == status and (status == VOID or other_left == left):
                    byteset_add(&alike, other)
        byteset_and(same, &alike)
        if status == VOID:
            return R_EMPTY
        if left == 0:
            return R_EPSILON
        if status == FULL:
            return self.make_tail(ANY, 0, left, 0)
        return self.make_tail(class_, byte & (0x3F >> left), left, least_code(left))

    cdef uint32_t derive_tail(self, uint32_t class_, uint32_t prefix, uint32_t left, uint32_t least, uint32_t byte,
                              ByteSet* same) except? 0xFFFFFFFF nogil:
        cdef uint32_t status = VOID, other
        cdef ByteSet alike
        byteset_fill(&alike, 0)
        if 0x80 <= byte <= 0xBF:
            status = FULL if class_ == ANY else tail_status(self, class_, (prefix << 6) | (byte & 0x3F), left - 1, least)
        if status == MIXED:
            byteset_add(&alike, byte)
        else:
            for other in range(256):
                if not 0x80 <= other <= 0xBF:
                    if status == VOID:
                        byteset_add(&alike, other)
                elif class_ == ANY:
                    if status == FULL:
                        byteset_add(&alike, other)
                elif tail_status(self, class_, (prefix << 6) | (other & 0x3F), left - 1, least) == status:
                    byteset_add(&alike, other)
        byteset_and(same, &alike)
        if status == VOID:
            return R_EMPTY
        if left == 1:
            return R_EPSILON
        if status == FULL:
            return self.make_tail(ANY, 0, left - 1, 0)
        return self.make_tail(class_, (prefix << 6) | (byte & 0x3F), left - 1, least)

    cdef uint32_t make_tail(self, uint32_t class_, uint32_t prefix, uint32_t left, uint32_t least) except? 0xFFFFFFFF nogil:
        cdef uint32_t words[5]
        words[0] = K_TAIL
        words[1] = class_
        words[2] = prefix
        words[3] = left
        words[4] = least
        return self.make(words, 5)

    # ---- ordered threads ----------------------------------------------------------------------------------------

    cdef uint32_t derive_ordered(self, uint32_t node, uint32_t byte, ByteSet* same) except? 0xFFFFFFFF nogil:
        # One step of Pike's machine. `threads` becomes the new list; a match cuts all that is less preferred.
        cdef size_t base = self.stack.n, i, n = sequence_length(self.nodes, node) - 1
        cdef uint32_t pc, part, result
        words_extend(&self.stack, sequence(self.nodes, node) + 1, n)
        self.closure_number += 1
        self.threads.n = 0
        words_push(&self.threads, K_ORDERED)
        for i in range(base, base + n, 2):
            pc = self.stack.data[i]
            if self.code[pc].op == OP_MATCH:
                break
            part = self.derive(self.stack.data[i + 1], byte, same)
            if part == R_EMPTY:
                continue
            if part != R_EPSILON:
                self.push_thread(pc, part)
            elif self.close_threads(pc + 1):
                break
        result = self.make_ordered()
        self.stack.n = base
        return result

    cdef uint32_t add_code(self, size_t n) except? 0xFFFFFFFF nogil:
        cdef size_t base = self.n_code
        reserve(<void**> &self.code, &self.code_capacity, base + n, sizeof(Instruction))
        reserve(<void**> &self.visited, &self.visited_capacity, base + n, sizeof(uint32_t))
        memset(self.visited + base, 0, n * sizeof(uint32_t))
        words_push(&self.programs, <uint32_t> base)
        self.n_code += n
        return <uint32_t> base

    cdef uint32_t make_ordered(self) except? 0xFFFFFFFF nogil:
        if self.threads.n == 1:
            return R_EMPTY
        if self.threads.n == 3 and self.code[self.threads.data[1]].op == OP_MATCH:
            return R_EPSILON
        return self.make(self.threads.data, self.threads.n)

    cdef int push_thread(self, uint32_t pc, uint32_t node) except -1 nogil:
        cdef size_t i
        for i in range(1, self.threads.n, 2):
            if self.threads.data[i] == pc and self.threads.data[i + 1] == node:
                return 0                                    # a more preferred thread is there already
        words_push(&self.threads, pc)
        words_push(&self.threads, node)
        return 0

    cdef int close_threads(self, uint32_t start) except -1 nogil:
        """Follows SPLIT and JUMP from `start` in order of preference; 1 when a match was met, which cuts."""
        cdef uint32_t pc
        cdef Instruction instruction
        self.agenda.n = 0
        words_push(&self.agenda, start)
        while self.agenda.n:
            self.agenda.n -= 1
            pc = self.agenda.data[self.agenda.n]
            if self.visited[pc] == self.closure_number:
                continue
            self.visited[pc] = self.closure_number
            instruction = self.code[pc]
            if instruction.op == OP_MATCH:
                words_push(&self.threads, pc)
                words_push(&self.threads, R_EPSILON)
                return 1
            if instruction.op == OP_ATOM:
                self.push_thread(pc, instruction.x)
            elif instruction.op == OP_JUMP:
                words_push(&self.agenda, instruction.x)
            else:
                words_push(&self.agenda, instruction.y)
                words_push(&self.agenda, instruction.x)
        return 0

    # ---- threads with cuts --------------------------------------------------------------------------------------

    cdef uint32_t derive_cuts(self, uint32_t node, uint32_t byte, ByteSet* same) except? 0xFFFFFFFF nogil:
        cdef size_t base = self.stack.n
        cdef uint32_t result
        words_extend(&self.stack, sequence(self.nodes, node), sequence_length(self.nodes, node))
        self.cut_step(base, byte, STEP, same)
        result = self.make_cuts(base)
        self.stack.n = base
        return result

    cdef uint32_t make_cuts(self, size_t base) except? 0xFFFFFFFF nogil:
        """The node whose words are stack[base:], which stay there; a simpler one where one will do."""
        cdef const uint32_t* program = sequence(self.cut_programs, self.stack.data[base + 1])
        cdef const uint32_t* code = code_of(program)
        cdef uint32_t* item
        cdef size_t first = base + 3 + program[CP_ORACLES], i = first, end = self.stack.n
        cdef uint32_t asked = 0, question = self.stack.data[base + 2], result, before
        cdef bint plain = not program[CP_ORDERED], matched = False
        if i == end:
            return R_EMPTY
        while i < end:
            item = self.stack.data + i
            if item[0] == T_THREAD:
                asked |= code[<size_t> item[1] * I_WORDS + I_ASKS]
                if code[<size_t> code[<size_t> item[1] * I_WORDS + I_Y] * I_WORDS + I_OP] != OP_MATCH:
                    plain = False
            elif item[0] == T_MATCH:
                matched = True
            else:
                plain = False
            i += item_length(item[0])
        if plain or (matched and end == first + 1):         # no condition is left
            if question > 1:                                # asks for a text that not everything may follow
                return R_EMPTY
            i = first
            while i < end:
                item = self.stack.data + i
                i += item_length(item[0])
                result = item[2] if item[0] == T_THREAD else R_EPSILON
                words_push(&self.stack, result)
            return self.make_union(end)
        for i in range(program[CP_ORACLES]):
            if not (asked >> i) & 1:
                self.stack.data[base + 3 + i] = R_EMPTY     # nobody will ask: states need not be told apart by it
        before = self.nodes.n
        result = self.make(self.stack.data + base, end - base)
        if result == before and self.answers(result):
            self.flags[result] |= F_NULLABLE
        return result

    cdef int answers(self, uint32_t node) except -1 nogil:
        """Whether a text may end here, by the node's question."""
        cdef size_t base = self.stack.n
        cdef uint32_t question = sequence(self.nodes, node)[2]
        cdef int answer = 0
        words_extend(&self.stack, sequence(self.nodes, node), sequence_length(self.nodes, node))
        if end_lexeme(self, base):
            answer = is_followed(self, base, question) if question else ends_well(self, base)
        self.stack.n = base
        return answer

    cdef int cut_step(self, size_t base, uint32_t byte, uint32_t mode, ByteSet* same) except -1 nogil:
        """Replaces the state stack[base:] by the one after `byte`, or where `mode` says so, after the end."""
        cdef const uint32_t* program = sequence(self.cut_programs, self.stack.data[base + 1])
        cdef const uint32_t* code = code_of(program)
        cdef size_t first = base + 3 + program[CP_ORACLES], i = first, end = self.stack.n
        cdef uint32_t pc, node, part
        if mode == STEP or mode == LOOK_ON:
            for i in range(base + 3, first):
                part = self.derive(self.stack.data[i], byte, same)
                self.stack.data[i] = part
            i = first
        self.cut_start(base)
        while i < end:
            if self.stack.data[i] == T_THREAD:
                pc, node = self.stack.data[i + 1], self.stack.data[i + 2]
                i += 3
                if self.frames.data[self.frames.n - 1] != GOING or mode == END_ALL:
                    continue
                if mode == END_MAIN:
                    if in_lookahead(program, pc):
                        self.put_thread(pc, node)
                    continue
                part = self.derive(node, byte, same)
                if part == R_EMPTY:
                    continue
                if nullable(self, part):
                    self.visit(base, code[<size_t> pc * I_WORDS + I_Y])
                if part != R_EPSILON:
                    self.put_thread(pc, part)
            elif self.stack.data[i] == T_OPEN:
                self.open_frame(self.stack.data[i + 1])
                i += 3
            elif self.stack.data[i] == T_CLOSE:
                self.close_frame(program)
                i += 1
            elif self.stack.data[i] == T_CUT:
                self.cut(self.stack.data[i + 1])
                i += 2
            else:
                i += 1
                if mode != STEP:
                    self.put_match(program[CP_ORDERED])
                elif program[CP_ORDERED]:
                    self.cut(NONE)
        self.stack.n = first
        return self.cut_end(base)

    cdef int cut_start(self, size_t base) except -1 nogil:
        cdef const uint32_t* program = sequence(self.cut_programs, self.stack.data[base + 1])
        cdef size_t before = self.cut_visited_capacity
        cdef size_t n = (sequence_length(self.cut_programs, self.stack.data[base + 1]) - (code_of(program) - program)) // I_WORDS
        if before < n:
            reserve(<void**> &self.cut_visited, &self.cut_visited_capacity, n, sizeof(uint32_t))
            memset(self.cut_visited + before, 0, (self.cut_visited_capacity - before) * sizeof(uint32_t))
        self.closure_number += 1
        self.items.n = 0
        self.undo.n = 0
        self.frames.n = 0
        words_push(&self.frames, NONE)
        words_push(&self.frames, 0)
        words_push(&self.frames, 0)
        return words_push(&self.frames, GOING)

    cdef int cut_end(self, size_t base) except -1 nogil:
        words_extend(&self.stack, self.items.data, self.items.n)
        return 0

    cdef int visit(self, size_t base, uint32_t start) except -1 nogil:
        """Puts out the items that `start` leads to without reading, in order of preference."""
        cdef const uint32_t* program = sequence(self.cut_programs, self.stack.data[base + 1])
        cdef const uint32_t* code = code_of(program)
        cdef const uint32_t* instruction
        cdef const uint32_t* group
        cdef uint32_t action, pc, op
        self.agenda.n = 0
        words_push(&self.agenda, start)
        words_push(&self.agenda, A_VISIT)
        while self.agenda.n:
            self.agenda.n -= 2
            pc = self.agenda.data[self.agenda.n]
            action = self.agenda.data[self.agenda.n + 1]
            if action == A_CUT:
                self.cut(pc)
                continue
            if action == A_CLOSE:
                self.close_frame(program)
                continue
            if self.frames.data[self.frames.n - 1] != GOING or self.cut_visited[pc] == self.closure_number:
                continue
            self.cut_visited[pc] = self.closure_number
            words_push(&self.undo, pc)
            instruction = code + <size_t> pc * I_WORDS
            op = instruction[I_OP]
            if op == OP_ATOM:
                self.put_thread(pc, instruction[I_X])
            elif op == OP_MATCH:
                self.put_match(program[CP_ORDERED])
            elif op == OP_SPLIT:
                words_push(&self.agenda, instruction[I_Y])
                words_push(&self.agenda, A_VISIT)
                words_push(&self.agenda, instruction[I_X])
                words_push(&self.agenda, A_VISIT)
            elif op == OP_JUMP:
                words_push(&self.agenda, instruction[I_X])
                words_push(&self.agenda, A_VISIT)
            elif op == OP_BEHIND:
                if nullable(self, self.stack.data[base + 3 + (instruction[I_X] >> 1)]) != (instruction[I_X] & 1):
                    words_push(&self.agenda, instruction[I_Y])
                    words_push(&self.agenda, A_VISIT)
            elif op == OP_GROUP:
                group = groups_of(program) + <size_t> instruction[I_X] * G_WORDS
                self.open_frame(instruction[I_X])
                words_push(&self.agenda, 0)
                words_push(&self.agenda, A_CLOSE)
                if group[G_ELSE] != NONE:
                    words_push(&self.agenda, group[G_ELSE])
                    words_push(&self.agenda, A_VISIT)
                words_push(&self.agenda, group[G_BODY])
                words_push(&self.agenda, A_VISIT)
            else:
                words_push(&self.agenda, instruction[I_X])
                words_push(&self.agenda, A_CUT)
                if instruction[I_Y] != NONE:
                    words_push(&self.agenda, instruction[I_Y])
                    words_push(&self.agenda, A_VISIT)
        return 0

    cdef int put_thread(self, uint32_t pc, uint32_t node) except -1 nogil:
        cdef uint32_t* items = self.items.data
        cdef size_t i = 0
        if self.frames.data[self.frames.n - 1] != GOING:
            return 0
        while i < self.items.n:
            if items[i] == T_THREAD and items[i + 1] == pc and items[i + 2] == node:
                return 0                                    # an item that equals it is preferred
            i += items[i + 2] if items[i] == T_OPEN and items[i + 2] else item_length(items[i])
        if self.items.n > MAX_ITEMS:
            with gil:
                raise LimitError(f"lookarounds or atomic groups of a terminal: more than {MAX_ITEMS // 3} ways to match are "
                                 "open at once; simplify them")
        words_push(&self.items, T_THREAD)
        words_push(&self.items, pc)
        return words_push(&self.items, node)

    cdef int put_match(self, bint ordered) except -1 nogil:
        if self.frames.data[self.frames.n - 1] != GOING:
            return 0
        words_push(&self.items, T_MATCH)
        if ordered:
            self.frames.data[self.frames.n - 1] = STOPPED_BY_MATCH
        return 0

    cdef int cut(self, uint32_t group) except -1 nogil:
        """The body of `group` has matched: nothing more comes in the innermost group, and some day in that one."""
        cdef uint32_t* frame = self.frames.data + self.frames.n - FRAME
        if frame[3] != GOING:
            return 0
        if frame[0] == group:
            frame[3] = STOPPED
            return 0
        frame[3] = STOPPED_BY_CUT
        words_push(&self.items, T_CUT)
        return words_push(&self.items, group)

    cdef int open_frame(self, uint32_t group) except -1 nogil:
        cdef uint32_t stopped = STOPPED if self.frames.data[self.frames.n - 1] != GOING else GOING
        words_push(&self.frames, group)
        words_push(&self.frames, <uint32_t> self.items.n)
        words_push(&self.frames, <uint32_t> self.undo.n)
        words_push(&self.frames, stopped)
        words_push(&self.items, T_OPEN)
        words_push(&self.items, group)
        return words_push(&self.items, 0)

    cdef int close_frame(self, const uint32_t* program) except -1 nogil:
        cdef uint32_t* items
        cdef uint32_t* parent
        cdef uint32_t group, stopped
        cdef size_t start, older, i = 0, length
        self.frames.n -= FRAME
        group = self.frames.data[self.frames.n]
        start = self.frames.data[self.frames.n + 1]
        older = self.frames.data[self.frames.n + 2]
        stopped = self.frames.data[self.frames.n + 3]
        items = self.items.data
        length = self.items.n - start
        if length > 3 and not self.has_completer(program, group, start + 3):
            # Nothing in the group can be cut any more, so its items belong into the one around it. What was met in its
            # body is forgotten all the same: another group of the kind may have to be cut from there.
            for i in range(older, self.undo.n):
                if in_body(program, self.undo.data[i], group):
                    self.cut_visited[self.undo.data[i]] = 0
                else:
                    self.undo.data[older] = self.undo.data[i]
                    older += 1
            self.undo.n = older
            memmove(items + start, items + start + 3, (length - 3) * sizeof(uint32_t))
            self.items.n -= 3
            parent = self.frames.data + self.frames.n - FRAME
            if stopped == STOPPED_BY_CUT and items[self.items.n - 1] == parent[0]:
                self.items.n -= 2
                parent[3] = STOPPED
            elif stopped == STOPPED_BY_CUT or stopped == STOPPED_BY_MATCH:
                parent[3] = stopped
            return 0
        if length > 3:
            words_push(&self.items, T_CLOSE)
            items = self.items.data
            length += 1
            items[start + 2] = <uint32_t> length
            while i < start:
                if items[i] == T_OPEN and items[i + 2] == length and not memcmp(
                        items + i, items + start, length * sizeof(uint32_t)):
                    self.items.n = start                    # a group that equals it is preferred
                    break
                i += items[i + 2] if items[i] == T_OPEN and items[i + 2] else item_length(items[i])
        else:
            self.items.n = start
        while self.undo.n > older:                          # what was met in here is out of sight from now on
            self.undo.n -= 1
            self.cut_visited[self.undo.data[self.undo.n]] = 0
        return 0

    cdef bint has_completer(self, const uint32_t* program, uint32_t group, size_t begin) noexcept nogil:
        """Whether something in items[begin:] may complete the body of `group`."""
        cdef const uint32_t* items = self.items.data
        cdef size_t i = begin
        while i < self.items.n:
            if items[i] == T_CUT and items[i + 1] == group:
                return True
            if items[i] == T_THREAD and in_body(program, items[i + 1], group):
                return True
            # What is in a later turn of the same group completes that one.
            i += items[i + 2] if items[i] == T_OPEN and items[i + 1] == group else item_length(items[i])
        return False

    cdef size_t n_bytes(self) noexcept nogil:
        return (self.nodes.n_bytes() + self.classes.n_bytes() + self.cut_programs.n_bytes() + self.nodes.n * <size_t> 5 + self.n_edges * sizeof(Edge)
                + self.n_code * (sizeof(Instruction) + sizeof(uint32_t)))

    # ---- emptiness ----------------------------------------------------------------------------------------------

    cdef int empty(self, uint32_t node) except -1 nogil:
        cdef uint8_t flags = self.flags[node]
        if not flags & F_SEARCH:
            return node == R_EMPTY
        if flags & (F_NULLABLE | F_KNOWN_INHABITED):
            return 0
        if flags & F_KNOWN_EMPTY:
            return 1
        return self.search(node)

    cdef int search(self, uint32_t start) except -1 nogil:
        """Derivatives until something nullable turns up; nothing turning up proves all of them empty.

        Depth first: a string that matches is as a rule found by going on and on, while the states that are near the start
        can be exponentially many.
        """
        cdef Words found                    # node, index of the node it was reached from
        cdef Words pending                  # indexes into `found`
        cdef size_t i, j
        cdef uint32_t node, byte, target
        cdef ByteSet same, seen
        cdef bint inhabited = False, exhausted = False
        memset(&found, 0, sizeof(found))
        memset(&pending, 0, sizeof(pending))
        try:
            words_push(&found, start)
            words_push(&found, 0)
            words_push(&pending, 0)
            self.flags[start] |= F_MARK
            while pending.n and not inhabited:
                if found.n > 2 * MAX_SEARCHED:
                    with gil:
                        raise LimitError(f"deciding whether a terminal can still match: more than {MAX_SEARCHED} regex "
                                         "states; simplify its lookarounds or complements")
                pending.n -= 1
                spend_steps(self.meter, 64)
                i = pending.data[pending.n]
                node = found.data[i]
                byteset_fill(&seen, 0)
                for byte in range(256):
                    if byteset_has(&seen, byte):
                        continue
                    byteset_fill(&same, <uint64_t> -1)
                    target = self.derive(node, byte, &same)
                    byteset_or(&seen, &same)
                    if self.flags[target] & (F_NULLABLE | F_KNOWN_INHABITED) or (
                            target != R_EMPTY and not self.flags[target] & F_SEARCH):
                        inhabited = True
                        break
                    if target != R_EMPTY and not self.flags[target] & (F_KNOWN_EMPTY | F_MARK):
                        self.flags[target] |= F_MARK
                        words_push(&pending, <uint32_t> found.n)
                        words_push(&found, target)
                        words_push(&found, <uint32_t> i)
            exhausted = not inhabited
            if inhabited:                   # and so is everything on the way there
                while i:
                    self.flags[found.data[i]] |= F_KNOWN_INHABITED
                    i = found.data[i + 1]
                self.flags[start] |= F_KNOWN_INHABITED
        finally:                            # after an error nothing is known
            for j in range(0, found.n, 2):
                self.flags[found.data[j]] &= <uint8_t> ~F_MARK
                if exhausted:
                    self.flags[found.data[j]] |= F_KNOWN_EMPTY
            words_free(&found)
            words_free(&pending)
        return exhausted


cdef inline void touch(uint32_t* word, uint8_t* marks, const uint32_t* map_) noexcept nogil:
    if marks != NULL:
        marks[word[0]] = 1
    else:
        word[0] = map_[word[0]]


cdef inline void load_bytes(const uint32_t* p, ByteSet* s) noexcept nogil:
    cdef int i
    for i in range(4):
        s.w[i] = p[1 + 2 * i] | (<uint64_t> p[2 + 2 * i] << 32)


# What may follow a lexeme. A state of a K_CUTS node is stack[base:] here.

cdef int end_lexeme(Regexes self, size_t base) except -1 nogil:
    """Ends the threads that are not in lookaheads; whether there is a match."""
    cdef size_t i = base + 3 + sequence(self.cut_programs, self.stack.data[base + 1])[CP_ORACLES]
    cdef ByteSet same
    while i < self.stack.n:
        if self.stack.data[i] == T_MATCH:
            self.cut_step(base, 0, END_MAIN, &same)
            return 1
        i += item_length(self.stack.data[i])
    return 0


cdef uint32_t verdict(Regexes self, size_t base) noexcept nogil:
    """Whether the ended lexeme matches: 0 no, 1 yes, UNKNOWN."""
    cdef size_t i = base + 3 + sequence(self.cut_programs, self.stack.data[base + 1])[CP_ORACLES], end
    cdef bint found = False, cut = False
    # A match that no group holds is certain, unless a cut of everything may still come before it.
    while i < self.stack.n:
        if self.stack.data[i] == T_MATCH:
            return UNKNOWN if cut else 1
        if self.stack.data[i] != T_OPEN:
            i += item_length(self.stack.data[i])
            continue
        end = i + self.stack.data[i + 2]
        while i < end:
            found |= self.stack.data[i] == T_MATCH
            cut |= self.stack.data[i] == T_CUT and self.stack.data[i + 1] == NONE
            i += item_length(self.stack.data[i])
    return UNKNOWN if found else 0


cdef size_t copy_state(Regexes self, size_t base) except? 0 nogil:
    """Puts a copy of the state on top of it; where that begins."""
    cdef size_t copy = self.stack.n, i
    for i in range(base, copy):
        words_push(&self.stack, self.stack.data[i])
    return copy


cdef int ends_well(Regexes self, size_t base) except -1 nogil:
    """Whether the ended lexeme matches if the text ends, too."""
    cdef size_t copy = copy_state(self, base)
    cdef ByteSet same
    cdef bint answer
    self.cut_step(copy, 0, END_ALL, &same)
    answer = verdict(self, copy) == 1
    self.stack.n = copy
    return answer


cdef int look_on(Regexes self, size_t base, uint32_t point) except -1 nogil:
    """Puts the state on the stack that comes after the ended lexeme stack[base:] and a code point, by its number."""
    cdef size_t copy = copy_state(self, base)
    cdef uint32_t encoded[4]
    cdef uint32_t i
    cdef ByteSet same
    byteset_fill(&same, <uint64_t> -1)
    for i in range(encode(sequence(self.cut_programs, self.stack.data[base + 1])[CP_HEADER + point], encoded)):
        self.cut_step(copy, encoded[i], LOOK_ON, &same)
    return 0


cdef int is_followed(Regexes self, size_t base, uint32_t number) except -1 nogil:
    """Whether what may follow the ended lexeme is the following of this number. Remembered as a node with that question."""
    cdef uint32_t known = verdict(self, base), point, node, end
    cdef size_t copy = self.stack.n, row
    cdef int answer
    if known != UNKNOWN:
        return known == number
    self.stack.data[base + 2] = number | ENDED
    node = self.nodes.find(self.stack.data + base, copy - base)
    if node != NONE:
        return nullable(self, node)
    row = CP_HEADER + n_points_of(self, base) + (<size_t> number - 2) * (1 + n_points_of(self, base))
    end = number if number < 2 else sequence(self.cut_programs, self.stack.data[base + 1])[row]
    answer = ends_well(self, base) == end
    for point in range(n_points_of(self, base)):
        if not answer:
            break
        look_on(self, base, point)
        answer = is_followed(
            self, copy, number if number < 2 else sequence(self.cut_programs, self.stack.data[base + 1])[row + 1 + point])
        self.stack.n = copy
    node = self.make(self.stack.data + base, copy - base)
    if answer:
        self.flags[node] |= F_NULLABLE
    return answer


cdef inline uint32_t n_points_of(Regexes self, size_t base) noexcept nogil:
    return sequence(self.cut_programs, self.stack.data[base + 1])[CP_POINTS]


cdef uint32_t encode(uint32_t point, uint32_t* encoded) noexcept nogil:
    """The UTF-8 form of a code point, no surrogate; returns its length."""
    cdef uint32_t n = 1 if point < 0x80 else (2 if point < 0x800 else (3 if point < 0x10000 else 4)), i
    for i in range(n - 1, 0, -1):
        encoded[i] = 0x80 | (point & 0x3F)
        point >>= 6
    encoded[0] = point if n == 1 else ((0xF00 >> n) & 0xFF) | point
    return n


cdef int push_range(Words* words, uint32_t lo, uint32_t hi) except -1:
    if words.n and words.data[words.n - 1] + 1 == lo:
        words.data[words.n - 1] = hi                        # adjacent: keep ranges maximal
        return 0
    words_push(words, lo)
    words_push(words, hi)
    return 0


# How the code points in a block of them relate to a class.
cdef enum:
    VOID                # none is in it
    FULL                # all are in it
    MIXED


cdef uint32_t block_status(Regexes self, uint32_t class_, uint32_t lo, uint32_t hi) noexcept nogil:
    cdef const uint32_t* ranges = sequence(self.classes, class_)
    cdef size_t low = 0, high = sequence_length(self.classes, class_) // 2, middle
    while low < high:                                       # the first range that ends at lo or later
        middle = (low + high) // 2
        if ranges[2 * middle + 1] < lo:
            low = middle + 1
        else:
            high = middle
    if 2 * low == sequence_length(self.classes, class_) or ranges[2 * low] > hi:
        return VOID
    if ranges[2 * low] <= lo and ranges[2 * low + 1] >= hi:
        return FULL
    return MIXED


cdef inline uint32_t least_code(uint32_t left) noexcept nogil:
    """The smallest code point whose UTF-8 form has `left` continuation bytes."""
    return 0x80 if left == 1 else (0x800 if left == 2 else 0x10000)


cdef uint32_t lead_status(Regexes self, uint32_t class_, uint32_t byte, uint32_t* left) noexcept nogil:
    """Status of the code points whose UTF-8 form begins with `byte`, and how many bytes follow it."""
    left[0] = 0
    if byte < 0x80:
        return block_status(self, class_, byte, byte)
    if byte < 0xC2 or byte > 0xF4:
        return VOID
    left[0] = 1 if byte < 0xE0 else (2 if byte < 0xF0 else 3)
    cdef uint32_t status = tail_status(self, class_, byte & (0x3F >> left[0]), left[0], least_code(left[0]))
    # A lead byte after which not every continuation byte may come is a case of its own, however full its block.
    if status == FULL and (byte == 0xE0 or byte == 0xED or byte == 0xF0 or byte == 0xF4):
        return MIXED
    return status


cdef uint32_t tail_status(Regexes self, uint32_t class_, uint32_t prefix, uint32_t left, uint32_t least) noexcept nogil:
    """Status of the code points >= least that begin with the bits `prefix` and go on with `left` continuation bytes."""
    cdef uint32_t lo = prefix << (6 * left), hi = lo + ((<uint32_t> 1 << (6 * left)) - 1)
    if hi < least:
        return VOID
    return block_status(self, class_, lo if lo > least else least, hi)
