"""Circular skip link graphs."""

from __future__ import annotations

import networkx
import torch
from torch_geometric.utils import to_networkx

from graphpe.data import CSLSource

SKIPS = (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)


def test_graphs_are_circulant_graphs_with_permuted_nodes() -> None:
    graphs, _ = CSLSource().load()
    assert [int(graph.y) for graph in graphs] == [c for c in range(10) for _ in range(15)]
    for graph in graphs[::5]:
        assert graph.num_nodes == 41
        assert graph.edge_index.shape == (2, 164)
        assert graph.is_coalesced()
        wanted = networkx.circulant_graph(41, [1, SKIPS[int(graph.y)]])
        assert networkx.is_isomorphic(to_networkx(graph, to_undirected=True), wanted)
    first = {tuple(graph.edge_index.flatten().tolist()) for graph in graphs[:15]}
    assert len(first) == 15


def test_folds_are_stratified_and_all_graphs_are_tested_once() -> None:
    splits = [CSLSource(fold=fold).load() for fold in range(5)]
    classes = torch.tensor([int(graph.y) for graph in splits[0].graphs])
    tested = torch.cat([index["test"] for _, index in splits])
    assert tested.sort().values.tolist() == list(range(150))
    for graphs, index in splits:
        for part, count in (("train", 9), ("valid", 3), ("test", 3)):
            assert classes[index[part]].bincount().tolist() == [count] * 10
        assert torch.equal(graphs[7].edge_index, splits[0].graphs[7].edge_index)


def test_the_seed_decides() -> None:
    (first, one), (again, _), (other, two) = (CSLSource(seed=seed).load() for seed in (3, 3, 4))
    assert torch.equal(first[149].edge_index, again[149].edge_index)
    assert not torch.equal(first[149].edge_index, other[149].edge_index)
    assert not torch.equal(one["test"], two["test"])
