"""The memory of a part: allocate one, sort its exits, free it. `_builder` fills parts, `_parts` keeps them."""

from libc.stdlib cimport free

from earleymask.earley._remains cimport leave
from earleymask.earley._rests cimport free_rests
from earleymask.earley._tables cimport byteset_add, byteset_fill, byteset_has, copy_of, lowest_bit
from earleymask.trie._memory cimport calloc, malloc
from earleymask.trie._trie cimport node_byte, node_skip

cdef enum:
    FREED_AT_ONCE = 16


cdef Part* new_part() except NULL nogil:
    cdef Part* part = <Part*> calloc(1, sizeof(Part))
    if part == NULL:
        with gil:
            raise MemoryError("part")
    return part


cdef int set_open(Part* part, TokenTrie trie, const uint32_t* nodes, uint32_t n) except -1 nogil:
    """Give a part its open nodes."""
    cdef uint32_t i, child, end
    if n == 0:
        return 0
    copy_of(<void**> &part.open, nodes, n * sizeof(uint32_t))
    part.open_bytes = <uint64_t*> calloc(n, sizeof(uint64_t))
    if part.open_bytes == NULL:
        with gil:
            raise MemoryError("part")
    part.n_open = n
    for i in range(n):
        child = nodes[i] + 1
        end = nodes[i] + node_skip(trie.nodes[nodes[i]])
        while child < end:
            part.open_bytes[i] |= folded(node_byte(trie.nodes[child]))
            child += node_skip(trie.nodes[child])
    return 0


cdef void free_part(Part* part) noexcept nogil:
    free(part.bits)
    free(part.tokens)
    free(part.open)
    free(part.open_bytes)
    free(part.late)
    free_exits(&part.exits)
    free_exits(&part.live)
    free(part)


cdef void leave_parts(Part** parts, size_t first, size_t n, size_t n_bytes) noexcept:
    leave(parts, first, n, n_bytes, FREED_AT_ONCE, free_part_of)


cdef void free_part_of(void* parts, size_t i) noexcept nogil:
    free_part((<Part**> parts)[i])


cdef void free_exits(Exits* exits) noexcept nogil:
    cdef uint32_t k
    if exits.rests != NULL:
        for k in range(exits.n_bytes):
            if exits.rests[k] != NULL:
                free_rests(exits.rests[k])
    free(exits.rests)
    free(exits.nodes)
    free(exits.bytes)
    free(exits.starts)


cdef int group_by_byte(Exits* exits, TokenTrie trie, const Words* nodes) except -1 nogil:
    """Sort `nodes` by their byte, with a counting sort."""
    cdef uint32_t ends[256]                             # of the bytes in `bytes_`: first how many nodes, then where the next goes
    cdef ByteSet bytes_
    cdef uint64_t word
    cdef uint32_t i, byte, w, n = 0, at = 0, count
    if nodes.n == 0:
        return 0
    byteset_fill(&bytes_, 0)
    for i in range(nodes.n):
        byte = node_byte(trie.nodes[nodes.data[i]])
        if not byteset_has(&bytes_, byte):
            byteset_add(&bytes_, byte)
            ends[byte] = 0
            n += 1
        ends[byte] += 1
    free_exits(exits)                                   # remains of an attempt that ran out of memory
    exits.nodes = <uint32_t*> malloc(nodes.n * sizeof(uint32_t))
    exits.bytes = <uint8_t*> malloc(n)
    exits.starts = <uint32_t*> malloc((<size_t> n + 1) * sizeof(uint32_t))
    exits.rests = <RestTrie**> calloc(n, sizeof(RestTrie*))
    exits.n_bytes = n
    if exits.rests == NULL or exits.nodes == NULL or exits.bytes == NULL or exits.starts == NULL:
        with gil:
            raise MemoryError("part")
    n = 0
    for w in range(4):
        word = bytes_.w[w]
        while word:
            byte = 64 * w + lowest_bit(word)
            word &= word - 1
            count = ends[byte]
            ends[byte] = at
            exits.bytes[n] = <uint8_t> byte
            exits.starts[n] = at
            n += 1
            at += count
    exits.starts[n] = at
    for i in range(nodes.n):
        byte = node_byte(trie.nodes[nodes.data[i]])
        exits.nodes[ends[byte]] = nodes.data[i]
        ends[byte] += 1
    exits.n = <uint32_t> nodes.n
    return 0


cdef size_t part_size(const Part* part, size_t n_words) noexcept nogil:
    cdef size_t n = n_words if part.bits != NULL else part.n_tokens
    return sizeof(Part) + (n + 3 * <size_t> part.n_open + part.n_late + part.exits.n) * sizeof(uint32_t)
