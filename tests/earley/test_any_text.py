"""A union with any text is any text, and any text contradicts all text in a complement; strings of other bytes stay."""

from __future__ import annotations

from earleymask.earley._regex import Regexes


def test_a_union_with_any_text() -> None:
    regexes = Regexes()
    char = regexes.char_class([(0, 0x10FFFF)])
    text = regexes.repeat(char, 0)
    letters = regexes.repeat(regexes.char_class([(0x61, 0x7A), (0xE0, 0xFF)]), 2, 5)
    search = regexes.concat([text, regexes.literal(b"rocket"), text])
    for other in (regexes.EPSILON, regexes.literal(b"x"), letters, search, regexes.complement(search), char):
        assert regexes.union([other, text]) == text
        assert regexes.union([text, letters, other]) == text


def test_a_union_with_bytes_that_are_no_text() -> None:
    regexes = Regexes()
    text = regexes.repeat(regexes.char_class([(0, 0x10FFFF)]), 0)
    for data in (b"\xff", b"\xe9", b"a\x80"):
        union = regexes.union([text, regexes.literal(data), regexes.literal(b"b")])
        assert regexes.matches(union, data)
        assert regexes.matches(union, "bé".encode())
        assert not regexes.matches(union, data + b"\x80\xff")
    anything_else = regexes.complement(text)
    assert regexes.is_empty(anything_else)


def test_a_search_that_has_found_its_pattern_is_any_text() -> None:
    regexes = Regexes()
    text = regexes.repeat(regexes.char_class([(0, 0x10FFFF)]), 0)
    state = regexes.concat([text, regexes.literal(b"ab"), text])
    for byte in "éaab".encode():
        state = next(target for target, bytes_ in regexes.derivatives(state).items() if byte in bytes_)
    assert state == text


def test_any_text_contradicts_text() -> None:
    regexes = Regexes()
    text = regexes.repeat(regexes.char_class([(0, 0x10FFFF)]), 0)
    assert regexes.difference(regexes.repeat(regexes.literal(b"ab"), 0), text) == regexes.EMPTY
    assert regexes.difference(regexes.literal(b"\xff"), text) != regexes.EMPTY
