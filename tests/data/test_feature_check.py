"""Declared features against the graphs."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data, InMemoryDataset

from graphpe import Features
from graphpe.data.feature_check import check_features


def graph(x: torch.Tensor | None, edge_attr: torch.Tensor | None) -> Data:
    edges = 0 if edge_attr is None else len(edge_attr)
    return Data(x=x, edge_index=torch.zeros(2, edges, dtype=torch.long), edge_attr=edge_attr)


class Stored(InMemoryDataset):
    def __init__(self, graphs: list[Data]) -> None:
        super().__init__()
        self.data, self.slices = self.collate(graphs)


GRAPHS = [
    graph(torch.tensor([[0, 1], [2, 0]]), torch.tensor([0.5, 1.0])),
    graph(torch.zeros(0, 2, dtype=torch.long), torch.zeros(0)),
    graph(torch.tensor([[1, 3]]), torch.tensor([0.25])),
]
FITTING = Features(node_categories=(3, 4), edge_continuous=1)


@pytest.mark.parametrize("kind", [list, Stored])
def test_fitting_features(kind: type) -> None:
    check_features(FITTING, kind(GRAPHS))
    check_features(Features(), kind(GRAPHS))


@pytest.mark.parametrize("kind", [list, Stored, lambda graphs: Stored(graphs)[torch.arange(3)]])
@pytest.mark.parametrize(
    ("features", "message"),
    [
        (
            Features(node_categories=(3, 3)),
            r"x of graph 2 has the value 3 in column 1, but features.node_categories\[1\] is 3, for values 0 to 2",
        ),
        (Features(node_categories=(2, 4)), "x of graph 0 has the value 2 in column 0"),
        (
            Features(node_categories=(3,)),
            "x has 2 columns, but features.node_categories has 1 entries",
        ),
        (
            Features(node_continuous=2),
            "x is torch.int64, but features.node_continuous wants floats",
        ),
        (Features(edge_continuous=2), "edge_attr has 1 columns, but features.edge_continuous is 2"),
        (
            Features(edge_categories=(2,)),
            "edge_attr is torch.float32, but features.edge_categories wants integers",
        ),
    ],
)
def test_features_that_do_not_fit(kind: type, features: Features, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        check_features(features, kind(GRAPHS))
    assert "\n" not in str(error.value)


def test_booleans_are_two_categories() -> None:
    """As in `FeatureEmbedding`."""
    graphs = [graph(torch.tensor([[True], [False]]), None)]
    check_features(Features(node_categories=(2,)), graphs)
    with pytest.raises(ValueError, match="x of graph 0 has the value 1 in column 0"):
        check_features(Features(node_categories=(1,)), graphs)
    with pytest.raises(ValueError, match=r"x is torch.bool, but features.node_continuous wants"):
        check_features(Features(node_continuous=1), graphs)


def test_negative_category() -> None:
    with pytest.raises(ValueError, match="x of graph 0 has the value -1"):
        check_features(Features(node_categories=(3,)), [graph(torch.tensor([-1]), None)])


@pytest.mark.parametrize("kind", [list, Stored])
def test_absent_attribute(kind: type) -> None:
    graphs = [graph(torch.ones(2, 1), None), graph(torch.ones(1, 1), None)]
    with pytest.raises(
        ValueError, match="graph 0 has no edge_attr, for which features are declared"
    ):
        check_features(Features(node_continuous=1, edge_categories=(3,)), kind(graphs))


def test_attribute_absent_in_one_graph() -> None:
    graphs = [graph(torch.ones(2, 1), torch.ones(1)), graph(torch.ones(1, 1), None)]
    with pytest.raises(ValueError, match="graph 1 has no edge_attr"):
        check_features(Features(edge_continuous=1), graphs)


# --- ordinal columns ------------------------------------------------------------------------------

PLACES = [graph(torch.tensor([[0, 10**12]]), None), graph(torch.tensor([[3, 0], [7, 1]]), None)]


@pytest.mark.parametrize("kind", [list, Stored])
def test_ordinal_columns_have_no_largest_number(kind: type) -> None:
    check_features(Features(node_ordinal=2), kind(PLACES))
    with pytest.raises(ValueError, match=r"x has 2 columns, but features\.node_ordinal is 3"):
        check_features(Features(node_ordinal=3), kind(PLACES))


@pytest.mark.parametrize("kind", [list, Stored, lambda graphs: Stored(graphs)[torch.arange(2)]])
def test_negative_ordinal(kind: type) -> None:
    graphs = [PLACES[0], graph(torch.tensor([[3, 0], [7, -2]]), None)]
    with pytest.raises(
        ValueError,
        match=r"x of graph 1 has the value -2 in column 1, but features\.node_ordinal wants whole numbers from 0 on",
    ) as error:
        check_features(Features(node_ordinal=2), kind(graphs))
    assert "\n" not in str(error.value)


def test_ordinal_wants_integers() -> None:
    graphs = [graph(torch.ones(2, 1), None)]
    with pytest.raises(
        ValueError, match=r"x is torch\.float32, but features\.node_ordinal wants integers"
    ):
        check_features(Features(node_ordinal=1), graphs)


@pytest.mark.parametrize("kind", [list, Stored])
def test_absent_ordinal(kind: type) -> None:
    graphs = [Data(num_nodes=2), Data(num_nodes=1)]
    with pytest.raises(ValueError, match="graph 0 has no x"):
        check_features(Features(node_ordinal=1), kind(graphs))
