"""What AddLaplacianEigenvectorPE has beyond PyG: zero modes, cut eigenspaces, scales, signs, isolated nodes."""

from __future__ import annotations

import math

import networkx
import numpy as np
import pytest
import torch
import torch_geometric.transforms as pyg_transforms
from graph_zoo import from_networkx, graph, random_graphs, zoo
from hypothesis import given
from hypothesis import strategies as st
from spectral_oracles import components, laplacian
from torch_geometric.data import Batch, Data

from graphpe.testing import check_encoding
from graphpe.transforms import AddLaplacianEigenvectorPE, Encoding

INSTANCES = [
    AddLaplacianEigenvectorPE(6, normalization="rw", drop_trivial="all", dense_limit=7),
    AddLaplacianEigenvectorPE(3, complete_eigenspaces=True, signs="random", dense_limit=7),
    AddLaplacianEigenvectorPE(5, normalization="none", drop_trivial="all", rescale="wavelength"),
    AddLaplacianEigenvectorPE(9, isolated="one", drop_trivial="none", rescale="soft"),
    AddLaplacianEigenvectorPE(4, dtype="float64"),
]
DENSE_LIMITS = pytest.mark.parametrize("dense_limit", [500, 2], ids=["dense", "sparse"])


@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: Encoding) -> None:
    check_encoding(encoding)
    assert eval(repr(encoding)) == encoding


def encode(data: Data, k: int, **settings) -> tuple[np.ndarray, np.ndarray, int, int]:
    """Valid values, valid vectors, count, flag."""
    encoded = AddLaplacianEigenvectorPE(k, dtype="float64", **settings)(data)
    count = int(encoded.laplacian_eigenvector_count)
    vectors = encoded.laplacian_eigenvector_pe.numpy()
    values = encoded.laplacian_eigenvalue[0].numpy()
    assert not vectors[:, count:].any()
    assert not values[count:].any()
    return values[:count], vectors[:, :count], count, int(encoded.laplacian_eigenspace_cut)


# --- drop_trivial="all" ------------------------------------------------------------------------------------------


@given(
    random_graphs(max_nodes=20), st.sampled_from(["sym", "none", "rw"]), st.sampled_from([500, 2])
)
def test_all_zero_modes_are_dropped(data: Data, normalization: str, dense_limit: int) -> None:
    n, zeros = data.num_nodes, len(components(data))
    values, vectors, count, _ = encode(
        data, n + 2, normalization=normalization, drop_trivial="all", dense_limit=dense_limit
    )
    matrix = laplacian(data, normalization)
    scale = max(1.0, abs(matrix).max())
    assert count == n - zeros
    expected = np.sort(np.linalg.eigvals(matrix).real)[zeros:]
    np.testing.assert_allclose(values, expected, atol=1e-6 * scale)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-7 * scale)
    assert (values > 0).all()


@DENSE_LIMITS
def test_weights_do_not_fool_the_count_of_zero_modes(dense_limit: int) -> None:
    """Two pairs joined by a weight far below rounding: one component, and its cut is the first mode."""
    data = graph(4, [(0, 1), (1, 2), (2, 3)], torch.tensor([1, 1e-40, 1], dtype=torch.float64))
    for normalization in ("sym", "none", "rw"):
        _, vectors, count, cut = encode(
            data, 1, normalization=normalization, drop_trivial="all", dense_limit=dense_limit
        )
        assert (count, cut) == (1, 0)
        np.testing.assert_allclose(abs(vectors[:, 0]), 0.5, atol=1e-9)
        assert vectors[0, 0] * vectors[3, 0] < 0


@DENSE_LIMITS
def test_zero_modes_are_one_per_component_largest_first(dense_limit: int) -> None:
    data = graph(7, [(5, 6), (1, 2), (2, 3)])  # and the isolated nodes 0 and 4
    values, vectors, _, _ = encode(
        data, 7, normalization="none", drop_trivial="none", dense_limit=dense_limit
    )
    assert not values[:4].any()
    expected = np.zeros((7, 4))
    expected[[1, 2, 3], 0] = 1 / math.sqrt(3)
    expected[[5, 6], 1] = 1 / math.sqrt(2)
    expected[0, 2] = expected[4, 3] = 1.0
    np.testing.assert_allclose(vectors[:, :4], expected, atol=1e-14)


