"""Assisted generation with every candidate generator of `transformers`, and other forms of `generate`."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from support.effort import effort
from support.mixed_requests import KINDS, grammar_of, is_valid
from support.tiny_model import tiny_tokenizer

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from earleymask import RejectedTokenError, Vocabulary  # noqa: E402
from earleymask.integration.transformers import GrammarLogitsProcessor, model_vocabulary  # noqa: E402

torch.set_num_threads(1)

PROMPT = 'name "Ada" [ab,cd] 2019-07 left right {"name":"Bob","n":5}'
"""It has what some of the answers have, so that a lookup finds drafts in it."""
N_MOST = 60


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    made = tiny_tokenizer()
    made.pad_token = "<|eot|>"
    return made


@pytest.fixture(scope="module")
def other_tokenizer() -> Any:
    """A tokenizer with other ids and other merges."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    merges = [("n", "a"), ("m", "e"), ('"', ":"), ("A", "d"), ("2", "0"), ("1", "9")]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet(), reverse=True)
    ids = {token: at for at, token in enumerate([*alphabet, *["".join(merge) for merge in merges]])}
    made = Tokenizer(models.BPE(ids, merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(["<pad>", "</s>"])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=made, eos_token="</s>", pad_token="<pad>")


def sizes(tokenizer: Any, **more: Any) -> dict[str, Any]:
    """Return the configuration of a very small model."""
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "max_position_embeddings": 256,
        "initializer_range": 0.3,
        "bos_token_id": None,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        **more,
    }


def llama(tokenizer: Any, seed: int) -> Any:
    torch.manual_seed(seed)
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes(tokenizer))).eval()


def gemma(tokenizer: Any) -> tuple[Any, Any]:
    """Return a Gemma 4 and its assistant, which is given no processors."""
    layers = {"head_dim": 8, "sliding_window": 64, "layer_types": ["sliding_attention", "full_attention"]}
    text = sizes(tokenizer, **layers, hidden_size_per_layer_input=0, vocab_size_per_layer_input=0)
    torch.manual_seed(0)
    model = transformers.Gemma4ForCausalLM(transformers.Gemma4TextConfig(**text)).eval()
    shared = transformers.Gemma4TextConfig(**text, num_kv_shared_layers=2).to_dict()
    config = transformers.Gemma4AssistantConfig(text_config=shared, backbone_hidden_size=16)
    assistant = transformers.Gemma4AssistantForCausalLM(config).eval()
    assistant.generation_config.num_assistant_tokens = 4
    return model, assistant


