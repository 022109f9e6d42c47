"""The graph datasets of TU Dortmund."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from graphpe.data.downloaded.tu import TUGraphs
from graphpe.data.folds import check_fold, fold_split
from graphpe.data.sources.base import GraphSource, SplitGraphs


@dataclass(frozen=True)
class TUSource(GraphSource):
    """A dataset of the TU collection and one split of its cross-validation; see `TUGraphs` and `fold_split`.

    There is no official split. The result is the mean over the folds, each tested with the checkpoint that the fold
    after it has chosen.

    Args:
        name: TU's name of the dataset, e.g. ``"PROTEINS"``.
        root: Folder that holds the dataset's folder; downloaded into it if absent.
        fold: The fold to test on, from 0.
        folds: Number of folds.
        seed: Of the division into folds.
        use_node_attr: Whether ``x`` has the continuous attributes of nodes.
        use_edge_attr: Whether ``edge_attr`` has the continuous attributes of edges.
    """

    name: str
    root: Path = Path("data/tu")
    fold: int = 0
    folds: int = 10
    seed: int = 0
    use_node_attr: bool = False
    use_edge_attr: bool = False

    def __post_init__(self) -> None:
        check_fold(self.folds, self.fold, self.seed)

    def load(self) -> SplitGraphs:
        graphs = TUGraphs(self.name, self.root, self.use_node_attr, self.use_edge_attr)
        return SplitGraphs(graphs, fold_split(graphs._data.y, self.folds, self.fold, self.seed))
