"""AddWalkProfilePE: powers by numpy on graphs with all their parallel edges, loops and weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from adjacency_oracle import adjacency_matrix
from graph_zoo import graph, random_graphs
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from graphpe.testing import check_encoding
from graphpe.transforms.walks import AddWalkProfilePE

INSTANCES = [AddWalkProfilePE(1), AddWalkProfilePE(4), AddWalkProfilePE(6, dtype="float64")]


@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: AddWalkProfilePE) -> None:
    check_encoding(encoding)


@given(random_graphs(max_nodes=8, directed=True), st.integers(1, 5))
def test_the_power_series_on_any_graph(data: Data, length: int) -> None:
    """The coefficients of (x A + Aᵀ)^l, evaluated at a few x."""
    n = data.num_nodes
    adjacency = adjacency_matrix(data)
    encoded = AddWalkProfilePE(length, dtype="float64")(data).walk_profile_pe.view(n, n, -1)
    first = 0
    for steps in range(1, length + 1):
        part = encoded[..., first : first + steps + 1].numpy()
        first += steps + 1
        for x in (-1.0, 0.0, 0.5, 1.0, 2.0, 3.0):
            wanted = np.linalg.matrix_power(x * adjacency + adjacency.T, steps)
            got = part @ x ** np.arange(steps + 1)
            scale = np.abs(part).max(initial=1.0) * 4**steps
            np.testing.assert_allclose(got, wanted, atol=1e-12 * scale)
    assert first == encoded.shape[-1]


def test_a_path_by_hand() -> None:
    data = graph(3, [(0, 1), (1, 2)], directed=True)
    pairs = AddWalkProfilePE(2)(data).walk_profile_pe.view(3, 3, 5)
    assert pairs[0, 1].tolist() == [0, 1, 0, 0, 0]  # forwards
    assert pairs[1, 0].tolist() == [1, 0, 0, 0, 0]  # backwards
    assert pairs[0, 2].tolist() == [0, 0, 0, 0, 1]  # twice forwards
    assert pairs[1, 1].tolist() == [0, 0, 0, 2, 0]  # out and back, at both sides


def test_float32_keeps_integers_up_to_two_to_the_24() -> None:
    data = graph(2, [(0, 1)] * 255, directed=True)
    wanted = AddWalkProfilePE(3, dtype="float64")(data.clone()).walk_profile_pe
    encoded = AddWalkProfilePE(3)(data).walk_profile_pe
    assert torch.equal(encoded.double(), wanted)
    assert float(wanted.max()) == 255**3  # there and back and there again, over parallel edges


def test_numbers_too_large_for_the_stored_dtype_are_refused() -> None:
    data = graph(2, [(0, 1)], [1e30], directed=True)
    batch = Batch.from_data_list([graph(2, [(0, 1)], [1.0], directed=True), data])
    with pytest.raises(ValueError, match=r"walk_profile_pe of graph 1 is not finite"):
        AddWalkProfilePE(3)(batch)


def test_a_graph_too_large_for_the_memory_is_refused() -> None:
    with pytest.raises(ValueError, match=r"20,000 nodes .* take AddDirectedRandomWalkPE instead"):
        AddWalkProfilePE(2)(graph(20_000))


@pytest.mark.parametrize("length", [0, 1.5, True])
def test_bad_settings(length) -> None:
    with pytest.raises(ValueError, match="length is"):
        AddWalkProfilePE(length)
