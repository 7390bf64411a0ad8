"""Errors of faulty grammars have the right message, place and hint, and Lark refuses these grammars, too."""

from __future__ import annotations

import pickle
import time
from typing import Any

import pytest

from earleymask.earley import LimitError, Limits
from earleymask.grammar import Grammar, GrammarError
from support.lark_oracle import lark_loads

# name: (grammar, line, column, part of the message, part of the hint or None)
REFUSED_BY_BOTH = {
    "undefined rule": ('start: valeu\nvalue: "a"', 1, 8, "rule `valeu` is not defined", "did you mean value?"),
    "undefined terminal": ('start: x\nx: "a" NUM\nNUMB: "1"', 2, 8, "terminal `NUM` is not defined", "NUMB"),
    "undefined in an unreached rule": ('start: "a"\nb: "x" c', 2, 8, "rule `c` is not defined", "define it"),
    "undefined in an unused terminal": ('start: "a"\nB: "x" C', 2, 8, "terminal `C` is not defined", None),
    "undefined common": ("start: ESCAPED_STRING", 1, 8, "not defined", "%import common.ESCAPED_STRING"),
    "undefined ignored": ('start: "a"\n%ignore  WS', 2, 10, "terminal `WS` is not defined", "%import common.WS"),
    "mixed case used": ('start: fooBar\nfoobar: "a"', 1, 8, "`fooBar` mixes lower and upper case", "lower case"),
    "mixed case defined": ('start: "a"\nFooBar: "b"', 2, 1, "`Foo`", None),
    "rule twice": ('start: "a"\nstart: "b"', 2, 1, "`start` is defined more than once", None),
    "terminal twice": ('start: A\nA: "a"\n\nA: "b"', 4, 1, "`A` is defined more than once", None),
    "imported and defined": ('%import common.INT\nstart: INT\nINT: "1"', 3, 1, "imported and defined", None),
    "no colon": ('start "a"', 1, 7, "a colon is expected after `start`", "name: ..."),
    "no colon at line end": ('start: "a"\nfoo\n', 2, 1, "no colon after `foo`", None),
    "equals sign": ('start = "a"', 1, 7, "a colon is expected after `start`", "name: ..."),
    "two colons": ('start:: "a"', 1, 6, "`::` cannot be defined", "name::_"),
    "two definitions on a line": ('start: a b: "x"', 1, 11, "a definition begins inside another one", "`|`"),
    "continued without bar": ('start: "a"\n  "b"', 2, 3, "is expected here, but there is `\"b\"`", "`\\`"),
    "bar before everything": ('\n | "a"\nstart: "b"', 1, 1, "the next line begins with `|`", None),
    "operator twice": ('start: "a"+?', 1, 12, "`?` follows another operator", "parentheses"),
    "operator first": ('start: * "a"', 1, 8, "nothing before `*`", None),
    "question before a name": ('start: "a"?b\nb: "x"', 1, 11, "modifier", "a blank after it"),
    "exclamation": ('start: "a" !', 1, 12, "unexpected character '!'", "directly before the name"),
    "group never closed": ('start: ("a" | [ "b"\nx: "c"', 1, 15, "`[` is never closed", "`|`"),
    "group closed wrongly": ('start: ("a" ]', 1, 13, "`]` closes no open group", None),
    "group closed too often": ('start: "a" ) "b"', 1, 12, "`)` closes no open group", None),
    "string never closed": ('start: "a" "b\nx: "c"', 1, 12, "does not end on its line", "\\\\"),
    "string of a backslash": ('start: "\\"', 1, 8, "does not end on its line", "\\\\"),
    "regexp never closed": ("start: /a\\/ b", 1, 8, "does not end", "\\/"),
    "regexp over lines": ('start: "a" /a\nb/', 1, 14, "contains a line break", "flag x"),
    "empty string": ('start: A\nA: "a" ""', 2, 8, "a terminal cannot consist of an empty string", "`?`"),
    "empty string ignored": ('start: "a"\n%ignore ""', 2, 9, "a terminal cannot consist of an empty string", None),
    "bad hexadecimal": ('start: "ab\\x4g"', 1, 11, "`\\x` needs 2", None),
    "bad unicode escape": ('start: /\\u123/', 1, 9, "`\\u` needs 4", None),
    "beyond unicode": ('start: "\\U00110000"', 1, 9, "there is no such character", None),
    "nul": ('start: "a\0b"', 1, 10, "NUL", "\\x00"),
    "single quotes": ("start: 'a'", 1, 8, "unexpected character \"'\"", "double quotes"),
    "semicolon": ('start: "a";', 1, 11, "unexpected character ';'", "no semicolons"),
    "comma": ('start: "a", "b"', 1, 11, "no comma is allowed", "blanks"),
    "name beyond ascii": ('start: "a"\nst§rt: "b"', 2, 3, "unexpected character '§'", None),
    "byte order mark": ('\ufeffstart: "a"', 1, 1, "unexpected character", "utf-8-sig"),
    "double underscore": ('start: __x\n', 1, 8, "unexpected character '_'", "one underscore"),
    "priority without number": ('start.x: "a"', 1, 7, "a priority, a number, is expected", None),
    "count without number": ('start: "a"~ | "b"', 1, 13, "a count, a number, is expected", None),
    "count upside down": ('start: "a" "b"~3..2', 1, 15, "from 3 to 2 times", "smaller count first"),
    "count upside down in a terminal": ('start: A\nA: "b"~3..2', 2, 7, "from 3 to 2 times", None),
    "range without end": ('start: "a"..b', 1, 13, "a range ends with a string", '"a".."z"'),
    "range of more": ('start: "x" "ab".."c"', 1, 12, "a single character", None),
    "range with flags": ('start: "a"i.."c"', 1, 8, "cannot have flags", None),
    "range upside down": ('start: "z".."a"', 1, 8, "the range from", "exchange"),
    "alias in upper case": ('start: "a" -> X', 1, 15, "an alias, a name in lower case", None),
    "alias in a group": ('start: ("a" -> x) "b"', 1, 13, "follows a whole alternative", None),
    "alias followed": ('start: "a" -> x "b"', 1, 17, "should end after its alias", "`|`"),
    "alias in a terminal": ('start: A\nA: "a" -> x', 2, 8, "terminals have no aliases", None),
    "alias in an inlined rule": ('start: _x\n_x: "a" -> y', 2, 9, "begins with an underscore", None),
    "modifier of an inlined rule": ('start: _x\n?_x: "a"', 2, 1, "cannot have the modifier `?`", "remove"),
    "both modifiers of an inlined rule": ('start: _x\n!?_x: "a"', 2, 1, "cannot have the modifier `?`", "remove"),
    "the same the other way round": ('start: _x\n?!_x: "a"', 2, 1, "cannot have the modifier `?`", "remove"),
    "modifier and a blank": ('? start: "a"', 1, 1, "but there is `?`", "blank"),
    "empty terminal": ('start: A\n\nA:', 3, 1, "terminal `A` is empty", None),
    "recursive terminal": ('start: A\nA: "x" B\nB: "y" | A', 3, 10, "terminal `A` contains itself", "rules"),
    "rule in a terminal": ('start: A\nA: "x" start', 2, 8, "rule `start` cannot be inside a terminal", None),
    "rule ignored": ('start: "a"\n%ignore start', 2, 9, "rule `start` cannot be inside a terminal", None),
    "nothing ignored": ('start: "a"\n%ignore', 2, 1, "names nothing to ignore", "%ignore WS"),
    "nothing imported": ('start: "a"\n%import common', 2, 1, "names nothing to import", "%import common.NAME"),
    "library unknown": ('start: X\n%import nowhere.X', 2, 1, "there is no library `nowhere`", "common"),
    "name unknown in library": ('start: WHITE\n%import common.WHITE', 2, 1, "has no `WHITE`", None),
    "import over lines": ("start: INT\n%import common (INT,\n WS)", 2, 21, "a name is expected here", None),
    "import with more": ('start: "a"\n%import common.INT INT', 2, 20, "the line should end here", None),
    "alias of import in lower case": ("start: int\n%import common.INT -> int", 2, 23, "upper case", None),
    "directive unknown": ('start: "a"\n%frobnicate x', 2, 1, "`%frobnicate` is not a directive", "%ignore"),
    "directive with an underscore": ('start: "a"\n%grammar_options {"a": 1}', 2, 1, "`%grammar_options`", None),
    "directive in upper case": ('start: "a"\n%Ignore " "', 2, 1, "`%Ignore` is not", "did you mean %ignore?"),
    "directive that begins like a block": ('start: "a"\n%json_schema {}', 2, 1, "`%json_schema` is not", None),
    "the same in a rule": ('start: "a" %json_schema {}', 1, 12, "`%json_schema` is not a directive", None),
    "rule declared": ("start: a\n%declare A a", 2, 12, "`a` is a rule, and only terminals can be declared", "@name"),
    "directive inside": ('start: "a" %ignore', 1, 12, "must begin a line", None),
    "flag l": ("start: /a/l", 1, 11, "flag `l`", None),
    "bad regexp": ('start: "a" /b(c/', 1, 14, "", None),
    "bad regexp in a terminal": ('start: A\nA: "a" /b[c/ "d"', 2, 10, "", None),
    "bad regexp after escapes": ('start: /\\x41\\u0042(c/', 1, 19, "", None),
    "bad regexp only together": ('start: A\nA: /a{2/ /}{3}/', 2, 4, "in the composed pattern /a{2}{3}/", None),
    "special token in a terminal": ('start: A\nA: "a" <|x|>', 2, 8, "inside a terminal", "in a rule"),
    "special token ignored": ('start: "a"\n%ignore <|x|>', 2, 9, "inside a terminal", "in a rule"),
    "special token ignored by name": ('start: "a"\nA: <|x|>\n%ignore A', 3, 9, "where it is `A`", None),
    "special token in a terminal by name": ('start: "a" B\nA: <|x|>\nB: "b" A', 3, 8, "inside a terminal", "in a rule"),
    "%json without braces": ("start: %json true", 1, 8, "`%json` has no braces after it", "write `name: %json {...}`"),
    "%regex without braces": ('start: "a" %regex /b/', 1, 12, "`%regex` has no braces after it", "%regex {...}"),
    "%lark without braces": ('start: "a"\n%lark start', 2, 1, "`%lark` has no braces after it", "%lark {...}"),
    "special token with a blank": ('start: <|a b|>', 1, 8, "unexpected character '<'", "without blanks"),
    "nothing": ("", None, None, "the grammar has no rules", "start: ..."),
    "only comments": ("// nothing\n\n", None, None, "the grammar has no rules", None),
    "only terminals": ('A: "a"', None, None, "no rules", None),
    "other start": ('begin: "a"', None, None, "the start rule `start` is not defined", "'begin'"),
    "other start, not a template": ('t{x}: x\nbegin: t{"a"}', None, None, "`start` is not defined", "'begin'"),
    "only templates": ("starts{x}: x", None, None, "`start` is not defined", "define it: `start: ...`"),
}  # fmt: skip

