"""Parts of masks: the tokens that are found before a deadline, and those that leave enough of a budget.

A matcher makes the whole mask if it can (`Matcher.write_until`, `write_within`). What is here cuts it to a budget
(`_remaining`), or, when the mask is due before it is made, asks a walk over the trie for some tokens (`_partial`).

Needs the engine's lock and the GIL.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from earleymask.earley._chart cimport FINISHED, MASK_WALKED, count_mask
from earleymask.earley._forget cimport make_room
from earleymask.earley._history cimport History, last_entry
from earleymask.earley._meter cimport set_due, wall_clock
from earleymask.earley._shortest cimport ENDLESS, Shortest
from earleymask.trie._bitmask cimport mask_allow

from earleymask.earley._forget import FINAL
from earleymask.earley.errors import BudgetError, DeadlineError, LimitError, beyond_budget


cdef class BoundedMasks:

    def __cinit__(self, Chart chart not None, Masks masks not None, Specials specials not None, TokenIds token_ids,
                  vocabulary not None):
        self.engine = chart.engine
        self.chart = chart
        self.masks = masks
        self.specials = specials
        self.token_ids = token_ids
        self.vocabulary = vocabulary

    # ---- budgets ------------------------------------------------------------------------------------------------

    cdef uint64_t needed(self, uint32_t position) except? 0xFFFFFFFFFFFFFFFF:
        cdef uint64_t needed
        if self.remaining is None:
            if self.masks.shortest is None:
                self.masks.shortest = Shortest(self.engine.rules, self.engine.regexes, self.masks.trie)
            self.remaining = Remaining(self.chart, self.masks.shortest, self.specials, self.token_ids)
        for reason in self.engine.rules.varying:
            if type(reason) is str:
                raise BudgetError(f"tokens to the end cannot be counted: {reason}; give no budget")
        self.remaining.renew()
        needed = self.remaining.needed(position)
        self.count()
        return needed

    cdef int count(self) except -1:
        """Count what is known of shortest texts with the masks, which are forgotten with it."""
        self.masks.shortest.count()
        self.masks.note()
        return 0

    cdef int check_budget(self, uint32_t position, uint64_t n) except -1:
        """Raise BudgetError if a sequence cannot be finished within n tokens."""
        cdef uint64_t needed = self.needed(position)
        if needed > n:
            raise beyond_budget(n, needed if needed < ENDLESS else None, self.vocabulary.missing_bytes)
        return 0

    cdef int keep_within(self, uint32_t position, uint32_t* words, uint64_t n) except -1:
        self.check_budget(position, n)
        if position != FINISHED and not self.remaining.is_ample(position, n):
            self.remaining.restrict(position, words, n)
            self.count()
        return 0

    cdef bint is_ample(self, uint32_t position, uint64_t n) except -1:
        if self.remaining is None:
            return False
        self.remaining.renew()
        if not self.remaining.is_ample(position, n):
            return False
        self.check_budget(position, n)
        return True

    # ---- deadlines ----------------------------------------------------------------------------------------------

    cdef bint walk(self, Partial partial, History* history, uint64_t n, int64_t time) except -1:
        cdef int64_t begin = wall_clock()
        cdef bint is_complete
        set_due(max(time + MOST_LATE_NS, begin + WALK_NS))
        partial.begin(self.chart, last_entry(history).position, n, max(time, begin + WALK_NS))
        is_complete = self.walk_in_time(partial, history, time)
        if is_complete:
            count_mask(self.chart, MASK_WALKED)
        elif not partial.has_tokens():
            raise DeadlineError
        if is_complete and n == ENDLESS:
            try:
                self.masks.remember(self.chart, last_entry(history).position, partial.found)
                self.masks.note()
            except (LimitError, MemoryError):
                pass                                    # it is the mask nevertheless; the walk is kept in its place
        return is_complete

    cdef bint walk_in_time(self, Partial partial, History* history, int64_t time) except -1:
        """Continue the walk; return whether it is complete."""
        cdef int64_t due
        try:
            return self.walk_on(partial, last_entry(history).position)
        except DeadlineError:
            return False
        except LimitError as error:
            if partial.has_gone_on() and partial.has_tokens() and (
                    error.limit in FINAL or wall_clock() + FORGETTING_NS > time):
                return False
            if partial.has_room:
                raise
            due = set_due(0)                            # without room, no later call would come further
            try:
                make_room(self.engine, error)
            finally:
                set_due(due)
        partial.has_room = True
        partial.begin_again(last_entry(history).position)     # it has another number now
        return self.walk_in_time(partial, history, time)

    cdef bint walk_on(self, Partial partial, uint32_t position) except -1:
        """Continue the walk; return whether it is complete."""
        self.engine.regexes.meter.started = 0           # it has the time of a new call,
        self.engine.regexes.meter.left = 0              # and its first step looks at the clock
        if partial.n < ENDLESS:
            self.check_budget(position, partial.n)
        self.masks.find_extras(self.chart, position, self.specials)
        if partial.n == ENDLESS or position == FINISHED:
            self.masks.allow_extras(partial.found)
        if position == FINISHED:
            return True
        if partial.n < ENDLESS and not self.begin_within(partial, position):
            return True
        with nogil:
            return partial.go_on(self.masks)

    cdef bint begin_within(self, Partial partial, uint32_t position) except -1:
        """Allow tokens of which some leaves enough of the budget: those without text, and the first ones of chosen texts.
        Return whether others are tried."""
        cdef bint is_walked
        cdef uint32_t token
        partial.remaining = self.remaining
        is_walked = self.remaining.begin_mask(self.chart.rules.has_followed)
        partial.most = max(partial.most, self.remaining.allow_extras(position, partial.found, partial.n))
        for token in self.remaining.first_tokens(position):
            if self.remaining.after_token(position, token) < partial.n:
                mask_allow(partial.found, token)
        return is_walked
