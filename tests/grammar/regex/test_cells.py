"""The parts into which classes divide Unicode, by definition: code points in the same classes belong together."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from earleymask.earley._regex import Regexes
from earleymask.grammar.regex import codepoints
from earleymask.grammar.regex.cells import divide

BORDERS = [0, 0x2F, 0x30, 0x41, 0x5A, 0x61, 0x7A, 0x7F, 0x80, 0x130, 0x212A, 0xD7FF, 0xD800, 0xDFFF, 0xE000, 0x10FFFF]
ranges = st.tuples(st.sampled_from(BORDERS), st.sampled_from(BORDERS)).map(lambda pair: (min(pair), max(pair)))
made = st.lists(ranges, min_size=1, max_size=3).map(codepoints.normalize)
letters = st.sampled_from("abksäſé").map(lambda letter: codepoints.fold_char(ord(letter), False))
categories = st.sampled_from("dswDSW").map(lambda name: codepoints.category(name, False))
classes = st.sets(st.one_of(made, letters, categories), max_size=6)


@given(classes)
def test_code_points_in_the_same_classes_belong_together(some):
    cells, unclassed = divide(some)
    edges = {0, 0x110000} | {edge for ranges in some for first, last in ranges for edge in (first, last + 1)}
    expected: dict[frozenset, set[int]] = {}
    for code in edges - {0x110000}:  # nothing changes before the next edge
        inside = frozenset(ranges for ranges in some if codepoints.contains(ranges, code))
        expected.setdefault(inside, set()).add(code)
    for codes in expected.values():
        belong = [cell for cell in cells if any(codepoints.contains(cell, code) for code in codes)]
        assert len(belong) == 1 or (not belong and all(0xD800 <= code <= 0xDFFF for code in codes))
        for cell in belong:
            assert codes == {code for code in edges if codepoints.contains(cell, code)}
    assert codepoints.normalize([pair for cell in cells for pair in cell] + [(0xD800, 0xDFFF)]) == codepoints.ALL
    outside = expected.get(frozenset(), set())
    assert outside == {code for code in edges if codepoints.contains(unclassed, code)}


@given(classes.filter(bool))
def test_the_first_bytes_of_a_class_are_those_of_its_code_points(some):
    for ranges in some:
        regexes = Regexes()
        node = regexes.concat([regexes.char_class(ranges), regexes.literal(b"x")])
        first = {byte for read in regexes.derivatives(node).values() for byte in read}
        assert regexes.first_bytes(node) == sum(1 << byte for byte in first)
        codes = {min(max(code, first), last) for first, last in ranges for code in (0, 0x80, 0x800, 0x10000)}
        assert first >= {chr(code).encode()[0] for code in codes if not 0xD800 <= code <= 0xDFFF}
