"""`Constraint`, and the histories that it remembers."""

from __future__ import annotations

import pickle
import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import earleymask
from earleymask import Constraint, Grammar, Matcher, RejectedTokenError, Vocabulary
from earleymask.constraint import as_token_ids
from earleymask.histories import Histories, advance, common_prefix, history_key
from support import vocabularies

LIST = r"""
start: "[" (ITEM ("," ITEM)~0..2)? "]"
ITEM: /[a-z]{1,3}/
"""
EOS = 256


def as_bytes(text: str) -> list[int]:
    return list(text.encode())


# -- histories of a toy matcher that allows ids below 100 and counts its work ----------------------------------------


class Toy:
    accepted = 0  # ids that all toys together accepted

    def __init__(self, tokens: list[int] | None = None) -> None:
        self.tokens = [] if tokens is None else tokens

    @property
    def n_tokens(self) -> int:
        return len(self.tokens)

    def accept(self, token_id: int) -> bool:
        if token_id >= 100:
            return False
        Toy.accepted += 1
        self.tokens.append(token_id)
        return True

    def rollback(self, n: int) -> None:
        assert 0 <= n <= len(self.tokens)
        if n:
            del self.tokens[-n:]

    def fork(self) -> Toy:
        return Toy(list(self.tokens))


def visit(histories: Histories[Toy], tokens: list[int]) -> int:
    """Move a matcher to the end of `tokens` as `Constraint` does; return how many ids it had to accept."""
    before = Toy.accepted
    ids = np.array(tokens, np.int64)
    key = history_key(ids)
    toy = histories.take(key)
    assert toy.tokens == tokens[: toy.n_tokens]
    assert advance(toy, ids) == len(tokens)
    histories.put(toy, key)
    return Toy.accepted - before


def test_a_growing_history_costs_its_new_tokens_and_one_place() -> None:
    histories = Histories(Toy())
    tokens: list[int] = []
    for n_new in [1, 1, 5, 0, 1, 40]:
        tokens += range(n_new)
        assert visit(histories, tokens) == n_new
        assert len(histories) == 1


def test_shorter_and_branching_histories_cost_what_is_new() -> None:
    histories = Histories(Toy())
    assert visit(histories, [1, 2, 3, 4, 5]) == 5
    assert visit(histories, [1, 2, 3]) == 0
    assert visit(histories, [1, 2, 3, 9, 9]) == 2
    assert visit(histories, [1, 2, 3, 4, 5, 6]) == 1, "the first one is still known"
    assert visit(histories, [1, 2, 8]) == 1
    assert visit(histories, []) == 0
    assert visit(histories, [7]) == 1


def test_of_two_equally_near_histories_the_one_that_is_extended_moves_on() -> None:
    histories = Histories(Toy())
    visit(histories, [1, 2, 9])
    visit(histories, [1, 2])
    assert visit(histories, [1, 2, 5]) == 1
    assert len(histories) == 2


def test_beams_that_reorder_cost_one_token_a_row() -> None:
    histories = Histories(Toy())
    rng = random.Random(5)
    beams = [[rng.randrange(50)] for _ in range(8)]
    for beam in beams:
        visit(histories, beam)
    for _ in range(200):
        beams = [[*rng.choice(beams), rng.randrange(50)] for _ in beams]
        assert sum(visit(histories, beam) for beam in beams) <= len(beams)


def test_the_least_recently_used_history_leaves() -> None:
    histories = Histories(Toy(), capacity=3)
    for first in (1, 2, 3):
        visit(histories, [first] * 10)
    assert visit(histories, [1] * 5) == 0  # a fork of 1 is remembered, too, so 2 is dropped
    assert len(histories) == 3
    assert visit(histories, [1] * 10) == 0
    assert visit(histories, [3] * 10) == 0
    assert visit(histories, [2] * 10) == 10


def test_a_matcher_that_was_taken_belongs_to_its_taker() -> None:
    """Two threads that ask at once have a matcher each, and afterwards both are remembered."""
    histories = Histories(Toy())
    visit(histories, [1, 2, 3, 5])
    key = history_key(np.array([1, 2, 3, 4]))
    one, other = histories.take(key), histories.take(key)
    assert one is not other and one.tokens == other.tokens == [1, 2, 3]
    assert one.accept(4) and other.accept(4)
    histories.put(one, key)
    histories.put(other, key)
    assert len(histories) == 3
    longer = history_key(np.array([1, 2, 3, 4, 6]))
    one, other = histories.take(longer), histories.take(longer)
    assert one is not other and one.n_tokens == other.n_tokens == 4
    third = histories.take(longer)
    assert third.n_tokens == 3, "both are out: the nearest that is left"


