"""Speculative decoding under a grammar: a small model drafts tokens, the large one scores them all in one pass.

Three ways to combine drafts with a grammar, each one step of a loop:

- `constrained_step`: the draft is made under the masks, so no drafted token is forbidden.
- `verified_step`: the draft knows no grammar. A forbidden token is rejected, and its replacement sampled under the
  mask.
- `tree_step`: the draft is a tree, of which the branches that the grammar allows survive.

With each of them, the tokens have the distribution that the large model alone would give them: its own, renormalised
over the mask at each step. In the notation of Leviathan et al. (2023) and Chen et al. (2023), `p` is that distribution
and `q` the one that the draft was sampled from. A drafted token `x` is accepted with probability min(1, p(x) / q(x)); a
rejected one is replaced by a sample of max(0, p - q), normalised. A tree tries several samples of `q` at a place, one
after the other; each rejection replaces `p` by that rest (SpecInfer, Miao et al., 2024).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
import torch

from ..applying import apply_bitmask
from ..arguments import as_grammar
from ..bitmask import allocate_bitmask
from ..drafts import fill_draft_bitmasks
from ..earley import Matcher
from ..errors import empty_mask, excluded_mask
from ..trie import Vocabulary
from .generation import cache_name

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from ..arguments import GrammarLike

__all__ = ["ModelScores", "Scores", "Speculated", "constrained_step", "speculate", "tree_step", "verified_step"]

Way = Literal["constrained", "verified", "tree"]


class Scores(Protocol):
    """Something that scores tokens: a model, or what stands for one."""

    def scores(self, ids: Sequence[int], tokens: Sequence[int], parents: Sequence[int]) -> torch.Tensor:
        """Return the scores of the next token after `ids`, and after each node of a tree that continues them: shape
        `(len(tokens) + 1, logits)`. `parents`: for each token, the index of the one before it, or -1 for `ids`."""


class ModelScores:
    """The scores of a causal model of `transformers`. What two calls have in common is read once.

    Its attention must take a mask of four dimensions (eager and SDPA do), and its cache must be of full attention.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model
        self._cache_name = cache_name(model)
        self._cache: Any = None
        self._read: list[int] = []

    def scores(self, ids: Sequence[int], tokens: Sequence[int], parents: Sequence[int]) -> torch.Tensor:
        ids = list(ids)
        n_kept = _n_common(self._read, ids[:-1])
        if n_kept < len(self._read):
            self._cache.crop(n_kept - len(self._read))
        n_new = len(ids) - n_kept
        sees = torch.ones((n_new + len(tokens), len(ids) + len(tokens)), dtype=torch.bool).tril(n_kept)
        positions = list(range(n_kept, len(ids)))
        for node, parent in enumerate(parents):
            row = n_new + node
            sees[row, len(ids) :] = sees[n_new + parent, len(ids) :] if parent >= 0 else False
            sees[row, len(ids) + node] = True
            positions.append(positions[n_new + parent] + 1 if parent >= 0 else len(ids))
        mask = torch.zeros(sees.shape, dtype=self.model.dtype).masked_fill_(~sees, torch.finfo(self.model.dtype).min)
        device = self.model.device
        with torch.inference_mode():
            output = self.model(
                input_ids=torch.tensor([[*ids[n_kept:], *tokens]], device=device),
                attention_mask=mask[None, None].to(device),
                position_ids=torch.tensor([positions], device=device),
                use_cache=True,
                **{self._cache_name: self._cache},
            )
        self._cache = output[self._cache_name]
        if tokens:
            self._cache.crop(-len(tokens))
        self._read = ids
        found: torch.Tensor = output.logits[0, n_new - 1 :]
        return found


@dataclass
class Speculated:
    """What `speculate` has written."""

    tokens: list[int] = field(default_factory=list)
    """The ids after the prompt, EOS included."""
    text: bytes = b""
    n_steps: int = 0
    """Passes of the large model."""
    is_finished: bool = False
    """Whether the text has ended; else it has met `max_new_tokens`."""


