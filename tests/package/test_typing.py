"""Stubs and annotations serve users: mypy accepts right uses and rejects wrong ones.

mypy checks each file in `typing_snippets/` with the installed package. A line that must be rejected names its error
codes in a comment, `# error: arg-type`; any other error, and any missing one, is a failure.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

SNIPPETS = Path(__file__).with_name("typing_snippets")
# Frameworks count as untyped: mypy would need a minute or more to read torch and transformers.
CONFIG = """
[mypy]
strict = True
ignore_missing_imports = True
follow_imports = silent
[mypy-torch.*,transformers.*,tokenizers.*,mistral_common.*,tiktoken.*,sentencepiece.*]
follow_imports = skip
"""
FOLDERS = ("", "trie", "earley", "grammar", "integration")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Counter[tuple[int, str]]]:
    """Run mypy once for all snippets; return file name -> (line, error code) -> how often."""
    # An import hook finds an editable install, and no type checker follows it, so the files are copied.
    work = tmp_path_factory.mktemp("typing")
    for folder in FOLDERS:
        spec = importlib.util.find_spec(".".join(filter(None, ("earleymask", folder))))
        assert spec is not None
        assert spec.origin is not None
        source = Path(spec.origin).parent
        for path in source.rglob("*"):
            if path.suffix in (".py", ".pyi") or path.name == "py.typed":
                target = work / "site" / "earleymask" / folder / path.relative_to(source)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)
    config = work / "mypy.ini"
    config.write_text(CONFIG)
    run = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--config-file", config, "--cache-dir", work / "cache"),
            *("--no-color-output", "--no-error-summary", "--hide-error-context"),
            *sorted(SNIPPETS.glob("*.py")),
        ],
        env={**os.environ, "MYPYPATH": str(work / "site")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode in (0, 1), run.stdout + run.stderr
    found: dict[str, Counter[tuple[int, str]]] = {path.name: Counter() for path in SNIPPETS.glob("*.py")}
    for line in run.stdout.splitlines():
        match = re.match(r"(.*?):(\d+): error: .*\[([\w-]+)\]$", line)
        if match:
            assert Path(match[1]).name in found, f"an error outside the snippets: {line}"
            found[Path(match[1]).name][int(match[2]), match[3]] += 1
        else:
            assert ": note: " in line, line
    return found


@pytest.mark.parametrize("name", sorted(path.name for path in SNIPPETS.glob("*.py")))
def test_mypy_says_what_the_snippet_expects(name: str, report: dict[str, Counter[tuple[int, str]]]) -> None:
    expected: Counter[tuple[int, str]] = Counter()
    for number, line in enumerate((SNIPPETS / name).read_text(encoding="utf-8").splitlines(), 1):
        _, _, codes = line.partition("  # error: ")
        for code in filter(None, map(str.strip, codes.split(","))):
            expected[number, code] += 1
    assert bool(expected) == name.startswith("rejected_"), "misuses stand in rejected_*.py, right uses in accepted_*.py"
    assert sorted((report[name] - expected).elements()) == [], "errors that no comment expects"
    assert sorted((expected - report[name]).elements()) == [], "errors that mypy does not give"