# Lark has these, and we do not (docs/lark.md): each is refused by its name.
REFUSED_BY_US = {
    "lookbehind out of the terminal": ("start: /(?<!a)b/", 1, 9, "the text before the terminal", None),
    "long lookahead out of the terminal": ('start: /a(?=b*c)/ "bc"', 1, 10, "more than 64 characters beyond", None),
    "backreference": ("start: /(a|b)\\1/", 1, 14, "backreference", "repeat the pattern"),
    "name of nowhere": ('start: "a" N?\n%declare N', 1, 12, "`N` is only declared", "declared="),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED_BY_BOTH)
def test_refused_as_lark_does(name: str) -> None:
    assert not lark_loads(REFUSED_BY_BOTH[name][0])
    check(*REFUSED_BY_BOTH[name])


@pytest.mark.parametrize("name", REFUSED_BY_US)
def test_refused_though_lark_reads_it(name: str) -> None:
    assert lark_loads(REFUSED_BY_US[name][0])
    check(*REFUSED_BY_US[name])


def check(text: str, line: int | None, column: int | None, message: str, hint: str | None) -> None:
    with pytest.raises(GrammarError) as caught:
        Grammar.from_lark(text)
    error = caught.value
    assert message in error.message
    assert (error.line, error.column) == (line, column), str(error)
    if line is not None:
        assert error.text == text.split("\n")[line - 1]
    if hint is not None:
        assert hint in (error.hint or "")
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error) and type(copy) is type(error)


