"""Generation under a grammar with Hugging Face `transformers`.

    vocabulary = model_vocabulary(model, tokenizer)
    processor = GrammarLogitsProcessor(grammar, vocabulary)
    model.generate(**inputs, logits_processor=[processor])

`generate` hands a logits processor the ids of every row so far, prompt and left padding included, and the scores of the
next token. It does not say which row of the last call a row comes from (a beam search reorders and duplicates them),
nor which rows have finished and only receive padding. So a row is known by its history, the ids after the prompt, as
in `Constraint`: `Histories` finds the nearest remembered matcher, and whatever stands behind the end of the text is
ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from transformers import LogitsProcessor

from ..arguments import as_grammar, as_vocabulary
from ..bitmask import apply_bitmask, fill_bitmasks
from ..earley import Matcher
from ..errors import BatchError, EmptyMaskError, RejectedTokenError, VocabularyError
from ..grammar import Grammar
from ..histories import DEFAULT_CAPACITY, KEY_BYTES, Histories, advance, history_key
from ..trie import Vocabulary

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

__all__ = ["GrammarLogitsProcessor", "model_vocabulary"]

# A row of the batch is known by its grammar (an index) and the key of its history.
RowKey = tuple[int, bytes]
MAX_KEY_ID = 2 ** (8 * KEY_BYTES) - 1


def model_vocabulary(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> Vocabulary:
    """The vocabulary of a model: its tokenizer's token bytes, as many ids as it has logits, and the end-of-sequence ids
    that `model.generate` stops at."""
    config = model.config.get_text_config()
    eos = model.generation_config.eos_token_id if model.generation_config is not None else None
    if eos is None:
        eos = config.eos_token_id
    return Vocabulary.from_transformers(tokenizer, eos_token_id=eos, size=max(config.vocab_size, len(tokenizer)))


class GrammarLogitsProcessor(LogitsProcessor):
    """Allows only tokens that keep the text of every row a beginning of a sentence of its grammar.

    The scores of allowed tokens are not touched, so their probabilities keep their ratios; all others become -inf.
    Works with greedy search, sampling, beam search, several returned sequences and left-padded batches.

    Args:
        grammar: Lark text or a `Grammar`, one for all rows, or one for each: for each prompt of the batch if several
            sequences or beams are made from a prompt.
        vocabulary: the model's; `model_vocabulary` makes it.
        prompt_length: how many ids at the beginning of every row belong to the prompt, padding included. By default the
            length of the first call's rows; a call is a first call when its rows are not an earlier one's continued.
            Give it (or call `reset` between) if one processor serves several `generate` calls and a prompt may repeat
            the previous prompt and go on by one token.
        eos_token_id: the ids that end a row, as `model.generation_config.eos_token_id` has them, where they are not the
            vocabulary's own; they then take the place of the vocabulary's.
        threads: how many rows' masks are made at a time.
        temperatures: apply those that the grammar gives (the attribute `temperature` of its rules), each where its rule
            is written: scores change there, and 0 leaves only the most probable token. For sampling with
            `temperature=1.0`, the default, which is applied as well. Not for beam search, whose scores must stay
            logarithms of probabilities.

    One processor serves one `generate` call at a time. Making one costs little; grammars and vocabularies are shared.
    """

    supports_continuous_batching = False  # rows of one call would have prompts of their own lengths

    def __init__(
        self,
        grammar: str | Grammar | Sequence[str | Grammar],
        vocabulary: Vocabulary,
        *,
        prompt_length: int | None = None,
        eos_token_id: int | Sequence[int] | None = None,
        threads: int = 1,
        temperatures: bool = False,
    ) -> None:
        if prompt_length is not None and prompt_length < 0:
            raise ValueError(f"prompt_length must not be negative, got {prompt_length}")
        if isinstance(grammar, str | bytes | bytearray) or not isinstance(grammar, Iterable):
            self.grammars: tuple[Grammar, ...] = (as_grammar(grammar),)
        else:
            self.grammars = tuple(as_grammar(each) for each in grammar)
        if not self.grammars:
            raise ValueError("no grammar given")
        vocabulary = as_vocabulary(vocabulary)
        self.vocabulary = vocabulary if eos_token_id is None else _with_eos(vocabulary, eos_token_id)
        self.prompt_length = prompt_length
        self.threads = threads
        self.temperatures = temperatures
        # Rows of the same grammar share their histories, also where it is listed several times.
        distinct = list(dict.fromkeys(self.grammars))
        self._grammar_of = [distinct.index(each) for each in self.grammars]
        self._histories = [Histories(Matcher(each, self.vocabulary)) for each in distinct]
        self.reset()

    def reset(self) -> None:
        """Forget the prompt: the next call is the first of a new generation."""
        self._prompt: npt.NDArray[np.integer[Any]] | None = None
        self._length = 0  # of the rows of the last call
        self._masks = np.zeros((0, 0), np.int32)  # of the last call, one for each history that went on
        self._mask_of: dict[RowKey, int] = {}  # those histories -> their row of `_masks`
        self._given_up: set[RowKey] = set()  # histories that the last call gave up

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The scores with everything that the grammars do not allow at -inf; a new tensor.

        Raises:
            EmptyMaskError: some row has no token left.
            RejectedTokenError: the ids after the prompt are not what the masks allowed.
            BatchError: the masks of some rows could not be made.
        """
        ids = input_ids.detach().cpu().numpy()
        if len(ids) != len(scores):
            raise ValueError(f"{len(ids)} rows of ids and {len(scores)} rows of scores do not belong together")
        keys = self._row_keys(ids, self._find_prompt(ids))
        first_row: dict[RowKey, int] = {}
        for row, key in enumerate(keys):
            first_row.setdefault(key, row)

        matchers: dict[RowKey, Matcher] = {}  # of the rows that go on
        given_up: set[RowKey] = set()
        for key, row in first_row.items():
            matcher = self._position(key)
            if matcher.n_tokens < len(key[1]) // KEY_BYTES:
                if not self._may_give_up(key, matcher.n_tokens, len(ids)):
                    raise self._rejected(row, matcher.n_tokens, int(np.frombuffer(key[1], np.uint32)[matcher.n_tokens]))
                given_up.add(key)
            elif not self._has_ended(key):
                matchers[key] = matcher

        masks = np.empty((len(matchers), -(-self.vocabulary.size // 32)), np.int32)
        try:
            fill_bitmasks(list(matchers.values()), masks, threads=self.threads)
        except BatchError as error:
            of_mask = [first_row[key] for key in matchers]
            raise BatchError({of_mask[at]: each for at, each in error.errors.items()}) from error.__cause__
        self._masks, self._given_up = masks, given_up
        self._mask_of = {key: at for at, key in enumerate(matchers)}
        masked = self._apply(keys, scores)
        if self.temperatures:
            found = {key: matcher.temperature() for key, matcher in matchers.items()}
            for row, key in enumerate(keys):
                temperature = found.get(key)
                if temperature is not None:
                    masked[row] = _tempered(masked[row], temperature)
        return masked

    def _find_prompt(self, ids: npt.NDArray[np.integer[Any]]) -> int:
        """How many ids of every row are the prompt. Notes it when this is the first call of a generation.

        Within one generation the prompts stay where they are (a beam search reorders within a prompt's rows only),
        and rows get longer by one; they may get shorter again when a guess is taken back (assisted decoding).
        """
        n_rows, length = ids.shape
        if self.prompt_length is not None:
            if length < self.prompt_length:
                raise ValueError(f"rows of {length} ids are shorter than the prompt_length given, {self.prompt_length}")
            return self.prompt_length
        prompt = self._prompt
        if prompt is None or not (
            len(prompt) == n_rows
            and prompt.shape[1] < length <= self._length + 1
            and np.array_equal(prompt, ids[:, : prompt.shape[1]])
        ):
            self.reset()
            self._prompt = prompt = ids.copy()
        self._length = length
        return int(prompt.shape[1])

    def _row_keys(self, ids: npt.NDArray[np.integer[Any]], prompt_length: int) -> list[RowKey]:
        """What each row is known by: its grammar, and what it has after the prompt up to its first EOS.

        What stands behind EOS is padding, or a beam search's leftovers. That holds also for an EOS id that the grammar
        names as a symbol and goes on after: `generate` stops there.
        """
        rows_per_grammar, left = divmod(len(ids), len(self.grammars))
        if left or not rows_per_grammar:
            raise ValueError(f"{len(ids)} rows cannot be shared out among {len(self.grammars)} grammars")
        for histories in self._histories:
            histories.capacity = max(DEFAULT_CAPACITY, 2 * len(ids))
        written = ids[:, prompt_length:]
        ends = np.isin(written, self.vocabulary.eos_token_ids)
        # An end beyond the end for those that have none; `argmax` finds the first of several.
        ends = np.pad(ends, ((0, 0), (0, 1)), constant_values=True)
        lengths = np.minimum(ends.argmax(axis=1) + 1, written.shape[1])
        # A key cannot hold them: they would come out as other ids.
        impossible = ((written < 0) | (written > MAX_KEY_ID)) & (np.arange(written.shape[1]) < lengths[:, None])
        if impossible.any():
            row, index = (int(each) for each in np.argwhere(impossible)[0])
            raise self._rejected(row, index, int(written[row, index]))
        return [
            (self._grammar_of[row // rows_per_grammar], history_key(written[row, :length]))
            for row, length in enumerate(lengths)
        ]

    def _position(self, key: RowKey) -> Matcher:
        """The matcher at the end of a history, or of the longest beginning of it that the grammar accepts.

        The matcher stays among the histories, and may be used until the next call: no other row of this one can take
        it further, since no history of a call is the beginning of another. Rows that go on have one length, those that
        have ended stop at EOS.
        """
        histories, history = self._histories[key[0]], key[1]
        matcher = histories.take(history)
        try:
            advance(matcher, np.frombuffer(history, np.uint32))
        finally:
            histories.put(matcher, history[: matcher.n_tokens * KEY_BYTES])
        return matcher

    def _has_ended(self, key: RowKey) -> bool:
        """Whether the last id of a history is EOS."""
        return bool(key[1]) and int(np.frombuffer(key[1], np.uint32)[-1]) in self.vocabulary.eos_token_ids

    def _may_give_up(self, key: RowKey, n_accepted: int, n_rows: int) -> bool:
        """Whether a beam search can have been forced into this history, which the grammar rejects.

        It goes on with `(1 + number of EOS ids) * beams` candidates (`_beam_search` of `transformers`), and where
        fewer are allowed it takes some that are not, with a score of -inf. Such rows never reach a result; they are
        given up. A forbidden token anywhere else means that the caller does not sample from our scores, and that is
        an error.
        """
        grammar, history = key
        parent = (grammar, history[:-KEY_BYTES])
        if parent in self._given_up:
            return True
        at = self._mask_of.get(parent)
        if at is None or n_rows == 1 or n_accepted != len(history) // KEY_BYTES - 1:
            return False
        n_allowed = int(np.unpackbits(self._masks[at].view(np.uint8)).sum())
        return n_allowed < max(2, 1 + len(self.vocabulary.eos_token_ids)) * n_rows

    def _rejected(self, row: int, index: int, token_id: int) -> RejectedTokenError:
        return RejectedTokenError(
            f"row {row}: the grammar rejects token {token_id} at index {index} after the prompt. If the prompt "
            "ends elsewhere, give prompt_length or call reset(); otherwise the token was not sampled from the scores "
            "given back.",
            index=index,
            token_id=token_id,
        )

    def _apply(self, keys: list[RowKey], scores: torch.Tensor) -> torch.Tensor:
        """Mask the scores of rows that go on, and leave EOS alone to the others."""
        ended = [row for row, key in enumerate(keys) if key not in self._mask_of]
        bitmask = self._masks[[self._mask_of.get(key, 0) for key in keys]] if len(self._masks) else None
        masked = scores.clone()
        if bitmask is not None:
            apply_bitmask(masked, bitmask)
        if ended:
            # Nobody reads these rows, but they must not become NaN: one bad row stops the whole batch.
            width = scores.shape[-1]
            eos = [token_id for token_id in self.vocabulary.eos_token_ids if token_id < width]
            if not eos:
                raise VocabularyError(f"the scores are {width} wide and end before every EOS id of the vocabulary")
            masked[ended] = -torch.inf
            masked[torch.tensor(ended, device=masked.device)[:, None], torch.tensor(eos, device=masked.device)] = 0.0
        empty = torch.isneginf(masked.amax(dim=-1)).nonzero().flatten().tolist()
        if empty:
            raise self._empty(empty[0], keys[empty[0]])
        return masked

    def _empty(self, row: int, key: RowKey) -> EmptyMaskError:
        mask = self._masks[self._mask_of[key]]
        if mask.any():
            why = (
                "every token that the grammar allows already has a score of -inf, or an id beyond the scores: look at "
                "the processors before this one (min_length, bad words, ...) and at the width of the model's output"
            )
        else:
            missing = self.vocabulary.missing_bytes
            why = "no token of the vocabulary can go on"
            if missing:
                why += f"; it cannot spell the bytes {missing!r}"
        return EmptyMaskError(f"row {row}, after {len(key[1]) // KEY_BYTES} tokens: {why}")


def _tempered(scores: torch.Tensor, temperature: float) -> torch.Tensor:
    """Scores of one row at a temperature. The highest one becomes 0, so that a low temperature makes none infinite."""
    scores = scores - scores.max()
    if temperature == 0:
        return torch.where(scores == 0, scores, -torch.inf)
    return scores / temperature


def _with_eos(vocabulary: Vocabulary, eos_token_id: int | Sequence[int]) -> Vocabulary:
    """The vocabulary with other end-of-sequence ids; itself where they are the same."""
    eos = (eos_token_id,) if isinstance(eos_token_id, int) else tuple(int(each) for each in eos_token_id)
    if set(eos) == set(vocabulary.eos_token_ids):
        return vocabulary
    return Vocabulary.from_tokens(
        [vocabulary.token_bytes(token_id) for token_id in range(vocabulary.size)],
        eos_token_id=eos,
        special_token_ids=vocabulary.special_token_ids,
        special_tokens=vocabulary.special_tokens,
        size=vocabulary.size,
    )
