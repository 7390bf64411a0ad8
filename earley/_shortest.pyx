"""The fewest tokens that spell a text of a regex, or of a symbol.

For a regex, the shortest text is searched over its derivatives (A*; Hart, Nilsson and Raphael 1968), with a lower bound of
the bytes that are still to come, which the structure of a regex says: a leap second has very many derivatives, but no text
that is shorter than the time of another second. Of the shortest texts it is the first one in the order of bytes. The rest of
that text is then the one of the derivative, whenever it is searched. From its end to its beginning, the fewest tokens that
spell it are found by looking at all tokens that it continues with.

For a symbol, the fewest tokens are those of its best production: the least fixpoint of Knuth (1977), who generalises
Dijkstra's algorithm to grammars. The symbols of a JSON Schema may be infinitely many, and are made when they are asked for.
So a symbol that was not made yet counts as one token at first. If the best derivation has such symbols, these are made, and
the best one is looked for again, until it has none. (A search with such lower bounds is that of Felzenszwalb and McAllester
2007.) If it still has some after MADE_FOR_LEAST of them, the best derivation without such symbols is taken. Until there is one,
symbols are made along the productions that seem best, and, by turns, around the symbol that is missing.

The numbers are upper bounds with a property: if the chosen text of something takes n tokens, n - 1 are enough for what is
left of it after the first of them. They are not always the least ones: a longer text may take fewer tokens, and a token may
spell the end of one lexeme and the beginning of the next one. If all tokens are single bytes, they are.

Some terminals decide by their text what may follow (`Engine.add_followed`). What a production says of them is right for no
text in particular. So a symbol gets two numbers: of its texts without such terminals; and, where there are none, of a text
with such terminals, each with its chosen text and the symbol that follows just that.
"""

from libc.stdint cimport uint32_t, uint64_t

from earleymask.earley._characters cimport utf8_length
from earleymask.earley._choices cimport least_left
from earleymask.earley._escaped cimport least_spelling
from earleymask.earley._meter cimport NO_LIMIT, spend_steps, tick
from earleymask.earley._nodes cimport (
    E_BODY, E_PHASE, K_AND, K_CHAR, K_CHOICES, K_CONCAT, K_EMPTY, K_ESCAPED, K_MARKED, K_REPEAT, K_TAIL, K_UNION, R_EMPTY,
    kind_of, nullable,
)
from earleymask.earley._parts cimport parts_of
from earleymask.earley._rules cimport LOOSE, S_LAZY, S_NONTERMINAL, S_SPECIAL, S_TERMINAL
from earleymask.earley._tables cimport (
    NONE, ByteSet, byteset_fill, byteset_has, byteset_or, sequence, sequence_length, words_free, words_push,
)
from earleymask.trie._quotient cimport NO_NODE
from earleymask.trie._trie cimport node_token

from heapq import heappop, heappush, nsmallest

cdef enum:
    MAX_NESTING = 100           # regexes within one another that are looked at for a lower bound of lengths
    MAX_NODES = 1 << 14         # derivatives that a search for the shortest text of a regex comes to; beyond it none is found
    # Symbols that are made for the least number of one; beyond it, a number that some text has will do. To prove that another
    # one is the least, all orders of the keys of an object might have to be tried.
    MADE_FOR_LEAST = 1 << 8
    MAX_MADE = 1 << 12          # symbols that are made for any number of one; beyond it, it has none
    MADE_IN_A_CALL = 3 << 10    # symbols that are made in one call; beyond it, nothing is known of others before the next one
    LOOKED_AT = 64              # productions of symbols that were made; to look for the best ones among them counts as a symbol
    TEXT_BYTES = 300            # memory of the text of a regex, by estimate,
    PRODUCTION_BYTES = 150      # and of a production or a symbol that was made
    ALTERNATIVES = 16           # of a symbol, which count as a symbol
    MADE_AT_ONCE = 64           # symbols that are made before the best derivation is looked for again, or as many as were before


