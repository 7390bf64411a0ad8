"""How many tokens a sequence still needs, and the masks of sequences that have only so many left.

A position can be finished in as many tokens as its best live pair: those of the rest of the pair's lexeme, and those of the
row after it. A row takes as many as its best item: those of the symbols after the dot, and those of the item's continuation;
a continuation, as the best item that completing its symbol adds. Of each lexeme and symbol, `_shortest` knows how many tokens
its chosen text takes. So the number is an upper bound, and if it is n, some token of the mask leaves n - 1: the first one of
the chosen text. In a vocabulary of single bytes it is the least number.

A mask for n tokens is the mask without the tokens that leave more than n - 1. They are found by a walk over the trie that
asks for the number of each position it comes to; most tokens come to few positions. The walk notes the most tokens that any
of the mask's tokens leaves. If this is at most n - 1, as long as n is far from the end, the position's mask is right as it is.

What may follow some terminals depends on their text (`Engine.add_followed`). The positions of all their texts would be too
many, so the walk forgets what was read, and counts only what may follow each text: symbols without such terminals. Tokens for
which this gives no number are tried one by one on the positions of the matcher, MOST_TRIED of them at most. The first tokens
of all chosen texts are among those that are tried.

If lookaheads demand something of the text, or terminals commit, this number is no bound: the demands may refuse the chosen
text. It is then counted in bytes. The chosen text is followed from position to position; if it is refused, the number
is an estimate that is not too high for a search over positions (A*; Hart, Nilsson and Raphael 1968), which finds the fewest
bytes.

A budget of a rule (`_budgets`) ends lexemes at the first byte at which they can end. The chosen texts end there anyway, but
the texts that such a search finds may not: in a grammar with such budgets, there is no search.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from earleymask.earley._chart cimport (
    DEAD, FINISHED, MET, NO_ROW, UNKNOWN, continuation_at, n_pairs_at, pair_row, pair_state, row_at, skeleton_of,
)
from earleymask.earley._lexer cimport n_terminals, node_at, terminal_at
from earleymask.earley._meter cimport exceeds, spend_steps
from earleymask.earley._rules cimport LOOSE
from earleymask.earley._shortest cimport ENDLESS
from earleymask.earley._skeletons cimport accepts_at, item_dot, item_number, n_items_of
from earleymask.earley._tables cimport NONE, ByteSet, byteset_fill, byteset_has, byteset_or, lowest_bit, reserve, words_push
from earleymask.earley._token_ids cimport has_id, is_eos
from earleymask.trie._bitmask cimport mask_allow, mask_allows, mask_refuse
from earleymask.trie._memory cimport malloc
from earleymask.trie._quotient cimport NO_NODE
from earleymask.trie._trie cimport node_byte, node_depth, node_skip, node_t, node_token

from heapq import heappop, heappush

from earleymask.earley.errors import LimitError

cdef enum:
    FULL = 0                    # index of a view
    # Positions that one search for the shortest text visits; beyond it the call fails. One takes some microseconds.
    MAX_SEARCHED = 1 << 13
    # Tokens that are tried one by one for one mask; further ones are not allowed. Each may take 50 microseconds, and add
    # symbols to the grammar. The first ones are mostly single bytes.
    MOST_TRIED = 1 << 6
    SEARCHED_FOR_MASK = 1 << 15 # regex nodes that searches come to for one mask. Beyond it, tokens that need more are not allowed.

cdef uint32_t UNKNOWN_TOKENS = <uint32_t> -1


cdef class Remaining:
    """What is known of the positions of one chart."""

    def __cinit__(self, Chart chart not None, Shortest shortest not None, Specials specials, TokenIds token_ids):
        self.chart = chart
        self.trie = shortest.trie
        self.shortest = shortest
        self.specials = specials
        self.token_ids = token_ids
        self.searches = shortest.in_bytes
        self.path = <uint32_t*> malloc((<size_t> self.trie.max_depth + 1) * sizeof(uint32_t))
        self.bits = <uint32_t*> malloc((<size_t> self.trie.n_words + 1) * sizeof(uint32_t))
        if self.path == NULL or self.bits == NULL:
            raise MemoryError("tokens that are left")

    def __dealloc__(self):
        cdef size_t i
        for i in range(2):
            free(self.views[i].positions.data)
            free(self.views[i].rows.data)
            free(self.views[i].continuations.data)
        free(self.most.data)
        free(self.path)
        free(self.bits)

    cdef int renew(self) except -1:
        cdef size_t i
        if self.n_collections != self.chart.n_collections or self.n_exhausted != self.shortest.n_exhausted:
            self.n_collections = self.chart.n_collections
            self.n_exhausted = self.shortest.n_exhausted
            for i in range(2):
                self.views[i].positions.n = self.views[i].rows.n = self.views[i].continuations.n = 0
            self.most.n = 0
        return self.shortest.renew(self.chart.engine.n_collections)

    cdef uint64_t needed(self, uint32_t position) except? 0xFFFFFFFFFFFFFFFF:
        if position == FINISHED:
            return 0
        return min(1 + self.value(position, False), <uint64_t> ENDLESS)

    # ---- positions ----------------------------------------------------------------------------------------------

    cdef uint64_t value(self, uint32_t position, bint is_free) except? 0xFFFFFFFFFFFFFFFF:
        """Return the tokens before EOS after a position."""
        cdef Known* known = &self.views[is_free].positions
        if position < known.n and known.data[position] != UNKNOWN_TOKENS:
            return known.data[position]
        return self.found_value(position, is_free)

    cdef uint64_t value_freely(self, uint32_t position, bint is_free) except? 0xFFFFFFFFFFFFFFFF nogil:
        cdef const Known* known = &self.views[is_free].positions
        if position < known.n and known.data[position] != UNKNOWN_TOKENS:
            return known.data[position]
        with gil:
            return self.found_value(position, is_free)

    cdef uint64_t found_value(self, uint32_t position, bint is_free) except? 0xFFFFFFFFFFFFFFFF:
        cdef uint64_t tokens
        if self.searches:
            return self.search(position, is_free)
        tokens = self.of_pairs(position, is_free)
        note(&self.views[is_free].positions, position, tokens)
        return tokens

    cdef uint64_t of_pairs(self, uint32_t position, bint is_free) except? 0xFFFFFFFFFFFFFFFF:
        cdef uint32_t row = row_at(self.chart, position), begun, state, terminal, node
        cdef uint64_t best = ENDLESS, tokens
        cdef size_t i, k
        if row != NO_ROW:
            if is_free and self.is_after_varying(row):
                return ENDLESS
            best = self.of_row(row, is_free)
        for i in range(n_pairs_at(self.chart, position)):
            begun, state = pair_row(self.chart, position, i), pair_state(self.chart, position, i)
            if begun == row and state == self.chart.start_state(row):
                continue                                # lexemes that begin here: those of the row
            for k in range(n_terminals(self.chart.lexer, state)):
                spend_steps(self.chart.meter, 16)
                terminal = terminal_at(self.chart.lexer, state, k)
                if self.chart.rules.symbols[terminal].role >= LOOSE:
                    continue
                node = node_at(self.chart.lexer, state, k)
                tokens = self.shortest.of_node(self.chart.lexer.regexes.without_memory(node))
                if tokens < best:
                    best = min(best, tokens + self.after(begun, state, terminal, node, is_free))
        return best

    cdef bint is_after_varying(self, uint32_t row) except -1:
        """Return whether a terminal has ended before the row after whose texts other things may follow."""
        cdef uint32_t skeleton = skeleton_of(self.chart, row), dot
        cdef size_t i
        for i in range(n_items_of(self.chart.skeletons, skeleton) if self.chart.rules.varying else 0):
            dot = item_dot(self.chart.skeletons, skeleton, i)
            if dot and self.chart.rules.dots.data[dot - 1] in self.chart.rules.varying:
                return True
        return False

    cdef uint64_t after(self, uint32_t row, uint32_t state, uint32_t terminal, uint32_t node, bint is_free) except? 0xFFFFFFFFFFFFFFFF:
        """Return the tokens after the lexeme of a terminal that has begun at a row, and of which `node` is left."""
        cdef Chart chart = self.chart
        cdef uint64_t tokens = ENDLESS
        cdef uint32_t outcome, dot
        if chart.rules.symbols[terminal].ignored:
            tokens = self.of_row(row, is_free)
        if is_free and chart.rules.symbols[terminal].followed and varies(chart, terminal):
            return tokens
        if not is_free and chart.rules.symbols[terminal].followed:
            text = chart.lexer.regexes.read_by(node) + self.shortest.text_of(chart.lexer.regexes.without_memory(node))
            if not varies(chart, terminal):
                tokens = min(tokens, self.after(row, state, terminal, node, True))
                # Before the terminal, what follows its own chosen text may have been counted.
                if tokens < ENDLESS and text != self.shortest.text_of(chart.rules.symbols[terminal].node):
                    return tokens
            dot = chart.rules.follow_dot(terminal, text)
            outcome = chart.skeletons.scan_followed(skeleton_of(chart, row), terminal, dot)
        else:
            outcome = chart.skeletons.scan(skeleton_of(chart, row), terminal)
        if outcome == NONE:
            return tokens
        chart.sources.n = 0
        words_push(&chart.sources, outcome)
        words_push(&chart.sources, row)
        return min(tokens, self.of_row(chart.next_row(), is_free))

    cdef uint64_t of_row(self, uint32_t row, bint is_free) except? 0xFFFFFFFFFFFFFFFF:
        cdef Known* known = &self.views[is_free].rows
        cdef uint32_t skeleton = skeleton_of(self.chart, row)
        cdef uint64_t best = ENDLESS, tokens
        cdef size_t i
        if row < known.n and known.data[row] != UNKNOWN_TOKENS:
            return known.data[row]
        if accepts_at(self.chart.skeletons, skeleton):
            best = 0
        for i in range(n_items_of(self.chart.skeletons, skeleton) if best else 0):
            tokens = self.shortest.of_rest(item_dot(self.chart.skeletons, skeleton, i), is_free)
            if tokens < best:
                best = min(best, tokens + self.of_continuation(
                    continuation_at(self.chart, row, item_number(self.chart.skeletons, skeleton, i)), is_free))
        note(known, row, best)
        return best

    cdef uint64_t of_continuation(self, uint32_t continuation, bint is_free) except? 0xFFFFFFFFFFFFFFFF:
        cdef Known* known = &self.views[is_free].continuations
        if continuation >= known.n or known.data[continuation] == UNKNOWN_TOKENS:
            self.find_continuations(continuation, is_free)
        return known.data[continuation]

    cdef int find_continuations(self, uint32_t first, bint is_free) except -1:
        """Find the tokens after a continuation, and after all that may come after it."""
        cdef Chart chart = self.chart
        cdef Known* known = &self.views[is_free].continuations
        cdef uint32_t at, one, dot, older, i
        cdef uint64_t tokens
        cdef list agenda = [first], queue = [], items
        cdef dict before = {}
        met = {first}
        for one in agenda:                              # which grows
            chart.begin_items()
            at = chart.pop(one)
            if chart.popped.data[at]:
                heappush(queue, (0, one))
            items = [(chart.popped.data[at + 2 + 2 * i], chart.popped.data[at + 3 + 2 * i])
                     for i in range(chart.popped.data[at + 1])]
            spend_steps(chart.meter, 32 * (1 + len(items)))
            for dot, older in items:
                tokens = self.shortest.of_rest(dot, is_free)
                if tokens >= ENDLESS:
                    continue
                if older < known.n and known.data[older] != UNKNOWN_TOKENS:
                    if known.data[older] < ENDLESS:
                        heappush(queue, (tokens + known.data[older], one))
                    continue
                before.setdefault(older, []).append((tokens, one))
                if older not in met:
                    met.add(older)
                    agenda.append(older)
        while queue:
            tokens, one = heappop(queue)
            if one < known.n and known.data[one] != UNKNOWN_TOKENS:
                continue
            note(known, one, tokens)
            for more, other in before.get(one, ()):
                heappush(queue, (tokens + more, other))
        for one in agenda:
            if one >= known.n or known.data[one] == UNKNOWN_TOKENS:
                note(known, one, ENDLESS)
        return 0

    # ---- demands ------------------------------------------------------------------------------------------------

    cdef uint64_t search(self, uint32_t position, bint is_free) except? 0xFFFFFFFFFFFFFFFF:
        """Return the fewest bytes after a position, if some demands are to be met."""
        cdef uint64_t tokens = self.dive(position, is_free)
        if tokens >= ENDLESS and not is_free and self.chart.engine.max_tokens is None:
            # Other texts may go on with a lexeme after a place where it can end, and there a budget would end it.
            tokens = self.search_all(position)
        note(&self.views[is_free].positions, position, tokens)
        return tokens

    cdef uint64_t estimate(self, uint32_t position, bint is_free) except? 0xFFFFFFFFFFFFFFFF:
        """Return the bytes after a position as if nothing was demanded: not too many, unless followed terminals are needed."""
        cdef uint64_t tokens = self.of_pairs(position, True)
        if tokens >= ENDLESS and not is_free and self.chart.rules.has_followed:
            tokens = self.of_pairs(position, False)
        return tokens

    cdef uint64_t dive(self, uint32_t position, bint is_free) except? 0xFFFFFFFFFFFFFFFF:
        """Return the bytes of a chosen text after a position, if it meets the demands; else ENDLESS."""
        cdef Chart chart = self.chart
        cdef Known* known = &self.views[is_free].positions
        cdef uint32_t here = position, target, found
        cdef uint64_t left = self.estimate(position, is_free), more
        cdef list way = []
        cdef ByteSet same
        cdef size_t i
        while left < ENDLESS:
            if chart.is_accepting(here):
                more = 0
            elif here < known.n and known.data[here] != UNKNOWN_TOKENS:
                more = known.data[here]
                if more > left:
                    return ENDLESS
            else:
                way.append(here)
                found = DEAD
                for byte in self.first_bytes(here):
                    target = chart.step(here, byte, &same)
                    if target != DEAD and self.estimate(target, is_free) < left:
                        found = target
                        break
                for i in range(1, self.specials.named.n if found == DEAD else 0, 2):
                    target = self.position_after(here, self.specials.named.data[i])
                    if target != DEAD and self.estimate(target, is_free) < left:
                        found = target
                for i in range(self.token_ids.n if self.token_ids is not None and found == DEAD else 0):
                    target = self.position_after(here, self.token_ids.symbols[i])
                    if target != DEAD and self.estimate(target, is_free) < left:
                        found = target
                if found == DEAD:
                    return ENDLESS
                here = found
                left = self.estimate(here, is_free)
                continue
            for other in reversed(way):
                more += 1
                note(known, other, more)
            return more
        return ENDLESS

    cdef list first_bytes(self, uint32_t position):
        """Return the bytes with which the chosen texts of the lexemes at a position go on."""
        cdef uint32_t state
        cdef size_t i, k
        cdef list found = []
        cdef tuple entry
        for i in range(n_pairs_at(self.chart, position)):
            state = pair_state(self.chart, position, i)
            for k in range(n_terminals(self.chart.lexer, state)):
                if self.chart.rules.symbols[terminal_at(self.chart.lexer, state, k)].role < LOOSE:
                    entry = self.shortest.entry(self.chart.lexer.regexes.without_memory(node_at(self.chart.lexer, state, k)))
                    if entry[0] < ENDLESS and entry[1] and entry[2] not in found:
                        found.append(entry[2])
        return found

    cdef uint64_t search_all(self, uint32_t position) except? 0xFFFFFFFFFFFFFFFF:
        """Return the fewest bytes after a position, found by a search over positions."""
        cdef Chart chart = self.chart
        cdef Known* known = &self.views[FULL].positions
        cdef uint32_t here, target, byte
        cdef uint64_t n_steps, best
        cdef size_t n_searched = 0, i
        cdef dict steps = {position: 0}, before = {}
        cdef list queue = [(self.estimate(position, False), 0, position)], targets
        cdef set done = set()
        cdef ByteSet seen, same
        while queue:
            best, n, here = heappop(queue)
            if here in done:
                continue
            if best >= ENDLESS:
                break
            done.add(here)
            n_steps = steps[here]
            if chart.is_accepting(here) or here < known.n and known.data[here] != UNKNOWN_TOKENS:
                i = 0 if chart.is_accepting(here) else known.data[here]
                while here in before:                   # the way to it, from its end
                    here = before[here]
                    i += 1
                    note(known, here, i)
                return i
            n_searched += 1
            if exceeds(n_searched, MAX_SEARCHED):
                raise LimitError(f"the fewest tokens to the end: more than {MAX_SEARCHED} positions were searched for a text that "
                                 "meets what lookaheads and `commit` demand; simplify them, or give no budget")
            targets = []
            byteset_fill(&seen, 0)
            for byte in range(256):
                if self.shortest.spells[byte] and not byteset_has(&seen, byte):
                    target = chart.step(here, byte, &same)
                    byteset_or(&seen, &same)
                    targets.append(target)
            for i in range(1, self.specials.named.n, 2):
                targets.append(self.position_after(here, self.specials.named.data[i]))
            for i in range(self.token_ids.n if self.token_ids is not None else 0):
                targets.append(self.position_after(here, self.token_ids.symbols[i]))
            for target in targets:
                if target == DEAD or target in done or steps.get(target, ENDLESS) <= n_steps + 1:
                    continue
                steps[target] = n_steps + 1
                before[target] = here
                if target < known.n and known.data[target] != UNKNOWN_TOKENS:
                    best = known.data[target]
                else:
                    best = self.estimate(target, False)
                # Of positions with the same estimate those that are furthest come first.
                heappush(queue, (n_steps + 1 + best, -(<object> n_steps), target))
        return ENDLESS

    # ---- masks --------------------------------------------------------------------------------------------------

    cdef bint is_ample(self, uint32_t position, uint64_t n) except -1:
        return position < self.most.n and self.most.data[position] < n      # UNKNOWN_TOKENS is not

    cdef int restrict(self, uint32_t position, uint32_t* words, uint64_t n) except -1:
        cdef bint is_free = self.chart.rules.has_followed
        cdef bint is_walked = self.begin_mask(is_free)
        cdef uint64_t most = 1 if is_walked else ENDLESS
        cdef uint32_t plain = position
        cdef size_t w
        memset(self.bits, 0, (<size_t> self.trie.n_words + 1) * sizeof(uint32_t))
        if is_free:
            plain = self.chart.without_memory(position)
        if is_walked:                                   # else a walk would add symbols: only chosen texts are tried
            with nogil:
                self.walk(plain, n, is_free, &most)
        for w in range(self.trie.n_words):
            self.bits[w] = (self.bits[w] >> 1) | (self.bits[w + 1] << 31)
        copy_duplicates(self.trie, self.bits)
        most = max(most, self.allow_extras(position, self.bits, n))
        if is_free and most >= n:
            self.try_chosen(position, words, self.bits, n)
        if most < ENDLESS:
            note(&self.most, position, most)
        elif is_free:
            self.try_others(position, words, self.bits, n)
        copy_duplicates(self.trie, self.bits)
        for w in range(self.trie.n_words):
            words[w] &= self.bits[w]
        return 0

    cdef bint begin_mask(self, bint is_free) except -1:
        cdef bint is_full = is_free and self.chart.engine.is_half_full
        self.shortest.left = 0 if is_full else min(self.shortest.left, MADE_FOR_MASK)
        self.shortest.nodes_left = SEARCHED_FOR_MASK
        return not is_full

    cdef int note_most(self, uint32_t position, uint64_t most) except -1:
        return note(&self.most, position, most)

    cdef uint64_t allow_extras(self, uint32_t position, uint32_t* bits, uint64_t n) except? 0xFFFFFFFFFFFFFFFF:
        cdef uint64_t most = 1, tokens
        cdef uint32_t token, symbol
        cdef size_t i, w
        for i in range(0, self.specials.named.n, 2):
            token, symbol = self.specials.named.data[i], self.specials.named.data[i + 1]
            if self.chart.expects_special(position, symbol):
                tokens = self.after_symbol(position, symbol, is_eos(self.specials, token))
                most = max(most, tokens)
                if tokens < n:
                    mask_allow(bits, token)
        for i in range(self.token_ids.n if self.token_ids is not None else 0):
            symbol = self.token_ids.symbols[i]
            if self.chart.expects_special(position, symbol):
                tokens = self.after_symbol(position, symbol, False)
                most = max(most, tokens)
                if tokens < n:
                    for w in range(self.trie.n_words):
                        bits[w] |= self.token_ids.bits[i * self.trie.n_words + w]
                elif self.after_symbol(position, symbol, True) < n:
                    for token in range(self.specials.eos.n):
                        if has_id(self.token_ids, i, self.specials.eos.data[token]):
                            mask_allow(bits, self.specials.eos.data[token])
        if self.chart.is_accepting(position):
            for i in range(self.specials.eos.n):
                mask_allow(bits, self.specials.eos.data[i])
        return most

    cdef int walk(self, uint32_t position, uint64_t n, bint is_free, uint64_t* most) except -1 nogil:
        """Set the bits of all text tokens after which a sequence can end within n - 1 tokens, and raise `most` to the most
        tokens that any of them leaves."""
        cdef const node_t* nodes = self.trie.nodes
        cdef const Known* known = &self.views[is_free].positions
        cdef uint32_t i = 0, depth, target, table
        cdef uint64_t tokens
        cdef node_t node
        self.path[0] = position
        while i < self.trie.n_nodes:
            node = nodes[i]
            depth = node_depth(node)
            if not i & 0xFF:
                spend_steps(self.chart.meter, 0x100)
            # SAFETY: depth <= max_depth, and the position of the parent was set when the walk came to it.
            target = self.path[depth - 1]
            # PERF: the same as `advance`, for the most frequent case.
            table = self.chart.table_of.data[target]
            if table < MET and self.chart.tables[table * <size_t> 256 + node_byte(node)] != UNKNOWN:
                target = self.chart.tables[table * <size_t> 256 + node_byte(node)]
            else:
                target = self.chart.advance(target, node_byte(node))
            if target == DEAD:
                i += node_skip(node)
                continue
            self.path[depth] = target
            if node_token(node) or is_free:
                if target < known.n and known.data[target] != UNKNOWN_TOKENS:
                    tokens = known.data[target] + 1
                else:
                    with gil:
                        tokens = self.value(target, is_free) + 1
                if tokens > most[0]:
                    most[0] = tokens
                if is_free and tokens > ENDLESS:        # nor is anything known of what follows
                    i += node_skip(node)
                    continue
                if node_token(node) and tokens < n:
                    mask_allow(self.bits, node_token(node))
            i += 1
        return 0

    cdef uint32_t position_after(self, uint32_t position, uint32_t symbol) except? 0xFFFFFFFF:
        """Return the position after a token that is just this symbol, or DEAD."""
        self.chart.named.n = 0
        words_push(&self.chart.named, symbol)
        return self.chart.step_named(position, DEAD)

    cdef uint64_t after_symbol(self, uint32_t position, uint32_t symbol, bint is_end) except? 0xFFFFFFFFFFFFFFFF:
        """Return the tokens that are left after a token that is just this symbol; `is_end`: the token ends a sentence."""
        cdef uint32_t target = self.position_after(position, symbol)
        return 0 if is_end and self.chart.is_accepting(target) else self.needed(target)

    cdef int try_chosen(self, uint32_t position, const uint32_t* words, uint32_t* bits, uint64_t n) except -1:
        """Try the tokens of a mask with which a chosen text begins."""
        for token in self.first_tokens(position):
            if mask_allows(words, token) and self.after_token(position, token) < n:
                mask_allow(bits, token)
        return 0

    cdef int try_others(self, uint32_t position, const uint32_t* words, uint32_t* bits, uint64_t n) except -1:
        """Try tokens of a mask whose bits are not set."""
        cdef uint32_t w, left, token
        cdef size_t n_tried = 0
        for w in range(self.trie.n_words):
            left = words[w] & ~bits[w]
            while left:
                token = 32 * w + lowest_bit(left)
                left &= left - 1
                n_tried += 1
                if n_tried > MOST_TRIED or self.shortest.left <= 0:
                    return 0
                if self.after_token(position, token) < n:
                    mask_allow(bits, token)
        return 0

    cdef list first_tokens(self, uint32_t position):
        cdef uint32_t state, at, token
        cdef size_t i, k
        cdef unsigned char byte
        cdef list found = []
        for i in range(n_pairs_at(self.chart, position)):
            state = pair_state(self.chart, position, i)
            for k in range(n_terminals(self.chart.lexer, state)):
                at = NO_NODE
                for byte in self.shortest.text_of(self.chart.lexer.regexes.without_memory(node_at(self.chart.lexer, state, k))):
                    at = self.shortest.quotient.child(at, byte)
                    if at == NO_NODE:
                        break
                    token = node_token(self.trie.nodes[at])
                    if token:
                        found.append(token - 1)
        return found

    cdef uint64_t after_token(self, uint32_t position, uint32_t token) except? 0xFFFFFFFFFFFFFFFF:
        cdef size_t i, start = self.trie.token_offsets[token], end = self.trie.token_offsets[token + 1]
        if start == end:
            return ENDLESS                              # it is not allowed by its text
        for i in range(start, end):
            position = self.chart.advance(position, self.trie.token_buffer[i])
            if position == DEAD:
                return ENDLESS
        return self.needed(position)


cdef inline bint varies(Chart chart, uint32_t terminal):
    """Return whether more depends on the text of a followed terminal than which such texts may come after it."""
    return terminal in chart.rules.varying


cdef int copy_duplicates(TokenTrie trie, uint32_t* bits) noexcept nogil:
    cdef size_t i
    for i in range(trie.n_duplicates):
        if mask_allows(bits, trie.duplicates[2 * i]):
            mask_allow(bits, trie.duplicates[2 * i + 1])
    return 0


cdef int note(Known* known, uint32_t index, uint64_t tokens) except -1 nogil:
    reserve(<void**> &known.data, &known.capacity, <size_t> index + 1, sizeof(uint32_t))
    while known.n <= index:
        known.data[known.n] = UNKNOWN_TOKENS
        known.n += 1
    known.data[index] = <uint32_t> min(tokens, <uint64_t> ENDLESS)
    return 0
