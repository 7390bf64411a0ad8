"""The limits of one call, and the turns of other threads while a grammar is loaded.

Long loops count their steps, and the meter reads the clock every few thousand steps. A call of a matcher that ends
within the first few thousand steps never reads the clock. The first reading counts as the beginning of such a call, so
it may take longer than its limit by the time that those steps take.

The clock is the processor time of the calling thread: time in which the thread waits for the interpreter's lock, or in
which the processor runs other threads, is not counted. Time that the caller's own code sleeps is, see `outside`.

Loading holds the interpreter's lock (the GIL). The interpreter gives it away between two bytecodes when another thread
has waited for `sys.getswitchinterval()`, and runs the handlers of signals there. Compiled code has no bytecodes. So all
loops that load a grammar call `tick`: it runs some bytecodes every millisecond, and raises LimitError when the time is
used up.

Calls of matchers hold the lock only for short work, and where they parse a text for captures or explanations. If they
hold it, others have a turn when the clock is read. If they do not, and run in the main thread, they look every 10 ms
whether a signal has come: Ctrl-C ends them. They do not look while they have the lock of a vocabulary's parts: a handler
that makes a mask would wait for it without end.

A full garbage collection stops all threads while it visits all objects of the process. Loading a large grammar makes
so many objects that it would start several, the first one perhaps at once. They wait until the grammar is loaded: the
threshold of the oldest generation is raised in the meantime. Younger objects are collected, and at each turn, so that lists and dicts become
old while they are small: a collection visits all items of a young list at once.
"""

from cpython.pythread cimport PyThread_type_lock
from libc.stdint cimport uint64_t

import gc
import threading

from earleymask.earley._atomic cimport add, value_of

from earleymask.earley.errors import DeadlineError, LimitError, MatcherCancelledError
from earleymask.earley.limits import DEFAULT
from earleymask.earley.turns import turn

cdef extern from "Python.h":
    ctypedef struct PyInterpreterState:
        pass
    ctypedef struct PyThreadState:
        pass
    PyInterpreterState* PyInterpreterState_Get()
    PyThreadState* PyInterpreterState_ThreadHead(PyInterpreterState*)
    PyThreadState* PyThreadState_Next(PyThreadState*)
    int PyGILState_Check() nogil
    int PyErr_CheckSignals() except -1
    unsigned long PyThread_get_thread_ident() nogil
    int PyThread_acquire_lock_timed(PyThread_type_lock lock, long long microseconds, int intr_flag) nogil

