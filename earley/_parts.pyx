"""What one regex makes of the tokens below one node of the trie: inside, and where a token leaves the lexeme.

Where a lexeme has begun and its regex is `q`, a token either stays within the lexeme (the derivative of `q` by its bytes is
not empty: it is *inside*), or finishes it after some prefix that `q` matches and goes on with a *rest*. Which tokens
are inside, and at which nodes of the trie the others leave, depends on the regex alone. So it is remembered here for every
grammar that ever uses this vocabulary: a *part* is keyed by a node of the trie and what the regex is.

Building. A narrow state of the automaton looks its few bytes up among the children of a node. A broad one walks the class quotient of the
trie (`trie/_quotient`), where the nodes to which it does not matter which letter is read are one; a class that does matter
to the state is taken apart into the trie nodes that were merged. So a part costs some 10,000 steps and not 270,000.

Counting. Within `"[^"]{0,80}"` each character makes another regex, for one less is to come. Where a token's text tells how
often the body is repeated, all these make one *family*: walked once, with the tokens sorted by the number of repetitions
that they begin, it has the part of any bounds at the price of a copy.

Other counts are found to have one part by comparing: where the vocabulary knows no difference between at most 4 and any number
of turns, it knows none between 99 and 98.

All but some words. The part of `X & ~Y` is that of `X` but below the nodes where, along the words of `Y`, the one dies or
matches and the other does not: these alone are walked, and the rest is copied.

Exits. A token that is not inside dies at one node, its prefixes are matched or not. Exits are noted as
- the nodes at which tokens die straight after a prefix that was matched, by their byte: whoever asks knows the few bytes
  that may follow;
- *open* nodes, matched, below which most tokens die: a blank, and everything that begins with one;
- *late*: a token may also have left earlier than where it dies (`foo(` dies at `(`, but the grammar might go on with
  `o(`). The nodes for that are made when something that can follow asks for them, which is rare.

Tokens that are inside need no exit: whatever else they may spell, they are allowed.

A part never changes once built, but for `live`, which is made under the lock. Not here: grammars (`_answers`).
"""

import weakref

from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy, memset

from cpython.pythread cimport (
    WAIT_LOCK, PyThread_acquire_lock, PyThread_allocate_lock, PyThread_free_lock, PyThread_release_lock,
    PyThread_type_lock,
)

from earleymask.earley._automaton cimport DEAD_END, MIXED
from earleymask.earley._meter cimport NO_LIMIT, go_on
from earleymask.earley._nodes cimport K_UNION
from earleymask.earley._part cimport (
    MAX_LEVEL, free_family, free_part, group_by_byte, new_part, pair_up, set_open, take_pairs,
)
from earleymask.earley._tables cimport (
    NONE, byteset_add, byteset_fill, byteset_has, byteset_or, copy_of, lowest_bit, reserve, sequence, sequence_length,
    sort_unique, words_extend, words_free, words_push,
)
from earleymask.trie._bitmask cimport mask_allow, mask_allows, mask_refuse
from earleymask.trie._memory cimport calloc, malloc, shrunk
from earleymask.trie._trie cimport node_byte, node_depth, node_skip, node_t, node_token

cdef enum:
    NOTHING = 0                 # the part where no token goes anywhere, of most literals below most nodes
    IN_TAIL = 0x80000000        # in a level: all repetitions have ended
    # PERF: a family takes up to 17 bitmaps; below every node, /[etaoinsr]{4}[^"X]{1,80}"/ took 29 MB and 85 ms.
    FAMILY_NODES = 10000        # of the trie below a node that gets families
    SPARSE = 512                # so many tokens at most are kept as a list
    LEAST_ENOUGH = 4            # bounds of counts of what has any length that may be more than any token comes near
    MOST_ENOUGH = 64
    ASKED_ONCE = 0xFFFFFFFE     # in `bounds`
    NOT_ALIKE = 0xFFFFFFFD
    MANY_DIFFERENCES = 4096     # trie nodes at which two regexes are compared
    OPEN = 32                   # trie nodes dying below a matched one that make it open


