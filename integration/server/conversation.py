"""From the messages of a request to the ids of a prompt, by the chat template of the tokenizer.

Templates know messages with `content` as a text, calls of functions with `arguments` as an object, and tools that are
functions. So parts are joined, the items of responses become messages, and a custom tool is shown to the model as a
function with one argument, `input`, whose description has its grammar: its calls are written in that way, too.
"""

from __future__ import annotations

import json
import threading
from typing import Any

from ...grammar.tools.definitions import INPUT
from .errors import ApiError, bad
from .fields import Fields, check, shown

TEXT_PARTS = ("text", "input_text", "output_text", "refusal")
ROLES = ("system", "developer", "user", "assistant", "tool")

Message = dict[str, Any]


def of_chat(given: list[Any]) -> list[Message]:
    """Return the messages of a chat completion for a template."""
    if not given:
        raise bad("messages must have a message", "messages", "missing_required_parameter")
    return [_chat_message(Fields(value, f"messages[{index}]")) for index, value in enumerate(given)]


def _chat_message(fields: Fields) -> Message:
    role = fields.one_of("role", ROLES)
    message: Message = {"role": "system" if role == "developer" else role, "content": _content(fields, "content")}
    for name in ("name", "tool_call_id"):
        value = fields.text(name)
        if value is not None:
            message[name] = value
    # `parsed` is what helpers of OpenAI's client add to the messages that they return.
    fields.ignore("refusal", "annotations", "reasoning_content", "reasoning", "parsed")
    fields.refuse("audio", "only text is served")
    fields.refuse("function_call", "use tool_calls")
    calls = []
    for index, value in enumerate(fields.items("tool_calls")):
        call = Fields(value, f"{fields.place}.tool_calls[{index}]")
        kind = call.one_of("type", ("function", "custom"), "function")
        inner = Fields(call.take(kind), call.param(kind))
        calls.append(_call(call.text("id"), inner, "arguments" if kind == "function" else "input"))
        call.ignore("index")
        call.done()
    if calls:
        message["tool_calls"] = calls
    fields.done()
    return message


def of_items(given: Any, instructions: str | None) -> list[Message]:
    """Return the messages of the `input` and `instructions` of a response for a template."""
    messages: list[Message] = [] if instructions is None else [{"role": "system", "content": instructions}]
    if isinstance(given, str):
        return [*messages, {"role": "user", "content": given}]
    if not isinstance(given, list) or not given:
        raise bad("input must be a string or a list of items", "input", "invalid_type")
    for index, value in enumerate(given):
        fields = Fields(value, f"input[{index}]")
        kind = fields.text("type") or "message"
        fields.ignore("id", "status", "phase")
        if kind == "reasoning":  # as templates do not show models what they thought before earlier answers
            continue
        if kind == "message":
            role = fields.one_of("role", ROLES[:4])
            messages.append({"role": "system" if role == "developer" else role, "content": _content(fields, "content")})
        elif kind in ("function_call", "custom_tool_call"):
            call = _call(fields.text("call_id"), fields, "arguments" if kind == "function_call" else "input")
            fields.ignore("parsed_arguments")
            if messages and messages[-1]["role"] == "assistant":
                messages[-1].setdefault("tool_calls", []).append(call)
            else:
                messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        elif kind in ("function_call_output", "custom_tool_call_output"):
            call_id, output = fields.needed("call_id"), _content(fields, "output")
            messages.append({"role": "tool", "tool_call_id": call_id, "content": output})
        else:
            raise bad(f"{fields.param('type')}={shown(kind)}: items of this type are not served", fields.param("type"))
        fields.done()
    return messages


def _content(fields: Fields, name: str) -> str:
    """Return the text of a message."""
    value = fields.take(name, "")
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        raise fields.wrong(name, "a string or a list of parts", value)
    found = []
    for index, each in enumerate(value):
        part = Fields(each, f"{fields.param(name)}[{index}]")
        kind = part.text("type")
        if kind not in TEXT_PARTS:
            raise bad(f"{part.param('type')}={shown(kind)}: only text is served", part.param("type"))
        found.append(part.needed("refusal" if kind == "refusal" else "text"))
        part.ignore("annotations", "logprobs", "parsed")
        part.done()
    return "".join(found)


def _call(call_id: str | None, fields: Fields, argument: str) -> Message:
    """Return a call in the history; templates have arguments as objects."""
    name, text = fields.needed("name"), fields.needed(argument)
    arguments: Any = {INPUT: text}
    if argument == "arguments":
        try:
            arguments = json.loads(text) if text else {}  # as agents keep calls of tools without arguments
        except (ValueError, RecursionError):
            arguments = None
        if not isinstance(arguments, dict):
            raise bad(f"{fields.param(argument)} must be the JSON text of an object", fields.param(argument))
        check(arguments, fields.param(argument), fields.param(argument))
    return {"type": "function", "id": call_id or "", "function": {"name": name, "arguments": arguments}}


def shown_tools(definitions: list[Any]) -> list[Any]:
    """Return definitions of tools as templates know them. They have been read by `Grammar.from_tools`' own reader."""
    found = []
    for definition in definitions:
        kind = definition["type"]
        inner = definition.get(kind, definition)
        function = {name: inner[name] for name in ("name", "description") if inner.get(name) is not None}
        if kind == "custom":
            form = inner.get("format") or {}
            grammar = form.get("grammar", form)
            about = "The text that the tool gets."
            if "definition" in grammar:
                about += f" It must follow this grammar ({grammar['syntax']}):\n{grammar['definition']}"
            schema: Any = {"type": "string", "description": about}
            function["parameters"] = {"type": "object", "properties": {INPUT: schema}, "required": [INPUT]}
        else:
            function["parameters"] = inner.get("parameters") or {"type": "object", "properties": {}}
        found.append({"type": "function", "function": function})
    return found


class Prompts:
    """Makes prompts with a tokenizer that has a chat template. Threads may share it."""

    def __init__(self, tokenizer: Any) -> None:
        if not getattr(tokenizer, "chat_template", None):
            raise ValueError("the tokenizer has no chat template; give one")
        self.tokenizer = tokenizer
        self._lock = threading.Lock()  # a fast tokenizer refuses to be used by two threads at once

    def read(
        self, messages: list[Message], tools: list[Any], template: dict[str, bool], param: str = "messages"
    ) -> tuple[str, list[int]]:
        """Return the text of a prompt and its ids. Raises ApiError if the template refuses the messages, which stand in
        the field `param`."""
        try:
            text = self.tokenizer.apply_chat_template(
                messages, tools=tools or None, tokenize=False, add_generation_prompt=True, **template
            )
        except Exception as error:  # templates raise errors of jinja2, and of Python where a field is missing
            raise ApiError(400, f"the chat template refuses the messages: {error}", param) from None
        with self._lock:
            ids: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        if not ids:
            raise bad("the prompt is empty", param)
        return text, ids
