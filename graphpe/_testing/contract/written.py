"""Checks of what is written for one graph, and of what must stay as it was."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from graphpe._testing.contract.graphs import SmallGraph
from graphpe._testing.contract.values import Values, fields_of, keep


def check_values(values: Values, graph: SmallGraph) -> None:
    """The declared fields, with the declared shape, dtype, categories, and finite values."""
    data = graph.data()
    rows = {"node": data.num_nodes, "edge": data.num_edges, "pair": data.num_nodes**2, "graph": 1}
    for field, value in zip(values.encoding.fields(), values.of(graph), strict=True):
        wanted = (rows[field.level], *field.row_shape)
        keep(
            "fields have the shape of their level and width",
            tuple(value.shape) == wanted,
            f"{field.name} has shape {tuple(value.shape)}; as a {field.level} field of width {field.width} it "
            f"would have {wanted}",
        )
        keep(
            "fields have the declared dtype",
            value.dtype == field.dtype,
            f"{field.name} is {value.dtype}, declared {field.dtype}",
        )
        keep(
            "every value is finite",
            bool(torch.isfinite(value).all()),
            f"{field.name} is not finite",
        )
        if field.categories is not None and value.numel():
            least, largest = int(value.min()), int(value.max())
            keep(
                "categories are 0 to categories - 1",
                least >= 0 and largest < field.categories,
                f"{field.name} has values from {least} to {largest} and declares {field.categories} categories",
            )


def check_same_bytes(values: Values, graph: SmallGraph) -> None:
    """A second call gives the same bytes, and leaves the input and the global random numbers alone."""
    data = graph.data()
    data.x = torch.ones(data.num_nodes, 2)
    before = _copy(data)
    encoded, left_alone = _watching_random_numbers(partial(values.encoding, data))
    again = fields_of(values.encoding, encoded)
    keep(
        "the input is not changed",
        _same(before, data),
        "the graph that was given has other values or attributes after the call",
    )
    for field, one, other in zip(values.encoding.fields(), values.of(graph), again, strict=True):
        keep(
            "the same graph gives the same bytes",
            torch.equal(one, other),
            f"{field.name} differs between two calls",
        )
    keep(
        "global random numbers are neither drawn nor seeded",
        left_alone,
        "the state of torch, numpy or random is another one after the call",
    )


def _copy(data: Data) -> dict[str, Tensor | int]:
    return {
        key: value.clone() if isinstance(value, Tensor) else value
        for key, value in data.to_dict().items()
    }


def _same(before: dict[str, Tensor | int], data: Data) -> bool:
    after = data.to_dict()
    return after.keys() == before.keys() and all(
        torch.equal(torch.as_tensor(after[key]), torch.as_tensor(before[key])) for key in before
    )


def _watching_random_numbers(call: Callable[[], Data]) -> tuple[Data, bool]:
    """The result of a call, and whether it left the global random numbers alone."""
    kept = torch.get_rng_state(), np.random.get_state(), random.getstate()  # noqa: NPY002
    try:
        torch.rand(()), np.random.random(), random.random()  # noqa: NPY002  # a state that no seed gives
        before = _random_state()
        return call(), before == _random_state()
    finally:
        torch.set_rng_state(kept[0])
        np.random.set_state(kept[1])  # noqa: NPY002
        random.setstate(kept[2])


def _random_state() -> tuple[bytes, bytes, int, object]:
    _, numbers, position, *_ = np.random.get_state()  # noqa: NPY002
    return (
        torch.get_rng_state().numpy().tobytes(),
        numbers.tobytes(),
        position,
        random.getstate(),
    )
