"""`vllm serve` with earleymask, asked by the `openai` client. `python -m tests.integration.vllm` starts it.

    serving.py MODE --model FOLDER        asks a server; prints a line of JSON
    serving.py serve ...                  is `vllm serve ...` for the mode `async`

The modes: `sync` asks all forms of constraints; `async` asks the same with asynchronous scheduling, a reasoning parser
and drafts; `in-reasoning` has the grammar begin with the reasoning; `options` sets all other options of
`--structured-outputs-config`, and has another reasoning parser; `mistral` has a tokenizer of mistral-common, which
writes Lark grammars for tools and schemas.

Every answer is checked without earleymask.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import jsonschema
import openai
from pydantic import BaseModel, Field

from support.served_cases import (
    BAD,
    IN_THE_ENGINE,
    OLDER_TAGS,
    TAGS,
    WEATHER,
    XGRAMMAR_EBNF,
    any_calls,
    full_match,
    hard_grammar,
    numbers,
    one_call,
    random_cases,
)
from support.served_questions import Asked
from support.server_process import running

MODEL = "m"
OPTIONS = {
    "sync": ["--tool-call-parser", "hermes"],
    "async": [
        *("--tool-call-parser", "hermes", "--async-scheduling", "--reasoning-parser", "deepseek_r1"),
        "--speculative-config",
        '{"method": "ngram_gpu", "prompt_lookup_max": 3, "num_speculative_tokens": 3}',
    ],
    "in-reasoning": [
        *("--tool-call-parser", "hermes", "--reasoning-parser", "deepseek_r1"),
        *("--structured-outputs-config", '{"enable_in_reasoning": true}'),
    ],
    "options": [
        *("--tool-call-parser", "hermes", "--reasoning-parser", "qwen3", "--structured-outputs-config"),
        '{"backend": "guidance", "disable_any_whitespace": true, "disable_additional_properties": true}',
    ],
    "mistral": [
        *("--tool-call-parser", "mistral", "--tokenizer-mode", "mistral", "--config-format", "hf"),
        *("--structured-outputs-config", '{"backend": "guidance"}'),
    ],
}
SECONDS_TO_START = 240


@contextmanager
def server(model: str, log: str, mode: str) -> Iterator[str]:
    """Run a server. Yield its address."""
    command = [
        *(sys.executable, "-P", __file__, "serve", model, "--served-model-name", MODEL),
        *("--distributed-executor-backend", "integration.vllm.executor.SamplingExecutor", "--enforce-eager"),
        *("--max-model-len", "2048", "--block-size", "16"),
        *("--enable-auto-tool-choice", *OPTIONS[mode]),
    ]
    names = {
        "EARLEYMASK_VLLM": "1",
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_TARGET_DEVICE": "cpu",
    }
    with running(command, os.environ | names, log, SECONDS_TO_START) as address:
        yield address


MESSAGES: Any = [{"role": "user", "content": "What is the weather?"}]
PARAMETERS = WEATHER
TOOLS: Any = [
    {"type": "function", "function": {"name": name, "parameters": PARAMETERS, "strict": True}}
    for name in ("weather", "sun")
]
LOOSE: Any = [{"type": "function", "function": {"name": "weather", "parameters": PARAMETERS}}]
SCHEMA_FORMAT: Any = {"type": "json_schema", "json_schema": {"name": "x", "schema": WEATHER, "strict": True}}
GRAMMAR = 'start: "yes" | "no"'
CUSTOM: Any = {
    "type": "custom",
    "custom": {"name": "t", "format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": GRAMMAR}}},
}


class Person(BaseModel):
    name: str = Field(max_length=10)
    age: int


def is_weather(text: str | None) -> None:
    assert text is not None
    jsonschema.validate(json.loads(text), WEATHER)


class Questions(Asked):
    """What is asked of a server, and what came of it."""

    allows_text_beside_tools = False
    """Whether an answer may be any text in place of a call, though a `response_format` stands beside the tools."""

    def __init__(self, address: str) -> None:
        super().__init__(address, 120)

    def complete(self, **options: Any) -> Any:
        return self.client.chat.completions.create(model=MODEL, messages=MESSAGES, **{"max_tokens": 400} | options)

    def constrained(self, constraint: dict[str, Any], **options: Any) -> Any:
        return self.complete(extra_body={"structured_outputs": constraint}, **options)

    def text(self, answer: Any) -> str:
        (choice,) = answer.choices
        assert choice.finish_reason == "stop" and choice.message.content, choice
        content: str = choice.message.content
        return content

    def calls(self, answer: Any, names: tuple[str, ...] = ("weather", "sun")) -> list[Any]:
        """Check the calls of an answer, and return them."""
        found = answer.choices[0].message.tool_calls or []
        for call in found:
            assert call.function.name in names, answer
            assert answer.choices[0].finish_reason != "length", answer
            is_weather(call.function.arguments)
        return list(found)

    # -- the questions -------------------------------------------------------------------------------------------------

    def all(self) -> None:
        self.formats()
        self.structured_outputs()
        self.tools()
        self.responses()
        self.ends()
        self.failures()
        self.together()

    def formats(self) -> None:
        def parse() -> None:
            answer = self.client.chat.completions.parse(
                model=MODEL, messages=MESSAGES, response_format=Person, max_tokens=400
            )
            assert isinstance(answer.choices[0].message.parsed, Person)

        def stream() -> None:
            chunks = list(self.complete(response_format=SCHEMA_FORMAT, stream=True))
            is_weather("".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices))

        def two() -> None:
            for choice in self.complete(response_format=SCHEMA_FORMAT, n=2).choices:
                is_weather(choice.message.content)

        def json_object() -> None:
            answer = self.complete(response_format={"type": "json_object"}, max_tokens=1000)
            assert isinstance(json.loads(self.text(answer)), dict)

        tags: Any = {**TAGS}
        older: Any = {"type": "structural_tag", **OLDER_TAGS}
        self.ask(
            "response_format json_schema", lambda: is_weather(self.text(self.complete(response_format=SCHEMA_FORMAT)))
        )
        self.ask("response_format json_schema, stream", stream)
        self.ask("response_format json_schema, n=2", two)
        self.ask("response_format json_object", json_object)
        self.ask("response_format structural_tag", lambda: one_call(self.text(self.complete(response_format=tags))))
        self.ask(
            "response_format structural_tag, older", lambda: any_calls(self.text(self.complete(response_format=older)))
        )
        self.ask("response_format text", lambda: self.text(self.complete(response_format={"type": "text"})) and None)
        self.ask("chat.completions.parse", parse)

    def structured_outputs(self) -> None:
        forms: dict[str, tuple[Any, Callable[[str], object]]] = {
            "json": (WEATHER, is_weather),
            "json_object": (True, json.loads),
            "regex": (r"[a-z]{3}-\d{2}", lambda text: full_match(r"[a-z]{3}-\d{2}", text)),
            "choice": (["yes", "no"], ["yes", "no"].index),
            "grammar (Lark)": ('start: "a"~2 ("b" | "c")', lambda text: full_match("aa[bc]", text)),
            "grammar (GBNF)": ('root ::= "x" [0-9]{2}', lambda text: full_match("x[0-9]{2}", text)),
            "structural_tag": (json.dumps(TAGS), one_call),
            "structural_tag with EBNF": (json.dumps(XGRAMMAR_EBNF), numbers),
        }
        for name, (value, check) in forms.items():
            field = name.partition(" ")[0]
            self.ask(
                f"structured_outputs {name}",
                lambda field=field, value=value, check=check: void(check(self.text(self.constrained({field: value})))),
            )

        def completion() -> None:
            answer = self.client.completions.create(
                model=MODEL, prompt="x", max_tokens=400, extra_body={"structured_outputs": {"json": WEATHER}}
            )
            is_weather(answer.choices[0].text.rpartition("</think>")[2])

        self.ask("completions with structured_outputs", completion)
        self.ask(
            "stop_token_ids with a text",  # the token of a line break ends the text, and is none of it
            lambda: is_weather(
                self.complete(extra_body={"structured_outputs": {"json": WEATHER}, "stop_token_ids": [201]})
                .choices[0]
                .message.content
            ),
        )

    def tools(self) -> None:
        named: Any = {"type": "function", "function": {"name": "sun"}}
        single_call: Any = {"parallel_tool_calls": False}

        def required(**options: Any) -> str:
            calls = self.calls(self.complete(tools=TOOLS, tool_choice="required", **options))
            assert calls
            return f"ok, {len(calls)} calls"

        def auto(tools: Any = TOOLS) -> str:
            found = [self.complete(tools=tools, tool_choice="auto") for _ in range(20)]
            if tools is LOOSE:
                return "ok"
            n_calls = sum(len(self.calls(answer)) for answer in found)
            assert n_calls
            return f"ok, {n_calls} calls in {len(found)} answers"

        def by_name() -> None:
            assert len(self.calls(self.complete(tools=TOOLS, tool_choice=named, **single_call), ("sun",))) == 1

        def single() -> None:
            calls = self.calls(self.complete(tools=TOOLS, tool_choice="required", **single_call))
            assert len(calls) == 1

        def none() -> None:
            answer = self.complete(tools=TOOLS, tool_choice="none")
            assert not answer.choices[0].message.tool_calls

        def stream() -> None:
            chunks = list(self.complete(tools=TOOLS, tool_choice=named, stream=True, **single_call))
            deltas = [call for chunk in chunks if chunk.choices for call in chunk.choices[0].delta.tool_calls or []]
            is_weather("".join(delta.function.arguments or "" for delta in deltas))

        def with_format() -> None:
            for _ in range(8):
                answer = self.complete(tools=TOOLS, tool_choice="auto", response_format=SCHEMA_FORMAT)
                if not self.calls(answer) and not self.allows_text_beside_tools:
                    is_weather(self.text(answer))

        allowed: Any = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [named]}}
        self.ask("tool_choice required", required)
        self.ask("tool_choice named", by_name)
        self.ask("tool_choice named, stream", stream)
        self.ask("tool_choice auto, strict tools", auto)
        self.ask("tool_choice auto, tools that are not strict", lambda: auto(LOOSE))
        self.ask("tool_choice auto with response_format", with_format)
        self.ask("tool_choice none", none)
        self.ask("parallel_tool_calls false", single)
        self.refused("tool_choice allowed_tools", lambda: self.complete(tools=TOOLS, tool_choice=allowed))
        self.refused("custom tool with a grammar", lambda: self.complete(tools=[CUSTOM]))

    def responses(self) -> None:
        text: Any = {"format": {"type": "json_schema", "name": "x", "schema": WEATHER, "strict": True}}
        tools: Any = [{"type": "function", "name": "weather", "parameters": WEATHER, "strict": True}]

        def create(**options: Any) -> Any:
            return self.client.responses.create(model=MODEL, input="hello", max_output_tokens=400, **options)

        def required() -> None:
            calls = [
                item for item in create(tools=tools, tool_choice="required").output if item.type == "function_call"
            ]
            assert calls
            for call in calls:
                is_weather(call.arguments)

        self.ask("responses, text.format json_schema", lambda: is_weather(create(text=text).output_text))
        self.ask("responses, tool_choice required", required)

    def ends(self) -> None:
        """Cut answers, and clients that go away."""

        def cut() -> None:
            (choice,) = self.complete(response_format=SCHEMA_FORMAT, max_tokens=2).choices
            assert choice.finish_reason == "length"

        def leave() -> None:
            for _ in range(5):
                stream = self.constrained({"regex": "[a-z ]{400,}"}, stream=True, max_tokens=1000)
                next(iter(stream))
                stream.close()

        self.ask("cut by max_tokens", cut)
        self.ask("clients that go away", leave)

    def failures(self) -> None:
        for bad in BAD:
            (field,) = bad.constraint
            self.refused(f"bad {field}: {bad.message}", lambda bad=bad: self.constrained(bad.constraint), bad.message)
        tag: Any = {"type": "structural_tag", "format": {"type": "json_schema", "json_schema": {"type": "strin"}}}
        self.refused("bad structural_tag in response_format", lambda: self.complete(response_format=tag), "/type")
        self.refused(
            "a special token that is missing", lambda: self.constrained(IN_THE_ENGINE.constraint), IN_THE_ENGINE.message
        )
        self.refused("LimitError in the middle", lambda: self.constrained({"grammar": hard_grammar()}), status=500)

    def together(self) -> None:
        """Ask hundreds of mixed questions at the same time, with failing ones among them."""
        source = random_cases(2)
        cases = [next(source) for _ in range(200)]
        counts: Counter[str] = Counter()

        def one(index: int) -> None:
            if index % 50 == 25:
                with suppress(openai.InternalServerError):
                    self.constrained({"grammar": hard_grammar(1 + index)})
                    self.faults.append("no LimitError")
            if index % 20 == 10:
                with suppress(openai.BadRequestError):
                    self.constrained(random.choice(BAD).constraint)
                    self.faults.append("not refused")
            case = cases[index]
            (choice,) = self.constrained(case.constraint).choices
            counts[choice.finish_reason] += 1
            if choice.finish_reason == "stop":
                try:
                    case.check(choice.message.content or "")
                except Exception as error:
                    raise AssertionError(f"{case}: {choice.message}") from error

        def all_of_them() -> str:
            with ThreadPoolExecutor(16) as pool:
                list(pool.map(one, range(len(cases))))
            assert counts["stop"] > len(cases) * 0.8, counts
            return f"ok, {dict(counts)}"

        self.ask("200 mixed requests, 16 at a time", all_of_them)


class Reasoning(Questions):
    """The same questions. The answers follow reasoning."""

    def all(self) -> None:
        def reasoned() -> str:
            n_reasoned = 0
            for _ in range(5):  # some end their reasoning at once
                answer = self.complete(response_format=SCHEMA_FORMAT)
                is_weather(self.text(answer))
                message = answer.choices[0].message
                n_reasoned += bool(getattr(message, "reasoning", None) or getattr(message, "reasoning_content", None))
            assert n_reasoned
            return f"ok, {n_reasoned} of 5 with reasoning"

        self.ask("reasoning before a document", reasoned)
        super().all()


class InReasoning(Questions):
    """The grammar begins with the reasoning, so that the whole answer follows it, wherever vLLM puts its parts."""

    def all(self) -> None:
        def everything() -> str:
            (choice,) = self.complete(response_format=SCHEMA_FORMAT).choices
            assert choice.finish_reason == "stop", choice
            message = choice.message
            reasoning = getattr(message, "reasoning", None) or getattr(message, "reasoning_content", None)
            is_weather((reasoning or "") + (message.content or ""))
            return f"ok, {'all' if not message.content else 'not all'} of it is reasoning"

        for number in range(4):
            self.ask(f"a document with the reasoning, {number}", everything)


class Options(Reasoning):
    """Documents are compact, and have no member and no item of which the schema does not speak."""

    def all(self) -> None:
        properties = {"city": {"type": "string", "maxLength": 12}, "tags": {"prefixItems": [{"enum": ["a", "bc"]}]}}
        schema: Any = {"type": "object", "properties": properties, "required": ["city", "tags"]}  # open

        def document(text: str) -> None:
            found = json.loads(text)
            jsonschema.validate(found, schema)
            assert isinstance(found, dict) and set(found) == set(properties), found
            assert not isinstance(found["tags"], list) or len(found["tags"]) < 2, found
            assert not re.search(r"\s", re.sub(r'"(\\.|[^"\\])*"', "", text)), f"white space outside of strings: {text}"

        def documents(ask: Callable[[], Any]) -> str:
            found = [ask().choices[0] for _ in range(20)]
            whole = [choice.message.content for choice in found if choice.finish_reason == "stop"]
            for text in whole:
                document(text)
            assert len(whole) > 10, found
            return f"ok, {len(whole)} documents"

        given: Any = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
        self.ask("options with response_format", lambda: documents(lambda: self.complete(response_format=given)))
        self.ask("options with structured_outputs", lambda: documents(lambda: self.constrained({"json": schema})))
        super().all()


class Mistral(Questions):
    """Tools and schemas, for which mistral-common writes Lark grammars with special tokens."""

    allows_text_beside_tools = True  # by the grammar of mistral-common

    def all(self) -> None:
        self.tools()

        def json_object() -> None:
            answer = self.complete(response_format={"type": "json_object"}, max_tokens=1000)
            assert isinstance(json.loads(self.text(answer)), (dict, list))  # vLLM asks mistral-common for either

        def document() -> None:
            is_weather(self.text(self.complete(response_format=SCHEMA_FORMAT)))

        self.ask("response_format json_schema", document)
        self.ask("response_format json_object", json_object)


QUESTIONS = {"sync": Questions, "async": Reasoning, "in-reasoning": InReasoning, "options": Options, "mistral": Mistral}


def void(_: object) -> None:
    pass


def main() -> int:
    if sys.argv[1:2] == ["serve"]:
        from integration.vllm.engine import allow_asynchronous_scheduling
        from vllm.entrypoints.cli.main import main as run

        if "--async-scheduling" in sys.argv:
            allow_asynchronous_scheduling()
        sys.argv[0] = "vllm"
        run()
        return 0
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=QUESTIONS)
    parser.add_argument("--model", required=True)
    parser.add_argument("--log", default="vllm-serve.log", help="the file for what the server prints")
    options = parser.parse_args()
    model = f"{options.model}-mistral" if options.mode == "mistral" else options.model
    with server(model, options.log, options.mode) as address:
        questions = QUESTIONS[options.mode](address)
        questions.all()
    print(json.dumps({"mode": options.mode, "results": questions.results, "faults": questions.faults}))
    return bool(questions.faults)


if __name__ == "__main__":
    sys.exit(main())
