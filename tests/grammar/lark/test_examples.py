"""The grammars of lark's package and of its examples load, and agree with lark on samples.

The package has four grammars. The examples are only in the source distribution: unpack it and name its folder,
`EARLEYMASK_LARK_SDIST=lark-1.3.1 pytest tests/grammar/lark/test_examples.py`. None of them is copied here; `SIMILAR`
has grammars of our own with the same constructs, which always run.
"""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import lark
import pytest
from lark import Lark

from earleymask import Grammar, GrammarError, Matcher, Vocabulary
from support.lark_oracle import lark_accepts, lark_parser, we_accept

GRAMMARS = Path(lark.__file__).parent / "grammars"
SDIST = os.environ.get("EARLEYMASK_LARK_SDIST")

JSON = (["[]", '{"a": [1, -2.5e3, true], "b": {}}', ' [ null , "x\\"y" ] ', "false"], ["[1,]", '{"a" 1}', "", "tru"])
LARK = (
    [
        'start: "a"\n',
        'a: b | c?\nb: "x"*  // why\n',
        'A.2: /x\\/y/i "b".."c"\n%ignore A\n%import a.b -> C\n',
        "x: y~2..3 [z] -> w\n | (A B)+\n",
        "t{a, b}: a u{b, A}\n",
        "%import common (INT, WS)\n%declare A B\n",
        "",
    ],
    ['start "a"\n', "a: (b\n", "a: b ->\n", "%import\n", "a b: c\n", 'a: "x\n'],
)
PYTHON = (
    ["1", "x + y * 2", "f(a, *b, c=1, **d)", "[i for i in range(3) if i]", "{1: 'a', **b}", "lambda x, *y: x",
     "-x ** 2", "a if b else c", "x.y[1:2, ::3](z)", "(yield)",
     "0x1F + 0b1 + 1_000 + 1.5e-3j", '"""a\nb""" r"\\n"', "not a in b"],
    ["1 +", "f(", "[1, 2", "x y", "lambda x", "a if b", "'a", "00x"],
)  # fmt: skip
CONF = (["[a]\nb=c\n", "\n[a]\nb=\n\n[x]\ny = z w\n"], ["[a]\n", "a=b\n", "[a\nb=c\n"])
FLIES = (["fruit flies like bananas", "fruit like bananas", "flies flies fruit"], ["fruit", "bananas bananas", "like"])


class Case(NamedTuple):
    """The file of a grammar, some sentences and some other texts; both are empty if only loading can be compared."""

    file: str
    sentences: list[str]
    others: list[str]
    start: str = "start"
    options: dict[str, Any] = {}  # noqa: RUF012


PACKAGE = [
    Case("lark.lark", *LARK),
    Case("python.lark", *PYTHON, start="eval_input"),
]

EXAMPLES = [
    Case("examples/advanced/_json_parser.py", *JSON),
    Case("examples/advanced/conf_earley.py", *CONF),
    Case("examples/advanced/conf_lalr.py", *CONF),
    Case(
        "examples/advanced/create_ast.py",
        ["a = 1;", 'if a { print "x"; b = 00; }', "print a;\n print 'b';"],
        ["a = 1", "if a { }", "print ;", "a = 1 2;"],
    ),
    Case("examples/advanced/dynamic_complete.py", ["{_a_:{}}", "[1,_a_, _b_]", "__"], ["{_a:1}", "[1", "{}}"]),
    Case("examples/advanced/prioritizer.py", ["Hello World"], ["Hello", "HelloWorld", "Hello World "]),
    Case("examples/advanced/py3to2.py", *PYTHON, start="eval_input"),
    Case("examples/advanced/python2.lark", ["1", "x + `y`", "f(a, *b)", "lambda x: 1", "u'a'"], ["f(", "1 +", "'a"],
         start="eval_input"),
    Case("examples/advanced/template_lark.lark", *LARK),
    Case("examples/advanced/templates.py", ['[1, "a"]', '{ "a" : 1 ,"b":2}', "[1]"], ["[]", "{1}", "[1,]"]),
    Case("examples/advanced/tree_forest_transformer.py", *FLIES, start="sentence"),
    Case("examples/calc.py", ["1", "a = 2 * (x - -3)", "1+2/3"], ["1 +", "a =", "(1", "a = b = c"]),
    Case("examples/composition/csv.lark", ["# a b c\n1 2 3\n", "#a,b\nx.y,-1.5\n"], ["a b\n", "#\n", "# a\n1"]),
    Case("examples/composition/json.lark", ["[1, 2]", '{"a": [ 1]}', "true"], ["[1,2,]", '{"a":1}', "[1 ,2]"]),
    Case("examples/composition/storage.lark", ["[1, 2]\n# a b\n1 2\n", '{"a": 1}'], ["", "a b\n", "[1, 2"]),
    Case("examples/fruitflies.py", *FLIES, start="sentence"),
    Case(
        "examples/grammars/verilog.lark",
        ["module m (a, b); input a; endmodule", "module m; assign x = a & b ? c : d; /* x */ endmodule\n", ""],
        ["module m", "module m; input; endmodule", "endmodule"],
    ),
    Case("examples/json_parser.py", *JSON),
    Case("examples/relative-imports/multiple2.lark", ["0", "10", "1100"], ["1", "", "01"]),
    Case("examples/relative-imports/multiple3.lark", ["0", "11", "1001", "110"], ["1", "10", "2"]),
    Case("examples/relative-imports/multiples.lark", ["2:0", "2:110", "3:11", "3:0"], ["2:1", "3:10", "0"]),
    Case("examples/standalone/json.lark", *JSON),
    Case("examples/tests/negative_priority.lark", ["a"], ["", "aa"]),
    Case("examples/tests/no_newline_at_end.lark", ["a"], ["", "aa"]),
    Case("examples/turtle_dsl.py", ["f 10", "c red blue fill { l 90 b2 }", "repeat 4{f1}"], ["f", "fill {}", "x 1"]),
]  # fmt: skip

