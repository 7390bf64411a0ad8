"""Sets of numbers and their spellings agree with Decimal arithmetic over all spellings, and with brute force."""

import json
import re
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earleymask.earley import LimitError
from earleymask.earley._regex import Regexes
from earleymask.grammar.json.number_parts import MAX_FIGURES
from earleymask.grammar.json.number_spellings import NumberStyle, number_tree
from earleymask.grammar.json.numbers import (
    ALL,
    AS_DECIMALS,
    AS_INTEGERS,
    DUMPED,
    EMPTY,
    INTEGERS,
    PLAIN_INTEGERS,
    WRITTEN_INTEGERS,
    NumberSet,
    exact,
    listed,
    number_set,
)
from earleymask.grammar.regex.lower import lower, lower_shared
from earleymask.grammar.regex.python import parse
from earleymask.prepare import TERMINALS
from support.effort import effort

LARGEST_DOUBLE = int(sys.float_info.max)
LARGEST = Decimal(repr(sys.float_info.max))
PLAIN = NumberStyle(exponents=False, fractions=False)
JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
BEGINNING = re.compile(r"-?((0|[1-9][0-9]*)(\.?|\.[0-9]+)?|(0|[1-9][0-9]*)(\.[0-9]+)?[eE][+-]?[0-9]*)?")


def language(numbers: NumberSet, digits: int = 17, shift: int = 8, plain: bool = False) -> Callable[[str], bool]:
    regexes = Regexes()
    style = NumberStyle(digits, shift, exponents=not plain, fractions=not plain)
    node = lower_shared(number_tree(numbers, style), regexes)
    return lambda text: regexes.matches(node, text.encode())


@cache
def spellings(alphabet: str, length: int) -> tuple[tuple[str, Any], ...]:
    """Return all JSON numbers over `alphabet` up to this length, with their values; exponents up to 1,000."""
    level, found = [""], []
    for _ in range(length):
        level = [text + char for text in level for char in alphabet if BEGINNING.fullmatch(text + char)]
        found += [
            (text, exact(Decimal(text)))
            for text in level
            if JSON_NUMBER.fullmatch(text) and abs(int(text.lower().partition("e")[2] or "0")) <= 1000
        ]
    return tuple(found)


SETS = {
    "all": ALL,
    "integers": INTEGERS,
    "no integers": number_set(non_multiples=[1]),
    "0 to 150": number_set(0, 150, multiples=[1]),
    "positive integers": number_set(0, above=True, multiples=[1]),
    "negative integers": number_set(maximum=0, below=True, multiples=[1]),
    "integers from 5": number_set(5, multiples=[1]),
    "integers from -12 to 20": number_set(-12, 20, multiples=[1]),
    "from 0": number_set(0),
    "above 0": number_set(0, above=True),
    "below 0": number_set(maximum=0, below=True),
    "from 1": number_set(1),
    "above 0.5": number_set(0.5, above=True),
    "-1 to 1": number_set(-1, 1),
    "between -12 and 2.5": number_set(-12, 2.5, True, True),
    "10.5 to 11.25": number_set(10.5, 11.25),
    "between 11 and 15": number_set(11, 15, True, True),
    "between 1 and 2": number_set(1, 2, True, True),
    "10 up to 100": number_set(10, 100, below=True),
    "0.005 to 0.2": number_set(0.005, 0.2),
    "cents": number_set(multiples=[0.01]),
    "even": number_set(multiples=[2]),
    "fives": number_set(multiples=[5]),
    "eights": number_set(multiples=[8]),
    "sevens": number_set(multiples=[7]),
    "2.5": number_set(multiples=[2.5]),
    "0.15": number_set(multiples=[0.15]),
    "twelves from 20": number_set(20, multiples=[12]),
    "twenties": number_set(multiples=[20]),
    "eights up to 2000": number_set(0, 2000, multiples=[8]),
    "2.5 from -20.5 to 100": number_set(-20.5, 100, multiples=[2.5]),
    "sevens from 10 to 152": number_set(10, 152, multiples=[7]),
    "0.15 from 0.1 to 25": number_set(0.1, 25, multiples=[0.15]),
    "fifties from -10000 to 5000": number_set(-10000, 5000, multiples=[50]),
    "cents up to 2.5": number_set(-1, 2.5, multiples=[0.01]),
    "integers up to 10^21, no sevens": number_set(0, 10**21, multiples=[1], non_multiples=[7]),
    "hundreds from -500": number_set(-500, multiples=[100]),
    "integers but 0, 5, -10": number_set(multiples=[1], excluded=[0, 5, -10]),
    "0 to 5 but some": number_set(0, 5, True, True, excluded=[0.5, 1, 2]),
    "integers, no fives": number_set(multiples=[1], non_multiples=[5]),
    "all but 0": number_set(excluded=[0]),
    "some": listed([1, -2, 0.5, 100, 0, 2000]),
    "12": listed([12]),
    "0": listed([0]),
    "none": EMPTY,
    "as integers": WRITTEN_INTEGERS,
    "evens from -12 as integers": number_set(-12, multiples=[2], spelled=AS_INTEGERS),
    "some as integers": listed([1, 0.5, 10, -2], AS_INTEGERS),
    "as decimals": number_set(spelled=AS_DECIMALS),
    "fives as decimals": number_set(multiples=[5], spelled=AS_DECIMALS),
    "some as decimals": listed([1, 0, 0.5, -2], AS_DECIMALS),
}


