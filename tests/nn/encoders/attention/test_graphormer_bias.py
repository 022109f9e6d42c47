"""The biases of distances and of the edges on a path."""

from __future__ import annotations

import pytest
import torch
from nn_batches import FEATURES, featured, largest_error
from torch_geometric.data import Batch, Data

from graphpe._testing.small_graphs import small_directed_graphs, small_graphs
from graphpe.nn import EmbeddingEncoder, GraphormerBias, Transformer
from graphpe.transforms import AddDegreeSE, AddShortestPathEdgePE, AddShortestPathPE

CAP, LENGTH = 4, 3
FIELD = "shortest_path_edge_pe"


def encoded(graph: Data, direction: str = "forward") -> Data:
    graph = AddShortestPathPE(CAP, direction=direction)(featured(graph))
    return AddShortestPathEdgePE(LENGTH)(graph)


def graphs(direction: str = "forward") -> list[Data]:
    every = (small_graphs() | small_directed_graphs()).values()
    return [encoded(graph, direction) for graph in every]


def with_paths(**settings) -> GraphormerBias:
    settings = {"edge_categories": (4,), "hidden_channels": 6, "max_distance": LENGTH} | settings
    return GraphormerBias(5, CAP + 2, **settings).double()


def bias_by_hand(encoder: GraphormerBias, graph: Data) -> torch.Tensor:
    """Pair by pair, edge by edge."""
    rows = []
    for distances, path in zip(
        graph.shortest_path_pe.tolist(), graph.shortest_path_edge_pe.tolist(), strict=True
    ):
        total = torch.zeros(5).double()
        for column, distance in enumerate(distances):
            total = total + encoder.distance.weight[column * encoder.categories + distance]
        edges = [edge for edge in path if edge >= 0]
        for t, edge in enumerate(edges):
            vector = encoder.path.edge_embedding.embed(graph.edge_attr[edge][None])[0]
            weight = encoder.path.positions.weight.view(LENGTH, 5, -1)[t]
            total = total + weight @ vector / len(edges)
        rows.append(total)
    return torch.stack(rows) if rows else torch.zeros(0, 5).double()


@pytest.mark.parametrize("continuous", [False, True])
@pytest.mark.parametrize("direction", ["forward", "both"])
def test_equals_the_formula_pair_by_pair(direction: str, continuous: bool) -> None:
    settings = {"columns": 2 if direction == "both" else 1}
    every = graphs(direction)
    if continuous:
        settings |= {"edge_categories": (), "edge_continuous": 2}
        for graph in every:
            graph.edge_attr = torch.randn(graph.num_edges, 2).double()
    encoder = with_paths(**settings)
    got = encoder(Batch.from_data_list(every))
    expected = torch.cat([bias_by_hand(encoder, graph) for graph in every])
    assert largest_error(got, expected) < 1e-12
    parameters = list(encoder.parameters())
    towards = torch.randn_like(expected)
    for a, b in zip(
        torch.autograd.grad(got, parameters, towards),
        torch.autograd.grad(expected, parameters, towards),
        strict=True,
    ):
        assert largest_error(a, b) < 1e-12


def test_distances_alone() -> None:
    encoder, every = GraphormerBias(5, CAP + 2).double(), graphs()
    got = encoder(Batch.from_data_list(every))
    distance = torch.cat([graph.shortest_path_pe[:, 0] for graph in every])
    torch.testing.assert_close(got, encoder.distance.weight[distance])
    assert [need.name for need in encoder.requires] == ["shortest_path_pe"]


def test_no_path_is_a_category_of_its_own() -> None:
    graph = encoded(small_graphs()["isolated nodes"])
    encoder = with_paths()
    bias = encoder(graph).view(6, 6, 5)
    torch.testing.assert_close(bias[0, 5], encoder.distance.weight[CAP + 1])
    torch.testing.assert_close(bias[0, 0], encoder.distance.weight[0])


@pytest.mark.parametrize("training", [False, True])
def test_a_graph_alone_equals_the_graph_in_a_batch(training: bool) -> None:
    encoder, every = with_paths().train(training), graphs()
    together = encoder(Batch.from_data_list(every)).split([g.num_nodes**2 for g in every])
    for graph, expected in zip(every, together, strict=True):
        assert largest_error(encoder(graph), expected) < 1e-12


def test_order_of_nodes_does_not_matter() -> None:
    """With the edges in their order: of several shortest paths the field takes that of the first edges."""
    encoder = with_paths()
    for graph in graphs():
        n = graph.num_nodes
        new = torch.randperm(n)
        permuted = Data(
            x=graph.x, edge_index=new[graph.edge_index], edge_attr=graph.edge_attr, num_nodes=n
        )
        permuted = AddShortestPathEdgePE(LENGTH)(AddShortestPathPE(CAP)(permuted))
        row = (new[:, None] * n + new).flatten()
        assert largest_error(encoder(permuted)[row], encoder(graph)) < 1e-12


def test_mixed_precision_and_gradients() -> None:
    encoder, every = with_paths().float(), graphs()
    for chosen in [[graph] for graph in every] + [every]:
        batch = Batch.from_data_list(chosen)
        with torch.autocast("cpu", torch.bfloat16):
            got = encoder(batch)
        assert largest_error(got.float(), encoder(batch)) < 0.02
        encoder.zero_grad()
        got.float().square().sum().backward()
        assert all(p.grad.isfinite().all() for p in encoder.parameters())


