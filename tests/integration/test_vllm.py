"""The adapter for vLLM, against its interface as it was recorded (`vllm/record.py`): this needs no vLLM.

`python -m tests.integration.vllm` runs the adapter inside vLLM, and checks that the record still holds.
"""

from __future__ import annotations

import enum
import importlib
import json
import logging
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from earleymask import EmptyMaskError, Grammar, LimitError, Limits, Matcher, Vocabulary
from earleymask.integration.vllm import plugin
from support.tiny_model import tiny_tokenizer

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

RECORDED = json.loads(Path(__file__).parent.joinpath("vllm", "recorded.json").read_text(encoding="utf-8"))
SIZE = 300
"""Logits of the model: more than the tokenizer has ids."""
SCHEMA = '{"properties": {"name": {"enum": ["in", "er"]}}, "required": ["name"], "additionalProperties": false}'


def stub_of(function: str) -> Any:
    """Return a function with the recorded parameters, which must not be called."""
    header = ", ".join(RECORDED["functions"][function])
    name = function.rpartition(":")[2].rpartition(".")[2]
    space: dict[str, Any] = {}
    exec(f"def {name}({header}): raise AssertionError('replaced functions are not called')", space)
    return space[name]


def abstract(path: str, base: dict[str, Any]) -> type:
    """Return an abstract class with the recorded methods."""
    made = dict(base)
    for name, parameters in RECORDED["classes"][path].items():
        space: dict[str, Any] = {}
        exec(f"def {name}({', '.join(parameters)}): ...", space)
        made[name] = abstractmethod(space[name])
    return type(path.rpartition(":")[2], (ABC,), made)


def stubs() -> dict[str, ModuleType]:
    """Return modules in the place of vLLM's, with what was recorded."""
    found: dict[str, ModuleType] = {}

    def module(name: str, **attributes: Any) -> ModuleType:
        made = ModuleType(name)
        vars(made).update(attributes)
        found[name] = made
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(found[parent], last, made)
        return made

    module("vllm", __version__=RECORDED["version"])
    made: dict[str, type] = {"Exception": Exception}
    for mro in RECORDED["errors"].values():
        for name in reversed(mro[: mro.index("Exception")]):
            made.setdefault(name, type(name, (made[mro[mro.index(name) + 1]],), {}))
    module("vllm.exceptions", **made)
    module("vllm.utils")
    module("vllm.utils.mistral", is_mistral_tokenizer=lambda obj: False)
    module("vllm.v1")

    class Builtin:
        is_tokenizer_supported = staticmethod(
            stub_of("vllm.v1.structured_output.backend_guidance:GuidanceBackend.is_tokenizer_supported")
        )

    output = "vllm.v1.structured_output"
    module(output, GuidanceBackend=Builtin, XgrammarBackend=Builtin)
    validate = stub_of(f"{output}.backend_guidance:validate_guidance_grammar")
    module(f"{output}.backend_guidance", GuidanceBackend=Builtin, validate_guidance_grammar=validate)
    validate = stub_of(f"{output}.backend_xgrammar:validate_xgrammar_grammar")
    module(f"{output}.backend_xgrammar", XgrammarBackend=Builtin, validate_xgrammar_grammar=validate)

    def set_fields(self: Any, *values: Any) -> None:
        for name, value in zip(RECORDED["backend"], values, strict=True):
            setattr(self, name, value)

    types = f"{output}.backend_types"
    options: Any = enum.Enum("StructuredOutputOptions", RECORDED["options"])  # type: ignore[misc]
    module(
        types,
        StructuredOutputOptions=options,
        StructuredOutputBackend=abstract(f"{types}:StructuredOutputBackend", {"__init__": set_fields}),
        StructuredOutputGrammar=abstract(f"{types}:StructuredOutputGrammar", {}),
    )

    def key(params: Any) -> Any:
        (found,) = [(kind, spec) for given, kind, spec in RECORDED["keys"] if given == params]
        return options[found[0]], found[1]

    module(f"{output}.request", get_structured_output_key=key)
    module(f"{output}.utils", grammar_is_likely_lark=lambda text: RECORDED["is Lark"][text])
    return found


