"""A short slice of each arm of the campaign (`campaign.arms`), with a seed that is printed, and the campaign itself."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from random import Random

import pytest

from campaign import cases, patterns, runner
from campaign.arms import ARMS, small_grammars
from campaign.cases import Found, failure, read
from campaign.patterns import compiled
from campaign.texts import ECMA_LETTERS, make_ecma
from earleymask.earley._masks import set_limits
from support import parametric_twin
from support.boolean_twin import BooleanTwin
from support.ecma_twin import as_ecma, as_re
from support.effort import effort
from support.mask_paths import limits
from support.refusals import Skipped
from support.sentences import strings
from support.twin import TooMuchWork, Twin

CASES = {
    "masks": 2,
    "small": 5,
    "whole": 1,
    "bench": 1,
    "boolean": 2,
    "sets": 2,
    "tokens": 2,
    "imports": 2,
    "parametric": 4,
    "gbnf-masks": 2,
    "calls": 6,
    "prefixes": 12,
    "sentences": 25,
    "regexes": 150,
    "terminals": 200,
    "lexemes": 150,
    "names": 25,
    "demands": 200,
    "ecma": 100,
    "attributes": 60,
    "commits": 25,
    "gbnf": 40,
    "choices": 80,
}


def seed() -> int:
    return int(os.environ.get("EARLEYMASK_SEED", "2"))


@pytest.mark.parametrize("arm", ARMS)
def test_a_slice_of_each_arm(arm: str) -> None:
    counts: Counter[str] = Counter()
    for number in range(effort(-(-CASES[arm] // 3), CASES[arm])):
        outcome = runner.do_case(arm, seed(), number, None, shrink_seconds=20)
        assert not outcome.what, f"seed {seed()}, case {number}: {outcome.what}"
        counts += outcome.counts
    assert counts["masks"] + counts["texts"] > 0


def test_a_difference_is_shrunk_kept_and_done_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The campaign must notice a twin that forgets ignored text, and keep a case that shows this."""
    with monkeypatch.context() as patched:
        patched.setattr(Twin, "_carried", lambda self, row: iter(()))
        outcomes = (runner.do_case("small", 3, n, tmp_path, shrink_seconds=20) for n in range(100))
        outcome = next(outcome for outcome in outcomes if outcome.what)
        case = read(Path(outcome.file))
        what = failure(case)
        assert what is not None and "wrongly allowed" in what and "--- shrunk" in outcome.what
        (source,) = case.data()["sources"]
        assert "%ignore" in source[1] and len(source[1]) < 60 and len(case.data()["calls"]) < 6
    assert failure(case) is None


