"""Random features that spread over the graph."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import scipy.sparse
import torch
from torch import Tensor

from graphpe.blocks import Block, LargeGraph
from graphpe.checks import require_choice, require_positive_integer, require_seed
from graphpe.fields import Field
from graphpe.linalg.cached_parts import graphs_at_a_time
from graphpe.linalg.draws.random_numbers import normal, rademacher
from graphpe.linalg.large.propagation import sparse_propagation_matrix
from graphpe.linalg.walks.propagation import check_propagation, propagation_matrix, trajectory
from graphpe.transforms.core.seeds import graph_keys
from graphpe.transforms.core.undirected import UndirectedEncoding

_DRAWS = {"normal": normal, "rademacher": rademacher}


@dataclass(frozen=True, repr=False)
class AddRandomFeaturePropagation(UndirectedEncoding):
    r"""Adds random node features and what becomes of them as they spread over the graph (RFP).

    .. math:: [R_0, R_1, \ldots, R_P], \qquad R_p = N(S R_{p-1})

    :math:`R_0` has independent random entries and is kept as it is. :math:`S` is

    - ``"sym"``: :math:`D^{-1/2} A D^{-1/2}`,
    - ``"sym-loops"``: the same for :math:`A + I`,
    - ``"laplacian"``: :math:`I - D^{-1/2} A D^{-1/2}`, self-loops removed,
    - ``"walk"``: :math:`D^{-1} A`, along the edges of a directed graph; the others symmetrise it.

    :math:`N` divides each column by its L2 norm over the nodes of the graph (``"l2"``: power iteration, so that with
    many steps all columns turn to one eigenvector), or takes the thin Q of a QR decomposition with a positive diagonal
    of R (``"qr"``: subspace iteration). Columns that become zero or, with ``"qr"``, dependent on those before them
    (always the case beyond ``n`` columns) are zero. Parallel edges add up; ``edge_weight`` is used.

    Random numbers are a function of the seed and the graph (node numbers, edges, weights), so that neither a batch nor
    the order of graphs or edges changes them. For new ones in each epoch take
    ``dataclasses.replace(encoding, seed=epoch)``. Numbering the nodes in another way draws anew.

    Writes:
        ``attr_name``: ``[n, trajectories * (steps + 1) * channels]`` (node level). Column
        ``(t * (steps + 1) + p) * channels + c`` is column c of :math:`R_p` in trajectory t, as in
        ``.view(n, trajectories, steps + 1, channels)``.

    Args:
        channels: Number of random features of a trajectory.
        steps: Number of steps P.
        attr_name: Name of the field; None concatenates it to ``x``.
        operator: The operator S.
        normalization: ``"l2"`` or ``"qr"``.
        distribution: Of :math:`R_0`: ``"normal"`` (mean 0, variance 1) or ``"rademacher"`` (1 or -1).
        trajectories: Number of independent starts.
        seed: From 0 to 2^63 - 1.
        directed: What to do with a directed graph unless the operator is ``"walk"``: ``"symmetrize"`` or ``"error"``.
        dtype: Stored dtype, ``"float32"`` or ``"float64"``.
        dense_limit: Graphs with more nodes are done by sparse products.

    Raises:
        ValueError: For invalid weights or node numbers, or a directed graph with ``directed="error"``; the message
            names the graph.

    References:
        Eliasof et al., "Graph Positional Encoding via Random Feature Propagation", https://arxiv.org/abs/2303.02918.
    """

    channels: int
    steps: int
    attr_name: str | None = "random_feature_propagation_pe"
    operator: Literal["sym", "sym-loops", "laplacian", "walk"] = "sym-loops"
    normalization: Literal["l2", "qr"] = "l2"
    distribution: Literal["normal", "rademacher"] = "normal"
    trajectories: int = 1
    seed: int = 0

    cost: ClassVar[str] = "O(n² channels · steps · trajectories) per graph; sparse: O(e ...)"
    paper: ClassVar[str] = "Eliasof et al. 2023"

    def __post_init__(self) -> None:
        for name in ("channels", "steps", "trajectories"):
            require_positive_integer(name, getattr(self, name))
        check_propagation(self.operator, self.normalization)
        require_choice("distribution", self.distribution, tuple(_DRAWS))
        require_seed("seed", self.seed)
        super().__post_init__()

    @property
    def is_equivariant(self) -> bool:
        return False  # the draws go by node number

    def check(self, part: Block | LargeGraph) -> None:
        if self.operator != "walk":
            super().check(part)

    def fields(self) -> tuple[Field, ...]:
        width = self.trajectories * (self.steps + 1) * self.channels
        return (Field(self.field_name, "node", width, self.torch_dtype),)

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        adjacency = block.adjacency if self.operator == "walk" else block.undirected_adjacency
        matrices = propagation_matrix(adjacency, self.operator)
        start = self._start(block)
        result = self._empty(start)
        stack = graphs_at_a_time(start)
        for part, part_start, part_result in zip(
            matrices.split(stack), start.split(stack), result.split(stack), strict=True
        ):
            propagate = partial(_multiply, matrices=part)
            trajectory(part_start, propagate, self.normalization, part_result)
        return (result.flatten(2),)

    def encode_large(self, graph: LargeGraph) -> tuple[Tensor, ...]:
        adjacency = graph.adjacency if self.operator == "walk" else graph.undirected_adjacency
        matrix = sparse_propagation_matrix(adjacency, self.operator)
        start = self._start(graph).cpu()
        result = self._empty(start)
        trajectory(start, partial(_multiply_sparse, matrix=matrix), self.normalization, result)
        return (result.flatten(2),)

    def _start(self, part: Block | LargeGraph) -> Tensor:
        """``[b, n, trajectories, channels]`` random features."""
        keys = graph_keys(part, self.seed)
        draws = _DRAWS[self.distribution](keys, part.n, self.trajectories * self.channels)
        return draws.unflatten(2, (self.trajectories, self.channels))

    def _empty(self, start: Tensor) -> Tensor:
        """``[b, n, trajectories, steps + 1, channels]`` for the results."""
        b, n, trajectories, channels = start.shape
        shape = (b, n, trajectories, self.steps + 1, channels)
        return start.new_empty(shape, dtype=self.torch_dtype)


def _multiply(features: Tensor, matrices: Tensor) -> Tensor:
    """S applied to features ``[b, n, t, k]``."""
    columns = features.flatten(2)
    if (
        columns.shape[2] == 1
    ):  # what a product with a single column rounds to depends on the number of graphs
        return (matrices * columns.mT).sum(-1).view_as(features)
    return (matrices @ columns).view_as(features)


def _multiply_sparse(features: Tensor, matrix: scipy.sparse.csr_array) -> Tensor:
    """S applied to features ``[1, n, t, k]`` of one graph."""
    columns = features.flatten(2)[0].numpy()
    return torch.from_numpy(matrix @ columns).view_as(features)