# Programs of the examples whose grammar is in another file, or has no start rule, or needs Python code.
WITHOUT_GRAMMAR = {
    "examples/advanced/custom_lexer.py": "a lexer that takes objects; its grammar only declares its terminals",
    "examples/advanced/error_handling.py": "the JSON grammar",
    "examples/advanced/error_reporting_earley.py": "the JSON grammar",
    "examples/advanced/error_reporting_lalr.py": "the JSON grammar",
    "examples/advanced/python_parser.py": "python.lark and python2.lark",
    "examples/advanced/qscintilla_json.py": "terminals for a lexer alone, without a start rule",
    "examples/advanced/reconstruct_json.py": "the JSON grammar",
    "examples/advanced/reconstruct_python.py": "python.lark",
    "examples/composition/eval_csv.py": "no grammar",
    "examples/composition/eval_json.py": "no grammar",
    "examples/composition/main.py": "storage.lark",
    "examples/indented_tree.py": "a post-lexer makes its indentation: see test_examples_with_indentation",
    "examples/lark_grammar.py": "lark.lark",
    "examples/relative-imports/multiples.py": "multiples.lark",
    "examples/standalone/json_parser_main.py": "json.lark",
}


def text_of(path: Path) -> str:
    """Return the grammar in a file: the whole file, or the text that a Python program gives to `Lark(...)`."""
    if path.suffix == ".lark":
        return path.read_text(encoding="utf-8")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    values = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Lark":
            argument = node.args[0]
            if isinstance(argument, ast.Constant):
                return str(argument.value)
            if isinstance(argument, ast.Name):
                return str(values[argument.id])
    raise AssertionError(f"{path} has no grammar")


def assert_like_lark(path: Path, case: Case) -> None:
    text = text_of(path)
    parser = Lark(text, parser="earley", lexer="dynamic_complete", start=case.start, source_path=str(path))
    grammar = Grammar.from_lark(text, start=case.start, source_path=path)
    assert Grammar.from_lark(parser) == grammar
    for sentence in case.sentences:
        assert lark_accepts(parser, sentence), sentence
        assert we_accept(grammar, sentence), sentence
    for other in case.others:
        assert not lark_accepts(parser, other), other
        assert not we_accept(grammar, other), other


@pytest.mark.parametrize("case", PACKAGE, ids=lambda case: case.file)
def test_grammars_of_the_package(case: Case) -> None:
    assert_like_lark(GRAMMARS / case.file, case)


