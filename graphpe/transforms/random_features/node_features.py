"""Random features that tell nodes apart: the baseline of all positional encodings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from graphpe.blocks import Block, LargeGraph
from graphpe.checks import require_choice, require_positive_integer, require_seed
from graphpe.fields import Field
from graphpe.linalg.draws.random_numbers import normal, rademacher, uniform
from graphpe.linalg.draws.random_subsets import random_arrangements
from graphpe.transforms.core.base import Encoding
from graphpe.transforms.core.seeds import graph_keys

_DRAWS = {"normal": normal, "uniform": uniform, "rademacher": rademacher}


@dataclass(frozen=True, repr=False)
class AddRandomFeaturesPE(Encoding):
    r"""Adds random features to the nodes, whatever the edges.

    The entries are independent, or the rows are one-hot identifiers:

    - ``"normal"``: mean 0, variance 1,
    - ``"uniform"``: between 0 and 1,
    - ``"rademacher"``: 1 or -1,
    - ``"one-hot"``: a different unit vector for each node of the graph, dealt at random; needs ``channels >= n``.

    Random numbers are a function of the seed and the graph (node numbers, edges, weights), so that neither a batch nor
    the order of graphs or edges changes them. For new ones in each epoch take
    ``dataclasses.replace(encoding, seed=epoch)``. Numbering the nodes in another way draws anew.

    Writes:
        ``attr_name``: ``[n, channels]`` random features (node level).

    Args:
        channels: Number of features.
        attr_name: Name of the field; None concatenates it to ``x``.
        distribution: ``"normal"``, ``"uniform"``, ``"rademacher"`` or ``"one-hot"``.
        seed: From 0 to 2^63 - 1.
        dtype: Stored dtype, ``"float32"`` or ``"float64"``.
        dense_limit: Of no effect on the values.

    Raises:
        ValueError: If a graph has more nodes than there are one-hot identifiers; the message names the graph.

    References:
        Sato, Yamada and Kashima, "Random Features Strengthen Graph Neural Networks",
        https://arxiv.org/abs/2002.03155; Abboud et al., "The Surprising Power of Graph Neural Networks with Random Node
        Initialization", https://arxiv.org/abs/2010.01179.
    """

    channels: int
    attr_name: str | None = "random_features_pe"
    distribution: Literal["normal", "uniform", "rademacher", "one-hot"] = "normal"
    seed: int = 0

    cost: ClassVar[str] = "O(n · channels)"
    paper: ClassVar[str] = "Sato et al. 2021"

    def __post_init__(self) -> None:
        require_positive_integer("channels", self.channels)
        require_choice("distribution", self.distribution, (*_DRAWS, "one-hot"))
        require_seed("seed", self.seed)
        super().__post_init__()

    @property
    def is_equivariant(self) -> bool:
        return False  # the draws go by node number

    def check(self, part: Block | LargeGraph) -> None:
        if self.distribution == "one-hot" and part.n > self.channels:
            name = part.graphs.name(part.numbers[0] if isinstance(part, Block) else part.number)
            raise ValueError(
                f"{name} has {part.n:,} nodes, but distribution='one-hot' with channels={self.channels} has "
                f"{self.channels} identifiers; set channels to the number of nodes of the largest graph or more"
            )

    def fields(self) -> tuple[Field, ...]:
        return (Field(self.field_name, "node", self.channels, self.torch_dtype),)

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        return (self._draw(block),)

    def encode_large(self, graph: LargeGraph) -> tuple[Tensor, ...]:
        return (self._draw(graph),)

    def _draw(self, part: Block | LargeGraph) -> Tensor:
        keys = graph_keys(part, self.seed)
        if self.distribution == "one-hot":
            identifiers = random_arrangements(keys, part.n, self.channels)
            return torch.nn.functional.one_hot(identifiers, self.channels)
        return _DRAWS[self.distribution](keys, part.n, self.channels)
