"""Attention along edges and those of an expander."""

from __future__ import annotations

import pytest
import torch
from nn_batches import batch_of, largest_error
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphpe._testing.small_graphs import small_graphs
from graphpe.nn import graph_layout
from graphpe.nn.attention import AttentionPlaces, ExpanderAttention
from graphpe.nn.attention.expander_edges import expander_edges

CHANNELS, HEADS, EDGE_CHANNELS = 8, 2, 3
KINDS = {
    "plain": {},
    "edges": {"edge_channels": EDGE_CHANNELS},
    "virtual nodes": {"virtual_nodes": 2, "edge_channels": EDGE_CHANNELS},
    "max": {"softmax": "max", "virtual_nodes": 1},
}
each_kind = pytest.mark.parametrize("settings", KINDS.values(), ids=list(KINDS))
with_tokens = pytest.mark.parametrize("tokens", [False, True])


def every_graph() -> list[Data]:
    graphs = list(small_graphs().values())
    for graph in graphs:
        graph.features = torch.randn(graph.num_nodes, CHANNELS, dtype=torch.float64)
        graph.edge_attr = torch.randn(graph.num_edges, EDGE_CHANNELS, dtype=torch.float64)
        graph.token = torch.randn(1, CHANNELS, dtype=torch.float64)
    return graphs


def rows_of(batch: Data, tokens: bool) -> Tensor:
    return torch.cat([batch.features, batch.token]) if tokens else batch.features


def places_of(attention: ExpanderAttention, batch: Data, tokens: bool) -> AttentionPlaces:
    edge = batch.edge_attr if attention.has_edge_vectors else None
    return AttentionPlaces(
        graph_layout(batch), tokens=tokens, edge_index=batch.edge_index, edge=edge
    )


def attend(attention: ExpanderAttention, batch: Data, tokens: bool = False) -> Tensor:
    return attention(rows_of(batch, tokens), places_of(attention, batch, tokens))


def attention_by_hand(attention: ExpanderAttention, graph: Data, tokens: bool) -> Tensor:
    """The formula for one graph, row by row, over a list of (source row, kind or vector of the edge)."""
    n, x = graph.num_nodes, rows_of(graph, tokens)
    edge, expander, to_global, from_global = attention.kinds
    incoming: list[list[tuple[Tensor, Tensor]]] = [[] for _ in x]
    for number, (j, i) in enumerate(graph.edge_index.t().tolist()):
        vector = graph.edge_attr[number] if attention.has_edge_vectors else edge
        incoming[i].append((x[j], vector))
    layout = graph_layout(graph)
    for j, i in expander_edges(layout, attention.degree, attention.seed).t().tolist():
        incoming[i].append((x[j], expander))
    if tokens:
        incoming[n] += [(row, to_global) for row in x[:n]]
        for i in range(n):
            incoming[i].append((x[n], from_global))
    for virtual in [] if attention.virtual is None else attention.virtual:
        seen = virtual + one_row(attention, virtual, [(row, to_global) for row in x[:n]])
        for i in range(n):
            incoming[i].append((seen, from_global))
    rows = [one_row(attention, *row) for row in zip(x, incoming, strict=True)]
    return attention.output(torch.stack(rows)) if rows else x


def one_row(
    attention: ExpanderAttention, x: Tensor, incoming: list[tuple[Tensor, Tensor]]
) -> Tensor:
    width, heads = CHANNELS // HEADS, []
    for head in range(HEADS):
        part = slice(head * width, (head + 1) * width)
        query = attention.query(x)[part]
        logits = [
            (query * attention.key(row)[part] * attention.edge(vector)[part]).sum() / width**0.5
            for row, vector in incoming
        ]
        total = torch.zeros(width, dtype=x.dtype)
        if incoming:
            stacked = torch.stack(logits)
            if attention.softmax == "clamp":
                stacked = stacked.clamp(-5, 5)
            values = torch.stack([attention.value(row)[part] for row, _ in incoming])
            total = torch.softmax(stacked, 0) @ values
        heads.append(total)
    return torch.cat(heads)


