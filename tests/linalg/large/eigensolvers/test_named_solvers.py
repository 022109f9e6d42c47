"""Every named solver finds the same spectra, with all copies, within its memory."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from math import pi

import networkx
import numpy as np
import pytest
import torch
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
    weighted,
)

from graphpe.linalg import smallest_laplacian_eigenpairs

SOLVERS = ("shift-invert", "chebyshev", "lanczos", "lobpcg")
GRAPHS = {
    "cycle": cycle(400),
    "grid": grid(20, 20),
    "hypercube": hypercube(9),
    "star": sparse(networkx.star_graph(400)),
    "complete": sparse(networkx.complete_graph(310)),
    "complete bipartite": sparse(networkx.complete_bipartite_graph(150, 200)),
    "expander": random_graph(600, 6),
    "preferential attachment": sparse(networkx.barabasi_albert_graph(600, 3, seed=0)),
    "weighted expander": weighted(random_graph(600, 8)),
    "weighted grid": weighted(grid(20, 25)),
    "disconnected": disjoint(grid(18, 18), random_graph(500, 7, seed=1), path(3), [[0.0]]),
}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("graph", GRAPHS)
def test_equals_dense(graph, solver):
    adjacency = GRAPHS[graph]
    for normalization in ("none", "sym"):
        full = np.linalg.eigvalsh(operator(adjacency, normalization).toarray())
        values, vectors = smallest_laplacian_eigenpairs(
            adjacency, 17, normalization, solver=solver, dense_limit=10
        )
        check_eigenpairs(adjacency, values, vectors, normalization, 17)
        np.testing.assert_allclose(values, full[:17], atol=1e-12 * max(1.0, full[-1]))


@pytest.mark.parametrize("solver", SOLVERS)
def test_twelve_equal_cycles(solver):
    level = np.repeat([0, 1, 1, 2, 2], 12)[:40]
    twelve = disjoint(*[cycle(310)] * 12)
    values, _ = smallest_laplacian_eigenpairs(twelve, 40, "sym", solver=solver, dense_limit=10)
    np.testing.assert_allclose(values, 1 - np.cos(2 * pi * level / 310), atol=1e-13)


@pytest.mark.parametrize("solver", SOLVERS)
def test_same_seed_same_bytes(solver):
    """B1"""
    for adjacency in (grid(25, 25), random_graph(800, 8)):
        first = smallest_laplacian_eigenpairs(adjacency, 6, solver=solver, seed=5)
        second = smallest_laplacian_eigenpairs(adjacency, 6, solver=solver, seed=5)
        other = smallest_laplacian_eigenpairs(adjacency, 6, solver=solver, seed=6)
        assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
        assert not np.array_equal(first[1], other[1])
        np.testing.assert_allclose(first[0], other[0], atol=1e-12)


@pytest.mark.parametrize("solver", ["shift-invert", "chebyshev", "lobpcg"])
def test_grid_of_22_500_nodes(solver):
    """The first nonzero value is double: at a tolerance of 1e-4, one run of ARPACK has it once."""
    tolerance = 1e-9 if solver == "shift-invert" else 1e-4
    values, _ = smallest_laplacian_eigenpairs(
        grid(150, 150), 16, "none", solver=solver, tolerance=tolerance
    )
    np.testing.assert_allclose(values, grid_values(150, 150, 16), atol=2 * tolerance, rtol=1e-2)


@pytest.mark.parametrize("solver", ["shift-invert", "lobpcg"])
def test_path_of_20_000_nodes(solver):
    """B2: factorised, the path is easy; Lanczos iteration alone has nothing after 2,000 steps."""
    values, _ = smallest_laplacian_eigenpairs(path(20_000), 5, "sym", solver=solver)
    np.testing.assert_allclose(values, 1 - np.cos(pi * np.arange(5) / 19_999), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("graph", "solver"), [(email_enron, "lobpcg"), (email_enron, "lanczos"), (tolokers, "lanczos")]
)
def test_real_graph(graph, solver, shared_data):
    adjacency = graph(shared_data)
    expected, _ = smallest_laplacian_eigenpairs(adjacency, 5, solver="chebyshev", tolerance=1e-6)
    values, _ = smallest_laplacian_eigenpairs(adjacency, 5, solver=solver, tolerance=1e-6)
    np.testing.assert_allclose(values, expected, atol=1e-9)


@pytest.mark.parametrize("solver", ["shift-invert", "lanczos", "lobpcg"])
def test_memory_is_in_proportion_to_edges_and_vectors(solver):
    """B12: a dense matrix of this graph would take 3 GiB."""
    adjacency = grid(200, 100) if solver == "shift-invert" else random_graph(20_000, 6)
    tracemalloc.start()
    smallest_laplacian_eigenpairs(adjacency, 3, solver=solver, tolerance=1e-3)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * 20_000 * 250


MEASURE = """
import resource, sys
import numpy, scipy.sparse
sys.path.insert(0, {tests!r})
from large_graphs import random_graph
from graphpe.linalg import smallest_laplacian_eigenpairs
smallest_laplacian_eigenpairs(random_graph(600, 6), 3, solver="chebyshev", tolerance=1e-3)
adjacency = random_graph(50_000, 6)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
smallest_laplacian_eigenpairs(adjacency, 3, solver="chebyshev", tolerance=1e-3)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux only")
def test_memory_of_the_block_solver(repository):
    """B12: torch's memory is not traced, so that of a process counts; dense would take 19 GiB."""
    code = MEASURE.format(tests=str(repository / "tests"))
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(run.stdout.split()[-1]) * 1024 < 8 * 50_000 * 250


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_block_solver_on_a_gpu():
    adjacency = random_graph(3000, 8)
    expected, _ = smallest_laplacian_eigenpairs(adjacency, 9)
    for solver in ("auto", "chebyshev"):
        values, vectors = smallest_laplacian_eigenpairs(adjacency, 9, solver=solver, device="cuda")
        check_eigenpairs(adjacency, values, vectors, "sym", 9)
        np.testing.assert_allclose(values, expected, atol=1e-12)
