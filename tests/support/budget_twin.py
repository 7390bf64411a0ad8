"""`max_tokens` by its definition: a textbook recogniser over lexemes with budgets, which tries tokens one by one.

Slow, for tests alone. A lexeme that began in token s, counting from 0, has spent a budget of N tokens when token
s + N - 1 is accepted. If it may end there, it ends; else it ends at the first later place at which it may. A lexeme
with a closing text (`stop`) is examined after that token and after each later one: as soon as it can end within as many
letters as that text has, it must.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import accumulate, product
from random import Random
from typing import NamedTuple

LETTERS = "ab."
PATTERNS = ["a+", "[ab]+", "ab?", "b*a", "ab", "a*b", "a(ba)*b?", "(a|b)\\.?", "[ab.]+", "b"]
MORE = 4  # how many letters are tried to complete a lexeme that has begun


class Terminal(NamedTuple):
    """A terminal: its pattern, its budget and its closing text."""

    pattern: str
    most: int = 0  # tokens; 0: any number
    stop: str = ""

    def written(self, name: str) -> str:
        attributes = ([f"max_tokens={self.most}"] if self.most else []) + ([f'stop="{self.stop}"'] if self.stop else [])
        return f"{name}{'[' + ', '.join(attributes) + ']' if attributes else ''}: /{self.pattern}/"


@cache
def matches(terminal: Terminal, text: str) -> bool:
    if not terminal.stop:
        return text != "" and re.fullmatch(terminal.pattern, text) is not None
    n = len(text) - len(terminal.stop)
    return text.find(terminal.stop) == n >= 0 and re.fullmatch(terminal.pattern, text[:n]) is not None


@cache
def ends_within(terminal: Terminal, text: str, n: int) -> bool:
    """Return whether some text of one to `n` letters completes this one."""
    return any(matches(terminal, text + "".join(more)) for k in range(1, n + 1) for more in product(LETTERS, repeat=k))


class Twin:
    """A grammar: rules are tuples of names of rules and terminals, and `start` is the start rule."""

    def __init__(
        self, rules: dict[str, list[tuple[str, ...]]], terminals: dict[str, Terminal], ignored: Terminal | None
    ) -> None:
        self.rules = rules
        self.terminals = terminals
        self.ignored = ignored

    def lark_text(self) -> str:
        lines = [f"{name}: {' | '.join(' '.join(rhs) for rhs in rhss)}" for name, rhss in self.rules.items()]
        lines += [terminal.written(name) for name, terminal in self.terminals.items()]
        return "\n".join(lines + ([f"%ignore /{self.ignored.pattern}/"] if self.ignored else []))

    def allowed(self, tokens: list[str], token: str) -> bool:
        """Return whether the token may follow `tokens`, all of which were accepted."""
        return self.read([*tokens, token], len(tokens))[0]

    def is_sentence(self, tokens: list[str]) -> bool:
        return self.read(tokens, len(tokens))[1]

    def read(self, tokens: list[str], n_accepted: int) -> tuple[bool, bool]:
        """Return whether the text is a viable prefix, and whether it is a sentence; budgets count accepted tokens."""
        text = "".join(tokens)
        ends = list(accumulate(map(len, tokens)))
        rows: list[set[tuple[str, tuple[str, ...], int, int]]] = []
        under_way = False
        for place in range(len(text) + 1):
            row = {("", ("start",), 0, 0)} if place == 0 else set()
            for begin in range(place):
                expected = {rhs[dot] for _, rhs, dot, _ in rows[begin] if dot < len(rhs)}
                for name in expected & set(self.terminals):
                    if self.may_end(self.terminals[name], text[begin:place], begin, ends, n_accepted):
                        row |= {
                            (lhs, rhs, dot + 1, origin)
                            for lhs, rhs, dot, origin in rows[begin]
                            if rhs[dot : dot + 1] == (name,)
                        }
                    if place == len(text):
                        under_way |= self.may_go_on(self.terminals[name], text[begin:], begin, ends, n_accepted)
                if self.ignored and rows[begin]:
                    if matches(self.ignored, text[begin:place]):
                        row |= rows[begin]
                    under_way |= place == len(text) and ends_within(self.ignored, text[begin:], 1)
            self.close(row, rows, place)
            rows.append(row)
        is_sentence = ("", ("start",), 1, 0) in rows[-1]
        return under_way or bool(rows[-1]), is_sentence

    def close(self, row: set[tuple[str, tuple[str, ...], int, int]], rows: list[set], place: int) -> None:  # type: ignore[type-arg]
        n = -1
        while n != len(row):
            n = len(row)
            for lhs, rhs, dot, origin in list(row):
                if dot == len(rhs):
                    for item in list(row if origin == place else rows[origin]):
                        if item[1][item[2] : item[2] + 1] == (lhs,):
                            row.add((item[0], item[1], item[2] + 1, item[3]))
                elif rhs[dot] in self.rules:
                    row |= {(rhs[dot], alternative, 0, place) for alternative in self.rules[rhs[dot]]}

    def spent(self, terminal: Terminal, begin: int, ends: list[int], n_accepted: int) -> list[int]:
        """Return the ends of accepted tokens at which a lexeme that began at `begin` has no tokens left."""
        if not terminal.most:
            return []
        first = sum(end <= begin for end in ends)
        return ends[first + terminal.most - 1 : n_accepted]

    def may_end(self, terminal: Terminal, text: str, begin: int, ends: list[int], n_accepted: int) -> bool:
        if not matches(terminal, text):
            return False
        spent = [end for end in self.spent(terminal, begin, ends, n_accepted) if end < begin + len(text)]
        if terminal.stop:
            return len(text) <= self.latest(terminal, text, begin, spent)
        return not spent or not any(matches(terminal, text[:k]) for k in range(spent[0] - begin, len(text)))

    def may_go_on(self, terminal: Terminal, text: str, begin: int, ends: list[int], n_accepted: int) -> bool:
        spent = self.spent(terminal, begin, ends, n_accepted)
        if terminal.stop:
            most = min(self.latest(terminal, text, begin, spent) - len(text), MORE)
            return ends_within(terminal, text, most)
        if spent and any(matches(terminal, text[:k]) for k in range(spent[0] - begin, len(text) + 1)):
            return False
        return ends_within(terminal, text, MORE)

    def latest(self, terminal: Terminal, text: str, begin: int, spent: list[int]) -> int:
        """Return how many letters the lexeme may have at most."""
        n = len(terminal.stop)
        found = [end - begin + n for end in spent if ends_within(terminal, text[: end - begin], n)]
        return min(found, default=1000)


def random_twin(rng: Random) -> Twin:
    names = ["start", "x", "y"][: rng.randint(1, 3)]
    terminals = {}
    for name in ["t", "u", "v"][: rng.randint(1, 3)]:
        stop = rng.choice([".", "ab", "b.", "ba"]) if rng.random() < 0.25 else ""
        pattern = rng.choice(["[ab]*", "[ab.]*", "a*"] if stop else PATTERNS)
        terminals[name] = Terminal(pattern, rng.choice([0, 1, 1, 2, 2, 3]), stop)
    rules = {
        name: [
            tuple(
                rng.choice(list(terminals) if rng.random() < 0.6 else names)
                for _ in range(rng.choice([0, 1, 1, 2, 2, 3]))
            )
            for _ in range(rng.randint(1, 3))
        ]
        for name in names
    }
    return Twin(rules, terminals, Terminal(rng.choice(["\\.", "a"])) if rng.random() < 0.3 else None)
