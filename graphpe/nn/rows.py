"""Networks on the rows of a matrix, in blocks that stay in a CPU's cache; and some of the rows."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

# So many rows at a time stay in a CPU's cache from one layer of a perceptron to the next.
_ROWS_IN_CACHE = 4096

# From rows ``[R, c]`` to ``[R, d]``.
RowNetwork = Callable[[Tensor], Tensor]


def take_rows(values: Tensor, rows: Tensor | None) -> Tensor:
    """Takes some rows, or all of them for None."""
    return values if rows is None else values.index_select(0, rows)


def apply_to_rows(network: RowNetwork, x: Tensor, mixes_rows: bool) -> Tensor:
    """Applies a network to the rows of ``[P, c]``: on a CPU in blocks, which takes two thirds of the time.

    Args:
        network: The network, ``[R, c]`` to ``[R, d]``.
        x: ``[P, c]``.
        mixes_rows: Whether a row of the output depends on other rows, so that there must be one block.
    """
    if mixes_rows or x.device.type != "cpu":
        return network(x)
    return torch.cat([network(rows) for rows in x.split(_ROWS_IN_CACHE)])
