"""A byte-level tokenizer and models of `transformers`, made here instead of downloaded."""

from typing import Any

import pytest


def tiny_tokenizer() -> Any:
    """Make a `PreTrainedTokenizerFast` of all single bytes, four merges, `</s>` as EOS, and `<|eot|>`."""
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    from tokenizers import decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    ids = {token: at for at, token in enumerate([*alphabet, "in", "er", "[a", ",b"])}
    tokenizer = tokenizers.Tokenizer(models.BPE(ids, [("i", "n"), ("e", "r"), ("[", "a"), (",", "b")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["</s>", "<|eot|>"])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>")


def make_model(size: int, seed: int = 0, kind: str = "Llama", **config: Any) -> Any:
    """Make a random model with `size` logits and a few thousand weights besides its embeddings."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(seed)
    defaults = {
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "max_position_embeddings": 256,
        "initializer_range": 0.3,  # ten times the usual, or all tokens would be equally likely
        "bos_token_id": None,
        "eos_token_id": size - 1,
        "pad_token_id": 0,
    }
    made = getattr(transformers, f"{kind}Config")(vocab_size=size, **{**defaults, **config})
    return getattr(transformers, f"{kind}ForCausalLM")(made).eval()
