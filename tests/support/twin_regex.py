"""The slow twin of the regex engine: plain threads over code points.  Never for production.

Given one Python pattern (as lark composed it), it decides after each byte whether the bytes read so far can still
become a word of the terminal, and whether they are one.  `re` itself parses the pattern (`re._parser`) and says which
code points a class contains: its compiled one-character pattern runs over every code point there is.  Nothing of
earleymask is used, and nothing works as it does there: no derivatives, no byte ranges.

The automaton is the textbook thread simulation (Thompson 1968; Pike 1987; Cox, "Regular Expression Matching: the
Virtual Machine Approach", 2010): a program of `Char`, `Split`, `Behind`, `Jump` and `Match`, and a state that is a list
of places in it, the preferred ones first.  The program knows no UTF-8: bytes are collected until a code point is
complete, and the first bytes of one are viable if *some* code point that begins with them is.  (UTF-8 keeps the order
of code points, so these form an interval.)

A terminal has one of two meanings:

* a plain terminal denotes `{w : re.fullmatch(T, w)}`: a set of threads;
* a terminal with a lazy quantifier anywhere denotes `{w : re.match(T, w) consumes all of w}`: an ordered list of
 threads, in which `Match` discards all threads after it.  With `lexemes="lark"` every terminal is read in this way,
 which is what lark's `dynamic_complete` lexer really matches.

States are numbered, and steps are remembered: a step is a pure function of (state, byte).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

try:
    from re import _compiler, _constants, _parser  # type: ignore[attr-defined]
except ImportError:  # Python 3.10
    import sre_compile as _compiler  # type: ignore[no-redef]
    import sre_constants as _constants  # type: ignore[no-redef]
    import sre_parse as _parser  # type: ignore[no-redef]

Ranges = tuple[tuple[int, int], ...]
"""Inclusive, sorted, disjoint ranges of code points."""

LAST_CODE_POINT = 0x10FFFF
ALL_SCALARS = "".join(chr(c) for c in range(LAST_CODE_POINT + 1) if not 0xD800 <= c <= 0xDFFF)
TYPE_FLAGS = re.ASCII | re.LOCALE | re.UNICODE


class Unsupported(Exception):
    """The twin does not know this construct. This says nothing about whether earleymask should."""


class TooMuchWork(Exception):
    """A twin has spent its budget. Rows of ambiguous grammars grow with the text, so some take too long."""


# --- classes of code points, asked of `re` ---------------------------------------------------------------------------


_classes: dict[tuple[str, int], Ranges] = {}


def class_ranges(node: Any, flags: int) -> Ranges:
    """Return the code points that the one-character parse node `node` matches under `flags`."""
    if node[0] is _constants.LITERAL and not flags & re.IGNORECASE:
        return () if 0xD800 <= node[1] <= 0xDFFF else ((node[1], node[1]),)
    key = repr(node), flags
    if key not in _classes:
        state = _parser.State()
        state.flags = flags
        many = (_constants.MAX_REPEAT, (1, _constants.MAXREPEAT, _parser.SubPattern(state, [node])))
        runs = _compiler.compile(_parser.SubPattern(state, [many]), flags).finditer(ALL_SCALARS)
        _classes[key] = tuple(r for run in runs for r in _split(ord(run.group()[0]), ord(run.group()[-1])))
    return _classes[key]


def _split(first: int, last: int) -> list[tuple[int, int]]:
    """Split a run of scalar values that spans the surrogates, which are no scalar values."""
    if first < 0xD800 and last > 0xDFFF:
        return [(first, 0xD7FF), (0xE000, last)]
    return [(first, last)]


def contains(ranges: Ranges, code_point: int) -> bool:
    place = bisect_right(ranges, (code_point, LAST_CODE_POINT + 1)) - 1
    return place >= 0 and ranges[place][0] <= code_point <= ranges[place][1]


# --- the program -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Char:
    """Read one code point of the class and continue with the next instruction."""

    ranges: Ranges


@dataclass(frozen=True)
class Behind:
    """Continue if the last code point is in the class; if `negative`, if it is not in it or there is none."""

    ranges: Ranges
    negative: bool


@dataclass
class Split:
    """Continue at all `targets`; the first is preferred to the second, and so on."""

    targets: list[int]


@dataclass
class Loop:
    """The head of an optional repetition: continue with the body or after it; `lazy` prefers the latter.

    After an iteration that read nothing there is no further one: `re` does not repeat an empty iteration (MAX_UNTIL and
    MIN_UNTIL in its engine).  For this, the copies of one counted repetition share their `identity`.
    """

    identity: int
    body: int
    out: int
    lazy: bool


@dataclass
class Jump:
    target: int


@dataclass(frozen=True)
class Match:
    pass


Instruction = Char | Behind | Split | Loop | Jump | Match


class _Builder:
    """Translate a parse tree into a program; a counted repetition becomes so many copies."""

    def __init__(self) -> None:
        self.program: list[Instruction] = []
        self.lazy = False

    def sequence(self, nodes: Iterable[Any], flags: int) -> None:
        for node in nodes:
            self.node(node, flags)

    def node(self, node: Any, flags: int) -> None:
        op, argument = node
        if op in (_constants.LITERAL, _constants.NOT_LITERAL, _constants.IN, _constants.ANY):
            self.program.append(Char(class_ranges(node, flags)))
        elif op is _constants.SUBPATTERN:
            _, added, removed, body = argument
            if added & TYPE_FLAGS:
                flags &= ~TYPE_FLAGS
            self.sequence(body, (flags | added) & ~removed)
        elif op is _constants.BRANCH:
            self.alternatives([list(branch) for branch in argument[1]], flags)
        elif op in (_constants.MAX_REPEAT, _constants.MIN_REPEAT):
            lazy = op is _constants.MIN_REPEAT
            self.lazy = self.lazy or lazy
            self.repeat(*argument, lazy=lazy, flags=flags)
        elif op in (_constants.ASSERT, _constants.ASSERT_NOT):
            self.lookaround(argument, op is _constants.ASSERT_NOT, flags)
        else:
            raise Unsupported(str(op))

    def alternatives(self, branches: list[list[Any]], flags: int) -> None:
        split = Split([])
        self.program.append(split)
        exits: list[Jump] = []
        for branch in branches:
            split.targets.append(len(self.program))
            self.sequence(branch, flags)
            exits.append(Jump(-1))
            self.program.append(exits[-1])
        for jump in exits:
            jump.target = len(self.program)

    def repeat(self, minimum: int, maximum: Any, body: Any, *, lazy: bool, flags: int) -> None:
        for _ in range(minimum):
            self.sequence(body, flags)
        if maximum is _constants.MAXREPEAT or maximum == _constants.MAXREPEAT:
            head = len(self.program)
            loop = Loop(head, head + 1, -1, lazy)
            self.program.append(loop)
            self.sequence(body, flags)
            self.program.append(Jump(head))
            loop.out = len(self.program)
            return
        loops: list[Loop] = []
        identity = len(self.program)
        for _ in range(maximum - minimum):
            loops.append(Loop(identity, len(self.program) + 1, -1, lazy))
            self.program.append(loops[-1])
            self.sequence(body, flags)
        for loop in loops:
            loop.out = len(self.program)

    def lookaround(self, argument: Any, negative: bool, flags: int) -> None:
        direction, body = argument
        one = (_constants.LITERAL, _constants.NOT_LITERAL, _constants.IN, _constants.ANY)
        if direction != -1 or len(body) != 1 or body[0][0] not in one:
            raise Unsupported("a lookaround that is not a lookbehind of one code point")
        self.program.append(Behind(class_ranges(body[0], flags), negative))


# --- UTF-8 -----------------------------------------------------------------------------------------------------------


def sequence_length(lead: int) -> int | None:
    """Return how many bytes the UTF-8 sequence that begins with `lead` has; None if none begins so."""
    if lead < 0x80:
        return 1
    if 0xC2 <= lead <= 0xDF:
        return 2
    if 0xE0 <= lead <= 0xEF:
        return 3
    if 0xF0 <= lead <= 0xF4:
        return 4
    return None


@cache
def completions(prefix: bytes) -> tuple[int, int] | None:
    """Return the interval of code points whose UTF-8 form begins with `prefix` (proper and not empty), or None.

    The ends are found by appending the lowest and the highest bytes that decode.
    """
    length = sequence_length(prefix[0])
    if length is None or len(prefix) >= length:
        return None
    lows = (prefix + fill for fill in _fills(length - len(prefix), low=True))
    highs = (prefix + fill for fill in _fills(length - len(prefix), low=False))
    low = next((ord(text) for text in map(_decoded, lows) if text), None)
    high = next((ord(text) for text in map(_decoded, highs) if text), None)
    return None if low is None or high is None else (low, high)


def _fills(n: int, low: bool) -> Iterator[bytes]:
    """Yield `n` continuation bytes, lowest (or highest) first; only the first byte may have to change to decode."""
    edge = b"\x80" if low else b"\xbf"
    for first in range(0x80, 0xC0) if low else range(0xBF, 0x7F, -1):
        yield bytes([first]) + edge * (n - 1)


def _decoded(data: bytes) -> str | None:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


# --- automata --------------------------------------------------------------------------------------------------------


class Automaton:
    """A terminal as an automaton: from `start` on, `step` reads a byte, and `accepts` says whether a word may end.

    Subclasses define a state between two characters, and how it reads a code point. A search over all states in reach
    finds whether a match is still possible. The parser sees numbers, each for a state and the bytes of a character that
    has begun.
    """

    most_states: int | None = None
    """How many states a search may visit before it raises `TooMuchWork`; None: any number."""

    def __init__(self, classes: tuple[Ranges, ...], start: Hashable) -> None:
        """`classes`: all sets of code points that the terminal distinguishes."""
        self.boundaries = boundaries(classes)
        self.representatives = representatives(classes)
        self._alive: dict[Hashable, bool] = {}
        self._numbers: dict[tuple[Hashable, bytes], int] = {}
        self._states: list[tuple[Hashable, bytes]] = []
        self._accepting: list[bool] = []
        self._steps: list[dict[int, int | None]] = []
        self.nullable = self._has_match(start)
        self.empty = not self._is_alive(start)
        self.start = self._number(start, b"")

    def _read(self, state: Any, code_point: int) -> Hashable:
        raise NotImplementedError

    def _has_match(self, state: Any) -> bool:
        raise NotImplementedError

    def step(self, state: int, byte: int) -> int | None:
        """Return the state after one more byte, or None if no word of the terminal continues so."""
        steps = self._steps[state]
        if byte not in steps:
            steps[byte] = self._step(*self._states[state], byte)
        return steps[byte]

    def accepts(self, state: int) -> bool:
        """Return whether the bytes read so far are a word (the empty word included; the parser handles it itself)."""
        return self._accepting[state]

    def run(self, data: bytes, state: int | None = None) -> int | None:
        """Return the state after `data`, read from `state` or the start; None if no word continues so."""
        if state is None:
            state = None if self.empty else self.start
        for byte in data:
            if state is None:
                return None
            state = self.step(state, byte)
        return state

    def matches(self, data: bytes) -> bool:
        state = self.run(data)
        return state is not None and self.accepts(state)

    def _is_alive(self, state: Hashable) -> bool:
        """Return whether some text, possibly empty, leads from here to a word."""
        reached = {state}
        agenda = [state]
        while agenda:
            current = agenda.pop()
            if self._has_match(current) or self._alive.get(current):
                self._alive[state] = True
                return True
            if current in self._alive:
                continue
            for code_point in self.representatives:
                following = self._read(current, code_point)
                if following not in reached:
                    reached.add(following)
                    agenda.append(following)
            if self.most_states is not None and len(reached) > self.most_states:
                raise TooMuchWork
        for dead in reached:
            self._alive[dead] = False
        return False

    def _number(self, state: Hashable, pending: bytes) -> int:
        number = self._numbers.setdefault((state, pending), len(self._states))
        if number == len(self._states):
            self._states.append((state, pending))
            self._accepting.append(not pending and self._has_match(state))
            self._steps.append({})
        return number

    def _step(self, state: Hashable, pending: bytes, byte: int) -> int | None:
        data = pending + bytes([byte])
        text = _decoded(data)
        if text is not None:
            following = self._read(state, ord(text))
            return self._number(following, b"") if self._is_alive(following) else None
        interval = completions(data)
        if interval is None:
            return None
        low, high = interval
        changes = self.boundaries[bisect_right(self.boundaries, low) : bisect_right(self.boundaries, high)]
        if any(self._is_alive(self._read(state, candidate)) for candidate in [low, *changes]):
            return self._number(state, data)
        return None


Threads = tuple[int, ...]
"""Places of `Char` and `Match` instructions, the preferred ones first; sorted if the terminal has no order."""


class TerminalTwin(Automaton):
    """The automaton of one pattern; a state is a list of threads."""

    def __init__(self, pattern: str, flags: int = 0, *, lexemes: str = "earleymask") -> None:
        self.pattern = pattern
        tree = _parser.parse(pattern, flags)
        builder = _Builder()
        builder.sequence(tree, tree.state.flags)
        builder.program.append(Match())
        self.program = builder.program
        self.ordered = builder.lazy or lexemes == "lark"
        self.classes = tuple(i.ranges for i in self.program if isinstance(i, (Char, Behind)))
        super().__init__(self.classes, self._closure([0], None))

    # The simulation

    def _closure(self, places: Iterable[int], previous: int | None) -> Threads:
        """Follow all instructions that read nothing, depth first, in the order of preference."""
        found: list[int] = []
        seen: set[tuple[int, frozenset[int]]] = set()
        cut = False

        def visit(place: int, entered: frozenset[int]) -> None:
            nonlocal cut
            if cut or (place, entered) in seen:
                return
            seen.add((place, entered))
            instruction = self.program[place]
            if isinstance(instruction, (Char, Match)):
                if place not in found:
                    found.append(place)
                cut = self.ordered and isinstance(instruction, Match)
            elif isinstance(instruction, Jump):
                visit(instruction.target, entered)
            elif isinstance(instruction, Split):
                for target in instruction.targets:
                    visit(target, entered)
            elif isinstance(instruction, Behind):
                if (previous is not None and contains(instruction.ranges, previous)) != instruction.negative:
                    visit(place + 1, entered)
            else:
                inside = (instruction.body, entered | {instruction.identity})
                outside = (instruction.out, entered - {instruction.identity})
                if instruction.identity in entered:  # the last iteration read nothing
                    visit(*outside)
                elif instruction.lazy:
                    visit(*outside)
                    visit(*inside)
                else:
                    visit(*inside)
                    visit(*outside)

        for start in places:
            visit(start, frozenset())
        return tuple(found) if self.ordered else tuple(sorted(found))

    def _read(self, threads: Threads, code_point: int) -> Threads:
        nexts = []
        for place in threads:
            instruction = self.program[place]
            if isinstance(instruction, Char) and contains(instruction.ranges, code_point):
                nexts.append(place + 1)
        return self._closure(nexts, code_point)

    def _has_match(self, threads: Threads) -> bool:
        return any(isinstance(self.program[place], Match) for place in threads)


@cache
def boundaries(classes: tuple[Ranges, ...]) -> list[int]:
    """Return every code point at which membership in some class changes; between two of them all behave alike."""
    points = {0}
    for ranges in classes:
        for first, last in ranges:
            points.add(first)
            points.add(last + 1)
    points |= {0xE000} if any(p >= 0xD800 for p in points) else set()
    return sorted(p for p in points if p <= LAST_CODE_POINT and not 0xD800 <= p <= 0xDFFF)


@cache
def representatives(classes: tuple[Ranges, ...]) -> list[int]:
    """Return one code point for each combination of classes that some code point belongs to."""
    distinct = sorted(set(classes))
    chosen: dict[tuple[bool, ...], int] = {}
    for point in boundaries(classes):
        chosen.setdefault(tuple(contains(ranges, point) for ranges in distinct), point)
    return sorted(chosen.values())
