"""The benches: their texts are sentences of their grammars, and a wrong mask is not counted as a fast one."""

import importlib.util
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random

import lark
import numpy as np
import pytest

import earleymask
from support.effort import EXHAUSTIVE, effort
from support.paths import ROOT

sys.path.append(str(ROOT))  # `bench` removes it again, for the root would hide the installed package

from bench import (
    clumsy,
    endurance,
    growth,
    instruction_work,
    instructions,
    latency,
    long_output,
    preparing,
    recurring,
    scaling,
    ways,
)
from bench.engines import Earleymask, Row, Session, engines, grammar_file
from bench.harness import checks, figures, measure, pool, vocabularies
from bench.reports import pages, steps, tables, targets
from bench.texts import families
from support.twin import Twin, TwinMatcher

KINDS = tuple(families.GENERATORS)


@pytest.mark.parametrize("kind", KINDS)
def test_texts_are_sentences_for_lark(kind: str) -> None:
    grammar = grammar_file(kind, "lark").read_text(encoding="utf-8")
    parser = lark.Lark(grammar, parser="earley", lexer="dynamic_complete")
    for seed in range(effort(1, 3)):
        text = families.generate(kind, seed, 120)
        parser.parse(text)
        with pytest.raises(lark.exceptions.LarkError):
            parser.parse(text + " ]")


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_and_a_size_name_a_text(kind: str) -> None:
    text = families.generate(kind, 7, 2000)
    assert len(text) >= 2000
    assert text == families.generate(kind, 7, 2000)
    assert text != families.generate(kind, 8, 2000)


def test_every_first_grammar_has_a_second_one() -> None:
    for kind in (*families.FIRST, *families.HELD_OUT):
        assert families.second(kind) in families.GENERATORS
        assert families.family(kind) in targets.RATIOS


def test_one_grammar_of_every_family_is_held_out() -> None:
    assert [families.family(kind) for kind in families.HELD_OUT] == list(families.FIRST)
    for kind in families.HELD_OUT:
        assert {grammar_file(kind, syntax).parent.name for syntax in ("lark", "ebnf")} == {"heldout"}


# Most of the time is the beginning of processes. `python -m bench.latency --quick` is for each first grammar.
SOME = (*families.FIRST[:1], *families.HELD_OUT[1:2])


