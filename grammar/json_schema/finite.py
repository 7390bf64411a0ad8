"""Sets of few values: the list of their values, and how many there are.

`listed` returns all values of a term where they are few: scalars; and arrays and objects that are constants, or that
are made of few values in few ways, such as an array of up to three booleans or a closed object whose members each have
an enumeration. The parser distinguishes listed values by its state.

`words`, `n_texts` and `n_values` count. A parser that has read three different keys must not open a fourth if only
three exist. So the loader must know, before the parser starts, whether a set has as many members as are demanded;
counting stops at that number.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, NoReturn

from ...earley._meter import tick
from ...earley.errors import LimitError
from .key_order import in_order
from .shapes import ANY_ARRAY, ANY_OBJECT, FALSE, REPEATS, UNIQUE, Values
from .shortcuts import is_something
from .terms import as_written, canonical
from .text_sets import ALL_TEXTS, NO_TEXTS, Questions, Texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ...earley._regex import Regexes
    from ..json.numbers import NumberSet
    from .shapes import ArrayShape, ObjectShape
    from .terms import Meaning

MAX_LISTED = 256
"""The most values of a list. A set with more has no list. For `uniqueItems`, the states of the parser distinguish
listed values."""
MAX_LISTED_DEPTH = 8
"""The most arrays and objects within each other that are listed. Deeper ones have no list."""
MAX_COUNTED = 1 << 12
"""The most texts of a pattern, or numbers, that are counted. Whether more exist is not decided."""
MAX_STEPS = 1 << 16
"""The most states of a pattern that are visited to count its texts. Beyond it, LimitError is raised."""
PLENTY = 1 << 40
"""More items than any array has that a matcher can read."""
MAX_DEPTH_OF_REQUIRED = 3
"""Within how many objects members are looked at that are required."""
SMALL = 10**6
"""The largest bounds of numbers of which there are plenty with few digits."""
N_CHARACTERS = 0x110000 - 0x800
"""All code points but surrogates."""

ENOUGH, TOO_FEW, UNKNOWN = 0, 1, 2

STRUCTURED = Values(False, 0, (), NO_TEXTS, (ANY_ARRAY,), (ANY_OBJECT,))
"""All arrays and objects."""


def listed(algebra: Meaning, term: int) -> list[Any] | None:
    """Return all values of a term; None if they are more than `MAX_LISTED`, or not known to be few."""
    scalars = listed_scalars(algebra.values(term))
    if scalars is None:
        return None
    others = listed_structured(algebra, term)
    return None if others is None or len(scalars) + len(others) > MAX_LISTED else scalars + others


def listed_scalars(values: Values) -> list[Any] | None:
    """Return all values that are neither arrays nor objects, as `listed` does."""
    words = values.texts.words
    if words is None or len(words) > MAX_LISTED:
        return None
    found: list[Any] = [None] if values.null else []
    found += [False] if values.booleans & 1 else []
    found += [True] if values.booleans & 2 else []
    found += sorted(words)
    for numbers in values.numbers:
        known = numbers.values(MAX_LISTED)
        if known is None:
            return None
        found += known
    distinct = {canonical(value): value for value in found}
    return list(distinct.values()) if len(distinct) <= MAX_LISTED else None


def listed_structured(algebra: Meaning, term: int, depth: int = 0) -> list[Any] | None:
    """Return all arrays and objects, as `listed` does. The list has an object once for each order in which its keys are
    written."""
    values = algebra.values(term)
    if not values.arrays and not values.objects:
        return []
    if depth > MAX_LISTED_DEPTH:
        return None
    if any(shape.most is None for shape in values.arrays) or not all(map(_is_closed, values.objects)):
        return None
    found: dict[object, Any] = {}
    for array in values.arrays:
        arrays = _arrays(algebra, array, depth)
        if arrays is None:
            return None
        found |= {as_written(value): value for value in arrays}
    objects = [(shape, len(shape.named)) for shape in values.objects]
    if objects and algebra.options.property_order == "schema":
        objects = in_order(algebra, values.objects, term)
    for shape, n_ordered in objects:
        made = _objects(algebra, shape, n_ordered, depth)
        if made is None:
            return None
        found |= {as_written(value): value for value in made}
    return list(found.values()) if len(found) <= MAX_LISTED else None


def _listed(algebra: Meaning, term: int, depth: int) -> list[Any] | None:
    scalars = listed_scalars(algebra.values(term))
    others = None if scalars is None else listed_structured(algebra, term, depth + 1)
    return None if scalars is None or others is None else scalars + others


def _arrays(algebra: Meaning, shape: ArrayShape, depth: int) -> list[Any] | None:
    if shape.contains or shape.most is None or shape.most > MAX_LISTED:
        return None
    items: list[list[Any]] = []
    found: list[Any] = []
    for length in range(shape.most + 1):
        if length:
            known = _listed(algebra, shape.item(length - 1), depth)
            if known is None:
                return None
            items.append(known)
        if length < shape.least:
            continue
        if _product([len(known) for known in items]) > MAX_LISTED:
            return None
        for value in map(list, product(*items)):
            n_different = len({canonical(item) for item in value})
            if not shape.unique or (n_different == length) == (shape.unique == UNIQUE):
                found.append(value)
    return found


def _is_closed(shape: ObjectShape) -> bool:
    """Whether the shape allows only named members and says nothing but what their values are."""
    if shape.exists or shape.clauses:
        return False
    return any(part.value == FALSE and part.keys.is_all() for part in shape.for_all)


def _objects(algebra: Meaning, shape: ObjectShape, n_ordered: int, depth: int) -> list[Any] | None:
    choices: list[list[Any]] = []  # for each name: its members, and () if it may be absent
    for name, value in shape.named[:n_ordered]:
        known = _listed(algebra, value, depth)
        if known is None:
            return None
        members: list[Any] = [(name, one) for one in known]
        choices.append(members if name in shape.required else [(), *members])
    if any(value != FALSE for _, value in shape.named[n_ordered:]):
        return None  # members in any order: an object is written in many ways
    if _product([len(one) for one in choices]) > MAX_LISTED:
        return None
    made = [dict(filter(None, members)) for members in product(*choices)]
    return [one for one in made if shape.least <= len(one) and (shape.most is None or len(one) <= shape.most)]


def _product(numbers: list[int]) -> int:
    """Return the product, or MAX_LISTED + 1 if it is greater than MAX_LISTED."""
    found = 1
    for number in numbers:
        found = min(found * number, MAX_LISTED + 1) if number else 0
    return found


def n_different(values: list[Any]) -> int:
    return len(set(map(canonical, values)))


# Counting.


def words(texts: Texts, limit: int, questions: Questions | None = None) -> list[str] | None:
    """Return all texts of a set; None if they are more than `limit`. Raises LimitError if that takes too long.

    questions: the `Questions` of the same schema, which may have lowered the set already.
    """
    if texts.words is not None:
        found = [word for word in texts.words if not any("\ud800" <= char <= "\udfff" for char in word)]
        return found if len(found) <= limit else None
    if not texts.trees:
        if texts.most == 0 and "" not in texts.but:
            return [""] if limit else None
        if texts.most != 0:
            if limit >= N_CHARACTERS - len(texts.but):
                _unknown()
            return None
        return []
    if questions is None:
        questions = Questions()
    regexes = questions.regexes
    start = questions.node_of(texts)
    if regexes.is_empty(start):
        return []
    letters: dict[int, dict[int, bytes]] = {}
    if n_strings(regexes, start, limit, letters) > limit:
        return None
    # They are few, so their beginnings are few, too.
    found = []
    stack = [(start, b"")]
    while stack:
        node, text = stack.pop()
        if regexes.is_nullable(node):
            found.append(text.decode())
        stack += [(target, text + bytes((byte,))) for target, after in letters[node].items() for byte in after]
    return found


def n_strings(regexes: Regexes, start: int, limit: int, letters: dict[int, dict[int, bytes]]) -> int:
    """Return the number of strings of a node that is not empty; some number above `limit` if it is greater. `letters`
    receives what may follow each node that was visited. Raises LimitError if that takes too long."""
    letters[start] = regexes.derivatives(start)
    known: dict[int, int] = {}
    path = [(start, 1, iter(letters[start]))]
    on_path = {start}
    while path:
        node, n_ways, targets = path[-1]
        target = next(targets, None)
        if target is None:
            path.pop()
            on_path.discard(node)
            n = int(regexes.is_nullable(node)) + sum([len(after) * known[to] for to, after in letters[node].items()])
            if n > limit:
                return n
            known[node] = n
        elif target in on_path:  # a circle has infinitely many strings
            return limit + 1
        elif target not in known:
            if len(letters) > MAX_STEPS:
                _unknown()
            after = letters[target] = regexes.derivatives(target)
            # Each string that leads to the target begins a longer one for each byte that may follow.
            n_ways *= len(letters[node][target])
            if n_ways * sum(map(len, after.values())) > limit:
                return limit + 1
            path.append((target, n_ways, iter(after)))
            on_path.add(target)
    return known[start]


def n_texts(texts: Texts, limit: int, questions: Questions | None = None) -> int:
    """Return the number of texts, or `limit` if it is greater. Raises LimitError if that takes too long."""
    if texts.words is None and not texts.trees:
        if texts.most is None:
            return limit
        n = -sum(texts.least <= len(word) <= texts.most for word in texts.but)
        for length in range(texts.least, texts.most + 1):
            n += N_CHARACTERS**length
            if n >= limit:
                return limit
        return n
    if texts.words is None and limit > MAX_COUNTED:
        _unknown()
    found = words(texts, limit, questions)
    return limit if found is None else len(found)


def _unknown() -> NoReturn:
    raise LimitError(f"cannot determine whether there are enough texts: at most {MAX_COUNTED} of them are counted")


def n_values(values: Values, limit: int) -> int:
    """Return the number of scalars among the values, or `limit` if it is greater. If the numbers are a union of several
    sets, there may be more. Raises LimitError if that takes too long."""
    n = int(values.null) + values.booleans.bit_count()
    n += max([n_numbers(numbers, limit) for numbers in values.numbers], default=0)
    return n + n_texts(values.texts, limit - n) if n < limit else limit


def n_numbers(numbers: NumberSet, limit: int) -> int:
    if numbers.listed is not None:
        return min(len(numbers.listed), limit)
    if numbers.multiple is None or numbers.minimum is None or numbers.maximum is None:
        return limit
    if limit > MAX_COUNTED:
        raise LimitError(f"cannot determine whether there are more than {MAX_COUNTED} numbers")
    known = numbers.values(limit)
    return limit if known is None else len(known)


def n_any(algebra: Meaning, term: int, limit: int, depth: int = 0) -> int:
    """Return a number of different values that are written of the term at least, up to `limit`. There may be more."""
    values = algebra.written_values(term)
    try:
        n = n_values(values, limit)
    except LimitError:
        n = 0
    if n >= limit or depth > MAX_LISTED_DEPTH:
        return min(n, limit)
    n += max([_n_arrays(algebra, shape, limit - n, depth + 1) for shape in values.arrays], default=0)
    if n < limit:
        n += max([_n_objects(algebra, shape, limit - n, depth + 1) for shape in values.objects], default=0)
    return min(n, limit)


class Plenty:
    """Where there are more values than any array has, as far as this is easy to see."""

    def __init__(self, algebra: Meaning) -> None:
        self.algebra = algebra
        self.known: dict[int, bool] = {}  # by term; False while it is decided

    def of_items(self, shape: ArrayShape, terms: Iterable[int]) -> bool:
        """Whether items which must differ never run out: of the texts, the arrays and the objects among them there are
        none, or plenty, and there are plenty of them together. `terms`: of the items."""
        if shape.contains or shape.unique != UNIQUE:
            return False
        try:
            return all(self._never_run_out(self.algebra.written_values(term)) for term in terms)
        except LimitError:
            tick()  # raises if the time is used up
            return False

    def _never_run_out(self, values: Values) -> bool:
        has_texts = values.texts.words != NO_TEXTS.words
        if has_texts and not self._of_texts(values):
            return False
        if values.arrays and not any(map(self._of_arrays, values.arrays)):
            return False
        if values.objects and not any(map(self._of_objects, values.objects)):
            return False
        return bool(has_texts or values.arrays or values.objects) or self._of_numbers(values)

    def of(self, term: int) -> bool:
        """Whether plenty of values are written of a term."""
        found = self.known.get(term)
        if found is None:
            tick()
            self.known[term] = False
            values = self.algebra.written_values(term)
            found = self.known[term] = (
                self._of_texts(values)
                or self._of_numbers(values)
                or any(map(self._of_arrays, values.arrays))
                or any(map(self._of_objects, values.objects))
            )
        return found

    def _of_texts(self, values: Values) -> bool:
        texts = values.texts
        return texts.words is None and not texts.trees and n_texts(texts, PLENTY) >= PLENTY

    def _of_numbers(self, values: Values) -> bool:
        """Whether there are plenty of numbers with few digits: of one that is read, `MAX_FIGURES` at most."""
        return any(
            one.listed is None
            and (one.minimum is None or one.maximum is None)
            and all(number is None or -SMALL <= number <= SMALL for number in (one.minimum, one.maximum, one.multiple))
            for one in values.numbers
        )

    def _of_arrays(self, shape: ArrayShape) -> bool:
        """Whether any number of items out of plenty may stand at the end."""
        if shape.contains or shape.unique == REPEATS or shape.most is not None or (shape.unique and shape.prefix):
            return False
        return self.of(shape.rest) and all(self._is_there(term) for term in shape.prefix)

    def _of_objects(self, shape: ObjectShape) -> bool:
        """Whether plenty of objects have the required keys, and a key or a value out of plenty."""
        if not self._may_have_required(shape):
            return False
        n_required = len(shape.required)
        for name, value in shape.named:
            n = n_required if name in shape.required else n_required + 1
            if n >= shape.least and (shape.most is None or n <= shape.most) and self.of(value):
                return True
        return not shape.for_all and n_required + 1 >= shape.least and (shape.most is None or n_required < shape.most)

    def _may_have_required(self, shape: ObjectShape, depth: int = 0) -> bool:
        if shape.exists or shape.clauses or (shape.most is not None and shape.most < len(shape.required)):
            return False
        return all(self._is_there(value, depth) for name, value in shape.named if name in shape.required)

    def _is_there(self, term: int, depth: int = 0) -> bool:
        """Whether some value is written of a term, as far as this is easy to see."""
        values = self.algebra.written_values(term)
        if values.null or values.booleans or n_texts(values.texts, 1) or self._of_numbers(values):
            return True
        if any(one.listed for one in values.numbers):
            return True
        if any(not (one.least or one.contains) and one.unique != REPEATS for one in values.arrays):
            return True
        return depth < MAX_DEPTH_OF_REQUIRED and any(
            one.least <= len(one.required) and self._may_have_required(one, depth + 1) for one in values.objects
        )


def _n_arrays(algebra: Meaning, shape: ArrayShape, limit: int, depth: int) -> int:
    """Return a number of different arrays of a shape that are written at least, up to `limit`."""
    counted = [part for part in shape.contains if part.least or part.most is not None]
    if len(counted) > 1 or shape.unique == REPEATS:
        return 0
    # The first items after the prefix are counted, as many as must be; if there is a bound, no others are.
    least = shape.least
    begin = end = len(shape.prefix)
    for part in counted:
        begin = max(begin, part.begin)
        end = begin + part.least
        least = max(least, end)
    n = 0
    ways = 1  # to begin an array of the present length
    length = 0
    while n < limit:
        n += ways if length >= least else 0
        if length == shape.most:
            break
        term = shape.item(length)
        for part in counted:
            if begin <= length < end:
                term = algebra.intersection(term, part.item)
            elif length >= part.begin and part.most is not None:
                term = algebra.intersection(term, part.item ^ 1)
        n_used = length if shape.unique else 0  # of its values, at most
        ways = min(ways * max(n_any(algebra, term, limit + n_used, depth) - n_used, 0), limit)
        length += 1
        if not ways:
            break
    return min(n, limit)


def _n_objects(algebra: Meaning, shape: ObjectShape, limit: int, depth: int) -> int:
    if shape.exists or shape.clauses:
        return 0
    ways = 1
    for name, value in shape.named:
        if name in shape.required:
            ways = min(ways * n_any(algebra, value, limit, depth), limit)
    if not ways:
        return 0
    n_required = len(shape.required)
    room = None if shape.most is None else shape.most - n_required
    if room is not None and room < 0:
        return 0
    others = _n_other_keys(algebra, shape, limit, depth) if room is None or room else 0
    if shape.least > n_required:
        return (
            min(ways * others, limit) if others >= limit and (room is None or shape.least - n_required <= room) else 0
        )
    more = 1 + others
    for name, value in shape.named:
        if room == 0 or more >= limit:
            break
        if name not in shape.required:
            n = n_any(algebra, value, limit, depth)
            more = more * (1 + n) if room is None else more + n
    return min(ways * more, limit)


def _n_other_keys(algebra: Meaning, shape: ObjectShape, limit: int, depth: int) -> int:
    """Return a number of keys without a name that an object may have at least, up to `limit`."""
    left = Texts(but=frozenset([name for name, _ in shape.named])) if shape.named else ALL_TEXTS
    for keys, value in shape.for_all:
        if value == FALSE:
            left = left.difference(keys)
    terms = [value for _, value in shape.for_all if value != FALSE]
    if terms and not n_any(algebra, algebra.intersection_of(terms), 1, depth):
        return 0
    try:
        return n_texts(left, limit)
    except LimitError:
        return 0


def differing(algebra: Meaning, shape: ArrayShape, are_apart: Callable[[], bool]) -> int:
    """Return whether items that must differ never run out before an array may end: ENOUGH; TOO_FEW, there is no such
    array; UNKNOWN.

    There are enough if for each item that must come more values exist than can have been used, and if as many satisfy
    `contains` as must: an item that does is counted (`ArrayRules.claims`). If all scalars of all items are listed, the
    states of the parser decide this.

    are_apart: returns whether no arrays and objects that are not listed can be equal to another item.
    """
    least = shape.least
    counted = [part for part in shape.contains if part.least or part.most is not None]
    if shape.unique != UNIQUE or (least < 2 and not counted):
        return ENOUGH
    n_prefix = len(shape.prefix)
    places = range(n_prefix + 1 if shape.most is None or shape.most > n_prefix else shape.most)
    terms = [shape.item(index) for index in places]
    items = [algebra.written_values(term) for term in terms]
    if all(listed_scalars(values) is not None for values in items) and (
        all(listed_structured(algebra, term) is not None for term in terms) or are_apart()
    ):
        return ENOUGH
    if counted and (n_prefix or len(counted) > 1 or counted[0].begin):
        return UNKNOWN
    has_others = any(values.arrays or values.objects for values in items)
    try:
        for index, (term, values) in enumerate(zip(terms, items, strict=True)):
            needed = min(index + 1, least) if index < n_prefix else least
            if n_values(values, needed) < needed and not _has_more(algebra, term, values, needed, are_apart):
                return UNKNOWN if n_prefix or len(values.numbers) > 1 or has_others else TOO_FEW
        for part in counted:
            counting = algebra.intersection(shape.rest, part.item)
            is_it = algebra.written_values(counting)
            if n_values(is_it, part.least) < part.least and n_any(algebra, counting, part.least) < part.least:
                return UNKNOWN if len(is_it.numbers) > 1 or has_others else TOO_FEW
            if part.most is not None:
                other = algebra.intersection(shape.rest, part.item ^ 1)
                if n_values(algebra.written_values(other), least) < least and n_any(algebra, other, least) < least:
                    return UNKNOWN
    except LimitError:
        tick()  # raises if the time is used up
        return UNKNOWN
    return ENOUGH


def _has_more(algebra: Meaning, term: int, values: Values, needed: int, are_apart: Callable[[], bool]) -> bool:
    """Whether arrays and objects make up for scalars that are too few: enough of them are listed, or some come at one
    place only."""
    if not values.arrays and not values.objects:
        return False
    others = listed_structured(algebra, term)
    if others is not None:
        return n_values(values, needed) + n_different(others) >= needed
    if n_any(algebra, term, needed) >= needed:
        return True
    return are_apart() and (
        any(not array.least and not array.contains and array.unique != REPEATS for array in values.arrays)
        or any(_is_free(one) for one in values.objects)
        or (not algebra.options.closed and is_something(algebra, term) and not n_values(values, 1))
    )


def _is_free(shape: ObjectShape) -> bool:
    """Whether the empty object is of the shape."""
    return not (shape.required or shape.least or shape.exists or shape.clauses)
