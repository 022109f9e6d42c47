"""MagLapNet: an encoder of complex eigenvectors that treats them as two real ones."""

from __future__ import annotations

from typing import ClassVar, Literal, get_args

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.utils import scatter

from graphpe.checks import require_boolean, require_choice
from graphpe.nn.blocks import check_dropout, check_positive
from graphpe.nn.edges import read_edges
from graphpe.nn.encoders.base import FieldEncoder
from graphpe.nn.encoders.spectral.magnetic_fields import magnetic_requirements
from graphpe.nn.layout import graph_layout

Element = Literal["mlp", "gnn"]
SignNet = Literal["none", "published", "all"]


class MagLapNet(FieldEncoder):
    r"""Encodes the eigenvectors of the magnetic Laplacian as pairs of real numbers, as published.

    .. math::
        h_{vj} = \mathrm{LayerNorm}\big( f(\mathrm{Re}\,\gamma_{vj}, \mathrm{Im}\,\gamma_{vj}) \,\Vert\, \lambda_j
        \big), \qquad
        p_v = \mathrm{ReLU}\Big( W\, \mathrm{dropout}\big(\Vert_j\, (h_{vj} + \mathrm{attention}_v(h)_j)\big) + b \Big)

    The attention is between the eigenvectors j of one node; padding, known from the count field, is neither a key nor
    part of the output. Several potentials are further eigenvectors: there are Qk, and attention takes
    :math:`(Qk)^2` per node.

    What it does not respect: the phase of an eigenvector and the basis of an eigenspace are arbitrary and change the
    output; so :class:`~graphpe.nn.ComplexSPE` should be better where the transform cannot fix them. With
    ``sign_net="all"``, f(z) + f(−z) in place of f(z), signs don't matter, and the instance declares so. With
    ``"published"`` the first eigenvector of each potential keeps f(z), so that its sign is seen and nothing is
    declared; this relies on the phases that the transform has fixed.

    The published networks have ``out_channels=256, scale_by_size=False``; for source code
    ``element="gnn", sign_net="published", dropout=0.1``, for sorting networks ``dropout=0.15``.

    Args:
        k: Number of eigenpairs per potential.
        out_channels: Width of the output.
        potentials: Number of potentials, Q.
        element: f, applied to each eigenvector: a linear layer and ReLU of the two numbers of a node (``"mlp"``), or of
            these, their sum over the nodes with an edge to it, and over those it has an edge to (``"gnn"``).
        element_channels: Width of f; published: 2 · 256 / 32.
        sign_net: ``"none"``, ``"published"`` or ``"all"``: see above.
        scale_by_size: Whether eigenvectors are multiplied by √n, so that their entries are about 1 whatever the
            number of nodes. The published code doesn't; then entries of 50 nodes are about 0.14, and our network
            for sorting networks learned much less from them (``docs/directed.md``).
        heads: Number of attention heads; 0 leaves the attention out.
        dropout: Probability that a number of the h's is dropped in training.
        field: Name of the complex node field of eigenvectors ``[N, Q, k]``, or ``[N, k]`` for one potential.
        eigenvalue_field: Name of the graph field of eigenvalues ``[B, Q, k]``, or ``[B, k]``.
        count_field: Name of the graph field with the number of eigenpairs that are not padding, ``[B, 1]``.

    References:
        Geisler et al., "Transformers Meet Directed Graphs", https://arxiv.org/abs/2302.00049.
    """

    reads_complex: ClassVar[bool] = True

    def __init__(
        self,
        k: int,
        out_channels: int,
        potentials: int = 1,
        element: Element = "mlp",
        element_channels: int = 16,
        sign_net: SignNet = "none",
        scale_by_size: bool = True,
        heads: int = 4,
        dropout: float = 0.1,
        field: str = "magnetic_eigenvector_pe",
        eigenvalue_field: str = "magnetic_eigenvalue",
        count_field: str = "magnetic_eigenvector_count",
    ) -> None:
        super().__init__()
        check_positive(
            k=k, out_channels=out_channels, potentials=potentials, element_channels=element_channels
        )
        require_choice("element", element, get_args(Element))
        require_choice("sign_net", sign_net, get_args(SignNet))
        require_boolean("scale_by_size", scale_by_size)
        width = element_channels + 1
        if heads != 0:
            check_positive(heads=heads)
            if heads > width:
                raise ValueError(
                    f"heads is {heads}, but an eigenvector has element_channels + 1 = {width} numbers; take fewer heads"
                )
        check_dropout(dropout)
        self.requires = magnetic_requirements(k, potentials, field, eigenvalue_field, count_field)
        self.out_channels = out_channels
        self.sign_net = sign_net
        self.scale_by_size = scale_by_size
        if sign_net == "all":
            self.invariant_to = frozenset({"sign"})
        self.mixes_graphs_in_training = dropout > 0
        self.uses_edges = element == "gnn"
        self.element = nn.Linear(6 if self.uses_edges else 2, element_channels)
        self.norm = nn.LayerNorm(width)
        self.attention = _Attention(width, heads) if heads else None
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(potentials * k * width, out_channels)

    def forward(self, data: Data) -> Tensor:
        layout = graph_layout(data)
        vectors, eigenvalues, count = self.read(data, layout)
        if self.scale_by_size:
            root = layout.sizes.to(eigenvalues.dtype).sqrt()
            vectors = vectors * root[layout.batch, None, None]
        edge_index = read_edges(data, layout) if self.uses_edges else None
        elements = self._encode_elements(vectors, edge_index)
        own_eigenvalues = eigenvalues.to(elements.dtype)[layout.batch, :, :, None]
        hidden = self.norm(torch.cat([elements, own_eigenvalues], dim=-1)).flatten(1, 2)
        position = torch.arange(vectors.size(2), device=count.device)
        valid = (position < count[layout.batch]).repeat(1, vectors.size(1))  # [N, Q k]
        if self.attention is not None:
            hidden = hidden + self.attention(hidden, valid)
        hidden = hidden.masked_fill(~valid[..., None], 0)
        return self.linear(self.dropout(hidden.flatten(1))).relu()

    def _encode_elements(self, vectors: Tensor, edge_index: Tensor | None) -> Tensor:
        """f of the eigenvectors, ``[N, Q, k]`` to ``[N, Q, k, element_channels]``."""
        z = torch.view_as_real(vectors.resolve_conj()).to(self.element.weight.dtype)
        if self.uses_edges:
            source, target = edge_index
            incoming = scatter(z[source], target, dim_size=len(z))
            outgoing = scatter(z[target], source, dim_size=len(z))
            z = torch.cat([z, incoming, outgoing], dim=-1)
        encoded = self.element(z).relu()
        if self.sign_net == "none":
            return encoded
        both = encoded + self.element(-z).relu()
        if self.sign_net == "all":
            return both
        return torch.cat([encoded[:, :, :1], both[:, :, 1:]], dim=2)


class _Attention(nn.Module):
    """Attention between rows ``[N, t, width]`` whose width need not be a multiple of the number of heads.

    Args:
        width: Width of a row.
        heads: Number of heads, of width // heads numbers each.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(width, 3 * heads * (width // heads))
        self.out = nn.Linear(heads * (width // heads), width)

    def forward(self, x: Tensor, valid: Tensor) -> Tensor:
        """Attends to the rows that are ``valid [N, t]``."""
        n, t, width = x.shape
        projected = self.project(x).view(n, t, 3, self.heads, width // self.heads)
        query, key, value = projected.permute(2, 0, 3, 1, 4)
        mask = valid[:, None, None]
        attended = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return self.out(attended.transpose(1, 2).flatten(2))
