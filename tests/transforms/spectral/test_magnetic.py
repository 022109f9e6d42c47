"""AddMagneticLaplacianPE: the matrix edge by edge, closed forms, the identities of q, and degenerate graphs."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from graph_zoo import graph, random_graphs, zoo
from hypothesis import given
from hypothesis import strategies as st
from magnetic_oracle import cycle, directed, kernel, laplacian, oriented_tree, pairs, reversed_edges
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

import graphpe
from graphpe.testing import check_encoding
from graphpe.transforms import (
    AddLaplacianEigenvectorPE,
    AddMagneticLaplacianPE,
    Encoding,
    MultiQ,
    To,
)

INSTANCES = [
    AddMagneticLaplacianPE(4),
    AddMagneticLaplacianPE(12, q=0.1, normalization="none", two_way="phase"),
    AddMagneticLaplacianPE(5, q=(0.1, 0.3), two_way="average", phase="root"),
    AddMagneticLaplacianPE(2, q=MultiQ(0.05, 3), relative=True, isolated="one", dtype="float64"),
    AddMagneticLaplacianPE(3, phase="reference", dense_limit=7),
]

TWO_WAY = ["binary", "phase", "average"]
NORMALIZATIONS = ["sym", "none"]


@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: Encoding) -> None:
    check_encoding(encoding)


# --- the matrix --------------------------------------------------------------------------------------------------


@given(
    random_graphs(max_nodes=15, directed=True),
    st.floats(-1, 1),
    st.sampled_from(TWO_WAY),
    st.sampled_from(NORMALIZATIONS),
)
def test_eigenpairs_of_any_directed_graph(data: Data, q: float, two_way: str, norm: str) -> None:
    """B9: a Hermitian operator with the degrees of the symmetrised graph."""
    matrix = laplacian(data, q, two_way, norm)
    np.testing.assert_allclose(matrix, matrix.conj().T, atol=1e-12)
    values, vectors = pairs(data, q, two_way=two_way, normalization=norm)
    scale = max(1.0, np.abs(matrix).max())
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix), atol=1e-10 * scale)
    np.testing.assert_allclose(matrix @ vectors - vectors * values, 0, atol=1e-9 * scale)
    np.testing.assert_allclose(vectors.conj().T @ vectors, np.eye(len(values)), atol=1e-10)
    assert (np.diff(values) >= 0).all()
    assert values.min() >= 0
    assert norm == "none" or values.max() <= 2 + 1e-12


@pytest.mark.parametrize("two_way", TWO_WAY)
@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_isolated_nodes(two_way: str, normalization: str) -> None:
    data = directed(4, [(0, 1), (2, 2)])
    for isolated in ("zero", "one"):
        if isolated == "one" and normalization == "none":
            continue
        options = {"two_way": two_way, "normalization": normalization, "isolated": isolated}
        matrix = laplacian(data, 0.25, two_way, normalization, int(isolated == "one"))
        values, _ = pairs(data, **options)
        np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix), atol=1e-12)


def test_the_rule_for_isolated_nodes_needs_the_normalised_operator() -> None:
    with pytest.raises(ValueError, match="isolated is 'one', but D - H"):
        AddMagneticLaplacianPE(2, normalization="none", isolated="one")


@given(random_graphs(max_nodes=15, weighted=False, directed=True), st.floats(0, 0.5))
def test_conventions_agree_without_two_way_pairs_and_parallel_edges(data: Data, q: float) -> None:
    source, target = data.edge_index.unique(dim=1)
    data.edge_index = torch.stack([source, target])[:, source < target]
    kernels = [kernel(*pairs(data, q, two_way=two_way)) for two_way in TWO_WAY]
    np.testing.assert_allclose(kernels[1], kernels[0], atol=1e-10)
    np.testing.assert_allclose(kernels[2], kernels[0], atol=1e-10)


@pytest.mark.parametrize(
    ("edges", "differing"),
    [
        ([(0, 1), (1, 0), (1, 2)], ["phase"]),  # average: (1 + 1)/2 against 1/2, as in binary
        ([(0, 1), (1, 0), (1, 0), (1, 2)], ["phase", "average"]),
        ([(0, 1), (0, 1), (1, 2)], ["phase", "average"]),
        ([(0, 0), (0, 1), (1, 2)], ["phase", "average"]),
    ],
    ids=["a two-way pair", "a two-way pair with parallel edges", "parallel edges", "a loop"],
)
def test_conventions_differ_otherwise(edges: list[tuple[int, int]], differing: list[str]) -> None:
    data = directed(3, edges)
    kernels = {two_way: kernel(*pairs(data, 0.1, two_way=two_way)) for two_way in TWO_WAY}
    for two_way in differing:
        assert np.abs(kernels["binary"] - kernels[two_way]).max() > 1e-3
    assert np.abs(kernels["average"] - kernels["phase"]).max() > 1e-3 or "average" in differing


def test_weights_by_convention() -> None:
    edges, weights = [(0, 1), (1, 2), (2, 0), (0, 2)], [1.0, 3.0, 0.5, 2.0]
    plain, weighted = directed(3, edges), graph(3, edges, weights, directed=True)
    for two_way, is_used in (("binary", False), ("phase", True), ("average", True)):
        difference = kernel(*pairs(plain, 0.1, two_way=two_way)) - kernel(
            *pairs(weighted, 0.1, two_way=two_way)
        )
        assert (np.abs(difference).max() > 1e-3) == is_used, two_way
    without = graph(3, [(0, 1), (1, 2)], [1.0, 0.0], directed=True)
    np.testing.assert_allclose(pairs(without)[0], [0.0, 0.0, 2.0], atol=1e-12)


# --- what q means ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("two_way", TWO_WAY)
@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_q_zero_is_the_undirected_laplacian(two_way: str, normalization: str) -> None:
    data = directed(6, [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 3)])
    undirected = data.clone()
    undirected.edge_index = torch.cat([data.edge_index, data.edge_index.flip(0)], dim=1)
    if two_way == "binary":
        undirected.edge_index = undirected.edge_index.unique(dim=1)
    expected = AddLaplacianEigenvectorPE(
        6, normalization=normalization, drop_trivial="none", dtype="float64"
    )(undirected)
    values, vectors = pairs(data, 0.0, two_way=two_way, normalization=normalization)
    factor = 0.5 if two_way == "average" and normalization == "none" else 1.0
    np.testing.assert_allclose(
        values, factor * expected.laplacian_eigenvalue[0].numpy(), atol=1e-12
    )
    wanted = expected.laplacian_eigenvector_pe.numpy()
    np.testing.assert_allclose(
        kernel(values, vectors), kernel(values, wanted.astype(complex)), atol=1e-12
    )
    np.testing.assert_allclose(vectors.imag, 0.0, atol=1e-12)
    near = kernel(*pairs(data, 1e-7, two_way=two_way, normalization=normalization))
    np.testing.assert_allclose(near, kernel(values, vectors), atol=1e-5)


@given(random_graphs(max_nodes=15, weighted=False), st.floats(0, 1))
def test_two_way_pairs_only_make_the_undirected_laplacian(data: Data, q: float) -> None:
    data.edge_index = data.edge_index[:, data.edge_index[0] != data.edge_index[1]].unique(dim=1)
    undirected = kernel(*pairs(data, 0.0))
    for two_way in ("binary", "average"):
        np.testing.assert_allclose(kernel(*pairs(data, q, two_way=two_way)), undirected, atol=1e-9)


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
@pytest.mark.parametrize("two_way", TWO_WAY)
def test_gauge_identity_on_trees(two_way: str, normalization: str) -> None:
    """L(q) = G^H L(0) G, so γ_j(u) = exp(−i2πq h_u) γ_j⁰(u): the phase falls by 2πq along an edge."""
    for seed in range(10):
        data, heights = oriented_tree(12, seed)
        q = 0.03 + 0.04 * seed
        options = {"two_way": two_way, "normalization": normalization}
        values, vectors = pairs(data, q, **options)
        still, flat = pairs(data, 0.0, **options)
        np.testing.assert_allclose(values, still, atol=1e-12)
        turned = np.exp(-2j * math.pi * q * heights)[:, None] * flat
        np.testing.assert_allclose(kernel(values, vectors), kernel(still, turned), atol=1e-12)
        if np.diff(values).min() > 1e-6:
            overlaps = np.abs((vectors.conj() * turned).sum(0))
            np.testing.assert_allclose(overlaps, 1.0, atol=1e-9)


def test_the_phase_falls_along_a_path() -> None:
    """B8: the Laplacian of this path carries nothing; its magnetic Laplacian tells the order of the nodes."""
    data = directed(5, [(0, 1), (1, 2), (2, 3), (3, 4)])
    _, vectors = pairs(data, 0.05, phase="root")
    steps = np.angle(vectors[1:, 0] / vectors[:-1, 0])
    np.testing.assert_allclose(steps, -2 * math.pi * 0.05, atol=1e-10)


@pytest.mark.parametrize("two_way", TWO_WAY)
def test_spectrum_of_a_directed_cycle(two_way: str) -> None:
    for q in (0.0, 0.1, 0.2, 0.25, 0.4):
        values, _ = pairs(cycle(5), q, two_way=two_way)
        closed = sorted(1 - math.cos(2 * math.pi * (j / 5 + q)) for j in range(5))
        np.testing.assert_allclose(values, closed, atol=1e-12)
    assert pairs(cycle(5), 0.2)[0][0] == pytest.approx(0.0, abs=1e-12)
    assert pairs(cycle(5), 0.25)[0][0] == pytest.approx(0.049, abs=5e-4)


@given(random_graphs(max_nodes=12, directed=True), st.floats(0, 0.5), st.sampled_from(TWO_WAY))
def test_conjugation_and_period(data: Data, q: float, two_way: str) -> None:
    """B9: reversing all edges conjugates; so does −q; q + 1 changes nothing."""
    forward = kernel(*pairs(data, q, two_way=two_way))
    for other in (
        kernel(*pairs(data, -q, two_way=two_way)).conj(),
        kernel(*pairs(reversed_edges(data), q, two_way=two_way)).conj(),
        kernel(*pairs(data, q + 1.0, two_way=two_way)),
    ):
        np.testing.assert_allclose(other, forward, atol=1e-8)


def test_a_triangle_and_its_reversal() -> None:
    """B9 (networkx#8560): the 3-cycle at q = 1/3 and its reversal have equal spectra and conjugate eigenvectors."""
    one, other = pairs(cycle(3), 1 / 3), pairs(reversed_edges(cycle(3)), 1 / 3)
    np.testing.assert_allclose(one[0], other[0], atol=1e-12)
    np.testing.assert_allclose(kernel(*one), kernel(*other).conj(), atol=1e-12)


@pytest.mark.parametrize(
    ("edges", "n", "divisor"),
    [
        ([(0, 1), (1, 2), (2, 3)], 10, 3),
        ([(i, j) for i in range(5) for j in range(i)], 5, 5),  # 10 pairs, but n is less
        ([(0, 1), (1, 0)], 2, 1),
        ([(0, 1), (1, 0), (1, 2), (1, 2), (2, 2)], 3, 1),  # neither parallel edges nor loops count
        ([], 3, 1),
    ],
)
@pytest.mark.parametrize("dense_limit", [1, 500])
def test_relative_potentials(edges: list, n: int, divisor: int, dense_limit: int) -> None:
    data = directed(n, edges)
    encoded = AddMagneticLaplacianPE(
        n, q=0.1, relative=True, dtype="float64", dense_limit=dense_limit
    )(data)
    assert encoded.magnetic_potential.item() == pytest.approx(0.1 / divisor, abs=1e-15)
    np.testing.assert_allclose(
        encoded.magnetic_eigenvalue[0].numpy(), pairs(data, 0.1 / divisor)[0], atol=1e-12
    )


def test_several_potentials_are_the_single_ones_side_by_side() -> None:
    batch = Batch.from_data_list([cycle(5), oriented_tree(9, 0)[0], directed(2, [])])
    several = AddMagneticLaplacianPE(4, q=MultiQ(0.1, 3))(batch)
    assert several.magnetic_eigenvector_pe.shape == (16, 3, 4)
    assert several.magnetic_eigenvalue.shape == (3, 3, 4)
    assert several.magnetic_potential.shape == (3, 3)
    for number, q in enumerate(MultiQ(0.1, 3).potentials):
        single = AddMagneticLaplacianPE(4, q=q)(batch)
        assert torch.equal(
            several.magnetic_eigenvector_pe[:, number], single.magnetic_eigenvector_pe
        )
        assert torch.equal(several.magnetic_eigenvalue[:, number], single.magnetic_eigenvalue)
    assert MultiQ(0.1, 3).potentials == pytest.approx((0.1, 0.2, 0.3))


# --- degenerate graphs, batches, datasets ------------------------------------------------------------------------


@pytest.mark.parametrize("name", zoo())
@pytest.mark.parametrize("two_way", TWO_WAY)
def test_degenerate_graphs(name: str, two_way: str) -> None:
    data = zoo()[name]
    for q in (0.0, 0.25, 0.5):
        values, vectors = pairs(data, q, two_way=two_way)
        matrix = laplacian(data, q, two_way)
        np.testing.assert_allclose(matrix @ vectors - vectors * values, 0, atol=1e-10)


@given(random_graphs(max_nodes=12, directed=True), st.integers(1, 20))
def test_columns_beyond_n_are_zero_and_counted(data: Data, k: int) -> None:
    encoded = AddMagneticLaplacianPE(k)(data)
    count = int(encoded.magnetic_eigenvector_count)
    assert count == min(k, data.num_nodes)
    assert encoded.magnetic_eigenvector_pe.shape == (data.num_nodes, k)
    assert encoded.magnetic_eigenvector_pe.dtype == torch.complex64
    assert not encoded.magnetic_eigenvector_pe[:, count:].any()
    assert not encoded.magnetic_eigenvalue[:, count:].any()
    norms = encoded.magnetic_eigenvector_pe[:, :count].norm(dim=0)
    torch.testing.assert_close(norms, torch.ones(count))


@given(st.lists(random_graphs(max_nodes=10, weighted=True, directed=True), min_size=1, max_size=5))
def test_a_batch_is_its_graphs_one_by_one(graphs: list[Data]) -> None:
    transform = AddMagneticLaplacianPE(5, q=(0.1, 0.3), relative=True)
    batch = transform(Batch.from_data_list(graphs))
    encoded = graphpe.encode(graphs, [transform], progress=False)
    for got, other, data in zip(batch.to_data_list(), encoded, graphs, strict=True):
        expected = transform(data)
        for field in transform.fields():
            assert torch.equal(got[field.name], expected[field.name])
            assert torch.equal(other[field.name], expected[field.name])


@pytest.mark.parametrize("two_way", TWO_WAY)
def test_other_components_do_not_matter(two_way: str) -> None:
    tree, _ = oriented_tree(8, 5)
    alone = pairs(tree, 0.1, two_way=two_way)
    more = Data(
        edge_index=torch.cat([tree.edge_index, torch.tensor([[8, 9, 10], [9, 10, 8]])], dim=1),
        num_nodes=13,
    )
    values, vectors = pairs(more, 0.1, two_way=two_way)
    is_own = np.abs(vectors[:8]).max(0) > 0
    assert is_own.sum() == 8
    assert not np.abs(vectors[8:, is_own]).any()
    np.testing.assert_allclose(values[is_own], alone[0], atol=1e-12)
    np.testing.assert_allclose(
        kernel(values[is_own], vectors[:8, is_own]), kernel(*alone), atol=1e-12
    )
    assert is_own[0]  # of equal eigenvalues that of the largest component is the first
    assert (np.abs(vectors[11:]).max(0) == 1).sum() == 2  # isolated nodes have vectors of their own


def test_large_graphs_have_the_values_of_the_dense_form() -> None:
    data, _ = oriented_tree(350, 7)
    data.edge_index = torch.cat([data.edge_index, torch.tensor([[3, 40, 9], [300, 3, 9]])], dim=1)
    dense = AddMagneticLaplacianPE(4, q=(0.05, 0.2), dtype="float64")
    sparse = AddMagneticLaplacianPE(4, q=(0.05, 0.2), dtype="float64", dense_limit=20)
    expected, got = dense(data), sparse(data)
    torch.testing.assert_close(got.magnetic_eigenvalue, expected.magnetic_eigenvalue)
    assert expected.magnetic_eigenvalue.diff().min() > 1e-6
    torch.testing.assert_close(
        got.magnetic_eigenvector_pe, expected.magnetic_eigenvector_pe, atol=1e-6, rtol=0
    )


def test_rows_that_are_matrices_collate_slice_and_load() -> None:
    graphs = [cycle(5), directed(2, [(0, 1)]), directed(1, []), oriented_tree(9, 1)[0]]
    encoded = graphpe.encode(graphs, [AddMagneticLaplacianPE(3, q=MultiQ(0.1, 2))], progress=False)
    assert encoded.fields["magnetic_eigenvector_pe"].shape == (2, 3)
    batch = next(iter(DataLoader(encoded, batch_size=4)))
    assert batch.magnetic_eigenvector_pe.shape == (17, 2, 3)
    assert batch.magnetic_eigenvalue.shape == (4, 2, 3)
    for got, data in zip(batch.to_data_list(), encoded, strict=True):
        assert torch.equal(got.magnetic_eigenvector_pe, data.magnetic_eigenvector_pe)


def test_to_another_level() -> None:
    data = oriented_tree(6, 2)[0]
    single = AddMagneticLaplacianPE(3, dtype="float64")
    moved = To(single, level="edge", reduce="difference", attr_name="along")(data)
    vectors = single(data).magnetic_eigenvector_pe
    source, target = data.edge_index
    assert moved.along.dtype == torch.complex128
    torch.testing.assert_close(moved.along, vectors[target] - vectors[source])
    with pytest.raises(ValueError, match="has a 2 x 3 matrix for each node"):
        To(AddMagneticLaplacianPE(3, q=(0.1, 0.2)), level="edge", reduce="difference")
    with pytest.raises(ValueError, match="free up to its basis"):
        To(single, level="graph", reduce="std")


BAD_SETTINGS = [
    ({"k": 0}, "k is 0"),
    ({"attr_name": None}, "attr_name is None, but AddMagneticLaplacianPE writes complex numbers"),
    ({"q": "0.1"}, "q is '0.1'; it must be a finite number"),
    ({"q": math.nan}, "q is nan"),
    ({"q": True}, "q is True"),
    ({"q": []}, "q is an empty list"),
    ({"q": [0.1, math.inf]}, r"q\[1\] is inf"),
    ({"q": None}, "q is None"),
    ({"two_way": "both"}, "two_way is 'both'; it must be 'binary', 'phase' or 'average'"),
    ({"phase": "none"}, "phase is 'none'"),
    ({"normalization": "rw"}, "normalization is 'rw'"),
    ({"isolated": 1}, "isolated is 1"),
    ({"relative": "yes"}, "relative is 'yes'"),
    ({"seed": -1}, "seed is -1"),
]


@pytest.mark.parametrize(("settings", "message"), BAD_SETTINGS)
def test_bad_settings_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AddMagneticLaplacianPE(**{"k": 3, **settings})


def test_bad_grids_are_refused() -> None:
    with pytest.raises(ValueError, match="base is 0"):
        MultiQ(0, 3)
    with pytest.raises(ValueError, match="count is 0"):
        MultiQ(0.1, 0)


def test_settings_are_values() -> None:
    encoding = AddMagneticLaplacianPE(3, q=[0.1, 1])
    assert encoding == AddMagneticLaplacianPE(3, q=(0.1, 1.0))
    assert eval(repr(encoding)) == encoding
    assert hash(encoding) == hash(AddMagneticLaplacianPE(3, q=(0.1, 1.0)))
