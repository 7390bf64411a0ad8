"""Masks along tokens that a small model has drafted, for the large one that verifies them all in one pass.

A draft is a chain of tokens, or a tree: several continuations of one place. The large model scores all of its nodes at
once, so it needs the mask before the first token and after each of them.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np

from .bitmask import TOKENS_PER_WORD, OnError, as_words, check_writable
from .earley import Matcher
from .earley.errors import ends_sequence

if TYPE_CHECKING:
    import numpy.typing as npt
    import torch


def fill_draft_bitmasks(
    matcher: Matcher,
    draft_tokens: Sequence[SupportsIndex],
    rows: npt.NDArray[np.int32] | torch.Tensor,
    *,
    parents: Sequence[int] | None = None,
    on_error: OnError = "raise",
) -> npt.NDArray[np.bool_]:
    """Fill row 0 with the matcher's mask, and row `i + 1` with the mask after draft token `i`. The matcher stays where
    it is.

    Return for each draft token whether the grammar allows it, together with all tokens before it: bool, shape
    `(len(draft_tokens),)`. Behind a token that is not allowed, rows have all bits set, since whatever is scored there
    is discarded.

    Args:
        matcher: the sequence up to the draft.
        draft_tokens: ids; for a tree, of all nodes, in any order in which a parent comes before its children.
        rows: int32, numpy or torch on the CPU, of shape `(len(draft_tokens) + 1, n_words)` or taller, as for
            `fill_bitmasks`; further rows stay as they are.
        parents: for each token, the index of the token before it, or -1 for the matcher's place. None: a chain,
            `[-1, 0, 1, ...]`.
        on_error: "raise", or "end": where no mask can be made, the row holds the EOS tokens alone, and neither the
            token before it nor any behind it counts as allowed. If that is the matcher's own place, its sequence ends,
            see `Matcher.error`.

    Raises:
        TypeError, ValueError: `rows` are of another kind or too small, `parents` are not earlier tokens, or `on_error`
            is not one of the two. Nothing has been written then.
        LimitError: a mask takes too much time or memory. The rows behind the draft's tokens are all zero then, as after
            any error that is raised later than those above; the matcher is as it was.
        MatcherCancelledError: another thread has called `matcher.cancel()`, with `on_error="end"`, too.
    """
    tokens = [operator.index(token) for token in draft_tokens]
    before = list(range(-1, len(tokens) - 1)) if parents is None else _checked(parents, len(tokens))
    words = as_words(rows)
    if words.ndim != 2 or len(words) <= len(tokens):
        raise ValueError(f"rows must have shape ({len(tokens) + 1}, n_words), got {words.shape}")
    check_writable(words, matcher.vocabulary)
    if on_error == "raise":  # a subclass may have a `fill_bitmask` of its own, without options
        matcher.fill_bitmask(words[0])
    else:
        matcher.fill_bitmask(words[0], on_error=on_error)
    try:
        with matcher._cancellable():
            return _filled_behind(matcher, tokens, before, words, ends=on_error == "end")
    except BaseException:
        words[1 : len(tokens) + 1] = 0
        raise


def _filled_behind(
    matcher: Matcher, tokens: list[int], before: list[int], words: npt.NDArray[np.int32], *, ends: bool
) -> npt.NDArray[np.bool_]:
    """Fill the rows behind the draft's tokens; return which of these are allowed."""
    allowed: npt.NDArray[np.bool_] = np.zeros(len(tokens), np.bool_)
    words[1 : len(tokens) + 1] = -1
    children: list[list[int]] = [[] for _ in range(len(tokens) + 1)]
    for node, parent in enumerate(before):
        children[parent + 1].append(node)
    # Depth first. The last child of a place takes its matcher, each other one a fork.
    agenda: list[tuple[int, bool, Matcher]] = _steps(children[0], matcher.fork())
    while agenda:
        node, is_last, above = agenda.pop()
        place = above if is_last else above.fork()
        try:
            if place.accept(tokens[node]):
                place.fill_bitmask(words[node + 1])
                allowed[node] = True
                agenda += _steps(children[node + 1], place)
        except Exception as error:
            if not ends or not ends_sequence(error):
                raise
            words[node + 1] = _end(matcher, words.shape[1])
    return allowed


def _steps(children: list[int], place: Matcher) -> list[tuple[int, bool, Matcher]]:
    """Return the steps to the children of a place, the first one at the end, with whether it is the last one."""
    return [(child, child == children[-1], place) for child in reversed(children)]


def _end(matcher: Matcher, n_words: int) -> npt.NDArray[np.int32]:
    """Return a row with the EOS tokens alone."""
    row = np.zeros(n_words, np.uint32)
    for token_id in matcher.eos_token_ids:
        row[token_id // TOKENS_PER_WORD] |= np.uint32(1 << token_id % TOKENS_PER_WORD)
    return row.view(np.int32)


def _checked(parents: Sequence[int], n: int) -> list[int]:
    """Return the parents of n tokens. Raise ValueError if one does not come before its child."""
    before = [operator.index(parent) for parent in parents]
    if len(before) != n:
        raise ValueError(f"there are {len(before)} parents for {n} draft tokens; give one for each")
    for node, parent in enumerate(before):
        if not -1 <= parent < node:
            raise ValueError(f"parents[{node}] is {parent}; it must be -1 or an earlier token, so at most {node - 1}")
    return before
