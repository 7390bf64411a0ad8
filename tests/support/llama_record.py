"""A record of llama-cpp-python 0.3.36: the names and values that the adapter uses, and a loop that loses errors."""

from __future__ import annotations

import ctypes
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np


class Token(NamedTuple):
    """A token as llama.cpp has it. Attributes: 1 unknown, 2 unused, 4 normal, 8 control, 16 user-defined, 32 byte."""

    text: str
    attribute: int
    piece: bytes = b""
    is_end: bool = False


TOKENS = [
    Token("<unk>", 1),
    Token("</s>", 8, is_end=True),
    *[Token(f"<0x{byte:02X}>", 32, bytes([byte])) for byte in range(256)],
    Token("▁left", 4, b" left"),
    Token("x" * 200, 4, b"x" * 200),
    Token("<|im_end|>", 8, is_end=True),
    Token("<|tool|>", 8),
    Token("<|tool|>", 8),
    Token("<tag>", 16, b"<tag>"),
    Token("[unused]", 2, b"[unused]"),
]
END = 1


def record(tokens: list[Token], kind: int) -> ModuleType:
    """Return what the adapter uses of `llama_cpp`."""
    module: Any = ModuleType("llama_cpp")
    module.LLAMA_VOCAB_TYPE_SPM, module.LLAMA_VOCAB_TYPE_BPE, module.LLAMA_VOCAB_TYPE_WPM = 1, 2, 3
    module.LLAMA_VOCAB_TYPE_UGM, module.LLAMA_VOCAB_TYPE_RWKV, module.LLAMA_VOCAB_TYPE_PLAMO2 = 4, 5, 6
    module.LLAMA_TOKEN_ATTR_UNKNOWN, module.LLAMA_TOKEN_ATTR_UNUSED, module.LLAMA_TOKEN_ATTR_CONTROL = 1, 2, 8
    module.llama_model_get_vocab = lambda model: model
    module.llama_vocab_type = lambda vocab: kind
    module.llama_vocab_n_tokens = lambda vocab: len(tokens)
    module.llama_vocab_get_attr = lambda vocab, token: tokens[token].attribute
    module.llama_vocab_get_text = lambda vocab, token: tokens[token].text.encode()
    module.llama_vocab_is_eog = lambda vocab, token: tokens[token].is_end

    def to_piece(vocab: Any, token: int, buffer: Any, length: int, lstrip: int, special: bool) -> int:
        piece = tokens[token].piece
        assert lstrip == 0 and not special and ctypes.sizeof(buffer) >= length
        if len(piece) > length:
            return -len(piece)
        buffer[: len(piece)] = piece
        return len(piece)

    module.llama_token_to_piece = to_piece
    return module


class Llama:
    """Samples as llama-cpp-python does: an exception of a processor is lost, and the scores are those of the model."""

    draft_model = None
    model = None
    n_lost = 0

    def __call__(self, prompt: list[int], processors: list[Any], n_most: int = 60, seed: int = 0) -> list[int]:
        rng = np.random.default_rng(seed)
        ids = list(prompt)
        for _ in range(n_most):
            data = np.zeros(len(TOKENS), [("id", np.intc), ("logit", np.single), ("p", np.single)]).view(np.recarray)
            data.logit = rng.normal(size=len(TOKENS))
            try:
                for processor in processors:
                    data.logit[:] = processor(np.array(ids, np.intc), data.logit)
            except Exception:
                self.n_lost += 1
            ids.append(int(data.logit.argmax()))
            if TOKENS[ids[-1]].is_end:
                break
        return ids[len(prompt) :]
