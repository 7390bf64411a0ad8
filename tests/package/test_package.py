"""The installed package: names of modules, the direction of imports, and what a build must contain."""

import ast
import functools
import importlib
import pickle
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from support.paths import ROOT

PACKAGE = "earleymask"
# What each folder may import from; a folder may always import from itself.
ALLOWED = {
    "trie": set(),
    "earley": {"trie"},
    "grammar": {"trie", "earley"},
    "integration": {"trie", "earley", "grammar", "earleymask"},
    "earleymask": {"trie", "earley", "grammar", "integration"},
}
# The same within `grammar/`, for its folders and for the modules that stand beside them. All may import `COMMON`.
COMMON = {"bits", "errors", "kept", "loading", "source"}
ALLOWED_IN_GRAMMAR = {
    "bits": set(),
    "errors": set(),
    "kept": set(),
    "loading": set(),
    "source": set(),
    "token_ids": set(),
    "other_syntax": set(),
    "regex": set(),
    "json": {"regex"},
    "model": {"regex"},
    "gbnf": {"model", "regex", "token_ids", "other_syntax"},
    "json_schema": {"json", "regex"},
    "arguments": {"json", "json_schema", "model", "regex"},
    # `lark/embedded` reads `%json` with `json_schema`.
    "lark": {"model", "regex", "json", "json_schema", "token_ids", "other_syntax"},
    # `tags` leaves it to `lark/embedded` to lay out what Lark grammars within a structural tag ignore.
    "tags": {"model", "regex", "json_schema", "arguments", "gbnf", "lark"},
    "within": {"regex", "gbnf", "tags", "lark"},
    "tools": {"json_schema", "arguments"},
    "grammar": {"model", "regex", "json", "gbnf", "json_schema", "lark", "tags", "tools", "within"},
}
# The only circles of imports, one string of modules each, named below the package. Two modules that import each other
# cannot be read one after the other: add a circle here only with a reason, and shorten the list when one comes apart.
CIRCLES = [
    # `_nodes` derives a node of any kind, with the help of `_choices` or `_multiples` if it is a list of texts or
    # computes multiples; both make nodes.
    "earley._choices earley._multiples earley._nodes",
    # `_chart` asks `_demands` whether demands can be met where its own search does not end; that moves the dots of the
    # chart's rows.
    "earley._chart earley._demands",
    # `Matcher.ahead` begins likely texts, which go on where a matcher stands.
    "earley._likely earley._matcher",
]
# The same with what is imported under `if TYPE_CHECKING`, which nothing follows at run time, and with the headers
# (`.pxd`) of `grammar/`. A compiled module imports the modules that its header names before it runs its own statements;
# so none of them may import a name from it at once: see `test_modules_of_a_circle_can_be_imported_first`.
CIRCLES_OF_TYPES = [
    # The algebra owns the operations on sets; those on shapes of objects call it back in C.
    "grammar.json_schema.algebra grammar.json_schema.object_sets grammar.json_schema.value_sets",
    # The loader makes rules, rehearses, looks for what is impossible and for what refuses a text. Rules call it back in
    # C; the others are given the class of loaders, or a function, to make one.
    """grammar.json_schema.followed_items grammar.json_schema.load grammar.json_schema.object_rules
    grammar.json_schema.rehearsal grammar.json_schema.why_empty grammar.json_schema.why_not""",
    # The same circle with the handle that `Matcher.ahead` returns.
    "earley._likely earley._matcher earley.warming",
]
# Frameworks that only adapters may know.
FRAMEWORKS = {"torch", "transformers", "vllm", "sglang", "llama_cpp", "starlette", "uvicorn"}


def sources(folder: str) -> list[Path]:
    return sorted(path for pattern in ("*.py", "*.pyx", "*.pxd", "*.pyi") for path in (ROOT / folder).rglob(pattern))


