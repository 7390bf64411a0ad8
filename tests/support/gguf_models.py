"""Small models in GGUF files, made on the spot: a Llama of random weights, with a vocabulary of every type of token."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy as np

KINDS = gguf.TokenType
WIDTH = 32
N_CONTEXT = 512


def byte_level() -> tuple[list[str], list[int], dict[str, Any]]:
    """Return the tokens, their types and other settings of a byte-level BPE vocabulary (`gpt2`)."""
    # The usual characters for bytes: printable ones stand for themselves.
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(256, 512))
    letters = {byte: chr(byte) if byte in printable else chr(next(others)) for byte in range(256)}
    spell = lambda text: "".join([letters[byte] for byte in text.encode()])  # noqa: E731
    merges = [("A", "d"), ("2", "0"), ("1", "9"), ('"', "n"), ('"', ":"), ("l", "e")]
    texts = [*letters.values(), *["".join(pair) for pair in merges]]
    types = [KINDS.NORMAL] * len(texts)
    # Tokens that no merge reaches; a long one, which llama.cpp returns only if the buffer is large enough.
    for text in ['{"name":"Ada",', "x" * 100, " left", "é"]:
        texts.append(spell(text))
        types.append(KINDS.NORMAL)
    for text, kind in [
        ("<|begin|>", KINDS.CONTROL),
        ("<|endoftext|>", KINDS.CONTROL),
        ("<|eot_id|>", KINDS.CONTROL),  # llama.cpp ends there, too, because of its name
        ("<|tool|>", KINDS.CONTROL),
        ("<tag>", KINDS.USER_DEFINED),
        ("[unused]", KINDS.UNUSED),
    ]:
        texts.append(text)
        types.append(kind)
    settings = {"model": "gpt2", "pre": "gpt-2", "merges": [" ".join(pair) for pair in merges]}
    ids = {text: at for at, text in enumerate(texts)}
    settings |= {"bos": ids["<|begin|>"], "eos": ids["<|endoftext|>"]}
    return texts, [int(kind) for kind in types], settings


def sentencepiece() -> tuple[list[str], list[int], dict[str, Any]]:
    """Return the same for a vocabulary like SentencePiece's, with a token for each byte (`llama`)."""
    texts = ["<unk>", "<s>", "</s>", *[f"<0x{byte:02X}>" for byte in range(256)]]
    types = [KINDS.UNKNOWN, KINDS.CONTROL, KINDS.CONTROL, *[KINDS.BYTE] * 256]
    pieces = [chr(code) for code in range(0x21, 0x7F)]
    for text in [*pieces, "▁", "é", "▁left", "Ada", '"name"', "20", "19", "abc", "x" * 100]:
        texts.append(text)
        types.append(KINDS.NORMAL)
    for text, kind in [
        ("<|im_end|>", KINDS.CONTROL),
        ("<|tool|>", KINDS.CONTROL),
        ("<tag>", KINDS.USER_DEFINED),
        ("[unused]", KINDS.UNUSED),
    ]:
        texts.append(text)
        types.append(kind)
    settings = {"model": "llama", "pre": "default", "merges": None, "bos": 1, "eos": 2}
    return texts, [int(kind) for kind in types], settings


def unigram() -> tuple[list[str], list[int], dict[str, Any]]:
    """Return the same for a Unigram vocabulary (`t5`), of the same tokens."""
    texts, types, settings = sentencepiece()
    return texts, types, {**settings, "model": "t5"}


def rwkv() -> tuple[list[str], list[int], dict[str, Any]]:
    """Return the same for RWKV's, whose texts have escapes."""
    letters = [f"\\x{byte:02x}" if byte < 33 or byte > 126 or byte in b"\\'" else chr(byte) for byte in range(256)]
    texts = ["<s>", *letters, "hello", " world", "\\n\\n"]
    types = [KINDS.CONTROL, *[KINDS.NORMAL] * (len(texts) - 1)]
    return texts, [int(kind) for kind in types], {"model": "rwkv", "pre": "default", "merges": None, "bos": 0, "eos": 0}


def wordpiece() -> tuple[list[str], list[int], dict[str, Any]]:
    """Return the same for a vocabulary like BERT's, in which the bytes of a token depend on its place."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    texts = [*special, "a", "b", "##c"]
    types = [KINDS.CONTROL] * len(special) + [KINDS.NORMAL] * 3
    return texts, [int(kind) for kind in types], {"model": "bert", "pre": "default", "merges": None, "bos": 2, "eos": 3}


VOCABULARIES = {"byte_level": byte_level, "sentencepiece": sentencepiece}
"""Those of the models that are made."""
OTHERS = {"unigram": unigram, "rwkv": rwkv, "wordpiece": wordpiece}
"""Those of files without weights."""


def write_model(path: Path, kind: str, *, seed: int = 0) -> None:
    """Write a Llama with one layer, or a vocabulary alone."""
    texts, types, settings = (VOCABULARIES | OTHERS)[kind]()
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(N_CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(WIDTH)
    writer.add_head_count(2)
    writer.add_head_count_kv(2)
    writer.add_rope_dimension_count(WIDTH // 2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(texts))
    _add_vocabulary(writer, texts, types, settings)
    rng = np.random.default_rng(seed)

    def add(name: str, *shape: int) -> None:
        values = np.ones(shape) if name.endswith("norm.weight") else rng.normal(0, 0.3, shape)
        writer.add_tensor(name, values.astype(np.float32))

    if kind in VOCABULARIES:
        add("token_embd.weight", len(texts), WIDTH)
        add("output.weight", len(texts), WIDTH)
        add("output_norm.weight", WIDTH)
        for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
            add(f"blk.0.{name}.weight", WIDTH, WIDTH)
        for name in ("attn_norm", "ffn_norm"):
            add(f"blk.0.{name}.weight", WIDTH)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_vocabulary(writer: gguf.GGUFWriter, texts: list[str], types: list[int], settings: dict[str, Any]) -> None:
    writer.add_tokenizer_model(settings["model"])
    writer.add_tokenizer_pre(settings["pre"])
    writer.add_token_list(texts)
    writer.add_token_types(types)
    if settings["merges"] is None:
        writer.add_token_scores([-float(at) for at in range(len(texts))])
    else:
        writer.add_token_merges(settings["merges"])
    writer.add_bos_token_id(settings["bos"])
    writer.add_eos_token_id(settings["eos"])
    writer.add_add_bos_token(True)
