"""One sequence of tokens against a grammar: masks, accept, rollback, fork."""

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from types import UnionType
from typing import Any, Literal, Protocol, SupportsIndex, TypeAlias, TypeVar

import lark
import numpy as np
import numpy.typing as npt

from ..trie import Vocabulary
from ._engine import Engine
from ._explain import Explorer
from .explanation import Explanation
from .warming import Warming

class _HasEngine(Protocol):
    """The part of a grammar that a matcher uses."""

    @property
    def engine(self) -> Engine: ...

class _TorchTensor(Protocol):
    """The part of a torch tensor that is used here, so that types can be checked without torch."""

    @property
    def device(self) -> Any: ...
    def data_ptr(self) -> int: ...
    def detach(self) -> Any: ...

_Grammar: TypeAlias = str | Mapping[str, Any] | re.Pattern[str] | type[Any] | UnionType | Callable[..., Any] | lark.Lark
"""What a grammar can be made of: `earleymask.arguments.GrammarLike`, which has all of this and `Grammar`."""

_M = TypeVar("_M", bound=Matcher)

def set_readers(grammar: Callable[[object], _HasEngine], vocabulary: Callable[[object], object]) -> None:
    """Set the functions that turn what a caller gives to `Matcher` into a grammar and a vocabulary, or raise TypeError.

    The layers above set them, because this one knows no grammar texts and no schemas.
    """

