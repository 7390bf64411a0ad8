"""Cases about patterns, with `re` as the oracle: whole texts, single terminals, sequences of lexemes, next letters."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np

from campaign.cases import Case, Wrong
from earleymask import Grammar, Matcher, Vocabulary
from support.ecma_twin import as_ecma, as_re
from support.mask_paths import SPLITS, agreed, all_strings, limits, pieces_of
from support.refusals import Skipped, loaded
from support.sentences import BYTES, EOS, accepts, strings
from support.shrinking import fewer, shorter, smaller_patterns, smaller_trees


def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.compile(pattern, flags)
    except (re.error, OverflowError, RecursionError):
        raise Skipped("oracle: re refuses it") from None


def as_terminal(pattern: str) -> str:
    return "/" + pattern.replace("/", r"\/") + "/"


@dataclass(frozen=True)
class FullMatch(Case):
    """`Grammar.from_regex` accepts exactly what `re.fullmatch` matches."""

    kind = "fullmatch"
    pattern: str
    flags: int
    text: str

    def check(self) -> None:
        expected = compiled(self.pattern, self.flags).fullmatch(self.text) is not None
        grammar = loaded(lambda: Grammar.from_regex(self.pattern, flags=self.flags))
        if accepts(grammar, self.text) != expected:
            raise Wrong(f"re.fullmatch({self.pattern!r}, {self.text!r}, {self.flags}) says {expected}, we do not")

    def smaller(self) -> Iterator[Case]:
        yield from (replace(self, text=text) for text in shorter(self.text))
        yield from (replace(self, pattern=pattern) for pattern in smaller_patterns(self.pattern))
        if self.flags:
            yield replace(self, flags=0)


@dataclass(frozen=True)
class Terminal(Case):
    """A regexp as a terminal of a Lark grammar: texts that `re.match` consumes if it is ordered, else full matches.

    A regexp is ordered if it has a lazy or possessive quantifier or an atomic group.
    """

    kind = "terminal"
    pattern: str
    text: str

    def check(self) -> None:
        expected = is_lexeme(self.pattern, self.text)
        grammar = loaded(lambda: Grammar.from_lark(f"start: {as_terminal(self.pattern)}"))
        if accepts(grammar, self.text) != expected:
            raise Wrong(f"/{self.pattern}/ and {self.text!r}: re says {expected}, we do not")

    def smaller(self) -> Iterator[Case]:
        yield from (replace(self, text=text) for text in shorter(self.text))
        yield from (replace(self, pattern=pattern) for pattern in smaller_patterns(self.pattern))


@lru_cache(maxsize=100)
def is_ordered(pattern: str) -> bool:
    """Return whether a pattern of `re` has a lazy or possessive quantifier or an atomic group."""
    from support.twin_regex import _parser

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
    """`start: (A | B | ...)*` with terminals that look around: `re` finds all ways to cut the text into lexemes.

    A terminal may begin at one place and end at another if `re` matches it there *with the rest of the text in view*,
    so `if(?!\\w)` ends before a blank and not before a letter.
    """

    kind = "lexemes"
    patterns: list[str]
    text: str

    def check(self) -> None:
        expected = is_cut(self.patterns, self.text)
        if accepts(loaded(lambda: Grammar.from_lark(as_lexemes(self.patterns))), self.text) != expected:
            raise Wrong(f"({self.patterns})* and {self.text!r}: re says {expected}, we do not")

    def smaller(self) -> Iterator[Case]:
        yield from (replace(self, text=text) for text in shorter(self.text))
        yield from (replace(self, patterns=patterns) for patterns in fewer_patterns(self.patterns))


def as_lexemes(patterns: list[str]) -> str:
    return f"start: ({' | '.join(map(as_terminal, patterns))})*"


def fewer_patterns(patterns: list[str]) -> Iterator[list[str]]:
    yield from (less for less in fewer(patterns) if less)
    for i, pattern in enumerate(patterns):
        yield from ([*patterns[:i], less, *patterns[i + 1 :]] for less in smaller_patterns(pattern))


def is_lexeme(pattern: str, text: str) -> bool:
    """Return whether the text, with nothing around it, is one of the terminal's."""
    found = compiled(pattern).match(text) if is_ordered(pattern) else compiled(pattern).fullmatch(text)
    return found is not None and found.end() == len(text)


