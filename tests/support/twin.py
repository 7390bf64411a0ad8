"""The slow twin: a plain oracle for masks.  Never for production.

It answers two questions about a byte string: is it a viable prefix of the grammar's language, and is it a sentence?  A
mask follows from its definition: every token whose bytes keep the text a viable prefix, and EOS if the text is a
sentence.  The twin is an oracle because it shares nothing with the engine that it checks:

* grammars come through lark's own loader (`lark.load_grammar`), patterns through `re` (`twin_regex`);
* the recogniser is the textbook one (Earley 1970): sets of (rule, dot, origin), where an origin is the row itself; no
 tail calls, no Leo items, no skeletons.  Its one refinement is Aycock and Horspool's (2002) for nullable symbols;
 `test_twin.py` checks it against a recogniser without it;
* scanners find lexemes: a scanner is the row in which a lexeme began and the state of one terminal.  All scanners are
 kept, so nothing is decided greedily.  An ignored lexeme carries the items that wait for a terminal to the row at its
 end, as lark's `xearley` does.

The recursion over the vocabulary computes two things once, both pure functions of immutable values: the steps of common
prefixes (tokens are in a dict trie), and, unless `remember=False`, the rows of equal kernels and the positions after
equal positions.  `test_twin.py` compares this with a version that computes everything anew.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from lark.load_grammar import load_grammar

from support.twin_regex import Automaton, TerminalTwin, TooMuchWork, Unsupported

START = "$start"
"""The left side of the rule `$start: start`. No name in lark can begin with `$`."""


SPECIAL = re.compile(r"<\|\w+\|>|<\[[^\]\n]*\]>")
"""A special token or a set of token ids, as our Lark dialect writes it. No string or regexp of a grammar that the twin
reads may contain one."""


class EmptyLanguage(Exception):
    """The grammar has no sentence."""


# --- rows and positions ----------------------------------------------------------------------------------------------


class Row:
    """A closed Earley set: what may come next at one place of the text.  Rows are compared by identity."""

    __slots__ = ("kernel", "sentence", "waiting")

    def __init__(self) -> None:
        self.kernel: frozenset[Item] = frozenset()
        self.waiting: dict[str, list[Item]] = {}  # next symbol -> the items that wait for it
        self.sentence = False  # whether the text may end here


Item = tuple[int, int, Row]
"""Rule number, dot, origin."""

Scanner = tuple[Row, str, int]
"""The row in which a lexeme began, its terminal, the terminal's state."""


class Position:
    """The state after a viable prefix: the lexemes that have begun, and a row if some lexeme may end here."""

    __slots__ = ("row", "scanners", "steps")

    def __init__(self, row: Row | None, scanners: frozenset[Scanner]) -> None:
        self.row = row
        self.scanners = scanners
        self.steps: dict[int, Position | None] = {}


@dataclass(frozen=True)
class Rule:
    left: str
    right: tuple[str, ...]


# --- the recogniser --------------------------------------------------------------------------------------------------