def test_histories_can_be_forgotten() -> None:
    histories = Histories(Toy())
    visit(histories, [1, 2])
    histories.clear()
    assert len(histories) == 0 and visit(histories, [1, 2]) == 2
    with pytest.raises(ValueError, match="capacity"):
        Histories(Toy(), capacity=0)


short_histories = st.lists(st.integers(0, 2), max_size=6)


@given(st.lists(short_histories, max_size=40))
def test_a_visit_costs_what_no_remembered_history_begins_with(queries: list[list[int]]) -> None:
    """If no history is dropped, a matcher accepts what follows the longest common prefix with any known history."""
    histories = Histories(Toy(), capacity=1000)
    known: list[list[int]] = [[]]
    for tokens in queries:
        shared = max(sum(1 for _ in _common(tokens, other)) for other in known)
        assert visit(histories, tokens) == len(tokens) - shared
        known.append(tokens)


def _common(left: list[int], right: list[int]) -> list[int]:
    n = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    return left[:n]


@given(st.lists(short_histories, max_size=60), st.integers(1, 4))
def test_a_small_memory_only_costs_time(queries: list[list[int]], capacity: int) -> None:
    histories = Histories(Toy(), capacity=capacity)
    for tokens in queries:
        visit(histories, tokens)
        assert len(histories) <= capacity


@given(short_histories, short_histories)
def test_common_prefix_counts_whole_tokens(left: list[int], right: list[int]) -> None:
    # Ids with some bytes in common: a common prefix of bytes must not count as one of tokens.
    left, right = [token * 0x010001 for token in left], [token * 0x0100 for token in right]
    found = common_prefix(history_key(np.array(left)), history_key(np.array(right)))
    assert found == len(_common(left, right))


# -- masks ----------------------------------------------------------------------------------------------------------


def test_without_a_vocabulary_tokens_are_bytes() -> None:
    constraint = Constraint(LIST)
    assert constraint.vocabulary == Vocabulary.bytes()
    mask = constraint.mask()
    assert mask.dtype == np.bool_ and mask.shape == (257,)
    assert np.flatnonzero(mask).tolist() == [ord("[")]
    assert np.flatnonzero(constraint.mask(as_bytes("["))).tolist() == [ord("]"), *range(ord("a"), ord("z") + 1)]
    assert np.flatnonzero(constraint.mask(as_bytes("[a,b,c"))).tolist() == [ord("]"), *range(ord("a"), ord("z") + 1)]
    assert np.flatnonzero(constraint.mask(as_bytes("[abc,b,xyz"))).tolist() == [ord("]")]
    assert np.flatnonzero(constraint.mask(as_bytes("[]"))).tolist() == [EOS]
    assert np.flatnonzero(constraint.mask([*as_bytes("[]"), EOS])).tolist() == [EOS]
    assert np.flatnonzero(constraint.mask([*as_bytes("[]"), EOS, EOS])).tolist() == [EOS]


def test_a_grammar_object_serves_several_constraints() -> None:
    grammar = Grammar.from_lark(LIST)
    one, other = Constraint(grammar), Constraint(grammar, Vocabulary.bytes())
    assert one.grammar is grammar
    assert np.array_equal(one.mask(as_bytes("[q")), other.mask(as_bytes("[q")))


def test_any_kind_of_sequence_will_do() -> None:
    torch = pytest.importorskip("torch")
    constraint = Constraint(LIST)
    ids = as_bytes("[ab,c")
    expected = constraint.mask(ids)
    kinds = [tuple(ids), np.array(ids), np.array(ids, np.uint8), np.array(ids, np.int32), np.array(ids, np.uint64)]
    kinds += [torch.tensor(ids), torch.tensor(ids, dtype=torch.int32), list(np.array(ids)), list(torch.tensor(ids))]
    kinds += [np.array([ids, ids]).T[:, 0], range(0)]
    for tokens in kinds[:-1]:
        assert np.array_equal(constraint.mask(tokens), expected), type(tokens)
    start = Constraint(LIST).mask()
    for empty in ([], (), np.array([]), np.array([], np.int64), torch.tensor([]), range(0)):
        assert np.array_equal(constraint.mask(empty), start), type(empty)


