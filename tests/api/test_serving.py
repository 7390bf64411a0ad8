"""What serving engines ask of matchers and batches: end tokens of a request, drafts of several tokens, rows without a
constraint."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest

from earleymask import (
    BatchError,
    Grammar,
    LimitError,
    Limits,
    Matcher,
    MatcherInUseError,
    Vocabulary,
    VocabularyError,
    allocate_bitmask,
    apply_bitmask,
    fill_bitmasks,
    fill_draft_bitmasks,
    start_bitmasks,
)
from earleymask.earley import Engine, Regexes
from earleymask.earley._tensors import use_questions
from earleymask.trie.token_source import TokenSource
from support import vocabularies
from support.grammar_texts import GRAMMARS
from support.mask_paths import filled, walked

BYTES = [bytes([byte]) for byte in range(256)]
ENDS = (256, 258, 261)
N_TOKENS = 262
WORDS = {257: b'{"', 259: b"ab", 260: b"};"}
TOKENS = [*BYTES, *(WORDS.get(token_id, b"") for token_id in range(256, N_TOKENS))]
VOCABULARY = Vocabulary.from_tokens(TOKENS, eos_token_id=256)


def other(vocabulary: Vocabulary, eos_token_ids: tuple[int, ...]) -> Vocabulary:
    """Return a vocabulary of the same tokens in which others end a sequence: the slow way to the same matchers."""
    tokens = [vocabulary.token_bytes(token_id) for token_id in range(vocabulary.size)]
    special = set(vocabulary.special_token_ids) | set(vocabulary.eos_token_ids)
    return Vocabulary(TokenSource(tokens, frozenset(special), eos_token_ids, dict(vocabulary.special_tokens)))


# -- end tokens -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GRAMMARS)
@pytest.mark.parametrize("ends", [(258,), (261, 256), (258, 261)])
def test_end_tokens_of_a_request_are_as_those_of_a_vocabulary(name: str, ends: tuple[int, ...]) -> None:
    rng = Random(5)
    grammar = Grammar.from_lark(GRAMMARS[name])
    for _ in range(5):
        chosen, plain = Matcher(grammar, VOCABULARY, ends), Matcher(grammar, other(VOCABULARY, ends))
        assert chosen.eos_token_ids == tuple(sorted(ends))
        for _ in range(40):
            mask = filled(chosen)
            assert np.array_equal(mask, filled(plain)) and np.array_equal(mask, walked(chosen))
            for token_id in (256, 258, 261):
                assert chosen.fork().accept(token_id) == mask[token_id]
            token = int(rng.choice(np.flatnonzero(mask)))
            assert chosen.accept(token) and plain.accept(token)
            assert chosen.is_finished() == plain.is_finished()
        for matcher in (chosen.fork(), pickle.loads(pickle.dumps(chosen))):
            assert matcher.eos_token_ids == chosen.eos_token_ids
            assert np.array_equal(filled(matcher), filled(chosen))


def test_end_tokens_with_a_real_vocabulary() -> None:
    vocabulary = vocabularies.load("llama3")
    names = vocabulary.special_tokens
    ends = [names["<|eom_id|>"], names["<|end_of_text|>"]]
    assert tuple(ends) != vocabulary.eos_token_ids
    matchers = [
        Matcher('start: "yes" | "no"', vocabulary, each) for each in (ends, None, [vocabulary.eos_token_ids[0]])
    ]
    for matcher in matchers:
        assert matcher.accept_tokens(vocabularies.load_encoder("llama3").encode("yes")) > 0
        assert list(np.flatnonzero(filled(matcher))) == list(matcher.eos_token_ids)
    assert matchers[0].accept(ends[0]) and matchers[0].is_finished()


def test_an_explanation_knows_the_end_tokens() -> None:
    matcher = Matcher('start: "ab"', VOCABULARY, [258])
    assert matcher.explain(258).reason == "end"
    assert matcher.explain(256).reason == "special token"
    assert matcher.accept_tokens([259, 258]) == 2
    assert matcher.explain(258).is_allowed


def test_one_end_token_may_be_given_alone() -> None:
    for ends in (258, np.int64(258), np.array([258]), iter([258])):
        matcher = Matcher('start: "ab"', VOCABULARY, ends)
        assert matcher.eos_token_ids == (258,)


def test_end_tokens_that_cannot_be_are_refused() -> None:
    with pytest.raises(VocabularyError, match=r"eos_token_ids has 262; the vocabulary has the ids 0 to 261"):
        Matcher('start: "ab"', VOCABULARY, [256, 262])
    with pytest.raises(VocabularyError, match=r"eos_token_ids has 259, whose text is b'ab'"):
        Matcher('start: "ab"', VOCABULARY, [259])
    with pytest.raises(VocabularyError, match="eos_token_ids is empty"):
        Matcher('start: "ab"', VOCABULARY, [])
    with pytest.raises(VocabularyError, match="eos_token_ids has 262"):
        Matcher('start: "ab"', VOCABULARY, 262)
    with pytest.raises(TypeError):
        Matcher('start: "ab"', VOCABULARY, 258.0)  # type: ignore[arg-type]
    # They may replace those that a vocabulary lacks.
    without = Vocabulary.from_tokens(TOKENS, eos_token_id=None)
    with pytest.raises(VocabularyError, match="no EOS token"):
        Matcher('start: "ab"', without)
    assert Matcher('start: "ab"', without, [258]).accept_tokens([259, 258]) == 2


@pytest.mark.parametrize("ends", [None, (258, 261)])
def test_only_eos(ends: tuple[int, ...] | None) -> None:
    matcher = Matcher.only_eos(VOCABULARY, ends)
    for _ in range(3):
        assert list(np.flatnonzero(filled(matcher))) == list(ends or (256,))
        assert not matcher.accept(ord("a"))
        assert matcher.accept(matcher.eos_token_ids[-1]) and matcher.is_finished()


# -- several tokens ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GRAMMARS)
def test_tokens_are_accepted_up_to_the_first_one_that_is_not_allowed(name: str) -> None:
    rng = Random(7)
    grammar = Grammar.from_lark(GRAMMARS[name])
    for _ in range(30):
        matcher, writer = Matcher(grammar, VOCABULARY), Matcher(grammar, VOCABULARY)
        tokens = []
        for _ in range(rng.randrange(12)):
            tokens.append(int(rng.choice(np.flatnonzero(filled(writer)))))
            writer.accept(tokens[-1])
        n_right = len(tokens)
        tokens += [rng.randrange(-1, N_TOKENS + 1) for _ in range(rng.randrange(3))]
        n = matcher.validate(tokens)
        assert n >= n_right
        assert matcher.accept_tokens(iter(tokens)) == n
        assert matcher.tokens == tokens[:n]


def test_after_an_error_no_token_has_been_accepted() -> None:
    matcher = Matcher('start: "a"*', VOCABULARY)
    assert matcher.accept_tokens(b"aa") == 2
    with pytest.raises(TypeError):
        matcher.accept_tokens([97, 97, "a"])  # type: ignore[list-item]
    assert matcher.tokens == [97, 97]
    grammar = Grammar.from_lark('start: "a" | "(" start ")"', limits=Limits(matcher_bytes=1 << 16))
    matcher = Matcher(grammar, VOCABULARY)
    with pytest.raises(LimitError, match="matcher_bytes"):  # it has a row for each bracket
        matcher.accept_tokens(b"(" * 100_000)
    assert matcher.n_tokens == 0
    assert matcher.accept_tokens(b"((a))") == 5


# -- rows without a constraint, and rows in another order -------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("in_background", [False, True])
def test_none_stands_for_no_constraint(threads: int, in_background: bool) -> None:
    matchers = [Matcher(GRAMMARS[name], VOCABULARY) for name in GRAMMARS]
    given = [None, matchers[0], None, *matchers[1:], None]
    rows = np.zeros((len(given) + 1, 10), np.int32)  # a word more than is needed
    rows[-1] = 7
    if in_background:
        start_bitmasks(given, rows, threads=threads).wait()
    else:
        fill_bitmasks(given, rows, threads=threads)
    for row, matcher in zip(rows, given, strict=False):
        if matcher is None:
            assert (row == -1).all()
        else:
            bits = np.unpackbits(row.view(np.uint8), bitorder="little").astype(bool)
            assert np.array_equal(bits[:N_TOKENS], filled(matcher)) and not bits[N_TOKENS:].any()
    assert (rows[-1] == 7).all()
    # Applied, such a row changes nothing, not even logits beyond the vocabulary.
    logits = np.zeros((len(given), 400))
    apply_bitmask(logits, rows[:-1])
    for each, matcher in zip(logits, given, strict=True):
        allowed = np.flatnonzero(np.isfinite(each))
        expected = np.arange(400) if matcher is None else np.flatnonzero(filled(matcher))
        assert np.array_equal(allowed, expected)


def test_a_batch_without_any_constraint() -> None:
    rows = np.zeros((3, 9), np.int32)
    fill_bitmasks([None, None], rows, threads=2)
    assert (rows[:2] == -1).all() and (rows[2] == 0).all()
    with pytest.raises(ValueError, match="read-only"):
        fill_bitmasks([None], np.broadcast_to(np.zeros(9, np.int32), (3, 9)))


@pytest.mark.parametrize("threads", [1, 2])
def test_each_matcher_fills_the_row_that_is_named(threads: int) -> None:
    matchers: list[Matcher | None] = [Matcher(GRAMMARS[name], VOCABULARY) for name in GRAMMARS]
    matchers.append(matchers[0])  # its mask is copied
    matchers.append(None)
    indices = [9, 0, 4, 3, 8, 6, 1]
    rows = np.full((10, 9), 7, np.int32)
    plain = np.zeros((len(matchers), 9), np.int32)
    fill_bitmasks(matchers, rows, indices=indices, threads=threads)
    fill_bitmasks(matchers, plain)
    assert np.array_equal(rows[indices], plain)
    assert (rows[[2, 5, 7]] == 7).all()


def test_errors_have_the_index_of_their_matcher() -> None:
    grammar = Grammar.from_lark(GRAMMARS["json"])
    busy = Matcher(grammar, VOCABULARY)
    rows = np.full((6, 9), 7, np.int32)
    filling = start_bitmasks([busy], np.zeros((1, 9), np.int32))
    with pytest.raises(BatchError) as caught:
        fill_bitmasks([None, Matcher(grammar, VOCABULARY), busy], rows, indices=[5, 1, 3])
    filling.wait()
    assert list(caught.value.errors) == [2]
    assert (rows[5] == -1).all() and rows[1].any() and not rows[3].any() and (rows[[0, 2, 4]] == 7).all()


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ([0], "there are 1 indices for 2 matchers"),
        ([0, 4], r"indices\[1\] is 4; there are the rows 0 to 3"),
        ([-1, 0], r"indices\[0\] is -1"),
        ([2, 2], r"indices\[0\] and indices\[1\] are both 2"),
    ],
)
def test_indices_that_are_not_one_row_each_are_refused(indices: list[int], message: str) -> None:
    matchers = [Matcher('start: "a"', VOCABULARY), None]
    rows = np.full((4, 9), 7, np.int32)
    with pytest.raises(ValueError, match=message):
        fill_bitmasks(matchers, rows, indices=indices)
    assert (rows == 7).all()


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_masks_are_applied_to_the_rows_that_are_named(kind: str) -> None:
    rng = np.random.default_rng(3)
    logits = rng.normal(size=(6, 90)).astype(np.float32)
    bitmask = rng.integers(-(2**31), 2**31, size=(5, 3), dtype=np.int64).astype(np.int32)
    bitmask[2] = -1
    indices = [4, 0, 2]
    expected = logits.copy()
    for row in indices:
        apply_bitmask(expected[row], bitmask[row])
    got = logits.copy() if kind == "numpy" else pytest.importorskip("torch").from_numpy(logits.copy())
    apply_bitmask(got, bitmask, indices=indices)
    assert np.array_equal(np.asarray(got), expected)
    apply_bitmask(got, bitmask, indices=[])
    assert np.array_equal(np.asarray(got), expected)
    with pytest.raises(ValueError, match=r"indices\[1\] is 5; there are the rows 0 to 4"):
        apply_bitmask(got, bitmask, indices=[0, 5])
    with pytest.raises(ValueError, match="two dimensions"):
        apply_bitmask(got[0], bitmask[0], indices=[0])
    assert np.array_equal(np.asarray(got), expected)


def test_allocated_rows_leave_logits_as_they_are() -> None:
    rows = allocate_bitmask(3, VOCABULARY)
    assert rows.shape == (3, 9) and rows.dtype == np.int32 and rows.flags.c_contiguous
    assert np.array_equal(rows, allocate_bitmask(3, N_TOKENS))
    logits = np.ones((3, 500))
    apply_bitmask(logits, rows)
    assert (logits == 1).all()
    fill_bitmasks([Matcher('start: "a"', VOCABULARY)], rows, indices=[1])
    apply_bitmask(logits, rows)
    assert [np.isfinite(row).sum() for row in logits] == [500, 1, 500]
    assert allocate_bitmask(0, 5).shape == (0, 1)
    with pytest.raises(ValueError, match="-1 rows"):
        allocate_bitmask(-1, 5)


# -- errors that end a sequence ---------------------------------------------------------------------------------------


def failing(error: Exception) -> Matcher:
    """Return a matcher whose mask raises this error once `{"` could follow."""

    def expand() -> list[list[int]]:
        raise error

    engine = Engine(Regexes())
    brace = engine.add_terminal("{", engine.regexes.literal(b"{"))
    letter = engine.add_terminal("a", engine.regexes.literal(b"a"))
    start = engine.add_nonterminal("start")
    engine.add_production(start, [letter, start])
    engine.add_production(start, [letter, brace, engine.add_lazy("lazy", expand)])
    engine.finish(start)
    matcher = Matcher(SimpleNamespace(engine=engine), VOCABULARY, [258, 261])
    assert matcher.accept_tokens(b"aa") == 2
    return matcher


def ended(matcher: Matcher, row: np.ndarray, error: Exception) -> None:
    """Check everything that an engine may ask of a sequence which an error has ended."""
    bits = np.unpackbits(row.view(np.uint8), bitorder="little")
    assert list(np.flatnonzero(bits)) == list(np.flatnonzero(matcher.mask())) == [258, 261]
    assert type(matcher.error) is type(error) and str(matcher.error) == str(error)
    assert matcher.error.__traceback__ is None
    assert matcher.is_finished() and not matcher.is_accepting()
    assert not any(matcher.accept(token) for token in (*b"a{", 258, 261))
    assert matcher.accept_tokens([258]) == matcher.validate(b"a") == 0
    assert np.flatnonzero(walked(matcher)).tolist() == [258, 261] and matcher.temperature() is None
    assert matcher.tokens == [97, 97]
    fork = matcher.fork()
    assert fork.error is matcher.error
    fork.rollback(1)
    assert fork.error is None and fork.accept(97)


@pytest.mark.parametrize("error", [LimitError("too much"), RuntimeError("a bug"), MemoryError()])
@pytest.mark.parametrize("way", ["fill", "batch", "background"])
def test_an_error_ends_the_sequence_alone(error: Exception, way: str) -> None:
    matcher, good = failing(error), Matcher(GRAMMARS["json"], VOCABULARY)
    rows = np.full((3, 12), 7, np.int32)
    for _ in range(2):  # again, it is the same
        if way == "fill":
            matcher.fill_bitmask(rows[0], on_error="end")
            good.fill_bitmask(rows[1], on_error="end")
        elif way == "batch":
            fill_bitmasks([matcher, good, matcher], rows, on_error="end", threads=2)
        else:
            start_bitmasks([matcher, good, matcher], rows, on_error="end", threads=2).wait()
        ended(matcher, rows[0], error)
        assert good.error is None and np.array_equal(rows[1, :9], packed(good))
        assert way == "fill" or np.array_equal(rows[2], rows[0])
    matcher.fill_bitmask(rows[2])  # whatever is asked for then
    assert np.array_equal(rows[2], rows[0])
    # Before the last token there was no error.
    matcher.rollback(1)
    assert matcher.error is None and not matcher.is_finished() and matcher.accept(97)
    with pytest.raises(type(error)):
        matcher.fill_bitmask(rows[0])
    assert matcher.error is None and matcher.accept(97)
    matcher.fill_bitmask(rows[0], on_error="end")
    assert matcher.error is not None
    matcher.reset()
    assert matcher.error is None and matcher.accept(97)


PALINDROMES = 'start: "a" start "a" | "b" start "b" | "a" | "b" |'
"""A grammar of which a long text teaches very much."""


def at_the_limit(grammar: Grammar) -> Matcher:
    """Return a matcher that has accepted letters until a limit, for which the grammar has forgotten all positions."""
    matcher = Matcher(grammar, VOCABULARY)

    def accept_all() -> None:
        while matcher.n_tokens < 5000:
            assert matcher.accept(ord("a"))

    with pytest.raises(LimitError, match="grammar_bytes"):
        accept_all()
    assert matcher.n_tokens > 50
    return matcher


@pytest.mark.parametrize("way", ["rollback", "reset", "draft", "accept"])
def test_tokens_can_be_taken_back_whose_positions_are_forgotten(way: str) -> None:
    """They are accepted once more, also if an error has ended the sequence, and after a call that fails."""
    matcher = at_the_limit(Grammar.from_lark(PALINDROMES, limits=Limits(grammar_bytes=60_000)))
    n = matcher.n_tokens
    if way in ("rollback", "reset"):
        matcher.fill_bitmask(np.zeros(9, np.int32), on_error="end")
        assert matcher.error is not None
    if way == "reset":
        matcher.reset()
        assert matcher.error is None and matcher.accept_tokens(b"aaaaa") == 5
    else:
        matcher.rollback(n - 5)
    if way == "draft":
        rows = np.zeros((n + 1, 9), np.int32)
        allowed = fill_draft_bitmasks(matcher, [97] * n, rows, on_error="end")
        assert allowed[0] and not allowed[-1]
    elif way == "accept":
        with pytest.raises(LimitError):
            matcher.accept_tokens([97] * 10 * n)
    assert matcher.error is None and matcher.tokens == [97] * 5
    assert np.array_equal(filled(matcher), walked(matcher)) and matcher.accept_tokens(b"baaaaa") == 6


def test_an_ended_sequence_is_reserved_as_others_are() -> None:
    matcher, busy = failing(LimitError("too much")), Matcher(GRAMMARS["json"], VOCABULARY)
    matcher.fill_bitmask(np.zeros(9, np.int32), on_error="end")
    rows = np.full((2, 9), 7, np.int32)
    first = start_bitmasks([busy], np.zeros((1, 9), np.int32))
    with pytest.raises(MatcherInUseError):
        start_bitmasks([matcher, busy], rows)
    assert (rows == 7).all()
    first.wait()
    filling = start_bitmasks([matcher, busy], rows)
    with pytest.raises(MatcherInUseError):
        matcher.rollback(1)
    filling.wait()
    ended(matcher, rows[0], LimitError("too much"))
    assert matcher.forced_bytes() == b"" and matcher.expected() == []


def packed(matcher: Matcher) -> np.ndarray:
    row = np.zeros(9, np.int32)
    matcher.fill_bitmask(row)
    return row


def test_what_is_no_fault_of_the_grammar_is_raised() -> None:
    matcher = Matcher(GRAMMARS["json"], VOCABULARY)
    rows = np.zeros((1, 9), np.int32)
    filling = start_bitmasks([matcher], np.zeros((1, 9), np.int32))
    with pytest.raises(MatcherInUseError):
        matcher.fill_bitmask(rows[0], on_error="end")
    with pytest.raises(BatchError):
        fill_bitmasks([matcher], rows, on_error="end")
    filling.wait()
    assert matcher.error is None
    for wrong in ("stop", None, "END"):
        with pytest.raises(ValueError, match=r'on_error must be "raise" or "end"'):
            matcher.fill_bitmask(rows[0], on_error=wrong)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=r'on_error must be "raise" or "end"'):
            fill_bitmasks([matcher], rows, on_error=wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="needs 9"):
        matcher.fill_bitmask(rows[0, :8], on_error="end")
    assert not rows.any()


# -- tensors ----------------------------------------------------------------------------------------------------------


@pytest.fixture(params=[False, True], ids=["by DLPack", "by questions"])
def _questions(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let tensors be described at once, as torch 2.10 and later can, or question by question."""
    use_questions(request.param)
    yield
    use_questions(False)


