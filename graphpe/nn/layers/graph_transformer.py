"""The graph transformer layer of Dwivedi and Bresson."""

from __future__ import annotations

from typing import Literal

from torch import Tensor, nn

from graphpe.checks import require_choice
from graphpe.nn.attention.base import check_heads
from graphpe.nn.attention.sparse import (
    SoftmaxKind,
    check_softmax,
    softmax_by_group,
    weighted_sum,
)
from graphpe.nn.blocks import check_dropout, normalization


class GraphTransformerLayer(nn.Module):
    r"""Attention of each node to its in-neighbours, with an update of nodes and, if there are any, of edges.

    For each head, with :math:`d` channels per head, over the edges :math:`j \to i`:

    .. math::
        w_{ij} &= \tfrac{1}{\sqrt{d}}\, Q h_i \odot K h_j \ [\,\odot\, E e_{ij}\,] \in \mathbb{R}^d \\
        a_{ij} &= \mathrm{softmax}_j\, \mathrm{clamp}\Big(\sum_c w_{ijc},\, -5,\, 5\Big) \\
        h_i &\leftarrow U_h\Big(h_i, \sum_j a_{ij} V h_j\Big) \ [\,, \quad e_{ij} \leftarrow U_e(e_{ij}, w_{ij})\,] \\
        U(x, y) &= \mathrm{Norm}(z + \mathrm{FFN}(z)), \quad z = \mathrm{Norm}(x + O y)

    where FFN has one hidden layer of twice the width. Q, K, V, E have no bias. A node without in-neighbours gets 0 from
    the attention.

    Args:
        channels: Width of nodes and edges.
        heads: Number of heads; must divide ``channels``.
        edges: Whether edges have vectors.
        norm: ``"batch"`` (over all nodes, and over all edges, of the batch) or ``"layer"``.
        dropout: Probability of dropout after attention and inside each FFN.
        softmax: ``"clamp"`` as in the formula; ``"max"``: without the clamp, the maximum subtracted before exp.

    Raises:
        ValueError: For another ``norm`` or ``softmax``, if a size is not a positive integer, ``heads`` does not divide
            ``channels``, or ``dropout`` is no probability less than 1.

    References:
        Dwivedi and Bresson, "A Generalization of Transformer Networks to Graphs", https://arxiv.org/abs/2012.09699.
    """

    def __init__(
        self,
        channels: int,
        heads: int,
        edges: bool,
        norm: Literal["batch", "layer"] = "batch",
        dropout: float = 0.0,
        softmax: SoftmaxKind = "clamp",
    ) -> None:
        super().__init__()
        check_heads(channels, heads)
        check_softmax(softmax)
        require_choice("norm", norm, ("batch", "layer"))
        check_dropout(dropout)
        self.heads = heads
        self.softmax = softmax
        self.query = nn.Linear(channels, channels, bias=False)
        self.key = nn.Linear(channels, channels, bias=False)
        self.value = nn.Linear(channels, channels, bias=False)
        self.node_update = _Update(channels, norm, dropout)
        self.edge = nn.Linear(channels, channels, bias=False) if edges else None
        self.edge_update = _Update(channels, norm, dropout) if edges else None

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        edge: Tensor | None = None,
        update_edges: bool = True,
    ) -> tuple[Tensor, Tensor | None]:
        """Updates nodes and edges.

        Args:
            x: ``[N, channels]`` nodes.
            edge_index: ``[2, E]`` (j, i): node i attends to node j.
            edge: ``[E, channels]`` edges, if the layer was built with ``edges``.
            update_edges: False returns the edges as they came, for a last layer.

        Returns:
            The new nodes and edges.
        """
        source, target = edge_index
        # Scaled at the nodes, which are fewer than the edges.
        query = self.query(x) * (x.size(1) // self.heads) ** -0.5
        scores = query.index_select(0, target) * self.key(x).index_select(0, source)
        if self.edge is not None:
            scores = scores * self.edge(edge)
        logits = scores.unflatten(-1, (self.heads, -1)).sum(-1)
        weights = softmax_by_group(logits, target, len(x), self.softmax)
        values = self.value(x).index_select(0, source)
        attended = weighted_sum(weights, values, target, len(x))
        if self.edge_update is not None and update_edges:
            edge = self.edge_update(edge, scores)
        return self.node_update(x, attended), edge


class _Update(nn.Module):
    """z = Norm(x + O y); Norm(z + FFN(z))."""

    def __init__(self, channels: int, norm: Literal["batch", "layer"], dropout: float) -> None:
        super().__init__()
        self.output = nn.Linear(channels, channels)
        self.feed_forward = nn.Sequential(
            nn.Linear(channels, 2 * channels),
            nn.ReLU(inplace=True),
            nn.Dropout(dropout),
            nn.Linear(2 * channels, channels),
        )
        self.first_norm = normalization(norm, channels)
        self.second_norm = normalization(norm, channels)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        x = self.first_norm(x + self.output(self.dropout(y)))
        return self.second_norm(x + self.feed_forward(x))
