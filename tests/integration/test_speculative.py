"""Drafts under a grammar: what is accepted has the target's distribution, renormalised over the mask at each step."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from earleymask import EmptyMaskError, Grammar, Matcher, Vocabulary  # noqa: E402
from earleymask.integration.speculative import ModelScores, Sampler, speculate, tree_step, verified_step  # noqa: E402
from support.effort import effort  # noqa: E402
from support.tiny_model import make_model  # noqa: E402

torch.set_num_threads(1)

# Forbidden tokens, a token of two letters, and texts that end after one to four tokens.
VOCABULARY = Vocabulary.from_tokens([b"a", b"b", b"c", b"d", b"ab", b"x", b"y", b""], eos_token_id=7)
GRAMMAR = Grammar.from_lark('start: /[ab]{1,2}/ ("c" | "d")?')
PROMPT = [5, 6]
N_SAMPLES = 2500
WAYS = ("constrained", "verified", "tree")


class Plain:
    """The scores of a model by a pass over each whole text, without a cache; each is computed once."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.known: dict[tuple[int, ...], Any] = {}

    def after(self, path: tuple[int, ...]) -> Any:
        if path not in self.known:
            with torch.inference_mode():
                self.known[path] = self.model(input_ids=torch.tensor([path])).logits[0, -1]
        return self.known[path]

    def scores(self, ids: Sequence[int], tokens: Sequence[int], parents: Sequence[int]) -> Any:
        paths = [tuple(ids)]
        for token, parent in zip(tokens, parents, strict=True):
            paths.append((*paths[parent + 1], token))
        return torch.stack([self.after(path) for path in paths])


@pytest.fixture(scope="module")
def target() -> Plain:
    return Plain(make_model(8, 0))


@pytest.fixture(scope="module")
def draft() -> Plain:
    return Plain(make_model(8, 1))


def distribution(scores: Plain, temperature: float = 1.0) -> dict[tuple[int, ...], float]:
    """Return the probability of each sequence of tokens: at each step the model's, renormalised over the mask."""
    found = {}
    agenda: list[tuple[tuple[int, ...], float]] = [((), 1.0)]
    while agenda:
        tokens, probability = agenda.pop()
        matcher = Matcher(GRAMMAR, VOCABULARY)
        assert matcher.accept_tokens(tokens) == len(tokens)
        if matcher.is_finished():
            found[tokens] = probability
            continue
        (allowed,) = np.nonzero(matcher.mask())
        scored = scores.after((*PROMPT, *tokens)).double()[torch.from_numpy(allowed)] / temperature
        for token, part in zip(allowed.tolist(), torch.softmax(scored, -1).tolist(), strict=True):
            agenda.append(((*tokens, token), probability * part))
    assert abs(sum(found.values()) - 1) < 1e-9
    return found


def misfit(counts: Counter[tuple[int, ...]], expected: dict[tuple[int, ...], float]) -> float:
    """Return Pearson's chi-square over its quantile of 0.9999 (Wilson and Hilferty, 1931): more than 1 is a misfit.
    Sequences that are expected less than five times count together."""
    assert not set(counts) - set(expected)
    n = sum(counts.values())
    cells = [(counts[key], n * share) for key, share in expected.items() if n * share >= 5]
    rare = [(counts[key], n * share) for key, share in expected.items() if n * share < 5]
    if rare:
        cells.append((sum(count for count, _ in rare), sum(mean for _, mean in rare)))
    chi_square = sum((count - mean) ** 2 / mean for count, mean in cells)
    k = len(cells) - 1
    return chi_square / (k * (1 - 2 / (9 * k) + 3.719 * math.sqrt(2 / (9 * k))) ** 3)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("n_draft", "widths", "temperature"), [(2, (3, 2), 1.0), (1, (1,), 0.7)])
def test_the_distribution_is_the_targets(
    target: Plain, draft: Plain, way: Any, n_draft: int, widths: tuple[int, ...], temperature: float
) -> None:
    expected = distribution(target, temperature)
    assert len(expected) > 15
    generator = torch.Generator().manual_seed(11)
    counts: Counter[tuple[int, ...]] = Counter()
    n_steps = n_tokens = 0
    for _ in range(effort(N_SAMPLES, 10 * N_SAMPLES)):
        found = speculate(
            target,
            draft,
            VOCABULARY,
            PROMPT,
            GRAMMAR,
            way=way,
            n_draft=n_draft,
            widths=widths,
            temperature=temperature,
            generator=generator,
        )
        assert found.is_finished
        counts[tuple(found.tokens)] += 1
        n_steps += found.n_steps
        n_tokens += len(found.tokens)
    assert misfit(counts, expected) < 1
    assert n_steps < n_tokens  # some drafts were accepted
    # The test can tell: it refuses the draft's distribution, and the target's at another temperature.
    assert misfit(counts, distribution(draft, temperature)) > 1
    assert misfit(counts, distribution(target, 1.2 * temperature)) > 1


@pytest.mark.parametrize("way", WAYS)
def test_the_most_probable_tokens(way: Any) -> None:
    # At temperature 0, the text is that of the target alone, whatever the draft.
    grammar = Grammar.from_json_schema(
        {"type": "object", "properties": {"name": {"enum": ["abc", "abd"]}, "n": {"type": "integer", "maximum": 99}}},
        whitespace="compact",
    )
    bytes_ = Vocabulary.bytes()
    large, small = make_model(257, 2), make_model(257, 3)
    for prompt in ([1], [7, 8, 9]):
        matcher = Matcher(grammar, bytes_)
        while not matcher.is_finished() and matcher.n_tokens < 40:
            (allowed,) = np.nonzero(matcher.mask())
            scores = Plain(large).after((*prompt, *matcher.tokens))
            matcher.accept(int(allowed[int(scores[torch.from_numpy(allowed)].argmax())]))
        for drafter in (small, large):
            found = speculate(
                large, drafter, bytes_, prompt, grammar, way=way, temperature=0, max_new_tokens=40, widths=(2, 1, 1)
            )
            assert found.tokens == matcher.tokens and found.is_finished == matcher.is_finished()
            assert found.text == bytes(token for token in found.tokens if token < 256)


