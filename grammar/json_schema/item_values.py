"""The value of an item while it is written, beside the values that it must not equal.

A `Trace` is what has been read of an item: brackets, keys and scalars, without white space. It is a list that is linked
from its end, so that a text may go on in several ways. Items stand inside one another: each array whose items must
differ, and whose item is being written, has a `Frame`. A frame knows its *candidates*: the earlier items that what has
been read of the item does not yet differ from.

Two values are equal whatever the order of keys and the spelling of numbers and strings (`canonical`).
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from ...earley._large import Unvisited, untrack, untrack_tuples

OBJECT, ARRAY, SCALAR = "object", "array", "scalar"

OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY, KEY, VALUE = range(6)

Event = tuple[int, object]
"""What is read: one of the numbers above, and the text of a key or the canonical form of a scalar."""


class Tree:
    """A canonical value in a form that is read part by part. content: of an object, a dict of trees; of an array, a
    list; of a scalar, its canonical form."""

    __slots__ = ("content", "kind")

    def __init__(self, kind: str, content: Any) -> None:
        self.kind = kind
        self.content = content


def tree_of(value: Any) -> Tree:
    """Return the tree of a value that `canonical` returned."""
    if isinstance(value, tuple) and value[0] == "array":
        return Tree(ARRAY, [tree_of(item) for item in value[1:]])
    if isinstance(value, tuple) and value[0] == "object":
        return Tree(OBJECT, {name: tree_of(member) for name, member in value[1]})
    return Tree(SCALAR, value)


class Level(NamedTuple):
    """An object or array that is open. n: its complete members or items. key: the key whose value comes next."""

    kind: str
    n: int
    key: str | None


Candidate = tuple[Tree, ...]
"""The item, and then the part of it at each open level."""


class Frame(NamedTuple):
    """An item that is being written: its open levels, and the candidates. Without candidates, the levels are those at
    which the last one was lost."""

    levels: tuple[Level, ...]
    candidates: tuple[Candidate, ...]

    def expected(self, candidate: Candidate) -> Tree | None:
        """Return the value that comes next if the item is this candidate; None if the candidate has none here."""
        if not self.levels:
            return candidate[0]
        level = self.levels[-1]
        content = candidate[-1].content
        if level.kind == ARRAY:
            return content[level.n] if level.n < len(content) else None
        found: Tree = content[level.key]
        return found

    def after(self, event: Event) -> Frame:
        if not self.candidates:
            return self  # no earlier item equals this one any more, so its levels are not needed
        what, value = event
        levels = self.levels
        candidates: list[Candidate] = []
        if what == KEY:
            assert isinstance(value, str)
            candidates = [one for one in self.candidates if value in one[-1].content]
            return Frame((*levels[:-1], levels[-1]._replace(key=value)), tuple(candidates))
        if what in (OPEN_OBJECT, OPEN_ARRAY):
            kind = OBJECT if what == OPEN_OBJECT else ARRAY
            for one in self.candidates:
                part = self.expected(one)
                if part is not None and part.kind == kind:
                    candidates.append((*one, part))
            return Frame((*levels, Level(kind, 0, None)), tuple(candidates))
        if what == VALUE:
            for one in self.candidates:
                part = self.expected(one)
                if part is not None and part.kind == SCALAR and part.content == value:
                    candidates.append(one)
        else:
            n = levels[-1].n
            levels = levels[:-1]
            candidates = [one[:-1] for one in self.candidates if len(one[-1].content) == n]
        if levels:
            last = levels[-1]
            levels = (*levels[:-1], Level(last.kind, last.n + 1, None))
        return Frame(levels, tuple(candidates))


class Trace:
    """What has been read.

    begins: the number of events before the item of each frame. is_free: whether no candidate is left: whatever follows,
    no open item equals an earlier one.
    """

    __slots__ = ("before", "begins", "event", "frames", "is_free", "length")

    def __init__(
        self,
        before: Trace | None,
        event: Event | None,
        frames: tuple[Frame, ...],
        begins: tuple[int, ...],
    ) -> None:
        self.before = before
        self.event = event
        self.frames = frames
        self.begins = begins
        self.is_free = not any(frame.candidates for frame in frames)
        self.length: int = (0 if before is None else before.length) + (event is not None)
        untrack(self)  # a text makes many, and nothing in them could refer to them
        untrack_tuples(frames)

    def after(self, event: Event, made: Made) -> Trace:
        """Return the trace after an event. Equal traces that are made with the same `made` are the same object."""
        key = (self, event)
        trace = made.get(key)
        if trace is None:
            frames = self.frames if self.is_free else tuple([frame.after(event) for frame in self.frames])
            trace = made[key] = Trace(self, event, frames, self.begins)
        return trace

    def opened(self, item: object, trees: list[Tree], made: Made) -> Trace:
        """Return the trace at the beginning of `item`, which must differ from these values."""
        key = (self, item)
        trace = made.get(key)
        if trace is None:
            frame = Frame((), tuple([(tree,) for tree in trees]))
            trace = made[key] = Trace(self, None, (*self.frames, frame), (*self.begins, self.length))
        return trace

    def closed(self, made: Made) -> Trace:
        """Return the trace after the end of the innermost item."""
        key = (self, None)
        trace = made.get(key)
        if trace is None:
            trace = made[key] = Trace(self, None, self.frames[:-1], self.begins[:-1])
        return trace

    def wanted(self, keys: bool) -> set[object]:
        """Return the scalars, or the keys, that may come next and leave a candidate."""
        found: set[object] = set()
        for frame in self.frames:
            for one in frame.candidates:
                if keys:
                    found.update(one[-1].content)
                    continue
                part = frame.expected(one)
                if part is not None and part.kind == SCALAR:
                    found.add(part.content)
        return found

    def value(self) -> object:
        """Return the canonical form of the innermost item, which is complete."""
        events: list[Event] = []
        trace: Trace | None = self
        while trace is not None and trace.length > self.begins[-1]:
            if trace.event is not None:
                events.append(trace.event)
            trace = trace.before
        stack: list[tuple[int, list[Any]]] = [(VALUE, [])]
        for what, value in reversed(events):
            parts = stack[-1][1]
            if what in (OPEN_OBJECT, OPEN_ARRAY):
                stack.append((what, []))
            elif what == CLOSE_OBJECT:
                stack.pop()
                members = frozenset(zip(parts[::2], parts[1::2], strict=True))
                stack[-1][1].append(("object", members))
            elif what == CLOSE_ARRAY:
                stack.pop()
                stack[-1][1].append(("array", *parts))
            else:
                parts.append(value)
        return stack[0][1][0]


Made: TypeAlias = "dict[tuple[Trace, object], Trace] | Unvisited[tuple[Trace, object], Trace]"
"""The traces that have been made, by the one before and what has been read."""
