# The limits of one call: steps are counted, and the clock is read every STEPS of them.

from libc.stdint cimport int64_t, uint32_t, uint64_t

cdef enum:
    NO_LIMIT = 0x7FFFFFFFFFFFFFFF
    STEPS = 1 << 12             # steps between two readings of the clock: some tenths of a millisecond

cdef class Meter:
    cdef int64_t left           # steps until the clock is read
    cdef int64_t started        # when the call began, in nanoseconds; 0: the clock has not been read
    cdef int64_t most_ns        # nanoseconds that a call may take
    cdef int64_t derivations    # regex nodes that may still be computed for this byte
    cdef readonly object limits
    # Fields of `limits`, for loops without the GIL:
    cdef int64_t most_derivations
    cdef uint32_t most_symbols
    cdef uint32_t most_lexer_states, most_regex_nodes, most_row_items
    cdef size_t most_grammar_bytes, most_matcher_bytes

    cdef int use(self, object limits) except -1
    cdef int allow(self, object limits, double seconds) except -1
    cdef int look(self) except -1 nogil
    cdef int64_t ns_left(self) noexcept nogil
    cdef int exceeded(self, str limit, str what) except -1


# To be called at the beginning of a call.
cdef inline void start(Meter meter) noexcept nogil:
    meter.left = STEPS
    meter.started = 0


# Continue a call in another arena, with the time that it has left.
cdef inline void go_on(Meter meter, Meter call) noexcept nogil:
    meter.left = call.left
    meter.started = call.started
    meter.most_ns = call.most_ns
    meter.derivations = NO_LIMIT


# To be called before n steps of some nanoseconds each.
cdef inline int spend_steps(Meter meter, uint64_t n) except -1 nogil:
    meter.left -= <int64_t> n
    if meter.left < 0:
        return meter.look()
    return 0
