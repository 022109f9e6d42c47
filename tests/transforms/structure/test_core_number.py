"""AddCoreNumberSE against networkx."""

from __future__ import annotations

import networkx
import pytest
from graph_zoo import from_networkx, graph, random_graphs
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.utils import to_networkx

from graphpe.testing import check_encoding
from graphpe.transforms.structure import AddCoreNumberSE

INSTANCES = [AddCoreNumberSE(), AddCoreNumberSE(dense_limit=7)]


@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: AddCoreNumberSE) -> None:
    check_encoding(encoding)


@given(random_graphs(max_nodes=15), st.sampled_from([500, 3]))
def test_as_networkx(data: Data, dense_limit: int) -> None:
    encoded = AddCoreNumberSE(dense_limit=dense_limit)(data).core_number_se[:, 0]
    simple = networkx.Graph(to_networkx(data, to_undirected=True, remove_self_loops=True))
    wanted = networkx.core_number(simple)
    assert encoded.tolist() == [wanted[node] for node in simple]


def test_large_graphs() -> None:
    simple = networkx.barabasi_albert_graph(3000, 4, seed=0)
    wanted = networkx.core_number(simple)
    encoded = AddCoreNumberSE()(from_networkx(simple)).core_number_se[:, 0]
    assert encoded.tolist() == [wanted[node] for node in simple]
    path = AddCoreNumberSE()(from_networkx(networkx.path_graph(3000))).core_number_se
    assert (path == 1).all()


def test_parallel_edges_and_loops_do_not_count() -> None:
    data = graph(3, [(0, 0), (0, 1), (0, 1), (1, 2)])
    assert AddCoreNumberSE()(data).core_number_se.flatten().tolist() == [1, 1, 1]
