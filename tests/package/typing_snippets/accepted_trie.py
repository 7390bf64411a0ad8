"""Uses of vocabularies and tries that mypy must accept, with the types that it must find."""

from collections.abc import Mapping

from typing_extensions import assert_type

from earleymask.trie import EarleymaskError, Vocabulary, VocabularyError
from earleymask.trie._build import is_debug
from earleymask.trie._trie import TokenTrie

vocabulary = Vocabulary.from_tokens([b"a", b"b", b""], eos_token_id=2)
assert_type(vocabulary, Vocabulary)
assert_type(Vocabulary.from_tokens(iter([b"a"]), eos_token_id=[0], special_token_ids=(0,), size=4), Vocabulary)
assert_type(Vocabulary.bytes().size, int)
assert_type(vocabulary.eos_token_ids, tuple[int, ...])
assert_type(vocabulary.special_tokens, Mapping[str, int])
assert_type(vocabulary.special_token_ids, frozenset[int])
assert_type(vocabulary.missing_bytes, bytes)
assert_type(vocabulary.token_bytes(0), bytes)
assert_type(vocabulary.trie, TokenTrie)
assert_type(vocabulary.trie.n_nodes, int)
assert_type(vocabulary.trie.node(0), tuple[int, int, int, int])
assert_type(vocabulary.trie.packed_nodes(), bytes)
assert_type(is_debug(), bool)

error: EarleymaskError = VocabularyError("a")
value_error: ValueError = VocabularyError("a")
