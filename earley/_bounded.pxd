# Parts of masks: the tokens that are found before a deadline, and those that leave enough of a budget. Per chart.

from libc.stdint cimport int64_t, uint32_t, uint64_t

from earleymask.earley._chart cimport Chart
from earleymask.earley._engine cimport Engine
from earleymask.earley._history cimport History
from earleymask.earley._masks cimport Masks
from earleymask.earley._partial cimport Partial
from earleymask.earley._remaining cimport Remaining
from earleymask.earley._token_ids cimport Specials, TokenIds

cdef enum:
    FORGETTING_NS = 50_000_000  # that `make_room` may take
    # When a mask is due, a walk finds some tokens. It takes this time at least, and more until it has found one or the mask
    # is too late.
    WALK_NS = 1_000_000
    MOST_LATE_NS = 4_000_000    # what remains to 5 ms is for steps that do not look at the clock

cdef class BoundedMasks:
    cdef Engine engine
    cdef Chart chart
    cdef Masks masks
    cdef Specials specials
    cdef TokenIds token_ids         # or None
    cdef object vocabulary
    cdef Remaining remaining        # None until tokens to the end are counted

    # The tokens with which a sequence can be finished from a position; ENDLESS if no such number is known.
    cdef uint64_t needed(self, uint32_t position) except? 0xFFFFFFFFFFFFFFFF
    # Clear the bits of a mask after whose tokens a sentence cannot be finished within n tokens in all.
    cdef int keep_within(self, uint32_t position, uint32_t* words, uint64_t n) except -1
    # Whether every token of the mask is known to leave enough of n tokens.
    cdef bint is_ample(self, uint32_t position, uint64_t n) except -1
    # Continue the walk of a history's position that is due at a time; return whether it is complete. `n`: tokens that may
    # still come, ENDLESS: any number. Raises DeadlineError if it has not found a token, BudgetError if n are too few.
    cdef bint walk(self, Partial partial, History* history, uint64_t n, int64_t time) except -1

    cdef int count(self) except -1
    cdef int check_budget(self, uint32_t position, uint64_t n) except -1
    cdef bint walk_in_time(self, Partial partial, History* history, int64_t time) except -1
    cdef bint walk_on(self, Partial partial, uint32_t position) except -1
    cdef bint begin_within(self, Partial partial, uint32_t position) except -1
