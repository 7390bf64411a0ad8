"""How documents are written: the options of `Grammar.from_json_schema`."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypedDict, get_args

from ..json.number_spellings import DIGITS, MAX_DIGITS, SHIFT, NumberStyle
from ..json.strings import Style
from .keywords import DRAFT_NAMES

if TYPE_CHECKING:
    from ...earley.limits import Limits

# The values of options that are words: for type checkers, and as tuples for the check of what a caller gives.
Whitespace: TypeAlias = Literal["flexible", "spaced", "compact", "any"]
PropertyOrder: TypeAlias = Literal["schema", "any"]
Spellings: TypeAlias = Literal["plain", "all"]
StringEscapes: TypeAlias = Literal["all", "shortest"]
Draft: TypeAlias = Literal["4", "6", "7", "2019-09", "2020-12"]
WHITESPACE = get_args(Whitespace)
PROPERTY_ORDER = get_args(PropertyOrder)
SPELLINGS = get_args(Spellings)
STRING_ESCAPES = get_args(StringEscapes)

MAX_INDENT = 1000
"""The largest value of `max_indent`, in blanks and tabs of one line, and of `max_whitespace`, in characters."""
DRAFTS = {name: draft for draft, name in DRAFT_NAMES.items()}
"""The drafts by the names that the option `draft` has for them."""


class Options(NamedTuple):
    """Options of one grammar; hashable, and made of values that JSON can hold.

    property_order: "schema", keys in the order of the schema; "any", in any order.
    whitespace: "flexible", a blank, or a line break and an indent; "spaced", as `json.dumps` writes; "compact", none;
        "any", wherever JSON has it.
    max_indent: the most blanks and tabs after a line break, if white space is flexible.
    max_whitespace: the most characters of white space at one place, if `whitespace` is "any".
    indent: as for `json.dumps`: each member and item stands in a line of its own, with this indent for each level.
    separators: between items, and between a key and its value, as for `json.dumps`; None: as `whitespace` says.
    spellings: "plain", the spellings that people and models write; "all", every spelling that JSON has. It decides
        about what the five options below leave open (None).
    ensure_ascii: characters beyond ASCII are written as escapes.
    string_escapes: "all" spellings of a string that JSON has; or the "shortest", which `json.dumps` writes.
    lone_surrogates: strings on which there is no condition may have lone surrogates.
    strict: refuse a keyword that cannot be enforced; otherwise leave it out and say so in the report.
    format_assertion: whether `format` is a demand or an annotation, if the metaschema does not say.
    number_digits, number_shift: how many digits numbers with an exponent may have, see `number_spellings.number_tree`.
    number_plain: only numbers without an exponent, and integers without a fraction.
    number_exponents: numbers may have an exponent, also with `number_plain`.
    draft: the draft of a schema that does not name one.
    closed: leave out the members and items that no schema speaks of, see `closed`.
    """

    property_order: PropertyOrder = "schema"
    whitespace: Whitespace = "flexible"
    max_indent: int = 64
    separators: tuple[str, str] | None = None
    ensure_ascii: bool = False
    string_escapes: StringEscapes | None = None
    strict: bool = True
    format_assertion: bool = True
    number_digits: int = DIGITS
    number_shift: int = SHIFT
    number_plain: bool | None = None
    spellings: Spellings = "plain"
    lone_surrogates: bool | None = None
    number_exponents: bool | None = None
    max_whitespace: int = 64
    indent: int | str | None = None
    draft: Draft = "2020-12"
    closed: bool = False

    @property
    def style(self) -> Style:
        """How strings are spelled."""
        return _style_of(self)

    @property
    def draft_number(self) -> int:
        return DRAFTS[self.draft]

    @property
    def indent_of_level(self) -> str | None:
        """The indent of one level; None without the option."""
        return " " * self.indent if isinstance(self.indent, int) else self.indent

    @property
    def number_style(self) -> NumberStyle:
        """How numbers are spelled."""
        return _number_style_of(self)


@lru_cache(maxsize=64)
def _style_of(options: Options) -> Style:
    has_all = options.string_escapes == "all" or (options.string_escapes is None and options.spellings == "all")
    is_plain = options.string_escapes is None and not has_all
    has_lone = options.lone_surrogates
    if has_lone is None:
        has_lone = has_all or options.spellings == "all"
    return Style(options.string_escapes == "shortest", options.ensure_ascii, has_lone, is_plain)


@lru_cache(maxsize=64)
def _number_style_of(options: Options) -> NumberStyle:
    exponents = options.number_exponents
    if exponents is None:
        exponents = not options.number_plain
    is_plain = options.spellings == "plain" and options.number_plain is not False
    return NumberStyle(options.number_digits, options.number_shift, exponents, not options.number_plain, is_plain)


DEFAULT_OPTIONS = Options()


class ToolOptions(TypedDict, total=False):
    """The options of schemas that `Grammar.from_tools` takes, for type checkers."""

    property_order: PropertyOrder
    whitespace: Whitespace
    max_indent: int
    max_whitespace: int
    indent: int | str | None
    separators: tuple[str, str] | None
    spellings: Spellings
    ensure_ascii: bool
    string_escapes: StringEscapes | None
    lone_surrogates: bool | None
    number_digits: int
    number_shift: int
    number_plain: bool | None
    number_exponents: bool | None
    format_assertion: bool
    draft: Draft
    closed: bool
    limits: Limits


class SchemaOptions(ToolOptions, total=False):
    """The keyword arguments of `Grammar.from_json_schema`, for type checkers."""

    strict: bool
    registry: Any


_known: dict[tuple[Options, tuple[type, ...]], bool] = {}
"""Options that are valid, with their types, since 1 and True are equal; at most MAX_KNOWN."""
MAX_KNOWN = 64


def check(options: Options) -> Options:
    """Return `options` if all of them are valid. Raises TypeError or ValueError that names the wrong one."""
    if options.separators is not None or options.indent is not None:
        return _checked(options)
    try:
        key = options, tuple(map(type, options))
        if key in _known:
            return options
    except TypeError:  # a list, for instance
        return _checked(options)
    _checked(options)
    if len(_known) < MAX_KNOWN:
        _known[key] = True
    return options


def _checked(options: Options) -> Options:
    for name, value, known in (
        ("property_order", options.property_order, PROPERTY_ORDER),
        ("whitespace", options.whitespace, WHITESPACE),
        ("spellings", options.spellings, SPELLINGS),
        ("string_escapes", options.string_escapes, (*STRING_ESCAPES, None)),
        ("draft", options.draft, tuple(DRAFTS)),
    ):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, not {value!r}")
    for name, flag in (
        ("ensure_ascii", options.ensure_ascii),
        ("strict", options.strict),
        ("format_assertion", options.format_assertion),
        ("closed", options.closed),
    ):
        if not isinstance(flag, bool):
            raise TypeError(f"{name} must be a bool, not {type(flag).__name__}")
    for name, choice in (
        ("number_plain", options.number_plain),
        ("number_exponents", options.number_exponents),
        ("lone_surrogates", options.lone_surrogates),
    ):
        if choice is not None and not isinstance(choice, bool):
            raise TypeError(f"{name} must be a bool or None, not {type(choice).__name__}")
    for name, number, least, most in (
        ("max_indent", options.max_indent, 0, MAX_INDENT),
        ("max_whitespace", options.max_whitespace, 0, MAX_INDENT),
        ("number_shift", options.number_shift, 1, MAX_DIGITS),
        ("number_digits", options.number_digits, options.number_shift, MAX_DIGITS),
    ):
        if isinstance(number, bool) or not isinstance(number, int):
            raise TypeError(f"{name} must be an int, not {type(number).__name__}")
        if not least <= number <= most:
            raise ValueError(f"{name} must be from {least} to {most}, not {number}")
    check_indent(options)
    separators = options.separators
    if separators is not None and options.whitespace == "any":
        raise ValueError(
            "separators say which white space is written; whitespace='any' leaves it open: give one of them"
        )
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


def check_indent(options: Options) -> None:
    indent = options.indent
    if indent is None:
        return
    if isinstance(indent, bool) or not isinstance(indent, (int, str)):
        raise TypeError(f"indent must be an int, a str or None, not {type(indent).__name__}")
    if options.whitespace != "flexible":
        raise ValueError(f"indent says which white space is written, as does whitespace={options.whitespace!r}")
    if isinstance(indent, str) and indent.strip(" \t"):
        raise ValueError(f"indent must have blanks and tabs only, not {indent!r}")
    if isinstance(indent, int) and not 0 <= indent <= MAX_INDENT:
        raise ValueError(f"indent must be from 0 to {MAX_INDENT}, not {indent}")
