"""Hundreds of mixed requests through vLLM's engine, in this process. `python -m tests.integration.vllm` starts it.

    engine.py MODE --model FOLDER --requests N      prints a line of JSON; fails if anything is not as it must be

MODE is `sync` or `async`, alone or with `-ngram` or `-draft`: how drafts are made; or `wide`, with so many sequences in
a step that vLLM fills their rows in several threads. Requests arrive while others run.
Some are aborted, some cut by `max_tokens`, some have a stop token that is a text. In between come grammars that the
front end must refuse, one that the engine must refuse, and one that meets a limit in the middle of its text.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from collections import Counter
from typing import Any

os.environ |= {
    "EARLEYMASK_VLLM": "1",
    "HF_HUB_OFFLINE": "1",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_TARGET_DEVICE": "cpu",
}

from integration.vllm.executor import SamplingExecutor

from support.served_cases import BAD, IN_THE_ENGINE, Case, hard_grammar, random_cases

SEED = 1
N_ALIVE = {"wide": 180}
"""Requests that run at a time, 24 in the other modes. From 129 on, vLLM fills rows in threads."""


def allow_asynchronous_scheduling() -> None:
    """vLLM switches it off for CPUs, where it gains nothing. Here it must run."""
    from vllm.platforms.cpu import CpuPlatform

    check = CpuPlatform.check_and_update_config.__func__

    def keep(cls: Any, config: Any) -> None:
        asked = config.scheduler_config.async_scheduling
        check(cls, config)
        config.scheduler_config.async_scheduling = asked

    CpuPlatform.check_and_update_config = classmethod(keep)


def make_engine(mode: str, model: str, **options: Any) -> Any:
    from vllm import EngineArgs, LLMEngine

    scheduling, _, drafts = mode.partition("-")
    if scheduling == "async":
        allow_asynchronous_scheduling()
        options["async_scheduling"] = True
    else:
        options["async_scheduling"] = False
    if drafts:
        # What knows n-grams on a CPU cannot be asynchronous.
        ngram = {"method": "ngram_gpu" if scheduling == "async" else "ngram", "prompt_lookup_max": 3}
        how = ngram if drafts == "ngram" else {"method": "draft_model", "model": f"{model}-draft"}
        options["speculative_config"] = {**how, "num_speculative_tokens": 4}
    engine = LLMEngine.from_engine_args(
        EngineArgs(
            model=model,
            distributed_executor_backend=SamplingExecutor,
            max_model_len=2048,
            max_num_seqs=200 if mode == "wide" else 64,
            enforce_eager=True,
            block_size=16,
            disable_log_stats=True,
            **options,
        )
    )
    assert engine.vllm_config.scheduler_config.async_scheduling == (scheduling == "async")
    return engine


class Run:
    """The requests of a run, and what became of them."""

    def __init__(self, engine: Any, n: int, most_alive: int) -> None:
        self.engine = engine
        self.most_alive = most_alive
        self.rng = random.Random(SEED)
        self.source = random_cases(SEED)
        self.left = n
        self.cases: dict[str, Case] = {}
        self.cut: set[str] = set()
        self.aborted: set[str] = set()
        self.failing: set[str] = set()  # those that must fail
        self.counts: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.faults: list[str] = []
        self.n_alive = 0
        self.longest_step = 0.0

    def add(self, name: str, constraint: dict[str, Any], **options: Any) -> None:
        from vllm import SamplingParams
        from vllm.sampling_params import StructuredOutputsParams

        params = SamplingParams(
            structured_outputs=StructuredOutputsParams(**constraint), temperature=1.0, **{"max_tokens": 300} | options
        )
        self.engine.add_request(name, "hello, which words are these?", params)
        self.n_alive += 1

    def arrive(self) -> None:
        """Add a request."""
        rng, name = self.rng, f"r{self.left}"
        self.left -= 1
        case = next(self.source)
        options: dict[str, Any] = {}
        draw = rng.random()
        if draw < 0.05:
            self.cut.add(name)
            options["max_tokens"] = rng.randint(1, 4)
        elif draw < 0.1 and case.kind == "json":
            options["stop_token_ids"] = [201]  # a line break: a text, which no document has
        self.cases[name] = case
        self.add(name, case.constraint, **options)
        if self.left % 20 == 0:
            self.refused()
        if self.left % 100 == 50:
            self.fail(f"e{self.left}", IN_THE_ENGINE.constraint)
            self.fail(f"l{self.left}", {"grammar": hard_grammar(self.left)})

    def refused(self) -> None:
        """Ask for what the front end must refuse."""
        bad = self.rng.choice(BAD)
        try:
            self.add("bad", bad.constraint)
        except Exception as error:
            self.counts["refused"] += 1
            if bad.message not in str(error):
                self.faults.append(f"{bad.constraint}: {error!r} does not say {bad.message!r}")
        else:
            self.n_alive -= 1
            self.faults.append(f"{bad.constraint} is not refused")

    def fail(self, name: str, constraint: dict[str, Any]) -> None:
        self.failing.add(name)
        self.add(name, constraint)

    def run(self) -> None:
        while self.left or self.n_alive:
            while self.left and self.n_alive < self.most_alive:
                self.arrive()
            alive = [name for name in self.cases if name not in self.aborted]
            if alive and self.rng.random() < 0.02:
                name = self.rng.choice(alive)
                if self.engine.output_processor.request_states and name in self.names():
                    self.engine.abort_request([name])
                    self.aborted.add(name)
                    self.n_alive -= 1
                    self.counts["aborted"] += 1
            begin = time.perf_counter()
            outputs = self.engine.step()
            self.longest_step = max(self.longest_step, time.perf_counter() - begin)
            for output in outputs:
                if output.finished and output.request_id not in self.aborted:
                    self.n_alive -= 1
                    self.finish(output.request_id, output.outputs[0])

    def names(self) -> set[str]:
        return {state.external_req_id for state in self.engine.output_processor.request_states.values()}

    def finish(self, name: str, output: Any) -> None:
        reason = output.finish_reason
        self.counts[reason] += 1
        if name in self.failing:
            if reason != "error":
                self.faults.append(f"{name} must fail, and ends with {reason}: {output.text!r}")
            return
        case = self.cases.pop(name)
        self.kinds[case.kind] += reason == "stop"
        if reason == "stop":
            try:
                case.check(output.text)
            except Exception as error:
                self.faults.append(f"{case}: {output.text!r}: {error!r}"[:500])
        elif reason != "length":
            self.faults.append(f"{name} ends with {reason}: {case}"[:500])


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("mode")
    parser.add_argument("--model", required=True)
    parser.add_argument("--requests", type=int, default=300)
    options = parser.parse_args()
    engine = make_engine(options.mode, options.model)
    run = Run(engine, options.requests, N_ALIVE.get(options.mode, 24))
    begin = time.perf_counter()
    run.run()
    executor = engine.engine_core.engine_core.model_executor
    result = {
        "mode": options.mode,
        "seconds": round(time.perf_counter() - begin, 1),
        "longest step": round(run.longest_step, 3),
        "ends": dict(run.counts),
        "valid": dict(run.kinds),
        "executor": executor.counts,
        "faults": run.faults,
    }
    print(json.dumps(result))
    return bool(run.faults) or executor.counts["empty rows"] > 0


if __name__ == "__main__":
    sys.exit(main())
