"""The smallest Laplacian eigenpairs of large sparse graphs."""

from __future__ import annotations

from math import pi

import networkx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from adjacency_zoo import closed_forms, random_adjacency
from hypothesis import given
from hypothesis import strategies as st
from large_graphs import (
    check_eigenpairs,
    cycle,
    disjoint,
    email_enron,
    grid,
    grid_values,
    hypercube,
    operator,
    path,
    random_graph,
    sparse,
    tolokers,
)

from graphpe.linalg import (
    ConvergenceError,
    laplacian_eigenpairs,
    smallest_laplacian_eigenpairs,
)
from graphpe.linalg.large import block_krylov, eigenpairs
from graphpe.linalg.large.eigensolvers import chebyshev, lanczos
from graphpe.linalg.large.eigensolvers.search import Outcome
from graphpe.linalg.large.laplacian_solvers import ConjugateGradients

NORMALIZATIONS = ("none", "sym", "rw")


def check_large(adjacency, expected, normalization="sym", rtol=1e-8, **options):
    k = len(expected)
    values, vectors = smallest_laplacian_eigenpairs(adjacency, k, normalization, **options)
    check_eigenpairs(adjacency, values, vectors, normalization, k)
    np.testing.assert_allclose(values, expected, rtol=rtol, atol=1e-14)


def test_path_of_20_000_nodes():
    """B2: the 5 smallest pairs, where plain Lanczos has none after 2,000 iterations."""
    j = np.arange(5)
    check_large(path(20_000), 1 - np.cos(pi * j / 19_999), "sym")
    check_large(path(20_000), 2 - 2 * np.cos(pi * j / 20_000), "none")


def test_path_of_50_000_nodes_within_a_small_budget():
    """B12: memory in proportion to edges and n k, where a dense matrix would take 18.6 GiB."""
    expected = 1 - np.cos(pi * np.arange(5) / 49_999)
    check_large(path(50_000), expected, rtol=1e-6, memory_budget=128 * 2**20)


def test_path_of_400_nodes():
    """B13: lobpcg takes a minute here; its conditioning is no trouble for a factorisation."""
    expected = 2 - 2 * np.cos(pi * np.arange(5) / 400)
    check_large(path(400), expected, "none", dense_limit=10)


def test_cycle_has_all_copies():
    level = np.repeat(np.arange(5), 2)[1:]
    check_large(cycle(3000), 2 - 2 * np.cos(2 * pi * level / 3000), "none")
    check_large(cycle(3000), 1 - np.cos(2 * pi * level / 3000), "sym")


def test_three_copies_of_a_cycle():
    level = np.repeat([0, 1, 1, 2, 2], 3)[:13]
    three = sp.csr_array(sp.block_diag([cycle(1000)] * 3))
    check_large(three, 1 - np.cos(2 * pi * level / 1000), "sym")


@pytest.mark.parametrize("sides", [(40, 40), (150, 150), (30, 60)])
def test_grid_has_all_copies(sides):
    """The fault of eigsh on 2I − L: 9th value 2.1e-2 in place of 1.3e-2, with small residuals."""
    check_large(grid(*sides), grid_values(*sides, 9), "none")
    values, vectors = smallest_laplacian_eigenpairs(grid(*sides), 9, "sym")
    check_eigenpairs(grid(*sides), values, vectors, "sym", 9)
    if sides == (40, 40):
        full = np.linalg.eigvalsh(operator(grid(*sides), "sym").toarray())
        np.testing.assert_allclose(values, full[:9], atol=1e-12)


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_hypercube_with_eigenvalues_eleven_and_fifty_five_times(normalization):
    dimension = 11
    level = np.repeat([0, 1, 2], [1, 11, 55])[:30]
    expected = 2.0 * level / (1 if normalization == "none" else dimension)
    check_large(hypercube(dimension), expected, normalization)


