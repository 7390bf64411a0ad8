"""The tokens that are tried one by one are all that match a regex: words are left out only where none can match."""

from __future__ import annotations

from random import Random

import pytest

from earleymask import Grammar, Matcher, Vocabulary
from earleymask.earley._regex import Regexes
from earleymask.grammar.json_schema.doubtful import Doubtful, doubtful_nodes
from earleymask.grammar.regex.lower import lower
from earleymask.grammar.regex.python import parse
from support.mask_paths import all_strings, cut


def found(vocabulary: Vocabulary, make: object, described: object, which: int) -> list[int]:
    tokens: list[int] = vocabulary.trie.learned.doubtful_tokens(make, described, which).to_list()
    return tokens


def expected(vocabulary: Vocabulary, regexes: Regexes, node: int) -> list[int]:
    eos = vocabulary.eos_token_ids
    texts = {t: vocabulary.token_bytes(t) for t in range(vocabulary.size) if t not in eos}
    return [t for t, text in texts.items() if text and regexes.matches(node, text)]


def with_parts(vocabulary: Vocabulary) -> Vocabulary:
    Matcher(Grammar.from_regex("a|b"), vocabulary).mask()
    return vocabulary


@pytest.mark.parametrize(
    "described",
    [
        (False, False, False, False, False, False, False),
        (False, False, False, True, False, False, False),
        (True, False, False, False, False, False, False),
        (True, True, False, False, False, True, False),
        (True, True, True, True, True, False, False),
        (False, False, False, False, False, False, True),
        (True, True, True, True, True, True, True),
    ],
)
def test_json(described: Doubtful) -> None:
    tokens = cut("tekken", 20_000)
    marked = [token for token in tokens if any(byte in token for byte in b'",:]}')]
    tags = [
        b"<parameter=a>1</",
        b">1</parameter>",
        b'"></',
        b'a" type="string"<|sep|><|close|>',
        b"<arg_key>a</arg_key>\xe2",
    ]
    tokens = [*dict.fromkeys([*marked[:2000], *Random(1).sample(tokens, 1500), *tags])]
    vocabulary = with_parts(Vocabulary.from_tokens([*tokens, b""], eos_token_id=len(tokens)))
    regexes = Regexes()
    n_found = 0
    for which, node in enumerate(doubtful_nodes(regexes, described)):
        tokens_found = found(vocabulary, doubtful_nodes, described, which)
        assert tokens_found == expected(vocabulary, regexes, node)
        n_found += len(tokens_found)
    assert n_found > 50


@pytest.mark.parametrize(
    "regex",
    [
        "a*",
        "a*,b*",
        "(a|,)+",
        "b*a|a*,",
        '[ab]*"[ab]*,',
        "(ab)*,?b",
        "a|aa,|aaa",
        ",*",
        "(?:a,|b)*b",
        '[^,"]*',
        '[^,"]{3}|,b+',
    ],
)
def test_small_languages(regex: str) -> None:
    """States that match before a mark, after one, only then, and states that lead to each other."""
    vocabulary = with_parts(all_strings('ab,"', 5))

    def make(regexes: Regexes, described: str) -> list[int]:
        return [lower(parse(described), regexes)]

    regexes = Regexes()
    (node,) = make(regexes, regex)
    assert found(vocabulary, make, regex, 0) == expected(vocabulary, regexes, node) != []


def test_nothing_matches() -> None:
    vocabulary = with_parts(all_strings("ab,", 3))
    assert found(vocabulary, lambda regexes, described: [regexes.EMPTY], None, 0) == []


@pytest.mark.parametrize("regex", ["a{9000}x", "[ab]*a[ab]{13}x"])
def test_states_that_no_token_reaches_are_few(regex: str) -> None:
    """How far a mark may be is asked of some hundred states at most; a terminal may have very many."""
    vocabulary = with_parts(all_strings("ab,", 4))
    used = []

    def make(regexes: Regexes, described: str) -> list[int]:
        used.append(regexes)
        return [lower(parse(described), regexes)]

    assert found(vocabulary, make, regex, 0) == []
    assert used[0].n_nodes < 4000
