"""The automaton of single regex nodes of all grammars, with which parts are built.

The lexer's states (`_lexer`) are sets of terminals of one grammar. Here each regex node is a state by itself. Regexes
of grammars are adopted into one arena (`_adopt`), in which equal ones are one node; their derivatives are the states. A
state either continues by a few bytes only (*narrow*: literals, the ends of strings), or it has a table by byte, and
another one by class of bytes of the trie's quotient.
"""

from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from earleymask.earley._complements cimport find_differing, without_complements
from earleymask.earley._escaped cimport make_escaped
from earleymask.earley._far_bounds cimport farthest, without_far
from earleymask.earley._nodes cimport (
    E_BODY, E_HIGH, E_PHASE, E_STYLE, E_VALUE, F_BOUNDED, F_NULLABLE, F_ORDERED, K_AND, K_BYTES, K_CHAR, K_CONCAT,
    K_ESCAPED, K_REPEAT, K_TAIL, K_UNION, R_EMPTY, nullable,
)
from earleymask.earley._remains cimport leave
from earleymask.earley._tables cimport (
    NONE, byteset_add, byteset_and_not, byteset_fill, byteset_has, byteset_or, lowest_bit, reserve, sequence, sequence_length,
    set_all, words_free, words_push,
)
from earleymask.trie._memory cimport calloc, malloc

cdef enum:
    MAX_REPLACED = 256          # `without_bounds` gives up on regexes of more nodes
    NO = 1                      # in `State.counted`; 0 means that this is not known yet
    YES = 2
    UNKNOWN = 0xFFFF            # in `State.reach`
    FREED_AT_ONCE = 256         # states


cdef void free_tables(void* states, size_t i) noexcept nogil:
    free((<State*> states)[i].by_byte)
    free((<State*> states)[i].by_class)


