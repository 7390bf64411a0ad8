"""Rules with `commit`: their texts and masks, with a twin that lists the readings of a text (`support.commit_twin`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from random import Random

import numpy as np

from campaign import patterns
from campaign.cases import Case, Found, Wrong
from campaign.texts import hold, texts_for
from campaign.walks import make_bounds
from earleymask import Grammar, GrammarError, Matcher, Vocabulary
from support.commit_twin import LETTERS, CommitTwin, lark_text, random_grammar, texts
from support.commit_twin import Grammar as Given
from support.mask_paths import all_strings, limits
from support.refusals import Skipped, loaded
from support.shrinking import fewer, shorter

REFUSED = ("without a sentence", "begin with a shorter one", "begins with one with which")


@dataclass(frozen=True)
class Commits(Case):
    """A grammar accepts what the twin accepts, and every text that it takes for a beginning may be finished."""

    kind = "commits"
    rules: dict[str, list[list[str]]]
    terminals: dict[str, str]
    heads: list[str]
    ignored: list[str]
    text: str

    def given(self) -> Given:
        rules = {name: [tuple(rhs) for rhs in alternatives] for name, alternatives in self.rules.items()}
        return Given(rules, self.terminals, frozenset(self.heads), frozenset(self.ignored))

    def check(self) -> None:
        given = self.given()
        for alternatives in given.rules.values():
            n_heads = sum(symbol in given.heads for rhs in alternatives for symbol in rhs)
            if n_heads and n_heads != sum(rhs[:1] != () and rhs[0] in given.heads for rhs in alternatives):
                raise Skipped("oracle: a head does not begin its rule")
            if n_heads not in (0, len(alternatives)):
                raise Skipped("oracle: an alternative has no head")
        source = lark_text(given)
        expected = CommitTwin(given).is_sentence(self.text)
        if patterns.accepts(grammar_of(source), self.text) != expected:
            raise Wrong(f"{source}\nand {self.text!r}: the twin says {expected}, we do not")

    def smaller(self) -> Iterator[Case]:
        yield from (replace(self, text=text) for text in shorter(self.text))
        for name, alternatives in self.rules.items():
            yield from (replace(self, rules={**self.rules, name: some}) for some in fewer(alternatives) if some)
            for i, alternative in enumerate(alternatives):
                for some in fewer(alternative):
                    changed = [*alternatives[:i], some, *alternatives[i + 1 :]]
                    yield replace(self, rules={**self.rules, name: changed})
        if self.ignored:
            yield replace(self, ignored=[])


@lru_cache(maxsize=4)
def grammar_of(text: str) -> Grammar | None:
    try:
        return loaded(lambda: Grammar.from_lark(text))
    except GrammarError as error:
        if any(each in error.message for each in REFUSED):
            raise Skipped(f"refused: {REFUSED[0]}") from None
        raise


@cache
def short_texts() -> Vocabulary:
    return all_strings(LETTERS, 4, [bytes([byte]) for byte in range(256)])


def commits(rng: Random, counts: Counter[str]) -> None:
    """Compare the texts of a grammar with the twin, and its masks with the walk."""
    given = random_grammar(rng)
    rules = {name: [list(rhs) for rhs in alternatives] for name, alternatives in given.rules.items()}
    case = Commits(rules, given.terminals, sorted(given.heads), sorted(given.ignored), "")
    source = lark_text(given)
    counts["grammars"] += 1
    try:
        grammar = grammar_of(source)
    except Skipped:
        counts["grammars refused"] += 1
        raise
    found = [text for text in texts_for(rng, grammar, 10, LETTERS) if len(text) <= 8 and set(text) <= set(LETTERS)]
    for text in dict.fromkeys(found + texts(3)):
        hold(counts, replace(case, text=text))
    with limits(**make_bounds(rng)):
        grammar = loaded(lambda: Grammar.from_lark(source))
        if grammar is None:
            return
        matcher = Matcher(grammar, short_texts())
        for _ in range(8):
            counts["masks"] += 1
            try:
                mask = patterns.alive(matcher)
            except AssertionError as error:
                text = b"".join(matcher.vocabulary.token_bytes(token) for token in matcher.tokens).decode()
                raise Found(replace(case, text=text), f"{error}\n{source}") from error
            allowed = [t for t in np.flatnonzero(mask).tolist() if t not in matcher.vocabulary.eos_token_ids]
            if not allowed:
                return
            matcher.accept(rng.choice(allowed))
