"""Stubs and compiled modules agree in names, parameters and docstrings.

`test_typing.py` checks what the stubs' types mean to a type checker.
"""

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from support.paths import ROOT

STUBS = sorted(path for folder in ("trie", "earley") for path in (ROOT / folder).glob("*.pyi"))
Definition = ast.FunctionDef | ast.ClassDef


def module_of(stub: Path) -> ModuleType:
    return importlib.import_module(f"earleymask.{stub.parent.name}.{stub.stem}")


def definitions(stub: Path) -> Iterator[tuple[str, Definition]]:
    """Yield the public classes, functions and methods of a stub with their dotted names."""
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, Definition) and not node.name.startswith("_"):
            yield node.name, node
            for member in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(member, ast.FunctionDef):
                    yield f"{node.name}.{member.name}", member


def find(module: ModuleType, name: str) -> object:
    found: object = module
    for part in name.split("."):
        found = getattr(found, part)
    return found


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a docstring, each as one line."""
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n") if paragraph.strip()]


@pytest.mark.parametrize("stub", STUBS, ids=lambda path: path.stem)
def test_what_a_stub_declares_exists(stub: Path) -> None:
    module = module_of(stub)
    for name, node in definitions(stub):
        runtime = find(module, name)
        # `__init__` has the arguments of the class, which Cython's `__cinit__` takes and no signature shows.
        if isinstance(node, ast.ClassDef) or name.endswith("__init__"):
            continue
        decorators = {decorator.id for decorator in node.decorator_list if isinstance(decorator, ast.Name)}
        if "property" in decorators:
            assert not callable(runtime), f"{name} is a property in the stub alone"
            continue
        declared = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
        declared += [node.args.vararg.arg] if node.args.vararg else []
        declared += [argument.arg for argument in node.args.kwonlyargs]
        if "classmethod" in decorators:
            assert inspect.ismethod(runtime) or getattr(runtime, "__self__", None) is not None, name
            declared.pop(0)  # the class, which is bound already
        assert list(inspect.signature(runtime).parameters) == declared, name  # type: ignore[arg-type]
        n_optional = sum(p.default is not p.empty for p in inspect.signature(runtime).parameters.values())  # type: ignore[arg-type]
        assert n_optional == len(node.args.defaults) + sum(d is not None for d in node.args.kw_defaults), name


@pytest.mark.parametrize("stub", STUBS, ids=lambda path: path.stem)
def test_a_stub_leaves_nothing_public_out(stub: Path) -> None:
    module = module_of(stub)
    declared = {name for name, _ in definitions(stub)}
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        for member in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
                declared.add(f"{node.name}.{member.target.id}")
    for name, found in vars(module).items():
        if inspect.isclass(found) and found.__module__ == module.__name__ and not name.startswith("_"):
            assert name in declared
            missing = {f"{name}.{member}" for member in vars(found) if not member.startswith("_")} - declared
            assert not missing


@pytest.mark.parametrize("stub", STUBS, ids=lambda path: path.stem)
def test_docstrings_of_stub_and_module_agree(stub: Path) -> None:
    """A stub has every paragraph of the compiled module's docstring, unless the latter refers to the stub."""
    module = module_of(stub)
    for name, node in definitions(stub):
        if name.endswith("__init__"):
            continue
        declared = ast.get_docstring(node)
        assert declared, f"{name} has no docstring in the stub"
        runtime = inspect.getdoc(find(module, name)) or ""
        if f"{stub.stem}.pyi" not in runtime:
            missing = set(paragraphs(runtime)) - set(paragraphs(declared))
            assert not missing, name
