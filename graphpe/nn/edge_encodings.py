"""How the encodings of edges enter the vectors of edges."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn


class EdgeEncodings(nn.Module):
    r"""Adds encodings of edges to the vectors of edges, and multiplies them by others.

    .. math:: e_{uv} \leftarrow \Big(e_{uv} + \sum_a (A_a p^a_{uv} + b_a)\Big) \odot \prod_g (G_g q^g_{uv} + c_g)

    where the :math:`p` have the role ``"add"`` and the :math:`q` the role ``"gate"``. If there is nothing to multiply,
    neither vectors nor an added encoding, the gate itself is the vector of an edge: it multiplies 1.

    Args:
        channels: Width of the vectors.
        added_channels: Width of each encoding that is added.
        gate_channels: Width of each encoding that multiplies.
    """

    def __init__(
        self, channels: int, added_channels: Sequence[int] = (), gate_channels: Sequence[int] = ()
    ) -> None:
        super().__init__()
        self.added = nn.ModuleList(nn.Linear(width, channels) for width in added_channels)
        self.gates = nn.ModuleList(nn.Linear(width, channels) for width in gate_channels)

    def forward(
        self, edge: Tensor | None, added: Sequence[Tensor], gates: Sequence[Tensor]
    ) -> Tensor | None:
        """Combines.

        Args:
            edge: ``[E, channels]`` vectors of edges, if there are any.
            added: ``[E, width]`` each encoding that is added.
            gates: ``[E, width]`` each encoding that multiplies.

        Returns:
            ``[E, channels]``, or None if there is nothing.
        """
        for linear, encoding in zip(self.added, added, strict=True):
            edge = linear(encoding) if edge is None else edge + linear(encoding)
        for linear, encoding in zip(self.gates, gates, strict=True):
            edge = linear(encoding) if edge is None else edge * linear(encoding)
        return edge
