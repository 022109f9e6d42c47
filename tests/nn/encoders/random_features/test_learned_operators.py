"""Attention along the edges as an operator."""

from __future__ import annotations

import math

import torch
from torch_geometric.data import Batch, Data

from graphpe.nn import graph_layout
from graphpe.nn.encoders.random_features.learned_operators import AttentionOperators

EDGES = torch.tensor([[0, 0, 1, 3, 2, 2, 3], [1, 1, 2, 2, 2, 0, 0]])
WEIGHT = torch.tensor([1.0, 2.0, 0.5, 0.0, 1.0, 3.0, 1.0], dtype=torch.float64)


def batch(weighted: bool) -> Batch:
    graphs = [
        Data(num_nodes=4, edge_index=EDGES),
        Data(num_nodes=2, edge_index=torch.zeros(2, 0, dtype=torch.long)),
    ]
    if weighted:
        graphs[0].edge_weight = WEIGHT
        graphs[1].edge_weight = WEIGHT[:0]
    return Batch.from_data_list(graphs)


def operators(channels: int = 3, heads: int = 2) -> AttentionOperators:
    module = AttentionOperators(channels, heads).double()
    torch.nn.init.normal_(module.loop_score)
    return module


@torch.no_grad()
def test_formula() -> None:
    torch.manual_seed(0)
    module = operators()
    for weighted in (False, True):
        data = batch(weighted)
        weight = WEIGHT if weighted else torch.ones_like(WEIGHT)
        x = torch.randn(6, 1, 2, 3, dtype=torch.float64)
        scale = torch.rand(6, dtype=torch.float64)
        got = module(x, scale, module.entries(data, graph_layout(data), torch.float64))
        for head in range(2):
            degree = [0.0] * 6
            for v, w in zip(EDGES[1].tolist(), weight.tolist(), strict=True):
                degree[v] += w
            z = [
                torch.cat([x[v, 0, head] * scale[v], x.new_tensor([math.log1p(degree[v]), 1])])
                for v in range(6)
            ]
            for v in range(6):
                incoming = [
                    (u, w, 0.0)
                    for u, t, w in zip(*EDGES.tolist(), weight.tolist(), strict=True)
                    if t == v
                ] + [(v, 1.0, module.loop_score[head].item())]
                score = [
                    w
                    * math.exp(
                        (z[v] @ module.query[head]) @ (z[u] @ module.key[head]) / 3**0.5 + loop
                    )
                    for u, w, loop in incoming
                ]
                expected = sum(
                    s / sum(score) * x[u, 0, head]
                    for s, (u, _, _) in zip(score, incoming, strict=True)
                )
                torch.testing.assert_close(got[v, 0, head], expected)


def test_rows_sum_to_one() -> None:
    module = operators()
    data = batch(weighted=True)
    entries = module.entries(data, graph_layout(data), torch.float64)
    x = torch.randn(6, 3, 2, 3, dtype=torch.float64)
    attention = module.attention(x, torch.ones(6, dtype=torch.float64), entries)
    sums = torch.zeros(6, 3, 2, dtype=torch.float64).index_add(0, entries.row, attention)
    torch.testing.assert_close(sums, torch.ones_like(sums))
    assert not attention[3].any()  # the edge of weight 0
    ones = torch.ones_like(x)
    torch.testing.assert_close(module(ones, torch.ones(6, dtype=torch.float64), entries), ones)


def test_parallel_edges_are_one_edge_of_the_summed_weight() -> None:
    module = operators()
    two = Data(num_nodes=2, edge_index=torch.tensor([[0, 0], [1, 1]]))
    one = Data(num_nodes=2, edge_index=torch.tensor([[0], [1]]), edge_weight=torch.tensor([2.0]))
    x = torch.randn(2, 1, 2, 3, dtype=torch.float64)
    scale = torch.ones(2, dtype=torch.float64)
    results = [
        module(x, scale, module.entries(data, graph_layout(data), torch.float64))
        for data in (two, one)
    ]
    torch.testing.assert_close(*results)


def test_huge_score_of_an_edge_of_weight_zero() -> None:
    """The scores that count would all be rounded to zero next to it."""
    module = operators(1, 1)
    with torch.no_grad():
        module.query.copy_(torch.tensor([[[0.0], [0.0], [1.0]]]))  # the constant
        module.key.copy_(torch.tensor([[[1.0], [0.0], [0.0]]]))  # the feature
    data = batch(weighted=True)
    entries = module.entries(data, graph_layout(data), torch.float64)
    x = torch.zeros(6, 1, 1, 1, dtype=torch.float64)
    x[3] = 1e4  # which sends an edge of weight 0 to node 2
    x.requires_grad_()
    output = module(x, torch.ones(6, dtype=torch.float64), entries)
    output.square().sum().backward()
    assert float(output.detach()[2]) == 0
    assert bool(output.isfinite().all())
    assert bool(x.grad.isfinite().all())
    assert all(bool(p.grad.isfinite().all()) for p in module.parameters())


def test_gradient() -> None:
    module = operators(2, 1)
    data = batch(weighted=True)
    entries = module.entries(data, graph_layout(data), torch.float64)
    x = torch.randn(6, 1, 1, 2, dtype=torch.float64, requires_grad=True)
    scale = torch.ones(6, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda value: module(value, scale, entries), x)


def test_weights_of_very_different_sizes() -> None:
    """The loop of weight 1 has by far the largest score, and next to it a weight of 1e38."""
    module = operators(1, 1)
    with torch.no_grad():
        module.query.zero_()
        module.key.zero_()
        module.loop_score.fill_(300.0)
    edges = torch.tensor([[0, 1], [1, 0]])
    for size, share in ((1e38, 0.0), (1e-300, 0.0), (math.exp(300), 0.5)):
        weight = torch.full((2,), size, dtype=torch.float64)
        data = Data(num_nodes=2, edge_index=edges, edge_weight=weight)
        entries = module.float().entries(data, graph_layout(data), torch.float32)
        x = torch.ones(2, 1, 1, 1)
        attention = module.attention(x, torch.ones(2), entries).detach().flatten()
        expected = torch.tensor([share, share, 1 - share, 1 - share])
        torch.testing.assert_close(attention, expected, atol=1e-4, rtol=0)
