# Regex nodes over bytes, hash-consed: their kinds, and the store that keeps them.

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from earleymask.earley._meter cimport Meter
from earleymask.earley._tables cimport NONE, ByteSet, Sequences, Words, sequence

# A node is a sequence of words: its kind, then
cdef enum:
    K_EMPTY         #                                     no string at all
    K_EPSILON       #                                     the empty string
    K_BYTES         # eight words of a byte set           one byte
    K_CHAR          # class                               one code point of the class, in UTF-8
    K_TAIL          # class, prefix, left, least          the last `left` bytes of such a code point: its leading bits are
                    #                                     `prefix`, and it must be >= least (no overlong forms)
    K_CONCAT        # first, rest                         first is no K_CONCAT
    K_UNION         # sorted nodes, two or more
    K_AND           # sorted nodes, two or more
    K_NOT           # node                                relative to all byte strings
    K_REPEAT        # body, minimum, maximum              maximum NONE: unbounded
    K_ORDERED       # program, (instruction, node) ...    live threads in order of preference
    K_CUTS          # cut program, question, oracles, items: threads in groups that cuts end, see `_cuts`
    K_ESCAPED       # body, style, phase, value, high     the spellings of texts in a JSON string, see `_escaped`
    K_READ          # body, n, bytes, four in a word      the body; remembers the n bytes read so far, see `_lexer`
    K_LIST          # n, n + 1 places of bytes, bytes     no language: the list that K_CHOICES nodes share, see `_choices`
    K_CHOICES       # list, first, end, depth             texts of a K_LIST node, of which `depth` bytes have been read
    K_MARKED        # body, MAX_MARKS nodes               the body, in which the bytes below MAX_MARKS stand for these, see `Regexes.marked`
    K_DIVISORS      # see `_multiples`                    no language: what K_MULTIPLES nodes of one set of numbers share
    K_MULTIPLES     # divisors, see `_multiples`          numbers of such a set, of which some characters have been read

cdef enum:
    R_EMPTY = 0                     # the first two nodes of every arena
    R_EPSILON = 1

cdef enum:                          # words of a K_CUTS, of a K_ESCAPED and of a K_READ node
    CUTS_PROGRAM = 1
    CUTS_QUESTION = 2
    CUTS_ORACLES = 3                # the first of them; the items come after the last one
    E_BODY = 1
    E_STYLE = 2
    E_PHASE = 3
    E_VALUE = 4
    E_HIGH = 5
    E_WORDS = 6
    READ_BODY = 1
    READ_LENGTH = 2
    READ_BYTES = 3
    MAX_MARKS = 8                   # of a K_MARKED node

cdef enum:                          # questions of a K_CUTS node beside numbers of followings, see `Regexes.cuts`
    Q_DECIDED = 0x40000000          # the text matches, whatever follows it
    Q_OUTSIDE = 0x40000001          # what follows matters, but neither the end nor any of the points refutes the match
    Q_MIXED = 0x40000002            # what follows matters, and of the end and the points some refute the match, others do not
    Q_OPEN = 0x40000003             # what follows matters
    Q_FOLLOWING = 0x40000004        # a text has ended: the node matches what may follow it
    Q_BEFORE = 0x40000005           # what follows matters, and any text that begins with the points may follow
    Q_LAST = 0x40000006             # what follows matters, and the points may follow if the text ends after them

cdef enum:                     # one byte a node
    F_NULLABLE = 1                  # contains the empty string
    F_SEARCH = 2                    # only a search can tell whether it matches anything
    F_KNOWN_EMPTY = 4               # the outcome of that search
    F_KNOWN_INHABITED = 8
    F_ORDERED = 16                  # holds a K_ORDERED or K_CUTS node
    F_COUNTED = 32                  # a bounded K_REPEAT, or a K_CONCAT with one along it
    F_TEXT = 64                     # it is obvious that all its strings are sequences of Unicode scalar values, in UTF-8
    F_BOUNDED = 128                 # somewhere in it a K_REPEAT has an upper bound of FAR or more
    F_INHERITED = F_SEARCH | F_ORDERED | F_BOUNDED
    FAR = 4                         # `_far_bounds` looks at no smaller bounds

cdef enum:
    ANY_CLASS = 0                   # the class of all code points, the first one of every arena

cdef enum:
    OP_ATOM = 0
    OP_SPLIT = 1
    OP_JUMP = 2
    OP_MATCH = 3
    # In cut programs, where an atom continues at y:
    OP_BEHIND = 4                   # x: oracle * 2 + negative; continues at y
    OP_GROUP = 5                    # x: the group that opens
    OP_COMMIT = 6                   # x: the group whose body has matched; continues at y, or ends (NONE)

