from collections.abc import Callable
from typing import Any, TypeAlias

from ._engine import Engine

Context: TypeAlias = tuple[int, int]

class Explorer:
    """The positions after a matcher's text, while the `with` block lasts. Positions are ints, 0 if no sentence begins
    like that."""

    def __init__(
        self, chart: object, position: int, spelled: Callable[[], list[tuple[bytes, list[int]]]], budgets: bool
    ) -> None: ...
    def __enter__(self) -> Explorer:
        """Take the lock of the engine."""

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        """Release the lock."""

    def now(self) -> int:
        """Return the position of the matcher."""

    def first(self) -> int:
        """Return the position before any text."""

    def step(self, position: int, text: bytes) -> int:
        """Return the position after some bytes."""

    def reach(self, position: int, text: bytes) -> tuple[int, int]:
        """Return how many bytes of a text may come at a position, and the position after them."""

    def classes(self, position: int) -> list[tuple[list[int], int]]:
        """Return the bytes that may come next, those together that lead to the same position, and that position."""

    def unproven(self, position: int) -> bytes:
        """Return the bytes that may come next, without what loading has proved of lookaheads: a slow oracle for tests.
        Raises TimeoutError if that takes too long."""

    def plain(self, position: int) -> int:
        """Return the position without what followed terminals have read: texts that differ in that alone have one."""

    def is_accepting(self, position: int) -> bool:
        """Return whether the text may end at a position."""

    def special_names(self, position: int) -> list[str]:
        """Return the names of the special tokens and sets of token ids that may come next."""

    def live(self, position: int) -> set[int]:
        """Return the terminals that may begin or continue, and the special tokens that may come."""

    def name(self, symbol: int) -> str:
        """Return the name of a symbol."""

    def has_budgets(self) -> bool:
        """Return whether some rule has a budget of tokens."""

    def explainers(self) -> list[Any]:
        """Return the explainers of the engine."""

    def tokens(self) -> list[tuple[bytes, list[int]]]:
        """Return the bytes of each accepted token, with the symbols that it may be."""

    def read(self, tokens: list[tuple[bytes, list[int]]]) -> None:
        """Read a text, given as `tokens` returns it, for the questions below."""

    def has_read(self) -> bool:
        """Return whether a text was read."""

    def waiting(self, allowed: set[int]) -> list[tuple[int, int, Context | None]]:
        """Return the lexemes that may come next or continue at the end of the text that was read: the terminal or
        special token, the place where the lexeme begins, and its context. Only those that one of the bytes `allowed`
        may begin or continue: what lookaheads demand of the text excludes others.

        A context is a nonterminal and the place where its text begins; None for the start of the grammar.
        """

    def above(self, context: Context) -> list[Context | None]:
        """Return the contexts in which the nonterminal of a context stands."""

    def hanging(self) -> list[tuple[int, tuple[int, ...], Context | None]]:
        """Return for each lexeme of the grammar's terminals that may come next or continue: a regex node for what its
        text may still be, the symbols after it in its production, and the context of that."""

    def items_above(self, context: Context) -> list[tuple[tuple[int, ...], Context | None]]:
        """Return what may stand after the nonterminal of a context: symbols, and the context of its production."""

    def node(self, symbol: int) -> int | None:
        """Return the regex node of a terminal; None for other symbols."""

    def productions(self, symbol: int) -> list[tuple[int, ...]]:
        """Return the right-hand sides of a nonterminal; none of a special token."""

    def is_nullable(self, node: int) -> bool:
        """Return whether a regex node matches the empty text."""

    def derivatives(self, node: int) -> dict[int, bytes]:
        """Return what is left of a regex node after one byte, with the bytes that lead there."""

def explorer_of(engine: Engine) -> Explorer:
    """Return an explorer of an engine that no other thread has, for its `read`."""

def reaches(engine: Engine, text: bytes) -> tuple[int, bool]:
    """Return how many bytes of a text may begin a sentence of an engine that no other thread has, and whether they are
    a sentence."""
