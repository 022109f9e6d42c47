"""Keys of graphs: a function of the seed and the graph, and of nothing else."""

from __future__ import annotations

import pytest
import torch
from graph_zoo import graph, random_graphs, zoo
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from graphpe.checks import require_seed
from graphpe.graphs import GraphBatch
from graphpe.transforms.core.seeds import graph_keys


def keys_of(graphs: list[Data] | Data, seed: int = 0, dense_limit: int = 500) -> list[int]:
    """The key of each graph, in order."""
    batch = GraphBatch.of(graphs)
    keys = torch.zeros(len(batch), dtype=torch.int64)
    for block in batch.blocks(dense_limit, 2**30):
        keys[block.numbers] = graph_keys(block, seed)
    for large in batch.large(dense_limit, 2**30):
        keys[large.number] = graph_keys(large, seed)
    return keys.tolist()


def test_the_batch_and_the_dense_limit_change_nothing() -> None:
    graphs = list(zoo().values())
    alone = [keys_of(data)[0] for data in graphs]
    assert keys_of(graphs) == alone
    assert keys_of(graphs[::-1]) == alone[::-1]
    assert keys_of(Batch.from_data_list(graphs)) == alone
    assert keys_of(graphs, dense_limit=1) == alone


def test_different_graphs_have_different_keys() -> None:
    keys = keys_of(list(zoo().values()))
    assert len(set(keys)) == len(keys)


@given(random_graphs(max_nodes=12), st.randoms(use_true_random=False))
def test_the_order_of_edges_changes_nothing(data: Data, random: object) -> None:
    order = list(range(data.num_edges))
    random.shuffle(order)
    shuffled = Data(edge_index=data.edge_index[:, order], num_nodes=data.num_nodes)
    if "edge_weight" in data:
        shuffled.edge_weight = data.edge_weight[order]
    assert keys_of(shuffled) == keys_of(data)


@given(random_graphs(max_nodes=12, weighted=True), st.data())
def test_one_change_changes_the_key(data: Data, draw: st.DataObject) -> None:
    changed = [keys_of(data)[0], keys_of(data, seed=1)[0]]
    more_nodes = data.clone()
    more_nodes.num_nodes += 1
    changed.append(keys_of(more_nodes)[0])
    if data.num_edges:
        edge = draw.draw(st.integers(0, data.num_edges - 1))
        weight = data.clone()
        weight.edge_weight = weight.edge_weight.double()
        weight.edge_weight[edge] *= 1 + 1e-15
        fewer = data.edge_subgraph(torch.arange(data.num_edges) != edge)
        changed += [keys_of(weight)[0], keys_of(fewer)[0]]
        if data.num_nodes > 1:
            moved = data.clone()
            moved.edge_index[1, edge] = (moved.edge_index[1, edge] + 1) % data.num_nodes
            changed.append(keys_of(moved)[0])
    assert len(set(changed)) == len(changed)


def test_direction_and_multiplicity_count() -> None:
    forward, backward = graph(2, [(0, 1)], directed=True), graph(2, [(1, 0)], directed=True)
    both, twice = graph(2, [(0, 1)]), graph(2, [(0, 1), (0, 1)], directed=True)
    assert len(set(keys_of([forward, backward, both, twice, graph(2)]))) == 5


def test_no_weights_are_weights_of_one() -> None:
    edges = [(0, 1), (1, 2), (2, 2)]
    assert keys_of(graph(3, edges)) == keys_of(graph(3, edges, [1.0, 1.0, 1.0]))


def test_keys_of_similar_graphs_share_no_bits() -> None:
    paths = [graph(n, [(i, i + 1) for i in range(n - 1)]) for n in range(2, 200)]
    keys = torch.tensor(keys_of(paths))
    differing = torch.stack([(keys[1:] ^ keys[:-1]) >> bit & 1 for bit in range(64)])
    assert abs(float(differing.double().mean()) - 0.5) < 0.02
    assert len(set(keys_of(paths, seed=3)) & set(keys.tolist())) == 0


@pytest.mark.parametrize("seed", [-1, 2**63, 1.0, True, None, "0"])
def test_a_bad_seed_is_refused(seed: object) -> None:
    with pytest.raises(ValueError, match=r"seed is .*integer from 0"):
        require_seed("seed", seed)
