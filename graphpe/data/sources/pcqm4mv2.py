"""The molecules of PCQM4Mv2."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from torch import Tensor
from torch.utils.data import Subset
from torch_geometric.data import Data, Dataset

from graphpe.checks import require_choice
from graphpe.data.downloaded.pcqm4mv2 import PCQM4Mv2Graphs
from graphpe.data.sources.base import GraphSource, Part, SplitGraphs

_TESTS = ("valid", "test-dev", "test-challenge")


@dataclass(frozen=True)
class PCQM4Mv2Source(GraphSource):
    """PCQM4Mv2 of OGB's Large-Scale Challenge, 3.7 million molecules that stay on disk; see `PCQM4Mv2Graphs`.

    OGB publishes no targets for its two test parts, so the published figures are of its validation part, and by
    default that is the test part here too: test and validation results are the same molecules'. With
    ``test="test-dev"`` or ``"test-challenge"`` the test part is a hidden one, which can't be scored but predicted:
    train with the default, then give ``graphpe predict`` this setting. It writes the predictions of that part, of which
    `graphpe.benchmark.ogb.write_submission` makes the file that OGB's server takes.

    Encodings are attached to each batch when it is made, so that the encodings of all molecules are never in memory.
    With ``cache_dir`` all molecules are encoded ahead, and batches read from the cache.

    Args:
        root: Folder that holds the dataset's folder ``pcqm4m-v2``; downloaded into it if absent.
        test: OGB's part that is tested on and predicted.
        workers: Processes that convert the molecules the first time.

    Raises:
        ValueError: If ``test`` is none of OGB's parts.
    """

    root: Path = Path("data/ogb")
    test: Literal["valid", "test-dev", "test-challenge"] = "valid"
    workers: int = 1

    # Without annotation: see GraphSource.
    encodes_batches = True

    def __post_init__(self) -> None:
        require_choice("test", self.test, _TESTS)

    def load(self) -> SplitGraphs:
        graphs = PCQM4Mv2Graphs(self.root, workers=self.workers)
        split = graphs.get_idx_split()
        index = {"train": split["train"], "valid": split["valid"], "test": split[self.test]}
        return SplitGraphs(graphs, index)

    def part(self, graphs: Dataset | list[Data], index: dict[str, Tensor], name: str) -> Part:
        # The numbers stay a tensor; as PyG's list they would take five times as much memory.
        return Subset(graphs, index[name])  # type: ignore[arg-type]
