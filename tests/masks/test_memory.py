"""What is remembered for masks may be forgotten at any time without changing a mask.

Several grammars take turns on one vocabulary with little memory: each call may flush the answers of the others, its
own, and the parts that all of them share.
"""

from __future__ import annotations

import gc
from random import Random

import numpy as np
import pytest

from earleymask import Grammar, Matcher, Vocabulary
from support import vocabularies
from support.grammar_texts import GRAMMARS
from support.mask_paths import NEVER, agreed, all_strings, cut, feed, filled, go_on, limits, walked


class Turns:
    """Matchers of all grammars on one vocabulary, used in turn."""

    def __init__(self, vocabulary: Vocabulary, seed: int) -> None:
        self.rng = Random(seed)
        self.vocabulary = vocabulary
        self.grammars = [Grammar.from_lark(text) for text in GRAMMARS.values()]
        self.matchers = [Matcher(grammar, vocabulary) for grammar in self.grammars]
        self.parts: list[int] = []

    def take(self, n: int) -> None:
        for _ in range(n):
            i = self.rng.randrange(len(self.matchers))
            matcher = self.matchers[i]
            filled(matcher)
            self.note_parts()
            if not go_on(matcher, self.rng, agreed(matcher)) or matcher.n_tokens > 12:
                matcher.rollback(self.rng.randint(1, matcher.n_tokens))
                self.matchers[i] = matcher.fork()
            self.note_parts()

    def note_parts(self) -> None:
        self.parts.append(self.vocabulary.stats()["parts"])

    def flushes(self) -> list[int]:
        return [grammar.stats()["mask_flushes"] for grammar in self.grammars]

    def drops(self) -> int:
        """Return how often the parts of the vocabulary were dropped; otherwise they only grow."""
        return sum(after < before for before, after in zip(self.parts, self.parts[1:], strict=False))


def vocabulary_of(n: int = 20_000) -> Vocabulary:
    tokens = cut("tekken", n)
    return Vocabulary.from_tokens(tokens, eos_token_id=len(tokens) - 1)


@pytest.mark.parametrize(
    ("memory", "n_tokens"), [(1 << 12, 20_000), (1 << 16, 20_000), (1 << 18, 20_000), (1 << 20, NEVER)]
)
def test_grammars_take_turns(memory: int, n_tokens: int) -> None:
    with limits(memory=memory, split_nodes=200):
        turns = Turns(vocabulary_of(n_tokens), memory)
        turns.take(80)
        assert min(turns.flushes()) > 0 and turns.drops() > 0
        if memory > 1 << 16:
            assert max(turns.flushes()) > turns.drops()  # answers are dropped first


def test_nothing_is_given_back_while_there_is_room() -> None:
    with limits(memory=1 << 30, split_nodes=200):
        turns = Turns(vocabulary_of(), 1)
        turns.take(40)
        assert turns.flushes() == [0] * len(GRAMMARS) and turns.drops() == 0


def test_a_grammar_in_use_is_spared() -> None:
    """Of many grammars that learn the same, the masks of those that are idle go first."""
    vocabulary = vocabulary_of(5_000)
    with limits(split_nodes=200):
        used = Matcher(Grammar.from_lark(GRAMMARS["json"]), vocabulary)
        for token in range(3):  # so that what all of them will share is there
            fork = used.fork()
            agreed(fork)
            fork.accept(token)
            agreed(fork)
        room = vocabulary.stats()["part_bytes"] + 6 * used.grammar.stats()["mask_bytes"]
    idle = []
    with limits(memory=room, split_nodes=200):
        for n in range(200):
            matcher = Matcher(Grammar.from_lark(f"{GRAMMARS['json']}\n// {n}\n"), vocabulary)
            for token in range(3):
                agreed(matcher)
                matcher.accept(token)
            idle.append(matcher)
            used.is_accepting()
            used.fork().accept(next(iter(np.flatnonzero(filled(used)).tolist())))
    assert vocabulary.stats()["parts_dropped"] == 0
    flushed = [matcher.stats()["mask_flushes"] for matcher in idle]
    assert sum(flushed) >= 100
    # It goes once when all are looked at for the first time, and have been used; once more where the others leave too
    # little, as in a debug build. Without a second chance it went 5 times.
    assert used.stats()["mask_flushes"] <= 2


def test_what_is_made_by_one_mask_counts() -> None:
    """Grammars that make one mask each, and nothing afterwards, are counted and flushed like all others."""
    vocabulary = vocabulary_of(5_000)
    room = 1 << 20
    with limits(memory=room):
        matchers = []
        for n in range(150):
            matchers.append(Matcher(Grammar.from_regex(f"[a-z ]+|[A-Z]{{3}}x{n}"), vocabulary))
            filled(matchers[-1])
        stats = vocabulary.stats()
    assert sum(matcher.stats()["mask_flushes"] for matcher in matchers) > 0 or stats["parts_dropped"] > 0
    assert stats["remembered_bytes"] < 1.1 * room + 20_000 * len(matchers)  # empty tables


