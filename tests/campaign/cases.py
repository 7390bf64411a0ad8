"""The checks of the campaign as data: each `Case` can be checked, made smaller, and written to a file.

A case contains everything it depends on (grammar, tokens, text, calls), so a file in `regressions/` stays the same case
when the generators change. The cases here compare whole grammars with an oracle on texts. Cases about patterns are in
`campaign.patterns`, sequences of calls beside the twin in `campaign.sessions`, and the random choices in
`campaign.arms`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from lark import Lark
from lark.exceptions import LarkError

from earleymask import Grammar, GrammarError
from support.gbnf_twin import Twin as GbnfTwin
from support.lark_oracle import lark_parser, lark_says
from support.refusals import Skipped, general, loaded
from support.sentences import accepts
from support.shrinking import fewer, shorter, smaller_grammar_texts
from support.strategies import GrammarSketch, smaller
from support.twin import EmptyLanguage, TooMuchWork, Twin

KINDS: dict[str, type[Case]] = {}


class Wrong(AssertionError):
    """The engine and the oracle disagree; the message says what was expected and what was seen."""


@dataclass(frozen=True)
class Case:
    """One check. A file names the subclass by its `kind`."""

    kind: ClassVar[str]

    def __init_subclass__(cls) -> None:
        KINDS[cls.kind] = cls

    def check(self) -> None:
        """Raise `Wrong` if engine and oracle disagree, `Skipped` if they cannot be compared."""
        raise NotImplementedError

    def smaller(self) -> Iterator[Case]:
        """Yield cases with less in them; those that lack most come first."""
        raise NotImplementedError

    def data(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, data: dict[str, Any]) -> Case:
        return cls(**data)


class Found(Exception):
    """A difference, with the case that reproduces it."""

    def __init__(self, case: Case, what: str) -> None:
        super().__init__(what)
        self.case = case
        self.what = what


def failure(case: Case) -> str | None:
    """Return what is wrong with the engine on this case, or None."""
    try:
        case.check()
    except (Skipped, TooMuchWork):
        return None
    except Wrong as wrong:
        return str(wrong)
    except Exception as error:  # an unexpected exception of the engine is a failure as well
        return f"{type(error).__name__}: {error}"
    return None


def shrunk(case: Case, seconds: float = 60.0) -> Case:
    """Make a failing case smaller, greedily: take the first smaller one that fails, again and again.

    The failure may change, with one exception: a failure to load stays one, and any other one does not become one. For
    what remains of a grammar may be no grammar, and each side says that in its own way.
    """
    ends = time.monotonic() + seconds
    at_loading = is_about_loading(failure(case))
    progress = True
    while progress:
        progress = False
        for candidate in case.smaller():
            if time.monotonic() > ends:
                return case
            what = failure(candidate)
            if what is not None and is_about_loading(what) == at_loading:
                case, progress = candidate, True
                break
    return case


def is_about_loading(what: str | None) -> bool:
    return what is not None and what.startswith(("the engine does not load", "the engine loads", "the engine finds"))


def write(case: Case, path: Path, what: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"kind": case.kind, "what": what, **case.data()}
    path.write_text(json.dumps(content, ensure_ascii=True, indent=1) + "\n", encoding="ascii")


def read(path: Path) -> Case:
    content = json.loads(path.read_text(encoding="ascii"))
    kind = KINDS[content.pop("kind")]
    del content["what"]
    return kind.of(content)


# --- whole grammars --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sentence(Case):
    """We accept Lark's sentences, and no others, except if regexps have an order for Lark alone (`docs/lark.md`)."""

    kind = "sentence"
    grammar: str
    text: str
    sketch: GrammarSketch | None = None  # the data that the grammar was written from, for shrinking

    def check(self) -> None:
        parser, as_lark = lark_side(self.grammar)
        expected = lark_says(parser, self.text)
        if expected is None:
            raise Skipped("oracle: multiple start symbol items")
        seen = accepts(loaded(lambda: Grammar.from_lark(self.grammar)), self.text)
        if expected and not seen:
            raise Wrong(f"lark accepts {self.text!r}, we do not\n{self.grammar}")
        # Only a text that both Lark and the twin that reads lexemes as Lark does judge alike counts here: test_twin.py
        # compares these two.
        if seen and not expected and as_lark is not None and as_lark.is_sentence(self.text.encode()):
            raise Wrong(f"lark refuses {self.text!r}, we accept it\n{self.grammar}")
        if seen and not expected:
            ours = Twin.from_lark(self.grammar)
            ours.budget = 300_000
            if not ours.is_sentence(self.text.encode()):
                raise Wrong(f"neither lark nor the twin accepts {self.text!r}, we do\n{self.grammar}")

    def smaller(self) -> Iterator[Case]:
        yield from (replace(self, text=text) for text in shorter(self.text))
        if self.sketch is None:
            yield from (replace(self, grammar=grammar) for grammar in smaller_grammar_texts(self.grammar))
        else:
            yield from (replace(self, grammar=sketch.text, sketch=sketch) for sketch in smaller(self.sketch))

    def data(self) -> dict[str, Any]:
        return {"grammar": self.grammar, "text": self.text}


@lru_cache(maxsize=4)
def lark_side(text: str) -> tuple[Lark, Twin | None]:
    """Return Lark's parser, and the twin that reads lexemes as Lark does (None if there is no sentence)."""
    try:
        parser = lark_parser(text, ambiguity="forest")
    except (LarkError, AssertionError, KeyError) as error:
        raise Skipped(f"oracle: {general(str(error))}") from None
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
        if accepts(loaded(lambda: Grammar.from_gbnf(self.grammar)), self.text) != expected:
            raise Wrong(f"the twin says {expected} to {self.text!r}, we do not\n{self.grammar}")

    def smaller(self) -> Iterator[Case]:
        yield from (replace(self, text=text) for text in shorter(self.text))
        for grammar in smaller_grammar_texts(self.grammar):
            try:
                loaded(lambda grammar=grammar: Grammar.from_gbnf(grammar))
            except (GrammarError, Skipped):
                continue  # the twin does not check grammars, and may read it as anything
            yield replace(self, grammar=grammar)


@dataclass(frozen=True)
class Choices(Case):
    """`Grammar.from_choices` accepts exactly the choices."""

    kind = "choices"
    choices: list[str]
    text: str

    def check(self) -> None:
        if not self.choices:
            raise Skipped("oracle: no choice")
        if accepts(Grammar.from_choices(self.choices), self.text) != (self.text in self.choices):
            raise Wrong(f"{self.text!r} out of {self.choices!r}")

    def smaller(self) -> Iterator[Case]:
        yield from (replace(self, text=text) for text in shorter(self.text))
        for less in fewer(self.choices):
            yield replace(self, choices=less)
