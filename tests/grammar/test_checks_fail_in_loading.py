"""If any check of a limit fails while a grammar is loaded, loading raises LimitError, and nothing half made remains.

In a debug build the core's n-th check can be made to fail (`earley/_meter`), whatever it limits. Each grammar below is
loaded with n = 0, 1, ... After a failure it is loaded again, and its masks must be those of a grammar whose loading
never failed: loaders share what they have computed of numbers, formats, classes and imported texts. Each loading that
fails begins without these.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from earleymask import Grammar, GrammarError, LimitError, Matcher
from earleymask.earley._meter import fail_checks
from earleymask.grammar.lark import modules
from earleymask.trie._build import is_debug
from support.effort import effort
from support.mask_paths import all_strings, filled

pytestmark = pytest.mark.skipif(not is_debug(), reason="checks fail on demand in debug builds alone")

VOCABULARY = all_strings('{}[]":,ab12 -', 2)


def schema(given: Any, **options: Any) -> Callable[[], Grammar]:
    return lambda: Grammar.from_json_schema(given, **options)


LOADS: dict[str, tuple[Callable[[], Grammar], bytes]] = {
    "lark": (
        lambda: Grammar.from_lark(
            'start: (WORD | NUMBER | list)+\nlist: "[" [start ("," start)~0..3] "]"\nWORD: /[ab]+(?!1)/\n'
            "%import common.NUMBER\n%ignore / +/"
        ),
        b"ab [a,12] 1",
    ),
    "lark attributes": (
        lambda: Grammar.from_lark(
            "start: (TEXT | tool | short)*\ntool[commit]: /aa/ /b/\nshort[capture, max_tokens=2]: /1+/\nTEXT: /[ab, ]/"
        ),
        b"a,aab 11,",
    ),
    "lark with values": (
        lambda: Grammar.from_lark(
            'start: perm::0\nperm::_: "" %if is_ones([0:3]) | "a" perm::set_bit(0) %if bit_clear(0)\n'
            '  | "b" perm::set_bit(1) %if bit_clear(1) | "," perm::set_bit(2) %if bit_clear(2)'
        ),
        b"b,a",
    ),
    "lark with a schema": (
        lambda: Grammar.from_lark(
            'start: "a" %json {"type": "object", "additionalProperties": {"type": "integer"}} "b"\n'
            "  | %regex {\"substring_chars\": \"1212\"}"
        ),
        b'a{"a":1,"b":2}b',
    ),
    "gbnf": (
        lambda: Grammar.from_gbnf('root ::= (item ",")* item?\nitem ::= [a-b]{1,3} | "[" root "]" | [0-9]+ | "é"'),
        b"ab,[1,2],b",
    ),
    "regex": (lambda: Grammar.from_regex(r"(?i:[ab]{1,20}?|\d+(?=,)|\W(?<! ))*"), b"ab1,a- 1"),
    "ecma regex": (lambda: Grammar.from_regex(r"^(?:\p{L}+|[^\w]){2,}$", dialect="ecma"), b"ab, a{"),
    "choices": (lambda: Grammar.from_choices(["a", "ab", "a b", "b1", "{}", "2" * 40]), b"a b"),
    "objects": (
        schema(
            {"properties": {"a": {"type": "integer"}, "b": {"enum": [1, "a"]}}, "required": ["a"], "maxProperties": 4}
        ),
        b'{"a": 12, "b": 1}',
    ),
    "combined schemas": (
        schema(
            {
                "oneOf": [
                    {"type": "object", "dependentRequired": {"a": ["b"]}, "patternProperties": {"b.$": {"minimum": 2}}},
                    {"type": "array", "uniqueItems": True, "contains": {"const": 1}, "items": {"maximum": 2}},
                    {"type": "integer", "multipleOf": 3, "not": {"multipleOf": 2}},
                ]
            },
            property_order="any",
        ),
        b'[1,2, "a",[]]',
    ),
    "closed schema": (
        schema({"anyOf": [{"properties": {"a": True}}, {"required": ["b"]}], "type": "object"}, closed=True),
        b'{"a":[{}]}',
    ),
    "formats": (
        schema({"prefixItems": [{"type": "string", "format": "date"}, {"type": "number", "minimum": 1.5}]}),
        b'["1212-12-12",2',
    ),
}  # fmt: skip


def tokens_of(text: bytes) -> list[int]:
    ids = {VOCABULARY.token_bytes(i): i for i in range(VOCABULARY.size)}
    return [ids[text[i : i + 2]] for i in range(0, len(text), 2)]


def forget_shared() -> int:
    """Clear what loaders share; return how many functions remember something."""
    modules._libraries.clear()
    n = 0
    for name, module in list(sys.modules.items()):
        if name.startswith("earleymask.grammar"):
            known = list(vars(module).values())
            for value in [*known, *[one for table in known if type(table) is dict for one in table.values()]]:
                if hasattr(value, "cache_clear"):
                    value.cache_clear()
                    n += 1
                elif isinstance(getattr(value, "results", None), dict):  # `kept_by_weight`
                    value.results.clear()
                    n += 1
    return n


def masks(grammar: Grammar, text: bytes) -> list[bytes]:
    """Return the masks before and after each token of a text, up to the first token that is refused."""
    matcher = Matcher(grammar, VOCABULARY)
    found = [filled(matcher).tobytes()]
    for token in tokens_of(text):
        if not matcher.accept(token):
            break
        found.append(filled(matcher).tobytes())
    return found


def test_what_loaders_share_is_found() -> None:
    for load, text in LOADS.values():
        assert len(masks(load(), text)) > 1
    assert forget_shared() > 20


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "for good"])
@pytest.mark.parametrize("name", LOADS)
def test_any_check_of_a_loading_may_fail(name: str, lasting: bool) -> None:
    load, text = LOADS[name]
    expected = masks(load(), text)
    assert len(expected) > 1
    after = n_failed = 0
    while True:
        grammar = None
        forget_shared()
        fail_checks(after, lasting=lasting)
        try:
            grammar = load()
        except LimitError:
            pass
        except GrammarError as error:  # one failure may look like a keyword that is too much
            if lasting or "cannot be enforced" not in str(error):
                raise
        finally:
            has_failed = fail_checks(None) > 0
        if not has_failed:
            assert grammar is not None
            break
        n_failed += 1
        if grammar is not None:  # one failure may only have ended the search for something better
            assert not lasting and masks(grammar, text) == expected, after
        assert masks(load(), text) == expected, after
        # The checks up to 1,000, or a sample of them, then ever fewer.
        after += 1 + after // effort(3, 1000)
    assert n_failed > 5
