"""ECMA-262 patterns agree with tables derived from the standard by hand, and with node if it is installed."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess

import pytest

from earleymask.earley._regex import Regexes
from earleymask.earley.errors import LimitError
from earleymask.grammar.errors import RegexSyntaxError
from earleymask.grammar.regex import codepoints, parse_regex, whole_text
from earleymask.grammar.regex import ecma as regex_ecma
from earleymask.grammar.regex.lower import lower


def matcher(pattern: str, flags: str = "", search: bool = False):
    regexes = Regexes()
    root = lower(whole_text(parse_regex(pattern, "ecma", flags), search), regexes)
    return lambda text: regexes.matches(root, text.encode())


# (pattern, flags, texts that match as a whole, texts that do not)
CASES = [
    ("abc", "", ["abc"], ["ab", "abcd", ""]),
    ("a|b|", "", ["a", "b", ""], ["ab"]),
    (r"\d+", "", ["0", "123"], ["\u0663", "a", ""]),
    (r"\D", "", ["\u0663", "a"], ["0"]),
    (r"\w+", "", ["aZ_9"], ["é", "-"]),
    (r"\W", "", ["é", "-"], ["a", "_"]),
    (r"\w", "i", ["\u017f", "\u212a", "k"], ["é"]),
    (r"\s", "", [" ", "\t", "\u00a0", "\ufeff", "\u2028", "\u3000"], ["\u200b", "\u180e", "a", "\x1c"]),
    (r"\S", "", ["\x1c", "\u200b"], [" ", "\ufeff"]),
    (".", "", ["a", "\U0001f600", "\x85"], ["\n", "\r", "\u2028", "\u2029", "ab"]),
    (".", "s", ["a", "\n", "\u2028"], [""]),
    (r"\cA\cz", "", ["\x01\x1a"], ["cA"]),
    (r"\x41\u0042\u{43}\u{1F600}", "", ["ABC\U0001f600"], ["ABC"]),
    (r"\uD83D\uDE00", "", ["\U0001f600"], [""]),
    (r"[\uD83D\uDE00-\uD83D\uDE05]", "", ["\U0001f600", "\U0001f605"], ["\U0001f606"]),
    (r"[\u{1F600}-\u{1F605}x]", "", ["\U0001f602", "x"], ["\ud7ff"]),
    (r"\uD83D", "", [], ["\U0001f600", ""]),
    (r"\/\.\*\\", "", ["/.*\\"], [""]),
    (r"\-\_\@\ \#\,", "", ["-_@ #,"], [""]),
    (r"[\-\]\\\b]", "", ["-", "]", "\\", "\b"], ["b"]),
    (r"\t\n\v\f\r\0", "", ["\t\n\v\f\r\0"], [""]),
    ("[]", "", [], ["", "a"]),
    ("[^]", "", ["a", "\n", "\U0001f600"], ["", "ab"]),
    ("[^]*", "", ["", "a\nb"], []),
    ("[]a]", "", [], ["a]", "]"]),
    ("[a-c-e]", "", ["a", "-", "e"], ["d"]),
    (r"[\w-.]", "", ["a", "-", "."], ["/"]),
    (r"[^\W_]", "", ["a", "1"], ["_", "é"]),
    ("(?<year>[0-9]{4})-(?:x)", "", ["2026-x"], ["206-x"]),
    ("a{2}b{1,}c{0,1}", "", ["aab", "aabbc"], ["ab", "aabcc"]),
    ("a{,2}", "", ["a{,2}"], ["aa"]),
    ("x{a}]}", "", ["x{a}]}"], []),
    ("(?=a)[ab]b", "", ["ab"], ["bb"]),
    ("(?!a)[ab]b", "", ["bb"], ["ab"]),
    ("[ab]*(?<=ab|b)", "", ["ab", "b"], ["a", ""]),
    ("[ab]*(?<=(?<=a+)b)", "", ["ab", "baab"], ["b", "bb", "ba"]),
    ("[ab]*(?<!a+b)", "", ["", "b", "a"], ["ab", "aab"]),
    (r"(?=a)*b", "", ["b"], [""]),
    (r"\bab\b", "", ["ab"], ["a b"]),
    (r"é\b-|é\Ba", "", [], ["é-", "éa"]),
    ("^ab$", "", ["ab"], ["ab\n"]),
    ("a$\n^b", "m", ["a\nb"], ["ab"]),
    ("a$\u2028^b", "m", ["a\u2028b"], []),
    (r"\p{L}+", "", ["aé中"], ["1", "_"]),
    (r"\p{Lu}\p{Script=Greek}\P{L}[\p{Nd}_]", "", ["Aα-1", "Éω__"], ["aα-1", "Aa-1"]),
    (r"\p{General_Category=Decimal_Number}\p{ASCII_Hex_Digit}", "", ["\u0663f"], ["\u0663g"]),
    (r"\p{Script_Extensions=Greek}\p{scx=Arab}", "", ["α\u0660", "\u0342\u060c"], ["a\u0660", "αa", "\u0660\u0660"]),
    (r"[\p{L}-]+[-\p{L}]", "", ["a--", "-a"], ["1-", "a1"]),
    (r"\p{Lowercase}\p{Uppercase}\p{White_Space}\p{Any}", "", ["aA x"], ["Aa x"]),
    (r"\p{Ll}[^\p{Lu}]", "i", ["a4", "A#"], ["aa", "aA", "4a"]),
    (r"\P{Lu}[\P{Ll}]", "i", ["aA", "Aa", "4#"], [""]),  # the complement of Lu has "a", and so "A" without case
    (r"[^\P{Ll}]", "i", [], ["a", "A", "4"]),
    ("straße", "i", ["STRAßE", "straẞe"], ["STRASSE"]),
    ("[k-l]", "i", ["K", "\u212a", "L"], ["j"]),
    ("i", "i", ["i", "I"], ["\u0130", "\u0131"]),
    ("[^k]", "i", ["l"], ["K", "\u212a", "k"]),
    ("a??b*?", "", ["", "a", "ab", "bb"], ["ba"]),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "flags", "yes", "no"), CASES)
def test_what_a_pattern_means(pattern, flags, yes, no):
    matches = matcher(pattern, flags)
    assert [text for text in yes if not matches(text)] == []
    assert [text for text in no if matches(text)] == []


def test_search_is_unanchored():
    for pattern, yes, no in [
        ("b", ["b", "abc", "\nb"], ["ac", ""]),
        ("^b", ["b", "bc"], ["ab", "\nb"]),
        ("b$", ["b", "ab"], ["ba", "b\n"]),
        ("^b$", ["b"], ["ab", "ba", "b\n"]),
        ("^a|b$", ["a", "ax", "xb"], ["xa", "bx"]),
        ("^(?:a|b)$|^$", ["a", "b", ""], ["ab"]),
        ("", ["", "a"], []),
        (r"\bif\b", ["if", "x if y"], ["iff", "xif"]),
        ("(?<!x)a", ["a", "ya"], ["xa"]),
        ("a(?!x)", ["a", "ay"], ["ax"]),
    ]:
        matches = matcher(pattern, search=True)
        assert [text for text in yes if not matches(text)] == [], pattern
        assert [text for text in no if matches(text)] == [], pattern


def test_anchored_patterns_are_plain_regexes():
    """A search for `^...$` needs no program, so strings of JSON Schema share their parts with others."""
    for pattern in ("^[a-z]+$", "^(?:a|bc)*$", "^(?:ab|c)$", "^(a|b){2,5}$"):
        regexes = Regexes()
        root = lower(whole_text(parse_regex(pattern, "ecma"), search=True), regexes)
        assert root == lower(parse_regex(pattern[1:-1], "ecma"), regexes)


# (pattern, position, what the message names)
REFUSED = [
    ("(", 0, "unterminated group"),
    ("a)", 1, "unbalanced"),
    ("*a", 0, "nothing to repeat"),
    ("a|{2}", 2, "nothing to repeat"),
    ("a**", 2, "multiple repeat"),
    ("a*+", 2, "multiple repeat"),
    ("^*", 1, "nothing to repeat"),
    (r"\b+", 2, "nothing to repeat"),
    ("(?<=a)*", 6, "nothing to repeat"),
    ("a{3,2}", 1, "min repeat greater"),
    ("[a", 0, "unterminated character class"),
    ("[b-a]", 1, "bad character range"),
    ("a\\", 1, "end of the pattern"),
    (r"x[\p{L}--a]", 2, r"bad character range \p{L}--: an end is a set"),
    (r"[a\p{L}-z]", 2, r"bad character range \p{L}-z"),
    (r"[a-\P{L}]", 1, r"bad character range a-\P{L}"),
    (r"[\d-\p{L}]", 1, r"bad character range \d-\p{L}"),
    (r"[\w--_]", 1, r"bad character range \w--"),
    (r"a\x4", 1, "incomplete escape"),
    (r"a\u004", 1, "incomplete escape"),
    (r"a\u{110000}", 1, "beyond U+10FFFF"),
    (r"a\c1", 1, "needs a letter"),
    (r"a\01", 1, "octal"),
    (r"(a)\1", 3, "backreferences are not supported"),
    (r"(?<x>a)\k<x>", 7, "backreferences are not supported"),
    (r"\p{Foo}", 0, "unknown property"),
    (r"\pL", 0, "needs a property name"),
    ("(?P<x>a)", 0, "unknown group"),
    ("(?>a)", 0, "unknown group"),
    ("(?i)a", 0, "unknown group"),
    ("(?<x>a)(?<x>b)", 7, "redefinition"),
]


@pytest.mark.parametrize(("pattern", "position", "named"), REFUSED)
def test_refused_with_its_place(pattern, position, named):
    with pytest.raises(RegexSyntaxError) as caught:
        parse_regex(pattern, "ecma", offset=10)
    assert named in caught.value.message
    assert caught.value.position == 10 + position


def test_limits_flags_and_dialects():
    with pytest.raises(LimitError, match="repetition count"):
        parse_regex("a{99999999999}", "ecma")
    with pytest.raises(LimitError, match="nested deeper"):
        parse_regex("(" * 1000, "ecma")
    with pytest.raises(RegexSyntaxError, match="unknown flag 'g'"):
        parse_regex("a", "ecma", "g")
    with pytest.raises(ValueError, match="use one of: python, ecma"):
        parse_regex("a", "posix")


NODE = shutil.which("node")
needs_node = pytest.mark.skipif(
    NODE is None or not os.environ.get("EARLEYMASK_NODE"), reason="set EARLEYMASK_NODE=1, with node installed"
)


def node(script: str, data: object) -> object:
    assert NODE is not None
    read = "const data = JSON.parse(require('fs').readFileSync(0, 'utf8'));"
    done = subprocess.run(
        [NODE, "-e", read + script], input=json.dumps(data), capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@needs_node
def test_the_tables_are_what_node_says():
    wanted = [
        [pattern, flags, yes + no]
        for pattern, flags, yes, no in CASES
        # Under `u` Annex B does not apply, and node refuses these.
        if pattern not in (r"\-\_\@\ \#\,", "a{,2}", "x{a}]}", r"[\w-.]", r"(?=a)*b", "[]a]")
    ]
    script = """console.log(JSON.stringify(data.map(([p, f, ts]) => {
        const r = new RegExp('^(?:' + p + ')$(?![^])', f.replace('m', '') + 'u'), q = new RegExp(p, f + 'uy');
        return ts.map(t => { if (!f.includes('m')) return r.test(t);
            q.lastIndex = 0; const m = q.exec(t); return m !== null && m[0].length == t.length; });
    })))"""
    for (pattern, flags, texts), answers in zip(wanted, node(script, wanted), strict=True):
        matches = matcher(pattern, flags)
        assert [matches(text) for text in texts] == answers, (pattern, texts)


@needs_node
def test_random_patterns_against_node():
    rng = random.Random(0)
    atoms = ["a", "b", "[ab]", "[^a]", ".", r"\w", r"\s", r"\b", r"\B", "^", "$", "é", r"\p{L}", "[^]", r"\u{61}", "A"]

    def pattern(depth: int) -> str:
        if not depth or rng.random() < 0.25:
            return rng.choice(atoms)
        kind = rng.randrange(6)
        if kind < 2:
            return pattern(depth - 1) + pattern(depth - 1)
        if kind == 2:
            return f"(?:{pattern(depth - 1)}|{pattern(depth - 1)})"
        if kind == 3:
            return f"(?:{pattern(depth - 1)}){rng.choice(['*', '+?', '?', '{2}', '{1,2}'])}"
        return f"(?{rng.choice(['=', '!', '<=', '<!'])}{pattern(depth - 1)})"

    texts = ["", "a", "b", "ab", "ba", "aab", "a b", " ", "é", "aé", "\n", "a\n", "A", "bab", "abab", "b a"]
    asked = [[pattern(4), rng.choice(["", "i", "s"])] for _ in range(1500)]
    script = """console.log(JSON.stringify(data[0].map(([p, f]) => { const r = new RegExp(p, f + 'u');
        return data[1].map(t => r.test(t)); })))"""
    refused = 0
    for (text, flags), answers in zip(asked, node(script, [asked, texts]), strict=True):
        try:
            matches = matcher(text, flags, search=True)
        except (RegexSyntaxError, LimitError) as error:
            if (
                isinstance(error, RegexSyntaxError)
                and "lookahead inside a lookbehind looks beyond" not in error.message
            ):
                raise
            refused += 1
            continue
        assert [matches(each) for each in texts] == answers, (text, flags)
    assert refused < len(asked) // 5


@needs_node
def test_case_folding_is_that_of_node():
    """All cased code points that the running Python knows, too, fold alike."""
    cased = [
        code
        for code in range(0x110000)
        if not 0xD800 <= code < 0xE000 and not chr(code).lower() == chr(code).upper() == chr(code)
    ]
    script = """const all = data.map(c => String.fromCodePoint(c)).join('');
        console.log(JSON.stringify(data.map(c => (all.match(new RegExp('\\\\u{' + c.toString(16) + '}', 'giu')) || [])
            .map(x => x.codePointAt(0)))))"""
    for code, answer in zip(cased, node(script, cased), strict=True):
        ours = regex_ecma.fold(((code, code),))
        newer = [other for other in answer if not codepoints.contains(ours, other)]
        assert not newer or all(len(codepoints.fold_char(other, False)) == 1 for other in [code, *newer]), hex(code)
        for first, last in ours:
            assert set(range(first, last + 1)) <= set(answer), hex(code)
