"""From what a request demands to a matcher: tools, `response_format`, `structured_outputs`.

A grammar of tools and one of the answer come together if the model may choose between a call and an answer of a
schema: then a message is calls alone, or the answer.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, NamedTuple

from ...earley import Limits, Matcher
from ...errors import EarleymaskError, GrammarError
from ...grammar import Grammar
from ...grammar.json.reader import loads
from ...grammar.json.writer import dumps
from ...grammar.other_syntax import is_gbnf
from ...grammar.tools.definitions import read_choice, read_tools
from ...grammar.tools.style import Style, find
from ...pool import MatcherPool
from ...trie import Vocabulary
from .errors import bad, of_grammar
from .fields import Fields, texts
from .thinking import Reasoning

MiB = 1 << 20
LIMITS = Limits(
    source_characters=1 << 20,
    load_bytes=64 * MiB,
    grammar_bytes=16 * MiB,
    matcher_bytes=16 * MiB,
    load_seconds=0.5,
    seconds=0.5,
)
"""Bounds on the grammars of strangers. What is learned about one of them takes some MiB at most; the pool holds dozens
of them."""

CAPACITY = 64
"""Grammars that the pool remembers."""

MEMORY = 512 * MiB
"""Bytes that they may take together. Most take less than one MiB, those of strangers up to 80."""

_JSON_STARTS = '{["-0123456789tfn'


class Constraint(NamedTuple):
    """What an answer must be.

    Attributes:
        kind: "json_schema", "regex", "choice", "grammar" or "structural_tag".
        text: the schema, the choices or the tag as JSON; the pattern or the grammar as it is.
        param: the field of the body that it is from.
        options: of `Grammar.from_json_schema`.
    """

    kind: str
    text: str
    param: str
    options: tuple[tuple[str, Any], ...] = ()


def exact(value: Any) -> str:
    """Return a value of the body as JSON, with its numbers as they were written."""
    return dumps(value, str)


def read_format(given: Fields | None) -> Constraint | None:
    """Read `response_format` of chat completions, or `text.format` of responses."""
    if given is None:
        return None
    kind = given.one_of("type", ("text", "json_object", "json_schema", "structural_tag"))
    found = None
    if kind == "json_object":
        found = Constraint("json_schema", '{"type": "object"}', given.place)
    elif kind == "json_schema":
        inner = given.object("json_schema") or given
        for name in ("name", "description"):
            inner.text(name)
        inner.flag("strict")  # every schema is enforced, whether it says so or not
        schema = inner.take("schema")
        if schema is None:
            raise inner.missing("schema")
        if not isinstance(schema, (dict, bool)):
            raise inner.wrong("schema", "a JSON Schema, which is an object", schema)
        found = Constraint("json_schema", exact(schema), inner.param("schema"))
        inner.done()
    elif kind == "structural_tag":
        tag = {name: value for name in ("format", "structures", "triggers") if (value := given.take(name)) is not None}
        found = Constraint("structural_tag", exact({"type": "structural_tag", **tag}), given.place)
    given.done()
    return found


def read_structured(given: Fields | None) -> Constraint | None:
    """Read vLLM's `structured_outputs`."""
    if given is None:
        return None
    options: list[tuple[str, Any]] = []
    if given.flag("disable_any_whitespace"):
        options.append(("whitespace", "compact"))
    if given.flag("disable_additional_properties"):
        options.append(("closed", True))
    given.refuse("whitespace_pattern", "white space cannot be given by a pattern; use disable_any_whitespace")
    found: list[Constraint] = []
    for name in ("json", "json_object", "regex", "choice", "grammar", "structural_tag"):
        param = given.param(name)
        value = given.take(name)
        if value is None or (name == "json_object" and value is False):
            continue
        if name == "json":
            text = value if isinstance(value, str) else exact(value)
            found.append(Constraint("json_schema", text, param, tuple(options)))
        elif name == "json_object":
            found.append(Constraint("json_schema", '{"type": "object"}', param, tuple(options)))
        elif name == "choice":
            if not isinstance(value, list):
                raise given.wrong(name, "a list of strings", value)
            found.append(Constraint("choice", json.dumps(texts(value, param), ensure_ascii=False), param))
        elif name == "structural_tag":
            text = value if isinstance(value, str) else exact(value)
            found.append(Constraint("structural_tag", text, param, tuple(options)))
        elif isinstance(value, str):
            found.append(Constraint(name, value, param))
        else:
            raise given.wrong(name, "a string", value)
    given.done()
    if len(found) > 1:
        names = " and ".join([each.param for each in found])
        raise bad(f"{names}: give one constraint", found[1].param)
    if not found:
        raise bad(f"{given.place} has no constraint", given.place)
    return found[0]


