"""Regex nodes of one arena, adopted into another. `_adopt.pyx` explains what for."""

from ._regex import Regexes

class Adopter:
    """Brings nodes of other arenas into one."""

    def __init__(self, regexes: Regexes) -> None: ...
    def copy(self, other: Regexes, node: int) -> int:
        """Return the node that equals `node` of another arena. Raises LimitError if this arena becomes too large."""
