"""`OGBFolder`: a folder of a dataset of the Open Graph Benchmark, loaded without OGB's loading faults."""

from __future__ import annotations

import csv
import difflib
import gzip
import io
import os
import pickle
import zlib
from abc import abstractmethod
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from importlib.resources import files as package_files
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from graphpe import files
from graphpe.data.storage import Packed, unpack
from graphpe.graphs import GraphBatch

# What a NumPy array is made of in a pickle, under the names that NumPy 1 and NumPy 2 write.
_reconstruct = np.empty(0).__reduce__()[0]
NUMPY_ARRAY = [
    (_reconstruct, "numpy.core.multiarray._reconstruct"),
    (_reconstruct, "numpy._core.multiarray._reconstruct"),
    np.ndarray,
    np.dtype,
    type(np.dtype(np.int64)),
]

# What reading a broken file raises, by pandas, numpy, gzip or torch.
_READING_ERRORS = (
    OSError,
    EOFError,
    ValueError,
    LookupError,
    RuntimeError,
    zlib.error,
    pickle.UnpicklingError,
)

_PARTS = ("train", "valid", "test")


class OGBFolder:
    """What datasets of graphs and of nodes share; mixed into OGB's own class.

    Attributes:
        package: OGB's package, ``ogb.graphproppred`` or ``ogb.nodeproppred``.
        items: What a label is of, ``"graph"`` or ``"node"``.
    """

    package: ClassVar[ModuleType]
    items: ClassVar[str]

    def __init__(
        self, name: str, root: str | Path, transform: Callable[[Data], Data] | None
    ) -> None:
        meta = self.find_meta(name)
        root = Path(root).expanduser()
        folder = _folder_of(name, root)
        if not folder.exists():
            with files.exclusive(folder):
                if not folder.exists():
                    self._fetch(name, meta, folder)
        self._check_complete(name, meta, folder)
        # OGB's own __init__ loads the processed file with torch.load, which gives what `pack` made.
        with files.broken_processed_file(folder / "processed" / self.processed_file_names):
            super().__init__(name, str(root), transform)
        self._data = unpack(self._data)

    @abstractmethod
    def collate_raw(self, graphs: list[Data], labels: np.ndarray) -> Packed:
        """The processed file, from the graphs and rows of labels in the raw files."""

    @classmethod
    def find_meta(cls, name: str) -> dict[str, str]:
        """What OGB's table says about a dataset.

        Raises:
            ValueError: If there is no such dataset.
        """
        table = package_files(cls.package.__name__) / "master.csv"
        rows = list(csv.reader(io.StringIO(table.read_text())))
        names = rows[0][1:]
        if name not in names:
            close = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise ValueError(
                f"there is no OGB {cls.items} dataset {name!r}; {hint}the names are {', '.join(names)}"
            )
        column = rows[0].index(name)
        return {row[0]: row[column] for row in rows[1:]}

    @property
    def processed_file_names(self) -> str:
        return "graphpe.pt"

    def _process(self) -> None:
        # PyG's hook, which would write and compare a record of pre_transform and isn't safe for two processes.
        path = Path(self.processed_paths[0])
        if path.exists():
            return
        with files.exclusive(Path(self.root)):
            if not path.exists():
                with files.status(f"Processing {self.name}"):
                    self.process()

    def process(self) -> None:
        """Reads OGB's raw files into the processed file."""
        raw = Path(self.raw_dir)
        try:
            # The reader prints and draws bars of its own.
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                graphs = self._read_graphs()
                labels = self._read_labels()
        except _READING_ERRORS as error:
            broken = _first_broken(raw) or raw
            raise ValueError(
                f"{self.name}: raw file {broken} is broken or truncated ({files.one_line(error)}); delete the folder "
                f"{self.root} to download the dataset again, or put a complete copy there"
            ) from error
        packed = self.collate_raw(graphs, labels)
        columns, self.slices = packed
        self._data = unpack(columns)
        self._check_graphs()
        files.save(packed, Path(self.processed_paths[0]))

    def read_split(self, split_type: str | None, count: int) -> dict[str, Tensor]:
        """The numbers of graphs or nodes, of which there are ``count``, in each part."""
        folder = Path(self.root) / "split" / (split_type or self.meta_info["split"])
        try:
            index = _read_split(folder)
        except _READING_ERRORS as error:
            raise ValueError(
                f"{self.name}: the split in {folder} is missing or broken ({files.one_line(error)}); delete the "
                f"folder {self.root} to download the dataset again, or put a complete copy there"
            ) from error
        numbers = torch.cat(list(index.values()))
        if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < count:
            raise ValueError(
                f"{self.name}: the split in {folder} has {self.items} numbers from {int(numbers.min())} to "
                f"{int(numbers.max())}, but there are {count} {self.items}s; split and graphs are of different datasets"
            )
        if len(numbers.unique()) < len(numbers):
            raise ValueError(
                f"{self.name}: the split in {folder} has a {self.items} in more than one part"
            )
        return index

    def _read_graphs(self) -> list[Data]:
        from ogb.io.read_graph_pyg import read_graph_pyg

        return read_graph_pyg(
            self.raw_dir,
            add_inverse_edge=self.meta_info["add_inverse_edge"] == "True",
            additional_node_files=_additional_files(self.meta_info, "node"),
            additional_edge_files=_additional_files(self.meta_info, "edge"),
        )

    def _read_labels(self) -> np.ndarray:
        import pandas

        return pandas.read_csv(
            Path(self.raw_dir) / f"{self.items}-label.csv.gz", header=None
        ).to_numpy()

    def _check_graphs(self) -> None:
        """Checks edges and the lengths of the raw files, which OGB's reader does not."""
        try:
            graphs = GraphBatch.of(self)
        except ValueError as error:
            raise ValueError(
                f"{self.name}: raw file {self.raw_dir}/edge.csv.gz: {error}"
            ) from error
        for file, attribute, wanted in (
            ("node-feat", "x", graphs.num_nodes),
            ("edge-feat", "edge_attr", graphs.edge_count),
            *((name, name, graphs.num_nodes) for name in _additional_files(self.meta_info, "node")),
        ):
            if attribute not in self._data:
                continue
            # PyG keeps a dataset of one graph uncollated.
            rows = (
                torch.tensor([len(self._data[attribute])])
                if self.slices is None
                else self.slices[attribute].diff()
            )
            if not torch.equal(rows, wanted):
                graph = int((rows != wanted).nonzero()[0])
                raise ValueError(
                    f"{self.name}: graph {graph} has {int(rows[graph])} rows in {file}.csv.gz but needs "
                    f"{int(wanted[graph])}; the raw files in {self.raw_dir} are incomplete, put a complete copy there"
                )

    @classmethod
    def _raw_files(cls, meta: dict[str, str]) -> list[str]:
        names = ["edge", "num-node-list", "num-edge-list", f"{cls.items}-label"]
        names += ["node-feat"] if meta["has_node_attr"] == "True" else []
        names += ["edge-feat"] if meta["has_edge_attr"] == "True" else []
        names += [*_additional_files(meta, "node"), *_additional_files(meta, "edge")]
        return [f"raw/{name}.csv.gz" for name in names]

    @classmethod
    def _check_complete(cls, name: str, meta: dict[str, str], folder: Path) -> None:
        """Raises a ValueError if the folder lacks a file, where OGB would ask a question or delete the folder."""
        wanted = [f"RELEASE_v{meta['version']}.txt", *cls._raw_files(meta)]
        missing = [file for file in wanted if not _is_there(folder / file)]
        if missing:
            raise ValueError(
                f"{folder} is not a complete copy of {name}, version {meta['version']}: {missing[0]} is missing"
                f"{f' and {len(missing) - 1} more' if len(missing) > 1 else ''}; delete the folder to download the "
                "dataset again, or put a complete copy there"
            )

    @classmethod
    def _fetch(cls, name: str, meta: dict[str, str], folder: Path) -> None:
        """Downloads and unpacks a dataset; the folder appears when it is complete."""
        with files.workspace(folder) as work:
            archive = work / "download.zip"
            files.download(
                meta["url"],
                archive,
                name,
                remedy=f"put the unpacked dataset into {folder.absolute()} yourself",
            )
            files.unpack(archive, work, name)
            unpacked = work / meta["download_name"]
            cls._check_complete(name, meta, unpacked)
            try:
                os.replace(unpacked, folder)
            except OSError:
                if not folder.exists():  # otherwise another machine was faster
                    raise


