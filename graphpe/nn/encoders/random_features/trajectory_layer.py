"""Layers on several trajectories of random features, whose order has no meaning."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.utils import scatter

from graphpe.nn.blocks import Normalization, mlp
from graphpe.nn.rows import apply_to_rows


class TrajectoryLayer(nn.Module):
    r"""A GIN layer on each trajectory that also sees their mean (DSS).

    .. math::
        A_{bv} = (1 + \epsilon) H_{bv} + \sum_{u \to v} H_{bu}, \qquad
        H_{bv} \leftarrow \mathrm{MLP}_1(A_{bv}) + \mathrm{MLP}_2\Big( \frac1B \sum_{b'} A_{b'v} \Big)

    Equivariant to permutations of the trajectories. Of a single trajectory there is no second term.

    Args:
        channels: Width of a node.
        trajectories: Number of trajectories B.
        norm: Normalisation in the perceptrons, which have two linear layers.

    Paper: Maron et al., "On Learning Sets of Symmetric Elements", https://arxiv.org/abs/2002.08599.
    """

    def __init__(self, channels: int, trajectories: int, norm: Normalization) -> None:
        super().__init__()
        self.epsilon = nn.Parameter(torch.zeros(1))
        self.each = mlp([channels] * 3, norm)
        self.mean = mlp([channels] * 3, norm) if trajectories > 1 else None
        self.mixes_rows_in_training = norm == "batch"

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Updates ``[N, samples, B, channels]``."""
        source, target = edge_index
        neighbors = scatter(x[source], target, dim=0, dim_size=x.size(0))
        gathered = (1 + self.epsilon) * x + neighbors
        updated = self._map(self.each, gathered)
        if self.mean is not None:
            updated = updated + self._map(self.mean, gathered.mean(2, keepdim=True))
        return updated

    def _map(self, network: nn.Module, x: Tensor) -> Tensor:
        rows = x.flatten(0, 2)
        mixes_rows = self.training and self.mixes_rows_in_training
        return apply_to_rows(network, rows, mixes_rows).unflatten(0, x.shape[:3])
