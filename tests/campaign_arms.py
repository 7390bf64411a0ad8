"""The arms of the campaign: each makes up cases and holds them against its oracle.

An arm is a function of a `Random`, seeded by the campaign's seed, the arm's name and a number: the three name a case.
It counts what it compared in a `Counter`, and raises `Found` with a `Case` that goes wrong, or `Skipped`.
"""

from __future__ import annotations

import itertools
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import vocabularies
from campaign_cases import (
    BYTES,
    EOS,
    Case,
    Choices,
    FullMatch,
    Gbnf,
    Lexemes,
    Sentence,
    Skipped,
    Terminal,
    Wrong,
    failure,
    fewer,
    refused_by_name,
)
from campaign_sessions import BUFFERS, Calls, Session, Source, Tokens
from mask_paths import NEVER, SPLITS, agreed, all_strings, limits, pieces_of
from strategies import (
    CLASSES,
    LITERALS,
    SMALL,
    TokenPool,
    choose_token,
    make_gbnf,
    make_grammar,
    make_pattern,
    make_small_grammar,
    with_templates,
)
from twin import Node

from earleymask import Grammar, Matcher

SAMPLED_FROM = ("tekken", "llama3", "deepseek", "mistral-spm-32k")
WHOLE = ("tekken", "mistral-spm-32k", "deepseek", "llama3")
BENCH = ("json", "language", "sql")
ROOT = Path(__file__).resolve().parent.parent
SPECIALS = ("<|call|>", "<|end|>", "<|other|>")


class Found(Exception):
    """A difference, with all it takes to see it again."""

    def __init__(self, case: Case, what: str) -> None:
        super().__init__(what)
        self.case = case
        self.what = what


@dataclass(frozen=True)
class Arm:
    name: str
    what: str  # is compared with what
    run: Callable[[Random, Counter[str]], None]
    share: int  # of the time


# --- sessions: masks beside the twin ---------------------------------------------------------------------------------


@cache
def pool(name: str) -> TokenPool:
    vocabulary = vocabularies.load(name)
    return TokenPool.of([vocabulary.token_bytes(i) for i in range(vocabulary.size)])


def sampled(rng: Random) -> Tokens:
    """500 to 4,000 tokens of a real vocabulary, most of them nearer to 500, with EOS ids, gaps and special tokens.

    All single bytes are there; some tokens are there twice; now and then there are long runs of blanks.
    """
    size = int(500 * 8 ** (rng.random() ** 2))
    tokens = pool(rng.choice(SAMPLED_FROM)).sample(rng, size)
    if rng.randrange(3) == 0:
        tokens += [rng.choice([b" ", b"\n", b"\t", b"  ", b" \n"]) * n for n in (2, 3, 5, 8, 13, 31, 64)]
    size = len(tokens)
    special = {name: size + 1 + i for i, name in enumerate(SPECIALS)}
    return Tokens.of([*tokens, b"", *(b"" for _ in SPECIALS), b""], [special["<|end|>"], size + 4], special)


@cache
def small(alphabet: str) -> Tokens:
    every_byte = [bytes([b]) for b in range(256)]  # ignored text may need what the alphabet has not
    vocabulary = all_strings(alphabet, SMALL[alphabet][0], [*pieces_of(alphabet), *every_byte])
    return Tokens.of([vocabulary.token_bytes(i) for i in range(vocabulary.size)], list(vocabulary.eos_token_ids))


def make_bounds(rng: Random) -> dict[str, int]:
    """The usual ones for half of the sessions."""
    bounds = {}
    if rng.randrange(2):
        bounds["split_nodes"] = rng.choice([1, 2, 5, 30, 50, 150, 300, NEVER])
    if rng.randrange(6) == 0:
        bounds["memory"] = rng.choice([0, 5_000, 1 << 14, 1 << 18])
    if rng.randrange(12) == 0:
        bounds["budget"] = rng.choice([1, 100, 5_000])
    return bounds


