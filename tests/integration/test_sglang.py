"""The adapter for SGLang, against its interface as it was recorded (`sglang/record.py`): this needs no SGLang.

`python -m tests.integration.sglang` runs the adapter inside SGLang, and checks that the record still holds.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
import sys
from collections import namedtuple
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import permutations
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from earleymask import Grammar, LimitError, Limits, Matcher, Vocabulary
from earleymask.grammar.errors import GrammarLimitError
from earleymask.integration.sglang import plugin
from support.tiny_model import tiny_tokenizer

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

RECORDED = json.loads(Path(__file__).parent.joinpath("sglang", "recorded.json").read_text(encoding="utf-8"))
SIZE = 300
"""Logits of the model: more than the tokenizer has ids."""
WORDS = 10
SCHEMA = '{"properties": {"name": {"enum": ["in", "er"]}}, "required": ["name"], "additionalProperties": false}'
BASE = "sglang.srt.constrained.base_grammar_backend"
OURS = {f"{BASE}:BaseGrammarBackend": "EarleymaskBackend", f"{BASE}:BaseGrammarObject": "EarleymaskGrammar"}
EOS = tiny_tokenizer().eos_token_id


def parameters_of(function: str) -> list[str]:
    found: list[str] = RECORDED["functions"][function]
    return found


def function_of(name: str, parameters: list[str], body: str = "raise NotImplementedError") -> Any:
    space: dict[str, Any] = {}
    exec(f"def {name}({', '.join(parameters)}): {body}", space)
    return space[name]


def base_class(path: str, **own: Any) -> type:
    """Return a class with the recorded methods. Those in `own` do what SGLang's do; the others must be replaced."""
    made: dict[str, Any] = {}
    for name, method in RECORDED["classes"][path].items():
        function = function_of(name, method["parameters"] or ["self"])
        kinds: dict[str, Callable[[Any], Any]] = {"property": property, "static": staticmethod}
        made[name] = kinds.get(method["is"], lambda each: each)(function)
    return type(path.rpartition(":")[2], (), {**made, **own})


def stubs() -> dict[str, ModuleType]:
    """Return modules in the place of SGLang's, with what was recorded."""
    found: dict[str, ModuleType] = {}

    def module(name: str, **attributes: Any) -> ModuleType:
        parent, _, last = name.rpartition(".")
        if parent and parent not in found:
            module(parent)
        made = ModuleType(name)
        vars(made).update(attributes)
        found[name] = made
        if parent:
            setattr(found[parent], last, made)
        return made

    def begin_object(self: Any) -> None:
        self._finished, self.grammar_stats, self.current_token = False, None, None

    def begin_backend(self: Any) -> None:
        self.executor, self.cache = ThreadPoolExecutor(2), {}

    def dispatch(self: Any, key: tuple[str, str], reasoning: bool) -> Any:
        return getattr(self, f"dispatch_{key[0]}")(key[1])

    def ask(self: Any, key: tuple[str, str], require_reasoning: bool) -> Any:
        known = self.cache.get(key)
        if known:
            return known.copy(), True
        return self.executor.submit(self._init_value_dispatch, key, require_reasoning), False

    def remember(self: Any, key: tuple[str, str], value: Any) -> None:
        self.cache[key] = value

    backend = base_class(
        f"{BASE}:BaseGrammarBackend",
        __init__=begin_backend,
        _init_value_dispatch=dispatch,
        get_cached_or_future_value=ask,
        set_cache=remember,
        reset=lambda self: self.cache.clear(),
    )
    grammar = base_class(f"{BASE}:BaseGrammarObject", __init__=begin_object)

    class Invalid(grammar):  # type: ignore[misc, valid-type]
        def __init__(self, error_message: str) -> None:
            super().__init__()
            self.error_message = error_message

    fields = [
        (name, Any, dataclasses.field(default=None) if has_default else dataclasses.field(default_factory=list))
        for name, has_default in RECORDED["stats"].items()
    ]
    registry: dict[str, Any] = {}
    module("sglang", __version__=RECORDED["version"])
    module(
        BASE,
        BaseGrammarBackend=backend,
        BaseGrammarObject=grammar,
        InvalidGrammarObject=Invalid,
        GrammarRow=namedtuple("GrammarRow", RECORDED["row"]),  # the names come from the record
        GrammarStats=dataclasses.make_dataclass("GrammarStats", fields),
        GRAMMAR_BACKEND_REGISTRY=registry,
        register_grammar_backend=registry.__setitem__,
    )

    class Reasoner(backend):  # type: ignore[misc, valid-type]
        def __init__(self, *args: Any, **options: Any) -> None:
            header = parameters_of("sglang.srt.constrained.reasoner_grammar_backend:ReasonerGrammarBackend")
            self.given = function_of("given", header, "return dict(locals())")(*args, **options)
            super().__init__()

    class Parser:
        def __init__(self, **options: Any) -> None:
            header = parameters_of("sglang.srt.parser.reasoning_parser:ReasoningParser")
            function_of("given", header, "pass")(**options)
            ends = [] if options["model_type"] == "endless" else [7]
            self.detector = SimpleNamespace(get_think_end_token_ids=lambda tokenizer: ends)

    module("sglang.srt.constrained.reasoner_grammar_backend", ReasonerGrammarBackend=Reasoner)
    module("sglang.srt.parser.reasoning_parser", ReasoningParser=Parser)
    module("sglang.srt.utils.common", is_pin_memory_available=lambda device=None: False)
    choices = [*RECORDED["choices"]]
    module("sglang.srt.server_args", GRAMMAR_BACKEND_CHOICES=choices, add_grammar_backend_choices=choices.extend)
    module("sglang.srt.runtime_context", get_serving=lambda: serving())
    walk = "sglang.srt.speculative.spec_utils"
    body = "return grammar(draft_tokens)"  # the test says what happens in a walk
    module(walk, traverse_tree=function_of("traverse_tree", parameters_of(f"{walk}:traverse_tree"), body))
    return found


