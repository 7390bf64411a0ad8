"""A generation loop in which forced tokens take no pass of the model each.

Between two choices of the model a grammar often leaves one text. Its tokens, as far as they are certain
(`Matcher.forced_tokens`), and tokens that are the only ones a mask allows, are appended at once, and the next pass
reads them together. With the key-value cache, a pass over ten tokens takes about as long as one over a single token.

Rows of a batch have different numbers of such tokens. A pass reads a block of columns: in each row its new tokens stand
at the right, and columns without a token are masked in all later passes. Position ids count the tokens of a row, so the
scores of a row do not depend on the others.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from ..applying import apply_bitmask
from ..arguments import as_grammars_or_none
from ..bitmask import TOKENS_PER_WORD, allocate_bitmask, fill_bitmasks
from ..earley import Matcher
from ..errors import VocabularyError, empty_mask, excluded_mask
from ..trie import Vocabulary
from .vocabularies import model_vocabulary

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from ..arguments import GrammarLike

__all__ = ["Generated", "generate"]


@dataclass(frozen=True)
class Generated:
    """What `generate` has written."""

    tokens: list[list[int]]
    """The ids of each row after its prompt, EOS included."""
    texts: list[bytes]
    """The text of each row."""
    is_finished: list[bool]
    """Whether each row has ended with EOS; the others have met `max_new_tokens`."""
    n_forced: list[int]
    """How many ids of each row the model did not choose."""
    n_passes: int
    """Passes of the model, that over the prompt included."""


@dataclass
class _Row:
    """A sequence: its matcher, what it may still write, and the tokens that the model has not read yet."""

    matcher: Matcher | None
    """None if there is no grammar."""
    left: int
    unread: list[int]
    ends: tuple[int, ...]
    """The ids that end it."""
    tokens: list[int] = field(default_factory=list)
    n_forced: int = 0

    def write(self, tokens: Sequence[int], *, forced: bool) -> None:
        tokens = tokens[: self.left]
        if self.matcher is not None and self.matcher.accept_tokens(tokens) < len(tokens):
            raise AssertionError("this is a bug in earleymask: a token of its own mask is not accepted")
        self.left -= len(tokens)
        self.unread += tokens
        self.tokens += tokens
        self.n_forced += len(tokens) * forced

    @property
    def is_finished(self) -> bool:
        if self.matcher is not None:
            return self.matcher.is_finished()
        return bool(self.tokens) and self.tokens[-1] in self.ends

    @property
    def is_live(self) -> bool:
        return self.left > 0 and not self.is_finished


def generate(
    model: PreTrainedModel,
    vocabulary: Vocabulary | PreTrainedTokenizerBase,
    input_ids: torch.Tensor | Sequence[Sequence[int]],
    grammar: GrammarLike | Sequence[GrammarLike | None],
    *,
    attention_mask: torch.Tensor | None = None,
    max_new_tokens: int = 256,
    do_sample: bool = False,
    temperature: float = 1.0,
    generator: torch.Generator | None = None,
    forced: bool | None = None,
    threads: int = 1,
    progress: bool = False,
) -> Generated:
    """Write a text of the grammar after each prompt. What is forced takes no pass of the model.

    Args:
        model: a causal model of `transformers` whose `forward` takes `position_ids`.
        vocabulary: its `Vocabulary`, or the tokenizer that `model_vocabulary` makes one of.
        input_ids: int, shape `(rows, length)`, padded where `attention_mask` is 0; or a list of prompts of any lengths.
        grammar: one for all rows, or a list with one for each, in which None stands for a row without a constraint;
            whatever `Matcher` takes.
        attention_mask: shape of `input_ids`; None: no id of a tensor is padding.
        max_new_tokens: the most ids that a row writes, at least 0.
        do_sample: sample each choice, in place of taking the most probable token.
        temperature: divides the scores if `do_sample`; above 0.
        generator: for sampling, on the model's device.
        forced: whether to use `Matcher.forced_tokens`; None: if the vocabulary has `encode`. A token that is the only
            one of its mask takes no pass in any case.
        threads: how many masks are made at the same time.
        progress: show a bar of the tokens; needs `tqdm`.

    Raises:
        ValueError: the prompts, the grammars or `temperature` do not fit; or the model takes no `position_ids`.
        VocabularyError: `forced` is True, and the vocabulary has no `encode`.
        EmptyMaskError: the vocabulary cannot spell what must come next, or the model has no score for it.
    """
    if not isinstance(vocabulary, Vocabulary):
        vocabulary = model_vocabulary(model, vocabulary)
    if forced and vocabulary.encode is None:
        raise VocabularyError("forced=True needs a vocabulary with `encode`; see Vocabulary.with_encode")
    if max_new_tokens < 0 or not temperature > 0:
        raise ValueError(f"max_new_tokens is {max_new_tokens} and temperature {temperature}; at least 0, and above 0")
    prompts = _prompts(input_ids, attention_mask)
    grammars = as_grammars_or_none(grammar, vocabulary)
    if len(grammars) not in (1, len(prompts)):
        raise ValueError(f"there are {len(grammars)} grammars for {len(prompts)} prompts; give one, or one for each")
    if len(grammars) == 1:
        grammars *= len(prompts)
    rows = [
        _Row(
            None if each is None else Matcher(each, vocabulary), max_new_tokens, list(prompt), vocabulary.eos_token_ids
        )
        for each, prompt in zip(grammars, prompts, strict=True)
    ]
    groups = [rows] if _may_have_gaps(model) else [[row] for row in rows]
    n_passes = 0
    with torch.inference_mode(), _bar(progress, max_new_tokens * len(rows)) as bar:
        for group in groups:
            use_forced = vocabulary.encode is not None if forced is None else forced
            loop = _Loop(model, group, vocabulary, use_forced, threads)
            n_passes += loop.run(temperature if do_sample else None, generator, bar)
    return Generated(
        [row.tokens for row in rows],
        [b"".join([vocabulary.token_bytes(each) for each in row.tokens if each < vocabulary.size]) for row in rows],
        [row.is_finished for row in rows],
        [row.n_forced for row in rows],
        n_passes,
    )


class _Loop:
    """Passes of the model and choices between them, for rows that share a cache."""

    def __init__(
        self, model: PreTrainedModel, rows: list[_Row], vocabulary: Vocabulary, forced: bool, threads: int
    ) -> None:
        self.reader = Reader(model, len(rows))
        self.rows = rows
        self.forced = forced
        self.threads = threads
        self.size = vocabulary.size
        self.n_readable = _n_readable(model)
        self.masks = allocate_bitmask(len(rows), vocabulary)

    def run(self, temperature: float | None, generator: torch.Generator | None, bar: Any) -> int:
        """Write all rows. Return the number of passes."""
        n_passes = n_shown = 0
        while True:
            self.write_forced()
            n_written = sum(len(row.tokens) for row in self.rows)
            if bar is not None:
                bar.update(n_written - n_shown)
                n_shown = n_written
            live = [index for index, row in enumerate(self.rows) if row.is_live]
            if not live:
                return n_passes
            unread = [row.unread if row.is_live else [] for row in self.rows]
            scores = self.reader.read(unread)[live].float()
            n_passes += 1
            apply_bitmask(scores, self.masks[live])
            # A mask that allows all tokens leaves the scores of ids beyond the vocabulary as they are.
            constrained = [at for at, index in enumerate(live) if self.rows[index].matcher is not None]
            scores[constrained, self.size :] = -torch.inf
            for at in torch.isneginf(scores.amax(dim=-1)).nonzero().flatten().tolist():
                row = self.rows[live[at]]
                raise excluded_mask(f"row {live[at]}, after {len(row.tokens)} tokens")
            for index, token in zip(live, _chosen(scores, temperature, generator), strict=True):
                self.rows[index].unread = []
                self.rows[index].write([token], forced=False)

    def write_forced(self) -> None:
        """Append what is forced to each row. Then the masks are those of the rows that are live."""
        agenda = [index for index, row in enumerate(self.rows) if row.is_live]
        while agenda:
            if self.forced:
                for index in agenda:
                    matcher = self.rows[index].matcher
                    if matcher is not None:
                        self.force(index, matcher.forced_tokens())
            agenda = [index for index in agenda if self.rows[index].is_live]
            matchers = [self.rows[index].matcher for index in agenda]
            fill_bitmasks(matchers, self.masks, threads=self.threads, indices=agenda)
            again = []
            for index, matcher in zip(agenda, matchers, strict=True):
                token = _only_token(self.masks[index])
                if token is not None:
                    self.force(index, [token])
                    again.append(index)
                elif matcher is not None and not self.masks[index].any():
                    raise empty_mask(matcher, f"row {index}, after {matcher.n_tokens} tokens")
            agenda = [index for index in again if self.rows[index].is_live]

    def force(self, index: int, tokens: Sequence[int]) -> None:
        """Append forced tokens to a row. A vocabulary may have ids that the model has not."""
        if self.n_readable is not None and max(tokens, default=0) >= self.n_readable:
            raise excluded_mask(f"row {index}, after {len(self.rows[index].tokens)} tokens")
        self.rows[index].write(tokens, forced=True)


class Reader:
    """A model that reads the tokens of several rows, some at a time, and remembers what it has read."""

    def __init__(self, model: PreTrainedModel, n_rows: int) -> None:
        if "position_ids" not in inspect.signature(model.forward).parameters:
            raise ValueError(
                f"{type(model).__name__}.forward takes no position_ids, so its rows cannot be read in blocks"
            )
        self.model = model
        self._cache_name = cache_name(model)
        self._cache: Any = None
        self._mask = torch.zeros((n_rows, 0), dtype=torch.long)

    def read(self, rows: Sequence[Sequence[int]]) -> torch.Tensor:
        """Read the next tokens of each row, and return the scores after them: shape `(rows, logits)`. Those of a row
        without tokens mean nothing."""
        width = max(map(len, rows))
        ids = torch.zeros((len(rows), width), dtype=torch.long)
        mask = torch.zeros((len(rows), width), dtype=torch.long)
        for index, tokens in enumerate(rows):
            if tokens:
                ids[index, -len(tokens) :] = torch.tensor(tokens)
                mask[index, -len(tokens) :] = 1
        n_read = self._mask.sum(dim=1, keepdim=True)
        self._mask = torch.cat([self._mask, mask], dim=1)
        positions = (n_read + mask.cumsum(dim=1) - 1).clamp(min=0)
        device = self.model.device
        output = self.model(
            input_ids=ids.to(device),
            attention_mask=self._mask.to(device),
            position_ids=positions.to(device),
            use_cache=True,
            **{self._cache_name: self._cache},
        )
        self._cache = output[self._cache_name]
        scores: torch.Tensor = output.logits[:, -1]
        return scores


def _n_readable(model: PreTrainedModel) -> int | None:
    """Return how many ids a model can read; None if its embedding does not say so."""
    try:
        embedding = model.get_input_embeddings()
    except NotImplementedError:
        return None
    n = getattr(embedding, "num_embeddings", None)
    return n if isinstance(n, int) else None


def cache_name(model: PreTrainedModel) -> str:
    """Return what a model calls its key-value cache, among its arguments and in its output: that has changed."""
    return "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"


def _prompts(input_ids: Any, attention_mask: torch.Tensor | None) -> list[list[int]]:
    """Return the ids of each prompt, without padding. A prompt needs one id at least, or no score comes before it."""
    if isinstance(input_ids, torch.Tensor):
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask.to(input_ids.device)
        if input_ids.dim() != 2 or mask.shape != input_ids.shape:
            shapes = f"input_ids {tuple(input_ids.shape)} and attention_mask {tuple(mask.shape)}"
            raise ValueError(f"{shapes}: both must be (rows, length)")
        prompts = [row[chosen.bool()].tolist() for row, chosen in zip(input_ids, mask, strict=True)]
    elif attention_mask is not None:
        raise ValueError("attention_mask belongs to a tensor; lists of prompts have no padding")
    else:
        prompts = [[int(token) for token in row] for row in input_ids]
    for index, prompt in enumerate(prompts):
        if not prompt:
            raise ValueError(f"prompt {index} is empty; begin it with BOS or any other id")
    return prompts


def _may_have_gaps(model: PreTrainedModel) -> bool:
    """Return whether masked columns between tokens change nothing: not if a layer counts columns (a sliding window) or
    reads all of them (recurrent layers)."""
    config = model.config.get_text_config()
    kinds = getattr(config, "layer_types", None) or []
    if kinds:
        return all(kind == "full_attention" for kind in kinds)
    return not getattr(config, "sliding_window", None)


def _only_token(mask: npt.NDArray[np.int32]) -> int | None:
    """Return the token that a row allows if it is the only one."""
    (words,) = np.nonzero(mask)
    if len(words) != 1:
        return None
    word = int(mask[words[0]]) & 0xFFFFFFFF
    return int(words[0]) * TOKENS_PER_WORD + word.bit_length() - 1 if word & (word - 1) == 0 else None


def _chosen(scores: torch.Tensor, temperature: float | None, generator: torch.Generator | None) -> list[int]:
    """Return a token for each row: a sample at a temperature, or the most probable one if that is None."""
    if temperature is None:
        found: list[int] = scores.argmax(dim=-1).tolist()
        return found
    probabilities = torch.softmax(scores / temperature, dim=-1)
    sampled: list[int] = torch.multinomial(probabilities, 1, generator=generator).flatten().tolist()
    return sampled


def _bar(shown: bool, total: int) -> AbstractContextManager[Any]:
    """Return a progress bar; it yields None if none is shown."""
    if not shown:
        return nullcontext()
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped]
    except ImportError as error:
        raise ImportError("progress=True needs tqdm: pip install tqdm", name="tqdm") from error
    bar: AbstractContextManager[Any] = tqdm(total=total, unit="token", desc="generating")
    return bar
