"""A transformer layer: attention between all nodes of a graph."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from graphpe.nn.blocks import check_dropout, check_layer_norm, check_positive
from graphpe.nn.layers.structure_extractor import StructureExtractor
from graphpe.nn.stacks import Stack, Stacks


class TransformerLayer(nn.Module):
    r"""Attention of each node to all nodes of its graph, and a feed-forward network, each with LayerNorm after it.

    For each head, with :math:`d` channels per head,

    .. math::
        a_{ij} &= \mathrm{softmax}_j\, \Big(\tfrac{1}{\sqrt{d}}\, (R_i Q s_i)^\top (R_j K s_j) + B w_{ij}\Big) \\
        z_i &= \mathrm{LayerNorm}\big(h_i + c_i\, O \textstyle\sum_j a_{ij} V h_j\big) \\
        h_i &\leftarrow \mathrm{LayerNorm}\big(z_i + \mathrm{FFN}(z_i)\big)

    where FFN has one hidden layer of four times the width, with GELU; :math:`w_{ij}` are encodings of pairs;
    :math:`s = h`, or the output of a :class:`~graphpe.nn.layers.StructureExtractor`; :math:`c_i = 1`, or a scale that
    is given; and :math:`R_i` is the identity, or rotates channels m and m + d/2 of each head, as coordinates of a
    plane, by an angle :math:`\theta_{im}` that is given. The logits depend on the differences
    :math:`\theta_j - \theta_i` alone.

    Args:
        channels: Width of the nodes.
        heads: Number of heads; must divide ``channels``.
        dropout: Probability of dropout after attention and in the FFN; attention weights have none.
        pair_channels: Width of each of the encodings of pairs.
        structure_hops: Hops of the structure extractor; 0: queries and keys come from the nodes as they are.
        edge_channels: Width of the edge vectors that the extractor reads; 0: there are none.

    Raises:
        ValueError: If a size is not a positive integer, ``heads`` does not divide ``channels``, there is one channel
            only, or ``dropout`` is no probability less than 1.

    References:
        Vaswani et al., "Attention Is All You Need", https://arxiv.org/abs/1706.03762;
        Geisler et al., "Transformers Meet Directed Graphs", https://arxiv.org/abs/2302.00049;
        Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", https://arxiv.org/abs/2104.09864.
    """

    def __init__(
        self,
        channels: int,
        heads: int,
        dropout: float = 0.0,
        pair_channels: Sequence[int] = (),
        structure_hops: int = 0,
        edge_channels: int = 0,
    ) -> None:
        super().__init__()
        check_positive(channels=channels, heads=heads)
        check_layer_norm(channels)
        check_dropout(dropout)
        if channels % heads:
            raise ValueError(
                f"heads is {heads}, which does not divide the {channels} channels of the layer; "
                "choose a divisor of them (in a network, of hidden_channels)"
            )
        self.heads = heads
        self.query = nn.Linear(channels, channels)
        self.key = nn.Linear(channels, channels)
        self.value = nn.Linear(channels, channels)
        # Without bias, which would move all logits of a node alike.
        self.pair_bias = nn.ModuleList(
            nn.Linear(width, heads, bias=False) for width in pair_channels
        )
        self.structure = (
            StructureExtractor(channels, structure_hops, edge_channels) if structure_hops else None
        )
        self.output = nn.Linear(channels, channels)
        self.feed_forward = nn.Sequential(
            nn.Linear(channels, 4 * channels),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(4 * channels, channels),
        )
        self.first_norm = nn.LayerNorm(channels)
        self.second_norm = nn.LayerNorm(channels)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        stacks: Stacks,
        pair_encodings: Sequence[Tensor] = (),
        edge_index: Tensor | None = None,
        edge: Tensor | None = None,
        scale: Tensor | None = None,
        angles: Tensor | None = None,
    ) -> Tensor:
        """Updates the nodes.

        Args:
            x: ``[R, channels]`` the nodes, and tokens if the stacks have them.
            stacks: The rows of each graph, and its pairs if there are encodings of pairs.
            pair_encodings: ``[P, width]`` each; a token has 0 with every node.
            edge_index: ``[2, E]``, for the structure extractor.
            edge: ``[E, edge_channels]``, for a structure extractor of edge vectors.
            scale: ``[R, 1]`` what the output of attention is multiplied by.
            angles: ``[R, channels / 2]`` by which queries and keys are rotated, head after head; the width of a head
                must be even.

        Returns:
            ``[R, channels]``.
        """
        structure = x if self.structure is None else self.structure(x, edge_index, edge)
        query, key = self.query(structure), self.key(structure)
        if angles is not None:
            query, key = (rotate(rows, angles, self.heads) for rows in (query, key))
        attended = self.output(self._attend(query, key, self.value(x), stacks, pair_encodings))
        if scale is not None:
            attended = attended * scale
        x = self.first_norm(x + self.dropout(attended))
        return self.second_norm(x + self.dropout(self.feed_forward(x)))

    def _attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        stacks: Stacks,
        pair_encodings: Sequence[Tensor],
    ) -> Tensor:
        bias = self._bias(pair_encodings)
        attended = []
        for stack in stacks.stacks:
            # [g, heads, w, d]
            heads = (
                stack.gather(rows).unflatten(-1, (self.heads, -1)).transpose(1, 2)
                for rows in (query, key, value)
            )
            mask = _mask(stack, bias)
            mixed = nn.functional.scaled_dot_product_attention(*heads, attn_mask=mask)
            attended.append(mixed.transpose(1, 2).flatten(2))
        return stacks.unstack(attended)

    def _bias(self, pair_encodings: Sequence[Tensor]) -> Tensor | None:
        """What is added to the logits, ``[P + 1, heads]``; the last row, of pairs that are none, is 0."""
        bias = None
        for linear, encoding in zip(self.pair_bias, pair_encodings, strict=True):
            bias = linear(encoding) if bias is None else bias + linear(encoding)
        return bias if bias is None else torch.cat([bias, bias.new_zeros(1, self.heads)])


def rotate(x: Tensor, angles: Tensor, heads: int) -> Tensor:
    """Rotates channels m and m + d/2 of each head, as coordinates of a plane, by the angle m of that head.

    Args:
        x: ``[R, heads * d]``.
        angles: ``[R, heads * d / 2]``.
        heads: Number of heads.

    Returns:
        ``[R, heads * d]`` in the dtype of ``x``.
    """
    angles = angles.unflatten(-1, (heads, -1))
    cosine, sine = angles.cos(), angles.sin()
    first, second = x.unflatten(-1, (heads, 2, -1)).unbind(2)
    turned = [first * cosine - second * sine, first * sine + second * cosine]
    return torch.stack(turned, dim=2).flatten(1).to(x.dtype)


def _mask(stack: Stack, bias: Tensor | None) -> Tensor | None:
    """What is added to the logits ``[g, heads, w, w]`` of a stack: minus infinity for keys that are padding."""
    valid_key = None if stack.valid is None else stack.valid[:, None, None, :]
    if bias is None:
        return valid_key
    mask = stack.gather_pairs(bias).movedim(-1, 1)
    return mask if valid_key is None else mask.masked_fill(~valid_key, -torch.inf)
