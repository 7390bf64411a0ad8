"""Masks from remembered answers equal those of the walk and of the twin, bit for bit, in whatever way they are made.

Vocabularies are small here, so the tests lower the bounds above which answers use the methods for large ones
(`mask_paths.limits`). Cases are data: grammar, alphabet and texts. The vocabulary is every string over the alphabet, so
tokens of every shape begin, span and end lexemes at every place.
"""

from __future__ import annotations

from itertools import product
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earleymask import Grammar, GrammarError, Matcher, Vocabulary
from earleymask.earley import Engine, Regexes
from support.compare import Pair, Skipped, load
from support.effort import effort
from support.mask_paths import (
    NEVER,
    SMALLS,
    SPLITS,
    agree_along,
    agreed,
    all_strings,
    explain,
    feed,
    filled,
    go_on,
    limits,
    pieces_of,
)
from support.samples import SPECIAL_GRAMMARS, sample, within_budget
from support.strategies import SMALL, GrammarSketch, grammars, make_small_grammar

randoms = st.integers(0, 2**32 - 1).map(Random)

# name -> (grammar, alphabet, length of the longest token, texts)
CASES: dict[str, tuple[str, str, int, list[bytes]]] = {
    "ignored X+": ('start: ("a" | "b")+\n%ignore / +/', "ab ", 5, [b"a  b a", b"   "]),
    "ignored X*": ('start: ("a" | "b")+\n%ignore / *x?/', "ab x", 4, [b"a xxb x"]),
    "ignored X": ('start: "a" "b"\n%ignore " "', "ab ", 5, [b"  a   b  "]),
    "two ignored": ('start: "ab"+\n%ignore / +/\n%ignore /#[^#\\n]*#/', "ab #", 4, [b"ab # #  ##ab# ab", b"# #"]),
    "two ignored that overlap": ('start: "b"+\n%ignore / +/\n%ignore " a"', "ab ", 5, [b" b  a b a  ab"]),
    "ignored X+ of several bytes": ('start: "a"+ "b"\n%ignore /(?:ab)+/', "ab", 6, [b"ababaabb", b"aaabab"]),
    "ignored and used": ('start: "a" B? "b"\n%ignore B\nB: / +/', "ab ", 5, [b" a  b ", b"ab"]),
    "ignored inside others": ("start: A+\nA: /a[ab ]*/\n%ignore / +/", "ab ", 5, [b"a b  a", b"  a"]),
    "lazy": ('start: C "a" | C\nC: /b.*?b/', "abc", 4, [b"baab", b"bba", b"bcab"]),
    "lookbehind": (r'start: W+ "c"' + "\nW: /[ab]+(?<!b)/", "abc", 5, [b"abaac", b"aac"]),
    "counts": ('start: A "b" A\nA: /a{2,4}/', "ab", 6, [b"aabaaa", b"aaaabaa"]),
    "counts of rules": ('start: ("a" "b"?)~2..5 "c"', "abc", 5, [b"abaabc", b"aaaac"]),
    "classes of code points": ('start: W ("é" | "日" W)*\nW: /[à-ÿ一-龥a]{1,3}/', "aé日", 3, ["aé日aé".encode()]),
    "bytes of characters": ('start: /[^a]+/ "a" | /[\U0001f600-\U0001f64f]/', "a😀", 3, ["😀a".encode()]),
    "several lexemes a token": ('start: "{" [P ("," P)*] "}"\nP: /"[ab]*":[ab]+/', '{},":ab', 4, [b'{"a":b,"":ba}']),
    "identifier and keyword": ('start: ("if" N | N "=" N)+\nN: /[if=]+/', "if=", 5, [b"iff=iif=f", b"if="]),
    "palindromes": ('start: "a" start "a" | "b" start "b" | "a" | "b" |', "ab", 6, [b"abbba", b"aabaa"]),
    "right recursion with a nullable tail": ('start: "a" start ws | "a"\nws: " "*', "a ", 6, [b"aaa  ", b"a"]),
    "ambiguous": ('start: start start | "a" | "(" start ")"', "a()", 5, [b"a(aa)a", b"((a)"]),
    "ambiguous sums": ('start: start "+" start | A\nA: /a+/', "a+", 6, [b"a+aa+a"]),
    "nested lists": ('start: "[" [start ("," start)*] "]" | /a+/', "[],a", 5, [b"[a,[a]]", b"[[[]]]"]),
    "hidden left recursion": ('start: n start "a" | "b"\nn: "c"?', "abc", 5, [b"ccbaa", b"ba"]),
    "cycles": ('start: x | "a"\nx: start | "(" x ")"', "a()", 5, [b"((a))"]),
    "any text to a delimiter": ('start: "/*" T* "*/"\nT: /[^*]|\\*+[^*\\/]/', "/*a ", 5, [b"/*a**a*/"]),
    "blanks that differ": ('start: " " start "c" | "  " start "a" | "   " start "b" | "x"', "xabc ", 5, [b"     xcb"]),
    "digits that go on": ('start: F | F "." start\nF: /-?[1-9][0-9]*(?:\\.[0-9]+)?/', "-19.0", 4, [b"-1.91.0", b"9.1"]),
    "complement of a class": ('start: /[^ab]+/ "a" start | "b"', "abc ", 5, [b"c acab"]),
    "everything optional": ('start: "a"? "b"? "c"? start?', "abc", 5, [b"abcab"]),
}


