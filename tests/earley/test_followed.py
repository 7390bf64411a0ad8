"""Followed terminals, whose text decides what may follow: lists of different words, compared with brute force."""

from __future__ import annotations

import itertools
import pickle
import random
import re
from types import SimpleNamespace

import numpy as np
import pytest

from earleymask import Grammar, LimitError, Limits, Matcher, Vocabulary
from earleymask.earley import Engine
from earleymask.earley._forget import forget_now
from earleymask.earley._regex import Regexes
from earleymask.grammar import grammar as grammars
from support import mask_paths

LETTERS = "ab"
LONGEST = 2
WORDS = ["".join(chosen) for n in range(1, LONGEST + 1) for chosen in itertools.product(LETTERS, repeat=n)]  # 6 words


def all_different() -> SimpleNamespace:
    """Make the grammar of `[ab,b,aa]`: one or more words of one or two letters, none of them twice."""
    regexes = Regexes()
    letter = regexes.union([regexes.literal(letter.encode()) for letter in LETTERS])
    engine = Engine(regexes)
    comma, close = engine.add_terminal(",", regexes.literal(b",")), engine.add_terminal("]", regexes.literal(b"]"))
    known: dict[frozenset[str], int] = {}

    def after(seen: frozenset[str]) -> int:
        """Return the symbol after a word: the end, or another word that is not among `seen`."""
        if seen not in known:
            known[seen] = engine.add_lazy(f"after {sorted(seen)}", lambda: alternatives(seen))
        return known[seen]

    def alternatives(seen: frozenset[str]) -> list[list[int]]:
        if len(seen) == len(WORDS):
            return [[close]]
        return [[close], [comma, engine.add_lazy("word", lambda: word(seen))]]

    def word(seen: frozenset[str]) -> list[list[int]]:
        others = regexes.intersection(
            [
                regexes.repeat(letter, 1, LONGEST),
                regexes.complement(regexes.union([regexes.literal(w.encode()) for w in seen])),
            ]
        )
        follow = engine.add_followed("word", others, lambda text: after(seen | {text.decode()}))
        return [[follow, after(seen)]]

    first = engine.add_followed(
        "word", regexes.repeat(letter, 1, LONGEST), lambda text: after(frozenset([text.decode()]))
    )
    start = engine.add_nonterminal("start")
    opening = engine.add_terminal("[", regexes.literal(b"["))
    engine.add_production(start, [opening, engine.add_lazy("words", lambda: [[first, after(frozenset())]])])

    def doubtful(regexes: Regexes, letters: str) -> tuple[int, int]:
        anything = regexes.repeat(regexes.byte_set(range(256)), 0)
        letter = regexes.union([regexes.literal(letter.encode()) for letter in letters])
        separated = regexes.concat([anything, regexes.literal(b","), letter, anything])
        return regexes.concat([anything, letter, separated]), separated

    engine.set_doubtful(lambda: LETTERS, doubtful)
    engine.finish(start)
    return SimpleNamespace(engine=engine)


SENTENCES = ["[" + ",".join(chosen) + "]" for n in range(1, 5) for chosen in itertools.permutations(WORDS, n)]
BEGINNINGS = {sentence[:n] for sentence in SENTENCES for n in range(len(sentence) + 1)}


def goes_on(text: str) -> bool:
    """Return whether a sentence of at most four words begins so; the tests use no longer ones."""
    return text in BEGINNINGS


def vocabulary() -> Vocabulary:
    tokens = [bytes([byte]) for byte in range(256)]
    pieces = ["a", "b", ",", "]", "["]
    tokens += ["".join(chosen).encode() for n in (2, 3, 4) for chosen in itertools.product(pieces, repeat=n)]
    return Vocabulary.from_tokens([*tokens, b"", b"a,b"], eos_token_id=len(tokens))


WAYS = [{}, {"split_nodes": 1}, {"split_nodes": mask_paths.NEVER}, {"budget": 1}]


@pytest.mark.parametrize("way", WAYS, ids=["usual", "each terminal alone", "all together", "by the walk"])
def test_lists_of_different_words(way: dict[str, int]) -> None:
    with mask_paths.limits(**way):
        check_lists_of_different_words()


