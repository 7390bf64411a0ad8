"""From tools and a style to a structural tag, which is what `Grammar.from_tools` compiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from ..errors import GrammarError
from .arguments import find as find_notation
from .arguments.notation import Notation
from .definitions import INPUT, Choice, Tool
from .style import Style, around

Reasoning = Literal["think", "auto", "open"] | None
"""Where a message has reasoning: "think", at its beginning; "auto", there or not at all; "open", at its beginning,
which the prompt already has; None, nowhere."""

InputForm = Callable[[Tool, bool], Any]
"""Makes the format of a custom tool's text. The second argument says whether it is written within a JSON string, with
quotes and escapes."""


def structural_tag(
    style: Style, choice: Choice, parallel: bool, reasoning: Reasoning, input_form: InputForm
) -> dict[str, Any]:
    """Return the structural tag of the messages that a style allows.

    Args:
        style: how messages are written.
        choice: which tools may be called, and whether one must be.
        parallel: whether a message may have several calls.
        reasoning: where the message has reasoning.
        input_form: makes the formats of custom tools' texts.

    Raises GrammarError if the style has no reasoning, or cannot write the arguments of a tool.
    """
    if reasoning not in (None, "think", "auto", "open"):
        raise ValueError(f"reasoning must be None, 'think', 'auto' or 'open', not {reasoning!r}")
    if reasoning and not style.reasoning:
        raise GrammarError(f"the style {style.name!r} has no reasoning", hint="use reasoning=None")
    builder = _Builder(style, choice, parallel and choice.mode != "named", input_form)
    form = builder.free(reasoning) if style.layout == "free" else builder.framed(reasoning)
    return {"type": "structural_tag", "format": form}


class _Builder:
    def __init__(self, style: Style, choice: Choice, parallel: bool, input_form: InputForm) -> None:
        self.style = style
        self.mode = choice.mode
        self.parallel = parallel
        self.input_form = input_form
        self.notation: Notation = find_notation(style.arguments)
        begin, end, _ = style.reasoning_ends
        self.reserved = [text for text in (begin.strip(), end.strip()) if text]
        self.excludes = list(dict.fromkeys([*self.reserved, *style.excludes]))
        self.tags = [tag for tool in choice.tools for tag in self.calls_of(tool)]

    # Messages

    def free(self, reasoning: Reasoning) -> Any:
        """Return the format of a message whose calls stand anywhere in its answer."""
        style = self.style
        triggers = list(style.triggers)
        if self.mode == "none":
            body: Any = self.text([*self.excludes, *triggers])
        elif self.mode == "auto":
            tags = [self.section()] if style.section else self.tags
            body = {
                "type": "triggered_tags",
                "triggers": triggers,
                "tags": tags,
                "stop_after_first": not self.parallel,
                "excludes": [text for text in self.excludes if text not in triggers],
            }
        else:
            body = self.section() if style.section else self.several()
            if style.lead:
                body = _sequence([_optional(_const(style.lead)), body])
        return _sequence([*self.reasoning(reasoning), body])

    def framed(self, reasoning: Reasoning) -> Any:
        """Return the format of a message whose answer and calls are frames."""
        style = self.style
        begin, end = around(style.content, "text")
        answer_text = self.text(self.excludes)
        tail = [_const(style.tail)] if style.tail else []
        calls = self.frame_of_calls() if self.mode != "none" else None
        if style.layout == "both":
            # A prompt may have begun the answer, unless reasoning stands before it.
            opening = _const(begin) if reasoning else _optional(_const(begin))
            parts = [*self.reasoning(reasoning), opening, answer_text, _const(end)]
            if calls is not None:
                parts.append(_optional(calls) if self.mode == "auto" else calls)
            return _sequence([*parts, *tail])
        answer_end = _optional(_const(end)) if style.optional_ends else _const(end)
        answer = _sequence([_const(begin), answer_text, answer_end])
        preambles = []
        if style.preamble and calls is not None:
            before, after = around(style.preamble, "text")
            one = _sequence([_const(before), answer_text, _const(after + style.joint)])
            preambles = [_optional(one)]
        if calls is None:
            body: Any = answer
        elif self.mode == "auto":
            body = _either([answer, _sequence([*preambles, calls])])
        else:
            body = _sequence([*preambles, calls])
        return _sequence([*self.reasoning(reasoning), body, *tail])

    def text(self, excludes: list[str]) -> Any:
        return {"type": "any_text", "excludes": excludes}

    def reasoning(self, reasoning: Reasoning) -> list[Any]:
        """Return what stands before the answer."""
        if reasoning is None:
            return []
        begin, end, white = self.style.reasoning_ends
        after = white + self.style.joint
        text = self.text(self.reserved if self.style.layout == "free" else self.excludes)
        parts = [text, _const(end + after)] if reasoning == "open" else [_const(begin), text, _const(end + after)]
        return [_optional(_sequence(parts))] if reasoning == "auto" else parts

    # Calls

    def section(self) -> Any:
        begin, end = self.style.section_ends
        return {"type": "tag", "begin": begin, "content": self.several(), "end": end}

    def several(self) -> Any:
        """Return the format of at least one call, of one if only one is allowed."""
        return {
            "type": "tags_with_separator",
            "tags": self.tags,
            "separator": self.style.between,
            "at_least_one": True,
            "stop_after_first": not self.parallel,
        }

    def frame_of_calls(self) -> Any:
        style = self.style
        if style.section:
            return self.section()
        one = _either(self.tags)
        if not style.optional_ends:
            return self.several()
        # The end of a call may end generation; it stands between two calls.
        end = around(style.calls[0], "arguments")[1]
        last = _sequence([one, _optional(_const(end))])
        if not self.parallel:
            return last
        before = {"type": "star", "content": _sequence([one, _const(end + style.joint)])}
        return _sequence([before, last])

    def calls_of(self, tool: Tool) -> list[Any]:
        """Return the formats of calls of a tool."""
        style = self.style
        if tool.is_custom and style.custom:
            content = self.input_form(tool, False)
            if content is None:
                content = self.text([*self.excludes, around(style.custom, "input")[1].strip()])
            return [self.call(style.custom, "input", tool, content)]
        if not tool.is_custom:
            content = self.notation.form(tool.parameters, tool.schema_pointer)
        else:
            content = self.notation.text_form(self.input_form(tool, False))
            if content is None:  # as JSON
                opening, closing = _const(f'{{"{INPUT}": '), _const("}")
                content = _sequence([opening, self.input_form(tool, True), closing])
        return [self.call(template, "arguments", tool, content) for template in style.calls]

    def call(self, template: str, field: str, tool: Tool, content: Any) -> Any:
        """Return the format of a call in the form of a template, a tag where that is possible."""
        head, end = around(template, field)
        begin, indexed, middle = head.partition("${index}")
        begin = begin.replace("${name}", tool.name)
        if indexed:
            middle = middle.replace("${name}", tool.name)
            content = _sequence([{"type": "regex", "pattern": "[0-9]+"}, _const(middle), content])
        if self.style.optional_ends:
            return _sequence([_const(begin), content])
        return {"type": "tag", "begin": begin, "content": content, "end": end}


def _const(text: str) -> Any:
    return {"type": "const_string", "value": text}


def _sequence(elements: list[Any]) -> Any:
    return elements[0] if len(elements) == 1 else {"type": "sequence", "elements": elements}


def _either(elements: list[Any]) -> Any:
    return elements[0] if len(elements) == 1 else {"type": "or", "elements": elements}


def _optional(content: Any) -> Any:
    return {"type": "optional", "content": content}
