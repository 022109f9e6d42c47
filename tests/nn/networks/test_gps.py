"""GPS as a whole; what it shares with the other networks is in test_networks.py."""

from __future__ import annotations

import pytest
import torch
from jsonargparse import ArgumentParser
from nn_batches import FEATURES, batch_of, count_parameters, graphs, largest_error
from torch import nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import (
    CGConv,
    GATv2Conv,
    GCNConv,
    GINEConv,
    GraphConv,
    PNAConv,
    RGCNConv,
    SAGEConv,
    TransformerConv,
)

from graphpe.nn import GPS, FieldEncoder, GraphNetwork, NodeEncoder, PairEncoder
from graphpe.nn.layers.gine_conv import GINEConvolution
from graphpe.tasks import Features

OPTIONS = {
    "dense": {},
    "pairs": {"positional_encoders": True},
    "pairs, virtual": {"positional_encoders": True, "readout": "virtual_node"},
    "virtual": {"readout": "virtual_node", "norm": "layer"},
    "linear": {"attention": "linear", "attention_dropout": 0.0},
    "linear, virtual": {
        "attention": "linear",
        "attention_dropout": 0.0,
        "readout": "virtual_node",
    },
    "gated": {"conv": "gated_gcn"},
    "gated, none": {"conv": "gated_gcn", "attention": "none", "norm": "none"},
    "none, dense": {"conv": "none", "norm": "layer"},
    "none, linear": {"conv": "none", "attention": "linear", "attention_dropout": 0.0},
    "of PyG": {"conv": GATv2Conv(16, 8, heads=2, edge_dim=16)},
    "of PyG, no edges": {"conv": GCNConv(16, 16), "attention": "linear", "attention_dropout": 0.0},
}
EXPANDER = {"attention": "expander", "conv": "gine"}
each_option = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
each_level = pytest.mark.parametrize("level", ["graph", "node", "edge", "pair"])


def gps(options: dict, level: str = "graph", features: Features = FEATURES) -> GPS:
    options = {"attention_dropout": 0.0} | options
    if options.pop("positional_encoders", False):
        options["positional_encoders"] = [
            PairEncoder(3, 5, "relation"),
            NodeEncoder(2, 16, "position"),
        ]
    return GPS(features, 2, 16, 2, 4, level=level, **options).double()


def fields(graph: Data) -> Data:
    """Attaches the fields that the encoders read."""
    n = graph.num_nodes
    graph.relation, graph.position = torch.randn(n * n, 3).double(), torch.randn(n, 2).double()
    return graph


def every_graph() -> list[Data]:
    return [fields(graph) for graph in graphs().values()]


def rows_of(graph: Data, level: str) -> int:
    n = graph.num_nodes
    return {"graph": 1, "node": n, "edge": graph.num_edges, "pair": n * n}[level]


@pytest.mark.parametrize("options", [*OPTIONS.values(), EXPANDER], ids=[*OPTIONS, "expander"])
@each_level
def test_a_graph_alone_equals_the_graph_in_a_batch(options: dict, level: str) -> None:
    network = gps(options, level).eval()
    every = every_graph()
    rows = [rows_of(graph, level) for graph in every]
    together = network(Batch.from_data_list(every)).split(rows)
    for graph, expected in zip(every, together, strict=True):
        assert largest_error(network(Batch.from_data_list([graph])), expected) < 1e-12


@each_option
def test_order_of_nodes_and_edges_does_not_matter(options: dict) -> None:
    network = gps(options, "node").eval()
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
        assert largest_error(network(permuted)[new], network(graph)) < 1e-12


