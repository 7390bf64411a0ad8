"""Texts that are likely under a grammar, and the masks along them, made before anybody asks for them.

Most of the time of masks goes to what is met for the first time. A few texts that take every way through a grammar once
meet nearly all of it. Texts are written byte by byte. A *place* is a position without its stack. At a new place the choices
are found: one byte for each way to go on. The text takes the one that people would write, and the others are left for
later texts, which begin there. At a known place the text takes the shortest way out, because what follows, as after an
object that stands at two places of a schema, may be new. A text ends where nothing new has come for some time.

Which choice people would write is told by its level: brackets that close, and letters that continue what may end, come
later; white space comes last, but for a blank after a comma or colon. Of one level, the first terminal of the grammar
comes first, because properties of a schema are usually written in its order. Lexemes of terminals that the front end calls unlikely are
not written: the keys that an open object may have beside the named ones.

When a text is written, masks are made at its new places: where a tokenizer that takes the longest token would have a
boundary, and where there is a choice, because tokenizers split texts there in many ways.

A call of `work` takes a millisecond, or as long as the mask that it makes then; it gives way to masks that are asked for
(`_meter.pxd`). What is learned belongs to the grammar and the vocabulary, as if a matcher had asked for the masks, and has
the same bounds.
"""

from libc.string cimport memset

from earleymask.earley._chart cimport (
    DEAD, FINISHED, NO_ROW, n_pairs_at, pair_row, pair_state, row_at, skeleton_of,
)
from earleymask.earley._engine cimport Engine
from earleymask.earley._lexer cimport (
    DEAD_STATE, Lexer, accepted_at, n_accepted, n_terminals, next_state, terminal_at,
)
from earleymask.earley._locks cimport forking, let_fork
from earleymask.earley._masks cimport Masks
from earleymask.earley._meter cimport (
    STEPS_AHEAD, Meter, clock, has_given_way, must_give_way, nanoseconds, rest, start, work_ahead,
)
from earleymask.earley._tables cimport (
    NONE, ByteSet, byteset_and, byteset_has, byteset_or, words_extend, words_free, words_push,
)
from earleymask.trie._build cimport DEBUG
from earleymask.trie._quotient cimport NO_NODE
from earleymask.trie._trie cimport node_token

from earleymask.earley.errors import LimitError

cdef enum:
    BYTES_BETWEEN_LOOKS = 16    # bytes that are written between two looks at the clock
    PAUSE_NS = 50_000           # for which it sleeps first if it must give way; then for twice as long, and so on
    LONGEST_PAUSE_NS = 1_000_000
    MOST_KNOWN = 256            # bytes in succession without a new place before a text ends
    MOST_FOLLOWED = 2           # lexemes whose text decides what may follow: after each, places are new without end
    MOST_PLACES = 1 << 16
    MOST_CHART_WORDS = 1 << 20
    MOST_LEFT = 3 << 17         # words of choices that are left, of one level: 1.5 MB
    MOST_ADDED = 5_000          # symbols that likely texts may add: a quarter of those after which a new matcher has the grammar made anew
    # It ends when answers and masks of the grammar take this part of what may be remembered for the vocabulary, or when the
    # parts of the vocabulary have grown by half as much.
    MASK_SHARE = 8
    NEVER = N_LEVELS            # the level of choices that are made if there is no other one

cdef int64_t SLICE_NS = 1_000_000   # processor time of a call of `work`

cdef enum:                      # kinds of bytes
    WORD
    PUNCTUATION
    CLOSING
    BLANK
    ESCAPE

cdef unsigned char ORDER[256]   # all bytes, the likely ones first
cdef unsigned char KINDS[256]   # of each byte
cdef unsigned char RANKS[256]   # of each byte: its index in ORDER


cdef void make_order() noexcept:
    cdef bytes word = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
    cdef bytes closing = b"}])>", blank = b" \n\t\r"
    cdef bytes punctuation = bytes(
        [byte for byte in [*b'",:', *range(0x21, 0x7F)] if byte not in word and byte not in closing and byte != 0x5C])
    cdef bytes others = bytes([byte for byte in range(256) if byte not in word + punctuation + closing + blank])
    cdef uint32_t byte, kind, n = 0
    for kind, each in ((WORD, word), (PUNCTUATION, punctuation), (CLOSING, closing), (BLANK, blank), (ESCAPE, others)):
        for byte in dict.fromkeys(each):
            ORDER[n] = byte
            RANKS[byte] = n
            KINDS[byte] = kind
            n += 1