def module_of(path: Path) -> str:
    """Return the name under which a source file of the repository is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    name = ".".join(parts if parts[0] == PACKAGE else (PACKAGE, *parts))
    return name.removesuffix(".__init__")


MODULES = {module_of(path) for folder in ALLOWED for path in sources(folder)}


def imported_modules(path: Path, folder: str) -> set[str]:
    """Return the absolute names of the modules that a source file imports at any depth, for types included."""
    return {name for name, _ in imports(path, folder)}


def imports(path: Path, folder: str) -> set[tuple[str, bool]]:
    """Return what a source file imports: absolute names, and whether the import serves type checkers alone."""
    text = path.read_text(encoding="utf-8")
    names: set[tuple[str, bool]] = set()
    below = path.relative_to(ROOT / folder).parts[:-1] if path.is_relative_to(ROOT) else ()
    package = ".".join((PACKAGE, *(() if folder == PACKAGE else (folder,)), *below))
    if path.suffix in (".py", ".pyi"):
        tree = ast.parse(text)
        for_types = {
            id(node)
            for test in ast.walk(tree)
            if isinstance(test, ast.If) and ast.unparse(test.test).split(".")[-1] == "TYPE_CHECKING"
            for statement in test.body
            for node in ast.walk(statement)
        }
        for node in ast.walk(tree):
            found = set()
            if isinstance(node, ast.Import):
                found = {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found = resolve(package, node.level, node.module or "", [alias.name for alias in node.names])
            names |= {(name, path.suffix == ".pyi" or id(node) in for_types) for name in found}
        return names
    # Cython is not Python to `ast`, but each of its imports is one logical line.
    text = re.sub(r"\\\n", " ", re.sub(r"\(([^()]*)\)", lambda match: match[0].replace("\n", " "), text))
    found = set()
    for match in re.finditer(r"^\s*from\s+(\.*)([\w.]*)\s+c?import\s+\(?([^#\n)]*)", text, re.M):
        imported = [name.split()[0] for name in match[3].split(",") if name.strip()]
        found |= resolve(package, len(match[1]), match[2], imported)
    for match in re.finditer(r"^\s*c?import\s+([\w.]+(?:\s*,\s*[\w.]+)*)", text, re.M):
        found |= {name.strip() for name in match[1].split(",")}
    # The header of a Python module (`grammar/**/*.pxd`) declares types; what the module itself imports is in its .py.
    return {(name, path.suffix == ".pxd" and path.with_suffix(".py").exists()) for name in found}


def resolve(package: str, level: int, module: str, imported: list[str]) -> set[str]:
    """Return the modules that `from <level dots><module> import <imported>` reads inside `package`."""
    if level == 0:
        base = module
    else:
        parts = package.split(".")
        base = ".".join(parts[: len(parts) - level + 1] + ([module] if module else []))
    # `from .. import errors` names modules if the package only contains others.
    gathers = base in (PACKAGE, f"{PACKAGE}.grammar")
    return {f"{base}.{name}" if gathers or f"{base}.{name}" in MODULES else base for name in imported}


def folder_of(module: str) -> str | None:
    """Return the folder of this repository to which a module's name belongs, or None for foreign modules."""
    parts = module.split(".")
    if parts[0] != PACKAGE:
        return None
    return parts[1] if len(parts) > 1 and parts[1] in ALLOWED else PACKAGE


@pytest.mark.parametrize("folder", ALLOWED)
def test_imports_point_one_way(folder: str) -> None:
    found = {(path.name, module) for path in sources(folder) for module in imported_modules(path, folder)}
    assert sources(folder), f"no sources in {folder}/"
    wrong = {(name, module) for name, module in found if folder_of(module) not in {None, folder, *ALLOWED[folder]}}
    assert not wrong, f"{folder}/ may import from {sorted(ALLOWED[folder])} only"


@pytest.mark.parametrize("room", ALLOWED_IN_GRAMMAR)
def test_imports_within_grammar_point_one_way(room: str) -> None:
    folder = ROOT / "grammar" / room
    paths = sources(f"grammar/{room}") if folder.is_dir() else sorted(folder.parent.glob(f"{room}.p*"))
    assert paths, f"no sources of grammar/{room}"
    prefix = f"{PACKAGE}.grammar."
    found = {
        (path.name, module.removeprefix(prefix).split(".")[0])
        for path in paths
        for module in imported_modules(path, "grammar")
        if module.startswith(prefix)
    }
    wrong = {(name, other) for name, other in found if other not in {room, *COMMON, *ALLOWED_IN_GRAMMAR[room]}}
    assert not wrong, f"grammar/{room} may import from {sorted(COMMON | ALLOWED_IN_GRAMMAR[room])} only"


