"""A Graphormer layer: biased attention and a feed-forward network, each with LayerNorm before it."""

from __future__ import annotations

from torch import Tensor, nn

from graphpe.nn.attention import AttentionPlaces, DenseAttention
from graphpe.nn.blocks import check_dropout, check_layer_norm


class GraphormerLayer(nn.Module):
    r"""Attention of each node to all nodes of its graph, and a feed-forward network, each with LayerNorm before it.

    .. math::
        z_i &= h_i + \mathrm{Drop}\big(\mathrm{Attention}(\mathrm{LayerNorm}(h))_i\big) \\
        h_i &\leftarrow z_i + \mathrm{Drop}\big(\mathrm{FFN}(\mathrm{LayerNorm}(z_i))\big)

    where the attention is a :class:`~graphpe.nn.DenseAttention`, to whose logits a bias per pair and head may be added;
    and FFN has one hidden layer of the same width, with GELU.

    Args:
        channels: Width of the nodes.
        heads: Number of heads; must divide ``channels``.
        dropout: Probability of dropout after attention and after the FFN.
        attention_dropout: Probability of dropout of attention weights.
        biased: Whether the places have an encoding of pairs of width ``heads``: the bias.

    Raises:
        ValueError: If a size is not a positive integer, ``heads`` does not divide ``channels``, there is one channel
            only, or a probability of dropout is no probability less than 1.

    References:
        Ying et al., "Do Transformers Really Perform Bad for Graph Representation?", https://arxiv.org/abs/2106.05234.
    """

    def __init__(
        self,
        channels: int,
        heads: int,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        biased: bool = True,
    ) -> None:
        super().__init__()
        self.attention = DenseAttention(
            channels, heads, None if biased else (), dropout=attention_dropout
        )
        check_layer_norm(channels)
        check_dropout(dropout)
        self.feed_forward = nn.Sequential(
            nn.Linear(channels, channels), nn.GELU(), nn.Linear(channels, channels)
        )
        self.attention_norm = nn.LayerNorm(channels)
        self.feed_forward_norm = nn.LayerNorm(channels)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, places: AttentionPlaces) -> Tensor:
        """Updates the nodes.

        Args:
            x: ``[R, channels]`` the nodes, and tokens if the places have them.
            places: Where the rows lie, in stacks; with the bias, if there is one.

        Returns:
            ``[R, channels]``.
        """
        x = x + self.dropout(self.attention(self.attention_norm(x), places))
        return x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))
