"""Heads: one output per graph, per node or per pair of nodes."""

from __future__ import annotations

from typing import ClassVar

import pytest
import torch
from nn_batches import FEATURES, batch_of, count_parameters
from torch import Tensor

from graphpe.fields import Field
from graphpe.nn import (
    GINE,
    FieldEncoder,
    GraphHead,
    GraphTransformer,
    NodeHead,
    NodeMLP,
    PairEncoder,
    PairHead,
    Readout,
    TokenReadout,
    Transformer,
    graph_layout,
)

NAMES = ("path", "no nodes", "one node", "complete", "two nodes", "no nodes")
SIZES = (6, 0, 1, 5, 2, 0)
PAIRS = sum(n * n for n in SIZES)


def pair_encoder(width: int, out_channels: int) -> PairEncoder:
    return PairEncoder(width, out_channels, "relation", "AddRelation")


class EdgeEncoder(FieldEncoder):
    level = "edge"
    requires: ClassVar = ()
    out_channels = 16

    def forward(self, data):
        raise NotImplementedError


def by_concatenation(head: PairHead, x: Tensor, graphs: Tensor, encodings: list[Tensor]) -> Tensor:
    """The head as its formula says, pair after pair."""
    rows, start, pair = [], 0, 0
    for number, n in enumerate(SIZES):
        for u in range(n):
            for v in range(n):
                parts = [x[start + u], x[start + v], graphs[number], *(w[pair] for w in encodings)]
                y = torch.nn.functional.linear(torch.cat(parts), head.first.weight, head.first.bias)
                rows.append(head.rest(y))
                pair += 1
        start += n
    return torch.stack(rows)


@pytest.mark.parametrize("readout", ["mean", "sum", "cls"])
@pytest.mark.parametrize("widths", [(), (3,), (3, 1)])
@pytest.mark.parametrize("num_layers", [1, 2, 4])
def test_pair_head_is_a_perceptron_of_the_concatenation(
    readout: str, widths: tuple[int, ...], num_layers: int
) -> None:
    layout = graph_layout(batch_of(*NAMES))
    module = TokenReadout() if readout == "cls" else Readout(readout)
    head = PairHead(module, 4, 2, num_layers, widths).double()
    x = torch.randn(layout.num_nodes + (len(SIZES) if readout == "cls" else 0), 4).double()
    encodings = [torch.randn(PAIRS, width).double() for width in widths]
    expected = by_concatenation(head, x, module(x, layout), encodings)
    torch.testing.assert_close(head(x, layout, encodings), expected)


def test_layers_of_the_pair_head() -> None:
    head = PairHead(Readout("mean"), 8, 3, num_layers=3, pair_channels=(5,))
    kinds = [type(module).__name__ for module in head.rest]
    assert kinds == ["LayerNorm", "ReLU", "Linear"] * 2
    assert count_parameters(head) == (29 * 8 + 8) + 16 + (8 * 8 + 8) + 16 + (8 * 3 + 3)


def test_many_pairs_are_mapped_in_blocks_of_rows() -> None:
    layout = graph_layout(batch_of(*["grid, larger"] * 6))
    head, x = PairHead(Readout("mean"), 8, 3, 3).double(), torch.randn(180, 8).double()
    whole = head.rest(head._apply_first(x, layout, ()))
    assert whole.shape == (5400, 3)
    torch.testing.assert_close(head(x, layout), whole)


def test_pair_head_never_holds_the_concatenation() -> None:
    layout = graph_layout(batch_of("grid, larger"))
    head, x = PairHead(Readout("mean"), 8, 1, 2, (5,)), torch.randn(30, 8, requires_grad=True)
    held: list[tuple[int, ...]] = []

    def note(tensor: Tensor) -> Tensor:
        held.append(tuple(tensor.shape))
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        head(x, layout, [torch.randn(900, 5)])
    assert (900, 8) in held
    assert not [shape for shape in held if len(shape) == 2 and shape[0] == 900 and shape[1] > 8]


def test_node_head_maps_nodes_alone() -> None:
    layout = graph_layout(batch_of(*NAMES))
    head = NodeHead(torch.nn.Linear(4, 2))
    x = torch.randn(layout.num_nodes + 6, 4)
    assert torch.equal(head(x, layout), head.network(x[:-6]))


def test_graph_head_pools_first() -> None:
    layout = graph_layout(batch_of(*NAMES))
    head, x = GraphHead(Readout("sum"), torch.nn.Linear(4, 2)), torch.randn(layout.num_nodes, 4)
    expected = head.network(torch.stack([rows.sum(0) for rows in x.split(SIZES)]))
    torch.testing.assert_close(head(x, layout), expected)


NETWORKS = {
    "GINE": lambda **s: GINE(FEATURES, 2, 16, 1, "layer", **s),
    "GraphTransformer": lambda **s: GraphTransformer(FEATURES, 2, 16, 1, 4, norm="layer", **s),
    "NodeMLP": lambda **s: NodeMLP(FEATURES, 2, 16, 1, **s),
    "Transformer": lambda **s: Transformer(FEATURES, 2, 16, 1, 4, **s),
}
each_network = pytest.mark.parametrize("name", NETWORKS)


@each_network
@pytest.mark.parametrize(("level", "rows"), [("graph", 6), ("node", 14), ("pair", PAIRS)])
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
    if name != "Transformer":  # where a pair changes the attention of its graph
        assert gradient[:7].abs().sum() == gradient[8:].abs().sum() == 0
    out.sum().backward()
    assert all(p.grad.isfinite().all() for p in network.positional_encoders.parameters())


@pytest.mark.parametrize("level", ["graph", "node"])
@pytest.mark.parametrize("name", ["GINE", "GraphTransformer", "NodeMLP"])
def test_encoder_of_pairs_at_another_level_is_refused(name: str, level: str) -> None:
    message = f"PairEncoder encodes pairs, but a {name} of level '{level}' has no use for them"
    with pytest.raises(ValueError, match=message) as error:
        NETWORKS[name](level=level, positional_encoders=[pair_encoder(3, 16)])
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["NodeMLP", "Transformer"])
def test_encoder_of_edges_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="EdgeEncoder encodes edges"):
        NETWORKS[name](level="pair", positional_encoders=[EdgeEncoder()])


@each_network
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"level": "edge"}, "level is 'edge'; it must be 'graph', 'node' or 'pair'"),
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
