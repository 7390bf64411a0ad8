"""The modules of `grammar/` mean the same as plain Python and as compiled."""

from __future__ import annotations

import ast
from pathlib import Path

import earleymask.grammar

FILES = sorted(Path(earleymask.grammar.__file__).parent.rglob("*.py"))


def is_length(node: ast.AST) -> bool:
    """Tell whether Cython knows that a value is a machine integer: it is made of lengths and constants only."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "len"
    if isinstance(node, ast.BinOp):
        return is_length(node.left) and is_length(node.right)
    return isinstance(node, ast.Constant)


def shifts(source: str) -> list[str]:
    """Return where a number is shifted, or raised to a power, by lengths. Cython computes these in 32 bits, or as a
    floating-point number: write `BIT << len(x)` (`grammar/bits.py`)."""
    return [
        ast.unparse(node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.BinOp)
        and isinstance(node.op, (ast.LShift, ast.Pow))
        and isinstance(node.left, ast.Constant)
        and not isinstance(node.right, ast.Constant)
        and is_length(node.right)
    ]


def test_no_number_is_shifted_by_a_length() -> None:
    wrong = shifts("a = (1 << len(b)) - 1; c = 2 ** (len(b) + 1); d = BIT << len(b) << 1; e = 1 << f")
    assert sorted(wrong) == ["1 << len(b)", "2 ** (len(b) + 1)"]
    assert len(FILES) > 50
    assert {path.name: found for path in FILES if (found := shifts(path.read_text(encoding="utf-8")))} == {}
