"""From the tokens of an answer to its text, up to a stop string.

A piece of text is given away when it is certain: not while it may be the beginning of a stop string, and not in the
middle of a character. What is found does not depend on where the tokens are cut: of several stop strings, the one that
is complete first ends the answer.
"""

from __future__ import annotations

import codecs
from collections.abc import Container, Mapping
from typing import Any

from ...trie import Vocabulary
from .sampling import Chosen


class Text:
    """The text of one answer.

    Args:
        vocabulary: spells the tokens.
        stop: the stop strings; none is empty.
        names: the names of special tokens.
        written: the special tokens whose names are written into the text: those that begin and end tool calls or
            reasoning.

    Attributes:
        is_stopped: whether a stop string has ended it.
        starts: the character at which each token begins, but the one that ends the text.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        stop: tuple[str, ...] = (),
        names: Mapping[int, str] = {},
        written: Container[int] = (),
    ) -> None:
        self.vocabulary = vocabulary
        self.stop = stop
        self.names = names
        self.written = written
        self.is_stopped = False
        self._is_finished = False
        self.starts: list[int] = []
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self._n_given = self._n_read = 0  # characters
        self._entries: list[tuple[int, dict[str, Any]]] = []  # where each token begins, and its log probability

    def add(self, chosen: Chosen) -> None:
        """Add a token that is no end of the text."""
        self.starts.append(self._n_read)
        data = self.vocabulary.token_bytes(chosen.token)
        if not data and chosen.token in self.written:
            data = self.names.get(chosen.token, "").encode()
        if chosen.logprob is not None:
            top = [self._spelled(*each) for each in chosen.alternatives]
            self._entries.append((self._n_read, {**self._spelled(chosen.token, chosen.logprob), "top_logprobs": top}))
        self._read(self._decoder.decode(data))

    def take(self) -> tuple[str, list[tuple[int, dict[str, Any]]]]:
        """Return the text that has become certain, and the entries of the tokens that begin in it, each with the
        character at which its token begins. Tokens without text at the end of the answer come with the last text."""
        n = len(self._held)
        if not self.is_stopped:
            n -= max((_overlap(self._held, stop) for stop in self.stop), default=0)
        piece, self._held = self._held[:n], self._held[n:]
        self._n_given += n
        is_whole = self._is_finished and not self.is_stopped
        entries = [each for each in self._entries if is_whole or each[0] < self._n_given]
        self._entries = self._entries[len(entries) :]
        return piece, entries

    def finish(self) -> None:
        """Say that no token follows: then all of the text is certain."""
        if not self.is_stopped:
            self._read(self._decoder.decode(b"", final=True))
            self.stop = ()
        self._is_finished = True

    def _read(self, text: str) -> None:
        self._n_read += len(text)
        self._held += text
        ends = [(at + len(stop), at) for stop in self.stop if (at := self._held.find(stop)) >= 0]
        if ends:
            self._held = self._held[: min(ends)[1]]
            self.is_stopped = True

    def _spelled(self, token: int, logprob: float) -> dict[str, Any]:
        data = self.vocabulary.token_bytes(token)
        text = data.decode("utf-8", "replace") if data else self.names.get(token, "")
        return {"token": text, "bytes": list(data), "logprob": logprob}


def _overlap(text: str, stop: str) -> int:
    """Return how many characters at the end of `text` may begin a stop string, which it does not contain."""
    for n in range(min(len(text), len(stop) - 1), 0, -1):
        if stop.startswith(text[-n:]):
            return n
    return 0
