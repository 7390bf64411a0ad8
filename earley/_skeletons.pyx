"""Rows without their stack, and what a terminal makes of them: a pushdown automaton that is built as texts reach it.

A row (Earley 1970: "set") holds the items alive at one byte position, after completion and before prediction. In the
textbook an item has its origin row, and completing `X` looks up there which items wait for `X`. Here an item has what
would be looked up, a *continuation*: (X, the kernel items of that row whose next symbol has X as left corner). So two
positions with equal items have equal rows, whatever text is between them.

A *skeleton* is a row whose continuations are renamed 0, 1, ...; a *shape* is a continuation with its own continuations
renamed likewise. What follows from them does not depend on the stack, so it is computed once per grammar and
remembered:

- `closure`: prediction. An item whose dot is before a nullable symbol is advanced over it at once, so that completion
  within a row needs no second pass (Aycock & Horspool 2002). A *tail call* adds no continuation: if completing `X` also
  completes every item that waits for `X`, and these items share one continuation, then `X` gets that continuation. So
  the rows of a right recursion recur (Leo 1991 makes only the completion faster).
- `scan`: the outcome of a terminal. It consists of the items of the next row, recipes for their continuations, and
  *pops*: the continuations of this row whose symbol is now complete. `_chart` then looks up what waited for them.
- `pop`: the outcome of completing the symbol of a continuation, in terms of the continuation's own continuations.

Cost: a closure is linear in the productions that it predicts, an outcome in its items; both are made once.
Not here: real rows and continuations (`_chart`), bytes (`_lexer`).
"""

from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from earleymask.earley._meter cimport exceeds, spend_steps
from earleymask.earley._rules cimport S_LAZY, S_SPECIAL, S_TERMINAL
from earleymask.earley._tables cimport (
    NONE, bits_add, bits_have, keep_marked, lowest_bit, reserve, sequence, sequence_length, sort_u64, sort_words, trim, words_extend, words_free, words_push,
)
from earleymask.trie._memory cimport malloc

cdef enum:
    MAX_SEEN = 1 << 16


