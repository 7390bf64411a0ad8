"""What a `Vocabulary` says about itself: roles of ids, size, fingerprint, pickling, errors."""

import pickle
import subprocess
import sys
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earleymask.trie import EarleymaskError, Vocabulary, VocabularyError

TOKENS = [b"a", b"b", b"ab", b"", b"</s>", b"<tool>", b"a"]


def make(**changes: Any) -> Vocabulary:
    return Vocabulary.from_tokens(**{"tokens": TOKENS, "eos_token_id": 4, **changes})


def test_roles_of_ids() -> None:
    vocabulary = make(special_token_ids=[5])
    assert vocabulary.size == len(vocabulary) == 7
    assert vocabulary.eos_token_ids == (4,)
    assert vocabulary.special_token_ids == {4, 5}
    assert dict(vocabulary.special_tokens) == {"</s>": 4, "<tool>": 5}
    assert [vocabulary.token_bytes(i) for i in range(7)] == [b"a", b"b", b"ab", b"", b"", b"", b"a"]
    assert vocabulary.trie.n_text_tokens == 4
    assert vocabulary.trie.duplicate_pairs() == [(0, 6)]


def test_names_of_special_tokens_may_be_given() -> None:
    vocabulary = make(special_tokens={"<eos>": 4, "<call>": 5})
    assert dict(vocabulary.special_tokens) == {"<eos>": 4, "<call>": 5}
    assert vocabulary.special_token_ids == {4, 5}


def test_special_tokens_without_a_readable_name_have_none() -> None:
    vocabulary = Vocabulary.from_tokens([b"a", b"\xff", b""], eos_token_id=[1, 2])
    assert vocabulary.special_token_ids == {1, 2}
    assert dict(vocabulary.special_tokens) == {}


def test_a_shared_name_goes_to_the_smallest_id() -> None:
    vocabulary = Vocabulary.from_tokens([b"<x>", b"<x>", b"a"], eos_token_id=1, special_token_ids=[0])
    assert dict(vocabulary.special_tokens) == {"<x>": 0}


@pytest.mark.parametrize("given_ids", [[4, 2], (2, 4, 2), {2, 4}, numpy.array([4, 2]), range(2, 5, 2), iter([2, 4])])
def test_several_eos_ids(given_ids: Any) -> None:
    assert make(eos_token_id=given_ids).eos_token_ids == (2, 4)


@pytest.mark.parametrize("given_id", [4, numpy.int64(4), numpy.array(4)])
def test_one_eos_id(given_id: Any) -> None:
    assert make(eos_token_id=given_id).eos_token_ids == (4,)


def test_eos_ids_of_torch() -> None:
    torch = pytest.importorskip("torch")
    assert make(eos_token_id=torch.tensor([4, 2])).eos_token_ids == (2, 4)
    assert make(eos_token_id=torch.tensor(4)).eos_token_ids == (4,)


def test_no_eos() -> None:
    assert make(eos_token_id=None).eos_token_ids == ()
    assert make(eos_token_id=[]).eos_token_ids == ()


def test_bytes() -> None:
    vocabulary = Vocabulary.bytes()
    assert vocabulary.size == 257
    assert vocabulary.eos_token_ids == (256,)
    assert dict(vocabulary.special_tokens) == {"<eos>": 256}
    assert vocabulary.missing_bytes == b""
    assert [vocabulary.token_bytes(i) for i in range(257)] == [bytes([i]) for i in range(256)] + [b""]


@given(st.sets(st.integers(0, 255)), st.sets(st.integers(0, 255)))
@settings(max_examples=50)
def test_missing_bytes(single: set[int], special: set[int]) -> None:
    """A byte is missing unless a text token spells it alone; longer and special tokens do not count."""
    tokens = [bytes([byte]) if byte in single else bytes([byte, byte]) for byte in range(256)]
    vocabulary = Vocabulary.from_tokens(tokens, eos_token_id=None, special_token_ids=special)
    assert set(vocabulary.missing_bytes) == set(range(256)) - (single - special)
    assert list(vocabulary.missing_bytes) == sorted(vocabulary.missing_bytes)