def speculate(
    target: PreTrainedModel | Scores,
    draft: PreTrainedModel | Scores,
    vocabulary: Vocabulary,
    prompt: Sequence[int],
    grammar: GrammarLike,
    *,
    way: Way = "constrained",
    n_draft: int = 4,
    widths: Sequence[int] = (3, 2, 1, 1),
    max_new_tokens: int = 256,
    temperature: float = 1.0,
    generator: torch.Generator | None = None,
) -> Speculated:
    """Write a text of the grammar after a prompt, with a draft model.

    Args:
        target, draft: models of the same vocabulary, or `Scores`.
        prompt: ids, at least one.
        way: "constrained", "verified" or "tree": `constrained_step`, `verified_step` or `tree_step`.
        n_draft, widths: how much each step drafts, see there.
        max_new_tokens: the text ends there if not before.
        temperature: divides the scores of both models; 0 takes the most probable token.
        generator: for sampling; on the CPU.

    Raises:
        ValueError: `way` is unknown, the prompt is empty, or `max_new_tokens` or `temperature` is negative.
        EmptyMaskError: the vocabulary cannot spell what must come next, or a model has no score for it.
    """
    if way not in ("constrained", "verified", "tree"):
        raise ValueError(f'way is {way!r}; give "constrained", "verified" or "tree"')
    if max_new_tokens < 0:
        raise ValueError(f"max_new_tokens is {max_new_tokens}; it must be at least 0")
    ids = [int(token) for token in prompt]
    if not ids:
        raise ValueError("the prompt is empty; begin it with BOS or any other id")
    large = ModelScores(target) if isinstance(target, torch.nn.Module) else target
    small = ModelScores(draft) if isinstance(draft, torch.nn.Module) else draft
    matcher = Matcher(as_grammar(grammar, vocabulary), vocabulary)
    sampler = Sampler(temperature, generator)
    found = Speculated()
    while len(found.tokens) < max_new_tokens and not matcher.is_finished():
        at = ids + found.tokens
        if way == "constrained":
            found.tokens += constrained_step(large, small, at, matcher, sampler, n_draft=n_draft)
        elif way == "verified":
            found.tokens += verified_step(large, small, at, matcher, sampler, n_draft=n_draft)
        else:
            found.tokens += tree_step(large, small, at, matcher, sampler, widths=widths)
        found.n_steps += 1
    surplus = len(found.tokens) - max_new_tokens
    if surplus > 0:
        matcher.rollback(surplus)
        del found.tokens[max_new_tokens:]
    found.text = b"".join(map(vocabulary.token_bytes, found.tokens))
    found.is_finished = matcher.is_finished()
    return found


def constrained_step(
    target: Scores, draft: Scores, ids: Sequence[int], matcher: Matcher, sampler: Sampler, *, n_draft: int
) -> list[int]:
    """Draft `n_draft` tokens under the masks, verify them, and return those that the matcher has accepted: at least
    one.

    The draft model is sampled under the mask of each place, so `q` is its distribution renormalised over the mask. More
    tokens are accepted than if it knew no grammar, for a mask before each pass of the draft model.
    """
    place = matcher.fork()
    row = allocate_bitmask(1, matcher.vocabulary)
    tokens: list[int] = []
    drafted: list[torch.Tensor] = []
    while len(tokens) < n_draft and not place.is_finished():
        place.fill_bitmask(row[0])
        scores = draft.scores([*ids, *tokens], [], [])
        drafted.append(sampler.probabilities(scores, row, place)[0])
        tokens.append(sampler.sample(drafted[-1]))
        _accept(place, tokens[-1])
    return _verified(target, ids, matcher, sampler, tokens, drafted)


