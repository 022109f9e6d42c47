"""What queries and keys see of the neighbourhood of a node."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.utils import scatter

from graphpe.nn.blocks import PartwiseLinear, check_positive


class StructureExtractor(nn.Module):
    r"""A few hops of a graph network whose nodes know which of their edges go out and which come in.

    In each hop, with h of half the width of the input,

    .. math::
        e_{uv} &\leftarrow \mathrm{GELU}\big(A\, [h_u, h_v, e_{uv}]\big) \\
        h_u &\leftarrow \mathrm{GELU}\Big(B\, \big[h_u, \sum_{u \to v} e_{uv}, \sum_{v \to u} e_{vu}\big]\Big)

    and the output is a linear layer of the LayerNorm of the input and the h of all hops, concatenated. Without edge
    vectors, messages depend on their two ends alone, in each hop.

    Args:
        channels: Width of input and output, at least 2.
        hops: Number of hops.
        edge_channels: Width of the edge vectors; 0: there are none.

    References:
        Chen et al., "Structure-Aware Transformer for Graph Representation Learning", https://arxiv.org/abs/2202.03036;
        Geisler et al., "Transformers Meet Directed Graphs", https://arxiv.org/abs/2302.00049.
    """

    def __init__(self, channels: int, hops: int, edge_channels: int = 0) -> None:
        super().__init__()
        check_positive(hops=hops)
        if channels < 2:
            raise ValueError(
                f"channels is {channels}; it must be at least 2, since a hop has half the width"
            )
        width = channels // 2
        inputs = [channels] + [width] * (hops - 1)
        edges = [edge_channels] + [width if edge_channels else 0] * (hops - 1)
        self.messages = nn.ModuleList(
            PartwiseLinear([nodes, nodes, *([edge] if edge else [])], width)
            for nodes, edge in zip(inputs, edges, strict=True)
        )
        self.updates = nn.ModuleList(nn.Linear(nodes + 2 * width, width) for nodes in inputs)
        self.norm = nn.LayerNorm(channels + hops * width)
        self.output = nn.Linear(channels + hops * width, channels)

    def forward(self, x: Tensor, edge_index: Tensor, edge: Tensor | None = None) -> Tensor:
        """Maps the nodes.

        Args:
            x: ``[R, channels]``; rows without edges may follow the nodes.
            edge_index: ``[2, E]``.
            edge: ``[E, edge_channels]``, if the extractor was built for them.

        Returns:
            ``[R, channels]``.
        """
        source, target = edge_index
        hops = [x]
        for linear, update in zip(self.messages, self.updates, strict=True):
            message = linear.part(0, x).index_select(0, source)
            message = message + linear.part(1, x).index_select(0, target)
            if edge is not None:
                message = message + linear.part(2, edge)
            message = nn.functional.gelu(message)
            sent, received = (scatter(message, end, dim_size=len(x)) for end in edge_index)
            x = nn.functional.gelu(update(torch.cat([x, sent, received], dim=1)))
            edge = message if edge is not None else None
            hops.append(x)
        return self.output(self.norm(torch.cat(hops, dim=1)))
