"""Pooling of nodes."""

from __future__ import annotations

import pytest
import torch
from nn_batches import FEATURES, batch_of, graphs, largest_error
from torch_geometric.data import Batch
from torch_geometric.nn import AttentionalAggregation

from graphpe.nn import (
    GINE,
    AttentionReadout,
    GraphTransformer,
    NodeMLP,
    Readout,
    TokenReadout,
    Transformer,
)
from graphpe.nn.layout import GraphLayout, graph_layout
from graphpe.nn.readout import build_readout

KINDS = ("mean", "sum", "max", "attention")


def one_graph(n: int) -> GraphLayout:
    return GraphLayout(torch.zeros(n, dtype=torch.long), torch.tensor([0, n]))


@pytest.mark.parametrize(
    ("kind", "expected"), [("mean", [0, 0.5, 0, 2]), ("sum", [0, 1, 0, 2]), ("max", [0, 1, 0, 2])]
)
def test_graphs_without_nodes_keep_their_row(kind: str, expected: list[float]) -> None:
    layout = graph_layout(batch_of("no nodes", "two nodes", "no nodes", "one node"))
    pooled = Readout(kind)(torch.tensor([[0.0], [1.0], [2.0]]), layout)
    assert pooled[:, 0].tolist() == expected


@pytest.mark.parametrize("kind", KINDS)
def test_trailing_empty_graph(kind: str) -> None:
    layout = graph_layout(batch_of("one node", "no nodes"))
    pooled = build_readout(kind, 2)(torch.ones(1, 2), layout)
    assert pooled.tolist() == [[1, 1], [0, 0]]


@pytest.mark.parametrize("kind", KINDS)
def test_no_graphs_and_no_nodes(kind: str) -> None:
    layout = GraphLayout(torch.zeros(0, dtype=torch.long), torch.zeros(1, dtype=torch.long))
    assert build_readout(kind, 2)(torch.zeros(0, 2), layout).shape == (0, 2)


@pytest.mark.parametrize("kind", ["mean", "sum", "attention"])
def test_large_graphs_in_half_precision(kind: str) -> None:
    """In bfloat16, 256 + 1 is 256."""
    readout = build_readout(kind, 1).bfloat16()
    pooled = readout(torch.ones(1000, 1, dtype=torch.bfloat16), one_graph(1000))
    assert pooled.dtype == torch.bfloat16
    assert pooled.item() == pytest.approx(1000 if kind == "sum" else 1, rel=2**-8)


def test_unknown_readout_is_refused() -> None:
    with pytest.raises(ValueError, match="readout is 'median'"):
        Readout("median")
    with pytest.raises(ValueError, match=r"readout is 'median'; it must be 'mean', .* 'attention'"):
        build_readout("median", 8)


def test_attention_is_that_of_pyg() -> None:
    layout = graph_layout(batch_of("path", "no nodes", "complete", "one node", "no nodes"))
    readout = AttentionReadout(4).double()
    x = torch.randn(layout.num_nodes, 4).double()
    theirs = AttentionalAggregation(readout.gate)
    wanted = theirs(x, layout.batch, dim_size=layout.num_graphs)
    torch.testing.assert_close(readout(x, layout), wanted)


def test_attention_in_closed_form() -> None:
    """Logits log 1, log 3 weigh two nodes by 1/4 and 3/4; equal ones give the mean."""
    readout = AttentionReadout(1)
    with torch.no_grad():
        for parameter, value in zip(readout.gate.parameters(), (1.0, 0.0, 1.0), strict=True):
            parameter.fill_(value)
    layout = graph_layout(batch_of("two nodes"))
    x = torch.tensor([[0.0], [torch.tensor(3.0).log()]])
    torch.testing.assert_close(readout(x, layout), 0.75 * x[1:])
    torch.testing.assert_close(readout(x + 1, layout), 0.75 * x[1:] + 1)
    with torch.no_grad():
        readout.gate[2].weight.zero_()
    torch.testing.assert_close(readout(x, layout), x.mean(0, keepdim=True))


@pytest.mark.parametrize("sign", [1, -1])
def test_huge_logits_are_safe(sign: int) -> None:
    readout = AttentionReadout(1)
    with torch.no_grad():
        for parameter, value in zip(readout.gate.parameters(), (1.0, 0.0, sign), strict=True):
            parameter.fill_(value)
    layout = graph_layout(batch_of("two nodes", "path"))
    x = torch.tensor([[1e30], [2e30], [0.0], [1.0], [5.0], [2.0], [3.0], [4.0]], requires_grad=True)
    pooled = readout(x, layout)
    assert pooled[0].item() == pytest.approx(2e30 if sign > 0 else 1e30)
    pooled[1].sum().backward()
    assert x.grad.isfinite().all()


NETWORKS = {
    "GINE": lambda **s: GINE(FEATURES, 2, 16, 1, "layer", **s),
    "GraphTransformer": lambda **s: GraphTransformer(FEATURES, 2, 16, 1, 4, norm="layer", **s),
    "NodeMLP": lambda **s: NodeMLP(FEATURES, 2, 16, 1, **s),
    "Transformer": lambda **s: Transformer(FEATURES, 2, 16, 1, 4, **s),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_has_every_readout(name: str, kind: str) -> None:
    """Graphs do not see each other, and all parameters learn, at each level that has a readout."""
    every = list(graphs().values())
    for level in ("graph", "edge", "pair"):
        network = NETWORKS[name](level=level, readout=kind).double()
        together = network(Batch.from_data_list(every))
        apart = torch.cat([network(graph) for graph in every])
        assert largest_error(apart, together) < 1e-9
        together.square().sum().backward()
        for parameter_name, parameter in network.named_parameters():
            if parameter.requires_grad:
                assert parameter.grad is not None, parameter_name
                assert parameter.grad.isfinite().all(), parameter_name
    nodes = NETWORKS[name](level="node", readout=kind)
    assert not [key for key in nodes.state_dict() if "readout" in key]


@pytest.mark.parametrize("name", NETWORKS)
def test_unknown_readout_of_a_network(name: str) -> None:
    for readout in ("median", 3):
        with pytest.raises(ValueError, match=f"readout is {readout!r}; it must be 'mean'"):
            NETWORKS[name](readout=readout)


def test_token_is_the_row_after_the_nodes() -> None:
    layout = graph_layout(batch_of("two nodes", "no nodes", "one node"))
    x = torch.arange(6.0)[:, None]
    assert TokenReadout()(x, layout).flatten().tolist() == [3, 4, 5]
