"""The oracle of JSON Schema: `jsonschema`, made exact.

    oracle = Oracle(schema, registry={...})
    oracle.accepts('{"a": 1.10}')

These are the changes; `test_schema_oracle.py` has a test for each:

- numbers are exact: texts and schemas are read with `parse_float=Decimal`, and `multipleOf` is computed on fractions;
- true is not 1, false is not 0, and 1 is 1.0, also at any depth of items that must be unique;
- in draft 4 an integer is a number written without fraction and exponent, later any number without a fraction;
- patterns are those of ECMA-262, with code points as characters, matched by `regress` (a pattern that is malformed with
 the flag `u` is read without it, as our grammars and the official suite do);
- `schema_formats` asserts formats;
- `dependencies` is asserted in all drafts: later ones leave it to the implementation;
- in 2019-09, `additionalProperties` evaluates the keys that it is about, and `contains` evaluates no items;
- the target of a reference to a root with `$schema` is judged exactly as well;
- a root without `$id` is in the dynamic scope, too;
- an object with a repeated key is not valid.

One known fault remains: a `$ref` to a `$dynamicAnchor` is resolved like a `$dynamicRef`, and not statically (2020-12
core, 8.2.3.1). No schema that is judged here has one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import jsonschema
import referencing
import regress
from jsonschema import _keywords, _legacy_keywords, _utils, validators
from jsonschema_specifications import REGISTRY as METASCHEMAS
from referencing.jsonschema import DRAFT202012, specification_with

from support.schema_formats import FORMATS

VALIDATORS = (
    jsonschema.Draft4Validator,
    jsonschema.Draft6Validator,
    jsonschema.Draft7Validator,
    jsonschema.Draft201909Validator,
    jsonschema.Draft202012Validator,
)
ROOT = "http://root.example/"
"""The URI of a root that has none."""
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


@lru_cache(maxsize=1000)
def compiled(pattern: str) -> regress.Regex:
    try:
        return regress.Regex(pattern, "u")
    except regress.RegressError:
        return regress.Regex(pattern)


def is_judged(text: str) -> bool:
    """Return whether the oracle can judge a text: Decimal does not read every exponent, and fractions grow with it."""
    return re.search("[0-9][eE][+-]?[0-9]{6}", text) is None


def ecma_search(pattern: str, text: str) -> bool:
    """Return whether an ECMA-262 pattern matches somewhere. A lone surrogate is replaced by another character."""
    whole = "".join(REPLACEMENT if 0xD800 <= ord(char) < 0xE000 else char for char in text)
    return compiled(pattern).find(whole) is not None


class _EcmaRe:
    """The part of `re` that `jsonschema` uses."""

    @staticmethod
    def search(pattern: str, text: str) -> bool:
        return ecma_search(pattern, text)


# Deep in `jsonschema`, `additionalProperties` and `unevaluatedProperties` match the patterns of `patternProperties`.
for _module in (_keywords, _legacy_keywords, _utils):
    if hasattr(_module, "re"):
        _module.re = _EcmaRe


_evaluated_keys = _utils.find_evaluated_property_keys_by_schema
_evaluated_items_2019 = _legacy_keywords.find_evaluated_item_indexes_by_schema


def _keys(validator: Any, instance: Any, schema: Any) -> list[str]:
    """Return the keys that a schema evaluates: as `jsonschema` does in 2020-12, and by `$recursiveRef` in 2019-09."""
    found = list(_evaluated_keys(validator, instance, schema))
    if isinstance(schema, dict) and "$recursiveRef" in schema and "$recursiveRef" in validator.VALIDATORS:
        resolved = _legacy_keywords.lookup_recursive_ref(validator._resolver)
        inner = validator.evolve(schema=resolved.contents, _resolver=resolved.resolver)
        found += _keys(inner, instance, resolved.contents)
    return found


def _items_2019(validator: Any, instance: Any, schema: Any) -> list[int]:
    """Return the items that a schema of 2019-09 evaluates; `contains` evaluates none in that draft."""
    if isinstance(schema, dict):
        schema = {keyword: value for keyword, value in schema.items() if keyword != "contains"}
        if isinstance(schema.get("items"), bool):
            schema["items"] = {}
    return list(_evaluated_items_2019(validator, instance, schema))


for _module in (_keywords, _legacy_keywords, _utils):
    _module.find_evaluated_property_keys_by_schema = _keys
_legacy_keywords.find_evaluated_item_indexes_by_schema = _items_2019


class _RepeatedKeyError(Exception):
    pass


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _RepeatedKeyError
    return found


def exactly(text: str) -> Any:
    """Read a JSON text, with its numbers as int and Decimal."""
    return json.loads(text, parse_float=Decimal)


def same(one: Any, other: Any) -> bool:
    """Return whether two values are equal in JSON's sense (2020-12 core, 4.2.2)."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, (int, Decimal)) and isinstance(other, (int, Decimal)):
        return one == other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    return type(one) is type(other) and bool(one == other)


