"""Continuous batching with a grammar for each request: mixed requests, and failures that end their own request only."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from support.effort import effort
from support.mixed_requests import KINDS, grammar_of, is_valid

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("transformers.generation.continuous_batching.cb_logits_processors")

from transformers.generation.configuration_utils import ContinuousBatchingConfig  # noqa: E402
from transformers.generation.continuous_batching.cb_logits_processors import (  # noqa: E402
    ContinuousBatchingLogitsProcessorList,
)
from transformers.generation.continuous_batching.requests import FutureRequestState, RequestState  # noqa: E402

from earleymask import Grammar, Vocabulary  # noqa: E402
from earleymask.integration.continuous_batching import RequestGrammars, add_grammars  # noqa: E402
from earleymask.integration.transformers import GrammarLogitsProcessor  # noqa: E402
from support.tiny_model import make_model  # noqa: E402

torch.set_num_threads(1)

EOS = 256
BYTES = Vocabulary.bytes()
LIST = 'start: "[" ITEM? "]"\nITEM: /[a-z]{1,3}/'


@pytest.fixture(scope="module")
def model() -> Any:
    return make_model(257, num_hidden_layers=1, max_position_embeddings=512)


def manager_of(model: Any, *, n_blocks: int = 64, **options: Any) -> Any:
    options = {"do_sample": True, "top_k": 50, "eos_token_id": EOS, "pad_token_id": 0, **options}
    config = ContinuousBatchingConfig(
        num_blocks=n_blocks, page_size=16, max_batch_tokens=128, use_async_batching=False, use_cuda_graph=False
    )
    return model.init_continuous_batching(transformers.GenerationConfig(**options), config)


@pytest.fixture
def manager(model: Any) -> Iterator[Any]:
    made = manager_of(model)
    yield made
    made.stop(block=True)


def results(manager: Any, n: int) -> dict[str, Any]:
    """Wait for the results of n requests."""
    found: dict[str, Any] = {}
    until = time.monotonic() + 120
    while len(found) < n and time.monotonic() < until and manager.is_running():
        result = manager.get_result(timeout=1)
        if result is not None and result.is_finished():
            found[result.request_id] = result
    return found


def check(kind: str, result: Any, n_most: int) -> bool:
    """Assert that a result is valid, or the beginning of a text that was cut. Return whether it is whole."""
    assert result.error is None, result.error
    tokens = result.generated_tokens
    if kind == "none":
        return True
    if tokens[-1] != EOS:
        assert len(tokens) == n_most
        return False
    assert EOS not in tokens[:-1] and is_valid(kind, bytes(tokens[:-1]))
    return True


def test_mixed_requests_at_once(model: Any, manager: Any) -> None:
    grammars = add_grammars(manager, BYTES, threads=2)
    manager.start()
    kinds = {}
    for at in range(effort(120, 400)):
        kind = (*KINDS, "none")[at % 5]
        given = {} if kind == "none" else {"grammar": grammar_of(kind)}
        prompt = [1 + (at * 7 + each) % 250 for each in range(1 + at % 40)]
        n_most = 10 if at % 11 == 0 else 60
        name = manager.add_request(prompt, max_new_tokens=n_most, streaming=at % 3 == 0, **given)
        kinds[name] = (kind, n_most)
    found = results(manager, len(kinds))
    assert set(found) == set(kinds)
    whole = [check(kind, found[name], n_most) for name, (kind, n_most) in kinds.items()]
    assert sum(whole) > 0.9 * len(whole)
    # Requests without a grammar write what no grammar allows.
    free = [found[name].generated_tokens for name, (kind, _) in kinds.items() if kind == "none"]
    assert len({tuple(tokens) for tokens in free}) > len(free) / 2
    manager.stop(block=True)
    # What is known of the requests of the last steps may still be in use.
    assert len(grammars._positions) <= 64 < len(kinds)


def test_failures_end_their_own_request(manager: Any) -> None:
    add_grammars(manager, BYTES)
    manager.start()
    kinds = {}
    grammars = {
        "limited": grammar_of("limited"),
        "wrong": "not a grammar",
        "special": Grammar.from_lark('start: "a" <|tool|>'),
        "cancelled": Grammar.from_regex("(ab){200}"),
    }
    for at in range(60):
        kind = ["limited", "wrong", "special", "schema", "cancelled", "lark"][at % 6]
        grammar = grammars[kind] if kind in grammars else grammar_of(kind)
        options = {"max_new_tokens": 450, "streaming": True} if kind == "cancelled" else {"max_new_tokens": 60}
        kinds[manager.add_request([5, 6, 7 + at], grammar=grammar, **options)] = kind
    # Cancel some in the middle of their texts.
    found = {}
    for result in manager:
        if result.is_finished():
            found[result.request_id] = result
        elif len(result.generated_tokens) == 9:
            break
    for name, kind in kinds.items():
        if kind == "cancelled":
            manager.cancel_request(name)
    expected = {name: kind for name, kind in kinds.items() if kind != "cancelled"}
    found |= results(manager, len(expected) - len(found))
    assert set(found) == set(expected)
    errors = {"limited": "LimitError", "wrong": "expected Grammar", "special": "VocabularyError"}
    for name, kind in expected.items():
        if kind in errors:
            assert errors[kind] in found[name].error, (kind, found[name])
        else:
            check(kind, found[name], 60)
    # The engine goes on.
    name = manager.add_request([1, 2], max_new_tokens=60, grammar=grammar_of("schema"))
    assert check("schema", results(manager, 1)[name], 60)


def test_interrupted_requests(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With too little memory for all, requests are taken out, and continue with their tokens in the prompt."""
    n_interrupted = 0
    begin_again = RequestState.create_equivalent_initial_request

    def counted(state: Any) -> Any:
        nonlocal n_interrupted
        n_interrupted += bool(state.generated_tokens)
        return begin_again(state)

    monkeypatch.setattr(RequestState, "create_equivalent_initial_request", counted)
    manager = manager_of(model, n_blocks=16)
    add_grammars(manager, BYTES)
    manager.start()
    grammar = Grammar.from_regex("[a-z]{90,100}")
    names = [manager.add_request([1 + at] * 10, max_new_tokens=120, grammar=grammar) for at in range(12)]
    found = results(manager, len(names))
    manager.stop(block=True)
    for name in names:
        assert found[name].error is None
        assert re.fullmatch("[a-z]{90,100}", bytes(found[name].generated_tokens[:-1]).decode())
    assert n_interrupted > 0


