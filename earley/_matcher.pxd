from libc.stdint cimport uint32_t

from earleymask.earley._budgets cimport Budgets
from earleymask.earley._chart cimport Chart, Mask
from earleymask.earley._engine cimport Engine
from earleymask.earley._history cimport History
from earleymask.earley._masks cimport Masks
from earleymask.earley._token_ids cimport TokenIds
from earleymask.trie._trie cimport TokenTrie

cdef enum:
    ALONE = -1

cdef class Matcher:
    cdef readonly object grammar
    cdef readonly object vocabulary
    cdef Engine engine
    cdef TokenTrie trie
    cdef Chart chart                # shared with forks
    cdef Masks masks                # the grammar's, over this vocabulary
    cdef History* history           # owned by the chart
    cdef dict special_symbols       # token id -> symbol, of the special tokens that the grammar names
    cdef tuple eos_token_ids
    cdef TokenIds token_ids         # None if the grammar has no sets of token ids
    cdef Budgets budgets            # shared with forks; None if no terminal of the grammar has one
    cdef int in_use                 # ALONE if a call has begun and not returned, else how many threads fork it
    cdef size_t used_in             # `n_forks` at that time
    cdef object warming             # what `ahead` has returned last, or None

    cdef int begin(self) except -1
    cdef uint32_t position(self) noexcept nogil
    # A call has the matcher (`in_use`) and the engine's lock. `claim` takes the first, `lock` the second.
    cdef int acquire(self) except -1
    cdef void release(self) noexcept
    cdef int claim(self, bint is_fork=*) except -1
    cdef int check_free(self) except -1
    cdef int lock(self) except -1
    cdef void unlock(self) noexcept
    cdef Matcher copy(self)
    cdef int tidy(self) except -1
    cdef int forget(self) except -1
    cdef int make_room(self, error) except -1
    cdef Py_ssize_t count_accepted(self, list tokens) except -1
    cdef bytes force(self)
    cdef int go_back(self, size_t left) except -1
    # Return the position after the token, DEAD if it is not allowed; `following` heeds budgets, too.
    cdef uint32_t following(self, uint32_t token) except? 0xFFFFFFFF
    cdef uint32_t after(self, uint32_t position, uint32_t token) except? 0xFFFFFFFF
    cdef uint32_t known(self, object token_id) except? 0xFFFFFFFE
    cdef uint32_t after_bytes(self, uint32_t position, const unsigned char* data, size_t n) except? 0xFFFFFFFF nogil
    cdef int push(self, uint32_t token_id, uint32_t position) except -1
    cdef int write_mask(self, uint32_t* words, size_t n_bytes) except -1
    cdef Mask* known_mask(self) noexcept
    cdef Mask* made_mask(self) except NULL
    cdef int find_extras(self, uint32_t position) except -1
    cdef int find_extra_sets(self, uint32_t position) except -1
    cdef list found_captures(self)
    cdef list spelled(self)
    cdef bint expects_named(self, uint32_t position) except -1
    cdef Mask* find_mask(self, uint32_t position) except NULL
    cdef int walk_mask(self, uint32_t position, uint32_t* words) except -1
    cdef uint32_t looked_up(self, uint32_t token) noexcept