make_order()


cdef class LikelyTexts:
    """Likely continuations of a matcher's text, at most `most_bytes` each; their masks are made by `work`, in at most so
    many seconds of processor time.

    The matcher must be one that nobody else uses. It is not changed. Raises ValueError if `seconds` is not positive.
    """

    def __cinit__(self, Matcher matcher not None, size_t most_bytes, double seconds):
        if not seconds > 0:
            raise ValueError(f"seconds must be a positive number, got {seconds!r}")
        self.matcher = matcher
        self.most_ns = nanoseconds(seconds)
        self.pause = PAUSE_NS
        self.chart = matcher.chart
        self.most_bytes = most_bytes
        self.places = Sequences("places of likely texts")
        self.lexer = matcher.chart.lexer
        self.masks = matcher.masks
        self.quotient = matcher.masks.answers.parts.quotient
        self.most_masks = matcher.masks.users.limit // MASK_SHARE
        self.most_parts = matcher.masks.answers.parts.n_bytes() + self.most_masks // 2

    def __dealloc__(self):
        cdef size_t level
        for level in range(N_LEVELS):
            words_free(&self.left[level])
        words_free(&self.visits)
        words_free(&self.choices_at)
        words_free(&self.choices)
        words_free(&self.text)
        words_free(&self.positions)
        words_free(&self.place_of)
        words_free(&self.is_new)
        words_free(&self.words)
        words_free(&self.others)

    def work(self) -> None:
        """Work for a millisecond, or until another thread waits for a lock; sleep for a moment if one does already.

        `is_done` is true when all has been done, a limit has been met, the time is used up, or after `stop`.
        """
        cdef Engine engine = self.matcher.engine
        cdef int64_t began = clock()
        if self.is_done:
            return
        if forking:
            let_fork()
        try:
            if self.is_stopped:
                self.is_done = True
            elif must_give_way() or not engine.try_acquire():
                with nogil:
                    rest(self.pause)
                self.pause = min(2 * self.pause, LONGEST_PAUSE_NS)
            else:
                self.pause = PAUSE_NS
                self.work_alone(began)
        finally:
            self.nanoseconds += clock() - began
            self.is_done |= self.is_stopped or self.nanoseconds > self.most_ns

    cdef int work_alone(self, int64_t began) except -1:
        """Work with the engine's lock, which is given back."""
        cdef Engine engine = self.matcher.engine
        self.chart.busy = True
        start(engine.regexes.meter)
        engine.regexes.meter.left = STEPS_AHEAD
        work_ahead(began + max(self.most_ns - self.nanoseconds, 1), &self.is_stopped)
        try:
            self.tidy()
            with nogil:
                self.go_on()
            if DEBUG:
                self.chart.check()
        except LimitError:
            if not has_given_way():
                self.is_done = True
            self.n_given_way += has_given_way()
        except:
            self.is_done = True
            raise
        finally:
            work_ahead(0, NULL)
            self.masks.note()
            self.chart.busy = False
            engine.release()
        return 0

    @property
    def grammar(self):
        """The grammar of the texts."""
        return self.matcher.grammar

    def stop(self) -> None:
        """Let `work`, which may run in another thread, end at its next look at the clock."""
        self.is_stopped = True

    cdef int tidy(self) except -1:
        """Do what the calls of a matcher do first. End if a limit has been met."""
        cdef Engine engine = self.matcher.engine
        if self.n_texts == 0 and self.positions.n == 0:
            self.n_collected = self.chart.n_collections
            self.n_forgotten = engine.n_collections
        self.masks.tidy()
        if (engine.is_full() or self.chart.n_collections != self.n_collected or engine.n_collections != self.n_forgotten
                or self.masks.n_bytes() > self.most_masks or self.masks.answers.parts.n_bytes() > self.most_parts):
            self.is_done = True
        elif self.chart.n_words() > self.most_words() or self.places.n > MOST_PLACES or self.uses_much(engine):
            self.is_last = True
            if self.positions.n == 0:
                self.is_done = True
            elif not self.is_written:
                self.choose_positions()                     # the masks of what has been written are made
        return 0

    cdef size_t most_words(self) noexcept:
        """Return how many words its chart may hold before this ends: it collects nothing. In a chart that other matchers
        have as well, no more than they may hold before they collect."""
        return self.chart.collect_at if self.chart.histories.n > 1 else MOST_CHART_WORDS

    cdef bint uses_much(self, Engine engine) noexcept:
        """Return whether texts have added much of what they may add to the grammar, which is never forgotten: the rest is for
        texts that somebody writes."""
        cdef Meter meter = engine.regexes.meter
        cdef size_t most_bytes = meter.most_rule_bytes - engine.n_base_rule_bytes
        cdef uint32_t most_symbols = min((engine.rules.most_symbols - engine.n_base_symbols) // 4, MOST_ADDED)
        return (engine.rules.n_bytes() - engine.n_base_rule_bytes > most_bytes // 4
                or engine.rules.n_symbols - engine.n_base_symbols > most_symbols)

    cdef int go_on(self) except -1 nogil:
        cdef int64_t until = clock() + SLICE_NS
        cdef size_t n = 0
        while not self.is_done and not self.is_stopped and not must_give_way():
            if self.positions.n == 0:
                self.begin()
            elif not self.is_written:
                self.write_byte()
            else:
                while self.at < self.positions.n and not self.is_new.data[self.at]:
                    self.at += 1
                if self.at < self.positions.n:
                    self.make_mask(self.positions.data[self.at])
                    self.at += 1
                else:
                    self.end()
            n += 1
            if (self.is_written or n % BYTES_BETWEEN_LOOKS == 0) and clock() > until:
                break
        return 0

    # ---- texts --------------------------------------------------------------------------------------------------

    cdef int begin(self) except -1 nogil:
        """Begin a text with a choice that is left, if that leads to a new place."""
        cdef uint32_t position, level
        cdef const uint32_t* choice
        if self.places.n == 0:
            position = self.matcher.position()
            self.is_done = self.is_complete = position <= FINISHED
            return self.arrive(position) if not self.is_done else 0
        for level in range(N_LEVELS):
            if self.n_taken[level] < self.left[level].n:
                choice = self.left[level].data + self.n_taken[level]
                position = self.chart.advance(choice[0], choice[1])
                if position != DEAD and self.visits.data[self.place(position)] == 0:
                    self.context = choice[2]
                    self.context = self.context_after(choice[0], choice[1])
                    self.arrive(position)
                self.n_taken[level] += 3                    # not before: if it gives way, the choice is left
                return 0
        self.is_done = self.is_complete = True
        return 0

    cdef int end(self) noexcept nogil:
        self.n_texts += 1
        self.is_done = self.is_last
        self.text.n = self.positions.n = self.place_of.n = self.is_new.n = 0
        self.context = self.n_known = 0
        self.is_written = False
        return 0

    cdef int write_byte(self) except -1 nogil:
        """Write the byte of the best choice, or end the text."""
        cdef size_t last = self.positions.n - 1, k
        cdef uint32_t byte = NONE, position = self.positions.data[last], target, context
        cdef bint is_known = not self.is_new.data[last]
        if self.text.n < self.most_bytes and self.n_known < MOST_KNOWN and self.context >> 16 < MOST_FOLLOWED:
            byte = self.best_choice(is_known)
        if byte == NONE:
            self.choose_positions()
            return 0
        target = self.chart.advance(position, byte)
        context = self.context_after(position, byte)
        self.place(target)
        # From here on only memory may run out, which ends the work: if it gives way before, all this is done again.
        for k in range(0, self.others.n if not is_known else 0, 2):
            self.leave(self.others.data[k], position, self.others.data[k + 1])
        words_push(&self.text, byte)
        self.context = context
        return self.arrive(target)

    cdef int leave(self, uint32_t level, uint32_t position, uint32_t byte) except -1 nogil:
        """Note a choice for a later text."""
        if level >= N_LEVELS or self.left[level].n >= MOST_LEFT:
            return 0
        words_push(&self.left[level], position)
        words_push(&self.left[level], byte)
        return words_push(&self.left[level], self.context)

    cdef uint32_t context_after(self, uint32_t before, uint32_t byte) except? 0xFFFFFFFE nogil:
        """Return the context after a byte that comes after a position."""
        cdef uint32_t repeated = min((self.context >> 8 & 0xFF) + 1, 0xFF) if byte == (self.context & 0xFF) else 0
        return byte | repeated << 8 | (self.context >> 16) + self.ends_followed(before, byte) << 16

    cdef bint ends_followed(self, uint32_t before, uint32_t byte) except -1 nogil:
        """Return whether the byte ends the lexeme of a terminal whose text decides what may follow."""
        cdef uint32_t state
        cdef size_t i, k
        for i in range(n_pairs_at(self.chart, before) if self.chart.rules.has_followed else 0):
            state = next_state(self.lexer, self.lexer.without_memory(pair_state(self.chart, before, i)), byte)
            for k in range(n_accepted(self.lexer, state)):
                if self.chart.rules.symbols[accepted_at(self.lexer, state, k)].followed:
                    return True
        return False

    cdef uint32_t best_choice(self, bint leaves) except? 0xFFFFFFFE nogil:
        """Return the byte of the choice that the text takes; NONE if there is none. `leaves`: take the shortest way out.
        Fill `others` with the level and the byte of the other choices."""
        cdef size_t last = self.positions.n - 1, k, n
        cdef uint32_t position = self.positions.data[last], place = self.place_of.data[last]
        cdef uint32_t byte, best = NONE, target, level, best_level = 0, visits
        cdef uint64_t rank, least = 0
        if self.choices_at.data[place] == NONE:
            self.find_choices(place, position)
        n = self.choices.data[self.choices_at.data[place]]
        self.others.n = 0
        for k in range(n):
            byte = self.choices.data[self.choices_at.data[place] + 1 + k]
            target = self.chart.advance(position, byte)
            if target == DEAD or self.is_unlikely(target):
                continue
            level = self.level(position, byte, target)
            visits = self.visits.data[self.place(target)]
            if leaves:
                rank = <uint64_t> (0 if visits == 0 else 1 if KINDS[byte] == CLOSING else 2 + level) << 60
                rank |= <uint64_t> visits << 40
            else:
                rank = <uint64_t> level << 60 | <uint64_t> (visits > 0) << 40
            rank |= <uint64_t> min(self.first_terminal(position, byte, target), 0xFFFFFF) << 8 | RANKS[byte]
            if best == NONE or rank < least:
                if best != NONE:
                    words_push(&self.others, best_level)
                    words_push(&self.others, best)
                least = rank
                best = byte
                best_level = level
            else:
                words_push(&self.others, level)
                words_push(&self.others, byte)
        return best

    cdef uint32_t level(self, uint32_t before, uint32_t byte, uint32_t position) noexcept nogil:
        """Return how late a choice is made. `position`: the one after the byte."""
        cdef uint32_t last = self.context & 0xFF
        if byte == last and self.context >> 8 & 0xFF:              # repetitions have places without end: two do
            return NEVER
        if KINDS[byte] == BLANK:
            return NEVER if KINDS[last] == BLANK else 0 if byte == c" " and (last == c"," or last == c":") else 2
        if KINDS[byte] == CLOSING:
            return 1
        # People end lexemes where they can.
        return row_at(self.chart, before) != NO_ROW and self.goes_on(before, position)

    cdef bint is_unlikely(self, uint32_t position) noexcept nogil:
        """Return whether only lexemes of unlikely terminals are under way."""
        cdef uint32_t state
        cdef size_t i, k, n = n_pairs_at(self.chart, position)
        for i in range(n):
            state = pair_state(self.chart, position, i)
            for k in range(n_terminals(self.lexer, state)):
                if not self.chart.rules.symbols[terminal_at(self.lexer, state, k)].unlikely:
                    return False
        return n > 0

    cdef bint goes_on(self, uint32_t before, uint32_t position) noexcept nogil:
        """Return whether the byte between these positions continues a lexeme."""
        cdef size_t i, k
        for i in range(n_pairs_at(self.chart, position)):
            for k in range(n_pairs_at(self.chart, before)):
                if pair_row(self.chart, position, i) == pair_row(self.chart, before, k):
                    return True
        return False

    cdef uint32_t first_terminal(self, uint32_t before, uint32_t byte, uint32_t position) except? 0xFFFFFFFE nogil:
        """Return the first terminal whose lexeme the byte continues, or ends; NONE if it is a lexeme by itself."""
        cdef uint32_t found = NONE, state
        cdef size_t i
        for i in range(n_pairs_at(self.chart, position)):
            state = pair_state(self.chart, position, i)
            if n_terminals(self.lexer, state):
                found = min(found, terminal_at(self.lexer, state, 0))
        for i in range(n_pairs_at(self.chart, before)):
            state = next_state(self.lexer, pair_state(self.chart, before, i), byte)
            if n_accepted(self.lexer, state):
                found = min(found, accepted_at(self.lexer, state, 0))
        return found

    cdef int arrive(self, uint32_t position) except -1 nogil:
        """Append a position to the text."""
        cdef uint32_t place = self.place(position)
        words_push(&self.positions, position)
        words_push(&self.place_of, place)
        words_push(&self.is_new, self.visits.data[place] == 0)
        self.n_known = self.n_known + 1 if self.visits.data[place] else 0
        self.visits.data[place] = min(self.visits.data[place] + 1, 0xFFFFE)
        return 0

    cdef uint32_t place(self, uint32_t position) except? 0xFFFFFFFF nogil:
        cdef uint32_t row = row_at(self.chart, position), n = self.places.n, place
        cdef size_t i
        self.words.n = 0
        words_push(&self.words, NONE if row == NO_ROW else skeleton_of(self.chart, row))
        for i in range(n_pairs_at(self.chart, position)):
            words_push(&self.words, skeleton_of(self.chart, pair_row(self.chart, position, i)))
            words_push(&self.words, self.lexer.without_memory(pair_state(self.chart, position, i)))
        place = self.places.intern(self.words.data, self.words.n)
        if place == n:
            words_push(&self.visits, 0)
            words_push(&self.choices_at, NONE)
        return place

    cdef int find_choices(self, uint32_t place, uint32_t position) except -1 nogil:
        """Find one byte for each way in which bytes continue the lexer states of a position."""
        cdef ByteSet seen, same
        cdef size_t i, k, start = self.choices.n
        cdef uint32_t n = 0, byte, transition
        cdef bint is_alive
        # With the states that remember no text: the others are made for the bytes that are written only.
        self.words.n = 0
        for i in range(n_pairs_at(self.chart, position)):
            words_push(&self.words, self.lexer.without_memory(pair_state(self.chart, position, i)))
        if row_at(self.chart, position) != NO_ROW:
            words_push(&self.words, self.lexer.without_memory(self.chart.start_state(row_at(self.chart, position))))
        memset(&seen, 0, sizeof(ByteSet))
        words_push(&self.choices, 0)
        for i in range(256):
            byte = ORDER[i]
            if KINDS[byte] == ESCAPE and n:                 # people write them where they must
                break
            if byteset_has(&seen, byte):
                continue
            memset(&same, 0xFF, sizeof(ByteSet))
            is_alive = False
            for k in range(self.words.n):
                transition = self.lexer.transition(self.words.data[k], byte)
                is_alive |= self.lexer.transitions[transition].target != DEAD_STATE
                byteset_and(&same, &self.lexer.transitions[transition].bytes)
            byteset_or(&seen, &same)
            if is_alive:
                words_push(&self.choices, byte)
                n += 1
        self.choices.data[start] = n
        self.choices_at.data[place] = <uint32_t> start
        return 0

    # ---- masks --------------------------------------------------------------------------------------------------

    cdef void choose_positions(self) noexcept nogil:
        """End the text, and let `is_new` say at which positions masks are wanted."""
        cdef size_t i, start = 0, end
        cdef uint32_t node, place
        cdef bint is_boundary
        self.is_written = True
        self.at = 0
        for i in range(self.positions.n):
            is_boundary = i == start
            if is_boundary:                                 # the longest token from here
                node = NO_NODE
                end = i + 1
                while start < self.text.n:
                    node = self.quotient.child(node, self.text.data[start])
                    if node == NO_NODE:
                        break
                    start += 1
                    if node_token(self.quotient.trie.nodes[node]):
                        end = start
                start = end
            place = self.place_of.data[i]
            if not is_boundary and (self.choices_at.data[place] == NONE or self.choices.data[self.choices_at.data[place]] < 2):
                self.is_new.data[i] = False

    cdef int make_mask(self, uint32_t position) except -1 nogil:
        self.masks.find_extras(self.chart, position, self.matcher.specials)
        self.masks.mask(self.chart, position)
        self.n_masks += 1
        return 0


def set_slice(length) -> None:
    """Set how many nanoseconds of processor time a call of `work` takes. For tests."""
    global SLICE_NS
    SLICE_NS = length
