"""Misuses of vocabularies and tries: mypy must report exactly the errors that the comments name."""

from earleymask.trie import Vocabulary
from earleymask.trie._trie import TokenTrie

Vocabulary.from_tokens([b"a"])  # error: call-arg
Vocabulary.from_tokens(["a"], eos_token_id=0)  # error: list-item
Vocabulary.from_tokens([b"a"], 0)  # error: call-arg
Vocabulary.from_tokens([b"a"], eos_token_id="</s>")  # error: arg-type
vocabulary = Vocabulary.bytes()
vocabulary.special_tokens["<eos>"] = 3  # error: index
vocabulary.token_bytes("a")  # error: arg-type
vocabulary.tokens  # error: attr-defined
TokenTrie(b"abc")  # error: arg-type
TokenTrie([b"a"]).n_nodes = 3  # error: misc
TokenTrie([b"a"]).nodes  # error: attr-defined
