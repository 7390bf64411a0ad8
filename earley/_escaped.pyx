"""The texts of a regex as they are written within a JSON string (K_ESCAPED).

JSON has several spellings of most characters (RFC 8259, section 7): `é` may be written as itself, as `\\u00e9` or as
`\\u00E9`. A schema restricts the text, not its spelling, so its regexes, with their intersections and complements, are
over texts; a K_ESCAPED node matches all spellings of all texts in its `body`, without the quotes. It is an inverse of
"unescape", computed byte by byte: a character that is written as itself derives the body by its bytes; an escape is
read to its end while the state holds its digits, and then derives the body by the UTF-8 form of its character.

A node that matches nothing is never made. So a node within an escape exists only if the digits can still become a
character that continues in the body: no escape begins that cannot be finished. Lone surrogates are no characters.
"""

from libc.stdint cimport uint64_t

from earleymask.earley._characters cimport encode, least_code
from earleymask.earley._nodes cimport (
    E_BODY, E_HIGH, E_PHASE, E_STYLE, E_VALUE, E_WORDS, K_ESCAPED, R_EMPTY, R_EPSILON,
)
from earleymask.earley._tables cimport (
    NONE, byteset_add, byteset_and, byteset_and_not, byteset_fill, byteset_has, byteset_or, sequence,
)

cdef enum:
    # Phases: what has been read of an escape.
    P_NONE = 0
    P_ESCAPE = 1                    # the backslash
    P_DIGITS = 2                    # `\u` and P - P_DIGITS digits
    P_PAIR = 6                      # the first half of a surrogate pair
    P_PAIR_ESCAPE = 7               # and a backslash
    P_PAIR_DIGITS = 8               # and `u` and P - P_PAIR_DIGITS digits

    N_DIGITS = 4
    N_PHASES = P_PAIR_DIGITS + N_DIGITS
    N_STYLES = 1 + (STYLE_ASCII | STYLE_SHORTEST)
    DELETE = 0x7F
    BOTH_STYLES = STYLE_ASCII | STYLE_SHORTEST
    HIGH_SURROGATES = 0xD800
    LOW_SURROGATES = 0xDC00
    LAST_SURROGATE = 0xDFFF
    LAST_POINT = 0x10FFFF


# By style: the bytes that stand for themselves; and by phase, those with which an escape can continue.
# PERF: with a loop over all bytes at each derivative, 6% of the instructions of masks were spent here.
cdef ByteSet THEMSELVES[N_STYLES]
cdef ByteSet COMING[N_STYLES][N_PHASES]


cdef void list_bytes() noexcept:
    cdef uint32_t style, phase, byte
    for style in range(N_STYLES):
        byteset_fill(&THEMSELVES[style], 0)
        for byte in range(256):
            if stands_for_itself(byte, style):
                byteset_add(&THEMSELVES[style], byte)
        for phase in range(P_ESCAPE, N_PHASES):
            byteset_fill(&COMING[style][phase], 0)
            for byte in range(256):
                if may_come(byte, style, phase):
                    byteset_add(&COMING[style][phase], byte)


list_bytes()


cdef uint32_t make_escaped(Nodes nodes, uint32_t body, uint32_t style, uint32_t phase, uint32_t value,
                           uint32_t high) except? 0xFFFFFFFF nogil:
    cdef uint32_t words[E_WORDS]
    if nodes.empty(body) or (phase != P_NONE and not can_end(nodes, body, style, phase, value, high)):
        return R_EMPTY
    if body == R_EPSILON:
        return R_EPSILON
    words[0] = K_ESCAPED
    words[E_BODY] = body
    words[E_STYLE] = style
    words[E_PHASE] = phase
    words[E_VALUE] = value
    words[E_HIGH] = high
    return nodes.make(words, E_WORDS)


