"""Long inputs cost time and memory linear in their length. Counters of work are compared at doubled lengths, no clock.

`steps`, `rows_made` and the like count work; quadratic work would quadruple when the length doubles. Rows that recur
are looked up and cost nothing, so a counter may also stay the same.
"""

from __future__ import annotations

import pytest

from earleymask import Grammar, Matcher, Vocabulary

BYTES = Vocabulary.bytes()
WORK = ("steps", "rows_made", "rows", "continuations", "positions", "text_bytes", "skeletons", "closures", "outcomes")

# name -> (grammar, text of n items, its length in items at full size)
LISTS = {
    "right-recursive": ('start: "a" "," start | "a"', lambda n: b"a," * (n - 1) + b"a", 3000),
    "mutually right-recursive": (
        'start: x\nx: "a" y | "a"\ny: ";" x | "," z\nz: x',
        lambda n: b"a;a," * (n // 2) + b"a",
        3000,
    ),
    "left-recursive": ('start: start "," "a" | "a"', lambda n: b"a," * (n - 1) + b"a", 3000),
    "nested": ('start: "[" start "]" | "x"', lambda n: b"[" * n + b"x" + b"]" * n, 10000),
    "nested, many a level": ('start: "[" [start ("," start)*] "]"', lambda n: b"[[]," * n + b"[]" + b"]" * n, 10000),
    "right-recursive, ignoring blanks": (
        'start: WORD start | WORD\nWORD: /[a-z]+/\n%ignore " "',
        lambda n: b"ab cd " * (n // 2),
        3000,
    ),
    "right-recursive with a nullable tail": ('start: "a" start ["," "b"] | "a"', lambda n: b"a" * n, 3000),
    "with a nullable rule behind": ('start: "a" start ws | "a"\nws: (" " ws)?', lambda n: b"a" * n, 3000),
    "dangling else": ('start: "i" start ("e" start)? | "x"', lambda n: b"i" * n + b"x" + b"ex" * (n // 3), 3000),
    "ambiguous": ('start: start "+" start | "a"', lambda n: b"a+" * (n - 1) + b"a", 3000),
    "repetition": ('start: ("a" ",")*', lambda n: b"a," * n, 3000),
}


def work(grammar: str, text: bytes, masks: int) -> dict[str, int]:
    """Return the counters after the text, with a mask at `masks` places spread over it."""
    matcher = Matcher(Grammar.from_lark(grammar), BYTES)
    places = {len(text) * i // masks for i in range(masks)} if masks else set()
    for place, byte in enumerate(text):
        if place in places:
            matcher.mask()
        assert matcher.accept(byte), (place, text[max(0, place - 20) : place + 1])
    assert matcher.is_accepting()
    return matcher.stats()


@pytest.mark.parametrize("masks", [0, 50])
@pytest.mark.parametrize("name", LISTS)
def test_work_doubles_with_the_length(name: str, masks: int) -> None:
    grammar, text, n = LISTS[name]
    half, full = work(grammar, text(n // 2), masks), work(grammar, text(n), masks)
    for counter in WORK:
        assert full[counter] <= 2.3 * half[counter] + 200, (counter, half[counter], full[counter])


@pytest.mark.parametrize("name", LISTS)
def test_memory_is_bounded(name: str) -> None:
    """A text takes at most 200 bytes for each of its bytes, and little for the grammar; masks have a separate bound."""
    grammar, text, n = LISTS[name]
    stats = work(grammar, text(n), 200)
    assert stats["text_bytes"] <= 10_000 + 200 * len(text(n)), stats
    assert stats["grammar_bytes"] <= 100_000, stats
    assert stats["walk_bytes"] <= 16_000_000, stats
