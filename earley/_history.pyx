"""The accepted tokens of matchers, with the position after each, shared by forks.

A history is a list of entries in blocks. A block belongs to all histories that have its first entries in common, and
names the block before it. So a fork copies no entries, and a chain or a tree of forks takes memory for what is new in
each. A history appends to its last block as long as it is at that block's end, even if others share it: they only see
the entries that they had. If another history was there first, a new block continues at the place where the two part.
Taking tokens back only moves the end of a history; entries that it had alone are then overwritten.

While one history alone uses its blocks, each has twice the capacity of the one before it. So going back over any number
of tokens crosses few blocks. A block that continues a shared one begins small.

What is in the entries is known elsewhere: positions in `_chart`, tokens in `_matcher`, notes in `_budgets`.
"""

from libc.stdlib cimport free

from earleymask.earley._tables cimport reserve, words_extend, words_free
from earleymask.trie._memory cimport calloc, malloc

cdef enum:
    FEWEST = 8                  # entries of the first block, and of one that continues a shared block
    MOST = 1 << 20              # entries of the largest block, 8 MB; a longer history has more blocks of this size
    KEPT = 0x80000000           # added to a position by `history_drop_old`; positions are smaller (see `Chart.positions`)


cdef Block* new_block(Histories* histories, uint32_t capacity) noexcept nogil:
    """Return an empty block with one user, or NULL."""
    cdef size_t size = sizeof(Block) + capacity * block_entry_bytes(histories)
    cdef Block* block = <Block*> malloc(size)
    if block == NULL:
        return NULL
    block.before = block.link = NULL
    block.notes.data = NULL
    block.notes.n = block.notes.capacity = 0
    block.start = block.n = block.used = 0
    block.n_users = 1
    block.capacity = capacity
    histories.n_bytes += size
    return block


cdef inline size_t block_entry_bytes(Histories* histories) noexcept nogil:
    return sizeof(Entry) + (sizeof(uint32_t) if histories.has_notes else 0)


cdef void release(Histories* histories, Block* block) noexcept nogil:
    """Count one user less; free the block if there is none, and what was kept for it alone."""
    cdef Block* before
    while block != NULL:
        block.n_users -= 1
        if block.n_users:
            return
        before = block.before
        free_block(histories, block)
        block = before


cdef void free_block(Histories* histories, Block* block) noexcept nogil:
    histories.n_bytes -= (
        sizeof(Block) + block.capacity * block_entry_bytes(histories) + block.notes.capacity * sizeof(uint32_t))
    words_free(&block.notes)
    free(block)


cdef int raise_memory_error() except -1 nogil:
    with gil:
        raise MemoryError("tokens of a matcher")


cdef void enter(Histories* histories, History* history) noexcept nogil:
    history.next = histories.first
    histories.first = history
    histories.n += 1
    histories.n_bytes += sizeof(History)


cdef History* history_begin(Histories* histories, uint32_t position) except NULL nogil:
    cdef Block* block = new_block(histories, FEWEST)
    cdef History* history = <History*> calloc(1, sizeof(History))
    if block == NULL or history == NULL:
        if block != NULL:
            free_block(histories, block)
        free(history)
        raise_memory_error()
    entries_of(block).token = 0
    entries_of(block).position = position
    if histories.has_notes:
        note_ends(block)[0] = 0
    block.n = 1
    history.last = block
    history.n = 1
    enter(histories, history)
    return history


cdef History* history_fork(Histories* histories, History* other) except NULL nogil:
    cdef History* history = <History*> calloc(1, sizeof(History))
    if history == NULL:
        raise_memory_error()
    history.last = other.last
    history.last.n_users += 1
    history.n = other.n
    enter(histories, history)
    return history


cdef size_t history_more(const History* history) noexcept nogil:
    cdef const Block* block = history.last
    cdef size_t n = min(2 * block.capacity, <uint32_t> MOST) if history.n == block.n and block.n_users == 1 else FEWEST
    return sizeof(Block) + n * (sizeof(Entry) + sizeof(uint32_t))


cdef int history_push(
    Histories* histories, History* history, uint32_t token, uint32_t position, const uint32_t* notes, size_t n_notes,
) except -1 nogil:
    cdef Block* block = history.last
    cdef uint32_t n = history.n, capacity = FEWEST
    cdef bint is_new = False, is_written = not histories.has_notes
    if n != block.n and block.n_users > 1 and 2 * histories.n_dropped >= histories.n:
        history_free_dropped(histories)         # the entries after this one may have been those of a fork that is gone
    if n != block.n and block.n_users == 1:
        block.n = n                             # only this history had the entries after this one
    if n != block.n or n == block.capacity:
        if n == block.n and block.n_users == 1:
            capacity = min(2 * block.capacity, MOST)
        block = new_block(histories, capacity)
        if block == NULL:
            raise_memory_error()
        is_new = True
        n = 0
    if histories.has_notes:
        try:
            write_notes(histories, block, n, notes, n_notes)
            is_written = True
        finally:
            if is_new and not is_written:
                free_block(histories, block)
    if is_new:
        block.before = history.last             # its user is now the new block, no longer this history
        block.start = history.last.start + history.n
        history.last = block
    entries_of(block)[n].token = token
    entries_of(block)[n].position = position
    history.n = block.n = n + 1
    return 0


