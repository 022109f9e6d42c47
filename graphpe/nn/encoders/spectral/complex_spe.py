"""Stable and expressive positional encodings from complex eigenvectors."""

from __future__ import annotations

from typing import ClassVar, get_args

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.checks import require_choice
from graphpe.fields import Symmetry
from graphpe.nn.blocks import Normalization, check_positive, has_batch_normalization, mlp
from graphpe.nn.edges import read_edges
from graphpe.nn.encoders.base import FieldEncoder
from graphpe.nn.encoders.spectral.eigenvalue_filters import place_weights
from graphpe.nn.encoders.spectral.hermitian_products import hermitian_products
from graphpe.nn.encoders.spectral.magnetic_fields import magnetic_requirements
from graphpe.nn.encoders.spectral.pair_levels import PairLevel, from_pairs
from graphpe.nn.layout import graph_layout, node_pairs
from graphpe.nn.pairs.pair_networks import PAIR_NETWORKS, PairNetworkName


class ComplexSPE(FieldEncoder):
    r"""Stable and expressive positional encodings from eigenpairs of Hermitian matrices, such as magnetic Laplacians.

    .. math::
        W_{q,m} = V_q\, \mathrm{diag}(\varphi_m(\lambda_q))\, V_q^H, \qquad
        R = \rho\big(\mathrm{Re}\, W, \mathrm{Im}\, W\big), \qquad
        p_i = A \sum_j R_{ij} + a

    for potentials q and a multi-layer perceptron :math:`\varphi` from an eigenvalue to M weights, the same for all q;
    the 2QM numbers of each pair of nodes go through a network :math:`\rho` on the pairs of nodes of a graph, and
    :math:`A, a` are a linear layer. Pairs (i, j), or those that are edges, have :math:`p_{ij} = A R_{ij} + a`.

    Equal eigenvalues get equal weights, so the encoding doesn't change when eigenvectors are multiplied by phases or a
    unitary matrix mixes those of an eigenspace; and close eigenvalues get close weights, so it is stable. Padding never
    enters a sum or a normalisation: pairs and eigenvalues are ragged lists.

    W is Hermitian: real parts are the same for (i, j) and (j, i), imaginary parts have opposite signs and carry the
    direction. Messages of ``rho="gin"`` go along the edges as the batch has them; with edges in one direction only,
    nothing comes back.

    The basis is free only inside the ``k`` eigenvectors: where ``k`` cuts an eigenspace, which the field
    ``magnetic_eigenspace_cut`` says, the encoding depends on which part of it the field holds (see
    :class:`~graphpe.nn.SPE`). ``k >= n`` avoids it.

    Time grows with :math:`Qk \sum n^2` over the graphs of a batch, memory with :math:`\sum n^2`: :math:`\rho`'s first
    linear layer is applied to the weights of the eigenpairs, so that no pair ever has its 2QM numbers.

    The published networks use ``phi_hidden_channels=32, phi_layers=3, num_channels=16, num_layers=2``.

    Args:
        k: Number of eigenpairs per potential.
        out_channels: Width of the output.
        potentials: Number of potentials, Q.
        hidden_channels: Width of ρ.
        num_layers: Number of GIN layers of ρ, or of linear layers for ``rho="mlp"``.
        num_channels: Number of weightings, M.
        phi_hidden_channels: Width of φ's hidden layers.
        phi_layers: Number of linear layers of φ.
        rho: ``"gin"`` passes messages along the edges of the graph, for each column j by itself; ``"mlp"`` looks at
            each pair by itself; ``"gin_deepsets"`` is a GIN, and then two layers of DeepSets over the columns of each
            node.
        level: What a row of the output describes: ``"node"``, ``"pair"`` (all pairs, row-major, as a pair field) or
            ``"edge"`` (those of ``edge_index``, in its order).
        norm: Normalisation in φ and ρ. ``"layer"`` is per pair and per eigenvalue, so graphs of a batch do not mix.
        field: Name of the complex node field of eigenvectors ``[N, Q, k]``, or ``[N, k]`` for one potential.
        eigenvalue_field: Name of the graph field of eigenvalues ``[B, Q, k]``, or ``[B, k]``.
        count_field: Name of the graph field with the number of eigenpairs that are not padding, ``[B, 1]``.

    Raises:
        ValueError: For invalid settings; in :meth:`forward` if a field is missing or doesn't fit, or if an edge has a
            node that isn't there or joins two graphs.

    References:
        Huang et al., "What Are Good Positional Encodings for Directed Graphs?", https://arxiv.org/abs/2407.20912.
    """

    invariant_to: frozenset[Symmetry] = frozenset({"sign", "basis", "phase"})
    reads_complex: ClassVar[bool] = True

    def __init__(
        self,
        k: int,
        out_channels: int,
        potentials: int = 1,
        hidden_channels: int = 64,
        num_layers: int = 2,
        num_channels: int = 16,
        phi_hidden_channels: int = 32,
        phi_layers: int = 3,
        rho: PairNetworkName = "gin",
        level: PairLevel = "node",
        norm: Normalization = "layer",
        field: str = "magnetic_eigenvector_pe",
        eigenvalue_field: str = "magnetic_eigenvalue",
        count_field: str = "magnetic_eigenvector_count",
    ) -> None:
        super().__init__()
        check_positive(
            k=k,
            out_channels=out_channels,
            potentials=potentials,
            hidden_channels=hidden_channels,
            num_layers=num_layers,
            num_channels=num_channels,
            phi_hidden_channels=phi_hidden_channels,
            phi_layers=phi_layers,
        )
        require_choice("rho", rho, list(PAIR_NETWORKS))
        require_choice("level", level, get_args(PairLevel))
        self.requires = magnetic_requirements(k, potentials, field, eigenvalue_field, count_field)
        self.out_channels = out_channels
        self.level = level
        self.phi = mlp(
            [1, *[phi_hidden_channels] * (phi_layers - 1), num_channels],
            norm,
            "phi_hidden_channels",
        )
        channels = 2 * potentials * num_channels
        self.rho = PAIR_NETWORKS[rho](channels, hidden_channels, hidden_channels, num_layers, norm)
        self.uses_edges = rho != "mlp" or level == "edge"
        self.linear = nn.Linear(hidden_channels, out_channels)
        self.mixes_graphs_in_training = has_batch_normalization(self)

    def forward(self, data: Data) -> Tensor:
        layout = graph_layout(data)
        edge_index = read_edges(data, layout) if self.uses_edges else None
        pairs = node_pairs(layout)
        vectors, eigenvalues, count = self.read(data, layout)
        weights = self._weigh(eigenvalues, count)
        mapped = hermitian_products(vectors, weights, self.rho.first_weight, layout, pairs)
        encoded = self.rho.forward_mapped(mapped, pairs, edge_index)
        return self.linear(from_pairs(encoded, self.level, layout, pairs, edge_index))

    def _weigh(self, eigenvalues: Tensor, count: Tensor) -> Tensor:
        """φ of the eigenvalues ``[B, Q, k]``; zero for padding: ``[B, Q, k, M]``."""
        position = torch.arange(eigenvalues.size(2), device=count.device)
        valid = (position < count)[:, None].expand(eigenvalues.shape)
        # In half precision, close eigenvalues would be one; there are few of them.
        with torch.autocast(eigenvalues.device.type, enabled=False):
            return place_weights(self.phi(eigenvalues[valid][:, None]), valid)
