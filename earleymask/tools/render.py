"""Write the text that a model would write for an answer and calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..grammar.arguments.text import SURROGATE
from ..grammar.tools.arguments import find as find_notation
from ..grammar.tools.definitions import INPUT, Strict, Tool, read_tools
from ..grammar.tools.style import Style, around
from ..grammar.tools.style import find as find_style
from .message import Message, ToolCall, ToolCallError


def render(
    message: Message | Iterable[ToolCall],
    style: str | Style = "hermes",
    *,
    tools: Iterable[Any] = (),
    strict: Strict = True,
) -> str:
    """Return the text that means a message in a style: `parse` reads the same message from it.

    Args:
        message: a message, or calls alone.
        style: the name of a style, or a `Style`.
        tools: the tools, as for `parse`. With them, it is checked that the schema gives each value back.
        strict: as for `parse`.

    Raises:
        ToolCallError: the style cannot write a value, such as a string that has the text which ends it.
    """
    style = find_style(style)
    if not isinstance(message, Message):
        message = Message(calls=list(message))
    known = {tool.name: tool for tool in read_tools(tools, strict)}
    calls = [
        _call(call, style, known.get(call.name), style.first_index + index) for index, call in enumerate(message.calls)
    ]
    _check(message, style)
    parts = []
    if message.reasoning is not None:
        if not style.reasoning:
            raise ToolCallError(f"the style {style.name!r} has no reasoning")
        parts.append(style.reasoning.replace("${text}", message.reasoning))
    if style.layout == "free":
        if message.content:
            parts.append(message.content)
        if calls:
            parts += [style.lead if message.content else "", _together(calls, style)]
        return "".join(parts)
    if style.layout == "both":
        parts.append(style.content.replace("${text}", message.content))
        if calls:
            parts.append(_together(calls, style))
        return "".join([*parts, style.tail])
    if not calls:
        parts.append(style.content.replace("${text}", message.content))
    elif message.content:
        if not style.preamble:
            raise ToolCallError(f"a message in the style {style.name!r} is an answer or calls, not both")
        parts.append(style.preamble.replace("${text}", message.content))
    parts += [_together(calls, style)] if style.section and calls else calls
    return style.joint.join(parts) + style.tail


def _together(calls: list[str], style: Style) -> str:
    text = (style.between or (style.joint if style.optional_ends else "")).join(calls)
    return style.section.replace("${calls}", text) if style.section else text


def _call(call: ToolCall, style: Style, tool: Tool | None, index: int) -> str:
    bad = style.bad_character(call.name)
    if not call.name:
        raise ToolCallError("a call needs the name of a tool")
    if bad:
        raise ToolCallError(f"the style {style.name!r} cannot write {bad!r} in the name {call.name!r}")
    template, field, schema = style.calls[0], "arguments", tool.parameters if tool is not None else None
    arguments: dict[str, Any] = call.arguments
    if call.input is not None and style.custom:
        template, field, text = style.custom, "input", call.input
        if around(template, field)[1] in text:
            raise ToolCallError(f"the text for {call.name!r} has the end of a call, {around(template, field)[1]!r}")
    else:
        if call.input is not None:
            arguments, schema = {INPUT: call.input}, {"properties": {INPUT: {"type": "string"}}}
        try:
            text = find_notation(style.arguments).write(arguments, schema)
        except (ValueError, RecursionError) as error:
            why = "its arguments are nested too deeply" if isinstance(error, RecursionError) else error
            raise ToolCallError(f"the style {style.name!r} cannot write a call of {call.name!r}: {why}") from None
    if SURROGATE.search(text):
        raise ToolCallError(f"the style {style.name!r} cannot write a call of {call.name!r}: it has a lone surrogate")
    head, end = around(template, field)
    return head.replace("${name}", call.name).replace("${index}", str(index)) + text + end


def _check(message: Message, style: Style) -> None:
    """Refuse texts that would be read as something else."""
    begin, end, _ = style.reasoning_ends
    others = style.excludes if style.layout != "free" else ()
    for marker in [text.strip() for text in (begin, end, *others) if text.strip()]:
        if marker in (message.reasoning or ""):
            raise ToolCallError(f"the reasoning has the text {marker!r}, which means something else in this style")
    markers = [*style.triggers, *style.excludes] if style.layout == "free" else list(style.excludes)
    for marker in [*markers, *[text.strip() for text in (begin, end) if text.strip()]]:
        if marker in message.content:
            raise ToolCallError(f"the answer has the text {marker!r}, which means something else in this style")
