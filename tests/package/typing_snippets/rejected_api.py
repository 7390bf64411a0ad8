"""Misuses of the public API: mypy must report exactly the errors that the comments name."""

import numpy as np

import earleymask

earleymask.Constraint()  # error: call-arg
earleymask.Constraint(b"start: 'a'")  # error: arg-type
earleymask.Grammar.from_gbnf(b"root")  # error: arg-type
earleymask.Grammar.from_regex(b"a")  # error: arg-type
earleymask.Grammar.from_choices([b"a"])  # error: list-item
constraint = earleymask.Constraint('start: "a"', earleymask.Vocabulary.bytes())
constraint.accept(97)  # error: attr-defined
earleymask.fill_bitmasks([constraint.matcher()], np.zeros((1, 9), np.int32), 2)  # error: call-arg
earleymask.fill_bitmasks([constraint], np.zeros((1, 9), np.int32))  # error: list-item
earleymask.Limit  # error: attr-defined
