"""The rehearsal: terms that might be too large are computed while a schema is loaded.

The meaning of a term is computed when the parser reaches it, and some combinations exceed every limit. The text of a
schema does not show which ones: terms meet by `allOf`, by `oneOf`, whose branches exclude each other, and by members of
the same name far below. So a schema in which something may become too large (`weights.heavy`, an estimate) is walked
through from the root, term by term, as the loader will do it; terms that reach nothing heavy are skipped. A term that
cannot be computed is refused, with the place nearest to it, or left out if not `strict`.

An ordinary schema is not rehearsed, and of a large one at most MAX_TERMS terms are. The grammar continues with
everything that the rehearsal has computed.
"""

from __future__ import annotations

from itertools import islice
from random import Random
from typing import TYPE_CHECKING

from ...earley._engine import Engine
from ...earley._meter import keep, tick
from ...earley._regex import Regexes
from ...earley.errors import LimitError
from ..errors import GrammarLimitError
from ..regex.lower import lower_shared
from .algebra import Algebra
from .keywords import APPLICATORS
from .terms import BOTH, PLACE, VALUES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..json.numbers import NumberSet
    from .load import SchemaLoader
    from .shapes import Values
    from .tree import Place

MAX_TERMS = 1 << 5
"""The most terms of one schema that are rehearsed: the first ones from the root on."""
MAX_STATES = 8
"""The number of beginnings of texts after which the next byte of a terminal is computed: the shortest ones."""
N_TEXTS, MAX_LENGTH = 2, 24
"""The number of random texts along which the next byte of a terminal is computed, and their greatest length in
bytes."""
MAX_NODES = 1 << 12
"""The number of new regex nodes after which no further byte of a terminal is tried."""
MAX_LEFT_OUT = 64
"""The most places that are dropped without `strict`, one after the other. Beyond it, the schema is refused."""
MAX_KEPT = 1 << 15
"""The most regex nodes with which a grammar keeps the engine of its rehearsal. With more, it begins with a new one."""


class Rehearsal:
    """One walk through the terms of a schema."""

    def __init__(self, algebra: Algebra, reaching: set[Place] | None, loader_of: type[SchemaLoader]) -> None:
        keep(self)
        self.algebra = algebra
        self.reaching = reaching  # places that lead to something heavy; None: all may
        self.engine = Engine(Regexes())
        self.loader = loader_of(algebra, self.engine)
        self.rules = self.loader.rehearsed = {}
        self.waiting = [algebra.place(algebra.documents.root)]  # all terms that were found
        self.met = set(self.waiting)
        self.n_symbols = 0  # the symbols of the loader that have been added to `waiting`
        self.term = 0  # the term at work

    def run(self) -> None:
        """Rehearse. Raises LimitError, with a pointer, if a text could exceed a limit."""
        try:
            for term in self.waiting:  # the list grows meanwhile
                if len(self.waiting) > MAX_TERMS:
                    break
                self.term = term
                self.work_out(term)
        except LimitError as error:
            raise self.told(error) from None
        finally:
            self.loader.rehearsed = None

    def is_small(self) -> bool:
        """Whether a grammar can continue with the engine and the loader."""
        return self.engine.regexes.n_nodes <= MAX_KEPT

    def reaches(self, term: int) -> bool:
        """Whether the term may lead to something heavy."""
        if self.reaching is None:
            return True
        part = self.algebra.parts[term >> 1]
        kind = self.algebra.kinds[term >> 1]
        if kind == BOTH:
            return any(map(self.reaches, part))
        return kind == VALUES or (kind == PLACE and part.written in self.reaching)

    def add(self, terms: Iterable[int]) -> None:
        for term in terms:
            if term not in self.met:
                self.met.add(term)
                if self.reaches(term):
                    self.waiting.append(term)

    def work_out(self, term: int) -> None:
        """Do what the loader does when the parser reaches a value, and add the terms that it reaches next."""
        loader = self.loader
        algebra = self.algebra
        tick()
        values = algebra.values(term)
        self.try_scalars(values)
        if is_plain(values):
            for shape in values.objects:
                self.add([value for _, value in shape.named])
                self.add([value for _, value in shape.for_all])
            for array in values.arrays:
                self.add([*array.prefix, array.rest])
            return
        symbol = loader.value(term)
        if symbol is None or not self.engine.is_productive(symbol):
            return
        for shape, n_ordered in loader.ordered(values, term):
            loader.members(shape, n_ordered, term)
            self.rules[shape, n_ordered].rehearse()
        for array in values.arrays:
            loader.items(array, term)
            self.rules[array].rehearse()
        self.add(islice(loader.symbols, self.n_symbols, None))
        self.n_symbols = len(loader.symbols)

    def try_scalars(self, values: Values) -> None:
        """Try the terminals of numbers and strings of which several sets are combined: whether they match anything, and
        some of their states."""
        loader = self.loader
        regexes = loader.regexes
        for numbers in values.numbers:
            if numbers.listed is None and (numbers.non_multiples or numbers.multiple is not None):
                tree = loader.number_tree(numbers)
                if is_combined(numbers):
                    node = lower_shared(tree, regexes)
                    if not regexes.is_empty(node):
                        try_states(regexes, node)
        if values.texts.weight > 1:
            node = values.texts.node(regexes, loader.style, loader.own)
            if not regexes.is_empty(node):
                try_states(regexes, node)

    def told(self, error: LimitError) -> GrammarLimitError:
        """Return the error with the places whose combination it is about."""
        places = self.places()
        if isinstance(error, GrammarLimitError):
            if error.pointer is None and places:
                error.pointer = places[0].pointer
            return error
        message = str(error)
        if len(places) > 1:
            message += f" (together with {', '.join([place.pointer for place in places[1:]])})"
        return GrammarLimitError(message, pointer=places[0].pointer if places else None).copy_limit(error)

    def places(self) -> list[Place]:
        """Return the places of which the term at work is a combination."""
        algebra = self.algebra
        found: list[Place] = []
        stack = [self.term]
        while stack:
            term = stack.pop()
            kind = algebra.kinds[term >> 1]
            if kind == BOTH:
                stack += reversed(algebra.parts[term >> 1])
            elif kind == PLACE:
                found.append(algebra.parts[term >> 1])
        return found

    def left_out(self) -> list[tuple[Place, str]]:
        """Return the keywords to drop so that the term at work becomes simpler: the applicators of the last place that
        has any or, if none has, all keywords but `type` of the last place that has others."""
        places = self.places()
        for place in reversed(places):
            schema = self.algebra.keywords(place)
            found = [keyword for keyword in schema if keyword in APPLICATORS]
            if found:
                return [(place, keyword) for keyword in found]
        for place in reversed(places):
            found = [keyword for keyword in self.algebra.keywords(place) if keyword != "type"]
            if found:
                return [(place, keyword) for keyword in found]
        return []