cdef uint32_t derive_escaped(Nodes nodes, uint32_t node, uint32_t byte, ByteSet* same) except? 0xFFFFFFFF nogil:
    cdef const uint32_t* p = sequence(nodes.nodes, node)
    cdef uint32_t body = p[E_BODY], style = p[E_STYLE], phase = p[E_PHASE], value = p[E_VALUE], high = p[E_HIGH]
    if phase == P_NONE:
        if byteset_has(&THEMSELVES[style], byte):
            byteset_and(same, &THEMSELVES[style])
            return make_escaped(nodes, nodes.derive(body, byte, same), style, P_NONE, 0, 0)
        if byte == c'\\':
            only(byte, same)
            return make_escaped(nodes, body, style, P_ESCAPE, 0, 0)
        byteset_and_not(same, &THEMSELVES[style])
        byteset_remove(same, c'\\')
        return R_EMPTY
    if not byteset_has(&COMING[style][phase], byte):
        byteset_and_not(same, &COMING[style][phase])
        return R_EMPTY
    only(byte, same)
    if phase == P_ESCAPE:
        if byte == c'u':
            return make_escaped(nodes, body, style, P_DIGITS, 0, 0)
        return after_point(nodes, body, style, short_escape(byte, style))
    if phase == P_PAIR or phase == P_PAIR_ESCAPE:
        return make_escaped(nodes, body, style, phase + 1, 0, high)
    value = value << 4 | hexadecimal(byte, style)
    phase += 1
    if phase != P_DIGITS + N_DIGITS and phase != P_PAIR_DIGITS + N_DIGITS:
        return make_escaped(nodes, body, style, phase, value, high)
    if phase == P_PAIR_DIGITS + N_DIGITS:
        if not LOW_SURROGATES <= value <= LAST_SURROGATE:
            return R_EMPTY
        return after_point(nodes, body, style, pair_point(high, value))
    if HIGH_SURROGATES <= value < LOW_SURROGATES:
        return make_escaped(nodes, body, style, P_PAIR, 0, value)
    if (style & STYLE_SHORTEST and not needs_digits(value, style)) or LOW_SURROGATES <= value <= LAST_SURROGATE:
        return R_EMPTY
    return after_point(nodes, body, style, value)


cdef uint32_t after_point(Nodes nodes, uint32_t body, uint32_t style, uint32_t point) except? 0xFFFFFFFF nogil:
    """Return the node after the character `point`; NONE stands for no character."""
    cdef uint32_t encoded[4]
    cdef uint32_t i
    cdef ByteSet same
    if point == NONE:
        return R_EMPTY
    for i in range(encode(point, encoded)):
        byteset_fill(&same, <uint64_t> -1)
        body = nodes.derive(body, encoded[i], &same)
    return make_escaped(nodes, body, style, P_NONE, 0, 0)


cdef bint can_end(Nodes nodes, uint32_t body, uint32_t style, uint32_t phase, uint32_t value,
                  uint32_t high) except? -1 nogil:
    """Return whether the escape can become that of a character with which the body continues."""
    cdef uint32_t least, most, lo, hi
    cdef uint32_t left
    cdef int i
    if phase == P_ESCAPE:
        for lo in range(0x80):
            if short_escape(lo, style) != NONE and goes_on(nodes, body, short_escape(lo, style), short_escape(lo, style)):
                return True
        phase = P_DIGITS
    if phase < P_PAIR:
        left = 4 * (P_DIGITS + N_DIGITS - phase)
        least = value << left
        most = least + (<uint32_t> 1 << left) - 1
        if style & STYLE_SHORTEST:
            if least < 0x20:
                for lo in range(least, min(most, 0x1F) + 1):
                    if needs_digits(lo, style) and goes_on(nodes, body, lo, lo):
                        return True
            if not style & STYLE_ASCII:
                return False
            least = max(least, DELETE)
        if least <= most and (goes_on(nodes, body, least, min(most, HIGH_SURROGATES - 1))
                              or goes_on(nodes, body, max(least, LAST_SURROGATE + 1), most)):
            return True
        lo, hi = max(least, HIGH_SURROGATES), min(most, LOW_SURROGATES - 1)
        return lo <= hi and goes_on(nodes, body, pair_point(lo, LOW_SURROGATES), pair_point(hi, LAST_SURROGATE))
    if phase < P_PAIR_DIGITS:
        return goes_on(nodes, body, pair_point(high, LOW_SURROGATES), pair_point(high, LAST_SURROGATE))
    left = 4 * (P_PAIR_DIGITS + N_DIGITS - phase)
    lo = max(value << left, LOW_SURROGATES)
    hi = min((value << left) + (<uint32_t> 1 << left) - 1, LAST_SURROGATE)
    return lo <= hi and goes_on(nodes, body, pair_point(high, lo), pair_point(high, hi))


cdef bint goes_on(Nodes nodes, uint32_t body, uint32_t least, uint32_t most) except? -1 nogil:
    """Return whether some text in `body` begins with a character out of least..most, surrogates not among them."""
    cdef uint32_t first[4]
    cdef uint32_t last[4]
    cdef uint32_t length, lo, hi, end
    for length in range(1, 5):                              # UTF-8 forms of one length ascend with the code points
        lo = 0 if length == 1 else least_code(length - 1)
        end = LAST_POINT if length == 4 else least_code(length) - 1
        lo, hi = max(lo, least), min(end, most)
        if lo <= hi:
            encode(lo, first)
            encode(hi, last)
            if goes_on_between(nodes, body, first, last, length, True, True):
                return True
    return False


