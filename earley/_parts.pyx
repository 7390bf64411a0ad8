"""Parts: what one regex makes of the tokens below one node of the trie, found or built, for all grammars over a
vocabulary.

A lexeme has begun and its remaining regex is `q`. A token is *inside* if the derivative of `q` by its bytes is not
empty: the lexeme may still be going on after it. Every other token can only leave the lexeme, after some prefix that
`q` matches, and continue with a *rest*. Which tokens are inside, and at which nodes of the trie the others leave,
depends on the regex alone. It is remembered here as a *part*, for all grammars over this vocabulary. A part is found by
a node of the trie and by what the regex is.

A token that is not inside *dies* at one node of the trie: the byte of this node makes the derivative empty. A part
notes

- *plain* exits: nodes at which tokens die straight after a prefix that `q` matches. They are sorted by their byte,
  because the row that asks knows which few bytes may follow;
- *open* exits: nodes that `q` matches and below which most tokens die. For white space, the blank is one: a letter
  follows it in most tokens. The row that asks takes the whole subtree;
- *late* nodes: tokens die there that could also have left the lexeme earlier. Few rows can follow such an earlier exit,
  so `_late_exits` finds these exits when such a row asks.

Tokens that are inside need no exits: they are allowed, whatever else they may spell.

Several regexes may share a part, or most of one:

- a counted regex takes its part from a family (`_families`);
- a regex with exceptions, such as a name that is no keyword, takes the part of the regex without them (`_builder`);
- bounds that no token comes near do not matter, and few tokens come near large bounds (`_far_bounds`). If no token
  distinguishes "at most 4 times" from "any number of times", none distinguishes "at most 98 times" from "at most 99 times"
  (`unbounded`).

A part does not change once it is built, with two exceptions: `live` (its late exits), and the rests in `exits` and
`live`. These are made under the lock when they are first needed. Not here: grammars (`_answers`).
"""

from collections import OrderedDict

cimport cython

from libc.string cimport memcmp, memcpy

from cpython.pythread cimport NOWAIT_LOCK, PyThread_acquire_lock, PyThread_release_lock

from earleymask.earley._atomic cimport load, publish
from earleymask.earley._builder cimport MANY_DIFFERENCES
from earleymask.earley._complements cimport without_complements
from earleymask.earley._doubtful cimport Doubtful, Marked
from earleymask.earley._families cimport Family, is_wide
from earleymask.earley._locks cimport PARTS, Lock
from earleymask.earley._meter cimport NO_LIMIT, go_on, wait_within
from earleymask.earley._nodes cimport K_UNION
from earleymask.earley._part cimport ROOT_NODE, leave_parts, free_part, new_part, part_key, part_size
from earleymask.earley._searches cimport without_search
from earleymask.earley._tables cimport NONE, reserve, sequence, sequence_length, sort_unique, words_extend, words_free

from earleymask.earley.errors import MatcherInUseError

cdef extern from "Python.h":
    unsigned long PyThread_get_thread_ident() nogil

cdef enum:
    NOTHING = 0                 # the part without tokens and exits, which most literals have below most nodes
    # Least bounds that `unbounded` tries for what has any length: a token rarely repeats anything 4 times, hardly ever
    # 64 times.
    LEAST_ENOUGH = 4
    MOST_ENOUGH = 64
    ASKED_ONCE = 0xFFFFFFFE     # in `bounds`: compare when the next one asks
    NOT_ALIKE = 0xFFFFFFFD      # in `bounds`: they were compared, and differ


@cython.no_gc_clear             # masks that are freed with it still need it
cdef class Users:
    """The masks of all grammars over one vocabulary."""

    def __cinit__(self):
        self.masks = OrderedDict()
        self.doubtful = {}


