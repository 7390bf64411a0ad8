"""One sequence of tokens against a grammar: masks, accept, rollback, fork.

Everything that grows is in the chart (`_chart`), which the forks of a matcher share. The matcher itself is a list of
tokens with the position after each (`_history`). A call holds the engine's lock, and releases the GIL while it works.
"""

cimport cython
from cpython.buffer cimport PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.long cimport PyLong_AsLongLongAndOverflow
from libc.math cimport NAN
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from functools import partial
from operator import index

import numpy as np

from earleymask.earley._bounded cimport MOST_LATE_NS, BoundedMasks
from earleymask.earley._budgets cimport Budgets
from earleymask.earley._chart cimport (
    DEAD, FINISHED, MASK_ANSWERS_KNOWN, MASK_KNOWN, MET, MASK_NEW_PART, MASK_NEW_STATE, MASK_PARTS_KNOWN,
    MASK_UNION_KNOWN, MASK_WALKED, NO_ROW, UNKNOWN, count_mask, is_still, row_at,
)
from earleymask.earley._crossing cimport find_crossing
from earleymask.earley._forget cimport forget_in_call, make_room
from earleymask.earley._history cimport (
    FORGOTTEN, Block, Entry, entries_of, history_begin, history_cut, history_fork, history_more, history_position,
    history_push, history_sweep, history_tokens, history_write_tokens, last_entry, must_sweep, n_tokens_of,
)
from earleymask.earley._locks cimport n_forks
from earleymask.earley._masks cimport masks_of
from earleymask.earley._meter cimport (
    Within, cancellable, check_bounds, count, count_asked, keep, nanoseconds, set_due, tick, wall_clock,
)
from earleymask.earley._partial cimport Partial
from earleymask.earley._shortest cimport ENDLESS
from earleymask.earley._tables cimport NONE, words_push
from earleymask.earley._tensors cimport words_of_tensor
from earleymask.earley._token_ids cimport has_id, is_eos, token_ids_of
from earleymask.earley._walk cimport Walk
from earleymask.trie._bitmask cimport mask_allow
from earleymask.trie._build cimport DEBUG

from earleymask.earley._forget import FINAL
from earleymask.earley.errors import (
    BudgetError, DeadlineError, LimitError, MatcherInUseError, RejectedTokenError, beyond_budget, ends_sequence,
)
from earleymask.trie.errors import VocabularyError

MAX_FORCED_BYTES = 1 << 16
MOST_BYTES_AHEAD = 64
INT32 = np.dtype(np.int32)
MOST_SECONDS = 1e9                      # a mask that is due later is never due
cdef str RAISE = "raise"
cdef str ONLY_EOS = 'start: ""'         # the grammar of `Matcher.only_eos`
cdef object NDARRAY = np.ndarray

cdef object grammar_reader = None       # see `set_readers`
cdef object vocabulary_reader = None


def set_readers(grammar, vocabulary):
    """Set the functions that turn what a caller gives to `Matcher` into a grammar and a vocabulary, or raise TypeError.

    The layers above set them, because this one knows no grammar texts and no schemas.
    """
    global grammar_reader, vocabulary_reader
    grammar_reader = grammar
    vocabulary_reader = vocabulary