class Matcher:
    """The state of one sequence of tokens in a grammar: it knows which tokens may come next.

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

    def __init__(
        self,
        grammar: _HasEngine | _Grammar,
        vocabulary: Vocabulary,
        eos_token_ids: Iterable[SupportsIndex] | SupportsIndex | None = None,
    ) -> None: ...
    @classmethod
    def only_eos(
        cls: type[_M], vocabulary: Vocabulary, eos_token_ids: Iterable[SupportsIndex] | SupportsIndex | None = None
    ) -> _M:
        """Return a matcher whose mask has the EOS tokens alone: for a request that failed before it had a grammar, in
        an engine that wants a matcher of each one."""

    @property
    def grammar(self) -> Any:
        """The grammar that was given."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary that was given."""

    @property
    def eos_token_ids(self) -> tuple[int, ...]:
        """The ids of the tokens that end the sequence, ascending: the vocabulary's, unless others were given."""

    _cut: Any
    """What `forced_tokens` remembers."""

    @property
    def n_tokens(self) -> int:
        """The number of accepted tokens."""

    @property
    def tokens(self) -> list[int]:
        """The ids of the accepted tokens, a new list."""

    @property
    def error(self) -> Exception | None:
        """What has ended the sequence: the error of a mask that was filled with `on_error="end"`; else None.

        The row holds the EOS tokens alone then. No token is accepted, `is_finished` is true, and further rows are the
        same, until tokens are taken back. So an engine whose requests share a step can go on, and the one that failed
        ends. A pickle does not have the error. A snapshot has its text: after `restore`, it is a `LimitError` or an
        `EarleymaskError`.
        """

    def fill_bitmask(
        self,
        row: npt.NDArray[np.int32] | _TorchTensor,
        on_error: Literal["raise", "end"] = "raise",
        remaining: SupportsIndex | None = None,
        seconds: float | None = None,
    ) -> bool | None:
        """Write the mask into `row`: bit `t % 32` of word `t // 32` is 1 if token `t` is allowed.

        The slow formula: `row[w] = sum(1 << b for b in range(32) if mask()[32 * w + b])`, as signed 32-bit words.

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

    def walk_bitmask(self, row: npt.NDArray[np.int32] | _TorchTensor) -> None:
        """Do the same as `fill_bitmask` by a walk over the whole trie: slow, the reference for tests."""

    def mask(self) -> npt.NDArray[np.bool_]:
        """Return the mask as a new numpy array: bool, shape (vocabulary.size,), True for each token that is allowed.

        A token is allowed if a sentence of the grammar begins with the accepted text and the token's bytes. An EOS
        token is allowed if the accepted text is a sentence. Once EOS has been accepted, only EOS tokens are allowed.
        """

    def accept(self, token_id: SupportsIndex) -> bool:
        """Append the token if the mask allows it, and return True. Otherwise, if the vocabulary does not have the id,
        or if an error has ended the sequence, change nothing and return False."""

    def accept_tokens(self, token_ids: Iterable[SupportsIndex]) -> int:
        """Append the tokens one after the other, up to the first one that is not allowed, and return how many were.

        After an error, such as `LimitError`, none of them has been appended.
        """

    def validate(self, token_ids: Iterable[SupportsIndex]) -> int:
        """Return how many of the tokens, from the first on, would be accepted one after the other. Changes nothing."""

    def rollback(self, n: int) -> None:
        """Take back the last `n` tokens. This costs nothing, because rows never change.

        Only if the grammar has reached its limits, earlier tokens may have to be accepted once more.
        """

    def reset(self) -> None:
        """Take back all tokens."""

    def fork(self: _M) -> _M:
        """Return an independent matcher at the same place. It shares all that was learned and the tokens so far, so a
        fork takes the same time and memory after any number of tokens. Several threads may fork a matcher at once."""

    def cancel(self) -> None:
        """End the call of this matcher that is running in another thread, if there is one: it raises
        `MatcherCancelledError`, and the matcher is as it was before the call. Returns at once.

        This is the one method that may be called while another call is running. That call ends at its next look at the
        clock, mostly within a millisecond; it may also be done before that. A later call is not affected.
        """

    def snapshot(self) -> bytes:
        """Return this matcher as some bytes, from which `restore` makes an equal one: to move a request to another
        process, or to keep it.

        They hold the accepted tokens, the ids that end the sequence, and what has ended it (`error`); of the grammar
        and the vocabulary, only fingerprints. Raises TypeError if the grammar has no fingerprint.
        """

    @classmethod
    def restore(cls: type[_M], snapshot: bytes, grammar: _HasEngine | _Grammar | None, vocabulary: Vocabulary) -> _M:
        """Return the matcher of which `snapshot` was taken.

        The tokens are accepted again, one after the other, within `Limits.seconds` of the grammar. Snapshots may come
        from strangers: any bytes make a matcher whose tokens the grammar accepts, or raise one of the errors below.

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

    def _cancellable(self) -> AbstractContextManager[object]:
        """Return a context manager: `cancel` ends the calls of other matchers that this thread makes within it."""

    def is_accepting(self) -> bool:
        """Return whether the accepted text is a sentence: EOS is allowed, or has been accepted."""

    def is_finished(self) -> bool:
        """Return whether an EOS token has been accepted, or an error has ended the sequence. From then on, only EOS
        tokens are allowed."""

    def tokens_to_finish(self) -> int:
        """Return with how many tokens, EOS included, a sentence can be finished from here. If that is n, some allowed
        token leaves n - 1.

        It may be more than the fewest: docs/serving.md ("Budgets") says when. 0 once the sequence has ended.

        Raises:
            BudgetError: no such number is known, as if the vocabulary lacks the tokens of some bytes.
        """

    def forced_bytes(self) -> bytes:
        """Return the bytes with which every continuation begins, at most 65,536 of them."""

    def forced_tokens(self) -> list[int]:
        """Return the tokens with which every continuation begins, if it is cut as the tokenizer cuts it: those of
        `forced_bytes()`, without the last ones if what follows may change them.

        The tokenizer's cut of the whole text, the accepted tokens included, begins with the accepted tokens and these,
        however it continues; if that is not certain, there are none. Accept them, and score them all in one pass of the
        model. docs/serving.md says how they are found. JSON Schemas leave the indent open by default, so little is
        forced there; `whitespace="spaced"` or `"compact"` forces more.

        Raises VocabularyError if the vocabulary has no `encode`.
        """

    def _crossing(self, written: bytes) -> tuple[bytes, bool, list[tuple[list[int], list[int]]]]:
        """Return `forced_bytes()`; whether something else than text may come after them; and the tokens that cross
        their end, for each length of the known text that such a token may begin with. `written`: the text before
        them."""

    def expected(self) -> list[str]:
        """Return the names of the terminals and special tokens that may begin or continue here, in the grammar's order.
        For messages."""

    def ahead(self, *, seconds: float = 0.01) -> Warming:
        """Make the masks of likely continuations in the background, while the model computes. Return at once.

        Call it after a mask: those after the next few tokens are then known, or made faster. Masks are the same without
        it, and none that is asked for waits longer than some tens of microseconds for it. `seconds`: processor time
        that it may take. What an earlier call for this matcher has not done is left. Returns a `Warming`, as
        `Grammar.warm` does.
        """

    def temperature(self) -> float | None:
        """Return the temperature for the next token: the attribute `temperature` of the rule that is being written.

        If lexemes of several rules may begin or continue here, return the highest of their temperatures; None if none
        of these rules has one, or the sequence is finished.
        """

    def captures(self) -> list[tuple[str, bytes]]:
        """Return what rules with the attribute `capture` have matched so far: names and texts, in the order in which
        they begin.

        A slower parser, which keeps all readings, parses the text once more. docs/extensions.md says which of several
        readings is reported.
        """

    def explain(self, what: SupportsIndex | str | bytes | None = None) -> Explanation:
        """Return why a token or a text may not come next, as an `Explanation`.

        `what` is a token id, a text (str or bytes), or None for the end of the text. The answer has the byte at which
        it fails, the characters that may stand there instead, the rules that are alive there, the keywords of a JSON
        Schema that refuse it, and the nearest text that is allowed. `str()` of it is for people; if nothing is refused,
        its `is_allowed` is true.

        The text is parsed once more, in a copy of the grammar: slow, but masks are not touched.
        """

    def _explorer(self) -> Explorer:
        """Return what `explain` looks at this matcher through."""

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
