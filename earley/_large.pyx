"""Free large structures of Python objects in pieces, so that other threads can run in between; tables that grow so.

The last reference to a list of a million objects frees all of them at once, and everything that only they refer to.
That takes a tenth of a second, in which no other thread runs. `free` does the same from the outside to the inside: it
takes references to the parts of an object, frees the object, which then frees no part, and continues with the parts. Of
long lists, dicts and sets it takes some items at a time.

If that takes longer than the caller can wait, a thread of its own frees the rest, and sleeps a little after each
millisecond, so that other threads hardly wait for it.
"""

from threading import Event, Thread
from time import sleep

from cpython.object cimport PyObject
from cpython.ref cimport Py_XDECREF
from cpython.set cimport PySet_Add

from libc.stdint cimport int64_t, uint64_t

from earleymask.earley._meter cimport (
    NO_LIMIT, begin_waiting, clock, end_waiting, give_way, let_others_run, plan_turn, tick, turn_is_due,
)

cdef extern from "Python.h":
    frozenset PyFrozenSet_New(void* items)
    void PyObject_GC_UnTrack(object one)
    bint PyObject_GC_IsTracked(object one)

cdef extern from *:
    """
    #if defined(Py_GIL_DISABLED)
    #define EARLEYMASK_ONLY_ONE(o) 0
    #else
    #define EARLEYMASK_ONLY_ONE(o) (Py_REFCNT(o) == 1)
    #endif

    /* References to objects that are to be freed. */
    typedef struct { PyObject **items; size_t n, capacity; } earleymask_stack;

    /* Push an object, and a reference to it. Without memory for that, it is freed with what refers to it. */
    static void earleymask_push(earleymask_stack *stack, PyObject *one) {
        if (stack->n == stack->capacity) {
            size_t capacity = stack->capacity * 2 + 64;
            PyObject **items = (PyObject **)PyMem_RawRealloc(stack->items, capacity * sizeof(PyObject *));
            if (items == NULL) return;
            stack->items = items;
            stack->capacity = capacity;
        }
        Py_INCREF(one);
        stack->items[stack->n++] = one;
    }

    /* For tp_traverse: push a part if nothing else refers to it and it may have parts of its own. */
    static int earleymask_visit(PyObject *part, void *stack) {
        if (EARLEYMASK_ONLY_ONE(part) && PyObject_IS_GC(part)) earleymask_push((earleymask_stack *)stack, part);
        return 0;
    }

    /* The same, whatever refers to the part. */
    static int earleymask_visit_any(PyObject *part, void *stack) {
        if (PyObject_IS_GC(part) && !PyType_Check(part)) earleymask_push((earleymask_stack *)stack, part);
        return 0;
    }

    /* Push the parts of an object to which nothing else refers. */
    static void earleymask_push_parts(PyObject *whole, earleymask_stack *stack) {
        traverseproc traverse = Py_TYPE(whole)->tp_traverse;
        if (traverse != NULL && PyObject_IS_GC(whole)) traverse(whole, earleymask_visit, stack);
    }

    /* Push all parts of an object, and drop the references that it has to them. */
    static void earleymask_clear(PyObject *whole, earleymask_stack *stack) {
        PyTypeObject *type = Py_TYPE(whole);
        if (type->tp_traverse == NULL || type->tp_clear == NULL || !PyObject_IS_GC(whole)) return;
        type->tp_traverse(whole, earleymask_visit_any, stack);
        type->tp_clear(whole);
    }

    /* Move items of a tuple, to which nothing else refers, to a list. */
    static int earleymask_move_items(PyObject *whole, Py_ssize_t begin, Py_ssize_t end, PyObject *found) {
        PyObject_GC_UnTrack(whole);
        for (Py_ssize_t i = begin; i < end; i++) {
            PyObject *item = PyTuple_GET_ITEM(whole, i);
            if (PyList_Append(found, item) < 0) return -1;
            PyTuple_SET_ITEM(whole, i, NULL);
            Py_DECREF(item);
        }
        return 0;
    }
    """
    ctypedef struct Stack "earleymask_stack":
        PyObject** items
        size_t n
    bint only_one "EARLEYMASK_ONLY_ONE"(PyObject* one) noexcept
    void push "earleymask_push"(Stack* stack, object one) noexcept
    void push_parts "earleymask_push_parts"(object whole, Stack* stack) noexcept
    void clear "earleymask_clear"(object whole, Stack* stack) noexcept
    int move_items "earleymask_move_items"(object whole, Py_ssize_t begin, Py_ssize_t end, list found) except -1
    void PyMem_RawFree(void* memory) noexcept

