"""AddHodgePE: flows of each kind against boundary matrices that list the triangles."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
import torch
from graph_zoo import from_networkx, graph, random_graphs, zoo
from hypothesis import given
from simplicial_oracle import Complex, complex_of, positive_eigenvalues, rank
from torch_geometric.data import Batch, Data

import graphpe
from graphpe.testing import check_encoding
from graphpe.transforms.hodge import AddHodgePE

INSTANCES = [AddHodgePE(3), AddHodgePE(2, invariant=True), AddHodgePE(9, invariant=True)]


@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: AddHodgePE) -> None:
    check_encoding(encoding)


def flows(data: Data, k: int, simplices: Complex) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``[3, e, k]`` flows along the simple edges, ``[3, k]`` eigenvalues and ``[3]`` counts; checks all records."""
    encoded = AddHodgePE(k, dtype="float64")(data)
    values = encoded.hodge_pe.numpy()
    result = np.full((len(simplices.edges), 3 * k), np.nan)
    for record, (u, v) in enumerate(data.edge_index.t().tolist()):
        if u == v:
            assert not values[record].any()
            continue
        flow = values[record] if u < v else -values[record]
        edge = simplices.edges[min(u, v), max(u, v)]
        if not np.isnan(result[edge, 0]):  # a parallel or reverse record
            assert np.array_equal(result[edge], flow)
        result[edge] = flow
    return (
        result.reshape(-1, 3, k).swapaxes(0, 1),
        encoded.hodge_eigenvalue.view(3, k).numpy(),
        encoded.hodge_count[0].numpy(),
    )


@given(random_graphs(max_nodes=12))
def test_the_kinds_of_flows(data: Data) -> None:
    k, s = 5, complex_of(data)
    (harmonic, gradient, curl), eigenvalues, counts = flows(data, k, s)
    e = len(s.edges)
    dimensions = [e - rank(s.b1) - rank(s.b2), rank(s.b1), rank(s.b2)]
    assert counts.tolist() == [min(k, dimension) for dimension in dimensions]
    laplacian = s.b1.T @ s.b1 + s.b2 @ s.b2.T
    lowest = [
        np.zeros(dimensions[0]),
        positive_eigenvalues(s.b1 @ s.b1.T),
        positive_eigenvalues(s.b2 @ s.b2.T),
    ]
    for flow, value, count, wanted in zip(
        (harmonic, gradient, curl), eigenvalues, counts, lowest, strict=True
    ):
        np.testing.assert_allclose(value[:count], wanted[:count], atol=1e-9)
        assert not flow[:, count:].any()
        assert not value[count:].any()
        np.testing.assert_allclose(flow.T @ flow, np.diag(np.arange(k) < count), atol=1e-9)
        np.testing.assert_allclose(laplacian @ flow, flow * value, atol=1e-8)
    for flow in (harmonic, curl):  # no net flow at any node
        np.testing.assert_allclose(s.b1 @ flow, 0, atol=1e-8)
    for flow in (harmonic, gradient):  # no net flow around any triangle
        np.testing.assert_allclose(s.b2.T @ flow, 0, atol=1e-8)


@pytest.mark.parametrize("name", zoo())
def test_all_flows_together_are_a_basis(name: str) -> None:
    data = zoo()[name]
    s = complex_of(data)
    e = max(1, len(s.edges))
    kinds, _, counts = flows(data, e, s)
    assert counts.sum() == len(s.edges)
    projectors = [kind @ kind.T for kind in kinds]
    np.testing.assert_allclose(sum(projectors), np.eye(len(s.edges)), atol=1e-9)
    if len(s.edges):
        gradients = np.linalg.pinv(s.b1, rcond=1e-10) @ s.b1  # B1 has not full rank
        np.testing.assert_allclose(projectors[1], gradients, atol=1e-9)


def test_a_gradient_and_a_curl_of_equal_eigenvalue_do_not_mix() -> None:
    """L_1 of a complete graph is n times the identity."""
    data = from_networkx(networkx.complete_graph(5))
    s = complex_of(data)
    (_, gradient, curl), eigenvalues, counts = flows(data, 10, s)
    assert counts.tolist() == [0, 4, 6]
    assert np.allclose(eigenvalues[1, :4], 5)
    assert np.allclose(eigenvalues[2, :6], 5)
    np.testing.assert_allclose(s.b2.T @ gradient, 0, atol=1e-9)
    np.testing.assert_allclose(s.b1 @ curl, 0, atol=1e-9)


