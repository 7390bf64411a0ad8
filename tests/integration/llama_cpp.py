"""The adapter inside llama.cpp: `python -m tests.integration.llama_cpp` makes an environment and runs it there.

Two small models are made, with a byte-level vocabulary and with one like SentencePiece's. Hundreds of requests of mixed
kinds run through llama-cpp-python, in two threads, with several ways of sampling, whole or as streams. Some are cut,
aborted or wrong, and some meet a limit in the middle. `--requests` sets how many there are.

Building llama-cpp-python takes some minutes, and needs a compiler.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import re
import sys
import tempfile
import threading
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from support.environment import enter, run_examples, versions

PACKAGES = ["llama-cpp-python==0.3.36", "gguf==0.19.0"]
SAMPLING: list[dict[str, Any]] = [
    {"temperature": 0.0},
    {"temperature": 1.0, "top_k": 0},
    {"temperature": 1.0},
    {"temperature": 1.3, "top_p": 0.5, "min_p": 0.2},
    {"temperature": 1.0, "typical_p": 0.5},
    {"temperature": 1.0, "repeat_penalty": 1.5, "presence_penalty": 0.5, "frequency_penalty": 0.5},
    {"temperature": 1.0, "mirostat_mode": 1},
    {"temperature": 1.0, "mirostat_mode": 2},
    {"temperature": -1.0},
]
WAYS = ("text", "ids", "stream", "chat", "cut", "finish", "abort", "limited")


def request(llm: Any, vocabulary: Any, way: str, kind: str, options: dict[str, Any], number: int) -> str:
    """Make a request, check its text, and return what became of it."""
    from earleymask import Grammar, LimitError
    from earleymask.integration.llama_cpp import GrammarProcessor
    from support.mixed_requests import grammar_of, is_valid

    prompt = "Hello, " * (number % 5) + f"number {number}"
    grammar = grammar_of("limited" if way == "limited" else kind)
    n_most = {"cut": 3, "finish": 12}.get(way, 100)
    if way == "finish":
        grammar = Grammar.from_regex("[a-z]{2,}!")
    given = {"max_tokens": n_most} if way == "finish" else {}
    try:
        with GrammarProcessor(llm, grammar, vocabulary, **given) as processor:
            options = {**options, "max_tokens": n_most, "logits_processor": [processor]}
            if way == "chat":
                answer = llm.create_chat_completion([{"role": "user", "content": prompt}], **options)["choices"][0]
                text, reason = answer["message"]["content"], answer["finish_reason"]
            elif way in ("stream", "abort"):
                text, reason = "", None
                for part in llm(prompt, stream=True, **options):
                    text += part["choices"][0]["text"]
                    reason = part["choices"][0]["finish_reason"]
                    if way == "abort" and len(text) > 2:
                        return "aborted"
            else:
                given_prompt = llm.tokenize(prompt.encode()) if way == "ids" else prompt
                answer = llm(given_prompt, **options)["choices"][0]
                text, reason = answer["text"], answer["finish_reason"]
    except LimitError:
        assert way == "limited"
        return "limit met"
    assert way != "limited"
    if way == "finish":
        assert reason == "stop" and re.fullmatch("[a-z]{2,}!", text), (text, reason)
        return "finished within its tokens"
    if reason == "stop":
        assert is_valid(kind, text), (way, kind, options, text)
        return "valid"
    assert reason == "length" or way == "abort", reason
    return "cut"


def refusals(llm: Any, vocabulary: Any) -> Counter[str]:
    """Check what is refused, and that the model goes on after it."""
    from llama_cpp import LogitsProcessorList
    from llama_cpp.llama_speculative import LlamaPromptLookupDecoding

    from earleymask import EmptyMaskError, Grammar, GrammarError, RejectedTokenError, Vocabulary, VocabularyError
    from earleymask.integration.llama_cpp import GrammarProcessor
    from support.mixed_requests import grammar_of, is_valid

    found: Counter[str] = Counter()
    grammar = grammar_of("schema")
    try:
        GrammarProcessor(llm, 'start: "a', vocabulary)
    except GrammarError:
        found["bad grammar"] += 1
    try:
        GrammarProcessor(llm, Grammar.from_lark('start: "a" <|none|>'), vocabulary)
    except VocabularyError:
        found["special token that is not there"] += 1
    # llama-cpp-python drops processors beside a logit_bias.
    try:
        with GrammarProcessor(llm, grammar, vocabulary) as processor:
            llm("a", max_tokens=5, logits_processor=LogitsProcessorList([processor]), logit_bias={"5": 1.0})
    except RuntimeError:
        found["dropped processor"] += 1
    processor = GrammarProcessor(llm, grammar, vocabulary)
    answer = llm("a", max_tokens=50, logits_processor=[processor])["choices"][0]
    assert (answer["text"], answer["finish_reason"]) == ("", "stop") and processor.error is not None
    found["no with statement"] += 1
    try:
        with GrammarProcessor(llm, grammar, vocabulary) as processor:
            llm("a", max_tokens=50, logits_processor=[processor])
            llm("b", max_tokens=50, logits_processor=[processor])
    except ValueError:
        found["second request"] += 1
    # A loop of one's own goes on with a token that is not allowed: nothing after it goes without a constraint.
    try:
        with GrammarProcessor(llm, grammar, vocabulary) as processor:
            ids = llm.tokenize(b"a")
            llm.reset()
            llm._sampler = None  # or it is the one of the request before
            llm.eval(ids)
            assert vocabulary.token_bytes(llm.sample(logits_processor=[processor])).startswith(b"{")
            llm.eval([ids[-1]])
            assert llm.sample(logits_processor=[processor]) in vocabulary.eos_token_ids
    except RejectedTokenError:
        found["foreign token"] += 1
    llm.draft_model = LlamaPromptLookupDecoding()
    try:
        GrammarProcessor(llm, grammar, vocabulary)
    except ValueError:
        found["draft model"] += 1
    llm.draft_model = None
    try:
        with GrammarProcessor(llm, 'start: "é"', Vocabulary.from_tokens([b"a", b""], eos_token_id=1)) as processor:
            llm("a", max_tokens=5, logits_processor=[processor])
    except EmptyMaskError:
        found["vocabulary that cannot spell it"] += 1
    with GrammarProcessor(llm, grammar, vocabulary) as processor:
        answer = llm("a", max_tokens=100, logits_processor=[processor])["choices"][0]
    assert is_valid("schema", answer["text"])
    assert len(found) == 8, found
    return found


def check_vocabulary(llm: Any, kind: str) -> None:
    """Compare the vocabulary with the tokens that were written into the file."""
    from earleymask.integration.llama_cpp import llama_vocabulary
    from support.gguf_models import KINDS, OTHERS, VOCABULARIES

    vocabulary = llama_vocabulary(llm)
    texts, types, settings = (VOCABULARIES | OTHERS)[kind]()
    letters = {text: bytes([byte]) for byte, text in enumerate(texts[:256])} if kind == "byte_level" else {}
    assert vocabulary.size == len(texts)
    ends = {settings["eos"], *[at for at, text in enumerate(texts) if text in ("<|eot_id|>", "<|im_end|>")]}
    assert set(vocabulary.eos_token_ids) == ends, vocabulary.eos_token_ids
    for token_id, (text, type_) in enumerate(zip(texts, types, strict=True)):
        if type_ in (KINDS.CONTROL, KINDS.UNKNOWN):
            expected = b""
            assert vocabulary.special_tokens[text] == token_id and token_id in vocabulary.special_token_ids
        elif type_ == KINDS.UNUSED:
            expected = b""
        elif type_ == KINDS.BYTE:
            expected = bytes([int(text[3:5], 16)])
        elif type_ == KINDS.USER_DEFINED:
            expected = text.encode()
        elif kind == "rwkv":
            expected = text.encode().decode("unicode_escape").encode("latin-1")
        elif letters:
            expected = b"".join([letters[letter] for letter in text])
        else:
            expected = text.replace("▁", " ").encode()
        assert vocabulary.token_bytes(token_id) == expected, (token_id, text)


def run(llm: Any, kind: str, n: int, seed: int, counts: Counter[str], errors: list[Exception]) -> None:
    """Make requests with one model, in a thread of its own."""
    from earleymask.integration.llama_cpp import llama_vocabulary
    from support.mixed_requests import KINDS

    try:
        check_vocabulary(llm, kind)
        vocabulary = llama_vocabulary(llm)
        rng = random.Random(seed)
        for number in range(n):
            way, sampling = WAYS[number % len(WAYS)], rng.choice(SAMPLING)
            counts[request(llm, vocabulary, way, rng.choice(KINDS), sampling, number)] += 1
        counts.update({f"refused: {what}": times for what, times in refusals(llm, vocabulary).items()})
    except Exception as error:
        errors.append(error)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=400, help="how many requests each model gets")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--here", action="store_true", help="run in this environment")
    arguments = parser.parse_args()
    enter("llama_cpp", PACKAGES)

    from llama_cpp import Llama

    from earleymask import VocabularyError
    from support.gguf_models import OTHERS, VOCABULARIES, write_model

    print(versions("llama-cpp-python", "gguf", "numpy"))
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in VOCABULARIES}
    errors: list[Exception] = []
    with tempfile.TemporaryDirectory() as folder:
        threads = []
        for kind in VOCABULARIES:
            path = Path(folder, f"{kind}.gguf")
            write_model(path, kind, seed=arguments.seed)
            # Not in the threads: with verbose=False this redirects the output of the whole process for a moment.
            llm = Llama(str(path), n_ctx=512, n_threads=1, seed=arguments.seed, verbose=False, chat_format="llama-2")
            given = (llm, kind, arguments.requests, arguments.seed, counts[kind], errors)
            threads.append(threading.Thread(target=run, args=given))
        for thread in threads:
            thread.start()  # each model serves one request at a time
        for thread in threads:
            thread.join()
        for kind in OTHERS:
            path = Path(folder, f"{kind}.gguf")
            write_model(path, kind)
            llm = Llama(str(path), vocab_only=True, n_ctx=8, verbose=False)
            try:
                check_vocabulary(llm, kind)
                assert kind != "wordpiece"
            except VocabularyError:
                assert kind == "wordpiece"
        with contextlib.chdir(folder):
            write_model(Path("model.gguf"), "byte_level", seed=arguments.seed)
            run_examples("llama_cpp.md", "llama_cpp")
    for kind, found in counts.items():
        print(f"{kind}: " + ", ".join([f"{n} {what}" for what, n in found.most_common()]))
    for error in errors:
        traceback.print_exception(error)
    if errors:
        sys.exit("a thread has failed")
    print("passed")


if __name__ == "__main__":
    sys.exit(main())