@cython.no_gc_clear       # `__dealloc__` needs the chart; the other members of a cycle can be cleared
cdef class Matcher:
    # The first two lines are the signature, in the form in which `inspect` finds that of a C type: not indented.
    """Matcher(grammar, vocabulary, eos_token_ids=None)
--

    The state of one sequence of tokens in a grammar: it knows which tokens may come next.

    Args:
        grammar: a `Grammar`. Matchers and threads may share it. What `Constraint` takes is taken here as well, and made
            a grammar for this matcher and its forks alone.
        vocabulary: the `Vocabulary` whose ids are accepted and masked.
        eos_token_ids: ids that end the sequence, or one id, in place of the vocabulary's: those of one request, for
            example. The others are tokens without text then. None: the vocabulary's.

    Raises:
        VocabularyError: there is no EOS token, or one of `eos_token_ids` is not in the vocabulary or has a text; or the
            vocabulary lacks special tokens that the grammar names.
        GrammarError: no grammar can be made of what was given.

    A matcher belongs to one sequence, and one thread at a time may use it; other threads may use its forks. A call
    raises `MatcherInUseError` if another one has not returned, and `LimitError` if a grammar makes it too much work;
    the matcher is then as it was before the call.
    """

    def __cinit__(self, grammar, vocabulary, eos_token_ids=None):
        engine = getattr(grammar, "engine", None)
        if not isinstance(engine, Engine):      # other objects may have an attribute of this name
            grammar = grammar_reader(grammar, vocabulary)
            engine = grammar.engine
        if not isinstance(getattr(vocabulary, "trie", None), TokenTrie):
            vocabulary_reader(vocabulary)
        self.grammar = grammar
        self.vocabulary = vocabulary
        self.engine = engine
        self.trie = vocabulary.trie

    def __init__(self, grammar, vocabulary, eos_token_ids=None):
        if self.history != NULL:
            return
        renewed = getattr(self.grammar, "_renewed", None)
        if renewed is not None:
            self.engine = renewed()
        if eos_token_ids is None:
            self.eos_token_ids = vocabulary.eos_token_ids
            if not self.eos_token_ids:
                raise VocabularyError("the vocabulary has no EOS token, so no sequence could end; make it with eos_token_id=")
        else:
            self.eos_token_ids = self.checked_eos(eos_token_ids)
        named = [*self.engine.special_names, *[name for each in self.engine.token_sets for name in each[3]]]
        if not vocabulary.special_tokens.keys() >= set(named):
            from earleymask.trie.special_names import unknown

            raise unknown(named, vocabulary)
        self.specials = Specials(
            self.eos_token_ids,
            [(vocabulary.special_tokens[name], self.engine.add_special(name)) for name in self.engine.special_names],
        )
        if self.engine.token_sets:
            self.token_ids = token_ids_of(self.engine.token_sets, vocabulary, self.eos_token_ids)
        self.chart = Chart(self.engine)
        if self.engine.max_tokens is not None:
            self.budgets = Budgets(self.chart, self.engine.max_tokens)
            self.chart.histories.has_notes = True
        self.engine.acquire()
        try:
            has_others = not all([each[5] for each in self.engine.token_sets])
            self.masks = masks_of(self.engine, self.trie, self.eos_token_ids if has_others else None)
            if self.masks.token_ids is None:
                self.masks.token_ids = self.token_ids
            self.engine.add_chart(self.chart)
            self.begin()
        finally:
            self.engine.release()

    cdef tuple checked_eos(self, eos_token_ids):
        """Return the ids in ascending order. Raises VocabularyError if one of them cannot end a sequence."""
        cdef set found = set()
        if not hasattr(eos_token_ids, "__iter__"):      # an array has `__index__`, too
            eos_token_ids = [eos_token_ids]
        for token_id in eos_token_ids:
            token = self.known(token_id)
            if token == NONE:
                raise VocabularyError(f"eos_token_ids has {token_id}; the vocabulary has the ids 0 to {self.trie.n_tokens - 1}")
            if self.trie.token_offsets[<uint32_t> token] < self.trie.token_offsets[<uint32_t> token + 1]:
                raise VocabularyError(
                    f"eos_token_ids has {token_id}, whose text is {self.vocabulary.token_bytes(token_id)!r}: a grammar may want "
                    "that text, so it cannot end a sequence; leave it out, and stop after it when it has been sampled")
            found.add(token)
        if not found:
            raise VocabularyError("eos_token_ids is empty, so no sequence could end; give at least one id, or None for the "
                                  "vocabulary's")
        return tuple(sorted(found))

    @classmethod
    def only_eos(cls, vocabulary, eos_token_ids=None):
        """Return a matcher whose mask has the EOS tokens alone: for a request that failed before it had a grammar, in an
        engine that wants a matcher of each one."""
        return cls(ONLY_EOS, vocabulary, eos_token_ids)

    def __dealloc__(self):
        # There is no lock here, and forks may still use the chart: a later call of a fork frees the history.
        if self.history != NULL:
            self.history.dropped = True
            self.chart.histories.n_dropped += 1

    cdef int begin(self) except -1:
        cdef uint32_t position
        try:
            position = self.chart.initial()
        except LimitError as error:
            make_room(self.engine, error)
            position = UNKNOWN
        if position == UNKNOWN:
            position = self.chart.initial()
        self.history = history_begin(&self.chart.histories, position)
        return 0

    # ---- masks --------------------------------------------------------------------------------------------------

    def fill_bitmask(self, row, on_error="raise", remaining=None, seconds=None):
        """Write the mask into `row`: bit `t % 32` of word `t // 32` is 1 if token `t` is allowed.

        Args:
            row: int32, shape (>= ceil(vocabulary.size / 32),), contiguous and writable: a numpy array or a torch tensor
                on the CPU, written in place. Words and bits beyond the vocabulary become 0.
            on_error: "raise", or "end": if the mask cannot be made, as with `LimitError`, do not raise but end the
                sequence, see `error`.
            remaining: how many tokens may still come, EOS included. Then only those tokens are allowed after which a
                sentence can be finished in time (docs/serving.md, "Budgets"). None: any number.
            seconds: None, or the time after which the mask is due, by a clock on the wall; 0 or more.

        Returns None, or with `seconds` whether the mask is complete. A partial mask allows no token that the mask does
        not, and at least one. What has been found is kept: later calls continue there, with `seconds` or without.
        With `remaining`, this holds for the mask for so many tokens, and later calls with the same number continue.

        Raises:
            TypeError, ValueError: dtype, shape, device or layout is not as above, or `seconds` is no such number.
                Nothing has been written then.
            BudgetError: `remaining` is less than `tokens_to_finish()`. The row allows nothing then, nor after any other
                error of a call with `remaining` that has no `seconds`.
            LimitError: 5 ms after the mask was due, not one allowed token has been found. Nothing has been written or
                changed then.
            MatcherCancelledError: another thread has called `cancel`. Nothing has been written or changed.
        """
        # PERF: `on_error` for keywords alone took 1% of the instructions of a mask that is remembered.
        cdef Py_buffer buffer
        if on_error is not RAISE or remaining is not None or seconds is not None or self.error is not None:
            return self.fill_with(row, on_error, remaining, seconds)
        if type(row) is not NDARRAY and self.fill_tensor(row):
            return
        open_row(row, &buffer, self.trie.n_words, self.trie.n_tokens)
        # PERF: the remembered mask is written here, so that the parameters that a plain call lacks cost it nothing more.
        if self.write_known(<uint32_t*> buffer.buf, buffer.len):
            PyBuffer_Release(&buffer)
            return
        try:
            self.make_mask(<uint32_t*> buffer.buf, buffer.len)
        finally:
            PyBuffer_Release(&buffer)

    cdef fill_with(self, row, on_error, remaining, seconds):
        """Fill a row. Return None if `seconds` is None, else whether the mask is complete."""
        cdef Py_buffer buffer
        cdef bint ends = check_on_error(on_error), is_complete
        cdef double most = NAN if seconds is None else checked_seconds(seconds)
        if remaining is not None:
            remaining = index(remaining)
            if remaining < 0:
                raise ValueError(f"remaining must not be negative, got {remaining}")
        open_row(row, &buffer, self.trie.n_words, self.trie.n_tokens)
        try:
            is_complete = self.write_or_end(<uint32_t*> buffer.buf, buffer.len, ends, remaining, most)
        finally:
            PyBuffer_Release(&buffer)
        return None if seconds is None else is_complete

    cdef bint fill_tensor(self, row) except -1:
        """Fill a row of torch if the mask is remembered; return whether it was filled."""
        cdef size_t n_words = 0
        cdef uint32_t* words = words_of_tensor(row, &n_words)
        # SAFETY: no other thread runs before the row is written, so its memory stays where it is.
        return (words != NULL and n_words >= self.trie.n_words and <size_t> words % sizeof(uint32_t) == 0
                and self.write_known(words, n_words * sizeof(uint32_t)))

    cdef bint write_or_end(self, uint32_t* words, size_t n_bytes, bint ends, remaining=None, double seconds=NAN) except -1:
        """Write the mask, with the tokens that may still come or None, and the time after which it is due (NAN: never);
        return whether it is complete. If this fails, and `ends` is true, end the sequence."""
        cdef uint64_t n = ENDLESS if remaining is None else min(remaining, <uint64_t> ENDLESS - 1)
        self.n_tokens                                   # raises if it is not set up
        if self.error is None:
            try:
                if seconds == seconds:
                    return self.write_until(words, n_bytes, n, seconds)
                if n == ENDLESS:
                    self.write_mask(words, n_bytes)
                else:
                    self.write_within(words, n_bytes, n)
                return True
            except Exception as error:
                if not ends or not ends_sequence(error):
                    raise
                self.end_with(error)
        self.write_end(words, n_bytes)
        return True

    cdef int end_with(self, error) except -1:
        """End the sequence because of an error. What the error refers to, such as the calls that it has ended, is freed."""
        cdef list agenda = [error], met = []
        while agenda:
            one = agenda.pop()
            if one is not None and one not in met:
                met.append(one)
                one.__traceback__ = None
                agenda += [one.__cause__, one.__context__]
        self.error = error
        self.partial = None
        return 0

    cdef void write_end(self, uint32_t* words, size_t n_bytes) noexcept nogil:
        """Write a mask that allows the EOS tokens alone."""
        cdef size_t i
        memset(words, 0, n_bytes)
        for i in range(self.specials.eos.n):
            mask_allow(words, self.specials.eos.data[i])

    def walk_bitmask(self, row) -> None:
        """Do the same as `fill_bitmask` by a walk over the whole trie: slow, the reference for tests."""
        cdef Py_buffer buffer
        cdef bint is_done = False
        open_row(row, &buffer, self.trie.n_words, self.trie.n_tokens)
        try:
            if self.error is not None:
                self.write_end(<uint32_t*> buffer.buf, buffer.len)
                return
            memset(buffer.buf, 0, buffer.len)
            self.acquire()
            try:
                self.tidy()
                try:
                    self.walk_mask(<uint32_t*> buffer.buf)
                    is_done = True
                except LimitError as error:
                    make_room(self.engine, error)
                if not is_done:
                    memset(buffer.buf, 0, buffer.len)
                    self.walk_mask(<uint32_t*> buffer.buf)
                if DEBUG:
                    self.chart.check()
            finally:
                self.release()
        finally:
            PyBuffer_Release(&buffer)

    def mask(self) -> np.ndarray:
        """Return the mask as a new numpy array: bool, shape (vocabulary.size,), True for each token that is allowed."""
        words = np.empty(self.trie.n_words, dtype=np.uint32)
        cdef uint32_t[::1] view = words
        if self.trie.n_words:
            self.write_or_end(&view[0], self.trie.n_words * sizeof(uint32_t), False)
        return np.unpackbits(words.view(np.uint8), count=self.trie.n_tokens, bitorder="little").view(np.bool_)

    cdef int write_mask(self, uint32_t* words, size_t n_bytes) except -1:
        """Write the mask, and zeros up to `n_bytes`."""
        return 0 if self.write_known(words, n_bytes) else self.make_mask(words, n_bytes)

    cdef int make_mask(self, uint32_t* words, size_t n_bytes) except -1:
        """Write the mask, which is not remembered, and zeros up to `n_bytes`."""
        self.acquire()
        try:
            copy_mask(self.made_mask(), words, self.trie.n_words, n_bytes)
        finally:
            self.release()
        return 0

    cdef int write_within(self, uint32_t* words, size_t n_bytes, uint64_t n) except -1:
        self.acquire()
        try:
            return self.write_cut(words, n_bytes, n)
        finally:
            self.release()

    cdef int write_cut(self, uint32_t* words, size_t n_bytes, uint64_t n) except -1:
        cdef bint is_done = False
        try:
            copy_mask(self.made_mask(), words, self.trie.n_words, n_bytes)
            try:
                self.bounded_masks().keep_within(self.position(), words, n)
                is_done = True
            except LimitError as error:
                make_room(self.engine, error)
            if not is_done:
                self.bounded_masks().keep_within(self.position(), words, n)
        except:
            memset(words, 0, n_bytes)
            raise
        return 0

    cdef BoundedMasks bounded_masks(self):
        if self.bounded is None:
            self.bounded = BoundedMasks(self.chart, self.masks, self.specials, self.token_ids, self.vocabulary)
        return self.bounded

    @cython.final
    cdef bint write_known(self, uint32_t* words, size_t n_bytes) noexcept:
        """Write the mask, and zeros up to `n_bytes`, if it is remembered at the position and nobody is at work; return
        whether it is. Needs no lock."""
        # SAFETY: this thread has the GIL, and another one needs it to free masks. One that changes the chart without the
        # GIL has set `busy`, or has claimed a matcher of the chart.
        cdef Mask* mask = NULL
        if self.history != NULL and is_still(self.chart) and not self.in_use:
            mask = self.remembered()
        if mask == NULL:
            return False
        self.masks.last_used = self.masks.users.clock + 1       # later than anything before
        count_mask(self.chart, MASK_KNOWN)
        copy_mask(mask, words, self.trie.n_words, n_bytes)
        return True

    # ---- masks with a deadline ------------------------------------------------------------------------------------

    cdef bint write_until(self, uint32_t* words, size_t n_bytes, uint64_t n, double seconds) except -1:
        """Write the mask, or a part of it after so many seconds, and zeros up to `n_bytes`; return whether it is complete.
        `n`: the tokens that may still come, ENDLESS: any number."""
        if n == ENDLESS and self.write_known(words, n_bytes):
            return True
        self.claim()
        try:
            return self.write_claimed(words, n_bytes, n, seconds)
        finally:
            self.in_use = 0

    cdef bint write_claimed(self, uint32_t* words, size_t n_bytes, uint64_t n, double seconds) except -1:
        """Do the same for a caller that has claimed the matcher."""
        cdef int64_t time = wall_clock() + nanoseconds(min(seconds, MOST_SECONDS)), before
        before = set_due(time + MOST_LATE_NS // 2)      # of the time to wait for the lock
        try:
            self.lock()
            try:
                return self.write_in_time(words, n_bytes, n, time)
            finally:
                self.unlock()
        except DeadlineError:
            raise LimitError(f"the mask was due after {seconds:g} seconds, and not one allowed token was found within 5 ms after that; "
                             "give it more time").at_limit("seconds") from None
        finally:
            set_due(before)

    cdef bint write_in_time(self, uint32_t* words, size_t n_bytes, uint64_t n, int64_t time) except -1:
        """Do the same, due at a time. Needs the lock."""
        cdef Mask* mask = NULL
        try:
            if n == ENDLESS or self.bounded_masks().is_ample(self.position(), n):
                n = ENDLESS
                mask = self.mask_until(time)
            if mask == NULL:
                return self.write_partial(words, n_bytes, n, time)
        except BudgetError:
            memset(words, 0, n_bytes)
            raise
        self.partial = None
        copy_mask(mask, words, self.trie.n_words, n_bytes)
        return True

    cdef Mask* mask_until(self, int64_t time) except? NULL:
        """Return the mask, or NULL if it is not made before that time, or needs another way. Needs the lock."""
        cdef Mask* mask = NULL
        set_due(time)
        self.engine.regexes.meter.left = 0              # so the first step looks at the clock
        try:
            # What else `tidy` does may take long, and later calls do it.
            history_sweep(&self.chart.histories)
            self.masks.tidy()
            with nogil:
                mask = self.found_mask()
        except (DeadlineError, LimitError):
            pass
        self.masks.note()
        return mask

    cdef bint write_partial(self, uint32_t* words, size_t n_bytes, uint64_t n, int64_t time) except -1:
        """Write what a walk finds in a moment, and zeros up to `n_bytes`; return whether that is the mask. Needs the lock."""
        cdef bint is_complete
        if self.partial is None:
            self.partial = Partial(self.trie)
        is_complete = self.bounded_masks().walk(self.partial, self.history, n, time)
        memcpy(words, self.partial.found, self.trie.n_words * sizeof(uint32_t))
        memset(<char*> words + self.trie.n_words * sizeof(uint32_t), 0, n_bytes - self.trie.n_words * sizeof(uint32_t))
        if is_complete and (n < ENDLESS or self.remembered() != NULL):
            self.partial = None
        if DEBUG:
            self.check()
        return is_complete

    @cython.final
    cdef inline Mask* remembered(self) noexcept nogil:
        """Return the mask if it is remembered at the position, else NULL. Needs the lock, or the GIL and a chart that is
        still."""
        cdef uint32_t position = self.position()
        if position >= self.chart.n_mask_of or self.chart.mask_generation != self.masks.generation:
            return NULL
        return self.chart.mask_of[position]

    cdef Mask* made_mask(self) except NULL:
        """Return the mask. Needs the lock."""
        cdef Mask* mask = NULL
        self.tidy()
        try:
            with nogil:
                mask = self.found_mask()
        except LimitError as error:
            if not is_walk_worth_trying(error):
                raise
        if mask == NULL:
            mask = self.mask_otherwise()
        self.masks.note()
        count_asked()
        return mask

    cdef int write_freely(self, uint32_t* words, size_t n_bytes) except -1 nogil:
        """Write the mask, and zeros up to `n_bytes`, without the GIL. Needs the lock."""
        cdef Mask* mask = self.remembered()             # after another fork has been here
        if mask != NULL:
            count_mask(self.chart, MASK_KNOWN)
        else:
            self.tidy_freely()
            mask = self.found_mask()
            self.masks.note()
            count_asked()
        copy_mask(mask, words, self.trie.n_words, n_bytes)
        return 0

    cdef int write_otherwise(self, uint32_t* words, size_t n_bytes) except -1:
        """Do the same after `write_freely` has met a limit, if `is_walk_worth_trying`."""
        copy_mask(self.mask_otherwise(), words, self.trie.n_words, n_bytes)
        self.masks.note()
        return 0

    cdef Mask* found_mask(self) except NULL nogil:
        """Return the union of answers that is the mask. Needs the lock."""
        cdef uint32_t position = self.position()
        cdef Mask* mask
        cdef uint64_t n_made = self.masks.n_unions_made, n_answered = self.masks.answers.n_answered
        cdef uint64_t n_built = self.masks.answers.parts.n_built, n_rests = self.masks.answers.parts.rests.n_made
        cdef uint64_t n_nodes = self.masks.answers.n_nodes
        cdef uint32_t n_states = self.masks.answers.lexer.states.n
        self.masks.find_extras(self.chart, position, self.specials)
        try:
            mask = self.masks.mask(self.chart, position)
        finally:
            self.chart.n_nodes += self.masks.answers.n_nodes - n_nodes
        if self.masks.answers.parts.n_built != n_built or self.masks.answers.parts.rests.n_made != n_rests:
            count_mask(self.chart, MASK_NEW_PART)
        elif self.masks.answers.lexer.states.n != n_states:
            count_mask(self.chart, MASK_NEW_STATE)
        elif self.masks.answers.n_answered != n_answered:
            count_mask(self.chart, MASK_PARTS_KNOWN)
        elif self.masks.n_unions_made != n_made:
            count_mask(self.chart, MASK_ANSWERS_KNOWN)
        else:
            count_mask(self.chart, MASK_UNION_KNOWN)
        if DEBUG:
            with gil:
                self.check()
        return mask

    cdef int check(self) except -1:
        self.chart.check()
        return self.masks.answers.template.check()

    cdef Mask* mask_otherwise(self) except NULL:
        """Return the mask after `found_mask` has met a limit: make it by the walk, whose work is bounded, and which
        remembers no answers; if that meets a limit, too, begin anew with what was learned forgotten. Needs the lock."""
        cdef Mask* mask = NULL
        try:
            mask = self.walked_mask()
        except LimitError as error:
            make_room(self.engine, error)                   # the error refers to what the call has made: it is dropped here
        if mask != NULL:
            return mask
        try:
            with nogil:
                mask = self.found_mask()
        except LimitError as error:
            if not is_walk_worth_trying(error):
                raise
        return mask if mask != NULL else self.walked_mask()

    cdef Mask* walked_mask(self) except NULL:
        cdef Mask* mask
        cdef uint32_t[::1] words = np.zeros(self.trie.n_words + 1, dtype=np.uint32)
        self.walk_mask(&words[0])
        count_mask(self.chart, MASK_WALKED)
        mask = self.masks.remember(self.chart, self.position(), &words[0])
        if DEBUG:
            self.check()
        return mask

    cdef int walk_mask(self, uint32_t* words) except -1:
        """Write the mask, made by the merged walk."""
        cdef uint32_t position = self.position()
        cdef Walk walk = self.masks.walk
        cdef uint64_t n_nodes
        if walk is None:
            walk = self.masks.walk = Walk(self.trie)
        n_nodes = walk.n_nodes
        self.masks.find_extras(self.chart, position, self.specials)
        if position != FINISHED and self.trie.n_words:
            with nogil:
                if self.engine.rules.has_followed:      # positions that remember texts would be too many
                    walk.fill(self.chart, self.chart.without_memory(position), words)
                    self.masks.look_through_words(self.chart, position, words)
                else:
                    walk.fill(self.chart, position, words)
        self.chart.n_nodes += walk.n_nodes - n_nodes
        self.masks.allow_extras(words)
        return 0

    # ---- the sequence -------------------------------------------------------------------------------------------

    def accept(self, token_id) -> bool:
        """Append the token if the mask allows it, and return True. Otherwise, if the vocabulary does not have the id, or
        if an error has ended the sequence, change nothing and return False."""
        cdef uint32_t token = self.known(token_id), position
        if token == NONE or self.error is not None:
            return False
        if self.budgets is None:
            position = self.looked_up(token)
            if position != DEAD and (not needs_block(self.history) or self.chart.has_room(history_more(self.history))):
                self.push(token, position)
                return True
        self.acquire()
        try:
            self.tidy()
            try:
                position = self.following(token)
            except LimitError as error:
                make_room(self.engine, error)
                position = UNKNOWN
            if position == UNKNOWN:
                position = self.following(token)
            if position == DEAD:
                return False
            self.push(token, position)
            return True
        finally:
            self.release()

    def accept_tokens(self, token_ids) -> int:
        """Append the tokens one after the other, up to the first one that is not allowed, and return how many were.

        After an error, such as `LimitError`, none of them has been appended.
        """
        # Reading the ids may run code of the caller, so it happens before.
        cdef list tokens = [self.known(token_id) for token_id in token_ids]
        cdef Py_ssize_t n = 0
        cdef Matcher other
        self.claim()
        try:
            self.lock()
            try:
                other = self.copy()
            finally:
                self.unlock()
            with Within(self.engine.limits.seconds), cancellable(self, &self.cancels):
                for token in tokens:
                    if not n & 0x3F:
                        check_bounds()
                    if token == NONE or not other.accept(token):
                        break
                    n += 1
            self.lock()
            self.history, other.history = other.history, self.history
            self.unlock()
            if n:
                self.partial = None
        finally:
            self.in_use = 0
        return n

    def validate(self, token_ids) -> int:
        """Return how many of the tokens, from the first on, would be accepted one after the other. Changes nothing."""
        # Reading the ids may run code of the caller, so it happens without the lock.
        cdef list tokens = [self.known(token_id) for token_id in token_ids]
        cdef uint32_t token
        cdef Py_ssize_t n = 0
        cdef Matcher other
        if self.error is not None:
            return 0
        with Within(self.engine.limits.seconds), cancellable(self, &self.cancels):
            if self.budgets is None:
                try:
                    return self.count_accepted(tokens)
                except LimitError as error:
                    if error.limit in FINAL:
                        raise
            # Budgets are counted along a history. And if a limit is reached on the way, only what histories need is kept.
            other = self.fork()
            for token in tokens:
                if not n & 0x3F:
                    check_bounds()
                if token == NONE or not other.accept(token):
                    break
                n += 1
        return n

    cdef Py_ssize_t count_accepted(self, list tokens) except -1:
        cdef uint32_t position, token
        cdef Py_ssize_t n = 0
        self.acquire()
        try:
            self.tidy()
            position = self.position()
            for token in tokens:
                if token == NONE:
                    break
                position = self.after(position, token)
                if position == DEAD:
                    break
                n += 1
            return n
        finally:
            self.release()

    cdef uint32_t known(self, object token_id) except? 0xFFFFFFFE:
        """Return the id as a word, NONE if the vocabulary does not have it."""
        cdef int overflow = 0
        cdef long long value
        if type(token_id) is not int:
            token_id = index(token_id)
        value = PyLong_AsLongLongAndOverflow(token_id, &overflow)
        return <uint32_t> value if not overflow and 0 <= value < self.trie.n_tokens else <uint32_t> NONE

    cdef uint32_t following(self, uint32_t token) except? 0xFFFFFFFF:
        cdef uint32_t before = self.position(), position = self.after(before, token)
        cdef size_t start, n
        if position != DEAD and needs_block(self.history):
            self.chart.look(history_more(self.history))
        if self.budgets is None or position == DEAD:
            return position
        start = self.trie.token_offsets[token]
        n = self.trie.token_offsets[token + 1] - start
        return self.budgets.spend(self.history, position, self.trie.token_buffer + start, n)

    cdef uint32_t after(self, uint32_t position, uint32_t token) except? 0xFFFFFFFF:
        cdef uint32_t target = DEAD, named = DEAD
        cdef size_t start, end, i
        if position != FINISHED:
            start = self.trie.token_offsets[token]
            end = self.trie.token_offsets[token + 1]
            if start < end:
                with nogil:
                    target = self.after_bytes(position, self.trie.token_buffer + start, end - start)
                if self.token_ids is None:
                    if target != DEAD:
                        return target
            self.chart.named.n = 0
            for i in range(0, self.specials.named.n, 2):
                if self.specials.named.data[i] == token:
                    words_push(&self.chart.named, self.specials.named.data[i + 1])
            if self.token_ids is not None:
                for i in range(self.token_ids.n):
                    if has_id(self.token_ids, i, token):
                        words_push(&self.chart.named, self.token_ids.symbols[i])
            if self.chart.named.n:
                target = self.chart.step_named(position, target)
            if target != DEAD:
                # A named EOS is a symbol like any other; if the text is then a sentence, that was its end.
                if is_eos(self.specials, token) and self.chart.is_accepting(target):
                    return FINISHED
                return target
        if is_eos(self.specials, token) and (position == FINISHED or self.chart.is_accepting(position)):
            return FINISHED
        return DEAD

    cdef uint32_t after_bytes(self, uint32_t position, const unsigned char* data, size_t n) except? 0xFFFFFFFF nogil:
        cdef size_t i
        for i in range(n):
            position = self.chart.advance(position, data[i])
            if position == DEAD:
                return DEAD
        return position

    cdef uint32_t looked_up(self, uint32_t token) noexcept:
        """Return the position after a text token if all steps to it are in the tables; else DEAD. Needs no lock."""
        cdef uint32_t position, table
        cdef size_t i, start = self.trie.token_offsets[token], end = self.trie.token_offsets[token + 1]
        # SAFETY: as in `write_known`.
        if self.history == NULL or not is_still(self.chart) or self.in_use or start == end:
            return DEAD
        position = self.position()
        if self.token_ids is not None and row_at(self.chart, position) != NO_ROW:
            return DEAD                                 # the token may be a symbol as well
        for i in range(start, end):
            table = self.chart.table_of.data[position]
            if table >= MET:
                return DEAD
            position = self.chart.tables[table * 256 + self.trie.token_buffer[i]]
            if position == DEAD or position == UNKNOWN:
                return DEAD
        return position

    cdef int push(self, uint32_t token_id, uint32_t position) except -1:
        cdef History* history = self.history
        cdef Block* block = history.last
        cdef Entry* entry
        if self.partial is not None:                    # it is about the text so far
            self.partial = None
        if self.budgets is not None:
            return history_push(&self.chart.histories, history, token_id, position,
                                self.budgets.coming.data, self.budgets.coming.n)
        if history.n != block.n or block.n == block.capacity:
            return history_push(&self.chart.histories, history, token_id, position, NULL, 0)
        entry = entries_of(block) + block.n     # the same, for the most frequent case
        entry.token = token_id
        entry.position = position
        history.n = block.n = block.n + 1
        return 0

    def rollback(self, n) -> None:
        """Take back the last `n` tokens. This costs nothing, because rows never change.

        Only if the grammar has reached its limits, earlier tokens may have to be accepted once more.
        """
        cdef size_t left
        cdef bint is_known
        n = index(n)
        self.claim()
        try:
            if not 0 <= n <= self.n_tokens:
                raise ValueError(f"cannot take back {n} tokens: {self.n_tokens} have been accepted")
            left = n_tokens_of(self.history) - <size_t> n
            self.lock()                                 # from here on, no other thread can discard positions
            is_known = history_position(self.history, left) != FORGOTTEN
            if is_known:
                history_cut(&self.chart.histories, self.history, left)
            self.unlock()
            if not is_known:
                self.go_back(left)
            if n:
                self.error = self.partial = None        # they came after the tokens that are left
            if self._cut is not None and left < <size_t> self._cut.n_tokens:
                self._cut = None
        finally:
            self.in_use = 0

    cdef int go_back(self, size_t left) except -1:
        """Go back to a position that was discarded: a fork accepts the tokens from the last known position up to it."""
        cdef Matcher other
        cdef size_t known = left
        self.lock()
        try:
            other = self.copy()
            history_cut(&self.chart.histories, other.history, left)
            tokens = history_tokens(other.history)
            while last_entry(other.history).position == FORGOTTEN:
                known -= 1
                history_cut(&self.chart.histories, other.history, known)
        finally:
            self.unlock()
        other.error = None                              # it is about what comes later
        with Within(self.engine.limits.seconds), cancellable(self, &self.cancels):
            for known, token in enumerate(tokens[known:]):
                if not known & 0x3F:
                    check_bounds()
                if not other.accept(token):
                    raise AssertionError("this is a bug in earleymask: a token that was accepted before is not accepted again")
        self.lock()
        self.history, other.history = other.history, self.history
        self.unlock()
        return 0

    def reset(self) -> None:
        """Take back all tokens."""
        self.rollback(self.n_tokens)
        self.error = None

    def fork(self) -> Matcher:
        """Return an independent matcher at the same place. It shares all that was learned and the tokens so far, so a
        fork takes the same time and memory after any number of tokens. Several threads may fork a matcher at once."""
        self.claim(is_fork=True)
        try:
            self.lock()
            try:
                return self.copy()
            finally:
                self.unlock()
        finally:
            self.in_use -= 1

    cdef Matcher copy(self):
        """Return a fork. Needs the lock."""
        cdef type cls = type(self)
        cdef Matcher other = cls.__new__(cls, self.grammar, self.vocabulary)
        other.engine = self.engine      # the grammar may have another one by now
        other.eos_token_ids = self.eos_token_ids
        other.error = self.error
        other.chart = self.chart
        other.masks = self.masks
        other.specials = self.specials
        other.token_ids = self.token_ids
        other.budgets = self.budgets
        other._cut = self._cut
        other.bounded = self.bounded
        history_sweep(&self.chart.histories)
        if not self.chart.has_room(sizeof(History)):
            try:
                self.chart.look(sizeof(History))
            except LimitError as error:
                make_room(self.engine, error)
            self.chart.look(sizeof(History))
        other.history = history_fork(&self.chart.histories, self.history)
        return other

    def cancel(self) -> None:
        """End the call of this matcher that is running in another thread, if there is one: it raises `MatcherCancelledError`,
        and the matcher is as it was before the call. Returns at once.

        This is the one method that may be called while another call is running. That call ends at its next look at the
        clock, mostly within a millisecond; it may also be done before that. A later call is not affected.
        """
        self.cancels.n += 1

    def _cancellable(self):
        """Return a context manager: `cancel` ends the calls of other matchers that this thread makes within it."""
        return cancellable(self, &self.cancels)

    def is_accepting(self) -> bool:
        """Return whether the accepted text is a sentence: EOS is allowed, or has been accepted."""
        self.acquire()
        try:
            return self.error is None and bool(self.position() == FINISHED or self.chart.is_accepting(self.position()))
        finally:
            self.release()

    def is_finished(self) -> bool:
        """Return whether an EOS token has been accepted, or an error has ended the sequence. From then on, only EOS tokens
        are allowed."""
        return self.error is not None or self.n_tokens > 0 and self.position() == FINISHED

    @property
    def n_tokens(self) -> int:
        """The number of accepted tokens."""
        if self.history == NULL:
            raise ValueError(f"this {type(self).__name__} is not set up: Matcher.__init__ was not called or has failed")
        return n_tokens_of(self.history)

    @property
    def tokens(self) -> list[int]:
        """The ids of the accepted tokens, a new list."""
        cdef list tokens = [0] * self.n_tokens
        # To make the list may start a garbage collection, and so run code that accepts or takes back tokens.
        while <size_t> len(tokens) != n_tokens_of(self.history):
            tokens = [0] * n_tokens_of(self.history)
        history_write_tokens(self.history, tokens)
        return tokens

    def __reduce__(self):
        return rebuild, (type(self), self.grammar, self.vocabulary, self.tokens, self.chosen_eos())

    def snapshot(self) -> bytes:
        """Return this matcher as some bytes, from which `restore` makes an equal one: to move a request to another process, or
        to keep it.

        They hold the accepted tokens, the ids that end the sequence, and what has ended it (`error`); of the grammar and the
        vocabulary, only fingerprints. Raises TypeError if the grammar has no fingerprint.
        """
        from earleymask.earley._snapshot import write       # imported lazily
        self.n_tokens                                       # raises if it is not set up
        return write(fingerprint(self.grammar), self.vocabulary.fingerprint, self.chosen_eos(), self.tokens, self.error)

    @classmethod
    def restore(cls, snapshot, grammar, vocabulary):
        """Return the matcher of which `snapshot` was taken.

        The tokens are accepted again, one after the other, within `Limits.seconds` of the grammar. Snapshots may come from
        strangers: any bytes make a matcher whose tokens the grammar accepts, or raise one of the errors below.

        Args:
            snapshot: bytes that `snapshot` has returned.
            grammar: the grammar of that matcher, or an equal one; None if `only_eos` had made the matcher.
            vocabulary: its vocabulary, or an equal one.

        Raises:
            SnapshotError: it was taken with another grammar or vocabulary, has another version of the format, or is
                damaged; `cause` says which of these.
            RejectedTokenError, VocabularyError: its tokens, or its EOS tokens, are not possible. No matcher had them.
            LimitError: the tokens take longer, or more memory, than the limits of the grammar allow.
        """
        from earleymask.earley._snapshot import read, refused       # imported lazily
        grammar_then, vocabulary_then, eos_token_ids, tokens, error = read(snapshot)
        if not isinstance(getattr(vocabulary, "trie", None), TokenTrie):
            vocabulary_reader(vocabulary)
        if not vocabulary.fingerprint.startswith(vocabulary_then):
            raise refused("vocabulary", f"the snapshot was taken with another vocabulary, of fingerprint {vocabulary_then}..., and "
                          f"not with {vocabulary!r}")
        if grammar is None:
            grammar = ONLY_EOS
        if not isinstance(getattr(grammar, "engine", None), Engine):
            grammar = grammar_reader(grammar, vocabulary)
        if not fingerprint(grammar).startswith(grammar_then):
            raise refused("grammar", f"the snapshot was taken with another grammar, of fingerprint {grammar_then}..., and not with "
                          f"{grammar!r}, of {fingerprint(grammar)[:len(grammar_then)]}...; if Matcher.only_eos made the matcher, "
                          "give None for the grammar")
        cdef Matcher matcher
        with Within(grammar.engine.limits.seconds):
            matcher = rebuild(cls, grammar, vocabulary, tokens, eos_token_ids)
        matcher.error = error
        return matcher

    cdef tuple chosen_eos(self):
        """Return the EOS tokens if they are not those of the vocabulary, else None."""
        return None if self.eos_token_ids == self.vocabulary.eos_token_ids else self.eos_token_ids

    # ---- what comes next ----------------------------------------------------------------------------------------

    def tokens_to_finish(self) -> int:
        """Return with how many tokens, EOS included, a sentence can be finished from here. If that is n, some allowed
        token leaves n - 1.

        It may be more than the fewest: docs/serving.md ("Budgets") says when. 0 once the sequence has ended.

        Raises:
            BudgetError: no such number is known, as if the vocabulary lacks the tokens of some bytes.
        """
        cdef uint64_t needed = ENDLESS
        cdef bint is_done = False
        if self.error is not None:
            return 0
        self.acquire()
        try:
            self.tidy()
            try:
                needed = self.bounded_masks().needed(self.position())
                is_done = True
            except LimitError as error:
                make_room(self.engine, error)
            if not is_done:
                needed = self.bounded_masks().needed(self.position())
        finally:
            self.release()
        if needed >= ENDLESS:
            raise beyond_budget(None, None, self.vocabulary.missing_bytes)
        return needed

    def forced_bytes(self) -> bytes:
        """Return the bytes with which every continuation begins, at most 65,536 of them."""
        self.acquire()
        try:
            self.tidy()
            try:
                return self.force()
            except LimitError as error:
                make_room(self.engine, error)
            return self.force()
        finally:
            self.release()

    def forced_tokens(self) -> list[int]:
        """Return the tokens with which every continuation begins, if it is cut as the tokenizer cuts it: those of
        `forced_bytes()`, without the last ones if what follows may change them.

        The tokenizer's cut of the whole text, the accepted tokens included, begins with the accepted tokens and these,
        however it continues; if that is not certain, there are none. Accept them, and score them all in one pass of the
        model. docs/serving.md says how they are found. JSON Schemas leave the indent open by default, so little is
        forced there; `whitespace="spaced"` or `"compact"` forces more.

        Raises VocabularyError if the vocabulary has no `encode`.
        """
        from earleymask.earley.forced import forced_tokens       # imported lazily
        return forced_tokens(self)

    def _crossing(self, written) -> tuple[bytes, bool, list[tuple[list[int], list[int]]]]:
        """Return `forced_bytes()`; whether something else than text may come after them; and the tokens that cross their
        end, for each length of the known text that such a token may begin with. `written`: the text before them."""
        self.acquire()
        try:
            self.tidy()
            try:
                return self.find_crossing(written)
            except LimitError as error:
                make_room(self.engine, error)
            return self.find_crossing(written)
        finally:
            self.release()

    cdef tuple find_crossing(self, bytes written):
        cdef uint32_t end = self.position()
        forced = self.force(&end)
        if not forced:
            return forced, True, []
        may_stop = bool(end == FINISHED or self.chart.is_accepting(end) or self.expects_named(end))
        return forced, may_stop, find_crossing(self.chart, self.trie, end, written + forced)

    cdef bytes force(self, uint32_t* end=NULL):
        """Return the bytes with which every continuation begins; `end` is set to the position after them."""
        cdef uint32_t position = self.position(), byte, only = 0, choices
        forced = bytearray()
        if self.error is not None:
            return b""
        while position != FINISHED and not self.chart.is_accepting(position) and len(forced) < MAX_FORCED_BYTES:
            if self.expects_named(position):
                break
            choices = 0
            for byte in range(256):
                if self.chart.advance(position, byte) != DEAD:
                    choices += 1
                    only = byte
                    if choices > 1:
                        break
            if choices != 1:
                break
            forced.append(only)
            position = self.chart.advance(position, only)
        if end != NULL:
            end[0] = position
        return bytes(forced)

    cdef bint expects_named(self, uint32_t position) except -1:
        """Return whether a special token, or a token out of a set of ids, is allowed here."""
        cdef size_t i
        for i in range(1, self.specials.named.n, 2):
            if self.chart.expects_special(position, self.specials.named.data[i]):
                return True
        if self.token_ids is not None:
            for i in range(self.token_ids.n):
                if self.chart.expects_special(position, self.token_ids.symbols[i]):
                    return True
        return False

    def expected(self) -> list[str]:
        """Return the names of the terminals and special tokens that may begin or continue here, in the grammar's order.
        For messages."""
        cdef uint32_t position
        cdef size_t i
        self.acquire()
        try:
            self.tidy()
            position = self.position()
            if position == FINISHED or self.error is not None:
                return []
            found = self.chart.terminals_at(position)
            for i in range(1, self.specials.named.n, 2):
                if self.chart.expects_special(position, self.specials.named.data[i]):
                    found.add(self.specials.named.data[i])
            for i in range(self.token_ids.n if self.token_ids is not None else 0):
                if self.chart.expects_special(position, self.token_ids.symbols[i]):
                    found.add(self.token_ids.symbols[i])
            # Lookaheads split a terminal into several of its name.
            return list(dict.fromkeys([self.engine.rules.names[symbol] for symbol in sorted(found)]))
        finally:
            self.release()

    def ahead(self, *, seconds=0.01):
        """Make the masks of likely continuations in the background, while the model computes. Return at once.

        Call it after a mask: those after the next few tokens are then known, or made faster. Masks are the same without
        it, and none that is asked for waits longer than some tens of microseconds for it. `seconds`: processor time
        that it may take. What an earlier call for this matcher has not done is left. Returns a `Warming`, as
        `Grammar.warm` does.
        """
        from earleymask.earley._likely import LikelyTexts       # imported lazily
        from earleymask.earley.warming import Warming
        texts = LikelyTexts(self.fork(), MOST_BYTES_AHEAD, seconds)
        if self.warming is not None:
            self.warming.stop()                                 # it is for an earlier position
        self.warming = Warming(texts)
        return self.warming

    # ---- attributes of rules ------------------------------------------------------------------------------------

    def temperature(self) -> float | None:
        """Return the temperature for the next token: the attribute `temperature` of the rule that is being written.

        If lexemes of several rules may begin or continue here, return the highest of their temperatures; None if none
        of these rules has one, or the sequence is finished.
        """
        temperatures = self.engine.temperatures
        if temperatures is None or self.is_finished():
            return None
        self.acquire()
        try:
            found = self.chart.terminals_at(self.position(), temperatures)
        finally:
            self.release()
        return max([temperatures[terminal] for terminal in found], default=None)

    def captures(self) -> list[tuple[str, bytes]]:
        """Return what rules with the attribute `capture` have matched so far: names and texts, in the order in which
        they begin.

        A slower parser, which keeps all readings, parses the text once more. docs/extensions.md says which of several
        readings is reported.
        """
        self.check_free()
        if self.engine.captures is None:
            return []
        from earleymask.earley.freeing import Inspecting        # imported lazily
        with Inspecting(self.engine.limits, "finding captures"), cancellable(self, &self.cancels):
            return self.found_captures()

    cdef list found_captures(self):
        cdef bint finished
        from earleymask.earley._captures import find_captures   # imported lazily
        self.acquire()
        try:
            self.tidy()
            finished = self.position() == FINISHED
            tokens = self.spelled()
            n_least = len(tokens)
            ids = history_tokens(self.history)
            while finished and n_least and is_eos(self.specials, ids[n_least - 1]):
                n_least -= 1
            try:
                return find_captures(self.engine, tokens, n_least)
            except LimitError as error:
                if error.limit == "matcher_bytes":      # of the readings themselves
                    raise
                make_room(self.engine, error)
            return find_captures(self.engine, tokens, n_least)
        finally:
            self.release()

    cdef list spelled(self):
        """Return the bytes of each accepted token, with the symbols of the grammar that the token may be."""
        cdef uint32_t token
        cdef size_t k, start, n = 0
        cdef dict known = {}
        count(50 * <int64_t> n_tokens_of(self.history))
        tokens = []
        keep(tokens)
        for token in history_tokens(self.history):
            n += 1
            if not n & 0x3FF:
                tick()
            found = known.get(token)
            if found is not None:
                tokens.append(found)
                continue
            start = self.trie.token_offsets[token]
            symbols = []
            for k in range(0, self.specials.named.n, 2):
                if self.specials.named.data[k] == token:
                    symbols.append(self.specials.named.data[k + 1])
            if self.token_ids is not None:
                symbols += [self.token_ids.symbols[k] for k in range(self.token_ids.n) if has_id(self.token_ids, k, token)]
            found = known[token] = (<char*> self.trie.token_buffer)[start:self.trie.token_offsets[token + 1]], symbols
            tokens.append(found)
        return tokens

    def explain(self, what=None):
        """Return why a token or a text may not come next, as an `Explanation`.

        `what` is a token id, a text (str or bytes), or None for the end of the text. The answer has the byte at which
        it fails, the characters that may stand there instead, the rules that are alive there, the keywords of a JSON
        Schema that refuse it, and the nearest text that is allowed. `str()` of it is for people; if nothing is refused,
        its `is_allowed` is true.

        The text is parsed once more, in a copy of the grammar: slow, but masks are not touched.
        """
        self.check_free()
        if self.error is not None:
            from earleymask.earley.explain import explain_ended     # imported lazily
            return explain_ended(self, what)
        with cancellable(self, &self.cancels):
            return explained(type(self), self.chosen_eos(), self.engine.limits, self.grammar, self.vocabulary, self.tokens, what)

    def _text(self) -> bytes:
        """Return the bytes of all accepted tokens."""
        cdef uint32_t token
        cdef size_t n = 0
        text = bytearray()
        for token in self.tokens:
            text += (<char*> self.trie.token_buffer)[self.trie.token_offsets[token]:self.trie.token_offsets[token + 1]]
            n += 1
            if not n & 0xFFF:
                tick()
        return bytes(text)

    def _explorer(self):
        """Return what `explain` looks at this matcher through."""
        from earleymask.earley._explain import Explorer     # imported lazily
        if self.history == NULL:
            raise ValueError(f"this {type(self).__name__} is not set up: Matcher.__init__ was not called or has failed")
        return Explorer(self.chart, self.position(), lambda: self.spelled(), self.budgets is not None)

    def __repr__(self) -> str:
        if self.history == NULL:
            return f"<{type(self).__name__} that is not set up>"
        n = self.n_tokens
        said = f"after {n:,} token{'' if n == 1 else 's'}"
        if self.is_finished():
            said += ", finished"
        elif self.engine.try_acquire():         # without waiting, for this is called by debuggers, too
            try:
                if self.chart.is_accepting(self.position()):
                    said += ", may end"
            finally:
                self.engine.release()
        return f"<{type(self).__name__} {said}: {self.grammar!r}, {self.vocabulary!r}>"

    def stats(self) -> dict[str, int]:
        """Return counters of this matcher and its forks, and of the grammar's engine (see `Engine.stats`).

        - `masks`: masks asked for; each counts as one of the next seven.
        - `masks_known`: the position's mask was remembered.
        - `masks_union_known`: the same answers had been united before.
        - `masks_answers_known`: all answers were known.
        - `masks_parts_known`: all parts and lexer states were known.
        - `masks_new_state`: all parts were known, but not all lexer states.
        - `masks_new_part`: a part, or the rests of tokens, had to be made.
        - `masks_walked`: made by the merged walk.
        - `nodes_visited`: trie nodes that answers and walks visited.
        - `steps`: steps by a byte that were computed; all others were looked up.
        - `rows_made`, `rows_static`: rows computed, and how many of them by a remembered skeleton only.
        - `rows`, `continuations`, `positions`, `tables`, `histories` (one for each matcher): kept at the moment.
        - `text_bytes`: memory that the accepted tokens of all forks need.
        - `walk_bytes`: other memory in use, which the next collection frees.
        - `collections`, `flushes`: times that unused rows, and all tables, were dropped.
        """
        cdef size_t reached
        self.acquire()
        try:
            reached = self.chart.n_words_reached()
            stats = {
                "masks": sum(self.chart.n_masks),
                "masks_known": self.chart.n_masks[MASK_KNOWN],
                "masks_union_known": self.chart.n_masks[MASK_UNION_KNOWN],
                "masks_answers_known": self.chart.n_masks[MASK_ANSWERS_KNOWN],
                "masks_parts_known": self.chart.n_masks[MASK_PARTS_KNOWN],
                "masks_new_state": self.chart.n_masks[MASK_NEW_STATE],
                "masks_new_part": self.chart.n_masks[MASK_NEW_PART],
                "masks_walked": self.chart.n_masks[MASK_WALKED],
                "nodes_visited": self.chart.n_nodes,
                "steps": self.chart.n_steps,
                "rows_made": self.chart.n_rows_made,
                "rows_static": self.chart.n_rows_static,
                "rows": self.chart.rows.n,
                "continuations": self.chart.continuations.n,
                "positions": self.chart.positions.n,
                "tables": self.chart.n_tables,
                "histories": self.chart.histories.n,
                "text_bytes": reached * sizeof(uint32_t) + self.chart.histories.n_bytes,
                "walk_bytes": self.chart.n_bytes() - reached * sizeof(uint32_t),
                "collections": self.chart.n_collections,
                "flushes": self.chart.n_flushes,
            }
        finally:
            self.release()
        stats.update(self.engine.stats())
        return stats

    # ---- inside -------------------------------------------------------------------------------------------------

    @cython.final
    cdef uint32_t position(self) noexcept nogil:
        return last_entry(self.history).position

    @cython.final
    cdef int acquire(self) except -1:
        """Begin a call: no other one may use this matcher before `release`, and no other thread its grammar."""
        self.claim()
        try:
            self.lock()
        except:
            self.in_use = 0
            raise
        return 0

    @cython.final
    cdef void release(self) noexcept:
        self.unlock()
        self.in_use = 0

    @cython.final
    cdef int claim(self, bint is_fork=False) except -1:
        # SAFETY: this thread has the GIL, so no other one comes between the test and the assignment.
        if self.history == NULL:
            raise ValueError(f"this {type(self).__name__} is not set up: Matcher.__init__ was not called or has failed")
        if self.in_use and self.used_in != n_forks:     # by threads that have not come along into this child
            self.in_use = 0
        self.used_in = n_forks
        if self.in_use == ALONE or self.in_use and not is_fork:
            raise MatcherInUseError(
                f"another call of this {type(self).__name__} has not returned, or `Filling.wait` has not been called: one "
                "thread at a time may use a matcher. Nothing has changed. Use a fork() in each thread, or a lock of your "
                "own around the calls")
        if not self.in_use:                             # else what was cancelled is a call that is running
            self.cancels.n_before = self.cancels.n
        self.in_use = self.in_use + 1 if is_fork else ALONE
        return 0

    cdef int check_free(self) except -1:
        """Raise what other calls would, if another one has not returned."""
        self.claim(is_fork=True)
        self.in_use -= 1
        return 0

    @cython.final
    cdef int lock(self) except -1:
        self.engine.acquire_for(&self.cancels)
        self.chart.busy = True
        return 0

    cdef int lock_freely(self) except -1 nogil:
        self.engine.acquire_freely(&self.cancels)
        self.chart.busy = True
        return 0

    @cython.final
    cdef void unlock(self) noexcept nogil:
        self.chart.busy = False
        self.engine.release()

    cdef int tidy_freely(self) except -1 nogil:
        """Do what `tidy` does, with the GIL only where it frees something."""
        cdef bint is_full = self.engine.is_full()
        if is_full or must_sweep(&self.chart.histories) or self.masks.has_too_much():
            with gil:
                if is_full:
                    forget_in_call(self.engine)
                self.tidy()
            return 0
        self.masks.free_scratch()
        if self.chart.n_words() > self.chart.collect_at:
            self.engine.regexes.meter.look_at_clock()       # it may take some milliseconds
            self.chart.collect()
        return 0

    cdef int tidy(self) except -1:
        history_sweep(&self.chart.histories)
        if self.engine.is_full():
            forget_in_call(self.engine)
        self.masks.tidy()
        if self.chart.n_words() > self.chart.collect_at:
            self.engine.regexes.meter.look_at_clock()       # it may take some milliseconds
            with nogil:
                self.chart.collect()
        return 0


cdef bint check_on_error(on_error) except -1:
    """Return whether `on_error` is "end"; raise ValueError if it is not "raise" either."""
    if on_error != "end" and on_error != RAISE:
        raise ValueError(f'on_error must be "raise" or "end", not {on_error!r}')
    return on_error == "end"


cdef double checked_seconds(seconds) except -1:
    """Return the seconds after which a mask is due."""
    cdef double checked = seconds
    if not checked >= 0:
        raise ValueError(f"seconds must be 0 or more, or None for a mask that is never due, not {seconds!r}")
    return checked


cdef inline void copy_mask(const Mask* mask, uint32_t* words, size_t n_words, size_t n_bytes) noexcept nogil:
    cdef size_t i
    if mask.bits != NULL:
        memcpy(words, mask.bits, n_words * sizeof(uint32_t))
    else:
        memset(words, 0, n_words * sizeof(uint32_t))
    for i in range(mask.n_tokens):
        mask_allow(words, mask.tokens[i])
    if n_bytes > n_words * sizeof(uint32_t):        # PERF: a call of memset for nothing took 0.5% of a recurring mask
        memset(<char*> words + n_words * sizeof(uint32_t), 0, n_bytes - n_words * sizeof(uint32_t))


cdef bint is_walk_worth_trying(error) except -1:
    """Return whether a mask that has met a limit may be made in another way."""
    return error.limit != "seconds" and error.limit != "load_bytes"


cdef inline bint needs_block(const History* history) noexcept nogil:
    """Return whether the next token takes more memory than has been allocated for the history."""
    return history.n != history.last.n or history.n == history.last.capacity


def rebuild(cls, grammar, vocabulary, tokens, eos_token_ids=None):
    """Make a matcher from its pickle or snapshot: grammar, vocabulary and tokens, and EOS tokens that are not the
    vocabulary's."""
    matcher = cls(grammar, vocabulary) if eos_token_ids is None else cls(grammar, vocabulary, eos_token_ids)
    for index, token_id in enumerate(tokens):
        if not index & 0x3F:
            tick()
            check_bounds()
        if not matcher.accept(token_id):
            error = RejectedTokenError(f"the grammar does not accept token {token_id} at index {index}",
                                       index=index, token_id=token_id)
            limits = (<Matcher> matcher).engine.limits
            raise error.explained_by(
                partial(explained, cls, eos_token_ids, limits, grammar, vocabulary, list(tokens[:index]), token_id))
    return matcher


cdef str fingerprint(grammar):
    """Return the fingerprint of a grammar. Raises TypeError if it has none."""
    found = getattr(grammar, "fingerprint", None)
    if not isinstance(found, str):
        raise TypeError(f"a snapshot names the grammar by its fingerprint, which a {type(grammar).__name__} does not have; make the "
                        "grammar with Grammar.from_lark, or another method of Grammar")
    return found


def explained(cls, eos_token_ids, limits, grammar, vocabulary, tokens, what):
    """Explain why `what` may not come after tokens that the grammar accepts, in a copy of the grammar."""
    from earleymask.earley.explain import explain           # imported lazily
    return explain(partial(rebuild, cls, eos_token_ids=eos_token_ids), limits, grammar, vocabulary, tokens, what)


cdef int open_row(object row, Py_buffer* buffer, size_t n_words, size_t n_tokens) except -1:
    """Check a bitmask row and get its memory, to be released with PyBuffer_Release."""
    # PERF: the buffer says all that is asked of an array. Its attributes are Python objects: 2,250 instructions in place
    # of 700, a quarter of the time of a known mask.
    if type(row) is NDARRAY:
        try:
            PyObject_GetBuffer(row, buffer, PyBUF_WRITABLE | PyBUF_FORMAT | PyBUF_C_CONTIGUOUS)
            if buffer.ndim == 1 and buffer.itemsize == sizeof(uint32_t) and is_int(buffer.format):
                return check_room(buffer, n_words, n_tokens)
            PyBuffer_Release(buffer)
        except (BufferError, ValueError):
            pass                                        # it is read-only, has gaps, or is too small: see below
    if not isinstance(row, NDARRAY) and hasattr(row, "data_ptr"):       # a torch tensor
        if row.device.type != "cpu":
            raise ValueError(f"the bitmask row is on {row.device}; fill a row on the CPU and copy it there")
        row = row.detach().numpy()
    if not isinstance(row, NDARRAY):
        raise TypeError(f"the bitmask row is a {type(row).__name__}; give a numpy array or torch tensor of int32")
    if row.dtype is not INT32 and row.dtype != INT32 or row.ndim != 1 or not row.flags.c_contiguous or not row.flags.writeable:
        raise ValueError(f"the bitmask row has dtype {row.dtype} and shape {row.shape}; give a contiguous, writable int32 "
                         "array of one dimension")
    PyObject_GetBuffer(row, buffer, PyBUF_WRITABLE)
    return check_room(buffer, n_words, n_tokens)


cdef inline bint is_int(const char* format_) noexcept nogil:
    """Return whether this is the format of signed integers in the machine's order of bytes: `i`, or `l` on Windows."""
    return (format_[0] == c"i" or format_[0] == c"l") and format_[1] == 0


cdef int check_room(Py_buffer* buffer, size_t n_words, size_t n_tokens) except -1:
    """Check the size and address of a buffer, which is released if there is an error."""
    if <size_t> buffer.len < n_words * sizeof(uint32_t):
        n = buffer.len // sizeof(uint32_t)
        PyBuffer_Release(buffer)
        raise ValueError(f"the bitmask row has {n} words; a vocabulary of {n_tokens} tokens needs {n_words}")
    if <size_t> buffer.buf % sizeof(uint32_t):    # numpy allows such views of bytes; words are written whole
        PyBuffer_Release(buffer)
        raise ValueError("the bitmask row begins at an address that is no multiple of 4; use an array that numpy has allocated")
    return 0
