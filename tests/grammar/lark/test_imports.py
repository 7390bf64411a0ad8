"""`%import`, `%override`, `%extend` and `%declare` mean what they mean to Lark, and mistakes are refused."""

from __future__ import annotations

import pickle
import pickletools
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lark import Lark
from lark.exceptions import GrammarError as LarkGrammarError
from lark.load_grammar import FromPackageLoader

from earleymask import Constraint, Grammar, GrammarError, LimitError, Matcher, Vocabulary
from earleymask.grammar.grammar import _unpickle
from earleymask.grammar.lark.load import load_again
from earleymask.grammar.lark.modules import Imported, Kept
from support.lark_oracle import assert_same, lark_accepts, lark_loads, lark_parser, strings, we_accept

FILES = {
    "ab": 'start: x\nx: A y\ny: B\nz: "c" A\nA: "a"\nB: "b"\nW: A B\nexpr: x | z',
    "odd": '_start: _x "b"\n_x: _A\n_A: "a"',
    "same": 'start: x | A\nx: "c" A\nA: "b"',
    "lists": '_sep{x, s}: x (s x)*\nlist{x}: "a" _sep{x, COMMA} "b"\nCOMMA: ","',
    "outer": "%import .inner.deep (x, A)\nstart: x A\nown: x y\ny: A",
    "inner/deep": 'x: "b" A | z\nz: "c"\nA: "a" | B\nB: "bb"\n%import .beside.B -> C',
    "inner/beside": 'B: "c"',
    "reexports": "%import ab (x, A)\n%import ab.y -> q\ny: x A",
    "changes": '%import ab (x, A, B)\n%override A: "c"\n%extend B: "cc"\nstart: x\nT: A B',
    "ignores": 'start: "a" "b"\n%ignore "c"',
    "declares": "start: A X\nA: /a/\n%declare X",
    "library": "start: INT x\nx: DIGIT\n%import common (INT, DIGIT)",
    "circle": '%import .circle2.x\ny: "a" | x',
    "circle2": '%import .circle.y\nx: "b" | y',
    "broken": 'start: "a"\nx: ( "b"\ny: zz',
    "undefined": 'start: "a" zz\n',
}

