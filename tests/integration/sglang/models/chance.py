"""A model of SGLang without layers: its logits are chance, with a liking for some texts and for what ends them.

Scheduler, sampler and all queues are SGLang's own, and cannot tell it from another model.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import torch
from sglang.srt.layers.logits_processor import LogitsProcessorOutput
from torch import nn

TEXTS = (
    " the of and is so well.",
    '{"name": "Ada Lovelace", "age": 36, "tags": ["a", "bc"]}',
    "[1, 22, 333]",
    "hello world it is",
    'Well. <call:weather>{"city": "Oslo"}</call> Done.',
    '>Let me see:\n<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>',
)
"""A token with several followers mostly goes on with that of the last text, and with the first one there. Prompts of
the tests end with ">"."""
CLOSERS = ('"', '"}', "}", "]", '"]', "]}", ",", ">", "</", '":', "call", "_call", "1", "a")
THINK_END = "</think>"
THINKS = "CHANCE_THINKS"
"""The environment variable that is 1 if the model is to end its reasoning, with `THINK_END`, before it ends."""
COMMON = 3000
"""Ids below it have short texts."""


class ChanceForCausalLM(nn.Module):
    def __init__(self, config: Any, quant_config: Any = None, prefix: str = "") -> None:
        super().__init__()
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(config._name_or_path)
        self.config = config
        self.unused = nn.Parameter(torch.zeros(1), requires_grad=False)  # SGLang looks at the type of a parameter
        self.liking = torch.zeros(config.vocab_size)  # no parameter: `--load-format dummy` would overwrite it

        self.follower: dict[int, int] = {}

        def like(texts: Iterable[str], how_much: float) -> None:
            for text in texts:
                self.liking[tokenizer.encode(text, add_special_tokens=False)] = how_much

        thinks = os.environ.get(THINKS) == "1"
        self.liking[:COMMON] = 5.0
        like(TEXTS, 13.0)
        like(CLOSERS, 14.0)
        eos = tokenizer.eos_token_id
        self.liking[eos] = 13.5 if thinks else 15.0
        for text in TEXTS:
            tokens = tokenizer.encode(text, add_special_tokens=False)
            self.liking[tokens[0]] = 15.0
            ends = [] if thinks or text.endswith(">") else [eos]
            self.follower.update(reversed([*pairwise([*tokens, *ends])]))
        if thinks:
            like([THINK_END], 18.0)

    def forward(self, input_ids: torch.Tensor, positions: torch.Tensor, forward_batch: Any) -> LogitsProcessorOutput:
        verifies = forward_batch.forward_mode.is_target_verify()
        n_rows = len(input_ids) if verifies else forward_batch.batch_size
        logits = torch.randn(n_rows, self.config.vocab_size) + self.liking
        if verifies:  # the largest logit is chosen; with this, it is a sample (Gumbel, 1954)
            logits -= torch.empty_like(logits).exponential_().log_()
        last = input_ids
        if n_rows < len(input_ids):  # prompts, one after the other
            last = input_ids[torch.cumsum(forward_batch.extend_seq_lens, 0) - 1]
        for row, token in enumerate(last.tolist()):
            if token in self.follower:
                logits[row, self.follower[token]] += 8.0  # then it mostly goes on with the text
        return LogitsProcessorOutput(next_token_logits=logits)

    def load_weights(self, weights: Iterable[tuple[str, torch.Tensor]]) -> None:
        """Read nothing."""


EntryClass = ChanceForCausalLM
