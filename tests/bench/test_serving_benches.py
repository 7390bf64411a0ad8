"""`bench.soak` finds growth and wrong masks, and `bench.applying` compares with XGrammar before it measures."""

from __future__ import annotations

import sys
from random import Random

import pytest

import earleymask
from support.paths import ROOT

sys.path.append(str(ROOT))  # `bench` removes it again, for the root would hide the installed package

from bench import soak
from bench.harness import vocabularies


def notes(*megabytes: int) -> list[soak.Note]:
    return [soak.Note(float(n), soak.Counts(), 0, number * 1_000_000) for n, number in enumerate(megabytes)]


def test_growth_is_that_of_the_second_half() -> None:
    assert soak.grown(notes(100, 300, 500, 700, 700, 700, 700, 700)) == 0
    assert soak.grown(notes(0, 0, 0, 0, 700, 700, 735, 735)) == 0, "5 percent"
    assert soak.grown(notes(0, 0, 0, 0, 700, 700, 740, 740)) == 5_000_000
    assert soak.grown(notes(0, 0, 0, 0, 20, 20, 40, 40)) == 4_000_000, "20 MB, of which 16 may be"
    assert soak.grown(notes(0, 0, 0, 0, 700, 650, 600, 600)) == 0


def server() -> soak.Server:
    vocabulary = vocabularies.load("small")[0]
    pool = earleymask.MatcherPool(vocabulary, capacity=2)
    return soak.Server(pool, [soak.schema_text(Random(number)) for number in range(3)], Random(5), n_live=6)


def test_a_server_does_all_that_a_soak_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    done = set()
    for name in ("apply", "compare", "follow_draft"):
        way = getattr(soak.Server, name)

        def noted(*arguments: object, name: str = name, way: object = way) -> object:
            done.add(name)
            return way(*arguments)  # type: ignore[operator]

        monkeypatch.setattr(soak.Server, name, noted)
    one = server()
    for _ in range(10_000):
        one.step()
        if len(done) == 3 and one.counts.ended:  # soon, but when depends on the seed
            break
    assert done == {"apply", "compare", "follow_draft"}
    counts = one.counts
    assert counts.requests > 6 and counts.masks > counts.compared > 0 and counts.ended > 0


def test_notes_are_taken_at_rest() -> None:
    servers = [server(), server()]
    notes = soak.soak(servers, 2)
    assert len(notes) >= 6 and notes[-1].counts.requests > notes[0].counts.requests > 0
    assert all(0 < note.at_rest <= note.resident + 1_000_000 for note in notes)
    assert "| at rest |" in soak.table(notes)


def test_an_error_of_one_server_ends_all(monkeypatch: pytest.MonkeyPatch) -> None:
    servers = [server(), server()]

    def fail() -> None:
        raise AssertionError("masks differ")

    monkeypatch.setattr(servers[1], "step", fail)
    with pytest.raises(AssertionError, match="masks differ"):
        soak.soak(servers, 60)


def test_a_wrong_mask_ends_a_soak() -> None:
    one = server()
    matcher = earleymask.Matcher('start: "ab"', one.pool.vocabulary)
    row = earleymask.allocate_bitmask(1, one.pool.vocabulary)[0]
    matcher.fill_bitmask(row)
    one.compare(matcher, row)
    row[0] ^= 1
    with pytest.raises(AssertionError, match="masks differ"):
        one.compare(matcher, row)
    assert one.counts.compared == 1


def test_applying_is_timed_after_a_comparison(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("xgrammar")
    torch = pytest.importorskip("torch")
    from bench import applying

    n_threads = torch.get_num_threads()
    try:
        assert applying.main(["--quick", "--seconds", "0.0005"]) == 0
    finally:
        torch.set_num_threads(n_threads)
    printed = capsys.readouterr().out
    assert printed.count("| float32 |") >= 3 and (torch.cuda.is_available() or "There is no GPU here" in printed)
    words = applying.masks(2, 100, 0.5)
    assert words.shape == (2, 4) and words.dtype == torch.int32

    def nothing(logits: object, mask: object) -> None:
        pass

    with pytest.raises(AssertionError):
        applying.check(earleymask.apply_bitmask, nothing, torch.zeros(2, 100), words)