@pytest.fixture
def vllm(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """The adapter's modules, imported anew with stubs in the place of vLLM."""
    for name, module in stubs().items():
        monkeypatch.setitem(sys.modules, name, module)
    names = ("grammars", "backend", "validation")
    for name in names:
        monkeypatch.delitem(sys.modules, f"earleymask.integration.vllm.{name}", raising=False)
    made = {name: importlib.import_module(f"earleymask.integration.vllm.{name}") for name in names}
    options = sys.modules["vllm.v1.structured_output.backend_types"].StructuredOutputOptions  # type: ignore[attr-defined]
    yield SimpleNamespace(**made, options=options)
    for name in names:
        sys.modules.pop(f"earleymask.integration.vllm.{name}", None)


def make_backend(vllm: SimpleNamespace, *, compact: bool = False, closed: bool = False) -> Any:
    config = SimpleNamespace(disable_any_whitespace=compact, disable_additional_properties=closed)
    return vllm.backend.EarleymaskBackend(SimpleNamespace(structured_outputs_config=config), tiny_tokenizer(), SIZE)


def vocabulary() -> Vocabulary:
    return Vocabulary.from_transformers(tiny_tokenizer(), size=SIZE)


def tokens(text: str) -> list[int]:
    found: list[int] = tiny_tokenizer().encode(text, add_special_tokens=False)
    return found


def row(grammar: Any, backend: Any) -> list[int]:
    """Return the tokens that a grammar allows, as vLLM asks for them."""
    bitmask = backend.allocate_token_bitmask(3)
    grammar.fill_bitmask(bitmask, 1)
    assert (bitmask[[0, 2]] == -1).all(), "rows of others have changed"
    found: list[int] = np.unpackbits(bitmask[1].numpy().view(np.uint8), bitorder="little").nonzero()[0].tolist()
    return found


def allowed(matcher: Matcher) -> list[int]:
    found: list[int] = matcher.mask().nonzero()[0].tolist()
    return found


EOS = tiny_tokenizer().eos_token_id


# -- the interface -----------------------------------------------------------------------------------------------------


def test_methods_have_the_recorded_parameters(vllm: SimpleNamespace) -> None:
    import inspect

    kinds = {"StructuredOutputBackend": "EarleymaskBackend", "StructuredOutputGrammar": "EarleymaskGrammar"}
    for path, methods in RECORDED["classes"].items():
        kind = getattr(vllm.backend, kinds[path.rpartition(":")[2]])
        for name, parameters in methods.items():
            ours = inspect.signature(getattr(kind, name)).parameters.values()
            assert [each.name for each in ours] == [each.partition("=")[0] for each in parameters], name
            assert [each.default is each.empty for each in ours] == ["=" not in each for each in parameters], name
    assert list(inspect.signature(vllm.backend.EarleymaskBackend).parameters) == RECORDED["backend"]


def test_all_constraints_are_read(vllm: SimpleNamespace) -> None:
    specs = {
        "JSON": SCHEMA,
        "JSON_OBJECT": "",
        "REGEX": "[0-9]+",
        "CHOICE": '["a", "b"]',
        "GRAMMAR": 'start: "a"',
        "STRUCTURAL_TAG": '{"format": {"type": "const_string", "value": "a<|eot|>"}}',
    }
    assert set(specs) == set(RECORDED["options"])
    backend = make_backend(vllm)
    for name, spec in specs.items():
        grammar = backend.compile_grammar(vllm.options[name], spec, {EOS})
        expected = Matcher(vllm.grammars.read_grammar(name, spec, vocabulary()), vocabulary())
        assert row(grammar, backend) == allowed(expected), name


def test_lark_and_gbnf_are_distinguished_as_vllm_does(vllm: SimpleNamespace) -> None:
    found = {text: vllm.grammars.read_grammar("GRAMMAR", text).kind for text in ('start: "a"', 'root ::= "a"')}
    assert found == {'start: "a"': "lark", 'root ::= "a"': "gbnf"}


def test_the_bitmask_has_the_columns_of_the_model(vllm: SimpleNamespace) -> None:
    bitmask = make_backend(vllm).allocate_token_bitmask(5)
    assert bitmask.shape == (5, 10) and bitmask.dtype == torch.int32 and (bitmask == -1).all()


@pytest.mark.parametrize(
    ("option", "blank", "other"), [({}, True, True), ({"compact": True}, False, True), ({"closed": True}, True, False)]
)
def test_options_of_the_configuration(vllm: SimpleNamespace, option: dict[str, bool], blank: bool, other: bool) -> None:
    grammar = make_backend(vllm, **option).compile_grammar(vllm.options.JSON, '{"properties": {"a": {}}}', {EOS})
    text = tokens('{"a": 1}')
    assert (grammar.validate_tokens(text) == text) == blank
    text = tokens('{"b":1}')
    assert (grammar.validate_tokens(text) == text) == other


# -- a sequence --------------------------------------------------------------------------------------------------------


def test_a_sequence_from_its_beginning_to_eos(vllm: SimpleNamespace) -> None:
    backend = make_backend(vllm)
    grammar = backend.compile_grammar(vllm.options.JSON, SCHEMA, {EOS})
    text = tokens('{"name": "in"}')
    assert grammar.validate_tokens([*text, EOS, EOS, text[0]]) == [*text, EOS]
    assert grammar.validate_tokens([*text[:3], SIZE + 5]) == text[:3]
    assert grammar.accept_tokens("r", text) and not grammar.is_terminated()
    assert row(grammar, backend) == [EOS]
    assert not grammar.accept_tokens("r", [text[0]])
    assert grammar.accept_tokens("r", [EOS, text[0]]), "what follows EOS is ignored"
    assert grammar.is_terminated()
    assert grammar.validate_tokens([EOS]) == []
    grammar.rollback(2)
    assert not grammar.is_terminated() and grammar.validate_tokens([*text[-1:], EOS]) == [*text[-1:], EOS]
    grammar.reset()
    assert grammar.validate_tokens(text) == text


def test_requests_with_the_same_constraint_share_a_grammar_and_nothing_else(vllm: SimpleNamespace) -> None:
    backend = make_backend(vllm)
    first, second = (backend.compile_grammar(vllm.options.JSON, SCHEMA, {EOS}) for _ in range(2))
    assert first.accept_tokens("r", tokens("{"))
    assert second.validate_tokens(tokens("{")) == tokens("{")
    assert first._matcher.grammar is second._matcher.grammar
    backend.destroy()
    assert first.validate_tokens(tokens('"name"')) == tokens('"name"')


def test_stop_tokens_of_the_request_end_it(vllm: SimpleNamespace) -> None:
    backend = make_backend(vllm)
    eot = tiny_tokenizer().convert_tokens_to_ids("<|eot|>")
    grammar = backend.compile_grammar(vllm.options.REGEX, "a*", {EOS, eot})
    assert row(grammar, backend) == sorted([*tokens("a"), EOS, eot])
    assert grammar.accept_tokens("r", [eot]) and grammar.is_terminated()


def test_a_stop_token_with_a_text_is_no_text(vllm: SimpleNamespace) -> None:
    backend = make_backend(vllm)
    (line_break,) = tokens("\n")
    (letter,) = tokens("a")
    grammar = backend.compile_grammar(vllm.options.REGEX, "a(\n|a)*", {EOS, line_break})
    assert row(grammar, backend) == [letter]
    assert grammar.accept_tokens("r", [letter])
    assert row(grammar, backend) == sorted([letter, line_break, EOS])
    assert grammar.accept_tokens("r", [line_break]) and grammar.is_terminated()


def test_few_vocabularies_are_remembered(vllm: SimpleNamespace) -> None:
    backend = make_backend(vllm)
    for token in range(20):
        backend.compile_grammar(vllm.options.REGEX, "a*", {EOS, token})
    assert len(backend._pools._pools) < vllm.backend.N_VOCABULARIES


# -- what fails, fails alone -------------------------------------------------------------------------------------------


def test_a_mask_that_cannot_be_made_ends_its_request(
    vllm: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rules = "\n".join(
        f"r{i}: r{(7 * i + 1) % 20} r{(3 * i + 2) % 20} | r{(5 * i + 3) % 20} | /[in]/" for i in range(20)
    )
    hard = Grammar.from_lark(f"start: {' | '.join(f'r{i}' for i in range(20))}\n{rules}", limits=Limits(row_items=150))
    monkeypatch.setattr(vllm.backend, "read_grammar", lambda *_, **__: hard)
    backend = make_backend(vllm)
    grammar = backend.compile_grammar(vllm.options.GRAMMAR, 'start: "a"', {EOS})
    # The mask looks ahead over the token "in", to a row with too many items.
    while row(grammar, backend) != [EOS]:
        assert grammar.accept_tokens("r", tokens("n"))
    assert not grammar.is_terminated(), "vLLM would leave the sequence free"
    assert row(grammar, backend) == [EOS]
    assert grammar.validate_tokens([EOS]) == []
    with caplog.at_level(logging.ERROR, "vllm.earleymask"):
        assert not grammar.accept_tokens("the request", [EOS])
    assert "the request" in caplog.text and "limit" in caplog.text


def test_what_failed_in_a_draft_is_reported_only_if_the_text_comes_there(
    vllm: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """vLLM accepts a draft, fills the rows of all its places, and takes it back."""
    hard = Grammar.from_lark('start: "a" ("b" | "c") /[a-z]/?\n', limits=Limits())
    monkeypatch.setattr(vllm.backend, "read_grammar", lambda *_, **__: hard)
    backend = make_backend(vllm)
    grammar = backend.compile_grammar(vllm.options.GRAMMAR, 'start: "a"', {EOS})
    bitmask = backend.allocate_token_bitmask(1)
    matcher = grammar._matcher

    class Limited:
        """The mask after "ab" meets a limit."""

        def __getattr__(self, name: str) -> Any:
            return getattr(matcher, name)

        def fill_bitmask(self, row: Any, on_error: str) -> None:
            if matcher.n_tokens == 2 and matcher.tokens[-1:] == tokens("b"):
                matcher.fill_bitmask(row)
                self.error = LimitError("a limit in the middle")
            else:
                self.error = None
                matcher.fill_bitmask(row, on_error=on_error)

    def draft(text: str) -> None:
        grammar._matcher = Limited()
        assert grammar.accept_tokens("r", tokens(text)[:1])
        for token in tokens(text)[1:]:
            grammar.fill_bitmask(bitmask, 0)
            assert grammar.accept_tokens("r", [token])
        grammar.fill_bitmask(bitmask, 0)
        grammar._matcher = matcher
        grammar.rollback(len(tokens(text)))

    draft("ab")
    assert grammar.accept_tokens("r", tokens("a"))
    with caplog.at_level(logging.ERROR, "vllm.earleymask"):
        assert not grammar.accept_tokens("r", [*tokens("b"), EOS])
    assert "a limit in the middle" in caplog.text and matcher.n_tokens == 1
    draft_again = tokens("c")
    assert grammar.accept_tokens("r", draft_again)
    grammar.fill_bitmask(bitmask, 0)  # the text has come to the same number of tokens by others
    assert grammar.accept_tokens("r", [EOS]) and grammar.is_terminated()


def test_an_empty_mask_is_refused_or_ends_its_request(
    vllm: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    few = Vocabulary.from_tokens([b"a", b"b", b""], eos_token_id=2)
    monkeypatch.setattr(vllm.backend, "read_vocabulary", lambda *_: few)
    backend = make_backend(vllm)
    with pytest.raises(EmptyMaskError, match="next must come one of the bytes b'xy'"):
        backend.compile_grammar(vllm.options.REGEX, "[xy]", {2})
    grammar = backend.compile_grammar(vllm.options.REGEX, "a[xy]", {2})
    assert row(grammar, backend) == [0]
    assert grammar.accept_tokens("r", [0])
    assert row(grammar, backend) == [2]
    with caplog.at_level(logging.ERROR, "vllm.earleymask"):
        assert not grammar.accept_tokens("r", [2])
    assert "next must come one of the bytes b'xy'" in caplog.text and not grammar.is_terminated()


class Failing:
    """A matcher whose calls meet a limit."""

    def __init__(self, matcher: Matcher) -> None:
        self.matcher = matcher

    def __getattr__(self, name: str) -> Any:
        def fail(*_: object) -> None:
            raise LimitError("too much")

        return fail if name in ("accept_tokens", "validate", "rollback") else getattr(self.matcher, name)


def test_no_error_leaves_a_grammar(vllm: SimpleNamespace) -> None:
    backend = make_backend(vllm)
    grammar = backend.compile_grammar(vllm.options.REGEX, "a*", {EOS})
    assert grammar.accept_tokens("r", tokens("aa"))
    grammar._matcher = Failing(grammar._matcher)
    assert grammar.validate_tokens(tokens("a")) == []
    assert not grammar.accept_tokens("r", tokens("a"))
    grammar.rollback(1)  # after this, the tokens of the matcher are not those of the sequence
    assert row(grammar, backend) == [EOS] and not grammar.is_terminated()
    assert not grammar.accept_tokens("r", [EOS])
    assert grammar.validate_tokens([EOS]) == []
    grammar.rollback(1)


def test_a_model_without_a_vocabulary_is_refused_with_the_reason(vllm: SimpleNamespace) -> None:
    errors = sys.modules["vllm.exceptions"]
    with pytest.raises(errors.VLLMValidationError, match="cannot serve this model: from_transformers"):  # type: ignore[attr-defined]
        vllm.backend.read_vocabulary(object(), 10)


# -- the front end -----------------------------------------------------------------------------------------------------


def test_validation_accepts_what_can_be_loaded(vllm: SimpleNamespace) -> None:
    for given, _, _ in RECORDED["keys"][:-1]:
        vllm.validation.validate(SimpleNamespace(structured_outputs=given))
    vllm.validation.validate(SimpleNamespace(structured_outputs=None), tokenizer=None)


@pytest.mark.parametrize(
    ("kind", "spec", "message"),
    [
        ("JSON", '{"properties": {"a": {"type": "strin"}}}', "#/properties/a/type"),
        ("JSON", "{", "line 1, column 2"),
        ("GRAMMAR", "start: item", "line 1, column 8"),
        ("REGEX", "a(", "line 1, column 2"),
        ("CHOICE", "[]", "there are no choices"),
        ("CHOICE", "[1]", "choice 0 must be a str"),
        ("CHOICE", "[" * 100_000, "recursion"),
        ("STRUCTURAL_TAG", '{"format": {"type": "tag"}}', "#/format"),
    ],
)
def test_validation_says_what_is_wrong_and_where(
    vllm: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, kind: str, spec: str, message: str
) -> None:
    monkeypatch.setattr(vllm.validation, "get_structured_output_key", lambda _: (vllm.options[kind], spec))
    errors: Any = sys.modules["vllm.exceptions"]
    with pytest.raises(errors.VLLMClientError) as caught:
        vllm.validation.validate(SimpleNamespace(structured_outputs={}))
    assert message in str(caught.value)
    assert not isinstance(caught.value, errors.VLLMValidationError), "vLLM hides the messages of those"


# -- the plugin --------------------------------------------------------------------------------------------------------


def replaced() -> dict[str, Any]:
    found = {}
    for path in RECORDED["replaced"]:
        module, _, name = path.partition(":")
        found[path] = getattr(sys.modules[module], name)
    return found


def test_the_plugin_does_nothing_unless_it_is_asked(vllm: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    before = replaced()
    for value in (None, "", "0"):
        if value is None:
            monkeypatch.delenv("EARLEYMASK_VLLM", raising=False)
        else:
            monkeypatch.setenv("EARLEYMASK_VLLM", value)
        plugin.register()
    assert replaced() == before


def test_the_plugin_replaces_both_backends(vllm: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EARLEYMASK_VLLM", "1")
    plugin.register()
    plugin.register()
    backend, validate = vllm.backend.EarleymaskBackend, vllm.validation.validate
    assert replaced() == {path: backend if path.endswith("Backend") else validate for path in RECORDED["replaced"]}
    assert backend.is_tokenizer_supported(object())


def test_the_plugin_refuses_what_it_does_not_know(vllm: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    before = replaced()
    monkeypatch.setenv("EARLEYMASK_VLLM", "yes")
    with pytest.raises(ValueError, match="set it to 1"):
        plugin.register()
    monkeypatch.setenv("EARLEYMASK_VLLM", "1")
    monkeypatch.setattr(sys.modules["vllm"], "__version__", "0.34.0+cpu")
    with pytest.raises(RuntimeError, match=r"vLLM 0\.34\.0\+cpu, .* earleymask knows 0\.32\.0, 0\.33\.0;"):
        plugin.register()
    assert replaced() == before


def test_the_plugin_knows_the_recorded_version() -> None:
    assert RECORDED["version"] in plugin.KNOWN_VERSIONS