cdef class Skeletons:
    """The part of parsing one grammar that does not depend on the stack, remembered."""

    def __cinit__(self, Rules rules not None, Lexer lexer not None):
        cdef uint32_t word = NONE, header
        self.rules = rules
        self.lexer = lexer
        self.skeletons = Sequences("parser skeletons", 1 << 27)
        self.shapes = Sequences("parser continuations", 1 << 27)
        self.transitions = Map()
        self.seen = Map()
        self.skeletons.meter = self.shapes.meter = self.transitions.meter = self.seen.meter = lexer.regexes.meter
        self.add_shape(&word, 1, NONE, 0)
        word = 1
        self.shape_outcomes.data[ROOT_SHAPE] = <uint32_t> self.outcomes.n
        for header in (1, 0, 0, 0, self.skeleton(&word, 1), 0):
            words_push(&self.outcomes, header)
        self.nothing = <uint32_t> self.outcomes.n
        for header in range(O_HEADER):
            words_push(&self.outcomes, NONE if header == O_SKELETON else 0)
        self.add_variable()
        self.n_base_skeletons, self.n_base_shapes = self.skeletons.n, self.shapes.n
        self.n_base_outcomes = self.outcomes.n

    def __dealloc__(self):
        cdef size_t i
        if self.skeletons is not None and self.closures != NULL:
            for i in range(self.skeletons.n):
                free(self.closures[i])
        free(self.closures)
        free(self.marks)
        free(self.marks_epoch)
        free(self.keys)
        words_free(&self.outcomes)
        words_free(&self.shape_origins)
        words_free(&self.shape_outcomes)
        words_free(&self.raw_waiters)
        words_free(&self.raw_scans)
        words_free(&self.predicted)
        words_free(&self.agenda)
        words_free(&self.completed)
        words_free(&self.pops)
        words_free(&self.recipes)
        words_free(&self.renamed)
        words_free(&self.words)

    cdef int add_variable(self) except -1:
        cdef uint32_t words[3]
        words[0] = 0
        words[1] = self.rules.mark
        words[2] = 0
        cdef uint32_t skeleton = self.skeleton(words, 3), word
        words[0] = NONE - 2
        self.variable_shape = self.add_shape(words, 3, NONE, 0)
        self.shape_outcomes.data[self.variable_shape] = <uint32_t> self.outcomes.n
        # One item, the mark, and the skeleton of a row that has no other item.
        for word in (0, 1, 0, 0, skeleton, 1, self.rules.mark, 0, 0):
            words_push(&self.outcomes, word)
        return 0

    cdef uint32_t base_shape(self, uint32_t i) except? 0xFFFFFFFF nogil:
        cdef uint32_t words[2]
        cdef uint32_t shape
        words[0] = NONE - 1
        words[1] = i
        shape = self.add_shape(words, 2, NONE, 0)
        self.shape_outcomes.data[shape] = self.nothing
        return shape

    cdef uint32_t skeleton(self, const uint32_t* words, size_t n) except? 0xFFFFFFFF nogil:
        cdef uint32_t before = self.skeletons.n, entry
        reserve(<void**> &self.closures, &self.closures_capacity, before + 1, sizeof(Closure*))
        entry = self.skeletons.intern(words, n)
        if entry == before:
            self.closures[entry] = NULL
        return entry

    cdef uint32_t add_shape(self, const uint32_t* words, size_t n, uint32_t skeleton, uint32_t j) except? 0xFFFFFFFF nogil:
        cdef uint32_t before = self.shapes.n, entry
        # First the parallel arrays grow: every entry must have its place in them.
        reserve(<void**> &self.shape_origins.data, &self.shape_origins.capacity, 2 * (<size_t> before + 1), sizeof(uint32_t))
        reserve(<void**> &self.shape_outcomes.data, &self.shape_outcomes.capacity, before + 1, sizeof(uint32_t))
        entry = self.shapes.intern(words, n)
        if entry == before:
            self.shape_origins.data[2 * entry] = skeleton
            self.shape_origins.data[2 * entry + 1] = j
            self.shape_outcomes.data[entry] = NONE
        return entry

    # ---- prediction ---------------------------------------------------------------------------------------------

    cdef Closure* closure(self, uint32_t skeleton) except NULL nogil:
        if self.closures[skeleton] == NULL:
            self.closures[skeleton] = self.predict(skeleton)
            self.n_closures += 1
        return self.closures[skeleton]

    cdef Closure* predict(self, uint32_t skeleton) except NULL nogil:
        cdef const uint32_t* kernel = sequence(self.skeletons, skeleton) + 1
        cdef uint32_t n_kernel = <uint32_t> ((sequence_length(self.skeletons, skeleton) - 1) // 2)
        cdef uint32_t q, j, symbol, production, dot
        cdef size_t closure_bytes = self.closure_bytes
        cdef Closure* closure
        self.look()
        self.lexer.regexes.meter.derivations = self.lexer.regexes.meter.most_derivations
        self.epoch += 1
        self.raw_waiters.n = self.raw_scans.n = self.predicted.n = 0
        for q in range(n_kernel):
            self.see(kernel[2 * q], q)
        j = 0
        while j < self.predicted.n:
            symbol = self.predicted.data[j]
            if self.rules.symbols[symbol].kind == S_LAZY:
                self.rules.expand(symbol)
            production = self.rules.symbols[symbol].first
            while production != NONE:
                dot = self.rules.productions[production].start
                while self.rules.dots.data[dot] != NONE:
                    self.see(dot, NEW | j)
                    if not self.rules.symbols[self.rules.dots.data[dot]].nullable:
                        break
                    dot += 1
                production = self.rules.productions[production].next
            j += 1
        closure = self.allocate(n_kernel)
        closure.start_state = NONE
        try:
            self.lay_out(closure, kernel)
            closure.start_state = self.first_state(closure)
        finally:
            if closure.start_state == NONE:             # an error is on its way
                free(closure)
                self.closure_bytes = closure_bytes
        return closure

    cdef int see(self, uint32_t dot, uint32_t source) except -1 nogil:
        """Note an item as one that scans the symbol after its dot, or waits for it."""
        cdef uint32_t symbol = self.rules.dots.data[dot]
        cdef size_t known = self.marks_epoch_capacity
        spend_steps(self.lexer.regexes.meter, 1)
        if self.rules.symbols[symbol].kind in (S_TERMINAL, S_SPECIAL):
            words_push(&self.raw_scans, symbol)
            words_push(&self.raw_scans, dot + 1)
            words_push(&self.raw_scans, source)
            return 0
        if symbol >= known:
            reserve(<void**> &self.marks, &self.marks_capacity, self.rules.n_symbols, sizeof(uint32_t))
            reserve(<void**> &self.marks_epoch, &self.marks_epoch_capacity, self.rules.n_symbols, sizeof(uint32_t))
            memset(self.marks_epoch + known, 0, (self.marks_epoch_capacity - known) * sizeof(uint32_t))
        if self.marks_epoch[symbol] != self.epoch:
            self.marks_epoch[symbol] = self.epoch
            self.marks[symbol] = <uint32_t> self.predicted.n
            words_push(&self.predicted, symbol)
        words_push(&self.raw_waiters, self.marks[symbol])
        words_push(&self.raw_waiters, dot)
        words_push(&self.raw_waiters, source)
        return 0

    cdef Closure* allocate(self, uint32_t n_kernel) except NULL nogil:
        """Allocate a closure for the items seen, in one block of memory."""
        cdef size_t n_predicted = self.predicted.n, n_waiters = self.raw_waiters.n // 3, n_scans = self.raw_scans.n // 3
        cdef size_t n_reach = (n_kernel + 31) // 32
        cdef size_t size = (sizeof(Closure) + n_waiters * sizeof(Item) + n_scans * sizeof(Scan)
                            + (n_predicted * (3 + n_reach) + 1) * sizeof(uint32_t))
        if exceeds(self.n_learned_bytes() + size, self.lexer.regexes.meter.most_grammar_bytes):
            with gil:
                self.lexer.regexes.meter.exceeded("grammar_bytes", "what may come next takes more memory")
        cdef char* block = <char*> malloc(size)
        if block == NULL:
            with gil:
                raise MemoryError(f"{size} bytes for a row's prediction")
        cdef Closure* closure = <Closure*> block
        memset(block, 0, size)
        closure.n_predicted = <uint32_t> n_predicted
        closure.n_waiters = <uint32_t> n_waiters
        closure.n_scans = <uint32_t> n_scans
        closure.n_reach = <uint32_t> n_reach
        block += sizeof(Closure)
        closure.waiters = <Item*> block
        block += n_waiters * sizeof(Item)
        closure.scans = <Scan*> block
        block += n_scans * sizeof(Scan)
        closure.symbols = <uint32_t*> block
        closure.refs = closure.symbols + n_predicted
        closure.waiters_starts = closure.refs + n_predicted
        closure.reach = closure.waiters_starts + n_predicted + 1
        self.closure_bytes += size
        return closure

    cdef int lay_out(self, Closure* closure, const uint32_t* kernel) except -1 nogil:
        cdef uint32_t i, j, k, source, end = closure.n_predicted
        cdef uint32_t* raw = self.raw_waiters.data
        cdef uint32_t* starts = closure.waiters_starts
        cdef uint32_t* reach
        cdef uint32_t* from_
        cdef uint32_t added
        cdef bint changed
        memcpy(closure.symbols, self.predicted.data, end * sizeof(uint32_t))
        # Group the waiters by j, with a counting sort; for now their ref is the source.
        for i in range(closure.n_waiters):
            starts[raw[3 * i] + 1] += 1
        for j in range(end):
            starts[j + 1] += starts[j]
        for i in range(closure.n_waiters, 0, -1):
            j = raw[3 * (i - 1)]
            starts[j + 1] -= 1
            closure.waiters[starts[j + 1]] = Item(raw[3 * (i - 1) + 1], raw[3 * (i - 1) + 2])
        # Now each starts[j + 1] is the start of group j: move them by one.
        for j in range(end):
            starts[j] = starts[j + 1]
        starts[end] = closure.n_waiters

        # reach[j]: a least fixpoint over "predicted from"
        changed = True
        while changed:
            changed = False
            for j in range(end):
                reach = closure.reach + j * closure.n_reach
                spend_steps(self.lexer.regexes.meter, 1 + (starts[j + 1] - starts[j]) * (1 + closure.n_reach // 4))
                for i in range(starts[j], starts[j + 1]):
                    source = closure.waiters[i].ref
                    if source < NEW:
                        if not bits_have(reach, source):
                            bits_add(reach, source)
                            changed = True
                        continue
                    from_ = closure.reach + (source ^ NEW) * closure.n_reach
                    for k in range(closure.n_reach):
                        added = from_[k] & ~reach[k]
                        if added:
                            reach[k] |= added
                            changed = True

        # Tail calls. `find` follows chains of them. In `a: a | b`, the `a` that waits for `a` itself does not count.
        for j in range(end):
            closure.refs[j] = NEW | j
        changed = True
        while changed:
            changed = False
            for j in range(end):
                spend_steps(self.lexer.regexes.meter, 4)
                if closure.refs[j] == NEW | j:
                    source = self.tail_call(closure, kernel, j)
                    if source != NONE:
                        closure.refs[j] = source
                        changed = True
        for j in range(end):
            closure.refs[j] = find(closure, NEW | j)
        for i in range(closure.n_waiters):
            closure.waiters[i].ref = self.ref_of(closure, kernel, closure.waiters[i].ref)

        # Sort the scans by symbol.
        raw = self.raw_scans.data
        reserve(<void**> &self.keys, &self.keys_capacity, closure.n_scans, sizeof(uint64_t))
        for i in range(closure.n_scans):
            self.keys[i] = (<uint64_t> raw[3 * i] << 32) | i
        sort_u64(self.keys, closure.n_scans)
        for i in range(closure.n_scans):
            k = 3 * <uint32_t> self.keys[i]
            closure.scans[i] = Scan(raw[k], raw[k + 1], self.ref_of(closure, kernel, raw[k + 2]))
        return 0

    cdef inline uint32_t ref_of(self, const Closure* closure, const uint32_t* kernel, uint32_t source) noexcept nogil:
        return kernel[2 * source + 1] if source < NEW else find(closure, source)

    cdef uint32_t tail_call(self, const Closure* closure, const uint32_t* kernel, uint32_t j) noexcept nogil:
        """Return the ref that symbol j gets by a tail call: the one that all items waiting for it share, if completing
        the symbol completes each of them. Otherwise return NONE."""
        cdef uint32_t i, ref, common = NONE
        for i in range(closure.waiters_starts[j], closure.waiters_starts[j + 1]):
            if self.rules.dots.data[closure.waiters[i].dot + 1] != NONE:
                return NONE
            ref = self.ref_of(closure, kernel, closure.waiters[i].ref)
            if ref == NEW | j:
                continue
            if common != NONE and ref != common:
                return NONE
            common = ref
        return common

    cdef uint32_t first_state(self, const Closure* closure) except? 0xFFFFFFFF nogil:
        """Return the lexer state of all terminals that may begin here, ignored ones included."""
        cdef uint32_t i, symbol
        self.agenda.n = self.words.n = 0
        for i in range(closure.n_scans):
            symbol = closure.scans[i].symbol
            if self.rules.symbols[symbol].kind == S_TERMINAL and not self.rules.symbols[symbol].ignored:
                if self.agenda.n == 0 or self.agenda.data[self.agenda.n - 1] != symbol:
                    words_push(&self.agenda, symbol)
        words_extend(&self.agenda, self.rules.ignored.data, self.rules.ignored.n)
        sort_words(self.agenda.data, self.agenda.n)
        for i in range(self.agenda.n):
            symbol = self.agenda.data[i]
            words_push(&self.words, symbol)
            words_push(&self.words, self.rules.symbols[symbol].node)
        return self.lexer.state(self.words.data, self.words.n)

    # ---- outcomes -----------------------------------------------------------------------------------------------

    cdef uint32_t scan(self, uint32_t skeleton, uint32_t symbol) except? 0xFFFFFFFE nogil:
        cdef uint64_t key = (<uint64_t> skeleton << 32) | symbol
        cdef uint32_t outcome = self.transitions.get(key)
        cdef Closure* closure
        if outcome != NONE:
            return outcome
        closure = self.closure(skeleton)
        if self.gather_scans(closure, symbol) == 0:
            return NONE
        self.renamed.n = 0
        outcome = self.work_out(closure, skeleton)
        self.transitions.put(key, outcome)
        return outcome

    cdef bint scans(self, uint32_t skeleton, uint32_t symbol) except -1 nogil:
        return self.gather_scans(self.closure(skeleton), symbol) != 0

    cdef uint32_t completed_by(self, uint32_t skeleton, uint32_t symbol) except? 0xFFFFFFFE nogil:
        if self.gather_scans(self.closure(skeleton), symbol) != 1 or self.rules.dots.data[self.agenda.data[0]] != NONE:
            return NONE
        return self.agenda.data[1]

    cdef uint32_t scan_followed(self, uint32_t skeleton, uint32_t symbol, uint32_t dot) except? 0xFFFFFFFE nogil:
        cdef Closure* closure = self.closure(skeleton)
        cdef size_t i
        if self.gather_scans(closure, symbol) == 0:
            return NONE
        for i in range(0, self.agenda.n, 2):
            self.agenda.data[i] = dot
        self.renamed.n = 0
        return self.work_out(closure, skeleton)

    cdef uint32_t gather_scans(self, const Closure* closure, uint32_t symbol) except? 0xFFFFFFFF nogil:
        """Fill the agenda with the items to which scanning `symbol` leads; return how many they are."""
        cdef size_t low = 0, high = closure.n_scans, middle
        while low < high:
            middle = (low + high) // 2
            if closure.scans[middle].symbol < symbol:
                low = middle + 1
            else:
                high = middle
        self.agenda.n = 0
        while low < closure.n_scans and closure.scans[low].symbol == symbol:
            words_push(&self.agenda, closure.scans[low].dot)
            words_push(&self.agenda, closure.scans[low].ref)
            low += 1
        return <uint32_t> self.agenda.n // 2

    cdef uint32_t pop(self, uint32_t shape) except? 0xFFFFFFFF nogil:
        cdef uint32_t skeleton, j, w, word, i, ref
        cdef Closure* closure
        cdef const uint32_t* kernel
        if self.shape_outcomes.data[shape] != NONE:
            return self.shape_outcomes.data[shape]
        skeleton = self.shape_origins.data[2 * shape]
        j = self.shape_origins.data[2 * shape + 1]
        closure = self.closure(skeleton)
        # A continuation continues with the continuations of the kernel items from which it was made, in order of
        # appearance.
        kernel = sequence(self.skeletons, skeleton) + 1
        self.renamed.n = 0
        for w in range(closure.n_reach):
            word = closure.reach[j * closure.n_reach + w]
            while word:
                self.rename(kernel[2 * (32 * w + lowest_bit(word)) + 1])
                word &= word - 1
        self.agenda.n = 0
        for i in range(closure.waiters_starts[j], closure.waiters_starts[j + 1]):
            words_push(&self.agenda, closure.waiters[i].dot + 1)
            words_push(&self.agenda, closure.waiters[i].ref)
        if self.renamed.n == 0:
            words_push(&self.renamed, NONE)         # means "renamed", even if there is nothing to rename
        ref = self.work_out(closure, skeleton)
        self.shape_outcomes.data[shape] = ref
        return ref

    cdef uint32_t rename(self, uint32_t ref) except? 0xFFFFFFFF nogil:
        """Return the position of `ref` in `renamed`, where it is entered if it is new."""
        cdef uint32_t i = self.found(&self.renamed, ref)
        if i == self.renamed.n:
            words_push(&self.renamed, ref)
        return i

    cdef uint32_t found(self, const Words* words, uint32_t word) except? 0xFFFFFFFF nogil:
        """Return the index of the word; if it is not there, the number of words. The steps count."""
        spend_steps(self.lexer.regexes.meter, 1 + words.n // 8)
        return index_of(words, word)

    cdef uint32_t work_out(self, Closure* closure, uint32_t skeleton) except? 0xFFFFFFFF nogil:
        """Return the outcome of the items on the agenda. If `renamed` is not empty, refs are indexes into it (see
        `pop`).

        A shape's outcome can come from any skeleton that has made the shape: what waits for its symbol, and with which
        refs, depends only on the kernel items that lead to the symbol, and these are the shape.
        """
        cdef uint32_t dot, ref, symbol, i, j, n_items, next_skeleton = NONE
        cdef size_t base, at
        cdef bint distinct = True
        cdef uint64_t key
        self.look()
        self.completed.n = self.pops.n = self.recipes.n = 0
        self.n_keys = 0
        self.seen_epoch += 1
        if self.seen.n > MAX_SEEN:
            self.seen.clear()
        while self.agenda.n:
            self.agenda.n -= 2
            dot = self.agenda.data[self.agenda.n]
            ref = self.agenda.data[self.agenda.n + 1]
            symbol = self.rules.dots.data[dot]
            spend_steps(self.lexer.regexes.meter, 2 + self.completed.n // 8)
            if symbol != NONE:
                if exceeds(self.n_keys, self.lexer.regexes.meter.most_row_items):
                    with gil:
                        self.lexer.regexes.meter.exceeded("row_items", "a row of the parser has more items")
                key = (<uint64_t> dot << 32) | ref
                if self.seen.get(key) == self.seen_epoch:
                    continue
                self.seen.put(key, self.seen_epoch)
                reserve(<void**> &self.keys, &self.keys_capacity, self.n_keys + 1, sizeof(uint64_t))
                self.keys[self.n_keys] = key
                self.n_keys += 1
                if self.rules.symbols[symbol].nullable:
                    words_push(&self.agenda, dot + 1)
                    words_push(&self.agenda, ref)
            elif contains(&self.completed, ref):
                continue
            else:
                words_push(&self.completed, ref)
                if ref < NEW:
                    words_push(&self.pops, ref if self.renamed.n == 0 else self.rename(ref))
                    continue
                j = ref ^ NEW
                for i in range(closure.waiters_starts[j], closure.waiters_starts[j + 1]):
                    words_push(&self.agenda, closure.waiters[i].dot + 1)
                    words_push(&self.agenda, closure.waiters[i].ref)
        sort_u64(self.keys, self.n_keys)
        n_items = 0
        for i in range(self.n_keys):
            if n_items == 0 or self.keys[n_items - 1] != self.keys[i]:
                if n_items and self.keys[n_items - 1] >> 32 == self.keys[i] >> 32:
                    distinct = False
                self.keys[n_items] = self.keys[i]
                n_items += 1
        sort_words(self.pops.data, self.pops.n)

        # Refs to continuations that this closure makes become recipes, numbered as they appear.
        self.predicted.n = 0
        for i in range(n_items):
            ref = <uint32_t> self.keys[i]
            if ref >= NEW:
                j = self.found(&self.predicted, ref)
                if j == self.predicted.n:
                    words_push(&self.predicted, ref)
                    self.add_recipe(closure, skeleton, ref ^ NEW)
                ref = NEW | j
            elif self.renamed.n:
                ref = self.rename(ref)
            self.keys[i] = (self.keys[i] >> 32 << 32) | ref

        # The next skeleton, if it depends on nothing else.
        self.completed.n = 0
        if self.pops.n == 0 and distinct:
            self.words.n = 0
            words_push(&self.words, 0)
            for i in range(n_items):
                ref = <uint32_t> self.keys[i]
                j = self.found(&self.completed, ref)
                if j == self.completed.n:
                    words_push(&self.completed, ref)
                words_push(&self.words, <uint32_t> (self.keys[i] >> 32))
                words_push(&self.words, j)
            next_skeleton = self.skeleton(self.words.data, self.words.n)

        base = self.outcomes.n
        self.words.n = 0
        words_push(&self.words, 0)
        words_push(&self.words, n_items)
        words_push(&self.words, <uint32_t> self.pops.n)
        words_push(&self.words, <uint32_t> self.predicted.n)
        words_push(&self.words, next_skeleton)
        words_push(&self.words, <uint32_t> self.completed.n)
        for i in range(n_items):
            words_push(&self.words, <uint32_t> (self.keys[i] >> 32))
            words_push(&self.words, <uint32_t> self.keys[i])
        words_extend(&self.words, self.pops.data, self.pops.n)
        words_extend(&self.words, self.completed.data, self.completed.n)
        words_extend(&self.words, self.recipes.data, self.recipes.n)
        words_extend(&self.outcomes, self.words.data, self.words.n)
        self.n_outcomes += 1
        return <uint32_t> base

    cdef int add_recipe(self, const Closure* closure, uint32_t skeleton, uint32_t j) except -1 nogil:
        """Append shape, number of continuations and these continuations to `recipes`."""
        cdef const uint32_t* kernel = sequence(self.skeletons, skeleton) + 1
        cdef uint32_t w, word, i, local, shape
        self.completed.n = 0
        self.words.n = 0
        words_push(&self.words, closure.symbols[j])
        spend_steps(self.lexer.regexes.meter, 1 + closure.n_reach // 4)
        for w in range(closure.n_reach):
            word = closure.reach[j * closure.n_reach + w]
            while word:
                i = 32 * w + lowest_bit(word)
                word &= word - 1
                local = self.found(&self.completed, kernel[2 * i + 1])
                if local == self.completed.n:
                    words_push(&self.completed, kernel[2 * i + 1])
                words_push(&self.words, kernel[2 * i])
                words_push(&self.words, local)
        shape = self.add_shape(self.words.data, self.words.n, skeleton, j)
        words_push(&self.recipes, shape)
        words_push(&self.recipes, <uint32_t> self.completed.n)
        for i in range(self.completed.n):
            local = self.completed.data[i]
            words_push(&self.recipes, local if self.renamed.n == 0 else self.rename(local))
        return 0

    cdef size_t n_bytes(self) noexcept nogil:
        return (self.skeletons.n_bytes() + self.shapes.n_bytes() + self.transitions.n_bytes() + self.closure_bytes
                + (self.outcomes.n + self.shape_origins.n + self.shape_outcomes.n) * sizeof(uint32_t))

    cdef size_t n_learned_bytes(self) noexcept nogil:
        return self.n_bytes() + self.lexer.n_bytes() + self.lexer.regexes.n_bytes()

    cdef int look(self) except -1 nogil:
        self.lexer.regexes.meter.skeleton_bytes = self.n_bytes()
        if exceeds(self.n_learned_bytes(), self.lexer.regexes.meter.most_grammar_bytes):
            with gil:
                self.lexer.regexes.meter.exceeded("grammar_bytes", "the rows of the parser take more memory")
        return 0

    cdef void mark(self, uint8_t* skeletons, const uint8_t* shapes) noexcept nogil:
        """Mark the skeletons in which the marked shapes are found, and those that exist from the beginning."""
        cdef size_t i
        for i in range(self.n_base_skeletons):
            skeletons[i] = 1
        for i in range(self.shapes.n):
            if shapes[i] and self.shape_origins.data[2 * i] != NONE:
                skeletons[self.shape_origins.data[2 * i]] = 1

    cdef int collect(self, const uint8_t* skeletons, uint32_t* skeleton_map, const uint8_t* shapes,
                     uint32_t* shape_map) noexcept nogil:
        cdef size_t i, n = self.shapes.n
        for i in range(self.skeletons.n):
            free(self.closures[i])
            self.closures[i] = NULL
        keep_marked(self.skeletons, skeletons, skeleton_map)
        trim(self.skeletons)
        keep_marked(self.shapes, shapes, shape_map)
        trim(self.shapes)
        for i in range(n):
            if shapes[i]:
                # SAFETY: entries only move down.
                self.shape_outcomes.data[shape_map[i]] = self.shape_outcomes.data[i] if i < self.n_base_shapes else NONE
                self.shape_origins.data[2 * shape_map[i] + 1] = self.shape_origins.data[2 * i + 1]
                self.shape_origins.data[2 * shape_map[i]] = self.shape_origins.data[2 * i]
                if self.shape_origins.data[2 * i] != NONE:
                    self.shape_origins.data[2 * shape_map[i]] = skeleton_map[self.shape_origins.data[2 * i]]
        self.transitions.clear()
        self.outcomes.n = self.n_base_outcomes
        self.closure_bytes = self.n_closures = self.n_outcomes = 0
        self.lexer.regexes.meter.skeleton_bytes = self.n_bytes()
        return 0


cdef inline uint32_t find(const Closure* closure, uint32_t ref) noexcept nogil:
    while ref >= NEW and closure.refs[ref ^ NEW] != ref:
        ref = closure.refs[ref ^ NEW]
    return ref


cdef inline uint32_t index_of(const Words* words, uint32_t word) noexcept nogil:
    cdef uint32_t i
    for i in range(words.n):
        if words.data[i] == word:
            return i
    return <uint32_t> words.n


cdef inline bint contains(const Words* words, uint32_t word) noexcept nogil:
    return index_of(words, word) < words.n
