"""Growable memory and hash-consing (see the pxd for the map).

Not here: what the words mean. `_nodes`, `_lexer`, `_skeletons` and `_chart` say that for their tables.
"""

from libc.stdlib cimport free
from libc.string cimport memchr, memcmp, memcpy, memmove, memset

from earleymask.earley._meter cimport exceeds, give_back, pause, spend_steps, take_here
from earleymask.earley._remains cimport free_block
from earleymask.trie._memory cimport enlarged, malloc, shrunk

from earleymask.earley.errors import LimitError

cdef enum:
    COUNTED = 1 << 12           # bytes of an array from which on it counts for a loading
    PAUSE = 1 << 11             # entries of a table after which other threads may run: some milliseconds for new pages
    MANY_SLOTS = 1 << 16
    STEPS_OF_ENTRY = 4          # to find a new slot for an entry: a page may be new


# The bytes of an array for which it counts.
cdef inline size_t counted(size_t n_bytes) noexcept nogil:
    return n_bytes if n_bytes >= COUNTED else 0


cdef int grow(void** memory, size_t* capacity, size_t needed, size_t item_size) except -1 nogil:
    cdef size_t new_capacity
    cdef void* grown
    new_capacity = capacity[0] + capacity[0] // 2 + 16
    if new_capacity < needed:
        new_capacity = needed
    if new_capacity > (<size_t> -1) // 2 // item_size:
        with gil:
            raise MemoryError(f"{new_capacity} items of {item_size} bytes")
    if new_capacity * item_size >= COUNTED:
        take_here(new_capacity * item_size - counted(capacity[0] * item_size))
    grown = enlarged(memory[0], capacity[0] * item_size, new_capacity * item_size)
    if grown == NULL:
        with gil:
            raise MemoryError(f"{new_capacity} items of {item_size} bytes")
    memory[0] = grown
    capacity[0] = new_capacity
    return 0


cdef int words_extend(Words* words, const uint32_t* data, size_t n) except -1 nogil:
    if words.n + n > words.capacity:
        reserve(<void**> &words.data, &words.capacity, words.n + n, sizeof(uint32_t))
    if n:
        memcpy(words.data + words.n, data, n * sizeof(uint32_t))
    words.n += n
    return 0


cdef void words_free(Words* words) noexcept nogil:
    give_back(counted(words.capacity * sizeof(uint32_t)))
    free(words.data)
    words.data = NULL
    words.n = words.capacity = 0


cdef inline uint32_t hash_words(const uint32_t* data, size_t n) noexcept nogil:
    # Multiply and fold (the mixing step of wyhash, Wang Yi 2019), a word at a time.
    cdef uint64_t h = 0x9E3779B97F4A7C15u ^ n
    cdef size_t i
    for i in range(n):
        h = (h ^ data[i]) * <uint64_t> 0xD6E8FEB86659FD93u
        h ^= h >> 32
    return <uint32_t> (h ^ (h >> 29))


cdef object full(Sequences table):
    return LimitError(f"{table.what}: more than {4 * table.limit} bytes of memory; simplify the grammar")


cdef class Sequences:
    """Interned sequences of 32-bit words. `limit` bounds the words kept, so that no grammar takes too much memory."""

    def __cinit__(self, str what, size_t limit=1 << 28):
        self.what = what
        self.limit = limit
        reserve(<void**> &self.starts, &self.starts_capacity, 16, sizeof(size_t))
        self.starts[0] = 0
        self.n_slots = 64
        self.slots = <uint32_t*> malloc(self.n_slots * sizeof(uint32_t))
        if self.slots == NULL:
            raise MemoryError()
        memset(self.slots, 0, self.n_slots * sizeof(uint32_t))

    def __dealloc__(self):
        give_back(counted(self.starts_capacity * sizeof(size_t)) + counted(self.hashes_capacity * sizeof(uint32_t))
                  + counted(self.n_slots * sizeof(uint32_t)) + counted(self.words.capacity * sizeof(uint32_t)))
        free_block(self.words.data, self.words.capacity * sizeof(uint32_t))
        free_block(self.starts, self.starts_capacity * sizeof(size_t))
        free_block(self.hashes, self.hashes_capacity * sizeof(uint32_t))
        free_block(self.slots, self.n_slots * sizeof(uint32_t))

    cdef uint32_t intern(self, const uint32_t* data, size_t n) except? 0xFFFFFFFF nogil:
        cdef uint32_t h = hash_words(data, n)
        cdef size_t slot = find_slot(self, h, data, n)
        cdef uint32_t entry
        if self.slots[slot]:
            return self.slots[slot] - 1
        if exceeds(self.words.n + n, self.limit) or self.n >= NONE - 2:
            with gil:
                raise full(self)                            # a Python object in a variable would take the GIL in every call
        # First everything that may fail, then the entry.
        entry = self.n
        if entry * <size_t> 2 >= self.n_slots:
            sequences_rehash(self)
            slot = find_slot(self, h, data, n)
        reserve(<void**> &self.starts, &self.starts_capacity, entry + 2, sizeof(size_t))
        reserve(<void**> &self.hashes, &self.hashes_capacity, entry + 1, sizeof(uint32_t))
        words_extend(&self.words, data, n)
        self.starts[entry + 1] = self.words.n
        self.hashes[entry] = h
        self.n += 1
        self.slots[slot] = self.n
        return entry

    cdef uint32_t find(self, const uint32_t* data, size_t n) noexcept nogil:
        return self.slots[find_slot(self, hash_words(data, n), data, n)] - 1

    cdef void clear(self) noexcept nogil:
        self.n = 0
        self.words.n = 0
        memset(self.slots, 0, self.n_slots * sizeof(uint32_t))

    cdef size_t n_bytes(self) noexcept nogil:
        return (self.words.n + self.n + self.n_slots) * sizeof(uint32_t) + self.n * sizeof(size_t)