class Twin:
    """One grammar.  `start` is the position before any text, `advance` reads one byte."""

    def __init__(
        self,
        rules: Iterable[Rule],
        terminals: Mapping[str, Automaton],
        *,
        start: str = "start",
        ignored: Iterable[str] = (),
        specials: Iterable[str] = (),
        remember: bool = True,
    ) -> None:
        self.terminals = dict(terminals)
        self.specials = frozenset(specials)
        self.ignored = tuple(name for name in ignored if not self.terminals[name].empty)
        self.remember = remember
        self.budget: int | None = None  # how many more items may be completed or carried; None: any number
        self.rules = self._productive([Rule(START, (start,)), *rules])
        self.by_left: dict[str, list[int]] = defaultdict(list)
        for number, rule in enumerate(self.rules):
            self.by_left[rule.left].append(number)
        if START not in self.by_left:
            raise EmptyLanguage
        self.nullable = self._nullable()
        self._rows: dict[frozenset[Item], Row] = {}
        self._positions: dict[tuple[Row | None, frozenset[Scanner]], Position] = {}
        self.first_row = Row()
        self._close(self.first_row, [(number, 0, self.first_row) for number in self.by_left[START]])
        self.start = Position(self.first_row, self._fresh_scanners(self.first_row))

    @classmethod
    def from_lark(
        cls,
        text: str,
        *,
        start: str = "start",
        lexemes: str = "earleymask",
        remember: bool = True,
        import_paths: Iterable[Any] = (),
    ) -> Twin:
        """Read a grammar with lark's loader, which sees a special token, `<|name|>`, as a declared terminal."""
        names = {f"SPECIAL_{i}": name for i, name in enumerate(dict.fromkeys(SPECIAL.findall(text)))}
        for declared, name in names.items():
            text = f"%declare {declared}\n" + text.replace(name, declared)
        grammar, _ = load_grammar(text, "<twin>", list(import_paths), False)
        definitions, compiled, ignored = grammar.compile([start], set())
        terminals = {d.name: TerminalTwin(d.pattern.to_regexp(), lexemes=lexemes) for d in definitions}
        rules = [
            Rule(str(rule.origin.name), tuple(names.get(s.name, str(s.name)) for s in rule.expansion))
            for rule in compiled
        ]
        return cls(
            rules,
            terminals,
            start=start,
            ignored=[str(name) for name in ignored],
            specials=names.values(),
            remember=remember,
        )

    # Which symbols derive some text, and which the empty one

    def _productive(self, rules: Sequence[Rule]) -> list[Rule]:
        """Return the rules whose symbols all derive some text: no sentence needs the others."""
        productive = {name for name, terminal in self.terminals.items() if not terminal.empty} | self.specials
        while True:
            found = {r.left for r in rules if productive.issuperset(r.right)}
            if found <= productive:
                return [r for r in rules if productive.issuperset(r.right)]
            productive |= found

    def _nullable(self) -> frozenset[str]:
        nullable = {name for name, terminal in self.terminals.items() if terminal.nullable}
        while True:
            found = {r.left for r in self.rules if nullable.issuperset(r.right)}
            if found <= nullable:
                return frozenset(nullable)
            nullable |= found

    # Rows

    def _close(self, row: Row, kernel: Iterable[Item]) -> None:
        """Complete and predict until there is no new item.

        Every origin other than `row` itself is already closed, so all items that wait there are known.  A completion
        whose origin is `row` derives the empty text; items before a nullable symbol were advanced when they were added.
        """
        items: set[Item] = set()
        agenda: list[Item] = []

        def add(item: Item) -> None:
            if item not in items:
                items.add(item)
                agenda.append(item)

        for item in kernel:
            add(item)
        while agenda:
            number, dot, origin = item = agenda.pop()
            rule = self.rules[number]
            if dot == len(rule.right):
                if rule.left == START:
                    row.sentence = True
                if origin is not row:
                    waiting = origin.waiting.get(rule.left, ())
                    self._spend(len(waiting))
                    for waiting_number, waiting_dot, waiting_origin in waiting:
                        add((waiting_number, waiting_dot + 1, waiting_origin))
                continue
            symbol = rule.right[dot]
            row.waiting.setdefault(symbol, []).append(item)
            for predicted in self.by_left.get(symbol, ()):
                add((predicted, 0, row))
            if symbol in self.nullable:
                add((number, dot + 1, origin))

    def _row(self, kernel: frozenset[Item]) -> Row:
        """Return the row of this kernel.  Equal kernels have equal rows, so they share one."""
        row = self._rows.get(kernel) if self.remember else None
        if row is None:
            row = Row()
            row.kernel = kernel
            self._close(row, kernel)
            self._rows[kernel] = row
        return row

    def _kernel(self, ended: Iterable[tuple[Row, str]]) -> frozenset[Item]:
        """Return the items that follow the lexemes that end here; `ended` has the row and the terminal of each."""
        kernel: set[Item] = set()
        for row, terminal in ended:
            waiting = row.waiting.get(terminal, ())
            self._spend(len(waiting))
            for number, dot, origin in waiting:
                kernel.add((number, dot + 1, origin))
            if terminal in self.ignored:
                carried = list(self._carried(row))
                self._spend(len(carried))
                kernel.update(carried)
        return frozenset(kernel)

    def _carried(self, row: Row) -> Iterator[Item]:
        """Yield what an ignored lexeme carries to its end: items that wait for a terminal, and the end of the text."""
        for symbol, items in row.waiting.items():
            if symbol in self.terminals or symbol in self.specials:
                yield from items
        if row.sentence:
            yield (0, 1, self.first_row)

    def _fresh_scanners(self, row: Row) -> frozenset[Scanner]:
        names = {symbol for symbol in row.waiting if symbol in self.terminals}
        return frozenset((row, name, self.terminals[name].start) for name in names.union(self.ignored))

    def _spend(self, n_items: int) -> None:
        if self.budget is not None:
            self.budget -= n_items
            if self.budget < 0:
                raise TooMuchWork

    # Positions

    def advance(self, position: Position, byte: int) -> Position | None:
        """Return the position after one more byte, or None if the text is no viable prefix then.

        A scanner is kept while its terminal can still be completed, and every symbol that may follow is productive. So
        a text is a viable prefix exactly if some scanner reads its last byte.
        """
        if not self.remember:
            return self._advance(position, byte)
        if byte not in position.steps:
            position.steps[byte] = self._advance(position, byte)
        return position.steps[byte]

    def _advance(self, position: Position, byte: int) -> Position | None:
        alive: set[Scanner] = set()
        ended: list[tuple[Row, str]] = []
        for row, name, state in position.scanners:
            terminal = self.terminals[name]
            following = terminal.step(state, byte)
            if following is None:
                continue
            alive.add((row, name, following))
            if terminal.accepts(following):
                ended.append((row, name))
        if not alive:
            return None
        new_row = None
        if ended:
            new_row = self._row(self._kernel(ended))
            alive |= self._fresh_scanners(new_row)
        return self._position(new_row, frozenset(alive))

    def _position(self, row: Row | None, scanners: frozenset[Scanner]) -> Position:
        if not self.remember:
            return Position(row, scanners)
        key = (row, scanners)
        if key not in self._positions:
            self._positions[key] = Position(row, scanners)
        return self._positions[key]

    def advance_named(self, position: Position, names: Iterable[str], spelled: Position | None) -> Position | None:
        """Return the position after a token that is all special symbols `names`, and whose bytes lead to `spelled`.

        None if the grammar allows the token here in no way. If it allows several ways, the row follows all of them.
        """
        if position.row is None:
            return spelled
        ended = [(position.row, name) for name in names if name in position.row.waiting]
        if not ended:
            return spelled
        kernel = self._kernel(ended)
        if spelled is None:
            row = self._row(kernel)
            return self._position(row, self._fresh_scanners(row))
        if spelled.row is not None:
            kernel |= spelled.row.kernel
        row = self._row(kernel)
        return self._position(row, spelled.scanners | self._fresh_scanners(row))

    def forget(self) -> None:
        """Drop everything remembered; positions that a caller holds stay valid."""
        self._rows.clear()
        self._positions.clear()
        self.start.steps.clear()

    @property
    def n_remembered(self) -> int:
        return len(self._positions)

    # The two questions

    def run(self, data: bytes, position: Position | None = None) -> Position | None:
        """Return the position after `data`, or None if it is no viable prefix."""
        current: Position | None = self.start if position is None else position
        for byte in data:
            if current is None:
                return None
            current = self.advance(current, byte)
        return current

    def is_viable(self, data: bytes) -> bool:
        return self.run(data) is not None

    def is_sentence(self, data: bytes) -> bool:
        position = self.run(data)
        return position is not None and self.may_end(position)

    @staticmethod
    def may_end(position: Position) -> bool:
        return position.row is not None and position.row.sentence


