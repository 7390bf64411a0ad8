"""The bound that SGLang's cache of grammars does not have, and what it does not keep."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Recent"]

_K = TypeVar("_K")
_V = TypeVar("_V")


class Recent(OrderedDict[_K, _V], Generic[_K, _V]):
    """A dict that keeps the entries which were set or asked for most recently. Only the scheduler's thread uses it.

    capacity: how many. keeps: whether a value is kept at all; to set another one does nothing. None: all are.
    """

    def __init__(self, capacity: int, keeps: Callable[[_V], bool] | None = None) -> None:
        super().__init__()
        self._capacity = capacity
        self._keeps = keeps

    def get(self, key: _K, default: _V | None = None) -> _V | None:  # type: ignore[override]
        if key not in self:
            return default
        self.move_to_end(key)
        return self[key]

    def __setitem__(self, key: _K, value: _V) -> None:
        if self._keeps is not None and not self._keeps(value):
            return
        super().__setitem__(key, value)
        self.move_to_end(key)
        while len(self) > self._capacity:
            self.popitem(last=False)
