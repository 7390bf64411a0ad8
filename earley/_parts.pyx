"""What one regex makes of the tokens below one node of the trie: inside, and where a token leaves the lexeme.

Where a lexeme has begun and its regex is `q`, a token either stays within the lexeme (the derivative of `q` by its bytes is
not empty: it is *inside*), or finishes it after some prefix that `q` matches and goes on with a *rest*. Which tokens
are inside, and at which nodes of the trie the others leave, depends on the regex alone. So it is remembered here for every
grammar that ever uses this vocabulary: a *part* is keyed by a node of the trie and what the regex is.

The automaton. Regexes of grammars are *adopted* into one arena, where equal ones are one node; its derivatives are the
states. A state goes on by a few bytes only (*narrow*: literals, the ends of strings), or has a table.

Building. A narrow state looks its few bytes up among the children of a node. A broad one walks the class quotient of the
trie (`trie/_quotient`), where the nodes to which it does not matter which letter is read are one; a class that does matter
to the state is taken apart into the trie nodes that were merged. So a part costs some 10,000 steps and not 270,000.

Counting. Within `"[^"]{0,80}"` each character makes another regex, for one less is to come. Where a token's text tells how
often the body is repeated, all these make one *family*: walked once, with the tokens sorted by the number of repetitions
that they begin, it has the part of any bounds at the price of a copy.

Exits. A token that is not inside dies at one node, its prefixes are matched or not. Exits are noted as
- the nodes at which tokens die straight after a prefix that was matched, by their byte: whoever asks knows the few bytes
  that may follow;
- *open* nodes, matched, below which most tokens die: a blank, and everything that begins with one;
- *late*: a token may also have left earlier than where it dies (`foo(` dies at `(`, but the grammar might go on with
  `o(`). The nodes for that are made when something that can follow asks for them, which is rare.

Tokens that are inside need no exit: whatever else they may spell, they are allowed.

A part never changes once built, but for `live`, which is made under the lock. Not here: grammars (`_masks`).
"""

from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

from cpython.pythread cimport (
    NOWAIT_LOCK, WAIT_LOCK, PyThread_acquire_lock, PyThread_allocate_lock, PyThread_free_lock, PyThread_release_lock,
    PyThread_type_lock,
)

from earleymask.earley._regex cimport (
    F_NULLABLE, F_ORDERED, K_AND, K_BYTES, K_CHAR, K_CONCAT, K_EMPTY, K_EPSILON, K_NOT, K_ORDERED, K_REPEAT, K_TAIL, K_UNION,
    OP_ATOM, OP_JUMP, OP_SPLIT, R_EMPTY, Instruction, nullable,
)
from earleymask.earley._tables cimport (
    NONE, byteset_add, byteset_fill, byteset_has, byteset_or, lowest_bit, reserve, sequence, sequence_length, sort_words, words_extend,
    words_free, words_push,
)
from earleymask.trie._trie cimport (
    DEPTH_SHIFT, SKIP_SHIFT, TOKEN_SHIFT, node_byte, node_depth, node_skip, node_t, node_token,
)

from earleymask.earley.errors import LimitError

cdef enum:
    DEAD_END = 0                # state: nothing can match any more
    MIXED = 0xFFFFFFFF          # the bytes of a class lead to several states
    ANY_TAIL = 0xFFFFFFFF       # `_regex.ANY`
    NO = 1                      # `State.counted`, 0 before it was looked into
    YES = 2
    IN_TAIL = 0x80000000
    SPARSE = 512                # so many tokens at most are kept as a list
    MAX_MERGED = 100            # depth of rests up to which they are merged
    OPEN = 32                   # trie nodes dying below a matched one that make it open


