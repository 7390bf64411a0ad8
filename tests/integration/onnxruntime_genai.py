"""The adapter inside onnxruntime-genai: `python -m tests.integration.onnxruntime_genai` makes an environment for it.

A small random model writes texts of mixed kinds: one by one, with steps that are taken back, and in batches with a
grammar for each prompt, in which some rows are cut, have no grammar, or meet a limit.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from support.environment import enter, run_examples, versions

PACKAGES = ["onnxruntime-genai==0.18.0", "onnxruntime==1.32.0", "onnx==1.23.2", "tokenizers==0.23.3"]
N_MOST = 60


def make_model(folder: Path) -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    from support.onnx_models import write_model

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [("A", "d"), ("2", "0"), ("1", "9"), ('"', ":")]
    ids = {token: at for at, token in enumerate([*alphabet, *["".join(merge) for merge in merges]])}
    tokenizer = Tokenizer(models.BPE(ids, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["</s>", "<|eot|>", "<|tool|>"])
    ends = [tokenizer.token_to_id("</s>"), tokenizer.token_to_id("<|eot|>")]
    write_model(folder, tokenizer, width=300, eos=ends)


def start(model: Any, prompts: list[list[int]], seed: int, **options: Any) -> Any:
    import onnxruntime_genai as og

    params = og.GeneratorParams(model)
    longest = max(map(len, prompts))
    params.set_search_options(
        **{
            "batch_size": len(prompts),
            "max_length": longest + N_MOST,
            "random_seed": seed,
            "do_sample": True,
            **options,
        }
    )
    generator = og.Generator(model, params)
    generator.append_tokens(np.array(prompts, np.int32))
    return generator


def text_of(vocabulary: Any, generator: Any, row: int, n_prompt: int, n_most: int) -> bytes | None:
    """Return the text of a row, or None if it has not ended. The end of the last row to end is not in the sequences."""
    written = generator.get_sequence(row)[n_prompt:].tolist()
    ends = [at for at, token in enumerate(written) if token in vocabulary.eos_token_ids]
    if not ends and len(written) == n_most:
        return None
    return b"".join(map(vocabulary.token_bytes, written[: ends[0] if ends else None]))


def one_by_one(model: Any, vocabulary: Any, n: int) -> Counter[str]:
    from earleymask import BudgetError, LimitError, RejectedTokenError
    from earleymask.integration.onnxruntime_genai import GrammarMasks
    from support.mixed_requests import KINDS, check_refusals, grammar_of, is_valid

    found: Counter[str] = Counter()
    rng = random.Random(1)
    for number in range(n):
        ways = ("greedy", "sampled", "rewound", "limited", "finish", "foreign", "penalty", "wrong", "abort")
        way, kind = ways[number % 9], KINDS[number // 9 % len(KINDS)]
        options: dict[str, Any] = {"do_sample": False} if way == "greedy" else {"top_k": rng.choice([0, 50, 5])}
        options |= {"repetition_penalty": 1.4, "top_p": 0.7, "temperature": 0.8} if way == "penalty" else {}
        prompt = [1 + (number + each) % 250 for each in range(1 + number % 20)]
        if way == "finish":
            options["max_length"] = len(prompt) + 8
        generator = start(model, [prompt], number, **options)
        if way == "wrong":
            check_refusals(partial(GrammarMasks, generator, vocabulary=vocabulary))
            found["bad grammar"] += 1
            continue
        grammar = grammar_of("limited" if way == "limited" else kind)
        masks = GrammarMasks(generator, grammar, vocabulary, max_tokens=8 if way == "finish" else None)
        n_taken_back = 0
        try:
            while not generator.is_done():
                masks.apply()
                if way == "foreign" and generator.token_count() == len(prompt) + 2:
                    generator.set_logits(np.where(np.arange(300) == 3, 0, -np.inf).astype(np.float32)[None, None])
                generator.generate_next_token()
                n_written = generator.token_count() - len(prompt)
                if way == "abort" and n_written == 2:
                    break
                if (
                    way == "rewound"
                    and n_taken_back < 3
                    and n_written > 2
                    and not generator.is_done()
                    and rng.random() < 0.3
                ):
                    n_taken_back += 1
                    generator.rewind_to(generator.token_count() - rng.randint(2, n_written))
        except LimitError:
            assert way == "limited"
            found["limit met"] += 1
            continue
        except RejectedTokenError:
            assert way == "foreign"
            found["foreign token"] += 1
            continue
        except BudgetError:
            assert way == "finish" and kind == "schema"
            found["budget too small"] += 1
            continue
        text = text_of(vocabulary, generator, 0, len(prompt), 8 if way == "finish" else N_MOST)
        if way == "abort":
            found["aborted"] += 1
        elif text is None or way == "foreign":
            found["ended before the foreign token" if way == "foreign" else "cut"] += 1
        else:
            assert is_valid(kind, text), (way, kind, text)
            found["valid"] += 1
    assert found["cut"] < n / 10, found
    return found


def batches(model: Any, vocabulary: Any, n: int) -> Counter[str]:
    from earleymask.integration.onnxruntime_genai import GrammarMasks
    from support.mixed_requests import KINDS, grammar_of, is_valid

    found: Counter[str] = Counter()
    rng = random.Random(2)
    for number in range(n // 8):
        kinds = [rng.choice([*KINDS, "limited", "free"]) for _ in range(8)]
        prompts = [[1 + rng.randrange(250) for _ in range(1 + number % 7)] for _ in kinds]
        most = 4 if number % 6 == 0 else N_MOST
        generator = start(model, prompts, number, max_length=len(prompts[0]) + most)
        grammars = [None if kind == "free" else grammar_of(kind) for kind in kinds]
        masks = GrammarMasks(generator, grammars, vocabulary, on_error="end")
        while not generator.is_done():
            masks.apply()
            generator.generate_next_token()
        for row, kind in enumerate(kinds):
            text = text_of(vocabulary, generator, row, len(prompts[0]), most)
            if kind == "limited" and most == N_MOST:
                assert type(masks.errors[row]).__name__ == "LimitError" and text == b"abc"
                found["limit met in a batch"] += 1
            elif kind == "free" or text is None:
                found["free in a batch" if kind == "free" else "cut in a batch"] += 1
            elif kind in KINDS:
                assert masks.errors[row] is None and is_valid(kind, text), (kind, text)
                found["valid in a batch"] += 1
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=350, help="how many requests, in each of two ways")
    parser.add_argument("--here", action="store_true", help="run in this environment")
    arguments = parser.parse_args()
    enter("onnxruntime_genai", PACKAGES)

    import onnxruntime_genai as og

    from earleymask.integration.onnxruntime_genai import genai_vocabulary
    from support.loop_records import check_record

    print(versions("onnxruntime-genai", "onnxruntime", "onnx", "numpy"))
    check_record("onnxruntime_genai")
    with tempfile.TemporaryDirectory() as folder:
        make_model(Path(folder))
        model, vocabulary = og.Model(folder), genai_vocabulary(folder)
        assert vocabulary.size == 300 and len(vocabulary.eos_token_ids) == 2
        found = one_by_one(model, vocabulary, arguments.requests) + batches(model, vocabulary, arguments.requests)
        print(", ".join([f"{n} {what}" for what, n in found.most_common()]))
        run_examples("other_loops.md", "onnxruntime_genai", folder=folder)
        del model
    print("passed")


if __name__ == "__main__":
    sys.exit(main())
