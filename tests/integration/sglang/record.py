"""What the adapter uses of SGLang, written as JSON: `recorded.json`, with which the normal suite tests without SGLang.

ENVIRONMENT/bin/python tests/integration/sglang/record.py --write     after an upgrade, then read the difference
ENVIRONMENT/bin/python tests/integration/sglang/record.py             says whether it still is as it was recorded

PYTHONPATH must have `tests/integration/sglang/stubs`.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from support.recorded import changes, find, write

RECORDED = Path(__file__).with_name("recorded.json")

BASE = "sglang.srt.constrained.base_grammar_backend"
XGRAMMAR = "sglang.srt.constrained.xgrammar_backend"
RESULTS = "sglang.srt.managers.scheduler_components.batch_result_processor"
CLASSES = {
    f"{BASE}:BaseGrammarBackend": f"{XGRAMMAR}:XGrammarGrammarBackend",
    f"{BASE}:BaseGrammarObject": f"{XGRAMMAR}:XGrammarGrammar",
}
"""The classes of which ours are kinds, and those of the built-in backend, with whose methods ours are compared."""
FUNCTIONS = (
    f"{BASE}:register_grammar_backend",
    f"{BASE}:InvalidGrammarObject",
    "sglang.srt.constrained.reasoner_grammar_backend:ReasonerGrammarBackend",
    "sglang.srt.parser.reasoning_parser:ReasoningParser",
    "sglang.srt.parser.reasoning_parser:BaseReasoningFormatDetector.get_think_end_token_ids",
    "sglang.srt.runtime_context:get_serving",
    "sglang.srt.server_args:add_grammar_backend_choices",
    "sglang.srt.speculative.spec_utils:traverse_tree",
    "sglang.srt.utils.common:is_pin_memory_available",
)
USES = {
    f"{BASE}:create_grammar_backend": (
        "GRAMMAR_BACKEND_REGISTRY[name](",
        "server_args, tokenizer, vocab_size, eos_token_ids",
    ),
    f"{BASE}:BaseGrammarBackend.get_cached_or_future_value": (
        "self.cache.get(key)",
        "value.copy()",
        "self.executor.submit(",
    ),
    f"{BASE}:BaseGrammarBackend.set_cache": ("self.cache[key] = value",),
    f"{BASE}:BaseGrammarBackend.reset": ("self.cache.clear()",),
    "sglang.srt.plugins:load_plugins": ("func()", "except Exception"),
    "sglang.launch_server": ("load_plugins()\n\n    server_args = prepare_server_args(",),
    f"{RESULTS}:SchedulerBatchResultProcessor._accept_grammar_tokens": ("except ValueError",),
    "sglang.srt.speculative.spec_utils:traverse_tree": ("except ",),
    "sglang.srt.sampling.sampling_batch_info:SamplingBatchInfo.update_regex_vocab_mask": (
        "first_grammar.allocate_vocab_mask(",
        "not grammar.is_terminated()",
        "first_grammar.fill_vocab_mask_batched(entries, vocab_mask)",
        "first_grammar.move_vocab_mask(vocab_mask, self.device)",
        "except ",
    ),
    "sglang.srt.constrained.grammar_manager:GrammarManager.get_ready_grammar_requests": (
        "set_cache(req.grammar_key, req.grammar.copy())",
        "req.grammar.error_message",
    ),
}
"""What the adapter relies on that no signature shows: parts of functions, and whether they are there."""
CONFIG = (
    "constrained_json_disable_any_whitespace",
    "constrained_json_max_whitespace_cnt",
    "constrained_json_whitespace_pattern",
    "enable_strict_thinking",
    "reasoning_parser",
)


def parameters(function: Any) -> list[str]:
    """Return the parameters of a function, those that may be left out with `=` and their defaults."""
    try:
        signature = inspect.signature(function)
    except ValueError:  # a method of a built-in class
        return []
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return [
        stars.get(parameter.kind, "")
        + (parameter.name if parameter.default is parameter.empty else f"{parameter.name}={parameter.default!r}")
        for parameter in signature.parameters.values()
    ]


def methods(kind: type, builtin: type) -> dict[str, Any]:
    """Return the public methods of a class: how they are called, and whether the built-in backend has its own."""
    found = {}
    for name, value in vars(kind).items():
        if name.startswith("_"):
            continue
        if isinstance(value, property):
            how = "property"
        else:
            how = "static" if isinstance(value, staticmethod) else "method"
        found[name] = {
            "is": how,
            "parameters": [] if how == "property" else parameters(getattr(kind, name)),
            "replaced": getattr(builtin, name) is not getattr(kind, name),
        }
    return dict(sorted(found.items()))


def record() -> dict[str, Any]:
    import sglang

    base = import_module(BASE)
    choices = import_module("sglang.srt.server_args").GRAMMAR_BACKEND_CHOICES
    known = inspect.getsource(import_module("sglang.srt.arg_groups.field_order"))
    return {
        "version": sglang.__version__,
        "group": import_module("sglang.srt.plugins").GENERAL_PLUGINS_GROUP,
        "choices": sorted(set(choices) - {"earleymask"}),
        "classes": {path: methods(find(path), find(builtin)) for path, builtin in CLASSES.items()},
        "functions": {path: parameters(find(path)) for path in FUNCTIONS},
        "row": list(base.GrammarRow._fields),
        "stats": {
            field.name: field.default is not dataclasses.MISSING for field in dataclasses.fields(base.GrammarStats)
        },
        "config": {name: f'"{name}"' in known for name in CONFIG},
        "uses": {path: {part: part in inspect.getsource(find(path)) for part in parts} for path, parts in USES.items()},
    }


def main() -> int:
    found = record()
    if sys.argv[1:] == ["--write"]:
        write(RECORDED, found)
        return 0
    faults = changes(RECORDED, found)
    print(json.dumps({"results": {"interface": "changed" if faults else "as recorded"}, "faults": faults}))
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
