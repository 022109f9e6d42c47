"""Learned operators by which features spread: attention along the edges of a batch."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.utils import scatter

from graphpe.nn.encoders.base import uniform_like_linear
from graphpe.nn.encoders.random_features.operators import edge_weights
from graphpe.nn.layout import GraphLayout


@dataclass(frozen=True)
class AttentionEntries:
    """Where the operators have entries: those of the E edges, and then those of the loops of the N nodes.

    Args:
        row: ``[E + N]`` row of each entry, the target of the edge.
        column: ``[E + N]`` column of each entry, the source of the edge.
        log_weight: ``[E + N]`` logarithm of the weight; −inf for weight 0.
        log_degree: ``[N]`` log(1 + d), with the summed weight d of the edges into each node.
    """

    row: Tensor
    column: Tensor
    log_weight: Tensor
    log_degree: Tensor


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

    def entries(self, data: Data, layout: GraphLayout, dtype: torch.dtype) -> AttentionEntries:
        """Lists where the operators have entries.

        Args:
            data: The batch.
            layout: Where its graphs lie.
            dtype: Of the logarithms.
        """
        source, target = data.edge_index
        weight = edge_weights(data)
        has_weight = weight > 0
        log_weight = torch.where(has_weight, torch.where(has_weight, weight, 1).log(), -torch.inf)
        node = torch.arange(layout.num_nodes, device=source.device)
        degree = scatter(weight, target, dim_size=layout.num_nodes)
        return AttentionEntries(
            torch.cat([target, node]),
            torch.cat([source, node]),
            torch.cat([log_weight, log_weight.new_zeros(len(node))]).to(dtype),
            degree.log1p().to(dtype),
        )

    def forward(self, x: Tensor, scale: Tensor, entries: AttentionEntries) -> Tensor:
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

    def attention(self, x: Tensor, scale: Tensor, entries: AttentionEntries) -> Tensor:
        """The entries α of the operators, ``[E + N, t, heads]``; arguments as for :meth:`forward`."""
        row, column, nodes = entries.row, entries.column, x.size(0)
        known = torch.stack([entries.log_degree, torch.ones_like(entries.log_degree)], dim=1)
        inputs = torch.cat(
            [x * scale.view(-1, 1, 1, 1), known[:, None, None].expand(*x.shape[:3], 2)], dim=3
        )
        query = torch.einsum("nthi,hic->nthc", inputs, self.query.to(x.dtype))
        key = torch.einsum("nthi,hic->nthc", inputs, self.key.to(x.dtype))
        score = (query[row] * key[column]).sum(3) * x.size(3) ** -0.5
        is_loop = (torch.arange(len(row), device=row.device) >= len(row) - nodes).to(x.dtype)
        score = score + is_loop[:, None, None] * self.loop_score.to(x.dtype)

        # Weights may be of any size, and their logarithms are not: the largest exponential of a row is 1.
        score = score + entries.log_weight[:, None, None]
        largest = scatter(score.detach(), row, dim=0, dim_size=nodes, reduce="max")
        exponential = (score - largest[row]).exp()
        return exponential / scatter(exponential, row, dim=0, dim_size=nodes)[row]
