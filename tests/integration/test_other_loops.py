"""The adapters to outlines, mlx_lm, onnxruntime-genai and TensorRT-LLM, against records of their interfaces.

The programs beside this file run them (but TensorRT-LLM's) in the real packages.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from earleymask import BatchError, EmptyMaskError, Grammar, LimitError, RejectedTokenError, Vocabulary
from support.llama_record import TOKENS, Llama, record
from support.loop_records import RECORD, parameters
from support.mixed_requests import KINDS, grammar_of, is_valid
from support.tiny_model import make_model, tiny_tokenizer

BYTES = Vocabulary.bytes()
EOS = 256


def load(name: str, monkeypatch: pytest.MonkeyPatch, **modules: ModuleType) -> Any:
    """Import an adapter with these modules in place of the packages, which others must not find."""
    full = f"earleymask.integration.{name}"
    monkeypatch.delitem(sys.modules, full, raising=False)
    with monkeypatch.context() as patch:
        for module, made in modules.items():
            patch.setitem(sys.modules, module.replace("__", "."), made)
        return importlib.import_module(full)


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    """Forget the adapters that were imported with a record."""
    yield
    for name in ("llama_cpp", "mlx_lm", "outlines"):
        sys.modules.pop(f"earleymask.integration.{name}", None)


# -- mlx_lm ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def mlx(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The adapter, with numpy in place of `mlx.core`."""
    core: Any = ModuleType("mlx.core")
    core.array, core.where = np.array, np.where
    package: Any = ModuleType("mlx")
    package.core = core
    return load("mlx_lm", monkeypatch, mlx=package, mlx__core=core)


def mlx_step(processor: Any, ids: list[int], rng: np.random.Generator, width: int = 300) -> int:
    """Return the next token of a greedy `generate_step`: scores of shape (1, width)."""
    scores = processor(np.array(ids, np.uint32), rng.normal(size=(1, width)).astype(np.float16))
    assert scores.shape == (1, width) and scores.dtype == np.float16
    return int(scores.argmax())


def test_mlx_texts_are_valid(mlx: Any) -> None:
    for seed in range(10):
        for kind in KINDS:
            rng = np.random.default_rng(seed)
            processor = mlx.GrammarProcessor(grammar_of(kind), BYTES)
            ids = [5, 6, 7]
            while ids[-1] != EOS and len(ids) < 60:
                ids.append(mlx_step(processor, ids, rng))
            assert ids[-1] != EOS or is_valid(kind, bytes(ids[3:-1]))
            assert processor.error is None


def test_mlx_drafts_are_taken_back(mlx: Any) -> None:
    processor = mlx.GrammarProcessor('start: "ab" ("c" | "d")', BYTES)
    rng = np.random.default_rng(0)
    for text, expected in [(b"", b"a"), (b"a", b"b"), (b"", b"a"), (b"a", b"b"), (b"ab", b"cd"), (b"abc", [EOS])]:
        assert mlx_step(processor, [9, *text], rng) in expected


def test_mlx_errors(mlx: Any) -> None:
    rng = np.random.default_rng(0)
    for on_error in ("raise", "end"):
        processor = mlx.GrammarProcessor(grammar_of("limited"), BYTES, on_error=on_error)
        ids = [5]
        while len(ids) < 4:
            ids.append(mlx_step(processor, ids, rng))
        if on_error == "raise":
            with pytest.raises(LimitError):
                mlx_step(processor, ids, rng)
        else:
            assert mlx_step(processor, ids, rng) == mlx_step(processor, [*ids, EOS], rng) == EOS
            assert isinstance(processor.error, LimitError)
    processor = mlx.GrammarProcessor('start: "ab"', BYTES)
    mlx_step(processor, [5, 6], rng)
    with pytest.raises(ValueError, match="another request"):
        mlx_step(processor, [7, 8], rng)
    with pytest.raises(RejectedTokenError):
        mlx_step(processor, [5, 6, 7], rng)
    with pytest.raises(ValueError, match="on_error must be"):
        mlx.GrammarProcessor('start: "ab"', BYTES, on_error="stop")


