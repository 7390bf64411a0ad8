"""Tokens by id, `<[5]>`, `<[5,7,9-11]>`, `<[^1-9]>`, `<[*]>`, and GBNF's `!<...>`, mean what the twin says."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
import pytest

from earleymask import Grammar, GrammarError, LimitError, Limits, Matcher, Vocabulary, VocabularyError
from earleymask.earley import Engine
from earleymask.earley._regex import Regexes
from earleymask.grammar import token_ids
from support.compare import Pair, Skipped, load, walk
from support.mask_paths import SPLITS, agreed, filled, limits
from support.strategies import make_small_grammar
from support.twin import EmptyLanguage, TooMuchWork, Twin

TOKENS = [b"a", b"b", b"ab", b"ba", b"aa", b" ", b"a ", b"", b"", b"", b"b", b"aab"]
"""7 is EOS, 8 is `<|x|>`, 9 is a gap, 10 is spelled as 1 is."""
SMALL = Vocabulary.from_tokens(TOKENS, eos_token_id=7, special_tokens={"<|x|>": 8})


def allowed(matcher: Matcher) -> set[int]:
    return set(np.flatnonzero(agreed(matcher)).tolist())


def lark(text: str) -> Matcher:
    return Matcher(Grammar.from_lark(text), SMALL)


# --- what they mean --------------------------------------------------------------------------------------------------


def test_a_token_is_taken_by_itself_and_not_by_what_it_spells() -> None:
    matcher = lark('start: <[2]> "b"')
    assert allowed(matcher) == {2}
    assert not matcher.accept(0) and matcher.accept(2)
    assert allowed(matcher) == {1, 10}


def test_a_token_that_is_text_as_well_goes_on_as_both() -> None:
    matcher = lark('start: <[2]> "a" | "ab" "b" | "a" "bb"')
    assert allowed(matcher) == {0, 2}
    assert matcher.accept(2)
    assert allowed(matcher) == {0, 1, 10}
    branch = matcher.fork()
    assert branch.accept(0) and allowed(branch) == {7}
    assert matcher.accept(10) and allowed(matcher) == {7}
    matcher.rollback(2)
    assert allowed(matcher) == {0, 2}


CONTROLS = Vocabulary.from_tokens(
    [b"a", b"[TOOL_CALLS]", b"", b"", b"", b""],
    eos_token_id=2,
    special_tokens={"[TOOL_CALLS]": 3, "[/INST]": 4, "[_x9]": 5},
)


@pytest.mark.parametrize("read", [Grammar.from_lark, Grammar.from_gbnf])
def test_a_name_in_brackets_is_a_control_token(read: Callable[[str], Grammar]) -> None:
    """`<[NAME]>` is the special token `[NAME]`, never the text, which the token 1 spells."""
    rule = "start: " if read == Grammar.from_lark else "root ::= "
    matcher = Matcher(read(f'{rule}<[TOOL_CALLS]> "a" | <[/INST]> | <[_x9]>'), CONTROLS)
    assert allowed(matcher) == {3, 4, 5}
    assert matcher.accept(3) and allowed(matcher) == {0}
    text = Matcher(read(f'{rule}"[TOOL_CALLS]"'), CONTROLS)
    assert allowed(text) == {1}
    with pytest.raises(GrammarError, match="neither a token id nor a range of them"):
        read(f"{rule}<[5x]>")


def test_any_token_but_a_control_token() -> None:
    assert allowed(Matcher(Grammar.from_gbnf('root ::= !<[TOOL_CALLS]> "a"'), CONTROLS)) == {0, 1, 2, 4, 5}


def test_lists_ranges_and_all_but_these() -> None:
    assert allowed(lark('start: <[0,2-4,8-9]> "b"')) == {0, 2, 3, 4, 8}
    assert allowed(lark('start: <[^0,2-4]> "b"')) == {1, 5, 6, 7, 8, 10, 11}
    assert allowed(lark('start: <[*]> "b"')) == {*range(len(TOKENS))} - {9}
    assert allowed(lark('start: <[1]> | "x"')) == {1}  # not 10, which is spelled alike


def test_only_the_token_where_two_are_spelled_alike() -> None:
    assert allowed(lark('start: <[10]> "a" | "a"')) == {0, 10}
    assert allowed(lark('start: <[10]> "a" | "b"')) == {1, 10}


def test_eos_in_a_set_is_a_symbol() -> None:
    matcher = lark('start: <[5-7]> "b" | "a" <[7]>')
    assert allowed(matcher) == {0, 5, 6, 7}
    ended = matcher.fork()
    assert matcher.accept(7) and not matcher.is_finished() and allowed(matcher) == {1, 10}
    assert ended.accept(0) and allowed(ended) == {7}
    assert ended.accept(7) and ended.is_finished() and allowed(ended) == {7}


def test_a_special_token_by_name_and_by_id_at_once() -> None:
    matcher = lark('start: <|x|> "a" | <[8]> "b" | <[^0-7]> " "')
    assert allowed(matcher) == {8, 10, 11}
    assert matcher.accept(8) and allowed(matcher) == {0, 1, 5, 10}


def test_between_lexemes_and_behind_ignored_text() -> None:
    matcher = lark('start: "ab" <[3]> "a"\n%ignore " "')
    for token, expected in ((5, {0, 2, 5}), (0, {1, 10}), (1, {3, 5}), (5, {3, 5}), (3, {0, 5, 6}), (6, {5, 7})):
        assert matcher.accept(token)
        assert allowed(matcher) == expected, token


def test_gbnf() -> None:
    def first(text: str) -> set[int]:
        return allowed(Matcher(Grammar.from_gbnf(text), SMALL))

    assert first('root ::= <[2]> "b"') == {2}
    assert first('root ::= <[2,4-5]> "b"') == {2, 4, 5}
    assert first('root ::= !<[2]> "b"') == {*range(len(TOKENS))} - {2, 9}
    assert first('root ::= !<|x|> "b"') == {*range(len(TOKENS))} - {8, 9}
    assert first('root ::= (!<[0-6]>)* "a" ') == {0, 7, 8, 10, 11}
    with pytest.raises(GrammarError, match="matches no token"):
        Grammar.from_gbnf("root ::= !<[*]>")


def test_what_they_are_called() -> None:
    assert set(lark('start: <[2-4]> | "b"').expected()) == {'"b"', "<[2-4]>"}
    assert lark("start: <[2]>").forced_bytes() == b""


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("<[]>", "between"),
        ("<[5x]>", "`5x` is neither a token id"),
        ("<[1,]>", "`` is neither a token id"),
        ("<[^]>", "`` is neither a token id"),
        ("<[3-1]>", "ends before it begins"),
        ("<[99999999999]>", "neither a token id"),
        ("<[9999999999]>", "go up to"),
        ("<[-1]>", "`-1` is neither a token id"),
        ("<[^*]>", r"`\*` is neither a token id"),
    ],
)
def test_malformed(written: str, message: str) -> None:
    with pytest.raises(GrammarError, match=message) as caught:
        Grammar.from_lark(f'start: "a"\n  | {written}')
    assert (caught.value.line, caught.value.column) == (2, 5)
    if written != "<[]>":
        with pytest.raises(GrammarError, match=message):
            Grammar.from_gbnf(f"root ::= {written}")


@pytest.mark.parametrize("written", ["<[9]>", "<[12]>", "<[0,9]>", "<[4000000000]>", "<[9-9]>", "<[12-4000000000]>"])
def test_ids_that_the_vocabulary_does_not_have(written: str) -> None:
    grammar = Grammar.from_lark(f"start: {written}")
    with pytest.raises(VocabularyError, match="vocabulary of 12 ids"):
        Matcher(grammar, SMALL)


@pytest.mark.parametrize(
    "text",
    [
        f"start: <[{','.join(map(str, range(100_000)))}]>",
        f"start: <[^{','.join(map(str, range(100_000)))}]>",
        f"start: <|{'x' * 100_000}|>",
    ],
)
def test_messages_are_short_whatever_they_quote(text: str) -> None:
    vocabulary = Vocabulary.from_tokens([b"a", b""], eos_token_id=1)
    with pytest.raises(VocabularyError) as caught:
        Matcher(Grammar.from_lark(text), vocabulary)
    assert len(str(caught.value)) < 500 and "vocabulary" in str(caught.value)


def test_the_engine_checks_what_it_is_given() -> None:
    engine = Engine(Regexes())
    assert engine.add_token_ids("x", [(1, 3)]) == engine.add_token_ids("y", [(1, 3), (1, 3)])
    assert engine.add_token_ids("x", [(1, 3)]) != engine.add_token_ids("x", [(1, 3)], negated=True)
    assert engine.add_token_ids("x", [(1, 3)]) != engine.add_token_ids("x", [(1, 3)], eos=False)
    for wrong in ([(3, 1)], [(-1, 2)], [(0, 2**32)], []):
        with pytest.raises(ValueError, match="token ids"):
            engine.add_token_ids("x", wrong)
    engine.finish(engine.add_token_ids("x", [], names=["<|x|>"]))
    with pytest.raises(ValueError, match="finished"):
        engine.add_token_ids("x", [(5, 5)])


# --- against the twin ------------------------------------------------------------------------------------------------

HAND_MADE = [
    'start: (<[0-6]> | "a" | "ab")* "b"',
    'start: <[*]> start | "ab"',
    'start: start <[^0-3]> | "a"* | <[2]>',
    'start: ("a"* <[2,4]>)* /[ab]+/\n%ignore " "',
    'start: x <[3]> x | x\nx: "b"? <[0-2]>? "a"?',
    'start: /[ab]+/ <[0]> /a+/ | /a+/ "b" <[*]>',
    "start: <|x|>* <[*]>~2..3 <|x|>",
    'start: "a"* <[7]> <[^7]>*',
    'start: (/a+/ | <[11]>)* "aab"\n%ignore /a+ /',
]


@pytest.mark.parametrize("text", HAND_MADE)
@pytest.mark.parametrize("split", SPLITS)
def test_hand_made_grammars_against_the_twin(text: str, split: int) -> None:
    with limits(split_nodes=split):
        loaded = load(text)
        for seed in range(4):
            walk(Pair(loaded, SMALL), Random(seed), 8)


def with_sets(rng: Random, text: str) -> str:
    """Replace some strings in the rules of a grammar by sets of ids."""
    sets = ["<[*]>", "<[^0-5]>", "<[0]>", "<[2,4]>", "<[8]>", "<[^7]>", "<[0-3]>", "<[10]>", "<[5-7]>", "<|x|>"]
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if not line.startswith("%"):
            for string in ('"a"', '"b"', '"ab"', "/a+/"):
                while string in line and rng.random() < 0.4:
                    line = line.replace(string, rng.choice(sets), 1)
        lines[i] = line
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(40))
def test_random_grammars_against_the_twin(seed: int) -> None:
    rng = Random(f"token ids {seed}")
    for _ in range(6):
        text = with_sets(rng, make_small_grammar(rng, rng.choice(["ab", "ab "])).text)
        with limits(split_nodes=rng.choice(SPLITS)):
            try:
                loaded = load(text)
            except Skipped:
                continue
            loaded.twin.budget = 200_000
            try:
                for _ in range(2):
                    walk(Pair(loaded, SMALL), rng, 6)
            except TooMuchWork:
                continue


def test_the_twin_knows_an_empty_language() -> None:
    with pytest.raises(EmptyLanguage):
        Twin.from_lark("start: start <[0]>")


# --- large vocabularies ----------------------------------------------------------------------------------------------


def test_large_sets_in_a_large_vocabulary() -> None:
    n = 40_000
    rng = Random(5)
    tokens = [bytes(rng.choices(b"abc", k=rng.randint(1, 9))) for _ in range(n)] + [b""] * 100
    special = {f"<|{i}|>": n + i for i in range(90)}  # the last ten are gaps
    vocabulary = Vocabulary.from_tokens(tokens, eos_token_id=n, special_tokens=special)
    grammar = Grammar.from_lark(f'start: ("ab" | <[^100-39000]> | <[{n}-{n + 200}]> | /b+/ <[17]>)* "c"')
    matcher = Matcher(grammar, vocabulary)
    mask = agreed(matcher)
    assert mask[:100].all() and mask[39001 : n + 90].all() and not mask[n + 90 :].any()
    for _ in range(2):
        assert mask.tolist() == [matcher.validate([token]) == 1 for token in range(vocabulary.size)]
        assert matcher.accept(n + 5) and matcher.accept(50)
        mask = agreed(matcher)
    # At a known position a mask is one look-up; new positions use the same bitmaps.
    before = matcher.stats()["nodes_visited"]
    assert filled(matcher).any() and matcher.stats()["nodes_visited"] == before


@pytest.mark.parametrize("load", ["from_lark", "from_gbnf"])
def test_so_many_sets_at_most(load: str) -> None:
    """The number of sets has a limit: each is a bitmap of the vocabulary, 16 KB for 131,072 tokens."""
    begin = "start: " if load == "from_lark" else "root ::= "
    make = getattr(Grammar, load)
    patient = Limits(load_seconds=30)
    make(begin + " ".join(f"<[{i}-9999]>" for i in range(4096)), limits=patient)
    with pytest.raises(LimitError, match="more than 4096 different sets of token ids") as caught:
        make(begin + " ".join(f"<[{i}-9999]>" for i in range(4097)), limits=patient)
    assert caught.value.line == 1


def test_overlapping_ranges_are_one() -> None:
    """A wide range written many times costs as much as once; single ids are kept, for they must exist."""
    assert token_ids.parse("<[5-9,0-6,6-8,12-13,3,3-4]>") == ([(0, 9), (12, 13), (3, 3)], False)