@pytest.mark.parametrize("options", [*OPTIONS.values(), EXPANDER], ids=[*OPTIONS, "expander"])
@pytest.mark.parametrize("attention_dropout", [0.0, 0.5])
def test_gradients_are_finite_and_reach_all_parameters(
    options: dict, attention_dropout: float
) -> None:
    if options.get("attention") != "linear":
        options = options | {"attention_dropout": attention_dropout}
    network = gps(options).float().train()
    every = every_graph()
    for chosen in [[graph] for graph in every] + [every]:
        network.zero_grad()
        out = network(Batch.from_data_list(chosen))
        assert out.isfinite().all()
        out.square().sum().backward()
        for name, parameter in network.named_parameters():
            if parameter.requires_grad:
                assert parameter.grad is not None, name
                assert parameter.grad.isfinite().all(), name
    # Of the last batch, which has everything; a virtual node has no pairs, and in the last layer it is all that counts.
    unused = ["layers.1.attention.pair_bias"] if options.get("readout") == "virtual_node" else []
    for name, parameter in network.named_parameters():
        if parameter.requires_grad and not any(part in name for part in unused):
            assert parameter.grad.abs().sum() > 0, name


@each_option
def test_mixed_precision(options: dict) -> None:
    network, batch = gps(options).float(), Batch.from_data_list(every_graph())
    with torch.autocast("cpu", torch.bfloat16):
        out = network(batch)
    out.float().square().sum().backward()
    assert out.isfinite().all()
    assert all(p.grad.isfinite().all() for p in network.parameters() if p.requires_grad)


@pytest.mark.parametrize("attention", ["dense", "linear", "expander"])
def test_a_huge_graph_among_tiny_ones(attention: str) -> None:
    sizes = [300, *[1] * 30, 2, 3]
    every = [
        Data(x=torch.randint(0, 28, (n, 1)), edge_index=torch.arange(n).repeat(2, 1)) for n in sizes
    ]
    network = GPS(
        Features((28,)), 3, 16, 2, 4, attention=attention, attention_dropout=0.0, readout="mean"
    )
    network = network.double().eval()
    together = network(Batch.from_data_list(every))
    for number in (0, 1, 31, 32):
        assert largest_error(network(every[number]), together[number : number + 1]) < 1e-12


def test_the_expander_can_be_chosen() -> None:
    network = GPS(
        FEATURES, 1, 16, 2, 4, attention="expander", expander_degree=4, expander_virtual_nodes=3
    )
    for layer in network.layers:
        assert layer.attention.degree == 4
        assert layer.attention.virtual.shape == (3, 16)
    with pytest.raises(ValueError, match="degree is 5; it must be even"):
        GPS(FEATURES, 1, 16, 2, 4, attention="expander", expander_degree=5)


def test_defaults_have_the_size_of_the_published_network() -> None:
    """423,717 parameters on ZINC, of which 1,008 + 628 embed nodes and encodings side by side."""
    network = GPS(FEATURES)
    embeddings = count_parameters(network.node_embedding)
    assert embeddings == 28 * 64
    assert count_parameters(network) - embeddings == 423717 - 28 * 36 - (20 * 28 + 28) - 2 * 20


def test_each_layer_has_a_convolution_of_its_own() -> None:
    conv = TransformerConv(16, 16, edge_dim=16)
    first, second = gps({"conv": conv}).layers
    assert conv is not first.conv.conv
    assert first.conv.conv is not second.conv.conv
    assert not torch.equal(first.conv.conv.lin_key.weight, second.conv.conv.lin_key.weight)


def test_lazy_convolutions_and_those_with_tensors_for_arguments() -> None:
    degrees = torch.tensor([1, 4, 2])
    scaled = PNAConv(16, 16, ["mean", "max"], ["identity", "amplification"], degrees, edge_dim=16)
    for conv in (SAGEConv(-1, 16), scaled):
        network = GPS(FEATURES, 2, 16, 2, 4, conv=conv)
        assert network(batch_of()).isfinite().all()


def test_weights_of_edges_reach_the_convolution() -> None:
    network, batch = gps({"conv": GraphConv(16, 16)}).eval(), batch_of("path", "complete")
    expected = network(batch)
    batch.edge_weight = torch.ones(batch.num_edges).double()
    torch.testing.assert_close(network(batch), expected)
    batch.edge_weight = 2 * batch.edge_weight
    assert not torch.allclose(network(batch), expected)