def are_spelled(numbers: NumberSet, text: str) -> bool:
    is_integer = text.lstrip("-").isdigit()
    return numbers.spelled == 0 or is_integer == (numbers.spelled == AS_INTEGERS)


def holds(numbers: NumberSet, text: str, value: Any) -> bool:
    return numbers.contains(value) and are_spelled(numbers, text)


def is_whole(numbers: NumberSet) -> bool:
    return numbers.multiple is not None and numbers.multiple % 1 == 0


@pytest.mark.parametrize("name", SETS)
def test_all_short_spellings(name: str) -> None:
    numbers = SETS[name]
    accepts = language(numbers)
    for text, value in spellings("-0125.e+", 6):
        assert accepts(text) == holds(numbers, text, value), text
    for text, value in spellings("-0123456789.eE+", 4):
        assert accepts(text) == holds(numbers, text, value), text


@pytest.mark.parametrize("name", SETS)
def test_all_short_plain_spellings(name: str) -> None:
    numbers = SETS[name]
    accepts = language(numbers, plain=True)
    for text, value in spellings("-0125.e+", 6):
        # In a list of values, a whole number is an integer; under conditions it is one if all members are.
        no_fraction = is_whole(numbers) or (numbers.listed is not None and value.denominator == 1)
        no_fraction = no_fraction and numbers.spelled != AS_DECIMALS
        plain = "e" not in text and not (no_fraction and "." in text)
        assert accepts(text) == (plain and holds(numbers, text, value)), text


@pytest.mark.parametrize("name", SETS)
def test_nothing_but_numbers(name: str) -> None:
    accepts = language(SETS[name])
    texts = [""]
    for _ in range(4):
        texts = [text + char for text in texts for char in "-07.e+"]
        for text in texts:
            if not JSON_NUMBER.fullmatch(text):
                assert not accepts(text), text


def counted(text: str, digits: int, shift: int) -> bool:
    """Return whether a spelling obeys `number_tree`'s bound on digits beside an exponent."""
    mantissa, e, _ = text.lstrip("-").lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    if not e or not (whole + fraction).strip("0"):
        return True
    if len(fraction) > digits:
        return False
    return len(whole) <= shift if whole != "0" else len(fraction) - len(fraction.lstrip("0")) < shift


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(("digits", "shift"), [(1, 1), (2, 1), (3, 2)])
def test_beyond_the_bound_only_members_within_it_all(name: str, digits: int, shift: int) -> None:
    numbers = SETS[name]
    accepts = language(numbers, digits, shift)
    for text, value in spellings("-015.e", effort(6, 7)):
        if accepts(text):
            assert holds(numbers, text, value), text
        elif holds(numbers, text, value):
            assert not counted(text, digits, shift), text


