"""Sets of token ids as grammars write them: `<[128010]>`, `<[5,7,9-11]>`, `<[^1-9]>`, `<[*]>`.

The notation is that of llguidance, which contains llama.cpp's `<[1000]>`. Ranges are inclusive. `^` in front means all
other tokens, `*` every token. The vocabulary decides later which of the ids exist.

A name in place of ids is ours: `<[TOOL_CALLS]>` is the special token `[TOOL_CALLS]`. Mistral's control tokens have such
names, and those of BERT.
"""

from __future__ import annotations

import re

HINT = (
    "write ids or ranges of ids, all other ids, or every id: <[5]>, <[5,7,9-11]>, <[^1-9]>, <[*]>; or <[NAME]> for the "
    "special token [NAME]"
)

_NAME = re.compile(r"<(\[(?:[^\W\d]|/)[^\]]*\])>\Z")
_PART = re.compile(r"\s*([0-9]{1,10})\s*(?:-\s*([0-9]{1,10})\s*)?\Z")
_LAST = 0xFFFFFFFF


def control_token(written: str) -> str | None:
    """Return the name of the special token that `<[NAME]>` means, `[NAME]`; None if ids stand there. A name begins with
    a letter, `_` or `/`."""
    match = _NAME.match(written)
    return None if match is None else match[1]


def parse(written: str) -> tuple[list[tuple[int, int]], bool]:
    """Return the inclusive ranges in `<[...]>`, and whether they are negated; `<[*]>` is no range, negated.

    Raises ValueError, which says what is wrong.
    """
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
            raise ValueError(f"`{part[:40]}` is neither a token id nor a range of them")
        low = int(match[1])
        high = low if match[2] is None else int(match[2])
        if high > _LAST or low > _LAST:
            raise ValueError(f"token ids go up to {_LAST}")
        if low > high:
            raise ValueError(f"the range {low}-{high} ends before it begins")
        ranges.append((low, high))
    return _merged(ranges), negated


def _merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the same ids with overlapping ranges merged: untrusted text may repeat wide ones.

    A single id stays even if a range contains it, because the vocabulary must have each id that is named singly.
    """
    merged: list[tuple[int, int]] = []
    for low, high in sorted(pair for pair in ranges if pair[0] < pair[1]):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged + [pair for pair in ranges if pair[0] == pair[1]]