class Numbers(FieldEncoder):
    """Gives the attribute ``numbers`` as it is."""

    requires = ()

    def __init__(self, level: str, role: str, out_channels: int) -> None:
        super().__init__()
        self.level, self.role, self.out_channels = level, role, out_channels

    def forward(self, data: Data) -> torch.Tensor:
        return data.numbers


@pytest.mark.parametrize("conv", ["gine", "gated_gcn", CGConv(16, 16)])
def test_edges_reach_the_convolution(conv: object) -> None:
    """Their features and encodings; one learned vector if there are none."""
    batch = batch_of("path", "complete")
    batch.numbers = torch.randn(batch.num_edges, 4).double()
    network = GPS(FEATURES, 2, 16, 2, 4, conv=conv, positional_encoders=[Numbers("edge", "add", 4)])
    network = network.double().eval()
    for name, changed in (("edge_attr", (batch.edge_attr + 1) % 4), ("numbers", -batch.numbers)):
        other = batch.clone()
        other[name] = changed
        assert not torch.allclose(network(other), network(batch))
    plain = gps({"conv": conv}, features=Features((28,)))
    assert plain.edge_vectors.constant is not None
    assert plain(batch).shape == (2, 2)


def test_without_edges_to_read_there_is_no_embedding_of_them() -> None:
    """It would be a parameter without gradient."""
    assert gps({"conv": GCNConv(16, 16)}).edge_vectors is None
    assert gps({"conv": "none"}).edge_vectors is None
    assert gps({"conv": "none", "attention": "expander"}).edge_vectors is not None


def test_pairs_bias_the_attention_of_their_first_node() -> None:
    network = gps({"positional_encoders": True, "norm": "layer", "conv": "none"}, "node")
    network.layers = network.layers[:1]
    graph = fields(batch_of("complete"))
    graph.relation.requires_grad_()
    (gradient,) = torch.autograd.grad(network(graph)[2].sum(), graph.relation)
    touched = gradient.view(5, 5, 3).abs().sum((1, 2)) > 0
    assert touched.tolist() == [False, False, True, False, False]


