"""`GraphSource`: settings from which a dataset can be loaded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from torch import Tensor
from torch.utils.data import Subset
from torch_geometric.data import Data, Dataset

from graphpe.fields import Field

# Graphs by number.
Part = Dataset | Subset | Sequence[Data]


class SplitGraphs(NamedTuple):
    """Graphs and which of them are in which part.

    Args:
        graphs: All graphs: a PyG dataset or a list of ``Data``.
        index: The graph numbers of ``"train"``, ``"valid"`` and ``"test"``, int64.
    """

    graphs: Dataset | list[Data]
    index: Mapping[str, Tensor]


class GraphSource(ABC):
    """Settings from which a dataset can be loaded, in each process on its own.

    Subclass it to train on your own data: it needs `load`. A subclass can be named in a configuration file by
    ``class_path`` and ``init_args``.

    Attributes:
        encodes_batches: Whether encodings are attached to each batch when it is made, as a dataset needs that has no
            room in memory for the encodings of all its graphs. Otherwise, and with a cache, which is on disk, all
            graphs are encoded ahead.
    """

    # Without annotation: jsonargparse takes a ClassVar for a setting, and then none of a subclass's types.
    encodes_batches = False

    @abstractmethod
    def load(self) -> SplitGraphs:
        """The graphs and their split."""

    def part(self, graphs: Dataset | list[Data], index: Mapping[str, Tensor], name: str) -> Part:
        """The graphs of a part, out of what `load` gives, after encoding.

        Override it where parts aren't told apart by graphs, as the nodes of one graph are, say.

        Args:
            graphs: All graphs, encoded.
            index: As `load` gives it.
            name: ``"train"``, ``"valid"`` or ``"test"``.
        """
        chosen = index[name]
        # A part that still knows the numbers of its graphs in the whole.
        return graphs[chosen] if isinstance(graphs, Dataset) else Subset(graphs, chosen.tolist())

    def prepare(self) -> None:
        """Downloads and processes, so that `load` needs only to read; called once per machine."""
        self.load()

    @property
    def fields(self) -> dict[str, Field]:
        """The fields that the graphs come with, as far as known without loading them."""
        return {}