cdef extern from *:
    """
    #include <time.h>
    #if defined(_WIN32)
    #include <windows.h>
    static inline long long earleymask_now(void) { return (long long)GetTickCount64() * 1000000LL + 1; }
    static inline long long earleymask_spent(void) { return earleymask_now(); }
    /* The shortest sleep takes longer here than the break that is wanted. */
    #define EARLEYMASK_HAS_BREAKS 0
    static inline void earleymask_sleep(long nanoseconds) { (void)nanoseconds; }
    #else
    #define EARLEYMASK_HAS_BREAKS 1
    static inline void earleymask_sleep(long nanoseconds) {
        struct timespec t = {0, nanoseconds};
        nanosleep(&t, NULL);
    }
    static inline long long earleymask_read(clockid_t clock) {
        struct timespec t;
        clock_gettime(clock, &t);
        return (long long)t.tv_sec * 1000000000LL + t.tv_nsec + 1;
    }
    static inline long long earleymask_now(void) { return earleymask_read(CLOCK_MONOTONIC); }
    #if defined(CLOCK_THREAD_CPUTIME_ID)
    static inline long long earleymask_spent(void) { return earleymask_read(CLOCK_THREAD_CPUTIME_ID); }
    #else
    static inline long long earleymask_spent(void) { return earleymask_now(); }
    #endif
    #endif
    #if defined(_MSC_VER)
    #define EARLEYMASK_OF_THREAD __declspec(thread)
    #else
    #define EARLEYMASK_OF_THREAD __thread
    #endif
    /* Some ten times as fast as a clock, but nobody knows how long a cycle is. */
    #if defined(__GNUC__) && defined(__x86_64__)
    #define EARLEYMASK_HAS_CYCLES 1
    static inline unsigned long long earleymask_cycles(void) { return __builtin_ia32_rdtsc(); }
    #else
    #define EARLEYMASK_HAS_CYCLES 0
    static inline unsigned long long earleymask_cycles(void) { return 0; }
    #endif
    static EARLEYMASK_OF_THREAD unsigned long long earleymask_last_look = 0;
    static EARLEYMASK_OF_THREAD long long earleymask_next_turn = 0;
    static EARLEYMASK_OF_THREAD long long earleymask_next_break = 0;
    static EARLEYMASK_OF_THREAD long long earleymask_free_since = 0;
    static EARLEYMASK_OF_THREAD size_t earleymask_own_making = 0;
    static EARLEYMASK_OF_THREAD PyObject *earleymask_current = NULL;
    static EARLEYMASK_OF_THREAD size_t earleymask_own_waiting = 0;
    static EARLEYMASK_OF_THREAD long long earleymask_collecting_since = 0;
    static EARLEYMASK_OF_THREAD long long earleymask_taken = 0;
    static EARLEYMASK_OF_THREAD long long earleymask_most_taken = -1;
    static EARLEYMASK_OF_THREAD PyObject *earleymask_bearer = NULL;
    static EARLEYMASK_OF_THREAD long long earleymask_deadline = 0;
    static EARLEYMASK_OF_THREAD long long earleymask_together = 0;
    static EARLEYMASK_OF_THREAD long long earleymask_counted = 0;
    static EARLEYMASK_OF_THREAD PyObject *earleymask_explaining = NULL;
    static EARLEYMASK_OF_THREAD long long earleymask_ahead_until = 0;
    static EARLEYMASK_OF_THREAD const int *earleymask_ahead_stopped = NULL;
    static EARLEYMASK_OF_THREAD int earleymask_gave_way = 0;
    static EARLEYMASK_OF_THREAD long long earleymask_due = 0;
    static EARLEYMASK_OF_THREAD const Py_ssize_t *earleymask_watched = NULL;
    static EARLEYMASK_OF_THREAD Py_ssize_t earleymask_watched_from = 0;
    """
    bint HAS_BREAKS "EARLEYMASK_HAS_BREAKS"
    # Sleep for less than a second; look at no signals.
    void sleep "earleymask_sleep"(long nanoseconds) noexcept nogil
    # Nanoseconds of a monotonic clock, never 0.
    int64_t now "earleymask_now"() noexcept nogil
    # Nanoseconds of processor time of this thread, never 0; of a monotonic clock where the system does not count them.
    int64_t spent "earleymask_spent"() noexcept nogil
    bint HAS_CYCLES "EARLEYMASK_HAS_CYCLES"
    uint64_t cycles "earleymask_cycles"() noexcept nogil
    # Of this thread: when `tick` looked at the clock last, by `cycles`.
    uint64_t last_look "earleymask_last_look"
    # Of this thread: when its next turn is due by `now`, and the meter of what it loads (owned; NULL: nothing).
    int64_t next_turn "earleymask_next_turn"
    # Of this thread: when `give_way` waits next, by `now`.
    int64_t next_break "earleymask_next_break"
    # Of this thread: when it last went on without the GIL after it had made rules, by `now`; 0: it has made none.
    int64_t free_since "earleymask_free_since"
    # Of this thread: its part of `n_making`.
    size_t own_making "earleymask_own_making"
    PyObject* current "earleymask_current"
    # Of this thread: its part of `n_waiting`.
    size_t own_waiting "earleymask_own_waiting"
    # Of this thread: when the full garbage collection that runs in it began, by `spent`; 0: none does.
    int64_t collecting_since "earleymask_collecting_since"
    # Of this thread: the meter for which `take` counts (borrowed; NULL: none), the bytes that it has counted, and the most
    # that it may count (-1: there is no such meter).
    PyObject* bearer "earleymask_bearer"
    int64_t taken_bytes "earleymask_taken"
    int64_t most_taken_bytes "earleymask_most_taken"
    # Of this thread: when the calls within a `Within` must have ended, by `spent` (0: there is none), and the nanoseconds
    # that they may take together.
    int64_t deadline "earleymask_deadline"
    int64_t together "earleymask_together"
    # Of this thread: the meter of the explanation that it makes (borrowed; NULL: none), and the bytes that `count` has
    # counted for it.
    PyObject* explaining "earleymask_explaining"
    int64_t counted "earleymask_counted"
    # Of this thread: until when it works ahead, by `spent` (0: it does not), what becomes 1 if it has to stop before, and
    # whether it has given way, or ended so.
    int64_t ahead_until "earleymask_ahead_until"
    const int* ahead_stopped "earleymask_ahead_stopped"
    bint gave_way "earleymask_gave_way"
    # Of this thread: when its mask is due, by `now` (0: it has no deadline).
    int64_t due "earleymask_due"
    # Of this thread: how often its call, which consists of several, was cancelled (NULL: there is no such call), and how often
    # when it began.
    const Py_ssize_t* watched "earleymask_watched"
    Py_ssize_t watched_from "earleymask_watched_from"