cdef class Shortest:
    """The chosen texts of regexes and symbols of one grammar, in tokens of one vocabulary. Needs the engine's lock."""

    def __cinit__(self, Rules rules not None, Regexes regexes not None, TokenTrie trie not None):
        cdef uint32_t byte, child
        self.rules = rules
        self.regexes = regexes
        self.trie = trie
        self.quotient = parts_of(trie).quotient
        for byte in range(256):
            child = self.quotient.child(NO_NODE, byte)
            self.spells[byte] = child != NO_NODE and node_token(trie.nodes[child]) != 0
            self.lacks_bytes = self.lacks_bytes or not self.spells[byte]
        self.texts = {}
        self.made = {}
        self.free = {}
        self.in_bytes = rules.has_demanding or rules.has_commits
        self.full = {}

    def __dealloc__(self):
        words_free(&self.least)

    cdef int renew(self, uint64_t n_collections) except -1:
        self.left = MADE_IN_A_CALL
        self.nodes_left = NO_LIMIT
        if n_collections != self.n_collections:
            self.texts.clear()
            self.least.n = 0
            self.n_collections = n_collections
            self.count()
        return 0

    cdef size_t n_bytes(self) noexcept nogil:
        return self.counted + self.least.capacity * sizeof(uint32_t)

    cdef int count(self) except -1:
        self.counted = len(self.texts) * <size_t> TEXT_BYTES + self.n_productions * <size_t> PRODUCTION_BYTES
        return 0

    cdef int forget(self) except -1:
        self.texts.clear()
        self.made.clear()
        self.n_productions = 0
        words_free(&self.least)
        return self.count()

    # ---- regexes ------------------------------------------------------------------------------------------------

    cdef uint64_t of_node(self, uint32_t node) except? 0xFFFFFFFFFFFFFFFF:
        if self.nodes_left <= 0 and node not in self.texts:
            self.n_exhausted += 1
            return ENDLESS
        return (<tuple> self.entry(node))[0]

    cdef tuple entry(self, uint32_t node):
        cdef list path
        found = self.texts.get(node)
        if found is None:
            path = self.search(node, False)
            if path is not None:
                self.enter(path, False)
            else:
                path = self.search(node, True) if self.lacks_bytes else None
                if path is not None:
                    for at, _ in reversed(path[1:]):    # what is left may have another text, without such bytes
                        self.entry(at)
                    self.enter(path, True)
                else:
                    self.texts[node] = (ENDLESS, 0, 0, R_EMPTY)
            found = self.texts[node]
        return found

    cdef list search(self, uint32_t node, bint any_byte):
        """Return the way to the chosen text: nodes, each with the byte that leads from it to the next one (0 from the last).
        None if there is none. Only by bytes that are tokens, unless `any_byte`.

        As for a byte of text, `derivations` bounds each derivative. All of them are bounded by MAX_NODES, and all searches of a
        call by its time and memory; those that a mask does not need, by `nodes_left`.
        """
        cdef uint32_t at, byte, target
        cdef uint64_t length, least
        cdef bytes text, longer, other
        cdef ByteSet seen, same
        cdef dict texts = {node: b""}                   # node -> the first one of the shortest texts that lead to it, so far
        # Lower bounds of whole texts, and these texts as far as they are known: of equal bounds the first one in the order of
        # bytes comes first. So no other one of the shortest texts is found before the first of them.
        cdef list queue = [(self.least_length(node, MAX_NESTING), b"", node)]
        while queue:
            length, text, at = heappop(queue)
            if texts[at] != text:
                continue                                # there is a better way to it
            if nullable(self.regexes, at):
                return self.way(node, text)
            if len(texts) > MAX_NODES:
                return None
            byteset_fill(&seen, 0)
            for byte in range(256):
                if byteset_has(&seen, byte) or not (any_byte or self.spells[byte]):
                    continue
                spend_steps(self.regexes.meter, 16)
                self.regexes.meter.derivations = self.regexes.meter.most_derivations
                byteset_fill(&same, <uint64_t> -1)
                target = self.regexes.derive(at, byte, &same)
                byteset_or(&seen, &same)
                longer = text + bytes((byte,))
                other = texts.get(target)
                if other is not None and (len(other), other) <= (len(longer), longer):
                    continue
                least = self.least_length(target, MAX_NESTING)
                if least < ENDLESS and not self.regexes.empty(target):
                    self.nodes_left -= 1
                    texts[target] = longer
                    heappush(queue, (max(length, len(longer) + least), longer, target))
        return None

    cdef list way(self, uint32_t node, bytes text):
        """Return the nodes along a text, each with the byte that leads to the next one (0 from the last)."""
        cdef list path = []
        cdef unsigned char byte                         # a byte of `bytes` is a signed `char`
        cdef ByteSet same
        for byte in text:
            path.append((node, byte))
            node = self.regexes.derive(node, byte, &same)
        path.append((node, 0))
        return path

    cdef uint64_t least_length(self, uint32_t node, uint32_t room) except? 0xFFFFFFFFFFFFFFFF:
        """Return a number of bytes that no text of the node is shorter than. `room`: how deep to look into it."""
        cdef Regexes regexes = self.regexes
        cdef const uint32_t* p
        cdef uint64_t length = 0, other
        cdef uint32_t first = node
        cdef size_t i
        if nullable(regexes, node) or room == 0:
            return 0
        if node < self.least.n and self.least.data[node]:
            return self.least.data[node] - 1
        spend_steps(regexes.meter, 8)
        while kind_of(regexes, node) == K_CONCAT:
            p = sequence(regexes.nodes, node)
            length += self.least_length(p[1], room - 1)
            node = p[2]
        p = sequence(regexes.nodes, node)
        if nullable(regexes, node):                     # the end of a concatenation
            pass
        elif p[0] == K_EMPTY:
            length += ENDLESS
        elif p[0] == K_CHAR:
            length += utf8_length(sequence(regexes.classes, p[1])[0])
        elif p[0] == K_TAIL:
            length += p[3]
        elif p[0] == K_UNION:
            other = ENDLESS
            for i in range(1, sequence_length(regexes.nodes, node)):
                other = min(other, self.least_length(p[i], room - 1))
            length += other
        elif p[0] == K_AND:
            other = 1
            for i in range(1, sequence_length(regexes.nodes, node)):
                other = max(other, self.least_length(p[i], room - 1))
            length += other
        elif p[0] == K_REPEAT:
            length += p[2] * self.least_length(p[1], room - 1)
        elif p[0] == K_ESCAPED:
            length += least_spelling(p[E_PHASE], self.least_length(p[E_BODY], room - 1))
        elif p[0] == K_MARKED:
            length += self.least_length(p[1], room - 1)
        elif p[0] == K_CHOICES:
            length += least_left(regexes, p)
        else:
            length += 1
        length = min(length, <uint64_t> ENDLESS)
        while self.least.n <= first:
            words_push(&self.least, 0)
        self.least.data[first] = <uint32_t> length + 1
        return length

    cdef int enter(self, list path, bint any_byte) except -1:
        """Enter the texts of the nodes of a way from its end on; of its first node only, if `any_byte`."""
        cdef size_t i, n = len(path)
        cdef bytes text = bytes([byte for _, byte in path[:n - 1]])
        cdef list costs = [0] * n
        for i in range(n - 1, 0, -1):
            if path[i][0] not in self.texts:
                costs[i] = self.tokens_along(text, i, costs)
                self.texts[path[i][0]] = (costs[i], n - 1 - i, path[i][1], path[i + 1][0] if i + 1 < n else R_EMPTY)
            costs[i] = (<tuple> self.texts[path[i][0]])[0]
        length = 1 + (<tuple> self.texts[path[1][0]])[1] if n > 1 else 0
        self.texts[path[0][0]] = (self.tokens_along(text, 0, costs), length, path[0][1], path[1][0] if n > 1 else R_EMPTY)
        return 0

    cdef uint64_t tokens_along(self, bytes text, size_t first, list costs) except? 0xFFFFFFFFFFFFFFFF:
        """Return the fewest tokens that spell the text from its byte `first` on; costs[i] are those from a later byte i."""
        cdef uint32_t at = NO_NODE
        cdef uint64_t best = ENDLESS, cost
        cdef size_t i
        if first == <size_t> len(text):
            return 0
        if self.in_bytes:
            cost = costs[first + 1]
            return 1 + cost if self.spells[<unsigned char> text[first]] else <uint64_t> ENDLESS
        for i in range(first, <size_t> len(text)):
            at = self.quotient.child(at, text[i])
            if at == NO_NODE:
                break
            if node_token(self.trie.nodes[at]):
                cost = costs[i + 1]
                best = min(best, 1 + cost)
        return best

    cdef bytes text_of(self, uint32_t node):
        cdef tuple found = self.entry(node)
        text = bytearray()
        while found[1]:
            text.append(found[2])
            found = self.entry(found[3])
        return bytes(text)

    # ---- symbols ------------------------------------------------------------------------------------------------

    cdef uint64_t of_terminal(self, uint32_t terminal) except? 0xFFFFFFFFFFFFFFFF:
        if self.rules.symbols[terminal].kind == S_SPECIAL:
            return 1
        if self.rules.symbols[terminal].role >= LOOSE:   # no text has it: see `Engine.add_loose`
            return ENDLESS
        return self.of_node(self.rules.symbols[terminal].node)

    cdef uint64_t of_rest(self, uint32_t dot, bint is_free) except? 0xFFFFFFFFFFFFFFFF:
        cdef uint64_t tokens = 0
        cdef uint32_t symbol = self.rules.dots.data[dot]
        while symbol != NONE and tokens < ENDLESS:
            if self.rules.symbols[symbol].followed:
                # It is the first of two symbols. The second one is made for no text in particular.
                return ENDLESS if is_free else tokens + self.of_symbol((symbol, self.rules.dots.data[dot + 1]), False)
            tokens += self.of_symbol(symbol, is_free)
            dot += 1
            symbol = self.rules.dots.data[dot]
        return min(tokens, <uint64_t> ENDLESS)

    cdef uint64_t of_symbol(self, object symbol, bint is_free) except? 0xFFFFFFFFFFFFFFFF:
        found = self.known(symbol, is_free)
        if found is None and not is_free:
            found = self.of_symbol(symbol, True)
            if found >= ENDLESS and self.rules.has_followed:    # by now: rules that were just made may have followed terminals
                found = self.known(symbol, False)
        if found is None:
            if self.left > 0:
                self.settle(symbol, is_free)
            found = self.known(symbol, is_free)
            self.n_exhausted += found is None           # it may be known in a later call
        return ENDLESS if found is None else found

    cdef object known(self, object symbol, bint is_free):
        """Return the tokens of a symbol if they are known, else None."""
        cdef uint32_t number
        if type(symbol) is not tuple:
            number = symbol
            if self.rules.symbols[number].nullable:
                return 0
            if self.rules.symbols[number].kind == S_TERMINAL or self.rules.symbols[number].kind == S_SPECIAL:
                return self.of_terminal(number)
        elif is_free:
            return ENDLESS
        if is_free:
            return self.free.get(symbol)
        found = self.full.get(symbol)                   # first, so that the number of a symbol never changes
        if found is None:
            found = self.free.get(symbol)
            if found is not None and found >= ENDLESS:
                return None
        return found

    cdef int make(self, object symbol) except -1:
        """Make the productions of a symbol: the tokens of their terminals, and their other symbols."""
        cdef uint32_t number, production, dot, part, terminal
        cdef uint64_t tokens
        cdef list found = [], parts
        if type(symbol) is tuple:                       # a followed terminal, and what may follow any text of it
            terminal = symbol[0]
            tokens = self.of_terminal(terminal)
            if tokens < ENDLESS:
                dot = self.rules.follow_dot(terminal, self.text_of(self.rules.symbols[terminal].node))
                found.append((tokens, (self.rules.dots.data[dot],)))
            self.made[symbol] = found
            self.n_productions += 1 + len(found)
            return 0
        number = symbol
        if self.rules.symbols[number].kind == S_LAZY:
            self.rules.expand(number)
        production = self.rules.symbols[number].first
        while production != NONE:
            tick()
            dot = self.rules.productions[production].start
            tokens = 0
            parts = []
            while self.rules.dots.data[dot] != NONE and tokens < ENDLESS:
                part = self.rules.dots.data[dot]
                spend_steps(self.regexes.meter, 8)
                if self.rules.symbols[part].followed:
                    parts.append((part, self.rules.dots.data[dot + 1]))
                    break
                if not self.rules.symbols[part].nullable:
                    if self.rules.symbols[part].kind == S_TERMINAL or self.rules.symbols[part].kind == S_SPECIAL:
                        tokens += self.of_terminal(part)
                    else:
                        parts.append(part)
                dot += 1
            if tokens < ENDLESS:
                found.append((tokens, tuple(parts)))
            production = self.rules.productions[production].next
        self.made[symbol] = found
        self.n_productions += 1 + len(found)
        return 0

    cdef int settle(self, object goal, bint is_free) except -1:
        """Find the tokens of a symbol, and of those of its best derivation."""
        cdef dict into = self.free if is_free else self.full, settled, ways
        cdef size_t n_made = 0, n_now
        cdef list agenda, missing, queue
        cdef bint is_broad = False
        cdef size_t n_queued = <size_t> 1 << 32         # so that each number in a queue is of one entry
        # If some symbols had no text without followed terminals, others of the grammar will not have one, either.
        cdef size_t most = (MAX_MADE // 2) >> 2 * min(self.n_given_up, 3) if is_free else MAX_MADE
        while True:
            settled, ways = self.derive(goal, is_free, False)
            if goal not in settled:                     # every symbol has been made, and this one has no such text
                into[goal] = ENDLESS
                return 0
            agenda = [goal]
            met = {goal}
            missing = []
            for symbol in agenda:                       # which grows
                if symbol not in ways:
                    missing.append(symbol)
                    continue
                for part in (<tuple> ways[symbol])[1]:
                    if part not in met and self.known(part, is_free) is None:
                        met.add(part)
                        agenda.append(part)
            if not missing:
                for symbol in agenda:
                    into[symbol] = settled[symbol]
                return 0
            if n_made > MADE_FOR_LEAST or self.left <= 0:   # then any text will do
                last, ways = self.derive(goal, is_free, True)
                if goal in last or n_made > most or self.left <= 0:
                    if goal not in last:
                        self.n_given_up += 1
                        if n_made > most:
                            into[goal] = ENDLESS
                        return 0
                    agenda = [goal]
                    for symbol in agenda:               # which grows
                        into[symbol] = last[symbol]
                        agenda += [part for part in (<tuple> ways[symbol])[1]
                                   if part not in into and self.known(part, is_free) is None]
                    return 0
            n_now = 0
            is_broad = n_made > MADE_FOR_LEAST and not is_broad
            queue = [(0, i, symbol) for i, symbol in enumerate(missing)]
            while queue and n_now < max(<size_t> MADE_AT_ONCE, n_made // 8):
                tokens, _, symbol = heappop(queue)
                if symbol in self.made:
                    continue
                self.make(symbol)
                n_now += 1 + len(self.made[symbol]) // ALTERNATIVES
                for production in nsmallest(ALTERNATIVES if is_broad else 1, self.made[symbol], key=weight):
                    for part in (<tuple> production)[1]:
                        n_queued += 1
                        if part not in self.made and self.known(part, is_free) is None:
                            heappush(queue, (tokens + is_broad * weight(production), n_queued, part))
            n_made += n_now
            self.left -= n_now

    cdef tuple derive(self, object goal, bint is_free, bint is_last):
        """Return the tokens of the symbols of the best derivation of `goal`, and their productions, as in `made`. A symbol
        that was not made has one token and no production; with `is_last`, it has no text."""
        cdef dict uses = {}, settled = {}, ways = {}
        cdef list productions = [], missing = [], sums = [], queue = [], agenda = [goal]
        cdef uint64_t tokens
        cdef size_t n
        met = {goal}
        for symbol in agenda:                           # which grows
            if symbol not in self.made:
                if not is_last:
                    heappush(queue, (1, len(productions), symbol, None))
                    productions.append(None)            # so that each number in the queue is of one entry
                    missing.append(0)
                    sums.append(0)
                continue
            for production in self.made[symbol]:
                spend_steps(self.regexes.meter, 32)
                tokens, parts = production
                n = 0
                for part in <tuple> parts:
                    known = self.known(part, is_free)
                    if known is not None:
                        tokens += known
                        continue
                    n += 1
                    uses.setdefault(part, []).append(len(productions))
                    if part not in met:
                        met.add(part)
                        agenda.append(part)
                if tokens >= ENDLESS:
                    n = <size_t> -1                     # it never comes to be complete
                elif n == 0:
                    heappush(queue, (tokens, len(productions), symbol, production))
                productions.append((symbol, production))
                missing.append(n)
                sums.append(tokens)
        self.left -= <int64_t> len(productions) // LOOKED_AT
        while queue:
            spend_steps(self.regexes.meter, 32)
            tokens, _, symbol, production = heappop(queue)
            if symbol in settled:
                continue
            settled[symbol] = tokens
            if production is not None:
                ways[symbol] = production
            if symbol == goal:
                break
            for index in uses.get(symbol, ()):
                missing[index] -= 1
                sums[index] += tokens
                if not missing[index]:
                    heappush(queue, (sums[index], index, *productions[index]))
        return settled, ways


def weight(production) -> int:
    """Return the tokens of a production if each of its symbols takes one."""
    return production[0] + len(production[1])
