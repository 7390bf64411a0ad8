"""A twin of `commit`, for small texts: it works on the definition in docs/extensions.md and nothing else.

It lists the readings of a text as cuts into lexemes, and shares no code with the engine. Exponential; never for
production.
"""

from __future__ import annotations

import random
import re
from functools import cache
from itertools import product
from typing import NamedTuple

Rhs = tuple[str, ...]
Cut = tuple[tuple[int, int, str], ...]  # lexemes: begin, end, terminal


class Grammar(NamedTuple):
    """Names of rules are lower-case, those of terminals upper-case. A head is a terminal with which a rule commits."""

    rules: dict[str, list[Rhs]]
    terminals: dict[str, str]  # regexps for `re`
    heads: frozenset[str]
    ignored: frozenset[str]


class CommitTwin:
    def __init__(self, grammar: Grammar) -> None:
        grammar = self.grammar = productive(grammar)
        self.regexes = {name: re.compile(pattern) for name, pattern in grammar.terminals.items()}
        self.survivors = cache(self._survivors)
        self.rows = cache(self._rows)
        self.may_begin = cache(self._may_begin)

    # ---- the grammar over terminals: a textbook Earley parser, rows closed by repetition --------------

    def _rows(self, names: Rhs) -> tuple[frozenset[tuple[str, Rhs, int, int]], ...]:
        """Return the rows of items (rule, right-hand side, dot, origin) after a sequence of terminals."""
        if names:
            before = self.rows(names[:-1])
            row = {
                (lhs, rhs, dot + 1, origin)
                for lhs, rhs, dot, origin in before[-1]
                if dot < len(rhs) and rhs[dot] == names[-1]
            }
        else:
            before = ()
            row = {("start", rhs, 0, 0) for rhs in self.grammar.rules["start"]}
        here = len(before)
        size = -1
        while size != len(row):
            size = len(row)
            rows = (*before, frozenset(row))
            for lhs, rhs, dot, origin in list(row):
                if dot == len(rhs):
                    row |= {(*at[:2], at[2] + 1, at[3]) for at in rows[origin] if at[1][at[2] : at[2] + 1] == (lhs,)}
                elif rhs[dot] in self.grammar.rules:
                    row |= {(rhs[dot], each, 0, here) for each in self.grammar.rules[rhs[dot]]}
                elif self.regexes[rhs[dot]].fullmatch(""):
                    row.add((lhs, rhs, dot + 1, origin))
        return (*before, frozenset(row))

    def expects(self, cut: Cut) -> set[str]:
        """Return the terminals that may come after these lexemes."""
        names = tuple(name for _, _, name in cut if name not in self.grammar.ignored)
        found = {rhs[dot] for _, rhs, dot, _ in self.rows(names)[-1] if dot < len(rhs)}
        return found - self.grammar.rules.keys()

    def is_complete(self, cut: Cut) -> bool:
        names = tuple(name for _, _, name in cut if name not in self.grammar.ignored)
        return any(lhs == "start" and dot == len(rhs) and origin == 0 for lhs, rhs, dot, origin in self.rows(names)[-1])

    # ---- the definition -------------------------------------------------------------------------------

    def _survivors(self, text: str) -> list[Cut]:
        """Return the readings of a text whose lexemes all end in it, without those that `commit` ends."""
        cuts: list[Cut] = [()] if not text else []
        for begin in range(len(text)):
            for cut in self.survivors(text[:begin]):
                for name in self.expects(cut) | self.grammar.ignored:
                    if self.regexes[name].fullmatch(text[begin:]):
                        cuts.append((*cut, (begin, len(text), name)))
        return [cut for cut in cuts if not self.is_ended(cut, text)]

    def is_ended(self, cut: Cut, text: str) -> bool:
        for begin, end, name in cut:
            if name not in self.grammar.heads and any(self.stands_at(text, place) for place in range(begin, end)):
                return True
        return False

    def stands_at(self, text: str, place: int) -> bool:
        """Return whether a head may begin at a place of the text, and a text of it stands there."""
        return any(
            self.regexes[head].fullmatch(text[place:end])
            for head in self.may_begin(text[:place])
            for end in range(place + 1, len(text) + 1)
        )

    def _may_begin(self, text: str) -> frozenset[str]:
        return frozenset().union(*[self.expects(cut) & self.grammar.heads for cut in self.survivors(text)])

    def is_sentence(self, text: str) -> bool:
        return any(self.is_complete(cut) for cut in self.survivors(text))


