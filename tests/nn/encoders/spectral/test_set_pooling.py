"""From the columns of a node to one vector."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from nn_batches import largest_error
from torch import Tensor
from torch_geometric.data import Data

from graphpe.nn.columns import NodeColumns, node_columns
from graphpe.nn.encoders.spectral.set_pooling import ColumnPooling
from graphpe.nn.layout import graph_layout

TOLERANCE = 1e-9
POOLINGS = ("concatenate", "sum", "deepsets", "transformer")


def pooling(kind: str) -> ColumnPooling:
    return ColumnPooling(kind, 6, 3, 8, 5, 2, "layer", set_layers=2, heads=2).double()


def columns_of(graphs: list[tuple[int, int]]) -> tuple[Tensor, NodeColumns]:
    """Random columns of graphs with these numbers of nodes and columns."""
    sizes, counts = torch.tensor(graphs, dtype=torch.long).view(-1, 2).t()
    batch = torch.repeat_interleave(torch.arange(len(graphs)), sizes)
    ptr = torch.tensor([0, *sizes.cumsum(0).tolist()])
    layout = graph_layout(Data(num_nodes=len(batch), batch=batch, ptr=ptr))
    columns = node_columns(layout, counts)
    return torch.randn(len(columns), 3, dtype=torch.float64), columns


def pool_one_node(rho: ColumnPooling, x: Tensor) -> Tensor:
    """The vector of a node from its columns ``[c, 3]``, from the formulas."""
    if rho.kind == "concatenate":
        return rho.mlp(torch.cat([x.flatten(), x.new_zeros((rho.k - len(x)) * x.size(1))])[None])
    for layer in rho.layers:
        if not len(x):
            return rho.mlp(x.new_zeros(1, 8))
        if rho.kind == "deepsets":
            weights = layer.layer
            x = (weights.own(x) + x.mean(0) @ weights.mean.weight.t()).relu()
        elif isinstance(layer, torch.nn.Linear):
            x = x @ layer.weight.t() + layer.bias
        else:
            x = attend(layer, x)
    return rho.mlp(x.sum(0, keepdim=True))


def attend(layer: torch.nn.Module, x: Tensor) -> Tensor:
    heads = []
    parts = [part.chunk(layer.heads, dim=1) for part in layer.project(x).chunk(3, dim=1)]
    for query, key, value in zip(*parts, strict=True):
        logits = query @ key.t() / query.size(1) ** 0.5
        heads.append(torch.softmax(logits, dim=1) @ value)
    x = layer.attention_norm(x + layer.output(torch.cat(heads, dim=1)))
    return layer.norm(x + layer.feed_forward(x))


@settings(max_examples=25)
@given(
    st.sampled_from(POOLINGS),
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), max_size=6),
)
def test_equals_the_formula_node_by_node(kind: str, graphs: list[tuple[int, int]]) -> None:
    rho = pooling(kind)
    x, columns = columns_of(graphs)
    got = rho(x, columns)
    assert got.shape == (len(columns.start), 5)
    for node, row in enumerate(got):
        expected = pool_one_node(rho, x[columns.source == node])[0]
        assert largest_error(row, expected) < TOLERANCE


@pytest.mark.parametrize("kind", ["sum", "deepsets", "transformer"])
def test_sums_do_not_see_the_order_of_columns(kind: str) -> None:
    rho = pooling(kind)
    x, columns = columns_of([(4, 6)])
    shuffled = x.view(4, 6, 3)[:, torch.randperm(6)].reshape(24, 3)
    assert largest_error(rho(shuffled, columns), rho(x, columns)) < TOLERANCE


@pytest.mark.parametrize("kind", ["deepsets", "transformer"])
def test_columns_see_each_other(kind: str) -> None:
    """The sum is not one of functions of a column alone."""
    rho = pooling(kind)
    x, columns = columns_of([(1, 2)])
    other = x.clone()
    other[1] += 1
    first = [rho.layers[0](v, columns) for v in (x, other)]
    for layer in rho.layers[1:]:
        first = [layer(v, columns) for v in first]
    assert largest_error(first[0][0], first[1][0]) > 1e-3


def test_more_nodes_than_an_attention_kernel_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    rho = pooling("transformer")
    x, columns = columns_of([(7, 3), (2, 0), (6, 3), (4, 5)])
    expected = rho(x, columns)
    monkeypatch.setattr("graphpe.nn.encoders.spectral.set_pooling._MOST_NODES", 5)
    assert largest_error(rho(x, columns), expected) < TOLERANCE


@pytest.mark.parametrize("kind", POOLINGS)
def test_no_columns_at_all(kind: str) -> None:
    """Every parameter has a gradient, if a zero one, as training on several machines needs."""
    rho = pooling(kind)
    x, columns = columns_of([(2, 0), (0, 3)])
    rho(x, columns).sum().backward()
    assert all(parameter.grad is not None for parameter in rho.parameters())


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="rho is 'mean'; it must be 'concatenate'"):
        pooling("mean")
    with pytest.raises(ValueError, match="heads is 3, which does not divide hidden_channels=8"):
        ColumnPooling("transformer", 6, 3, 8, 5, 2, "layer", heads=3)
