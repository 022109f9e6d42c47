"""The transformer as a whole; what it shares with the other networks is in test_networks.py."""

from __future__ import annotations

import itertools

import pytest
import torch
from nn_batches import FEATURES, batch_of, graphs, largest_error
from torch_geometric.data import Batch, Data

from graphpe.nn import NodeEncoder, PairEncoder, Transformer
from graphpe.tasks import Features

OPTIONS = {
    "plain": {},
    "token": {"readout": "virtual_node"},
    "pairs": {"positional_encoders": True},
    "token, pairs": {"readout": "virtual_node", "positional_encoders": True},
    "structure": {"structure_hops": 2, "degree_scaling": True},
    "everything": {
        "structure_hops": 2,
        "degree_scaling": True,
        "readout": "virtual_node",
        "positional_encoders": True,
    },
}
each_option = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
each_level = pytest.mark.parametrize("level", ["graph", "node", "pair"])


def transformer(options: dict, level: str = "graph", features: Features = FEATURES) -> Transformer:
    options = dict(options)
    if options.pop("positional_encoders", False):
        options["positional_encoders"] = [
            PairEncoder(3, 5, "relation"),
            NodeEncoder(2, 16, "position"),
        ]
    return Transformer(features, 2, 16, 2, 4, level=level, **options).double()


def fields(graph: Data) -> Data:
    """Attaches the fields that the encoders read."""
    n = graph.num_nodes
    graph.relation, graph.position = torch.randn(n * n, 3).double(), torch.randn(n, 2).double()
    return graph


def every_graph() -> list[Data]:
    return [fields(graph) for graph in graphs().values()]


def rows_of(graph: Data, level: str) -> int:
    return {"graph": 1, "node": graph.num_nodes, "pair": graph.num_nodes**2}[level]


@each_option
@each_level
@pytest.mark.parametrize("training", [False, True])
def test_a_graph_alone_equals_the_graph_in_a_batch(
    options: dict, level: str, training: bool
) -> None:
    network = transformer(options, level).train(training)
    every = every_graph()
    rows = [rows_of(graph, level) for graph in every]
    together = network(Batch.from_data_list(every)).split(rows)
    for graph, expected in zip(every, together, strict=True):
        assert largest_error(network(Batch.from_data_list([graph])), expected) < 1e-12


@each_option
@each_level
def test_order_of_nodes_and_edges_does_not_matter(options: dict, level: str) -> None:
    network = transformer(options, level).eval()
    for graph in every_graph():
        n = graph.num_nodes
        new, order = torch.randperm(n), torch.randperm(graph.num_edges)
        new_pair = (new[:, None] * n + new).flatten()
        permuted = graph.clone()
        permuted.edge_index = new[graph.edge_index[:, order]]
        permuted.edge_attr = graph.edge_attr[order]
        for name, place in (("x", new), ("position", new), ("relation", new_pair)):
            permuted[name] = torch.empty_like(graph[name])
            permuted[name][place] = graph[name]
        got = network(permuted)
        row = {"graph": slice(None), "node": new, "pair": new_pair}[level]
        assert largest_error(got[row], network(graph)) < 1e-12


@each_option
@each_level
def test_gradients_are_finite_and_reach_all_parameters(options: dict, level: str) -> None:
    network = transformer(options, level).float().train()
    every = every_graph()
    for chosen in [[graph] for graph in every] + [every]:
        network.zero_grad()
        out = network(Batch.from_data_list(chosen))
        assert out.isfinite().all()
        out.square().sum().backward()
        for name, parameter in network.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.isfinite().all(), name
    # Of the last batch, which has everything. In the last layer a token, which has no pairs, is all that counts for a
    # graph.
    unused = []
    if level == "graph" and options.get("readout") == "virtual_node":
        unused += ["layers.1.attention.pair_bias"]
    for name, parameter in network.named_parameters():
        if not any(part in name for part in unused):
            assert parameter.grad.abs().sum() > 0, name


@each_option
def test_a_bad_graph_does_not_spoil_others(options: dict) -> None:
    """Not even by a weight of 0 on a padded value that is not a number."""
    network = transformer(options).eval()
    good, large, bad = every_graph()[-4:-1]
    bad.edge_index, bad.edge_attr = bad.edge_index[:, :0], bad.edge_attr[:0]
    features = [torch.randn(graph.num_nodes, 2).double() for graph in (good, large, bad)]
    features[2][0] = torch.nan
    for graph, x in zip((good, large, bad), features, strict=True):
        graph.x = x
    network = transformer(options, features=Features(node_continuous=2, edge_categories=(4,)))
    out = network(Batch.from_data_list([bad, good, large, bad]))
    assert out.isfinite().all(1).tolist() == [False, True, True, False]
    torch.testing.assert_close(out[1:2], network(Batch.from_data_list([good])))


