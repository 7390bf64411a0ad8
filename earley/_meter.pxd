# The limits of one call: steps are counted, and the clock is read every STEPS of them. `tick`: turns of other threads.

from cpython.object cimport PyObject
from cpython.pythread cimport PyThread_type_lock
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport int64_t, uint32_t, uint64_t

from earleymask.trie._build cimport DEBUG

cdef enum:
    NO_LIMIT = 0x7FFFFFFFFFFFFFFF
    STEPS = 1 << 12             # steps between two readings of the clock: some tenths of a millisecond
    STEPS_AHEAD = 1 << 8        # the same for a thread that works ahead: some tens of microseconds
    TURN_NS = 1_000_000         # time between two turns of other threads: a fifth of what they wait for one by default
    CYCLES_BETWEEN_LOOKS = 20_000   # of the processor, between two readings of the clock by `tick`: some microseconds
    BREAK_NS = 7_000_000        # time between two breaks
    LENGTH_OF_BREAK_NS = 500_000
    TURNS_BEFORE_LONG = 8       # loading that has had so many turns is long: what it has made is freed in pieces
    LONG_ENOUGH_NS = 150_000    # time without the GIL in which a thread that waits for it wakes up and takes it
    MOST_SPINNING_NS = 50_000   # time for which a thread waits for the GIL without sleeping: that of a few rules
    SIGNALS_NS = 10_000_000     # time between two looks at signals
    CANCEL_NS = 1_000_000       # time between two looks whether a call that waits for a lock was cancelled
    NEVER = 0x7FFFFFFF          # the threshold of the oldest generation while they wait
    MOST_WAITING_SECONDS = 60   # they wait no longer, even if grammars are loaded without a break

# How often `Matcher.cancel` was called, and how often when the matcher's last call began. Needs the GIL to be changed.
cdef struct Cancels:
    Py_ssize_t n
    Py_ssize_t n_before

# What bounds the calls of one thread, beside the meter: see the globals of `_meter.pyx`.
cdef struct Bounds:
    int64_t deadline
    int64_t due
    const Py_ssize_t* watched
    Py_ssize_t watched_from

cdef class Meter:
    cdef int64_t left           # steps until the clock is read
    cdef int64_t started        # when the call began, in nanoseconds; 0: the clock has not been read
    cdef int64_t signals_due    # when this call looks at signals next, in nanoseconds
    cdef const Cancels* cancels # of the matcher whose call this is, or NULL
    cdef bint defers_signals    # whether signals wait, because their handlers might wait for a lock that this thread has
    cdef bint holds_lock        # whether the loops that count run with the interpreter's lock: then they `tick`
    cdef uint32_t turns_left    # of a loading: turns until it is long; 0: it is
    cdef str what               # what takes the time, for messages; None: the call of a matcher
    cdef str time_limit         # the field that sets `most_ns`, if `what` is not None
    cdef int64_t most_ns        # nanoseconds that a call may take
    cdef int64_t derivations    # regex nodes that may still be computed for this byte
    cdef list kept, circular    # of a loading: see `keep`
    cdef int64_t most_taken     # bytes that `take` may count; NO_LIMIT: it counts for the meter around this one
    cdef uint32_t n_entered     # calls of `enter` without their `leave`
    cdef PyObject* around       # what `bearer` was before the first of them,
    cdef int64_t taken_around   # and what `take` had counted for it
    cdef readonly object limits
    # Fields of `limits`, for loops without the GIL:
    cdef int64_t most_derivations
    cdef uint32_t most_symbols
    cdef uint32_t most_lexer_states, most_regex_nodes, most_row_items
    cdef size_t most_grammar_bytes      # with those of the grammar itself, once its engine is finished
    cdef size_t most_matcher_bytes
    cdef size_t most_rule_bytes         # of the rules, with those that texts add (`Rules.n_bytes`)
    cdef str taken_limit                # the field that sets `most_taken`
    # Bytes learned about the grammar, as they were when last counted:
    cdef size_t regex_bytes, lexer_bytes, skeleton_bytes

    cdef int use(self, object limits) except -1
    cdef int look(self) except -1 nogil
    cdef int look_at_clock(self) except -1 nogil
    cdef int exceeded(self, str limit, str what) except -1
    cdef int exceed_time(self) except -1
    cdef int exceed_bytes(self) except -1
    cdef int fail(self) except -1 nogil


# Whether the check of a limit that asks must fail (see `fail_checks`).
cdef bint must_fail() noexcept nogil

