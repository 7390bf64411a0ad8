"""A large table of patterns agrees with `re`: which are accepted, and which texts each matches as a whole.

It has every ASCII character in every kind of place, letters with odd cases under all flags, and each construct alone.
REFUSED lists the patterns that `re` accepts and we do not, with the reason that the error gives.
"""

from __future__ import annotations

import re
import sys
import warnings

import pytest

from earleymask.earley._regex import Regexes
from earleymask.earley.errors import LimitError
from earleymask.grammar.errors import RegexSyntaxError
from earleymask.grammar.regex import parse_regex, whole_text
from earleymask.grammar.regex.lower import lower

REFUSED = {
    r"(a)\1": "backreferences",
    r"(?P<n>a)(?P=n)": "backreferences",
    r"(a)?(?(1)b|c)": "conditional groups",
    r"(?P<n>a)(?(n)b)": "conditional groups",
    "(?t)": "unknown extension",
    "(?ta)": "unknown extension",
    r"(?<=(?=ab)a)b": "looks beyond the end of the lookbehind",
}
"""Pattern -> what the refusal says. `t` (TEMPLATE) was never documented, and Python 3.13 has it no more."""

ASCII = [chr(code) for code in range(128)]


def compare(pattern: str, texts: list[str], flags: str = "") -> int:
    """Assert that `re` and we agree; return how many of `texts` the pattern matches, or -1 if both refuse it."""
    bits = sum([getattr(re, letter.upper()) for letter in flags])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compiled = re.compile(pattern, bits)
        except re.error:
            with pytest.raises((RegexSyntaxError, LimitError)):
                parse_regex(pattern, flags=flags)
            return -1
    if pattern in REFUSED:
        with pytest.raises(RegexSyntaxError, match=REFUSED[pattern]) as caught:
            lower(whole_text(parse_regex(pattern, flags=flags)), Regexes())
        assert caught.value.position is not None
        return -1
    regexes = Regexes()
    root = lower(whole_text(parse_regex(pattern, flags=flags)), regexes)
    wrong = [text for text in texts if regexes.matches(root, text.encode()) != (compiled.fullmatch(text) is not None)]
    assert not wrong, (pattern, flags, wrong[:5])
    return sum([compiled.fullmatch(text) is not None for text in texts])


PLACES = [
    "{}", r"\{}", "[{}]", r"[\{}]", "[^{}]", "[a{}z]", r"[\{}-z]", r"[a-\{}]", "a{}", "a{}b", r"\{}1", "a{{{}}}",
    "a{{1{}}}", "({})", "(?{})", "(?{}a)", "(?{}:a)", "(?<{}a)", "(?P{}a)", "a*{}", "a+{}", "(?i){}", "(?x){}",
]  # fmt: skip


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="a few of these differ between versions of Python")
@pytest.mark.parametrize("place", PLACES)
def test_every_ascii_character(place):
    compared = 0
    for char in ASCII:
        pattern = place.format(char)
        compared += compare(pattern, [*ASCII, "", "ab", "a1", "aa", pattern, f"{char}1", f"a{char}", f"a{char}b"]) >= 0
    assert compared == 0 if place == "(?P{}a)" else compared >= 2


ODD = (
    "AaIiKkSs\u017f\u212a\u0130\u0131ßẞ\u212bÅåµ\u03bcΜςσΣǅǆǄΐ\u1fd3ΰ\u1fe3Éé0\u0663_ﬅﬆᾳᾼꭰᏸᲀвВ\u03d0βΒϑθϴΘ\u2126ωΩẛṡṠŉǰ"
)
SPACES = "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2028\u2029\u202f\u3000\u200b\ufeff"


@pytest.mark.parametrize("flags", ["", "i", "a", "ai"])
def test_letters_with_odd_cases(flags):
    texts = list(dict.fromkeys([*ODD, *[form for c in ODD for form in (c.upper(), c.lower(), c.casefold())]]))
    found = 0
    for char in ODD:
        for pattern in (
            char,
            f"[{char}]",
            f"[^{char}]",
            f"[{char}x]",
            f"[{char}-{chr(ord(char) + 2)}]",
            f"(?i:{char})",
        ):
            found += compare(pattern, texts, flags)
        found += compare(f"(?-i:{char})[^{char}]", [a + b for a in texts[:20] for b in texts[:20]], flags)
    assert found > len(ODD)


