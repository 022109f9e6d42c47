"""Levels of networks: one output per graph, per node, per edge or per pair of nodes."""

from __future__ import annotations

import pytest
import torch
from nn_batches import FEATURES, batch_of
from torch import Tensor
from torch_geometric.data import Data

from graphpe.fields import Field
from graphpe.nn import (
    GINE,
    FieldEncoder,
    GraphTransformer,
    NodeMLP,
    PairEncoder,
    Transformer,
    graph_layout,
)
from graphpe.nn.encoders.base import FieldRequirement, Role

NAMES = ("path", "no nodes", "one node", "complete", "two nodes", "no nodes")
PAIRS = sum(n * n for n in (6, 0, 1, 5, 2, 0))
EDGES = 10 + 0 + 0 + 20 + 2 + 0


def pair_encoder(width: int, out_channels: int) -> PairEncoder:
    return PairEncoder(width, out_channels, "relation", "AddRelation")


class EdgeEncoder(FieldEncoder):
    """Passes a field of edges on."""

    level = "edge"

    def __init__(self, role: Role = "add", width: int = 3) -> None:
        super().__init__()
        self.role = role
        self.out_channels = width
        self.requires = (FieldRequirement("flow", "edge", width, "AddFlow"),)

    def forward(self, data: Data) -> Tensor:
        (flow,) = self.read(data, graph_layout(data))
        return flow


NETWORKS = {
    "GINE": lambda **s: GINE(FEATURES, 2, 16, 1, "layer", **s),
    "GraphTransformer": lambda **s: GraphTransformer(FEATURES, 2, 16, 1, 4, norm="layer", **s),
    "full": lambda **s: GraphTransformer(FEATURES, 2, 16, 1, 4, "full", norm="layer", **s),
    "NodeMLP": lambda **s: NodeMLP(FEATURES, 2, 16, 1, **s),
    "Transformer": lambda **s: Transformer(FEATURES, 2, 16, 1, 4, **s),
}
each_network = pytest.mark.parametrize("name", NETWORKS)


@each_network
@pytest.mark.parametrize(
    ("level", "rows"), [("graph", 6), ("node", 14), ("edge", EDGES), ("pair", PAIRS)]
)
def test_rows_of_each_level(name: str, level: str, rows: int) -> None:
    network = NETWORKS[name](level=level)
    assert network.level == level
    assert network(batch_of(*NAMES)).shape == (rows, 2)
    nothing = network(batch_of("no nodes", "no nodes"))
    assert nothing.shape == (2 if level == "graph" else 0, 2)
    nothing.sum().backward()


@each_network
def test_the_perceptron_of_graphs_maps_nodes(name: str) -> None:
    """A node alone in its graph is its readout."""
    network = NETWORKS[name](level="graph").eval()
    nodes = NETWORKS[name](level="node").eval()
    weights = {key: value for key, value in network.state_dict().items() if "readout" not in key}
    nodes.load_state_dict(weights)
    batch = batch_of("one node", "one node with a loop")
    torch.testing.assert_close(nodes(batch), network(batch))


@each_network
def test_encodings_of_pairs_reach_the_head(name: str) -> None:
    network = NETWORKS[name](level="pair", positional_encoders=[pair_encoder(3, 5)])
    batch = batch_of(*NAMES)
    batch.relation = torch.randn(PAIRS, 3, requires_grad=True)
    out = network(batch)
    (gradient,) = torch.autograd.grad(out[7].sum(), batch.relation, retain_graph=True)
    assert gradient[7].abs().sum() > 0
    if name not in ("Transformer", "full"):  # where a pair changes the attention of its graph
        assert gradient[:7].abs().sum() == gradient[8:].abs().sum() == 0
    out.sum().backward()
    assert all(p.grad.isfinite().all() for p in network.positional_encoders.parameters())


@each_network
def test_encodings_of_edges_reach_the_head(name: str) -> None:
    """Of any network; those that do nothing else with them let an edge see its own alone."""
    for role in ("add", "gate"):
        network = NETWORKS[name](
            level="edge", positional_encoders=[EdgeEncoder(role), EdgeEncoder(role)]
        )
        batch = batch_of(*NAMES)
        batch.flow = torch.randn(EDGES, 3, requires_grad=True)
        out = network(batch)
        (gradient,) = torch.autograd.grad(out[12].sum(), batch.flow, retain_graph=True)
        assert gradient[12].abs().sum() > 0
        assert gradient[:10].abs().sum() == gradient[30:].abs().sum() == 0  # of other graphs
        if not network.reads_edge_encodings or name == "full":
            assert gradient[10:12].abs().sum() == gradient[13:].abs().sum() == 0
        out.sum().backward()
        for parameter_name, parameter in network.named_parameters():
            assert not parameter.requires_grad or parameter.grad is not None, parameter_name


@each_network
def test_encoders_of_edges_may_come_in_any_order(name: str) -> None:
    encoders = [EdgeEncoder("gate", 2), EdgeEncoder("add", 3)]
    encoders[0].requires = (FieldRequirement("gate", "edge", 2, "AddGate"),)
    network = NETWORKS[name](level="edge", positional_encoders=encoders)
    batch = batch_of(*NAMES)
    batch.flow, batch.gate = torch.randn(EDGES, 3), torch.randn(EDGES, 2)
    assert network(batch).shape == (EDGES, 2)