def test_star():
    check_large(sparse(networkx.star_graph(4000)), np.array([0.0] + [1.0] * 8), "sym")
    check_large(sparse(networkx.star_graph(4000)), np.array([0.0] + [1.0] * 8), "none")


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_without_zero_modes(normalization):
    adjacency = disjoint(
        path(3), cycle(400), sp.csr_array((2, 2)), grid(3, 4), path(2)
    )  # 6 components
    values, vectors = smallest_laplacian_eigenpairs(adjacency, 15, normalization)
    others = smallest_laplacian_eigenpairs(adjacency, 9, normalization, zero_modes=False)
    np.testing.assert_array_equal(others[0], values[6:])
    np.testing.assert_array_equal(others[1], vectors[:, 6:])
    n = adjacency.shape[0]
    rest = smallest_laplacian_eigenpairs(adjacency, n, normalization, zero_modes=False)
    assert rest[0].shape == (n - 6,)
    assert (rest[0] > 0).all()
    none = smallest_laplacian_eigenpairs(sp.csr_array((3, 3)), 2, normalization, zero_modes=False)
    assert none[1].shape == (3, 0)


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_expander_equals_dense(normalization):
    adjacency = random_graph(900, 8)
    expected, _ = laplacian_eigenpairs(torch.from_numpy(adjacency.toarray())[None], normalization)
    check_large(adjacency, expected[0, :12].numpy(), normalization, dense_limit=10)


@pytest.mark.parametrize("normalization", ["none", "sym"])
def test_large_expander(normalization):
    adjacency = random_graph(5000, 8)
    values, vectors = smallest_laplacian_eigenpairs(adjacency, 9, normalization)
    check_eigenpairs(adjacency, values, vectors, normalization, 9)
    # nothing smaller is left: L less the found vectors has its smallest value beyond the last
    shifted = operator(adjacency, normalization)
    top = 2 * shifted.diagonal().max()
    deflated = sp.linalg.LinearOperator(
        shifted.shape,
        matvec=lambda x: top * x - shifted @ x - top * vectors @ (vectors.T @ x),
        dtype=float,
    )
    start = np.random.default_rng(0).standard_normal(5000)
    largest = sp.linalg.eigsh(deflated, 1, which="LA", v0=start, return_eigenvectors=False)
    assert top - largest[0] >= values[-1] - 1e-8


def test_weights_over_eight_orders_of_magnitude():
    """B6: weights are used, however small: two halves hang together by a thread of 1e-7."""
    adjacency = sp.csr_array(sp.block_diag([random_graph(400, 6, seed=1), 10 * cycle(400)])).tolil()
    adjacency[0, 500] = adjacency[500, 0] = 1e-7
    adjacency = sp.csr_array(adjacency)
    for normalization in ("none", "sym"):
        dense = operator(adjacency, normalization).toarray()
        values, vectors = smallest_laplacian_eigenpairs(adjacency, 8, normalization, dense_limit=10)
        check_eigenpairs(adjacency, values, vectors, normalization, 8)
        np.testing.assert_allclose(values, np.linalg.eigvalsh(dense)[:8], atol=1e-11)
        assert values[-1] > 0


@pytest.mark.parametrize(
    ("adjacency", "normalization", "expected"),
    [
        (grid(30, 30), "sym", "shift-invert"),
        (random_graph(5000, 8), "sym", "chebyshev"),
        (random_graph(5000, 8), "none", "chebyshev"),
        (sparse(networkx.barabasi_albert_graph(9000, 4, seed=1)), "sym", "chebyshev"),
    ],
)
def test_auto_takes_the_solver_that_suits_the_graph(
    adjacency, normalization, expected, monkeypatch
):
    monkeypatch.setattr(eigenpairs, "prepared", lambda name, *_: pytest.skip(name))
    with pytest.raises(pytest.skip.Exception, match=expected):
        smallest_laplacian_eigenpairs(adjacency, 3, normalization)


def test_hub_without_normalisation(monkeypatch):
    """A long spectrum (hub of degree 2,000 in an expander) goes to conjugate gradients."""
    adjacency = random_graph(4000, 8).tolil()
    adjacency[0, 1::2] = 1.0
    adjacency[1::2, 0] = 1.0
    adjacency = sp.csr_array(adjacency)
    used = []
    true_init = ConjugateGradients.__init__
    monkeypatch.setattr(
        ConjugateGradients, "__init__", lambda self, a: used.append(1) or true_init(self, a)
    )
    values, vectors = smallest_laplacian_eigenpairs(adjacency, 5, "none")
    assert used
    check_eigenpairs(adjacency, values, vectors, "none", 5)