decimals = st.builds(
    lambda sign, figures, exponent: Decimal((sign, tuple(map(int, str(figures))), exponent)),
    st.integers(0, 1),
    st.integers(0, 10**40),
    st.integers(-45, 10),
)


def spelled(value: Decimal, point: int, exponent_zeros: int) -> str:
    """Spell the value with `point` digits before the point of the mantissa (if negative, with zeros after it)."""
    sign, figures, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    digits = "".join(map(str, figures)).lstrip("0") or "0"
    place = len(digits) + exponent
    point = point if value else 1
    digits = digits.ljust(max(point, 1), "0")
    mantissa = f"{digits[:point]}.{digits[point:] or '0'}" if point > 0 else "0." + "0" * -point + digits
    moved = place - point
    return f"{'-' * sign}{mantissa}e{'-' if moved < 0 else '+'}{'0' * exponent_zeros}{abs(moved)}"


@given(decimals, decimals, st.booleans(), st.booleans(), st.data())
@settings(max_examples=60)
def test_bounds_of_many_digits(a: Decimal, b: Decimal, above: bool, below: bool, data: st.DataObject) -> None:
    minimum, maximum = min(a, b), max(a, b)
    numbers = number_set(minimum, maximum, above, below)
    accepts = language(numbers, 60, 8)
    for _ in range(20):
        near = data.draw(st.sampled_from([minimum, maximum]))
        step = exact(Decimal((0, (1,), data.draw(st.integers(-50, 12))))) * data.draw(st.sampled_from([-1, 0, 1]))
        value = Fraction(exact(near) + step)
        written = Decimal(0) if not value else as_decimal(value)
        text = data.draw(st.sampled_from([f"{written:f}", spelled(written, data.draw(st.integers(-7, 8)), 1)]))
        assert exact(Decimal(text)) == value
        assert accepts(text) == numbers.contains(value), (text, numbers)


def as_decimal(value: Fraction) -> Decimal:
    """Convert exactly, with any precision of the context."""
    shift = 0
    while value.denominator != 1:
        value *= 10
        shift += 1
    return Decimal((int(value < 0), tuple(map(int, str(abs(value.numerator)))), -shift))


counts = st.lists(st.one_of(st.integers(0, 10**12), st.integers(0, 10**4)), min_size=1)


@given(st.integers(1, 400), st.integers(-3, 3), counts, st.integers(1, 8), st.none() | st.integers(10, 10**9))
@settings(max_examples=100)
def test_multiples(factor: int, exponent: int, counts: list[int], point: int, maximum: int | None) -> None:
    multiple = Decimal((0, tuple(map(int, str(factor))), exponent))
    numbers = number_set(None if maximum is None else -1000, maximum, multiples=[multiple])
    accepts = language(numbers)
    for count in counts:
        for value in (count * multiple, count * multiple + 1, count * multiple / 2):
            assert accepts(f"{value:f}") == numbers.contains(value), value
            assert accepts(spelled(value, point, 0)) == numbers.contains(value), value


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(-1e6, 1e6))
@settings(max_examples=100)
def test_doubles_as_python_writes_them(value: float, bound: float) -> None:
    for numbers in (number_set(bound), number_set(maximum=bound, below=True), INTEGERS, number_set(multiples=[0.01])):
        assert language(numbers)(json.dumps(value)) == numbers.contains(value)


