"""`max_tokens` and `temperature`: masks equal a slow twin's (`budget_twin`), in every way to make them."""

from __future__ import annotations

import pickle
import random
import re
from itertools import product

import numpy as np
import pytest

from earleymask import Constraint, Limits
from earleymask.earley import Matcher
from earleymask.grammar import Grammar, GrammarError
from earleymask.trie import Vocabulary
from support.budget_twin import LETTERS, random_twin
from support.effort import effort

WORDS = ["".join(letters) for n in (2, 3) for letters in product(LETTERS, repeat=n)]


@pytest.mark.parametrize("seed", range(4))
def test_random_walks_in_random_grammars(seed: int) -> None:
    rng = random.Random(seed)
    n_masks = n_narrower = 0
    while n_masks < effort(80, 400):
        twin = random_twin(rng)
        text = twin.lark_text()
        try:
            grammar = Grammar.from_lark(text)
            free = Grammar.from_lark(re.sub(r"max_tokens=\d(, )?", "", text).replace("[]", ""))
        except GrammarError:
            continue
        if any("dropped" in warning.message for warning in grammar.warnings):
            continue  # the twin drops no alternatives
        tokens = [*LETTERS, *rng.sample(WORDS, 8)]
        vocabulary = Vocabulary.from_tokens([token.encode() for token in tokens] + [b"</s>"], eos_token_id=len(tokens))
        matcher, unbounded = Matcher(grammar, vocabulary), Matcher(free, vocabulary)
        history: list[str] = []
        for _ in range(5):
            mask = matcher.mask().tolist()
            expected = [twin.allowed(history, token) for token in tokens] + [twin.is_sentence(history)]
            assert mask == expected, (text, history)
            walked = np.zeros(-(-vocabulary.size // 32), np.int32)
            matcher.walk_bitmask(walked)
            assert np.unpackbits(walked.view(np.uint8), bitorder="little")[: len(mask)].tolist() == mask
            assert matcher.is_accepting() == mask[-1]
            assert [matcher.validate([token]) for token in range(len(mask))] == mask
            assert any(mask)
            n_masks += 1
            n_narrower += mask != unbounded.mask().tolist()
            allowed = [token for token in range(len(tokens)) if mask[token]]
            if not allowed:
                break
            fork = matcher.fork()
            assert matcher.accept(rng.choice(allowed))
            matcher.rollback(1)
            assert matcher.mask().tolist() == mask
            token = rng.choice(allowed)
            assert matcher.accept(token)
            assert unbounded.accept(token)
            history.append(tokens[token])
            assert fork.mask().tolist() == mask
            assert fork.accept(token)
            assert (fork.mask() == matcher.mask()).all()
            assert (pickle.loads(pickle.dumps(fork)).mask() == matcher.mask()).all()
            assert (Constraint(grammar, vocabulary).mask(matcher.tokens) == matcher.mask()).all()
        ways = [rng.choice(range(len(tokens))) for _ in range(4)]
        matcher.reset()
        n = matcher.validate(ways)
        assert [matcher.accept(token) for token in ways[: n + 1]] == [True] * n + [False] * (n < len(ways))
    assert n_narrower > effort(2, 20)


def small(grammar: str, *tokens: bytes, limits: Limits | None = None) -> Matcher:
    vocabulary = Vocabulary.from_tokens([b"a", b"b", b".", b"ab", *tokens, b"</s>"], eos_token_id=4 + len(tokens))
    return Matcher(Grammar.from_lark(grammar, **({} if limits is None else {"limits": limits})), vocabulary)


def allowed(matcher: Matcher) -> list[int]:
    return [int(token) for token in matcher.mask().nonzero()[0]]


def test_the_same_bytes_in_fewer_tokens_leave_more() -> None:
    matcher = small('start: x "."\nx[max_tokens=2]: /[ab]+/')
    for token in (0, 1):
        assert matcher.accept(token)
    assert allowed(matcher) == [2]
    assert matcher.forced_bytes() == b"."
    assert not matcher.accept(0)
    matcher.reset()
    assert matcher.accept(3)
    assert allowed(matcher) == [0, 1, 2, 3]
    assert matcher.forced_bytes() == b""


def test_a_lexeme_that_may_not_end_goes_on_to_where_it_may() -> None:
    matcher = small('start: x "."\nx[max_tokens=1]: /[ab]+\\.[ab]+/')
    assert [matcher.accept(token) for token in (0, 3)] == [True, True]
    assert matcher.accept(2)
    assert allowed(matcher) == [0, 1]  # `ab` would continue after the `a` at which the lexeme may end
    assert matcher.accept(1)
    assert allowed(matcher) == [2]


def test_tokens_that_end_within_a_character() -> None:
    matcher = small('start: x "."\nx[max_tokens=1]: /é[é]*é|à./', "é".encode()[:1], "é".encode()[1:], "à".encode()[1:])
    assert allowed(matcher) == [4]
    assert matcher.accept(4)
    assert allowed(matcher) == [5, 6]
    for token in (5, 4, 5):
        assert matcher.accept(token)
    assert allowed(matcher) == [2]
    ending = small('start: x\nx[max_tokens=1, stop="."]: /é+/', "é".encode()[:1], "é".encode()[1:])
    assert ending.accept(4)
    assert allowed(ending) == [5]
    assert ending.accept(5)
    assert allowed(ending) == [2]


def test_a_stop_is_written_when_nothing_is_left() -> None:
    matcher = small('start: x\nx[max_tokens=2, suffix="b."]: /(?s:.*)/')
    assert [matcher.accept(token) for token in (2, 0)] == [True, True]
    assert allowed(matcher) == [1]
    matcher.reset()
    assert [matcher.accept(token) for token in (2, 1)] == [True, True]
    assert allowed(matcher) == [1, 2]  # this `b` may belong to the closing text, or not
    assert matcher.accept(2)
    assert matcher.is_accepting()
    assert allowed(matcher) == [4]


def test_what_begins_within_a_token_has_that_token() -> None:
    matcher = small('start: "a" x "."\nx[max_tokens=1]: /b+/')
    assert matcher.accept(3)
    assert allowed(matcher) == [2]
    matcher.reset()
    assert matcher.accept(0)
    assert matcher.accept(1)
    assert allowed(matcher) == [2]


def test_budgets_last_while_rows_are_forgotten() -> None:
    grammar = 'start: x "." start "b" | x "."\nx[max_tokens=3]: /[ab]*a[ab]{5}/'
    matcher = small(grammar, b"aa.", limits=Limits(lexer_states=60))
    rng = random.Random(3)
    masks = []
    for _ in range(600):
        masks.append(matcher.mask())
        assert matcher.accept(rng.choice([token for token in allowed(matcher) if token < 5]))
    assert matcher.stats()["grammar_collections"] > 1
    while matcher.n_tokens:
        matcher.rollback(min(matcher.n_tokens, rng.randint(1, 40)))
        assert (matcher.mask() == masks[matcher.n_tokens]).all()


def test_special_tokens_end_lexemes() -> None:
    vocabulary = Vocabulary.from_tokens(
        [b"a", b"<|x|>", b"</s>"], eos_token_id=2, special_tokens={"<|x|>": 1, "</s>": 2}
    )
    matcher = Matcher(Grammar.from_lark("start: (x <|x|>)*\nx[max_tokens=2]: /a+/"), vocabulary)
    for _ in range(3):
        for token in (0, 0, 1):
            assert matcher.accept(token)
            if token == 0 and matcher.tokens[-2:] == [0, 0]:
                assert matcher.mask().tolist() == [False, True, False]
    both = Matcher(Grammar.from_lark("start: (x | <[0]> )* \nx[max_tokens=1]: /a+/"), vocabulary)
    for _ in range(3):
        assert both.accept(0)
        assert both.mask().tolist() == [True, False, True]


def test_temperature_of_what_is_written() -> None:
    matcher = small(
        'start: "." x y "." z\nx[temperature=0.5]: /a+/\ny[temperature=0.25, capture]: /[ab]*b/\nz[temperature=0]: "a"'
    )
    temperatures = [matcher.temperature()]
    for token in (2, 0, 1, 2, 0):
        assert matcher.accept(token)
        temperatures.append(matcher.temperature())
    # After `.a`, `x` may continue and `y` may begin; after `.ab`, `y` may continue.
    assert temperatures == [None, 0.5, 0.5, 0.25, 0.0, None]
    matcher.rollback(2)
    assert matcher.temperature() == 0.25
    assert matcher.fork().temperature() == 0.25
    assert small('start: "a"').temperature() is None


def test_temperature_changes_no_mask() -> None:
    plain = small('start: x "."\nx: /[ab]+/')
    warm = small('start: x "."\nx[temperature=1.5]: /[ab]+/')
    for token in (3, 0, 2):
        assert (plain.mask() == warm.mask()).all()
        assert plain.accept(token)
        assert warm.accept(token)
    assert warm.is_accepting()
