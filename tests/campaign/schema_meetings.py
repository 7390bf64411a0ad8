"""Random schemas that combine keywords which are rarely combined, and documents in many spellings.

`MeetingSchemas` makes what `schema_random.Schemas` hardly makes: `unevaluatedProperties` and `unevaluatedItems` beside
references, conditions and branches; references that are resolved dynamically; names under patterns with lookarounds;
types, constants and bounds in different parts of a conjunction; contradictory parts, which make whole branches empty.
`check_meetings` writes each document in a random spelling, which must be accepted exactly if the document is valid and
the options allow the spelling. No walk may get stuck, and its text must be valid.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from random import Random
from typing import Any

import earleymask
from campaign.schema_checks import Report, accepts, compare, compare_walk, loaded
from campaign.schema_suite import DRAFTS
from earleymask.grammar.errors import Reason
from support.schema_instances import mutated, near, value
from support.schema_oracle import Oracle

NAMES = ("a", "b", "ab", "x1", "")
PATTERNS = (
    *("^a", "b$", "^[ab]+$", r"\d", "^.{2}$", "a|b", "^$", "^(?!a)", "^(?!.*b)", "(?=.*a)(?=.*b)", "(?<=a)b"),
    *("(?<!a)b", r"^\w+$", r"^[^a]*$", r"\bab?\b", "^(a|b)\\1?$|x", r"^\p{L}", "^(?:a|ab)(?:b|)$"),
)
BACKWARD = r"\1"
FORMATS = ("date", "time", "date-time", "duration", "ipv4", "ipv6", "uuid", "email", "uri", "json-pointer", "regex")
TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
REGEXES = (
    *("^a|b$", r"^\p{L}+\d?$", "(?<!a)b{2,10}", "(?<n>a)"),
    *("[a-z]]", "a{10,2}", "(?P<n>a)", "[z-a]", r"\a", "(a|", "*"),
)
"""Texts that have the format `regex`, and texts that nearly have it. None of them is valid and yet not written."""
SCALARS: tuple[Any, ...] = (None, True, 0, 1, 2, 10, -1, 0.5, 1.0, 2.5, 1e3, "", "a", "b", "ab", "é", "x1", "12")
CONSTANTS: tuple[Any, ...] = (
    *([], [1], [1.0], [True], ["a"], [1, "a"], {}, {"a": 1}, {"a": 1.0}, {"a": True}, {"a": [1, {"b": 10.0}]}),
    *({"a": "é", "b": None}, {"b": None, "a": "é"}, [[]], [{}], {"": 0}, {"ab": "\U0001f600"}),
)


class MeetingSchemas:
    """Random schemas of one draft ("4" to "2020-12")."""

    def __init__(self, rng: Random, draft: str) -> None:
        self.rng = rng
        self.draft = draft
        self.year = {"4": 4, "6": 6, "7": 7, "2019-09": 2019, "2020-12": 2020}[draft]
        self.definitions = "$defs" if self.year >= 2019 else "definitions"
        self.about: Callable[[int], dict[str, Any]] = rng.choice(
            (self.objects, self.objects, self.arrays, self.scalars)
        )
        """Most parts are about this kind of value, so that they affect one another."""

    def whole(self) -> dict[str, Any]:
        rng = self.rng
        found: dict[str, Any] = {"$schema": DRAFTS[self.draft]}
        defined = {name: self.schema(rng.choice((1, 2))) for name in ("d", "e")}
        if rng.random() < 0.3:
            defined["d"] = self.recursive()
        if self.year == 2020 and rng.random() < 0.3:
            found["$dynamicAnchor"] = "node"
            defined["e"] = {
                "$id": "http://example.org/e",
                "$dynamicAnchor": "node",
                **self.plain_tree("$dynamicRef", "#node"),
            }
        if self.year == 2019 and rng.random() < 0.3:
            found["$recursiveAnchor"] = rng.random() < 0.7
            defined["e"] = {
                "$id": "http://example.org/e",
                "$recursiveAnchor": rng.random() < 0.7,
                **self.plain_tree("$recursiveRef", "#"),
            }
        found[self.definitions] = defined
        return {**found, **self.schema(3)}

    def recursive(self) -> dict[str, Any]:
        """Make a schema whose members or items are like the whole."""
        rng = self.rng
        again = {"$ref": f"#/{self.definitions}/d"}
        made = self.objects(0) if self.about == self.objects else self.arrays(0)
        if self.about == self.objects:
            made[rng.choice(("additionalProperties", "additionalProperties", "properties"))] = again
            if "$ref" in made.get("properties", {}):
                made["properties"] = dict.fromkeys(rng.sample(NAMES, 2), again)
        else:
            made["items"] = again
        return made

    def plain_tree(self, keyword: str, target: str) -> dict[str, Any]:
        rng = self.rng
        again = {keyword: target}
        if self.about == self.arrays:
            return {"items": again, **self.counts("Items", 2)}
        made: dict[str, Any] = {"properties": dict.fromkeys(rng.sample(NAMES, 2), again)}
        if rng.random() < 0.4:
            made["required"] = rng.sample(NAMES, 1)
        return made

    def schema(self, depth: int) -> dict[str, Any]:
        rng = self.rng
        if rng.random() < (0.12 if depth else 0.06):
            refs = [f"#/{self.definitions}/d", f"#/{self.definitions}/e"]
            made: dict[str, Any] = {"$ref": rng.choice(refs)}
            if self.year < 2019 or rng.random() < 0.5:
                return made
            return {**made, **self.unevaluated(depth)}
        if depth == 0:
            return self.atom(0)
        made = {}
        for part in rng.sample([self.atom, self.combination, self.combination, self.parted], rng.choice((1, 2, 2))):
            made = {**part(depth - 1), **made}
        if self.year >= 2019 and rng.random() < 0.3:
            made.update(self.unevaluated(depth - 1))
        if rng.random() < 0.3:
            made.setdefault(
                "type", rng.choice(("object", "array", ["object", "array"], ["object", "integer"], "string"))
            )
        return made

    def atom(self, depth: int) -> dict[str, Any]:
        rng = self.rng
        if rng.random() < 0.65:
            return self.about(depth)
        return rng.choice((self.objects, self.arrays, self.scalars, self.constants))(depth)

    def leaf(self, depth: int) -> Any:
        """Make the schema of a member or an item; it may contradict itself."""
        rng = self.rng
        if depth > 0 and rng.random() < 0.4:
            return self.schema(depth - 1)
        leaves: tuple[Any, ...] = (
            *({}, {"type": "string"}, {"type": "integer"}, {"enum": [1]}, {"enum": [1, "a"]}, {"not": {"enum": [1]}}),
            *(
                {"type": ["integer", "null"]},
                {"type": "object"},
                {"type": "array"},
                {"not": {}},
                {"not": {"type": "string"}},
            ),
            *(
                {"minimum": 2, "type": "integer"},
                {"maximum": 1},
                {"type": "boolean"},
                {"pattern": "^a", "type": "string"},
            ),
        )
        return rng.choice(leaves)

    def unevaluated(self, depth: int) -> dict[str, Any]:
        rng = self.rng
        words = {"unevaluatedProperties": 1, "unevaluatedItems": 1}
        words["unevaluatedItems" if self.about == self.arrays else "unevaluatedProperties"] += 4
        word = rng.choices(list(words), list(words.values()))[0]
        return {word: rng.choice((False, False, self.leaf(0)))}

    # Schemas that combine no others.

    def constants(self, depth: int) -> dict[str, Any]:
        rng = self.rng
        if self.year > 4 and rng.random() < 0.4:
            return {"const": rng.choice((*CONSTANTS, *SCALARS))}
        return {"enum": [rng.choice((*CONSTANTS, *SCALARS)) for _ in range(rng.randint(1, 5))]}

    def scalars(self, depth: int) -> dict[str, Any]:
        rng = self.rng
        if rng.random() < 0.25:
            return self.constants(depth)
        if rng.random() < 0.6:
            made: dict[str, Any] = self.counts("Length", 3)
            if rng.random() < 0.7:
                made["pattern"] = rng.choice(PATTERNS)
            if rng.random() < 0.35:
                made["format"] = rng.choice(FORMATS)
            if rng.random() < 0.4:
                made["type"] = rng.choice(("string", ["string", "integer"]))
            return made
        made = {}
        for word in ("minimum", "maximum"):
            if rng.random() < 0.5:
                made[word] = rng.choice((0, 1, 2, 2.5, 10, -1, 0.1))
                if self.year == 4 and rng.random() < 0.3:
                    made[f"exclusive{word.title()}"] = True
        if rng.random() < 0.4:
            made["multipleOf"] = rng.choice((1, 2, 0.5, 0.1, 2.5, 3))
        if rng.random() < 0.5:
            made["type"] = rng.choice(("integer", "number", ["integer", "string"]))
        return made

    def objects(self, depth: int) -> dict[str, Any]:
        rng = self.rng
        made: dict[str, Any] = {}
        if rng.random() < 0.7:
            made["properties"] = {name: self.leaf(depth) for name in rng.sample(NAMES, rng.randint(1, 3))}
        if rng.random() < 0.35:
            made["required"] = rng.sample((*NAMES, "zz"), rng.randint(1, 2))
        if rng.random() < 0.3:
            patterns = rng.sample(PATTERNS, rng.choice((1, 1, 2)))
            made["patternProperties"] = {pattern: self.leaf(depth) for pattern in patterns if BACKWARD not in pattern}
        if rng.random() < 0.35:
            made["additionalProperties"] = False if rng.random() < 0.4 else self.leaf(depth)
        if self.year > 4 and rng.random() < 0.25:
            names = (
                {"pattern": rng.choice(PATTERNS)},
                {"enum": ["a", "ab", 1]},
                {"maxLength": 1},
                {"not": {"const": "a"}},
            )
            made["propertyNames"] = rng.choice((*names, {"minLength": 1, "pattern": "^[a-c]*$"}, {"format": "date"}))
        if rng.random() < 0.2:
            made |= self.counts("Properties", 3)
        word = "dependentSchemas" if self.year >= 2019 and rng.random() < 0.8 else "dependencies"
        if rng.random() < 0.2:
            made[word] = {name: self.schema(min(depth, 1)) for name in rng.sample(NAMES, rng.randint(1, 2))}
        if self.year >= 2019 and rng.random() < 0.15:
            made["dependentRequired"] = {name: rng.sample((*NAMES, "zz"), 1) for name in rng.sample(NAMES, 2)}
        return made

    def arrays(self, depth: int) -> dict[str, Any]:
        rng = self.rng
        made: dict[str, Any] = self.counts("Items", 3)
        if rng.random() < 0.5:
            made["items"] = self.leaf(depth)
        if rng.random() < 0.4:
            prefix = [self.leaf(depth) for _ in range(rng.randint(1, 2))]
            if self.year >= 2020:
                made["prefixItems"] = prefix
            else:
                rest = {"additionalItems": made["items"]} if "items" in made else {}
                made |= {"items": prefix, **rest}
        if self.year > 4 and rng.random() < 0.5:
            made["contains"] = self.leaf(depth)
            if self.year >= 2019:
                made |= self.counts("Contains", 2)
        if rng.random() < 0.12:
            items = ({"type": ["boolean", "null"]}, {"enum": [1, 1.0, "a", True]}, {"type": "string", "maxLength": 1})
            made = {"items": rng.choice(items), "uniqueItems": True, **self.counts("Items", 5)}
        return made

    def counts(self, what: str, most: int) -> dict[str, Any]:
        rng = self.rng
        return {f"{bound}{what}": rng.randint(0, most) for bound in ("min", "max") if rng.random() < 0.3}

    # Schemas that combine others.

    def parted(self, depth: int) -> dict[str, Any]:
        """Make a conjunction that distributes keywords that belong together over its parts."""
        rng = self.rng
        whole = (
            {**self.atom(depth), **self.constants(0), **self.atom(depth)} if rng.random() < 0.5 else self.atom(depth)
        )
        if rng.random() < 0.5:
            whole["type"] = rng.choice(TYPES)
        parts: list[dict[str, Any]] = [{} for _ in range(rng.randint(2, 3))]
        for keyword, said in whole.items():
            rng.choice(parts)[keyword] = said
        return {"allOf": parts}

    def combination(self, depth: int) -> dict[str, Any]:
        rng = self.rng
        words = ["allOf", "anyOf", "oneOf", "oneOf", "not", *(["if", "if"] if self.year >= 7 else [])]
        word = rng.choice(words)
        if word == "not":
            inner = self.schema(depth)
            return {"not": {"not": inner}} if rng.random() < 0.2 else {"not": inner}
        if word == "if":
            made = {"if": self.schema(depth)}
            for branch in ("then", "else"):
                if rng.random() < 0.7:
                    made[branch] = self.schema(depth)
            return made
        return {word: [self.schema(depth) for _ in range(rng.randint(1, 3))]}


# Documents, in many spellings.


class Spelling:
    """Writes a document with a random choice at each place, among spellings that the grammar's options allow or not."""

    def __init__(self, rng: Random, options: dict[str, Any], has_plain_numbers: bool = False) -> None:
        self.rng = rng
        self.options = options
        self.has_plain_numbers = has_plain_numbers
        self.fits = True
        """Whether the options allow everything written so far."""

    def text(self, data: Any) -> str:
        if isinstance(data, dict):
            parts = [f"{self.string(key)}{self.colon()}{self.text(item)}" for key, item in data.items()]
            return self.listed("{", parts, "}")
        if isinstance(data, list):
            return self.listed("[", [self.text(item) for item in data], "]")
        if isinstance(data, str):
            return self.string(data)
        if isinstance(data, (int, float)) and not isinstance(data, bool):
            return self.number(data)
        return json.dumps(data)

    def listed(self, begin: str, parts: list[str], end: str) -> str:
        if not parts:
            return begin + self.gap() + end if self.rng.random() < 0.1 else begin + end
        found = begin + self.gap() + parts[0]
        for part in parts[1:]:
            found += "," + self.after_comma() + part
        return found + self.gap() + end

    def chosen(self, fitting: tuple[str, ...], others: tuple[str, ...]) -> str:
        if self.rng.random() < 0.02:
            found = self.rng.choice(others)
            self.fits = self.fits and found in fitting
            return found
        return self.rng.choice(fitting)

    LINES = ("\n", "\n  ", "\n\t")
    WRONG = ("  ", "\r", "\t", " \n", "\n\n", "\n" + " " * 65)

    def gap(self) -> str:
        fitting = ("", "", " ", *self.LINES) if self.options.get("whitespace", "flexible") == "flexible" else ("",)
        return self.chosen(fitting, ("", " ", *self.LINES, *self.WRONG))

    def after_comma(self) -> str:
        fitting = {"flexible": ("", " ", " ", *self.LINES), "spaced": (" ",), "compact": ("",)}
        return self.chosen(fitting[self.options.get("whitespace", "flexible")], ("", " ", *self.LINES, *self.WRONG))

    def colon(self) -> str:
        fitting = {"flexible": ("", " "), "spaced": (" ",), "compact": ("",)}
        return ":" + self.chosen(fitting[self.options.get("whitespace", "flexible")], ("", " ", "  ", "\n", "\t"))

    def string(self, text: str) -> str:
        return '"' + "".join(map(self.character, text)) + '"'

    def character(self, char: str) -> str:
        ascii_only = self.options.get("ensure_ascii", False)
        shortest = json.dumps(char, ensure_ascii=ascii_only)[1:-1]
        if self.rng.random() < 0.85:
            return shortest
        code = char.encode("utf-16-be").hex()
        escaped = "".join(f"\\u{code[at : at + 4]}" for at in range(0, len(code), 4))
        found = self.rng.choice(
            (escaped, escaped.upper().replace("U", "u"), shortest, "\\/" if char == "/" else shortest)
        )
        if ord(char) > 127 and self.rng.random() < 0.3:
            found = char
        if self.options.get("string_escapes", "all") == "shortest":
            self.fits = self.fits and found == shortest
        elif ascii_only:
            self.fits = self.fits and found.isascii()
        return found

    def number(self, number: float) -> str:
        if self.has_plain_numbers:
            return json.dumps(with_ints(number))
        plain = json.dumps(number)
        chance = self.rng.random()
        exact = Decimal(plain)
        if chance < 0.6:
            found = plain
        elif chance < 0.75 and exact == exact.to_integral_value():
            found = f"{int(exact)}{self.rng.choice(('.0', '', '.00', 'e0', 'E+0', '.0e-0'))}"
        else:
            power = self.rng.choice((-2, -1, 1, 2))
            moved = f"{exact.scaleb(-power):f}"
            found = f"{moved}{self.rng.choice(('e', 'E'))}{power}"
        return found


OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {},
    {"ensure_ascii": True},
    {"string_escapes": "shortest"},
    {"string_escapes": "shortest", "ensure_ascii": True},
    {"whitespace": "compact"},
    {"whitespace": "spaced"},
)


def check_meetings(rng: Random, schema: Any, report: Report, n_walks: int = 3, n_instances: int = 16) -> None:
    """Compare the grammar of a schema with the oracle: on documents in many spellings, and by walks."""
    oracle = Oracle(schema)
    options = {"property_order": "any", "spellings": "all", **rng.choice(OPTIONS)}
    instances: list[Any] = []
    for _ in range(n_instances):
        instances.append(near(rng, schema))
        instances.append(mutated(rng, instances[-1]))
        instances.append(value(rng, 2))
    instances += [*CONSTANTS, *(REGEXES if '"regex"' in json.dumps(schema) else ())]
    try:
        valid = [data for data in instances if oracle.accepts(json.dumps(data))]
    except RecursionError:
        report.counts["the oracle goes in a circle"] += 1
        return
    grammar = loaded(schema, "any", valid, report, **options)
    if grammar is None:
        return
    must_differ = any(row.reason is Reason.DIFFERING_NUMBERS for row in grammar.report)
    for data in instances:
        spelling = Spelling(rng, options, must_differ)
        text = spelling.text(data)
        is_valid = oracle.accepts(text)
        expected = is_valid and spelling.fits
        try:
            is_accepted = accepts(grammar, text)
        except earleymask.LimitError as error:
            report.counts["limit"] += 1
            report.limits[str(error)] += 1
            continue
        report.counts["valid" if expected else "misspelled" if is_valid else "invalid"] += 1
        if is_accepted != expected:
            what = "refused" if expected else "accepted, though misspelled" if is_valid else "accepted, though invalid"
            report.wrong.append(f"{text!r} is {what} ({options}): {json.dumps(schema)}")
    check_plain(instances, schema, oracle, valid, report)
    where = f"({options}): {json.dumps(schema)}"
    for _ in range(n_walks):
        compare_walk(rng, grammar, oracle, where, report)
    ordered = loaded(schema, "schema", valid, report)
    if ordered is not None:
        for _ in range(n_walks):
            compare_walk(rng, ordered, oracle, f"(order schema): {json.dumps(schema)}", report)


def check_plain(instances: list[Any], schema: Any, oracle: Oracle, valid: list[Any], report: Report) -> None:
    """Check that what `json.dumps` writes, whole numbers as ints, is accepted with plain spellings exactly if it is
    valid."""
    plain = loaded(schema, "any", valid, report)
    for data in instances if plain is not None else ():
        text = json.dumps(with_ints(data))
        compare(plain, text, oracle.accepts(text), f"(plain): {json.dumps(schema)}", report)


def with_ints(data: Any) -> Any:
    if isinstance(data, list):
        return list(map(with_ints, data))
    if isinstance(data, dict):
        return {name: with_ints(member) for name, member in data.items()}
    return int(data) if isinstance(data, float) and data == int(data) else data


def random_meeting(seed: int, number: int, draft: str) -> tuple[Random, Any]:
    """Return the schema of this seed, number and draft, and the `Random` for its documents."""
    rng = Random(f"meetings {seed} {number} {draft}")
    return rng, MeetingSchemas(rng, draft).whole()