# name: (grammar, alphabet, length)
SAME = {
    "a rule and what it needs": ("start: x\n%import ab.x", "abc", 3),
    "relative": ("start: x\n%import .ab.x", "abc", 3),
    "list": ("start: x z | A\n%import ab (x, z, A)", "abc", 4),
    "list, relative": ("start: x z | A\n%import .ab (x, z, A)", "abc", 4),
    "alias": ("start: x q\n%import ab.x\n%import ab.z -> q", "abc", 4),
    "alias of a terminal": ("start: Q+\n%import ab.W -> Q", "abc", 4),
    "the start rule of another": ('start: "c" ab\n%import ab.start -> ab', "abc", 4),
    "names of the file are its own": ('start: x y\n%import ab.x\ny: "c"\nA: "b"', "abc", 4),
    "same names in two files": ("start: p q\n%import ab.x -> p\n%import same.x -> q", "abc", 4),
    "imported names are the importer's": ("start: x A\n%import ab.x\n%import ab.A -> A", "abc", 4),
    "underscores": ("start: _start _x\n%import odd (_start, _x)", "ab", 4),
    "underscore given": ("start: _y\n%import ab.x -> _y", "ab", 3),
    "template": ('start: list{"c"}\n%import lists.list', "abc,", 5),
    "template, inlined": ('start: _sep{x, "b"}\nx: "a"\n%import lists._sep', "ab", 5),
    "through another file": ("start: start_ own\n%import outer.start -> start_\n%import outer.own", "abc", 5),
    "in a folder": ("start: x\n%import inner.deep.x", "abc", 3),
    "in a folder, relative": ("start: x C\n%import .inner.deep.x\n%import .inner.beside.B -> C", "abc", 4),
    "what it imported itself": ("start: x y q\n%import reexports (x, y, q)", "abc", 7),
    "ignored text of a file": ("start: s\n%import ignores.start -> s", "abc", 4),
    "a library, through a file": ("start: s\n%import library.start -> s", "01a", 4),
    "mangled names": ("start: x ab__y | ab__y\n%import ab.x", "abc", 4),
    "mangled name with underscore": ("start: _start _odd__x | a_odd\na_odd: _start\n%import odd._start", "ab", 4),
    "override": ('start: x\n%import ab.x\n%import ab.y\n%override y: "c"', "abc", 3),
    "override of a terminal": ('start: x W\n%import ab (x, A, W)\n%override A: "c"', "abc", 5),
    "override by a mangled name": ('start: x W\n%import ab (x, W)\n%override ab__y: "c" | A\nA: "cb"', "abc", 5),
    "override by a name mangled twice": (
        'start: own\n%import outer.own\n%override outer__inner__deep__z: "b"', "abc", 4
    ),
    "extend by a mangled name": ('start: x\n%import ab.x\n%extend ab__y: "c"', "abc", 3),
    "override of one's own": ('start: x\nx: "a"\ny: x\n%override x: "b" | y "c"', "abc", 3),
    "override of one's own terminal": ('start: A T\nA: "a"\nT: A "b"\n%override A: "c"', "abc", 4),
    "override twice": ('start: x\n%import ab.x\n%override x: "a"\n%override x: "b"', "abc", 3),
    "override with more": ('start: x\n%import ab.x\n%override x: "c" | n\nn: "b" x', "abc", 4),
    "extend": ('start: x\n%import ab.x\n%extend x: "c" | "c" x', "abc", 4),
    "extend what it needs": ('start: x y\n%import ab (x, y)\n%extend y: "c"', "abc", 4),
    "extend a terminal": ('start: x\n%import ab (x, B)\n%extend B: "c" "c"', "abc", 4),
    "extend a terminal in terminals": ('start: W\n%import ab (W, A)\n%extend A: "c"', "abc", 3),
    "extend one's own": ('start: x\nx: "a"\n%extend x: "b" x\n%extend x: "c"', "abc", 4),
    "extend a terminal lazily": ('start: A "c"?\nA: /a.*?c/\n%extend A: /a[ab]*?b/', "abc", 4),
    "extend alternatives": ('start: A "c"?\nA: /a.*?c/ | "ab"\n%extend A: /ac?/ | "b"\n%extend A: /b.*?a/', "abc", 3),
    "extend, then override": ('start: x\nx: "a"\n%extend x: "b" x\n%override x: "c"', "abc", 3),
    "override, then extend": ('start: x\nx: "a"\n%override x: "b"\n%extend x: "c" x', "abc", 3),
    "with an alias": ('start: x\nx: "a" -> p\n%extend x: "b" -> q', "abc", 2),
    "changes within a file": ("start: s T\n%import changes.start -> s\n%import changes.T", "abc", 6),
    "extended where it has recursion": ('start: e\n%import ab.expr -> e\n%extend e: "c" e "c"', "abc", 5),
    "declared and not used": ('start: "a"\n%declare X Y', "ab", 2),
    "declared in a file, not used": ("start: A\n%import declares.A", "ab", 2),
    "declared in a library, not used": ("start: NAME\n%import python.NAME", "a1_", 3),
    "what is not there": ("start: x\n%import ab (x, nothing)\n%import common.NOPE", "abc", 3),
    "two files by one name": ("start: p q\n%import ab.x -> p\n%import inner.deep.x -> q", "abc", 5),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("grammars")
    (root / "inner").mkdir()
    for name, text in FILES.items():
        (root / f"{name}.lark").write_text(text, encoding="utf-8")
    return root


@pytest.mark.parametrize("name", SAME)
def test_same_language_as_lark(name: str, folder: Path) -> None:
    text, alphabet, length = SAME[name]
    assert_same(text, strings(alphabet, length), import_paths=[str(folder)])


def as_modules() -> dict[str, str]:
    return {name.replace("/", "."): text for name, text in FILES.items()}


@pytest.mark.parametrize("name", SAME)
def test_texts_instead_of_files(name: str, folder: Path) -> None:
    """A loader, a function or a mapping, finds the same texts by dotted names, and a pickle needs no loader."""
    text, alphabet, length = SAME[name]
    from_files = Grammar.from_lark(text, import_paths=[folder])
    modules = as_modules()
    from_mapping = Grammar.from_lark(text, loader=modules)
    from_function = Grammar.from_lark(text, loader=modules.get)
    assert from_mapping == from_function == from_files and hash(from_mapping) == hash(from_files)
    again = pickle.loads(pickle.dumps(from_mapping))
    assert again == from_mapping and again.imports == from_mapping.imports
    assert again.warnings == from_mapping.warnings
    for sentence in strings(alphabet, min(length, 3)):
        assert we_accept(again, sentence) == we_accept(from_files, sentence)


def test_beside_the_importing_file(folder: Path) -> None:
    path = folder / "top.lark"
    path.write_text("start: x s\n%import .ab.x\n%import .inner.deep.x -> s", encoding="utf-8")
    parser = Lark.open(str(path), parser="earley", lexer="dynamic_complete")
    grammar = Grammar.from_lark_file(path)
    for sentence in strings("abc", 5):
        assert we_accept(grammar, sentence) == lark_accepts(parser, sentence), sentence
    assert Grammar.from_lark(path.read_text(), source_path=path) == grammar
    assert Grammar.from_lark(path.read_text(), source_path=str(path), start="s").start == "s"


def test_import_paths_come_before_the_file_and_libraries(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "ab.lark").write_text('x: "p"')
    (tmp_path / "common.lark").write_text('INT: "i"')
    text = "start: x INT\n%import .ab.x\n%import common.INT"
    options: dict[str, Any] = {"import_paths": [str(tmp_path)], "source_path": str(folder / "top.lark")}
    assert_same(text, ["pi", "ab1", "p1", "abi"], **options)


def test_loaders_of_lark(folder: Path) -> None:
    """Lark's import paths work here: functions from (base, file) to (place, text), such as those for packages."""

    def loader(base_path: Any, grammar_path: str) -> tuple[str, str]:
        module = grammar_path.removesuffix(".lark").replace("\\", "/")
        if module not in FILES:
            raise OSError
        return f"memory/{module}", FILES[module]

    assert_same(SAME["list"][0], strings("abc", 3), import_paths=[loader])
    text = "start: INT\n%import grammars.common.INT"
    assert_same(text, ["1", "12", "a"], import_paths=[FromPackageLoader("lark")])
    text = "start: name_list\n%import lark.name_list"
    assert Grammar.from_lark(text, import_paths=[FromPackageLoader("lark", ["grammars"])]).imports[0].library == ""


def test_changed_files_make_other_grammars(tmp_path: Path) -> None:
    text = "start: x\n%import m.x"
    first = Grammar.from_lark(text, loader={"m": 'x: "a"'})
    second = Grammar.from_lark(text, loader={"m": 'x: "b"'})
    assert first != second and first.fingerprint != second.fingerprint
    (tmp_path / "m.lark").write_text('x: "a"')
    third = Grammar.from_lark(text, import_paths=[tmp_path])
    assert third == first
    (tmp_path / "m.lark").write_text('x: "b"')
    assert we_accept(pickle.loads(pickle.dumps(third)), "a")
    assert Grammar.from_lark(text, import_paths=[tmp_path]) == second


def test_libraries_are_part_of_a_grammar() -> None:
    grammar = Grammar.from_lark("start: INT\n%import common.INT")
    ((name, text, library),) = grammar.imports
    assert (name, library) == ("common", "common") and "SIGNED_INT" in text
    older = pickle.dumps(grammar).replace(b'DIGIT: "0".."9"', b'DIGIT: "0".."3"')
    with pytest.raises(ValueError, match="incompatible version"):
        pickle.loads(older)
    assert Grammar.from_lark('start: "a"').imports == ()


def test_the_text_of_a_library_of_another_version_is_kept() -> None:
    """A pickle made with another version of lark keeps that version's text of the library."""
    older = Kept((), (Imported("common", 'DIGIT: "0".."3"\nINT: DIGIT+', "common"),), ((0, "common", 1),))
    text = "start: INT\n%import common.INT"
    _, kept = load_again(text, "start", older)
    assert kept == older
    grammar = Grammar.from_lark(text)
    content = grammar.__reduce__()[1]
    assert isinstance(content, tuple)
    with pytest.raises(ValueError, match="incompatible version"):  # the text differs
        _unpickle(*content[:5], older.plain())
    assert _unpickle(*content).imports == grammar.imports


def test_pickles_name_no_module_of_the_loader() -> None:
    """So that modules can be renamed, and older pickles still be read."""
    grammar = Grammar.from_lark(
        "start: INT X @a\n%import common.INT\n%declare X",
        declared={"X": "/x/"},
        grammars={"a": "start: INT\n%import common.INT"},
    )
    named = {name for _, name, _ in pickletools.genops(pickle.dumps(grammar)) if isinstance(name, str)}
    assert {name for name in named if name.startswith("earleymask")} == {"earleymask.grammar.grammar"}
    assert pickle.loads(pickle.dumps(grammar)) == grammar


# --- refusals --------------------------------------------------------------------------------------------------------

# name: (grammar, line, column, message, hint); Lark refuses them as well.
REFUSED = {
    "no file": ("start: x\n%import nowhere.x", 2, 1, "there is no `nowhere.lark` to import from", None),
    "no file in a folder": ("start: x\n%import inner.nowhere.x", 2, 1, "there is no `inner/nowhere.lark`", None),
    "defined too": ('start: x\n%import ab.x\nx: "a"', 3, 1, "`x` is both imported and defined", "%override"),
    "override of nothing": ('start: "a"\n%override x: "b"', 2, 11, "there is no `x` for `%override`", None),
    "override too early": ('start: x\n%override x: "b"\nx: "a"', 2, 11, "there is no `x` for `%override`", None),
    "extend of nothing": ('start: "a"\n%extend x: "b"', 2, 9, "there is no `x` for `%extend`", None),
    "extend of a template": ('start: x\nx: "a"\n%extend x{y}: y', 3, 9, "`x` has no parameters", "same"),
    "extend with other parameters": ('start: x{"a"}\nx{y}: y\n%extend x{y, z}: y', 3, 9, "has the parameters y", None),
    "extend of a declared one": ('start: "a"\n%declare X\n%extend X: "b"', 3, 9, "`X` is only declared", None),
    "declared twice": ('start: "a"\n%declare X X', 2, 12, "`X` is defined more than once", None),
    "declared and defined": ('start: X\n%declare X\nX: "x"', 3, 1, "`X` is defined more than once", None),
    "declared nothing": ('start: "a"\n%declare', 2, 9, "a name is expected here", None),
    "declared a string": ('start: "a"\n%declare "a"', 2, 10, "a name is expected here", None),
    "nothing to override": ("start: x\n%override", 2, 10, "a definition is expected after `%override`", None),
    "import of a string": ('start: "a"\n%import "a"', 2, 9, "a name is expected here", None),
    "mangled name of what has one": ("start: w ab__x\n%import ab.x -> w", 1, 10, "`ab__x` is not defined", None),
    "mangled name beside the name": ("start: x ab__x\n%import ab.x", 1, 10, "`ab__x` is not defined", None),
    "override by a mangled name of what has one": (
        'start: w\n%import ab.x -> w\n%override ab__x: "b"', 3, 11, "there is no `ab__x` for `%override`", None
    ),
    "in a circle": ("start: y\n%import circle.y", None, None, "imports itself", "a third text"),
}  # fmt: skip


def test_extending_an_imported_template(folder: Path) -> None:
    text = 'start: list{"c"}\n%import lists.list\n%extend list{x}: x "c"'
    with pytest.raises(LarkGrammarError, match="different parameters"):  # Lark has renamed the parameters
        lark_parser(text, import_paths=[str(folder)])
    grammar = Grammar.from_lark(text, import_paths=[folder])
    assert [we_accept(grammar, written) for written in ("acb", "cc", "acc")] == [True, True, False]


def test_a_name_that_is_only_declared_in_a_file_stays_so(folder: Path) -> None:
    text = 'start: s X\nX: "x"\n%import declares.start -> s'
    assert lark_parser(text, import_paths=[str(folder)])
    with pytest.raises(GrammarError, match="`X` is only declared") as caught:
        Grammar.from_lark(text, import_paths=[folder])
    assert (caught.value.line, caught.value.column) == (1, 10)
    grammar = Grammar.from_lark(text, import_paths=[folder], declared={"X": '"b"'})
    assert we_accept(grammar, "abx") and not we_accept(grammar, "axx")


@pytest.mark.parametrize("name", REFUSED)
def test_refused_as_lark_does(name: str, folder: Path) -> None:
    text, line, column, message, hint = REFUSED[name]
    if name != "in a circle":  # Lark recurses until Python stops it
        assert not lark_loads(text, import_paths=[str(folder)])
    with pytest.raises(GrammarError, match=re.escape(message)) as caught:
        Grammar.from_lark(text, import_paths=[folder])
    if line is not None:
        assert (caught.value.line, caught.value.column) == (line, column), str(caught.value)
    assert hint is None or hint in (caught.value.hint or "")


def test_imports_of_what_is_not_there() -> None:
    """An import of something that is not there is no error unless it is used; it is a warning."""
    grammar = Grammar.from_lark('start: "a"\n%import common.NOPE')
    assert [str(w) for w in grammar.warnings] == ["line 2, column 1: `common` has no `NOPE`; nothing uses this import"]
    with pytest.raises(GrammarError) as caught:
        Grammar.from_lark("start: y\ny: x zz\n%import m.x", loader={"m": 'xx: "a"'})
    assert [(e.line, e.message) for e in caught.value.errors] == [
        (2, "rule `zz` is not defined"),
        (3, "module `m` has no `x`"),
    ]


def test_circles_are_named(folder: Path) -> None:
    with pytest.raises(GrammarError) as caught:
        Grammar.from_lark("start: y\n%import circle.y", loader=as_modules())
    error = caught.value
    assert error.message == "`circle` imports itself: the grammar -> circle -> circle2 -> circle"
    assert (error.source, error.line) == ("circle2", 1)
    itself = folder / "itself.lark"
    itself.write_text("start: x\nx: start\n%import .itself.start -> y")
    with pytest.raises(GrammarError, match="imports itself"):
        Grammar.from_lark_file(itself)


def test_errors_name_the_imported_text(folder: Path) -> None:
    with pytest.raises(GrammarError) as caught:
        Grammar.from_lark("start: x\n%import broken.x", import_paths=[folder])
    error = caught.value
    assert error.source == str(folder / "broken.lark") and (error.line, error.column) == (2, 4)
    assert str(error).startswith(f"in {folder / 'broken.lark'}, line 2, column 4: `(` is never closed\n    x: ( ")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    with pytest.raises(GrammarError) as caught:
        Grammar.from_lark("start: s\n%import undefined.start -> s", loader=as_modules())
    assert (caught.value.source, caught.value.line, caught.value.column) == ("undefined", 1, 12)


def test_no_file_is_read_unless_allowed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for text in ("start: x\n%import ab.x", "start: x\n%import .ab.x"):
        with pytest.raises(GrammarError) as caught:
            Grammar.from_lark(text)
        assert "import_paths=" in (caught.value.hint or "")
    with pytest.raises(GrammarError):
        Grammar.from_lark("start: x\n%import ...etc.x", import_paths=[folder / "inner"])
    with pytest.raises(GrammarError, match="there is no"):
        Grammar.from_lark("start: x\n%import .ab.x", loader={})


def test_lark_looks_beside_the_program(tmp_path: Path) -> None:
    """For a relative import in a text without a file, Lark reads files beside the running program; we read none."""
    (tmp_path / "ab.lark").write_text(FILES["ab"])
    grammar = "start: x\\n%import .ab.x"
    (tmp_path / "program.py").write_text(
        f"import lark\nfrom earleymask import Grammar, GrammarError\ntext = '{grammar}'\nparser = lark.Lark(text)\n"
        "print(len(list(parser.parse('ab').children)), Grammar.from_lark(parser).imports[0].name[-7:])\n"
        "try:\n    Grammar.from_lark(text)\nexcept GrammarError as error:\n    print(error.message)\n"
    )
    run = subprocess.run([sys.executable, tmp_path / "program.py"], capture_output=True, text=True, check=True)
    assert run.stdout == "1 ab.lark\n`ab.lark` cannot be imported: reading files is not allowed\n"


def test_mistakes_in_what_nothing_uses(folder: Path) -> None:
    """Lark checks everything that is imported; here, names that nothing uses may be undefined in an imported text."""
    text = "start: x\n%import m (x, z)"
    modules = {"m": 'x: "a"\nz: "b" | nowhere'}

    def loader(base: Any, path: str) -> tuple[str, str]:
        return path, modules[path.removesuffix(".lark")]

    assert not lark_loads(text, import_paths=[loader])
    assert we_accept(Grammar.from_lark(text, loader=modules), "a")


def test_imports_are_limited() -> None:
    modules = {f"m{i}": f'%import m{i + 1}.x -> p\n%import n{i + 1}.x -> q\nx: p | q | "a"' for i in range(40)}
    modules["m40"] = 'x: "a"'
    modules |= {name.replace("m", "n"): text for name, text in modules.items()}
    with pytest.raises(LimitError, match="more than 1000 texts are imported"):
        Grammar.from_lark("start: x\n%import m0.x", loader=modules)
    chain = {f"m{i}": f"%import m{i + 1}.x" for i in range(200)}
    with pytest.raises(LimitError, match="a chain of imports has more than 100 texts"):
        Grammar.from_lark("start: x\n%import m0.x", loader=chain)
    with pytest.raises(LimitError, match="more than 10000 definitions are changed"):
        Grammar.from_lark('start: "a"\n' + '%extend start: "b"\n' * 20_000)
    assert we_accept(Grammar.from_lark('start: "a"\n' + '%extend start: "b"\n' * 10_000), "b")
    with pytest.raises(LimitError, match="characters"):
        Grammar.from_lark("start: x\n%import m.x", loader={"m": "//" + "x" * (9 << 20)})


def test_arguments_are_checked() -> None:
    for options, message in (
        ({"import_paths": "folder"}, "must be a list of folders"),
        ({"import_paths": [1]}, "must hold folders or loaders, not int"),
        ({"loader": 3}, "loader must be a function or a mapping"),
        ({"loader": {"m": b"x: y"}}, "the text of module 'm' must be a str, not bytes"),
        ({"declared": {"X": 1}}, "declared must map names to expressions"),
    ):
        with pytest.raises(TypeError, match=message):
            Grammar.from_lark("start: x\n%import m.x", **options)  # type: ignore[arg-type]


# --- %declare --------------------------------------------------------------------------------------------------------


def test_declared_names_are_what_the_caller_says() -> None:
    text = 'start: (INDENT ID DEDENT)+ (DOT | "!" INDENT)\n%declare INDENT DEDENT ID\n%declare DOT\nignored: "c"'
    declared = {"INDENT": "<|indent|>", "DEDENT": '"d"', "ID": '/[ab]+/ "c"?', "DOT": '"."'}
    grammar = Grammar.from_lark(text, declared=declared)
    vocabulary = Vocabulary.from_tokens(
        [bytes([i]) for i in range(256)] + [b""] * 2, eos_token_id=256, special_tokens={"<|indent|>": 257}
    )

    def accepted(tokens: list[int]) -> bool:
        matcher = Matcher(grammar, vocabulary)
        return all(matcher.accept(token) for token in tokens) and matcher.is_accepting()

    assert accepted([257, *b"abcd."]) and accepted([257, *b"ad", 257, *b"bd!", 257])
    assert not accepted([257, *b"cd."]) and not accepted([*b"abcd."])
    assert pickle.loads(pickle.dumps(grammar)) == grammar
    assert Grammar.from_lark(text, declared={**declared, "ID": "/a/"}) != grammar


@pytest.mark.parametrize(
    ("text", "declared", "message"),
    [
        ("start: X\n%declare X", {}, "`X` is only declared"),
        ("start: A\nA: X\n%declare X", {}, "`X` is only declared"),
        ("start: x\n%declare x", {"x": '"a"'}, "`x` is a rule, and only terminals can be declared"),
        ("start: _NEWLINE _INDENT\n%import python (_NEWLINE, _INDENT)", {}, "`_INDENT` is only declared"),
        ('start: "a"', {"X": "/x/"}, "the text does not declare `X`"),
        ("start: X\n%declare X", {"X": "/(/"}, "missing )"),
        ("start: X\n%declare X", {"X": "Y"}, "terminal `Y` is not defined"),
        ("start: X\n%declare X", {"X": '"x"\nstart: "y"'}, "must be one expression"),
        ("start: X\n%declare X", {"X": '"x'}, "does not end on its line"),
        ("start: A\nA: X\n%declare X", {"X": "<|x|>"}, "special token `<|x|>` cannot be inside a terminal"),
    ],
)
def test_declared_names_without_meaning(text: str, declared: dict[str, str], message: str) -> None:
    with pytest.raises(GrammarError, match=re.escape(message)):
        Grammar.from_lark(text, declared=declared)


def test_a_declared_name_of_a_library() -> None:
    text = 'start: "a" _INDENT\n%import python._INDENT'
    grammar = Grammar.from_lark(text, declared={"_INDENT": "/ +/"})
    assert we_accept(grammar, "a  ") and not we_accept(grammar, "a")


def test_a_terminal_may_name_a_special_token() -> None:
    grammar = Grammar.from_lark('start: "a" CALL\nCALL: <|call|>')
    assert grammar.engine.special_names == ("<|call|>",)


# --- lark.Lark objects -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{}, {"parser": "lalr"}, {"parser": "earley", "lexer": "dynamic"}, {"parser": "cyk"}]
)
def test_parsers_of_lark_are_grammars(options: dict[str, Any], folder: Path) -> None:
    text = "start: x z\n%import ab (x, z)"
    parser = Lark(text, import_paths=[str(folder)], **options)
    grammar = Grammar.from_lark(parser)
    assert grammar == Grammar.from_lark(text, import_paths=[folder])
    mask = Constraint(parser).mask(list(b"ab"))
    assert [chr(token) for token in mask.nonzero()[0]] == ["c"]


