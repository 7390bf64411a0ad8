"""Stands in the place of torchvision, whose wheels need the torch for GPUs.

SGLang and transformers import names from it for images, which no test has. Each module and each class that is asked for
exists, and none does anything.
"""

from __future__ import annotations

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, ClassVar

__version__ = "0.28.0"


class Empty(ModuleType):
    __path__: ClassVar[list[str]] = []

    def __getattr__(self, name: str) -> Any:
        return make(name)


class Members(type):
    """A class has every attribute that is asked for: the members of an enumeration."""

    def __getattr__(cls, name: str) -> str:
        if name.startswith("_"):
            raise AttributeError(name)
        return name


def make(name: str) -> type:
    if name.startswith("__"):
        raise AttributeError(name)
    return Members(name, (), {})


class Finder(MetaPathFinder, Loader):
    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.startswith(f"{__name__}.") else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Empty(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: there is no code."""


sys.meta_path.insert(0, Finder())


def __getattr__(name: str) -> type:
    return make(name)
