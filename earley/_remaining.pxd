# The tokens that are left until a sequence can end. Per chart.

from libc.stdint cimport uint32_t, uint64_t

from earleymask.earley._chart cimport Chart
from earleymask.earley._shortest cimport Shortest
from earleymask.earley._token_ids cimport Specials, TokenIds
from earleymask.trie._trie cimport TokenTrie

cdef enum:
    # Symbols that are made for one mask. Beyond it, tokens that need others are not allowed, until a later mask has made them.
    # If half of the memory for symbols is in use, none are made.
    MADE_FOR_MASK = 1 << 10

# Numbers of tokens by some index of the chart; UNKNOWN_TOKENS where they were not asked for yet. They are not counted: for each
# index they take 8 or 12 bytes, and what the chart counts for it takes more.
cdef struct Known:
    uint32_t* data
    size_t n, capacity

# What is known of positions, rows and continuations: `is_free` as in `Shortest`.
cdef struct View:
    Known positions, rows, continuations

cdef class Remaining:
    cdef Chart chart
    cdef TokenTrie trie
    cdef Shortest shortest
    cdef Specials specials
    cdef TokenIds token_ids     # or None
    cdef uint64_t n_collections # of the chart, when its indexes were those in what follows
    cdef uint64_t n_exhausted   # of `shortest`, then: what is not known now may be known later
    cdef View views[2]          # full, free
    cdef Known most             # by position: the most tokens that are left after a token of its mask
    cdef uint32_t* path         # scratch: positions by depth in the trie
    cdef uint32_t* bits         # scratch: a mask, one bit later, with a word for the last one
    cdef bint searches          # demands may refuse a text, so positions are searched for the shortest one

    # Forget what is known of indexes that have been given anew.
    cdef int renew(self) except -1
    # The tokens after which a sequence may end, its EOS token included; ENDLESS if no such number is known.
    cdef uint64_t needed(self, uint32_t position) except? 0xFFFFFFFFFFFFFFFF
    # Whether every token of the mask leaves enough of n tokens, as far as that is known.
    cdef bint is_ample(self, uint32_t position, uint64_t n) except -1
    # Clear the bits of a mask after whose tokens a sequence cannot end within n - 1 tokens.
    cdef int restrict(self, uint32_t position, uint32_t* words, uint64_t n) except -1

    # Bound the work for one mask. Return False if no symbols may be made for it: then only the first tokens of chosen texts
    # are tried.
    cdef bint begin_mask(self, bint is_free) except -1
    # Remember the most tokens that are left after a token of the mask.
    cdef int note_most(self, uint32_t position, uint64_t most) except -1
    # Set the bits of the tokens that are allowed by their ids and leave n - 1 tokens at most; return the most that one leaves.
    cdef uint64_t allow_extras(self, uint32_t position, uint32_t* bits, uint64_t n) except? 0xFFFFFFFFFFFFFFFF
    # The tokens with which the chosen texts of lexemes go on, without those spelled alike.
    cdef list first_tokens(self, uint32_t position)
    # The tokens that are left after one; ENDLESS if its text is not allowed.
    cdef uint64_t after_token(self, uint32_t position, uint32_t token) except? 0xFFFFFFFFFFFFFFFF
    # `value`, with the GIL only if it is not known.
    cdef uint64_t value_freely(self, uint32_t position, bint is_free) except? 0xFFFFFFFFFFFFFFFF nogil
    # Set the bits of tokens of the mask `words` whose bits are not set, as far as they are tried.
    cdef int try_others(self, uint32_t position, const uint32_t* words, uint32_t* bits, uint64_t n) except -1

    cdef uint64_t value(self, uint32_t position, bint is_free) except? 0xFFFFFFFFFFFFFFFF
    cdef uint64_t found_value(self, uint32_t position, bint is_free) except? 0xFFFFFFFFFFFFFFFF
    cdef uint64_t of_pairs(self, uint32_t position, bint is_free) except? 0xFFFFFFFFFFFFFFFF
    cdef bint is_after_varying(self, uint32_t row) except -1
    cdef uint64_t after(self, uint32_t row, uint32_t state, uint32_t terminal, uint32_t node, bint is_free) except? 0xFFFFFFFFFFFFFFFF
    cdef uint64_t of_row(self, uint32_t row, bint is_free) except? 0xFFFFFFFFFFFFFFFF
    cdef uint64_t of_continuation(self, uint32_t continuation, bint is_free) except? 0xFFFFFFFFFFFFFFFF
    cdef int find_continuations(self, uint32_t first, bint is_free) except -1
    cdef uint64_t search(self, uint32_t position, bint is_free) except? 0xFFFFFFFFFFFFFFFF
    cdef uint64_t estimate(self, uint32_t position, bint is_free) except? 0xFFFFFFFFFFFFFFFF
    cdef uint64_t dive(self, uint32_t position, bint is_free) except? 0xFFFFFFFFFFFFFFFF
    cdef list first_bytes(self, uint32_t position)
    cdef uint64_t search_all(self, uint32_t position) except? 0xFFFFFFFFFFFFFFFF
    cdef int try_chosen(self, uint32_t position, const uint32_t* words, uint32_t* bits, uint64_t n) except -1
    cdef int walk(self, uint32_t position, uint64_t n, bint is_free, uint64_t* most) except -1 nogil
    cdef uint32_t position_after(self, uint32_t position, uint32_t symbol) except? 0xFFFFFFFF
    cdef uint64_t after_symbol(self, uint32_t position, uint32_t symbol, bint is_end) except? 0xFFFFFFFFFFFFFFFF

# Set the bits of the tokens that are spelled as one whose bit is set.
cdef int copy_duplicates(TokenTrie trie, uint32_t* bits) noexcept nogil
