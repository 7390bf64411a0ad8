"""What the adapter uses of vLLM, written as JSON: `recorded.json`, with which the normal suite tests without vLLM.

ENVIRONMENT/bin/python tests/integration/vllm/record.py --write     after an upgrade, then read the difference
ENVIRONMENT/bin/python tests/integration/vllm/record.py             says whether it still is as it was recorded
"""

from __future__ import annotations

import inspect
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from support.recorded import changes, find, write

RECORDED = Path(__file__).with_name("recorded.json")

CLASSES = (
    "vllm.v1.structured_output.backend_types:StructuredOutputBackend",
    "vllm.v1.structured_output.backend_types:StructuredOutputGrammar",
)
FUNCTIONS = (
    "vllm.utils.mistral:is_mistral_tokenizer",
    "vllm.v1.structured_output.backend_guidance:validate_guidance_grammar",
    "vllm.v1.structured_output.backend_guidance:GuidanceBackend.is_tokenizer_supported",
    "vllm.v1.structured_output.backend_xgrammar:validate_xgrammar_grammar",
    "vllm.v1.structured_output.request:get_structured_output_key",
    "vllm.v1.structured_output.utils:grammar_is_likely_lark",
)
ERRORS = ("VLLMClientError", "VLLMValidationError")
REPLACED = (
    "vllm.v1.structured_output:GuidanceBackend",
    "vllm.v1.structured_output:XgrammarBackend",
    "vllm.v1.structured_output.backend_guidance:GuidanceBackend",
    "vllm.v1.structured_output.backend_guidance:validate_guidance_grammar",
    "vllm.v1.structured_output.backend_xgrammar:XgrammarBackend",
    "vllm.v1.structured_output.backend_xgrammar:validate_xgrammar_grammar",
)
USERS = (
    "vllm.entrypoints.generate.base.protocol:validate_structural_tag_payload",
    "vllm.sampling_params:SamplingParams._validate_structured_outputs",
    "vllm.v1.structured_output:StructuredOutputManager.grammar_init",
)
"""Functions that look the replaced names up."""

KEYS: tuple[dict[str, Any], ...] = (
    {"json": {"type": "integer"}},
    {"json": '{"type": "integer"}'},
    {"json_object": True},
    {"regex": "[0-9]"},
    {"choice": ["a", "b"]},
    {"grammar": 'start: "a"'},
    {"structural_tag": "{}"},
)
TEXTS = (
    'start: "a"',
    'root ::= "a"',
    '# a ::= b\nstart: "a"',
    'x: "::="',
    "// root ::= a\n\nroot ::= b",
    "start: item",
)


def parameters(function: Any) -> list[str]:
    """Return the parameters of a function, those that may be left out with `=` and their defaults."""
    return [
        parameter.name if parameter.default is parameter.empty else f"{parameter.name}={parameter.default!r}"
        for parameter in inspect.signature(function).parameters.values()
    ]


def methods(kind: Any) -> dict[str, list[str]]:
    return {name: parameters(getattr(kind, name)) for name in sorted(kind.__abstractmethods__)}


def names_used(function: Any) -> list[str]:
    names = {path.rpartition(":")[2] for path in REPLACED}
    source = inspect.getsource(function)
    return sorted(name for name in names if name in source)


def record() -> dict[str, Any]:
    import vllm
    from vllm.sampling_params import StructuredOutputsParams

    exceptions = import_module("vllm.exceptions")
    options = find("vllm.v1.structured_output.backend_types:StructuredOutputOptions")
    key = find("vllm.v1.structured_output.request:get_structured_output_key")
    is_lark = find("vllm.v1.structured_output.utils:grammar_is_likely_lark")
    keys = []
    for given in KEYS:
        kind, spec = key(StructuredOutputsParams(**given))
        keys.append([given, kind.name, spec])
    return {
        "version": vllm.__version__,
        "options": [option.name for option in options],
        "errors": {
            name: [base.__name__ for base in getattr(exceptions, name).__mro__ if base is not object] for name in ERRORS
        },
        "classes": {path: methods(find(path)) for path in CLASSES},
        "backend": parameters(find(CLASSES[0])),
        "functions": {path: parameters(find(path)) for path in FUNCTIONS},
        "replaced": {path: callable(find(path)) for path in REPLACED},
        "users": {path: names_used(find(path)) for path in USERS},
        "keys": keys,
        "is Lark": {text: is_lark(text) for text in TEXTS},
    }


def main() -> int:
    found = record()
    if sys.argv[1:] == ["--write"]:
        write(RECORDED, found)
        return 0
    faults = changes(RECORDED, found)
    print(json.dumps({"interface": "as recorded" if not faults else "changed", "faults": faults}))
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
