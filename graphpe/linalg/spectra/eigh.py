"""Eigenpairs of a stack of graphs of equal size, and the sign convention of eigenvectors."""

from __future__ import annotations

import torch
from torch import Tensor

from graphpe.linalg.laplacian import (
    Normalization,
    check_finite,
    check_normalization,
    degree,
    laplacian,
    without_self_loops,
)
from graphpe.linalg.spectra.connected_components import component_labels, zero_modes
from graphpe.linalg.spectra.eigenspaces import means_over_eigenspaces, scale_starts

# Entries of a column within this relative distance of the largest modulus count as tied with it.
_TIE_TOLERANCE = 1e-6


def eigh(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvalues and orthonormal eigenvectors of a stack of symmetric or Hermitian matrices.

    The result of one matrix has the same bytes whatever else is in the stack. On CUDA every
    decomposition is checked and the wrong ones are computed again on the CPU, because batched
    solvers there have returned non-orthonormal vectors without an error (pytorch#192483).

    Args:
        matrix: ``[b, n, n]``, computed in float64 or complex128; b and n may be 0.

    Returns:
        Values ``[b, n]``, ascending, float64, and vectors ``[b, n, n]``, one per column.

    Raises:
        ValueError: If an entry is not finite; names the position in the stack.
    """
    matrix = matrix.to(torch.complex128 if matrix.is_complex() else torch.float64)
    check_finite(matrix)
    return _verified_eigh(matrix) if matrix.is_cuda else torch.linalg.eigh(matrix)


def laplacian_eigenpairs(
    adjacency: Tensor, normalization: Normalization = "sym", labels: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """All eigenpairs of the Laplacian of each graph of a stack, self-loops removed.

    For ``"none"`` and ``"sym"`` the vectors are orthonormal. For ``"rw"`` they are those of
    :func:`random_walk_vectors` (an isolated node has D = 1 here, so that its own vector survives).

    The zero modes are known in closed form, one for each connected component: they come first, with
    eigenvalue exactly 0, those of large components before those of small ones. All other values are
    positive, so that weights however small do not make a nonzero mode look like one of them.

    Args:
        adjacency: ``[b, n, n]`` float64, symmetric, finite, non-negative.
        normalization: ``"none"``, ``"sym"`` or ``"rw"``.
        labels: ``[b, n]`` from :func:`component_labels`; None computes them.

    Returns:
        Values ``[b, n]``, ascending, and vectors ``[b, n, n]``, one per column.
        Signs, and bases of repeated eigenvalues other than 0, are the solver's: see
        :func:`canonical_signs`.

    Raises:
        ValueError: If ``normalization`` is unknown or an entry is not finite.
    """
    check_normalization(normalization)
    operator = laplacian(adjacency, "none" if normalization == "none" else "sym")
    if operator.numel() == 0:
        return eigh(operator)
    degrees = degree(without_self_loops(adjacency))
    degrees = torch.where(degrees > 0, degrees, 1.0)
    values, vectors = _eigenpairs(
        operator,
        torch.ones_like(degrees) if normalization == "none" else degrees.sqrt(),
        component_labels(adjacency) if labels is None else labels,
    )
    if normalization == "rw":
        zeros = (values == 0).sum(-1, keepdim=True)
        starts = scale_starts(values, zeros, values[:, -1:])
        vectors = random_walk_vectors(vectors, degrees, starts)
    return values, vectors


def random_walk_vectors(vectors: Tensor, degrees: Tensor, starts: Tensor) -> Tensor:
    r"""Eigenvectors of I − D^{-1} A from those of L_sym.

    An eigenspace with the d columns U becomes

    .. math:: D^{-1/2} U \sqrt{d} \,/\, \lVert D^{-1/2} U \rVert_F

    which is of unit length for d = 1. The one factor makes the result free up to an orthogonal
    matrix, as U is: vectors of unit length would depend on the basis that U happens to be. The basis
    of the eigenvalue 0 is known, one vector for each component: each of these has unit length.

    Args:
        vectors: ``[b, n, k]``.
        degrees: ``[b, n]`` without self-loops, 1 for isolated nodes.
        starts: ``[b, k]`` from :func:`scale_starts`.

    Returns:
        ``[b, n, k]``.
    """
    vectors = vectors / degrees.sqrt().unsqueeze(-1)
    squares = vectors.mT.contiguous().square().sum(-1)
    return vectors / means_over_eigenspaces(squares.unsqueeze(1), starts).sqrt()


def _eigenpairs(operator: Tensor, scale: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenpairs of a Laplacian, which is changed, with the zero modes ``scale`` (one per component) put first."""
    is_connected = not bool(labels.any())
    if is_connected:
        own = scale / scale.norm(dim=-1, keepdim=True)  # the only zero mode
    else:
        modes = zero_modes(labels, scale)
        own = modes.sum(-1)  # the entry of each node in the mode of its component
    # Moved far below the rest of the spectrum they cannot mix with other modes, and come first.
    largest = operator.diagonal(dim1=-2, dim2=-1).amax(-1)
    far = torch.where(largest > 0, 3.0 * largest, 1.0)[:, None, None]
    projector = (far * own.unsqueeze(-1)) * own.unsqueeze(-2)
    if not is_connected:
        projector *= labels.unsqueeze(-1) == labels.unsqueeze(-2)
    operator -= projector
    del projector
    values, vectors = eigh(operator)

    # Nonzero modes have positive values, which rounding may have made 0 or negative.
    values = values.clamp_min_(torch.finfo(values.dtype).tiny)
    if is_connected:
        values[:, 0] = 0.0
        vectors[:, :, 0] = own
        return values, vectors
    is_known = torch.arange(labels.shape[-1], device=labels.device) <= labels.amax(-1, keepdim=True)
    return (
        torch.where(is_known, 0.0, values),
        torch.where(is_known.unsqueeze(-2), modes, vectors),
    )


def canonical_signs(vectors: Tensor) -> Tensor:
    """Flips columns so that the entry of largest modulus is positive.

    Entries tie when their moduli are equal to within 1e-6, as ±a often do on a graph with a
    symmetry. Ties are settled by, in turn, the sign of the majority of the tied entries, the sign
    of the sum of cubes of the column, and the first tied node. Only this last rule depends on the
    order of the nodes; it is reached when a symmetry of the graph turns the column into its
    negative, so that no rule could tell them apart.

    Args:
        vectors: ``[b, n, k]``, real.

    Returns:
        ``[b, n, k]``; zero columns stay zero.
    """
    if vectors.numel() == 0:
        return vectors
    least, greatest = vectors.amin(-2), vectors.amax(-2)
    sign = torch.where(greatest >= -least, 1.0, -1.0).to(vectors.dtype)
    # Where the greatest and the least entry are not tied, that is all.
    is_tied = torch.minimum(greatest, -least) >= torch.maximum(greatest, -least) * (
        1.0 - _TIE_TOLERANCE
    )
    is_tied &= greatest > 0  # zero columns stay zero
    if bool(is_tied.any()):
        sign[is_tied] = _signs_of_tied(vectors.mT[is_tied])
    return vectors * sign.unsqueeze(-2)


def _signs_of_tied(columns: Tensor) -> Tensor:
    """``[m]`` signs of columns ``[m, n]`` in which entries of both signs tie for the largest modulus."""
    modulus = columns.abs()
    largest = modulus.amax(-1, keepdim=True)
    tied = modulus >= largest * (1.0 - _TIE_TOLERANCE)
    majority = torch.where(tied, columns.sign(), 0.0).sum(-1).sign()

    cubes = (columns / largest).pow(3)
    skewness = cubes.sum(-1)
    is_skew = skewness.abs() > _TIE_TOLERANCE * cubes.abs().sum(-1)

    first_tied = tied.to(torch.uint8).argmax(-1, keepdim=True)
    sign = columns.gather(-1, first_tied).squeeze(-1).sign()
    sign = torch.where(is_skew, skewness.sign(), sign)
    return torch.where(majority != 0, majority, sign)


def _verified_eigh(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """``torch.linalg.eigh`` whose wrong results, and whose errors, are made good on the CPU."""
    try:
        values, vectors = torch.linalg.eigh(matrix)
    except torch.linalg.LinAlgError:
        values, vectors = torch.linalg.eigh(matrix.cpu())
        return values.to(matrix.device), vectors.to(matrix.device)
    wrong = _wrong_decompositions(matrix, values, vectors).nonzero().squeeze(-1)
    if len(wrong) > 0:
        right_values, right_vectors = torch.linalg.eigh(matrix[wrong].cpu())
        values[wrong] = right_values.to(matrix.device)
        vectors[wrong] = right_vectors.to(matrix.device)
    return values, vectors


def _wrong_decompositions(matrix: Tensor, values: Tensor, vectors: Tensor) -> Tensor:
    """``[b]`` bool: where V^H V ≠ I or M V ≠ V diag(λ) beyond rounding."""
    n = matrix.shape[-1]
    if matrix.numel() == 0:
        return torch.zeros(len(matrix), dtype=torch.bool, device=matrix.device)
    tolerance = 1e3 * n * torch.finfo(values.dtype).eps
    identity = torch.eye(n, dtype=matrix.dtype, device=matrix.device)
    orthogonality = (vectors.mH @ vectors - identity).abs().amax((-2, -1))
    residual = (matrix @ vectors - vectors * values.unsqueeze(-2)).abs().amax((-2, -1))
    scale = matrix.abs().amax((-2, -1))
    # written so that NaN counts as wrong
    return ~((orthogonality <= tolerance) & (residual <= tolerance * scale))
