"""The network of Graph Network blocks."""

from __future__ import annotations

import pytest
import torch
from jsonargparse import ArgumentParser
from nn_batches import FEATURES, batch_of, graphs, largest_error
from torch_geometric.data import Batch

from graphpe.nn import (
    EncodeProcessDecode,
    Encodings,
    FieldEncoder,
    FieldRequirement,
    GraphNetwork,
    graph_layout,
)

DEEP_SETS = {
    "edge_inputs": None,
    "node_inputs": ["nodes", "globals"],
    "global_inputs": ["nodes"],
}
INTERACTION_NETWORK = {
    "edge_inputs": ["edges", "senders", "receivers"],
    "node_inputs": ["nodes", "received_edges"],
    "global_inputs": None,
    "readout": "mean",
}
RELATION_NETWORK = {
    "edge_inputs": ["senders", "receivers"],
    "node_inputs": None,
    "global_inputs": ["edges"],
}
SETTINGS = {
    "all": {},
    "pooled nodes": {"readout": "attention"},
    "deep sets": DEEP_SETS,
    "interaction network": INTERACTION_NETWORK,
    "relation network": RELATION_NETWORK,
    "edges only into globals": {"node_inputs": ["nodes", "globals"]},
    "edges stay": {"edge_inputs": None},
    "edges twice new": {"edge_inputs": ["globals", "senders"], "node_inputs": ["globals"]},
    "globals stay": {"global_inputs": None, "readout": "sum"},
}
each_setting = pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("readout", ["global", "mean"])
def test_is_its_blocks_one_after_the_other(shared: bool, readout: str) -> None:
    model = EncodeProcessDecode(FEATURES, 2, 16, 3, shared, readout=readout).double()
    batch = batch_of()
    layout = graph_layout(batch)
    x = model.node_embedding(batch)
    edge = model.edge_vectors.embedding(batch)
    u = model.global_vector.repeat(batch.num_graphs, 1)
    assert len(model.blocks) == (1 if shared else 3)
    for number in range(3):
        block = model.blocks[0 if shared else number]
        new = block(x, edge, u, batch.edge_index, layout)
        is_last_of_many = number == 2 and not shared
        x, edge = x + new[0], edge + new[1]
        if readout == "mean" and is_last_of_many:
            assert new[2] is u  # nobody reads it
        else:
            u = u + new[2]
    rows = torch.cat([x, u]) if readout == "global" else x
    expected = model.head(rows, batch, layout, Encodings())
    torch.testing.assert_close(model(batch), expected)


@each_setting
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("num_layers", [1, 3])
@pytest.mark.parametrize("level", ["graph", "node", "pair"])
def test_every_parameter_learns(settings: dict, shared: bool, num_layers: int, level: str) -> None:
    """What the head doesn't depend on isn't built: distributed training would wait for its gradients."""
    model = EncodeProcessDecode(FEATURES, 2, 16, num_layers, shared, level=level, **settings)
    model(batch_of()).square().sum().backward()
    without = [name for name, p in model.named_parameters() if p.grad is None]
    assert not without


@pytest.mark.parametrize("read", ["received_edges", "sent_edges"])
def test_nodes_read_the_new_edges_of_the_last_block_too(read: str) -> None:
    settings = {**INTERACTION_NETWORK, "node_inputs": ["nodes", read]}
    model = EncodeProcessDecode(FEATURES, 2, 16, 3, **settings)
    assert all(block.edge_update is not None for block in model.blocks)
    assert all(block.global_update is None for block in model.blocks)
    assert model.global_vector is None


@pytest.mark.parametrize("read", ["edges", "nodes"])
def test_globals_read_the_new_edges_and_nodes_of_the_last_block(read: str) -> None:
    model = EncodeProcessDecode(FEATURES, 2, 16, 3, global_inputs=[read], node_inputs=["nodes"])
    last = model.blocks[-1]
    assert (last.edge_update is not None) == (read == "edges")
    assert (last.node_update is not None) == (read == "nodes")


@each_setting
def test_a_graph_alone_equals_the_graph_in_a_batch(settings: dict) -> None:
    model = EncodeProcessDecode(FEATURES, 2, 16, 2, **settings).double().eval()
    every = list(graphs().values())
    together = model(Batch.from_data_list(every))
    for number, graph in enumerate(every):
        assert largest_error(model(graph), together[number : number + 1]) < 1e-9


def test_deep_sets_do_not_see_edges() -> None:
    model, batch = EncodeProcessDecode(FEATURES, 1, 16, 2, **DEEP_SETS).eval(), batch_of("path")
    expected = model(batch)
    batch.edge_index = batch.edge_index[:, :2]
    del batch.edge_attr
    assert torch.equal(model(batch), expected)


def test_directions_matter_only_to_a_network_that_tells_them_apart() -> None:
    path = batch_of("path")
    path.x = torch.zeros_like(path.x)
    keep = path.edge_index[0] < path.edge_index[1]
    path.edge_index, path.edge_attr = path.edge_index[:, keep], torch.zeros(5, dtype=torch.long)
    for inputs, differs in ((["nodes", "sent_edges", "received_edges"], True), (["nodes"], False)):
        settings = {"node_inputs": inputs, "level": "node", "global_inputs": None}
        settings["edge_inputs"] = ["edges", "senders", "receivers"]
        out = EncodeProcessDecode(FEATURES, 1, 16, 2, readout="mean", **settings).eval()(path)
        assert (largest_error(out[:1], out[-1:]) > 1e-4) == differs


class EdgeNumbers(FieldEncoder):
    level = "edge"
    role = "add"
    requires = (FieldRequirement("edge_numbers", "edge", 3, "AddNumbers"),)
    out_channels = 3

    def forward(self, data):
        return data.edge_numbers


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"global_inputs": ["globals"]}, r"global_inputs=\['globals'\].*doesn't depend on nodes"),
        ({"global_inputs": None}, "global_inputs=None.*readout='global' make an output"),
        ({"shared_core": 1}, "shared_core is 1"),
        ({"num_layers": 0}, "num_layers is 0"),
        ({"readout": "cls"}, "readout is 'cls'"),
        ({"norm": "group"}, "norm is 'group'"),
        ({"dropout": 1}, "dropout is 1"),
        ({"edge_inputs": ["nodes"]}, r"edge_inputs is \['nodes'\]; it must be a list of some of"),
        ({"edges_to_nodes": "first"}, "edges_to_nodes is 'first', which PyG can't"),
        (
            {**DEEP_SETS, "positional_encoders": [EdgeNumbers()]},
            "read no edges, but there are encoders of edges",
        ),
    ],
)
def test_bad_arguments(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        EncodeProcessDecode(FEATURES, **settings)
    assert "\n" not in str(error.value)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # as in test_networks.py
def test_built_from_a_configuration(tmp_path) -> None:
    config = tmp_path / "network.yaml"
    config.write_text(
        """
network:
  class_path: graphpe.nn.EncodeProcessDecode
  init_args:
    features: {node_categories: [28], edge_categories: [4]}
    hidden_channels: 16
    num_layers: 2
    shared_core: true
    edge_inputs: [edges, senders]
    node_inputs: [nodes, received_edges]
    global_inputs: null
    edges_to_nodes: [mean, max]
    readout: attention
"""
    )
    parser = ArgumentParser()
    parser.add_argument("--config", action="config")
    parser.add_subclass_arguments(GraphNetwork, "network")
    settings = parser.parse_args([f"--config={config}"])
    network = parser.instantiate_classes(settings).network
    assert network.blocks[0].received_edges.out_channels == 32
    assert network(batch_of()).shape == (13, 1)
