"""The examples in docs/ run, and print what stands below them."""

from __future__ import annotations

import contextlib
import io
import re

import pytest

from support.paths import ROOT

DOCS = ROOT / "docs"
PAGES = [page.name for page in sorted(DOCS.glob("*.md")) if "```python" in page.read_text(encoding="utf-8")]


@pytest.mark.parametrize("name", PAGES)
def test_examples_print_what_stands_below_them(name: str) -> None:
    """The examples of a page are one session; a block marked `text` below one is its whole output."""
    page = (DOCS / name).read_text(encoding="utf-8")
    blocks = [(match[1], match[2], match.start()) for match in re.finditer(r"^```(\w*)\n(.*?)^```$", page, re.M | re.S)]
    namespace: dict[str, object] = {"__name__": "docs"}
    for index, (language, code, at) in enumerate(blocks):
        if language != "python":
            continue
        line = page.count("\n", 0, at) + 1
        output = io.StringIO()
        program = compile("\n" * line + code, str(DOCS / name), "exec")
        with contextlib.redirect_stdout(output):
            exec(program, namespace)
        below = blocks[index + 1] if index + 1 < len(blocks) else ("", "", 0)
        expected = below[1] if below[0] == "text" else ""
        assert output.getvalue() == expected, f"the output of the example in line {line}"


def test_links_lead_somewhere() -> None:
    for page in DOCS.glob("*.md"):
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (DOCS / target).exists(), (page.name, target)
