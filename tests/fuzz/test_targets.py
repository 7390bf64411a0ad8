"""The fuzzer's targets, without atheris, must bear their seeds, random changes of these, and what was once found."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from fuzz import targets

FOUND = [(file.parent.name, file) for file in sorted(targets.FOUND.glob("*/*"))]


@pytest.mark.parametrize("name", targets.TARGETS)
def test_seeds_and_changes_of_them(name: str) -> None:
    target = targets.TARGETS[name]
    rng = random.Random(7)
    words = [word.encode() for word in targets.WORDS[name]]
    for seed in targets.seeds(name):
        target(seed)
        for _ in range(20):
            changed = bytearray(seed)
            for _ in range(rng.randint(1, 4)):
                at = rng.randrange(len(changed) + 1)
                piece = rng.choice([*words, bytes([rng.randrange(256)]), b""])
                changed[at : at + rng.randrange(3)] = piece
            target(bytes(changed))


@pytest.mark.parametrize(("name", "file"), FOUND, ids=[f"{name}-{file.name[:20]}" for name, file in FOUND])
def test_what_was_found(name: str, file: Path) -> None:
    targets.TARGETS[name](file.read_bytes())