@pytest.mark.parametrize("flags", ["", "i", "a", "ai", "s", "m", "x"])
def test_categories_and_ranges(flags):
    blocks = [(0, 0x600), (0x1C80, 0x1CC0), (0x1E00, 0x2200), (0xAB30, 0xABC0), (0xFB00, 0xFB07), (0x1E900, 0x1E944)]
    texts = [*SPACES, *[chr(code) for first, last in blocks for code in range(first, last)]]
    for pattern in [
        r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", r"[\w]", r"[^\w]", r"[\W\d]", r"[^\s\d]", ".", r"\b.", r".\b", r"\B.",
        "[a-z]", "[^a-z]", "[A-Z]", "[j-l]", "[\u017e-\u0180]", "[\u0130-\u0131]", "[ß-ÿ]", "[Ͱ-Ͽ]", "[ﬀ-ﬆ]",
        r"[\x00-\x7f]", r"[^\d\D]",
        "(?a:\\w)\\b", "(?u:\\w)" if "a" not in flags else r"\w", r"^.$", r"\A.\Z",
    ]:  # fmt: skip
        compare(pattern, texts, flags)


_WITHOUT_BLANKS = r"""
(?P<1>a) (?P<a>a)(?P<a>b) (?P<é>a) (?i)a a(?i) (?i:a)(?-i:b) (?im-s:a.) (?-:a) (?i-i:a) (?a-a:x) (?u:\w) (?a:\w)
(?au:x) (?L)a (?Li)a (?s-:.) (?x:a#) (?x)a#c (?x)[#] (?x)a\#b (?x)a{2} a(?#)b a(?# (?#)) x{,2} x{,} x{2,1} x{0} x{0,0}
x{00002} x{2}{3} (?:x{2}){3} x** x*+ x++? x?+? x?? x+? x*? x{2}+ x{1,2}? x{1,2}?? x+* ^* \b* $+ (?=a)*a (?!a)?b
(?<=a)*b ()* (|a)* (a|)+ (?:)* []a] [^]a] [] [^] [a [a-] [-a] [a-b-c] [\d-x] [x-\d] [z-a] [[:alpha:]] [[a] [a&&b]
[a||b] [a--b] [a~~b] \0 \00 \012 \0123 \07 \08 \377 \400 [\0] [\1] [\12] [\400] [\8] \x4 \x41 \xg1 \u004 \u0041
\U00000041 \U00110000 \ud800 \N{nope} \N{} \N \a \f \v \e \c \cA \Q \z \G \h \R \X \K \_ \- \é \# \/ \" \\ [\\] [\]]
[\^a] [a^] (?>a|ab)c (?>) (?<=ab|c)d (?<=a|b)b (?<=a*)b (?<=(a))b (?<!ab)c (?<=^)a (?<=\b)a (?<=a\b)b? (?<a>b) (?'a'b)
(?|a|b) (?R) (?1) (?&a) (?P>a) (?C) (*FAIL) a{1,2 a{1,2}} a{a} { } {1} a|{1} | || a||b (|) (a a) (?:a (? (?P (?P<
(?P<a (?P<a> (?P= (?P=a (?< (?<= (?i (?i: (?- (?-i (?z) (?iz) (?i-z:a) (?-u:a) (?-a:a) (?i)(?-i:A)b ((?i)a) (?i)|a
|(?i)a (?x)(?i)a (?m)^a$\n^b$ \Ab\Z \A\Ab a\z (?(1)a|b) (?(a)b) \1 \9 (?P=a) a++ a?+ a*+a (?:a|ab){2}+ (?:a|ab)++b
(?s).\n (?m)a$\nb a$\n? (?:a|b)*?b a*?b*? (?=a)ab? (?!a)[ab] \bab\b a\Bb \B (a)\1 (?P<n>a)(?P=n) (a)?(?(1)b|c)
(?P<n>a)(?(n)b) (?<=(?=ab)a)b
"""
CONSTRUCTS = [
    *_WITHOUT_BLANKS.split(),
    r"\N{EM DASH}",
    r"[\N{DIGIT ZERO}-\N{DIGIT TWO}]",
    "(?x: a b )",
    "(?x) a # c",
    "(?x)a {2}",
    "(?x)a{ 2}",
    "(?x)a* ?",
    "(?x)a* +",
    "(?x)( ?:a)",
    "(?x)(? :a)",
    "(?x)[ #]",
    "(?x)a\\ b",
    " (?x)a",
    "(?x) (?i)a",
    "(?x)a#\n b",
    "(?x)a#",
]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="`re` of Python 3.10 has no atomic groups")
@pytest.mark.parametrize("flags", ["", "i", "x", "sm"])
def test_constructs(flags):
    letters = [
        "",
        *[a + b for a in ["", *"abAB-1_{}]\n\\\0"] for b in 'abcdxABX018{}[]()&|~:-#_\n\x07\x0c\x0b/"é—\xff'],
    ]
    texts = [
        *letters,
        "xxx",
        "x" * 6,
        "abc",
        "aab",
        "abab",
        "aba",
        "a{1,2",
        "a{1,2}",
        "a{a}",
        "{1}",
        "a\nb",
        "p]",
        "ap]",
        "A1",
    ]
    outcomes = [compare(pattern, texts, flags) for pattern in CONSTRUCTS]
    assert sum([outcome > 0 for outcome in outcomes]) > 80
    assert outcomes.count(-1) > 60
