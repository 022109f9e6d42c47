"""From nodes to graphs."""

from __future__ import annotations

from typing import Literal

from torch import Tensor, nn
from torch_geometric.nn import global_add_pool, global_max_pool, global_mean_pool

from graphpe.checks import require_choice
from graphpe.nn.layout import GraphLayout

ReadoutKind = Literal["mean", "sum", "max"]

_POOLS = {"mean": global_mean_pool, "sum": global_add_pool, "max": global_max_pool}


class Readout(nn.Module):
    """Pools the nodes of each graph; a graph without nodes gets a row of zeros.

    Args:
        kind: ``"mean"``, ``"sum"`` or ``"max"``.
    """

    def __init__(self, kind: ReadoutKind) -> None:
        super().__init__()
        require_choice("readout", kind, list(_POOLS))
        self.kind = kind

    def forward(self, x: Tensor, layout: GraphLayout) -> Tensor:
        """Pools ``[N, channels]`` to ``[B, channels]``."""
        return _POOLS[self.kind](x, layout.batch, size=layout.num_graphs)

    def extra_repr(self) -> str:
        return repr(self.kind)


class TokenReadout(nn.Module):
    """Takes the token of each graph, which a network has put after the nodes."""

    def forward(self, x: Tensor, layout: GraphLayout) -> Tensor:
        """Takes the last B rows of ``[N + B, channels]``."""
        return x[layout.num_nodes :]
