"""The layer of GRIT: attention between all nodes of a graph that updates the vectors of pairs too."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from graphpe.checks import require_choice, require_number
from graphpe.nn.attention.base import check_heads
from graphpe.nn.attention.pair_scores import attend_by_pair_scores
from graphpe.nn.blocks import check_dropout, normalization
from graphpe.nn.layout import NodePairs


class GRITLayer(nn.Module):
    r"""Attention of each node to all nodes of its graph, whose scores come from vectors of pairs and become new ones.

    For each head, over all nodes j of the graph of i, i itself included:

    .. math::
        \hat e_{ij} &= \mathrm{ReLU}\big(\rho\big((Q x_i + K x_j) \odot E_w e_{ij}\big) + E_b e_{ij}\big),
            \quad \rho(z) = \sqrt{\mathrm{ReLU}(z)} - \sqrt{\mathrm{ReLU}(-z)} \\
        a_{ij} &= \mathrm{softmax}_j\, \mathrm{clamp}(A^\top \hat e_{ij},\, -5,\, 5) \\
        y_i &= \textstyle\sum_j a_{ij} (V x_j + E_v \hat e_{ij}) \\
        z_i &= \mathrm{Norm}\big(x_i + O\big(\theta_1 \odot y_i + \theta_2 \odot y_i \log(1 + d_i)\big)\big) \\
        x_i &\leftarrow \mathrm{Norm}\big(z_i + \mathrm{FFN}(z_i)\big), \qquad
        e_{ij} \leftarrow \mathrm{Norm}\big(e_{ij} + O_e \hat e_{ij}\big)

    where FFN has one hidden layer of twice the width and :math:`d_i` is the degree of node i. A and :math:`E_v` are
    one vector and one matrix per head. K and V have no bias.

    The slope of :math:`\rho`, unbounded at 0, is taken to be at most 500, so that gradients stay finite.

    Args:
        channels: Width of nodes and pairs.
        heads: Number of heads; must divide ``channels``.
        norm: ``"batch"`` (over all nodes, and over all pairs, of the batch) or ``"layer"``.
        dropout: Probability of dropout after attention, of nodes and of pairs, and inside the FFN.
        attention_dropout: Probability of dropout of attention weights.

    Raises:
        ValueError: For another ``norm``, if a size is not a positive integer, ``heads`` does not divide ``channels``,
            or a dropout is no probability less than 1.

    References:
        Ma et al., "Graph Inductive Biases in Transformers without Message Passing", https://arxiv.org/abs/2305.17589.
    """

    def __init__(
        self,
        channels: int,
        heads: int,
        norm: Literal["batch", "layer"] = "batch",
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_heads(channels, heads)
        require_choice("norm", norm, ("batch", "layer"))
        check_dropout(dropout)
        require_number("attention_dropout", attention_dropout, 0.0, below=1.0)
        self.heads = heads
        width = channels // heads
        self.query = nn.Linear(channels, channels)
        self.key = nn.Linear(channels, channels, bias=False)
        self.value = nn.Linear(channels, channels, bias=False)
        self.pair = nn.Linear(channels, 2 * channels)  # E_w and E_b
        self.logit_weight = nn.Parameter(torch.empty(heads, width))  # A
        self.pair_value = nn.Parameter(torch.empty(heads, width, width))  # E_v
        self.degree_scale = nn.Parameter(torch.empty(1, channels, 2))  # θ, a shape for Xavier
        self.output = nn.Linear(channels, channels)
        self.feed_forward = nn.Sequential(
            nn.Linear(channels, 2 * channels),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(2 * channels, channels),
        )
        self.first_norm = normalization(norm, channels)
        self.second_norm = normalization(norm, channels)
        self.pair_update = _PairUpdate(channels, norm, dropout)
        self.dropout = nn.Dropout(dropout)
        self.attention_dropout = attention_dropout
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the weights of attention from Xavier's normal distribution, as published."""
        linears = (self.query, self.key, self.value, self.pair)
        for weight in [linear.weight for linear in linears]:
            nn.init.xavier_normal_(weight)
        for parameter in (self.logit_weight, self.pair_value, self.degree_scale):
            nn.init.xavier_normal_(parameter)

    def forward(
        self,
        x: Tensor,
        pair: Tensor,
        pairs: NodePairs,
        log_degree: Tensor,
        update_pairs: bool = True,
    ) -> tuple[Tensor, Tensor]:
        """Updates nodes and pairs.

        Args:
            x: ``[N, channels]`` nodes.
            pair: ``[P, channels]`` pairs (i, j), row-major, graph after graph.
            pairs: Which nodes they join.
            log_degree: ``[N, 1]`` log(1 + d).
            update_pairs: False returns the pairs as they came, for a last layer.

        Returns:
            The new nodes and pairs.
        """
        scores, values, totals = attend_by_pair_scores(
            self.query(x),
            self.key(x),
            self.value(x),
            pair,
            self.pair.weight,
            self.pair.bias,
            # One matrix with A of each head in its block: a product instead of a sum over channels.
            torch.block_diag(*self.logit_weight),
            pairs,
            self.attention_dropout if self.training else 0.0,
        )
        # E_v after the sum over j, which has fewer rows.
        totals = totals.unflatten(-1, (self.heads, -1))
        attended = values + torch.einsum("nhd,hdc->nhc", totals, self.pair_value).flatten(1)
        first, second = self.degree_scale[0].unbind(-1)
        attended = self.dropout(attended) * (first + second * log_degree)
        if update_pairs:
            pair = self.pair_update(pair, scores)
        x = self.first_norm(x + self.output(attended))
        return self.second_norm(x + self.feed_forward(x)), pair


class _PairUpdate(nn.Module):
    """Norm(e + O ê)."""

    def __init__(self, channels: int, norm: Literal["batch", "layer"], dropout: float) -> None:
        super().__init__()
        self.output = nn.Linear(channels, channels)
        self.norm = normalization(norm, channels)
        self.dropout = nn.Dropout(dropout)

    def forward(self, pair: Tensor, scores: Tensor) -> Tensor:
        return self.norm(pair + self.output(self.dropout(scores)))