cdef class Parts:
    """The parts of one vocabulary."""

    def __cinit__(self, TokenTrie trie not None, Quotient quotient=None):
        cdef size_t depths = <size_t> trie.max_depth + 2
        self.trie = trie
        self.quotient = quotient if quotient is not None else Quotient(trie)
        self.regexes = Regexes()
        self.programs = Sequences("ordered programs", 1 << 24)
        self.known = Map()
        self.users = []
        self.lock = <void*> PyThread_allocate_lock()
        self.bits = <uint32_t*> calloc(<size_t> trie.n_words + 1, sizeof(uint32_t))
        self.path_states = <uint32_t*> calloc(depths, sizeof(uint32_t))
        self.path_nodes = <uint32_t*> calloc(depths, sizeof(uint32_t))
        self.path_accepts = <uint8_t*> calloc(depths, 1)
        self.path_seen = <uint8_t*> calloc(depths, 1)
        self.path_levels = <uint32_t*> calloc(depths, sizeof(uint32_t))
        self.family_of = Map()
        if (self.lock == NULL or self.bits == NULL or self.path_states == NULL or self.path_nodes == NULL
                or self.path_accepts == NULL or self.path_seen == NULL or self.path_levels == NULL):
            raise MemoryError("parts")
        self.next_place = trie.n_nodes
        self.stamp = 2
        self.stamped = NONE
        self.state(R_EMPTY)                             # DEAD_END

    def __dealloc__(self):
        cdef size_t i
        for i in range(self.n_parts):
            free_part(self.parts[i])
        for i in range(self.n_states):
            free(self.states[i].by_byte)
            free(self.states[i].by_class)
        for i in range(self.n_families):
            free_family(self.families[i])
        free(self.parts)
        free(self.states)
        free(self.families)
        free(self.bits)
        free(self.path_states)
        free(self.path_nodes)
        free(self.path_accepts)
        free(self.path_seen)
        free(self.path_levels)
        free(self.stamps)
        free(self.node_states)
        words_free(&self.state_of)
        words_free(&self.program_bases)
        words_free(&self.tokens)
        words_free(&self.exits)
        words_free(&self.open)
        words_free(&self.late)
        words_free(&self.exit_levels)
        words_free(&self.open_levels)
        words_free(&self.late_levels)
        free(self.rest_nodes)
        words_free(&self.rest_starts)
        words_free(&self.rest_tokens)
        words_free(&self.groups)
        if self.lock != NULL:
            PyThread_free_lock(<PyThread_type_lock> self.lock)

    cdef Part* part(self, uint32_t trie_node, Regexes regexes, uint32_t node, Words* adopted) except NULL nogil:
        PyThread_acquire_lock(<PyThread_type_lock> self.lock, WAIT_LOCK)
        try:
            return self.find_or_build(trie_node, self.adopt(regexes, node, adopted))
        finally:
            PyThread_release_lock(<PyThread_type_lock> self.lock)

    cdef int need_live(self, Part* part) except -1 nogil:
        """Sees to it that `part.live` is made."""
        PyThread_acquire_lock(<PyThread_type_lock> self.lock, WAIT_LOCK)
        try:
            if not part.live_made:
                self.make_live(part)
        finally:
            PyThread_release_lock(<PyThread_type_lock> self.lock)
        return 0

    cdef RestTrie* need_rests(self, Part* part, Exits* exits, uint32_t k) except NULL nogil:
        """The rests that begin with exits.bytes[k]; `exits` are those of the part or its `live`."""
        cdef uint32_t first = exits.starts[k], i
        cdef const Exits* others
        if part.like != NULL and exits == &part.exits:
            others = &part.like.exits
            for i in range(others.n_bytes):
                if others.bytes[i] == exits.bytes[k] and others.starts[i + 1] - others.starts[i] == exits.starts[k + 1] - first:
                    return self.need_rests(part.like, &part.like.exits, i)
        PyThread_acquire_lock(<PyThread_type_lock> self.lock, WAIT_LOCK)
        try:
            if exits.rests[k] == NULL:
                self.only_late = exits == &part.live
                if self.only_late and self.stamped != part.index:
                    self.stamp_late(part)
                exits.rests[k] = self.make_rests(exits.nodes + first, exits.starts[k + 1] - first)
            return exits.rests[k]
        finally:
            PyThread_release_lock(<PyThread_type_lock> self.lock)

    # ---- regexes of other arenas --------------------------------------------------------------------------------

    cdef uint32_t adopt(self, Regexes other, uint32_t node, Words* adopted) except? 0xFFFFFFFF nogil:
        cdef uint32_t mine
        if node < adopted.n and adopted.data[node] != NONE:
            return adopted.data[node]
        mine = self.adopt_new(other, node, adopted)
        while adopted.n <= node:
            words_push(adopted, NONE)
        adopted.data[node] = mine
        return mine

    cdef uint32_t adopt_new(self, Regexes other, uint32_t node, Words* adopted) except? 0xFFFFFFFF nogil:
        cdef const uint32_t* p = sequence(other.nodes, node)
        cdef uint32_t words[9]
        cdef uint32_t kind = p[0], first, rest, mine
        cdef size_t base = self.regexes.stack.n, i, n = sequence_length(other.nodes, node)
        words[0] = kind
        if kind == K_EMPTY or kind == K_EPSILON:
            return node                                 # the same in every arena
        if kind == K_BYTES:
            return self.regexes.make(p, n)
        if kind == K_CHAR:
            words[1] = self.adopt_class(other, p[1])
            return self.regexes.make(words, 2)
        if kind == K_TAIL:
            words[1] = p[1] if p[1] == ANY_TAIL else self.adopt_class(other, p[1])
            words[2], words[3], words[4] = p[2], p[3], p[4]
            return self.regexes.make(words, 5)
        if kind == K_REPEAT:
            first, rest = p[2], p[3]
            return self.regexes.make_repeat(self.adopt(other, p[1], adopted), first, rest)
        if kind == K_NOT:
            return self.regexes.make_not(self.adopt(other, p[1], adopted))
        if kind == K_CONCAT:
            while p[0] == K_CONCAT:                     # long for literals: no recursion along it
                rest = p[2]
                mine = self.adopt(other, p[1], adopted)
                words_push(&self.regexes.stack, mine)
                p = sequence(other.nodes, rest)
            mine = self.adopt(other, rest, adopted)
            while self.regexes.stack.n > base:
                self.regexes.stack.n -= 1
                mine = self.regexes.make_concat(self.regexes.stack.data[self.regexes.stack.n], mine)
            return mine
        if kind == K_ORDERED:
            words_push(&self.regexes.stack, K_ORDERED)
            for i in range(1, n, 2):
                mine = self.adopt_program(other, sequence(other.nodes, node)[i], adopted)
                words_push(&self.regexes.stack, mine)
                mine = self.adopt(other, sequence(other.nodes, node)[i + 1], adopted)
                words_push(&self.regexes.stack, mine)
            self.regexes.stack.n = base
            return self.regexes.make(self.regexes.stack.data + base, n)
        for i in range(1, n):                           # K_UNION, K_AND
            mine = self.adopt(other, sequence(other.nodes, node)[i], adopted)
            words_push(&self.regexes.stack, mine)
        return self.regexes.make_union(base) if kind == K_UNION else self.regexes.make_and(base)

    cdef uint32_t adopt_class(self, Regexes other, uint32_t class_) except? 0xFFFFFFFF nogil:
        return self.regexes.classes.intern(sequence(other.classes, class_), sequence_length(other.classes, class_))

    cdef uint32_t adopt_program(self, Regexes other, uint32_t instruction, Words* adopted) except? 0xFFFFFFFF nogil:
        """Where this instruction of the other arena is in ours. Programs are copied whole, once by content."""
        cdef uint32_t start, end, i, mine, program
        cdef size_t k = other.programs.n, base = self.regexes.stack.n
        cdef Instruction code
        cdef uint32_t* words
        while other.programs.data[k - 1] > instruction:
            k -= 1
        start = other.programs.data[k - 1]
        end = other.programs.data[k] if k < other.programs.n else <uint32_t> other.n_code
        for i in range(start, end):
            code = other.code[i]
            mine = code.x - start
            if code.op == OP_ATOM:
                mine = self.adopt(other, code.x, adopted)
            words_push(&self.regexes.stack, code.op)
            words_push(&self.regexes.stack, mine if code.op in (OP_ATOM, OP_SPLIT, OP_JUMP) else 0)
            words_push(&self.regexes.stack, code.y - start if code.op == OP_SPLIT else 0)
        program = self.programs.intern(self.regexes.stack.data + base, 3 * (end - start))
        self.regexes.stack.n = base
        if program == self.program_bases.n:
            words = self.regexes.stack.data + base
            mine = self.regexes.add_code(end - start)
            words_push(&self.program_bases, mine)
            for i in range(end - start):
                code.op, code.x, code.y = words[3 * i], words[3 * i + 1], words[3 * i + 2]
                if code.op in (OP_SPLIT, OP_JUMP):
                    code.x += mine
                    code.y += mine
                self.regexes.code[mine + i] = code
        return self.program_bases.data[program] + (instruction - start)

    # ---- the automaton ------------------------------------------------------------------------------------------

    cdef uint32_t state(self, uint32_t regex) except? 0xFFFFFFFF nogil:
        cdef State* state
        if self.regexes.empty(regex):
            regex = R_EMPTY
        if regex < self.state_of.n and self.state_of.data[regex] != NONE:
            return self.state_of.data[regex]
        reserve(<void**> &self.states, &self.states_capacity, self.n_states + 1, sizeof(State))
        while self.state_of.n <= regex:
            words_push(&self.state_of, NONE)
        state = self.states + self.n_states
        memset(state, 0, sizeof(State))
        state.regex = regex
        state.accepts = nullable(self.regexes, regex)
        self.state_of.data[regex] = <uint32_t> self.n_states
        self.n_states += 1
        return self.state_of.data[regex]

    cdef int expand(self, uint32_t state) except -1 nogil:
        """Works out where the state goes on to, for all bytes."""
        cdef uint32_t row[256]
        cdef ByteSet seen, same
        cdef uint32_t byte, other, target, n = 0, regex = self.states[state].regex
        cdef State* s
        byteset_fill(&seen, 0)
        for byte in range(256):
            if byteset_has(&seen, byte):
                continue
            byteset_fill(&same, <uint64_t> -1)
            target = self.state(self.regexes.derive(regex, byte, &same))
            byteset_or(&seen, &same)
            for other in range(byte, 256):
                if byteset_has(&same, other):
                    row[other] = target
        s = self.states + state
        for byte in range(256):
            if row[byte] != DEAD_END:
                if n < MAX_EDGES:
                    s.edges[2 * n] = byte
                    s.edges[2 * n + 1] = row[byte]
                n += 1
        if n > MAX_EDGES:
            s.by_byte = <uint32_t*> malloc(256 * sizeof(uint32_t))
            if s.by_byte == NULL:
                with gil:
                    raise MemoryError("automaton state")
            memcpy(s.by_byte, row, 256 * sizeof(uint32_t))
            self.state_bytes += 1024
            n = 0
        else:
            s.narrow = True
        s.n_edges = <uint8_t> n
        s.expanded = True
        return 0

    cdef uint32_t* by_byte(self, uint32_t state) except NULL nogil:
        cdef State* s = self.states + state
        cdef uint32_t i
        if not s.expanded:
            self.expand(state)
            s = self.states + state
        if s.by_byte == NULL:
            s.by_byte = <uint32_t*> calloc(256, sizeof(uint32_t))
            if s.by_byte == NULL:
                with gil:
                    raise MemoryError("automaton state")
            for i in range(s.n_edges):
                s.by_byte[s.edges[2 * i]] = s.edges[2 * i + 1]
            self.state_bytes += 1024
        return s.by_byte

    cdef uint32_t* by_class(self, uint32_t state) except NULL nogil:
        cdef uint32_t* row
        cdef uint32_t byte, class_, n = self.quotient.n_classes
        if self.states[state].by_class != NULL:
            return self.states[state].by_class
        row = self.by_byte(state)
        self.states[state].by_class = <uint32_t*> malloc(n * sizeof(uint32_t))
        if self.states[state].by_class == NULL:
            with gil:
                raise MemoryError("automaton state")
        for class_ in range(n):
            self.states[state].by_class[class_] = row[self.quotient.class_first[class_]]
        for byte in range(256):
            class_ = self.quotient.class_of[byte]
            if row[byte] != row[self.quotient.class_first[class_]]:
                self.states[state].by_class[class_] = MIXED
        self.state_bytes += n * sizeof(uint32_t)
        return self.states[state].by_class

    # ---- building a part ----------------------------------------------------------------------------------------

    cdef Part* find_or_build(self, uint32_t trie_node, uint32_t regex) except NULL nogil:
        # ROOT_NODE + 1 is 0.
        cdef uint64_t key = (<uint64_t> <uint32_t> (trie_node + 1) << 32) | regex
        cdef uint32_t index = self.known.get(key), state
        cdef Part* part
        cdef Part* like = NULL
        cdef const Family* family
        if index != NONE:
            self.n_known += 1
            return self.parts[index]
        state = self.state(regex)
        if self.is_counted(state) and self.states[state].family != state:
            family = self.family(trie_node, state)
            if family == NULL:
                self.make_family(trie_node, state)
                family = self.family(trie_node, state)
            like = self.find_or_build(trie_node, self.states[self.states[state].family].regex)
            if self.states[state].least == 0 and self.states[state].most >= family.most:
                self.known.put(key, like.index)         # no token here comes near the bound
                return like
        reserve(<void**> &self.parts, &self.parts_capacity, self.n_parts + 1, sizeof(Part*))
        part = self.build(trie_node, regex)
        part.like = like
        part.index = <uint32_t> self.n_parts
        self.parts[self.n_parts] = part
        self.n_parts += 1
        self.known.put(key, part.index)
        self.n_built += 1
        return part

    cdef Part* build(self, uint32_t trie_node, uint32_t regex) except NULL nogil:
        cdef Part* part = <Part*> calloc(1, sizeof(Part))
        cdef uint32_t i, word, k = 0, state
        cdef bint built = False
        if part == NULL:
            with gil:
                raise MemoryError("part")
        part.node = trie_node
        part.regex = regex
        try:
            state = self.state(regex)
            while True:
                self.start(trie_node, state)
                self.grow(trie_node, self.start_depth, state)
                if self.wanted_state == NONE:
                    break
                self.make_family(self.wanted_node, self.wanted_state)
            if self.dense:
                for i in range(self.tokens.n):
                    self.bits[self.tokens.data[i] >> 5] |= <uint32_t> 1 << (self.tokens.data[i] & 31)
                if self.n_inside > SPARSE:
                    part.bits = <uint32_t*> copy_of(self.bits, self.trie.n_words * sizeof(uint32_t))
                    self.part_bytes += self.trie.n_words * sizeof(uint32_t)
                else:
                    self.tokens.n = 0
                    for i in range(self.trie.n_words):
                        word = self.bits[i]
                        while word:
                            words_push(&self.tokens, i * 32 + lowest_bit(word))
                            word &= word - 1
            if part.bits == NULL:
                part.tokens = <uint32_t*> copy_of(self.tokens.data, self.tokens.n * sizeof(uint32_t))
                self.part_bytes += self.tokens.n * sizeof(uint32_t)
            part.n_tokens = self.n_inside
            sort_words(self.open.data, self.open.n)
            k = 0
            for i in range(self.open.n):
                if i == 0 or self.open.data[i] != self.open.data[i - 1]:
                    self.open.data[k] = self.open.data[i]
                    k += 1
            self.open.n = k
            part.open = <uint32_t*> copy_of(self.open.data, self.open.n * sizeof(uint32_t))
            part.n_open = <uint32_t> self.open.n
            part.late = <uint32_t*> copy_of(self.late.data, self.late.n * sizeof(uint32_t))
            part.n_late = <uint32_t> self.late.n
            part.live_bytes = self.live_bytes
            part.live_made = self.late.n == 0
            group_by_byte(&part.exits, self.trie, &self.exits)
            self.part_bytes += sizeof(Part) + (self.open.n + self.late.n + self.exits.n) * sizeof(uint32_t)
            built = True
        finally:
            if not built:
                free_part(part)
        return part

    cdef int start(self, uint32_t trie_node, uint32_t state) except -1 nogil:
        """Nothing is found yet below this node."""
        if self.dense:
            memset(self.bits, 0, self.trie.n_words * sizeof(uint32_t))
            self.dense = False
        self.tokens.n = self.exits.n = self.open.n = self.late.n = 0
        self.n_inside = 0
        byteset_fill(&self.live_bytes, 0)
        self.wanted_state = NONE
        self.start_depth = 0 if trie_node == ROOT_NODE else node_depth(self.trie.nodes[trie_node])
        self.enter(self.start_depth, trie_node, state)
        self.path_accepts[self.start_depth] = self.path_seen[self.start_depth] = False  # a lexeme accepts only after a byte
        self.path_levels[self.start_depth] = 0
        return 0

    cdef int enter(self, uint32_t depth, uint32_t node, uint32_t state) except -1 nogil:
        """The path comes to `node`, of the trie or of the quotient, in `state`."""
        cdef bint accepts
        if not self.states[state].expanded:
            self.expand(state)
        accepts = self.states[state].accepts
        self.path_states[depth] = state
        self.path_nodes[depth] = node
        self.path_accepts[depth] = accepts
        if depth > self.start_depth:
            self.path_seen[depth] = accepts or self.path_seen[depth - 1]
        return 0

    cdef int grow(self, uint32_t node, uint32_t depth, uint32_t state) except -1 nogil:
        """Everything below a node of the trie at which the path has been entered."""
        cdef State* s = self.states + state
        cdef uint32_t i, child, target, group
        cdef node_t packed
        cdef const Family* family
        if not s.narrow:
            if self.counting == NULL and not self.path_seen[depth] and self.is_counted(state):
                family = self.family(node, state)
                s = self.states + state
                if family != NULL:
                    return self.take_family(family, s.least, s.most)
                if s.family != state:
                    self.wanted_node = node
                    self.wanted_state = state
                    return 0
            if node == ROOT_NODE:
                return self.walk_quotient(NONE, depth)
            group = self.quotient.quotient_of[node]
            if self.quotient.member_starts[group + 1] - self.quotient.member_starts[group] == 1:
                return self.walk_quotient(group, depth)
            return self.walk_trie(node + 1, node + node_skip(self.trie.nodes[node]))
        if self.path_accepts[depth]:
            # All that follows the node is left to whoever comes next, the bytes by which the lexeme goes on included.
            if node_skip(self.trie.nodes[node]) > 1:
                words_push(&self.open, node)
            self.path_seen[depth] = self.path_seen[depth - 1]
            self.path_accepts[depth] = False
        for i in range(s.n_edges):
            child = self.quotient.child(node, self.states[state].edges[2 * i])
            target = self.states[state].edges[2 * i + 1]
            self.n_nodes += 1
            if child == NONE:
                continue
            packed = self.trie.nodes[child]
            if node_token(packed):
                words_push(&self.tokens, node_token(packed) - 1)
                self.n_inside += 1
            self.note_live(node_byte(packed), depth)
            if node_skip(packed) > 1:
                self.enter(depth + 1, child, target)
                self.grow(child, depth + 1, target)
        return 0

    cdef inline void note_live(self, uint32_t byte, uint32_t depth) noexcept nogil:
        """The path goes on by `byte` from a node at this depth."""
        if self.path_accepts[depth]:
            byteset_add(&self.live_bytes, byte)

    cdef int walk_quotient(self, uint32_t start, uint32_t depth) except -1 nogil:
        """Everything below a node of the quotient (NONE: the root), at which the path has been entered."""
        cdef uint32_t i = 0, end = self.quotient.n_nodes, d, class_, target, k, token, state, level
        cdef size_t w
        cdef const uint32_t* row
        cdef uint32_t* bits = self.bits
        if start != NONE:
            i = start + 1
            end = start + self.quotient.skips[start]
        self.path_nodes[depth] = start                  # no longer the trie node
        self.dense = True
        while i < end:
            self.n_nodes += 1
            d = self.quotient.depths[i]
            class_ = self.quotient.classes[i]
            state = self.path_states[d - 1]
            row = self.states[state].by_class
            if row == NULL:
                row = self.by_class(state)
            target = row[class_]
            if target == MIXED:
                self.walk_members(self.path_nodes[d - 1], class_, d)
                i += self.quotient.skips[i]
                continue
            if target == DEAD_END:
                self.leave_group(i, d)
                i += self.quotient.skips[i]
                continue
            if self.path_accepts[d - 1]:
                for k in range(4):
                    self.live_bytes.w[k] |= self.quotient.class_bytes[class_][k]
            k = self.quotient.bitmap_of[i]
            if self.counting != NULL:
                level = self.level_by(d, self.quotient.class_first[class_])
                for k in range(self.quotient.token_starts[i], self.quotient.token_starts[i + 1]):
                    self.take_token_at(self.quotient.tokens[k], level)
                self.path_levels[d] = level
            elif k != NONE:
                for w in range(self.trie.n_words):
                    bits[w] |= self.quotient.bitmaps[k * <size_t> self.trie.n_words + w]
            else:
                for k in range(self.quotient.token_starts[i], self.quotient.token_starts[i + 1]):
                    token = self.quotient.tokens[k]
                    bits[token >> 5] |= <uint32_t> 1 << (token & 31)
            self.n_inside += self.quotient.token_starts[i + 1] - self.quotient.token_starts[i]
            if self.quotient.skips[i] != 1:
                self.enter(d, i, target)
            i += 1
        return 0

    cdef int walk_members(self, uint32_t parent, uint32_t class_, uint32_t depth) except -1 nogil:
        """The trie nodes of one class below all members of a node of the quotient, one by one."""
        cdef uint32_t k, node = ROOT_NODE, i, end, first = 0, last = 1
        cdef node_t packed
        if parent != NONE:
            first = self.quotient.member_starts[parent]
            last = self.quotient.member_starts[parent + 1]
        for k in range(first, last):
            i = 0
            end = self.trie.n_nodes
            if parent != NONE:
                node = self.quotient.members[k]
                i = node + 1
                end = node + node_skip(self.trie.nodes[node])
            self.path_nodes[depth - 1] = node           # for `leave`
            while i < end:
                packed = self.trie.nodes[i]
                if self.quotient.class_of[node_byte(packed)] == class_:
                    self.walk_trie(i, i + node_skip(packed))
                i += node_skip(packed)
        self.path_nodes[depth - 1] = parent
        return 0

    cdef int walk_trie(self, uint32_t i, uint32_t end) except -1 nogil:
        """The trie nodes from i to end, byte by byte; their parents have been entered."""
        cdef uint32_t d, target, state
        cdef node_t packed
        cdef const uint32_t* row
        self.dense = True
        while i < end:
            self.n_nodes += 1
            packed = self.trie.nodes[i]
            d = node_depth(packed)
            state = self.path_states[d - 1]
            row = self.states[state].by_byte
            if row == NULL:
                row = self.by_byte(state)
            target = row[node_byte(packed)]
            if target == DEAD_END:
                self.leave(i, d)
                i += node_skip(packed)
                continue
            self.note_live(node_byte(packed), d - 1)
            if self.counting != NULL:
                self.path_levels[d] = self.level_by(d, node_byte(packed))
                if node_token(packed):
                    self.take_token_at(node_token(packed) - 1, self.path_levels[d])
            elif node_token(packed):
                self.bits[(node_token(packed) - 1) >> 5] |= <uint32_t> 1 << ((node_token(packed) - 1) & 31)
                self.n_inside += 1
            if node_skip(packed) != 1:
                self.enter(d, i, target)
            i += 1
        return 0

    cdef int leave(self, uint32_t i, uint32_t depth) except -1 nogil:
        """The trie node i, at this depth, is where tokens die."""
        cdef uint32_t parent
        if self.path_accepts[depth - 1]:
            parent = self.path_nodes[depth - 1]
            if node_skip(self.trie.nodes[i]) <= OPEN:
                words_push(&self.exits, i)
            elif self.open.n == 0 or self.open.data[self.open.n - 1] != parent:
                words_push(&self.open, parent)
        if depth - 1 > self.start_depth and self.path_seen[depth - 2]:
            words_push(&self.late, i)
        if self.counting != NULL:
            self.note_levels(self.path_levels[depth - 1])
        return 0

    cdef int leave_group(self, uint32_t i, uint32_t depth) except -1 nogil:
        """The same for all trie nodes that were merged into node i of the quotient."""
        cdef uint32_t first = self.quotient.member_starts[i], n = self.quotient.member_starts[i + 1] - first, parent, n_parents
        if self.path_accepts[depth - 1]:
            parent = self.path_nodes[depth - 1]
            n_parents = self.quotient.member_starts[parent + 1] - self.quotient.member_starts[parent]
            if self.quotient.sizes[i] <= OPEN * <uint64_t> n_parents:
                words_extend(&self.exits, self.quotient.members + first, n)
            elif self.open.n == 0 or self.open.data[self.open.n - 1] != self.quotient.members[self.quotient.member_starts[parent + 1] - 1]:
                words_extend(&self.open, self.quotient.members + self.quotient.member_starts[parent], n_parents)
        if depth - 1 > self.start_depth and self.path_seen[depth - 2]:
            words_extend(&self.late, self.quotient.members + first, n)
        if self.counting != NULL:
            self.note_levels(self.path_levels[depth - 1])
        return 0

    # ---- counted families ---------------------------------------------------------------------------------------

    cdef bint is_counted(self, uint32_t state) except -1 nogil:
        if self.states[state].counted == 0:
            self.states[state].counted = NO
            if not self.states[state].expanded:
                self.expand(state)
            if not self.states[state].narrow:
                self.recognize(state)
        return self.states[state].counted == YES

    cdef int recognize(self, uint32_t state) except -1 nogil:
        """Marks a state as counted where it is body{least,most} tail, and how often the body is repeated can be told.

        That is so where no match of the body begins another one, and body, tail and body within body are told apart by
        their first bytes; and no lexeme may end between repetitions. Others (`[a-z]{1,30}` without anything that ends it)
        are left to be built one by one.
        """
        cdef const uint32_t* p = sequence(self.regexes.nodes, self.states[state].regex)
        cdef uint32_t body, tail, least, most, family, i
        cdef ByteSet bytes_, others
        if p[0] != K_CONCAT:
            return 0
        tail = p[2]
        p = sequence(self.regexes.nodes, p[1])
        if p[0] != K_REPEAT:
            return 0
        body, least, most = p[1], p[2], p[3]
        if (least == 0 and most == NONE) or self.regexes.flags[tail] & (F_NULLABLE | F_ORDERED) or nullable(self.regexes, body):
            return 0
        if not self.prefix_free(body):
            return 0
        self.first_bytes(body, &bytes_)
        self.first_bytes(tail, &others)
        for i in range(4):
            if bytes_.w[i] & others.w[i]:
                return 0
        family = self.state(self.regexes.make_concat(self.regexes.make_repeat(body, 0, NONE), tail))
        if family == DEAD_END:
            return 0
        self.states[family].counted = YES
        self.states[family].family = family
        self.states[family].least, self.states[family].most = 0, NONE
        self.states[state].counted = YES
        self.states[state].family = family
        self.states[state].least, self.states[state].most = least, most
        return 0

    cdef bint prefix_free(self, uint32_t node) except -1 nogil:
        """Whether it can be seen that no match of the regex begins a longer one, and where each is in its alternatives."""
        cdef const uint32_t* p = sequence(self.regexes.nodes, node)
        cdef ByteSet bytes_, seen
        cdef size_t i, j, n = sequence_length(self.regexes.nodes, node)
        cdef uint32_t rest
        while p[0] == K_CONCAT:
            rest = p[2]
            if not self.prefix_free(p[1]):
                return False
            node = rest
            p = sequence(self.regexes.nodes, node)
        if p[0] == K_REPEAT:
            return p[2] == p[3] and self.prefix_free(p[1])
        if p[0] == K_UNION:
            byteset_fill(&seen, 0)
            n = sequence_length(self.regexes.nodes, node)
            for i in range(1, n):
                if not self.prefix_free(sequence(self.regexes.nodes, node)[i]):
                    return False
                self.first_bytes(sequence(self.regexes.nodes, node)[i], &bytes_)
                for j in range(4):
                    if seen.w[j] & bytes_.w[j]:
                        return False
                byteset_or(&seen, &bytes_)
            return True
        return p[0] == K_BYTES or p[0] == K_CHAR or p[0] == K_TAIL

    cdef int first_bytes(self, uint32_t node, ByteSet* bytes_) except -1 nogil:
        cdef const uint32_t* row = self.by_byte(self.state(node))
        cdef uint32_t byte
        byteset_fill(bytes_, 0)
        for byte in range(256):
            if row[byte] != DEAD_END:
                byteset_add(bytes_, byte)
        return 0

    cdef Family* family(self, uint32_t trie_node, uint32_t state) noexcept nogil:
        """The family of a counted state below a node of the trie, or NULL."""
        cdef uint32_t index = self.family_of.get(<uint64_t> <uint32_t> (trie_node + 1) << 32 | self.states[state].family)
        return NULL if index == NONE else self.families[index]

    cdef int make_family(self, uint32_t trie_node, uint32_t state) except -1 nogil:
        """Walks body* tail below a node of the trie, counting. Uses the scratch of `build`."""
        cdef Family* family = <Family*> calloc(1, sizeof(Family))
        cdef const uint32_t* p
        cdef uint32_t* bits
        cdef uint32_t level, i
        cdef size_t w, n_words = self.trie.n_words
        cdef bint made = False
        if family == NULL:
            with gil:
                raise MemoryError("family of parts")
        try:
            p = sequence(self.regexes.nodes, self.states[state].regex)
            self.first_bytes(sequence(self.regexes.nodes, p[1])[1], &self.unit_bytes)
            self.unit_state = self.states[state].family
            family.bits = <uint32_t*> calloc((MAX_LEVEL + 1) * n_words + 1, sizeof(uint32_t))
            if family.bits == NULL:
                with gil:
                    raise MemoryError("family of parts")
            self.start(trie_node, self.unit_state)
            self.exit_levels.n = self.open_levels.n = self.late_levels.n = 0
            self.counting = family
            self.grow(trie_node, self.start_depth, self.unit_state)
            self.counting = NULL
            pair_up(&family.exits, &self.exits, &self.exit_levels)
            pair_up(&family.open, &self.open, &self.open_levels)
            pair_up(&family.late, &self.late, &self.late_levels)
            family.live_bytes = self.live_bytes
            for i in range(self.exit_levels.n):
                family.most = max(family.most, self.exit_levels.data[i])
            for i in range(self.open_levels.n):
                family.most = max(family.most, self.open_levels.data[i])
            for i in range(self.late_levels.n):
                family.most = max(family.most, self.late_levels.data[i])
            bits = <uint32_t*> realloc(family.bits, (family.n_levels * n_words + 1) * sizeof(uint32_t))
            if bits != NULL:
                family.bits = bits
            for level in range(1, family.n_levels):
                family.counts[level] += family.counts[level - 1]
                for w in range(n_words):
                    family.bits[level * n_words + w] |= family.bits[(level - 1) * n_words + w]
            reserve(<void**> &self.families, &self.families_capacity, self.n_families + 1, sizeof(Family*))
            self.family_of.put(<uint64_t> <uint32_t> (trie_node + 1) << 32 | self.unit_state, <uint32_t> self.n_families)
            self.families[self.n_families] = family
            self.n_families += 1
            self.part_bytes += sizeof(Family) + sizeof(uint32_t) * (
                family.n_levels * n_words + family.deep.n + family.tokens.n + family.exits.n + family.open.n + family.late.n)
            made = True
        finally:
            self.counting = NULL
            if not made:
                free_family(family)
        return 0

    cdef inline uint32_t level_by(self, uint32_t depth, uint32_t byte) noexcept nogil:
        """The level at this depth, where the path comes by this byte."""
        cdef uint32_t level = self.path_levels[depth - 1]
        if self.path_states[depth - 1] != self.unit_state or level & IN_TAIL:
            return level
        return level + 1 if byteset_has(&self.unit_bytes, byte) else level | IN_TAIL

    cdef int take_token_at(self, uint32_t token, uint32_t level) except -1 nogil:
        cdef Family* family = self.counting
        cdef Words* pairs = &family.tokens
        family.most = max(family.most, level & ~<uint32_t> IN_TAIL)
        if level <= MAX_LEVEL:
            family.bits[level * <size_t> self.trie.n_words + (token >> 5)] |= <uint32_t> 1 << (token & 31)
            family.counts[level] += 1
            family.n_levels = max(family.n_levels, level + 1)
            return 0
        if not level & IN_TAIL:
            pairs = &family.deep
        words_push(pairs, token)
        words_push(pairs, level & ~<uint32_t> IN_TAIL)
        return 0

    cdef int note_levels(self, uint32_t level) except -1 nogil:
        """What was added to exits, open and late nodes just now is at this level."""
        while self.exit_levels.n < self.exits.n:
            words_push(&self.exit_levels, level & ~<uint32_t> IN_TAIL)
        while self.open_levels.n < self.open.n:
            words_push(&self.open_levels, level & ~<uint32_t> IN_TAIL)
        while self.late_levels.n < self.late.n:
            words_push(&self.late_levels, level & ~<uint32_t> IN_TAIL)
        return 0

    cdef int take_family(self, const Family* family, uint32_t least, uint32_t most) except -1 nogil:
        """Adds what the family has within these bounds to what `build` has found."""
        cdef uint32_t* bits = self.bits
        cdef const uint32_t* others
        cdef uint32_t level, token
        cdef size_t i
        self.dense = True
        if family.n_levels:
            level = min(most, family.n_levels - 1)
            others = family.bits + level * <size_t> self.trie.n_words
            for i in range(self.trie.n_words):
                bits[i] |= others[i]
            self.n_inside += family.counts[level]
        for i in range(0, family.deep.n, 2):
            if family.deep.data[i + 1] <= most:
                token = family.deep.data[i]
                bits[token >> 5] |= <uint32_t> 1 << (token & 31)
                self.n_inside += 1
        for i in range(0, family.tokens.n, 2):
            if least <= family.tokens.data[i + 1] <= most:
                token = family.tokens.data[i]
                bits[token >> 5] |= <uint32_t> 1 << (token & 31)
                self.n_inside += 1
        take_pairs(&self.exits, &family.exits, least, most)
        take_pairs(&self.open, &family.open, least, most)
        take_pairs(&self.late, &family.late, least, most)
        byteset_or(&self.live_bytes, &family.live_bytes)
        return 0

    # ---- rests --------------------------------------------------------------------------------------------------

    cdef RestTrie* make_rests(self, const uint32_t* nodes, uint32_t n) except NULL nogil:
        """One trie of what hangs below these nodes of the trie, which have the same byte."""
        cdef RestTrie* rests = <RestTrie*> calloc(1, sizeof(RestTrie))
        cdef bint made = False
        if rests == NULL:
            with gil:
                raise MemoryError("rests")
        try:
            self.n_rest_nodes = self.rest_starts.n = self.rest_tokens.n = self.groups.n = 0
            words_extend(&self.groups, nodes, n)
            self.merge(0, n, 1)
            words_push(&self.rest_starts, <uint32_t> self.rest_tokens.n)
            if self.next_place > NONE - 2 - self.n_rest_nodes:
                with gil:
                    raise LimitError("rests of tokens: no place left")
            rests.base = self.next_place
            rests.n_nodes = <uint32_t> self.n_rest_nodes
            rests.nodes = <node_t*> copy_of(self.rest_nodes, self.n_rest_nodes * sizeof(node_t))
            rests.starts = <uint32_t*> copy_of(self.rest_starts.data, self.rest_starts.n * sizeof(uint32_t))
            rests.tokens = <uint32_t*> copy_of(self.rest_tokens.data, self.rest_tokens.n * sizeof(uint32_t))
            self.next_place += rests.n_nodes
            self.part_bytes += (sizeof(RestTrie) + self.n_rest_nodes * sizeof(node_t)
                                + (self.rest_starts.n + self.rest_tokens.n) * sizeof(uint32_t))
            made = True
        finally:
            if not made:
                free_rests(rests)
        return rests

    cdef int merge(self, size_t first, size_t end, uint32_t depth) except -1 nogil:
        """Appends the node for groups[first:end], nodes of the trie that become one, and all that hangs below it."""
        cdef size_t index = self.n_rest_nodes, start = self.rest_tokens.n, base = self.groups.n, at, i
        cdef uint32_t ends[257]
        cdef uint32_t node, child, last, byte
        if end == first + 1:
            return self.copy_rests(self.groups.data[first], depth)
        self.push_rest(depth, self.trie.nodes[self.groups.data[first]])
        memset(ends, 0, sizeof(ends))
        for i in range(first, end):
            node = self.groups.data[i]
            self.take_token(node)
            child = node + 1
            last = node + node_skip(self.trie.nodes[node])
            while child < last:
                if self.is_wanted(child, node):
                    ends[node_byte(self.trie.nodes[child]) + 1] += 1
                child += node_skip(self.trie.nodes[child])
        self.close_list(index, start)
        # The children of all of them, sorted by their byte, on top of the stack; ends[byte] begins as the start.
        for byte in range(256):
            ends[byte + 1] += ends[byte]
        reserve(<void**> &self.groups.data, &self.groups.capacity, base + ends[256], sizeof(uint32_t))
        self.groups.n = base + ends[256]
        for i in range(first, end):
            node = self.groups.data[i]
            child = node + 1
            last = node + node_skip(self.trie.nodes[node])
            while child < last:
                if self.is_wanted(child, node):
                    byte = node_byte(self.trie.nodes[child])
                    self.groups.data[base + ends[byte]] = child
                    ends[byte] += 1
                child += node_skip(self.trie.nodes[child])
        at = base
        for byte in range(256):
            while at < base + ends[byte]:
                # So deep down, alike nodes are left apart: no token may cost the stack of the process.
                end = base + ends[byte] if depth < MAX_MERGED else at + 1
                self.merge(at, end, depth + 1)
                at = end
        self.groups.n = base
        self.rest_nodes[index] |= <uint64_t> (self.n_rest_nodes - index) << SKIP_SHIFT
        return 0

    cdef int copy_rests(self, uint32_t node, uint32_t depth) except -1 nogil:
        """Appends one node of the trie and all that hangs below it."""
        cdef uint32_t i = node + 1, end = node + node_skip(self.trie.nodes[node]), d = depth, last = depth
        cdef uint32_t up = node_depth(self.trie.nodes[node]) - depth
        cdef uint32_t* copies = self.path_states        # per depth: the copy of the node there
        cdef uint32_t* nodes = self.path_nodes          # and the node
        cdef size_t start
        copies[d] = <uint32_t> self.n_rest_nodes
        nodes[d] = node
        self.push_rest(depth, self.trie.nodes[node])
        start = self.rest_tokens.n
        self.take_token(node)
        self.close_list(copies[d], start)
        while i < end:
            d = node_depth(self.trie.nodes[i]) - up
            while last >= d:                            # the path leaves these nodes
                self.rest_nodes[copies[last]] |= <uint64_t> (self.n_rest_nodes - copies[last]) << SKIP_SHIFT
                last -= 1
            if not self.is_wanted(i, nodes[d - 1]):
                i += node_skip(self.trie.nodes[i])
                continue
            copies[d] = <uint32_t> self.n_rest_nodes
            nodes[d] = i
            last = d
            self.push_rest(d, self.trie.nodes[i])
            start = self.rest_tokens.n
            self.take_token(i)
            self.close_list(copies[d], start)
            i += 1
        while last >= depth:
            self.rest_nodes[copies[last]] |= <uint64_t> (self.n_rest_nodes - copies[last]) << SKIP_SHIFT
            last -= 1
        return 0

    cdef inline bint is_wanted(self, uint32_t node, uint32_t parent) noexcept nogil:
        """Whether a rest may lead over this node. Of late rests only those do that go on to where tokens die."""
        if not self.only_late:
            return True
        if self.stamps[parent] == self.stamp:
            self.stamps[node] = self.stamp
            return True
        return self.stamps[node] >= self.stamp - 1

    cdef inline int take_token(self, uint32_t node) except -1 nogil:
        cdef uint32_t token = node_token(self.trie.nodes[node])
        if token and (not self.only_late or self.stamps[node] == self.stamp):
            words_push(&self.rest_tokens, token - 1)
        return 0

    cdef int push_rest(self, uint32_t depth, node_t like) except -1 nogil:
        """Appends a node at this depth with the byte of another; skip and tokens are still to come."""
        reserve(<void**> &self.rest_nodes, &self.rest_nodes_capacity, self.n_rest_nodes + 1, sizeof(node_t))
        self.rest_nodes[self.n_rest_nodes] = <uint64_t> node_byte(like) | <uint64_t> depth << DEPTH_SHIFT
        self.n_rest_nodes += 1
        return 0

    cdef int close_list(self, size_t index, size_t start) except -1 nogil:
        """The tokens since `start` are those of the node."""
        if self.rest_tokens.n > start:
            words_push(&self.rest_starts, <uint32_t> start)
            self.rest_nodes[index] |= <uint64_t> self.rest_starts.n << TOKEN_SHIFT
        return 0

    # ---- late exits ---------------------------------------------------------------------------------------------

    cdef int make_live(self, Part* part) except -1 nogil:
        """Where tokens could have left the lexeme before the byte by which it dies.

        For each node on the way down to a dead one: if a lexeme may end at its parent, it can be entered as the first
        node of a rest.
        """
        self.stamp_late(part)
        group_by_byte(&part.live, self.trie, &self.exits)
        self.part_bytes += self.exits.n * sizeof(uint32_t)
        part.live_made = True
        return 0

    cdef int stamp_late(self, Part* part) except -1 nogil:
        """Stamps the nodes in `part.late` with `stamp`, all on the way to them with `stamp` - 1; `exits` as `make_live` says."""
        cdef uint32_t i, node, parent, state
        cdef size_t n_nodes = self.trie.n_nodes
        if self.stamps == NULL:
            self.stamps = <uint32_t*> calloc(n_nodes, sizeof(uint32_t))
            self.node_states = <uint32_t*> malloc(n_nodes * sizeof(uint32_t))
            if self.stamps == NULL or self.node_states == NULL:
                with gil:
                    raise MemoryError("exits of a part")
        self.stamp += 2
        self.stamped = part.index
        self.exits.n = 0
        for i in range(part.n_late):
            # Up to a node whose state is known, then down again.
            self.stamps[part.late[i]] = self.stamp
            self.tokens.n = 0
            node = self.quotient.parents[part.late[i]]
            while node != part.node and self.stamps[node] != self.stamp - 1:
                words_push(&self.tokens, node)
                node = self.quotient.parents[node]
            while self.tokens.n:
                parent = node
                self.tokens.n -= 1
                node = self.tokens.data[self.tokens.n]
                state = self.state(part.regex) if parent == part.node else self.node_states[parent]
                if parent != part.node and self.states[state].accepts:
                    words_push(&self.exits, node)
                self.stamps[node] = self.stamp - 1
                self.node_states[node] = self.by_byte(state)[node_byte(self.trie.nodes[node])]
        return 0

    def stats(self) -> dict[str, int]:
        """What is remembered for all grammars over this vocabulary, in numbers of things and bytes."""
        return {
            "parts": self.n_parts,
            "part_families": self.n_families,
            "parts_asked": self.n_built + self.n_known,
            "part_nodes_visited": self.n_nodes,
            "automaton_states": self.n_states,
            "automaton_regexes": self.regexes.nodes.n,
            "quotient_nodes": self.quotient.n_nodes,
            "quotient_bytes": self.quotient.n_bytes(),
            "part_bytes": self.n_bytes(),
        }

    cdef size_t n_bytes(self) except? 0:
        """Bytes that are given back when the parts are dropped; the quotient of the trie stays."""
        return (self.regexes.n_bytes() + self.part_bytes + self.state_bytes + self.n_states * sizeof(State)
                + self.known.n_bytes())


