"""Rules that have a 64-bit value, as a Lark grammar writes them: `name::_ : ... %if condition` and `name::value`.

The functions are those of llguidance's parametric grammars, and mean the same. In the code, `p` is the current value.
`[x:y]` are its bits from x up to and without y, `_` all bits.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..errors import GrammarError
from ..model.parametric import Parameters
from ..model.repetition import group
from .tree import Guarded, Indexed, Node, Parametric, RuleName

if TYPE_CHECKING:
    from .protocols import GrammarLoader
    from .scope import Found

MAX_NESTING = 50
"""The most conditions within each other. They are read recursively. Beyond it, GrammarLimitError is raised."""

BITS = 64

_TOKEN = re.compile(r"[ \t]*(0x[0-9a-fA-F]+|[0-9]+|[a-z_]+|[\[\](),:])?")

Bits = tuple[int, int]
Value = Callable[[int], int]
Test = Callable[[int], bool]


def append(loader: GrammarLoader, node: Parametric | Guarded | Indexed, symbols: list[int]) -> None:
    """Append to `symbols` the symbols for a rule with a value, an alternative with a condition, or a use of a rule with
    a value."""
    if isinstance(node, Parametric):
        outer = loader.has_value
        loader.has_value = True
        symbols += group(loader.model, loader.alternatives(node.body))
        loader.has_value = outer
    elif isinstance(node, Guarded):
        if not loader.has_value:
            raise loader.scope.error(
                "a condition needs a rule with a value",
                node.condition,
                "write name::_ : ... to give the rule a value",
            )
        holds = _Reader(loader, node.condition, node.condition.raw, 3).condition()
        symbols.append(parameters(loader).condition(holds))
        symbols += loader.sequence(node.body)
    else:
        symbols.append(call(loader, node))


def parameters(loader: GrammarLoader) -> Parameters:
    model = loader.model
    if model.parameters is None:
        model.parameters = Parameters(model)
    found: Parameters = model.parameters
    return found


def call(loader: GrammarLoader, node: Indexed) -> int:
    """Return the symbol of a rule that is used with a value."""
    found = loader.find(RuleName(node.at, node.name))
    if not isinstance(found[1].tree, Parametric):
        raise loader.scope.error(
            f"rule `{node.name}` has no value", node, f"write {node.name} alone, or define it as {node.name}::_"
        )
    place = RuleName(node.at + 1 if node.at >= 0 else node.at, node.name)
    value, is_constant = _Reader(loader, place, node.value, 2).value()
    key = (found, node.value)
    symbol = loader.extended.get(key)
    if symbol is None:
        rule = rule_symbol(loader, found)
        symbol = loader.extended[key] = parameters(loader).call(rule, value, is_constant)
    return symbol


def rule_symbol(loader: GrammarLoader, found: Found) -> int:
    symbol = loader.extended.get(found)
    if symbol is None:
        scope, definition = found
        symbol = loader.extended[found] = loader.model.rule(definition.name, found)
        parameters(loader).rules.add(symbol)
        loader.pending.append((symbol, definition, scope, None))
    return symbol


class _Reader:
    """Reads one value or condition from `text`, the text of `node`, beginning at offset `at`."""

    def __init__(self, loader: GrammarLoader, node: Node, text: str, at: int) -> None:
        self.scope = loader.scope
        self.has_value = loader.has_value
        self.node = node
        self.text = text
        self.tokens: list[tuple[str, int]] = []
        self.i = 0
        self.depth = 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            assert match is not None
            if match[1] is None:
                if match.end() < len(text):
                    raise self.scope.error(f"unexpected character {text[match.end()]!r}", node, None, match.end())
                break
            self.tokens.append((match[1], match.start(1)))
            at = match.end()
        self.tokens.append(("", len(text)))

    def error(self, message: str, hint: str | None = None, back: int = 0) -> GrammarError:
        return self.scope.error(message, self.node, hint, self.tokens[self.i - back][1])

    def take(self) -> str:
        token = self.tokens[self.i][0]
        self.i += 1 if token else 0
        return token

    def expect(self, expected: str) -> None:
        if self.tokens[self.i][0] != expected:
            raise self.error(f"`{expected}` is expected here")
        self.i += 1

    def end(self) -> None:
        if self.tokens[self.i][0]:
            raise self.error("nothing more is expected here")

    def value(self) -> tuple[Value, bool]:
        """Return the function from the current value to the new one, and whether its result is always the same."""
        name = self.tokens[self.i][0]
        if name[:1].isdigit():
            constant = self.number(1 << BITS, "a value")
            self.end()
            return lambda p: constant, True
        if name != "_" and name not in VALUES:
            raise self.error(
                f"there is no function `{name}`" if name else "a value is expected here",
                f"a value is a number, _, or one of {', '.join(VALUES)}",
            )
        if not self.has_value:
            raise self.error(
                f"`{name}` can stand only in a rule with a value",
                "write a number as in name::0x0, or give the rule around this a value: name::_",
            )
        self.i += 1
        if name == "_":
            self.end()
            return lambda p: p, False
        make, kinds = VALUES[name]
        arguments = self.arguments(kinds)
        self.end()
        function: Value = make(*arguments)
        return function, False

    def condition(self) -> Test:
        if not self.tokens[self.i][0]:
            raise self.error("a condition is expected after `%if`", f"the conditions are true, {', '.join(TESTS)}")
        test = self.test()
        self.end()
        return test

    def test(self) -> Test:
        name = self.tokens[self.i][0]
        if name != "true" and name not in TESTS:
            raise self.error(f"there is no condition `{name}`", f"the conditions are true, {', '.join(TESTS)}")
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise self.scope.limit_error(f"conditions are nested more than {MAX_NESTING} deep", self.node)
        self.i += 1
        if name == "true":
            if self.tokens[self.i][0] == "(":
                self.arguments("")
            test: Test = lambda p: True  # noqa: E731
        else:
            make, kinds = TESTS[name]
            test = make(*self.arguments(kinds))
        self.depth -= 1
        return test

    def arguments(self, kinds: str) -> list[Any]:
        """Read arguments in parentheses, of these kinds.

        `k` is the number of a bit, `n` a number of bits, `v` a value, `b` bits, `c` a condition.
        """
        self.expect("(")
        arguments: list[Any] = []
        for kind in kinds:
            if arguments:
                self.expect(",")
            if kind == "c":
                arguments.append(self.test())
            elif kind == "b":
                arguments.append(self.bits())
            elif kind == "k":
                arguments.append(self.number(BITS, "the number of a bit"))
            elif kind == "n":
                arguments.append(self.number(BITS + 1, "a number of bits"))
            else:
                arguments.append(self.number(1 << BITS, "a value"))
        self.expect(")")
        return arguments

    def bits(self) -> Bits:
        if self.tokens[self.i][0] == "_":
            self.i += 1
            return 0, (1 << BITS) - 1
        begin = self.i
        self.expect("[")
        first = self.number(BITS, "the number of a bit")
        self.expect(":")
        last = self.number(BITS + 1, "the end of some bits")
        if last <= first:
            raise self.error(f"[{first}:{last}] has no bits", "write [first:end], end exclusive", self.i - begin)
        self.expect("]")
        return first, (1 << (last - first)) - 1

    def number(self, limit: int, what: str) -> int:
        token = self.tokens[self.i][0]
        if not token[:1].isdigit():
            raise self.error(f"{what} is expected here", "write a number as 12 or 0x1f")
        number = int(token, 0 if token[:2] == "0x" else 10) if len(token) <= 20 else limit
        if number >= limit:
            raise self.error(f"{what} must be less than {limit}")
        self.i += 1
        return number


def _bit_count(p: int, bits: Bits) -> int:
    return (p >> bits[0] & bits[1]).bit_count()


def _incr(bits: Bits) -> Value:
    shift, mask = bits
    return lambda p: p if p >> shift & mask == mask else p + (1 << shift)


def _decr(bits: Bits) -> Value:
    shift, mask = bits
    return lambda p: p if p >> shift & mask == 0 else p - (1 << shift)


VALUES: dict[str, tuple[Callable[..., Value], str]] = {
    "set_bit": (lambda k: lambda p: p | 1 << k, "k"),
    "clear_bit": (lambda k: lambda p: p & ~(1 << k), "k"),
    "bit_and": (lambda v: lambda p: p & v, "v"),
    "bit_or": (lambda v: lambda p: p | v, "v"),
    "incr": (_incr, "b"),
    "decr": (_decr, "b"),
}

TESTS: dict[str, tuple[Callable[..., Test], str]] = {
    "bit_clear": (lambda k: lambda p: not p >> k & 1, "k"),
    "bit_set": (lambda k: lambda p: bool(p >> k & 1), "k"),
    "is_ones": (lambda b: lambda p: p >> b[0] & b[1] == b[1], "b"),
    "is_zeros": (lambda b: lambda p: p >> b[0] & b[1] == 0, "b"),
    "eq": (lambda b, v: lambda p: p >> b[0] & b[1] == v, "bv"),
    "ne": (lambda b, v: lambda p: p >> b[0] & b[1] != v, "bv"),
    "lt": (lambda b, v: lambda p: p >> b[0] & b[1] < v, "bv"),
    "le": (lambda b, v: lambda p: p >> b[0] & b[1] <= v, "bv"),
    "gt": (lambda b, v: lambda p: p >> b[0] & b[1] > v, "bv"),
    "ge": (lambda b, v: lambda p: p >> b[0] & b[1] >= v, "bv"),
    "bit_count_eq": (lambda b, n: lambda p: _bit_count(p, b) == n, "bn"),
    "bit_count_ne": (lambda b, n: lambda p: _bit_count(p, b) != n, "bn"),
    "bit_count_lt": (lambda b, n: lambda p: _bit_count(p, b) < n, "bn"),
    "bit_count_le": (lambda b, n: lambda p: _bit_count(p, b) <= n, "bn"),
    "bit_count_gt": (lambda b, n: lambda p: _bit_count(p, b) > n, "bn"),
    "bit_count_ge": (lambda b, n: lambda p: _bit_count(p, b) >= n, "bn"),
    "and": (lambda c, d: lambda p: c(p) and d(p), "cc"),
    "or": (lambda c, d: lambda p: c(p) or d(p), "cc"),
    "not": (lambda c: lambda p: not c(p), "c"),
}