cdef int write_notes(Histories* histories, Block* block, uint32_t n, const uint32_t* notes, size_t n_notes) except -1 nogil:
    """Write the notes on the block's entry `n`, over those that the block has on it and on later entries."""
    cdef size_t capacity = block.notes.capacity, end = note_ends(block)[n - 1] if n else 0
    reserve(<void**> &block.notes.data, &block.notes.capacity, end + n_notes, sizeof(uint32_t))
    histories.n_bytes += (block.notes.capacity - capacity) * sizeof(uint32_t)
    block.notes.n = end
    words_extend(&block.notes, notes, n_notes)
    note_ends(block)[n] = <uint32_t> block.notes.n
    return 0


cdef inline Block* block_with(History* history, size_t index) noexcept nogil:
    cdef Block* block = history.last
    while block.start > index:
        block = block.before
    return block


cdef uint32_t history_position(History* history, size_t n_tokens) noexcept nogil:
    cdef Block* block = block_with(history, n_tokens)
    return entries_of(block)[n_tokens - block.start].position


cdef void history_cut(Histories* histories, History* history, size_t n_tokens) noexcept nogil:
    cdef Block* block = block_with(history, n_tokens)
    history.n = <uint32_t> (n_tokens - block.start) + 1
    if block != history.last:
        block.n_users += 1
        release(histories, history.last)
        history.last = block
    if block.n_users == 1:
        block.n = history.n                     # only this history had the entries after this one


cdef const uint32_t* history_notes(History* history, size_t* n) noexcept nogil:
    cdef Block* block = history.last
    cdef size_t start = note_ends(block)[history.n - 2] if history.n > 1 else 0
    n[0] = note_ends(block)[history.n - 1] - start
    return block.notes.data + start


cdef list history_tokens(History* history):
    cdef list tokens = [0] * n_tokens_of(history)
    history_write_tokens(history, tokens)
    return tokens


cdef int history_write_tokens(History* history, list tokens) except -1:
    cdef size_t i
    cdef Block* block = history.last
    cdef Entry* entry = last_entry(history)
    for i in range(n_tokens_of(history), 0, -1):
        tokens[i - 1] = entry.token
        if entry == entries_of(block) and i > 1:
            entry = entries_of(block.before) + (block.start - block.before.start)
            block = block.before
        entry -= 1
    return 0


cdef void history_sweep(Histories* histories) noexcept nogil:
    if must_sweep(histories):
        history_free_dropped(histories)


cdef void history_free_dropped(Histories* histories) noexcept nogil:
    cdef History** link = &histories.first
    cdef History* history
    while link[0] != NULL:
        history = link[0]
        if history.dropped:
            link[0] = history.next
            free_history(histories, history)
            histories.n_dropped -= 1
        else:
            link = &history.next


cdef void history_free_all(Histories* histories) noexcept nogil:
    cdef History* history
    while histories.first != NULL:
        history = histories.first
        histories.first = history.next
        free_history(histories, history)


cdef void free_history(Histories* histories, History* history) noexcept nogil:
    release(histories, history.last)
    free(history)
    histories.n -= 1
    histories.n_bytes -= sizeof(History)


cdef Block* history_blocks(Histories* histories) noexcept nogil:
    cdef History* history = histories.first
    cdef Block* found = NULL
    cdef Block* block
    cdef uint32_t n
    while history != NULL:
        if not history.dropped:
            block = history.last
            n = history.n
            while block != NULL and n > block.used:
                if block.used:
                    block.used = n
                    break                       # it is in the list, and so are those before it
                block.used = n
                block.link = found
                found = block
                if block.before != NULL:
                    n = block.start - block.before.start
                block = block.before
        history = history.next
    block = found
    while block != NULL:
        block.n = block.used
        block.used = 0
        block = block.link
    return found


cdef void history_drop_old(Histories* histories, size_t keep) noexcept nogil:
    cdef History* history = histories.first
    cdef Block* block
    cdef Entry* entry
    cdef size_t i
    while history != NULL:
        block = history.last
        entry = last_entry(history)
        for i in range(0 if history.dropped else min(keep, n_tokens_of(history) + 1)):
            if entry < entries_of(block):
                entry = entries_of(block.before) + (block.start - block.before.start - 1)
                block = block.before
            entry.position |= KEPT              # does not change FORGOTTEN
            entry -= 1
        history = history.next
    block = history_blocks(histories)
    while block != NULL:
        for i in range(block.n):
            entry = entries_of(block) + i
            if entry.position == FORGOTTEN or block.before == NULL and i == 0:
                continue
            entry.position = entry.position & ~<uint32_t> KEPT if entry.position & KEPT else <uint32_t> FORGOTTEN
        if block.before == NULL and entries_of(block).position != FORGOTTEN:
            entries_of(block).position &= ~<uint32_t> KEPT
        block = block.link


cdef bint history_is_sound(Histories* histories) noexcept nogil:
    cdef Block* blocks = history_blocks(histories)
    cdef Block* block = blocks
    cdef History* history = histories.first
    cdef bint is_sound = True
    while block != NULL:
        if block.before != NULL:
            block.before.used += 1
            is_sound &= block.before.start < block.start <= block.before.start + block.before.n
        else:
            is_sound &= block.start == 0
        is_sound &= 0 < block.n <= block.capacity
        block = block.link
    while history != NULL:
        history.last.used += 1
        is_sound &= 0 < history.n <= history.last.n
        history = history.next
    block = blocks
    while block != NULL:
        is_sound &= block.used == block.n_users
        block.used = 0
        block = block.link
    return is_sound
