"""The encodings for a single graph in as little numpy and scipy as is right for weights and parallel edges.

Graphs are undirected, connected and without self-loops, so that nothing is spent on other cases. A function returns the
first fields of the encoding of its name. Those that take an operator also accept one that was made otherwise, from the
graph: ``with_pyg.py`` uses that.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csgraph, csr_array
from torch_geometric.data import Data

RANDOM = np.random.default_rng(0)

Operator = Callable[[Data], np.ndarray]
Tree = tuple["Tree", ...]


def adjacency(data: Data) -> np.ndarray:
    n = data.num_nodes
    source, target = data.edge_index.numpy()
    weight = np.ones(len(source)) if data.edge_weight is None else data.edge_weight.numpy()
    return np.bincount(source * n + target, weight, n * n).reshape(n, n)


def is_adjacent(data: Data) -> np.ndarray:
    """The simple graph as a matrix of zeros and ones."""
    return (adjacency(data) != 0).astype(np.float64)


def laplacian(data: Data) -> np.ndarray:
    a = adjacency(data)
    return np.diag(a.sum(1)) - a


def normalized_laplacian(data: Data) -> np.ndarray:
    a = adjacency(data)
    root = np.sqrt(a.sum(1))
    return np.eye(len(a)) - a / root / root[:, None]


def transition_matrix(data: Data) -> np.ndarray:
    a = adjacency(data)
    return a / a.sum(1, keepdims=True)


# --- spectral ---


def eigenvectors(data: Data, k: int) -> np.ndarray:
    vectors = np.linalg.eigh(normalized_laplacian(data)).eigenvectors[:, 1 : k + 1]
    return np.pad(vectors, ((0, 0), (0, k - vectors.shape[1])))


def heat_kernel_diagonal(data: Data, times: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(laplacian(data))
    return vectors[:, 1:] ** 2 @ np.exp(-np.outer(values[1:], times))


def heat_kernel(data: Data, times: np.ndarray, operator: Operator = laplacian) -> np.ndarray:
    values, vectors = np.linalg.eigh(operator(data))
    return np.stack([(vectors * np.exp(-t * values)) @ vectors.T for t in times], axis=-1)


def potentials(data: Data, operator: Operator = laplacian) -> np.ndarray:
    green = np.linalg.pinv(operator(data), rcond=1e-10, hermitian=True)
    return green - np.diag(green)


def potential_statistics(data: Data) -> np.ndarray:
    v = potentials(data)
    exchange = transition_matrix(data) * v
    of_columns, of_rows = (
        [v.min(axis), v.max(axis), v.mean(axis), v.std(axis, ddof=1)] for axis in (0, 1)
    )
    return np.stack([*of_columns, *of_rows, exchange.sum(0), exchange.sum(1)], axis=-1)


def effective_resistance(
    data: Data, operator: Operator = laplacian, is_times_volume: bool = False
) -> np.ndarray:
    """Resistances, or commute times, and that none is infinite."""
    matrix = operator(data)
    green = np.linalg.pinv(matrix, rcond=1e-10, hermitian=True)
    diagonal = np.diag(green)
    resistance = diagonal[:, None] + diagonal - 2 * green
    if is_times_volume:
        resistance *= np.trace(matrix)
    return np.stack([resistance, np.zeros_like(resistance)], axis=-1)


def projectors(
    data: Data, k: int, operator: Operator = normalized_laplacian
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    values, vectors = np.linalg.eigh(operator(data))
    starts = np.flatnonzero(np.diff(values) > 1e-6) + 1
    result = np.zeros((data.num_nodes, data.num_nodes, k))
    eigenvalues, multiplicities = np.zeros(k), np.zeros(k, dtype=np.int64)
    for j, space in enumerate(np.split(np.arange(data.num_nodes), starts)[:k]):
        result[..., j] = vectors[:, space] @ vectors[:, space].T
        eigenvalues[j] = values[space].mean()
        multiplicities[j] = len(space)
    return result, eigenvalues, multiplicities


def wave_kernel(
    data: Data, energies: int, smallest: float, operator: Operator = normalized_laplacian
) -> np.ndarray:
    values, vectors = np.linalg.eigh(operator(data))
    energy = np.linspace(np.log(smallest), np.log(2.0), energies)
    weights = np.exp(-(((np.log(values[1:, None]) - energy) / (energy[1] - energy[0])) ** 2) / 2)
    return vectors[:, 1:] ** 2 @ (weights / weights.sum(0))


def spectral_density(
    data: Data, bins: int, operator: Operator = normalized_laplacian
) -> np.ndarray:
    values = np.linalg.eigvalsh(operator(data))
    shares = 1 - np.abs(values / 2 * (bins - 1) - np.arange(bins)[:, None])
    return np.maximum(shares, 0).mean(1)


# --- walks ---


def return_probabilities(data: Data, walk_length: int) -> np.ndarray:
    step = transition_matrix(data)
    powers = [step]
    while len(powers) < walk_length:
        powers.append(powers[-1] @ step)
    return np.stack([power.diagonal() for power in powers], axis=-1)


def relative_walks(data: Data, walk_length: int) -> np.ndarray:
    step = transition_matrix(data)
    powers = [np.eye(data.num_nodes), step]
    while len(powers) < walk_length:
        powers.append(powers[-1] @ step)
    return np.stack(powers, axis=-1)


def personalized_pagerank(data: Data, restart: float) -> np.ndarray:
    step = transition_matrix(data)
    return restart * np.linalg.inv(np.eye(len(step)) - (1 - restart) * step)


# --- distances ---


def hop_distances(data: Data, nodes: np.ndarray | None = None) -> np.ndarray:
    """From some nodes or all of them; the graphs are undirected."""
    source, target = data.edge_index.int().numpy()  # scipy 1.12 searches int32 only
    shape = (data.num_nodes, data.num_nodes)
    matrix = csr_array((np.ones(len(source)), (source, target)), shape)
    return csgraph.dijkstra(matrix, unweighted=True, indices=nodes)


def shortest_paths(data: Data, cap: int, distances: Operator = hop_distances) -> np.ndarray:
    distance = distances(data)
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
    distance = hop_distances(data, nodes)
    result = np.full((data.num_nodes, landmarks), cap + 1.0)
    result[:, :count] = np.where(np.isinf(distance), cap + 1, np.minimum(distance, cap)).T
    return result


# --- structure ---


def degrees(data: Data, max_degree: int) -> np.ndarray:
    a = is_adjacent(data)
    return np.minimum(np.stack([a.sum(0), a.sum(1)], axis=-1), max_degree).astype(np.int64)


def clustering_coefficients(data: Data) -> np.ndarray:
    a = is_adjacent(data)
    degree = a.sum(1)
    return ((a @ a) * a).sum(1) / np.maximum(degree * (degree - 1), 1)


def homomorphism_counts(data: Data, longest: int, trees: list[Tree]) -> np.ndarray:
    a = is_adjacent(data)
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


def degree_profile(data: Data) -> np.ndarray:
    a = is_adjacent(data)
    degree = a.sum(1)
    mean = a @ degree / degree
    variance = a @ degree**2 / degree - mean**2
    lowest, highest = np.where(a, degree, np.inf).min(1), np.where(a, degree, 0).max(1)
    return np.stack([degree, lowest, highest, mean, np.sqrt(np.maximum(variance, 0))], axis=-1)


# --- random ---


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
    return np.sort(RANDOM.choice(maximum, data.num_nodes, replace=False))


def sinusoids(data: Data, channels: int) -> np.ndarray:
    frequencies = 10_000.0 ** (-np.arange(0, channels, 2) / channels)
    angles = np.arange(data.num_nodes)[:, None] * frequencies
    result = np.empty((data.num_nodes, channels))
    result[:, 0::2], result[:, 1::2] = np.sin(angles), np.cos(angles)
    return result


def distance_decay(data: Data, heads: int, distances: Operator = hop_distances) -> np.ndarray:
    scales = 2 ** (8 * np.arange(1, heads + 1) / heads)
    return np.maximum(-distances(data)[..., None] / scales, -1e4)


# --- Hodge ---


def boundaries(data: Data) -> tuple[dict[tuple[int, int], int], np.ndarray, np.ndarray]:
    """The number of each edge u < v, and the boundary matrices of edges and of triangles."""
    edges = list(dict.fromkeys((u, v) for u, v in data.edge_index.T.tolist() if u < v))
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
    components = csgraph.connected_components(adjacency(data) != 0, directed=False)[0]
    rank = np.linalg.matrix_rank(of_triangles) if of_triangles.size else 0
    return np.array([components, len(number) - (data.num_nodes - components) - rank])


# --- directed ---


def magnetic_eigenvectors(data: Data, k: int, q: float) -> tuple[np.ndarray, np.ndarray]:
    a = is_adjacent(data)
    either = np.maximum(a, a.T)
    root = np.sqrt(either.sum(1))
    operator = np.eye(len(a)) - either / root / root[:, None] * np.exp(2j * np.pi * q * (a - a.T))
    values, vectors = (part[..., :k] for part in np.linalg.eigh(operator))
    missing = k - len(values)
    return np.pad(vectors, ((0, 0), (0, missing))), np.pad(values, (0, missing))[None]


def directed_walks(data: Data, walk_length: int) -> np.ndarray:
    arrivals = []
    for a in (adjacency(data), adjacency(data).T):
        a = a + np.diag(a.sum(1) == 0)
        arriving = np.ones(len(a))
        step = a / a.sum(1, keepdims=True)
        for _ in range(walk_length):
            arriving = arriving @ step
            arrivals.append(arriving)
    return np.stack(arrivals, axis=-1)


def walk_profile(data: Data, length: int) -> np.ndarray:
    a = adjacency(data)
    current, profile = [np.eye(len(a))], []
    for _ in range(length):
        following = [a.T @ count for count in current] + [np.zeros_like(a)]
        for forward, count in enumerate(current):
            following[forward + 1] = following[forward + 1] + a @ count
        current = following
        profile += current
    return np.stack(profile, axis=-1)


def reachability(data: Data) -> np.ndarray:
    reached = np.isfinite(csgraph.shortest_path(csr_array(adjacency(data)), unweighted=True))
    return np.stack([reached, reached.T], axis=-1)


def singular_vectors(data: Data, k: int) -> np.ndarray:
    left, values, right = np.linalg.svd(adjacency(data))
    values = np.where(values > 1e-12 * values[0], values, 0.0)
    parts = (left[:, :k] * np.sqrt(values[:k]), right[:k].T * np.sqrt(values[:k]))
    return np.hstack([np.pad(part, ((0, 0), (0, k - part.shape[1]))) for part in parts])
