"""An agent that calls tools until it knows the answer.

    python -m examples.agent

The model has four tools: it looks up a row of a table, calculates, counts days, and answers. `Grammar.from_tools` makes
one grammar of their definitions, in the format that Hermes and Qwen 2.5 write: a call names a tool that exists, and its
arguments are those of this tool. `look_up` takes keys of the named table alone; `calculate` takes an expression, which
a Lark grammar describes, within the JSON string of the call. After each call the model reads the result.
"""

from __future__ import annotations

import ast
import datetime
import operator
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jsonschema

import earleymask
from earleymask import tools

from .measuring import Attempt, Task, Write, main
from .small_model import Dialogue
from .writing import Answer

STYLE = "hermes"
MAX_CALLS = 6
TABLES: dict[str, dict[str, int]] = {
    "price": {"lamp": 40, "chair": 65, "desk": 180, "vase": 95, "clock": 25, "rug": 70, "stool": 30, "mirror": 55},
    "delivery_days": {"Oslo": 3, "Lund": 2, "Turku": 6, "Bergen": 4, "Aarhus": 5, "Espoo": 7},
    "stock": {"lamp": 12, "chair": 31, "desk": 4, "vase": 9, "clock": 50, "rug": 17, "stool": 22, "mirror": 8},
}


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


LOOK_UP = {
    "anyOf": [_object(table={"const": table}, key={"enum": list(keys)}) for table, keys in TABLES.items()],
}
# The pattern leaves out the year 0000, which is a date in JSON Schema and none in Python.
DATE = {"type": "string", "format": "date", "pattern": "^20"}
ADD_DAYS = _object(date=DATE, days={"type": "integer", "minimum": -60, "maximum": 60})
ANSWER = _object(text={"type": "string", "minLength": 1, "maxLength": 40})
EXPRESSION = r"""
    start: product (("+" | "-") product)*
    product: number ("*" number)*
    number: /[1-9][0-9]{0,4}/ | "(" start ")"
"""
DEFINITIONS = [
    {"type": "function", "name": "look_up", "parameters": LOOK_UP},
    {"type": "function", "name": "add_days", "parameters": ADD_DAYS},
    {"type": "function", "name": "answer", "parameters": ANSWER},
    {
        "type": "custom",
        "name": "calculate",
        "format": {"type": "grammar", "syntax": "lark", "definition": EXPRESSION},
    },
]


def grammar(vocabulary: earleymask.Vocabulary) -> earleymask.Grammar:
    """Load the grammar of one call."""
    return earleymask.Grammar.from_tools(
        DEFINITIONS, STYLE, "required", parallel=False, vocabulary=vocabulary, whitespace="spaced"
    )


# The tools themselves. They check what they are given, and know nothing of earleymask.

CHECKS = {
    name: jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker(["date"]))
    for name, schema in (("look_up", LOOK_UP), ("add_days", ADD_DAYS), ("answer", ANSWER))
}
OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


class CallError(ValueError):
    """A call that a tool does not take."""


def run(name: str, arguments: dict[str, Any], given: str | None) -> str:
    """Run a tool and return its result as text. `given` is what `calculate` gets."""
    if name == "calculate":
        if given is None:
            raise CallError("calculate takes an expression")
        return str(_value(_parsed(given)))
    if name not in CHECKS:
        raise CallError(f"there is no tool {name!r}")
    if not CHECKS[name].is_valid(arguments):
        raise CallError(f"{name} does not take {arguments}")
    if name == "look_up":
        return str(TABLES[arguments["table"]][arguments["key"]])
    if name == "add_days":
        return str(datetime.date.fromisoformat(arguments["date"]) + datetime.timedelta(days=arguments["days"]))
    return str(arguments["text"])


