"""The headers of compiled modules: a `.pxd` beside a `.py` must speak of what is in the `.py`.

Cython takes types from the header without a word about names that no longer exist, so a renamed variable quietly loses
its type, and with it what the header was written for.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.paths import ROOT

HEADERS = sorted(
    path
    for folder in ("trie", "earley", "grammar", "integration", "earleymask")
    for path in (ROOT / folder).rglob("*.pxd")
    if path.with_suffix(".py").exists()
)
DECLARATION = re.compile(r"(?:cdef|cpdef)\s+(?P<head>[^()=]*?)(?P<name>\w+)\((?P<arguments>.*)\)")
FIELD = re.compile(r"cdef\s+(?:public\s+|readonly\s+)?[\w.]+\**\s+(?P<names>\w+(?:\s*,\s*\w+)*)$")


class Declared:
    """A function in a header: the names of its arguments, and of the variables that `cython.locals` types."""

    def __init__(self, arguments: list[str], typed: list[list[str]]) -> None:
        self.arguments = arguments
        self.typed = typed


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a header with their indentation. Comments are stripped, and lines are joined within brackets."""
    joined, indent = "", 0
    for line in text.splitlines():
        line = line.split("#")[0].rstrip()
        if not joined:
            indent = len(line) - len(line.lstrip())
        joined = f"{joined} {line.strip()}".strip()
        if joined and joined.count("(") == joined.count(")"):
            yield indent, joined
            joined = ""


def split(arguments: str) -> list[str]:
    """The arguments of a call or a declaration, apart at the commas that are in no brackets."""
    parts, depth = [""], 0
    for character in arguments:
        depth += (character in "([") - (character in ")]")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def declared(header: Path) -> tuple[dict[str, Declared], dict[str, set[str]]]:
    """The functions of a header by qualified name, and the fields of its classes."""
    functions: dict[str, Declared] = {}
    fields: dict[str, set[str]] = {}
    owner, typed = "", []
    for indent, line in logical_lines(header.read_text(encoding="utf-8")):
        if not indent:
            owner = ""
        if line.startswith("@cython.locals("):
            inside = line.removeprefix("@cython.locals(").rstrip(")")
            typed.append([pair.partition("=")[0].strip() for pair in split(inside)])
        elif match := re.match(r"cdef class (\w+)", line):
            owner = match[1]
            fields[owner] = set()
        elif (match := DECLARATION.match(line)) and "class " not in match["head"]:
            names = [
                re.split(r"[\s*]+", argument.partition("=")[0].strip())[-1] for argument in split(match["arguments"])
            ]
            functions[f"{owner}.{match['name']}".strip(".")] = Declared(names, typed)
            typed = []
        elif (match := FIELD.match(line)) and owner:
            fields[owner] |= set(re.split(r"\s*,\s*", match["names"]))
    assert not typed, f"{header.name}: a @cython.locals with no function after it"
    return functions, fields


def written(module: Path) -> dict[str, ast.FunctionDef]:
    """The functions and methods of a module by qualified name."""
    functions = {}
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        inside = [(f"{node.name}.", child) for child in node.body] if isinstance(node, ast.ClassDef) else [("", node)]
        functions.update({prefix + child.name: child for prefix, child in inside if isinstance(child, ast.FunctionDef)})
    return functions


def argument_names(function: ast.FunctionDef) -> list[str]:
    given = function.args
    return [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


def variables(function: ast.FunctionDef) -> set[str]:
    """The names that a function binds and that `cython.locals` can type."""
    found = set(argument_names(function))
    agenda: list[ast.AST] = list(function.body)
    while agenda:
        node = agenda.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
        if isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef | ast.GeneratorExp):
            continue  # a scope of its own; the variables of other comprehensions take their types from outside
        agenda += ast.iter_child_nodes(node)
    return found


def assigned_fields(module: Path, owner: str) -> set[str]:
    """The attributes that a class declares in its body or assigns to `self`, or the module assigns to any object."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    found = {
        node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == owner:
            found |= {
                child.target.id
                for child in node.body
                if isinstance(child, ast.AnnAssign) and isinstance(child.target, ast.Name)
            }
    return found


def typed_variables(header: Path) -> set[str]:
    """The variables of a module to which its header gives C types. Compiled, they are no attributes of the module."""
    found = set()
    for indent, line in logical_lines(header.read_text(encoding="utf-8")):
        match = FIELD.match(line)
        if match and not indent:
            found |= set(re.split(r"\s*,\s*", match["names"]))
    return found


def test_nothing_imports_a_variable_that_a_header_types() -> None:
    wrong = []
    n_typed = 0
    hidden = {header.with_suffix(""): typed_variables(header) for header in HEADERS}
    for folder in ("grammar", "integration", "earleymask"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and node.level and node.module:
                    target = path.parents[node.level - 1].joinpath(*node.module.split("."))
                    n_typed += target in hidden
                    names = {alias.name for alias in node.names} & hidden.get(target, set())
                    wrong += [f"{path.relative_to(ROOT)} imports {name} of {target.name}" for name in sorted(names)]
    assert n_typed > 50 and any(hidden.values())
    assert not wrong


@pytest.mark.parametrize("header", HEADERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_header_speaks_of_what_its_module_has(header: Path) -> None:
    module = header.with_suffix(".py")
    functions, fields = declared(header)
    there = written(module)
    wrong = []
    for name, function in functions.items():
        if name not in there:
            wrong.append(f"{name}: there is no such function")
            continue
        if len(function.typed) > 1:
            wrong.append(f"{name}: {len(function.typed)} @cython.locals, of which Cython takes one")
        stale = {variable for typed in function.typed for variable in typed} - variables(there[name])
        wrong += [f"{name}: it has no variable {variable}" for variable in sorted(stale)]
        if function.arguments != argument_names(there[name]):
            wrong.append(f"{name}: its arguments are {argument_names(there[name])}, not {function.arguments}")
    classes = {
        node.name for node in ast.parse(module.read_text(encoding="utf-8")).body if isinstance(node, ast.ClassDef)
    }
    for owner, names in fields.items():
        if owner not in classes:
            wrong.append(f"{owner}: there is no such class")
        wrong += [
            f"{owner}: nothing assigns {name}"
            for name in sorted(names - assigned_fields(module, owner) - {"__weakref__"})
        ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("header", HEADERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_header_names_its_module(header: Path) -> None:
    first = header.read_text(encoding="utf-8").split("\n", 1)[0]
    assert re.findall(r"\w+\.py\b", first)[:1] == [header.with_suffix(".py").name], first


def test_there_are_headers() -> None:
    assert len(HEADERS) > 20
    assert sum(len(declared(header)[0]) for header in HEADERS) > 300
