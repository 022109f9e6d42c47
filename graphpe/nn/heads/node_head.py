"""The head of nodes."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.nn.encodings import Encodings
from graphpe.nn.layout import GraphLayout
from graphpe.nn.rows import take_rows


class NodeHead(nn.Module):
    """Maps each node by itself.

    Args:
        network: Maps ``[N, channels]`` to the output.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(
        self,
        x: Tensor,
        data: Data,
        layout: GraphLayout,
        encodings: Encodings,
        rows: Tensor | None = None,
    ) -> Tensor:
        """Maps nodes ``[N, channels]`` to ``[N, out_channels]``, or to those in ``rows``."""
        # All nodes, since a normalisation over nodes depends on which there are.
        return take_rows(self.network(x[: layout.num_nodes]), rows)
