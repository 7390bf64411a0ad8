"""Random tools, calls and messages; walks through masks that end."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from earleymask import Grammar, Matcher, Vocabulary, allocate_bitmask
from earleymask import tools as T
from earleymask.grammar.arguments.styles import STYLES
from earleymask.grammar.tools.arguments import find as find_notation
from earleymask.grammar.tools.style import fields

STRINGS = [
    "",
    "a",
    "Paris",
    'say "hi"',
    "two\nlines\n",
    "\n",
    " blanks ",
    "tab\tand \\ backslash \\n",
    "</b>",
    "</parameter",
    "<tool_call>",
    "</tool_call>",
    '{"name": "f", "arguments": {}}',
    '"}\n</tool_call>',
    "<|call|> [/TOOL] ]}]",
    "<think>no</think>",
    "5",
    "-1.5",
    "true",
    "null",
    "[]",
    "{}",
    '"quoted"',
    "é ü 漢字 🎉",
    "<arg_value>",
    "]<]minimax",
    '<|"',
    "&lt;&amp;&quot;",
    "a, b; c: d",
    "\u2028\x7f",
]
ENDS = [
    "</parameter>",
    "]<]minimax[>[",
    '<|"|>',
    "<escape>",
    "</cofl:value>",
    "</arg_value>",
    "<|close|>argument<|sep|>",
]
ENDS += ["</｜DSML｜parameter>", "</｜DSML｜ parameter>", "<|call|>"]
"""Texts that end strings in some notations, which cannot write strings with them."""
NAMES = ["a", "city", "n_days", "x1", "Unit", "options", "kebab-case", "q"]


def random_schema(rng: random.Random, depth: int = 0, plain: bool = False) -> dict[str, Any]:
    """Return a schema of a value. `plain`: without a choice between types."""
    kinds = ["string", "string", "integer", "number", "boolean", "null", "words", "enum"]
    if not plain:
        kinds += ["either"]
    if depth < 2:
        kinds += ["array", "object", "object"]
    kind = rng.choice(kinds)
    if kind == "words":
        return {"type": "string", "enum": rng.sample(["red", "green", "light blue", "C", "10"], rng.randint(1, 3))}
    if kind == "enum":
        return {"enum": rng.sample([1, True, None, "one", 2.5], rng.randint(1, 4))}
    if kind == "either":
        return {"anyOf": [{"type": rng.choice(["integer", "boolean", "string"])}, {"type": "null"}]}
    if kind == "array":
        return {"type": "array", "items": random_schema(rng, depth + 1, plain)}
    if kind == "object":
        return object_schema(rng, depth + 1, plain)
    return {"type": kind}


def object_schema(rng: random.Random, depth: int = 0, plain: bool = False) -> dict[str, Any]:
    names = rng.sample(NAMES, rng.randint(0, 4))
    properties = {name: random_schema(rng, depth, plain) for name in names}
    required = [name for name in names if rng.random() < 0.6]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def random_value(rng: random.Random, schema: Any) -> Any:
    if "enum" in schema:
        return rng.choice(schema["enum"])
    if "anyOf" in schema:
        return random_value(rng, rng.choice(schema["anyOf"]))
    kind = schema["type"]
    if kind == "string":
        if rng.random() < 0.03:
            return f"x{rng.choice(ENDS)}"
        return rng.choice(STRINGS) if rng.random() < 0.8 else "".join(rng.choices(STRINGS, k=3))
    if kind == "integer":
        return rng.choice([0, 1, -7, 12345678901234567890])
    if kind == "number":
        return rng.choice([0, 2.5, -0.125, 3, 1.0])
    if kind == "boolean":
        return rng.random() < 0.5
    if kind == "null":
        return None
    if kind == "array":
        return [random_value(rng, schema["items"]) for _ in range(rng.randint(0, 3))]
    properties = schema["properties"]
    return {
        name: random_value(rng, own)
        for name, own in properties.items()
        if name in schema["required"] or rng.random() < 0.5
    }


def random_tools(rng: random.Random, plain: bool = False) -> list[dict[str, Any]]:
    """Return one to three tools: functions in both shapes, some without parameters, custom tools."""
    found: list[dict[str, Any]] = []
    for name in rng.sample(["f", "get_weather", "ns.search-2", "f1", "Run"], rng.randint(1, 3)):
        kind = rng.random()
        if kind < 0.1:
            found.append({"type": "custom", "custom": {"name": name}})
        elif kind < 0.2:
            found.append({"type": "function", "function": {"name": name}})
        else:
            function = {"name": name, "parameters": object_schema(rng, 0, plain)}
            flat = rng.random() < 0.5
            found.append({"type": "function", **function} if flat else {"type": "function", "function": function})
    return found


def random_call(rng: random.Random, tools: list[dict[str, Any]]) -> T.ToolCall:
    tool = rng.choice(tools)
    inner = tool.get("function", tool.get("custom", tool))
    if tool["type"] == "custom":
        return T.ToolCall(inner["name"], input=rng.choice(STRINGS))
    schema = inner.get("parameters", {"type": "object", "properties": {}, "required": []})
    return T.ToolCall(inner["name"], random_value(rng, schema))


def random_message(rng: random.Random, style: T.Style, tools: list[dict[str, Any]]) -> T.Message:
    """Return a message that the style has a form for, though maybe not its values."""
    calls = [random_call(rng, tools) for _ in range(rng.choice([0, 1, 1, 2, 3]))]
    content = rng.choice(["", "", "Hello", "Let me see:\n", "a < b {"])
    if calls and style.layout == "either" and not style.preamble:
        content = ""
    reasoning = rng.choice([None, "", "hm\n<x>", "\n\nlong\n"]) if style.reasoning else None
    return T.Message(content, calls, reasoning)


def macros(style: T.Style, tools: list[dict[str, Any]]) -> list[str]:
    """Return texts that a walk tries now and then, so that it comes to an end: pieces of templates, and punctuation."""
    found = ['"', '"', "}", "]", "0", "1", ",", ", ", ": ", "a", "true", "null", "{", "[", "</", ">", "\n"]
    templates = [*style.calls, style.section, style.reasoning, style.content, style.custom, style.preamble]
    templates.append(getattr(find_notation(style.arguments), "quote", ""))
    row = STYLES.get(style.arguments)
    if row is not None:
        found += [text for text in (*row.texts(), row.end_of(row.item_name)) if text]
    for template in templates:
        found += [part for part in fields(template)[::2] if part]
    for tool in tools:
        inner = tool.get("function", tool.get("custom", tool))
        found += [inner["name"], *inner.get("parameters", {}).get("properties", ())]
    return [*found, style.joint or "a", style.tail or "a", style.between or "a"]


def walk(
    rng: random.Random,
    allowed: Callable[[], list[int]],
    accept: Callable[[int], bool],
    go_back: Callable[[int], None],
    words: list[bytes],
    eos: int,
    steps: int = 1500,
) -> bytes | None:
    """Return the bytes of a walk through masks over a vocabulary of bytes, None if it has not come to an end."""
    text = bytearray()
    for _ in range(steps):
        tokens = allowed()
        assert tokens, text
        if eos in tokens and rng.random() < 0.6:
            return bytes(text)
        if len(tokens) == 1:
            byte = tokens[0]
            if byte == eos:
                return bytes(text)
            assert accept(byte)
            text.append(byte)
            continue
        if rng.random() < 0.7:
            word = rng.choice(words)
            done = 0
            for byte in word:
                if not accept(byte):
                    break
                done += 1
            if done == len(word):
                text += word
            else:
                go_back(done)
            continue
        plain = [token for token in tokens if token < 128]  # XGrammar's free text may be no UTF-8
        byte = rng.choice(plain or [token for token in tokens if token != eos])
        assert accept(byte)
        text.append(byte)
    return None


def walk_grammar(rng: random.Random, grammar: Grammar, vocabulary: Vocabulary, words: list[bytes]) -> str | None:
    """Return the text of a walk through the masks of a grammar over `Vocabulary.bytes()`, None if it does not end."""
    matcher = Matcher(grammar, vocabulary)
    row = allocate_bitmask(1, vocabulary.size)[0]

    def allowed() -> list[int]:
        matcher.fill_bitmask(row)
        bits = np.unpackbits(row.view(np.uint8), bitorder="little")[: vocabulary.size]
        tokens: list[int] = np.flatnonzero(bits).tolist()
        return tokens

    found = walk(rng, allowed, matcher.accept, matcher.rollback, words, 256)
    return None if found is None else found.decode()
