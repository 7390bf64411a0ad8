"""What a model's text says: its answer, its reasoning and its calls."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from ..grammar.arguments.text import SURROGATE
from ..trie.errors import EarleymaskError


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool.

    Attributes:
        name: the tool's name.
        arguments: the arguments of a function by their names; empty for a custom tool.
        input: the text that a custom tool gets; None for a function.
    """

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    input: str | None = None

    @property
    def arguments_json(self) -> str:
        """The arguments as JSON text, as OpenAI's APIs have them. It can be encoded in UTF-8: if a string has a lone
        surrogate, all characters beyond ASCII are written as escapes."""
        text = json.dumps(self.arguments, ensure_ascii=False)
        return json.dumps(self.arguments) if SURROGATE.search(text) else text


@dataclass
class Message:
    """What a text says.

    Attributes:
        content: the answer, without calls and reasoning. White space alone between calls and after them is dropped.
        calls: the calls, in their order.
        reasoning: the reasoning, without its tags; None if there is none.
        unfinished: the text of a call that breaks off at the end of the text, from its beginning; empty if none does.
    """

    content: str = ""
    calls: list[ToolCall] = field(default_factory=list)
    reasoning: str | None = None
    unfinished: str = ""


class Event(NamedTuple):
    """Something that a parser has read.

    Attributes:
        kind: "content" or "reasoning" for a piece of text; "call" when the name of a tool is known; "arguments" for a
            piece of the JSON text of its arguments, or of the text of a custom tool; "end" when the call is complete.
        text: the piece of text, or the name of the tool.
        call_index: which call it is about, counted from 0; -1 for text.
        call: the call, with kind "end".
    """

    kind: Literal["content", "reasoning", "call", "arguments", "end"]
    text: str = ""
    call_index: int = -1
    call: ToolCall | None = None


class ToolCallError(EarleymaskError, ValueError):
    """A text begins a call as its style does, but does not go on in the way of the style; or a call cannot be written.

    A model under a grammar of `Grammar.from_tools` writes no such text.

    Attributes:
        position: where in the text, in characters from the beginning; None for a call that cannot be written.
    """

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message, position)
        self.message = message
        self.position = position

    def __str__(self) -> str:
        return self.message if self.position is None else f"character {self.position}: {self.message}"
