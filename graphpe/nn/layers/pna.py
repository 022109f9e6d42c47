"""Principal neighbourhood aggregation, as published benchmarks use it."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.nn import MultiAggregation

from graphpe.nn.blocks import Normalization, check_dropout, check_positive, normalization


class PNALayer(nn.Module):
    r"""Four aggregations of messages, each scaled in three ways by the degree, in towers.

    Each of the T towers has its own :math:`1/T` of the channels h of a node. Over the edges :math:`j \to i`, with the
    in-degree :math:`d_i` and the average δ of :math:`\log(d + 1)` over the nodes of the training graphs:

    .. math::
        m_{ij} &= A h_i + B h_j + C e_{ij} \\
        a_i &= \big[\mathrm{mean}_j, \max_j, \min_j, \mathrm{std}_j\big]\, m_{ij}, \quad
            s_i = \log(d_i + 1) / \delta \\
        z_i &= D \big[h_i,\ a_i,\ s_i\, a_i,\ s_i^{-1} a_i\big] \\
        h_i &\leftarrow h_i + \mathrm{LeakyReLU}\big(M\, \mathrm{Norm}(z_i / \sqrt{n})\big)

    where M mixes the towers and n is the number of nodes of the graph; C, D and M have a bias. A node without
    in-neighbours has a = 0.

    This is the layer of published figures. PyG's ``PNAConv`` has another one: it maps edges to the width of a tower
    first, has neither Norm nor n, and wants the degrees when it is built.

    Args:
        channels: Width of the nodes.
        edge_channels: Width of the edges.
        towers: Number of towers; must divide ``channels``.
        norm: ``"batch"``, ``"layer"`` or ``"none"``.
        dropout: Probability of dropout after the normalisation.

    Raises:
        ValueError: For another ``norm``, if a size is not a positive integer, ``towers`` does not divide ``channels``,
            or ``dropout`` is no probability less than 1.

    References:
        Corso et al., "Principal Neighbourhood Aggregation for Graph Nets", https://arxiv.org/abs/2004.05718;
        Dwivedi et al., "Graph Neural Networks with Learnable Structural and Positional Representations",
        https://arxiv.org/abs/2110.07875.
    """

    def __init__(
        self,
        channels: int,
        edge_channels: int,
        towers: int = 1,
        norm: Normalization = "batch",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_positive(channels=channels, edge_channels=edge_channels, towers=towers)
        check_dropout(dropout)
        if channels % towers:
            raise ValueError(
                f"towers is {towers}, which does not divide the {channels} channels of the layer; choose a divisor of "
                "them (in a network, of hidden_channels)"
            )
        width = channels // towers
        self.towers = towers
        self.ends = _TowerLinear(towers, width, 2 * width)
        self.edge = nn.Linear(edge_channels, channels)
        self.aggregation = MultiAggregation(["mean", "max", "min", "std"])
        self.own = _TowerLinear(towers, width, width)
        self.received = _TowerLinear(towers, 4 * width, 3 * width)
        self.bias = nn.Parameter(torch.zeros(channels))
        self.norm = normalization(norm, channels)
        self.dropout = nn.Dropout(dropout)
        self.mix = nn.Linear(channels, channels)

    def forward(
        self, x: Tensor, edge_index: Tensor, edge: Tensor, degree_scale: Tensor, size_scale: Tensor
    ) -> Tensor:
        """Updates the nodes.

        Args:
            x: ``[N, channels]`` nodes.
            edge_index: ``[2, E]`` (j, i): node i receives from node j.
            edge: ``[E, edge_channels]`` edges.
            degree_scale: ``[N]`` s of each node; any positive number where nothing is received.
            size_scale: ``[N]`` one over the root of the number of nodes of its graph.

        Returns:
            ``[N, channels]``.
        """
        h = x.unflatten(1, (self.towers, -1))
        scale = degree_scale[:, None, None]
        same, amplified, attenuated = self.received(self._aggregate(h, edge_index, edge)).chunk(
            3, -1
        )
        z = self.own(h) + same + scale * amplified + attenuated / scale
        z = self.norm((z.flatten(1) + self.bias) * size_scale[:, None])
        return x + nn.functional.leaky_relu(self.mix(self.dropout(z)))

    def _aggregate(self, h: Tensor, edge_index: Tensor, edge: Tensor) -> Tensor:
        """The four aggregations of what each node receives, ``[N, towers, 4 · width]``."""
        source, target = edge_index
        from_source, from_target = self.ends(h).chunk(2, -1)
        message = from_source[source] + self.edge(edge).unflatten(1, (self.towers, -1))
        # Not in half precision, in which neither mean nor std of many messages is right.
        message = message.to(torch.promote_types(message.dtype, torch.float32))
        received = self.aggregation(message, target, dim_size=len(h), dim=0)
        # What the target adds is the same for all its messages, so it can wait till here.
        receives = torch.zeros_like(h[:, :1, :1], dtype=received.dtype)
        receives[target] = 1
        mean, largest, smallest, deviation = received.chunk(4, -1)
        offset = receives * from_target
        return torch.cat([mean + offset, largest + offset, smallest + offset, deviation], -1).to(
            from_source.dtype
        )


class _TowerLinear(nn.Module):
    """A linear map of its own for each tower, ``[N, towers, inputs]`` to ``[N, towers, outputs]``."""

    def __init__(self, towers: int, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(towers, inputs, outputs))
        bound = inputs**-0.5  # as in torch.nn.Linear
        nn.init.uniform_(self.weight, -bound, bound)

    def forward(self, x: Tensor) -> Tensor:
        return torch.einsum("nti,tio->nto", x, self.weight)