@each_option
def test_mixed_precision(options: dict) -> None:
    network, batch = transformer(options).float(), Batch.from_data_list(every_graph())
    with torch.autocast("cpu", torch.bfloat16):
        out = network(batch)
    out.float().square().sum().backward()
    assert out.isfinite().all()
    assert all(p.grad.isfinite().all() for p in network.parameters())


def test_a_token_tells_how_many_nodes_a_graph_has_none_of() -> None:
    """A graph without nodes has a token that attends to itself; other readouts give it zeros."""
    network = transformer({"readout": "virtual_node"})
    empty = network(batch_of("no nodes"))
    assert empty.abs().sum() > 0
    torch.testing.assert_close(network(batch_of("path", "no nodes"))[1:], empty)
    for readout in ("mean", "sum", "max"):
        network = transformer({"readout": readout})
        assert torch.equal(network(batch_of("no nodes"))[0], network.head.network.bias)


def test_without_encodings_it_sees_a_set_of_nodes() -> None:
    """Edges come in by structure, by degrees, or by encodings alone."""
    batch = batch_of("path", "complete")
    other = batch.clone()
    other.edge_index, other.edge_attr = batch.edge_index[:, 3:17].flip(0), batch.edge_attr[:14]
    for options, sees in (
        ({}, False),
        ({"readout": "virtual_node"}, False),
        ({"structure_hops": 1}, True),
        ({"degree_scaling": True}, True),
    ):
        network = transformer(options)
        assert torch.equal(network(batch), network(other)) != sees


def test_structure_reads_edge_features() -> None:
    batch = batch_of("path", "complete")
    network = transformer({"structure_hops": 1})
    expected = network(batch)
    batch.edge_attr = (batch.edge_attr + 1) % 4
    assert not torch.allclose(network(batch), expected)
    del batch.edge_attr
    with pytest.raises(ValueError, match="no 'edge_attr'"):
        network(batch)
    for options in ({"structure_hops": 1, "features": Features((28,))}, {}):
        features = options.pop("features", FEATURES)
        assert transformer(options, features=features)(batch).shape == (2, 2)


def test_degree_scaling_counts_outgoing_edges() -> None:
    """Spec 1.6: attention output times (outdeg + 1)^-1/2."""
    network = transformer({"degree_scaling": True, "readout": "virtual_node"})
    batch = batch_of("one node")
    batch.edge_index, batch.edge_attr = torch.zeros(2, 3).long(), torch.zeros(3).long()
    seen = []
    for layer in network.layers:
        layer.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[2]))
    network(batch)
    assert [scale.flatten().tolist() for scale in seen] == [[0.5, 1.0]] * 2
    batch = batch_of("path")
    batch.edge_index, batch.edge_attr = batch.edge_index[:, :5], batch.edge_attr[:5]
    network(batch)
    degree = torch.tensor([1, 1, 1, 1, 1, 0, 0]).double()
    torch.testing.assert_close(seen[-1][:, 0], (degree + 1).rsqrt())


def test_pairs_bias_the_attention_of_their_first_node() -> None:
    """A logit of pair (i, j) moves the weight that i gives to j."""
    network = transformer({"positional_encoders": True}, "node")
    network.layers = network.layers[:1]
    graph = fields(batch_of("complete"))
    graph.relation.requires_grad_()
    (gradient,) = torch.autograd.grad(network(graph)[2].sum(), graph.relation)
    touched = gradient.view(5, 5, 3).abs().sum((1, 2)) > 0
    assert touched.tolist() == [False, False, True, False, False]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"readout": "median"}, "readout is 'median'; it must be 'mean', .* or 'virtual_node'"),
        ({"heads": 7}, r"heads is 7, which does not divide the 256 channels"),
        ({"num_layers": 0}, "num_layers is 0"),
        ({"out_channels": 0}, "out_channels is 0"),
        ({"structure_hops": -1}, "structure_hops is -1; it must be an integer >= 0"),
        ({"structure_hops": True}, "structure_hops is True"),
        ({"degree_scaling": 1}, "degree_scaling is 1; it must be True or False"),
        ({"level": "triple"}, "level is 'triple'"),
    ],
)
def test_bad_arguments(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Transformer(FEATURES, **arguments)


def test_a_huge_graph_among_tiny_ones() -> None:
    sizes = [300, *itertools.repeat(1, 30), 2, 3]
    every = [
        Data(x=torch.randint(0, 28, (n, 1)), edge_index=torch.zeros(2, 0).long()) for n in sizes
    ]
    network = Transformer(Features((28,)), 3, 16, 2, 4, readout="virtual_node").double().eval()
    together = network(Batch.from_data_list(every))
    for number in (0, 1, 31, 32):
        assert largest_error(network(every[number]), together[number : number + 1]) < 1e-12
