"""Eigenvectors and eigenvalues of the graph Laplacian."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
import torch
from scipy.sparse import csgraph
from torch import Tensor

from graphpe import linalg
from graphpe.blocks import Block, LargeGraph
from graphpe.checks import require_choice, require_positive_integer, require_seed
from graphpe.fields import Field
from graphpe.linalg.draws import random_numbers
from graphpe.linalg.large.eigensolvers.choice import SolverName
from graphpe.linalg.spectra.connected_components import has_several_largest
from graphpe.linalg.spectra.eigenpair_selection import select_eigenpairs
from graphpe.linalg.spectra.eigenspaces import eigenspace_starts, scale_starts
from graphpe.linalg.spectra.eigenvector_scaling import (
    EigenvectorScale,
    arcsine_wavelengths,
    rescale_eigenvectors,
)
from graphpe.transforms.core.base import Encoding
from graphpe.transforms.core.seeds import graph_keys
from graphpe.transforms.core.undirected import warn_directed
from graphpe.transforms.spectral import shared


@dataclass(frozen=True, repr=False)
class AddLaplacianEigenvectorPE(Encoding):
    r"""Adds the first eigenvectors and eigenvalues of the graph Laplacian.

    Solves :math:`L u_j = \lambda_j u_j` with eigenvalues in ascending order, where :math:`L` is

    - ``"sym"``: :math:`I - D^{-1/2} A D^{-1/2}`,
    - ``"none"``: :math:`D - A`,
    - ``"rw"``: :math:`I - D^{-1} A`, with eigenvectors :math:`D^{-1/2} u_j`, :math:`u_j` those of ``"sym"``, scaled to
      unit length.

    A drop-in for ``torch_geometric.transforms.AddLaplacianEigenvectorPE`` that is also right for repeated eigenvalues
    (orthonormal vectors), graphs with at most ``k`` nodes (padded with zeros), graphs without edges, isolated nodes
    (eigenvalue 0), and batches, and that gives the same values each time. Self-loops are removed; parallel edges
    add up; ``edge_weight`` is used if it is there. The eigenvalue 0 has one eigenvector per connected component, zero
    elsewhere; the one of the largest component is the first.

    Two neighbouring eigenvalues count as equal if they differ by at most 1e-6 of the larger one, or by 1e-12 of the
    largest (rounding). All columns of an eigenspace have one scale, which doesn't depend on their basis: for ``"rw"``,
    the root mean square of their lengths is 1, so that single ones may be shorter or longer. Only eigenvectors of the
    eigenvalue 0, whose basis is known, are scaled one by one. Where k cuts through an eigenspace, the scale is that of
    all its columns, or, in a graph over ``dense_limit``, of those up to the one after the last.

    Also known as LapPE.

    Writes:
        - ``attr_name``: ``[n, k]`` eigenvectors (node level; free up to an orthogonal matrix in each eigenspace, except
          with ``rescale="wavelength-asin"``).
        - ``eigenvalue_name``: ``[1, k]`` eigenvalues (graph level).
        - ``count_name``: ``[1, 1]`` int64 number of columns that are not padding (graph level).
        - ``cut_name``: ``[1, 1]`` int64, 1 where the columns written are not determined by the graph, however an
          encoder treats them: k cuts through an eigenspace (the k-th eigenvalue equals the next one), or
          ``drop_trivial="first"`` does, because several components are the largest and the order of nodes says which
          of their eigenvectors goes (graph level).

    Args:
        k: Number of eigenvectors.
        attr_name: Name of the eigenvectors; None concatenates them to ``x``.
        is_undirected: True promises undirected graphs, and a directed one is an error. False symmetrises directed
            graphs (:math:`A \lor A^T`, with weights :math:`(A + A^T)/2`) and warns.
        normalization: The Laplacian: ``"sym"`` (Dwivedi and Bresson, SPE), ``"none"`` (GraphGPS) or ``"rw"``.
        drop_trivial: ``"first"`` leaves out the first eigenpair, as Dwivedi and Bresson do; ``"all"`` every one with
            eigenvalue 0, as many as there are connected components; ``"none"`` keeps all, as SPE and GraphGPS do. Take
            one of the last two for graphs with several components: see ``cut_name``.
        eigenvalue_name: Name of the eigenvalues.
        count_name: Name of the number of valid columns.
        seed: Seed of random signs, and of the iterative solver for graphs over ``dense_limit``.
        cut_name: Name of the flag.
        complete_eigenspaces: Whether to leave out the eigenspace that is cut. If k cuts it, its columns are zero and do
            not count. If ``drop_trivial="first"`` does, the graph is encoded as with ``"all"``. The flag stays 1.
        rescale: Scale of a column: ``"l2"`` (unit length), ``"l1"``, ``"max"``, ``"wavelength"``,
            ``"wavelength-asin"`` or ``"soft"``; the last three as in GraphGPS, with
            :math:`\sqrt{\lambda}` taken as 1 where :math:`\lambda = 0`. Where an eigenvalue is repeated, the root mean
            square of a row over the columns of the eigenspace takes the place of :math:`|u_i|`, so that all have one
            scale: the largest entry of a column with ``"max"``, say, need not be 1. ``"wavelength-asin"``, which is not
            linear, has no such form: no encoder is invariant to the bases of what it gives, SPE included.
        signs: ``"canonical"``: the entry of largest modulus of a column is positive. ``"random"``: drawn once for each
            graph and column, by ``seed``.
        isolated: Eigenvalue of an isolated node: ``"zero"``, so that there are as many zeros as components, or
            ``"one"``, the rule of PyG and of SPE's preprocessing for ``"sym"`` and ``"rw"``.
        solver: Iterative solver for graphs over ``dense_limit``: ``"auto"``, ``"shift-invert"``, ``"chebyshev"``,
            ``"lanczos"`` or ``"lobpcg"``; see `graphpe.linalg.smallest_laplacian_eigenpairs`.
        dtype: Stored dtype, ``"float32"`` or ``"float64"``.
        dense_limit: Graphs with more nodes are solved by a sparse iterative method.

    Raises:
        ValueError: For a directed graph with ``is_undirected=True``, for invalid weights or node numbers, or if the
            iterative solver does not converge; the message names the graph.

    References:
        Dwivedi et al., "Benchmarking Graph Neural Networks", https://arxiv.org/abs/2003.00982;
        Dwivedi and Bresson, "A Generalization of Transformer Networks to Graphs", https://arxiv.org/abs/2012.09699;
        Rampášek et al., "Recipe for a General, Powerful, Scalable Graph Transformer",
        https://arxiv.org/abs/2205.12454.
    """

    k: int
    attr_name: str | None = "laplacian_eigenvector_pe"
    is_undirected: bool = False
    normalization: Literal["sym", "none", "rw"] = "sym"
    drop_trivial: Literal["first", "all", "none"] = "first"
    eigenvalue_name: str = "laplacian_eigenvalue"
    count_name: str = "laplacian_eigenvector_count"
    seed: int = 0
    cut_name: str = "laplacian_eigenspace_cut"
    complete_eigenspaces: bool = False
    rescale: EigenvectorScale = "l2"
    signs: Literal["canonical", "random"] = "canonical"
    isolated: Literal["zero", "one"] = "zero"
    solver: SolverName = "auto"

    cost: ClassVar[str] = "O(n³) per graph; sparse: block Krylov iteration for k pairs"
    paper: ClassVar[str] = "Dwivedi & Bresson 2020"

    def __post_init__(self) -> None:
        require_positive_integer("k", self.k)
        require_choice("normalization", self.normalization, ("sym", "none", "rw"))
        require_choice("drop_trivial", self.drop_trivial, ("first", "all", "none"))
        require_choice("rescale", self.rescale, get_args(EigenvectorScale))
        require_choice("signs", self.signs, ("canonical", "random"))
        require_choice("isolated", self.isolated, ("zero", "one"))
        require_choice("solver", self.solver, get_args(SolverName))
        require_seed("seed", self.seed)
        if self.isolated == "one" and self.normalization == "none":
            raise ValueError(
                "isolated is 'one', but D - A (normalization='none') has the eigenvalue 0 for an isolated node; "
                "set isolated='zero', or normalization='sym' or 'rw'"
            )
        super().__post_init__()

    def fields(self) -> tuple[Field, ...]:
        return (
            Field(self.field_name, "node", self.k, self.torch_dtype, symmetry="basis"),
            Field(self.eigenvalue_name, "graph", self.k, self.torch_dtype),
            Field(self.count_name, "graph", 1, torch.int64),
            Field(self.cut_name, "graph", 1, torch.int64),
        )

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        values, vectors = block.eigenpairs(self.normalization)
        zeros = block.shared(shared.zero_counts, self.normalization)
        is_tied = has_several_largest(block.component_labels)
        bound = values[:, -1:]
        if self.isolated == "one":
            isolated = (block.shared(shared.simple_degrees) == 0).sum(-1, keepdim=True)
            zeros = zeros - isolated
            values, vectors = _with_isolated_at_one(values, vectors, zeros, isolated)
        return self._select(block, values, vectors, zeros, is_tied, bound)

    def workspace(self, n: int) -> int:
        return super().workspace(n) + (0 if self.rescale == "l2" else 5 * n * n)  # row norms

    def encode_large(self, graph: LargeGraph) -> tuple[Tensor, ...]:
        adjacency = graph.undirected_adjacency
        degrees = adjacency.sum(1) - adjacency.diagonal()
        alone = np.diff(adjacency.indptr) == (adjacency.diagonal() != 0)
        count, labels = csgraph.connected_components(adjacency, directed=False)
        sizes = np.bincount(labels)
        is_tied = bool((sizes == sizes.max()).sum() > 1)
        drops_all = self.drop_trivial == "all" or (is_tied and self._keeps_no_rest)
        # The modes of isolated nodes are known. They are left out where nobody wants them, or put in at 1.
        skips_isolated = drops_all or self.isolated == "one"
        nodes = np.flatnonzero(~alone) if skips_isolated else np.arange(graph.n)
        connected = adjacency[nodes][:, nodes] if skips_isolated else adjacency
        # Where all zero modes are dropped, none is made: there may be very many.
        zeros = 0 if drops_all else count - (graph.n - len(nodes))
        wanted = self.k + 1 + self._dropped
        values, own_vectors = linalg.smallest_laplacian_eigenpairs(
            connected,
            wanted,
            self.normalization,
            solver=self.solver,
            seed=self.seed,
            dense_limit=self.dense_limit,
            zero_modes=not drops_all,
            name=graph.name,
        )
        vectors = np.zeros((graph.n, len(values)))
        vectors[nodes] = own_vectors
        if self.isolated == "one":
            isolated = np.flatnonzero(alone)[:wanted]
            modes = np.zeros((graph.n, len(isolated)))
            modes[isolated, np.arange(len(isolated))] = 1.0
            values = np.concatenate([values, np.ones(len(isolated))])
            ascending = np.argsort(values, kind="stable")[:wanted]
            values, vectors = values[ascending], np.hstack([vectors, modes])[:, ascending]
        return self._select(
            graph,
            torch.from_numpy(values)[None],
            torch.from_numpy(vectors)[None],
            torch.tensor([[zeros]]),
            torch.tensor([[is_tied]]),
            2.0 * degrees.max() if self.normalization == "none" else 2.0,
        )

    def _select(
        self,
        part: Block | LargeGraph,
        values: Tensor,
        vectors: Tensor,
        zeros: Tensor,
        is_tied: Tensor,
        bound: Tensor | float,
    ) -> tuple[Tensor, ...]:
        """The fields from all eigenpairs, or from one more than wanted.

        Args:
            part: The graphs.
            values: ``[b, m]``, ascending.
            vectors: ``[b, n, m]``.
            zeros: ``[b, 1]`` number of eigenvalues that are 0.
            is_tied: ``[b, 1]`` bool, whether several components are the largest.
            bound: ``[b, 1]`` or a number: the order of magnitude of the largest eigenvalue.
        """
        drops_all = is_tied if self._keeps_no_rest else torch.zeros_like(is_tied)
        if self.drop_trivial == "all":
            drops_all = torch.ones_like(is_tied)
        first = torch.where(drops_all, zeros, self._dropped)
        starts = eigenspace_starts(values, zeros, bound)
        # Before the selection, so that a scale is that of a whole eigenspace.
        vectors = rescale_eigenvectors(
            vectors, values, scale_starts(values, zeros, bound), bound, self.rescale
        )
        if isinstance(part, LargeGraph) and self.drop_trivial == "first" and int(zeros) > self.k:
            _warn_zero_modes(part.name)
        vectors, values, count, is_cut = select_eigenpairs(
            values, vectors, starts, first, self.k, self.complete_eigenspaces
        )
        vectors = linalg.canonical_signs(vectors)
        if self.signs == "random":
            keys = graph_keys(part, self.seed).to(vectors.device)
            vectors = vectors * random_numbers.rademacher(keys, 1, vectors.shape[2])
        if self.rescale == "wavelength-asin":
            vectors = arcsine_wavelengths(vectors, values, bound)
        if self.drop_trivial == "first":
            is_cut = is_cut | is_tied
        return vectors, values, count, is_cut.long()

    @property
    def _keeps_no_rest(self) -> bool:
        """Whether all zero modes go where it is arbitrary which is the first."""
        return self.drop_trivial == "first" and self.complete_eigenspaces

    @property
    def _dropped(self) -> int:
        return 1 if self.drop_trivial == "first" else 0

    def check(self, part: Block | LargeGraph) -> None:
        name = part.directed_graph
        if name is None:
            return
        if self.is_undirected:
            raise ValueError(
                f"{name} is directed, but AddLaplacianEigenvectorPE was promised undirected graphs; "
                "apply ToUndirected() first, or set is_undirected=False to symmetrise"
            )
        warn_directed(self, "set is_undirected=True to refuse such graphs")


def _warn_zero_modes(name: str) -> None:
    """Say that the columns of a graph with many components tell no more than which component a node is in."""
    warnings.warn(
        f"AddLaplacianEigenvectorPE: {name} has more connected components than k, so that all its eigenvectors belong "
        "to the eigenvalue 0 and are constant on components; drop_trivial='all' leaves these out",
        UserWarning,
        stacklevel=2,
    )


def _with_isolated_at_one(
    values: Tensor, vectors: Tensor, zeros: Tensor, isolated: Tensor
) -> tuple[Tensor, Tensor]:
    """Gives the modes of isolated nodes, the last of the zero modes, the eigenvalue 1."""
    column = torch.arange(values.shape[1], device=values.device)
    is_isolated = (column >= zeros) & (column < zeros + isolated)
    values, order = torch.where(is_isolated, 1.0, values).sort(stable=True)
    return values, vectors.gather(2, order.unsqueeze(1).expand_as(vectors))
