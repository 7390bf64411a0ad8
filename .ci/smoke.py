"""Make masks with the installed package, with each front end once. Run it outside the repository."""

import earleymask
from earleymask.trie._build import is_debug

assert not is_debug()
vocabulary = earleymask.Vocabulary.bytes()
assert vocabulary.trie.n_nodes == 256
assert earleymask.Constraint('start: "a"+').mask([]).nonzero()[0].tolist() == [ord("a")]
grammars = {
    b"2026-11-22": earleymask.Grammar.from_regex(r"\d{4}-\d{2}-\d{2}"),
    b"[1,2]": earleymask.Grammar.from_gbnf(r'root ::= "[" [0-9] ("," [0-9])* "]"'),
    b"yes": earleymask.Grammar.from_choices(["yes", "no"]),
    b"(a (b))": earleymask.Grammar.from_lark(
        'start: "(" NAME start* ")"\n%import common.CNAME -> NAME\n%import common.WS\n%ignore WS'
    ),
    b'{"n": 7}': earleymask.Grammar.from_json_schema(
        {"type": "object", "properties": {"n": {"type": "integer", "multipleOf": 7}}, "required": ["n"]}
    ),
}
for text, grammar in grammars.items():
    matcher = earleymask.Matcher(grammar, vocabulary)
    assert matcher.validate([*text, 256]) == len(text) + 1, text
    assert matcher.validate(text + b"!") == len(text), text
