"""`Grammar.from_regex` accepts what `re.fullmatch` matches."""

from __future__ import annotations

import pickle
import random
import re
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earleymask import Grammar, GrammarError, Matcher
from support.sentences import BYTES, accepts, assert_bounded, strings
from support.strategies import make_pattern

PATTERNS = [
    r"[0-9]{4}-[0-9]{2}",
    r"a|ab",
    r"(a|ab)(c|bcd)?",
    r"a*?b?",
    r"(?:a|b)+?",
    r"(a??)(b??)c",
    r".*?b",
    r"(?i)aB",
    r"(?s).",
    r".",
    r"",
    r"a{2,3}?",
    r"[^a]*",
    r"(?x) a  b # comment",
    r"a(?<=a)b",
    r"a(?<!b)c?",
    r"\w\W?",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_it_is_fullmatch(pattern: str) -> None:
    compiled = re.compile(pattern)
    grammar = Grammar.from_regex(pattern)
    for text in strings("abcB\n -1", 3):
        assert accepts(grammar, text) == (compiled.fullmatch(text) is not None), text


@settings(max_examples=200)
@given(st.randoms(use_true_random=False))
def test_made_patterns(rng: random.Random) -> None:
    pattern = make_pattern(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = re.compile(pattern)
    grammar = Grammar.from_regex(compiled)
    for text in ("", "a", "b", "ab", "ba", "aab", "abc", "é", "1", "12", "_a", "the", "ß", "aA", "日本", "bb", "a\n"):
        assert accepts(grammar, text) == (compiled.fullmatch(text) is not None), (pattern, text)


def test_flags() -> None:
    assert accepts(Grammar.from_regex("a b", flags=re.I | re.X), "AB")
    assert accepts(Grammar.from_regex("a.", flags=re.S), "a\n")
    assert not accepts(Grammar.from_regex("a."), "a\n")
    assert accepts(Grammar.from_regex(r"\w"), "é")
    assert not accepts(Grammar.from_regex(r"\w", flags=re.A), "é")
    assert accepts(Grammar.from_regex(re.compile("ab", re.I)), "AB")
    with pytest.raises(ValueError, match=r"re\.LOCALE are not supported"):
        Grammar.from_regex("a", flags=re.L)
    with pytest.raises(ValueError, match="already has its flags and its dialect"):
        Grammar.from_regex(re.compile("a"), flags=re.I)


def test_it_is_known_by_pattern_flags_and_dialect() -> None:
    grammar = Grammar.from_regex("a.", flags=re.I | re.S)
    assert (grammar.kind, grammar.source, grammar.options) == ("regex", "a.", "python is")
    assert grammar == Grammar.from_regex(re.compile("a.", re.I | re.S))
    assert grammar != Grammar.from_regex("a.")
    assert grammar.fingerprint != Grammar.from_regex("a.", flags=re.S).fingerprint
    for other in (grammar, Grammar.from_regex("x"), Grammar.from_regex("é\n ", flags=re.X | re.A | re.M)):
        again = pickle.loads(pickle.dumps(other))
        assert again == other
        assert (again.source, again.options) == (other.source, other.options)
    assert accepts(pickle.loads(pickle.dumps(grammar)), "A\n")


@pytest.mark.parametrize("wrong", [b"a", re.compile(b"a"), None, 3])
def test_only_text_is_taken(wrong: object) -> None:
    with pytest.raises(TypeError, match="pattern must be a str or a compiled one, not"):
        Grammar.from_regex(wrong)  # type: ignore[arg-type]


def test_the_dialect_is_one_of_two() -> None:
    with pytest.raises(ValueError, match="unknown dialect 'perl' of regular expressions; use one of: python, ecma"):
        Grammar.from_regex("a", dialect="perl")


@pytest.mark.parametrize(
    ("pattern", "line", "column", "message"),
    [
        ("a(b", 1, 2, "missing ), unterminated subpattern"),
        ("a\nb)", 2, 2, "unbalanced parenthesis"),
        (r"(a)\1", 1, 4, "backreferences are not supported"),
        ("[b-a]", 1, 2, "bad character range b-a"),
        (r"[^\x00-\U0010ffff]", 1, 1, "the pattern matches nothing"),
        ("*", 1, 1, "nothing to repeat"),
    ],
)
def test_errors_show_the_place(pattern: str, line: int, column: int, message: str) -> None:
    with pytest.raises(GrammarError) as caught:
        Grammar.from_regex(pattern)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert message in caught.value.message
    shown = str(caught.value).splitlines()
    assert shown[1:3] == ["    " + pattern.split("\n")[line - 1], "    " + " " * (column - 1) + "^"]


@pytest.mark.parametrize(
    ("pattern", "flags", "columns"),
    [
        ("[[:upper:]]", 0, [2]),
        ("a[:alpha:]b", 0, [2]),
        ("[]a[:^space:][:word:]", 0, [4, 14]),  # the first one closes the brackets
        (r"\[[:digit:][\[:digit:]", 0, [3]),
        ("[[:upper]:]|[:upper]|(:upper:)|[[:Upper:]]", 0, []),
        ("(?x: a # [[:alpha:]]\n[[:digit:]])", 0, [2]),
        ("a # [[:alpha:]]\n[[:digit:]]", re.X, [2]),
    ],
)
def test_posix_classes_are_a_warning(pattern: str, flags: int, columns: list[int]) -> None:
    grammar = Grammar.from_regex(pattern, flags=flags)
    assert [warning.column for warning in grammar.warnings] == columns
    assert all("is read as single characters" in warning.message for warning in grammar.warnings)
    assert pickle.loads(pickle.dumps(grammar)).warnings == grammar.warnings


def test_names_for_messages() -> None:
    assert list(Matcher(Grammar.from_regex("[ab]"), BYTES).expected()) == ["/[ab]/"]
    assert list(Matcher(Grammar.from_regex("a" * 100), BYTES).expected()) == ["/" + "a" * 60 + ".../"]


HOSTILE = {
    "parentheses": "(" * 100_000 + "a" + ")" * 100_000,
    "open": "(" * 1_000_000,
    "count": "a{1,1000000000}",
    "counts of counts": "(((a{1,1000}){1,1000}){1,1000}){1,1000}",
    "alternatives": "(" + "|".join(["a", "aa"] * 50_000) + ")*b",
    "exponential": "(a|b)*a(a|b){40}",
    "nested stars": "(((a*)*)*)*b",
    "classes": r"[\w\W\d\s]" * 10_000,
    "NUL": "\0" * 10_000,
    "garbage": "\x01\xff{[(<" * 100_000,
    "surrogates": "[\ud800-\udfff]a|\ud800|b",
    "too long": "a" * ((1 << 20) + 1),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_patterns(name: str) -> None:
    assert_bounded(lambda: Grammar.from_regex(HOSTILE[name]))


@pytest.mark.parametrize(
    "pattern", ["(?s:.)", "[^a]", "[\u0800-\uffff]", "[\U00010000-\U0010ffff]", r"\W", "[^\u0900\U0001f600]"]
)
def test_the_bytes_of_a_character_are_those_of_utf_8(pattern: str) -> None:
    """The bytes that may be first, second and third are those of the encodings of all characters of the class."""
    members = re.findall(pattern, "".join(chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000))
    expected: dict[bytes, set[int]] = {}
    for data in map(str.encode, members):
        for i in range(min(len(data), 3)):
            expected.setdefault(data[:i], set()).add(data[i])
    matcher = Matcher(Grammar.from_regex(pattern), BYTES)
    for prefix, following in expected.items():
        matcher.reset()
        assert matcher.validate(list(prefix)) == len(prefix) and all(map(matcher.accept, prefix))
        assert set(matcher.mask().nonzero()[0].tolist()) == following, prefix


POSIX = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "ascii": r"\x00-\x7f",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": re.escape("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"),
    "space": r" \t\n\r\f\v",
    "upper": "A-Z",
    "word": "a-zA-Z0-9_",
    "xdigit": "0-9a-fA-F",
}


@pytest.mark.parametrize("name", POSIX)
@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("[[:{}:]]", "[{}]"),
        ("[^[:{}:]é-]", "[^{}é-]"),
        ("[é[:{}:]_]", "[é{}_]"),
        ("[[:^{}:]]", "[^{}]"),
        ("(?i:[[:{}:]k])", "(?i:[{}k])"),
        ("x[]a[:{}:]]+", "x[]a{}]+"),
    ],
)
def test_posix_classes_under_their_option(name: str, written: str, meant: str) -> None:
    """They are those of the POSIX locale: the same pattern with ranges of ASCII means the same to `re`."""
    grammar = Grammar.from_regex(written.format(name), posix_classes=True)
    lark = Grammar.from_lark(f"start: A\nA: /{written.format(name)}/", posix_classes=True)
    assert grammar.warnings == lark.warnings == ()
    for again in (grammar, pickle.loads(pickle.dumps(grammar)), pickle.loads(pickle.dumps(lark))):
        for char in [*map(chr, range(128)), "é", "É", "ſ", "\u212a", "α", "٣", "\u2028"]:
            for text in (char, f"x{char}{char}"):
                tokens = [*text.encode(), 256]
                found = Matcher(again, BYTES).validate(tokens) == len(tokens)
                assert found == (re.fullmatch(meant.format(POSIX[name]), text) is not None), (char, written)