def _folder_of(name: str, root: Path) -> Path:
    """The folder that OGB uses: with the suffix ``_pyg`` if an old version of it left one like that."""
    folder = root / name.replace("-", "_")
    old = folder.with_name(f"{folder.name}_pyg")
    return old if old.exists() else folder


def _is_there(path: Path) -> bool:
    # OGB's reader renames this file of ogbn-proteins when it first meets it.
    old = path.with_name(path.name.replace("node_species", "species"))
    return path.is_file() or old.is_file()


def _additional_files(meta: dict[str, str], level: str) -> list[str]:
    """Names of the attributes that have raw files of their own, called like them."""
    names = meta[f"additional {level} files"]
    return [] if names == "None" else names.split(",")


def _read_split(folder: Path) -> dict[str, Tensor]:
    saved = folder / "split_dict.pt"
    if saved.is_file():
        with torch.serialization.safe_globals(NUMPY_ARRAY):
            parts = torch.load(saved, weights_only=True)
    else:
        parts = {
            part: np.loadtxt(folder / f"{part}.csv.gz", dtype=np.int64, ndmin=1) for part in _PARTS
        }
    return {part: torch.as_tensor(parts[part], dtype=torch.long).flatten() for part in _PARTS}


def _first_broken(raw: Path) -> Path | None:
    """The first file that does not decompress to its end."""
    for path in sorted(raw.glob("*.csv.gz")):
        try:
            with gzip.open(path) as file:
                while file.read(1 << 20):
                    pass
        except (OSError, EOFError, zlib.error):
            return path
    return None