# How many threads that work without the GIL have it to make rules, or wait for it.
cdef size_t n_making = 0

# How many threads wait for a lock that another one holds, and do not work ahead.
cdef size_t n_wanting = 0

# How many masks, not remembered before, this process has made for those who asked for them.
cdef size_t n_masks = 0

# The thread that runs the handlers of signals.
cdef unsigned long main_thread = threading.main_thread().ident

# Loadings for which full garbage collections wait, since when, and the collector's threshold for the
# oldest generation before.
cdef size_t n_waiting = 0
cdef int64_t waiting_since = 0
cdef int oldest = NEVER


cdef class Meter:
    """The limits of one grammar, and how much of them the current call has used. Needs the engine's lock."""

    def __cinit__(self):
        self.use(DEFAULT)
        start(self)
        self.most_ns = self.derivations = NO_LIMIT      # until its grammar is finished
        self.holds_lock = True
        self.most_taken = NO_LIMIT

    cdef int use(self, object limits) except -1:
        self.limits = limits
        self.most_ns = nanoseconds(limits.seconds)
        self.most_derivations = limits.derivations
        self.derivations = limits.derivations
        self.most_symbols = min(limits.symbols, 0xFFFFFFF0)
        self.most_lexer_states = min(limits.lexer_states, 0xFFFFFFF0)
        self.most_regex_nodes = min(limits.regex_nodes, 0xFFFFFFF0)
        self.most_row_items = min(limits.row_items, 0xFFFFFFF0)
        self.most_grammar_bytes = NO_LIMIT              # until the grammar is finished: see `Engine.allow`
        self.most_matcher_bytes = limits.matcher_bytes
        return 0

    cdef int look(self) except -1 nogil:
        self.left = STEPS
        if self.holds_lock:
            with gil:
                return tick()
        self.look_at_clock()
        if due:
            self.left = STEPS_AHEAD
        if ahead_until:
            self.left = STEPS_AHEAD
            if (must_give_way() or ahead_stopped[0] or spent() > ahead_until) and not PyGILState_Check():
                with gil:
                    return give_way_to_others()
        if PyGILState_Check():
            with gil:                                   # such as the parser of captures and of explanations
                if turn_is_due():
                    let_others_run()
        elif not self.defers_signals and spent() > self.signals_due and PyThread_get_thread_ident() == main_thread:
            with gil:                                   # no other thread runs their handlers
                look_at_signals()
            self.signals_due = spent() + SIGNALS_NS
        return 0

    cdef int look_at_clock(self) except -1 nogil:
        cdef int64_t time = spent()
        if self.started == 0:
            self.started = time
            self.signals_due = time + SIGNALS_NS
        elif time - self.started > self.most_ns:
            with gil:
                self.exceed_time()
        if deadline and time > deadline:
            with gil:
                exceed_together()
        if is_cancelled(self.cancels) or is_over():
            with gil:
                end_early()
        return 0

    cdef int exceeded(self, str limit, str what) except -1:
        value = getattr(self.limits, limit)
        error = LimitError(f"{what} than the limit {limit}={value}; simplify the grammar, or give it "
                           f"limits=Limits({limit}=...)")
        error.limit = limit
        raise error

    cdef int exceed_time(self) except -1:
        if self.what:
            return self.exceeded(self.time_limit, f"{self.what} takes longer")
        # (An arena that goes on with a call has the time of that call, and other limits.)
        return exceed_seconds(self.most_ns)

    cdef int exceed_bytes(self) except -1:
        if self.what:
            return self.exceeded(self.taken_limit, f"{self.what} takes more memory")
        return self.exceeded(self.taken_limit, "what the text adds to the grammar takes more memory")

    cdef int fail(self) except -1 nogil:
        with gil:
            self.exceed_time()


