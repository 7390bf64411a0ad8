"""What would exceed a limit is refused or left out while the schema is loaded, so no text reaches the limit."""

from __future__ import annotations

import json
from collections import Counter
from random import Random
from typing import Any

import pytest

pytest.importorskip("regress")
pytest.importorskip("jsonschema")

import earleymask
from campaign.schema_hard import HardSchemas, hard_schema, meets_limit
from earleymask import Grammar, GrammarError, LimitError, Limits, Matcher, Vocabulary
from earleymask.grammar.json_schema.algebra import Algebra
from earleymask.grammar.json_schema.documents import Documents
from earleymask.grammar.json_schema.load import MAX_FIRST, SchemaLoader
from earleymask.grammar.json_schema.options import Options
from earleymask.grammar.json_schema.refusals import Refusals
from earleymask.grammar.json_schema.rehearsal import rehearsed
from earleymask.grammar.json_schema.survey import Survey
from earleymask.grammar.json_schema.weights import heavy
from support.schema_oracle import Oracle

BYTES = Vocabulary.bytes()
EOS = 256


def within(schema: Any) -> dict[str, Any]:
    """Return a schema of an object that needs `schema` only after the second key."""
    return {"type": "object", "properties": {"u": {"type": "null"}, "v": schema}, "required": ["u", "v"]}


def accepts(grammar: Grammar, document: Any) -> bool:
    data = json.dumps(document).encode()
    return Matcher(grammar, BYTES).validate([*data, EOS]) == len(data) + 1


# Both together have more remainders than the limit, 2**59.
LARGE, LARGER = {"multipleOf": 2**31 - 1}, {"multipleOf": 2**30 + 3}
BOTH = (2**31 - 1) * (2**30 + 3)
LISTS = [[i, i + 1, i + 2] for i in range(0, 20, 3)]
BEYOND: dict[str, tuple[Any, str]] = {
    "an allOf": (within({"allOf": [LARGE, LARGER]}), "at #/properties/v: "),
    "double negations": (within({"allOf": [LARGE, {"not": {"not": LARGER}}]}), "at #/properties/v: "),
    "members of one name": (
        {"allOf": [within(LARGE), {"properties": {"v": LARGER}}]},
        r"at #/allOf/0/properties/v: .* \(together with /allOf/1/properties/v\)",
    ),
    "members of members": (
        {"allOf": [within({"items": within(LARGE)}), within({"items": {"properties": {"v": LARGER}}})]},
        "at #/allOf/0/properties/v/items/properties/v: ",
    ),
    "keys of two patterns": (
        within({"patternProperties": {"a": LARGE, "b": LARGER}}),
        "at #/properties/v/patternProperties/a: ",
    ),
    "contains": (within({"items": LARGE, "contains": LARGER}), "at #/properties/v/items: "),
    "references": (
        {**within({"$ref": "#/$defs/d", **LARGER}), "$defs": {"d": LARGE}},
        "at #/properties/v: ",
    ),
    "negated arrays": (within({"not": {"enum": LISTS}}), "at #/properties/v/not: "),
}


@pytest.mark.parametrize("order", ["any", "schema"])
@pytest.mark.parametrize("name", BEYOND)
def test_refused_with_its_place(name: str, order: Any) -> None:
    schema, message = BEYOND[name]
    with pytest.raises(earleymask.LimitError, match=message):
        Grammar.from_json_schema(schema, property_order=order)


@pytest.mark.parametrize("name", BEYOND)
def test_left_out_without_strict(name: str) -> None:
    schema, _ = BEYOND[name]
    grammar = Grammar.from_json_schema(schema, strict=False)
    assert [row for row in grammar.report if row.status == "widened"]
    oracle = Oracle(schema)
    values = [BOTH, 5, "a", [], [0, 1, 2], [1], [BOTH], {"a": BOTH}, {"ab": BOTH}, [{"u": None, "v": BOTH}]]
    documents = [{"u": None, "v": value} for value in values]
    valid = [document for document in documents if oracle.is_valid(document)]
    assert valid
    assert [document for document in valid if not accepts(grammar, document)] == []
    assert not accepts(grammar, {"u": 1, "v": BOTH})  # everything else is enforced


