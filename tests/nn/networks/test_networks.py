"""Whole networks: what all of them must get right."""

from __future__ import annotations

import copy

import pytest
import torch
from jsonargparse import ArgumentParser
from nn_batches import FEATURES, batch_of, graphs, largest_error
from torch_geometric.data import Batch, Data

from graphpe.nn import (
    GINE,
    GPS,
    GRIT,
    PNA,
    SPE,
    EigenvectorEncoder,
    EncodeProcessDecode,
    FieldEncoder,
    GatedGCN,
    GraphNetwork,
    Graphormer,
    GraphTransformer,
    NodeEncoder,
    NodeMLP,
    Readout,
    Transformer,
)
from graphpe.tasks import Features

K = 6


def spe(hidden: int) -> SPE:
    return SPE(K, hidden, hidden_channels=8, num_layers=2, num_filters=3)


def graphormer(**settings) -> Graphormer:
    return Graphormer(FEATURES, 2, 16, 2, 4, dropout=0.0, attention_dropout=0.0, **settings)


def networks() -> list:
    builders = {
        "sparse": lambda **s: GraphTransformer(FEATURES, 2, 16, 2, 4, **s),
        "full": lambda **s: GraphTransformer(FEATURES, 2, 16, 2, 4, "full", **s),
        "no edges": lambda **s: GraphTransformer(Features((28,)), 2, 16, 2, 4, **s),
        "sparse, max": lambda **s: GraphTransformer(FEATURES, 2, 16, 2, 4, softmax="max", **s),
        "GRIT": lambda **s: GRIT(FEATURES, 2, 16, 2, 4, attention_dropout=0.0, readout="mean", **s),
        "GINE": lambda **s: GINE(FEATURES, 2, 16, 2, **s),
        "GPS": lambda **s: GPS(FEATURES, 2, 16, 2, attention_dropout=0.0, readout="mean", **s),
        "GPS, gated, linear": lambda **s: GPS(
            FEATURES,
            2,
            16,
            2,
            conv="gated_gcn",
            attention="linear",
            attention_dropout=0.0,
            readout="mean",
            **s,
        ),
        "GatedGCN": lambda **s: GatedGCN(FEATURES, 2, 16, 3, **s),
        "PNA": lambda **s: PNA(FEATURES, 2, 16, 2, 8, 4, [1, 2, 3], **s),
        "GN": lambda **s: EncodeProcessDecode(FEATURES, 2, 16, 2, **s),
        "GN, one core": lambda **s: EncodeProcessDecode(
            FEATURES, 2, 16, 2, True, edges_to_nodes=["mean", "max"], readout="mean", **s
        ),
    }
    return (
        [
            pytest.param(
                lambda b=build, n=norm: b(norm=n, positional_encoders=[spe(16)]),
                id=f"{name}-{norm}",
            )
            for name, build in builders.items()
            for norm in ("batch", "layer")
        ]
        + [
            pytest.param(
                lambda r=readout: Transformer(
                    FEATURES, 2, 16, 2, 4, readout=r, positional_encoders=[spe(16)]
                ),
                id=f"Transformer-{readout}",
            )
            for readout in ("mean", "virtual_node")
        ]
        + [
            pytest.param(
                lambda r=readout: graphormer(readout=r, positional_encoders=[spe(16)]),
                id=f"Graphormer-{readout}",
            )
            for readout in ("mean", "virtual_node")
        ]
    )


each_network = pytest.mark.parametrize("build", networks())


@each_network
def test_a_graph_alone_equals_the_graph_in_a_batch(build) -> None:
    """B38, B30: nothing passes between graphs, of equal or different sizes."""
    network = build().double().eval()
    every = list(graphs(K).values())
    together = network(Batch.from_data_list(every))
    assert together.shape == (len(every), 2)
    for number, graph in enumerate(every):
        assert largest_error(network(graph), together[number : number + 1]) < 1e-9


@each_network
def test_order_of_nodes_and_edges_does_not_matter(build) -> None:
    network = build().double().eval()
    for graph in graphs(K).values():
        new, order = torch.randperm(graph.num_nodes), torch.randperm(graph.num_edges)
        permuted = graph.clone()
        permuted.edge_index = new[graph.edge_index[:, order]]
        permuted.edge_attr = graph.edge_attr[order]
        for name in ("x", "laplacian_eigenvector_pe"):
            permuted[name] = torch.empty_like(graph[name])
            permuted[name][new] = graph[name]
        assert largest_error(network(permuted), network(graph)) < 1e-9


