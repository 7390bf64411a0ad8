"""The arms of the campaign: each makes up cases and compares engine and oracle on them.

An arm is a function of a `Random`, seeded by the campaign's seed, the arm's name and a number: these three name a case.
The arm counts in a `Counter` what it compares, and raises `Found` with a `Case` that fails, or `Skipped`. The arms
here compare masks with the twin's; those that compare texts are in `campaign.texts`.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import Any

from campaign import commits, demands, names, texts
from campaign.fronts import Source
from campaign.sessions import Session, Tokens
from campaign.texts import ENDS
from campaign.walks import SPECIALS, calling, run_session, sampled, small, walking
from support.paths import ROOT
from support.strategies import (
    SMALL,
    Element,
    GrammarSketch,
    Ref,
    Str,
    Token,
    make_gbnf,
    make_grammar,
    make_pattern,
    make_small_grammar,
    with_templates,
)
from support.twin import Node

WHOLE = ("tekken", "mistral-spm-32k", "deepseek", "llama3")
BENCH = ("json", "language", "sql")


@dataclass(frozen=True)
class Arm:
    name: str
    what: str  # what it compares with what
    run: Callable[[Random, Counter[str]], None]
    share: int  # its share of the time, relative to the others'


def with_special(rng: Random, text: str) -> str:
    """Insert special tokens, one of which is an EOS token, between the symbols of a grammar."""
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
    from bench.texts.families import generate  # `bench` removes the root from sys.path again

    return generate


def bench_grammars(rng: Random, counts: Counter[str]) -> None:
    """Compare masks of grammars as people write them, at places within long texts."""
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
    """Split the text into tokens: mostly the longest that fits, now and then a shorter one at random."""
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
    sources = [Source("boolean", boolean_grammar(rng, make_tree)) for _ in range(3)]
    run_session(rng, counts, sources, sampled(rng), n_calls=40, choose=walking)


def sets(rng: Random, counts: Counter[str]) -> None:
    """Compare the same in Lark's syntax, with rules that have attributes."""
    sources = [Source("sets", boolean_grammar(rng, make_rule)) for _ in range(3)]
    run_session(rng, counts, sources, sampled(rng), n_calls=40, choose=walking)


def boolean_grammar(rng: Random, make: Callable[[Random, int], list[Any]]) -> str:
    """Make a grammar over terminals with intersection and complement."""
    terminals = {f"T{i}": make(rng, 3) for i in range(rng.randint(1, 3))}
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
    return json.dumps({"rules": rules, "terminals": terminals, "ignored": ignored})


def make_rule(rng: Random, depth: int) -> list[Any]:
    """Make a tree of a terminal or of a rule with an attribute."""
    roll = rng.randrange(8)
    if roll == 0:
        return ["lazy", make_tree(rng, depth - 1)]
    if roll == 1:
        return [rng.choice(["suffix", "stop"]), make_tree(rng, depth - 2), ["re", rng.choice(ENDS)]]
    return make_tree(rng, depth)


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


# --- features that Lark does not have --------------------------------------------------------------------------------


def token_ids(rng: Random, counts: Counter[str]) -> None:
    """Compare masks of grammars that name tokens by id or by name, in both syntaxes."""
    tokens = sampled(rng)
    sources = [Source.lark(with_tokens(rng, make_grammar(rng), tokens)) for _ in range(2)]
    sources.append(Source.gbnf(with_tokens(rng, make_gbnf(rng), tokens)))
    run_session(rng, counts, sources, tokens, n_calls=50, choose=walking)


def with_tokens(rng: Random, sketch: GrammarSketch, tokens: Tokens) -> GrammarSketch:
    """Add to each rule an alternative with a token or a set of tokens."""
    rules = []
    for name, alternatives in sketch.rules:
        named = make_token(rng, tokens)
        beside: list[Element] = [Ref(name), Str(rng.choice(["a", "ab", "if"])), make_token(rng, tokens)]
        more = rng.choice([(named,), (named, rng.choice(beside)), (rng.choice(beside), named)])
        rules.append((name, (*alternatives, more)))
    return replace(sketch, rules=tuple(rules))


