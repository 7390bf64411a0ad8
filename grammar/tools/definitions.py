"""Read definitions of tools, and which of them a message may call.

Definitions come in the shapes of OpenAI's chat completions (`{"type": "function", "function": {...}}`) and responses
(`{"type": "function", "name": ...}`), as pydantic models, dataclasses and functions. Custom tools take a text in place
of arguments, which a grammar may constrain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from ...earley._meter import tick
from ...trie.errors import shortened
from ..errors import GrammarError
from ..json_schema.python_types import schema_of_type
from ..source import did_you_mean
from .style import Style

INPUT = "input"
"""The name of the one argument of a custom tool, in styles that have no form of their own for raw text."""

_NO_PARAMETERS: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
_ANY_PARAMETERS: dict[str, Any] = {"type": "object"}
_FUNCTION_KEYS = frozenset(("name", "description", "parameters", "strict"))
_CUSTOM_KEYS = frozenset(("name", "description", "format"))
_GRAMMAR_KEYS = frozenset(("syntax", "definition"))

Strict = Literal["declared"] | bool
"""Which schemas of arguments are enforced: all (True), those of functions with `strict: true` ("declared"), none."""


class Format(NamedTuple):
    """The grammar of a custom tool's text. syntax: "lark" or "regex". pointer: where the definition stands."""

    syntax: str
    definition: str
    pointer: str


@dataclass(frozen=True)
class Tool:
    """A tool as it is defined.

    Attributes:
        name: its name.
        pointer: where its definition stands, such as `/tools/2/function`.
        parameters: the schema of its arguments, an object; None for a custom tool.
        is_custom: whether it takes a text.
        format: the grammar of that text, or None for any text.
        strict: what the definition says about it.
        key: the key of the definition at which the schema stands.
    """

    name: str
    pointer: str
    parameters: Any = None
    is_custom: bool = False
    format: Format | None = None
    strict: bool | None = None
    key: str = "parameters"

    @property
    def schema_pointer(self) -> str:
        return f"{self.pointer}/{self.key}"


class Choice(NamedTuple):
    """The tools that a message may call, and whether it must.

    mode: "none", "auto", "required", or "named" for exactly one call.
    """

    mode: Literal["none", "auto", "required", "named"]
    tools: tuple[Tool, ...]


def read_tools(given: Iterable[Any], strict: Strict = True, style: Style | None = None) -> tuple[Tool, ...]:
    """Return the tools of a request. Raises GrammarError, with the place, for a definition that is malformed or two of
    one name, and for a name that the style cannot write."""
    if isinstance(given, (str, bytes, Mapping)):
        raise TypeError(f"tools must be a list of definitions, not one {type(given).__name__}")
    if not isinstance(strict, bool) and strict != "declared":
        raise ValueError(f"strict must be True, False or 'declared', not {strict!r}")
    found: dict[str, Tool] = {}
    for index, definition in enumerate(given):
        tool = _read(definition, f"/tools/{index}", strict)
        if tool.name in found:
            raise GrammarError(
                f"two tools have the name {tool.name!r}; the other one is at #{found[tool.name].pointer}",
                pointer=f"{tool.pointer}/name",
                hint="rename one of them: a call has nothing but the name to say which one it means",
            )
        bad = None if style is None else style.bad_character(tool.name)
        if style is not None and bad is not None:
            raise GrammarError(
                f"the style {style.name!r} cannot write {bad!r} in the name {shortened(repr(tool.name))}",
                pointer=f"{tool.pointer}/name",
                hint="use letters, digits, '_', '-' and '.'",
            )
        found[tool.name] = tool
    return tuple(found.values())


def _read(given: Any, pointer: str, strict: Strict) -> Tool:
    if isinstance(given, Tool):
        return given
    if hasattr(given, "model_dump") and not isinstance(given, type) and hasattr(given, "type"):
        given = given.model_dump(exclude_none=True)  # an object of the openai package
    if not isinstance(given, Mapping):
        return _of_python(given, pointer, strict)
    kind = given.get("type")
    if kind in ("function", "custom"):
        inner, place = given, pointer
        if kind in given:
            inner, place = given[kind], f"{pointer}/{kind}"
            _refuse_others(given, frozenset(("type", kind)), pointer)
        if not isinstance(inner, Mapping):
            raise GrammarError(f"{kind!r} must be an object, not {type(inner).__name__}", pointer=place)
        return _function(inner, place, strict) if kind == "function" else _custom(inner, place)
    if kind is None and "name" in given:
        for key in ("input_schema", "inputSchema"):  # of Anthropic's API, and of the Model Context Protocol
            if key in given:
                return _other(given, key, pointer, strict)
        return _function(given, pointer, strict)
    named = repr(kind) if "type" in given else "no type"
    raise GrammarError(
        f"a tool of {named} is not supported",
        pointer=f"{pointer}/type" if "type" in given else pointer,
        hint='use {"type": "function", "function": {"name": ..., "parameters": ...}}, "custom" for tools that take a '
        "text, a pydantic model or a function",
    )


