"""The ZINC molecules of Benchmarking Graph Neural Networks, loaded from PyG's raw files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor
from torch_geometric import datasets
from torch_geometric.data import Data, InMemoryDataset

from graphpe.data import files
from graphpe.data.storage import pack, unpack
from graphpe.data.tensor_pickle import load_tensor_pickle

# Our names of the parts, which are OGB's, and those of the files.
_FILE_OF_PART = {"train": "train", "valid": "val", "test": "test"}


class ZINC(InMemoryDataset):
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

    def __init__(
        self,
        root: str | Path = "data/zinc",
        subset: bool = True,
        transform: Callable[[Data], Data] | None = None,
    ) -> None:
        self.subset = subset
        super().__init__(str(Path(root).expanduser()), transform)
        (columns, self.slices), self._sizes = files.load(Path(self.processed_paths[0]))
        self._data = unpack(columns)

    @property
    def raw_file_names(self) -> list[str]:
        kinds = ("pickle", "index") if self.subset else ("pickle",)
        return [f"{name}.{kind}" for name in _FILE_OF_PART.values() for kind in kinds]

    @property
    def processed_dir(self) -> str:
        return str(Path(self.root) / ("subset" if self.subset else "full") / "processed")

    @property
    def processed_file_names(self) -> str:
        return "graphpe.pt"

    def get_idx_split(self) -> dict[str, Tensor]:
        """The graph numbers of the official split: ``{"train": [..], "valid": [..], "test": [..]}``, int64."""
        numbers = torch.arange(sum(self._sizes)).split(self._sizes)
        return dict(zip(_FILE_OF_PART, numbers, strict=True))

    def download(self) -> None:
        """Downloads the raw files; ``raw/`` appears when it is complete."""
        raw = Path(self.raw_dir)
        remedy = f"put train, val and test (.pickle and .index) into {raw.absolute()} yourself"
        with files.workspace(raw) as work:
            archive = work / "download.zip"
            files.download(datasets.ZINC.url, archive, "ZINC", remedy)
            files.unpack(archive, work, "ZINC")
            unpacked = work / "molecules"
            for name in _FILE_OF_PART.values():
                url = datasets.ZINC.split_url.format(name)
                files.download(url, unpacked / f"{name}.index", f"ZINC {name}.index", remedy)
            try:
                os.replace(unpacked, raw)
            except OSError:
                if not raw.exists():  # otherwise another machine was faster
                    raise

    def process(self) -> None:
        """Reads the raw files into the processed file."""
        parts = [self._read_part(name) for name in _FILE_OF_PART.values()]
        data, slices = self.collate([graph for part in parts for graph in part])
        sizes = [len(part) for part in parts]
        files.save((pack(data, slices), sizes), Path(self.processed_paths[0]))

    def _download(self) -> None:
        # PyG's hook, which would make an empty folder first, and removes a folder that lacks a file.
        raw = Path(self.raw_dir)
        if not raw.exists():
            with files.exclusive(Path(self.root)):
                if not raw.exists():
                    self.download()
        missing = [name for name in self.raw_file_names if not (raw / name).is_file()]
        if missing:
            raise ValueError(
                f"{raw} is not a complete copy of ZINC: {', '.join(missing)} missing; delete the folder to download "
                "it again, or put the files there"
            )

    def _process(self) -> None:
        # PyG's hook, which would write and compare a record of pre_transform and isn't safe for two processes.
        path = Path(self.processed_paths[0])
        if path.exists():
            return
        with files.exclusive(Path(self.root)):
            if not path.exists():
                with files.status("Processing ZINC"):
                    self.process()

    def _read_part(self, name: str) -> list[Data]:
        path = Path(self.raw_dir) / f"{name}.pickle"
        remedy = (
            f"delete the folder {self.raw_dir} to download it again, or put a complete copy there"
        )
        try:
            molecules = load_tensor_pickle(path)
            if self.subset:
                path = path.with_suffix(".index")
                molecules = [molecules[int(i)] for i in path.read_text().strip(", \n").split(",")]
            return [_graph(molecule) for molecule in molecules]
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise ValueError(
                f"ZINC: raw file {path} is broken or truncated ({files.one_line(error)}); {remedy}"
            ) from error


def _graph(molecule: dict[str, Tensor]) -> Data:
    bonds = molecule["bond_type"]
    edge_index = bonds.nonzero().t().contiguous()
    return Data(
        x=molecule["atom_type"].long().view(-1, 1),
        edge_index=edge_index,
        edge_attr=bonds[edge_index[0], edge_index[1]].long(),
        y=molecule["logP_SA_cycle_normalized"].float(),
    )
