"""Learned operators by which features spread: attention along the edges of a batch."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.utils import scatter

from graphpe.nn.encoders.base import uniform_like_linear
from graphpe.nn.encoders.random_features.operators import SparseMatrix, edge_weights
from graphpe.nn.layout import GraphLayout


class AttentionOperators(nn.Module):
    r"""Operators S that depend on the features that they spread, one per head.

    .. math::
        (S^h R)_v = \sum_{u} \alpha^h_{vu} R_u, \qquad
        \alpha^h_{vu} = \frac{w_{uv} \exp s^h_{vu}}{\sum_{u'} w_{u'v} \exp s^h_{vu'}}, \qquad
        s^h_{vu} = \frac{(Q^h z_v) \cdot (K^h z_u)}{\sqrt{k}} + [u = v]\, b^h

    The sums are over the edges u → v and a loop v → v of weight 1 that each node gets in addition; w is the weight of
    an edge. :math:`z_v = [r_v, \log(1 + d_v), 1]` has the features of v, scaled to entries of size about 1, and the
    summed weight d of the edges into v. Rows of S sum to 1. The first scores are random, those of later steps see what
    the features have gathered.

    Args:
        channels: Number of features k; also the width of queries and keys.
        heads: Number of operators.
    """

    def __init__(self, channels: int, heads: int) -> None:
        super().__init__()
        self.query = uniform_like_linear(heads, channels + 2, channels, fan_in=channels + 2)
        self.key = uniform_like_linear(heads, channels + 2, channels, fan_in=channels + 2)
        self.loop_score = nn.Parameter(torch.zeros(heads))

    def entries(self, data: Data, layout: GraphLayout, dtype: torch.dtype) -> SparseMatrix:
        """Lists where the operators have entries, with the weights of the edges as values.

        Args:
            data: The batch.
            layout: Where its graphs lie.
            dtype: Of the weights.
        """
        source, target = data.edge_index
        weight = edge_weights(data, dtype)
        node = torch.arange(layout.num_nodes, device=source.device)
        return SparseMatrix(
            torch.cat([target, node]),
            torch.cat([source, node]),
            torch.cat([weight, weight.new_ones(len(node))]),
        )

    def forward(self, x: Tensor, scale: Tensor, entries: SparseMatrix) -> Tensor:
        """Applies each operator to its own features.

        Args:
            x: ``[N, t, heads, k]`` features R of t trajectories.
            scale: ``[N]`` by which they are multiplied for the scores.
            entries: What :meth:`entries` returned.

        Returns:
            ``[N, t, heads, k]``.
        """
        weights = self.attention(x, scale, entries)
        messages = weights[..., None] * x[entries.column]
        return scatter(messages, entries.row, dim=0, dim_size=x.size(0))

    def attention(self, x: Tensor, scale: Tensor, entries: SparseMatrix) -> Tensor:
        """The entries α of the operators, ``[E + N, t, heads]``; arguments as for :meth:`forward`."""
        row, column, weight = entries.row, entries.column, entries.value[:, None, None]
        nodes = x.size(0)
        # Each node has a loop of weight 1 at the end of the list.
        degree = scatter(entries.value, row, dim_size=nodes) - 1
        known = torch.stack([degree.log1p(), torch.ones_like(degree)], dim=1)
        inputs = torch.cat(
            [x * scale.view(-1, 1, 1, 1), known[:, None, None].expand(*x.shape[:3], 2)], dim=3
        )
        query = torch.einsum("nthi,hic->nthc", inputs, self.query.to(x.dtype))
        key = torch.einsum("nthi,hic->nthc", inputs, self.key.to(x.dtype))
        score = (query[row] * key[column]).sum(3) * x.size(3) ** -0.5
        is_loop = (torch.arange(len(row), device=row.device) >= len(row) - nodes).to(x.dtype)
        score = score + is_loop[:, None, None] * self.loop_score.to(x.dtype)

        score = torch.where(weight > 0, score, -torch.inf)
        largest = scatter(score.detach(), row, dim=0, dim_size=nodes, reduce="max")
        exponential = weight * (score - largest[row]).exp()
        return exponential / scatter(exponential, row, dim=0, dim_size=nodes)[row]
