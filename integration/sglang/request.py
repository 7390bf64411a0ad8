"""The grammar of a request, as SGLang's scheduler uses it.

An error in `copy`, in a mask, or in the walk over a tree of drafts would end the engine with all its requests, so these
raise nothing. A sequence that meets a limit gets a row with one token, which is refused when it has been sampled:
SGLang then ends that request with an error, and goes on with the others. That token is no EOS token: SGLang looks for
EOS before it asks the grammar, and would end the request as if its text were complete.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from sglang.srt.constrained.base_grammar_backend import BaseGrammarObject, GrammarStats
from sglang.srt.utils.common import is_pin_memory_available

from ...applying import apply_bitmask
from ...bitmask import TOKENS_PER_WORD, fill_bitmasks
from ...earley import Matcher
from ...errors import EarleymaskError, empty_mask

if TYPE_CHECKING:
    from ...trie import Vocabulary

__all__ = [
    "EarleymaskGrammar",
    "allocate_vocab_mask",
    "apply_vocab_mask",
    "find_sentinel",
    "move_vocab_mask",
    "set_token_filter",
]

N_THREADS = max(1, min(8, (os.cpu_count() or 1) // 2))
"""Threads that make the masks of a batch if that takes more than `SECONDS_ALONE`: half of the cores. The tokenizer, the
pool that loads grammars, and the schedulers of other GPUs use the rest. Eight serve some hundred new grammars."""

SECONDS_ALONE = 0.002
"""How long the thread of the scheduler makes the masks of a batch by itself, one after the other.

PERF: after a pass of the model, code and data are in no cache, and `fill_bitmasks` has more code. Without it, the row
of one sequence takes 0.9 times as long as XGrammar's; with it, it took 1.36 times. For 32 it makes no difference.
"""

MOST_CLOSED = 64
"""Places at which no mask could be made that are remembered for a request: more than a tree of drafts has."""


ENDS = "earleymask_ends"
"""The attribute of the rows of a batch that says which of them allow EOS tokens alone, and which these are. It is there
if there have been any.

