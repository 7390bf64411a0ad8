"""Arrays and objects that must differ, however many there are: masks are exact, byte by byte and token by token."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import permutations, product
from random import Random
from typing import Any

import pytest

pytest.importorskip("regress")
pytest.importorskip("jsonschema")

from campaign.schema_checks import accepts
from earleymask import Grammar, GrammarError, Matcher, Vocabulary
from earleymask.grammar.json_schema import finite
from earleymask.grammar.json_schema.followed_items import Reading
from earleymask.grammar.json_schema.terms import canonical
from support.mask_paths import agreed
from support.schema_oracle import Oracle

# --- Finite languages, all of whose texts are written out. The tables of few values are turned off. -------------------

SCALARS: tuple[Any, ...] = (True, False, None, 1, 2, "a", "ab")
MOST = 1500


def item(rng: Random, depth: int = 0) -> dict[str, Any]:
    kind = rng.random()
    if depth > 1 or kind < 0.25:
        return {"enum": rng.sample(SCALARS, rng.randint(1, 3))}
    if kind < 0.65:
        names = rng.sample(["a", "b", "ab"], rng.randint(0, 2))
        found: dict[str, Any] = {"type": "object", "properties": {name: item(rng, depth + 1) for name in names}}
        found |= {"additionalProperties": False, "required": [name for name in names if rng.random() < 0.5]}
        if rng.random() < 0.2:
            found[rng.choice(("minProperties", "maxProperties"))] = 1
        return found
    if kind < 0.9:
        found = {"type": "array", "items": item(rng, depth + 1), "maxItems": rng.randint(1, 2)}
        if rng.random() < 0.4:
            found |= {"uniqueItems": True} if rng.random() < 0.8 else {"not": {"uniqueItems": True}}
        if rng.random() < 0.2:
            found["minItems"] = 1
        return found
    return {"anyOf": [item(rng, depth + 1), item(rng, depth + 1)]}


def array(rng: Random) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "array", "items": item(rng), "maxItems": rng.randint(1, 3)}
    if rng.random() < 0.4:
        found["minItems"] = rng.randint(1, 3)
    if rng.random() < 0.2:
        return {**found, "not": {"uniqueItems": True}}
    found["uniqueItems"] = True
    if rng.random() < 0.2:
        found["prefixItems"] = [item(rng) for _ in range(rng.randint(1, 2))]
    if rng.random() < 0.2:
        found["contains"] = item(rng, 1)
        if rng.random() < 0.3:
            found["maxContains"] = 1
    return found


def universe(schema: dict[str, Any]) -> list[Any]:
    """Return values among which are all that a schema made here allows. OverflowError: they are too many."""
    if "enum" in schema:
        return list(schema["enum"])
    if "anyOf" in schema:
        return [value for branch in schema["anyOf"] for value in universe(branch)]
    if schema["type"] == "object":
        found: list[Any] = [{}]
        for name, member in schema["properties"].items():
            found += [{**one, name: value} for one in found for value in universe(member)]
        return found
    found = [[]]
    longest: list[Any] = [[]]
    prefix = schema.get("prefixItems", [])
    for index in range(schema["maxItems"]):
        values = universe(prefix[index] if index < len(prefix) else schema["items"])
        if len(longest) * len(values) > MOST:
            raise OverflowError
        longest = [[*one, value] for one in longest for value in values]
        found += longest
    return found


def texts(value: Any) -> list[str]:
    """Return the texts of a value without white space: one for each order of keys."""
    if isinstance(value, dict):
        return [
            "{" + ",".join([f"{json.dumps(name)}:{text}" for name, text in zip(order, parts, strict=True)]) + "}"
            for order in permutations(value)
            for parts in product(*[texts(value[name]) for name in order])
        ]
    if isinstance(value, list):
        return [f"[{','.join(parts)}]" for parts in product(*[texts(item) for item in value])]
    return [json.dumps(value)]


def sentences(schema: dict[str, Any]) -> set[bytes]:
    oracle = Oracle(schema)
    valid = {canonical(value): value for value in universe(schema) if oracle.is_valid(value)}
    found = {text.encode() for value in valid.values() for text in texts(value)}
    if len(found) > 2 * MOST:
        raise OverflowError
    return found


BYTES = Vocabulary.bytes()


def assert_exact(rng: Random, grammar: Grammar, all_texts: set[bytes], schema: str) -> None:
    """Assert that masks hold exactly the tokens that lead to one of the texts."""
    following: dict[bytes, set[int]] = {}
    for text in all_texts:
        for at in range(len(text)):
            following.setdefault(text[:at], set()).add(text[at])
        following.setdefault(text, set()).add(256)
    for prefix in rng.sample(sorted(following), min(len(following), 60)):
        matcher = Matcher(grammar, BYTES)
        assert all(map(matcher.accept, prefix)), (schema, prefix)
        assert set(matcher.mask().nonzero()[0].tolist()) == following[prefix], (schema, prefix)
    some = rng.sample(sorted(all_texts), min(len(all_texts), 8))
    pieces = {text[at : at + rng.randint(2, 6)] for text in some for at in range(len(text))}
    tokens = [bytes([byte]) for byte in range(32, 127)] + sorted(piece for piece in pieces if len(piece) > 1)
    vocabulary = Vocabulary.from_tokens([*tokens, b""], eos_token_id=len(tokens))
    for text in some[:4]:
        matcher = Matcher(grammar, vocabulary)
        at = 0
        while at < len(text):
            allowed = agreed(matcher).nonzero()[0].tolist()
            expected = [token for token, piece in enumerate(tokens) if text[:at] + piece in following]
            assert allowed == expected + [len(tokens)] * (text[:at] in all_texts), (schema, text[:at])
            token = rng.choice([token for token in expected if text.startswith(tokens[token], at)])
            assert matcher.accept(token)
            at += len(tokens[token])


def assert_refused_rightly(message: str, all_texts: set[bytes]) -> None:
    reasons = ("no document satisfies", "there may be too few items", "it may stand under a negation")
    assert any(reason in message for reason in reasons), message
    assert not all_texts or not message.startswith("no document")


@pytest.mark.parametrize("seed", range(8))
def test_finite_languages_are_exact(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finite, "MAX_LISTED", seed % 2 * 4)
    rng = Random(f"followed {seed}")
    n_enforced = 0
    while n_enforced < 12:
        schema = array(rng)
        try:
            expected = sentences(schema)
        except OverflowError:
            continue
        style = {"whitespace": "compact", "string_escapes": "shortest", "number_plain": True}
        try:
            grammar = Grammar.from_json_schema(schema, property_order="any", **style)
        except GrammarError as error:
            assert_refused_rightly(error.message, expected)
            continue
        n_enforced += 1
        assert_exact(rng, grammar, expected, json.dumps(schema))


# --- Infinite ones: a token is in the mask exactly if its bytes can be accepted, and what ends is valid. --------------

ITEMS: tuple[Any, ...] = (
    {"type": "object"},
    {"type": "array"},
    True,
    {"type": ["object", "string"]},
    {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False},
    {"type": "object", "properties": {"k": {"enum": ["x", "xy"]}, "v": {"type": "integer"}}}
    | {"additionalProperties": False},
    {"type": "array", "items": {"type": "boolean"}},
    {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "boolean"}}, "uniqueItems": True},
    {"type": "object", "additionalProperties": {"type": "null"}, "maxProperties": 2},
    {"type": "object", "additionalProperties": {"type": ["string", "integer"]}},
    {"type": "object", "properties": {"a": {"items": {"type": ["string", "integer"]}, "uniqueItems": True}}}
    | {"additionalProperties": False},
    {"type": "array", "items": {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}}
    | {"uniqueItems": True},
)  # fmt: skip
PIECES = [
    *(b'"}', b'"},', b'"}, {', b'"},{"', b'": "', b'": ', b'xy"', b'"a"', b'"a": "', b'"k": "x"', b"12", b"1}", b"1},"),
    *(b"1}, {", b"1 }", b"true", b"false]", b"true],", b"null", b"null}", b"{}", b"[]", b"{},", b"{}, {", b"[], ["),
    *(b'"]', b'"], ', b"}]", b"}] ", b'"} ', b'" }', b'", "', b"1]", b'v": 1}, {"', b"]]", b'" ', b"1\n", b"} "),
    *(
        b'x","x",',
        b"1,1,",
        b"1,2",
        b"12,",
        b'"x",',
        b'": 1, "a": 1, "',
        b'"],"a',
        b'1], "',
        b'":["x","x"',
        b'["x","x",',
    ),
    *(
        b':1,"a":1',
        b'{"a":1},{"a":1},',
        b'1},{"a":1},',
        b'x"},{"a":"x"},',
        b'x":1,"x":1',
        b"[1],[1],",
        b"],[1],",
        b"1],[1]",
    ),
    *(b", true", b", {", b'{"a"', b'{"a": "x"}', b', {"a": "x"}', b'x"}, {"a": "x', b", ", b"\n  "),
]
CHARACTERS = [bytes([byte]) for byte in b'{}[],: "\naxykv12']
TOKENS = [bytes([byte]) for byte in range(256)] + PIECES
WORDS = Vocabulary.from_tokens([*TOKENS, b""], eos_token_id=len(TOKENS))


def any_array(rng: Random) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "array", "items": rng.choice(ITEMS)}
    if rng.random() < 0.3:
        found["minItems"] = rng.randint(1, 3)
    if rng.random() < 0.3:
        found["maxItems"] = rng.randint(3, 4)
    if rng.random() < 0.25:
        found["not"] = {"uniqueItems": True}
    else:
        found["uniqueItems"] = True
        if rng.random() < 0.2:
            found["contains"] = rng.choice(ITEMS)
        if rng.random() < 0.2:
            found["prefixItems"] = [rng.choice(ITEMS)]
    if rng.random() < 0.3:
        return {"type": "object", "properties": {"l": found}, "required": ["l"], "additionalProperties": False}
    return found


@pytest.mark.parametrize("in_array", [False, True])
def test_a_comma_does_not_follow_when_no_key_is_left(in_array: bool) -> None:
    """A token that ends a key, and after it has the comma for the next key, is refused if that key was the last one."""
    tokens = [b'{"', b'a"', b'b"', b":1,", b":1, ", b':1,"b":1,', b":1}", b': 1, "', b"[", b"]", b""]
    vocabulary = Vocabulary.from_tokens(tokens, eos_token_id=10)
    schema: dict[str, Any] = {"patternProperties": {"^[ab]$": {"const": 1}}, "additionalProperties": False}
    schema["type"] = "object"
    begin = [0, 1]
    if in_array:
        schema = {"type": "array", "items": schema, "uniqueItems": True}
        begin = [8, 0, 1]
    grammar = Grammar.from_json_schema(schema)
    for taken, expected in [(begin, [3, 4, 6, 7]), ([*begin, 7, 2], [6])]:
        matcher = Matcher(grammar, vocabulary)
        assert all(matcher.accept(token) for token in taken)
        assert agreed(matcher).nonzero()[0].tolist() == expected, taken


ONES = {"additionalProperties": {"const": 1}}


@pytest.mark.parametrize(
    "schema",
    [
        ONES,
        ONES | {"properties": {"a": {"const": 1}}},
        ONES | {"maxProperties": 2},
        ONES | {"minProperties": 2, "required": ["b"]},
        ONES | {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        ONES | {"anyOf": [{"properties": {"a": {"const": 1}}, "additionalProperties": False}, {"required": ["b"]}]},
        ONES | {"propertyNames": {"maxLength": 1, "pattern": "[ab]"}},
        ONES | {"not": {"propertyNames": {"enum": ["a"]}}},
        {"allOf": [ONES, {"patternProperties": {"[^ab]|..": False}}]},
        {"propertyNames": {"pattern": "^[ab]$"}, "patternProperties": {"a": {"const": 1}}},
        {"unevaluatedProperties": False, "anyOf": [{"patternProperties": {"^a$": {"const": 1}}}, {"required": ["b"]}]},
    ],
)
def test_masks_of_objects_hold_no_comma_too_many(schema: dict[str, Any]) -> None:
    """After each text of a few tokens, the mask is what trying every token says, if keys may run out or not."""
    tokens = [b'{"', b'a"', b'b"', b":1,", b':1,"', b':1,"b":1,', b":1}", b",", b'"', b""]
    vocabulary = Vocabulary.from_tokens(tokens, eos_token_id=9)
    matcher = Matcher(Grammar.from_json_schema(schema | {"type": "object"}), vocabulary)

    def walk(depth: int) -> int:
        n = 1
        for token in agreed(matcher).nonzero()[0].tolist():
            if token != 9 and depth:
                assert matcher.accept(token)
                n += walk(depth - 1)
                matcher.rollback(1)
        return n

    assert walk(6) > 3


@pytest.mark.parametrize("seed", range(6))
def test_walks_through_masks_end_in_arrays_of_different_items(seed: int) -> None:
    rng = Random(f"walks over items {seed}")
    for _ in range(6):
        schema = any_array(rng)
        try:
            grammar = Grammar.from_json_schema(schema, property_order=rng.choice(["any", "schema"]))
        except GrammarError as error:
            assert_refused_rightly(error.message, set())
            continue
        oracle = Oracle(schema)
        for _ in range(2):
            walk(rng, grammar, oracle, json.dumps(schema))


def walk(rng: Random, grammar: Grammar, oracle: Oracle, schema: str) -> None:
    matcher = Matcher(grammar, WORDS)
    written = b""
    for n in range(60):
        allowed = agreed(matcher)
        ids = allowed.nonzero()[0].tolist()
        assert ids, (schema, written)
        for token in [*rng.sample(range(256), 5), *rng.sample(range(256, len(TOKENS)), 15)]:
            fork = matcher.fork()
            assert all(map(fork.accept, TOKENS[token])) == allowed[token], (schema, written, TOKENS[token])
        usual = [token for token in ids if token >= 256 or TOKENS[token] in CHARACTERS]
        closing = [token for token in ids if token == len(TOKENS) or TOKENS[token] in (b'"', b"}", b"]")]
        token = rng.choice((closing if n > 40 else usual) or ids)
        assert matcher.accept(token)
        if token == len(TOKENS):
            assert oracle.accepts(written.decode()), (schema, written)
            return
        written += TOKENS[token]


# --- Whether items run out, which decides whether tokens are tried that end after a comma. ----------------------------

AB = {"enum": ["a", "b"]}
PATTERN = {"type": "string", "pattern": "^(a|b.*)$"}


def closed(required: list[str], **members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": members, "required": required, "additionalProperties": False}


NEVER_RUN_OUT: list[tuple[dict[str, Any], bool]] = [
    ({"items": {"type": "string"}}, True),
    ({"items": {"type": "string", "maxLength": 4}}, True),
    ({"items": {"type": "string", "maxLength": 1}}, False),
    ({"items": PATTERN}, False),  # few begin with an "a", and all could be counted only by a search
    ({"items": {"type": ["boolean", "string"]}}, True),
    ({"items": {"type": "integer"}}, True),
    ({"items": {"type": "integer", "minimum": 0, "maximum": 300}}, False),
    ({"items": {"type": "integer", "multipleOf": 10**149}}, False),  # nine have at most 150 digits
    ({"items": {"type": "object"}}, True),
    ({"items": {"anyOf": [AB, {"type": "object"}]}}, False),  # after a comma, a text may be refused
    ({"items": {"anyOf": [{"type": "string"}, closed([], a={"const": 1})]}}, False),
    ({"items": {"anyOf": [{"type": "string"}, {"type": "array", "items": AB, "maxItems": 9}]}}, False),
    ({"items": {"anyOf": [{"type": "string"}, {"type": "array"}, {"type": "object"}]}}, True),
    ({"items": closed(["a"], a=PATTERN, b={"type": "string"})}, True),
    ({"items": closed(["a", "b"], a=PATTERN, b={"type": "integer", "maximum": 9})}, True),
    ({"items": closed(["a"], a=PATTERN)}, False),
    ({"items": closed(["a", "b"], a={"$ref": "#/items"}, b={"type": "string"})}, False),  # none is finite
    ({"items": {**closed([], a={"type": "string"}), "minProperties": 2}}, False),
    ({"items": {**closed(["a"], a=PATTERN, b={"type": "string"}), "maxProperties": 1}}, False),
    ({"items": {"type": "string"}, "prefixItems": [PATTERN]}, False),
    ({"items": {"type": "string"}, "contains": AB}, False),
    ({"items": {"type": "array", "items": {"type": "string"}, "minItems": 2}}, True),
    ({"items": {"type": "array", "items": {"type": "string"}, "maxItems": 2}}, False),  # not easy to see
]
STEPS = [bytes([byte]) for byte in b'[]{}",:ab1 ']
STEPS += [
    b'","',
    b'", "',
    b'"a"',
    b'"a",',
    b'"a","',
    b'"b",',
    b'a",',
    b"1,",
    b"1,2",
    b"{}",
    b"{},",
    b'"},',
    b'"},{',
    b'"},{"',
]
STEPS += [
    b'"}, {"',
    b'"}]',
    b"1},",
    b'":',
    b'"a":"',
    b'{"a":"a"},',
    b'"],',
    b'"],["',
    b"],[",
    b"true,",
    b",true",
    b'"],"',
    b"",
]
SMALL = Vocabulary.from_tokens(STEPS, eos_token_id=len(STEPS) - 1)


@pytest.mark.parametrize(("array", "never"), NEVER_RUN_OUT)
def test_masks_hold_no_comma_too_many(array: dict[str, Any], never: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Masks along random texts, whether items run out or not, and at any place of an array in a larger one."""
    found = []

    def of_items(self: finite.Plenty, shape: Any, terms: list[int]) -> bool:
        found.append(decide(self, shape, terms))
        return found[-1]

    decide = finite.Plenty.of_items
    monkeypatch.setattr(finite.Plenty, "of_items", of_items)
    rng = Random(json.dumps(array))
    array = {"type": "array", "uniqueItems": True, **array}
    n = 0
    for schema in (array, {"type": "array", "items": {**array, "minItems": 1}, "uniqueItems": True}):
        if schema is not array and "#" in json.dumps(array):
            continue
        try:
            grammar = Grammar.from_json_schema(schema, whitespace="compact")
        except GrammarError as error:
            assert_refused_rightly(error.message, set())
            continue
        for _ in range(12):
            matcher = Matcher(grammar, SMALL)
            for _ in range(14):
                allowed = agreed(matcher).nonzero()[0].tolist()
                n += 1
                if not allowed or not matcher.accept(token := rng.choice(allowed)) or token == len(STEPS) - 1:
                    break  # (this vocabulary has few digits)
        if schema is array:
            assert set(found) == {never}
    assert n > 20


