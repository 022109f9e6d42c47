"""Attention of each row to some others, given as a list: softmax over the entries of a row, and weighted sums."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from torch_geometric.utils import softmax

from graphpe.checks import require_choice
from graphpe.nn.sums import sum_by_group

SoftmaxKind = Literal["clamp", "max"]

# exp of a logit in this range neither overflows nor vanishes, so no maximum has to be subtracted before.
_LARGEST_LOGIT = 5.0


def check_softmax(kind: str) -> None:
    """Refuses a name that is no kind of softmax."""
    require_choice("softmax", kind, ("clamp", "max"))


def softmax_by_group(
    logits: Tensor, group: Tensor, num_groups: int, kind: SoftmaxKind = "clamp"
) -> Tensor:
    r"""Computes the weights :math:`a_e = \exp(l_e) / \sum_{e' \text{ of the group of } e} \exp(l_{e'})`.

    Args:
        logits: ``[E, heads]``.
        group: ``[E]`` the row that an entry belongs to: the node that attends.
        num_groups: Number of groups; one without entries has no weights.
        kind: ``"clamp"``: logits are clamped to ±5 before, as in the published graph transformers, so that a weight
            is at most exp(10) times another. ``"max"``: logits are taken as they are, and the largest of a group is
            subtracted before exp, so that logits of any size are safe.

    Returns:
        ``[E, heads]``.
    """
    # In half precision, logits of 10⁴ are 64 apart and sums of many weights stand still.
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    if kind == "max":
        weights = softmax(wide, group, num_nodes=num_groups)
    else:
        weights = wide.clamp(-_LARGEST_LOGIT, _LARGEST_LOGIT).exp()
        total = sum_by_group(weights, group, num_groups)
        weights = weights / total.index_select(0, group)
    return weights.to(logits.dtype)


def weighted_sum(weights: Tensor, values: Tensor, group: Tensor, num_groups: int) -> Tensor:
    """Sums the values of each group, each times its weight; a group without values gets 0.

    Args:
        weights: ``[E, heads]``.
        values: ``[E, channels]``, head after head.
        group: ``[E]`` the row that an entry belongs to.
        num_groups: Number of groups, G.

    Returns:
        ``[G, channels]``.
    """
    # Of equal shapes: on a CPU, a product that broadcasts over the channels of a head takes several times as long.
    width = values.size(1) // weights.size(1)
    weights = weights[..., None].expand(-1, -1, width).flatten(1)
    return sum_by_group(values * weights, group, num_groups)
