"""The examples in docs/ run and print what is below them.

A block marked `python` is an example. One marked `python NAME` runs where the package NAME is installed: another engine
to compare with, or a framework that earleymask works with. A block marked `console` shows commands.
"""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from support.paths import ROOT

DOCS = ROOT / "docs"
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.M | re.S)
TEXTS = {page.name: page.read_text(encoding="utf-8") for page in sorted(DOCS.glob("*.md"))}
NEEDS = {"transformers": ("transformers", "torch")}
"""The frameworks of examples, with the packages that such an example imports."""
NAMED = sorted(
    {(name, marked[7:]) for name, text in TEXTS.items() for marked, _ in FENCE.findall(text) if "python " in marked}
)
ELSEWHERE = {"llama_cpp.md", "other_loops.md"}
"""Pages whose examples need models: the programs in tests/integration run them, in environments of their own."""
PEERS = [(name, package) for name, package in NAMED if package not in NEEDS and name not in ELSEWHERE]
FRAMEWORKS = [(name, package) for name, package in NAMED if package in NEEDS]


@pytest.mark.parametrize("name", [name for name, text in TEXTS.items() if "```python\n" in text])
def test_examples_print_what_stands_below_them(name: str) -> None:
    """The examples of a page are one session; a block marked `text` below one is its whole output."""
    run_examples(name, "python")


@pytest.mark.parametrize(("name", "package"), PEERS)
def test_examples_with_another_engine_print_what_stands_below_them(name: str, package: str) -> None:
    pytest.importorskip(package)
    described = re.search(rf"\b{package.replace('_', '-')}==(\S+)", TEXTS[name])
    assert described, f"{name} does not say which version of {package} it describes"
    if version(package) != described[1]:
        pytest.skip(f"{name} describes {package} {described[1]}")
    run_examples(name, "python", f"python {package}")


@pytest.mark.parametrize(("name", "framework"), FRAMEWORKS)
def test_examples_with_a_framework_print_what_stands_below_them(name: str, framework: str) -> None:
    for package in NEEDS[framework]:
        pytest.importorskip(package)
    run_examples(name, "python", f"python {framework}")


def run_examples(name: str, *marks: str) -> None:
    page = TEXTS[name]
    blocks = [(match[1], match[2], match.start()) for match in FENCE.finditer(page)]
    namespace: dict[str, object] = {"__name__": "docs"}
    for index, (language, code, at) in enumerate(blocks):
        if language not in marks:
            continue
        line = page.count("\n", 0, at) + 1
        output = io.StringIO()
        program = compile("\n" * line + code, str(DOCS / name), "exec", dont_inherit=True)
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


def anchors(text: str) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.M)
    titles = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", title).lower().replace(" ", "-") for title in titles}


def test_links_lead_somewhere() -> None:
    for name, text in TEXTS.items():
        for target, anchor in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", text):
            if "://" not in target:
                assert not target or (DOCS / target).exists(), (name, target)
                if anchor:
                    assert anchor in anchors(TEXTS[target or name]), (name, target, anchor)


def test_the_index_names_every_page() -> None:
    assert set(re.findall(r"\]\(([^)]*)\)", TEXTS["README.md"])) == set(TEXTS) - {"README.md"}


def test_files_that_pages_name_are_there() -> None:
    for name, text in TEXTS.items():
        for path in re.findall(r"`((?:grammar|earley|trie|earleymask|integration|tests|bench)/[\w/]+\.\w+)`", text):
            assert (ROOT / path).exists(), (name, path)


def section(title: str) -> str:
    """What stands below a heading of the second level in docs/architecture.md."""
    return TEXTS["architecture.md"].split(f"\n## {title}\n")[1].split("\n## ")[0]


def test_the_code_map_names_every_module_once() -> None:
    named = []
    for part in section("Code map").split("\n### ")[1:]:
        folder = part.split("`")[1]
        named += [folder + file for file in re.findall(r"^\| `([\w/.]+\.pyx?)` \|", part, re.M)]
    folders = [ROOT / folder for folder in ("trie", "earley", "grammar", "earleymask", "integration")]
    modules = [path for folder in folders for kind in ("*.py", "*.pyx") for path in folder.rglob(kind)]
    made = {"grammar/regex/_unicode_data.py"}  # by the build
    doing = [path for path in modules if path.name != "__init__.py" or "\ndef " in path.read_text(encoding="utf-8")]
    tree = {path.relative_to(ROOT).as_posix() for path in doing} - made
    assert {"missing": tree - set(named), "gone": set(named) - tree} == {"missing": set(), "gone": set()}
    assert len(named) == len(set(named)), "a module is named twice"


def test_where_to_find_it_names_functions_that_are_there() -> None:
    rows = re.findall(r"^\|[^|]*\| `([\w/.]+)` \| (.*) \|$", section("Where to find it"), re.M)
    assert len(rows) > 40
    for path, names in rows:
        source = (ROOT / path).read_text(encoding="utf-8")
        for name in re.findall(r"`(\w+)`", names):
            defined = rf"^\s*(?:(?:cp?def|def|class)\b[^\n=(]*\b{name}\b|{name}\b[^\n=(]*=)"
            assert re.search(defined, source, re.M), (path, name)
