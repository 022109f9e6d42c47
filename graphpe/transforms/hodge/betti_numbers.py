"""Numbers of components and holes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from graphpe.blocks import Block
from graphpe.fields import Field
from graphpe.linalg.spectra.hodge import rank_of_triangles
from graphpe.linalg.structure.triangles import triangles
from graphpe.transforms.hodge.base import HodgeEncoding, simple_graphs


@dataclass(frozen=True, repr=False)
class AddBettiNumberSE(HodgeEncoding):
    r"""Adds the number of connected components and of holes.

    .. math:: \beta_0 = \dim \ker B_1^T = c, \qquad \beta_1 = \dim \ker L_1 = e - (n - c) - \operatorname{rank} B_2

    for the simple undirected graph with its e edges, and its triangles (boundary matrix :math:`B_2`) filled. So
    :math:`\beta_1` counts independent cycles that are no sums of triangles. The rank is counted from eigenvalues:
    those up to 1e-10 of the largest are 0. The size of ``edge_weight`` has no effect; an edge of weight 0 is none.

    Writes:
        ``attr_name``: ``[1, 2]`` int64 :math:`\beta_0, \beta_1` (graph level).

    Args:
        attr_name: Name of the field.
        edge_limit: Graphs with more edges are refused: the matrices have its square of entries.
        directed: What to do with a directed graph: ``"symmetrize"`` or ``"error"``.
        dtype: Of no effect: the values are integers.
        dense_limit: Of no effect, as there is only a dense form.

    Raises:
        ValueError: For a graph over a limit, a directed one with ``directed="error"``, or invalid weights or node
            numbers; the message names the graph.

    References:
        Lim, "Hodge Laplacians on Graphs", https://arxiv.org/abs/1507.05379.
    """

    attr_name: str | None = "betti_number_se"

    cost: ClassVar[str] = "O(n + e) per graph, O(e³) with triangles"
    paper: ClassVar[str] = "Lim 2020"

    def fields(self) -> tuple[Field, ...]:
        return (Field(self.field_name, "graph", 2, torch.int64),)

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        graphs = block.shared(simple_graphs)
        holes = graphs.num_edges - (block.n - graphs.num_components)  # without triangles
        has_triangles = triangles(graphs.adjacency).any(dim=1)
        for slots, edges in graphs.groups(has_triangles):
            holes[slots] -= rank_of_triangles(
                graphs.adjacency[slots], graphs.source[edges], graphs.target[edges]
            )
        return (torch.stack([graphs.num_components, holes], dim=1),)