@pytest.mark.parametrize("library", ["common", "unicode", "lark", "python"])
def test_terminals_of_the_package(library: str) -> None:
    """Each terminal by itself agrees with lark. (`test_terminals.py` compares the patterns.)"""
    text = (GRAMMARS / f"{library}.lark").read_text(encoding="utf-8")
    names = re.findall(r"^(_?[A-Z][A-Z_]*)(?:\.[0-9]+)?[ \t]*:", text, re.MULTILINE)
    assert {"common": "WS", "unicode": "WS", "lark": "STRING", "python": "STRING"}[library] in names
    samples = ["0", "42", "-1", "a", "Zz", "1.5", "2e3", '"x\\"y"', " ", "\t \n", "\r\n", "# x", "// x", "/* x */",
               "-- x", "a1_", "xyz", "é", "\xa0", "", '"a"i', '"a"b"', '"a\\\\"', "/a\\/b/im", "//", "/a//", "/a\nb/x",
               "\n // c\n", "?x", "?_X", "_x", "->", "|", "0x1F", "1_000", "1.5e-3j", "00", "1.", ".5j", "'\\''",
               "'''a\n'''", "rb'x'", "async", "asyncx"]  # fmt: skip
    for name in names:
        if name.startswith("_STRING"):
            continue  # they can be empty, which Lark refuses
        rule = f"start: {name}\n%import {library}.{name}"
        parser, grammar = lark_parser(rule), Grammar.from_lark(rule)
        for sample in samples:
            assert we_accept(grammar, sample) == lark_accepts(parser, sample), (name, sample)


PROGRAMS = (
    ["if x:\n\t>f(x)\n<\n", "def f(a, *, b=1):\n\t>return a\n<\n@d\nclass A(B): pass\n",
     "try:\n\t>x = y = 1\n<except E as e:\n\t>raise\n<\n", "import a.b as c; del x[1]\n", ""],
    ["if x:\nf(x)\n", "if x:\n\t>f(x)\n", "def f(: pass\n", "f(x)\n<\n", "x = \n"],
)  # fmt: skip
"""Programs with `>` and `<` in place of the tokens that a post-lexer makes of indentation."""


def assert_like_lark_with_marks(path: Path, start: str, sentences: list[str], others: list[str]) -> None:
    """Assert that a grammar for a post-lexer agrees with lark, with marks for the tokens that the post-lexer makes."""
    text = text_of(path)
    defined = text.replace("%declare _INDENT _DEDENT", '_INDENT: ">"\n_DEDENT: "<"\n')
    assert defined != text
    parser = lark_parser(defined, start)
    grammar = Grammar.from_lark(text, start=start, declared={"_INDENT": '">"', "_DEDENT": '"<"'})
    for sentence in sentences:
        assert lark_accepts(parser, sentence) and we_accept(grammar, sentence), sentence
    for other in others:
        assert not lark_accepts(parser, other) and not we_accept(grammar, other), other


def test_python_with_its_indentation() -> None:
    sentences, others = PROGRAMS
    assert_like_lark_with_marks(GRAMMARS / "python.lark", "file_input", sentences, others)


@pytest.mark.skipif(SDIST is None, reason="EARLEYMASK_LARK_SDIST does not name an unpacked source distribution of lark")
def test_examples_with_indentation() -> None:
    assert SDIST is not None
    python2 = ["if x:\n\t>print x, y\n<\n", "exec 'x' in y\n", ""], ["if x:\nprint x\n", "print (\n"]
    assert_like_lark_with_marks(Path(SDIST) / "examples/advanced/python2.lark", "file_input", *python2)
    trees = ["a\n>b\n>c\n<d\n<", "a\n", "\na # x\n"], ["a\n>b\n", "a", "a\n><", ">a\n<"]
    assert_like_lark_with_marks(Path(SDIST) / "examples/indented_tree.py", "start", *trees)


def test_indentation_is_refused_until_it_is_given() -> None:
    text = (GRAMMARS / "python.lark").read_text(encoding="utf-8")
    declared = {"_INDENT": "<|indent|>", "_DEDENT": "<|dedent|>"}
    grammar = Grammar.from_lark(text, start="file_input", declared=declared)
    with pytest.raises(GrammarError, match="`_INDENT` is only declared"):
        Grammar.from_lark(text, start="file_input")
    assert set(grammar.engine.special_names) == {"<|indent|>", "<|dedent|>"}
    tokens = [bytes([i]) for i in range(256)] + [b""] * 3
    specials = {"<|indent|>": 257, "<|dedent|>": 258}
    vocabulary = Vocabulary.from_tokens(tokens, eos_token_id=256, special_tokens=specials)
    program = [*b"def f(x):\n ", 257, *b"return x\n", 258, *b"if f(1): pass\n", 256]
    assert Matcher(grammar, vocabulary).validate(program) == len(program)
    assert Matcher(grammar, vocabulary).validate([*b"if x pass"]) < len("if x pass")


@pytest.mark.skipif(SDIST is None, reason="EARLEYMASK_LARK_SDIST does not name an unpacked source distribution of lark")
@pytest.mark.parametrize("case", EXAMPLES, ids=lambda case: case.file)
def test_examples(case: Case) -> None:
    assert SDIST is not None
    assert_like_lark(Path(SDIST) / case.file, case)


