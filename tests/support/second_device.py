"""A device beside the CPU, on a machine that has none: its tensors lie in the memory of the CPU, and do not mix with
those of the CPU.

`register()` adds it to torch, for the whole process. Operations between tensors of both devices raise RuntimeError, as
they do with a GPU; so do those that read the memory of a tensor without copying it. Single numbers (tensors without
dimensions) may mix, as with a GPU. What a GPU does later than it is told to, and its kernels, this cannot show.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils import backend_registration

NAME = "second"
IS_POSSIBLE = hasattr(backend_registration, "_setup_privateuseone_for_python_backend")
"""Whether this version of torch has backends that are written in Python; the function is not public."""
LIBRARY = torch.library.Library("_", "IMPL")
"""What is told to it holds as long as it lives."""
COPIES = {"to", "_to_copy", "copy_", "cpu"}
"""Operations that move numbers from one device to the other."""


class SecondTensor(torch.Tensor):
    """A tensor on the second device. `inner` has its numbers."""

    inner: torch.Tensor

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> SecondTensor:
        made = torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls,
            inner.size(),
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            device=torch.device(NAME, 0),
        )
        made.inner = inner
        return made  # type: ignore[no-any-return]

    @classmethod
    def __torch_dispatch__(cls, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return run(operation, args, kwargs or {})

    # What torch cannot do for a class of tensors, or for a backend that is Python. With a GPU it works.

    def tolist(self) -> Any:
        return self.inner.tolist()

    def __getitem__(self, places: Any) -> Any:
        return super().__getitem__(_as_tensors(places))

    def __setitem__(self, places: Any, values: Any) -> None:
        super().__setitem__(_as_tensors(places), values)


def _as_tensors(places: Any) -> Any:
    """Return places with tensors in place of lists of integers."""
    if isinstance(places, tuple):
        return tuple(map(_as_tensors, places))
    return SecondTensor(torch.tensor(places, dtype=torch.int64)) if isinstance(places, list) else places


def run(operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run an operation that has to do with the second device on the CPU, if a GPU could run it."""
    flat = pytree.tree_leaves((args, kwargs))
    second = [value for value in flat if isinstance(value, SecondTensor)]
    first = [
        value
        for value in flat
        if isinstance(value, torch.Tensor) and value.ndim and not isinstance(value, SecondTensor)
    ]
    name = operation.overloadpacket.__name__
    if second and first and name not in COPIES:
        shapes = [tuple(value.shape) for value in first]
        raise RuntimeError(f"{operation} has tensors on the second device and, of the shapes {shapes}, on the CPU")
    inner_args, inner_kwargs = pytree.tree_map(_inner, (args, kwargs))
    result = operation(*inner_args, **inner_kwargs)
    if name.endswith("_") and not name.endswith("__"):  # in place
        return args[0]
    devices = [value for value in flat if isinstance(value, torch.device)]
    is_second = devices[0].type == NAME if devices else bool(second)
    if is_second:
        same = [value for value in second if value.inner is result]
        return same[0] if same else pytree.tree_map_only(torch.Tensor, SecondTensor, result)
    is_shared = any(value.inner is result for value in second)  # a copy to the CPU that copied nothing
    return result.clone() if is_shared else result


def _inner(value: Any) -> Any:
    if isinstance(value, torch.device):
        return torch.device("cpu")
    return value.inner if isinstance(value, SecondTensor) else value


def chosen_device() -> torch.device:
    """Return the device on which tests put their models: what EARLEYMASK_DEVICE says, otherwise the CPU."""
    name = os.environ.get("EARLEYMASK_DEVICE", "cpu")
    return register() if name == NAME else torch.device(name)


@cache
def register() -> torch.device:
    """Add the device to torch, and return it."""
    backend_registration._setup_privateuseone_for_python_backend(NAME)
    LIBRARY.fallback(lambda operation, *args, **kwargs: run(operation, args, kwargs), "PrivateUse1")
    make = torch.tensor

    def tensor(data: Any, *, device: Any = None, **options: Any) -> torch.Tensor:
        """Make a tensor on the CPU, and copy it: inside of `torch.tensor`, torch calls no backend that is Python."""
        return make(data, **options).to(device or "cpu")

    torch.tensor = tensor
    return torch.device(NAME, 0)
