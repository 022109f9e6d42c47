"""The encodings for a single graph as published code has them: PyG's transforms and utilities, networkx through PyG.

Graphs are undirected (those of `topological_order` directed and acyclic) and connected. A function returns the first
fields of the encoding of its name. Operators are in float64, as in graphpe, where float32 would give other values.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import networkx as nx
import numpy as np
import torch
import torch_geometric.transforms as pyg_transforms
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn import WLConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import (
    degree,
    get_laplacian,
    scatter,
    to_dense_adj,
    to_networkx,
    to_scipy_sparse_matrix,
)


def laplacian(data: Data, normalization: str | None = None) -> np.ndarray:
    weight = None if data.edge_weight is None else data.edge_weight.double()
    index, values = get_laplacian(
        data.edge_index, weight, normalization, dtype=torch.float64, num_nodes=data.num_nodes
    )
    return to_scipy_sparse_matrix(index, values, data.num_nodes).toarray()


def normalized_laplacian(data: Data) -> np.ndarray:
    return laplacian(data, "sym")


def adjacency(data: Data) -> Tensor:
    return to_dense_adj(
        data.edge_index, edge_attr=data.edge_weight, max_num_nodes=data.num_nodes
    ).squeeze(0)


# --- spectral ---


class Eigenvectors(pyg_transforms.BaseTransform):
    """PyG's transform, with at most as many eigenvectors as it can give."""

    def __init__(self, k: int, is_undirected: bool) -> None:
        self.k = k
        self.is_undirected = is_undirected

    def forward(self, data: Data) -> Data:
        # PyG raises an error beyond; from 100 nodes on, its sparse solver gives one less.
        k = min(self.k, data.num_nodes - (1 if data.num_nodes < 100 else 2))
        if k < 1:
            return data
        transform = pyg_transforms.AddLaplacianEigenvectorPE(k, is_undirected=self.is_undirected)
        return transform.forward(data)


def heat_kernel_diagonal(data: Data, times: np.ndarray) -> Tensor:
    """As in GraphGPS (Rampasek et al. 2022)."""
    values, vectors = map(torch.from_numpy, np.linalg.eigh(laplacian(data)))
    is_kept = values >= 1e-8
    values, squares = values[is_kept, None], vectors[:, is_kept].T ** 2
    diagonals = [torch.sum(torch.exp(-t * values) * squares, dim=0) for t in times.tolist()]
    return torch.stack(diagonals, dim=-1)


def potential_statistics(data: Data) -> Tensor:
    """As in GraphGPS (Rampasek et al. 2022), with the pseudoinverse of symmetric matrices."""
    matrix = torch.from_numpy(laplacian(data))
    step = torch.eye(len(matrix), dtype=matrix.dtype) * matrix.diag() ** -1
    step = step @ matrix.abs().fill_diagonal_(0)
    v = torch.linalg.pinv(matrix, rtol=1e-10, hermitian=True)
    v = v - v.diag()
    statistics = [
        one for dim in (0, 1) for one in (v.min(dim)[0], v.max(dim)[0], v.mean(dim), v.std(dim))
    ]
    return torch.stack([*statistics, (step * v).sum(0), (step * v).sum(1)], dim=1)


# --- walks ---


def relative_walks(data: Data, walk_length: int) -> Tensor:
    """As in GRIT (Ma et al. 2023)."""
    a = adjacency(data)
    step = a / a.sum(1, keepdim=True)
    powers = [torch.eye(data.num_nodes), step]
    while len(powers) < walk_length:
        powers.append(powers[-1] @ step)
    return torch.stack(powers, dim=-1)


DIFFUSION = pyg_transforms.GDC()


def personalized_pagerank(data: Data, restart: float) -> Tensor:
    """The steps of PyG's GDC (Gasteiger et al. 2019) before it makes the matrix sparse."""
    weight = data.edge_weight
    if weight is None:
        weight = torch.ones(data.num_edges)
    index, weight = DIFFUSION.transition_matrix(data.edge_index, weight, data.num_nodes, "row")
    return DIFFUSION.diffusion_matrix_exact(
        index, weight, data.num_nodes, method="ppr", alpha=restart
    )


# --- distances ---


def hop_distances(data: Data) -> np.ndarray:
    distance = np.full((data.num_nodes, data.num_nodes), np.inf)
    for source, lengths in nx.all_pairs_shortest_path_length(to_networkx(data)):
        distance[source, list(lengths)] = list(lengths.values())
    return distance