cdef enum:
    PIECE = 1 << 12             # items of one list, tuple, dict or set that are freed at once: it takes less than 1 ms
    MOST_AT_FIRST = 1 << 15     # items of the first dict of a table: to enlarge one of so many takes about 1 ms
    N_PARTS = 61                # other dicts of a table
    MOST_HELPERS = 4            # threads that free something at a time

# Seconds for which the thread of its own sleeps after each turn: those who wait for the interpreter's lock get it.
cdef double REST_SECONDS = 1e-4
# The threads that free what calls of `free` have left, some that did, and one that begins.
cdef list helpers = []


def free(list given, circular=(), nanoseconds=None):
    """Empty a list, and free its items in pieces, with all to which nothing else refers.

    `circular`: objects in circles of references, whose references are dropped, whatever refers to them.
    `nanoseconds`: of processor time of this thread. Then a thread of its own frees the rest, unless four such threads
    still free what earlier calls have left: so the objects of at most four calls wait. None: this thread frees all.

    What a handler of a signal raises in the meantime is raised as soon as the rest has been left to that thread.
    """
    cdef int64_t until = NO_LIMIT if nanoseconds is None else clock() + <int64_t> min(nanoseconds, 1 << 60)
    cdef Freeing freeing = Freeing()
    for one in circular:
        clear(one, &freeing.stack)
    for one in given:
        push(&freeing.stack, one)
    one = None
    given.clear()
    freeing.run(until)
    if freeing.stack.n:
        leave_rest(freeing)
    if freeing.error is not None:
        raise freeing.error


cdef int free_quietly(list given) except -1:
    """Empty a list, and free its items in pieces, in a finalizer. That may run anywhere: look at no signals, and begin no
    thread."""
    cdef Freeing freeing = Freeing()
    freeing.is_quiet = True
    for one in given:
        push(&freeing.stack, one)
    one = None
    given.clear()
    return freeing.run(NO_LIMIT)


cdef bint is_only_one(object one) noexcept:
    """Return whether nothing refers to an object but the variable of the caller. In a finalizer: whether the last reference
    is gone; the garbage collector calls finalizers before it drops any."""
    return only_one(<PyObject*> one)


cdef int leave_rest(Freeing freeing) except -1:
    """Let a thread of its own free the rest if there are not too many yet."""
    begun = Event()
    helper = Thread(target=freeing.run_aside, args=(begun,), name="earleymask frees what it loaded", daemon=True)
    for one in list(helpers):
        if one.ident is not None and not one.is_alive() and one in helpers:
            helpers.remove(one)
    if len(helpers) < MOST_HELPERS:
        helpers.append(helper)                              # before `start`, which lets other threads come here
        try:
            helper.start()
            begun.wait()
            return 0
        except RuntimeError:                                # the system, or an interpreter that ends, has no more
            pass
        finally:
            if helper.ident is None:
                helpers.remove(helper)
    while freeing.stack.n:                                  # an interrupt ends `run`
        freeing.run(NO_LIMIT)
    return 0


def frozen_in_pieces(items) -> frozenset:
    """Return the set of many items."""
    cdef frozenset found = PyFrozenSet_New(NULL)
    cdef Py_ssize_t n = 0
    for item in items:
        PySet_Add(found, item)
        n += 1
        if not n % PIECE:
            tick()
    return found


cpdef int untrack(one) except -1:
    """Tell the garbage collector not to visit an object: a large tuple or list, which it would visit all at once, or one of
    very many. Its parts must refer to nothing that could refer to it; numbers and texts do not."""
    if PyObject_GC_IsTracked(one):
        PyObject_GC_UnTrack(one)
    return 0


cpdef int untrack_tuples(one) except -1:
    """Call `untrack` for a tuple, the tuples in it, and so on: it takes as many calls in one another as they have levels."""
    if PyObject_GC_IsTracked(one):
        PyObject_GC_UnTrack(one)
        for part in <tuple> one:
            if isinstance(part, tuple):
                untrack_tuples(part)
    return 0