@pytest.mark.parametrize(
    ("tokens", "error"),
    [
        ([1.0, 2.0], TypeError),
        (["["], TypeError),
        ("[", TypeError),
        (np.array([91.0]), TypeError),
        (np.array([True, False]), TypeError),
        (np.array([[91, 93]]), ValueError),
        ([[91], [93]], TypeError),
        ([2**70, 1.5], TypeError),
        ([True], TypeError),
        ((91, False), TypeError),
        ([2**70, True], TypeError),
    ],
)
def test_what_is_no_sequence_of_ids_is_refused(tokens: object, error: type[Exception]) -> None:
    constraint = Constraint(LIST)
    with pytest.raises(error):
        constraint.mask(tokens)
    assert constraint.mask([91]).any()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((b"start: ",), "grammar must be a Grammar, the text of a grammar, .* not bytes; decode"),
        ((None,), "grammar must be a Grammar, the text of a grammar, .* not NoneType"),
        ((LIST, "tok"), r"must be a Vocabulary, not str; make one with Vocabulary.from_transformers\(tokenizer\)"),
        ((LIST, object()), "must be a Vocabulary, not object"),
    ],
)
def test_what_is_no_grammar_and_no_vocabulary_is_refused(arguments: tuple[object, ...], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        Constraint(*arguments)


def test_masks_are_the_callers_own() -> None:
    constraint = Constraint(LIST)
    constraint.mask(as_bytes("["))[:] = False
    assert constraint.mask(as_bytes("[")).any()


def test_masks_equal_the_matchers_at_random_histories() -> None:
    """They are equal for histories that grow, shrink and branch, even if there are more than are remembered."""
    grammar, vocabulary = Grammar.from_lark(LIST), Vocabulary.bytes()
    constraint = Constraint(grammar, vocabulary)
    rng = random.Random(11)
    seen: list[list[int]] = [[]]
    for _ in range(600):
        tokens = list(rng.choice(seen))
        tokens = tokens[: rng.randint(0, len(tokens))]
        matcher = Matcher(grammar, vocabulary)
        assert all(matcher.accept(token_id) for token_id in tokens)
        for _ in range(rng.randrange(4)):
            allowed = np.flatnonzero(matcher.mask()).tolist()
            if allowed == [EOS]:
                break
            tokens.append(rng.choice(allowed))
            assert matcher.accept(tokens[-1])
        seen.append(tokens)
        assert np.array_equal(constraint.mask(tokens), matcher.mask()), tokens
        row = np.full(10, -1, np.int32)
        constraint.fill_bitmask(tokens, row)
        assert np.array_equal(np.unpackbits(row.view(np.uint8), bitorder="little")[:257], matcher.mask())
        assert constraint.matcher(tokens).tokens == tokens
    assert len(constraint._histories) == 64


def test_a_constraint_accepts_only_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    fed: list[int] = []

    def counting_advance(matcher: Matcher, ids: np.ndarray) -> int:
        fed.append(len(ids) - matcher.n_tokens)
        return advance(matcher, ids)

    monkeypatch.setattr("earleymask.constraint.advance", counting_advance)
    constraint = Constraint(LIST)
    for text in ["[ab", "[ab,", "[ab,c,d", "[ab,cc", "[ab", "", "[ab,cc]"]:
        constraint.mask(as_bytes(text))
    assert fed == [3, 1, 3, 1, 0, 0, 1]


def test_a_matcher_asked_for_is_the_callers_own() -> None:
    constraint = Constraint(LIST)
    matcher = constraint.matcher(as_bytes("[a"))
    assert matcher.accept(ord("]"))
    assert constraint.mask(as_bytes("[a")).sum() == 26 + 2


JSON = r"""
start: value
value: object | array | ESCAPED_STRING | SIGNED_NUMBER | "true" | "false" | "null"
object: "{" [pair ("," pair)*] "}"
pair: ESCAPED_STRING ":" value
array: "[" [value ("," value)*] "]"
%import common (ESCAPED_STRING, SIGNED_NUMBER, WS)
%ignore WS
"""
TEXT = ' {"name": "Zoë 🦊", "tags": ["日本語", "\\u00e9", ""],\n\t"n": [-1.5e+10, 0, {}], "ok": true, "none": null}'


@pytest.mark.parametrize("name", vocabularies.NAMES)
def test_real_vocabularies(name: str) -> None:
    """In a text split by the tokenizer itself, each next token is allowed, and most others are not."""
    vocabulary, encoder = vocabularies.load(name), vocabularies.load_encoder(name)
    constraint = Constraint(JSON, vocabulary)
    tokens = encoder.encode(TEXT)
    assert len(tokens) > 20
    for n, token_id in enumerate(tokens):
        mask = constraint.mask(tokens[:n])
        assert mask.shape == (vocabulary.size,) and mask[token_id], (n, vocabulary.token_bytes(token_id))
        assert not mask[list(vocabulary.eos_token_ids)].any()
    assert constraint.mask(tokens)[list(vocabulary.eos_token_ids)].all()
    with pytest.raises(RejectedTokenError) as caught:
        constraint.mask([*tokens, tokens[-1]])
    assert caught.value.index == len(tokens)


# -- rejected histories ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "index"),
    [
        (as_bytes("x"), 0),
        (as_bytes("[ab,cdefg,h]"), 7),
        ([*as_bytes("[ab"), EOS], 3),
        ([*as_bytes("[]"), EOS, ord("]")], 3),
        ([*as_bytes("[]"), EOS, EOS, 0], 4),
        ([*as_bytes("[ab"), 257], 3),
        ([*as_bytes("[ab"), -1], 3),
        ([*as_bytes("[ab"), 2**40], 3),
        ([*as_bytes("[ab"), 2**70, 1], 3),
        ([*as_bytes("[A"), 2**70], 1),
        (np.array([*as_bytes("[ab"), 2**63], np.uint64), 3),
        (np.array([91, -5], np.int8), 1),
    ],
)
def test_the_first_rejected_token_is_named(tokens: object, index: int) -> None:
    constraint = Constraint(LIST)
    for _ in range(2):  # the second time, the history is remembered
        with pytest.raises(RejectedTokenError) as caught:
            constraint.mask(tokens)
        assert caught.value.index == index
        assert caught.value.token_id == int(tokens[index])
        assert str(int(tokens[index])) in str(caught.value)
    accepted = [int(token_id) for token_id in tokens[:index]]
    assert np.array_equal(constraint.mask(accepted), Constraint(LIST).mask(accepted)), "still usable"


