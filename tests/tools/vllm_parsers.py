"""What vLLM's tool parsers read: JSON lines of messages from stdin, JSON lines of results to stdout.

This program runs in an environment of vLLM, without earleymask (`against_vllm` starts it):

    {"parser": "hermes", "tokens": ["<tool_call>"], "tools": [...], "text": "..."}
    {"whole": {"content": "", "calls": [{"name": "f", "arguments": "{}"}]}, "pieces": {...}}

`whole` is what the server's parser reads in the text, `pieces` what it reads token by token. A
result may be `{"error": "..."}` instead. The tokenizer has the 256 bytes and the special tokens that the line names.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Iterable
from typing import Any

Result = dict[str, Any]


@functools.cache
def tokenizer(special: tuple[str, ...]) -> Any:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    inner = Tokenizer(models.BPE(vocab={letter: index for index, letter in enumerate(letters)}, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    inner.decoder = decoders.ByteLevel()
    inner.add_special_tokens([AddedToken(text, normalized=False) for text in special])
    return PreTrainedTokenizerFast(tokenizer_object=inner, clean_up_tokenization_spaces=False)


def parser_and_request(line: dict[str, Any]) -> tuple[Any, Any]:
    """Return a fresh parser of messages, as the server makes one, and the request."""
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
    from vllm.parser.parser_manager import ParserManager

    if line["parser"] == "cohere_command5":
        return Command5(), None
    messages = [{"role": "user", "content": "?"}]
    request = ChatCompletionRequest(model="m", messages=messages, tools=line["tools"], tool_choice="auto")
    words = tokenizer(tuple(line["tokens"]))
    is_harmony = line["parser"] == "openai"
    kind = ParserManager.get_parser(
        tool_parser_name=line["parser"], enable_auto_tools=True, tokenizer=words, is_harmony=is_harmony
    )
    return kind(words, request.tools), request


def cut(line: dict[str, Any]) -> list[tuple[str, list[int]]]:
    """Return the pieces of a text with the ids of their tokens; for gpt-oss, those of its vocabulary."""
    text = line["text"]
    if line["parser"] != "openai":
        return [*pieces(tokenizer(tuple(line["tokens"])), text)]
    from openai_harmony import HarmonyEncodingName, load_harmony_encoding

    encoding = load_harmony_encoding(HarmonyEncodingName.HARMONY_GPT_OSS)
    return [("", [token]) for token in encoding.encode(text, allowed_special="all")]  # it reads the ids alone


class Command5:
    """Cohere's own filter, which vLLM's parsers of older formats call. vLLM 0.33 has no name for this format."""

    def __init__(self) -> None:
        from cohere_melody import PyFilter, PyFilterOptions

        self._filter = PyFilter(PyFilterOptions().cmd5().cofl_nested_xml(True).start_in_answer())

    def parse(self, text: str, request: Any, **options: Any) -> tuple[None, str, list[Any]]:
        found = self._filter.process_full_text(text)
        return None, found.content or "", found.tool_calls

    def parse_delta(self, piece: str, ids: Any, request: Any, prompt: Any, *, finished: bool) -> Any:
        from vllm.entrypoints.generate.base.protocol import DeltaMessage

        found = self._filter.flush_partials() if finished else self._filter.write_decoded(piece)
        calls = [
            {"index": call.index, "function": {"name": call.name, "arguments": call.arguments}}
            for call in found.tool_calls
        ]
        return DeltaMessage(content=found.content, tool_calls=calls)


def read_whole(line: dict[str, Any]) -> Result:
    parser, request = parser_and_request(line)
    ids = [token for _, tokens in cut(line) for token in tokens]
    _, content, calls = parser.parse(line["text"], request, enable_auto_tools=True, model_output_token_ids=ids)
    found = [{"name": call.name, "arguments": call.arguments} for call in calls or ()]
    return {"content": content or "", "calls": found}


def read_pieces(line: dict[str, Any]) -> Result:
    parser, request = parser_and_request(line)
    content = ""
    calls: dict[int, dict[str, str]] = {}
    found_pieces = [*cut(line), ("", [])]  # the last one ends the message
    for index, (piece, ids) in enumerate(found_pieces):
        delta = parser.parse_delta(piece, ids, request, [], finished=index == len(found_pieces) - 1)
        if delta is None:
            continue
        content += delta.content or ""
        for call in delta.tool_calls:
            found = calls.setdefault(call.index, {"name": "", "arguments": ""})
            if call.function is not None:
                found["name"] += call.function.name or ""
                found["arguments"] += call.function.arguments or ""
    return {"content": content, "calls": [calls[index] for index in sorted(calls)]}


def pieces(words: Any, text: str) -> Iterable[tuple[str, list[int]]]:
    """Yield the pieces of a text, each a special token or a character, with the ids of their tokens."""
    held: list[int] = []
    for token in words.encode(text, add_special_tokens=False):
        held.append(token)
        piece = words.decode(held, skip_special_tokens=False)
        if "\ufffd" not in piece:
            yield piece, held
            held = []
    if held:
        yield words.decode(held, skip_special_tokens=False), held


def answer(line: dict[str, Any]) -> dict[str, Result]:
    results = {}
    for name, read in (("whole", read_whole), ("pieces", read_pieces)):
        try:
            results[name] = read(line)
        except Exception as error:
            results[name] = {"error": f"{type(error).__name__}: {error}"}
    return results


def main() -> None:
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # vLLM logs to stdout
    os.environ.setdefault("VLLM_TARGET_DEVICE", "cpu")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "CRITICAL")
    from importlib.metadata import version

    print(json.dumps({"vllm": version("vllm")}), file=out, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), file=out, flush=True)


if __name__ == "__main__":
    main()
