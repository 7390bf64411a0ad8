# A walk over the trie that ends when its time is used up, and goes on in the next call.

from libc.stdint cimport int64_t, uint32_t, uint64_t

from earleymask.earley._chart cimport Chart, Path
from earleymask.earley._masks cimport Masks
from earleymask.earley._remaining cimport Remaining
from earleymask.trie._trie cimport TokenTrie

cdef class Partial:
    cdef TokenTrie trie
    cdef Chart chart                # of the matcher that has this object
    cdef uint32_t* found            # a mask: what is allowed for sure
    cdef uint32_t* sought           # where a pass writes: `within`, or `rough`
    cdef uint32_t* rough            # what the last pass has found before the doubtful tokens are tried
    cdef uint32_t* within           # what is allowed by its text, and leaves enough of a budget if there is one
    cdef Path path                  # the way to `next`
    cdef uint32_t* ancestors        # by depth: the nodes of this way
    cdef uint32_t next              # the trie node that is visited next
    cdef uint32_t deepest           # nodes at this depth are the last ones that this pass visits
    cdef uint64_t furthest          # where a limit ended the walk, at the furthest: pass, node and doubtful token
    cdef bint has_room              # what was learned has been dropped since it came there
    cdef uint32_t which             # the list of doubtful tokens that are tried next (`Masks.doubtful_list`),
    cdef uint32_t n_tried           # how many of them have been tried,
    cdef uint32_t n_described       # and `Rules.n_described` when the first list was begun
    cdef Remaining remaining        # None until there is a budget
    cdef uint64_t n                 # tokens that may still come; ENDLESS: there is no budget
    cdef uint64_t most              # of those that a token leaves which was visited
    cdef uint32_t unknown_from      # depth of the node below which nothing is known of them; NONE: it is known here
    cdef int64_t until              # when to stop, by `wall_clock`
    # What this walk is about: a position, and how often positions had been numbered anew.
    cdef uint32_t position
    cdef uint64_t n_collected, n_forgotten

    # Continue the walk at a position of the chart, or begin it, and stop at `until` if a token has been found. Only tokens
    # that leave n - 1 tokens at most are allowed; ENDLESS: all.
    cdef int begin(self, Chart chart, uint32_t position, uint64_t n, int64_t until) except -1
    # Begin the walk once more after positions were numbered anew; what has been found is still allowed.
    cdef void begin_again(self, uint32_t position) noexcept
    # After a limit was reached, return whether the walk has come further than whenever one was reached before.
    cdef bint has_gone_on(self) noexcept nogil
    # Return whether the walk is complete. Raises DeadlineError, and LimitError; what has been found is kept.
    cdef bint go_on(self, Masks masks) except -1 nogil
    cdef bint is_over(self) noexcept nogil
    cdef bint has_tokens(self) noexcept nogil
    cdef bint descend(self, uint32_t root) except -1 nogil
    cdef int finish_within(self) except -1
    cdef int weigh(self, uint32_t i, uint32_t depth, uint32_t target) except -1 nogil
    cdef bint try_doubtful(self, Masks masks) except -1 nogil
    cdef int find_way(self, uint32_t root) except -1 nogil
