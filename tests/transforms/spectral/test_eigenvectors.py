"""AddLaplacianEigenvectorPE: closed forms, PyG on ordinary graphs, and right values where others are wrong."""

from __future__ import annotations

import math
import warnings

import networkx
import numpy as np
import pytest
import torch
import torch_geometric.transforms as pyg_transforms
from graph_zoo import from_networkx, graph, random_graphs, zoo
from hypothesis import given
from hypothesis import strategies as st
from spectral_oracles import check_lengths, laplacian
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

from graphpe.transforms import AddLaplacianEigenvectorPE


def all_pairs(data: Data, normalization: str = "sym", **options) -> tuple[np.ndarray, np.ndarray]:
    n = data.num_nodes
    encoded = AddLaplacianEigenvectorPE(
        n, normalization=normalization, drop_trivial="none", dtype="float64", **options
    )(data)
    return encoded.laplacian_eigenvalue[0].numpy(), encoded.laplacian_eigenvector_pe.numpy()


# --- closed forms ------------------------------------------------------------------------------------------------

CLOSED_FORMS = {
    "path": (
        networkx.path_graph(12),
        "none",
        [2 - 2 * math.cos(math.pi * j / 12) for j in range(12)],
    ),
    "path, sym": (
        networkx.path_graph(12),
        "sym",
        [1 - math.cos(math.pi * j / 11) for j in range(12)],
    ),
    "cycle": (
        networkx.cycle_graph(9),
        "none",
        [2 - 2 * math.cos(2 * math.pi * j / 9) for j in range(9)],
    ),
    "complete": (networkx.complete_graph(7), "none", [0] + 6 * [7]),
    "complete, rw": (networkx.complete_graph(7), "rw", [0] + 6 * [7 / 6]),
    "star": (networkx.star_graph(5), "none", [0] + 4 * [1] + [6]),
    "star, sym": (networkx.star_graph(5), "sym", [0] + 4 * [1] + [2]),
    "hypercube": (
        networkx.hypercube_graph(4),
        "none",
        [2 * j for j in range(5) for _ in range(math.comb(4, j))],
    ),
}


@pytest.mark.parametrize("name", CLOSED_FORMS)
@pytest.mark.parametrize("dense_limit", [500, 4], ids=["dense", "sparse"])
def test_spectra_in_closed_form(name: str, dense_limit: int) -> None:
    graph, normalization, expected = CLOSED_FORMS[name]
    data = from_networkx(graph)
    values, vectors = all_pairs(data, normalization, dense_limit=dense_limit)
    np.testing.assert_allclose(values, sorted(expected), atol=1e-10)
    residual = laplacian(data, normalization) @ vectors - vectors * values
    np.testing.assert_allclose(residual, 0, atol=1e-9)


# --- any graph ---------------------------------------------------------------------------------------------------


@given(random_graphs(max_nodes=25), st.sampled_from(["sym", "none", "rw"]))
def test_eigenpairs_of_any_graph(data: Data, normalization: str) -> None:
    matrix = laplacian(data, normalization)
    values, vectors = all_pairs(data, normalization)
    scale = max(1.0, np.abs(matrix).max())
    oracle = np.sort(np.linalg.eigvals(matrix).real)
    np.testing.assert_allclose(values, oracle, atol=1e-6 * scale)
    np.testing.assert_allclose(matrix @ vectors - vectors * values, 0, atol=1e-9 * scale)
    if normalization == "rw":
        check_lengths(values, vectors, values[-1])
    else:
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(values)), atol=1e-10)


@given(random_graphs(max_nodes=25), st.integers(1, 30), st.sampled_from(["first", "none"]))
def test_columns_beyond_n_are_zero_and_counted(data: Data, k: int, drop: str) -> None:
    encoded = AddLaplacianEigenvectorPE(k, drop_trivial=drop)(data)
    count = int(encoded.laplacian_eigenvector_count)
    assert count == min(k, data.num_nodes - (drop == "first"))
    assert encoded.laplacian_eigenvector_pe.shape == (data.num_nodes, k)
    assert not encoded.laplacian_eigenvector_pe[:, count:].any()
    assert not encoded.laplacian_eigenvalue[:, count:].any()
    norms = encoded.laplacian_eigenvector_pe[:, :count].norm(dim=0)
    torch.testing.assert_close(norms, torch.ones(count))


@given(st.lists(random_graphs(max_nodes=12, weighted=True), min_size=1, max_size=6))
def test_a_batch_is_its_graphs_one_by_one(graphs: list[Data]) -> None:
    transform = AddLaplacianEigenvectorPE(5)
    batch = transform(Batch.from_data_list(graphs))
    for got, data in zip(batch.to_data_list(), graphs, strict=True):
        expected = transform(data)
        for name in (
            "laplacian_eigenvector_pe",
            "laplacian_eigenvalue",
            "laplacian_eigenvector_count",
        ):
            assert torch.equal(got[name], expected[name])