def glm(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a GLM that has layers to draft two tokens. Their weights are made here; `generate` would read a file."""
    from transformers import modeling_layers

    experts = {"moe_intermediate_size": 16, "n_routed_experts": 4, "num_experts_per_tok": 2, "n_shared_experts": 1}
    config = transformers.Glm4MoeConfig(
        **sizes(tokenizer), **experts, head_dim=8, first_k_dense_replace=1, num_mtp_layers=2
    )
    torch.manual_seed(0)
    model = transformers.Glm4MoeForCausalLM(config).eval()
    layers = modeling_layers.MtpModel(model, 2).eval()
    for weights in layers.layers.parameters():
        torch.nn.init.normal_(weights, std=0.3)
    monkeypatch.setattr(modeling_layers.MtpModel, "from_pretrained", lambda *_, **__: layers)
    return model


def muse(tokenizer: Any) -> tuple[Any, Any]:
    """Return a model and an assistant that drafts a block of tokens at once (DFlash)."""
    layers = {"head_dim": 8, "sliding_window": 64}
    text = sizes(tokenizer, **layers, layer_types=["sliding_attention", "full_attention"])
    small = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    ends = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    torch.manual_seed(0)
    model = transformers.MuseGlimmerForConditionalGeneration(
        transformers.MuseGlimmerConfig(
            text_config=text, vision_config=small, out_hidden_size=16, projector_hidden_size=16, **ends
        )
    ).eval()
    block = {"block_size": 4, "mask_token_id": 3, "target_layer_ids": [0], "num_key_value_heads": 1}
    config = transformers.MuseGlimmerAssistantConfig(**small, **layers, **block, **ends, bos_token_id=1)
    return model, transformers.MuseGlimmerAssistantModel(config).eval()


class Counting(GrammarLogitsProcessor):
    """Counts the calls whose rows do not continue those of the call before: drafts that were taken back."""

    n_taken_back = 0
    n_before = 0

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        self.n_taken_back += input_ids.shape[1] <= self.n_before
        self.n_before = input_ids.shape[1]
        return super().__call__(input_ids, scores)


def write_all(model: Any, tokenizer: Any, do_sample: bool, assisted: bool, /, **options: Any) -> int:
    """Let a model write texts of each kind, check them, and return how many drafts were taken back."""
    vocabulary = model_vocabulary(model, tokenizer)
    n_taken_back = 0
    for seed, kind in itertools.product(range(effort(1, 20)), KINDS):
        prompt = tokenizer(PROMPT[seed:], return_tensors="pt")["input_ids"]
        given = {"assisted_prompt": prompt} if assisted else {}
        processor = Counting(grammar_of(kind), vocabulary, **given)
        torch.manual_seed(seed)
        output = model.generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            do_sample=do_sample,
            max_new_tokens=N_MOST,
            logits_processor=[processor],
            **options,
        )
        written = output[0, prompt.shape[1] :].tolist()
        if written[-1] in vocabulary.eos_token_ids:
            assert is_valid(kind, b"".join(map(vocabulary.token_bytes, written[:-1]))), (seed, kind, written)
        else:
            assert len(written) == N_MOST
        n_taken_back += processor.n_taken_back
    return n_taken_back


Drafts = tuple[Any, dict[str, Any], bool]
"""A model, the options of `generate`, and whether the processor must know the prompt."""


def drafts(name: str, tokenizer: Any, other_tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> Drafts:
    if name == "assistant":
        return llama(tokenizer, 0), {"assistant_model": llama(tokenizer, 1)}, False
    if name == "other tokenizer":
        options = {"assistant_model": llama(other_tokenizer, 2), "assistant_tokenizer": other_tokenizer}
        return llama(tokenizer, 0), {**options, "tokenizer": tokenizer}, True
    if name == "prompt lookup":
        return llama(tokenizer, 0), {"prompt_lookup_num_tokens": 4}, False
    if name == "early exit":
        return llama(tokenizer, 0), {"assistant_early_exit": 1}, False
    if name == "multi-token layers":
        return glm(tokenizer, monkeypatch), {"use_mtp": True}, False
    if name == "single position":
        model, assistant = gemma(tokenizer)
        return model, {"assistant_model": assistant}, True
    assert name == "dflash"
    model, assistant = muse(tokenizer)
    return model, {"assistant_model": assistant, "speculation_type": "dflash"}, False


@pytest.mark.parametrize("do_sample", [False, True])
@pytest.mark.parametrize(
    ("name", "needs"),
    [
        ("assistant", "AssistedCandidateGenerator"),
        ("other tokenizer", "UniversalSpeculativeDecodingGenerator"),
        ("prompt lookup", "PromptLookupCandidateGenerator"),
        ("early exit", "EarlyExitCandidateGenerator"),
        ("multi-token layers", "MTPCandidateGenerator"),
        ("single position", "SinglePositionMultiTokenCandidateGenerator"),
        ("dflash", "DFlashTokenCandidateGenerator"),
    ],
)
def test_every_candidate_generator(
    name: str, needs: str, do_sample: bool, tokenizer: Any, other_tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not hasattr(transformers.generation.candidate_generator, needs):
        pytest.skip(f"this transformers has no {needs}")
    model, options, assisted = drafts(name, tokenizer, other_tokenizer, monkeypatch)
    n_taken_back = write_all(model, tokenizer, do_sample, assisted, **options)
    assert n_taken_back > 0
    if not assisted:  # it does no harm
        write_all(model, tokenizer, do_sample, True, **options)


def test_no_other_candidate_generator_is_known() -> None:
    found = {
        name
        for name, value in vars(transformers.generation.candidate_generator).items()
        if isinstance(value, type) and issubclass(value, transformers.generation.CandidateGenerator)
    }
    assert found <= {
        "CandidateGenerator",
        "AssistedCandidateGenerator",
        "AssistedCandidateGeneratorDifferentTokenizers",  # when it takes the most probable token
        "UniversalSpeculativeDecodingGenerator",  # when it samples
        "PromptLookupCandidateGenerator",
        "EarlyExitCandidateGenerator",
        "MTPCandidateGenerator",
        "SinglePositionMultiTokenCandidateGenerator",
        "DFlashTokenCandidateGenerator",
    }


@pytest.mark.parametrize("name", ["other tokenizer", "single position"])
def test_drafts_that_know_no_grammar_need_the_prompt(
    name: str, tokenizer: Any, other_tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, options, _ = drafts(name, tokenizer, other_tokenizer, monkeypatch)
    with pytest.raises((RejectedTokenError, ValueError), match="give assisted_prompt"):
        write_all(model, tokenizer, False, False, **options)


def test_scores_of_another_width_are_no_new_generation() -> None:
    processor = GrammarLogitsProcessor('start: "a"', Vocabulary.bytes())
    processor(torch.tensor([[1, 2]]), torch.zeros(1, 300))
    with pytest.raises(ValueError, match=r"300. If an assistant .* give assisted_prompt; .* call reset"):
        processor(torch.tensor([[3, 4]]), torch.zeros(1, 310))
    processor.reset()
    processor(torch.tensor([[3, 4]]), torch.zeros(1, 310))


def test_a_token_that_was_not_drafted_is_an_error_all_the_same() -> None:
    processor = GrammarLogitsProcessor('start: "abcd"', Vocabulary.bytes(), assisted_prompt=[7, 8])
    scores = torch.zeros(1, 257)

    def allowed(*ids: int) -> list[int]:
        return torch.isfinite(processor(torch.tensor([[*ids]]), scores)[0]).nonzero().flatten().tolist()

    assert allowed(7, 8) == [ord("a")]
    assert allowed(7, 8, ord("a")) == [ord("b")]
    assert allowed(7, 8, ord("a"), ord("x")) == allowed(7, 8, ord("a"), ord("x"), 0) == [256]
    assert allowed(7, 8, ord("a")) == [ord("b")]
    for drafted in ([256], [256, 5], [256, 5, 5]):
        assert allowed(7, 8, ord("a"), *drafted) == [256]
    assert len(allowed(9, 8, ord("x"))) == len(allowed(7)) == 257
    assert allowed(7, 8, ord("a"), ord("b")) == [ord("c")]
    with pytest.raises(RejectedTokenError, match="token 120 at index 1"):
        processor(torch.tensor([[7, 8, ord("a"), ord("x"), 0]]), scores)
    with pytest.raises(ValueError, match="prompt_length or assisted_prompt, not both"):
        GrammarLogitsProcessor("start: ", Vocabulary.bytes(), assisted_prompt=[1], prompt_length=1)


# -- other forms of `generate` --------------------------------------------------------------------------------------


def test_rows_without_a_grammar(tokenizer: Any) -> None:
    model = llama(tokenizer, 0)
    vocabulary = model_vocabulary(model, tokenizer)
    prompts = torch.tensor([[5, 6], [7, 8], [9, 10]])
    options = {"attention_mask": torch.ones_like(prompts), "do_sample": False, "max_new_tokens": 30}
    grammars = [grammar_of("lark"), None, grammar_of("regex")]
    for more in ({}, {"num_beams": 3, "num_return_sequences": 2}):
        processor = GrammarLogitsProcessor(grammars, vocabulary)
        n = more.get("num_return_sequences", 1)
        found = model.generate(prompts, logits_processor=[processor], **options, **more)[:, 2:].tolist()
        free = model.generate(prompts, **options, **more)[:, 2:].tolist()
        assert [strip(row, tokenizer) for row in found[n : 2 * n]] == [strip(row, tokenizer) for row in free[n : 2 * n]]
        for row, kind in zip([*found[:n], *found[2 * n :]], ["lark"] * n + ["regex"] * n, strict=True):
            end = row.index(tokenizer.eos_token_id)
            assert is_valid(kind, b"".join(map(vocabulary.token_bytes, row[:end])))
    scores = torch.randn(3, len(tokenizer))
    processor = GrammarLogitsProcessor([None, grammars[0], None], vocabulary)
    masked = processor(prompts, scores)
    assert torch.equal(masked[::2], scores[::2]) and not torch.equal(masked[1], scores[1])
    assert torch.equal(GrammarLogitsProcessor([None], vocabulary)(prompts, scores), scores)
    # Ids that no vocabulary has matter in rows with a grammar only.
    processor = GrammarLogitsProcessor([None, grammars[0]], vocabulary, prompt_length=0)
    processor(torch.tensor([[-100], [tokenizer.convert_tokens_to_ids("[")]]), scores[:2])


def strip(row: list[int], tokenizer: Any) -> list[int]:
    """Return a row without the padding after its end."""
    return list(itertools.takewhile(lambda token_id: token_id != tokenizer.pad_token_id, row))


def test_pipelines(tokenizer: Any) -> None:
    model = llama(tokenizer, 0)
    pipe = transformers.pipeline("text-generation", model=model, tokenizer=tokenizer, device="cpu")
    vocabulary = model_vocabulary(model, tokenizer)
    options = {"max_new_tokens": N_MOST, "return_full_text": False}
    for kind in KINDS:
        processor = GrammarLogitsProcessor(grammar_of(kind), vocabulary)
        for answers in pipe(["one", "two and", "3"], logits_processor=[processor], do_sample=True, **options):
            assert is_valid(kind, answers[0]["generated_text"])
    # Batches of two prompts, each with its grammar.
    processor = GrammarLogitsProcessor([grammar_of("regex"), grammar_of("lark")], vocabulary)
    found = pipe(["one", "two and"] * 3, logits_processor=[processor], batch_size=2, **options)
    for at, answers in enumerate(found):
        assert is_valid(("regex", "lark")[at % 2], answers[0]["generated_text"])


def test_streamers(tokenizer: Any) -> None:
    model = llama(tokenizer, 0)
    prompt = tokenizer("Write: ", return_tensors="pt")["input_ids"]
    for kind in KINDS:
        processor = GrammarLogitsProcessor(grammar_of(kind), model_vocabulary(model, tokenizer))
        streamer = transformers.TextIteratorStreamer(tokenizer, skip_prompt=True, skip_special_tokens=True)
        model.generate(prompt, max_new_tokens=N_MOST, streamer=streamer, logits_processor=[processor])
        assert is_valid(kind, "".join(streamer))


def test_embeddings_in_place_of_ids(tokenizer: Any) -> None:
    """There the rows hold what was generated alone."""
    model = llama(tokenizer, 0)
    prompts = torch.tensor([[5, 6, 7], [8, 9, 10]])
    embeddings = model.get_input_embeddings()(prompts)
    vocabulary = model_vocabulary(model, tokenizer)
    for kind in KINDS:
        processor = GrammarLogitsProcessor(grammar_of(kind), vocabulary)
        output = model.generate(
            inputs_embeds=embeddings,
            attention_mask=torch.ones_like(prompts),
            max_new_tokens=N_MOST,
            logits_processor=[processor],
        )
        for row in output.tolist():
            end = row.index(tokenizer.eos_token_id)
            assert is_valid(kind, b"".join(map(vocabulary.token_bytes, row[:end])))


def t5(tokenizer: Any) -> Any:
    config = transformers.T5Config(
        vocab_size=len(tokenizer),
        d_model=16,
        d_kv=8,
        d_ff=16,
        num_layers=1,
        num_heads=2,
        decoder_start_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return transformers.T5ForConditionalGeneration(config).eval()


def bart(tokenizer: Any) -> Any:
    """A model whose answers begin with a token that is forced: here it is part of what is given to the decoder."""
    config = transformers.BartConfig(
        vocab_size=len(tokenizer),
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        init_std=0.3,
        decoder_start_token_id=tokenizer.eos_token_id,
        bos_token_id=0,
        forced_bos_token_id=0,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        forced_eos_token_id=None,
    )
    model = transformers.BartForConditionalGeneration(config).eval()
    model.generation_config.forced_bos_token_id = None
    return model


@pytest.mark.parametrize(("make", "started"), [(t5, []), (bart, [0])])
@pytest.mark.parametrize("options", [{}, {"num_beams": 3}])
def test_encoder_decoders(
    make: Callable[[Any], Any], started: list[int], options: dict[str, Any], tokenizer: Any
) -> None:
    torch.manual_seed(0)
    model = make(tokenizer)
    vocabulary = model_vocabulary(model, tokenizer)
    tokenizer.padding_side = "right"
    inputs = tokenizer(["one", "two and more"], return_tensors="pt", padding=True)
    if started:
        first = model.config.decoder_start_token_id
        options = {**options, "decoder_input_ids": torch.tensor([[first, *started]] * 2)}
    for kind in KINDS:
        processor = GrammarLogitsProcessor([grammar_of(kind), grammar_of("regex")], vocabulary)
        output = model.generate(
            input_ids=inputs["input_ids"],
            attention_mask=inputs["attention_mask"],
            do_sample=False,
            max_new_tokens=N_MOST,
            logits_processor=[processor],
            **options,
        )
        for row, each in zip(output[:, 1 + len(started) :].tolist(), [kind, "regex"], strict=True):
            end = row.index(tokenizer.eos_token_id)
            assert is_valid(each, b"".join(map(vocabulary.token_bytes, row[:end])))


def test_images(tokenizer: Any) -> None:
    """A model that reads an image with its prompt: the prompt's ids have a place for each patch."""
    image = len(tokenizer)
    text = {**sizes(tokenizer), "vocab_size": image + 1, "model_type": "llama"}
    vision = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.LlavaConfig(
        text_config=text,
        vision_config={**vision, "model_type": "clip_vision_model", "image_size": 8, "patch_size": 4},
        image_token_index=image,
        vision_feature_layer=-1,
    )
    torch.manual_seed(0)
    model = transformers.LlavaForConditionalGeneration(config).eval()
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    vocabulary = model_vocabulary(model, tokenizer)
    prompts = torch.tensor([[5, *[image] * 4, 6], [7, *[image] * 4, 8]])
    for kind in KINDS:
        processor = GrammarLogitsProcessor([grammar_of(kind), None], vocabulary)
        output = model.generate(
            input_ids=prompts,
            attention_mask=torch.ones_like(prompts),
            pixel_values=torch.randn(2, 3, 8, 8),
            max_new_tokens=N_MOST,
            logits_processor=[processor],
        )
        row = output[0, prompts.shape[1] :].tolist()
        assert is_valid(kind, b"".join(map(vocabulary.token_bytes, row[: row.index(tokenizer.eos_token_id)])))
