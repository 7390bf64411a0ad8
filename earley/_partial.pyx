"""What a mask allows, as far as a walk over the trie finds it out before its time is used up.

The merged walk (`_walk`) visits the nodes of the trie in depth-first order, so it comes to most tokens late. This one makes
several passes: the first visits single bytes, the second one the nodes of the first three bytes, and the last one all. It
can stop at any node, and find the way there again. So calls that stop early come to the end together, however little time each of them has,
unless their text moves on or positions are numbered anew in between. The matcher drops the walk when its text moves on, or
the mask is complete: until then, it takes the memory of three masks.

Each token that it has found is in the mask. If a grammar has followed terminals, that holds for the first pass alone, which
begins at the position itself. The last pass begins at the position without memory, as the merged walk does, and the
doubtful tokens are tried at its end, one by one: a call that stops there continues with the next one, too.

If the sequence has a budget, the walk asks at each token how many are left after it (`_remaining`), as `Remaining.restrict`
does for a complete mask. Under followed terminals that is known of positions without memory alone, also in the first pass.

Needs the engine's lock.
"""

from libc.stdlib cimport free
from libc.string cimport memset

from earleymask.earley._chart cimport DEAD, MAX_TABLES, MET, UNKNOWN, path_allocate, path_free
from earleymask.earley._engine cimport MAX_KINDS
from earleymask.earley._meter cimport wall_clock
from earleymask.earley._remaining cimport copy_duplicates
from earleymask.earley._shortest cimport ENDLESS
from earleymask.earley._tables cimport NONE, Words
from earleymask.trie._bitmask cimport mask_allow, mask_allows, mask_refuse
from earleymask.trie._memory cimport calloc, malloc
from earleymask.trie._trie cimport MAX_TOKEN_BYTES, node_byte, node_depth, node_skip, node_t, node_token

cdef enum:
    SHORT = 3                   # bytes of the tokens that the second pass visits
    NODES_BETWEEN_LOOKS = 32    # nodes between two looks at the clock: less than a microsecond if all steps are known
    NODES_WEIGHED_BETWEEN_LOOKS = 4     # the same if the sequence has a budget: to count tokens may take 50 microseconds


# The most nodes that a call visits once a token has been found. For tests, which let calls stop anywhere.
cdef uint32_t MOST_NODES = 0xFFFFFFFF


def set_most_nodes(n) -> int:
    """Change the bound for tests; return the former one."""
    global MOST_NODES
    before, MOST_NODES = MOST_NODES, n
    return before


