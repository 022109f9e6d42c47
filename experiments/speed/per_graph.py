"""The encodings as one would write them for a single graph, with PyG's transforms, networkx, scipy or numpy.

What ``encodings.py`` measures graphpe against. Graphs are simple, undirected, connected and without weights (those of
`topological_order` directed and acyclic), so that nothing is spent on other cases. A function returns the first fields
of the encoding of that name.
"""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import numpy as np
import torch
import torch_geometric.transforms as pyg_transforms
from scipy.sparse import csgraph
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import degree, to_networkx, to_scipy_sparse_matrix

RANDOM = np.random.default_rng(0)

Tree = tuple["Tree", ...]


def adjacency(data: Data) -> np.ndarray:
    source, target = data.edge_index.numpy()
    matrix = np.zeros((data.num_nodes, data.num_nodes))
    matrix[source, target] = 1.0
    return matrix


def laplacian(data: Data) -> np.ndarray:
    a = adjacency(data)
    return np.diag(a.sum(1)) - a


def normalized_laplacian(data: Data) -> np.ndarray:
    a = adjacency(data)
    root = np.sqrt(np.maximum(a.sum(1), 1.0))
    return np.eye(len(a)) - a / root / root[:, None]


def transition_matrix(data: Data) -> np.ndarray:
    a = adjacency(data)
    return a / np.maximum(a.sum(1, keepdims=True), 1.0)


# --- spectral ---


def pyg_eigenvectors(k: int, is_undirected: bool) -> Callable[[Data], Data]:
    """PyG's transform, with at most as many eigenvectors as it can give."""

    def transform(data: Data) -> Data:
        # PyG raises an error beyond; from 100 nodes on, its sparse solver gives one less.
        possible = min(k, data.num_nodes - (1 if data.num_nodes < 100 else 2))
        if possible < 1:
            return data
        return pyg_transforms.AddLaplacianEigenvectorPE(possible, is_undirected=is_undirected)(data)

    return transform


def eigenvectors(data: Data, k: int) -> Tensor | None:
    return pyg_eigenvectors(k, is_undirected=True)(data).get("laplacian_eigenvector_pe")


