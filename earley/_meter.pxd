# What one call may take: counted in steps, checked against the clock from time to time.

from libc.stdint cimport int64_t, uint32_t, uint64_t

cdef enum:
    NO_LIMIT = 0x7FFFFFFFFFFFFFFF
    STEPS = 1 << 12             # between two looks at the clock: some tenths of a millisecond

cdef class Meter:
    cdef int64_t left           # steps until the clock is looked at
    cdef int64_t started        # of the call, nanoseconds; 0: the clock has not been looked at
    cdef int64_t most_ns        # a call may take
    cdef int64_t derivations    # regex nodes that may still be worked out for this byte
    cdef readonly object limits
    # Of `limits`, for loops without the GIL:
    cdef int64_t most_derivations
    cdef uint32_t most_symbols
    cdef uint32_t most_lexer_states, most_regex_nodes, most_row_items
    cdef size_t most_grammar_bytes, most_matcher_bytes

    cdef int use(self, object limits) except -1
    cdef int allow(self, object limits, double seconds) except -1
    cdef int look(self) except -1 nogil
    cdef int64_t ns_left(self) noexcept nogil
    cdef int exceeded(self, str limit, str what) except -1


# At the beginning of a call.
cdef inline void start(Meter meter) noexcept nogil:
    meter.left = STEPS
    meter.started = 0


# The same call in another arena: what it has used of its time.
cdef inline void go_on(Meter meter, Meter call) noexcept nogil:
    meter.left = call.left
    meter.started = call.started
    meter.most_ns = call.most_ns
    meter.derivations = NO_LIMIT


# So many steps, some nanoseconds each, are about to be taken.
cdef inline int spend_steps(Meter meter, uint64_t n) except -1 nogil:
    meter.left -= <int64_t> n
    if meter.left < 0:
        return meter.look()
    return 0
