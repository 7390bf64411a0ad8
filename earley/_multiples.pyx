"""Multiples of numbers with very many remainders: K_MULTIPLES is what has been read of a number, as arithmetic.

An automaton of remainders has a state for each of them, whether a text reaches it or not. A K_MULTIPLES node is one
such state, made when a text reaches it. It holds the remainder of the digits read so far, how many they are, and how
they compare with as many digits of the bounds. A K_DIVISORS node is no language. It has what the states of one set of
numbers share: divisors, bounds, powers of ten. It is a node so that it is kept, dropped and adopted with them.

No node is made from which no member is left (`is_left`), so a K_MULTIPLES node needs no search to show that it matches
something. How many members begin with some digits is computed by division. After r, k more digits spell the numbers
from r*10^k to r*10^k + 10^k - 1, or a part of them where the digits so far are those of a bound. Multiples among so many
successive numbers are counted, and barred ones subtracted by inclusion and exclusion. A whole period of remainders
always has a member; so numbers beyond the modulus count as the modulus, and 64 bits suffice.

With an exponent, the point does not matter: some members begin with the digits if there are numbers of any length that
do. Which exponents may follow is an interval, since a power of ten is divisible by whatever a lower one is divisible by.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy, memset

from earleymask.earley._meter cimport spend_steps
from earleymask.earley._nodes cimport K_DIVISORS, K_MULTIPLES, R_EMPTY
from earleymask.earley._tables cimport (
    Words, byteset_add, byteset_and, byteset_fill, sequence, words_free, words_push,
)

cdef enum:
    LESS = 0                # of digits, compared with as many digits of a bound
    EQUAL = 1
    GREATER = 2             # also if there are more digits than the bound has

cdef enum:                  # bits of M_BITS
    B_NEGATIVE = 1
    B_LEAST = 1             # where the comparison with the least number begins, of 2 bits
    B_MOST = 3              # with the greatest one
    B_SHORT_LEAST = 5       # the same for the short digits
    B_SHORT_MOST = 7
    B_ENDS = 1 << 9         # in P_FRACTION, beyond D_SCALE places: without an exponent this is a member

cdef enum:
    MAX_EXPONENT = 999      # exponents have at most three digits
    MAX_VALUATION = 60      # a number below 2^59 has fewer factors 2, and fewer factors 5
    MAX_FREE = 18           # 10^18 is the greatest power of ten below 2^63


cdef uint32_t make_multiples(Nodes nodes, list words) except? 0xFFFFFFFF:
    cdef Words made
    cdef uint32_t state[M_WORDS]
    memset(&made, 0, sizeof(made))
    memset(state, 0, sizeof(state))
    try:
        words_push(&made, K_DIVISORS)
        for word in words:
            spend_steps(nodes.meter, 2)
            words_push(&made, <uint32_t?> word)
        state[0] = K_MULTIPLES
        state[M_DIVISORS] = nodes.make(made.data, made.n)
        state[M_PHASE] = P_START
        return nodes.make(state, M_WORDS)
    finally:
        words_free(&made)


cdef uint32_t derive_multiples(Nodes nodes, uint32_t node, uint32_t byte, ByteSet* same) except? 0xFFFFFFFF nogil:
    cdef uint32_t state[M_WORDS]
    cdef ByteSet alike
    cdef const uint32_t* d
    cdef uint32_t i
    cdef bint is_alive
    if not (48 <= byte <= 57 or byte == 43 or byte == 45 or byte == 46 or byte == 69 or byte == 101):
        byteset_fill(&alike, <uint64_t> -1)
        for i in range(48, 58):
            alike.w[0] &= ~(<uint64_t> 1 << i)
        alike.w[0] &= ~(<uint64_t> 1 << 43 | <uint64_t> 1 << 45 | <uint64_t> 1 << 46)
        alike.w[1] &= ~(<uint64_t> 1 << (69 - 64) | <uint64_t> 1 << (101 - 64))
        byteset_and(same, &alike)
        return R_EMPTY
    byteset_fill(&alike, 0)
    byteset_add(&alike, byte)
    byteset_and(same, &alike)
    memcpy(state, sequence(nodes.nodes, node), sizeof(state))
    d = sequence(nodes.nodes, state[M_DIVISORS])
    if state[M_PHASE] >= P_EXPONENT:
        is_alive = read_exponent(state, byte)
    elif byte == 69 or byte == 101:
        is_alive = begin_exponent(d, state)
    else:
        is_alive = read_mantissa(d, state, byte)
    if not is_alive:
        return R_EMPTY
    return nodes.make(state, M_WORDS)


cdef bint is_multiple(Nodes nodes, const uint32_t* words) noexcept nogil:
    cdef const uint32_t* d = sequence(nodes.nodes, words[M_DIVISORS])
    cdef uint32_t phase = words[M_PHASE]
    if phase == P_ZERO:
        return d[D_STYLE] & (D_ZERO | D_DECIMAL) == D_ZERO
    if phase == P_WHOLE:
        return not d[D_STYLE] & D_DECIMAL and is_member(d, words, d[D_SCALE])
    if phase == P_FRACTION:
        if not words[M_PLACES]:
            return False
        if not words[M_DIGITS]:
            return d[D_STYLE] & D_ZERO
        if words[M_PLACES] < d[D_SCALE]:
            return is_member(d, words, d[D_SCALE] - words[M_PLACES])
        return words[M_BITS] & B_ENDS != 0
    if phase == P_EXPONENT_DIGITS:
        return words[M_FIRST] <= MAX_EXPONENT + signed(words) <= words[M_LAST]
    return phase == P_END


# ---- steps: each changes the state, and returns whether a member is left --------------------------------------------


cdef bint read_mantissa(const uint32_t* d, uint32_t* state, uint32_t byte) noexcept nogil:
    cdef uint32_t phase = state[M_PHASE], style = d[D_STYLE], digit = byte - 48
    cdef bint ends
    if byte == 43:
        return False
    if byte == 45:
        if phase != P_START:
            return False
        state[M_PHASE] = P_SIGN
        state[M_BITS] = B_NEGATIVE
        return d[D_SIDES + 1] or style & D_ZERO
    if byte == 46:
        if not style & D_FRACTION or (phase != P_ZERO and phase != P_WHOLE):
            return False
        state[M_PHASE] = P_FRACTION
        if not d[D_SCALE] and state[M_DIGITS] and is_member(d, state, 0):
            state[M_BITS] |= B_ENDS
        return is_left(d, state)
    if phase == P_START or phase == P_SIGN:
        if not digit:
            state[M_PHASE] = P_ZERO
            return is_left(d, state)
        if not d[D_SIDES + (state[M_BITS] & B_NEGATIVE)]:
            return False
        state[M_PHASE] = P_WHOLE
        state[M_BITS] |= EQUAL << B_LEAST | EQUAL << B_MOST
        append(d, state, digit)
        return is_left(d, state)
    if phase == P_WHOLE:
        append(d, state, digit)
        return is_left(d, state)
    if phase == P_END:
        return digit == 0 and style & D_ZEROS
    if phase != P_FRACTION:
        return False
    if state[M_PLACES] >= d[D_SCALE]:
        ends = state[M_BITS] & B_ENDS and not digit and (style & D_ZEROS or not state[M_PLACES])
    if state[M_DIGITS] or digit:
        if not state[M_DIGITS]:
            if not d[D_SIDES + (state[M_BITS] & B_NEGATIVE)]:
                return False
            state[M_BITS] |= EQUAL << B_LEAST | EQUAL << B_MOST
        append(d, state, digit)
    state[M_PLACES] += 1
    if state[M_PLACES] == d[D_SCALE]:
        ends = is_member(d, state, 0) if state[M_DIGITS] else style & D_ZERO != 0
    elif state[M_PLACES] < d[D_SCALE]:
        return is_left(d, state)
    if not state[M_DIGITS]:
        ends = style & D_ZERO and (style & D_ZEROS or state[M_PLACES] <= max(d[D_SCALE], 1))
    state[M_BITS] &= ~<uint32_t> B_ENDS
    if ends:
        state[M_BITS] |= B_ENDS
    if style & D_EXPONENT:
        return is_left(d, state)
    if ends:                                            # all such states are one
        memset(state + M_PHASE, 0, (M_WORDS - M_PHASE) * sizeof(uint32_t))
        state[M_PHASE] = P_END
    return ends


cdef bint begin_exponent(const uint32_t* d, uint32_t* state) noexcept nogil:
    cdef int64_t first, last
    cdef uint32_t phase = state[M_PHASE]
    if not d[D_STYLE] & D_EXPONENT or phase < P_ZERO or (phase == P_FRACTION and not state[M_PLACES]):
        return False
    if not exponents(d, state, &first, &last):
        return False
    memset(state + M_PHASE, 0, (M_WORDS - M_PHASE) * sizeof(uint32_t))
    state[M_PHASE] = P_EXPONENT
    state[M_FIRST] = <uint32_t> (first + MAX_EXPONENT)
    state[M_LAST] = <uint32_t> (last + MAX_EXPONENT)
    return True


cdef bint read_exponent(uint32_t* state, uint32_t byte) noexcept nogil:
    cdef uint32_t phase = state[M_PHASE], count
    cdef int64_t first, last, low, high
    if byte == 43 or byte == 45:
        if phase != P_EXPONENT:
            return False
        state[M_PHASE] = P_EXPONENT_SIGN
        if byte == 45:
            state[M_BITS] = B_NEGATIVE
    elif 48 <= byte <= 57:
        if state[M_COUNT] == 3:
            return False
        state[M_PHASE] = P_EXPONENT_DIGITS
        state[M_EXPONENT] = state[M_EXPONENT] * 10 + byte - 48
        state[M_COUNT] += 1
    else:
        return False
    first, last = <int64_t> state[M_FIRST] - MAX_EXPONENT, <int64_t> state[M_LAST] - MAX_EXPONENT
    if state[M_BITS] & B_NEGATIVE:
        first, last = -last, -first
    low = high = state[M_EXPONENT]
    for count in range(state[M_COUNT], 4):
        if count and low <= last and high >= first:
            return True
        low, high = low * 10, high * 10 + 9
    return False


cdef inline int32_t signed(const uint32_t* words) noexcept nogil:
    return -<int32_t> words[M_EXPONENT] if words[M_BITS] & B_NEGATIVE else <int32_t> words[M_EXPONENT]


cdef void append(const uint32_t* d, uint32_t* state, uint32_t digit) noexcept nogil:
    """Read one significant digit."""
    cdef const uint32_t* side = side_of(d, state)
    cdef uint64_t value = (number(state + M_VALUE) * 10 + digit) % number(d + D_MODULUS)
    cdef uint32_t n = state[M_DIGITS], least = bits(state, B_LEAST), most = bits(state, B_MOST)
    least = compared(least, side + S_HEADER, side[S_LEAST], n, digit)
    if side[S_BOUNDED]:
        most = compared(most, side + S_HEADER + side[S_LEAST], side[S_MOST], n, digit)
    else:
        most = LESS
    set_bits(state, B_LEAST, least)
    set_bits(state, B_MOST, most)
    set_number(state + M_VALUE, value)
    state[M_DIGITS] = n + 1
    if d[D_STYLE] & D_EXPONENT:
        if digit:
            set_bits(state, B_SHORT_LEAST, least)
            set_bits(state, B_SHORT_MOST, most)
            set_number(state + M_SHORT, value)
            state[M_ZEROS] = 0
        else:
            state[M_ZEROS] += 1


cdef inline uint32_t compared(uint32_t so_far, const uint32_t* bound, uint32_t length, uint32_t n, uint32_t digit) noexcept nogil:
    if n >= length:
        return GREATER
    if so_far != EQUAL or digit == bound[n]:
        return so_far
    return LESS if digit < bound[n] else GREATER


# ---- questions ------------------------------------------------------------------------------------------------------


cdef bint is_left(const uint32_t* d, const uint32_t* state) noexcept nogil:
    """Return whether a member begins with what has been read of the mantissa."""
    cdef const uint32_t* side = side_of(d, state)
    cdef uint32_t style = d[D_STYLE], phase = state[M_PHASE]
    cdef int64_t n = state[M_DIGITS], scale = d[D_SCALE], places = state[M_PLACES], least, most, length, first, last
    if not n and style & D_ZERO and (phase == P_ZERO or style & D_ZEROS or places <= max(scale, 1)):
        return True
    if phase == P_ZERO and not style & D_FRACTION:
        return False
    if side == NULL:
        return False
    most = side[S_MOST]
    if state[M_BITS] & B_ENDS:
        return True
    if phase == P_WHOLE:
        least = n if style & D_EXPONENT else n + scale
    elif style & D_EXPONENT:
        least = n
        most = min(most, MAX_EXPONENT + scale + n - places)
    elif n:
        least = most = n + scale - places
        if least < side[S_LEAST] or least > side[S_MOST]:
            return False
    else:
        return side[S_LEAST] <= scale - places
    if not n:                                           # with an exponent: the least number is a member
        return side[S_LEAST] <= most
    if style & D_EXPONENT and exponents(d, state, &first, &last):
        return True
    least = max(least, <int64_t> side[S_LEAST])
    length = most
    while length >= least:                              # soon there is a whole period, or too few digits are left
        if has_member(d, side, state, length):
            return True
        length -= 1
    return False


cdef bint has_member(const uint32_t* d, const uint32_t* side, const uint32_t* state, int64_t length) noexcept nogil:
    """Return whether a member of so many digits begins with the significant digits; there is at least one."""
    cdef uint32_t n = state[M_DIGITS]
    cdef int64_t more = length - n
    cdef bint at_least = False, at_most = False
    cdef uint64_t modulus = number(d + D_MODULUS), size, start
    cdef const uint32_t* entry
    if length == side[S_LEAST]:
        if bits(state, B_LEAST) == LESS:
            return False
        at_least = bits(state, B_LEAST) == EQUAL
    if side[S_BOUNDED] and length == side[S_MOST]:
        if bits(state, B_MOST) == GREATER:
            return False
        at_most = bits(state, B_MOST) == EQUAL
    if at_least or at_most:
        entry = entry_of(side, n)
        if at_least and at_most:
            size = number(entry + R_BETWEEN)
        else:
            size = number(entry + (R_ABOVE if at_least else R_BELOW))
    else:
        size = power_of_ten(more) - 1 if more <= MAX_FREE else modulus
    if size >= modulus - 1:
        return True
    start = product(number(state + M_VALUE), power(d, more), modulus)
    if at_least:
        start = (start + number(entry + R_LEAST)) % modulus
    return count(d, start, size) > 0


cdef bint is_member(const uint32_t* d, const uint32_t* state, uint32_t zeros) noexcept nogil:
    """Return whether the significant digits with so many zeros after them are a member."""
    cdef const uint32_t* side = side_of(d, state)
    cdef uint32_t n = state[M_DIGITS]
    cdef int64_t length = <int64_t> n + zeros
    if not is_within(side, bits(state, B_LEAST), bits(state, B_MOST), n, length):
        return False
    return count(d, product(number(state + M_VALUE), power(d, zeros), number(d + D_MODULUS)), 0) > 0


cdef bint is_within(const uint32_t* side, uint32_t least, uint32_t most, uint32_t n, int64_t length) noexcept nogil:
    """Return whether n digits, which compare so with the bounds, with zeros up to this length are within the bounds."""
    if length < side[S_LEAST] or length > side[S_MOST]:
        return False
    if length == side[S_LEAST] and (least == LESS or (least == EQUAL and n < side[S_ZEROS])):
        return False
    return not (side[S_BOUNDED] and length == side[S_MOST] and most == GREATER)


cdef bint exponents(const uint32_t* d, const uint32_t* state, int64_t* first, int64_t* last) noexcept nogil:
    """Find the least and the greatest exponent after the mantissa; return whether there are any."""
    cdef const uint32_t* side = side_of(d, state)
    cdef uint64_t modulus = number(d + D_MODULUS), value, ten
    cdef uint32_t n = state[M_DIGITS] - state[M_ZEROS], i
    cdef uint32_t least = bits(state, B_SHORT_LEAST), most = bits(state, B_SHORT_MOST)
    cdef int64_t zeros, begin, end, found = -1, shift
    if not state[M_DIGITS]:
        first[0], last[0] = -MAX_EXPONENT, MAX_EXPONENT
        return d[D_STYLE] & D_ZERO
    # The short digits with `zeros` zeros after them are a member.
    begin = max(<int64_t> side[S_LEAST] - n, 0)
    if not is_within(side, least, LESS, n, n + begin):
        begin += 1
    end = <int64_t> side[S_MOST] - n
    if side[S_BOUNDED] and most == GREATER:
        end -= 1
    if begin > end:
        return False
    ten = 10 % modulus
    value = product(number(state + M_SHORT), power(d, begin), modulus)
    for zeros in range(begin, min(end, begin + MAX_VALUATION) + 1):
        if found < 0 and value % divisor(d, 0) == 0:
            found = zeros
        for i in range(1, d[D_BARRED] + 1):
            if value % divisor(d, i) == 0:
                end = zeros - 1
                break
        if end < zeros:
            break
        value = product(value, ten, modulus)
    if found < 0 or found > end:
        return False
    shift = <int64_t> state[M_PLACES] - d[D_SCALE] - state[M_ZEROS]
    first[0] = max(found + shift, -MAX_EXPONENT)
    last[0] = min(end + shift, MAX_EXPONENT)
    return first[0] <= last[0]


# ---- arithmetic -----------------------------------------------------------------------------------------------------


cdef int64_t count(const uint32_t* d, uint64_t start, uint64_t size) noexcept nogil:
    """Return how many members modulo D_MODULUS are from `start` to `start + size`; size is less than D_MODULUS."""
    cdef int64_t total = 0
    cdef uint64_t value, rest, found
    cdef uint32_t i
    for i in range(d[D_TERMS]):
        value = divisor(d, i)
        rest = start % value
        found = (rest + size) // value + (rest == 0)
        total += -<int64_t> found if d[D_HEADER + 3 * i] else <int64_t> found
    return total


cdef uint64_t product(uint64_t a, uint64_t b, uint64_t modulus) noexcept nogil:
    """Return a * b modulo `modulus`; both are less than it, and it is less than 2^63."""
    cdef uint64_t total = 0
    if (a | b) >> 32 == 0:
        return a * b % modulus
    while b:
        if b & 1:
            total += a
            if total >= modulus:
                total -= modulus
        a += a
        if a >= modulus:
            a -= modulus
        b >>= 1
    return total


cdef inline uint64_t power_of_ten(int64_t exponent) noexcept nogil:
    cdef uint64_t result = 1
    while exponent > 0:
        result *= 10
        exponent -= 1
    return result


cdef inline uint64_t number(const uint32_t* words) noexcept nogil:
    return words[0] | (<uint64_t> words[1] << 32)


cdef inline void set_number(uint32_t* words, uint64_t value) noexcept nogil:
    words[0] = <uint32_t> value
    words[1] = <uint32_t> (value >> 32)


cdef inline uint32_t bits(const uint32_t* state, uint32_t place) noexcept nogil:
    return state[M_BITS] >> place & 3


cdef inline void set_bits(uint32_t* state, uint32_t place, uint32_t value) noexcept nogil:
    state[M_BITS] = (state[M_BITS] & ~(<uint32_t> 3 << place)) | value << place


cdef inline const uint32_t* side_of(const uint32_t* d, const uint32_t* state) noexcept nogil:
    cdef uint32_t place = d[D_SIDES + (state[M_BITS] & B_NEGATIVE)]
    return d + place if place else NULL


cdef inline const uint32_t* entry_of(const uint32_t* side, uint32_t i) noexcept nogil:
    cdef uint32_t n = side[S_LEAST]
    if side[S_BOUNDED]:
        n += side[S_MOST]
    return side + S_HEADER + n + R_WORDS * <size_t> i


cdef inline uint64_t divisor(const uint32_t* d, uint32_t i) noexcept nogil:
    return number(d + D_HEADER + 3 * i + 1)


cdef inline uint64_t power(const uint32_t* d, int64_t exponent) noexcept nogil:
    """Return a power of ten modulo D_MODULUS."""
    cdef uint32_t at = D_HEADER + 3 * d[D_TERMS]
    return number(d + at + 2 * exponent)
