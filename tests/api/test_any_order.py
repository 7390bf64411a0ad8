"""Any calls, in any order, of several matchers of one grammar: each answers as if it had been made for its tokens.

The machine keeps for each matcher the tokens that it must have accepted (`support/subjects.py`), and compares all that
it answers with a replay of these tokens (`support/worlds.py`). To add a call, write a rule: it takes a subject, calls
its matcher, compares the answer with `subject.expected()`, and changes `subject.history` or `subject.is_ended` by what
the call is documented to do. All rules check afterwards that the matcher has this history.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, precondition, rule

from earleymask import BatchError, LimitError, MatcherInUseError, fill_bitmasks, fill_draft_bitmasks, start_bitmasks
from support.effort import effort
from support.subjects import Subject
from support.worlds import World, real_worlds, small_worlds

randoms = st.integers(0, 2**32 - 1).map(Random)
lengths = st.sampled_from([8, 16, 3, 0, 1])  # the first ones are tried most
MOST_TOKENS = 40
"""Longer histories are not gone on with: replays would take the most time."""


class Calls(RuleBasedStateMachine):
    """Calls of matchers of one world. Subclasses say of which."""

    worlds: dict[str, World]
    subjects = Bundle("subjects")

    def __init__(self) -> None:
        super().__init__()
        self.all: list[Subject] = []

    def new(self, subject: Subject) -> Subject:
        self.all.append(subject)
        return subject

    @initialize(target=subjects, number=st.integers(0, 99), rng=randoms, n=lengths, has_other_eos=st.booleans())
    def begin(self, number: int, rng: Random, n: int, has_other_eos: bool) -> Subject:
        names = sorted(self.worlds)
        self.world = self.worlds[names[number % len(names)]]
        return self.make_one(rng, n, has_other_eos)

    def make_one(self, rng: Random, n: int, has_other_eos: bool) -> Subject:
        """Make a matcher, and let it accept tokens, with a mask after each or with none."""
        eos = self.world.other_eos if has_other_eos else self.world.vocabulary.eos_token_ids
        subject = Subject(self.world, eos)
        fills = rng.random() < 0.5
        for token in subject.some_tokens(rng, n, 1.0):
            if subject.expected().mask is None:  # whether the token is allowed may take too much, too
                break
            if subject.allows([], token):
                if fills:
                    subject.check_mask()
                assert subject.matcher.accept(token), (subject, token)
                subject.history.append(token)
        subject.check()
        return self.new(subject)

    # -- matchers come and go

    @rule(target=subjects, rng=randoms, n=lengths, has_other_eos=st.booleans())
    def make(self, rng: Random, n: int, has_other_eos: bool) -> Subject:
        return self.make_one(rng, n, has_other_eos)

    @rule(target=subjects, subject=subjects)
    def fork(self, subject: Subject) -> Subject:
        return self.new(subject.like(subject.matcher.fork()))

    @precondition(lambda self: self.world.pickles)
    @rule(target=subjects, subject=subjects)
    def pickle(self, subject: Subject) -> Subject:
        return self.new(subject.pickled())

    @rule(subject=consumes(subjects))
    def drop(self, subject: Subject) -> None:
        self.all.remove(subject)

    # -- tokens

    @rule(subject=subjects, rng=randoms, share=st.sampled_from([0.5, 1.0]))
    def accept(self, subject: Subject, rng: Random, share: float) -> None:
        if len(subject.history) >= MOST_TOKENS:
            return
        token = subject.some_tokens(rng, 1, share)[0]
        try:
            accepted = subject.matcher.accept(token)
        except LimitError:
            with pytest.raises(LimitError):
                subject.allows([], token)
        else:
            assert accepted == subject.allows([], token), (subject, token)
            if accepted:
                subject.history.append(token)
        subject.check()

    @rule(subject=subjects, token=st.one_of(st.integers(-3, 300), st.integers(-(2**70), 2**70)))
    def accept_any_number(self, subject: Subject, token: int) -> None:
        try:
            is_allowed = subject.allows([], token)
        except LimitError:
            return
        assert subject.matcher.accept(token) == is_allowed
        if is_allowed:
            subject.history.append(token)
        subject.check()

    @rule(subject=subjects, rng=randoms, n=st.integers(0, 6), validates=st.booleans())
    def accept_tokens(self, subject: Subject, rng: Random, n: int, validates: bool) -> None:
        """Accept tokens, or only validate them."""
        if len(subject.history) >= MOST_TOKENS:
            return
        tokens = subject.some_tokens(rng, n)
        call = subject.matcher.validate if validates else subject.matcher.accept_tokens
        try:
            n_accepted = call(tokens)
        except LimitError:
            with pytest.raises(LimitError):
                subject.allowed(tokens)
        else:
            assert n_accepted == subject.allowed(tokens), (subject, tokens)
            if not validates:
                subject.history += tokens[:n_accepted]
        subject.check()

    @rule(subject=subjects, n=st.integers(0, 20))
    def rollback(self, subject: Subject, n: int) -> None:
        n = min(n, len(subject.history))
        subject.matcher.rollback(n)
        if n:
            del subject.history[-n:]
            subject.is_ended = False
        subject.check()

    @rule(subject=subjects, n=st.sampled_from([-1, 1, 1000]))
    def rollback_too_far(self, subject: Subject, n: int) -> None:
        with pytest.raises(ValueError, match="cannot take back"):
            subject.matcher.rollback(n if n < 0 else len(subject.history) + n)
        subject.check()

    @rule(subject=subjects)
    def reset(self, subject: Subject) -> None:
        subject.matcher.reset()
        subject.history.clear()
        subject.is_ended = False
        subject.check()

    # -- masks

    @rule(subject=subjects)
    def fill(self, subject: Subject) -> None:
        subject.check_mask()
        subject.check()

    @rule(subject=subjects)
    def fill_or_end(self, subject: Subject) -> None:
        row = np.full(self.n_words(), -1, np.int32)
        subject.matcher.fill_bitmask(row, on_error="end")
        self.note_end(subject)
        subject.check_row(row, subject.expected().mask)
        subject.check()

    def n_words(self) -> int:
        return -(-self.world.vocabulary.size // 32)

    def note_end(self, subject: Subject) -> None:
        """Note that a mask was asked for with `on_error="end"`."""
        if subject.expected().mask is None:
            subject.is_ended = True

    @rule(chosen=st.lists(st.one_of(st.none(), subjects), min_size=1, max_size=6), rng=randoms, ends=st.booleans())
    def fill_batch(self, chosen: list[Subject | None], rng: Random, ends: bool) -> None:
        rows = np.full((len(chosen) + 2, self.n_words() + 1), 7, np.int32)
        places = rng.sample(range(len(rows)), len(chosen))
        matchers = [None if subject is None else subject.matcher for subject in chosen]
        options = {"threads": rng.choice([1, 2]), "indices": places, "on_error": "end" if ends else "raise"}
        failed: set[int] = set()
        try:
            if rng.random() < 0.5:
                fill_bitmasks(matchers, rows, **options)  # type: ignore[arg-type]
            else:
                filling = start_bitmasks(matchers, rows, **options)  # type: ignore[arg-type]
                for subject in chosen[:1]:
                    if subject is not None:
                        with pytest.raises(MatcherInUseError):
                            subject.matcher.rollback(0)
                filling.wait()
        except BatchError as error:
            failed = set(error.errors)
        assert failed == {
            number
            for number, subject in enumerate(chosen)
            if subject is not None and subject.expected().mask is None and not ends
        }
        for number, (place, subject) in enumerate(zip(places, chosen, strict=True)):
            if number in failed:
                assert not rows[place].any()
            elif subject is None:
                assert (rows[place] == -1).all()
            else:
                self.note_end(subject)
                subject.check_row(rows[place], subject.expected().mask)
                subject.check()
        assert (np.delete(rows, places, axis=0) == 7).all()

    @rule(subject=subjects, rng=randoms, n=st.integers(0, 5), is_tree=st.booleans(), ends=st.booleans())
    def fill_along_a_draft(self, subject: Subject, rng: Random, n: int, is_tree: bool, ends: bool) -> None:
        draft, parents = some_draft(subject, rng, n, is_tree)
        rows = np.full((len(draft) + 1, self.n_words()), 7, np.int32)
        try:
            allowed = fill_draft_bitmasks(
                subject.matcher, draft, rows, parents=parents, on_error="end" if ends else "raise"
            ).tolist()
        except LimitError:
            assert not ends
            assert any(
                subject.world.expected(path, subject.eos).mask is None for path in paths(subject, draft, parents)
            )
            subject.check()
            return
        if ends:
            self.note_end(subject)
        subject.check_row(rows[0], subject.expected().mask)
        # By node, the history there; None after a token that is not allowed, and where no mask can be made.
        histories: list[list[int] | None] = [None if subject.is_ended else list(subject.history)]
        for node, (token, parent) in enumerate(zip(draft, parents, strict=True)):
            before, row = histories[parent + 1], rows[node + 1]
            histories.append(None)
            if before is None or not subject.world.allows(before, token, subject.eos):
                assert not allowed[node], (subject, draft, parents, node)
                subject.check_row(row, None)
                continue
            mask = subject.world.expected([*before, token], subject.eos).mask
            assert allowed[node] == (mask is not None), (subject, draft, parents, node)
            subject.check_row(row, subject.eos_alone() if mask is None else mask)
            if mask is not None:
                histories[-1] = [*before, token]
        subject.check()

    # -- what an engine asks beside masks

    @rule(subject=subjects, rng=randoms, more=st.sampled_from([0, 1, 4, 30]))
    def budget(self, subject: Subject, rng: Random, more: int) -> None:
        subject.check_budget(more, rng)
        subject.check_mask()
        subject.check()

    @rule(subject=subjects)
    def end_by_budget(self, subject: Subject) -> None:
        subject.end_by_budget()
        subject.check()

    @precondition(lambda self: self.world.pickles)
    @rule(subject=subjects, rng=randoms, seconds=st.sampled_from([0.0, 0.0001, 0.01]))
    def fill_in_time_at_first(self, subject: Subject, rng: Random, seconds: float) -> None:
        """Nothing is known about the grammar: most masks are partial if they are due at once."""
        subject.matcher = self.world.restored(subject.matcher.snapshot(), True)
        subject.has_encode = True
        for _ in range(rng.randrange(3)):
            subject.check_part(seconds)
        subject.check_mask()
        subject.check()

    @rule(subject=subjects, seconds=st.sampled_from([0.0, 0.0001, 0.01]))
    def fill_in_time(self, subject: Subject, seconds: float) -> None:
        subject.check_part(seconds)
        subject.check_mask()
        subject.check()

    @rule(subject=subjects, rng=randoms, accepts=st.booleans())
    def force(self, subject: Subject, rng: Random, accepts: bool) -> None:
        subject.check_forced(rng)
        if accepts and subject.has_encode and subject.expected().mask is not None:
            tokens = subject.matcher.forced_tokens()
            assert subject.matcher.accept_tokens(tokens) == len(tokens)
            subject.history += tokens
        subject.check()

    @precondition(lambda self: self.world.pickles)
    @rule(subject=subjects, is_new_grammar=st.booleans())
    def restore(self, subject: Subject, is_new_grammar: bool) -> None:
        """Put the matcher of a snapshot in the place of the one that it was taken of."""
        taken = subject.matcher.snapshot()
        subject.matcher = self.world.restored(taken, is_new_grammar)
        subject.has_encode = True
        assert subject.matcher.snapshot() == taken
        subject.check()

    @rule(subject=subjects)
    def cancel(self, subject: Subject) -> None:
        """No call is running: nothing happens, and later calls are not cancelled."""
        subject.matcher.cancel()
        subject.check_mask()
        subject.check()

    def teardown(self) -> None:
        for subject in self.all:
            subject.check()
            subject.check_mask()


def some_draft(subject: Subject, rng: Random, n: int, is_tree: bool) -> tuple[list[int], list[int]]:
    """Return the tokens of a chain, or of two chains that part somewhere, and their parents."""
    draft = subject.some_tokens(rng, n)
    parents = list(range(-1, len(draft) - 1))
    if is_tree and draft:
        at = rng.randrange(len(draft))
        for number, token in enumerate(subject.some_tokens(rng, n)[at:]):
            parents.append(at - 1 if number == 0 else len(draft) - 1)
            draft.append(token)
    return draft, parents


def paths(subject: Subject, draft: Sequence[int], parents: Sequence[int]) -> list[list[int]]:
    """Return the histories of the nodes of a draft that are allowed, the matcher's own first."""
    found: list[list[int] | None] = [list(subject.history)]
    for token, parent in zip(draft, parents, strict=True):
        before = found[parent + 1]
        is_allowed = before is not None and (
            subject.world.expected(before, subject.eos).mask is not None
            and subject.world.allows(before, token, subject.eos)
        )
        found.append([*before, token] if is_allowed and before is not None else None)
    return [path for path in found if path is not None]


class SmallCalls(Calls):
    worlds = small_worlds()


class RealCalls(Calls):
    @property
    def worlds(self) -> dict[str, World]:  # type: ignore[override]
        return real_worlds()


TestSmallWorlds = SmallCalls.TestCase
TestSmallWorlds.settings = settings(
    max_examples=effort(40, 2000), stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
TestRealWorlds = RealCalls.TestCase
TestRealWorlds.settings = settings(
    max_examples=effort(10, 300), stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