def serving(**options: Any) -> SimpleNamespace:
    """Return a configuration with the recorded fields."""
    made: dict[str, Any] = dict.fromkeys(RECORDED["config"])
    made |= {"enable_strict_thinking": False, "constrained_json_disable_any_whitespace": False}
    assert made.keys() == (made | options).keys()
    return SimpleNamespace(**made | options)


MODULES = ("recent", "grammars", "request", "backend")


@pytest.fixture
def sglang(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """The adapter's modules, imported anew with stubs in the place of SGLang."""
    for name, module in stubs().items():
        monkeypatch.setitem(sys.modules, name, module)
    for name in MODULES:
        monkeypatch.delitem(sys.modules, f"earleymask.integration.sglang.{name}", raising=False)
    made = {name: importlib.import_module(f"earleymask.integration.sglang.{name}") for name in MODULES}
    yield SimpleNamespace(**made, base=sys.modules[BASE], walk=sys.modules["sglang.srt.speculative.spec_utils"])
    for name in MODULES:
        sys.modules.pop(f"earleymask.integration.sglang.{name}", None)


def make_backend(sglang: SimpleNamespace, **options: Any) -> Any:
    return sglang.backend.make_backend(serving(**options), tiny_tokenizer(), SIZE, {EOS})


def vocabulary() -> Vocabulary:
    return Vocabulary.from_transformers(tiny_tokenizer(), size=SIZE)


def tokens(text: str) -> list[int]:
    found: list[int] = tiny_tokenizer().encode(text, add_special_tokens=False)
    return found


SENTINEL = [next(token for token in range(SIZE) if vocabulary().token_bytes(token))]


def accept(grammar: Any, ids: list[int]) -> None:
    for token in ids:
        grammar.accept_token(token)


def row(grammar: Any) -> list[int]:
    """Return the tokens that a grammar allows, as the scheduler asks for them."""
    base: Any = sys.modules[BASE]
    mask = grammar.allocate_vocab_mask(SIZE, 3, "cpu")
    assert mask.shape == (3, WORDS) and mask.dtype == torch.int32 and (mask == -1).all()
    grammar.fill_vocab_mask_batched([base.GrammarRow(1, grammar)], mask)
    assert (mask[[0, 2]] == -1).all(), "rows of others have changed"
    again = grammar.allocate_vocab_mask(SIZE, 1, "cpu")
    grammar.fill_vocab_mask(again, 0)
    assert torch.equal(mask[1], again[0])
    found: list[int] = np.unpackbits(again[0].numpy().view(np.uint8), bitorder="little").nonzero()[0].tolist()
    return found


def allowed(matcher: Matcher) -> list[int]:
    found: list[int] = matcher.mask().nonzero()[0].tolist()
    return found


# -- the interface -----------------------------------------------------------------------------------------------------


def test_methods_have_the_recorded_parameters(sglang: SimpleNamespace) -> None:
    for path, methods in RECORDED["classes"].items():
        kind = getattr(sglang.backend, OURS[path])
        for name, method in methods.items():
            ours = inspect.getattr_static(kind, name)
            if isinstance(ours, property) or method["is"] == "property":
                assert isinstance(ours, property) and method["is"] == "property", name
                continue
            assert method["is"] != "static" or isinstance(ours, staticmethod), name
            found = [*inspect.signature(getattr(kind, name)).parameters.values()]
            found = found[not isinstance(ours, staticmethod) :]  # as an instance has it
            expected = method["parameters"][method["is"] != "static" :]
            assert [each.name for each in found] == [each.partition("=")[0] for each in expected], name
            assert [each.default is each.empty for each in found] == ["=" not in each for each in expected], name


def test_what_the_builtin_backend_replaces_is_replaced(sglang: SimpleNamespace) -> None:
    unneeded = {
        "jump_forward_str_state",  # nothing calls them, for `try_jump_forward` has nothing to offer
        "jump_and_retokenize",
        "reserve_framing_tokens",  # special tokens are none of the text of a grammar
    }
    for path, methods in RECORDED["classes"].items():
        kind = getattr(sglang.backend, OURS[path])
        replaced = {name for name, method in methods.items() if method["replaced"]}
        assert replaced - unneeded - set(vars(kind)) == set(), path


def test_sglang_works_as_the_adapter_relies_on() -> None:
    for path, parts in RECORDED["uses"].items():
        for part, is_there in parts.items():
            catches = path.endswith(("traverse_tree", "update_regex_vocab_mask"))
            assert is_there == (not (catches and part == "except ")), (path, part)
    assert all(RECORDED["config"].values())
    assert RECORDED["group"] == "sglang.srt.plugins"


def test_all_constraints_are_read(sglang: SimpleNamespace) -> None:
    backend = make_backend(sglang)
    texts = {
        ("json", SCHEMA): Grammar.from_json_schema(SCHEMA),
        ("json", "$$ANY$$"): Grammar.from_json_schema(True),
        ("regex", "[0-9]+"): Grammar.from_regex("[0-9]+"),
        ("ebnf", 'start: "a"'): Grammar.from_lark('start: "a"'),
        ("ebnf", 'root ::= "b"'): Grammar.from_lark('start: "b"'),
        ("structural_tag", '{"format": {"type": "const_string", "value": "in"}}'): Grammar.from_choices(["in"]),
        ("structural_tag", '{"structures": [{"begin": "n", "schema": null, "end": "n"}], "triggers": ["n"]}'): None,
    }
    for key, expected in texts.items():
        grammar = backend.get_cached_or_future_value(key, False)[0].result()
        assert grammar.grammar_stats.dispatch_type == key[0]
        if expected is not None:
            assert row(grammar) == allowed(Matcher(expected, vocabulary())), key
        else:
            accept(grammar, [*tokens("n"), *tokens("1"), *tokens("n"), EOS])


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('root ::= "a"', "gbnf"),
        ('# start: x\n\nroot ::= x-1\n  x-1 ::= "a"', "gbnf"),
        ('start: "a"', "lark"),
        ('start: "::="', "lark"),
        ('// root ::= "a"\nstart: "a"', "lark"),
        ('start: "x ::= y" // root ::= z', "lark"),
    ],
)
def test_lark_and_gbnf_are_distinguished(sglang: SimpleNamespace, text: str, kind: str) -> None:
    assert sglang.grammars.read_grammar("ebnf", text).kind == kind