# Items of a K_CUTS node, in order of preference.
cdef enum:
    T_THREAD = 0                    # instruction, node
    T_OPEN = 1                      # group, number of words to the end of its T_CLOSE (0: the group is still being built)
    T_CLOSE = 2
    T_CUT = 3                       # group: its less preferred items are cut when this item takes effect, see `_cuts`
    T_MATCH = 4

# A cut program: a header, CP_POINTS code points, CP_FOLLOWINGS followings of 1 + CP_POINTS words, CP_GROUPS groups of
# G_WORDS words, instructions of I_WORDS words.
cdef enum:
    CP_ORDERED = 0                  # 1: cut at the first match; 0: all of the text must match
    CP_ORACLES = 1                  # number of regexes that lookbehinds ask: do they match what was read?
    CP_POINTS = 2                   # number of code points, one for each kind that lookaheads distinguish
    CP_FOLLOWINGS = 3               # number of followings: whether the text may end; by code point, a number: 0 nothing may
                                    # follow it, 1 anything may, 2 + i what following i says
    CP_GROUPS = 4
    CP_HEADER = 5
    G_PARENT = 0                    # the group around it, or NONE
    G_LOOK = 1                      # 1: a lookahead, 0: an atomic group
    G_BODY = 2                      # instruction at which its body begins
    G_ELSE = 3                      # instruction at which to continue if the body does not match, or NONE
    G_WORDS = 4
    I_OP = 0
    I_X = 1
    I_Y = 2
    I_OWNER = 3                     # the group whose body contains it, or NONE
    I_ASKS = 4                      # bits of the oracles that may be asked from here on
    I_WORDS = 5

cdef struct Edge:                   # a derivative that has been computed
    ByteSet bytes                   # by any of these bytes
    uint32_t target
    uint32_t next                   # of the same node, or NONE

cdef enum:                          # the edges of a node, in `first_edge`: NONE, the first one of a list, or
    IN_TABLE = 0x80000000           # this bit and the number of a table of edges by byte
    # So many edges are looked through before a node gets a table of 1 KB. A remainder of a number has an edge for each digit,
    # and a grammar may have very many remainders.
    MANY_EDGES = 16

cdef struct Instruction:
    uint32_t op
    uint32_t x
    uint32_t y

