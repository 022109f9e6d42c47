"""An embedding of a field of categories."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.nn.blocks import check_positive
from graphpe.nn.encoders.base import FieldEncoder, FieldRequirement, require_field_name
from graphpe.nn.layout import graph_layout

_TRANSFORMS = {"degree_se": "AddDegreeSE", "weisfeiler_leman_se": "AddWeisfeilerLemanSE"}


class EmbeddingEncoder(FieldEncoder):
    r"""Embeds a node field of categories: the sum over its columns of one table each, :math:`\sum_c E_c[v_{ic}]`.

    Args:
        columns: Number of columns of the field; ``AddDegreeSE`` writes two, the in- and the out-degree.
        categories: Number of categories of each column: ``max_degree + 1`` for ``AddDegreeSE(max_degree)``.
        out_channels: Width of the output.
        field: Name of the node field, of integers.
        transform: Name of the transform that writes the field, for error messages; known for the default field.

    Raises:
        ValueError: For invalid settings; in :meth:`forward` if the field is missing or doesn't fit, or for a category
            outside of 0 to ``categories - 1``.

    References:
        Ying et al., "Do Transformers Really Perform Bad for Graph Representation?" (centrality encoding),
        https://arxiv.org/abs/2106.05234.
    """

    def __init__(
        self,
        columns: int,
        categories: int,
        out_channels: int,
        field: str = "degree_se",
        transform: str | None = None,
    ) -> None:
        super().__init__()
        check_positive(columns=columns, categories=categories, out_channels=out_channels)
        require_field_name("field", field)
        transform = transform or _TRANSFORMS.get(field)
        self.requires = (FieldRequirement(field, "node", columns, transform, "integer"),)
        self.out_channels = out_channels
        self.categories = categories
        # One table in which each column has its own rows is one lookup instead of many.
        self.embedding = nn.EmbeddingBag(columns * categories, out_channels, mode="sum")

    def forward(self, data: Data) -> Tensor:
        (values,) = self.read(data, graph_layout(data))
        outside = (values < 0) | (values >= self.categories)
        if bool(outside.any()):
            raise ValueError(
                f"{self.requires[0].name!r} has the category {int(values[outside][0])}, but EmbeddingEncoder was "
                f"built for categories={self.categories}, 0 to {self.categories - 1}; change one of the two"
            )
        first_row = self.categories * torch.arange(values.size(1), device=values.device)
        return self.embedding(values + first_row)
