"""From nodes to graphs."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch_geometric.nn import global_max_pool
from torch_geometric.utils import softmax

from graphpe.checks import require_choice
from graphpe.nn.layout import GraphLayout
from graphpe.nn.sums import mean_by_group, sum_by_group

ReadoutKind = Literal["mean", "sum", "max", "attention"]


class Readout(nn.Module):
    """Pools the nodes of each graph; a graph without nodes gets a row of zeros.

    Args:
        kind: ``"mean"``, ``"sum"`` or ``"max"``.
    """

    def __init__(self, kind: Literal["mean", "sum", "max"]) -> None:
        super().__init__()
        require_choice("readout", kind, ("mean", "sum", "max"))
        self.kind = kind

    def forward(self, x: Tensor, layout: GraphLayout) -> Tensor:
        """Pools ``[N, channels]`` to ``[B, channels]``."""
        if self.kind == "max":
            return global_max_pool(x, layout.batch, size=layout.num_graphs)
        pool = mean_by_group if self.kind == "mean" else sum_by_group
        return pool(x, layout.batch, layout.num_graphs)

    def extra_repr(self) -> str:
        return repr(self.kind)


class AttentionReadout(nn.Module):
    r"""Pools the nodes of each graph by learned weights; a graph without nodes gets a row of zeros.

    .. math:: r = \sum_i a_i h_i, \qquad a_i = \mathrm{softmax}_i\, w^\top \mathrm{ReLU}(W h_i + b)

    where the softmax is over the nodes of the graph.

    Args:
        channels: Width of the nodes, and of the hidden layer.

    References:
        Li et al., "Gated Graph Sequence Neural Networks", https://arxiv.org/abs/1511.05493.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        # The last layer has no bias, which would move all logits of a graph alike.
        self.gate = nn.Sequential(
            nn.Linear(channels, channels), nn.ReLU(), nn.Linear(channels, 1, bias=False)
        )

    def forward(self, x: Tensor, layout: GraphLayout) -> Tensor:
        """Pools ``[N, channels]`` to ``[B, channels]``."""
        logit = self.gate(x)
        # Not in half precision, in which the weights of a large graph don't add up to 1.
        logit = logit.to(torch.promote_types(logit.dtype, torch.float32))
        weight = softmax(logit, layout.batch, num_nodes=layout.num_graphs)
        return sum_by_group(weight * x, layout.batch, layout.num_graphs).to(x.dtype)


class TokenReadout(nn.Module):
    """Takes the token of each graph, which a network has put after the nodes."""

    def forward(self, x: Tensor, layout: GraphLayout) -> Tensor:
        """Takes the last B rows of ``[N + B, channels]``."""
        return x[layout.num_nodes :]


def build_readout(kind: ReadoutKind, channels: int) -> Readout | AttentionReadout:
    """Builds the readout of a network whose nodes have ``channels`` channels."""
    require_choice("readout", kind, get_args(ReadoutKind))
    return AttentionReadout(channels) if kind == "attention" else Readout(kind)