cdef inline size_t find_slot(Sequences table, uint32_t h, const uint32_t* data, size_t n) noexcept nogil:
    """Return the slot of this content, or the empty slot for it."""
    cdef size_t slot = h & (table.n_slots - 1)
    cdef uint32_t entry
    while table.slots[slot]:
        entry = table.slots[slot] - 1
        if (table.hashes[entry] == h and sequence_length(table, entry) == n
                and (n == 0 or memcmp(sequence(table, entry), data, n * sizeof(uint32_t)) == 0)):
            break
        slot = (slot + 1) & (table.n_slots - 1)
    return slot


cdef int rest(Meter meter, size_t n) except -1 nogil:
    """Count the steps for n entries of a table that has found a larger place for them."""
    return pause() if meter is None else spend_steps(meter, STEPS_OF_ENTRY * n)


cdef int sequences_rehash(Sequences table) except -1 nogil:
    """Give the table more slots: four times as many, twice as many if there are many. After an error it is as it was."""
    # The entries are taken in the order of their slots, so that they go to few places at a time, which move on through the
    # new slots. Any other order takes four times as long.
    cdef size_t n_slots = table.n_slots * (4 if table.n_slots < MANY_SLOTS else 2), old, slot, n_bytes
    cdef uint32_t* slots
    n_bytes = counted(n_slots * sizeof(uint32_t)) - counted(table.n_slots * sizeof(uint32_t))
    if n_bytes:
        take_here(n_bytes)
    slots = <uint32_t*> enlarged(NULL, 0, n_slots * sizeof(uint32_t))
    if slots == NULL:
        give_back(n_bytes)
        with gil:
            raise MemoryError(f"{n_slots} hash slots")
    try:
        slot = 0
        while slot < n_slots:                           # a page that is read before it is written is made twice
            if slot:
                rest(table.meter, PAUSE // 2)
            memset(slots + slot, 0, min(n_slots - slot, <size_t> MANY_SLOTS) * sizeof(uint32_t))
            slot += MANY_SLOTS
        for old in range(table.n_slots):
            if old % PAUSE == PAUSE - 1:
                rest(table.meter, PAUSE // 2)
            if table.slots[old]:
                slot = table.hashes[table.slots[old] - 1] & (n_slots - 1)
                while slots[slot]:
                    slot = (slot + 1) & (n_slots - 1)
                slots[slot] = table.slots[old]
        slots, table.slots = table.slots, slots
        table.n_slots = n_slots
        n_bytes = 0
    finally:
        give_back(n_bytes)
        free(slots)
    return 0


cdef size_t keep_marked(Sequences table, const uint8_t* marks, uint32_t* map_) noexcept nogil:
    cdef const void* unmarked = memchr(marks, 0, table.n)
    cdef size_t i, start, end, n_in_place = table.n if unmarked == NULL else <const uint8_t*> unmarked - marks
    cdef size_t n = n_in_place, n_words = table.starts[n_in_place]
    for i in range(n_in_place):
        map_[i] = <uint32_t> i
    for i in range(n_in_place, table.n):
        start = table.starts[i]
        end = table.starts[i + 1]
        map_[i] = NONE
        if marks[i]:
            if start < end:                                 # a table of empty sequences has no words
                memmove(table.words.data + n_words, table.words.data + start, (end - start) * sizeof(uint32_t))
            table.starts[n] = n_words
            n_words += end - start
            map_[i] = <uint32_t> n
            n += 1
    table.starts[n] = n_words
    table.words.n = n_words
    table.n = <uint32_t> n
    return n_in_place


cdef void rehash(Sequences table) noexcept nogil:
    trim(table)
    hash_again(table)


cdef void trim(Sequences table) noexcept nogil:
    cdef size_t n_slots = 64, before
    while n_slots <= table.n * <size_t> 2:
        n_slots *= 4
    before = counted(table.n_slots * sizeof(uint32_t)) + counted(table.words.capacity * sizeof(uint32_t))
    if n_slots < table.n_slots:
        table.slots = <uint32_t*> shrunk(table.slots, n_slots * sizeof(uint32_t))
        table.n_slots = n_slots
    if table.words.capacity > table.words.n + 1:
        table.words.capacity = table.words.n + 1
        table.words.data = <uint32_t*> shrunk(table.words.data, table.words.capacity * sizeof(uint32_t))
    give_back(before - counted(table.n_slots * sizeof(uint32_t)) - counted(table.words.capacity * sizeof(uint32_t)))


cdef void hash_again(Sequences table) noexcept nogil:
    cdef uint32_t entry
    cdef size_t slot
    memset(table.slots, 0, table.n_slots * sizeof(uint32_t))
    for entry in range(table.n):
        table.hashes[entry] = hash_words(sequence(table, entry), sequence_length(table, entry))
        slot = table.hashes[entry] & (table.n_slots - 1)
        while table.slots[slot]:
            slot = (slot + 1) & (table.n_slots - 1)
        table.slots[slot] = entry + 1


cdef inline size_t hash_key(uint64_t key) noexcept nogil:
    key *= <uint64_t> 0x9E3779B97F4A7C15u
    return <size_t> (key ^ (key >> 32))


cdef class Map:
    """64-bit keys to words, open addressing, linear probing. NONE is not a value."""

    def __cinit__(self):
        map_allocate(self, 64)

    def __dealloc__(self):
        give_back(counted(self.n_slots * sizeof(Slot)))
        free_block(self.slots, self.n_slots * sizeof(Slot))

    cdef uint32_t get(self, uint64_t key) noexcept nogil:
        cdef size_t slot = hash_key(key) & (self.n_slots - 1)
        while self.slots[slot].value != NONE:
            if self.slots[slot].key == key:
                return self.slots[slot].value
            slot = (slot + 1) & (self.n_slots - 1)
        return NONE

    cdef int put(self, uint64_t key, uint32_t value) except -1 nogil:
        if self.n * 2 >= self.n_slots:
            map_enlarge(self)
        map_insert(self, key, value)
        return 0

    cdef void clear(self) noexcept nogil:
        give_back(counted(self.n_slots * sizeof(Slot)) - counted(64 * sizeof(Slot)))
        self.slots = <Slot*> shrunk(self.slots, 64 * sizeof(Slot))
        self.n_slots = 64
        memset(self.slots, 0xFF, self.n_slots * sizeof(Slot))
        self.n = 0

    cdef size_t n_bytes(self) noexcept nogil:
        return self.n_slots * sizeof(Slot)


cdef void map_insert(Map self, uint64_t key, uint32_t value) noexcept nogil:
    cdef size_t slot = hash_key(key) & (self.n_slots - 1)
    while self.slots[slot].value != NONE and self.slots[slot].key != key:
        slot = (slot + 1) & (self.n_slots - 1)
    if self.slots[slot].value == NONE:
        self.n += 1
    self.slots[slot].key = key
    self.slots[slot].value = value


cdef int map_enlarge(Map self) except -1 nogil:
    """Give the map four times as many slots. After an error it is as it was."""
    cdef Slot* before = self.slots
    cdef size_t n_before = self.n_slots, n_slots = 4 * n_before, i, n = self.n, n_bytes
    cdef bint is_done = False
    n_bytes = counted(n_slots * sizeof(Slot)) - counted(n_before * sizeof(Slot))
    if n_bytes:
        take_here(n_bytes)
    try:
        map_allocate(self, n_slots)
        for i in range(n_before):
            if i % PAUSE == PAUSE - 1:
                rest(self.meter, PAUSE)
            if before[i].value != NONE:
                map_insert(self, before[i].key, before[i].value)
        is_done = True
    finally:
        if not is_done:
            give_back(n_bytes)
        if not is_done and self.slots == before:    # there was no memory for the slots
            before = NULL
        elif not is_done:
            before, self.slots = self.slots, before
            self.n_slots, self.n = n_before, n
        free(before)
    return 0


cdef int map_allocate(Map self, size_t n_slots) except -1 nogil:
    """Give the map empty slots, so many; the caller frees those that it had. After an error it has these still."""
    cdef Slot* slots = <Slot*> malloc(n_slots * sizeof(Slot))
    cdef size_t i = 0, n
    if slots == NULL:
        with gil:
            raise MemoryError(f"{n_slots} hash slots")
    try:
        while i < n_slots:
            n = min(n_slots - i, <size_t> PAUSE)
            memset(slots + i, 0xFF, n * sizeof(Slot))
            i += n
            if i < n_slots:
                rest(self.meter, PAUSE)
        self.slots, slots = slots, NULL
        self.n_slots = n_slots
        self.n = 0
    finally:
        free(slots)
    return 0


ctypedef fused key_t:
    uint32_t
    uint64_t


cdef void sort_words(uint32_t* data, size_t n) noexcept nogil:
    quicksort(data, n, 64)


cdef void sort_u64(uint64_t* data, size_t n) noexcept nogil:
    quicksort(data, n, 64)


cdef void radix_sort(uint64_t* data, uint64_t* scratch, size_t n) noexcept nogil:
    """Sort n keys, with room for n more. The time is linear in n: for keys of which many bytes are equal in all."""
    # Least significant byte first (Seward 1954). Bytes that are equal in all keys are skipped.
    cdef size_t counts[256]
    cdef size_t i, place, count
    cdef uint64_t differing = 0
    cdef uint64_t* source = data
    cdef uint64_t* target = scratch
    cdef int shift
    if n < 256:
        quicksort(data, n, 64)
        return
    for i in range(1, n):
        differing |= data[i] ^ data[0]
    for shift in range(0, 64, 8):
        if not (differing >> shift) & 0xFF:
            continue
        memset(counts, 0, sizeof(counts))
        for i in range(n):
            counts[(source[i] >> shift) & 0xFF] += 1
        place = 0
        for i in range(256):
            count = counts[i]
            counts[i] = place
            place += count
        for i in range(n):
            place = (source[i] >> shift) & 0xFF
            target[counts[place]] = source[i]
            counts[place] += 1
        source, target = target, source
    if source != data:
        memcpy(data, source, n * sizeof(uint64_t))


cdef void quicksort(key_t* data, size_t n, int depth) noexcept nogil:
    # Introsort (Musser 1997): quicksort at the median of three, insertion sort for short parts, heapsort if it goes too
    # deep.
    cdef size_t i, j
    cdef key_t pivot, key
    while n > 24:
        if depth == 0:
            heapsort(data, n)
            return
        depth -= 1
        pivot = max(min(data[0], data[n // 2]), min(max(data[0], data[n // 2]), data[n - 1]))
        i = 0
        j = n - 1
        while True:
            while data[i] < pivot:
                i += 1
            while data[j] > pivot:
                j -= 1
            if i >= j:
                break
            data[i], data[j] = data[j], data[i]
            i += 1
            j -= 1
        quicksort(data + j + 1, n - j - 1, depth)
        n = j + 1
    for i in range(1, n):
        key = data[i]
        j = i
        while j > 0 and data[j - 1] > key:
            data[j] = data[j - 1]
            j -= 1
        data[j] = key


cdef void heapsort(key_t* data, size_t n) noexcept nogil:
    cdef size_t i
    for i in range(n // 2, 0, -1):
        sift(data, i - 1, n)
    for i in range(n - 1, 0, -1):
        data[0], data[i] = data[i], data[0]
        sift(data, 0, i)


cdef void sift(key_t* data, size_t i, size_t n) noexcept nogil:
    cdef size_t child
    cdef key_t key = data[i]
    while 2 * i + 1 < n:
        child = 2 * i + 1
        if child + 1 < n and data[child + 1] > data[child]:
            child += 1
        if data[child] <= key:
            break
        data[i] = data[child]
        i = child
    data[i] = key


cdef void sort_unique(Words* words) noexcept nogil:
    cdef size_t i, n = 0
    sort_words(words.data, words.n)
    for i in range(words.n):
        if n == 0 or words.data[n - 1] != words.data[i]:
            words.data[n] = words.data[i]
            n += 1
    words.n = n


cdef int copy_of(void** copy, const void* data, size_t n_bytes) except -1 nogil:
    copy[0] = NULL
    if n_bytes == 0:
        return 0
    copy[0] = malloc(n_bytes)
    if copy[0] == NULL:
        with gil:
            raise MemoryError("table")
    memcpy(copy[0], data, n_bytes)
    return 0


cdef void set_all(uint32_t* table, const ByteSet* s, uint32_t value) noexcept nogil:
    cdef uint32_t w
    cdef uint64_t word
    for w in range(4):
        word = s.w[w]
        while word:
            table[64 * w + lowest_bit(word)] = value
            word &= word - 1