@pytest.mark.parametrize(("split_nodes", "small_nodes"), [*product(SPLITS[:-1], SMALLS), (NEVER, 0)])
@pytest.mark.parametrize("name", CASES)
def test_every_way_makes_the_same_masks(name: str, split_nodes: int, small_nodes: int) -> None:
    grammar, alphabet, longest, texts = CASES[name]
    with limits(split_nodes=split_nodes, small_nodes=small_nodes):
        agree_along(grammar, all_strings(alphabet, longest, pieces_of(alphabet)), texts)


@pytest.mark.parametrize("split_nodes", SPLITS)
def test_what_an_answer_within_an_answer_visits_is_its_own(split_nodes: int) -> None:
    """An answer and one within it visit continuations with equal numbers; neither must skip its own."""
    words = [b" " + "".join(w).encode() for w in product("ab ", repeat=4)]
    tokens = [b"  ", b"bba", b"babb", *words[12:44]]  # so few that the numbers are equal
    vocabulary = Vocabulary.from_tokens([*tokens, b""], eos_token_id=len(tokens))
    text = 'start: r1 r1 / +/ r0\nr0: | r0 r1\nr1: "b" "a" start " " | "b"'
    with limits(split_nodes=split_nodes):
        grammar = Grammar.from_lark(text)
        filled(accepted(grammar, vocabulary, [2]))
        agreed(accepted(grammar, vocabulary, [1, 2, 0]))


def accepted(grammar: Grammar, vocabulary: Vocabulary, token_ids: list[int]) -> Matcher:
    matcher = Matcher(grammar, vocabulary)
    assert matcher.validate(token_ids) == len(token_ids)
    for token_id in token_ids:
        matcher.accept(token_id)
    return matcher


def test_long_runs_of_blanks_cost_no_more_than_their_number() -> None:
    """Each blank may end a lexeme or continue it, so there are exponentially many ways to read a run of blanks."""
    grammar = 's: " " s "c" | "  " s "d" | "   " s "f" | "x"\nstart: s'
    tokens = (
        [b" " * n for n in range(1, 200)] + [b" " * n + b"x" for n in range(40)] + [b"c", b"d", b"f", b"cc", b"dcf"]
    )
    vocabulary = Vocabulary.from_tokens([*tokens, b""], eos_token_id=len(tokens))
    for split_nodes in SPLITS:
        with limits(split_nodes=split_nodes):
            matcher = Matcher(Grammar.from_lark(grammar), vocabulary)
            for text in (b"   ", b" " * 30, b" " * 7 + b"x", b"d"):
                agreed(matcher)
                assert matcher.accept(tokens.index(text))
            agreed(matcher)
            assert matcher.stats()["masks_walked"] == 0
            assert matcher.stats()["nodes_visited"] < 100_000  # by masks and by walks


def alternatives(n: int, inner: int) -> str:
    """Make a grammar whose row after `c` has an item for each of n rules, every `inner`-th with `start` in it."""
    words = ["".join(w) for w in product("ab", repeat=6)][:n]
    rules = [f'r{i}: "c" {"" if i % inner else "start "}"{word}"' for i, word in enumerate(words)]
    return "\n".join([f'start: ({" | ".join(f"r{i}" for i in range(n))}) start? | "ba"', *rules])


@pytest.mark.parametrize("split_nodes", SPLITS)
@pytest.mark.parametrize("n", [31, 32, 33, 50])
def test_rows_of_many_items(n: int, split_nodes: int) -> None:
    """A row of more than 32 items is answered as a whole and not item by item, for its own masks and within others'."""
    vocabulary = all_strings("abc", 5)
    with limits(split_nodes=split_nodes):
        for inner in (3, n):
            grammar = Grammar.from_lark(alternatives(n, inner))
            matcher = Matcher(grammar, vocabulary)
            feed(matcher, b"c")
            agreed(matcher)
            if inner == n:  # only one of the rules contains `start`
                assert (matcher.stats()["questions_asked"] > n) == (n <= 32)
            agree_along(grammar, vocabulary, [b"caaaaabcaaaaba", b"cbaaaaaaa", b"ccbaaaaaaaaaaaaa"])