def with_special(rng: Random, text: str) -> str:
    """A grammar that names special tokens, one of them an EOS token, between its other symbols."""
    names = rng.sample(SPECIALS, rng.randint(1, 2))
    rules = [f"special_{i}: {name} start? | start {name}" for i, name in enumerate(names)]
    extended = text.replace("start: ", f"start: special_{rng.randrange(len(names))} | ", 1)
    return extended + "\n".join(rules) + "\n"


def lark_source(rng: Random) -> Source:
    sketch = make_grammar(rng)
    roll = rng.randrange(8)
    if roll == 0:
        return Source.lark(with_special(rng, sketch.text))
    return Source.lark(with_templates(rng, sketch) if roll < 3 else sketch)


def run_session(
    rng: Random,
    counts: Counter[str],
    sources: Iterable[Source],
    tokens: Tokens,
    *,
    n_calls: int,
    choose: Callable[[Random, Session], list[Any]],
    budget: int = 1_500_000,
    masks_from: int = 0,
) -> None:
    """Calls drawn by `choose`; a difference becomes a case of all calls made so far."""
    bounds = make_bounds(rng)
    session = Session(tuple(sources), tokens, budget)
    with limits(**bounds):
        try:
            for n in range(len(session.sources)):
                session.do("new", n)
            for _ in range(n_calls if session.pairs else 0):
                session.do(*choose(rng, session))
        except Wrong as wrong:
            case = Calls(session.sources, tokens, bounds, tuple(session.calls), budget * 2)
            raise Found(case, str(wrong)) from wrong
        finally:
            counts["grammars"] += len(session.sources)
            counts["grammars refused"] += len(session.refused)
            counts["masks"] += session.n_masks
            counts["calls"] += len(session.calls)


def next_token(rng: Random, session: Session, number: int) -> int:
    """A token of the twin's mask that is not EOS, if there is one: short ones and long ones preferred."""
    pair = session.pairs[number]
    allowed = np.flatnonzero(pair.twin.mask()).tolist()
    ordinary = [t for t in allowed if t not in session.vocabulary.eos_token_ids]
    if not ordinary:
        return int(rng.choice(allowed)) if allowed else 0
    some = rng.sample(ordinary, min(200, len(ordinary)))
    return choose_token(rng, some, {t: session.vocabulary.token_bytes(t) for t in some})


def walking(rng: Random, session: Session) -> list[Any]:
    """Mostly on: masks and tokens, with a step back, a fork or a new beginning now and then."""
    roll = rng.randrange(100)
    last = session.calls[-1]
    # Mostly with the same matcher: the first positions of a sequence are alike and cheap.
    stays = last[0] != "new" and rng.randrange(4) > 0
    number = last[1] % len(session.pairs) if stays else rng.randrange(len(session.pairs))
    if last[0] == "mask" and roll < 88:
        number = last[1] % len(session.pairs)
        return ["accept", number, next_token(rng, session, number)]
    if roll < 88:
        return ["mask", number]
    if roll < 91:
        return ["rollback", number, rng.choice([1, 1, 2, 5, 100])]
    if roll < 94:
        return ["fork", number]
    if roll < 95:
        return ["reset", number]
    if roll < 96:
        return ["new", rng.randrange(len(session.sources))]
    if roll < 97:
        return ["drop", number]
    return ["accept", number, rng.randrange(session.vocabulary.size)]