# -- size --------------------------------------------------------------------------------------------------------------


def test_padding() -> None:
    vocabulary = make(size=64, eos_token_id=[4, 63])
    assert vocabulary.size == 64
    assert vocabulary.trie.n_words == 2
    assert vocabulary.token_bytes(40) == b""
    assert vocabulary.eos_token_ids == (4, 63)


def test_a_smaller_size_may_leave_out_special_tokens_and_gaps_only() -> None:
    """Gemma 3's text models have one logit fewer than their tokenizer has ids: the last id is a special image token."""
    tokens = [b"a", b"</s>", b"", b"<image>"]
    vocabulary = Vocabulary.from_tokens(tokens, eos_token_id=1, special_token_ids=[3], size=2)
    assert vocabulary.size == 2
    assert vocabulary.special_token_ids == {1}
    with pytest.raises(VocabularyError, match=r"size 3 excludes text token 3 \(b'<image>'\), the first of 1"):
        Vocabulary.from_tokens(tokens, eos_token_id=1, size=3)
    with pytest.raises(VocabularyError, match=r"size 1 excludes EOS token 1 .* give size=4"):
        Vocabulary.from_tokens(tokens, eos_token_id=1, special_token_ids=[3], size=1)
    with pytest.raises(VocabularyError, match="size -1 excludes"):
        Vocabulary.from_tokens(tokens, eos_token_id=1, size=-1)


@pytest.mark.parametrize("token_id", [-1, 7, 2**70])
def test_ids_outside_the_vocabulary(token_id: int) -> None:
    with pytest.raises(VocabularyError, match=f"EOS token id {token_id} is not in a vocabulary of 7 ids .*size="):
        make(eos_token_id=token_id)
    with pytest.raises(VocabularyError, match=f"special token id {token_id} is not in a vocabulary of 7 ids"):
        make(special_token_ids=[token_id])
    with pytest.raises(VocabularyError, match=f"token id {token_id} is not in this vocabulary of 7 ids"):
        make().token_bytes(token_id)


# -- misuse ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", ["</s>", b"</s>", 1.5, [1.5], [[1]], object()])
def test_ids_must_be_integers(wrong: Any) -> None:
    with pytest.raises(VocabularyError, match="eos_token_id: expected token ids, got"):
        make(eos_token_id=wrong)


def test_tokens_must_be_bytes() -> None:
    with pytest.raises(VocabularyError, match="token 1: expected bytes, got str; encode text as UTF-8"):
        make(tokens=[b"a", "b", b"", b"", b""])
    with pytest.raises(VocabularyError, match="token 1: expected bytes, got str"):
        make(tokens=[b"a", "b"], eos_token_id=1)


def test_two_names_for_one_id() -> None:
    with pytest.raises(VocabularyError, match="two names have the same id"):
        make(special_tokens={"<a>": 5, "<b>": 5})


def test_errors_can_be_caught_by_kind() -> None:
    for kind in (VocabularyError, EarleymaskError, ValueError):
        with pytest.raises(kind):
            make(eos_token_id=99)


def test_a_vocabulary_never_changes() -> None:
    vocabulary = make()
    with pytest.raises(AttributeError, match="never changes"):
        vocabulary.size = 3
    with pytest.raises(AttributeError, match="never changes"):
        del vocabulary.trie
    with pytest.raises(TypeError):
        vocabulary.special_tokens["x"] = 1  # type: ignore[index]
    before = list(TOKENS)
    make(size=100, special_token_ids=[1])
    assert before == TOKENS, "the caller's list is not ours to change"


# -- identity ----------------------------------------------------------------------------------------------------------

