"""The eigenspaces of the graphs of a batch: which neighbouring eigenvalues are one."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.utils import scatter

from graphpe.ragged import offsets_of

# Neighbours closer than this, relative to the larger one, are equal: stored as float32, equal ones differ by 1e-7 ...
_TOLERANCE = 1e-5
# ... and zeros by what a solver leaves of them, relative to the largest eigenvalue.
_TOLERANCE_AT_ZERO = 1e-7


@dataclass(frozen=True)
class Eigenspaces:
    """The eigenspaces of all graphs, one after the other, graph after graph.

    Args:
        dimension: ``[S]`` dimension of each eigenspace, the multiplicity of its eigenvalue.
        of_column: ``[B, k]`` the eigenspace of each eigenvector, by its number from 0 to S - 1; S for padding.
        counts: ``[B]`` number of eigenspaces of each graph.
        start: ``[B]`` number of the first eigenspace of each graph.
    """

    dimension: Tensor
    of_column: Tensor
    counts: Tensor
    start: Tensor

    def __len__(self) -> int:
        return self.dimension.numel()

    def mean(self, values: Tensor) -> Tensor:
        """Averages numbers of eigenvectors ``[B, k]`` over each eigenspace: ``[S]``."""
        padded = scatter(
            values.flatten(), self.of_column.flatten(), dim_size=len(self) + 1, reduce="mean"
        )
        return padded[:-1]


def find_eigenspaces(eigenvalues: Tensor, count: Tensor) -> Eigenspaces:
    """Groups eigenvalues that are equal up to rounding.

    Two neighbours are equal if they differ by at most 1e-5 of the larger one, or by 1e-7 of the largest of the graph;
    equality is passed on from neighbour to neighbour.

    Args:
        eigenvalues: ``[B, k]``, in the precision in which they are stored.
        count: ``[B]`` number of eigenvalues that are not padding.
    """
    num_graphs, k = eigenvalues.shape
    column = torch.arange(k, device=count.device)
    is_valid = column < count[:, None]
    is_first = torch.ones_like(is_valid)
    modulus = eigenvalues.abs().masked_fill(~is_valid, 0)
    larger = torch.maximum(modulus[:, 1:], modulus[:, :-1])
    largest = modulus.amax(1, keepdim=True)
    tolerance = torch.maximum(_TOLERANCE * larger, _TOLERANCE_AT_ZERO * largest)
    is_first[:, 1:] = eigenvalues.diff().abs() > tolerance
    is_first &= is_valid
    counts = is_first.sum(1)
    number = (is_first.flatten().cumsum(0) - 1).view(num_graphs, k)
    total = int(counts.sum())
    dimension = torch.bincount(number[is_valid], minlength=total)
    return Eigenspaces(
        dimension, number.masked_fill(~is_valid, total), counts, offsets_of(counts)[:-1]
    )