cdef void* copy_of(const void* data, size_t n_bytes) except NULL nogil:
    cdef void* copy = malloc(n_bytes + 1)               # + 1: malloc(0) may return NULL
    if copy == NULL:
        with gil:
            raise MemoryError("part")
    if n_bytes:
        memcpy(copy, data, n_bytes)
    return copy


cdef int pair_up(Words* pairs, const Words* items, const Words* levels) except -1 nogil:
    cdef size_t i
    for i in range(items.n):
        words_push(pairs, items.data[i])
        words_push(pairs, levels.data[i])
    return 0


cdef int take_pairs(Words* items, const Words* pairs, uint32_t least, uint32_t most) except -1 nogil:
    cdef size_t i
    for i in range(0, pairs.n, 2):
        if least <= pairs.data[i + 1] <= most:
            words_push(items, pairs.data[i])
    return 0


cdef void free_family(Family* family) noexcept nogil:
    free(family.bits)
    words_free(&family.deep)
    words_free(&family.tokens)
    words_free(&family.exits)
    words_free(&family.open)
    words_free(&family.late)
    free(family)


cdef void free_part(Part* part) noexcept nogil:
    free(part.bits)
    free(part.tokens)
    free(part.open)
    free(part.late)
    free_exits(&part.exits)
    free_exits(&part.live)
    free(part)


