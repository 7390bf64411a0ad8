"""The backend among SGLang's own modules, in this process. `python -m tests.integration.sglang` starts it.

    parts.py --model FOLDER         prints a line of JSON; fails if anything is not as it must be

Here stands what cannot be seen from outside of a server: rows of trees of drafts, each compared with a replay; how many
grammars are remembered; what the wrapper for reasoning does with the rows; the structural tags of all tool parsers.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from sglang.srt.constrained.base_grammar_backend import GRAMMAR_BACKEND_REGISTRY, GrammarRow, InvalidGrammarObject
from sglang.srt.constrained.torch_ops.token_filter_torch_ops import set_token_filter_torch
from sglang.srt.plugins import load_plugins
from sglang.srt.sampling.sampling_batch_info import SamplingBatchInfo
from sglang.srt.server_args import GRAMMAR_BACKEND_CHOICES
from sglang.srt.speculative.spec_utils import generate_token_bitmask
from transformers import AutoTokenizer

from earleymask import Grammar, Matcher
from earleymask.integration.sglang import backend as adapter
from earleymask.integration.sglang.request import EarleymaskGrammar, find_sentinel
from support.model_folder import VOCAB_SIZE
from support.served_cases import BAD, OLDER_TAGS, TAGS, WEATHER, XGRAMMAR_EBNF, hard_grammar, random_schema

N_TREES = 300
N_SCHEMAS = 2000
N_WORDS = -(-VOCAB_SIZE // 32)
NESTED = 'start: "[" (INT (", " INT)~0..4)? "]" | "(" start ")"\nINT: /[1-9][0-9]{0,2}/'
CONSTRAINTS: tuple[tuple[str, str, Callable[[], Grammar], str], ...] = (
    ("json", json.dumps(WEATHER), lambda: Grammar.from_json_schema(WEATHER), '{"city": "Oslo", "days": 12}'),
    ("json", "$$ANY$$", lambda: Grammar.from_json_schema(True), '[{"a": null}, "b", -1.5e3]'),
    ("regex", "[a-f ]{3,30}", lambda: Grammar.from_regex("[a-f ]{3,30}"), "a bad cafe fed"),
    ("ebnf", NESTED, lambda: Grammar.from_lark(NESTED), "(([12, 345, 6]))"),
    ("ebnf", 'root ::= [a-z]+ "!"', lambda: Grammar.from_lark('start: /[a-z]+/ "!"'), "hello!"),
)


class Parts:
    def __init__(self, model: str) -> None:
        self.tokenizer = AutoTokenizer.from_pretrained(model)
        self.eos: int = self.tokenizer.eos_token_id
        self.rng = random.Random(1)
        self.faults: list[str] = []
        self.backend = self.make_backend()
        self.vocabulary = self.backend._pool.vocabulary

    def make_backend(self, **options: Any) -> Any:
        config = {
            "reasoning_parser": None,
            "enable_strict_thinking": False,
            "constrained_json_whitespace_pattern": None,
            "constrained_json_disable_any_whitespace": False,
            "constrained_json_max_whitespace_cnt": None,
        }
        return adapter.make_backend(SimpleNamespace(**config | options), self.tokenizer, VOCAB_SIZE, {self.eos})

    def check(self, holds: object, what: str) -> None:
        if not holds:
            self.faults.append(what)

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False)
        return ids

    def grammar(self, kind: str, spec: str, backend: Any = None) -> Any:
        """Return a grammar as the scheduler gets it: from the pool of threads, or from the cache."""
        found, is_known = (backend or self.backend).get_cached_or_future_value((kind, spec), False)
        return found if is_known else found.result()

    # -- the parts -----------------------------------------------------------------------------------------------------

    def registry(self) -> str:
        load_plugins()
        self.check("earleymask" in GRAMMAR_BACKEND_REGISTRY, "the backend is not registered")
        self.check(GRAMMAR_BACKEND_CHOICES.count("earleymask") == 1, "the choice is not there")
        return "ok"

    def masks(self) -> str:
        """A batch as the scheduler has it: sequences without a grammar, finished ones, and all kinds of constraints."""
        grammars: list[Any] = [None]
        expected = [np.full(N_WORDS, -1, np.int32)]
        for kind, spec, make, text in CONSTRAINTS:
            tokens = self.encode(text)
            grammar, matcher = self.grammar(kind, spec), Matcher(make(), self.vocabulary)
            for token in tokens[: self.rng.randrange(len(tokens))]:
                grammar.accept_token(token)
                assert matcher.accept(token)
            grammars.append(grammar)
            expected.append(np.zeros(N_WORDS, np.int32))
            matcher.fill_bitmask(expected[-1])
        ended = self.grammar("regex", "a")
        for token in (self.encode("a")[0], self.eos):
            ended.accept_token(token)
        grammars.append(ended)
        expected.append(expected[0])
        info = SimpleNamespace(
            grammars=grammars,
            temperatures=[1.0] * len(grammars),
            vocab_size=VOCAB_SIZE,
            device="cpu",
            grammar_mask=None,
        )
        SamplingBatchInfo.update_regex_vocab_mask(info)
        logits = torch.zeros(len(grammars), VOCAB_SIZE)
        info.grammar_mask.apply(logits)
        for row, words in enumerate(expected):
            allowed = np.unpackbits(words.view(np.uint8), bitorder="little")[:VOCAB_SIZE].astype(bool)
            self.check(np.array_equal(np.isfinite(logits[row].numpy()), allowed), f"row {row} of a batch is wrong")
        return f"ok, {len(grammars)} rows"

    def trees(self) -> str:
        """Random trees of drafts; each row must be that of a matcher which has accepted the same tokens."""
        rng = self.rng
        counts: Counter[str] = Counter()
        for _ in range(N_TREES):
            kind, spec, make, text = rng.choice(CONSTRAINTS)
            grammar, loaded = self.grammar(kind, spec), make()
            tokens = [*self.encode(text), self.eos]
            place = rng.randrange(len(tokens))
            for token in tokens[:place]:
                grammar.accept_token(token)
            n_nodes = rng.randint(2, 9)
            parents = [-1] + [rng.randrange(node) for node in range(1, n_nodes)]
            drafts, paths = [tokens[place - 1]], [tokens[:place]]
            for node in range(1, n_nodes):
                before = paths[parents[node]]
                matcher = self.replay(loaded, before)
                allowed = matcher.mask().nonzero()[0] if matcher is not None else []
                draw = rng.random()
                if draw < 0.4 and len(before) < len(tokens) and before == tokens[: len(before)]:
                    token = tokens[len(before)]
                elif draw < 0.8 and len(allowed):
                    token = int(rng.choice(allowed))
                else:
                    token = rng.choice([rng.randrange(VOCAB_SIZE), self.eos])
                drafts.append(token)
                paths.append([*before, token])
            next_token, next_sibling = [-1] * n_nodes, [-1] * n_nodes
            for node in range(n_nodes - 1, 0, -1):
                next_sibling[node], next_token[parents[node]] = next_token[parents[node]], node
            requests = [SimpleNamespace(grammar=None), SimpleNamespace(grammar=grammar)]
            none = [-1] * n_nodes
            rows, _ = generate_token_bitmask(
                requests,
                torch.tensor([none, next_token]),
                torch.tensor([none, next_sibling]),
                torch.tensor([[0] * n_nodes, drafts]),
                VOCAB_SIZE,
            )
            self.check((rows[:n_nodes] == -1).all(), "rows of a sequence without a grammar")
            for node, path in enumerate(paths):
                expected = np.full(N_WORDS, -1, np.int32)
                matcher = self.replay(loaded, path)
                if matcher is not None and not matcher.is_finished():
                    matcher.fill_bitmask(expected)
                counts["free" if (expected == -1).all() else "constrained"] += 1
                self.check(np.array_equal(rows[n_nodes + node].numpy(), expected), f"{kind} {spec[:40]}: {path}")
            self.check(grammar._matcher.tokens == tokens[:place], "a tree has moved its grammar")
        return f"ok, {N_TREES} trees, rows: {dict(counts)}"

    def replay(self, grammar: Grammar, tokens: list[int]) -> Matcher | None:
        matcher = Matcher(grammar, self.vocabulary)
        return matcher if all(matcher.accept(token) for token in tokens) else None

    def limits(self) -> str:
        """A mask that meets a limit, at the root of a tree in which the one token of its row is drafted. Nothing may
        raise in the tree, and the token that is sampled afterwards must be refused."""
        sentinel = find_sentinel(self.vocabulary)
        grammar = self.grammar("ebnf", hard_grammar(1))
        other = self.grammar("regex", "[ab]{2}")
        for token in self.encode("ok: "):
            grammar.accept_token(token)
        rows, _ = generate_token_bitmask(
            [SimpleNamespace(grammar=grammar), SimpleNamespace(grammar=other)],
            torch.tensor([[1, 2, -1]] * 2),
            torch.tensor([[-1, -1, -1]] * 2),
            torch.tensor([[0, sentinel, sentinel], [0, self.encode("a")[0], self.encode("b")[0]]]),
            VOCAB_SIZE,
        )
        only_sentinel = np.zeros(VOCAB_SIZE, bool)
        only_sentinel[sentinel] = True
        found = np.unpackbits(rows[0].numpy().view(np.uint8), bitorder="little")[:VOCAB_SIZE].astype(bool)
        self.check(np.array_equal(found, only_sentinel), "the row after a limit must have one token alone")
        self.check(not grammar.is_terminated(), "SGLang would leave the sequence free")
        for token in (sentinel, self.encode("a")[0]):
            try:
                grammar.accept_token(token)
            except ValueError as error:
                self.check("seconds" in str(error), f"not the reason: {error}")
            else:
                self.faults.append("a token is accepted after a limit")
        entries = [GrammarRow(0, grammar), GrammarRow(1, other)]
        mask = grammar.allocate_vocab_mask(VOCAB_SIZE, 2, "cpu")
        grammar.fill_vocab_mask_batched(entries, mask)
        self.check(np.array_equal(mask[0].numpy(), rows[0].numpy()), "the row changes after a limit")
        self.check(np.array_equal(mask[1].numpy(), rows[3].numpy()), "a limit changes the row of another request")
        return "ok"

    def cache(self) -> str:
        """Thousands of schemas, as `GrammarManager` sends them."""
        found = []
        for backend in (self.make_backend(), self.make_backend(reasoning_parser="qwen3")):
            schemas = [json.dumps({"enum": [number, str(number)]}) for number in range(N_SCHEMAS)]
            for first in range(0, N_SCHEMAS, 50):
                keys = [("json", schema) for schema in schemas[first : first + 50]]
                asked = [backend.get_cached_or_future_value(key, False) for key in keys]
                self.check(not any(is_known for _, is_known in asked), "a schema that is new is known")
                for key, (future, _) in zip(keys, asked, strict=True):
                    backend.set_cache(key, future.result().copy())
            again = [backend.get_cached_or_future_value(("json", schema), False)[1] for schema in schemas[-400:]]
            self.check(all(again), "schemas that were used recently are forgotten")
            pool = getattr(backend, "grammar_backend", backend)._pool
            counts = len(backend.cache), pool.stats()["grammars"]
            self.check(counts == (adapter.N_GRAMMARS,) * 2, f"{counts} grammars are remembered")
            backend.reset()
            self.check(not backend.cache, "grammars are remembered after a reset")
            found.append(counts)
        return f"ok, of {N_SCHEMAS} schemas {found} in SGLang's cache and in ours"

    def refusals(self) -> str:
        names = {"json": "json", "grammar": "ebnf", "regex": "regex", "structural_tag": "structural_tag"}
        for bad in BAD:
            ((name, spec),) = bad.constraint.items()
            found = self.grammar(names[name], spec if isinstance(spec, str) else json.dumps(spec))
            self.check(isinstance(found, InvalidGrammarObject), f"{bad} is not refused")
            message = getattr(found, "error_message", "")
            self.check(bad.message in message, f"{bad.constraint}: {message!r} does not say {bad.message!r}")
        return f"ok, {len(BAD)}"

    def reasoning(self) -> str:
        """The wrapper: rows are free until the reasoning has ended, also when it is taken back."""
        n_excluded = 0
        for strict in (False, True):
            backend = self.make_backend(reasoning_parser="qwen3", enable_strict_thinking=strict)
            (end,) = backend.think_end_ids
            key = ("regex", "[ab]{2}")
            template = backend.get_cached_or_future_value(key, True)[0].result()
            backend.set_cache(key, template.copy())
            grammar, is_known = backend.get_cached_or_future_value(key, True)
            assert is_known and type(grammar.grammar) is EarleymaskGrammar
            excluded = [] if not backend.enable_token_filter else backend.think_excluded_token_ids or []
            n_excluded += len(excluded)

            def row(of: Any) -> list[int]:
                mask = of.allocate_vocab_mask(VOCAB_SIZE, 2, "cpu")
                of.fill_vocab_mask_batched([GrammarRow(1, of)], mask)
                assert (mask[0] == -1).all()
                bits = np.unpackbits(mask[1].numpy().view(np.uint8), bitorder="little")[:VOCAB_SIZE]
                allowed: list[int] = bits.nonzero()[0].tolist()
                return allowed

            (a, b, aa), words = (self.encode(text)[0] for text in ("a", "b", "aa")), self.encode("well, so be it")
            free = sorted(set(range(VOCAB_SIZE)) - set(excluded))
            begin = row(self.grammar(*key))
            self.check({a, b, aa} <= set(begin) and len(begin) < 10, "the rows that are compared")
            for _ in range(2):
                for token in words:
                    self.check(row(grammar) == free, f"reasoning is not free, strict={strict}")
                    grammar.accept_token(token)
                grammar.accept_token(end)
                self.check(row(grammar) == begin, f"after the reasoning, strict={strict}")
                grammar.accept_token(aa)
                self.check(row(grammar) == [self.eos], "at the end")
                grammar.accept_token(self.eos)
                self.check(grammar.is_terminated(), "EOS")
                grammar.rollback(3 + len(words))
            if strict:
                only = backend.init_strict_reasoning_grammar(True)
                self.check(row(only) == free, "reasoning without a constraint")
                budget = backend.get_cached_or_future_value(key, True)[0]
                budget.max_think_tokens = 2
                for token in words[:2]:
                    self.check(row(budget) == free, "before the budget is spent")
                    budget.accept_token(token)
                self.check(row(budget) == [end], "after the budget is spent")
        rng = self.rng
        for _ in range(200):
            before = torch.from_numpy(np.array([[rng.getrandbits(32) for _ in range(9)]] * 3, np.uint32).view(np.int32))
            ours, theirs = before.clone(), before.clone()
            ids = [rng.randrange(9 * 32) for _ in range(rng.randrange(5))]
            how: Any = {"is_allowed": rng.random() < 0.5, "reset_vocab_mask": rng.random() < 0.5}
            adapter.EarleymaskBackend.set_token_filter(ours, ids, 1, **how)
            set_token_filter_torch(theirs, ids, 1, **how)
            self.check(torch.equal(ours, theirs), f"the filter of tokens {ids}, {how}")
        return f"ok, {n_excluded} tokens excluded by strict thinking; 200 filters as SGLang's own"

    def frames(self) -> str:
        """The turn of a model whose answers are in a markup of special tokens, as SGLang asks for it."""
        begin, end = (self.tokenizer.convert_tokens_to_ids(name) for name in ("<｜User｜>", "<｜Assistant｜>"))

        def frame(content: Any) -> dict[str, Any]:
            elements = [{"type": "token", "token": begin}, content, {"type": "token", "token": end}]
            return {"type": "structural_tag", "format": {"type": "sequence", "elements": elements}}

        grammar = self.backend.compile_framed_grammar(self.grammar("regex", "[ab]{2}"), frame)
        for token in (begin, *self.encode("ab"), end, self.eos):
            self.check(not grammar.is_terminated(), "a frame ends too early")
            grammar.accept_token(token)
        self.check(grammar.is_terminated(), "a frame has no end")
        return "ok"

    def tags(self) -> str:
        """The constraints that SGLang's tool parsers write, and the two forms that clients send."""
        from sglang.srt.entrypoints.openai.protocol import Function, Tool, ToolChoice, ToolChoiceFuncName
        from sglang.srt.function_call.function_call_parser import FunctionCallParser

        def tools() -> list[Any]:
            return [
                Tool(type="function", function=Function(name=name, parameters=parameters, strict=True))
                for name, parameters in (("weather", WEATHER), ("sun", random_schema(random.Random(1))), ("now", None))
            ]

        for tag in (TAGS, OLDER_TAGS, XGRAMMAR_EBNF):
            found = self.grammar("structural_tag", json.dumps(tag))
            self.check(not isinstance(found, InvalidGrammarObject), f"{tag}: {found}")
        counts: Counter[str] = Counter()
        named = ToolChoice(type="function", function=ToolChoiceFuncName(name="weather"))
        for name in sorted(FunctionCallParser.ToolCallParserEnum):
            for choice in ("auto", "required", named):
                try:
                    parser = FunctionCallParser(tools(), name, tokenizer=self.tokenizer)
                    constraint = parser.get_structure_constraint(choice)
                except Exception as error:
                    counts[f"not written: {name}: {error!r}"[:80]] += 1
                    continue
                if constraint is None:
                    counts["none"] += 1
                    continue
                kind, spec = constraint
                if kind == "structural_tag":
                    spec = json.dumps(spec.model_dump(by_alias=True))
                kind = {"json_schema": "json", "full_assistant_ebnf": "ebnf"}.get(kind, kind)
                found = self.grammar(kind, spec if isinstance(spec, str) else json.dumps(spec))
                counts[kind] += 1
                self.check(
                    not isinstance(found, InvalidGrammarObject), f"tool parser {name}, {choice}: {found}; {spec}"[:600]
                )
        return f"ok, {dict(counts)}"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--only", help="parts, separated by commas")
    options = parser.parse_args()
    parts = Parts(options.model)
    names = ["registry", "masks", "trees", "limits", "cache", "refusals", "reasoning", "frames", "tags"]
    results = {}
    for name in options.only.split(",") if options.only else names:
        n_faults = len(parts.faults)
        try:
            results[name] = getattr(parts, name)()
        except Exception as error:
            parts.faults.append(f"{name}: {error!r}"[:600])
        if len(parts.faults) > n_faults:
            results[name] = f"{len(parts.faults) - n_faults} faults"
    print(json.dumps({"results": results, "faults": parts.faults[:50]}))
    return bool(parts.faults)


if __name__ == "__main__":
    sys.exit(main())