def calling(rng: Random, session: Session) -> list[Any]:
    """Anything that can be called."""
    number = rng.randrange(len(session.pairs))
    size = session.vocabulary.size
    roll = rng.randrange(26)
    if roll < 7:
        return ["accept", number, next_token(rng, session, number)]
    if roll < 9:
        return ["accept", number, rng.randrange(size)]
    if roll < 12:
        return ["mask", number]
    if roll == 12:
        tokens = [next_token(rng, session, number), *(rng.randrange(size + 2) - 1 for _ in range(rng.randrange(3)))]
        return ["validate", number, tokens]
    if roll == 13:
        return ["buffer", number, rng.choice(list(BUFFERS))]
    if roll == 14:
        name, values = rng.choice(
            [("memory", [0, 5_000, 1 << 26]), ("split_nodes", [1, 5, 50, NEVER]), ("budget", [1, 300, 10**9])]
        )
        return ["bounds", number, name, rng.choice(values)]
    if roll == 15:
        return ["threads", number, rng.randint(1, 3)]
    if roll == 16:
        return ["new", rng.randrange(len(session.sources))]
    if roll == 17:
        return ["rollback_too_far", number, rng.randrange(-3, 4)]
    if roll == 18:
        return ["rollback", number, rng.choice([0, 1, 1, 2, 5, 1000])]
    if roll == 19:
        return [rng.choice(["fork", "fork", "drop", "reset"]), number]
    if roll == 20:
        return [rng.choice(["collect", "reload", "pickled", "constraint"]), number]
    if roll == 21:
        return ["batch", number, rng.randint(1, 3)]
    return [rng.choice(["odd_ids", "forced", "look", "fork"]), number]


def masks(rng: Random, counts: Counter[str]) -> None:
    run_session(rng, counts, [lark_source(rng) for _ in range(3)], sampled(rng), n_calls=60, choose=walking)


def small_grammars(rng: Random, counts: Counter[str]) -> None:
    alphabet = rng.choice(list(SMALL))
    sources = [Source.lark(make_small_grammar(rng, alphabet)) for _ in range(4)]
    run_session(rng, counts, sources, small(alphabet), n_calls=60, choose=walking, budget=600_000)


def whole_vocabularies(rng: Random, counts: Counter[str]) -> None:
    tokens = Tokens(name=rng.choice(WHOLE))
    source = Source.lark(make_grammar(rng))
    run_session(rng, counts, [source], tokens, n_calls=24, choose=walking, budget=30_000_000)


@cache
def bench_text() -> Callable[[str, int, int], str]:
    sys.path.append(str(ROOT))
    from bench.texts import generate  # takes the root off sys.path again

    return generate


def bench_grammars(rng: Random, counts: Counter[str]) -> None:
    """Grammars as people write them, at places inside their texts."""
    kind = rng.choice(BENCH)
    text = (ROOT / "bench" / "grammars" / f"{kind}.lark").read_text(encoding="utf-8")
    document = bench_text()(kind, rng.randrange(10**6), 600).encode()
    tokens = Tokens(name=rng.choice(WHOLE))
    ids = tokenised(rng, tokens.make()[1], document)
    chosen = set(rng.sample(range(len(ids)), min(8, len(ids))))
    calls = iter([c for i, t in enumerate(ids) for c in [["mask", 0]] * (i in chosen) + [["accept", 0, t]]])

    def along(rng: Random, session: Session) -> list[Any]:
        n_accepted = sum(call[0] == "accept" for call in session.calls)
        assert len(session.pairs[0].twin.tokens) == n_accepted, "a text that the bench makes is none of its grammar"
        return next(calls)

    n = len(ids) + len(chosen)
    run_session(rng, counts, [Source.lark(text)], tokens, n_calls=n, choose=along, budget=30_000_000)


def tokenised(rng: Random, trie: Node, data: bytes) -> list[int]:
    """The text in tokens, the longest that fit mostly, and random shorter ones in between."""
    tokens = []
    place = 0
    while place < len(data):
        fitting: list[tuple[int, int]] = []
        node: Node | None = trie
        for end in range(place, len(data)):
            node = node.children.get(data[end]) if node else None
            if node is None:
                break
            fitting += [(end + 1, token_id) for token_id in node.token_ids]
        place, token_id = fitting[-1] if rng.randrange(4) else rng.choice(fitting)
        tokens.append(token_id)
    return tokens


def gbnf_masks(rng: Random, counts: Counter[str]) -> None:
    sources = [Source.gbnf(make_gbnf(rng)) for _ in range(3)]
    run_session(rng, counts, sources, sampled(rng), n_calls=40, choose=walking)


