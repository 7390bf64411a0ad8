"""For every feature of Lark's syntax that we read, we accept and refuse the same as Lark."""

from __future__ import annotations

import pytest

from earleymask.earley import Matcher
from earleymask.grammar import Grammar, GrammarError
from earleymask.trie import Vocabulary
from support.lark_oracle import assert_same, lark_accepts, lark_loads, lark_parser, strings, we_accept

# name: (grammar, alphabet, length); every string over the alphabet up to this length is compared.
SAME = {
    "alternatives": ('start: "a" | "b" "b" | "ab"', "ab", 3),
    "empty alternative": ('start: "a" | ', "ab", 2),
    "empty rule": ("start:", "a", 1),
    "empty only by option": ('start: ["a"]', "a", 3),
    "empty group": ('start: () "a"', "a", 3),
    "star": ('start: "a"* "b"', "ab", 4),
    "plus": ('start: "a"+ "b"+', "ab", 4),
    "question": ('start: "a"? "b" "a"?', "ab", 4),
    "brackets": ('start: ["a" "b"] ["b" | "a" "a"]', "ab", 5),
    "nested brackets": ('start: ["a" ["b" ["a"]]] "b"', "ab", 5),
    "group": ('start: ("a" | "b" "a") "b"', "ab", 4),
    "group star": ('start: ("a" | "b" "a")* "b"', "ab", 6),
    "group plus": ('start: ("a" | "b" "a")+', "ab", 5),
    "two options that can be the same": ('start: ["a"] ["a"] "b"', "ab", 4),
    "star of nullable": ('start: ("a"? "b"?)* "a"', "ab", 4),
    "plus of nullable": ('start: ("a" | )+ "b"', "ab", 4),
    "star of star": ('start: (("a"*)* "b")*', "ab", 4),
    "whole rule a list": ('start: item*\nitem: "a" | "b" "b"', "ab", 5),
    "whole rule a list of one": ('start: ("a" | "b" "b" | "a" "b")+', "ab", 5),
    "count": ('start: "a"~3', "a", 5),
    "count zero": ('start: "a"~0 "b"', "ab", 2),
    "count range": ('start: "a"~2..4', "a", 6),
    "count range with blanks": ('start: "a" ~ 2 .. 4', "a", 6),
    "count from zero": ('start: "a"~0..2 "b"', "ab", 4),
    "count of group": ('start: ("a" | "b" "a")~2..3', "ab", 6),
    "count of nullable": ('start: ("a" | )~2..3', "a", 5),
    "large count": ('start: "a"~60', "a", 62),
    "large count range": ('start: "a"~57..61', "a", 63),
    "large count from zero": ('start: "a"~0..70', "a", 72),
    "recursion on the left": ('start: start "a" | "b"', "ab", 5),
    "recursion on the right": ('start: "a" start | "b"', "ab", 5),
    "recursion in the middle": ('start: "a" start "b" | ', "ab", 6),
    "recursion through rules": ('start: x | "a"\nx: y "b"\ny: start "a" | "b"', "ab", 5),
    "hidden left recursion": ('start: opt start "a" | "b"\nopt: "b"?', "ab", 4),
    "cycle": ('start: start | x | "a"\nx: start | "b"', "ab", 2),
    "cycle through nullable": ('start: e start e | "a"\ne: "b" | ', "ab", 4),
    "same alternative twice": ('start: "a" | "a" | ("a") | "b"', "ab", 2),
    "unproductive alternative": ('start: "a" | x "b"\nx: x "a"', "ab", 3),
    "unreachable rule": ('start: "a"\nx: "b" y\ny: "a"', "ab", 2),
    "modifiers": ('?start: _x | y\n_x: "a"\n!y: "b" z\n!?z: "a"\n', "ab", 3),
    "aliases": ('start: "a" -> x\n | "b" "a" -> y | z\nz: "b" "b" -> start', "ab", 3),
    "alias of empty": ('start: -> nothing\n | "a" -> something', "a", 2),
    "priorities": ('start.2: A | B\nA.-3: "a"\nB.+1: "b" "a"', "ab", 3),
    "comments": ('// one\nstart: "a" // two\n # three\n  | "b" # four\n//five', "ab", 2),
    "comment signs inside": ('start: "a//b" | "#a" | /a#/ | /b\\/\\/b/', "ab#/", 4),
    "line breaks before bars": ('start:\n  | "a"\n\n\n  | ("b"\n | "a" "a")\n', "ab", 3),
    "line continued": ('start: "a" \\\n  "b"', "ab", 3),
    "carriage returns": ('start: "a"\r\n  | "b"\r\nx: "c"\r\n', "ab", 2),
    "no final line break": ('start: "a"', "ab", 2),
    "indented": ('  start: x\n\t x: "a"', "ab", 2),
    "literal": ('start: "aa"', "ab", 3),
    "literal i": ('start: "ab"i', "abAB", 3),
    "literal with escapes": (r'start: "\"" | "\\" | "\n" | "\x41" | "\u0042" | "\U00000043"', '"\\\nABCn', 2),
    "literal with other escapes": (r'start: "\d" | "\/" | "\."', "\\d/.", 2),
    "literal beyond ascii": ('start: "é" | "→"i | "😀"', "é→😀É", 2),
    "range": ('start: "b".."d" "b".."b"', "abcd", 3),
    "range of other characters": ('start: "\\x61".."c" | "^".."a" | "]".."_"', "abc^]_-", 2),
    "regexp": ("start: /[ab]c?/ /(ab)+/", "abc", 5),
    "regexp flags": ("start: /ab/i | /a.b/s | /c # d\n d/x", "aAbcd\n", 3),
    "regexp with a slash": (r"start: /a\/b/", "ab/", 3),
    "regexp with escapes": (r"start: /\x2eb/ | /a\x2bb/ | /\// | /\"/ | /\\\\/", 'ab+/"\\', 3),
    "regexp and lexeme overlap": ('start: A "b"\nA: /[ab]+/', "ab", 4),
    "same text two terminals": ('start: A B | C\nA: "a" | "ab"\nB: "ba" | "a"\nC: /a+/', "ab", 4),
    "ignored": ('start: "a" "b"\n%ignore " "', "ab ", 5),
    "ignored at both ends": ('start: "a"+\n%ignore /c+/', "ac", 5),
    "ignored and used": ('start: "a" " " "b"\n%ignore " "', "ab ", 5),
    "ignored expression": ('start: "a"*\n%ignore "b" | "c" "b"', "abc", 4),
    "ignored terminal": ('start: "a"*\n%ignore B\nB: "b" "c"?', "abc", 4),
    "two ignored": ('start: "a" "a"\n%ignore "b"\n%ignore "c"', "abc", 4),
    "ignored where only nothing is said": ('start:\n%ignore "b"', "ab", 3),
    "terminal of terminals": ('start: A+\nA: B "c" | C?  B\nB: "b"\nC: "a".."c"', "abc", 4),
    "terminal operators": ('start: A\nA: "a"~2..3 ("b" | "c")? ["c"] "a"~2 "b"*', "abc", 7),
    "terminal flags are scoped": ('start: A\nA: "a"i B /c/i "a"\nB: "b"', "abcABC", 4),
    "terminal bar is loose": ('start: A\nA: /a|b/ "c"', "abc", 3),
    "terminal bar is loose through a name": ('start: A\nA: "a" B "c"\nB: /a|b/', "abc", 4),
    "terminal bar in a choice": ('start: A\nA: ("c" | /a|b/) "c"', "abc", 4),
    "terminal piece is a quantifier": ('start: A "c"\nA: /a/ /+/ "b"', "abc", 5),
    "terminal with empty group": ('start: A\nA: () "a" ("b")', "ab", 3),
    "lazy alone": ("start: /a.*?b/", "abc", 5),
    "lazy composed": ('start: A\nA: "a" /.*?/ "b"', "abc", 5),
    "lazy beside sorted alternatives": ('start: A "b"\nA: ("a" | "ab" | "abb") /b*?/ "a"?', "ab", 6),
    "escaped string": ("start: ESCAPED_STRING\n%import common.ESCAPED_STRING", '"\\a', 5),
    "c comment": ("start: C_COMMENT+\n%import common.C_COMMENT", "/*a", 7),
    "c comment ignored": ('start: "a" "a"\n%ignore C_COMMENT\n%import common.C_COMMENT', "/*a", 6),
    "imports": ("start: INT WS? SIGNED_FLOAT\n%import common.INT\n%import common (SIGNED_FLOAT, WS)", "1-. ", 5),
    "import with alias": ("start: NUMMER\n%import common.NUMBER -> NUMMER", "1.e-", 5),
    "import beside a name of the library": ('start: NUMBER | DIGIT\nDIGIT: "x"\n%import common.NUMBER', "1x.", 3),
    "import from unicode": ("start: WS\n%import unicode.WS", " \xa0\n", 2),
    "import of a rule": ("start: name\n%import python.name", "aA_1é", 3),
    "named and anonymous": ('start: IF "if" | /if/ "x"\nIF: "if"', "ifx", 5),
    "names with digits": ('start: x1 A_1\nx1: "a"\nA_1: "b"', "ab", 3),
}


