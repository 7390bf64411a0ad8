"""Templates agree with Lark on all short strings, and mistakes in them are refused."""

from __future__ import annotations

import time

import pytest

from earleymask import Grammar, GrammarError, LimitError
from support.lark_oracle import assert_same, lark_loads, strings, we_accept

# name: (grammar, alphabet, length)
SAME = {
    "rule": ("start: twice{x}\ntwice{a}: a a\nx: /[ab]/", "ab", 3),
    "terminal": ('start: twice{X}\ntwice{a}: a "b" a\nX: "a"', "ab", 4),
    "literal": ('start: twice{"a"} | twice{"b"i}\ntwice{a}: a a', "abB", 3),
    "regexp": ("start: twice{/a+/}\ntwice{a}: a /b/ a", "ab", 5),
    "range": ('start: twice{"a".."b"}\ntwice{a}: a "c" a', "abc", 4),
    "several": ('start: sep{x, ","}\nsep{item, mark}: item (mark item)*\nx: "a" | "b"', "ab,", 5),
    "order of arguments": ('start: t{"a", "b"} | t{"b", "a"} "c"\nt{x, y}: x y y', "abc", 4),
    "recursive": ('start: _sep{x, ","}\n_sep{x_, s}: x_ | _sep{x_, s} s x_\nx: "a"', "a,", 6),
    "mutually recursive": ('start: p{"a"}\np{x}: x | x q{x}\nq{x}: "b" p{x}', "ab", 6),
    "swapping": ('start: p{"a", "b"}\np{x, y}: x | x p{y, x}', "ab", 6),
    "template as argument": ('start: twice{pair{"a", "b"}}\ntwice{x}: x x\npair{x, y}: x | y y', "ab", 5),
    "template by name": ('start: apply{pair, "a"}\napply{f, x}: f{x} "b"\npair{x}: x x', "ab", 4),
    "operators": ('start: t{"a"}\nt{x}: x* "b" x+ ["c" x] x~2', "abc", 6),
    "alternatives and aliases": ('start: t{"a"}\nt{x}: x -> one\n  | x "b" -> two\n  |', "ab", 3),
    "modifiers": ('start: t{"a"} u{"b"} v{"a"}\n?t{x}: x | x x\n!u{x}: x\n_v{x}: x\nv{x}: _v{x}', "ab", 5),
    "priority": ('start: t{"a"}\nt{x}.2: x "b"', "ab", 3),
    "counted": ('start: t{"a"}~2 t{"b"}?\nt{x}: x x', "ab", 7),
    "blanks": ('start: t { "a" , "b" }\nt { x , y } : x y', "ab", 3),
    "parameter not used": ('start: t{"a"} | t{"b"}\nt{x}: "c"', "abc", 2),
    "template not used": ('start: "a"\nt{x}: x x', "a", 3),
    "name of a count": ('start: "a"~2 t{"b"}\nt{x}: x~1..2', "ab", 5),
    "ignored": ('start: t{"a"}\nt{x}: x "," x\n%ignore " "', "a, ", 5),
    "of the library": ("start: cs_list{X}\nX: /[ab]/\n%import python.cs_list", "ab,", 4),
    "of the library, inlined": ('start: _cs_list{"a"} "b"\n%import python._cs_list', "ab,", 5),
    "extended": ('start: t{"a"}\nt{x}: x x\n%extend t{x}: "b" x', "ab", 4),
    "overridden": ('start: t{"a"}\nt{x}: x x\n%override t{y}: "b" y', "ab", 4),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_same_language_as_lark(name: str) -> None:
    text, alphabet, length = SAME[name]
    assert_same(text, strings(alphabet, length))


def test_arguments_may_be_expressions() -> None:
    """Lark allows one name or literal; here, any expression means a rule that consists of it."""
    text = 'start: sep{"a" | "b" "c"?, (",")}\nsep{x, s}: x (s x)*'
    written_out = 'start: x ("," x)*\nx: "a" | "b" "c"?'
    assert not lark_loads(text)
    ours, theirs = Grammar.from_lark(text), Grammar.from_lark(written_out)
    for sentence in strings("abc,", 4):
        assert we_accept(ours, sentence) == we_accept(theirs, sentence), sentence
    empty = Grammar.from_lark('start: t{(), "a"*}\nt{x, y}: x "b" y')
    assert [s for s in strings("ab", 3) if we_accept(empty, s)] == ["b", "ba", "baa"]


# name: (grammar, line, column, message, hint)
REFUSED = {
    "too few": ('start: t{"a"}\nt{x, y}: x y', 1, 8, "`t`: 1 instead of 2", "t{x, y}"),
    "too many": ('start: t{"a", "b"}\nt{x}: x', 1, 8, "`t`: 2 instead of 1", None),
    "wrong number where nothing reaches": ('start: "a"\ny: t{"a", "b"}\nt{x}: x', 2, 4, "`t`: 2 instead of 1", None),
    "wrong number in a template": ('start: u{"a"}\nu{x}: t{x, x}\nt{x}: x', 2, 7, "`t`: 2 instead of 1", None),
    "not defined": ('start: tt{"a"}\nttt{x}: x', 1, 8, "template `tt` is not defined", "did you mean ttt?"),
    "argument not defined": ("start: t{yy}\nt{x}: x", 1, 10, "rule `yy` is not defined", None),
    "argument not defined, unused": ('start: "a"\nz: t{yy}\nt{x}: x', 2, 6, "rule `yy` is not defined", None),
    "undefined in a template": ('start: "a"\nt{x}: x yy', 2, 9, "rule `yy` is not defined", None),
    "no template": ('start: y{"a"}\ny: "b"', 1, 8, "`y` is a rule, not a template", "remove the braces"),
    "argument twice": ('start: t{"a", "b"}\nt{x, x}: x', 2, 6, "there are two parameters `x`", None),
    "shadows a rule": ('start: t{"a"}\nt{x}: x\nx: "b"', 2, 1, "parameter `x` of `t` has the name of a rule", None),
    "terminal": ('start: A\nA{x}: x', 2, 2, "terminals have no parameters", None),
    "in a terminal": ('start: A\nA: t{"a"}\nt{x}: x', 2, 4, "rule `t` cannot be inside a terminal", None),
    "use of a terminal": ('start: A{"a"}\nA: "a"', 1, 9, "only a rule can be a template", None),
    "never closed": ('start: t{"a"\nt{x}: x', 1, 9, "`{` is never closed", None),
    "empty argument": ('start: t{"a",}\nt{x, y}: x y', 1, 14, "an argument of the template is expected", "()"),
    "empty": ("start: t{}\nt{x}: x", 1, 10, "an argument of the template is expected", None),
    "upper case parameter": ('start: t{"a"}\nt{X}: X', 2, 3, "a parameter, a name in lower case", None),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused_as_lark_does(name: str) -> None:
    text, line, column, message, hint = REFUSED[name]
    assert not lark_loads(text)
    with pytest.raises(GrammarError) as caught:
        Grammar.from_lark(text)
    assert message in caught.value.message
    assert (caught.value.line, caught.value.column) == (line, column), str(caught.value)
    assert hint is None or hint in (caught.value.hint or "")


def test_templates_that_stand_alone_are_refused() -> None:
    """Lark loads the first two, and fails later, when it parses."""
    for text, message in (
        ('start: t\nt{x}: x "a"', "`t` is a template"),
        ('start: t{"a"}\nt{x}: x u\nu{x}: x', "`u` is a template"),
        ("start: t{u}\nt{x}: x\nu{x}: x", "`x` is the template `u` here"),
        ('start: t{"a"}\nt{x}: x{"b"}', "the argument for `x` is not a template"),
        ('t{x}: x "a"', "the start rule `t` is a template"),
    ):
        with pytest.raises(GrammarError, match=message):
            Grammar.from_lark(text, start="t" if text[0] == "t" else "start")


@pytest.mark.parametrize(
    "text",
    [
        'start: grow{"a"}\ngrow{x}: x | grow{pair{x}}\npair{x}: x x',
        'start: grow{"a"}\ngrow{x}: x | grow{(x x)}',
        'start: grow{"a", "b"}\ngrow{x, y}: x | grow{(x y), (y x)} grow{x, (x x)}',
        'start: grow{pair, "a"}\ngrow{f, x}: x | grow{f, f{x}}\npair{x}: x x',
    ],
)
def test_growing_templates_come_to_a_limit(text: str) -> None:
    begun = time.process_time()
    message = "templates have more than 10000 different lists of arguments, here for `grow`"
    with pytest.raises(LimitError, match=message) as caught:
        Grammar.from_lark(text)
    assert isinstance(caught.value, GrammarError) and caught.value.line == 2
    assert time.process_time() - begun < 10


def test_a_template_is_made_once_for_the_same_arguments() -> None:
    text = "start: " + " ".join(f't{{x{i % 3}, ","}}' for i in range(300)) + "\nt{x, s}: x (s x)*\n"
    text += "".join(f'x{i}: "{i}"\n' for i in range(3))
    assert Grammar.from_lark(text).stats()["symbols"] < 40


def test_unused_templates_are_named() -> None:
    warnings = Grammar.from_lark('start: t{"a"}\nt{x}: x\nu{x}: x y\ny: "b"').warnings
    assert [(w.line, w.message) for w in warnings] == [
        (3, "template `u` is not used"),
        (4, "rule `y` is not reached from `start`"),
    ]
