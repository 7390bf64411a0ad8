"""The mask of a position as the union of remembered answers; and the bound on what is remembered.

An answer (`_answers`) says what a row allows, whatever its stack is. It has a list of pops: continuations that may be
complete, and the places about which the rows after them must be asked. A mask is the union of the answers of a
position's rows and of all rows to which the pops lead, through the continuations of a chart. Unions are interned, too,
each with its mask, and a chart remembers the mask of each position.

Answers know nothing of what lookaheads demand of the text after their lexeme (`_lexer`). If a grammar has demanding
terminals, a mask is made twice: with loose terminals, as if there were no lookaheads, and *modestly*, without any text
that demands something. The first mask may hold a token too many, but the second one may not. Tokens in which they
differ are few, and tried one by one on the rows of the chart (`without_refused`). At first the second mask also leaves out
tokens in which a name ends and something follows, because these take the most time and most vocabularies have few of them.
If very many tokens remain, as those with a blank after a name that demands something of a blank, one walk tries them all.

One bound for each vocabulary covers what all grammars over it remember. If it is exceeded, whole grammars drop their
answers and masks, the least recently used grammar first.

The same holds for terminals that commit: masks are made as if there were none, and the tokens that have a text of such a
terminal, or end one, are tried (`without_committed`).

All functions need the engine's lock. Only `flush` frees masks, and it needs the GIL as well: a thread that holds the
GIL may read the masks that a chart remembers without the lock, if the chart is still (`is_still`).
"""

import weakref

cimport cython

from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from earleymask.earley._answers cimport AT_ROOT, FEW, Answer, pop_number, pop_places
from earleymask.earley._atomic cimport add
from earleymask.earley._chart cimport DEAD, FINISHED, continuation_at, n_pairs_at, pair_row, pair_state, skeleton_of
from earleymask.earley._doubtful cimport Doubtful
from earleymask.earley._large cimport is_only_one
from earleymask.earley._lexer cimport DEAD_STATE, demand_at, n_accepted, next_state
from earleymask.earley._meter cimport let_others_run, turn_is_due
from earleymask.earley._parts cimport Parts, Users
from earleymask.earley._remains cimport free_some, remain
from earleymask.earley._tables cimport (
    NONE, copy_of, lowest_bit, reserve, sequence, sequence_length, sort_unique, words_extend, words_free,
    words_push,
)
from earleymask.earley._token_ids cimport has_id
from earleymask.trie._bitmask cimport mask_allow, mask_allows, mask_refuse
from earleymask.trie._build cimport DEBUG
from earleymask.trie._memory cimport calloc, malloc

from earleymask.earley import _answers
from earleymask.earley.errors import MatcherInUseError

cdef enum:
    EXTRA = 0x80000000          # added to an entry of `ids` that is no answer but a token in `extras`
    EXTRA_SET = 0xC0000000      # added to an entry of `ids` that is a set in `extra_sets`
    MANY = 16                   # more tokens than so many times MOST_TRIED are tried in one walk over the trie
    MOST_DUPLICATES = 64        # a vocabulary with more of them (tokens spelled alike) has its masks as bitmaps of their own
    MOST_EOS = 16               # masks for so many sets of EOS tokens are kept, and for those of living matchers
    MOST_TRIES = 4              # and those for so many vocabularies
    TEMPLATE_WORDS = 1 << 20    # the template is cleared when its rows, continuations and positions take more words

# Bytes that may be remembered for one vocabulary: parts, and the answers and masks of all grammars.
cdef size_t MEMORY = 64 << 20
# The most tokens that are tried because what lookaheads demand may refuse them, before the second mask is made with more
# effort (`Answers.stays`). A trial takes about a microsecond, the effort some milliseconds. Tokenizers rarely join words
# to what follows them: 9 tokens of Llama 3 have a name and white space after it.
cdef size_t MOST_TRIED = 3 if DEBUG else 1 << 10


