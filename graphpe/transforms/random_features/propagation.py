"""Random features that spread over the graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import scipy.sparse
import torch
from torch import Tensor

from graphpe.blocks import Block, LargeGraph
from graphpe.checks import require_positive_integer, require_seed
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
        if self.distribution not in _DRAWS:
            raise ValueError(
                f"distribution is {self.distribution!r}; it must be 'normal' or 'rademacher'"
            )
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
        transposed = propagation_matrix(adjacency, self.operator).mT
        start = self._start(block)
        stack = graphs_at_a_time(start)
        width = self.fields()[0].width
        result = start.new_empty(len(block), block.n, width, dtype=self.torch_dtype)
        for part, matrices, values in zip(
            start.split(stack), transposed.split(stack), result.split(stack), strict=True
        ):
            values.copy_(self._encode(part, partial(_multiply, transposed=matrices)))
        return (result,)

    def encode_large(self, graph: LargeGraph) -> tuple[Tensor, ...]:
        adjacency = graph.adjacency if self.operator == "walk" else graph.undirected_adjacency
        matrix = sparse_propagation_matrix(adjacency, self.operator)
        start = self._start(graph).cpu()
        return (self._encode(start, partial(_multiply_sparse, matrix=matrix)),)

    def _start(self, part: Block | LargeGraph) -> Tensor:
        """``[b, trajectories, channels, n]`` random features, each over all nodes in a row."""
        keys = graph_keys(part, self.seed)
        draws = _DRAWS[self.distribution](keys, part.n, self.trajectories * self.channels)
        return draws.mT.unflatten(1, (self.trajectories, self.channels)).contiguous()

    def _encode(self, start: Tensor, propagate: Callable[[Tensor], Tensor]) -> Tensor:
        features = trajectory(start, propagate, self.steps, self.normalization)
        return features.flatten(1, 3).mT


def _multiply(features: Tensor, transposed: Tensor) -> Tensor:
    """S applied to features ``[b, t, k, n]``."""
    return (features.flatten(1, 2) @ transposed).view_as(features)


def _multiply_sparse(features: Tensor, matrix: scipy.sparse.csr_array) -> Tensor:
    """S applied to features ``[1, t, k, n]`` of one graph."""
    columns = features.flatten(0, 2).numpy().T
    return torch.from_numpy((matrix @ columns).T.copy()).view_as(features)
