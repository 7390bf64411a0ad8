"""An executor of vLLM without a model: it samples from the rows of the scheduler, and drafts tokens for it.

Scheduler, structured-output manager, queues and front end are the real ones. The "model" has a text in mind, mostly
writes it where its row allows that, likes to close what is open, and else takes any allowed token. A row of which all
bits are set constrains nothing; then it writes words, and ends its reasoning after a while.
"""

from __future__ import annotations

import os
import random
from concurrent.futures import Future
from typing import Any

import numpy as np
import torch
from vllm.v1.executor.abstract import Executor
from vllm.v1.kv_cache_interface import FullAttentionSpec
from vllm.v1.outputs import DraftTokenIds, ModelRunnerOutput

TEXTS = (
    '{"name": "Ada Lovelace", "age": 36, "tags": ["a", "bc"]}',
    "[1, 22, 333]",
    "hello world it is",
    'Let me see. <tool_call>\n{"name": "weather", "arguments": {"city": "Oslo"}}\n</tool_call>',
    'Well. <call:weather>{"city": "Oslo"}</call> Done.',
)
CLOSERS = ('"', '"}', "}", "]", '"]', "]}", ",", ">", "</", '":', "call", "_call", "1", "a")
LOG = "EXECUTOR_STEPS"
"""The environment variable with the file to which the numbers of steps and drafts are written at the end."""