def any_calls(rng: Random, counts: Counter[str]) -> None:
    alphabet = rng.choice(list(SMALL))
    roll = rng.randrange(4)
    if roll == 0:
        sources, tokens = [lark_source(rng), lark_source(rng)], sampled(rng)
    elif roll == 1:
        sources, tokens = [Source.gbnf(make_gbnf(rng)), lark_source(rng)], sampled(rng)
    else:
        sources = [Source.lark(make_small_grammar(rng, alphabet)) for _ in range(3)]
        tokens = small(alphabet)
    run_session(rng, counts, sources, tokens, n_calls=80, choose=calling, budget=600_000)


def boolean(rng: Random, counts: Counter[str]) -> None:
    run_session(rng, counts, [boolean_source(rng) for _ in range(3)], sampled(rng), n_calls=40, choose=walking)


def boolean_source(rng: Random) -> Source:
    """A grammar over terminals with intersection and complement."""
    terminals = {f"T{i}": make_tree(rng, 3) for i in range(rng.randint(1, 3))}
    names = list(terminals)
    shapes: list[list[tuple[str, list[str]]]] = [
        [("start", ["x"]), ("start", ["start", "x"])],
        [("start", ["x", "start"]), ("start", [])],
        [("start", ["start", "x", "start"]), ("start", ["x"])],
        [("start", ["x", "x"])],
        [("start", ["x"])],
    ]
    rules = [*rng.choice(shapes), *(("x", [rng.choice(names) for _ in range(rng.randint(1, 2))]) for _ in names)]
    ignored = []
    if rng.randrange(4) == 0:
        terminals["WS"] = rng.choice([["re", " +"], ["and", ["re", "[ a]+"], ["not", ["re", "a+"]]]])
        ignored = ["WS"]
    text = json.dumps({"rules": rules, "terminals": terminals, "ignored": ignored})
    return Source("boolean", text, text)


def make_tree(rng: Random, depth: int) -> list[Any]:
    roll = rng.randrange(12) if depth else 0
    if roll < 3:
        return ["re", make_pattern(rng, rng.randint(0, 2), lazy=rng.randrange(6) == 0)]
    if roll < 6:
        return ["and", make_tree(rng, depth - 1), make_tree(rng, depth - 1)]
    if roll < 8:
        return ["and", make_tree(rng, depth - 1), ["not", make_tree(rng, depth - 1)]]
    if roll < 9:
        return ["not", make_tree(rng, depth - 1)]
    if roll < 10:
        return ["or", make_tree(rng, depth - 1), make_tree(rng, depth - 1)]
    if roll < 11:
        return ["cat", make_tree(rng, depth - 1), make_tree(rng, depth - 1)]
    least = rng.randrange(3)
    return ["many", make_tree(rng, depth - 1), least, rng.choice([None, least, least + 1, 5])]


# --- whole texts -----------------------------------------------------------------------------------------------------


def hold(counts: Counter[str], case: Case) -> None:
    """Checks one case."""
    counts["texts"] += 1
    what = failure(case)
    if what is not None:
        raise Found(case, what)


def texts_for(rng: Random, grammar: Grammar, n: int, letters: str = 'ab1 é_\n"') -> list[str]:
    """Sentences found by walking along masks of single bytes, whole or changed, and short texts of anything."""
    found = []
    for _ in range(n):
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
    """The syntax of `re`, whole: with lookarounds, anchors, possessive and atomic parts if `looks`."""
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
    """Whether `re` might take forever: repetitions within repetitions."""
    return len(re.findall(r"\)[*+{]", pattern)) > 2 or len(pattern) > 120


def regexes(rng: Random, counts: Counter[str]) -> None:
    pattern = make_full_pattern(rng, looks=rng.randrange(3) > 0)
    flags = int(rng.choice(FLAGS))
    if steep(pattern):
        raise Skipped("too steep for re")
    grammar = counted_refusals(counts, lambda: Grammar.from_regex(pattern, flags=flags))
    for text in texts_for(rng, grammar, 6):
        hold(counts, FullMatch(pattern, flags, text))


