"""AddRelativeRandomWalkPE: GRIT's definition, and what it does at the edges of it."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
import torch
from adjacency_oracle import transition_matrix
from graph_zoo import from_networkx, graph, random_graphs, zoo
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from graphpe.testing import check_encoding
from graphpe.transforms import AddRandomWalkPE
from graphpe.transforms.walks import AddRelativeRandomWalkPE

INSTANCES = [AddRelativeRandomWalkPE(1), AddRelativeRandomWalkPE(7)]


@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: AddRelativeRandomWalkPE) -> None:
    check_encoding(encoding)


def walks(data: Data, walk_length: int) -> np.ndarray:
    n = data.num_nodes
    transition = transition_matrix(data)
    powers = [np.linalg.matrix_power(transition, step) for step in range(walk_length)]
    return np.stack(powers, axis=-1).reshape(n * n, walk_length)


@given(random_graphs(max_nodes=12, directed=True), st.integers(1, 22))
def test_the_definition_on_any_graph(data: Data, walk_length: int) -> None:
    encoded = AddRelativeRandomWalkPE(walk_length, dtype="float64")(data).relative_random_walk_pe
    np.testing.assert_allclose(encoded, walks(data, walk_length), atol=1e-13)
    single = AddRelativeRandomWalkPE(walk_length)(data).relative_random_walk_pe
    np.testing.assert_allclose(single, walks(data, walk_length), atol=1e-6)


def test_all_of_the_zoo() -> None:
    for name, data in zoo().items():
        encoded = AddRelativeRandomWalkPE(5)(data).relative_random_walk_pe
        np.testing.assert_allclose(encoded, walks(data, 5), atol=1e-6, err_msg=name)


def test_the_first_channel_is_the_identity_and_a_walk_goes_from_row_to_column() -> None:
    data = graph(3, [(0, 1), (1, 2)], directed=True)
    encoded = AddRelativeRandomWalkPE(3)(data).relative_random_walk_pe.view(3, 3, 3)
    assert torch.equal(encoded[..., 0], torch.eye(3))
    assert encoded[0].tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_the_diagonal_is_the_random_walk_pe() -> None:
    data = from_networkx(networkx.gnp_random_graph(14, 0.3, seed=1))
    pair = AddRelativeRandomWalkPE(9)(data).relative_random_walk_pe.view(14, 14, 9)
    node = AddRandomWalkPE(8)(data).random_walk_pe
    torch.testing.assert_close(pair.diagonal().mT[:, 1:], node, atol=1e-6, rtol=0)


def test_an_isolated_node_has_the_identity_and_changes_nothing_elsewhere() -> None:
    edges = [(0, 1), (1, 2)]
    alone = AddRelativeRandomWalkPE(4)(graph(3, edges)).relative_random_walk_pe
    beside = AddRelativeRandomWalkPE(4)(graph(4, edges)).relative_random_walk_pe.view(4, 4, 4)
    assert torch.equal(beside[:3, :3].reshape(9, 4), alone)
    assert beside[3, 3].tolist() == [1, 0, 0, 0]
    assert not beside[3, :3].any()


def test_b19_a_graph_too_large_for_pairs_is_told_what_it_would_take() -> None:
    with pytest.raises(
        ValueError, match=r"9,000 nodes .* GiB; take AddRandomWalkPE\(16, samples=64\)"
    ):
        AddRelativeRandomWalkPE(21)(graph(9000))


def test_bad_settings() -> None:
    with pytest.raises(ValueError, match="walk_length is 0"):
        AddRelativeRandomWalkPE(0)
    with pytest.raises(ValueError, match="cannot be concatenated to x"):
        AddRelativeRandomWalkPE(3, attr_name=None)
