"""A GPS layer: message passing and global attention side by side."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.nn import MessagePassing

from graphpe.nn.attention import AttentionPlaces, GlobalAttention
from graphpe.nn.blocks import Normalization, check_dropout, check_positive, normalization
from graphpe.nn.layers.gated_gcn import GatedGCNLayer
from graphpe.nn.layers.gine_conv import GINEConvolution
from graphpe.nn.layers.local_conv import LocalConv


class GPSLayer(nn.Module):
    r"""Message passing along edges and attention between all nodes, summed, and a feed-forward network.

    .. math::
        h &= \mathrm{Norm}\big(x + \mathrm{Drop}(\mathrm{Conv}(x))\big)
            + \mathrm{Norm}\big(x + \mathrm{Drop}(\mathrm{Attention}(x))\big) \\
        x &\leftarrow \mathrm{Norm}\big(h + \mathrm{FFN}(h)\big)

    where FFN has one hidden layer of twice the width, with ReLU and dropout after both layers. A
    :class:`~graphpe.nn.GatedGCNLayer` in the place of Conv has a residual and dropout of its own, and updates the
    vectors of edges as well.

    Args:
        channels: Width of the nodes.
        conv: Message passing, any convolution of PyG or one of ours; None: there is none, nor its term in the sum.
        attention: Attention; None: there is none, nor its term in the sum.
        norm: ``"batch"`` (over all nodes of the batch), ``"layer"`` or ``"none"``.
        dropout: Probability of dropout.

    Raises:
        ValueError: If there is neither a convolution nor attention, for another ``norm``, or if ``dropout`` is no
            probability less than 1.

    References:
        Rampášek et al., "Recipe for a General, Powerful, Scalable Graph Transformer",
        https://arxiv.org/abs/2205.12454.
    """

    def __init__(
        self,
        channels: int,
        conv: MessagePassing | LocalConv | GINEConvolution | GatedGCNLayer | None,
        attention: GlobalAttention | None,
        norm: Normalization = "batch",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_positive(channels=channels)
        check_dropout(dropout)
        if conv is None and attention is None:
            raise ValueError("conv and attention are both 'none'; a GPS layer needs one of them")
        self.conv = LocalConv(conv, channels) if isinstance(conv, MessagePassing) else conv
        self.attention = attention
        self.conv_norm = None if conv is None else normalization(norm, channels)
        self.attention_norm = None if attention is None else normalization(norm, channels)
        self.feed_forward = nn.Sequential(
            nn.Linear(channels, 2 * channels),
            nn.ReLU(inplace=True),
            nn.Dropout(dropout),
            nn.Linear(2 * channels, channels),
            nn.Dropout(dropout),
        )
        self.norm = normalization(norm, channels)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        edge: Tensor | None,
        places: AttentionPlaces | None,
        edge_weight: Tensor | None = None,
        update_edges: bool = True,
    ) -> tuple[Tensor, Tensor | None]:
        """Updates the nodes, and the edges if the convolution is a :class:`~graphpe.nn.GatedGCNLayer`.

        Args:
            x: ``[R, channels]`` the nodes, and tokens if the places have them.
            edge_index: ``[2, E]``.
            edge: ``[E, channels]`` vectors of edges, if the convolution reads them.
            places: Where the rows lie, if there is attention.
            edge_weight: ``[E]`` weights of edges, for a convolution that takes them.
            update_edges: False returns the edges as they came, for a last layer.

        Returns:
            The new nodes and edges.
        """
        terms = []
        if self.conv is not None:
            if isinstance(self.conv, GatedGCNLayer):
                local, edge = self.conv(x, edge_index, edge, update_edges)
            else:
                local = x + self.dropout(self.conv(x, edge_index, edge, edge_weight))
            terms.append(self.conv_norm(local))
        if self.attention is not None:
            terms.append(self.attention_norm(x + self.dropout(self.attention(x, places))))
        # In place: no normalisation needs its output in the backward pass.
        h = terms[0] if len(terms) == 1 else terms[0].add_(terms[1])
        return self.norm(h + self.feed_forward(h)), edge


def reads_edges(conv: nn.Module | None) -> bool:
    """Whether the convolution of a GPS layer reads vectors of edges."""
    return isinstance(conv, GatedGCNLayer) or (conv is not None and conv.reads_edges)
