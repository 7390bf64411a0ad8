"""Masks along drafts equal those of matchers that accept the same tokens one after the other."""

from __future__ import annotations

from random import Random

import numpy as np
import numpy.typing as npt
import pytest

from earleymask import Grammar, LimitError, Limits, Matcher, Vocabulary, fill_draft_bitmasks
from support import vocabularies
from support.grammar_texts import GRAMMARS
from support.mask_paths import filled

WORDS = [b'{"', b"ab", b'":', b"};", b"= 1", b"<a>", b", "]
VOCABULARY = Vocabulary.from_tokens([*(bytes([byte]) for byte in range(256)), *WORDS, b""], eos_token_id=263)
BUDGET = 'start: (word ";")+\nword[max_tokens=3]: /[a-z]+/\n'


def replayed(
    grammar: Grammar, vocabulary: Vocabulary, written: list[int], draft: list[int], parents: list[int]
) -> tuple[npt.NDArray[np.int32], list[bool]]:
    """Return rows and which tokens are allowed, each from a new matcher."""
    rows = np.full((len(draft) + 1, -(-vocabulary.size // 32)), -1, np.int32)
    allowed = []
    for node in range(-1, len(draft)):
        path: list[int] = []
        at = node
        while at >= 0:
            path.insert(0, draft[at])
            at = parents[at]
        matcher = Matcher(grammar, vocabulary)
        assert all(matcher.accept(token) for token in written)
        is_allowed = all(matcher.accept(token) for token in path)
        if is_allowed:
            matcher.fill_bitmask(rows[node + 1])
        if node >= 0:
            allowed.append(is_allowed)
    return rows, allowed


def some_draft(rng: Random, matcher: Matcher, n: int, is_tree: bool) -> tuple[list[int], list[int]]:
    """Return tokens, most of which are allowed, and their parents."""
    draft: list[int] = []
    parents: list[int] = []
    places: list[Matcher] = [matcher.fork()]
    for node in range(n):
        parents.append(rng.randrange(-1, node) if is_tree and node else node - 1)
        place = places[parents[-1] + 1].fork()
        mask = np.flatnonzero(filled(place))
        token = int(rng.choice(mask)) if rng.random() < 0.9 else rng.randrange(matcher.vocabulary.size)
        draft.append(token)
        place.accept(token)
        places.append(place)
    return draft, parents


def compare(grammar: Grammar, vocabulary: Vocabulary, seed: int, n_drafts: int, kind: str) -> None:
    rng = Random(seed)
    n_allowed = n_refused = 0
    for number in range(n_drafts):
        matcher = Matcher(grammar, vocabulary)
        for _ in range(rng.randrange(6)):
            matcher.accept(int(rng.choice(np.flatnonzero(filled(matcher)))))
        written = matcher.tokens
        draft, parents = some_draft(rng, matcher, rng.randrange(8), is_tree=number % 2 == 1)
        expected, allowed = replayed(grammar, vocabulary, written, draft, parents)
        rows = np.full((len(draft) + 3, expected.shape[1]), 7, np.int32)
        given = pytest.importorskip("torch").from_numpy(rows) if kind == "torch" else rows
        found = fill_draft_bitmasks(matcher, draft, given, parents=parents if number % 2 else None)
        assert found.dtype == np.bool_ and found.tolist() == allowed
        assert np.array_equal(rows[:-2], expected) and (rows[-2:] == 7).all()
        assert matcher.tokens == written and matcher.error is None
        n_allowed += sum(allowed)
        n_refused += len(draft) - sum(allowed)
    assert n_allowed > 0 < n_refused


@pytest.mark.parametrize("kind", ["numpy", "torch"])
@pytest.mark.parametrize("name", [*GRAMMARS, "budget"])
def test_rows_along_a_draft_are_those_of_a_replay(name: str, kind: str) -> None:
    compare(Grammar.from_lark(GRAMMARS.get(name, BUDGET)), VOCABULARY, 3, 40, kind)


def test_rows_along_a_draft_with_a_real_vocabulary() -> None:
    compare(Grammar.from_lark(GRAMMARS["json"]), vocabularies.load("tekken"), 5, 10, "numpy")


def test_nothing_but_the_end_comes_after_the_end() -> None:
    rows = np.zeros((4, 9), np.int32)
    matcher = Matcher('start: "ab"', VOCABULARY)
    assert fill_draft_bitmasks(matcher, [257, 263, 97], rows).tolist() == [True, True, False]
    assert np.array_equal(rows[1], rows[2]) and (rows[3] == -1).all()


def test_an_error_behind_a_draft_concerns_the_draft_alone() -> None:
    grammar = Grammar.from_lark('start: "a" | "(" start ")"', limits=Limits(matcher_bytes=1 << 15))
    matcher = Matcher(grammar, VOCABULARY)
    draft = list(b"(" * 50_000)
    rows = np.zeros((len(draft) + 1, 9), np.int32)
    with pytest.raises(LimitError, match="matcher_bytes"):
        fill_draft_bitmasks(matcher, draft, rows)
    assert rows[0].any() and not rows[1:].any()
    assert matcher.n_tokens == 0 and matcher.error is None
    allowed = fill_draft_bitmasks(matcher, draft, rows, on_error="end")
    n = int(allowed.sum())
    assert 0 < n < len(draft) and allowed[:n].all()
    mask = np.unpackbits(rows[n + 1].view(np.uint8), bitorder="little")
    assert list(np.flatnonzero(mask)) == [263] and (rows[n + 2 :] == -1).all()
    assert matcher.n_tokens == 0 and matcher.error is None
    assert fill_draft_bitmasks(matcher, list(b"((a"), rows).tolist() == [True, True, True]


def test_drafts_that_cannot_be_are_refused() -> None:
    matcher = Matcher('start: "ab"', VOCABULARY)
    rows = np.full((3, 9), 7, np.int32)
    for draft, parents, message in (
        ([97, 98, 97], None, r"rows must have shape \(4, n_words\)"),
        ([97, 98], [-1], "there are 1 parents for 2 draft tokens"),
        ([97, 98], [-1, 1], r"parents\[1\] is 1; it must be -1 or an earlier token"),
        ([97, 98], [-2, 0], r"parents\[0\] is -2"),
    ):
        with pytest.raises(ValueError, match=message):
            fill_draft_bitmasks(matcher, draft, rows, parents=parents)
    with pytest.raises(TypeError):
        fill_draft_bitmasks(matcher, ["a"], rows)  # type: ignore[list-item]
    with pytest.raises(ValueError, match="on_error"):
        fill_draft_bitmasks(matcher, [97], rows, on_error="stop")  # type: ignore[arg-type]
    assert (rows == 7).all()
    assert fill_draft_bitmasks(matcher, [], rows).shape == (0,)