# --- cut eigenspaces ---------------------------------------------------------------------------------------------


@DENSE_LIMITS
@pytest.mark.parametrize(
    ("name", "k", "cut", "complete_count"),
    [
        ("cycle (double eigenvalues)", 1, 1, 0),
        ("cycle (double eigenvalues)", 2, 0, 2),
        ("cycle (double eigenvalues)", 3, 1, 2),
        ("cycle (double eigenvalues)", 7, 0, 7),
        ("cycle (double eigenvalues)", 20, 0, 7),
        ("star (one eigenvalue many times)", 5, 1, 0),
        ("star (one eigenvalue many times)", 6, 0, 6),
        ("path", 3, 0, 3),
        ("one node", 2, 0, 0),
        ("no edges", 2, 1, 0),  # three of five zeros are left out
        ("no edges", 4, 1, 0),  # the one left out is arbitrary
        ("many components", 8, 1, 4),  # the zero modes, of which one is left out, go
    ],
)
def test_cut_eigenspaces(
    name: str, k: int, cut: int, complete_count: int, dense_limit: int
) -> None:
    data = zoo()[name]
    values, _, count, flag = encode(data, k, dense_limit=dense_limit)
    assert (count, flag) == (min(k, data.num_nodes - 1), cut)
    complete = encode(data, k, dense_limit=dense_limit, complete_eigenspaces=True)
    assert complete[2:] == (complete_count, cut)
    if name != "many components":
        np.testing.assert_allclose(complete[0], values[:complete_count])


@given(random_graphs(max_nodes=15), st.integers(1, 16), st.sampled_from(["none", "first", "all"]))
def test_complete_eigenspaces_do_not_depend_on_the_numbering(data: Data, k: int, drop: str) -> None:
    order = torch.randperm(data.num_nodes)
    renumbered = data.clone()
    renumbered.edge_index = order[data.edge_index]
    settings = {"drop_trivial": drop, "complete_eigenspaces": True}
    one, other = (encode(each, k, **settings) for each in (data, renumbered))
    assert one[2:] == other[2:]
    projectors = [(vectors * (1 + values)) @ vectors.T for values, vectors, _, _ in (one, other)]
    np.testing.assert_allclose(projectors[1][np.ix_(order, order)], projectors[0], atol=1e-6)


@DENSE_LIMITS
def test_gaps_of_long_paths_are_no_equal_eigenvalues(dense_limit: int) -> None:
    assert encode(from_networkx(networkx.path_graph(300)), 1, dense_limit=dense_limit)[3] == 0


def test_a_large_grid_has_a_double_first_eigenvalue() -> None:
    grid = from_networkx(networkx.grid_2d_graph(30, 30))
    assert encode(grid, 1, normalization="none")[3] == 1
    assert encode(grid, 2, normalization="none")[3] == 0


@pytest.mark.parametrize("solver", ["shift-invert", "chebyshev", "lanczos", "lobpcg"])
def test_each_solver_of_large_graphs(solver: str) -> None:
    grid = from_networkx(networkx.grid_2d_graph(20, 21))
    values, _, count, cut = encode(grid, 5, normalization="none", solver=solver, dense_limit=50)
    rows, columns = (2 - 2 * np.cos(np.pi * np.arange(length) / length) for length in (20, 21))
    np.testing.assert_allclose(values, np.sort(np.add.outer(rows, columns).ravel())[1:6], atol=1e-8)
    assert (count, cut) == (5, 0)


def test_a_large_graph_of_very_many_components() -> None:
    """All its zero modes would take 14 GiB."""
    pairs = torch.arange(60_000).view(-1, 2).t()
    data = Data(edge_index=torch.cat([pairs, pairs.flip(0)], 1), num_nodes=60_000)
    values, vectors, count, cut = encode(data, 4, drop_trivial="all")
    assert (count, cut) == (4, 1)
    np.testing.assert_allclose(values, 2.0)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(4), atol=1e-12)
    assert encode(data, 4, drop_trivial="all", complete_eigenspaces=True)[2:] == (0, 1)
    isolated = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=60_000)
    values, _, count, _ = encode(isolated, 4, drop_trivial="all")
    assert count == 1
    np.testing.assert_allclose(values, 2.0)