@pytest.mark.parametrize("n", [4, 5, 12])
def test_the_harmonic_flow_of_a_cycle_goes_round(n: int) -> None:
    data = graph(n, [(i, (i + 1) % n) for i in range(n)], directed=True)
    with pytest.warns(UserWarning, match="directed"):
        encoded = AddHodgePE(1, dtype="float64")(data)
    assert encoded.hodge_count.tolist() == [[1, 1, 0]]
    flow = encoded.hodge_pe[:, 0]
    np.testing.assert_allclose(flow * flow[0].sign(), n**-0.5)


@given(random_graphs(max_nodes=12))
def test_invariant_columns_are_diagonals_of_projectors(data: Data) -> None:
    s = complex_of(data)
    e = max(1, len(s.edges))
    squares = AddHodgePE(e, invariant=True, dtype="float64")(data).hodge_pe.numpy()
    kinds, eigenvalues, counts = flows(data, e, s)
    for record, (u, v) in enumerate(data.edge_index.t().tolist()):
        if u == v:
            assert not squares[record].any()
            continue
        edge = s.edges[min(u, v), max(u, v)]
        got = squares[record].reshape(3, e)
        np.testing.assert_allclose(got.sum(), 1, atol=1e-9)
        for kind in range(3):
            for column in range(counts[kind]):
                value = eigenvalues[kind, : counts[kind]]
                space = np.abs(value - value[column]) < 1e-7
                wanted = (kinds[kind][edge, : counts[kind]][space] ** 2).mean()
                np.testing.assert_allclose(got[kind, column], wanted, atol=1e-9)


def test_invariant_columns_do_not_need_the_whole_eigenspace() -> None:
    """All edges of a complete graph are alike, and k = 2 cuts through eigenspaces of dimension 4 and 6."""
    encoded = AddHodgePE(2, invariant=True)(from_networkx(networkx.complete_graph(5)))
    wanted = torch.tensor([0, 0, 0.1, 0.1, 0.1, 0.1]).expand(20, -1)
    torch.testing.assert_close(encoded.hodge_pe, wanted)


def test_orientations_by_node_number_do_not_matter() -> None:
    """Products of flows on edge records stay the same when nodes are renumbered."""
    data = from_networkx(networkx.random_regular_graph(4, 12, seed=3))
    renumbered = data.clone()
    renumbered.edge_index = torch.randperm(12)[data.edge_index]
    k = 30
    before, after = (AddHodgePE(k, dtype="float64")(d).hodge_pe for d in (data, renumbered))
    for kind in range(3):
        columns = slice(kind * k, (kind + 1) * k)
        gram = before[:, columns] @ before[:, columns].t()
        torch.testing.assert_close(after[:, columns] @ after[:, columns].t(), gram)


def test_weights_only_say_whether_there_is_an_edge() -> None:
    plain = graph(4, [(0, 1), (1, 2), (2, 0)])
    weighted = graph(4, [(0, 1), (1, 2), (2, 0), (2, 3)], [0.2, 5.0, 1.0, 0.0])
    wanted, got = AddHodgePE(3)(plain), AddHodgePE(3)(weighted)
    is_edge = weighted.edge_weight > 0
    torch.testing.assert_close(got.hodge_pe[is_edge], wanted.hodge_pe)
    assert not got.hodge_pe[~is_edge].any()


def test_graphs_of_one_size_with_different_numbers_of_edges() -> None:
    """They share a block, but no matrix."""
    graphs = [from_networkx(networkx.gnp_random_graph(10, p / 10, seed=p)) for p in range(11)]
    together = graphpe.encode(graphs, [AddHodgePE(4)], progress=False)
    for number, data in enumerate(graphs):
        assert torch.equal(together[number].hodge_pe, AddHodgePE(4)(data).hodge_pe)


def test_too_many_edges() -> None:
    batch = Batch.from_data_list([graph(9), from_networkx(networkx.complete_graph(9))])
    with pytest.raises(ValueError, match=r"graph 1 has 36 edges.*edge_limit of 35.*GiB.*raise"):
        AddHodgePE(2, edge_limit=35)(batch)
    with pytest.raises(
        ValueError, match=r"graph 0 has 20,000 nodes and AddHodgePE has only a dense"
    ):
        AddHodgePE(2)(graph(20_000))


def test_the_workspace_counts_edge_matrices() -> None:
    assert AddHodgePE(2).workspace(25) >= 100**2
    assert AddHodgePE(2, edge_limit=10).workspace(500) < 500**2


def test_directed_graphs_can_be_refused() -> None:
    with pytest.raises(ValueError, match="graph 0 is directed"):
        AddHodgePE(2, directed="error")(graph(3, [(0, 1)], directed=True))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 0}, "k is 0"),
        ({"invariant": "yes"}, "invariant is 'yes'"),
        ({"edge_limit": 0}, "edge_limit is 0"),
        ({"attr_name": None}, "attr_name is None"),
    ],
)
def test_bad_settings(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AddHodgePE(**{"k": 2, **settings})
