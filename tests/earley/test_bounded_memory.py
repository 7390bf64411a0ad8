"""The memory of a process grows by no more than the limits say, whatever is loaded and whichever text is read.

Each input is loaded in a process of its own, whose greatest resident memory the system measures. The input either fits,
or ends with an error that names the bound.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from earleymask import Limits

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
    "enum of nested values": (SCHEMA, "{'enum': [value(i) for i in range(20000)]}", "b'{'"),
    "members in any order": (ANY, "{'type': 'object', 'properties': names(60000)}", "b'{'"),
    "many members": (SCHEMA, "{'type': 'object', 'properties': names(100000)}", "b'{'"),
    "nested enums": (
        SCHEMA,
        "{'properties': {f'p{i}': {'properties': {f'q{j}': {'enum': [value(k) for k in range(30)]} for j in range(30)}}"
        " for i in range(30)}}",
        "b'{'",
    ),
    "chain of oneOf": (SCHEMA, "chain(5000, 'oneOf')", "b''"),
    "chain of anyOf": (SCHEMA, "chain(20000, 'anyOf')", "b''"),
    "patterns of names": (
        SCHEMA,
        "{'patternProperties': {f'a.{{{i}}}$': {'minimum': i} for i in range(3, 12)}}",
        "b'{'",
    ),
    "branches": (
        SCHEMA,
        "{'oneOf': [{'properties': {f'k{i}': {'const': i}}, 'required': [f'k{i}']} for i in range(2000)]}",
        "b'{'",
    ),
    "text of numbers": (SCHEMA, "'{\"default\": [' + '1.5,' * 1900000 + '1]}'", "b''"),
    "text of objects": (SCHEMA, "'{\"default\": [' + '{},' * 2600000 + '1]}'", "b''"),
    "dicts that share parts": (SCHEMA, "shared(40)", "b''"),
    "rules": (LARK, "rules(150000)", "b''"),
    "one rule": (LARK, "'start: ' + 'A|' * 2000000 + 'A\\nA: \"a\"'", "b''"),
    "words": (GBNF, "'root ::= ' + '|'.join(f'\"word{i}\"' for i in range(400000))", "b''"),
    "regexp": (LARK, "'start: /' + 'ab?' * 300000 + '/'", "b''"),
    "lexer states": (LARK, "'start: /(a|b)*a(a|b){20}/ \"c\"'", "bytes(random.Random(1).choices(b'ab', k=3000))"),
    "ambiguous text": (LARK, '\'start: "a" start "a" | "a" | "b"\'', "b'a' * 6000"),
    "ambiguous lists": (LARK, '\'start: x x x\\nx: ("a" | "aa" | x x)*\'', "b'a' * 3000"),
}
ADDING = ("enum of nested values", "members in any order", "many members")
"""Their texts add so many symbols that these take what loading has left."""
SLOW = Limits(load_seconds=20, seconds=20)
"""So that memory, and not time, is what an input reaches."""


def measured(make: str, source: str, text: str, limits: Limits) -> dict[str, int | str]:
    code = f"{PRELUDE}\nlimits = {limits!r}\n{make}\ntext = {text}\n{MEASURED.format(source=source)}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, int | str] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.skipif(not STATUS.exists(), reason="/proc says how much memory a process takes; it is not here")
@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("limits", [Limits(), SLOW], ids=["default", "slow"])
def test_a_process_grows_by_no_more_than_the_bounds(name: str, limits: Limits) -> None:
    found = measured(*INPUTS[name], limits)
    print(name, found)
    assert found["load"] in ("", "load_bytes", "load_seconds", "source_characters"), found
    assert int(found["loaded"]) < limits.load_bytes * MARGIN + SMALL_CHANGE, found
    if "called" in found:
        assert found["call"] in ("", "load_bytes", "grammar_bytes", "matcher_bytes", "seconds", "row_items"), found
        most = limits.grammar_bytes + (limits.matcher_bytes if len(INPUTS[name][2]) > 10 else 0)
        if name not in ADDING:
            assert int(found["called"]) < most * MARGIN + SMALL_CHANGE, found
        most += limits.load_bytes
        assert int(found["loaded"]) + int(found["called"]) < most * MARGIN + SMALL_CHANGE, found
