"""Masks are applied to logits in memory: -inf is written where a mask has no bit.

What is written does not depend on the logits, so they are handled as unsigned integers of 16, 32 or 64 bits, and one
loop serves every floating-point type. Each word of a mask decides 32 neighbouring logits:

- Runs of words that allow all tokens are skipped, eight words at a time.
- If two words refuse at most four tokens, these are written one by one.
- Otherwise two words are blended with their 64 logits in vectors, without a branch.

The vectors are those of GCC's and Clang's extension, of 16 bytes, which every x86-64 and ARM processor has, or of 32
where the processor has AVX2. Other compilers get a plain loop.
"""

from cpython.buffer cimport PyBUF_STRIDED, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free

from earleymask.trie._memory cimport malloc

cdef extern from *:
    """
    #include <stddef.h>
    #include <stdint.h>

    #if defined(__GNUC__)
    #define EARLEYMASK_ALWAYS static inline __attribute__((always_inline))
    /* What all blends of a row have in common, and the blend of a word with its 32 logits: LANES of them at a time. */
    #define EARLEYMASK_BLEND(NAME, T, BYTES, TARGET)                                                                  \\
        enum { NAME##_LANES = BYTES / sizeof(T) };                                                                    \\
        typedef T NAME##_vector __attribute__((vector_size(BYTES), aligned(sizeof(T)), may_alias));                   \\
        typedef struct { NAME##_vector refused, bits; T minus_infinity; } NAME##_constants;                           \\
        TARGET EARLEYMASK_ALWAYS NAME##_constants NAME##_prepare(T minus_infinity) {                                  \\
            const NAME##_vector zero = {0};                                                                           \\
            NAME##_constants made = {zero + minus_infinity, zero, minus_infinity};                                    \\
            for (int k = 0; k < NAME##_LANES; k++) made.bits[k] = (T)1 << k;                                          \\
            return made;                                                                                              \\
        }                                                                                                             \\
        TARGET EARLEYMASK_ALWAYS void NAME##_blend(T *logits, uint32_t word, NAME##_constants of) {                   \\
            const NAME##_vector zero = {0};                                                                           \\
            for (int k = 0; k < 32 / NAME##_LANES; k++) {                                                             \\
                NAME##_vector *some = (NAME##_vector *)(logits + NAME##_LANES * k);                                   \\
                NAME##_vector lanes = zero + (T)(word >> (NAME##_LANES * k));                                         \\
                NAME##_vector keep = (NAME##_vector)((lanes & of.bits) != zero);                                      \\
                *some = (*some & keep) | (of.refused & ~keep);                                                        \\
            }                                                                                                         \\
        }
    EARLEYMASK_ALWAYS int earleymask_lowest_bit(uint64_t bits) { return __builtin_ctzll(bits); }
    #else
    #define EARLEYMASK_ALWAYS static __inline
    #define EARLEYMASK_BLEND(NAME, T, BYTES, TARGET)                                                                  \\
        typedef struct { T minus_infinity; } NAME##_constants;                                                        \\
        EARLEYMASK_ALWAYS NAME##_constants NAME##_prepare(T minus_infinity) {                                         \\
            NAME##_constants made = {minus_infinity};                                                                 \\
            return made;                                                                                              \\
        }                                                                                                             \\
        EARLEYMASK_ALWAYS void NAME##_blend(T *logits, uint32_t word, NAME##_constants of) {                          \\
            for (int k = 0; k < 32; k++) logits[k] = (word >> k & 1) ? logits[k] : of.minus_infinity;                 \\
        }
    EARLEYMASK_ALWAYS int earleymask_lowest_bit(uint64_t bits) {
        int k = 0;
        while (!(bits >> k & 1)) k++;
        return k;
    }
    #endif

    /* NAME(logits, words, n, minus_infinity): apply n words to 32 * n logits that follow one another. */
    #define EARLEYMASK_APPLY(NAME, T, BYTES, TARGET)                                                                  \\
        EARLEYMASK_BLEND(NAME, T, BYTES, TARGET)                                                                      \\
        TARGET EARLEYMASK_ALWAYS void NAME##_two(T *logits, uint64_t allowed, NAME##_constants of) {                  \\
            uint64_t refused = ~allowed, rest = refused & (refused - 1);                                              \\
            rest &= rest - 1;                                                                                         \\
            rest &= rest - 1;                                                                                         \\
            if (rest & (rest - 1)) { /* there are more than four */                                                   \\
                NAME##_blend(logits, (uint32_t)allowed, of);                                                          \\
                NAME##_blend(logits + 32, (uint32_t)(allowed >> 32), of);                                             \\
            } else {                                                                                                  \\
                for (; refused; refused &= refused - 1) logits[earleymask_lowest_bit(refused)] = of.minus_infinity;   \\
            }                                                                                                         \\
        }                                                                                                             \\
        TARGET static void NAME(T *logits, const uint32_t *words, size_t n, T minus_infinity) {                       \\
            const NAME##_constants of = NAME##_prepare(minus_infinity);                                               \\
            size_t i = 0;                                                                                             \\
            for (; i + 8 <= n; i += 8) {                                                                              \\
                uint64_t pairs[4];                                                                                    \\
                for (int k = 0; k < 4; k++)                                                                           \\
                    pairs[k] = (uint64_t)words[i + 2 * k + 1] << 32 | words[i + 2 * k];                               \\
                if ((pairs[0] & pairs[1] & pairs[2] & pairs[3]) != ~(uint64_t)0)                                      \\
                    for (int k = 0; k < 4; k++) NAME##_two(logits + 32 * i + 64 * k, pairs[k], of);                   \\
            }                                                                                                         \\
            for (; i < n; i++)                                                                                        \\
                if (words[i] != ~(uint32_t)0) NAME##_blend(logits + 32 * i, words[i], of);                            \\
        }

    EARLEYMASK_APPLY(earleymask_apply_16, uint16_t, 16, )
    EARLEYMASK_APPLY(earleymask_apply_32, uint32_t, 16, )
    EARLEYMASK_APPLY(earleymask_apply_64, uint64_t, 16, )
    #if defined(__GNUC__) && defined(__x86_64__)
    #define EARLEYMASK_AVX2 __attribute__((target("avx2")))
    EARLEYMASK_APPLY(earleymask_apply_16_avx2, uint16_t, 32, EARLEYMASK_AVX2)
    EARLEYMASK_APPLY(earleymask_apply_32_avx2, uint32_t, 32, EARLEYMASK_AVX2)
    EARLEYMASK_APPLY(earleymask_apply_64_avx2, uint64_t, 32, EARLEYMASK_AVX2)
    static inline int earleymask_has_avx2(void) { return __builtin_cpu_supports("avx2"); }
    #else
    #define earleymask_apply_16_avx2 earleymask_apply_16
    #define earleymask_apply_32_avx2 earleymask_apply_32
    #define earleymask_apply_64_avx2 earleymask_apply_64
    static inline int earleymask_has_avx2(void) { return 0; }
    #endif
    """
    bint has_avx2 "earleymask_has_avx2"() noexcept nogil
    void apply_16 "earleymask_apply_16"(uint16_t*, const uint32_t*, size_t, uint16_t) noexcept nogil
    void apply_32 "earleymask_apply_32"(uint32_t*, const uint32_t*, size_t, uint32_t) noexcept nogil
    void apply_64 "earleymask_apply_64"(uint64_t*, const uint32_t*, size_t, uint64_t) noexcept nogil
    void apply_16_avx2 "earleymask_apply_16_avx2"(uint16_t*, const uint32_t*, size_t, uint16_t) noexcept nogil
    void apply_32_avx2 "earleymask_apply_32_avx2"(uint32_t*, const uint32_t*, size_t, uint32_t) noexcept nogil
    void apply_64_avx2 "earleymask_apply_64_avx2"(uint64_t*, const uint32_t*, size_t, uint64_t) noexcept nogil