def counted_refusals(counts: Counter[str], make: Callable[[], Grammar]) -> Grammar:
    counts["grammars"] += 1
    try:
        return refused_by_name(make)
    except Skipped:
        counts["grammars refused"] += 1
        raise


def terminals(rng: Random, counts: Counter[str]) -> None:
    pattern = make_full_pattern(rng, looks=rng.randrange(4) == 0)
    if steep(pattern) or re.search(r"\\[bBAZ]|\^|\$|\(\?<?[=!]", pattern):
        raise Skipped("too steep for re, or looks around, which is the matter of `lexemes`")
    text = "start: /" + pattern.replace("/", r"\/") + "/"
    grammar = counted_refusals(counts, lambda: Grammar.from_lark(text))
    for text in texts_for(rng, grammar, 6):
        hold(counts, Terminal(pattern, text))


CONTEXTS = [r"(?!\w)", r"\b", "(?=a)", "(?![ab])", r"(?=\s|\Z)", "(?= )", r"(?<!b)", r"\B", r"(?!\s)", "$"]
PLAIN_LEXEMES = ["a+", "b", "if", "[ab]+", r"\w+", " +", r"[?]", "é", "a b", "[^a]", "(?:ab)+", "i", "f+"]


def lexemes(rng: Random, counts: Counter[str]) -> None:
    """Terminals that look one character ahead, in all orders, with blanks between them."""
    patterns = [rng.choice(PLAIN_LEXEMES) for _ in range(rng.randint(1, 2))]
    patterns += [rng.choice(PLAIN_LEXEMES) + rng.choice(CONTEXTS) for _ in range(rng.randint(1, 2))]
    if rng.randrange(2):
        patterns.append(" ")
    alternatives = " | ".join("/" + pattern.replace("/", r"\/") + "/" for pattern in patterns)
    grammar = counted_refusals(counts, lambda: Grammar.from_lark(f"start: ({alternatives})*"))
    for text in texts_for(rng, grammar, 8, letters="ab if?é"):
        if len(text) <= 12:
            hold(counts, Lexemes(patterns, text))
    walk_alive(rng, grammar, counts)


def walk_alive(rng: Random, grammar: Grammar, counts: Counter[str]) -> None:
    """No mask on the way is empty; it is the one of the walk, and says what `validate` says."""
    vocabulary = small("ab ").make()[0]
    with limits(**make_bounds(rng)):
        matcher = Matcher(grammar, vocabulary)
        for _ in range(8):
            counts["masks"] += 1
            case = Alive(grammar.source, [vocabulary.token_bytes(t).decode("latin-1") for t in matcher.tokens])
            try:
                mask = alive(matcher)
            except AssertionError as error:
                raise Found(case, f"{error}\n{grammar.source}") from error
            allowed = [t for t in np.flatnonzero(mask).tolist() if t not in vocabulary.eos_token_ids]
            if not allowed:
                return
            matcher.accept(rng.choice([t for t in allowed if vocabulary.token_bytes(t).isascii()] or allowed))


def alive(matcher: Matcher) -> Any:
    """The mask of a live position, or AssertionError where it is wrong in itself."""
    mask = agreed(matcher)
    assert mask.any(), "an empty mask"
    for token_id in range(0, matcher.vocabulary.size, 7):
        assert matcher.validate([token_id]) == mask[token_id], f"validate([{token_id}]) is not what the mask says"
    return mask


