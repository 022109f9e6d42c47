"""The sparse operators are those of the transforms."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphpe.linalg.walks.propagation import PropagationOperator, propagation_matrix
from graphpe.nn import BasisPEARL, RandomFeaturePropagation, RandomPEARL, graph_layout
from graphpe.nn.encoders.random_features.operators import check_operators, fixed_operator

OPERATORS = get_args(PropagationOperator)


def data(n: int, edges: list[tuple[int, int]], weight: list[float] | None = None) -> Data:
    graph = Data(num_nodes=n, edge_index=torch.tensor(edges, dtype=torch.long).view(-1, 2).t())
    if weight is not None:
        graph.edge_weight = torch.tensor(weight, dtype=torch.float64)
    return graph


EDGES = [(0, 1), (1, 0), (1, 2), (1, 2), (2, 2), (3, 1), (0, 3)]
GRAPHS = {
    "directed, parallel, loops, an isolated node": data(5, EDGES),
    "no edges": data(3, []),
    "one node": data(1, []),
    "no nodes": data(0, []),
    "undirected": data(4, [(0, 1), (1, 0), (1, 2), (2, 1)]),
    "loop": data(1, [(0, 0)]),
}
WEIGHTED = data(5, EDGES, [1.5, 0.0, 2.0, 0.25, 3.0, 1.0, 0.0])


def dense_operator(graph: Data, operator: str) -> Tensor:
    n = graph.num_nodes
    adjacency = torch.zeros(1, n, n, dtype=torch.float64)
    weight = graph.get("edge_weight")
    for number, (u, v) in enumerate(graph.edge_index.t().tolist()):
        adjacency[0, u, v] += 1 if weight is None else weight[number]
    if operator != "walk":
        transposed = adjacency.mT
        adjacency = (
            torch.maximum(adjacency, transposed) if weight is None else (adjacency + transposed) / 2
        )
    return propagation_matrix(adjacency, operator)[0]


@pytest.mark.parametrize("operator", OPERATORS)
def test_operators(operator: str) -> None:
    batch = Batch.from_data_list(list(GRAPHS.values()))
    expected = torch.block_diag(*(dense_operator(graph, operator) for graph in GRAPHS.values()))
    matrix = fixed_operator(batch, graph_layout(batch), operator, torch.float64)
    identity = torch.eye(batch.num_nodes, dtype=torch.float64)
    torch.testing.assert_close(matrix @ identity, expected, atol=1e-14, rtol=0)
    torch.testing.assert_close(matrix @ identity[:, :, None], expected[:, :, None])


@pytest.mark.parametrize("operator", OPERATORS)
def test_weights(operator: str) -> None:
    matrix = fixed_operator(WEIGHTED, graph_layout(WEIGHTED), operator, torch.float64)
    got = matrix @ torch.eye(5, dtype=torch.float64)
    torch.testing.assert_close(got, dense_operator(WEIGHTED, operator), atol=1e-14, rtol=0)
    column = WEIGHTED.clone()
    column.edge_weight = WEIGHTED.edge_weight[:, None]
    matrix = fixed_operator(column, graph_layout(column), operator, torch.float64)
    assert torch.equal(matrix @ torch.eye(5, dtype=torch.float64), got)


@pytest.mark.parametrize("operator", OPERATORS)
def test_gradient_of_weights_is_finite(operator: str) -> None:
    graph = WEIGHTED.clone()
    graph.edge_weight.requires_grad_()
    matrix = fixed_operator(graph, graph_layout(graph), operator, torch.float64)
    (matrix @ torch.randn(5, 2, dtype=torch.float64)).square().sum().backward()
    assert bool(graph.edge_weight.grad.isfinite().all())


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0, -1.0], "negative or infinite entries or NaN; give finite weights >= 0"),
        ([1.0, float("nan")], "negative or infinite entries or NaN"),
        ([1.0, float("inf")], "negative or infinite entries or NaN"),
        ([1.0], r"'edge_weight' is \[1\], but there are 2 edges; give one number per edge"),
    ],
)
def test_bad_weights(weight: list[float], message: str) -> None:
    graph = data(2, [(0, 1), (1, 0)], weight)
    with pytest.raises(ValueError, match=message):
        fixed_operator(graph, graph_layout(graph), "sym", torch.float64)


def test_names() -> None:
    check_operators(*OPERATORS)
    with pytest.raises(ValueError, match="operator is 'rw'; it must be 'sym', 'sym-loops'"):
        check_operators("sym", "rw")


EXTREMES = [1e-45, 1e-39, 1e-30, 1.0, 1e30, 1e38]


@pytest.mark.parametrize("operator", ["sym", "laplacian", "walk"])
@pytest.mark.parametrize("size", EXTREMES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_the_unit_of_weights_does_not_matter(
    operator: str, size: float, dtype: torch.dtype
) -> None:
    """Degrees of tiny weights had infinite inverses, and sums of large ones were infinite."""
    graph = data(5, EDGES)
    graph.edge_weight = torch.full((len(EDGES),), size)
    layout = graph_layout(graph)
    got = fixed_operator(graph, layout, operator, dtype)
    graph.edge_weight = torch.ones(len(EDGES))
    expected = fixed_operator(graph, layout, operator, dtype)
    torch.testing.assert_close(got.value, expected.value)
    assert got.value.dtype == dtype


@pytest.mark.parametrize("size", EXTREMES)
def test_encoders_of_extreme_weights_are_finite(size: float) -> None:
    graph = data(5, EDGES)
    graph.edge_weight = torch.full((len(EDGES),), size)
    encoders = [
        RandomPEARL(4, num_layers=1),
        BasisPEARL(4, num_layers=1),
        RandomFeaturePropagation(4, operators=OPERATORS, heads=2),
    ]
    for encoder in encoders:
        output = encoder(graph)
        output.square().sum().backward()
        assert bool(output.isfinite().all())
        assert all(bool(p.grad.isfinite().all()) for p in encoder.parameters())


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0] * 7, "'edge_weight' is a list, no torch tensor"),
        (np.ones(7), "'edge_weight' is a ndarray, no torch tensor"),
        ("ones", "'edge_weight' is a str, no torch tensor"),
        (
            torch.ones(7, dtype=torch.complex64),
            "'edge_weight' is torch.complex64; give real numbers",
        ),
        (torch.ones(1, 7), r"'edge_weight' is \[1, 7\], but there are 7 edges"),
        (torch.full((7,), 1e308, dtype=torch.float64), "sum of 'edge_weight' is not finite"),
    ],
    ids=["list", "numpy", "text", "complex", "row", "sum"],
)
def test_weights_of_another_kind(weight: object, message: str) -> None:
    """A list ended in an AttributeError, and imaginary parts were dropped."""
    graph = data(5, EDGES)
    graph["edge_weight"] = weight
    for encoder in (
        RandomPEARL(4, num_layers=1),
        RandomFeaturePropagation(4, operators=(), heads=1),
    ):
        with pytest.raises(ValueError, match=message):
            encoder(graph)


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.uint8, torch.float16])
def test_weights_of_any_real_kind(dtype: torch.dtype) -> None:
    graph = data(5, EDGES)
    graph.edge_weight = torch.ones(7, dtype=dtype)
    got = fixed_operator(graph, graph_layout(graph), "sym", torch.float32)
    graph.edge_weight = torch.ones(7)
    expected = fixed_operator(graph, graph_layout(graph), "sym", torch.float32)
    assert torch.equal(got.value, expected.value)