@pytest.mark.parametrize(
    "schema",
    [
        within({"allOf": [{"multipleOf": 7}, {"multipleOf": 11}, {"multipleOf": 13}]}),
        # Their names distinguish them, so they never apply to the same value.
        {"properties": {"u": LARGE, "v": LARGER}, "allOf": [{"required": ["v"]}]},
        within({"anyOf": [LARGE, LARGER]}),
        # No value can need what is too much.
        {"allOf": [within({"allOf": [LARGE, LARGER]}), {"properties": {"v": {"type": "string"}}}]},
    ],
)
def test_what_can_be_is_not_refused(schema: Any) -> None:
    Grammar.from_json_schema(schema)


@pytest.mark.parametrize("strict", [True, False])
def test_a_chain_of_references_is_as_good_as_one(strict: bool) -> None:
    chain: dict[str, Any] = {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(1_000)}
    grammar = Grammar.from_json_schema(
        {**within({"$ref": "#/$defs/d0"}), "$defs": {**chain, "d1000": {"type": "integer"}}}, strict=strict
    )
    assert accepts(grammar, {"u": None, "v": 12}) and not accepts(grammar, {"u": None, "v": "a"})


def test_bounds_of_integers_next_to_a_short_one() -> None:
    bound = 10**308 - 1
    schema = {"type": "integer", "minimum": -bound, "maximum": bound}
    grammar = Grammar.from_json_schema(within(schema))
    for value in (0, bound - 1, bound, bound + 1, -bound, -bound - 1):
        assert accepts(grammar, {"u": None, "v": value}) == (abs(value) <= bound), value
    # For other numbers this bound is too long, and for other multiples the next one is.
    for beyond in ({"not": schema}, {**schema, "multipleOf": 7}, {"allOf": [schema, {"multipleOf": 7}]}):
        with pytest.raises(earleymask.GrammarError, match=r"at #/properties/v.*(308 significant|too many) digits"):
            Grammar.from_json_schema(within(beyond))


@pytest.mark.parametrize("kind", ["arrays", "objects"])
def test_no_walk_meets_a_limit(kind: str) -> None:
    counts: Counter[str] = Counter()
    for number in range(16):
        rng = Random(f"{kind} {number}")
        schemas = HardSchemas(rng)
        schemas.atoms = [getattr(schemas, kind)]
        assert meets_limit(rng, schemas.whole(), counts, Counter()) == ""
    assert counts["walked"] > 7, counts


@pytest.mark.parametrize(
    "schema",
    [
        {"patternProperties": {f"p{i}": {"minLength": i + 1} for i in range(10)}},
        {"type": "array", "allOf": [{"contains": {"required": [f"k{i}"]}} for i in range(11)]},
    ],
)
def test_kinds_of_keys_and_of_items_are_counted_while_loading(schema: Any) -> None:
    with pytest.raises(LimitError) as caught:
        Grammar.from_json_schema({"properties": {"a": {"type": "string"}, "b": schema}})
    assert isinstance(caught.value, GrammarError)
    assert caught.value.pointer == "/properties/b"


def survey_of(schema: Any) -> tuple[Algebra, Survey]:
    documents = Documents(schema)
    algebra = Algebra(documents, Options(), {}, Limits())
    return algebra, Refusals(documents, algebra).run()


def tagged(tags: list[Any], demanded: list[str], **said: Any) -> dict[str, Any]:
    """Return a `oneOf` of references to objects, each with a tag."""
    branches = [
        {"type": "object", "properties": {"kind": tag, "n": {"type": "integer"}}, "required": demanded} for tag in tags
    ]
    definitions = {f"d{index}": branch for index, branch in enumerate(branches)}
    return {"oneOf": [{"$ref": f"#/$defs/{name}"} for name in definitions], "$defs": definitions, **said}


WORDS: list[Any] = [{"const": "w0"}, *[{"type": "string", "enum": [f"w{i}", f"v{i}"]} for i in range(1, 9)]]