def test_mlx_vocabulary(mlx: Any) -> None:
    inner = tiny_tokenizer()
    tokenizer = SimpleNamespace(_tokenizer=inner, eos_token_ids={260, 261})
    vocabulary = mlx.mlx_vocabulary(SimpleNamespace(args=SimpleNamespace(vocab_size=300)), tokenizer)
    assert vocabulary.size == 300 and vocabulary.eos_token_ids == (260, 261)
    assert mlx.mlx_vocabulary(SimpleNamespace(), tokenizer).size == len(inner)


# -- onnxruntime-genai ----------------------------------------------------------------------------------------------


class Generator:
    """Steps as onnxruntime-genai's does: the scores are of shape (rows, 1, width), rows that have ended are padded, and
    the end of the last one is not appended."""

    def __init__(self, prompts: list[list[int]], width: int = 300, seed: int = 0, n_most: int = 60) -> None:
        self.rows = [list(prompt) for prompt in prompts]
        self.rng = np.random.default_rng(seed)
        self.width = width
        self.ended = [False] * len(prompts)
        self.n_most = len(prompts[0]) + n_most
        self.scores: Any = None

    def token_count(self) -> int:
        return len(self.rows[0])

    def get_sequence(self, row: int) -> Any:
        return np.array(self.rows[row], np.int32)

    def get_logits(self) -> Any:
        if self.scores is None:
            self.scores = self.rng.normal(size=(len(self.rows), 1, self.width)).astype(np.float32)
        return self.scores

    def set_logits(self, scores: Any) -> None:
        assert scores.shape == self.scores.shape and scores.dtype == np.float32
        self.scores = scores

    def is_done(self) -> bool:
        return all(self.ended) or self.token_count() >= self.n_most

    def rewind_to(self, n: int) -> None:
        self.rows = [row[:n] for row in self.rows]
        self.scores = None

    def generate_next_token(self) -> None:
        best = self.get_logits()[:, 0].argmax(axis=1)
        chosen = [EOS if ended else int(token) for ended, token in zip(self.ended, best, strict=True)]
        self.ended = [ended or token == EOS for ended, token in zip(self.ended, chosen, strict=True)]
        if not all(self.ended):
            self.rows = [[*row, token] for row, token in zip(self.rows, chosen, strict=True)]
        self.scores = None

    def text(self, row: int, n_prompt: int) -> bytes:
        written = self.rows[row][n_prompt:]
        return bytes(written[: written.index(EOS)] if EOS in written else written)


@pytest.fixture(scope="module")
def genai() -> Any:
    return importlib.import_module("earleymask.integration.onnxruntime_genai")


def test_genai_texts_are_valid(genai: Any) -> None:
    for seed in range(10):
        kinds = [*KINDS, "limited", "free"]
        generator = Generator([[5, 6]] * 6, seed=seed)
        grammars = [None if kind == "free" else grammar_of(kind) for kind in kinds]
        masks = genai.GrammarMasks(generator, grammars, BYTES, on_error="end")
        while not generator.is_done():
            masks.apply()
            generator.generate_next_token()
        for row, kind in enumerate(kinds):
            if kind in KINDS and generator.ended[row]:
                assert masks.errors[row] is None and is_valid(kind, generator.text(row, 2))
            elif kind == "limited":
                assert isinstance(masks.errors[row], LimitError) and generator.text(row, 2) == b"abc"
        assert masks.errors[5] is None


def test_genai_steps_are_taken_back(genai: Any) -> None:
    generator = Generator([[5, 6, 7]], seed=3)
    masks = genai.GrammarMasks(generator, Grammar.from_regex("[ab]{10}"), BYTES)
    for step in range(40):
        masks.apply()
        generator.generate_next_token()
        if step % 4 == 3 and not generator.ended[0]:
            generator.rewind_to(generator.token_count() - 2)
    assert generator.ended[0] and len(generator.text(0, 3)) == 10


