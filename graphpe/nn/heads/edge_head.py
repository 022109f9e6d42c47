"""The head of edges."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.nn.encodings import Encodings
from graphpe.nn.features import FeatureEmbedding, has_edge_features
from graphpe.nn.heads.two_node_mlp import TwoNodeMLP
from graphpe.nn.layout import GraphLayout
from graphpe.nn.rows import take_rows
from graphpe.tasks import Features


class EdgeHead(TwoNodeMLP):
    r"""Maps each edge by the same multi-layer perceptron.

    .. math:: y_{e} = \mathrm{MLP}\big( [h_u, h_v, r, f_e, w_e] \big), \qquad e = (u, v)

    where r is the readout of the graph, :math:`f_e` are the embedded features of the edge, if the dataset has any, and
    :math:`w_e` its encodings, see :class:`~graphpe.nn.heads.TwoNodeMLP`. Parallel edges differ by :math:`f_e` and
    :math:`w_e` alone; the two directions of an undirected edge are two rows.

    Args:
        features: What the dataset offers.
        readout: Pools the nodes.
        channels: Width of the nodes, of the embedded features, and of the hidden layers.
        out_channels: Number of outputs per edge.
        num_layers: Number of linear layers.
        edge_channels: Width of each of the encodings of edges: of those that are added to vectors of edges, then of
            those that multiply them.
    """

    def __init__(
        self,
        features: Features,
        readout: nn.Module,
        channels: int,
        out_channels: int,
        num_layers: int = 2,
        edge_channels: Sequence[int] = (),
    ) -> None:
        embeds = has_edge_features(features)
        widths = [channels] * embeds + [*edge_channels]
        super().__init__(readout, channels, out_channels, num_layers, widths)
        self.embedding = FeatureEmbedding(features, channels, "edge") if embeds else None

    def forward(
        self,
        x: Tensor,
        data: Data,
        layout: GraphLayout,
        encodings: Encodings,
        rows: Tensor | None = None,
    ) -> Tensor:
        """Maps nodes ``[N, channels]`` to edges ``[E, out_channels]``, in the order of ``edge_index``; or to some.

        Args:
            x: ``[N, channels]`` the nodes, and further rows for the readout.
            data: The batch.
            layout: Where its graphs lie.
            encodings: Its encodings.
            rows: ``[R]`` the edges to map; the perceptron doesn't see others. None: all.
        """
        features = [] if self.embedding is None else [self.embedding(data)]
        parts = (*data.edge_index, *features, *encodings.added_to_edges, *encodings.edge_gates)
        source, target, *others = (take_rows(part, rows) for part in parts)
        return self.map_rows(x, layout, source, target, others)
