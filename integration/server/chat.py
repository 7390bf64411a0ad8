"""The shapes of chat completions: an object, or chunks."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import uuid4

from .engine import Piece
from .errors import ApiError
from .events import as_event
from .parts import Call, Message
from .requests import Request


class Chat:
    """One chat completion."""

    def __init__(self, request: Request, messages: Sequence[Message]) -> None:
        self.request = request
        self.messages = messages
        self.id = f"chatcmpl-{uuid4().hex}"
        self.created = int(time.time())
        self._begun: set[int] = set()

    def whole(self, n_prompt: int, n_tokens: int, n_reasoning: int = 0) -> str:
        """Return the completion as JSON."""
        choices = []
        for index, message in enumerate(self.messages):
            calls = message.counted_calls()
            content = message.content if message.content or not calls else None
            said: dict[str, Any] = {"role": "assistant", "content": content, "refusal": None}
            if message.reasoning is not None:
                said |= _reasoning(message.reasoning)
            if calls:
                said["tool_calls"] = [_whole_call(call) for call in calls]
            choices.append(
                {
                    "index": index,
                    "message": said,
                    "logprobs": self._logprobs(message.entries),
                    "finish_reason": message.finish,
                }
            )
        usage = _usage(n_prompt, n_tokens, n_reasoning)
        found = {**self._head("chat.completion"), "choices": choices, "usage": usage}
        return json.dumps(found, ensure_ascii=False, allow_nan=False)

    def begin(self) -> Iterator[str]:
        return iter(())

    def piece(self, index: int, piece: Piece) -> Iterator[str]:
        """Yield the chunks that a piece of an answer makes."""
        message = self.messages[index]
        if index not in self._begun:
            self._begun.add(index)
            yield self._chunk(index, {"role": "assistant", "content": "", "refusal": None})
        events = message.add(piece)
        entries: Sequence[dict[str, Any]] = message.new_entries
        for event in events:
            if event.kind == "reasoning":
                yield self._chunk(index, _reasoning(event.text))
            elif event.kind == "content":
                yield self._chunk(index, {"content": event.text}, entries)
                entries = ()
            elif event.kind in ("call", "arguments"):
                call = message.calls[event.call_index]
                field, place = ("input", "custom") if call.is_custom else ("arguments", "function")
                if event.kind == "call":
                    head = {"id": call.id, "type": place, place: {"name": call.name, field: ""}}
                else:
                    head = {place: {field: event.text}}
                yield self._chunk(index, {"tool_calls": [{"index": event.call_index, **head}]})
        if message.finish is not None:
            yield self._chunk(index, {}, entries, message.finish)

    def end(self, n_prompt: int, n_tokens: int, n_reasoning: int = 0) -> Iterator[str]:
        if self.request.with_usage:
            usage = _usage(n_prompt, n_tokens, n_reasoning)
            chunk = {**self._head("chat.completion.chunk"), "choices": [], "usage": usage}
            yield _event(chunk)
        yield "data: [DONE]\n\n"

    def fail(self, error: ApiError) -> Iterator[str]:
        yield _event(error.body())

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.request.model}

    def _chunk(
        self, index: int, delta: dict[str, Any], entries: Sequence[dict[str, Any]] = (), finish: str | None = None
    ) -> str:
        choice = {"index": index, "delta": delta, "logprobs": self._logprobs(entries), "finish_reason": finish}
        if not entries:
            choice["logprobs"] = None
        usage = {"usage": None} if self.request.with_usage else {}
        return _event({**self._head("chat.completion.chunk"), "choices": [choice], **usage})

    def _logprobs(self, entries: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
        if self.request.sampling.n_alternatives is None:
            return None
        return {"content": list(entries), "refusal": None}


def _whole_call(call: Call) -> dict[str, Any]:
    if call.is_custom:
        return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": call.text}}
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.text}}


def _reasoning(text: str) -> dict[str, str]:
    """Return reasoning under the two names that clients know: vLLM's, and that of DeepSeek and SGLang."""
    return {"reasoning": text, "reasoning_content": text}


def _usage(n_prompt: int, n_tokens: int, n_reasoning: int) -> dict[str, Any]:
    return {
        "prompt_tokens": n_prompt,
        "completion_tokens": n_tokens,
        "total_tokens": n_prompt + n_tokens,
        "completion_tokens_details": {"reasoning_tokens": n_reasoning},
    }


def _event(data: dict[str, Any]) -> str:
    return as_event(json.dumps(data, ensure_ascii=False))