def test_angles_rotate_queries_and_keys() -> None:
    """Attention depends on differences of angles: the same angle for all nodes changes nothing."""
    network = (
        GPS(FEATURES, 2, 16, 2, 4, positional_encoders=[Numbers("node", "rotate", 8)])
        .double()
        .eval()
    )
    batch = batch_of("path", "complete")
    batch.numbers = torch.zeros(batch.num_nodes, 8).double()
    expected = network(batch)
    batch.numbers = torch.randn(8).double().expand(batch.num_nodes, 8)
    torch.testing.assert_close(network(batch), expected)
    batch.numbers = torch.randn(batch.num_nodes, 8).double()
    assert not torch.allclose(network(batch), expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"conv": "gat"}, "conv is 'gat'; it must be 'gine', 'gated_gcn' or 'none'"),
        (
            {"conv": SAGEConv},
            r"the class SAGEConv; it .* or an instance of a convolution of torch_geometric.nn, SAGEConv\(64, 64\)",
        ),
        ({"conv": nn.Sequential(nn.Linear(64, 64))}, "conv is a Sequential; it .* or an instance"),
        ({"conv": nn.Linear}, "conv is the class Linear; it .* or an instance"),
        ({"conv": None}, "conv is a NoneType; it .* or an instance"),
        ({"conv": SAGEConv(32, 64)}, "SAGEConv that fails on nodes of width 64"),
        ({"conv": SAGEConv(64, 32)}, "SAGEConv that returns 32 channels"),
        ({"conv": GINEConv(nn.Linear(64, 64), edge_dim=4)}, "GINEConv that fails.*edge_dim=64"),
        ({"conv": RGCNConv(64, 64, 4)}, "RGCNConv that fails.*no edge_type"),
        ({"attention": "full"}, "attention is 'full'; it must be 'dense', 'linear'"),
        ({"norm": "graph"}, "norm is 'graph'"),
        ({"readout": "cls"}, "readout is 'cls'"),
        ({"heads": 7}, "heads is 7, which does not divide the 64 channels"),
        ({"num_layers": 0}, "num_layers is 0"),
        ({"hidden_channels": 2, "heads": 1}, "hidden_channels is 2; it must be at least 4"),
        ({"conv": "none", "attention": "none"}, "conv and attention are both 'none'"),
        ({"attention_dropout": 1.0}, "attention_dropout is 1.0"),
        (
            {"attention": "linear", "attention_dropout": 0.5},
            "attention_dropout is 0.5, but linear attention has no weights",
        ),
        ({"attention": "none", "readout": "virtual_node"}, "readout is 'virtual_node'.*is 'none'"),
        (
            {
                "attention": "linear",
                "attention_dropout": 0.0,
                "positional_encoders": [PairEncoder(3, 5, "relation")],
            },
            "attention is 'linear', which has no place for a bias from encodings of pairs",
        ),
        (
            {"attention": "expander", "positional_encoders": [Numbers("node", "rotate", 32)]},
            "attention is 'expander', which rotates no queries",
        ),
        (
            {
                "hidden_channels": 20,
                "heads": 4,
                "positional_encoders": [Numbers("node", "rotate", 10)],
            },
            "make hidden_channels / heads even",
        ),
        (
            {
                "conv": "none",
                "positional_encoders": [Numbers("edge", "add", 4)],
            },
            "Numbers encodes edges, but neither the convolution nor the attention",
        ),
        ({"conv": GATv2Conv(64, 64, edge_dim=3)}, "GATv2Conv for edges of width 3.*make it 64"),
    ],
)
def test_bad_arguments(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        GPS(FEATURES, **arguments)
    assert "\n" not in str(error.value)


CONFIGURATIONS = {
    "gine": (GINEConvolution, "conv: gine"),
    "gatv2": (
        GATv2Conv,
        "conv: {class_path: torch_geometric.nn.GATv2Conv, init_args: {in_channels: 16, out_channels: 8, heads: 2, "
        "edge_dim: 16}}",
    ),
    "gcn": (
        GCNConv,
        "conv: {class_path: torch_geometric.nn.GCNConv, init_args: {in_channels: 16, out_channels: 16}}",
    ),
    "transformer": (
        TransformerConv,
        "conv: {class_path: torch_geometric.nn.TransformerConv, init_args: {in_channels: 16, out_channels: 16, "
        "edge_dim: 16}}",
    ),
    "cg": (
        CGConv,
        "conv: {class_path: torch_geometric.nn.CGConv, init_args: {channels: 16, dim: 16}}",
    ),
    "gine of PyG": (
        GINEConv,
        "conv: {class_path: torch_geometric.nn.GINEConv, init_args: {nn: {class_path: torch.nn.Linear, init_args: "
        "{in_features: 16, out_features: 16}}}}",
    ),
}


@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning"
)  # the new name came with jsonargparse 4.49
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_built_from_a_configuration(tmp_path, name: str) -> None:
    kind, line = CONFIGURATIONS[name]
    config = tmp_path / "network.yaml"
    config.write_text(
        f"""
network:
  class_path: graphpe.nn.GPS
  init_args:
    features: {{node_categories: [28], edge_categories: [4]}}
    hidden_channels: 16
    num_layers: 2
    {line}
    norm: layer
"""
    )
    parser = ArgumentParser()
    parser.add_argument("--config", action="config")
    parser.add_subclass_arguments(GraphNetwork, "network")
    settings = parser.parse_args([f"--config={config}"])
    network = parser.instantiate_classes(settings).network
    assert len(network.layers) == 2
    conv = network.layers[1].conv
    assert isinstance(conv if kind is GINEConvolution else conv.conv, kind)
    assert network(batch_of()).isfinite().all()
