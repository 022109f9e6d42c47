"""A linear map of eigenvectors, with random signs in training."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.fields import Symmetry
from graphpe.nn.blocks import check_positive
from graphpe.nn.encoders.base import FieldEncoder, FieldRequirement
from graphpe.nn.layout import graph_layout


class EigenvectorEncoder(FieldEncoder):
    r"""Maps eigenvectors by a linear layer: :math:`W (s \odot v_i) + b`, with random signs :math:`s` in training.

    In training each graph draws its own sign per column at each forward pass, from torch's default generator; in
    evaluation the stored signs are used, so that predictions are reproducible. The output is not invariant to signs:
    the network only learns to be. It neither is nor learns to be invariant to the choice of a basis in a repeated
    eigenspace; :class:`~graphpe.nn.SPE` is.

    Args:
        k: Number of eigenvectors.
        out_channels: Width of the output.
        field: Name of the node field of eigenvectors.
        transform: The transform that writes the field, for error messages.

    References:
        Dwivedi and Bresson, "A Generalization of Transformer Networks to Graphs", https://arxiv.org/abs/2012.09699.
    """

    augments: ClassVar[frozenset[Symmetry]] = frozenset({"sign"})
    mixes_graphs_in_training = True

    def __init__(
        self,
        k: int,
        out_channels: int,
        field: str = "laplacian_eigenvector_pe",
        transform: str = "AddLaplacianEigenvectorPE",
    ) -> None:
        super().__init__()
        check_positive(k=k, out_channels=out_channels)
        self.requires = (FieldRequirement(field, "node", k, transform),)
        self.out_channels = out_channels
        self.linear = nn.Linear(k, out_channels)

    def forward(self, data: Data) -> Tensor:
        layout = graph_layout(data)
        (vectors,) = self.read(data, layout)
        if self.training:
            shape = (layout.num_graphs, vectors.size(1))
            signs = 1 - 2 * torch.randint(0, 2, shape, device=vectors.device)
            vectors = vectors * signs[layout.batch]
        return self.linear(vectors)
