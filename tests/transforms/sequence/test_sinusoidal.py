"""AddSinusoidalPE: the formula, and the positions it is of."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from graph_zoo import graph, zoo
from torch_geometric.nn import PositionalEncoding

from graphpe.testing import check_encoding
from graphpe.transforms.sequence import AddOrderedSubsetPE, AddSinusoidalPE

INSTANCES = [
    AddSinusoidalPE(8, dense_limit=7),
    AddSinusoidalPE(6, order="topological"),
    AddSinusoidalPE(4, maximum=500, seed=2),
    AddSinusoidalPE(4, maximum=10**9, dtype="float64"),
]


@pytest.mark.filterwarnings("ignore:some graphs have one topological generation")
@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: AddSinusoidalPE) -> None:
    check_encoding(encoding)


def test_the_formula() -> None:
    values = AddSinusoidalPE(6, dtype="float64")(zoo()["path"]).sinusoidal_pe
    for position in range(9):
        for pair in range(3):
            angle = position / 10_000 ** (2 * pair / 6)
            assert float(values[position, 2 * pair]) == pytest.approx(math.sin(angle))
            assert float(values[position, 2 * pair + 1]) == pytest.approx(math.cos(angle))


def test_the_same_numbers_as_pyg() -> None:
    """PyG has all sines first, and its last frequency is 1/10000."""
    values = AddSinusoidalPE(2, dtype="float64")(zoo()["path"]).sinusoidal_pe
    theirs = PositionalEncoding(4)(torch.arange(9.0))[:, [0, 2]]
    torch.testing.assert_close(values.float(), theirs)


def test_topological_generations() -> None:
    diamond = graph(4, [(3, 1), (3, 2), (1, 0), (2, 0)], directed=True)
    by_number = AddSinusoidalPE(8)(graph(4)).sinusoidal_pe
    by_generation = AddSinusoidalPE(8, order="topological")(diamond).sinusoidal_pe
    assert torch.equal(by_generation, by_number[[2, 1, 1, 0]])


def test_random_positions_are_those_of_the_ordered_subset() -> None:
    data = zoo()["hypercube"]
    random = AddOrderedSubsetPE(300, seed=3)(data).ordered_subset_pe.squeeze(1)
    table = AddSinusoidalPE(10)(graph(300)).sinusoidal_pe
    values = AddSinusoidalPE(10, maximum=300, seed=3)(data).sinusoidal_pe
    assert torch.equal(values, table[random])


def test_more_nodes_than_positions() -> None:
    with pytest.raises(ValueError, match=r"graph 0 has 9 positions.*maximum is 8"):
        AddSinusoidalPE(4, maximum=8)(zoo()["path"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"channels": 0}, "channels is 0"),
        ({"channels": 5}, "channels is 5; it must be even"),
        ({"order": "bfs"}, "order is 'bfs'"),
        ({"maximum": 0}, "maximum is 0"),
        ({"maximum": 10**30}, r"maximum is 10+; it must be an integer from 1 to"),
        ({"seed": -2}, "seed is -2"),
    ],
)
def test_bad_settings(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AddSinusoidalPE(**{"channels": 4, **settings})


def test_a_very_long_range_of_positions_takes_no_table() -> None:
    encoding = AddSinusoidalPE(4, maximum=2**40, dtype="float64", dense_limit=5)
    for data in (zoo()["path"], graph(3)):
        position = AddOrderedSubsetPE(2**40)(data).ordered_subset_pe.double().numpy()
        expected = np.hstack([np.sin(position), np.cos(position)])
        values = encoding(data).sinusoidal_pe.numpy()
        np.testing.assert_allclose(values[:, :2], expected, atol=1e-12)