def test_message_shows_the_line_with_a_caret() -> None:
    with pytest.raises(GrammarError) as caught:
        Grammar.from_lark('start: a\n\ta: "x" bb\nb: "y"')
    assert str(caught.value).split("\n") == [
        "line 2, column 9: rule `bb` is not defined",
        '    \ta: "x" bb',
        "    \t       ^",
        "hint: did you mean b?",
    ]


def test_message_cuts_long_lines_and_hides_control_characters() -> None:
    with pytest.raises(GrammarError) as caught:
        Grammar.from_lark("start: " + '"\x1b[2J" ' * 1000 + "x " + '"a" ' * 1000)
    shown = str(caught.value).split("\n")
    assert len(shown) == 4 and all(len(line) < 140 for line in shown)
    assert "\x1b" not in str(caught.value)
    assert shown[1][shown[2].index("^")] == "x"
    assert caught.value.column == 8 + 7 * 1000


@pytest.mark.parametrize("character", ["\x1b", "\x07", "\u202e"])
def test_messages_hide_control_characters_of_literals(character: str) -> None:
    with pytest.raises(GrammarError, match="matches nothing") as caught:
        Grammar.from_lark(f'start: "a" & "{character}"')
    assert character not in str(caught.value)


def test_errors_of_one_line_share_it() -> None:
    """Errors of one line share its text, which may have millions of characters."""
    with pytest.raises(GrammarError) as caught:
        Grammar.from_lark("start: " + " ".join(f"x{i}" for i in range(1000)))
    assert len(caught.value.errors) == 100
    assert len({id(error.text) for error in caught.value.errors}) == 1


