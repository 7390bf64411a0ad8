# Masks made of remembered answers. Per grammar and vocabulary.

from libc.stdint cimport uint32_t, uint64_t

from earleymask.earley._answers cimport Answers
from earleymask.earley._chart cimport Chart, Mask
from earleymask.earley._engine cimport MAX_KINDS, Engine
from earleymask.earley._parts cimport Users
from earleymask.earley._shortest cimport Shortest
from earleymask.earley._tables cimport Map, Sequences, Words
from earleymask.earley._token_ids cimport Specials, TokenIds
from earleymask.earley._walk cimport Walk
from earleymask.trie._trie cimport TokenTrie

cdef class Masks:
    cdef object __weakref__
    cdef object the_engine          # a weak reference: the engine keeps this object
    cdef TokenTrie trie
    cdef Answers answers
    cdef Answers modest             # None if no terminal is demanding
    # The doubtful tokens of followed terminals: outside their lexemes, and inside those of each kind. NULL until they are
    # needed. `doubtful` keeps them alive.
    cdef const Words* doubtful_tokens[1 + MAX_KINDS]
    cdef list doubtful
    cdef uint32_t n_described               # `Rules.n_described` when they were found
    cdef Sequences committed        # lists of tokens, see `committing`
    cdef Map committed_of           # regex node -> entry of `committed`: the tokens that do not match it
    cdef Sequences unions           # entries of `answers`, ascending
    cdef Mask** masks               # per union
    cdef size_t masks_capacity
    cdef size_t mask_bytes          # of these
    cdef Users users                # of the vocabulary
    cdef uint64_t number            # among them; 0: not yet
    cdef size_t n_bytes_at_first    # bytes of empty tables
    cdef size_t n_noted             # bytes beside these, as the users know them
    cdef uint64_t n_asked_noted     # number of questions and unions then
    cdef uint64_t n_looked          # number of questions and unions when `tidy` last freed scratch memory
    cdef uint32_t n_lone            # masks that are no unions of answers
    cdef uint64_t last_used, last_queued    # by the clock of the users: the last call, and the last time in `trim`
    cdef readonly uint64_t generation   # changes when masks are freed

    # scratch
    cdef uint32_t* scratch          # n_words + 1
    cdef Walk walk                  # of all charts of the grammar; None until one is needed
    cdef Words ids, tokens
    cdef Words extras               # special tokens of the next mask, ascending
    cdef Shortest shortest          # None until tokens to the end are counted
    cdef TokenIds token_ids         # None if the grammar has no sets of token ids
    cdef Words extra_sets           # sets of token ids of the next mask, by index

    # counters
    cdef readonly uint64_t n_unions_known, n_unions_made, n_fallbacks, n_flushes

    # Return the engine. Raises MatcherInUseError while the garbage collector frees it.
    cdef Engine engine(self)
    # Find the EOS and special tokens that are allowed at a position: for the next call of `mask`, or of `allow_extras`.
    cdef int find_extras(self, Chart chart, uint32_t position, Specials specials) except -1 nogil
    cdef int find_extra_sets(self, Chart chart, uint32_t position) except -1 nogil
    # Set the bits of these tokens.
    cdef void allow_extras(self, uint32_t* words) noexcept nogil
    # Return the mask of a position of a chart. Needs the engine's lock.
    cdef Mask* mask(self, Chart chart, uint32_t position) except NULL nogil
    # Remember a mask that the merged walk has made.
    cdef Mask* remember(self, Chart chart, uint32_t position, const uint32_t* words) except NULL nogil
    # To be called between calls, with the GIL and the engine's lock: free what exceeds the limits.
    cdef int tidy(self) except -1
    # `has_too_much`: whether `tidy` would free more than scratch memory. These two need no GIL.
    cdef bint has_too_much(self) noexcept nogil
    cdef int free_scratch(self) except -1 nogil
    cdef bint has_lost_parts(self) noexcept nogil
    cdef bint is_beyond_limit(self) noexcept nogil
    cdef int trim(self) except -1
    cdef int flush(self) except -1
    cdef int forget(self) except -1
    # To be called after masks have been made, with the engine's lock: count what is remembered.
    cdef void note(self) noexcept nogil
    cdef size_t n_bytes(self) noexcept nogil
    cdef void free_masks(self) noexcept
    cdef Mask* lone_mask(self, const uint32_t* words) except NULL nogil
    cdef Mask* walked(self, Chart chart, uint32_t position) except NULL nogil
    # Return the mask without the tokens that the rows of the chart refuse because of what lookaheads demand.
    cdef Mask* without_refused(self, Chart chart, uint32_t position, Mask* mask) except NULL nogil
    cdef Mask* without_committed(self, Chart chart, uint32_t position, Mask* mask) except NULL nogil
    cdef uint32_t committing(self, uint32_t node) except? 0xFFFFFFFF
    cdef int try_committing(self, Chart chart, uint32_t position, const Mask* mask, uint32_t node) except -1 nogil
    cdef Mask* without_tokens(self, Mask* mask) except NULL nogil
    cdef int try_token(self, Chart chart, uint32_t position, uint32_t token) except -1 nogil
    cdef Mask* look_through(self, Chart chart, uint32_t position, Mask* mask) except NULL nogil
    # Do the same for the words of a mask that has no extras yet.
    cdef int look_through_words(self, Chart chart, uint32_t position, uint32_t* words) except -1 nogil
    cdef int find_refused(self, Chart chart, uint32_t position, const Mask* mask) except -1 nogil
    cdef void clear_refused(self, uint32_t* words) noexcept nogil
    # The lists of doubtful tokens that are tried at a position, a bit for each; such a list; and whether the rows refuse one.
    cdef uint32_t doubtful_lists(self, Chart chart, uint32_t position) noexcept nogil
    cdef const Words* doubtful_list(self, uint32_t which) except NULL nogil
    cdef bint is_refused(self, Chart chart, uint32_t position, uint32_t which, uint32_t token) except -1 nogil
    cdef int find_doubtful(self, uint32_t which) except -1
    cdef bint ends_lexeme(self, Chart chart, uint32_t position, uint32_t token) except -1 nogil
    cdef bint is_extra(self, uint32_t token) noexcept nogil
    cdef bint leads_on(self, Chart chart, uint32_t position, uint32_t token) except? -1 nogil
    cdef Mask* new_union(self) except NULL nogil
    cdef Mask* union_of(self) except NULL nogil
    cdef void scratch_from_answers(self, Answers answers, size_t n) noexcept nogil
    cdef int gather_position(self, Answers answers, Chart chart, uint32_t position) except -1 nogil
    cdef int gather(self, Answers answers, Chart chart, uint32_t row, uint32_t answer) except -1 nogil


cdef Masks masks_of(Engine engine, TokenTrie trie, tuple eos_token_ids)
