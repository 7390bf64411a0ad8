"""The twin's terminals agree with `re`, on all short words over small alphabets and on patterns of Hypothesis."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.sentences import strings
from support.strategies import patterns
from support.twin_regex import TerminalTwin, completions, sequence_length

# (pattern, alphabet, longest word)
CASES = [
    (r"ab|a", "ab", 4),
    (r"(?:a|ab)(?:c|bcd)d*", "abcd", 5),
    (r"a{2,4}b?", "ab", 6),
    (r"(?:ab?){,3}", "ab", 6),
    (r"[^a]b*", "abé", 4),
    (r"(?i:straße)", "sSß", 3),
    (r"(?i:k)+", "kK\u212a", 3),
    (r"\w+", "aé1 _", 3),
    (r"(?a:\w+)", "aé1 _", 3),
    (r"\d\s\D", "1a \u0663\u00a0", 3),
    (r".a", "ab\n\r", 3),
    (r"(?s:.a)", "ab\n\r", 3),
    (r"[à-ü\U0001f600-\U0001f64f]+", "àü÷\U0001f600a", 3),
    (r"(?<!a)b|a", "ab", 3),
    (r"[ab]+(?<!a)b", "ab", 5),
    (r"[ab]*(?<=a)b", "ab", 5),
    (r'".*?"', '"ab', 5),
    (r'".*?(?<!\\)(\\\\)*?"', '"a\\', 7),
    (r"/\*(.|\n)*?\*/", "/*a", 7),
    (r"a*?", "ab", 4),
    (r"a+?b?", "ab", 4),
    (r"(?:a|ab)??b*", "ab", 5),
    (r"a|b*?b", "ab", 4),
    (r"(?:a|b??)*b", "ab", 5),
    (r"(?:a??b?){2,3}a", "ab", 5),
    (r"(?:|a)*?b|ab", "ab", 4),
    (r"(?:a*?)*b", "ab", 5),
    (r"(?:a?|b)*ab??", "ab", 5),
]


def means(pattern: str, text: str, ordered: bool) -> bool:
    """Return whether the text is one of the terminal's, by its definition in terms of `re`."""
    if ordered:
        match = re.match(pattern, text)
        return match is not None and match.end() == len(text)
    return re.fullmatch(pattern, text) is not None


def witness(terminal: TerminalTwin, data: bytes) -> bytes:
    """Return a word of the terminal that begins with `data`; every viable prefix must have one."""
    whole = [data]
    for n in range(1, 4):  # complete the last code point if `data` ends inside one
        interval = completions(data[-n:]) if n <= len(data) else None
        if interval is not None:
            ends = {interval[0], *(c for c in terminal.boundaries if interval[0] <= c <= interval[1])}
            whole = [data[:-n] + chr(c).encode() for c in sorted(ends)]
    queue = [(terminal.run(text), text) for text in whole]
    reached = {state for state, _ in queue}
    for state, text in queue:
        if state is not None and terminal.accepts(state):
            return text
        for code_point in terminal.representatives if state is not None else ():
            longer = text + chr(code_point).encode()
            following = terminal.run(chr(code_point).encode(), state)
            if following not in reached:
                reached.add(following)
                queue.append((following, longer))
    raise AssertionError(f"{data!r} leads to no word of {terminal.pattern!r}")


def check(pattern: str, texts: list[str], lexemes: str) -> None:
    terminal = TerminalTwin(pattern, lexemes=lexemes)
    viable = {
        text.encode()[:n]
        for text in texts
        if means(pattern, text, terminal.ordered)
        for n in range(len(text.encode()) + 1)
    }
    for text in texts:
        data = text.encode()
        assert terminal.matches(data) == means(pattern, text, terminal.ordered), (pattern, text)
        for n in range(len(data) + 1):
            state = terminal.run(data[:n])
            if data[:n] in viable:
                assert state is not None, (pattern, data[:n])
            elif state is not None:  # the word that proves this may be longer than the texts tried
                word = witness(terminal, data[:n]).decode()
                assert means(pattern, word, terminal.ordered), (pattern, data[:n], word)


@pytest.mark.parametrize("lexemes", ["earleymask", "lark"])
@pytest.mark.parametrize(("pattern", "alphabet", "longest"), CASES)
def test_every_short_text(pattern: str, alphabet: str, longest: int, lexemes: str) -> None:
    check(pattern, strings(alphabet, longest), lexemes)


@settings(max_examples=150)
@given(
    patterns(),
    st.lists(st.text('abcAé_1 "\\\n', max_size=8), min_size=1, max_size=10),
    st.sampled_from(["earleymask", "lark"]),
)
def test_random_patterns(pattern: str, texts: list[str], lexemes: str) -> None:
    check(pattern, texts + strings("ab", 4), lexemes)


@pytest.mark.parametrize("pattern", [r"[^\s\S]", r"a[^\s\S]|b[^\s\S]*?[^\w\W]", "(?!)"])
def test_a_terminal_without_words_is_empty(pattern: str) -> None:
    if pattern == "(?!)":
        pytest.skip("lookaheads are not the twin's yet")
    assert TerminalTwin(pattern).empty


def test_utf8_intervals_are_those_of_the_codec() -> None:
    """For each proper prefix, the interval contains exactly the code points that begin with it."""
    expected: dict[bytes, tuple[int, int]] = {}
    for code_point in range(0x110000):
        if 0xD800 <= code_point <= 0xDFFF:
            continue
        data = chr(code_point).encode()
        for n in range(1, len(data)):
            low, _ = expected.get(data[:n], (code_point, code_point))
            expected[data[:n]] = (low, code_point)
    for prefix in expected:
        assert completions(prefix) == expected[prefix], prefix
    for first in range(256):
        if sequence_length(first) in (None, 1):
            continue
        for second in range(256):
            if bytes([first, second]) not in expected and sequence_length(first) != 2:
                assert completions(bytes([first, second])) is None


@pytest.mark.parametrize("data", [b"\x80", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xff", b"\xe2\x28"])
def test_text_that_is_no_utf8_is_never_viable(data: bytes) -> None:
    assert TerminalTwin(r"(?s:.)*").run(data) is None