def test_a_draft_like_the_target_is_accepted(target: Plain) -> None:
    # Then p = q, so the constrained draft is accepted whole: a text of n tokens takes ceil(n / (n_draft + 1)) passes.
    generator = torch.Generator().manual_seed(3)
    for _ in range(50):
        found = speculate(target, target, VOCABULARY, PROMPT, GRAMMAR, n_draft=2, generator=generator)
        assert found.n_steps == -(-len(found.tokens) // 3)


def test_scores_of_trees_with_a_cache() -> None:
    # Random trees after texts that grow, shrink and branch: each score is that of a pass over its whole path.
    model = make_model(20, 4)
    kept, plain = ModelScores(model), Plain(model)
    rng = Random(1)
    ids = [1, 2, 3]
    for _ in range(effort(60, 600)):
        ids = [*ids[: rng.randrange(1, len(ids) + 1)], *rng.choices(range(20), k=rng.randrange(4))]
        tokens = rng.choices(range(20), k=rng.randrange(7))
        parents = [rng.randrange(-1, node) for node in range(len(tokens))]
        found = kept.scores(ids, tokens, parents)
        torch.testing.assert_close(found, plain.scores(ids, tokens, parents), atol=1e-4, rtol=1e-4)


def test_a_step_moves_the_matcher(target: Plain, draft: Plain) -> None:
    sampler = Sampler(generator=torch.Generator().manual_seed(0))
    for step, options in ((verified_step, {"n_draft": 2}), (tree_step, {"widths": (2, 2)})):
        matcher = Matcher(GRAMMAR, VOCABULARY)
        tokens: list[int] = []
        while not matcher.is_finished():
            found = step(target, draft, [*PROMPT, *tokens], matcher, sampler, **options)  # type: ignore[operator]
            assert 1 <= len(found) <= 3
            tokens += found
            assert matcher.tokens == tokens


def test_no_more_than_asked_for(target: Plain, draft: Plain) -> None:
    for n in range(4):
        found = speculate(target, draft, VOCABULARY, PROMPT, GRAMMAR, max_new_tokens=n, temperature=0)
        assert len(found.tokens) == n or found.is_finished
        assert found.text == b"".join(map(VOCABULARY.token_bytes, found.tokens))


def test_logits_beyond_the_vocabulary() -> None:
    # Models pad their logits; no such token is drafted or written.
    large, small = Plain(make_model(16, 0)), Plain(make_model(16, 1))
    for way in WAYS:
        generator = torch.Generator().manual_seed(2)
        for _ in range(30):
            found = speculate(large, small, VOCABULARY, PROMPT, GRAMMAR, way=way, generator=generator)  # type: ignore[arg-type]
            assert found.is_finished and max(found.tokens) < 8


class Without(Plain):
    """Scores of -inf for a token."""

    def __init__(self, scores: Plain, token: int) -> None:
        self.inner, self.token = scores, token

    def scores(self, ids: Sequence[int], tokens: Sequence[int], parents: Sequence[int]) -> Any:
        found = self.inner.scores(ids, tokens, parents).clone()
        found[:, self.token] = -torch.inf
        return found


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("temperature", [0, 1])
def test_scores_that_leave_no_allowed_token(target: Plain, draft: Plain, way: Any, temperature: float) -> None:
    for large, small in [(Without(target, 1), Without(draft, 1)), (Without(target, 1), draft)]:
        with pytest.raises(EmptyMaskError, match=r"after [01] tokens: each token .* has a score of -inf"):
            speculate(large, small, VOCABULARY, PROMPT, 'start: "ab" "b"', way=way, temperature=temperature)


def test_tags_know_the_special_tokens(target: Plain, draft: Plain) -> None:
    names = {"<tool>": 6, "<end>": 7}
    tokens = [b"a", b"b", b"c", b"d", b"ab", b"x", b"", b""]
    vocabulary = Vocabulary.from_tokens(tokens, eos_token_id=7, special_tokens=names)
    grammar = {"type": "structural_tag", "format": {"type": "const_string", "value": "<tool>a"}}
    for way in WAYS:
        found = speculate(target, draft, vocabulary, PROMPT, grammar, way=way)  # type: ignore[arg-type]
        assert found.tokens == [6, 0, 7]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda t, d: speculate(t, d, VOCABULARY, [1], GRAMMAR, way="x"), ValueError, "way is 'x'"),
        (lambda t, d: speculate(t, d, VOCABULARY, [], GRAMMAR), ValueError, "prompt is empty"),
        (lambda t, d: speculate(t, d, VOCABULARY, [1], GRAMMAR, temperature=-1), ValueError, "temperature is -1"),
        (lambda t, d: speculate(t, d, VOCABULARY, [1], GRAMMAR, max_new_tokens=-1), ValueError, "max_new_tokens is -1"),
        (lambda t, d: speculate(t, d, VOCABULARY, [1], 'start: "z"'), EmptyMaskError, "no token that the grammar"),
        (
            lambda t, d: speculate(t, d, VOCABULARY, [1], 'start: "z"', way="tree"),
            EmptyMaskError,
            "no token that the grammar",
        ),
    ],
)
def test_errors(
    target: Plain, draft: Plain, call: Callable[[Any, Any], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call(target, draft)
