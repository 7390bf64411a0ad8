"""`Style`: how a family of models writes tool calls, reasoning and answers.

A style is data. The structural tag of a request, the parser of the model's text and the renderer all follow from it, so
that they cannot disagree. Templates are texts with the fields `${name}`, `${arguments}`, `${index}`, `${calls}` and
`${text}`; everything else in them stands for itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Literal

from ..errors import GrammarError
from ..source import did_you_mean

Layout = Literal["free", "either", "both"]

_FIELD = re.compile(r"\$\{(\w+)\}")
_NOT_IN_NAMES = frozenset("\"'<>{}[]()|,;=\\$`&")
"""Characters that no tool's name may have in any style: JSON would escape them, or a style marks the end of the name
with them. White space and control characters are not allowed either."""


@dataclass(frozen=True)
class Style:
    """How a family of models writes its messages.

    Attributes:
        name: the name that `from_tools(style=...)` takes.
        call: template of one call, with `${name}` and `${arguments}`, and maybe `${index}` between them. Templates
            after the first one are other ways of writing the same call: they are allowed and read, but not written.
        arguments: the name of the notation of arguments, see `grammar/tools/arguments`.
        section: template of what surrounds all calls of a message, with `${calls}`; empty if nothing does.
        between: the text between two calls.
        trigger: the text with which a call begins to differ from an answer; if empty, what stands before the calls of a
            section, or before the name.
        lead: the text that models write between an answer and the first call. It belongs to neither.
        reasoning: template of the reasoning, with `${text}`; empty if the style has none.
        content: template of an answer, with `${text}`.
        preamble: template of a text for the user before calls, with `${text}`; empty if answers have no such form.
        layout: "free" if calls may stand anywhere in the answer; "either" if a message is an answer or calls, each in
            its own frame; "both" if it has an answer in a frame, then maybe calls.
        joint: the text between two frames, unless the layout is free.
        tail: the text at the end of a message, unless the layout is free.
        optional_ends: whether the last frame of a message may lack its end, because that is a token that ends
            generation.
        custom: template of the call of a custom tool, with `${name}` and `${input}`, the raw text. If empty, the input
            is written as the argument `input` of a function.
        excludes: texts that cannot occur in answers, beside the beginnings of calls and of reasoning.
        first_index: the `${index}` of the first call.
        not_in_names: characters that cannot occur in names of tools in this style, beside those of all styles.
    """

    name: str
    call: str | tuple[str, ...]
    arguments: str = "json"
    section: str = ""
    between: str = ""
    trigger: str = ""
    lead: str = ""
    reasoning: str = ""
    content: str = "${text}"
    preamble: str = ""
    layout: Layout = "free"
    joint: str = ""
    tail: str = ""
    optional_ends: bool = False
    custom: str = ""
    excludes: tuple[str, ...] = ()
    first_index: int = 0
    not_in_names: str = ""

    def __post_init__(self) -> None:
        for template in self.calls:
            if "${name}" not in around(template, "arguments")[0]:
                raise ValueError(f"the template {template!r} has no ${{name}} before ${{arguments}}")
        if not self.calls or "" in self.triggers:
            raise ValueError(f"the style {self.name!r} needs a text before the name of a tool, or a trigger")

    @property
    def calls(self) -> tuple[str, ...]:
        """The templates of a call, the one to be written first."""
        return (self.call,) if isinstance(self.call, str) else self.call

    @property
    def section_ends(self) -> tuple[str, str]:
        """The texts before and after the calls of a message."""
        return around(self.section, "calls") if self.section else ("", "")

    @property
    def reasoning_ends(self) -> tuple[str, str, str]:
        """The texts before and after reasoning, and the white space that follows; all empty without reasoning."""
        begin, end = around(self.reasoning, "text") if self.reasoning else ("", "")
        marker = end.rstrip()
        return begin, marker, end[len(marker) :]

    @property
    def triggers(self) -> tuple[str, ...]:
        """The texts with which calls begin, without white space at the end: an answer has none of them."""
        if self.trigger:
            return (self.trigger,)
        if self.section:
            return (self.section_ends[0].rstrip(),)
        templates = (*self.calls, self.custom) if self.custom else self.calls
        begins = list(dict.fromkeys([template.partition("${name}")[0].rstrip() for template in templates]))
        return tuple(_shortest(begins))

    def bad_character(self, name: str) -> str | None:
        """Return the first character of a tool's name that this style cannot write, or None."""
        for char in name:
            if char in _NOT_IN_NAMES or char in self.not_in_names or char.isspace() or not char.isprintable():
                return char
        return None


def _shortest(texts: list[str]) -> list[str]:
    """Return the texts that begin with no other one."""
    return [text for text in texts if not any([text != other and text.startswith(other) for other in texts])]


def fields(template: str) -> list[str]:
    """Return the parts of a template: texts at even indexes, names of fields at odd ones."""
    return _FIELD.split(template)


def around(template: str, field: str) -> tuple[str, str]:
    """Return the texts before and after the only field of a template."""
    before, found, after = template.partition(f"${{{field}}}")
    if not found:
        raise ValueError(f"the template {template!r} has no ${{{field}}}")
    return before, after


def names() -> list[str]:
    """Return the names of all styles, in alphabetical order."""
    folder = Path(__file__).parent / "styles"
    found = {path.name.partition(".")[0] for path in folder.iterdir() if path.suffix in (".py", ".pyc", ".so", ".pyd")}
    return sorted([name for name in found if not name.startswith("_")])


def find(style: str | Style) -> Style:
    """Return a style by its name; a `Style` is returned as it is.

    Raises GrammarError if there is no style of that name.
    """
    if isinstance(style, Style):
        return style
    if not isinstance(style, str):
        raise TypeError(f"style must be a name or a Style, not {type(style).__name__}")
    known = names()
    name = style.lower().replace("-", "_").replace(".", "_")
    if name not in known:
        suggested = did_you_mean(name, known)
        hint = f"the styles are {', '.join(known)}; or give a Style of your own"
        raise GrammarError(f"there is no tool style {style!r}", hint=f"{suggested}; {hint}" if suggested else hint)
    found: Style = import_module(f"{__package__}.styles.{name}").STYLE
    return found