def test_every_part_of_grammar_has_its_direction() -> None:
    parts = {path.stem for path in (ROOT / "grammar").iterdir() if path.is_dir() or path.suffix == ".py"}
    assert parts - {"__init__", "__pycache__"} == set(ALLOWED_IN_GRAMMAR)


def circles(arrows: dict[str, set[str]]) -> set[frozenset[str]]:
    """Return the sets of modules each of which leads to each other one (Tarjan's strongly connected components)."""
    found: set[frozenset[str]] = set()
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []

    def visit(module: str) -> None:
        order[module] = lowest[module] = len(order)
        path.append(module)
        for other in arrows.get(module, ()):
            if other not in order:
                visit(other)
            if other in path:
                lowest[module] = min(lowest[module], lowest[other])
        if lowest[module] == order[module]:
            circle = frozenset(path[path.index(module) :])
            del path[path.index(module) :]
            if len(circle) > 1:
                found.add(circle)

    for module in arrows:
        if module not in order:
            visit(module)
    return found


@functools.cache
def arrows(with_types: bool) -> dict[str, set[str]]:
    """Return what each module of the package imports of the package, at any depth."""
    found: dict[str, set[str]] = {}
    for folder in ALLOWED:
        for path in sources(folder):
            module = module_of(path)
            others = {name for name, for_types in imports(path, folder) if with_types or not for_types}
            found.setdefault(module, set()).update((others & MODULES) - {module})
    return found


def listed(names: Iterable[str]) -> list[frozenset[str]]:
    return [frozenset(f"{PACKAGE}.{name}" for name in line.split()) for line in names]


def test_no_circle_of_imports_is_left_but_the_listed_ones() -> None:
    """Imports within functions count as well: they only delay a circle until a call."""
    known = listed(CIRCLES)
    new = [sorted(circle) for circle in circles(arrows(with_types=False)) if not any(circle <= one for one in known)]
    assert not new, "modules import one another; move what they share, or list the circle with its reason"


def test_no_circle_of_types_is_left_but_the_listed_ones() -> None:
    """The same with what is imported for type checkers alone, and with the headers of compiled modules."""
    known = listed([*CIRCLES, *CIRCLES_OF_TYPES])
    new = [sorted(circle) for circle in circles(arrows(with_types=True)) if not any(circle <= one for one in known)]
    assert not new, "modules name one another's types; a `Protocol` or another place may do, or list it with its reason"


def test_no_listed_circle_has_come_apart() -> None:
    gone = {*listed(CIRCLES)} - circles(arrows(with_types=False))
    gone |= {*listed(CIRCLES_OF_TYPES)} - circles(arrows(with_types=True))
    assert not gone, "these are no circles any more, or smaller ones: shorten the lists"


