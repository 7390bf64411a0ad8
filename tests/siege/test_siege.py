"""The siege finds what is wrong, some attacks of each arm find nothing, and what was found does not return."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from campaign.cases import Wrong, failure, read
from earleymask import Grammar, Limits
from siege import attack as siege_attack
from siege.arms import ARMS
from siege.attack import FAMILIES, Attack, Siege, vocabulary
from siege.gauges import Bystander, begin_growth
from support.effort import EXHAUSTIVE

FILES = sorted((Path(__file__).parent / "found").glob("*.json"))
MEASURED = (": takes ", " grows by ", " waits ")
"""Findings of which nothing is seen unless time and memory are measured."""


def some_of(files: list[Path]) -> list[Path]:
    """Return what was found without measuring, and a sample of the rest, of which this test sees other faults alone."""
    measured = [file for file in files if any(word in json.loads(file.read_text())["what"] for word in MEASURED)]
    return files if EXHAUSTIVE else sorted(set(files) - set(measured) | set(measured[3::5]))


@pytest.mark.parametrize("arm", list(ARMS))
def test_some_attacks_of_each_arm(arm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not measured: other tests run beside this one."""
    monkeypatch.setattr(siege_attack, "is_measured", False)
    counts: Counter[str] = Counter()
    for number in range(4 if arm != "calls" else 2):
        ARMS[arm].run(Random(f"test {arm} {number}"), counts)
    assert counts["calls"] >= 4
    assert counts["loaded"] or arm == "python"


REFUSED = {"circular"}
"""Families of which no input is a grammar."""


@pytest.mark.parametrize("size", range(4))
def test_each_family_makes_small_inputs(size: int) -> None:
    """To make a finding smaller, the siege asks for ever smaller sizes."""
    for families in FAMILIES.values():
        for make in families.values():
            for seed in range(20):
                assert make(Random(seed), size) is not None


@pytest.mark.parametrize(
    ("front", "family"), [(front, family) for front, families in FAMILIES.items() for family in families]
)
def test_some_inputs_of_each_family_are_grammars(front: str, family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A family whose inputs are all refused would attack the loader's first steps alone."""
    monkeypatch.setattr(siege_attack, "is_measured", False)
    counts: Counter[str] = Counter()
    for seed in range(60 if family not in REFUSED else 5):
        attack = an_attack(front=front, family=family, seed=seed, size=1 + seed % 30, source=None)
        siege = Siege(attack, counts, Limits(load_seconds=0.2), vocabulary("bytes"), Bystander(vocabulary("bytes")))
        siege.load(attack.input())
        if counts["loaded"]:
            break
    assert bool(counts["loaded"]) == (family not in REFUSED)


@pytest.mark.parametrize("file", some_of(FILES), ids=lambda file: file.stem)
def test_what_was_found(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(siege_attack, "is_measured", False)
    read(file).check()


def an_attack(**changed: Any) -> Attack:
    given = {"front": "lark", "family": "", "seed": 0, "size": 0, "vocabulary": "bytes", "options": {}, "limits": {}}
    return Attack(**{**given, "calls": (["fill", 0],), "source": 'start: "a"*', **changed})


def a_siege() -> Siege:
    return Siege(an_attack(), Counter(), Limits(seconds=0.1), vocabulary("bytes"), Bystander(vocabulary("bytes")))


def test_a_raw_exception_is_found() -> None:
    with pytest.raises(Wrong, match="fill: ZeroDivisionError"):
        a_siege().call("fill", lambda: 1 // 0)
    with pytest.raises(Wrong, match="fill: ValueError"):
        a_siege().call("fill", lambda: int("a"))
    assert a_siege().call("fill", lambda: int("a"), misuse=True) is None


def test_a_late_call_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(siege_attack, "is_measured", True)
    with pytest.raises(Wrong, match="fill: takes"):
        a_siege().call("fill", lambda: [sum(range(1000)) for _ in range(200_000)])


def test_growth_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    siege = a_siege()
    siege.rss = begin_growth()
    if not siege.rss:
        pytest.skip("this system does not tell the peak of a process")
    monkeypatch.setattr(siege_attack, "is_measured", True)
    with pytest.raises(Wrong, match="fill: the process grows"):
        siege.call("fill", lambda: np.ones(30 << 20, dtype=np.uint8), seconds=10, n_bytes=10 << 20)


def test_a_held_lock_is_found() -> None:
    with Bystander(vocabulary("bytes")) as bystander, bystander.call():
        sorted(range(3_000_000, 0, -1))
        sum([1.5] * 20_000_000)
    assert bystander.longest > siege_attack.MOST_HELD


def test_an_empty_mask_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    siege = a_siege()
    siege.load('start: "a"')
    monkeypatch.setattr(siege, "call", lambda *_: True)
    with pytest.raises(Wrong, match="the mask is empty"):
        siege.allowed(siege.matchers[0])


def test_a_failing_attack_becomes_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading fails where a text has an `x`: of a long grammar and many calls, what is needed remains."""
    load = Grammar.from_lark

    def from_lark(text: str, **options: Any) -> Grammar:
        if "x" in text:
            raise KeyError("x")
        return load(text, **options)

    monkeypatch.setattr(Grammar, "from_lark", from_lark)
    found = an_attack(source='start: "a" b | "x" b\nb: "c"*\n', calls=(["fill", 0], ["reset", 0]))
    assert failure(found) is not None and "KeyError" in str(failure(found))
    from campaign.cases import shrunk

    small = shrunk(found, seconds=20)
    assert isinstance(small, Attack) and not small.calls
    assert len(small.source) < len(found.source) and "x" in small.source