@pytest.mark.parametrize("arm", ARMS)
def test_every_arm_shrinks_and_keeps_what_it_finds(arm: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each arm soon finds oracles and checks that know no end of a text, and its file reproduces the failure."""
    with monkeypatch.context() as patched:
        patched.setattr(Twin, "may_end", staticmethod(lambda position: False))
        for module in (cases, patterns):
            patched.setattr(module, "accepts", lambda grammar, text: False)
        patched.setattr(patterns, "EOS", 255)  # for the arm `prefixes`
        seconds = effort(1, 12) / 4
        outcomes = (runner.do_case(arm, 3, n, tmp_path, shrink_seconds=seconds) for n in range(60))
        outcome = next(outcome for outcome in outcomes if outcome.what)
        assert "--- shrunk" in outcome.what, outcome.what
        case = read(Path(outcome.file))
        assert failure(case) is not None
    assert failure(case) is None


def test_calls_that_are_recorded_are_all_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The recorded calls alone reproduce what a session finds, before anything is shrunk."""
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
    assert runner.main(["--cases", "2", "--workers", "2", *common, "--resume", str(state)]) == 0
    assert runner.main(["--cases", "4", *common, "--resume", str(state)]) == 0
    resumed = runner.Totals.load(state)
    assert runner.main(["--cases", "4", *common, "--resume", str(tmp_path / "fresh.json")]) == 0
    fresh = runner.Totals.load(tmp_path / "fresh.json")
    assert resumed.next_case == fresh.next_case == {"choices": 4, "gbnf": 4}
    assert resumed.sum("texts") == fresh.sum("texts") > 40
    assert "choices" in capsys.readouterr().out


def test_a_worker_that_dies_is_a_finding() -> None:
    worker = runner.Worker(1, None, 1.0)
    worker.give(("choices", 0))
    worker.process.kill()
    worker.process.join()
    while not (outcome := worker.take()).what:  # the case may have ended before the worker was killed
        worker.job = ("choices", 0)
    assert "exit code -9" in outcome.what and (outcome.arm, outcome.number) == ("choices", 0)


def test_bounds_are_what_they_were() -> None:
    before = set_limits()
    with limits():
        for number in range(effort(1, 3)):
            runner.do_case("calls", 1, number, None, 1)
    assert set_limits() == before


@pytest.mark.skipif(
    shutil.which("node") is None or not os.environ.get("EARLEYMASK_NODE"),
    reason="set EARLEYMASK_NODE=1, with node installed",
)
def test_patterns_of_ecma_are_spelled_as_node_reads_them() -> None:
    rng = Random(4)
    texts = ["", *("".join(rng.choice(ECMA_LETTERS) for _ in range(rng.randrange(1, 5))) for _ in range(40))]
    asked, expected = [], []
    while len(asked) < 2000:
        tree, flags = make_ecma(rng, 3), rng.choice([0, re.I, re.S, re.M, re.I | re.M])
        try:
            pattern = compiled(as_re(tree, flags), flags & re.I)
        except Skipped:
            continue
        letters = "".join(letter for letter, flag in (("i", re.I), ("s", re.S), ("m", re.M)) if flags & flag)
        asked.append([as_ecma(tree), letters])
        expected.append([pattern.fullmatch(text) is not None for text in texts])
    script = """const [asked, texts] = JSON.parse(require('fs').readFileSync(0, 'utf8'));
        console.log(JSON.stringify(asked.map(([pattern, flags]) => {
            const regexp = new RegExp('(?:' + pattern + ')(?![^])', flags + 'uy');
            return texts.map(text => {
                regexp.lastIndex = 0;
                const found = regexp.exec(text);
                return found !== null && found[0].length == text.length;
            });
        })))"""
    done = subprocess.run(
        ["node", "-e", script], input=json.dumps([asked, texts]), capture_output=True, text=True, check=True
    )
    for question, ours, nodes in zip(asked, expected, json.loads(done.stdout), strict=True):
        assert ours == nodes, question
    assert sum(map(sum, expected)) > 1000


def test_rules_with_values_are_written_out_for_the_twin() -> None:
    letters = [
        [[f'"{letter}"', ["p", ["set_bit", i]]], ["and", ["bit_clear", i], ["lt", None, 7]]]
        for i, letter in enumerate("abc")
    ]
    text = json.dumps({"start": ["p", 0], "rules": [["p", [[[], ["is_ones", [0, 3]]], *letters]]]})
    twin = Twin.from_lark(parametric_twin.expanded(text))
    assert [t for t in strings("abc", 4) if twin.is_sentence(t.encode())] == [*map("".join, permutations("abc"))]
    assert '| "b" p::set_bit(1) %if and(bit_clear(1), lt(_, 7))' in parametric_twin.written(text)


@pytest.mark.parametrize(
    ("expression", "values"),
    [
        (["incr", [0, 2]], [1, 2, 3, 3, 5, 6, 7, 7]),
        (["decr", [1, 3]], [0, 1, 0, 1, 2, 3, 4, 5]),
        (["set_bit", 1], [2, 3, 2, 3, 6, 7, 6, 7]),
        (["clear_bit", 0], [0, 0, 2, 2, 4, 4, 6, 6]),
        (["bit_and", 5], [0, 1, 0, 1, 4, 5, 4, 5]),
        (["bit_or", 4], [4, 5, 6, 7, 4, 5, 6, 7]),
        (["constant", 9], [9] * 8),
        (["same"], [*range(8)]),
    ],
)
def test_what_the_twin_makes_of_values(expression: list[object], values: list[int]) -> None:
    assert [parametric_twin.after(expression, value) for value in range(8)] == values


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (["lazy", ["re", "a+b?"]], lambda text: text == "a"),
        (["lazy", ["re", "[ab]*b"]], lambda text: text.endswith("b") and text.count("b") == 1),
        (["suffix", ["re", "[ab]*"], ["re", "ab"]], lambda text: text.endswith("ab") and text.count("ab") == 1),
        (["stop", ["re", "a*"], ["re", "b|aa"]], lambda text: text in ("b", "aa", "ab")),
    ],
)
def test_rules_with_attributes_as_the_twin_reads_them(tree: list[object], expected: Callable[[str], bool]) -> None:
    twin = BooleanTwin(tree)
    assert [t for t in strings("ab", 6) if twin.matches(t.encode())] == [t for t in strings("ab", 6) if expected(t)]