def check_lists_of_different_words() -> None:
    vocab = vocabulary()
    tokens = [vocab.token_bytes(token).decode("latin-1") for token in range(vocab.size)]
    grammar = all_different()
    matcher = Matcher(grammar, vocab)
    rng = random.Random(3)
    n_doubtful = n_masks = 0
    for trial in range(120):
        matcher.reset()
        text = ""
        while text.count(",") < 3 and not matcher.is_finished() and "]" not in text:
            mask = matcher.mask()
            short = [t for t in range(vocab.size) if tokens[t] and (text + tokens[t]).count(",") < 4]
            for token in short:
                assert mask[token] == goes_on(text + tokens[token]), (text, tokens[token])
                n_doubtful += bool(re.fullmatch(r".*,(?:(\w+),)?.*", text + tokens[token])) and not mask[token]
            n_masks += 1
            rows = np.zeros((2, (vocab.size + 31) // 32), dtype=np.int32)
            matcher.fill_bitmask(rows[0])
            matcher.walk_bitmask(rows[1])
            assert (rows[0] == rows[1]).all()
            allowed = [token for token in short if mask[token]]
            if not allowed:
                break
            token = rng.choice(allowed)
            assert matcher.accept(token)
            text += tokens[token]
            if trial % 7 == 0 and rng.random() < 0.5:
                forget_now(grammar.engine)
    assert n_masks > 200 and n_doubtful > 10_000


def test_all_words_and_no_other() -> None:
    """After all words no other one can begin; after a rollback the words can be written again."""
    matcher = Matcher(all_different(), Vocabulary.bytes())
    text = b"[" + ",".join(WORDS).encode()
    assert matcher.validate([*text, *b"]", 256]) == len(text) + 2
    for byte in text:
        assert matcher.accept(byte)
    assert matcher.mask().nonzero()[0].tolist() == [ord("]")]
    matcher.rollback(3)  # ",bb"
    assert matcher.accept(ord(","))
    assert matcher.mask().nonzero()[0].tolist() == [ord("b")]
    assert matcher.accept(ord("b"))
    assert matcher.mask().nonzero()[0].tolist() == [ord("b")]


def test_words_left_over() -> None:
    """No word begins if all its ends were written before: otherwise it could not be closed."""
    matcher = Matcher(all_different(), Vocabulary.bytes())
    for byte in b"[a,ab,aa,":
        assert matcher.accept(byte)
    assert matcher.mask().nonzero()[0].tolist() == [ord("b")]


def test_doubtful_tokens_are_described_once_for_each_vocabulary() -> None:
    """Regexes of these tokens are only made for a description that is new to the vocabulary."""
    made: list[tuple[str, int]] = []

    def make(regexes: Regexes, described: str) -> list[int]:
        assert regexes.n_nodes == Regexes().n_nodes
        made.append((described, len(made)))
        return [regexes.repeat(regexes.byte_set(range(256)), 0)] * 2

    def masks(described: str, vocabulary: Vocabulary) -> list[bool]:
        regexes = Regexes()
        engine = Engine(regexes)
        other = engine.add_terminal("x", regexes.literal(b"x"))
        start = engine.add_nonterminal("start")
        word = engine.add_followed("word", regexes.literal(b"w"), lambda text: other)
        engine.add_production(start, [word, other])
        engine.set_doubtful(lambda: described, make)
        engine.finish(start)
        return Matcher(SimpleNamespace(engine=engine), vocabulary).mask().nonzero()[0].tolist()

    first, second = Vocabulary.bytes(), Vocabulary.bytes()
    for vocabulary, described in ((first, "one"), (first, "one"), (first, "other"), (second, "one"), (first, "other")):
        assert masks(described, vocabulary) == [ord("w")]
    assert [described for described, _ in made] == ["one", "other", "one"]


def test_where_a_followed_terminal_may_stand() -> None:
    regexes = Regexes()
    engine = Engine(regexes)
    other = engine.add_terminal("x", regexes.literal(b"x"))
    followed = engine.add_followed("word", regexes.literal(b"w"), lambda text: other)
    start = engine.add_nonterminal("start")
    for wrong in ([followed], [other, followed], [followed, other, other]):
        with pytest.raises(ValueError, match="first of two"):
            engine.add_production(start, wrong)
    engine.add_production(start, [followed, other])
    engine.finish(start)
    with pytest.raises(ValueError, match="set_doubtful"):
        Matcher(SimpleNamespace(engine=engine), Vocabulary.bytes()).mask()


def test_a_text_that_nothing_can_follow_is_a_limit() -> None:
    """A text after which the front end allows nothing is a limit: the matcher reports it and does not change."""
    regexes = Regexes()
    engine = Engine(regexes)
    after = engine.add_terminal("x", regexes.literal(b"x"))
    followed = engine.add_followed("word", regexes.literal(b"w:"), lambda text: engine.add_lazy("nothing", list))
    start = engine.add_nonterminal("start")
    engine.add_production(start, [followed, after])
    engine.set_doubtful(lambda: None, lambda regexes, _: [regexes.repeat(regexes.byte_set(range(256)), 0)] * 2)
    engine.finish(start)
    matcher = Matcher(SimpleNamespace(engine=engine), Vocabulary.bytes())
    assert matcher.accept(ord("w"))
    for _ in range(2):
        with pytest.raises(LimitError, match="nothing can follow the text b'w:' of 'word'"):
            matcher.accept(ord(":"))
        assert matcher.tokens == [ord("w")]


def test_what_texts_add_is_bounded() -> None:
    """Each key that is met adds symbols: new matchers leave an engine that has many, and one text has a limit."""
    schema = {"additionalProperties": {"type": "null"}}
    grammar = Grammar.from_json_schema(schema)
    begun = grammar.engine
    old = Matcher(grammar, Vocabulary.bytes())
    n_keys = 0
    while begun.n_added <= grammars.MAX_ADDED:
        text = "{" + ",".join(f'"{key}":null' for key in range(n_keys, n_keys + 50))
        old.reset()
        assert old.validate(text.encode()) == len(text)
        n_keys += 50
    old.fork()
    assert grammar.engine is begun
    new = Matcher(grammar, Vocabulary.bytes())
    assert grammar.engine is not begun and grammar.engine.n_added < 100
    for matcher in (old, new):
        matcher.reset()
        assert matcher.validate(b'{"a":null,"b":null}') == 19
        assert matcher.validate(b'{"a":null,"a"') == 12
    assert pickle.loads(pickle.dumps(new)).validate(b'{"a":null}') == 10

    few = Matcher(Grammar.from_json_schema(schema, limits=Limits(symbols=400)), Vocabulary.bytes())
    with pytest.raises(LimitError, match="symbols=400") as caught:
        few.validate(b"{" + b",".join(b'"%d":null' % key for key in range(1000)))
    assert caught.value.limit == "symbols"
    assert few.n_tokens == 0 and few.validate(b"{}") == 2
