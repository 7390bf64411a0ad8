"""Grammar: what the front ends make and matchers share."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any, NoReturn

from . import lark_load

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..earley import Engine
    from .source import GrammarWarning

_FORMAT = b"earleymask grammar 1\0"
"""Put before everything that is hashed, so that fingerprints of another reading of the same text differ."""


class Grammar:
    """A context-free grammar over bytes, ready for matchers. Make one with a class method such as `from_lark`.

    Immutable and safe to share between threads. Two grammars are equal if they were made from the same source in the
    same way; pickling keeps the source and reads it again.

    Attributes:
        kind: what it was made from: "lark", "gbnf", "regex" or "choices".
        source: the text it was made from; of choices a JSON array.
        start: the name of its start rule, where the source names rules.
        options: what else says how the source is to be read, such as a regular expression's dialect and flags.
        fingerprint: hex SHA-256 over the kind of source, the source, the start rule and the options.
        warnings: what is legal but surely not meant, such as rules that nothing uses; each has message, line, column.
        engine: the compiled form, for matchers.
    """

    __slots__ = ("_fingerprint", "engine", "kind", "options", "source", "start", "warnings")
    engine: Engine
    kind: str
    options: str
    source: str
    start: str
    _fingerprint: str | None
    warnings: tuple[GrammarWarning, ...]

    def __init__(self, *args: object, **kwargs: object) -> None:
        raise TypeError("make a grammar with Grammar.from_lark(text), from_gbnf, from_regex or from_choices")

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
    def from_gbnf(cls, text: str, *, start: str = "root") -> Grammar:
        """The language of rule `start` of a grammar in GBNF, the syntax of llama.cpp.

        Raises GrammarError, with line and column, where the text is malformed, uses something that is not supported,
        or has no sentence.
        """
        from . import gbnf_load  # only who uses it waits for it

        for value, name in ((text, "text"), (start, "start")):
            if not isinstance(value, str):
                raise TypeError(f"{name} must be a str, not {type(value).__name__}")
        engine, warnings = gbnf_load.load(text, start)
        return cls._make("gbnf", text, start, engine, warnings)

    @classmethod
    def from_regex(cls, pattern: str | re.Pattern[str], *, flags: int = 0, dialect: str = "python") -> Grammar:
        """The texts that a regular expression matches as a whole: those for which `re.fullmatch` finds a match.

        `pattern` is a str or what `re.compile` makes of one; `flags` are those of `re`. `dialect` is "python" or
        "ecma". Raises GrammarError, with line and column, where the pattern is malformed, uses something that is not
        supported, or matches nothing.
        """
        from . import from_regex

        if isinstance(pattern, re.Pattern):
            if flags or dialect != "python":
                raise ValueError("a compiled pattern has its flags and its dialect already")
            flags = pattern.flags
            pattern = pattern.pattern
        if not isinstance(pattern, str):
            raise TypeError(f"pattern must be a str or a compiled one, not {type(pattern).__name__}")
        letters = from_regex.flag_letters(flags)
        engine = from_regex.load(pattern, letters, dialect)
        return cls._make("regex", pattern, "start", engine, (), f"{dialect} {letters}".rstrip())

    @classmethod
    def from_choices(cls, choices: Iterable[str]) -> Grammar:
        """Exactly the given texts, in any order and each as often as one likes. The empty text may be among them.

        Raises GrammarError where there is none, or one has a lone surrogate.
        """
        from . import choices as choices_

        found = choices_.read(choices)
        engine = choices_.load(found)
        return cls._make("choices", json.dumps(found, ensure_ascii=False), "start", engine, ())

    @classmethod
    def _make(
        cls,
        kind: str,
        source: str,
        start: str,
        engine: Engine,
        warnings: tuple[GrammarWarning, ...],
        options: str = "",
    ) -> Grammar:
        grammar = object.__new__(cls)
        values = {
            "_fingerprint": None,
            "engine": engine,
            "kind": kind,
            "options": options,
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
            kind = f"{self.kind} {self.options}".rstrip()
            content = "\0".join((kind, self.start, self.source)).encode("utf-8", "surrogatepass")
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
        content = (self.kind, self.source, self.start, self.fingerprint)
        return _unpickle, (*content, self.options) if self.options else content


def _unpickle(kind: str, source: str, start: str, fingerprint: str, options: str = "") -> Grammar:
    """Read a pickled grammar's source again."""
    if kind == "lark":
        grammar = Grammar.from_lark(source, start=start)
    elif kind == "gbnf":
        grammar = Grammar.from_gbnf(source, start=start)
    elif kind == "regex":
        from . import from_regex

        dialect, _, letters = options.partition(" ")
        grammar = Grammar.from_regex(source, flags=from_regex.flags_of(letters), dialect=dialect)
    elif kind == "choices":
        grammar = Grammar.from_choices(json.loads(source))
    else:
        raise ValueError(f"a pickled grammar of kind {kind!r} needs another version of earleymask")
    if grammar.fingerprint != fingerprint:
        raise ValueError("the pickled grammar was made by an incompatible version of earleymask")
    return grammar