# --- scales and signs --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rescale", "largest"),
    [
        ("max", lambda values: np.ones_like(values)),
        ("wavelength", lambda values: math.pi / 2 / np.sqrt(values)),
        ("wavelength-asin", lambda values: math.pi / 2 / np.sqrt(values)),
    ],
)
def test_scales_by_the_largest_entry(rescale: str, largest) -> None:
    values, vectors, count, _ = encode(zoo()["path"], 12, rescale=rescale)
    assert count == 8
    np.testing.assert_allclose(abs(vectors).max(0), largest(values), rtol=1e-12)


def test_random_signs_are_drawn_per_graph_and_column() -> None:
    graphs = [zoo()["path"]] + [
        from_networkx(networkx.gnp_random_graph(12, 0.4, seed=s)) for s in range(30)
    ]
    canonical = AddLaplacianEigenvectorPE(6)(Batch.from_data_list(graphs)).to_data_list()
    drawn = AddLaplacianEigenvectorPE(6, signs="random")(
        Batch.from_data_list(graphs)
    ).to_data_list()
    flipped = []
    for one, other in zip(canonical, drawn, strict=True):
        assert torch.equal(one.laplacian_eigenvector_pe.abs(), other.laplacian_eigenvector_pe.abs())
        product = (one.laplacian_eigenvector_pe * other.laplacian_eigenvector_pe).sum(0)
        flipped.append((product < 0).tolist())
    share = np.mean(flipped)
    assert 0.35 < share < 0.65
    assert len({tuple(row) for row in flipped}) > 15
    again = AddLaplacianEigenvectorPE(6, signs="random", seed=1)(graphs[0])
    assert not torch.equal(again.laplacian_eigenvector_pe, drawn[0].laplacian_eigenvector_pe)


# --- isolated nodes ----------------------------------------------------------------------------------------------


@given(random_graphs(max_nodes=15), st.sampled_from(["sym", "rw"]), st.sampled_from([500, 2]))
def test_isolated_at_one_is_the_spectrum_of_pyg(
    data: Data, normalization: str, dense_limit: int
) -> None:
    n, matrix = data.num_nodes, laplacian(data, normalization)
    matrix[np.diag(matrix) == 0, np.diag(matrix) == 0] = 1.0
    settings = {"normalization": normalization, "isolated": "one", "dense_limit": dense_limit}
    values, vectors, count, _ = encode(data, n, drop_trivial="none", **settings)
    assert count == n
    np.testing.assert_allclose(values, np.sort(np.linalg.eigvals(matrix).real), atol=1e-6)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-8)
    nonzero = encode(data, n, drop_trivial="all", **settings)[0]
    np.testing.assert_allclose(nonzero, values[n - len(nonzero) :], atol=1e-12)
    assert (values[: n - len(nonzero)] < 1e-12).all()


@DENSE_LIMITS
def test_isolated_at_one_agrees_with_pyg(dense_limit: int) -> None:
    data = from_networkx(
        networkx.disjoint_union(networkx.lollipop_graph(5, 6), networkx.empty_graph(2))
    )
    theirs = pyg_transforms.AddLaplacianEigenvectorPE(k=3, is_undirected=True)(data)
    ours = AddLaplacianEigenvectorPE(
        3, is_undirected=True, isolated="one", dense_limit=dense_limit
    )(data)
    torch.testing.assert_close(
        ours.laplacian_eigenvector_pe.abs(),
        theirs.laplacian_eigenvector_pe.abs(),
        atol=1e-4,
        rtol=0,
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"drop_trivial": "last"}, "it must be 'first', 'all' or 'none'"),
        ({"rescale": "l3"}, "rescale is 'l3'; it must be 'l2', 'l1', 'max'"),
        ({"signs": "free"}, "it must be 'canonical' or 'random'"),
        ({"isolated": 1}, "isolated is 1; it must be 'zero' or 'one'"),
        ({"isolated": "one", "normalization": "none"}, "set isolated='zero', or normalization"),
        ({"seed": -1}, "seed is -1"),
        ({"solver": "power"}, "solver is 'power'; it must be 'auto', 'lanczos'"),
        ({"cut_name": "laplacian_eigenvalue"}, "two fields called"),
    ],
)
def test_bad_settings(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AddLaplacianEigenvectorPE(3, **settings)