class Tools(NamedTuple):
    """The tools of a request, as JSON: `definitions` is "" if there are none.

    Attributes:
        definitions: the tools.
        choice: which calls there may be.
        parallel: whether a message may have several.
        closed: whether arguments have no members of which the schemas do not speak.
    """

    definitions: str = ""
    choice: str = '"auto"'
    parallel: bool = True
    closed: bool = False


class Grammars:
    """Makes matchers for requests, over one vocabulary and in one style of tool calls. Threads may share it."""

    def __init__(self, vocabulary: Vocabulary, style: str | Style, limits: Limits = LIMITS) -> None:
        self.vocabulary = vocabulary
        self.style = find(style)
        self.limits = limits
        self.pool = MatcherPool(vocabulary, capacity=CAPACITY, memory=MEMORY)

    def matcher(self, tools: Tools, answer: Constraint | None, reasoning: Reasoning | None = None) -> Matcher | None:
        """Return a matcher for the messages that a request allows; None if it allows any text. With `reasoning`, this
        comes first.

        Raises ApiError if that cannot be enforced.
        """
        if not tools.definitions and answer is None:
            return None
        param = "tools" if tools.definitions else answer.param if answer is not None else None
        try:
            return self.pool.matcher(self._with_reasoning, tools, answer, reasoning)
        except RecursionError:
            raise bad("the constraint is nested too deeply", param, "grammar_too_costly") from None
        except EarleymaskError as error:
            pointer = getattr(error, "pointer", None) or ""
            raise of_grammar(error, "tool_choice" if pointer.startswith("/tool_choice") else param) from None

    def _with_reasoning(self, tools: Tools, answer: Constraint | None, reasoning: Reasoning | None) -> Grammar:
        grammar = self._grammar(tools, answer)
        return grammar if reasoning is None else reasoning.before(grammar, self.vocabulary, self.limits)

    def _grammar(self, tools: Tools, answer: Constraint | None) -> Grammar:
        if not tools.definitions:
            assert answer is not None
            return grammar_of(answer, self.vocabulary, self.limits)
        definitions, choice = _definitions(tools), loads(tools.choice)
        mode = read_choice(choice, read_tools(definitions)).mode
        if answer is None or mode in ("required", "named"):
            return self._of_tools(tools, choice)
        if mode == "none":
            return grammar_of(answer, self.vocabulary, self.limits)
        self._check_distinct(answer)
        if isinstance(choice, dict):
            inner = choice.get("allowed_tools")
            required = {"mode": "required"}
            choice = {**choice, **(required if inner is None else {"allowed_tools": {**inner, **required}})}
        else:
            choice = "required"
        calls = self._of_tools(tools, choice)
        return Grammar.union(
            calls, grammar_of(answer, self.vocabulary, self.limits), vocabulary=self.vocabulary, limits=self.limits
        )

    def _of_tools(self, tools: Tools, choice: Any) -> Grammar:
        return Grammar.from_tools(
            _definitions(tools),
            self.style,
            choice,
            parallel=tools.parallel,
            vocabulary=self.vocabulary,
            limits=self.limits,
            closed=tools.closed,
        )

    def _check_distinct(self, answer: Constraint) -> None:
        """Refuse an answer beside calls if its text might begin as a call does."""
        trigger = self.style.triggers[0].lstrip()
        if answer.kind != "json_schema" or trigger[:1] in _JSON_STARTS or self.style.layout != "free":
            message = (
                f"{answer.param} cannot be enforced with tool_choice 'auto': in the style {self.style.name!r} it "
                "might read as a call. Use 'none' or 'required'"
            )
            raise bad(message, answer.param, "cannot_be_enforced")


def grammar_of(answer: Constraint, vocabulary: Vocabulary | None = None, limits: Limits = LIMITS) -> Grammar:
    """Return the grammar of an answer."""
    kind, text, _, options = answer
    if kind == "json_schema":
        return Grammar.from_json_schema(text, limits=limits, **dict(options))
    if kind == "structural_tag":
        return Grammar.from_structural_tag(text, vocabulary, limits=limits, **dict(options))
    if kind == "regex":
        return Grammar.from_regex(text, limits=limits)
    if kind == "choice":
        return Grammar.from_choices(loads(text), limits=limits)
    try:
        return Grammar.from_lark(text, limits=limits)
    except GrammarError:
        if not is_gbnf(text):
            raise
    return Grammar.from_gbnf(text, limits=limits)


def _definitions(tools: Tools) -> Any:
    return loads(tools.definitions, parse_float=Decimal)
