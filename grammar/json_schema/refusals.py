"""What cannot be enforced, keyword by keyword: it is refused or, without `strict`, left out.

This runs before anything is made of a schema, so that later only a limit can be exceeded. `Refusals` decides what one
keyword says by itself; `survey` tells it what may stand under a negation, and `unique` whether items can be
distinguished.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ...earley._large import free
from ...earley._meter import keep, tick
from ...earley._regex import Regexes
from ...earley.errors import LimitError
from ..errors import GrammarError, RegexSyntaxError, together
from ..json.formats import NARROWED as NARROWED_FORMATS
from ..json.formats import FormatRefusal
from ..json.number_spellings import number_tree
from ..json.numbers import INTEGERS, listed
from ..loading import PIECE, pieces
from ..regex.lower import lower
from .check import MAX_ERRORS, check_schema, in_order
from .own_values import format_tree, numbers_of
from .survey import BOUNDS, LEAST, MAX_LEAST, STATED, Survey
from .text_sets import has_surrogate
from .tree import refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..json.numbers import NumberSet
    from .algebra import Algebra
    from .documents import Documents
    from .tree import Place

CONSTANTS = frozenset(["enum", "const"])
_TEXTS = frozenset([str])
LONG = 100
"""The most digits of a number that is accepted without a trial, because no limit refuses it."""


class Refusals:
    """Finds which keywords of a schema must be dropped.

    dropped: place -> keyword -> why it is dropped.
    errors: the same as errors, if the options are `strict`. The search continues after each, so that all are found.
    """

    def __init__(self, documents: Documents, algebra: Algebra) -> None:
        self.documents = documents
        self.algebra = algebra
        self.strict = algebra.options.strict
        self.regexes: Regexes | None = None  # for trying patterns out
        self.tried: set[NumberSet] = set()  # that can be spelled
        self.dropped: dict[Place, dict[str, str]] = {}
        self.errors: list[GrammarError] = []
        self.survey = Survey(documents, self.dropped)

    def run(self) -> Survey:
        """Find which keywords are `dropped`, and return the survey of the schema.

        Raises GrammarError, with all that is malformed, with circles, and with all that cannot be enforced if `strict`.
        """
        survey = self.survey
        try:
            check_schema(self.documents, self.visit)
        except GrammarError as error:
            # Later steps rely on a schema that is well formed.
            raise self.together_with(error.errors) from None
        survey.read_applicators()
        circles = survey.find_circles()
        if circles:
            raise self.together_with(circles)
        try:
            survey.read_statements()
            self.check_negated()
            if survey.unique:
                self.check_unique()
        except LimitError:
            if not self.errors:
                raise
        if self.errors:
            raise self.together_with(())
        return survey

    def together_with(self, others: Sequence[GrammarError]) -> GrammarError:
        """Return one error with `errors` and the others, in the order of the document, each once."""
        found = {(error.pointer, error.message): error for error in (*others, *self.errors)}
        return together(in_order(list(found.values()), self.documents))

    def visit(self, place: Place) -> None:
        if not self.survey.note(place):
            return
        keywords = place.keywords
        for keyword in keywords:
            if keyword in STATED:
                why = self.why_not(place, keyword)
                if why:
                    self.refuse(place, keyword, why)

    def refuse(self, place: Place, keyword: str, why: str) -> None:
        if self.strict and len(self.errors) < MAX_ERRORS:
            self.errors.append(refused((place.path, keyword), place.resource, keyword, why))
        left_out = self.dropped.setdefault(place, {})
        left_out[keyword] = why
        if keyword == "patternProperties" and "additionalProperties" in place.schema:
            left_out["additionalProperties"] = "which keys it is about depends on `patternProperties`"

    def why_not(self, place: Place, keyword: str) -> str:
        """Return why the keyword cannot be enforced; nothing if it can."""
        value = place.schema[keyword]
        try:
            if keyword == "pattern":
                self.check_pattern(value)
            elif keyword == "patternProperties":
                for pattern in value:
                    self.check_pattern(pattern)
            elif keyword in LEAST:
                if value > MAX_LEAST:
                    return f"at most {MAX_LEAST} items or members can be counted"
            elif keyword == "format":
                if self.algebra.asserts_format(place.resource):
                    tree = format_tree(value, place.draft)
                    if tree is not None:
                        self.algebra.inhabited.add(id(tree))  # all formats match something, and are kept
            elif keyword == "enum":
                return self.why_no_constants(value)
            elif keyword == "const":
                return self.why_no_constants([value])
            elif keyword == "multipleOf" or (keyword in BOUNDS and is_long(value)):
                self.check_bounds(place, keyword)
        except FormatRefusal as error:
            return error.reason
        except (LimitError, RegexSyntaxError, ValueError) as error:
            tick()  # raises if the time is used up
            return str(error).replace("\n", "; ")  # a row of the report is one line
        return ""

    def check_pattern(self, pattern: str) -> None:
        regexes = self.regexes
        if regexes is None:
            regexes = self.regexes = Regexes()
        inhabited = self.algebra.inhabited
        for tree in self.algebra.pattern(pattern).trees:
            if id(tree) not in inhabited and not regexes.is_empty(lower(tree, regexes)):
                inhabited.add(id(tree))

    def check_numbers(self, numbers: NumberSet) -> None:
        if numbers not in self.tried:
            free([number_tree(numbers, self.algebra.options.number_style)])  # in pieces, if it is not remembered
            self.tried.add(numbers)

    def check_bounds(self, place: Place, keyword: str) -> None:
        keywords = place.keywords
        numbers = numbers_of(place.schema, place.draft)
        try:
            self.check_numbers(numbers)
        except LimitError:
            if keyword == "multipleOf" or keywords.get("type") != "integer":
                raise
            # For integers a bound is as good as the next number, which may have few digits: 10^308 - 1 has many.
            self.check_numbers(numbers.intersection(INTEGERS))
            self.survey.whole.append((place, keyword))

    def why_no_constants(self, values: list[Any]) -> str:
        """Return why some of the values cannot be written; nothing if all can."""
        stack: list[Any] = []
        words: list[str] = []
        keep(stack)
        keep(words)
        for piece in [values] if len(values) <= PIECE else pieces(values):
            if _TEXTS.issuperset(map(type, piece)):  # as in most enumerations
                words += piece
            else:
                stack += piece
        while stack:
            if not len(stack) & 0xFF:
                tick()
            value = stack.pop()
            if isinstance(value, str):
                words.append(value)
            elif isinstance(value, list):
                stack += value
            elif isinstance(value, dict):
                stack += value
                stack += value.values()
            elif is_long(value):
                self.check_numbers(listed([value]))
        for piece in pieces(words):
            if has_surrogate("".join(piece)):  # one text is searched faster than many
                return "a lone surrogate is no character of a text that a model writes"
        return ""

    # What stands under a negation.

    def check_negated(self) -> None:
        """Refuse what can be enforced, but not negated.

        Whether a text that a format leaves out belongs to it is not known. The negation of "at most so many" demands
        more than can be counted; and that of a bound which can be spelled for integers alone has other numbers.
        """
        survey = self.survey
        for place in survey.narrowed:
            if place in survey.negated() and self.algebra.asserts_format(place.resource):
                name = place.schema["format"]
                why = f"it may stand under a negation, and of format '{name}' {NARROWED_FORMATS[name]}"
                self.refuse(place, "format", why)
        for place, keyword in survey.whole:
            if place in survey.negated():
                why = (
                    "it may stand under a negation, and of numbers that are not integers the bound has too many digits"
                )
                self.refuse(place, keyword, why)
        for place, keyword in survey.large:
            if place in survey.negated():
                why = f"it may stand under a negation, and at most {MAX_LEAST} items or members can be counted"
                self.refuse(place, keyword, why)

    # Unique items.

    def check_unique(self) -> None:
        """Refuse `uniqueItems` where items cannot be distinguished: see `unique`. This comes last, because a dropped
        keyword may be the one that allows only few items.

        If a list of constants was refused, nothing is checked: once it is mended, it may say that items are few.
        """
        from .algebra import Algebra
        from .unique import NO_DOUBT, Cause, UniqueItems

        if self.errors and any([not CONSTANTS.isdisjoint(keywords) for keywords in self.dropped.values()]):
            return
        survey = self.survey
        waiting = survey.unique
        algebra = self.algebra
        while waiting:
            if self.dropped:
                algebra = Algebra(self.documents, algebra.options, self.dropped, algebra.limits)
            known = UniqueItems(self.documents, algebra, survey.edges)
            survey.endless.clear()
            survey.plain_numbers.clear()
            survey.follows_items = survey.repeats_items = False
            left = []
            for place in waiting:
                verdict = known.verdict(place, is_negated=place in survey.negated())
                why = verdict.doubt.why
                if algebra.options.closed and (
                    verdict.doubt.cause is Cause.RUN_OUT
                    or (verdict.doubt is NO_DOUBT and not known.are_left_if_closed(place))
                ):
                    why = CLOSED_ITEMS
                elif verdict.doubt is NO_DOUBT:
                    left.append(place)
                    if verdict.reads_scalars(algebra):
                        survey.endless.add(place)
                    if verdict.reads_numbers(algebra):
                        survey.plain_numbers.add(place)
                    if place in survey.negated():
                        survey.endless.add(place)  # some items may have to be equal
                        survey.follows_items = survey.repeats_items = True
                    elif verdict.follows_items(algebra):
                        survey.follows_items = True
                    continue
                self.refuse(place, "uniqueItems", why)
            if len(left) == len(waiting) or self.errors:
                break
            waiting = left


CLOSED_ITEMS = (
    "with closed=True there may be too few items that differ; describe more members, or allow others by "
    "`additionalProperties: true`"
)


def is_long(value: object) -> bool:
    """Whether a number, written without an exponent, may have more than LONG digits and so exceed a limit."""
    if isinstance(value, Decimal):
        _, digits, exponent = value.as_tuple()
        return len(digits) > LONG or not isinstance(exponent, int) or abs(exponent) > LONG
    if isinstance(value, float):
        return bool(value) and not 1e-100 < abs(value) < 1e100
    return isinstance(value, int) and value.bit_length() > 3 * LONG
