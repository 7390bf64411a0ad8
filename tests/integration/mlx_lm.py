"""The adapter inside `mlx_lm`: `python -m tests.integration.mlx_lm` makes an environment and runs it there.

A small random model writes texts of mixed kinds: one by one, as streams, with a draft model, and many at once in a
`BatchGenerator`, where some requests are cut, removed, or meet a limit. `--requests` sets how many there are.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from typing import Any

from support.environment import enter, run_examples, versions

PACKAGES = ["mlx[cpu]==0.32.4", "mlx-lm==0.32.2", "pytest"]
N_MOST = 60


def one_by_one(model: Any, draft: Any, tokenizer: Any, vocabulary: Any, n: int) -> Counter[str]:
    """Write texts one after the other. An error is raised, and the next request is as if there had been none."""
    import mlx.core as mx
    from mlx_lm import generate, stream_generate
    from mlx_lm.sample_utils import make_logits_processors, make_sampler

    from earleymask import LimitError
    from earleymask.integration.mlx_lm import GrammarProcessor
    from support.mixed_requests import KINDS, check_refusals, grammar_of, is_valid

    found: Counter[str] = Counter()
    for number in range(n):
        way = ("text", "draft", "stream", "cut", "limited", "penalty", "finish", "abort", "wrong")[number % 9]
        kind = KINDS[number // 9 % len(KINDS)]
        if way == "wrong":
            check_refusals(lambda grammar: GrammarProcessor(grammar, vocabulary))
            found["bad grammar"] += 1
            continue
        mx.random.seed(number)
        n_most = {"cut": 4, "finish": 6}.get(way, N_MOST)
        grammar = grammar_of("limited") if way == "limited" else grammar_of(kind)
        given: dict[str, Any] = {"max_tokens": n_most} if way == "finish" else {}
        if way == "finish":
            kind, grammar = "choices", grammar_of("choices")
        processor = GrammarProcessor(grammar, vocabulary, **given)
        processors = [*(make_logits_processors(repetition_penalty=1.3) if way == "penalty" else []), processor]
        options = {"max_tokens": n_most, "logits_processors": processors, "sampler": make_sampler(number % 3 / 2)}
        prompt = "Hello, " * (number % 5) + f"number {number}"
        reason = None
        try:
            if way in ("stream", "abort", "cut", "finish"):
                text = ""
                for part in stream_generate(model, tokenizer, prompt, **options):
                    text += part.text
                    reason = part.finish_reason
                    if way == "abort" and len(text) > 3:
                        break
            else:
                more = {"draft_model": draft, "num_draft_tokens": 1 + number % 4} if way == "draft" else {}
                text = generate(model, tokenizer, prompt, **options, **more)
        except LimitError:
            assert way == "limited"
            found["limit met"] += 1
            continue
        assert way != "limited"
        if (way == "cut" and reason == "length") or (way == "abort" and reason is None):
            found["cut" if way == "cut" else "aborted"] += 1
        else:
            assert is_valid(kind, text), (way, kind, number, text)
            found[f"valid, with {way}" if way in ("draft", "penalty", "finish") else "valid"] += 1
    return found


def at_once(model: Any, tokenizer: Any, vocabulary: Any, n: int) -> Counter[str]:
    """Write texts in one batch."""
    from mlx_lm.generate import BatchGenerator
    from mlx_lm.sample_utils import make_sampler

    from earleymask import Grammar
    from earleymask.integration.mlx_lm import GrammarProcessor
    from support.mixed_requests import KINDS, grammar_of, is_valid

    stops = [[token] for token in tokenizer.eos_token_ids]
    generator = BatchGenerator(model, stop_tokens=stops, sampler=make_sampler(1.0), completion_batch_size=16)
    ways = [(*KINDS, "limited", "free", "cut", "removed")[number % (len(KINDS) + 4)] for number in range(n)]
    long = Grammar.from_regex("(ab){100}")
    grammars = [long if way in ("cut", "removed") else None if way == "free" else grammar_of(way) for way in ways]
    processors = [
        None if grammar is None else GrammarProcessor(grammar, vocabulary, on_error="end") for grammar in grammars
    ]
    uids = generator.insert(
        [[1 + (5 * at + each) % 250 for each in range(1 + at % 30)] for at in range(n)],
        max_tokens=[5 if way == "cut" else N_MOST for way in ways],
        logits_processors=[[] if processor is None else [processor] for processor in processors],
    )
    written: dict[int, list[int]] = {uid: [] for uid in uids}
    reasons: dict[int, str] = {}
    while responses := generator.next_generated():
        for response in responses:
            if response.finish_reason != "stop":
                written[response.uid].append(response.token)
            if response.finish_reason is not None:
                reasons[response.uid] = response.finish_reason
        leaving = [uid for uid, way in zip(uids, ways, strict=True) if way == "removed" and len(written[uid]) == 8]
        generator.remove([uid for uid in leaving if reasons.setdefault(uid, "removed") == "removed"])
        written.update({uid: [] for uid in leaving})
    found: Counter[str] = Counter()
    for uid, way, processor in zip(uids, ways, processors, strict=True):
        text = b"".join(map(vocabulary.token_bytes, written[uid]))
        if way in KINDS:
            assert processor is not None and processor.error is None and is_valid(way, text), (way, text)
            found["valid at once"] += 1
        elif way == "limited":
            assert processor is not None and type(processor.error).__name__ == "LimitError" and text == b"abc"
            found["limit met at once"] += 1
        else:
            assert reasons[uid] == ("removed" if way == "removed" else "length") or way == "free"
            found[f"{way} at once"] += 1
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=320, help="how many requests, in each of two ways")
    parser.add_argument("--here", action="store_true", help="run in this environment")
    arguments = parser.parse_args()
    enter("mlx_lm", PACKAGES)

    from mlx_lm.tokenizer_utils import TokenizerWrapper

    from earleymask.integration.mlx_lm import mlx_vocabulary
    from support.loop_records import check_record
    from support.mlx_models import make_model
    from support.tiny_model import tiny_tokenizer

    print(versions("mlx", "mlx-lm", "transformers", "numpy"))
    check_record("mlx_lm")
    tokenizer = TokenizerWrapper(tiny_tokenizer())
    model, draft = make_model(0, 300), make_model(1, 300)
    vocabulary = mlx_vocabulary(model, tokenizer)
    assert vocabulary.size == 300 and set(vocabulary.eos_token_ids) == tokenizer.eos_token_ids
    found = one_by_one(model, draft, tokenizer, vocabulary, arguments.requests)
    found += at_once(model, tokenizer, vocabulary, arguments.requests)
    print(", ".join([f"{n} {what}" for what, n in found.most_common()]))
    run_examples("other_loops.md", "mlx_lm", model=model, tokenizer=tokenizer)
    print("passed")


if __name__ == "__main__":
    sys.exit(main())