cdef class Nodes:
    cdef Meter meter
    cdef Sequences nodes
    cdef uint8_t* flags             # per node
    cdef uint16_t* depths           # per node: how deep `derive` recurses into it
    cdef uint32_t* first_edge       # per node, see IN_TABLE
    cdef size_t flags_capacity, depths_capacity, first_edge_capacity
    cdef Edge* edges
    cdef size_t n_edges, edges_capacity
    cdef uint32_t* edge_tables      # [256] edge or NONE, one table after the other
    cdef size_t n_edge_tables, edge_tables_capacity

    cdef Sequences classes          # sorted, disjoint, maximal ranges of scalar values: lo, hi, lo, hi, ...
    cdef Instruction* code          # K_ORDERED: of all programs, one after the other
    cdef size_t n_code, code_capacity
    cdef Words programs             # where each program begins in `code`
    cdef Sequences cut_programs     # K_CUTS

    cdef Words least_lengths        # per node: `least_length` of it, plus one; 0 not known

    cdef Words stack                # operands of the n-ary constructors; each call leaves it as it found it

    # Return the derivative of `node` by `byte`; narrow `same` to bytes that have the same derivative.
    cdef uint32_t derive(self, uint32_t node, uint32_t byte, ByteSet* same) except? 0xFFFFFFFF nogil
    # Return whether the node matches nothing. Exact; a complement makes this a search.
    cdef int empty(self, uint32_t node) except -1 nogil
    # Return about how many bytes a text of the node still needs, so that a search can begin with the least. The members
    # of an intersection are summed. The number is too small where only a search would find it, and beyond `room` nodes
    # within one another.
    cdef uint32_t least_length(self, uint32_t node, uint32_t room) except? 0xFFFFFFFF nogil
    cdef uint32_t note_length(self, uint32_t node, uint32_t length) except? 0xFFFFFFFF nogil
    cdef size_t n_bytes(self) noexcept nogil
    cdef int look(self) except -1 nogil     # fails if what was learned about the grammar takes too much memory
    # `mark` marks the nodes to which marked nodes refer; `collect` drops all others and all edges, and numbers the rest
    # anew; `hash_again(nodes)` is to follow.
    cdef void mark(self, uint8_t* marks) noexcept nogil
    cdef void collect(self, const uint8_t* marks, uint32_t* map_) noexcept nogil
    cdef void refer(self, size_t node, uint8_t* marks, const uint32_t* map_) noexcept nogil
    cdef void refer_from_programs(self, uint8_t* marks, const uint32_t* map_) noexcept nogil

    # Make room for an ordered program of n instructions; return where it begins.
    cdef uint32_t add_code(self, size_t n) except? 0xFFFFFFFF nogil

    cdef uint32_t known(self, object node) except? 0xFFFFFFFF
    cdef size_t push(self, nodes) except? -1
    cdef uint32_t make(self, const uint32_t* words, size_t n) except? 0xFFFFFFFF nogil
    cdef uint16_t depth_of(self, const uint32_t* words, size_t n) noexcept nogil
    cdef bint is_text(self, const uint32_t* words, size_t n) noexcept nogil
    cdef uint8_t flags_of(self, const uint32_t* words, size_t n) noexcept nogil
    cdef uint32_t make_bytes(self, const ByteSet* s) except? 0xFFFFFFFF nogil
    cdef uint32_t make_concat(self, uint32_t first, uint32_t rest) except? 0xFFFFFFFF nogil
    cdef uint32_t make_pair(self, uint32_t first, uint32_t rest) except? 0xFFFFFFFF nogil
    cdef uint32_t make_and(self, size_t base) except? 0xFFFFFFFF nogil
    cdef uint32_t both(self, uint32_t node, uint32_t other) except? 0xFFFFFFFF nogil
    cdef uint32_t make_sorted(self, uint32_t kind, size_t base) except? 0xFFFFFFFF nogil
    cdef bint is_contradictory(self, size_t base) noexcept nogil
    cdef uint32_t make_not(self, uint32_t node) except? 0xFFFFFFFF nogil
    cdef uint32_t make_repeat(self, uint32_t body, uint32_t minimum, uint32_t maximum) except? 0xFFFFFFFF nogil
    # Return the node as one that remembers what is read from here on; and a node without what it remembers.
    cdef uint32_t remembering(self, uint32_t node) except? 0xFFFFFFFF nogil
    cdef uint32_t without_memory(self, uint32_t node) noexcept nogil
    # Return how many bytes such a node has read, 0 for other nodes; and these bytes.
    cdef uint32_t n_read(self, uint32_t node) noexcept nogil
    cdef bytes read_by(self, uint32_t node)


cdef inline bint nullable(Nodes nodes, uint32_t node) noexcept nogil:
    return nodes.flags[node] & F_NULLABLE


cdef inline bint is_any_text(Nodes nodes, uint32_t node) noexcept nogil:
    """Return whether the node matches any text: any code point, any number of times."""
    cdef const uint32_t* p = sequence(nodes.nodes, node)
    if p[0] != K_REPEAT or p[2] != 0 or p[3] != NONE:
        return False
    p = sequence(nodes.nodes, p[1])
    return p[0] == K_CHAR and p[1] == ANY_CLASS


cdef inline uint32_t kind_of(Nodes nodes, uint32_t node) noexcept nogil:
    return sequence(nodes.nodes, node)[0]


cdef inline const uint32_t* cut_program(Nodes nodes, uint32_t program) noexcept nogil:
    """Return the words of a cut program; valid until the next program is entered."""
    return sequence(nodes.cut_programs, program)


cdef inline size_t items_begin(const uint32_t* program) noexcept nogil:
    """Return where the items of a K_CUTS node with this program begin in the node: after its oracles."""
    return CUTS_ORACLES + <size_t> program[CP_ORACLES]


cdef inline size_t groups_begin(const uint32_t* program) noexcept nogil:
    """Return where the groups of a cut program begin in it."""
    return CP_HEADER + program[CP_POINTS] + <size_t> program[CP_FOLLOWINGS] * (1 + program[CP_POINTS])


cdef inline size_t code_begins(const uint32_t* program) noexcept nogil:
    return groups_begin(program) + <size_t> program[CP_GROUPS] * G_WORDS


cdef inline size_t item_length(uint32_t item) noexcept nogil:
    """Return the number of words of an item that begins with this word; for T_OPEN, without the items in the group."""
    if item == T_THREAD or item == T_OPEN:
        return 3
    return 2 if item == T_CUT else 1


cdef inline void load_bytes(const uint32_t* p, ByteSet* s) noexcept nogil:
    cdef int i
    for i in range(4):
        s.w[i] = p[1 + 2 * i] | (<uint64_t> p[2 + 2 * i] << 32)