class SamplingExecutor(Executor):
    def _init_executor(self) -> None:
        from vllm.tokenizers import cached_tokenizer_from_config
        from vllm.utils.mistral import is_mistral_tokenizer

        tokenizer = cached_tokenizer_from_config(self.model_config)

        def encode(text: str) -> list[int]:
            ids: list[int] = tokenizer.encode(text, add_special_tokens=False)
            return ids

        self.rng = random.Random(0)
        self.texts = [encode(text) for text in TEXTS]
        self.closers: list[int] = []
        if is_mistral_tokenizer(tokenizer):  # there, marks are tokens that no text has
            calls, arguments = tokenizer.convert_tokens_to_ids(["[TOOL_CALLS]", "[ARGS]"])
            self.texts.append([calls, *encode("weather"), arguments, *encode('{"city": "Oslo"}')])
            self.closers += [calls, arguments]
        self.closers += [ids[0] for ids in map(encode, CLOSERS) if len(ids) == 1]
        self.words = [
            ids[0] for ids in map(encode, (" the", " of", " and", " is", " so", " well", ".")) if len(ids) == 1
        ]
        self.end_of_reasoning = encode("</think>")
        self.eos: int = tokenizer.eos_token_id
        self.reasons = bool(self.vllm_config.structured_outputs_config.reasoning_parser)
        self.n_drafts = self.vllm_config.num_speculative_tokens
        self.requests: dict[str, dict[str, Any]] = {}
        self.drafts: dict[str, list[int]] = {}
        self.counts = {"steps": 0, "tokens": 0, "drafted": 0, "accepted": 0, "empty rows": 0}

    # -- what the engine asks for --------------------------------------------------------------------------------------

    @classmethod
    def supports_async_scheduling(cls) -> bool:
        return True

    def check_health(self) -> None:
        pass

    def shutdown(self) -> None:
        path = os.environ.get(LOG)
        if path:
            with open(path, "w", encoding="utf-8") as file:
                file.write(repr(self.counts))

    def compile_or_warm_up_model(self) -> None:
        pass

    def collective_rpc(
        self, method: Any, timeout: Any = None, args: Any = (), kwargs: Any = None, non_block: bool = False
    ) -> Any:
        answer = getattr(self, f"on_{method}", lambda *args, **kwargs: None)(*args, **(kwargs or {}))
        if not non_block:
            return [answer]
        future: Future[Any] = Future()
        future.set_result(answer)
        return [future]

    def on_get_kv_cache_spec(self) -> Any:
        spec = FullAttentionSpec(block_size=16, num_kv_heads=1, head_size=8, dtype=torch.float32)
        return {"model.layers.0.attn": spec}

    def on_get_supported_kv_cache_layouts(self) -> list[str]:
        return ["LBNHC"]

    def on_determine_available_memory(self) -> int:
        return 1 << 26

    def on_get_supported_tasks(self) -> tuple[str, ...]:
        return ("generate",)

    def on_supports_draft_weight_updates(self) -> bool:
        return False

    # -- a step --------------------------------------------------------------------------------------------------------

    def on_execute_model(self, scheduled: Any) -> Any:
        for request_id in scheduled.finished_req_ids:
            self.requests.pop(request_id, None)
        for new in scheduled.scheduled_new_reqs:
            self.requests[new.req_id] = {
                "prompt": len(new.prompt_token_ids),
                "read": new.num_computed_tokens,
                "text": self.rng.choice(self.texts),
                "at": 0,
                "free": 0,
            }
        cached = scheduled.scheduled_cached_reqs
        for request_id, n_read in zip(cached.req_ids, cached.num_computed_tokens, strict=True):
            self.requests[request_id]["read"] = n_read
        self.scheduled = scheduled
        return None if scheduled.total_num_scheduled_tokens else ModelRunnerOutput([], {})

    def on_sample_tokens(self, grammar_output: Any) -> Any:
        scheduled = self.scheduled
        self.counts["steps"] += 1
        rows: dict[str, Any] = {}
        if grammar_output is not None:
            ids = grammar_output.structured_output_request_ids
            width = len(grammar_output.grammar_bitmask) // len(ids)
            for index, request_id in enumerate(ids):
                rows[request_id] = grammar_output.grammar_bitmask[index * width : (index + 1) * width]
        sampled = []
        self.drafts = {}
        for request_id, n in scheduled.num_scheduled_tokens.items():
            request = self.requests[request_id]
            if request["read"] + n < request["prompt"]:
                sampled.append([])  # a chunk of the prompt
                continue
            draft = scheduled.scheduled_spec_decode_tokens.get(request_id, [])
            tokens = self.sample(request, rows.get(request_id), draft)
            sampled.append(tokens)
            self.counts["tokens"] += len(tokens)
            if self.n_drafts:
                self.drafts[request_id] = self.draft(request)
        names = list(scheduled.num_scheduled_tokens)
        return ModelRunnerOutput(names, {name: index for index, name in enumerate(names)}, sampled)

    def on_take_draft_token_ids(self) -> Any:
        drafts, self.drafts = self.drafts, {}
        return DraftTokenIds(list(drafts), list(drafts.values())) if drafts else None

    # -- the "model" ---------------------------------------------------------------------------------------------------

    def sample(self, request: dict[str, Any], rows: Any, draft: list[int]) -> list[int]:
        """Accept tokens of a draft as long as they are what is sampled, and sample one more."""
        tokens = []
        for index in range(len(draft) + 1):
            row = None if rows is None else rows[index]
            drafted = draft[index] if index < len(draft) else None
            token = self.choose(request, row, drafted)
            tokens.append(token)
            if drafted is None:
                break
            self.counts["drafted"] += 1
            if token != drafted:
                break
            self.counts["accepted"] += 1
        return tokens

    def choose(self, request: dict[str, Any], row: Any, drafted: int | None) -> int:
        rng = self.rng
        wanted = request["text"][request["at"] % len(request["text"])]
        if row is None or (row == -1).all():
            request["free"] += 1
            if drafted is not None and drafted >= 0 and request["free"] < 20 and rng.random() < 0.5:
                return drafted
            if self.reasons and (rng.random() < 0.2 or request["free"] == 20):
                return self.end_of_reasoning[0]
            return self.eos if request["free"] > 30 else rng.choice(self.words)

        def is_allowed(token: int) -> bool:
            return bool(int(row[token >> 5]) >> (token & 31) & 1)

        if drafted is not None and drafted >= 0 and is_allowed(drafted) and rng.random() < 0.7:
            return drafted
        if is_allowed(wanted) and rng.random() < 0.9:
            request["at"] += 1
            return int(wanted)
        if is_allowed(self.eos) and rng.random() < 0.5:
            return self.eos
        closers = [token for token in self.closers if is_allowed(token)]
        if closers and rng.random() < 0.7:
            return rng.choice(closers)
        allowed = np.unpackbits(row.view(np.uint8), bitorder="little").nonzero()[0]
        if not len(allowed):
            self.counts["empty rows"] += 1
            return self.eos
        short = allowed[allowed < 3000]
        return int(rng.choice(short if len(short) and rng.random() < 0.8 else allowed))

    def draft(self, request: dict[str, Any]) -> list[int]:
        """Return tokens without regard to the grammar."""
        text, at = request["text"], request["at"]
        return [
            text[(at + index) % len(text)] if self.rng.random() < 0.8 else self.rng.choice([*self.closers, *self.words])
            for index in range(self.n_drafts)
        ]