@pytest.mark.parametrize("kinds", [families.FIRST, families.HELD_OUT] if EXHAUSTIVE else [SOME])
def test_a_short_run(kinds: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure every engine that is installed (the `bench` extra installs the peers), and look at the record.

    This is one test, because tests in several processes would each make the record anew.
    """
    monkeypatch.setattr(preparing, "N_PROCESSES", 1)
    plan = latency.Plan(kinds, size=150, processes=2, strides={}, batch=3, long_tokens=60, sizes=())
    record = latency.run(["small"], plan) | {"command": "a command"}
    assert tuple(case["kind"] for case in record["cases"]) == kinds
    every_engine_followed_every_text(record)
    every_mask_agreed_with_the_peers_and_the_walk(record)
    if importlib.util.find_spec("matplotlib") is not None:
        the_report_names_every_case_and_engine(record, tmp_path)
    the_documents_sections_are_filled(record)
    a_quantile_of_few_is_left_out(record)


def every_engine_followed_every_text(record: figures.Record) -> None:
    for case in record["cases"]:
        assert "earleymask" in case["engines"]
        n_tokens = case["text"]["tokens"]
        for name, engine in case["engines"].items():
            processes = 2 if name in latency.POOLED else 1
            assert engine["processes"] == processes
            for phase in ("whole", "warm", "cold", "second"):
                found = engine["phases"][phase]
                assert found["gave_up_at"] is None, (name, phase, found["reason"])
                assert sum(part["n"] for part in found["mask_us_by_tokens_allowed"].values()) == found["mask_us"]["n"]
                assert found["first_mask_us"]["n"] == processes
            assert engine["phases"]["whole"]["mask_us"]["n"] == processes * (n_tokens + 1)
            assert engine["phases"]["whole"]["accept_us"]["n"] == processes * n_tokens
            assert engine["phases"]["cold"]["mask_us"]["n"] == processes * min(pool.N_FIRST, n_tokens + 1)
            assert 0 < engine["phases"]["second"]["mask_us"]["n"] <= processes * pool.N_FIRST


def every_mask_agreed_with_the_peers_and_the_walk(record: figures.Record) -> None:
    for case in record["cases"]:
        found = case["checks"]
        assert found["clean"], found["examples"]
        assert found["positions"] >= 2 * (case["text"]["tokens"] + 1)
        assert found["too_wide_tokens"] == found["xgrammar_alone_tokens"] == 0
        assert found["equal_walk"] == found["with_walk"]
        if "xgrammar" in case["engines"]:
            assert found["equal_xgrammar"] == found["with_xgrammar"] == found["positions"]
        if "llguidance" in case["engines"]:
            assert found["with_llguidance"] == found["positions"]


def the_report_names_every_case_and_engine(record: figures.Record, tmp_path: Path) -> None:
    text = tables.write(json.loads(json.dumps(record)), tmp_path, "latency")
    for case in record["cases"]:
        for name in case["engines"]:
            assert f"| {case['kind']}, {case['text']['tokens']} tokens | {name} |" in text
            assert f"| {case['second_kind']} | {name} |" in text
    assert "recurring position" in text
    assert (" tokens: mask median" in text) == ("long_output" in record)
    for way in ("built", "from the file", "not prepared"):
        assert text.count(f" | {way} | ") == len(record["cases"])
    assert (tmp_path / "latency.md").read_text(encoding="utf-8") == text
    assert (tmp_path / "latency.png").read_bytes().startswith(b"\x89PNG")
    kept = json.loads((tmp_path / "latency.json").read_text(encoding="utf-8"))
    assert pages.speed(kept).count("| small | ") == sum(len(case["engines"]) for case in record["cases"])


@pytest.mark.parametrize("kind", KINDS)
def test_masks_equal_the_twins(kind: str) -> None:
    """The bench compares masks with peers; without peers, this test compares them with the twin."""
    vocabulary, encode = vocabularies.load("small")
    engine = Earleymask(vocabulary)
    session = engine.open(engine.grammar(kind))
    twin = TwinMatcher(Twin.from_lark(engine.grammar(kind)), vocabulary)
    tokens = encode(families.generate(kind, 5, 100))
    for position, token in enumerate([*tokens, vocabulary.eos_token_ids[0]]):
        if position % 7 == 0 or position == len(tokens):
            session.fill()
            mask = np.unpackbits(session.row.view(np.uint8), count=vocabulary.size, bitorder="little").astype(bool)
            assert np.array_equal(mask, twin.mask()), position
        assert session.accept(token) and twin.accept(token)


def test_a_session_again_starts_from_the_beginning() -> None:
    vocabulary, encode = vocabularies.load("small")
    found, _ = engines(vocabulary, latency.ENGINES)
    tokens = encode('{"name": [1, 2]}')
    for engine in found:
        session = engine.open(engine.grammar("json"))
        session.fill()
        row = session.row.copy()
        assert all(session.accept(token) for token in tokens)
        assert session.again is not None
        session = session.again()
        session.fill()
        assert np.array_equal(session.row, row), engine.name
        assert all(session.accept(token) for token in tokens), engine.name


# -- the bench's checks find wrong masks -------------------------------------------


def altered(session: Session, token: int, *, allow: bool) -> Session:
    """Return the same session with one bit of each mask changed."""

    def fill() -> None:
        session.fill()
        bit = np.int32(np.uint32(1 << (token & 31)).view(np.int32))
        if allow:
            session.row[token >> 5] |= bit
        else:
            session.row[token >> 5] &= ~bit

    return replace(session, fill=fill)


def followed(sessions: Mapping[str, Session], tokens: list[int], token_bytes: list[bytes]) -> checks.Checks:
    checker = checks.Checker(sessions, tokens, token_bytes)
    measure.follow(sessions, tokens, on_masks=checker.at)
    return checker.checks


@pytest.mark.parametrize("names", [("llguidance",), ("xgrammar",), ("llguidance", "xgrammar")])
@pytest.mark.parametrize("allow", [True, False])
def test_one_wrong_bit_is_found(names: tuple[str, ...], allow: bool) -> None:
    vocabulary, encode = vocabularies.load("small")
    found, missing = engines(vocabulary, ("earleymask", *names))
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    tokens = list(encode('{"name": [1, 2]}'))
    sessions = {engine.name: engine.open(engine.grammar("json")) for engine in found}
    # `"` may come next in a few places only, and `#` only within a string.
    wrong = altered(sessions["earleymask"], ord("#" if allow else '"'), allow=allow)
    sessions["earleymask"] = replace(wrong, walk=None)
    told = followed(sessions, tokens, [vocabulary.token_bytes(token) for token in range(vocabulary.size)])
    assert not told.clean
    assert told.wrong_tokens if len(names) == 2 else told.undecided_tokens
    assert told.text_refused == (0 if allow else tokens.count(ord('"')))
    assert told.examples


def test_a_mask_unlike_the_walk_is_found() -> None:
    row: Row = np.array([0b101, 0], np.int32)
    honest = Session(row, lambda: None, lambda _: True, lambda: "", dict, walk=lambda out: np.copyto(out, row))
    assert followed({"earleymask": honest}, [2, 0], [b"x"] * 40).clean

    def walk(out: Row) -> None:
        out[0], out[1] = 0b111, 0

    told = followed({"earleymask": replace(honest, walk=walk)}, [2, 0], [b"x"] * 40)
    assert (told.with_walk, told.equal_walk, told.clean) == (3, 0, False)
    assert "position 0: b'x' is refused; the walk differs" in told.examples


def test_an_engine_that_refuses_the_text_is_dropped_there() -> None:
    accepted: list[int] = []

    def accept(token: int) -> bool:
        if len(accepted) == 2:
            return False
        accepted.append(token)
        return True

    row: Row = np.full(1, -1, np.int32)
    stubborn = Session(row, lambda: None, accept, lambda: "tired\nand more", dict)
    willing = Session(row, lambda: None, lambda _: True, lambda: "", dict)
    sessions = {"stubborn": stubborn, "willing": willing}
    tracks = measure.follow(sessions, [1, 2, 3, 4], {"willing": 2})
    assert (tracks["stubborn"].gave_up_at, tracks["stubborn"].reason) == (2, "tired")
    assert tracks["stubborn"].positions == [0, 1, 2]
    assert (tracks["willing"].gave_up_at, tracks["willing"].positions) == (None, [0, 2, 4])
    assert len(tracks["willing"].accept_ns) == 4


def test_differences_are_token_ids_below_the_size() -> None:
    row, other = np.zeros(3, np.int32), np.zeros(3, np.int32)
    row[0], other[2] = -(2**31), 0b101
    assert checks.differences(row, other, 96) == [31, 64, 66]
    assert checks.differences(row, other, 65) == [31, 64]
    assert checks.has(row, 31) and not checks.has(row, 30)


def test_quantiles_are_times_that_were_seen() -> None:
    found = figures.distribution([1000 * n for n in range(1, 101)])
    assert found == {"n": 100, "mean": 50.5, "median": 50, "p90": 90, "p99": 99, "p99.9": 100, "max": 100}


def test_the_smoke_test_command(capsys: pytest.CaptureFixture[str]) -> None:
    command = "--quick --texts json --size 100 --processes 1 --parts requests --engines earleymask"
    assert latency.main(command.split()) == 0
    assert "| json, " in capsys.readouterr().out


def test_a_part_does_not_replace_the_results(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        latency.main(["--parts", "profile"])
    assert "--parts measures a part" in capsys.readouterr().err


def the_documents_sections_are_filled(record: figures.Record) -> None:
    sections = pages.sections(json.loads(json.dumps(record)))[pages.PERFORMANCE]
    assert pages.LACKING not in "".join(sections.values())
    assert (steps.LACKING in sections["steps"]) == ("long_output" not in record)  # which is of the first grammars
    assert "made in " in sections["steps"] and "ns a node" in sections["steps"]


def a_quantile_of_few_is_left_out(record: figures.Record) -> None:
    kept = json.loads(json.dumps(record))
    for engine in kept["cases"][0]["engines"].values():
        engine["phases"]["cold"]["mask_us"]["n"] = 99
    row = pages.speed(kept).splitlines()[2].split("|")
    assert row[4].strip().startswith("99 / ") and row[6].strip() and not row[7].strip() and row[10].strip()


def test_the_middle_of_several_processes() -> None:
    results = [{"warm_us": {"median": median}} for median in (3.0, 1.0, 2.0)]
    assert scaling.middle(results)["warm_us"]["median"] == 2.0


@pytest.mark.parametrize("name", clumsy.FAMILIES)
def test_texts_of_clumsy_grammars_are_sentences(name: str) -> None:
    family = clumsy.FAMILIES[name]
    assert all(size < larger for size, larger in pairwise(family.sizes))
    case = family.make(family.sizes[0])
    try:
        grammar = case.load(earleymask.Limits.trusted())
    except earleymask.LimitError:
        return  # the table says so
    matcher = earleymask.Matcher(grammar, earleymask.Vocabulary.bytes())
    for byte in case.text.encode():
        assert matcher.accept(byte)
    assert matcher.is_accepting() or "between letters" in name


def test_the_exponent_of_growth_is_that_of_the_last_doubling() -> None:
    assert growth.exponent([10, 20, 40], [1.0, 5.0, 40.0]) == 3.0
    assert growth.exponent([10, 20, 40], [10.0, 20.0, None]) == 1.0
    assert growth.exponent([10, 20], [0.1, 0.2]) is None  # too small to say
    one = {"load": 1.0, "first mask": 2.0, "text": 3.0, "longest call": 2.5, "memory": 4.0, "limit": ""}
    other = one | {"load": 11.0, "text": 5.0}
    assert growth.least([other, one, one | {"limit": "LimitError seconds"}]) == one
    assert growth.rows("a", [1, 2], [one, other])[1] == "| a | 2 | 11.00 | 2.00 | 5.00 | 2.50 | 4.0 | 2.0 |"
    failed = {"load": 1.0, "memory": 4.0, "limit": "LimitError seconds"}
    assert growth.rows("a", [1, 2], [one, failed])[1] == "| a | 2 | 1.00 |  |  |  | 4.0 | LimitError seconds |"


def test_a_report_names_no_folder_of_whoever_made_it() -> None:
    assert latency._that_matter(["--size", "9", "--output", "/somewhere", "--quick"]) == ["--size", "9", "--quick"]


# -- the other parts ----------------------------------------------------------------


def test_targets_are_met_where_they_are() -> None:
    fast = {name: {"n": 1, "mean": 1.0, "median": 1.0, "p99": 1.0, "p99.9": 1.0, "max": 1.0} for name in ("mask_us",)}
    slow = {"mask_us": {**fast["mask_us"], "mean": 3.9, "p99": 4.0}}
    case = {"vocabulary": {"name": "v"}, "kind": "json", "engines": {}}
    for name, phase in (("earleymask", fast), ("llguidance", slow)):
        case["engines"][name] = {"phases": {"cold": phase, "whole": phase}}  # type: ignore[index]
    met = {target.figure: target.met for target in targets.targets({"cases": [case]}, "v")}
    assert met["mask, whole texts, p99"] and not met["mask, whole texts, mean"]
    assert met["mask, first 100 of a process, mean"] and not met["mask, whole texts, max"]


@pytest.mark.parametrize(("value", "shown"), [(0.02, "1/50"), (0.25, "1/4"), (0.4, "1/2.5"), (1.5, "× 1.50")])
def test_ratios_read_well(value: float, shown: str) -> None:
    assert targets.fraction(value) == shown


def test_a_long_outputs_matcher_is_held_to_its_target() -> None:
    marks = [{"tokens": n, "text_bytes": 500_000 + 10 * n, "walk_bytes": 0} for n in (10_000, 100_000)]
    found = list(targets._long("json", {"tokens": 100_000, "median_ratio": 1.0, "memory": marks}))
    assert [(target.reached, target.verdict) for target in found[1:]] == [("1.50 MB", "no"), ("10.0 bytes", "")]


def test_a_batch_at_one_position_and_a_long_output(tmp_path: Path) -> None:
    vocabulary, encode = vocabularies.load("small")
    file = tmp_path / "vocabulary"
    vocabularies.save(vocabulary, file)
    job = long_output.job(vocabulary, encode, file, "json", 80)
    n, tenth = len(job["tokens"]), job["tenth"]
    assert n >= 80
    found = long_output.work(job)
    assert (found["first_tenth_us"]["n"], found["last_tenth_us"]["n"]) == (tenth, tenth)
    assert [mark["tokens"] for mark in found["memory"]] == [tenth, n]
    batch = recurring.work({**job, "batch": 2})
    assert batch["mask_us"]["n"] == len(range(0, n, n // recurring.N_POSITIONS))
    profile = ways.work(job)
    for phase in ("cold", "warm"):
        assert sum(way["n"] for way in profile[phase].values()) == n


@pytest.mark.parametrize("kind", endurance.N_REQUESTS)
def test_thousands_of_requests(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert endurance.main([kind, "--requests", "20", "--vocabulary", "tekken"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert [row.split("|")[1].strip() for row in rows] == ["after", "--:", *(str(2 * n) for n in range(1, 11))]
    assert all(int(row.split("|")[2].replace(",", "")) > 0 for row in rows[2:])


def test_requests_bring_names_of_their_own() -> None:
    texts = [json.dumps(endurance.schema(Random(f"schema {number}"))) for number in range(300)]
    texts += [endurance.grammar(Random(f"grammar {number}")) for number in range(300)]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("kind", long_output.JOINS)
def test_a_long_output_ends_as_it_begins(kind: str, tmp_path: Path) -> None:
    vocabulary, encode = vocabularies.load("small")
    job = long_output.job(vocabulary, encode, tmp_path, kind, 3000)
    texts = [
        b"".join(map(vocabulary.token_bytes, part))
        for part in (job["tokens"][: job["tenth"]], job["tokens"][-job["tenth"] :])
    ]
    assert texts[0][100:-100] in texts[1]
    engine = Earleymask(vocabulary)
    session = engine.open(engine.grammar(kind))
    assert all(session.accept(token) for token in job["tokens"])


def test_instruction_counts_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    where = {"python": "3"}
    expected = {"environment": where, "instructions": {"masks": 10_000_000, "accepts": 1000}}

    def good(masks: int, tolerance: float = 0.05, python: str = "3") -> bool:
        found = {"environment": {"python": python}, "instructions": {"masks": masks, "accepts": 1200}}
        return instructions.report(expected, found, tolerance)

    assert good(10_400_000) and not good(10_600_000) and not good(9_000_000)
    assert good(10_600_000, python="4") and not good(20_600_000, python="4")
    assert not instructions.report(expected, {"environment": where, "instructions": {"masks": 10_000_000}}, 0.05)
    assert "--update" in capsys.readouterr().out


def test_committed_counts_are_of_the_phases_that_are_counted() -> None:
    committed = json.loads(instructions.EXPECTED.read_text(encoding="utf-8"))
    assert set(committed) == {"release", "full"}
    assert all(tuple(counted["instructions"]) == instruction_work.PHASES for counted in committed.values())


def test_the_counted_work_runs() -> None:
    pieces = [bytes([byte]) for byte in range(256)]
    texts = {"json": list(b'{"a": [1]}'), "records": list(b'{"version": 1')}
    instruction_work.work([*pieces, b"<eos>"], 256, texts)
