"""What became of each keyword of a schema, known or not: enforced as it is, narrowed, widened or ignored. (For a
keyword that is refused, `tree.refused` makes the row.)

The report is made when `Grammar.report` is first read, from the places that the check has reached. `refusals` and
`rehearsal` have found which keywords are dropped.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..errors import EXACT, IGNORED, NARROWED, WIDENED, GrammarError, Reason, Row
from ..json.formats import NARROWED as NARROWED_FORMATS
from ..json.number_parts import MAX_FIGURES
from .check import check_schema
from .documents import Documents
from .ignored import BESIDE_REF, format_name, unknown
from .keywords import ANNOTATION, ASSERTION, DRAFT_4, DRAFT_7, IDENTITY, KNOWN_ELSEWHERE, is_number, rows
from .own_values import format_tree
from .survey import Survey
from .tree import pointer_of

if TYPE_CHECKING:
    from collections.abc import Set

    from ..json.number_spellings import NumberStyle
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
PLAIN_STRINGS = "keys that the schema names, and strings of `enum` and `const`, are written as `json.dumps` writes them"
PLAIN_NUMBERS = (
    "integers have no fraction and no exponent, numbers of `enum` and `const` are written as `json.dumps` writes them, "
    "and all others are finite in double precision"
)
PLAIN_EXPONENTS = "; beside an exponent, which has at most 3 digits, at most {shift} digits stand before the point"
MORE_DIGITS = ", unless multiples are computed"
COMPUTED = f"{MORE_DIGITS}; then an exponent has at most 3 digits, and there is none if constants are excluded"
PLAIN_INDENT = "an indent has blanks or tabs, not both"
_BESIDE = {"then": "if", "else": "if", "minContains": "contains", "maxContains": "contains"}
"""Keywords that say nothing without another one, and that one."""

_FAILS = {"not": "not", "oneOf": "oneOf", "then": "if", "else": "if", "maxContains": "contains"}
_FAILS |= dict.fromkeys(("unevaluatedItems", "unevaluatedProperties"), "")
"""Keywords that demand something if a schema fails, and the keyword whose value that schema is; empty: the schema that
has the keyword."""

_ELSEWHERE = frozenset(["$dynamicRef", "$recursiveRef", "$id"])

UNKNOWN_FORMAT = "an annotation: no draft knows this format"
UNREACHED = "in a schema that nothing applies, asserts nothing"


def report(algebra: Algebra) -> tuple[Row, ...]:
    """Return what became of each keyword of each schema, by pointer."""
    options = algebra.options
    # The schema read once more, to look at what the grammar did not need, too. It has no registry: only documents that
    # have been read are part of the grammar. Its places are other objects, for the same schemas in the same order.
    remote = dict(algebra.documents.remote)
    everything = Documents(algebra.documents.root.schema, remote=remote, draft=options.draft_number)
    check_schema(everything)
    weakened = {id(place.schema) for place in algebra.dropped}
    found: list[Row] = []

    def narrow(reason: Reason, why: str) -> None:
        found.append(Row("", "", NARROWED, why, reason=reason))

    narrow(Reason.WHITESPACE, f"{_white_space(options)}: no other white space is written")
    if options.property_order == "schema":
        narrow(Reason.PROPERTY_ORDER, "property_order='schema': keys are written in the order of the schema")
    if options.closed:
        narrow(Reason.CLOSED, "closed=True: no members and items are written that the schema does not speak of")
    strings, numbers = options.style, options.number_style
    has_multiples = any(["multipleOf" in place.keywords for place in algebra.documents.reached])
    plain = [PLAIN_STRINGS] * strings.dumped
    if numbers.plain:
        exponents = PLAIN_EXPONENTS.format(shift=numbers.shift) + MORE_DIGITS * has_multiples
        plain.append(PLAIN_NUMBERS + exponents * numbers.exponents)
    if options.spellings == "plain" and options.whitespace == "flexible" and options.indent is None:
        plain.append(PLAIN_INDENT)
    if plain:
        narrow(Reason.SPELLINGS, f"spellings='plain': {'; '.join(plain)}")
    if strings.ascii or strings.shortest:
        escapes = "shortest" if strings.shortest else "all"
        narrow(Reason.STRING_ESCAPES, f"ensure_ascii={strings.ascii}, string_escapes={escapes!r}")
    if not strings.surrogates:
        narrow(Reason.LONE_SURROGATES, "lone_surrogates=False: no string has a lone surrogate")
    if options.number_plain and not numbers.exponents:
        narrow(Reason.NUMBER_PLAIN, "number_plain=True: no number has an exponent, and no integer a fraction")
    elif options.number_plain:
        narrow(Reason.NUMBER_PLAIN, "number_plain=True: no integer has a fraction or an exponent")
    elif not numbers.exponents:
        narrow(Reason.NUMBER_EXPONENTS, "number_exponents=False: no number has an exponent")

    negated_numbers: Set[Place] = frozenset()
    negated_texts: Set[Place] = frozenset()
    if numbers.exponents or strings.surrogates:
        negated_numbers, negated_texts = _negated(algebra, everything)
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
                why = unknown(keyword, schema, resource.draft)
                if why:
                    status, reason = IGNORED, Reason.NO_EFFECT
                elif keyword in KNOWN_ELSEWHERE:
                    why = "of another draft, asserts nothing here"
                else:
                    why = "a note, asserts nothing"
            elif keyword not in resource.keywords:
                why = "of a vocabulary that the metaschema does not use, asserts nothing"
            elif keyword != "$ref" and "$ref" in schema and resource.draft <= DRAFT_7 and row.role != IDENTITY:
                if row.role == ASSERTION:
                    status, why, reason = IGNORED, BESIDE_REF, Reason.NO_EFFECT
                else:
                    why = "asserts nothing"
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
                if why == UNKNOWN_FORMAT and format_name(schema[keyword]):
                    status, why, reason = IGNORED, format_name(schema[keyword]), Reason.NO_EFFECT
                elif not why and schema[keyword] in NARROWED_FORMATS:
                    status, why, reason = NARROWED, NARROWED_FORMATS[schema[keyword]], Reason.FORMAT
                elif (
                    not why and strings.surrogates and twin in negated_texts
                ):  # no text of a format has a lone surrogate
                    status, why, reason = NARROWED, NO_SURROGATES, Reason.SURROGATES
            elif weakened and keyword in _FAILS and _is_weakened(everything, weakened, twin, keyword):
                status, reason = WIDENED, Reason.STRICT
                why = "strict=False: what may have to fail here is left out in part"
            elif keyword in _TEXTS and strings.surrogates:
                status, why, reason = NARROWED, NO_SURROGATES, Reason.SURROGATES
            elif keyword == "uniqueItems":
                if place in algebra.plain_numbers:
                    status, why, reason = NARROWED, TOLD_APART, Reason.DIFFERING_NUMBERS
            elif numbers.exponents and _is_about_numbers(keyword, place, numbers, twin in negated_numbers):
                status, reason = NARROWED, Reason.NUMBER_DIGITS
                why = (
                    f"number_digits={options.number_digits}, number_shift={options.number_shift}: beside an exponent "
                    f"no more digits are written{COMPUTED if has_multiples else ''}"
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
    if options.whitespace == "any":
        found += f", max_whitespace={options.max_whitespace}"
    if options.indent is not None:
        found = f"indent={options.indent!r}, max_indent={options.max_indent}"
    return found if options.separators is None else f"{found}, separators={options.separators!r}"


def _negated(algebra: Algebra, twins: Documents) -> tuple[Set[Place], Set[Place]]:
    """Return the places among `twins` whose negation may be needed, of numbers and of strings. A negation beside a
    `type` that has none of them is not needed."""
    pairs = zip(algebra.documents.reached, twins.reached, strict=True)
    survey = Survey(twins, {twin: dict(algebra.dropped[place]) for place, twin in pairs if place in algebra.dropped})
    for twin in twins.reached:
        survey.note(twin)
    survey.read_applicators()
    survey.read_statements()
    style = algebra.options.number_style
    digits = {"integer"} if style.plain or not style.fractions else set()
    numbers = survey.negated_beside({"string", "boolean", "null"} | digits)
    return numbers, survey.negated_beside({"integer", "number", "boolean", "null"})


def _is_about_numbers(keyword: str, place: Place, style: NumberStyle, is_negated: bool) -> bool:
    """Whether the keyword demands something of a number. Then only some spellings of the number are written.

    is_negated: other numbers than those of which the keyword speaks may be demanded. These may have exponents, although
    integers and constants have none.
    """
    schema, draft = place.schema, place.draft
    are_digits = (style.plain or not style.fractions) and not is_negated  # integers have no exponent
    if keyword == "type":
        return draft != DRAFT_4 and not are_digits and "integer" in schema[keyword]  # draft 4 has one spelling of it
    if keyword == "enum" or keyword == "const":
        return (is_negated or not style.plain) and _holds_number(schema[keyword])
    return keyword in _BOUNDS and not (are_digits and schema.get("type") == "integer")


def _holds_number(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_holds_number, value))
    if isinstance(value, dict):
        return any(map(_holds_number, value.values()))
    return is_number(value)


def _format(name: str, resource: Resource, algebra: Algebra) -> str:
    if not algebra.asserts_format(resource):
        return "an annotation: format_assertion=False, or the metaschema says so"
    return "" if format_tree(name, resource.draft) is not None else UNKNOWN_FORMAT
