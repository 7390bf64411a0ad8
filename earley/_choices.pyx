"""Long lists of texts: K_LIST holds sorted texts as they are, K_CHOICES is a range of them with a common beginning.

A trie of regex nodes takes several nodes for each byte of the list, and tokens reach few of them. So a long list stays
a list, and a node is a range of it: texts that begin alike are next to each other, and bisection finds the derivative
by a byte. Unlike in a trie, equal ends of different texts are different nodes.

A K_LIST node is no language. It has the number of texts, where each begins and the last ends, and their bytes. It is a
node so that it is kept, dropped and adopted together with the nodes that refer to it.
"""

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy, memset

from earleymask.earley._meter cimport spend_steps
from earleymask.earley._nodes cimport K_CHOICES, K_LIST, R_EMPTY, R_EPSILON
from earleymask.earley._tables cimport (
    NONE, Words, byteset_add, byteset_and, byteset_fill, byteset_has, reserve, sequence, words_free,
)

from earleymask.earley.errors import LimitError

cdef enum:
    MAX_BYTES = 1 << 27         # the most bytes of all texts of one list together


cdef uint32_t make_choices(Nodes nodes, list texts) except? 0xFFFFFFFF:
    cdef Words words
    cdef size_t n = len(texts), i, n_bytes = 0, header = n + 3
    cdef uint8_t* data
    cdef bytes text
    for text in texts:
        spend_steps(nodes.meter, 2)
        n_bytes += len(text)
    if n_bytes + 4 * header > MAX_BYTES:
        raise LimitError(f"a list of texts takes more than {MAX_BYTES} bytes; make it shorter")
    memset(&words, 0, sizeof(words))
    try:
        reserve(<void**> &words.data, &words.capacity, header + (n_bytes + 3) // 4, sizeof(uint32_t))
        words.n = header + (n_bytes + 3) // 4
        words.data[words.n - 1] = 0                     # the last word may be filled in part
        words.data[0] = K_LIST
        words.data[1] = <uint32_t> n
        data = <uint8_t*> (words.data + header)
        n_bytes = 0
        for i in range(n):
            text = texts[i]
            spend_steps(nodes.meter, 4 + len(text) // 256)
            words.data[2 + i] = <uint32_t> n_bytes
            memcpy(data + n_bytes, <const char*> text, len(text))
            n_bytes += len(text)
        words.data[2 + n] = <uint32_t> n_bytes
        return make_range(nodes, nodes.make(words.data, words.n), 0, <uint32_t> n, 0)
    finally:
        words_free(&words)


cdef uint32_t make_range(Nodes nodes, uint32_t list_, uint32_t first, uint32_t end, uint32_t depth) except? 0xFFFFFFFF nogil:
    cdef uint32_t words[C_WORDS]
    if first == end:
        return R_EMPTY
    words[0] = K_CHOICES
    words[C_LIST] = list_
    words[C_FIRST] = first
    words[C_END] = end
    words[C_DEPTH] = depth
    if end == first + 1 and have_ended(nodes, words):
        return R_EPSILON
    return nodes.make(words, C_WORDS)


cdef uint32_t derive_choices(Nodes nodes, uint32_t node, uint32_t byte, ByteSet* same) except? 0xFFFFFFFF nogil:
    cdef const uint32_t* p = sequence(nodes.nodes, node)
    cdef uint32_t list_ = p[C_LIST], end = p[C_END], depth = p[C_DEPTH], first = p[C_FIRST] + have_ended(nodes, p), other
    cdef const uint32_t* texts = sequence(nodes.nodes, list_)
    cdef ByteSet alike
    other = below(texts, first, end, depth, byte)
    if other < end and byte_at(texts, other, depth) == byte:
        byteset_fill(&alike, 0)
        byteset_add(&alike, byte)
        byteset_and(same, &alike)
        return make_range(nodes, list_, other, below(texts, other, end, depth, byte + 1), depth + 1)
    byteset_fill(&alike, <uint64_t> -1)
    while first < end:
        other = byte_at(texts, first, depth)
        alike.w[other >> 6] &= ~(<uint64_t> 1 << (other & 63))
        first = below(texts, first, end, depth, other + 1)
    byteset_and(same, &alike)
    return R_EMPTY


cdef bint have_ended(Nodes nodes, const uint32_t* words) noexcept nogil:
    # The texts are sorted: if one of them is the beginning of the others, it is the first.
    return length_of(sequence(nodes.nodes, words[C_LIST]), words[C_FIRST]) == words[C_DEPTH]


cdef uint32_t least_left(Nodes nodes, const uint32_t* words) noexcept nogil:
    cdef const uint32_t* texts = sequence(nodes.nodes, words[C_LIST])
    cdef uint32_t least = NONE, i
    for i in range(words[C_FIRST], words[C_END]):
        least = min(least, length_of(texts, i))
    return least - words[C_DEPTH]


cdef inline uint32_t length_of(const uint32_t* texts, uint32_t text) noexcept nogil:
    return texts[3 + text] - texts[2 + text]


cdef inline uint32_t byte_at(const uint32_t* texts, uint32_t text, uint32_t depth) noexcept nogil:
    return (<const uint8_t*> (texts + texts[1] + 3))[texts[2 + text] + depth]


cdef inline uint32_t below(const uint32_t* texts, uint32_t first, uint32_t end, uint32_t depth, uint32_t byte) noexcept nogil:
    """Return the first of these texts whose byte at `depth` is at least `byte`. All of them must be that long."""
    cdef uint32_t middle
    while first < end:
        middle = first + (end - first) // 2
        if byte_at(texts, middle, depth) < byte:
            first = middle + 1
        else:
            end = middle
    return first
