"""A perceptron on a node field."""

from __future__ import annotations

from torch import Tensor
from torch_geometric.data import Data

from graphpe.nn.blocks import Normalization, check_positive, mlp
from graphpe.nn.encoders.any_field.raw_normalization import raw_normalization
from graphpe.nn.encoders.base import FieldEncoder, FieldRequirement
from graphpe.nn.layout import graph_layout


class NodeEncoder(FieldEncoder):
    r"""Maps a node field by a linear layer, or a multi-layer perceptron: :math:`p_i = \mathrm{MLP}(f_i)`.

    For fields without symmetry, such as return probabilities of random walks. It has no way to respect signs of
    eigenvectors.

    The networks of GraphGPS with 20 return probabilities use ``raw_norm="batch"`` and one linear layer.

    Args:
        in_channels: Number of columns of the field.
        out_channels: Width of the output.
        field: Name of the node field.
        transform: Name of the transform that writes the field, for error messages; known for the default field.
        hidden_channels: Width of the hidden layers; without effect on a single layer.
        num_layers: Number of linear layers.
        norm: Normalisation between the layers of the perceptron. ``"layer"`` is per node, so graphs of a batch do not
            mix.
        raw_norm: Normalisation of the field before the perceptron. ``"batch"``: each column over all nodes of a batch,
            which brings columns of different sizes to one scale; long walks, say, return less often than short ones.
            ``"layer"``: per node, over the columns.

    Raises:
        ValueError: For invalid settings; in :meth:`forward` if the field is missing or doesn't fit.

    References:
        Rampášek et al., "Recipe for a General, Powerful, Scalable Graph Transformer",
        https://arxiv.org/abs/2205.12454.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        field: str = "random_walk_pe",
        transform: str | None = None,
        hidden_channels: int = 64,
        num_layers: int = 1,
        norm: Normalization = "layer",
        raw_norm: Normalization = "none",
    ) -> None:
        super().__init__()
        check_positive(
            in_channels=in_channels,
            out_channels=out_channels,
            hidden_channels=hidden_channels,
            num_layers=num_layers,
        )
        if transform is None and field == "random_walk_pe":
            transform = "AddRandomWalkPE"
        self.requires = (FieldRequirement(field, "node", in_channels, transform),)
        self.out_channels = out_channels
        self.mixes_graphs_in_training = raw_norm == "batch" or (norm == "batch" and num_layers > 1)
        self.raw_norm = raw_normalization(raw_norm, in_channels)
        self.mlp = mlp([in_channels, *[hidden_channels] * (num_layers - 1), out_channels], norm)

    def forward(self, data: Data) -> Tensor:
        (values,) = self.read(data, graph_layout(data))
        return self.mlp(self.raw_norm(values))
