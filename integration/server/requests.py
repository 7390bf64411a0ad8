"""Read the bodies of the two endpoints: what is known, and 400 for everything else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from ...errors import GrammarError
from ...grammar.arguments.outline import Outlines
from ...grammar.tools.arguments import find as find_notation
from ...grammar.tools.arguments.tagged import Tagged
from ...grammar.tools.definitions import object_schema, read_choice, read_tools
from ...grammar.tools.style import Style
from . import conversation
from .constraints import Constraint, Tools, exact, read_format, read_structured
from .errors import bad
from .fields import Fields, shown, texts
from .sampling import Sampling

MAX_N = 128
MAX_ID_DIGITS = 19
MAX_STOPS = 16
MAX_STOP_CHARACTERS = 1_000
WHOLE_CHARACTERS = 32_768
"""The most characters of schemas, written as JSON, that the process of the model reads in place of outlines: in 3 ms at
worst, while an outline of so many may take as long as `outline.MAX_SECONDS`."""
MAX_LISTED = 20
"""The most tokens that `top_logprobs` may list, as in OpenAI's API."""

HARMLESS = (
    "user",
    "service_tier",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
)
"""Fields that do not change an answer: who asks, how soon, and what is kept for the next prompt."""
USUAL_VERBOSITY = "medium"
"""What OpenAI's API takes for `verbosity` where it is absent."""
ABSENT = ("reasoning.encrypted_content",)
"""What `include` may name without effect: parts of items that a response of this server never has."""

HINTS = {
    **dict.fromkeys(
        ("guided_json", "guided_regex", "guided_choice", "guided_grammar", "guided_decoding_backend"),
        "use structured_outputs",
    ),
    "grammar": "use structured_outputs: {'grammar': ...}",
    "max_new_tokens": "use max_tokens",
}


@dataclass
class Request:
    """What a body asks for.

    Attributes:
        model: the name of the model.
        messages: for the chat template; none once the prompt has been made.
        tools: the tools, as their definitions stand in the body; then no more than it takes to read calls.
        has_tools: whether there are tools.
        choice: `tool_choice`; then None.
        parallel: whether a message may have several calls.
        closed: whether arguments of calls have only members of which their schemas speak.
        answer: what an answer must be.
        sampling: how tokens are chosen.
        n: how many answers there are.
        stop: stop strings.
        max_tokens: the most tokens of an answer; None: as many as the model can read.
        max_param: the field that says so.
        prompt_param: the field that has the messages.
        logprobs_param: the field that asks for log probabilities.
        fits: whether answers must be complete within them.
        streams: whether pieces are sent as they come.
        with_usage: whether a stream of chat completions has a last chunk with the usage.
        template: what the chat template is told beside the messages.
        echo: what a response repeats of its request: the JSON of an object; "" for chat completions.
        mode: which calls an answer may have: "none", "auto", "required", or "named" for one tool.
    """

    model: str
    messages: list[dict[str, Any]]
    tools: list[Any]
    choice: Any
    parallel: bool
    answer: Constraint | None
    sampling: Sampling
    n: int = 1
    stop: tuple[str, ...] = ()
    max_tokens: int | None = None
    max_param: str = "max_tokens"
    prompt_param: str = "messages"
    logprobs_param: str = "logprobs"
    fits: bool = False
    closed: bool = False
    streams: bool = False
    with_usage: bool = False
    template: dict[str, bool] = field(default_factory=dict)
    echo: str = ""
    mode: str = "none"
    has_tools: bool = False

    def tools_text(self) -> Tools:
        if not self.tools:
            return Tools()
        return Tools(exact(self.tools), exact(self.choice), self.parallel, self.closed)


