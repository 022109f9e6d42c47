"""Eigenvectors and eigenvalues of the magnetic Laplacian of directed graphs."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import torch
from torch import Tensor

from graphpe.blocks import Block, LargeGraph
from graphpe.checks import require_choice, require_number, require_positive_integer, require_seed
from graphpe.fields import Field
from graphpe.linalg.large.magnetic import (
    large_relative_divisor,
    smallest_magnetic_eigenpairs,
)
from graphpe.linalg.spectra.eigenspaces import eigenspace_starts
from graphpe.linalg.spectra.eigenvector_phases import (
    canonical_phases,
    reference_phases,
    root_phases,
)
from graphpe.linalg.spectra.magnetic import (
    Isolated,
    MagneticNormalization,
    TwoWay,
    magnetic_eigenpairs,
    magnetic_laplacian,
    relative_divisor,
)
from graphpe.transforms.core.base import Encoding

Phase = Literal["canonical", "root", "reference"]

_PHASES: dict[str | None, Callable[[Tensor], Tensor]] = {
    "canonical": canonical_phases,
    "root": root_phases,
    "reference": reference_phases,
    None: lambda vectors: vectors,
}


@dataclass(frozen=True)
class MultiQ:
    """The potentials q, 2q, ..., Qq.

    Args:
        base: q.
        count: Q.
    """

    base: float
    count: int

    def __post_init__(self) -> None:
        require_number("base", self.base, 0.0, may_equal=False)
        require_positive_integer("count", self.count)

    @property
    def potentials(self) -> tuple[float, ...]:
        """All of them, ascending."""
        return tuple(self.base * number for number in range(1, self.count + 1))


@dataclass(frozen=True, repr=False)
class AddMagneticLaplacianPE(Encoding):
    r"""Adds the first eigenvectors and eigenvalues of the magnetic Laplacian of a directed graph.

    Directions become phases of a Hermitian matrix H, for a potential q: :math:`H_{uv} = e^{2\pi i q}` along an edge
    u→v and :math:`H_{vu} = e^{-2\pi i q}` against it (row = source). Solves :math:`L \gamma_j = \lambda_j \gamma_j`
    with real eigenvalues in ascending order, where :math:`L` is

    - ``"sym"``: :math:`I - D^{-1/2} H D^{-1/2}`, with eigenvalues from 0 to 2,
    - ``"none"``: :math:`D - H`.

    On a path or tree the phase of an eigenvector falls by :math:`2\pi q` along each edge, and the eigenvalues do not
    depend on q. They do where the phases around a cycle do not add up to a whole turn; then the first eigenvalue of
    that component is over 0. So the first pair is never dropped. q = 0 is the undirected Laplacian; q and q + 1 are
    the same; −q, as the reversal of all edges, gives the complex conjugate. So q from 0 to 1/2 is enough.

    Three rules are in use for pairs of nodes joined both ways, with weights w of u→v and w' of v→u. They give the same
    eigenvectors where there are no such pairs, parallel edges, weights or self-loops:

    - ``"binary"`` (Geisler et al.): every edge counts once, a two-way pair is an undirected edge (1, phase 0).
      Weights and parallel edges don't matter, but for edges of weight 0, which are none. Self-loops are kept.
    - ``"phase"`` (multi-q): :math:`H = A e^{2\pi i q} + A^T e^{-2\pi i q}`, D = in- plus out-degree. Parallel
      edges and weights add up; a two-way pair has :math:`w e^{2\pi i q} + w' e^{-2\pi i q}`, that is
      :math:`2 \cos 2\pi q` without weights: nothing at q = 1/4. Self-loops are removed.
    - ``"average"`` (MagNet, networkx): :math:`(w + w')/2`, with phase 0 for a two-way pair. Parallel edges and weights
      add up. Self-loops are removed.

    Eigenvectors are zero outside of one connected component each, the largest one first where eigenvalues are equal.

    Writes:
        - ``attr_name``: ``[n, k]`` complex eigenvectors of unit length; ``[n, Q, k]`` for several potentials. Free up
          to a unitary matrix in each eigenspace, which is a phase where an eigenvalue is single (node level).
        - ``eigenvalue_name``: ``[1, k]`` or ``[1, Q, k]`` real eigenvalues (graph level).
        - ``count_name``: ``[1, 1]`` int64 number of columns that are not padding (graph level).
        - ``potential_name``: ``[1, Q]`` the potentials used, Q = 1 for a single one (graph level).
        - ``cut_name``: ``[1, Q]`` int64, 1 where k cuts through an eigenspace: the k-th eigenvalue equals the next one,
          by the rule of ``AddLaplacianEigenvectorPE``, so that the columns written are not determined by the graph
          (graph level).

    Args:
        k: Number of eigenvectors.
        attr_name: Name of the eigenvectors; they are complex, so they cannot be concatenated to ``x`` by None.
        q: The potential; or several, as a list or ``MultiQ(q, Q)`` for q, 2q, ..., Qq.
        relative: Whether to divide q by max(min(m, n), 1) of each graph, where m is the number of pairs of nodes that
            are joined in exactly one direction. Geisler et al. take 0.1 or 0.25.
        normalization: ``"sym"`` or ``"none"``.
        two_way: ``"binary"``, ``"phase"`` or ``"average"``: see above.
        phase: How the phases of eigenvectors are fixed. ``"canonical"``: an entry of largest modulus is real and
            positive; ties are settled by moments of the eigenvector, and by the order of nodes only where these are
            all 0, as on a directed cycle. ``"root"``: all are real and positive at the node where the first has its
            largest modulus (canonical where they are 0 there). ``"reference"``: the rule of Geisler et al., which is
            not well defined: its root depends on the phases that the solver happened to return. None: as the
            solver returns them.
        eigenvalue_name: Name of the eigenvalues.
        count_name: Name of the number of valid columns.
        potential_name: Name of the potentials.
        isolated: Eigenvalue of an isolated node: ``"zero"``, or ``"one"``, the rule of both papers for ``"sym"``.
        seed: Seed of the iterative solver for graphs over ``dense_limit``.
        cut_name: Name of the flag.
        dtype: ``"float32"`` stores complex64, ``"float64"`` complex128.
        dense_limit: Graphs with more nodes are solved by a sparse iterative method.

    Raises:
        ValueError: For invalid settings, weights or node numbers, or if the iterative solver does not converge; the
            message names the graph.

    References:
        Geisler et al., "Transformers Meet Directed Graphs", https://arxiv.org/abs/2302.00049;
        Huang et al., "What Are Good Positional Encodings for Directed Graphs?", https://arxiv.org/abs/2407.20912;
        Zhang et al., "MagNet: A Neural Network for Directed Graphs", https://arxiv.org/abs/2102.11391.
    """

    k: int
    attr_name: str | None = "magnetic_eigenvector_pe"
    q: float | tuple[float, ...] | MultiQ = 0.25
    relative: bool = False
    normalization: MagneticNormalization = "sym"
    two_way: TwoWay = "binary"
    phase: Phase | None = "canonical"
    eigenvalue_name: str = "magnetic_eigenvalue"
    count_name: str = "magnetic_eigenvector_count"
    potential_name: str = "magnetic_potential"
    isolated: Isolated = "zero"
    seed: int = 0
    cut_name: str = "magnetic_eigenspace_cut"

    cost: ClassVar[str] = "O(Q n³) per graph; sparse: block Krylov iteration for k pairs"
    paper: ClassVar[str] = "Geisler et al. 2023; Huang et al. 2025 (multi-q)"

    def __post_init__(self) -> None:
        require_positive_integer("k", self.k)
        object.__setattr__(self, "q", _checked_potentials(self.q))
        require_choice("normalization", self.normalization, get_args(MagneticNormalization))
        require_choice("two_way", self.two_way, get_args(TwoWay))
        require_choice("phase", self.phase, tuple(_PHASES))
        require_choice("isolated", self.isolated, get_args(Isolated))
        require_seed("seed", self.seed)
        if self.isolated == "one" and self.normalization == "none":
            raise ValueError(
                "isolated is 'one', but D - H (normalization='none') has the eigenvalue 0 for an isolated node; set "
                "isolated='zero', or normalization='sym'"
            )
        super().__post_init__()

    @property
    def potentials(self) -> tuple[float, ...]:
        """All potentials as given, before they are divided where ``relative``."""
        if isinstance(self.q, MultiQ):
            return self.q.potentials
        return self.q if isinstance(self.q, tuple) else (self.q,)

    @property
    def _is_single(self) -> bool:
        return not isinstance(self.q, MultiQ | tuple)

    def fields(self) -> tuple[Field, ...]:
        count = len(self.potentials)
        shape = None if self._is_single else (count, self.k)
        dtype = torch.complex64 if self.dtype == "float32" else torch.complex128
        width = count * self.k
        return (
            Field(self.field_name, "node", width, dtype, symmetry="basis", shape=shape),
            Field(self.eigenvalue_name, "graph", width, self.torch_dtype, shape=shape),
            Field(self.count_name, "graph", 1, torch.int64),
            Field(self.potential_name, "graph", count, self.torch_dtype),
            Field(self.cut_name, "graph", count, torch.int64),
        )

    def workspace(self, n: int) -> int:
        return (
            super().workspace(n) + 12 * len(self.potentials) * n * n
        )  # complex operators and vectors

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        potentials = block.shared(_potentials, self.potentials, self.relative)
        values, vectors = block.shared(
            _eigenpairs,
            self.potentials,
            self.relative,
            self.two_way,
            self.normalization,
            self.isolated,
        )
        return self._results(potentials, values, vectors, values[..., -1:])

    def encode_large(self, graph: LargeGraph) -> tuple[Tensor, ...]:
        potentials = torch.tensor([self.potentials], dtype=torch.float64)
        if self.relative:
            potentials = potentials / large_relative_divisor(graph.adjacency)
        values, vectors = smallest_magnetic_eigenpairs(
            graph.adjacency,
            potentials[0],
            self.k + 1,
            self.two_way,
            self.normalization,
            self.isolated,
            seed=self.seed,
            dense_limit=self.dense_limit,
            name=graph.name,
        )
        # The order of magnitude of the largest eigenvalue, which is not computed.
        most = graph.adjacency.sum(0).max() + graph.adjacency.sum(1).max() if graph.n else 0.0
        bound = 2.0 if self.normalization == "sym" else 2.0 * max(float(most), 1.0)
        return self._results(potentials, values[None], vectors[None], bound)

    def _results(
        self, potentials: Tensor, values: Tensor, vectors: Tensor, bound: Tensor | float
    ) -> tuple[Tensor, ...]:
        """The fields from ``[b, Q]``, ``[b, Q, m]`` and ``[b, Q, n, m]``, m more than k where a graph has so many."""
        is_cut = _is_cut(values, bound, self.k)
        values, vectors = values[..., : self.k], vectors[..., : self.k]
        b, _, m = values.shape
        vectors = _PHASES[self.phase](vectors).movedim(1, 2)
        if self._is_single:
            values, vectors = values.squeeze(1), vectors.squeeze(2)
        count = torch.full((b, 1), m, device=values.device)
        return vectors, values, count, potentials, is_cut.long()


def _is_cut(values: Tensor, bound: Tensor | float, k: int) -> Tensor:
    """``[b, Q]`` bool: whether the k-th of the eigenvalues ``[b, Q, m]`` equals the next one."""
    b, count, m = values.shape
    if m <= k:
        return torch.zeros(b, count, dtype=torch.bool, device=values.device)
    if isinstance(bound, Tensor):
        bound = bound.flatten(0, 1)
    # The eigenvalues 0, if there are any, differ by rounding.
    no_zeros = torch.zeros(b * count, 1, dtype=torch.long, device=values.device)
    starts = eigenspace_starts(values.flatten(0, 1), no_zeros, bound)
    return ~starts[:, k].view(b, count)


def _potentials(block: Block, potentials: tuple[float, ...], relative: bool) -> Tensor:
    """``[b, Q]``: the potentials of each graph."""
    adjacency = block.adjacency
    given = adjacency.new_tensor(potentials).expand(len(block), -1)
    return given / relative_divisor(adjacency).unsqueeze(-1) if relative else given


def _eigenpairs(
    block: Block,
    potentials: tuple[float, ...],
    relative: bool,
    two_way: TwoWay,
    normalization: MagneticNormalization,
    isolated: Isolated,
) -> tuple[Tensor, Tensor]:
    """``[b, Q, n]`` ascending eigenvalues and ``[b, Q, n, n]`` eigenvectors."""
    own = block.shared(_potentials, potentials, relative)
    operator = magnetic_laplacian(block.adjacency, own, two_way, normalization, isolated)
    return magnetic_eigenpairs(operator, block.component_labels)


def _checked_potentials(q: object) -> float | tuple[float, ...] | MultiQ:
    """q as a Python number, a tuple of them, or a MultiQ; raises a ValueError for anything else."""
    if isinstance(q, MultiQ):
        return q
    if isinstance(q, str | numbers.Number) or not isinstance(q, Sequence):
        return _checked_potential("q", q)
    if len(q) == 0:
        raise ValueError("q is an empty list; give at least one potential")
    return tuple(_checked_potential(f"q[{position}]", value) for position, value in enumerate(q))


def _checked_potential(name: str, value: object) -> float:
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not (is_number and math.isfinite(value)):
        raise ValueError(
            f"{name} is {value!r}; it must be a finite number, or q a list of them or MultiQ(base, count)"
        )
    return float(value)
