"""What `bench.in_vllm` and `bench.in_sglang` share: constraints, how often they are repeated, the table and the plot.

A system runs in a Python of its own, in which it is installed together with earleymask. `main` starts this module's
caller there once more, with `--work`, and reads a line of JSON for each batch.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, Protocol

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


class Case(NamedTuple):
    """A constraint, and a document of it.

    Attributes:
        kind: "json", "structural_tag", "lark" or "ebnf".
        spec: the text of the constraint.
        tokens: those of the document, and EOS.
    """

    kind: str
    spec: str
    tokens: list[int]


Maker = Callable[[random.Random], tuple[str, str, str]]


class Side(Protocol):
    """A backend in a system."""

    name: str

    def follow(self, cases: Sequence[Case], n_drafts: int, pause: float, prompt: float) -> Record:
        """Write the documents of a batch. Return the times in nanoseconds, or the error of a constraint."""


class System(NamedTuple):
    """A system that is measured.

    Attributes:
        name: for people; also what its package is called, in small letters.
        sides: the names of its backends; ours is the first.
        versions: the packages whose versions are recorded.
        workloads: what makes a constraint and a document, by name.
        make: returns the sides, for a tokenizer and a number of logits.
    """

    name: str
    sides: tuple[str, ...]
    versions: tuple[str, ...]
    workloads: dict[str, Maker]
    make: Callable[[Any, int], Sequence[Side]]


# -- constraints -------------------------------------------------------------------------------------------------------


def schema_case(rng: random.Random) -> tuple[str, str, str]:
    schema, document = made_up(rng)
    return "json", json.dumps(schema), json.dumps(document)


def tool_case(rng: random.Random) -> tuple[str, str, str]:
    """Return some tools in the one form of structural tags that all backends read, and a call of one of them."""
    tools = [(word(rng), *made_up(rng)) for _ in range(4)]
    tags = [{"begin": f"<call:{name}>", "schema": schema, "end": "</call>"} for name, schema, _ in tools]
    name, _, document = rng.choice(tools)
    text = f"Let me look that up. <call:{name}>{json.dumps(document)}</call> That is all."
    return "structural_tag", json.dumps({"structures": tags, "triggers": ["<call:"]}), text


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
    return "lark", "\n".join(lines) + "\n", "\n".join(program)


def ebnf_case(rng: random.Random) -> tuple[str, str, str]:
    """Return the same kind of language in the EBNF of XGrammar and llama.cpp."""
    _, text, program = lark_case(rng)
    verbs = next(line.partition(": ")[2] for line in text.splitlines() if line.startswith("verb"))
    (first,) = [line[len("NAME: /[")] for line in text.splitlines() if line.startswith("NAME")]
    lines = [
        'root ::= command ("\\n" command)*',
        'command ::= verb "(" arguments? ")"',
        f"verb ::= {verbs}",
        'arguments ::= argument ("," " "? argument)*',
        'argument ::= number | string | name "=" argument | "[" arguments? "]"',
        'number ::= "-"? [0-9]+ ("." [0-9]+)?',
        'string ::= "\\"" [^"\\n]* "\\""',
        f"name ::= [{first}-z] [a-z_0-9]*",
    ]
    return "ebnf", "\n".join(lines) + "\n", program


WORKLOADS: dict[str, Maker] = {"schemas": schema_case, "tool calls": tool_case, "Lark grammars": lark_case}


def make_batch(make: Maker, rng: random.Random, size: int, tokenizer: Any) -> list[Case]:
    """Return some constraints, with their documents."""
    found = []
    for _ in range(size):
        kind, spec, text = make(rng)
        tokens = [*tokenizer.encode(text, add_special_tokens=False), tokenizer.eos_token_id]
        found.append(Case(kind, spec, tokens))
    return found


# -- in the environment of the system ----------------------------------------------------------------------------------


def work(system: System, job: Record) -> Iterator[Record]:
    """Measure in this process. Yield records of one workload and size each."""
    from transformers import AutoTokenizer

    from support.model_folder import VOCAB_SIZE, write_model

    tokenizer = AutoTokenizer.from_pretrained(write_model(ROOT / "build" / f"{system.name.lower()}-model"))
    sides = system.make(tokenizer, VOCAB_SIZE)
    for side in sides:  # imports, and starts threads
        for make in system.workloads.values():
            side.follow(make_batch(make, random.Random(0), 4, tokenizer), N_DRAFTS, 0.0, 0.0)
    versions = {name: version(name) for name in system.versions}
    yield {"environment": {**environment(), "peers": versions}}
    for workload, make in system.workloads.items():
        for size in job["sizes"]:
            for n_drafts in (0, N_DRAFTS):
                yield measured(sides, workload, make, tokenizer, size, n_drafts, job)


def measured(
    sides: Sequence[Side], workload: str, make: Maker, tokenizer: Any, size: int, n_drafts: int, job: Record
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
            if side is sides[0]:
                n_masks += found["masks"]
        if n_masks >= job["masks"]:
            break
    figures = {
        name: {"error": errors[name]} if name in errors else {key: distribution(values) for key, values in kept.items()}
        for name, kept in times.items()
    }
    return {"workload": workload, "size": size, "drafts": n_drafts, "sides": figures}


# -- in the environment of earleymask ----------------------------------------------------------------------------------


def markdown(system: System, record: Record) -> str:
    version = record["environment"]["peers"][system.name.lower()]
    lines = [
        f"{system.name} {version}. Milliseconds of a *step* for the whole batch: mean / p99 / "
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


def draw(system: System, record: Record, path: Path) -> None:
    """Draw a panel for each workload, without drafts and with them: the time of a step over the size of the batch, all
    of whose sequences have constraints of their own."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    colours = {**COLOURS, "guidance": COLOURS["llguidance"], "earleymask without warming": COLOURS["earleymask"]}
    workloads = list(dict.fromkeys(each["workload"] for each in record["batches"]))
    sizes = sorted({each["size"] for each in record["batches"]})
    figure, axes = pyplot.subplots(
        2,
        len(workloads),
        figsize=(3 * len(workloads), 5.4),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for row, n_drafts in enumerate((0, N_DRAFTS)):
        for column, workload in enumerate(workloads):
            axis = axes[row][column]
            some = [each for each in record["batches"] if (each["workload"], each["drafts"]) == (workload, n_drafts)]
            for name in system.sides:
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


def main(system: System, description: str) -> None:
    module = f"bench.in_{system.name.lower()}"
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=description.partition("\n")[0])
    parser.add_argument("--python", help=f"the interpreter of an environment that has {system.name} and earleymask")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="(default: %(default)s)")
    parser.add_argument("--masks", type=int, default=MASKS, help="for each batch (default: %(default)s)")
    parser.add_argument("--pause", type=float, default=0.01, help="seconds of the model in a step (%(default)s)")
    parser.add_argument("--prompt", type=float, default=0.2, help="seconds of the model in a prompt (%(default)s)")
    output = ROOT / "bench" / "results" / f"in-{system.name.lower()}.md"
    parser.add_argument("--output", type=Path, default=output, metavar="FILE")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    job = {
        "sizes": [int(size) for size in given.sizes.split(",")],
        "masks": given.masks,
        "pause": given.pause,
        "prompt": given.prompt,
    }
    if given.work:
        for found in work(system, job):
            print(json.dumps(found), flush=True)
        return
    if given.python is None:
        parser.error("give --python")
    command = [given.python, "-m", module, "--work", *sys.argv[1:]]
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
    text = markdown(system, record)
    given.output.write_text(text, encoding="utf-8")
    write_json(record, given.output.with_suffix(".json"))
    draw(system, record, given.output.with_suffix(".png"))
    print(text)