def _is_number(checker: Any, value: Any) -> bool:
    return isinstance(value, (int, Decimal)) and not isinstance(value, bool)


def _is_integer(checker: Any, value: Any) -> bool:
    return _is_number(checker, value) and (isinstance(value, int) or value == value.to_integral_value())


def _is_written_integer(checker: Any, value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


Errors = Iterator[jsonschema.ValidationError]


def _multiple_of(validator: Any, factor: Any, instance: Any, schema: Any) -> Errors:
    if validator.is_type(instance, "number") and Fraction(instance) % Fraction(factor):
        yield jsonschema.ValidationError(f"{instance} is not a multiple of {factor}")


def _unique_items(validator: Any, asserted: Any, instance: Any, schema: Any) -> Errors:
    if asserted and isinstance(instance, list):
        if any(same(instance[i], instance[j]) for j in range(len(instance)) for i in range(j)):
            yield jsonschema.ValidationError("items are the same")


def _pattern(validator: Any, pattern: Any, instance: Any, schema: Any) -> Errors:
    if isinstance(instance, str) and not ecma_search(pattern, instance):
        yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")


def _format(validator: Any, name: Any, instance: Any, schema: Any) -> Errors:
    if isinstance(instance, str) and name in FORMATS and not FORMATS[name](instance):
        yield jsonschema.ValidationError(f"{instance!r} is no {name}")


def _ignored(validator: Any, value: Any, instance: Any, schema: Any) -> Errors:
    return iter(())


def _made_exact(base: Any, format_assertion: bool) -> Any:
    written = base is jsonschema.Draft4Validator
    checker = base.TYPE_CHECKER.redefine_many(
        {"number": _is_number, "integer": _is_written_integer if written else _is_integer}
    )
    changed: dict[str, Any] = {
        "multipleOf": _multiple_of,
        "uniqueItems": _unique_items,
        "pattern": _pattern,
        "dependencies": _legacy_keywords.dependencies_draft4_draft6_draft7,
        "format": _format if format_assertion else _ignored,
    }
    return validators.extend(base, changed, type_checker=checker)


EXACT = {(base, asserted): _made_exact(base, asserted) for base in VALIDATORS for asserted in (True, False)}
_validator_for = validators.validator_for


def _exact_validator_for(schema: Any, default: Any = jsonschema.Draft202012Validator) -> Any:
    """Choose a validator as `jsonschema` does, but an exact one if an exact one refers to another draft or root."""
    found = _validator_for(schema, default)
    for (_, asserted), exact in EXACT.items():
        if exact is default:
            return EXACT.get((found, asserted), found)
    return found


validators.validator_for = _exact_validator_for


def _has_dynamic_anchor(schema: Any) -> bool:
    if isinstance(schema, list):
        return any(map(_has_dynamic_anchor, schema))
    if not isinstance(schema, dict):
        return False
    return "$dynamicAnchor" in schema or "$recursiveAnchor" in schema or any(map(_has_dynamic_anchor, schema.values()))


class Oracle:
    """The meaning of a schema. `schema`: JSON values or a text, of draft 2020-12 unless `$schema` says otherwise.

    `registry`: URI -> schema.
    """

    def __init__(
        self, schema: Any, *, registry: Mapping[str, Any] | None = None, format_assertion: bool = True
    ) -> None:
        schema = exactly(schema if isinstance(schema, str) else json.dumps(schema))
        if isinstance(schema, dict) and "$id" not in schema and _has_dynamic_anchor(schema):
            schema = {"$id": ROOT, **schema}
        base = _validator_for(schema, default=jsonschema.Draft202012Validator)
        known: referencing.Registry[Any] = METASCHEMAS  # it fetches nothing, unlike jsonschema's default
        uri_of_draft = base.META_SCHEMA.get("$id") or base.META_SCHEMA["id"]
        specification = specification_with(uri_of_draft, default=DRAFT202012)
        for uri, contents in (registry or {}).items():
            contents = exactly(json.dumps(contents))
            resource = referencing.Resource.from_contents(contents, default_specification=specification)
            known = known.with_resource(uri, resource)
        self._validator = EXACT[base, format_assertion](schema, registry=known)

    def accepts(self, text: str) -> bool:
        """Return whether a text is a valid JSON document in which no object repeats a key."""
        try:
            instance = json.loads(text, parse_float=Decimal, object_pairs_hook=_object, parse_constant=_no_constant)
        except (json.JSONDecodeError, _RepeatedKeyError):
            return False
        return self.is_valid(instance)

    def is_valid(self, instance: Any) -> bool:
        """Return whether an instance, with int and Decimal as numbers, is valid. RecursionError: it has a loop."""
        try:
            return bool(self._validator.is_valid(instance))
        except BaseException as error:
            if type(error).__name__ == "PanicException":  # a RecursionError inside `regress`, which is written in Rust
                raise RecursionError from None
            raise


def _no_constant(name: str) -> Any:
    raise _RepeatedKeyError  # NaN and the like are no JSON
