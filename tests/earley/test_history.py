"""Forks share their histories, and nobody can tell: each matcher equals a fresh one that is fed the same tokens.

Trees of forks accept, roll back, reset and go, in random order, while what was learned is collected and forgotten. The
model of a matcher is a plain list of tokens.
"""

from __future__ import annotations

import gc
import threading
from random import Random

import numpy as np
import pytest

from earleymask import Grammar, Matcher, MatcherInUseError, Vocabulary
from earleymask.earley._forget import forget_now
from support.effort import effort
from support.mask_paths import all_strings, filled, walked

WORDS = all_strings("ab[],", 2)
GRAMMARS = {
    "letters": "start: /[ab]*/",
    "brackets": 'start: ("a" | "b" | "[" start "]")*',
    "ambiguous": 'start: start start | "a" | "[" start "]" | S\nS: /a[a,]{0,3}/',
    "budgets": 'start: (word ",")*\nword[max_tokens=3]: /[ab]+/',
    "captures": 'start: (word ",")*\nword[capture]: /[ab]+/',
    "commit": "start: (TEXT | tool)*\ntool[commit]: /aa/ /b/\nTEXT: /[ab,]/",
    "lookahead": 'start: (IF | NAME | ",")+\nIF: /aa(?!\\w)/\nNAME: /(?!aa\\b)[ab]+?b/',
}


def fresh(grammar: Grammar, tokens: list[int], vocabulary: Vocabulary = WORDS) -> Matcher:
    matcher = Matcher(grammar, vocabulary)
    for token in tokens:
        assert matcher.accept(token)
    return matcher


def assert_at(matcher: Matcher, tokens: list[int]) -> None:
    """The matcher equals one that has accepted these tokens and nothing else."""
    assert matcher.tokens == tokens
    assert matcher.n_tokens == len(tokens)
    other = fresh(matcher.grammar, tokens, matcher.vocabulary)
    assert np.array_equal(filled(matcher), filled(other))
    assert np.array_equal(walked(matcher), walked(other))
    assert matcher.is_accepting() == other.is_accepting()
    assert matcher.captures() == other.captures()


def extend(matcher: Matcher, tokens: list[int], n: int, rng: Random) -> None:
    for _ in range(n):
        allowed = [t for t in np.flatnonzero(filled(matcher)).tolist() if t not in WORDS.eos_token_ids]
        if allowed:
            tokens.append(rng.choice(allowed))
            assert matcher.accept(tokens[-1])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", GRAMMARS)
def test_random_trees_of_forks(name: str, seed: int) -> None:
    rng = Random(f"{name} {seed}")
    grammar = Grammar.from_lark(GRAMMARS[name])
    n_most = (2, 5, 30)[seed]  # in a small tree, what two have shared becomes one matcher's own again
    living: list[tuple[Matcher, list[int]]] = [(Matcher(grammar, WORDS), [])]
    for _ in range(effort(150, 2000)):
        matcher, tokens = rng.choice(living)
        roll = rng.random()
        if roll < 0.45:
            extend(matcher, tokens, rng.choice([1, 1, 1, 2, 9, 20]), rng)
        elif roll < 0.65:
            n = rng.choice([rng.randint(0, len(tokens)), min(len(tokens), rng.randint(0, 3))])
            matcher.rollback(n)
            del tokens[len(tokens) - n :]
        elif roll < 0.67:
            matcher.reset()
            tokens.clear()
        elif roll < 0.85:
            if len(living) < n_most:
                living.append((matcher.fork(), tokens.copy()))
        elif roll < 0.95:
            if len(living) > 1:
                living.remove((matcher, tokens))
        else:
            forget_now(grammar.engine, rng.choice([None, 16, 2, 1]))
        matcher, tokens = rng.choice(living)
        assert matcher.tokens == tokens
        if rng.random() < 0.1:
            assert_at(matcher, tokens)
    for matcher, tokens in living:
        assert_at(matcher, tokens)


@pytest.mark.parametrize("name", ["letters", "budgets"])
def test_entries_around_the_ends_of_blocks(name: str) -> None:
    """A fork, and then either matcher, goes back to any place and on from it: in the own block, and in shared ones."""
    grammar = Grammar.from_lark(GRAMMARS[name])
    rng = Random(name)
    text: list[int] = []
    extend(Matcher(grammar, WORDS), text, 40, rng)
    for n in range(0, 40, 3):
        for left in range(0, n + 1, 2):
            matcher = fresh(grammar, text[:n])
            fork = matcher.fork()
            fork.rollback(n - left)
            for one, tokens in ((fork, text[:left]), (matcher, text[:n]), (fork, text[:left])):
                grown = one.tokens
                assert grown[: len(tokens)] == tokens
                extend(one, grown, rng.randint(1, 12), rng)
                assert one.tokens == grown
            assert fork.tokens[:left] == text[:left]
            assert matcher.tokens[:n] == text[:n]
            matcher.rollback(matcher.n_tokens - n)
            assert matcher.tokens == text[:n]
    assert_at(matcher, text[:n])
    assert_at(fork, fork.tokens)


def text_bytes(matcher: Matcher) -> int:
    return matcher.stats()["text_bytes"]


