"""Messages of every style, read by vLLM's tool parsers and by `earleymask.tools.parse`.

    python -m tests.tools.against_vllm --python ENVIRONMENT/bin/python --messages 400

`--python` is the interpreter of an environment that has vLLM 0.33.0, xgrammar, jsonschema and cohere_melody. Without
it, the command makes one in the folder `--environment`; it takes gigabytes. Half of the messages are walks through the
masks of `Grammar.from_tools`, half are written by `render`. Each is read whole, and token by token. The command prints
a table, and the shortest example of each kind of difference. docs/tools.md tells the reasons. It fails if there
is a kind of difference that `KNOWN` and `COMMON` lack.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from earleymask import Grammar, Vocabulary
from earleymask import tools as T
from support.tool_requests import macros, random_message, random_tools, walk_grammar

VERSION = "0.33.0"
WORKER = Path(__file__).with_name("vllm_parsers.py")


class Peer(NamedTuple):
    """The parser of vLLM for a style.

    Attributes:
        parser: its name, as in `--tool-call-parser`.
        tokens: special tokens of the models, separated by blanks.
    """

    parser: str
    tokens: str = ""


DEEPSEEK = "<｜tool▁calls▁begin｜> <｜tool▁calls▁end｜> <｜tool▁call▁begin｜> <｜tool▁call▁end｜> <｜tool▁sep｜>"
COHERE = "<|START_ACTION|> <|END_ACTION|> <|START_RESPONSE|> <|END_RESPONSE|> <|START_THINKING|> <|END_THINKING|>"
KIMI = "<|tool_calls_section_begin|> <|tool_calls_section_end|> <|tool_call_begin|> <|tool_call_end|>"
TAGS = "<tool_call> </tool_call> <think> </think>"
PEERS = {
    "cohere": Peer("cohere_command5", COHERE),
    "command_a": Peer("cohere_command3", COHERE),
    "deepseek_r1": Peer("deepseek_v3", DEEPSEEK),
    "deepseek_v3_1": Peer("deepseek_v31", DEEPSEEK),
    "deepseek_v3_2": Peer("deepseek_v32", "<think> </think> ｜DSML｜"),
    "deepseek_v4": Peer("deepseek_v4", "<think> </think> ｜DSML｜"),
    "deepseek_v4_1": Peer("deepseek_v41", "<think> </think> ｜DSML｜"),
    "exaone": Peer("hermes", TAGS),
    "function_gemma": Peer("functiongemma", "<start_function_call> <end_function_call> <escape>"),
    "gemma": Peer("gemma4", '<|tool_call> <tool_call|> <|"|> <|channel> <channel|>'),
    "glm_4_7": Peer("glm47", f"{TAGS} <arg_key> </arg_key> <arg_value> </arg_value>"),
    "granite": Peer("granite", "<|tool_call|>"),
    "harmony": Peer("openai"),
    "hermes": Peer("hermes", TAGS),
    "jamba": Peer("jamba", "<tool_calls> </tool_calls>"),
    "kimi": Peer("kimi_k2", f"{KIMI} <|tool_call_argument_begin|> <think> </think>"),
    "kimi_k3": Peer("kimi_k3", "<|open|> <|close|> <|sep|>"),
    "llama": Peer("llama3_json", "<|python_tag|>"),
    "longcat": Peer("longcat", "<longcat_tool_call> </longcat_tool_call>"),
    "mimo": Peer("mimo", TAGS),
    "minimax": Peer("minimax_m2", "<minimax:tool_call> </minimax:tool_call> <think> </think>"),
    "minimax_m3": Peer("minimax_m3", "]<]minimax[>[ <tool_call> </tool_call> <mm:think> </mm:think>"),
    "mistral": Peer("mistral", "[TOOL_CALLS] [ARGS] [THINK] [/THINK]"),
    "mistral_v3": Peer("mistral", "[TOOL_CALLS]"),
    "phi_4_mini": Peer("phi4_mini_json"),
    "qwen_3": Peer("qwen3_json", TAGS),
    "qwen_3_5": Peer("qwen3_xml", TAGS),
    "qwen_3_coder": Peer("qwen3_coder", TAGS),
    "seed_oss": Peer("seed_oss", "<seed:tool_call> </seed:tool_call> <seed:think> </seed:think>"),
}
"""`phi_4` has no parser there. For `harmony`, OpenAI's library downloads the vocabulary `o200k_base.tiktoken`, or takes
it from the folder that TIKTOKEN_ENCODINGS_BASE names."""


SPACE = "white space of the answer"
MARKUP = "markup in a string"
LOST = "part of an answer beside calls is lost"
NO_TEXT = "no text for empty arguments"
SPACED_NULL = "null with white space around it"
KNOWN = {
    "function_gemma": {"arguments", "arguments are no JSON", "fewer calls", "no call"},
    "granite": {"arguments are no JSON"},
    "jamba": {"arguments are no JSON"},
    "llama": {"answer", "arguments", "arguments are no JSON", "no call"},
    "phi_4_mini": {"answer", "no call"},
}
"""Kinds of difference that docs/tools.md explains, beside those that occur in many styles."""
COMMON = {SPACE, MARKUP, LOST, NO_TEXT, SPACED_NULL}


@dataclass
class Tally:
    """What came of the messages of a style.

    Attributes:
        n: messages.
        n_calls: calls in them.
        equal: by way of reading ("whole", "pieces"), messages that are read the same.
        kinds: by way of reading and kind of difference, how many.
        examples: the first of each.
    """

    n: int = 0
    n_calls: int = 0
    equal: Counter[str] = field(default_factory=Counter)
    kinds: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)


def functions(rng: random.Random) -> list[dict[str, Any]]:
    """Return tools in the one shape that vLLM reads. It has no custom tools."""
    found = []
    while not found:
        for tool in random_tools(rng, plain=True):
            if tool["type"] == "function":
                inner = {key: value for key, value in tool.get("function", tool).items() if key != "type"}
                inner.setdefault("parameters", {"type": "object", "properties": {}, "additionalProperties": False})
                found.append({"type": "function", "function": inner})
    return found


def messages(name: str, n: int, seed: int) -> Iterator[tuple[list[Any], str, str]]:
    """Yield `n` times tools, a message of a style without reasoning, and who wrote it ("render" or "masks")."""
    style = T.find_style(name)
    rng = random.Random(f"{name} {seed}")
    vocabulary = Vocabulary.bytes()
    n_found = 0
    while n_found < n:
        tools = functions(rng)
        if n_found % 2:
            message = random_message(rng, style, tools)
            message.reasoning = None
            try:
                text = T.render(message, style, tools=tools)
            except T.ToolCallError:
                continue
        else:
            grammar = Grammar.from_tools(tools, style, rng.choice(["required", "auto"]))
            words = [word.encode() for word in macros(style, tools)]
            walked = walk_grammar(rng, grammar, vocabulary, words)
            if walked is None:
                continue
            text = walked
        n_found += 1
        yield tools, text, "masks" if n_found % 2 else "render"


def difference(ours: T.Message, theirs: dict[str, Any]) -> str:
    """Return the first kind of difference between two readings, empty if there is none."""
    if "error" in theirs:
        return f"error: {theirs['error'].partition(':')[0]}"
    calls = theirs["calls"]
    if not calls and ours.calls:
        return "no call"
    if len(calls) != len(ours.calls):
        return "fewer calls" if len(calls) < len(ours.calls) else "more calls"
    for mine, call in zip(ours.calls, calls, strict=True):
        if mine.name != call["name"]:
            return "name"
        if not call["arguments"] and not mine.arguments:
            return NO_TEXT
        try:
            arguments = json.loads(call["arguments"])
        except ValueError:
            return "arguments are no JSON"
        if not same(mine.arguments, arguments):
            return SPACED_NULL if same(mine.arguments, with_nulls(arguments)) else "arguments"
    if ours.content == theirs["content"]:
        return ""
    if ours.content.split() == theirs["content"].split():
        return SPACE
    return LOST if ours.calls and theirs["content"].strip() in ours.content else "answer"


def markers(name: str) -> list[str]:
    """Return the special tokens of a style and the tags of its templates."""
    style = T.find_style(name)
    texts = [word.strip() for word in macros(style, [])]
    tags = [tag for text in texts for tag in re.findall(r"<[^\s>]{2,}>?|\[\W*\w+\W*\]|functools\[|\]<\]\w+\[>\[", text)]
    return list(dict.fromkeys([*PEERS[name].tokens.split(), *tags]))


def strings(value: Any) -> Iterator[str]:
    """Yield the strings in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def with_nulls(value: Any) -> Any:
    """Return a JSON value with null for strings that are `null` with white space around it."""
    if isinstance(value, dict):
        return {key: with_nulls(item) for key, item in value.items()}
    if isinstance(value, list):
        return [with_nulls(item) for item in value]
    return None if isinstance(value, str) and value.strip() == "null" != value else value