def read_chat(body: Any) -> Request:
    """Read the body of a chat completion."""
    fields = Fields(body)
    fields.ignore("metadata", *HARMLESS)
    fields.refuse("store", "nothing is stored", False)
    fields.refuse("modalities", "only text is served", ["text"])
    fields.refuse("functions", "use tools")
    fields.refuse("function_call", "use tool_choice")
    fields.refuse("verbosity", "it is not supported", USUAL_VERBOSITY)
    for name in ("audio", "prediction", "web_search_options", "reasoning_effort", "moderation"):
        fields.refuse(name, "it is not supported")
    sampling = _sampling(fields)
    listed = fields.whole("top_logprobs", 0, MAX_LISTED)
    if fields.flag("logprobs"):
        sampling["n_alternatives"] = listed or 0
    elif listed:
        raise bad("top_logprobs needs logprobs: true", "top_logprobs")
    sampling["frequency_penalty"] = fields.number("frequency_penalty", 0.0, -2.0, 2.0)
    sampling["presence_penalty"] = fields.number("presence_penalty", 0.0, -2.0, 2.0)
    sampling["bias"] = _bias(fields.object("logit_bias"))
    most, new_most = fields.whole("max_tokens", 1, 2**31), fields.whole("max_completion_tokens", 1, 2**31)
    if most is not None and new_most is not None and most != new_most:
        raise bad("max_tokens and max_completion_tokens differ; give one", "max_completion_tokens")
    n = fields.whole("n", 1, MAX_N)
    streams, options = fields.flag("stream"), fields.object("stream_options")
    with_usage = False
    if options is not None:
        if not streams:
            raise bad("stream_options needs stream: true", "stream_options")
        with_usage = options.flag("include_usage")
        options.refuse("include_obfuscation", "it is not supported", False)
        options.done()
    answer = _answer(read_format(fields.object("response_format")), fields)
    request = Request(
        model=fields.needed("model"),
        messages=conversation.of_chat(fields.items("messages")),
        **_tools(fields),
        answer=answer,
        sampling=Sampling(**sampling),
        n=n or 1,
        stop=_stop(fields),
        max_tokens=most or new_most,
        max_param="max_tokens" if new_most is None else "max_completion_tokens",
        fits=fields.flag("fit_max_tokens"),
        template=_template(fields),
        closed=fields.flag("close_tools"),
        streams=streams,
        with_usage=with_usage,
    )
    fields.done(HINTS)
    return _checked(request)


def read_response(body: Any) -> Request:
    """Read the body of a response."""
    fields = Fields(body)
    fields.ignore(*HARMLESS)
    metadata = fields.take("metadata", {})
    fields.refuse("store", "nothing is stored", False)
    fields.refuse("background", "answers are not kept", False)
    fields.refuse("truncation", "a prompt is never cut", "disabled")
    for name in ("previous_response_id", "conversation"):
        fields.refuse(name, "nothing is stored; send the whole conversation as input")
    for name in ("max_tool_calls", "prompt", "reasoning", "context_management", "moderation", "image"):
        fields.refuse(name, "it is not supported", {})
    sampling = _sampling(fields)
    listed = fields.whole("top_logprobs", 0, MAX_LISTED)
    for index, name in enumerate(fields.items("include")):
        if name == "message.output_text.logprobs":
            sampling["n_alternatives"] = listed or 0
        elif name not in ABSENT:
            raise bad(f"include[{index}] must be 'message.output_text.logprobs'", f"include[{index}]")
    if listed and "n_alternatives" not in sampling:
        raise bad("top_logprobs needs include: ['message.output_text.logprobs']", "top_logprobs")
    instructions = fields.text("instructions")
    text = fields.object("text")
    form = None
    shown_form: Any = {"type": "text"}
    if text is not None:
        shown_form = text.take("format", shown_form)
        form = None if shown_form is None else Fields(shown_form, text.param("format"))
        text.refuse("verbosity", "it is not supported", USUAL_VERBOSITY)
        text.done()
    answer = _answer(read_format(form), fields)
    streams, options = fields.flag("stream"), fields.object("stream_options")
    if options is not None:
        options.refuse("include_obfuscation", "it is not supported", False)
        options.done()
    tools = _tools(fields)
    most = fields.whole("max_output_tokens", 1, 2**31)
    request = Request(
        model=fields.needed("model"),
        messages=conversation.of_items(fields.take("input"), instructions),
        **tools,
        answer=answer,
        sampling=Sampling(**sampling),
        stop=_stop(fields),
        max_tokens=most,
        max_param="max_output_tokens",
        prompt_param="input",
        logprobs_param="include",
        fits=fields.flag("fit_max_tokens"),
        template=_template(fields),
        closed=fields.flag("close_tools"),
        streams=streams,
        echo=_json(
            instructions=instructions,
            max_output_tokens=most,
            metadata=_plain(metadata, "metadata"),
            parallel_tool_calls=tools["parallel"],
            temperature=sampling["temperature"],
            text={"format": _flat(_plain(shown_form, "text.format"))},
            tool_choice=_flat(_plain(tools["choice"], "tool_choice")),
            tools=[_flat(each) for each in _plain(tools["tools"], "tools")],
            top_logprobs=listed or 0,
            top_p=sampling["top_p"],
        ),
    )
    fields.done(HINTS)
    return _checked(request)