It belongs to one Python object. SGLang fills the rows of a tree of drafts by another view of them, and moves them to
the device itself, so nothing is noted for speculation."""


def allocate_vocab_mask(vocab_size: int, batch_size: int, device: Any) -> torch.Tensor:
    """Return rows that allow everything, in the memory of the CPU, whatever the device is: int32, shape
    `(batch_size, ceil(vocab_size / 32))`. They are pinned if that is possible, so that a copy need not be waited for.
    """
    shape = (batch_size, -(-vocab_size // TOKENS_PER_WORD))
    if is_pinned():
        rows = torch.empty(shape, dtype=torch.int32, pin_memory=True)
        rows.numpy().fill(-1)  # torch would wake threads to share the work, which takes longer than the work
        return rows
    return torch.from_numpy(np.full(shape, -1, np.int32))


@cache
def is_pinned() -> bool:
    """Return whether memory for a device can be pinned."""
    return bool(is_pin_memory_available())


def move_vocab_mask(vocab_mask: torch.Tensor, device: Any) -> torch.Tensor:
    """Return the rows on a device. The copy may still be running."""
    moved = vocab_mask.to(device, non_blocking=True)
    if hasattr(vocab_mask, ENDS):
        setattr(moved, ENDS, getattr(vocab_mask, ENDS))
    return moved


def apply_vocab_mask(logits: torch.Tensor, vocab_mask: torch.Tensor) -> None:
    """Set the scores of all tokens that the rows do not allow to -inf, in place.

    `min_new_tokens` of a request has set those of EOS to -inf before. Where a row allows EOS alone, no token would be
    left, and sampling would end the engine: there EOS gets a score again. `logits`: shape `(batch_size, vocab_size)`.
    """
    apply_bitmask(logits, vocab_mask)
    width = logits.shape[-1]
    rows_by_ids: dict[tuple[int, ...], list[int]] = {}
    for row, ids in getattr(vocab_mask, ENDS, {}).items():
        rows_by_ids.setdefault(tuple([token for token in ids if token < width]), []).append(row)
    for ids, rows in rows_by_ids.items():
        if not ids:
            continue
        place = _on_device(rows, logits.device)[:, None], _on_device(ids, logits.device)
        scores = logits[place]
        logits[place] = scores.masked_fill(torch.isneginf(scores).all(dim=1, keepdim=True), 0.0)


def _on_device(indices: Sequence[int], device: torch.device) -> torch.Tensor:
    """Return indices on a device. The copy may still be running: nothing waits for the device."""
    if device.type == "cpu":
        return torch.tensor(indices)
    return torch.tensor(indices, pin_memory=is_pinned()).to(device, non_blocking=True)


def set_token_filter(
    vocab_mask: torch.Tensor,
    token_ids: Sequence[int],
    batch_idx: int,
    is_allowed: bool = True,
    reset_vocab_mask: bool = True,
) -> None:
    """Allow or refuse some tokens in a row, which is in the memory of the CPU. If it is reset, only these are allowed,
    or only these refused."""
    if is_allowed or reset_vocab_mask:
        getattr(vocab_mask, ENDS, {}).pop(batch_idx, None)
    row = vocab_mask.numpy().view(np.uint32)[batch_idx]
    if reset_vocab_mask:
        row[:] = 0 if is_allowed else 0xFFFF_FFFF
    for token_id in token_ids:
        bit = np.uint32(1 << token_id % TOKENS_PER_WORD)
        if is_allowed:
            row[token_id // TOKENS_PER_WORD] |= bit
        else:
            row[token_id // TOKENS_PER_WORD] &= ~bit


def find_sentinel(vocabulary: Vocabulary) -> int:
    """Return the token that a sequence gets alone where no mask can be made: the first one with a text.

    It must be a token of text: those end no sequence, unless a request has one among its own stop tokens or strings. If
    several GPUs share a model, SGLang takes the lowest of the ids that their samplers have chosen. So it should be low:
    then all of them get it, and refuse it unless their masks allow it.
    """
    return next(token_id for token_id in range(vocabulary.size) if vocabulary.token_bytes(token_id))


class EarleymaskGrammar(BaseGrammarObject):
    """The matcher of a request. SGLang makes those of further requests with the same constraint by `copy`.

    sentinel: the token that is allowed alone, and refused, where no mask can be made.
    """

    def __init__(self, matcher: Matcher, sentinel: int, stats: GrammarStats) -> None:
        super().__init__()
        self.grammar_stats = stats
        self._matcher = matcher
        self._sentinel = sentinel
        self._failure: Exception | None = None  # what happened where no error may be raised
        self._closed: dict[tuple[int, ...], Exception] = {}  # why no mask could be made after some tokens
        self._n_refused = 0  # tokens of a draft that are refused, and about to be taken back
        self._may_be_empty = bool(matcher.vocabulary.missing_bytes)
        self._ends: dict[int, int] = {}  # the bits of EOS tokens in the words of a row that have some
        for token in matcher.eos_token_ids:
            word, bit = divmod(token, TOKENS_PER_WORD)
            self._ends[word] = self._ends.get(word, 0) | 1 << bit

    # -- tokens --------------------------------------------------------------------------------------------------------

    def accept_token(self, token: int) -> None:
        """Append a token. Raise ValueError if it is not allowed, or if an error has ended the sequence; SGLang then
        ends the request. Once EOS has been accepted, further tokens are ignored."""
        if self.is_terminated():
            return
        self.current_token = token
        matcher = self._matcher
        reason: object = self._failure
        if self._closed and token == self._sentinel and reason is None:
            # A walk over drafts takes its tokens back, and the matcher forgets what has failed after them.
            reason = self._closed.get(tuple(matcher.tokens))
        if reason is None and not self._n_refused:
            try:
                if matcher.accept(token):
                    return
                reason = matcher.error or f"not allowed after {matcher.n_tokens} tokens"
            except Exception as error:  # SGLang catches a ValueError alone
                reason = error
        if not _walks_a_tree():
            raise ValueError(f"token {token}: {reason}")
        self._n_refused += 1

    def rollback(self, k: int) -> None:
        """Take back the last `k` tokens, EOS included."""
        n_refused = min(k, self._n_refused)
        self._n_refused -= n_refused
        if k == n_refused or self._failure is not None:
            return
        matcher = self._matcher
        try:
            matcher.rollback(k - n_refused)
        except Exception as error:
            # The matcher has tokens that the sequence does not have, so the sequence must end here.
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        self._failure = error
        self._matcher = Matcher.only_eos(self._matcher.vocabulary, self._matcher.eos_token_ids)

    def is_terminated(self) -> bool:
        """Return whether EOS has been accepted. SGLang then asks for no row, and leaves the sequence free."""
        return self._matcher.is_finished() and self._matcher.error is None

    def copy(self) -> EarleymaskGrammar:
        """Return the grammar of another request, at the same place.

        Matchers that are forks of one another share their memory and its limit, but requests must not.
        """
        stats = replace(self.grammar_stats, is_cache_hit=True, tree_traversal_time=[])
        matcher = self._matcher
        try:
            if matcher.n_tokens:
                return EarleymaskGrammar(matcher.fork(), self._sentinel, stats)
            matcher = Matcher(matcher.grammar, matcher.vocabulary, matcher.eos_token_ids)
            return EarleymaskGrammar(matcher, self._sentinel, stats)
        except Exception as error:
            found = EarleymaskGrammar(matcher, self._sentinel, stats)
            found._fail(error)
            return found

    def try_jump_forward(self, tokenizer: Any) -> None:
        """Return None. This version of SGLang has the method, and nothing that calls it."""

    # -- masks ---------------------------------------------------------------------------------------------------------

    def allocate_vocab_mask(self, vocab_size: int, batch_size: int, device: Any) -> torch.Tensor:
        return allocate_vocab_mask(vocab_size, batch_size, device)

    def fill_vocab_mask(self, vocab_mask: torch.Tensor, idx: int) -> None:
        row = vocab_mask.numpy()[idx]
        self._matcher.fill_bitmask(row, on_error="end")
        self._close(row)
        _note_ends(vocab_mask, {idx: self._only_ends(row)})

    def _only_ends(self, row: Any) -> tuple[int, ...]:
        """Return the EOS tokens of a row that allows nothing else; none if it does."""
        for at, ends in self._ends.items():  # PERF: most rows do not allow EOS, so this is asked first
            if row.item(at) & ends:
                break
        else:
            return ()
        words = row.view(np.uint32)
        found = {at: int(words[at]) for at in self._ends if words[at]}
        if any([bits & ~self._ends[at] for at, bits in found.items()]):
            return ()
        if np.count_nonzero(words) > len(found):
            return ()
        ids = self._matcher.eos_token_ids
        return tuple([one for one in ids if found.get(one // TOKENS_PER_WORD, 0) >> one % TOKENS_PER_WORD & 1])

    def _close(self, row: Any) -> None:
        """Leave one token in a row of numpy if an error has ended the sequence, or the row is empty."""
        error = self._failure or self._matcher.error
        if error is None and self._may_be_empty and not row.any():
            error = _empty(self._matcher)
        if error is None:
            if self._closed:  # the mask has been made now
                self._closed.pop(tuple(self._matcher.tokens), None)
            return
        if len(self._closed) == MOST_CLOSED:
            self._closed.pop(next(iter(self._closed)))
        self._closed[tuple(self._matcher.tokens)] = error
        row[:] = 0
        row.view(np.uint32)[self._sentinel // TOKENS_PER_WORD] = 1 << self._sentinel % TOKENS_PER_WORD

    @staticmethod
    def fill_vocab_mask_batched(entries: Sequence[Any], vocab_mask: torch.Tensor) -> None:
        """Fill the rows of some grammars. The other rows stay as they are."""
        rows = vocab_mask.numpy()
        ours = [entry for entry in entries if type(entry.grammar) is EarleymaskGrammar]
        ends: dict[int, tuple[int, ...]] = {}
        is_alone, end = True, time.perf_counter() + SECONDS_ALONE
        for n, entry in enumerate(ours):
            grammar, row = entry.grammar, rows[entry.row]
            if is_alone and n and time.perf_counter() > end:
                is_alone = False
                _fill_together(ours[n:], rows)
            if is_alone:
                grammar._matcher.fill_bitmask(row, on_error="end")
            grammar._close(row)
            ends[entry.row] = grammar._only_ends(row)
        _note_ends(vocab_mask, ends)
        if len(ours) < len(entries):  # some are in SGLang's wrapper for reasoning
            for entry in entries:
                if type(entry.grammar) is not EarleymaskGrammar:
                    entry.grammar.fill_vocab_mask(vocab_mask, entry.row)

    @staticmethod
    def reset_vocab_mask(vocab_mask: torch.Tensor) -> None:
        vocab_mask.fill_(-1)
        if hasattr(vocab_mask, ENDS):
            delattr(vocab_mask, ENDS)

    @staticmethod
    def move_vocab_mask(vocab_mask: torch.Tensor, device: Any) -> torch.Tensor:
        return move_vocab_mask(vocab_mask, device)

    @staticmethod
    def apply_vocab_mask(logits: torch.Tensor, vocab_mask: torch.Tensor) -> None:
        apply_vocab_mask(logits, vocab_mask)


def _fill_together(entries: Sequence[Any], rows: npt.NDArray[np.int32]) -> None:
    """Fill the rows of some grammars in several threads, if that is worth it."""
    matchers = [entry.grammar._matcher for entry in entries]
    places = [entry.row for entry in entries]
    fill_bitmasks(matchers, rows, indices=places, threads=N_THREADS, on_error="end")


def _note_ends(vocab_mask: torch.Tensor, found: dict[int, tuple[int, ...]]) -> None:
    """Note which rows of a mask allow EOS tokens alone. `found`: for each filled row, these tokens, or none."""
    noted = {row: ids for row, ids in found.items() if ids}
    known = getattr(vocab_mask, ENDS, None)
    if known is not None:
        noted = {**{row: ids for row, ids in known.items() if row not in found}, **noted}
    if noted or known:
        setattr(vocab_mask, ENDS, noted)


def _empty(matcher: Matcher) -> Exception:
    """Return the error of an empty mask."""
    try:
        return empty_mask(matcher, f"after {matcher.n_tokens} tokens")
    except EarleymaskError as error:  # what is missing could not be found out
        return error


def _walks_a_tree() -> bool:
    """Return whether SGLang is walking over a tree of drafts: the one place in which it does not catch a ValueError.

    It descends to a token that was drafted if the row before allows that, also if that is the one token that a row has
    because of an error. The token is taken back at once. This is only asked when a token is refused.
    """
    module = sys.modules.get("sglang.srt.speculative.spec_utils")
    if module is None:
        return False
    walk = module.traverse_tree.__code__
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code is walk:
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False
