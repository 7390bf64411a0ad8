"""Sets of token ids as grammars write them: `<[128010]>`, `<[5,7,9-11]>`, `<[^1-9]>`, `<[*]>`.

The notation is that of llguidance, of which llama.cpp's `<[1000]>` is a part. Ranges are inclusive; `^` in front stands
for all other tokens, `*` for every token. What the ids are, and which of them exist, is for the vocabulary to say.
"""

from __future__ import annotations

import re

HINT = "write ids, ranges of them, or all but these: <[5]>, <[5,7,9-11]>, <[^1-9]>, <[*]>"

_PART = re.compile(r"\s*([0-9]{1,10})\s*(?:-\s*([0-9]{1,10})\s*)?\Z")
_LAST = 0xFFFFFFFF


def parse(written: str) -> tuple[list[tuple[int, int]], bool]:
    """The inclusive ranges of `<[...]>` and whether they are negated. Raises ValueError, which says what is wrong."""
    body = written[2:-2]
    if not written.startswith("<[") or not written.endswith("]>") or len(written) < 5:
        raise ValueError("ids are expected between `<[` and `]>`")
    if body.strip() == "*":
        return [], True
    negated = body.startswith("^")
    ranges = []
    for part in body[negated:].split(","):
        match = _PART.match(part)
        if match is None:
            raise ValueError(f"`{part[:40]}` is no token id and no range of them")
        low = int(match[1])
        high = low if match[2] is None else int(match[2])
        if high > _LAST or low > _LAST:
            raise ValueError(f"token ids go up to {_LAST}")
        if low > high:
            raise ValueError(f"the range {low}-{high} has its ends the wrong way round")
        ranges.append((low, high))
    return _merged(ranges), negated


def _merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same ids, those of ranges once each: strangers may repeat wide ones. Single ids stay, for they must exist."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(pair for pair in ranges if pair[0] < pair[1]):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged + [pair for pair in ranges if pair[0] == pair[1]]
