"""Checks that the company does not matter: other graphs, other encodings, the memory budget, threads."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch_geometric.data import Batch

from graphpe._testing.contract.graphs import SmallGraph, path_graph
from graphpe._testing.contract.report import check_graphs, failure_of, report
from graphpe._testing.contract.values import Values, keep
from graphpe.graphs import GraphBatch
from graphpe.transforms import AddLaplacianEigenvectorPE, AddRandomWalkPE
from graphpe.transforms.core.engine import bytes_of_graph, compute_fields

# Looks at several graphs, all weighted or none.
BatchCheck = Callable[[Values, list[SmallGraph]], None]


def check_batches(values: Values, graphs: list[SmallGraph]) -> None:
    """Runs the checks of this file on all graphs at once; a failure is looked for again in a small batch.

    Raises:
        AssertionError: With the promise and the smallest graph found.
    """
    for check in (_check_batch, _check_budget_and_threads, _check_other_encodings):
        for is_weighted in (False, True):
            chosen = [graph for graph in graphs if (graph.weights is not None) == is_weighted]
            broken = failure_of(partial(check, values, chosen))
            if broken is not None:
                check_graphs(partial(_in_small_batch, check), values, chosen)
                raise report(values.encoding, broken, f"In a batch of {len(chosen)} graphs")


def _in_small_batch(check: BatchCheck, values: Values, graph: SmallGraph) -> None:
    """Checks a graph in a batch with a path of its size and a longer one."""
    weight = None if graph.weights is None else 1.0
    n = graph.num_nodes
    check(values, [graph, path_graph(n, weight), path_graph(n + 1, weight)])


def _check_batch(values: Values, graphs: list[SmallGraph]) -> None:
    encoding = values.encoding
    alone = [values.of(graph) for graph in graphs]
    for step in (1, -1):
        batch = encoding(Batch.from_data_list([graph.data() for graph in graphs[::step]]))
        for data, wanted in zip(batch.to_data_list(), alone[::step], strict=True):
            for field, value in zip(encoding.fields(), wanted, strict=True):
                keep(
                    "a batch has the same bytes as its graphs alone",
                    torch.equal(data[field.name], value),
                    f"{field.name} differs between a batch and the graph alone",
                )


def _check_budget_and_threads(values: Values, graphs: list[SmallGraph]) -> None:
    encoding = values.encoding
    batch = GraphBatch.of([graph.data() for graph in graphs])
    reference = compute_fields(batch, [encoding])[0]
    limit = encoding.dense_limit if encoding.has_sparse_form else math.inf
    dense = [graph.num_nodes for graph in graphs if graph.num_nodes <= limit]
    for options in (
        {"memory_budget": bytes_of_graph([encoding], max(dense, default=1))},
        {"workers": 2},
    ):
        computed = compute_fields(batch, [encoding], **options)[0]
        for field, got, wanted in zip(encoding.fields(), computed, reference, strict=True):
            keep(
                "memory budget and number of threads do not matter",
                torch.equal(got, wanted),
                f"{field.name} depends on {next(iter(options))}",
            )


def _check_other_encodings(values: Values, graphs: list[SmallGraph]) -> None:
    """An encoding gets what others have computed for a block, and must leave it as it is."""
    encoding = values.encoding
    batch = GraphBatch.of([graph.data() for graph in graphs])
    in_float64 = dataclasses.replace(encoding, dtype="float64")
    others = [AddLaplacianEigenvectorPE(3, normalization="none"), AddRandomWalkPE(3)]
    others = [dataclasses.replace(other, dense_limit=encoding.dense_limit) for other in others]
    alone = [compute_fields(batch, [one])[0] for one in (encoding, *others, in_float64)]
    before = compute_fields(batch, [encoding, *others, in_float64])
    after = compute_fields(batch, [*others, in_float64, encoding])
    keep(
        "an encoding leaves what it shares with others (block.adjacency, block.shared(...)) as it is",
        _equal(before[1:3], alone[1:3]) and _equal(after[:2], alone[1:3]),
        "it changes what other encodings compute",
    )
    keep(
        "an encoding computes the same after others, and after itself with other settings",
        _equal([before[0], before[3]], [alone[0], alone[3]])
        and _equal(after[2:], [alone[3], alone[0]]),
        "its values differ; is a setting missing among the arguments of block.shared?",
    )


def _equal(values: list[tuple[Tensor, ...]], wanted: list[tuple[Tensor, ...]]) -> bool:
    return all(
        torch.equal(one, other)
        for got, expected in zip(values, wanted, strict=True)
        for one, other in zip(got, expected, strict=True)
    )
