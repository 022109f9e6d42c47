"""Random sorting networks, and almost sorting ones, as directed acyclic graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch_geometric.data import Data

from graphpe.checks import require_positive_integer
from graphpe.data.generated.base import GeneratedGraphs
from graphpe.data.generated.zero_one_principle import (
    MAX_WIDTH,
    ZeroOneVectors,
    is_sorting_network,
)

Operations = Sequence[tuple[int, int]]

# With less, a network without its last comparator may have no comparator, or leave a wire out.
_MIN_WIDTH = 3


@dataclass(frozen=True, kw_only=True)
class SortingNetworks(GeneratedGraphs):
    """Does a network of comparators sort? Random networks, wider in each part, whose order of operations decides.

    A network of w wires is drawn comparator by comparator, each on two wires that aren't sorted yet, until it sorts.
    It gives a graph with the label 1; the same network without its last comparator gives one with the label 0; and in
    ``"valid"`` and ``"test"`` the network with its comparators in reverse order gives a third one, which rarely sorts.
    So an always-negative guess is right in half of the training graphs, and in about 2/3 of the others. Networks
    of 512 comparators that don't sort yet are dropped.

    A graph has one node per comparator, in the order of time, and an edge to each comparator from the one before on
    either wire; both may be the same, which gives two parallel edges. So a graph has 2 · nodes - w edges.

    Graphs have ``x [n, 2]`` int64 (the wires i < j), ``edge_index``, ``operation [n, 1]`` int64 (the place in
    time, which the published model does not read), ``wires [1, 1]`` int64 (w) and ``y [1, 1]`` float.

    Args:
        root: Folder of generated datasets.
        seed: Seed of everything random.
        workers: Processes that generate.
        train_widths: Smallest and largest number of wires, from 3 to 20.
        valid_widths: The same for validation.
        test_widths: The same for the test.
        train_size: Number of networks; each gives 2 graphs.
        valid_size: Number of networks; each gives 3 graphs.
        test_size: Number of networks; each gives 3 graphs.
        networks_per_width: The number of wires is drawn anew after so many networks. 500 as published, which is 40
            draws for the published test; choose less for small datasets.

    Raises:
        ValueError: If a setting is out of range.

    Reference: Geisler et al., Transformers Meet Directed Graphs (ICML 2023).
    """

    train_widths: tuple[int, int] = (7, 11)
    valid_widths: tuple[int, int] = (12, 12)
    test_widths: tuple[int, int] = (13, 16)
    train_size: int = 400_000
    valid_size: int = 20_000
    test_size: int = 20_000
    networks_per_width: int = 500

    max_operations: ClassVar[int] = 512

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("train_size", "valid_size", "test_size", "networks_per_width"):
            require_positive_integer(name, getattr(self, name))
        for part in self.sizes():
            _require_widths(f"{part}_widths", self._widths(part))
            object.__setattr__(self, f"{part}_widths", tuple(self._widths(part)))

    def sizes(self) -> dict[str, int]:
        """Number of networks of each part."""
        return {"train": self.train_size, "valid": self.valid_size, "test": self.test_size}

    def generate(self, part: str, numbers: range) -> list[Data]:
        """The graphs of some networks: of each the correct one, the one cut short, and the reversed one."""
        graphs = []
        for number in numbers:
            width = self._width(part, number)
            network = draw_network(width, self.random(part, number), self.max_operations)
            if network is None:
                continue
            graphs.append(network_graph(network, width, is_sorting=True))
            # One comparator less does not sort, or the last one would not have been drawn.
            graphs.append(network_graph(network[:-1], width, is_sorting=False))
            if part != "train":
                backwards = network[::-1]
                is_sorting = is_sorting_network(backwards, width)
                graphs.append(network_graph(backwards, width, is_sorting))
        return graphs

    def _widths(self, part: str) -> tuple[int, int]:
        return getattr(self, f"{part}_widths")

    def _width(self, part: str, number: int) -> int:
        """The number of wires of a network, the same for ``networks_per_width`` of them."""
        random = self.random(part, number // self.networks_per_width, stream=1)
        return int(random.integers(*self._widths(part), endpoint=True))


def draw_network(
    width: int, random: np.random.Generator, max_operations: int
) -> list[tuple[int, int]] | None:
    """Draws comparators (i, j), i < j, uniformly on wires that aren't sorted yet, until the network sorts.

    A comparator that is equal to the one before is left out.

    Args:
        width: Number of wires.
        random: Source of the comparators.
        max_operations: Largest number of comparators.

    Returns:
        The comparators in their order, or None if so many don't sort.
    """
    vectors = ZeroOneVectors(width)
    unsorted = [wire for wire in range(width) if vectors.is_unsorted(wire)]
    operations: list[tuple[int, int]] = []
    while unsorted:
        if len(operations) == max_operations:
            return None
        first = int(random.integers(len(unsorted)))
        second = int(random.integers(len(unsorted) - 1))
        second += second >= first
        i, j = unsorted[min(first, second)], unsorted[max(first, second)]
        if operations and operations[-1] == (i, j):
            continue
        operations.append((i, j))
        vectors.compare_exchange(i, j)
        # The other wires carry what they did.
        unsorted = [w for w in unsorted if w not in (i, j) or vectors.is_unsorted(w)]
    return operations


def network_graph(operations: Operations, width: int, is_sorting: bool) -> Data:
    """The graph of a network, as `SortingNetworks` describes it."""
    edges = []
    last: dict[int, int] = {}
    for number, comparator in enumerate(operations):
        for wire in comparator:
            if wire in last:
                edges.append((last[wire], number))
            last[wire] = number
    return Data(
        x=torch.from_numpy(np.array(operations, dtype=np.int64).reshape(-1, 2)),
        edge_index=torch.from_numpy(np.array(edges, dtype=np.int64).reshape(-1, 2).T.copy()),
        operation=torch.arange(len(operations))[:, None],
        wires=torch.tensor([[width]]),
        y=torch.tensor([[float(is_sorting)]]),
    )


def _require_widths(name: str, widths: tuple[int, int]) -> None:
    is_pair = isinstance(widths, tuple | list) and len(widths) == 2
    if not (
        is_pair
        and all(isinstance(width, int) and not isinstance(width, bool) for width in widths)
        and _MIN_WIDTH <= widths[0] <= widths[1] <= MAX_WIDTH
    ):
        raise ValueError(
            f"{name} is {widths!r}; it must be the smallest and the largest number of wires, "
            f"integers from {_MIN_WIDTH} to {MAX_WIDTH}"
        )
