"""The limits of one call. Long loops count their steps, and the meter reads the clock every few thousand steps.

A call that ends within the first few thousand steps never reads the clock. The first reading counts as the beginning of
the call, so a call may take longer than its limit by the time that those steps take.
"""

from earleymask.earley.errors import LimitError
from earleymask.earley.limits import DEFAULT

cdef extern from *:
    """
    #include <time.h>
    #if defined(_WIN32)
    #include <windows.h>
    static inline long long earleymask_now(void) { return (long long)GetTickCount64() * 1000000LL + 1; }
    #else
    static inline long long earleymask_now(void) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (long long)t.tv_sec * 1000000000LL + t.tv_nsec + 1;
    }
    #endif
    """
    # Nanoseconds of a monotonic clock, never 0.
    int64_t now "earleymask_now"() noexcept nogil


cdef class Meter:
    """The limits of one grammar, and how much of them the current call has used. Needs the engine's lock."""

    def __cinit__(self):
        self.use(DEFAULT)
        start(self)
        self.most_ns = self.derivations = NO_LIMIT      # until its grammar is finished

    cdef int use(self, object limits) except -1:
        self.limits = limits
        self.most_ns = <int64_t> min(limits.seconds * 1e9, 9e18)
        self.most_derivations = limits.derivations
        self.derivations = limits.derivations
        self.most_symbols = min(limits.symbols, 0xFFFFFFF0)
        self.most_lexer_states = min(limits.lexer_states, 0xFFFFFFF0)
        self.most_regex_nodes = min(limits.regex_nodes, 0xFFFFFFF0)
        self.most_row_items = min(limits.row_items, 0xFFFFFFF0)
        self.most_grammar_bytes = limits.grammar_bytes
        self.most_matcher_bytes = limits.matcher_bytes
        return 0

    cdef int allow(self, object limits, double seconds) except -1:
        """Allow this number of seconds, the rest of the time in `limits`, until the grammar is finished."""
        self.limits = limits
        self.most_ns = <int64_t> min(max(seconds, 0) * 1e9, 9e18)
        self.left = STEPS
        self.started = now()
        return 0

    cdef int look(self) except -1 nogil:
        cdef int64_t time = now()
        self.left = STEPS
        if self.started == 0:
            self.started = time
        elif time - self.started > self.most_ns:
            with gil:
                self.exceeded("seconds", "the call takes longer")
        return 0

    cdef int64_t ns_left(self) noexcept nogil:
        """Return how many nanoseconds the call may still take; the call begins now if the clock has not been read
        yet."""
        cdef int64_t time = now()
        if self.started == 0:
            self.started = time
        return self.most_ns - (time - self.started)

    cdef int exceeded(self, str limit, str what) except -1:
        value = getattr(self.limits, limit)
        raise LimitError(f"{what} than the limit {limit}={value}; simplify the grammar, or give it "
                         f"limits=Limits({limit}=...)", limit=limit)
