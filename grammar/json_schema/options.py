"""How documents are to be written: what `Grammar.from_json_schema` is told beside the schema."""

from __future__ import annotations

from typing import NamedTuple

from ..json.number_spellings import DIGITS, MAX_DIGITS, SHIFT
from ..json.strings import Style

WHITESPACE = ("flexible", "spaced", "compact")
PROPERTY_ORDER = ("schema", "any")
STRING_ESCAPES = ("all", "shortest")

MAX_INDENT = 1000
"""Blanks and tabs of one line, at most."""


class Options(NamedTuple):
    """Options of one grammar; hashable, and made of what JSON can hold.

    property_order: "schema", keys in the order of the schema; "any".
    whitespace: "flexible", a blank, or a line break and an indent; "spaced", as `json.dumps` writes; "compact", none.
    max_indent: blanks and tabs after a line break, at most, where white space is flexible.
    separators: what stands between items, and between a key and its value, as for `json.dumps`; None: by `whitespace`.
    ensure_ascii: characters beyond ASCII are written as escapes.
    string_escapes: "all" spellings of a string that JSON knows; or the "shortest", which `json.dumps` writes.
    strict: refuse what cannot be enforced; else leave it out and say so in the report.
    format_assertion: whether `format` is a demand or an annotation, where the metaschema does not say.
    number_digits, number_shift: how far numbers with an exponent are followed, see `json_number_trees.number_tree`.
    number_plain: numbers without an exponent only, and integers without a fraction.
    """

    property_order: str = "schema"
    whitespace: str = "flexible"
    max_indent: int = 64
    separators: tuple[str, str] | None = None
    ensure_ascii: bool = False
    string_escapes: str = "all"
    strict: bool = True
    format_assertion: bool = True
    number_digits: int = DIGITS
    number_shift: int = SHIFT
    number_plain: bool = False

    @property
    def style(self) -> Style:
        return Style(self.string_escapes == "shortest", self.ensure_ascii)


DEFAULT_OPTIONS = Options()


def check(options: Options) -> Options:
    """`options`, if they are such. Raises TypeError and ValueError that say which is not."""
    for name, value, known in (
        ("property_order", options.property_order, PROPERTY_ORDER),
        ("whitespace", options.whitespace, WHITESPACE),
        ("string_escapes", options.string_escapes, STRING_ESCAPES),
    ):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, not {value!r}")
    for name, flag in (
        ("ensure_ascii", options.ensure_ascii),
        ("strict", options.strict),
        ("format_assertion", options.format_assertion),
        ("number_plain", options.number_plain),
    ):
        if not isinstance(flag, bool):
            raise TypeError(f"{name} must be a bool, not {type(flag).__name__}")
    for name, number, least, most in (
        ("max_indent", options.max_indent, 0, MAX_INDENT),
        ("number_shift", options.number_shift, 1, MAX_DIGITS),
        ("number_digits", options.number_digits, options.number_shift, MAX_DIGITS),
    ):
        if isinstance(number, bool) or not isinstance(number, int):
            raise TypeError(f"{name} must be an int, not {type(number).__name__}")
        if not least <= number <= most:
            raise ValueError(f"{name} must be from {least} to {most}, not {number}")
    separators = options.separators
    if separators is None:
        return options
    if not isinstance(separators, (tuple, list)) or len(separators) != 2:  # type: ignore[redundant-expr, unused-ignore]
        raise TypeError("separators must be two strings, such as (',', ':')")
    for separator, mark in zip(separators, ",:", strict=True):
        if not isinstance(separator, str):
            raise TypeError(f"separators must be strings, not {type(separator).__name__}")
        if separator.strip(" \t\n\r") != mark:
            raise ValueError(f"the separator {separator!r} must be {mark!r} with white space around it")
    return options._replace(separators=(separators[0], separators[1]))
