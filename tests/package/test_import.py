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
    "earleymask.earley.explanation",
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


def test_the_logits_processor_is_imported_when_first_used() -> None:
    pytest.importorskip("transformers")
    before = loaded("import earleymask; earleymask.Row, earleymask.GrammarWarning; dir(earleymask)")
    assert not before & {"torch", "transformers"}
    program = (
        "import earleymask; from earleymask import GrammarLogitsProcessor, model_vocabulary;"
        "from earleymask.integration import transformers as there;"
        "assert GrammarLogitsProcessor is there.GrammarLogitsProcessor is earleymask.GrammarLogitsProcessor;"
        "assert model_vocabulary is there.model_vocabulary"
    )
    assert {"torch", "transformers"} <= loaded(program)


@pytest.mark.parametrize("missing", ["torch", "transformers"])
def test_without_transformers_the_error_says_what_to_install(missing: str) -> None:
    pytest.importorskip("transformers")
    program = (
        f"import sys; sys.modules[{missing!r}] = None; import earleymask\n"
        "try: earleymask.GrammarLogitsProcessor\n"
        "except ImportError as error: print(error)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == (
        "earleymask.GrammarLogitsProcessor needs torch and transformers: pip install torch transformers\n"
    )


def test_other_names_are_not_there() -> None:
    import earleymask

    with pytest.raises(AttributeError, match="module 'earleymask' has no attribute 'LogitsProcessor'"):
        earleymask.LogitsProcessor  # noqa: B018
    assert not hasattr(earleymask, "Grammars")


INTERPRETER = """
import sys
try:
    import _interpreters as interpreters
    made, run = interpreters.create("legacy"), interpreters.exec
except ImportError:
    import _xxsubinterpreters as interpreters
    made, run = interpreters.create(), interpreters.run_string
{before}
run(made, '''
import sys, warnings
sys.path[:] = {path!r}
warnings.simplefilter("ignore")
for _ in range(2):
    try:
        import earleymask
    except ImportError as error:
        print(error, flush=True)
''')
{after}
"""
REFUSAL = (
    "earleymask does not support interpreters of their own (sub-interpreters): import it in the main interpreter, "
    "or in a process of its own; with mod_wsgi, set WSGIApplicationGroup %{GLOBAL}\n"
)
USE = "import earleymask; print(earleymask.Constraint('start: /ab/').mask().sum())"


@pytest.mark.parametrize("before", ["", USE], ids=["first", "after the main interpreter"])
def test_other_interpreters_refuse_in_one_sentence(before: str) -> None:
    """In the main interpreter, earleymask works afterwards, too."""
    program = INTERPRETER.format(before=before, after=USE, path=sys.path)
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert child.returncode == 0, child.stderr
    assert child.stdout == ("1\n" if before else "") + 2 * REFUSAL + "1\n"