def verified_step(
    target: Scores, draft: Scores, ids: Sequence[int], matcher: Matcher, sampler: Sampler, *, n_draft: int
) -> list[int]:
    """Draft `n_draft` tokens without the grammar, verify them, and return those that the matcher has accepted: at least
    one.

    For a draft that is made elsewhere. `p` of a forbidden token is 0, so it is always rejected, and the replacement is
    a sample of max(0, p - q), which is 0 outside the mask.
    """
    tokens: list[int] = []
    drafted: list[torch.Tensor] = []
    for _ in range(n_draft):
        scores = draft.scores([*ids, *tokens], [], [])
        drafted.append(sampler.probabilities(scores[:, : matcher.vocabulary.size])[0])
        tokens.append(sampler.sample(drafted[-1]))
    return _verified(target, ids, matcher, sampler, tokens, drafted)


def _verified(
    target: Scores,
    ids: Sequence[int],
    matcher: Matcher,
    sampler: Sampler,
    tokens: list[int],
    drafted: list[torch.Tensor],
) -> list[int]:
    """Return the tokens of a chain up to the first rejected one, and its replacement. `drafted`: `q` of each token."""
    rows = allocate_bitmask(len(tokens) + 1, matcher.vocabulary)
    fill_draft_bitmasks(matcher, tokens, rows)
    scores = target.scores(ids, tokens, range(-1, len(tokens) - 1))
    written: list[int] = []
    for at, (token, q) in enumerate(zip(tokens, drafted, strict=True)):
        p = sampler.probabilities(scores[at : at + 1], rows[at : at + 1], matcher)[0]
        if not sampler.accepts(p, q, token):
            token = sampler.sample(_rest(p, q))
            _accept(matcher, token)
            return [*written, token]
        _accept(matcher, token)
        written.append(token)
        if matcher.is_finished():
            return written
    token = sampler.sample(sampler.probabilities(scores[-1:], rows[-1:], matcher)[0])
    _accept(matcher, token)
    return [*written, token]


def tree_step(
    target: Scores, draft: Scores, ids: Sequence[int], matcher: Matcher, sampler: Sampler, *, widths: Sequence[int]
) -> list[int]:
    """Draft a tree, drop the branches that the grammar forbids, verify the others in one pass, and return the tokens
    that the matcher has accepted: at least one.

    At each place of depth `d`, `widths[d]` samples are drawn from the draft model, which knows no grammar. Those that
    the mask allows are samples of its distribution renormalised over the mask, so that is `q`. Nodes that were dropped
    cost the large model nothing.
    """
    tree = _drafted_tree(draft, ids, matcher, sampler, widths)
    rows = allocate_bitmask(len(tree.tokens) + 1, matcher.vocabulary)
    fill_draft_bitmasks(matcher, tree.tokens, rows, parents=tree.parents)
    scores = target.scores(ids, tree.tokens, tree.parents)
    written: list[int] = []
    node: int | None = -1
    while node is not None and not matcher.is_finished():
        p = sampler.probabilities(scores[node + 1 : node + 2], rows[node + 1 : node + 2], matcher)[0]
        accepted = None
        for child in tree.children[node]:
            if sampler.accepts(p, tree.drafted[node], tree.tokens[child]):
                accepted = child
                break
            p = _rest(p, tree.drafted[node])
        token = sampler.sample(p) if accepted is None else tree.tokens[accepted]
        _accept(matcher, token)
        written.append(token)
        node = accepted
    return written


@dataclass
class _Tree:
    """A drafted tree. Node -1 is the place before it."""

    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    children: dict[int, list[int]] = field(default_factory=lambda: {-1: []})
    """For each node, those of its samples that the mask allows, in the order in which they were drawn. A token that was
    drawn twice is one node, listed twice."""
    drafted: dict[int, torch.Tensor] = field(default_factory=dict)
    """`q` at each node that has children."""


