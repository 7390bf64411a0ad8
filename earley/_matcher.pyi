"""One sequence of tokens against a grammar: masks, accepting, going back, forking."""

from collections.abc import Iterable
from typing import Any, Protocol, SupportsIndex, TypeVar

import numpy as np
import numpy.typing as npt

from ..trie import Vocabulary
from ._engine import Engine

class _HasEngine(Protocol):
    """What a matcher needs of a grammar."""

    @property
    def engine(self) -> Engine: ...

class _TorchTensor(Protocol):
    """A torch tensor as far as it is used here, so that torch need not be installed to check types."""

    @property
    def device(self) -> Any: ...
    def data_ptr(self) -> int: ...
    def detach(self) -> Any: ...

_M = TypeVar("_M", bound=Matcher)

class Matcher:
    """Where one sequence of tokens stands in a grammar.

    Args:
        grammar: a `Grammar` (anything that carries an `engine`). Shared freely between matchers and threads.
        vocabulary: the `Vocabulary` whose ids are accepted and masked.

    Raises:
        VocabularyError: the vocabulary has no EOS token, or lacks a special token that the grammar names.

    A matcher belongs to one sequence and one thread at a time; its forks may be used from other threads. Any call may
    raise `LimitError` where a grammar makes it too much work; the matcher is then as it was before the call.
    """

    def __init__(self, grammar: _HasEngine, vocabulary: Vocabulary) -> None: ...
    @property
    def grammar(self) -> Any:
        """The grammar that was given."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary that was given."""

    @property
    def n_tokens(self) -> int:
        """Number of tokens accepted."""

    @property
    def tokens(self) -> list[int]:
        """The accepted token ids, a new list."""

    def fill_bitmask(self, row: npt.NDArray[np.int32] | _TorchTensor) -> None:
        """Writes the mask into `row`: bit `t % 32` of word `t // 32` is 1 where token `t` is allowed.

        The slow formula: `row[w] = sum(1 << b for b in range(32) if mask()[32 * w + b])`, as signed 32-bit words.

        Args:
            row: int32, shape (>= ceil(vocabulary.size / 32),), contiguous and writable: a numpy array or a torch tensor
                on the CPU, written in place. Words and bits beyond the vocabulary become 0.

        Raises:
            TypeError, ValueError: dtype, shape, device or layout is another one. Nothing has been written then.
        """

    def walk_bitmask(self, row: npt.NDArray[np.int32] | _TorchTensor) -> None:
        """The same as `fill_bitmask`, by a walk over the whole trie: slow, the reference for tests."""

    def mask(self) -> npt.NDArray[np.bool_]:
        """The mask as a new numpy array: bool, shape (vocabulary.size,), True where the token is allowed.

        A token is allowed where the accepted text and its bytes begin some sentence of the grammar; the EOS tokens
        where the text is a sentence. Once EOS has been accepted, EOS tokens are all that is allowed.
        """

    def accept(self, token_id: SupportsIndex) -> bool:
        """Appends the token if the mask allows it. Otherwise, ids outside the vocabulary included, returns False and
        changes nothing."""

    def validate(self, token_ids: Iterable[SupportsIndex]) -> int:
        """How many of the tokens, from the first on, would be accepted one after the other. Changes nothing."""

    def rollback(self, n: int) -> None:
        """Takes the last `n` tokens back. Costs nothing: rows are values.

        But for grammars that have learned up to their limits: these may have to accept the tokens before once more.
        """

    def reset(self) -> None:
        """Back to the beginning."""

    def fork(self: _M) -> _M:
        """An independent matcher at the same place. It shares all that was learned; the copy costs a few bytes a
        token."""

    def is_accepting(self) -> bool:
        """Whether the accepted text is a sentence, so that EOS is allowed (or has been accepted)."""

    def is_finished(self) -> bool:
        """Whether an EOS token has been accepted. The mask holds EOS tokens alone from then on."""

    def forced_bytes(self) -> bytes:
        """The bytes that every continuation begins with (at most 65,536 of them)."""

    def expected(self) -> list[str]:
        """Names of the terminals and special tokens that may begin or go on here, for messages; in the grammar's
        order."""

    def temperature(self) -> float | None:
        """What the grammar says of the next token's temperature: the attribute `temperature` of the rule being written.

        Where lexemes of several rules may begin or go on here, the highest of theirs; None where no rule says anything.
        """

    def captures(self) -> list[tuple[str, bytes]]:
        """What rules with the attribute `capture` have matched so far: names and texts, in the order of their
        beginnings.

        The text is parsed once more for it, by a slower parser that keeps all readings. See docs/extensions.md for
        which of several is reported.
        """

    def stats(self) -> dict[str, int]:
        """Counters of this matcher and its forks, and of the grammar's engine (see `Engine.stats`).

        `masks`, by what each took: `masks_known` (the position was remembered), `masks_union_known` (the same answers
        had been united before), `masks_answers_known`, `masks_parts_known` (all regexes at all nodes of the trie),
        `masks_new_state` (a set of terminals was new to the lexer), `masks_new_part` (or new rests of tokens),
        `masks_walked` (by the merged walk). `nodes_visited`: trie nodes that answers and walks came by. `steps`: byte
        steps worked out; all others were looked up. `rows_made`, `rows_static`: rows worked out, and how many of
        these by a remembered skeleton alone. `rows`, `continuations`, `positions`, `tables`, `histories` (one a
        matcher): kept at the moment. `text_bytes`: memory that the accepted tokens of all forks need; `walk_bytes`:
        what else calls left behind, dropped at the next collection.
        """
