"""Random directed graphs and what is asked about their pairs of nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from scipy.sparse.csgraph import connected_components
from torch import Tensor
from torch_geometric.data import Data

from graphpe.checks import require_boolean, require_choice, require_number, require_positive_integer
from graphpe.data.generated import pair_targets
from graphpe.data.generated.base import GeneratedGraphs
from graphpe.data.generated.ranges import checked_range

PairTask = Literal[
    "adjacency",
    "reachability",
    "shortest_distance",
    "undirected_distance",
    "longest_distance",
    "walk_profile",
]

# Simple paths that may be expected in a graph; each takes some hundred bytes.
_MOST_PATHS = 2_000_000


@dataclass(frozen=True, kw_only=True)
class RandomDigraphs(GeneratedGraphs):
    r"""Random directed graphs with a target for each pair of nodes.

    A graph is made as follows: a nominal number n of nodes, uniform in the range of its part; a mean degree c, uniform
    among ``average_degrees``; each edge with probability :math:`c / (n - 1)`, self-loops too. If ``acyclic``, only the
    edges u→v with u < v are kept, and the nodes relabelled at random. Of that, the graph is the largest weakly
    connected component (of equal ones the one with the smallest node number). So most graphs are smaller than the
    nominal range says, the acyclic ones above all: see `statistics`.

    There are no features. ``edge_index [2, e]`` is sorted, and ``y [n * n, T]`` has the targets of the pairs, row
    u * n + v that of (u, v), with NaN for pairs that are left out:

    - ``"adjacency"``: 1 for an edge u→v, 0 for none; left out: u = v.
    - ``"reachability"``: 1 where a path leads from u to v, else 0; left out: u = v.
    - ``"shortest_distance"``: number of edges of a shortest path from u to v; left out: u = v and pairs without a path.
    - ``"undirected_distance"``: the same in the graph without directions, while ``edge_index`` keeps them.
    - ``"longest_distance"``: number of edges of a longest simple path; if not ``acyclic``, of those with at most
      ``path_cutoff`` edges; left out: u = v and pairs without such a path.
    - ``"walk_profile"``: the numbers of walks from u to v of ``walk_length`` steps, k of them along an edge and the
      others against one, for k = 0, 1, ... (T = ``walk_length`` + 1), self-loops not used; left out: pairs without
      such a walk.

    Sizes are those of Geisler et al. for distances; they have 16-17, 18-19 and 20-27 nodes for ``"adjacency"`` and
    ``"reachability"``. ``"longest_distance"`` and ``"walk_profile"`` are by Huang et al.

    Args:
        root: Folder of generated datasets.
        seed: Seed of everything random.
        workers: Processes that generate.
        task: What ``y`` holds.
        acyclic: Whether the graphs have no cycles.
        train_size: Number of graphs.
        valid_size: Number of graphs.
        test_size: Number of graphs.
        train_nodes: Smallest and largest nominal number of nodes.
        valid_nodes: The same for validation.
        test_nodes: The same for the test.
        average_degrees: Mean degrees c; by default 1, 1.5 and 2, and if ``acyclic`` also 2.5 and 3.
        path_cutoff: Largest number of edges of a path for ``"longest_distance"`` in graphs with cycles.
        walk_length: Steps of the walks for ``"walk_profile"``.

    Raises:
        ValueError: If a setting is out of range, there would be too many paths to follow, or a graph has more walks
            than float32 holds.

    References:
        Geisler et al., "Transformers Meet Directed Graphs", https://arxiv.org/abs/2302.00049; Huang et al., "What Are
        Good Positional Encodings for Directed Graphs?", https://arxiv.org/abs/2407.20912.
    """

    task: PairTask
    acyclic: bool
    train_size: int = 400_000
    valid_size: int = 5_000
    test_size: int = 20_000
    train_nodes: tuple[int, int] = (16, 63)
    valid_nodes: tuple[int, int] = (64, 71)
    test_nodes: tuple[int, int] = (72, 83)
    average_degrees: tuple[float, ...] | None = None
    path_cutoff: int = 10
    walk_length: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("task", self.task, get_args(PairTask))
        require_boolean("acyclic", self.acyclic)
        for name in ("train_size", "valid_size", "test_size", "path_cutoff", "walk_length"):
            require_positive_integer(name, getattr(self, name))
        degrees = self.average_degrees
        if degrees is None:
            degrees = (1.0, 1.5, 2.0, 2.5, 3.0) if self.acyclic else (1.0, 1.5, 2.0)
        if isinstance(degrees, str) or not isinstance(degrees, Iterable):
            raise ValueError(
                f"average_degrees is {degrees!r}; it must be a list of numbers, such as [1.0, 1.5]"
            )
        degrees = tuple(degrees)
        if not degrees:
            raise ValueError("average_degrees is empty; give at least one mean degree")
        for degree in degrees:
            require_number("average_degrees", degree, 0.0, may_equal=False)
        object.__setattr__(self, "average_degrees", tuple(map(float, degrees)))
        fewest = max(2, math.ceil(max(degrees)) + 1)  # for a probability c / (n - 1) of at most 1
        for name in ("train_nodes", "valid_nodes", "test_nodes"):
            object.__setattr__(self, name, checked_range(name, getattr(self, name), fewest))
        self._check_number_of_paths()

    def sizes(self) -> dict[str, int]:
        """Number of graphs of each part."""
        return {"train": self.train_size, "valid": self.valid_size, "test": self.test_size}

    def generate(self, part: str, numbers: range) -> list[Data]:
        """One graph for each number."""
        connected = [self._random_graph(part, number) for number in numbers]
        targets = self._targets(connected)
        self._require_finite(part, numbers, targets)
        return [
            Data(
                edge_index=torch.from_numpy(graph).nonzero().T.contiguous(),
                num_nodes=len(graph),
                y=y,
            )
            for graph, y in zip(connected, targets, strict=True)
        ]

    def _random_graph(self, part: str, number: int) -> np.ndarray:
        random = self.random(part, number)
        least, largest = getattr(self, f"{part}_nodes")
        nodes = random.integers(least, largest, endpoint=True)
        return random_digraph(random, nodes, random.choice(self.average_degrees), self.acyclic)

    def _targets(self, connected: Sequence[np.ndarray]) -> list[Tensor]:
        """``[n * n, T]`` of each graph, worked out for all graphs of a size together."""
        of_size: dict[int, list[int]] = {}
        for number, graph in enumerate(connected):
            of_size.setdefault(len(graph), []).append(number)
        targets = [torch.empty(0)] * len(connected)
        for numbers in of_size.values():
            stack = torch.from_numpy(np.stack([connected[number] for number in numbers]))
            for number, target in zip(numbers, self._target(stack), strict=True):
                targets[number] = target.flatten(0, 1)
        return targets

    def _target(self, connected: Tensor) -> Tensor:
        if self.task == "longest_distance":
            if self.acyclic:
                return pair_targets.longest_distance_acyclic(connected)
            return pair_targets.longest_distance(connected, self.path_cutoff)
        if self.task == "walk_profile":
            return pair_targets.walk_profile(connected, self.walk_length)
        target: Callable[[Tensor], Tensor] = getattr(pair_targets, self.task)
        return target(connected)

    def _require_finite(self, part: str, numbers: range, targets: Sequence[Tensor]) -> None:
        if self.task != "walk_profile":  # all others are at most the number of nodes
            return
        for number, target in zip(numbers, targets, strict=True):
            if target.isinf().any():
                raise ValueError(
                    f"RandomDigraphs: graph {number} of {part!r} has more walks of {self.walk_length} steps than a "
                    "float32 can hold; lower walk_length, average_degrees or the numbers of nodes"
                )

    def _check_number_of_paths(self) -> None:
        if self.task != "longest_distance" or self.acyclic:
            return
        nodes = max(self.train_nodes[1], self.valid_nodes[1], self.test_nodes[1])
        degree = max(self.average_degrees)
        if nodes * degree**self.path_cutoff > _MOST_PATHS:
            raise ValueError(
                f"task 'longest_distance' follows about nodes * degree^path_cutoff = {nodes} * {degree:g}^"
                f"{self.path_cutoff} paths per graph, but {_MOST_PATHS:,} are the most; lower path_cutoff, "
                "average_degrees or the numbers of nodes"
            )


def random_digraph(
    random: np.random.Generator, nodes: int, degree: float, acyclic: bool
) -> np.ndarray:
    """The largest weakly connected component of a random directed graph.

    Args:
        random: Source of the random numbers.
        nodes: Number of nodes before the component is taken.
        degree: Mean degree c; an edge is there with probability c / (nodes - 1).
        acyclic: Whether edges lead upwards in some order of the nodes; otherwise there are self-loops and cycles.

    Returns:
        ``[n, n]`` bool, whether there is an edge u→v.
    """
    connected = random.random((nodes, nodes)) < degree / (nodes - 1)
    if acyclic:
        order = random.permutation(nodes)
        connected = np.triu(connected, 1)[np.ix_(order, order)]
    _, component = connected_components(connected, connection="weak")
    kept = np.flatnonzero(component == np.bincount(component).argmax())
    return connected[np.ix_(kept, kept)]