cdef class Automaton:
    """States over the classes of one quotient."""

    def __cinit__(self, Quotient quotient not None):
        self.quotient = quotient
        self.regexes = Regexes()
        self.adopter = Adopter(self.regexes)
        self.state(R_EMPTY)                             # DEAD_END

    def __dealloc__(self):
        leave(self.states, 0, self.n_states, self.state_bytes, FREED_AT_ONCE, free_tables)
        words_free(&self.state_of)

    # ---- states -------------------------------------------------------------------------------------------------

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
        state.reach = UNKNOWN if self.regexes.flags[regex] & F_BOUNDED else 0
        self.state_of.data[regex] = <uint32_t> self.n_states
        self.n_states += 1
        return self.state_of.data[regex]

    cdef uint32_t without_bounds(self, uint32_t regex, uint32_t enough, bint lower) except? 0xFFFFFFFF nogil:
        cdef uint32_t room = MAX_REPLACED, found
        if not self.has_bounds(regex, enough, &room):   # most regexes have none
            return NONE
        room = MAX_REPLACED
        found = self.replace_bounds(regex, enough, lower, &room)
        return found if room and found != regex else NONE

    cdef uint32_t replace_bounds(self, uint32_t regex, uint32_t enough, bint lower, uint32_t* room) except? 0xFFFFFFFF nogil:
        cdef const uint32_t* p = sequence(self.regexes.nodes, regex)
        cdef size_t base = self.regexes.stack.n, i, n = sequence_length(self.regexes.nodes, regex)
        cdef uint32_t kind = p[0], least, bound, most, part
        cdef uint32_t words[6]
        if room[0] == 0:
            return regex
        room[0] -= 1
        if kind == K_REPEAT:
            least, bound = p[2], p[3]
            most = enough if self.is_long(p[1]) else self.quotient.trie.max_depth + 1
            if most <= bound != NONE:
                bound = max(most, least) if lower else NONE
            part = self.replace_bounds(p[1], enough, lower, room)
            return self.regexes.make_repeat(part, least, bound)
        if kind == K_ESCAPED:
            memcpy(words, p, n * sizeof(uint32_t))
            part = self.replace_bounds(words[E_BODY], enough, lower, room)
            return make_escaped(self.regexes, part, words[E_STYLE], words[E_PHASE], words[E_VALUE], words[E_HIGH])
        if kind == K_CONCAT:
            while p[0] == K_CONCAT and room[0]:
                regex = p[2]
                part = self.replace_bounds(p[1], enough, lower, room)
                words_push(&self.regexes.stack, part)
                p = sequence(self.regexes.nodes, regex)
            part = self.replace_bounds(regex, enough, lower, room)
            while self.regexes.stack.n > base:
                self.regexes.stack.n -= 1
                part = self.regexes.make_concat(self.regexes.stack.data[self.regexes.stack.n], part)
            return part
        if kind != K_UNION and kind != K_AND:
            return regex
        for i in range(1, n):
            part = self.replace_bounds(sequence(self.regexes.nodes, regex)[i], enough, lower, room)
            words_push(&self.regexes.stack, part)
        return self.regexes.make_union(base) if kind == K_UNION else self.regexes.make_and(base)

    cdef bint has_bounds(self, uint32_t regex, uint32_t enough, uint32_t* room) noexcept nogil:
        """Return whether `replace_bounds` would find a bound."""
        cdef const uint32_t* p
        cdef size_t i
        while room[0]:
            room[0] -= 1
            p = sequence(self.regexes.nodes, regex)
            if p[0] == K_CONCAT:
                if self.has_bounds(p[1], enough, room):
                    return True
                regex = p[2]
            elif p[0] == K_REPEAT:
                if p[3] != NONE and p[3] >= (enough if self.is_long(p[1]) else self.quotient.trie.max_depth + 1):
                    return True
                regex = p[1]
            elif p[0] == K_ESCAPED:
                regex = p[E_BODY]
            elif p[0] == K_UNION or p[0] == K_AND:
                for i in range(1, sequence_length(self.regexes.nodes, regex)):
                    if self.has_bounds(p[i], enough, room):
                        return True
                return False
            else:
                return False
        return False

    cdef bint is_long(self, uint32_t regex) noexcept nogil:
        """Return whether it is obvious that texts of the regex can have any length."""
        cdef const uint32_t* p = sequence(self.regexes.nodes, regex)
        while p[0] == K_CONCAT:
            if self.is_long(p[1]):
                return True
            regex = p[2]
            p = sequence(self.regexes.nodes, regex)
        return p[0] == K_REPEAT and p[3] == NONE

    cdef uint32_t near(self, uint32_t state, uint32_t n_bytes) except? 0xFFFFFFFF nogil:
        while 0 < n_bytes <= self.states[state].reach and n_bytes <= self.reach(state):
            state = self.states[state].beyond
        return state

    cdef uint32_t reach(self, uint32_t state) except? 0xFFFFFFFF nogil:
        cdef uint32_t regex = self.states[state].regex, reach, beyond
        if self.states[state].reach == UNKNOWN:
            reach = farthest(self.regexes, regex)
            beyond = self.state(without_far(self.regexes, regex, reach)) if reach else state
            self.states[state].beyond = beyond
            self.states[state].reach = <uint16_t> reach if beyond != state else 0
        return self.states[state].reach

    cdef uint32_t target(self, uint32_t state, uint32_t byte) except? 0xFFFFFFFF nogil:
        cdef ByteSet same
        if self.states[state].by_byte != NULL:
            return self.states[state].by_byte[byte]
        return self.state(self.regexes.derive(self.states[state].regex, byte, &same))

    cdef int expand(self, uint32_t state) except -1 nogil:
        """Compute the targets of the state for all bytes."""
        cdef uint32_t row[256]
        cdef ByteSet unseen, same, alive
        cdef uint64_t word
        cdef uint32_t byte, target, w, n = 0, regex = self.states[state].regex, wider
        cdef State* s
        memset(row, 0, sizeof(row))                     # DEAD_END
        byteset_fill(&alive, 0)
        wider = without_complements(self.regexes, regex)
        if wider != NONE and find_differing(self.regexes, regex, &unseen) and not self.is_narrow(self.state(wider)):
            memcpy(row, self.by_byte(self.state(wider)), sizeof(row))
            for byte in range(256):
                if byteset_has(&unseen, byte):
                    row[byte] = DEAD_END
                elif row[byte] != DEAD_END:
                    byteset_add(&alive, byte)
        else:
            byteset_fill(&unseen, <uint64_t> -1)
        for w in range(4):
            while unseen.w[w]:
                byteset_fill(&same, <uint64_t> -1)
                target = self.state(self.regexes.derive(regex, 64 * w + lowest_bit(unseen.w[w]), &same))
                if target != DEAD_END:
                    byteset_or(&alive, &same)
                    set_all(row, &same, target)
                byteset_and_not(&unseen, &same)
        s = self.states + state
        for w in range(4):
            word = alive.w[w]
            while word:
                byte = 64 * w + lowest_bit(word)
                word &= word - 1
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
        cdef uint32_t* targets
        cdef uint32_t byte, class_, n = self.quotient.n_classes
        cdef bint mixed = False
        if self.states[state].by_class != NULL:
            return self.states[state].by_class
        row = self.by_byte(state)
        targets = <uint32_t*> malloc(2 * n * sizeof(uint32_t))
        if targets == NULL:
            with gil:
                raise MemoryError("automaton state")
        self.states[state].by_class = targets
        for class_ in range(n):
            targets[class_] = row[self.quotient.class_first[class_]]
        for byte in range(256):
            class_ = self.quotient.class_of[byte]
            if row[byte] != row[self.quotient.class_first[class_]]:
                targets[class_] = MIXED
                mixed = True
        memcpy(targets + n, targets, n * sizeof(uint32_t))
        if mixed:
            for class_ in range(n):
                if targets[class_] == MIXED:
                    targets[n + class_] = most_common(row, self.quotient.class_bytes[class_])
        self.state_bytes += 2 * n * sizeof(uint32_t)
        return targets

    # ---- counted repetitions ------------------------------------------------------------------------------------

    cdef bint is_narrow(self, uint32_t state) except -1 nogil:
        if not self.states[state].expanded:
            self.expand(state)
        return self.states[state].narrow

    cdef bint is_counted(self, uint32_t state) except -1 nogil:
        if self.states[state].counted == 0:
            if not self.states[state].expanded:
                self.expand(state)
            if not self.states[state].narrow:
                self.recognize(state)
            if self.states[state].counted == 0:
                self.states[state].counted = NO
        return self.states[state].counted == YES

    cdef int recognize(self, uint32_t state) except -1 nogil:
        """Mark a state as counted if it is body{least,most} tail and a text shows how often the body is repeated.

        This is so if no match of the body begins another match of it, if the first byte distinguishes body, tail and
        the next repetition, and if no lexeme can end between repetitions. The parts of other states (`[a-z]{1,30}` with
        nothing after it) are built one by one.
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
        """Return whether it is obvious that no match of the regex begins a longer one and that its first byte selects
        the alternative."""
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

    cdef int unit_bytes(self, uint32_t state, ByteSet* bytes_) except -1 nogil:
        cdef const uint32_t* p = sequence(self.regexes.nodes, self.states[state].regex)
        return self.first_bytes(sequence(self.regexes.nodes, p[1])[1], bytes_)

    cdef int first_bytes(self, uint32_t node, ByteSet* bytes_) except -1 nogil:
        cdef const uint32_t* row = self.by_byte(self.state(node))
        cdef uint32_t byte
        byteset_fill(bytes_, 0)
        for byte in range(256):
            if row[byte] != DEAD_END:
                byteset_add(bytes_, byte)
        return 0

    cdef size_t n_bytes(self) noexcept nogil:
        return self.regexes.n_bytes() + self.state_bytes + self.n_states * sizeof(State)


cdef uint32_t most_common(const uint32_t* row, const uint64_t* bytes_) noexcept nogil:
    """Return the target of all bytes of a class but a few, at most MAX_ODD and fewer than a third. Return MIXED if there
    is none, and if it is DEAD_END: nothing would be walked at once then."""
    cdef uint32_t found = MIXED, surplus = 0, n = 0, n_odd = 0, w, target
    cdef uint64_t word
    for w in range(4):                                  # what is more than half of them stays over (Boyer and Moore 1981)
        word = bytes_[w]
        while word:
            target = row[64 * w + lowest_bit(word)]
            word &= word - 1
            n += 1
            if surplus == 0:
                found = target
            surplus = surplus + 1 if target == found else surplus - 1
    for w in range(4):
        word = bytes_[w]
        while word:
            n_odd += row[64 * w + lowest_bit(word)] != found
            word &= word - 1
    return found if found != DEAD_END and n_odd <= MAX_ODD and 3 * n_odd < n else MIXED
