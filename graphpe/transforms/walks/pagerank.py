"""Personalised PageRank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, get_args

import torch
from torch import Tensor

from graphpe.blocks import Block, LargeGraph
from graphpe.checks import (
    require_choice,
    require_positive_integer,
    require_probability,
    require_seed,
)
from graphpe.fields import Field
from graphpe.linalg.large.pagerank import pagerank_to_landmarks
from graphpe.linalg.walks.pagerank import personalized_pagerank
from graphpe.transforms.core.base import Encoding
from graphpe.transforms.distances.landmark_choice import Strategy, choose_landmarks
from graphpe.transforms.walks.direction import (
    Direction,
    Sinks,
    directions,
    sparse_walk_adjacency,
    walk_adjacency,
)


@dataclass(frozen=True, repr=False)
class AddPersonalizedPageRankPE(Encoding):
    r"""Adds the personalised PageRank of nodes for each other: where a walk that may stop at any time stops.

    .. math:: \Pi = p \sum_{t=0}^{\infty} (1-p)^t P^t = p \left(I - (1-p) P\right)^{-1}, \qquad P = D^{-1} A

    with the restart (or teleport) probability :math:`p`; :math:`\Pi_{ij}` is the probability that a walk from
    :math:`i`, which stops with probability :math:`p` before each step, stops at :math:`j`. With ``steps`` the sum
    ends at that :math:`t`.

    Walks follow directed edges, or with ``direction="backward"`` go against them: :math:`P = D_{in}^{-1} A^T`.
    ``edge_weight`` is used if it is there; parallel edges add up; self-loops are kept.

    At a sink, a node where no edge leads on, the row of :math:`P` is zero and a walk that does not stop there is
    lost. So an isolated node has :math:`\Pi_{ii} = p`, and a row sums to 1 only if no such node can be reached, else
    to less. (networkx sends lost walks back to where they began, which divides the row by its sum.) With
    ``sinks="loop"`` a walk stays at a sink until it stops, and all rows sum to 1.

    Writes:
        ``attr_name``:

        - without ``landmarks``: ``[n * n, 1]``, :math:`\Pi` (pair level),
        - with ``landmarks``: ``[n, landmarks]``, its columns :math:`\Pi_{i \ell}` for some nodes :math:`\ell`, zeros
          for landmarks that a small graph lacks (node level).

        With ``direction="both"`` twice as many columns, first those of walks along the edges.

    Args:
        restart: Probability :math:`p`, 0 < p <= 1.
        attr_name: Name of the field; None concatenates it to ``x``, with ``landmarks`` only.
        steps: Largest number of steps; None for all.
        landmarks: Number of landmarks; None for all pairs.
        strategy: How landmarks are chosen: ``"degree"``, ``"farthest-point"`` or ``"random"``; see
            `AddLandmarkDistancePE`.
        seed: Seed of the random choice of landmarks.
        direction: ``"forward"``, ``"backward"`` or ``"both"``; Geisler et al. take both with ``sinks="loop"``.
        sinks: ``"lose"`` walks at nodes where no edge leads on, or give these a self-``"loop"``.
        dtype: Stored dtype, ``"float32"`` or ``"float64"``.
        dense_limit: Graphs with more nodes are done by sparse power iteration for the landmarks, to an error of 1e-8;
            of no effect without landmarks, as all pairs are a dense matrix.

    Raises:
        ValueError: For invalid weights or node numbers, or, without landmarks, a graph too large for the memory
            budget; the message names the graph.

    References:
        Gasteiger, Bojchevski and Günnemann, "Predict then Propagate: Graph Neural Networks meet Personalized PageRank",
        https://arxiv.org/abs/1810.05997; Geisler et al., "Transformers Meet Directed Graphs",
        https://arxiv.org/abs/2302.00049 (both directions, self-loops at sinks).
    """

    restart: float = 0.1
    attr_name: str | None = "personalized_pagerank_pe"
    steps: int | None = None
    landmarks: int | None = None
    strategy: Strategy = "degree"
    seed: int = 0
    direction: Direction = "forward"
    sinks: Sinks = "lose"

    cost: ClassVar[str] = "O(n³) per graph; sparse, with landmarks: O(l e / p)"
    paper: ClassVar[str] = "Gasteiger et al. 2019"
    sparse_alternative: ClassVar[str] = "set landmarks=16, say, or "

    def __post_init__(self) -> None:
        require_probability("restart", self.restart)
        for name in ("steps", "landmarks"):
            if getattr(self, name) is not None:
                require_positive_integer(name, getattr(self, name))
        require_choice("strategy", self.strategy, get_args(Strategy))
        require_seed("seed", self.seed)
        require_choice("direction", self.direction, get_args(Direction))
        require_choice("sinks", self.sinks, get_args(Sinks))
        super().__post_init__()

    def fields(self) -> tuple[Field, ...]:
        level, width = ("pair", 1) if self.landmarks is None else ("node", self.landmarks)
        width *= len(directions(self.direction))
        return (Field(self.field_name, level, width, self.torch_dtype),)

    @property
    def is_equivariant(self) -> bool:
        return self.landmarks is None  # the choice of landmarks may go by node number

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        ranks = [
            block.shared(pagerank, self.restart, self.steps, direction, self.sinks)
            for direction in directions(self.direction)
        ]
        if self.landmarks is None:
            return (torch.stack(ranks, dim=-1),)
        landmarks = self._choose_landmarks(block)
        chosen = landmarks[:, None, :].expand(-1, block.n, -1)
        return (self._side_by_side([matrix.gather(2, chosen) for matrix in ranks]),)

    @property
    def has_sparse_form(self) -> bool:
        return self.landmarks is not None

    def encode_large(self, graph: LargeGraph) -> tuple[Tensor, ...]:
        landmarks = self._choose_landmarks(graph)[0].cpu().numpy()
        columns = [
            pagerank_to_landmarks(
                sparse_walk_adjacency(graph, direction, self.sinks),
                landmarks,
                self.restart,
                self.steps,
            )
            for direction in directions(self.direction)
        ]
        return (self._side_by_side([torch.from_numpy(part)[None] for part in columns]),)

    def _side_by_side(self, columns: list[Tensor]) -> Tensor:
        """The columns ``[b, n, l]`` of each direction, with zeros for the landmarks that are missing."""
        missing = self.landmarks - columns[0].shape[-1]
        return torch.cat([torch.nn.functional.pad(part, (0, missing)) for part in columns], dim=-1)

    def _choose_landmarks(self, part: Block | LargeGraph) -> Tensor:
        return choose_landmarks(part, self.landmarks, self.strategy, self.seed)

    def workspace(self, n: int) -> int:
        # the ranks of all pairs in each direction, and what they are made of
        return super().workspace(n) + (2 + len(directions(self.direction))) * n * n


def pagerank(
    block: Block, restart: float, steps: int | None, direction: str, sinks: Sinks
) -> Tensor:
    """``[b, n, n]`` personalised PageRank of one direction, for ``block.shared``."""
    return personalized_pagerank(walk_adjacency(block, direction, sinks), restart, steps)
