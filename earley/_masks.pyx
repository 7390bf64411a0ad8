"""The mask of a position, as the union of remembered answers; and how much is remembered.

What a row allows is free of its stack, and known as an answer (`_answers`) with a list of pops: the continuations that may be
complete, and the places from where on the rows behind them are to be asked. A mask is the union of the answers of a
position's rows and of all rows that the pops lead to, through the continuations of a chart. Unions are interned too, each
with its mask, and charts remember the mask of each position.

What is remembered is bounded for each vocabulary, over all grammars. Over the bound, whole grammars forget theirs, the least
recently used first.

All functions need the engine's lock. Masks are freed only by `flush`, which needs the GIL as well: whoever holds the GIL may
read the masks that a chart remembers without any lock.
"""

import weakref

from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from earleymask.earley._answers cimport AT_ROOT, FEW, Answer, pop_number, pop_places
from earleymask.earley._chart cimport DEAD, continuation_at, n_pairs_at, pair_row, pair_state, skeleton_of
from earleymask.earley._keys cimport Keys
from earleymask.earley._parts cimport Parts
from earleymask.earley._tables cimport (
    NONE, copy_of, reserve, sort_unique, words_extend, words_free, words_push,
)
from earleymask.earley._token_ids cimport has_id
from earleymask.trie._bitmask cimport mask_allow, mask_allows, mask_refuse
from earleymask.trie._memory cimport calloc, malloc

from earleymask.earley import _answers

cdef enum:
    EXTRA = 0x80000000          # among the answers of a union: a token that no answer knows
    EXTRA_SET = 0xC0000000      # ... a set of them
    TEMPLATE_WORDS = 1 << 20    # rows, continuations and positions of the template

# Bytes remembered for one vocabulary: parts, and the answers and masks of all grammars.
cdef size_t MEMORY = 64 << 20