@each_network
@pytest.mark.parametrize("name", [*graphs(K), None])
def test_trains_on_any_graph(build, name: str | None) -> None:
    """B35, pyg#1408: one node, no edges, one graph in a batch; finite gradients for all parameters that learn."""
    network = build().train()
    batch = batch_of(*([name] if name else []), k=K)
    out = network(batch)
    assert out.isfinite().all()
    out.square().sum().backward()
    for parameter_name, parameter in network.named_parameters():
        if parameter.requires_grad:
            assert parameter.grad is not None, parameter_name
            assert parameter.grad.isfinite().all(), parameter_name
    assert all(buffer.isfinite().all() for buffer in network.buffers())


@each_network
def test_learns(build) -> None:
    torch.manual_seed(0)
    network, batch = build().train(), batch_of(k=K)
    target = torch.randn(batch.num_graphs, 2)
    optimizer = torch.optim.Adam((p for p in network.parameters() if p.requires_grad), 1e-2)
    losses = []
    for _ in range(60):
        loss = (network(batch) - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


@each_network
def test_mixed_precision(build) -> None:
    network, batch = build().train(), batch_of(k=K)
    with torch.autocast("cpu", torch.bfloat16):
        out = network(batch)
    out.float().square().sum().backward()
    assert out.isfinite().all()
    assert all(p.grad.isfinite().all() for p in network.parameters() if p.requires_grad)


@each_network
def test_copies_and_reloads(build) -> None:
    network, batch = build().eval(), batch_of(k=K)
    other = build().eval()
    assert not torch.equal(other(batch), network(batch))
    other.load_state_dict(network.state_dict())
    assert torch.equal(other(batch), network(batch))
    assert torch.equal(copy.deepcopy(network)(batch), network(batch))


def test_a_batch_without_batch_vector_is_refused() -> None:
    """B38: GPSConv without batch attends over the whole mini-batch and says nothing."""
    batch = batch_of("path", "complete")
    del batch.batch
    with pytest.raises(ValueError, match="2 graphs but no 'batch' vector"):
        GraphTransformer(FEATURES, 1, 16, 1, 4, "full")(batch)


def test_missing_edge_index_is_refused() -> None:
    with pytest.raises(ValueError, match="no 'edge_index'"):
        GINE(Features(), 1, 8, 1)(Data(num_nodes=3))


each_kind_of_network = pytest.mark.parametrize(
    "build",
    [
        lambda **s: GINE(FEATURES, 2, 16, 2, **s),
        lambda **s: GPS(FEATURES, 2, 16, 2, readout="virtual_node", **s),
        lambda **s: GatedGCN(FEATURES, 2, 16, 2, **s),
        lambda **s: PNA(FEATURES, 2, 16, 2, 8, 4, [1, 2, 3], **s),
        lambda **s: EncodeProcessDecode(FEATURES, 2, 16, 2, **s),
        lambda **s: GraphTransformer(FEATURES, 2, 16, 2, 4, **s),
        lambda **s: GraphTransformer(FEATURES, 2, 16, 2, 4, "full", **s),
        lambda **s: GRIT(FEATURES, 2, 16, 2, 4, **s),
        lambda **s: NodeMLP(FEATURES, 2, 16, 2, **s),
        lambda **s: Transformer(
            FEATURES, 2, 16, 2, 4, structure_hops=1, readout="virtual_node", **s
        ),
        graphormer,
    ],
    ids=[
        "GINE",
        "GPS",
        "GatedGCN",
        "PNA",
        "GN",
        "sparse",
        "full",
        "GRIT",
        "NodeMLP",
        "Transformer",
        "Graphormer",
    ],
)


@each_kind_of_network
def test_empty_graphs_at_the_end_have_a_prediction_without_ptr(build) -> None:
    network, batch = build().eval(), batch_of("path", "no nodes")
    expected = network(batch)
    del batch.ptr
    assert expected.shape == (2, 2)
    assert torch.equal(network(batch), expected)


@each_kind_of_network
def test_any_integer_type_of_edge_index_and_batch(build) -> None:
    network, batch = build(positional_encoders=[spe(16)]).eval(), batch_of("path", "complete", k=K)
    expected = network(batch)
    given = batch.edge_index = batch.edge_index.int()
    batch.batch = batch.batch.int()
    assert torch.equal(network(batch), expected)
    assert batch.edge_index is given


@pytest.mark.parametrize(
    ("edge_index", "message"),
    [
        (torch.tensor([[0, 6], [1, 0]]), "'edge_index' has node 6, but the batch has 6 nodes"),
        (torch.tensor([[0, -1], [1, 0]]), "'edge_index' has node -1"),
        (torch.tensor([[0.0, 1.0], [1.0, 0.0]]), r"\[2, 2\] of float32; it must be \[2, edges\]"),
        (torch.tensor([[0, 1], [1, 2], [2, 3]]), r"'edge_index' is \[3, 2\] of int64"),
        (torch.tensor([0, 1]), r"'edge_index' is \[2\] of int64"),
    ],
)
def test_edge_index_that_does_not_fit(edge_index: torch.Tensor, message: str) -> None:
    """Node -1 was silently the last one."""
    batch = batch_of("path")
    batch.edge_index, batch.edge_attr = edge_index, torch.zeros(2, dtype=torch.long)
    for network in (GINE(FEATURES, 1, 8, 1), GraphTransformer(FEATURES, 1, 8, 1, 2)):
        with pytest.raises(ValueError, match=message) as error:
            network(batch)
        assert "\n" not in str(error.value)


@each_kind_of_network
def test_too_few_rows_of_x_are_named(build) -> None:
    graph = batch_of("path")[0]
    graph.x = graph.x[:5]
    with pytest.raises(ValueError, match="'x' has 5 rows, but the batch has 6 nodes"):
        build()(Batch.from_data_list([graph]))
    del graph.num_nodes  # now x tells it
    with pytest.raises(ValueError, match="'edge_index' has node 5, but the batch has 5 nodes"):
        build()(Batch.from_data_list([graph]))


@pytest.mark.parametrize("rows", [1, 9])
def test_wrong_rows_of_edge_features_are_named(rows: int) -> None:
    """A single row was broadcast to all edges."""
    batch = batch_of("path")
    batch.edge_attr = batch.edge_attr[:rows]
    for network in (GINE(FEATURES, 1, 8, 1), GraphTransformer(FEATURES, 1, 8, 1, 2)):
        with pytest.raises(ValueError, match=f"'edge_attr' has {rows} rows.* 10 edges"):
            network(batch)


def test_missing_edge_features_are_named() -> None:
    """B39: edge_attr left out raised an AttributeError on None."""
    batch = batch_of("path")
    del batch.edge_attr
    for network in (GINE(FEATURES, 1, 8, 1), GraphTransformer(FEATURES, 1, 8, 1, 2)):
        with pytest.raises(ValueError, match="no 'edge_attr'"):
            network(batch)


def test_any_features() -> None:
    """B39: five float columns of x and one-dimensional float edge_attr; or nothing at all."""
    batch = batch_of("path", "complete")
    batch.x, batch.edge_attr = torch.randn(11, 5), torch.randn(30)
    features = Features(node_continuous=5, edge_continuous=1)
    for network in (
        GINE(features, 3, 8, 1),
        GraphTransformer(features, 3, 8, 1, 2),
        GraphTransformer(features, 3, 8, 1, 2, "full"),
    ):
        assert network(batch).shape == (2, 3)
    del batch.x, batch.edge_attr
    assert GINE(Features(), 3, 8, 1)(batch).shape == (2, 3)


def test_full_attention_ignores_edges() -> None:
    network = GraphTransformer(FEATURES, 1, 16, 2, 4, "full").eval()
    batch = batch_of("path", "complete")
    expected = network(batch)
    batch.edge_index, batch.edge_attr = batch.edge_index[:, :3], torch.tensor([1, 2, 3])
    assert torch.equal(network(batch), expected)


def test_full_attention_is_sparse_attention_on_the_complete_graph() -> None:
    full = GraphTransformer(FEATURES, 1, 16, 2, 4, "full").double().eval()
    sparse = GraphTransformer(FEATURES, 1, 16, 2, 4).double().eval()
    sparse.load_state_dict(full.state_dict())
    batch = batch_of("complete")
    batch.edge_attr = torch.zeros_like(batch.edge_attr)
    torch.testing.assert_close(full(batch), sparse(batch))


def test_encodings_are_added_to_the_embedded_nodes() -> None:
    batch = batch_of("path", "complete")
    linear = NodeEncoder(K, 8, "laplacian_eigenvector_pe", "AddLaplacianEigenvectorPE")

    class Bare(GraphNetwork):
        def propagate(self, x, data, layout, encodings):
            return x

    encoders = [linear, spe(8)]
    network = Bare(FEATURES, 8, 8, "graph", Readout("sum"), 2, encoders, torch.nn.Identity).eval()
    nodes = network.node_embedding(batch) + linear(batch) + network.positional_encoders[1](batch)
    expected = torch.stack([nodes[:6].sum(0), nodes[6:].sum(0)])
    torch.testing.assert_close(network(batch), expected)


def test_unused_edge_update_of_the_last_layer_is_frozen() -> None:
    """Distributed training waits for the gradient of every parameter that learns."""
    network = GraphTransformer(FEATURES, 1, 16, 2, 4)
    frozen = {name for name, p in network.named_parameters() if not p.requires_grad}
    assert frozen
    assert all(name.startswith("layers.1.edge_update.") for name in frozen)


def test_encoder_of_another_width_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"NodeEncoder has out_channels=8.*hidden_channels=16; make it 16"
    ):
        GINE(FEATURES, hidden_channels=16, positional_encoders=[NodeEncoder(3, 8)])