def heat_kernel_diagonal(data: Data, times: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(laplacian(data))
    return vectors[:, 1:] ** 2 @ np.exp(-np.outer(values[1:], times))


def heat_kernel(data: Data, times: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(laplacian(data))
    return np.stack([(vectors * np.exp(-t * values)) @ vectors.T for t in times], axis=-1)


def potentials(data: Data) -> np.ndarray:
    green = np.linalg.pinv(laplacian(data), hermitian=True)
    return green - np.diag(green)


def potential_statistics(data: Data) -> np.ndarray:
    v = potentials(data)
    exchange = transition_matrix(data) * v
    of_columns, of_rows = (
        [v.min(axis), v.max(axis), v.mean(axis), v.std(axis, ddof=1)] for axis in (0, 1)
    )
    return np.stack([*of_columns, *of_rows, exchange.sum(0), exchange.sum(1)], axis=-1)


def effective_resistance(data: Data) -> np.ndarray:
    green = np.linalg.pinv(laplacian(data), hermitian=True)
    diagonal = np.diag(green)
    resistance = diagonal[:, None] + diagonal - 2 * green
    return np.stack([resistance, np.zeros_like(resistance)], axis=-1)  # none is infinite


def commute_time(data: Data) -> np.ndarray:
    return data.num_edges * effective_resistance(data)


def projectors(data: Data, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    values, vectors = np.linalg.eigh(normalized_laplacian(data))
    starts = np.flatnonzero(np.diff(values) > 1e-6) + 1
    result = np.zeros((data.num_nodes, data.num_nodes, k))
    eigenvalues, multiplicities = np.zeros(k), np.zeros(k, dtype=np.int64)
    for j, space in enumerate(np.split(np.arange(data.num_nodes), starts)[:k]):
        result[..., j] = vectors[:, space] @ vectors[:, space].T
        eigenvalues[j] = values[space].mean()
        multiplicities[j] = len(space)
    return result, eigenvalues, multiplicities


def wave_kernel(data: Data, energies: int, smallest: float) -> np.ndarray:
    values, vectors = np.linalg.eigh(normalized_laplacian(data))
    energy = np.linspace(np.log(smallest), np.log(2.0), energies)
    weights = np.exp(-(((np.log(values[1:, None]) - energy) / (energy[1] - energy[0])) ** 2) / 2)
    return vectors[:, 1:] ** 2 @ (weights / weights.sum(0))


def spectral_density(data: Data, bins: int) -> np.ndarray:
    values = np.linalg.eigvalsh(normalized_laplacian(data))
    shares = 1 - np.abs(values / 2 * (bins - 1) - np.arange(bins)[:, None])
    return np.maximum(shares, 0).mean(1)


# --- walks ---


def return_probabilities(data: Data, walk_length: int) -> Tensor:
    return pyg_transforms.AddRandomWalkPE(walk_length)(data).random_walk_pe


def relative_walks(data: Data, walk_length: int) -> Tensor:
    step = torch.from_numpy(transition_matrix(data)).float()
    powers = [torch.eye(data.num_nodes), step]
    while len(powers) < walk_length:
        powers.append(powers[-1] @ step)
    return torch.stack(powers, dim=-1)


def personalized_pagerank(data: Data, restart: float) -> np.ndarray:
    step = transition_matrix(data)
    return restart * np.linalg.inv(np.eye(len(step)) - (1 - restart) * step)


# --- distances ---


def hop_distances(data: Data) -> np.ndarray:
    matrix = to_scipy_sparse_matrix(data.edge_index, num_nodes=data.num_nodes).tocsr()
    return csgraph.shortest_path(matrix, unweighted=True)


def shortest_paths(data: Data, cap: int) -> np.ndarray:
    distance = hop_distances(data)
    return np.where(np.isinf(distance), cap + 1, np.minimum(distance, cap)).astype(np.int64)


def shortest_path_edges(data: Data, max_distance: int) -> np.ndarray:
    source, target = data.edge_index.numpy()
    distance = hop_distances(data)
    none = len(source)
    leads_closer = distance[target] < distance[source]
    first = np.full(distance.shape, none)  # edge from a node (row) towards another (column)
    np.minimum.at(first, source, np.where(leads_closer, np.arange(none)[:, None], none))
    goal = np.arange(data.num_nodes)
    node = np.repeat(goal[:, None], data.num_nodes, axis=1)
    edges = np.full((*distance.shape, max_distance), -1)
    for step in range(max_distance):
        edge = first[node, goal]
        has_edge = edge < none
        edges[..., step] = np.where(has_edge, edge, -1)
        node = np.where(has_edge, np.append(target, 0)[edge], node)
    return edges


def landmark_distances(data: Data, landmarks: int, cap: float) -> np.ndarray:
    count = min(landmarks, data.num_nodes)
    nodes = RANDOM.choice(data.num_nodes, count, replace=False)
    matrix = to_scipy_sparse_matrix(data.edge_index, num_nodes=data.num_nodes).tocsr()
    distance = csgraph.dijkstra(matrix, indices=nodes, unweighted=True)
    result = np.full((data.num_nodes, landmarks), cap + 1.0)
    result[:, :count] = np.where(np.isinf(distance), cap + 1, np.minimum(distance, cap)).T
    return result


# --- structure ---


def degrees(data: Data, max_degree: int) -> Tensor:
    source, target = data.edge_index
    in_out = [degree(end, data.num_nodes, dtype=torch.long) for end in (target, source)]
    return torch.stack(in_out, dim=-1).clamp(max=max_degree)


def clustering_coefficients(data: Data) -> np.ndarray:
    coefficients = nx.clustering(to_networkx(data, to_undirected=True))
    return np.array([coefficients[node] for node in range(data.num_nodes)])[:, None]


def core_numbers(data: Data) -> np.ndarray:
    cores = nx.core_number(to_networkx(data, to_undirected=True))
    return np.array([cores[node] for node in range(data.num_nodes)])[:, None]


def cycle_counts(data: Data, longest: int) -> np.ndarray:
    counts = np.zeros((data.num_nodes, longest - 2))
    for cycle in nx.simple_cycles(to_networkx(data, to_undirected=True), length_bound=longest):
        counts[cycle, len(cycle) - 3] += 1
    return counts


def homomorphism_counts(data: Data, longest: int, trees: list[Tree]) -> np.ndarray:
    a = adjacency(data)
    walks = [a]
    while len(walks) < longest:
        walks.append(walks[-1] @ a)
    known: dict[Tree, np.ndarray] = {}

    def count(tree: Tree) -> np.ndarray:
        if tree not in known:
            known[tree] = np.ones(len(a))
            for child in tree:
                known[tree] = known[tree] * (a @ count(child))
        return known[tree]

    cycles = [np.diag(power) for power in walks[2:]]
    return np.stack([*cycles, *map(count, trees)], axis=-1)


def degree_profile(data: Data) -> Tensor:
    return pyg_transforms.LocalDegreeProfile()(data).x[:, -5:]


def weisfeiler_leman(data: Data, rounds: int, categories: int) -> np.ndarray:
    graph = to_networkx(data, to_undirected=True)
    nx.set_node_attributes(graph, 0, "color")
    hashes = nx.weisfeiler_lehman_subgraph_hashes(graph, node_attr="color", iterations=rounds)
    colors = [int(hashes[node][-1], 16) % categories for node in range(data.num_nodes)]
    return np.array(colors)[:, None]


# --- random ---


def random_features(data: Data, channels: int) -> Tensor:
    return torch.randn(data.num_nodes, channels)


def random_feature_propagation(data: Data, channels: int, steps: int) -> np.ndarray:
    a = adjacency(data) + np.eye(data.num_nodes)
    root = np.sqrt(a.sum(1))
    operator = a / root / root[:, None]
    features = [RANDOM.standard_normal((data.num_nodes, channels))]
    for _ in range(steps):
        spread = operator @ features[-1]
        features.append(spread / np.linalg.norm(spread, axis=0))
    return np.concatenate(features, axis=1)


# --- sequence ---


def ordered_subset(data: Data, maximum: int) -> np.ndarray:
    return np.sort(RANDOM.choice(maximum, data.num_nodes, replace=False))[:, None]


def sinusoids(data: Data, channels: int) -> np.ndarray:
    frequencies = 10_000.0 ** (-np.arange(0, channels, 2) / channels)
    angles = np.arange(data.num_nodes)[:, None] * frequencies
    result = np.empty((data.num_nodes, channels))
    result[:, 0::2], result[:, 1::2] = np.sin(angles), np.cos(angles)
    return result


def distance_decay(data: Data, heads: int) -> np.ndarray:
    scales = 2 ** (8 * np.arange(1, heads + 1) / heads)
    return np.maximum(-hop_distances(data)[..., None] / scales, -1e4)


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


# --- Hodge ---


def boundaries(data: Data) -> tuple[dict[tuple[int, int], int], np.ndarray, np.ndarray]:
    """The number of each edge u < v, and the boundary matrices of edges and of triangles."""
    edges = [(u, v) for u, v in data.edge_index.T.tolist() if u < v]
    number = {edge: i for i, edge in enumerate(edges)}
    neighbors: list[set[int]] = [set() for _ in range(data.num_nodes)]
    for u, v in edges:
        neighbors[u].add(v)
        neighbors[v].add(u)
    triangles = [(u, v, w) for u, v in edges for w in neighbors[u] & neighbors[v] if w > v]
    of_edges = np.zeros((data.num_nodes, len(edges)))
    for (u, v), i in number.items():
        of_edges[u, i], of_edges[v, i] = -1.0, 1.0
    of_triangles = np.zeros((len(edges), len(triangles)))
    for t, (u, v, w) in enumerate(triangles):
        of_triangles[[number[u, v], number[v, w]], t] = 1.0
        of_triangles[number[u, w], t] = -1.0
    return number, of_edges, of_triangles


def hodge_coordinates(data: Data, k: int) -> tuple[np.ndarray, np.ndarray]:
    number, of_edges, of_triangles = boundaries(data)
    # The two parts of the Hodge Laplacian are orthogonal: in their difference curls have negative eigenvalues.
    values, vectors = np.linalg.eigh(of_edges.T @ of_edges - of_triangles @ of_triangles.T)
    coordinates, eigenvalues = np.zeros((len(number), 3 * k)), np.zeros(3 * k)
    is_zero = np.abs(values) < 1e-9
    kinds = [
        np.flatnonzero(is_zero),
        np.flatnonzero(~is_zero & (values > 0)),
        np.flatnonzero(~is_zero & (values < 0))[::-1],
    ]
    for start, kind in zip((0, k, 2 * k), kinds, strict=True):
        columns = slice(start, start + len(kind[:k]))
        coordinates[:, columns] = vectors[:, kind[:k]]
        eigenvalues[columns] = np.abs(values[kind[:k]])
    records = data.edge_index.T.tolist()
    place = [number[min(u, v), max(u, v)] for u, v in records]
    sign = np.array([1.0 if u < v else -1.0 for u, v in records])
    return coordinates[place] * sign[:, None], eigenvalues


def betti_numbers(data: Data) -> np.ndarray:
    number, _, of_triangles = boundaries(data)
    components = nx.number_connected_components(to_networkx(data, to_undirected=True))
    rank = np.linalg.matrix_rank(of_triangles) if of_triangles.size else 0
    return np.array([components, len(number) - (data.num_nodes - components) - rank])
