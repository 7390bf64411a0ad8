"""Ways in which both sides read one grammar.

A `Source` names its *front*: how the engine and the twin load the same grammar. If the two have no syntax in common,
the text is JSON, from which each side makes its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from earleymask import Grammar
from support import parametric_twin
from support.boolean_twin import as_lark_reads, boolean_engine, boolean_lark, boolean_twin
from support.compare import Loaded, load
from support.shrinking import fewer, smaller_grammar_texts, smaller_trees
from support.strategies import GrammarSketch, smaller
from support.twin import Twin


@dataclass(frozen=True)
class Source:
    """A grammar. The engine reads `text`; the twin reads it, too, unless it has a text of its own, in Lark's syntax."""

    front: str
    text: str
    for_twin: str = ""
    sketch: GrammarSketch | None = None  # the data that the text was written from, for shrinking

    @classmethod
    def lark(cls, sketch: GrammarSketch | str) -> Source:
        text = sketch if isinstance(sketch, str) else sketch.text
        return cls("lark", text, "", None if isinstance(sketch, str) else sketch)

    @classmethod
    def gbnf(cls, sketch: GrammarSketch) -> Source:
        return cls("gbnf", sketch.gbnf, sketch.text, sketch)

    def load(self) -> Loaded:
        """Load both sides. Raise `Skipped` if nothing can be compared, `Difference` if only one side loads it."""
        front = FRONTS[self.front]
        return load(self.text, lambda: front.engine(self.text), lambda: front.twin(self.for_twin or self.text))

    def smaller(self) -> Iterator[Source]:
        if self.sketch is not None:
            make = Source.gbnf if self.front == "gbnf" else Source.lark
            yield from (make(sketch) for sketch in smaller(self.sketch))
        elif not self.for_twin:
            yield from (Source(self.front, text) for text in FRONTS[self.front].smaller(self.text))


class Front(NamedTuple):
    engine: Callable[[str], Any]
    twin: Callable[[str], Twin]
    smaller: Callable[[str], Iterator[str]]


# --- several texts: `{"main": text, "modules": {name: text}}` --------------------------------------------------------


def importing_engine(text: str) -> Grammar:
    data = json.loads(text)
    return Grammar.from_lark(data["main"], loader=data["modules"])


def importing_twin(text: str) -> Twin:
    """Make the twin of a grammar of several texts, which Lark itself joins."""
    data = json.loads(text)

    def find(base: object, path: str) -> tuple[str, str]:
        name = path.removesuffix(".lark").replace("/", ".")
        if name not in data["modules"]:
            raise OSError(name)  # Lark then tries the next place
        return path, data["modules"][name]

    return Twin.from_lark(data["main"], import_paths=[find])


def smaller_imports(text: str) -> Iterator[str]:
    data = json.loads(text)
    yield from (json.dumps({**data, "main": less}) for less in smaller_grammar_texts(data["main"]))
    for name, module in data["modules"].items():
        for less in smaller_grammar_texts(module):
            yield json.dumps({**data, "modules": {**data["modules"], name: less}})


# --- trees of terminals, see `boolean_twin` --------------------------------------------------------------------------


def smaller_booleans(text: str) -> Iterator[str]:
    """Yield smaller grammars in which every name is defined: for the twin, an undefined one merely has no sentence."""
    for less in _smaller_booleans(json.loads(text)):
        defined = {*less["terminals"], *(left for left, _ in less["rules"])}
        if defined.issuperset(["start", *less["ignored"], *(symbol for _, right in less["rules"] for symbol in right)]):
            yield json.dumps(less)


def _smaller_booleans(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for part in ("ignored", "rules"):
        yield from ({**data, part: less} for less in fewer(data[part]))
    for i, (left, right) in enumerate(data["rules"]):
        for less in fewer(right):
            yield {**data, "rules": [*data["rules"][:i], [left, less], *data["rules"][i + 1 :]]}
    used = {*data["ignored"], *(symbol for _, right in data["rules"] for symbol in right)}
    for name, whole in data["terminals"].items():
        others = {other: t for other, t in data["terminals"].items() if other != name}
        if name not in used:
            yield {**data, "terminals": others}
        for tree in smaller_trees(whole):
            yield {**data, "terminals": {**others, name: tree}}


FRONTS = {
    "lark": Front(Grammar.from_lark, Twin.from_lark, smaller_grammar_texts),
    "gbnf": Front(Grammar.from_gbnf, Twin.from_lark, smaller_grammar_texts),
    "boolean": Front(boolean_engine, boolean_twin, smaller_booleans),
    "sets": Front(
        lambda text: Grammar.from_lark(boolean_lark(as_lark_reads(text))),
        lambda text: boolean_twin(as_lark_reads(text)),
        smaller_booleans,
    ),
    "imports": Front(importing_engine, importing_twin, smaller_imports),
    "parametric": Front(
        lambda text: Grammar.from_lark(parametric_twin.written(text)),
        lambda text: Twin.from_lark(parametric_twin.expanded(text)),
        parametric_twin.smaller,
    ),
}
