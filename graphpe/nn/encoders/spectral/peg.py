"""Distances of eigenvector coordinates, as gates of edges (PEG)."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphpe.fields import Level, Symmetry
from graphpe.nn.blocks import Normalization, check_positive, has_batch_normalization, mlp
from graphpe.nn.edges import read_edges
from graphpe.nn.encoders.base import FieldEncoder, Role
from graphpe.nn.encoders.spectral.laplacian_fields import laplacian_requirements
from graphpe.nn.layout import graph_layout


class PEG(FieldEncoder):
    r"""Gates each edge by a function of the distance of its ends in the coordinates of the eigenvectors.

    .. math:: g_{ij} = \mathrm{MLP}\big(\lVert V_i - V_j \rVert_2\big) \qquad\text{for each edge } i \to j

    A network multiplies what it knows of an edge by :math:`g_{ij}`. Nodes get no encoding, and eigenvalues aren't used.

    Distances don't change under any orthogonal matrix that mixes the columns of V, so neither signs nor bases of
    eigenspaces matter. This holds for the ``k`` columns that are there: where ``k`` cuts an eigenspace, which part of
    it they span is arbitrary, and distances depend on it; ``AddLaplacianEigenvectorPE(complete_eigenspaces=True)``
    leaves such a part out. With all eigenvectors of a graph (``k >= n``) every distance is √2: take fewer. The distance
    of a loop, and of two nodes with equal rows, is 0, and its gradient as well.

    The published networks for ZINC have ``k=8`` with the trivial eigenvector, and in each of their layers a perceptron
    of ``num_layers=3`` as wide as the network, with ``norm="batch"``.

    Args:
        k: Number of eigenvectors.
        out_channels: Width of the output.
        hidden_channels: Width of the hidden layers.
        num_layers: Number of linear layers of the perceptron.
        norm: Normalisation in the perceptron. ``"layer"`` is per edge, so graphs of a batch do not mix.
        field: Name of the node field of eigenvectors ``[N, k]``.
        count_field: Name of the graph field with the number of eigenvectors that are not padding, ``[B, 1]``.

    Raises:
        ValueError: For invalid settings; in :meth:`forward` if a field is missing or doesn't fit, or if an edge has a
            node that isn't there or joins two graphs.

    References:
        Wang et al., "Equivariant and Stable Positional Encoding for More Powerful Graph Neural Networks",
        https://arxiv.org/abs/2203.00199.
    """

    level: Level = "edge"
    role: ClassVar[Role] = "gate"
    invariant_to: frozenset[Symmetry] = frozenset({"sign", "basis"})

    def __init__(
        self,
        k: int,
        out_channels: int,
        hidden_channels: int = 64,
        num_layers: int = 3,
        norm: Normalization = "layer",
        field: str = "laplacian_eigenvector_pe",
        count_field: str = "laplacian_eigenvector_count",
    ) -> None:
        super().__init__()
        check_positive(
            k=k, out_channels=out_channels, hidden_channels=hidden_channels, num_layers=num_layers
        )
        self.requires = laplacian_requirements(k, field, None, count_field, eigenvalues=False)
        self.out_channels = out_channels
        self.mlp = mlp([1, *[hidden_channels] * (num_layers - 1), out_channels], norm)
        self.mixes_graphs_in_training = has_batch_normalization(self)

    def forward(self, data: Data) -> Tensor:
        layout = graph_layout(data)
        vectors, count = self.read(data, layout)
        valid = torch.arange(vectors.size(1), device=count.device) < count[layout.batch]
        vectors = vectors.masked_fill(~valid, 0)
        source, target = read_edges(data, layout)
        # torch's norm has the gradient 0 at 0, unlike the square root of a sum of squares.
        distance = torch.linalg.vector_norm(vectors[source] - vectors[target], dim=1, keepdim=True)
        return self.mlp(distance)
