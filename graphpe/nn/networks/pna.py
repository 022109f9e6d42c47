"""Principal neighbourhood aggregation: a message passing control that knows the degrees of its training graphs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.nn.blocks import Normalization, check_positive, halving_mlp
from graphpe.nn.degrees import in_degree_histogram
from graphpe.nn.edge_vectors import EdgeVectors
from graphpe.nn.encoders import FieldEncoder
from graphpe.nn.encodings import Encodings
from graphpe.nn.layers import PNALayer
from graphpe.nn.layout import GraphLayout
from graphpe.nn.networks.base import GraphNetwork
from graphpe.nn.readout import ReadoutKind
from graphpe.tasks import Features, TaskLevel


class PNA(GraphNetwork):
    """A message passing network that aggregates in four ways and scales by the degree in three.

    See :class:`~graphpe.nn.layers.PNALayer` for the layer. The head halves the width twice, then maps to the output;
    that of pairs has ``pair_layers``. Defaults are the published ZINC network (369,235 parameters).

    The scalers need the in-degrees of the training graphs. :class:`~graphpe.training.GraphPredictor` lets the network
    learn them before it trains; elsewhere call :meth:`learn_statistics`, or give ``degree_histogram``. What has been
    learned is saved with the parameters, and stays the same for other graphs.

    Args:
        features: What the dataset offers; without edge features and encoders of edges all edges are alike.
        out_channels: Number of outputs per row.
        hidden_channels: Width of the nodes; at least 4.
        num_layers: Number of layers.
        edge_channels: Width of the edges.
        towers: Number of towers; must divide ``hidden_channels``.
        degree_histogram: How many nodes of the training graphs have 0, 1, 2, ... incoming edges; None: to be learned.
        norm: ``"batch"``, ``"layer"`` or ``"none"``.
        dropout: Probability of dropout in the layers.
        level: What a row of the output describes: a graph, a node, an edge, or an ordered pair of nodes.
        readout: How the nodes of a graph are pooled, for graphs, edges and pairs.
        pair_layers: Number of linear layers of the head of edges and of that of pairs.
        positional_encoders: Encoders of nodes, whose output is added to the embedded nodes; of edges, which are mapped
            and added to the vectors of edges, or multiply them; and of pairs, which the head of pairs reads.

    Attributes:
        log_degree: The average of log(in-degree + 1) over the nodes of the training graphs; NaN if it is not known.

    References:
        Corso et al., "Principal Neighbourhood Aggregation for Graph Nets", https://arxiv.org/abs/2004.05718;
        Dwivedi et al., "Graph Neural Networks with Learnable Structural and Positional Representations",
        https://arxiv.org/abs/2110.07875.
    """

    reads_edge_encodings: ClassVar[bool] = True

    def __init__(
        self,
        features: Features,
        out_channels: int = 1,
        hidden_channels: int = 70,
        num_layers: int = 16,
        edge_channels: int = 40,
        towers: int = 5,
        degree_histogram: Sequence[int] | None = None,
        norm: Normalization = "batch",
        dropout: float = 0.0,
        level: TaskLevel = "graph",
        readout: ReadoutKind = "sum",
        pair_layers: int = 2,
        positional_encoders: list[FieldEncoder] | None = None,
    ) -> None:
        check_positive(
            out_channels=out_channels, hidden_channels=hidden_channels, num_layers=num_layers
        )
        super().__init__(
            features,
            out_channels,
            hidden_channels,
            level,
            readout,
            pair_layers,
            positional_encoders,
            head=lambda: halving_mlp(hidden_channels, out_channels),
        )
        added, gates = (self.encoding_channels("edge", role) for role in ("add", "gate"))
        self.edge_vectors = EdgeVectors(features, edge_channels, added, gates)
        self.layers = nn.ModuleList(
            PNALayer(hidden_channels, edge_channels, towers, norm, dropout)
            for _ in range(num_layers)
        )
        self.register_buffer("log_degree", torch.tensor(math.nan))
        if degree_histogram is not None:
            self._set_log_degree(_read_histogram(degree_histogram))

    @property
    def lacks_statistics(self) -> bool:
        return bool(self.log_degree.isnan())

    def learn_statistics(self, graphs: Iterable[Data]) -> None:
        """Takes the average of log(in-degree + 1) over the nodes of the training graphs.

        Args:
            graphs: The training graphs: a PyG dataset, a loader or a list of ``Data``.

        Raises:
            TypeError: If ``graphs`` is no iterable of graphs.
            ValueError: If they have no edges.
        """
        self._set_log_degree(in_degree_histogram(graphs))

    def propagate(self, x: Tensor, data: Data, layout: GraphLayout, encodings: Encodings) -> Tensor:
        if self.lacks_statistics:
            raise ValueError(
                "PNA doesn't know the degrees of the training graphs; call network.learn_statistics(training graphs), "
                "as GraphPredictor does before it trains, give degree_histogram, or load trained parameters"
            )
        edge = self.edge_vectors(data, encodings)
        degree = torch.bincount(data.edge_index[1], minlength=len(x)).clamp(min=1)
        degree_scale = (degree + 1).to(x.dtype).log() / self.log_degree
        size_scale = layout.sizes[layout.batch].to(x.dtype).rsqrt()
        for layer in self.layers:
            x = layer(x, data.edge_index, edge, degree_scale, size_scale)
        return x

    def _set_log_degree(self, histogram: Tensor) -> None:
        if not histogram[1:].any():
            raise ValueError(
                "no node of the training graphs has an incoming edge, so PNA can't scale by their degrees; take "
                "another network for graphs without edges"
            )
        counts = histogram.double()
        degree = torch.arange(len(counts), dtype=torch.double)
        average = (counts * (degree + 1).log()).sum() / counts.sum()
        self.log_degree.fill_(average.item())


def _read_histogram(counts: Sequence[int]) -> Tensor:
    for degree, count in enumerate(counts):
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise ValueError(
                f"degree_histogram has {count!r} nodes of in-degree {degree}; it must be an integer >= 0 for each "
                "in-degree from 0"
            )
    return torch.tensor(list(counts), dtype=torch.long)
