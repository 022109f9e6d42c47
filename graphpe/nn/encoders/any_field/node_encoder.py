"""A linear map of a node field."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.nn.blocks import check_positive
from graphpe.nn.encoders.base import FieldEncoder, FieldRequirement
from graphpe.nn.layout import graph_layout


class NodeEncoder(FieldEncoder):
    """Maps a node field by a linear layer: :math:`W f_i + b`.

    For fields without symmetry, such as return probabilities of random walks. It has no way to respect signs of
    eigenvectors.

    Args:
        in_channels: Number of columns of the field.
        out_channels: Width of the output.
        field: Name of the node field.
        transform: Name of the transform that writes the field, for error messages; known for the default field.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        field: str = "random_walk_pe",
        transform: str | None = None,
    ) -> None:
        super().__init__()
        check_positive(in_channels=in_channels, out_channels=out_channels)
        if transform is None and field == "random_walk_pe":
            transform = "AddRandomWalkPE"
        self.requires = (FieldRequirement(field, "node", in_channels, transform),)
        self.out_channels = out_channels
        self.linear = nn.Linear(in_channels, out_channels)

    def forward(self, data: Data) -> Tensor:
        (values,) = self.read(data, graph_layout(data))
        return self.linear(values)
