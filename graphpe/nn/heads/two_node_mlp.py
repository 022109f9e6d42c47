"""What the heads of pairs and of edges have in common: a perceptron of two nodes and what is known of them."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from graphpe.nn.blocks import PartwiseLinear, check_layer_norm, check_positive
from graphpe.nn.layout import GraphLayout
from graphpe.nn.rows import apply_to_rows


class TwoNodeMLP(nn.Module):
    r"""A multi-layer perceptron of two nodes of the same graph.

    .. math:: y = \mathrm{MLP}\big( [h_u, h_v, r, w^1, w^2, \dots] \big)

    where r is the readout of the graph and the :math:`w` are what else is known of the two nodes. Each hidden layer is
    followed by LayerNorm and ReLU. The first layer is computed as a sum,
    :math:`A h_u + B h_v + C r + D_1 w^1 + \dots + b`, so that the concatenation is never in memory.

    Args:
        readout: Pools the nodes.
        channels: Width of the nodes, and of the hidden layers.
        out_channels: Number of outputs per row.
        num_layers: Number of linear layers.
        other_channels: Width of each of the :math:`w`.
    """

    def __init__(
        self,
        readout: nn.Module,
        channels: int,
        out_channels: int,
        num_layers: int,
        other_channels: Sequence[int],
    ) -> None:
        super().__init__()
        check_positive(channels=channels, out_channels=out_channels, pair_layers=num_layers)
        if num_layers > 1:
            check_layer_norm(channels)
        self.readout = readout
        widths = [channels] * (num_layers - 1) + [out_channels]
        self.first = PartwiseLinear([channels] * 3 + [*other_channels], widths[0])
        self.rest = nn.Sequential()
        for width in widths[1:]:
            # In place, since LayerNorm does not need its output in the backward pass.
            self.rest.extend(
                [nn.LayerNorm(channels), nn.ReLU(inplace=True), nn.Linear(channels, width)]
            )

    def map_rows(
        self, x: Tensor, layout: GraphLayout, source: Tensor, target: Tensor, others: list[Tensor]
    ) -> Tensor:
        """Maps the nodes u and v of each row.

        Args:
            x: ``[N, channels]`` nodes; further rows are for the readout alone.
            layout: Where the graphs lie.
            source: ``[R]`` node u of each row.
            target: ``[R]`` node v of each row.
            others: ``[R, width]`` each of the :math:`w`.

        Returns:
            ``[R, out_channels]``.
        """
        hidden = self._apply_first(x, layout, source, target, others)
        return apply_to_rows(self.rest, hidden, mixes_rows=False)

    def _apply_first(
        self, x: Tensor, layout: GraphLayout, source: Tensor, target: Tensor, others: list[Tensor]
    ) -> Tensor:
        nodes = x[: layout.num_nodes]
        graph = self.first.part(2, self.readout(x, layout))
        as_source = self.first.part(0, nodes)
        as_target = self.first.part(1, nodes) + graph.index_select(0, layout.batch)
        hidden = as_source.index_select(0, source)
        hidden = hidden.add_(as_target.index_select(0, target))
        for number, other in enumerate(others, start=3):
            hidden = hidden.add_(self.first.part(number, other))
        return hidden
