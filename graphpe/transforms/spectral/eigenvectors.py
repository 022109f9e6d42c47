"""Encodings from the spectrum of the graph Laplacian."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from graphpe import linalg
from graphpe.blocks import Block, LargeGraph
from graphpe.checks import require_positive_integer
from graphpe.fields import Field
from graphpe.transforms.core.base import Encoding
from graphpe.transforms.core.undirected import warn_directed


@dataclass(frozen=True, repr=False)
class AddLaplacianEigenvectorPE(Encoding):
    r"""Adds the first eigenvectors and eigenvalues of the graph Laplacian.

    Solves :math:`L u_j = \lambda_j u_j` with eigenvalues in ascending order, where :math:`L` is

    - ``"sym"``: :math:`I - D^{-1/2} A D^{-1/2}`,
    - ``"none"``: :math:`D - A`,
    - ``"rw"``: :math:`I - D^{-1} A`, with eigenvectors :math:`D^{-1/2} u_j` of unit length.

    A drop-in for ``torch_geometric.transforms.AddLaplacianEigenvectorPE`` that is also right for repeated eigenvalues
    (orthonormal vectors), graphs with at most ``k`` nodes (padded with zeros), graphs without edges, isolated nodes
    (eigenvalue 0), and batches, and that gives the same values each time. Self-loops are removed; parallel edges
    add up; ``edge_weight`` is used if it is there. The sign of a column is fixed by a rule: its entry of largest
    modulus is positive.

    Writes:
        - ``attr_name``: ``[n, k]`` eigenvectors (node level; free up to an orthogonal matrix in each eigenspace).
        - ``eigenvalue_name``: ``[1, k]`` eigenvalues (graph level).
        - ``count_name``: ``[1, 1]`` int64 number of columns that are not padding (graph level).

    Args:
        k: Number of eigenvectors.
        attr_name: Name of the eigenvectors; None concatenates them to ``x``.
        is_undirected: True promises undirected graphs, and a directed one is an error. False symmetrises directed
            graphs (:math:`A \lor A^T`, with weights :math:`(A + A^T)/2`) and warns.
        normalization: The Laplacian: ``"sym"``, ``"none"`` or ``"rw"``.
        drop_trivial: ``"first"`` leaves out the first eigenpair, as Dwivedi and Bresson do; ``"none"`` keeps it, as
            SPE does.
        eigenvalue_name: Name of the eigenvalues.
        count_name: Name of the number of valid columns.
        seed: Seed of the iterative solver for graphs over ``dense_limit``.
        dtype: Stored dtype, ``"float32"`` or ``"float64"``.
        dense_limit: Graphs with more nodes are solved by a sparse iterative method.

    Raises:
        ValueError: For a directed graph with ``is_undirected=True``, for invalid weights or node numbers, or if the
            iterative solver does not converge; the message names the graph.

    References:
        Dwivedi et al., "Benchmarking Graph Neural Networks", https://arxiv.org/abs/2003.00982;
        Dwivedi and Bresson, "A Generalization of Transformer Networks to Graphs", https://arxiv.org/abs/2012.09699.
    """

    k: int
    attr_name: str | None = "laplacian_eigenvector_pe"
    is_undirected: bool = False
    normalization: Literal["sym", "none", "rw"] = "sym"
    drop_trivial: Literal["first", "none"] = "first"
    eigenvalue_name: str = "laplacian_eigenvalue"
    count_name: str = "laplacian_eigenvector_count"
    seed: int = 0

    cost: ClassVar[str] = "O(n³) per graph; sparse: block Krylov iteration for k pairs"
    paper: ClassVar[str] = "Dwivedi & Bresson 2020"

    def __post_init__(self) -> None:
        require_positive_integer("k", self.k)
        if self.normalization not in ("sym", "none", "rw"):
            raise ValueError(
                f"normalization is {self.normalization!r}; it must be 'sym', 'none' or 'rw'"
            )
        if self.drop_trivial not in ("first", "none"):
            raise ValueError(f"drop_trivial is {self.drop_trivial!r}; it must be 'first' or 'none'")
        super().__post_init__()

    def fields(self) -> tuple[Field, ...]:
        vectors = "laplacian_eigenvector_pe" if self.attr_name is None else self.attr_name
        return (
            Field(vectors, "node", self.k, self.torch_dtype, symmetry="basis"),
            Field(self.eigenvalue_name, "graph", self.k, self.torch_dtype),
            Field(self.count_name, "graph", 1, torch.int64),
        )

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        values, vectors = block.eigenpairs(self.normalization)
        return self._select(values, vectors)

    def encode_large(self, graph: LargeGraph) -> tuple[Tensor, ...]:
        values, vectors = linalg.smallest_laplacian_eigenpairs(
            graph.undirected_adjacency,
            self.k + self._dropped,
            self.normalization,
            seed=self.seed,
            dense_limit=self.dense_limit,
            name=graph.name,
        )
        return self._select(torch.from_numpy(values)[None], torch.from_numpy(vectors)[None])

    @property
    def _dropped(self) -> int:
        return 1 if self.drop_trivial == "first" else 0

    def _select(self, values: Tensor, vectors: Tensor) -> tuple[Tensor, ...]:
        wanted = slice(self._dropped, self._dropped + self.k)
        values, vectors = values[:, wanted], vectors[:, :, wanted]
        count = torch.full((len(values), 1), values.shape[1])
        return linalg.canonical_signs(vectors), values, count

    def check(self, part: Block | LargeGraph) -> None:
        name = part.directed_graph
        if name is None:
            return
        if self.is_undirected:
            raise ValueError(
                f"{name} is directed, but AddLaplacianEigenvectorPE was promised undirected graphs; "
                "apply ToUndirected() first, or set is_undirected=False to symmetrise"
            )
        warn_directed(self, "set is_undirected=True to refuse them")
