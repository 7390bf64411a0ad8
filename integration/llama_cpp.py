"""Generation under a grammar with llama.cpp, through llama-cpp-python.

    vocabulary = llama_vocabulary(llm)
    with GrammarProcessor(llm, grammar, vocabulary) as processor:
        answer = llm(prompt, max_tokens=100, logits_processor=[processor])

llama.cpp calls logits processors from C. An exception there is printed and lost, and sampling would go on without a
constraint. So the processor keeps what goes wrong, allows nothing but the end of generation, and the `with` statement
raises it at its end. It raises, too, if the processor was not called at all: some arguments make the package drop
processors.
"""

from __future__ import annotations

import ctypes
from types import TracebackType
from typing import TYPE_CHECKING

import llama_cpp
import numpy as np
import numpy.typing as npt

from ..applying import apply_bitmask
from ..errors import VocabularyError, excluded_mask
from ..trie import Vocabulary
from .following import Follower

if TYPE_CHECKING:
    from ..arguments import GrammarLike

__all__ = ["GrammarProcessor", "llama_vocabulary"]

READABLE = (llama_cpp.LLAMA_VOCAB_TYPE_SPM, llama_cpp.LLAMA_VOCAB_TYPE_BPE, llama_cpp.LLAMA_VOCAB_TYPE_UGM,
            llama_cpp.LLAMA_VOCAB_TYPE_RWKV, llama_cpp.LLAMA_VOCAB_TYPE_PLAMO2)  # fmt: skip
"""The types of vocabularies in which a token has the same bytes wherever it stands."""
SPECIAL = llama_cpp.LLAMA_TOKEN_ATTR_CONTROL | llama_cpp.LLAMA_TOKEN_ATTR_UNKNOWN
NO_TEXT = llama_cpp.LLAMA_TOKEN_ATTR_UNUSED


def llama_vocabulary(llm: llama_cpp.Llama) -> Vocabulary:
    """Read the vocabulary of a model; `Llama(path, vocab_only=True)` is enough.

    Control tokens and the unknown token are special, and have their texts as names. User-defined tokens are text. Those
    that end the generation for llama.cpp (EOS, EOT and others) are the end-of-sequence ids.

    Raises:
        VocabularyError: the bytes of a token depend on the tokens around it, as in BERT's vocabularies.
    """
    vocabulary = llama_cpp.llama_model_get_vocab(llm.model)
    kind = llama_cpp.llama_vocab_type(vocabulary)
    if kind not in READABLE:
        raise VocabularyError(f"llama.cpp's vocabularies of type {kind} have no bytes of a token that hold everywhere")
    tokens: list[bytes] = []
    special: dict[int, str] = {}
    ends: list[int] = []
    for token_id in range(llama_cpp.llama_vocab_n_tokens(vocabulary)):
        attributes = llama_cpp.llama_vocab_get_attr(vocabulary, token_id)
        is_end = llama_cpp.llama_vocab_is_eog(vocabulary, token_id)
        if is_end:
            ends.append(token_id)
        if is_end or attributes & SPECIAL:
            special[token_id] = llama_cpp.llama_vocab_get_text(vocabulary, token_id).decode("utf-8", "replace")
        tokens.append(b"" if token_id in special or attributes & NO_TEXT else _piece(vocabulary, token_id))
    # Of several tokens with the same text, a grammar can name the first.
    names = {text: token_id for token_id, text in reversed(special.items())}
    return Vocabulary.from_tokens(tokens, eos_token_id=ends, special_token_ids=list(special), special_tokens=names)


def _piece(vocabulary: llama_cpp.llama_vocab_p, token_id: int) -> bytes:
    """Return the bytes of a token of text."""
    size = 64
    while True:
        buffer = ctypes.create_string_buffer(size)
        n = llama_cpp.llama_token_to_piece(vocabulary, token_id, buffer, size, 0, False)
        if n >= 0:
            return buffer.raw[:n]
        size = -n


class GrammarProcessor:
    """A logits processor for one request, used in a `with` statement around it.

    Args:
        llm: the model, without a `draft_model`: with one, the ids hold drafts, and the place of a draft is not told.
        grammar: a `Grammar`, or what `Constraint` makes one of.
        vocabulary: what `llama_vocabulary` returns; reading it takes a while, so keep it.
        max_tokens: the number that the request is given, too. Then the text is a whole sentence within so many tokens
            (docs/serving.md, "Budgets"). None: it may be cut.

    Raises, at the end of the `with` statement:
        RejectedTokenError, EmptyMaskError, LimitError, BudgetError: what has ended the text before its time; also
            KeyboardInterrupt, if it came while the processor ran.
        RuntimeError: the processor has not been called, so the text has no constraint.
    """

    def __init__(
        self, llm: llama_cpp.Llama, grammar: GrammarLike, vocabulary: Vocabulary, *, max_tokens: int | None = None
    ) -> None:
        if llm.draft_model is not None:
            raise ValueError("a Llama with a draft_model gives processors ids that it may take back; make it without")
        self._follower = Follower(grammar, vocabulary, max_tokens=max_tokens)
        self._is_open = False

    @property
    def error(self) -> BaseException | None:
        """What has ended the text before its time; None if nothing has."""
        return self._follower.error

    def __enter__(self) -> GrammarProcessor:
        if self._follower.n_calls or self.error is not None:
            raise ValueError("a GrammarProcessor serves one request; make another one for the next")
        self._is_open = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._is_open = False
        if error is not None:
            return
        if self.error is not None:
            raise self.error
        if not self._follower.n_calls:
            raise RuntimeError(
                "llama-cpp-python has not called the processor, so the text has no constraint; it drops processors if "
                "logit_bias is given, for example"
            )

    def __call__(self, input_ids: npt.NDArray[np.intc], scores: npt.NDArray[np.single]) -> npt.NDArray[np.single]:
        """Return a copy of the scores with -inf for all tokens that the grammar does not allow."""
        masked = np.array(scores, np.single)
        try:
            if not self._is_open and self.error is None:
                self._follower.end(RuntimeError("a GrammarProcessor must be used within its `with` statement"))
            apply_bitmask(masked, self._follower.row_or_end(np.asarray(input_ids)))
            if self.error is None and np.isneginf(masked.max()):
                self._follower.end(excluded_mask(f"after {self._follower.matcher.n_tokens} tokens"), here=True)
        except BaseException as error:  # C would drop a KeyboardInterrupt, too
            self._follower.end(error)
        if self.error is not None:
            masked[:] = -np.inf
            masked[list(self._follower.vocabulary.eos_token_ids)] = 0.0
        return masked
