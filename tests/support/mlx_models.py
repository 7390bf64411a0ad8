"""Small random models of `mlx_lm`."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
from mlx_lm.models import llama


def make_model(seed: int, width: int) -> Any:
    """Make a Llama of one layer. `width`: of its scores."""
    mx.random.seed(seed)
    return llama.Model(
        llama.ModelArgs(
            model_type="llama",
            hidden_size=16,
            num_hidden_layers=1,
            intermediate_size=16,
            num_attention_heads=2,
            rms_norm_eps=1e-5,
            vocab_size=width,
        )
    )