def _drafted_tree(
    draft: Scores, ids: Sequence[int], matcher: Matcher, sampler: Sampler, widths: Sequence[int]
) -> _Tree:
    """Draw a tree, one pass of the draft model for each level."""
    tree = _Tree()
    level = [-1]
    eos = set(matcher.eos_token_ids)
    for width in widths:
        level = [node for node in level if node < 0 or tree.tokens[node] not in eos]
        if not level:
            break
        rows = allocate_bitmask(len(tree.tokens) + 1, matcher.vocabulary)
        fill_draft_bitmasks(matcher, tree.tokens, rows, parents=tree.parents)
        scores = draft.scores(ids, tree.tokens, tree.parents)[:, : matcher.vocabulary.size]
        following: list[int] = []
        for node in level:
            free, mask = sampler.probabilities(scores[node + 1 : node + 2])[0], rows[node + 1]
            nodes: dict[int, int] = {}
            for token in sampler.samples(free, width):
                if not int(mask[token >> 5]) >> (token & 31) & 1:
                    continue
                if token not in nodes:
                    nodes[token] = len(tree.tokens)
                    tree.tokens.append(token)
                    tree.parents.append(node)
                    tree.children[nodes[token]] = []
                tree.children[node].append(nodes[token])
            if nodes:
                tree.drafted[node] = sampler.renormalised(free, mask)
            following += nodes.values()
        level = following
    return tree


class Sampler:
    """Makes probabilities of scores, and samples of them."""

    def __init__(self, temperature: float = 1.0, generator: torch.Generator | None = None) -> None:
        if not temperature >= 0:
            raise ValueError(f"temperature is {temperature}; it must be at least 0")
        self.temperature = temperature
        self.generator = generator

    def probabilities(
        self, scores: torch.Tensor, rows: npt.NDArray[np.int32] | None = None, matcher: Matcher | None = None
    ) -> torch.Tensor:
        """Return the probabilities of scores, shape `(rows, logits)`, on the CPU; under the masks in `rows` if given.
        `matcher` stands at the place, for the message if its mask is empty."""
        found = scores.detach().cpu().double()
        if rows is not None:
            if matcher is not None and not rows.any():
                raise empty_mask(matcher, f"after {matcher.n_tokens} tokens")
            found = found.clone()
            apply_bitmask(found, rows)
            assert matcher is not None
            found = found[:, : matcher.vocabulary.size]
            if torch.isneginf(found.amax(dim=-1)).any():
                raise excluded_mask(f"after {matcher.n_tokens} tokens")
        if self.temperature == 0:
            return torch.nn.functional.one_hot(found.argmax(dim=-1), found.shape[-1]).double()
        return torch.softmax(found / self.temperature, dim=-1)

    def renormalised(self, probabilities: torch.Tensor, mask: npt.NDArray[np.int32]) -> torch.Tensor:
        """Return probabilities, shape `(logits,)`, restricted to a mask that has some of them."""
        bits = np.unpackbits(mask.view(np.uint8), count=len(probabilities), bitorder="little")
        found = probabilities * torch.from_numpy(bits)
        return found / found.sum()

    def samples(self, probabilities: torch.Tensor, n: int) -> list[int]:
        """Draw `n` tokens, independently of each other."""
        found: list[int] = torch.multinomial(probabilities, n, replacement=True, generator=self.generator).tolist()
        return found

    def sample(self, probabilities: torch.Tensor) -> int:
        return self.samples(probabilities, 1)[0]

    def accepts(self, p: torch.Tensor, q: torch.Tensor, token: int) -> bool:
        """Return whether a token that was drawn from `q` is accepted as one of `p`."""
        chance = float(torch.rand((), generator=self.generator, dtype=torch.float64))
        return chance * float(q[token]) < float(p[token])


def _accept(matcher: Matcher, token: int) -> None:
    """Accept a token that was chosen under the mask."""
    if not matcher.accept(token):
        raise AssertionError("this is a bug in earleymask: a token of its own mask is not accepted")


def _rest(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """Return max(0, p - q), normalised: the distribution of a token in place of a rejected one."""
    rest = (p - q).clamp(min=0)
    total = rest.sum()
    return rest / total if total > 0 else p  # they are equal up to rounding


def _n_common(one: Sequence[int], other: Sequence[int]) -> int:
    """Return with how many equal items two lists begin."""
    n = min(len(one), len(other))
    return next((i for i in range(n) if one[i] != other[i]), n)