@pytest.mark.parametrize("name", sorted(frozenset[str]().union(*listed(CIRCLES_OF_TYPES))))
def test_modules_of_a_circle_can_be_imported_first(name: str) -> None:
    """If they are compiled, each imports those that its header names before it has names of its own."""
    run = subprocess.run([sys.executable, "-c", f"import {name}"], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_circles_are_found() -> None:
    some = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d", "f"}, "f": set(), "g": {"a", "f"}}
    assert circles(some) == {frozenset("abc"), frozenset("de")}
    assert not circles({"a": {"b", "c"}, "b": {"c"}, "c": set()})


@pytest.mark.parametrize("folder", ["trie", "earley", "grammar", "earleymask"])
def test_only_adapters_import_frameworks_when_loaded(folder: str) -> None:
    """Core modules may meet a framework's objects, but never import the framework when they are loaded."""
    wrong = []
    for path in sources(folder):
        if path.suffix != ".py":
            continue
        top_level = ast.Module(ast.parse(path.read_text(encoding="utf-8")).body, [])
        for statement in top_level.body:
            if isinstance(statement, ast.Import):
                names = {alias.name.split(".")[0] for alias in statement.names}
            elif isinstance(statement, ast.ImportFrom) and statement.level == 0:
                names = {(statement.module or "").split(".")[0]}
            else:
                continue
            if names & FRAMEWORKS:
                wrong.append((path.name, names & FRAMEWORKS))
    assert not wrong


def test_the_import_reader_sees_what_it_should(tmp_path: Path) -> None:
    """The checks above are only as good as their reader of imports, which must understand every form of import."""
    cython = tmp_path / "a.pyx"
    cython.write_text(
        "from ..trie._trie cimport (TokenTrie,\n    node_byte)\nfrom earleymask.grammar import model\n"
        "from .. import grammar as g, errors\ncimport earleymask.earley._row\nfrom libc.stdint cimport uint32_t\n"
        "from . cimport _row\nfrom .. \\\n    import integration\n"
    )
    assert imported_modules(cython, "earley") == {
        "earleymask.trie._trie",
        "earleymask.grammar",
        "earleymask.grammar.model",
        "earleymask.errors",
        "earleymask.earley._row",
        "earleymask.earley",
        "earleymask.integration",
        "libc.stdint",
    }
    python = tmp_path / "b.py"
    python.write_text(
        "def f():\n    from ..grammar.model.model import Model\nimport earleymask.integration as i, json\n"
    )
    assert imported_modules(python, "trie") == {"earleymask.grammar.model.model", "earleymask.integration", "json"}
    python.write_text(
        "from ..grammar.regex import ast, lower as l\nfrom ..grammar.regex.ast import Node\nif TYPE_CHECKING:\n"
        "    from ..grammar import errors\nelse:\n    from ..grammar import source\n"
    )
    assert imports(python, "trie") == {
        ("earleymask.grammar.regex.ast", False),
        ("earleymask.grammar.regex.lower", False),
        ("earleymask.grammar.errors", True),
        ("earleymask.grammar.source", False),
    }
    assert folder_of("earleymask.grammar.model.model") == "grammar"
    assert folder_of("earleymask.errors") == "earleymask"
    assert folder_of("json") is None


@pytest.mark.parametrize("folder", ["trie", "earley", "grammar", "integration"])
def test_folders_are_importable_under_the_package(folder: str) -> None:
    module = importlib.import_module(f"{PACKAGE}.{folder}")
    assert module.__doc__


def test_the_version_is_the_installed_one() -> None:
    from importlib.metadata import version

    import earleymask

    assert version(PACKAGE) == earleymask.__version__


def test_the_type_information_is_installed() -> None:
    import earleymask

    assert Path(earleymask.__file__).with_name("py.typed").exists()


def test_every_cython_module_has_a_header_or_a_stub() -> None:
    """A module that Python imports has a stub beside it; one that only C uses has a header."""
    modules = [path for folder in ("trie", "earley") for path in (ROOT / folder).glob("*.pyx")]
    assert modules
    bare = [
        path.name for path in modules if not path.with_suffix(".pyi").exists() and not path.with_suffix(".pxd").exists()
    ]
    assert not bare


def test_errors_form_one_tree() -> None:
    from earleymask.earley.errors import LimitError, RejectedTokenError
    from earleymask.grammar.errors import GrammarError
    from earleymask.trie.errors import EarleymaskError, VocabularyError

    for error in (VocabularyError, LimitError, RejectedTokenError, GrammarError):
        assert issubclass(error, EarleymaskError)
    for error in (VocabularyError, RejectedTokenError, GrammarError):
        assert issubclass(error, ValueError)


def test_grammar_error_shows_the_place() -> None:
    from earleymask.grammar.errors import GrammarError

    error = GrammarError("rule 'b' is not defined", line=3, column=9, text="start:\ta b", hint="define it")
    assert str(error) == "line 3, column 9: rule 'b' is not defined\n    start:\ta b\n          \t ^\nhint: define it"
    assert str(GrammarError("the language is empty")) == "the language is empty"
    assert str(GrammarError("too long", line=7)) == "line 7: too long"


def test_errors_survive_pickling() -> None:
    """Errors keep their attributes when a server passes them to another process."""
    from earleymask.earley.errors import RejectedTokenError
    from earleymask.grammar.errors import GrammarError

    error = GrammarError("bad", line=1, column=2, text="ab", hint="c")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is GrammarError and vars(again) == vars(error) and str(again) == str(error)
    rejected = pickle.loads(pickle.dumps(RejectedTokenError("no", index=4, token_id=17)))
    assert type(rejected) is RejectedTokenError
    assert (str(rejected), rejected.index, rejected.token_id) == ("no", 4, 17)
