"""Sums and means of rows by group, such as the nodes of a graph, that are right in half precision too."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.utils import scatter


def sum_by_group(values: Tensor, group: Tensor, num_groups: int, dim: int = 0) -> Tensor:
    """Sums values by group.

    In bfloat16, 256 + 1 is 256: a sum of many numbers has to be made in float32, as under ``torch.autocast``.

    Args:
        values: ``[..., R, ...]``.
        group: ``[R]`` the group of each row.
        num_groups: Number of groups, G.
        dim: The dimension of rows.

    Returns:
        ``[..., G, ...]`` in the dtype of the values.
    """
    wide = values.to(torch.promote_types(values.dtype, torch.float32))
    return scatter(wide, group, dim=dim, dim_size=num_groups).to(values.dtype)


def mean_by_group(values: Tensor, group: Tensor, num_groups: int) -> Tensor:
    """Averages the rows ``[R, c]`` of each group, ``[G, c]``; 0 for one without rows. In half precision as above."""
    count = torch.bincount(group, minlength=num_groups).clamp(min=1)
    wide = values.to(torch.promote_types(values.dtype, torch.float32))
    total = scatter(wide, group, dim_size=num_groups)
    return (total / count[:, None]).to(values.dtype)
