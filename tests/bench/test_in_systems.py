"""`bench.in_systems`: each document fits its constraint, and the table has a line for each backend."""

from __future__ import annotations

import json
import re
import sys
from random import Random

import jsonschema
import lark
import pytest

from earleymask import Grammar, Matcher, Vocabulary
from support.paths import ROOT

sys.path.append(str(ROOT))  # `bench` removes it again, for the root would hide the installed package

from bench import in_sglang, in_systems


@pytest.mark.parametrize("seed", range(5))
def test_documents_fit_their_constraints(seed: int) -> None:
    kind, spec, text = in_systems.schema_case(Random(seed))
    assert kind == "json"
    jsonschema.validate(json.loads(text), json.loads(spec))

    kind, spec, text = in_systems.tool_case(Random(seed))
    assert kind == "structural_tag"
    call = re.fullmatch(r"Let me look that up\. (<call:\w+>)(.*)</call> That is all\.", text)
    assert call is not None
    (schema,) = [each["schema"] for each in json.loads(spec)["structures"] if each["begin"] == call[1]]
    jsonschema.validate(json.loads(call[2]), schema)

    kind, spec, text = in_systems.lark_case(Random(seed))
    assert kind == "lark"
    lark.Lark(spec, parser="earley", lexer="dynamic_complete").parse(text)

    kind, spec, text = in_systems.ebnf_case(Random(seed))
    assert kind == "ebnf"
    matcher = Matcher(Grammar.from_gbnf(spec), Vocabulary.bytes())
    assert all(matcher.accept(byte) for byte in text.encode()) and matcher.is_accepting()


def test_the_table_has_a_line_for_each_backend() -> None:
    figures = {"mean": 1500.0, "p99": 2000.0, "max": 2500.0}
    side = dict.fromkeys(("steps", "processor", "compile", "first"), figures)
    sides = {**dict.fromkeys(in_sglang.SYSTEM.sides, side), "xgrammar": {"error": "a | b"}}
    batch = {"workload": "schemas", "size": 32, "drafts": 4, "sides": sides}
    record = {"environment": {"peers": {"sglang": "0.5.23"}}, "batches": [batch]}
    text = in_systems.markdown(in_sglang.SYSTEM, record)
    assert text.startswith("SGLang 0.5.23. ")
    assert "| schemas | 32 | 4 | llguidance | 1.500 / 2.000 / 2.500 | 1.500 / 2.000 / 2.500 | 1.50 | 1.50 |\n" in text
    assert "| schemas | 32 | 4 | xgrammar | a   b | | | |\n" in text