@pytest.mark.parametrize("seed", range(4))
def test_what_is_finite_runs_out(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    decide = finite.Plenty.of_items
    monkeypatch.setattr(finite, "MAX_LISTED", 0)
    monkeypatch.setattr(finite.Plenty, "of_items", lambda *given: found.append(decide(*given)))
    rng = Random(f"finite {seed}")
    found: list[bool] = []
    while len(found) < 40:
        schema = array(rng)
        with suppress(GrammarError):
            matcher = Matcher(Grammar.from_json_schema(schema), SMALL)
            for _ in range(20):
                allowed = matcher.mask().nonzero()[0].tolist()
                if not allowed or not matcher.accept(rng.choice(allowed)):
                    break
    assert not any(found)


# --- Single cases. ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "are_equal"),
    [
        ('{"a": 1, "b": [1, 2]}', '{"b": [1, 2], "a": 1}', True),
        ('{"a": 1}', '{"a": 1.0}', True),
        ('{"a": 1}', '{"a": true}', False),
        ('{"\\u0061": "b"}', '{"a": "\\u0062"}', True),
        ("[1, 2]", "[2, 1]", False),
        ("[]", "{}", False),
        ('{"a": {}}', '{"a": []}', False),
        ('{"a": [[], {"b": null}]}', '{"a": [[], {"b": null}]}', True),
        ('{"a": 1}', '{"a": 1, "b": 1}', False),
        ("[0]", "[-0]", True),
    ],
)
def test_equal_values_are_refused_however_they_are_written(first: str, second: str, are_equal: bool) -> None:
    grammar = Grammar.from_json_schema({"uniqueItems": True}, property_order="any")
    assert accepts(grammar, f"[{first}, {second}]") != are_equal
    negated = Grammar.from_json_schema({"type": "array", "not": {"uniqueItems": True}}, property_order="any")
    assert accepts(negated, f"[{first}, {second}]") == are_equal