def productive(grammar: Grammar) -> Grammar:
    """Return the grammar without the alternatives that derive no text. All patterns of terminals match some text."""
    found = set(grammar.terminals)
    size = -1
    while size != len(found):
        size = len(found)
        found |= {
            lhs for lhs, alternatives in grammar.rules.items() if any(found.issuperset(rhs) for rhs in alternatives)
        }
    rules = {lhs: [rhs for rhs in each if found.issuperset(rhs)] for lhs, each in grammar.rules.items()}
    return grammar._replace(rules=rules)


# ---- random grammars ------------------------------------------------------------------------------

LETTERS = "ab<"
_PATTERNS = ["a", "b", "<", "ab", "<a", "<<", "a<", "b<a", "[ab]+", "[ab<]+"]
_PATTERNS += ["[ab<]*", "a*", "[a<]b", "a?<", "[ab<]{2}"]
_HEADS = ["<", "<a", "a<", "<<", "ab", "<[ab]", "b", "a+<", "a|b<", "<a*b"]


def texts(n: int) -> list[str]:
    return ["".join(letters) for size in range(n + 1) for letters in product(LETTERS, repeat=size)]


def random_grammar(rng: random.Random) -> Grammar:
    """Return a grammar with rules that commit. It may have no sentence, and may be one that is refused."""
    terminals = {f"T{i}": rng.choice(_PATTERNS) for i in range(rng.randint(1, 4))}
    if rng.random() < 0.7:
        terminals["FREE"] = rng.choice(["[ab<]+", "[ab<]*", "[ab]+<?", "(?:a|b|<)"])
    names = list(terminals)
    committing = [f"tool{i}" for i in range(rng.choice([1, 1, 1, 2]))]
    plain = ["start", *[f"x{i}" for i in range(rng.randint(0, 2))]]
    rules: dict[str, list[Rhs]] = {}
    heads: list[str] = []
    for rule in committing:
        rules[rule] = []
        for _ in range(rng.choice([1, 1, 2])):
            heads.append(f"H{len(heads)}")
            terminals[heads[-1]] = rng.choice(_HEADS)
            pool = names if rng.random() < 0.6 else [*names, *names, *plain, *committing]
            rules[rule].append((heads[-1], *[rng.choice(pool) for _ in range(rng.choice([0, 1, 1, 2]))]))
    symbols = [*names, *names, *plain[1:], *committing, *committing]
    for rule in plain:
        if rule == "start" and rng.random() < 0.6:
            first, second = rng.choice([names[-1], *names]), rng.choice([*committing, *symbols])
            rules["start"] = [("loop", rng.choice(names)) if rng.random() < 0.3 else ("loop",)]
            rules["loop"] = rng.choice(
                [
                    [(), ("loop", first), ("loop", second)],
                    [(first,), ("loop", second, first)],
                    [(second,), (first, "loop")],
                ]
            )
            continue
        rules[rule] = [
            tuple(rng.choice([*symbols, *plain]) for _ in range(rng.choice([0, 1, 1, 2, 2, 3])))
            for _ in range(rng.randint(1, 3))
        ]
    ignored = []
    if rng.random() < 0.25:
        terminals["IGNORED"] = rng.choice(["b", "a+", "<"])
        ignored.append("IGNORED")
    return Grammar(rules, terminals, frozenset(heads), frozenset(ignored))


def lark_text(grammar: Grammar) -> str:
    """Return the grammar in Lark's syntax. Heads must stand at the beginnings of rules in which all alternatives have
    one."""
    lines = []
    for rule, alternatives in grammar.rules.items():
        commits = any(symbol in grammar.heads for rhs in alternatives for symbol in rhs)
        lines.append(f"{rule}{'[commit]' if commits else ''}: {' | '.join(map(' '.join, alternatives))}")
    lines += [f"{name}: /{pattern}/" for name, pattern in grammar.terminals.items()]
    lines += [f"%ignore {name}" for name in sorted(grammar.ignored)]
    return "\n".join(lines) + "\n"