def test_start_rules_of_parsers() -> None:
    parser = Lark('p: "a"\nq: "b"', start="q")
    assert Grammar.from_lark(parser).start == "q"
    assert Grammar.from_lark(parser, start="p").start == "p"
    several = Lark('p: "a"\nq: "b"', start=["q", "p"])
    with pytest.raises(GrammarError, match="has the start rules q, p"):
        Grammar.from_lark(several)
    assert Grammar.from_lark(several, start="p").start == "p"


def test_parsers_of_files(folder: Path) -> None:
    parser = Lark.open(str(folder / "outer.lark"), parser="lalr")
    assert Grammar.from_lark(parser) == Grammar.from_lark_file(folder / "outer.lark")


class Indenter:
    always_accept = ()

    def process(self, stream: Any) -> Any:
        return stream


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parser": "lalr", "postlex": Indenter()}, "`postlex`: Python code makes tokens"),
        ({"parser": "lalr", "edit_terminals": lambda terminal: None}, "`edit_terminals`"),
        ({"parser": "lalr", "g_regex_flags": re.I}, "`g_regex_flags`"),
        ({"parser": "lalr", "use_bytes": True}, "`use_bytes`"),
    ],
)
def test_parsers_that_are_more_than_a_grammar_are_refused(options: dict[str, Any], message: str) -> None:
    parser = Lark('start: "a"', **options)
    with pytest.raises(GrammarError, match=message):
        Grammar.from_lark(parser)
    with pytest.raises(GrammarError, match=message):
        Constraint(parser)


def test_other_objects_are_refused() -> None:
    with pytest.raises(TypeError, match=r"text must be a str or a lark.Lark, not bytes"):
        Grammar.from_lark(b'start: "a"')  # type: ignore[arg-type]

    class Like:
        source_path = "x"

    with pytest.raises(TypeError, match=r"text must be a str or a lark.Lark, not Like"):
        Grammar.from_lark(Like())  # type: ignore[arg-type]