@pytest.mark.parametrize(
    ("tree", "pattern"),
    [
        (number_tree(ALL), r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"),
        (number_tree(ALL, PLAIN), r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?"),
        (number_tree(INTEGERS, PLAIN), r"-?(?:0|[1-9][0-9]*)"),
    ],
)
def test_ordinary_numbers_are_the_usual_regexes(tree: Any, pattern: str) -> None:
    """They are those of `prepare`, whose parts they can use."""
    regexes = Regexes()
    assert lower(tree, regexes) == lower(parse(pattern), regexes)


# Plain spellings: finite in double precision, constants as `json.dumps` writes them.

DUMPED_STYLE = NumberStyle(plain=True)


PREPARED = next(line.strip("/") for line in TERMINALS if "{0,307}" in line and "eE" in line)


def plain_language(numbers: NumberSet, style: NumberStyle = DUMPED_STYLE) -> Callable[[str], bool]:
    regexes = Regexes()
    node = lower_shared(number_tree(numbers, style), regexes)
    return lambda text: regexes.matches(node, text.encode())


def dumped(numbers: NumberSet) -> set[str]:
    """Return what `json.dumps` writes for the members: ints, and floats unless the set has only integers."""
    found = set()
    for value in numbers.listed or ():
        if value.denominator == 1:
            found.add(json.dumps(int(value)))
        if value.denominator != 1 or not numbers.spelled:
            found.add(json.dumps(float(value)))
    return found


@pytest.mark.parametrize("name", SETS)
def test_all_short_spellings_of_finite_numbers(name: str) -> None:
    numbers = SETS[name]
    accepts = plain_language(numbers)
    constants = dumped(numbers) if numbers.listed is not None and numbers.spelled != AS_DECIMALS else None
    for text, value in spellings("-0125.e+", 5):
        before, _, exponent = text.partition("e")
        is_short = len(exponent.lstrip("+-")) <= 3 and (int(exponent or 0) <= 300 or before.lstrip("-")[0] != "0")
        expected = holds(numbers, text, value) and is_short and abs(value) < 10**308
        assert accepts(text) == (expected if constants is None else text in constants), text


@pytest.mark.parametrize("name", [name for name in SETS if is_whole(SETS[name]) and SETS[name].spelled != AS_DECIMALS])
def test_plain_integers_are_digits(name: str) -> None:
    numbers = SETS[name]
    noted = number_set(
        numbers.minimum,
        numbers.maximum,
        numbers.above,
        numbers.below,
        [numbers.multiple],
        numbers.non_multiples,
        numbers.excluded,
        numbers.spelled | DUMPED,
    )
    accepts = plain_language(noted)
    for text, value in spellings("-0125.e+", 5):
        assert accepts(text) == (numbers.contains(value) and text.lstrip("-").isdigit()), text
    for n in range(1, 12):
        for text in ("1" + "0" * n, "-" + "25" * n, "1" * n + "0"):
            assert accepts(text) == numbers.contains(int(text)), text


def test_plain_numbers_are_finite_doubles() -> None:
    accepts = plain_language(ALL)
    signed = plain_language(number_set(0))
    wide = plain_language(ALL, NumberStyle(20, 12, plain=True))
    fractions = ("", ".0", ".7976931348623157", ".7976931348623158", ".79769313486231570001", ".8", ".1", ".99999")
    for digits, fraction, exponent, sign in product(
        ("1", "9", "10", "99999999", "17", "123456789"),
        fractions,
        (0, 5, 99, 295, 296, 297, 299, 300, 301, 306, 307, 308, 309, 999),
        ("", "+", "-"),
    ):
        text = f"{digits}{fraction}e{sign}{exponent}"
        value = Decimal(text)
        is_plain = sign == "-" or (exponent <= 300 if len(digits) > 1 else value <= LARGEST)
        assert accepts(text) == (is_plain and len(digits) <= 8), text
        assert signed(text) == accepts(text), text
        is_plain = sign == "-" or (exponent <= 296 if len(digits) > 1 else value <= LARGEST)
        assert wide(text) == is_plain, text
        assert float(text) != float("inf") or not (accepts(text) or wide(text)), text
    for text in (
        "9" * 308,
        "9" * 308 + "." + "9" * 400,
        "0." + "0" * 400 + "1",
        "1e-999",
        "0e300",
        "0.0e+300",
        "0e-999",
    ):
        assert accepts(text) and signed(text), text
    for text in ("1e1000", "0e301", "1e0001", "9" * 309, "123456789e1", "0.1e301"):
        assert not accepts(text) and not signed(text), text
    assert not plain_language(ALL, NumberStyle(exponents=False, plain=True))("1e1")


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(10**308) + 1, 10**308 - 1))
@settings(max_examples=300)
def test_what_python_writes_is_plain(number: float, integer: int) -> None:
    assert plain_language(ALL)(json.dumps(number))
    assert plain_language(ALL)(json.dumps(integer))
    assert plain_language(PLAIN_INTEGERS)(json.dumps(integer))
    assert not number or plain_language(listed([number]))(json.dumps(number))  # -0.0 is 0, which is written 0.0
    constant = integer % 10**MAX_FIGURES
    assert plain_language(listed([constant]))(json.dumps(constant))


