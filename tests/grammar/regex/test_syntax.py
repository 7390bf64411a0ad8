"""The regex parser agrees with `re`: on what it accepts, what it refuses and where, and on single characters."""

import re
import warnings

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from earleymask.earley.errors import LimitError
from earleymask.grammar.errors import RegexSyntaxError
from earleymask.grammar.regex import python as regex_syntax
from earleymask.grammar.regex.ast import Behind, Chars, Concat, Literal, Repeat, Union
from earleymask.grammar.regex.python import MAX_COUNT, MAX_NESTING, literal, parse

A = Literal("a")
B = Literal("b")
DOT = Chars(((0, 9), (11, 0x10FFFF)))
ANY = Chars(((0, 0x10FFFF),))

SHAPES = [
    ("", "", Literal("")),
    ("abc", "", Literal("abc")),
    ("ab*", "", Concat((A, Repeat(B, 0, None, False)))),
    ("(ab)*", "", Repeat(Literal("ab"), 0, None, False)),
    ("(?:a|b)c", "", Concat((Chars(((97, 98),)), Literal("c")))),
    ("a|bc|", "", Union((A, Literal("bc"), Literal("")))),
    ("a|bc|b|[c-e]", "", Union((A, Literal("bc"), Chars(((98, 101),))))),
    ("a+?b??", "", Concat((Repeat(A, 1, None, True), Repeat(B, 0, 1, True)))),
    ("a{2}", "", Repeat(A, 2, 2, False)),
    ("a{2,}?", "", Repeat(A, 2, None, True)),
    ("a{,3}", "", Repeat(A, 0, 3, False)),
    ("a{,}", "", Repeat(A, 0, None, False)),
    ("a{2,5}", "", Repeat(A, 2, 5, False)),
    ("a{", "", Literal("a{")),
    ("a{}", "", Literal("a{}")),
    ("a{1", "", Literal("a{1")),
    ("a{1,2", "", Literal("a{1,2")),
    ("a{x}", "", Literal("a{x}")),
    ("a{ 1}", "", Literal("a{ 1}")),
    ("{1", "", Literal("{1")),
    ("]}-,:=!<>&~#", "", Literal("]}-,:=!<>&~#")),
    (".", "", DOT),
    (".", "s", ANY),
    ("(?s).", "", ANY),
    ("(?s:.).", "", Concat((ANY, DOT))),
    ("(?-s:.).", "s", Concat((DOT, ANY))),
    ("(?#comment)a(?#b)*", "", Repeat(A, 0, None, False)),
    ("(?P<name>a)(?P<other>b)", "", Literal("ab")),
    ("a b # c\n  + \\  [ ]", "x", Concat((A, Repeat(B, 1, None, False), Literal("  ")))),
    ("(?x) a # (", "", A),
    (" (?#c)(?i)a", "x", Chars(((65, 65), (97, 97)))),
    ("(?x:a b)c d", "", Concat((Literal("ab"), Literal("c d")))),
    ("(?-x:a b)c d", "x", Concat((Literal("a b"), Literal("cd")))),
    ("(?i:a)a", "", Concat((Chars(((65, 65), (97, 97))), A))),
    ("(?i:k)", "", Chars(((75, 75), (107, 107), (0x212A, 0x212A)))),
    ("(?ia:k)", "", Chars(((75, 75), (107, 107)))),
    ("(?i:1-2)", "", Literal("1-2")),
    ("[a]", "", A),
    ("[]]", "", Literal("]")),
    ("[^]]", "", Chars(((0, 92), (94, 0x10FFFF)))),
    ("[a-]", "", Chars(((45, 45), (97, 97)))),
    ("[-a]", "", Chars(((45, 45), (97, 97)))),
    ("[a-c-e]", "", Chars(((45, 45), (97, 99), (101, 101)))),
    ("[\\d-]", "a", Chars(((45, 45), (48, 57)))),
    ("[\\b\\x41\\101\\u0042\\n]", "", Chars(((8, 8), (10, 10), (65, 66)))),
    ("[[a&&b]", "", Chars(((38, 38), (91, 91), (97, 98)))),
    ("[^\\d\\D]", "", Chars(())),
    ("a(?<!b)c", "", Concat((A, Behind(Chars(((98, 98),)), True, 1), Literal("c")))),
    ("(?<=[b-d]|x)", "", Behind(Chars(((98, 100), (120, 120))), False, 0)),
    ("\n^a", "m", Concat((Literal("\n"), Behind(Chars(((0, 9), (11, 0x10FFFF))), True, 1), A))),
    ("()*", "", Repeat(Literal(""), 0, None, False)),
    ("(?:a*)*", "", Repeat(Repeat(A, 0, None, False), 0, None, False)),
]