cdef class Parts:
    """The parts of one vocabulary. `before`: parts of the same one that are dropped; the quotient and the users stay."""

    def __cinit__(self, TokenTrie trie not None, Quotient quotient=None, Parts before=None):
        cdef size_t depths = <size_t> trie.max_depth + 2
        self.trie = trie
        self.users = []
        self.doubtful = {}
        if before is not None:
            quotient = before.quotient
            self.users = before.users
            self.doubtful = before.doubtful
            self.clock = before.clock
            self.limit = before.limit
            self.n_dropped = before.n_dropped + 1
        self.quotient = quotient if quotient is not None else Quotient(trie)
        self.automaton = Automaton(self.quotient)
        self.rests = Rests(trie)
        self.known = Map()
        self.lock = <void*> PyThread_allocate_lock()
        self.bits = <uint32_t*> calloc(<size_t> trie.n_words + 1, sizeof(uint32_t))
        self.path_states = <uint32_t*> calloc(depths, sizeof(uint32_t))
        self.path_nodes = <uint32_t*> calloc(depths, sizeof(uint32_t))
        self.path_accepts = <uint8_t*> calloc(depths, 1)
        self.path_seen = <uint8_t*> calloc(depths, 1)
        self.path_others = <uint32_t*> calloc(depths, sizeof(uint32_t))
        self.path_levels = <uint32_t*> calloc(depths, sizeof(uint32_t))
        self.family_of = Map()
        self.bounds = Map()
        if (self.lock == NULL or self.bits == NULL or self.path_states == NULL or self.path_nodes == NULL
                or self.path_accepts == NULL or self.path_seen == NULL or self.path_others == NULL or self.path_levels == NULL):
            raise MemoryError("parts")
        self.stamped = NONE
        reserve(<void**> &self.parts, &self.parts_capacity, 1, sizeof(Part*))
        self.parts[NOTHING] = new_part()
        self.parts[NOTHING].live_made = True
        self.n_parts = 1

    def __dealloc__(self):
        cdef size_t i
        for i in range(self.n_parts):
            free_part(self.parts[i])
        for i in range(self.n_families):
            free_family(self.families[i])
        free(self.parts)
        free(self.families)
        free(self.bits)
        free(self.path_states)
        free(self.path_nodes)
        free(self.path_accepts)
        free(self.path_seen)
        free(self.path_others)
        free(self.path_levels)
        free(self.node_states)
        words_free(&self.tokens)
        words_free(&self.exits)
        words_free(&self.open)
        words_free(&self.late)
        words_free(&self.gone)
        words_free(&self.exit_levels)
        words_free(&self.open_levels)
        words_free(&self.late_levels)
        if self.lock != NULL:
            PyThread_free_lock(<PyThread_type_lock> self.lock)

    cdef Part* part(self, uint32_t trie_node, Regexes regexes, uint32_t node, Words* adopted) except NULL nogil:
        PyThread_acquire_lock(<PyThread_type_lock> self.lock, WAIT_LOCK)
        try:
            go_on(self.automaton.regexes.meter, regexes.meter)
            return self.find_or_build(trie_node, self.automaton.adopt(regexes, node, adopted))
        finally:
            self.automaton.regexes.meter.most_ns = NO_LIMIT
            PyThread_release_lock(<PyThread_type_lock> self.lock)

    cdef int add_user(self, user) except -1:
        self.users[:] = [user for user in self.users if user() is not None]
        self.users.append(weakref.ref(user))
        return 0

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
                if exits == &part.live and self.stamped != part.index:
                    self.stamp_late(part)
                exits.rests[k] = self.rests.make(exits.nodes + first, exits.starts[k + 1] - first, exits == &part.live)
            return exits.rests[k]
        finally:
            PyThread_release_lock(<PyThread_type_lock> self.lock)

    # ---- building a part ----------------------------------------------------------------------------------------

    cdef Part* find_or_build(self, uint32_t trie_node, uint32_t regex) except NULL nogil:
        # ROOT_NODE + 1 is 0.
        cdef uint64_t key = (<uint64_t> <uint32_t> (trie_node + 1) << 32) | regex
        cdef uint32_t index = self.known.get(key), state, wider
        cdef Part* part = NULL
        cdef Part* like = NULL
        cdef const Family* family
        if index != NONE:
            self.n_known += 1
            return self.parts[index]
        state = self.automaton.state(regex)
        if self.is_wide(trie_node) and self.automaton.is_counted(state) and self.automaton.states[state].family != state:
            family = self.family(trie_node, state)
            if family == NULL:
                self.make_family(trie_node, state)
                family = self.family(trie_node, state)
            like = self.find_or_build(trie_node, self.automaton.states[self.automaton.states[state].family].regex)
            if self.automaton.states[state].least == 0 and self.automaton.states[state].most >= family.most:
                self.known.put(key, like.index)         # no token here comes near the bound
                return like
        if like == NULL and not self.is_narrow(state):
            wider = self.automaton.without_complements(regex)
            if wider != NONE:
                like = self.find_or_build(trie_node, wider)
                part = self.build_like(trie_node, regex, like)
                self.n_taken_over += part != NULL
                if part == like:
                    self.known.put(key, like.index)
                    return like
                if part == NULL or self.n_added:
                    like = NULL
            elif self.is_wide(trie_node):
                part = self.unbounded(trie_node, regex)
                if part != NULL:
                    self.n_unbounded += 1
                    self.known.put(key, part.index)
                    return part
        reserve(<void**> &self.parts, &self.parts_capacity, self.n_parts + 1, sizeof(Part*))
        if part == NULL:
            part = self.build(trie_node, regex)
        self.n_built += 1
        if part == NULL:
            self.known.put(key, NOTHING)
            return self.parts[NOTHING]
        part.like = like
        part.index = <uint32_t> self.n_parts
        self.parts[self.n_parts] = part
        self.n_parts += 1
        self.known.put(key, part.index)
        return part

    cdef Part* build(self, uint32_t trie_node, uint32_t regex) except? NULL nogil:
        """A new part; NULL where no token goes anywhere."""
        cdef uint32_t state = self.automaton.state(regex)
        while True:
            self.start(trie_node, state)
            self.grow(trie_node, self.start_depth, state)
            if self.wanted_state == NONE:
                return self.finish(trie_node, regex)
            self.make_family(self.wanted_node, self.wanted_state)

    cdef Part* finish(self, uint32_t trie_node, uint32_t regex) except? NULL nogil:
        """The part that was found since `start`."""
        cdef Part* part
        cdef uint32_t i, word
        cdef bint built = False
        if self.n_inside == 0 and self.exits.n == 0 and self.open.n == 0 and self.late.n == 0:
            return NULL
        part = new_part()
        part.node = trie_node
        part.regex = regex
        try:
            if self.dense:
                for i in range(self.tokens.n):
                    mask_allow(self.bits, self.tokens.data[i])
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
            sort_unique(&self.open)
            set_open(part, self.trie, self.open.data, <uint32_t> self.open.n)
            part.late = <uint32_t*> copy_of(self.late.data, self.late.n * sizeof(uint32_t))
            part.n_late = <uint32_t> self.late.n
            part.live_bytes = self.live_bytes
            part.live_made = self.late.n == 0
            group_by_byte(&part.exits, self.trie, &self.exits)
            self.part_bytes += sizeof(Part) + (3 * self.open.n + self.late.n + self.exits.n) * sizeof(uint32_t)
            built = True
        finally:
            if not built:
                free_part(part)
        return part

    # ---- bounds that no token comes near ------------------------------------------------------------------------

    cdef Part* unbounded(self, uint32_t trie_node, uint32_t regex) except? NULL nogil:
        """The part of the regex without its upper bounds, where it is known to be the same; else NULL.

        Where the languages with some least bounds and without bounds have the same part, so has each in between. They are
        compared when a second one asks; where the least bounds are too little for what tokens spell, once more with more.
        """
        cdef uint64_t key
        cdef uint32_t enough = LEAST_ENOUGH, lower, upper, known
        cdef Part* one
        cdef Part* other
        while enough <= MOST_ENOUGH:
            lower = self.automaton.without_bounds(regex, enough, True)
            if lower == NONE:
                lower = regex                           # it may have the least bounds itself
            upper = self.automaton.without_bounds(lower, enough, False)
            if upper == NONE:
                return NULL
            key = (<uint64_t> <uint32_t> (trie_node + 1) << 32) | lower
            known = self.bounds.get(key)
            if known == NONE:
                self.bounds.put(key, ASKED_ONCE)
                return NULL
            if known == ASKED_ONCE:
                self.bounds.put(key, NOT_ALIKE)         # nor are they while they are made
                one = self.find_or_build(trie_node, lower)
                other = self.find_or_build(trie_node, upper)
                known = NOT_ALIKE
                if self.are_alike(one, other):
                    known = other.index
                    self.bounds.put(key, known)
            if known != NOT_ALIKE:
                return self.parts[known]
            enough *= 4
        return NULL

    cdef bint are_alike(self, Part* one, Part* other) except -1 nogil:
        """Whether two parts are the same set of tokens and exits."""
        if one == other:
            return True
        if one.n_tokens != other.n_tokens or (one.bits == NULL) != (other.bits == NULL) or (one.n_late == 0) != (other.n_late == 0):
            return False
        if one.bits != NULL and memcmp(one.bits, other.bits, self.trie.n_words * sizeof(uint32_t)):
            return False
        if one.bits == NULL and not self.are_same(one.tokens, one.n_tokens, other.tokens, other.n_tokens):
            return False
        if one.n_late:
            if not one.live_made:
                self.make_live(one)
            if not other.live_made:
                self.make_live(other)
        return (self.are_same(one.open, one.n_open, other.open, other.n_open)
                and self.are_same(one.late, one.n_late, other.late, other.n_late)
                and self.are_same(one.exits.nodes, one.exits.n, other.exits.nodes, other.exits.n)
                and self.are_same(one.live.nodes, one.live.n, other.live.nodes, other.live.n))

    cdef bint are_same(self, const uint32_t* one, uint32_t n, const uint32_t* other, uint32_t n_other) except -1 nogil:
        """Whether two lists have the same words, in any order."""
        self.exits.n = self.open.n = 0
        words_extend(&self.exits, one, n)
        words_extend(&self.open, other, n_other)
        sort_unique(&self.exits)
        sort_unique(&self.open)
        return self.exits.n == self.open.n and memcmp(self.exits.data, self.open.data, self.exits.n * sizeof(uint32_t)) == 0

    # ---- all but a few words ------------------------------------------------------------------------------------

    cdef Part* build_like(self, uint32_t trie_node, uint32_t regex, Part* like) except? NULL nogil:
        """The part of a regex that is a subset of that of `like`: where it is the same, what is known there is taken over.

        `like` itself where all is the same; NULL where they differ in too much for this, and where nothing is left.
        """
        cdef uint32_t i
        self.start(trie_node, self.automaton.state(regex))
        self.dense = True
        if like.bits != NULL:
            memcpy(self.bits, like.bits, self.trie.n_words * sizeof(uint32_t))
        for i in range(0 if like.bits != NULL else like.n_tokens):
            mask_allow(self.bits, like.tokens[i])
        self.n_inside = like.n_tokens
        self.gone.n = 0
        if not self.walk_differences(trie_node, regex, like.regex):
            return NULL
        if self.gone.n == 0:
            return like
        self.n_added = self.exits.n
        self.take_nodes(&self.exits, like.exits.nodes, like.exits.n)
        self.take_nodes(&self.open, like.open, like.n_open)
        self.take_nodes(&self.late, like.late, like.n_late)
        byteset_or(&self.live_bytes, &like.live_bytes)
        return self.finish(trie_node, regex)

    cdef int walk_differences(self, uint32_t trie_node, uint32_t regex, uint32_t other) except -1 nogil:
        """Finds the nodes below which tokens die, or may leave, in one of the regexes alone, and walks below these anew.

        Between all but some words and everything the difference is along these words: few nodes. False: there are many.
        """
        cdef uint32_t i = 0, end = self.trie.n_nodes, d, byte, target, n = 0
        cdef node_t packed
        if trie_node != ROOT_NODE:
            i = trie_node + 1
            end = trie_node + node_skip(self.trie.nodes[trie_node])
        self.path_others[self.start_depth] = self.automaton.state(other)
        while i < end:
            n += 1
            if n > MANY_DIFFERENCES:
                return False
            packed = self.trie.nodes[i]
            d = node_depth(packed)
            byte = node_byte(packed)
            target = self.automaton.target(self.path_states[d - 1], byte)
            other = self.automaton.target(self.path_others[d - 1], byte)
            if target == other:
                i += node_skip(packed)
                continue
            if target == DEAD_END:
                self.take_off(i)
                self.leave(i, d)
            elif self.automaton.states[target].accepts != self.automaton.states[other].accepts:
                self.take_off(i)
                self.walk_trie(i, i + node_skip(packed))
            elif node_skip(packed) > 1:
                self.path_states[d] = target
                self.path_others[d] = other
                self.path_nodes[d] = i
                self.path_accepts[d] = self.automaton.states[target].accepts
                self.path_seen[d] = self.path_accepts[d] or self.path_seen[d - 1]
                i += 1
                continue
            i += node_skip(packed)
        self.n_nodes += n
        return True

    cdef int take_off(self, uint32_t node) except -1 nogil:
        """What was taken over below a node, itself included, is not so."""
        cdef uint32_t i, end = node + node_skip(self.trie.nodes[node]), token
        words_push(&self.gone, node)
        words_push(&self.gone, end)
        for i in range(node, end):
            token = node_token(self.trie.nodes[i])
            if token:
                self.n_inside -= mask_allows(self.bits, token - 1)
                mask_refuse(self.bits, token - 1)
        return 0

    cdef int take_nodes(self, Words* mine, const uint32_t* nodes, uint32_t n) except -1 nogil:
        """Takes over exits but those below nodes where that is not so."""
        cdef uint32_t i
        cdef size_t low, high, middle
        for i in range(n):
            low, high = 0, self.gone.n // 2             # the first range that ends behind the node
            while low < high:
                middle = (low + high) // 2
                if self.gone.data[2 * middle + 1] <= nodes[i]:
                    low = middle + 1
                else:
                    high = middle
            if 2 * low == self.gone.n or nodes[i] < self.gone.data[2 * low]:
                words_push(mine, nodes[i])
        return 0

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

    cdef bint is_wide(self, uint32_t node) noexcept nogil:
        """Whether so much hangs below a node that a family, whose bitmaps are of the whole vocabulary, is worth it."""
        return node == ROOT_NODE or node_skip(self.trie.nodes[node]) >= FAMILY_NODES

    cdef bint is_narrow(self, uint32_t state) except -1 nogil:
        if not self.automaton.states[state].expanded:
            self.automaton.expand(state)
        return self.automaton.states[state].narrow

    cdef int enter(self, uint32_t depth, uint32_t node, uint32_t state) except -1 nogil:
        """The path comes to `node`, of the trie or of the quotient, in `state`."""
        cdef bint accepts
        if not self.automaton.states[state].expanded:
            self.automaton.expand(state)
        accepts = self.automaton.states[state].accepts
        self.path_states[depth] = state
        self.path_nodes[depth] = node
        self.path_accepts[depth] = accepts
        if depth > self.start_depth:
            self.path_seen[depth] = accepts or self.path_seen[depth - 1]
        return 0

    cdef int grow(self, uint32_t node, uint32_t depth, uint32_t state) except -1 nogil:
        """Everything below a node of the trie at which the path has been entered."""
        cdef State* s = self.automaton.states + state
        cdef uint32_t i, child, target, group
        cdef node_t packed
        cdef const Family* family
        if not s.narrow:
            if (self.counting == NULL and self.is_wide(node) and not self.path_seen[depth]
                    and self.automaton.is_counted(state)):
                family = self.family(node, state)
                s = self.automaton.states + state
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
            child = self.quotient.child(node, self.automaton.states[state].edges[2 * i])
            target = self.automaton.states[state].edges[2 * i + 1]
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
        cdef uint32_t i = 0, end = self.quotient.n_nodes, d, class_, target, k, state, level
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
            row = self.automaton.states[state].by_class
            if row == NULL:
                row = self.automaton.by_class(state)
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
                    mask_allow(bits, self.quotient.tokens[k])
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
            row = self.automaton.states[state].by_byte
            if row == NULL:
                row = self.automaton.by_byte(state)
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
                mask_allow(self.bits, node_token(packed) - 1)
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
            # Whole scripts hang below some bytes beyond ASCII, and few rows go on with one.
            if node_skip(self.trie.nodes[i]) <= OPEN or node_byte(self.trie.nodes[i]) >= 0x80:
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
            if (self.quotient.sizes[i] <= OPEN * <uint64_t> n_parents
                    or self.quotient.class_first[self.quotient.classes[i]] >= 0x80):
                words_extend(&self.exits, self.quotient.members + first, n)
            elif self.open.n == 0 or self.open.data[self.open.n - 1] != self.quotient.members[self.quotient.member_starts[parent + 1] - 1]:
                words_extend(&self.open, self.quotient.members + self.quotient.member_starts[parent], n_parents)
        if depth - 1 > self.start_depth and self.path_seen[depth - 2]:
            words_extend(&self.late, self.quotient.members + first, n)
        if self.counting != NULL:
            self.note_levels(self.path_levels[depth - 1])
        return 0

    # ---- counted families ---------------------------------------------------------------------------------------

    cdef Family* family(self, uint32_t trie_node, uint32_t state) noexcept nogil:
        """The family of a counted state below a node of the trie, or NULL."""
        cdef uint32_t index = self.family_of.get(<uint64_t> <uint32_t> (trie_node + 1) << 32 | self.automaton.states[state].family)
        return NULL if index == NONE else self.families[index]

    cdef int make_family(self, uint32_t trie_node, uint32_t state) except -1 nogil:
        """Walks body* tail below a node of the trie, counting. Uses the scratch of `build`."""
        cdef Family* family = <Family*> calloc(1, sizeof(Family))
        cdef uint32_t level, i
        cdef size_t w, n_words = self.trie.n_words
        cdef bint made = False
        if family == NULL:
            with gil:
                raise MemoryError("family of parts")
        try:
            self.automaton.unit_bytes(state, &self.unit_bytes)
            self.unit_state = self.automaton.states[state].family
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
            family.bits = <uint32_t*> shrunk(family.bits, (family.n_levels * n_words + 1) * sizeof(uint32_t))
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
            mask_allow(family.bits + level * <size_t> self.trie.n_words, token)
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
        cdef uint32_t level
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
                mask_allow(bits, family.deep.data[i])
                self.n_inside += 1
        for i in range(0, family.tokens.n, 2):
            if least <= family.tokens.data[i + 1] <= most:
                mask_allow(bits, family.tokens.data[i])
                self.n_inside += 1
        take_pairs(&self.exits, &family.exits, least, most)
        take_pairs(&self.open, &family.open, least, most)
        take_pairs(&self.late, &family.late, least, most)
        byteset_or(&self.live_bytes, &family.live_bytes)
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
        """Stamps the nodes in `part.late` with `rests.stamp`, all on the way to them with one less; `exits` as `make_live` says."""
        cdef uint32_t i, node, parent, state, stamp
        cdef uint32_t* stamps
        cdef size_t n_nodes = self.trie.n_nodes
        if self.node_states == NULL:
            self.node_states = <uint32_t*> malloc(n_nodes * sizeof(uint32_t))
            if self.node_states == NULL:
                with gil:
                    raise MemoryError("exits of a part")
        self.rests.new_stamp()
        self.stamped = NONE                             # until all are set
        stamps = self.rests.stamps
        stamp = self.rests.stamp
        self.exits.n = 0
        for i in range(part.n_late):
            # Up to a node whose state is known, then down again.
            stamps[part.late[i]] = stamp
            self.tokens.n = 0
            node = self.quotient.parents[part.late[i]]
            while node != part.node and stamps[node] != stamp - 1:
                words_push(&self.tokens, node)
                node = self.quotient.parents[node]
            while self.tokens.n:
                parent = node
                self.tokens.n -= 1
                node = self.tokens.data[self.tokens.n]
                state = self.automaton.state(part.regex) if parent == part.node else self.node_states[parent]
                if parent != part.node and self.automaton.states[state].accepts:
                    words_push(&self.exits, node)
                stamps[node] = stamp - 1
                self.node_states[node] = self.automaton.by_byte(state)[node_byte(self.trie.nodes[node])]
        self.stamped = part.index
        return 0

    def living_users(self) -> list:
        return [user for user in [reference() for reference in self.users] if user is not None]

    def stats(self) -> dict[str, int]:
        """What is remembered for all grammars over this vocabulary, in numbers of things and bytes."""
        return {
            "parts": self.n_parts,
            "part_families": self.n_families,
            "parts_found": self.n_known,
            "parts_built": self.n_built,
            "parts_taken_over": self.n_taken_over,
            "parts_unbounded": self.n_unbounded,
            "parts_dropped": self.n_dropped,
            "rests_made": self.rests.n_made,
            "part_nodes_visited": self.n_nodes,
            "automaton_states": self.automaton.n_states,
            "automaton_regexes": self.automaton.regexes.nodes.n,
            "quotient_nodes": self.quotient.n_nodes,
            "quotient_bytes": self.quotient.n_bytes(),
            "part_bytes": self.n_bytes(),
            "remembered_bytes": self.n_bytes() + sum([user.__sizeof__() for user in self.living_users()]),
            "remembered_limit": self.limit,
        }

    cdef size_t n_bytes(self) noexcept nogil:
        """Bytes that are given back when the parts are dropped; the quotient of the trie stays."""
        return self.automaton.n_bytes() + self.rests.n_bytes + self.part_bytes + self.known.n_bytes() + self.bounds.n_bytes()


cdef Parts parts_of(TokenTrie trie):
    """The parts of a vocabulary's trie, made on first use."""
    if trie.learned is None:
        made = Parts(trie)
        if trie.learned is None:                        # no other thread was faster
            trie.learned = made
    return trie.learned


cdef size_t union_members(Regexes regexes, uint32_t regex, uint32_t* members) noexcept nogil:
    cdef const uint32_t* p = sequence(regexes.nodes, regex)
    cdef size_t n = sequence_length(regexes.nodes, regex) - 1, i
    if p[0] != K_UNION or n > MAX_MEMBERS:
        members[0] = regex
        return 1
    for i in range(n):
        members[i] = p[1 + i]
    return n