# Count bytes that this thread is about to take for what it loads, or gives back (if negative), before it does so. Raises
# LimitError, and counts nothing, if that is more than it may take. `take_here` and `give_back` need no lock.
cpdef int take(int64_t n_bytes) except -1
cdef size_t n_taken() noexcept nogil        # bytes that have been counted
cdef int take_here(size_t n_bytes) except -1 nogil
cdef void give_back(size_t n_bytes) noexcept nogil
cpdef int tick() except -1
cpdef int count(int64_t n_bytes) except -1
cdef int take_turn() except -1
cdef int pause() except -1 nogil
cpdef int keep(object one) except -1
cpdef int keep_circular(object one) except -1
cdef int let_others_run() except -1
cdef int give_way() except -1
cdef bint turn_is_due() noexcept
cdef int64_t clock() noexcept nogil
# Return the nanoseconds of a monotonic clock.
cdef int64_t wall_clock() noexcept nogil
cdef bint begin_making() noexcept nogil
cdef void end_making() noexcept nogil
# Run the handlers of signals, if some have come and this is the main thread.
cdef int look_at_signals() except -1
cdef int64_t nanoseconds(double seconds) noexcept
cdef void rest(long nanoseconds) noexcept nogil     # sleep for less than a second, and look at no signals

# Count a mask that was not remembered and has been made for a caller (`masks_asked`).
cdef void count_asked() noexcept nogil

# A thread works ahead if it makes masks that nobody has asked for yet. It gives way: its call ends with LimitError as soon as
# another thread waits for a lock (`wait_for`), its time is used up, or it has to stop. It does not while it has the
# interpreter's lock, so that no function of a lazy symbol takes this for a limit of the grammar.
#
# Begin to work ahead until a time by `clock`, or until `stopped[0]` is not 0; with 0 and NULL, end that.
cdef void work_ahead(int64_t until, const int* stopped) noexcept nogil
cdef bint must_give_way() noexcept nogil            # whether another thread waits
cdef bint has_given_way() noexcept nogil            # whether this thread has, since it began to work ahead
# Wait for a lock that another thread holds, and take it; at most so long (-1: without end). Return whether it was taken.
cdef bint wait_for(PyThread_type_lock lock, int64_t microseconds) noexcept nogil
# The same, but raise DeadlineError or MatcherCancelledError as soon as the call of this thread must end.
cdef int wait_within(PyThread_type_lock lock, const Cancels* cancels) except -1 nogil
# Raise an error if the calls of this thread must end: by a `Within`, a `Cancellable` or a mask that is due. A loop over many
# short calls does this, because these do not look at the clock.
cdef int check_bounds() except -1
cdef int64_t set_due(int64_t time) noexcept nogil
cdef Cancellable cancellable(object matcher, const Cancels* cancels)
cdef int plan_turn() except -1
cdef int begin_waiting() except -1
cdef int end_waiting() except -1
cdef int forget_loadings() except -1
cdef int collect_again() except -1
cdef object enter(Meter meter)
cdef int leave(object around) except -1


cdef class Loading:
    cdef Meter meter
    cdef int64_t most_ns        # nanoseconds that it may take, with those in which what has been loaded is freed
    cdef object around          # the meter that `tick` looks at after the block; None: no meter


cdef class Within:
    cdef int64_t most_ns                    # nanoseconds that the calls may take together
    cdef int64_t around, together_around    # what `deadline` and `together` of the thread were before the block


cdef class Cancellable:
    cdef object matcher             # owns `cancels`
    cdef const Cancels* cancels
    cdef const Py_ssize_t* around   # what this thread watched before the block
    cdef Py_ssize_t from_around


cdef class Explaining(Loading):
    cdef Within within
    cdef object explaining_around   # the meter of the explanation around this one, which a finalizer may make; or None
    cdef int64_t counted_around     # what `count` had counted for it


cdef inline size_t learned_bytes(Meter meter) noexcept nogil:
    return meter.regex_bytes + meter.lexer_bytes + meter.skeleton_bytes


# To be called at the beginning of a call.
cdef inline void start(Meter meter) noexcept nogil:
    meter.left = STEPS
    meter.started = 0
    meter.cancels = NULL


# Whether the call was cancelled whose matcher has these `cancels` (NULL: no).
cdef inline bint is_cancelled(const Cancels* cancels) noexcept nogil:
    return cancels != NULL and cancels.n != cancels.n_before


# Continue a call in another arena, with the time that it has left.
cdef inline int go_on(Meter meter, Meter call) except -1 nogil:
    if call.started == 0:
        call.look_at_clock()
    meter.left = call.left
    meter.started = call.started
    meter.cancels = call.cancels
    meter.most_ns = call.most_ns
    meter.derivations = NO_LIMIT
    meter.holds_lock = False
    return 0


# To be called before n steps of some nanoseconds each.
cdef inline int spend_steps(Meter meter, uint64_t n) except -1 nogil:
    if DEBUG and must_fail():
        return meter.fail()
    meter.left -= <int64_t> n
    if meter.left < 0:
        return meter.look()
    return 0


# Whether a limit is exceeded. All limits that are no times are compared here, so that tests can make each of them fail.
cdef inline bint exceeds(uint64_t value, uint64_t most) noexcept nogil:
    return value > most or (DEBUG and must_fail())
