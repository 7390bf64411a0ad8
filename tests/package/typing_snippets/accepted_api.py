"""Uses of the public API that mypy must accept, with the types that it must find."""

import re
from typing import Literal

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
earleymask.Grammar.from_json_schema(
    {}, property_order="any", whitespace="compact", spellings="plain", string_escapes="shortest"
)
assert_type(earleymask.Grammar.from_type(list[int], whitespace="spaced", strict=False), earleymask.Grammar)
earleymask.Grammar.from_type(Literal["a", "b"])
earleymask.Grammar.from_type(int | None, limits=earleymask.Limits(seconds=1))
every_byte = earleymask.Vocabulary.bytes()
for take in (earleymask.Constraint, earleymask.Matcher):
    take('start: "a"', every_byte)
    take({"type": "object"}, every_byte)
    take(re.compile("a"), every_byte)
    take(list[int], every_byte)
    take(int | None, every_byte)
    take(earleymask.prepare, every_byte)
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
row: earleymask.Row = earleymask.Grammar.from_type(int).report[0]
assert_type(earleymask.Grammar.from_lark('start: "a"').warnings, tuple[earleymask.GrammarWarning, ...])
earleymask.GrammarLogitsProcessor({"type": "object"}, every_byte)
earleymask.GrammarLogitsProcessor([list[int], 'start: "a"'], every_byte)
error: earleymask.EarleymaskError = earleymask.EmptyMaskError("none left")