@pytest.mark.parametrize(
    ("schema", "is_heavy"),
    [
        (tagged(WORDS, ["kind"]), False),
        (tagged(WORDS, []), True),
        (tagged([*WORDS, {"enum": ["u", "v3"]}], ["kind"]), True),
        (tagged([*WORDS, {"type": "string"}], ["kind"]), True),
        (tagged([*WORDS, {"enum": ["u", 1]}], ["kind"]), False),
        # Draft 4 has no `const`.
        (tagged(WORDS, ["kind"], **{"$schema": "http://json-schema.org/draft-04/schema#"}), True),
        ({"allOf": [{"minProperties": i} for i in range(8)]}, True),
    ],
)
def test_references_to_what_constants_tell_apart_are_not_rehearsed(schema: Any, is_heavy: bool) -> None:
    found, _ = heavy(survey_of(schema)[1])
    assert bool(found) == is_heavy


def test_references_to_what_constants_tell_apart() -> None:
    schema = tagged(WORDS, ["kind"])
    oracle = Oracle(schema)
    grammar = Grammar.from_json_schema(schema, property_order="any")
    for word in ("w0", "v0", "w1", "v1", "v8", "w9"):
        for document in ({"kind": word}, {"n": 1, "kind": word}, {"kind": word, "n": "a"}):
            assert accepts(grammar, document) == oracle.is_valid(document)


def test_from_where_heavy_schemas_are_reached() -> None:
    n_heavy = 0
    for number in range(40):
        _, schema = hard_schema(3, number)
        schema["properties"] = {**schema.get("properties", {}), "again": {"items": {"$ref": "#/properties/v"}}}
        if "v" not in schema["properties"]:
            schema["properties"]["again"] = {"items": {"$ref": "#"}}
        try:
            algebra, survey = survey_of(schema)
        except GrammarError:
            continue
        found, above = heavy(survey)
        assert above is not None or not found
        # The places that hold a heavy one or refer to it, and those above them.
        documents = algebra.documents
        reaching = set(found)
        n = -1
        while n < len(reaching):
            n = len(reaching)
            for place in documents.reached:
                below = [*documents.children(place), *survey.targets.get(place, [])]
                if not reaching.isdisjoint(below):
                    reaching.add(place)
        assert (above or set()) == reaching
        n_heavy += bool(found)
    assert n_heavy > 10


def test_a_grammar_goes_on_with_what_was_rehearsed() -> None:
    schema = {"oneOf": [{"required": [f"k{i}"], "maxProperties": i} for i in range(1, 9)], "type": "object"}
    algebra, survey = survey_of(schema)
    found, above = heavy(survey)
    assert found
    rehearsal = rehearsed(algebra, above, SchemaLoader)
    assert rehearsal.is_small() and rehearsal.algebra is algebra
    n_symbols = rehearsal.engine.n_symbols
    symbol = rehearsal.loader.start(algebra.place(algebra.documents.root))
    assert symbol < n_symbols == rehearsal.engine.n_symbols
    rehearsal.engine.work_out_first(symbol, MAX_FIRST)
    rehearsal.engine.finish(symbol)
    grammar = Grammar.from_json_schema(schema)
    assert grammar.stats()["symbols"] == rehearsal.engine.stats()["symbols"]
    oracle = Oracle(schema)
    for document in ({"k1": 1}, {"k2": 1}, {"k1": 1, "k2": 2}, {"k8": 1, "x": 2}, {}):
        assert accepts(grammar, document) == oracle.is_valid(document)


@pytest.mark.parametrize("keyword", ["not", "if", "oneOf"])
def test_a_long_chain_of_applicators_is_refused_soon(keyword: str) -> None:
    """Each place of the chain has all those after it: to look at all of them would take quadratic time and memory."""

    def step(target: dict[str, str]) -> dict[str, Any]:
        if keyword == "oneOf":
            return {"oneOf": [target, {"type": "null"}]}
        return {keyword: target, "then": True, "else": False} if keyword == "if" else {keyword: target}

    n = 3000
    steps = {f"d{i}": step({"$ref": f"#/$defs/d{i + 1}"}) for i in range(n)}
    with pytest.raises(GrammarError) as caught:
        Grammar.from_json_schema({"$ref": "#/$defs/d0", "$defs": {**steps, f"d{n}": {"type": "integer"}}})
    assert getattr(caught.value, "limit", "") == "", "no limit of time or memory is met"
