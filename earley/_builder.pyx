"""Building a part: one walk below a node of the trie.

A narrow state of the automaton looks its few bytes up among the children of the node (`grow`). A broad state walks the
class quotient of the trie (`walk_quotient`), in which nodes are one if it does not matter which letter is read; a class
that does matter to the state is taken apart into the trie nodes that were merged (`walk_members`, `walk_trie`). Inside
a string that takes some 13,000 steps instead of 270,000. If only a few letters matter (a pattern is searched that
begins with one), all letters are walked as the others, and what these few make different is walked after that
(`walk_odd`).

Counted regexes whose tokens show how often the body is repeated copy their part from a family (`_families`), which is
built here too.

At each node, bounds that nothing below it comes near are dropped (`Automaton.near`).

All but some words: the part of `X & ~Y` is the part of `X` except below the nodes where, along the words of `Y`, one of
the two dies or matches and the other does not. Only these nodes are walked (`build_like`). A regex with large bounds is
made from the one without them in the same way. A string in which something is searched is any string, but for closing
quotes that come too early; only nodes with quotes are looked at (`walk_ends`).
"""

cimport cython
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from earleymask.earley._automaton cimport DEAD_END, MIXED, State
from earleymask.earley._complements cimport find_differing, without_complements
from earleymask.earley._families cimport (
    IN_TAIL, add_token, close_family, free_family, is_wide, new_family, pair_up, take_pairs,
)
from earleymask.earley._part cimport ROOT_NODE, free_part, group_by_byte, new_part, set_open
from earleymask.earley._searches cimport QUOTE, without_search
from earleymask.earley._tables cimport (
    NONE, byteset_add, byteset_fill, byteset_has, byteset_or, copy_of, lowest_bit, reserve, sort_unique, words_extend,
    words_free, words_push,
)
from earleymask.trie._bitmask cimport mask_allow, mask_allows, mask_refuse
from earleymask.trie._memory cimport calloc, malloc
from earleymask.trie._quotient cimport members_of, n_members, n_tokens_of, tokens_of
from earleymask.trie._trie cimport node_byte, node_depth, node_skip, node_t, node_token

cdef enum:
    SPARSE = 512                # the most tokens that a part keeps as a list instead of a bitmap
    OPEN = 32                   # a matched node is open if more trie nodes than these are below one at which tokens die


