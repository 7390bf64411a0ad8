"""Extract typed records from short texts: orders, complaints and log lines.

    python -m examples.extraction

The records are pydantic models, with enumerations, dates, patterns, bounds and nested lists. earleymask takes the type
as it is: every answer that ends is a record that `jsonschema` and pydantic accept. Whether it is the right one is up to
the model.
"""

from __future__ import annotations

import calendar
import datetime
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import jsonschema
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

import earleymask

from .measuring import Attempt, Task, Write, main
from .small_model import Dialogue

Product = Literal["lamp", "chair", "table", "shelf", "mirror", "carpet", "clock", "vase", "stool", "bench"]
Colour = Literal["red", "green", "blue", "black", "white", "grey"]
PRODUCTS: tuple[Product, ...] = Product.__args__  # type: ignore[attr-defined]
COLOURS: tuple[Colour, ...] = Colour.__args__  # type: ignore[attr-defined]


class Record(BaseModel):
    model_config = ConfigDict(extra="forbid")


Day = Annotated[datetime.date, Field(json_schema_extra={"pattern": "^20"})]
"""A date of this century: JSON Schema has a year 0000, which Python has not."""


class Item(Record):
    product: Product
    quantity: int = Field(ge=1, le=99)
    colour: Colour | None


class Order(Record):
    kind: Literal["order"]
    customer: str = Field(pattern="^[A-Z][a-z]+ [A-Z][a-z]+$", max_length=40)
    due: Day
    express: bool
    items: list[Item] = Field(min_length=1, max_length=3)


class Complaint(Record):
    kind: Literal["complaint"]
    customer: str = Field(pattern="^[A-Z][a-z]+ [A-Z][a-z]+$", max_length=40)
    order: str = Field(pattern="^[A-Z]{2}-[0-9]{4}$")
    severity: int = Field(ge=1, le=5)
    wants: Literal["refund", "replacement", "call"]


class Failure(Record):
    kind: Literal["failure"]
    host: str = Field(pattern="^[a-z]+-[0-9]{2}$")
    time: str = Field(pattern="^([01][0-9]|2[0-3]):[0-5][0-9]$")
    level: Literal["warning", "error", "fatal"]
    codes: list[Annotated[int, Field(ge=100, le=599)]] = Field(min_length=1, max_length=3)


RECORD: TypeAdapter[Order | Complaint | Failure] = TypeAdapter(Order | Complaint | Failure)
SCHEMA = RECORD.json_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA, format_checker=jsonschema.FormatChecker(["date"]))

FIRST = ("Ada", "Bo", "Carl", "Dora", "Emil", "Fay", "Gus", "Hana", "Ida", "Jon", "Kira", "Leo", "Maja", "Nils", "Olga")
LAST = ("Aas", "Berg", "Dahl", "Eide", "Foss", "Gran", "Holm", "Ivers", "Juhl", "Krog", "Lind", "Moen", "Nes", "Rask")
HOSTS = ("db", "web", "mail", "cache", "proxy", "queue")
HARM = ("broken", "too late", "in the wrong size")
EXPRESS = ("Please hurry.", "It is urgent.", "Express, please.")
SEVERITIES = ("It is a trifle.", "I am a little disappointed.", "I am not happy.", "I am angry.", "I am furious.")
WANTS = {
    "refund": ("I want my money back.", "Please refund me."),
    "replacement": ("Please send another one.", "I need a new one."),
    "call": ("Call me.", "Please ring me up."),
}


@dataclass(frozen=True)
class Text:
    """A text, and the record that it holds."""

    text: str
    record: Order | Complaint | Failure

    @property
    def answer(self) -> str:
        """The record as `json.dumps` writes it, which `whitespace="spaced"` demands of every answer."""
        return json.dumps(self.record.model_dump(mode="json"))


