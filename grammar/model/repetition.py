"""Productions for groups, options and repetitions, in shapes that keep the rows of an Earley parser small.

All of them are given `alternatives`, a tuple of sequences of symbols, and answer symbols to put into a production.
Helpers are remembered by what they stand for, so that the same repetition twice in a grammar is one symbol.

- `x*` becomes `h: | h x` and `x+` becomes `h: x | h x`. Left recursion keeps every row of a list alike: the items of
  `h` all begin in the row where the list began. (Right recursion would leave one more row waiting for each element.)
- `x?` becomes `h: | x` and not two alternatives of the rule around it: the parser advances over a nullable symbol at
  once (Aycock and Horspool 2002), while alternatives would double the items of everything before it, and be exponential
  for several options in a row.
- Counts: see `counted`.
"""

from __future__ import annotations

from .model import Model, Symbols

Alternatives = tuple[Symbols, ...]

MAX_INLINE = 6
"""A count is written out where that makes at most this many symbols."""

MAX_CHAIN = 8
"""Up to this many optional repetitions become a chain of rules, one for each; more of them powers of two."""


def group(model: Model, alternatives: Alternatives) -> Symbols:
    """`( ... )`"""
    if len(alternatives) == 1:
        return alternatives[0]
    return (_remembered(model, "group", alternatives, alternatives),)


def one(model: Model, symbols: Symbols) -> Symbols:
    """`symbols` as one symbol, or none."""
    if len(symbols) < 2:
        return symbols
    return (_remembered(model, "unit", symbols, (symbols,)),)


def optional(model: Model, alternatives: Alternatives) -> Symbols:
    """`x?` and `[x]`."""
    if alternatives == ((),):
        return ()
    return (_remembered(model, "optional", alternatives, ((), *alternatives)),)


def star(model: Model, alternatives: Alternatives) -> Symbols:
    """`x*`"""
    key = ("star", alternatives)
    known = model.helpers.get(key)
    if known is None:
        if not any(alternatives):
            return ()
        known = model.helpers[key] = model.helper("star")
        repeat_into(model, known, alternatives, nullable=True)
    return (known,)


def plus(model: Model, alternatives: Alternatives) -> Symbols:
    """`x+`"""
    if () in alternatives:
        return star(model, alternatives)
    key = ("plus", alternatives)
    known = model.helpers.get(key)
    if known is None:
        known = model.helpers[key] = model.helper("plus")
        repeat_into(model, known, alternatives, nullable=False)
    return (known,)


def repeat_into(model: Model, lhs: int, alternatives: Alternatives, nullable: bool) -> None:
    """Make `lhs`, which has no productions, derive one or more of `alternatives`, or none of them if `nullable`."""
    if nullable:
        model.produce(lhs, ())
    elif len(alternatives) > 1:  # said once, so that they are predicted once
        alternatives = (group(model, alternatives),)
    for rhs in alternatives:
        if rhs:
            if not nullable:
                model.produce(lhs, rhs)
            model.produce(lhs, (lhs, *rhs))


def counted(model: Model, alternatives: Alternatives, minimum: int, maximum: int | None) -> Symbols:
    """`x~n..m`, in O(log m) productions and with O(log m) items a row; `maximum` None means without end.

    Exactly n: powers `p0: x`, `p(i+1): p(i) p(i)`, and one of them for each bit of n. After k repetitions the row holds
    one item for the lowest zero bit of k only; the others wait in earlier rows. So there are O(log n) different rows,
    too.

    Up to m, with 2^i the largest power that is not beyond m: `t(m): t(2^i - 1) | p(i) t(m - 2^i)`, `t(0):` empty. Every
    number is made in one way, so an unambiguous body stays unambiguous. All alternatives share the powers and the calls
    are tail calls. For small m a chain, `t(m): | x t(m - 1)`, has fewer items.
    """
    if maximum is None and minimum <= 1:
        return plus(model, alternatives) if minimum else star(model, alternatives)
    if minimum == 0 and maximum == 1:
        return optional(model, alternatives)
    unit = group(model, alternatives)
    if not unit:
        return ()
    if maximum is None:
        return (*_exactly(model, unit, minimum), *star(model, (unit,)))
    return (*_exactly(model, unit, minimum), *_up_to(model, unit, maximum - minimum))


def _exactly(model: Model, unit: Symbols, count: int) -> Symbols:
    if len(unit) * count <= MAX_INLINE:
        return unit * count
    return tuple(_power(model, unit, bit) for bit in range(count.bit_length() - 1, -1, -1) if count >> bit & 1)


def _power(model: Model, unit: Symbols, exponent: int) -> int:
    """The symbol for `unit` 2**exponent times."""
    if exponent == 0:
        return one(model, unit)[0]
    key = ("power", unit, exponent)
    known = model.helpers.get(key)
    if known is None:
        half = _power(model, unit, exponent - 1)
        known = model.helpers[key] = model.helper("power")
        model.produce(known, (half, half))
    return known


def _up_to(model: Model, unit: Symbols, count: int) -> Symbols:
    if count == 0:
        return ()
    key = ("up to", unit, count)
    known = model.helpers.get(key)
    if known is None:
        known = model.helpers[key] = model.helper("up to")
        if count <= MAX_CHAIN:
            model.produce(known, ())
            model.produce(known, (*unit, *_up_to(model, unit, count - 1)))
        else:
            exponent = count.bit_length() - 1
            model.produce(known, _up_to(model, unit, (1 << exponent) - 1))
            model.produce(known, (_power(model, unit, exponent), *_up_to(model, unit, count - (1 << exponent))))
    return (known,)


def _remembered(model: Model, kind: str, key: object, alternatives: Alternatives) -> int:
    """The helper of a kind for `key`, made with `alternatives` where it is new."""
    known = model.helpers.get((kind, key))
    if known is None:
        known = model.helpers[kind, key] = model.helper(kind)
        for rhs in alternatives:
            model.produce(known, rhs)
    return known
