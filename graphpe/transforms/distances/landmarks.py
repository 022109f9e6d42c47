"""Distances to a few landmarks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, get_args

import torch
from torch import Tensor

from graphpe.blocks import Block, LargeGraph
from graphpe.checks import require_choice, require_positive_integer, require_seed
from graphpe.fields import Field
from graphpe.transforms.core.base import Encoding
from graphpe.transforms.distances.landmark_choice import Strategy, choose_landmarks
from graphpe.transforms.distances.lengths import distances_to, require_cap


@dataclass(frozen=True, repr=False)
class AddLandmarkDistancePE(Encoding):
    r"""Adds the distance from each node to a few landmarks, chosen among the nodes of its graph.

    .. math:: p_{ir} = \begin{cases} \min(d(i, \ell_r), c) & \text{if a path leads from } i \text{ to } \ell_r \\
        c + 1 & \text{otherwise} \end{cases}

    with the cap :math:`c`. Landmarks that a graph lacks, having fewer nodes, are as those that no path leads to.
    Paths follow directed edges. Self-loops, parallel edges and (unless ``weighted``) weights change nothing; an edge
    of weight 0 is no edge.

    The landmarks :math:`\ell_1, \ell_2, \ldots` are, in the order of the columns, by ``strategy``:

    - ``"random"``: drawn without replacement, by ``seed`` and the content of the graph, whatever the
      batch.
    - ``"degree"``: the nodes with most neighbours (in either direction; loops and parallel edges not counted).
    - ``"farthest-point"``: first the node with most neighbours, then, one by one, the node from which the way to the
      nearest landmark takes most edges. One that reaches no landmark is the farthest of all, so that each component
      gets a landmark as long as there are some left.

    Of nodes that are equal in this, those from which more walks of two steps, then of three steps, set out come
    first (edges taken in either direction); then the lower number. So with ``"degree"`` and ``"farthest-point"``
    the numbers of the nodes matter only where these counts leave a choice, as between symmetric nodes.

    Writes:
        ``attr_name``: ``[n, landmarks]`` distances (node level).

    Args:
        landmarks: Number of landmarks.
        attr_name: Name of the field; None concatenates it to ``x``.
        strategy: ``"random"``, ``"degree"`` or ``"farthest-point"``.
        cap: Largest distance :math:`c`, at most 2^20; longer ones count as it.
        weighted: Distances are sums of ``edge_weight``, the length of an edge, not numbers of edges; of parallel edges
            the shortest counts. (The choice of landmarks does not use weights.)
        seed: Seed of the random choice.
        dtype: Stored dtype, ``"float32"`` or ``"float64"``.
        dense_limit: Graphs with more nodes are searched from the landmarks alone.

    Raises:
        ValueError: For invalid weights or node numbers; the message names the graph.

    References:
        You, Ying and Leskovec, "Position-aware Graph Neural Networks", https://arxiv.org/abs/1906.04817 (random
        landmarks); Gonzalez, "Clustering to minimize the maximum intercluster distance", 1985 (farthest points).
    """

    landmarks: int
    attr_name: str | None = "landmark_distance_pe"
    strategy: Strategy = "random"
    cap: float = 20
    weighted: bool = False
    seed: int = 0

    cost: ClassVar[str] = "O(n³) per graph; above 64 nodes O(l (n + e) log n)"
    paper: ClassVar[str] = "You et al. 2019"

    def __post_init__(self) -> None:
        require_positive_integer("landmarks", self.landmarks)
        require_choice("strategy", self.strategy, get_args(Strategy))
        require_cap(self.cap)
        require_seed("seed", self.seed)
        super().__post_init__()

    def fields(self) -> tuple[Field, ...]:
        return (
            Field(
                self.field_name,
                "node",
                self.landmarks,
                self.torch_dtype,
                padding=self.cap + 1,
            ),
        )

    @property
    def is_equivariant(self) -> bool:
        return False  # random draws go by node number, and so does a choice between symmetric nodes

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        return (self._distances(block),)

    def encode_large(self, graph: LargeGraph) -> tuple[Tensor, ...]:
        return (self._distances(graph),)

    def _distances(self, part: Block | LargeGraph) -> Tensor:
        landmarks = choose_landmarks(part, self.landmarks, self.strategy, self.seed)
        distance = distances_to(part, self.weighted)(landmarks)
        return torch.where(torch.isinf(distance), self.cap + 1, distance.clamp(max=self.cap))

    def workspace(self, n: int) -> int:
        return super().workspace(n) + 3 * n * n  # distances, and paths through one more node
