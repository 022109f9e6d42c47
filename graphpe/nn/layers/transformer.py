"""A transformer layer: attention between all nodes of a graph."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from graphpe.nn.attention import AttentionKernel, AttentionPlaces, DenseAttention
from graphpe.nn.blocks import check_dropout, check_layer_norm
from graphpe.nn.layers.structure_extractor import StructureExtractor


class TransformerLayer(nn.Module):
    r"""Attention of each node to all nodes of its graph, and a feed-forward network, each with LayerNorm after it.

    .. math::
        z_i &= \mathrm{LayerNorm}\big(h_i + c_i\, \mathrm{Attention}(h)_i\big) \\
        h_i &\leftarrow \mathrm{LayerNorm}\big(z_i + \mathrm{FFN}(z_i)\big)

    where the attention is a :class:`~graphpe.nn.DenseAttention` whose queries and keys come from the nodes, or from
    the output of a :class:`~graphpe.nn.StructureExtractor`; :math:`c_i = 1`, or a scale that is given; and FFN has
    one hidden layer of four times the width, with GELU.

    Args:
        channels: Width of the nodes.
        heads: Number of heads; must divide ``channels``.
        dropout: Probability of dropout after attention and in the FFN; attention weights have none.
        pair_channels: Width of each of the encodings of pairs.
        structure_hops: Hops of the structure extractor; 0: queries and keys come from the nodes as they are.
        edge_channels: Width of the edge vectors that the extractor reads; 0: there are none.
        kernel: Kernel of the attention.

    Raises:
        ValueError: If a size is not a positive integer, ``heads`` does not divide ``channels``, there is one channel
            only, or ``dropout`` is no probability less than 1.

    References:
        Vaswani et al., "Attention Is All You Need", https://arxiv.org/abs/1706.03762;
        Geisler et al., "Transformers Meet Directed Graphs", https://arxiv.org/abs/2302.00049.
    """

    def __init__(
        self,
        channels: int,
        heads: int,
        dropout: float = 0.0,
        pair_channels: Sequence[int] = (),
        structure_hops: int = 0,
        edge_channels: int = 0,
        kernel: AttentionKernel = "sdpa",
    ) -> None:
        super().__init__()
        self.attention = DenseAttention(channels, heads, pair_channels, kernel=kernel)
        check_layer_norm(channels)
        check_dropout(dropout)
        self.structure = (
            StructureExtractor(channels, structure_hops, edge_channels) if structure_hops else None
        )
        self.feed_forward = nn.Sequential(
            nn.Linear(channels, 4 * channels),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(4 * channels, channels),
        )
        self.first_norm = nn.LayerNorm(channels)
        self.second_norm = nn.LayerNorm(channels)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, places: AttentionPlaces, scale: Tensor | None = None) -> Tensor:
        """Updates the nodes.

        Args:
            x: ``[R, channels]`` the nodes, and tokens if the places have them.
            places: Where the rows lie, in stacks; with what attention and a structure extractor read.
            scale: ``[R, 1]`` what the output of attention is multiplied by.

        Returns:
            ``[R, channels]``.
        """
        structure = None
        if self.structure is not None:
            structure = self.structure(x, places.edge_index, places.edge)
        attended = self.attention(x, places, structure)
        if scale is not None:
            attended = attended * scale
        x = self.first_norm(x + self.dropout(attended))
        return self.second_norm(x + self.dropout(self.feed_forward(x)))
