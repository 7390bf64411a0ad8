"""Train a model for a task, let it answer held-out questions in each way, and count.

A task says what its texts are, which grammar its answers have, and when an answer is valid and right. Each way to write
gets a grammar that was just loaded, so what one way has learned about it does not make the next one faster. All ways
share the model, the questions and the seeds.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import torch
from tqdm import tqdm  # type: ignore[import-untyped]

import earleymask

from . import reports
from .small_model import Dialogue, SmallModel, Training, train
from .writing import FORCED, MASKED, PARTS, WAYS, Answer, Way, write

TEMPERATURES = (0.0, 0.8)
QUICK = Training(steps=30, rows=8, vocabulary=512, width=64, layers=2)

Question = TypeVar("Question")
QuestionOf = TypeVar("QuestionOf", contravariant=True)
Write = Callable[[Dialogue], Answer]
"""Lets the model answer the last text of a dialogue, in the way that is being measured."""


@dataclass(frozen=True)
class Attempt:
    """What came of one question."""

    answers: Sequence[Answer]
    """What the model wrote: one text, or several if its answers have results that it reads."""
    valid: Sequence[bool]
    """Whether each of the answers is valid, by validators that know nothing of earleymask."""
    right: bool
    """Whether the outcome is what was asked for."""


class Try(Protocol[QuestionOf]):
    def __call__(self, write: Write, question: QuestionOf, /) -> Attempt: ...


@dataclass(frozen=True)
class Task(Generic[Question]):
    name: str
    title: str
    dialogues: Sequence[Dialogue]
    """What the model is trained on."""
    questions: Sequence[Question]
    """What it is asked then; none of them is in the dialogues."""
    grammar: Callable[[earleymask.Vocabulary], earleymask.Grammar]
    """Loads the grammar of the answers."""
    attempt: Try[Question]
    max_tokens: int
    """How many tokens an answer may have."""
    steps: int
    """Steps of the training: about a minute on two idle cores."""


@dataclass(frozen=True)
class Row:
    """What was counted for one way to write, at one temperature."""

    way: Way
    temperature: float
    attempts: Sequence[Attempt]

    @property
    def answers(self) -> list[Answer]:
        return [answer for attempt in self.attempts for answer in attempt.answers]

    @property
    def n_invalid(self) -> int:
        """The answers that the model has finished under the masks and that are not valid: there must be none."""
        pairs = [pair for each in self.attempts for pair in zip(each.answers, each.valid, strict=True)]
        return sum(answer.is_finished and not valid for answer, valid in pairs) if self.way.masks else 0

    def record(self) -> dict[str, Any]:
        """Return the figures of the row. Shares are of all answers, but `right`, which is of all questions."""
        answers = self.answers
        n_tokens = sum(len(answer.tokens) for answer in answers)
        valid = [valid for attempt in self.attempts for valid in attempt.valid]
        return {
            "way": self.way.name,
            "temperature": self.temperature,
            "questions": len(self.attempts),
            "answers": len(answers),
            "finished": statistics.mean(answer.is_finished for answer in answers),
            "valid": statistics.mean(valid),
            "right": statistics.mean(attempt.right for attempt in self.attempts),
            "tokens": n_tokens,
            "forced": sum(answer.n_forced for answer in answers),
            "passes": sum(answer.n_passes for answer in answers),
            "us_per_token": {
                part: 1e6 * sum(answer.seconds[part] for answer in answers) / max(1, n_tokens) for part in PARTS
            },
        }


def same(rows: Sequence[Row], small: SmallModel) -> dict[str, int]:
    """Compare forced text with masks alone, at temperature 0: they give the same tokens where masks alone give the
    tokenizer's own.

    Returns the number of questions, of those for which masks alone give the tokenizer's own tokens, of those of these
    for which forced text gives the same tokens, and of all for which it gives the same texts.
    """
    masked, forced = (
        next(row for row in rows if row.way == way and row.temperature == 0).attempts for way in (MASKED, FORCED)
    )
    found = {"questions": len(masked), "own_tokens": 0, "same_tokens": 0, "same_texts": 0}
    for one, other in zip(masked, forced, strict=True):
        if all(answer.is_finished and small.is_own(answer.tokens, answer.text) for answer in one.answers):
            found["own_tokens"] += 1
            found["same_tokens"] += [each.tokens for each in one.answers] == [each.tokens for each in other.answers]
        found["same_texts"] += [each.text for each in one.answers] == [each.text for each in other.answers]
    return found


def measure(
    task: Task[Question], small: SmallModel, ways: Sequence[Way] = WAYS, temperatures: Sequence[float] = TEMPERATURES
) -> list[Row]:
    """Answer all questions in each way, at each temperature, with a progress bar."""
    rows = []
    with tqdm(total=len(temperatures) * len(ways) * len(task.questions), unit="question") as bar:
        _measure_one(task, small, MASKED, 0.0, task.questions[:2], None)  # the first calls of a process take longer
        for temperature in temperatures:
            for way in ways:
                bar.set_description(f"{task.name}: {way.name}, temperature {temperature:g}")
                rows.append(_measure_one(task, small, way, temperature, task.questions, bar))
    return rows


def _measure_one(
    task: Task[Question],
    small: SmallModel,
    way: Way,
    temperature: float,
    questions: Sequence[Question],
    bar: Any,
) -> Row:
    # What is learned about a vocabulary is shared by its grammars. Each way has one of its own.
    small = replace(small, vocabulary=earleymask.model_vocabulary(small.model, small.tokenizer))
    grammar = task.grammar(small.vocabulary)
    attempts = []
    for seed, question in enumerate(questions):

        def answered(dialogue: Dialogue, seed: int = seed) -> Answer:
            return write(
                small,
                small.prompt(dialogue),
                grammar,
                way,
                max_tokens=task.max_tokens,
                temperature=temperature,
                seed=1000 * seed + len(dialogue),
            )

        attempts.append(task.attempt(answered, question))
        if bar is not None:
            bar.update()
    return Row(way, temperature, attempts)


class MakeTask(Protocol):
    def __call__(self, n_train: int, n_held_out: int, seed: int, /) -> Task[Any]: ...


def main(make_task: MakeTask, arguments: Sequence[str] | None = None) -> None:
    """The command of one task."""
    run_all([make_task], arguments)


def run_all(
    tasks: Sequence[MakeTask], arguments: Sequence[str] | None = None, *, into_docs: bool = False
) -> list[reports.Record]:
    """Do tasks as the command line says, and return what was counted of each.

    `into_docs`: without `--output`, write to `examples/results/` and put the tables into `docs/examples.md`.
    """
    parser = argparse.ArgumentParser(description="Train a small model, and let it write with and without a grammar.")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="write the tables and pictures here")
    parser.add_argument("--quick", action="store_true", help="a tiny model, few steps, few questions: to try it out")
    parser.add_argument("--steps", type=int, metavar="N", help="steps of the training")
    parser.add_argument("--questions", type=int, metavar="N", help="how many held-out questions are asked")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of texts and training; default: 0")
    parser.add_argument("--threads", type=int, default=2, metavar="N", help="of torch; default: 2")
    parser.add_argument("--models", type=Path, metavar="FOLDER", help="keep trained models here, to use them again")
    given = parser.parse_args(arguments)
    torch.set_num_threads(given.threads)
    n_train, n_held_out = (400, 4) if given.quick else (10_000, 50)
    output = given.output or (reports.RESULTS if into_docs else None)
    records = []
    for make_task in tasks:
        task = make_task(n_train, given.questions or n_held_out, given.seed)
        training = QUICK if given.quick else Training(steps=task.steps)
        training = replace(training, seed=given.seed, steps=given.steps or training.steps)
        start = time.perf_counter()
        small = train(task.dialogues, training, given.models)
        seconds = time.perf_counter() - start
        rows = measure(task, small)
        n_invalid = sum(row.n_invalid for row in rows)
        if n_invalid:
            raise SystemExit(f"{task.name}: {n_invalid} answers that were finished under the masks are not valid")
        records.append(reports.record(task, small, seconds, rows, same(rows, small)))
        print(f"\n{task.title}\n\n{reports.markdown(records[-1])}")
        if output is not None:
            reports.write(records[-1], output)
        if output is reports.RESULTS:
            page = reports.PAGE.read_text(encoding="utf-8")
            reports.PAGE.write_text(reports.put_into_page(records[-1], page), encoding="utf-8")
    return records