cdef class Parts:
    """The parts of one vocabulary. `before`: the parts that these replace; the quotient and the users stay, and what has been
    prepared, unless it is too much for the limit."""

    def __cinit__(self, TokenTrie trie not None, Quotient quotient=None, Parts before=None):
        self.trie = trie
        if before is not None:
            quotient = before.quotient
            self.users = before.users
            self.users.n_dropped += 1
        else:
            self.users = Users()
        self.quotient = quotient if quotient is not None else Quotient(trie)
        self.automaton = Automaton(self.quotient)
        self.automaton.regexes.meter.defers_signals = True  # it works with the lock of the parts
        self.rests = Rests(trie)
        self.families = Families(trie.n_words)
        self.builder = Builder(self.quotient, self.automaton, self.families)
        self.late_exits = LateExits(self.quotient, self.automaton, self.rests)
        self.known = Map()
        self.bounds = Map()
        self.lock = Lock(self, PARTS)
        if before is not None and before.n_kept_bytes():
            self.begin_with(before.kept)
            return
        reserve(<void**> &self.parts, &self.parts_capacity, 1, sizeof(Part*))
        self.parts[NOTHING] = new_part()
        self.parts[NOTHING].live_made = True
        self.n_parts = 1

    def __dealloc__(self):
        leave_parts(self.parts, self.n_borrowed, self.n_parts, self.part_bytes - self.n_borrowed_bytes)
        words_free(&self.ours)
        words_free(&self.theirs)

    # ---- what stays -----------------------------------------------------------------------------------------------

    cdef int begin_with(self, Kept kept) except -1:
        reserve(<void**> &self.parts, &self.parts_capacity, kept.n_parts, sizeof(Part*))
        memcpy(self.parts, kept.parts, kept.n_parts * sizeof(Part*))
        self.n_parts = self.n_borrowed = kept.n_parts
        self.kept = kept
        self.families.borrow(kept.families)
        kept.enter_all(self.known, self.families, self.automaton)
        self.rests.next_place = kept.next_place
        self.part_bytes = self.n_borrowed_bytes = kept.n_bytes
        return 0

    cdef int keep(self) except -1:
        cdef Kept kept = Kept()
        cdef Families families = Families(self.trie.n_words)
        cdef Part* part
        cdef size_t i, n
        with nogil:
            self.acquire()
            n = self.n_parts
            self.release()
            for i in range(n):
                self.acquire()
                part = self.parts[i]
                self.release()
                self.complete(part)
            self.acquire()
        try:
            if self.kept is None:                       # no other thread was faster
                families.borrow(self.families)
                with nogil:
                    kept.list_all(self.parts, n, self.known, self.families, self.automaton)
                families.family_of, self.families.family_of = self.families.family_of, families.family_of
                kept.families = self.families
                kept.next_place = self.rests.next_place
                self.part_bytes += kept.families.n_bytes + kept.n_own_bytes()
                # (What another thread has made in the last moment counts as well.)
                self.n_borrowed_bytes = self.part_bytes
                kept.n_bytes = self.part_bytes + self.rests.n_bytes
                self.families = self.builder.families = families
                kept.n_parts = self.n_borrowed = n
                self.kept = kept
        finally:
            self.release()
        return 0

    cdef size_t n_kept_bytes(self) noexcept nogil:
        if <void*> self.kept == <void*> None or self.users.limit and self.kept.n_bytes > self.users.limit // 8 * 5:
            return 0
        return self.kept.n_bytes

    # ---- under the lock -----------------------------------------------------------------------------------------

    cdef int acquire(self) except -1 nogil:
        cdef unsigned long thread = PyThread_get_thread_ident()
        if not PyThread_acquire_lock(self.lock.handle, NOWAIT_LOCK):
            if self.lock.owner == thread:               # nobody else writes the number of this thread there
                with gil:
                    # To make an error may start a garbage collection (up to Python 3.11), which calls finalizers.
                    raise MatcherInUseError(
                        "a finalizer (`__del__`) made a mask while a mask, or `prepare`, of the same thread was changing "
                        "what all grammars over this vocabulary share. Make no masks in finalizers")
            wait_within(self.lock.handle, NULL)
        self.lock.owner = thread
        return 0

    cdef void release(self) noexcept nogil:
        self.lock.owner = 0
        PyThread_release_lock(self.lock.handle)

    def _lose(self):
        """Put empty parts in the place of these, which were half changed when the process was forked. (`Lock`)"""
        if self.trie.learned is self:
            self.trie.learned = Parts(self.trie, before=self)

    cdef Part* part(self, uint32_t trie_node, Regexes regexes, uint32_t node, Words* adopted, size_t room) except NULL nogil:
        """Return the part, which may add regexes of `room` bytes. Raises LimitError beyond them."""
        self.acquire()
        try:
            go_on(self.automaton.regexes.meter, regexes.meter)
            self.automaton.regexes.meter.most_grammar_bytes = self.automaton.regexes.n_bytes() + room
            return self.find_or_build(trie_node, self.automaton.adopter.adopt(regexes, node, adopted))
        finally:
            self.automaton.regexes.meter.most_grammar_bytes = NO_LIMIT
            self.automaton.regexes.meter.most_ns = NO_LIMIT
            self.automaton.regexes.meter.cancels = NULL
            self.release()

    cdef int need_live(self, Part* part) except -1 nogil:
        self.acquire()
        try:
            self.make_live(part)
        finally:
            self.release()
        return 0

    cdef int make_live(self, Part* part) except -1 nogil:
        if not part.live_made:
            self.late_exits.find(part)
            self.part_bytes += part.live.n * sizeof(uint32_t)
        return 0

    cdef int complete(self, Part* part) except -1 nogil:
        cdef uint32_t k
        for k in range(part.exits.n_bytes):
            self.need_rests(part, &part.exits, k)
        if part.n_late:
            self.need_live(part)
            for k in range(part.live.n_bytes):
                self.need_rests(part, &part.live, k)
        return 0

    cdef RestTrie* need_rests(self, Part* part, Exits* exits, uint32_t k) except NULL nogil:
        cdef uint32_t first = exits.starts[k], i
        cdef const Exits* others
        cdef RestTrie* rests = <RestTrie*> load(<void**> &exits.rests[k])
        if rests != NULL:
            return rests
        if part.like != NULL and exits == &part.exits:
            others = &part.like.exits
            for i in range(others.n_bytes):
                if others.bytes[i] == exits.bytes[k] and others.starts[i + 1] - others.starts[i] == exits.starts[k + 1] - first:
                    return self.need_rests(part.like, &part.like.exits, i)
        self.acquire()
        try:
            if exits.rests[k] == NULL:
                if exits == &part.live:
                    rests = self.late_exits.make_rests(part, k)
                else:
                    rests = self.rests.make(exits.nodes + first, exits.starts[k + 1] - first, False)
                publish(<void**> &exits.rests[k], rests)
            return exits.rests[k]
        finally:
            self.release()

    # ---- finding a part, or building it -------------------------------------------------------------------------

    cdef Part* find(self, uint32_t trie_node, uint32_t regex) noexcept nogil:
        cdef uint32_t index = self.known.get(part_key(trie_node, regex))
        return NULL if index == NONE else self.parts[index]

    cdef int enter(self, Part* part) except -1 nogil:
        cdef bint entered = False
        try:
            reserve(<void**> &self.parts, &self.parts_capacity, self.n_parts + 1, sizeof(Part*))
            part.index = <uint32_t> self.n_parts
            self.known.put(part_key(part.node, part.regex), part.index)
            entered = True
        finally:
            if not entered:
                free_part(part)
        self.parts[self.n_parts] = part
        self.n_parts += 1
        return 0

    cdef Part* find_or_build(self, uint32_t trie_node, uint32_t regex) except NULL nogil:
        cdef uint64_t key = part_key(trie_node, regex)
        cdef uint32_t state, near, wider
        cdef Part* part = self.find(trie_node, regex)
        cdef Part* like = NULL
        cdef const Family* family
        if part != NULL:
            self.n_known += 1
            return part
        state = self.automaton.state(regex)
        near = self.automaton.near(state, self.trie.max_depth if trie_node == ROOT_NODE else self.quotient.heights_of[trie_node])
        if near != state:                               # no token here comes near the bound
            part = self.find_or_build(trie_node, self.automaton.states[near].regex)
            self.n_unbounded += 1
            self.known.put(key, part.index)
            return part
        if is_wide(self.trie, trie_node) and self.automaton.is_counted(state) and self.automaton.states[state].family != state:
            family = self.families.find(trie_node, self.automaton.states[state].family)
            if family == NULL:
                self.builder.make_family(trie_node, state)
                family = self.families.find(trie_node, self.automaton.states[state].family)
            like = self.find_or_build(trie_node, self.automaton.states[self.automaton.states[state].family].regex)
            if self.automaton.states[state].least == 0 and self.automaton.states[state].most >= family.most:
                self.known.put(key, like.index)         # no token here comes near the bound
                return like
        if like == NULL and not self.automaton.is_narrow(state):
            wider = self.wider(trie_node, state)
            if wider != NONE:
                like = self.find_or_build(trie_node, wider)
                part = self.builder.build_like(trie_node, regex, wider, like)
                self.n_taken_over += part != NULL
                if part == like:
                    self.known.put(key, like.index)
                    return like
                if part == NULL or self.builder.n_added:
                    like = NULL
            elif is_wide(self.trie, trie_node):
                part = self.unbounded(trie_node, regex)
                if part != NULL:
                    self.n_unbounded += 1
                    self.known.put(key, part.index)
                    return part
        if part == NULL:
            part = self.builder.build(trie_node, regex)
        self.n_built += 1
        if part == NULL:
            self.known.put(key, NOTHING)
            return self.parts[NOTHING]
        part.like = like
        self.enter(part)
        self.part_bytes += part_size(part, self.trie.n_words)
        return part

    cdef uint32_t wider(self, uint32_t trie_node, uint32_t state) except? 0xFFFFFFFF nogil:
        """Return a regex that matches more, and differs for few tokens; NONE if there is none."""
        cdef uint32_t reach = self.automaton.reach(state), regex = self.automaton.states[state].regex, whole
        if reach and is_wide(self.trie, trie_node) and self.quotient.n_below_higher(reach) < MANY_DIFFERENCES:
            return self.automaton.states[self.automaton.states[state].beyond].regex
        whole = without_complements(self.automaton.regexes, regex)
        return whole if whole != NONE else without_search(self.automaton.regexes, regex)

    # ---- bounds that no token comes near ------------------------------------------------------------------------

    cdef Part* unbounded(self, uint32_t trie_node, uint32_t regex) except? NULL nogil:
        """Return the part of the regex without its upper bounds if the two are known to be the same, else NULL.

        If the languages with some least bounds and without bounds have the same part, each language in between has it
        too. They are compared when a second regex asks. If the least bounds are too small for what tokens spell, they
        are compared again with larger ones.
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
            key = part_key(trie_node, lower)
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
        """Return whether two parts have the same tokens and exits."""
        if one == other:
            return True
        if one.n_tokens != other.n_tokens or (one.bits == NULL) != (other.bits == NULL) or (one.n_late == 0) != (other.n_late == 0):
            return False
        if one.bits != NULL and memcmp(one.bits, other.bits, self.trie.n_words * sizeof(uint32_t)):
            return False
        if one.bits == NULL and not self.are_same(one.tokens, one.n_tokens, other.tokens, other.n_tokens):
            return False
        if one.n_late:
            self.make_live(one)
            self.make_live(other)
        return (self.are_same(one.open, one.n_open, other.open, other.n_open)
                and self.are_same(one.late, one.n_late, other.late, other.n_late)
                and self.are_same(one.exits.nodes, one.exits.n, other.exits.nodes, other.exits.n)
                and self.are_same(one.live.nodes, one.live.n, other.live.nodes, other.live.n))

    cdef bint are_same(self, const uint32_t* one, uint32_t n, const uint32_t* other, uint32_t n_other) except -1 nogil:
        """Return whether two lists have the same words, in any order."""
        self.ours.n = self.theirs.n = 0
        words_extend(&self.ours, one, n)
        words_extend(&self.theirs, other, n_other)
        sort_unique(&self.ours)
        sort_unique(&self.theirs)
        if self.ours.n != self.theirs.n:
            return False
        return self.ours.n == 0 or memcmp(self.ours.data, self.theirs.data, self.ours.n * sizeof(uint32_t)) == 0

    # ---- users --------------------------------------------------------------------------------------------------

    cdef Marked marked(self):
        if self.users.marked is None:
            self.users.marked = Marked(self.trie)
        return self.users.marked

    cpdef Doubtful doubtful_tokens(self, make, description, size_t which):
        """Return the tokens that match one of the regexes that `make` returns for a description, see
        `Engine.set_doubtful`. They are found once for all grammars."""
        cdef dict known = self.users.doubtful
        cdef Regexes regexes
        found = known.get((make, description, which))
        if found is None:
            regexes = Regexes()
            found = known[make, description, which] = Doubtful(
                self.trie, self.marked(), regexes, make(regexes, description)[which])
        return found

    def living_users(self) -> list:
        return [user for user in [reference() for reference in list(self.users.masks.values())] if user is not None]

    def set_memory(self, size_t n_bytes) -> None:
        """Set how much may be remembered for all grammars over this vocabulary, in bytes."""
        self.users.limit = self.users.chosen = n_bytes

    def stats(self) -> dict[str, int]:
        """Return how much is remembered for all grammars over this vocabulary: numbers of things, and bytes."""
        return {
            "parts": self.n_parts,
            "part_families": self.families.n_families,
            "parts_found": self.n_known,
            "parts_built": self.n_built,
            "parts_taken_over": self.n_taken_over,
            "parts_unbounded": self.n_unbounded,
            "parts_dropped": self.users.n_dropped,
            "rests_made": self.rests.n_made,
            "doubtful_lists": len(self.users.doubtful),
            "part_nodes_visited": self.builder.n_nodes,
            "automaton_states": self.automaton.n_states,
            "automaton_regexes": self.automaton.regexes.nodes.n,
            "quotient_nodes": self.quotient.n_nodes,
            "quotient_bytes": self.quotient.n_bytes(),
            "part_bytes": self.n_bytes(),
            "remembered_bytes": self.n_bytes() + sum([user.__sizeof__() for user in self.living_users()]),
            "remembered_limit": self.users.limit,
        }

    cdef size_t n_bytes(self) noexcept nogil:
        """Return the bytes that are freed when the parts are dropped; the quotient of the trie stays."""
        return (self.automaton.n_bytes() + self.rests.n_bytes + self.families.n_bytes + self.part_bytes + self.known.n_bytes()
                + self.bounds.n_bytes() + self.builder.n_bytes())


cdef Parts parts_of(TokenTrie trie):
    """Return the parts of a vocabulary's trie, made on first use."""
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
