"""Locks, and what becomes of them when a process is forked.

`os.fork` copies the memory of a process but only the thread that calls it. A lock that another thread holds at that
moment would stay taken in the child, and what it guards may be half changed. So a fork takes all locks first, which
waits for the calls that are running, and gives them back in the parent. The child gets new ones. Calls that other threads
begin in the meantime wait until the process has been forked.

A call may take longer than anybody should wait. After `MOST_SECONDS` the fork happens nevertheless. In the child, what
such a lock guards is then *lost*: it is never used again, nor freed, because it may be in any state. `guarded` is told
so.

Python has a lock for each module that is being imported, which it does not renew in a child. Modules are imported when the
first grammar of a kind is loaded, so a fork waits for these imports, too.
"""

import os
import sys
import time
from importlib import _bootstrap
from weakref import ref

from libc.stdint cimport int64_t

from cpython.pythread cimport (
    NOWAIT_LOCK, WAIT_LOCK, PyThread_acquire_lock, PyThread_allocate_lock, PyThread_free_lock, PyThread_get_thread_ident,
    PyThread_release_lock,
)

from earleymask.earley._meter cimport forget_loadings, rest, wait_for

MOST_SECONDS = 5.0      # for all locks together; calls under the default limits end earlier

cdef set known = set()                  # weak references to all locks
cdef dict held = {}                     # thread -> locks that it has taken for a fork
cdef dict module_locks = getattr(_bootstrap, "_module_locks", {})       # Python's: name -> weak reference to the lock
# Packages whose modules are imported while they are in use: this one's and Python's. The import of an application may last
# for ever, if the application runs in it.
cdef set PACKAGES = {__name__.partition(".")[0], *sys.stdlib_module_names}
cdef list lost = []                     # what must not be freed
cdef size_t n_made = 0
cdef PyThread_type_lock gate = PyThread_allocate_lock()     # taken while a thread forks
if gate == NULL:
    raise MemoryError("lock")
forking = 0
n_forks = 0


cdef class Lock:
    """A lock of rank ENGINE or PARTS. If it is lost in a child, `guarded._lose()` returns what must not be freed."""

    def __cinit__(self, guarded, size_t rank):
        global n_made
        self.guarded = ref(guarded)
        self.rank = rank
        self.number = n_made
        n_made += 1
        self.handle = PyThread_allocate_lock()
        if self.handle == NULL:
            raise MemoryError("lock")
        known.add(ref(self, known.discard))

    def __dealloc__(self):
        if self.handle != NULL:
            PyThread_free_lock(self.handle)


cdef int let_fork() except -1:
    """Wait until the process has been forked."""
    with nogil:
        wait_for_fork()
    return 0


cdef void wait_for_fork() noexcept nogil:
    PyThread_acquire_lock(gate, WAIT_LOCK)
    PyThread_release_lock(gate)


cdef list living():
    """Return all locks. Other threads may make and drop some whenever Python code runs, so the set is copied first."""
    return [lock for lock in [reference() for reference in list(known)] if lock is not None]


cdef bint take(PyThread_type_lock lock, double deadline) except -1:
    """Take a lock if no other thread has it, or gives it back before the deadline; return whether it was taken."""
    cdef bint is_taken = PyThread_acquire_lock(lock, NOWAIT_LOCK)
    cdef int64_t left
    if not is_taken:
        left = <int64_t> (max(deadline - time.monotonic(), 0) * 1e6)
        with nogil:
            is_taken = wait_for(lock, left)
    return is_taken


def is_importing() -> bool:
    """Return whether another thread is importing a module of this package, or of Python itself."""
    thread = PyThread_get_thread_ident()
    for name, reference in list(module_locks.items()):
        if name.partition(".")[0] in PACKAGES and getattr(reference(), "owner", None) not in (None, thread):
            return True
    return False


cdef int let_import(double deadline) except -1:
    """Wait until no other thread is importing such a module, or until the deadline."""
    while is_importing() and time.monotonic() < deadline:
        with nogil:
            rest(1_000_000)
    return 0


def order(Lock lock not None):
    return lock.rank, lock.number


def take_all() -> None:
    """Take all locks that there are, before this thread forks the process."""
    global forking
    cdef Lock lock
    cdef unsigned long thread = <unsigned long> PyThread_get_thread_ident()
    cdef list mine = []
    cdef double deadline = time.monotonic() + MOST_SECONDS
    held[thread] = mine
    let_import(deadline)                                # before, for a module may use such locks when it is imported
    if take(gate, deadline):
        forking = thread
    tried = set()
    while True:
        # A thread that waits for the interpreter's lock gets it here, and not when the next hook runs: it could begin to
        # import a module then.
        with nogil:
            rest(100_000)
        # Other threads may make locks while this one waits.
        new = sorted([lock for lock in living() if lock not in tried], key=order)
        if not new and not is_importing():
            return
        let_import(deadline)
        if not new and time.monotonic() >= deadline:
            return
        for lock in new:
            tried.add(lock)
            if lock.owner != thread and not lock.is_lost and take(lock.handle, deadline):
                lock.owner = thread
                mine.append(lock)


def give_all_back() -> None:
    """Release the locks that this thread has taken for a fork, in the parent."""
    global forking
    cdef Lock lock
    cdef unsigned long thread = <unsigned long> PyThread_get_thread_ident()
    for lock in held.pop(thread, ()):
        lock.owner = 0
        PyThread_release_lock(lock.handle)
    if forking == thread:
        forking = 0
        PyThread_release_lock(gate)


def renew_all() -> None:
    """Make the locks usable in the child, and find out which of them are lost."""
    global n_forks, forking, gate
    cdef Lock lock
    cdef PyThread_type_lock fresh
    cdef unsigned long thread = <unsigned long> PyThread_get_thread_ident()
    n_forks += 1
    forking = 0
    fresh = PyThread_allocate_lock()
    if fresh != NULL:
        gate = fresh
    else:
        PyThread_release_lock(gate)
    mine = held.get(thread, ())
    held.clear()
    for lock in mine:
        lock.owner = 0
        PyThread_release_lock(lock.handle)
        fresh = PyThread_allocate_lock()
        if fresh != NULL:       # the old one may count threads that wait for it and do not exist here, so it is not freed
            lock.handle = fresh
    for lock in living():
        if PyThread_acquire_lock(lock.handle, NOWAIT_LOCK):
            PyThread_release_lock(lock.handle)
        elif lock.owner != thread and not lock.is_lost:
            lock.is_lost = True
            guarded = lock.guarded()
            if guarded is not None:
                lost.append((lock, guarded, guarded._lose()))
    forget_loadings()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=take_all, after_in_parent=give_all_back, after_in_child=renew_all)
