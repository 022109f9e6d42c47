"""The 1-Hodge Laplacian of graphs: flows on edges, split into gradients, curls and harmonic flows."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from graphpe.linalg.spectra.eigh import eigh

# Eigenvalues of B_2B_2ᵀ up to this, relative to the largest, are 0: rounding leaves about 1e-14.
_ZERO = 1e-10

# Eigenvalues of one kind closer than this, relative to the larger one, belong to one eigenspace ...
_EQUAL = 1e-6
# ... and so do those within rounding, which is relative to the largest of all.
_ROUNDING = 1e-12


class HodgeSpectrum(NamedTuple):
    """Orthonormal eigenvectors of L_1 = B_1ᵀB_1 + B_2B_2ᵀ, each of one kind, for g graphs of e edges.

    The gradients come first, by descending eigenvalue, then the harmonic flows, then the curls, by
    ascending eigenvalue.

    Args:
        values: ``[g, e]`` −λ of gradients, 0 of harmonic flows, λ of curls; ascending.
        vectors: ``[g, e, e]``, one per column; the value of an edge is the flow from its source to its
            target.
        num_gradient: ``[g]`` number of gradients.
        num_harmonic: ``[g]`` number of harmonic flows, the first Betti number.
    """

    values: Tensor
    vectors: Tensor
    num_gradient: Tensor
    num_harmonic: Tensor

    @property
    def num_curl(self) -> Tensor:
        """``[g]`` number of curls, the rank of B_2."""
        return self.values.shape[1] - self.num_gradient - self.num_harmonic


def hodge_spectrum(
    adjacency: Tensor, source: Tensor, target: Tensor, num_gradient: Tensor
) -> HodgeSpectrum:
    """All eigenvectors of the 1-Hodge Laplacian of simple graphs, the triangles as 2-cells.

    A gradient f (in the image of B_1ᵀ) has B_2ᵀf = 0, and a curl (in the image of B_2) has B_1f = 0. So
    they are the eigenvectors of B_2B_2ᵀ − B_1ᵀB_1 with negative and positive eigenvalues, and one
    decomposition finds all, not mixed where a gradient and a curl have the same λ.

    Args:
        adjacency: ``[g, n, n]`` of 0 and 1, symmetric, zero diagonal.
        source: ``[g, e]`` one end of each edge; all graphs have e edges.
        target: ``[g, e]`` the other end.
        num_gradient: ``[g]`` number of nodes less number of components.

    Returns:
        The spectrum. That of one graph has the same bytes whatever else is in the stack.

    Paper: Lim, "Hodge Laplacians on Graphs", SIAM Review 2020.
    """
    gradient, curl = hodge_laplacians(adjacency, source, target)
    values, vectors = eigh(curl.sub_(gradient))
    is_gradient = torch.arange(values.shape[1], device=values.device) < num_gradient[:, None]
    is_harmonic = ~is_gradient & (values <= _ZERO * _largest(values))
    values = torch.where(is_harmonic, 0.0, values)
    return HodgeSpectrum(values, vectors, num_gradient, is_harmonic.sum(1))


def rank_of_triangles(adjacency: Tensor, source: Tensor, target: Tensor) -> Tensor:
    """``[g]`` the rank of B_2, from the eigenvalues of B_2B_2ᵀ; arguments as for `hodge_spectrum`."""
    _, curl = hodge_laplacians(adjacency, source, target)
    values = torch.linalg.eigvalsh(curl)
    return (values > _ZERO * _largest(values)).sum(1)


def hodge_laplacians(adjacency: Tensor, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """B_1ᵀB_1 and B_2B_2ᵀ, both ``[g, e, e]`` of whole numbers; arguments as for `hodge_spectrum`.

    The triangles are not listed. In B_2B_2ᵀ an edge has the number of its triangles on the diagonal,
    and two edges of one triangle have the negative of their entry in B_1ᵀB_1: they cancel in L_1.
    """
    zeros = adjacency.new_zeros(*source.shape, adjacency.shape[-1])
    starts = zeros.scatter(2, source.unsqueeze(-1), 1.0)
    ends = zeros.scatter(2, target.unsqueeze(-1), 1.0)
    incidence, touching = ends - starts, ends + starts
    gradient = incidence @ incidence.mT

    # Two edges of a triangle share a node, and three of the four pairs of their ends are joined.
    neighbors = touching @ adjacency  # [g, e, n] to how many ends of an edge a node is joined
    is_in_triangle = (touching @ touching.mT == 1) & (neighbors @ touching.mT == 3)
    curl = torch.where(is_in_triangle, -gradient, 0.0)
    curl.diagonal(dim1=-2, dim2=-1).copy_((neighbors == 2).sum(-1))
    return gradient, curl


def squares_per_eigenspace(spectrum: HodgeSpectrum) -> Tensor:
    """The squares of the eigenvectors, averaged over each eigenspace, so that no choice of a basis is left.

    For a vector of an eigenspace of dimension m: diag(U Uᵀ) / m with the orthonormal basis U.

    Returns:
        ``[g, e, e]`` in the order of ``spectrum.vectors``.
    """
    values = spectrum.values
    column = torch.arange(1, values.shape[1], device=values.device)
    larger = torch.maximum(values[:, 1:].abs(), values[:, :-1].abs())
    is_new = values.diff(dim=1) > _EQUAL * larger + _ROUNDING * _largest(values)
    is_new |= column == spectrum.num_gradient[:, None]
    is_new |= column == (spectrum.num_gradient + spectrum.num_harmonic)[:, None]
    space = torch.zeros_like(values, dtype=torch.int64)
    space[:, 1:] = is_new.cumsum(1)

    squares = spectrum.vectors**2
    space_of_columns = space.unsqueeze(1).expand_as(squares)
    sums = torch.zeros_like(squares).scatter_add_(2, space_of_columns, squares)
    dimension = torch.zeros_like(values).scatter_add_(1, space, torch.ones_like(values))
    return (sums / dimension.clamp_min(1.0).unsqueeze(1)).gather(2, space_of_columns)


def _largest(values: Tensor) -> Tensor:
    """``[g, 1]`` largest modulus of each row of ``[g, e]``, 0 if there is none."""
    return torch.nn.functional.pad(values.abs(), (0, 1)).amax(1, keepdim=True)