def _name(given: Mapping[str, Any], pointer: str) -> str:
    name = given.get("name")
    if not isinstance(name, str) or not name:
        raise GrammarError("a tool needs a name, a text that is not empty", pointer=f"{pointer}/name")
    return name


def _refuse_others(given: Mapping[str, Any], known: frozenset[str], pointer: str) -> None:
    """Refuse keys that are not known: a misspelled `parameters` would be a tool without a constraint."""
    for key in given:
        if key not in known:
            hint = did_you_mean(str(key), known) or f"the keys are {', '.join(sorted(known))}"
            raise GrammarError(f"unknown key {shortened(repr(key))}", pointer=f"{pointer}/{key}", hint=hint)


def _function(given: Mapping[str, Any], pointer: str, strict: Strict) -> Tool:
    _refuse_others(given, _FUNCTION_KEYS | {"type", "cache_control", "defer_loading"}, pointer)
    name = _name(given, pointer)
    declared = _declared(given, pointer)
    parameters = given.get("parameters")
    if strict is False or (strict == "declared" and declared is not True):
        return Tool(name, pointer, _ANY_PARAMETERS, strict=declared)
    return Tool(name, pointer, object_schema(parameters, f"{pointer}/parameters"), strict=declared)


def _other(given: Mapping[str, Any], key: str, pointer: str, strict: Strict) -> Tool:
    """Return a tool whose schema stands at `key`. What else it has is for people and clients."""
    name = _name(given, pointer)
    declared = _declared(given, pointer)
    if strict is False or (strict == "declared" and declared is not True):
        return Tool(name, pointer, _ANY_PARAMETERS, strict=declared)
    return Tool(name, pointer, object_schema(given[key], f"{pointer}/{key}"), strict=declared, key=key)


def _declared(given: Mapping[str, Any], pointer: str) -> bool | None:
    """Return what a definition says about `strict`."""
    found = given.get("strict")
    if found is not None and not isinstance(found, bool):
        raise GrammarError(f"strict must be true or false, not {found!r}", pointer=f"{pointer}/strict")
    return found


def object_schema(parameters: Any, pointer: str) -> dict[str, Any]:
    """Return the schema of the arguments of a function, which are an object. None means that it has no parameters, as
    in OpenAI's API."""
    if parameters is None:
        return _NO_PARAMETERS
    if parameters is True:
        return _ANY_PARAMETERS
    if not isinstance(parameters, Mapping):
        raise GrammarError(
            f"parameters must be a JSON Schema of an object, not {shortened(repr(parameters))}", pointer=pointer
        )
    kind = parameters.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        raise GrammarError(
            f"arguments are an object, but the schema demands {kind!r}",
            pointer=f"{pointer}/type",
            hint='use {"type": "object", "properties": {...}}',
        )
    return {**parameters, "type": "object"}


def _custom(given: Mapping[str, Any], pointer: str) -> Tool:
    _refuse_others(given, _CUSTOM_KEYS | {"type", "cache_control", "defer_loading"}, pointer)
    name = _name(given, pointer)
    form = given.get("format")
    if form is None:
        return Tool(name, pointer, is_custom=True)
    place = f"{pointer}/format"
    form = form if isinstance(form, Mapping) else {}
    kind = form.get("type")
    if kind not in ("text", "grammar"):
        raise GrammarError('the format of a custom tool is {"type": "text"} or {"type": "grammar", ...}', pointer=place)
    if kind == "text":
        _refuse_others(form, frozenset(("type",)), place)
        return Tool(name, pointer, is_custom=True)
    grammar, known = form, _GRAMMAR_KEYS | {"type"}
    if "grammar" in form:
        _refuse_others(form, frozenset(("type", "grammar")), place)
        grammar, known, place = form["grammar"], _GRAMMAR_KEYS, f"{place}/grammar"
        if not isinstance(grammar, Mapping):
            raise GrammarError("grammar must be an object with syntax and definition", pointer=place)
    _refuse_others(grammar, known, place)
    syntax, definition = grammar.get("syntax"), grammar.get("definition")
    if syntax not in ("lark", "regex"):
        raise GrammarError(f"syntax must be 'lark' or 'regex', not {syntax!r}", pointer=f"{place}/syntax")
    if not isinstance(definition, str):
        raise GrammarError("definition must be a text", pointer=f"{place}/definition")
    return Tool(name, pointer, is_custom=True, format=Format(syntax, definition, f"{place}/definition"))


def _of_python(given: Any, pointer: str, strict: Strict) -> Tool:
    name = getattr(given, "__name__", None) or type(given).__name__
    if not callable(given) or isinstance(given, (int, float, list, tuple)):
        raise GrammarError(
            f"a tool is a definition, a pydantic model or a function, not {type(given).__name__}", pointer=pointer
        )
    if strict is not True:  # none of these says that it is strict
        return Tool(name, pointer, _ANY_PARAMETERS)
    try:
        schema = schema_of_type(given)
    except GrammarError as error:
        raise _placed(error, pointer) from None
    return Tool(name, pointer, object_schema(schema, f"{pointer}/parameters"))


def _placed(error: GrammarError, pointer: str) -> GrammarError:
    """Return an error about a tool, with the place of the tool before its own."""
    error.pointer = pointer + (error.pointer or "")
    return error


