"""What the campaign checks, as values that can be kept: each `Case` can be tried, made smaller, and written to a file.

A case names everything it depends on (grammar, tokens, text, calls), so a file in `tests/regressions/` says the same
tomorrow, whatever the generators of today become. Here are the cases that ask an oracle about whole texts; sequences of
calls beside the twin are in `campaign_sessions`, and what is drawn at random in `campaign_arms`.
"""

from __future__ import annotations

import json
import re
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from gbnf_twin import Twin as GbnfTwin
from lark import Lark
from lark.exceptions import LarkError, UnexpectedInput
from strategies import GrammarSketch, smaller, smaller_patterns
from twin import EmptyLanguage, TooMuchWork, Twin

from earleymask import Grammar, GrammarError, LimitError, Matcher, Vocabulary

BYTES = Vocabulary.bytes()
EOS = 256
KINDS: dict[str, type[Case]] = {}


class Wrong(AssertionError):
    """What was expected and what was seen instead."""


class Skipped(Exception):
    """There is nothing to compare: an oracle, or the engine by name, does not take what was made up."""


@dataclass(frozen=True)
class Case:
    """One thing that can be checked. Subclasses are found by their `kind`."""

    kind: ClassVar[str]

    def __init_subclass__(cls) -> None:
        KINDS[cls.kind] = cls

    def check(self) -> None:
        """Raises `Wrong` where engine and oracle part, `Skipped` where they cannot be compared."""
        raise NotImplementedError

    def smaller(self) -> Iterator[Case]:
        """Cases with less in them, those first that leave out most."""
        raise NotImplementedError

    def data(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, data: dict[str, Any]) -> Case:
        return cls(**data)


def failure(case: Case) -> str | None:
    """What is wrong, or None."""
    try:
        case.check()
    except (Skipped, TooMuchWork):
        return None
    except Wrong as wrong:
        return str(wrong)
    except Exception as error:  # an engine that raises what it should not is wrong as well
        return f"{type(error).__name__}: {error}"
    return None


def shrunk(case: Case, seconds: float = 60.0) -> Case:
    """The smallest case that goes wrong in any way, found greedily: the first smaller one that fails is taken."""
    ends = time.monotonic() + seconds
    progress = True
    while progress:
        progress = False
        for candidate in case.smaller():
            if time.monotonic() > ends:
                return case
            if failure(candidate) is not None:
                case, progress = candidate, True
                break
    return case


def write(case: Case, path: Path, what: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"kind": case.kind, "what": what, **case.data()}
    path.write_text(json.dumps(content, ensure_ascii=True, indent=1) + "\n", encoding="ascii")


def read(path: Path) -> Case:
    content = json.loads(path.read_text(encoding="ascii"))
    kind = KINDS[content.pop("kind")]
    del content["what"]
    return kind.of(content)


def accepts(grammar: Grammar, text: str) -> bool:
    """Whether the text is a sentence, fed byte by byte."""
    data = text.encode()
    return Matcher(grammar, BYTES).validate([*data, EOS]) == len(data) + 1


def shorter(text: str) -> Iterator[str]:
    """The text without one stretch, long ones first."""
    length = len(text)
    while length:
        for i in range(len(text) - length + 1):
            yield text[:i] + text[i + length :]
        length //= 2


