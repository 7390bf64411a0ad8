"""A process that is forked while threads work: the child does not hang, and makes the same masks as its parent.

Each test runs in a process of its own, which forks many times; a child that hangs is ended by an alarm.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from support.effort import effort

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")

BEGINNING = """
import gc, os, signal, sys, threading, time
import numpy as np
from earleymask import Constraint, Grammar, Matcher, MatcherInUseError, Vocabulary, fill_bitmasks, prepare
from earleymask.earley import _locks
from earleymask.earley._forget import forget_now

def fork(work, seconds=60):
    \"\"\"Run `work` in a child. Fail if it fails or does not end.\"\"\"
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(seconds)
            work()
            code = 0
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert status == 0, f"the child ended with {status} (14: it hung)"
"""

WORKING = """
LARK = 'start: (NAME | "[" start "]" | ",")*\\nNAME: /[a-z]{1,9}/\\n%ignore / +/'
SCHEMA = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 9}, "b": {"type": "array"}}}
def vocabulary():
    tokens = [bytes([i]) for i in range(256)] + [bytes([i, k]) for i in b'ab[], "{}:' for k in b'ab[], "{}:']
    return Vocabulary.from_tokens([*tokens, b""], eos_token_id=len(tokens))
words = vocabulary()
grammar = Grammar.from_lark(LARK)
text = list(b"[ab,[a],b] ab,[]")

def masks_of(matcher):
    masks = [matcher.mask()]
    for token in text:
        assert matcher.accept(token)
        masks.append(matcher.mask())
    return masks

expected = masks_of(Matcher(Grammar.from_lark(LARK), vocabulary()))
def same(masks):
    assert all(map(np.array_equal, masks, expected)) and len(masks) == len(expected)

shared = Matcher(grammar, words)
constraint = Constraint(grammar, words)
batch = [Matcher(grammar, words) for _ in range(4)]
ended = False
failed = []

def repeat(work):
    def loop():
        try:
            while not ended:
                work()
        except BaseException as error:
            failed.append(error)
    return threading.Thread(target=loop, daemon=True)

def walk():
    matcher = shared.fork()
    same(masks_of(matcher))
    matcher.reset()

def ask():
    for n in range(len(text) + 1):
        assert np.array_equal(constraint.mask(text[:n]), expected[n])

def forget():
    forget_now(grammar.engine, 2)

def load():
    Grammar.from_json_schema(SCHEMA)
    Matcher(Grammar.from_lark(LARK), words).mask()

def prepared():
    prepare(vocabulary())

