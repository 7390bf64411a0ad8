"""Keywords of a schema that have no effect although their author may expect one: slips of the pen, keywords of other
drafts, and those beside a `$ref` that stands alone.

Nothing is said about annotations, those of other tools included, and about names that begin with `x-`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..json.formats import DRAFT_2019 as FORMATS
from .keywords import ANNOTATION, ASSERTION, DRAFT_2020, DRAFT_NAMES, KEYWORDS, SCHEMA, fault, rows

_NOTES = frozenset(
    [
        *("comment", "comments", "note", "notes"),
        # OpenAPI
        *("xml", "externalDocs", "example", "discriminator"),
        # JSON Hyper-Schema
        *("links", "base", "media"),
        # editors and forms
        *("markdownDescription", "enumDescriptions", "markdownEnumDescriptions", "enumItemLabels", "enumNames"),
        *("deprecationMessage", "markdownDeprecationMessage", "errorMessage", "patternErrorMessage"),
        *("defaultSnippets", "doNotSuggest", "suggestSortText", "allowComments", "allowTrailingCommas"),
        *("propertyOrder", "propertyOrdering", "options"),
        # generators of code
        *("tsType", "tsEnumNames", "javaType", "javaInterfaces", "existingJavaType", "javaEnumNames"),
    ]
)
"""Names of annotations that are in use and that no draft knows."""

_NOTE = re.compile(r"x-|[@_#/]|[^:]+:", re.IGNORECASE)
"""How annotations of people's own begin: `x-order`, `_comment`, `@type`, `#note`, `//`, `ui:widget`."""

_OTHERWISE = {
    "divisibleBy": "draft 3 has this keyword; write `multipleOf`",
    "disallow": "draft 3 has this keyword; write `not`",
    "extends": "draft 3 has this keyword; write `allOf`",
}
"""What to write in place of keywords that no draft here knows."""

_NULLABLE = 'OpenAPI 3.0 has this keyword and JSON Schema has not; add "null" to the list of types in `type`'

_LATER = {
    "additionalItems": "`items` beside `prefixItems`",
    "$recursiveRef": "`$dynamicRef`",
}
"""What the last draft has in place of keywords of earlier ones."""

BESIDE_REF = (
    "it stands beside `$ref`, which stands alone up to draft 7; put `$ref` and the rest into two branches of `allOf`"
)

_LIKENESS = 0.8
"""How alike two names must be, from 0 to 1 as `difflib` counts, so that one is taken for a slip of the other. Lower
values suggest `properties` for `options`."""

_LONGEST = 40
"""Names of more characters are not compared: no keyword is half as long, and `difflib` takes quadratic time."""


def unknown(keyword: str, schema: dict[str, Any], draft: int) -> str:
    """Return why a keyword that the draft does not know has no effect, and what to write instead; "" if its author
    cannot have expected an effect."""
    if any(row.name == keyword for row in KEYWORDS):
        return _of_another_draft(keyword, schema, draft)
    if keyword == "nullable":
        return _NULLABLE if schema[keyword] is True else ""
    if keyword in _NOTES or _NOTE.match(keyword):
        return ""
    if keyword in _OTHERWISE:
        return _OTHERWISE[keyword]
    why = "no draft knows this keyword"
    known_here = rows(draft)
    meant = _near(keyword, {name: row.kind for name, row in known_here.items()}, schema[keyword], draft)
    if meant:
        return "" if known_here[meant].role == ANNOTATION else f"{why}; did you mean `{meant}`?"
    if _describes(schema[keyword]):
        return f"{why}; a member of an object is described in `properties`"
    return f"{why}; if it is a note, begin its name with `x-`"


def format_name(name: str) -> str:
    """Return why a format that no draft knows has no effect, and which one was meant; "" if it looks like none."""
    meant = _near(name, dict.fromkeys(FORMATS))
    return f"no draft knows this format, so it is an annotation; did you mean `{meant}`?" if meant else ""


def _of_another_draft(keyword: str, schema: dict[str, Any], draft: int) -> str:
    drafts = [row for row in KEYWORDS if row.name == keyword and row.role == ASSERTION]
    if not drafts or (keyword == "additionalItems" and "prefixItems" not in schema):
        return ""  # it would assert nothing in its own draft, either
    first, last = drafts[0].first, drafts[-1].last
    if first == last:
        those = f"only draft {DRAFT_NAMES[first]} knows"
    elif last == DRAFT_2020:
        those = f"drafts from {DRAFT_NAMES[first]} on know"
    else:
        those = f"drafts up to {DRAFT_NAMES[last]} know"
    instead = f", or write {_LATER[keyword]}" if draft == DRAFT_2020 and keyword in _LATER else ""
    read_as = f"the schema is read as one of {DRAFT_NAMES[draft]}"
    return f"{those} this keyword, and {read_as}; name the draft that is meant in `$schema`{instead}"


def _near(name: str, kinds: Mapping[str, int | None], value: Any = None, draft: int = 0) -> str:
    """Return the name that `name` is a slip of, or "". A name that is merely alike is one if `value` is well formed for
    it."""
    plain = _plain(name)
    if not 3 <= len(plain) <= _LONGEST:
        return ""
    from difflib import get_close_matches

    others = {_plain(other): other for other in kinds}
    if plain in others and others[plain][0] != "$":
        return others[plain]
    fitting = [other for other in others if _fits(kinds[others[other]], value, draft)]
    close = get_close_matches(plain, fitting, n=1, cutoff=_LIKENESS)
    return others[close[0]] if close else ""


def _plain(name: str) -> str:
    """Return a name without what people write differently: case, hyphens, underscores and `$`."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _fits(kind: int | None, value: Any, draft: int) -> bool:
    if kind is None:
        return True
    if kind == SCHEMA:
        return isinstance(value, (dict, bool))
    return not fault(kind, value, draft)


def _describes(value: Any) -> bool:
    """Return whether a value looks like a schema."""
    return isinstance(value, dict) and any(
        name in value for name in ("type", "$ref", "enum", "const", "properties", "items", "anyOf", "oneOf", "allOf")
    )
