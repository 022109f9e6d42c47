"""The random graphs of Chen et al., from a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

from graphpe.data import GraphSource, SplitGraphs
from graphpe.data.generated.cycle_counting import cycle_counts, standardized

_PARTS = {"train": "train_idx", "valid": "val_idx", "test": "test_idx"}


@dataclass(frozen=True)
class RandomGraphFile(GraphSource):
    """Graphs in a NumPy archive with their split; targets are standardised numbers of cycles, as in `CycleCounting`.

    The archive has ``num_nodes [B]``, ``edge_ptr [B + 1]``, ``edges [E, 2]``, each edge once, of which graph i has
    ``edges[edge_ptr[i]:edge_ptr[i + 1]]``, and ``train_idx``, ``val_idx`` and ``test_idx``.

    Args:
        path: The archive.
        lengths: Lengths of the cycles that are counted, one target for each.

    Raises:
        ValueError: If there is no such file, or an array is missing.
    """

    path: Path
    lengths: tuple[int, ...] = (3, 4, 5, 6)

    def load(self) -> SplitGraphs:
        graphs, index = read_graphs(Path(self.path))
        y = standardized(cycle_counts(graphs, tuple(self.lengths)), index["train"])
        for graph, target in zip(graphs, y, strict=True):
            graph.y = target[None]
        return SplitGraphs(graphs, index)


def read_graphs(path: Path) -> tuple[list[Data], dict[str, torch.Tensor]]:
    """The graphs, with both directions of each edge, and the numbers of those in each part."""
    if not path.is_file():
        raise ValueError(f"there is no file {path}; leave out --graphs to generate graphs instead")
    with np.load(path) as file:
        missing = {"num_nodes", "edge_ptr", "edges", *_PARTS.values()} - set(file.files)
        if missing:
            raise ValueError(f"{path} has no array {min(missing)!r}")
        arrays = {name: torch.from_numpy(file[name].astype(np.int64)) for name in file.files}
    lengths = arrays["edge_ptr"].diff().tolist()
    graphs = []
    for n, edges in zip(arrays["num_nodes"].tolist(), arrays["edges"].split(lengths), strict=True):
        edge_index = torch.cat([edges.T, edges.T.flip(0)], dim=1)
        graphs.append(Data(edge_index=edge_index, num_nodes=n))
    return graphs, {part: arrays[name] for part, name in _PARTS.items()}
