"""Runs encodings over a GraphBatch: blocks under a memory budget, on as many threads as asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from graphpe.blocks import Block, LargeGraph, dense_bytes
from graphpe.fields import Field
from graphpe.graphs import GraphBatch, in_words
from graphpe.ragged import ragged_arange
from graphpe.transforms.core.threads import single_threaded_blas, single_threaded_torch

if TYPE_CHECKING:
    from graphpe.transforms.core.base import Encoding

DEFAULT_MEMORY_BUDGET = 64 * 2**20

# What one graph may take by default in an encoding that has no sparse form.
MOST_MEMORY_OF_A_GRAPH = 2 * 2**30


def compute_fields(
    graphs: GraphBatch,
    encodings: Sequence[Encoding],
    *,
    memory_budget: int | None = None,
    workers: int = 1,
    advance: Callable[[int], object] = lambda graphs_done: None,
) -> list[tuple[Tensor, ...]]:
    """All fields of all graphs.

    Each graph's values are the same to the bit whatever the batch, the budget and the number of workers: a block has
    graphs of one size only, and every kernel runs on one thread.

    Args:
        graphs: The graphs.
        encodings: The encodings; what they share (an eigendecomposition, say) is computed once per block.
        memory_budget: Bytes for all blocks that are worked on at the same time. None: 64 MiB, or what the largest
            dense graph takes alone; at most 2 GiB where there is no sparse form.
        workers: Number of threads.
        advance: Called with the number of graphs each time that some are done.

    Returns:
        For each encoding the values of its fields, ``[rows, width]``, on the device of the graphs.

    Raises:
        ValueError: If a graph is too large for the budget, or a value is not finite; the message names the graph.
    """
    budget, threads = _plan(graphs, encodings, memory_budget, workers)
    # Graphs with more nodes have something to do in sparse form.
    least_limit = min((_limit(encoding) for encoding in encodings), default=math.inf)

    # Fields are ordinary tensors, also when the caller is in inference mode, which new threads would not be.
    with torch.inference_mode(False), torch.no_grad(), single_threaded_torch():
        values = [
            tuple(_empty(field, graphs) for field in encoding.fields()) for encoding in encodings
        ]

        def encode(part: Block | LargeGraph, numbers: Tensor) -> None:
            is_dense = isinstance(part, Block)
            for encoding, outs in zip(encodings, values, strict=True):
                if (part.n <= _limit(encoding)) != is_dense:
                    continue
                encoding.check(part)
                results = encoding.encode_block(part) if is_dense else encoding.encode_large(part)
                _check_results(encoding, part, results)
                for field, result, out in zip(encoding.fields(), results, outs, strict=True):
                    _store(out, field, result, graphs, numbers)

        def encode_block(block: Block) -> int:
            encode(block, block.numbers)
            return len(block) if block.n <= least_limit else 0

        bytes_per_graph = partial(_bytes_of_dense, encodings)
        largest = max((_limit(encoding) for encoding in encodings), default=0)
        for done in _map(
            encode_block, graphs.blocks(largest, budget // threads, bytes_per_graph), threads
        ):
            advance(done)
        large = graphs.large(least_limit, budget)
        with single_threaded_blas() if large else nullcontext():
            for graph in large:
                encode(graph, torch.tensor([graph.number]))
                advance(1)
    return values


def _plan(
    graphs: GraphBatch, encodings: Sequence[Encoding], memory_budget: int | None, workers: int
) -> tuple[int, int]:
    """The memory budget in bytes, and the number of threads that can each hold the largest dense graph in it."""
    sizes = graphs.num_nodes.unique().tolist()
    for encoding in encodings:
        if not encoding.has_sparse_form:
            limit = memory_budget or MOST_MEMORY_OF_A_GRAPH
            refused = [n for n in sizes if bytes_of_graph([encoding], n) > limit]
            if refused:
                _refuse(graphs, encoding, min(refused), limit)
    most = max((_bytes_of_dense(encodings, n) for n in sizes), default=1)
    budget = memory_budget or max(DEFAULT_MEMORY_BUDGET, most)
    return budget, max(1, min(workers, budget // most))


def _refuse(graphs: GraphBatch, encoding: Encoding, least: int, limit: int) -> None:
    """An encoding has only a dense form, and graphs from ``least`` nodes on are too large for it."""
    refused = (graphs.num_nodes >= least).nonzero().flatten().tolist()
    name, n = graphs.name(refused[0]), int(graphs.num_nodes[refused[0]])
    others = f" (and {len(refused) - 1:,} more are too large)" if len(refused) > 1 else ""
    raise ValueError(
        f"{name} has {n:,} nodes{others} and {type(encoding).__name__} has only a dense form, which would take "
        f"{in_words(bytes_of_graph([encoding], n))}, over the limit of {in_words(limit)}; "
        f"{encoding.sparse_alternative}give graphpe.encode a larger memory_budget"
    )


def _limit(encoding: Encoding) -> float:
    """Graphs with more nodes are encoded in sparse form."""
    return encoding.dense_limit if encoding.has_sparse_form else math.inf


def _bytes_of_dense(encodings: Sequence[Encoding], n: int) -> int:
    """`bytes_of_graph` of the encodings that are dense for n nodes."""
    return bytes_of_graph([encoding for encoding in encodings if n <= _limit(encoding)], n)


def bytes_of_graph(encodings: Sequence[Encoding], n: int) -> int:
    """Bytes that a dense graph of n nodes takes in a block, with what encodings keep and need for it."""
    if not encodings:
        return 1
    return dense_bytes(n) + 8 * sum(encoding.workspace(n) for encoding in encodings)


def _check_results(encoding: Encoding, part: Block | LargeGraph, results: object) -> None:
    """Raises a TypeError or ValueError that says what an encoding returned, and what it declares."""
    kernel = (
        f"{type(encoding).__name__}.{'encode_block' if isinstance(part, Block) else 'encode_large'}"
    )
    fields = encoding.fields()
    if not isinstance(results, tuple) or len(results) != len(fields):
        got = (
            f"{len(results)} values"
            if isinstance(results, tuple)
            else f"a {type(results).__name__}"
        )
        raise TypeError(
            f"{kernel} returned {got}; wanted a tuple with one tensor for each of its fields, "
            f"{', '.join(field.name for field in fields)}"
        )
    b, n = (len(part), part.n) if isinstance(part, Block) else (1, part.n)
    leading = {"node": (b, n), "pair": (b, n, n), "graph": (b,), "edge": None}
    for field, value in zip(fields, results, strict=True):
        if not isinstance(value, Tensor):
            raise TypeError(
                f"{kernel} returned a {type(value).__name__} for {field.name!r}; wanted a tensor"
            )
        own = leading[field.level] or (_count_of_edges(part),)
        shape = tuple(value.shape)
        is_right = (
            len(shape) == len(own) + len(field.row_shape)
            and shape[: len(own)] == own
            and all(
                got <= most for got, most in zip(shape[len(own) :], field.row_shape, strict=True)
            )
        )
        if not is_right:
            raise ValueError(
                f"{kernel} returned {list(shape)} for {field.name!r}; wanted {[*own, *field.row_shape]}, as it is a "
                f"{field.level} field of width {field.width} ({b} graphs of {n} nodes)"
            )


def _count_of_edges(part: Block | LargeGraph) -> int:
    numbers = part.numbers if isinstance(part, Block) else torch.tensor([part.number])
    return int(part.graphs.edge_count[numbers].sum())


def _empty(field: Field, graphs: GraphBatch) -> Tensor:
    """Room for all rows; `_store` fills every one of them, each graph in its thread."""
    rows = int(graphs.rows(field.level)[-1])
    return torch.empty((rows, *field.row_shape), dtype=field.dtype, device=graphs.device)


def _store(out: Tensor, field: Field, result: Tensor, graphs: GraphBatch, numbers: Tensor) -> None:
    """Writes the values of some graphs to their rows, and the padding to the columns that they lack."""
    rows = graphs.rows(field.level)
    starts = rows[numbers]
    counts = rows[numbers + 1] - starts
    result = result.to(out.device, out.dtype)
    result = result.reshape(int(counts.sum()), *result.shape[-len(field.row_shape) :])
    # One pass, and the sum alone may overflow.
    if not bool(torch.isfinite(result.sum())):
        _check_finite(result.flatten(1), field, graphs, numbers, counts)
    result, out = padded(result, field).flatten(1), out.flatten(1)  # of out a view
    if field.level != "edge" and out.device.type == "cpu":
        # Graphs of one size fill windows of as many rows: copied at once, not row by row.
        windows = out.unfold(0, int(counts[0]), 1).mT
        windows[starts] = result.view(len(numbers), *windows.shape[1:])
        return
    slot, offset = ragged_arange(counts)
    target = (starts[slot] + offset).to(out.device)
    if field.level == "edge" and graphs.edge_order is not None:
        target = graphs.edge_order[target]
    out[target] = result


def padded(result: Tensor, field: Field) -> Tensor:
    """``[..., *row_shape]``: a result with the padding of the columns that it lacks."""
    missing = [
        wanted - got
        for wanted, got in zip(field.row_shape, result.shape[-len(field.row_shape) :], strict=True)
    ]
    if not any(missing):
        return result
    sides = [side for count in reversed(missing) for side in (0, count)]
    return torch.nn.functional.pad(result, sides, value=field.padding)


def _check_finite(
    result: Tensor, field: Field, graphs: GraphBatch, numbers: Tensor, counts: Tensor
) -> None:
    finite = torch.isfinite(result).all(dim=1).cpu()
    if bool(finite.all()):
        return
    wrong = numbers.repeat_interleave(counts)[~finite][0]
    raise ValueError(
        f"{field.name} of {graphs.name(wrong)} is not finite in {field.dtype}: the edge weights are too large or too "
        "small for it; rescale them, or use dtype='float64'"
    )


def _map(function: Callable[[Block], int], blocks: Iterator[Block], workers: int) -> Iterator[int]:
    """Results as they come; at most ``workers`` blocks exist at a time."""
    if workers == 1:
        yield from map(function, blocks)
        return
    # A new thread would start with all cores for its kernels.
    with ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        running: set[Future[int]] = set()
        for block in blocks:
            running.add(pool.submit(function, block))
            if len(running) == workers:
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in finished)
        yield from (future.result() for future in running)