cdef enum:
    # So many logits take about a tenth of a millisecond. For fewer, the GIL is kept: to get it back takes up to 5 ms
    # if other threads are busy.
    LOGITS_WITH_GIL = 1 << 20

# Logits and masks of a batch, checked.
cdef struct Rows:
    char* logits
    Py_ssize_t logits_stride    # bytes between two rows
    Py_ssize_t step             # bytes between two logits of a row
    size_t width                # logits of a row
    size_t itemsize             # bytes of a logit: 2, 4 or 8
    char* words
    Py_ssize_t words_stride     # bytes between two rows of words, which follow one another
    size_t n_words              # of a row
    uint64_t minus_infinity     # the bits of this number
    bint is_wide                # whether to use AVX2


def apply_rows(logits not None, words not None, places, uint64_t minus_infinity, bint is_plain=False) -> None:
    """Write -inf into `logits` where the masks in `words` have no bit, as `earleymask.apply_bitmask` says.

    Args:
        logits: a writable buffer of items of 2, 4 or 8 bytes, of shape (rows, width) or (width,), at addresses that
            are multiples of the item's size.
        words: a buffer of 32-bit words, of shape (rows, n_words) or (n_words,), aligned. The words of a row follow one
            another.
        places: the numbers of the rows to which masks are applied, or None for all rows.
        minus_infinity: the bits of -inf in the type of the logits.
        is_plain: use only instructions that every processor of this architecture has, for tests.

    Raises ValueError if a buffer is not as above or the number of rows differs (without `places`), IndexError if a
    place is no row of both. Nothing has been written then.
    """
    cdef Py_buffer logits_buffer, words_buffer
    cdef Rows rows
    cdef size_t* chosen = NULL
    cdef size_t i, n, n_rows
    PyObject_GetBuffer(logits, &logits_buffer, PyBUF_STRIDED | PyBUF_WRITABLE)
    try:
        PyObject_GetBuffer(words, &words_buffer, PyBUF_STRIDED)
        try:
            n_rows = open_rows(&rows, &logits_buffer, &words_buffer, places is None)
            rows.minus_infinity = minus_infinity
            rows.is_wide = not is_plain and has_avx2()
            if places is None:
                n = n_rows
            else:
                n = len(places)
                chosen = <size_t*> malloc((n + 1) * sizeof(size_t))
                if chosen == NULL:
                    raise MemoryError("places of rows")
                for i in range(n):
                    place = places[i]
                    if not 0 <= place < n_rows:
                        raise IndexError(f"there are {n_rows} rows, and place {i} is row {place}")
                    chosen[i] = place
            if n * rows.width < LOGITS_WITH_GIL:
                apply_chosen(&rows, chosen, n)
            else:
                with nogil:
                    apply_chosen(&rows, chosen, n)
        finally:
            free(chosen)
            PyBuffer_Release(&words_buffer)
    finally:
        PyBuffer_Release(&logits_buffer)