@given(random_graphs(max_nodes=20), st.randoms(use_true_random=False))
def test_projectors_follow_a_renumbering(data: Data, random) -> None:
    """Eigenvectors themselves may turn inside an eigenspace; projectors V f(λ) Vᵀ may not."""
    order = list(range(data.num_nodes))
    random.shuffle(order)
    renumbered = data.clone()
    renumbered.edge_index = torch.tensor(order)[data.edge_index]
    kernels = []
    for each in (data, renumbered):
        values, vectors = all_pairs(each)
        kernels.append((vectors * np.exp(-values)) @ vectors.T)
    np.testing.assert_allclose(kernels[1][np.ix_(order, order)], kernels[0], atol=1e-10)


@given(random_graphs(max_nodes=20))
def test_float32_is_float64_rounded(data: Data) -> None:
    low = AddLaplacianEigenvectorPE(6)(data)
    high = AddLaplacianEigenvectorPE(6, dtype="float64")(data)
    assert torch.equal(low.laplacian_eigenvector_pe, high.laplacian_eigenvector_pe.float())


# --- drop-in for PyG ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_same_as_pyg_on_ordinary_graphs(weighted: bool) -> None:
    for seed in range(5):
        data = from_networkx(networkx.connected_watts_strogatz_graph(17, 4, 0.5, seed=seed))
        if weighted:
            data.edge_weight = (data.edge_index.sum(0) % 5 + 1).float()
        assert np.diff(all_pairs(data)[0]).min() > 1e-3  # simple: columns are fixed up to sign
        theirs = pyg_transforms.AddLaplacianEigenvectorPE(k=4, is_undirected=True)(data)
        ours = AddLaplacianEigenvectorPE(k=4, is_undirected=True)(data)
        assert ours.laplacian_eigenvector_pe.dtype == theirs.laplacian_eigenvector_pe.dtype
        torch.testing.assert_close(
            ours.laplacian_eigenvector_pe.abs(),
            theirs.laplacian_eigenvector_pe.abs(),
            atol=1e-4,
            rtol=0,
        )


def test_positional_arguments_and_names_as_in_pyg() -> None:
    data = AddLaplacianEigenvectorPE(2, "pe", True)(zoo()["path"])
    assert data.pe.shape == (9, 2)
    data = AddLaplacianEigenvectorPE(2, None)(
        Data(x=torch.ones(3), edge_index=torch.tensor([[0], [1]]))
    )
    assert data.x.shape == (3, 3)


def test_the_input_is_not_changed_and_other_attributes_stay() -> None:
    data = zoo()["path"]
    data.y = torch.ones(1)
    encoded = AddLaplacianEigenvectorPE(2)(data)
    assert "laplacian_eigenvector_pe" not in data
    assert encoded.y is data.y


def test_works_in_a_compose_and_in_loader_workers() -> None:
    transform = pyg_transforms.Compose(
        [pyg_transforms.ToUndirected(), AddLaplacianEigenvectorPE(3)]
    )
    graphs = [transform(data) for data in zoo().values()]
    batch = next(iter(DataLoader(graphs, batch_size=len(graphs), num_workers=1)))
    assert batch.laplacian_eigenvector_pe.shape == (batch.num_nodes, 3)
    assert batch.laplacian_eigenvalue.shape == (len(graphs), 3)


# --- what users of others reported -------------------------------------------------------------------------------


@pytest.mark.parametrize("dense_limit", [500, 100], ids=["dense", "sparse"])
def test_b1_the_same_graph_gives_the_same_bytes(dense_limit: int) -> None:
    data = from_networkx(networkx.gnp_random_graph(300, 0.03, seed=2))
    transform = AddLaplacianEigenvectorPE(4, dense_limit=dense_limit)
    first = transform(data).laplacian_eigenvector_pe
    torch.manual_seed(7)
    assert torch.equal(transform(data).laplacian_eigenvector_pe, first)


def test_b1_signs_of_a_path_are_fixed_by_the_largest_entry() -> None:
    vectors = AddLaplacianEigenvectorPE(9, drop_trivial="none")(
        zoo()["path"]
    ).laplacian_eigenvector_pe
    largest = vectors.gather(0, vectors.abs().argmax(0, keepdim=True))
    assert (vectors.max(0).values >= vectors.abs().max(0).values - 1e-6).all()
    assert largest.shape == (1, 9)


@pytest.mark.parametrize(("n", "k"), [(5, 8), (120, 120), (1, 1), (2, 5), (0, 3)])
def test_b3_no_more_nodes_than_eigenvectors(n: int, k: int) -> None:
    data = AddLaplacianEigenvectorPE(k)(graph(n, [(i, i + 1) for i in range(n - 1)]))
    assert data.laplacian_eigenvector_pe.shape == (n, k)
    assert int(data.laplacian_eigenvector_count) == max(0, min(k, n - 1))