@pytest.mark.parametrize(
    ("numbers", "members"),
    [
        (number_set(10**308), ["1e308", "1e309", "1e5000", "9" * 400]),
        (number_set(maximum=-(10**400), multiples=[1], spelled=DUMPED), ["-1" + "0" * 400, "-" + "9" * 500]),
        (number_set(multiples=[10**300], excluded=[0]), ["1e300", "1e309"]),
        (listed([10**400]), ["1" + "0" * 400]),
    ],
)
def test_numbers_that_are_demanded_have_plain_spellings(numbers: NumberSet, members: list[str]) -> None:
    """A set of large numbers is not empty because readers have no such numbers."""
    accepts = plain_language(numbers)
    for text in members:
        assert accepts(text) == numbers.contains(exact(Decimal(text))), text
    assert any(map(accepts, members))


@pytest.mark.parametrize(
    "high", [10**308, 10**308 + 1, int(LARGEST) - 1, int(LARGEST), LARGEST_DOUBLE, 10**309, 10**400]
)
def test_plain_numbers_below_a_great_bound(high: int) -> None:
    accepts = plain_language(number_set(maximum=high))
    integers = plain_language(number_set(maximum=high, multiples=[1], spelled=DUMPED))
    for text in ("5e307", "9" * 308, "1" + "0" * 308, "1e308", "1.7976931348623157e308", "1e309"):
        value = Decimal(text)
        is_plain = value < 10**308 or (text[1] in ".e" and value <= LARGEST <= high)
        assert accepts(text) == (value <= high and is_plain), text
        assert integers(text) == (text.isdigit() and len(text) <= 308), text


@pytest.mark.parametrize(
    ("tree", "pattern"),
    [
        (number_tree(PLAIN_INTEGERS, DUMPED_STYLE), r"-?(?:0|[1-9][0-9]{0,307})"),
        (number_tree(ALL, NumberStyle(exponents=False, plain=True)), r"-?(?:0|[1-9][0-9]{0,307})(?:\.[0-9]+)?"),
        (number_tree(ALL, DUMPED_STYLE), PREPARED),
    ],
)
def test_ordinary_plain_numbers_are_regexes_with_a_count(tree: Any, pattern: str) -> None:
    regexes = Regexes()
    assert lower(tree, regexes) == lower(parse(pattern), regexes)


@pytest.mark.parametrize("name", SETS)
def test_trees_are_small(name: str) -> None:
    """The largest have a tree for each power of 2, or each place; an ordinary bound takes 100 to 300 nodes."""
    regexes = Regexes()
    lower(number_tree(SETS[name]), regexes)
    assert regexes.n_nodes < 1000
    plain = Regexes()
    lower(number_tree(SETS[name], PLAIN), plain)
    assert plain.n_nodes < 100


# The sets themselves. Brute force decides about all quarters: bounds, multiples and values below are halves, so
# between two of them there is always a quarter that nothing removes.