cdef bint is_over() noexcept nogil:
    """Return whether the call of this thread must end before it is done: its mask is due, or it was cancelled."""
    return (due and now() > due) or (watched != NULL and watched[0] != watched_from)


cdef int end_early() except -1:
    if due and now() > due:
        raise DeadlineError("the mask was due before it was complete")
    raise MatcherCancelledError("the call was cancelled by Matcher.cancel; nothing has changed")


cdef int check_bounds() except -1:
    if deadline and spent() > deadline:
        exceed_together()
    if is_over():
        end_early()
    return 0


cdef int64_t set_due(int64_t time) noexcept nogil:
    """Let the masks of this thread be due at a time by `wall_clock`, or at any time with 0. Return what was set before."""
    global due
    cdef int64_t before = due
    due = time
    return before


cdef Bounds lift_bounds() noexcept:
    """Lift the bounds of this thread's calls, for code that is not part of them."""
    global deadline, due, watched
    cdef Bounds bounds
    bounds.deadline, bounds.due, bounds.watched, bounds.watched_from = deadline, due, watched, watched_from
    deadline = due = 0
    watched = NULL
    return bounds


cdef void set_bounds(Bounds bounds) noexcept:
    """Set the bounds that `lift_bounds` has returned."""
    global deadline, due, watched, watched_from
    deadline, due, watched, watched_from = bounds.deadline, bounds.due, bounds.watched, bounds.watched_from


cdef int exceed_together() except -1:
    return exceed_seconds(together)


cdef int exceed_seconds(int64_t most_ns) except -1:
    error = LimitError(f"the call takes longer than the limit seconds={most_ns / 1e9:g}; simplify the grammar, or give it "
                       "limits=Limits(seconds=...)")
    error.limit = "seconds"
    raise error


cdef int look_at_signals() except -1:
    """Run the handlers of signals. The time of this call does not bound the calls that they make."""
    cdef Bounds bounds = lift_bounds()
    try:
        PyErr_CheckSignals()
    except Exception as error:
        try:
            error._is_of_handler = True                 # see `ends_sequence` in errors.py
        except Exception:                               # such errors have no place for it
            pass
        raise
    finally:
        set_bounds(bounds)
    return 0


cdef int64_t nanoseconds(double seconds) noexcept:
    return <int64_t> min(seconds * 1e9, 9e18)


# For tests: the checks before the one that fails (negative: none fails), how many have failed, and whether all checks
# after it fail as well.
cdef long long CHECKS_LEFT = -1, CHECKS_FAILED = 0
cdef bint LASTING = False


cdef bint must_fail() noexcept nogil:
    global CHECKS_LEFT, CHECKS_FAILED
    if CHECKS_LEFT < 0:
        return False
    if CHECKS_LEFT > 0:
        CHECKS_LEFT -= 1
        return False
    if not LASTING:
        CHECKS_LEFT = -1
    CHECKS_FAILED += 1
    return True


def fail_checks(after, *, lasting=False) -> int:
    """Let the next `after` checks of limits succeed and the one after them fail; with `lasting`, all later ones too.

    With None, no check fails. Return how many have failed since the last call. For tests. Raises RuntimeError in a
    release build, where nothing would ever fail.
    """
    global CHECKS_LEFT, CHECKS_FAILED, LASTING
    if not DEBUG:
        raise RuntimeError("checks of limits fail on demand in a debug build only: build with EARLEYMASK_DEBUG=1")
    CHECKS_LEFT = -1 if after is None else after
    LASTING = lasting
    n_failed, CHECKS_FAILED = CHECKS_FAILED, 0
    return n_failed


cpdef int take(int64_t n_bytes) except -1:
    """Count so many bytes that what this thread loads is about to take, or gives back if the number is negative.

    Raise LimitError, and count nothing, if that is more than `Limits.load_bytes` allows. The tables of the core that
    grow count themselves. The loaders estimate the size of objects of Python.
    """
    if n_bytes >= 0:
        return take_here(n_bytes)
    give_back(-n_bytes)
    return 0