@pytest.mark.parametrize("split_nodes", SPLITS)
@pytest.mark.parametrize("seed", range(6))
def test_many_alternatives_of_one_terminal_each(seed: int, split_nodes: int) -> None:
    """Terminals that complete the same rule are answered as one: words, also those that end others or stand elsewhere,
    classes, and terminals with counts, complements and lazy quantifiers."""
    rng = Random(seed)
    words = rng.sample(["".join(letters) for n in (1, 2, 3) for letters in product("abc", repeat=n)], 20)
    others = rng.sample(["/[ab]c/", "/a{2,9}/", "LAZY", "OTHER", '"b" "c"', "inner", "NAME", "/c+/"], rng.randint(0, 5))
    rules = {"w": [f'"{word}"' for word in words[:14]] + others, "v": [f'"{word}"' for word in words[8:]]}
    lines = [
        rng.choice(
            ["start: (w | v)+", "start: w start | v", "start: (w NAME? v)+", "start: w | v start v | NAME w start"]
        ),
        *[f"{name}: {' | '.join(rng.sample(parts, len(parts)))}" for name, parts in rules.items()],
        'inner: "a" w',
        "LAZY: /b.*?c/",
        "OTHER: /[abc]{3}/ & ~/abc|cba/",
        rng.choice(["NAME: /[a-c]+/", "NAME: /(?!(?:ab|ba|cc)\\b)[a-c]+/", "NAME: /c[ab]*(?!c)/"]),
        rng.choice(["%ignore / +/", '%ignore " "', ""]),
    ]
    with limits(split_nodes=split_nodes, tried=rng.choice([0, 5, 1000])):
        grammar = Grammar.from_lark("\n".join(lines))
        vocabulary = all_strings("abc ", 4)
        for _ in range(effort(3, 10)):
            matcher = Matcher(grammar, vocabulary)
            while matcher.n_tokens < 5 and go_on(matcher, rng, agreed(matcher)):
                pass


def test_keywords_that_are_alternatives_are_one_question() -> None:
    words = [f"{first}{second}x" for first in "abcdefgh" for second in "abcdefgh"]
    vocabulary = all_strings("abx ", 4)
    with limits(split_nodes=1):
        asked = []
        for keyword in (" | ".join(f'"{word}"' for word in words), f"/{'|'.join(words)}/"):
            grammar = Grammar.from_lark(f'start: keyword+\nkeyword: {keyword}\n%ignore " "')
            matcher = Matcher(grammar, vocabulary)
            agreed(matcher)
            asked.append(matcher.stats()["questions_asked"])
    assert asked[0] == asked[1]


@pytest.mark.parametrize("seed", range(4))
def test_small_grammars(seed: int) -> None:
    """Masks are right for few rules over few letters, with all strings of these as tokens. The campaign tries more."""
    rng = Random(seed)
    vocabularies = {a: all_strings(a, longest, pieces_of(a)) for a, (longest, _) in SMALL.items()}
    for _ in range(effort(250, 500)):
        alphabet = rng.choice(list(SMALL))
        sketch = make_small_grammar(rng, alphabet)
        with limits(split_nodes=rng.choice(SPLITS)):
            try:
                grammar = Grammar.from_lark(sketch.text)
            except GrammarError:
                continue  # no sentence
            for _ in range(2):
                matcher = Matcher(grammar, vocabularies[alphabet])
                while matcher.n_tokens < 5 and go_on(matcher, rng, agreed(matcher)):
                    pass


# --- made by Hypothesis, against the twin ----------------------------------------------------------------------------


def pair_of(sketch: GrammarSketch, seed: int) -> Pair | None:
    vocabulary, trie = sample(seed)
    try:
        loaded = load(sketch.text)
    except Skipped:
        return None
    loaded.twin.budget = 200_000
    return Pair(loaded, vocabulary, trie)


def checked_walk(pair: Pair, rng: Random, n_tokens: int) -> None:
    """Do what `compare.walk` does, and compare the mask of the walk over the trie as well."""
    for _ in range(n_tokens):
        mask = pair.mask()
        expected = agreed(pair.matcher)
        assert np.array_equal(mask, expected), explain(pair.matcher, expected, mask)
        token_id = pair.next_token(rng, mask)
        if token_id is None:
            return
        pair.accept(token_id)


@settings(max_examples=60)
@given(grammars(), randoms, st.sampled_from(SPLITS), st.integers(0, 2))
@within_budget
def test_masks_equal_the_walks_and_the_twins(sketch: GrammarSketch, rng: Random, split_nodes: int, seed: int) -> None:
    with limits(split_nodes=split_nodes):
        pair = pair_of(sketch, seed)
        if pair is not None:
            checked_walk(pair, rng, 8)