@cython.no_gc_clear             # `__dealloc__` needs the users; the other members of a cycle can be cleared
cdef class Masks:
    """The masks of one grammar over one vocabulary."""

    def __cinit__(self, Engine engine not None, TokenTrie trie not None):
        self.the_engine = weakref.ref(engine)
        self.trie = trie
        self.unions = Sequences("unions of answers")
        self.answers = Answers(engine, trie)
        if engine.rules.has_demanding:
            self.modest = Answers(engine, trie, modest=True)
        self.users = self.answers.parts.users
        self.users.limit = limit_of(self.users)
        self.scratch = <uint32_t*> malloc((<size_t> trie.n_words + 1) * sizeof(uint32_t))
        if self.scratch == NULL:
            raise MemoryError("masks")
        self.doubtful = []
        self.committed = Sequences("tokens of terminals that commit")
        self.committed_of = Map()
        self.generation = 1
        self.n_bytes_at_first = self.n_bytes()
        self.users.clock += 1
        self.number = self.last_used = self.last_queued = self.users.clock
        self.users.masks[self.number] = weakref.ref(self)

    def __dealloc__(self):
        if self.users is not None and self.number:
            add(&self.users.n_bytes, 0 - self.n_noted)
            self.users.masks.pop(self.number, None)
        self.free_masks()
        free_some()
        free(self.scratch)
        free(self.masks)
        words_free(&self.ids)
        words_free(&self.tokens)
        words_free(&self.extras)
        words_free(&self.extra_sets)

    cdef void free_masks(self) noexcept:
        cdef size_t n = 0 if self.unions is None else self.unions.n
        if n < 1024:
            free_all(self.masks, n)
        else:
            with nogil:                                     # to free thousands takes milliseconds
                free_all(self.masks, n)

    # ---- memory -------------------------------------------------------------------------------------------------

    cdef int tidy(self) except -1:
        self.users.clock += 1
        self.last_used = self.users.clock
        if self.has_lost_parts():
            self.flush()
        if self.is_beyond_limit():
            self.trim()
        else:
            free_some()
        return self.free_scratch()

    cdef bint has_too_much(self) noexcept nogil:
        return self.has_lost_parts() or self.is_beyond_limit() or remain()

    cdef bint has_lost_parts(self) noexcept nogil:
        """Return whether another grammar has dropped the parts meanwhile."""
        return <void*> self.answers.parts != <void*> self.trie.learned

    cdef bint is_beyond_limit(self) noexcept nogil:
        # If much cannot be freed, for grammars are at work, it is not tried at every call.
        cdef size_t limit = limit_of(self.users)
        return self.users.n_all > max(limit, self.users.n_kept + limit // 64)

    cdef int free_scratch(self) except -1 nogil:
        cdef uint64_t n_asked = self.answers.n_asked + self.n_unions_made
        if n_asked == self.n_looked:
            return 0
        self.n_looked = n_asked
        self.answers.free_scratch()
        if self.modest is not None:
            self.modest.free_scratch()
        if self.answers.template.n_words() > TEMPLATE_WORDS:
            with gil:
                self.answers.template.clear()
        if self.modest is not None and self.modest.template.n_words() > TEMPLATE_WORDS:
            with gil:
                self.modest.template.clear()
        return 0

    cdef void note(self) noexcept nogil:
        """Let the users know how much this grammar remembers, beside empty tables, if a mask has asked something."""
        # PERF: at every call it took 300 instructions.
        cdef uint64_t n_asked = self.answers.n_asked + self.n_unions_made + (
            self.shortest.n_bytes() if self.shortest is not None else 0)
        cdef size_t n
        if n_asked == self.n_asked_noted:
            return
        self.n_asked_noted = n_asked
        n = self.n_bytes()
        n -= min(n, self.n_bytes_at_first)
        add(&self.users.n_bytes, n - self.n_noted)
        self.n_noted = n
        self.users.n_all = self.users.n_bytes + self.answers.parts.n_bytes()
        self.users.n_kept = min(self.users.n_kept, self.users.n_all)

    cdef int trim(self) except -1:
        """Free what was used least recently, if more is remembered for the vocabulary than the limit allows.

        First go the answers and masks of other grammars, one grammar after the other; then our own; then the parts, if they
        take more than five eighths of the limit. What has been prepared stays, and does not count for these. A grammar with
        a running call is passed over: if it uses parts that were dropped, its next call frees them.

        Grammars are looked at in turn. One that was used since it was looked at last has a second chance (the clock of
        Corbató 1968), so it takes no longer if thousands are alive.
        """
        cdef Masks other
        cdef Parts parts = self.answers.parts
        cdef Users users = self.users
        cdef size_t i, n_kept, limit = limit_of(users)
        for i in range(2 * len(users.masks)):
            if users.n_bytes + parts.n_bytes() <= limit - limit // 256:
                break
            if turn_is_due():                               # thousands take milliseconds
                let_others_run()
            number, reference = next(iter(users.masks.items()), (0, None))
            other = None if reference is None else reference()
            if other is None:                               # it is being freed
                users.masks.pop(number, None)
                continue
            users.masks.move_to_end(number)
            if other is not self and other.n_noted and other.last_used <= other.last_queued:
                other.forget()
            other.last_queued = users.clock
        if users.n_bytes + parts.n_bytes() > limit:
            self.flush()
            n_kept = parts.n_kept_bytes()
            if parts.n_bytes() - n_kept > (limit - n_kept) // 8 * 5 and self.trie.learned is parts:
                fewer = Parts(self.trie, before=parts)
                if self.trie.learned is parts:              # no other thread was faster
                    self.trie.learned = fewer
                for other in parts.living_users():
                    if turn_is_due():
                        let_others_run()
                    if other is self:
                        other.flush()
                    else:
                        other.forget()
        users.n_kept = users.n_all = users.n_bytes + self.answers.parts.n_bytes()
        return 0

    cdef int forget(self) except -1:
        """Let another grammar flush its masks, unless one of its calls is running."""
        cdef Engine engine = self.the_engine()
        if engine is not None and engine.try_acquire():
            try:
                self.flush()
            finally:
                engine.release()
        return 0

    cdef Engine engine(self):
        """Return the engine. Raises MatcherInUseError if the garbage collector frees it: it drops weak references before it
        calls finalizers, and one of these may ask for a mask."""
        cdef Engine engine = self.the_engine()
        if engine is None:
            raise MatcherInUseError(
                "a finalizer (`__del__`) asked for a mask while the garbage collector was freeing the matcher's grammar")
        return engine

    cdef int flush(self) except -1:
        """Free all answers and masks, and let go of parts that were dropped."""
        # Everything new is made before anything is replaced: if memory runs out, nothing has changed.
        cdef Answers answers = Answers(self.engine(), self.trie, self.answers)
        cdef Answers modest = None
        if self.modest is not None:
            modest = Answers(self.engine(), self.trie, self.modest, True)
            modest.stays = self.modest.stays
        cdef Sequences unions = Sequences("unions of answers")
        self.users.limit = limit_of(self.users)
        self.generation += 1                            # first, because charts remember pointers
        self.free_masks()
        self.unions = unions
        self.answers = answers
        self.modest = modest
        self.mask_bytes = 0
        self.committed.clear()
        self.committed_of.clear()                       # its regex nodes may get other numbers
        if self.shortest is not None:
            self.shortest.forget()
        self.n_flushes += 1
        self.n_bytes_at_first = self.n_bytes()
        add(&self.users.n_bytes, 0 - self.n_noted)
        self.n_noted = 0
        return 0

    cdef size_t n_bytes(self) noexcept nogil:
        cdef size_t n = self.modest.n_bytes() if self.modest is not None else 0
        n += self.shortest.n_bytes() if self.shortest is not None else 0
        n += self.committed.n_bytes() + self.committed_of.n_bytes()
        return self.mask_bytes + self.unions.n_bytes() + self.answers.n_bytes() + n

    # ---- masks --------------------------------------------------------------------------------------------------

    cdef int find_extras(self, Chart chart, uint32_t position, Specials specials) except -1 nogil:
        """Fill `extras` with the EOS and special tokens that are allowed at the position, `extra_sets` with the sets."""
        cdef size_t i
        self.extras.n = self.extra_sets.n = 0
        for i in range(0, specials.named.n if position != FINISHED else 0, 2):
            if chart.expects_special(position, specials.named.data[i + 1]):
                words_push(&self.extras, specials.named.data[i])
        if position == FINISHED or chart.is_accepting(position):
            words_extend(&self.extras, specials.eos.data, specials.eos.n)
        if self.token_ids is not None and position != FINISHED:
            self.find_extra_sets(chart, position)
        sort_unique(&self.extras)
        return 0

    cdef int find_extra_sets(self, Chart chart, uint32_t position) except -1 nogil:
        cdef size_t i
        for i in range(self.token_ids.n):
            if chart.expects_special(position, self.token_ids.symbols[i]):
                if self.token_ids.few[i] != NULL:
                    words_extend(&self.extras, self.token_ids.few[i], self.token_ids.n_ids[i])
                else:
                    words_push(&self.extra_sets, <uint32_t> i)
        return 0

    cdef void allow_extras(self, uint32_t* words) noexcept nogil:
        cdef size_t i, w, n_words = self.trie.n_words
        cdef const uint32_t* bits
        for i in range(self.extras.n):
            mask_allow(words, self.extras.data[i])
        for i in range(self.extra_sets.n):
            bits = self.token_ids.bits + self.extra_sets.data[i] * n_words
            for w in range(n_words):
                words[w] |= bits[w]

    cdef Mask* mask(self, Chart chart, uint32_t position) except NULL nogil:
        """Return the mask of a position, with the tokens in `extras` and `extra_sets`, which depend on the position
        only."""
        cdef Mask* mask
        cdef size_t i
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
        self.gather_position(self.answers, chart, position)
        mask = self.union_of()
        if self.modest is not None:
            mask = self.without_refused(chart, position, mask)
        if self.answers.rules.has_commits:
            mask = self.without_committed(chart, position, mask)
        if self.answers.rules.has_followed:
            mask = self.look_through(chart, position, mask)
        chart.remember_mask(position, mask)
        return mask

    cdef Mask* without_refused(self, Chart chart, uint32_t position, Mask* mask) except NULL nogil:
        cdef uint32_t token, bits
        cdef size_t i, w, n_doubtful = 0
        self.ids.n = 0
        self.gather_position(self.modest, chart, position)
        sort_unique(&self.ids)
        self.scratch_from_answers(self.modest, self.ids.n)
        # Now the scratch holds what is sure to be allowed.
        for w in range(self.trie.n_words if mask.bits != NULL else 0):
            bits = mask.bits[w] & ~self.scratch[w]
            while bits:
                n_doubtful += 1
                bits &= bits - 1
        for i in range(mask.n_tokens):
            n_doubtful += not mask_allows(self.scratch, mask.tokens[i])
        if n_doubtful > MOST_TRIED and self.modest.stays:
            with gil:
                self.modest = Answers(self.engine(), self.trie, self.modest, True)
                self.modest.stays = False
            return self.without_refused(chart, position, mask)
        if n_doubtful > MANY * MOST_TRIED and not self.answers.rules.has_followed:
            return self.walked(chart, position)
        self.tokens.n = 0
        for w in range(self.trie.n_words if mask.bits != NULL else 0):
            bits = mask.bits[w] & ~self.scratch[w]
            while bits:
                token = <uint32_t> (32 * w) + lowest_bit(bits)
                bits &= bits - 1
                self.try_token(chart, position, token)
        for i in range(mask.n_tokens):
            if not mask_allows(self.scratch, mask.tokens[i]):
                self.try_token(chart, position, mask.tokens[i])
        return self.without_tokens(mask)

    cdef Mask* walked(self, Chart chart, uint32_t position) except NULL nogil:
        """Return the mask, made by the merged walk: it tries tokens together that begin alike."""
        cdef uint64_t n_nodes
        if self.walk is None:
            with gil:
                self.walk = Walk(self.trie)
        n_nodes = self.walk.n_nodes
        self.walk.fill(chart, position, self.scratch)
        chart.n_nodes += self.walk.n_nodes - n_nodes
        self.allow_extras(self.scratch)
        return self.lone_mask(self.scratch)

    cdef Mask* without_committed(self, Chart chart, uint32_t position, Mask* mask) except NULL nogil:
        """Return the mask without the tokens that the rows refuse because a terminal that commits matches in them."""
        cdef uint32_t demand
        cdef size_t i
        self.tokens.n = 0
        self.try_committing(chart, position, mask, self.answers.rules.uncommitted)
        for i in range(n_pairs_at(chart, position)):
            demand = demand_at(self.answers.lexer, pair_state(chart, position, i))
            if demand != NONE and (i == 0 or demand != demand_at(self.answers.lexer, pair_state(chart, position, i - 1))):
                self.try_committing(chart, position, mask, demand)
        return self.without_tokens(mask)

    cdef int try_committing(self, Chart chart, uint32_t position, const Mask* mask, uint32_t node) except -1 nogil:
        """Try the tokens of the mask in which a terminal that commits matches: those that do not match `node`."""
        cdef uint32_t entry = self.committed_of.get(node)
        cdef const uint32_t* tokens
        cdef size_t i
        if entry == NONE:
            with gil:
                entry = self.committing(node)
        tokens = sequence(self.committed, entry)
        for i in range(sequence_length(self.committed, entry)):
            if allows(mask, tokens[i]):
                self.try_token(chart, position, tokens[i])
        return 0

    cdef uint32_t committing(self, uint32_t node) except? 0xFFFFFFFF:
        """Make and return the entry of `committed` with the tokens that do not match a node."""
        # PERF: a walk for one demand visits only the beginnings of tokens that violate it. One walk for all demands of
        # a position and `uncommitted` would visit the whole trie for each new demand, 1.3 ms for 128,000 tokens.
        cdef Doubtful found = Doubtful(
            self.trie, self.answers.parts.marked(), self.answers.regexes, self.answers.regexes.make_not(node))
        cdef uint32_t entry = self.committed.intern(found.tokens.data, found.tokens.n)
        self.committed_of.put(node, entry)
        return entry

    cdef int try_token(self, Chart chart, uint32_t position, uint32_t token) except -1 nogil:
        """Note the token in `tokens` if the rows of the chart refuse it."""
        if not self.is_extra(token) and not self.leads_on(chart, position, token):
            words_push(&self.tokens, token)
        return 0

    cdef Mask* without_tokens(self, Mask* mask) except NULL nogil:
        """Return the mask without the tokens in `tokens`."""
        cdef size_t i
        if self.tokens.n == 0:
            return mask
        memset(self.scratch, 0, self.trie.n_words * sizeof(uint32_t))
        if mask.bits != NULL:
            memcpy(self.scratch, mask.bits, self.trie.n_words * sizeof(uint32_t))
        for i in range(mask.n_tokens):
            mask_allow(self.scratch, mask.tokens[i])
        self.clear_refused(self.scratch)
        return self.lone_mask(self.scratch)

    cdef Mask* look_through(self, Chart chart, uint32_t position, Mask* mask) except NULL nogil:
        """Return the mask without the doubtful tokens that the rows of the chart refuse, see `_doubtful`."""
        self.find_refused(chart, position, mask)
        return self.without_tokens(mask)

    cdef int look_through_words(self, Chart chart, uint32_t position, uint32_t* words) except -1 nogil:
        """Do the same for the words of a mask that has no extras yet."""
        cdef Mask mask
        mask.bits, mask.tokens, mask.n_tokens = words, NULL, 0
        self.find_refused(chart, position, &mask)
        self.clear_refused(words)
        return 0

    cdef int find_refused(self, Chart chart, uint32_t position, const Mask* mask) except -1 nogil:
        """Fill `tokens` with the doubtful tokens of the mask that the rows refuse."""
        cdef uint32_t lists = self.doubtful_lists(chart, position), which
        cdef size_t i
        cdef uint32_t n_described = self.answers.rules.n_described
        cdef const Words* doubtful
        self.tokens.n = 0
        for which in range(1 + MAX_KINDS):
            if lists >> which & 1:
                doubtful = self.doubtful_list(which)
                for i in range(doubtful.n):
                    if allows(mask, doubtful.data[i]) and self.is_refused(chart, position, which, doubtful.data[i]):
                        words_push(&self.tokens, doubtful.data[i])
        if self.answers.rules.n_described != n_described:   # the rows that were made meanwhile have made more doubtful
            self.find_refused(chart, position, mask)
        return 0

    cdef uint32_t doubtful_lists(self, Chart chart, uint32_t position) noexcept nogil:
        cdef uint32_t lists = 0, kinds
        cdef size_t i
        for i in range(n_pairs_at(chart, position)):
            kinds = self.answers.lexer.kinds_read(pair_state(chart, position, i), self.answers.rules.symbols)
            lists |= kinds << 1 if kinds else 1
        return lists

    cdef const Words* doubtful_list(self, uint32_t which) except NULL nogil:
        if self.doubtful_tokens[which] == NULL or self.n_described != self.answers.rules.n_described:
            with gil:
                self.find_doubtful(which)
        return self.doubtful_tokens[which]

    cdef bint is_refused(self, Chart chart, uint32_t position, uint32_t which, uint32_t token) except -1 nogil:
        if which and not self.ends_lexeme(chart, position, token):
            return False
        return not self.is_extra(token) and not self.leads_on(chart, position, token)

    cdef bint ends_lexeme(self, Chart chart, uint32_t position, uint32_t token) except -1 nogil:
        """Return whether a lexeme of a followed terminal that is under way may end before the last byte of the token."""
        # PERF: a token such as ` },` is text of a key at most places. To try it takes a new lexer state for each byte, since
        # each text has states of its own: 40 us for the 39 doubtful tokens of Llama 3, half of the time of such masks.
        cdef const unsigned char* data = self.trie.token_buffer + self.trie.token_offsets[token]
        cdef size_t i, k, n = self.trie.token_offsets[token + 1] - self.trie.token_offsets[token]
        cdef uint32_t state
        for i in range(n_pairs_at(chart, position)):
            if not self.answers.lexer.has_read(pair_state(chart, position, i)):
                continue
            state = self.answers.lexer.without_memory(pair_state(chart, position, i))
            for k in range(n - 1):
                state = next_state(self.answers.lexer, state, data[k])
                if state == DEAD_STATE:
                    break
                if n_accepted(self.answers.lexer, state):
                    return True
        return False

    cdef void clear_refused(self, uint32_t* words) noexcept nogil:
        cdef size_t i
        for i in range(self.tokens.n):
            mask_refuse(words, self.tokens.data[i])

    cdef int find_doubtful(self, uint32_t which) except -1:
        cdef Engine engine = self.engine()
        cdef Doubtful found
        if engine.doubtful is None:
            raise ValueError("a grammar with followed terminals must say which tokens are doubtful: call Engine.set_doubtful")
        if self.n_described != self.answers.rules.n_described:
            memset(self.doubtful_tokens, 0, sizeof(self.doubtful_tokens))
            self.doubtful.clear()
            self.n_described = self.answers.rules.n_described
        describe, make = engine.doubtful
        found = self.answers.parts.doubtful_tokens(make, describe(), which)
        self.doubtful.append(found)
        self.doubtful_tokens[which] = &found.tokens
        return 0

    cdef bint is_extra(self, uint32_t token) noexcept nogil:
        """Return whether the grammar allows the token by its id here, whatever its bytes are."""
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
        """Remember a mask that the merged walk has made, extras included."""
        cdef Mask* mask
        self.n_fallbacks += 1
        mask = self.lone_mask(words)
        if chart.mask_generation != self.generation:
            chart.mask_generation = self.generation
            chart.n_mask_of = 0
        chart.remember_mask(position, mask)
        return mask

    cdef Mask* lone_mask(self, const uint32_t* words) except NULL nogil:
        """Enter a mask that is no union of answers."""
        cdef uint32_t* bits = self.answers.bitmaps.intern(words)
        cdef Mask* mask
        self.n_lone += 1
        self.ids.n = 0
        words_push(&self.ids, NONE)
        words_push(&self.ids, self.n_lone)
        mask = self.new_union()
        mask.bits = bits
        return mask

    cdef int gather_position(self, Answers answers, Chart chart, uint32_t position) except -1 nogil:
        """Note the answers for the live pairs of a position of the chart, and those for the rows to which their pops
        lead."""
        cdef uint32_t row, state
        cdef size_t i
        answers.begin()
        for i in range(n_pairs_at(chart, position)):
            row = pair_row(chart, position, i)
            state = pair_state(chart, position, i)
            if answers.rules.has_followed:
                state = answers.lexer.without_memory(state)
            if self.modest is not None:
                state = answers.lexer.for_masks(state, answers.rules.symbols, answers.template.modest)
                if state == DEAD_STATE:
                    continue
            if answers.rules.has_commits:
                state = answers.lexer.without_demand(state)
            self.gather(answers, chart, row, answers.evaluate(skeleton_of(chart, row), state, AT_ROOT))
        return 0

    cdef int gather(self, Answers answers, Chart chart, uint32_t row, uint32_t answer) except -1 nogil:
        """Note the answer for a row of the chart, and those for the rows to which its pops lead."""
        cdef uint32_t i, continuation, places, popped, other
        cdef Answer entry = answers.entries[answer]             # a copy: new answers may move the others
        words_push(&self.ids, answer)
        for i in range(entry.n_pops):
            continuation = continuation_at(chart, row, pop_number(answers, &entry, i))
            places = pop_places(answers, &entry, i)
            if answers.is_visited(continuation, places):
                continue
            popped = chart.popped_row(continuation)
            other = answers.at_start(skeleton_of(chart, popped), places)
            if other != NONE:
                self.gather(answers, chart, popped, other)
        return 0

    cdef Mask* union_of(self) except NULL nogil:
        """Return the mask of the answers in `ids`."""
        cdef size_t i, n, total = 0
        cdef uint32_t known
        cdef Answer* answer
        cdef Mask* mask
        cdef const uint32_t* shared = NULL
        cdef uint32_t* bits
        cdef uint32_t* tokens
        cdef bint dense = False
        sort_unique(&self.ids)
        n = self.ids.n
        known = self.unions.find(self.ids.data, n)
        if known != NONE:
            self.n_unions_known += 1
            return self.masks[known]
        n -= self.extras.n + self.extra_sets.n          # entries with EXTRA come after all answers
        for i in range(n):
            answer = self.answers.entries + self.ids.data[i]
            total += answer.n_tokens
            dense |= shared != NULL and answer.bits != NULL and answer.bits != shared
            if answer.bits != NULL:
                shared = answer.bits
        # The union is entered last, so that an error leaves no union without its mask.
        if dense or total > FEW or self.extra_sets.n or self.trie.n_duplicates > MOST_DUPLICATES:
            self.scratch_from_answers(self.answers, n)
            bits = self.answers.bitmaps.intern(self.scratch)
            mask = self.new_union()
            mask.bits = bits
            return mask
        self.tokens.n = 0
        for i in range(n):
            answer = self.answers.entries + self.ids.data[i]
            words_extend(&self.tokens, self.answers.tokens.data + answer.tokens, answer.n_tokens)
        sort_unique(&self.tokens)                       # an answer may have a token twice
        total = self.tokens.n
        for i in range(self.trie.n_duplicates):
            if (has_word(self.tokens.data, total, self.trie.duplicates[2 * i])
                    or (shared != NULL and mask_allows(shared, self.trie.duplicates[2 * i]))):
                words_push(&self.tokens, self.trie.duplicates[2 * i + 1])
        words_extend(&self.tokens, self.extras.data, self.extras.n)
        sort_unique(&self.tokens)
        copy_of(<void**> &tokens, self.tokens.data, self.tokens.n * sizeof(uint32_t))
        try:
            mask = self.new_union()
            mask.bits = shared
            mask.n_tokens = <uint32_t> self.tokens.n
            mask.tokens = tokens
            tokens = NULL
        finally:
            free(tokens)
        self.mask_bytes += self.tokens.n * sizeof(uint32_t)
        return mask

    cdef Mask* new_union(self) except NULL nogil:
        """Enter an empty mask for the answers in `ids`."""
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
            if entry == NONE:                           # there was an error
                free(mask)
        self.n_unions_made += 1
        self.mask_bytes += sizeof(Mask)
        return mask

    cdef void scratch_from_answers(self, Answers answers, size_t n) noexcept nogil:
        """Fill `scratch` with the union of the first n answers in `ids` and the extras."""
        cdef size_t i, w, n_words = self.trie.n_words
        cdef uint32_t k
        cdef const uint32_t* bits
        cdef uint32_t* scratch = self.scratch
        cdef Answer* answer
        cdef bint first = True
        for i in range(n):
            bits = answers.entries[self.ids.data[i]].bits
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
            answer = answers.entries + self.ids.data[i]
            for k in range(answer.n_tokens):
                mask_allow(scratch, answers.tokens.data[answer.tokens + k])
        for k in range(self.trie.n_duplicates):
            if mask_allows(scratch, self.trie.duplicates[2 * k]):
                mask_allow(scratch, self.trie.duplicates[2 * k + 1])
        self.allow_extras(scratch)

    def __sizeof__(self) -> int:
        """Return the bytes of all that is remembered."""
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
    if mask.bits != NULL and mask_allows(mask.bits, token):
        return True
    return has_word(mask.tokens, mask.n_tokens, token)


cdef bint has_word(const uint32_t* data, size_t n, uint32_t word) noexcept nogil:
    """Return whether the word is in this ascending list."""
    cdef size_t low = 0, high = n, middle
    while low < high:
        middle = (low + high) // 2
        if data[middle] < word:
            low = middle + 1
        else:
            high = middle
    return low < n and data[low] == word


cdef void free_all(Mask** masks, size_t n) noexcept nogil:
    cdef size_t i
    for i in range(n):
        if masks[i] != NULL:
            free(masks[i].tokens)
            free(masks[i])


cdef size_t limit_of(Users users) noexcept nogil:
    """Return how many bytes may be remembered for all grammars over a vocabulary."""
    return users.chosen or MEMORY


cdef int drop_unused(Engine engine, TokenTrie trie) except -1:
    """Drop masks that no living matcher uses, if there are those for MOST_EOS sets of EOS tokens, or for MOST_TRIES
    vocabularies other than that of `trie`. They keep their vocabulary."""
    keys = [key for key in engine.masks if isinstance(key, tuple)]
    others = {key[0] if isinstance(key, tuple) else key for key in engine.masks} - {trie}
    if len(others) >= MOST_TRIES:
        keys = [key for key in engine.masks if key is not trie]
    elif len(keys) < MOST_EOS:
        return 0
    for key in keys:
        masks = engine.masks.pop(key)
        if not is_only_one(masks):
            engine.masks[key] = masks
    return 0


cdef Masks masks_of(Engine engine, TokenTrie trie, tuple eos_token_ids):
    """Return the masks of a grammar over a vocabulary's trie, made on first use. Needs the engine's lock.

    `eos_token_ids`: the EOS tokens, if masks differ by these, else None."""
    key = trie if eos_token_ids is None else (trie, eos_token_ids)
    masks = engine.masks.get(key)
    if masks is None:
        drop_unused(engine, trie)
        masks = engine.masks[key] = Masks(engine, trie)
    return masks


def set_limits(*, memory=None, tried=None, **others) -> dict[str, int]:
    """Change the bounds of all masks made from now on, for tests (see `_answers.set_limits`); return the former
    bounds."""
    global MEMORY, MOST_TRIED
    before = {"memory": MEMORY, "tried": MOST_TRIED, **_answers.set_limits(**others)}
    if memory is not None:
        MEMORY = memory
    if tried is not None:
        MOST_TRIED = tried
    return before
