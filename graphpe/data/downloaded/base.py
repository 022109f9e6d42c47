"""`DownloadedGraphs`: the base of datasets that are downloaded, read once, and kept as one file."""

from __future__ import annotations

import os
import pickle
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data, InMemoryDataset

from graphpe import files
from graphpe.data.storage import Packed, pack_graphs, unpack
from graphpe.graphs import GraphBatch

# What reading a broken raw file raises.
_READING_ERRORS = (
    OSError,
    EOFError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    RuntimeError,
    pickle.UnpicklingError,
    zipfile.BadZipFile,
    zlib.error,
)


# Our names of the parts, which are OGB's, and those of PyG's files.
PARTS_OF_PYG = {"train": "train", "valid": "val", "test": "test"}


class DownloadedGraphs(InMemoryDataset, ABC):
    """Graphs that are downloaded as raw files, read from them once, and then kept in ``processed/graphpe.pt``.

    A subclass sets ``title`` before it calls this constructor, and says where the raw files come from (`fetch`), what
    they are called (``raw_file_names``), and what is in them (`read`). ``raw/`` appears when it is complete; processes
    that start at the same time prepare the data once, and a killed one leaves nothing that looks complete.

    Args:
        root: Folder with ``raw/``; downloaded if it isn't there.
        transform: PyG transform that runs on each access.

    Attributes:
        title: What the dataset is called in messages.

    Raises:
        ValueError: If the raw files can't be downloaded, or one is broken or missing.
    """

    title: str

    def __init__(self, root: str | Path, transform: Callable[[Data], Data] | None = None) -> None:
        super().__init__(str(Path(root).expanduser()), transform)
        (columns, self.slices), self._kept = files.load(Path(self.processed_paths[0]))
        self._data = unpack(columns)

    @abstractmethod
    def fetch(self, work: Path) -> Path:
        """Downloads the raw files into a folder of this dataset's own; gives the one that becomes ``raw/``."""

    @abstractmethod
    def read(self) -> tuple[Packed, Any]:
        """The graphs in the raw files, and plain values to keep with them, which become ``_kept``."""

    @property
    def processed_file_names(self) -> str:
        return "graphpe.pt"

    @property
    def by_hand(self) -> str:
        """What to do without a network, for errors."""
        names = ", ".join(self.raw_file_names)
        return f"put {names} into {Path(self.raw_dir).absolute()} yourself"

    def download(self) -> None:
        """Downloads the raw files; ``raw/`` appears when it is complete."""
        raw = Path(self.raw_dir)
        with files.workspace(raw) as work:
            complete = self.fetch(work)
            try:
                os.replace(complete, raw)
            except OSError:
                if not raw.exists():  # otherwise another machine was faster
                    raise

    def process(self) -> None:
        """Reads the raw files into the processed file."""
        packed, kept = self.read()
        columns, self.slices = packed
        self._data = unpack(columns)
        try:
            GraphBatch.of(self)  # checks the edges
        except ValueError as error:
            raise ValueError(
                f"{self.title}: the raw files in {self.raw_dir} are wrong: {error}; delete the folder to download "
                "them again, or put a complete copy there"
            ) from error
        files.save((packed, kept), Path(self.processed_paths[0]))

    @contextmanager
    def reading(self, file: str) -> Iterator[Path]:
        """Gives the path of a raw file, and turns what reading it raises into one line that names it."""
        path = Path(self.raw_dir) / file
        try:
            yield path
        except _READING_ERRORS as error:
            raise ValueError(
                f"{self.title}: raw file {path} is broken or truncated ({files.one_line(error)}); delete the folder "
                f"{self.raw_dir} to download it again, or put a complete copy there"
            ) from error

    def _download(self) -> None:
        # PyG's hook, which would make an empty folder first, and removes a folder that lacks a file.
        raw = Path(self.raw_dir)
        if not raw.exists():
            with files.exclusive(raw.parent):
                if not raw.exists():
                    self.download()
        missing = [name for name in self.raw_file_names if not (raw / name).is_file()]
        if missing:
            raise ValueError(
                f"{raw} is not a complete copy of {self.title}: {', '.join(missing)} missing; delete the folder to "
                "download it again, or put the files there"
            )

    def _process(self) -> None:
        # PyG's hook, which would write and compare a record of pre_transform and isn't safe for two processes.
        path = Path(self.processed_paths[0])
        if path.exists():
            return
        with files.exclusive(Path(self.raw_dir).parent):
            if not path.exists():
                with files.status(f"Processing {self.title}"):
                    self.process()


class SplitInOrder(InMemoryDataset):
    """For `DownloadedGraphs` whose `read` gives train, valid and test one after the other, and keeps their sizes."""

    def get_idx_split(self) -> dict[str, Tensor]:
        """The graph numbers of the official split: ``{"train": [..], "valid": [..], "test": [..]}``, int64."""
        numbers = torch.arange(sum(self._kept)).split(self._kept)
        return dict(zip(PARTS_OF_PYG, numbers, strict=True))


def collate_parts(parts: Sequence[Sequence[Data]]) -> tuple[Packed, list[int]]:
    """The graphs of several parts, and their sizes, as `SplitInOrder` wants them."""
    graphs = [graph for part in parts for graph in part]
    return pack_graphs(graphs), [len(part) for part in parts]