HALVES = [Fraction(k, 2) for k in range(-12, 13)]
GRID = [Fraction(k, 4) for k in range(-40, 41)]
half = st.sampled_from(HALVES)
step = st.sampled_from(
    [Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3), Fraction(4), Fraction(6)]
)
how_spelled = st.sampled_from([0, AS_INTEGERS, AS_DECIMALS])
number_sets = st.one_of(
    st.builds(
        number_set,
        st.none() | half,
        st.none() | half,
        st.booleans(),
        st.booleans(),
        st.lists(step, max_size=2),
        st.lists(step, max_size=2),
        st.lists(half, max_size=3),
        how_spelled,
    ),
    st.builds(listed, st.lists(half, max_size=4), how_spelled),
)


def members(numbers: NumberSet) -> set[Fraction]:
    return {value for value in GRID if numbers.contains(value)}


SPELLINGS = {(value, how) for value in GRID for how in (AS_INTEGERS, AS_DECIMALS)} - {
    (value, AS_INTEGERS) for value in GRID if value.denominator != 1
}


def written(numbers: NumberSet) -> set[tuple[Fraction, int]]:
    """Return the members of a set, and how they are spelled."""
    return {(value, how) for value, how in SPELLINGS if numbers.contains(value) and numbers.spelled in (0, how)}


@given(
    st.none() | half,
    st.none() | half,
    st.booleans(),
    st.booleans(),
    st.lists(step, max_size=2),
    st.lists(step, max_size=2),
    st.lists(half, max_size=3),
)
@settings(max_examples=500)
def test_normal_form_keeps_the_members(
    minimum: Any, maximum: Any, above: bool, below: bool, multiples: list[Any], barred: list[Any], excluded: list[Any]
) -> None:
    numbers = number_set(minimum, maximum, above, below, multiples, barred, excluded)
    expected = {
        value
        for value in GRID
        if (minimum is None or value > minimum or (value == minimum and not above))
        and (maximum is None or value < maximum or (value == maximum and not below))
        and all(value % multiple == 0 for multiple in multiples)
        and all(value % multiple for multiple in barred)
        and value not in excluded
    }
    assert members(numbers) == expected
    bounded = minimum is not None and maximum is not None
    assert numbers.is_empty() <= (not expected)
    if bounded:
        assert numbers.is_empty() == (not expected)
        if multiples:
            assert numbers.values(100) == tuple(sorted(expected))
            assert not expected or numbers.values(len(expected) - 1) is None


