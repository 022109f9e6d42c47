"""The head of pairs of nodes."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.nn.encodings import Encodings
from graphpe.nn.heads.two_node_mlp import TwoNodeMLP
from graphpe.nn.layout import GraphLayout, node_pairs
from graphpe.nn.rows import take_rows


class PairHead(TwoNodeMLP):
    r"""Maps each ordered pair of nodes of the same graph by the same multi-layer perceptron.

    .. math:: y_{uv} = \mathrm{MLP}\big( [h_u, h_v, r, w_{uv}] \big)

    where r is the readout of the graph and :math:`w_{uv}` are the pair encodings, see
    :class:`~graphpe.nn.heads.TwoNodeMLP`. Time and memory grow with :math:`\sum n^2` over the graphs of a batch.

    Args:
        readout: Pools the nodes.
        channels: Width of the nodes, and of the hidden layers.
        out_channels: Number of outputs per pair.
        num_layers: Number of linear layers.
        pair_channels: Width of each of the pair encodings.
    """

    def __init__(
        self,
        readout: nn.Module,
        channels: int,
        out_channels: int,
        num_layers: int = 2,
        pair_channels: Sequence[int] = (),
    ) -> None:
        super().__init__(readout, channels, out_channels, num_layers, pair_channels)

    def forward(
        self,
        x: Tensor,
        data: Data,
        layout: GraphLayout,
        encodings: Encodings,
        rows: Tensor | None = None,
    ) -> Tensor:
        """Maps nodes ``[N, channels]`` to pairs ``[P, out_channels]``, row-major, graph after graph; or to some.

        Args:
            x: ``[N, channels]`` the nodes, and further rows for the readout.
            data: The batch.
            layout: Where its graphs lie.
            encodings: Its encodings.
            rows: ``[R]`` the pairs to map; the perceptron doesn't see others. None: all.
        """
        pairs = node_pairs(layout)
        parts = (pairs.source, pairs.target, *encodings.pairs)
        source, target, *others = (take_rows(part, rows) for part in parts)
        return self.map_rows(x, layout, source, target, others)
