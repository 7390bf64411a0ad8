"""The adapter inside `outlines`: `python -m tests.integration.outlines` makes an environment and runs it there.

Small random models of `transformers`, llama-cpp-python and `mlx_lm` write texts of mixed kinds through `outlines`: one
by one, in batches, as streams, as chats. Some are cut or aborted, some meet a limit, which fails that request only.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from support.environment import enter, run_examples, versions

PACKAGES = [
    "outlines==1.3.3",
    "torch==2.13.0",
    "transformers==5.24.0",
    "llama-cpp-python==0.3.36",
    "gguf==0.19.0",
    "mlx[cpu]==0.32.4",
    "mlx-lm==0.32.2",
    "pytest",
]
N_MOST = 60


def make_models(folder: Path) -> dict[str, tuple[Any, dict[str, Any], tuple[str, ...]]]:
    """Return models of `outlines`, with the options of a request and the ways that each can write in."""
    import outlines
    from llama_cpp import Llama

    from support import tiny_model
    from support.gguf_models import write_model
    from support.mlx_models import make_model

    tokenizer = tiny_model.tiny_tokenizer()
    eos = tokenizer.eos_token_id
    llama = tiny_model.make_model(
        len(tokenizer), num_hidden_layers=1, max_position_embeddings=2048, eos_token_id=eos, pad_token_id=eos
    )
    write_model(folder / "model.gguf", "byte_level")
    gguf = Llama(str(folder / "model.gguf"), n_ctx=512, n_threads=1, seed=1, verbose=False, chat_format="llama-2")
    mlx = make_model(0, len(tokenizer))
    from mlx_lm.sample_utils import make_sampler
    from mlx_lm.tokenizer_utils import TokenizerWrapper

    return {
        "transformers": (
            outlines.from_transformers(llama, tokenizer),
            {"max_new_tokens": N_MOST, "do_sample": True},
            ("text", "batch", "cut", "limited"),
        ),
        "llama.cpp": (
            outlines.from_llamacpp(gguf, chat_mode=False),
            {"max_tokens": N_MOST, "temperature": 1.0},
            ("text", "stream", "cut", "abort", "limited", "finish"),
        ),
        "llama.cpp, chat": (
            outlines.from_llamacpp(gguf),
            {"max_tokens": N_MOST, "temperature": 1.0},
            ("text", "stream", "limited"),
        ),
        "mlx_lm": (
            outlines.from_mlxlm(mlx, TokenizerWrapper(tokenizer)),
            {"max_tokens": N_MOST, "sampler": make_sampler(1.0)},
            ("text", "stream", "cut", "abort", "limited"),
        ),
    }


def run(model: Any, options: dict[str, Any], ways: tuple[str, ...], n: int) -> Counter[str]:
    from earleymask import BatchError, LimitError
    from earleymask.integration.outlines import GrammarGenerator, GrammarProcessor, outlines_vocabulary
    from support.mixed_requests import KINDS, check_refusals, grammar_of, is_valid

    vocabulary = outlines_vocabulary(model)
    generators = {kind: GrammarGenerator(model, grammar_of(kind), vocabulary) for kind in (*KINDS, "limited")}
    most = "max_new_tokens" if "max_new_tokens" in options else "max_tokens"
    found: Counter[str] = Counter()
    for number in range(n):
        way, kind = ways[number % len(ways)], KINDS[number // len(ways) % len(KINDS)]
        prompt = "Hello, " * (number % 5) + f"number {number}"
        generate = generators["limited" if way == "limited" else kind]
        try:
            if way == "batch":
                texts = generate.batch([prompt, f"{prompt}!", "Hm"], **options)
                assert all([is_valid(kind, text) for text in texts]), (kind, texts)
                found["valid"] += len(texts)
                continue
            if way in ("stream", "abort"):
                text = ""
                for part in generate.stream(prompt, **options):
                    text += part or ""
                    if way == "abort" and text:
                        break
            elif way == "finish":
                kind = "choices"
                finishing = GrammarGenerator(model, grammar_of(kind), vocabulary, max_tokens=5)
                text = finishing(prompt, **{**options, most: 5})
            else:
                text = generate(prompt, **{**options, most: 2 if way == "cut" else N_MOST})
        except (LimitError, BatchError):  # a BatchError has that of each row
            assert way == "limited"
            found["limit met"] += 1
            continue
        assert way != "limited"
        if way in ("cut", "abort"):
            found[way] += 1
        else:
            assert is_valid(kind, text), (kind, text)
            found["valid"] += 1
    check_refusals(lambda grammar: GrammarGenerator(model, grammar, vocabulary))
    found["bad grammar"] += 1
    import outlines

    plain = outlines.Generator(model, processor=GrammarProcessor(model, grammar_of("schema"), vocabulary))
    for number in range(5):
        assert is_valid("schema", plain(f"number {number}", **options))
        found["valid, with outlines.Generator"] += 1
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=240, help="how many requests each model gets")
    parser.add_argument("--here", action="store_true", help="run in this environment")
    arguments = parser.parse_args()
    enter("outlines", PACKAGES)
    from support.loop_records import check_record

    print(versions("outlines", "torch", "transformers", "llama-cpp-python", "mlx-lm"))
    check_record("outlines")
    with tempfile.TemporaryDirectory() as folder:
        models = make_models(Path(folder))
        for name, (model, options, ways) in models.items():
            found = run(model, options, ways, arguments.requests)
            print(f"{name}: " + ", ".join([f"{n} {what}" for what, n in found.most_common()]))
        with contextlib.chdir(folder):
            run_examples("other_loops.md", "outlines", llm=models["llama.cpp"][0].model)
    print("passed")


if __name__ == "__main__":
    sys.exit(main())
