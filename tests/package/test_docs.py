"""The examples in docs/ run and print what is below them.

A block marked `python` is an example. One marked `python NAME` compares with the package NAME, another engine: it runs
where this package is installed. A block marked `console` shows commands.
"""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import ROOT

DOCS = ROOT / "docs"
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.M | re.S)
TEXTS = {page.name: page.read_text(encoding="utf-8") for page in sorted(DOCS.glob("*.md"))}
PEERS = sorted(
    {(name, marked[7:]) for name, text in TEXTS.items() for marked, _ in FENCE.findall(text) if "python " in marked}
)


@pytest.mark.parametrize("name", [name for name, text in TEXTS.items() if "```python\n" in text])
def test_examples_print_what_stands_below_them(name: str) -> None:
    """The examples of a page are one session; a block marked `text` below one is its whole output."""
    run_examples(name, "python")


@pytest.mark.parametrize(("name", "package"), PEERS)
def test_examples_with_another_engine_print_what_stands_below_them(name: str, package: str) -> None:
    pytest.importorskip(package)
    run_examples(name, "python", f"python {package}")


def run_examples(name: str, *marks: str) -> None:
    page = TEXTS[name]
    blocks = [(match[1], match[2], match.start()) for match in FENCE.finditer(page)]
    namespace: dict[str, object] = {"__name__": "docs"}
    for index, (language, code, at) in enumerate(blocks):
        if language not in marks:
            continue
        line = page.count("\n", 0, at) + 1
        output = io.StringIO()
        program = compile("\n" * line + code, str(DOCS / name), "exec")
        with contextlib.redirect_stdout(output):
            exec(program, namespace)
        below = blocks[index + 1] if index + 1 < len(blocks) else ("", "", 0)
        expected = below[1] if below[0] == "text" else ""
        assert output.getvalue() == expected, f"the output of the example in line {line}"


@pytest.mark.parametrize("name", [name for name, text in TEXTS.items() if "```console\n" in text])
def test_commands_print_what_stands_below_them(name: str, tmp_path: Path) -> None:
    """`$ command` lines of `console` blocks are run by a shell, in an empty folder, one after the other."""
    blocks = [code for language, code in FENCE.findall(TEXTS[name]) if language == "console"]
    for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", "".join(blocks), re.M):
        installed = command.replace("earleymask ", f"'{sys.executable}' -m earleymask ", 1)
        run = subprocess.run(installed, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert run.stdout + run.stderr == expected, command


def test_links_lead_somewhere() -> None:
    for name, text in TEXTS.items():
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
            if "://" not in target:
                assert (DOCS / target).exists(), (name, target)