def test_several_sequences(model: Any) -> None:
    manager = manager_of(model, num_return_sequences=3)
    add_grammars(manager, BYTES)
    manager.start()
    for at in range(8):
        manager.add_request([1 + at, 2], max_new_tokens=60, grammar=grammar_of("lark"))
    found = results(manager, 24)
    manager.stop(block=True)
    assert len(found) == 24 and all([check("lark", result, 60) for result in found.values()])


def test_every_text_is_finished_within_its_tokens(manager: Any) -> None:
    add_grammars(manager, BYTES, finish=True)
    manager.start()
    grammar = Grammar.from_regex("[a-z]{3,}!")
    names = {manager.add_request([1, 2 + n], max_new_tokens=n, grammar=grammar): n for n in (4, 5, 8, 20)}
    found = results(manager, 4)
    for name, n in names.items():
        if n == 4:
            assert "BudgetError" in found[name].error
        else:
            assert re.fullmatch("[a-z]{3,}!", bytes(found[name].generated_tokens[:-1]).decode())


# -- refusals -------------------------------------------------------------------------------------------------------


def test_a_processor_for_batches_is_refused_instead_of_dropped() -> None:
    processors = transformers.LogitsProcessorList([GrammarLogitsProcessor(LIST, BYTES)])
    with pytest.raises(NotImplementedError, match=r"give the grammar of each request to earleymask\.integration"):
        ContinuousBatchingLogitsProcessorList(processors)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"use_async_batching": True}, "use_async_batching=True prepares a step"),
        ({"cuda_graph_booleans": (False, True)}, "would use old masks"),
        ({"varlen_compile_config": object()}, "would use old masks"),
        ({"decode_compile_config": object()}, "would use old masks"),
        (None, "has been started"),
    ],
)
def test_loops_that_would_use_old_masks_are_refused(options: dict[str, Any] | None, message: str) -> None:
    config = {
        "use_async_batching": False,
        "cuda_graph_booleans": (False, False),
        "varlen_compile_config": None,
        "decode_compile_config": None,
    }
    manager = SimpleNamespace(
        continuous_batching_config=SimpleNamespace(**{**config, **(options or {})}),
        is_running=lambda: options is None,
        batch_processor=None,
    )
    with pytest.raises(ValueError, match=message):
        add_grammars(manager, BYTES)


