"""Long JSON texts, read in pieces, are what `json.loads` makes of them, and so are their errors."""

import json
import random
from typing import Any

import pytest

from earleymask.grammar.json import reader


def outcome(load: Any, text: str) -> Any:
    try:
        return repr(load(text, object_pairs_hook=list))
    except json.JSONDecodeError as error:
        return error.msg, error.pos
    except RecursionError:
        return "recursion"


def value(choose: random.Random, depth: int) -> Any:
    kind = choose.randrange(8 if depth else 5)
    if kind < 5:
        return choose.choice([None, True, 0, -17, 123456789012, 1.5, -2e-7, "", 'a\\"b\u00e4\n\U0001f600', "x" * 40])
    if kind == 5:
        return {f"k{i}\u00df": value(choose, depth - 1) for i in range(choose.randrange(6))}
    return [value(choose, depth - 1) for _ in range(choose.randrange(9))]


@pytest.fixture(params=[1, 2, 3, 7, 20, 100])
def window(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(reader, "WINDOW", request.param)
    return request.param


def test_random_texts_and_what_is_left_of_them_after_damage(window: int) -> None:
    choose = random.Random(window)
    for _ in range(300):
        text = json.dumps(value(choose, 4), indent=choose.choice([None, 1]), ensure_ascii=choose.random() < 0.5)
        text = " " * choose.randrange(5) + text + "\n" * choose.randrange(5)
        assert outcome(reader.loads, text) == outcome(json.loads, text)
        for _ in range(6):
            at = choose.randrange(len(text))
            damaged = choose.choice(
                [text[:at], text[:at] + text[at + 1 :], text[:at] + choose.choice('{}[],:"\\ 1-e.\x01tN') + text[at:]]
            )
            assert outcome(reader.loads, damaged) == outcome(json.loads, damaged), damaged


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "[", "{", "[]", "{}", "[1,]", '{"a":1,}', '{"a"}', '{"a" 1}', "{1:2}", "[1 2]", "tru", "-", "1 1"),
        *("[" * 100_000, '{"a":' * 100_000, "[Infinity, NaN, -Infinity]", "123" * 50, '"' + "a" * 300, "\ufeff1"),
        "[[]" + " " * 300 + ",1]",
    ],
)
def test_texts(window: int, text: str) -> None:
    assert outcome(reader.loads, text) == outcome(json.loads, text)


def test_a_long_text() -> None:
    given = [{"name": str(i), "values": [i, i / 7, None]} for i in range(20_000)]
    text = json.dumps({"first": given, "second": "x" * 200_000, "third": list(range(50_000))})
    assert reader.loads(text, object_pairs_hook=dict) == json.loads(text)
