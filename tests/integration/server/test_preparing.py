"""What a process does with a body and a grammar, without the process: what it gives up, and what it sends."""

from __future__ import annotations

import json
import pickle
import pickletools
import time
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("starlette")

from earleymask import Vocabulary
from earleymask.integration.server import preparing
from earleymask.integration.server.constraints import LIMITS
from earleymask.integration.server.errors import ApiError
from earleymask.integration.server.options import Kind, Options
from earleymask.integration.server.preparing import Preparer, Slow
from support.local_processes import BODY, both
from support.tiny_server import tokenizer_with_template


def test_a_quick_preparer_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes long, also to be refused; and nothing else."""
    tokenizer = tokenizer_with_template()
    vocabulary = Vocabulary.from_transformers(tokenizer)
    patient, hasty = (
        Preparer(vocabulary, tokenizer, "hermes", Options(name="m", **both(seconds)), 4096, kind="quick")
        for seconds in (10, 1e-9)
    )
    good, bad = (
        patient.read(json.dumps({**BODY, "structured_outputs": each}).encode(), "chat")[1]
        for each in ({"regex": "a{5}"}, {"grammar": "start: item"})
    )
    assert good is not None and bad is not None
    for demand in (good, bad):
        with pytest.raises(Slow):
            hasty.match(demand)
    load, loaded = hasty.grammars.matcher, []
    monkeypatch.setattr(hasty.grammars, "matcher", lambda *given: (loaded.append(given), load(*given))[1])
    for seconds, n in ((60.0, 0), (0.0, 1)):  # it is known to be slow, and nothing is loaded; until the time is over
        monkeypatch.setattr(preparing, "SLOW_FOR", seconds)
        with pytest.raises(Slow):
            hasty.match(good)
        assert len(loaded) == n
    with pytest.raises(Slow):
        hasty.match(good._replace(budget=100))  # more is asked of it
    assert len(loaded) == 2
    with pytest.raises(ApiError, match="not defined"):
        patient.match(bad)
    (matching,) = patient.match(good)
    assert patient.make(matching, None, None).any()
    monkeypatch.setattr(matching, "_seconds", 200.0)  # as if its masks had taken so long
    with pytest.raises(Slow):
        patient.make(matching, None, None)


def test_what_each_process_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grammar that takes longer than the quick one may take, and not longer than the medium one may."""
    options = Options(name="m", quick_seconds=1e-9, medium_seconds=10)
    kinds: list[Kind] = ["quick", "medium", "slow", "long"]
    assert [options.seconds(kind) for kind in kinds] == [1e-9, 10, None, None]
    tokenizer = tokenizer_with_template()
    vocabulary = Vocabulary.from_transformers(tokenizer)
    quick, medium, slow = (Preparer(vocabulary, tokenizer, "hermes", options, 4096, kind=kind) for kind in kinds[:3])
    demand = slow.read(json.dumps({**BODY, "structured_outputs": {"regex": "a{5}"}}).encode(), "chat")[1]
    assert demand is not None
    with pytest.raises(Slow):
        quick.match(demand)
    matchings = [preparer.match(demand)[0] for preparer in (medium, slow)]
    for preparer, matching, what in zip((medium, slow), matchings, (Slow, ApiError), strict=True):
        assert preparer.make(matching, None, None).any()
        monkeypatch.setattr(matching, "_seconds", 200.0)  # as if its masks had taken so long
        with pytest.raises(what):
            preparer.make(matching, None, None)


@pytest.mark.parametrize("endpoint", ["chat", "responses"])
@pytest.mark.parametrize("field", ["tools", "metadata", "messages"])
def test_what_is_long_leaves_the_process_as_text(field: str, endpoint: str) -> None:
    """The process of the model would have to make objects of it, and no pass can run meanwhile."""
    tokenizer = tokenizer_with_template()
    preparer = Preparer(Vocabulary.from_transformers(tokenizer), tokenizer, "hermes", Options(name="m"), 1 << 30)
    lists: list[Any] = [[]] * 10_000
    given: dict[str, Any] = {"model": "m", "metadata": {"a": lists}} if field == "metadata" else {"model": "m"}
    said: list[Any] = [{"role": "user", "content": "hi"}] * (5_000 if field == "messages" else 1)
    given["messages" if endpoint == "chat" else "input"] = said
    if field == "tools":
        inner = {"name": "f", "parameters": {"type": "object", "default": lists}}
        given["tools"] = [
            {"type": "function", "function": inner} if endpoint == "chat" else {"type": "function", **inner}
        ]
    found, _ = preparer.read(json.dumps(given).encode(), endpoint)
    marks = Counter(code.name for code, _, _ in pickletools.genops(pickle.dumps(found._replace(prompt=[]))))
    assert sum(marks[name] for name in ("EMPTY_LIST", "EMPTY_DICT", "EMPTY_TUPLE", "TUPLE")) < 100
    if endpoint == "responses" and field != "messages":
        echo = json.loads(found.request.echo)
        assert (
            len(echo["metadata"]["a"] if field == "metadata" else echo["tools"][0]["parameters"]["default"]) == 10_000
        )


def test_options_that_make_no_sense() -> None:
    for seconds in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="quick_seconds must be more than 0"):
            Options(quick_seconds=seconds)
    for seconds in (0.09, float("nan")):
        with pytest.raises(ValueError, match=r"medium_seconds=.* must be at least quick_seconds=0.1"):
            Options(quick_seconds=0.1, medium_seconds=seconds)


def test_tools_together_take_as_long_as_one() -> None:
    """Each custom tool has a grammar of its own. All of them are bounded together."""
    tokenizer = tokenizer_with_template()
    options = Options(name="m", limits=replace(LIMITS, load_seconds=0.1, seconds=0.1))
    vocabulary = Vocabulary.from_transformers(tokenizer)
    preparer = Preparer(vocabulary, tokenizer, "hermes", options, 1 << 22)
    words = [[f"{tool}_{number}" for number in range(200)] for tool in range(200)]
    tools = [
        {
            "type": "custom",
            "custom": {
                "name": f"tool_{index}",
                "format": {
                    "type": "grammar",
                    "grammar": {"syntax": "lark", "definition": "start: " + " | ".join(map(json.dumps, some))},
                },
            },
        }
        for index, some in enumerate(words)
    ]
    _, demand = preparer.read(json.dumps({**BODY, "tools": tools}).encode(), "chat")
    assert demand is not None
    one = demand.tools._replace(definitions=json.dumps(tools[:1]))
    Preparer(vocabulary, tokenizer, "hermes", Options(name="m"), 1 << 22).match(demand._replace(tools=one))  # warms up
    (matching,) = preparer.match(demand._replace(tools=one))
    assert preparer.make(matching, None, None).any()
    began = time.thread_time()
    with pytest.raises(ApiError) as caught:
        preparer.match(demand)
    assert caught.value.code == "grammar_too_costly" and time.thread_time() - began < 2
