"""Values of some graphs, also where a graph fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from graphpe.fields import Field
from graphpe.files import one_line
from graphpe.graphs import GraphBatch
from graphpe.transforms import Encoding
from graphpe.transforms.core.attach import Values
from graphpe.transforms.core.engine import compute_fields

OnError = Literal["raise", "skip", "nan"]

# Reasons by number of the graph.
Failures = dict[int, str]


@dataclass(frozen=True)
class Settings:
    """How values are computed; none of it changes them.

    Args:
        memory_budget: Bytes for the graphs that are worked on at the same time; None: see `compute_fields`.
        threads: Number of threads.
        device: Where to compute; None: where the graphs are.
        go_on: Whether to go on after a graph that fails.
    """

    memory_budget: int | None = None
    threads: int = 1
    device: str | None = None
    go_on: bool = False


class Computed(NamedTuple):
    """Values of some graphs.

    Args:
        values: For each encoding the values of its fields ``[rows, *shape]``, on the CPU if a device was given.
        failures: For each encoding the graphs that have no values: those are NaN, 0 where a field holds integers.
    """

    values: Values
    failures: list[Failures]


def compute(
    graphs: GraphBatch,
    encodings: Sequence[Encoding],
    settings: Settings,
    invalid: Mapping[int, str],
    advance: Callable[[int], object],
) -> Computed:
    """Computes some encodings of some graphs.

    Args:
        graphs: The graphs.
        encodings: The encodings.
        settings: How.
        invalid: Numbers of graphs that have no values anyway, and why.
        advance: Called with the number of graphs each time that some are done.

    Raises:
        ValueError: If a graph fails and ``settings.go_on`` is false, or if all do.
    """
    result = _compute(graphs, encodings, settings, advance)
    own = {number: why for number, why in invalid.items() if _slot(graphs, number) is not None}
    if not own and not any(result.failures):
        return result
    failures = [{**own, **failed} for failed in result.failures]
    for encoding, values, failed in zip(encodings, result.values, failures, strict=True):
        slots = [_slot(graphs, number) for number in failed]
        for field, value in zip(encoding.fields(), values, strict=True):
            rows = graphs.rows(field.level)
            for slot in slots:
                value[rows[slot] : rows[slot + 1]] = no_value(field)
    return Computed(result.values, failures)


def no_value(field: Field) -> float:
    """What stands in a field for a graph that has no values."""
    return float("nan") if field.dtype.is_floating_point or field.dtype.is_complex else 0


def _compute(
    graphs: GraphBatch,
    encodings: Sequence[Encoding],
    settings: Settings,
    advance: Callable[[int], object],
) -> Computed:
    counted = _Counter(advance)
    try:
        values = compute_fields(
            graphs.to(settings.device),
            encodings,
            memory_budget=settings.memory_budget,
            workers=settings.threads,
            advance=counted,
        )
    except ValueError as error:
        if not settings.go_on:
            raise
        counted.take_back()
        return _compute_apart(graphs, encodings, settings, advance, error)
    if settings.device is not None:
        values = [tuple(value.cpu() for value in own) for own in values]
    return Computed(values, [{} for _ in encodings])


def _compute_apart(
    graphs: GraphBatch,
    encodings: Sequence[Encoding],
    settings: Settings,
    advance: Callable[[int], object],
    error: ValueError,
) -> Computed:
    """Looks for the graphs and encodings that fail, by halving."""
    if len(graphs) > 1:
        middle = len(graphs) // 2
        halves = [
            _compute(graphs.part(start, stop), encodings, settings, advance)
            for start, stop in ((0, middle), (middle, len(graphs)))
        ]
        values = [
            tuple(torch.cat(parts) for parts in zip(*own, strict=True))
            for own in zip(*(half.values for half in halves), strict=True)
        ]
        failures = [one | other for one, other in zip(*(h.failures for h in halves), strict=True)]
        return Computed(values, failures)
    if len(encodings) > 1:
        alone = [
            _compute(graphs, [encoding], settings, lambda count: None) for encoding in encodings
        ]
        advance(1)
        return Computed([one.values[0] for one in alone], [one.failures[0] for one in alone])
    advance(1)
    values = tuple(_without_value(field, graphs) for field in encodings[0].fields())
    return Computed([values], [{graphs.first: one_line(error)}])


def _without_value(field: Field, graphs: GraphBatch) -> Tensor:
    rows = int(graphs.rows(field.level)[-1])
    return torch.full((rows, *field.row_shape), no_value(field), dtype=field.dtype)


def _slot(graphs: GraphBatch, number: int) -> int | None:
    slot = number - graphs.first
    return slot if 0 <= slot < len(graphs) else None


class _Counter:
    """Passes counts on, and takes them back where the work is done anew."""

    def __init__(self, advance: Callable[[int], object]) -> None:
        self._advance = advance
        self._count = 0

    def __call__(self, count: int) -> None:
        self._count += count
        self._advance(count)

    def take_back(self) -> None:
        self._advance(-self._count)
