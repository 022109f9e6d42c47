"""AddDistanceDecayPE: ALiBi on a path, generalised Gaussians, and pairs that no path joins."""

from __future__ import annotations

import networkx
import pytest
import torch
from graph_zoo import from_networkx, graph, random_graphs
from hypothesis import given
from torch_geometric.data import Data

from graphpe.testing import check_encoding
from graphpe.transforms.distances import AddShortestPathPE
from graphpe.transforms.sequence.distance_decay import AddDistanceDecayPE

INSTANCES = [
    AddDistanceDecayPE(),
    AddDistanceDecayPE(2, exponent=1.5, scales=[1, 4.5], cap=3),
]


@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: AddDistanceDecayPE) -> None:
    check_encoding(encoding)


def test_a_path_has_the_biases_of_alibi() -> None:
    """Slopes 1/2, 1/4, ..., 1/256 for 8 heads, as the paper says, and 2^(-8/n) on for n heads."""
    n = 12
    index = torch.arange(n)
    apart = (index[:, None] - index).abs().flatten().double()
    path = from_networkx(networkx.path_graph(n))
    encoded = AddDistanceDecayPE(8, dtype="float64")(path).distance_decay_pe
    for head in range(8):
        torch.testing.assert_close(encoded[:, head], -apart / 2 ** (head + 1))
    encoded = AddDistanceDecayPE(16, dtype="float64")(path).distance_decay_pe
    torch.testing.assert_close(encoded[:, 0], -apart / 2**0.5)


@given(random_graphs(max_nodes=12, directed=True))
def test_the_definition_on_any_graph(data: Data) -> None:
    hops = AddShortestPathPE(99)(data).shortest_path_pe.double()
    encoding = AddDistanceDecayPE(2, exponent=0.5, scales=(1.0, 4.0), dtype="float64")
    wanted = torch.cat([-(hops**0.5), -((hops / 4) ** 0.5)], dim=1)
    wanted[hops[:, 0] == 100] = -1e4
    torch.testing.assert_close(encoding(data).distance_decay_pe, wanted)


def test_pairs_that_no_path_joins() -> None:
    data = graph(6, [(0, 1), (1, 2), (2, 3), (3, 4)])
    masked = AddDistanceDecayPE(1, scales=[2.0])(data).distance_decay_pe.view(6, 6)
    assert masked[0].tolist() == [0, -0.5, -1, -1.5, -2, -1e4]
    assert torch.softmax(masked[0], 0)[5] == 0
    capped = AddDistanceDecayPE(1, scales=[2.0], cap=3)(data).distance_decay_pe.view(6, 6)
    assert capped[0].tolist() == [0, -0.5, -1, -1.5, -1.5, -1.5]


def test_the_bias_is_finite_in_half_precision_whatever_the_settings() -> None:
    path = from_networkx(networkx.path_graph(200))
    for exponent in (3.0, 300.0):
        encoded = AddDistanceDecayPE(2, exponent=exponent, scales=[0.01, 1.0])(path)
        assert float(encoded.distance_decay_pe.min()) == -1e4
        assert torch.isfinite(encoded.distance_decay_pe.half()).all()


def test_the_query_is_the_first_node_of_a_directed_edge() -> None:
    data = graph(2, [(0, 1)], directed=True)
    assert AddDistanceDecayPE(1, scales=[1])(data).distance_decay_pe.flatten().tolist() == [
        0,
        -1,
        -1e4,
        0,
    ]


def test_b19_a_graph_too_large_for_pairs_is_told_what_it_would_take() -> None:
    with pytest.raises(ValueError, match=r"9,000 nodes .* GiB; take AddLandmarkDistancePE instead"):
        AddDistanceDecayPE()(graph(9000))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"heads": 0}, "heads is 0"),
        ({"exponent": 0}, "exponent is 0"),
        ({"cap": -1}, "cap is -1"),
        ({"cap": 10**40}, "cap is 10+; it must be a finite number > 0 and < 1e"),
        ({"heads": 2, "scales": (1.0,)}, r"scales is \(1.0,\); it must be a list of 2 numbers"),
        ({"heads": 2, "scales": (1.0, 0.0)}, r"scales\[1\] is 0.0"),
        ({"attr_name": None}, "cannot be concatenated to x"),
    ],
)
def test_bad_settings(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AddDistanceDecayPE(**settings)
