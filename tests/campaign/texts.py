"""The arms of the campaign that compare texts: patterns with `re`, whole grammars with their own oracles."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable
from random import Random

import numpy as np

from campaign.cases import Case, Choices, Found, Gbnf, Sentence, failure
from campaign.patterns import (
    FORMS,
    Alive,
    Attributed,
    Ecma,
    FullMatch,
    Lexemes,
    Prefixes,
    Terminal,
    alive,
    as_attributed,
    as_ecma,
    as_lexemes,
    as_re,
    as_terminal,
    compiled,
    short_texts,
)
from campaign.walks import make_bounds
from earleymask import Grammar, Matcher
from support import ecma_twin
from support.mask_paths import limits
from support.refusals import Skipped, general, loaded
from support.sentences import BYTES, EOS
from support.strategies import CLASSES, LITERALS, make_gbnf, make_grammar, make_pattern, with_templates


def hold(counts: Counter[str], case: Case) -> None:
    """Check one case and count it."""
    counts["texts"] += 1
    what = failure(case)
    if what is not None:
        raise Found(case, what)


def texts_for(rng: Random, grammar: Grammar | None, n: int, letters: str = 'ab1 é_\n"') -> list[str]:
    """Return sentences found by walks along masks of single bytes, some of them changed, and random short texts.

    A grammar of None has no sentences; then only the short texts are returned.
    """
    found = []
    for _ in range(n if grammar is not None else 0):
        assert grammar is not None
        matcher = Matcher(grammar, BYTES)
        for _ in range(rng.randint(1, 14)):
            if matcher.is_accepting() and rng.randrange(4) == 0:
                break
            allowed = [t for t in np.flatnonzero(matcher.mask()).tolist() if t != EOS]
            plain = [t for t in allowed if 32 <= t < 127]
            if not allowed:
                break
            matcher.accept(rng.choice(plain if plain and rng.randrange(5) else allowed))
        text = bytes(matcher.tokens).decode("utf-8", errors="ignore")
        found.append(text)
        if text:
            at = rng.randrange(len(text))
            letter = rng.choice(letters)
            changed = [text[:at] + text[at + 1 :], text[:at] + letter + text[at:], text[:at] + letter + text[at + 1 :]]
            found.append(rng.choice([*changed, text + letter, text * 2, text[at:] + text[:at], text.swapcase()]))
    found += ["".join(rng.choice(letters) for _ in range(rng.randrange(6))) for _ in range(n)]
    return list(dict.fromkeys(found))


LOOKS = [
    r"\b", r"\B", "^", "$", r"\A", r"\Z", "(?=a)", r"(?!\w)", "(?!ab)", "(?=[^ ]b)", "(?<=a)", "(?<![ab])", "(?<=ab)",
    "(?!.*b)", "(?=.{2})", "(?<!ab|b )", r"(?=\Z)",
]  # fmt: skip
FLAGS = [0, 0, 0, re.I, re.S, re.M, re.A, re.I | re.A, re.M | re.S]


def make_full_pattern(rng: Random, looks: bool) -> str:
    """Make a pattern out of all of `re`'s syntax; lookarounds, anchors, possessive and atomic parts only if `looks`."""
    pieces = []
    for _ in range(rng.randint(1, 4)):
        roll = rng.randrange(10)
        if looks and roll < 3:
            pieces.append(rng.choice(LOOKS))
        elif looks and roll == 3:
            pieces.append(f"(?>{make_pattern(rng, 2)})" if rng.randrange(2) else f"(?:{make_pattern(rng, 1)})++")
        elif roll == 4:
            pieces.append(f"(?:{rng.choice(LITERALS)}|{make_full_pattern(rng, looks)})")
        elif roll == 5:
            pieces.append(f"({rng.choice(CLASSES)}{rng.choice(['', '*', '+', '??', '{2,}?', '{1,3}'])})")
        else:
            pieces.append(make_pattern(rng, rng.randint(0, 2)))
    return "".join(pieces)


def steep(pattern: str) -> bool:
    """Return whether `re` might take forever, because of repetitions within repetitions."""
    return len(re.findall(r"\)[*+{]", pattern)) > 2 or len(pattern) > 120


def regexes(rng: Random, counts: Counter[str]) -> None:
    pattern = make_full_pattern(rng, looks=rng.randrange(3) > 0)
    flags = int(rng.choice(FLAGS))
    if steep(pattern):
        raise Skipped("oracle: too steep for re")
    compiled(pattern, flags)
    grammar = language(counts, lambda: Grammar.from_regex(pattern, flags=flags), FullMatch(pattern, flags, ""))
    for text in texts_for(rng, grammar, 6):
        hold(counts, FullMatch(pattern, flags, text))