def read_choice(given: Any, tools: tuple[Tool, ...], place: str = "/tool_choice") -> Choice:
    """Return which tools a message may call: `given` is "auto", "none", "required", the name of a tool, or an object of
    OpenAI's APIs. A member that is null counts as absent. Raises GrammarError if it names no tool, demands a call where
    there is no tool, has a member that is not known, or lacks the `tools` of `allowed_tools`. `place` is its JSON
    pointer, for errors."""
    if given is None:
        given = "auto"
    if hasattr(given, "model_dump") and not isinstance(given, type):
        given = given.model_dump(exclude_none=True)
    if isinstance(given, str):
        if given == "none":
            return Choice("none", ())
        if given in ("auto", "required", "any"):
            return _of_mode("auto" if given == "auto" else "required", tools, place)
        return Choice("named", (_called(given, tools, place),))
    if not isinstance(given, Mapping):
        raise TypeError(f"tool_choice must be a str or a dict, not {type(given).__name__}")
    given = _without_nulls(given)
    kind = given.get("type")
    inner: Any
    if kind in ("function", "custom"):
        inner, where = given, place
        if kind in given:
            _refuse_others(given, frozenset(("type", kind)), place)
            inner, where = _without_nulls(given[kind]), f"{place}/{kind}"
        name = inner.get("name") if isinstance(inner, Mapping) else None
        if not isinstance(name, str):
            raise GrammarError("the choice of a tool needs its name", pointer=f"{where}/name")
        _refuse_others(inner, frozenset(("type", "name")), where)
        return Choice("named", (_called(name, tools, f"{where}/name", kind),))
    if kind == "allowed_tools":
        inner, where = given, place
        if "allowed_tools" in given:
            _refuse_others(given, frozenset(("type", "allowed_tools")), place)
            inner, where = _without_nulls(given["allowed_tools"]), f"{place}/allowed_tools"
        if not isinstance(inner, Mapping) or not isinstance(inner.get("tools", ()), (list, tuple)):
            raise GrammarError("allowed tools are an object with 'mode' and a list of 'tools'", pointer=where)
        _refuse_others(inner, frozenset(("type", "mode", "tools")), where)
        if "tools" not in inner:
            raise GrammarError(
                "the choice of allowed tools needs its tools",
                pointer=f"{where}/tools",
                hint="list the tools that may be called, or use 'auto' or 'required' for all of them",
            )
        mode = inner.get("mode", "auto")
        if mode not in ("auto", "required"):
            raise GrammarError(f"mode must be 'auto' or 'required', not {mode!r}", pointer=f"{where}/mode")
        by_name = {tool.name: (tool,) for tool in tools}
        allowed: dict[str, Tool] = {}
        for index, reference in enumerate(inner["tools"]):
            tick()
            at = f"{where}/tools/{index}"
            is_object = isinstance(reference, Mapping) and reference.get("type", kind) != kind  # which is no tool
            # PERF: in a list of thousands, each name is looked for among the one tool that has it.
            chosen = read_choice(reference, by_name.get(_named(reference), tools), at) if is_object else None
            if chosen is None or chosen.mode != "named":
                raise GrammarError('an allowed tool is {"type": "function", "name": ...}', pointer=at)
            allowed |= {tool.name: tool for tool in chosen.tools}
        return _of_mode(mode, tuple(allowed.values()), where)
    raise GrammarError(
        f"unknown tool_choice {shortened(repr(given))}",
        pointer=place,
        hint="use 'auto', 'none', 'required', the name of a tool, or an object of type 'function', 'custom' or "
        "'allowed_tools'",
    )


def _named(reference: Mapping[str, Any]) -> str:
    """Return the name in a reference to a tool; "", which no tool has, if it is not there."""
    inner = reference.get(reference["type"]) if isinstance(reference["type"], str) else None
    name = (inner if isinstance(inner, Mapping) else reference).get("name")
    return name if isinstance(name, str) else ""


def _without_nulls(given: Any) -> Any:
    """Return an object without its members that are null; any other value as it is."""
    return {key: value for key, value in given.items() if value is not None} if isinstance(given, Mapping) else given


def _of_mode(mode: Literal["auto", "required"], tools: tuple[Tool, ...], pointer: str) -> Choice:
    if tools:
        return Choice(mode, tools)
    if mode == "required":
        raise GrammarError(
            "a call is required, and there is no tool to call", pointer=pointer, hint="use tool_choice='none'"
        )
    return Choice("none", ())


def _called(name: str, tools: tuple[Tool, ...], pointer: str, kind: str | None = None) -> Tool:
    for tool in tools:
        if tool.name == name:
            if kind is not None and tool.is_custom != (kind == "custom"):
                raise GrammarError(f"the tool {name!r} is not of type {kind!r}", pointer=pointer)
            return tool
    known = [tool.name for tool in tools]
    hint = did_you_mean(name, known) or (f"the tools are {', '.join(known)}" if known else "there are no tools")
    raise GrammarError(f"tool_choice names {shortened(repr(name))}, which is no tool", pointer=pointer, hint=hint)
