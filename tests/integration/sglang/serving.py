"""SGLang's server with earleymask, asked for all forms of constraints. `python -m tests.integration.sglang` starts it.

    serving.py MODE --model FOLDER --log FILE --requests N          prints a line of JSON

MODE is `overlap` (as SGLang is by default), `plain` (without overlap of scheduler and model), `ngram` (with trees of
drafts from n-grams) or `reasoning` (with a reasoning parser, and strict thinking of at most 40 tokens). Every answer is
checked without earleymask.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import openai
from openai.types.chat import ChatCompletion

from support.served_cases import (
    BAD,
    IN_THE_ENGINE,
    OLDER_TAGS,
    TAGS,
    WEATHER,
    XGRAMMAR_EBNF,
    Case,
    any_calls,
    full_match,
    hard_grammar,
    numbers,
    one_call,
    random_cases,
)
from support.served_questions import Asked
from support.server_process import running

HERE = Path(__file__).parent
MODEL = "m"
SECONDS_TO_START = 400
N_THINK = 40
MODES = {
    "overlap": ["--tool-call-parser", "qwen25"],
    "plain": ["--tool-call-parser", "qwen25", "--disable-overlap-schedule"],
    "ngram": [
        *("--tool-call-parser", "qwen25", "--speculative-algorithm", "NGRAM"),
        *("--speculative-num-draft-tokens", "6"),
    ],
    "reasoning": ["--tool-call-parser", "qwen25", "--reasoning-parser", "deepseek-r1", "--enable-strict-thinking"],
}


@contextmanager
def server(mode: str, model: str, log: str) -> Iterator[str]:
    """Run a server. Yield its address."""
    command = [
        *(sys.executable, "-P", "-m", "sglang.launch_server", "--model-path", model, "--served-model-name", MODEL),
        *("--device", "cpu", "--grammar-backend", "earleymask", "--load-format", "dummy", "--disable-cuda-graph"),
        *("--max-total-tokens", "40000", "--max-running-requests", "32", "--skip-server-warmup"),
        *MODES[mode],
    ]
    names = {"SGLANG_MAX_THINK_TOKENS": str(N_THINK), "CHANCE_THINKS": "1"} if mode == "reasoning" else {}
    if mode == "ngram":
        names["PYTHONPATH"] = os.pathsep.join([os.environ["PYTHONPATH"], str(HERE / "stubs_speculation")])
        names["SGLANG_USE_CPU_ENGINE"] = "1"  # the kernels for CPUs, which stand there
    with running(command, os.environ | names, log, SECONDS_TO_START) as address:
        yield address


MESSAGES: Any = [{"role": "user", "content": "What is the weather?"}]
TOOLS: Any = [
    {"type": "function", "function": {"name": name, "parameters": WEATHER, "strict": True}}
    for name in ("weather", "sun")
]
SCHEMA_FORMAT: Any = {"type": "json_schema", "json_schema": {"name": "x", "schema": WEATHER, "strict": True}}


def is_weather(text: str | None) -> None:
    assert text is not None
    jsonschema.validate(json.loads(text), WEATHER)


def fields(constraint: dict[str, Any]) -> dict[str, str]:
    """Return the field of SGLang's sampling parameters for a constraint as vLLM writes it."""
    ((name, value),) = constraint.items()
    if name == "json":
        return {"json_schema": value if isinstance(value, str) else json.dumps(value)}
    if name == "json_object":
        return {"json_schema": '{"type": "object"}'}
    if name == "choice":
        return {"regex": "|".join(map(re.escape, value))}
    return {{"grammar": "ebnf"}.get(name, name): value}


