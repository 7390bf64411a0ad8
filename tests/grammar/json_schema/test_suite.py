"""On the official JSON-Schema-Test-Suite nothing is wrong and little is refused, and its runner counts rightly."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

import earleymask
from campaign import schema_suite
from campaign.schema_suite import (
    EMPTY,
    REFUSED,
    RIGHT,
    WRONG_ACCEPT,
    WRONG_REJECT,
    Group,
    Outcome,
    groups,
    judge,
    remotes,
    table,
)
from support.schema_order import Order, reordered

FOLDERS = {draft: schema_suite.folder(draft) for draft in schema_suite.DRAFTS}
NOT_ASSERTED = {"optional/content": "what a string contains is an annotation, as the later drafts have it"}
NARROWED = {
    "optional/format/hostname": 'labels that begin with "xn--" are not written',
    "optional/format/idn-hostname": "the same",
}
"""Files, of one draft or all, in which valid instances may be refused, by narrowing that is documented and in
`Grammar.report`."""


def suite_groups(draft: str) -> dict[str, list[Group]]:
    found: dict[str, list[Group]] = {}
    for group in groups(FOLDERS[draft], draft):  # none if the folder does not exist
        found.setdefault(group.file, []).append(group)
    return found


GROUPS = {draft: suite_groups(draft) for draft in FOLDERS}
FILES = [(draft, file) for draft, by_file in GROUPS.items() for file in by_file if file not in NOT_ASSERTED]


def needs(draft: str) -> None:
    if not GROUPS[draft]:
        pytest.skip(f"no tests of draft {draft} in {FOLDERS[draft]}; .ci/suite fetches them")


@pytest.mark.parametrize(("draft", "file"), FILES, ids=[f"{draft}-{file}" for draft, file in FILES])
def test_nothing_is_wrong(draft: str, file: str) -> None:
    outcomes = [judge(group, remotes(FOLDERS[draft])) for group in GROUPS[draft][file]]
    is_narrowed = file in NARROWED or f"{draft} {file}" in NARROWED
    allowed = [RIGHT, EMPTY, REFUSED, *([WRONG_REJECT] if is_narrowed else [])]
    wrong = [(o.verdict, o.group.description, o.reasons) for o in outcomes if o.verdict not in allowed]
    assert not wrong


@pytest.mark.parametrize("draft", GROUPS)
def test_all_required_groups_are_right(draft: str) -> None:
    needs(draft)
    required = [group for file, found in GROUPS[draft].items() if not file.startswith("optional/") for group in found]
    outcomes = [judge(group, remotes(FOLDERS[draft])) for group in required]
    refused = [(o.group.file, o.group.description, o.reasons) for o in outcomes if o.verdict not in (RIGHT, EMPTY)]
    assert not refused


@pytest.mark.parametrize("draft", GROUPS)
def test_plain_spellings_refuse_only_whole_numbers_with_a_fraction(draft: str) -> None:
    needs(draft)
    required = [group for file, found in GROUPS[draft].items() if not file.startswith("optional/") for group in found]
    for outcome in [judge(group, remotes(FOLDERS[draft]), spellings="plain") for group in required]:
        if outcome.verdict not in (RIGHT, EMPTY, REFUSED):
            assert outcome.verdict == WRONG_REJECT
            tests = {test["description"]: test["data"] for test in outcome.group.tests}
            assert all(".0" in json.dumps(tests[description]) for description in outcome.reasons), outcome


# The runner itself, with an engine that is a table.

ONE = Group(
    "file",
    "one",
    {"properties": {"a": True, "b": True}},
    ({"description": "good", "data": 1, "valid": True}, {"description": "bad", "data": [], "valid": False}),
)


def accepting(*texts: str) -> Callable[..., Callable[[str], bool]]:
    return lambda schema, **options: set(texts).__contains__


@pytest.mark.parametrize(
    ("accepted", "verdict", "reasons"),
    [
        (["1"], RIGHT, []),
        (["1", "[]"], WRONG_ACCEPT, ["bad"]),
        ([], WRONG_REJECT, ["good"]),
        (["[]"], WRONG_ACCEPT, ["good", "bad"]),
    ],
)
def test_verdicts(accepted: list[str], verdict: str, reasons: list[str]) -> None:
    assert judge(ONE, {}, open_=accepting(*accepted)) == Outcome(ONE, verdict, reasons)


def test_a_refused_schema_is_told_with_its_reason() -> None:
    def refuse(schema: Any, **options: Any) -> Callable[[str], bool]:
        raise earleymask.GrammarError("no", pointer="/a")

    assert judge(ONE, {}, open_=refuse) == Outcome(ONE, REFUSED, ["at #/a: no"])


def test_no_document_is_right_where_none_is_valid() -> None:
    def refuse(schema: Any, **options: Any) -> Callable[[str], bool]:
        raise earleymask.GrammarError("no document satisfies the schema")

    none = Group("file", "none", False, ({"description": "bad", "data": 1, "valid": False},))
    assert judge(none, {}, open_=refuse) == Outcome(none, EMPTY, [])
    assert judge(ONE, {}, open_=refuse) == Outcome(ONE, WRONG_REJECT, ["good"])


@pytest.mark.parametrize("valid", [True, False])
def test_a_limit_is_never_right(valid: bool) -> None:
    def limited(schema: Any, **options: Any) -> Callable[[str], bool]:
        def accepts(text: str) -> bool:
            raise earleymask.LimitError("too much")

        return accepts

    group = Group("file", "one", True, ({"description": "it", "data": 1, "valid": valid},))
    outcome = judge(group, {}, open_=limited)
    assert outcome.verdict == (WRONG_REJECT if valid else WRONG_ACCEPT)
    assert outcome.reasons == ["it: too much"]


def test_the_order_of_keys_and_the_assertion_of_formats_are_handed_on() -> None:
    seen: list[dict[str, Any]] = []
    texts: list[str] = []

    def note(schema: Any, **options: Any) -> Callable[[str], bool]:
        seen.append(options)
        return lambda text: bool(texts.append(text)) or True

    group = Group(
        "optional/format/date", "", ONE.schema, ({"description": "", "data": {"b": 1, "a": 2}, "valid": True},)
    )
    judge(group, {"u": True}, "schema", note)
    judge(group, {"u": True}, "any", note)
    judge(ONE, {}, "any", note)
    assert texts[:2] == ['{"a": 2, "b": 1}', '{"b": 1, "a": 2}']
    assert [o["format_assertion"] for o in seen] == [True, True, False]
    assert [o["property_order"] for o in seen] == ["schema", "any", "any"]
    assert seen[0]["registry"] == {"u": True}


def test_the_table_counts_groups_by_file() -> None:
    lines = table([Outcome(ONE, RIGHT), Outcome(ONE, RIGHT), Outcome(ONE, WRONG_ACCEPT)]).splitlines()
    assert lines[1].split() == ["file", "2", "1"]
    assert lines[-1].split() == ["all", "of", "them", "2", "1"]


def test_a_folder_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tests" / "draft7").mkdir(parents=True)
    case = {"description": "d", "schema": {"type": "null"}, "tests": []}
    (tmp_path / "tests" / "draft7" / "x.json").write_text(json.dumps([case, {**case, "schema": False}]))
    (tmp_path / "remotes" / "a").mkdir(parents=True)
    (tmp_path / "remotes" / "a" / "b.json").write_text("true")
    monkeypatch.setenv("EARLEYMASK_SCHEMA_SUITE", str(tmp_path))
    assert schema_suite.folder() == tmp_path
    found = list(groups(tmp_path, "7"))
    assert [group.schema for group in found] == [{"$schema": schema_suite.DRAFTS["7"], "type": "null"}, False]
    assert remotes(tmp_path) == {"http://localhost:1234/a/b.json": True}


@pytest.mark.parametrize(
    ("schema", "data", "keys"),
    [
        ({"properties": {"a": {}, "b": {}}}, {"x": 0, "b": 0, "a": 0}, ["a", "b", "x"]),
        ({"required": ["r"], "properties": {"b": {}}}, {"x": 0, "r": 0, "b": 0}, ["b", "r", "x"]),
        ({"allOf": [{"properties": {"c": {}}}], "properties": {"a": {}}}, {"a": 0, "c": 0}, ["c", "a"]),
        ({"properties": {"a": {}}, "allOf": [{"properties": {"c": {}, "a": {}}}]}, {"c": 0, "a": 0}, ["a", "c"]),
        ({"$ref": "#/$defs/d", "$defs": {"d": {"properties": {"z": {}, "y": {}}}}}, {"y": 0, "z": 0}, ["z", "y"]),
        ({"$ref": "d", "$defs": {"d": {"$id": "d", "properties": {"z": {}, "y": {}}}}}, {"y": 0, "z": 0}, ["z", "y"]),
        ({"anyOf": [{"$ref": "#"}, {"properties": {"q": {}}}], "properties": {"p": {}}}, {"p": 0, "q": 0}, ["q", "p"]),
    ],
)
def test_the_schemas_order(schema: Any, data: dict[str, int], keys: list[str]) -> None:
    assert list(reordered(data, schema)) == keys
    assert reordered(data, schema) == data


def test_the_schemas_order_within_members_and_items() -> None:
    inner = {"properties": {"a": {}, "b": {}}}
    mixed = {"b": 0, "a": 0}
    for schema, data, inside in [
        ({"properties": {"m": inner}}, {"m": mixed}, lambda found: found["m"]),
        ({"patternProperties": {"^m": inner}}, {"m": mixed}, lambda found: found["m"]),
        ({"additionalProperties": inner}, {"m": mixed}, lambda found: found["m"]),
        ({"items": inner}, [mixed], lambda found: found[0]),
        ({"prefixItems": [{}, inner]}, [0, mixed], lambda found: found[1]),
        ({"prefixItems": [{}], "items": inner}, [0, mixed], lambda found: found[1]),
        ({"items": [{}], "additionalItems": inner}, [0, mixed], lambda found: found[1]),
        ({"const": {"a": 0, "b": 0}}, mixed, lambda found: found),
        ({"enum": [1, [0, {"m": {"a": 0, "b": 0}}]]}, [0, {"m": mixed}], lambda found: found[1]["m"]),
    ]:
        assert list(inside(reordered(data, schema))) == ["a", "b"]


def test_within_branches_there_are_several_orders() -> None:
    one, other = ({"properties": {"m": {"properties": dict.fromkeys(names, True)}}} for names in ("ab", "ba"))
    data = {"m": {"b": 0, "a": 0}}
    for schema in ({"anyOf": [one, other]}, {"if": one, "then": other}, {"not": {"oneOf": [other, one]}}):
        order = Order(schema)
        order.put(data)
        assert not order.is_settled
        assert {"".join(found["m"]) for found in order.ways(data, Random(1), 30)} == {"ab", "ba"}
    for schema in ({"allOf": [one, other]}, {**one, "anyOf": [{"properties": {"c": {}}}]}):
        order = Order(schema)
        assert "".join(order.put(data)["m"]) == "ab" and order.is_settled


def test_the_order_is_that_of_the_branches_that_hold() -> None:
    orders = {"z": "ab", "y": "ba"}
    branches = [
        {"properties": {"m": {"properties": dict.fromkeys(names, True)}}, "required": [required]}
        for required, names in orders.items()
    ]
    accepts = schema_suite.open_earleymask({"oneOf": branches})
    for required, names in orders.items():
        for written in ("ab", "ba"):
            assert accepts(json.dumps({"m": dict.fromkeys(written, 0), required: 0})) == (written == names)
