"""Eigenpairs of dense stacks and the sign convention."""

from __future__ import annotations

import importlib
import math

import networkx
import numpy as np
import pytest
import torch
from adjacency_zoo import adjacency, closed_forms, random_adjacency, random_stack
from hypothesis import given
from spectral_oracles import check_lengths

from graphpe.linalg import canonical_signs, eigh, laplacian, laplacian_eigenpairs

NORMALIZATIONS = ("none", "sym", "rw")


@pytest.mark.parametrize("name", closed_forms())
def test_closed_form_spectra(name):
    graph, none, sym = closed_forms()[name]
    for normalization, expected in (("none", none), ("sym", sym), ("rw", sym)):
        values, _ = laplacian_eigenpairs(adjacency(graph), normalization)
        np.testing.assert_allclose(values[0], expected, atol=1e-12)


@given(random_adjacency())
def test_defining_equations(matrix):
    for normalization in NORMALIZATIONS:
        values, vectors = laplacian_eigenpairs(matrix, normalization)
        operator = laplacian(matrix, normalization)
        scale = max(1.0, float(operator.abs().max()))
        residual = operator @ vectors - vectors * values.unsqueeze(-2)
        assert float(residual.abs().max()) < 1e-11 * scale
        assert bool((values >= 0).all())
        assert bool((values.diff() >= 0).all())
        if normalization == "rw":
            if values.numel():
                check_lengths(values[0].numpy(), vectors[0].numpy(), float(values[0, -1]))
        else:
            identity = torch.eye(len(matrix[0]), dtype=torch.float64)[None]
            torch.testing.assert_close(vectors.mT @ vectors, identity, rtol=0, atol=1e-12)


