"""What an adapter uses of another package, as it is recorded in a file of JSON and as it is now."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any


def find(path: str) -> Any:
    """Return what is named "module:name.name", or the module "module"."""
    module, _, names = path.partition(":")
    found: Any = import_module(module)
    for name in filter(None, names.split(".")):
        found = getattr(found, name)
    return found


def write(file: Path, found: dict[str, Any]) -> None:
    file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def changes(file: Path, found: dict[str, Any]) -> list[str]:
    """Return a text for each part that is not as it was recorded."""
    recorded = json.loads(file.read_text(encoding="utf-8"))
    return [
        f"{name}: recorded {recorded.get(name)}, found {found[name]}"
        for name in found
        if recorded.get(name) != found[name]
    ]
