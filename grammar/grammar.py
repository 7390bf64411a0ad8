"""Grammar: what the front ends make and matchers share."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, NoReturn

from . import lark_load

if TYPE_CHECKING:
    from ..earley import Engine
    from .source import GrammarWarning

_FORMAT = b"earleymask grammar 1\0"
"""Put before everything that is hashed, so that fingerprints of another reading of the same text differ."""


class Grammar:
    """A context-free grammar over bytes, ready for matchers. Make one with a class method such as `from_lark`.

    Immutable and safe to share between threads. Two grammars are equal if they were made from the same source in the
    same way; pickling keeps the source and reads it again.

    Attributes:
        source: the text it was made from.
        start: the name of its start rule.
        fingerprint: hex SHA-256 over the kind of source, the source and the start rule.
        warnings: what is legal but surely not meant, such as rules that nothing uses; each has message, line, column.
        engine: the compiled form, for matchers.
    """

    __slots__ = ("_fingerprint", "engine", "kind", "source", "start", "warnings")
    engine: Engine
    kind: str
    source: str
    start: str
    _fingerprint: str | None
    warnings: tuple[GrammarWarning, ...]

    def __init__(self, *args: object, **kwargs: object) -> None:
        raise TypeError("make a grammar with Grammar.from_lark(text)")

    @classmethod
    def from_lark(cls, text: str, *, start: str = "start") -> Grammar:
        """The language of rule `start` of a grammar in Lark's syntax.

        Means what Lark means with `parser="earley", lexer="dynamic_complete"`. Raises GrammarError, with line and
        column, where the text is malformed, uses something that is not supported, or has no sentence.
        """
        for value, name in ((text, "text"), (start, "start")):
            if not isinstance(value, str):
                raise TypeError(f"{name} must be a str, not {type(value).__name__}")
        engine, warnings = lark_load.load(text, start)
        return cls._make("lark", text, start, engine, warnings)

    @classmethod
    def _make(cls, kind: str, source: str, start: str, engine: Engine, warnings: tuple[GrammarWarning, ...]) -> Grammar:
        grammar = object.__new__(cls)
        values = {
            "_fingerprint": None,
            "engine": engine,
            "kind": kind,
            "source": source,
            "start": start,
            "warnings": warnings,
        }
        for name, value in values.items():
            object.__setattr__(grammar, name, value)
        return grammar

    def stats(self) -> dict[str, int]:
        """What has been learned about the grammar so far, in numbers of things and bytes (see `Engine.stats`)."""
        return self.engine.stats()

    @property
    def fingerprint(self) -> str:
        """Worked out when first asked: the first hash in a process costs half as much as loading a small grammar."""
        known: str | None = self._fingerprint
        if known is None:
            content = "\0".join((self.kind, self.start, self.source)).encode("utf-8", "surrogatepass")
            known = hashlib.sha256(_FORMAT + content).hexdigest()
            object.__setattr__(self, "_fingerprint", known)
        return known

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a Grammar is immutable")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a Grammar is immutable")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Grammar):
            return NotImplemented
        return self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return f"<Grammar from {self.kind}, start={self.start!r}, {len(self.source)} characters>"

    def __copy__(self) -> Grammar:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Grammar:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickle, (self.kind, self.source, self.start, self.fingerprint)


def _unpickle(kind: str, source: str, start: str, fingerprint: str) -> Grammar:
    """Read a pickled grammar's source again."""
    if kind != "lark":
        raise ValueError(f"a pickled grammar of kind {kind!r} needs another version of earleymask")
    grammar = Grammar.from_lark(source, start=start)
    if grammar.fingerprint != fingerprint:
        raise ValueError("the pickled grammar was made by an incompatible version of earleymask")
    return grammar
