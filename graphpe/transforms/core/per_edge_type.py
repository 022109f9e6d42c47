"""`PerEdgeType`: an encoding of each relation of a heterogeneous graph on its own."""

from __future__ import annotations

import dataclasses
import re

from torch_geometric.data import HeteroData
from torch_geometric.transforms import BaseTransform

from graphpe.transforms.core.base import Encoding, kind_of
from graphpe.transforms.core.engine import compute_fields
from graphpe.transforms.core.hetero import EdgeType, attach_hetero, homogenise


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
        suffixes = self._suffixes(data.edge_types)
        for edge_type, suffix in suffixes.items():
            homogenised = homogenise(data, edge_type)
            values = compute_fields(homogenised.graphs, [self.encoding])
            attach_hetero(data, [self.encoding], values, homogenised, suffix)
        return data

    def _suffixes(self, edge_types: list[EdgeType]) -> dict[EdgeType, str]:
        """What is put behind a name for each edge type; raises before anything is written."""
        suffixes = {kind: re.sub(r"\W", "_", "__" + "__".join(kind)) for kind in edge_types}
        if len(set(suffixes.values())) < len(suffixes):
            raise ValueError(
                f"the edge types {edge_types} differ only in signs that a name cannot have; rename one of them"
            )
        for kind, suffix in suffixes.items():
            for field in self.encoding.fields():
                try:
                    dataclasses.replace(field, name=field.name + suffix)
                except ValueError as error:
                    raise ValueError(
                        f"edge type {kind} cannot be in a name: {error}; rename it"
                    ) from None
        return suffixes

    def __repr__(self) -> str:
        return f"PerEdgeType({self.encoding!r})"
