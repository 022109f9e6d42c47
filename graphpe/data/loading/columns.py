"""The attributes of graphs in collated storage, and how PyG would put them into a batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from graphpe.ragged import offsets_of


class Chosen(NamedTuple):
    """Some graphs of a storage, in the order of a batch.

    Args:
        numbers: ``[B]`` their numbers in the storage.
        nodes: ``[B]`` how many nodes come before each graph in the batch.
    """

    numbers: Tensor
    nodes: Tensor


class Rows(NamedTuple):
    """Where the rows of the chosen graphs are.

    Args:
        index: ``[R]`` in the storage.
        counts: ``[B]`` how many each graph has.
        slices: ``[B + 1]`` where each graph starts in the batch.
    """

    index: Tensor
    counts: Tensor
    slices: Tensor


class Slicing:
    """Where each graph starts in the columns that are cut alike.

    Args:
        slices: ``[graphs + 1]``
    """

    def __init__(self, slices: Tensor) -> None:
        self.slices = slices
        self.counts = slices.diff()
        self._one_each = bool((self.counts == 1).all())

    def rows_of(self, numbers: Tensor) -> Rows:
        """The rows of some graphs."""
        starts, counts = self.slices[numbers], self.counts[numbers]
        if self._one_each:
            return Rows(starts, counts, torch.arange(len(numbers) + 1))
        slices = offsets_of(counts)
        index = torch.arange(int(slices[-1]))
        index += torch.repeat_interleave(
            starts - slices[:-1], counts
        )  # in place: memory costs most
        return Rows(index, counts, slices)


class Part(NamedTuple):
    """An attribute of a batch: its value, where each graph starts in it, and what was added to each graph's."""

    value: Any
    slices: Tensor
    increments: Tensor | None


class Column(ABC):
    """An attribute of all graphs."""

    slicing: Slicing

    @abstractmethod
    def take(self, chosen: Chosen, rows: Rows) -> Part:
        """The attribute in a batch of the chosen graphs, whose rows are given."""


@dataclass(frozen=True)
class TensorColumn(Column):
    """A dense tensor, the graphs one after the other.

    Args:
        slicing: Where each graph starts.
        value: All graphs.
        counts_nodes: Whether it holds node numbers, which PyG shifts by the nodes of the graphs before, and puts side
            by side along the last dimension.
    """

    slicing: Slicing
    value: Tensor
    counts_nodes: bool

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
