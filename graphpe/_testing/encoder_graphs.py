"""What encoders are tested on: graphs with fields, and what is done to them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphpe.nn.encoders import FieldEncoder, FieldRequirement
from graphpe.transforms import AddMagneticLaplacianPE


@dataclass(frozen=True)
class SpectralNames:
    eigenvectors: str
    eigenvalues: str
    count: str


LAPLACIAN = SpectralNames(
    "laplacian_eigenvector_pe", "laplacian_eigenvalue", "laplacian_eigenvector_count"
)
MAGNETIC = SpectralNames(
    "magnetic_eigenvector_pe", "magnetic_eigenvalue", "magnetic_eigenvector_count"
)


def add_fields(graph: Data, requires: tuple[FieldRequirement, ...], names: SpectralNames) -> None:
    """Attaches what an encoder requires: the spectrum under its names, random numbers otherwise."""
    for requirement in requires:
        shape = (num_rows(graph, requirement.level), *_row_shape(requirement))
        dtype = {"float": torch.float64, "complex": torch.complex128}.get(requirement.kind)
        graph[requirement.name] = (
            torch.randint(0, 2, shape) if dtype is None else torch.randn(shape, dtype=dtype)
        )
    spectral = [need for need in requires if need.name in (names.eigenvectors, names.eigenvalues)]
    if any(need.kind == "complex" for need in spectral):
        _add_magnetic_spectrum(graph, _row_shape(spectral[0]), names)
    elif spectral:
        values, vectors, count = _spectrum(graph, _row_shape(spectral[0])[-1])
        graph[names.eigenvalues], graph[names.eigenvectors] = values, vectors
        graph[names.count] = count


def _row_shape(requirement: FieldRequirement) -> tuple[int, ...]:
    return requirement.shape or (requirement.width or 8,)


def _add_magnetic_spectrum(graph: Data, shape: tuple[int, ...], names: SpectralNames) -> None:
    """Attaches the first eigenpairs of the magnetic Laplacian: ``shape`` is [k], or [Q, k] for Q potentials."""
    potentials = tuple(0.1 * number for number in range(1, shape[0] + 1))
    encoding = AddMagneticLaplacianPE(
        shape[-1],
        names.eigenvectors,
        q=0.1 if len(shape) == 1 else potentials,
        eigenvalue_name=names.eigenvalues,
        count_name=names.count,
        dtype="float64",
    )
    encoded = encoding(graph)
    for name in (names.eigenvectors, names.eigenvalues, names.count):
        graph[name] = encoded[name]


def _spectrum(graph: Data, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """The first k eigenpairs of the symmetric normalised Laplacian, without directions, padded, and their number."""
    n = graph.num_nodes
    adjacency = torch.zeros(n, n, dtype=torch.float64)
    adjacency.index_put_(
        (graph.edge_index[0], graph.edge_index[1]),
        torch.ones(graph.num_edges, dtype=torch.float64),
        accumulate=True,
    )
    adjacency = torch.maximum(adjacency, adjacency.t()).fill_diagonal_(0)
    degree = adjacency.sum(1)
    scale = torch.where(degree > 0, degree, 1).rsqrt()
    laplacian = torch.diag((degree > 0).double()) - scale[:, None] * adjacency * scale
    values, vectors = torch.linalg.eigh(laplacian)
    count = min(n, k)
    padded_values = torch.zeros(1, k, dtype=torch.float64)
    padded_values[0, :count] = values[:count]
    padded_vectors = torch.zeros(n, k, dtype=torch.float64)
    padded_vectors[:, :count] = vectors[:, :count]
    return padded_values, padded_vectors, torch.tensor([[count]])


def in_float64(graph: Data) -> Data:
    def convert(value: Tensor) -> Tensor:
        if value.is_complex():
            return value.to(torch.complex128)
        return value.double() if value.is_floating_point() else value

    return graph.clone().apply(convert)


def random_signs(shape: tuple[int, ...]) -> Tensor:
    return 1.0 - 2.0 * torch.randint(0, 2, shape)


def random_phases(shape: tuple[int, ...]) -> Tensor:
    return torch.polar(torch.ones(shape).double(), 2 * torch.pi * torch.rand(shape).double())


def rotate_eigenspaces(graph: Data, names: SpectralNames) -> Tensor:
    """The eigenvectors, with a random orthogonal or unitary matrix applied to those of each eigenvalue."""
    vectors = graph[names.eigenvectors].clone()
    # [n, Q, k] and [Q, k], with Q = 1 where there are no potentials; views
    by_potential = vectors if vectors.dim() == 3 else vectors[:, None]
    eigenvalues = graph[names.eigenvalues].view(by_potential.shape[1:])
    count = int(graph[names.count])
    for q, values in enumerate(eigenvalues):
        starts = [c for c in range(count) if c == 0 or values[c] - values[c - 1] > 1e-8]
        for start, end in pairwise([*starts, count]):
            size = end - start
            rotation, _ = torch.linalg.qr(torch.randn(size, size, dtype=vectors.dtype))
            by_potential[:, q, start:end] @= rotation
    return vectors


def with_other_padding(graph: Data, names: SpectralNames, changed: set[str]) -> Data:
    """The graph with random numbers in the columns of eigenvectors and eigenvalues that are padding."""
    graph = graph.clone()
    count = int(graph[names.count])
    for name in sorted(changed - {names.count}):
        value = graph[name].clone()
        value[..., count:] = torch.randn_like(value[..., count:])
        graph[name] = value
    return graph


def permute(graph: Data, encoder: FieldEncoder) -> tuple[Data, Tensor, Tensor]:
    """Puts nodes and edges in another order.

    Returns:
        The graph, the new number of each node, and the new row of each row of the encoder's output.
    """
    n, num_edges = graph.num_nodes, graph.num_edges
    new_node = torch.randperm(n)
    new_edge = torch.randperm(num_edges)
    new_rows = {
        "node": new_node,
        "edge": new_edge,
        "pair": (new_node[:, None] * n + new_node).flatten(),
        "graph": torch.zeros(1, dtype=torch.long),
    }
    permuted = graph.clone()
    permuted.edge_index = torch.empty_like(graph.edge_index)
    permuted.edge_index[:, new_edge] = new_node[graph.edge_index]
    for requirement in encoder.requires:
        value = graph[requirement.name]
        moved = torch.empty_like(value)
        moved[new_rows[requirement.level]] = value
        permuted[requirement.name] = moved
    return permuted, new_node, new_rows[encoder.level]


def num_rows(graph: Data, level: str) -> int:
    n = graph.num_nodes
    return {"node": n, "edge": graph.num_edges, "pair": n * n, "graph": 1}[level]
