"""A short slice of each arm of the campaign (`campaign.py`), with a seed that is printed; and the campaign itself."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from random import Random

import campaign
import pytest
from campaign_arms import ARMS, Found, small_grammars
from campaign_cases import failure, read
from mask_paths import limits
from twin import TooMuchWork, Twin

from earleymask.earley._masks import set_limits

CASES = {
    "masks": 2,
    "small": 5,
    "whole": 1,
    "bench": 1,
    "boolean": 2,
    "gbnf-masks": 2,
    "calls": 6,
    "sentences": 25,
    "regexes": 150,
    "terminals": 200,
    "lexemes": 150,
    "gbnf": 40,
    "choices": 80,
}


def seed() -> int:
    return int(os.environ.get("EARLEYMASK_SEED", "2"))


@pytest.mark.parametrize("arm", ARMS)
def test_a_slice_of_each_arm(arm: str) -> None:
    counts: Counter[str] = Counter()
    for number in range(CASES[arm]):
        outcome = campaign.do_case(arm, seed(), number, None, shrink_seconds=20)
        assert not outcome.what, f"seed {seed()}, case {number}: {outcome.what}"
        counts += outcome.counts
    assert counts["masks"] + counts["texts"] > 0


def test_a_difference_is_shrunk_kept_and_done_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With a twin that forgets ignored text, the campaign must notice, and keep a case that shows it."""
    with monkeypatch.context() as patched:
        patched.setattr(Twin, "_carried", lambda self, row: iter(()))
        outcomes = (campaign.do_case("small", 3, n, tmp_path, shrink_seconds=20) for n in range(100))
        outcome = next(outcome for outcome in outcomes if outcome.what)
        case = read(Path(outcome.file))
        what = failure(case)
        assert what is not None and "wrongly allowed" in what and "--- shrunk" in outcome.what
        (source,) = case.data()["sources"]
        assert "%ignore" in source[1] and len(source[1]) < 60 and len(case.data()["calls"]) < 6
    assert failure(case) is None


def test_calls_that_are_recorded_are_all_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a session finds is found again by its calls alone, before anything is shrunk."""
    monkeypatch.setattr(Twin, "_carried", lambda self, row: iter(()))
    found = []
    for number in range(40):
        try:
            small_grammars(Random(f"3/small/{number}"), Counter())
        except Found as difference:
            found.append(difference.case)
        except TooMuchWork:
            continue
        if len(found) == 3:
            break
    assert len(found) == 3 and all(failure(case) is not None for case in found)


def test_a_run_goes_on_where_it_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = tmp_path / "totals.json"
    common = ["--arms", "choices,gbnf", "--seed", "5", "--quiet", "--keep", str(tmp_path)]
    assert campaign.main(["--cases", "2", "--workers", "2", *common, "--resume", str(state)]) == 0
    assert campaign.main(["--cases", "4", *common, "--resume", str(state)]) == 0
    resumed = campaign.Totals.load(state)
    assert campaign.main(["--cases", "4", *common, "--resume", str(tmp_path / "fresh.json")]) == 0
    fresh = campaign.Totals.load(tmp_path / "fresh.json")
    assert resumed.next_case == fresh.next_case == {"choices": 4, "gbnf": 4}
    assert resumed.sum("texts") == fresh.sum("texts") > 40
    assert "choices" in capsys.readouterr().out


def test_a_worker_that_dies_is_a_finding() -> None:
    worker = campaign.Worker(1, None, 1.0)
    worker.give(("choices", 0))
    worker.process.kill()
    worker.process.join()
    while not (outcome := worker.take()).what:  # it may have been done before it was killed
        worker.job = ("choices", 0)
    assert "exit code -9" in outcome.what and (outcome.arm, outcome.number) == ("choices", 0)


def test_bounds_are_what_they_were() -> None:
    before = set_limits()
    with limits():
        for number in range(3):
            campaign.do_case("calls", 1, number, None, 1)
    assert set_limits() == before
