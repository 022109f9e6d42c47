"""Personalised PageRank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, get_args

import torch
from torch import Tensor

from graphpe.blocks import Block, LargeGraph
from graphpe.checks import require_choice, require_number, require_positive_integer, require_seed
from graphpe.fields import Field
from graphpe.linalg.large.pagerank import pagerank_to_landmarks
from graphpe.linalg.walks.pagerank import personalized_pagerank
from graphpe.transforms.core.base import Encoding
from graphpe.transforms.distances.landmark_choice import Strategy, choose_landmarks


@dataclass(frozen=True, repr=False)
class AddPersonalizedPageRankPE(Encoding):
    r"""Adds the personalised PageRank of nodes for each other: where a walk that may stop at any time stops.

    .. math:: \Pi = p \sum_{t=0}^{\infty} (1-p)^t P^t = p \left(I - (1-p) P\right)^{-1}, \qquad P = D^{-1} A

    with the restart (or teleport) probability :math:`p`; :math:`\Pi_{ij}` is the probability that a walk from
    :math:`i`, which stops with probability :math:`p` before each step, stops at :math:`j`. With ``steps`` the sum
    ends at that :math:`t`.

    Walks follow directed edges. At a node without outgoing edges the row of :math:`P` is zero: a walk that does not
    stop there is lost. So an isolated node has :math:`\Pi_{ii} = p`, and a row sums to 1 only if no such node can be
    reached, else to less. (networkx sends lost walks back to where they began, which divides the row by its sum.)
    ``edge_weight`` is used if it is there; parallel edges add up; self-loops are kept.

    Writes:
        ``attr_name``:

        - without ``landmarks``: ``[n * n, 1]``, :math:`\Pi` (pair level),
        - with ``landmarks``: ``[n, landmarks]``, its columns :math:`\Pi_{i \ell}` for some nodes :math:`\ell`, zeros
          for landmarks that a small graph lacks (node level).

    Args:
        restart: Probability :math:`p`, 0 < p <= 1.
        attr_name: Name of the field; None concatenates it to ``x``, with ``landmarks`` only.
        steps: Largest number of steps; None for all.
        landmarks: Number of landmarks; None for all pairs.
        strategy: How landmarks are chosen: ``"degree"``, ``"farthest-point"`` or ``"random"``; see
            `AddLandmarkDistancePE`.
        seed: Seed of the random choice of landmarks.
        dtype: Stored dtype, ``"float32"`` or ``"float64"``.
        dense_limit: Graphs with more nodes are done by sparse power iteration for the landmarks, to an error of 1e-8;
            without landmarks they are an error.

    Raises:
        ValueError: For invalid weights or node numbers, or, without landmarks, a graph over ``dense_limit``; the
            message names the graph.

    References:
        Gasteiger, Bojchevski and Günnemann, "Predict then Propagate: Graph Neural Networks meet Personalized PageRank",
        https://arxiv.org/abs/1810.05997.
    """

    restart: float = 0.1
    attr_name: str | None = "personalized_pagerank_pe"
    steps: int | None = None
    landmarks: int | None = None
    strategy: Strategy = "degree"
    seed: int = 0

    cost: ClassVar[str] = "O(n³) per graph; sparse, with landmarks: O(l e / p)"
    paper: ClassVar[str] = "Gasteiger et al. 2019"
    sparse_alternative: ClassVar[str] = "set landmarks=16, say, or "

    def __post_init__(self) -> None:
        require_number("restart", self.restart, 0.0, may_equal=False)
        if self.restart > 1:
            raise ValueError(f"restart is {self.restart!r}; a probability is at most 1")
        for name in ("steps", "landmarks"):
            if getattr(self, name) is not None:
                require_positive_integer(name, getattr(self, name))
        require_choice("strategy", self.strategy, get_args(Strategy))
        require_seed("seed", self.seed)
        super().__post_init__()

    def fields(self) -> tuple[Field, ...]:
        if self.landmarks is None:
            return (Field(self.field_name, "pair", 1, self.torch_dtype),)
        return (Field(self.field_name, "node", self.landmarks, self.torch_dtype),)

    @property
    def is_equivariant(self) -> bool:
        return self.landmarks is None  # the choice of landmarks may go by node number

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        pagerank = block.shared(_pagerank, self.restart, self.steps)
        if self.landmarks is None:
            return (pagerank[..., None],)
        landmarks = self._choose_landmarks(block)
        return (pagerank.gather(2, landmarks[:, None, :].expand(-1, block.n, -1)),)

    def encode_large(self, graph: LargeGraph) -> tuple[Tensor, ...]:
        if self.landmarks is None:
            return super().encode_large(graph)
        pagerank = pagerank_to_landmarks(
            graph.adjacency,
            self._choose_landmarks(graph)[0].cpu().numpy(),
            self.restart,
            self.steps,
        )
        return (torch.from_numpy(pagerank)[None],)

    def _choose_landmarks(self, part: Block | LargeGraph) -> Tensor:
        return choose_landmarks(part, self.landmarks, self.strategy, self.seed)

    def workspace(self, n: int) -> int:
        return super().workspace(n) + 3 * n * n  # the ranks of all pairs, and what they are made of


def _pagerank(block: Block, restart: float, steps: int | None) -> Tensor:
    return personalized_pagerank(block.adjacency, restart, steps)