def state_of(**values: Any) -> Any:
    """Return a request as the manager has it."""
    state = RequestState("request", [1, 2], eos_token_id=EOS, **values)
    return FutureRequestState(state, True, {}, 1)


def test_a_token_that_was_not_allowed_fails_the_request() -> None:
    grammars = RequestGrammars(BYTES)
    wrong = state_of(logit_processor_kwargs={"grammar": grammar_of("lark")}, generated_tokens=[ord("["), ord("!")])
    right = state_of(logit_processor_kwargs={"grammar": grammar_of("lark")}, generated_tokens=[ord("["), ord("]")])
    free = state_of()
    arguments = grammars.prepare_tensor_args([wrong, free, right])
    assert arguments.shape == (3,) and arguments.dtype == torch.int32
    scores = torch.zeros(3, 300)
    masked = grammars(scores, arguments)
    assert [row.isfinite().nonzero().flatten().tolist() for row in masked] == [[EOS], list(range(300)), [EOS]]
    assert wrong.state.error.startswith("RejectedTokenError: the grammar rejects token 33 at index 1")
    assert right.state.error is None and free.state.error is None


def test_scores_that_something_else_has_excluded_fail_the_request() -> None:
    grammars = RequestGrammars(BYTES)
    request = state_of(logit_processor_kwargs={"grammar": grammar_of("lark")})
    scores = torch.zeros(1, 257)
    scores[0, ord("[")] = -torch.inf
    masked = grammars(scores, grammars.prepare_tensor_args([request]))
    assert masked.isfinite().nonzero().tolist() == [[0, EOS]]
    assert request.state.error.startswith("EmptyMaskError: after 0 tokens")
    narrow = Vocabulary.from_tokens([b"a", b""], eos_token_id=1)
    request = state_of(logit_processor_kwargs={"grammar": Grammar.from_lark('start: "b"')})
    request.state.eos_token_id = 1
    grammars = RequestGrammars(narrow)
    masked = grammars(torch.zeros(1, 2), grammars.prepare_tensor_args([request]))
    assert masked.isfinite().nonzero().tolist() == [[0, 1]]
    assert "next must come one of the bytes b'b'" in request.state.error


def test_requests_are_forgotten_with_their_states() -> None:
    grammars = RequestGrammars(BYTES)
    request = state_of(logit_processor_kwargs={"grammar": grammar_of("lark")})
    grammars.prepare_tensor_args([request])
    assert len(grammars._positions) == 1
    grammars.prepare_tensor_args([])
    del request
    assert not grammars._positions


@pytest.mark.parametrize("ends", [250, [97, 98]])
def test_a_request_that_fails_ends_with_its_own_eos(ends: Any) -> None:
    grammars = RequestGrammars(BYTES)
    request = state_of(logit_processor_kwargs={"grammar": Grammar.from_lark("start: <|unknown|>")})
    request.state.eos_token_id = ends
    masked = grammars(torch.zeros(1, 257), grammars.prepare_tensor_args([request]))
    assert masked.isfinite().nonzero()[:, 1].tolist() == ([ends] if isinstance(ends, int) else ends)
    assert request.state.error is not None


def test_a_number_of_threads_is_checked_before_the_loop_begins(model: Any) -> None:
    with pytest.raises(ValueError, match="threads must be at least 1, got 0"):
        add_grammars(manager_of(model), BYTES, threads=0)