def test_b6_weights_count() -> None:
    edges = [(0, 1), (1, 2), (2, 0)]
    even, uneven = (
        all_pairs(graph(3, edges, weights))[0] for weights in ([1.0] * 3, [1.0, 1.0, 10.0])
    )
    np.testing.assert_allclose(even, [0, 1.5, 1.5], atol=1e-12)
    assert abs(uneven - even).max() > 0.1


def test_b6_bfloat16_weights_work() -> None:
    data = graph(3, [(0, 1), (1, 2)], [1.0, 2.0])
    expected = AddLaplacianEigenvectorPE(2)(data).laplacian_eigenvalue
    data.edge_weight = data.edge_weight.bfloat16()
    assert torch.equal(AddLaplacianEigenvectorPE(2)(data).laplacian_eigenvalue, expected)


def test_b8_a_dag_is_symmetrised_with_a_warning_or_refused() -> None:
    dag = graph(5, [(0, 1), (1, 2), (2, 3), (3, 4)], directed=True)
    undirected = graph(5, [(0, 1), (1, 2), (2, 3), (3, 4)])
    with pytest.warns(UserWarning, match="directed and were symmetrised"):
        encoded = AddLaplacianEigenvectorPE(3)(dag)
    expected = AddLaplacianEigenvectorPE(3)(undirected)
    assert torch.equal(encoded.laplacian_eigenvector_pe, expected.laplacian_eigenvector_pe)
    with pytest.raises(ValueError, match=r"graph 1 is directed, .* ToUndirected"):
        AddLaplacianEigenvectorPE(3, is_undirected=True)(Batch.from_data_list([undirected, dag]))


def test_b12_memory_grows_with_edges_not_with_n_squared() -> None:
    n = 20_000  # 3 GiB as a dense matrix
    data = graph(n, [(i, i + 1) for i in range(n - 1)])
    encoded = AddLaplacianEigenvectorPE(3, dtype="float64")(data)
    expected = [1 - math.cos(math.pi * j / (n - 1)) for j in (1, 2, 3)]
    np.testing.assert_allclose(encoded.laplacian_eigenvalue[0], expected, rtol=1e-5)


def test_b35_single_atoms_in_a_batch() -> None:
    batch = Batch.from_data_list([graph(1), graph(4, [(0, 1), (1, 2), (2, 3)])])
    encoded = AddLaplacianEigenvectorPE(2)(batch)
    assert encoded.laplacian_eigenvector_count.flatten().tolist() == [0, 2]
    assert torch.isfinite(encoded.laplacian_eigenvector_pe).all()


def test_integer_x_is_not_filled_with_zeros() -> None:
    """PyG casts the encoding to the integer dtype of x, where it is all zeros."""
    data = zoo()["path"]
    data.x = torch.arange(9)
    with pytest.raises(
        ValueError, match=r"x is torch.int64, .*give an attr_name, or make x a float"
    ):
        AddLaplacianEigenvectorPE(2, attr_name=None)(data)


def test_isolated_nodes_have_eigenvalue_zero() -> None:
    data = zoo()["isolated nodes"]  # a path of 3 and 3 isolated nodes
    for normalization in ("sym", "none", "rw"):
        values, _ = all_pairs(data, normalization)
        assert (values < 1e-12).sum() == 4


@pytest.mark.parametrize("dense_limit", [500, 4], ids=["dense", "sparse"])
def test_isolated_nodes_do_not_change_the_rest(dense_limit: int) -> None:
    values, _ = all_pairs(zoo()["cycle (double eigenvalues)"], dense_limit=dense_limit)
    padded = zoo()["cycle (double eigenvalues)"]
    padded.num_nodes = 11
    more, vectors = all_pairs(padded, dense_limit=dense_limit)
    np.testing.assert_allclose(more[3:], values, atol=1e-10)
    np.testing.assert_allclose(vectors[8:, 4:], 0, atol=1e-10)


def test_repeated_eigenvalues_have_orthonormal_vectors() -> None:
    """PyG's default solver is off by 0.35 on a ring of 6."""
    for name in ("cycle (double eigenvalues)", "star (one eigenvalue many times)", "hypercube"):
        _, vectors = all_pairs(zoo()[name])
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(vectors.shape[1]), atol=1e-12)


def test_long_paths_have_gaps() -> None:
    """PyG works in float32, which puts zero at 6e-8 and hides the gaps of long paths."""
    values, _ = all_pairs(graph(400, [(i, i + 1) for i in range(399)]))
    assert values[0] < 1e-13
    np.testing.assert_allclose(values[1], 1 - math.cos(math.pi / 399), rtol=1e-9)


def test_ordinary_graphs_give_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for data in zoo().values():
            AddLaplacianEigenvectorPE(4)(data)