class TestManyComponents:
    def test_ten_thousand_single_edges(self):
        edges = sp.csr_array(sp.block_diag([np.array([[0.0, 1.0], [1.0, 0.0]])] * 10_000))
        check_large(edges, np.zeros(5), "sym")

    def test_more_pairs_than_components(self):
        edges = sp.csr_array(sp.block_diag([np.array([[0.0, 3.0], [3.0, 0.0]])] * 200))
        expected = np.array([0.0] * 200 + [6.0] * 50)
        check_large(edges, expected, "none")

    def test_zero_modes_of_the_largest_components_come_first(self):
        three = sp.csr_array(sp.block_diag([path(2), path(4), path(3)]))
        _, vectors = smallest_laplacian_eigenpairs(three, 2, "none")
        expected = np.zeros((9, 2))
        expected[2:6, 0] = 1 / 2
        expected[6:, 1] = 1 / np.sqrt(3)
        np.testing.assert_allclose(vectors, expected)

    def test_small_and_large_ones_mixed(self):
        parts = [path(3), cycle(400), path(1), grid(18, 20), path(3), random_graph(350, 8)]
        adjacency = sp.csr_array(sp.block_diag(parts))
        for normalization in NORMALIZATIONS:
            symmetric = "none" if normalization == "none" else "sym"
            full = np.linalg.eigvalsh(operator(adjacency, symmetric).toarray())
            values, vectors = smallest_laplacian_eigenpairs(
                adjacency, 25, normalization, dense_limit=10
            )
            check_eigenpairs(adjacency, values, vectors, normalization, 25)
            np.testing.assert_allclose(values, full[:25], atol=1e-11)


@given(random_adjacency(), st.integers(0, 45))
def test_random_graphs_equal_dense(matrix, k):
    adjacency = sp.csr_array(matrix[0].numpy())
    for normalization in NORMALIZATIONS:
        expected, _ = laplacian_eigenpairs(matrix, normalization)
        values, vectors = smallest_laplacian_eigenpairs(adjacency, k, normalization)
        check_eigenpairs(adjacency, values, vectors, normalization, k)
        scale = max(1.0, float(expected.max()))
        np.testing.assert_allclose(values, expected[0, :k].numpy(), atol=1e-12 * scale)


@pytest.mark.parametrize("name", closed_forms())
def test_closed_forms_with_k_over_n(name):
    """B3: k = n and k > n give all pairs."""
    graph, none, sym = closed_forms()[name]
    for k in (len(graph), len(graph) + 20):
        for normalization, expected in (("none", none), ("sym", sym), ("rw", sym)):
            values, vectors = smallest_laplacian_eigenpairs(sparse(graph), k, normalization)
            check_eigenpairs(sparse(graph), values, vectors, normalization, k)
            np.testing.assert_allclose(values, expected, atol=1e-12)


def test_all_pairs_of_a_graph_over_the_dense_limit():
    check_large(path(700), 2 - 2 * np.cos(pi * np.arange(700) / 700), "none", dense_limit=10)


@pytest.mark.parametrize("n", [0, 1, 2, 600])
def test_no_edges(n):
    """B35"""
    for normalization in NORMALIZATIONS:
        values, vectors = smallest_laplacian_eigenpairs(sp.csr_array((n, n)), 3, normalization)
        assert not values.any()
        np.testing.assert_array_equal(vectors, np.eye(n, min(3, n)))


def test_loops_and_parallel_entries():
    entries = [1.0, 2.0, 3.0, 3.0, 0.5, 1.0, 0.5, 9.0, 0.0, 0.0]
    rows, columns = [0, 1, 1, 2, 0, 0, 1, 2, 0, 2], [1, 0, 2, 1, 1, 1, 0, 2, 2, 0]
    adjacency = sp.coo_array((entries, (rows, columns)), shape=(3, 3)).tocsr()
    expected = np.array([[0.0, 2.5, 0.0], [2.5, 0.0, 3.0], [0.0, 3.0, 9.0]])
    np.testing.assert_array_equal(adjacency.toarray(), expected)
    before = adjacency.copy()
    values, vectors = smallest_laplacian_eigenpairs(adjacency, 3, "none")
    check_eigenpairs(adjacency, values, vectors, "none", 3)
    assert (adjacency != before).nnz == 0


