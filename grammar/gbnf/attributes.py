"""Rules with attributes, as XGrammar's EBNF has them: `name[capture, max_tokens=20] ::= ...`.

- `lazy`: the texts of the rule that do not begin with a shorter one.
- `max_chars`: the most characters of the text. XGrammar lets a text grow longer until it can end; here it cannot.
- `max_tokens`, `temperature`: as in Lark's syntax. Like the two above, they need a rule that is a terminal.
- `capture`: the name of the text for `Matcher.captures`, by default that of the rule.
"""

from __future__ import annotations

from math import isinf
from typing import TYPE_CHECKING, Protocol

from ..errors import GrammarError
from ..model.attributes import RuleAttributes
from ..regex.ast import And, Chars, Concat, Not
from ..regex.ast import Repeat as RegexRepeat
from ..regex.codepoints import ALL
from .terminals import MAX_SIZE
from .tree import Attribute, Definition, Node

if TYPE_CHECKING:
    from ..model.model import Model, Origin

KNOWN = ("lazy", "max_chars", "max_tokens", "temperature", "capture")

MOST = 2**31 - 1
"""The largest bound of tokens and characters, which is also the largest count in a grammar."""

_MORE = RegexRepeat(Chars(ALL), 1, None)


class Loader(Protocol):
    """What is asked of the loader of the grammar, see `load`."""

    model: Model

    def define(self, lhs: int, tree: Node) -> None: ...

    def origin(self, offset: int) -> Origin: ...

    def error(self, message: str, offset: int, hint: str | None = None) -> GrammarError: ...


def define(loader: Loader, lhs: int, definition: Definition) -> None:
    """Add the productions with which `lhs` derives the texts of a rule with attributes."""
    model = loader.model
    given = {attribute.name: attribute for attribute in definition.attributes}
    check(loader, definition, given)
    of_terminal = next((one for one in definition.attributes if one.name != "capture"), None)
    if of_terminal is None:
        loader.define(lhs, definition.tree)
    else:
        regex = definition.tree.regex
        if regex is None:
            raise loader.error(
                f"`{of_terminal.name}` needs a rule that is a regular expression with at most {MAX_SIZE} strings and "
                "classes, and that names no rule with attributes",
                of_terminal.begin,
                "give the attribute to a smaller rule within this one",
            )
        if "lazy" in given:
            regex = And((regex, Not(Concat((And((regex,)), _MORE)))))
        if "max_chars" in given:
            most = whole(loader, given["max_chars"], 0)
            regex = And((And((regex,)), RegexRepeat(Chars(ALL), 0, most)))
        terminal = model.terminal(definition.name, regex, loader.origin(definition.begin))
        bound, heat = given.get("max_tokens"), given.get("temperature")
        if bound is not None or heat is not None:
            model.attributes[terminal] = RuleAttributes(
                max_tokens=None if bound is None else whole(loader, bound, 1),
                temperature=None if heat is None else number(loader, heat),
            )
        model.produce(lhs, (terminal,))
    capture = given.get("capture")
    if capture is not None:
        name = definition.name if capture.value is None else capture.value
        if not isinstance(name, str) or not name:
            raise loader.error("`capture` takes a name in quotes", capture.begin, 'write capture="name"')
        model.attributes[lhs] = RuleAttributes(capture=name)


def check(loader: Loader, definition: Definition, given: dict[str, Attribute]) -> None:
    """Refuse attributes that are unknown, that are there twice, or that have a value and should not."""
    for attribute in definition.attributes:
        name = attribute.name
        if name not in KNOWN:
            hint = f"the attributes are {', '.join(KNOWN)}"
            raise loader.error(f"the attribute `{name}` is not supported", attribute.begin, hint)
        if given[name] is not attribute:
            raise loader.error(f"`{name}` is given twice", attribute.begin)
        if name == "lazy" and attribute.value is not None:
            raise loader.error("`lazy` takes no value", attribute.begin)


def number(loader: Loader, attribute: Attribute) -> float:
    if not isinstance(attribute.value, float):
        raise loader.error(f"`{attribute.name}` takes a number", attribute.begin, f"write {attribute.name}=1")
    if isinf(attribute.value):
        raise loader.error(f"the number of `{attribute.name}` is too large", attribute.begin)
    return attribute.value


def whole(loader: Loader, attribute: Attribute, least: int) -> int:
    value = number(loader, attribute)
    if value != int(value) or not least <= value <= MOST:
        raise out_of_range(loader, attribute, least)
    return int(value)


def out_of_range(loader: Loader, attribute: Attribute, least: int) -> GrammarError:
    return loader.error(f"`{attribute.name}` takes a whole number from {least} to {MOST}", attribute.begin)
