"""Runs encodings over a GraphBatch: blocks under a memory budget, on as many threads as asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from graphpe.blocks import Block, LargeGraph, dense_bytes
from graphpe.fields import Field
from graphpe.graphs import GraphBatch
from graphpe.ragged import ragged_arange
from graphpe.transforms.core.threads import single_threaded_blas, single_threaded_torch

if TYPE_CHECKING:
    from graphpe.transforms.core.base import Encoding

DEFAULT_MEMORY_BUDGET = 64 * 2**20


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
            dense graph takes alone.
        workers: Number of threads.
        advance: Called with the number of graphs each time that some are done.

    Returns:
        For each encoding the values of its fields, ``[rows, width]``, on the device of the graphs.

    Raises:
        ValueError: If a graph is too large for the budget, or a value is not finite; the message names the graph.
    """
    # Fields are ordinary tensors, also when the caller is in inference mode, which new threads would not be.
    with torch.inference_mode(False), torch.no_grad(), single_threaded_torch():
        values = [
            tuple(_empty(field, graphs) for field in encoding.fields()) for encoding in encodings
        ]

        def encode(number: int, part: Block | LargeGraph, numbers: Tensor) -> None:
            encoding = encodings[number]
            encoding.check(part)
            results = (
                encoding.encode_block(part)
                if isinstance(part, Block)
                else encoding.encode_large(part)
            )
            for field, result, out in zip(encoding.fields(), results, values[number], strict=True):
                _store(out, field, result, graphs, numbers)

        def encode_block(block: Block, group: Sequence[int]) -> int:
            for number in group:
                encode(number, block, block.numbers)
            return len(block)

        for dense_limit, group in _by_dense_limit(encodings).items():
            bytes_per_graph = partial(bytes_of_graph, [encodings[number] for number in group])
            most = bytes_per_graph(_largest_dense(graphs, dense_limit))
            budget = memory_budget or max(DEFAULT_MEMORY_BUDGET, most)
            threads = max(1, min(workers, budget // most))  # each can hold the largest graph
            blocks = graphs.blocks(dense_limit, budget // threads, bytes_per_graph)
            for done in _map(partial(encode_block, group=group), blocks, threads):
                advance(done)
            large = graphs.large(dense_limit, budget)
            with single_threaded_blas() if large else nullcontext():
                for graph in large:
                    for number in group:
                        encode(number, graph, torch.tensor([graph.number]))
                    advance(1)
    return values


def _by_dense_limit(encodings: Sequence[Encoding]) -> dict[int, list[int]]:
    """Dense limit → positions of the encodings that have it."""
    groups: dict[int, list[int]] = {}
    for number, encoding in enumerate(encodings):
        groups.setdefault(encoding.dense_limit, []).append(number)
    return groups


def bytes_of_graph(encodings: Sequence[Encoding], n: int) -> int:
    """Bytes that a dense graph of n nodes takes in a block, with what encodings keep and need for it."""
    return dense_bytes(n) + 8 * sum(encoding.workspace(n) for encoding in encodings)


def _largest_dense(graphs: GraphBatch, dense_limit: int) -> int:
    dense = graphs.num_nodes[graphs.num_nodes <= dense_limit]
    return int(dense.max()) if len(dense) else 0


def _empty(field: Field, graphs: GraphBatch) -> Tensor:
    """Room for all rows; `_store` fills every one of them, each graph in its thread."""
    rows = int(graphs.rows(field.level)[-1])
    return torch.empty((rows, field.width), dtype=field.dtype, device=graphs.device)


def _store(out: Tensor, field: Field, result: Tensor, graphs: GraphBatch, numbers: Tensor) -> None:
    """Writes the values of some graphs to their rows, and the padding to the columns that they lack."""
    rows = graphs.rows(field.level)
    starts = rows[numbers]
    counts = rows[numbers + 1] - starts
    if field.level == "edge":
        slot, offset = ragged_arange(counts)
        target = starts[slot] + offset
        if graphs.edge_order is not None:
            target = graphs.edge_order[target.to(out.device)]
    else:  # graphs of one size
        target = (starts[:, None] + torch.arange(int(counts[0]))).flatten()
    result = result.to(out.device, out.dtype).reshape(len(target), result.shape[-1])
    if not bool(torch.isfinite(result.sum())):  # one pass; the sum alone may overflow
        _check_finite(result, field, numbers, counts)
    if (missing := field.width - result.shape[1]) > 0:
        result = torch.nn.functional.pad(result, (0, missing), value=field.padding)
    out[target.to(out.device)] = result


def _check_finite(result: Tensor, field: Field, numbers: Tensor, counts: Tensor) -> None:
    finite = torch.isfinite(result).all(dim=1).cpu()
    if bool(finite.all()):
        return
    wrong = numbers.repeat_interleave(counts)[~finite][0]
    raise ValueError(
        f"{field.name} of graph {int(wrong)} is not finite in {field.dtype}: the edge weights are too large or too "
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
