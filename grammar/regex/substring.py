"""Any run of the chunks of a text, as one terminal: what a quotation may be.

`%regex {"substring_chunks": [...]}` and its two relatives of llguidance's grammars match `"".join(chunks[n:m])` for
all n <= m. There are quadratically many; the suffix automaton, the smallest deterministic automaton of them all, has at
most 2n states and 3n edges and is built in one pass (Blumer, Blumer, Haussler, Ehrenfeucht, Chen and Seiferas 1985).
Its letters are chunks here, compared as a whole. Every state accepts: a run may end behind any chunk.

A state then becomes a regex node, from the last to the first, so that what it leads to is there: the empty string, or
a chunk and the node that it leads to. Chunks may begin alike, so each state's are a trie (`choices.trie`); derivation
follows all that cannot be told apart yet.

Cost: O(n log n) time for n chunks, and nodes in proportion to the bytes on the edges.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...earley.errors import LimitError
from ..errors import RegexSyntaxError
from .ast import Node, Substring
from .choices import EPSILON, trie

if TYPE_CHECKING:
    from ...earley._regex import Regexes

MAX_CHUNKS = 1 << 17
MAX_BYTES = 1 << 23
"""Of all chunks together, and of what stands on the edges of the automaton."""

_WORDS = re.compile(r"\w+|\s+|[^\w\s]+")

_FIELDS = ("substring_chunks", "substring_words", "substring_chars")
_HINT = "write one of " + ", ".join(f'{{"{field}": ...}}' for field in _FIELDS)


def structured_regex(fields: object) -> Node:
    """The node for what stands in `%regex {...}`, as `json.loads` reads it.

    Exactly one of "substring_chunks", a list of strings, "substring_words" and "substring_chars", a string each, that
    are cut into words and into characters. Raises RegexSyntaxError, at position 0, for anything else.
    """
    if not isinstance(fields, Mapping):
        raise RegexSyntaxError("%regex takes a JSON object", 0, _HINT)
    for name in fields:
        if name not in _FIELDS:
            raise RegexSyntaxError(f"%regex has no field {str(name)[:40]!r}", 0, _HINT)
    present = [name for name in _FIELDS if fields.get(name) is not None]
    if len(present) != 1:
        raise RegexSyntaxError(f"%regex has {len(present)} fields", 0, _HINT)
    name = present[0]
    value = fields[name]
    if name == "substring_chunks":
        if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
            raise RegexSyntaxError(f"{name} is no list", 0, "give it a list of strings")
        for index, chunk in enumerate(value):
            if not isinstance(chunk, str):
                raise RegexSyntaxError(f"{name} has something at index {index} that is no string", 0)
        return Substring(tuple(value))
    if not isinstance(value, str):
        raise RegexSyntaxError(f"{name} is no string", 0)
    return Substring(tuple(words_of(value) if name == "substring_words" else value))


def words_of(text: str) -> list[str]:
    """Runs of letters, digits and underscores, runs of white space, and runs of anything else, in order."""
    return _WORDS.findall(text)


def lower_substring(chunks: Sequence[str], regexes: Regexes) -> int:
    """The id in `regexes` of { "".join(chunks[n:m]) : n <= m }.

    Raises LimitError beyond MAX_CHUNKS and MAX_BYTES, RegexSyntaxError for a lone surrogate.
    """
    try:
        letters = [chunk.encode() for chunk in chunks if chunk]
    except UnicodeEncodeError:
        raise RegexSyntaxError("a chunk has a lone surrogate, which no text can have", 0) from None
    n_bytes = sum([len(letter) for letter in letters])
    if len(letters) > MAX_CHUNKS or n_bytes > MAX_BYTES:
        raise LimitError(
            f"substring: {len(letters)} chunks of {n_bytes} bytes, limits {MAX_CHUNKS} and {MAX_BYTES}; "
            "take longer chunks or a shorter text"
        )
    edges, lengths = suffix_automaton(letters)
    spelled = sum([sum(map(len, targets)) for targets in edges])
    if spelled > MAX_BYTES:
        raise LimitError(
            f"substring: {spelled} bytes on the edges of its automaton, limit {MAX_BYTES}; take longer chunks"
        )
    nodes = [0] * len(edges)
    for state in sorted(range(len(edges)), key=lengths.__getitem__, reverse=True):
        targets = edges[state]
        words = sorted(targets)
        ends = [nodes[targets[word]] for word in words]
        nodes[state] = trie([b"", *words], regexes, [EPSILON, *ends])
    return nodes[0]


def suffix_automaton(letters: list[bytes]) -> tuple[list[dict[bytes, int]], list[int]]:
    """By state, 0 being the start: where each letter leads, and the length of the longest run that leads there.

    An edge always leads to a state with a longer run.
    """
    edges: list[dict[bytes, int]] = [{}]
    lengths = [0]
    links = [-1]  # the state of the longest end of a state's runs that also ends elsewhere
    last = 0
    for letter in letters:
        new = len(edges)
        edges.append({})
        lengths.append(lengths[last] + 1)
        links.append(0)
        state = last
        while state >= 0 and letter not in edges[state]:
            edges[state][letter] = new
            state = links[state]
        if state >= 0:
            target = edges[state][letter]
            if lengths[target] != lengths[state] + 1:
                # Only some of the runs of `target` end here, too: they get a state of their own.
                copy = len(edges)
                edges.append(dict(edges[target]))
                lengths.append(lengths[state] + 1)
                links.append(links[target])
                links[target] = copy
                while state >= 0 and edges[state].get(letter) == target:
                    edges[state][letter] = copy
                    state = links[state]
                target = copy
            links[new] = target
        last = new
    return edges, lengths
