"""README.md is true: its examples run and print what is below them, and its links and figures are right."""

import contextlib
import io
import json
import re
import sys
from pathlib import Path

import pytest

from support.paths import ROOT

sys.path.append(str(ROOT))  # `bench` removes it again, for the root would hide the installed package

from bench.reports import pages

README = (ROOT / "README.md").read_text(encoding="utf-8")
# A fenced block: its language, its text, and its first line.
BLOCKS = [
    (match[1], match[2], README.count("\n", 0, match.start()) + 1)
    for match in re.finditer(r"^```(\w*)\n(.*?)^```$", README, re.M | re.S)
]


def test_python_examples_print_what_stands_below_them() -> None:
    """The examples are one session from top to bottom; a block marked `text` below one is its whole output."""
    examples = [index for index, (language, _, _) in enumerate(BLOCKS) if language == "python"]
    assert examples, "README.md shows no example"
    namespace: dict[str, object] = {"__name__": "readme"}
    for index in examples:
        _, code, line = BLOCKS[index]
        output = io.StringIO()
        # With these newlines, tracebacks have the line numbers of README.md.
        program = compile("\n" * line + code, str(ROOT / "README.md"), "exec")
        with contextlib.redirect_stdout(output):
            exec(program, namespace)
        if index + 1 < len(BLOCKS) and BLOCKS[index + 1][0] == "text":
            assert output.getvalue() == BLOCKS[index + 1][1], f"the output of the example in line {line}"
        else:
            assert output.getvalue() == "", f"the example in line {line} prints, and README.md does not show it"


@pytest.mark.parametrize("name", ["demo", "test"])
def test_each_command_is_one_line(name: str) -> None:
    match = re.search(rf"<!-- {name} command -->\n```sh\n(.*?)```\n<!-- /{name} command -->", README, re.S)
    assert match, f"no marked {name} command"
    command = match[1].strip()
    assert "\n" not in command
    assert command.startswith("python3.11 -m venv .venv && .venv/bin/pip install ")


@pytest.mark.parametrize("path", [pages.README, pages.PERFORMANCE], ids=lambda path: path.name)
def test_pages_show_the_recorded_results(path: Path) -> None:
    if not pages.RESULTS.exists():
        pytest.skip("no results in bench/results")
    page = path.read_text(encoding="utf-8")
    for marker, expected in pages.sections(json.loads(pages.RESULTS.read_text(encoding="utf-8")))[path].items():
        assert pages.section(page, marker) == expected, f"{marker}: run python -m bench.reports.pages"


def test_the_short_speed_table_has_a_row_for_each_text() -> None:
    found = pages.section(README, "speed summary")
    assert found
    rows = [line.split(" | ") for line in found.splitlines() if line.startswith("| ")][2:]
    assert [row[0].removeprefix("| ").partition(",")[0] for row in rows] == ["json", "language", "sql"]
    assert all("earleymask" not in cell and "llguidance" in cell for row in rows for cell in row[1:])
    assert "xgrammar" not in rows[2][3]  # it has too few masks for a p99


def test_the_words_about_targets_are_those_of_the_results() -> None:
    """The page tells in words what the table of targets has: new results need new words."""
    page = pages.PERFORMANCE.read_text(encoding="utf-8")
    table = pages.section(page, "targets")
    assert table
    met, missed = table.count("| yes |"), table.count("| no |")
    assert f"{met} targets were met and {missed} were missed." in page, "docs/performance.md, Targets and results"


@pytest.mark.parametrize(
    ("us", "shown"),
    [(0.4567, "0.46 µs"), (47.73, "47.7 µs"), (999.4, "999 µs"), (5015.4, "5.02 ms"), (2.4e6, "2.40 s")],
)
def test_durations_have_three_digits(us: float, shown: str) -> None:
    assert pages.duration(us) == shown


def test_links_into_the_repository_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", README):
        if "://" not in target:
            assert (ROOT / target).exists(), target


def test_an_sdist_has_what_is_linked_and_the_smoke_test_of_wheels() -> None:
    packed = (ROOT / "MANIFEST.in").read_text().split()
    linked = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", README)
    smoke = re.findall(r"\{project\}/([\w./]+)", (ROOT / "pyproject.toml").read_text())
    assert smoke
    for target in [*linked, *smoke]:
        if "://" not in target:
            assert target.split("/")[0] in packed, target


def test_every_page_of_the_documentation_is_linked() -> None:
    linked = set(re.findall(r"\]\((docs/\w+\.md)\)", README))
    assert linked == {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")}