@pytest.mark.parametrize("spelled", [":1,", ": 1, ", " 1, "])
def test_a_token_that_begins_in_a_key_after_its_quote(spelled: str) -> None:
    """The colon and the blank after it belong to the key, so the key ends in these tokens, too."""
    tokens = [*TOKENS, f'{spelled}"a"'.encode(), f'{spelled}"b"'.encode()]
    vocabulary = Vocabulary.from_tokens([*tokens, b""], eos_token_id=len(tokens))
    matcher = Matcher(Grammar.from_json_schema({"type": "object"}, property_order="any"), vocabulary)
    assert all(map(matcher.accept, b'{"a":' if spelled[0] == " " else b'{"a"'))
    assert matcher.mask()[len(TOKENS) :].tolist() == [False, True, False]


def test_texts_within_an_item_are_not_read_for_a_mask_if_no_token_ends_the_item(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever such a text is, the item differs from all before it, so nothing is refused before the item has ended."""
    grammar = Grammar.from_json_schema({"items": {"type": "object"}, "uniqueItems": True})
    tokens = [bytes([byte]) for byte in range(256)] + [b'",', b'", "', b'"}', b'": "x", "a']
    matcher = Matcher(grammar, Vocabulary.from_tokens([*tokens, b""], eos_token_id=len(tokens)))
    assert all(map(matcher.accept, b'[{"a": 1}, {"a": "x'))
    monkeypatch.delattr(Reading, "read")
    assert matcher.mask()[256:-1].tolist() == [True, True, True, False]


def test_items_that_repeat_keep_the_order_of_the_schema() -> None:
    items = {"type": "object", "properties": {"b": {"type": "integer"}, "a": {"type": "string"}}}
    schema = {"type": "array", "items": items, "not": {"uniqueItems": True}, "maxItems": 2}
    grammar = Grammar.from_json_schema(schema)
    assert accepts(grammar, '[{"b": 1, "a": "x"}, {"b": 1, "a": "x"}]')
    assert accepts(grammar, '[{"b": 1, "d": 2, "c": 1}, {"b": 1, "c": 1, "d": 2}]')
    assert not accepts(grammar, '[{"b": 1, "a": "x"}, {"a": "x", "b": 1}]')


def test_an_item_that_repeats_and_has_many_keys() -> None:
    """The orders of its keys are not tried one by one."""
    items = {"type": "object", "properties": {"a": {"type": "integer"}}}
    schema = {"type": "array", "items": items, "maxItems": 2, "not": {"uniqueItems": True}}
    grammar = Grammar.from_json_schema(schema)
    others = {f"k{n}": n for n in range(16)}
    first = json.dumps([{"a": 1, **others}])[:-1]
    for keys in (others, dict(reversed(others.items()))):
        assert accepts(grammar, f"{first}, {json.dumps({'a': 1, **keys})}]")
    # Without "a" it would not be equal, and "a" comes first.
    assert Matcher(grammar, BYTES).validate(f'{first}, {{"k0"'.encode()) == len(first) + 4


def test_the_last_member_cannot_make_an_item_equal() -> None:
    item = {"properties": {"a": {"enum": ["red", "rose"]}}, "required": ["a"], "additionalProperties": False}
    schema = {"items": {"type": "object", **item, "maxProperties": 300}, "uniqueItems": True, "type": "array"}
    schema["items"]["properties"]["n"] = {"type": "integer"}  # type: ignore[index]
    grammar = Grammar.from_json_schema(schema, whitespace="compact")
    matcher = Matcher(grammar, BYTES)
    for byte in b'[{"a":"red"},{"a":"r':
        assert matcher.accept(byte)
    assert set(matcher.mask().nonzero()[0].tolist()) >= set(b"eo")
    assert accepts(grammar, '[{"a":"red"},{"a":"red","n":1}]')
    assert not accepts(grammar, '[{"a":"red"},{"a":"red"}]')


def test_a_long_array_of_objects() -> None:
    schema = {"type": "array", "items": {"type": "object", "required": ["id"]}, "uniqueItems": True}
    grammar = Grammar.from_json_schema(schema)
    items = [{"id": number, "name": f"n{number % 3}", "tags": [number % 2]} for number in range(40)]
    assert accepts(grammar, json.dumps(items))
    assert not accepts(grammar, json.dumps([*items, items[7]]))


def test_matchers_of_one_grammar_and_rollback() -> None:
    grammar = Grammar.from_json_schema({"items": {"type": "object"}, "uniqueItems": True})
    one, other = Matcher(grammar, BYTES), Matcher(grammar, BYTES)
    assert all(map(one.accept, b'[{"a": 1}, {"a": 1'))
    assert all(map(other.accept, b'[{"a": 2}, {"a": 1}'))
    assert not one.accept(ord("}"))
    one.rollback(len(b'1}, {"a": 1'))
    assert all(map(one.accept, b'2}, {"a": 1}]'))
    assert one.is_accepting()


def test_the_report_says_how_numbers_are_written() -> None:
    rows = Grammar.from_json_schema({"items": {"type": "object"}, "uniqueItems": True}).report
    assert not accepts(Grammar.from_json_schema({"items": {"type": "array"}, "uniqueItems": True}), "[[1e2]]")
    assert [(row.status, row.reason) for row in rows if row.keyword == "uniqueItems"] == [
        ("narrowed", "differing numbers")
    ]
