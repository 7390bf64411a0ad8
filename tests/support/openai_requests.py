"""Random requests with OpenAI's client, each with another grammar, whose answers are checked."""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import openai

from support.tool_requests import object_schema, random_schema

MESSAGES = [{"role": "user", "content": "hi"}]
NAME = "tiny"
MOST = 300
LETTERS = "abcdefghijklmnopqrstuvwx"
AMBIGUOUS = 'start: r0 "!"\n' + "\n".join(
    f'r{i}: r{(7 * i + 1) % 700} r{(3 * i + 2) % 700} | r{(5 * i + 3) % 700} | "a"' for i in range(700)
)
"""Each further letter takes longer than all before it."""


def hostile(rng: random.Random) -> dict[str, Any]:
    """Return `structured_outputs` with a grammar that costs much."""
    number = rng.randrange(10**6)
    patterns = {f"a.{{{i}}}$": {"type": "string"} for i in range(3, rng.randint(6, 20))}
    counted = [f"A{i}: /[a-z]{{{i},}}/" for i in range(60)]
    chain = {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(20_000)}
    objects = [{"properties": {f"k{i}": {"type": "string"}}, "required": [f"k{i}"]} for i in range(60)]
    return rng.choice(
        [
            {"grammar": f"{AMBIGUOUS}\n// {number}"},
            {"regex": "((a{900}b?){900}){900}" + str(number)},
            {"regex": f"(?:(?:[a-z]*[a-y]?)*{number}?){{3,80}}!"},
            {"json": {"type": "object", "patternProperties": patterns, "minProperties": 3, "title": str(number)}},
            {
                "json": {
                    "type": "object",
                    "patternProperties": {f"{letter}.*{number}": {} for letter in LETTERS},
                    "minProperties": 3,
                }
            },
            {"json": {"oneOf": objects * 3, "title": str(number)}},
            {"grammar": "a" * rng.randint(10, 100_000)},
            {"regex": "(" * 300 + str(number) + ")" * 300},
            {"grammar": f"start: s\ns: A s A |\nA: /[a-z]+/\n// {number}"},
            {
                "json": {
                    "type": "object",
                    "allOf": [{"required": [f"k{number + i}"]} for i in range(150)],
                    "minProperties": 200,
                }
            },
            {"json": {"type": "string", "allOf": [{"pattern": f"{letter}{number % 10}"} for letter in LETTERS]}},
            {"json": {"enum": [[number, i] for i in range(20_000)]}},
            {"json": {"$defs": {**chain, "d20000": {"const": number}}, "$ref": "#/$defs/d0"}},
            {"json": {"oneOf": objects, "title": str(number)}},
            {"choice": [f"{number}{i:06d}" for i in range(20_000)]},
            {"grammar": "\n".join(["start: " + " ".join(f"A{i}?" for i in range(60)), *counted, f"// {number}"])},
            {"grammar": f'start: "{number}" ' + "[" * 90 + '"x"' + "]" * 90},
        ]
    )


