"""Where a place in the text of a JSON document is: the keys and indexes that lead to it."""

from __future__ import annotations

import json
import re

from ...earley._meter import tick

OBJECT, ARRAY = 0x7B, 0x5B  # braces and brackets

_COLON = re.compile(rb"[ \t\n\r]*:")


def path_at(text: bytes) -> list[str | int]:
    """Return the keys and indexes of the value at the end of `text`, the beginning of a JSON document.

    After a key and its colon this is the value of the member, until a comma or the end of the object.
    """
    frames: list[list[object]] = []  # of each open object or array: its bracket, and the key or index of its value
    at = n = 0
    while at < len(text):
        n += 1
        if not n & 0xFF:
            tick()
        byte = text[at]
        if byte == 0x22:
            end = _string_end(text, at)
            if frames and frames[-1][0] == OBJECT and frames[-1][1] is None and _COLON.match(text, end):
                frames[-1][1] = json.loads(text[at:end].decode("utf-8", "replace"), strict=False)
            at = end
            continue
        if byte in (OBJECT, ARRAY):
            frames.append([byte, None if byte == OBJECT else 0])
        elif byte in b"}]" and frames:
            frames.pop()
        elif byte == 0x2C and frames:
            last = frames[-1][1]
            frames[-1][1] = last + 1 if isinstance(last, int) else None
        at += 1
    return [frame[1] for frame in frames if isinstance(frame[1], (str, int))]


def _string_end(text: bytes, at: int) -> int:
    """Return the place after the string that begins at `at`; the end of the text if it does not end."""
    at += 1
    n = 0
    while at < len(text) and text[at] != 0x22:
        at += 2 if text[at] == 0x5C else 1
        n += 1
        if not n & 0xFFF:
            tick()
    return min(at + 1, len(text))


def pointer(path: list[str | int]) -> str:
    """Return a path as a JSON pointer (RFC 6901)."""
    return "".join(["/" + str(each).replace("~", "~0").replace("/", "~1") for each in path])
