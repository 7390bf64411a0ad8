"""The spellings of numbers that are listed one by one (`number_spellings`)."""

from __future__ import annotations

from ..regex.ast import And, Literal, Node
from .number_bounds import window, zero_tree
from .number_parts import (
    ANY,
    LEADING,
    MAX_FIGURES,
    NOTHING,
    POINT_HERE,
    WHOLE,
    ZERO_DIGIT,
    ZERO_FRACTION,
    ZERO_REST,
    Bound,
    any_of,
    check_places,
    scientific,
    seq,
    some,
)
from .numbers import AS_INTEGERS, Number, NumberSet, exact, written


def of_sign(values: tuple[Number, ...], negative: bool) -> list[Number]:
    """Return the positive ones of these numbers or, if `negative`, the negative ones without their sign."""
    return [-value for value in values if value < 0] if negative else [value for value in values if value > 0]


def listed_tree(values: tuple[Number, ...], bound: Bound, style: int) -> Node:
    """Return the spellings of these numbers. In the style WHOLE, whole numbers have no fraction, even if others
    have."""
    parts: list[Node] = []
    for negative in (False, True):
        group = of_sign(values, negative)
        if group:
            body = values_tree(group, bound, style)
            parts.append(seq(Literal("-"), body) if negative else body)
    if 0 in values:
        parts.append(zero_tree(bound, style))
    return any_of(parts) if parts else NOTHING


def dumped_tree(numbers: NumberSet, exponents: bool, fractions: bool) -> Node:
    """Return the listed members as `json.dumps` writes them, and in the schema's own spellings.

    A whole number is written as an int and, unless the set is DUMPED or has only integers, as a float as well. Others
    are written as a float, if one is equal, and without an exponent.
    """
    found: set[str] = set()
    for value in numbers.listed or ():
        is_whole = value.denominator == 1
        check_places(value)
        figures = written(value)
        if len(figures) > MAX_FIGURES:
            scientific(value if value > 0 else -value)  # raises LimitError if the digits are too many
        as_float = _float_text(value)
        if as_float is not None and _has_e(as_float) and not exponents:
            as_float = None
        found.add(figures)
        if not is_whole:
            found.add(as_float or figures)
        elif fractions and not numbers.spelled:
            found.add(as_float or f"{figures}.0")
    if not numbers.spelled & AS_INTEGERS:
        for value, text in numbers.own:
            if fractions or value.denominator != 1:
                found.update([one for one in (text, _float_text(value)) if one and (exponents or not _has_e(one))])
    return _one_text_of(sorted(found), 0) if found else NOTHING


def _float_text(value: Number) -> str | None:
    """Return what `json.dumps` writes for the float that equals the number; None if no float does."""
    try:
        nearest = float(value)
    except OverflowError:
        return None
    return repr(nearest) if exact(nearest) == value else None


def _has_e(text: str) -> bool:
    return "e" in text or "E" in text


def _one_text_of(texts: list[str], start: int) -> Node:
    """Return the ends, from index `start` on, of these texts, which are sorted and equal before `start`."""
    first, last = texts[0], texts[-1]
    end = start
    while end < len(first) and first[end] == last[end]:
        end += 1
    head = Literal(first[start:end])
    if len(texts) == 1:
        return head
    alternatives: list[Node] = []
    if len(first) == end:
        alternatives.append(Literal(""))
        texts = texts[1:]
    while texts:
        n = sum([text[end] == texts[0][end] for text in texts])
        alternatives.append(_one_text_of(texts[:n], end))
        texts = texts[n:]
    return seq(head, any_of(alternatives))


def values_tree(values: list[Number], bound: Bound, style: int) -> Node:
    """Return the spellings of these positive numbers."""
    alternatives: list[Node] = []
    if style == ANY:
        by_place: dict[int, list[str]] = {}
        for value in values:
            place, figures = scientific(value)
            by_place.setdefault(place, []).append(figures)
        for place, group in by_place.items():
            alternatives.append(And((window(place, place, bound, ANY), seq(LEADING, _one_of(sorted(group), 0)))))
        return any_of(alternatives)
    for value in values:
        place, figures = scientific(value)
        if place <= 0:
            alternatives.append(seq(Literal("0." + "0" * -place + figures), some(ZERO_DIGIT)))
        elif len(figures) > place:
            alternatives.append(seq(Literal(f"{figures[:place]}.{figures[place:]}"), some(ZERO_DIGIT)))
        else:
            text = Literal(figures + "0" * (place - len(figures)))
            alternatives.append(text if style == WHOLE else seq(text, ZERO_FRACTION))
    return any_of(alternatives)


def _one_of(group: list[str], start: int) -> Node:
    """Return the texts that continue one of these significands from index `start`, with only zeros after it. The
    significands are sorted, and equal before `start`."""
    alternatives: list[Node] = []
    if len(group[0]) == start:
        alternatives.append(ZERO_REST)
        group = group[1:]
    while group:
        first = group[0][start]
        n = sum([figures[start] == first for figures in group])
        alternatives.append(seq(POINT_HERE, Literal(first), _one_of(group[:n], start + 1)))
        group = group[n:]
    return any_of(alternatives)
