"""Coordinates of edges from the Hodge Laplacian."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from graphpe import linalg
from graphpe.blocks import Block
from graphpe.checks import require_positive_integer
from graphpe.fields import Field
from graphpe.linalg.spectra.hodge import HodgeSpectrum, hodge_spectrum, squares_per_eigenspace
from graphpe.transforms.hodge.base import HodgeEncoding, simple_graphs


@dataclass(frozen=True, repr=False)
class AddHodgePE(HodgeEncoding):
    r"""Adds coordinates of the edges from the lowest eigenvectors of the 1-Hodge Laplacian, by kind.

    .. math:: L_1 = B_1^T B_1 + B_2 B_2^T

    with the boundary matrices :math:`B_1 \in \{-1, 0, 1\}^{n \times e}` of the edges and
    :math:`B_2 \in \{-1, 0, 1\}^{e \times t}` of the triangles of the simple undirected graph. An eigenvector is a flow
    on the edges, and one of

    - harmonic: in the kernel of :math:`L_1`, flows around holes, cycles that are no sums of triangles,
    - gradient: in the image of :math:`B_1^T`, differences of node values, with the eigenvalues of :math:`D - A`,
    - curl: in the image of :math:`B_2`, flows around triangles.

    An edge record u→v has the flow from u to v, so v→u has its negative, and node numbers do not matter. Parallel edges
    each have the value of the one edge they stand for; self-loops, edges of weight 0, and columns beyond the number of
    eigenvectors have 0. The size of ``edge_weight`` has no effect.

    Writes:
        - ``attr_name``: ``[e, 3k]`` (edge level): k harmonic, k gradient, k curl columns, each kind by ascending
          eigenvalue; free up to an orthogonal matrix in each eigenspace of each kind. With ``invariant``: the squares
          of the flows averaged over their eigenspace, :math:`\operatorname{diag}(U U^T) / m` with its m orthonormal
          eigenvectors U, free of any choice and the same for u→v and v→u. Eigenvalues of one kind that differ by less
          than 1e-6 of the larger one are equal.
        - ``eigenvalue_name``: ``[1, 3k]`` eigenvalues (graph level).
        - ``count_name``: ``[1, 3]`` int64 number of columns of each kind that are not padding (graph level).

    Args:
        k: Number of columns of each kind.
        attr_name: Name of the coordinates.
        invariant: Whether to write the averaged squares.
        eigenvalue_name: Name of the eigenvalues.
        count_name: Name of the numbers of valid columns.
        edge_limit: Graphs with more edges are refused: the matrices have its square of entries.
        directed: What to do with a directed graph: ``"symmetrize"`` or ``"error"``.
        dtype: Stored dtype, ``"float32"`` or ``"float64"``.
        dense_limit: Of no effect, as there is only a dense form.

    Raises:
        ValueError: For a graph over a limit, a directed one with ``directed="error"``, or invalid weights or node
            numbers; the message names the graph.

    References:
        Lim, "Hodge Laplacians on Graphs", https://arxiv.org/abs/1507.05379.
    """

    k: int
    attr_name: str | None = "hodge_pe"
    invariant: bool = False
    eigenvalue_name: str = "hodge_eigenvalue"
    count_name: str = "hodge_count"

    cost: ClassVar[str] = "O(e³) per graph"
    paper: ClassVar[str] = "Lim 2020"

    def __post_init__(self) -> None:
        require_positive_integer("k", self.k)
        super().__post_init__()

    def fields(self) -> tuple[Field, ...]:
        symmetry = "none" if self.invariant else "basis"
        return (
            Field(self.field_name, "edge", 3 * self.k, self.torch_dtype, symmetry=symmetry),
            Field(self.eigenvalue_name, "graph", 3 * self.k, self.torch_dtype),
            Field(self.count_name, "graph", 3, torch.int64),
        )

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        graphs = block.shared(simple_graphs)
        new = graphs.adjacency.new_zeros
        coordinates = new(len(graphs.slot), 3 * self.k)  # of the simple edges
        eigenvalues = new(len(block), 3 * self.k)
        counts = new(len(block), 3, dtype=torch.int64)
        num_gradient = block.n - graphs.num_components
        for slots, edges in graphs.groups(graphs.num_edges > 0):
            spectrum = hodge_spectrum(
                graphs.adjacency[slots],
                graphs.source[edges],
                graphs.target[edges],
                num_gradient[slots],
            )
            column, is_valid = self._columns(spectrum)
            counts[slots] = is_valid.unflatten(1, (3, self.k)).sum(2)
            eigenvalues[slots] = spectrum.values.abs().gather(1, column) * is_valid
            values = squares_per_eigenspace(spectrum) if self.invariant else spectrum.vectors
            values = values.gather(2, column[:, None].expand(-1, values.shape[1], -1))
            if not self.invariant:
                values = linalg.canonical_signs(values)
            coordinates[edges] = values * is_valid[:, None]
        return self._of_records(block, coordinates), eigenvalues, counts

    def _columns(self, spectrum: HodgeSpectrum) -> tuple[Tensor, Tensor]:
        """Which eigenvectors are wanted, ``[g, 3k]``, and whether there are as many."""
        j = torch.arange(self.k, device=spectrum.values.device)
        gradients, harmonics = spectrum.num_gradient[:, None], spectrum.num_harmonic[:, None]
        column = torch.cat([gradients + j, gradients - 1 - j, gradients + harmonics + j], dim=1)
        is_valid = torch.cat([j < harmonics, j < gradients, j < spectrum.num_curl[:, None]], dim=1)
        return torch.where(is_valid, column, 0), is_valid

    def _of_records(self, block: Block, coordinates: Tensor) -> Tensor:
        """The values of the edge records from those of the simple edges."""
        graphs = block.shared(simple_graphs)
        place = torch.full(
            (len(block), block.n, block.n), -1, dtype=torch.int64, device=coordinates.device
        )
        place[graphs.slot, graphs.source, graphs.target] = torch.arange(
            len(graphs.slot), device=coordinates.device
        )
        slot, source, target = block.edges
        place = place[slot, torch.minimum(source, target), torch.maximum(source, target)]
        sign = (place >= 0).to(coordinates.dtype)
        if not self.invariant:
            sign = torch.where(source < target, sign, -sign)
        padded = torch.nn.functional.pad(coordinates, (0, 0, 0, 1))  # place -1 is the row of zeros
        return padded[place] * sign[:, None]
