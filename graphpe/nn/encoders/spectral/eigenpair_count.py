"""The field that says how many eigenpairs of each graph are not padding."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor
from torch_geometric.data import Data

from graphpe.nn.encoders.base import FieldRequirement
from graphpe.nn.layout import GraphLayout


@dataclass(frozen=True)
class EigenpairCount(FieldRequirement):
    """The number of eigenpairs of each graph, ``[B, 1]``: from 0 to k, and at most one per node.

    Args:
        k: Number of columns of the eigenvectors.
    """

    k: int = field(kw_only=True)

    def read(self, data: Data, layout: GraphLayout, encoder: str) -> Tensor:
        """As of any field.

        Raises:
            ValueError: Also for a number of eigenpairs that a graph can't have.
        """
        counts = super().read(data, layout, encoder)
        count, sizes = counts[:, 0].long(), layout.sizes
        outside = (count < 0) | (count > sizes.clamp(max=self.k))
        if bool(outside.any()):
            graph = int(outside.nonzero()[0])
            raise ValueError(
                f"{self.name!r} is {int(count[graph])} in graph {graph}, which has {int(sizes[graph])} nodes and "
                f"{self.k} columns of eigenvectors; it must be from 0 to the smaller of both, as {self.transform} "
                "writes it"
            )
        return counts
