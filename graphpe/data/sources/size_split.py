"""Splits by the size of graphs."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from graphpe.checks import require_number, require_positive_integer, require_seed
from graphpe.data.sources.base import GraphSource, SplitGraphs
from graphpe.fields import Field
from graphpe.graphs import GraphBatch


@dataclass(frozen=True, kw_only=True)
class SizeSplit(GraphSource):
    """The graphs of another source, split anew: small ones to train and to validate on, larger ones to test on.

    All graphs that are in a part of the source are in one part here. Those with at most ``largest_train_nodes`` nodes
    are small; ``valid_fraction`` of them, drawn at random, are for validation. The test has all others.

    Args:
        source: Where the graphs come from. Its parts must be told apart by graphs.
        largest_train_nodes: Most nodes of a small graph.
        small_fraction: In its place: the bound is the smallest one by which at least this fraction of the graphs are
            small. Graphs of one size stay together.
        valid_fraction: Fraction of the small graphs that are for validation.
        seed: Of the draw.

    Raises:
        TypeError: If ``source`` is of another kind.
        ValueError: If not one bound is given, or a number is out of range; in `load` if a part would be empty.
    """

    source: GraphSource
    largest_train_nodes: int | None = None
    small_fraction: float | None = None
    valid_fraction: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.source, GraphSource):
            raise TypeError(
                f"source is a {type(self.source).__name__}; it must be a GraphSource, such as "
                "OGBSource('ogbg-molhiv')"
            )
        if type(self.source).part is not GraphSource.part:
            raise ValueError(
                f"source is a {type(self.source).__name__}, whose parts are not told apart by graphs, so they can't "
                "be split by size; give a source of many graphs"
            )
        if (self.largest_train_nodes is None) == (self.small_fraction is None):
            raise ValueError(
                f"largest_train_nodes is {self.largest_train_nodes} and small_fraction {self.small_fraction}; give "
                "one of them"
            )
        if self.largest_train_nodes is not None:
            require_positive_integer("largest_train_nodes", self.largest_train_nodes)
        else:
            require_number("small_fraction", self.small_fraction, 0, may_equal=False, below=1)
        require_number("valid_fraction", self.valid_fraction, 0, may_equal=False, below=1)
        require_seed("seed", self.seed)

    def load(self) -> SplitGraphs:
        graphs, index = self.source.load()
        numbers = torch.cat(list(index.values())).unique()
        if len(numbers) == 0:
            raise ValueError(f"{self.source} has no graphs; give at least three")
        sizes = GraphBatch.of(graphs).num_nodes.cpu()[numbers]
        bound = self._bound(sizes)
        small, large = numbers[sizes <= bound], numbers[sizes > bound]
        num_valid = round(self.valid_fraction * len(small))
        counts = (len(small) - num_valid, num_valid, len(large))
        if min(counts) == 0:
            raise ValueError(
                f"of {len(numbers)} graphs with {int(sizes.min())} to {int(sizes.max())} nodes, {len(small)} have at "
                f"most {bound}, which gives {' / '.join(map(str, counts))} graphs to train, validate and test on; each "
                "part needs one, so change largest_train_nodes, small_fraction or valid_fraction"
            )
        generator = torch.Generator().manual_seed(self.seed)
        small = small[torch.randperm(len(small), generator=generator)]
        valid, train = small[:num_valid].sort().values, small[num_valid:].sort().values
        return SplitGraphs(graphs, {"train": train, "valid": valid, "test": large})

    def prepare(self) -> None:
        self.source.prepare()

    @property
    def fields(self) -> dict[str, Field]:
        return self.source.fields

    def _bound(self, sizes: Tensor) -> int:
        """Most nodes of a small graph."""
        if self.largest_train_nodes is not None:
            return self.largest_train_nodes
        fractions = torch.arange(1, len(sizes) + 1, dtype=torch.float64) / len(sizes)
        return int(sizes.sort().values[fractions >= self.small_fraction][0])