def is_cut(patterns: list[str], text: str) -> bool:
    """Return whether the text can be cut into lexemes."""
    n = len(text)
    reached = {0}
    for begin in range(n):
        if begin not in reached:
            continue
        for end in range(begin + 1, n + 1):
            ends_there = rf"(?=(?s:.{{{n - end}}})\Z)"
            for pattern in patterns:
                if compiled(f"(?:{pattern}){ends_there}").match(text[begin:]) is not None:
                    reached.add(end)
    return n in reached


# --- which letter may come next --------------------------------------------------------------------------------------


FORMS: dict[str, tuple[Callable[[list[str]], Grammar], Callable[[list[str], str], bool]]] = {
    "whole": (
        lambda patterns: Grammar.from_regex(patterns[0]),
        lambda patterns, text: compiled(patterns[0]).fullmatch(text) is not None,
    ),
    "terminal": (
        lambda patterns: Grammar.from_lark(f"start: {as_terminal(patterns[0])}"),
        lambda patterns, text: is_lexeme(patterns[0], text),
    ),
    "lexemes": (lambda patterns: Grammar.from_lark(as_lexemes(patterns)), is_cut),
}
LETTERS = "ab é"
LONGEST = 5
"""All texts of up to so many letters are compared."""
DEPTH = 3
"""Every byte is tried after texts of up to so many letters. After longer ones, all continuations may be longer than
LONGEST."""
WITNESS = 300
"""How many positions a search for the rest of a sentence may visit before it gives up, which is no failure."""


@dataclass(frozen=True)
class Prefixes(Case):
    """The bytes that may follow each short text. `re` says which texts of a few letters are sentences.

    Every prefix of such a sentence must be allowed. Any other text that is allowed must begin a longer sentence: the
    engine is asked for one, letter by letter, and `re` must agree that it is one.
    """

    kind = "prefixes"
    form: str
    patterns: list[str]

    def check(self) -> None:
        make, says = FORMS[self.form]
        sentences = [text for text in strings(LETTERS, LONGEST) if says(self.patterns, text)]
        grammar = loaded(lambda: make(self.patterns))
        if grammar is None:
            if sentences:
                raise Wrong(f"{self.form} {self.patterns}: no sentence, we say, but {sentences[0]!r} is one")
            return
        encoded = [text.encode() for text in sentences]
        viable = {data[:i] for data in encoded for i in range(len(data) + 1)}
        matcher = Matcher(grammar, BYTES)
        self._follow(matcher, set(encoded), viable)

    def _follow(self, matcher: Matcher, sentences: set[bytes], viable: set[bytes]) -> None:
        text = bytes(matcher.tokens)
        mask = matcher.mask()
        if not mask.any():
            raise Wrong(f"{self.form} {self.patterns}: an empty mask after {text!r}")
        if mask[EOS] != (text in sentences):
            raise Wrong(f"{self.form} {self.patterns}: {text!r} is a sentence, we say {bool(mask[EOS])}")
        for byte in sorted(set(LETTERS.encode())):
            longer = text + bytes([byte])
            if longer in viable and not mask[byte]:
                raise Wrong(f"{self.form} {self.patterns}: wrongly refused {longer!r}")
            if not mask[byte]:
                continue
            assert matcher.accept(byte)
            if longer not in viable:
                self._witness(matcher)
            elif len(longer.decode(errors="ignore")) <= DEPTH:
                self._follow(matcher, sentences, viable)
            matcher.rollback(1)

    def _witness(self, matcher: Matcher) -> None:
        """Search for a sentence that continues this text, the shortest first, and compare it with `re`."""
        agenda = [matcher.fork()]
        for n, place in enumerate(agenda):
            mask = place.mask()
            if mask[EOS]:
                text = bytes(place.tokens).decode()
                if not FORMS[self.form][1](self.patterns, text):
                    raise Wrong(f"{self.form} {self.patterns}: {text!r} is no sentence, we say it is")
                return
            if not mask.any():
                raise Wrong(f"{self.form} {self.patterns}: an empty mask after {bytes(place.tokens)!r}")
            if n > WITNESS:
                return
            usual = [byte for byte in sorted(set(LETTERS.encode())) if mask[byte]]
            for byte in usual or [int(byte) for byte in np.flatnonzero(mask)[:2]]:
                longer = place.fork()
                assert longer.accept(byte)
                agenda.append(longer)
        raise Wrong(f"{self.form} {self.patterns}: {bytes(matcher.tokens)!r} is allowed and leads nowhere")

    def smaller(self) -> Iterator[Case]:
        yield from (replace(self, patterns=patterns) for patterns in fewer_patterns(self.patterns))