def is_plain(values: Values) -> bool:
    """Whether the demands on each member or item depend on no other one, and nothing is counted."""
    for shape in values.objects:
        if shape.clauses or shape.exists or shape.least > 1 or len(shape.for_all) > 1:
            return False
    return not any(shape.contains or shape.unique for shape in values.arrays)


def is_combined(numbers: NumberSet) -> bool:
    """Whether numbers must, or must not, be multiples of several others, so that remainders multiply."""
    return len(numbers.non_multiples) + (numbers.multiple is not None) > 1


def try_states(regexes: Regexes, start: int) -> None:
    """Compute what may follow some beginnings of the node's texts: the shortest ones, and those along a few random
    texts, which are the same in each run. Raises LimitError if one of them exceeds a limit."""
    following: dict[int, list[int]] = {}
    most = regexes.n_nodes + MAX_NODES

    def after(node: int) -> list[int]:
        known = following.get(node)
        if known is None:
            known = following[node] = list(regexes.derivatives(node))
        return known

    found = {start: True}
    waiting = [start]
    for node in waiting:  # the list grows meanwhile
        if len(following) >= MAX_STATES or regexes.n_nodes > most:
            break
        waiting += [target for target in after(node) if target not in found]
        found |= dict.fromkeys(waiting, True)
    rng = Random(0)
    for _ in range(N_TEXTS):
        node = start
        for _ in range(MAX_LENGTH):
            if regexes.n_nodes > most:
                return
            targets = after(node)
            if not targets:
                break
            node = rng.choice(targets)


def rehearsed(algebra: Algebra, within: set[Place] | None, loader_of: type[SchemaLoader]) -> Rehearsal:
    """Return a rehearsal in which nothing has exceeded a limit. Without `strict`, drop keywords until that is so.
    `within`: `reaching` of `Rehearsal`."""
    rehearsal = Rehearsal(algebra, within, loader_of)
    for _ in range(MAX_LEFT_OUT):
        try:
            rehearsal.run()
            break
        except LimitError as error:
            more = [] if algebra.options.strict or error.limit in ("load_seconds", "seconds") else rehearsal.left_out()
            if not more:
                raise
            told = (error.message if isinstance(error, GrammarLimitError) else str(error)).replace("\n", "; ")
            dropped = {place: dict(left_out) for place, left_out in algebra.dropped.items()}
            for place, keyword in more:
                dropped.setdefault(place.written, {})[keyword] = told
            left = Algebra(algebra.documents, algebra.options, dropped, algebra.limits)
            left.has_unique_items, left.plain_numbers = algebra.has_unique_items, algebra.plain_numbers
            left.follows_items, left.repeats_items = algebra.follows_items, algebra.repeats_items
            left.limits_keys, left.lists_names = algebra.limits_keys, algebra.lists_names
            algebra = left
            rehearsal = Rehearsal(algebra, within, loader_of)
    return rehearsal