cdef class Table:
    """Values by key, as in a dict, but it grows in pieces: Python enlarges a dict of a million items at once.

    The first keys are in one dict, the others in many small ones. No value is None.
    """

    def __cinit__(self):
        self.first = {}

    def __len__(self):
        return len(self.first) + (0 if self.others is None else sum([len(part) for part in self.others]))

    cpdef get(self, key):
        """Return the value of a key; None if there is none."""
        value = self.first.get(key)
        if value is None and self.others is not None:
            value = self.part(key).get(key)
        return value

    def __setitem__(self, key, value not None):
        self.part_for(key)[key] = value

    cdef dict part_for(self, key):
        """Return the dict that is to have this key."""
        if self.others is None and len(self.first) == MOST_AT_FIRST:
            self.others = [{} for _ in range(N_PARTS)]
        return self.first if self.others is None or key in self.first else self.part(key)

    cdef dict part(self, key):
        """Return the one of the other dicts that has this key, if any has."""
        cdef uint64_t code = <uint64_t> <int64_t> hash(key)
        return <dict> self.others[<Py_ssize_t> ((code ^ code >> 11 ^ code >> 32) % N_PARTS)]


cdef class Unvisited(Table):
    """A `Table` whose keys and values the garbage collector does not visit. Keys are tuples or frozensets; they and the
    values must refer to nothing that could refer to the table."""

    def __setitem__(self, key, value not None):
        cdef dict part = self.part_for(key)
        untrack(key)
        part[key] = value
        untrack(part)                                       # after each item: it makes the dict one that is visited


cdef class Freeing:
    """What `free` still has to free."""
    cdef Stack stack            # what is to be freed, unless something else refers to it
    cdef int64_t until          # when to leave the rest to a thread of its own, by the clock `clock`
    cdef bint is_late           # whether that is now
    cdef object error           # what the handler of a signal has raised
    cdef bint is_aside          # whether this runs in a thread of its own
    cdef bint is_quiet          # whether it runs in a finalizer

    def __dealloc__(self):
        while self.stack.n:                                 # after an error only
            self.stack.n -= 1
            Py_XDECREF(self.stack.items[self.stack.n])
        PyMem_RawFree(self.stack.items)

    def run_aside(self, begun):
        """Free the rest in a thread of its own. Full garbage collections, which would visit all of the rest, wait until it
        is freed; when they do, set the event `begun`."""
        try:
            begin_waiting()
        finally:
            begun.set()
        try:
            self.is_aside = True
            self.run(NO_LIMIT)
        finally:
            end_waiting()

    cdef int run(self, int64_t until) except -1:
        """Free everything, or as much as can be freed until a time by the clock `clock`."""
        cdef PyObject* whole
        cdef size_t n = 0
        self.until = until
        self.is_late = False
        while self.stack.n and not self.is_late:
            n += 1
            if not n % 16:
                self.rest()
            self.stack.n -= 1
            whole = self.stack.items[self.stack.n]
            if only_one(whole):
                try:
                    self.take_apart(<object> whole)
                except MemoryError:
                    pass                                    # it is freed at once
            Py_XDECREF(whole)
        return 0

    cdef int take_apart(self, object whole) except -1:
        """Push the parts of an object that is about to be freed. If it has many, remove some and push them, and the
        object itself."""
        cdef Py_ssize_t n, begin
        cdef list piece
        kind = type(whole)
        if kind is list:
            n = len(<list> whole)
            if n > PIECE:
                piece = (<list> whole)[n - PIECE:]
                del (<list> whole)[n - PIECE:]
                return self.divided(whole, piece)
        elif kind is dict:
            if len(<dict> whole) > PIECE:
                piece = []
                for n in range(PIECE):
                    key, value = (<dict> whole).popitem()
                    piece.append(key)
                    piece.append(value)
                key = value = None
                return self.divided(whole, piece)
        elif kind is set:
            if len(<set> whole) > PIECE:
                piece = []
                for n in range(PIECE):
                    piece.append((<set> whole).pop())
                return self.divided(whole, piece)
        elif kind is tuple:
            n = len(<tuple> whole)
            if n > PIECE:
                for begin in range(0, n, PIECE):
                    piece = []
                    move_items(whole, begin, min(begin + PIECE, n), piece)
                    push(&self.stack, piece)
                    self.rest()
                return 0
        elif kind is frozenset and len(<frozenset> whole) > PIECE:
            piece = []
            for value in whole:
                piece.append(value)
                if len(piece) == PIECE:
                    push(&self.stack, piece)
                    piece = []
                    self.rest()
            push(&self.stack, piece)
            return 0
        push_parts(whole, &self.stack)
        return 0

    cdef int divided(self, object whole, list piece) except -1:
        push(&self.stack, whole)
        push(&self.stack, piece)
        return self.rest()

    cdef int rest(self) except -1:
        """Let other threads run if it is time."""
        if turn_is_due():
            if self.is_quiet:
                give_way()
                return plan_turn()
            self.is_late = clock() > self.until
            try:
                let_others_run()
                if self.is_aside:
                    sleep(REST_SECONDS)
            except BaseException as error:
                self.error = error
                self.is_late = True
        return 0
