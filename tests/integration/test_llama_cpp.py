"""The adapter to llama.cpp, against a record of llama-cpp-python 0.3.36: names, values, and what it does with errors.

`python -m tests.integration.llama_cpp` runs the adapter in the real package.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from earleymask import EarleymaskError, EmptyMaskError, LimitError, RejectedTokenError, Vocabulary, VocabularyError
from support.llama_record import END, TOKENS, Llama, record
from support.mixed_requests import KINDS, grammar_of, is_valid


@pytest.fixture
def kind() -> int:
    return 1


@pytest.fixture
def adapter(kind: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    name = "earleymask.integration.llama_cpp"
    monkeypatch.setitem(sys.modules, "llama_cpp", record(TOKENS, kind))
    monkeypatch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module(name)
    sys.modules.pop(name, None)


@pytest.fixture
def llm() -> Llama:
    return Llama()


@pytest.fixture
def vocabulary(adapter: Any, llm: Llama) -> Vocabulary:
    read: Vocabulary = adapter.llama_vocabulary(llm)
    return read


def test_the_vocabulary_has_every_type_of_token(vocabulary: Vocabulary) -> None:
    assert vocabulary.size == len(TOKENS)
    assert vocabulary.eos_token_ids == (1, 260)
    assert vocabulary.special_tokens == {"<unk>": 0, "</s>": 1, "<|im_end|>": 260, "<|tool|>": 261}
    assert vocabulary.special_token_ids == {0, 1, 260, 261, 262}
    for token_id, token in enumerate(TOKENS):
        assert vocabulary.token_bytes(token_id) == (b"" if token.attribute & 2 else token.piece)
    assert vocabulary.missing_bytes == b""


@pytest.mark.parametrize("kind", [0, 3, 7])
def test_vocabularies_whose_tokens_have_no_bytes_of_their_own_are_refused(adapter: Any, llm: Llama, kind: int) -> None:
    with pytest.raises(VocabularyError, match=f"vocabularies of type {kind}"):
        adapter.llama_vocabulary(llm)


def test_finished_texts_are_valid(adapter: Any, llm: Llama, vocabulary: Vocabulary) -> None:
    for seed in range(20):
        for kind in KINDS:
            with adapter.GrammarProcessor(llm, grammar_of(kind), vocabulary) as processor:
                written = llm([5, 6, 7], [processor], seed=seed)
            if TOKENS[written[-1]].is_end:
                assert is_valid(kind, b"".join(map(vocabulary.token_bytes, written[:-1])))
            else:
                assert len(written) == 60
    assert llm.n_lost == 0


def test_texts_are_finished_within_their_tokens(adapter: Any, llm: Llama, vocabulary: Vocabulary) -> None:
    for n in (2, 3, 10):
        with adapter.GrammarProcessor(llm, "start: /[ab]+/", vocabulary, max_tokens=n) as processor:
            written = llm([5], [processor], n_most=n)
        assert len(written) <= n and TOKENS[written[-1]].is_end


def only(token: int) -> Any:
    """Return another processor, which leaves no token but one after the prompt."""

    def process(ids: Any, scores: Any) -> Any:
        return np.where(np.arange(len(scores)) == token, 1.0, -np.inf) if len(ids) == 1 else scores

    return process


@pytest.fixture
def write(adapter: Any, llm: Llama, vocabulary: Vocabulary) -> Any:
    """Make a request, and return its texts even if it fails."""

    def written(grammar: Any, *, before: Any = (), after: Any = (), vocabulary: Any = vocabulary, n: int = 1) -> Any:
        texts: list[list[int]] = []
        try:
            with adapter.GrammarProcessor(llm, grammar, vocabulary) as processor:
                for number in range(n):
                    texts.append(llm([5 + number], [*before, processor, *after]))
        except (EarleymaskError, RuntimeError, ValueError) as error:
            return texts, error
        return texts, None

    return written


def test_an_error_ends_the_text_and_is_raised_afterwards(llm: Llama, write: Any) -> None:
    (text,), error = write(grammar_of("limited"))
    assert bytes([token - 2 for token in text[:-1]]) == b"abc" and TOKENS[text[-1]].is_end
    assert isinstance(error, LimitError)
    (text,), error = write('start: "b"', vocabulary=Vocabulary.from_tokens([b"a", b""], eos_token_id=END))
    assert text == [END] and isinstance(error, EmptyMaskError)
    (text,), error = write('start: "b"', before=[only(2 + ord("x"))])
    assert TOKENS[text[0]].is_end and isinstance(error, EmptyMaskError) and "after 0 tokens" in str(error)
    (text,), error = write('start: "b"')
    assert text[0] == 2 + ord("b") and error is None
    assert llm.n_lost == 0


def test_a_token_that_was_not_allowed_ends_the_text(write: Any) -> None:
    (text,), error = write('start: "abc"', after=[only(2 + ord("x"))])
    assert text[0] == 2 + ord("x") and TOKENS[text[1]].is_end and isinstance(error, RejectedTokenError)
    assert "token 122 at index 0" in str(error) and error.explanation is not None


def test_misuse_is_never_a_text_without_a_constraint(
    adapter: Any, llm: Llama, vocabulary: Vocabulary, write: Any
) -> None:
    assert "has not called the processor" in str(write('start: "abc"', n=0)[1])
    processor = adapter.GrammarProcessor(llm, 'start: "abc"', vocabulary)
    assert TOKENS[llm([5], [processor])[0]].is_end
    assert "within its `with` statement" in str(processor.error)
    with pytest.raises(ValueError, match="serves one request"):
        processor.__enter__()
    texts, error = write('start: "abc"', n=2)
    assert [len(text) for text in texts] == [4, 1] and "make another processor for another request" in str(error)
    with pytest.raises(KeyError), adapter.GrammarProcessor(llm, 'start: "abc"', vocabulary):
        raise KeyError  # of the request: nothing hides it
    llm.draft_model = lambda ids: ids  # type: ignore[assignment]
    with pytest.raises(ValueError, match="draft_model"):
        adapter.GrammarProcessor(llm, 'start: "abc"', vocabulary)


def test_the_record_is_that_of_the_package() -> None:
    """Only where llama-cpp-python is installed."""
    package = pytest.importorskip("llama_cpp")
    recorded = record(TOKENS, 1)
    for name, value in vars(recorded).items():
        if name.startswith("LLAMA"):
            assert getattr(package, name) == value, name
        elif name.startswith("llama"):
            assert callable(getattr(package, name)), name


def test_tokens_that_are_taken_back() -> None:
    """No loop of llama.cpp does so; others that share this do."""
    from earleymask.integration.following import Follower

    follower = Follower('start: "ab" ("c" | "d")', Vocabulary.bytes())

    def allowed(text: bytes) -> list[int]:
        row = follower.row(np.array([7, 8, *text]))
        return np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()

    assert allowed(b"") == [ord("a")]
    assert allowed(b"abc") == [256]
    assert allowed(b"a") == [ord("b")]
    assert allowed(b"abd") == [256]
    assert allowed(b"") == [ord("a")]
    assert follower.n_calls == 5


def test_an_interrupt_within_the_callback_is_not_lost(
    adapter: Any, llm: Llama, vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(adapter, "apply_bitmask", interrupt)
    processor = adapter.GrammarProcessor(llm, 'start: "abc"', vocabulary).__enter__()
    (token,) = llm([5], [processor])
    assert TOKENS[token].is_end and llm.n_lost == 0
    with pytest.raises(KeyboardInterrupt):
        processor.__exit__(None, None, None)