def test_a_rejected_history_costs_no_more_the_second_time() -> None:
    constraint = Constraint(LIST)
    with pytest.raises(RejectedTokenError):
        constraint.mask(as_bytes("[abc,x!"))
    key = history_key(np.array(as_bytes("[abc,x")))
    assert constraint._histories.take(key).n_tokens == 6


def test_the_message_says_what_the_token_is() -> None:
    tokens = [bytes([byte]) for byte in range(256)] + [b"<eos>", b"<tool>", b""]
    vocabulary = Vocabulary.from_tokens(tokens, eos_token_id=256, special_token_ids=[257])
    constraint = Constraint(LIST, vocabulary)
    for token_id, words in [(65, "b'A'"), (257, "special"), (258, "has no bytes"), (259, "outside the vocabulary")]:
        with pytest.raises(RejectedTokenError, match=words):
            constraint.mask([91, token_id])


# -- threads, processes, imports ------------------------------------------------------------------------------------


def test_several_threads_get_the_right_masks() -> None:
    constraint = Constraint(LIST)
    texts = ["", "[", "[a", "[ab", "[ab,", "[ab,c", "[ab,cd]", "[x", "[xyz,", "[xyz,q]", "[]"]
    expected = {text: Constraint(LIST).mask(as_bytes(text)) for text in texts}
    barrier = threading.Barrier(8)

    def work(seed: int) -> int:
        rng = random.Random(seed)
        barrier.wait()
        for _ in range(400):
            text = rng.choice(texts)
            if rng.random() < 0.1:
                with pytest.raises(RejectedTokenError):
                    constraint.mask(as_bytes(text + "!"))
            assert np.array_equal(constraint.mask(as_bytes(text)), expected[text])
        return seed

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == list(range(8))
    assert len(constraint._histories) <= 64


def test_a_constraint_survives_pickling() -> None:
    constraint = Constraint(LIST, Vocabulary.bytes())
    constraint.mask(as_bytes("[a"))
    again = pickle.loads(pickle.dumps(constraint))
    assert again.vocabulary == constraint.vocabulary
    assert again.grammar == constraint.grammar
    assert np.array_equal(again.mask(as_bytes("[a")), constraint.mask(as_bytes("[a")))


def test_torch_is_not_imported(tmp_path: Path) -> None:
    program = (
        "import sys, numpy, earleymask; "
        "m = earleymask.Constraint('start: \"a\"').mask(numpy.array([97])); "
        "assert m[256], m; "
        "assert not {'torch', 'transformers', 'lark'} & set(sys.modules), sorted(sys.modules)"
    )
    # In another folder, for `-c` puts the current one before the installed package.
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)


def test_the_public_names_are_all_there() -> None:
    for name in earleymask.__all__:
        assert hasattr(earleymask, name)
    assert sorted(earleymask.__all__) == earleymask.__all__


@settings(max_examples=50)
@given(st.lists(st.integers(-(2**70), 2**70), max_size=8))
def test_ids_survive_the_conversion_or_become_impossible(tokens: list[int]) -> None:
    ids = as_token_ids(tokens).tolist()
    assert len(ids) == len(tokens)
    for before, after in zip(tokens, ids, strict=True):
        assert after == before or (after == -1 and not 0 <= before < 2**31)
