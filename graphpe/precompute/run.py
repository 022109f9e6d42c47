"""`Run`: one call of bulk encoding, the same for all kinds of datasets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch_geometric.data import Batch, Data, Dataset, HeteroData, InMemoryDataset

from graphpe.checks import require_boolean, require_choice, require_positive_integer
from graphpe.precompute.cache.entry import Entry
from graphpe.precompute.cache.filling import Request, Share, fill
from graphpe.precompute.computing import OnError
from graphpe.precompute.encoded import EncodedDataset
from graphpe.precompute.executors import Executor, executor_of
from graphpe.precompute.hetero import homogenise_all, is_hetero
from graphpe.precompute.progress import EncodingProgress
from graphpe.precompute.stored import GraphsInMemory, GraphsOnDisk, StoredGraphs
from graphpe.transforms import Encoding
from graphpe.transforms.core.attach import check_concatenation, written_fields
from graphpe.transforms.core.base import checked_encodings

if TYPE_CHECKING:
    from distributed import Client


class Run:
    """What is computed, and how; see `graphpe.encode` for the arguments.

    Attributes:
        encodings: The encodings.
        fields: The fields that they write, by name.
        executor: Where they are computed.
        request: How, and what is wanted of the cache.
        has_cache: Whether values are kept.
        progress: Whether to show how far it is.

    Raises:
        TypeError, ValueError: If an argument is wrong, or two encodings write the same field.
    """

    def __init__(
        self,
        encodings: Sequence[Encoding] | Encoding,
        *,
        cache_dir: str | Path | None,
        workers: int | None,
        executor: Literal["threads", "processes"] | Client,
        device: str | None,
        memory_budget: int | None,
        on_error: OnError,
        verify: bool,
        progress: bool,
    ) -> None:
        self.encodings = (
            [encodings] if isinstance(encodings, Encoding) else checked_encodings(encodings)
        )
        self.fields = written_fields(self.encodings)
        if memory_budget is not None:
            require_positive_integer("memory_budget", memory_budget)
            memory_budget = int(memory_budget)
        if workers is not None:
            require_positive_integer("workers", workers)
            workers = int(workers)
        require_choice("on_error", on_error, ("raise", "skip", "nan"))
        require_boolean("verify", verify)
        if on_error == "nan":
            _require_room_for_nan(self.encodings)
        if device is not None and isinstance(executor, str):  # a Dask worker may have another
            require_device(device)
        self.has_cache = cache_dir is not None
        self.executor: Executor = executor_of(executor, workers, device, self.has_cache)
        self.request = Request(
            _folder("." if cache_dir is None else cache_dir),
            memory_budget,
            device,
            on_error != "raise",
            verify,
        )
        self.progress = progress

    def read(self, dataset: Any) -> StoredGraphs:
        """The graphs of a dataset or a list, of ``HeteroData`` as homogeneous graphs.

        Raises:
            TypeError, ValueError: If it is of another kind, or a graph can't be read and all must be.
        """
        dataset = _without_fields(dataset)
        if holds_hetero(dataset):
            return GraphsInMemory(
                homogenise_all(self.hetero_graphs(dataset), self.encodings).graphs
            )
        go_on = self.request.go_on
        if isinstance(dataset, InMemoryDataset):
            stored = GraphsInMemory.of(dataset, go_on)
            check_concatenation(self.encodings, dataset._data)
        elif isinstance(dataset, Dataset):
            with EncodingProgress(self.progress, "Reading") as bar:
                bar.start(len(dataset), 0)
                return GraphsOnDisk(
                    dataset,
                    go_on,
                    lambda data, number: check_concatenation(self.encodings, data, number),
                    lambda count: bar.advance(count, 0),
                )
        else:
            stored = GraphsInMemory.of(dataset, go_on)
            for number, data in enumerate(dataset):
                if number not in stored.invalid:
                    check_concatenation(self.encodings, data, number)
        return stored

    def hetero_graphs(
        self, dataset: InMemoryDataset | Sequence[HeteroData]
    ) -> Sequence[HeteroData]:
        """The graphs of a dataset or a list that `holds_hetero`.

        Raises:
            TypeError, ValueError: If the dataset is not in memory, or ``on_error`` is not ``"raise"``.
        """
        if self.request.go_on:
            raise ValueError(
                "the graphs are HeteroData, of which none may fail; on_error must be 'raise' for them"
            )
        if not isinstance(dataset, Dataset):
            return dataset
        if not isinstance(dataset, InMemoryDataset):
            raise TypeError(
                f"{type(dataset).__name__} holds HeteroData outside of memory, which encode cannot wrap; encode "
                "list(dataset), or give the encoding as its pre_transform"
            )
        return [dataset.get(number) for number in dataset.indices()]

    def fill(
        self, graphs: StoredGraphs, executor: Executor, share: Share | None = None
    ) -> list[Entry]:
        """Computes what the cache lacks, under a progress bar; see `graphpe.precompute.cache.filling.fill`."""
        with EncodingProgress(self.progress) as bar:
            return fill(
                graphs, self.encodings, self.request, executor, bar.start, bar.advance, share
            )


def require_device(device: str) -> None:
    """Raises a ValueError unless this machine has a device."""
    try:
        wanted = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ValueError(
            f"device is {device!r}; it must be such as 'cpu', 'cuda' or 'cuda:1'"
        ) from error
    own = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    is_there = own is not None and wanted.type == own.type
    if wanted.type != "cpu" and not (
        is_there and (wanted.index or 0) < torch.accelerator.device_count()
    ):
        raise ValueError(
            f"device is {device!r}, which this machine lacks; use 'cpu', or leave it out"
        )


def require_graphs(dataset: Any) -> None:
    """Raises a TypeError unless it is a dataset or a list."""
    if isinstance(dataset, Data):
        what = "a Batch" if isinstance(dataset, Batch) else "a single Data"
        raise TypeError(
            f"encode takes a dataset or a list, got {what}; call the encoding on it: encoding(data)"
        )
    if not isinstance(dataset, Dataset | list | tuple):
        raise TypeError(
            f"encode got a {type(dataset).__name__}; wanted a torch_geometric Dataset or a list of Data"
        )


def holds_hetero(dataset: Dataset | Sequence[Any]) -> bool:
    """Whether the graphs of a dataset or a list are ``HeteroData``."""
    if isinstance(dataset, EncodedDataset):
        return False
    if isinstance(dataset, InMemoryDataset):
        return isinstance(dataset._data, HeteroData)
    if isinstance(dataset, Dataset):
        return len(dataset) > 0 and isinstance(dataset.get(dataset.indices()[0]), HeteroData)
    return is_hetero(dataset)


def _folder(cache_dir: str | Path) -> Path:
    """The folder of the cache, as it is called in every process."""
    try:
        return Path(cache_dir).expanduser().absolute()
    except RuntimeError as error:
        raise ValueError(f"cache_dir is {str(cache_dir)!r}, but there is no such user") from error


def _without_fields(dataset: Any) -> Any:
    """The dataset below those of earlier calls, whose fields would be read for nothing."""
    while isinstance(dataset, EncodedDataset):
        chosen = dataset._indices
        dataset = dataset.dataset if chosen is None else dataset.dataset.index_select(list(chosen))
    return dataset


def _require_room_for_nan(encodings: Sequence[Encoding]) -> None:
    """Raises if an encoding writes integers only, among which nobody would see that a graph has no values."""
    for encoding in encodings:
        fields = encoding.fields()
        if not any(field.dtype.is_floating_point or field.dtype.is_complex for field in fields):
            raise ValueError(
                f"on_error is 'nan', but {fields[0].name!r} of {encoding} is {fields[0].dtype}, which has no NaN; use "
                "on_error='skip'"
            )