def test_an_edge_of_weight_zero_connects_nothing():
    weights, rows, columns = [1.0, 1.0, 0.0, 0.0], [0, 1, 1, 2], [1, 0, 2, 1]
    adjacency = sp.csr_array((weights, (rows, columns)), shape=(3, 3))
    assert adjacency.nnz == 4
    values, vectors = smallest_laplacian_eigenpairs(adjacency, 3, "sym")
    np.testing.assert_allclose(values, [0.0, 0.0, 2.0], atol=1e-15)
    np.testing.assert_allclose(np.abs(vectors[2]), [0.0, 1.0, 0.0], atol=1e-15)


@pytest.mark.parametrize(
    "adjacency", [grid(40, 40), random_graph(2000, 8)], ids=["grid", "expander"]
)
def test_same_seed_same_bytes(adjacency):
    """B1: no start vector is drawn outside the seed, and the global generators are left alone."""
    np.random.seed(0)  # noqa: NPY002
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    first = smallest_laplacian_eigenpairs(adjacency, 6, seed=5)
    second = smallest_laplacian_eigenpairs(adjacency, 6, seed=5)
    other = smallest_laplacian_eigenpairs(adjacency, 6, seed=6)
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    np.testing.assert_allclose(other[0], first[0], atol=1e-12)
    assert np.array_equal(np.random.get_state()[1], state)  # noqa: NPY002


class TestErrors:
    def test_no_convergence_names_the_graph_the_solver_and_the_remedy(self, monkeypatch):
        """B2"""
        monkeypatch.setattr(block_krylov, "_STEPS", 1)
        monkeypatch.setattr(block_krylov, "_TURNS", 1)
        failure = (
            r"graph 17, component of 2,500 nodes, solver 'shift-invert': \d of 8 eigenvectors "
            r"converged to a relative residual of 1e-09 in \d+ block steps; "
        )
        with pytest.raises(ConvergenceError, match=failure + "take solver='auto', raise dense_lim"):
            smallest_laplacian_eigenpairs(grid(50, 50), 9, name="graph 17", solver="shift-invert")
        assert issubclass(ConvergenceError, ValueError)

    def test_auto_goes_down_its_chain(self, monkeypatch):
        monkeypatch.setattr(block_krylov, "_STEPS", 1)
        monkeypatch.setattr(block_krylov, "_TURNS", 1)
        check_large(grid(50, 50), grid_values(50, 50, 9), "none")
        monkeypatch.setattr(chebyshev, "_MOST_STEPS", 1)
        check_large(grid(50, 50), grid_values(50, 50, 9), "none")
        monkeypatch.setattr(lanczos, "_MOST_RESTARTS", 1)
        with pytest.raises(
            ConvergenceError, match=r"shift-invert.*; .*chebyshev.*; .*lanczos.*; raise dense_limit"
        ):
            smallest_laplacian_eigenpairs(grid(50, 50), 9)

    @pytest.mark.parametrize("solver", ["lanczos", "shift-invert", "lobpcg", "chebyshev"])
    def test_wrong_vectors_are_not_returned(self, solver, monkeypatch):
        def wrong(laplacian, search):
            n, known = search.known.shape
            return Outcome(np.eye(n)[:, known : known + search.wanted], True, "no time")

        monkeypatch.setattr(eigenpairs, "prepared", lambda *_: wrong)
        with pytest.raises(ConvergenceError, match=f"{solver}.*relative residual"):
            smallest_laplacian_eigenpairs(grid(50, 50), 9, solver=solver)

    def test_memory(self):
        """B12: refused early, with a size estimate."""
        with pytest.raises(
            ValueError, match=r"graph 3: 3 eigenvectors .* 50,000 nodes need .* 58 MiB"
        ):
            smallest_laplacian_eigenpairs(path(50_000), 4, name="graph 3", memory_budget=2**24)
        with pytest.raises(
            ValueError, match=r"the graph: 19,999 eigenvectors .* a dense solver .* 18,311 MiB"
        ):
            smallest_laplacian_eigenpairs(path(20_000), 20_000)

    @pytest.mark.parametrize(
        ("adjacency", "message"),
        [
            (sp.csr_array(np.triu(np.ones((3, 3)))), "graph 2: .* not symmetric; symmetrise"),
            (sp.csr_array(-np.ones((3, 3))), "graph 2: edge weights must be finite and non-neg"),
            (sp.csr_array(np.full((3, 3), np.nan)), "graph 2: edge weights must be finite"),
            (sp.csr_array((3, 4)), r"graph 2: .* shape \(3, 4\); it must be square"),
        ],
    )
    def test_bad_adjacency(self, adjacency, message):
        with pytest.raises(ValueError, match=message):
            smallest_laplacian_eigenpairs(adjacency, 2, name="graph 2")

    def test_bad_arguments(self):
        with pytest.raises(ValueError, match="k is -1"):
            smallest_laplacian_eigenpairs(path(3), -1)
        with pytest.raises(ValueError, match="normalization is 'l2'"):
            smallest_laplacian_eigenpairs(path(3), 1, "l2")
        with pytest.raises(ValueError, match=r"solver is 'arpack'; it must be one of 'auto', 'lan"):
            smallest_laplacian_eigenpairs(path(3), 1, solver="arpack")
        for tolerance in (0.0, -1e-3, 1.0, np.nan):
            with pytest.raises(ValueError, match=r"tolerance is .*; it must be between 0 and 1"):
                smallest_laplacian_eigenpairs(path(3), 1, tolerance=tolerance)
        with pytest.raises(
            ValueError, match="device is 'meta', but solver='lobpcg' runs on the CPU"
        ):
            smallest_laplacian_eigenpairs(path(3), 1, solver="lobpcg", device="meta")


