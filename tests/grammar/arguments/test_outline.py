"""An outline of a schema has the types that the schema has, at every place that is asked for."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from earleymask.grammar.arguments import outline as module
from earleymask.grammar.arguments.outline import Outlines
from earleymask.grammar.arguments.styles import STYLES, TYPES
from earleymask.grammar.arguments.views import View, Views

NAMES = ["a", "b", "c"]
FLAT = [name for name, style in STYLES.items() if not style.shows_types and not style.item]
DEEP = [name for name, style in STYLES.items() if not style.shows_types and style.item]
KINDS = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
REFERENCES = st.sampled_from(["#/$defs/x", "#/$defs/y", "#", "other.json"]).map(lambda where: {"$ref": where})
PLAIN_REFERENCES = st.sampled_from(["#/$defs/x", "#/$defs/y"]).map(lambda where: {"$ref": where})


def schemas(may_refer: bool) -> st.SearchStrategy[Any]:
    """Return schemas that refer to others. Where both apply to the same value, only those that `may_refer` do: in a
    circle of such references, the types depend on where one begins, and no grammar has one."""
    leaf = st.one_of(
        st.booleans(),
        st.just({}),
        KINDS.map(lambda kind: {"type": kind}),
        st.lists(KINDS, max_size=3).map(lambda kinds: {"type": kinds}),
        st.lists(st.sampled_from([1, "a", None, True, [], {}]), min_size=1, max_size=3).map(
            lambda values: {"enum": values}
        ),
        st.sampled_from([1, "a", None, {}]).map(lambda value: {"const": value}),
    )

    def larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        part = st.one_of(inner, REFERENCES)
        members = st.dictionaries(st.sampled_from(NAMES), part, max_size=3)
        parts = st.lists(part, min_size=1, max_size=3)
        several = st.lists(st.one_of(inner, PLAIN_REFERENCES) if may_refer else inner, min_size=1, max_size=3)
        return st.fixed_dictionaries(
            {},
            optional={
                "type": st.sampled_from(["object", "array", ["object", "string"]]),
                "properties": members,
                "patternProperties": members.map(lambda found: {f"^{name}": one for name, one in found.items()}),
                "additionalProperties": part,
                "items": st.one_of(part, parts),
                "prefixItems": parts,
                "allOf": several,
                "anyOf": several,
                "oneOf": several,
                "default": st.just(["x"]),
                "description": st.just("x"),
            },
        )

    return st.recursive(leaf, larger, max_leaves=12)


def walk(rng: random.Random, one: tuple[Views, View], other: tuple[Views, View], n: int) -> None:
    """Compare the types on a random way into the arguments."""
    for step in range(n):
        (views, view), (few, place) = one, other
        types = views.types(view)
        # Arguments are an object. If a schema allows none, its outline allows one without members.
        assert types == few.types(place) or (step == 0 and "object" not in types), step
        if step > 0 and "array" in types and rng.random() < 0.5:
            one, other = (views, views.item(view)), (few, few.item(place))
        else:
            name = rng.choice([*NAMES, "none"])
            one, other = (views, views.member(view, name)), (few, few.member(place, name))


@pytest.mark.parametrize(("style", "depth"), [*((name, 2) for name in FLAT), *((name, 5) for name in DEEP)])
@given(schema=schemas(True), x=schemas(False), y=schemas(False), seed=st.integers(0, 1 << 30))
def test_the_types_are_those_of_the_schema(style: str, depth: int, schema: Any, x: Any, y: Any, seed: int) -> None:
    if not isinstance(schema, dict):
        schema = {"properties": {"a": schema}}
    schema |= {"type": "object", "$defs": {"x": x, "y": y}}
    try:
        found = Outlines(STYLES[style]).outline(schema)
    except ValueError:  # a short schema may have very many combinations, where what is in arguments counts, too
        assert style in DEEP
        reject()
    assert json.loads(json.dumps(found)) == found
    rng = random.Random(seed)
    for _ in range(8):
        first, second = Views(schema), Views(found)
        walk(rng, (first, first.root), (second, second.root), depth)


def test_nothing_else_is_left() -> None:
    schema = {
        "type": "object",
        "description": "long",
        "properties": {
            "a": {"type": "string", "default": "x" * 1000, "pattern": "a*"},
            "b": {"type": "object", "properties": {"c": {"enum": [1, 2]}}, "additionalProperties": False},
        },
    }
    flat = {"a": {"type": ["string"]}, "b": {"type": ["object"]}}
    expected = {"type": ["object"], "properties": flat, "additionalProperties": True}
    assert Outlines(STYLES["qwen_xml"]).outline(schema) == expected
    inner = {"type": ["object"], "properties": {"c": {"type": ["number"]}}, "additionalProperties": {"type": []}}
    deep = {**flat, "b": {"$ref": "#/$defs/0"}}
    expected = {"type": ["object"], "properties": deep, "additionalProperties": True, "$defs": {"0": inner}}
    assert Outlines(STYLES["minimax_m3_xml"]).outline(schema) == expected


def test_what_refers_to_itself_ends() -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"type": "array", "items": {"$ref": "#"}}}}
    found = Outlines(STYLES["minimax_m3_xml"]).outline(schema)
    views = Views(found)
    view = views.member(views.item(views.member(views.member(views.root, "a"), "b")), "b")
    assert views.types(view) == {"array"} and views.types(views.member(views.root, "c")) == TYPES


def test_what_is_too_large() -> None:
    """It is refused, and soon."""
    members = {f"a{number}": {"type": "string"} for number in range(module.MAX_PLACES - 1)}
    found = Outlines(STYLES["glm_xml"]).outline({"properties": members})
    assert len(found["properties"]) == module.MAX_PLACES - 1  # one place is that of other members
    with pytest.raises(ValueError, match="more than 20,000 members"):
        Outlines(STYLES["glm_xml"]).outline({"properties": {**members, "b": {"type": "string"}}})
    # Each member is looked for in each of the schemas.
    many = [{"properties": {f"a{number}": {"minLength": number}}} for number in range(5000)]
    began = time.thread_time()
    with pytest.raises(ValueError, match=r"more than 0\.5 s"):
        Outlines(STYLES["glm_xml"]).outline({"anyOf": many})
    assert time.thread_time() - began < 4 * module.MAX_SECONDS


def test_what_is_nested_too_deeply() -> None:
    chain: dict[str, Any] = {
        f"{at}": {"anyOf": [{"$ref": f"#/$defs/{at + 1}"}, {"type": "null"}]} for at in range(9999)
    }
    schema = {"properties": {"a": {"$ref": "#/$defs/0"}}, "$defs": {**chain, "9999": {"type": "string"}}}
    with pytest.raises(ValueError, match="nested too deeply"):
        Outlines(STYLES["glm_xml"]).outline(schema)
