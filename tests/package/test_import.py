"""What `import earleymask` reads: numpy, the core and little else. The rest is imported by whatever needs it first."""

import subprocess
import sys

import pytest

# Each of these takes milliseconds, and most programs never need it.
LATE = {
    "argparse",
    "concurrent.futures",
    "difflib",
    "hashlib",
    "json",
    "logging",
    "pathlib",
    "earleymask.cli",
    "earleymask.commands",
    "earleymask.grammar.gbnf",
    "earleymask.grammar.json_schema",
    "earleymask.grammar.lark",
    "earleymask.grammar.regex",
    "earleymask.integration",
    "earleymask.trie.prebuilt",
    "numpy.typing",
}


def loaded(statement: str) -> set[str]:
    """Return the names of the modules that a fresh process has after this statement."""
    command = [sys.executable, "-c", f"{statement}; import sys; print(*sys.modules)"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


@pytest.fixture(scope="module")
def read() -> set[str]:
    """The modules that are there after `import earleymask` and that `import numpy` alone does not read."""
    return loaded("import earleymask") - loaded("import numpy")


def test_no_other_package_is_imported(read: set[str]) -> None:
    others = {name.partition(".")[0] for name in read} - set(sys.stdlib_module_names)
    # Cython makes modules of its own in every process that loads one of its extensions; `setup.py` names the last one.
    of_cython = ("_cython", "cython_runtime", "_earleymask_shared")
    assert {name for name in others if not name.startswith(of_cython)} == {"earleymask"}


def test_front_ends_and_rare_helpers_are_imported_late(read: set[str]) -> None:
    assert not read & LATE


@pytest.mark.parametrize(
    ("statement", "front_end"),
    [
        ("from_lark('start: \"a\"')", "lark"),
        ("from_gbnf('root ::= \"a\"')", "gbnf"),
        ("from_json_schema({'const': 1})", "json_schema"),
        ("from_choices(['a'])", "regex"),
    ],
)
def test_a_grammar_imports_its_own_front_end_only(statement: str, front_end: str) -> None:
    names = loaded(f"import earleymask; earleymask.Grammar.{statement}")
    others = {"lark", "gbnf", "json_schema"} - {front_end}
    assert f"earleymask.grammar.{front_end}" in names
    assert not names & {"torch", "transformers", "argparse", *(f"earleymask.grammar.{other}" for other in others)}
