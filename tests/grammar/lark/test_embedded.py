"""`%lark {...}` and `@name` agree with lark, for which the ignored text of an embedded grammar is written out."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path

import pytest

from earleymask import Limits, Matcher, Vocabulary
from earleymask.grammar import Grammar, GrammarError, GrammarLimitError
from support.lark_oracle import assert_refused, lark_accepts, lark_parser, we_accept
from support.schema_grammars import accepts

# The outer grammar ignores blanks, the embedded one dots; both are written out for Lark below.
PIECES = {
    "around": 'start: "a" {} "b" | "c"\n%ignore " "',
    "within": 'start: x x?\nx: "x"\n%ignore "."',
    "flat": 'start: _s "a" _s n "b" _s | _s "c" _s\nn: _d x x? _s\nx: "x" _d\n_s: " "*\n_d: "."*',
}
SENTENCES = ["".join(chars) for n in range(6) for chars in itertools.product("abx. ", repeat=n)]


def ways_to_embed() -> list[Grammar]:
    around, within = PIECES["around"], PIECES["within"]
    return [
        Grammar.from_lark(around.format(f"%lark {{\n{within}\n}}")),
        Grammar.from_lark(around.format("@inner"), grammars={"inner": within}),
        Grammar.from_lark(around.format("@inner"), grammars={"inner": Grammar.from_lark(within)}),
    ]


@pytest.mark.parametrize("way", range(3))
def test_each_grammar_ignores_its_own(way: int) -> None:
    parser = lark_parser(PIECES["flat"])
    grammar = ways_to_embed()[way]
    accepted = 0
    for text in SENTENCES:
        expected = lark_accepts(parser, text)
        assert we_accept(grammar, text) == expected, text
        accepted += expected
    assert accepted > 5


def test_masks_are_those_of_the_grammar_written_out() -> None:
    flat = Grammar.from_lark(PIECES["flat"])
    tokens = [b"a", b"b", b"x", b".", b" ", b"xx", b"x.", b". ", b"a .", b"x b", b"c", b""]
    vocabulary = Vocabulary.from_tokens(tokens, eos_token_id=11)
    for grammar in ways_to_embed():
        for history in itertools.product(range(11), repeat=3):
            left, right = Matcher(flat, vocabulary), Matcher(grammar, vocabulary)
            assert left.validate(list(history)) == right.validate(list(history))
            for token_id in history:
                assert (left.mask() == right.mask()).all()
                if not left.accept(token_id):
                    break
                right.accept(token_id)


def test_names_are_its_own() -> None:
    grammar = Grammar.from_lark("""
        start: x %lark {
            start: x y{"1"}      // braces within
            x: "in" | "}" | /}/
            y{a}: a
            %import common.INT
        } x INT
        x: "out"
        INT: "int"
    """)
    assert we_accept(grammar, "outin1outint")
    assert we_accept(grammar, "out}1outint")
    assert not we_accept(grammar, "outout1outint")
    assert not we_accept(grammar, "outin1out7")


def test_within_each_other_and_recursive() -> None:
    grammar = Grammar.from_lark('start: %lark { start: "(" %lark { start: "[" "]"\n%ignore "." } ")" }')
    assert we_accept(grammar, "(.[.].)")
    assert not we_accept(grammar, ".([])")
    lists = {"list": 'start: "[" (item ("," item)*)? "]"\nitem: @list | @atom', "atom": 'start: "x" @list?'}
    grammar = Grammar.from_lark("start: @list", grammars=lists)
    assert we_accept(grammar, "[x,[],x[x]]")
    assert not we_accept(grammar, "[x,[]x]")


def test_grammars_without_rules() -> None:
    grammars = {
        "number": Grammar.from_regex(r"\d+(?!0)", dialect="python"),
        "word": Grammar.from_regex("^[A-Z]$", flags=2),
        "unit": Grammar.from_choices(["km", "m", ""]),
    }
    grammar = Grammar.from_lark('start: @number " " @unit @word', grammars=grammars)
    assert we_accept(grammar, "12 kmq")
    assert we_accept(grammar, "12 Q")
    assert not we_accept(grammar, "12 kmkm")


def test_grammars_in_gbnf_ignore_nothing() -> None:
    """The grammar of the first test with a rule in GBNF within: blanks are before and after it, not inside."""
    inner = Grammar.from_gbnf('root ::= x x?\nx ::= "x" ("." x | ".")?')
    given = Grammar.from_lark(PIECES["around"].format("@inner"), grammars={"inner": inner})
    written = Grammar.from_lark('start: _s "a" _s /x(\\.x)*\\.?(x(\\.x)*\\.?)?/ _s "b" _s | _s "c" _s\n_s: " "*')
    accepted = 0
    for text in SENTENCES:
        expected = we_accept(written, text)
        assert we_accept(given, text) == expected, text
        accepted += expected
    assert accepted > 5
    assert pickle.loads(pickle.dumps(given)) == given
    other = Grammar.from_lark(PIECES["around"].format("@inner"), grammars={"inner": Grammar.from_gbnf('root ::= "x"')})
    assert other != given


def test_grammars_in_gbnf_within_grammars_that_are_within() -> None:
    """The rules are recursive, so they are productions; both texts use the special token, and the names `x` differ."""
    vocabulary = Vocabulary.from_tokens([b"a", b"(", b")", b"", b""], eos_token_id=4, special_tokens={"<|x|>": 3})
    lists = Grammar.from_gbnf('list ::= "(" x* ")"\nx ::= list | <|x|>', start="list")
    inner = Grammar.from_lark('start: @lists x\nx: "a" <|x|>', grammars={"lists": lists})
    grammar = Grammar.from_lark("start: @inner @inner?", grammars={"inner": inner})
    whole = [1, 1, 3, 2, 3, 2, 0, 3]
    for tokens in ([*whole, 4], [*whole, *whole, 4], [1, 2, 0, 3, 4]):
        assert Matcher(grammar, vocabulary).validate(tokens) == len(tokens)
    for tokens in ([*whole, *whole, 1], [1, 0], [1, 2, 4]):
        assert Matcher(grammar, vocabulary).validate(tokens) == len(tokens) - 1


def test_what_is_said_about_grammars_in_gbnf_has_their_places() -> None:
    inner = Grammar.from_gbnf('root ::= "x"?\nother ::= "y"')
    grammar = Grammar.from_lark('start: "a" @inner', grammars={"inner": inner})
    assert [str(warning) for warning in grammar.warnings] == [
        "in grammars['inner'], line 2, column 1: rule `other` is not reached from `root`"
    ]
    large = Grammar.from_gbnf('\nroot ::= "x" root "y" | "z" root "y" | "x"')
    with pytest.raises(GrammarLimitError, match=r"in grammars\['inner'\], line 2, column 1: .* than 2 productions"):
        Grammar.from_lark('start: "a" @inner', grammars={"inner": large}, limits=Limits(productions=2))
    with pytest.raises(GrammarLimitError, match=r"43 characters, of at most 20"):
        Grammar.from_lark('start: "a" @inner', grammars={"inner": large}, limits=Limits(source_characters=20))


def test_special_tokens_in_embedded_grammars() -> None:
    vocabulary = Vocabulary.from_tokens([b"a", b" ", b"", b""], eos_token_id=3, special_tokens={"<|x|>": 2})
    grammar = Grammar.from_lark('start: %lark { start: <|x|> "a"\n%ignore " " } "a"')
    assert Matcher(grammar, vocabulary).validate([1, 2, 1, 0, 1, 0, 3]) == 7
    assert Matcher(grammar, vocabulary).validate([1, 2, 1, 0, 1, 0, 1]) == 6


def test_pickles_and_fingerprints() -> None:
    first, second, third = ways_to_embed()
    for grammar in (first, second, third):
        again = pickle.loads(pickle.dumps(grammar))
        assert again == grammar
        assert we_accept(again, "a x.xb")
    other = Grammar.from_lark(PIECES["around"].format("@inner"), grammars={"inner": 'start: "x"'})
    assert other != second
    assert third.warnings == ()


ERRORS = {
    "undefined within": ('start: "a" %lark {\n  start: b\n}', 2, 10, "rule `b` is not defined"),
    "on one line": ('start: "a" %lark { start: /(/ }', 1, 28, "unterminated subpattern"),
    "no start": ('start: "a" %lark { x: "b" }', 1, 12, "the start rule `start` is not defined"),
    "no sentence": ('start: "a" %lark { start: start "b" }', 1, 1, "every alternative"),
    "not given": ("start: @innr", 1, 8, "there is no grammar `@innr`"),
    "in a terminal": ('start: A\nA: "a" @inner', 2, 8, "grammar `@inner` cannot be inside a terminal"),
    "a block in a terminal": ('start: A\nA: "a" %lark { start: "x" }', 2, 8, "`%lark` cannot be inside a terminal"),
    "never closed": ('start: %lark { start: "a"', 1, 8, "does not end"),
    "too deep": ("start: " + "%lark { start: " * 25 + '"x"' + "}" * 25, 1, 8, "nested too deeply"),
    "given as GBNF, in a terminal": ("start: A\nA: @gbnf", 2, 4, "grammar `@gbnf` cannot be inside a terminal"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_show_their_place(name: str) -> None:
    given = {"inner": 'start: "x"', "gbnf": Grammar.from_gbnf('root ::= "x"')}
    text = ERRORS[name][0]
    assert_refused(*ERRORS[name], grammars={key: grammar for key, grammar in given.items() if f"@{key}" in text})


def test_errors_in_given_texts_name_them() -> None:
    with pytest.raises(GrammarError, match=r"in grammars\['x'\], line 2, column 4"):
        Grammar.from_lark("start: @x", grammars={"x": "start: y\ny: z"})
    with pytest.raises(TypeError, match="must map names"):
        Grammar.from_lark("start: @x", grammars={"x": 3})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("text", "grammars", "unused"),
    [
        ('start: "a"', {"x": 'start: "b"'}, "x"),
        ("start: @y // @x", {"x": 'start: "b"', "y": 'start: "c"'}, "x"),
        ('start: "@x"', {"x": Grammar.from_regex("b")}, "x"),
        ('start: "a"', {"x": 'start: "b" @x?'}, "x"),
        ("start: @x", {"x": 'start: "b" @y', "y": 'start: "c"'}, None),
        ('start: "a"\nother: @x', {"x": "start: %lark { start: @y }", "y": 'start: "c"'}, None),
        ('start: "a"\nother: %lark { start: @x }', {"x": 'start: "b"'}, None),
    ],
)
def test_grammars_that_no_text_names_are_refused(text: str, grammars: dict[str, str], unused: str | None) -> None:
    if unused is None:
        grammar = Grammar.from_lark(text, grammars=grammars)
        assert pickle.loads(pickle.dumps(grammar)) == grammar
        return
    with pytest.raises(GrammarError, match=f"grammars= gives `{unused}`, but the text does not use it"):
        Grammar.from_lark(text, grammars=grammars)


def test_files_name_grammars_too(tmp_path: Path) -> None:
    path = tmp_path / "main.lark"
    path.write_text('start: "a" @inner', encoding="utf-8")
    assert we_accept(Grammar.from_lark_file(path, grammars={"inner": 'start: "x"'}), "ax")


def test_the_report_of_embedded_schemas_says_where_they_stand() -> None:
    def rows(grammar: Grammar) -> list[tuple[str, str, str]]:
        return [(row.source, row.pointer, row.status) for row in grammar.report if row.pointer]

    compact = Grammar.from_json_schema({"enum": [1], "x-own": 2}, whitespace="compact")
    text = 'start: pair @given\npair: %json {"type": "null"} "," %lark {\n start: %json {"maxLength": 3}\n}'
    grammar = Grammar.from_lark(text, grammars={"given": compact})
    expected = [
        ("line 1, column 13", "/enum", "exact"),
        ("line 1, column 13", "/x-own", "exact"),
        ("line 2, column 7", "/type", "exact"),
        ("line 3, column 9", "/maxLength", "exact"),
    ]
    assert sorted(rows(grammar)) == expected
    assert {row.source for row in grammar.report if "spellings='plain'" in row.why} == {row[0] for row in expected}
    assert sorted(rows(pickle.loads(pickle.dumps(grammar)))) == expected
    assert any("compact" in row.why and row.source == "line 1, column 13" for row in grammar.report)
    inner = Grammar.from_lark("start: @x", grammars={"x": 'start: "a"\n | %json {"type": "null"}'})
    assert rows(inner) == [("in grammars['x'], line 2, column 4", "/type", "exact")]
    assert Grammar.from_lark('start: "%json"').report == ()
    assert Grammar.from_lark("start: @x", grammars={"x": 'start: "a"'}).report == ()


def test_a_block_of_json_has_the_options_and_defaults_of_schemas() -> None:
    def accepted(schema: str, *texts: str) -> list[str]:
        grammar = Grammar.from_lark(f"start: %json {schema}")
        assert pickle.loads(pickle.dumps(grammar)) == grammar
        return [text for text in texts if accepts(grammar, text)]

    texts = ["1", "1.0", "1e0"]
    assert accepted('{"type": "integer"}', *texts) == ["1"]
    assert accepted('{"x-earleymask": {"spellings": "all"}, "type": "integer"}', *texts) == texts
    assert accepted('{"type": "array", "x-earleymask": {"indent": 2}}', "[1]", "[\n  1\n]") == ["[\n  1\n]"]
    assert accepted(r'{"enum": ["a\/b"]}', '"a/b"', r'"a\/b"', r'"a\u002fb"') == ['"a/b"', r'"a\/b"']
    grammar = Grammar.from_lark('start: %json {"x-earleymask": {"closed": true}, "type": "object"}')
    assert any("closed=True" in row.why for row in grammar.report)
    for block, message in (
        ('{"x-earleymask": {"spelling": "all"}}', "there is no option `spelling`; did you mean spellings"),
        ('{"x-earleymask": {"registry": {}}}', "there is no option `registry`; give the schema by name"),
        ('{"x-earleymask": {"spellings": 1}}', "spellings must be one of"),
        ('{"x-earleymask": 1}', "must be an object of options"),
    ):
        with pytest.raises(GrammarError, match=message) as caught:
            Grammar.from_lark(f"start: %json {block}")
        assert caught.value.line == 1


def test_errors_of_embedded_schemas_show_both_places() -> None:
    with pytest.raises(GrammarError) as caught:
        Grammar.from_lark('start: "a"\n | %json {"properties": {"a": {"minimum": "3"}, "b": {"type": "x"}}}')
    errors = sorted((error.line, error.column, error.pointer) for error in caught.value.errors)
    assert errors == [(2, 4, "/properties/a/minimum"), (2, 4, "/properties/b/type")]


def test_numbers_of_embedded_schemas_keep_all_their_digits() -> None:
    grammar = Grammar.from_lark('start: %json {"const": 0.10000000000000000001}')
    assert we_accept(grammar, "0.10000000000000000001")
    assert not we_accept(grammar, "0.1")


def test_hints_of_embedded_schemas_say_where_their_options_are() -> None:
    for schema, option in (('{"pattern": "(a)\\\\1"}', "strict=False"), ('{"$ref": "http://h/x"}', "registry=...")):
        with pytest.raises(GrammarError) as caught:
            Grammar.from_lark(f"start: %json {schema}")
        assert caught.value.hint == (
            f"write `@name` instead, and give grammars={{'name': Grammar.from_json_schema(schema, {option})}}"
        )
