"""A node as a set of pairs, eigenvector entry and eigenvalue: the learned LapPE of SAN and GraphGPS."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, Literal, get_args

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.checks import require_choice
from graphpe.fields import Symmetry
from graphpe.nn.blocks import Normalization, check_positive, mlp, normalization
from graphpe.nn.columns import NodeColumns, node_columns
from graphpe.nn.encoders.base import FieldEncoder
from graphpe.nn.encoders.spectral.laplacian_fields import laplacian_requirements
from graphpe.nn.encoders.spectral.set_pooling import ColumnPooling
from graphpe.nn.encoders.spectral.signs import random_signs
from graphpe.nn.layout import graph_layout

RawNormalization = Literal["batch", "none"]


class _EigenpairSet(FieldEncoder):
    """What both encoders share: the pairs, with random signs in training."""

    augments: frozenset[Symmetry] = frozenset({"sign"})
    mixes_graphs_in_training: ClassVar[bool] = True

    def __init__(
        self,
        k: int,
        out_channels: int,
        raw_norm: RawNormalization,
        field: str,
        eigenvalue_field: str,
        count_field: str,
    ) -> None:
        super().__init__()
        check_positive(k=k, out_channels=out_channels)
        require_choice("raw_norm", raw_norm, get_args(RawNormalization))
        self.requires = laplacian_requirements(k, field, eigenvalue_field, count_field)
        self.k = k
        self.out_channels = out_channels
        self.raw_norm = normalization(raw_norm, 2)

    def forward(self, data: Data) -> Tensor:
        layout = graph_layout(data)
        vectors, count, eigenvalues = self.read(data, layout)
        if self.training:
            vectors = vectors * random_signs(layout, self.k)
        columns = node_columns(layout, count[:, 0])
        entry = vectors[columns.source, columns.column]
        eigenvalue = eigenvalues[layout.batch[columns.source], columns.column]
        pairs = torch.stack([entry, eigenvalue], dim=1)
        return self._encode(self.raw_norm(pairs), columns)

    @abstractmethod
    def _encode(self, pairs: Tensor, columns: NodeColumns) -> Tensor:
        """Maps ``[R, 2]``, the pairs of all nodes, to ``[N, out_channels]``."""


class EigenpairDeepSets(_EigenpairSet):
    r"""Encodes the set of pairs of eigenvector entry and eigenvalue of each node by a DeepSets network.

    .. math:: p_i = \rho\Big( \sum_{j=1}^{k} \varphi(s_j v_{ij}, \lambda_j) \Big)

    with perceptrons :math:`\varphi` and :math:`\rho`. In training each graph draws its own random signs
    :math:`s_j = \pm 1` at each forward pass, from torch's default generator; in evaluation they are 1, the stored
    signs. The output is not invariant to signs: the network only learns to be. It neither is nor learns to be
    invariant to the basis of a repeated eigenspace; :class:`~graphpe.nn.SPE` is.

    A graph with fewer than k eigenpairs has a smaller sum; padding never enters it. Without any, its nodes are
    encoded as :math:`\rho(0)`.

    GraphGPS for Peptides and ogbg-molpcba has ``k=10, num_layers=2, norm="none"`` and 16 channels, without ρ; and the
    combinatorial Laplacian, ``normalization="none"`` in the transform.

    Args:
        k: Number of eigenpairs.
        out_channels: Width of the output.
        hidden_channels: Width of the hidden layers of φ and ρ, and of the sum.
        num_layers: Number of linear layers of φ, each with a ReLU after it.
        post_layers: Number of linear layers of ρ.
        norm: Normalisation between the layers of φ, and of ρ. ``"layer"`` is per pair and per node.
        raw_norm: ``"batch"`` normalises the entries, and the eigenvalues, over all pairs of the batch before φ, where
            GraphGPS does so for each j, padding included; ``"none"`` takes them as they are.
        field: Name of the node field of eigenvectors ``[N, k]``.
        eigenvalue_field: Name of the graph field of eigenvalues ``[B, k]``.
        count_field: Name of the graph field with the number of eigenpairs that are not padding, ``[B, 1]``.

    Raises:
        ValueError: For invalid settings; in :meth:`forward` if a field is missing or doesn't fit.

    References:
        Zaheer et al., "Deep Sets", https://arxiv.org/abs/1703.06114;
        Rampášek et al., "Recipe for a General, Powerful, Scalable Graph Transformer",
        https://arxiv.org/abs/2205.12454.
    """

    def __init__(
        self,
        k: int,
        out_channels: int,
        hidden_channels: int = 32,
        num_layers: int = 2,
        post_layers: int = 1,
        norm: Normalization = "layer",
        raw_norm: RawNormalization = "none",
        field: str = "laplacian_eigenvector_pe",
        eigenvalue_field: str = "laplacian_eigenvalue",
        count_field: str = "laplacian_eigenvector_count",
    ) -> None:
        super().__init__(k, out_channels, raw_norm, field, eigenvalue_field, count_field)
        check_positive(
            hidden_channels=hidden_channels, num_layers=num_layers, post_layers=post_layers
        )
        self.phi = nn.Sequential(mlp([2, *[hidden_channels] * num_layers], norm), nn.ReLU())
        self.rho = ColumnPooling(
            "sum", k, hidden_channels, hidden_channels, out_channels, post_layers, norm
        )

    def _encode(self, pairs: Tensor, columns: NodeColumns) -> Tensor:
        return self.rho(self.phi(pairs), columns)


class EigenpairTransformer(_EigenpairSet):
    r"""Encodes the set of pairs of eigenvector entry and eigenvalue of each node by a Transformer.

    .. math::
        p_i = \rho\Big( \sum_{j=1}^{k} h_{ij} \Big), \qquad
        (h_{i1}, \dots, h_{ik}) = \mathrm{Transformer}\big( (W (s_j v_{ij}, \lambda_j)^\top + b)_{j=1}^k \big)

    where the pairs of one node attend to each other, and :math:`\rho` is a perceptron. Signs, padding and invariance
    are as for :class:`~graphpe.nn.EigenpairDeepSets`. Padding is not even a key of the attention, which is between as
    many pairs as the node has; time and memory grow with :math:`\sum n k^2`.

    SAN as in GraphGPS has for ZINC ``k=10, hidden_channels=8, num_layers=2, heads=4`` without ρ, and for Peptides
    ``hidden_channels=16``; with wider feed-forward networks, and dropout.

    Args:
        k: Number of eigenpairs.
        out_channels: Width of the output.
        hidden_channels: Width of the Transformer, and of the hidden layers of ρ.
        num_layers: Number of Transformer layers.
        heads: Number of attention heads; must divide ``hidden_channels``.
        post_layers: Number of linear layers of ρ.
        norm: Normalisation between the layers of ρ; the Transformer has LayerNorm.
        raw_norm: ``"batch"`` normalises the entries, and the eigenvalues, over all pairs of the batch first;
            ``"none"`` takes them as they are.
        field: Name of the node field of eigenvectors ``[N, k]``.
        eigenvalue_field: Name of the graph field of eigenvalues ``[B, k]``.
        count_field: Name of the graph field with the number of eigenpairs that are not padding, ``[B, 1]``.

    Raises:
        ValueError: For invalid settings; in :meth:`forward` if a field is missing or doesn't fit.

    References:
        Kreuzer et al., "Rethinking Graph Transformers with Spectral Attention", https://arxiv.org/abs/2106.03893;
        Rampášek et al., "Recipe for a General, Powerful, Scalable Graph Transformer",
        https://arxiv.org/abs/2205.12454.
    """

    def __init__(
        self,
        k: int,
        out_channels: int,
        hidden_channels: int = 32,
        num_layers: int = 2,
        heads: int = 4,
        post_layers: int = 1,
        norm: Normalization = "layer",
        raw_norm: RawNormalization = "none",
        field: str = "laplacian_eigenvector_pe",
        eigenvalue_field: str = "laplacian_eigenvalue",
        count_field: str = "laplacian_eigenvector_count",
    ) -> None:
        super().__init__(k, out_channels, raw_norm, field, eigenvalue_field, count_field)
        check_positive(
            hidden_channels=hidden_channels,
            num_layers=num_layers,
            heads=heads,
            post_layers=post_layers,
        )
        self.transformer = ColumnPooling(
            "transformer",
            k,
            2,
            hidden_channels,
            out_channels,
            post_layers,
            norm,
            set_layers=num_layers,
            heads=heads,
        )

    def _encode(self, pairs: Tensor, columns: NodeColumns) -> Tensor:
        return self.transformer(pairs, columns)
