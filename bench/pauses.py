"""Measure how long loading a grammar holds the interpreter's lock at a time, and how well `Limits.load_seconds` holds.

    python -m bench.pauses [NAME ...] [--seconds 2] [--repeat 3]

Each grammar below is as large as the default `Limits` allow, or larger, and is loaded in a process of its own. A second
thread of that process wakes up every half millisecond. When it comes late, the loading thread has held the lock. Both
the time and the processor time of the loading thread between two wakings are taken, and the lesser one counts: so
neither other processes nor a thread that the system wakes late look like a lock that is held. Of several repetitions
the least counts. Modules that loading imports when first used have been imported before.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import earleymask

MOST_MS = 20
"""The most milliseconds that loading may hold the lock at a time."""

Load = Callable[[earleymask.Limits], Any]


class Ticker:
    """A thread that wakes up again and again, and notes the longest time between two wakings."""

    def __init__(self) -> None:
        self.clock = time.pthread_getcpuclockid(threading.get_ident())
        self.longest = 0.0
        self.at = 0.0
        self.is_stopped = False
        self.thread = threading.Thread(target=self.run)

    def run(self) -> None:
        with suppress(OSError):  # only root may
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), -20)
        begin = wall = time.perf_counter()
        cpu = time.clock_gettime(self.clock)
        while not self.is_stopped:
            time.sleep(0.0005)
            wall_before, cpu_before = wall, cpu
            wall, cpu = time.perf_counter(), time.clock_gettime(self.clock)
            held = min(wall - wall_before, cpu - cpu_before)
            if held > self.longest:
                self.longest = held
                self.at = wall - begin

    def __enter__(self) -> Ticker:
        self.thread.start()
        time.sleep(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        self.is_stopped = True
        self.thread.join()


# The grammars, by name. Texts are made once, before the ticking begins.

SIZE = 8_000_000
"""Characters of the largest texts: just below the default of `Limits.source_characters`."""


def lark(text: str) -> Load:
    return lambda limits: earleymask.Grammar.from_lark(text, limits=limits)


def gbnf(text: str) -> Load:
    return lambda limits: earleymask.Grammar.from_gbnf(text, limits=limits)


def regex(text: str, **options: Any) -> Load:
    return lambda limits: earleymask.Grammar.from_regex(text, limits=limits, **options)


def schema(given: Any, **options: Any) -> Load:
    return lambda limits: earleymask.Grammar.from_json_schema(given, limits=limits, **options)


def text_of(value: Any) -> str:
    return json.dumps(value)


def repeated(piece: Callable[[int], str], size: int = SIZE) -> str:
    """Return pieces with numbers, until they have `size` characters."""
    found: list[str] = []
    length = n = 0
    while length < size:
        found.append(piece(n))
        length += len(found[-1])
        n += 1
    return "".join(found)


def words(n: int, seed: int = 1) -> list[str]:
    choose = random.Random(seed)
    return ["".join(choose.choices("abcdefghijklmnopqrstuvwxyz", k=choose.randint(3, 12))) + str(i) for i in range(n)]


def nested(depth: int) -> Any:
    found: Any = {"type": "integer"}
    for _ in range(depth):
        found = {"type": "object", "properties": {"a": found}}
    return found


def lark_rules(n: int) -> str:
    return (
        "start: r0\n"
        + "".join(f'r{i}: "k{i}" r{i + 1} | "x{i}" [r{i // 2}] NUMBER*\n' for i in range(n))
        + (f"r{n}: NUMBER\nNUMBER: /[0-9]+/\n")
    )


CASES: dict[str, Callable[[], Load]] = {
    # Lark texts
    "lark: 8 MB of rules": lambda: lark(lark_rules(150_000)),
    "lark: 1 MB of rules": lambda: lark(lark_rules(20_000)),
    "lark: one string of 8 MB": lambda: lark('start: "' + "a" * SIZE + '"'),
    "lark: one string of 900 kB": lambda: lark('start: "' + "a" * 900_000 + '"'),
    "lark: one string of escapes": lambda: lark('start: "' + "\\n" * 400_000 + '"'),
    "lark: one regexp of 900 kB": lambda: lark("start: /" + "ab?" * 300_000 + "/"),
    "lark: one regexp of classes": lambda: lark("start: /" + "[a-z]" * 150_000 + "/"),
    "lark: one terminal of many words": lambda: lark("start: A\nA: " + "|".join(f'"{w}"' for w in words(90_000))),
    "lark: one rule of many words": lambda: lark("start: " + "|".join(f'"{w}"' for w in words(400_000))),
    "lark: an alternative of many names": lambda: lark("start: " + "A " * 2_000_000 + '\nA: "a"'),
    "lark: alternatives, all the same": lambda: lark("start: " + "A|" * 2_000_000 + 'A\nA: "a"'),
    "lark: a comment of 8 MB": lambda: lark("start: A //" + "x" * SIZE + '\nA: "a"'),
    "lark: many comments": lambda: lark('start: A\nA: "a"\n' + "// x\n" * 1_500_000),
    "lark: blanks of 8 MB": lambda: lark("start: " + " " * SIZE + 'A\nA: "a"'),
    "lark: empty lines of 8 MB": lambda: lark("start: A\n" + "\n" * SIZE + 'A: "a"'),
    "lark: groups": lambda: lark("start: " + "(" * 90 + "A" + ")" * 90 + '\nA: "a"'),
    "lark: many groups": lambda: lark("start: " + '(("a" | "b") "c")* ' * 300_000),
    "lark: undefined names": lambda: lark('start: "a"\n' + repeated(lambda i: f"r{i}: q{i}\n")),
    "lark: syntax errors": lambda: lark('start: "a"\n' + repeated(lambda i: f"r{i}: )\n")),
    "lark: unused rules": lambda: lark('start: "a"\n' + repeated(lambda i: f'r{i}: "b" r{i}\n')),
    "lark: no sentence": lambda: lark("start: r0\n" + repeated(lambda i: f'r{i}: "b" r{i + 1}\n', 4_000_000) + "z: z"),
    "lark: counts": lambda: lark('start: ("a" "b"?)~0..1000000'),
    "lark: counts within counts": lambda: lark(
        "start: a~1000\na: b~1000\nb: c~1000\nc: D~500 [D~3..2000]\nD: /[a-c]+/"
    ),
    "lark: counts in a regexp": lambda: lark("start: /(?:(?:a{1,1000}b){1,1000}c){1,1000}/"),
    "lark: templates": lambda: lark(
        "start: "
        + " ".join(f'pair{{"a{i}", "b{i}"}}' for i in range(9_000))
        + "\npair{x, y}: x y | y list{x}\nlist{x}: x | list{x} x"
    ),
    "lark: keywords by lookahead": lambda: lark(
        'start: NAME ("," NAME)*\nNAME: /(?!(?:' + "|".join(words(40)) + r")\b)[a-z_][a-z_0-9]*/"
    ),
    "lark: lookarounds": lambda: lark(
        "start: A B\nA: /(?=[a-z]{1,30}1)(?=.*2)(?!.*33)[a-z0-9]+(?![a-z])/\nB: /(?<=a).*b(?=c)c/"
    ),
    "lark: complements": lambda: lark("start: A\nA: ~/.*(a.{12}b|c.{11}d).*/ & /[a-d]{40,}/"),
    "lark: an empty intersection": lambda: lark("start: A\nA: /.*a.{17}/ & /.*b.{17}/ & ~/.*[ab].{17}/"),
    "lark: big classes": lambda: lark(
        "start: " + " ".join(f"/[\\u{0x4E00 + i:04x}-\\u{0x5E00 + 3 * i:04x}]+/i" for i in range(4_000))
    ),
    "lark: case is ignored": lambda: lark("start: " + repeated(lambda i: f'"select{i}"i|', 1_000_000) + '"a"'),
    "lark: %regex substrings": lambda: lark("start: %regex " + text_of({"substring_words": " ".join(words(40_000))})),
    "lark: %regex substring characters": lambda: lark(
        "start: %regex " + text_of({"substring_chars": "".join(words(20_000))})
    ),
    "lark: %regex chunks": lambda: lark("start: %regex " + text_of({"substring_chunks": words(100_000)})),
    "lark: %json": lambda: lark(
        "start: %json " + text_of({"type": "object", "properties": {w: {"enum": [w]} for w in words(60_000)}})
    ),
    "lark: %json, a long string": lambda: lark("start: %json " + text_of({"const": "x\n" * 1_500_000})),
    "lark: %lark": lambda: lark("start: %lark {\n" + lark_rules(60_000) + "}"),
    "lark: values": lambda: lark(
        'start: p::0\np::_: "a" p::set_bit(0) %if bit_clear(0) | '
        + "|".join(f'"{w}" p::set_bit({i % 30 + 1}) %if bit_clear({i % 30 + 1})' for i, w in enumerate(words(3_000)))
        + "|"
    ),
    "lark: token ids": lambda: lark("start: " + " ".join(f"<[{i}-{i + 5}]>" for i in range(4_000))),
    "lark: ignored": lambda: lark('start: "a"+\n' + "".join(f'%ignore "{w}"\n' for w in words(20_000))),
    "lark: imports": lambda: (
        lambda limits: earleymask.Grammar.from_lark(
            "start: a0\n" + "".join(f"%import m{i}.a{i}\n" for i in range(400)),
            loader={f"m{i}": f'a{i}: "x{i}" ' + "b " * 5_000 + '\nb: "b"\n' for i in range(400)},
            limits=limits,
        )
    ),
    # GBNF
    "gbnf: 8 MB of rules": lambda: gbnf(
        "root ::= r0\n" + repeated(lambda i: f'r{i} ::= "k{i}" [a-z]+ | "x" r{i // 2}\n')
    ),
    "gbnf: one string": lambda: gbnf('root ::= "' + "a" * 900_000 + '"'),
    "gbnf: one string of 8 MB": lambda: gbnf('root ::= "' + "a" * SIZE + '"'),
    "gbnf: many words": lambda: gbnf("root ::= " + "|".join(f'"{w}"' for w in words(400_000))),
    "gbnf: a big class": lambda: gbnf("root ::= [" + "".join(chr(0x4E00 + 2 * i) for i in range(10_000)) * 50 + "]+"),
    "gbnf: counts": lambda: gbnf('root ::= ("a" "b"?){0,1000000}'),
    "gbnf: a comment": lambda: gbnf("# " + "x" * SIZE + '\nroot ::= "a"'),
    "gbnf: empty lines": lambda: gbnf("\n" * SIZE + 'root ::= "a"'),
    "gbnf: syntax error at the end": lambda: gbnf(repeated(lambda i: f'r{i} ::= "b"\n') + "root ::= ("),
    # Regular expressions
    "regex: letters": lambda: regex("a" * 1_000_000),
    "regex: options": lambda: regex("ab?" * 340_000),
    "regex: words": lambda: regex("|".join(words(90_000))),
    "regex: nested counts": lambda: regex("(?:(?:(?:a{1000}b){1000}){1000}c?){1000}"),
    "regex: counted options": lambda: regex("(?:a?b?){1,20000}c{5000}"),
    "regex: lazy": lambda: regex("(?:a|b|c)*?" * 9_000),
    "regex: lookaheads": lambda: regex("(?=.*a.{9}b)(?=.*c.{8}d)(?!.*e.{7}f)[a-g]{20,}"),
    "regex: many lookaheads": lambda: regex("(?:(?!foo|bar)[a-z])*" * 2_000),
    "regex: classes": lambda: regex("[a-zA-Z0-9\\u00e0-\\u00ff]" * 30_000),
    "regex: a big class": lambda: regex("[" + "".join(chr(0x4E00 + 2 * i) for i in range(10_000)) * 50 + "]+", flags=2),
    "regex: case": lambda: regex("straße" * 100_000, flags=2),
    "regex: comments": lambda: regex("(?#" + "x" * 1_000_000 + ")a"),
    "regex: verbose": lambda: regex(" " * 1_000_000 + "a", flags=64),
    "regex: ecma": lambda: regex("(?:[^\\W_]|\\p{L})+?" * 9_000, dialect="ecma"),
    "choices: many": lambda: (lambda given: lambda limits: earleymask.Grammar.from_choices(given, limits=limits))(
        words(560_000)
    ),
    "choices: long": lambda: (lambda given: lambda limits: earleymask.Grammar.from_choices(given, limits=limits))(
        ["a" * 4_000_000, "b" * 4_000_000]
    ),
    # JSON Schemas
    "schema text: integers": lambda: schema('{"default": [' + "1," * 3_900_000 + "1]}"),
    "schema text: floats": lambda: schema('{"default": [' + "1.5," * 1_900_000 + "1]}"),
    "schema text: strings": lambda: schema(text_of({"default": words(470_000)})),
    "schema text: empty objects": lambda: schema('{"default": [' + "{}," * 2_600_000 + "1]}"),
    "schema text: one string": lambda: schema(text_of({"description": "x" * SIZE})),
    "schema text: one string of escapes": lambda: schema('{"description": "' + "\\u00e4" * 1_300_000 + '"}'),
    "schema text: blanks": lambda: schema(" " * SIZE + "{}"),
    "schema text: one key": lambda: schema('{"' + "x" * SIZE + '": 1}'),
    "schema text: a digit too many": lambda: schema('{"default": ' + "1" * SIZE + "}"),
    "schema text: ends too early": lambda: schema('{"default": [' + "1," * 3_900_000),
    "schema text: a key twice": lambda: schema(
        '{"default": ' + text_of(dict.fromkeys(words(400_000), 1))[:-1] + ', "x": 1, "x": 2}}'
    ),
    "schema bytes: 8 MB": lambda: schema(text_of({"default": words(470_000)}).encode()),
    "schema text: 20 MB": lambda: (
        lambda text: (
            lambda limits: earleymask.Grammar.from_json_schema(
                text, limits=earleymask.Limits(source_characters=1 << 25, load_seconds=limits.load_seconds)
            )
        )
    )(text_of({"properties": {w: {"type": "string", "description": "what it is"} for w in words(300_000)}})),
    "schema: many properties": lambda: schema(
        {"type": "object", "properties": {w: {"type": "integer"} for w in words(100_000)}}
    ),
    "schema: properties in any order": lambda: schema(
        {"type": "object", "properties": {w: {"type": "integer"} for w in words(20_000)}, "required": words(20_000)},
        property_order="any",
    ),
    "schema: required": lambda: schema({"type": "object", "required": words(100_000)}),
    "schema: pattern properties": lambda: schema(
        {
            "type": "object",
            "patternProperties": {f"^{w}": {"type": "integer"} for w in words(300)},
            "additionalProperties": False,
        }
    ),
    "schema: enum of strings": lambda: schema({"enum": words(600_000)}),
    "schema: enum of numbers": lambda: schema({"enum": [7 * i for i in range(300_000)]}),
    "schema: enum of objects": lambda: schema({"enum": [{"a": i, "b": [w]} for i, w in enumerate(words(60_000))]}),
    "schema: const, a long string": lambda: schema({"const": "x" * SIZE}),
    "schema: const, a long list": lambda: schema({"const": list(range(300_000))}),
    "schema: not": lambda: schema({"type": "string", "not": {"enum": words(100_000)}}),
    "schema: anyOf": lambda: schema(
        {"anyOf": [{"type": "object", "properties": {w: {}}, "required": [w]} for w in words(20_000)]}
    ),
    "schema: oneOf": lambda: schema(
        {"oneOf": [{"type": "object", "properties": {w: {"const": 1}}, "required": [w]} for w in words(300)]}
    ),
    "schema: allOf": lambda: schema(
        {"allOf": [{"properties": {w: {"minimum": i}}} for i, w in enumerate(words(3_000))]}
    ),
    "schema: definitions": lambda: schema(
        {
            "$ref": "#/$defs/0",
            "$defs": {
                str(i): {
                    "type": "object",
                    "properties": {"next": {"$ref": f"#/$defs/{i + 1}"}, "other": {"$ref": f"#/$defs/{i // 2}"}},
                }
                for i in range(50_000)
            }
            | {"50000": {}},
        }
    ),
    "schema: deep": lambda: schema(nested(240)),
    "schema: counts": lambda: schema(
        {
            "type": "array",
            "minItems": 1_000_000,
            "maxItems": 2_000_000,
            "items": {"type": "string", "minLength": 100_000},
        }
    ),
    "schema: contains": lambda: schema(
        {
            "type": "array",
            "contains": {"const": 1},
            "minContains": 500,
            "maxContains": 1000,
            "prefixItems": [{"type": "integer"}] * 3_000,
        }
    ),
    "schema: uniqueItems": lambda: schema({"type": "array", "uniqueItems": True, "items": {"enum": words(2_000)}}),
    "schema: patterns": lambda: schema({"type": "string", "allOf": [{"pattern": f"^(?=.*{w}).*$"} for w in words(30)]}),
    "schema: multipleOf": lambda: schema(
        {"type": "integer", "multipleOf": 9_973, "minimum": 12_345_678, "maximum": 123_456_789_012}
    ),
    "schema: formats": lambda: schema(
        {
            "type": "object",
            "properties": {
                f: {"type": "string", "format": f}
                for f in (
                    "date-time",
                    "email",
                    "uri",
                    "ipv6",
                    "hostname",
                    "iri",
                    "uuid",
                    "json-pointer",
                    "uri-template",
                    "idn-email",
                    "duration",
                )
            },
        }
    ),
    "schema: dependent": lambda: schema(
        {"type": "object", "dependentRequired": {w: [v] for w, v in zip(words(1_000), words(1_000, 2), strict=True)}}
    ),
    "schema: dependent, closed": lambda: schema(
        {"type": "object", "dependentRequired": {f"n{i}": [f"n{17 * i % 200}"] for i in range(200)}}, closed=True
    ),
    "schema: unevaluated": lambda: schema(
        {"anyOf": [{"properties": {w: {"type": "integer"}}} for w in words(12)], "unevaluatedProperties": False}
    ),
    "schema: wide default": lambda: schema({"default": [[i] for i in range(2_000_000)]}),
    "schema: unknown keywords": lambda: schema(dict.fromkeys(words(700_000), 1)),
    "schema: faults": lambda: schema({"properties": {w: {"type": "nonsense"} for w in words(100_000)}}),
    "schema: not enforced": lambda: schema(
        {"properties": {w: {"type": "string", "format": "idn-hostname"} for w in words(50_000)}}, strict=False
    ),
    "schema: refused": lambda: schema(
        {"properties": {w: {"type": "string", "pattern": "(a)\\1"} for w in words(50_000)}}
    ),
}
"""The grammars, by name. Each function makes the text, and returns what loads it with given limits."""


def warm_up() -> None:
    """Load small grammars of each kind, with errors and without."""
    limits = earleymask.Limits(load_seconds=10)
    for load in (
        lark('start: A "b"~2..3 [c] | %json {"enum": ["a"]}\nc: /(?!x)[a-z]+/\nA: "a" & ~"b"\n%ignore " "'),
        lark("start: )"),
        lark('start: a\n%import m.a\nb: "b"'),
        gbnf('root ::= "a" [a-z]+ | "b"'),
        gbnf("root ::= ("),
        regex("(?:a|b)*?c(?=d)d"),
        regex("(?:[^\\W_]|\\p{L})+?", dialect="ecma"),
        schema({"type": "object", "properties": {"a": {"enum": [1, "x", [2], {"b": 1.5}]}}, "required": ["a"]}),
        schema({"anyOf": [{"not": {"type": "null"}}, {"oneOf": [{"pattern": "^a"}, {"format": "date"}]}]}),
        schema('{"default": [1.5], "type": "nonsense"}'),
        schema('{"allOf": [{"patternProperties": {"a": {"multipleOf": 3}}}], "unevaluatedProperties": false}'),
        schema('{"a": 1, "a": 2}'),
        schema("{"),
    ):
        with suppress(earleymask.GrammarError):
            load(limits)


def one(name: str, seconds: float) -> dict[str, Any]:
    """Load one grammar in this process."""
    load = CASES[name]()
    limits = earleymask.Limits(load_seconds=seconds)
    warm_up()
    found: object = None  # the grammar or the error is discarded after the measurement
    ticker = Ticker()
    with ticker:
        began, cpu = time.perf_counter(), time.thread_time()
        try:
            found = load(limits)
        except Exception as error:
            found = error
        took, cpu = time.perf_counter() - began, time.thread_time() - cpu
    outcome = ""
    if isinstance(found, Exception):
        outcome = f"{type(found).__name__} {getattr(found, 'limit', '')}: {found}".split("\n")[0]
    return {"held": 1000 * ticker.longest, "at": ticker.at, "took": took, "cpu": cpu, "outcome": outcome}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.pauses", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("names", nargs="*", help="parts of names of grammars (default: all)")
    parser.add_argument("--seconds", type=float, default=2.0, help="the limit (default: %(default)s)")
    parser.add_argument("--repeat", type=int, default=3, help="processes for each (default: %(default)s)")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one:
        print(json.dumps(one(options.one, options.seconds)))
        return
    for name in CASES:
        if options.names and not any(part in name for part in options.names):
            continue
        found = []
        for _ in range(options.repeat):
            call = [sys.executable, "-m", "bench.pauses", "--one", name, "--seconds", str(options.seconds)]
            output = subprocess.run(call, capture_output=True, text=True, check=False)
            found.append(
                json.loads(output.stdout)
                if output.returncode == 0
                else {
                    "held": 1e6,
                    "at": 0,
                    "took": 0,
                    "cpu": 0,
                    "outcome": output.stderr[-200:] + str(output.returncode),
                }
            )
            if found[-1]["held"] <= MOST_MS:
                break
        best = min(found, key=lambda one: one["held"])
        mark = " " if best["held"] <= MOST_MS else "*"
        print(
            f"{best['held']:9.1f} ms{mark} at {best['at']:6.2f} of {best['cpu']:6.2f} s  {name}: "
            f"{best['outcome'][:90]}",
            flush=True,
        )


if __name__ == "__main__":
    main()