@pytest.mark.parametrize(
    ("options", "texts", "others"),
    [
        ({}, ['{"name": "in"}', '{\n  "name": "in"\n}'], ['{  "name": "in"}']),
        ({"constrained_json_disable_any_whitespace": True}, ['{"name":"in"}'], ['{"name": "in"}']),
        ({"constrained_json_max_whitespace_cnt": 2}, ['{  "name"  : "in"}'], ['{   "name": "in"}']),
    ],
)
def test_options_of_the_server(
    sglang: SimpleNamespace, options: dict[str, Any], texts: list[str], others: list[str]
) -> None:
    backend = make_backend(sglang, **options)
    for text in texts:
        accept(backend.dispatch_json(SCHEMA), [*tokens(text), EOS])
    for text in others:
        with pytest.raises(ValueError, match="not allowed"):
            accept(backend.dispatch_json(SCHEMA), [*tokens(text), EOS])


def test_an_option_without_effect_is_said(sglang: SimpleNamespace, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("WARNING", "sglang.earleymask"):
        make_backend(sglang, constrained_json_whitespace_pattern="[ ]*")
    assert "no effect" in caplog.text


# -- a sequence --------------------------------------------------------------------------------------------------------


def test_a_sequence_from_its_beginning_to_eos(sglang: SimpleNamespace) -> None:
    grammar = make_backend(sglang).dispatch_json(SCHEMA)
    text = tokens('{"name": "in"}')
    accept(grammar, text)
    assert grammar.current_token == text[-1] and not grammar.is_terminated()
    assert row(grammar) == [EOS]
    with pytest.raises(ValueError, match=f"token {text[0]}: not allowed after {len(text)} tokens"):
        grammar.accept_token(text[0])
    for beyond in (SIZE, -1):
        with pytest.raises(ValueError, match="not allowed"):
            grammar.accept_token(beyond)
    grammar.accept_token(EOS)
    assert grammar.is_terminated()
    grammar.accept_token(text[0])  # what follows EOS is ignored
    grammar.rollback(2)
    assert not grammar.is_terminated()
    accept(grammar, [text[-1], EOS])
    assert grammar.is_terminated() and grammar.try_jump_forward(tiny_tokenizer()) is None


def test_a_copy_is_independent(sglang: SimpleNamespace) -> None:
    grammar = make_backend(sglang).dispatch_json(SCHEMA)
    other = grammar.copy()
    assert other.grammar_stats.is_cache_hit and not grammar.grammar_stats.is_cache_hit
    accept(grammar, tokens("{"))
    assert row(other) != row(grammar)
    accept(other, tokens("{"))
    assert row(other) == row(grammar)


def test_copies_for_further_requests_share_no_memory_and_never_raise(
    sglang: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = Limits(matcher_bytes=300_000)
    loaded = Grammar.from_regex("(a|b)*", limits=limits)
    monkeypatch.setattr(sglang.backend, "read_grammar", lambda *_, **__: loaded)
    template = make_backend(sglang).dispatch_regex("")
    requests = [template.copy() for _ in range(40)]
    for request in requests:  # each takes a good part of what one may take
        for _ in range(1500):
            accept(request, tokens("a"))
    for matcher in [template.copy()._matcher for _ in range(3)]:
        assert matcher.accept_tokens(tokens("a") * 1500) == 1500

    def fail(*_: object) -> None:
        raise LimitError("no more memory")

    monkeypatch.setattr(sglang.request, "Matcher", SimpleNamespace(only_eos=Matcher.only_eos, __call__=fail))
    other = template.copy()
    assert row(other) == SENTINEL and not other.is_terminated()
    with pytest.raises(ValueError, match="not callable"):
        other.accept_token(SENTINEL[0])
    assert row(template) != SENTINEL


def test_an_empty_mask_is_refused_or_ends_its_request(sglang: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    few = Vocabulary.from_tokens([b"a", b"b", b""], eos_token_id=2)
    monkeypatch.setattr(sglang.backend, "_read_vocabulary", lambda *_: few)
    backend = make_backend(sglang)
    refused = backend.dispatch_regex("[xy]")
    assert isinstance(refused, sglang.base.InvalidGrammarObject)
    assert "next must come one of the bytes b'xy'" in refused.error_message
    grammar = backend.dispatch_regex("b[xy]")
    assert row(grammar) == [1]
    accept(grammar, [1])
    assert row(grammar) == [0], "the first token with a text, which is refused"
    with pytest.raises(ValueError, match="next must come one of the bytes b'xy'"):
        grammar.accept_token(0)
    grammar.rollback(1)
    assert row(grammar) == [1]


def test_masks_are_applied_to_logits(sglang: SimpleNamespace) -> None:
    grammar = make_backend(sglang).dispatch_regex("[ab]")
    mask = grammar.allocate_vocab_mask(SIZE, 2, "cpu")
    grammar.fill_vocab_mask(mask, 0)
    logits = torch.zeros(2, SIZE)
    grammar.apply_vocab_mask(logits=logits, vocab_mask=grammar.move_vocab_mask(mask, "cpu"))
    assert torch.isfinite(logits[0]).nonzero().flatten().tolist() == row(grammar)
    assert torch.isfinite(logits[1]).all(), "a sequence without a constraint"
    grammar.reset_vocab_mask(mask)
    assert (mask == -1).all()


def test_eos_that_was_excluded_comes_back_where_nothing_else_is_left(sglang: SimpleNamespace) -> None:
    """`min_new_tokens` excludes EOS before the rows are applied."""
    backend = make_backend(sglang)
    grammars = [ask(backend, "ab")[0], ask(backend, "a")[0], ask(backend, "ab*")[0], ask(backend, "a")[0]]
    for grammar in grammars:
        accept(grammar, tokens("a"))
    excluded = [EOS, *tokens("b")]
    rows = sglang.base.GrammarRow

    def apply(mask: Any, excluded: list[int]) -> list[list[int]]:
        logits = torch.full((5, SIZE), 2.0)
        logits[:, excluded] = -torch.inf
        grammars[0].apply_vocab_mask(logits=logits, vocab_mask=grammars[0].move_vocab_mask(mask, "cpu"))
        finite = torch.isfinite(logits)
        if not excluded:
            assert (logits[finite] == 2.0).all()
        return [each.nonzero().flatten().tolist() for each in finite]

    mask = grammars[0].allocate_vocab_mask(SIZE, 5, "cpu")
    grammars[0].fill_vocab_mask_batched([rows(at, grammar) for at, grammar in enumerate(grammars[:3])], mask)
    grammars[3].fill_vocab_mask(mask, 4)  # as the wrapper for reasoning does
    free = list(range(SIZE))
    b = tokens("b")
    assert apply(mask, []) == [b, [EOS], sorted([*b, EOS]), free, [EOS]]
    assert apply(mask, [EOS]) == [b, [EOS], b, [each for each in free if each != EOS], [EOS]]
    # What else excludes the other tokens is none of its business.
    assert apply(mask, excluded)[:3] == [[], [EOS], []]
    # The same rows, filled again.
    accept(grammars[0], b)
    grammars[0].fill_vocab_mask_batched([rows(0, grammars[2]), rows(1, grammars[0])], mask)
    assert apply(mask, [EOS])[:2] == [b, [EOS]]
    grammars[0].reset_vocab_mask(mask)
    assert apply(mask, [EOS])[:2] == [[each for each in free if each != EOS]] * 2


def test_eos_that_a_tag_names_comes_back_too(sglang: SimpleNamespace) -> None:
    """The text is not complete where the tag demands its end, which is a token that SGLang takes for EOS."""
    end = {"type": "token", "token": EOS}
    tag = {"type": "tag", "begin": "in", "content": {"type": "const_string", "value": "a"}, "end": end}
    grammar = make_backend(sglang).dispatch_structural_tag(json.dumps({"format": tag}))
    accept(grammar, tokens("ina"))
    assert not grammar._matcher.is_accepting()
    mask = grammar.allocate_vocab_mask(SIZE, 1, "cpu")
    grammar.fill_vocab_mask(mask, 0)
    logits = torch.zeros(1, SIZE)
    logits[:, EOS] = -torch.inf
    grammar.apply_vocab_mask(logits=logits, vocab_mask=mask)
    assert torch.isfinite(logits[0]).nonzero().flatten().tolist() == [EOS]


def test_a_row_of_several_ends(sglang: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ends in one word of the row and in another; tokens beside them in the same words."""
    ends = (42, 43)
    texts = [b"", b"a", *[bytes([code]) for code in range(128, 168)], b"", b"", b""]
    some = Vocabulary.from_tokens(texts, eos_token_id=[0, *ends])
    monkeypatch.setattr(sglang.backend, "_read_vocabulary", lambda *_: some)
    grammar = make_backend(sglang).dispatch_regex("a")

    def noted(*allowed: int) -> Any:
        mask = torch.zeros((1, 2), dtype=torch.int32)
        sglang.request.set_token_filter(mask, allowed, 0)
        return grammar._only_ends(mask[0].numpy())

    assert noted(0) == (0,) and noted(43) == (43,) and noted(*ends) == ends and noted(0, *ends) == (0, *ends)
    for other in (1, 31, 32, 41, 44):
        assert noted(other) == noted(0, other) == noted(*ends, other) == ()
    accept(grammar, [1])
    mask = grammar.allocate_vocab_mask(45, 1, "cpu")
    grammar.fill_vocab_mask(mask, 0)
    logits = torch.full((1, 45), -torch.inf)
    grammar.apply_vocab_mask(logits=logits, vocab_mask=mask)
    assert torch.isfinite(logits[0]).nonzero().flatten().tolist() == [0, *ends]


def test_nothing_is_noted_for_another_row(sglang: SimpleNamespace) -> None:
    grammar = make_backend(sglang).dispatch_regex("a")
    accept(grammar, tokens("a"))
    ends = sglang.request.ENDS
    # SGLang walks over each tree of drafts with a view of its rows, and applies the whole.
    mask = grammar.allocate_vocab_mask(SIZE, 4, "cpu")
    for first in (0, 2):
        grammar.fill_vocab_mask(mask[first : first + 2], 1)
    assert not hasattr(mask, ends)
    logits = torch.zeros(4, SIZE)
    logits[:, EOS] = -torch.inf
    grammar.apply_vocab_mask(logits=logits, vocab_mask=mask)
    assert torch.isfinite(logits).sum(dim=1).tolist() == [SIZE - 1, 0, SIZE - 1, 0]
    # A filter that may allow other tokens.
    for is_allowed, reset in ((True, True), (True, False), (False, True), (False, False)):
        grammar.fill_vocab_mask(mask, 1)
        assert getattr(mask, ends) == {1: (EOS,)}
        sglang.request.set_token_filter(mask, tokens("b"), 0, is_allowed, reset)
        assert 1 in getattr(mask, ends)
        sglang.request.set_token_filter(mask, tokens("b"), 1, is_allowed, reset)
        assert (1 in getattr(mask, ends)) == (not is_allowed and not reset)


# -- what is remembered ------------------------------------------------------------------------------------------------


def ask(backend: Any, spec: str) -> tuple[Any, bool]:
    """Ask for a grammar as `GrammarManager` does."""
    found, is_known = backend.get_cached_or_future_value(("regex", spec), False)
    if isinstance(found, Future):
        found = found.result()
        backend.set_cache(("regex", spec), found.copy())
    return found, is_known


@pytest.mark.parametrize("parser", [None, "some"])
def test_the_cache_has_a_bound(sglang: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, parser: str | None) -> None:
    monkeypatch.setattr(sglang.backend, "N_GRAMMARS", 3)
    backend = make_backend(sglang, reasoning_parser=parser)
    inner = backend if parser is None else backend.given["grammar_backend"]
    backend._init_value_dispatch = inner._init_value_dispatch
    asked = ["a", "b", "c", "a", "d", "a", "b"]
    # Of the three that are remembered, the one that was asked for least recently goes.
    assert [ask(backend, spec)[1] for spec in asked] == [False, False, False, True, False, True, False]
    assert [spec for _, spec in backend.cache] == ["d", "a", "b"]
    assert inner._pool.stats()["grammars"] == 3
    backend.reset()
    assert not backend.cache


def test_refusals_are_remembered_too(sglang: SimpleNamespace) -> None:
    backend = make_backend(sglang)
    first, second = ask(backend, "a("), ask(backend, "a(")
    assert (first[1], second[1]) == (False, True) and first[0] is second[0]
    assert "line 1, column 2" in first[0].error_message


@pytest.mark.parametrize("parser", [None, "some"])
@pytest.mark.parametrize("limit", ["load_seconds", "seconds", "source_characters"])
def test_refusals_for_limits_are_remembered(
    sglang: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, limit: str, parser: str | None
) -> None:
    """Limits of time, too: a hostile grammar that is asked for again must not take that time again."""
    backend = make_backend(sglang, reasoning_parser=parser)
    inner = backend if parser is None else backend.given["grammar_backend"]
    backend._init_value_dispatch = inner._init_value_dispatch
    asked: list[str] = []

    def fail(*_: object, **__: object) -> None:
        asked.append(limit)
        error: LimitError = LimitError("too slow") if limit == "seconds" else GrammarLimitError("too slow")
        raise error.at_limit(limit)

    monkeypatch.setattr(sglang.backend, "_check_first_mask" if limit == "seconds" else "read_grammar", fail)
    for is_again in (False, True, True):
        found, is_known = ask(backend, "a")
        assert isinstance(found, sglang.base.InvalidGrammarObject) and found.error_message == "too slow"
        assert is_known == is_again
    assert asked == [limit]
    backend.reset()
    assert not ask(backend, "a")[1]


def test_sglangs_own_refusals_are_not_remembered(sglang: SimpleNamespace) -> None:
    """It sets one if a grammar has waited for too long."""
    backend = make_backend(sglang)
    backend.set_cache(("regex", "a"), sglang.base.InvalidGrammarObject("Grammar preprocessing timed out"))
    found, is_known = ask(backend, "a")
    assert type(found) is sglang.request.EarleymaskGrammar and not is_known
    assert ask(backend, "a")[1]


def test_a_reset_leaves_grammars_in_use(sglang: SimpleNamespace) -> None:
    backend = make_backend(sglang)
    grammar, _ = ask(backend, "ab*")
    accept(grammar, tokens("a"))
    backend.reset()
    assert not backend._pool.stats()["grammars"]
    accept(grammar, [*tokens("b"), EOS])


@pytest.mark.parametrize(
    ("kind", "spec", "message"),
    [
        ("json", '{"properties": {"a": {"type": "strin"}}}', "#/properties/a/type"),
        ("json", "{", "line 1, column 2"),
        ("regex", "a(", "line 1, column 2"),
        ("ebnf", "start: item", "line 1, column 8"),
        ("ebnf", "root ::= item", "line 1, column 10"),
        ("ebnf", "start: <|nothing|>", "<|nothing|>"),
        ("structural_tag", '{"format": {"type": "tag"}}', "#/format"),
        ("structural_tag", '{"format": null', "line 1, column"),
        ("structural_tag", "[" * 100_000 + "null", "nested too deeply"),
    ],
)
def test_a_refusal_says_what_is_wrong_and_where(sglang: SimpleNamespace, kind: str, spec: str, message: str) -> None:
    found = getattr(make_backend(sglang), f"dispatch_{kind}")(spec)
    assert isinstance(found, sglang.base.InvalidGrammarObject) and message in found.error_message


# -- what fails, fails alone -------------------------------------------------------------------------------------------


def hard() -> Grammar:
    """Return a grammar whose masks meet a limit after some letters: they look ahead over the token "in"."""
    rules = "\n".join(
        f"r{i}: r{(7 * i + 1) % 20} r{(3 * i + 2) % 20} | r{(5 * i + 3) % 20} | /[in]/" for i in range(20)
    )
    return Grammar.from_lark(f"start: {' | '.join(f'r{i}' for i in range(20))}\n{rules}", limits=Limits(row_items=150))


def failed(sglang: SimpleNamespace, backend: Any) -> Any:
    """Return a grammar of which a mask has met a limit."""
    loaded = hard()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sglang.backend, "read_grammar", lambda *_, **__: loaded)
        grammar = backend.dispatch_ebnf("")
    while row(grammar) != SENTINEL:
        grammar.accept_token(tokens("n")[0])
    return grammar


def test_a_mask_that_cannot_be_made_ends_its_request(sglang: SimpleNamespace) -> None:
    grammar = failed(sglang, make_backend(sglang))
    assert not grammar.is_terminated(), "SGLang would leave the sequence free"
    for token in (EOS, *SENTINEL, *tokens("n")):
        with pytest.raises(ValueError, match=f"token {token}: .*row_items"):
            grammar.accept_token(token)
    assert row(grammar) == SENTINEL, "SGLang would take EOS for the end of a complete text"


@pytest.mark.parametrize("seconds", [60.0, -1.0], ids=["one thread", "together after the first row"])
@pytest.mark.parametrize("order", list(permutations((0, 1, 2))))
def test_a_batch_goes_on_without_the_row_that_failed(
    sglang: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, seconds: float, order: tuple[int, ...]
) -> None:
    monkeypatch.setattr(sglang.request, "SECONDS_ALONE", seconds)
    backend = make_backend(sglang)
    grammars = [failed(sglang, backend), backend.dispatch_regex("[ab]"), backend.dispatch_regex("b?")]
    rows = [SENTINEL, row(grammars[1]), row(grammars[2])]
    mask = grammars[0].allocate_vocab_mask(SIZE, 4, "cpu")
    entries = [sglang.base.GrammarRow(1 + at, grammars[which]) for at, which in enumerate(order)]
    grammars[0].fill_vocab_mask_batched(entries, mask)
    bits = np.unpackbits(mask.numpy().view(np.uint8), bitorder="little", axis=1)
    assert bits[0].all()
    for at, which in enumerate(order):
        assert bits[1 + at].nonzero()[0].tolist() == rows[which]


def test_a_walk_over_drafts_never_raises(sglang: SimpleNamespace) -> None:
    grammar = failed(sglang, make_backend(sglang))
    n_tokens = grammar._matcher.n_tokens

    def walk(draft: list[int]) -> None:
        for token in draft:  # SGLang goes down as long as the row before allows the token
            grammar.accept_token(token)
            assert not grammar.is_terminated()
            assert row(grammar) == SENTINEL
        for _ in draft:
            grammar.rollback(1)

    sglang.walk.traverse_tree(None, None, SENTINEL * 2, walk, None)
    assert grammar._matcher.n_tokens == n_tokens
    with pytest.raises(ValueError, match="row_items"):
        grammar.accept_token(EOS)
    grammar.rollback(1)
    assert row(grammar) != SENTINEL, "a row above the one that failed"


def test_a_row_that_failed_among_drafts_is_remembered(sglang: SimpleNamespace) -> None:
    """The draft was right, and after it there was no mask: the token of that row must be refused, though allowed."""
    grammar = make_backend(sglang).dispatch_regex("(a|.)*")
    (letter,) = tokens("a")

    def walk(draft: list[int]) -> None:
        grammar.accept_token(letter)
        grammar._matcher = FailingMask(grammar._matcher)
        mask = grammar.allocate_vocab_mask(SIZE, 1, "cpu")
        grammar.fill_vocab_mask(mask, 0)
        assert np.unpackbits(mask[0].numpy().view(np.uint8), bitorder="little").nonzero()[0].tolist() == SENTINEL
        grammar._matcher = grammar._matcher.matcher
        grammar.rollback(1)

    sglang.walk.traverse_tree(None, None, [letter], walk, None)
    grammar.accept_token(letter)
    with pytest.raises(ValueError, match="too much"):
        grammar.accept_token(SENTINEL[0])
    grammar.accept_token(letter)
    accept(grammar, [*SENTINEL, EOS])
    assert grammar.is_terminated()


class FailingMask:
    """A matcher whose mask has met a limit."""

    error = LimitError("too much")

    def __init__(self, matcher: Matcher) -> None:
        self.matcher = matcher
        self.tokens = matcher.tokens

    def fill_bitmask(self, row: Any, on_error: str) -> None:
        row[:] = 0


class Failing:
    """A matcher whose calls meet a limit."""

    def __init__(self, matcher: Matcher) -> None:
        self.matcher = matcher

    def __getattr__(self, name: str) -> Any:
        def fail(*_: object) -> None:
            raise LimitError("too much")

        return fail if name in ("accept", "rollback") else getattr(self.matcher, name)


def test_no_other_error_leaves_a_grammar(sglang: SimpleNamespace) -> None:
    grammar = make_backend(sglang).dispatch_regex("a*")
    accept(grammar, tokens("aa"))
    grammar._matcher = Failing(grammar._matcher)
    with pytest.raises(ValueError, match="too much"):
        grammar.accept_token(tokens("a")[0])
    grammar.rollback(1)  # after this, the tokens of the matcher are not those of the sequence
    assert row(grammar) == SENTINEL and not grammar.is_terminated()
    grammar.rollback(1)
    for token in (EOS, *SENTINEL):
        with pytest.raises(ValueError, match="too much"):
            grammar.accept_token(token)


def test_a_model_without_a_vocabulary_is_refused_with_the_reason(sglang: SimpleNamespace) -> None:
    with pytest.raises(ValueError, match="earleymask cannot serve this model: from_transformers"):
        sglang.backend.make_backend(serving(), object(), SIZE, None)


# -- reasoning ---------------------------------------------------------------------------------------------------------


def test_the_backend_is_wrapped_for_reasoning(sglang: SimpleNamespace) -> None:
    wrapped = make_backend(sglang, reasoning_parser="some", enable_strict_thinking=True)
    assert type(wrapped.given["grammar_backend"]) is sglang.backend.EarleymaskBackend
    assert wrapped.given["enable_strict_thinking"] is True
    assert wrapped.given["grammar_backend"].is_support_token_filter
    assert type(make_backend(sglang, reasoning_parser="endless")) is sglang.backend.EarleymaskBackend
    assert type(make_backend(sglang)) is sglang.backend.EarleymaskBackend


@pytest.mark.parametrize("is_allowed", [True, False])
@pytest.mark.parametrize("reset", [True, False])
def test_tokens_are_filtered(sglang: SimpleNamespace, is_allowed: bool, reset: bool) -> None:
    ids, before = [0, 31, 32, 95, 31], [3, 31, 64]
    mask = torch.zeros((2, 3), dtype=torch.int32)
    backend = make_backend(sglang)
    backend.set_token_filter(mask, before, 1)
    backend.set_token_filter(mask, ids, 1, is_allowed=is_allowed, reset_vocab_mask=reset)
    bits = np.unpackbits(mask.numpy().view(np.uint8), bitorder="little", axis=1)
    start = set(before) if not reset else set() if is_allowed else set(range(96))
    assert set(bits[1].nonzero()[0].tolist()) == (start | set(ids) if is_allowed else start - set(ids))
    assert not bits[0].any()


def test_an_answer_is_put_into_its_markup(sglang: SimpleNamespace) -> None:
    backend = make_backend(sglang)

    def frame(content: Any) -> dict[str, Any]:
        elements = [{"type": "const_string", "value": "in"}, content]
        return {"type": "structural_tag", "format": {"type": "sequence", "elements": elements}}

    grammar = backend.compile_framed_grammar(backend.dispatch_regex("[ab]{2}"), frame)
    accept(grammar, [*tokens("inab"), EOS])
    assert grammar.is_terminated()
    found = backend.compile_framed_grammar(backend.dispatch_regex("a"), lambda content: {"format": {"type": "tag"}})
    assert isinstance(found, sglang.base.InvalidGrammarObject) and "#/format" in found.error_message


# -- the plugin --------------------------------------------------------------------------------------------------------


def test_the_plugin_adds_a_choice_and_nothing_else(sglang: SimpleNamespace) -> None:
    server_args: Any = sys.modules["sglang.srt.server_args"]
    plugin.register()
    plugin.register()
    assert [*RECORDED["choices"], "earleymask"] == server_args.GRAMMAR_BACKEND_CHOICES
    registry = sglang.base.GRAMMAR_BACKEND_REGISTRY
    assert registry == {"earleymask": plugin.make_backend}
    backend = registry["earleymask"](SimpleNamespace(), tiny_tokenizer(), SIZE, {EOS})
    assert type(backend) is sglang.backend.EarleymaskBackend


def test_an_unknown_version_is_refused_only_by_the_backend(
    sglang: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["sglang"], "__version__", "0.6.0+cpu")
    plugin.register()
    with pytest.raises(RuntimeError, match=r"this is SGLang 0\.6\.0\+cpu, .* earleymask knows 0\.5\.23;"):
        sglang.base.GRAMMAR_BACKEND_REGISTRY["earleymask"](SimpleNamespace(), tiny_tokenizer(), SIZE, {EOS})


def test_the_plugin_knows_the_recorded_version() -> None:
    assert RECORDED["version"] in plugin.KNOWN_VERSIONS