def test_genai_errors(genai: Any) -> None:
    generator = Generator([[5], [6]])
    with pytest.raises(ValueError, match="2 rows, and there are 1 grammars"):
        genai.GrammarMasks(generator, 'start: "a"', BYTES).apply()
    with pytest.raises(ValueError, match="on_error must be"):
        genai.GrammarMasks(generator, 'start: "a"', BYTES, on_error="stop")
    generator = Generator([[5]], width=100)  # no score of "x"
    with pytest.raises(EmptyMaskError, match="row 0, after 0 tokens"):
        genai.GrammarMasks(generator, 'start: "x"', BYTES).apply()
    narrow = Vocabulary.from_tokens([b"a", b"b", b""], eos_token_id=2)
    generator = Generator([[0], [0]], width=3)
    generator.get_logits()[:, 0, 1] = -np.inf
    masks = genai.GrammarMasks(generator, ['start: "b"', 'start: "a"'], narrow, on_error="end")
    masks.apply()
    assert isinstance(masks.errors[0], EmptyMaskError) and masks.errors[1] is None
    assert np.isfinite(generator.scores[:, 0]).tolist() == [[False, False, True], [True, False, False]]
    generator = Generator([[5]])
    masks = genai.GrammarMasks(generator, 'start: "abc"', BYTES)
    masks.apply()
    generator.rows[0].append(ord("x"))
    with pytest.raises(RejectedTokenError, match="token 120"):
        masks.apply()


def test_genai_texts_are_finished_within_their_tokens(genai: Any) -> None:
    for n in (3, 6):
        generator = Generator([[5]], n_most=n)
        masks = genai.GrammarMasks(generator, Grammar.from_regex("[a-z]{2,}"), BYTES, max_tokens=n)
        while not generator.is_done():
            masks.apply()
            generator.generate_next_token()
        assert generator.ended[0] and len(generator.text(0, 1)) < n


def test_genai_vocabulary(genai: Any, tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    tokenizer = tiny_tokenizer()
    tokenizer.backend_tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "genai_config.json").write_text(json.dumps({"model": {"vocab_size": 280, "eos_token_id": [260, 261]}}))
    vocabulary = genai.genai_vocabulary(tmp_path)
    assert vocabulary.size == 280 and vocabulary.eos_token_ids == (260, 261)
    assert vocabulary.token_bytes(256) == b"in"


# -- outlines -------------------------------------------------------------------------------------------------------


class SteerableGenerator:
    """As in outlines 1.3.3."""

    model: Any
    logits_processor: Any

    def __call__(self, prompt: Any, **options: Any) -> Any:
        self.logits_processor.reset()
        return self.model.generate(prompt, self.logits_processor, **options)

    def batch(self, prompts: list[Any], **options: Any) -> list[Any]:
        self.logits_processor.reset()
        return self.model.generate_batch(prompts, self.logits_processor, **options)

    def stream(self, prompt: Any, **options: Any) -> Iterator[Any]:
        self.logits_processor.reset()
        return self.model.generate_stream(prompt, self.logits_processor, **options)


def test_the_stand_ins_are_as_recorded() -> None:
    stands: dict[str, Any] = {"SteerableGenerator": SteerableGenerator, "Generator": Generator}
    for package in ("outlines", "onnxruntime_genai"):
        for path, recorded in RECORD[package].items():
            owner, _, name = path.partition(":")[2].partition(".")
            if not name or name == "append_tokens":  # not used by the adapters
                continue
            assert recorded is None or parameters(getattr(stands[owner], name)) == recorded, path
            assert callable(getattr(stands[owner], name))


@pytest.fixture
def outlines(monkeypatch: pytest.MonkeyPatch) -> Any:
    module: Any = ModuleType("outlines.generator")
    module.SteerableGenerator = SteerableGenerator
    package = ModuleType("outlines")
    monkeypatch.setitem(sys.modules, "llama_cpp", record(TOKENS, 1))
    return load("outlines", monkeypatch, outlines=package, outlines__generator=module)


