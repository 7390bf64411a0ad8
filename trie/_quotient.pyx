# cython: language_level=3
"""Builds the class quotient of a token trie and shows it to Python. The tables are in `_quotient.pxd`.

Within a lexeme such as an identifier or a string, most bytes act alike. If the nodes of the trie whose paths have equal
classes of bytes are merged, few remain: 274,520 nodes of Llama 3 become 21,775. An automaton that does not distinguish
the bytes of a class walks the quotient in place of the trie; each node stands for all nodes that were merged into it.

The classes follow what the terminals of grammars distinguish most often: lower case, upper case, digits, each other ASCII
byte by itself, and the bytes of UTF-8 by what may follow them (the Unicode Standard, table 3-7: E0, ED, F0 and F4
restrict the byte after them to A0-BF, 80-9F, 90-BF and 80-8F).

A quotient node is a group of trie nodes. The build goes depth first: it gathers the children of all members of a group
and deals them out by class, with a counting sort that keeps their order; each hand is a group one level deeper. Every trie
node is dealt once. A quotient never changes once it is built, so threads share it without locks.

A quotient can be saved (`arrays`) and loaded. Only the members of each node are saved; everything else follows from them.
Loading compares them with the trie in one pass: only the quotient that the build would find passes.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from ._bitmask cimport mask_allow, mask_allows
from ._build cimport DEBUG
from ._memory cimport calloc, malloc, shrunk
from ._trie cimport MAX_TOKEN_BYTES, node_byte, node_depth, node_skip, node_t, node_token

from .errors import VocabularyError

cdef enum:
    # A node has a bitmap if its tokens are at least a fifth of the words of a bitmap.
    # PERF: OR-ing 4,096 words takes 0.30 us, writing the bits of ascending ids 0.45 ns each, both in cache: equal at 700
    # tokens, a sixth of the words. A fifth, because a bitmap also takes memory: 20 nodes of tekken have one, 25 of Llama 3.
    BITMAP_WORDS_PER_TOKEN = 5
    LEAST_BITMAP_TOKENS = 64
    LEAST_WIDE = 24                 # a node with fewer children has no list: going from sibling to sibling is fast enough

cdef struct Group:
    uint32_t begin      # dealt[begin:] up to the next group are the trie nodes that make one quotient node
    uint16_t depth
    uint8_t edge        # class of the edges into them

cdef struct Hands:
    uint32_t* found     # children of the current group, in the order of the trie
    uint32_t* dealt     # trie nodes that wait for their quotient node, group by group
    Group* groups       # the last one is the next quotient node
    uint32_t n_found, n_dealt, n_groups


def default_classes():
    classes = [byte if byte < 0x80 else 0 for byte in range(256)]
    for alike in [
        range(0x61, 0x7B),      # a-z
        range(0x41, 0x5B),      # A-Z
        range(0x30, 0x3A),      # 0-9
        range(0x80, 0x90),      # continuation bytes, divided where E0, ED, F0 and F4 divide them
        range(0x90, 0xA0),
        range(0xA0, 0xC0),
        range(0xC2, 0xE0),      # first of two bytes
        [0xE0],                 # first of three, only A0-BF follow
        [*range(0xE1, 0xED), 0xEE, 0xEF],
        [0xED],                 # only 80-9F follow: no surrogates
        [0xF0],                 # first of four, only 90-BF follow
        range(0xF1, 0xF4),
        [0xF4],                 # only 80-8F follow: nothing beyond U+10FFFF
        [0xC0, 0xC1, *range(0xF5, 0x100)],      # in no UTF-8
    ]:
        for byte in alike:
            classes[byte] = alike[0]
    return bytes(classes)


cdef class Quotient:
    """A token trie with bytes merged into classes; see `_quotient.pyi` for the Python side."""

    def __cinit__(self, TokenTrie trie not None, class_of=None, *, arrays=None):
        self.trie = trie
        if arrays is not None and class_of is not None:
            raise TypeError("Quotient: give class_of or arrays, not both: the arrays contain the classes")
        if arrays is not None:
            self._take(arrays)
        else:
            self._set_classes(default_classes() if class_of is None else class_of)
            self._allocate()
            self._group()
        self._complete()
        if DEBUG:
            self.check()

    def __dealloc__(self):
        free(self.skips)
        free(self.depths)
        free(self.heights)
        free(self.classes)
        free(self.token_starts)
        free(self.tokens)
        free(self.member_starts)
        free(self.members)
        free(self.sizes)
        free(self.bitmap_of)
        free(self.bitmaps)
        free(self.parents)
        free(self.heights_of)
        free(self.quotient_of)
        free(self.wide_of)
        free(self.wide)

    cdef int _set_classes(self, class_of) except -1:
        """Number the classes of `class_of`, a value for each byte, in order of their smallest bytes."""
        cdef uint32_t byte, c
        if len(class_of) != 256:
            raise ValueError(f"class_of: expected 256 values, one for each byte, got {len(class_of):,}")
        numbers = {}
        for byte in range(256):
            c = numbers.setdefault(class_of[byte], len(numbers))
            if c >= MAX_CLASSES:
                raise ValueError(f"class_of: more than {MAX_CLASSES} classes; if all bytes differ, use the trie itself")
            if c == self.n_classes:
                self.n_classes += 1
                self.class_first[c] = <uint8_t>byte
            self.class_of[byte] = <uint8_t>c
            self.class_bytes[c][byte >> 6] |= <uint64_t>1 << (byte & 63)
        return 0

    cdef int _allocate(self) except -1:
        """Allocate room for as many nodes as the trie has; link the nodes of the trie to their parents."""
        cdef uint32_t path[MAX_TOKEN_BYTES + 1]     # path[1:depth + 1]: the trie nodes down to node i
        cdef uint32_t n = self.trie.n_nodes, i, depth
        self.members = <uint32_t*>_allocated(n, sizeof(uint32_t))
        self.member_starts = <uint32_t*>_allocated(<size_t>n + 1, sizeof(uint32_t))
        self.depths = <uint16_t*>_allocated(n, sizeof(uint16_t))
        self.classes = <uint8_t*>_allocated(n, sizeof(uint8_t))
        self.quotient_of = <uint32_t*>_allocated(n, sizeof(uint32_t))
        self.parents = <uint32_t*>_allocated(n, sizeof(uint32_t))
        path[0] = NO_NODE
        for i in range(n):
            depth = node_depth(self.trie.nodes[i])
            path[depth] = i
            self.parents[i] = path[depth - 1]
        return 0

    # -- finding the nodes ---------------------------------------------------------------------------------------------

    cdef int _group(self) except -1:
        """Group the nodes of the trie: `members`, `member_starts`, `depths`, `classes`, `quotient_of`."""
        cdef const node_t* nodes = self.trie.nodes
        cdef uint32_t n = self.trie.n_nodes, n_members = 0, q = 0, i, member
        cdef Group group
        cdef Hands hands
        memset(&hands, 0, sizeof(hands))
        # `found` never has a trie node twice, nor has `dealt`: n places are enough.
        hands.found = <uint32_t*>malloc((<size_t>n + 1) * sizeof(uint32_t))
        hands.dealt = <uint32_t*>malloc((<size_t>n + 1) * sizeof(uint32_t))
        hands.groups = <Group*>malloc((<size_t>n + 1) * sizeof(Group))
        if hands.found is NULL or hands.dealt is NULL or hands.groups is NULL:
            _free_hands(&hands)
            raise MemoryError()
        with nogil:
            _gather(&hands, nodes, 0, n)
            _deal(&hands, nodes, self.class_of, self.n_classes, 1)
            while hands.n_groups > 0:
                hands.n_groups -= 1
                group = hands.groups[hands.n_groups]
                self.member_starts[q] = n_members
                self.depths[q] = group.depth
                self.classes[q] = group.edge
                for i in range(group.begin, hands.n_dealt):
                    member = hands.dealt[i]
                    self.members[n_members] = member
                    self.quotient_of[member] = q
                    n_members += 1
                    _gather(&hands, nodes, member + 1, member + node_skip(nodes[member]))
                hands.n_dealt = group.begin
                _deal(&hands, nodes, self.class_of, self.n_classes, group.depth + 1)
                q += 1
            self.member_starts[q] = n_members
        self.n_nodes = q
        _free_hands(&hands)
        return 0

    cdef int _take(self, arrays) except -1:
        """Take the nodes from arrays that `arrays` gave; refuse arrays that do not fit the trie."""
        cdef const uint32_t[::1] members, member_starts
        cdef const char* wrong
        try:
            self._set_classes(bytes(arrays["class_of"]))
            members, member_starts = arrays["members"], arrays["member_starts"]
        except (KeyError, TypeError, ValueError) as error:
            raise VocabularyError(f"saved quotient: {error!r}; build it anew") from error
        if members.shape[0] != self.trie.n_nodes or not 1 <= member_starts.shape[0] <= <Py_ssize_t>self.trie.n_nodes + 1:
            raise VocabularyError(
                f"saved quotient: {members.shape[0]:,} nodes merged into {member_starts.shape[0] - 1:,}, for a token trie "
                f"of {self.trie.n_nodes:,} nodes; it belongs to another vocabulary or is damaged: build it anew"
            )
        self._allocate()
        self.n_nodes = <uint32_t>member_starts.shape[0] - 1
        if self.trie.n_nodes:
            memcpy(self.members, &members[0], <size_t>self.trie.n_nodes * sizeof(uint32_t))
        memcpy(self.member_starts, &member_starts[0], (<size_t>self.n_nodes + 1) * sizeof(uint32_t))
        with nogil:
            wrong = self._recognize()
        if wrong is not NULL:
            raise VocabularyError(f"saved quotient: {wrong.decode()}; it belongs to another vocabulary or is damaged: build it anew")
        return 0

    cdef const char* _recognize(self) noexcept nogil:
        """Find `quotient_of`, `depths` and `classes` from the members, or return why this is no quotient of the trie.

        The members must be those that `_group` finds. Its partition of the trie is the only one in which the paths of
        classes are equal within each quotient node and differ between any two, and only one order is depth first and by
        class.
        """
        cdef const node_t* nodes = self.trie.nodes
        cdef uint32_t path[MAX_TOKEN_BYTES + 1]     # path[1:depth + 1]: the quotient nodes down to node q
        cdef uint32_t n = self.trie.n_nodes, q, i, begin, end, member, parent, depth, before = 0
        cdef uint8_t edge
        path[0] = NO_NODE
        memset(self.quotient_of, 0xFF, <size_t>n * sizeof(uint32_t))
        if self.member_starts[0] != 0 or self.member_starts[self.n_nodes] != n:
            return b"some members are in no node"
        for q in range(self.n_nodes):
            begin, end = self.member_starts[q], self.member_starts[q + 1]
            if not begin < end <= n:
                return b"a node has no members"
            member = self.members[begin]
            if member >= n:
                return b"a member is not in the trie"
            depth = node_depth(nodes[member])
            edge = self.class_of[node_byte(nodes[member])]
            if depth > before + 1:
                return b"a node comes before its parent"
            if depth <= before and self.classes[path[depth]] >= edge:
                return b"siblings are not in order of their classes"
            for i in range(begin, end):
                member = self.members[i]
                if member >= n:
                    return b"a member is not in the trie"
                if i > begin and member <= self.members[i - 1]:
                    return b"members are not in order"
                if self.quotient_of[member] != NO_NODE:
                    return b"a member is in two nodes"
                parent = self.parents[member]
                if (NO_NODE if parent == NO_NODE else self.quotient_of[parent]) != path[depth - 1]:
                    return b"members are merged whose parents are not"
                if self.class_of[node_byte(nodes[member])] != edge:
                    return b"bytes of two classes are merged"
                self.quotient_of[member] = q
            self.depths[q] = <uint16_t>depth
            self.classes[q] = edge
            path[depth] = q
            before = depth
        return NULL

    # -- what follows from them ----------------------------------------------------------------------------------------

    cdef int _complete(self) except -1:
        """Free the memory that was allocated for the worst case, and compute everything else."""
        cdef uint32_t path[MAX_TOKEN_BYTES + 1]     # path[1:before + 1]: the nodes whose subtrees are open
        cdef uint32_t q, i, depth, before = 0, size
        self.member_starts = <uint32_t*>shrunk(self.member_starts, (<size_t>self.n_nodes + 1) * sizeof(uint32_t))
        self.depths = <uint16_t*>shrunk(self.depths, self.n_nodes * sizeof(uint16_t) + 1)
        self.classes = <uint8_t*>shrunk(self.classes, self.n_nodes * sizeof(uint8_t) + 1)
        self.skips = <uint32_t*>_allocated(self.n_nodes, sizeof(uint32_t))
        self.sizes = <uint32_t*>_allocated(self.n_nodes, sizeof(uint32_t))
        with nogil:
            for q in range(self.n_nodes):
                for depth in range(self.depths[q], before + 1):
                    self.skips[path[depth]] = q - path[depth]
                before = self.depths[q]
                path[before] = q
                size = 0
                for i in range(self.member_starts[q], self.member_starts[q + 1]):
                    size += node_skip(self.trie.nodes[self.members[i]])
                self.sizes[q] = size
            for depth in range(1, before + 1):
                self.skips[path[depth]] = self.n_nodes - path[depth]
        self._list_tokens()
        self._make_bitmaps()
        self._index_children()
        self._measure_heights()
        return 0

    cdef int _list_tokens(self) except -1:
        """Make `tokens` and `token_starts`: deal the ids, in ascending order, to their nodes by a counting sort."""
        cdef uint32_t n_tokens = self.trie.n_tokens, i, q, token, end = 0
        cdef uint32_t* node_of = <uint32_t*>malloc((<size_t>n_tokens + 1) * sizeof(uint32_t))     # by token id + 1
        if node_of is NULL:
            raise MemoryError()
        try:
            self.tokens = <uint32_t*>_allocated(self.trie.n_text_tokens, sizeof(uint32_t))
            self.token_starts = <uint32_t*>_allocated(<size_t>self.n_nodes + 1, sizeof(uint32_t))
            with nogil:
                memset(node_of, 0xFF, (<size_t>n_tokens + 1) * sizeof(uint32_t))
                memset(self.token_starts, 0, (<size_t>self.n_nodes + 1) * sizeof(uint32_t))
                for i in range(self.trie.n_nodes):
                    token = node_token(self.trie.nodes[i])
                    if token:
                        node_of[token] = self.quotient_of[i]
                        self.token_starts[self.quotient_of[i]] += 1
                # A start is at first where the node's tokens end, and goes down by one with each of them.
                for q in range(self.n_nodes):
                    end += self.token_starts[q]
                    self.token_starts[q] = end
                self.token_starts[self.n_nodes] = end
                for token in range(n_tokens, 0, -1):
                    q = node_of[token]
                    if q != NO_NODE:
                        self.token_starts[q] -= 1
                        self.tokens[self.token_starts[q]] = token - 1
        finally:
            free(node_of)
        return 0

    cdef int _make_bitmaps(self) except -1:
        """Make a bitmap for each node at which many tokens end; for at most MAX_BITMAPS nodes."""
        cdef uint32_t n_words = self.trie.n_words, n = MAX_BITMAPS + 1, q, i
        cdef uint32_t least = max(LEAST_BITMAP_TOKENS, n_words // BITMAP_WORDS_PER_TOKEN)
        cdef uint32_t* bitmap
        while n > MAX_BITMAPS:
            n = 0
            for q in range(self.n_nodes):
                n += self.token_starts[q + 1] - self.token_starts[q] >= least
            if n > MAX_BITMAPS:
                least += least // 8
        self.bitmap_of = <uint32_t*>_allocated(self.n_nodes, sizeof(uint32_t))
        self.bitmaps = <uint32_t*>calloc(<size_t>n * n_words + 1, sizeof(uint32_t))
        if self.bitmaps is NULL:
            raise MemoryError()
        for q in range(self.n_nodes):
            self.bitmap_of[q] = NO_NODE
            if self.token_starts[q + 1] - self.token_starts[q] >= least:
                self.bitmap_of[q] = self.n_bitmaps
                bitmap = self.bitmaps + <size_t>self.n_bitmaps * n_words
                for i in range(self.token_starts[q], self.token_starts[q + 1]):
                    mask_allow(bitmap, self.tokens[i])
                self.n_bitmaps += 1
        return 0

    cdef int _index_children(self) except -1:
        """Make `wide` and `wide_of`: children by byte, for the root and the trie nodes with most children."""
        cdef uint32_t n = self.trie.n_nodes, n_wide = MAX_WIDE + 1, least = LEAST_WIDE, i, parent
        cdef uint16_t* n_children = <uint16_t*>calloc(<size_t>n + 1, sizeof(uint16_t))
        if n_children is NULL:
            raise MemoryError()
        try:
            for i in range(n):
                if self.parents[i] != NO_NODE:
                    n_children[self.parents[i]] += 1
            while n_wide > MAX_WIDE:        # this ends because no node has more than 256 children
                n_wide = 1
                for i in range(n):
                    n_wide += n_children[i] >= least
                if n_wide > MAX_WIDE:
                    least += least // 8
            self.wide_of = <uint8_t*>_allocated(n, sizeof(uint8_t))
            self.wide = <uint32_t*>_allocated(<size_t>n_wide << 8, sizeof(uint32_t))
            memset(self.wide, 0xFF, (<size_t>n_wide << 8) * sizeof(uint32_t))
            self.n_wide = 1
            for i in range(n):
                self.wide_of[i] = 0
                if n_children[i] >= least:
                    self.wide_of[i] = <uint8_t>self.n_wide
                    self.n_wide += 1
                parent = self.parents[i]
                if parent == NO_NODE:
                    self.wide[node_byte(self.trie.nodes[i])] = i
                elif self.wide_of[parent]:
                    self.wide[<uint32_t>self.wide_of[parent] << 8 | node_byte(self.trie.nodes[i])] = i
        finally:
            free(n_children)
        return 0

    cdef int _measure_heights(self) except -1:
        """Make `heights`, `heights_of` and `below_higher`."""
        cdef uint32_t n = self.trie.n_nodes, i, q, height
        cdef uint32_t n_by_height[257]              # trie nodes by the height of their parent; in the last one, all above
        self.heights = <uint16_t*>_allocated(self.n_nodes, sizeof(uint16_t))
        self.heights_of = <uint16_t*>_allocated(n, sizeof(uint16_t))
        memset(self.heights, 0, self.n_nodes * sizeof(uint16_t))
        memset(self.heights_of, 0, n * sizeof(uint16_t))
        memset(n_by_height, 0, sizeof(n_by_height))
        for i in range(n, 0, -1):                   # a node comes after its parent
            height, q = self.heights_of[i - 1], self.quotient_of[i - 1]
            self.heights[q] = max(self.heights[q], <uint16_t>height)
            if self.parents[i - 1] != NO_NODE:
                self.heights_of[self.parents[i - 1]] = max(self.heights_of[self.parents[i - 1]], <uint16_t>(height + 1))
        for i in range(n):
            height = self.trie.max_depth if self.parents[i] == NO_NODE else self.heights_of[self.parents[i]]
            n_by_height[min(height, <uint32_t>256)] += 1
        self.below_higher[255] = n_by_height[256]
        for i in range(255, 0, -1):
            self.below_higher[i - 1] = self.below_higher[i] + n_by_height[i]
        return 0

    # -- looking up ----------------------------------------------------------------------------------------------------

    cdef uint32_t child(self, uint32_t node, uint32_t byte) noexcept nogil:
        cdef const node_t* nodes = self.trie.nodes
        cdef uint32_t i, end
        if node == NO_NODE:
            return self.wide[byte]
        if self.wide_of[node]:
            return self.wide[<uint32_t>self.wide_of[node] << 8 | byte]
        i, end = node + 1, node + node_skip(nodes[node])
        while i < end and node_byte(nodes[i]) < byte:       # siblings are in order of their bytes
            i += node_skip(nodes[i])
        return i if i < end and node_byte(nodes[i]) == byte else NO_NODE

    cdef uint32_t n_below_higher(self, uint32_t height) noexcept nogil:
        return self.below_higher[min(height, <uint32_t>255)]

    cdef size_t n_bytes(self):
        cdef size_t of_nodes = 5 * sizeof(uint32_t) + 2 * sizeof(uint16_t) + sizeof(uint8_t)
        cdef size_t of_trie_nodes = 3 * sizeof(uint32_t) + sizeof(uint16_t) + sizeof(uint8_t)
        return (
            of_nodes * self.n_nodes + of_trie_nodes * self.trie.n_nodes
            + sizeof(uint32_t) * (
                <size_t>self.trie.n_text_tokens + <size_t>self.n_bitmaps * self.trie.n_words + (<size_t>self.n_wide << 8)
            )
        )

    def __sizeof__(self):
        return object.__sizeof__(self) + self.n_bytes()

    def find_child(self, node, byte):
        cdef uint32_t found
        if node is not None and not 0 <= node < self.trie.n_nodes:
            raise IndexError(f"node {node} of a trie of {self.trie.n_nodes:,} nodes")
        if not 0 <= byte < 256:
            raise ValueError(f"byte {byte} is not in 0 .. 255")
        found = self.child(NO_NODE if node is None else <uint32_t>node, byte)
        return None if found == NO_NODE else found

    def arrays(self):
        return {
            "class_of": _array(self.class_of, 256, sizeof(uint8_t)),
            "member_starts": _array(self.member_starts, <size_t>self.n_nodes + 1, sizeof(uint32_t)),
            "members": _array(self.members, self.trie.n_nodes, sizeof(uint32_t)),
        }

    def tables(self):
        cdef size_t n = self.n_nodes, n_trie = self.trie.n_nodes, n_words = self.trie.n_words
        return self.arrays() | {
            "class_bytes": _array(self.class_bytes, <size_t>self.n_classes * 4, sizeof(uint64_t)).reshape(-1, 4),
            "class_first": _array(self.class_first, self.n_classes, sizeof(uint8_t)),
            "skips": _array(self.skips, n, sizeof(uint32_t)),
            "depths": _array(self.depths, n, sizeof(uint16_t)),
            "classes": _array(self.classes, n, sizeof(uint8_t)),
            "token_starts": _array(self.token_starts, n + 1, sizeof(uint32_t)),
            "tokens": _array(self.tokens, self.token_starts[n], sizeof(uint32_t)),
            "sizes": _array(self.sizes, n, sizeof(uint32_t)),
            "bitmap_of": _array(self.bitmap_of, n, sizeof(uint32_t)),
            "bitmaps": _array(self.bitmaps, self.n_bitmaps * n_words, sizeof(uint32_t)).reshape(self.n_bitmaps, n_words),
            "parents": _array(self.parents, n_trie, sizeof(uint32_t)),
            "quotient_of": _array(self.quotient_of, n_trie, sizeof(uint32_t)),
        }

    def check(self):
        cdef uint32_t n = self.n_nodes, q, i, member, parent, byte, n_tokens = 0, n_in_bitmap, deepest
        cdef const uint32_t* bitmap
        cdef const node_t* nodes = self.trie.nodes
        cdef const char* wrong = self._recognize()     # computes the same tables once more
        if wrong is not NULL:
            raise AssertionError(f"quotient: {wrong.decode()}. This is a bug in earleymask.")
        for q in range(n):
            _must(self.skips[q] >= 1 and self.skips[q] <= n - q, q, "its subtree leaves the quotient")
            _must(q + self.skips[q] == n or self.depths[q + self.skips[q]] <= self.depths[q], q, "its subtree ends too soon")
            deepest = self.depths[q]
            for i in range(q + 1, q + self.skips[q]):
                deepest = max(deepest, self.depths[i])
                if self.depths[i] <= self.depths[q]:
                    _must(False, q, "its subtree ends too late")
            _must(deepest - self.depths[q] == self.heights[q], q, "its subtree has another height")
            for i in range(self.token_starts[q], self.token_starts[q + 1]):
                _must(i == self.token_starts[q] or self.tokens[i - 1] < self.tokens[i], q, "its tokens are not in order")
            if self.bitmap_of[q] != NO_NODE:
                _must(self.bitmap_of[q] < self.n_bitmaps, q, "its bitmap is missing")
                bitmap = self.bitmaps + <size_t>self.bitmap_of[q] * self.trie.n_words
                for i in range(self.token_starts[q], self.token_starts[q + 1]):
                    _must(mask_allows(bitmap, self.tokens[i]), q, "its bitmap lacks a token")
                n_in_bitmap = 0
                for i in range(self.trie.n_tokens):
                    n_in_bitmap += mask_allows(bitmap, i)
                _must(n_in_bitmap == self.token_starts[q + 1] - self.token_starts[q], q, "its bitmap has other tokens")
        for member in range(self.trie.n_nodes):
            parent, byte = self.parents[member], node_byte(nodes[member])
            _must(self.child(parent, byte) == member, self.quotient_of[member], "a member is not found from its parent")
            n_tokens += node_token(nodes[member]) != 0
        _must(n_tokens == self.token_starts[n], 0, "not all tokens are listed")

    def __reduce__(self):
        return _restored, (self.trie, self.arrays())


def _restored(trie, arrays):
    return Quotient(trie, arrays=arrays)


cdef object _array(const void* data, size_t n, size_t item_size):
    """Return a read-only copy as a numpy array of unsigned integers."""
    import numpy

    return numpy.frombuffer((<const char*>data)[:n * item_size], f"u{item_size}")


cdef void* _allocated(size_t n, size_t item_size) except NULL:
    cdef void* memory = malloc(n * item_size + 1)      # + 1: malloc(0) may return NULL
    if memory is NULL:
        raise MemoryError()
    return memory


cdef void _free_hands(Hands* hands) noexcept nogil:
    free(hands.found)
    free(hands.dealt)
    free(hands.groups)


cdef inline void _gather(Hands* hands, const node_t* nodes, uint32_t i, uint32_t end) noexcept nogil:
    """Append the siblings in nodes[i:end] to `found`; i is the first of them."""
    while i < end:
        hands.found[hands.n_found] = i
        hands.n_found += 1
        i += node_skip(nodes[i])


cdef inline void _deal(
    Hands* hands, const node_t* nodes, const uint8_t* class_of, uint32_t n_classes, uint32_t depth
) noexcept nogil:
    """Deal `found` into groups by class. The smallest class comes last, so that its group is the next node."""
    cdef uint32_t at[256]       # by class: first how many were found, then where the next one goes
    cdef uint32_t i, c, n
    if hands.n_found == 0:
        return
    memset(at, 0, n_classes * sizeof(uint32_t))
    for i in range(hands.n_found):
        at[class_of[node_byte(nodes[hands.found[i]])]] += 1
    for c in range(n_classes, 0, -1):
        n = at[c - 1]
        if n:
            hands.groups[hands.n_groups] = Group(hands.n_dealt, <uint16_t>depth, <uint8_t>(c - 1))
            hands.n_groups += 1
            at[c - 1] = hands.n_dealt
            hands.n_dealt += n
    for i in range(hands.n_found):
        c = class_of[node_byte(nodes[hands.found[i]])]
        hands.dealt[at[c]] = hands.found[i]
        at[c] += 1
    hands.n_found = 0


cdef int _must(bint holds, uint32_t node, str what) except -1:
    if not holds:
        raise AssertionError(f"quotient, node {node}: {what}. This is a bug in earleymask.")
    return 0
