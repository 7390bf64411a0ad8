"""The benches: their texts are sentences of their grammars, and a wrong mask does not pass as a fast one."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import lark
import numpy as np
import pytest

sys.path.append(str(Path(__file__).parent.parent))  # `bench` takes it off again, so that it hides no installed package

from twin import Twin, TwinMatcher

from bench import latency, measure, report, texts, vocabularies
from bench.engines import GRAMMARS, Earleymask, Row, Session, engines

KINDS = tuple(texts.GENERATORS)


@pytest.mark.parametrize("kind", KINDS)
def test_texts_are_sentences_for_lark(kind: str) -> None:
    parser = lark.Lark(
        (GRAMMARS / f"{kind}.lark").read_text(encoding="utf-8"), parser="earley", lexer="dynamic_complete"
    )
    for seed in range(3):
        text = texts.generate(kind, seed, 120)
        parser.parse(text)
        with pytest.raises(lark.exceptions.LarkError):
            parser.parse(text + " ]")


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_and_a_size_name_a_text(kind: str) -> None:
    text = texts.generate(kind, 7, 2000)
    assert len(text) >= 2000
    assert text == texts.generate(kind, 7, 2000)
    assert text != texts.generate(kind, 8, 2000)


@pytest.fixture(scope="module")
def record() -> report.Record:
    """A small run of every engine that is installed (the peers come with the `bench` extra)."""
    return latency.run(
        vocabularies=["small"], kinds=KINDS, engine_names=latency.ENGINES, seed=1, size=150, repeats=1, strides={}
    )


def test_every_engine_follows_every_text(record: report.Record) -> None:
    assert [case["kind"] for case in record["cases"]] == list(KINDS)
    for case in record["cases"]:
        assert "earleymask" in case["engines"]
        for name, engine in case["engines"].items():
            assert engine["gave_up_at"] is None, (name, engine["reason"])
            assert engine["mask_us"]["n"] == case["text"]["tokens"] + 1
            assert sum(part["n"] for part in engine["mask_us_by_tokens_allowed"].values()) == engine["mask_us"]["n"]
            assert engine["accept_us"]["n"] == case["text"]["tokens"]
            assert 1 <= engine["mean_tokens_allowed"] <= case["vocabulary"]["size"]


def test_every_mask_agrees_with_the_peers(record: report.Record) -> None:
    for case in record["cases"]:
        checks = case["checks"]
        assert checks["clean"], checks["examples"]
        assert checks["positions"] == case["text"]["tokens"] + 1
        assert checks["too_wide_tokens"] == checks["xgrammar_alone_tokens"] == 0
        if "xgrammar" in case["engines"]:
            assert checks["equal_xgrammar"] == checks["with_xgrammar"] == checks["positions"]
        if "llguidance" in case["engines"]:
            assert checks["with_llguidance"] == checks["positions"]


def test_the_report_names_every_case_and_engine(record: report.Record, tmp_path: Path) -> None:
    record = {**json.loads(json.dumps(record)), "command": "a command"}
    table = report.markdown(record, None)
    for case in record["cases"]:
        for name in case["engines"]:
            assert f"| {case['kind']}, {case['text']['tokens']} tokens | {name} |" in table
    pytest.importorskip("matplotlib")
    report.draw(record, tmp_path / "latency.png")
    assert (tmp_path / "latency.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("kind", KINDS)
def test_masks_equal_the_twins(kind: str) -> None:
    """Also without peers: where the bench's masks are checked by nobody else, they are checked here."""
    vocabulary, encode = vocabularies.small()
    engine = Earleymask(vocabulary, encode)
    session = engine.open(engine.grammar(kind))
    twin = TwinMatcher(Twin.from_lark(engine.grammar(kind)), vocabulary)
    tokens = encode(texts.generate(kind, 5, 100))
    for position, token in enumerate([*tokens, vocabulary.eos_token_ids[0]]):
        if position % 7 == 0 or position == len(tokens):
            session.fill()
            mask = np.unpackbits(session.row.view(np.uint8), count=vocabulary.size, bitorder="little").astype(bool)
            assert np.array_equal(mask, twin.mask()), position
        assert session.accept(token) and twin.accept(token)


# -- the checks find what they are for --------------------------------------------


def altered(session: Session, token: int, *, allow: bool) -> Session:
    """The same session with one bit of each mask changed."""

    def fill() -> None:
        session.fill()
        bit = np.int32(np.uint32(1 << (token & 31)).view(np.int32))
        if allow:
            session.row[token >> 5] |= bit
        else:
            session.row[token >> 5] &= ~bit

    return replace(session, fill=fill)


@pytest.mark.parametrize("names", [("llguidance",), ("xgrammar",), ("llguidance", "xgrammar")])
@pytest.mark.parametrize("allow", [True, False])
def test_one_wrong_bit_is_found(names: tuple[str, ...], allow: bool) -> None:
    vocabulary, encode = vocabularies.small()
    found, missing = engines(vocabulary, encode, ("earleymask", *names))
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    tokens = encode('{"name": [1, 2]}')
    sessions = {engine.name: engine.open(engine.grammar("json")) for engine in found}
    # `"` may come next in a few places only, and `#` in none but a string.
    sessions["earleymask"] = altered(sessions["earleymask"], ord("#" if allow else '"'), allow=allow)
    token_bytes = [vocabulary.token_bytes(token) for token in range(vocabulary.size)]
    _, checks = measure.follow(sessions, tokens, {}, token_bytes=token_bytes, size=vocabulary.size)
    assert not checks.clean
    assert checks.wrong_tokens if len(names) == 2 else checks.undecided_tokens
    assert checks.text_refused == (0 if allow else tokens.count(ord('"')))
    assert checks.examples


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
    tracks, _ = measure.follow(sessions, [1, 2, 3, 4], {"willing": 2}, token_bytes=[b""] * 32, size=32)
    assert (tracks["stubborn"].gave_up_at, tracks["stubborn"].reason) == (2, "tired")
    assert tracks["stubborn"].positions == [0, 1, 2]
    assert (tracks["willing"].gave_up_at, tracks["willing"].positions) == (None, [0, 2, 4])
    assert len(tracks["willing"].accept_ns) == 4


def test_differences_are_token_ids_below_the_size() -> None:
    row, other = np.zeros(3, np.int32), np.zeros(3, np.int32)
    row[0], other[2] = -(2**31), 0b101
    assert measure.differences(row, other, 96) == [31, 64, 66]
    assert measure.differences(row, other, 65) == [31, 64]
    assert measure.has(row, 31) and not measure.has(row, 30)


def test_quantiles_are_times_that_were_seen() -> None:
    figures = report.distribution([1000 * n for n in range(1, 101)])
    assert figures == {"n": 100, "mean": 50.5, "median": 50, "p90": 90, "p99": 99, "p99.9": 100, "max": 100}


def test_the_smoke_test_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert latency.main(["--quick", "--texts", "json", "--size", "100", "--repeats", "1"]) == 0
    assert "| json, " in capsys.readouterr().out
