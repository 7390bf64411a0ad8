"""The exactness campaign: `python -m tests.campaign --hours 2 --workers 2 --seed 1` in the root of the repository.

Each arm (`campaign.arms`, or `--list`) makes up cases and compares the engine with an oracle that shares no code with
it. An arm, the seed and a number name a case: `--arms masks --seed 1 --case 17` repeats that one. The arms divide the
time by their shares; with `--cases N` each arm does N cases instead. `--resume FILE` keeps the totals in a file and
continues a run that stopped.

Workers are processes. Every failure, also a crash or a case that takes more than `--patience` seconds, is counted,
printed, shrunk if possible, and written to `regressions/` beside this file. The test suite runs the cases there: such a
file is a failing test until the cause is fixed, and a regression test from then on. The exit code is 1 if anything
failed.
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import json
import multiprocessing
import resource
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from random import Random
from typing import Any

from campaign.cases import Found, failure, shrunk, write
from support.refusals import Skipped
from support.twin import TooMuchWork

REGRESSIONS = Path(__file__).with_name("regressions")
ARMS = "campaign.arms"
"""The module whose `ARMS` this campaign has. The siege (`tests.siege`) runs here, too, with arms of its own."""
CASES_A_WORKER = 400
"""After so many cases a new worker replaces the old one, because caches of the tests grow without bound."""


# --- one case --------------------------------------------------------------------------------------------------------


@dataclass
class Outcome:
    arm: str
    number: int
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    what: str = ""  # what is wrong; empty if nothing is
    file: str = ""


def arms_of(module: str) -> dict[str, Any]:
    found: dict[str, Any] = importlib.import_module(module).ARMS
    return found


def do_case(arm: str, seed: int, number: int, keep: Path | None, shrink_seconds: float, module: str = ARMS) -> Outcome:
    """Run one case of an arm of the module; shrink a difference and write it to the folder `keep`."""
    outcome = Outcome(arm, number)
    begun = time.monotonic()
    try:
        arms_of(module)[arm].run(Random(f"{seed}/{arm}/{number}"), outcome.counts)
    except Skipped as skipped:
        outcome.counts["skipped"] += 1
        outcome.counts[str(skipped)] += 1
    except TooMuchWork:
        outcome.counts["cut short"] += 1
    except Found as found:
        outcome.what = found.what
        if failure(found.case) is None:
            outcome.what += "\n(not seen again when the case was repeated by itself)"
        else:
            small = shrunk(found.case, shrink_seconds)
            outcome.what += f"\n--- shrunk\n{failure(small)}"
            if keep is not None:
                path = keep / f"{arm}-{seed}-{number}.json"
                write(small, path, outcome.what.splitlines()[0])
                outcome.file = str(path)
    except Exception:
        outcome.what = traceback.format_exc()
    outcome.counts["cases"] += 1
    outcome.seconds = time.monotonic() - begun
    return outcome


# --- workers ---------------------------------------------------------------------------------------------------------


def serve(pipe: Connection, seed: int, keep: Path | None, shrink_seconds: float, module: str = ARMS) -> None:
    """Answer each (arm, number) from the pipe with an `Outcome`, until None comes. This is what a worker does."""
    faulthandler.enable()
    while (job := pipe.recv()) is not None:
        outcome = do_case(job[0], seed, job[1], keep, shrink_seconds, module)
        outcome.counts["most MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        pipe.send(outcome)


class Worker:
    """A process and the case that it works on."""

    def __init__(self, *arguments: Any) -> None:
        context = multiprocessing.get_context("spawn")
        self.arguments = arguments
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, *arguments), daemon=True)
        self.process.start()
        theirs.close()
        self.job: tuple[str, int] | None = None
        self.since = 0.0
        self.n_cases = 0

    def give(self, job: tuple[str, int]) -> None:
        self.job, self.since = job, time.monotonic()
        self.n_cases += 1
        self.pipe.send(job)

    def take(self) -> Outcome:
        """Return the outcome that the process sent, or one that says that it died."""
        assert self.job is not None
        job, self.job = self.job, None
        try:
            outcome: Outcome = self.pipe.recv()
        except (EOFError, ConnectionError):
            self.process.join()
            what = f"the worker died with exit code {self.process.exitcode}"
            return Outcome(*job, time.monotonic() - self.since, Counter(cases=1), what)
        return outcome

    def stop(self) -> None:
        self.process.kill()
        self.process.join()


# --- the whole -------------------------------------------------------------------------------------------------------


@dataclass
class Totals:
    """What was done, by arm; `--resume` keeps it in a file."""

    seed: int
    next_case: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        self.seconds[outcome.arm] = self.seconds.get(outcome.arm, 0.0) + outcome.seconds
        counts = self.counts.setdefault(outcome.arm, Counter())
        most = {name: max(n, counts[name]) for name, n in outcome.counts.items() if name.startswith("most ")}
        counts.update(outcome.counts)
        counts.update({name: n - counts[name] for name, n in most.items()})
        if outcome.what:
            counts["differences"] += 1
            self.wrong.append(f"{outcome.arm} {outcome.number}")

    def sum(self, what: str) -> int:
        return sum(counts[what] for counts in self.counts.values())

    def __str__(self) -> str:
        lines = [
            f"seed {self.seed}; {sum(self.seconds.values()) / 60:.1f} minutes of work; {len(self.wrong)} differences"
        ]
        lines.append(f"{'arm':12} {'minutes':>8}   counts")
        for arm, counts in self.counts.items():
            said = ", ".join(f"{n:,} {name}" for name, n in sorted(counts.items()) if n and ": " not in name)
            lines.append(f"{arm:12} {self.seconds[arm] / 60:8.1f}   {said}")
            reasons = [(n, name) for name, n in counts.items() if ": " in name]
            lines += [f"{'':21}   {n:7,} {name}" for n, name in sorted(reasons, reverse=True)]
        return "\n".join(lines)

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(vars(self)))

    @classmethod
    def load(cls, path: Path) -> Totals:
        kept = json.loads(path.read_text())
        counts = {arm: Counter(c) for arm, c in kept["counts"].items()}
        return cls(kept["seed"], Counter(kept["next_case"]), kept["seconds"], counts, kept["wrong"])


def jobs(totals: Totals, arms: dict[str, Any], cases: int | None) -> Iterator[tuple[str, int]]:
    """Yield the next case: of the arm that lacks most of its share of the time, or of each arm in turn."""
    while True:
        if cases is None:
            arm = min(arms, key=lambda name: (totals.seconds.get(name, 0.0) / arms[name].share, totals.next_case[name]))
            # A case counts a little as soon as it is given out, so that two workers do not take the same arm.
            totals.seconds[arm] = totals.seconds.get(arm, 0.0) + 1e-3
        else:
            arm = min(arms, key=lambda name: totals.next_case[name])
            if totals.next_case[arm] >= cases:
                return
        number = totals.next_case[arm]
        totals.next_case[arm] += 1
        yield arm, number


def main(
    arguments: list[str] | None = None,
    *,
    program: str = "python -m tests.campaign",
    doc: str = __doc__ or "",
    module: str = ARMS,
    keep: Path = REGRESSIONS,
    patience: float = 600.0,
) -> int:
    """Run the arms of a module, and return the exit code."""
    all_arms = arms_of(module)
    parser = argparse.ArgumentParser(prog=program, description=doc.splitlines()[0])
    parser.add_argument("--hours", type=float, default=0.0, help="how long; hours, minutes and seconds are added up")
    parser.add_argument("--minutes", type=float, default=0.0)
    parser.add_argument("--seconds", type=float, default=0.0, help="(default: a minute in all)")
    parser.add_argument("--cases", type=int, help="this many cases of each arm, however long they take")
    parser.add_argument("--case", type=int, help="this case of the arm alone, in this process")
    parser.add_argument("--arms", default=",".join(all_arms), help="comma-separated (default: all, see --list)")
    parser.add_argument("--seed", type=int, help="a number that all cases depend on (default: made up and printed)")
    parser.add_argument("--workers", type=int, default=1, help="processes (default: 1)")
    parser.add_argument("--resume", type=Path, help="file that keeps the totals, to go on where a run stopped")
    parser.add_argument("--keep", type=Path, default=keep, help="folder for what is found")
    parser.add_argument("--patience", type=float, default=patience, help="seconds after which a case counts as hanging")
    parser.add_argument("--shrink", type=float, default=60.0, help="seconds to spend on shrinking a difference")
    parser.add_argument("--most-differences", type=int, default=10, help="after which the run ends (default: 10)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")
    parser.add_argument("--list", action="store_true", help="the arms, and what they compare")
    options = parser.parse_args(arguments)
    if options.list:
        print("\n".join(f"{arm.name:12} {arm.what}" for arm in all_arms.values()))
        return 0
    names = options.arms.split(",")
    if not set(names) <= set(all_arms):
        parser.error(f"arms are {', '.join(all_arms)}")
    arms = {name: all_arms[name] for name in names}
    options.module = module
    totals = Totals(options.seed if options.seed is not None else Random().randrange(10**6))
    if options.resume and options.resume.exists():
        totals = Totals.load(options.resume)
        if options.seed not in (None, totals.seed):
            parser.error(f"{options.resume} belongs to a run with seed {totals.seed}")
    print(f"seed {totals.seed}", flush=True)
    if options.case is not None:
        return show(do_case(names[0], totals.seed, options.case, options.keep, options.shrink, module))
    seconds = options.hours * 3600 + options.minutes * 60 + options.seconds
    if options.cases is None and not seconds:
        seconds = 60.0
    run(options, totals, arms, seconds)
    print(totals, flush=True)
    return 1 if totals.wrong else 0


def show(outcome: Outcome) -> int:
    if outcome.what:
        print(f"\n--- {outcome.arm} case {outcome.number}: {outcome.what}", flush=True)
        if outcome.file:
            print(f"--- kept in {outcome.file}", flush=True)
    return 1 if outcome.what else 0


def run(options: argparse.Namespace, totals: Totals, arms: dict[str, Any], seconds: float) -> None:
    begun = time.monotonic()
    waiting = jobs(totals, arms, options.cases)
    workers: list[Worker] = []
    bar = progress(options.quiet, seconds, options.cases, len(arms))

    def new_worker() -> Worker:
        return Worker(totals.seed, options.keep, options.shrink, options.module)

    def over() -> bool:
        late = bool(seconds) and time.monotonic() - begun > seconds
        return late or len(totals.wrong) >= options.most_differences

    def next_job() -> tuple[str, int] | None:
        return None if over() else next(waiting, None)

    try:
        for _ in range(options.workers):
            job = next_job()
            if job is not None:
                workers.append(new_worker())
                workers[-1].give(job)
        while workers:
            ready = wait([worker.pipe for worker in workers], timeout=1.0)
            for worker in list(workers):
                hangs = time.monotonic() - worker.since > options.patience
                if worker.pipe not in ready and not hangs:
                    continue
                if worker.pipe in ready:
                    outcome = worker.take()
                else:
                    assert worker.job is not None
                    outcome = Outcome(
                        *worker.job, options.patience, Counter(cases=1), f"more than {options.patience} s"
                    )
                totals.add(outcome)
                show(outcome)
                if options.resume:
                    totals.save(options.resume)
                if hangs or worker.n_cases >= CASES_A_WORKER or not worker.process.is_alive():
                    worker.stop()
                    workers[workers.index(worker)] = worker = new_worker()
                job = next_job()
                if job is None:
                    worker.stop()
                    workers.remove(worker)
                else:
                    worker.give(job)
            bar(totals, time.monotonic() - begun)
    finally:
        for worker in workers:
            worker.stop()


def progress(quiet: bool, seconds: float, cases: int | None, n_arms: int) -> Any:
    try:
        from tqdm import tqdm
    except ImportError:
        return lambda totals, elapsed: None
    total = seconds if cases is None else cases * n_arms
    bar = tqdm(total=round(total), unit="s" if cases is None else "case", disable=quiet or None)

    def update(totals: Totals, elapsed: float) -> None:
        bar.n = min(bar.total, round(elapsed) if cases is None else totals.sum("cases"))
        masks, texts = totals.sum("masks"), totals.sum("texts")
        bar.set_postfix_str(
            f"{masks:,} masks, {texts:,} texts, {totals.sum('calls'):,} calls, {len(totals.wrong)} wrong"
        )

    return update
