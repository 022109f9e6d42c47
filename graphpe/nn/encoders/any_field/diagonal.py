"""A linear map of what each node has with itself in a pair field."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.nn.blocks import check_positive
from graphpe.nn.encoders.base import FieldEncoder, FieldRequirement
from graphpe.nn.layout import graph_layout
from graphpe.ragged import offsets_of

_DEFAULT_FIELD = "relative_random_walk_pe"


class DiagonalEncoder(FieldEncoder):
    r"""Maps the diagonal of a pair field by a linear layer, to nodes: :math:`W f_{ii} + b`.

    The relative random walks of GRIT enter a network so: the diagonal at the nodes, and all pairs, diagonal included,
    at the pairs::

        positional_encoders=[
            DiagonalEncoder(21, hidden_channels),
            PairEncoder(21, hidden_channels, "relative_random_walk_pe", "AddRelativeRandomWalkPE", num_layers=1),
        ]

    Args:
        in_channels: Number of columns of the field.
        out_channels: Width of the output.
        field: Name of the pair field.
        transform: Name of the transform that writes the field, for error messages; known for the default field.

    References:
        Ma et al., "Graph Inductive Biases in Transformers without Message Passing", https://arxiv.org/abs/2305.17589.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        field: str = _DEFAULT_FIELD,
        transform: str | None = None,
    ) -> None:
        super().__init__()
        check_positive(in_channels=in_channels, out_channels=out_channels)
        if transform is None and field == _DEFAULT_FIELD:
            transform = f"AddRelativeRandomWalkPE(walk_length={in_channels})"
        self.requires = (FieldRequirement(field, "pair", in_channels, transform),)
        self.out_channels = out_channels
        self.linear = nn.Linear(in_channels, out_channels)

    def forward(self, data: Data) -> Tensor:
        layout = graph_layout(data)
        (values,) = self.read(data, layout)
        first_pair = offsets_of(layout.sizes.square())[layout.batch]
        place = torch.arange(layout.num_nodes, device=layout.ptr.device) - layout.ptr[layout.batch]
        diagonal = first_pair + place * (layout.sizes[layout.batch] + 1)
        return self.linear(values.index_select(0, diagonal))