class OutlinesLlama:
    """A model of outlines for llama-cpp-python. Prompts are numbers: the seeds of the scores."""

    tensor_library_name = "numpy"

    def __init__(self) -> None:
        self.model = Llama()

    def generate(self, prompt: int, processor: Any, n_most: int = 60) -> str:
        written = self.model([5, 6], [processor], n_most, seed=prompt)
        return b"".join([TOKENS[token].piece for token in written]).decode("utf-8", "replace")

    def generate_stream(self, prompt: int, processor: Any) -> Iterator[str]:
        yield from self.generate(prompt, processor)


def test_outlines_with_llama_cpp(outlines: Any) -> None:
    model = OutlinesLlama()
    vocabulary = outlines.outlines_vocabulary(model)
    for kind in KINDS:
        generate = outlines.GrammarGenerator(model, grammar_of(kind), vocabulary)
        for seed in range(5):
            for text in (generate(seed, n_most=200), "".join(generate.stream(seed))):
                assert len(text) >= 50 or is_valid(kind, text)
    limited = outlines.GrammarGenerator(model, grammar_of("limited"), vocabulary)
    for seed in range(3):
        with pytest.raises(LimitError):
            limited(seed)
        with pytest.raises(LimitError):
            list(limited.stream(seed))
    assert model.model.n_lost == 0
    # As a processor of outlines' own generator, which looks at nothing afterwards: an error ends the text.
    generator = SteerableGenerator()
    generator.model, generator.logits_processor = model, outlines.GrammarProcessor(model, grammar_of("limited"))
    assert generator(1) == generator(2) == "abc"
    with pytest.raises(LimitError):
        generator.logits_processor.finish()
    # What the request itself raises is not hidden by what the processor has.
    with pytest.raises(TypeError):
        limited(1, unknown=True)


def test_outlines_with_transformers(outlines: Any) -> None:
    torch = pytest.importorskip("torch")
    tokenizer = tiny_tokenizer()
    eos = tokenizer.eos_token_id
    llama = make_model(
        len(tokenizer), num_hidden_layers=1, max_position_embeddings=2048, eos_token_id=eos, pad_token_id=eos
    )

    def write(prompts: list[int], processor: Any) -> list[str]:
        ids = torch.tensor([[prompt, 6] for prompt in prompts])
        options = {"do_sample": True, "max_new_tokens": 60, "attention_mask": torch.ones_like(ids)}
        output = llama.generate(ids, logits_processor=[processor], **options)
        return tokenizer.batch_decode(output[:, 2:], skip_special_tokens=True)  # type: ignore[no-any-return]

    model = SimpleNamespace(
        tensor_library_name="torch",
        model=llama,
        tokenizer=SimpleNamespace(tokenizer=tokenizer),
        generate=lambda prompt, processor: write([prompt], processor)[0],
        generate_batch=write,
    )
    for kind in KINDS:
        generate = outlines.GrammarGenerator(model, grammar_of(kind))
        for text in [generate(5), generate(6), *generate.batch([7, 8, 9])]:
            assert is_valid(kind, text)
    with pytest.raises(BatchError, match="LimitError"):
        outlines.GrammarGenerator(model, grammar_of("limited"))(5)


def test_outlines_models_that_cannot_be_steered_are_refused(outlines: Any) -> None:
    with pytest.raises(TypeError, match="SimpleNamespace cannot be constrained"):
        outlines.outlines_vocabulary(SimpleNamespace())


# -- TensorRT-LLM ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1, 1, 300), (300,)])
def test_tensorrt_llm(shape: tuple[int, ...]) -> None:
    """The recorded call: scores changed in place, the ids of each beam with the prompt, a stream or None."""
    torch = pytest.importorskip("torch")
    from earleymask.integration.tensorrt_llm import GrammarProcessor

    generator = torch.Generator().manual_seed(0)

    def step(processor: Any, ids: list[int]) -> int:
        scores = torch.randn(shape, generator=generator)
        processor(1, scores, [ids], None, None)
        return int(scores.argmax())

    for kind in KINDS:
        processor, ids = GrammarProcessor(grammar_of(kind), BYTES), [5, 6]
        while ids[-1] != EOS and len(ids) < 60:
            ids.append(step(processor, ids))
        assert ids[-1] != EOS or is_valid(kind, bytes(ids[2:-1]))
        assert processor.error is None
    processor, ids = GrammarProcessor(grammar_of("limited"), BYTES), [5, 6]
    while ids[-1] != EOS:
        ids.append(step(processor, ids))
    assert bytes(ids[2:-1]) == b"abc" and isinstance(processor.error, LimitError)
    processor = GrammarProcessor('start: "a"', BYTES)
    scores = torch.zeros(1, 2, 300)
    processor(1, scores, [[5], [5]], None, None)
    assert scores.isfinite().nonzero()[:, 2].tolist() == [EOS, EOS] and "2 beams" in str(processor.error)