def test_posix_classes_that_are_none_and_the_option_elsewhere() -> None:
    plain, with_option = (Grammar.from_regex("[[:alpha:]]x]?", posix_classes=given) for given in (False, True))
    assert plain != with_option and plain.fingerprint != with_option.fingerprint
    texts = [Grammar.from_lark("start: /[[:digit:]]+/", posix_classes=given) for given in (True, False)]
    assert texts[0] != texts[1] and pickle.loads(pickle.dumps(texts[0])) == texts[0]
    for pattern, message in (
        ("[[:Alpha:]]", "unknown POSIX class `\\[:Alpha:\\]`"),
        ("[:alpha:]", "the POSIX class `\\[:alpha:\\]` stands outside of brackets"),
        ("[[:alpha:]-z]", "bad character range"),
    ):
        with pytest.raises(GrammarError, match=message) as caught:
            Grammar.from_regex("ab" + pattern, posix_classes=True)
        assert caught.value.column in (3, 4)
        with pytest.raises(GrammarError, match=message):
            Grammar.from_lark(f"start: /ab{pattern}/", posix_classes=True)
    for pattern, text in (("[[:]", ":"), ("[[:,]", "["), ("[:a]", ":"), ("[[:a:)]", ")")):
        tokens = [*text.encode(), 256]
        assert Matcher(Grammar.from_regex(pattern, posix_classes=True), BYTES).validate(tokens) == 2
    with pytest.raises(GrammarError, match="unknown extension"):
        Grammar.from_regex("(?p)a", posix_classes=True)
    with pytest.raises(ValueError, match="ECMA-262 has no POSIX classes"):
        Grammar.from_regex("a", dialect="ecma", posix_classes=True)
