"""`To`: fields at another level."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from graph_zoo import graph, random_graphs, zoo
from hypothesis import given
from numbers_encoding import Numbers
from torch_geometric.data import Batch, Data

from graphpe import Field
from graphpe.testing import check_encoding
from graphpe.transforms import (
    AddLaplacianEigenvectorPE,
    AddRandomWalkPE,
    AddRelativeRandomWalkPE,
    To,
)

POOLS = {
    "mean": np.mean,
    "sum": np.sum,
    "min": np.min,
    "max": np.max,
    "std": np.std,
}


INSTANCES = [
    To(Numbers(), "edge", "difference"),
    To(Numbers(), "pair", "concatenation"),
    To(Numbers(), "graph", "statistics", field="numbers_own"),
    To(Numbers(), "node", "diagonal", field="numbers_pair", attr_name="own_name"),
    To(Numbers(), "node", "statistics", field="numbers_pair"),
    To(Numbers(), "edge", "entry", field="numbers_category"),
    To(Numbers(), "graph", "std", field="numbers_pair"),
    To(Numbers(), "node", "statistics", field="numbers_edge"),
    To(Numbers(), "pair", "sum", field="numbers_edge"),
    To(Numbers(), "graph", "max", field="numbers_edge"),
    To(Numbers(), "pair", "copy", field="numbers_graph"),
    To(AddRandomWalkPE(6), "graph", "mean"),
    To(AddLaplacianEigenvectorPE(3), "edge", "difference"),
]


@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: To) -> None:
    check_encoding(encoding)


def moved(data: Data, field: str, level: str, reduce: str) -> np.ndarray:
    encoding = To(Numbers(dtype="float64"), level, reduce, "moved", field)
    return encoding(data).moved.numpy()


def pooled(rows: np.ndarray, reduce: str) -> np.ndarray:
    if reduce == "statistics":
        return np.concatenate([pooled(rows, name) for name in ("mean", "std", "min", "max")])
    return POOLS[reduce](rows, axis=0) if len(rows) else np.zeros(rows.shape[1])


@given(random_graphs(max_nodes=8, directed=True))
def test_the_table_of_moves(data: Data) -> None:
    encoded = Numbers(dtype="float64")(data)
    n = data.num_nodes
    edges = data.edge_index.t().tolist()
    node, edge = encoded.numbers_own.numpy(), encoded.numbers_edge.numpy()
    pair, graph_ = encoded.numbers_pair.numpy().reshape(n, n, 2), encoded.numbers_graph.numpy()
    for reduce in (*POOLS, "statistics"):
        wanted = {
            ("numbers_pair", "node"): [pooled(pair[i], reduce) for i in range(n)],
            ("numbers_pair", "graph"): [pooled(pair.reshape(-1, 2), reduce)],
            ("numbers_own", "graph"): [pooled(node, reduce)],
            ("numbers_edge", "graph"): [pooled(edge, reduce)],
            ("numbers_edge", "node"): [
                pooled(edge[[e for e, (u, _) in enumerate(edges) if u == i]], reduce)
                for i in range(n)
            ],
        }
        for (field, level), values in wanted.items():
            np.testing.assert_allclose(moved(data, field, level, reduce), values, atol=1e-9)
    np.testing.assert_array_equal(
        moved(data, "numbers_pair", "node", "diagonal"), pair[range(n), range(n)]
    )
    grid = [(u, v) for u in range(n) for v in range(n)]
    for level, ends in (("edge", edges), ("pair", grid)):
        u, v = np.array(ends, dtype=int).reshape(-1, 2).T
        np.testing.assert_array_equal(
            moved(data, "numbers_own", level, "difference"), node[v] - node[u]
        )
        np.testing.assert_array_equal(
            moved(data, "numbers_own", level, "concatenation"), np.hstack([node[u], node[v]])
        )
        copies = np.repeat(graph_, len(ends), axis=0)
        np.testing.assert_array_equal(moved(data, "numbers_graph", level, "copy"), copies)
    u, v = np.array(edges, dtype=int).reshape(-1, 2).T
    np.testing.assert_array_equal(moved(data, "numbers_pair", "edge", "entry"), pair[u, v])
    scattered = np.zeros((n, n, 1))
    np.add.at(scattered, (u, v), edge)
    np.testing.assert_allclose(moved(data, "numbers_edge", "pair", "sum"), scattered.reshape(-1, 1))


def test_names_dtypes_and_categories_are_declared() -> None:
    encoding = To(Numbers(), "edge", "entry", field="numbers_category")
    (field,) = encoding.fields()
    assert field == Field("numbers_category_edge_entry", "edge", 1, torch.int64, categories=9)
    encoded = encoding(Batch.from_data_list(list(zoo().values())))
    assert encoded.numbers_category_edge_entry.unique().tolist() == [1]
    assert "numbers_category" not in encoded
    assert To(Numbers(dtype="float64"), "graph", "mean").fields()[0].dtype == torch.float64
    assert To(Numbers(), "graph", "mean", dtype="float64").encoding.dtype == "float64"
    (field,) = To(AddLaplacianEigenvectorPE(3), "edge", "difference").fields()
    assert field.symmetry == "basis"


def test_columns_that_a_small_graph_lacks_are_padded_before_the_move() -> None:
    encoding = To(AddLaplacianEigenvectorPE(4), "edge", "concatenation", "ends")
    assert encoding(graph(2, [(0, 1)])).ends.shape == (2, 8)


def test_concatenated_to_x() -> None:
    data = graph(3, [(0, 1)])
    data.x = torch.zeros(3, 1)
    encoding = To(Numbers(), "node", "diagonal", None, "numbers_pair")
    assert encoding(data).x.tolist() == [[0, 0, 2], [0, 0, 2], [0, 0, 1]]


BAD = [
    (lambda: To(AddRandomWalkPE(2), "node", "mean"), "level is 'node'; random_walk_pe is a node"),
    (lambda: To(AddRandomWalkPE(2), "edge", "mean"), "reduce is 'mean'; from node to edge it must"),
    (lambda: To(Numbers(), "node", "mean", field="nothing"), "field is 'nothing', but Numbers"),
    (lambda: To(Numbers(), "node", "mean", field="numbers_category"), "holds categories"),
    (lambda: To(AddLaplacianEigenvectorPE(2), "graph", "max"), "free up to its basis"),
    (lambda: To(AddRandomWalkPE(2, None), "edge", "difference"), "give attr_name=None to To"),
    (lambda: To(AddRandomWalkPE(2), "edge", "difference", None), "cannot be concatenated to x"),
]


@pytest.mark.parametrize(("make", "message"), BAD)
def test_moves_that_mean_nothing_are_refused(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_only_an_encoding_can_be_moved() -> None:
    with pytest.raises(
        TypeError, match="encoding is the class AddRandomWalkPE; it must be an encoding"
    ):
        To(AddRandomWalkPE, "edge", "difference")


def test_a_pair_level_is_always_dense() -> None:
    encoding = To(AddRandomWalkPE(2, dense_limit=2), "pair", "difference")
    assert encoding(graph(4, [(0, 1)])).random_walk_pe_pair_difference.shape == (16, 2)


def test_a_move_can_be_moved_and_does_not_change_the_number_of_nodes() -> None:
    data = Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    twice = To(To(AddRelativeRandomWalkPE(4), "node", "diagonal"), "graph", "mean")
    assert twice(data).num_nodes == 3
    assert [field.name for field in twice.fields()] == [
        "relative_random_walk_pe_diagonal_graph_mean"
    ]
