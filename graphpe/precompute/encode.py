"""`encode`: encodings of a whole dataset at once."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from torch_geometric.data import Data, Dataset, InMemoryDataset

from graphpe.precompute import hetero
from graphpe.precompute.cache.filling import fill
from graphpe.precompute.computing import Failures, OnError
from graphpe.precompute.encoded import (
    EncodedDataset,
    EncodedList,
    MappedEntry,
    MappedField,
    attach_rows,
    attach_to_storage,
)
from graphpe.precompute.executors import ThreadsExecutor
from graphpe.precompute.failures import report_failures, without_failed
from graphpe.precompute.in_memory import compute_all
from graphpe.precompute.progress import EncodingProgress
from graphpe.precompute.run import Run, holds_hetero, require_graphs
from graphpe.precompute.sizes import Sizes
from graphpe.precompute.stored import GraphsInMemory, StoredGraphs
from graphpe.transforms import Encoding
from graphpe.transforms.core.attach import Values

if TYPE_CHECKING:
    from distributed import Client

AnyDataset = TypeVar("AnyDataset", bound=Any)


def encode(
    dataset: AnyDataset,
    encodings: Sequence[Encoding] | Encoding,
    *,
    cache_dir: str | Path | None = None,
    workers: int | None = None,
    executor: Literal["threads", "processes"] | Client = "threads",
    device: str | None = None,
    memory_budget: int | None = None,
    on_error: OnError = "raise",
    verify: bool = False,
    progress: bool = True,
) -> AnyDataset:
    """Encodes all graphs of a dataset and returns the dataset with the fields attached.

    The result indexes, slices and iterates like the original, whose tensors it shares; the original is not changed.
    Values are the same to the bit as those of the encoding used as a transform on one graph.

    Args:
        dataset: A PyG or OGB dataset, or a list of ``Data``, or of ``HeteroData`` with the same types. Encodings
            describe the graphs as stored: a ``dataset.transform`` still runs on each access, after the encodings.
        encodings: What to compute. Encodings given together share what they have in common: operators,
            eigendecompositions, distances.
        cache_dir: Folder in which values are kept, an entry for each encoding and each content of a dataset. What is
            there is read, and only what is missing is computed. None: nothing is kept, and values are in memory.
        workers: Number of threads, or of processes; None takes all cores that this process may use.
        executor: ``"threads"`` of this process, ``"processes"`` of this machine, or a client of a Dask cluster, whose
            workers must see ``cache_dir``. All but threads need a ``cache_dir``.
        device: Where to compute, such as ``"cuda"``; with processes there is one for each such device. None: where the
            graphs are.
        memory_budget: Bytes for the graphs that are worked on at the same time and, with ``cache_dir``, for values
            until they are written, which get a third twice, at most 256 MiB each. None: 64 MiB, or what the largest
            dense graph takes, at most 2 GiB where an encoding has no sparse form; and for values 256 MiB twice. (The
            sparse eigensolver of graphs over ``dense_limit`` has a limit of its own, 1 GiB.)
        on_error: What to do about a graph that can't be read or encoded: ``"raise"`` an error that names it;
            ``"skip"`` it, so that the result lacks it; or give it ``"nan"`` for values, 0 where a field holds integers.
            The result has the reasons in ``failures``, by the number of the graph before any was left out.
        verify: Read all of what the cache has for its checksums at once. Otherwise its size is looked at, and the
            checksum of each shard when it is first used. Damaged shards are named in a warning and computed anew.
        progress: Show how far it is on stderr: a bar, or where that is no terminal a line from time to time.

    Returns:
        - for an ``InMemoryDataset``: a dataset of the same class; with ``cache_dir`` an `EncodedDataset` around it,
          which reads fields from the cache when they are asked for;
        - for another PyG ``Dataset``: an `EncodedDataset` around it;
        - for a list: an `EncodedList`, which is a list.

        All of them have a ``fields`` attribute, a dictionary from name to `graphpe.Field`, and ``failures``.

    Raises:
        TypeError: If ``dataset`` or an encoding is of another kind.
        ValueError: If a graph is invalid (the message names it), or two encodings write the same field.
    """
    run = Run(
        encodings,
        cache_dir=cache_dir,
        workers=workers,
        executor=executor,
        device=device,
        memory_budget=memory_budget,
        on_error=on_error,
        verify=verify,
        progress=progress,
    )
    require_graphs(dataset)
    if isinstance(dataset, Dataset) and dataset.transform is not None:
        _note_transform(dataset)
    if holds_hetero(dataset):
        return _encode_hetero(dataset, run)
    graphs = run.read(dataset)
    values, failures = _values(graphs, run)
    encoded = _attach(dataset, run, values, graphs.sizes)
    report_failures(failures, len(dataset), on_error)
    if on_error == "skip" and failures:
        encoded = without_failed(encoded, failures)
    encoded.failures = {**_earlier_failures(dataset), **failures}
    return encoded


def _values(graphs: StoredGraphs, run: Run) -> tuple[Values, Failures]:
    """The fields of all graphs: tensors, or `MappedField` of the cache; and the graphs that have none, and why."""
    if not run.has_cache:
        with EncodingProgress(run.progress) as bar:
            bar.start(len(graphs), 0)
            request = run.request
            settings = run.executor.settings(request.memory_budget, request.device, request.go_on)
            return compute_all(graphs, run.encodings, settings, lambda n: bar.advance(n, 0))
    mapped = [
        MappedEntry(
            entry,
            partial(
                fill,
                graphs,
                [entry.encoding],
                run.request._replace(verify=True),
                # Also where the dataset is used, in a process that makes batches say.
                ThreadsExecutor(1),
            ),
        )
        for entry in run.fill(graphs, run.executor)
    ]
    failures: Failures = {}
    for entry in mapped:
        failures = {**entry.failures(), **failures}
    values = [
        tuple(MappedField(entry, place, graphs.sizes) for place in range(len(encoding.fields())))
        for entry, encoding in zip(mapped, run.encodings, strict=True)
    ]
    return values, dict(sorted(failures.items()))


def _attach(
    dataset: Dataset | Sequence[Data], run: Run, values: Values, sizes: Sizes
) -> Dataset | EncodedList:
    """The dataset or the list with the fields."""
    if not isinstance(dataset, Dataset):
        with_fields = (
            attach_rows(data, number, run.encodings, values, sizes)
            if isinstance(data, Data)
            else data
            for number, data in enumerate(dataset)
        )
        return EncodedList(with_fields, {**getattr(dataset, "fields", {}), **run.fields})
    is_in_storage = isinstance(dataset, InMemoryDataset) and (
        not run.has_cache or dataset.slices is None
    )
    attach = attach_to_storage if is_in_storage else EncodedDataset
    return attach(dataset, run.encodings, values, sizes, run.fields)


def _encode_hetero(dataset: Any, run: Run) -> Any:
    graphs = run.hetero_graphs(dataset)
    homogenised = hetero.homogenise_all(graphs, run.encodings)
    values, _ = _values(GraphsInMemory(homogenised.graphs), run)
    values = hetero.in_edge_order(values, run.encodings, homogenised.graphs)
    encoded = list(hetero.with_fields(graphs, run.encodings, values, homogenised))
    result = (
        hetero.dataset_of(dataset, encoded, run.fields)
        if isinstance(dataset, Dataset)
        else EncodedList(encoded, {**getattr(dataset, "fields", {}), **run.fields})
    )
    result.failures = {}
    return result


def _earlier_failures(dataset: Any) -> Failures:
    """Those of an earlier call, by the numbers that the graphs have now."""
    if not isinstance(dataset, EncodedDataset):
        return {}
    earlier = dataset.failures
    return {
        number: earlier[before]
        for number, before in enumerate(dataset.indices())
        if before in earlier
    }


def _note_transform(dataset: Dataset) -> None:
    warnings.warn(
        f"encode: {type(dataset).__name__} has a transform, which runs on each access after the encodings; if it "
        "changes nodes or edges, give it as pre_transform instead",
        UserWarning,
        stacklevel=3,
    )
