"""Answers: which tokens may follow, free of the stack.

A *question* is (skeleton, lexer state, places): a lexeme began at a row of this skeleton, and its bytes so far have led
the lexer to this state; which tokens below these nodes of the trie can continue? The *answer* is a set of tokens and a
short list of pops (i, places): here the i-th continuation of the row is complete, so ask the row after it about these
places. An answer is computed once per grammar, wherever in a text its question comes up.

How an answer is computed:

- `by_bytes`: if few bytes continue the lexer state, as in a key or in punctuation, the children of trie nodes are looked
  up by these bytes. That visits some twenty nodes of the trie.
- `by_item`: a row of a few items is asked item by item, because single items recur more often than rows. The answer is
  the union of theirs.
- `by_terminal`: below a node with many descendants, each terminal of the lexer state is asked by itself. `_parts`
  knows, for all grammars, which tokens stay inside its regex and at which exits the others leave it. The row after the
  terminal decides what follows the exits, which is a question of its own. The continuations of that row are renamed
  first; otherwise the number of questions would grow exponentially.
- `walk`: below another node with few descendants, all terminals walk together, byte by byte, over positions of the template
  (`_template`).

An ignored terminal leads back to the row at which it began. A terminal of the form `X+` does not begin there again: two
such lexemes in succession are also one longer lexeme.

The bitmaps of answers are interned by content, at most one for each answer. An answer never changes. Answers are not
dropped one by one: `_masks` replaces all of them. All functions need the engine's lock.
"""

from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from earleymask.earley._chart cimport (
    DEAD, MET, NO_ROW, NO_TABLE, UNKNOWN, continuation_at, n_pairs_at, pair_row, pair_state, path_allocate, path_free,
    skeleton_of,
)
from earleymask.earley._lexer cimport DEAD_STATE, n_terminals, node_at, terminal_at
from earleymask.earley._meter cimport exceeds, spend_steps
from earleymask.earley._nodes cimport F_BOUNDED, F_COUNTED, F_ORDERED, F_SEARCH, K_REPEAT
from earleymask.earley._part cimport ROOT_NODE, folded, part_key
from earleymask.earley._parts cimport MAX_MEMBERS, parts_of, union_members
from earleymask.earley._rules cimport COVERED, SURE
from earleymask.earley._skeletons cimport item_dot, item_number, n_items_of
from earleymask.earley._tables cimport (
    NONE, byteset_has, lowest_bit, radix_sort, reserve, sequence, sequence_length, sort_u64, words_extend, words_free, words_push,
)
from earleymask.earley._template cimport Step, mark_of, marks_at, n_marks_of, rest_of
from earleymask.trie._bitmask cimport mask_allow, mask_allows
from earleymask.trie._build cimport DEBUG
from earleymask.trie._memory cimport calloc, malloc
from earleymask.trie._trie cimport node_byte, node_depth, node_skip, node_t, node_token

from earleymask.earley.errors import LimitError

cdef enum:
    PLACES = 0                  # the children of these nodes of the trie
    EXITS = 1                   # the exits of this part
    MAX_LEVELS = 256            # the most questions within one another; beyond it the walk makes the mask
    MAX_ITEMS = 32              # the most items of a row that is asked item by item
    MANY = 16                   # with more open nodes, the bytes that may follow are found first
    MANY_ALIKE = 8              # so many terminals with the same outcome are asked as one
    MAX_VISITS = 64             # entries of one visit that are in the list `visits`; further ones are in a map
    MANY_VISITS = 1 << 12       # entries of that map after which its memory is looked at
    GROWTH = 32 << 20           # bytes that one mask may add to what is remembered; beyond this the walk makes it
    MANY_POPS = 1 << 16         # words of a level after which it is counted before its end
    STEP = 16                   # the cost of a question or a part by itself, in trie nodes

# The fewest trie nodes below a node at which each terminal is asked by itself. A single one, such as a string after a
# blank, is asked below SMALL_NODES: other grammars have it, too.
# PERF: the first 100 masks of SQL with Llama 3 took 8 ms with 1,000 and with 3,000, 15 with 8,000, 18 with 20,000.
cdef uint32_t SPLIT_NODES = 8 if DEBUG else 1000
# The most descendants of a trie node below which all live pairs of a position are walked together.
cdef uint32_t SMALL_NODES = 4 if DEBUG else 200
# The most nodes that `by_bytes` reaches. White space takes 300 with Llama 3.
cdef uint64_t MOST_NARROW = 20 if DEBUG else 1 << 10
# Bytes of scratch memory that are kept from mask to mask. Few in debug builds, so that it is freed all the time.
cdef size_t MOST_SCRATCH = 1 << 12 if DEBUG else 4 << 20
# Trie nodes that one mask may visit; beyond this the merged walk makes it.
cdef uint64_t BUDGET = 1 << 22


