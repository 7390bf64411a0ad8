"""XGrammar, where it is installed, takes the same texts for the same structural tag, as far as no trigger overlaps."""

from __future__ import annotations

import json
from itertools import product
from random import Random

import pytest

from earleymask import Grammar, GrammarError, Matcher, Vocabulary
from support.random_tags import random_format

xgrammar = pytest.importorskip("xgrammar")
BYTES = Vocabulary.bytes()
WORDS = ["x", "yy[", "<z>", "b>"]
"""None of them begins or ends within another one. XGrammar lets free text go on where a trigger ends within another:
with the triggers `a` and `<a>`, it takes `<a` as free text, although `a` stands there."""
TEXTS = ["".join(text) for n in range(4) for text in product(["x", "yy[", "<z>", "b>", "a", "<", "1", "y"], repeat=n)]


@pytest.fixture(scope="module")
def compiler() -> xgrammar.GrammarCompiler:
    tokens = [bytes([byte]) for byte in range(256)] + [b"</s>"]
    info = xgrammar.TokenizerInfo(tokens, vocab_type=xgrammar.VocabType.RAW, vocab_size=257, stop_token_ids=[256])
    return xgrammar.GrammarCompiler(info, cache_enabled=False)


@pytest.mark.parametrize("seed", range(10))
def test_the_same_texts_are_taken(seed: int, compiler: xgrammar.GrammarCompiler) -> None:
    rng = Random(seed)
    equal = 0
    for _ in range(12):
        spec = {"type": "structural_tag", "format": random_format(rng, 2, WORDS)}
        written = json.dumps(spec)
        if '"dispatch"' in written and (written.count('"dispatch"') > 1 or '"end"' in written):
            continue  # in XGrammar, the free text of a dispatch may contain the end of the tag around it
        try:
            compiled = compiler.compile_structural_tag(json.dumps(spec))
        except RuntimeError as error:
            if "the content is unlimited" not in str(error):
                raise
            continue  # it refuses more tags without an end, such as those of repeated free text
        try:
            grammar = Grammar.from_structural_tag(spec)
        except GrammarError as error:
            if "no sentence" not in str(error) and "can never stand" not in str(error):
                raise
            continue
        matcher = Matcher(grammar, BYTES)
        for text in TEXTS:
            theirs = xgrammar.GrammarMatcher(compiled)
            taken = all(theirs.accept_token(byte) for byte in text.encode()) and theirs.accept_token(256)
            assert taken == (matcher.validate([*text.encode(), 256]) == len(text) + 1), (spec, text)
        equal += 1
    assert equal > 3
