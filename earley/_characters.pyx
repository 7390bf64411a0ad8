"""Classes of code points, byte by byte: the derivatives of K_CHAR and K_TAIL nodes, in UTF-8 (RFC 3629).

A class stays a class, and its bytes are derived as the text reaches them: after the first byte of a character, the node
keeps the bits that were read. It drops the class if all characters that begin with these bits are in it.
"""

from earleymask.earley._nodes cimport K_TAIL, R_EMPTY, R_EPSILON
from earleymask.earley._tables cimport (
    NONE, byteset_add, byteset_and, byteset_fill, sequence, sequence_length, words_push,
)

cdef enum:
    ANY = NONE              # K_TAIL: any continuation bytes

# How the code points in a block of them relate to a class.
cdef enum:
    VOID                # none is in it
    FULL                # all are in it
    MIXED


cdef uint32_t derive_char(Nodes nodes, uint32_t class_, uint32_t byte, ByteSet* same) except? 0xFFFFFFFF nogil:
    # The first byte in UTF-8 (RFC 3629) is one of 00..7F, C2..DF, E0..EF, F0..F4; all others lead nowhere.
    cdef uint32_t other, left, status = lead_status(nodes, class_, byte, &left)
    cdef ByteSet alike
    cdef uint32_t other_left
    byteset_fill(&alike, 0)
    if status == MIXED:
        byteset_add(&alike, byte)
    else:
        for other in range(256):
            if lead_status(nodes, class_, other, &other_left) == status and (status == VOID or other_left == left):
                byteset_add(&alike, other)
    byteset_and(same, &alike)
    if status == VOID:
        return R_EMPTY
    if left == 0:
        return R_EPSILON
    if status == FULL:
        return make_tail(nodes, ANY, 0, left, 0)
    return make_tail(nodes, class_, byte & (0x3F >> left), left, least_code(left))


cdef uint32_t derive_tail(Nodes nodes, uint32_t class_, uint32_t prefix, uint32_t left, uint32_t least, uint32_t byte,
                          ByteSet* same) except? 0xFFFFFFFF nogil:
    cdef uint32_t status = VOID, other
    cdef ByteSet alike
    byteset_fill(&alike, 0)
    if 0x80 <= byte <= 0xBF:
        status = FULL if class_ == ANY else tail_status(nodes, class_, (prefix << 6) | (byte & 0x3F), left - 1, least)
    if status == MIXED:
        byteset_add(&alike, byte)
    else:
        for other in range(256):
            if not 0x80 <= other <= 0xBF:
                if status == VOID:
                    byteset_add(&alike, other)
            elif class_ == ANY:
                if status == FULL:
                    byteset_add(&alike, other)
            elif tail_status(nodes, class_, (prefix << 6) | (other & 0x3F), left - 1, least) == status:
                byteset_add(&alike, other)
    byteset_and(same, &alike)
    if status == VOID:
        return R_EMPTY
    if left == 1:
        return R_EPSILON
    if status == FULL:
        return make_tail(nodes, ANY, 0, left - 1, 0)
    return make_tail(nodes, class_, (prefix << 6) | (byte & 0x3F), left - 1, least)


cdef uint32_t make_tail(Nodes nodes, uint32_t class_, uint32_t prefix, uint32_t left, uint32_t least) except? 0xFFFFFFFF nogil:
    cdef uint32_t words[5]
    words[0] = K_TAIL
    words[1] = class_
    words[2] = prefix
    words[3] = left
    words[4] = least
    return nodes.make(words, 5)


cdef uint32_t block_status(Nodes nodes, uint32_t class_, uint32_t lo, uint32_t hi) noexcept nogil:
    cdef const uint32_t* ranges = sequence(nodes.classes, class_)
    cdef size_t low = 0, high = sequence_length(nodes.classes, class_) // 2, middle
    while low < high:                                       # the first range that ends at lo or later
        middle = (low + high) // 2
        if ranges[2 * middle + 1] < lo:
            low = middle + 1
        else:
            high = middle
    if 2 * low == sequence_length(nodes.classes, class_) or ranges[2 * low] > hi:
        return VOID
    if ranges[2 * low] <= lo and ranges[2 * low + 1] >= hi:
        return FULL
    return MIXED


cdef uint32_t lead_status(Nodes nodes, uint32_t class_, uint32_t byte, uint32_t* left) noexcept nogil:
    """Return how the code points whose UTF-8 form begins with `byte` relate to a class, and how many bytes follow
    it."""
    left[0] = 0
    if byte < 0x80:
        return block_status(nodes, class_, byte, byte)
    if byte < 0xC2 or byte > 0xF4:
        return VOID
    left[0] = 1 if byte < 0xE0 else (2 if byte < 0xF0 else 3)
    cdef uint32_t status = tail_status(nodes, class_, byte & (0x3F >> left[0]), left[0], least_code(left[0]))
    # After some lead bytes not every continuation byte may come: such a byte is a case of its own, even if its block is
    # full.
    if status == FULL and (byte == 0xE0 or byte == 0xED or byte == 0xF0 or byte == 0xF4):
        return MIXED
    return status


cdef uint32_t tail_status(Nodes nodes, uint32_t class_, uint32_t prefix, uint32_t left, uint32_t least) noexcept nogil:
    """Return how the code points >= least with the leading bits `prefix` and `left` more continuation bytes relate to a
    class."""
    cdef uint32_t lo = prefix << (6 * left), hi = lo + ((<uint32_t> 1 << (6 * left)) - 1)
    if hi < least:
        return VOID
    return block_status(nodes, class_, lo if lo > least else least, hi)


cdef int push_range(Words* words, uint32_t lo, uint32_t hi) except -1:
    if words.n and words.data[words.n - 1] + 1 == lo:
        words.data[words.n - 1] = hi                        # adjacent ranges become one
        return 0
    words_push(words, lo)
    words_push(words, hi)
    return 0


cdef uint32_t encode(uint32_t point, uint32_t* encoded) noexcept nogil:
    """Write the UTF-8 form of a code point that is no surrogate; return its length."""
    cdef uint32_t n = utf8_length(point), i
    for i in range(n - 1, 0, -1):
        encoded[i] = 0x80 | (point & 0x3F)
        point >>= 6
    encoded[0] = point if n == 1 else ((0xF00 >> n) & 0xFF) | point
    return n
