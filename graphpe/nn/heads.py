"""From the nodes that a network has updated to its output: one row per graph, per node or per pair of nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor, nn

from graphpe.checks import require_choice
from graphpe.nn.blocks import PartwiseLinear, check_layer_norm, check_positive
from graphpe.nn.layout import GraphLayout, node_pairs
from graphpe.nn.rows import apply_to_rows
from graphpe.tasks import TaskLevel


class GraphHead(nn.Module):
    """Pools the nodes of each graph and maps the result to the output.

    Args:
        readout: Pools the nodes.
        network: Maps ``[B, channels]`` to the output.
    """

    def __init__(self, readout: nn.Module, network: nn.Module) -> None:
        super().__init__()
        self.readout = readout
        self.network = network

    def forward(
        self, x: Tensor, layout: GraphLayout, pair_encodings: Sequence[Tensor] = ()
    ) -> Tensor:
        """Maps nodes ``[N, channels]`` to ``[B, out_channels]``."""
        return self.network(self.readout(x, layout))


class NodeHead(nn.Module):
    """Maps each node by itself.

    Args:
        network: Maps ``[N, channels]`` to the output.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(
        self, x: Tensor, layout: GraphLayout, pair_encodings: Sequence[Tensor] = ()
    ) -> Tensor:
        """Maps nodes ``[N, channels]`` to ``[N, out_channels]``."""
        return self.network(x[: layout.num_nodes])


class PairHead(nn.Module):
    r"""Maps each ordered pair of nodes of the same graph by the same multi-layer perceptron.

    .. math:: y_{uv} = \mathrm{MLP}\big( [h_u, h_v, r, w_{uv}] \big)

    where r is the readout of the graph and :math:`w_{uv}` are the pair encodings. Each hidden layer is followed by
    LayerNorm and ReLU. The first layer is computed as a sum, :math:`A h_u + B h_v + C r + D w_{uv} + b`, so that the
    concatenation is never in memory.

    Time and memory grow with :math:`\sum n^2` over the graphs of a batch.

    Args:
        readout: Pools the nodes.
        channels: Width of the nodes, and of the hidden layers.
        out_channels: Number of outputs per pair.
        num_layers: Number of linear layers.
        pair_channels: Width of each of the pair encodings.
    """

    def __init__(
        self,
        readout: nn.Module,
        channels: int,
        out_channels: int,
        num_layers: int = 2,
        pair_channels: Sequence[int] = (),
    ) -> None:
        super().__init__()
        check_positive(channels=channels, out_channels=out_channels, pair_layers=num_layers)
        if num_layers > 1:
            check_layer_norm(channels)
        self.readout = readout
        widths = [channels] * (num_layers - 1) + [out_channels]
        self.first = PartwiseLinear([channels] * 3 + [*pair_channels], widths[0])
        self.rest = nn.Sequential()
        for width in widths[1:]:
            # In place, since LayerNorm does not need its output in the backward pass.
            self.rest.extend(
                [nn.LayerNorm(channels), nn.ReLU(inplace=True), nn.Linear(channels, width)]
            )

    def forward(
        self, x: Tensor, layout: GraphLayout, pair_encodings: Sequence[Tensor] = ()
    ) -> Tensor:
        """Maps nodes to pairs.

        Args:
            x: ``[N, channels]`` nodes.
            layout: Where the graphs lie.
            pair_encodings: ``[P, width]`` each.

        Returns:
            ``[P, out_channels]``, one row per pair, row-major, graph after graph.
        """
        hidden = self._apply_first(x, layout, pair_encodings)
        return apply_to_rows(self.rest, hidden, mixes_rows=False)

    def _apply_first(
        self, x: Tensor, layout: GraphLayout, pair_encodings: Sequence[Tensor]
    ) -> Tensor:
        nodes = x[: layout.num_nodes]
        graph = self.first.part(2, self.readout(x, layout))
        source = self.first.part(0, nodes)
        target = self.first.part(1, nodes) + graph.index_select(0, layout.batch)
        pairs = node_pairs(layout)
        hidden = source.index_select(0, pairs.source)
        hidden = hidden.add_(target.index_select(0, pairs.target))
        for number, encoding in enumerate(pair_encodings, start=3):
            hidden = hidden.add_(self.first.part(number, encoding))
        return hidden


def build_head(
    level: TaskLevel,
    readout: nn.Module,
    network: Callable[[], nn.Module],
    channels: int,
    out_channels: int,
    pair_layers: int,
    pair_channels: Sequence[int],
) -> GraphHead | NodeHead | PairHead:
    """Builds the head of a network.

    Args:
        level: What a row of the output describes.
        readout: Pools the nodes, for graphs and pairs.
        network: Builds what maps ``[rows, channels]`` to the output, for graphs and nodes.
        channels: Width of the nodes.
        out_channels: Number of outputs per row.
        pair_layers: See :class:`PairHead`.
        pair_channels: See :class:`PairHead`.
    """
    require_choice("level", level, ("graph", "node", "pair"))
    check_positive(pair_layers=pair_layers)
    if level == "graph":
        return GraphHead(readout, network())
    if level == "node":
        return NodeHead(network())
    return PairHead(readout, channels, out_channels, pair_layers, pair_channels)