@settings(max_examples=30)
@given(grammars(), randoms, st.sampled_from(SPLITS))
@within_budget
def test_forks_and_rollback(sketch: GrammarSketch, rng: Random, split_nodes: int) -> None:
    """Forks and rollbacks in any order change no mask; the first matcher at a position finds its answer."""
    with limits(split_nodes=split_nodes):
        pair = pair_of(sketch, 0)
        if pair is None:
            return
        pairs = [pair]
        for _ in range(10):
            pair = rng.choice(pairs)
            roll = rng.randrange(4)
            if roll == 0:
                pair.rollback(rng.randint(0, pair.matcher.n_tokens))
            elif roll == 1:
                pairs.append(pair.fork())
            else:
                token_id = pair.next_token(rng, pair.twin.mask())
                if token_id is not None:
                    pair.accept(token_id)
            if rng.randrange(2):
                pair.mask()
        for pair in pairs:
            pair.mask()
            agreed(pair.matcher)


@settings(max_examples=30)
@given(
    grammars(), randoms, st.sampled_from(SPLITS), st.sampled_from([0, 2000, 20_000]), st.sampled_from([1, 30, 10**6])
)
@within_budget
def test_bounds_change_no_mask(sketch: GrammarSketch, rng: Random, split_nodes: int, memory: int, budget: int) -> None:
    """Masks stay right if everything is forgotten all the time, and if few nodes may be visited before the walk."""
    with limits(split_nodes, memory, budget):
        pair = pair_of(sketch, 1)
        if pair is not None:
            checked_walk(pair, rng, 8)


@pytest.mark.parametrize("split_nodes", SPLITS)
@pytest.mark.parametrize("text", [text for text in SPECIAL_GRAMMARS if '"<|' not in text])
def test_special_tokens(text: str, split_nodes: int) -> None:
    vocabulary, trie = sample()
    with limits(split_nodes=split_nodes):
        checked_walk(Pair(load(text), vocabulary, trie), Random(split_nodes), 10)


@pytest.mark.parametrize("split_nodes", SPLITS)
def test_tokens_spelled_alike(split_nodes: int) -> None:
    """Tokens spelled alike are all in a mask or none of them, in lists of tokens and in bitmaps."""
    tokens = [b"a", b"ab", b"a", b" ", b"ab", b"ab", b"b", b"", b" ", b"a b", b"a b"] + [
        b"a" * n for n in range(2, 500)
    ] * 2
    vocabulary = Vocabulary.from_tokens([*tokens, b""], eos_token_id=len(tokens))
    text = 'start: (A | A "b")+ "."?\nA: /a+/\n%ignore " "'
    with limits(split_nodes=split_nodes):
        pair = Pair(load(text), vocabulary)
        checked_walk(pair, Random(1), 6)
        masks = [filled(Matcher(pair.loaded.grammar, vocabulary)) for _ in range(2)]
        assert masks[0][[0, 2]].all() and masks[0][[1, 4, 5]].all() and not masks[0][[6, 7]].any()


# --- regexes made directly -------------------------------------------------------------------------------------------


def engine_grammar(terminals: dict[str, int], regexes: Regexes, ignored: tuple[str, ...] = ()) -> object:
    """Make `start: T1 start | T1 | T2 start | ...`, with `ignored` in between."""
    engine = Engine(regexes)
    start = engine.add_nonterminal("start")
    for name, node in terminals.items():
        symbol = engine.add_terminal(name, node, name in ignored)
        if name not in ignored:
            engine.add_production(start, [symbol, start])
            engine.add_production(start, [symbol])
    engine.finish(start)
    return SimpleNamespace(engine=engine)


@pytest.mark.parametrize("split_nodes", SPLITS)
def test_intersections_and_complements(split_nodes: int) -> None:
    r = Regexes()
    a, b, c = (r.literal(x) for x in (b"a", b"b", b"c"))
    letters = r.repeat(r.union([a, b, c]), 1, None)
    contains_ab = r.concat([r.repeat(r.union([a, b, c]), 0, None), a, b, r.repeat(r.union([a, b, c]), 0, None)])
    without_ab = r.intersection([letters, r.complement(contains_ab)])
    even = r.repeat(r.concat([r.union([a, b, c]), r.union([a, b, c])]), 1, None)
    terminals = {
        "W": r.intersection([without_ab, even]),
        "X": r.concat([r.literal(b" "), r.intersection([contains_ab, even])]),
    }
    for ignored in ((), ("B",)):
        more = {"B": r.repeat(r.literal(b" "), 1, None)} if ignored else {}
        with limits(split_nodes=split_nodes):
            loaded = engine_grammar({**terminals, **more}, r, ignored)
            agree_along(loaded, all_strings("abc ", 4), [b"acba ab", b"ba cabb"])