cdef class Answers:
    """The answers of one grammar over one vocabulary. `before`: the answers that these replace; their counters
    continue. `modest`: for the second of two masks, see `_masks`."""

    def __cinit__(self, Engine engine not None, TokenTrie trie not None, Answers before=None, bint modest=False):
        cdef uint32_t words[2]
        self.rules = engine.rules
        self.lexer = engine.lexer
        self.skeletons = engine.skeletons
        self.regexes = engine.regexes
        self.trie = trie
        self.parts = parts_of(trie)
        self.template = Template(engine)
        self.template.modest = self.stays = modest
        self.template.engine = None                     # otherwise there would be a cycle: the engine keeps this object
        self.part_of = Map()
        self.places = Sequences("places")
        self.questions = Sequences("questions")
        self.starts = Map()
        self.bitmaps = Bitmaps(trie.n_words)
        self.states_without = Map()
        self.states_of_items = Map()
        self.visited = Map()
        words[0] = PLACES
        words[1] = ROOT_NODE
        self.places.intern(words, 2)
        self.levels = <Level*> calloc(MAX_LEVELS, sizeof(Level))
        path_allocate(&self.path, <size_t> trie.max_depth + 1)
        if self.levels == NULL:
            raise MemoryError("answers")
        if before is not None:
            self.n_asked, self.n_answered, self.n_nodes = before.n_asked, before.n_answered, before.n_nodes

    def __dealloc__(self):
        cdef size_t i
        if self.levels != NULL:
            for i in range(self.n_levels):
                free_level(self.levels + i)
        free(self.levels)
        free(self.visits)
        path_free(&self.path)
        free(self.my_parts)
        free(self.my_rests)
        free(self.entries)
        words_free(&self.adopted)
        words_free(&self.answer_of)
        words_free(&self.tokens)
        words_free(&self.pops)
        words_free(&self.items)
        words_free(&self.waiting)
        words_free(&self.agenda)
        words_free(&self.state_words)

    # ---- what one mask may take, and where it has been ----------------------------------------------------------

    cdef int begin(self) except -1 nogil:
        self.depth = 0
        self.budget = BUDGET
        self.most_bytes = self.n_held() + GROWTH
        if self.visited.n > 1 << 14:
            self.visited.clear()
        self.n_visits = 0
        return self.new_visit()

    cdef int spend(self, uint64_t n) except -1 nogil:
        """Subtract n steps, each about a trie node, from the budget of the mask."""
        if exceeds(n, self.budget):
            with gil:
                raise LimitError(f"mask: more than {BUDGET} steps")
        self.budget -= n
        return spend_steps(self.regexes.meter, n)

    cdef int look_at_memory(self) except -1 nogil:
        """Fail if the mask has added too much memory. To be called after a part, rests or an answer may have been
        made, and while a level grows large."""
        if exceeds(self.n_held(), self.most_bytes):
            with gil:
                raise LimitError(f"mask: more than {GROWTH} bytes would be remembered for it")
        return 0

    cdef size_t n_held(self) noexcept nogil:
        """Return the bytes of all that one mask may add."""
        return (self.parts.n_bytes() + self.bitmaps.n_bytes() + (self.tokens.n + self.pops.n) * sizeof(uint32_t)
                + self.visited.n_bytes() + self.visits_capacity * sizeof(uint64_t) + self.level_bytes)

    cdef void count_level(self, Level* level) noexcept nogil:
        cdef size_t before = level.n_bytes
        level.n_bytes = (level.tokens.capacity + level.marks.capacity + level.pops.capacity) * sizeof(uint32_t)
        self.level_bytes += level.n_bytes - before

    cdef int free_scratch(self) except -1 nogil:
        """Free the scratch memory of masks if one of them has made it large. To be called between masks."""
        cdef size_t i
        if self.level_bytes + self.visited.n_bytes() + self.visits_capacity * sizeof(uint64_t) <= MOST_SCRATCH:
            return 0
        with gil:
            self.visited = Map()
        for i in range(self.n_levels):
            free_level(self.levels + i)
        self.n_levels = self.n_bitmaps = self.level_bytes = 0
        free(self.visits)
        self.visits = NULL
        self.n_visits = self.visits_capacity = 0
        return 0

    cdef int new_visit(self) except -1 nogil:
        self.last_visit += 1
        if self.last_visit == NONE:                     # `visited` returns NONE for what it does not have
            self.visited.clear()
            self.last_visit = 1
        self.visit = self.last_visit
        self.visit_start = self.n_visits
        return 0

    cdef bint is_visited(self, uint32_t continuation, uint32_t places) except -1 nogil:
        """Return whether the current visit has been here before, and note that it is here now."""
        cdef uint64_t key = (<uint64_t> continuation << 32) | places
        cdef size_t i
        spend_steps(self.regexes.meter, 4)
        for i in range(self.visit_start, self.n_visits):
            if self.visits[i] == key:
                return True
        if self.n_visits - self.visit_start < MAX_VISITS:
            reserve(<void**> &self.visits, &self.visits_capacity, self.n_visits + 1, sizeof(uint64_t))
            self.visits[self.n_visits] = key
            self.n_visits += 1
            return False
        if self.visited.get(key) == self.visit:
            return True
        self.visited.put(key, self.visit)
        if not self.visited.n % MANY_VISITS:
            self.look_at_memory()
        return False

    cdef uint32_t at_start(self, uint32_t skeleton, uint32_t places) except? 0xFFFFFFFE nogil:
        """Return the answer for a row at which no lexeme has begun; NONE if no lexeme can begin."""
        cdef uint64_t key = (<uint64_t> skeleton << 32) | places
        cdef uint32_t answer = self.starts.get(key), state
        if answer != NONE:
            self.n_asked += 1
            return answer
        state = self.template.begin_at(skeleton)
        if state == DEAD_STATE:
            return NONE
        answer = self.evaluate(skeleton, state, places)
        self.starts.put(key, answer)
        return answer

    cdef uint32_t evaluate(self, uint32_t skeleton, uint32_t state, uint32_t places) except? 0xFFFFFFFF nogil:
        cdef uint32_t words[3]
        cdef uint32_t question, answer
        words[0] = skeleton
        words[1] = state
        words[2] = places
        question = self.questions.intern(words, 3)
        self.n_asked += 1
        while self.answer_of.n <= question:
            words_push(&self.answer_of, NONE)
        if self.answer_of.data[question] != NONE:
            return self.answer_of.data[question]
        answer = self.work_out(skeleton, state, places)
        self.answer_of.data[question] = answer
        return answer

    cdef uint32_t work_out(self, uint32_t skeleton, uint32_t state, uint32_t places) except? 0xFFFFFFFF nogil:
        cdef size_t i, n = sequence_length(self.places, places)
        cdef uint32_t answer, outer = self.visit
        cdef size_t outer_start = self.visit_start
        self.spend(STEP)
        self.push_level()
        self.new_visit()
        # Items have lexer states of their own: a grammar with many lexer states is not asked item by item.
        if 1 < n_items_of(self.skeletons, skeleton) <= MAX_ITEMS and not self.lexer.half_full():
            self.by_item(skeleton, state, places)
        elif sequence(self.places, places)[0] == EXITS:
            self.start_at(skeleton, state)
            self.at_exits(skeleton, state, self.my_parts[sequence(self.places, places)[1]])
        else:
            self.start_at(skeleton, state)
            for i in range(1, n):
                self.at_place(skeleton, state, sequence(self.places, places)[i])
        answer = self.record()
        self.depth -= 1
        self.n_visits = self.visit_start
        self.visit_start = outer_start
        self.visit = outer
        self.n_answered += 1
        return answer

    cdef Level* push_level(self) except NULL nogil:
        cdef Level* level
        if exceeds(self.depth + 1, MAX_LEVELS):
            with gil:
                raise LimitError(f"mask: more than {MAX_LEVELS} questions within one another")
        level = self.levels + self.depth
        if level.dense:                                 # an error has left it so
            memset(level.bits, 0, self.trie.n_words * sizeof(uint32_t))
        level.dense = False
        level.shared = NULL
        level.tokens.n = level.marks.n = level.pops.n = 0
        self.depth += 1
        self.n_levels = max(self.n_levels, self.depth)
        return level

    cdef int start_at(self, uint32_t skeleton, uint32_t state) except -1 nogil:
        cdef uint32_t row = self.template.abstract_row(skeleton)
        self.levels[self.depth - 1].position = self.template.position(row, state)
        return 0

    cdef int by_item(self, uint32_t skeleton, uint32_t state, uint32_t places) except -1 nogil:
        """Answer for each item of the row by itself."""
        cdef size_t i
        cdef uint32_t own, answer, item, row = self.template.abstract_row(skeleton)
        for i in range(n_items_of(self.skeletons, skeleton)):
            item = self.item_row(row, i)
            own = self.state_of_item(state, skeleton_of(self.template, item))
            if own != DEAD_STATE:
                answer = self.evaluate(skeleton_of(self.template, item), own, places)
                self.take(answer, item)
        return 0

    cdef uint32_t item_row(self, uint32_t row, size_t i) except? 0xFFFFFFFF nogil:
        """Return the row of the template that has only the i-th item of this row."""
        cdef uint32_t skeleton = skeleton_of(self.template, row)
        cdef uint32_t words[2]
        words[1] = continuation_at(self.template, row, item_number(self.skeletons, skeleton, i))
        words[0] = self.item_skeleton(item_dot(self.skeletons, skeleton, i))
        return self.template.rows.intern(words, 2)

    cdef uint32_t item_skeleton(self, uint32_t dot) except? 0xFFFFFFFF nogil:
        """Return the skeleton of a row that has only this item."""
        cdef uint32_t words[3]
        cdef uint32_t skeleton
        if dot < self.items.n and self.items.data[dot] != NONE:
            return self.items.data[dot]
        words[0] = 0
        words[1] = dot
        words[2] = 0
        skeleton = self.skeletons.skeleton(words, 3)
        while self.items.n <= dot:
            words_push(&self.items, NONE)
        self.items.data[dot] = skeleton
        return skeleton

    cdef uint32_t state_of_item(self, uint32_t state, uint32_t skeleton) except? 0xFFFFFFFF nogil:
        """Return the lexer state without the terminals that only other items expect."""
        cdef uint64_t key = (<uint64_t> state << 32) | skeleton
        cdef uint32_t own = self.states_of_items.get(key), terminal
        cdef size_t i
        if own != NONE:
            return own
        self.state_words.n = 0
        for i in range(n_terminals(self.lexer, state)):
            terminal = terminal_at(self.lexer, state, i)
            if self.rules.symbols[terminal].ignored or self.scans(skeleton, terminal):
                words_push(&self.state_words, terminal)
                words_push(&self.state_words, node_at(self.lexer, state, i))
        own = self.lexer.state(self.state_words.data, self.state_words.n)
        self.states_of_items.put(key, own)
        return own

    cdef int at_place(self, uint32_t skeleton, uint32_t state, uint32_t place) except -1 nogil:
        """Answer for the tokens below a node of the trie, or of a trie of rests."""
        cdef uint32_t first = 0, end = self.trie.n_nodes, depth = 0
        cdef uint32_t position = self.levels[self.depth - 1].position
        cdef const RestTrie* rests = NULL
        cdef const node_t* nodes = self.trie.nodes
        if place != ROOT_NODE:
            if place >= self.trie.n_nodes:
                rests = self.rests_at(place)
                place -= rests.base
                nodes = rests.nodes
            first = place + 1
            end = place + node_skip(nodes[place])
            depth = node_depth(nodes[place])
        if rests == NULL and end - first >= (SPLIT_NODES if n_terminals(self.lexer, state) > 1 else SMALL_NODES):
            if not self.has_bounds(state) and self.lexer.is_narrow(state) and self.by_bytes(place, position):
                return 0
            return self.by_terminal(skeleton, state, place)
        first = self.first_alive(nodes, first, end, position)
        return self.walk(nodes, first, end, depth, position, rests) if first < end else 0

    cdef bint has_bounds(self, uint32_t state) noexcept nogil:
        """Return whether something in a terminal is repeated up to a bound of FAR or more. The white space around marks is:
        it is deep, and the same for all schemas."""
        cdef size_t i
        for i in range(n_terminals(self.lexer, state)):
            if self.regexes.flags[node_at(self.lexer, state, i)] & F_BOUNDED:
                return True
        return False

    cdef uint64_t alive_bytes(self, uint32_t position) except? 0 nogil:
        """Return the bytes that can come at a position of the template, as in `folded`."""
        cdef uint64_t alive = 0
        cdef uint32_t byte
        self.spend(256)
        for byte in range(256):
            if self.template.advance(position, byte) != DEAD:
                alive |= folded(byte)
        return alive

    cdef uint32_t first_alive(self, const node_t* nodes, uint32_t i, uint32_t end, uint32_t position) except? 0 nogil:
        """Return the first of these siblings whose byte can come at `position`, or may for all that is known; else
        `end`.

        Most places of a list continue with bytes that cannot come, and setting up a walk there takes longer than the
        walk.
        """
        cdef uint32_t table = self.template.table(position), n = 0
        cdef const uint32_t* targets = self.template.tables + table * <size_t> 256
        if table == NO_TABLE:
            return i
        while i < end and targets[node_byte(nodes[i])] == DEAD:
            i += node_skip(nodes[i])
            n += 1
        self.n_nodes += n
        self.spend(n)
        return i

    # ---- narrow states ------------------------------------------------------------------------------------------

    cdef bint by_bytes(self, uint32_t node, uint32_t position) except -1 nogil:
        """Answer below a node of the trie for a position of the template whose live pairs are all narrow.

        Return False if that is not finished because too many nodes are reached, as by `[ab]+` in a vocabulary that has all
        words of two letters. The tokens found until then are right.
        """
        cdef size_t base = self.agenda.n
        cdef uint64_t most = self.n_reached + MOST_NARROW
        try:
            self.below_large(node, position)
            while self.agenda.n > base:
                if self.n_reached > most:
                    return False
                self.agenda.n -= 2
                node = self.agenda.data[self.agenda.n]
                position = self.agenda.data[self.agenda.n + 1]
                if node_skip(self.trie.nodes[node]) > SMALL_NODES:
                    self.below_large(node, position)
                else:
                    self.below_small(node, position)
        finally:
            self.agenda.n = base
        return True

    cdef int below_large(self, uint32_t node, uint32_t position) except -1 nogil:
        """Continue below a node with the narrow live pairs of a position; ask questions for the others."""
        cdef uint32_t byte, child, step
        cdef uint64_t word
        cdef size_t k
        position = self.narrow_part(position, node)
        if position == DEAD:
            return 0
        step = self.template.all_steps(position)
        while step != NONE:
            if self.template.steps[step].target != DEAD:
                for k in range(4):
                    word = self.template.steps[step].bytes.w[k]
                    while word:
                        byte = <uint32_t> (64 * k) + lowest_bit(word)
                        word &= word - 1
                        child = self.parts.quotient.child(node, byte)
                        if child != NONE:
                            self.reach(child, self.template.steps[step].target)
            step = self.template.steps[step].next
        return 0

    cdef int below_small(self, uint32_t node, uint32_t position) except -1 nogil:
        """Continue below a node of few descendants with all pairs of a position."""
        cdef uint32_t i = node + 1, end = node + node_skip(self.trie.nodes[node]), target
        while i < end:
            target = self.template.step_by(position, node_byte(self.trie.nodes[i]))
            if target != DEAD:
                self.reach(i, target)
            i += node_skip(self.trie.nodes[i])
        return 0

    cdef int reach(self, uint32_t node, uint32_t position) except -1 nogil:
        """Take the token that ends at a node, which leads to this position, and note what is below the node."""
        cdef node_t packed = self.trie.nodes[node]
        self.n_nodes += 1
        self.n_reached += 1
        if node_token(packed):
            words_push(&self.levels[self.depth - 1].tokens, node_token(packed) - 1)
        if node_skip(packed) > 1:
            self.spend(2)
            self.note_marks(position, node)
            words_push(&self.agenda, node)
            words_push(&self.agenda, position)
        return 0

    cdef uint32_t narrow_part(self, uint32_t position, uint32_t node) except? 0xFFFFFFFF nogil:
        """Return the position of the narrow pairs of a position, DEAD if there are none. Ask the rows of the other pairs
        about the tokens below the node."""
        cdef size_t i, n = n_pairs_at(self.template, position), n_narrow = 0
        cdef uint32_t row, state, places, answer, words[2]
        for i in range(n):
            n_narrow += self.lexer.is_narrow(pair_state(self.template, position, i))
        if n_narrow == n:
            return position
        words[0] = PLACES
        words[1] = node
        places = self.places.intern(words, 2)
        for i in range(n):
            row = pair_row(self.template, position, i)
            state = pair_state(self.template, position, i)
            if not self.lexer.is_narrow(state):
                answer = self.evaluate(skeleton_of(self.template, row), state, places)
                self.take(answer, row)
        if n_narrow == 0:
            return DEAD
        self.template.n_pairs = 0
        for i in range(n):
            state = pair_state(self.template, position, i)
            if self.lexer.is_narrow(state):
                self.template.push_pair(pair_row(self.template, position, i), state)
        return self.template.intern_position(NO_ROW)

    # ---- terminals ----------------------------------------------------------------------------------------------

    cdef int by_terminal(self, uint32_t skeleton, uint32_t state, uint32_t node) except -1 nogil:
        """Answer below a node of the trie for each terminal of the lexer state by itself, and for each member of a
        small union."""
        cdef size_t k, i, n_members
        cdef uint32_t terminal, regex, members[MAX_MEMBERS]
        if n_terminals(self.lexer, state) >= MANY_ALIKE:
            return self.by_alike(skeleton, state, node)
        for k in range(n_terminals(self.lexer, state)):
            terminal = terminal_at(self.lexer, state, k)
            regex = node_at(self.lexer, state, k)
            n_members = union_members(self.regexes, regex, members)
            for i in range(n_members):
                self.by_regex(skeleton, terminal, node, members[i])
        return 0

    cdef int by_alike(self, uint32_t skeleton, uint32_t state, uint32_t node) except -1 nogil:
        """Do the same for a state of many terminals. Those that complete the same symbol, such as keywords that are the
        alternatives of a rule, lead to one row: their union is asked in place of each."""
        cdef size_t k, i, end, n = n_terminals(self.lexer, state), base, n_members
        cdef uint32_t terminal, regex, alike, members[MAX_MEMBERS]
        cdef Part* part
        cdef uint64_t* keys = <uint64_t*> malloc(n * sizeof(uint64_t))
        if keys == NULL:
            with gil:
                raise MemoryError("mask")
        try:
            for k in range(n):
                terminal = terminal_at(self.lexer, state, k)
                alike = NONE
                if not (self.rules.symbols[terminal].ignored or self.rules.symbols[terminal].role == SURE
                        or self.regexes.flags[node_at(self.lexer, state, k)] & (F_SEARCH | F_ORDERED | F_COUNTED)):
                    alike = self.skeletons.completed_by(skeleton, terminal)
                keys[k] = (<uint64_t> alike << 32) | k
            sort_u64(keys, n)
            k = 0
            while k < n:
                end = k + 1
                while end < n and keys[end] >> 32 == keys[k] >> 32 and keys[k] >> 32 != NONE:
                    end += 1
                if end - k >= MANY_ALIKE:
                    base = self.regexes.stack.n
                    for i in range(k, end):
                        words_push(&self.regexes.stack, node_at(self.lexer, state, <uint32_t> keys[i]))
                    regex = self.regexes.make_union(base)
                    if self.stays:
                        part = self.part(node, regex)
                        self.add_tokens(part.bits, part.tokens, part.n_tokens if part.bits == NULL else 0)
                    else:
                        self.by_regex(skeleton, terminal_at(self.lexer, state, <uint32_t> keys[k]), node, regex)
                    k = end
                while k < end:
                    regex = node_at(self.lexer, state, <uint32_t> keys[k])
                    terminal = terminal_at(self.lexer, state, <uint32_t> keys[k])
                    n_members = union_members(self.regexes, regex, members)
                    for i in range(n_members):
                        self.by_regex(skeleton, terminal, node, members[i])
                    k += 1
        finally:
            free(keys)
        return 0

    cdef int by_regex(self, uint32_t skeleton, uint32_t terminal, uint32_t node, uint32_t regex) except -1 nogil:
        cdef uint32_t outcome, places, other, row, words[2]
        cdef Part* part = self.part(node, regex)
        self.add_tokens(part.bits, part.tokens, part.n_tokens if part.bits == NULL else 0)
        if part.exits.n == 0 and part.n_open == 0 and part.n_late == 0:
            return 0
        if self.rules.symbols[terminal].role == SURE or (self.stays and self.rules.symbols[terminal].role == COVERED):
            return 0
        words[0] = EXITS
        words[1] = part.index
        places = self.places.intern(words, 2)
        row = self.template.abstract_row(skeleton)
        outcome = self.skeletons.scan(skeleton, terminal)
        if outcome != NONE:
            other = self.template.row_of_outcome(outcome, row)
            self.follow(other, places)
        if self.rules.symbols[terminal].ignored:
            other = self.state_without(skeleton, terminal)
            if other != DEAD_STATE:
                other = self.evaluate(skeleton, other, places)
                self.take(other, row)
        return 0

    cdef int at_exits(self, uint32_t skeleton, uint32_t state, Part* part) except -1 nogil:
        """Answer for the tokens that leave a part by its exits."""
        cdef uint32_t position = self.levels[self.depth - 1].position, i, byte
        cdef uint64_t alive = <uint64_t> -1
        self.walk_exits(position, part, &part.exits)
        if part.n_open > MANY:                          # few of many open nodes continue with what may follow
            alive = self.alive_bytes(position)
        for i in range(part.n_open):
            if part.open_bytes[i] & alive:
                self.at_place(skeleton, state, part.open[i])
        if part.n_late:
            for byte in range(256):
                if byteset_has(&part.live_bytes, byte) and self.template.advance(position, byte) != DEAD:
                    self.spend(part.n_late)
                    self.parts.need_live(part)
                    self.walk_exits(position, part, &part.live)
                    break
        return 0

    cdef int walk_exits(self, uint32_t position, Part* part, Exits* exits) except -1 nogil:
        cdef uint32_t k, target
        cdef const RestTrie* rests
        for k in range(exits.n_bytes):
            target = self.template.advance(position, exits.bytes[k])
            if target != DEAD:
                rests = self.rests(part, exits, k)
                self.take_list(rests, rests.nodes[0])
                if rests.n_nodes > 1:
                    self.note_marks(target, rests.base)
                    self.walk(rests.nodes, 1, rests.n_nodes, 1, target, rests)
        return 0

    cdef inline int take_list(self, const RestTrie* rests, node_t node) except -1 nogil:
        """Add the tokens that end with the rest at this node."""
        cdef uint32_t k = node_token(node)
        if k:
            words_extend(&self.levels[self.depth - 1].tokens, rests.tokens + rests.starts[k - 1],
                         rests.starts[k] - rests.starts[k - 1])
        return 0

    cdef RestTrie* rests(self, Part* part, Exits* exits, uint32_t k) except NULL nogil:
        """Return the rests that begin with the k-th byte of these exits, and note them for `rests_at`."""
        cdef RestTrie* rests = self.parts.need_rests(part, exits, k)
        cdef size_t at = self.rest_index(rests.base), i
        if at == self.n_rests or self.my_rests[at] != rests:
            reserve(<void**> &self.my_rests, &self.my_rests_capacity, self.n_rests + 1, sizeof(RestTrie*))
            for i in range(self.n_rests, at, -1):
                self.my_rests[i] = self.my_rests[i - 1]
            self.my_rests[at] = rests
            self.n_rests += 1
            self.spend(rests.n_nodes)
            self.look_at_memory()
        return rests

    cdef size_t rest_index(self, uint32_t place) noexcept nogil:
        """Return the index of the first trie of rests that ends after the place."""
        cdef size_t low = self.last_rests, high = self.n_rests, middle
        # PERF: places of a list are often in one trie of rests; a tenth of the instructions of a mask were searches.
        if low < high and self.my_rests[low].base <= place < self.my_rests[low].base + self.my_rests[low].n_nodes:
            return low
        low = 0
        while low < high:
            middle = (low + high) // 2
            if self.my_rests[middle].base + self.my_rests[middle].n_nodes <= place:
                low = middle + 1
            else:
                high = middle
        self.last_rests = low
        return low

    cdef RestTrie* rests_at(self, uint32_t place) noexcept nogil:
        return self.my_rests[self.rest_index(place)]

    cdef inline int note_marks(self, uint32_t position, uint32_t place) except -1 nogil:
        cdef uint32_t at = marks_at(self.template, position), i
        if at != NONE:
            for i in range(n_marks_of(self.template, at)):
                words_push(&self.levels[self.depth - 1].marks, mark_of(self.template, at, i))
                words_push(&self.levels[self.depth - 1].marks, place)
        return 0

    cdef int follow(self, uint32_t row, uint32_t places) except -1 nogil:
        """Ask a row of the template about these places, and add the answers."""
        cdef uint32_t at = self.template.split(row), rest = rest_of(self.template, at), skeleton
        cdef size_t i
        for i in range(n_marks_of(self.template, at)):
            words_push(&self.levels[self.depth - 1].pops, mark_of(self.template, at, i))
            words_push(&self.levels[self.depth - 1].pops, places)
        if rest == NONE:
            return 0
        skeleton = skeleton_of(self.template, rest)
        if n_items_of(self.skeletons, skeleton) > MAX_ITEMS:
            return self.ask(rest, places)
        for i in range(n_items_of(self.skeletons, skeleton)):
            self.ask(self.item_row(rest, i), places)
        return 0

    cdef int ask(self, uint32_t row, uint32_t places) except -1 nogil:
        cdef uint32_t answer = self.at_start(skeleton_of(self.template, row), places)
        return self.take(answer, row) if answer != NONE else 0

    cdef int take(self, uint32_t answer, uint32_t row) except -1 nogil:
        """Add an answer for a row of the template to the current one."""
        cdef Answer a = self.entries[answer]
        cdef Level* level = self.levels + self.depth - 1
        cdef uint32_t i, continuation, places, variable
        if level.pops.n > MANY_POPS:
            self.count_level(level)
            self.look_at_memory()
        self.add_tokens(a.bits, self.tokens.data + a.tokens, a.n_tokens)
        for i in range(a.n_pops):
            continuation = continuation_at(self.template, row, pop_number(self, &a, i))
            places = pop_places(self, &a, i)
            variable = self.template.variable_index(continuation)
            if variable != NONE:
                words_push(&level.pops, variable)
                words_push(&level.pops, places)
            elif not self.is_visited(continuation, places):
                self.follow(self.template.popped_row(continuation), places)
        return 0

    cdef inline int add_tokens(self, const uint32_t* bits, const uint32_t* tokens, uint32_t n_tokens) except -1 nogil:
        """Add a bitmap, unless it is NULL, and a list to the tokens of the current answer."""
        # PERF: the first bitmap is not copied. Inside a string an answer is the part of the string, which all grammars
        # share, and a few tokens that end it. To copy, unite and hash 16 KB for each took half of the time of such answers.
        cdef Level* level = self.levels + self.depth - 1
        cdef uint32_t* united
        cdef size_t w
        words_extend(&level.tokens, tokens, n_tokens)
        if bits == NULL or bits == level.shared:
            return 0
        if level.shared == NULL and not level.dense:
            level.shared = bits
            return 0
        self.make_dense(level)
        united = level.bits
        for w in range(self.trie.n_words):
            united[w] |= bits[w]
        return 0

    cdef int make_dense(self, Level* level) except -1 nogil:
        """Copy the bitmap of a level, if it has one, so that tokens can be added to it."""
        if level.bits == NULL:                          # PERF: most grammars have few answers of many tokens
            level.bits = <uint32_t*> calloc(<size_t> self.trie.n_words + 1, sizeof(uint32_t))
            if level.bits == NULL:
                with gil:
                    raise MemoryError("mask")
            self.n_bitmaps += 1
        if level.shared != NULL:
            memcpy(level.bits, level.shared, self.trie.n_words * sizeof(uint32_t))
            level.shared = NULL
        level.dense = True
        return 0

    cdef uint32_t record(self) except? 0xFFFFFFFF nogil:
        """Enter the answer of the topmost level and return its index."""
        cdef Level* level = self.levels + self.depth - 1
        cdef Answer answer
        cdef uint32_t i, n = 0
        self.group_marks(level)
        reserve(<void**> &self.entries, &self.entries_capacity, self.n_entries + 1, sizeof(Answer))
        memset(&answer, 0, sizeof(Answer))
        if level.shared != NULL:
            for i in range(level.tokens.n):
                if not mask_allows(level.shared, level.tokens.data[i]):
                    level.tokens.data[n] = level.tokens.data[i]
                    n += 1
            level.tokens.n = n
        if level.dense or level.tokens.n > FEW:
            self.make_dense(level)
            for i in range(level.tokens.n):
                mask_allow(level.bits, level.tokens.data[i])
            answer.bits = self.bitmaps.intern(level.bits)
            memset(level.bits, 0, self.trie.n_words * sizeof(uint32_t))
            level.dense = False
        else:
            answer.bits = level.shared
            answer.tokens = <uint32_t> self.tokens.n
            answer.n_tokens = <uint32_t> level.tokens.n
            words_extend(&self.tokens, level.tokens.data, level.tokens.n)
        sort_unique_pairs(&level.pops)
        answer.pops = <uint32_t> self.pops.n
        answer.n_pops = <uint32_t> (level.pops.n // 2)
        words_extend(&self.pops, level.pops.data, level.pops.n)
        self.entries[self.n_entries] = answer
        self.n_entries += 1
        self.count_level(level)
        self.look_at_memory()
        return <uint32_t> (self.n_entries - 1)

    cdef int group_marks(self, Level* level) except -1 nogil:
        """Turn the marks of each continuation into one list of places."""
        cdef size_t i = 0
        cdef uint32_t index, places
        sort_unique_pairs(&level.marks)
        while i < level.marks.n:
            index = level.marks.data[i]
            self.waiting.n = 0
            words_push(&self.waiting, PLACES)
            while i < level.marks.n and level.marks.data[i] == index:
                words_push(&self.waiting, level.marks.data[i + 1])
                i += 2
            places = self.places.intern(self.waiting.data, self.waiting.n)
            words_push(&level.pops, index)
            words_push(&level.pops, places)
        return 0

    cdef Part* part(self, uint32_t node, uint32_t regex) except NULL nogil:
        cdef uint64_t key = part_key(node, regex)
        cdef uint32_t index = self.part_of.get(key)
        cdef uint64_t n_nodes
        cdef Part* part
        if index != NONE:
            return self.my_parts[index]
        n_nodes = self.parts.builder.n_nodes
        part = self.parts.part(node, self.regexes, regex, &self.adopted, GROWTH)
        self.spend(STEP + self.parts.builder.n_nodes - n_nodes)
        self.look_at_memory()
        reserve(<void**> &self.my_parts, &self.my_parts_capacity, <size_t> part.index + 1, sizeof(Part*))
        self.my_parts[part.index] = part
        self.part_of.put(key, part.index)
        return part

    cdef uint32_t state_without(self, uint32_t skeleton, uint32_t terminal) except? 0xFFFFFFFF nogil:
        """Return the lexer state with which lexemes begin at a row after an ignored terminal has ended."""
        cdef uint32_t state = self.template.begin_at(skeleton), other
        cdef uint64_t key = (<uint64_t> state << 32) | terminal
        cdef const uint32_t* node = sequence(self.regexes.nodes, self.rules.symbols[terminal].node)
        cdef size_t i
        if node[0] != K_REPEAT or node[2] > 1 or node[3] != NONE or self.scans(skeleton, terminal):
            return state
        other = self.states_without.get(key)
        if other == NONE:
            self.state_words.n = 0
            for i in range(n_terminals(self.lexer, state)):
                if terminal_at(self.lexer, state, i) != terminal:
                    words_push(&self.state_words, terminal_at(self.lexer, state, i))
                    words_push(&self.state_words, node_at(self.lexer, state, i))
            other = self.lexer.state(self.state_words.data, self.state_words.n)
            self.states_without.put(key, other)
        return other

    cdef bint scans(self, uint32_t skeleton, uint32_t terminal) except -1 nogil:
        return self.skeletons.scans(skeleton, terminal)

    # ---- the walk below small nodes -----------------------------------------------------------------------------

    cdef int walk(self, const node_t* nodes, uint32_t i, uint32_t end, uint32_t start, uint32_t position,
                  const RestTrie* rests) except -1 nogil:
        """Walk the nodes from i to end, which are below a node of depth `start` that is reached in `position`.

        They belong to the rests or, if these are NULL, to the vocabulary's trie. The loop is like the one in `_walk`,
        which writes bits and has no marks to note.
        """
        cdef uint32_t* path_tables = self.path.tables
        cdef uint32_t* tables
        cdef Level* level = self.levels + self.depth - 1
        cdef uint32_t depth, target, table, base = rests.base if rests != NULL else 0
        cdef uint64_t n_visited = 0
        cdef node_t node
        self.template.enter(&self.path, start, start, position)
        tables = self.template.tables
        while i < end:
            node = nodes[i]
            n_visited += 1
            depth = node_depth(node)
            target = tables[path_tables[depth - 1] + node_byte(node)]
            if target == UNKNOWN:
                target = self.template.fill(self.path.positions[depth - 1], path_tables[depth - 1] >> 8, node_byte(node))
            if target == DEAD:
                i += node_skip(node)
                continue
            if rests != NULL:
                self.take_list(rests, node)
            elif node_token(node):
                words_push(&level.tokens, node_token(node) - 1)
            if node_skip(node) != 1:
                self.note_marks(target, base + i)
                self.path.positions[depth] = target
                table = self.template.table_of.data[target]
                if table < MET:
                    path_tables[depth] = table << 8
                else:
                    path_tables[depth] = self.template.enter(&self.path, start, depth, target)
                    tables = self.template.tables
            i += 1
        self.n_nodes += n_visited
        self.spend(n_visited)
        return 0

    cdef size_t n_bytes(self) noexcept nogil:
        return (self.bitmaps.n_bytes() + self.places.n_bytes() + self.questions.n_bytes() + self.starts.n_bytes()
                + self.states_without.n_bytes() + self.states_of_items.n_bytes() + self.part_of.n_bytes()
                + (self.answer_of.n + self.tokens.n + self.pops.n + self.items.n + self.adopted.n) * sizeof(uint32_t)
                + self.visited.n_bytes() + self.visits_capacity * sizeof(uint64_t) + self.level_bytes
                + self.n_entries * sizeof(Answer) + self.template.n_words() * sizeof(uint32_t) + self.template.n_tables * 1024
                + self.template.n_listed * sizeof(Step) + self.template.first_steps.n * sizeof(uint32_t)
                + self.n_bitmaps * self.trie.n_words * sizeof(uint32_t))

    def stats(self) -> dict[str, int]:
        return {
            "questions_asked": self.n_asked,
            "questions_answered": self.n_answered,
            "answers": self.n_entries,
            "pops": self.pops.n // 2,
            "answer_tokens": self.tokens.n,
            "places": self.places.n,
            "bitmaps": self.bitmaps.n,
            "template_rows": self.template.rows.n,
            "template_positions": self.template.positions.n,
            "template_steps": self.template.n_steps,
            "template_flushes": self.template.n_flushes,
        }


cdef void free_level(Level* level) noexcept nogil:
    free(level.bits)
    words_free(&level.tokens)
    words_free(&level.marks)
    words_free(&level.pops)
    memset(level, 0, sizeof(Level))


cdef int sort_unique_pairs(Words* words) except -1 nogil:
    """Sort pairs of words by their first word, then by their second, and drop repeated pairs."""
    cdef size_t i, n = 0, n_pairs = words.n // 2
    cdef uint64_t* keys
    if n_pairs < 2:
        return 0
    keys = <uint64_t*> malloc(2 * n_pairs * sizeof(uint64_t))
    if keys == NULL:
        with gil:
            raise MemoryError("mask")
    for i in range(n_pairs):
        keys[i] = (<uint64_t> words.data[2 * i] << 32) | words.data[2 * i + 1]
    radix_sort(keys, keys + n_pairs, n_pairs)
    for i in range(n_pairs):
        if n == 0 or keys[i] != keys[i - 1]:
            words.data[2 * n] = <uint32_t> (keys[i] >> 32)
            words.data[2 * n + 1] = <uint32_t> keys[i]
            n += 1
    words.n = 2 * n
    free(keys)
    return 0


def set_limits(*, split_nodes=None, small_nodes=None, budget=None) -> dict[str, int]:
    """Change the bounds of all answers made from now on, for tests; return the former bounds."""
    global SPLIT_NODES, SMALL_NODES, BUDGET
    before = {"split_nodes": SPLIT_NODES, "small_nodes": SMALL_NODES, "budget": BUDGET}
    if small_nodes is not None:
        SMALL_NODES = small_nodes
    if split_nodes is not None:
        SPLIT_NODES = split_nodes
    if budget is not None:
        BUDGET = budget
    return before