def test_forks_cost_only_what_is_new_in_them() -> None:
    matcher = fresh(Grammar.from_lark(GRAMMARS["letters"]), [0] * 1000)
    before = text_bytes(matcher)
    forks = [matcher.fork() for _ in range(1000)]
    assert text_bytes(matcher) - before < 1000 * 64
    for fork in forks:
        assert fork.accept(1)
    assert text_bytes(matcher) - before < 1000 * 256
    del forks, fork
    assert matcher.accept(0)
    matcher.fork()
    assert text_bytes(matcher) < before + 1000


def test_a_chain_of_forks_costs_what_is_new_in_each() -> None:
    chain = [Matcher(Grammar.from_lark(GRAMMARS["letters"]), WORDS)]
    costs = []
    for n in (1000, 2000, 4000):
        while len(chain) < n:
            chain.append(chain[-1].fork())
            assert chain[-1].accept(len(chain) % 2)
        costs.append(text_bytes(chain[0]))
    assert costs[2] < 2.2 * costs[1] < 4.84 * costs[0]
    assert costs[2] < 4000 * 128
    for n in (0, 1, 777, 3999):
        assert chain[n].tokens == [i % 2 for i in range(2, n + 2)]


def test_a_history_of_which_only_an_old_fork_is_left_is_freed() -> None:
    """What no living matcher has accepted takes no memory, even if a fork shares the beginning."""
    matcher = fresh(Grammar.from_lark(GRAMMARS["letters"]), [0] * 10)
    survivor = matcher.fork()
    for _ in range(100_000):
        matcher.accept(0)
    assert text_bytes(survivor) > 800_000
    del matcher
    for _ in range(3):
        survivor.fork()  # a later call frees what is gone
    assert text_bytes(survivor) < 2000
    assert survivor.accept(1) and survivor.tokens == [*[0] * 10, 1]


def test_a_long_history_is_taken_back() -> None:
    matcher = Matcher(Grammar.from_lark(GRAMMARS["letters"]), WORDS)
    tokens = [i * i % 2 for i in range(100_000)]
    assert all(map(matcher.accept, tokens))
    fork = matcher.fork()
    matcher.rollback(99_990)
    assert matcher.accept(1) and matcher.tokens == [*tokens[:10], 1]
    assert fork.tokens == tokens
    fork.reset()
    assert fork.tokens == [] and matcher.n_tokens == 11


class TakesBack:
    """Garbage that takes back all tokens of a matcher when it is collected."""

    def __init__(self, matcher: Matcher) -> None:
        self.matcher = matcher
        self.itself = self

    def __del__(self) -> None:
        self.matcher.reset()


def test_a_finalizer_of_a_circle_asks_for_a_mask() -> None:
    """The collector has dropped all weak references by then, also those by which masks know their grammar."""
    met = []

    class Asks(TakesBack):
        def __del__(self) -> None:
            for work in (self.matcher.mask, lambda: self.matcher.validate(b'"k1":{"a1"'), self.matcher.expected):
                try:
                    met.append(work() is not None)
                except MatcherInUseError:
                    met.append(False)

    properties = {f"k{i}": {"properties": {f"a{i}": {"const": i}}} for i in range(30)}
    matcher = Matcher(Grammar.from_json_schema({"type": "object", "properties": properties}), Vocabulary.bytes())
    matcher.accept(ord("{"))
    Asks(matcher)
    del matcher
    gc.collect()
    assert len(met) == 3


def test_tokens_are_taken_back_while_they_are_read() -> None:
    """The new list starts a garbage collection, which may run any code."""
    matcher = Matcher(Grammar.from_lark(GRAMMARS["letters"]), WORDS)
    for _ in range(20):
        assert all(map(matcher.accept, [0] * 1_000))
        gc.collect()
        gc.disable()
        try:
            TakesBack(matcher)
            young: list[list[int]] = [[] for _ in range(10_000)]  # a collection is due
        finally:
            gc.enable()
        tokens = matcher.tokens
        assert tokens in ([], [0] * 1_000) and len(young) == 10_000
        gc.collect()
        assert matcher.tokens == []


@pytest.mark.parametrize("name", ["letters", "budgets"])
def test_forks_in_several_threads(name: str) -> None:
    """Each thread walks in forks of forks that all share the same beginning, and drops them in its own time."""
    grammar = Grammar.from_lark(GRAMMARS[name])
    first: list[int] = []
    root = Matcher(grammar, WORDS)
    extend(root, first, 13, Random(0))
    wrong: list[object] = []

    def walk(seed: int) -> None:
        rng = Random(seed)
        living = [(root.fork(), first.copy())]
        try:
            for _ in range(effort(150, 1500)):
                matcher, tokens = rng.choice(living)
                extend(matcher, tokens, rng.randint(1, 4), rng)
                if rng.random() < 0.4:
                    n = rng.randint(0, len(tokens))
                    matcher.rollback(n)
                    del tokens[len(tokens) - n :]
                living.append((matcher.fork(), tokens.copy()))
                if len(living) > 6:
                    del living[rng.randrange(len(living))]
                wrong.extend(pair for pair in living if pair[0].tokens != pair[1])
            for pair in living:
                assert_at(*pair)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=walk, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert_at(root, first)
