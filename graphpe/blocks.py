"""What kernels see of a GraphBatch: dense stacks of graphs of one size, or one large sparse graph."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from graphpe import linalg
from graphpe.linalg.spectra.connected_components import component_labels_of_edges
from graphpe.linalg.spectra.eigenspaces import scale_starts
from graphpe.linalg.spectra.eigh import random_walk_vectors

if TYPE_CHECKING:
    from graphpe.graphs import GraphBatch

Value = TypeVar("Value")

# A block needs its adjacency, an operator made of it, and the work space of a kernel.
_STACKS_PER_BLOCK = 6

# The weights of parallel edges add up in the order of the edges, which may differ between u→v and v→u.
_ROUNDING = 1e-12


def dense_bytes(n: int) -> int:
    """Bytes that a dense graph of n nodes takes in a block, work space included."""
    return _STACKS_PER_BLOCK * 8 * max(n, 1) ** 2


class Block:
    """Graphs of one size as dense float64 stacks; what several encodings need is computed once and kept.

    Args:
        graphs: The batch that the block is part of.
        numbers: ``[b]`` graph numbers in the batch.
        n: Number of nodes of each graph.
    """

    def __init__(self, graphs: GraphBatch, numbers: Tensor, n: int) -> None:
        self.graphs = graphs
        self.numbers = numbers
        self.n = n
        self._shared: dict[tuple[Any, ...], Any] = {}

    def __len__(self) -> int:
        return len(self.numbers)

    def shared(self, compute: Callable[..., Value], *arguments: Any) -> Value:
        """``compute(self, *arguments)``, computed at the first call and then kept for all encodings of the block.

        Args:
            compute: A function of a module. Its result must not be changed by those who get it.
            arguments: Hashable.
        """
        key = (compute, *arguments)
        if key not in self._shared:
            self._shared[key] = compute(self, *arguments)
        return self._shared[key]

    @cached_property
    def edges(self) -> tuple[Tensor, Tensor, Tensor]:
        """The edges in the order of an edge-level field: which graph of the block, source and target, each ``[e]``."""
        slot, column = self._edge_columns
        source, target = self.graphs.edge_index[:, column].long()
        return slot, source, target

    @cached_property
    def _edge_columns(self) -> tuple[Tensor, Tensor]:
        return self.graphs.edges_of(self.numbers)

    @cached_property
    def adjacency(self) -> Tensor:
        """``[b, n, n]`` weights of the edges u→v at ``[u, v]``; parallel edges add up."""
        slot, source, target = self.edges
        flat = (slot * self.n + source) * self.n + target
        weight = (
            torch.ones(len(flat), dtype=torch.float64, device=flat.device)
            if self.graphs.edge_weight is None
            else self.graphs.edge_weight[self._edge_columns[1]].double()
        )
        dense = torch.zeros(len(self) * self.n * self.n, dtype=torch.float64, device=flat.device)
        dense.scatter_add_(0, flat, weight)
        return dense.view(len(self), self.n, self.n)

    @cached_property
    def _is_symmetric(self) -> bool:
        return torch.equal(self.adjacency, self.adjacency.mT)

    @cached_property
    def is_directed(self) -> Tensor:
        """``[b]`` whether each adjacency matrix differs from its transpose by more than rounding."""
        if self._is_symmetric:
            return torch.zeros(len(self), dtype=torch.bool, device=self.adjacency.device)
        difference = (self.adjacency - self.adjacency.mT).abs()
        return (difference > _ROUNDING * self.adjacency).flatten(1).any(dim=1)

    @property
    def directed_graph(self) -> str | None:
        """How messages call the first directed graph, None if there is none."""
        directed = self.numbers[self.is_directed.cpu()]
        return self.graphs.name(directed[0]) if len(directed) else None

    @cached_property
    def undirected_adjacency(self) -> Tensor:
        """``[b, n, n]`` the adjacency, symmetrised where it is directed: A ∨ Aᵀ, or (A + Aᵀ)/2 with weights."""
        if self._is_symmetric:
            return self.adjacency
        if self.graphs.edge_weight is None:
            return torch.maximum(self.adjacency, self.adjacency.mT)
        return (self.adjacency + self.adjacency.mT) / 2

    @cached_property
    def degree(self) -> Tensor:
        """``[b, n]`` weighted (out-)degree."""
        return linalg.degree(self.adjacency)

    @cached_property
    def component_labels(self) -> Tensor:
        """``[b, n]`` number of the connected component of each node, the largest of a graph first."""
        slot, source, target = self.edges
        if self.graphs.edge_weight is not None:
            joins = self.graphs.edge_weight[self._edge_columns[1]] > 0
            slot, source, target = slot[joins], source[joins], target[joins]
        return component_labels_of_edges(slot, source, target, len(self), self.n)

    def laplacian(self, normalization: linalg.Normalization) -> Tensor:
        """``[b, n, n]`` Laplacian of the undirected adjacency, computed once."""
        return self.shared(_laplacian, normalization)

    def eigenpairs(self, normalization: linalg.Normalization) -> tuple[Tensor, Tensor]:
        """``[b, n]`` ascending eigenvalues and ``[b, n, n]`` eigenvectors of `laplacian`, computed once."""
        return self.shared(_eigenpairs, normalization)


def _laplacian(block: Block, normalization: linalg.Normalization) -> Tensor:
    return linalg.laplacian(block.undirected_adjacency, normalization)


def _eigenpairs(block: Block, normalization: linalg.Normalization) -> tuple[Tensor, Tensor]:
    if normalization == "rw" and block.n > 0:  # without a second decomposition
        values, vectors = block.eigenpairs("sym")
        degrees = linalg.degree(linalg.without_self_loops(block.undirected_adjacency))
        zeros = (values == 0).sum(-1, keepdim=True)
        starts = scale_starts(values, zeros, values[:, -1:])
        return values, random_walk_vectors(vectors, torch.where(degrees > 0, degrees, 1.0), starts)
    return linalg.laplacian_eigenpairs(
        block.undirected_adjacency, normalization, block.component_labels
    )


class LargeGraph:
    """One graph that is too large for a dense matrix.

    Args:
        graphs: The batch that the graph is part of.
        number: Its number there.
        memory_budget: Bytes that a kernel may take for dense work space.
    """

    def __init__(self, graphs: GraphBatch, number: int, memory_budget: int) -> None:
        self.graphs = graphs
        self.number = number
        self.memory_budget = memory_budget
        self.n = int(graphs.num_nodes[number])

    @property
    def name(self) -> str:
        """How messages call the graph."""
        return self.graphs.name(self.number)

    @cached_property
    def adjacency(self) -> scipy.sparse.csr_array:
        """``[n, n]`` float64 adjacency; parallel edges add up."""
        _, column = self.graphs.edges_of(torch.tensor([self.number]))
        source, target = self.graphs.edge_index[:, column].cpu().numpy()
        weight = (
            np.ones(len(source))
            if self.graphs.edge_weight is None
            else self.graphs.edge_weight[column].double().cpu().numpy()
        )
        adjacency = scipy.sparse.coo_array((weight, (source, target)), shape=(self.n, self.n))
        adjacency = adjacency.tocsr()
        adjacency.eliminate_zeros()  # an edge of weight 0 connects nothing
        return adjacency

    @cached_property
    def is_directed(self) -> bool:
        """Whether the adjacency matrix differs from its transpose by more than rounding."""
        difference = abs(self.adjacency - self.adjacency.T)
        return (difference > _ROUNDING * self.adjacency).nnz > 0

    @property
    def directed_graph(self) -> str | None:
        """How messages call the graph if it is directed, else None."""
        return self.name if self.is_directed else None

    @cached_property
    def edges(self) -> tuple[np.ndarray, np.ndarray]:
        """Source and target of the edges in the order of an edge-level field, each ``[e]``."""
        _, column = self.graphs.edges_of(torch.tensor([self.number]))
        source, target = self.graphs.edge_index[:, column].long().cpu().numpy()
        return source, target

    @cached_property
    def undirected_adjacency(self) -> scipy.sparse.csr_array:
        """The adjacency, symmetrised if it is directed: A ∨ Aᵀ, or (A + Aᵀ)/2 with weights."""
        if (self.adjacency != self.adjacency.T).nnz == 0:
            return self.adjacency
        if self.graphs.edge_weight is None:
            return self.adjacency.maximum(self.adjacency.T).tocsr()
        return ((self.adjacency + self.adjacency.T) / 2).tocsr()
