"""What became of each keyword of a schema, known or not: enforced as it is, narrowed or widened. (For a keyword that is
refused, `tree.refused` makes the row.)

The report is made when `Grammar.report` is first read, from the places that the check has reached. `refusals` and
`rehearsal` have found which keywords are dropped.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..errors import EXACT, NARROWED, WIDENED, GrammarError, Reason, Row
from ..json.formats import NARROWED as NARROWED_FORMATS
from ..json.number_spellings import MAX_FIGURES
from .check import check_schema
from .documents import Documents
from .keywords import ANNOTATION, DRAFT_4, DRAFT_7, IDENTITY, KNOWN_ELSEWHERE, is_number, rows
from .own_values import format_tree
from .tree import pointer_of

if TYPE_CHECKING:
    from .algebra import Algebra
    from .options import Options
    from .tree import Path, Place, Resource

_TEXTS = ("minLength", "maxLength", "pattern", "patternProperties", "propertyNames")
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")

TOLD_APART = (
    "numbers that must differ are written without an exponent, integers without a fraction, and in at most "
    f"{MAX_FIGURES} characters, not counting the sign"
)
NO_SURROGATES = "lone surrogates are written only in strings about which the schema says nothing"
_BESIDE = {"then": "if", "else": "if", "minContains": "contains", "maxContains": "contains"}
"""Keywords that say nothing without another one, and that one."""

_FAILS = {"not": "not", "oneOf": "oneOf", "then": "if", "else": "if", "maxContains": "contains"}
_FAILS |= dict.fromkeys(("unevaluatedItems", "unevaluatedProperties"), "")
"""Keywords that demand something if a schema fails, and the keyword whose value that schema is; empty: the schema that
has the keyword."""

_ELSEWHERE = frozenset(["$dynamicRef", "$recursiveRef", "$id"])

UNREACHED = "in a schema that nothing applies, asserts nothing"


def report(algebra: Algebra) -> tuple[Row, ...]:
    """Return what became of each keyword of each schema, by pointer."""
    options = algebra.options
    # The schema read once more, to look at what the grammar did not need, too. It has no registry: only documents that
    # have been read are part of the grammar. Its places are other objects, for the same schemas in the same order.
    everything = Documents(algebra.documents.root.schema, remote=dict(algebra.documents.remote))
    check_schema(everything)
    weakened = {id(place.schema) for place in algebra.dropped}
    found: list[Row] = []

    def narrow(reason: Reason, why: str) -> None:
        found.append(Row("", "", NARROWED, why, reason=reason))

    narrow(Reason.WHITESPACE, f"{_white_space(options)}: no other white space is written")
    if options.property_order == "schema":
        narrow(Reason.PROPERTY_ORDER, "property_order='schema': keys are written in the order of the schema")
    if options.ensure_ascii or options.string_escapes != "all":
        escapes = f"ensure_ascii={options.ensure_ascii}, string_escapes={options.string_escapes!r}"
        narrow(Reason.STRING_ESCAPES, escapes)
    if options.number_plain:
        narrow(Reason.NUMBER_PLAIN, "number_plain=True: no number has an exponent, and no integer a fraction")

    left_out: set[Path] = set()
    for place, twin in zip(algebra.documents.reached, everything.reached, strict=True):
        schema, resource, path = place.schema, place.resource, place.path
        dropped = algebra.dropped.get(place, {})
        known = rows(resource.draft)
        around = path if left_out else ()
        while around and around not in left_out:
            around = around[0]
        if around:
            why = f"strict=False: within {pointer_of(around, resource)}, which is left out"
            found.extend(
                [Row(pointer_of((path, name), resource), name, WIDENED, why, reason=Reason.STRICT) for name in schema]
            )
            continue
        for keyword in schema:
            pointer = pointer_of((path, keyword), resource)
            status, why, reason = EXACT, "", Reason.NONE
            row = known.get(keyword)
            if keyword in dropped:
                status, why, reason = WIDENED, f"strict=False: {dropped[keyword]}", Reason.STRICT
                left_out.add((path, keyword))
            elif row is None:
                why = (
                    "of another draft, asserts nothing here"
                    if keyword in KNOWN_ELSEWHERE
                    else "unknown, asserts nothing"
                )
            elif keyword not in resource.keywords:
                why = "of a vocabulary that the metaschema does not use, asserts nothing"
            elif keyword != "$ref" and "$ref" in schema and resource.draft <= DRAFT_7 and row.role != IDENTITY:
                why = "beside `$ref`, which stands alone up to draft 7"
            elif keyword == "$schema" and schema is not resource.schema:
                why = f"ignored: it counts at the root, and beside `{'id' if resource.draft == DRAFT_4 else '$id'}`"
            elif row.role in (ANNOTATION, IDENTITY):
                why = "asserts nothing"
            elif keyword in _BESIDE and _BESIDE[keyword] not in schema:
                why = f"without `{_BESIDE[keyword]}`, asserts nothing"
            elif keyword == "additionalItems" and type(schema.get("items")) is not list:
                why = "without a list as `items`, asserts nothing"
            elif keyword == "format":
                why = _format(schema[keyword], resource, algebra)
                if not why and schema[keyword] in NARROWED_FORMATS:
                    status, why, reason = NARROWED, NARROWED_FORMATS[schema[keyword]], Reason.FORMAT
            elif weakened and keyword in _FAILS and _is_weakened(everything, weakened, twin, keyword):
                status, reason = WIDENED, Reason.STRICT
                why = "strict=False: what may have to fail here is left out in part"
            elif keyword in _TEXTS:
                status, why, reason = NARROWED, NO_SURROGATES, Reason.SURROGATES
            elif keyword == "uniqueItems":
                if place in algebra.plain_numbers:
                    status, why, reason = NARROWED, TOLD_APART, Reason.DIFFERING_NUMBERS
            elif _is_about_numbers(keyword, schema[keyword], resource.draft) and not options.number_plain:
                status, reason = NARROWED, Reason.NUMBER_DIGITS
                why = (
                    f"number_digits={options.number_digits}, number_shift={options.number_shift}: beside an exponent "
                    "no more digits are written"
                )
            if status == EXACT and why:
                reason = Reason.ASSERTS_NOTHING
            found.append(Row(pointer, keyword, status, why, reason=reason))

    for place in everything.all_places():
        if not everything.has_reached(place):
            for name in place.schema:
                pointer = pointer_of((place.path, name), place.resource)
                found.append(Row(pointer, name, EXACT, UNREACHED, reason=Reason.ASSERTS_NOTHING))
    return tuple(sorted(found))


def _is_weakened(documents: Documents, weakened: set[int], place: Place, keyword: str) -> bool:
    """Whether a keyword is dropped within a schema that this keyword may need to fail: then it is not known whether
    that schema fails. Keywords may also be dropped in schemas that dynamic references reach, and in other resources.

    weakened: the schemas in which a keyword is dropped, by `id`.
    """
    judged = _FAILS[keyword]
    schema = place.schema
    if judged:
        stack = documents.children(place, {judged: schema[judged]} if judged in schema else {})
    elif id(schema) in weakened:
        return True
    else:
        stack = documents.children(place)
    met = {place}
    while stack:
        one = stack.pop()
        if one in met or type(one.schema) is not dict:  # a reference may lead to True or False
            continue
        met.add(one)
        if id(one.schema) in weakened or not _ELSEWHERE.isdisjoint(one.schema):
            return True
        if type(one.keywords.get("$ref")) is str:
            with suppress(GrammarError):  # nothing reaches it
                stack.append(documents.target(one, "$ref").written)
        stack += documents.children(one)
    return False


def _white_space(options: Options) -> str:
    """Return the options that say which white space is written."""
    found = f"whitespace={options.whitespace!r}"
    if options.whitespace == "flexible":
        found += f", max_indent={options.max_indent}"
    return found if options.separators is None else f"{found}, separators={options.separators!r}"


def _is_about_numbers(keyword: str, value: Any, draft: int) -> bool:
    """Whether the keyword demands something of a number. Then only some spellings of the number are written."""
    if keyword == "type":
        return draft != DRAFT_4 and "integer" in value  # an integer of draft 4 has one spelling
    if keyword == "enum" or keyword == "const":
        return _holds_number(value)
    return keyword in _BOUNDS


def _holds_number(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_holds_number, value))
    if isinstance(value, dict):
        return any(map(_holds_number, value.values()))
    return is_number(value)


def _format(name: str, resource: Resource, algebra: Algebra) -> str:
    if not algebra.asserts_format(resource):
        return "an annotation: format_assertion=False, or the metaschema says so"
    return "" if format_tree(name, resource.draft) is not None else "an annotation: the draft does not know this format"