@pytest.mark.parametrize(("pattern", "flags", "node"), SHAPES)
def test_shapes(pattern, flags, node):
    assert parse(pattern, flags) == node


def split(text: str) -> list[str]:
    """Split a line into patterns, which contain no blanks."""
    return text.split()


ESCAPES = [
    *split(r"\a\f\n\r\t\v\\ \0 \08 \012 \0123 \377 \101 \x41 \u00e9 \U0001F600 \ud800"),
    r"\.\*\[\]\(\)\{\}\^\$\|\?\+\-\/\#\é\_\"",
    r"\N{EM DASH}",
    r"\N{greek small letter alpha}",
    "\\\n\\ ",
]


@pytest.mark.parametrize("pattern", ESCAPES)
def test_escapes_mean_what_they_mean_to_re(pattern):
    text = parse(pattern).text
    assert re.fullmatch(pattern, text)


MALFORMED = [
    *split(r"""
    ( ) a) (a (? (?P (?P< (?P<a (?P<>a) (?P<1>a) (?P<a>b)(?P<a>c) (?Px) (?Z) (?<a>b) (?< (?#a * a|* (*a)
    a** a+* a*{2} a??? a{2}{3} a{3,2} [ [a [] [^] [a- [z-a] [\d-z] [a-\d] \ [\ [a\ \x \x4 \xgg \u123
    \U0001F60 \U00110000 \N \N{ \N{} \N{x \q \é\y [\q] [\8] [\400] \400 \777 (?i (?i- (?i-) (?-i) (?iz)
    (?i:a (?-:a) (?L) (?au) (?a-u:b) (?i-i:a) (?-ii a(?i) (?:(?i)) a|(?i)b (?s-i (?i-s) (?aL:x)
    """),
    r"\N{no such name}",
]