def test_tensorrt_llm_errors() -> None:
    torch = pytest.importorskip("torch")
    from earleymask.integration.tensorrt_llm import GrammarProcessor

    processor = GrammarProcessor('start: "a"', BYTES)
    processor(1, torch.zeros(1, 300), [[5]], None, None)
    scores = torch.zeros(1, 300)
    processor(2, scores, [[5]], None, None)
    assert scores.isfinite().nonzero()[:, 1].tolist() == [EOS] and "GrammarProcessor of request 1" in str(
        processor.error
    )

    processor = GrammarProcessor('start: "a"', BYTES)
    scores = torch.zeros(1, 300)
    processor(1, scores, [], None, None)
    assert scores.isfinite().nonzero()[:, 1].tolist() == [EOS] and "0 beams" in str(processor.error)

    processor = GrammarProcessor("start: <[260]>", Vocabulary.from_tokens([*[b""] * 260, b"a", b""], eos_token_id=5))
    scores = torch.zeros(1, 100)
    processor(1, scores, [[5]], None, None)
    assert scores.isfinite().nonzero()[:, 1].tolist() == [5] and isinstance(processor.error, EmptyMaskError)

    # All bits of the mask are set: it says nothing about ids beyond the vocabulary.
    full = Vocabulary.from_tokens([*[bytes([65 + i]) for i in range(31)], b""], eos_token_id=31)
    scores = torch.zeros(1, 40)
    GrammarProcessor("start: /.*/", full)(1, scores, [[5]], None, None)
    assert scores.isfinite().nonzero()[:, 1].tolist() == list(range(32))


def test_mlx_scores_that_are_too_narrow(mlx: Any) -> None:
    vocabulary = Vocabulary.from_tokens([*[b""] * 260, b"a", b""], eos_token_id=5)
    rng = np.random.default_rng(0)
    with pytest.raises(EmptyMaskError, match=r"after 0 tokens.*beyond the scores"):
        mlx_step(mlx.GrammarProcessor('start: "a"', vocabulary), [5], rng, width=100)
    processor = mlx.GrammarProcessor('start: "a"', vocabulary, on_error="end")
    assert mlx_step(processor, [5], rng, width=100) == 5 and isinstance(processor.error, EmptyMaskError)


def test_what_failed_in_a_draft_is_no_error_of_the_text() -> None:
    from earleymask.integration.following import Follower

    follower = Follower(grammar_of("limited"), BYTES)
    assert follower.row_or_end(np.array([5])).any() and follower.error is None
    follower.row_or_end(np.array([5, *b"abc"]))
    assert isinstance(follower.error, LimitError)
    follower.row_or_end(np.array([5, *b"abc", EOS]))
    assert isinstance(follower.error, LimitError)
    row = follower.row_or_end(np.array([5, *b"ab"]))
    assert follower.error is None and row[ord("c") // 32] >> (ord("c") % 32) & 1
    follower.end(EmptyMaskError("no score at this place"), here=True)
    follower.row_or_end(np.array([5, *b"ab"]))
    assert isinstance(follower.error, EmptyMaskError)
    follower.row_or_end(np.array([5, *b"a"]))
    assert follower.error is None
    follower.end(ValueError("of the caller"))
    follower.row_or_end(np.array([5]))
    assert isinstance(follower.error, ValueError), "taking tokens back does not mend what the caller has found"