def make_token(rng: Random, tokens: Tokens) -> Token:
    there = [i for i, token in enumerate(tokens.spelled) if token] + [i for _, i in tokens.special] + list(tokens.eos)
    roll = rng.randrange(8)
    if roll == 0:
        return Token("<[*]>", "<[*]>")
    if roll < 3:
        name, token_id = rng.choice(tokens.special)
        return Token(name, name) if roll == 1 else Token(f"<[^{token_id}]>", f"!{name}")
    first = rng.choice(there)
    ids = rng.choice([f"{first}", f"{first}-{first + rng.randrange(40)}", f"{first},{rng.choice(there)},3-9"])
    if roll < 6:
        return Token(f"<[{ids}]>", f"<[{ids}]>")
    return Token(f"<[^{ids}]>", rng.choice([f"<[^{ids}]>", f"!<[{ids}]>"]))


def imports(rng: Random, counts: Counter[str]) -> None:
    """Compare masks of grammars of several texts, which Lark's own loader joins for the twin."""
    sources = [Source("imports", importing(rng)) for _ in range(3)]
    run_session(rng, counts, sources, sampled(rng), n_calls=40, choose=walking)


def importing(rng: Random) -> str:
    """Make a grammar that imports from two others, one of which imports from the other, and changes some rules."""
    modules = {}
    second = make_grammar(rng)
    modules["m.second"] = second.text
    first = make_grammar(rng)
    modules["first"] = import_from(rng, first, "m.second", second)
    return json.dumps(
        {"main": import_from(rng, make_grammar(rng), "first", first, "m.second", second), "modules": modules}
    )


def import_from(rng: Random, sketch: GrammarSketch, *others: Any) -> str:
    lines, behind, elements = [], [], []
    for module, other in zip(others[::2], others[1::2], strict=True):
        names = [name for name, _ in other.rules + other.terminals]
        chosen = rng.sample(names, rng.randint(1, min(3, len(names))))
        for name in chosen:
            alias = f"{'FROM' if name.isupper() else 'from'}_{module[-1]}_{name.strip('_')}"
            alias = alias.upper() if name.isupper() else alias.lower()
            lines.append(f"%import {module}.{name} -> {alias}")
            elements.append(alias)
            if rng.randrange(4) == 0:
                body = Str(rng.choice(["a", "ab", "(", ","])) if name.isupper() or rng.randrange(2) else Ref(alias)
                behind.append(f"%{rng.choice(['extend', 'override'])} {alias}: {Str('b')} | {body} {Str('c')}")
    rules = [
        (name, (*alternatives, (Ref(rng.choice(elements)), *alternatives[0]))) for name, alternatives in sketch.rules
    ]
    return "\n".join([*lines, replace(sketch, rules=tuple(rules)).text, *behind]) + "\n"


def parametric(rng: Random, counts: Counter[str]) -> None:
    """Compare masks of rules with values and of one plain rule for each value."""
    sources = [Source("parametric", make_parametric(rng)) for _ in range(3)]
    run_session(rng, counts, sources, sampled(rng), n_calls=40, choose=walking)


