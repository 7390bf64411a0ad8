from libc.stdint cimport int64_t, uint32_t, uint64_t

from earleymask.earley._bounded cimport BoundedMasks
from earleymask.earley._budgets cimport Budgets
from earleymask.earley._chart cimport Chart, Mask
from earleymask.earley._engine cimport Engine
from earleymask.earley._history cimport History
from earleymask.earley._masks cimport Masks
from earleymask.earley._meter cimport Cancels
from earleymask.earley._partial cimport Partial
from earleymask.earley._token_ids cimport Specials, TokenIds
from earleymask.trie._trie cimport TokenTrie

cdef enum:
    ALONE = -1

cdef class Matcher:
    cdef readonly object grammar
    cdef readonly object vocabulary
    cdef readonly tuple eos_token_ids
    cdef readonly object error      # what has ended the sequence, or None
    cdef Engine engine
    cdef TokenTrie trie
    cdef Chart chart                # shared with forks
    cdef Masks masks                # the grammar's, over this vocabulary
    cdef History* history           # owned by the chart
    cdef Specials specials          # EOS tokens, and the special tokens that the grammar names
    cdef TokenIds token_ids         # None if the grammar has no sets of token ids
    cdef Budgets budgets            # shared with forks; None if no terminal of the grammar has one
    cdef BoundedMasks bounded       # shared with forks; None until a mask has a deadline or a budget
    cdef int in_use                 # ALONE if a call has begun and not returned, else how many threads fork it
    cdef size_t used_in             # `n_forks` at that time
    cdef Cancels cancels            # how often it was cancelled
    cdef Partial partial            # what the walk for a mask that was due has found so far, or None
    cdef object warming             # what `ahead` has returned last, or None
    cdef public object _cut         # what `forced_tokens` remembers, or None

    cdef int begin(self) except -1
    cdef tuple checked_eos(self, eos_token_ids)
    cdef tuple chosen_eos(self)
    cdef uint32_t position(self) noexcept nogil
    # A call has the matcher (`in_use`) and the engine's lock. `claim` takes the first, `lock` the second.
    cdef int acquire(self) except -1
    cdef void release(self) noexcept
    cdef int claim(self, bint is_fork=*) except -1
    cdef int check_free(self) except -1
    cdef int lock(self) except -1
    cdef int lock_freely(self) except -1 nogil      # without the GIL; `claim_chart` must have been called with it before
    cdef void unlock(self) noexcept nogil
    cdef Matcher copy(self)
    cdef int tidy(self) except -1
    cdef int tidy_freely(self) except -1 nogil
    cdef Py_ssize_t count_accepted(self, list tokens) except -1
    cdef bytes force(self, uint32_t* end=*)
    cdef tuple find_crossing(self, bytes written)
    cdef int go_back(self, size_t left) except -1
    # Return the position after the token, DEAD if it is not allowed; `following` heeds budgets, too.
    cdef uint32_t following(self, uint32_t token) except? 0xFFFFFFFF
    cdef uint32_t after(self, uint32_t position, uint32_t token) except? 0xFFFFFFFF
    cdef uint32_t known(self, object token_id) except? 0xFFFFFFFE
    cdef uint32_t after_bytes(self, uint32_t position, const unsigned char* data, size_t n) except? 0xFFFFFFFF nogil
    cdef int push(self, uint32_t token_id, uint32_t position) except -1
    cdef int write_mask(self, uint32_t* words, size_t n_bytes) except -1
    cdef int make_mask(self, uint32_t* words, size_t n_bytes) except -1
    cdef fill_with(self, row, on_error, remaining, seconds)
    cdef bint write_until(self, uint32_t* words, size_t n_bytes, uint64_t n, double seconds) except -1
    cdef bint write_claimed(self, uint32_t* words, size_t n_bytes, uint64_t n, double seconds) except -1
    cdef bint write_in_time(self, uint32_t* words, size_t n_bytes, uint64_t n, int64_t time) except -1
    cdef Mask* mask_until(self, int64_t time) except? NULL
    cdef bint write_partial(self, uint32_t* words, size_t n_bytes, uint64_t n, int64_t time) except -1
    cdef BoundedMasks bounded_masks(self)
    cdef bint fill_tensor(self, row) except -1
    cdef bint write_or_end(self, uint32_t* words, size_t n_bytes, bint ends, remaining=*, double seconds=*) except -1
    # Write the mask of tokens after which a sentence can be finished within n tokens in all.
    cdef int write_within(self, uint32_t* words, size_t n_bytes, uint64_t n) except -1
    cdef int write_cut(self, uint32_t* words, size_t n_bytes, uint64_t n) except -1     # the same; needs the lock
    cdef int end_with(self, error) except -1
    cdef void write_end(self, uint32_t* words, size_t n_bytes) noexcept nogil
    cdef bint write_known(self, uint32_t* words, size_t n_bytes) noexcept
    cdef Mask* remembered(self) noexcept nogil
    cdef int write_freely(self, uint32_t* words, size_t n_bytes) except -1 nogil
    cdef int write_otherwise(self, uint32_t* words, size_t n_bytes) except -1
    cdef Mask* made_mask(self) except NULL
    cdef Mask* found_mask(self) except NULL nogil
    cdef Mask* mask_otherwise(self) except NULL
    cdef Mask* walked_mask(self) except NULL
    cdef int check(self) except -1
    cdef list found_captures(self)
    cdef list spelled(self)
    cdef bint expects_named(self, uint32_t position) except -1
    cdef int walk_mask(self, uint32_t* words) except -1
    cdef uint32_t looked_up(self, uint32_t token) noexcept

# Whether `on_error` is "end". Raises ValueError if it is not "raise" either.
cdef bint check_on_error(on_error) except -1

# Whether a mask that has met a limit may be made in another way.
cdef bint is_walk_worth_trying(error) except -1
