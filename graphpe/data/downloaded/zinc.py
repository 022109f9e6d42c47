"""The ZINC molecules of Benchmarking Graph Neural Networks, loaded from PyG's raw files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from torch import Tensor
from torch_geometric import datasets
from torch_geometric.data import Data

from graphpe import files
from graphpe.data.downloaded.base import PARTS_OF_PYG, DownloadedGraphs, SplitInOrder, collate_parts
from graphpe.data.storage import Packed
from graphpe.data.tensor_pickle import load_tensor_pickle


class ZINC(SplitInOrder, DownloadedGraphs):
    """ZINC: molecules with their penalised logP, 12,000 (``subset=True``) or 249,456 of them, as one dataset.

    The graphs are those of ``torch_geometric.datasets.ZINC`` and so are the raw files and where they come from; here
    the three splits are one dataset with `get_idx_split`, as in OGB. ``x [n, 1]`` atom types 0 to 27,
    ``edge_attr [e]`` bond types 1 to 3, ``y [1]``. The raw files are pickles: only tensors are read from them, and no
    code in them is run. The processed graphs go to a file of their own, ``<subset or full>/processed/graphpe.pt``.

    Args:
        root: Folder with ``raw/``; downloaded if it isn't there.
        subset: The 12,000 molecules of the benchmark instead of all.
        transform: PyG transform that runs on each access.

    Raises:
        ValueError: If the raw files can't be downloaded, or one is broken or missing.

    Reference: Dwivedi et al., Benchmarking Graph Neural Networks (JMLR 2023).
    """

    title = "ZINC"

    def __init__(
        self,
        root: str | Path = "data/zinc",
        subset: bool = True,
        transform: Callable[[Data], Data] | None = None,
    ) -> None:
        self.subset = subset
        super().__init__(root, transform)

    @property
    def raw_file_names(self) -> list[str]:
        kinds = ("pickle", "index") if self.subset else ("pickle",)
        return [f"{name}.{kind}" for name in PARTS_OF_PYG.values() for kind in kinds]

    @property
    def processed_dir(self) -> str:
        return str(Path(self.root) / ("subset" if self.subset else "full") / "processed")

    @property
    def by_hand(self) -> str:
        raw = Path(self.raw_dir).absolute()
        return f"put train, val and test (.pickle and .index) into {raw} yourself"

    def fetch(self, work: Path) -> Path:
        archive, raw = work / "download.zip", work / "molecules"
        files.download(datasets.ZINC.url, archive, self.title, self.by_hand)
        files.unpack(archive, work, self.title)
        for name in PARTS_OF_PYG.values():
            url = datasets.ZINC.split_url.format(name)
            files.download(url, raw / f"{name}.index", f"{self.title} {name}.index", self.by_hand)
        return raw

    def read(self) -> tuple[Packed, list[int]]:
        return collate_parts([self._read_part(name) for name in PARTS_OF_PYG.values()])

    def _read_part(self, name: str) -> list[Data]:
        with self.reading(f"{name}.pickle") as path:
            molecules = load_tensor_pickle(path)
        if self.subset:
            with self.reading(f"{name}.index") as path:
                numbers = path.read_text().strip(", \n").split(",")
                molecules = [molecules[int(number)] for number in numbers]
        with self.reading(f"{name}.pickle"):
            return [_graph(molecule) for molecule in molecules]


def _graph(molecule: dict[str, Tensor]) -> Data:
    bonds = molecule["bond_type"]
    edge_index = bonds.nonzero().t().contiguous()
    return Data(
        x=molecule["atom_type"].long().view(-1, 1),
        edge_index=edge_index,
        edge_attr=bonds[edge_index[0], edge_index[1]].long(),
        y=molecule["logP_SA_cycle_normalized"].float(),
    )