@each_network
@pytest.mark.parametrize("level", ["graph", "node", "edge", "pair"])
def test_some_rows_are_as_among_all(name: str, level: str) -> None:
    """Values and gradients, in training, of some rows and of none."""
    encoders = {"edge": [EdgeEncoder()], "pair": [pair_encoder(3, 5)]}
    network = NETWORKS[name](level=level, positional_encoders=encoders.get(level)).double()
    batch = batch_of(*NAMES)
    batch.flow, batch.relation = torch.randn(EDGES, 3).double(), torch.randn(PAIRS, 3).double()
    every = network(batch)
    parameters = [p for p in network.parameters() if p.requires_grad]
    for rows in (torch.tensor([0, 2, 5]), torch.tensor([], dtype=torch.long)):
        some = network(batch, rows)
        torch.testing.assert_close(some, every[rows])
        gradients, wanted = (
            torch.autograd.grad(out.square().sum(), parameters, retain_graph=True)
            for out in (some, every[rows])
        )
        for found, expected in zip(gradients, wanted, strict=True):
            torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("level", ["edge", "pair"])
def test_other_rows_of_edges_and_pairs_take_no_memory(level: str) -> None:
    network, batch = NETWORKS["NodeMLP"](level=level), batch_of(*["grid, larger"] * 6)
    held: list[int] = []

    def note(tensor: Tensor) -> Tensor:
        if tensor.is_floating_point():
            held.append(len(tensor))
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        assert network(batch, torch.arange(7)).shape == (7, 2)
    assert max(held) <= 180  # nodes


@each_network
def test_parallel_edges_are_told_apart_by_their_features(name: str) -> None:
    network = NETWORKS[name](level="edge").eval()
    batch = batch_of("parallel edges")
    assert batch.edge_index[:, 0].tolist() == batch.edge_index[:, 1].tolist()
    batch.edge_attr = torch.tensor([1, 1, 0, 2, 0, 3, 3, 1])
    out = network(batch)
    assert torch.equal(out[0], out[1])
    batch.edge_attr = torch.tensor([1, 3, 0, 2, 0, 3, 3, 1])
    out = network(batch)
    assert not torch.allclose(out[0], out[1])


@each_network
def test_directions_of_an_edge_are_two_rows(name: str) -> None:
    network = NETWORKS[name](level="edge").eval()
    batch = batch_of("two nodes")
    assert batch.edge_index.tolist() == [[0, 1], [1, 0]]
    batch.edge_attr = torch.tensor([2, 2])
    batch.x = torch.tensor([[0], [5]])
    first, second = network(batch)
    assert not torch.allclose(first, second)


@pytest.mark.parametrize("level", ["graph", "node", "edge"])
@pytest.mark.parametrize("name", ["GINE", "GraphTransformer", "NodeMLP"])
def test_encoder_of_pairs_at_another_level_is_refused(name: str, level: str) -> None:
    message = (
        f"PairEncoder encodes pairs, but a {name} (of level '{level}'|with attention='sparse') "
    )
    with pytest.raises(ValueError, match=message) as error:
        NETWORKS[name](level=level, positional_encoders=[pair_encoder(3, 16)])
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["NodeMLP", "Transformer"])
def test_encoder_of_edges_at_another_level_is_refused(name: str) -> None:
    message = f"EdgeEncoder encodes edges, but a {name} of level 'pair' has no use .*level 'edge'"
    with pytest.raises(ValueError, match=message):
        NETWORKS[name](level="pair", positional_encoders=[EdgeEncoder()])


def test_full_attention_takes_encoders_of_edges_for_the_head_alone() -> None:
    with pytest.raises(ValueError, match=r"attention='full' doesn't use them; .* level 'edge'"):
        NETWORKS["full"](level="graph", positional_encoders=[EdgeEncoder()])
    network = NETWORKS["full"](level="edge", positional_encoders=[EdgeEncoder()])
    assert not list(network.edge_encodings.parameters())


@each_network
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"level": "hop"}, "level is 'hop'; it must be 'graph', 'node', 'edge' or 'pair'"),
        ({"pair_layers": 0}, "pair_layers is 0; it must be an integer >= 1"),
        ({"level": "pair", "pair_layers": -1}, "pair_layers is -1"),
    ],
)
def test_bad_arguments(name: str, arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NETWORKS[name](**arguments)


@each_network
def test_fields_of_pairs_are_checked(name: str) -> None:
    network = NETWORKS[name](level="pair", positional_encoders=[pair_encoder(3, 5)])
    network.check_fields({"relation": Field("relation", "pair", 3)})
    with pytest.raises(ValueError, match=r"PairEncoder needs the field 'relation'.*AddRelation"):
        network.check_fields({})
    with pytest.raises(ValueError, match="'relation' has 4 columns"):
        network.check_fields({"relation": Field("relation", "pair", 4)})
