"""Uses of the public API that mypy must accept, with the types that it must find."""

import numpy as np
import numpy.typing as npt
from typing_extensions import assert_type

import earleymask
from earleymask.earley import Engine, Regexes

vocabulary = earleymask.Vocabulary.bytes()
grammar = earleymask.Grammar.from_lark('start: "a"', start="start")
assert_type(grammar.source, str)
assert_type(grammar.engine, Engine)

matcher = earleymask.Matcher(grammar, vocabulary)
row = np.zeros(9, np.int32)
matcher.fill_bitmask(row)
assert_type(matcher.mask(), npt.NDArray[np.bool_])
assert_type(matcher.accept(97), bool)
assert_type(matcher.accept(np.int64(97)), bool)
assert_type(matcher.validate([97, 98]), int)
assert_type(matcher.validate(np.zeros(2, np.int64)), int)
assert_type(matcher.fork(), earleymask.Matcher)
assert_type(matcher.tokens, list[int])
assert_type(matcher.forced_bytes(), bytes)
assert_type(matcher.expected(), list[str])
assert_type(matcher.stats(), dict[str, int])
assert_type(matcher.is_accepting() and matcher.is_finished(), bool)
matcher.rollback(1)
matcher.reset()

constraint = earleymask.Constraint('start: "a"')
assert_type(constraint.mask(), npt.NDArray[np.bool_])
constraint.mask([97])
constraint.mask((97,))
constraint.mask(np.array([97]))
assert_type(earleymask.Constraint(grammar, vocabulary).matcher([97]), earleymask.Matcher)

earleymask.fill_bitmasks([matcher, matcher.fork()], np.zeros((2, 9), np.int32), threads=2)
earleymask.apply_bitmask(np.zeros((2, 257), np.float32), np.zeros((2, 9), np.int32))

regexes = Regexes()
node = regexes.union([regexes.literal(b"a"), regexes.byte_set(range(3)), regexes.char_class([(0, 9)])])
assert_type(regexes.repeat(node, 1, None), int)
assert_type(regexes.ordered([(0, node, 0), (4, 0, 0)]), int)
engine = Engine(regexes)
assert_type(engine.add_terminal("A", node, ignored=True), int)
engine.add_production(engine.add_nonterminal("a"), (0, 1))

try:
    constraint.mask([98])
except earleymask.RejectedTokenError as error:
    assert_type(error.index, int)
    assert_type(error.token_id, int)
except earleymask.GrammarError as error:
    assert_type(error.line, int | None)
    assert_type(error.hint, str | None)
except (earleymask.LimitError, earleymask.VocabularyError) as error:
    base: earleymask.EarleymaskError = error
