"""A list of texts as one terminal: exactly these, and nothing else.

The union of so many literals would be one node with as many members, all of which a mask would go through. Instead
a few sorted texts become a trie of regex nodes, built in one pass: a place where texts part stays open until the first
text that does not go through it, and is closed from the inside out (Daciuk, Mihov, Watson and Watson 2000, section 3,
for sorted words). Nodes are hash-consed, so equal ends are one node. A byte leads from node to node, and a node has as
many members as there are ways to go on.

Cost: O(bytes) nodes and time, after sorting. Of many texts hardly any are ever come to, so they are one node that is a
list (`Regexes.choices`), from which others are made where a text leads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...earley._engine import Engine
from ...earley._regex import Regexes
from ..errors import GrammarError, too_long

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...earley.limits import Limits

EPSILON = 1  # `Regexes.EPSILON`

FEW = 16
"""Texts that become a trie: what their ends have in common is found once."""


def read(choices: Iterable[str], limits: Limits) -> list[str]:
    """The choices, each once and in order. Raises TypeError for what is no list of texts, `GrammarError` for an empty
    one, or where they have more characters than `limits` allow, one more counted for each."""
    if isinstance(choices, (str, bytes)):
        raise TypeError(f"choices must be several strings, not one {type(choices).__name__}: put it into a list")
    found: set[str] = set()
    total = 0
    for index, choice in enumerate(choices):
        if not isinstance(choice, str):
            raise TypeError(f"choice {index} must be a str, not {type(choice).__name__}")
        total += len(choice) + 1
        if total > limits.source_characters:
            raise too_long(total, limits)
        found.add(choice)
    if not found:
        raise GrammarError("there are no choices", hint="give one at least; it may be the empty string")
    return sorted(found)


def load(choices: list[str]) -> Engine:
    """The engine for the language of the choices, which `read` has read."""
    try:
        words = [choice.encode() for choice in choices]  # in the order of the texts, as it is with UTF-8
    except UnicodeEncodeError as error:
        shown = error.object if len(error.object) <= 40 else error.object[:40] + "..."
        raise GrammarError(f"the choice {shown!r} has a lone surrogate, which no text can have") from None
    regexes = Regexes()
    return single_terminal("choice", node_of(words, regexes), regexes)


def node_of(words: list[bytes], regexes: Regexes) -> int:
    """The regex node of all `words`, which are sorted, different from each other, and at least one."""
    return trie(words, regexes) if len(words) <= FEW else regexes.choices(words)


def trie(words: list[bytes], regexes: Regexes, ends: list[int] | None = None) -> int:
    """The same, node by node.

    `ends`: the node that follows each word, where that is not the end.
    """
    # Places along the last word where it parts from others: how many bytes lie before, and what goes on from there
    # elsewhere. What is left of the word behind the last of them waits.
    places: list[int] = []
    members: list[list[int]] = []
    last = words[0]
    for index in range(1, len(words)):
        word = words[index]
        shared = common_prefix(last, word)
        end = len(last)
        node = EPSILON if ends is None else ends[index - 1]
        while places and places[-1] > shared:
            node = close(last, places, members, end, node, regexes)
            end = places.pop()
        node = spell(last, shared, end, node, regexes)
        if places and places[-1] == shared:
            members[-1].append(node)
        else:
            places.append(shared)
            members.append([node])
        last = word
    end = len(last)
    node = EPSILON if ends is None else ends[-1]
    while places:
        node = close(last, places, members, end, node, regexes)
        end = places.pop()
    return spell(last, 0, end, node, regexes)


def close(word: bytes, places: list[int], members: list[list[int]], end: int, node: int, regexes: Regexes) -> int:
    """The node of the innermost open place; `node` is what follows `word[:end]`."""
    alternatives = members.pop()
    alternatives.append(spell(word, places[-1], end, node, regexes))
    return regexes.union(alternatives)


def spell(word: bytes, begin: int, end: int, node: int, regexes: Regexes) -> int:
    """`word[begin:end]`, and then `node`."""
    if begin == end:
        return node
    literal = regexes.literal(word[begin:end])
    return literal if node == EPSILON else regexes.concat((literal, node))


def common_prefix(left: bytes, right: bytes) -> int:
    """How many bytes both begin with."""
    end = min(len(left), len(right))
    for i in range(end):
        if left[i] != right[i]:
            return i
    return end


def single_terminal(name: str, node: int, regexes: Regexes) -> Engine:
    """The engine whose sentences are what one terminal matches."""
    engine = Engine(regexes)
    start = engine.add_nonterminal("start")
    engine.add_production(start, [engine.add_terminal(name, node)])
    engine.finish(start)
    return engine
