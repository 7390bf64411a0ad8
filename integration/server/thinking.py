"""Reasoning before the answer: which texts begin and end it, and where it stands in a message.

The answer begins after the end of the reasoning, and so does its grammar. `Reasoning` says what both are; `Splitter`
reads a message as its pieces arrive.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from ...earley import Limits
from ...grammar import Grammar
from ...tools import Event, find_style, style_names
from ...trie import Vocabulary

Mode = Literal["open", "think", "auto"]
"""Where a message has reasoning: "open", from its first character, because the prompt has begun it; "think", at its
beginning; "auto", there or not at all."""


class Marks(NamedTuple):
    """The texts around reasoning: what begins it, what ends it, and the white space that follows."""

    begin: str
    end: str
    after: str


class Reasoning(NamedTuple):
    """The reasoning of a message."""

    marks: Marks
    mode: Mode

    def before(self, answer: Grammar, vocabulary: Vocabulary, limits: Limits) -> Grammar:
        """Return the grammar of reasoning and, after it, an answer."""
        begin, end, after = self.marks
        opening = "" if self.mode == "open" else begin
        rest = Grammar.sequence(after, answer, vocabulary=vocabulary, limits=limits) if after else answer
        return Grammar.reasoning(rest, begin=opening, end=end, between="", vocabulary=vocabulary, limits=limits)


def marks_of(name: str) -> Marks:
    """Return the marks of the models that write as a style of tool calls has it.

    A name may lack its low lines, as in `qwen3`. Raises GrammarError if there is no such style, and ValueError if it
    has no reasoning that stands before the answer.
    """
    plain = {style.replace("_", ""): style for style in style_names()}
    style = find_style(plain.get(name.replace("_", "").replace("-", ""), name))
    if not style.reasoning or style.layout != "free":
        raise ValueError(f"the style {style.name!r} has no reasoning that can be told from its answer")
    return Marks(*style.reasoning_ends)


def reasoning_after(prompt: str, marks: Marks, is_bound: bool) -> Reasoning | None:
    """Return the reasoning of a message after a prompt; None if the prompt has ended it.

    Args:
        prompt: the text of the prompt. A template that switches reasoning off writes its end there.
        marks: the marks of the model.
        is_bound: whether the answer has a grammar. Then reasoning comes first, so that a message reads in one way.
    """
    text = prompt.rstrip()
    if text.endswith(marks.begin.rstrip()):
        return Reasoning(marks, "open")
    if text.endswith(marks.end):
        return None
    return Reasoning(marks, "think" if is_bound else "auto")


class Splitter:
    """Tells reasoning from the answer, piece by piece.

    Attributes:
        answer_start: the character of the message with which the answer begins; None: it has not begun.
    """

    def __init__(self, reasoning: Reasoning) -> None:
        self.marks, mode = reasoning
        self.answer_start: int | None = None
        self._place: Literal["before", "within", "after", "answer"] = "within" if mode == "open" else "before"
        self._held = ""
        self._n_read = 0

    def feed(self, text: str, is_last: bool = False) -> list[Event]:
        """Return pieces of reasoning, and of the answer: events of kind "content"."""
        self._held += text
        self._n_read += len(text)
        found: list[Event] = []
        begin, end, after = self.marks
        if self._place == "before":
            begin = begin.rstrip()  # the white space after it is a part of the reasoning
            start = self._held.lstrip()
            if start.startswith(begin):
                self._place, self._held = "within", start[len(begin) :]
            elif not begin.startswith(start) or is_last:
                self._begin_answer()
        if self._place == "within":
            thought, mark, rest = self._held.partition(end)
            if mark:
                self._place, self._held = "after", rest
            else:
                n = 0 if is_last else _overlap(thought, end)
                thought, self._held = thought[: len(thought) - n], thought[len(thought) - n :]
            if thought:
                found.append(Event("reasoning", thought))
        if self._place == "after":
            if self._held.startswith(after):
                self._held = self._held[len(after) :]
                self._begin_answer()
            elif not after.startswith(self._held) or is_last:
                self._begin_answer()
        if self._place == "answer" and self._held:
            found.append(Event("content", self._held))
            self._held = ""
        return found

    def _begin_answer(self) -> None:
        self._place = "answer"
        self.answer_start = self._n_read - len(self._held)


def _overlap(text: str, mark: str) -> int:
    """Return how many characters at the end of a text may begin a mark, which it does not contain."""
    for n in range(min(len(text), len(mark) - 1), 0, -1):
        if mark.startswith(text[-n:]):
            return n
    return 0
