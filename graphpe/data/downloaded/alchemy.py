"""The Alchemy molecules that are used to compare encodings, loaded from the TU collection's raw files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.data.separate import separate
from torch_geometric.datasets import TUDataset

from graphpe import files
from graphpe.data.downloaded.base import PARTS_OF_PYG, DownloadedGraphs, SplitInOrder, collate_parts
from graphpe.data.downloaded.tu import read_tu
from graphpe.data.storage import Packed

_NAME = "alchemy_full"  # TU's name
_FILES = ("A", "graph_indicator", "graph_attributes", "node_labels", "edge_labels")
# The lists of graph numbers that came with SpeqNets and SignNet.
_SPLIT_URL = (
    "https://raw.githubusercontent.com/cptq/SignNet-BasisNet/"
    "a9cf8936ea961e706cfc50620908bb43ec980943/Alchemy/{}"
)
_SPLIT_FILES = {part: f"{name}_al_10.index" for part, name in PARTS_OF_PYG.items()}


class AlchemyGraphs(SplitInOrder, DownloadedGraphs):
    """The 12,000 molecules of Alchemy on which encodings are compared, with 12 properties from quantum chemistry.

    They are chosen out of the 202,579 of TU's ``alchemy_full`` by the published lists of 10,000, 1,000 and 1,000 graph
    numbers. The lists name some graphs twice; here each graph is in one part, once: test before valid before train.
    Targets ``y [1, 12]`` are standardised by the mean and the standard deviation over all 202,579 molecules, as
    published. ``x [n, 6]`` atom types and ``edge_attr [e, 4]`` bond types as one-hot floats; coordinates are left out.

    Args:
        root: Folder that holds the folder ``alchemy_full``; downloaded into it if absent.
        transform: PyG transform that runs on each access.

    Raises:
        ValueError: If the raw files can't be downloaded, or one is broken or missing.

    Reference: Chen et al., Alchemy: A Quantum Chemistry Dataset for Benchmarking AI Models (2019); the lists are those
    of Morris et al., SpeqNets (ICML 2022), as they come with Lim et al., Sign and Basis Invariant Networks (ICLR 2023).
    """

    title = "Alchemy"

    def __init__(
        self, root: str | Path = "data/tu", transform: Callable[[Data], Data] | None = None
    ) -> None:
        super().__init__(Path(root) / _NAME, transform)

    @property
    def raw_file_names(self) -> list[str]:
        return [*(f"{_NAME}_{name}.txt" for name in _FILES), *_SPLIT_FILES.values()]

    @property
    def processed_file_names(self) -> str:
        return "graphpe-subset.pt"  # beside the one of `TUGraphs`

    def fetch(self, work: Path) -> Path:
        archive, raw = work / "download.zip", work / _NAME
        files.download(f"{TUDataset.url}/{_NAME}.zip", archive, self.title, self.by_hand)
        files.unpack(archive, work, self.title)
        for file in _SPLIT_FILES.values():
            files.download(_SPLIT_URL.format(file), raw / file, file, self.by_hand)
        return raw

    def read(self) -> tuple[Packed, list[int]]:
        with self.reading(f"{_NAME}_*.txt"):
            data, slices, widths = read_tu(self.raw_dir, _NAME)
            data.x = data.x[:, widths["num_node_attributes"] :]
            data.y = standardized(data.y)
        taken = torch.zeros(len(data.y), dtype=torch.bool)
        chosen = {part: self._read_numbers(part, taken) for part in ("test", "valid", "train")}
        return collate_parts(
            [
                [separate(Data, data, number, slices, decrement=False) for number in chosen[part]]
                for part in PARTS_OF_PYG
            ]
        )

    def _read_numbers(self, part: str, taken: Tensor) -> list[int]:
        """The graph numbers of a part without those that are taken, which they are then."""
        with self.reading(_SPLIT_FILES[part]) as path:
            numbers = dict.fromkeys(int(number) for number in path.read_text().split(","))
            chosen = [number for number in numbers if not taken[number]]
            if min(chosen, default=0) < 0:
                raise ValueError(f"graph number {min(chosen)} is negative")
        taken[chosen] = True
        return chosen


def standardized(target: Tensor) -> Tensor:
    """Columns with mean 0 and variance 1 (unbiased)."""
    values = target.double()
    return ((values - values.mean(dim=0)) / values.std(dim=0)).float()