class Campaign:
    """The requests of one run, and what became of them."""

    def __init__(self, address: str, seed: int) -> None:
        self.address = address
        self.client = openai.AsyncOpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0, timeout=300)
        self.seed = seed
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []

    async def request(self, number: int) -> None:
        rng = random.Random(f"{self.seed}/{number}")
        draw = rng.random()
        try:
            if draw < 0.05:
                await self.leave(rng)
            elif draw < 0.1:
                await self.attack(rng)
            elif draw < 0.12:
                await self.too_long()
            else:
                await rng.choice([self.constrained, self.constrained, self.chat_tools, self.response])(rng, number)
        except Exception as error:
            self.wrong.append(f"request {number}: {type(error).__name__}: {str(error)[:500]}")

    def expect(self, error: openai.APIStatusError, *codes: str) -> None:
        if error.code not in codes:
            self.wrong.append(f"expected {' or '.join(codes)}: {error}")

    # What ends without an answer

    async def leave(self, rng: random.Random) -> None:
        stream = await self.client.chat.completions.create(
            model=NAME,
            messages=MESSAGES,
            max_tokens=2000,
            stream=True,
            extra_body={"structured_outputs": {"regex": "[ab]{2000}" + str(rng.randrange(10**9))}},
        )
        left = rng.randint(0, 5)
        async for _ in stream:
            if left == 0:
                break
            left -= 1
        await stream.close()
        self.counts["left"] += 1

    async def attack(self, rng: random.Random) -> None:
        try:
            found = await self.client.chat.completions.create(
                model=NAME, messages=MESSAGES, max_tokens=40, extra_body={"structured_outputs": hostile(rng)}
            )
        except openai.BadRequestError as error:
            self.expect(error, "grammar_too_costly", "invalid_grammar")
            self.counts["hostile, refused"] += 1
            return
        self.counts[f"hostile, {found.choices[0].finish_reason}"] += 1

    async def too_long(self) -> None:
        try:
            await self.client.responses.create(model=NAME, input="word " * 3000)
        except openai.BadRequestError as error:
            self.expect(error, "context_length_exceeded")
            self.counts["too long"] += 1

    # Answers

    async def constrained(self, rng: random.Random, number: int) -> None:
        kind = rng.choice(["schema", "json", "regex", "grammar", "choice"])
        options: dict[str, Any] = {}
        words = [f"{rng.choice('abcdef')}{number}{i}" for i in range(3)]
        if kind in ("schema", "json"):
            schema = {**random_schema(rng), "title": str(number)}
            if kind == "schema":
                form = {"name": "s", "schema": schema, "strict": True}
                options["response_format"] = {"type": "json_schema", "json_schema": form}
            else:
                options["structured_outputs"] = {"json": schema, "disable_any_whitespace": rng.random() < 0.5}
        elif kind == "regex":
            pattern = rf"({'|'.join(words)})-[a-f]{{{rng.randint(1, 9)}}}(\.[0-9]+)?"
            options["structured_outputs"] = {"regex": pattern}
        elif kind == "grammar":
            text = f'start: item ("," item)*\nitem: {" | ".join(map(json.dumps, words))} | "(" start ")"\n'
            options["structured_outputs"] = {"grammar": text}
        else:
            options["structured_outputs"] = {"choice": words}
        text, finish = await self.chat_text(rng, options)
        if finish == "length":
            self.counts[f"{kind}, cut"] += 1
            return
        self.counts[kind] += 1
        if kind in ("schema", "json"):
            jsonschema.validate(json.loads(text), schema)
        elif kind == "regex":
            assert re.fullmatch(pattern, text), text
        elif kind == "choice":
            assert text in words, text
        else:
            while "(" in text:
                shorter = re.sub(rf"\((?:{'|'.join(words)}|,)+\)", words[0], text)
                assert shorter != text, text
                text = shorter
            assert re.fullmatch(rf"(?:{'|'.join(words)})(?:,(?:{'|'.join(words)}))*", text), text

    async def chat_text(self, rng: random.Random, options: dict[str, Any]) -> tuple[str, str]:
        extra = {**options, **({"fit_max_tokens": True} if rng.random() < 0.8 else {})}
        given: dict[str, Any] = {"model": NAME, "messages": MESSAGES, "max_tokens": MOST, "extra_body": extra}
        given |= {
            "temperature": rng.choice([0, 0.7, 1.0, 1.5]),
            "top_p": rng.choice([1.0, 0.9]),
            "seed": rng.randrange(99),
        }
        if rng.random() < 0.5:
            found = await self.client.chat.completions.create(**given)
            return found.choices[0].message.content, found.choices[0].finish_reason
        text, finish = "", ""
        async for chunk in await self.client.chat.completions.create(**given, stream=True):
            text += chunk.choices[0].delta.content or ""
            finish = chunk.choices[0].finish_reason or finish
        return text, finish

    def tools(self, rng: random.Random, number: int) -> tuple[dict[str, Any], dict[str, str]]:
        """Return a schema and the grammars of two custom tools, by their names."""
        schema = {**object_schema(rng), "title": str(number)}
        word = f"{rng.choice('abc')}{number}"
        return schema, {"lark": f'start: "run " /[a-d]{{1,4}}/ "; {word}"', "regex": rf"{word}(-[0-9]{{2}}){{1,2}}"}

    def check_call(self, name: str, text: str, schema: dict[str, Any], grammars: dict[str, str]) -> None:
        self.counts[f"call of {name}"] += 1
        if name == "f":
            jsonschema.validate(json.loads(text), schema)
        elif name == "regex":
            assert re.fullmatch(grammars["regex"], text), text
        else:
            word = grammars["lark"].rpartition("; ")[2].strip('"')
            assert re.fullmatch(rf"run [a-d]{{1,4}}; {word}", text), text

    async def chat_tools(self, rng: random.Random, number: int) -> None:
        schema, grammars = self.tools(rng, number)
        tools: list[Any] = [{"type": "function", "function": {"name": "f", "parameters": schema, "strict": True}}]
        for syntax, definition in grammars.items():
            form = {"type": "grammar", "grammar": {"syntax": syntax, "definition": definition}}
            tools.append({"type": "custom", "custom": {"name": syntax, "format": form}})
        choices = [
            "required",
            {"type": "custom", "custom": {"name": "lark"}},
            {"type": "function", "function": {"name": "f"}},
        ]
        given: dict[str, Any] = {"model": NAME, "messages": MESSAGES, "max_tokens": 2 * MOST, "tools": tools}
        given |= {"tool_choice": rng.choice(choices), "extra_body": {"fit_max_tokens": True}}
        calls: dict[int, list[str]] = {}
        if rng.random() < 0.5:
            found = await self.client.chat.completions.create(**given)
            finish = found.choices[0].finish_reason
            for index, call in enumerate(found.choices[0].message.tool_calls):
                inner = getattr(call, call.type)
                calls[index] = [inner.name, inner.input if call.type == "custom" else inner.arguments]
        else:
            async for chunk in await self.client.chat.completions.create(**given, stream=True):
                finish = chunk.choices[0].finish_reason
                for delta in chunk.choices[0].delta.tool_calls or []:
                    part = delta.function.model_dump() if delta.function else delta.custom
                    one = calls.setdefault(delta.index, ["", ""])
                    one[0] += part.get("name") or ""
                    one[1] += part.get("arguments") or part.get("input") or ""
        assert finish == "tool_calls" and calls, finish
        for name, text in calls.values():
            self.check_call(name, text, schema, grammars)

    async def response(self, rng: random.Random, number: int) -> None:
        schema, grammars = self.tools(rng, number)
        tools: list[Any] = [{"type": "function", "name": "f", "parameters": schema, "strict": True}]
        for syntax, definition in grammars.items():
            form = {"type": "grammar", "syntax": syntax, "definition": definition}
            tools.append({"type": "custom", "name": syntax, "format": form})
        given: dict[str, Any] = {"model": NAME, "input": "hi", "max_output_tokens": 2 * MOST, "tools": tools}
        given |= {"tool_choice": "required", "extra_body": {"fit_max_tokens": True}}
        if rng.random() < 0.5:
            found = await self.client.responses.create(**given)
        else:
            async for event in await self.client.responses.create(**given, stream=True):
                if event.type == "response.completed":
                    found = event.response
        assert found.status == "completed" and found.output
        for item in found.output:
            self.check_call(
                item.name, item.input if item.type == "custom_tool_call" else item.arguments, schema, grammars
            )

    async def run(self, n: int, at_once: int, pid: int, show: Callable[[str], object] = id) -> list[int]:
        """Make all requests. Return the memory of the server after each tenth of them, in MB, and show it."""
        numbers = iter(range(n))
        memory: list[int] = []
        n_done = 0

        async def work() -> None:
            nonlocal n_done
            for number in numbers:
                await self.request(number)
                n_done += 1
                if n_done * 10 // n > len(memory):
                    memory.append(resident(pid))
                    show(f"{n_done} requests, {memory[-1]} MB")

        await asyncio.gather(*[work() for _ in range(at_once)])
        await self.client.close()
        return memory

    async def attacks(self, seconds: float, attackers: int) -> None:
        """Send hostile grammars for some seconds without a break, so many at a time."""
        end = time.monotonic() + seconds
        rng = random.Random(self.seed)

        async def attack() -> None:
            while time.monotonic() < end:
                try:
                    await self.attack(rng)
                except Exception as error:
                    self.wrong.append(f"a hostile request: {type(error).__name__}: {str(error)[:500]}")

        await asyncio.gather(*[attack() for _ in range(attackers)])
        await self.client.close()


def resident(pid: int) -> int:
    """Return the memory of a process and of those that it has started, in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    started = [each for task in Path(f"/proc/{pid}/task").glob("*/children") for each in task.read_text().split()]
    own = sum(int(kilobytes) >> 10 for kilobytes in re.findall(r"VmRSS:\s+(\d+)", status))  # none once it has ended
    return own + sum(map(resident, map(int, started)))