@pytest.mark.skipif(SDIST is None, reason="EARLEYMASK_LARK_SDIST does not name an unpacked source distribution of lark")
def test_every_example_is_listed() -> None:
    assert SDIST is not None
    root = Path(SDIST)
    files = {path.relative_to(root).as_posix() for path in (root / "examples").rglob("*.lark")}
    files |= {path.relative_to(root).as_posix() for path in (root / "examples").rglob("*.py")} - {
        "examples/__init__.py"
    }
    assert files == {case.file for case in EXAMPLES} | set(WITHOUT_GRAMMAR)


# Our own grammars, with the constructs of the examples.
SIMILAR = {
    "ambiguous words": (
        'line: who does who -> one\n  | who does "as" who -> two\nwho: kind? THING\ndoes: VERB\nkind: KIND\n'
        'THING: "birds" | "trees" | "night"\nVERB: "as" | "birds"\nKIND: "night"\n%import common.WS\n%ignore WS',
        "line",
        ["night birds as trees", "trees birds trees", "trees as as night"],
        ["trees", "night birds", "trees trees trees"],
    ),
    "sections of settings": (
        "start: _NL? part+\npart: \"(\" KEY \")\" _NL pair+\npair: KEY \":\" TEXT? _NL\nKEY: /\\w/+\nTEXT: /./+\n"
        "%import common.NEWLINE -> _NL\n%import common.WS_INLINE\n%ignore WS_INLINE",
        "start",
        ["(a)\nb:c d\n", "\n( a )\nb:\nc : d\n\n(e)\nf:g\n"],
        ["(a)\n", "b:c\n", "(a\nb:c\n"],
    ),
    "separated by a template": (
        'start: many{pair, ";"} | many{leaf, "|"}\nmany{x, s}: "<" _sep{x, s} ">"\n_sep{x, s}: x (s x)*\n'
        'pair: leaf "=" leaf\nleaf: INT | start\n%import common (INT, WS)\n%ignore WS',
        "start",
        ["<1=2;3=<4|5>>", "< 1 | 2 >", "<<1>>"],
        ["<>", "<1;2>", "<1|2=3>", "<1"],
    ),
    "expressions by levels": (
        '?start: sum\n?sum: term | sum "+" term -> plus | sum "-" term -> minus\n?term: atom | term "*" atom\n'
        '?atom: NUMBER -> number | "-" atom -> neg | CNAME -> name | "(" sum ")"\n'
        "%import common (CNAME, NUMBER, WS_INLINE)\n%ignore WS_INLINE",
        "start",
        ["1 - -x*(2+3.5)", "a", "((1e3))"],
        ["1 -", "(1", "a b", "*"],
    ),
    "strings between odd quotes": (
        "?start: word | pairs\npairs: \"{\" (word \":\" start (\",\" word \":\" start)*)? \"}\"\nword: WORD\n"
        "WORD: MARK _INNER MARK\nMARK: \"'\"\n_ANY: /.*/\n_INNER: _ANY /(?<!\\\\)(\\\\\\\\)*?/\n"
        "%import common.WS_INLINE\n%ignore WS_INLINE",
        "start",
        ["''", "{'a':'b', 'c':{}}", "'a\\\\'", "'it's'"],
        ["'a", "{'a'}", "'a\\'"],
    ),
    "modules and comments": (
        "start: block*\nblock: \"unit\" CNAME (\"(\" CNAME (\",\" CNAME)* \")\")? \";\" \"end\"\n"
        "LINE: \"//\" /[^\\n]*/ NL\nNL: \"\\n\"\nLONG: /\\/\\*([^*]|\\*+[^*\\/])*\\*+\\//\n"
        "%import common (CNAME, WS)\n%ignore WS\n%ignore LINE\n%ignore LONG\n%ignore NL",
        "start",
        ["", "unit a (b, c); // x\n end /* * */ unit d; end\n"],
        ["unit ; end", "unit a end", "/* unit */ unit"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SIMILAR)
def test_similar_grammars(name: str) -> None:
    text, start, sentences, others = SIMILAR[name]
    parser, grammar = lark_parser(text, start), Grammar.from_lark(text, start=start)
    for sentence in sentences:
        assert lark_accepts(parser, sentence) and we_accept(grammar, sentence), sentence
    for other in others:
        assert not lark_accepts(parser, other) and not we_accept(grammar, other), other