def test_what_one_mask_visits_is_bounded() -> None:
    """The text may be read in ways that end in 4,000 rules, and each of these asks hundreds of questions: 250 MB."""
    vocabulary = vocabularies.load("tekken")
    grammar = Grammar.from_gbnf('root ::= | [^"] rest ([^a] | root rest) | [0-9]\nrest ::= rest | [^a]')
    matcher = Matcher(grammar, vocabulary)
    token = [vocabulary.token_bytes(t) for t in range(vocabulary.size)].index(b" wit")
    for _ in range(2_000):
        assert matcher.accept(token)
    mask = filled(matcher)
    stats = matcher.stats()
    assert stats["masks_walked"] == 1 and stats["mask_bytes"] < 128 << 20
    assert np.array_equal(mask, walked(matcher))


@pytest.mark.parametrize("drop", [False, True])
def test_a_position_is_asked_again_after_others_have_flushed_it(drop: bool) -> None:
    """A matcher notes where its mask is remembered; after a flush, neither it nor a fork may look there."""
    rng = Random(3)
    vocabulary = vocabulary_of()
    with limits(split_nodes=200):
        first, second = (Grammar.from_lark(GRAMMARS[name]) for name in ("json", "calls"))
        matcher, other = Matcher(first, vocabulary), Matcher(second, vocabulary)
        forks, expected = [matcher.fork()], [agreed(matcher)]
        for _ in range(8):
            assert go_on(matcher, rng, expected[-1]) and go_on(other, rng, agreed(other))
            forks.append(matcher.fork())
            expected.append(agreed(matcher))
        for _ in range(3):
            before = matcher.stats()
            for fork, mask in zip(forks, expected, strict=True):
                assert np.array_equal(filled(fork), mask)
            assert matcher.stats()["masks_known"] == before["masks_known"] + len(forks)
            room = vocabulary.stats()["part_bytes"] + sum(g.stats()["mask_bytes"] for g in (first, second)) - 10_000
            with limits(memory=1 << 12 if drop else room):
                for _ in range(200):
                    if first.stats()["mask_flushes"] > before["mask_flushes"]:
                        break
                    go_on(other, rng, filled(other))  # memory is examined only after something was learned
            assert first.stats()["mask_flushes"] > before["mask_flushes"]
            for fork, mask in zip(forks, expected, strict=True):
                assert np.array_equal(filled(fork), mask)
            if drop:
                assert matcher.stats()["masks_new_part"] > before["masks_new_part"]
            for n in (2, 3, 1):
                matcher.rollback(n)
                assert np.array_equal(filled(matcher), expected[matcher.n_tokens])
            matcher = forks[-1].fork()


def test_grammars_come_and_go() -> None:
    """What is remembered for a grammar is freed with it; the parts and the other grammars' answers stay."""
    rng = Random(5)
    vocabulary = vocabulary_of(5_000)
    with limits(memory=1 << 16, split_nodes=50):
        kept = Matcher(Grammar.from_lark(GRAMMARS["json"]), vocabulary)
        for n in range(30):
            matcher = Matcher(Grammar.from_lark(rng.choice(list(GRAMMARS.values()))), vocabulary)
            for _ in range(3):
                go_on(matcher, rng, agreed(matcher))
            if not go_on(kept, rng, agreed(kept)) or n % 9 == 8:
                kept.rollback(kept.n_tokens)
            if n == 15:
                del matcher
                gc.collect()


def test_one_grammar_on_two_vocabularies() -> None:
    rng = Random(7)
    tokens = cut("tekken", 8_000)
    vocabularies = [Vocabulary.from_tokens([*tokens[:n], b""], eos_token_id=n) for n in (8_000, 3_000)]
    with limits(memory=1 << 12, split_nodes=50):
        grammar = Grammar.from_lark(GRAMMARS["calls"])
        matchers = [Matcher(grammar, vocabulary) for vocabulary in vocabularies]
        for _ in range(25):
            masks = [agreed(matcher) for matcher in matchers]
            assert np.array_equal(masks[0][:3_000], masks[1][:3_000])
            token = rng.choice(np.flatnonzero(masks[1][:3_000]).tolist())
            assert all(matcher.accept(token) for matcher in matchers)
        assert grammar.stats()["mask_flushes"] > 20


@pytest.mark.parametrize("memory", [0, 1 << 13, 1 << 15])
def test_small_vocabularies_take_turns(memory: int) -> None:
    """Masks stay right on tokens of every shape: all strings over a few letters."""
    vocabulary = all_strings('a"{}: ,', 4)
    texts = [
        'start: "{" [P ("," P)*] "}"\nP: /"[a ]*":[a]+/\n%ignore " "',
        'start: S (":" S)*\nS: /"[^"]{0,5}"/\n%ignore / +/',
        'start: "{" start "}" start | "a"?',
        'start: W (/[,:]+/ W)*\nW: /[a"]+/\n%ignore / +/',
    ]
    rng = Random(memory)
    with limits(memory=memory, split_nodes=3):
        grammars = [Grammar.from_lark(text) for text in texts]
        matchers = [Matcher(grammar, vocabulary) for grammar in grammars]
        for _ in range(60):
            i = rng.randrange(len(matchers))
            if not go_on(matchers[i], rng, agreed(matchers[i])):
                matchers[i] = Matcher(grammars[i], vocabulary)
        assert min(grammar.stats()["mask_flushes"] for grammar in grammars) > 0