@given(number_sets, number_sets)
@settings(max_examples=500)
def test_intersection_and_complement(a: NumberSet, b: NumberSet) -> None:
    assert written(a.intersection(b)) == written(a) & written(b)
    assert a.intersection(b) == b.intersection(a)
    assert set().union(*map(written, a.complement())) == SPELLINGS - written(a)
    for part in a.complement():
        assert a.intersection(part).is_empty()
    is_within = written(a) <= written(b)
    assert a.is_within(b) <= is_within
    if a.listed is not None or (a.minimum is not None and a.maximum is not None):
        assert a.is_within(b) == is_within


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (number_set(0.5, 9.5, multiples=[1]), number_set(0, 10, True, True, multiples=[1])),
        (number_set(multiples=[4, 6]), number_set(multiples=[12])),
        (number_set(multiples=[0.4, 0.6]), number_set(multiples=[Decimal("1.2")])),
        (number_set(1, 3, multiples=[1]), listed([1, 2, 3])),
        (number_set(multiples=[2], non_multiples=[4, 8]), number_set(multiples=[2], non_multiples=[4])),
        (number_set(multiples=[1], excluded=[0.5, 7]), number_set(multiples=[1], excluded=[7])),
        (number_set(5, 5), listed([5])),
        (number_set(5, 5, above=True), EMPTY),
        (number_set(multiples=[2], non_multiples=[1]), EMPTY),
        (number_set(0.1, 0.9, multiples=[1]), EMPTY),
        (number_set(10**20, 10**20 + 1, True, True, multiples=[1]), EMPTY),
        (number_set(1, 10**9, multiples=[1], non_multiples=[1]), EMPTY),
        (number_set(non_multiples=[1], spelled=AS_INTEGERS), EMPTY),
        (INTEGERS.intersection(number_set(spelled=AS_INTEGERS)), WRITTEN_INTEGERS),
        (listed([0.5], AS_INTEGERS), EMPTY),
    ],
)
def test_equal_sets_are_equal(a: NumberSet, b: NumberSet) -> None:
    assert a == b and hash(a) == hash(b)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (10**30, 10**30),
        (0.1, Fraction(1, 10)),
        (1e22, 10**22),
        (1e300, 10**300),
        (-0.0, 0),
        (Decimal("1.10"), Fraction(11, 10)),
        (Decimal("12e3"), 12000),
        (Fraction(3, 8), Fraction(3, 8)),
    ],
)
def test_numbers_are_exact(value: Any, expected: Any) -> None:
    assert exact(value) == expected
    assert type(exact(value)) is type(expected)


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (float("nan"), ValueError, "finite"),
        (float("inf"), ValueError, "finite"),
        (Fraction(1, 3), ValueError, "finite decimal"),
        (True, TypeError, "True is no number"),
        ("1", TypeError, "'1' is no number"),
        (Decimal("1e99999"), LimitError, "digits beyond 10000"),
    ],
)
def test_what_is_no_number(value: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        exact(value)


def test_large_numbers_of_digits() -> None:
    numbers = number_set(-(10**149) - 1, multiples=[1])
    accepts = language(numbers, 100, 100)
    for text in (f"-1{'0' * 148}1", "-1." + "0" * 98 + "1e99", f"-1{'0' * 99}e49", "5e-0"):
        assert accepts(text)
    for text in (f"-1{'0' * 148}2", f"-1{'0' * 99}e51", "-1." + "0" * 98 + "1e98"):
        assert not accepts(text)


def test_multiples_that_are_written_out() -> None:
    accepts = language(number_set(-1_000_000, 123457 * 900, multiples=[123457]))
    assert accepts("123457") and accepts("-987656") and accepts("12345.70e2") and accepts("0") and accepts("111111300")
    assert not accepts("123458") and not accepts("111234757")


def test_limits() -> None:
    with pytest.raises(ValueError, match="multiples of 0: the number must be positive"):
        number_set(multiples=[0])
    with pytest.raises(LimitError, match="a number has 151 significant digits, limit 150"):
        number_tree(number_set(int("7" * 151)))
    for far in (10**3000, 10**9000, Decimal("1e-3000"), -(10**4301), Decimal("-1e-9000")):
        with pytest.raises(LimitError, match="more than 2000 digits before or after its point"):
            number_tree(number_set(far))
        if abs(far) > 1:
            with pytest.raises(LimitError, match="more than 2000 digits before or after its point"):
                number_tree(number_set(far, multiples=[1]))
        with pytest.raises(LimitError, match="more than 2000 digits before or after its point"):
            number_tree(number_set(multiples=[abs(far) * 123457]))
    with pytest.raises(LimitError, match="more than 65536 candidates"):
        # By the Chinese remainder theorem, 0 modulo all these from one number on; k = 1 is the first that is left.
        number_set(2, 10**9, multiples=[1], non_multiples=[2, 3, 5, 7], excluded=range(70_000))
    with pytest.raises(ValueError, match="must not be the greater one"):
        number_tree(ALL, NumberStyle(5, 6))


def test_floats_of_other_libraries_are_floats() -> None:
    """The `repr` of a subclass of float may be no number, as numpy's."""
    import numpy as np

    for value in (3.5, 0.1, -1e-7, 1e300):
        assert exact(np.float64(value)) == exact(value)
    assert language(number_set(minimum=exact(np.float64(3.5))))("3.6")
