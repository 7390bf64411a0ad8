"""Stands in the place of SGLang's kernels for CPUs, which no wheel has: what speculation with n-grams calls, in Python.

All arguments are tensors on the CPU; those that are called "out" are written.
"""

from __future__ import annotations

import torch

from . import speculative as speculative  # SGLang imports a function from it

Tensor = torch.Tensor


def verify_tree_greedy_cpu(
    *,
    predicts: Tensor,
    accept_index: Tensor,
    accept_token_num: Tensor,
    candidates: Tensor,
    retrive_index: Tensor,
    retrive_next_token: Tensor,
    retrive_next_sibling: Tensor,
    target_predict: Tensor,
) -> None:
    """Go down each tree as long as a child is the token that the model predicts at its parent.

    Writes `predicts` (by node of all trees), `accept_index` (the nodes, the root first) and `accept_token_num` (how
    many below the root).
    """
    targets = target_predict.flatten().tolist()
    for row, tokens in enumerate(candidates.tolist()):
        numbers, children, siblings = (
            tensor[row].tolist() for tensor in (retrive_index, retrive_next_token, retrive_next_sibling)
        )
        place, n_accepted = 0, 0
        accept_index[row, 0] = numbers[0]
        while n_accepted + 1 < accept_index.shape[1]:
            child = children[place]
            while child != -1 and tokens[child] != targets[numbers[place]]:
                child = siblings[child]
            if child == -1:
                break
            predicts[numbers[place]] = targets[numbers[place]]
            n_accepted += 1
            accept_index[row, n_accepted] = numbers[child]
            place = child
        accept_token_num[row] = n_accepted
        predicts[numbers[place]] = targets[numbers[place]]


def assign_extend_cache_locs_cpu(
    rows: Tensor, table: Tensor, starts: Tensor, ends: Tensor, out: Tensor, _: int
) -> None:
    """Write the places in the cache of some positions of each request, one request after the other."""
    parts = [
        table[row, start:end] for row, start, end in zip(rows.tolist(), starts.tolist(), ends.tolist(), strict=True)
    ]
    places = torch.cat(parts)
    out[: len(places)] = places


def fill_bonus_tokens_cpu(tokens: Tensor, lengths: Tensor, out: Tensor, stride: int) -> None:
    """Write the last accepted token of each request."""
    last = torch.arange(len(lengths)) * stride + lengths - 1
    out.copy_(tokens.flatten()[last])


def fill_accept_out_cache_loc_cpu(accept_index: Tensor, places: Tensor, out: Tensor) -> None:
    """Write the places in the cache of accepted nodes."""
    nodes = accept_index.flatten()
    found = places[nodes[nodes >= 0]]
    out[: len(found)] = found


def _not_called(*_: object) -> None:
    raise NotImplementedError("speculation with n-grams does not call this")


assign_draft_cache_locs_contiguous_cpu = build_tree_kernel_efficient_cpu = rotate_input_ids_cpu = _not_called