def _parsed(expression: str) -> ast.expr:
    try:
        return ast.parse(expression, mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise CallError(f"no expression: {expression!r}") from error


def _value(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](_value(node.left), _value(node.right))
    raise CallError(f"not within an expression: {ast.unparse(node)}")


def read_call(text: str) -> tools.ToolCall:
    """Read the one call that a message must be."""
    try:
        message = tools.parse(text, STYLE, tools=DEFINITIONS)
    except tools.ToolCallError as error:
        raise CallError(str(error)) from error
    if len(message.calls) != 1 or message.content or message.unfinished:
        raise CallError("one call and nothing else is expected")
    return message.calls[0]


# What the model learns: questions, and the calls that answer them.


@dataclass
class Session:
    """A question with the calls that answer it, and their results."""

    question: str
    calls: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)

    def call(self, name: str, given: str | None = None, **arguments: Any) -> str:
        """Add a call, and return its result."""
        self.calls.append(tools.render([tools.ToolCall(name, arguments, given)], STYLE))
        self.results.append(run(name, arguments, given))
        return self.results[-1]

    @property
    def dialogue(self) -> Dialogue:
        """The question, and then each call after the result of the one before it."""
        read = [self.question, *self.results[:-1]]
        return [text for pair in zip(read, self.calls, strict=True) for text in pair]

    @property
    def answer(self) -> str:
        return self.results[-1]


def session(rng: random.Random) -> Session:
    kind = rng.choice(("cost", "arrival", "worth", "left"))
    product, other = rng.sample(list(TABLES["price"]), 2)
    n, m = rng.randint(2, 9), rng.randint(2, 9)
    if kind == "cost":
        made = Session(f"What do {n} {product}s and {m} {other}s cost?")
        one = made.call("look_up", table="price", key=product)
        two = made.call("look_up", table="price", key=other)
        made.call("answer", text=made.call("calculate", f"{n}*{one}+{m}*{two}"))
    elif kind == "arrival":
        city = rng.choice(list(TABLES["delivery_days"]))
        day = datetime.date(2026, 1, 1) + datetime.timedelta(days=rng.randrange(365))
        made = Session(f"An order of {day} goes to {city}. When does it arrive?")
        days = int(made.call("look_up", table="delivery_days", key=city))
        made.call("answer", text=made.call("add_days", date=str(day), days=days))
    elif kind == "worth":
        made = Session(f"What are all our {product}s worth?")
        stock = made.call("look_up", table="stock", key=product)
        price = made.call("look_up", table="price", key=product)
        made.call("answer", text=made.call("calculate", f"{stock}*{price}"))
    else:
        made = Session(f"We sell {n} {product}s a day. How many are left after {m} days, with {10 * m} new ones?")
        stock = made.call("look_up", table="stock", key=product)
        made.call("answer", text=made.call("calculate", f"{stock}+{10 * m}-{n}*{m}"))
    return made


def sessions(rng: random.Random, n_train: int, n_held_out: int) -> tuple[list[Session], list[Session]]:
    """Make sessions for training, and others with questions that are not among these."""
    held_out: dict[str, Session] = {}
    while len(held_out) < n_held_out:
        made = session(rng)
        held_out.setdefault(made.question, made)
    training: list[Session] = []
    while len(training) < n_train:
        made = session(rng)
        if made.question not in held_out:
            training.append(made)
    return training, list(held_out.values())


def attempt(write: Write, asked: Session) -> Attempt:
    """Let the agent work: after each call it reads the result, until it answers or has made `MAX_CALLS` calls."""
    dialogue = [asked.question]
    answers: list[Answer] = []
    valid: list[bool] = []
    for _ in range(MAX_CALLS):
        answers.append(write(dialogue))
        text = answers[-1].text.decode(errors="replace")
        try:
            call = read_call(text)
            result = run(call.name, call.arguments, call.input)
        except CallError:
            return Attempt(answers, [*valid, False], False)
        valid.append(True)
        if call.name == "answer":
            return Attempt(answers, valid, result == asked.answer)
        dialogue += [text, result]
    return Attempt(answers, valid, False)


def task(n_train: int, n_held_out: int, seed: int) -> Task[Session]:
    """Make the sessions, and describe the task."""
    training, held_out = sessions(random.Random(seed), n_train, n_held_out)
    dialogues = [each.dialogue for each in training]
    return Task("agent", "An agent with tools", dialogues, held_out, grammar, attempt, max_tokens=64, steps=500)


if __name__ == "__main__":
    main(task)
