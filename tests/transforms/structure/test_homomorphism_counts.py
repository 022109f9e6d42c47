"""AddHomomorphismCountSE: powers of the adjacency matrix, known trees, and the list of patterns."""

from __future__ import annotations

import re
import warnings

import networkx
import numpy as np
import pytest
import torch
from graph_zoo import from_networkx, graph, random_graphs
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.utils import to_networkx

from graphpe.testing import check_encoding
from graphpe.transforms.structure import AddHomomorphismCountSE

INSTANCES = [
    AddHomomorphismCountSE((3, 5), 4),
    AddHomomorphismCountSE((), 4),
    AddHomomorphismCountSE((4, 3), 1, dense_limit=7),
]


@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: AddHomomorphismCountSE) -> None:
    check_encoding(encoding)


@given(random_graphs(max_nodes=15), st.sampled_from([500, 3]))
def test_the_definition_on_any_graph(data: Data, dense_limit: int) -> None:
    encoding = AddHomomorphismCountSE(max_tree_nodes=4, dtype="float64", dense_limit=dense_limit)
    encoded = encoding(data).homomorphism_count_se.numpy()
    simple = networkx.Graph(to_networkx(data, to_undirected=True, remove_self_loops=True))
    adjacency = networkx.to_numpy_array(simple, nodelist=range(len(simple)))
    for column, length in enumerate(range(3, 9)):
        wanted = np.diag(np.linalg.matrix_power(adjacency, length))
        np.testing.assert_array_equal(encoded[:, column], wanted)
    d = adjacency.sum(1)
    wanted = {
        "(())": d,
        "(()())": d**2,
        "((()))": adjacency @ d,
        "(()()())": d**3,
        "(()(()))": d * (adjacency @ d),
        "((()()))": adjacency @ d**2,
        "(((())))": adjacency @ adjacency @ d,
    }
    assert encoding.patterns[6:] == tuple(wanted)
    np.testing.assert_array_equal(encoded[:, 6:], np.stack(list(wanted.values()), axis=-1))


def test_the_docstring_lists_the_columns() -> None:
    encoding = AddHomomorphismCountSE()
    listed = re.findall(r"``(\(\(.*?\)\))``", AddHomomorphismCountSE.__doc__)
    assert encoding.patterns == ("C3", "C4", "C5", "C6", "C7", "C8", *listed)
    assert encoding.fields()[0].width == 22


def test_settings_choose_the_columns() -> None:
    data = from_networkx(networkx.gnp_random_graph(12, 0.4, seed=0))
    everything = AddHomomorphismCountSE()
    some = AddHomomorphismCountSE([8, 4], 3)
    assert some.patterns == ("C8", "C4", "(())", "(()())", "((()))")
    columns = [everything.patterns.index(pattern) for pattern in some.patterns]
    encoded = everything(data).homomorphism_count_se
    assert torch.equal(some(data).homomorphism_count_se, encoded[:, columns])


def test_large_graphs() -> None:
    data = from_networkx(networkx.random_regular_graph(4, 2000, seed=0))
    encoded = AddHomomorphismCountSE((3, 4), 3)(data).homomorphism_count_se
    dense = AddHomomorphismCountSE((3, 4), 3, dense_limit=2000)(data).homomorphism_count_se
    assert torch.equal(encoded, dense)
    assert (encoded[:, 2:] == torch.tensor([4, 16, 16])).all()


def test_beyond_float32_is_refused() -> None:
    data = from_networkx(networkx.star_graph(20_000))
    encoding = AddHomomorphismCountSE((), 10)
    with pytest.raises(ValueError, match=r"graph 0 is not finite in torch\.float32"):
        encoding(data)
    double = AddHomomorphismCountSE((), 10, dtype="float64")
    assert double(data).homomorphism_count_se.max() == pytest.approx(20_000.0**9)


def test_isolated_nodes_have_no_maps() -> None:
    encoded = AddHomomorphismCountSE()(graph(4, [(0, 1), (1, 2), (2, 0)])).homomorphism_count_se
    assert encoded[3].tolist() == [0] * 22
    assert encoded[0, 0] == 2


def test_bad_settings() -> None:
    with pytest.raises(ValueError, match="cycle_lengths is"):
        AddHomomorphismCountSE((2,))
    with pytest.raises(ValueError, match="max_tree_nodes is 11; it must be at most 10"):
        AddHomomorphismCountSE(max_tree_nodes=11)
    with pytest.raises(ValueError, match="there is nothing to count"):
        AddHomomorphismCountSE((), 1)


def test_the_workspace_counts_trees() -> None:
    few, many = AddHomomorphismCountSE((), 9), AddHomomorphismCountSE((), 10)
    # the results twice, and the sums of all trees that may hang from a root
    assert few.workspace(25) == 25 * (2 * 485 + 200)
    assert many.workspace(25) == 25 * (2 * 1204 + 486)


def test_closed_walks_of_a_large_graph_give_a_warning() -> None:
    data = from_networkx(networkx.path_graph(25_000))
    with pytest.warns(UserWarning, match=r"cycle_lengths=\(\) counts trees only"):
        AddHomomorphismCountSE((3,))(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AddHomomorphismCountSE(())(data)
