"""`PerEdgeType`: an encoding of each relation of a heterogeneous graph on its own."""

from __future__ import annotations

import re

from torch_geometric.data import HeteroData
from torch_geometric.transforms import BaseTransform

from graphpe.transforms.core.base import Encoding, kind_of
from graphpe.transforms.core.engine import compute_fields
from graphpe.transforms.core.hetero import attach_hetero, homogenise


class PerEdgeType(BaseTransform):
    """Adds an encoding of the graph of each edge type of a ``HeteroData``.

    The graph of the edge type (source, relation, target) has the nodes of both types and the edges of that type. An
    encoding applied to a ``HeteroData`` directly takes all edge types together instead.

    Writes:
        The node fields to the two node types, the edge fields to the edge type, the others to the ``HeteroData``; each
        name is followed by the edge type, as in ``random_walk_pe__author__writes__paper``.

    Args:
        encoding: The encoding; it must have an ``attr_name``.

    Raises:
        TypeError: If the graph is not a ``HeteroData``.
    """

    def __init__(self, encoding: Encoding) -> None:
        if not isinstance(encoding, Encoding):
            raise TypeError(
                f"encoding is {kind_of(encoding)}; it must be one such as AddRandomWalkPE(8)"
            )
        if encoding.attr_name is None:
            raise ValueError(
                "PerEdgeType writes one field per edge type, which cannot all be concatenated to x; give the encoding "
                "an attr_name"
            )
        self.encoding = encoding

    def forward(self, data: HeteroData) -> HeteroData:
        if not isinstance(data, HeteroData):
            raise TypeError(
                f"{self!r} got {kind_of(data)}; it encodes one HeteroData or a batch of them"
            )
        for edge_type in data.edge_types:
            homogenised = homogenise(data, edge_type)
            values = compute_fields(homogenised.graphs, [self.encoding])
            suffix = re.sub(r"\W", "_", "__" + "__".join(edge_type))
            attach_hetero(data, [self.encoding], values, homogenised, suffix)
        return data

    def __repr__(self) -> str:
        return f"PerEdgeType({self.encoding!r})"