@each_kind
@with_tokens
def test_equals_the_formula(settings: dict, tokens: bool) -> None:
    attention = ExpanderAttention(CHANNELS, HEADS, degree=4, seed=1, **settings).double()
    with torch.no_grad():
        attention.query.weight *= 10  # so that some logits are clamped
    for graph in every_graph():
        expected = attention_by_hand(attention, graph, tokens)
        torch.testing.assert_close(attend(attention, graph, tokens), expected)


@each_kind
@with_tokens
def test_does_not_depend_on_other_graphs(settings: dict, tokens: bool) -> None:
    attention = ExpanderAttention(CHANNELS, HEADS, **settings).double()
    graphs = every_graph()
    batch = Batch.from_data_list(graphs)
    together = attend(attention, batch, tokens)
    for number, graph in enumerate(graphs):
        alone = attend(attention, graph, tokens)
        rows = torch.arange(batch.ptr[number], batch.ptr[number + 1])
        assert largest_error(alone[: len(rows)], together[rows]) < 1e-12
        if tokens:
            assert largest_error(alone[-1], together[batch.num_nodes + number]) < 1e-12


@each_kind
def test_gradients(settings: dict) -> None:
    attention = ExpanderAttention(CHANNELS, HEADS, **settings).double()
    for batch in (*every_graph(), Batch.from_data_list(every_graph())):
        attention.zero_grad()
        batch.features.requires_grad_()
        attend(attention, batch).square().sum().backward()
        assert batch.features.grad.isfinite().all()
        for name, parameter in attention.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.isfinite().all(), name


def test_another_numbering_is_like_another_seed() -> None:
    """Without the expander it would be equivariant."""
    attention = ExpanderAttention(CHANNELS, HEADS, degree=2).double()
    graph = batch_of("grid, larger")
    x = torch.randn(30, CHANNELS, dtype=torch.float64)
    new = torch.randperm(30)
    renumbered = torch.empty_like(x)
    renumbered[new] = x
    layout = graph_layout(graph)
    out = attention(x, AttentionPlaces(layout, edge_index=graph.edge_index))
    places = AttentionPlaces(layout, edge_index=new[graph.edge_index])
    assert largest_error(attention(renumbered, places)[new], out) > 1e-3


def test_sees_beyond_neighbours() -> None:
    """Edges reach one hop, the expander some more nodes, a virtual node all."""
    n = 60
    for settings, fewest, most in (({}, 4, 9), ({"virtual_nodes": 1}, n, n)):
        attention = ExpanderAttention(CHANNELS, HEADS, **settings).double()
        x = torch.randn(n, CHANNELS, dtype=torch.float64, requires_grad=True)
        edge_index = torch.stack([torch.arange(n - 1), torch.arange(1, n)])
        layout = graph_layout(Data(num_nodes=n))
        attention(x, AttentionPlaces(layout, edge_index=edge_index))[30].sum().backward()
        seen = int((x.grad.abs().sum(1) > 0).sum())
        assert fewest <= seen <= most


def test_dropout_only_in_training() -> None:
    attention, (*_, graph) = ExpanderAttention(CHANNELS, HEADS, dropout=0.5).double(), every_graph()
    assert not torch.equal(attend(attention, graph), attend(attention, graph))
    attention.eval()
    assert torch.equal(attend(attention, graph), attend(attention, graph))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"heads": 3}, "heads is 3, which does not divide the 8 channels"),
        ({"degree": 3}, "degree is 3; it must be even"),
        ({"degree": 0}, "degree is 0; it must be an integer >= 1"),
        ({"virtual_nodes": -1}, "virtual_nodes is -1; it must be an integer >= 0"),
        ({"seed": -1}, "seed is -1"),
        ({"dropout": 1.0}, "dropout is 1.0"),
        ({"softmax": "sum"}, "softmax is 'sum'"),
    ],
)
def test_bad_arguments(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        ExpanderAttention(**{"channels": 8, "heads": 2} | settings)
    assert "\n" not in str(error.value)
