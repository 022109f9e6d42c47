"""The base class of encodings that are defined for undirected graphs."""

from __future__ import annotations

import dataclasses
import warnings
from dataclasses import dataclass
from typing import Literal

from graphpe.blocks import Block, LargeGraph
from graphpe.checks import require_choice
from graphpe.transforms.core.base import Encoding


@dataclass(frozen=True, repr=False)
class UndirectedEncoding(Encoding):
    r"""An encoding of undirected graphs; it sees directed ones only as ``undirected_adjacency``.

    Args:
        directed: What to do with a directed graph: ``"symmetrize"`` takes :math:`A \lor A^T` (with weights
            :math:`(A + A^T)/2`) and warns, ``"error"`` refuses it.
        dtype: Stored dtype of floating-point fields, ``"float32"`` or ``"float64"``.
        dense_limit: Graphs with more nodes go through `encode_large`.
    """

    directed: Literal["symmetrize", "error"] = dataclasses.field(default="symmetrize", kw_only=True)

    def __post_init__(self) -> None:
        require_choice("directed", self.directed, ("symmetrize", "error"))
        super().__post_init__()

    def check(self, part: Block | LargeGraph) -> None:
        name = part.directed_graph
        if name is None:
            return
        if self.directed == "error":
            raise ValueError(
                f"{name} is directed, and {type(self).__name__} has directed='error'; apply ToUndirected() first, or "
                "set directed='symmetrize'"
            )
        warn_directed(self, "set directed='error' to refuse such graphs")


def warn_directed(encoding: Encoding, remedy: str) -> None:
    """Say that directed graphs are symmetrised; Python shows the same warning once, so once per class."""
    warnings.warn(
        f"{type(encoding).__name__}: some graphs are directed and were symmetrised, so directions are lost; "
        f"take AddMagneticLaplacianPE or AddDirectedRandomWalkPE to keep them, or {remedy}",
        UserWarning,
        stacklevel=2,
    )