cdef bint goes_on_between(Nodes nodes, uint32_t body, const uint32_t* first, const uint32_t* last, uint32_t length,
                          bint at_first, bint at_last) except? -1 nogil:
    cdef uint32_t byte, target, least, most
    cdef ByteSet same, seen
    if length == 0:
        return not nodes.empty(body)
    least = first[0] if at_first else 0x80
    most = last[0] if at_last else 0xBF
    byteset_fill(&seen, 0)
    for byte in range(least, most + 1):
        if byteset_has(&seen, byte) and byte != most:
            continue
        byteset_fill(&same, <uint64_t> -1)
        target = nodes.derive(body, byte, &same)
        if target != R_EMPTY and goes_on_between(nodes, target, first + 1, last + 1, length - 1,
                                                 at_first and byte == least, at_last and byte == most):
            return True
        if byte != least or not at_first:                   # the first byte of the least one allows only some next bytes
            byteset_or(&seen, &same)
    return False


cdef uint64_t least_spelling(uint32_t phase, uint64_t length) noexcept nogil:
    if phase == P_NONE:
        return length               # no spelling of a character is shorter than its UTF-8 form
    if phase == P_ESCAPE:
        return max(length, <uint64_t> 1)    # a character in ASCII has a letter, others have `u` and digits
    if phase < P_PAIR:
        return N_DIGITS + P_DIGITS - phase + (length - min(length, <uint64_t> 3))       # of up to three bytes of UTF-8
    length -= min(length, <uint64_t> 4)
    if phase < P_PAIR_DIGITS:
        return 2 + N_DIGITS + P_PAIR - phase + length
    return N_DIGITS + P_PAIR_DIGITS - phase + length


cdef inline bint stands_for_itself(uint32_t byte, uint32_t style) noexcept nogil:
    if byte == DELETE:                                      # ASCII, but `json.dumps` escapes it
        return style & BOTH_STYLES != BOTH_STYLES
    return byte >= 0x20 and byte != c'"' and byte != c'\\' and (byte < 0x80 or not style & STYLE_ASCII)


cdef inline bint may_come(uint32_t byte, uint32_t style, uint32_t phase) noexcept nogil:
    """Return whether an escape can continue with this byte, for any character."""
    if phase == P_ESCAPE:
        return byte == c'u' or short_escape(byte, style) != NONE
    if phase == P_PAIR:
        return byte == c'\\'
    if phase == P_PAIR_ESCAPE:
        return byte == c'u'
    return hexadecimal(byte, style) != NONE


cdef inline bint needs_digits(uint32_t point, uint32_t style) noexcept nogil:
    """Return whether the shortest style spells the character by its number."""
    if point >= DELETE:
        return style & STYLE_ASCII
    return point < 0x20 and not (8 <= point <= 13 and point != 11)


cdef inline uint32_t short_escape(uint32_t letter, uint32_t style) noexcept nogil:
    """Return the character that a backslash and this letter stand for, or NONE."""
    if letter == c'"' or letter == c'\\' or (letter == c'/' and not style & STYLE_SHORTEST):
        return letter
    if letter == c'b':
        return 8
    if letter == c't':
        return 9
    if letter == c'n':
        return 10
    if letter == c'f':
        return 12
    return 13 if letter == c'r' else NONE


cdef inline uint32_t hexadecimal(uint32_t byte, uint32_t style) noexcept nogil:
    if c'0' <= byte <= c'9':
        return byte - c'0'
    if c'a' <= byte <= c'f':
        return byte - c'a' + 10
    if c'A' <= byte <= c'F' and not style & STYLE_SHORTEST:
        return byte - c'A' + 10
    return NONE


cdef inline uint32_t pair_point(uint32_t high, uint32_t low) noexcept nogil:
    return 0x10000 + ((high - HIGH_SURROGATES) << 10) + (low - LOW_SURROGATES)


cdef inline void only(uint32_t byte, ByteSet* same) noexcept nogil:
    cdef ByteSet one
    byteset_fill(&one, 0)
    byteset_add(&one, byte)
    byteset_and(same, &one)


cdef inline void byteset_remove(ByteSet* s, uint32_t byte) noexcept nogil:
    s.w[byte >> 6] &= ~(<uint64_t> 1 << (byte & 63))
