"""Spellings of texts within a JSON string equal a list of all spellings, and mean to `json` what they should."""

from __future__ import annotations

import itertools
import json
import random

import pytest

from earleymask.earley._regex import Regexes
from earleymask.grammar.regex.ast import And, Chars, Concat, Escaped, Literal, Look, Not, Repeat, Union, Whole
from earleymask.grammar.regex.lower import lower

LETTERS = ["a", "A", '"', "\\", "/", "\n", "\x01", "\x7f", "é", "€", "\U0001f600", "\U0010ffff"]
SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
STYLES = [(shortest, ascii_) for shortest in (False, True) for ascii_ in (False, True)]


def spellings(letter: str, shortest: bool, ascii_: bool) -> list[str]:
    """Return the spellings of a letter by RFC 8259, section 7."""
    if shortest:
        return [json.dumps(letter, ensure_ascii=ascii_)[1:-1]]
    found = set()
    if ord(letter) >= 0x20 and letter not in '"\\' and not (ascii_ and ord(letter) >= 0x80):
        found.add(letter)
    if letter in SHORT:
        found.add(SHORT[letter])
    if letter == "/":
        found.add("\\/")
    units = letter.encode("utf-16-be").hex()
    digits = [sorted({digit, digit.upper()}) for digit in units]
    for chosen in itertools.product(*digits):
        code = "".join(chosen)
        found.add("".join("\\u" + code[i : i + 4] for i in range(0, len(code), 4)))
    return sorted(found)


def some_regex(rng: random.Random, regexes: Regexes, depth: int) -> int:
    kind = rng.randrange(7)
    if depth == 0 or kind == 0:
        points = sorted(map(ord, rng.sample(LETTERS, rng.randrange(1, 5))))
        return regexes.char_class([(point, point) for point in points])
    inner = some_regex(rng, regexes, depth - 1)
    if kind == 1:
        return regexes.complement(inner)
    if kind == 2:
        return regexes.repeat(inner, 0, 2)
    other = some_regex(rng, regexes, depth - 1)
    if kind == 3:
        return regexes.intersection([inner, other])
    return regexes.union([inner, other]) if kind == 4 else regexes.concat([inner, other])


@pytest.mark.parametrize(("shortest", "ascii_"), STYLES)
def test_every_spelling_of_what_the_regex_matches_and_of_nothing_else(shortest: bool, ascii_: bool) -> None:
    rng = random.Random(f"{shortest} {ascii_}")
    n_matched = 0
    for _ in range(40):
        regexes = Regexes()
        body = some_regex(rng, regexes, 3)
        escaped = regexes.escaped(body, shortest, ascii_)
        assert (escaped == Regexes.EMPTY) == regexes.is_empty(body)
        quoted = regexes.concat([regexes.literal(b'"'), escaped, regexes.literal(b'"')])
        for letters in itertools.chain(*(itertools.product(LETTERS, repeat=n) for n in range(3))):
            wanted = regexes.matches(body, "".join(letters).encode())
            n_matched += wanted
            written = "".join(rng.choice(spellings(letter, shortest, ascii_)) for letter in letters)
            assert json.loads(f'"{written}"') == "".join(letters)
            assert regexes.matches(escaped, written.encode()) == wanted
            assert regexes.matches(quoted, f'"{written}"'.encode()) == wanted
    assert n_matched > 500


@pytest.mark.parametrize(("shortest", "ascii_"), STYLES)
def test_nothing_that_is_no_spelling_and_no_beginning_of_one(shortest: bool, ascii_: bool) -> None:
    rng = random.Random(f"{ascii_} {shortest}")
    pieces = [
        "\\",
        "u",
        "0",
        "6",
        "1",
        "d",
        "8",
        "3",
        "D",
        "c",
        "n",
        "a",
        '"',
        "é",
        "/",
        "\x01",
        "\\u006",
        "\\ud83d",
        "\\ude00",
    ]
    for _ in range(40):
        regexes = Regexes()
        texts = ["".join(rng.choices(LETTERS, k=rng.randrange(3))) for _ in range(4)]
        escaped = regexes.escaped(regexes.union([regexes.literal(text.encode()) for text in texts]), shortest, ascii_)
        sentences = {
            "".join(chosen)
            for text in texts
            for chosen in itertools.product(*(spellings(letter, shortest, ascii_) for letter in text))
        }
        beginnings = {sentence[:n] for sentence in sentences for n in range(len(sentence) + 1)}
        tried = ["".join(rng.choices(pieces, k=rng.randrange(1, 6))) for _ in range(100)]
        tried += [
            beginning + rng.choice(pieces) for beginning in rng.sample(sorted(beginnings), min(60, len(beginnings)))
        ]
        for written in tried + rng.sample(sorted(beginnings), min(60, len(beginnings))):
            assert regexes.matches(escaped, written.encode()) == (written in sentences)
            # The derivative is empty exactly if nothing may follow.
            rest = regexes.intersection(
                [
                    escaped,
                    regexes.concat(
                        [regexes.literal(written.encode()), regexes.repeat(regexes.byte_set(range(256)), 0)]
                    ),
                ]
            )
            assert regexes.is_empty(rest) == (written not in beginnings)


def test_trees_keep_their_own_meaning_within() -> None:
    """Lookarounds and lazy quantifiers in the body see the text, not its spelling."""
    letter = Chars(((ord("a"), ord("z")),))
    anything = Repeat(Chars(((0, 0x10FFFF),)), 0, None)
    whole = Whole(Concat((Look(Concat((anything, Literal("q"))), True, True, 0), Repeat(letter, 1, 3))))
    without_q = And((whole,))
    tree = Concat((Literal('"'), Escaped(Union((without_q, Not(Union((without_q, anything)))))), Literal('"')))
    regexes = Regexes()
    node = lower(tree, regexes)
    for written, wanted in [("ab", True), ("\\u0061b", True), ("aq", False), ("a\\u0071", False), ("\\n", False)]:
        assert regexes.matches(node, f'"{written}"'.encode()) == wanted


def test_searches_within_searches() -> None:
    """A search for emptiness of the body runs within that of a node around it; they must not mix their marks."""
    regexes = Regexes()
    a, b = regexes.literal(b"a"), regexes.literal(b"b")
    either = regexes.repeat(regexes.union([a, b]), 0)
    body = regexes.intersection([either, regexes.complement(regexes.concat([either, a]))])  # ends with b, or is empty
    escaped = regexes.escaped(body)
    both = regexes.intersection([regexes.concat([escaped, b, body]), regexes.complement(regexes.repeat(b, 0))])
    assert not regexes.is_empty(both)
    assert regexes.matches(both, b"abb")
    assert regexes.is_empty(regexes.intersection([regexes.concat([escaped, b]), regexes.concat([either, a])]))
