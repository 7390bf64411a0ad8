# Threads in groups that cuts end.

from libc.stdint cimport uint32_t

from earleymask.earley._tables cimport ByteSet, Words
from earleymask.earley._unions cimport Unions

cdef enum:
    MAX_EXPLORED = 1 << 14          # states for which `following_of` finds what may follow; beyond this loading fails


cdef class Cuts:
    cdef uint32_t* visited          # per instruction: the step that last met it in a group that is still open
    cdef size_t visited_capacity
    cdef uint32_t closure_number
    cdef Words agenda               # what `visit` has still to do, last first
    cdef Words frames               # groups that are open while items are appended
    cdef Words items                # the items of the new state
    cdef Words undo                 # instructions visited, which count as not visited when their group ends

    cdef uint32_t derive(self, Unions nodes, uint32_t node, uint32_t byte, ByteSet* same) except? 0xFFFFFFFF nogil
    cdef uint32_t make(self, Unions nodes, size_t base) except? 0xFFFFFFFF nogil
    # Return what may follow a text that ends in `node`, whose question is Q_OPEN. If nothing outside lookaheads could
    # refute it there, `inside` must follow, too.
    cdef uint32_t demand(self, Unions nodes, uint32_t node, uint32_t inside) except? 0xFFFFFFFF nogil
    cdef uint32_t make_demand(self, Unions nodes, size_t base) except? 0xFFFFFFFF nogil
    cdef void drop_oracles(self, Unions nodes, size_t base) noexcept nogil
    cdef uint32_t intern(self, Unions nodes, size_t base, bint answer) except? 0xFFFFFFFF nogil
    cdef int answers(self, Unions nodes, size_t base) except -1 nogil
    cdef following_of(self, Unions nodes, size_t base, int depth, list followings, dict met)
    cdef int step(self, Unions nodes, size_t base, uint32_t byte, uint32_t mode, ByteSet* same) except -1 nogil
    cdef int begin(self, Unions nodes, size_t base) except -1 nogil
    cdef int end(self, Unions nodes, size_t base) except -1 nogil
    cdef int visit(self, Unions nodes, size_t base, uint32_t start) except -1 nogil
    cdef int put_thread(self, uint32_t pc, uint32_t node) except -1 nogil
    cdef int put_match(self, bint ordered) except -1 nogil
    cdef int cut(self, uint32_t group) except -1 nogil
    cdef int open_frame(self, uint32_t group) except -1 nogil
    cdef int close_frame(self, const uint32_t* program) except -1 nogil
    cdef bint is_idle(self, const uint32_t* program, uint32_t group, size_t begin) noexcept nogil
    cdef bint has_completer(self, const uint32_t* program, uint32_t group, size_t begin) noexcept nogil


# End the threads of the state stack[base:] that are not in lookaheads; return whether there is a match.
cdef int end_lexeme(Cuts cuts, Unions nodes, size_t base) except -1 nogil
