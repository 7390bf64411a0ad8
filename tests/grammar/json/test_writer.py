"""Long JSON texts are written in pieces, as `json` writes them at once."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from earleymask.grammar.json import writer
from earleymask.grammar.json.writer import dumps

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)
ODD = st.recursive(
    st.integers() | st.text(max_size=3) | st.just(Decimal("1.50")) | st.just(float("nan")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=30,
)


def as_in_version_0_1(value: Any) -> str:
    """Return the text that pickled grammars of version 0.1 have."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        pass
    if isinstance(value, Decimal):
        return spelled(value)
    if isinstance(value, dict):
        return (
            f"{{{', '.join([f'{json.dumps(name)}: {as_in_version_0_1(member)}' for name, member in value.items()])}}}"
        )
    return f"[{', '.join(map(as_in_version_0_1, value))}]" if isinstance(value, list) else "null"


def spelled(number: Decimal) -> str:
    return f"{number:f}"


@given(VALUES, st.sampled_from([1, 2, 5, 30]), st.sampled_from([1, 2, 64]))
def test_the_text_is_that_of_json(value: Any, piece: int, together: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "PIECE", piece)
        patch.setattr(writer, "TOGETHER", together)
        assert dumps(value, spelled) == json.dumps(value, ensure_ascii=False)


@given(ODD, st.sampled_from([1, 2, 5, 30]), st.sampled_from([1, 2, 64]))
def test_the_text_is_that_of_version_0_1(value: Any, piece: int, together: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "PIECE", piece)
        patch.setattr(writer, "TOGETHER", together)
        assert dumps(value, spelled) == as_in_version_0_1(value)


def test_long_texts_lists_and_objects() -> None:
    value: Any = {"a" * 20_000 + '"\u2028\ud800': ["é\\" * 20_000, *range(20_000)]}
    value = {"long": value, **{str(index): {"x": [index]} for index in range(5_000)}}
    for _ in range(400):
        value = [value, *range(20)]
    assert dumps(value, spelled) == json.dumps(value, ensure_ascii=False)


def test_what_json_has_not() -> None:
    value = {
        "é": [Decimal("1.50"), float("inf"), {1, 2}, Decimal("nan")],
        "digits": 10**5000,
        1: {True: 2, None: float("nan")},
        (2, 3): 4,
    }
    text = '{"\\u00e9": [1.50, null, null, null], "digits": null, "1": {"true": 2, "null": null}, "(2, 3)": 4}'
    assert dumps(value, spelled) == text
