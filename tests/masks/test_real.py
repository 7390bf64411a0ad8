"""Masks from remembered answers equal those of the walk, over whole real vocabularies and late in real texts."""

from __future__ import annotations

from random import Random

import pytest

from campaign import arms
from earleymask import Grammar, Matcher
from support import vocabularies
from support.mask_paths import agreed
from support.paths import ROOT
from support.strategies import choose_token

KINDS = ("json", "language", "sql")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", vocabularies.NAMES)
def test_late_in_a_text(name: str, kind: str) -> None:
    """They are equal at random places of a text, and a few random tokens of the mask later."""
    rng = Random(f"{name} {kind}")
    vocabulary = vocabularies.load(name)
    text = (ROOT / "bench" / "grammars" / f"{kind}.lark").read_text(encoding="utf-8")
    document = arms.bench_text()(kind, rng.randrange(10**6), 1500)
    matcher = Matcher(Grammar.from_lark(text), vocabulary)
    tokens = vocabularies.load_encoder(name).encode(document)  # the grammar ignores SentencePiece's first blank
    chosen = set(rng.sample(range(len(tokens)), min(10, len(tokens))))
    for place, token in enumerate(tokens):
        if place in chosen:
            mask = agreed(matcher)
            assert mask[token]
            astray(matcher.fork(), rng, 2)
        assert matcher.accept(token)
    astray(matcher, rng, 3)


def astray(matcher: Matcher, rng: Random, n_tokens: int) -> None:
    for _ in range(n_tokens):
        allowed = [int(t) for t in agreed(matcher).nonzero()[0] if int(t) not in matcher.vocabulary.eos_token_ids]
        if not allowed:
            return
        allowed = rng.sample(allowed, min(50, len(allowed)))
        matcher.accept(choose_token(rng, allowed, {t: matcher.vocabulary.token_bytes(t) for t in allowed}))
