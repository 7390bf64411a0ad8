"""A list of texts as one terminal that matches exactly these texts.

A union of all the literals would be one node with as many members, and each mask would visit all of them. Instead, a
few sorted texts become a trie of regex nodes, built in one pass: a fork, where texts begin to differ, stays open until
the first text that does not pass through it. Then it is closed, inner forks first (Daciuk, Mihov, Watson and Watson
2000, section 3, for sorted words). Nodes are hash-consed, so equal ends are one node. Each byte leads to one node,
which has as many members as there are ways to continue.

Cost: O(bytes) nodes and time, after sorting. If there are many texts, most of them are never begun, so they are one
node that holds the list (`Regexes.choices`). The other nodes are made as a text leads to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...earley._engine import Engine
from ...earley._meter import keep, take, tick
from ...earley._regex import Regexes
from ..errors import GrammarError, too_long
from ..loading import distinct, in_order, pieces

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...earley.limits import Limits

EPSILON = 1  # `Regexes.EPSILON`

CHOICE_BYTES = 160
"""Memory of a choice without its characters, in all lists that are made of it: an estimate."""

FEW = 16
"""The most texts that become a trie, whose common ends are found at once. More texts become a list."""


def read(choices: Iterable[str], limits: Limits) -> list[str]:
    """Return the choices sorted and each once.

    Raises TypeError if they are no list of texts, `GrammarError` if there are none, or if they have more characters
    than `limits` allow; each choice counts as one character more than it has.
    """
    if isinstance(choices, (str, bytes)):
        raise TypeError(f"choices must be a list of strings, not one {type(choices).__name__}; put it into a list")
    found: list[str] = []
    keep(found)
    total = 0
    for index, choice in enumerate(choices):
        if not isinstance(choice, str):
            raise TypeError(f"choice {index} must be a str, not {type(choice).__name__}")
        if not index & 0xFF:
            tick()
            take(256 * CHOICE_BYTES)
        total += len(choice) + 1
        if total > limits.source_characters:
            raise too_long(total, limits)
        found.append(choice)
    take(2 * total)
    if not found:
        raise GrammarError("there are no choices", hint="give at least one; it may be the empty string")
    return in_order(distinct(found))


def load(choices: list[str]) -> Engine:
    """Return the engine for the language of the choices, which `read` has returned."""
    try:
        words: list[bytes] = []
        keep(words)
        for piece in pieces(choices):  # sorted as the texts are: UTF-8 keeps the order
            words += [choice.encode() for choice in piece]
    except UnicodeEncodeError as error:
        shown = error.object if len(error.object) <= 40 else error.object[:40] + "..."
        raise GrammarError(f"the choice {shown!r} has a lone surrogate, which no text can have") from None
    regexes = Regexes()
    return single_terminal("choice", node_of(words, regexes), regexes)


def node_of(words: list[bytes], regexes: Regexes) -> int:
    """Return the regex node of all `words`, which are sorted and different from each other; there is at least one."""
    return trie(words, regexes) if len(words) <= FEW else regexes.choices(words)


def trie(words: list[bytes], regexes: Regexes, ends: list[int] | None = None) -> int:
    """Return the regex node of all `words`, as a trie of nodes. They must be sorted and different from each other.

    `ends` has the node that follows each word; without it, the text ends after a word.
    """
    # The open forks along the last word, outermost first: the number of bytes before each, and the nodes of the other
    # words from there on. The rest of the last word after the innermost fork has no node yet.
    forks: list[int] = []
    members: list[list[int]] = []
    last = words[0]
    for index in range(1, len(words)):
        tick()
        word = words[index]
        shared = common_prefix(last, word)
        end = len(last)
        node = EPSILON if ends is None else ends[index - 1]
        while forks and forks[-1] > shared:
            node = close(last, forks, members, end, node, regexes)
            end = forks.pop()
        node = regexes.literal(last[shared:end], node)
        if forks and forks[-1] == shared:
            members[-1].append(node)
        else:
            forks.append(shared)
            members.append([node])
        last = word
    end = len(last)
    node = EPSILON if ends is None else ends[-1]
    while forks:
        node = close(last, forks, members, end, node, regexes)
        end = forks.pop()
    return regexes.literal(last[0:end], node)


def close(word: bytes, forks: list[int], members: list[list[int]], end: int, node: int, regexes: Regexes) -> int:
    """Return the node of the innermost open fork, and drop it. `node` is what follows `word[:end]`."""
    alternatives = members.pop()
    alternatives.append(regexes.literal(word[forks[-1] : end], node))
    return regexes.union(alternatives)


def common_prefix(left: bytes, right: bytes) -> int:
    """Return the length of the longest common prefix."""
    end = min(len(left), len(right))
    for i in range(end):
        if left[i] != right[i]:
            return i
    return end


def single_terminal(name: str, node: int, regexes: Regexes) -> Engine:
    """Return the engine whose sentences are the texts that one terminal matches."""
    engine = Engine(regexes)
    start = engine.add_nonterminal("start")
    engine.add_production(start, [engine.add_terminal(name, node)])
    engine.finish(start)
    return engine
