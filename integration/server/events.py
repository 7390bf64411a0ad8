"""Server-sent events, in which both endpoints stream."""

from __future__ import annotations

LINE_ENDS = str.maketrans({"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})
"""Characters at which some clients end a line, though the standard of these events does not. They stand in JSON within
strings alone, where they may be escaped."""


def as_event(data: str, kind: str | None = None) -> str:
    """Return an event. data: a JSON text without line breaks."""
    head = "" if kind is None else f"event: {kind}\n"
    return f"{head}data: {data.translate(LINE_ENDS)}\n\n"