@given(random_adjacency())
def test_zeros_count_components(matrix):
    """An isolated node has the eigenvalue 0 in all normalisations."""
    graph = networkx.from_numpy_array((matrix[0] > 0).double().numpy())
    components = networkx.number_connected_components(graph)
    unweighted = (matrix > 0).double()
    for normalization in NORMALIZATIONS:
        values, vectors = laplacian_eigenpairs(unweighted, normalization)
        assert int((values < 1e-10).sum()) == components
        # also for rw the zero modes are independent, isolated nodes included
        zero_modes = vectors[0][:, values[0] < 1e-10]
        assert int(torch.linalg.matrix_rank(zero_modes, rtol=1e-6)) == components


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_zero_modes_in_closed_form(normalization):
    """One for each component, the largest first; an edge of weight 1e-40 is an edge."""
    matrix = torch.zeros(1, 6, 6, dtype=torch.float64)
    for u, v, weight in [(0, 1, 2.0), (3, 4, 1.0), (4, 5, 1e-40)]:
        matrix[0, u, v] = matrix[0, v, u] = weight
    values, vectors = laplacian_eigenpairs(matrix, normalization)
    assert values[0, :3].tolist() == [0, 0, 0]
    degrees = matrix[0].sum(-1)
    scale = degrees.sqrt() if normalization == "sym" else torch.ones_like(degrees)
    expected = torch.zeros(6, 3, dtype=torch.float64)
    expected[3:, 0] = scale[3:] / scale[3:].norm()
    expected[:2, 1] = 0.5**0.5
    expected[2, 2] = 1.0
    torch.testing.assert_close(vectors[0, :, :3], expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_only_zero_modes_have_the_eigenvalue_zero(normalization):
    """Nineteen eigenvalues lie below all rounding, which makes some of them negative."""
    weights = torch.tensor([3.0, 1e-40] * 20, dtype=torch.float64)[:39]
    matrix = torch.diag(weights, 1)
    values, _ = laplacian_eigenpairs((matrix + matrix.T)[None], normalization)
    assert (values[0] == 0).tolist() == [True] + 39 * [False]
    assert bool((values[0].diff() >= 0).all())
    assert float(values[0, 19]) < 1e-12


def test_zero_modes_of_a_stack_with_different_numbers_of_components():
    matrix = torch.stack(
        [adjacency(networkx.path_graph(5))[0], torch.zeros(5, 5), torch.diag(torch.ones(4), 1)]
    ).double()
    matrix[2] = matrix[2] + matrix[2].T
    matrix[2, 1, 2] = matrix[2, 2, 1] = 0.0
    for normalization in NORMALIZATIONS:
        values, _ = laplacian_eigenpairs(matrix, normalization)
        assert (values == 0).sum(-1).tolist() == [1, 5, 2]


def test_isolated_node_changes_nothing_for_the_others():
    matrix = random_stack(1, 9, density=1.0)
    alone, _ = laplacian_eigenpairs(matrix, "sym")
    padded = torch.zeros(1, 10, 10, dtype=torch.float64)
    padded[:, :9, :9] = matrix
    values, _ = laplacian_eigenpairs(padded, "sym")
    torch.testing.assert_close(values[:, 1:], alone, rtol=0, atol=1e-12)


def test_gap_of_a_long_path():
    """float64 throughout: in float32 'zero' is 6e-8 and the gap of a long path drowns."""
    matrix = adjacency(networkx.path_graph(400))
    values, _ = laplacian_eigenpairs(matrix, "sym")
    assert abs(float(values[0, 1]) - (1 - math.cos(math.pi / 399))) < 1e-10
    assert float(values[0, 0]) < 1e-12


@pytest.mark.parametrize("n", [1, 2, 3, 8, 23, 24, 37, 64])
@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_same_bytes_whatever_the_stack(n, normalization):
    """B1: equal inputs give equal bytes, alone or anywhere in a stack of any size."""
    matrix = random_stack(11, n)
    values, vectors = laplacian_eigenpairs(matrix, normalization)
    signed = canonical_signs(vectors)
    for part in (slice(0, 1), slice(3, 4), slice(2, 7), slice(10, 11)):
        own_values, own_vectors = laplacian_eigenpairs(matrix[part].clone(), normalization)
        assert torch.equal(own_values, values[part])
        assert torch.equal(own_vectors, vectors[part])
        assert torch.equal(canonical_signs(own_vectors), signed[part])
    one_more = torch.empty(matrix.numel() + 1, dtype=torch.float64)[1:].view_as(matrix)
    one_more.copy_(matrix)  # other memory alignment
    assert torch.equal(laplacian_eigenpairs(one_more, normalization)[1], vectors)


@pytest.mark.parametrize("shape", [(0, 4, 4), (3, 0, 0), (0, 0, 0), (2, 1, 1)])
def test_empty_and_tiny_stacks(shape):
    """B35: a single node, no edges."""
    for normalization in NORMALIZATIONS:
        values, vectors = laplacian_eigenpairs(
            torch.zeros(shape, dtype=torch.float64), normalization
        )
        assert values.shape == shape[:2]
        assert vectors.shape == shape
        assert canonical_signs(vectors).shape == shape
    assert not values.any()


def test_complex_hermitian():
    matrix = torch.randn(3, 6, 6, dtype=torch.complex64)
    matrix = matrix + matrix.mH
    values, vectors = eigh(matrix)
    assert values.dtype == torch.float64
    assert vectors.dtype == torch.complex128
    residual = matrix.to(torch.complex128) @ vectors - vectors * values.unsqueeze(-2)
    assert float(residual.abs().max()) < 1e-12


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_non_finite_input_names_the_matrix(bad):
    matrix = random_stack(4, 5)
    matrix[2, 1, 3] = bad
    with pytest.raises(ValueError, match="matrix 2 of the stack has NaN, infinite"):
        eigh(matrix)
    with pytest.raises(ValueError, match="matrix 2 of the stack"):
        laplacian_eigenpairs(matrix)


class TestVerification:
    """B14: batched solvers on CUDA have returned wrong vectors, or raised, for good input."""

    @pytest.fixture
    def verified_eigh(self):
        return importlib.import_module("graphpe.linalg.spectra.eigh")._verified_eigh

    def test_wrong_results_are_computed_again(self, verified_eigh, monkeypatch):
        matrix = laplacian(random_stack(5, 7))
        true_eigh = torch.linalg.eigh
        calls = []

        def faulty(stack):
            values, vectors = true_eigh(stack)
            calls.append(len(stack))
            if len(calls) == 1:
                vectors[1, :, 2] *= 1.5  # an eigenvector, but not of unit length
                values[4, 0] += 1e-3  # orthonormal, but no eigenpair
                vectors[2] = math.nan
            return values, vectors

        monkeypatch.setattr(torch.linalg, "eigh", faulty)
        values, vectors = verified_eigh(matrix)
        monkeypatch.undo()
        assert calls == [5, 3]
        for got, expected in zip((values, vectors), true_eigh(matrix), strict=True):
            torch.testing.assert_close(got, expected)

    def test_errors_are_made_good(self, verified_eigh, monkeypatch):
        matrix = laplacian(random_stack(5, 7))
        true_eigh = torch.linalg.eigh
        calls = []

        def failing(stack):
            calls.append(len(stack))
            if len(calls) == 1:
                raise torch.linalg.LinAlgError("the algorithm failed to converge")
            return true_eigh(stack)

        monkeypatch.setattr(torch.linalg, "eigh", failing)
        values, _ = verified_eigh(matrix)
        assert torch.equal(values, true_eigh(matrix)[0])

    def test_right_results_pass(self, verified_eigh):
        for matrix in (laplacian(random_stack(5, 30)), torch.zeros(0, 3, 3), torch.zeros(2, 0, 0)):
            matrix = matrix.double()
            for got, expected in zip(verified_eigh(matrix), torch.linalg.eigh(matrix), strict=True):
                assert torch.equal(got, expected)

    @pytest.mark.gpu
    @pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
    def test_on_cuda(self):
        matrix = random_stack(512, 40)
        values, vectors = laplacian_eigenpairs(matrix.cuda())
        expected, _ = laplacian_eigenpairs(matrix)
        torch.testing.assert_close(values.cpu(), expected, rtol=0, atol=1e-11)
        residual = laplacian(matrix).cuda() @ vectors - vectors * values.unsqueeze(-2)
        assert float(residual.abs().max()) < 1e-11


class TestCanonicalSigns:
    def signs(self, *columns):
        vectors = torch.tensor(columns, dtype=torch.float64).T[None]
        return canonical_signs(vectors)[0].T

    def test_largest_entry_is_positive(self):
        got = self.signs([0.1, -0.9, 0.3], [0.1, 0.9, 0.3])
        assert got.tolist() == [[-0.1, 0.9, -0.3], [0.1, 0.9, 0.3]]

    def test_ties_go_to_the_majority(self):
        # against the first tied node, against the sum of cubes, and with ties up to rounding
        assert self.signs([-0.5, 0.5, 0.5, 0.1]).tolist() == [[-0.5, 0.5, 0.5, 0.1]]
        got = self.signs([0.5, -0.5, 0.5, -0.49, -0.49], [-0.5, 0.5 + 1e-9, -0.5, 0.49, 0.49])
        assert got.sign().tolist() == [[1, -1, 1, -1, -1]] * 2

    def test_even_ties_go_to_the_heavier_side(self):
        # equal sums on both sides, as in every nontrivial eigenvector of D − A
        got = self.signs([0.8, -0.8, -0.4, 0.2, 0.2], [-0.8, 0.8, 0.4, -0.2, -0.2])
        assert got.tolist() == [[-0.8, 0.8, 0.4, -0.2, -0.2]] * 2

    def test_antisymmetric_columns_start_positive(self):
        got = self.signs([0.1, -0.7, 0.7, -0.1], [0.1, 0.7, -0.7, -0.1])
        assert got.tolist() == [[-0.1, 0.7, -0.7, 0.1], [0.1, 0.7, -0.7, -0.1]]

    def test_zero_columns_stay_zero(self):
        assert not self.signs([0.0, 0.0], [0.0, 0.0]).any()

    @given(random_adjacency(max_nodes=20))
    def test_sign_of_the_input_does_not_matter(self, matrix):
        _, vectors = laplacian_eigenpairs(matrix, "none")
        flips = torch.where(torch.rand(vectors.shape[-1]) < 0.5, -1.0, 1.0).double()
        assert torch.equal(canonical_signs(vectors * flips), canonical_signs(vectors))

    def test_order_of_nodes_does_not_matter_without_antisymmetry(self):
        _, vectors = laplacian_eigenpairs(random_stack(6, 20), "sym")
        star = laplacian_eigenpairs(adjacency(networkx.star_graph(6)), "none")[1][..., [0, -1]]
        for columns in (vectors, star):
            order = torch.randperm(columns.shape[1])
            signed = canonical_signs(columns)[:, order]
            assert torch.equal(canonical_signs(columns[:, order]), signed)
