"""Stands in the place of SGLang's kernels for CPUs, which the environment lacks: what n-grams call, in Python.

All arguments are tensors on the CPU; those that are called "out" are written.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

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


def assign_req_to_token_pool_cpu(
    rows: Tensor, table: Tensor, starts: Tensor, ends: Tensor, places: Tensor, _: int
) -> None:
    """Write places in the cache into the table, for some positions of each request, one request after the other."""
    begin = 0
    for row, start, end in zip(rows.tolist(), starts.tolist(), ends.tolist(), strict=True):
        table[row, start:end] = places[begin : begin + end - start]
        begin += end - start


def fill_bonus_tokens_cpu(tokens: Tensor, lengths: Tensor, out: Tensor, stride: int) -> None:
    """Write the last accepted token of each request."""
    last = torch.arange(len(lengths)) * stride + lengths - 1
    out.copy_(tokens.flatten()[last])


def fill_accept_out_cache_loc_cpu(accept_index: Tensor, places: Tensor, out: Tensor) -> None:
    """Write the places in the cache of accepted nodes."""
    nodes = accept_index.flatten()
    found = places[nodes[nodes >= 0]]
    out[: len(found)] = found


def copy_all_layer_kv_cache_cpu(*_: object) -> None:
    """Do nothing: the model of the tests has no layers, so nothing reads the cache."""


def __getattr__(name: str) -> Callable[..., None]:
    """Return a function in the place of a kernel that is imported, and must not be called."""
    if name.startswith("__"):
        raise AttributeError(name)

    def not_called(*_: object, **__: object) -> None:
        raise NotImplementedError(f"sgl_kernel.{name}")

    return not_called
