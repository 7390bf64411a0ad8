"""Misuses of the public API: mypy must report exactly the errors named behind the lines."""

import numpy as np

import earleymask
from earleymask.earley import Engine, Regexes

vocabulary = earleymask.Vocabulary.bytes()
grammar = earleymask.Grammar.from_lark(b'start: "a"')  # error: arg-type
earleymask.Grammar.from_lark("start: A", "start")  # error: call-arg
earleymask.Grammar('start: "a"')  # error: call-arg

earleymask.Matcher('start: "a"', vocabulary)  # error: arg-type
earleymask.Matcher(grammar)  # error: call-arg
matcher = earleymask.Matcher(grammar, vocabulary)
matcher.accept("a")  # error: arg-type
matcher.validate(97)  # error: arg-type
words = np.zeros(9, np.int64)
matcher.fill_bitmask(words)  # error: arg-type
matcher.fill_bitmask([0] * 9)  # error: arg-type
matcher.tokens = [97]  # error: misc
matcher.n_tokens = 3  # error: misc
matcher.rollback()  # error: call-arg
matcher.chart  # error: attr-defined

earleymask.Constraint(vocabulary, grammar)  # error: arg-type, arg-type

earleymask.fill_bitmasks([matcher], np.zeros((1, 9), np.int32), 2)  # error: call-arg
earleymask.fill_bitmasks(matcher, np.zeros((1, 9), np.int32))  # error: arg-type
earleymask.RejectedTokenError("no", 3, 4)  # error: call-arg

regexes = Regexes()
regexes.literal("a")  # error: arg-type
regexes.complement([1])  # error: arg-type
regexes.ordered([(0, 1)])  # error: list-item
Engine()  # error: call-arg
Engine(regexes).add_lazy("a", [])  # error: arg-type
