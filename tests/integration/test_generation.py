"""The generation loop equals a plain one: a pass over the whole text, without a cache, before each choice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from support import vocabularies
from support.tiny_model import make_model, tiny_tokenizer

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from earleymask import EmptyMaskError, Grammar, Matcher, Vocabulary, VocabularyError  # noqa: E402
from earleymask.integration.transformers import generate  # noqa: E402

torch.set_num_threads(1)

EOS = 256
PROMPTS = [[7], [1, 2, 3, 4, 5], [200, 9]]
SCHEMA = {
    "type": "object",
    "properties": {"name": {"enum": ["first", "firm", "other"]}, "on": {"type": "boolean"}, "kind": {"const": "abc"}},
    "required": ["name", "on", "kind"],
    "additionalProperties": False,
}
GRAMMAR = Grammar.from_json_schema(SCHEMA, whitespace="compact")


@pytest.fixture(scope="module")
def model() -> Any:
    return make_model(257)


def plain(
    model: Any, vocabulary: Vocabulary, prompt: list[int], grammar: Grammar, n_most: int, forced: bool
) -> tuple[list[int], int]:
    """Return what the most probable tokens spell, and how many of them needed no pass."""
    matcher = Matcher(grammar, vocabulary)
    n_free = 0
    while matcher.n_tokens < n_most and not matcher.is_finished():
        found = matcher.forced_tokens() if forced else []
        (allowed,) = np.nonzero(matcher.mask())
        found = (found or (allowed.tolist() if len(allowed) == 1 else []))[: n_most - matcher.n_tokens]
        n_free += len(found)
        if not found:
            with torch.inference_mode():
                scores = model(input_ids=torch.tensor([prompt + matcher.tokens])).logits[0, -1]
            found = [int(allowed[int(scores[torch.from_numpy(allowed)].argmax())])]
        assert matcher.accept_tokens(found) == len(found)
    return matcher.tokens, n_free


@pytest.mark.parametrize("forced", [True, False])
def test_rows_of_a_batch(model: Any, forced: bool) -> None:
    bytes_ = Vocabulary.bytes()
    found = generate(model, bytes_, PROMPTS, GRAMMAR, forced=forced)
    expected = [plain(model, bytes_, prompt, GRAMMAR, 256, forced) for prompt in PROMPTS]
    assert found.tokens == [tokens for tokens, _ in expected]
    assert found.n_forced == [n for _, n in expected] and min(found.n_forced) > 20
    assert found.texts == [bytes(tokens[:-1]) for tokens, _ in expected] and found.is_finished == [True] * 3
    assert found.n_passes == max(len(tokens) - n for tokens, n in expected)


def test_grammars_of_rows_and_padding(model: Any) -> None:
    grammars = [GRAMMAR, Grammar.from_choices(["yes", "no", "yet"]), Grammar.from_regex("[ab]{3}c{5}[de]")]
    ids = torch.tensor([[0, 0, 0, 0, 7], [1, 2, 3, 4, 5], [0, 0, 0, 200, 9]])
    mask = torch.tensor([[0, 0, 0, 0, 1], [1, 1, 1, 1, 1], [0, 0, 0, 1, 1]])
    found = generate(model, Vocabulary.bytes(), ids, grammars, attention_mask=mask, max_new_tokens=9)
    for row, (prompt, grammar) in enumerate(zip(PROMPTS, grammars, strict=True)):
        assert (found.tokens[row], found.n_forced[row]) == plain(model, Vocabulary.bytes(), prompt, grammar, 9, True)
    assert found.is_finished == [False, True, False] and len(found.tokens[0]) == len(found.tokens[2]) == 9


def test_rows_without_a_grammar(model: Any) -> None:
    grammars = [None, GRAMMAR, None]
    found = generate(model, Vocabulary.bytes(), PROMPTS, grammars, max_new_tokens=30)
    assert (found.tokens[1], found.n_forced[1]) == plain(model, Vocabulary.bytes(), PROMPTS[1], GRAMMAR, 30, True)
    for row in (0, 2):
        free = model.generate(torch.tensor([PROMPTS[row]]), do_sample=False, max_new_tokens=30, pad_token_id=0)
        assert found.tokens[row] == free[0, len(PROMPTS[row]) :].tolist() and found.n_forced[row] == 0
        assert found.is_finished[row] == (found.tokens[row][-1] == EOS)
        assert found.texts[row] == bytes([token for token in found.tokens[row] if token != EOS])
    wide = make_model(300, eos_token_id=EOS)
    with torch.no_grad():
        wide.lm_head.weight[270] = 100 * wide.lm_head.weight[:257].abs().amax(0)  # may be likelier than all others
    found = generate(wide, Vocabulary.bytes(), PROMPTS, [None] * 3, max_new_tokens=5)
    for prompt, tokens in zip(PROMPTS, found.tokens, strict=True):
        free = wide.generate(torch.tensor([prompt]), do_sample=False, max_new_tokens=5, pad_token_id=0)
        assert tokens == free[0, len(prompt) :].tolist()
    assert any([270 in tokens for tokens in found.tokens])
    # A free row that ends does not hold up the others.
    enders = make_model(257, seed=5)
    with torch.no_grad():
        enders.lm_head.weight[EOS] *= 20
    rows = generate(enders, Vocabulary.bytes(), [[each] for each in range(1, 30)], [None] * 29, max_new_tokens=9)
    assert 0 < sum(rows.is_finished) < 29


def test_a_real_vocabulary() -> None:
    vocabulary = vocabularies.load("tekken")
    model = make_model(vocabulary.size)
    grammar = Grammar.from_json_schema(SCHEMA, whitespace="spaced")
    found = generate(model, vocabulary, PROMPTS[:2], grammar, max_new_tokens=60)
    for row in range(2):
        assert (found.tokens[row], found.n_forced[row]) == plain(model, vocabulary, PROMPTS[row], grammar, 60, True)
    assert min(found.n_forced) > 0


@pytest.mark.parametrize(
    ("kind", "config"),
    [("Mistral", {"sliding_window": 6}), ("Qwen2", {}), ("Gemma2", {"sliding_window": 6, "head_dim": 8})],
)
def test_other_models(kind: str, config: dict[str, Any]) -> None:
    # Windows count columns, so rows of such models do not share a cache.
    model = make_model(257, kind=kind, **config)
    found = generate(model, Vocabulary.bytes(), PROMPTS, GRAMMAR)
    expected = [plain(model, Vocabulary.bytes(), prompt, GRAMMAR, 256, True) for prompt in PROMPTS]
    assert found.tokens == [tokens for tokens, _ in expected]
    passes = [len(tokens) - n for tokens, n in expected]
    assert found.n_passes == (sum(passes) if config else max(passes))


def test_nothing_is_left_to_the_model(model: Any) -> None:
    found = generate(model, Vocabulary.bytes(), [[1], [2]], 'start: "abc"')
    assert (found.texts, found.n_passes, found.n_forced) == ([b"abc"] * 2, 0, [4, 4])


def test_samples(model: Any) -> None:
    def sampled(seed: int, temperature: float) -> list[bytes]:
        generator = torch.Generator().manual_seed(seed)
        grammar = Grammar.from_regex("[a-z]{20}")
        return generate(
            model,
            Vocabulary.bytes(),
            PROMPTS,
            grammar,
            do_sample=True,
            temperature=temperature,
            generator=generator,
        ).texts

    assert sampled(1, 1.0) == sampled(1, 1.0) != sampled(2, 1.0)
    greedy = generate(model, Vocabulary.bytes(), PROMPTS, Grammar.from_regex("[a-z]{20}")).texts
    assert sampled(1, 1e-4) == greedy


def test_a_tokenizer_in_place_of_a_vocabulary() -> None:
    tokenizer = tiny_tokenizer()
    model = make_model(len(tokenizer), eos_token_id=tokenizer.eos_token_id)
    found = generate(model, tokenizer, [[1]], 'start: "[a,b" ("in" | "er") "]"')
    assert found.texts[0] in (b"[a,bin]", b"[a,ber]")
    # The tokenizer splits at punctuation; "b" may join what follows.
    assert found.tokens[0][:3] == tokenizer.encode("[a,", add_special_tokens=False)


def test_the_bar(model: Any, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    generate(model, Vocabulary.bytes(), [[1]], GRAMMAR, max_new_tokens=12, progress=True)
    assert "12/12" in capsys.readouterr().err


def test_logits_wider_than_the_vocabulary() -> None:
    # All bits of the mask are set: it says nothing about ids beyond the vocabulary.
    vocabulary = Vocabulary.from_tokens([bytes([65 + i]) for i in range(31)] + [b""], eos_token_id=31)
    wide = make_model(64, eos_token_id=31)
    for do_sample in (False, True):
        generator = torch.Generator().manual_seed(3)
        found = generate(wide, vocabulary, PROMPTS[:2], "start: /.*/", do_sample=do_sample, generator=generator)
        assert max(map(max, found.tokens)) < 32


BYTES = Vocabulary.bytes()
NARROW = Vocabulary.from_tokens([b"a", b"b", b""], eos_token_id=2)
UNKNOWN = "start: <[257]> | <[258]>"
# 257 ids that the model knows, and some that it does not.
WIDER = Vocabulary.from_tokens(
    [*map(BYTES.token_bytes, range(257)), b"xyz", b"xyw", b"longer"], eos_token_id=256, encode=lambda _: [259]
)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda m: generate(m, BYTES, [[1], []], GRAMMAR), ValueError, "prompt 1 is empty"),
        (lambda m: generate(m, BYTES, [[1]] * 3, [GRAMMAR] * 2), ValueError, "2 grammars for 3 prompts"),
        (lambda m: generate(m, BYTES, [[1]], GRAMMAR, temperature=0), ValueError, "temperature 0"),
        (lambda m: generate(m, BYTES, [[1]], GRAMMAR, temperature=float("nan")), ValueError, "temperature nan"),
        (lambda m: generate(m, BYTES, [[1]], GRAMMAR, max_new_tokens=-1), ValueError, "max_new_tokens is -1"),
        (lambda m: generate(m, BYTES, torch.ones(3), GRAMMAR), ValueError, r"both must be \(rows, length\)"),
        (lambda m: generate(m, NARROW, [[1]], 'start: "a"', forced=True), VocabularyError, "needs a vocabulary with"),
        (lambda m: generate(m, NARROW, [[1]], 'start: "c"'), EmptyMaskError, "no token that the grammar allows"),
        (lambda m: generate(m, WIDER, [[1]], UNKNOWN), EmptyMaskError, "0 tokens.*beyond the scores"),
        (lambda m: generate(m, WIDER, [[1]], UNKNOWN, do_sample=True), EmptyMaskError, "0 tokens.*beyond the scores"),
        (lambda m: generate(m, WIDER, [[1]], "start: <[257]>"), EmptyMaskError, "0 tokens.*beyond the scores"),
        (lambda m: generate(m, WIDER, [[1]], 'start: "longer"'), EmptyMaskError, "0 tokens.*beyond the scores"),
    ],
)  # fmt: skip
def test_errors(model: Any, call: Callable[[Any], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(model)


def test_without_encode_only_single_tokens_are_free(model: Any) -> None:
    found = generate(model, NARROW, [[1]], 'start: "a" ("a" | "b") "b"')
    assert found.tokens[0][0] == 0 and found.tokens[0][2:] == [1, 2] and found.n_forced == [3]
