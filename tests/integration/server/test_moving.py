"""An answer whose grammar becomes slow moves to another process: its masks stay the same, and nothing is left."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("starlette")

from earleymask import Grammar, Matcher, allocate_bitmask
from earleymask.integration.server import grammar_process
from earleymask.integration.server.errors import ApiError
from earleymask.integration.server.grammar_process import GrammarProcesses
from earleymask.integration.server.link import unanswered
from earleymask.integration.server.preparing import Leaving, Slow
from support.local_processes import BODY, PATIENCE, local_processes, wait_for

GRAMMAR = 'start: ("[" start "]" | /[a-c]+/)~1..4'


@pytest.fixture
def local() -> Iterator[GrammarProcesses]:
    with local_processes() as made:
        yield made


def refuse(*_: Any) -> Any:
    raise Slow


@pytest.mark.parametrize("is_accepted", [False, True], ids=["before its token is accepted", "after it"])
@pytest.mark.parametrize(
    "then_at", [None, -1, 0, 3], ids=["medium", "slow at once", "slow at its first mask", "slow later"]
)
@pytest.mark.parametrize("place", range(-1, 6))
def test_an_answer_that_becomes_slow_goes_on_elsewhere(
    local: Any, place: int, then_at: int | None, is_accepted: bool
) -> None:
    """Its masks are those that one matcher makes, wherever it is moved: before its first mask if `place` is -1, and
    later once more."""

    def make_until(process: Any, place: int) -> None:
        """Let a process refuse the mask at a place, and those after it."""
        make = process.preparer.make

        def made(matching: Any, token: int | None, remaining: int | None) -> Any:
            if matching._n_tokens + (token is not None) < place:
                return make(matching, token, remaining)
            if token is not None and is_accepted:
                matching.follow([token])
            raise Slow

        process.preparer.make = made
        if place < 0:
            process.preparer.match = refuse

    quick = local.quick
    make_until(quick, place)
    if then_at is not None:
        make_until(local.medium, max(place, 0) + then_at if then_at >= 0 else -1)
    body = json.dumps({**BODY, "structured_outputs": {"grammar": GRAMMAR}, "n": 2, "fit_max_tokens": True}).encode()
    found = local.prepare(body, "chat", Leaving()).result(PATIENCE)
    began = quick if place >= 0 else local.slow if then_at == -1 else local.medium
    assert {id(one): len(one.served._matchings) for one in local._all()} == {
        id(one): 2 * (one is began) for one in local._all()
    }
    vocabulary = quick.preparer.vocabulary
    for seed, masks in enumerate(found.masks):
        rng = random.Random(seed)
        matcher = Matcher(Grammar.from_lark(GRAMMAR), vocabulary)
        assert masks.eos_token_ids == set(matcher.eos_token_ids)
        row = allocate_bitmask(1, vocabulary)[0]
        token: int | None = None
        for left in range(20, 0, -1):
            matcher.fill_bitmask(row, remaining=left)
            assert (masks.after(token, left).result(PATIENCE) == row).all()
            token = rng.choice([one for one in range(vocabulary.size) if row[one // 32] >> one % 32 & 1])
            if token in masks.eos_token_ids:
                break
            assert matcher.accept(token)
        else:
            raise AssertionError("the budget is over, and the answer is not complete")
        masks.close()


@pytest.mark.parametrize("n_refused", [0, 1, 2], ids=["quick", "medium", "slow"])
@pytest.mark.parametrize("kind", ["grammar", "tools", "tool_choice"])
@pytest.mark.parametrize("length", [0, grammar_process.QUICK_BYTES, grammar_process.QUICK_CHARACTERS])
def test_where_a_body_is_read_and_its_grammar_loaded(local: Any, length: int, kind: str, n_refused: int) -> None:
    """The quick process loads the grammars of long bodies, too, unless these are long themselves. What is slow goes to
    one after the other."""
    order = ("quick", "medium", "slow")
    did: list[tuple[str, str]] = []

    def noted(name: str, what: str) -> Any:
        work = getattr(getattr(local, name).preparer, what)

        def note(*given: Any) -> Any:
            did.append((name, what))
            if what == "match" and name in order[:n_refused]:
                raise Slow
            return work(*given)

        return note

    for name in (*order, "long"):
        preparer = getattr(local, name).preparer
        preparer.read, preparer.match = noted(name, "read"), noted(name, "match")
    is_long, is_longer = length > 0, length == grammar_process.QUICK_CHARACTERS
    text = "// " + "b" * length + '\nstart: "ab"'
    bound: dict[str, Any] = {"n": 2}
    if kind == "grammar":
        bound |= {"structured_outputs": {"grammar": text}}
    else:
        of_tool = {"format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": text}}}
        tools = [{"type": "custom", "custom": {"name": "f", **(of_tool if kind == "tools" else {})}}]
        one = {"type": "custom", "name": "f"}
        allowed = {"mode": "required", "tools": [one] * (1 + (kind == "tool_choice") * length // 20)}
        bound |= {"tools": tools, "tool_choice": {"type": "allowed_tools", "allowed_tools": allowed}}
    local.long.preparer.max_length = local.quick.preparer.max_length = 1 << 30
    for constraint in ({"metadata": {"a": text}}, bound):
        found = local.prepare(json.dumps({**BODY, **constraint}).encode(), "chat", Leaving()).result(PATIENCE)
        expected = [("long" if is_long else "quick", "read")]
        if "n" in constraint:
            expected += [(name, "match") for name in order[is_longer : max(n_refused, is_longer) + 1]]
            assert found.seconds > 0 and len(found.masks) == 2
            for masks in found.masks:
                assert masks.after(None, None).result(PATIENCE).any()
                masks.close()
        else:
            assert found.masks == [None]
        assert did == expected
        did.clear()


@pytest.mark.parametrize("is_new", [False, True], ids=["an answer", "a request"])
@pytest.mark.parametrize("where", ["medium", "slow"])
@pytest.mark.parametrize("has_begun", [False, True], ids=["before it is there", "while its grammar is loaded"])
def test_what_nobody_waits_for_while_it_is_moved(local: Any, has_begun: bool, where: str, is_new: bool) -> None:
    """Nothing is left of it, the one who waits is told, and nothing is loaded in vain."""
    process = getattr(local, where)
    if where == "slow":
        local.medium.preparer.match = refuse
    if is_new:
        local.quick.preparer.match = refuse
    local.quick.preparer.make = refuse
    match, begun, loaded = process.preparer.match, process.served._begun, []
    is_there, may_go_on = threading.Event(), threading.Event()

    def match_later(*given: Any) -> Any:
        is_there.set()
        if has_begun:
            assert may_go_on.wait(PATIENCE)
        loaded.append(given)
        return match(*given)

    def begun_later(*given: Any) -> Any:
        if not has_begun:
            is_there.set()
            assert may_go_on.wait(PATIENCE)
        return begun(*given)

    process.preparer.match, process.served._begun = match_later, begun_later
    body, leaving = json.dumps({**BODY, "structured_outputs": {"grammar": GRAMMAR}}).encode(), Leaving()
    waiting = local.prepare(body, "chat", leaving)
    if not is_new:
        (masks,) = waiting.result(PATIENCE).masks
        waiting = masks.after(None, None)
        wait_for(lambda: not local.quick.served._matchings)  # it is closed there when it is moved
    assert is_there.wait(PATIENCE)
    (leaving.say if is_new else masks.close)()
    wait_for(lambda: process.served._dropped)
    may_go_on.set()
    if is_new and has_begun:
        (masks,) = waiting.result(PATIENCE).masks  # they are there, and must be closed
        masks.close()
    else:
        error: Any = waiting.exception(PATIENCE)
        assert error.code == "given_up"
    assert len(loaded) == has_begun


def test_an_answer_that_is_closed_when_its_move_has_failed(local: Any) -> None:
    """The process is told nothing more about the move."""

    def fail(*_: Any) -> Any:
        raise ApiError(400, "too much", None, "grammar_too_costly")

    local.quick.preparer.make, local.medium.preparer.match = refuse, fail
    body = json.dumps({**BODY, "structured_outputs": {"grammar": GRAMMAR}}).encode()
    (masks,) = local.prepare(body, "chat", Leaving()).result(PATIENCE).masks
    error: Any = masks.after(None, None).exception(PATIENCE)
    assert error.message == "too much"
    masks.close()


@pytest.mark.parametrize("is_slow", [False, True], ids=["begun", "given up"])
def test_an_answer_that_is_closed_when_it_has_been_moved(local: Any, is_slow: bool) -> None:
    """The process has answered before it hears that the answer is closed."""
    local.quick.preparer.make = refuse
    if is_slow:
        local.medium.preparer.match = refuse
    ask, heard = local.medium.ask, threading.Event()

    def ask_and_close(*what: Any) -> Any:
        asked, future = ask(*what), unanswered()

        def close_first(_: Any) -> None:
            masks.close()
            heard.set()
            future.set_result(asked.result())

        asked.add_done_callback(close_first)
        return future

    local.medium.ask = ask_and_close
    body = json.dumps({**BODY, "structured_outputs": {"grammar": GRAMMAR}}).encode()
    (masks,) = local.prepare(body, "chat", Leaving()).result(PATIENCE).masks
    error: Any = masks.after(None, None).exception(PATIENCE)
    assert error.code == "given_up" and heard.is_set()


def test_a_client_that_leaves_early(local: Any) -> None:
    """The next process is not asked."""
    leaving = Leaving()

    def leave(*_: Any) -> Any:
        leaving.say()
        raise Slow

    local.quick.preparer.match = leave
    local.medium.ask = None
    body = json.dumps({**BODY, "structured_outputs": {"grammar": GRAMMAR}}).encode()
    error: Any = local.prepare(body, "chat", leaving).exception(PATIENCE)
    assert error.code == "given_up"


def test_who_hears_that_a_client_leaves() -> None:
    leaving, called = Leaving(), []
    leaving.when_said(lambda: called.append(1))
    leaving.when_said(lambda: called.append(2))
    assert not called and not leaving.is_said
    leaving.say()
    assert called == [2] and leaving.is_said
    leaving.when_said(lambda: called.append(3))  # too late to wait for it
    assert called == [2, 3]


def test_what_is_refused_elsewhere_is_refused(local: Any) -> None:
    """What is too much for all processes, a grammar or a mask, ends with the error of the last."""
    quick, medium, slow = local.quick, local.medium, local.slow

    def fail(*_: Any) -> Any:
        raise ApiError(400, "too much", None, "grammar_too_costly")

    quick.preparer.make = medium.preparer.make = refuse
    slow.preparer.make = fail
    body = json.dumps({**BODY, "structured_outputs": {"grammar": GRAMMAR}}).encode()
    (masks,) = local.prepare(body, "chat", Leaving()).result(PATIENCE).masks
    error: Any = masks.after(None, None).exception(PATIENCE)
    assert error.message == "too much"
    masks.close()
    quick.preparer.match = medium.preparer.match = refuse
    slow.preparer.match = fail
    error = local.prepare(body, "chat", Leaving()).exception(PATIENCE)
    assert error.message == "too much"