cdef class Partial:

    def __cinit__(self, TokenTrie trie not None):
        self.trie = trie
        path_allocate(&self.path, <size_t> trie.max_depth + 1)
        self.ancestors = <uint32_t*> malloc((<size_t> trie.max_depth + 1) * sizeof(uint32_t))
        self.found = <uint32_t*> calloc(<size_t> trie.n_words + 1, sizeof(uint32_t))
        self.rough = <uint32_t*> calloc(<size_t> trie.n_words + 1, sizeof(uint32_t))
        self.within = <uint32_t*> calloc(<size_t> trie.n_words + 1, sizeof(uint32_t))
        if self.ancestors == NULL or self.found == NULL or self.rough == NULL or self.within == NULL:
            raise MemoryError("walk")

    def __dealloc__(self):
        path_free(&self.path)
        free(self.ancestors)
        free(self.found)
        free(self.rough)
        free(self.within)

    cdef int begin(self, Chart chart, uint32_t position, uint64_t n, int64_t until) except -1:
        self.until = until
        if (<void*> self.chart == <void*> chart and self.position == position and self.n == n
                and self.n_collected == chart.n_collections and self.n_forgotten == chart.engine.n_collections):
            return 0
        memset(self.found, 0, self.trie.n_words * sizeof(uint32_t))
        self.chart = chart
        self.furthest = 0
        self.has_room = False
        self.n = n
        self.begin_again(position)
        return 0

    cdef void begin_again(self, uint32_t position) noexcept:
        self.next = 0
        self.which = self.n_tried = 0
        self.deepest = 1
        self.most = 1
        self.unknown_from = NONE
        memset(self.within, 0, self.trie.n_words * sizeof(uint32_t))
        self.sought = self.within
        self.position = position
        self.n_collected = self.chart.n_collections
        self.n_forgotten = self.chart.engine.n_collections

    cdef bint has_gone_on(self) noexcept nogil:
        cdef uint64_t place = (<uint64_t> self.deepest << 32) + self.next
        place += <uint64_t> self.which * self.trie.n_tokens + self.n_tried      # doubtful tokens come after the last node
        if place <= self.furthest:
            return False
        self.furthest = place
        self.has_room = False
        return True

    cdef bint is_over(self) noexcept nogil:
        return wall_clock() > self.until and self.has_tokens()

    cdef bint has_tokens(self) noexcept nogil:
        cdef size_t w
        for w in range(self.trie.n_words):
            if self.found[w] or self.sought == self.within and self.within[w]:
                return True
        return False

    cdef bint go_on(self, Masks masks) except -1 nogil:
        cdef uint32_t root, w
        cdef bint has_memory                            # rules that are made meanwhile may be the first with such terminals
        self.chart.max_tables = MAX_TABLES
        while True:
            root = self.position
            if self.sought == self.rough:
                root = self.chart.without_memory(root)
            if self.next < self.trie.n_nodes:
                try:
                    if not self.descend(root):
                        return False
                finally:
                    copy_duplicates(self.trie, self.sought)     # not of tokens that `found` has for their ids
                    for w in range(self.trie.n_words if self.sought == self.within else 0):
                        self.found[w] |= self.within[w]
            if self.deepest == MAX_TOKEN_BYTES:
                break
            self.next = 0
            self.unknown_from = NONE
            has_memory = self.chart.rules.has_followed
            if has_memory:
                memset(self.rough, 0, self.trie.n_words * sizeof(uint32_t))
                memset(self.within, 0, self.trie.n_words * sizeof(uint32_t))
                self.sought = self.rough
            self.deepest = MAX_TOKEN_BYTES if has_memory or self.deepest > 1 else SHORT
            if self.is_over():
                return False
        if self.sought == self.rough:
            if not self.try_doubtful(masks):
                return False
            if self.n < ENDLESS:
                with gil:
                    self.finish_within()
            else:
                for w in range(self.trie.n_words):      # `found` has what is allowed beside text
                    self.found[w] |= self.rough[w]
        if self.n < ENDLESS and (self.sought == self.within or self.most < ENDLESS):
            with gil:
                self.remaining.note_most(self.position, self.most)
        return True

    cdef int finish_within(self) except -1:
        """Allow what of `rough` leaves enough of the budget."""
        cdef uint32_t w
        copy_duplicates(self.trie, self.within)
        for w in range(self.trie.n_words):
            self.within[w] &= self.rough[w]
        try:
            if self.most >= ENDLESS:
                self.remaining.try_others(self.position, self.rough, self.within, self.n)
        finally:
            for w in range(self.trie.n_words):
                self.found[w] |= self.within[w]
        return 0

    cdef bint try_doubtful(self, Masks masks) except -1 nogil:
        """Clear the doubtful tokens that are refused in `rough`, until the time is used up; return whether all have been
        tried."""
        cdef uint32_t lists = masks.doubtful_lists(self.chart, self.position), token, n_visited = 0
        cdef const Words* doubtful
        while True:
            if self.n_described != self.chart.rules.n_described:    # what was tried last has made more doubtful
                self.n_described = self.chart.rules.n_described
                self.which = self.n_tried = 0
            if self.which > MAX_KINDS:
                return True
            doubtful = masks.doubtful_list(self.which) if lists >> self.which & 1 else NULL
            while doubtful != NULL and self.n_tried < doubtful.n:
                token = doubtful.data[self.n_tried]
                if mask_allows(self.rough, token):
                    if self.is_over() or n_visited >= MOST_NODES and self.has_tokens():
                        return False
                    n_visited += 1
                    if masks.is_refused(self.chart, self.position, self.which, token):
                        mask_refuse(self.rough, token)
                self.n_tried += 1
            self.which += 1
            self.n_tried = 0

    cdef bint descend(self, uint32_t root) except -1 nogil:
        """Visit nodes until the pass ends or the time is used up; return whether the pass has ended."""
        cdef const node_t* nodes = self.trie.nodes
        cdef uint32_t i = self.next, n = self.trie.n_nodes, depth, target, table
        cdef uint32_t* path_tables = self.path.tables
        cdef node_t node
        cdef uint32_t n_visited = 0, n_between = NODES_BETWEEN_LOOKS if self.n == ENDLESS else NODES_WEIGHED_BETWEEN_LOOKS
        cdef uint64_t n_flushes
        self.find_way(root)
        while i < n:
            node = nodes[i]
            depth = node_depth(node)
            if (n_visited % n_between == n_between - 1 and self.is_over()) or n_visited >= MOST_NODES and self.has_tokens():
                self.next = i
                return False
            n_visited += 1
            # SAFETY: depth <= max_depth, and path_tables[depth - 1] was set when the walk entered the parent.
            target = self.chart.tables[path_tables[depth - 1] + node_byte(node)]
            if target == UNKNOWN:
                self.next = i                           # where the next call begins, if this one ends here
                target = self.chart.fill(self.path.positions[depth - 1], path_tables[depth - 1] >> 8, node_byte(node))
            if target == DEAD:
                i += node_skip(node)
                continue
            if self.n < ENDLESS:
                self.next = i
                n_flushes = self.chart.n_flushes
                self.weigh(i, depth, target)
                if self.chart.n_flushes != n_flushes:   # the tables of the way are gone
                    self.find_way(root)
            elif node_token(node):
                mask_allow(self.sought, node_token(node) - 1)
            if depth == self.deepest or node_skip(node) == 1:
                i += node_skip(node)
                continue
            self.next = i
            self.ancestors[depth] = i
            self.path.positions[depth] = target
            table = self.chart.table_of.data[target]
            if table < MET:
                path_tables[depth] = table << 8
            else:
                self.chart.enter(&self.path, 0, depth, target)
            i += 1
        self.next = n
        return True

    cdef int weigh(self, uint32_t i, uint32_t depth, uint32_t target) except -1 nogil:
        """Allow the token of a node, which leads to a position, if it leaves enough of the budget."""
        cdef bint is_last = self.sought == self.rough, is_free = is_last or (self.chart.rules.has_followed and self.deepest == 1)
        cdef uint32_t token = node_token(self.trie.nodes[i])
        cdef uint64_t tokens
        if token and is_last:
            mask_allow(self.rough, token - 1)
        if depth > self.unknown_from:
            return 0
        self.unknown_from = NONE
        if is_free and not is_last:
            target = self.chart.advance(self.chart.without_memory(self.position), node_byte(self.trie.nodes[i]))
        if target == DEAD or not (token or is_free):
            return 0
        tokens = self.remaining.value_freely(target, is_free) + 1
        self.most = max(self.most, tokens)
        if is_free and tokens > ENDLESS:
            self.unknown_from = depth
        elif token and tokens < self.n:
            mask_allow(self.within, token - 1)
        return 0

    cdef int find_way(self, uint32_t root) except -1 nogil:
        """Set the path to the node that is visited next."""
        cdef uint32_t depth, target, last = node_depth(self.trie.nodes[self.next]), byte
        self.chart.enter(&self.path, 0, 0, root)
        for depth in range(1, last):
            byte = node_byte(self.trie.nodes[self.ancestors[depth]])
            target = self.chart.tables[self.path.tables[depth - 1] + byte]
            if target == UNKNOWN:
                target = self.chart.fill(self.path.positions[depth - 1], self.path.tables[depth - 1] >> 8, byte)
            self.chart.enter(&self.path, 0, depth, target)
        return 0
