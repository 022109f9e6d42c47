"""Any convolution of PyG, given what it takes of the edges."""

from __future__ import annotations

import inspect

from torch import Tensor, nn
from torch_geometric.nn import MessagePassing

_GIVEN = ("x", "edge_index", "edge_attr", "edge_weight")


class LocalConv(nn.Module):
    """Calls a convolution of PyG with nodes, edges and, if it takes them, vectors or weights of edges.

    Args:
        conv: The convolution. Vectors of edges go in as ``edge_attr``, if it takes one and was built for their width
            (``edge_dim=channels``, say); the weights of a weighted graph go in as ``edge_weight``.
        channels: Width of nodes and edges, in and out.

    Attributes:
        reads_edges: Whether the convolution is given vectors of edges.

    Raises:
        TypeError: If ``conv`` is no convolution of PyG.
        ValueError: If it needs more than nodes and edges, was built for edges of another width, or keeps what it
            computed for the first batch.
    """

    def __init__(self, conv: MessagePassing, channels: int) -> None:
        super().__init__()
        name = type(conv).__name__
        if not isinstance(conv, MessagePassing):
            raise TypeError(
                f"conv is a {name}; it must be a convolution of torch_geometric.nn, such as GATv2Conv(64, 64)"
            )
        if getattr(conv, "cached", False):
            raise ValueError(
                f"conv is a {name} with cached=True, which keeps the edges of the first batch; set cached=False"
            )
        taken = inspect.signature(conv.forward).parameters
        for argument, parameter in taken.items():
            is_needed = parameter.default is inspect.Parameter.empty
            if is_needed and (argument not in _GIVEN or parameter.kind == parameter.VAR_POSITIONAL):
                raise ValueError(
                    f"conv is a {name}, whose forward needs {argument!r}; take a convolution that needs nodes, edges "
                    "and vectors of edges only"
                )
        self.conv = conv
        self.reads_weights = "edge_weight" in taken
        self.reads_edges = "edge_attr" in taken and _edge_width(conv, channels) is not None
        if self.reads_edges and _edge_width(conv, channels) != channels:
            raise ValueError(
                f"conv is a {name} for edges of width {_edge_width(conv, channels)}, but vectors of edges have the "
                f"width of nodes; make it {channels}"
            )

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        edge: Tensor | None = None,
        edge_weight: Tensor | None = None,
    ) -> Tensor:
        """Convolves.

        Args:
            x: ``[R, channels]`` nodes; rows without edges may follow them.
            edge_index: ``[2, E]``.
            edge: ``[E, channels]`` vectors of edges, if the convolution reads them.
            edge_weight: ``[E]`` weights of edges, if the graphs have any.

        Returns:
            ``[R, channels]``.

        Raises:
            ValueError: If the convolution returns another width.
        """
        given = {}
        if self.reads_edges:
            given["edge_attr"] = edge
        if self.reads_weights and edge_weight is not None:
            given["edge_weight"] = edge_weight
        out = self.conv(x, edge_index, **given)
        if out.shape != x.shape:
            raise ValueError(
                f"conv is a {type(self.conv).__name__} that returns {out.size(-1)} channels, but its output is added "
                f"to nodes of {x.size(1)}; make out_channels times heads {x.size(1)}, or take concat=False"
            )
        return out


def _edge_width(conv: MessagePassing, channels: int) -> int | None:
    """The width of edges that a convolution was built for, as far as it says; None if it was built for none."""
    for attribute in ("edge_dim", "in_edge_channels"):
        if hasattr(conv, attribute):
            return getattr(conv, attribute)
    return channels
