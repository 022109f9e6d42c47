"""AddBettiNumberSE: components and holes of known spaces and of any graph."""

from __future__ import annotations

import networkx
import pytest
from graph_zoo import from_networkx, graph, random_graphs
from hypothesis import given
from simplicial_oracle import complex_of, rank
from torch_geometric.data import Batch, Data

from graphpe.testing import check_encoding
from graphpe.transforms.hodge import AddBettiNumberSE

INSTANCES = [AddBettiNumberSE(), AddBettiNumberSE("holes", edge_limit=500)]


@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: AddBettiNumberSE) -> None:
    check_encoding(encoding)


def betti(data: Data) -> list[int]:
    return AddBettiNumberSE()(data).betti_number_se[0].tolist()


@given(random_graphs(max_nodes=14))
def test_ranks_of_the_boundary_matrices(data: Data) -> None:
    s = complex_of(data)
    holes = len(s.edges) - rank(s.b1) - rank(s.b2)
    assert betti(data) == [s.components, holes]


def torus(size: int) -> networkx.Graph:
    """A grid on the torus with a diagonal in each square; no 3-cycle goes round from size 4 on."""
    grid = networkx.grid_2d_graph(size, size, periodic=True)
    grid.add_edges_from(
        ((i, j), ((i + 1) % size, (j + 1) % size)) for i in range(size) for j in range(size)
    )
    return grid


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [
        (networkx.cycle_graph(3), [1, 0]),
        (networkx.cycle_graph(4), [1, 1]),
        (networkx.cycle_graph(30), [1, 1]),
        (networkx.complete_graph(8), [1, 0]),
        (networkx.complete_bipartite_graph(3, 4), [1, 6]),
        (networkx.petersen_graph(), [1, 6]),
        (networkx.octahedral_graph(), [1, 0]),
        (networkx.icosahedral_graph(), [1, 0]),
        (networkx.disjoint_union(networkx.cycle_graph(5), networkx.path_graph(4)), [2, 1]),
        (torus(4), [1, 2]),
        (torus(6), [1, 2]),
        (networkx.empty_graph(7), [7, 0]),
        (networkx.path_graph(300), [1, 0]),
    ],
)
def test_known_spaces(shape: networkx.Graph, wanted: list[int]) -> None:
    assert betti(from_networkx(shape)) == wanted


def test_small_graphs() -> None:
    assert betti(graph(0)) == [0, 0]
    assert betti(graph(1, [(0, 0)])) == [1, 0]
    assert betti(graph(2, [(0, 1), (0, 1)])) == [1, 0]


def test_an_edge_of_weight_0_is_none() -> None:
    assert betti(graph(4, [(0, 1), (1, 2), (2, 3), (3, 0)], [1.0, 1.0, 1.0, 0.0])) == [1, 0]


def test_graphs_of_one_size_in_a_batch() -> None:
    shapes = [networkx.gnp_random_graph(9, p / 10, seed=p) for p in range(11)]
    graphs = [from_networkx(shape) for shape in shapes]
    batch = AddBettiNumberSE()(Batch.from_data_list(graphs))
    assert batch.betti_number_se.tolist() == [betti(data) for data in graphs]


def test_too_many_edges() -> None:
    with pytest.raises(ValueError, match=r"graph 0 has 36 edges, over the edge_limit of 9"):
        AddBettiNumberSE(edge_limit=9)(from_networkx(networkx.complete_graph(9)))


def test_a_graph_too_large_is_told_of_another_encoding() -> None:
    with pytest.raises(ValueError, match="take AddClusteringCoefficientSE instead, or"):
        AddBettiNumberSE()(graph(30_000))
