"""Word the error about special tokens that a grammar names and a vocabulary does not have.

It names those that look alike, as a grammar writes them: `<|eot_id|>` by its name, `[TOOL_CALLS]` in angle brackets,
`<[TOOL_CALLS]>`, and a name that has no such form by its id, `<[32007]>`. This runs once per error and may be slow.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from .errors import VocabularyError, shortened

if TYPE_CHECKING:
    from .vocabulary import Vocabulary

MAX_CANDIDATES = 2000
"""A name is compared with at most so many others: `difflib` takes some microseconds for each. Models have at most some
hundreds that are in use; reserved ones follow."""
MAX_LENGTH = 80
"""Names of more characters are not compared: the time of `difflib` grows with the square of their length."""
SHOWN = 5
"""If no name looks alike, the message shows the first so many that the vocabulary has."""
MAX_NAMES = 20
"""The message explains at most so many unknown names, and says how many others there are."""

_DECORATION = re.compile(r"[<>|\[\]\uff5c\u2581\s]+")
_IN_ANGLES = re.compile(r"<[^<>\s]+>")
_IN_BRACKETS = re.compile(r"\[(?=[^\W\d]|/)[^\]<>\s]+\]")


def unknown(names: Iterable[str], vocabulary: Vocabulary) -> VocabularyError:
    """Return the error about those of the special tokens `names` that the vocabulary does not have."""
    missing = [name for name in dict.fromkeys(names) if name not in vocabulary.special_tokens]
    hints = [hint(name, vocabulary) for name in missing[:MAX_NAMES]]
    if len(missing) == 1:
        what = f"the special token {shortened(missing[0])!r}, which the vocabulary does not have"
        return VocabularyError(f"the grammar names {what}; {hints[0]}")
    lines = [f"{shortened(name)!r}: {said}" for name, said in zip(missing, hints, strict=False)]
    if len(missing) > MAX_NAMES:
        lines.append(f"and {len(missing) - MAX_NAMES} more")
    first = f"the grammar names {len(missing)} special tokens that the vocabulary does not have:"
    return VocabularyError("\n  ".join([first, *lines]))


def hint(name: str, vocabulary: Vocabulary) -> str:
    """Return what to write in place of the name of a special token that does not exist."""
    known = vocabulary.special_tokens
    close = near(name, known)
    if close:
        return f"did you mean {' or '.join([written(each, known[each]) for each in close])}?"
    text = name.encode("utf-8", "surrogatepass")
    for token_id in range(vocabulary.size):
        if vocabulary.token_bytes(token_id) == text:
            return (
                f"token {token_id} has this text and is not special: write <[{token_id}]> for this token or a string "
                f"for the text, or make the vocabulary with {token_id} in special_token_ids="
            )
    if not known:
        return "it has no special tokens with a name; give them in special_tokens= or special_token_ids="
    shown = [written(each, token_id) for each, token_id in list(known.items())[:SHOWN]]
    more = f" and {len(known) - SHOWN} more" if len(known) > SHOWN else ""
    return f"it has {', '.join(shown)}{more}"


def near(name: str, known: Mapping[str, int]) -> list[str]:
    """Return up to three of the names that look like `name`, the nearest first; or else contain it. Brackets, bars,
    blanks and the case of letters do not count."""
    if len(name) > MAX_LENGTH:
        return []
    from difflib import get_close_matches

    plain: dict[str, list[str]] = {}
    for other in list(known)[:MAX_CANDIDATES]:
        if len(other) <= MAX_LENGTH:
            plain.setdefault(_plain(other), []).append(other)
    key = _plain(name)
    close = get_close_matches(key, plain, n=3, cutoff=0.6)
    if not close and len(key) > 2:
        close = [other for other in plain if key in other]
    return [other for each in close for other in plain[each]][:3]


def _plain(name: str) -> str:
    return _DECORATION.sub("", name).lower()


def written(name: str, token_id: int) -> str:
    """Return a special token as grammars write it: by its name if they can, otherwise by its id."""
    if _IN_BRACKETS.fullmatch(name):
        return f"<{name}>"
    if _IN_ANGLES.fullmatch(name) and not name.startswith("<["):
        return name
    return f"<[{token_id}]>, which is {shortened(name)!r},"
