"""`encode`: encodings of a whole dataset at once."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from torch_geometric.data import Batch, Data, Dataset, HeteroData, InMemoryDataset

from graphpe.checks import require_boolean, require_choice, require_positive_integer
from graphpe.precompute import hetero
from graphpe.precompute.cache.filling import Request, fill
from graphpe.precompute.computing import OnError
from graphpe.precompute.encoded import (
    EncodedDataset,
    EncodedList,
    MappedEntry,
    MappedField,
    attach_rows,
    attach_to_storage,
)
from graphpe.precompute.executors import Executor, executor_of
from graphpe.precompute.failures import report_failures, without_failed
from graphpe.precompute.in_memory import compute_all
from graphpe.precompute.progress import EncodingProgress
from graphpe.precompute.stored import GraphsInMemory, GraphsOnDisk, StoredGraphs
from graphpe.transforms import Encoding
from graphpe.transforms.core.attach import Values, check_concatenation, written_fields
from graphpe.transforms.core.base import checked_encodings

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
        memory_budget: Bytes for the graphs that are worked on at the same time; None: 64 MiB, or what the largest
            dense graph takes, at most 2 GiB where an encoding has no sparse form. (The sparse eigensolver of graphs
            over ``dense_limit`` has a limit of its own, 1 GiB.)
        on_error: What to do about a graph that can't be read or encoded: ``"raise"`` an error that names it;
            ``"skip"`` it, so that the result lacks it; or give it ``"nan"`` for values. The result has the reasons by
            graph number in ``failures``.
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
    encodings = [encodings] if isinstance(encodings, Encoding) else checked_encodings(encodings)
    fields = written_fields(encodings)
    if memory_budget is not None:
        require_positive_integer("memory_budget", memory_budget)
        memory_budget = int(memory_budget)
    if workers is not None:
        require_positive_integer("workers", workers)
        workers = int(workers)
    require_choice("on_error", on_error, ("raise", "skip", "nan"))
    require_boolean("verify", verify)
    if on_error == "nan":
        _require_room_for_nan(encodings)
    run = _Run(
        encodings,
        executor_of(executor, workers, device, has_cache=cache_dir is not None),
        Request(
            Path("." if cache_dir is None else cache_dir).expanduser(),
            memory_budget,
            device,
            on_error != "raise",
            verify,
        ),
        cache_dir is not None,
        progress,
    )

    if isinstance(dataset, Data):
        what = "a Batch" if isinstance(dataset, Batch) else "a single Data"
        raise TypeError(
            f"encode takes a dataset or a list, got {what}; call the encoding on it: encoding(data)"
        )
    if isinstance(dataset, Dataset) and dataset.transform is not None:
        _note_transform(dataset)
    if _is_hetero(dataset):
        return _encode_hetero(dataset, run, fields, on_error)
    if isinstance(dataset, Dataset):
        encoded, failures = _encode_dataset(dataset, run, fields)
    elif isinstance(dataset, list | tuple):
        encoded, failures = _encode_list(dataset, run, fields)
    else:
        raise TypeError(
            f"encode got a {type(dataset).__name__}; wanted a torch_geometric Dataset or a list of Data"
        )
    report_failures(failures, len(dataset), on_error)
    if on_error == "skip" and failures:
        encoded = without_failed(encoded, failures)
    encoded.failures = failures
    return encoded


class _Run:
    """What is the same for all kinds of datasets: what to compute, and how.

    Args:
        encodings: The encodings.
        executor: Where they are computed.
        request: How.
        has_cache: Whether values are kept.
        progress: Whether to show how far it is.
    """

    def __init__(
        self,
        encodings: list[Encoding],
        executor: Executor,
        request: Request,
        has_cache: bool,
        progress: bool,
    ) -> None:
        self.encodings = encodings
        self.executor = executor
        self.request = request
        self.has_cache = has_cache
        self.progress = progress

    def values(self, graphs: StoredGraphs) -> tuple[Values, dict[int, str]]:
        """The fields of all graphs: tensors, or `MappedField` of the cache; and the graphs that have none, and why."""
        with EncodingProgress(self.progress) as bar:
            if not self.has_cache:
                bar.start(len(graphs), 0)
                request = self.request
                settings = self.executor.settings(
                    request.memory_budget, request.device, request.go_on
                )
                return compute_all(graphs, self.encodings, settings, lambda n: bar.advance(n, 0))
            fill_again = partial(fill, graphs, executor=self.executor)
            entries = fill(
                graphs, self.encodings, self.request, self.executor, bar.start, bar.advance
            )
        mapped = [
            MappedEntry(
                entry,
                partial(fill_again, [entry.encoding], self.request._replace(verify=True)),
            )
            for entry in entries
        ]
        failures: dict[int, str] = {}
        for entry in mapped:
            failures = {**entry.failures(), **failures}
        values = [
            tuple(
                MappedField(entry, place, graphs.sizes) for place in range(len(encoding.fields()))
            )
            for entry, encoding in zip(mapped, self.encodings, strict=True)
        ]
        return values, dict(sorted(failures.items()))


def _encode_dataset(
    dataset: Dataset, run: _Run, fields: dict[str, Any]
) -> tuple[Dataset, dict[int, str]]:
    encodings, go_on = run.encodings, run.request.go_on
    if isinstance(dataset, InMemoryDataset):
        stored: StoredGraphs = GraphsInMemory.of(dataset, go_on)
        check_concatenation(encodings, dataset._data)
    else:
        with EncodingProgress(run.progress, "Reading") as bar:
            bar.start(len(dataset), 0)
            stored = GraphsOnDisk(
                dataset,
                go_on,
                lambda data, number: check_concatenation(encodings, data, number),
                lambda count: bar.advance(count, 0),
            )
    values, failures = run.values(stored)
    is_in_storage = isinstance(dataset, InMemoryDataset) and (
        not run.has_cache or dataset.slices is None
    )
    if is_in_storage:
        encoded = attach_to_storage(dataset, encodings, values, stored.sizes, fields)
    else:
        encoded = EncodedDataset(dataset, encodings, values, stored.sizes, fields)
    return encoded, failures


def _encode_list(
    graphs: Sequence[Data], run: _Run, fields: dict[str, Any]
) -> tuple[EncodedList, dict[int, str]]:
    stored = GraphsInMemory.of(graphs, run.request.go_on)
    for number, data in enumerate(graphs):
        if number not in stored.invalid:
            check_concatenation(run.encodings, data, number)
    values, failures = run.values(stored)
    with_fields = (
        attach_rows(data, number, run.encodings, values, stored.sizes)
        if isinstance(data, Data)
        else data
        for number, data in enumerate(graphs)
    )
    return EncodedList(with_fields, {**getattr(graphs, "fields", {}), **fields}), failures


def _encode_hetero(dataset: Any, run: _Run, fields: dict[str, Any], on_error: OnError) -> Any:
    if on_error != "raise":
        raise ValueError(
            f"on_error is {on_error!r}, but the graphs are HeteroData, for which it must be 'raise'"
        )
    is_dataset = isinstance(dataset, Dataset)
    if is_dataset and not isinstance(dataset, InMemoryDataset):
        raise TypeError(
            f"{type(dataset).__name__} holds HeteroData outside of memory, which encode cannot wrap; encode "
            "list(dataset), or give the encoding as its pre_transform"
        )
    graphs = [dataset.get(number) for number in dataset.indices()] if is_dataset else dataset
    homogenised = hetero.homogenise_all(graphs, run.encodings)
    values, _ = run.values(GraphsInMemory(homogenised.graphs))
    values = hetero.in_edge_order(values, run.encodings, homogenised.graphs)
    encoded = list(hetero.with_fields(graphs, run.encodings, values, homogenised))
    result = (
        hetero.dataset_of(dataset, encoded, fields)
        if is_dataset
        else EncodedList(encoded, {**getattr(dataset, "fields", {}), **fields})
    )
    result.failures = {}
    return result


def _is_hetero(dataset: Any) -> bool:
    if isinstance(dataset, InMemoryDataset):
        return isinstance(dataset._data, HeteroData)
    if isinstance(dataset, Dataset):
        return len(dataset) > 0 and isinstance(dataset.get(dataset.indices()[0]), HeteroData)
    return isinstance(dataset, list | tuple) and hetero.is_hetero(dataset)


def _require_room_for_nan(encodings: Sequence[Encoding]) -> None:
    for encoding in encodings:
        for field in encoding.fields():
            if not (field.dtype.is_floating_point or field.dtype.is_complex):
                raise ValueError(
                    f"on_error is 'nan', but {field.name!r} of {encoding} is {field.dtype}, which has no NaN; use "
                    "on_error='skip'"
                )


def _note_transform(dataset: Dataset) -> None:
    warnings.warn(
        f"encode: {type(dataset).__name__} has a transform, which runs on each access after the encodings; if it "
        "changes nodes or edges, give it as pre_transform instead",
        UserWarning,
        stacklevel=3,
    )
