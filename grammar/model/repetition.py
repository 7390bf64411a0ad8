"""Productions for groups, options and repetitions, in shapes that keep the rows of an Earley parser small.

The functions get `alternatives`, a tuple of sequences of symbols, and return the symbols to put into a production.
Helpers are kept by what they stand for, so a repetition that occurs twice in a grammar is one symbol.

- `x*` becomes `h: | h x` and `x+` becomes `h: x | h x`. Left recursion keeps every row of a list alike: the items of
  `h` all begin in the row where the list began. (Right recursion would leave one more row waiting for each element.)
- `x?` becomes `h: | x`. Two alternatives of the rule around it would double the items of everything before it, and
  several options in a row would make exponentially many. The parser advances over a nullable symbol at once (Aycock and
  Horspool 2002).
- Counts: see `counted`.
- What repeats a repetition is one repetition, if that has the same sequences of symbols (`merged`): `[x*]` is `x*`, and
  `((x~0..9)~0..9)` is `x~0..81`. A text then has one derivation in place of very many, and captures stay the same,
  because they depend on the sequences alone.
"""

from __future__ import annotations

from .model import Model, Symbols

Alternatives = tuple[Symbols, ...]
Repeated = tuple[Alternatives, int, "int | None"]
"""What is repeated, how often at least, and how often at most; None: without end."""

MAX_INLINE = 6
"""A count is written out if that makes at most this many symbols. Beyond it, powers of two are used."""

MAX_CHAIN = 8
"""Up to this many optional repetitions become a chain of rules, one for each. Beyond it, powers of two are used."""

MAX_COUNT = 1 << 60
"""The greatest count that counts within counts become. A greater upper bound is dropped, because no text has so many
bytes. If the lower bound would be greater, the counts stay as they are written."""


def group(model: Model, alternatives: Alternatives) -> Symbols:
    """Return the symbols for `( ... )`."""
    if len(alternatives) == 1:
        return alternatives[0]
    return (_helper(model, "group", alternatives, alternatives),)


def one(model: Model, symbols: Symbols) -> Symbols:
    """Return one symbol for `symbols`, or none if there are none."""
    if len(symbols) < 2:
        return symbols
    return (_helper(model, "unit", symbols, (symbols,)),)


def optional(model: Model, alternatives: Alternatives) -> Symbols:
    """Return the symbols for `x?` and `[x]`."""
    return (_helper(model, "optional", alternatives, ((), *alternatives)),)


def star(model: Model, alternatives: Alternatives) -> Symbols:
    """Return the symbols for `x*`."""
    key = ("star", alternatives)
    known = model.helpers.get(key)
    if known is None:
        known = model.helpers[key] = model.helper("(star)")
        _repeat(model, known, alternatives, nullable=True)
    return (known,)


def plus(model: Model, alternatives: Alternatives) -> Symbols:
    """Return the symbols for `x+`."""
    key = ("plus", alternatives)
    known = model.helpers.get(key)
    if known is None:
        known = model.helpers[key] = model.helper("(plus)")
        _repeat(model, known, alternatives, nullable=False)
    return (known,)


def repeat_into(model: Model, lhs: int, alternatives: Alternatives, nullable: bool) -> None:
    """Let `lhs`, which has no productions yet, derive one or more of `alternatives`; if `nullable`, also none."""
    alternatives, minimum, maximum = merged(model, alternatives, 0 if nullable else 1, None)
    if maximum is None and minimum <= 1:
        _repeat(model, lhs, alternatives, not minimum)
    else:
        model.produce(lhs, counted(model, alternatives, minimum, maximum))


def _repeat(model: Model, lhs: int, alternatives: Alternatives, nullable: bool) -> None:
    if nullable:
        model.produce(lhs, ())
    elif len(alternatives) > 1:  # one group, so that they are predicted once
        alternatives = (group(model, alternatives),)
    for rhs in alternatives:
        if rhs:
            if not nullable:
                model.produce(lhs, rhs)
            model.produce(lhs, (lhs, *rhs))


def counted(model: Model, alternatives: Alternatives, minimum: int, maximum: int | None) -> Symbols:
    """Return the symbols for `x~n..m`, with O(log m) productions and O(log m) items in a row; `maximum` None means
    without end.

    Exactly n: powers `p0: x`, `p(i+1): p(i) p(i)`, and one of them for each bit of n. After k repetitions the row holds
    an item for the lowest zero bit of k only, and the others wait in earlier rows. So there are O(log n) different
    rows, too.

    Up to m: `t(m): t(2^i - 1) | p(i) t(m - 2^i)`, where 2^i is the largest power up to m, and `t(0)` is empty. Each
    number of repetitions is derived in one way, so an unambiguous body stays unambiguous. All alternatives share the
    powers, and the calls of `t` are tail calls. For small m a chain, `t(m): | x t(m - 1)`, has fewer items.
    """
    alternatives, minimum, maximum = merged(model, alternatives, minimum, maximum)
    found = _counted(model, alternatives, minimum, maximum)
    if found and not minimum == maximum == 1:
        model.repeats[found] = (alternatives, minimum, maximum)
    return found