cpdef int count(int64_t n_bytes) except -1:
    """Count so many bytes that the explanation of this thread is about to take for Python objects, by an estimate, or
    gives back if the number is negative. Raise LimitError, and count nothing, if that is more than
    `Limits.matcher_bytes`. Call `tick` first."""
    global counted
    tick()
    if explaining != NULL:
        if exceeds(max(counted + n_bytes, 0), (<Meter> explaining).most_matcher_bytes):
            return (<Meter> explaining).exceed_bytes()
        counted += n_bytes
    return 0


cdef size_t n_taken() noexcept nogil:
    return taken_bytes if most_taken_bytes >= 0 else 0


cdef int take_here(size_t n_bytes) except -1 nogil:
    global taken_bytes
    if most_taken_bytes < 0:
        return 0
    if exceeds(taken_bytes + n_bytes, most_taken_bytes):
        with gil:
            return (<Meter> bearer).exceed_bytes()
    taken_bytes += n_bytes
    return 0


cdef void give_back(size_t n_bytes) noexcept nogil:
    global taken_bytes
    if most_taken_bytes >= 0:                       # what was taken before the loading may be given back in it
        taken_bytes = max(taken_bytes - <int64_t> n_bytes, 0)


cpdef int tick() except -1:
    """Let other threads and the handlers of signals run if a millisecond has passed since they did. Raise LimitError if
    what this thread loads takes longer than its limit.

    Every loop that loads a grammar and may run for longer than a millisecond calls this, from Python or holding the
    interpreter's lock. It takes some ten nanoseconds, and some dozens where it must look at the clock each time.
    """
    global last_look
    cdef uint64_t time = cycles()
    if DEBUG and current != NULL and must_fail():
        return (<Meter> current).fail()
    # PERF: reading the clock at each call took 5% of the time of batches of new schemas.
    if HAS_CYCLES and time - last_look < CYCLES_BETWEEN_LOOKS:
        return 0
    last_look = time
    if now() < next_turn:
        return 0
    return take_turn()


