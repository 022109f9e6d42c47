"""The gated graph convolution of Bresson and Laurent, as published benchmarks use it."""

from __future__ import annotations

from torch import Tensor, nn

from graphpe.nn.blocks import Normalization, check_dropout, check_positive, normalization
from graphpe.nn.sums import sum_by_group

# As published. A node without in-neighbours receives 0 / ε.
_EPSILON = 1e-6


class GatedGCNLayer(nn.Module):
    r"""A residual convolution whose messages are gated, channel by channel, by vectors of edges.

    Over the edges :math:`j \to i`:

    .. math::
        \hat e_{ij} &= D h_j + E h_i + C e_{ij} \\
        h_i &\leftarrow h_i + \mathrm{ReLU}\Big(\mathrm{Norm}\Big(A h_i + \frac{\sum_j \sigma(\hat e_{ij}) \odot B h_j}
            {\sum_j \sigma(\hat e_{ij}) + \epsilon}\Big)\Big) \\
        e_{ij} &\leftarrow e_{ij} + \mathrm{ReLU}\big(\mathrm{Norm}(\hat e_{ij})\big)

    The gates come from :math:`\hat e`, before its normalisation, as in the published code (the paper takes the new
    :math:`e`). PyG's ``ResGatedGraphConv`` neither updates edges nor normalises gates, so it isn't this layer.

    Args:
        channels: Width of nodes and edges.
        norm: ``"batch"`` (over all nodes, and over all edges, of the batch), ``"layer"`` or ``"none"``.
        dropout: Probability of dropout of the new nodes and edges.

    Raises:
        ValueError: For another ``norm``, if ``channels`` is not a positive integer or ``dropout`` is no probability
            less than 1.

    References:
        Bresson and Laurent, "Residual Gated Graph ConvNets", https://arxiv.org/abs/1711.07553;
        Dwivedi et al., "Benchmarking Graph Neural Networks", https://arxiv.org/abs/2003.00982.
    """

    def __init__(self, channels: int, norm: Normalization = "batch", dropout: float = 0.0) -> None:
        super().__init__()
        check_positive(channels=channels)
        check_dropout(dropout)
        self.self_linear = nn.Linear(channels, channels)
        self.source_linear = nn.Linear(channels, channels)
        self.source_gate = nn.Linear(channels, channels)
        self.target_gate = nn.Linear(channels, channels)
        self.edge_gate = nn.Linear(channels, channels)
        self.node_norm = normalization(norm, channels)
        self.edge_norm = normalization(norm, channels)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Tensor, edge_index: Tensor, edge: Tensor, update_edges: bool = True
    ) -> tuple[Tensor, Tensor]:
        """Updates nodes and edges.

        Args:
            x: ``[N, channels]`` nodes.
            edge_index: ``[2, E]`` (j, i): node i receives from node j.
            edge: ``[E, channels]`` edges.
            update_edges: False returns the edges as they came, for a last layer.

        Returns:
            The new nodes and edges.
        """
        source, target = edge_index
        logits = self.source_gate(x)[source] + self.target_gate(x)[target] + self.edge_gate(edge)
        gates = logits.sigmoid()
        messages = gates * self.source_linear(x)[source]
        received, weight = (sum_by_group(rows, target, len(x)) for rows in (messages, gates))
        update = self.self_linear(x) + received / (weight + _EPSILON)
        x = self.dropout(x + self.node_norm(update).relu())
        if update_edges:
            edge = self.dropout(edge + self.edge_norm(logits).relu())
        return x, edge