def compile_as_since_3_11(pattern: str, flags: int) -> re.Pattern[str]:
    """Compile like `re.compile`, but refuse what only Python 3.10 still accepts, with a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", "Flags not at the start", DeprecationWarning)
        return re.compile(pattern, flags)


@pytest.mark.parametrize("pattern", MALFORMED)
def test_malformed_is_refused_where_re_refuses_it(pattern):
    with pytest.raises((re.error, DeprecationWarning)) as theirs:
        compile_as_since_3_11(pattern, 0)
    with pytest.raises(RegexSyntaxError) as ours:
        parse(pattern)
    assert 0 <= ours.value.position <= len(pattern)
    # If the two give different places, they differ by the length of the construct that was read there.
    if isinstance(theirs.value, re.error):
        assert abs(ours.value.position - theirs.value.pos) <= 2, (ours.value, theirs.value)


# (pattern, flags, position, what the message names)
REFUSED = [
    ("a(?<!b*)", "", 1, "look-behind requires fixed-width"),
    ("(a)\\1", "", 3, "backreference"),
    ("(a)\\12", "", 3, "backreference"),
    ("(?P<x>a)(?P=x)", "", 8, "backreference"),
    ("(a)(?(1)b|c)", "", 3, "conditional"),
    ("a\\p{Klingon}", "", 1, "unknown property \\p{Klingon}"),
    ("[\\p{Script=Nowhere}]", "", 1, "unknown property"),
    ("\\p{Lu", "", 2, "unterminated property"),
    ("a", "l", 0, "locale"),
    ("a", "q", 0, "'q'"),
    ("a", "au", 0, "incompatible"),
]


@pytest.mark.parametrize(("pattern", "flags", "position", "named"), REFUSED)
def test_what_is_not_supported_is_named(pattern, flags, position, named):
    with pytest.raises(RegexSyntaxError) as caught:
        parse(pattern, flags)
    assert named in caught.value.message
    assert caught.value.position == position
    with pytest.raises(RegexSyntaxError) as moved:
        parse(pattern, flags, 100)
    assert moved.value.position == 100 + position


def test_an_error_shows_message_position_and_hint():
    with pytest.raises(RegexSyntaxError) as caught:
        parse("(a)b\\1")
    assert str(caught.value) == f"backreferences are not supported at position 4\nhint: {caught.value.hint}"
    assert isinstance(caught.value, ValueError)


def test_behind_keeps_its_position_in_the_larger_text():
    assert parse("a(?<=b)", "", 10).parts[1].position == 11


def test_nesting_has_a_limit():
    def nested(depth):
        return "(" * depth + "a" + ")" * depth

    assert parse(nested(MAX_NESTING)) == A
    for depth in (MAX_NESTING + 1, 100_000):
        with pytest.raises(LimitError, match=f"deeper than {MAX_NESTING} at position {MAX_NESTING}"):
            parse(nested(depth))
    assert parse("(a)" * 10_000) == Literal("a" * 10_000)


def test_counts_have_a_limit():
    assert parse(f"a{{{MAX_COUNT}}}") == Repeat(A, MAX_COUNT, MAX_COUNT, False)
    assert parse("a{0000000000000000001}") == Repeat(A, 1, 1, False)
    for count in (str(MAX_COUNT + 1), "9" * 10_000):
        for pattern in (f"a{{{count}}}", f"a{{{count},}}", f"a{{,{count}}}"):
            with pytest.raises(LimitError, match=f"limit {MAX_COUNT}"):
                parse(pattern)


def test_long_patterns_are_read_in_linear_time():
    n = 200_000  # would take seconds if reading were quadratic
    assert parse("a" * n) == parse("(?x)" + "a" * n) == Literal("a" * n)
    assert parse("(?i)" + "1" * n) == Literal("1" * n)
    assert len(parse("|".join(chr(0x4E00 + 2 * i) for i in range(10_000))).ranges) == 10_000
    assert len(parse("[ab]" * n).parts) == n


@given(st.text("aAkKsSiI1é-ſß'Σςσ", max_size=8), st.booleans())
def test_literals_are_escaped_patterns(text, ignore_case):
    assert as_sets(literal(text, ignore_case)) == as_sets(parse(re.escape(text), "i" if ignore_case else ""))


def as_sets(node):
    """Return a concatenation of texts and classes as a list of classes."""
    if isinstance(node, Concat):
        return [ranges for part in node.parts for ranges in as_sets(part)]
    if isinstance(node, Literal):
        return [((ord(char), ord(char)),) for char in node.text]
    return [node.ranges]


NOT_SUPPORTED = re.compile("not supported|property")
PROPERTY = re.compile(r"(\\[^P])|\\P(?:P|\{P\})", re.DOTALL)
"""An escape; or the one property that these patterns may name, which `re` does not know."""
PIECES = [
    *split(r"a b \ ( ) (?: (?P<n> (?i) (?x: (?-i: (?<! (?<= | * + ? ?? {2} {1, {,2} } [ ] ^ - \d \x41 \1 \012"),
    *split("[^ [a-z] # . $ ,"),
    " ",
    "\n",
]


@settings(max_examples=3000)
@given(
    st.one_of(
        st.text("ab01\\()[]{}?*+|.^$-,:=!<>#iPx \n&é", max_size=12),
        st.lists(
            st.sampled_from(PIECES),
            max_size=10,
        ).map("".join),
    ),
    st.sampled_from(["", "x", "i", "ms", "xa"]),
)
@example("(?x)#\n*", "")
@example("#\\", "x")
@example("#\\\n)\n(?#\\))", "x")
@example("[^]-a]", "")
@example(r"\PP\\P[\P{P}]", "")
def test_accepts_what_re_accepts(pattern, flags):
    bits = 0
    for flag in flags:
        bits |= {"i": re.I, "m": re.M, "s": re.S, "x": re.X, "a": re.A}[flag]
    try:
        compile_as_since_3_11(PROPERTY.sub(lambda found: found[1] or r"\D", pattern), bits)
        valid = True
    except (re.error, OverflowError, DeprecationWarning):
        valid = False
    refused: Exception | None = None
    try:
        parse(pattern, flags)
    except (RegexSyntaxError, LimitError) as error:
        refused = error
    # What we refuse as "not supported" may be malformed, too; everything else that we refuse must be.
    by_name = isinstance(refused, RegexSyntaxError) and NOT_SUPPORTED.search(refused.message) is not None
    assert valid == (refused is None) or by_name, refused
    if isinstance(refused, RegexSyntaxError):
        assert 0 <= refused.position <= len(pattern)


def test_flags_are_those_of_the_lark_syntax():
    assert set("imsux") <= set(regex_syntax._FLAGS)
