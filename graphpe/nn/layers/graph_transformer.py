"""The graph transformer layer of Dwivedi and Bresson."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from graphpe.checks import require_choice
from graphpe.nn.blocks import check_dropout, check_positive, normalization
from graphpe.nn.sums import sum_by_group

# exp of a logit in this range neither overflows nor vanishes, so no maximum has to be subtracted before.
_LARGEST_LOGIT = 5.0


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

    Raises:
        ValueError: For another ``norm``, if a size is not a positive integer, ``heads`` does not divide ``channels``,
            or ``dropout`` is no probability less than 1.

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
    ) -> None:
        super().__init__()
        check_positive(channels=channels, heads=heads)
        require_choice("norm", norm, ("batch", "layer"))
        check_dropout(dropout)
        if channels % heads:
            raise ValueError(
                f"heads is {heads}, which does not divide the {channels} channels of the layer; "
                "choose a divisor of them (in a network, of hidden_channels)"
            )
        self.heads = heads
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
        query, key, value = (
            self._split_heads(linear(x)) for linear in (self.query, self.key, self.value)
        )
        scores = query[target] * key[source] / query.size(-1) ** 0.5
        if self.edge is not None:
            scores = scores * self._split_heads(self.edge(edge))
        attended = _attend(scores.sum(-1), value, source, target)
        if self.edge_update is not None and update_edges:
            edge = self.edge_update(edge, scores.flatten(1))
        return self.node_update(x, attended.flatten(1)), edge

    def _split_heads(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1))


def _attend(logits: Tensor, value: Tensor, source: Tensor, target: Tensor) -> Tensor:
    """Averages values over in-neighbours with weights softmax(clamp(logits)); 0 where there are none.

    Args:
        logits: ``[E, heads]``.
        value: ``[N, heads, d]``.
        source: ``[E]`` the node that an edge comes from.
        target: ``[E]`` the node that attends.
    """
    weights = logits.clamp(-_LARGEST_LOGIT, _LARGEST_LOGIT).exp()
    num_nodes = value.size(0)
    total = sum_by_group(weights[..., None] * value[source], target, num_nodes)
    normalizer = sum_by_group(weights, target, num_nodes)
    # One edge alone gives a normalizer of at least exp(-5), so that this changes nothing but 0 / 0.
    return total / normalizer.clamp(min=torch.finfo(weights.dtype).tiny)[..., None]


class _Update(nn.Module):
    """z = Norm(x + O y); Norm(z + FFN(z))."""

    def __init__(self, channels: int, norm: Literal["batch", "layer"], dropout: float) -> None:
        super().__init__()
        self.output = nn.Linear(channels, channels)
        self.feed_forward = nn.Sequential(
            nn.Linear(channels, 2 * channels),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(2 * channels, channels),
        )
        self.first_norm = normalization(norm, channels)
        self.second_norm = normalization(norm, channels)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        x = self.first_norm(x + self.output(self.dropout(y)))
        return self.second_norm(x + self.feed_forward(x))
