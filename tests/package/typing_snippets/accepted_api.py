"""Uses of the public API that mypy must accept, with the types that it must find."""

import re

import numpy as np
import numpy.typing as npt
from typing_extensions import assert_type

import earleymask

constraint = earleymask.Constraint('start: "a"')
earleymask.Constraint(earleymask.Grammar.from_lark('start: "a"'), earleymask.Vocabulary.bytes())
assert_type(earleymask.Grammar.from_gbnf('root ::= "a"', start="root"), earleymask.Grammar)
earleymask.Grammar.from_regex("a", flags=re.I, dialect="ecma")
earleymask.Grammar.from_regex(re.compile("a"))
earleymask.Grammar.from_choices(["a", "b"])
earleymask.Grammar.from_choices(choice for choice in ("a", "b"))
assert_type(constraint.mask(), npt.NDArray[np.bool_])
constraint.mask([97])
constraint.mask((97, 256))
constraint.mask(np.array([97]))
constraint.mask(np.array([97], np.uint32))
assert_type(constraint.matcher([97]), earleymask.Matcher)
assert_type(constraint.vocabulary, earleymask.Vocabulary)

rows = np.zeros((1, 9), np.int32)
constraint.fill_bitmask([97], rows[0])
earleymask.fill_bitmasks([constraint.matcher()], rows, threads=2)
earleymask.apply_bitmask(np.zeros((1, 257)), rows)
earleymask.apply_bitmask(np.zeros((1, 257), np.float16), rows)

assert_type(earleymask.BatchError({0: ValueError()}).errors, dict[int, Exception])
rejected = earleymask.RejectedTokenError("no", index=0, token_id=1)
assert_type(rejected.index, int)
error: earleymask.EarleymaskError = earleymask.EmptyMaskError("none left")
