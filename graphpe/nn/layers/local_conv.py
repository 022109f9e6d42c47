"""Any convolution of PyG, given what it takes of the edges."""

from __future__ import annotations

import copy
import inspect

import torch
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing

_GIVEN = ("x", "edge_index", "edge_attr", "edge_weight")
# Not inputs, but how the call is made.
_OPTIONS = ("size", "return_attention_weights", "kwargs")


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
        ValueError: If it needs more than nodes and edges, was built for nodes or edges of another width, returns
            another one, or keeps what it computed for the first batch.
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
        self._try(channels, [name for name in taken if name not in _GIVEN + _OPTIONS])

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
        """
        given = {}
        if self.reads_edges:
            given["edge_attr"] = edge
        if self.reads_weights and edge_weight is not None:
            given["edge_weight"] = edge_weight
        return self.conv(x, edge_index, **given)

    def _try(self, channels: int, not_given: list[str]) -> None:
        """Refuses a convolution that can't map a path of three nodes: few say what they were built for."""
        if any(parameter.is_meta for parameter in self.conv.parameters()):
            return
        # A copy, since a lazy convolution draws its weights in the first call, which are to differ between layers.
        trial = copy.deepcopy(self).cpu().eval()
        dtypes = [p.dtype for p in trial.parameters() if p.is_floating_point()]
        name, dtype = type(self.conv).__name__, dtypes[0] if dtypes else None
        with torch.device("cpu"), torch.random.fork_rng(devices=[]), torch.no_grad():
            x, edge = torch.zeros(3, channels, dtype=dtype), torch.zeros(4, channels, dtype=dtype)
            edge_index = torch.tensor([[1, 0, 2, 1], [0, 1, 1, 2]])
            try:
                out = trial(x, edge_index, edge)
            except Exception as error:  # of any kind: whatever the convolution stumbles over
                reason = (str(error).splitlines() or [type(error).__name__])[0]
                if not_given:
                    reason += f"; it gets no {' or '.join(not_given)}"
                edges, remedy = "", ""
                if self.reads_edges:
                    edges, remedy = " and edges", f" (edge_dim={channels}, say)"
                raise ValueError(
                    f"conv is a {name} that fails on nodes{edges} of width {channels} ({reason}); build it for "
                    f"this width{remedy}, and take one that needs no inputs but nodes, edges and vectors of edges"
                ) from error
        if not isinstance(out, Tensor):
            raise ValueError(
                f"conv is a {name} that returns a {type(out).__name__}; take one that returns a tensor of nodes"
            )
        if out.shape != x.shape:
            raise ValueError(
                f"conv is a {name} that returns {out.size(-1)} channels, but its output is added to nodes of "
                f"{channels}; make out_channels times heads {channels}, or take concat=False"
            )


def _edge_width(conv: MessagePassing, channels: int) -> int | None:
    """The width of edges that a convolution was built for, as far as it says; None if it was built for none."""
    for attribute in ("edge_dim", "in_edge_channels"):
        if hasattr(conv, attribute):
            return getattr(conv, attribute)
    return channels
