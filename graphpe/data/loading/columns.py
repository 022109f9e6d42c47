"""The attributes of graphs in collated storage, and how PyG would put them into a batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor

from graphpe.precompute.encoded import MappedField
from graphpe.ragged import offsets_of
from graphpe.transforms.core.attach import join_to_x


class Chosen(NamedTuple):
    """Some graphs of a storage, in the order of a batch.

    Args:
        numbers: ``[B]`` their numbers in the storage.
        nodes: ``[B]`` how many nodes come before each graph in the batch.
    """

    numbers: Tensor
    nodes: Tensor


class Rows:
    """Where the rows of the chosen graphs are.

    Args:
        starts: ``[B]`` where each graph starts in the storage.
        counts: ``[B]`` how many rows each graph has.

    Attributes:
        slices: ``[B + 1]`` where each graph starts in the batch.
    """

    def __init__(self, starts: Tensor, counts: Tensor) -> None:
        self.starts = starts
        self.counts = counts
        self.slices = offsets_of(counts)

    @cached_property
    def index(self) -> Tensor:
        """``[R]`` the rows in the storage."""
        if int(self.slices[-1]) == len(self.counts) and bool((self.counts == 1).all()):
            return self.starts
        index = torch.arange(int(self.slices[-1]))
        shift = torch.repeat_interleave(self.starts - self.slices[:-1], self.counts)
        index += shift  # in place: memory costs most
        return index


class Slicing:
    """Where each graph starts in the columns that are cut alike.

    Args:
        slices: ``[stored graphs + 1]``
        numbers: int64 ``[graphs]``, which of the stored graphs the graphs are; None: all in their order.
    """

    def __init__(self, slices: Tensor, numbers: Tensor | None = None) -> None:
        self.starts, self.counts = slices[:-1], slices.diff()
        if numbers is not None:
            self.starts, self.counts = self.starts[numbers], self.counts[numbers]

    def is_like(self, other: Slicing) -> bool:
        """Whether both cut alike."""
        return torch.equal(self.starts, other.starts) and torch.equal(self.counts, other.counts)

    def rows_of(self, numbers: Tensor) -> Rows:
        """The rows of some graphs."""
        return Rows(self.starts[numbers], self.counts[numbers])


class Part(NamedTuple):
    """An attribute of a batch: its value, where each graph starts in it, and what was added to each graph's."""

    value: Any
    slices: Tensor
    increments: Tensor | None


class Column(ABC):
    """An attribute of all graphs.

    Attributes:
        slicing: Where each graph starts.
        counts_nodes: Whether it holds node numbers, which PyG shifts by the nodes of the graphs before.
    """

    slicing: Slicing
    counts_nodes: bool = False

    @abstractmethod
    def take(self, chosen: Chosen, rows: Rows) -> Part:
        """The attribute in a batch of the chosen graphs, whose rows are given."""


@dataclass(frozen=True)
class TensorColumn(Column):
    """A dense tensor, the graphs one after the other.

    Args:
        slicing: Where each graph starts.
        value: All graphs.
        counts_nodes: Whether it holds node numbers, which PyG also puts side by side along the last dimension.
    """

    slicing: Slicing
    value: Tensor
    counts_nodes: bool = False

    def take(self, chosen: Chosen, rows: Rows) -> Part:
        value, device = self.value, self.value.device
        if not self.counts_nodes:
            selected = value.index_select(0, rows.index.to(device))
            return Part(selected, rows.slices, torch.zeros_like(chosen.nodes))
        selected = value.index_select(value.dim() - 1, rows.index.to(device))
        if len(chosen.nodes) and int(chosen.nodes[-1]) != 0:
            shift = torch.repeat_interleave(chosen.nodes, rows.counts)
            selected = _shifted(selected, shift.to(device))
        return Part(selected, rows.slices, chosen.nodes)


def _shifted(value: Tensor, shift: Tensor) -> Tensor:
    """``value + shift`` with the dtype of adding each graph's shift as one number."""
    dtype = torch.result_type(value, torch.tensor(0))
    return value.to(dtype) + shift.to(dtype)


@dataclass(frozen=True)
class MappedColumn(Column):
    """A field that is read from the cache.

    Args:
        slicing: Where each graph starts.
        value: The field.
        numbers: int64 ``[graphs]``, which graphs of the field the graphs are; None: all in their order.
        device: Where it is wanted.
    """

    slicing: Slicing
    value: MappedField
    numbers: Tensor | None
    device: torch.device

    def take(self, chosen: Chosen, rows: Rows) -> Part:
        numbers = chosen.numbers if self.numbers is None else self.numbers[chosen.numbers]
        value = self.value.of_graphs(numbers).to(self.device)
        return Part(value, rows.slices, torch.zeros_like(chosen.nodes))


@dataclass(frozen=True)
class JoinedColumn(Column):
    """Columns of ``x`` and, behind them, those of a field.

    Args:
        slicing: Where each graph starts in ``x``.
        x: What comes first.
        field: The field.
    """

    slicing: Slicing
    x: Column
    field: Column

    def take(self, chosen: Chosen, rows: Rows) -> Part:
        x = self.x.take(chosen, rows)
        field = self.field.take(chosen, self.field.slicing.rows_of(chosen.numbers))
        return x._replace(value=join_to_x(x.value, field.value))


@dataclass(frozen=True)
class ListColumn(Column):
    """A value of each graph that stays as it is: a string, a list of words or numbers.

    Args:
        slicing: One row for each graph.
        values: Of all graphs.
    """

    slicing: Slicing
    values: Sequence[Any]

    def take(self, chosen: Chosen, rows: Rows) -> Part:
        return Part([self.values[number] for number in chosen.numbers.tolist()], rows.slices, None)


def stays_as_it_is(value: object) -> bool:
    """Whether PyG makes a list of such values in a batch, and no tensor or dictionary."""
    if isinstance(value, list | tuple):
        return all(isinstance(item, int | float) or stays_as_it_is(item) for item in value)
    return isinstance(value, str)