def _sampling(fields: Fields) -> dict[str, Any]:
    return {
        "temperature": fields.number("temperature", 1.0, 0.0, 2.0),
        "top_p": fields.number("top_p", 1.0, 0.0, 1.0),
        "seed": fields.whole("seed", -(2**63), 2**63 - 1),
    }


def _bias(fields: Fields | None) -> tuple[tuple[int, float], ...]:
    if fields is None:
        return ()
    found = []
    for name in list(fields.names()):
        if not (name.isascii() and name.isdigit()):
            raise bad(f"{shown(fields.param(name))}: the keys are token ids", fields.param(name))
        if len(name) > MAX_ID_DIGITS or (len(name) > 1 and name[0] == "0"):
            raise bad(f"{shown(fields.param(name))}: no token id is written so", fields.param(name))
        found.append((int(name), fields.number(name, 0.0, -100.0, 100.0)))
    return tuple(found)


def _stop(fields: Fields) -> tuple[str, ...]:
    value = fields.take("stop", [])
    found = texts([value] if isinstance(value, str) else value if isinstance(value, list) else [value], "stop")
    if len(found) > MAX_STOPS or any(not 0 < len(each) <= MAX_STOP_CHARACTERS for each in found):
        raise bad(f"stop: at most {MAX_STOPS} strings of 1 to {MAX_STOP_CHARACTERS} characters", "stop")
    return tuple(dict.fromkeys(found))


def _answer(form: Constraint | None, fields: Fields) -> Constraint | None:
    """Return the one constraint on the answer."""
    structured = read_structured(fields.object("structured_outputs"))
    if form is not None and structured is not None:
        raise bad(f"{form.param} and {structured.param}: give one constraint", structured.param)
    return form or structured


def _tools(fields: Fields) -> dict[str, Any]:
    tools, choice = fields.items("tools"), fields.take("tool_choice")
    parallel = fields.flag("parallel_tool_calls", True)
    if not tools and choice not in (None, "none", "auto"):
        raise bad("tool_choice needs tools", "tool_choice")
    if choice is not None and choice not in ("none", "auto", "required") and not isinstance(choice, dict):
        raise bad("tool_choice must be 'none', 'auto', 'required' or an object", "tool_choice")
    for index, definition in enumerate(tools):
        if not isinstance(definition, dict) or definition.get("type") not in ("function", "custom"):
            raise bad("only tools of type 'function' and 'custom' are served", f"tools[{index}].type")
    _plain(tools, "tools")  # a template shows them to the model
    try:
        known = read_tools(tools)
    except GrammarError as error:
        raise bad(str(error), "tools", "invalid_grammar") from None
    try:
        mode = read_choice(choice, known).mode if tools else "none"
    except GrammarError as error:
        raise bad(str(error), "tool_choice", "invalid_grammar") from None
    choice = "auto" if choice is None else choice
    return {"tools": tools, "choice": choice, "parallel": parallel, "mode": mode, "has_tools": bool(tools)}


