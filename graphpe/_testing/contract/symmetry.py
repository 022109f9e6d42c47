"""Checks of equivariance: other numbers for the nodes, another order of the edges."""

from __future__ import annotations

import torch
from torch import Tensor

from graphpe._testing.contract.graphs import SmallGraph
from graphpe._testing.contract.values import Values, keep_agreement
from graphpe.fields import Field

Orders = tuple[list[int], list[int]]


def check_node_order(values: Values, graph: SmallGraph) -> None:
    """Renumbering the nodes renumbers the values."""
    orders = other_node_order(graph)
    _check_order(
        values,
        graph,
        orders,
        "the encoding is permutation equivariant",
        f" after renumbering (new node i is node {orders[0]}[i])",
    )


def check_edge_order(values: Values, graph: SmallGraph) -> None:
    """Another order of the edges leaves the values; those of edges follow their edges."""
    orders = other_edge_order(graph)
    _check_order(
        values,
        graph,
        orders,
        "the order of the edges does not matter, and rows of edge fields follow their edges",
        f" after reordering the edges (new edge i is edge {orders[1]}[i])",
    )


def other_node_order(graph: SmallGraph) -> Orders:
    """Another order for the nodes, the same for the edges."""
    return _shuffled(graph.num_nodes), list(range(len(graph.edges()[0])))


def other_edge_order(graph: SmallGraph) -> Orders:
    """The same order for the nodes, another for the edges."""
    return list(range(graph.num_nodes)), _shuffled(len(graph.edges()[0]))


def _shuffled(count: int) -> list[int]:
    """An order that depends on the count alone and is another one if there is one."""
    order = torch.randperm(count, generator=torch.Generator().manual_seed(count)).tolist()
    return order if order != sorted(order) else order[::-1]


def _check_order(
    values: Values, graph: SmallGraph, orders: Orders, promise: str, when: str
) -> None:
    before, after = values.of(graph), values.of(graph.reordered(*orders))
    for field, value, got in zip(values.encoding.fields(), before, after, strict=True):
        wanted = _reordered_rows(value, field, *orders)
        keep_agreement(promise, field, graph, got, wanted, when)


def _reordered_rows(
    value: Tensor, field: Field, node_order: list[int], edge_order: list[int]
) -> Tensor:
    if field.level == "node":
        return value[node_order]
    if field.level == "edge":
        return value[edge_order]
    if field.level == "pair":
        n = len(node_order)
        return value.view(n, n, *field.row_shape)[node_order][:, node_order].flatten(0, 1)
    return value
