"""The head of graphs."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.nn.encodings import Encodings
from graphpe.nn.layout import GraphLayout
from graphpe.nn.rows import take_rows


class GraphHead(nn.Module):
    """Pools the nodes of each graph and maps the result to the output.

    For names of words (a task of kind ``"subtokens"``) the columns of the output are the classes of the first position,
    then those of the second, and so on: the last linear layer is one linear classifier for each position, as in
    published networks.

    Args:
        readout: Pools the nodes.
        network: Maps ``[B, channels]`` to the output.
    """

    def __init__(self, readout: nn.Module, network: nn.Module) -> None:
        super().__init__()
        self.readout = readout
        self.network = network

    def forward(
        self,
        x: Tensor,
        data: Data,
        layout: GraphLayout,
        encodings: Encodings,
        rows: Tensor | None = None,
    ) -> Tensor:
        """Maps nodes ``[N, channels]`` to graphs ``[B, out_channels]``, or to those in ``rows``."""
        return take_rows(self.network(self.readout(x, layout)), rows)
