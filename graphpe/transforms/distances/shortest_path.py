"""Distances between all pairs of nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from graphpe.blocks import Block
from graphpe.checks import require_choice, require_number, require_positive_integer
from graphpe.fields import Field
from graphpe.transforms.core.base import Encoding
from graphpe.transforms.distances.lengths import hop_distances, path_lengths, require_cap


@dataclass(frozen=True, repr=False)
class AddShortestPathPE(Encoding):
    r"""Adds the length of a shortest path from each node to each other.

    .. math:: s_{ij} = \begin{cases} \min(d_{ij}, c) & \text{if a path leads from } i \text{ to } j \\
        c + 1 & \text{otherwise} \end{cases}

    where :math:`d_{ij}` is the number of edges of a shortest path and :math:`c` the cap. These are categories, for a
    table of :math:`c + 2` embeddings: a pair that no path joins is never taken for a distant one.

    Paths follow directed edges, from the first node of the pair to the second, or with ``direction="backward"`` from
    the second to the first. Self-loops, parallel edges and (unless ``weighted``) weights change nothing; an edge of
    weight 0 is no edge.

    Also known as SPD.

    Writes:
        ``attr_name`` (pair level):

        - unweighted: ``[n * n, 1]`` int64 categories 0 to ``cap + 1``,
        - weighted: ``[n * n, 2]``, the distance :math:`\min(d_{ij}, c)`, and 1 where no path leads (its distance is
          the cap), else 0.

        With ``direction="both"`` twice as many columns, first those of :math:`d_{ij}`, then those of :math:`d_{ji}`.

    Args:
        cap: Largest distance :math:`c`; longer ones count as it. An integer up to 2^20 unless ``weighted``.
            Graphormer takes 20.
        attr_name: Name of the field.
        weighted: Add up ``edge_weight``, the length of an edge, along the path; of parallel edges the shortest counts.
            Without ``edge_weight`` each edge has length 1.
        direction: ``"forward"``, ``"backward"`` or ``"both"``.
        dtype: Stored dtype of weighted distances, ``"float32"`` or ``"float64"``.
        dense_limit: Of no effect: distances of all pairs are a dense matrix.

    Raises:
        ValueError: For invalid weights or node numbers, or a graph too large for the memory budget; the message names
            the graph.

    References:
        Ying et al., "Do Transformers Really Perform Bad for Graph Representation?", https://arxiv.org/abs/2106.05234.
    """

    cap: float = 20
    attr_name: str | None = "shortest_path_pe"
    weighted: bool = False
    direction: Literal["forward", "backward", "both"] = "forward"

    cost: ClassVar[str] = "O(n³) per graph"
    paper: ClassVar[str] = "Ying et al. 2021"
    sparse_alternative: ClassVar[str] = "take AddLandmarkDistancePE instead, or "

    def __post_init__(self) -> None:
        if self.weighted:
            require_number("cap", self.cap, 0.0, may_equal=False, below=1e38)  # of float32
        else:
            if (
                isinstance(self.cap, float) and self.cap.is_integer()
            ):  # as a configuration file gives it
                object.__setattr__(self, "cap", int(self.cap))
            require_positive_integer("cap", self.cap)
            require_cap(self.cap)
        require_choice("direction", self.direction, ("forward", "backward", "both"))
        super().__post_init__()

    def fields(self) -> tuple[Field, ...]:
        width = 2 if self.direction == "both" else 1
        if self.weighted:
            return (Field(self.field_name, "pair", 2 * width, self.torch_dtype),)
        return (Field(self.field_name, "pair", width, torch.int64, categories=self.cap + 2),)

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        distance = block.shared(path_lengths if self.weighted else hop_distances)
        is_apart = torch.isinf(distance)
        capped = distance.clamp(max=float(self.cap))
        channels = (
            [capped, is_apart.to(capped.dtype)]
            if self.weighted
            else [capped.masked_fill_(is_apart, self.cap + 1)]
        )
        forward = torch.stack(channels, dim=-1)
        if self.direction == "forward":
            return (forward,)
        backward = forward.transpose(1, 2)
        return (torch.cat([forward, backward], -1) if self.direction == "both" else backward,)

    def workspace(self, n: int) -> int:
        return super().workspace(n) + 3 * n * n  # distances, and paths through one more node
