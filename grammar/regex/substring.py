"""Any run of the chunks of a text as one terminal, for quotations.

`%regex {"substring_chunks": [...]}` and the two similar forms of llguidance's grammars match `"".join(chunks[n:m])` for
all n <= m. There are quadratically many runs. Their suffix automaton, the smallest deterministic automaton that accepts
them all, has at most 2n states and 3n edges and is built in one pass (Blumer, Blumer, Haussler, Ehrenfeucht, Chen and
Seiferas 1985). Here its letters are chunks, compared as a whole. Every state accepts, since a run may end after any
chunk.

Then each state becomes a regex node, the last state first, so that the nodes to which it leads exist: it is the empty
string, or a chunk and the node to which the chunk leads. Several chunks of a state may have a common prefix, so they
are made a trie (`choices.trie`); derivatives follow all chunks that fit so far.

Cost: O(n log n) time for n chunks, and nodes in proportion to the bytes on the edges.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...earley._meter import take, tick
from ...earley.errors import LimitError
from ..errors import RegexSyntaxError
from ..loading import in_order, pieces
from .ast import Node, Substring
from .choices import EPSILON, trie

if TYPE_CHECKING:
    from ...earley._regex import Regexes

CHUNK_BYTES = 600
"""Memory of a chunk, with its state of the automaton: an estimate."""

MAX_CHUNKS = 1 << 17
"""The most chunks of one terminal. Beyond it, LimitError is raised."""
MAX_BYTES = 1 << 23
"""The most bytes of all chunks together, and of all chunks on the edges of the automaton. Beyond it, LimitError is
raised."""

_WORDS = re.compile(r"\w+|\s+|[^\w\s]+")

_FIELDS = ("substring_chunks", "substring_words", "substring_chars")
_HINT = "write one of " + ", ".join(f'{{"{field}": ...}}' for field in _FIELDS)


def structured_regex(fields: object) -> Node:
    """Return the node for the JSON object of `%regex {...}`, as `json.loads` reads it.

    The object must have exactly one of these fields: "substring_chunks", a list of strings; "substring_words", a string
    that is split into words; "substring_chars", a string that is split into characters. Raises RegexSyntaxError, at
    position 0, for anything else.
    """
    if not isinstance(fields, Mapping):
        raise RegexSyntaxError("%regex takes a JSON object", 0, _HINT)
    for name in fields:
        if name not in _FIELDS:
            raise RegexSyntaxError(f"%regex has no field {str(name)[:40]!r}", 0, _HINT)
    present = [name for name in _FIELDS if fields.get(name) is not None]
    if len(present) != 1:
        raise RegexSyntaxError(f"%regex must have one field, not {len(present)}", 0, _HINT)
    name = present[0]
    value = fields[name]
    if name == "substring_chunks":
        if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
            raise RegexSyntaxError(f"{name} must be a list of strings", 0)
        for index, chunk in enumerate(value):
            if not index & 0xFFF:
                tick()
            if not isinstance(chunk, str):
                raise RegexSyntaxError(f"{name} must be a list of strings, but item {index} is not a string", 0)
        return Substring(tuple(value))
    if not isinstance(value, str):
        raise RegexSyntaxError(f"{name} must be a string", 0)
    return Substring(tuple(words_of(value) if name == "substring_words" else value))


def words_of(text: str) -> list[str]:
    """Split a text into runs of letters, digits and underscores, runs of white space, and runs of anything else."""
    found = []
    for index, match in enumerate(_WORDS.finditer(text)):
        if not index & 0xFF:
            tick()
        found.append(match[0])
    return found


def lower_substring(chunks: Sequence[str], regexes: Regexes) -> int:
    """Return the id in `regexes` of { "".join(chunks[n:m]) : n <= m }.

    Raises LimitError beyond MAX_CHUNKS and MAX_BYTES, RegexSyntaxError for a lone surrogate.
    """
    try:
        letters = [chunk.encode() for piece in pieces(chunks) for chunk in piece if chunk]
    except UnicodeEncodeError:
        raise RegexSyntaxError("a chunk has a lone surrogate, which no text can have", 0) from None
    n_bytes = sum([len(letter) for letter in letters])
    if len(letters) > MAX_CHUNKS or n_bytes > MAX_BYTES:
        raise LimitError(
            f"substring: {len(letters)} chunks of {n_bytes} bytes, limits {MAX_CHUNKS} and {MAX_BYTES}; "
            "use longer chunks or a shorter text"
        )
    edges, lengths = suffix_automaton(letters)
    spelled = sum([sum(map(len, targets)) for targets in edges])
    if spelled > MAX_BYTES:
        raise LimitError(
            f"substring: {spelled} bytes on the edges of its automaton, limit {MAX_BYTES}; use longer chunks"
        )
    nodes = [0] * len(edges)
    for _, state in reversed(in_order([(length, state) for state, length in enumerate(lengths)])):
        targets = edges[state]
        tick()
        words = in_order(targets)
        ends = [nodes[targets[word]] for word in words]
        nodes[state] = trie([b"", *words], regexes, [EPSILON, *ends])
    return nodes[0]


def suffix_automaton(letters: list[bytes]) -> tuple[list[dict[bytes, int]], list[int]]:
    """Return, by state, its edges and the length of the longest run that leads to it. State 0 is the start.

    An edge leads to a state with a longer longest run.
    """
    edges: list[dict[bytes, int]] = [{}]
    lengths = [0]
    links = [-1]  # by state: the state of the longest suffix of its runs that also ends at other places
    last = 0
    for letter in letters:
        tick()
        take(CHUNK_BYTES)
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
                # Only some of the runs that lead to `target` also end here: these get a state of their own.
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
