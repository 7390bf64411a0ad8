# A part: what one regex makes of the tokens below one node of the trie. `_parts` says what that is and keeps them.

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from earleymask.earley._rests cimport RestTrie
from earleymask.earley._tables cimport ByteSet, Words
from earleymask.trie._trie cimport TokenTrie

cdef enum:
    ROOT_NODE = 0xFFFFFFFF      # stands for the root of the trie, which is not stored

# Trie nodes sorted by their byte: those of bytes[i] are nodes[starts[i]:starts[i + 1]].
cdef struct Exits:
    uint32_t n
    uint32_t n_bytes
    uint32_t* nodes
    uint8_t* bytes
    uint32_t* starts
    RestTrie** rests            # by byte: the rests that follow there, merged; NULL until needed

# A set of bytes in one word: bit i stands for the bytes i, i + 64, i + 128 and i + 192. If two such sets have no bit in
# common, they have no byte in common.
cdef inline uint64_t folded(uint32_t byte) noexcept nogil:
    return <uint64_t> 1 << (byte & 63)

cdef struct Part:
    uint32_t node               # of the trie, or ROOT_NODE
    uint32_t regex
    uint32_t index
    uint32_t n_tokens           # inside: tokens after which the regex may still match
    uint32_t* bits              # these as a bitmap, or NULL and
    uint32_t* tokens            # as ascending ids
    # Where a token leaves the lexeme after a prefix that the regex matches:
    Exits exits                 # nodes at which the regex dies; the parent is matched
    uint32_t n_open             # matched nodes below which so many nodes die that a row asks about all of their children
    uint32_t* open
    uint64_t* open_bytes        # for each of them the bytes of its children, as in `folded`
    # Where a token dies later than it could have left the lexeme:
    uint32_t n_late             # nodes at which it dies; `live` is made from them when it is first needed
    uint32_t* late
    ByteSet live_bytes          # bytes that nodes in `live` can have
    bint live_made
    Exits live                  # nodes with which a rest may begin, although the regex continues there
    Part* like                  # or NULL: if this other part has as many exits for a byte, their rests are the same

cdef Part* new_part() except NULL nogil
cdef void free_part(Part* part) noexcept nogil
# Free an array of n parts, and those from `first` on, little by little. Needs the GIL.
cdef void leave_parts(Part** parts, size_t first, size_t n, size_t n_bytes) noexcept
cdef int set_open(Part* part, TokenTrie trie, const uint32_t* nodes, uint32_t n) except -1 nogil
cdef int group_by_byte(Exits* exits, TokenTrie trie, const Words* nodes) except -1 nogil
# Bytes that a part takes without its live nodes and rests; `n_words` is the length of a bitmap.
cdef size_t part_size(const Part* part, size_t n_words) noexcept nogil


cdef inline uint64_t part_key(uint32_t node, uint32_t regex) noexcept nogil:
    """Return the key under which maps have what a regex or a state makes of the tokens below a trie node, which may be
    ROOT_NODE."""
    return (<uint64_t> <uint32_t> (node + 1) << 32) | regex
