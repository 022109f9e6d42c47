"""`To`: the values of an encoding at another level, so that pair encodings feed networks without pairs."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from graphpe.blocks import Block, LargeGraph
from graphpe.fields import Field, Level
from graphpe.transforms.core import levels
from graphpe.transforms.core.base import Encoding, kind_of
from graphpe.transforms.core.engine import padded
from graphpe.transforms.core.levels import Reduction


@dataclass(frozen=True, repr=False)
class To(Encoding):
    """Adds a field of another encoding, moved to another level.

    | from | to | ``reduce`` |
    |---|---|---|
    | pair | node | ``"diagonal"`` (i, i), or a pool over the targets j of the pairs (i, j) |
    | pair | edge | ``"entry"``: the pair (u, v) of the edge u→v |
    | pair | graph | a pool over all pairs |
    | node | edge, pair | ``"difference"`` x_v − x_u of source u and target v, ``"concatenation"`` [x_u, x_v] |
    | node | graph | a pool over the nodes |
    | edge | node | a pool over the edges u→v of the source u |
    | edge | pair | ``"sum"`` over the edges u→v, 0 where there is none |
    | edge | graph | a pool over the edges |
    | graph | node, edge, pair | ``"copy"`` |

    Pools are ``"mean"``, ``"sum"``, ``"min"``, ``"max"``, ``"std"`` (of the population), and ``"statistics"``: mean,
    std, min and max side by side. A pool over nothing is 0.

    The field keeps its symmetry where the reduction is linear; the others are refused for fields that are free up to
    signs or a basis. Only the moved field is written, never the one that it comes from, so a pair field takes no
    storage. It is in float64 while it is reduced.

    Writes:
        ``attr_name``: as wide as the field; twice for ``"concatenation"``, four times for ``"statistics"``.

    Args:
        encoding: What computes the field.
        level: ``"node"``, ``"edge"``, ``"pair"`` or ``"graph"``.
        reduce: How, as in the table.
        attr_name: Name of the moved field; by default that of the field, the level unless it is the node, and the
            reduction, as in ``relative_random_walk_pe_diagonal`` or ``random_walk_pe_graph_mean``. None concatenates it
            to ``x`` (node level only).
        field: Name of the field to move; None takes the first of the encoding.
        dtype: Stored dtype of floating-point fields; by default that of the encoding.
        dense_limit: Graphs with more nodes take the sparse form; by default as in the encoding.

    Raises:
        ValueError: If the field cannot be moved in this way.
    """

    encoding: Encoding
    level: Level
    reduce: Reduction
    attr_name: str | None = ""
    field: str | None = None
    dtype: Literal["float32", "float64"] | None = dataclasses.field(default=None, kw_only=True)
    dense_limit: int | None = dataclasses.field(default=None, kw_only=True)

    cost: ClassVar[str] = "that of the encoding"
    paper: ClassVar[str] = "-"

    def __post_init__(self) -> None:
        if not isinstance(self.encoding, Encoding):
            raise TypeError(
                f"encoding is {kind_of(self.encoding)}; it must be an encoding such as AddRandomWalkPE(8)"
            )
        if self.encoding.attr_name is None:
            raise ValueError(
                "the encoding of To has attr_name=None; give attr_name=None to To instead"
            )
        for name in ("dtype", "dense_limit"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, getattr(self.encoding, name))
        inner = dataclasses.replace(self.encoding, dtype=self.dtype, dense_limit=self.dense_limit)
        object.__setattr__(self, "encoding", inner)
        levels.check_move(self._source, self.level, self.reduce)
        super().__post_init__()

    def __repr__(self) -> str:
        settings = [repr(self.encoding), f"level={self.level!r}", f"reduce={self.reduce!r}"]
        if self.attr_name != "":
            settings.append(f"attr_name={self.attr_name!r}")
        if self.field is not None:
            settings.append(f"field={self.field!r}")
        return f"To({', '.join(settings)})"

    @property
    def field_name(self) -> str:
        return self.fields()[0].name

    def fields(self) -> tuple[Field, ...]:
        return (levels.moved_field(self._source, self.level, self.reduce, self.attr_name or None),)

    def check(self, part: Block | LargeGraph) -> None:
        self.encoding.check(part)

    @property
    def has_sparse_form(self) -> bool:
        return self.level != "pair" and self.encoding.has_sparse_form

    @property
    def is_equivariant(self) -> bool:
        return self.encoding.is_equivariant

    def workspace(self, n: int) -> int:
        return super().workspace(n) + 2 * self.encoding.workspace(n)

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        value = self._padded(self.encoding.encode_block(block))
        return (self._move(value, (len(block), block.n), block.edges),)

    def encode_large(self, graph: LargeGraph) -> tuple[Tensor, ...]:
        value = self._padded(self.encoding.encode_large(graph))
        source, target = (torch.from_numpy(ends) for ends in graph.edges)
        edges = (torch.zeros_like(source), source, target)
        return (self._move(value, (1, graph.n), edges),)

    def _move(self, value: Tensor, size: tuple[int, int], edges: levels.Edges) -> Tensor:
        return levels.move(value, self._source.level, self.level, self.reduce, size, edges)

    @property
    def _position(self) -> int:
        names = [field.name for field in self.encoding.fields()]
        if self.field is None:
            return 0
        if self.field not in names:
            raise ValueError(
                f"field is {self.field!r}, but {type(self.encoding).__name__} writes {', '.join(names)}"
            )
        return names.index(self.field)

    @property
    def _source(self) -> Field:
        return self.encoding.fields()[self._position]

    def _padded(self, values: tuple[Tensor, ...]) -> Tensor:
        return padded(values[self._position], self._source)