cdef int take_turn() except -1:
    global most_taken_bytes
    cdef int64_t worked = spent(), waited = now(), most = most_taken_bytes
    cdef Bounds bounds = lift_bounds()
    most_taken_bytes = -1               # what finalizers free, and what handlers of signals take, is not of this loading
    try:
        turn()
        give_way()
    finally:
        most_taken_bytes = most
        set_bounds(bounds)
    worked = spent() - worked
    waited = now() - waited - worked
    if current != NULL:
        # A thread that waits for the lock wakes up every few milliseconds, which is no work of the loading. What is
        # left, such as garbage collection, is.
        if (<Meter> current).started:
            (<Meter> current).started += min(worked, max(waited, 0) // 20)
        (<Meter> current).look_at_clock()   # if this raises, so does `tick` when it reads the clock next
        if (<Meter> current).turns_left:
            (<Meter> current).turns_left -= 1
        elif (<Meter> current).kept is not None and gc.isenabled():
            gc.collect(1)                   # otherwise a list may have a million items when it is visited first
    return plan_turn()


cdef int pause() except -1 nogil:
    """Call `tick` if this thread has the interpreter's lock: for long work of C that matching does without it."""
    if PyGILState_Check():
        with gil:
            tick()
    return 0


cpdef int keep(object one) except -1:
    """Free an object in pieces when the loading of this thread ends, unless something else refers to it then."""
    if current != NULL and (<Meter> current).kept is not None:
        (<Meter> current).kept.append(one)
    return 0


cpdef int keep_circular(object one) except -1:
    """Drop all references of an object, which is in a circle, when the loading of this thread ends, and free in pieces
    what they refer to, unless something else does."""
    if current != NULL and (<Meter> current).circular is not None:
        (<Meter> current).circular.append(one)
    return 0


def collecting(str phase, dict info) -> None:
    """Do not count a full garbage collection, which visits all objects of the process, as time of the call in which it
    happens. (`gc.callbacks` has this function while a call runs Python code.)"""
    global collecting_since
    if current == NULL or info["generation"] != 2:
        return
    if phase == "start":
        collecting_since = spent()
    elif collecting_since:
        if (<Meter> current).started:
            (<Meter> current).started += spent() - collecting_since
        collecting_since = 0


cdef int give_way() except -1:
    """Do without the interpreter's lock for a moment, if there are other threads and 7 ms have passed since the last time.

    A thread that waits for the lock asks for it when nobody has released it for 5 ms. The core releases it for
    microseconds whenever it goes from Python's objects to its own work. That wakes the waiting thread too late, and it
    waits another 5 ms before it asks: again and again, for 50 ms and more."""
    global next_break
    cdef int64_t time
    if not HAS_BREAKS:
        return 0
    time = now()
    if time < next_break:
        return 0
    if time < next_break + 4 * BREAK_NS:                    # otherwise something new has begun
        if PyThreadState_Next(PyInterpreterState_ThreadHead(PyInterpreterState_Get())) != NULL:
            with nogil:
                sleep(LENGTH_OF_BREAK_NS)
            time = now()
    next_break = time + BREAK_NS
    return 0


cdef int let_others_run() except -1:
    """Do what `tick` does when a turn is due, but look at no limit."""
    cdef Bounds bounds = lift_bounds()
    plan_turn()
    try:
        turn()
        give_way()
    finally:
        set_bounds(bounds)
    return plan_turn()


cdef bint turn_is_due() noexcept:
    return now() >= next_turn


cdef int64_t clock() noexcept nogil:
    """Return the processor time of this thread in nanoseconds."""
    return spent()


cdef int64_t wall_clock() noexcept nogil:
    return now()


cdef void rest(long nanoseconds) noexcept nogil:
    sleep(nanoseconds)


cdef void count_asked() noexcept nogil:
    add(&n_masks, 1)


def masks_asked() -> int:
    """Return how many masks, not remembered before, this process has made for those who asked for them."""
    return value_of(&n_masks)


cdef void work_ahead(int64_t until, const int* stopped) noexcept nogil:
    global ahead_until, ahead_stopped, gave_way
    ahead_until = until
    ahead_stopped = stopped
    gave_way = False


cdef bint must_give_way() noexcept nogil:
    return value_of(&n_wanting) > 0


cdef bint has_given_way() noexcept nogil:
    return gave_way


cdef int give_way_to_others() except -1:
    global gave_way
    gave_way = True
    error = LimitError("what was being made ahead gives way to a mask that is asked for")
    error.limit = "seconds"
    raise error


cdef bint begin_making() noexcept nogil:
    """To be called before a thread takes the GIL to make rules: wait a little if another thread makes some. Return
    whether `end_making` must be called afterwards; not if the thread has the GIL already.

    A thread that waits for the GIL sleeps. When it wakes up, a thread that makes many rules one after the other has taken
    the GIL again."""
    global next_break, own_making
    cdef int64_t begin
    if PyGILState_Check():
        return False
    begin = now()
    if free_since and begin - free_since > LONG_ENOUGH_NS:
        next_break = begin + BREAK_NS                       # another thread could take the GIL
    while value_of(&n_making) and now() < begin + MOST_SPINNING_NS:
        pass
    add(&n_making, 1)
    own_making += 1
    return True


cdef void end_making() noexcept nogil:
    global free_since, own_making
    add(&n_making, <size_t> -1)
    own_making -= 1
    free_since = now()


cdef bint wait_for(PyThread_type_lock lock, int64_t microseconds) noexcept nogil:
    cdef bint is_taken
    if not ahead_until:
        add(&n_wanting, 1)
    is_taken = PyThread_acquire_lock_timed(lock, microseconds, 0) == 1
    if not ahead_until:
        add(&n_wanting, <size_t> -1)
    return is_taken


cdef int wait_within(PyThread_type_lock lock, const Cancels* cancels) except -1 nogil:
    """Do the same until the call of this thread must end early."""
    cdef int64_t slice_ns = CANCEL_NS if cancels != NULL or watched != NULL else -1
    if due:
        slice_ns = min(max(due - now(), 0), CANCEL_NS)
    while not wait_for(lock, slice_ns // 1000 if slice_ns >= 0 else -1):
        if is_cancelled(cancels) or is_over():
            with gil:
                end_early()
    return 0


cdef int plan_turn() except -1:
    global next_turn
    next_turn = now() + TURN_NS
    if n_waiting and next_turn - waiting_since > <int64_t> MOST_WAITING_SECONDS * 1_000_000_000:
        collect_again()
    return 0


cdef int begin_waiting() except -1:
    """Let full garbage collections wait until `end_waiting` is called as often as this."""
    global n_waiting, own_waiting, waiting_since, oldest
    if n_waiting == 0:
        waiting_since = now()
        first, second, third = gc.get_threshold()
        if third != NEVER:      # else a program has saved and restored thresholds of ours, or wants no full collections
            oldest = third
        gc.set_threshold(first, second, NEVER)
    n_waiting += 1
    own_waiting += 1
    return 0


cdef int end_waiting() except -1:
    global n_waiting, own_waiting
    n_waiting -= 1
    own_waiting -= 1
    if n_waiting == 0:
        collect_again()
    return 0


cdef int forget_loadings() except -1:
    """In the child of a fork: do not count the loadings of other threads, which have not come along."""
    global n_waiting, n_wanting, n_making, main_thread
    n_wanting = 0
    n_making = own_making
    main_thread = PyThread_get_thread_ident()
    if n_waiting > own_waiting:
        n_waiting = own_waiting
        if n_waiting == 0:
            collect_again()
    return 0


cdef int collect_again() except -1:
    """Set the collector's threshold for the oldest generation as it was, unless others have changed it in the meantime."""
    first, second, third = gc.get_threshold()
    if third == NEVER:
        gc.set_threshold(first, second, oldest)
    return 0


cdef class Loading:
    """`with Loading(limits, what):` begins to count the time of this thread for `tick`, until the block ends.

    A `with` statement calls `__enter__` and `__exit__` without a bytecode in between at which the handler of a signal
    could run. So each block that has begun to count ends it, whatever such a handler raises.
    """

    def __cinit__(self, limits, str what="loading the grammar"):
        self.meter = Meter()
        self.meter.use(limits)
        self.most_ns = nanoseconds(limits.load_seconds)
        self.meter.most_ns = self.most_ns // 11 * 10        # the rest is for freeing what has been loaded
        self.meter.what = what
        self.meter.time_limit = "load_seconds"
        self.meter.taken_limit = "load_bytes"
        self.meter.most_taken = limits.load_bytes
        self.meter.kept = []
        self.meter.circular = []
        self.around = None

    def __enter__(self):
        """Begin to count."""
        global next_turn
        begin_waiting()
        next_turn = now() + TURN_NS
        self.meter.turns_left = TURNS_BEFORE_LONG
        self.meter.started = spent()
        self.around = enter(self.meter)
        return self

    @property
    def kept(self):
        """What `keep` has been called with."""
        return self.meter.kept

    @property
    def taken(self):
        """Bytes that `take` has counted. To be read within the block, and not within another one in it."""
        return taken_bytes

    @property
    def circular(self):
        """What `keep_circular` has been called with."""
        return self.meter.circular

    def left_ns(self):
        """Return how many nanoseconds of its time are left, with those for freeing; a negative number if none are."""
        cdef int64_t left = self.most_ns - (spent() - self.meter.started)
        return min(left, deadline - spent() + together // 11) if deadline else left

    def free(self, error):
        """Free what has been loaded and is not needed any more. Called at the end of a block that took long.

        `error`: what has ended the block, or None.
        """

    def end(self, error):
        """Do what remains to be done when the time is not counted any more. `error` as in `free`."""

    def __exit__(self, kind, error, trace):
        """Count for the block around this one again."""
        try:
            # By its turns or, since a block in it has turns of its own, by the time.
            if self.meter.turns_left == 0 or spent() - self.meter.started > TURNS_BEFORE_LONG * TURN_NS:
                self.free(error)
        finally:
            end_waiting()
            leave(self.around)
            self.around = None
        self.end(error)


cdef class Within:
    """`with Within(seconds):` bounds the time of all calls that this thread makes in the block by so many seconds
    together. Each of them raises the LimitError of a call that takes longer than `Limits.seconds`.

    Within another such block, whichever ends first counts."""

    def __cinit__(self, double seconds):
        self.most_ns = nanoseconds(seconds)

    def __enter__(self):
        """Begin to count."""
        global deadline, together
        self.around, self.together_around = deadline, together
        deadline = spent() + self.most_ns
        together = self.most_ns
        if self.around:
            deadline = min(deadline, self.around)
            together = self.together_around
        return self

    def __exit__(self, kind, error, trace):
        """Count for the block around this one again."""
        global deadline, together
        deadline, together = self.around, self.together_around


cdef class Cancellable:
    """`with Cancellable(matcher, cancels):` ends the calls of this thread in the block if the matcher is cancelled.

    Within another such block, only the inner matcher counts."""

    def __enter__(self):
        """Begin to watch."""
        global watched, watched_from
        self.around, self.from_around = watched, watched_from
        watched = &self.cancels.n
        watched_from = self.cancels.n
        return self

    def __exit__(self, kind, error, trace):
        """Watch again what was watched before."""
        global watched, watched_from
        watched, watched_from = self.around, self.from_around


cdef Cancellable cancellable(object matcher, const Cancels* cancels):
    cdef Cancellable made = Cancellable.__new__(Cancellable)
    made.matcher = matcher
    made.cancels = cancels
    return made


def seconds_left() -> float:
    """Return how many seconds are left to the calls within the `Within` of this thread; a large number without one."""
    return (deadline - spent()) / 1e9 if deadline else 1e9


cdef class Explaining(Loading):
    """`with Explaining(limits, what):` bounds the time of the block by `limits.seconds`, with that of the calls and
    loadings in it, and what `count` counts by `limits.matcher_bytes`: for explanations and captures."""

    def __cinit__(self, limits, str what="the explanation"):
        self.most_ns = nanoseconds(limits.seconds)
        self.within = Within(limits.seconds)
        self.meter.most_ns = NO_LIMIT                       # the deadline bounds it
        self.meter.time_limit = "seconds"
        self.meter.taken_limit = "matcher_bytes"
        self.meter.most_taken = NO_LIMIT                    # the tables of the core have limits of their own

    def __enter__(self):
        """Begin to count."""
        global deadline, explaining, counted
        Loading.__enter__(self)
        self.within.__enter__()
        self.explaining_around = None if explaining == NULL else <object> explaining
        self.counted_around = counted
        explaining = <PyObject*> self.meter
        counted = 0
        deadline -= self.most_ns // 11                      # which is for freeing what has been made
        return self

    def __exit__(self, kind, error, trace):
        """Count for the block around this one again."""
        global explaining, counted
        explaining = NULL if self.explaining_around is None else <PyObject*> self.explaining_around
        counted = self.counted_around
        self.within.__exit__(None, None, None)
        Loading.__exit__(self, kind, error, trace)


cdef object enter(Meter meter):
    """Let `tick` look at this meter in this thread. Return what `leave` needs afterwards."""
    global current, bearer, taken_bytes, most_taken_bytes
    around = None if current == NULL else <object> current
    Py_INCREF(meter)
    Py_XDECREF(current)
    current = <PyObject*> meter
    meter.n_entered += 1
    if meter.n_entered == 1 and meter.most_taken != NO_LIMIT:
        meter.around = bearer
        meter.taken_around = taken_bytes
        bearer = current
        taken_bytes = 0
        most_taken_bytes = meter.most_taken
    return around


cdef int leave(object around) except -1:
    """Let `tick` look at the meter that it looked at before; `around` is what `enter` has returned."""
    global current, bearer, taken_bytes, most_taken_bytes
    cdef PyObject* meter = current
    (<Meter> meter).n_entered -= 1
    if (<Meter> meter).n_entered == 0 and bearer == meter:
        bearer = (<Meter> meter).around
        taken_bytes += (<Meter> meter).taken_around     # what is loaded within a loading is part of it
        most_taken_bytes = (<Meter> bearer).most_taken if bearer != NULL else -1
    current = NULL
    if around is not None:
        Py_INCREF(around)
        current = <PyObject*> around
    Py_XDECREF(meter)
    return 0


def outside(function, *arguments):
    """Call a function of the caller's own, or one that reads a file. The time that it sleeps or waits counts."""
    cdef int64_t waited = now() - spent()
    try:
        return function(*arguments)
    finally:
        if current != NULL:
            (<Meter> current).started -= max(now() - spent() - waited, 0)
