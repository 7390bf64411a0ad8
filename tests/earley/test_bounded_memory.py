"""The memory of a process grows by no more than the limits say, whatever is loaded and whichever text is read.

Each input is loaded in a process of its own, whose greatest resident memory the system measures. The input either fits,
or ends with an error that names the bound.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from earleymask import Grammar, LimitError, Limits, Matcher, Vocabulary
from earleymask.grammar.errors import GrammarLimitError

STATUS = Path("/proc/self/status")
MARGIN = 1.2
"""What the system counts in addition: pages that are touched in part, and memory that is freed and not given back."""
SMALL_CHANGE = 12 << 20
"""What modules that are imported late, and the interpreter, take beside."""

PRELUDE = """
import json, random, sys
import earleymask
from earleymask import Grammar, LimitError, Limits, Matcher, Vocabulary

def most():
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))

def value(i):
    return {"id": i, "tags": [f"t{i}", f"u{i % 7}"], "pos": {"x": i, "y": [i, i + 1]}}

def chain(n, keyword):
    links = {f"d{i}": {keyword: [{"$ref": f"#/$defs/d{i + 1}"}, {"const": i}]} for i in range(n)}
    return {"$defs": {**links, f"d{n}": {"type": "string"}}, "$ref": "#/$defs/d0"}

def names(n):
    return {f"property_name_{i}": {"type": "string"} for i in range(n)}

def shared(depth):
    return {"allOf": [shared(depth - 1)] * 2} if depth else {}

def rules(n):
    return "start: r0\\n" + "".join(f'r{i}: "k{i}" r{i + 1} | "x{i}"\\n' for i in range(n)) + f'r{n}: "a"'

schema, lark, gbnf = Grammar.from_json_schema, Grammar.from_lark, Grammar.from_gbnf
schema({"properties": {"a": {"enum": ["a", {"b": 1.5}]}}}), lark('start: "a"'), gbnf('root ::= "a"')
vocabulary = Vocabulary.bytes()
"""
MEASURED = """
source = {source}
before = most()
found = dict(load="", call="")
try:
    grammar = make(source, limits)
except LimitError as error:
    found["load"] = error.limit
    grammar = None
found["loaded"] = most() - before
if grammar is not None:
    before = most()
    try:
        matcher = Matcher(grammar, vocabulary)
        for byte in text:
            matcher.mask()
            assert matcher.accept(byte)
    except LimitError as error:
        found["call"] = error.limit
    found["called"] = most() - before
