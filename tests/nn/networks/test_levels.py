"""Networks that predict for graphs, nodes, edges and pairs of nodes: rows, order and independence."""

from __future__ import annotations

import pytest
import torch
from nn_batches import FEATURES, graphs, largest_error
from torch_geometric.data import Batch, Data

from graphpe.nn import (
    GINE,
    PEG,
    SPE,
    FieldEncoder,
    GraphTransformer,
    NodeMLP,
    PairEncoder,
    Transformer,
)

K = 6


def leveled_networks() -> list:
    """Networks without batch normalisation of each level, with encodings of nodes, edges and pairs."""
    builders = {
        "GraphTransformer": lambda **s: GraphTransformer(FEATURES, 2, 16, 2, 4, norm="layer", **s),
        "full": lambda **s: GraphTransformer(FEATURES, 2, 16, 2, 4, "full", norm="layer", **s),
        "GINE": lambda **s: GINE(FEATURES, 2, 16, 2, "layer", **s),
        "NodeMLP": lambda **s: NodeMLP(FEATURES, 2, 16, 2, **s),
        "Transformer": lambda **s: Transformer(FEATURES, 2, 16, 2, 4, structure_hops=1, **s),
    }

    def encoders(level: str) -> list[FieldEncoder]:
        more = {"pair": [PairEncoder(3, 5, "relation")], "edge": [PEG(K, 5, 8)]}
        return [SPE(K, 16, hidden_channels=8, num_layers=2, num_filters=3), *more.get(level, [])]

    return [
        pytest.param(
            lambda b=build, v=level: b(level=v, positional_encoders=encoders(v)),
            id=f"{name}-{level}",
        )
        for name, build in builders.items()
        for level in ("graph", "node", "edge", "pair")
    ]


each_level = pytest.mark.parametrize("build", leveled_networks())


def related_graphs() -> list[Data]:
    """All small graphs with a random pair field."""
    every = list(graphs(K).values())
    for graph in every:
        graph.relation = torch.randn(graph.num_nodes**2, 3).double()
    return every


def rows_of(graph: Data, level: str) -> int:
    n, e = graph.num_nodes, graph.num_edges
    return {"graph": 1, "node": n, "edge": e, "pair": n * n}[level]


@each_level
@pytest.mark.parametrize("training", [False, True])
def test_rows_of_a_graph_do_not_depend_on_its_company(build, training: bool) -> None:
    network = build().double().train(training)
    every = related_graphs()
    together = network(Batch.from_data_list(every))
    rows = [rows_of(graph, network.level) for graph in every]
    assert together.shape == (sum(rows), 2)
    for graph, expected in zip(every, together.split(rows), strict=True):
        assert largest_error(network(graph), expected) < 1e-9


@each_level
def test_rows_follow_the_order_of_nodes(build) -> None:
    network = build().double().eval()
    for graph in related_graphs():
        n = graph.num_nodes
        new, order = torch.randperm(n), torch.randperm(graph.num_edges)
        new_pair = (new[:, None] * n + new).flatten()
        permuted = graph.clone()
        permuted.edge_index = new[graph.edge_index[:, order]]
        permuted.edge_attr = graph.edge_attr[order]
        for name in ("x", "laplacian_eigenvector_pe", "relation"):
            place = new_pair if name == "relation" else new
            permuted[name] = torch.empty_like(graph[name])
            permuted[name][place] = graph[name]
        row = {"graph": slice(None), "node": new, "edge": order.argsort(), "pair": new_pair}
        assert largest_error(network(permuted)[row[network.level]], network(graph)) < 1e-9


@each_level
def test_gradients_at_each_level(build) -> None:
    network = build().train()
    for batch in [Batch.from_data_list([graph]) for graph in related_graphs()[1:]]:
        network.zero_grad()
        network(batch).square().sum().backward()
        for name, parameter in network.named_parameters():
            if parameter.requires_grad:
                assert parameter.grad is not None, name
                assert parameter.grad.isfinite().all(), name
