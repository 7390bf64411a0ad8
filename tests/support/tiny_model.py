"""A byte-level tokenizer of `transformers`, made here instead of downloaded."""

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
