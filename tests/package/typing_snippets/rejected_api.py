"""Misuses of the public API: mypy must report exactly the errors that the comments name."""

import numpy as np

import earleymask

earleymask.Constraint()  # error: call-arg
earleymask.Constraint(b"start: 'a'")  # error: arg-type
earleymask.Grammar.from_gbnf(b"root")  # error: arg-type
earleymask.Grammar.from_regex(b"a")  # error: arg-type
earleymask.Grammar.from_choices([b"a"])  # error: list-item
earleymask.Grammar.from_regex("a", dialect="perl")  # error: arg-type
earleymask.Grammar.from_json_schema({}, whitespace="pretty")  # error: arg-type
earleymask.Grammar.from_json_schema({}, property_order="sorted")  # error: arg-type
earleymask.Grammar.from_json_schema({}, string_escapes="none")  # error: arg-type
earleymask.Grammar.from_json_schema({}, white_space="compact")  # error: call-arg
earleymask.Grammar.from_type(int, whitespace="pretty")  # error: arg-type
earleymask.Grammar.from_type(int, white_space="compact")  # error: call-arg
earleymask.Matcher(b"start: 'a'", earleymask.Vocabulary.bytes())  # error: arg-type
earleymask.Matcher('start: "a"', "gpt2")  # error: arg-type
constraint = earleymask.Constraint('start: "a"', earleymask.Vocabulary.bytes())
constraint.accept(97)  # error: attr-defined
earleymask.fill_bitmasks([constraint.matcher()], np.zeros((1, 9), np.int32), 2)  # error: call-arg
earleymask.fill_bitmasks([constraint], np.zeros((1, 9), np.int32))  # error: list-item
earleymask.Limit  # error: attr-defined