DIFFERENT = {
    "itself": {},
    "other bytes": {"tokens": [*TOKENS[:6], b"c"]},
    "other order": {"tokens": [b"b", b"a", *TOKENS[2:]]},
    "bytes moved between neighbours": {"tokens": [b"ab", b"", *TOKENS[2:]]},
    "one more id": {"tokens": [*TOKENS, b""]},
    "padded": {"size": 40},
    "other EOS": {"eos_token_id": 5},
    "more EOS": {"eos_token_id": [4, 5]},
    "special, not EOS": {"special_token_ids": [5]},
    "without EOS": {"eos_token_id": None},
    "EOS special only": {"eos_token_id": None, "special_token_ids": [4]},
    "other names": {"special_tokens": {"<end>": 4}},
}


def test_different_vocabularies_have_different_fingerprints() -> None:
    made = {what: make(**changes) for what, changes in DIFFERENT.items()}
    assert len({vocabulary.fingerprint for vocabulary in made.values()}) == len(DIFFERENT)
    assert len(set(made.values())) == len(DIFFERENT)
    assert make() == made["itself"] and hash(make()) == hash(made["itself"])
    assert make() != made["padded"] and make() != "a vocabulary"


def test_what_cannot_matter_does_not_change_the_fingerprint() -> None:
    plain = make(special_token_ids=[5])
    assert make(special_token_ids=[5, 4, 5]) == plain
    assert make(tokens=tuple(TOKENS), special_token_ids={5}, size=7) == plain
    assert make(eos_token_id=[4, 2]) == make(eos_token_id=[2, 4])


def test_the_fingerprint_is_the_same_in_another_process() -> None:
    code = "from earleymask.trie import Vocabulary; print(Vocabulary.bytes().fingerprint)"
    again = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert again == Vocabulary.bytes().fingerprint


@pytest.mark.parametrize("changes", DIFFERENT.values(), ids=DIFFERENT)
def test_pickling(changes: dict[str, Any]) -> None:
    vocabulary = make(**changes)
    again = pickle.loads(pickle.dumps(vocabulary))
    assert again == vocabulary
    assert again.trie.packed_nodes() == vocabulary.trie.packed_nodes()
    assert again.special_tokens == vocabulary.special_tokens
    assert again.special_token_ids == vocabulary.special_token_ids
    assert again.eos_token_ids == vocabulary.eos_token_ids
    assert again.missing_bytes == vocabulary.missing_bytes


def test_a_damaged_pickle_is_refused() -> None:
    saved = pickle.dumps(make(tokens=[*TOKENS, b"unlikely"]))
    assert saved.count(b"unlikely") == 1
    with pytest.raises(VocabularyError, match=r"pickled vocabulary: its fingerprint .* make it anew"):
        pickle.loads(saved.replace(b"unlikely", b"different"[:8]))


def test_nothing_optional_is_imported() -> None:
    """Making a vocabulary does not import torch or transformers, which take seconds."""
    code = (
        "import sys; from earleymask.trie import Vocabulary; Vocabulary.bytes()\n"
        "print([m for m in ('torch','transformers','tokenizers','tiktoken','sentencepiece','mistral_common')"
        " if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_repr_tells_what_matters() -> None:
    assert repr(make(special_token_ids=[5])).startswith("<Vocabulary of 7 ids: 4 text tokens, 2 special, EOS 4, ")
    assert "EOS none" in repr(make(eos_token_id=None))


def test_other_eos_ids() -> None:
    tokens = [b"a", b"b", b"", b"", b"c"]
    vocabulary = Vocabulary.from_tokens(tokens, eos_token_id=2, special_tokens={"<x>": 3}, encode=lambda text: [0])
    other = vocabulary.with_eos([3, 4])
    assert other.eos_token_ids == (3, 4) and other.special_token_ids == {2, 3, 4}
    assert [other.token_bytes(token_id) for token_id in range(5)] == [b"a", b"b", b"", b"", b""]
    assert other.special_tokens["<x>"] == 3 and other.encode is vocabulary.encode
    assert vocabulary.eos_token_ids == (2,) and vocabulary.token_bytes(4) == b"c"
    with pytest.raises(VocabularyError, match="5"):
        vocabulary.with_eos(5)
