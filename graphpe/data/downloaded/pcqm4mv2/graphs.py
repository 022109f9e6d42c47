"""`PCQM4Mv2Graphs`: the molecules of PCQM4Mv2 as a PyG dataset that stays on disk."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor
from torch_geometric.data import Data, InMemoryDataset

from graphpe import files
from graphpe.checks import require_positive_integer
from graphpe.data.downloaded.ogb_folder import NUMPY_ARRAY
from graphpe.data.downloaded.pcqm4mv2.conversion import ARRAYS, convert
from graphpe.data.downloaded.pcqm4mv2.growing_array import mapped
from graphpe.data.molecules import import_rdkit

# As in ogb.lsc.
_URL = "https://dgl-data.s3-accelerate.amazonaws.com/dataset/OGB-LSC/pcqm4m-v2.zip"
_FOLDER = "pcqm4m-v2"
_TABLE = "raw/data.csv.gz"
_SPLIT = "split_dict.pt"

_LABELLED = ("train", "valid")
PARTS = (*_LABELLED, "test-dev", "test-challenge")


class PCQM4Mv2Graphs(InMemoryDataset):
    """PCQM4Mv2 of OGB's Large-Scale Challenge: 3.7 million molecules and the gap between their HOMO and LUMO.

    The graphs are those of ``ogb.lsc.PygPCQM4Mv2Dataset``: ``x`` int64 ``[n, 9]``, ``edge_index`` ``[2, e]``,
    ``edge_attr`` int64 ``[e, 3]``, and ``y`` float32 ``[1]``, the gap in eV, NaN in the two test parts, whose targets
    only OGB has. They are never all in memory, neither when the SMILES are converted nor later: the attributes are
    memory-mapped files, about 8 GB in ``processed/graphs``, of which the operating system reads what is used.

    The first use converts the SMILES, at 2 ms per molecule and process, and needs RDKit. An interrupted conversion
    goes on where it was. A missing folder is downloaded (60 MB) without asking; one of OGB's own can be used.

    Args:
        root: Folder that holds the dataset's folder, ``pcqm4m-v2``, with ``raw/data.csv.gz`` and ``split_dict.pt``.
        transform: PyG transform that runs on each access.
        workers: Processes that convert.

    Raises:
        ValueError: If the dataset can't be downloaded, a file of it is broken or missing, or RDKit is not installed.

    Reference: Hu et al., OGB-LSC: A Large-Scale Challenge for Machine Learning on Graphs (NeurIPS 2021 Datasets and
    Benchmarks).
    """

    def __init__(
        self,
        root: str | Path = "data/ogb",
        transform: Callable[[Data], Data] | None = None,
        workers: int = 1,
    ) -> None:
        require_positive_integer("workers", workers)
        folder = Path(root).expanduser() / _FOLDER
        graphs = folder / "processed" / "graphs"
        if not graphs.exists():
            import_rdkit()  # before a download that would be of no use
            with files.exclusive(folder):
                if not folder.exists():
                    _fetch(folder)
                _require_complete(folder)
                if not graphs.exists():
                    expected = sum(map(len, _read_split(folder).values()))
                    convert(folder / _TABLE, graphs, expected, workers)
        super().__init__(str(folder), transform)
        arrays = _read_arrays(graphs)
        slices = {"x": arrays["atom_slices"], "edge": arrays["edge_slices"]}
        self._data = Data(
            edge_index=arrays["edges"].t(),
            edge_attr=arrays["edge_attr"],
            x=arrays["x"],
            y=arrays["y"],
        )
        self.slices = {
            "edge_index": slices["edge"],
            "edge_attr": slices["edge"],
            "x": slices["x"],
            "y": torch.arange(len(arrays["y"]) + 1),
        }
        self._data_list = _NothingKept()

    def get_idx_split(self) -> dict[str, Tensor]:
        """The graph numbers of OGB's split by PubChem number.

        Returns:
            ``{"train": [..], "valid": [..], "test-dev": [..], "test-challenge": [..]}``, int64.

        Raises:
            ValueError: If the file of the split is missing or broken, does not fit the graphs, or has molecules for
                training or validation whose target is missing.
        """
        folder = Path(self.root)
        split = _read_split(folder)
        numbers = torch.cat(list(split.values()))
        count = len(self._data.y)
        outside = len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < count
        if outside or len(numbers.unique()) < len(numbers):
            raise ValueError(
                f"{folder / _SPLIT} is no split of the {count:,} molecules of {folder / _TABLE}: "
                f"{'it has numbers of others' if outside else 'it has a molecule in two parts'}; put complete files "
                "of one release there"
            )
        for part in _LABELLED:
            missing = self._data.y[split[part]].isnan()
            if missing.any():
                number = int(split[part][missing][0])
                raise ValueError(
                    f"molecule {number} in {folder / _TABLE} is for {part}, but has no target; put complete files of "
                    "one release there, and delete the folder processed"
                )
        return split


class _NothingKept:
    """In place of the list in which PyG keeps each graph that was asked for, until all are in memory."""

    def __getitem__(self, number: int) -> None:
        return None

    def __setitem__(self, number: int, graph: Data) -> None:
        pass


def _fetch(folder: Path) -> None:
    """Downloads and unpacks the dataset; the folder appears when it is complete."""
    with files.workspace(folder) as work:
        archive = work / "download.zip"
        remedy = f"put the unpacked dataset into {folder.absolute()} yourself"
        files.download(_URL, archive, "PCQM4Mv2", remedy)
        files.unpack(archive, work, "PCQM4Mv2")
        _require_complete(work / _FOLDER)
        try:
            os.replace(work / _FOLDER, folder)
        except OSError:
            if not folder.exists():  # otherwise another machine was faster
                raise


def _require_complete(folder: Path) -> None:
    missing = [name for name in (_TABLE, _SPLIT) if not (folder / name).is_file()]
    if missing:
        raise ValueError(
            f"{folder} is not a complete copy of PCQM4Mv2: {', '.join(missing)} missing; delete the folder to download "
            "the dataset again, or put a complete copy there"
        )


def _read_split(folder: Path) -> dict[str, Tensor]:
    try:
        # bytes are in the pickle of an array without values.
        with torch.serialization.safe_globals([*NUMPY_ARRAY, bytes]):
            parts = torch.load(folder / _SPLIT, weights_only=True)
        return {part: torch.as_tensor(parts[part], dtype=torch.long).flatten() for part in PARTS}
    except (
        OSError,
        EOFError,
        ValueError,
        TypeError,
        LookupError,
        RuntimeError,
        pickle.UnpicklingError,
    ) as error:
        raise ValueError(
            f"the split {folder / _SPLIT} is missing or broken ({files.one_line(error).split('. ')[0]}); put a "
            "complete copy there"
        ) from error


def _read_arrays(folder: Path) -> dict[str, Tensor]:
    arrays = {}
    for name in ARRAYS:
        path = folder / f"{name}.npy"
        try:
            arrays[name] = mapped(path)
        except (OSError, EOFError, ValueError) as error:
            raise ValueError(
                f"processed file {path} is broken or missing ({files.one_line(error)}); delete the folder {folder}, "
                "and it is made again"
            ) from error
    return arrays
