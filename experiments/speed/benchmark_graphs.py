"""The graphs that benchmarks here run on."""

from __future__ import annotations

from collections.abc import Iterable

import networkx as nx
import numpy as np
from torch_geometric.data import Data, InMemoryDataset
from torch_geometric.datasets import ZINC
from torch_geometric.utils import from_networkx


def zinc(root: str) -> InMemoryDataset:
    """The 12,000 graphs of ZINC-12k, all splits."""
    splits = [ZINC(root, subset=True, split=split) for split in ("train", "val", "test")]
    return dataset_of([data for split in splits for data in split], splits[0])


def dataset_of(graphs: Iterable[Data], dataset: InMemoryDataset | None = None) -> InMemoryDataset:
    """The graphs as a new dataset, or as the content of ``dataset``."""
    dataset = InMemoryDataset() if dataset is None else dataset
    dataset.data, dataset.slices = dataset.collate(list(graphs))
    return dataset


def larger_graphs(count: int) -> InMemoryDataset:
    """Sparse connected graphs of 100 to 500 nodes: small worlds, random geometric graphs and trees, in turn."""
    random = np.random.default_rng(0)
    graphs = []
    for number, n in enumerate(random.permutation(np.linspace(100, 500, count).astype(int))):
        seed, n = int(random.integers(2**31)), int(n)
        if number % 3 == 0:
            graph = nx.connected_watts_strogatz_graph(n, 4, 0.1, seed=seed)
        elif number % 3 == 1:
            graph = geometric_graph(n, seed)
        else:
            graph = nx.random_labeled_tree(n, seed=seed)
        graphs.append(Data(edge_index=from_networkx(graph).edge_index, num_nodes=n))
    return dataset_of(graphs)


def geometric_graph(n: int, seed: int) -> nx.Graph:
    """Points in a square joined to those near them, 5 on average, and the nearest points of separate parts joined."""
    radius = (5 / np.pi / n) ** 0.5
    graph = nx.random_geometric_graph(n, radius, seed=seed)
    positions = np.array([graph.nodes[node]["pos"] for node in graph])
    while not nx.is_connected(graph):
        part = np.array(sorted(next(nx.connected_components(graph))))
        rest = np.setdiff1d(np.arange(n), part)
        distance = np.linalg.norm(positions[part][:, None] - positions[rest], axis=-1)
        nearest, other = np.unravel_index(distance.argmin(), distance.shape)
        graph.add_edge(int(part[nearest]), int(rest[other]))
    for node in graph:
        del graph.nodes[node]["pos"]
    return graph


def evenly_spaced(dataset: InMemoryDataset, count: int) -> list[Data]:
    numbers = np.linspace(0, len(dataset) - 1, min(count, len(dataset))).round().astype(int)
    return [dataset[int(number)] for number in numbers]


def from_lower_to_higher(dataset: InMemoryDataset) -> InMemoryDataset:
    """The graphs with the edges from lower to higher node numbers only."""
    return dataset_of(
        Data(edge_index=data.edge_index[:, is_kept], num_nodes=data.num_nodes)
        for data in dataset
        for is_kept in [data.edge_index[0] < data.edge_index[1]]
    )
