"""`encode`: encodings of a whole dataset at once."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch_geometric.data import Batch, Data, Dataset, HeteroData, InMemoryDataset

from graphpe.checks import require_positive_integer
from graphpe.graphs import GraphBatch
from graphpe.precompute import hetero
from graphpe.precompute.cache.values import cached_values
from graphpe.precompute.encoded import EncodedDataset, EncodedList, attach_rows, attach_to_storage
from graphpe.transforms import Encoding
from graphpe.transforms.core.attach import Values, check_concatenation, written_fields
from graphpe.transforms.core.base import checked_encodings
from graphpe.transforms.core.engine import compute_fields

AnyDataset = TypeVar("AnyDataset", bound=Any)


def encode(
    dataset: AnyDataset,
    encodings: Sequence[Encoding] | Encoding,
    *,
    memory_budget: int | None = None,
    workers: int | None = None,
    progress: bool = True,
    cache_dir: str | Path | None = None,
) -> AnyDataset:
    """Encodes all graphs of a dataset and returns the dataset with the fields attached.

    The result indexes, slices and iterates like the original, whose tensors it shares; the original is not changed.
    Values are the same to the bit as those of the encoding used as a transform on one graph.

    Args:
        dataset: A PyG or OGB dataset, or a list of ``Data``, or of ``HeteroData`` with the same types. Encodings
            describe the graphs as stored: a ``dataset.transform`` still runs on each access, after the encodings.
        encodings: What to compute. Encodings given together share what they have in common: operators,
            eigendecompositions, distances.
        memory_budget: Bytes for the graphs that are worked on at the same time; None: 64 MiB, or what the largest
            dense graph takes, at most 2 GiB where an encoding has no sparse form. (The sparse eigensolver of graphs
            over ``dense_limit`` has a limit of its own, 1 GiB.)
        workers: Number of threads; None takes all cores that this process may use.
        progress: Show a progress bar on stderr, if that is a terminal.
        cache_dir: Folder in which values are kept, an entry for each encoding and each content of a dataset. What is
            there is read, and only what is missing is computed. None: nothing is kept.

    Returns:
        - for an ``InMemoryDataset``: a dataset of the same class;
        - for another PyG ``Dataset``: an `EncodedDataset` around it;
        - for a list: an `EncodedList`, which is a list.

        All of them have a ``fields`` attribute, a dictionary from name to `graphpe.Field`.

    Raises:
        TypeError: If ``dataset`` or an encoding is of another kind.
        ValueError: If a graph is invalid (the message names it), or two encodings write the same field.
    """
    single = isinstance(encodings, Encoding)
    encodings = [encodings] if single else checked_encodings(encodings)
    fields = written_fields(encodings)
    if memory_budget is not None:
        require_positive_integer("memory_budget", memory_budget)
        memory_budget = int(memory_budget)
    if workers is not None:
        require_positive_integer("workers", workers)
        workers = int(workers)

    if isinstance(dataset, Data):
        what = "a Batch" if isinstance(dataset, Batch) else "a single Data"
        raise TypeError(
            f"encode takes a dataset or a list, got {what}; call the encoding on it: encoding(data)"
        )

    def compute(graphs: GraphBatch) -> Values:
        return _compute(graphs, encodings, memory_budget, workers, progress, cache_dir)

    if isinstance(dataset, InMemoryDataset) and isinstance(dataset._data, HeteroData):
        _note_transform(dataset)
        stored = [dataset.get(number) for number in dataset.indices()]
        return hetero.dataset_of(dataset, _encode_hetero(stored, encodings, compute), fields)
    if isinstance(dataset, InMemoryDataset):
        _note_transform(dataset)
        graphs = GraphBatch.of(dataset)
        check_concatenation(encodings, dataset._data)
        values = compute(graphs)
        return attach_to_storage(dataset, encodings, values, graphs, fields)
    if isinstance(dataset, Dataset):
        _note_transform(dataset)
        stored = [dataset.get(number) for number in dataset.indices()]
        if hetero.is_hetero(stored):
            raise TypeError(
                f"{type(dataset).__name__} holds HeteroData outside of memory, which encode cannot wrap; encode "
                "list(dataset), or give the encoding as its pre_transform"
            )
        values, graphs = _encode_list(stored, encodings, compute)
        return EncodedDataset(dataset, encodings, values, graphs, fields)
    if isinstance(dataset, list | tuple) and hetero.is_hetero(dataset):
        encoded = _encode_hetero(dataset, encodings, compute)
        return EncodedList(encoded, {**getattr(dataset, "fields", {}), **fields})
    if isinstance(dataset, list | tuple):
        values, graphs = _encode_list(dataset, encodings, compute)
        graphs_with_fields = (
            attach_rows(data, number, encodings, values, graphs)
            for number, data in enumerate(dataset)
        )
        return EncodedList(graphs_with_fields, {**getattr(dataset, "fields", {}), **fields})
    raise TypeError(
        f"encode got a {type(dataset).__name__}; wanted a torch_geometric Dataset or a list of Data"
    )


def _encode_list(
    data_list: Sequence[Data],
    encodings: list[Encoding],
    compute: Callable[[GraphBatch], Values],
) -> tuple[Values, GraphBatch]:
    graphs = GraphBatch.from_list(data_list)
    for number, data in enumerate(data_list):
        check_concatenation(encodings, data, number)
    return compute(graphs), graphs


def _encode_hetero(
    graphs: Sequence[HeteroData],
    encodings: list[Encoding],
    compute: Callable[[GraphBatch], Values],
) -> list[HeteroData]:
    homogenised = hetero.homogenise_all(graphs, encodings)
    values = compute(homogenised.graphs)
    return list(hetero.with_fields(graphs, encodings, values, homogenised))


def _compute(
    graphs: GraphBatch,
    encodings: list[Encoding],
    memory_budget: int | None,
    workers: int | None,
    progress: bool,
    cache_dir: str | Path | None,
) -> Values:
    def compute_part(
        part: GraphBatch, wanted: Sequence[Encoding], advance: Callable[[int], object]
    ) -> Values:
        return compute_fields(
            part,
            wanted,
            memory_budget=memory_budget,
            workers=workers or available_cores(),
            advance=advance,
        )

    def compute(advance: Callable[[int], object]) -> Values:
        if cache_dir is None:
            return compute_part(graphs, encodings, advance)
        folder = Path(cache_dir).expanduser()
        return cached_values(graphs, encodings, folder, compute_part, advance)

    console = Console(stderr=True)
    if not (progress and console.is_terminal):
        return compute(lambda done: None)
    columns = (
        TextColumn("Encoding"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("graphs"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=len(graphs))
        return compute(lambda done: bar.advance(task, done))


def available_cores() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _note_transform(dataset: Dataset) -> None:
    if dataset.transform is not None:
        warnings.warn(
            f"encode: {type(dataset).__name__} has a transform, which runs on each access after the encodings; if it "
            "changes nodes or edges, give it as pre_transform instead",
            UserWarning,
            stacklevel=3,
        )