# --- masks -----------------------------------------------------------------------------------------------------------


class Tokens(Protocol):
    """The part of `earleymask.Vocabulary` that the twin needs."""

    @property
    def size(self) -> int: ...
    @property
    def eos_token_ids(self) -> tuple[int, ...]: ...
    @property
    def special_tokens(self) -> Mapping[str, int]: ...
    def token_bytes(self, token_id: int) -> bytes: ...


class Node:
    """A prefix of some token: the tokens that are spelled exactly so, and the prefixes that are one byte longer."""

    __slots__ = ("children", "token_ids")

    def __init__(self) -> None:
        self.token_ids: list[int] = []
        self.children: dict[int, Node] = {}


def ids_of(written: str, vocabulary: Tokens) -> set[int]:
    """Return the tokens of the vocabulary that `<[...]>` stands for; an id in a gap or in the padding is no token."""
    named = {*vocabulary.eos_token_ids, *vocabulary.special_tokens.values()}
    existing = {i for i in range(vocabulary.size) if vocabulary.token_bytes(i) or i in named}
    if written == "<[*]>":
        return existing
    ids: set[int] = set()
    for part in written.strip("<[^]>").split(","):
        first, _, last = part.partition("-")
        ids.update(range(int(first), int(last or first) + 1))
    return existing - ids if written.startswith("<[^") else existing & ids


