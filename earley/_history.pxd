# The accepted tokens of matchers, with the position after each. Forks share what they have in common.

from libc.stdint cimport uint32_t

from earleymask.earley._tables cimport Words

cdef enum:
    FORGOTTEN = 0xFFFFFFFF      # in place of a position: going back to it computes it again from the tokens

# What follows one token. The first entry of a history has no token: its position is that before the text.
cdef struct Entry:
    uint32_t token
    uint32_t position

# A run of entries, which begins where the block before it was left, not always at the end of that one. Entries never
# change while several histories share the block; only `Chart.collect` and `history_drop_old` change their positions.
# The entries themselves, `capacity` of them, come after the struct; after them, if there are notes, the end in `notes`
# of the notes on each.
cdef struct Block:
    Block* before               # NULL for the first block
    Block* link                 # in the list that `history_blocks` returns
    Words notes                 # of `_budgets`, on one entry after the other
    uint32_t start              # entries of a history before this block; its index of the first entry here
    uint32_t n                  # entries in the block
    uint32_t capacity
    uint32_t n_users            # histories that end in this block and blocks that it comes before
    uint32_t used               # scratch of `history_blocks`

# The tokens of one matcher: the first `n` entries of a block, and what comes before that block.
cdef struct History:
    Block* last
    History* next
    uint32_t n                  # at least 1
    bint dropped                # its matcher is gone; freed by `history_sweep`

# All histories of one chart. A thread needs the GIL to read or change them, or the lock and a claim (`_batch`). While a
# call uses the chart (`Chart.busy`), only this call changes them, except for `dropped` and `n_dropped`. So counts of
# users need no atomic instructions.
cdef struct Histories:
    History* first
    size_t n                    # in that list
    size_t n_dropped            # of them without a matcher
    size_t n_bytes              # memory of all of them
    bint has_notes


# Whether `history_sweep` would free something.
cdef inline bint must_sweep(const Histories* histories) noexcept nogil:
    return 2 * histories.n_dropped > histories.n


cdef inline Entry* entries_of(Block* block) noexcept nogil:
    return <Entry*> (block + 1)


cdef inline uint32_t* note_ends(Block* block) noexcept nogil:
    return <uint32_t*> (entries_of(block) + block.capacity)


# The entry after the last token.
cdef inline Entry* last_entry(History* history) noexcept nogil:
    return entries_of(history.last) + history.n - 1


cdef inline size_t n_tokens_of(History* history) noexcept nogil:
    return <size_t> history.last.start + history.n - 1


# Return a new history at a position before any text.
cdef History* history_begin(Histories* histories, uint32_t position) except NULL nogil
# Return a new history that shares all entries of another one.
cdef History* history_fork(Histories* histories, History* other) except NULL nogil
# Return how many bytes the next token may take, if it needs a block.
cdef size_t history_more(const History* history) noexcept nogil
# Append a token, the position after it, and notes on it. If it fails, nothing has changed.
cdef int history_push(
    Histories* histories, History* history, uint32_t token, uint32_t position, const uint32_t* notes, size_t n_notes,
) except -1 nogil
# Return the position after the first tokens, which may be FORGOTTEN.
cdef uint32_t history_position(History* history, size_t n_tokens) noexcept nogil
# Take back all but the first tokens.
cdef void history_cut(Histories* histories, History* history, size_t n_tokens) noexcept nogil
# Return the notes on the last token, and how many there are.
cdef const uint32_t* history_notes(History* history, size_t* n) noexcept nogil
# Return the ids of all tokens, if nothing else can change the history in the meantime: to make the list may start a
# garbage collection, and so run any code.
cdef list history_tokens(History* history)
# Write these ids into a list of as many items. This runs no other code.
cdef int history_write_tokens(History* history, list tokens) except -1

# Free the histories of matchers that are gone, if these are more than half of all.
cdef void history_sweep(Histories* histories) noexcept nogil
cdef void history_free_dropped(Histories* histories) noexcept nogil
cdef void history_free_all(Histories* histories) noexcept nogil
# Return all blocks that living histories use, linked by `link`, without the entries that none of these reaches. The
# list holds until a history changes.
cdef Block* history_blocks(Histories* histories) noexcept nogil
# Set all positions to FORGOTTEN, except the first and the last `keep` of each history.
cdef void history_drop_old(Histories* histories, size_t keep) noexcept nogil
# For debug builds: return whether the counts of users are right. No matcher may be gone whose history is in the list.
cdef bint history_is_sound(Histories* histories) noexcept nogil