def language(counts: Counter[str], make: Callable[[], Grammar], case: Case) -> Grammar | None:
    """Return the grammar, or None if it has no sentence. `case` reproduces a refusal for any other reason."""
    counts["grammars"] += 1
    try:
        return loaded(make)
    except Skipped:
        counts["grammars refused"] += 1
        raise
    except Exception as error:
        if failure(case) is None:
            raise Skipped(f"oracle: it refuses, too, as we do: {general(str(error))}") from None
        raise Found(case, f"{type(error).__name__}: {error}") from error


def terminals(rng: Random, counts: Counter[str]) -> None:
    pattern = make_full_pattern(rng, looks=rng.randrange(4) == 0)
    if steep(pattern):
        raise Skipped("oracle: too steep for re")
    compiled(pattern)
    grammar = language(counts, lambda: Grammar.from_lark(f"start: {as_terminal(pattern)}"), Terminal(pattern, ""))
    for text in texts_for(rng, grammar, 6):
        hold(counts, Terminal(pattern, text))


CONTEXTS = [
    "(?=ab)",
    "(?!ab)",
    r"(?= b|\Z)",
    "(?!.b|a)",
    r"(?!\w)",
    r"\b",
    "(?=a)",
    "(?![ab])",
    r"(?=\s|\Z)",
    "(?= )",
    r"(?<!b)",
    r"\B",
    r"(?!\s)",
    "$",
]
PLAIN_LEXEMES = ["a+", "b", "if", "[ab]+", r"\w+", " +", r"[?]", "é", "a b", "[^a]", "(?:ab)+", "i", "f+"]


def lexemes(rng: Random, counts: Counter[str]) -> None:
    """Compare sequences of terminals that look ahead or behind, with blanks between them."""
    patterns = [rng.choice(PLAIN_LEXEMES) for _ in range(rng.randint(1, 2))]
    patterns += [rng.choice(PLAIN_LEXEMES) + rng.choice(CONTEXTS) for _ in range(rng.randint(1, 2))]
    if rng.randrange(2):
        patterns.append(" ")
    grammar = language(counts, lambda: Grammar.from_lark(as_lexemes(patterns)), Lexemes(patterns, ""))
    for text in texts_for(rng, grammar, 8, letters="ab if?é"):
        if len(text) <= 12:
            hold(counts, Lexemes(patterns, text))
    walk_alive(rng, patterns, counts)


def walk_alive(rng: Random, patterns: list[str], counts: Counter[str]) -> None:
    """Walk at random, and check that each mask is consistent (see `alive`)."""
    vocabulary = short_texts()
    with limits(**make_bounds(rng)):
        grammar = loaded(lambda: Grammar.from_lark(as_lexemes(patterns)))
        if grammar is None:
            return
        matcher = Matcher(grammar, vocabulary)
        for _ in range(8):
            counts["masks"] += 1
            case = Alive(patterns, [vocabulary.token_bytes(t).decode("latin-1") for t in matcher.tokens])
            try:
                mask = alive(matcher)
            except AssertionError as error:
                raise Found(case, f"{error}\n{patterns}") from error
            allowed = [t for t in np.flatnonzero(mask).tolist() if t not in vocabulary.eos_token_ids]
            if not allowed:
                return
            matcher.accept(rng.choice([t for t in allowed if vocabulary.token_bytes(t).isascii()] or allowed))


PLAIN_LETTERS = ["a", "b", "[ab]", "[^a]", ".", r"\w", " ", "é", "ab", "a*", "b+", "(?:a|ab)", "[^ab]", r"\s", "a?"]


def make_small_pattern(rng: Random) -> str:
    """Make a short pattern of few letters, out of everything that the twins do not know."""
    pieces = []
    for _ in range(rng.randint(1, 4)):
        roll = rng.randrange(8)
        if roll < 3:
            pieces.append(rng.choice(LOOKS))
        elif roll == 3:
            body = "".join(rng.choice(PLAIN_LETTERS) for _ in range(2))
            pieces.append(rng.choice([f"(?>{body})", f"(?:{body})?+", f"(?:{body})*?", f"(?:{body})++"]))
        elif roll == 4:
            pieces.append(f"(?:{rng.choice(PLAIN_LETTERS)}{rng.choice(LOOKS)}|{rng.choice(PLAIN_LETTERS)})+")
        else:
            pieces.append(rng.choice(PLAIN_LETTERS))
    return "".join(pieces)


