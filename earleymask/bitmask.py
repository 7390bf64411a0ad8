"""Packed masks for batches: fill many rows at once. `applying.py` applies them to logits.

A bitmask row is a vector of int32 words: bit `t & 31` of word `t >> 5` is 1 if token `t` is allowed. xgrammar and
llguidance use this layout, too, so serving code for one of them can use these masks.
"""

from __future__ import annotations

import operator
import os
import threading
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeGuard

import numpy as np

from .earley import Matcher
from .earley._batch import Batch
from .errors import BatchError, VocabularyError
from .trie import Vocabulary

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    import numpy.typing as npt
    import torch

OnError: TypeAlias = Literal["raise", "end"]

TOKENS_PER_WORD = 32
SECONDS_ALONE = 0.0004
"""How long the caller's thread fills rows by itself. Then it knows about how long the others will take."""
SECONDS_WORTH = 0.0016
"""How long they must take for other threads to be asked for help: to wake one, and to let it have the interpreter's
lock where rules are made, takes as long as many masks."""


def allocate_bitmask(n_rows: int, vocabulary: Vocabulary | int) -> npt.NDArray[np.int32]:
    """Return rows for masks in which all bits are set: they leave logits as they are until they are filled.

    Shape `(n_rows, ceil(size / 32))`, int32; `vocabulary` is a `Vocabulary` or the size. `torch.from_numpy` makes a
    tensor of it, in the same memory. Raises ValueError if a number is negative.
    """
    size = vocabulary.size if isinstance(vocabulary, Vocabulary) else vocabulary
    if n_rows < 0 or size < 0:
        raise ValueError(f"{n_rows} rows for {size} tokens: both must be at least 0")
    return np.full((n_rows, -(-size // TOKENS_PER_WORD)), -1, np.int32)


def fill_bitmasks(
    matchers: Sequence[Matcher | None],
    rows: npt.NDArray[np.int32] | torch.Tensor,
    *,
    threads: int = 1,
    indices: Sequence[int] | None = None,
    on_error: OnError = "raise",
    remaining: Sequence[int | None] | None = None,
    seconds: float | None = None,
) -> npt.NDArray[np.bool_] | None:
    """Fill row `i` of `rows` with the mask of `matchers[i]`.

    Args:
        matchers: one for each sequence, or None for a sequence without a constraint: all bits of its row are set, those
            beyond the vocabulary, too, and `apply_bitmask` leaves its logits as they are. The mask of a matcher that is
            listed several times is made once.
        rows: int32, numpy or torch on the CPU, of shape `(len(matchers), n_words)` or taller; further rows stay as they
            are. `n_words` is at least `ceil(vocab.size / 32)`. Words and bits beyond the vocabulary are cleared.
        threads: how many rows are filled at the same time. Masks are made without the GIL. One thread makes all masks
            of a grammar, so threads help batches of different grammars; they are asked for help if the batch takes
            about 2 ms or more. Masks that are remembered are copied first, by the caller's thread, which also calls a
            `fill_bitmask` of one's own.
        indices: the row of each matcher, different ones: then `matchers[i]` fills row `indices[i]`, and the other rows
            stay as they are. None: row `i`.
        on_error: "raise", or "end": a sequence whose mask cannot be made ends, see `Matcher.error`, and its row holds
            the EOS tokens alone.
        remaining: for each matcher, how many tokens may still come, EOS included, or None for any number; as for
            `Matcher.fill_bitmask`.
        seconds: None, or the time after which all rows are due, by a clock on the wall. The caller's thread fills them
            one by one: each may take an equal share of the time that is left, and rows that are not complete
            continue while there is time. A row that is begun later takes about a millisecond if its mask is not known.
            A matcher continues one row: for one that is listed with several numbers of tokens, give forks. A
            `fill_bitmask` of one's own is called with `seconds`, and with `remaining` if that is given.

    Returns None, or with `seconds` for each matcher whether its row is complete, see `Matcher.fill_bitmask`.

    Until it returns, other calls of the matchers raise `MatcherInUseError`.

    Raises:
        VocabularyError: the matchers have different vocabularies, so the rows cannot be for one model.
        TypeError, ValueError: `matchers` are no matchers, `rows` have another dtype or shape, are too narrow or
            read-only, or `indices` and `remaining` are not one for each matcher. Nothing has been written then.
        BatchError: some rows failed, and are all zero; the others are filled. It has the errors by the index of the
            matcher. With `on_error="end"`, only those that do not end a sequence: of matchers that another call uses or
            has cancelled, and what the handler of a signal has raised.
    """
    given = _Rows(matchers, rows, threads, indices, on_error, remaining)
    if seconds is not None:
        return given.fill_until(seconds)
    plain = given.in_batch()
    batch = given.batch
    try:
        given.free_rows()
        try:
            batch.claim(plain, strict=False)
            if threads > 1:
                n_left, began = batch.n_left, time.perf_counter()
                batch.fill(SECONDS_ALONE)
                n_done, n_left = n_left - batch.n_left, batch.n_left
                if n_left * (time.perf_counter() - began) > n_done * SECONDS_WORTH:
                    given.begin(min(threads, n_left) - 1)
            batch.fill()
            given.wait()
        finally:
            batch.give_back()  # at first: the handler of a signal may end this block
            given.leave()
        if len(plain) < len(given.first_numbers):
            given.fill_others(set(given.first_numbers) - set(plain))
    except BaseException:
        given.clear(plain)
        raise
    given.end()
    return None


def start_bitmasks(
    matchers: Sequence[Matcher | None],
    rows: npt.NDArray[np.int32] | torch.Tensor,
    *,
    threads: int = 1,
    indices: Sequence[int] | None = None,
    on_error: OnError = "raise",
    remaining: Sequence[int | None] | None = None,
) -> Filling:
    """Begin to fill row `i` of `rows` with the mask of `matchers[i]`, and return at once: the model computes meanwhile.

        filling = earleymask.start_bitmasks(matchers, rows)
        logits = model(...)
        filling.wait()
        earleymask.apply_bitmask(logits, rows)

    Until `wait` has returned, every other call of the matchers raises `MatcherInUseError`, and the rows must be left
    alone.

    Args:
        matchers, rows, indices, on_error, remaining: as for `fill_bitmasks`. Of a matcher that is listed with several
            numbers of tokens, `wait` fills the further rows.
        threads: how many rows are filled at the same time in the background. `wait` fills what no thread has begun.

    Raises:
        MatcherInUseError: a call of one of the matchers has not returned.
        TypeError: a matcher has a `fill_bitmask` of its own, which could not be called while it is reserved.
        VocabularyError, TypeError, ValueError: as `fill_bitmasks` does. Nothing has been written in all these cases.
    """
    given = _Rows(matchers, rows, threads, indices, on_error, remaining)
    for matcher in given.matchers:
        if not _is_plain(matcher):
            raise TypeError(
                f"{type(matcher).__name__} has a fill_bitmask of its own, and only that of Matcher can be called in "
                "the background; use fill_bitmasks"
            )
    return Filling(given, threads)


class Filling:
    """Rows that are being filled in the background, see `start_bitmasks`."""

    def __init__(self, given: _Rows, threads: int) -> None:
        self._given = given
        self._lock = threading.RLock()  # several threads may wait, and the handler of a signal meanwhile
        self._is_over = False
        try:
            given.batch.claim(given.in_batch(), strict=True)
            given.free_rows()
            given.begin(min(threads, given.batch.n_left))
        except BaseException:
            given.batch.give_back()
            given.leave()
            raise

    @property
    def is_done(self) -> bool:
        """Whether `wait` returns or raises at once: all rows have been filled, or this is a forked child."""
        given = self._given
        return given.is_in_child or (not given.batch.n_left and all(helper.is_done for helper in given.helpers))

    def wait(self) -> None:
        """Wait until the rows are filled, and give the matchers back.

        Raises:
            BatchError: some rows failed, and are all zero; the others are filled. As `fill_bitmasks` says.
            RuntimeError: this process was forked meanwhile, and does not have the threads that fill the rows.
        """
        given = self._given
        given.check_process()
        with self._lock:
            if self._is_over:
                return
            self._is_over = True
            try:
                given.batch.fill()  # what no other thread has begun
                given.wait()
            except BaseException:
                given.clear(given.in_batch())
                raise
            finally:
                given.batch.give_back()
                given.leave()
            given.fill_others(set(given.first_numbers) - set(given.in_batch()))
            given.end()

    def __del__(self) -> None:
        if hasattr(self, "_given"):
            self._given.batch.give_back()


def _counts(remaining: Sequence[int | None] | None, n: int, indexes: Sequence[int]) -> list[int | None]:
    """Return how many tokens may still come for each of the matchers with these indexes."""
    if remaining is None:
        return [None] * len(indexes)
    if len(remaining) != n:
        raise ValueError(f"remaining must have one entry for each of the {n} matchers, got {len(remaining)}")
    found = [remaining[index] for index in indexes]
    for index, one in zip(indexes, found, strict=True):
        if one is not None and operator.index(one) < 0:
            raise ValueError(f"remaining[{index}] must not be negative, got {one}")
    return found


def _is_plain(matcher: Matcher) -> bool:
    return type(matcher).fill_bitmask is Matcher.fill_bitmask


class _Helper:
    """A call of `Batch.fill` in a thread of the pool. It runs unless somebody waits for it before it has begun."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.taken = threading.Lock()  # by the thread that runs it, or by the first one that waits; never released
        self.is_running = False
        self.done = threading.Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        self.is_running = True
        try:
            if self.taken.acquire(blocking=False):
                self.batch.fill()
        except BaseException as error:
            self.error = error
        finally:
            self.done.set()

    @property
    def is_done(self) -> bool:
        return self.done.is_set()

    def wait(self) -> None:
        if self.taken.acquire(blocking=False):
            self.done.set()  # it will do nothing
        elif self.is_running:
            self.done.wait()


class _Rows:
    """Matchers and their rows, checked, and the threads that fill them. Numbers count the matchers but not None."""

    def __init__(
        self,
        matchers: Sequence[Matcher | None],
        rows: npt.NDArray[np.int32] | torch.Tensor,
        threads: int,
        indices: Sequence[int] | None,
        on_error: OnError,
        remaining: Sequence[int | None] | None = None,
    ) -> None:
        if on_error not in ("raise", "end"):
            raise ValueError(f'on_error must be "raise" or "end", not {on_error!r}')
        self.ends = on_error == "end"
        everyone = list(matchers)  # the caller may change its own meanwhile
        self.n_given = len(everyone)
        self.words = as_words(rows)
        if self.words.ndim != 2 or (indices is None and len(self.words) < len(everyone)):
            raise ValueError(f"rows must have shape ({len(everyone)}, n_words), got {self.words.shape}")
        places = list(range(len(everyone))) if indices is None else checked(indices, len(everyone), len(self.words))
        self.indexes = [index for index, matcher in enumerate(everyone) if matcher is not None]
        """By number: where the matcher stands among all that were given."""
        self.places = [places[index] for index in self.indexes]
        """By number: its row."""
        self.free = [places[index] for index, matcher in enumerate(everyone) if matcher is None]
        self.matchers = [matcher for matcher in everyone if matcher is not None]
        self.remaining = _counts(remaining, len(everyone), self.indexes)
        """By number: how many tokens may still come."""
        _check_vocabulary(self.matchers, self.indexes)
        if everyone:
            check_writable(self.words, self.matchers[0].vocabulary if self.matchers else None)
        if threads < 1:
            raise ValueError(f"threads must be at least 1, got {threads}")
        # Two threads must not use the same matcher: its further rows are copied from its first one.
        self.first_number: dict[tuple[int, int | None], int] = {}
        for number, matcher in enumerate(self.matchers):
            self.first_number.setdefault((id(matcher), self.remaining[number]), number)
        self.batch = Batch(tuple(self.matchers), self.words, self.places, self.remaining)
        self.helpers: list[_Helper] = []
        self.process = os.getpid()

    @property
    def first_numbers(self) -> Collection[int]:
        """The first number of each matcher with each number of tokens."""
        return self.first_number.values()

    def in_batch(self) -> list[int]:
        """Return the numbers whose rows the batch fills: one for each matcher without a `fill_bitmask` of its own."""
        known = {id(self.matchers[number]): number for number in reversed(list(self.first_numbers))}
        return [number for number in sorted(known.values()) if _is_plain(self.matchers[number])]

    @property
    def is_in_child(self) -> bool:
        """Whether the process has been forked, and this is the child: it has no other threads."""
        return self.process != os.getpid()

    def check_process(self) -> None:
        """Raise RuntimeError in a forked child."""
        if self.is_in_child:
            raise RuntimeError(
                "this process was forked while rows were being filled by threads of its parent; fill them again"
            )

    def begin(self, n_threads: int) -> None:
        """Let so many threads of the pool fill rows, or fewer if the system has no more."""
        if n_threads > 0:
            pool = _pool(n_threads)
            with suppress(RuntimeError):  # what is left is filled by the thread that waits
                for _ in range(n_threads):
                    # Noted first: a helper for which no thread could be started remains in the queue of the pool.
                    self.helpers.append(_Helper(self.batch))
                    pool.submit(self.helpers[-1].run)

    def wait(self) -> None:
        """Wait for the other threads, when none of the rows is left."""
        for helper in self.helpers:
            self.check_process()
            helper.wait()
            if helper.error is not None:
                raise helper.error

    def leave(self) -> None:
        """Wait for the other threads, after `Batch.give_back`."""
        for helper in self.helpers if not self.is_in_child else ():
            helper.wait()

    def free_rows(self) -> None:
        """Set all bits of the rows that have no matcher."""
        for place in self.free:
            self.words[place] = -1

    def clear(self, claimed: Collection[int]) -> None:
        """Clear the rows that the batch has not claimed, and copies: something has ended the call before its time."""
        for number in set(range(len(self.matchers))) - set(claimed):
            self.words[self.places[number]] = 0

    def fill_others(self, numbers: Iterable[int]) -> None:
        """Fill the rows of matchers with a `fill_bitmask` of their own, or with one more number of tokens."""
        for number in sorted(numbers):
            row = self.words[self.places[number]]
            try:
                if self.remaining[number] is None:
                    self.matchers[number].fill_bitmask(row)
                else:
                    self.matchers[number].fill_bitmask(row, remaining=self.remaining[number])
            except Exception as error:  # an error of any kind must not stop the other rows
                row[:] = 0
                self.batch.errors[number] = error

    def fill_until(self, seconds: float) -> npt.NDArray[np.bool_]:
        """Fill the rows by one deadline; return for each matcher whether its row is complete."""
        if not seconds >= 0:
            raise ValueError(f"seconds must be 0 or more, or None for rows that are never due, not {seconds!r}")
        due = time.perf_counter() + seconds
        plain = self.in_batch()
        try:
            self.free_rows()
            try:
                self.batch.claim(plain, strict=False)
                is_complete = self.fill_shares(plain, due)
            finally:
                self.batch.give_back(clears=False)
        except BaseException:
            self.clear([])
            raise
        self.end()
        complete = np.ones(self.n_given, np.bool_)
        for number, matcher in enumerate(self.matchers):
            complete[self.indexes[number]] = is_complete[self.first_number[id(matcher), self.remaining[number]]]
        return complete

    def fill_shares(self, plain: list[int], due: float) -> dict[int, bool]:
        """Fill rows until `due`, after `Batch.claim`; return by number whether each is complete.

        plain: the numbers that were to be claimed.
        """
        claimed = set(self.batch.claimed)
        is_complete = dict.fromkeys(set(plain) - claimed, True)  # they were remembered, or are in use
        reserved = {id(self.matchers[number]) for number in claimed}
        left = [number for number in sorted(self.first_numbers) if number not in is_complete]
        is_first = True
        while left and (is_first or time.perf_counter() < due):
            is_first = False
            for k, number in enumerate(left):
                share = max(0.0, due - time.perf_counter()) / (len(left) - k)
                try:
                    is_complete[number] = self.fill_share(number, share, id(self.matchers[number]) in reserved)
                except Exception as error:  # an error of any kind must not stop the other rows
                    self.words[self.places[number]] = 0
                    self.batch.errors[number] = error
                    is_complete[number] = True
            left = [number for number in left if not is_complete[number]]
        return is_complete

    def fill_share(self, number: int, seconds: float, is_reserved: bool) -> bool:
        """Fill a row, or what is found of it in so many seconds; return whether it is complete."""
        if is_reserved and _is_plain(self.matchers[number]):
            return self.batch.fill_until(number, seconds)
        matcher, row, n = self.matchers[number], self.words[self.places[number]], self.remaining[number]
        if n is None:
            return matcher.fill_bitmask(row, seconds=seconds) is not False
        return matcher.fill_bitmask(row, seconds=seconds, remaining=n) is not False

    def end(self) -> None:
        """Copy the rows of matchers that are listed several times. Raise BatchError if some rows failed."""
        if self.ends:
            self.batch.end_failed()
        errors = self.batch.errors
        for number, matcher in enumerate(self.matchers if len(self.first_number) < len(self.matchers) else ()):
            source = self.first_number[id(matcher), self.remaining[number]]
            if source != number:
                self.words[self.places[number]] = self.words[self.places[source]]
                if source in errors:
                    errors[number] = errors[source]
        if errors:
            failed = {self.indexes[number]: errors[number] for number in sorted(errors)}
            raise BatchError(failed) from next(iter(failed.values()))


def checked(indices: Sequence[int], n: int, n_rows: int) -> list[int]:
    """Return the rows of n matchers. Raise ValueError if they are not different rows of n_rows."""
    places = [operator.index(place) for place in indices]
    if len(places) != n:
        raise ValueError(f"there are {len(places)} indices for {n} matchers; give one for each")
    known: dict[int, int] = {}
    for number, place in enumerate(places):
        if not 0 <= place < n_rows:
            raise ValueError(f"indices[{number}] is {place}; there are the rows 0 to {n_rows - 1}")
        if known.setdefault(place, number) != number:
            raise ValueError(f"indices[{known[place]}] and indices[{number}] are both {place}; rows must be different")
    return places


def _check_vocabulary(matchers: Sequence[Matcher], indexes: Sequence[int]) -> None:
    """Check that all matchers have the same vocabulary. `indexes`: what messages call them."""
    for row, matcher in zip(indexes, matchers, strict=True):
        if not isinstance(matcher, Matcher):
            raise TypeError(
                f"matchers[{row}] must be a Matcher, not {type(matcher).__name__}; constraint.matcher(tokens) gives one"
            )
        first, other = matchers[0].vocabulary, matcher.vocabulary
        if other is not first and other != first:
            raise VocabularyError(
                f"matcher {row} is for a vocabulary of {other.size} tokens with fingerprint {other.fingerprint[:12]}, "
                f"matcher {indexes[0]} for one of {first.size} tokens with fingerprint {first.fingerprint[:12]}; make "
                "one call for each vocabulary"
            )


def as_words(rows: npt.NDArray[np.int32] | torch.Tensor) -> npt.NDArray[np.int32]:
    """Return a numpy view of an int32 bitmask."""
    words: object = rows
    if is_torch(rows):
        if rows.device.type != "cpu":
            raise ValueError(
                f"bitmasks are filled on the CPU, got a tensor on {rows.device}; fill one on the CPU and copy it"
            )
        words = rows.numpy()
    if not isinstance(words, np.ndarray) or words.dtype != np.int32:
        raise TypeError(f"a bitmask must be int32, got {getattr(words, 'dtype', type(words).__name__)}")
    return words


def check_writable(words: npt.NDArray[np.int32], vocabulary: Vocabulary | None) -> None:
    """Check once for all rows that a mask fits and can be written: they share their width and layout."""
    n_words = 0 if vocabulary is None else -(-vocabulary.size // TOKENS_PER_WORD)
    if vocabulary is not None and words.shape[1] < n_words:
        raise ValueError(f"rows have {words.shape[1]} words; a vocabulary of {vocabulary.size} tokens needs {n_words}")
    if not words.flags.writeable:
        raise ValueError("rows are read-only; give an array that can be written")
    if not words[0].flags.c_contiguous:
        raise ValueError(f"the words of a row must be contiguous, got strides {words.strides}; fill a contiguous copy")


def is_torch(value: object) -> TypeGuard[torch.Tensor]:
    """Tell whether a value is a torch tensor, without importing torch."""
    return type(value).__module__.partition(".")[0] == "torch" or (
        hasattr(value, "masked_fill_") and hasattr(value, "device")
    )


class _Pool:
    """A thread pool that is kept between calls, because starting a thread costs about as much as a mask."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None
        self._size = 0

    def __call__(self, n_threads: int) -> ThreadPoolExecutor:
        from concurrent.futures import ThreadPoolExecutor  # takes a tenth of `import earleymask`

        with self._lock:
            if self._executor is None or self._size < n_threads:
                # A smaller pool is not shut down, for another caller may be about to use it. Its threads end when the
                # last reference to it does.
                self._size = n_threads
                self._executor = ThreadPoolExecutor(n_threads, thread_name_prefix="earleymask")
            return self._executor

    def forget(self) -> None:
        """Drop the pool in a forked child, which has no threads of its parent."""
        self._lock = threading.Lock()
        self._executor = None


_pool = _Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.forget)
