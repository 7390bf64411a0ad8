"""The table "Their name, our name" of docs/coming_from.md: the names on both sides exist."""

from __future__ import annotations

import importlib
import inspect
import re
from importlib.metadata import version
from typing import Any

import pytest

import earleymask
from support.paths import ROOT

PAGE = (ROOT / "docs" / "coming_from.md").read_text(encoding="utf-8")
SECTION = PAGE.split("\n## Their name, our name\n")[1].split("\n## ")[0]
ROWS = re.findall(r"^\| (?!engine|---)([\w.-]+) \| (.*?) \| (.*) \|$", SECTION, re.M)
PACKAGES = {
    "XGrammar": "xgrammar",
    "llguidance": "llguidance",
    "Outlines": "outlines",
    "outlines-core": "outlines_core",
}
NAME = re.compile(r"([A-Za-z_]\w*(?:\.\w+)*)(?:\(((?:\w+=(?:, )?)+)\))?")
"""A name in code, and the arguments that stand after it, as in `Vocabulary.from_tokens(size=, eos_token_id=)`."""


def found(package: Any, name: str) -> Any:
    """Return what a dotted name means in a package, importing the modules in it."""
    value = package
    path = package.__name__
    for part in name.split("."):
        path += f".{part}"
        if not hasattr(value, part):
            value = importlib.import_module(path)
        else:
            value = getattr(value, part)
    return value


def check_arguments(value: Any, written: str) -> None:
    parameters = inspect.signature(value).parameters
    for argument in written.split(", "):
        assert argument.rstrip("=") in parameters, (value, argument)


@pytest.mark.parametrize("engine", PACKAGES)
def test_their_names_are_there(engine: str) -> None:
    package = pytest.importorskip(PACKAGES[engine])
    described = re.search(rf"\b{PACKAGES[engine].replace('_', '-')}==(\S+)", PAGE)
    assert described
    if version(PACKAGES[engine]) != described[1]:
        pytest.skip(f"the page describes {engine} {described[1]}")
    checked = 0
    for row_engine, theirs, _ in ROWS:
        for code in re.findall(r"`([^`]*)`", theirs) if row_engine == engine else ():
            match = NAME.fullmatch(code)
            if match is not None:
                value = found(package, match[1])
                if match[2]:
                    check_arguments(value, match[2])
                checked += 1
    assert checked >= 4


def test_our_names_are_there() -> None:
    assert len(ROWS) > 40 and {engine for engine, _, _ in ROWS} == {*PACKAGES, "llama.cpp"}
    late = {"GrammarLogitsProcessor", "model_vocabulary"}  # of `transformers`, which need not be installed
    for row in ROWS:
        codes = re.findall(r"`([^`]*)`", row[2])
        names = [match for match in map(NAME.match, codes) if match is not None]
        ours = [match for match in names if match[1].split(".")[0] in {*earleymask.__all__, *late}]
        assert ours or "StructuralTag" in row[1] + row[2] or row[2].startswith(("`pickle.", "`np.")), row
        for match in ours:
            if match[1] not in late:
                value = found(earleymask, match[1])
                if match[2]:
                    check_arguments(value, match[2])
