# Multiples of a number, as JSON spells them, as regex nodes.

from libc.stdint cimport uint32_t

from earleymask.earley._nodes cimport Nodes
from earleymask.earley._tables cimport ByteSet

# Words of a K_DIVISORS node; a number of 64 bits takes two words, the low one first. All numbers of the set are scaled
# by 10^D_SCALE, so that multiples and bounds are integers.
cdef enum:
    D_STYLE = 1             # bits of D_...
    D_SCALE = 2
    D_BARRED = 3            # how many divisors, after the first, no member may have
    D_TERMS = 4             # how many divisors there are: the first one, which members have; barred ones; lcms of these
    D_POWERS = 5            # how many powers of ten follow
    D_MODULUS = 6           # two words: the lcm of all divisors, less than 2^59
    D_SIDES = 8             # where the positive and the negative members are described; 0: there are none
    D_HEADER = 10           # for each divisor, 0 or 1 (it is subtracted when members are counted) and two words; then the
                            # powers of ten modulo D_MODULUS; then the sides

cdef enum:                  # bits of D_STYLE
    D_FRACTION = 1          # there may be a point
    D_EXPONENT = 2          # there may be an exponent
    D_ZERO = 4              # zero is a member
    D_ZEROS = 8             # zeros that change nothing may follow at the end of the fraction
    D_DECIMAL = 16          # there must be a point or an exponent

# Words of a side, in which numbers have no sign.
cdef enum:
    S_LEAST = 0             # number of digits of the least number
    S_MOST = 1              # most digits of a number
    S_BOUNDED = 2           # 1: there is a greatest number; it has S_MOST digits
    S_ZEROS = 3             # the least number has only zeros from this digit on
    S_HEADER = 4            # the digits of the least number, then those of the greatest one; then for i from 0 up to the
                            # larger number of digits, E_WORDS words about what follows after i digits of a bound

# Four numbers of 64 bits. `capped` ones are at most D_MODULUS.
cdef enum:
    R_LEAST = 0             # the rest of the least number, modulo D_MODULUS
    R_ABOVE = 2             # capped: how many numbers with the same beginning are greater than the least one
    R_BELOW = 4             # capped: how many are less than the greatest one
    R_BETWEEN = 6           # capped: the rest of the greatest one less that of the least one
    R_WORDS = 8

# Words of a K_MULTIPLES node: what has been read of a number. `significant`: without leading zeros and the point;
# `short`: without trailing zeros, too.
cdef enum:
    M_DIVISORS = 1
    M_PHASE = 2             # one of P_...
    M_BITS = 3              # bits of B_...
    M_DIGITS = 4            # number of significant digits
    M_VALUE = 5             # two words: these digits modulo D_MODULUS
    M_PLACES = 7            # digits after the point
    M_ZEROS = 8             # trailing zeros among the significant digits
    M_SHORT = 9             # two words: the short digits modulo D_MODULUS
    M_WORDS = 11
    # In the exponent:
    M_FIRST = 4             # the least and the greatest exponent, plus MAX_EXPONENT
    M_LAST = 5
    M_EXPONENT = 6          # its digits so far, and how many
    M_COUNT = 7

cdef enum:                  # phases: what has been read
    P_START                 # nothing
    P_SIGN                  # a minus
    P_ZERO                  # a zero
    P_WHOLE                 # digits before the point
    P_FRACTION              # the point
    P_END                   # the digits that count after it; only zeros may follow
    P_EXPONENT              # an `e`
    P_EXPONENT_SIGN         # its sign
    P_EXPONENT_DIGITS

# Return the node of the numbers that these words of a K_DIVISORS node, without its kind, describe.
cdef uint32_t make_multiples(Nodes nodes, list words) except? 0xFFFFFFFF
# Derive a K_MULTIPLES node, as `Nodes.derive` does.
cdef uint32_t derive_multiples(Nodes nodes, uint32_t node, uint32_t byte, ByteSet* same) except? 0xFFFFFFFF nogil
# Return whether the number of the node with these words may end.
cdef bint is_multiple(Nodes nodes, const uint32_t* words) noexcept nogil
