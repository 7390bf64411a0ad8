"""The engine, step by step, without a model: answers that are given up, and masks that cannot be asked for."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import pytest

pytest.importorskip("torch")

from earleymask import Vocabulary
from earleymask.integration.server.engine import Answer, Engine, Piece
from earleymask.integration.server.errors import ApiError
from earleymask.integration.server.metrics import Metrics
from earleymask.integration.server.sampling import Chosen
from earleymask.integration.server.text import Text

VOCABULARY = Vocabulary.from_tokens([b"a", b"b", b"</s>"], eos_token_id=2)


class OneToken:
    """A decoder that always chooses the token 0."""

    def __init__(self) -> None:
        self.rows: set[int] = set()
        self.n_chosen = 0

    def read(self, key: int, *_: Any) -> float:
        self.rows.add(key)
        return 0.0

    def advance(self, keys: Sequence[int]) -> float:
        assert self.rows.issuperset(keys)
        return 0.0

    def choose(self, masks: Sequence[Any]) -> list[Chosen]:
        self.n_chosen += len(masks)
        return [Chosen(0, None, ()) for _ in masks]

    def drop(self, keys: Sequence[int]) -> None:
        self.rows.difference_update(keys)


class GivenMasks:
    """Masks that are what a test says."""

    eos_token_ids = frozenset([2])

    def __init__(self, *found: Any) -> None:
        self.found = list(found)
        self.is_closed = False

    def after(self, token: int | None, remaining: int | None) -> Future[Any]:
        found = self.found.pop(0)
        if isinstance(found, Exception):
            raise found
        future: Future[Any] = Future()
        future.set_result(found)
        return future

    def close(self) -> None:
        self.is_closed = True


def answer_of(masks: GivenMasks | None, left: int, pieces: list[Piece]) -> Answer:
    sampling: Any = None
    return Answer([0], masks, frozenset([2]), sampling, 0, Text(VOCABULARY), left, False, pieces.append)


@pytest.fixture
def engine() -> Engine:
    decoder: Any = OneToken()
    return Engine(decoder, VOCABULARY, 4, Metrics())


def test_an_answer_that_is_given_up_chooses_nothing(engine: Engine) -> None:
    """Its masks are closed, so that there may be none, and none means that all tokens are allowed."""
    pieces: list[Piece] = []
    masks = GivenMasks(None)
    answer = answer_of(masks, 5, pieces)
    engine.submit([answer])
    engine._admit()
    engine.cancel(answer)  # after the step has looked for such answers
    assert masks.is_closed
    engine._choose(engine._wait())
    engine._deliver()
    assert (engine.decoder.n_chosen, answer.n_tokens, pieces) == (0, 0, [])  # type: ignore[attr-defined]
    engine._step()
    assert engine.counts() == (0, 0) and not engine.decoder.rows  # type: ignore[attr-defined]


def test_no_mask_is_not_taken_for_one_that_allows_everything(engine: Engine) -> None:
    pieces: list[Piece] = []
    engine.submit([answer_of(GivenMasks(None), 5, pieces)])
    engine._step()
    assert [piece.error.status for piece in pieces if piece.error] == [500]
    assert engine.decoder.n_chosen == 0 and engine.counts() == (0, 0)  # type: ignore[attr-defined]


def test_pieces_of_an_answer_that_is_given_up_are_not_delivered(engine: Engine) -> None:
    given_up: list[Piece] = []
    others: list[Piece] = []
    first, second = answer_of(None, 1, given_up), answer_of(None, 1, others)
    engine.submit([first, second])
    engine._admit()
    engine._choose(engine._wait())
    engine.cancel(first)
    engine._deliver()
    assert given_up == [] and others == [Piece("a", (), "length")]


@pytest.mark.parametrize("n_masks", [0, 1])
def test_masks_that_cannot_be_asked_for_end_their_answer_alone(engine: Engine, n_masks: int) -> None:
    broken: list[Piece] = []
    others: list[Piece] = []
    masks = GivenMasks(*["a mask"] * n_masks, RuntimeError("secret"))
    engine.submit([answer_of(masks, 3, broken), answer_of(None, 3, others), answer_of(None, 3, [])])
    for _ in range(3):
        engine._step()
    error = broken[-1].error
    assert isinstance(error, ApiError) and error.status == 500 and "secret" not in error.message
    assert [piece.text for piece in broken[:-1]] == ["a"] * n_masks
    assert [(piece.text, piece.finish) for piece in others] == [("a", None), ("a", None), ("a", "length")]
    assert engine.counts() == (0, 0)