@pytest.mark.parametrize(
    ("text", "n", "length", "is_cleared"),
    [
        ('start: "a" start "a" | "b" start "b" | "a" | "b" | / +/', 500, 100, True),  # a row for each byte of a token
        ('start: LATE start "b" | "a"\nLATE: /[ab]*a[ab]{11}/', 600, 30, False),  # a lexer state for nearly each byte
    ],
)
def test_templates_grow_too_large(text: str, n: int, length: int, is_cleared: bool) -> None:
    """Their tables are dropped during a walk, and everything else of them between two calls; answers stay."""
    rng = Random(n)
    words = [bytes(rng.choices(b"ab", k=length)) for _ in range(n)]
    vocabulary = Vocabulary.from_tokens([b"a", b"b", b" ", *words, b""], eos_token_id=n + 3)
    with limits(split_nodes=NEVER):
        matcher = Matcher(Grammar.from_lark(text), vocabulary)
        cleared = 0
        for n_tokens in (0, 1, 2, 3, 1, 0, 2):
            matcher.rollback(max(0, matcher.n_tokens - n_tokens))
            while matcher.n_tokens < n_tokens:
                assert matcher.accept(rng.randrange(2))
            filled(matcher)
            n_rows = matcher.stats()["template_rows"]
            agreed(matcher)
            cleared += n_rows > 10_000 and matcher.stats()["template_rows"] == 0
        stats = matcher.stats()
    assert stats["template_flushes"] > 0 and stats["mask_flushes"] == stats["masks_walked"] == 0
    assert (cleared > 0) == is_cleared


def test_idle_grammars_hold_no_dropped_parts() -> None:
    """Dropped parts are freed at once, even if grammars that used them exist and are never used again."""
    vocabulary = vocabulary_of(5_000)
    with limits(memory=1 << 12, split_nodes=50):
        kept = []
        for n in range(12):
            matcher = Matcher(Grammar.from_lark(f"{GRAMMARS['json']}\n// {n}\n"), vocabulary)
            feed(matcher, b'{"a')  # within a string: there is much to learn
            agreed(matcher)
            kept.append(matcher)
        assert vocabulary.stats()["parts_dropped"] > 0
        alive = [
            thing for thing in gc.get_objects() if type(thing).__name__ == "Parts" and thing.trie is vocabulary.trie
        ]
        assert alive == [vocabulary.trie.learned]
        # The memory of an empty table is not freed.
        assert vocabulary.stats()["remembered_bytes"] < (1 << 12) + 30_000 * len(kept)
        for matcher in kept:
            agreed(matcher)


def test_what_one_mask_remembers_is_bounded() -> None:
    """Parts of 2,000 strings would take seconds and, for a whole vocabulary, a gigabyte: the walk makes the mask."""
    vocabulary = vocabulary_of()
    text = "start: " + " | ".join(rf'/[^\u{0x4E00 + n:04x}]+"/' for n in range(2000))
    with limits(split_nodes=1000):
        matcher = Matcher(Grammar.from_lark(text), vocabulary)
        expected = walked(matcher)
        assert np.array_equal(filled(matcher), expected)
        assert matcher.stats()["masks_walked"] == 1
        assert vocabulary.stats()["remembered_bytes"] < 40 << 20
        assert np.array_equal(filled(matcher), expected)
        assert matcher.stats()["masks_known"] == 1


def test_counted_repetitions_below_many_nodes_take_little() -> None:
    """Many nodes lead to the repetition; a family for each of them, with bitmaps, would take megabytes."""
    vocabulary = vocabulary_of()
    with limits(split_nodes=1000):
        matcher = Matcher(Grammar.from_lark('start: /[etaoinsr]{2}[^"X]{1,80}"/'), vocabulary)
        agreed(matcher)
        assert matcher.stats()["masks_walked"] == 0
    assert 0 < vocabulary.stats()["part_bytes"] < 2 << 20


def test_a_grammar_keeps_masks_for_few_vocabularies_that_are_gone() -> None:
    from earleymask.earley._masks import Masks

    def n_masks() -> int:
        gc.collect()
        return sum(isinstance(each, Masks) for each in gc.get_objects())

    grammar = Grammar.from_regex("a+b")
    before = n_masks()
    living = Matcher(grammar, Vocabulary.from_tokens([b"a", b"b", b""], eos_token_id=2))
    for n in range(20):
        vocabulary = Vocabulary.from_tokens([b"a", b"b", *[b"x"] * n, b""], eos_token_id=2 + n)
        matcher = Matcher(grammar, vocabulary)
        assert matcher.mask().nonzero()[0].tolist() == [0]
    assert n_masks() - before <= 6
    assert living.accept(0) and living.mask().nonzero()[0].tolist() == [0, 1]