@pytest.mark.parametrize("name", SAME)
def test_same_language_as_lark(name: str) -> None:
    text, alphabet, length = SAME[name]
    if length > 7:
        sentences = [alphabet * n for n in range(length + 1)]
    else:
        sentences = list(strings(alphabet, length))
    assert_same(text, sentences)


def test_start_can_be_any_rule() -> None:
    text = 'start: x "b"\nx: "a" | "a" x'
    assert_same(text, strings("ab", 4), start="x")
    with pytest.raises(GrammarError, match="the start rule `y` is not defined"):
        Grammar.from_lark(text, start="y")
    with pytest.raises(GrammarError, match="the start symbol is a terminal"):
        Grammar.from_lark('start: A\nA: "a"', start="A")


# Grammars that Lark refuses, or fails on, and we accept: (grammar, sentences, other texts).
BEYOND_LARK = {
    "zero-width terminal": ('start: A "b"\nA: "a"*', ["b", "aab"], ["a", ""]),
    "zero-width regexp": ("start: /a*/ /b?/", ["", "aa", "aab", "b"], ["ba"]),
    "zero-width ignored": ('start: "a" "a"\n%ignore / */', ["aa", " a  a "], ["a"]),
    "alternatives that differ by alias": ('start: "a" -> x | "a" -> y', ["a"], [""]),
    "count in braces": ('start: "a"{2} "b"{1,2} "c"{0,1} ("a" "b"){,1}', ["aab", "aabbcab"], ["ab", "aabbb", "aabcc"]),
    "count in braces, open": ('start: "a"{2,} "b"{0,}', ["aa", "aaaab"], ["a", "ab"]),
    "count in braces in a terminal": ('start: A\nA: "a"{2,3} "b"{,2} "c"{1,}', ["aac", "aaabbcc"], ["ac", "aa"]),
    "hyphens in names": ('start: key-value | A-B? -> x\nkey-value.-1: "a"\nA-B: "b"~1..2', ["a", "b", "bb"], ["ab"]),
    "letters beyond ASCII": ('start: größe ÄÖ 数\ngröße: "a"\nÄÖ: "b"\n数: "c"', ["abc"], ["ab", "c"]),
    "empty strings": ('start: "a" "" | ""i | ("" | "b") "c"', ["", "a", "c", "bc"], ["b", "ac"]),
    "an empty string as an argument": ('start: t{""} | t{"b"}\nt{x}: x "a"', ["a", "ba"], ["", "b"]),
    "an empty string repeated": ('start: ""+ "a" ""~3', ["a"], ["", "aa"]),
    "an empty string in a rule that is a terminal": ('start[lazy]: "a" ("" | "b")', ["a"], ["", "ab"]),
    "one name imported twice": ("start: A B\n%import common.INT -> A\n%import common.INT -> B", ["12"], ["1"]),
}


