"""Names that demand something of the text after them, at places where only the context decides whether that can come.

Loading proves that each text can be finished without such names, or that some texts are sure to meet what they demand
(`grammar/model/avoidance`, `witnesses`). The oracle decides for each byte whether a sentence goes on with it, without
relying on that proof: `Explorer.unproven`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from random import Random

import numpy as np

from campaign.cases import Case, Found, Wrong
from campaign.names import Names, Rules, smaller_rules
from campaign.texts import hold, language
from earleymask import Grammar, LimitError, Matcher, Vocabulary
from support.lexemes import Definition
from support.refusals import Skipped, general, loaded
from support.shrinking import shorter

BYTES = Vocabulary.bytes()


@dataclass(frozen=True)
class Finishable(Case):
    """After this text, the mask has exactly the bytes with which a sentence goes on."""

    kind = "finishable"
    rules: Rules
    ignored: list[str]
    text: str

    def check(self) -> None:
        definition = Definition(self.rules, self.ignored).text()
        grammar = loaded(lambda: Grammar.from_lark(definition))
        if grammar is None:
            raise Skipped("no sentence")
        matcher = Matcher(grammar, BYTES)
        with skipping_limits():
            for byte in self.text.encode("latin-1"):
                if not matcher.accept(byte):
                    raise Skipped("oracle: this is no viable prefix")
            wrong = difference(matcher)
        if wrong:
            raise Wrong(f"{definition}\nafter {self.text!r}: {wrong}")

    def smaller(self) -> Iterator[Case]:
        yield from (replace(self, text=text) for text in shorter(self.text))
        yield from (replace(self, rules=rules) for rules in smaller_rules(self.rules))
        if self.ignored:
            yield replace(self, ignored=[])


@contextmanager
def skipping_limits() -> Iterator[None]:
    """Skip a case in which a matcher reaches a limit, such as its time."""
    try:
        yield
    except LimitError as error:
        raise Skipped(f"limit: {general(str(error))}") from None


def difference(matcher: Matcher) -> str | None:
    """Return how the bytes in the mask differ from those with which a sentence goes on, or None. A grammar without a
    sentence must be refused, so the mask is never empty."""
    mask = matcher.mask()
    if not mask.any():
        return "the mask is empty"
    seen = bytes(np.flatnonzero(mask[:256]).tolist())
    try:
        with matcher._explorer() as explorer:
            expected = explorer.unproven(explorer.now())
    except TimeoutError:
        raise Skipped("oracle: too many demands") from None
    if seen == expected:
        return None
    return f"the mask has {seen!r}, sentences go on with {expected!r}"


def make_demand(rng: Random) -> str:
    """Make a name with a lookahead at two characters or more."""
    body = rng.choice(["[ab]+", "aa?", "[ab]", "a", "a", "b", "b?a", "(?:a|bb)"])
    texts = set()
    for _ in range(rng.randint(1, 3)):
        blank = rng.choice([" ", " ", ",", ",", "[ ,]", " ?", "[ ,]?", "  ", ", "])
        word = rng.choice(["a", "b", "a", "b", "ab", "aa", "[ab]", "(?:a|ba)"])
        texts.add(blank + word + rng.choice(["", "", r"\b", r"\b", "$", " ", ","]))
    return f"{body}(?{rng.choice('!!=')}{'|'.join(sorted(texts))})"


def make_rules(rng: Random) -> tuple[Rules, list[str]]:
    """Make rules that derive each other, so that a name at the end of one stands in several contexts."""
    names = [make_demand(rng) for _ in range(rng.randint(1, 3))]
    symbols = ["start", "x", "y"][: rng.choice([1, 2, 2, 3])]

    def name() -> str:
        return rng.choice(names)

    def blank() -> str:
        return rng.choice([" ", " ", ",", ",", "[ ,]", " +", "  ", " ?"])

    def word() -> str:
        return rng.choice(["a", "b", "ab", "[ab]", r"[ab]+\b", name()])

    def end(later: list[str]) -> list[str]:
        """Make an alternative that is not recursive."""
        last = rng.choice(later) if later else name()
        return rng.choice(
            [
                [name()],
                [last],
                [name(), blank(), last],
                [last, blank(), word()],
                [blank(), last],
                [last, blank()],
                [word()],
                [blank()],
            ]
        )

    def recursive(lhs: str) -> list[str]:
        other = rng.choice([lhs, lhs, *symbols])
        return rng.choice(
            [
                [lhs, blank(), rng.choice([name(), other])],
                [name(), blank(), other],
                [name(), blank(), other, rng.choice([blank(), word()])],
                [name(), other, name()],
                [word(), other, blank()],
                [blank(), other, word()],
                [other, name()],
                [other, blank()],
                [other, blank(), word()],
            ]
        )

    rules: Rules = {}
    for i, lhs in enumerate(symbols):
        later = symbols[i + 1 :]
        rules[lhs] = [recursive(lhs) for _ in range(rng.randint(0, 2))] + [end(later) for _ in range(rng.randint(1, 2))]
        if rng.randrange(10) == 0:
            rules[lhs].append([])
    return rules, rng.choice([[], [], [], [], [" "], [" +"], ["[ ,]"], [" ", ","]])


def make_tight_demand(rng: Random) -> str:
    """Make a name of which each text may have a lookahead of its own, by few characters."""

    def text(body: str, kinds: str, aheads: list[str]) -> str:
        some = {rng.choice(aheads) for _ in range(rng.randint(1, 3))}
        return f"{body}(?{rng.choice(kinds)}{'|'.join(sorted(some))})"

    aheads = [" b", " b", " a", "b", " ", ",", "c", ";a", "  ", "a", " bb"]
    if rng.randrange(8) == 0:  # more demands than a witness is made to meet
        few = rng.sample([" a", "  ", ";a", "c", ",", "b"], 3)
        return "|".join([text(body, "!", few) for body in "abcdefghij"] + [text("k", "!", [*few, " bb"])])
    texts = [text(body, "!!=", aheads) for body in rng.sample("abc,", rng.choice([1, 1, 2, 2, 3]))]
    return "|".join(texts) + rng.choice(["", "", "|;;"])


def make_tight_rules(rng: Random) -> tuple[Rules, list[str]]:
    """Make rules of few parts, so that often nothing that may follow a name meets its demand."""
    names = [make_tight_demand(rng) for _ in range(rng.randint(1, 2))]
    for _ in range(rng.randint(0, 2)):
        names.append(f"{rng.choice('abc')}(?{rng.choice('!=')}{rng.choice(['a', 'b', 'c', ',', ' ', '[ab]'])})")
    words = rng.sample(["a", "b", "c", ",", ";", " ", " b", " [ab]", ", b", " bb", " bb", "[cd]"], rng.randint(1, 3))
    before = f"c(?={names[0][0]})"  # after it, only the first text of the name may come
    has_before = rng.randrange(3) == 0
    symbols = ["start", "x", "y"][: rng.choice([1, 2, 2, 3])]

    def alternative(lhs: str) -> list[str]:
        parts = [*names, *words, *words, *symbols]
        made = [rng.choice(parts) for _ in range(rng.choice([1, 1, 2, 2, 3, 3]))]
        if rng.randrange(4) == 0:
            made[0] = lhs
        if has_before:
            made = [each for part in made for each in ([before, part] if part in names[:1] else [part])]
        return made

    rules: Rules = {}
    for lhs in symbols:
        rules[lhs] = [alternative(lhs) for _ in range(rng.randint(1, 3))]
        if rng.randrange(2):
            rules[lhs].append([rng.choice([*names, *words])])
    return rules, rng.choice([[], [], [], [], [" "], [","]])


def demands(rng: Random, counts: Counter[str]) -> None:
    """Walk through grammars of names that demand something, and compare each mask with the oracle. Compare with `re`
    whether the last text and its beginnings are sentences."""
    rules, ignored = rng.choice([make_rules, make_tight_rules, make_tight_rules])(rng)
    text = Definition(rules, ignored).text()
    grammar = language(counts, lambda: Grammar.from_lark(text), Finishable(rules, ignored, ""))
    if grammar is None:
        return
    with skipping_limits():
        for _ in range(3):
            matcher = Matcher(grammar, BYTES)
            for _ in range(8):
                counts["masks"] += 1
                wrong = difference(matcher)
                if wrong:
                    done = bytes(matcher.tokens).decode("latin-1")
                    raise Found(Finishable(rules, ignored, done), f"{text}\nafter {done!r}: {wrong}")
                allowed = np.flatnonzero(matcher.mask()[:256]).tolist()
                if not allowed:
                    break
                matcher.accept(rng.choice(allowed))
    text = bytes(matcher.tokens).decode("latin-1")
    for end in range(len(text) + 1):
        hold(counts, Names(rules, ignored, text[:end]))