cdef void free_rests(RestTrie* rests) noexcept nogil:
    free(rests.nodes)
    free(rests.starts)
    free(rests.tokens)
    free(rests)


cdef void free_exits(Exits* exits) noexcept nogil:
    cdef uint32_t k
    if exits.rests != NULL:
        for k in range(exits.n_bytes):
            if exits.rests[k] != NULL:
                free_rests(exits.rests[k])
    free(exits.rests)
    free(exits.nodes)
    free(exits.bytes)
    free(exits.starts)


cdef int group_by_byte(Exits* exits, TokenTrie trie, const Words* nodes) except -1 nogil:
    """A counting sort of `nodes` by their byte."""
    cdef uint32_t counts[257]
    cdef uint32_t i, byte, n = 0, at = 0, count
    memset(counts, 0, sizeof(counts))
    for i in range(nodes.n):
        counts[node_byte(trie.nodes[nodes.data[i]])] += 1
    for byte in range(256):
        n += counts[byte] != 0
    exits.nodes = <uint32_t*> malloc(nodes.n * sizeof(uint32_t) + 1)
    exits.bytes = <uint8_t*> malloc(n + 1)
    exits.starts = <uint32_t*> malloc((<size_t> n + 1) * sizeof(uint32_t))
    exits.rests = <RestTrie**> calloc(<size_t> n + 1, sizeof(RestTrie*))
    exits.n_bytes = n
    if exits.rests == NULL or exits.nodes == NULL or exits.bytes == NULL or exits.starts == NULL:
        with gil:
            raise MemoryError("part")
    n = 0
    for byte in range(256):
        count = counts[byte]
        counts[byte] = at
        if count:
            exits.bytes[n] = <uint8_t> byte
            exits.starts[n] = at
            n += 1
        at += count
    exits.starts[n] = at
    for i in range(nodes.n):
        byte = node_byte(trie.nodes[nodes.data[i]])
        exits.nodes[counts[byte]] = nodes.data[i]
        counts[byte] += 1
    exits.n = <uint32_t> nodes.n
    exits.n_bytes = n
    return 0


cdef Parts parts_of(TokenTrie trie):
    """The parts of a vocabulary's trie, made on first use."""
    if trie.learned is None:
        made = Parts(trie)
        if trie.learned is None:                        # no other thread was faster
            trie.learned = made
    return trie.learned
