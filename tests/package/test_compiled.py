"""The modules of `grammar/` mean the same as plain Python and as compiled."""

from __future__ import annotations

import ast
from pathlib import Path

import earleymask.grammar

FILES = sorted(Path(earleymask.grammar.__file__).parent.rglob("*.py"))


def shifts(source: str) -> list[str]:
    """Return where a number is shifted, or raised to a power, by a length. Cython computes these in 32 or 64 bits,
    because it knows the type of a length: write `BIT << len(x)` (`grammar/bits.py`)."""
    return [
        ast.unparse(node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.BinOp)
        and isinstance(node.op, (ast.LShift, ast.Pow))
        and isinstance(node.left, ast.Constant)
        and any(isinstance(each, ast.Name) and each.id == "len" for each in ast.walk(node.right))
    ]


def test_no_number_is_shifted_by_a_length() -> None:
    wrong = shifts("a = (1 << len(b)) - 1; c = 2 ** (len(b) + 1); d = BIT << len(b)")
    assert sorted(wrong) == ["1 << len(b)", "2 ** (len(b) + 1)"]
    assert len(FILES) > 50
    assert {path.name: found for path in FILES if (found := shifts(path.read_text(encoding="utf-8")))} == {}