@pytest.mark.parametrize("name", BEYOND_LARK)
def test_more_than_lark(name: str) -> None:
    text, sentences, others = BEYOND_LARK[name]
    assert not lark_loads(text)
    grammar = Grammar.from_lark(text)
    for sentence in sentences:
        assert we_accept(grammar, sentence), sentence
    for other in others:
        assert not we_accept(grammar, other), other


# Grammars that Lark loads and we refuse, on purpose: (grammar, a part of the message).
NARROWER_THAN_LARK = {
    "no sentence": ('start: start "a"', "no sentence"),
    "negative count": ('start: "a"~-1 "b"', "cannot repeat from -1 to -1"),
    "used and only declared": ('start: "a" | B\n%declare B', "`B` is only declared"),
}


@pytest.mark.parametrize("name", NARROWER_THAN_LARK)
def test_less_than_lark(name: str) -> None:
    text, message = NARROWER_THAN_LARK[name]
    lark_parser(text)
    with pytest.raises(GrammarError, match=message):
        Grammar.from_lark(text)


def test_ordered_alternatives_are_a_listed_difference() -> None:
    """`re` never tries `ab` here. For us a regexp without lazy parts is a set of texts, without an order."""
    text = "start: /a|ab/"
    assert not lark_accepts(lark_parser(text), "ab")
    assert we_accept(Grammar.from_lark(text), "ab")


def test_ignored_text_is_not_taken_greedily() -> None:
    """Lark's `%ignore` takes only the longest match, and so never reaches the `ab`."""
    text = "start: A\nA: /ab/\n%ignore /a+/"
    assert not lark_accepts(lark_parser(text), "aab")
    assert we_accept(Grammar.from_lark(text), "aab")


def test_special_tokens() -> None:
    assert not lark_loads("start: <|call|>")
    specials = {"<|call|>": 3, "</s>": 4}
    tokens = [b"a", b"b", b"<|call|>", b"", b""]
    vocabulary = Vocabulary.from_tokens(
        tokens, eos_token_id=4, special_tokens=specials, special_token_ids=specials.values()
    )
    grammar = Grammar.from_lark('start: "a" (<|call|> "b")* | "<|call|>" ')
    matcher = Matcher(grammar, vocabulary)
    assert matcher.accept(0) and not matcher.accept(1) and not matcher.accept(2) and matcher.accept(3)
    assert matcher.accept(1) and matcher.is_accepting()
    matcher.reset()
    assert not matcher.accept(3) and matcher.accept(2) and matcher.is_accepting()