def _counted(model: Model, alternatives: Alternatives, minimum: int, maximum: int | None) -> Symbols:
    if not any(alternatives):
        return ()
    if maximum is None and minimum <= 1:
        return plus(model, alternatives) if minimum else star(model, alternatives)
    if minimum == 0 and maximum == 1:
        return optional(model, alternatives)
    unit = group(model, alternatives)
    if maximum is None:
        return (*_exactly(model, unit, minimum), *star(model, (unit,)))
    return (*_exactly(model, unit, minimum), *_up_to(model, unit, maximum - minimum))


def merged(
    model: Model, alternatives: Alternatives, minimum: int, maximum: int | None
) -> tuple[Alternatives, int, int | None]:
    """Return alternatives and bounds that repeat to the same sequences of symbols, without repetitions of repetitions
    where that is possible.

    (x{a,b}){n,m} is x{na,mb} if no count between is missing: if n turns have at most one less than n + 1 turns have at
    least. More turns then leave no gap either.
    """
    repeats = model.repeats
    while maximum != 0:
        if () in alternatives:
            alternatives = tuple([rhs for rhs in alternatives if rhs])
            minimum = 0
        if len(alternatives) != 1:
            break
        inner = repeats.get(alternatives[0])
        if inner is None:
            break
        body, least, most = inner
        if not (
            minimum == maximum
            or least <= 1
            or (most is None and minimum > 0)
            or (most is not None and minimum * most + 1 >= (minimum + 1) * least)
        ):
            break
        if minimum * least > MAX_COUNT:
            break
        alternatives = body
        minimum *= least
        maximum = None if maximum is None or most is None or maximum * most > MAX_COUNT else maximum * most
    if maximum is None and minimum <= 1 and len(alternatives) > 1:
        alternatives, minimum = _without_inner(repeats, alternatives, minimum)
    return alternatives, minimum, maximum


def _without_inner(
    repeats: dict[Symbols, Repeated], alternatives: Alternatives, minimum: int
) -> tuple[Alternatives, int]:
    """Return what repeats to the same sequences without end: for an alternative that is repeated itself, its body."""
    found: dict[Symbols, bool] = {}
    waiting = list(reversed(alternatives))
    while waiting:
        rhs = waiting.pop()
        inner = repeats.get(rhs)
        if not rhs:
            minimum = 0
        elif inner is None or inner[1] > 1:
            found[rhs] = True
        else:
            minimum = min(minimum, inner[1])
            waiting += reversed(inner[0])
    return tuple(found), minimum


def _exactly(model: Model, unit: Symbols, count: int) -> Symbols:
    """Return the symbols for `unit` exactly `count` times."""
    if len(unit) * count <= MAX_INLINE:
        return unit * count
    return tuple([_power(model, unit, bit) for bit in range(count.bit_length() - 1, -1, -1) if count >> bit & 1])


def _power(model: Model, unit: Symbols, exponent: int) -> int:
    """Return the symbol for `unit` 2**exponent times."""
    if exponent == 0:
        return one(model, unit)[0]
    key = ("power", unit, exponent)
    known = model.helpers.get(key)
    if known is None:
        half = _power(model, unit, exponent - 1)
        known = model.helpers[key] = model.helper("(power)")
        model.produce(known, (half, half))
    return known


def _up_to(model: Model, unit: Symbols, count: int) -> Symbols:
    """Return the symbols for `unit` at most `count` times."""
    if count == 0:
        return ()
    key = ("up to", unit, count)
    known = model.helpers.get(key)
    if known is None:
        known = model.helpers[key] = model.helper("(up to)")
        if count <= MAX_CHAIN:
            model.produce(known, ())
            model.produce(known, (*unit, *_up_to(model, unit, count - 1)))
        else:
            exponent = count.bit_length() - 1
            model.produce(known, _up_to(model, unit, (1 << exponent) - 1))
            model.produce(known, (_power(model, unit, exponent), *_up_to(model, unit, count - (1 << exponent))))
    return (known,)


def _helper(model: Model, kind: str, key: object, alternatives: Alternatives) -> int:
    """Return the helper of this kind for `key`; if there is none, make it with `alternatives`."""
    known = model.helpers.get((kind, key))
    if known is None:
        known = model.helpers[kind, key] = model.helper(f"({kind})")
        for rhs in alternatives:
            model.produce(known, rhs)
    return known
