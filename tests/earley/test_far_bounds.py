"""A text that does not come near an upper bound cannot tell whether the bound is there."""

from __future__ import annotations

import random

import pytest

from earleymask.earley._far_bounds import farthest_bounds
from earleymask.earley._regex import Regexes
from support.effort import effort

ANY = [(0, 0xD7FF), (0xE000, 0x10FFFF)]
SOME = [(0, 0x7FF)]
LETTERS = [
    [(97, 98)],
    [(98, 99), (0xE8, 0xE9)],
    [(0x20AC, 0x20AC)],
    [(0x1F600, 0x1F64F)],
    [(32, 32), (0x2000, 0x200A)],
    ANY,
]


def some_regex(rng: random.Random, regexes: Regexes, depth: int, with_bytes: bool) -> int:
    kind = rng.randrange(9)
    if depth == 0 or kind == 0:
        leaf = rng.randrange(8)
        if leaf == 0:
            return regexes.literal(rng.choice(["€", "😀"]).encode())
        if leaf == 1 and with_bytes:  # some of them begin and continue no character
            return regexes.byte_set([97, *rng.sample(range(0x80, 0x100), 9)])
        return regexes.char_class(rng.choice(LETTERS))
    inner = some_regex(rng, regexes, depth - 1, with_bytes)
    if kind < 4:
        least = rng.choice([0, 0, 1, 3])
        return regexes.repeat(inner, least, rng.choice([None, least + 2, least + 5, 12]))
    if kind == 4:
        return shorter(regexes, inner, rng.randrange(12))
    other = some_regex(rng, regexes, depth - 1, with_bytes)
    if kind == 5:
        return regexes.union([inner, other])
    if kind == 6 and rng.random() < 0.3:
        return shorter(regexes, regexes.intersection([inner, regexes.complement(other)]), rng.choice([6, 12]))
    return regexes.concat([inner, other])


def shorter(regexes: Regexes, node: int, most: int, least: int = 0) -> int:
    """Return the node with at most so many characters."""
    return regexes.intersection([node, regexes.repeat(regexes.char_class(ANY), least, most)])


def alive(regexes: Regexes, node: int) -> dict[int, bytes]:
    """Return the derivatives that match something, each with its bytes."""
    return {derived: by for derived, by in regexes.derivatives(node).items() if not regexes.is_empty(derived)}


def assert_alike(regexes: Regexes, node: int, other: int, n_bytes: int) -> int:
    """Follow all texts of at most so many bytes through both regexes at once. Return how many pairs they lead to."""
    seen = {(node, other)}
    agenda = list(seen)
    for n in range(n_bytes + 1):
        following = []
        for one, two in agenda:
            assert regexes.is_empty(one) == regexes.is_empty(two), (node, other, n_bytes)
            assert regexes.matches(one, b"") == regexes.matches(two, b""), (node, other, n_bytes)
            if n == n_bytes or len(seen) > 4000:
                continue
            ways, ways_of_other = alive(regexes, one), alive(regexes, two)
            assert set(b"".join(ways.values())) == set(b"".join(ways_of_other.values())), (node, other, n_bytes)
            for first, by in ways.items():
                for second, by_other in ways_of_other.items():
                    if set(by) & set(by_other) and (first, second) not in seen:
                        seen.add((first, second))
                        following.append((first, second))
        agenda = following
    return len(seen)


@pytest.mark.parametrize("spelled", [False, True])
def test_no_text_in_reach_can_tell(spelled: bool) -> None:
    rng = random.Random(f"{spelled}")
    n_dropped = n_pairs = 0
    for _ in range(effort(150, 300)):
        regexes = Regexes()
        node = some_regex(rng, regexes, 4, with_bytes=not spelled)
        if spelled:
            node = regexes.escaped(node, shortest=rng.random() < 0.5, ascii=rng.random() < 0.3)
        node = regexes.concat([node, regexes.literal(b'"')])
        for _ in range(6):  # also in the middle of characters and escapes
            reach, other = farthest_bounds(regexes, node)
            if reach:
                n_dropped += other != node
                n_pairs += assert_alike(regexes, node, other, min(reach, 9))
            following = list(alive(regexes, node))
            if not following:
                break
            node = rng.choice(following)
    assert n_dropped > effort(80, 160) and n_pairs > effort(4000, 8000)


def literal(regexes: Regexes, text: str) -> int:
    return regexes.literal(text.encode())


def test_how_far_texts_reach() -> None:
    """By hand: the most bytes of a text that cannot meet the bound, however it goes on."""
    regexes = Regexes()
    a, pair, any_ = literal(regexes, "a"), literal(regexes, "ab"), regexes.char_class(ANY)
    assert farthest_bounds(regexes, regexes.repeat(a, 0, 9)) == (9, regexes.repeat(a, 0, None))
    assert farthest_bounds(regexes, regexes.repeat(pair, 2, 9)) == (18, regexes.repeat(pair, 2, None))
    words = regexes.concat([regexes.repeat(pair, 0, None), literal(regexes, "end")])
    # No text needs more than `abend` to its end. (`bend`, in truth: a pair that has begun is counted as a whole.)
    assert farthest_bounds(regexes, shorter(regexes, words, 50)) == (50 - 5, words)
    assert farthest_bounds(regexes, regexes.escaped(shorter(regexes, words, 50)))[0] == 50 - 5 - 3
    # A bound that does not matter for longer texts comes first; then the other one.
    both = shorter(regexes, regexes.concat([regexes.repeat(pair, 0, 9), literal(regexes, "end")]), 50)
    reach, node = farthest_bounds(regexes, both)
    assert reach == 45 and farthest_bounds(regexes, node) == (18, words)
    tail = regexes.concat([words, regexes.repeat(any_, 0, 20)])
    assert farthest_bounds(regexes, tail) == (20, regexes.concat([words, regexes.repeat(any_, 0, None)]))


def test_what_keeps_its_bounds() -> None:
    regexes = Regexes()
    a, any_ = literal(regexes, "a"), regexes.char_class(ANY)
    many = regexes.repeat(a, 0, 30)
    text = regexes.repeat(any_, 0, None)
    no_text = regexes.repeat(regexes.byte_set([0x61, 0x85]), 0, None)
    begun = shorter(regexes, regexes.concat([regexes.char_class([(0x20AC, 0x20AC)]), no_text]), 30)
    [begun] = alive(regexes, begun)
    for node in [
        shorter(regexes, no_text, 30),  # the length also demands that it is text
        begun,  # and so it does in the middle of a character
        regexes.repeat(a, 0, 3),  # so few turns that dropping the bound is of no use
        regexes.repeat(a, 9, None),  # a lower bound
        regexes.complement(many),
        regexes.intersection([many, regexes.complement(regexes.repeat(a, 5, 7))]),
        shorter(regexes, regexes.repeat(a, 0, None), 30, least=9),  # how nine letters can be reached is not looked at
        regexes.intersection([regexes.concat([text, a]), regexes.repeat(regexes.char_class(SOME), 0, 30)]),
        shorter(regexes, regexes.concat([text, literal(regexes, "end")]), 4),  # any text may need all of it to its end
    ]:
        assert farthest_bounds(regexes, node) == (0, node)
