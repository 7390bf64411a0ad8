"""Names that are no keywords: terminals with lookarounds by lists of words, next to each other.

The oracle tries all ways to cut a text into lexemes, with `re` and the whole text in view (`support.lexemes`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from random import Random

import numpy as np

from campaign import patterns
from campaign.cases import Case, Found, Wrong
from campaign.texts import hold, language, texts_for
from campaign.walks import make_bounds
from earleymask import Grammar, Matcher, Vocabulary
from support.lexemes import Definition
from support.mask_paths import SPLITS, all_strings, limits
from support.refusals import Skipped, loaded
from support.sentences import strings
from support.shrinking import fewer, shorter

LETTERS = "abA ,"
Rules = dict[str, list[list[str]]]


@dataclass(frozen=True)
class Names(Case):
    """A grammar of regexps that look around accepts what the definition accepts."""

    kind = "names"
    rules: Rules
    ignored: list[str]
    text: str

    def check(self) -> None:
        definition = Definition(self.rules, self.ignored)
        expected = definition.accepts(self.text)
        grammar = grammar_of(definition.text())
        if patterns.accepts(grammar, self.text) != expected:
            raise Wrong(f"{definition.text()}\nand {self.text!r}: re says {expected}, we do not")

    def smaller(self) -> Iterator[Case]:
        yield from (replace(self, text=text) for text in shorter(self.text))
        yield from (replace(self, rules=rules) for rules in smaller_rules(self.rules))
        if self.ignored:
            yield replace(self, ignored=[])


@dataclass(frozen=True)
class NamesAlive(Case):
    """After these tokens, spelled in latin-1, the mask is consistent (see `patterns.alive`)."""

    kind = "names-alive"
    rules: Rules
    ignored: list[str]
    tokens: list[str]

    def check(self) -> None:
        vocabulary = short_texts()
        ids = {vocabulary.token_bytes(i): i for i in range(vocabulary.size)}
        text = Definition(self.rules, self.ignored).text()
        for split in SPLITS:
            with limits(split_nodes=split, tried=split % 7):
                grammar = loaded(lambda: Grammar.from_lark(text))
                if grammar is None:
                    raise Skipped("no sentence")
                matcher = Matcher(grammar, vocabulary)
                for token in ["", *self.tokens]:
                    if token and not matcher.accept(ids[token.encode("latin-1")]):
                        raise Skipped("oracle: this is no viable prefix")
                    try:
                        patterns.alive(matcher)
                    except AssertionError as error:
                        raise Wrong(f"{error} after {self.tokens} under {text}") from error

    def smaller(self) -> Iterator[Case]:
        yield from (replace(self, tokens=tokens) for tokens in fewer(self.tokens))
        yield from (replace(self, rules=rules) for rules in smaller_rules(self.rules))
        if self.ignored:
            yield replace(self, ignored=[])


def smaller_rules(rules: Rules) -> Iterator[Rules]:
    for name, alternatives in rules.items():
        yield from ({**rules, name: some} for some in fewer(alternatives) if some)
        for i, alternative in enumerate(alternatives):
            yield from (
                {**rules, name: [*alternatives[:i], some, *alternatives[i + 1 :]]} for some in fewer(alternative)
            )


@lru_cache(maxsize=4)
def grammar_of(text: str) -> Grammar | None:
    return loaded(lambda: Grammar.from_lark(text))


@cache
def short_texts() -> Vocabulary:
    return all_strings(LETTERS, 3, [bytes([byte]) for byte in range(256)])


def make_words(rng: Random) -> list[str]:
    """Make a list of words, some of which are beginnings of others."""
    words = {"".join(rng.choice("ab") for _ in range(rng.randint(1, 5))) for _ in range(rng.randint(1, 6))}
    words |= {word[: rng.randint(1, len(word))] for word in words if rng.randrange(2)}
    return sorted(words)


def make_name(rng: Random, words: list[str]) -> str:
    """Make a regexp of names that are none of the words, or do not begin or end with one."""
    alternatives = "|".join(words)
    body = rng.choice(["[ab]+", "[ab]+", "[ab]+", "[ab][ab,]*", "[ab]{1,3}", "a[ab]*", "[ab]+,?", "[ab ]*b"])
    end = rng.choice([r"\b", r"\b", r"\b", "", r"(?!\w)", "$", "(?=[ ,])", "(?!b)"])
    ahead = f"(?!(?:{alternatives}){end})"
    behind = f"(?<!{rng.choice(words)})"
    blank = rng.choice([" ?", " ?", " ", " ", "  ", "[ ,]", ",? "])
    listed = f"(?!{blank}(?:{alternatives}){end})"
    after = rng.choice([f"(?!{rng.choice(words)}{end})", listed, rf"(?!\w){listed}", r"(?!\w)", r"\b"])
    roll = rng.randrange(9)
    if roll in (0, 8):
        name = f"{body}{after}"
    elif roll == 1:
        name = f"{ahead}{body}{after}"
    elif roll == 2:
        name = f"{ahead}a[ab]*" + (behind if all(len(word) == 1 for word in words) else "(?<!b)")
    elif roll == 3:
        name = f"(?:{ahead}{body}|{rng.choice(words)}b)"
    else:
        name = f"{ahead}{body}"
    return f"(?i:{name})" if rng.randrange(3) == 0 else name


def make_rules(rng: Random) -> tuple[Rules, list[str]]:
    words = make_words(rng)
    name = make_name(rng, words)
    keyword = rng.choice(words)
    others = [keyword, f"(?i:{keyword})", rf"{keyword}\b", rf"(?:{'|'.join(words)})\b", ",", "[ab]", "a(?!b)"]
    if rng.randrange(2):
        others.append(make_name(rng, make_words(rng)))
    other = rng.choice(others)
    shapes: list[Rules] = [
        {
            "start": [[other, "list", name, "x"]],
            "list": [[name], ["list", ",", name]],
            "x": [[], [name], [other, name]],
        },
        {"start": [[name], [name, name]]},
        {"start": [["x", "start"], ["x"]], "x": [[name, other], [name, ",", name], [other]]},
        {"start": [[name, "start"], [name], [other]]},
        {"start": [[name, "x", other]], "x": [[], [name, "x"], [","]]},
        {"start": [["x", "x"]], "x": [[name], [other, "x"], ["x", name]]},
    ]
    separator = rng.choice([" ", " ", " ", "  ", ", ", " +", " ?", f" {keyword} "])
    second = rng.choice([name, name, other])
    shapes += [
        {"start": [[name, separator, second]]},
        {"start": [["x", second]], "x": [[], ["x", name, separator]]},
        {"start": [[name, "x"]], "x": [[separator, name], ["x", separator, name]]},
        {"start": [["x", separator, second]], "x": [[name], ["x", separator, name]]},
        {"start": [[name, "x"], [name, ",", "x"]], "x": [[separator, second], [separator, keyword, separator]]},
    ]
    symbols = [name, name, other, ",", separator, "x"]
    for _ in range(2):
        made = [
            [[rng.choice(symbols) for _ in range(rng.randint(0, 3))] for _ in range(rng.randint(1, 3))] for _ in "sx"
        ]
        shapes.append({"start": made[0], "x": [*made[1], [name]]})
    return rng.choice(shapes), rng.choice([[], [" "], [" "], [" +"], [" +"], [" (?!b)"], [" ", ","]])


def names(rng: Random, counts: Counter[str]) -> None:
    """Compare grammars of names beside each other, their texts with the definition, and their masks with the walk."""
    rules, ignored = make_rules(rng)
    grammar = language(counts, lambda: Grammar.from_lark(Definition(rules, ignored).text()), Names(rules, ignored, ""))
    texts = [text for text in texts_for(rng, grammar, 10, LETTERS) if len(text) <= 9] + strings("ab ", 3)
    for text in dict.fromkeys(texts):
        hold(counts, Names(rules, ignored, text))
    vocabulary = short_texts()
    with limits(**make_bounds(rng)):
        grammar = loaded(lambda: Grammar.from_lark(Definition(rules, ignored).text()))
        if grammar is None:
            return
        matcher = Matcher(grammar, vocabulary)
        for _ in range(8):
            counts["masks"] += 1
            case = NamesAlive(rules, ignored, [vocabulary.token_bytes(t).decode("latin-1") for t in matcher.tokens])
            try:
                mask = patterns.alive(matcher)
            except AssertionError as error:
                raise Found(case, f"{error}\n{Definition(rules, ignored).text()}") from error
            allowed = [t for t in np.flatnonzero(mask).tolist() if t not in vocabulary.eos_token_ids]
            if not allowed:
                return
            matcher.accept(rng.choice(allowed))