print(json.dumps(found))
"""

SCHEMA = "make = lambda source, limits: schema(source, limits=limits)"
ANY = "make = lambda source, limits: schema(source, limits=limits, property_order='any')"
LARK = "make = lambda source, limits: lark(source, limits=limits)"
GBNF = "make = lambda source, limits: gbnf(source, limits=limits)"

INPUTS = {
    "enum of nested values": (SCHEMA, "{'enum': [value(i) for i in range(3000)]}", "b'{'"),
    "members in any order": (ANY, "{'type': 'object', 'properties': names(12000)}", "b'{'"),
    "many members": (SCHEMA, "{'type': 'object', 'properties': names(20000)}", "b'{'"),
    "nested enums": (
        SCHEMA,
        "{'properties': {f'p{i}': {'properties': {f'q{j}': {'enum': [value(k) for k in range(30)]} for j in range(30)}}"
        " for i in range(30)}}",
        "b'{'",
    ),
    "chain of oneOf": (SCHEMA, "chain(900, 'oneOf')", "b''"),
    "chain of anyOf": (SCHEMA, "chain(4000, 'anyOf')", "b''"),
    "patterns of names": (
        SCHEMA,
        "{'patternProperties': {f'a.{{{i}}}$': {'minimum': i} for i in range(3, 12)}}",
        "b'{'",
    ),
    "branches": (
        SCHEMA,
        "{'oneOf': [{'properties': {f'k{i}': {'const': i}}, 'required': [f'k{i}']} for i in range(200)]}",
        "b'{'",
    ),
    "text of numbers": (SCHEMA, "'{\"default\": [' + '1.5,' * 300000 + '1]}'", "b''"),
    "text of objects": (SCHEMA, "'{\"default\": [' + '{},' * 300000 + '1]}'", "b''"),
    "dicts that share parts": (SCHEMA, "shared(40)", "b''"),
    "rules": (LARK, "rules(20000)", "b''"),
    "one rule": (LARK, "'start: ' + 'A|' * 200000 + 'A\\nA: \"a\"'", "b''"),
    "words": (GBNF, "'root ::= ' + '|'.join(f'\"word{i}\"' for i in range(50000))", "b''"),
    "regexp": (LARK, "'start: /' + 'ab?' * 100000 + '/'", "b''"),
    "lexer states": (LARK, "'start: /(a|b)*a(a|b){20}/ \"c\"'", "bytes(random.Random(1).choices(b'ab', k=3000))"),
    "ambiguous text": (LARK, '\'start: "a" start "a" | "a" | "b"\'', "b'a' * 2000"),
    "ambiguous lists": (LARK, '\'start: x x x\\nx: ("a" | "aa" | x x)*\'', "b'a' * 3000"),
}
ADDING = ("enum of nested values", "members in any order", "many members")
"""Their texts add many symbols, which may take what loading has left."""
REACHED = {"text of numbers": "load_bytes", "dicts that share parts": "load_bytes", "rules": "load_bytes"}
"""The bounds that these inputs must reach; all others may fit."""
LIMITS = Limits(load_bytes=32 << 20, grammar_bytes=16 << 20, matcher_bytes=16 << 20, load_seconds=20, seconds=20)
"""An eighth and a quarter of the default memory, so that small inputs reach it, and time that they do not reach."""


def measured(make: str, source: str, text: str, limits: Limits) -> dict[str, int | str]:
    code = f"{PRELUDE}\nlimits = {limits!r}\n{make}\ntext = {text}\n{MEASURED.format(source=source)}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, int | str] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.skipif(not STATUS.exists(), reason="/proc says how much memory a process takes; it is not here")
@pytest.mark.parametrize("name", INPUTS)
def test_a_process_grows_by_no_more_than_the_bounds(name: str) -> None:
    found = measured(*INPUTS[name], LIMITS)
    reached = found["load"] or found["call"]
    assert reached in REACHED.get(name, " load_bytes load_seconds grammar_bytes matcher_bytes row_items").split(" "), (
        found
    )
    assert int(found["loaded"]) < LIMITS.load_bytes * MARGIN + SMALL_CHANGE, found
    called = int(found.get("called", 0))
    most = LIMITS.grammar_bytes + (LIMITS.matcher_bytes if len(INPUTS[name][2]) > 10 else 0)
    if name not in ADDING:
        assert called < most * MARGIN + SMALL_CHANGE, found
    assert int(found["loaded"]) + called < (most + LIMITS.load_bytes) * MARGIN + SMALL_CHANGE, found


LOADS: dict[str, Callable[[Limits], Grammar]] = {
    "lark": lambda limits: Grammar.from_lark("start: " + '"a" ' * 1000, limits=limits),
    "gbnf": lambda limits: Grammar.from_gbnf("root ::= " + '"a" ' * 1000, limits=limits),
    "regex": lambda limits: Grammar.from_regex("ab?" * 1000, limits=limits),
    "ecma": lambda limits: Grammar.from_regex("ab?" * 1000, dialect="ecma", limits=limits),
    "choices": lambda limits: Grammar.from_choices([f"choice {i}" for i in range(1000)], limits=limits),
    "schema": lambda limits: Grammar.from_json_schema({"enum": [[i] for i in range(1000)]}, limits=limits),
    "schema text": lambda limits: Grammar.from_json_schema(json.dumps({"default": [[1]] * 1000}), limits=limits),
}


@pytest.mark.parametrize("name", LOADS)
def test_a_load_names_its_bound(name: str) -> None:
    with pytest.raises(GrammarLimitError, match=r"load_bytes=20000; .*limits=Limits\(load_bytes=\.\.\.\)") as caught:
        LOADS[name](Limits(load_bytes=20_000))
    assert caught.value.limit == "load_bytes"
    LOADS[name](Limits())


def test_forks_share_one_bound() -> None:
    """When they reach it, those that exist can still be used; when some are gone, there is room again."""
    grammar = Grammar.from_lark('start: "a"*', limits=Limits(matcher_bytes=100_000))
    matcher = Matcher(grammar, Vocabulary.bytes())
    forks = [matcher]

    def fork() -> None:
        for _ in range(100_000):
            forks.append(forks[-1].fork())
            assert forks[-1].accept(ord("a"))

    with pytest.raises(LimitError, match=r"matcher_bytes=100000") as caught:
        fork()
    assert caught.value.limit == "matcher_bytes"
    n = len(forks)
    assert n > 100
    assert [one.n_tokens for one in forks[:-1]] == list(range(n - 1))  # the last one may not have got its token
    assert forks[-1].mask()[ord("a")] and not forks[-1].mask()[ord("b")]
    assert forks[-1].validate(b"aab") == 2
    del forks[1 : n // 2]
    assert forks[-1].fork().accept(ord("a"))


def test_a_long_text_meets_the_bound_and_the_matcher_remains() -> None:
    matcher = Matcher(Grammar.from_lark('start: "a"*', limits=Limits(matcher_bytes=1_000_000)), Vocabulary.bytes())

    def accept() -> None:
        for _ in range(200_000):
            assert matcher.accept(ord("a"))

    with pytest.raises(LimitError, match="matcher_bytes"):
        accept()
    n = matcher.n_tokens
    assert n > 50_000 and matcher.tokens == [ord("a")] * n
    assert matcher.mask()[ord("a")]
    matcher.rollback(n - 10)
    assert matcher.n_tokens == 10 and matcher.accept(ord("a"))


def test_documents_of_a_registry_have_the_limits_that_are_given() -> None:
    registry = {"urn:other": {"type": "string", "description": "x" * 1000}}
    schema = {"$ref": "urn:other"}
    assert Grammar.from_json_schema(schema, registry=registry)
    with pytest.raises(GrammarLimitError, match="the schema at urn:other has more than 500 characters") as caught:
        Grammar.from_json_schema(schema, registry=registry, limits=Limits(source_characters=500))
    assert caught.value.limit == "source_characters"