def places(text: str, **options: Any) -> list[tuple[int | None, int | None]]:
    with pytest.raises(GrammarError) as caught:
        Grammar.from_lark(text, **options)
    return [(error.line, error.column) for error in caught.value.errors]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("start: a b C", [8, 10, 12]),
        ("start[capture]: a b c", [17, 19, 21]),  # with attributes
        ('start: "a"\nx[lazy]: (d E)? f{g} h::1\nf{y}: y z', [11, 13, 19, 22, 9]),  # that nothing reaches
        ("start: A & B & C | ~D", [8, 12, 16, 21]),
        ("start: X\nX: A & (B | C) & ~D", [4, 9, 13, 19]),
        ("start: x::1 y::2\nx::_: a b %if lt(_, 3)", [13, 7, 9]),
        ("start: f{a} f{b}\nf{x}: x c", [10, 15, 9]),
    ],
)
def test_all_undefined_names_are_reported_at_once(text: str, columns: list[int]) -> None:
    assert [column for _, column in places(text)] == columns


def test_grammars_and_schemas_within_a_text_report_all_their_errors() -> None:
    schema = r'%json {"properties": {"a": {"pattern": "(a)\\1"}, "b": {"pattern": "(a)\\1"}}}'
    text = f'start: one two\n | {schema}\n | %json {{"type": 3}}\n | %lark {{ start: three /(/ four }}'
    text += "\n | %lark { begin: five }\n | %lark { start: ) }"
    with pytest.raises(GrammarError) as caught:
        Grammar.from_lark(text)
    assert [(error.line, error.column, error.pointer) for error in caught.value.errors] == [
        (1, 8, None),
        (1, 12, None),
        (2, 4, "/properties/a/pattern"),
        (2, 4, "/properties/b/pattern"),
        (3, 4, "/type"),
        (4, 19, None),
        (4, 26, None),
        (4, 29, None),
        (5, 4, None),
        (5, 19, None),
        (6, 19, None),
    ]


def test_no_more_errors_are_looked_for_than_told() -> None:
    """Finding the place of an error takes time linear in the text, so their number has a bound."""
    text = 'start: "x"\n' + "a:\n" * 100_000
    began = time.monotonic()
    with pytest.raises(GrammarError, match="`a` is defined more than once") as caught:
        Grammar.from_lark(text, limits=Limits.trusted())  # when the time is up, fewer errors are told
    assert len(caught.value.errors) == 100
    assert time.monotonic() - began < 20


def test_arguments_are_checked() -> None:
    with pytest.raises(TypeError, match=r"text must be a str or a lark.Lark, not bytes"):
        Grammar.from_lark(b'start: "a"')  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="start must be a str, not None"):
        Grammar.from_lark('start: "a"', start=None)  # type: ignore[arg-type]


def test_limits_name_themselves_and_the_place() -> None:
    deep = "start: " + "(" * 101 + '"a"' + ")" * 101
    with pytest.raises(LimitError, match="more than 100 deep") as caught:
        Grammar.from_lark(deep)
    assert isinstance(caught.value, GrammarError)
    assert (caught.value.line, caught.value.column) == (1, 8 + 100)
    with pytest.raises(LimitError, match="a count is at most 2147483647"):
        Grammar.from_lark('start: "a"~2147483648')
    with pytest.raises(LimitError, match="20 digits"):
        Grammar.from_lark('start: "a"~' + "9" * 5000)