@dataclass(frozen=True)
class Alive(Case):
    """After these tokens, spelled in latin-1, the mask of a grammar in Lark's syntax is all right in itself."""

    kind = "alive"
    grammar: str
    tokens: list[str]

    def check(self) -> None:
        vocabulary = small("ab ").make()[0]
        ids = {vocabulary.token_bytes(i): i for i in range(vocabulary.size)}
        for split in SPLITS:
            with limits(split_nodes=split):
                matcher = Matcher(Grammar.from_lark(self.grammar), vocabulary)
                for token in self.tokens:
                    if not matcher.accept(ids[token.encode("latin-1")]):
                        raise Skipped("this is no viable prefix")
                    try:
                        alive(matcher)
                    except AssertionError as error:
                        raise Wrong(f"{error} after {self.tokens}\n{self.grammar}") from error

    def smaller(self) -> Iterator[Case]:
        yield from (replace(self, tokens=tokens) for tokens in fewer(self.tokens))


def sentences(rng: Random, counts: Counter[str]) -> None:
    """Whole sentences and changed ones against Lark."""
    sketch = make_grammar(rng, plain=True)
    if rng.randrange(3) == 0:
        sketch = with_templates(rng, sketch)
    text = sketch.text
    try:
        grammar = counted_refusals(counts, lambda: Grammar.from_lark(text))
    except Skipped:
        hold(counts, Sentence(text, "", sketch))  # refused: then Lark should not load it or accept nothing
        raise
    for sentence in texts_for(rng, grammar, 4, letters="ab,~ (1"):
        hold(counts, Sentence(text, sentence, sketch))


def gbnf_texts(rng: Random, counts: Counter[str]) -> None:
    """GBNF against a reader and matcher of its own: what Lark's syntax cannot write as well."""
    text = make_gbnf(rng).gbnf
    if rng.randrange(2):
        text = text.replace("[a-c]", r"[a\x62c-]").replace('"é"', r'"\u00e9"').replace(" | ", " | # b\n  ", 1)
    try:
        grammar = Grammar.from_gbnf(text)
    except Exception:
        hold(counts, Gbnf(text, ""))
        raise Skipped("no sentence") from None
    counts["grammars"] += 1
    for sentence in texts_for(rng, grammar, 4, letters="ab()0 é"):
        if len(sentence) <= 16:
            hold(counts, Gbnf(text, sentence))


def choices(rng: Random, counts: Counter[str]) -> None:
    letters = rng.choice(["ab", "aé日", "ab \n", "\x00a\U0010ffff"])
    made = ["".join(rng.choice(letters) for _ in range(rng.randrange(6))) for _ in range(rng.choice([1, 3, 10, 60]))]
    counts["grammars"] += 1
    for text in itertools.chain(made[:5], texts_for(rng, Grammar.from_choices(made), 5, letters)):
        hold(counts, Choices(made, text))


ARMS = {
    arm.name: arm
    for arm in (
        Arm("masks", "masks of random Lark grammars over sampled vocabularies, with the twin and the walk", masks, 5),
        Arm("small", "masks of small, highly ambiguous grammars, with the twin and the walk", small_grammars, 4),
        Arm("whole", "masks over whole vocabularies, with the twin and the walk", whole_vocabularies, 2),
        Arm(
            "bench",
            "masks inside texts of the bench's grammars, over whole vocabularies, as `whole`",
            bench_grammars,
            2,
        ),
        Arm("boolean", "masks of terminals with intersection and complement, with products of states", boolean, 3),
        Arm("gbnf-masks", "masks of GBNF grammars, with the twin on the same grammar in Lark's syntax", gbnf_masks, 2),
        Arm("calls", "sequences of all API calls on several matchers and grammars, with the twin", any_calls, 4),
        Arm("sentences", "sentences and changed ones of Lark grammars, with Lark (dynamic_complete)", sentences, 3),
        Arm("regexes", "texts of from_regex, with re.fullmatch", regexes, 2),
        Arm("terminals", "texts of ordered and plain terminals, with re.match and re.fullmatch", terminals, 2),
        Arm("lexemes", "terminals that look ahead, with re and all ways of cutting the text", lexemes, 2),
        Arm("gbnf", "texts of GBNF grammars, with a reader and matcher of GBNF", gbnf_texts, 2),
        Arm("choices", "texts of from_choices, with the list", choices, 1),
    )
}
