"""Every small grammar over `ab`, and its language by brute force: sets of texts, no parser.

`texts(rules, longest)` is the least fixpoint of the productions over texts of bounded length.  Viable prefixes are the
sentences of the prefix grammar (for `A -> X Y`: `A' -> X' | X Y'`, and an empty `A'`), so the same fixpoint finds them.
Nothing is plainer: this is the oracle for the twin.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from random import Random

Alternatives = tuple[str, ...]
Grammar = dict[str, Alternatives]
"""Rule (one capital letter) -> its right-hand sides, such as `aSb`; small letters stand for themselves."""


def right_hand_sides(symbols: str, longest: int) -> list[str]:
    return ["".join(p) for n in range(longest + 1) for p in itertools.product(symbols, repeat=n)]


def one_rule(longest: int = 2, most: int = 3) -> Iterator[Grammar]:
    """Yield every grammar with one rule of at most `most` alternatives, each of at most `longest` symbols."""
    sides = right_hand_sides("abS", longest)
    for n in range(1, most + 1):
        for chosen in itertools.combinations(sides, n):
            yield {"S": chosen}


def two_rules(longest: int = 2, most: int = 2) -> Iterator[Grammar]:
    """Yield every grammar with two rules, the first of which uses the second."""
    sides = right_hand_sides("abST", longest)
    chosen = [c for n in range(1, most + 1) for c in itertools.combinations(sides, n)]
    for first in chosen:
        if any("T" in side for side in first):
            for second in chosen:
                yield {"S": first, "T": second}


def random_grammar(rng: Random) -> Grammar:
    """Make a grammar of up to three rules with longer alternatives; there are too many of these to try all."""
    rules = "STU"[: rng.randint(1, 3)]
    sides = ["".join(rng.choice(rules + "ab") for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 3, 4]))) for _ in range(12)]
    return {rule: tuple(dict.fromkeys(rng.sample(sides, rng.randint(1, 3)))) for rule in rules}


def trimmed(grammar: Grammar) -> Grammar:
    """Return the grammar without alternatives that derive no text."""
    productive: set[str] = set("ab")
    while True:
        found = {name for name, sides in grammar.items() if any(productive.issuperset(side) for side in sides)}
        if found <= productive:
            return {name: tuple(s for s in sides if productive.issuperset(s)) for name, sides in grammar.items()}
        productive |= found


def texts(grammar: Grammar, longest: int) -> dict[str, frozenset[str]]:
    """Return for each rule all texts of at most `longest` letters that it derives."""
    derived: dict[str, frozenset[str]] = {name: frozenset() for name in grammar} | {c: frozenset(c) for c in "ab"}
    while True:
        grown = dict(derived)
        for name, sides in grammar.items():
            grown[name] = grown[name].union(*(concatenations([derived[s] for s in side], longest) for side in sides))
        if grown == derived:
            return derived
        derived = grown


def concatenations(parts: Sequence[frozenset[str]], longest: int) -> frozenset[str]:
    found = frozenset([""])
    for part in parts:
        found = frozenset(left + right for left in found for right in part if len(left) + len(right) <= longest)
    return found


def sentences(grammar: Grammar, longest: int) -> frozenset[str]:
    return texts(grammar, longest)["S"]


def viable_prefixes(grammar: Grammar, longest: int) -> frozenset[str]:
    """Return all viable prefixes of at most `longest` letters; none if the language is empty."""
    kept = trimmed(grammar)
    if not kept["S"]:
        return frozenset()
    prefix = {"S": "X", "T": "Y", "U": "Z"}
    extended: Grammar = dict(kept)
    for name, sides in kept.items():
        found = [""] if sides else []
        for side in sides:
            for i, symbol in enumerate(side):
                found.append(side[:i] + prefix.get(symbol, symbol))
        extended[prefix[name]] = tuple(dict.fromkeys(found))
    return texts(extended, longest)[prefix["S"]]


def lark_text(grammar: Grammar) -> str:
    """Write the grammar in Lark's syntax, where the names of rules are small letters."""
    names = {"S": "start", "T": "t", "U": "u", "a": '"a"', "b": '"b"'}
    return "".join(
        f"{names[rule]}: " + " | ".join(" ".join(names[s] for s in side) for side in sides) + "\n"
        for rule, sides in grammar.items()
    )
