"""`earleymask schema` prints examples and reports, and shows where an instance stops being valid."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from earleymask import cli

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "minLength": 1}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


@pytest.fixture
def schema_file(tmp_path: Path) -> str:
    return written(tmp_path, "schema.json", SCHEMA)


def written(folder: Path, name: str, value: Any) -> str:
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(["schema", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize("seed", range(5))
def test_an_example(capsys: pytest.CaptureFixture[str], schema_file: str, seed: int) -> None:
    code, out, err = run(capsys, schema_file, "--seed", str(seed))
    title, text = out.splitlines()
    assert (code, err, title) == (0, "", "The schema can be enforced. A document that it allows:")
    document = json.loads(text)
    assert list(document) == ["name", "age"] and document["name"] and document["age"] >= 0
    assert run(capsys, schema_file, "--seed", str(seed))[1] == out


TREE = {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/t"}, "minItems": 2}, {"type": "null"}]}
LONG = [{"$ref": "#/$defs/t", "$defs": {"t": TREE}}, {"type": "string", "minLength": 500}, {"enum": ["é\n"]}, {}]


@pytest.mark.parametrize("schema", LONG)
def test_examples_end(capsys: pytest.CaptureFixture[str], tmp_path: Path, schema: Any) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    for seed in range(5):
        code, out, err = run(capsys, written(tmp_path, "s.json", schema), "--seed", str(seed))
        assert (code, err) == (0, "")
        jsonschema.validate(json.loads(out.splitlines()[1]), schema)


def test_a_valid_instance(capsys: pytest.CaptureFixture[str], tmp_path: Path, schema_file: str) -> None:
    for text in ('{"name": "A", "age": 1}', '\n{"name":"A","age":1}\n', json.dumps({"name": "A", "age": 1}, indent=2)):
        instance = written(tmp_path, "i.json", text)
        assert run(capsys, schema_file, "--instance", instance) == (0, "The instance is valid.\n", "")


def test_an_invalid_instance(capsys: pytest.CaptureFixture[str], tmp_path: Path, schema_file: str) -> None:
    code, out, err = run(capsys, schema_file, "--instance", written(tmp_path, "i.json", '{"name": "", "age": 1}'))
    assert (code, err) == (1, "")
    assert out.splitlines()[:4] == [
        "The instance is not valid: the schema does not allow the character at the caret.",
        "line 1, column 11:",
        '    {"name": "", "age": 1}',
        "              ^",
    ]


def test_an_incomplete_instance(capsys: pytest.CaptureFixture[str], tmp_path: Path, schema_file: str) -> None:
    code, out, _ = run(capsys, schema_file, "--instance", written(tmp_path, "i.json", '{"name": "A"'))
    assert code == 1
    assert out.startswith("The instance ends too early: it is only the beginning of a document.\nline 1, column 13:")


def test_an_instance_that_is_valid_in_another_order(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, schema_file: str
) -> None:
    instance = written(tmp_path, "i.json", '{"age": 1, "name": "A"}')
    code, out, _ = run(capsys, schema_file, "--instance", instance)
    assert code == 1
    assert out.startswith("The instance is valid, but the grammar writes it in another way")
    assert out.endswith("hint: --order any allows the keys in any order\n")
    assert run(capsys, schema_file, "--instance", instance, "--order", "any")[0] == 0


def test_a_report(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    schema = {**SCHEMA, "x-mine": 1, "title": "T"}
    code, out, err = run(capsys, written(tmp_path, "s.json", schema), "--report")
    assert (code, err) == (0, "")
    *rows, _, total, legend, options = out.splitlines()
    found = {row.split()[1]: row.split()[0] for row in rows}
    assert found["/required"] == "exact"
    assert found["#"] == "narrowed"  # which the rows about the whole document say
    assert {"/x-mine", "/title", "/type", "/properties/age/minimum"} <= found.keys()
    n_exact = sum(row.startswith("exact") for row in rows)
    assert total == f"{len(rows)} rows: {n_exact} exact, {len(rows) - n_exact} narrowed"
    assert legend == "narrowed: some valid documents cannot be written"
    assert options == "Names with `=` are options of Grammar.from_json_schema."


def test_a_report_of_what_cannot_be_enforced(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    refused = written(tmp_path, "s.json", {"properties": {"a": {"type": "string", "pattern": r"(a)\1"}}})
    code, out, err = run(capsys, refused)
    assert (code, out) == (2, "") and "s.json, at #/properties/a/pattern: " in err
    assert "--report" in err
    code, out, err = run(capsys, refused, "--report")
    assert (code, err) == (1, "")
    assert [row.split()[0] for row in out.splitlines() if "/properties/a/pattern" in row] == ["widened"]
    assert "widened: the keyword is not enforced" in out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"type": "strin"}', "earleymask: in {}, at #/type: `type` must be one of "),
        ('{"a": 1, "a": 2}', 'earleymask: in {}, line 1, column 10: the key "a" stands twice in one object'),
        ("{", "earleymask: in {}, line 1, column 2: the schema is not JSON"),
        ("false", "earleymask: in {}: no document satisfies the schema"),
    ],
)
def test_schemas_that_cannot_be_used(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, message: str
) -> None:
    path = written(tmp_path, "s.json", text)
    code, out, err = run(capsys, path)
    assert (code, out) == (2, "")
    assert err.startswith(message.format(path))


def test_one_of_the_two_comes_from_stdin(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, schema_file: str
) -> None:
    code, _, err = run(capsys, "-", "--instance", "-")
    assert (code, err) == (2, "earleymask: the schema and the instance cannot both come from stdin\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"name": "A", "age": 1}')))
    assert run(capsys, schema_file, "--instance", "-")[0] == 0


NUMBERS = {"properties": {"a": {"type": "integer"}, "b": {"type": "string"}, "c": {"multipleOf": 0.5}}}


@pytest.mark.parametrize(
    ("text", "kinds", "rows"),
    [
        ('{"b": "x", "a": 1}', "order of keys", ["#"]),
        ('{"a":  1}', "white space", ["#"]),
        ('{"b": "x",   "a": 1}', "order of keys, white space", ["#", "#"]),
        ('{"a": 10000000000000000000000000e-25}', "spelling of numbers", ["#"]),
        ('{"a": 1.0}', "spelling of numbers", ["#"]),
        (r'{"\u0061": 1}', "spelling of strings", ["#"]),
        (r'{"a":  1e0, "\u0062": "x"}', "white space, spelling of strings, spelling of numbers", ["#", "#"]),
        ('{"c": 50000000000000000000000000e-26}', "spelling of numbers", ["/properties/c/multipleOf"]),
        (
            '{"c": 50000000000000000000000000e-26 , "a": 1}',
            "order of keys, white space, spelling of numbers",
            ["#", "#", "/properties/c/multipleOf"],
        ),
    ],
)
def test_an_instance_that_is_narrowed_away(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, kinds: str, rows: list[str]
) -> None:
    instance = written(tmp_path, "i.json", text)
    code, out, _ = run(capsys, written(tmp_path, "s.json", NUMBERS), "--instance", instance)
    assert code == 1
    first, *others = out.splitlines()
    assert first == f"The instance is valid, but the grammar writes it in another way ({kinds}):"
    assert [line.split()[:2] for line in others[: len(rows)]] == [["narrowed", row] for row in rows]
    assert others[len(rows)].startswith("line 1, column ")


@pytest.mark.parametrize("text", ['{"a": 1.5}', '{"b": "x", "a":  1.5}', '{"a": 15e-1}', '{"b": 1, "a": 1}'])
def test_an_instance_that_is_invalid_however_it_is_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str
) -> None:
    instance = written(tmp_path, "i.json", text)
    code, out, _ = run(capsys, written(tmp_path, "s.json", NUMBERS), "--instance", instance)
    assert code == 1
    assert out.startswith("The instance is not valid")


PLACES = {
    "properties": {
        "host": {"format": "hostname"},
        "name": {"minLength": 1},
        "all": {"items": {"type": "number"}, "uniqueItems": True},
        "some": {"minimum": 1},
    }
}


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('{"host": "xn--4gbwdl.xn--wgbh1c"}', ["/properties/host/format"]),
        ('{"name": "\\ud800"}', ["#"]),
        ('{"all": [1e400, 2]}', ["/properties/all/uniqueItems"]),
        (f'{{"all": [{"7" * 200}, 2]}}', ["/properties/all/uniqueItems"]),
        ('{"some": 1234567890123456789012345678901234567890e1000}', ["/properties/some/minimum"]),
        ('{"some": 12345678901234567890e1000000000000000000000}', ["/properties/some/minimum"]),
        (
            '{"some": 2, "name": "\\ud800", "host": "xn--4gbwdl"}',
            ["#", "/properties/host/format"],
        ),
    ],
)
def test_an_instance_that_may_be_narrowed_away(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, rows: list[str]
) -> None:
    code, out, _ = run(capsys, written(tmp_path, "s.json", PLACES), "--instance", written(tmp_path, "i.json", text))
    assert code == 1
    first, *others = out.splitlines()
    assert first == "Cannot determine whether the instance is valid. The grammar rejects it, possibly because:"
    assert [line.split()[:2] for line in others[: len(rows)]] == [["narrowed", row] for row in rows]
    assert others[len(rows)].startswith("line 1, column ")


@pytest.mark.parametrize(
    "text",
    [
        '{"host": "a b"}',
        '{"host": "a b.ab--c"}',
        '{"name": ""}',
        '{"all": [1, 1.0]}',
        '{"some": 0.5}',
        '{"some": 1e-100}',
    ],
)
def test_an_instance_of_which_nothing_is_narrowed_is_invalid(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str
) -> None:
    code, out, _ = run(capsys, written(tmp_path, "s.json", PLACES), "--instance", written(tmp_path, "i.json", text))
    assert code == 1
    assert out.startswith("The instance is not valid")


def test_in_draft_4_an_integer_is_not_written_otherwise(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-04/schema#",
        "properties": {"a": {"type": "integer", "minimum": 0}},
    }
    for text, said in (
        ('{"a": 1.0}', "not valid"),
        ('{"a": 1e2}', "not valid"),
        ('{"a":  1}', "valid, but the grammar writes it in another way (white space)"),
    ):
        _, out, _ = run(capsys, written(tmp_path, "s.json", schema), "--instance", written(tmp_path, "i.json", text))
        assert out.startswith(f"The instance is {said}")


def test_an_instance_with_a_key_twice(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    instance = written(tmp_path, "i.json", '{"a": 1, "n": {"x": 1,\n "\\u0078": 2}}')
    code, out, _ = run(capsys, written(tmp_path, "s.json", {}), "--instance", instance)
    assert code == 1
    assert out.splitlines()[:2] == [
        'The instance has the key "x" twice in one object, which earleymask never allows:',
        "line 2, column 2:",
    ]


def test_hints_name_what_the_command_line_has(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    refused = written(tmp_path, "s.json", {"pattern": "(a)\\1"})
    assert run(capsys, refused)[2].endswith("hint: --report shows what the schema becomes without it\n")
    absent = written(tmp_path, "s.json", {"$ref": "http://h/x"})
    assert run(capsys, absent)[2].endswith("(in Python; the command line has no such option)\n")


def test_what_is_expected_is_legible(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    schema = written(tmp_path, "s.json", {"type": "object"})
    _, out, _ = run(capsys, schema, "--instance", written(tmp_path, "i.json", '{"a": null]'))
    assert {'  # > "}"', '  # > ","'} < set(out.splitlines())
    assert out.splitlines()[-1] == "nearest: '}' (1 character changed)"


def test_the_keyword_that_refuses_an_instance_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    schema = written(tmp_path, "s.json", {"properties": {"age": {"type": "integer", "maximum": 130}}})
    code, out, _ = run(capsys, schema, "--instance", written(tmp_path, "i.json", '{"age": 131}'))
    assert code == 1
    assert "in the document at /age" in out.splitlines()
    assert "in the schema, #/properties/age/maximum refuses it" in out.splitlines()
