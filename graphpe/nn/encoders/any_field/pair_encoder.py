"""A perceptron on a pair field: walks, distances or anything else that two nodes have between them."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.checks import require_choice
from graphpe.nn.blocks import Normalization, check_positive, mlp
from graphpe.nn.encoders.any_field.raw_normalization import raw_normalization
from graphpe.nn.encoders.base import FieldEncoder, FieldRequirement
from graphpe.nn.layout import graph_layout, node_pairs
from graphpe.nn.pairs.pair_gin import after_first_weight
from graphpe.nn.rows import apply_to_rows
from graphpe.nn.sums import sum_by_group

_DEFAULT_FIELD = "directed_random_walk_pe"


class PairEncoder(FieldEncoder):
    r"""Maps a pair field by a multi-layer perceptron, to pairs or to nodes.

    .. math:: p_{uv} = \mathrm{MLP}(f_{uv}) \qquad\text{or}\qquad
        p_v = \mathrm{MLP}\Big(\sum_u \mathrm{ReLU}(W f_{uv} + b)\Big)

    where f is the field, normalised as ``raw_norm`` says. The sum is over all nodes u of the graph, the sources of the
    pairs (u, v). Pairs are ragged lists, so there is no padding. For fields without symmetry: directed walks, walk
    profiles, distances, relative walks.

    Time and memory grow with :math:`\sum n^2` over the graphs of a batch.

    Args:
        in_channels: Number of columns of the field.
        out_channels: Width of the output.
        field: Name of the pair field.
        transform: The transform that writes the field, for error messages; known for the default field.
        hidden_channels: Width of the hidden layers, and of the sum.
        num_layers: Number of linear layers of the perceptron.
        level: What a row of the output describes: ``"pair"`` (all pairs, row-major, as a pair field) or ``"node"``.
        norm: Normalisation between the layers of the perceptron. ``"layer"`` is per pair or node, so graphs of a batch
            do not mix.
        categories: For an integer field, such as shortest paths, the number of its categories: each column has an
            embedding per category in place of a weight. None: floats.
        raw_norm: Normalisation of a field of floats before the perceptron. ``"batch"``: each column over all pairs of a
            batch, which brings columns of different sizes to one scale. ``"layer"``: per pair, over the columns.

    Raises:
        ValueError: For invalid settings; in :meth:`forward` if the field is missing or doesn't fit, or for a category
            outside of 0 to ``categories - 1``.

    References:
        Geisler et al., "Transformers Meet Directed Graphs", https://arxiv.org/abs/2302.00049.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        field: str = _DEFAULT_FIELD,
        transform: str | None = None,
        hidden_channels: int = 64,
        num_layers: int = 2,
        level: Literal["pair", "node"] = "pair",
        norm: Normalization = "layer",
        categories: int | None = None,
        raw_norm: Normalization = "none",
    ) -> None:
        super().__init__()
        check_positive(
            in_channels=in_channels,
            out_channels=out_channels,
            hidden_channels=hidden_channels,
            num_layers=num_layers,
        )
        require_choice("level", level, ("pair", "node"))
        if categories is not None:
            check_positive(categories=categories)
            if raw_norm != "none":
                raise ValueError(
                    f"raw_norm is {raw_norm!r}, but categories are not normalised; it must be 'none'"
                )
        if transform is None and field == _DEFAULT_FIELD:
            transform = "AddDirectedRandomWalkPE(walk_length, level='pair')"
        kind = "float" if categories is None else "integer"
        self.requires = (FieldRequirement(field, "pair", in_channels, transform, kind),)
        self.out_channels = out_channels
        self.level = level
        self.categories = categories
        self.perceptron_mixes_rows = norm == "batch" and num_layers > 1
        self.mixes_graphs_in_training = self.perceptron_mixes_rows or raw_norm == "batch"
        self.raw_norm = raw_normalization(raw_norm, in_channels)
        # The weights of one-hot vectors, which are never made: a column of weights is the embedding of a category.
        width = in_channels * (categories or 1)
        hidden = [hidden_channels] * (num_layers - 1)
        if level == "node":
            self.message = nn.Sequential(nn.Linear(width, hidden_channels), nn.ReLU(inplace=True))
            width = hidden_channels
        self.mlp = mlp([width, *hidden, out_channels], norm)

    def forward(self, data: Data) -> Tensor:
        layout = graph_layout(data)
        (values,) = self.read(data, layout)
        if self.categories is None:
            values = self.raw_norm(values)
        else:
            self._check_range(values)
        if self.level == "pair":
            mixes_rows = self.training and self.perceptron_mixes_rows
            return apply_to_rows(self._encode_pairs, values, mixes_rows)
        messages = apply_to_rows(self._messages, values, mixes_rows=False)
        target = node_pairs(layout).target
        return self.mlp(sum_by_group(messages, target, layout.num_nodes))

    def _encode_pairs(self, values: Tensor) -> Tensor:
        if self.categories is None:
            return self.mlp(values)
        return after_first_weight(self.mlp, self._embed(values, self.mlp.lins[0].weight))

    def _messages(self, values: Tensor) -> Tensor:
        if self.categories is None:
            return self.message(values)
        linear, activation = self.message
        return activation(self._embed(values, linear.weight) + linear.bias)

    def _embed(self, values: Tensor, weight: Tensor) -> Tensor:
        """``[P, c]`` categories to ``[P, hidden]``, as ``weight`` ``[hidden, c * categories]`` maps one-hot vectors."""
        first_row = self.categories * torch.arange(values.size(1), device=values.device)
        # A bag has no gradient in half precision.
        table = weight.t().to(torch.promote_types(weight.dtype, torch.float32)).contiguous()
        embedded = nn.functional.embedding_bag(values + first_row, table, mode="sum")
        return embedded.to(weight.dtype)

    def _check_range(self, values: Tensor) -> None:
        if values.numel():
            lowest, highest = torch.stack(values.aminmax()).tolist()
            if lowest < 0 or highest >= self.categories:
                raise ValueError(
                    f"{self.requires[0].name!r} has the category {lowest if lowest < 0 else highest}, but PairEncoder "
                    f"was built for categories={self.categories}, 0 to {self.categories - 1}"
                )