cdef class Masks:
    """The masks of one grammar over one vocabulary."""

    def __cinit__(self, Engine engine not None, TokenTrie trie not None):
        self.engine = weakref.ref(engine)
        self.trie = trie
        self.unions = Sequences("unions of answers")
        self.answers = Answers(engine, trie)
        self.answers.parts.limit = MEMORY
        self.scratch = <uint32_t*> malloc((<size_t> trie.n_words + 1) * sizeof(uint32_t))
        if self.scratch == NULL:
            raise MemoryError("masks")
        self.generation = 1
        self.answers.parts.add_user(self)

    def __dealloc__(self):
        self.free_masks()
        free(self.scratch)
        free(self.masks)
        words_free(&self.ids)
        words_free(&self.tokens)
        words_free(&self.extras)
        words_free(&self.extra_sets)

    cdef void free_masks(self) noexcept:
        cdef size_t i
        if self.unions is not None:
            for i in range(self.unions.n):
                if self.masks[i] != NULL:
                    free(self.masks[i].tokens)
                    free(self.masks[i])

    # ---- memory -------------------------------------------------------------------------------------------------

    cdef int tidy(self) except -1:
        cdef Parts parts = self.answers.parts
        cdef uint64_t n_asked = self.answers.n_asked + self.n_unions_made
        parts.clock += 1
        self.last_used = parts.clock
        if parts is not self.trie.learned:              # they were dropped while we were at work
            self.flush()
        # PERF: what is kept is added up only where a mask has asked something since. With every call it was 300 instructions.
        if n_asked == self.n_looked:
            return 0
        self.n_looked = n_asked
        if self.answers.template.n_words() > TEMPLATE_WORDS:
            self.answers.template.clear()
        if self.kept() > self.n_trimmed + MEMORY // 64:
            self.trim()
        return 0

    cdef int trim(self) except -1:
        """Frees what was used least recently, where all that is remembered for the vocabulary is over the limit.

        First the answers and masks of other grammars, then our own, then, if these take half of it, the parts. A grammar
        that a call is at work on is left alone; should it use parts that were dropped, it lets go of them next time.
        """
        cdef Masks other
        cdef Parts parts = self.answers.parts
        users = sorted(parts.living_users(), key=last_used_of)
        total = parts.n_bytes() + sum([user.__sizeof__() for user in users])
        for other in users:
            if total <= MEMORY:
                break
            if other is not self:
                total -= other.__sizeof__()
                other.forget()
                total += other.__sizeof__()
        if total > MEMORY:
            self.flush()
            if parts.n_bytes() > MEMORY // 2:
                self.trie.learned = Parts(self.trie, before=parts)
                for other in users:
                    if other is self:
                        other.flush()
                    else:
                        other.forget()
        self.n_trimmed = self.kept()
        return 0

    cdef int forget(self) except -1:
        """`flush` for others, unless a call is at work."""
        cdef Engine engine = self.engine()
        if engine is not None and engine.try_acquire():
            try:
                self.flush()
            finally:
                engine.release()
        return 0

    cdef int flush(self) except -1:
        """Forgets all answers and masks, and parts that were dropped."""
        # All that is new is made before anything is replaced: without memory for it, all stays as it was.
        cdef Answers answers = Answers(self.engine(), self.trie, self.answers)
        cdef Sequences unions = Sequences("unions of answers")
        answers.parts.limit = MEMORY
        self.generation += 1                            # first: charts remember pointers
        self.free_masks()
        self.unions = unions
        self.answers = answers
        self.mask_bytes = self.n_trimmed = 0
        self.n_flushes += 1
        return 0

    cdef size_t kept(self) noexcept:
        """Bytes of all that masks of this grammar stand on."""
        return self.n_bytes() + self.answers.parts.n_bytes()

    cdef size_t n_bytes(self) noexcept:
        return self.mask_bytes + self.unions.n_bytes() + self.answers.n_bytes()

    # ---- masks --------------------------------------------------------------------------------------------------

    cdef Mask* mask(self, Chart chart, uint32_t position) except NULL nogil:
        """The mask of a position, with the tokens in `extras` and `extra_sets`: always the same for the same position."""
        cdef Mask* mask
        cdef size_t i
        cdef uint32_t row, state, answer
        if chart.mask_generation != self.generation:
            chart.mask_generation = self.generation
            chart.n_mask_of = 0
        if position < chart.n_mask_of and chart.mask_of[position] != NULL:
            return chart.mask_of[position]
        self.ids.n = 0
        for i in range(self.extras.n):
            words_push(&self.ids, EXTRA | self.extras.data[i])
        for i in range(self.extra_sets.n):
            words_push(&self.ids, EXTRA_SET | self.extra_sets.data[i])
        self.answers.begin()
        for i in range(n_pairs_at(chart, position)):
            row = pair_row(chart, position, i)
            state = pair_state(chart, position, i)
            if self.answers.rules.has_followed:
                state = self.answers.lexer.without_memory(state)
            answer = self.answers.evaluate(skeleton_of(chart, row), state, AT_ROOT)
            self.gather(chart, row, answer)
        mask = self.union_of()
        if self.answers.rules.has_followed:
            mask = self.look_through(chart, position, mask)
        chart.remember_mask(position, mask)
        return mask

    cdef Mask* look_through(self, Chart chart, uint32_t position, Mask* mask) except NULL nogil:
        """The mask without those of the doubtful tokens that the rows of the chart refuse, see `_doubtful`."""
        cdef size_t i
        self.find_refused(chart, position, mask)
        if self.tokens.n == 0:
            return mask
        memset(self.scratch, 0, self.trie.n_words * sizeof(uint32_t))
        if mask.bits != NULL:
            memcpy(self.scratch, mask.bits, self.trie.n_words * sizeof(uint32_t))
        for i in range(mask.n_tokens):
            mask_allow(self.scratch, mask.tokens[i])
        self.clear_refused(self.scratch)
        return self.lone_mask(self.scratch)

    cdef int look_through_words(self, Chart chart, uint32_t position, uint32_t* words) except -1 nogil:
        """The same for the words of a mask in which no extras are yet."""
        cdef Mask mask
        mask.bits, mask.tokens, mask.n_tokens = words, NULL, 0
        self.find_refused(chart, position, &mask)
        self.clear_refused(words)
        return 0

    cdef int find_refused(self, Chart chart, uint32_t position, const Mask* mask) except -1 nogil:
        """`tokens` becomes the doubtful ones in the mask that the rows refuse."""
        cdef const Words* doubtful
        cdef uint32_t token
        cdef size_t i
        cdef bint begun = False
        if self.doubtful is None:
            with gil:
                self.find_doubtful()
        for i in range(n_pairs_at(chart, position)):
            begun |= self.answers.lexer.has_read(pair_state(chart, position, i))
        doubtful = &self.doubtful.inside if begun else &self.doubtful.outside
        self.tokens.n = 0
        for i in range(doubtful.n):
            token = doubtful.data[i]
            if allows(mask, token) and not self.is_extra(token) and not self.leads_on(chart, position, token):
                words_push(&self.tokens, token)
        return 0

    cdef void clear_refused(self, uint32_t* words) noexcept nogil:
        cdef size_t i
        for i in range(self.tokens.n):
            mask_refuse(words, self.tokens.data[i])

    cdef int find_doubtful(self) except -1:
        cdef Engine engine = self.engine()
        cdef Keys keys
        if engine.doubtful is None:
            raise ValueError("a grammar with followed terminals says which tokens are doubtful (Engine.set_doubtful)")
        inside, outside = engine.doubtful()
        keys = Keys(self.answers.regexes)
        key = (keys.key(inside), keys.key(outside))
        self.doubtful = self.answers.parts.doubtful.get(key)
        if self.doubtful is None:
            self.doubtful = self.answers.parts.doubtful[key] = Doubtful(self.trie, self.answers.regexes, inside, outside)
        return 0

    cdef bint is_extra(self, uint32_t token) noexcept nogil:
        """Whether the grammar takes the token by its id here, whatever its bytes."""
        cdef size_t i
        for i in range(self.extras.n):
            if self.extras.data[i] == token:
                return True
        for i in range(self.extra_sets.n):
            if has_id(self.token_ids, self.extra_sets.data[i], token):
                return True
        return False

    cdef bint leads_on(self, Chart chart, uint32_t position, uint32_t token) except? -1 nogil:
        cdef uint32_t i
        for i in range(self.trie.token_offsets[token], self.trie.token_offsets[token + 1]):
            position = chart.advance(position, self.trie.token_buffer[i])
            if position == DEAD:
                return False
        return True

    cdef Mask* remember(self, Chart chart, uint32_t position, const uint32_t* words) except NULL nogil:
        """A mask that was made by the merged walk, extras included."""
        cdef Mask* mask
        self.n_fallbacks += 1
        mask = self.lone_mask(words)
        chart.mask_generation = self.generation
        chart.remember_mask(position, mask)
        return mask

    cdef Mask* lone_mask(self, const uint32_t* words) except NULL nogil:
        """A mask that is no union of answers."""
        cdef uint32_t* bits = self.answers.bitmaps.intern(words)
        cdef Mask* mask
        self.n_lone += 1
        self.ids.n = 0
        words_push(&self.ids, NONE)
        words_push(&self.ids, self.n_lone)
        mask = self.new_union()
        mask.bits = bits
        return mask

    cdef int gather(self, Chart chart, uint32_t row, uint32_t answer) except -1 nogil:
        """Notes an answer about a row of the chart, and those of the rows that it leads back to."""
        cdef uint32_t i, continuation, places, popped, other
        cdef Answer entry = self.answers.entries[answer]        # a copy: new answers may move the others
        words_push(&self.ids, answer)
        for i in range(entry.n_pops):
            continuation = continuation_at(chart, row, pop_number(self.answers, &entry, i))
            places = pop_places(self.answers, &entry, i)
            if self.answers.is_visited(continuation, places):
                continue
            popped = chart.popped_row(continuation)
            other = self.answers.at_start(skeleton_of(chart, popped), places)
            if other != NONE:
                self.gather(chart, popped, other)
        return 0

    cdef Mask* union_of(self) except NULL nogil:
        """The mask of the answers in `ids`."""
        cdef size_t i, n, total = 0
        cdef uint32_t known
        cdef Answer* answer
        cdef Mask* mask
        cdef uint32_t* bits
        cdef uint32_t* tokens
        cdef bint dense = False
        sort_unique(&self.ids)
        n = self.ids.n
        known = self.unions.find(self.ids.data, n)
        if known != NONE:
            self.n_unions_known += 1
            return self.masks[known]
        n -= self.extras.n + self.extra_sets.n          # EXTRA is above all answers
        for i in range(n):
            answer = self.answers.entries + self.ids.data[i]
            total += answer.n_tokens
            dense |= answer.bits != NULL
        # The union is entered last: an error on the way must leave none without its mask.
        if dense or total > FEW or self.extra_sets.n:
            self.scratch_from_answers(n)
            bits = self.answers.bitmaps.intern(self.scratch)
            mask = self.new_union()
            mask.bits = bits
            return mask
        self.tokens.n = 0
        for i in range(n):
            answer = self.answers.entries + self.ids.data[i]
            words_extend(&self.tokens, self.answers.tokens.data + answer.tokens, answer.n_tokens)
        sort_unique(&self.tokens)                       # an answer may name a token twice
        total = self.tokens.n
        for i in range(self.trie.n_duplicates):
            if has_word(self.tokens.data, total, self.trie.duplicates[2 * i]):
                words_push(&self.tokens, self.trie.duplicates[2 * i + 1])
        words_extend(&self.tokens, self.extras.data, self.extras.n)
        tokens = <uint32_t*> copy_of(self.tokens.data, self.tokens.n * sizeof(uint32_t))
        try:
            mask = self.new_union()
            mask.n_tokens = <uint32_t> self.tokens.n
            mask.tokens = tokens
            tokens = NULL
        finally:
            free(tokens)
        self.mask_bytes += self.tokens.n * sizeof(uint32_t)
        return mask

    cdef Mask* new_union(self) except NULL nogil:
        """An empty mask for the answers in `ids`."""
        cdef uint32_t entry
        cdef Mask* mask
        reserve(<void**> &self.masks, &self.masks_capacity, <size_t> self.unions.n + 1, sizeof(Mask*))
        mask = <Mask*> calloc(1, sizeof(Mask))
        if mask == NULL:
            with gil:
                raise MemoryError("mask")
        entry = NONE
        try:
            entry = self.unions.intern(self.ids.data, self.ids.n)
            self.masks[entry] = mask
        finally:
            if entry == NONE:                           # an error is on its way
                free(mask)
        self.n_unions_made += 1
        self.mask_bytes += sizeof(Mask)
        return mask

    cdef void scratch_from_answers(self, size_t n) noexcept nogil:
        """`scratch` becomes the union of the first n answers in `ids`, and the extras."""
        cdef size_t i, w, n_words = self.trie.n_words
        cdef uint32_t k
        cdef const uint32_t* bits
        cdef uint32_t* scratch = self.scratch
        cdef Answer* answer
        cdef bint first = True
        for i in range(n):
            bits = self.answers.entries[self.ids.data[i]].bits
            if bits == NULL:
                continue
            if first:
                memcpy(scratch, bits, n_words * sizeof(uint32_t))
                first = False
            else:
                for w in range(n_words):
                    scratch[w] |= bits[w]
        if first:
            memset(scratch, 0, n_words * sizeof(uint32_t))
        for i in range(n):
            answer = self.answers.entries + self.ids.data[i]
            if answer.bits == NULL:
                for k in range(answer.n_tokens):
                    mask_allow(scratch, self.answers.tokens.data[answer.tokens + k])
        for k in range(self.trie.n_duplicates):
            if mask_allows(scratch, self.trie.duplicates[2 * k]):
                mask_allow(scratch, self.trie.duplicates[2 * k + 1])
        for i in range(self.extras.n):
            mask_allow(scratch, self.extras.data[i])
        for i in range(self.extra_sets.n):
            bits = self.token_ids.bits + self.extra_sets.data[i] * n_words
            for w in range(n_words):
                scratch[w] |= bits[w]

    def __sizeof__(self) -> int:
        """Bytes of what is remembered."""
        return self.n_bytes()

    def stats(self) -> dict[str, int]:
        return {
            **self.answers.stats(),
            "unions_known": self.n_unions_known,
            "unions_made": self.n_unions_made,
            "unions": self.unions.n,
            "mask_flushes": self.n_flushes,
            "mask_bytes": self.n_bytes(),
        }


cdef bint allows(const Mask* mask, uint32_t token) noexcept nogil:
    if mask.bits != NULL:
        return mask_allows(mask.bits, token)
    return has_word(mask.tokens, mask.n_tokens, token)


cdef bint has_word(const uint32_t* data, size_t n, uint32_t word) noexcept nogil:
    """Whether the word is among these, which ascend."""
    cdef size_t low = 0, high = n, middle
    while low < high:
        middle = (low + high) // 2
        if data[middle] < word:
            low = middle + 1
        else:
            high = middle
    return low < n and data[low] == word


def last_used_of(Masks masks) -> int:
    return masks.last_used


cdef Masks masks_of(Engine engine, TokenTrie trie):
    """The masks of a grammar over a vocabulary's trie, made on first use. Needs the engine's lock."""
    masks = engine.masks.get(trie)
    if masks is None:
        masks = engine.masks[trie] = Masks(engine, trie)
    return masks


def set_limits(*, memory=None, **others) -> dict[str, int]:
    """Changes the bounds of all masks made from now on, for tests (see `_answers.set_limits`); returns what they were."""
    global MEMORY
    before = {"memory": MEMORY, **_answers.set_limits(**others)}
    if memory is not None:
        MEMORY = memory
    return before