@dataclass(frozen=True)
class Alive(Case):
    """After these tokens, spelled in latin-1, the mask of `start: (A | B | ...)*` is consistent (see `alive`)."""

    kind = "alive"
    patterns: list[str]
    tokens: list[str]

    def check(self) -> None:
        vocabulary = short_texts()
        ids = {vocabulary.token_bytes(i): i for i in range(vocabulary.size)}
        for split in SPLITS:
            with limits(split_nodes=split):
                grammar = loaded(lambda: Grammar.from_lark(as_lexemes(self.patterns)))
                if grammar is None:
                    raise Skipped("no sentence")
                matcher = Matcher(grammar, vocabulary)
                for token in ["", *self.tokens]:
                    if token and not matcher.accept(ids[token.encode("latin-1")]):
                        raise Skipped("oracle: this is no viable prefix")
                    try:
                        alive(matcher)
                    except AssertionError as error:
                        raise Wrong(f"{error} after {self.tokens} under {self.patterns}") from error

    def smaller(self) -> Iterator[Case]:
        yield from (replace(self, tokens=tokens) for tokens in fewer(self.tokens))
        yield from (replace(self, patterns=patterns) for patterns in fewer_patterns(self.patterns))


def alive(matcher: Matcher) -> Any:
    """Return the mask; AssertionError if it is empty, differs from the walk's, or from what `validate` says."""
    mask = agreed(matcher)
    assert mask.any(), "an empty mask"
    for token_id in range(0, matcher.vocabulary.size, 7):
        assert matcher.validate([token_id]) == mask[token_id], f"validate([{token_id}]) is not what the mask says"
    return mask


@cache
def short_texts() -> Vocabulary:
    """Return a vocabulary of all texts of up to five letters of "ab ", and every byte."""
    return all_strings("ab ", 5, [*pieces_of("ab "), *(bytes([byte]) for byte in range(256))])


# --- beyond `re` -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ecma(Case):
    """`Grammar.from_regex(..., dialect="ecma")` accepts what `re.fullmatch` matches with the spelling for `re`."""

    kind = "ecma"
    tree: list[Any]
    flags: int
    text: str

    def check(self) -> None:
        pattern = as_ecma(self.tree)
        expected = compiled(as_re(self.tree, self.flags), self.flags & re.I).fullmatch(self.text) is not None
        grammar = loaded(lambda: Grammar.from_regex(pattern, flags=self.flags, dialect="ecma"))
        if accepts(grammar, self.text) != expected:
            raise Wrong(f"ECMA's /{pattern}/ with flags {self.flags} and {self.text!r}: expected {expected}")

    def smaller(self) -> Iterator[Case]:
        yield from (replace(self, text=text) for text in shorter(self.text))
        yield from (replace(self, tree=tree) for tree in smaller_trees(self.tree))
        if self.flags:
            yield replace(self, flags=0)


@dataclass(frozen=True)
class Attributed(Case):
    """A rule that is `lazy`, or ends with a `suffix` or `stop`, matches by its definition, for every prefix."""

    kind = "attributed"
    attribute: str
    body: str
    end: str
    text: str

    def check(self) -> None:
        texts = [self.text[:i] for i in range(len(self.text) + 1)]
        if self.attribute != "lazy" and is_lexeme(self.end, ""):
            raise Skipped("oracle: an end is never empty")
        if self.attribute == "lazy":
            ends = [is_lexeme(self.body, text) for text in texts]
        else:
            found = [any(is_lexeme(self.end, text[i:]) for i in range(len(text) + 1)) for text in texts]
            ends = found[:-1]
            splits = range(len(self.text) + 1)
            ends.append(any(is_lexeme(self.body, texts[i]) and is_lexeme(self.end, self.text[i:]) for i in splits))
        expected = ends[-1] and not any(ends[:-1])
        grammar = loaded(lambda: Grammar.from_lark(as_attributed(self.attribute, self.body, self.end)))
        if accepts(grammar, self.text) != expected:
            raise Wrong(f"{as_attributed(self.attribute, self.body, self.end)} and {self.text!r}: expected {expected}")

    def smaller(self) -> Iterator[Case]:
        yield from (replace(self, text=text) for text in shorter(self.text))
        yield from (replace(self, body=body) for body in smaller_patterns(self.body))
        yield from (replace(self, end=end) for end in smaller_patterns(self.end))


def as_attributed(attribute: str, body: str, end: str) -> str:
    value = "" if attribute == "lazy" else f"={as_terminal(end)}"
    return f"start: x\nx[{attribute}{value}]: {as_terminal(body)}"
