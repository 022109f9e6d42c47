"""Attention of each node to all nodes of its graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, get_args

import torch
from torch import Tensor, nn

from graphpe.checks import require_choice
from graphpe.nn.attention.base import AttentionPlaces, GlobalAttention, check_heads
from graphpe.nn.attention.flex import flex_attend
from graphpe.nn.attention.recomputed import recomputed_attention
from graphpe.nn.attention.rotation import rotate
from graphpe.nn.attention.stacked_heads import merge_heads, split_heads
from graphpe.nn.blocks import check_dropout

AttentionKernel = Literal["sdpa", "flex"]


class DenseAttention(GlobalAttention):
    r"""Attention of each node to all nodes of its graph, with a bias from encodings of pairs.

    For each head, with :math:`d` channels per head,

    .. math::
        a_{ij} &= \mathrm{softmax}_j\, \Big(\tfrac{1}{\sqrt{d}}\, (R_i Q s_i)^\top (R_j K s_j) + B w_{ij}\Big) \\
        y_i &= O \textstyle\sum_j \mathrm{Drop}(a_{ij})\, V x_j

    where :math:`w_{ij}` are encodings of pairs; :math:`s = x` unless it is given; and :math:`R_i` is the identity, or
    rotates channels m and m + d/2 of each head, as coordinates of a plane, by an angle :math:`\theta_{im}` that is
    given. The logits depend on the differences :math:`\theta_j - \theta_i` alone.

    Graphs of similar size are padded and stacked, see :func:`~graphpe.nn.stacks.stacks_of`; padding has no influence.
    No matrix of weights is kept for the backward pass, but the weights that were dropped, in a byte each.

    Args:
        channels: Width of the nodes.
        heads: Number of heads; must divide ``channels``.
        pair_channels: Width of each of the encodings of pairs; None: there is one of width ``heads``, and B is the
            identity.
        dropout: Probability of dropout of the attention weights.
        kernel: ``"sdpa"``: torch's ``scaled_dot_product_attention``, on stacks of graphs. ``"flex"``: torch's
            ``flex_attention``, compiled for a GPU, on all graphs side by side without padding; it drops no weights.

    Raises:
        ValueError: If a size is not a positive integer, ``heads`` does not divide ``channels``, ``dropout`` is no
            probability less than 1, or not 0 with the kernel ``"flex"``; in :meth:`forward` for that kernel on a CPU.

    References:
        Vaswani et al., "Attention Is All You Need", https://arxiv.org/abs/1706.03762;
        Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", https://arxiv.org/abs/2104.09864.
    """

    takes_pair_bias: ClassVar[bool] = True

    def __init__(
        self,
        channels: int,
        heads: int,
        pair_channels: Sequence[int] | None = (),
        dropout: float = 0.0,
        kernel: AttentionKernel = "sdpa",
    ) -> None:
        super().__init__()
        check_heads(channels, heads)
        check_dropout(dropout)
        require_choice("kernel", kernel, get_args(AttentionKernel))
        if kernel == "flex" and dropout:
            raise ValueError(
                f"the dropout of attention weights is {dropout}, but the kernel 'flex' drops none; make it 0, or take "
                "the kernel 'sdpa'"
            )
        self.kernel = kernel
        self.heads = heads
        self.dropout = dropout
        # Of queries, keys and values, one below the other.
        self.project = nn.Linear(channels, 3 * channels)
        # Without bias, which would move all logits of a node alike.
        self.pair_bias = nn.ModuleList(
            nn.Linear(width, heads, bias=False) for width in pair_channels or ()
        )
        identity = torch.eye(heads) if pair_channels is None else None
        self.register_buffer("identity", identity, persistent=False)
        self.output = nn.Linear(channels, channels)

    def forward(
        self, x: Tensor, places: AttentionPlaces, structure: Tensor | None = None
    ) -> Tensor:
        """Attends.

        Args:
            x: ``[R, channels]`` the nodes, and tokens if the places have them.
            places: Where the rows lie; with stacks, and with their pairs if there are encodings of pairs.
            structure: ``[R, channels]`` what queries and keys come from; None: from ``x``.

        Returns:
            ``[R, channels]``.
        """
        projected = self._project(x, x if structure is None else structure, places.angles)
        if self.kernel == "flex":
            return self.output(self._flex_attend(projected, places))
        weight, pairs = self._pair_bias(places)
        attended = [
            self._attend(*heads, stack.valid, weight, own_pairs)
            for heads, stack, own_pairs in zip(
                split_heads(projected, places.stacks, self.heads),
                places.stacks.stacks,
                pairs,
                strict=True,
            )
        ]
        return self.output(merge_heads(attended, places.stacks))

    def _project(self, x: Tensor, structure: Tensor, angles: Tensor | None) -> Tensor:
        """Queries, keys and values side by side, ``[R, 3 channels]``."""
        channels = x.size(1)
        if structure is x and angles is None:
            return self.project(x)
        (of_structure, of_x), (structure_bias, x_bias) = (
            parameter.split([2 * channels, channels])
            for parameter in (self.project.weight, self.project.bias)
        )
        turned = nn.functional.linear(structure, of_structure, structure_bias)
        if angles is not None:
            turned = torch.cat([rotate(rows, angles, self.heads) for rows in turned.chunk(2, 1)], 1)
        return torch.cat([turned, nn.functional.linear(x, of_x, x_bias)], dim=1)

    def _pair_bias(self, places: AttentionPlaces) -> tuple[Tensor | None, Sequence[Tensor | None]]:
        """What maps the encodings of pairs to the bias of each head, ``[heads, c]``, and those of each stack."""
        weight = self._pair_weight()
        if weight is None:
            return None, [None] * len(places.stacks.stacks)
        return weight, places.stacked_pairs

    def _pair_weight(self) -> Tensor | None:
        if self.pair_bias:
            return torch.cat([linear.weight for linear in self.pair_bias], dim=1)
        return self.identity

    def _flex_attend(self, projected: Tensor, places: AttentionPlaces) -> Tensor:
        if projected.device.type == "cpu":
            raise ValueError(
                "the kernel of the attention is 'flex', which needs a GPU; take 'sdpa' on a CPU"
            )
        if not len(projected):
            return projected.chunk(3, dim=1)[2]
        weight = self._pair_weight()
        bias = None if weight is None else nn.functional.linear(places.pair_columns, weight)
        return flex_attend(
            projected, places.layout, places.graph, places.block_mask, self.heads, bias
        )

    def _attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        valid: Tensor | None,
        weight: Tensor | None,
        pairs: Tensor | None,
    ) -> Tensor:
        dropout = self.dropout if self.training else 0.0
        if weight is not None or dropout:
            return recomputed_attention(query, key, value, valid, weight, pairs, dropout)
        mask = None if valid is None else valid[:, None, None]
        return nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