@pytest.mark.usefixtures("_questions")
def test_a_row_of_torch_is_filled_as_one_of_numpy() -> None:
    torch = pytest.importorskip("torch")

    class Tensor(torch.Tensor):
        pass

    matcher = Matcher(GRAMMARS["json"], VOCABULARY)
    expected = np.zeros(9, np.int32)
    matcher.fill_bitmask(expected)
    batch = torch.full((3, 20), 7, dtype=torch.int32)
    for row in (
        torch.zeros(9, dtype=torch.int32),
        batch[1, :12],
        batch[2],
        torch.zeros(9, dtype=torch.int32).as_subclass(Tensor),
        torch.from_numpy(np.zeros(9, np.int32)),
    ):
        matcher.fill_bitmask(row)
        assert np.array_equal(row[:9].numpy(), expected) and not row[9:].any()
    assert (batch[0] == 7).all() and (batch[1, 12:] == 7).all()
    for wrong in (
        torch.zeros(9, dtype=torch.int64),
        torch.zeros((1, 9), dtype=torch.int32),
        torch.zeros(8, dtype=torch.int32),
        torch.zeros(18, dtype=torch.int32)[::2],
        torch.zeros(9, dtype=torch.int32, device="meta"),
        torch.zeros(1, dtype=torch.int32).expand(9),
        torch.zeros(9, dtype=torch.uint32),
        torch.zeros(9),
        torch.zeros(0, dtype=torch.int32),
    ):
        with pytest.raises(ValueError, match="row"):
            matcher.fill_bitmask(wrong)
    with pytest.raises(TypeError, match="Sparse"):
        matcher.fill_bitmask(torch.zeros(9, dtype=torch.int32).to_sparse())
    # A lazy clone has the memory of its source until one of them is written.
    source = torch.zeros(9, dtype=torch.int32)
    clone = torch._lazy_clone(source)
    matcher.fill_bitmask(clone)
    assert np.array_equal(clone.numpy(), expected) and not source.any()
