"""The parts of a message as its text arrives: content and calls."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from ...grammar.tools.style import Style
from ...tools import Event, Parser
from .engine import Piece
from .requests import Request, tool_name
from .thinking import Reasoning, Splitter


@dataclass
class Call:
    """A call of a tool. text: the arguments as JSON, or the text of a custom tool; all that has come so far."""

    id: str
    name: str
    is_custom: bool
    text: str = ""
    is_complete: bool = False


class Message:
    """What one answer has said so far.

    Attributes:
        content: the answer without its calls.
        reasoning: what stands before it; None if there is none.
        calls: the calls, also one that breaks off.
        entries: log probabilities of the tokens of the content before the first call.
        new_entries: those of the last piece.
        finish: why it ended, in the words of chat completions; None while it goes on.
    """

    def __init__(self, request: Request, style: Style, reasoning: Reasoning | None = None) -> None:
        self.content = ""
        self.reasoning: str | None = None
        self.new_entries: list[dict[str, Any]] = []
        self._waiting: list[tuple[int, dict[str, Any]]] = []  # those of which this is not known yet
        self._n_content: int | None = None  # characters of the content before the first call; None: there is none yet
        self._splitter = None if reasoning is None else Splitter(reasoning)
        self.calls: list[Call] = []
        self.entries: list[dict[str, Any]] = []
        self.finish: str | None = None
        self._custom = {tool_name(tool) for tool in request.tools if tool["type"] == "custom"}
        # Without calls, the text is the answer whatever it looks like, but for the frame that some styles have.
        has_parts = request.mode != "none" or (request.answer is None and style.layout != "free")
        self._parser = Parser(style, tools=request.tools, reasoning=None) if request.has_tools and has_parts else None
        # If a message is calls or an answer of a schema, its first character says which: see `Grammars`.
        self._may_be_plain = request.mode == "auto" and request.answer is not None
        self._call = style.triggers[0].lstrip()[:1]
        self._held = ""
        self._n_answer = 0  # characters of the answer, calls included

    def counted_calls(self) -> list[Call]:
        """Return the calls of a message that has ended: a call that a stop string has cut is none. One that was cut
        for its length is one, as in OpenAI's API, where `finish_reason` tells clients."""
        return [call for call in self.calls if call.is_complete or self.finish == "length"]

    def add(self, piece: Piece) -> list[Event]:
        """Add a piece, and return what it has completed."""
        events: list[Event] = []
        if self._splitter is None:
            events += self._events(piece.text)
        else:
            for event in self._splitter.feed(piece.text, piece.finish is not None):
                events += [event] if event.kind == "reasoning" else self._events(event.text)
        if piece.finish is not None and self._held:  # white space, of which this is not known
            events.append(Event("content", self._held))
        elif piece.finish is not None and self._parser is not None:
            events += self._parser.finish()
        for event in events:
            self._note(event)
        self._take_entries(piece)
        if piece.finish is not None:
            has_calls = any(call.is_complete for call in self.calls)
            self.finish = "tool_calls" if has_calls and piece.finish == "stop" else piece.finish
        return events

    def n_reasoning(self, starts: list[int]) -> int:
        """Return how many tokens stand before the answer, of tokens that begin at these characters."""
        start = self._answer_start()
        return len(starts) if start is None else bisect_left(starts, start)

    def _take_entries(self, piece: Piece) -> None:
        """Take the log probabilities of the tokens that begin in the content as far as it is known, up to a call."""
        start = self._answer_start()
        self._waiting += piece.entries
        if start is None:
            self.new_entries = []
            return
        end = start + (len(self.content) if self._n_content is None else self._n_content)
        if piece.finish is not None and len(self.content) == self._n_answer:  # nothing of it may be the mark of a call
            end = max([end, *[at + 1 for at, _ in self._waiting]])  # at its end may be tokens without text
        self.new_entries = [entry for at, entry in self._waiting if start <= at < end]
        self._waiting = [each for each in self._waiting if each[0] >= end]
        self.entries += self.new_entries

    def _answer_start(self) -> int | None:
        return 0 if self._splitter is None else self._splitter.answer_start

    def _events(self, text: str) -> list[Event]:
        self._n_answer += len(text)
        if self._may_be_plain and self._parser is not None:
            self._held += text
            first = self._held.lstrip()[:1]
            if not first:
                return []
            text, self._held, self._may_be_plain = self._held, "", False
            if first != self._call:
                self._parser = None
        if self._parser is not None:
            return self._parser.feed(text) if text else []
        return [Event("content", text)] if text else []

    def _note(self, event: Event) -> None:
        if event.kind == "content":
            self.content += event.text
        elif event.kind == "reasoning":
            self.reasoning = (self.reasoning or "") + event.text
        elif event.kind == "call":
            if self._n_content is None:
                self._n_content = len(self.content)
            self.calls.append(Call(f"call_{uuid4().hex[:24]}", event.text, event.text in self._custom))
        elif event.kind == "arguments":
            self.calls[event.call_index].text += event.text
        elif event.kind == "end":
            self.calls[event.call_index].is_complete = True