def fill():
    rows = np.zeros((4, (words.size + 31) // 32), dtype=np.int32)
    fill_bitmasks(batch, rows, threads=2)
    assert (rows == rows[0]).all()

def everything():
    for work in (walk, ask, forget, load, prepared, fill, walk):
        work()
    same(masks_of(Matcher(grammar, words)))
    same(masks_of(Matcher(Grammar.from_lark(LARK), vocabulary())))
    assert gc.get_threshold()[2] < 1000, gc.get_threshold()

threads = [repeat(work) for work in (walk, walk, ask, forget, load, prepared)]
for thread in threads:
    thread.start()
prepare(words)
for turn in range({rounds}):
    time.sleep(0.002 * (turn % 7))
    fork(everything)
ended = True
for thread in threads:
    thread.join()
assert not failed, failed
everything()
"""

LOST = """
ambiguous = Grammar.from_lark('start: "a" start "a" | "b" start "b" |')
other = Grammar.from_lark('start: "a"*')
matcher = Matcher(ambiguous, Vocabulary.bytes())
friend = matcher.fork()
outsider = Matcher(other, Vocabulary.bytes())
expected = outsider.mask()
constraint = Constraint(ambiguous)
_locks.MOST_SECONDS = 0.01
began = threading.Event()

def work():
    began.set()
    matcher.validate(b"a" * {length})

thread = threading.Thread(target=work)
thread.start()
began.wait()
time.sleep(0.05)
assert thread.is_alive()

def child():
    assert np.array_equal(outsider.mask(), expected)
    for call in (matcher.is_accepting, friend.forced_bytes, lambda: constraint.mask([97]), friend.fork):
        try:
            call()
        except MatcherInUseError as error:
            assert "load the grammar again" in str(error), error
        else:
            raise AssertionError(call)
    again = Matcher(Grammar.from_lark('start: "a" start "a" | "b" start "b" |'), Vocabulary.bytes())
    assert again.validate(b"abba") == 4
    fork(lambda: again.mask())
    fork(lambda: np.array_equal(outsider.mask(), expected))

fork(child)
thread.join()
assert matcher.validate(b"abba") == 4
"""

SLOW = """
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder
began = threading.Event()

def make_slow(package, wait):
    \"\"\"Let the import of each module of a package take its time.\"\"\"

    class Slow(MetaPathFinder):
        def find_spec(self, name, path=None, target=None):
            if not name.startswith(package):
                return None
            spec = PathFinder.find_spec(name, path)
            execute = spec.loader.exec_module

            def execute_slowly(module):
                began.set()
                wait()
                execute(module)

            spec.loader.exec_module = execute_slowly
            return spec

    sys.meta_path.insert(0, Slow())
"""


def run(program: str) -> None:
    child = subprocess.run([sys.executable, "-c", BEGINNING + program], capture_output=True, text=True, timeout=600)
    assert child.returncode == 0, child.stderr


def test_forks_while_threads_work() -> None:
    run(WORKING.replace("{rounds}", str(effort(10, 400))))


def test_grammars_come_and_go_while_the_process_is_forked() -> None:
    """No error is reported while the locks of many grammars are taken, although other threads make more of them."""
    run("""
sys.setswitchinterval(1e-5)
reported = []
sys.unraisablehook = reported.append
living = [Grammar.from_lark('start: "a"').engine for _ in range(300)]
ended = False

def load():
    while not ended:
        Grammar.from_lark('start: "a"').engine

thread = threading.Thread(target=load, daemon=True)
thread.start()
for _ in range(100):
    fork(lambda: None)
ended = True
thread.join()
assert not reported, reported
""")


def test_what_a_long_call_held_is_lost_in_the_child() -> None:
    """The child says so, and can use everything else and load the grammar again. In the parent, nothing has changed."""
    run(LOST.replace("{length}", "3_000"))


def test_a_call_that_forks_does_not_wait_for_itself() -> None:
    """The function that yields tokens runs within a call of the matcher."""
    run("""
matcher = Matcher(Grammar.from_lark('start: "a"*'), Vocabulary.bytes())

def tokens():
    for _ in range(3):
        fork(lambda: matcher.fork().mask())
        yield 97

began = time.monotonic()
assert matcher.validate(tokens()) == 3
assert time.monotonic() - began < 4 * _locks.MOST_SECONDS
""")


@pytest.mark.parametrize("kind", ["json_schema", "gbnf"])
def test_the_first_grammar_of_a_kind_is_loaded_meanwhile(kind: str) -> None:
    """Python's locks of modules that another thread is importing are taken in the child for ever."""
    run(
        SLOW
        + f"""
make_slow("earleymask.grammar.{kind}", lambda: time.sleep(0.05))
texts = {{"json_schema": "true", "gbnf": 'root ::= "true"'}}

def load():
    matcher = Matcher(Grammar.from_{kind}(texts["{kind}"]), Vocabulary.bytes())
    assert matcher.accept_tokens(b"true") == 4

thread = threading.Thread(target=load, daemon=True)
thread.start()
assert began.wait(30)
for _ in range(20):
    time.sleep(0.01)
    fork(load, seconds=15)
thread.join()
load()
"""
    )


def test_an_import_that_takes_too_long_is_not_waited_for() -> None:
    run(
        SLOW
        + """
ended = threading.Event()
make_slow("earleymask.grammar.gbnf", lambda: ended.wait(20))
thread = threading.Thread(target=lambda: Grammar.from_gbnf('root ::= "a"'), daemon=True)
thread.start()
assert began.wait(30)
_locks.MOST_SECONDS = 0.2
assert _locks.is_importing()
begin = time.monotonic()
fork(lambda: Matcher(Grammar.from_regex("a"), Vocabulary.bytes()).mask(), seconds=15)
assert time.monotonic() - begin < 10
ended.set()
thread.join()
assert not _locks.is_importing()
"""
    )