@cython.final
cdef class Builder:
    """Builds parts and families over one vocabulary, one at a time. Needs the lock of the parts."""

    def __cinit__(self, Quotient quotient not None, Automaton automaton not None, Families families not None):
        cdef size_t depths = <size_t> quotient.trie.max_depth + 2
        self.trie = quotient.trie
        self.quotient = quotient
        self.automaton = automaton
        self.families = families
        self.bits = <uint32_t*> calloc(<size_t> self.trie.n_words + 1, sizeof(uint32_t))
        self.path_states = <uint32_t*> calloc(depths, sizeof(uint32_t))
        self.path_nodes = <uint32_t*> calloc(depths, sizeof(uint32_t))
        self.path_accepts = <uint8_t*> calloc(depths, 1)
        self.path_seen = <uint8_t*> calloc(depths, 1)
        self.path_others = <uint32_t*> calloc(depths, sizeof(uint32_t))
        self.path_differing = <ByteSet*> calloc(depths, sizeof(ByteSet))
        self.path_levels = <uint32_t*> calloc(depths, sizeof(uint32_t))
        self.astray = <uint32_t*> calloc(self.trie.n_nodes // 32 + 1, sizeof(uint32_t))
        self.anew = <uint32_t*> calloc(self.trie.n_nodes // 32 + 1, sizeof(uint32_t))
        if (self.bits == NULL or self.path_states == NULL or self.path_nodes == NULL or self.path_accepts == NULL
                or self.path_seen == NULL or self.path_others == NULL or self.path_differing == NULL or self.path_levels == NULL
                or self.astray == NULL or self.anew == NULL):
            raise MemoryError("parts")

    def __dealloc__(self):
        free(self.bits)
        free(self.path_states)
        free(self.path_nodes)
        free(self.path_accepts)
        free(self.path_seen)
        free(self.path_others)
        free(self.path_differing)
        free(self.path_levels)
        free(self.astray)
        free(self.anew)
        free(self.places)
        words_free(&self.roots)
        words_free(&self.tokens)
        words_free(&self.exits)
        words_free(&self.open)
        words_free(&self.late)
        words_free(&self.gone)
        words_free(&self.quotes)
        words_free(&self.exit_levels)
        words_free(&self.open_levels)
        words_free(&self.late_levels)

    cdef Part* build(self, uint32_t trie_node, uint32_t regex) except? NULL nogil:
        cdef uint32_t state = self.automaton.state(regex)
        while True:
            self.start(trie_node, state)
            self.grow(trie_node, self.start_depth, state)
            if self.wanted_state == NONE:
                return self.finish(trie_node, regex)
            self.make_family(self.wanted_node, self.wanted_state)

    cdef int start(self, uint32_t trie_node, uint32_t state) except -1 nogil:
        """Begin a walk below this node: nothing is found yet."""
        if self.dense:
            memset(self.bits, 0, self.trie.n_words * sizeof(uint32_t))
            self.dense = False
        self.tokens.n = self.exits.n = self.open.n = self.late.n = 0
        self.n_inside = 0
        byteset_fill(&self.live_bytes, 0)
        self.wanted_state = NONE
        if self.has_odd:                                # an error has ended the last walk
            self.forget_odd(0, self.trie.n_nodes)
        self.start_depth = 0 if trie_node == ROOT_NODE else node_depth(self.trie.nodes[trie_node])
        self.enter(self.start_depth, trie_node, state)
        self.path_accepts[self.start_depth] = self.path_seen[self.start_depth] = False  # a lexeme accepts only after a byte
        self.path_levels[self.start_depth] = 0
        return 0

    cdef Part* finish(self, uint32_t trie_node, uint32_t regex) except? NULL nogil:
        """Return the part that was found since `start`; NULL if nothing was."""
        cdef Part* part
        cdef uint32_t i, word
        cdef bint built = False
        if self.n_inside == 0 and self.exits.n == 0 and self.open.n == 0 and self.late.n == 0:
            return NULL
        part = new_part()
        part.node = trie_node
        part.regex = regex
        try:
            if self.dense:
                for i in range(self.tokens.n):
                    mask_allow(self.bits, self.tokens.data[i])
                if self.n_inside > SPARSE:
                    copy_of(<void**> &part.bits, self.bits, self.trie.n_words * sizeof(uint32_t))
                else:
                    self.tokens.n = 0
                    for i in range(self.trie.n_words):
                        word = self.bits[i]
                        while word:
                            words_push(&self.tokens, i * 32 + lowest_bit(word))
                            word &= word - 1
            if part.bits == NULL:
                copy_of(<void**> &part.tokens, self.tokens.data, self.tokens.n * sizeof(uint32_t))
            part.n_tokens = self.n_inside
            sort_unique(&self.open)
            set_open(part, self.trie, self.open.data, <uint32_t> self.open.n)
            copy_of(<void**> &part.late, self.late.data, self.late.n * sizeof(uint32_t))
            part.n_late = <uint32_t> self.late.n
            part.live_bytes = self.live_bytes
            part.live_made = self.late.n == 0
            group_by_byte(&part.exits, self.trie, &self.exits)
            built = True
        finally:
            if not built:
                free_part(part)
        return part

    # ---- the walk -----------------------------------------------------------------------------------------------

    cdef int enter(self, uint32_t depth, uint32_t node, uint32_t state) except -1 nogil:
        """Let the path come to `node`, of the trie or of the quotient, in `state`."""
        cdef bint accepts
        if not self.automaton.states[state].expanded:
            self.automaton.expand(state)
        accepts = self.automaton.states[state].accepts
        self.path_states[depth] = state
        self.path_nodes[depth] = node
        self.path_accepts[depth] = accepts
        if depth > self.start_depth:
            self.path_seen[depth] = accepts or self.path_seen[depth - 1]
        return 0

    cdef int grow(self, uint32_t node, uint32_t depth, uint32_t state) except -1 nogil:
        """Walk everything below a node of the trie at which the path has been entered."""
        cdef State* s = self.automaton.states + state
        cdef uint32_t i, child, target, group
        cdef node_t packed
        cdef const Family* family
        if not s.narrow:
            if (self.counting == NULL and is_wide(self.trie, node) and not self.path_seen[depth]
                    and self.automaton.is_counted(state)):
                family = self.families.find(node, self.automaton.states[state].family)
                s = self.automaton.states + state
                if family != NULL:
                    return self.take_family(family, s.least, s.most)
                if s.family != state:
                    self.wanted_node = node
                    self.wanted_state = state
                    return 0
            if node == ROOT_NODE:
                return self.walk_quotient(NONE, depth)
            group = self.quotient.quotient_of[node]
            if n_members(self.quotient, group) == 1:
                return self.walk_quotient(group, depth)
            return self.walk_trie(node + 1, node + node_skip(self.trie.nodes[node]))
        if self.path_accepts[depth]:
            # Leave everything below the node to the row that comes next, including the bytes by which the lexeme
            # continues.
            if node_skip(self.trie.nodes[node]) > 1:
                words_push(&self.open, node)
            self.path_seen[depth] = self.path_seen[depth - 1]
            self.path_accepts[depth] = False
        for i in range(s.n_edges):
            child = self.quotient.child(node, self.automaton.states[state].edges[2 * i])
            target = self.automaton.states[state].edges[2 * i + 1]
            self.n_nodes += 1
            if child == NONE:
                continue
            packed = self.trie.nodes[child]
            if node_token(packed):
                words_push(&self.tokens, node_token(packed) - 1)
                self.n_inside += 1
            self.note_live(node_byte(packed), depth)
            if node_skip(packed) > 1:
                self.enter(depth + 1, child, target)
                self.grow(child, depth + 1, target)
        return 0

    cdef inline void note_live(self, uint32_t byte, uint32_t depth) noexcept nogil:
        """Note that the path continues by `byte` from a node at this depth."""
        if self.path_accepts[depth]:
            byteset_add(&self.live_bytes, byte)

    cdef int walk_quotient(self, uint32_t start, uint32_t depth) except -1 nogil:
        """Walk everything below a node of the quotient (NONE: the root), at which the path has been entered."""
        cdef uint32_t i = 0, end = self.quotient.n_nodes, d, class_, target, k, state, level, n_tokens
        cdef size_t w
        cdef const uint32_t* row
        cdef const uint32_t* tokens
        cdef uint32_t* bits = self.bits
        cdef size_t n_exits = self.exits.n, n_open = self.open.n, n_late = self.late.n
        if start != NONE:
            i = start + 1
            end = start + self.quotient.skips[start]
        self.path_nodes[depth] = start                  # no longer the trie node
        self.dense = True
        while i < end:
            self.n_nodes += 1
            d = self.quotient.depths[i]
            class_ = self.quotient.classes[i]
            state = self.path_states[d - 1]
            row = self.automaton.states[state].by_class
            if row == NULL:
                row = self.automaton.by_class(state)
            target = row[class_]
            if target == MIXED and self.counting == NULL:
                target = row[self.quotient.n_classes + class_]
                if target != MIXED:
                    self.walk_odd(i, d, target)
            if target == MIXED:
                self.walk_members(i, d)
                i += self.quotient.skips[i]
                continue
            if target == DEAD_END:
                self.leave_group(i, d)
                i += self.quotient.skips[i]
                continue
            if self.path_accepts[d - 1]:
                for k in range(4):
                    self.live_bytes.w[k] |= self.quotient.class_bytes[class_][k]
            tokens = tokens_of(self.quotient, i)
            n_tokens = n_tokens_of(self.quotient, i)
            k = self.quotient.bitmap_of[i]
            if self.counting != NULL:
                level = self.level_by(d, self.quotient.class_first[class_])
                for k in range(n_tokens):
                    add_token(self.counting, self.trie.n_words, tokens[k], level)
                self.path_levels[d] = level
            elif k != NONE:
                for w in range(self.trie.n_words):
                    bits[w] |= self.quotient.bitmaps[k * <size_t> self.trie.n_words + w]
            else:
                for k in range(n_tokens):
                    mask_allow(bits, tokens[k])
            self.n_inside += n_tokens
            if self.quotient.skips[i] != 1:
                if self.counting == NULL and self.automaton.states[target].reach >= self.quotient.heights[i]:
                    target = self.automaton.near(target, self.quotient.heights[i])
                self.enter(d, i, target)
            i += 1
        if self.has_odd:
            self.walk_anew(n_exits, n_open, n_late)
            i, end = 0, self.trie.n_nodes
            if start != NONE and n_members(self.quotient, start) == 1:
                i = members_of(self.quotient, start)[0]
                end = i + node_skip(self.trie.nodes[i])
            self.forget_odd(i, end)
        return 0

    # ---- classes of which a few bytes are odd -------------------------------------------------------------------

    cdef int walk_odd(self, uint32_t i, uint32_t depth, uint32_t usual) except -1 nogil:
        """Note what must be walked anew where the bytes of node i of the quotient that do not lead to `usual` differ from
        the others, with which the walk goes on.

        Where the two ways lead to one state again, nothing is different below. So a search for "rocket" (outside of JSON
        strings, see `walk_ends`) is a walk that takes no notice of letters, and a look at the few trie nodes in which a
        part of "rocket" is spelled.
        """
        cdef uint32_t state = self.path_states[depth - 1], class_ = self.quotient.classes[i], end = self.quotient.member_starts[i + 1]
        cdef const uint32_t* row = self.automaton.by_byte(state)
        cdef uint32_t j, k, byte, node
        cdef bint below = depth - 1 > self.start_depth
        if self.places == NULL:
            self.list_places()
        if self.odd_state[class_] != state:
            self.list_odd(class_, state, row, usual)
        for j in range(self.n_odd[class_]):
            byte = self.odd_bytes[class_][j]
            k = self.first_place(byte, self.quotient.member_starts[i])
            while k < self.place_starts[byte + 1] and self.places[k] < end:
                node = self.quotient.members[self.places[k]]
                # The way to a node that is astray, and beyond it, has been compared from where it began to differ.
                if not (below and mask_allows(self.astray, self.quotient.parents[node])):
                    self.go_astray(node, row[byte], usual)
                k += 1
            self.cursors[byte] = k
        return 0

    cdef int list_places(self) except -1 nogil:
        """Make `places`, with a counting sort."""
        cdef uint32_t k, byte, at = 0, n
        cdef const node_t* nodes = self.trie.nodes
        self.places = <uint32_t*> malloc(<size_t> self.trie.n_nodes * sizeof(uint32_t))
        if self.places == NULL:
            with gil:
                raise MemoryError("parts")
        memset(self.cursors, 0, sizeof(self.cursors))
        for k in range(self.trie.n_nodes):
            self.cursors[node_byte(nodes[k])] += 1
        for byte in range(256):
            n = self.cursors[byte]
            self.place_starts[byte] = self.cursors[byte] = at
            at += n
        self.place_starts[256] = at
        for k in range(self.trie.n_nodes):
            byte = node_byte(nodes[self.quotient.members[k]])
            self.places[self.cursors[byte]] = k
            self.cursors[byte] += 1
        return 0

    cdef uint32_t first_place(self, uint32_t byte, uint32_t least) noexcept nogil:
        """Return the first of the byte's places at or after `least`. A walk goes forward, so it is close to the last one."""
        cdef uint32_t low = self.cursors[byte], high, step = 1, end = self.place_starts[byte + 1]
        if low > self.place_starts[byte] and self.places[low - 1] >= least:
            low = self.place_starts[byte]               # another walk has begun
        while low + step <= end and self.places[low + step - 1] < least:
            low += step
            step *= 2
        high = min(low + step, end)
        while low < high:
            step = (low + high) // 2
            if self.places[step] < least:
                low = step + 1
            else:
                high = step
        return low

    cdef void list_odd(self, uint32_t class_, uint32_t state, const uint32_t* row, uint32_t usual) noexcept nogil:
        cdef uint32_t w, byte, n = 0
        cdef uint64_t word
        for w in range(4):
            word = self.quotient.class_bytes[class_][w]
            while word:
                byte = 64 * w + lowest_bit(word)
                word &= word - 1
                if row[byte] != usual:                  # at most MAX_ODD are, see `most_common`
                    self.odd_bytes[class_][n] = <uint8_t> byte
                    n += 1
        self.n_odd[class_] = <uint8_t> n
        self.odd_state[class_] = state

    cdef size_t n_bytes(self) noexcept nogil:
        """Return the memory that is taken when it is first needed."""
        return (self.trie.n_nodes * sizeof(uint32_t) if self.places != NULL else 0) + self.quotes.capacity * sizeof(uint32_t)

    cdef int go_astray(self, uint32_t node, uint32_t target, uint32_t usual) except -1 nogil:
        """Compare, below a trie node to which `target` leads but `usual` is taken, where tokens die and lexemes end."""
        cdef uint32_t i = node, end = node + node_skip(self.trie.nodes[node]), d, byte, height
        cdef const uint32_t* row
        cdef node_t packed
        cdef State* states
        self.has_odd = True
        while i < end:
            self.n_nodes += 1
            packed = self.trie.nodes[i]
            d = node_depth(packed)
            if i != node:
                byte = node_byte(packed)
                row = self.automaton.states[self.path_states[d - 1]].by_byte
                if row == NULL:
                    row = self.automaton.by_byte(self.path_states[d - 1])
                target = row[byte]
                row = self.automaton.states[self.path_others[d - 1]].by_class
                if row == NULL:
                    row = self.automaton.by_class(self.path_others[d - 1])
                usual = row[self.quotient.n_classes + self.quotient.class_of[byte]]
            if usual != MIXED and node_skip(packed) != 1:       # as the walk has done
                height = self.quotient.heights[self.quotient.quotient_of[i]]
                target, usual = self.automaton.near(target, height), self.automaton.near(usual, height)
            if target == usual:
                i += node_skip(packed)
                continue
            states = self.automaton.states
            # What is MIXED and has no usual target was not walked from here (`walk_members`).
            if (target == DEAD_END or usual == DEAD_END or usual == MIXED
                    or states[target].accepts != states[usual].accepts):
                self.note_root(i, d)
                i += node_skip(packed)
                continue
            mask_allow(self.astray, i)
            self.path_states[d] = target
            self.path_others[d] = usual
            self.path_accepts[d] = states[target].accepts
            self.path_seen[d] = self.path_accepts[d] or self.path_seen[d - 1]
            i += 1
        return 0

    cdef int note_root(self, uint32_t node, uint32_t depth) except -1 nogil:
        """Note that everything below a trie node, the node included, is to be walked anew."""
        cdef uint32_t i, end = node + node_skip(self.trie.nodes[node])
        for i in range(node, end):
            mask_allow(self.astray, i)
            mask_allow(self.anew, i)
        words_push(&self.roots, node)
        words_push(&self.roots, self.path_states[depth - 1])
        words_push(&self.roots, (self.path_accepts[depth - 1] | self.path_seen[depth - 1] << 1
                                 | (self.path_seen[depth - 2] << 2 if depth - 1 > self.start_depth else 0)))
        return 0

    cdef int walk_anew(self, size_t n_exits, size_t n_open, size_t n_late) except -1 nogil:
        """Discard what was found below the nodes in `roots`, and walk there. The numbers: what was found before this walk."""
        cdef uint32_t node, depth, flags
        cdef size_t i
        self.keep_others(&self.exits, n_exits)
        self.keep_others(&self.open, n_open)
        self.keep_others(&self.late, n_late)
        self.gone.n = 0
        for i in range(0, self.roots.n, 3):
            node, flags = self.roots.data[i], self.roots.data[i + 2]
            self.take_off(node)
            depth = node_depth(self.trie.nodes[node])
            self.path_states[depth - 1] = self.roots.data[i + 1]
            self.path_nodes[depth - 1] = self.quotient.parents[node]
            self.path_accepts[depth - 1] = flags & 1
            self.path_seen[depth - 1] = flags >> 1 & 1
            if depth - 1 > self.start_depth:
                self.path_seen[depth - 2] = flags >> 2
            self.walk_trie(node, node + node_skip(self.trie.nodes[node]))
        return 0

    cdef void keep_others(self, Words* nodes, size_t first) noexcept nogil:
        """Drop the trie nodes in nodes[first:] that are walked anew."""
        cdef size_t i, n = first
        for i in range(first, nodes.n):
            if not mask_allows(self.anew, nodes.data[i]):
                nodes.data[n] = nodes.data[i]
                n += 1
        nodes.n = n

    cdef void forget_odd(self, uint32_t start, uint32_t end) noexcept nogil:
        """Clear the bits of the trie nodes from start to end: no others are set."""
        cdef size_t first = start // 32, n = (end - 1) // 32 + 1 - first
        memset(self.astray + first, 0, n * sizeof(uint32_t))
        memset(self.anew + first, 0, n * sizeof(uint32_t))
        self.roots.n = 0
        self.has_odd = False

    cdef int walk_members(self, uint32_t group, uint32_t depth) except -1 nogil:
        """Walk the trie nodes that were merged into a node of the quotient, one by one, except below those at which the
        state is another one: what differs there is walked later."""
        cdef const uint32_t* members = members_of(self.quotient, group)
        cdef uint32_t k, node, above, parent = self.path_nodes[depth - 1]
        for k in range(n_members(self.quotient, group)):
            node = members[k]
            if depth > 1:
                above = self.quotient.parents[node]
                if depth - 1 > self.start_depth and mask_allows(self.astray, above):
                    continue
                self.path_nodes[depth - 1] = above      # for `leave`
            else:
                self.path_nodes[depth - 1] = ROOT_NODE
            self.walk_trie(node, node + node_skip(self.trie.nodes[node]))
        self.path_nodes[depth - 1] = parent
        return 0

    cdef int walk_trie(self, uint32_t i, uint32_t end) except -1 nogil:
        """Walk the trie nodes from i to end, byte by byte; their parents have been entered."""
        cdef uint32_t d, target, state
        cdef node_t packed
        cdef const uint32_t* row
        self.dense = True
        while i < end:
            self.n_nodes += 1
            packed = self.trie.nodes[i]
            d = node_depth(packed)
            state = self.path_states[d - 1]
            row = self.automaton.states[state].by_byte
            if row == NULL:
                row = self.automaton.by_byte(state)
            target = row[node_byte(packed)]
            if target == DEAD_END:
                self.leave(i, d)
                i += node_skip(packed)
                continue
            self.note_live(node_byte(packed), d - 1)
            if self.counting != NULL:
                self.path_levels[d] = self.level_by(d, node_byte(packed))
                if node_token(packed):
                    add_token(self.counting, self.trie.n_words, node_token(packed) - 1, self.path_levels[d])
            elif node_token(packed):
                mask_allow(self.bits, node_token(packed) - 1)
                self.n_inside += 1
            if node_skip(packed) != 1:
                if self.counting == NULL and self.automaton.states[target].reach:
                    target = self.automaton.near(target, self.quotient.heights_of[i])
                self.enter(d, i, target)
            i += 1
        return 0

    cdef int leave(self, uint32_t i, uint32_t depth) except -1 nogil:
        """Note the trie node i, at this depth, as one at which tokens die."""
        cdef uint32_t parent
        if self.path_accepts[depth - 1]:
            parent = self.path_nodes[depth - 1]
            # Beyond ASCII, a byte may have whole scripts below it, but few rows continue with it.
            if node_skip(self.trie.nodes[i]) <= OPEN or node_byte(self.trie.nodes[i]) >= 0x80:
                words_push(&self.exits, i)
            elif self.open.n == 0 or self.open.data[self.open.n - 1] != parent:
                words_push(&self.open, parent)
        if depth - 1 > self.start_depth and self.path_seen[depth - 2]:
            words_push(&self.late, i)
        if self.counting != NULL:
            self.note_levels(self.path_levels[depth - 1])
        return 0

    cdef int leave_group(self, uint32_t i, uint32_t depth) except -1 nogil:
        """Do what `leave` does for all trie nodes that were merged into node i of the quotient."""
        cdef const uint32_t* members = members_of(self.quotient, i)
        cdef const uint32_t* parents
        cdef uint32_t n = n_members(self.quotient, i), parent, n_parents
        if self.path_accepts[depth - 1]:
            parent = self.path_nodes[depth - 1]
            parents = members_of(self.quotient, parent)
            n_parents = n_members(self.quotient, parent)
            if (self.quotient.sizes[i] <= OPEN * <uint64_t> n_parents
                    or self.quotient.class_first[self.quotient.classes[i]] >= 0x80):
                words_extend(&self.exits, members, n)
            elif self.open.n == 0 or self.open.data[self.open.n - 1] != parents[n_parents - 1]:
                words_extend(&self.open, parents, n_parents)
        if depth - 1 > self.start_depth and self.path_seen[depth - 2]:
            words_extend(&self.late, members, n)
        if self.counting != NULL:
            self.note_levels(self.path_levels[depth - 1])
        return 0

    # ---- counted families ---------------------------------------------------------------------------------------

    cdef int make_family(self, uint32_t trie_node, uint32_t state) except -1 nogil:
        """Walk body* tail below a node of the trie, counting, and keep the family of the state there."""
        cdef Family* family = new_family(self.trie.n_words)
        cdef bint kept = False
        try:
            self.automaton.unit_bytes(state, &self.unit_bytes)
            self.unit_state = self.automaton.states[state].family
            self.start(trie_node, self.unit_state)
            self.exit_levels.n = self.open_levels.n = self.late_levels.n = 0
            self.counting = family
            self.grow(trie_node, self.start_depth, self.unit_state)
            pair_up(&family.exits, &self.exits, &self.exit_levels)
            pair_up(&family.open, &self.open, &self.open_levels)
            pair_up(&family.late, &self.late, &self.late_levels)
            family.live_bytes = self.live_bytes
            close_family(family, self.trie.n_words)
            self.families.keep(trie_node, self.unit_state, family)
            kept = True
        finally:
            self.counting = NULL
            if not kept:
                free_family(family)
        return 0

    cdef inline uint32_t level_by(self, uint32_t depth, uint32_t byte) noexcept nogil:
        """Return the level at this depth, after this byte."""
        cdef uint32_t level = self.path_levels[depth - 1]
        if self.path_states[depth - 1] != self.unit_state or level & IN_TAIL:
            return level
        return level + 1 if byteset_has(&self.unit_bytes, byte) else level | IN_TAIL

    cdef int note_levels(self, uint32_t level) except -1 nogil:
        """Note that the exits, open and late nodes that were just added are at this level."""
        while self.exit_levels.n < self.exits.n:
            words_push(&self.exit_levels, level & ~<uint32_t> IN_TAIL)
        while self.open_levels.n < self.open.n:
            words_push(&self.open_levels, level & ~<uint32_t> IN_TAIL)
        while self.late_levels.n < self.late.n:
            words_push(&self.late_levels, level & ~<uint32_t> IN_TAIL)
        return 0

    cdef int take_family(self, const Family* family, uint32_t least, uint32_t most) except -1 nogil:
        """Add what the family has within these bounds to what the walk has found."""
        cdef uint32_t* bits = self.bits
        cdef const uint32_t* others
        cdef uint32_t level
        cdef size_t i
        self.dense = True
        if family.n_levels:
            level = min(most, family.n_levels - 1)
            others = family.bits + level * <size_t> self.trie.n_words
            for i in range(self.trie.n_words):
                bits[i] |= others[i]
            self.n_inside += family.counts[level]
        for i in range(0, family.deep.n, 2):
            if family.deep.data[i + 1] <= most:
                mask_allow(bits, family.deep.data[i])
                self.n_inside += 1
        for i in range(0, family.tokens.n, 2):
            if least <= family.tokens.data[i + 1] <= most:
                mask_allow(bits, family.tokens.data[i])
                self.n_inside += 1
        take_pairs(&self.exits, &family.exits, least, most)
        take_pairs(&self.open, &family.open, least, most)
        take_pairs(&self.late, &family.late, least, most)
        byteset_or(&self.live_bytes, &family.live_bytes)
        return 0

    # ---- most of another part -------------------------------------------------------------------------------------

    cdef Part* build_like(self, uint32_t trie_node, uint32_t regex, uint32_t wider, Part* like) except? NULL nogil:
        cdef uint32_t i
        self.start(trie_node, self.automaton.state(regex))
        self.dense = True
        if like.bits != NULL:
            memcpy(self.bits, like.bits, self.trie.n_words * sizeof(uint32_t))
        for i in range(0 if like.bits != NULL else like.n_tokens):
            mask_allow(self.bits, like.tokens[i])
        self.n_inside = like.n_tokens
        self.gone.n = 0
        if without_search(self.automaton.regexes, regex) == wider:      # as `Parts.wider` has found it
            self.walk_ends(trie_node, wider)
        elif not self.walk_differences(trie_node, regex, wider):
            return NULL
        if self.gone.n == 0:
            return like
        self.n_added = self.exits.n
        self.take_nodes(&self.exits, like.exits.nodes, like.exits.n)
        self.take_nodes(&self.open, like.open, like.n_open)
        self.take_nodes(&self.late, like.late, like.n_late)
        byteset_or(&self.live_bytes, &like.live_bytes)
        return self.finish(trie_node, regex)

    cdef int walk_differences(self, uint32_t trie_node, uint32_t regex, uint32_t other) except -1 nogil:
        """Walk anew below the nodes at which the two regexes differ: at which tokens die, or may leave, in only one of
        them. Return False if these nodes are many.

        A regex without some words differs from the whole regex only along these words, which is at few nodes.
        """
        cdef uint32_t i = 0, end = self.trie.n_nodes, d, byte, target, n = 0
        cdef node_t packed
        if trie_node != ROOT_NODE:
            i = trie_node + 1
            end = trie_node + node_skip(self.trie.nodes[trie_node])
        self.path_others[self.start_depth] = self.automaton.state(other)
        self.find_differing(self.start_depth)
        while i < end:
            n += 1
            if n > MANY_DIFFERENCES:
                return False
            packed = self.trie.nodes[i]
            d = node_depth(packed)
            byte = node_byte(packed)
            if not byteset_has(self.path_differing + d - 1, byte):
                i += node_skip(packed)
                continue
            target = self.automaton.target(self.path_states[d - 1], byte)
            other = self.automaton.target(self.path_others[d - 1], byte)
            if node_skip(packed) != 1:
                target = self.automaton.near(target, self.quotient.heights_of[i])
                other = self.automaton.near(other, self.quotient.heights_of[i])
            if target == other:
                i += node_skip(packed)
                continue
            if target == DEAD_END:
                self.take_off(i)
                self.leave(i, d)
            elif self.automaton.states[target].accepts != self.automaton.states[other].accepts:
                self.take_off(i)
                self.walk_trie(i, i + node_skip(packed))
            elif node_skip(packed) > 1:
                self.path_states[d] = target
                self.path_others[d] = other
                self.find_differing(d)
                self.path_nodes[d] = i
                self.path_accepts[d] = self.automaton.states[target].accepts
                self.path_seen[d] = self.path_accepts[d] or self.path_seen[d - 1]
                i += 1
                continue
            i += node_skip(packed)
        self.n_nodes += n
        return True

    cdef int walk_ends(self, uint32_t trie_node, uint32_t other) except -1 nogil:
        """Discard what was copied below the nodes at which a text ends by the regex `other`, for any text, and not by the
        one that searches in the text. There is no other difference: see `_searches`."""
        cdef uint32_t i = 0, end = self.trie.n_nodes, node, d, k, up, byte, depth = self.start_depth
        cdef uint32_t* way = self.path_levels           # by depth: the nodes on the way to this one
        cdef size_t at
        if trie_node != ROOT_NODE:
            i = trie_node + 1
            end = trie_node + node_skip(self.trie.nodes[trie_node])
        if self.quotes.data == NULL:
            self.list_quotes()
        self.path_others[depth] = self.automaton.state(other)
        for at in range(self.quotes.n):
            node = self.quotes.data[at]
            if node < i:
                continue
            if node >= end:
                break
            d = node_depth(self.trie.nodes[node])
            up = node
            k = d
            while k > self.start_depth:
                way[k] = up
                up = self.quotient.parents[up]
                k -= 1
            # Go back along the way to the last node, as far as it is not the way to this one, and then on.
            while k < depth and k + 1 < d and self.path_nodes[k + 1] == way[k + 1]:
                k += 1
            depth = k
            while depth + 1 < d:
                self.n_nodes += 1
                byte = node_byte(self.trie.nodes[way[depth + 1]])
                self.path_states[depth + 1] = self.automaton.target(self.path_states[depth], byte)
                self.path_others[depth + 1] = self.automaton.target(self.path_others[depth], byte)
                depth += 1
                self.path_nodes[depth] = way[depth]
            self.n_nodes += 1
            if (self.automaton.target(self.path_states[depth], QUOTE) == DEAD_END
                    and self.automaton.target(self.path_others[depth], QUOTE) != DEAD_END):
                self.take_off(node)
                i = node + node_skip(self.trie.nodes[node])
        return 0

    cdef int list_quotes(self) except -1 nogil:
        """Find the trie nodes with quotes, in order."""
        cdef uint32_t i
        cdef size_t n = 0
        for i in range(self.trie.n_nodes):
            n += node_byte(self.trie.nodes[i]) == QUOTE
        reserve(<void**> &self.quotes.data, &self.quotes.capacity, n + 1, sizeof(uint32_t))
        for i in range(self.trie.n_nodes):              # from here on, nothing fails: the list is whole or not there
            if node_byte(self.trie.nodes[i]) == QUOTE:
                self.quotes.data[self.quotes.n] = i
                self.quotes.n += 1
        return 0

    cdef int find_differing(self, uint32_t depth) except -1 nogil:
        """Find the bytes by which the two states on the path at this depth may lead to different states."""
        cdef uint32_t regex = self.automaton.states[self.path_states[depth]].regex
        cdef ByteSet* bytes_ = self.path_differing + depth
        if (without_complements(self.automaton.regexes, regex) != self.automaton.states[self.path_others[depth]].regex
                or not find_differing(self.automaton.regexes, regex, bytes_)):
            byteset_fill(bytes_, <uint64_t> -1)
        return 0

    cdef int take_off(self, uint32_t node) except -1 nogil:
        """Discard what was copied from the other part below a node, the node included."""
        cdef uint32_t i, end = node + node_skip(self.trie.nodes[node]), token
        words_push(&self.gone, node)
        words_push(&self.gone, end)
        for i in range(node, end):
            token = node_token(self.trie.nodes[i])
            if token:
                self.n_inside -= mask_allows(self.bits, token - 1)
                mask_refuse(self.bits, token - 1)
        return 0

    cdef int take_nodes(self, Words* mine, const uint32_t* nodes, uint32_t n) except -1 nogil:
        """Copy exits of the other part, except those below nodes that `take_off` has discarded."""
        cdef uint32_t i
        cdef size_t low, high, middle
        for i in range(n):
            low, high = 0, self.gone.n // 2             # the first range that ends after the node
            while low < high:
                middle = (low + high) // 2
                if self.gone.data[2 * middle + 1] <= nodes[i]:
                    low = middle + 1
                else:
                    high = middle
            if 2 * low == self.gone.n or nodes[i] < self.gone.data[2 * low]:
                words_push(mine, nodes[i])
        return 0