def test_twelve_equal_components():
    """Twelve zero modes, and every other value twelve times as often as in one component."""
    twelve = disjoint(*[random_graph(500, 10, seed=3)] * 12)
    one = np.linalg.eigvalsh(operator(random_graph(500, 10, seed=3), "sym").toarray())
    check_large(twelve, np.repeat(one[:4], 12)[:40], "sym", dense_limit=10)


def test_tolerance_is_met_and_not_much_more():
    """With the tolerance the work falls: the first digits are right, the last are not."""
    adjacency = random_graph(3000, 8)
    exact, _ = smallest_laplacian_eigenpairs(adjacency, 6)
    values, vectors = smallest_laplacian_eigenpairs(adjacency, 6, tolerance=1e-3)
    residuals = np.linalg.norm(operator(adjacency, "sym") @ vectors - vectors * values, axis=0)
    assert 1e-8 < residuals.max() <= 1e-3
    np.testing.assert_allclose(values, exact, atol=1e-4)


@pytest.mark.slow
def test_email_enron(shared_data):
    adjacency = email_enron(shared_data)
    values, vectors = smallest_laplacian_eigenpairs(adjacency, 9, "sym")
    check_eigenpairs(adjacency, values, vectors, "sym", 9)
    # as scipy.sparse.linalg.eigsh(..., which="SA") has them
    np.testing.assert_allclose(values[:3], [0.0, 0.00352694, 0.00454493], atol=1e-8)
    np.testing.assert_allclose(values[-1], 0.0158045, atol=1e-7)


@pytest.mark.slow
def test_tolokers(shared_data):
    adjacency = tolokers(shared_data)
    values, vectors = smallest_laplacian_eigenpairs(adjacency, 9, "sym")
    check_eigenpairs(adjacency, values, vectors, "sym", 9)
    degrees = adjacency.sum(1)
    normalised = operator(adjacency, "sym")
    expected = sp.linalg.eigsh(
        sp.identity(len(degrees)) - normalised,
        9,
        which="LA",
        v0=np.sqrt(degrees)[::-1].copy(),
        return_eigenvectors=False,
    )
    np.testing.assert_allclose(values, np.sort(1 - expected), atol=1e-12)