def shortest_path_edges(data: Data, max_distance: int) -> np.ndarray:
    """Of any one of the shortest paths."""
    number = {(u, v): i for i, (u, v) in enumerate(data.edge_index.T.tolist())}
    edges = np.full((data.num_nodes, data.num_nodes, max_distance), -1)
    for source, paths in nx.all_pairs_shortest_path(to_networkx(data)):
        for target, path in paths.items():
            steps = [number[step] for step in pairwise(path[: max_distance + 1])]
            edges[source, target, : len(steps)] = steps
    return edges


def landmark_distances(data: Data, landmarks: int, cap: float) -> Tensor:
    graph = to_networkx(data)
    result = torch.full((data.num_nodes, landmarks), cap + 1.0)
    for column, node in enumerate(torch.randperm(data.num_nodes)[:landmarks].tolist()):
        lengths = nx.single_source_shortest_path_length(graph, node)
        result[list(lengths), column] = torch.tensor(list(lengths.values())).clamp(max=cap).float()
    return result


# --- structure ---


def degrees(data: Data, max_degree: int) -> Tensor:
    source, target = data.edge_index
    in_out = [degree(end, data.num_nodes, dtype=torch.long) for end in (target, source)]
    return torch.stack(in_out, dim=-1).clamp(max=max_degree)


def clustering_coefficients(data: Data) -> Tensor:
    coefficients = nx.clustering(to_networkx(data, to_undirected=True))
    return torch.tensor([coefficients[node] for node in range(data.num_nodes)])


def core_numbers(data: Data) -> Tensor:
    cores = nx.core_number(to_networkx(data, to_undirected=True))
    return torch.tensor([cores[node] for node in range(data.num_nodes)])


def cycle_counts(data: Data, longest: int) -> np.ndarray:
    counts = np.zeros((data.num_nodes, longest - 2))
    for cycle in nx.simple_cycles(to_networkx(data, to_undirected=True), length_bound=longest):
        counts[cycle, len(cycle) - 3] += 1
    return counts


def homomorphism_counts(data: Data, longest: int, trees: list[tuple]) -> Tensor:
    a = to_dense_adj(data.edge_index, max_num_nodes=data.num_nodes).squeeze(0)
    walks = [a]
    while len(walks) < longest:
        walks.append(walks[-1] @ a)
    known: dict[tuple, Tensor] = {}

    def count(tree: tuple) -> Tensor:
        if tree not in known:
            known[tree] = torch.ones(len(a))
            for child in tree:
                known[tree] = known[tree] * (a @ count(child))
        return known[tree]

    cycles = [power.diagonal() for power in walks[2:]]
    return torch.stack([*cycles, *map(count, trees)], dim=-1)


def weisfeiler_leman(rounds: int) -> Callable[[Data], Tensor]:
    """Colors as numbers in order of appearance: the layers remember those of earlier graphs."""
    layers = [WLConv() for _ in range(rounds)]

    def colors(data: Data) -> Tensor:
        color = torch.zeros(data.num_nodes, dtype=torch.long)
        for layer in layers:
            color = layer(color, data.edge_index)
        return color

    return colors


# --- random ---


def random_features(data: Data, channels: int) -> Tensor:
    return torch.randn(data.num_nodes, channels)


def random_feature_propagation(data: Data, channels: int, steps: int) -> Tensor:
    (source, target), weight = gcn_norm(data.edge_index, data.edge_weight, data.num_nodes)
    features = [torch.randn(data.num_nodes, channels)]
    for _ in range(steps):
        messages = weight[:, None] * features[-1][source]
        features.append(scatter(messages, target, dim=0, dim_size=data.num_nodes))
        features[-1] = features[-1] / features[-1].norm(dim=0)
    return torch.cat(features, dim=1)


# --- sequence ---


def ordered_subset(data: Data, maximum: int) -> Tensor:
    return torch.randperm(maximum)[: data.num_nodes].sort().values


def topological_order(data: Data, maximum: int) -> np.ndarray:
    graph = to_networkx(data)
    order = np.zeros((data.num_nodes, 3), dtype=np.int64)
    for generation, nodes in enumerate(nx.topological_generations(graph)):
        order[nodes, 0] = generation
    sources = [node for node, count in graph.in_degree() if count == 0]
    depths = nx.multi_source_dijkstra_path_length(graph, set(sources))
    order[list(depths), 1] = list(depths.values())
    for height, nodes in enumerate(nx.topological_generations(graph.reverse())):
        order[nodes, 2] = height
    return np.minimum(order, maximum)
