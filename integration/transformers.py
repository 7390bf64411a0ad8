"""Generation under a grammar with Hugging Face `transformers`.

    vocabulary = model_vocabulary(model, tokenizer)
    processor = GrammarLogitsProcessor(grammar, vocabulary)
    model.generate(**inputs, logits_processor=[processor])

The loop of this package, `generate` in `generation`, is faster where a grammar forces text. The `generate` of models
gives a logits processor the ids of each row so far, with prompt and left padding, and the scores of the next token. It
does not say which row of the last call a row continues (a beam search reorders and duplicates rows), nor which rows
have ended and only receive padding. So the processor recognises a row by its history, the ids after the prompt, as
`Constraint` does: `Histories` finds the nearest remembered matcher. Ids after the end of a text are ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import torch
from transformers import LogitsProcessor

from ..applying import apply_bitmask
from ..arguments import as_grammars_or_none, as_vocabulary
from ..bitmask import allocate_bitmask, fill_bitmasks
from ..earley import Matcher
from ..errors import BatchError, EmptyMaskError, RejectedTokenError, VocabularyError, empty_mask, excluded_mask
from ..grammar import Grammar
from ..histories import DEFAULT_CAPACITY, KEY_BYTES, Histories, advance, history_key
from ..trie import Vocabulary
from .generation import Generated, generate
from .vocabularies import model_vocabulary

if TYPE_CHECKING:
    from ..arguments import GrammarLike

__all__ = ["Generated", "GrammarLogitsProcessor", "generate", "model_vocabulary"]

RowKey = tuple[int, bytes]
"""The key of a row of the batch: the index of its grammar and the key of its history. A row without a grammar has none,
see `_row_keys`."""
MAX_KEY_ID = 2 ** (8 * KEY_BYTES) - 1
"""The largest id that a key can hold."""


class GrammarLogitsProcessor(LogitsProcessor):
    """Allows only tokens with which the text of each row stays the beginning of a sentence of its grammar.

    The scores of allowed tokens stay as they are, so their probabilities keep their ratios; all others become -inf.
    It works with greedy search, sampling, beam search, several returned sequences and left-padded batches.

    Args:
        grammar: a `Grammar`, or what `Constraint` makes one of: one for all rows, or a list with one for each prompt of
            the batch, in which None stands for a prompt without a constraint. All sequences and beams of a prompt have
            its grammar.
        vocabulary: the vocabulary of the model; `model_vocabulary` makes it.
        prompt_length: how many ids at the beginning of each row belong to the prompt, padding included. By default, the
            length of the rows in the first call of a generation. A call is taken for a first one if its rows do not
            continue those of the call before, or take some of their last ids back, as assisted decoding does. Give the
            length, or call `reset` in between, if one processor serves several `generate` calls and a prompt may be the
            previous prompt and the beginning of its answer.
        eos_token_id: the ids that end a row, instead of the vocabulary's: those of
            `model.generation_config.eos_token_id`.
        threads: how many masks are made at the same time.
        max_new_tokens: the number that `generate` is given, too. Then every sentence is finished within so many tokens,
            EOS included (docs/serving.md, "Budgets"). None: an answer may be cut.
        temperatures: apply the temperatures of the grammar (the attribute `temperature` of its rules), each while the
            text of its rule is generated. They change the scores; 0 leaves only the most probable token. Meant for
            sampling with `temperature=1.0`, the default, because that temperature is applied as well. Not for beam
            search, whose scores must stay logarithms of probabilities.
        assisted_prompt: the ids of the one prompt, in place of `prompt_length`, for assisted generation with drafts
            that know no grammar: those of an assistant that has another tokenizer, or is given no processors. A drafted
            token that the grammar rejects is no error then, for `generate` drops it, and rows that do not begin with
            the prompt are an assistant's: their scores stay as they are.

    A processor serves one `generate` call at a time. Making one is cheap; grammars and vocabularies are shared.
    """

    def __init__(
        self,
        grammar: GrammarLike | Sequence[GrammarLike | None],
        vocabulary: Vocabulary,
        *,
        prompt_length: int | None = None,
        eos_token_id: int | Sequence[int] | None = None,
        threads: int = 1,
        temperatures: bool = False,
        max_new_tokens: int | None = None,
        assisted_prompt: torch.Tensor | Sequence[int] | None = None,
    ) -> None:
        if max_new_tokens is not None and max_new_tokens < 1:
            raise ValueError(f"max_new_tokens must be at least 1, got {max_new_tokens}")
        if prompt_length is not None and prompt_length < 0:
            raise ValueError(f"prompt_length must not be negative, got {prompt_length}")
        vocabulary = as_vocabulary(vocabulary)
        self.grammars: tuple[Grammar | None, ...] = as_grammars_or_none(grammar, vocabulary)
        if not self.grammars:
            raise ValueError("no grammar given; give one, or one for each prompt")
        self._assisted: npt.NDArray[np.integer[Any]] | None = None
        if assisted_prompt is not None:
            if prompt_length is not None:
                raise ValueError("give prompt_length or assisted_prompt, not both")
            self._assisted = np.asarray(torch.as_tensor(assisted_prompt).cpu()).ravel()
            prompt_length = len(self._assisted)
        self.vocabulary, self.eos_token_ids = _with_eos(vocabulary, eos_token_id)
        self.prompt_length = prompt_length
        self.threads = threads
        self.temperatures = temperatures
        self.max_new_tokens = max_new_tokens
        # Rows of the same grammar share their histories, also if it is listed several times.
        distinct = list(dict.fromkeys([each for each in self.grammars if each is not None]))
        self._grammar_of = [None if each is None else distinct.index(each) for each in self.grammars]
        self._histories = [Histories(Matcher(each, self.vocabulary, self.eos_token_ids)) for each in distinct]
        self.reset()

    def reset(self) -> None:
        """Forget the prompt: the next call begins a new generation."""
        self._prompt: npt.NDArray[np.integer[Any]] | None = None
        self._rows: npt.NDArray[np.integer[Any]] | None = None  # the rows of the last call
        self._width = 0  # of the scores in the first call with this prompt
        self._masks = np.zeros((0, 0), np.int32)  # of the last call, one for each history that continued
        self._mask_of: dict[RowKey, int] = {}  # the row of `_masks` of each of those histories
        self._given_up: set[RowKey] = set()  # histories that were given up in the last call, see `_may_give_up`
        self._last: set[RowKey] = set()  # the histories of the last call

    @property
    def supports_continuous_batching(self) -> bool:
        """Raise NotImplementedError: in continuous batching, the rows have prompts of different lengths.

        If this were False, `transformers` would drop the processor, and write texts without a constraint.
        """
        raise NotImplementedError(
            "GrammarLogitsProcessor cannot be used in continuous batching; give the grammar of each request to "
            "earleymask.integration.continuous_batching (docs/transformers.md)"
        )

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return a copy of the scores with -inf for all tokens that the grammars do not allow.

        Raises:
            EmptyMaskError: the mask of some row is empty.
            RejectedTokenError: the ids after the prompt are not those that the masks allowed.
            BatchError: the masks of some rows could not be made, for `BudgetError` if `max_new_tokens` are too few.
        """
        ids = input_ids.detach().cpu().numpy()
        if len(ids) != len(scores):
            raise ValueError(f"got {len(ids)} rows of ids and {len(scores)} rows of scores; both need the same number")
        if self._assisted is not None and not (
            len(ids) == 1 and np.array_equal(ids[0, : len(self._assisted)], self._assisted)
        ):
            return scores
        keys = self._row_keys(ids, self._find_prompt(ids, scores.shape[-1]))
        first_row: dict[RowKey, int] = {}
        for row, key in enumerate(keys):
            if key is not None:
                first_row.setdefault(key, row)

        matchers: dict[RowKey, Matcher] = {}  # of the rows that continue
        given_up: set[RowKey] = set()
        for key, row in first_row.items():
            matcher = self._position(key)
            if matcher.n_tokens < len(key[1]) // KEY_BYTES:
                if not self._may_give_up(key, matcher.n_tokens, len(ids)):
                    n = matcher.n_tokens
                    error = self._rejected(row, n, int(np.frombuffer(key[1], np.uint32)[n]))
                    raise error.explained_by(partial(matcher.fork().explain, error.token_id))
                given_up.add(key)
            elif not self._has_ended(key):
                matchers[key] = matcher

        masks = np.empty((len(matchers), -(-self.vocabulary.size // 32)), np.int32)
        try:
            fill_bitmasks(
                list(matchers.values()), masks, threads=self.threads, remaining=[self._left(key) for key in matchers]
            )
        except BatchError as error:
            of_mask = [first_row[key] for key in matchers]
            raise BatchError({of_mask[at]: each for at, each in error.errors.items()}) from error.__cause__
        self._masks, self._given_up, self._last = masks, given_up, set(first_row)
        self._mask_of = {key: at for at, key in enumerate(matchers)}
        masked = self._apply(keys, scores)
        if self.temperatures:
            found = {key: matcher.temperature() for key, matcher in matchers.items()}
            for row, key in enumerate(keys):
                temperature = None if key is None else found.get(key)
                if temperature is not None:
                    masked[row] = _tempered(masked[row], temperature)
        return masked

    def _left(self, key: RowKey) -> int | None:
        """Return how many tokens may still come after a history; None for any number."""
        return None if self.max_new_tokens is None else max(self.max_new_tokens - len(key[1]) // KEY_BYTES, 0)

    def _find_prompt(self, ids: npt.NDArray[np.integer[Any]], width: int) -> int:
        """Return the length of the prompts. In the first call of a generation, remember them. `width`: of the scores.

        During a generation the prompts keep their rows (a beam search reorders only the rows of one prompt). A row is
        one of the last call with one more id or, when assisted decoding takes back a guess, with an id in place of the
        last ones.
        """
        n_rows, length = ids.shape
        if self.prompt_length is not None:
            if length < self.prompt_length:
                raise ValueError(
                    f"rows of {length} ids are shorter than the prompt_length that was given, {self.prompt_length}"
                )
            return self.prompt_length
        prompt, last = self._prompt, self._rows
        self._rows = ids.copy()
        if (
            prompt is None
            or last is None
            or not (
                len(prompt) == n_rows
                and prompt.shape[1] < length <= last.shape[1] + 1
                and np.array_equal(prompt, ids[:, : prompt.shape[1]])
                and {row.tobytes() for row in ids[:, :-1]} <= {row.tobytes() for row in last[:, : length - 1]}
            )
        ):
            if self._width not in (0, width):
                raise ValueError(
                    f"the scores are {width} wide, in the generation before they were {self._width}. If an assistant "
                    "with another tokenizer drafts, give assisted_prompt; for another model, call reset()"
                )
            self.reset()
            self._prompt = prompt = self._rows = ids.copy()
            self._width = width
        return int(prompt.shape[1])

    def _row_keys(self, ids: npt.NDArray[np.integer[Any]], prompt_length: int) -> list[RowKey | None]:
        """Return the key of each row: its grammar, and its ids after the prompt, up to its first EOS. It is None if
        there is no grammar.

        The ids after EOS are padding, or remains of a beam search. This also holds for an EOS id that the grammar names
        as a symbol and continues after: `generate` stops there.
        """
        rows_per_grammar, left = divmod(len(ids), len(self.grammars))
        if left or not rows_per_grammar:
            raise ValueError(
                f"{len(ids)} rows cannot be divided among {len(self.grammars)} grammars; give one for each prompt"
            )
        for histories in self._histories:
            histories.capacity = max(DEFAULT_CAPACITY, 2 * len(ids))
        written = ids[:, prompt_length:]
        # Give rows without an end one after their last id; `argmax` finds the first of several.
        ends = np.zeros((len(ids), written.shape[1] + 1), np.bool_)
        ends[:, -1] = True
        for token_id in self.eos_token_ids:
            ends[:, :-1] |= written == token_id
        lengths = np.minimum(ends.argmax(axis=1) + 1, written.shape[1])
        of_row = [self._grammar_of[row // rows_per_grammar] for row in range(len(ids))]
        if written.size and (written.min() < 0 or written.max() > MAX_KEY_ID):
            # A key cannot hold these ids; in it they would become others.
            constrained = np.array([grammar is not None for grammar in of_row])[:, None]
            impossible = (written < 0) | (written > MAX_KEY_ID)
            impossible &= constrained & (np.arange(written.shape[1]) < lengths[:, None])
            if impossible.any():
                row, index = (int(each) for each in np.argwhere(impossible)[0])
                raise self._rejected(row, index, int(written[row, index]))
        return [
            None if grammar is None else (grammar, history_key(written[row, :length]))
            for row, (grammar, length) in enumerate(zip(of_row, lengths, strict=True))
        ]

    def _position(self, key: RowKey) -> Matcher:
        """Return the matcher at the end of a history, or of the longest beginning of it that the grammar accepts.

        The matcher stays in the set, and can be used until the next call: no other row of this call advances it, since
        no history of a call is a proper beginning of another. Rows that continue have the same length, and those that
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
        """Tell whether the last id of a history is EOS."""
        return bool(key[1]) and int(np.frombuffer(key[1], np.uint32)[-1]) in self.eos_token_ids

    def _may_give_up(self, key: RowKey, n_accepted: int, n_rows: int) -> bool:
        """Tell whether this history, which the grammar rejects, is not meant for the result: a drafted one, or one that
        a beam search has chosen for lack of others.

        A drafted one goes on where the last call has been, by one token, or by none after an EOS that was drafted. The
        first call for a draft goes on elsewhere: its tokens were chosen from the scores. A beam search keeps
        `(1 + number of EOS ids) * beams` candidates (`_beam_search` of `transformers`). If fewer are allowed, it keeps
        some that are not, with a score of -inf. Such rows never reach a result, so they are given up: their masks are
        not made. Any other forbidden token means that the caller does not sample from these scores, which is an error.
        """
        grammar, history = key
        parent = (grammar, history[:-KEY_BYTES])
        if parent in self._given_up or (self._assisted is not None and not self._last.isdisjoint((key, parent))):
            return True
        at = self._mask_of.get(parent)
        if at is None or n_rows == 1 or n_accepted != len(history) // KEY_BYTES - 1:
            return False
        n_allowed = int(np.unpackbits(self._masks[at].view(np.uint8)).sum())
        return n_allowed < max(2, 1 + len(self.eos_token_ids)) * n_rows

    def _rejected(self, row: int, index: int, token_id: int) -> RejectedTokenError:
        return RejectedTokenError(
            f"row {row}: the grammar rejects token {token_id} at index {index} after the prompt. If the prompt ends "
            "elsewhere, give prompt_length or call reset(). If an assistant has drafted it, give assisted_prompt. "
            "Otherwise sample from the scores that this processor returned; this token was not.",
            index=index,
            token_id=token_id,
        )

    def _apply(self, keys: list[RowKey | None], scores: torch.Tensor) -> torch.Tensor:
        """Mask the scores of rows that continue, allow EOS only to those that have ended, and leave the others."""
        constrained = {row: key for row, key in enumerate(keys) if key is not None}
        continuing = {row: key for row, key in constrained.items() if key in self._mask_of}
        ended = [row for row in constrained if row not in continuing]
        masked = scores.clone()
        if continuing:
            bitmask = self._masks
            if len(bitmask) != len(keys) or list(continuing.values()) != list(self._mask_of):
                # Some rows share a mask, or have none.
                bitmask = allocate_bitmask(len(keys), self.vocabulary)
                bitmask[list(continuing)] = self._masks[[self._mask_of[key] for key in continuing.values()]]
            apply_bitmask(masked, bitmask)
            if masked.shape[-1] > self.vocabulary.size:
                # A mask that allows all tokens leaves the scores of ids beyond the vocabulary as they are.
                masked[list(continuing), self.vocabulary.size :] = -torch.inf
        if ended:
            # The scores of these rows do not matter, but a row of NaN would stop the whole batch.
            width = scores.shape[-1]
            eos = [token_id for token_id in self.eos_token_ids if token_id < width]
            if not eos:
                raise VocabularyError(f"the scores are {width} wide, all EOS ids of the vocabulary are beyond them")
            masked[ended] = -torch.inf
            masked[torch.tensor(ended, device=masked.device)[:, None], torch.tensor(eos, device=masked.device)] = 0.0
        for row in torch.isneginf(masked.amax(dim=-1)).nonzero().flatten().tolist():
            if row in continuing:
                raise self._empty(row, continuing[row])
        return masked

    def _empty(self, row: int, key: RowKey) -> EmptyMaskError:
        mask = self._masks[self._mask_of[key]]
        where = f"row {row}, after {len(key[1]) // KEY_BYTES} tokens"
        if not mask.any():
            return empty_mask(self._position(key), where)
        return excluded_mask(where)


def _tempered(scores: torch.Tensor, temperature: float) -> torch.Tensor:
    """Apply a temperature to the scores of a row. The highest becomes 0 first, so that no quotient becomes infinite."""
    scores = scores - scores.max()
    if temperature == 0:
        return torch.where(scores == 0, scores, -torch.inf)
    return scores / temperature


def _with_eos(vocabulary: Vocabulary, eos_token_id: int | Sequence[int] | None) -> tuple[Vocabulary, tuple[int, ...]]:
    """Return the vocabulary and the ids that end a row. The vocabulary is another one if one of these has a text; it is
    remembered, for making it takes about 0.1 s."""
    if eos_token_id is None:
        return vocabulary, vocabulary.eos_token_ids
    ids = [eos_token_id] if isinstance(eos_token_id, int) else [int(each) for each in eos_token_id]
    ends = tuple(sorted(set(ids)))
    if not any(0 <= each < vocabulary.size and vocabulary.token_bytes(each) for each in ends):
        return vocabulary, ends
    others = _OTHERS.setdefault(vocabulary, {})
    if ends not in others:
        while len(others) >= N_OTHERS:
            others.pop(next(iter(others)))
        others[ends] = vocabulary.with_eos(ends)
    return others[ends], ends


N_OTHERS = 4
_OTHERS: WeakKeyDictionary[Vocabulary, dict[tuple[int, ...], Vocabulary]] = WeakKeyDictionary()
"""Vocabularies in which ids that have a text end a row, for each vocabulary in which they do not."""