def lacks(written: str, vocabulary: Tokens) -> bool:
    """Return whether the vocabulary lacks all tokens that `<[...]>` stands for, or one that it names by a single id."""
    single = {int(part) for part in written.strip("<[^]>").split(",") if part.isdigit()}
    return not ids_of(written, vocabulary) or not single <= ids_of("<[*]>", vocabulary)


def dict_trie(vocabulary: Tokens) -> Node:
    """Return a trie of all tokens that text can spell; special tokens and gaps have no bytes and are not in it."""
    root = Node()
    for token_id in range(vocabulary.size):
        data = vocabulary.token_bytes(token_id)
        if not data:
            continue
        node = root
        for byte in data:
            node = node.children.setdefault(byte, Node())
        node.token_ids.append(token_id)
    return root


@dataclass
class TwinMatcher:
    """A matcher by definition: what `earleymask.Matcher` must do, token by token."""

    twin: Twin
    vocabulary: Tokens
    trie: Node | None = None
    tokens: list[int] = field(default_factory=list)
    _history: list[tuple[Position, bool]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.trie is None:
            self.trie = dict_trie(self.vocabulary)
        if not self._history:
            self._history = [(self.twin.start, False)]
        names = self.vocabulary.special_tokens
        self._names: dict[int, list[str]] = defaultdict(list)  # token -> special symbols of the grammar that it is
        for name in self.twin.specials:
            for i in ids_of(name, self.vocabulary) if name.startswith("<[") else [names[name]]:
                self._names[i].append(name)

    @property
    def position(self) -> Position:
        return self._history[-1][0]

    @property
    def finished(self) -> bool:
        return self._history[-1][1]

    def is_accepting(self) -> bool:
        return self.twin.may_end(self.position)

    def is_finished(self) -> bool:
        return self.finished

    def after(self, token_id: int) -> tuple[Position, bool] | None:
        """Return the position after one more token and whether the sequence is finished; None if it is not allowed."""
        is_eos = token_id in self.vocabulary.eos_token_ids
        if self.finished:
            return (self.position, True) if is_eos else None
        data = self.vocabulary.token_bytes(token_id)
        following = self.twin.run(data, self.position) if data else None
        if token_id in self._names:
            following = self.twin.advance_named(self.position, self._names[token_id], following)
        if following is not None:
            return following, is_eos and self.twin.may_end(following)
        return (self.position, True) if is_eos and self.is_accepting() else None

    def accept(self, token_id: int) -> bool:
        after = self.after(token_id) if 0 <= token_id < self.vocabulary.size else None
        if after is None:
            return False
        self.tokens.append(token_id)
        self._history.append(after)
        return True

    def rollback(self, n: int) -> None:
        if n:
            del self.tokens[-n:], self._history[-n:]

    def fork(self) -> TwinMatcher:
        return TwinMatcher(self.twin, self.vocabulary, self.trie, list(self.tokens), list(self._history))

    def mask_by_definition(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return the mask by trying one token after the other, each from its first byte."""
        return np.array([self.after(i) is not None for i in range(self.vocabulary.size)], dtype=bool)

    def mask(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return the same mask faster: tokens with a common prefix share its steps."""
        allowed = np.zeros(self.vocabulary.size, dtype=bool)
        for token_id in {*self.vocabulary.eos_token_ids, *self._names}:
            allowed[token_id] = self.after(token_id) is not None
        if not self.finished:
            assert self.trie is not None
            found: list[int] = []
            self._collect(self.trie, self.position, found)
            allowed[found] = True  # only sets: a special symbol may also be allowed as text
        return allowed

    def _collect(self, node: Node, position: Position, found: list[int]) -> None:
        for byte, child in node.children.items():
            following = self.twin.advance(position, byte)
            if following is not None:
                found += child.token_ids
                self._collect(child, following, found)


__all__ = [
    "EmptyLanguage",
    "Node",
    "Position",
    "Rule",
    "Tokens",
    "TooMuchWork",
    "Twin",
    "TwinMatcher",
    "Unsupported",
    "dict_trie",
]
