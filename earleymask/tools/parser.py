"""Read the texts of models: answers, reasoning and calls, whole or in pieces.

The parser is a generator that yields whenever it needs more text. It takes no decision before the text that decides it
has arrived, so that the result does not depend on where the text was cut.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable
from typing import Any, Literal

from ..grammar.tools.arguments import find as find_notation
from ..grammar.tools.arguments.source import Mismatch, Source, Unfinished, follows, literal, starts_with, until, white
from ..grammar.tools.definitions import INPUT, Strict, Tool, read_tools
from ..grammar.tools.style import Style, around, fields
from ..grammar.tools.style import find as find_style
from .message import Event, Message, ToolCall, ToolCallError

Reasoning = Literal["think", "auto", "open"] | None

_SHOWN = 40  # characters of a text that an error message shows

Steps = Generator[None, None, None]


def parse(
    text: str,
    style: str | Style = "hermes",
    *,
    tools: Iterable[Any] = (),
    strict: Strict = True,
    reasoning: Reasoning = "auto",
) -> Message:
    """Return what a model's text says.

    Args:
        text: what the model has written, without the prompt.
        style: the name of a style, or a `Style`.
        tools: the tools of the request, as for `Grammar.from_tools`. In styles whose notation does not tell the type of
            a value, the schemas tell it; without them such values are strings. They also tell which tools are custom.
        strict: what `Grammar.from_tools` was given. A schema that was not enforced does not tell the type of a value:
            what reads as JSON is JSON.
        reasoning: "open" if the prompt has already begun the reasoning. Otherwise reasoning is read where it stands;
            None: it is not looked for.

    Raises:
        ToolCallError: the text begins a call and does not go on as the style does.
        GrammarError: the style or a tool is not known, as for `Grammar.from_tools`.
    """
    parser = Parser(style, tools=tools, strict=strict, reasoning=reasoning)
    parser.feed(text)
    parser.finish()
    return parser.message


class Parser:
    """Reads a text that arrives in pieces. Not thread-safe; one for each message.

        parser = Parser("hermes")
        for piece in stream:
            for event in parser.feed(piece):
                ...
        parser.finish()
        parser.message

    Takes the arguments of `parse`.

    Attributes:
        message: what has been read so far.
    """

    def __init__(
        self,
        style: str | Style = "hermes",
        *,
        tools: Iterable[Any] = (),
        strict: Strict = True,
        reasoning: Reasoning = "auto",
    ) -> None:
        if reasoning not in (None, "think", "auto", "open"):
            raise ValueError(f"reasoning must be None, 'think', 'auto' or 'open', not {reasoning!r}")
        self.style = find_style(style)
        self.message = Message()
        self._tools = {tool.name: tool for tool in read_tools(tools, strict)}
        self._notation = find_notation(self.style.arguments)
        self._source = Source()
        self._events: list[Event] = []
        self._reasoning = reasoning
        self._held = ""  # text after a call that may only separate it from the next one
        self._follows_call = False
        self._run = self._read()
        self._failed: ToolCallError | None = None

    def feed(self, text: str) -> list[Event]:
        """Read the next piece of the text, and return what it has completed.

        Raises ToolCallError as `parse` does; then every later call does so, too.
        """
        if self._source.closed:
            raise ValueError("the text is finished; make a new Parser for another one")
        self._source.feed(text)
        return self._advance()

    def finish(self) -> list[Event]:
        """Say that the text has ended, and return what that has completed."""
        self._source.closed = True
        return self._advance()

    def _advance(self) -> list[Event]:
        if self._failed is not None:
            raise self._failed
        try:
            next(self._run, None)
        except Mismatch as mismatch:
            source = self._source
            found = source.text[mismatch.position - source.dropped :][:_SHOWN]
            message = f"expected {mismatch.expected!r} in the call, not {found!r}"
            self._failed = ToolCallError(message, mismatch.position)
            raise self._failed from None
        except RecursionError:
            place = self._source.dropped + self._source.pos
            self._failed = ToolCallError("the arguments of the call are nested too deeply to be read", place)
            raise self._failed from None
        events, self._events = self._events, []
        return events

    # What is read

    def _text(self, text: str) -> None:
        """Add a piece of the answer. What may separate two calls is held until it is known whether it does."""
        if self._follows_call:
            self._held += text
            word = self._held.strip()
            if self.style.between.strip().startswith(word):
                return
            text = self._held
        self._release()
        if text:
            self.message.content += text
            self._events.append(Event("content", text))

    def _release(self) -> None:
        """Hold nothing any more."""
        self._held = ""
        self._follows_call = False

    def _end_text(self) -> None:
        """Drop what is held if it separates calls or is white space alone; otherwise it belongs to the answer."""
        held = self._held
        self._release()
        if held.strip() not in ("", self.style.between.strip()):
            self.message.content += held
            self._events.append(Event("content", held))

    def _thought(self, text: str) -> None:
        message = self.message
        message.reasoning = (message.reasoning or "") + text
        if text:
            self._events.append(Event("reasoning", text))

    def _read(self) -> Steps:
        yield from self._read_message()
        self._end_text()

    def _read_message(self) -> Steps:
        style = self.style
        source = self._source
        begin, end, after = style.reasoning_ends
        if style.layout != "free":
            yield from self._read_frames()
            return
        if self._reasoning == "open" and end:
            yield from self._read_reasoning(end)
            yield from self._skip(after)
        elif self._reasoning is not None and begin:
            before = source.pos
            yield from white(source)
            marker = begin.rstrip()
            thinks = yield from follows(source, marker)
            if thinks:
                source.pos += len(marker)
                yield from self._skip(begin[len(marker) :])
                yield from self._read_reasoning(end)
                yield from self._skip(after)
            else:
                source.pos = before
        yield from self._read_answer()

    def _skip(self, text: str) -> Steps:
        """Skip a text if it follows."""
        is_there = yield from follows(self._source, text)
        if is_there:
            self._source.pos += len(text)

    def _read_reasoning(self, end: str) -> Steps:
        self._thought("")
        yield from self._read_until([end], self._thought)
        self._source.pos += len(end) if self._source.text.startswith(end, self._source.pos) else 0

    def _read_until(self, markers: list[str], add: Any) -> Generator[None, None, bool]:
        """Give `add` the text before the first of several markers, as it arrives; return whether one has come."""
        source = self._source
        pattern = re.compile("|".join(map(re.escape, markers)))
        while True:
            text = source.text
            found = pattern.search(text, source.pos)
            end = found.start() if found else len(text)
            # An earlier marker may have begun at the end of the text.
            if not source.closed:
                last = text[max(source.pos, len(text) - max(map(len, markers))) :]
                end = min(end, len(text) - max(_overlap(last, marker) for marker in markers))
            piece = text[source.pos : end]
            source.pos = end
            source.drop()
            if piece:
                add(piece)
            if found and any(source.text.startswith(marker, source.pos) for marker in markers):
                return True
            if source.closed:
                return False
            yield

    # Free layout

    def _read_answer(self) -> Steps:
        """Read an answer in which calls stand anywhere."""
        style = self.style
        source = self._source
        triggers = list(style.triggers)
        # The lead before the first call belongs to neither side.
        markers = [*[style.lead + trigger for trigger in triggers if style.lead], *triggers]
        while True:
            found = yield from self._read_until(markers, self._text)
            if not found:
                return
            start = source.pos
            led = bool(style.lead) and not source.text.startswith(tuple(triggers), start)
            if led:
                source.pos += len(style.lead)
            is_call = yield from self._read_calls()
            if not is_call:
                source.pos = start + 1
                self._text(source.text[start])
                source.drop()

    def _read_calls(self) -> Generator[None, None, bool]:
        """Read a section, or one call without a section. Return False, with nothing read, if no call follows."""
        style = self.style
        source = self._source
        start = begun = source.pos
        try:
            if not style.section:
                is_call = yield from self._read_call(source.pos)
                return is_call
            begin, end = style.section_ends
            yield from literal(source, begin)
            is_call = yield from self._read_call(start)
            while is_call:
                begun = source.pos
                yield from white(source)
                ends = yield from starts_with(source, end.split()[0])
                if ends:
                    yield from literal(source, end)
                    source.drop()
                    return True
                yield from literal(source, style.between)
                begun = source.pos
                is_call = yield from self._read_call(begun)
                if not is_call:
                    raise source.mismatch(end)
            source.pos = start
            return False
        except Unfinished:
            self.message.unfinished = source.text[begun:]
            source.pos = len(source.text)
            return True

    # Frames

    def _read_frames(self) -> Steps:
        """Read a message that consists of frames."""
        style = self.style
        source = self._source
        begin, end, _ = style.reasoning_ends
        frames = [(*around(style.content, "text"), self._text)]
        if style.preamble:
            frames.append((*around(style.preamble, "text"), self._text))
        if begin:
            frames.append((begin, end, self._thought))
        if self._reasoning == "open" and end:
            yield from self._read_reasoning(end)
        elif style.layout == "both":
            # The prompt may have begun the answer.
            opened = yield from self._any_starts([frame[0] for frame in frames])
            if not opened:
                yield from self._read_frame(frames[0][1], self._text)
        if style.section:
            calls = [style.section_ends[0].strip()]
        else:
            calls = [template.partition("${name}")[0] for template in (*style.calls, style.custom) if template]
        while True:
            yield from self._skip(style.joint)
            begins = yield from self._any_starts(calls)
            if begins:
                is_call = yield from self._read_calls()
                if is_call:
                    continue
            for first, last, add in frames:
                opens = yield from follows(source, first)
                if opens:
                    source.pos += len(first)
                    if add == self._thought:
                        self._thought("")
                    yield from self._read_frame(last, add)
                    break
            else:
                while source.pos == len(source.text):
                    if source.closed:
                        return
                    yield
                ends = yield from follows(source, style.tail or style.joint or "\0")
                if ends and style.tail:
                    source.pos += len(style.tail)
                else:
                    # No frame: what stands here is part of the answer.
                    self._text(source.text[source.pos])
                    source.pos += 1
                source.drop()

    def _read_frame(self, end: str, add: Any) -> Steps:
        """Read the text of a frame and its end. Any end of a frame ends it, since some end generation."""
        style = self.style
        ends = [end]
        if style.preamble:
            templates = (style.content, style.preamble, style.reasoning)
            ends += [around(template, "text")[1] for template in templates if template]
        found = yield from self._read_until(list(dict.fromkeys(ends)), add)
        if found:
            self._source.pos += max(len(text) for text in ends if self._source.text.startswith(text, self._source.pos))

    def _any_starts(self, texts: list[str]) -> Generator[None, None, bool]:
        for text in texts:
            found = yield from follows(self._source, text)
            if found:
                return True
        return False

    # Calls

    def _read_call(self, start: int) -> Generator[None, None, bool]:
        """Read a call. Return False, with nothing read, if the text is none; `start`: where it goes back to then."""
        style = self.style
        source = self._source
        here = source.pos
        templates = [*[(template, "arguments") for template in style.calls]]
        if style.custom:
            templates.append((style.custom, "input"))
        breaks_off = False
        for template, field in templates:
            head, end = around(template, field)
            source.pos = here
            try:
                name = yield from self._read_head(head)
            except Unfinished:
                breaks_off = True
                continue
            if name is None:
                continue
            # From here on it is a call: an error is an error of the call.
            tool = self._tools.get(name)
            index = len(self.message.calls)
            self._end_text()
            self._events.append(Event("call", name, index))
            if field == "input":
                raw = yield from self._read_raw(end)
                self._events.append(Event("arguments", raw, index))
                call = ToolCall(name, input=raw)
            else:
                call = yield from self._read_arguments(name, tool, index)
                if style.optional_ends:
                    yield from self._skip(end)
                else:
                    yield from literal(source, end)
            self.message.calls.append(call)
            self._events.append(Event("end", name, index, call))
            self._follows_call = True
            return True
        if breaks_off:
            raise Unfinished
        source.pos = start
        return False

    def _read_head(self, head: str) -> Generator[None, None, str | None]:
        """Read what stands before the arguments, and return the name; None if the text is something else."""
        source = self._source
        name = None
        parts = fields(head)
        try:
            for place, part in enumerate(parts):
                if not place % 2:
                    yield from literal(source, part)
                    continue
                while True:
                    end = source.pos
                    while end < len(source.text) and self._is_of(part, source.text[end]):
                        end += 1
                    if end < len(source.text) or source.closed:
                        break
                    yield
                if end == source.pos:
                    if end == len(source.text):
                        raise Unfinished
                    return None
                if part == "name":
                    name = source.text[source.pos : end]
                source.pos = end
        except Mismatch:
            return None
        return name

    def _is_of(self, field: str, char: str) -> bool:
        return char in "0123456789" if field == "index" else self.style.bad_character(char) is None

    def _read_arguments(self, name: str, tool: Tool | None, index: int) -> Generator[None, None, ToolCall]:
        is_custom = tool is not None and tool.is_custom
        schema = tool.parameters if tool is not None else None
        if is_custom:
            schema = {"properties": {INPUT: {"type": "string"}}}

        def emit(piece: str) -> None:
            if not is_custom:
                self._events.append(Event("arguments", piece, index))

        arguments = yield from self._notation.read(self._source, schema, emit)
        if not is_custom:
            return ToolCall(name, arguments)
        text = arguments.get(INPUT)
        if not isinstance(text, str):
            raise self._source.mismatch(f"the text of {INPUT!r}")
        self._events.append(Event("arguments", text, index))
        return ToolCall(name, input=text)

    def _read_raw(self, end: str) -> Generator[None, None, str]:
        """Read the text of a custom tool, up to the end of the call or of the text."""
        source = self._source
        start = source.pos
        try:
            text = yield from until(source, end)
        except Unfinished:
            if not self.style.optional_ends:
                raise
            text = source.text[start:]
            source.pos = len(source.text)
        return text


def _overlap(text: str, marker: str) -> int:
    """Return how many characters at the end of `text` may be the beginning of `marker`, which it does not contain."""
    for n in range(min(len(text), len(marker) - 1), 0, -1):
        if marker.startswith(text[-n:]):
            return n
    return 0
