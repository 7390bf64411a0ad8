# The compiled form of a grammar: what the front ends fill and the matchers share.

from earleymask.earley._lexer cimport Lexer
from earleymask.earley._regex cimport Regexes
from earleymask.earley._rules cimport Rules
from earleymask.earley._skeletons cimport Skeletons

cdef class Engine:
    cdef readonly Regexes regexes
    cdef Rules rules
    cdef Lexer lexer                # None until `finish`
    cdef Skeletons skeletons        # None until `finish`
    cdef dict specials              # name of a special token -> symbol
    cdef dict masks                 # TokenTrie -> Masks over it
    cdef void* lock                 # a PyThread lock: everything below is changed by one thread at a time

    cdef unsigned long owner        # thread that holds the lock, 0: none

    # Without the GIL while waiting. RuntimeError where this thread has it already.
    cdef int acquire(self) except -1
    cdef void release(self) noexcept