def test_the_network_of_graphormer() -> None:
    encoders = [EmbeddingEncoder(2, 9, 20), with_paths()]
    network = Transformer(
        FEATURES, 2, 20, 2, 5, readout="virtual_node", positional_encoders=encoders
    )
    network = network.double()
    every = [AddDegreeSE(8)(graph) for graph in graphs()]
    together = network(Batch.from_data_list(every))
    for number, graph in enumerate(every):
        assert largest_error(network(graph), together[number : number + 1]) < 1e-12
    fields = [AddShortestPathPE(CAP), AddShortestPathEdgePE(LENGTH), AddDegreeSE(8)]
    network.check_fields({f.name: f for encoding in fields for f in encoding.fields()})


def test_what_does_not_fit_is_refused() -> None:
    batch, encoder = Batch.from_data_list(graphs()[3:9]), with_paths()
    broken = batch.clone()
    broken.shortest_path_pe[0] = CAP + 2
    with pytest.raises(ValueError, match=r"'shortest_path_pe' has the category 6, .*categories=6"):
        encoder(broken)
    broken = batch.clone()
    del broken.shortest_path_pe
    with pytest.raises(ValueError, match=r"'shortest_path_pe'.*AddShortestPathPE\(cap=4\)"):
        encoder(broken)
    broken = batch.clone()
    del broken.shortest_path_edge_pe
    with pytest.raises(ValueError, match=r"AddShortestPathEdgePE\(max_distance=3\)"):
        encoder(broken)
    broken = batch.clone()
    del broken.edge_attr
    with pytest.raises(ValueError, match="no 'edge_attr'"):
        encoder(broken)


def test_paths_of_other_edges_are_refused() -> None:
    """Edges that were dropped or mixed after the graphs were encoded would silently be others."""
    path = encoded(small_graphs()["path"])
    batch = Batch.from_data_list([path, path])
    shuffled = batch.clone()
    order = torch.cat([torch.arange(10, 20), torch.arange(10)])
    shuffled.edge_index, shuffled.edge_attr = batch.edge_index[:, order], batch.edge_attr[order]
    with pytest.raises(ValueError, match="edges of a graph do not lie together"):
        with_paths()(shuffled)
    fewer = batch.clone()
    fewer.edge_index, fewer.edge_attr = batch.edge_index[:, :15], batch.edge_attr[:15]
    with pytest.raises(ValueError, match=r"has the edge \d in graph 1, which has 5 edges"):
        with_paths()(fewer)


@pytest.mark.parametrize(
    "name", ["out_channels", "categories", "columns", "hidden_channels", "max_distance"]
)
def test_sizes(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is 0"):
        GraphormerBias(**{"out_channels": 4, name: 0})


def test_edges_in_another_order_are_refused() -> None:
    """Reordered inside a graph after the graphs were encoded, they gave other biases without a word."""
    encoder = with_paths()
    first = encoded(small_graphs()["path"])
    for graph in graphs():
        if graph.num_edges < 2:
            continue
        for order in (torch.arange(graph.num_edges).flip(0), torch.randperm(graph.num_edges)):
            other = graph.clone()
            other.edge_index, other.edge_attr = graph.edge_index[:, order], graph.edge_attr[order]
            if torch.equal(AddShortestPathEdgePE(LENGTH)(other.clone())[FIELD], graph[FIELD]):
                continue
            valid = paths_lead(other)
            if valid:  # between parallel edges, or edges that no path takes
                continue
            with pytest.raises(
                ValueError, match=r"in graph 1 are no paths .*encode the graphs aft"
            ):
                encoder(Batch.from_data_list([first, other]))


def paths_lead(graph: Data) -> bool:
    """Whether the edges of each path lead on from its first node, and a path that ends early to its last."""
    n = graph.num_nodes
    for pair, path in enumerate(graph[FIELD].tolist()):
        node = pair // n
        edges = [edge for edge in path if edge >= 0]
        for edge in edges:
            source, target = graph.edge_index[:, edge].tolist()
            if source != node:
                return False
            node = target
        if 0 < len(edges) < LENGTH and node != pair % n:
            return False
    return True


@pytest.mark.parametrize(
    ("path", "is_path"),
    [
        ([0, 1, -1], True),
        ([0, 1, 2], True),  # the first part of a longer path
        ([0, -1, -1], False),  # ends at another node
        ([1, -1, -1], False),  # starts at another node
        ([0, 2, -1], False),  # with a gap
        ([-1, 1, -1], False),
        ([0, -1, 1], False),
    ],
)
def test_what_is_a_path(path: list[int], is_path: bool) -> None:
    edge_index = torch.tensor([[0, 1, 2], [1, 2, 3]])
    graph = Data(num_nodes=4, edge_index=edge_index, edge_attr=torch.zeros(3, 1).long())
    graph = AddShortestPathEdgePE(LENGTH)(AddShortestPathPE(CAP)(graph))
    graph[FIELD][2] = torch.tensor(path)  # from node 0 to node 2
    encoder = with_paths()
    if is_path:
        encoder(graph)
    else:
        with pytest.raises(ValueError, match="in graph 0 are no paths between its nodes"):
            encoder(graph)


@pytest.mark.parametrize("categories", [5, "ab", None, (5, 0), (2.5,), ("a",), {3, 4}])
def test_categories_of_edges(categories: object) -> None:
    with pytest.raises(ValueError, match=r"^edge_categories is "):
        GraphormerBias(4, edge_categories=categories)
    with pytest.raises(ValueError, match=r"^edge_continuous is -1"):
        GraphormerBias(4, edge_continuous=-1)