def prefixes(rng: Random, counts: Counter[str]) -> None:
    """Compare the bytes that may come next with all short texts."""
    form = rng.choice(list(FORMS))
    if form == "lexemes":
        patterns = [rng.choice(PLAIN_LEXEMES), rng.choice(PLAIN_LEXEMES) + rng.choice(CONTEXTS)]
    else:
        patterns = [make_small_pattern(rng)]
    for pattern in patterns:
        compiled(pattern)
    case = Prefixes(form, patterns)
    language(counts, lambda: FORMS[form][0](patterns), case)
    hold(counts, case)


def ecma(rng: Random, counts: Counter[str]) -> None:
    tree = make_ecma(rng, 3)
    flags = int(rng.choice([0, 0, re.I, re.S, re.M, re.I | re.M]))
    compiled(as_re(tree, flags), flags & re.I)
    pattern = as_ecma(tree)
    grammar = language(counts, lambda: Grammar.from_regex(pattern, flags=flags, dialect="ecma"), Ecma(tree, flags, ""))
    for text in texts_for(rng, grammar, 6, letters=ECMA_LETTERS):
        hold(counts, Ecma(tree, flags, text))


ECMA_LETTERS = "abA1 éÉ_-\n\u2028\ufeffks\u017f\u212a😀"


def make_ecma(rng: Random, depth: int) -> list[object]:
    """Make a tree for `ecma_twin`."""
    roll = rng.randrange(12) if depth else 0
    if roll < 4:
        return ["leaf", rng.choice([*ecma_twin.LEAVES, *ecma_twin.BY_FLAG])]
    if roll < 7:
        return ["cat", *(make_ecma(rng, depth - 1) for _ in range(rng.randint(2, 3)))]
    if roll == 7:
        return ["or", make_ecma(rng, depth - 1), make_ecma(rng, depth - 1)]
    if roll < 10:
        return ["many", make_ecma(rng, depth - 1), rng.choice(["*", "+", "?", "*?", "{2}", "{1,2}", "{0,3}?", "{2,}"])]
    if roll == 10:
        return ["group", make_ecma(rng, depth - 1)]
    return ["look", rng.choice(ecma_twin.LOOKS), make_ecma(rng, depth - 1)]


BODIES = ["[ab]*", "a+", "(?s:.*)", "[^b]*", "(?:ab|a)+b?", "a*?b", "[ab]{1,4}", "é*a", "(?:a|bb)*", "(?:)", "b?a?b?"]
ENDS = ["b", "ab", "aa", "é", "a|bb", "b+", "[ab]b", "ba?", "aba", "(?i:B)"]


def attributed(rng: Random, counts: Counter[str]) -> None:
    """Compare rules that are lazy, or end with something, with their definitions."""
    attribute = rng.choice(["lazy", "suffix", "stop"])
    body, end = rng.choice(BODIES), rng.choice(ENDS)
    if rng.randrange(3) == 0:
        body += rng.choice(BODIES)
    text = as_attributed(attribute, body, end)
    grammar = language(counts, lambda: Grammar.from_lark(text), Attributed(attribute, body, end, ""))
    for text in texts_for(rng, grammar, 6, letters="aabbé B"):
        hold(counts, Attributed(attribute, body, end, text))


def sentences(rng: Random, counts: Counter[str]) -> None:
    """Compare sentences, whole and changed, with Lark."""
    sketch = make_grammar(rng, plain=True)
    if rng.randrange(3) == 0:
        sketch = with_templates(rng, sketch)
    text = sketch.text
    grammar = language(counts, lambda: Grammar.from_lark(text), Sentence(text, "", sketch))
    for sentence in texts_for(rng, grammar, 4, letters="ab,~ (1"):
        hold(counts, Sentence(text, sentence, sketch))


def gbnf_texts(rng: Random, counts: Counter[str]) -> None:
    """Compare GBNF with its own slow reader and matcher, also what Lark's syntax cannot write."""
    text = make_gbnf(rng).gbnf
    if rng.randrange(2):
        text = text.replace("[a-c]", r"[a\x62c-]").replace('"é"', r'"\u00e9"').replace(" | ", " | # b\n  ", 1)
    grammar = language(counts, lambda: Grammar.from_gbnf(text), Gbnf(text, ""))
    for sentence in texts_for(rng, grammar, 4, letters="ab()0 é"):
        if len(sentence) <= 16:
            hold(counts, Gbnf(text, sentence))


def choices(rng: Random, counts: Counter[str]) -> None:
    letters = rng.choice(["ab", "aé日", "ab \n", "\x00a\U0010ffff"])
    made = ["".join(rng.choice(letters) for _ in range(rng.randrange(6))) for _ in range(rng.choice([1, 3, 10, 60]))]
    counts["grammars"] += 1
    for text in itertools.chain(made[:5], texts_for(rng, Grammar.from_choices(made), 5, letters)):
        hold(counts, Choices(made, text))
