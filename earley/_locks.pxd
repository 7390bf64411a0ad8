# Locks that a forked process can use.

from cpython.pythread cimport PyThread_type_lock

cdef enum:
    ENGINE = 0                  # rank of the lock of an engine
    PARTS = 1                   # rank of the lock of a vocabulary's parts: a thread with it takes no other one

cdef class Lock:
    cdef object __weakref__
    cdef object guarded         # weak reference to what the lock guards: it has a method `_lose`, see `Lock`
    cdef PyThread_type_lock handle
    cdef unsigned long owner    # thread that holds the lock, as far as holders write it here; 0: none, or not known
    cdef size_t rank, number    # the order in which one thread takes several locks
    cdef bint is_lost           # a thread held it when this process was forked, so it stays taken

# The thread that forks the process, or 0. Other threads call `let_fork` before they take a lock, so that it need not
# wait for calls that begin after it.
cdef unsigned long forking
cdef int let_fork() except -1
cdef void wait_for_fork() noexcept nogil        # the same, without the GIL

# How often this process is the child of a fork, from its first ancestor on.
cdef size_t n_forks
