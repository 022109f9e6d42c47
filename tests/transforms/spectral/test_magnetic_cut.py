"""Whether k cuts through an eigenspace of the magnetic Laplacian."""

from __future__ import annotations

import pytest
import torch
from graph_zoo import random_graphs
from hypothesis import given
from hypothesis import strategies as st
from magnetic_oracle import cycle, directed
from torch_geometric.data import Data

from graphpe.transforms import AddMagneticLaplacianPE


def cuts(data: Data, k: int, q: float | tuple[float, ...] = 0.25, **options) -> list[int]:
    return AddMagneticLaplacianPE(k, q=q, **options)(data).magnetic_eigenspace_cut[0].tolist()


@pytest.mark.parametrize("normalization", ["sym", "none"])
@pytest.mark.parametrize("dense_limit", [1, 500])
def test_a_cycle_of_double_eigenvalues(dense_limit: int, normalization: str) -> None:
    """At q = 1/4 a directed cycle of 6 has three double eigenvalues, at q = 0.1 six single ones."""
    options = {"dense_limit": dense_limit, "normalization": normalization}
    for k, is_cut in enumerate([1, 0, 1, 0, 1, 0, 0], start=1):
        assert cuts(cycle(6), k, **options) == [is_cut]
        assert cuts(cycle(6), k, (0.1, 0.25), **options) == [0, is_cut]


@pytest.mark.parametrize("normalization", ["sym", "none"])
def test_the_iterative_solver_looks_one_further(normalization: str) -> None:
    """At q = 1/4 a cycle of 400 has the eigenvalue 0 once, all others but the last twice."""
    data = cycle(400)
    for k, is_cut in ((1, 0), (2, 1), (3, 0), (4, 1)):
        options = {"dense_limit": 20, "normalization": normalization}
        assert cuts(data, k, **options) == cuts(data, k, normalization=normalization) == [is_cut]


@pytest.mark.parametrize("dense_limit", [1, 500])
def test_equal_components_and_isolated_nodes(dense_limit: int) -> None:
    """Zero eigenvalues, equal but for rounding: two directed paths of 3 and two nodes alone."""
    data = directed(8, [(0, 1), (1, 2), (3, 4), (4, 5)])
    expected = {1: 1, 2: 1, 3: 1, 4: 0, 5: 1, 6: 0, 8: 0}
    assert {k: cuts(data, k, dense_limit=dense_limit)[0] for k in expected} == expected
    assert cuts(data, 2, dense_limit=dense_limit, isolated="one") == [0]


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("dense_limit", [1, 500])
def test_tiny_graphs(n: int, dense_limit: int) -> None:
    """Without edges all eigenvalues are 0."""
    assert cuts(directed(n, []), 1, (0.1, 0.2), dense_limit=dense_limit) == [int(n > 1)] * 2
    assert cuts(directed(n, []), 2, dense_limit=dense_limit) == [0]


@given(
    random_graphs(max_nodes=10, weighted=True, directed=True),
    st.integers(1, 11),
    st.sampled_from(["binary", "phase", "average"]),
)
def test_random_graphs(data: Data, k: int, two_way: str) -> None:
    """By all eigenvalues; the column of the flag is an integer, and the other fields are as without it."""
    n = data.num_nodes
    every = AddMagneticLaplacianPE(max(n, 1), q=0.3, two_way=two_way, dtype="float64")(data)
    values = every.magnetic_eigenvalue[0, :n]
    (is_cut,) = cuts(data, k, 0.3, two_way=two_way)
    if k >= n:
        assert is_cut == 0
        return
    gap = float(values[k] - values[k - 1]) / max(float(values[-1]), 1e-300)
    if gap < 1e-9 or gap > 1e-4:
        assert is_cut == (gap < 1e-9)


def test_the_flag_is_a_field() -> None:
    field = AddMagneticLaplacianPE(3, q=(0.1, 0.2), cut_name="my_cut").fields()[-1]
    assert (field.name, field.level, field.width, field.dtype) == (
        "my_cut",
        "graph",
        2,
        torch.int64,
    )