def same(a: Any, b: Any) -> bool:
    """Return whether two values are equal as JSON: 1 is 1.0, but not true."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)


def compare(name: str, found: Iterable[tuple[list[Any], str, str]], worker: subprocess.Popen[str]) -> Tally:
    assert worker.stdin is not None
    assert worker.stdout is not None
    peer = PEERS[name]
    tally = Tally()
    marks = markers(name)
    for tools, text, writer in found:
        line = {"parser": peer.parser, "tokens": peer.tokens.split(), "tools": tools, "text": text}
        print(json.dumps(line), file=worker.stdin, flush=True)
        ours = T.parse(text, name, tools=tools)
        results = json.loads(worker.stdout.readline())
        tally.n += 1
        tally.n_calls += len(ours.calls)
        for way in ("whole", "pieces"):
            kind = difference(ours, results[way])
            if not kind:
                tally.equal[way] += 1
                continue
            texts = [ours.content, *[text for call in ours.calls for text in strings(call.arguments)]]
            if kind not in (SPACE, NO_TEXT, SPACED_NULL) and any(marker in text for marker in marks for text in texts):
                kind = MARKUP
            tally.kinds[way, kind] += 1
            example = {"writer": writer, "text": text, "tools": tools, "ours": ours, "theirs": results[way]}
            if (way, kind) not in tally.examples or len(text) < len(tally.examples[way, kind]["text"]):
                tally.examples[way, kind] = example
    return tally


def start(python: str) -> subprocess.Popen[str]:
    """Start the program that asks vLLM's parsers. Raises RuntimeError if there is no vLLM, or another version."""
    worker = subprocess.Popen(
        [python, str(WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert worker.stdout is not None
    try:
        version = json.loads(worker.stdout.readline())["vllm"]
    except ValueError:
        raise RuntimeError(f"{python} has no vLLM; give another --python, or an --environment to make") from None
    if version != VERSION:
        worker.kill()
        raise RuntimeError(f"{python} has vLLM {version}; docs/tools.md describes {VERSION}")
    return worker


def make_environment(folder: Path) -> str:
    """Return the Python of an environment with what vLLM's parsers need. It is made if it is not there."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        needs = [f"vllm=={VERSION}", "cohere_melody", "jsonschema"]
        subprocess.run([str(python), "-m", "pip", "install", "-q", *needs], check=True)
    return str(python)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.tools.against_vllm", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--python", help="the interpreter of an environment that has vLLM")
    parser.add_argument("--environment", type=Path, help="a folder in which to make one")
    parser.add_argument("--messages", type=int, default=200, help="for each style (200)")
    parser.add_argument("--styles", default=",".join(PEERS), help="names, separated by commas (all)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quiet", action="store_true", help="no examples and no progress bar")
    options = parser.parse_args()
    if options.python is None and options.environment is None:
        parser.error("give --python or --environment")
    from tqdm import tqdm

    worker = start(options.python or make_environment(options.environment))
    names = options.styles.split(",")
    bar = tqdm(total=options.messages * len(names), unit="message", disable=options.quiet or None)
    tallies = {}
    for name in names:
        bar.set_description(name)

        def counted(found: Iterable[Any]) -> Iterator[Any]:
            for each in found:
                bar.update()
                yield each

        tallies[name] = compare(name, counted(messages(name, options.messages, options.seed)), worker)
    bar.close()
    worker.kill()
    report(tallies, not options.quiet)
    found = unknown(tallies)
    for one in found:
        print(f"not in docs/tools.md: {one}", file=sys.stderr)
    return bool(found)


def unknown(tallies: dict[str, Tally]) -> list[str]:
    """Return the kinds of difference that `COMMON` and `KNOWN` lack, each with its style and way of reading."""
    return [
        f"{name}, {way}, {kind}"
        for name, tally in tallies.items()
        for way, kind in sorted(tally.kinds)
        if kind not in COMMON and kind not in KNOWN.get(name, ())
    ]


def report(tallies: dict[str, Tally], examples: bool) -> None:
    """Print a table: in both ways of reading, how many are the same but for white space, have markup, or differ."""
    columns = ["style", "parser", "calls"]
    columns += [f"{way}: {what}" for way in ("whole", "pieces") for what in ("same", "markup", "other")]
    print("|", " | ".join(columns), "|")
    print("|", " | ".join(["---"] * len(columns)), "|")
    for name, tally in tallies.items():
        row = [f"`{name}`", f"`{PEERS[name].parser}`", tally.n_calls]
        for way in ("whole", "pieces"):
            same, markup = tally.equal[way] + tally.kinds[way, SPACE], tally.kinds[way, MARKUP]
            row += [same, markup, tally.n - same - markup]
        print("|", " | ".join(map(str, row)), "|")
    if not examples:
        return
    for name, tally in tallies.items():
        for (way, kind), example in sorted(tally.examples.items()):
            print(f"\n{name}, {way}, {kind} ({tally.kinds[way, kind]}), written by {example['writer']}")
            print(f"  text    {example['text']!r}")
            print(f"  ours    {example['ours']!r}\n  theirs  {json.dumps(example['theirs'], ensure_ascii=False)}")


if __name__ == "__main__":
    sys.exit(main())