def _template(fields: Fields) -> dict[str, bool]:
    """Read the fields of `chat_template_kwargs` that switch reasoning on and off."""
    given = fields.object("chat_template_kwargs")
    if given is None:
        return {}
    found: dict[str, bool] = {}
    for name in ("enable_thinking", "thinking"):
        if name in given.names():
            found[name] = given.flag(name)
    given.done()
    return found


def _checked(request: Request) -> Request:
    if request.answer is None and not request.tools:
        request.fits = False  # free text is complete wherever it ends; agents send the field with every request
    if request.fits and request.max_tokens is None:
        raise bad(f"fit_max_tokens needs {request.max_param}", "fit_max_tokens")
    return request


def _flat(value: Any) -> Any:
    """Return a tool, a choice of tools or a format in the shape of responses, also if a client sent that of chat
    completions, which has its members within a member named like its type."""
    if not isinstance(value, dict):
        return value
    inner = value.get(value["type"]) if "type" in value else None
    found = {**inner, "type": value["type"]} if isinstance(inner, dict) else dict(value)
    if found.get("parameters") is True:  # for OpenAI's client, a schema is an object
        found["parameters"] = {"type": "object"}
    if isinstance(found.get("format"), dict):
        found["format"] = _flat(found["format"])
    if found.get("type") == "allowed_tools":
        found |= {"mode": found.get("mode") or "auto", "tools": [_flat(each) for each in found["tools"]]}
    return found


def _json(**members: Any) -> str:
    return json.dumps(members, ensure_ascii=False, allow_nan=False)


def _plain(value: Any, param: str) -> Any:
    """Return a value of the body with floats for decimals. It is refused if one would be infinite."""

    def number(text: str) -> float:
        found = float(text)
        if not isfinite(found):
            raise bad(f"{param}: the number {text[:40]} is too large to be shown", param)
        return found

    return json.loads(exact(value), parse_float=number)


def read_back(tools: Sequence[dict[str, Any]], style: Style) -> list[dict[str, Any]]:
    """Return as much of some tools as it takes to read calls of them: which are custom, and the schemas of the others
    where the notation of the style does not tell what is text and what is a number.

    The shortest schemas are returned whole, up to `WHOLE_CHARACTERS` together, and the others as outlines. Raises
    ApiError for one that has none.
    """
    notation = find_notation(style.arguments)
    found: list[dict[str, Any]] = [
        {"type": "custom", "name": tool_name(tool)} for tool in tools if tool["type"] == "custom"
    ]
    if not isinstance(notation, Tagged) or notation.row.shows_types:
        return found
    schemas = {
        index: object_schema(tool.get("function", tool).get("parameters"), f"/tools/{index}")
        for index, tool in enumerate(tools)
        if tool["type"] == "function"
    }
    lengths = {index: len(exact(schema)) for index, schema in schemas.items()}
    outlines, left = Outlines(notation.row), WHOLE_CHARACTERS
    for index in sorted(schemas, key=lengths.__getitem__):
        schema = schemas[index]
        left -= lengths[index]
        if left < 0:
            try:
                schema = outlines.outline(schema)
            except ValueError as error:
                message = f"tools[{index}]: its calls cannot be read in the style {style.name!r}: {error}"
                raise bad(message, "tools", "grammar_too_costly") from None
        found.append({"type": "function", "name": tool_name(tools[index]), "parameters": schema})
    return found


def tool_name(tool: dict[str, Any]) -> str:
    inner: dict[str, Any] = tool.get(tool["type"], tool)
    return str(inner["name"])
