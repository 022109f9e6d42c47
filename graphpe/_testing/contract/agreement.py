"""Checks that the forms of an encoding agree: float32 and float64, CPU and CUDA, sparse and dense."""

from __future__ import annotations

import dataclasses
from functools import partial

import torch

from graphpe._testing.contract.graphs import SmallGraph
from graphpe._testing.contract.report import check_graphs
from graphpe._testing.contract.values import Values, keep, keep_agreement
from graphpe.transforms import Encoding

# Small enough that most graphs of the check are large.
SPARSE_LIMIT = 3
_DENSE_LIMIT = 500


def check_dtypes(values: Values, graphs: list[SmallGraph]) -> None:
    """float32 and float64 agree."""
    other_dtype = "float64" if values.encoding.dtype == "float32" else "float32"
    other = Values(dataclasses.replace(values.encoding, dtype=other_dtype))
    _check_agreement("dtype='float32' and dtype='float64' agree", other, values, graphs)


def check_devices(values: Values, graphs: list[SmallGraph]) -> None:
    """A CUDA device, if there is one, agrees with the CPU, and the values stay there."""
    if torch.cuda.is_available():
        on_cuda = Values(values.encoding, device="cuda")
        _check_agreement("CUDA and CPU agree", on_cuda, values, graphs)
        check_graphs(_check_device, on_cuda, graphs)


def check_sparse_agrees(sparse: Values, graphs: list[SmallGraph]) -> None:
    """The sparse form gives what the dense one gives."""
    dense = Values(dataclasses.replace(sparse.encoding, dense_limit=_DENSE_LIMIT))
    promise = "the sparse form (encode_large) agrees with the dense one (encode_block)"
    _check_agreement(promise, dense, sparse, graphs)


def sparse_form(encoding: Encoding) -> Encoding | None:
    """The encoding with a limit that makes it use `encode_large`; None if it has only a dense form."""
    if not encoding.has_sparse_form:
        return None
    return dataclasses.replace(encoding, dense_limit=SPARSE_LIMIT)


def _check_agreement(promise: str, other: Values, values: Values, graphs: list[SmallGraph]) -> None:
    other.compute(graphs)
    check_graphs(partial(_check_values_agree, promise, other), values, graphs)


def _check_values_agree(promise: str, other: Values, values: Values, graph: SmallGraph) -> None:
    for field, got, wanted in zip(
        values.encoding.fields(), values.of(graph), other.of(graph), strict=True
    ):
        keep_agreement(promise, field, graph, got, wanted)


def _check_device(values: Values, graph: SmallGraph) -> None:
    for field, value in zip(values.encoding.fields(), values.of(graph), strict=True):
        keep(
            "values are on the device of the graph",
            value.device.type == values.device,
            f"{field.name} of a graph on {values.device} is on {value.device}",
        )
