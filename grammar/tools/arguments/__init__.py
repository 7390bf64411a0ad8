"""How arguments are written: JSON, or one of the notations with tags.

A notation has the format of arguments in a structural tag (`form`), writes arguments (`write`), and reads what it
writes (`read`).
"""

from __future__ import annotations

from .notation import Notation


def find(name: str) -> Notation:
    """Return the notation of a name. Raises ValueError for a name that is not known."""
    if name == "json":
        from .json_text import JSON

        return JSON
    if name in ("gemma", "function_gemma"):
        from .gemma import FUNCTION_GEMMA, GEMMA

        return GEMMA if name == "gemma" else FUNCTION_GEMMA
    from .tagged import NOTATIONS

    if name not in NOTATIONS:
        raise ValueError(f"there is no notation of arguments {name!r}")
    return NOTATIONS[name]
