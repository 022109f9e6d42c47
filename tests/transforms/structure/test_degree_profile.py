"""AddLocalDegreeProfileSE: PyG's on simple graphs, and loops and parallel edges left out."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
import torch
import torch_geometric.transforms as pyg_transforms
from graph_zoo import from_networkx, graph, random_graphs
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.utils import to_networkx

from graphpe.testing import check_encoding
from graphpe.transforms.structure import AddLocalDegreeProfileSE

INSTANCES = [AddLocalDegreeProfileSE(), AddLocalDegreeProfileSE("profile", dense_limit=7)]


@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: AddLocalDegreeProfileSE) -> None:
    check_encoding(encoding)


@given(random_graphs(max_nodes=20), st.sampled_from([500, 3]))
def test_the_definition_on_any_graph(data: Data, dense_limit: int) -> None:
    encoding = AddLocalDegreeProfileSE(dtype="float64", dense_limit=dense_limit)
    encoded = encoding(data).local_degree_profile_se
    simple = networkx.Graph(to_networkx(data, to_undirected=True, remove_self_loops=True))
    for node in simple:
        around = np.array([simple.degree(other) for other in simple[node]] or [0])
        wanted = [simple.degree(node), around.min(), around.max(), around.mean(), around.std()]
        np.testing.assert_allclose(encoded[node], wanted, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_as_pyg_on_simple_graphs(seed: int) -> None:
    data = from_networkx(networkx.gnp_random_graph(30, 0.15, seed=seed))
    ours = AddLocalDegreeProfileSE()(data.clone()).local_degree_profile_se
    theirs = pyg_transforms.LocalDegreeProfile()(data.clone()).x
    torch.testing.assert_close(ours, theirs, atol=1e-3, rtol=0)  # theirs rounds in float32


def test_isolated_nodes_are_zero_and_do_not_matter() -> None:
    alone = AddLocalDegreeProfileSE()(graph(4, [(0, 1), (1, 2), (1, 3)])).local_degree_profile_se
    beside = AddLocalDegreeProfileSE()(graph(6, [(0, 1), (1, 2), (1, 3)])).local_degree_profile_se
    assert torch.equal(beside[:4], alone)
    assert not beside[4:].any()


def test_directed_graphs_are_symmetrised_or_refused() -> None:
    data = graph(3, [(0, 1), (1, 2)], directed=True)
    with pytest.warns(UserWarning, match="were symmetrised"):
        encoded = AddLocalDegreeProfileSE()(data).local_degree_profile_se
    assert encoded[:, 0].tolist() == [1, 2, 1]
    with pytest.raises(ValueError, match="graph 0 is directed"):
        AddLocalDegreeProfileSE(directed="error")(data)