def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.compile(pattern, flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise Skipped(f"re refuses it: {error}") from None


def refused_by_name(make: Callable[[], Grammar]) -> Grammar:
    """The grammar; what is refused as unsupported, or has no sentence, is nothing to compare."""
    try:
        return make()
    except LimitError as error:
        raise Skipped(f"a limit: {error}") from None
    except GrammarError as error:
        raise Skipped(f"refused: {error.message}") from None


# --- regular expressions ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FullMatch(Case):
    """`Grammar.from_regex` accepts what `re.fullmatch` does."""

    kind = "fullmatch"
    pattern: str
    flags: int
    text: str

    def check(self) -> None:
        expected = compiled(self.pattern, self.flags).fullmatch(self.text) is not None
        grammar = refused_by_name(lambda: Grammar.from_regex(self.pattern, flags=self.flags))
        if accepts(grammar, self.text) != expected:
            raise Wrong(f"re.fullmatch({self.pattern!r}, {self.text!r}, {self.flags}) says {expected}, we do not")

    def smaller(self) -> Iterator[Case]:
        yield from (replace(self, text=text) for text in shorter(self.text))
        yield from (replace(self, pattern=pattern) for pattern in smaller_patterns(self.pattern))
        if self.flags:
            yield replace(self, flags=0)


@dataclass(frozen=True)
class Terminal(Case):
    """A regexp as a terminal of a Lark grammar: what `re.match` consumes if it is ordered, else what matches whole.

    Ordered is what has a lazy or possessive quantifier or an atomic group.
    """

    kind = "terminal"
    pattern: str
    text: str

    def check(self) -> None:
        pattern = compiled(self.pattern)
        if is_ordered(self.pattern):
            found = pattern.match(self.text)
            expected = found is not None and found.end() == len(self.text)
        else:
            expected = pattern.fullmatch(self.text) is not None
        grammar = refused_by_name(lambda: Grammar.from_lark("start: /" + self.pattern.replace("/", r"\/") + "/"))
        if accepts(grammar, self.text) != expected:
            raise Wrong(f"/{self.pattern}/ and {self.text!r}: re says {expected}, we do not")

    def smaller(self) -> Iterator[Case]:
        yield from (replace(self, text=text) for text in shorter(self.text))
        yield from (replace(self, pattern=pattern) for pattern in smaller_patterns(self.pattern))


@lru_cache(maxsize=100)
def is_ordered(pattern: str) -> bool:
    """Whether a pattern of `re` has a lazy or possessive quantifier or an atomic group."""
    from twin_regex import _parser

    agenda: list[Any] = [_parser.parse(pattern)]
    while agenda:
        part = agenda.pop()
        if str(part) in ("MIN_REPEAT", "POSSESSIVE_REPEAT", "ATOMIC_GROUP"):
            return True
        if isinstance(part, (tuple, list, _parser.SubPattern)):
            agenda += list(part)
    return False


@dataclass(frozen=True)
class Lexemes(Case):
    """`start: (A | B | ...)*` where terminals look at what stands around them: all ways of cutting the text, by `re`.

    A terminal may begin at one place and end at another if `re` matches it there *with the rest of the text in view*,
    so `if(?!\\w)` ends before a blank and not before a letter.
    """

    kind = "lexemes"
    patterns: list[str]
    text: str

    def check(self) -> None:
        alternatives = " | ".join("/" + pattern.replace("/", r"\/") + "/" for pattern in self.patterns)
        n = len(self.text)
        reached = {0}
        for begin in range(n):
            if begin not in reached:
                continue
            for end in range(begin + 1, n + 1):
                ends_there = rf"(?=(?s:.{{{n - end}}})\Z)"
                for pattern in self.patterns:
                    if compiled(f"(?:{pattern}){ends_there}").match(self.text[begin:]) is not None:
                        reached.add(end)
        expected = n in reached
        grammar = refused_by_name(lambda: Grammar.from_lark(f"start: ({alternatives})*"))
        if accepts(grammar, self.text) != expected:
            raise Wrong(f"({alternatives})* and {self.text!r}: re says {expected}, we do not")

    def smaller(self) -> Iterator[Case]:
        yield from (replace(self, text=text) for text in shorter(self.text))
        for i, pattern in enumerate(self.patterns):
            before, after = self.patterns[:i], self.patterns[i + 1 :]
            if before or after:
                yield replace(self, patterns=before + after)
            yield from (replace(self, patterns=[*before, less, *after]) for less in smaller_patterns(pattern))


# --- whole grammars --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sentence(Case):
    """Lark's sentences are ours; ours are Lark's, but where regexps are ordered for Lark alone (`docs/lark.md`)."""

    kind = "sentence"
    grammar: str
    text: str
    sketch: GrammarSketch | None = None  # what the grammar was written from, while it is being shrunk

    def check(self) -> None:
        parser, as_lark = lark_side(self.grammar)
        try:
            parser.parse(self.text)
            expected = True
        except UnexpectedInput:
            expected = False
        except RuntimeError as error:
            if "multiple start symbol items" in str(error):  # Lark's own bug, see tests/test_twin.py
                raise Skipped(str(error)) from None
            raise
        try:
            grammar = Grammar.from_lark(self.grammar)
        except GrammarError as error:
            if ("no sentence" in error.message and not expected) or "not supported" in error.message:
                raise Skipped(f"refused by name: {error.message}") from None
            raise Wrong(f"lark loads it, we do not: {error}\n{self.grammar}") from error
        seen = accepts(grammar, self.text)
        if expected and not seen:
            raise Wrong(f"lark accepts {self.text!r}, we do not\n{self.grammar}")
        # The twin that reads lexemes as Lark does is held against Lark itself in tests/test_twin.py; what is refused by
        # it and accepted by Lark's rules without an order shows there, so here only what Lark and it agree on counts.
        if seen and not expected and as_lark is not None and as_lark.is_sentence(self.text.encode()):
            raise Wrong(f"lark refuses {self.text!r}, we accept it\n{self.grammar}")
        if seen and not expected:
            ours = Twin.from_lark(self.grammar)
            ours.budget = 300_000
            if not ours.is_sentence(self.text.encode()):
                raise Wrong(f"neither lark nor the twin accepts {self.text!r}, we do\n{self.grammar}")

    def smaller(self) -> Iterator[Case]:
        yield from (replace(self, text=text) for text in shorter(self.text))
        if self.sketch is not None:
            for sketch in smaller(self.sketch):
                yield replace(self, grammar=sketch.text, sketch=sketch)

    def data(self) -> dict[str, Any]:
        return {"grammar": self.grammar, "text": self.text}


@lru_cache(maxsize=4)
def lark_side(text: str) -> tuple[Lark, Twin | None]:
    """Lark's parser, and the twin that reads lexemes as Lark does (None where there is no sentence)."""
    try:
        parser = Lark(text, parser="earley", lexer="dynamic_complete", ambiguity="forest")
    except (LarkError, AssertionError, KeyError) as error:
        raise Skipped(f"lark refuses it: {error}") from None
    try:
        twin = Twin.from_lark(text, lexemes="lark")
    except EmptyLanguage:
        return parser, None
    twin.budget = 300_000
    return parser, twin


@dataclass(frozen=True)
class Gbnf(Case):
    """`Grammar.from_gbnf` accepts what the slow reader of GBNF matches."""

    kind = "gbnf"
    grammar: str
    text: str

    def check(self) -> None:
        expected = GbnfTwin.read(self.grammar).matches(self.text)
        try:
            grammar = Grammar.from_gbnf(self.grammar)
        except GrammarError as error:
            if "no sentence" in error.message and not expected:
                raise Skipped("no sentence") from None
            raise Wrong(f"not loaded: {error}\n{self.grammar}") from error
        if accepts(grammar, self.text) != expected:
            raise Wrong(f"the twin says {expected} to {self.text!r}, we do not\n{self.grammar}")

    def smaller(self) -> Iterator[Case]:
        yield from (replace(self, text=text) for text in shorter(self.text))
        lines = self.grammar.split("\n")
        yield from (replace(self, grammar="\n".join(lines[:i] + lines[i + 1 :])) for i in range(len(lines)))


@dataclass(frozen=True)
class Choices(Case):
    """`Grammar.from_choices` accepts the choices and nothing else."""

    kind = "choices"
    choices: list[str]
    text: str

    def check(self) -> None:
        if not self.choices:
            raise Skipped("no choice")
        if accepts(Grammar.from_choices(self.choices), self.text) != (self.text in self.choices):
            raise Wrong(f"{self.text!r} out of {self.choices!r}")

    def smaller(self) -> Iterator[Case]:
        yield from (replace(self, text=text) for text in shorter(self.text))
        for less in fewer(self.choices):
            yield replace(self, choices=less)


def fewer(items: list[Any]) -> Iterator[list[Any]]:
    """The list without one run of items, halves first (Zeller and Hildebrandt 2002, delta debugging)."""
    length = (len(items) + 1) // 2
    while length:
        for i in range(0, len(items), length):
            yield items[:i] + items[i + length :]
        length = length // 2 if length > 1 else 0
