"""Trees of drafts from their masks."""

from __future__ import annotations

import torch

Tensor = torch.Tensor


def reconstruct_indices_from_tree_mask(
    tree_mask: Tensor,
    lengths: Tensor,
    positions: Tensor,
    numbers: Tensor,
    children: Tensor,
    siblings: Tensor,
    batch_size: int,
    n_nodes: int,
) -> None:
    """Write the position, the number, the first child and the next sibling of each node; -1 for none.

    `tree_mask`: bool, for each request and node the nodes above it and itself.
    """
    masks = tree_mask.reshape(batch_size, n_nodes, n_nodes)
    children.fill_(-1)
    siblings.fill_(-1)
    for row in range(batch_size):
        for node in range(n_nodes - 1, -1, -1):
            above = masks[row, node, :node].nonzero().flatten().tolist()
            positions[row * n_nodes + node] = int(lengths[row]) + len(above)
            numbers[row, node] = row * n_nodes + node
            if above:
                siblings[row, node] = children[row, above[-1]]
                children[row, above[-1]] = node
