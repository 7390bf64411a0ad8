"""The store of regex nodes over bytes: hash-consed, in a normal form.

Equal nodes are one int, and simple rules make one node of equal languages: intersection is associative, commutative and
idempotent, neutral elements are removed, concatenation leans to the right. So a regex has finitely many derivatives
(Owens, Reppy, Turon 2009, "Regular-expression derivatives reexamined").

Not here: unions (`_unions`), derivatives (`_regex`).
"""

from cpython.long cimport PyLong_AsLongLongAndOverflow
from libc.stdlib cimport free
from libc.string cimport memset

from earleymask.earley._choices cimport have_ended, least_left
from earleymask.earley._meter cimport exceeds, learned_bytes, spend_steps
from earleymask.earley._multiples cimport is_multiple
from earleymask.earley._remains cimport free_block
from earleymask.earley._tables cimport (
    NONE, byteset_and, byteset_fill, keep_marked, rehash, reserve, sequence, sequence_length, sort_words, trim, words_extend, words_free,
    words_push,
)

from earleymask.earley.errors import LimitError

cdef enum:
    MAX_LENGTH = 1 << 30        # larger least lengths count as this one
    MAX_DEPTH = 4000            # nodes within one another: derivation recurses along them


cdef class Nodes:
    """An arena of nodes. Nodes live as long as the arena, or until `collect` drops them."""

    def __cinit__(self):
        cdef uint32_t word
        self.meter = Meter()
        self.nodes = Sequences("regex nodes", 1 << 26)
        self.nodes.meter = self.meter
        self.classes = Sequences("character classes", 1 << 24)
        self.cut_programs = Sequences("programs of lookarounds", 1 << 24)
        word = K_EMPTY
        self.make(&word, 1)
        word = K_EPSILON
        self.make(&word, 1)

    def __dealloc__(self):
        free(self.flags)
        free(self.depths)
        free_block(self.first_edge, self.first_edge_capacity * sizeof(uint32_t))
        free_block(self.edges, self.edges_capacity * sizeof(Edge))
        free_block(self.edge_tables, self.edge_tables_capacity * sizeof(uint32_t))
        free(self.code)
        words_free(&self.stack)
        words_free(&self.programs)
        words_free(&self.least_lengths)

    cdef uint32_t derive(self, uint32_t node, uint32_t byte, ByteSet* same) except? 0xFFFFFFFF nogil:
        return R_EMPTY                                      # `Regexes` overrides this

    cdef int empty(self, uint32_t node) except -1 nogil:
        return node == R_EMPTY                              # and this

    cdef uint32_t known(self, object node) except? 0xFFFFFFFF:
        cdef int overflow = 0
        cdef long long id_ = PyLong_AsLongLongAndOverflow(node, &overflow)
        if overflow or not 0 <= id_ < self.nodes.n:
            raise ValueError(f"node {node!r} does not belong to this arena ({self.nodes.n} nodes)")
        return <uint32_t> id_

    cdef size_t push(self, nodes) except? -1:
        """Put the nodes on the stack and return where they begin. After an error none of them is there."""
        cdef size_t base = self.stack.n
        try:
            for item in nodes:
                spend_steps(self.meter, 4)
                words_push(&self.stack, self.known(item))
        except:
            self.stack.n = base
            raise
        return base

    cdef uint32_t make(self, const uint32_t* words, size_t n) except? 0xFFFFFFFF nogil:
        cdef uint32_t before = self.nodes.n, node
        cdef uint16_t depth
        spend_steps(self.meter, 4 + n // 8)
        reserve(<void**> &self.flags, &self.flags_capacity, before + 1, sizeof(uint8_t))
        reserve(<void**> &self.first_edge, &self.first_edge_capacity, before + 1, sizeof(uint32_t))
        reserve(<void**> &self.depths, &self.depths_capacity, before + 1, sizeof(uint16_t))
        depth = self.depth_of(words, n)
        if exceeds(depth, MAX_DEPTH):
            with gil:
                raise LimitError(f"regex: nested deeper than {MAX_DEPTH} levels; simplify the terminal")
        if exceeds(<size_t> before + 1, self.meter.most_regex_nodes) and self.nodes.find(words, n) == NONE:
            with gil:
                self.meter.exceeded("regex_nodes", "the terminals become more regex nodes")
        node = self.nodes.intern(words, n)
        if node == before:
            self.depths[node] = depth
            self.flags[node] = self.flags_of(words, n) | (F_TEXT if self.is_text(words, n) else 0)
            self.first_edge[node] = NONE
            if node % 256 == 0:
                self.look()
        return node

    cdef int look(self) except -1 nogil:
        self.meter.regex_bytes = self.n_bytes()
        if exceeds(learned_bytes(self.meter), self.meter.most_grammar_bytes):
            with gil:
                self.meter.exceeded("grammar_bytes", "the terminals take more memory")
        return 0

    cdef uint16_t depth_of(self, const uint32_t* words, size_t n) noexcept nogil:
        """Return how deep `derive` recurses into the node with these words.

        The length of a concatenation does not add to its depth. If it begins with a byte, the rest is not derived until
        that byte has been read, so a trie of literals may be of any depth.
        """
        cdef uint32_t kind = words[0]
        cdef uint16_t depth = 0, rest
        cdef size_t i
        if kind == K_CONCAT:
            if kind_of(self, words[1]) == K_BYTES:
                return 2
            rest = self.depths[words[2]]
            depth = self.depths[words[1]] + 1
            return depth if depth > rest else rest
        if kind == K_NOT or kind == K_REPEAT or kind == K_ESCAPED or kind == K_READ:
            return self.depths[words[1]] + 1
        if kind == K_UNION or kind == K_AND or kind == K_MARKED:
            for i in range(1, n):
                if self.depths[words[i]] > depth:
                    depth = self.depths[words[i]]
            return depth + 1
        return 1

    cdef bint is_text(self, const uint32_t* words, size_t n) noexcept nogil:
        """Return whether the node with these words has F_TEXT."""
        cdef uint32_t kind = words[0]
        cdef size_t i
        if kind == K_BYTES:
            return (words[5] | words[6] | words[7] | words[8]) == 0             # all of them ASCII
        if kind == K_CONCAT:
            return self.flags[words[1]] & self.flags[words[2]] & F_TEXT
        if kind == K_UNION:
            for i in range(1, n):
                if not self.flags[words[i]] & F_TEXT:
                    return False
            return True
        if kind == K_AND:
            for i in range(1, n):
                if self.flags[words[i]] & F_TEXT:
                    return True
            return False
        if kind == K_REPEAT or kind == K_ESCAPED:
            return self.flags[words[1]] & F_TEXT
        return kind == K_CHAR or kind == K_EPSILON or kind == K_EMPTY

    cdef uint8_t flags_of(self, const uint32_t* words, size_t n) noexcept nogil:
        cdef uint8_t* flags = self.flags
        cdef uint8_t result = 0
        cdef uint32_t kind = words[0]
        cdef size_t i
        if kind == K_EPSILON:
            return F_NULLABLE
        if kind == K_CONCAT:                                # unions have no F_COUNTED, so it comes from a K_REPEAT
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
            return ((flags[words[1]] & F_NULLABLE) ^ F_NULLABLE) | (flags[words[1]] & F_ORDERED) | F_SEARCH
        if kind == K_REPEAT:
            if words[2] == 0:
                result = F_NULLABLE
            if words[2] or words[3] != NONE:
                result |= F_COUNTED
            if FAR <= words[3] != NONE:
                result |= F_BOUNDED
            return result | (flags[words[1]] & F_INHERITED)
        if kind == K_ORDERED:
            # A thread may never reach MATCH.
            if self.code[words[n - 2]].op == OP_MATCH:
                result = F_NULLABLE
            return result | F_SEARCH | F_ORDERED
        if kind == K_CUTS:
            return F_SEARCH | F_ORDERED                     # `Cuts.make` adds F_NULLABLE
        if kind == K_READ:
            return flags[words[READ_BODY]] & (F_NULLABLE | F_INHERITED)
        if kind == K_CHOICES:
            return F_NULLABLE if have_ended(self, words) else 0
        if kind == K_MARKED:
            return flags[words[1]] & F_NULLABLE
        if kind == K_MULTIPLES:                             # is made only if it matches something
            return F_NULLABLE if is_multiple(self, words) else 0
        if kind == K_ESCAPED:                               # is made only if it matches something: nothing to search
            result = flags[words[E_BODY]] & (F_NULLABLE | F_ORDERED | F_BOUNDED)
            return result if words[E_PHASE] == 0 else result & ~F_NULLABLE
        return 0

    cdef uint32_t least_length(self, uint32_t node, uint32_t room) except? 0xFFFFFFFF nogil:
        cdef const uint32_t* p
        cdef uint64_t total = 0
        cdef uint32_t first = node, length, other
        cdef size_t i
        if room == 0:
            return 0
        while node >= self.least_lengths.n or not self.least_lengths.data[node]:
            p = sequence(self.nodes, node)
            if p[0] != K_CONCAT:
                length = 0
                if p[0] == K_BYTES or p[0] == K_CHAR:
                    length = 1
                elif p[0] == K_TAIL:
                    length = p[3]
                elif p[0] == K_UNION or p[0] == K_AND:
                    length = NONE if p[0] == K_UNION else 0
                    for i in range(1, sequence_length(self.nodes, node)):
                        other = self.least_length(p[i], room - 1)
                        length = min(length, other) if p[0] == K_UNION else min(length + other, <uint32_t> MAX_LENGTH)
                elif p[0] == K_REPEAT:
                    length = <uint32_t> min(<uint64_t> p[2] * self.least_length(p[1], room - 1), MAX_LENGTH)
                elif p[0] == K_ESCAPED or p[0] == K_READ or p[0] == K_MARKED:
                    length = self.least_length(p[1], room - 1)
                elif p[0] == K_CHOICES:
                    length = min(least_left(self, p), <uint32_t> MAX_LENGTH)
                total += self.note_length(node, length)
                node = R_EPSILON
                break
            total += self.least_length(p[1], room - 1)
            node = p[2]
        if node != R_EPSILON:
            total += self.least_lengths.data[node] - 1
        return self.note_length(first, <uint32_t> min(total, MAX_LENGTH))

    cdef uint32_t note_length(self, uint32_t node, uint32_t length) except? 0xFFFFFFFF nogil:
        while self.least_lengths.n <= node:
            words_push(&self.least_lengths, 0)
        self.least_lengths.data[node] = length + 1
        return length

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
        rest = self.make_pair(first, rest)
        while self.stack.n > base:
            self.stack.n -= 1
            rest = self.make_pair(self.stack.data[self.stack.n], rest)
        return rest

    cdef uint32_t make_pair(self, uint32_t first, uint32_t rest) except? 0xFFFFFFFF nogil:
        """Return the concatenation of two nodes, of which the first is none. Two repetitions of one body become one:
        r{a,b} r{c,d} is r{a+c,b+d}. So a hundred `[a-z]*` in a row have one state, and a hundred `a?` one count."""
        cdef uint32_t words[3]
        cdef const uint32_t* p = sequence(self.nodes, first)
        cdef const uint32_t* q
        cdef uint32_t tail = R_EPSILON
        cdef uint64_t most
        if p[0] == K_REPEAT:
            q = sequence(self.nodes, rest)
            if q[0] == K_CONCAT:
                tail = q[2]
                q = sequence(self.nodes, q[1])
            if q[0] == K_REPEAT and q[1] == p[1]:
                most = NONE if p[3] == NONE or q[3] == NONE else <uint64_t> p[3] + q[3]
                if <uint64_t> p[2] + q[2] < NONE and (most < NONE or p[3] == NONE or q[3] == NONE):
                    first = self.make_repeat(p[1], p[2] + q[2], <uint32_t> most)
                    if tail == R_EPSILON:
                        return first
                    rest = tail
        words[0] = K_CONCAT
        words[1] = first
        words[2] = rest
        return self.make(words, 3)

    cdef uint32_t make_and(self, size_t base) except? 0xFFFFFFFF nogil:
        """Return the intersection of stack[base:], at least one node, and remove them from the stack."""
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
                continue                                    # matches everything: neutral
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
        if self.is_contradictory(base):
            self.stack.n = base
            return R_EMPTY
        return self.make_sorted(K_AND, base)

    cdef uint32_t both(self, uint32_t node, uint32_t other) except? 0xFFFFFFFF nogil:
        cdef size_t base = self.stack.n
        words_push(&self.stack, node)
        words_push(&self.stack, other)
        return self.make_and(base)

    cdef bint is_contradictory(self, size_t base) noexcept nogil:
        """Return whether one of stack[base:] is negated by another one, alone or as part of a union: x & ~(x | y). A
        union with any text is any text (`Unions`), so any text negates all that is text.

        Without this check, "none of these patterns occurs" would have a state for each set of patterns: after one of
        them has been found, the state would not become EMPTY.
        """
        cdef const uint32_t* data = self.stack.data
        cdef const uint32_t* p
        cdef size_t i, j, k
        cdef uint32_t node
        for i in range(base, self.stack.n):
            node = data[i]
            if kind_of(self, node) == K_NOT:
                continue
            for j in range(base, self.stack.n):
                p = sequence(self.nodes, data[j])
                if p[0] != K_NOT:
                    continue
                if p[1] == node or (self.flags[node] & F_TEXT and is_any_text(self, p[1])):
                    return True
                k = sequence_length(self.nodes, p[1])
                p = sequence(self.nodes, p[1])
                if p[0] == K_UNION:
                    while k > 1 and p[k - 1] > node:        # members ascend
                        k -= 1
                    if k > 1 and p[k - 1] == node:
                        return True
        return False

    cdef uint32_t make_sorted(self, uint32_t kind, size_t base) except? 0xFFFFFFFF nogil:
        """Return a node of this kind over the set stack[base:], and remove these nodes from the stack."""
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
        words_push(&self.stack, 0)                          # makes room for the kind at the front
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
        cdef size_t base = self.stack.n
        cdef uint64_t least, most
        if maximum == 0 or body == R_EPSILON:
            return R_EPSILON
        if body == R_EMPTY:
            return R_EPSILON if minimum == 0 else R_EMPTY
        p = sequence(self.nodes, body)
        if p[0] == K_UNION and p[1] == R_EPSILON:           # (r|){n,m} is r{0,m}; members ascend
            words_extend(&self.stack, p + 2, sequence_length(self.nodes, body) - 2)
            body = self.make_sorted(K_UNION, base)
            minimum = 0
        if nullable(self, body):
            minimum = 0
        if minimum == 1 and maximum == 1:
            return body
        p = sequence(self.nodes, body)
        if p[0] == K_REPEAT:
            # (r{a,b}){n,m} is r{na,mb} if the most of n turns and the least of n + 1 turns are next to each other; then
            # those of more turns are, too.
            if minimum == maximum or p[2] <= 1 or (minimum and p[3] == NONE) or \
                    (p[3] != NONE and <uint64_t> minimum * p[3] + 1 >= (<uint64_t> minimum + 1) * p[2]):
                least = <uint64_t> minimum * p[2]
                most = 0 if maximum == NONE or p[3] == NONE else <uint64_t> maximum * p[3]
                if least < NONE and most < NONE:
                    return self.make_repeat(p[1], <uint32_t> least, <uint32_t> most if most else NONE)
        words[0] = K_REPEAT
        words[1] = body
        words[2] = minimum
        words[3] = maximum
        return self.make(words, 4)

    cdef uint32_t add_code(self, size_t n) except? 0xFFFFFFFF nogil:
        cdef size_t base = self.n_code
        reserve(<void**> &self.code, &self.code_capacity, base + n, sizeof(Instruction))
        words_push(&self.programs, <uint32_t> base)
        self.n_code += n
        return <uint32_t> base

    cdef uint32_t remembering(self, uint32_t node) except? 0xFFFFFFFF nogil:
        cdef uint32_t words[3]
        words[0] = K_READ
        words[READ_BODY] = node
        words[READ_LENGTH] = 0
        return self.make(words, 3)

    cdef uint32_t without_memory(self, uint32_t node) noexcept nogil:
        cdef const uint32_t* p = sequence(self.nodes, node)
        return p[READ_BODY] if p[0] == K_READ else node

    cdef uint32_t n_read(self, uint32_t node) noexcept nogil:
        cdef const uint32_t* p = sequence(self.nodes, node)
        return p[READ_LENGTH] if p[0] == K_READ else 0

    cdef bytes read_by(self, uint32_t node):
        cdef const uint32_t* p = sequence(self.nodes, node)
        cdef uint32_t i
        return bytes([(p[READ_BYTES + i // 4] >> (8 * (i % 4))) & 0xFF for i in range(p[READ_LENGTH])])

    # ---- memory -------------------------------------------------------------------------------------------------

    cdef void mark(self, uint8_t* marks) noexcept nogil:
        cdef size_t i
        self.refer_from_programs(marks, NULL)
        for i in range(self.nodes.n, 0, -1):            # a node refers to older nodes
            if marks[i - 1]:
                self.refer(i - 1, marks, NULL)

    cdef void collect(self, const uint8_t* marks, uint32_t* map_) noexcept nogil:
        cdef size_t i, n = self.nodes.n, n_in_place = keep_marked(self.nodes, marks, map_)
        for i in range(n_in_place, n):
            if marks[i]:                                # SAFETY: entries only move down
                self.flags[map_[i]] = self.flags[i]
                self.depths[map_[i]] = self.depths[i]
        # Nodes that stay in place refer to older ones, which do so, too. A grammar may have a million of them.
        for i in range(n_in_place, self.nodes.n):
            self.refer(i, NULL, map_)                   # old and new ids ascend alike, so sorted nodes stay sorted
        memset(self.first_edge, 0xFF, self.nodes.n * sizeof(uint32_t))
        trim(self.nodes)
        self.refer_from_programs(NULL, map_)
        rehash(self.cut_programs)
        self.n_edges = self.n_edge_tables = self.stack.n = self.least_lengths.n = 0

    cdef void refer(self, size_t node, uint8_t* marks, const uint32_t* map_) noexcept nogil:
        """Mark the nodes to which a node refers; or, with `map_`, give them their new ids."""
        cdef uint32_t* p = self.nodes.words.data + self.nodes.starts[node]
        cdef size_t i, n = self.nodes.starts[node + 1] - self.nodes.starts[node]
        cdef uint32_t kind = p[0]
        if kind == K_CONCAT or kind == K_UNION or kind == K_AND or kind == K_MARKED:
            for i in range(1, n):
                touch(p + i, marks, map_)
        elif kind == K_NOT or kind == K_REPEAT or kind == K_ESCAPED or kind == K_READ or kind == K_CHOICES or kind == K_MULTIPLES:
            touch(p + 1, marks, map_)
        elif kind == K_ORDERED:
            for i in range(2, n, 2):
                touch(p + i, marks, map_)
        elif kind == K_CUTS:
            for i in range(CUTS_ORACLES, items_begin(cut_program(self, p[1]))):
                touch(p + i, marks, map_)
            i = items_begin(cut_program(self, p[1]))
            while i < n:
                if p[i] == T_THREAD:
                    touch(p + i + 2, marks, map_)
                i += item_length(p[i])

    cdef void refer_from_programs(self, uint8_t* marks, const uint32_t* map_) noexcept nogil:
        """Do the same for the nodes in all programs. Programs are never dropped: lazy symbols may add some at any time."""
        cdef uint32_t* p
        cdef size_t i, k, n
        for i in range(self.n_code):
            if self.code[i].op == OP_ATOM:
                touch(&self.code[i].x, marks, map_)
        for i in range(self.cut_programs.n):
            p = self.cut_programs.words.data + self.cut_programs.starts[i]
            n = self.cut_programs.starts[i + 1] - self.cut_programs.starts[i]
            k = code_begins(p)
            while k < n:
                if p[k + I_OP] == OP_ATOM:
                    touch(p + k + I_X, marks, map_)
                k += I_WORDS

    cdef size_t n_bytes(self) noexcept nogil:
        return (self.nodes.n_bytes() + self.classes.n_bytes() + self.cut_programs.n_bytes() + self.nodes.n * <size_t> 5 + self.n_edges * sizeof(Edge)
                + self.n_edge_tables * 256 * sizeof(uint32_t)
                + self.n_code * sizeof(Instruction) + self.least_lengths.n * sizeof(uint32_t))


cdef inline void touch(uint32_t* word, uint8_t* marks, const uint32_t* map_) noexcept nogil:
    if marks != NULL:
        marks[word[0]] = 1
    else:
        word[0] = map_[word[0]]