class Questions(Asked):
    """What is asked of a server, and what came of it."""

    def __init__(self, address: str, mode: str) -> None:
        super().__init__(address, 300)
        self.http = httpx.Client(base_url=address, timeout=300, limits=httpx.Limits(max_connections=64))
        self.reasons = mode == "reasoning"
        self.speculates = mode == "ngram"

    def message(self, refusal: openai.APIStatusError) -> str:
        return refusal.message.replace("\\\\", "\\")

    def complete(self, **options: Any) -> Any:
        """Ask for a chat completion. Ask again if the model has ended while it reasoned, which SGLang lets it do."""
        options = {"max_tokens": 1000, **options}
        answer = self.client.chat.completions.create(model=MODEL, messages=MESSAGES, **options)
        for _ in range(4):
            if not self.reasons or not isinstance(answer, ChatCompletion):
                break
            ended = [each for each in answer.choices if each.finish_reason == "stop" and not each.message.content]
            if not ended:
                break
            answer = self.client.chat.completions.create(model=MODEL, messages=MESSAGES, **options)
        return answer

    def text(self, answer: Any) -> str:
        (choice,) = answer.choices
        assert choice.finish_reason == "stop", choice
        content: str = choice.message.content or ""  # a tag may allow no text
        return content

    def calls(self, answer: Any, names: tuple[str, ...] = ("weather", "sun")) -> list[Any]:
        """Check the calls of an answer, and return them."""
        assert answer.choices[0].finish_reason != "length", answer
        found = answer.choices[0].message.tool_calls or []
        for call in found:
            assert call.function.name in names, answer
            is_weather(call.function.arguments)
        return list(found)

    # -- the questions -------------------------------------------------------------------------------------------------

    def all(self, n_requests: int) -> None:
        self.formats()
        self.extra_fields()
        self.tools()
        self.ends()
        self.failures()
        self.together(n_requests)

    def formats(self) -> None:
        def stream() -> None:
            chunks = list(self.complete(response_format=SCHEMA_FORMAT, stream=True))
            is_weather("".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices))

        def two() -> None:
            for choice in self.complete(response_format=SCHEMA_FORMAT, n=2).choices:
                is_weather(choice.message.content)

        def json_object() -> None:
            for _ in range(10):
                answer = self.complete(response_format={"type": "json_object"}, max_tokens=1000)
                if answer.choices[0].finish_reason == "stop":
                    assert isinstance(json.loads(self.text(answer)), dict)
                    return
            raise AssertionError("no document ends")

        def reasoned() -> str:
            lengths = []
            for _ in range(5):
                answer = self.complete(response_format=SCHEMA_FORMAT)
                is_weather(self.text(answer))
                lengths.append(len(answer.choices[0].message.reasoning_content or ""))
            assert any(lengths) == self.reasons, lengths
            return "ok, with reasoning" if self.reasons else "ok"

        tags: Any = {**TAGS}
        older: Any = {"type": "structural_tag", **OLDER_TAGS}
        self.ask("response_format json_schema", reasoned)
        self.ask("response_format json_schema, stream", stream)
        self.ask("response_format json_schema, n=2", two)
        self.ask("response_format json_object", json_object)
        self.ask("response_format structural_tag", lambda: one_call(self.text(self.complete(response_format=tags))))
        self.ask(
            "response_format structural_tag, older", lambda: any_calls(self.text(self.complete(response_format=older)))
        )

    def extra_fields(self) -> None:
        forms: dict[str, tuple[str, Callable[[str], object]]] = {
            "regex": (r"[a-z]{3}-\d{2}", lambda text: full_match(r"[a-z]{3}-\d{2}", text)),
            "ebnf (Lark)": ('start: "a"~2 ("b" | "c")', lambda text: full_match("aa[bc]", text)),
            "ebnf (GBNF)": ('root ::= "x" [0-9]{2}', lambda text: full_match("x[0-9]{2}", text)),
        }
        for name, (value, check) in forms.items():
            field = name.partition(" ")[0]
            self.ask(
                f"chat with {name}",
                lambda field=field, value=value, check=check: void(
                    check(self.text(self.complete(extra_body={field: value})))
                ),
            )

        def completion() -> None:
            answer = self.client.completions.create(
                model=MODEL, prompt="x", max_tokens=400, extra_body={"json_schema": json.dumps(WEATHER)}
            )
            is_weather(answer.choices[0].text)

        def tag() -> None:
            found = self.generate({"structural_tag": json.dumps(XGRAMMAR_EBNF)})
            numbers(found["text"])

        def any_json() -> None:
            for _ in range(10):
                found = self.generate({"json_schema": "$$ANY$$"})
                if found["meta_info"]["finish_reason"]["type"] == "stop":
                    json.loads(found["text"])
                    return
            raise AssertionError("no document ends")

        self.ask("completions with json_schema", completion)
        self.ask("/generate with structural_tag, EBNF inside", tag)
        self.ask("/generate with $$ANY$$", any_json)

    def tools(self) -> None:
        named: Any = {"type": "function", "function": {"name": "sun"}}

        def required(**options: Any) -> str:
            calls = self.calls(self.complete(tools=TOOLS, tool_choice="required", **options))
            assert calls
            return f"ok, {len(calls)} calls"

        def auto() -> str:
            found = [self.complete(tools=TOOLS, tool_choice="auto") for _ in range(20)]
            found = [answer for answer in found if answer.choices[0].finish_reason != "length"]
            return f"ok, {sum(len(self.calls(answer)) for answer in found)} calls in {len(found)} answers"

        def by_name() -> str:
            # With this tool parser, SGLang asks for a call of any tool (docs/sglang.md).
            return f"ok, {len(self.calls(self.complete(tools=TOOLS, tool_choice=named)))} calls"

        def stream() -> None:
            chunks = list(self.complete(tools=TOOLS, tool_choice=named, stream=True))
            deltas = [call for chunk in chunks if chunk.choices for call in chunk.choices[0].delta.tool_calls or []]
            arguments: dict[int, str] = {}
            for delta in deltas:
                arguments[delta.index] = arguments.get(delta.index, "") + (delta.function.arguments or "")
            assert arguments
            for text in arguments.values():
                is_weather(text)

        self.ask("tool_choice required", required)
        self.ask("tool_choice named", by_name)
        self.ask("tool_choice named, stream", stream)
        self.ask("tool_choice auto, strict tools", auto)

    def ends(self) -> None:
        """Cut answers, and clients that go away."""

        def cut() -> None:
            (choice,) = self.complete(response_format=SCHEMA_FORMAT, max_tokens=2).choices
            assert choice.finish_reason == "length", choice

        def leave() -> None:
            for _ in range(5):
                stream = self.complete(extra_body={"regex": "[a-z ]{400,}"}, stream=True, max_tokens=1000)
                next(iter(stream))
                stream.close()

        def at_least() -> str:
            """Ask for more tokens than the grammar has: EOS is excluded where nothing else is allowed."""
            for number in range(8):
                least = {"min_new_tokens": 5 + number}
                found = self.generate({"regex": "[ab]{2}|[a-c]{30}"}, sampling_params=least)
                assert found["meta_info"]["finish_reason"]["type"] == "stop", found
                full_match("[ab]{2}|[a-c]{30}", found["text"])
            found = self.generate({"regex": "[ab]{2,}"}, sampling_params={"min_new_tokens": 20, "max_new_tokens": 300})
            assert found["meta_info"]["completion_tokens"] >= 20, found
            return "ok"

        if not self.speculates:  # then it may end the engine
            self.ask("min_new_tokens beyond the grammar", at_least)
        self.ask("cut by max_tokens", cut)
        self.ask("clients that go away", leave)

    def failures(self) -> None:
        def ask(constraint: dict[str, Any]) -> Any:
            found = fields(constraint)
            if "json_schema" in found:
                return self.client.completions.create(model=MODEL, prompt="x", extra_body=found)
            if "structural_tag" in found:
                tag = json.loads(found["structural_tag"])
                return self.complete(response_format=tag)
            return self.complete(extra_body=found)

        for bad in BAD:
            (field,) = bad.constraint
            known = () if field == "structural_tag" else (bad.message,)  # SGLang itself refuses that one
            self.refused(f"bad {field}: {bad.message}", lambda bad=bad: ask(bad.constraint), *known)
        self.refused("a special token that is missing", lambda: ask(IN_THE_ENGINE.constraint), IN_THE_ENGINE.message)
        self.refused("LimitError in the middle", lambda: ask({"grammar": hard_grammar()}), "seconds", status=500)

    # -- many at a time ------------------------------------------------------------------------------------------------

    def generate(self, constraint: dict[str, str], **options: Any) -> Any:
        """Ask SGLang's own endpoint."""
        parameters = {"max_new_tokens": 400, "temperature": 1.0, **constraint}
        body = {"text": "hello", "sampling_params": parameters | options.pop("sampling_params", {}), **options}
        answer = self.http.post("/generate", json=body)
        found = answer.json()
        if answer.status_code != 200:
            found = {"status": answer.status_code, "message": json.dumps(found, ensure_ascii=False)}
        return found

    def together(self, n_requests: int) -> None:
        """Ask hundreds of mixed questions at the same time, with failing ones, cut ones and aborted ones among them."""
        cases = list(islice(random_cases(2), n_requests))
        counts: Counter[str] = Counter()
        kinds: Counter[str] = Counter()

        def fail(index: int) -> None:
            """Ask for what fails, and for nothing else."""
            if index % 50 == 25:
                found = self.generate(fields({"grammar": hard_grammar(1 + index)}))
                counts[f"limit met: {found.get('status')}"] += 1
                assert found.get("status") == 500 and "seconds" in found["message"], found
            if index % 20 == 10:
                bad = BAD[index // 20 % len(BAD)]
                found = self.generate(fields(bad.constraint))
                counts[f"bad: {found.get('status')}"] += 1
                message = found.get("message", "").replace("\\\\", "\\")
                assert found.get("status") == 400 and bad.message in message, found
            if index % 30 == 15:
                name = f"aborted-{index}"
                pool = ThreadPoolExecutor(1)
                waiting = pool.submit(
                    self.generate, {"regex": "[a-z ]{900,}"}, rid=name, sampling_params={"max_new_tokens": 1000}
                )
                while not waiting.done():
                    time.sleep(0.3)
                    self.http.post("/abort_request", json={"rid": name})
                counts["aborted"] += 1
                assert "abort" in json.dumps(waiting.result()).lower(), waiting.result()

        def one(index: int) -> None:
            fail(index)
            case: Case = cases[index]
            options: dict[str, Any] = {}
            if index % 15 == 3:
                options["sampling_params"] = {"max_new_tokens": 1 + index % 4}
            if self.reasons and index % 2:
                options["require_reasoning"] = True
            found = self.generate(fields(case.constraint), **options)
            assert "text" in found, (case, found)
            reason, text = found["meta_info"]["finish_reason"]["type"], found["text"]
            counts[reason] += 1
            if "require_reasoning" in options and reason == "stop":
                _, mark, text = text.partition("</think>")
                if not mark:  # SGLang lets a model end while it thinks
                    counts["ended in reasoning"] += 1
                    return
                counts["reasoned"] += 1
            if reason == "stop":
                kinds[case.kind] += 1
                try:
                    case.check(text)
                except Exception as error:
                    raise AssertionError(f"{case}: {text!r}") from error
            else:
                assert reason == "length", found

        def guarded(index: int) -> None:
            try:
                one(index)
            except Exception as error:
                self.faults.append(f"request {index}: {error!r}"[:500])

        def all_of_them() -> str:
            with ThreadPoolExecutor(24) as pool:
                list(pool.map(guarded, range(len(cases))))
            assert counts["stop"] > len(cases) * 0.7, counts
            assert counts["reasoned"] > len(cases) * 0.2 or not self.reasons, counts
            return f"ok, {dict(counts)}; valid: {dict(kinds)}"

        self.ask(f"{n_requests} mixed requests, 24 at a time", all_of_them)


def void(_: object) -> None:
    pass


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=MODES)
    parser.add_argument("--model", required=True)
    parser.add_argument("--log", default="sglang-serve.log", help="the file for what the server prints")
    parser.add_argument("--requests", type=int, default=300)
    options = parser.parse_args()
    random.seed(0)
    with server(options.mode, options.model, options.log) as address:
        questions = Questions(address, options.mode)
        questions.all(options.requests)
    if "Scheduler hit an exception" in Path(options.log).read_text(encoding="utf-8"):
        questions.faults.append("the scheduler ended with an error")
    print(json.dumps({"results": questions.results, "faults": questions.faults[:50]}))
    return bool(questions.faults)


if __name__ == "__main__":
    sys.exit(main())
