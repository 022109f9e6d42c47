"""AddRandomFeaturesPE: its distributions, and draws that depend on the graph alone."""

from __future__ import annotations

import pytest
import scipy.stats
import torch
from graph_zoo import graph, zoo
from torch_geometric.data import Batch

from graphpe.testing import check_encoding
from graphpe.transforms.random_features import AddRandomFeaturesPE

INSTANCES = [
    AddRandomFeaturesPE(4),
    AddRandomFeaturesPE(3, distribution="uniform", dense_limit=7),
    AddRandomFeaturesPE(80, distribution="one-hot", seed=4),
]


@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: AddRandomFeaturesPE) -> None:
    check_encoding(encoding)


@pytest.mark.parametrize(("distribution", "law"), [("normal", "norm"), ("uniform", "uniform")])
def test_distribution(distribution: str, law: str) -> None:
    data = graph(400, [(i, i + 1) for i in range(399)])
    values = AddRandomFeaturesPE(20, distribution=distribution, dtype="float64")(data)
    assert scipy.stats.kstest(values.random_features_pe.flatten(), law).pvalue > 1e-3


def test_rademacher() -> None:
    values = AddRandomFeaturesPE(50, distribution="rademacher")(graph(100)).random_features_pe
    assert set(values.unique().tolist()) == {-1.0, 1.0}
    assert abs(float(values.mean())) < 0.05


def test_one_hot_identifiers_are_distinct_and_dealt_at_random() -> None:
    encoding = AddRandomFeaturesPE(60, distribution="one-hot")
    batch = encoding(Batch.from_data_list(list(zoo().values())))
    for data in batch.to_data_list():
        values = data.random_features_pe
        assert torch.equal(values @ values.t(), torch.eye(data.num_nodes))
    first = [AddRandomFeaturesPE(60, distribution="one-hot", seed=s)(graph(2)) for s in range(300)]
    counts = torch.stack([data.random_features_pe[0] for data in first]).sum(0)
    assert scipy.stats.chisquare(counts).pvalue > 1e-3


def test_too_few_identifiers() -> None:
    encoding = AddRandomFeaturesPE(4, distribution="one-hot")
    with pytest.raises(ValueError, match=r"graph 1 has 5 nodes, but .*set channels to"):
        encoding(Batch.from_data_list([graph(4), graph(5)]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"channels": 0}, "channels is 0"),
        ({"distribution": "gauss"}, "distribution is 'gauss'"),
        ({"seed": 1.5}, r"seed is 1\.5"),
    ],
)
def test_bad_settings(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AddRandomFeaturesPE(**{"channels": 2, **settings})
