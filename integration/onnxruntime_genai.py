"""Generation under a grammar with onnxruntime-genai.

    vocabulary = genai_vocabulary(folder)
    generator = onnxruntime_genai.Generator(model, params)
    generator.append_tokens(prompt)
    masks = GrammarMasks(generator, grammar, vocabulary)
    while not generator.is_done():
        masks.apply()
        generator.generate_next_token()

The loop is the caller's. `apply` reads the scores of the next tokens, masks them, and puts them back; the generator
then samples from these. It may be rewound between two steps.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from ..applying import apply_bitmask
from ..arguments import as_grammars_or_none
from ..bitmask import allocate_bitmask
from ..errors import excluded_mask
from ..trie import Vocabulary
from .following import Follower

if TYPE_CHECKING:
    from os import PathLike

    from ..arguments import GrammarLike

__all__ = ["GrammarMasks", "genai_vocabulary"]


def genai_vocabulary(folder: str | PathLike[str]) -> Vocabulary:
    """Make the vocabulary of a model from its folder: the bytes of the tokens in `tokenizer.json`, which the package
    `tokenizers` reads, and the width and the ends in `genai_config.json`."""
    from tokenizers import Tokenizer

    config = json.loads(Path(folder, "genai_config.json").read_text(encoding="utf-8"))["model"]
    tokenizer = Tokenizer.from_file(str(Path(folder, "tokenizer.json")))
    size = max(config["vocab_size"], tokenizer.get_vocab_size())
    return Vocabulary.from_transformers(tokenizer, eos_token_id=config["eos_token_id"], size=size)


class GrammarMasks:
    """The masks of a generator's rows.

    Args:
        generator: an `onnxruntime_genai.Generator` that has its prompts, and searches without beams.
        grammar: a `Grammar`, or what `Constraint` makes one of; for a batch, a list with one for each prompt, or None
            for a prompt without a constraint.
        vocabulary: the vocabulary of the model; `genai_vocabulary` makes it.
        max_tokens: how many tokens come after the prompts at most: `max_length` less the prompt's length. Then each
            text is a whole sentence (docs/serving.md, "Budgets"). None: it may be cut.
        on_error: "raise"; or "end": keep the error of a row in `errors`, allow EOS alone there, and go on with the
            others.

    Attributes:
        errors: what has ended each row before its time; None if nothing has.
    """

    def __init__(
        self,
        generator: Any,
        grammar: GrammarLike | Sequence[GrammarLike | None],
        vocabulary: Vocabulary,
        *,
        max_tokens: int | None = None,
        on_error: Literal["raise", "end"] = "raise",
    ) -> None:
        if on_error not in ("raise", "end"):
            raise ValueError(f'on_error must be "raise" or "end", got {on_error!r}')
        grammars = as_grammars_or_none(grammar, vocabulary)
        self._generator = generator
        self._followers = [
            None if each is None else Follower(each, vocabulary, max_tokens=max_tokens) for each in grammars
        ]
        self._vocabulary = vocabulary
        self._on_error = on_error
        self._n_prompt = int(generator.token_count())

    @property
    def errors(self) -> list[BaseException | None]:
        """What has ended each row before its time; None if nothing has."""
        return [None if each is None else each.error for each in self._followers]

    def apply(self) -> None:
        """Mask the scores of the next tokens.

        Raises:
            ValueError: there are more or fewer rows than grammars.
            RejectedTokenError, EmptyMaskError, LimitError, BudgetError: with `on_error="raise"`, see `Follower.row`.
        """
        scores = np.array(self._generator.get_logits(), np.float32)
        rows = scores.reshape(-1, scores.shape[-1])  # of shape (rows, 1, width)
        if len(rows) != len(self._followers):
            raise ValueError(
                f"the generator has {len(rows)} rows, and there are {len(self._followers)} grammars: give one for each "
                "prompt, and search without beams"
            )
        masks = allocate_bitmask(len(rows), self._vocabulary)
        for at, follower in enumerate(self._followers):
            if follower is not None:
                ids = self._ids(at)
                masks[at] = follower.row(ids) if self._on_error == "raise" else follower.row_or_end(ids)
        apply_bitmask(rows, masks)
        # A mask that allows all tokens leaves the scores of ids beyond the vocabulary as they are.
        constrained = [at for at, follower in enumerate(self._followers) if follower is not None]
        rows[constrained, self._vocabulary.size :] = -np.inf
        for at in np.flatnonzero(np.isneginf(rows.max(axis=1))).tolist():
            self._exclude(at, rows)
        self._generator.set_logits(scores)

    def _ids(self, at: int) -> npt.NDArray[np.integer[Any]]:
        """Return the ids of a row up to its end; padding comes after it."""
        ids: npt.NDArray[np.integer[Any]] = np.asarray(self._generator.get_sequence(at))
        ends = np.flatnonzero(np.isin(ids[self._n_prompt :], self._vocabulary.eos_token_ids))
        return ids[: self._n_prompt + int(ends[0]) + 1] if len(ends) else ids

    def _exclude(self, at: int, rows: npt.NDArray[np.float32]) -> None:
        """End a row in which no token is left."""
        follower = self._followers[at]
        if follower is None:
            return
        error = excluded_mask(f"row {at}, after {follower.matcher.n_tokens} tokens")
        if self._on_error == "raise":
            raise error
        follower.end(error, here=True)
        rows[at, [each for each in self._vocabulary.eos_token_ids if each < rows.shape[1]]] = 0.0