def order(rng: random.Random) -> Text:
    customer = f"{rng.choice(FIRST)} {rng.choice(LAST)}"
    due = datetime.date(2026, 1, 1) + datetime.timedelta(days=rng.randrange(365))
    express = rng.random() < 0.4
    items, said = [], []
    for product in rng.sample(PRODUCTS, rng.choice((1, 1, 2, 2, 3))):
        quantity, colour = rng.randint(1, 20), rng.choice((None, *COLOURS))
        items.append(Item(product=product, quantity=quantity, colour=colour))
        said.append(" ".join(filter(None, [str(quantity), colour, product + "s" * (quantity > 1)])))
    listed = " and ".join(filter(None, [", ".join(said[:-1]), said[-1]]))
    day = f"{due.day} {calendar.month_name[due.month]} {due.year}"
    body = rng.choice((f"We need {listed} by {day}.", f"For {day}: {listed}."))
    text = " ".join(filter(None, [body, rng.choice(EXPRESS) if express else "", customer]))
    return Text(text, Order(kind="order", customer=customer, due=due, express=express, items=items))


def complaint(rng: random.Random) -> Text:
    customer = f"{rng.choice(FIRST)} {rng.choice(LAST)}"
    number = f"{rng.choice('ABCDEF')}{rng.choice('KLMNOP')}-{rng.randrange(10_000):04}"
    severity = rng.randint(1, 5)
    wants: Literal["refund", "replacement", "call"] = rng.choice(("refund", "replacement", "call"))
    about = f"{rng.choice(('My order', 'Order'))} {number} came {rng.choice(HARM)}."
    text = f"{about} {SEVERITIES[severity - 1]} {rng.choice(WANTS[wants])} {customer}"
    return Text(text, Complaint(kind="complaint", customer=customer, order=number, severity=severity, wants=wants))


def failure(rng: random.Random) -> Text:
    host, time = f"{rng.choice(HOSTS)}-{rng.randrange(100):02}", f"{rng.randrange(24):02}:{rng.randrange(60):02}"
    level: Literal["warning", "error", "fatal"] = rng.choice(("warning", "error", "fatal"))
    codes = [rng.randint(100, 599) for _ in range(rng.randint(1, 3))]
    written = ",".join(map(str, codes))
    text = rng.choice(
        (
            f"{time} {host} {level.upper()} codes={written}",
            f"{level.upper()} [{host}] at {time}: exit {written}",
        )
    )
    return Text(text, Failure(kind="failure", host=host, time=time, level=level, codes=codes))


MAKERS: tuple[Callable[[random.Random], Text], ...] = (order, complaint, failure)


def texts(rng: random.Random, n: int) -> list[Text]:
    """Make `n` different texts."""
    found: dict[str, Text] = {}
    while len(found) < n:
        text = rng.choice(MAKERS)(rng)
        found.setdefault(text.text, text)
    return list(found.values())


def is_valid(answer: bytes) -> bool:
    """Return whether two validators that know nothing of earleymask accept the answer."""
    try:
        VALIDATOR.validate(json.loads(answer))
        RECORD.validate_json(answer)
    except (ValueError, ValidationError, jsonschema.ValidationError):
        return False
    return True


def attempt(write: Write, text: Text) -> Attempt:
    answer = write([text.text])
    valid = is_valid(answer.text)
    return Attempt([answer], [valid], valid and RECORD.validate_json(answer.text) == text.record)


def grammar(_: earleymask.Vocabulary) -> earleymask.Grammar:
    return earleymask.Grammar.from_type(RECORD, whitespace="spaced")


def task(n_train: int, n_held_out: int, seed: int) -> Task[Text]:
    """Make the texts, and describe the task."""
    made = texts(random.Random(seed), n_train + n_held_out)
    dialogues: Sequence[Dialogue] = [(text.text, text.answer) for text in made[n_held_out:]]
    return Task(
        "extraction",
        "Typed records from text",
        dialogues,
        made[:n_held_out],
        grammar,
        attempt,
        max_tokens=128,
        steps=500,
    )


if __name__ == "__main__":
    main(task)
