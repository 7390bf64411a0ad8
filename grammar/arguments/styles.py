"""How the arguments of a tool are written by models that do not write them as JSON: one row for each style.

An argument has a name and a value. In all styles a text begins an argument, its name follows, and a text ends its
value; the rows say which, and in what else the styles differ. `text` reads and writes arguments by these rows, and
`embed` makes a grammar of them.

The names of the styles, and the texts, are those of XGrammar 0.2.8 and of the chat templates of these models. XGrammar
has no `mimo_xml`: for MiMo it takes `qwen_xml`, of which vLLM's parser for MiMo does not drop the line breaks. What is
written between the tags of `cohere_xml` is that of cohere-melody 0.15.
"""

from __future__ import annotations

from typing import NamedTuple

TYPES = frozenset(("null", "boolean", "number", "string", "array", "object"))
"""The types of JSON values."""
SCALARS = frozenset(("null", "boolean", "number"))
"""The types whose values are written as JSON in all styles."""
STRUCTURES = frozenset(("array", "object"))


class ArgumentStyle(NamedTuple):
    """One style. An argument is `begin`, its name, `after_name`, `before_value`, one of the `kinds`, its value, and
    `end`.

    begin, after_name: what stands before the name and after it.
    before_value: what stands before the value; white space may stand before it.
    kinds: what stands before a value of which types. If one kind has strings and other types, the text of a value
        decides: it is a string unless it is JSON of another type that the schema allows.
    end: what ends a value; with `{}` for the name of the argument.
    stop: what no raw string has in it, since it would end there: the beginning of `end`, up to the name.
    entities: the characters of a name that are written as entities, and these.
    item: what begins an item of an array; empty if arrays and objects are written as JSON. `item_name` is the name with
        which it ends.
    is_wrapped: a string has a line break before and after it, or neither of them.
    between: what is written between arguments; any white space may stand there.
    """

    begin: str
    after_name: str
    kinds: tuple[tuple[str, frozenset[str]], ...]
    end: str
    stop: str
    before_value: str = ""
    entities: tuple[tuple[str, str], ...] = ()
    item: str = ""
    item_name: str = ""
    is_wrapped: bool = False
    between: str = "\n"

    @property
    def shows_types(self) -> bool:
        """Whether the text of a value says of which types it is. Otherwise only the schema does."""
        return len(self.kinds) > 1

    def texts(self) -> tuple[str, ...]:
        """Return the constant texts of the style, in which special tokens may have their names."""
        return (self.begin, self.after_name, self.before_value, self.end, self.item, *dict(self.kinds))

    def end_of(self, name: str) -> str:
        return self.end.replace("{}", name)


_ANY_KIND = (("", TYPES),)
_NAMESPACE = "]<]minimax[>["
_QUOTED = (("&", "&amp;"), ('"', "&quot;"))


def _deepseek(parameter: str) -> ArgumentStyle:
    return ArgumentStyle(
        begin=f'<{parameter} name="',
        after_name='"',
        kinds=((' string="true">', frozenset(("string",))), (' string="false">', TYPES - {"string"})),
        end=f"</{parameter}>",
        stop=f"</{parameter}>",
    )


STYLES = {
    "qwen_xml": ArgumentStyle(
        begin="<parameter=",
        after_name=">",
        kinds=_ANY_KIND,
        end="</parameter>",
        stop="</parameter>",
        is_wrapped=True,
    ),
    "mimo_xml": ArgumentStyle(
        begin="<parameter=",
        after_name=">",
        kinds=_ANY_KIND,
        end="</parameter>",
        stop="</parameter>",
        between="",
    ),
    "minimax_xml": ArgumentStyle(
        begin='<parameter name="',
        after_name='">',
        kinds=_ANY_KIND,
        end="</parameter>",
        stop="</parameter>",
    ),
    "minimax_m3_xml": ArgumentStyle(
        begin=f"{_NAMESPACE}<",
        after_name=">",
        kinds=_ANY_KIND,
        end=f"{_NAMESPACE}</{{}}>",
        stop=_NAMESPACE,
        item=f"{_NAMESPACE}<item>",
        item_name="item",
    ),
    "deepseek_xml": _deepseek("｜DSML｜parameter"),
    "deepseek_v4_1_xml": _deepseek("｜DSML｜ parameter"),
    "glm_xml": ArgumentStyle(
        begin="<arg_key>",
        after_name="</arg_key>",
        before_value="<arg_value>",
        kinds=_ANY_KIND,
        end="</arg_value>",
        stop="</arg_value>",
    ),
    "cohere_xml": ArgumentStyle(
        begin='<cofl:value name="',
        after_name='"',
        kinds=(
            (' type="raw">', frozenset(("string",))),
            (' type="json">', SCALARS),
            (' type="dict">', frozenset(("object",))),
            (' type="list">', frozenset(("array",))),
        ),
        end="</cofl:value>",
        stop="</cofl:value>",
        entities=(*_QUOTED, ("<", "&lt;"), (">", "&gt;")),
        item="<cofl:value",
        between="",
    ),
    "kimi_k3_xml": ArgumentStyle(
        begin='<|open|>argument key="',
        after_name='"',
        kinds=tuple([(f' type="{one}"<|sep|>', frozenset((one,))) for one in sorted(TYPES)]),
        end="<|close|>argument<|sep|>",
        stop="<|close|>argument<|sep|>",
        entities=_QUOTED,
        between="",
    ),
}
"""The styles by name."""


def written_name(name: str, style: ArgumentStyle) -> str | None:
    """Return how a name is written; None if the style cannot say it."""
    found = name
    for char, entity in style.entities:
        found = found.replace(char, entity)
    if not found or found != found.strip(" ") or any([char < " " or char == "\x7f" for char in found]):
        return None
    if not style.entities and any([char in found for char in '<>"&']):
        return None
    if "{}" in style.end and found.startswith("/"):
        return None
    return None if any(["\ud800" <= char <= "\udfff" for char in found]) else found


def read_name(written: str, style: ArgumentStyle) -> str:
    """Return the name that is written so."""
    for char, entity in reversed(style.entities):  # the ampersand is the first one to be written, and the last to read
        written = written.replace(entity, char)
    return written


PLAIN_NAMES = r'[^\x00-\x20\x7f<>"&/](?:[^\x00-\x1f\x7f<>"&]*[^\x00-\x20\x7f<>"&])?'
"""Names that need no entities, as a pattern: those of arguments that a schema does not name."""