def test_encoder_of_another_level_is_refused() -> None:
    class EdgeEncoder(FieldEncoder):
        level = "edge"
        requires = ()
        out_channels = 16

        def forward(self, data):
            raise NotImplementedError

    with pytest.raises(
        ValueError, match="EdgeEncoder encodes edges, but a NodeMLP of level 'graph' has no use"
    ):
        NodeMLP(FEATURES, hidden_channels=16, positional_encoders=[EdgeEncoder()])


@pytest.mark.parametrize(
    ("encoders", "message"),
    [
        (spe(16), "positional_encoders is a SPE; it must be a list of encoders"),
        ("SPE", "positional_encoders is a str"),
        (
            [spe(16), torch.nn.Linear(3, 16)],
            r"positional_encoders\[1\] is a Linear; it must be an encoder, such as NodeEncoder",
        ),
        ([SPE], r"positional_encoders\[0\] is the class SPE"),
        ([None], r"positional_encoders\[0\] is a NoneType"),
    ],
)
def test_what_is_no_list_of_encoders_is_refused(encoders: object, message: str) -> None:
    with pytest.raises(TypeError, match=message) as error:
        GINE(FEATURES, hidden_channels=16, positional_encoders=encoders)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"attention": "linear"}, "attention is 'linear'"),
        ({"norm": "group"}, "norm is 'group'"),
        ({"readout": "median"}, "readout is 'median'"),
        ({"num_layers": 0}, "num_layers is 0"),
        ({"hidden_channels": 0}, "hidden_channels is 0"),
        ({"hidden_channels": 2, "heads": 2}, "hidden_channels is 2; it must be at least 4"),
        ({"hidden_channels": 3, "heads": 1}, "hidden_channels is 3; it must be at least 4"),
        ({"out_channels": 0}, "out_channels is 0"),
        ({"heads": 7}, r"heads is 7, which does not divide the 64 channels.*hidden_channels"),
        ({"heads": 0}, "heads is 0"),
    ],
)
def test_bad_arguments(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GraphTransformer(FEATURES, **arguments)


@pytest.mark.parametrize("name", ["out_channels", "hidden_channels", "num_layers"])
def test_bad_sizes_of_gine(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is 0; it must be an integer >= 1"):
        GINE(FEATURES, **{name: 0})


def test_smallest_graph_transformer() -> None:
    network = GraphTransformer(FEATURES, 1, hidden_channels=4, num_layers=1, heads=1)
    assert network(batch_of("path")).shape == (1, 1)


@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning"
)  # the new name came with jsonargparse 4.49
def test_built_from_a_configuration(tmp_path) -> None:
    config = tmp_path / "network.yaml"
    config.write_text(
        """
network:
  class_path: graphpe.nn.GraphTransformer
  init_args:
    features:
      node_categories: [28]
      edge_categories: [4]
    hidden_channels: 16
    num_layers: 2
    heads: 4
    attention: full
    positional_encoders:
      - class_path: graphpe.nn.SPE
        init_args: {k: 6, out_channels: 16, hidden_channels: 8, num_layers: 2}
      - class_path: graphpe.nn.EigenvectorEncoder
        init_args: {k: 6, out_channels: 16}
"""
    )
    parser = ArgumentParser()
    parser.add_argument("--config", action="config")
    parser.add_subclass_arguments(GraphNetwork, "network")
    settings = parser.parse_args([f"--config={config}"])
    network = parser.instantiate_classes(settings).network
    assert [type(encoder) for encoder in network.positional_encoders] == [SPE, EigenvectorEncoder]
    assert network(batch_of(k=6)).shape == (13, 1)
