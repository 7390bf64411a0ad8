"""On every small grammar over `ab`, the masks at every position equal an enumeration of texts by brute force.

The vocabulary is every word over `ab` of up to three letters, so a mask is the set of viable prefixes around a place.
`EARLEYMASK_EXHAUSTIVE=1` tries all 32,340 grammars of two rules; without it, the suite takes a slice of them.
"""

from __future__ import annotations

import itertools
import os
from functools import cache
from random import Random

import pytest

from earleymask import Grammar, GrammarError, Matcher, Vocabulary
from support import exhaustive
from support.effort import effort

WORDS = ["".join(letters) for n in (1, 2, 3) for letters in itertools.product("ab", repeat=n)]
EOS = len(WORDS)
VOCABULARY = Vocabulary.from_tokens([*(w.encode() for w in WORDS), b""], eos_token_id=EOS)
LONGEST = 7


@cache
def all_texts(longest: int) -> list[str]:
    return ["".join(letters) for n in range(longest + 1) for letters in itertools.product("ab", repeat=n)]


def check(grammar: exhaustive.Grammar, longest: int = LONGEST) -> None:
    """Compare the masks after every viable text of up to `longest` - 3 letters, split into tokens in two ways."""
    text = exhaustive.lark_text(grammar)
    viable = exhaustive.viable_prefixes(grammar, longest)
    sentences = exhaustive.sentences(grammar, longest)
    if not viable:
        with pytest.raises(GrammarError):
            Grammar.from_lark(text)
        return
    loaded = Grammar.from_lark(text)
    matcher = Matcher(loaded, VOCABULARY)
    for prefix in all_texts(longest - 3):
        if prefix not in viable:
            continue
        expected = [prefix + word in viable for word in WORDS] + [prefix in sentences]
        for size in (1, 3):
            tokens = [WORDS.index(prefix[i : i + size]) for i in range(0, len(prefix), size)]
            matcher.reset()
            assert matcher.validate(tokens) == len(tokens), (text, prefix)
            assert all(matcher.accept(t) for t in tokens), (text, prefix)
            assert matcher.mask().tolist() == expected, (text, prefix, tokens)
            for token_id, allowed in enumerate(expected):
                assert matcher.accept(token_id) == allowed, (text, prefix, token_id)
                if allowed:
                    matcher.rollback(1)
            assert matcher.tokens == tokens


def test_every_grammar_of_one_rule() -> None:
    for grammar in exhaustive.one_rule():
        check(grammar)


def test_grammars_of_one_rule_with_longer_alternatives() -> None:
    for grammar in itertools.islice(exhaustive.one_rule(longest=3, most=2), 0, None, 3):
        check(grammar)


def test_grammars_of_two_rules() -> None:
    for grammar in itertools.islice(exhaustive.two_rules(), 0, None, effort(29, 1)):
        check(grammar)


def test_random_grammars_with_every_text() -> None:
    seed = int(os.environ.get("EARLEYMASK_SEED", "1"))
    for number in range(effort(150, 3000)):
        check(exhaustive.random_grammar(Random(f"{seed}/{number}")), longest=9)
