"""Angles by which attention rotates queries and keys."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.checks import require_boolean, require_number
from graphpe.fields import Symmetry
from graphpe.nn.blocks import check_positive
from graphpe.nn.encoders.base import FieldEncoder, FieldRequirement, Role
from graphpe.nn.encoders.spectral import signs
from graphpe.nn.layout import graph_layout

_EIGENVECTORS = "laplacian_eigenvector_pe"


class RotaryEncoder(FieldEncoder):
    r"""Maps coordinates of nodes to angles by which attention rotates queries and keys: :math:`\theta_i = \Omega c_i`.

    Plane m is rotated by :math:`\theta_{im} = \omega_m^\top c_i`. Rotations keep lengths, and the logit of a pair
    depends on the difference of its coordinates alone:

    .. math:: \langle R(\theta_i)\, q, R(\theta_j)\, k \rangle = \langle q, R(\theta_j - \theta_i)\, k \rangle
        = \sum_m |q_m|\, |k_m| \cos\big(\omega_m^\top (c_j - c_i) + \phi_m\big)

    where :math:`\phi_m` is the angle from q to k in plane m. So coordinates that are shifted alike in all of a graph
    change nothing; with a readout token, whose angles are 0, they do. Encodings of pairs may bias the same logits.

    The frequencies :math:`\omega_m` are drawn from :math:`N(0, \sigma^2 I)`: the mean of the cosine over draws is
    :math:`\cos(\phi_m) \exp(-\sigma^2 |c_j - c_i|^2 / 2)`. Choose a larger σ for coordinates that hardly differ, such
    as eigenvectors of large graphs, whose entries are about :math:`1 / \sqrt n`.

    Angles are not invariant to signs of eigenvectors, nor to their basis in a repeated eigenspace. With
    ``random_signs`` the network learns to be invariant to signs: in training each graph draws its own sign per column
    at each forward pass, from torch's default generator.

    Args:
        in_channels: Number of columns of the field.
        out_channels: Number of angles: half the ``hidden_channels`` of the Transformer, for all heads together.
        field: Name of the node field of coordinates.
        transform: Name of the transform that writes the field, for error messages; known for the default field.
        learned: Whether the frequencies are learned; else they stay as they are drawn.
        scale: Standard deviation σ of the frequencies.
        random_signs: Whether to draw signs in training, for eigenvectors; None: for the default field alone.

    Raises:
        ValueError: For invalid settings; in :meth:`forward` if the field is missing or doesn't fit.

    References:
        Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", https://arxiv.org/abs/2104.09864;
        Rahimi and Recht, "Random Features for Large-Scale Kernel Machines", NeurIPS 2007.
    """

    role: ClassVar[Role] = "rotate"
    augments: frozenset[Symmetry] = frozenset({"sign"})

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        field: str = _EIGENVECTORS,
        transform: str | None = None,
        learned: bool = True,
        scale: float = 1.0,
        random_signs: bool | None = None,
    ) -> None:
        super().__init__()
        check_positive(in_channels=in_channels, out_channels=out_channels)
        require_boolean("learned", learned)
        require_number("scale", scale, 0.0, may_equal=False)
        if random_signs is None:
            random_signs = field == _EIGENVECTORS
        require_boolean("random_signs", random_signs)
        if transform is None and field == _EIGENVECTORS:
            transform = "AddLaplacianEigenvectorPE"
        self.requires = (FieldRequirement(field, "node", in_channels, transform),)
        self.out_channels = out_channels
        self.random_signs = random_signs
        self.augments = frozenset({"sign"} if random_signs else ())
        self.mixes_graphs_in_training = random_signs
        frequencies = scale * torch.randn(out_channels, in_channels)
        if learned:
            self.frequencies = nn.Parameter(frequencies)
        else:
            self.register_buffer("frequencies", frequencies)

    def forward(self, data: Data) -> Tensor:
        layout = graph_layout(data)
        (coordinates,) = self.read(data, layout)
        # An angle in half precision would be off by a good part of a turn where it is large.
        dtype = torch.promote_types(self.frequencies.dtype, torch.float32)
        coordinates = coordinates.to(dtype)
        if self.training and self.random_signs:
            coordinates = coordinates * signs.random_signs(layout, coordinates.size(1))
        with torch.autocast(coordinates.device.type, enabled=False):
            return nn.functional.linear(coordinates, self.frequencies.to(dtype))
