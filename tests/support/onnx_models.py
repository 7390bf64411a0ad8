"""A small model in the files of onnxruntime-genai, made on the spot: random scores that depend on the last token and on
its place, with the inputs and outputs of a decoder that has a key-value cache."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HEADS, HEAD_SIZE = 1, 4
N_CONTEXT = 512


def write_model(folder: Path, tokenizer: Any, *, width: int, eos: list[int], seed: int = 0) -> None:
    """Write a model and its tokenizer, one of the package `tokenizers`. `width`: of the scores."""
    rng = np.random.default_rng(seed)
    weights = {
        "of_token": rng.normal(0, 1, (width, 16)),
        "of_place": rng.normal(0, 1, (N_CONTEXT, 16)),
        "head": rng.normal(0, 1, (16, width)),
    }
    constants = [numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()]
    shape = np.array([0, 0, HEADS, HEAD_SIZE], np.int64)
    constants += [numpy_helper.from_array(shape[2:], "cache_shape"), numpy_helper.from_array(np.float32(0), "zero")]
    cache = ["batch", HEADS, "past", HEAD_SIZE]
    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["of_token", "input_ids"], ["token"]),
            helper.make_node("Gather", ["of_place", "position_ids"], ["place"]),
            helper.make_node("Add", ["token", "place"], ["hidden"]),
            helper.make_node("MatMul", ["hidden", "head"], ["logits"]),
            # The cache grows by zeros: (batch, heads, new, size).
            helper.make_node("Shape", ["input_ids"], ["read"]),
            helper.make_node("Split", ["read"], ["batch", "new"], num_outputs=2),
            helper.make_node("Split", ["cache_shape"], ["heads", "size"], num_outputs=2),
            helper.make_node("Concat", ["batch", "heads", "new", "size"], ["new_shape"], axis=0),
            helper.make_node("Expand", ["zero", "new_shape"], ["zeros"]),
            helper.make_node("Concat", ["past_key_values.0.key", "zeros"], ["present.0.key"], axis=2),
            helper.make_node("Concat", ["past_key_values.0.value", "zeros"], ["present.0.value"], axis=2),
        ],
        "tiny",
        [
            helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "new"]),
            helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch", "all"]),
            helper.make_tensor_value_info("position_ids", TensorProto.INT64, ["batch", "new"]),
            helper.make_tensor_value_info("past_key_values.0.key", TensorProto.FLOAT, cache),
            helper.make_tensor_value_info("past_key_values.0.value", TensorProto.FLOAT, cache),
        ],
        [
            helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", "new", width]),
            helper.make_tensor_value_info("present.0.key", TensorProto.FLOAT, ["batch", HEADS, "all", HEAD_SIZE]),
            helper.make_tensor_value_info("present.0.value", TensorProto.FLOAT, ["batch", HEADS, "all", HEAD_SIZE]),
        ],
        constants,
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(made)
    onnx.save(made, str(folder / "model.onnx"))
    decoder = {
        "session_options": {"intra_op_num_threads": 1},
        "filename": "model.onnx",
        "head_size": HEAD_SIZE,
        "hidden_size": HEADS * HEAD_SIZE,
        "num_attention_heads": HEADS,
        "num_hidden_layers": 1,
        "num_key_value_heads": HEADS,
        "inputs": {
            "input_ids": "input_ids",
            "attention_mask": "attention_mask",
            "position_ids": "position_ids",
            "past_key_names": "past_key_values.%d.key",
            "past_value_names": "past_key_values.%d.value",
        },
        "outputs": {
            "logits": "logits",
            "present_key_names": "present.%d.key",
            "present_value_names": "present.%d.value",
        },
    }
    model = {
        "type": "llama",
        "vocab_size": width,
        "context_length": N_CONTEXT,
        "bos_token_id": 0,
        "pad_token_id": eos[0],
        "eos_token_id": eos,
        "decoder": decoder,
    }
    search = {"do_sample": True, "max_length": N_CONTEXT, "past_present_share_buffer": False}
    (folder / "genai_config.json").write_text(json.dumps({"model": model, "search": search}))
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "GPT2Tokenizer"}))