cdef size_t open_rows(Rows* rows, Py_buffer* logits, Py_buffer* words, bint is_each) except? 0:
    """Check both buffers, and return the number of rows that both have."""
    cdef int last = logits.ndim - 1
    if (logits.ndim not in (1, 2) or words.ndim != logits.ndim or words.itemsize != sizeof(uint32_t)
            or logits.itemsize not in (2, 4, 8)):
        raise ValueError(f"logits of {logits.ndim} dimensions and {logits.itemsize} bytes, words of {words.ndim} dimensions "
                         f"and {words.itemsize} bytes; needed are 1 or 2 dimensions, the same number for both, logits of "
                         "2, 4 or 8 bytes and words of 4")
    if words.shape[last] > 1 and words.strides[last] != sizeof(uint32_t):
        raise ValueError("the words of a row do not follow one another")
    if not (is_aligned(logits) and is_aligned(words)):
        raise ValueError("logits or words are not aligned to the size of an item")
    rows.logits, rows.words = <char*> logits.buf, <char*> words.buf
    rows.width, rows.n_words = logits.shape[last], words.shape[last]
    rows.step, rows.itemsize = logits.strides[last], logits.itemsize
    rows.logits_stride = rows.words_stride = 0
    if logits.ndim == 1:
        return 1
    if is_each and logits.shape[0] != words.shape[0]:
        raise ValueError(f"there are {logits.shape[0]} rows of logits and {words.shape[0]} rows of words")
    rows.logits_stride, rows.words_stride = logits.strides[0], words.strides[0]
    return min(logits.shape[0], words.shape[0])


cdef bint is_aligned(Py_buffer* buffer) noexcept:
    cdef int k
    if <size_t> buffer.buf % buffer.itemsize:
        return False
    for k in range(buffer.ndim):
        if buffer.strides[k] % buffer.itemsize:
            return False
    return True


cdef void apply_chosen(Rows* rows, const size_t* chosen, size_t n) noexcept nogil:
    cdef size_t i
    cdef Py_ssize_t place
    for i in range(n):
        place = i if chosen == NULL else chosen[i]
        apply_row(rows, rows.logits + place * rows.logits_stride, <const uint32_t*> (rows.words + place * rows.words_stride))


cdef void apply_row(Rows* rows, char* logits, const uint32_t* words) noexcept nogil:
    cdef size_t n = min(rows.n_words, rows.width // 32), covered = min(rows.width, 32 * rows.n_words), t
    if rows.width > covered and allows_all(words, rows.n_words):
        return
    if rows.step != <Py_ssize_t> rows.itemsize:
        n = 0
    elif rows.itemsize == 2:
        if rows.is_wide:
            apply_16_avx2(<uint16_t*> logits, words, n, <uint16_t> rows.minus_infinity)
        else:
            apply_16(<uint16_t*> logits, words, n, <uint16_t> rows.minus_infinity)
    elif rows.itemsize == 4:
        if rows.is_wide:
            apply_32_avx2(<uint32_t*> logits, words, n, <uint32_t> rows.minus_infinity)
        else:
            apply_32(<uint32_t*> logits, words, n, <uint32_t> rows.minus_infinity)
    elif rows.is_wide:
        apply_64_avx2(<uint64_t*> logits, words, n, rows.minus_infinity)
    else:
        apply_64(<uint64_t*> logits, words, n, rows.minus_infinity)
    for t in range(32 * n, rows.width):
        if t >= covered or not words[t >> 5] >> (t & 31) & 1:
            refuse(rows, logits + <Py_ssize_t> t * rows.step)


cdef inline void refuse(Rows* rows, char* logit) noexcept nogil:
    if rows.itemsize == 2:
        (<uint16_t*> logit)[0] = <uint16_t> rows.minus_infinity
    elif rows.itemsize == 4:
        (<uint32_t*> logit)[0] = <uint32_t> rows.minus_infinity
    else:
        (<uint64_t*> logit)[0] = rows.minus_infinity


cdef bint allows_all(const uint32_t* words, size_t n) noexcept nogil:
    cdef size_t i
    for i in range(n):
        if words[i] != <uint32_t> 0xFFFFFFFF:
            return False
    return True