def make_parametric(rng: Random) -> str:
    names = ["p", "q", "r"][: rng.randint(1, 3)]
    pieces = ['"a"', '"b"', '"ab"', '","', "/[0-9]+/", "/[a-z]+/", '"("', '")"', "/a*/"]

    def bits() -> list[int]:
        first = rng.randrange(3)
        return [first, first + rng.randint(1, 2)]

    def expression() -> list[Any]:
        kind = rng.choice(["same", "constant", "incr", "incr", "decr", "set_bit", "clear_bit", "bit_and", "bit_or"])
        if kind == "same":
            return [kind]
        return [kind, bits() if kind in ("incr", "decr") else rng.randrange(4 if kind.endswith("_bit") else 10)]

    def condition(depth: int = 2) -> list[Any]:
        roll = rng.randrange(10) if depth else 9
        if roll < 2:
            return [rng.choice(["and", "or"]), condition(depth - 1), condition(depth - 1)]
        if roll == 2:
            return ["not", condition(depth - 1)]
        kind = rng.choice(["bit_set", "bit_clear", "is_ones", "is_zeros", "compare", "compare", "count", "true"])
        if kind == "true":
            return [kind]
        if kind in ("bit_set", "bit_clear"):
            return [kind, rng.randrange(4)]
        where = rng.choice([None, bits(), bits()])
        if kind.startswith("is_"):
            return [kind, where]
        relation = rng.choice(["eq", "ne", "lt", "le", "gt", "ge"])
        return (
            [relation, where, rng.randrange(8)]
            if kind == "compare"
            else ["bit_count_" + relation, where, rng.randrange(4)]
        )

    rules = []
    for name in names:
        alternatives: list[Any] = [[[rng.choice(pieces)], None]]
        for _ in range(rng.randint(1, 4)):
            symbols: list[Any] = [rng.choice(pieces) for _ in range(rng.randrange(3))]
            for _ in range(rng.choice([0, 1, 1, 2])):
                symbols.insert(rng.randint(0, len(symbols)), [rng.choice(names), expression()])
            alternatives.append([symbols, condition() if rng.randrange(3) else None])
        rules.append([name, alternatives[rng.randrange(2) :]])
    return json.dumps({"start": [names[0], rng.randrange(8)], "rules": rules})


ARMS = {
    arm.name: arm
    for arm in (
        Arm("masks", "masks of random Lark grammars over sampled vocabularies, with the twin and the walk", masks, 5),
        Arm("small", "masks of small, highly ambiguous grammars, with the twin and the walk", small_grammars, 4),
        Arm("whole", "masks over whole vocabularies, with the twin and the walk", whole_vocabularies, 2),
        Arm("bench", "masks inside texts of the bench's grammars, whole vocabularies, as `whole`", bench_grammars, 2),
        Arm("boolean", "masks of terminals with intersection and complement, with products of states", boolean, 2),
        Arm("sets", "the same in Lark's syntax, with rules that are lazy or end with something", sets, 3),
        Arm("tokens", "masks of grammars that name tokens and sets of token ids, with the twin", token_ids, 3),
        Arm("imports", "masks of grammars of several texts, with the twin on what Lark makes of them", imports, 3),
        Arm("parametric", "masks of rules with values, with the twin on a plain rule for each value", parametric, 3),
        Arm("gbnf-masks", "masks of GBNF grammars, with the twin on the same grammar in Lark's syntax", gbnf_masks, 2),
        Arm("calls", "sequences of all API calls on several matchers and grammars, with the twin", any_calls, 4),
        Arm("prefixes", "bytes that may come next under all syntax of re, with all short texts", texts.prefixes, 3),
        Arm(
            "sentences", "sentences and changed ones of Lark grammars, with Lark (dynamic_complete)", texts.sentences, 3
        ),
        Arm("regexes", "texts of from_regex, with re.fullmatch", texts.regexes, 2),
        Arm("terminals", "texts of ordered and plain terminals, with re.match and re.fullmatch", texts.terminals, 2),
        Arm("lexemes", "terminals that look ahead, with re and all ways of cutting the text", texts.lexemes, 2),
        Arm("names", "names that are no keywords, next to each other, with re and all ways of cutting", names.names, 2),
        Arm("demands", "masks of names that demand what follows, by all that may be demanded", demands.demands, 2),
        Arm("ecma", "texts of ECMA-262's patterns, with re.fullmatch of the same spelled out", texts.ecma, 2),
        Arm(
            "attributes",
            "texts of lazy rules and of ones that end with something, with the definition",
            texts.attributed,
            2,
        ),
        Arm("commits", "texts and masks of rules that commit, with all readings of a text", commits.commits, 2),
        Arm("gbnf", "texts of GBNF grammars, with a reader and matcher of GBNF", texts.gbnf_texts, 2),
        Arm("choices", "texts of from_choices, with the list", texts.choices, 1),
    )
}
