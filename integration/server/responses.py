"""The shapes of responses: an object, or events with sequence numbers.

The output is a list of items: reasoning, messages, calls of functions, calls of custom tools. One item is open at a
time. Both forms come from the same events, so that the object is what a stream ends with.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import uuid4

from .engine import Piece
from .errors import ApiError
from .events import as_event
from .parts import Message
from .requests import Request


class Responses:
    """One response."""

    def __init__(self, request: Request, messages: Sequence[Message]) -> None:
        self.request = request
        (self.message,) = messages
        self.id = f"resp_{uuid4().hex}"
        self.created = time.time()
        self._output: list[dict[str, Any]] = []
        self._is_open = False
        self._number = 0
        self._finish: str | None = None

    def whole(self, n_prompt: int, n_tokens: int, n_reasoning: int = 0) -> str:
        """Return the response as JSON, after all pieces have come."""
        usage = {
            "input_tokens": n_prompt,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": n_tokens,
            "output_tokens_details": {"reasoning_tokens": n_reasoning},
            "total_tokens": n_prompt + n_tokens,
        }
        return self._response(self._status(), usage)

    def begin(self) -> Iterator[str]:
        yield self._event("response.created", self._response("in_progress"))
        yield self._event("response.in_progress", self._response("in_progress"))

    def piece(self, index: int, piece: Piece) -> Iterator[str]:
        """Yield the events that a piece of the answer makes."""
        events = self.message.add(piece)
        entries: Sequence[dict[str, Any]] = self.message.new_entries
        for event in events:
            if event.kind == "reasoning":
                if not self._is_open:
                    yield from self._open_reasoning()
                self._output[-1]["content"][0]["text"] += event.text
                place = {**self._place(), "content_index": 0}
                yield self._event("response.reasoning_text.delta", **place, delta=event.text)
            elif event.kind == "content":
                if not self._is_open or self._output[-1]["type"] != "message":
                    yield from self._close()
                    yield from self._open_message()
                part = self._output[-1]["content"][0]
                part["text"] += event.text
                part["logprobs"] += entries
                place = {**self._place(), "content_index": 0}
                yield self._event("response.output_text.delta", **place, delta=event.text, logprobs=list(entries))
                entries = ()
            elif event.kind == "call":
                yield from self._close()
                yield from self._open_call(event.call_index)
            elif event.kind == "arguments":
                kind, field = self._call_names()
                self._output[-1][field] += event.text
                yield self._event(f"response.{kind}.delta", **self._place(), delta=event.text)
            elif event.kind == "end":
                yield from self._close()
        if piece.finish is not None:
            self._finish = piece.finish
            if not self._output or (piece.finish == "stop" and self._output[-1]["type"] == "reasoning"):
                yield from self._close()
                yield from self._open_message()
            if self._output[-1]["type"] == "message" and entries:  # of tokens without text
                self._output[-1]["content"][0]["logprobs"] += entries
                place = {**self._place(), "content_index": 0}
                yield self._event("response.output_text.delta", **place, delta="", logprobs=list(entries))
            # What is open is a message, or reasoning or a call that was cut.
            is_whole = piece.finish == "stop" and self._output[-1]["type"] == "message"
            yield from self._close("completed" if is_whole else "incomplete")

    def end(self, n_prompt: int, n_tokens: int, n_reasoning: int = 0) -> Iterator[str]:
        yield self._event(f"response.{self._status()}", self.whole(n_prompt, n_tokens, n_reasoning))

    def fail(self, error: ApiError) -> Iterator[str]:
        shown = {"code": "server_error", "message": error.message}
        yield self._event("response.failed", self._response("failed", error=shown))

    def _open_message(self) -> Iterator[str]:
        item: dict[str, Any] = {
            "id": f"msg_{uuid4().hex}",
            "type": "message",
            "role": "assistant",
            "status": "in_progress",
            "content": [],
        }
        yield from self._open(item)
        part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
        yield self._event("response.content_part.added", **self._place(), content_index=0, part=part)
        item["content"] = [part]

    def _open_reasoning(self) -> Iterator[str]:
        item: dict[str, Any] = {
            "id": f"rs_{uuid4().hex}",
            "type": "reasoning",
            "status": "in_progress",
            "summary": [],
            "content": [],
        }
        yield from self._open(item)
        part = {"type": "reasoning_text", "text": ""}
        yield self._event("response.content_part.added", **self._place(), content_index=0, part=part)
        item["content"] = [part]

    def _open_call(self, index: int) -> Iterator[str]:
        call = self.message.calls[index]
        kind, field, prefix = (
            ("custom_tool_call", "input", "ctc") if call.is_custom else ("function_call", "arguments", "fc")
        )
        yield from self._open(
            {
                "id": f"{prefix}_{uuid4().hex}",
                "type": kind,
                "call_id": call.id,
                "name": call.name,
                field: "",
                "status": "in_progress",
            }
        )

    def _open(self, item: dict[str, Any]) -> Iterator[str]:
        self._output.append(item)
        self._is_open = True
        yield self._event("response.output_item.added", output_index=len(self._output) - 1, item=item)

    def _close(self, status: str = "completed") -> Iterator[str]:
        """Yield the last events of the open item, if there is one."""
        if not self._is_open:
            return
        self._is_open = False
        item = self._output[-1]
        item["status"] = status
        if item["type"] == "message":
            (part,) = item["content"]
            place = {**self._place(), "content_index": 0}
            yield self._event("response.output_text.done", **place, text=part["text"], logprobs=part["logprobs"])
            yield self._event("response.content_part.done", **place, part=part)
        elif item["type"] == "reasoning":
            (part,) = item["content"]
            place = {**self._place(), "content_index": 0}
            yield self._event("response.reasoning_text.done", **place, text=part["text"])
            yield self._event("response.content_part.done", **place, part=part)
        else:
            kind, field = self._call_names()
            name = {} if kind == "custom_tool_call_input" else {"name": item["name"]}
            yield self._event(f"response.{kind}.done", **self._place(), **name, **{field: item[field]})
        yield self._event("response.output_item.done", output_index=len(self._output) - 1, item=item)

    def _call_names(self) -> tuple[str, str]:
        """Return the name of the events of the open call, and the field that has its text."""
        if self._output[-1]["type"] == "custom_tool_call":
            return "custom_tool_call_input", "input"
        return "function_call_arguments", "arguments"

    def _place(self) -> dict[str, Any]:
        return {"item_id": self._output[-1]["id"], "output_index": len(self._output) - 1}

    def _status(self) -> str:
        return "incomplete" if self._finish == "length" else "completed"

    def _response(self, status: str, usage: dict[str, Any] | None = None, error: dict[str, str] | None = None) -> str:
        found = {
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "status": status,
            "background": False,
            "error": error,
            "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
            "model": self.request.model,
            "output": [] if status == "in_progress" else self._output,
            "previous_response_id": None,
            "reasoning": {"effort": None, "summary": None},
            "store": False,
            "truncation": "disabled",
            "usage": usage,
        }
        text = json.dumps(found, ensure_ascii=False, allow_nan=False)
        return f"{text[:-1]}, {self.request.echo[1:]}"

    def _event(self, kind: str, response: str | None = None, **data: Any) -> str:
        text = json.dumps({"type": kind, "sequence_number": self._number, **data}, ensure_ascii=False)
        if response is not None:
            text = f'{text[:-1]}, "response": {response}}}'
        self._number += 1
        return as_event(text, kind)
