"""Compare a schema's grammar with the oracle: by walks through its masks, and on instances."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any

import earleymask
from campaign.schema_suite import NO_DOCUMENT
from support.schema_instances import mutated, near
from support.schema_oracle import Oracle, is_judged
from support.schema_order import Order

BYTES = earleymask.Vocabulary.bytes()
N_WAYS = 30
"""How many orders of an instance are tried if the schema has several."""
MAX_WALK = 400
"""After so many bytes a walk chooses what closes strings, arrays and objects."""


def walk(rng: Random, grammar: Any, vocabulary: Any) -> str | None:
    """Return the text of a walk through the masks; None if it did not end. An empty mask is an AssertionError."""
    matcher = earleymask.Matcher(grammar, vocabulary)
    written = bytearray()
    eos = next(iter(vocabulary.eos_token_ids))
    for at in range(2 * MAX_WALK):
        allowed = matcher.mask().nonzero()[0].tolist()
        assert allowed, f"no token can follow {bytes(written)!r}"
        closing = [token for token in allowed if token in (eos, 0x22, 0x5D, 0x7D)]
        plain = [token for token in allowed if token in closing or 0x20 <= token < 0x7F]
        if closing and (at > MAX_WALK or rng.random() < 0.3):
            token = rng.choice(closing)
        else:
            token = rng.choice(plain if plain and rng.random() < 0.95 else allowed)
        assert matcher.accept(token), f"the mask allows {token} after {bytes(written)!r}, and `accept` does not"
        if token == eos:
            return written.decode("utf-8")
        written.append(token)
    return None


@dataclass
class Report:
    """The result for some schemas."""

    counts: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    limits: Counter[str] = field(default_factory=Counter)
    slow: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    """A description of each failure."""


def check(rng: Random, schema: Any, report: Report, n_walks: int = 3, n_instances: int = 12) -> None:
    """Compare the grammar of a schema with the oracle, on instances near it and by walks."""
    oracle = Oracle(schema)
    instances: list[Any] = []
    for _ in range(n_instances):
        instances.append(near(rng, schema))
        instances.append(mutated(rng, instances[-1]))
    try:
        judged = [oracle.accepts(json.dumps(data)) for data in instances]
    except RecursionError:
        report.counts["the oracle goes in a circle"] += 1
        return
    valid = [data for data, is_valid in zip(instances, judged, strict=True) if is_valid]
    for order in ("any", "schema"):
        grammar = loaded(schema, order, valid, report)
        if grammar is None:
            continue
        for data, is_valid in zip(instances, judged, strict=True):
            if order == "any":
                text = json.dumps(data, ensure_ascii=rng.random() < 0.5)
                compare(grammar, text, is_valid, f"(order any): {json.dumps(schema)}", report)
            else:
                compare_order(rng, grammar, data, is_valid, schema, report)
        for _ in range(n_walks):
            compare_walk(rng, grammar, oracle, f"(order {order}): {json.dumps(schema)}", report)


def loaded(schema: Any, order: str, valid: list[Any], report: Report, **options: Any) -> Any:
    """Return the grammar of a schema, for which these documents are `valid`; None if it is refused."""
    try:
        grammar = earleymask.Grammar.from_json_schema(schema, **{"property_order": order, **options})
    except earleymask.GrammarError as error:
        report.counts["refused"] += 1
        report.refusals[error.message] += 1
        if error.message.startswith(NO_DOCUMENT) and valid:
            report.wrong.append(f"{error.message}, but {json.dumps(valid[0])} is valid: {json.dumps(schema)}")
        return None
    report.counts["loaded"] += 1
    return grammar


def compare(grammar: Any, text: str, is_valid: bool, where: str, report: Report) -> None:
    """Check that a text is accepted exactly if it is valid."""
    try:
        is_accepted = accepts(grammar, text)
    except earleymask.LimitError as error:
        report.counts["limit"] += 1
        report.limits[str(error)] += 1
        return
    report.counts["valid" if is_valid else "invalid"] += 1
    if is_accepted != is_valid:
        what = "refused, though valid" if is_valid else "accepted, though invalid"
        report.wrong.append(f"{text} is {what} {where}")


def compare_order(rng: Random, grammar: Any, data: Any, is_valid: bool, schema: Any, report: Report) -> None:
    """Check that an instance is accepted in the schema's order exactly if it is valid, and in no other order."""
    order = Order(schema)
    moved = order.put(data)
    where = f"(order schema): {json.dumps(schema)}"
    settled = order.is_settled
    if is_valid and not settled:
        report.counts["in one of several orders"] += 1
        ways = [moved, *order.ways(data, rng, N_WAYS)]
        moved = next((one for one in ways if is_accepted(grammar, json.dumps(one))), moved)
    compare(grammar, json.dumps(moved, ensure_ascii=rng.random() < 0.5), is_valid, where, report)
    if is_valid and settled and json.dumps(moved) != json.dumps(data):
        report.counts["reordered"] += 1
        if is_accepted(grammar, json.dumps(data)):
            report.wrong.append(f"{data} is accepted in another order than that of {json.dumps(schema)}")


def compare_walk(rng: Random, grammar: Any, oracle: Oracle, where: str, report: Report) -> None:
    """Check that a walk through the masks ends with a valid text."""
    try:
        text = walk(rng, grammar, BYTES)
    except earleymask.LimitError as error:
        report.counts["limit"] += 1
        report.limits[str(error)] += 1
        return
    except AssertionError as error:
        report.wrong.append(f"{error} {where}")
        return
    report.counts["walked" if text is not None else "walked on"] += 1
    if text is not None and is_judged(text) and not oracle.accepts(text):
        report.wrong.append(f"{text} was written, though invalid {where}")


def accepts(grammar: Any, text: str) -> bool:
    matcher = earleymask.Matcher(grammar, BYTES)
    return all(map(matcher.accept, text.encode())) and matcher.is_accepting()


def is_accepted(grammar: Any, text: str) -> bool:
    """Return whether the text is accepted; a text that reaches a limit is not."""
    try:
        return accepts(grammar, text)
    except earleymask.LimitError:
        return False
