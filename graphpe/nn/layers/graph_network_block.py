"""The Graph Network block of Battaglia et al."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from graphpe.nn.aggregations import AggregationKind, GroupAggregation
from graphpe.nn.blocks import (
    Normalization,
    PartwiseLinear,
    check_not_negative,
    check_positive,
    normalization,
)
from graphpe.nn.layout import GraphLayout

EdgeInput = Literal["edges", "senders", "receivers", "globals"]
NodeInput = Literal["nodes", "received_edges", "sent_edges", "globals"]
GlobalInput = Literal["edges", "nodes", "globals"]

EDGE_INPUTS: tuple[EdgeInput, ...] = ("edges", "senders", "receivers", "globals")
NODE_INPUTS: tuple[NodeInput, ...] = ("nodes", "received_edges", "sent_edges", "globals")
GLOBAL_INPUTS: tuple[GlobalInput, ...] = ("edges", "nodes", "globals")

# Rows that an update reads, and, where they are those of other things, which of them: of senders, say.
_Input = tuple[Tensor, Tensor | None]


class GraphNetworkBlock(nn.Module):
    r"""Updates edges, then nodes, then the global vector of each graph.

    Over the edges :math:`k = (s_k \to r_k)`, in this order:

    .. math::
        e'_k &= \phi^e(e_k,\ v_{s_k},\ v_{r_k},\ u) \\
        v'_i &= \phi^v\big(v_i,\ \rho\{e'_k : r_k = i\},\ \rho\{e'_k : s_k = i\},\ u\big) \\
        u' &= \phi^u\big(\rho\{e'_k\},\ \rho\{v'_i\},\ u\big)

    Each ρ is an aggregation of PyG, each φ a perceptron: linear layers with a normalisation and ReLU after each but
    the last. Its first layer is the sum of a map of each input, so that their concatenation is never in memory.

    Each update may read less, or not happen: then what it would update stays as it is. Class methods give the special
    cases of the paper. The ρ of nothing is 0, also for ``"max"``, ``"min"`` and ``"mul"``.

    Args:
        node_channels: Width of the nodes; 0: they have no vectors.
        edge_channels: Width of the edges; 0: they have no vectors.
        global_channels: Width of the global vectors; 0: there are none.
        out_channels: Width of what is updated, and of hidden layers.
        edge_inputs: What :math:`\phi^e` reads, of ``"edges"``, ``"senders"``, ``"receivers"`` and ``"globals"``; None:
            edges are not updated.
        node_inputs: What :math:`\phi^v` reads, of ``"nodes"``, ``"received_edges"``, ``"sent_edges"`` and
            ``"globals"``; None: nodes are not updated.
        global_inputs: What :math:`\phi^u` reads, of ``"edges"``, ``"nodes"`` and ``"globals"``; None: global vectors
            are not updated.
        edges_to_nodes: How the edges that a node receives, and those that it sends, are aggregated: a name of PyG, a
            list of names, whose outputs are concatenated, or an ``Aggregation``, of which each ρ gets a copy.
        edges_to_globals: The same for the edges of a graph.
        nodes_to_globals: The same for the nodes of a graph.
        num_layers: Number of linear layers of each φ.
        norm: Normalisation in each φ: ``"batch"``, ``"layer"`` or ``"none"``.
        build_update: Builds another φ from the width of its input, which is a concatenation then, and of its output.

    Attributes:
        node_out_channels: Width of the nodes that are returned.
        edge_out_channels: Width of the edges.
        global_out_channels: Width of the global vectors.

    Raises:
        TypeError: If an aggregation is of another kind.
        ValueError: If an update reads what isn't there, or an argument is out of range.

    References:
        Battaglia et al., "Relational inductive biases, deep learning, and graph networks",
        https://arxiv.org/abs/1806.01261.
    """

    def __init__(
        self,
        node_channels: int,
        edge_channels: int,
        global_channels: int,
        out_channels: int,
        edge_inputs: Sequence[EdgeInput] | None = EDGE_INPUTS,
        node_inputs: Sequence[NodeInput] | None = NODE_INPUTS,
        global_inputs: Sequence[GlobalInput] | None = GLOBAL_INPUTS,
        edges_to_nodes: AggregationKind = "sum",
        edges_to_globals: AggregationKind = "sum",
        nodes_to_globals: AggregationKind = "sum",
        num_layers: int = 2,
        norm: Normalization = "layer",
        build_update: Callable[[int, int], nn.Module] | None = None,
    ) -> None:
        super().__init__()
        check_not_negative(
            node_channels=node_channels,
            edge_channels=edge_channels,
            global_channels=global_channels,
        )
        check_positive(out_channels=out_channels, num_layers=num_layers)

        def update(name: str, inputs: Sequence[str] | None, widths: Mapping[str, int]) -> Any:
            if inputs is None:
                return None
            _check_inputs(name, inputs, widths)
            chosen = {key: width for key, width in widths.items() if key in inputs}
            return _Update(chosen, out_channels, num_layers, norm, build_update)

        def aggregation(name: str, kind: AggregationKind, channels: int, is_read: bool) -> Any:
            return GroupAggregation(kind, channels, name) if is_read and channels else None

        ends = {"senders": node_channels, "receivers": node_channels}
        self.edge_update = update(
            "edge_inputs", edge_inputs, {"edges": edge_channels, **ends, "globals": global_channels}
        )
        edge_width = edge_channels if edge_inputs is None else out_channels

        received, sent = (
            aggregation("edges_to_nodes", edges_to_nodes, edge_width, key in (node_inputs or ()))
            for key in ("received_edges", "sent_edges")
        )
        self.node_update = update(
            "node_inputs",
            node_inputs,
            {
                "nodes": node_channels,
                "received_edges": _width_of(received),
                "sent_edges": _width_of(sent),
                "globals": global_channels,
            },
        )
        self.received_edges, self.sent_edges = received, sent
        node_width = node_channels if node_inputs is None else out_channels

        reads = global_inputs or ()
        edges = aggregation("edges_to_globals", edges_to_globals, edge_width, "edges" in reads)
        nodes = aggregation("nodes_to_globals", nodes_to_globals, node_width, "nodes" in reads)
        self.global_update = update(
            "global_inputs",
            global_inputs,
            {"edges": _width_of(edges), "nodes": _width_of(nodes), "globals": global_channels},
        )
        self.graph_edges, self.graph_nodes = edges, nodes

        self.edge_out_channels, self.node_out_channels = edge_width, node_width
        self.global_out_channels = global_channels if global_inputs is None else out_channels

    @classmethod
    def message_passing(
        cls, node_channels: int, edge_channels: int, out_channels: int, **settings: Any
    ) -> GraphNetworkBlock:
        """A message passing network (MPNN): messages from both ends and the edge; the readout is the global vector."""
        edge_inputs = _those_of({"edges": edge_channels, "senders": 1, "receivers": 1})
        node_inputs = ("nodes", "received_edges")
        return cls(
            node_channels,
            edge_channels,
            0,
            out_channels,
            edge_inputs,
            node_inputs,
            ("nodes",),
            **settings,
        )

    @classmethod
    def interaction_network(
        cls, node_channels: int, edge_channels: int, out_channels: int, **settings: Any
    ) -> GraphNetworkBlock:
        """An interaction network: as :meth:`message_passing`, without a global vector."""
        edge_inputs = _those_of({"edges": edge_channels, "senders": 1, "receivers": 1})
        node_inputs = ("nodes", "received_edges")
        return cls(
            node_channels,
            edge_channels,
            0,
            out_channels,
            edge_inputs,
            node_inputs,
            None,
            **settings,
        )

    @classmethod
    def relation_network(
        cls, node_channels: int, out_channels: int, **settings: Any
    ) -> GraphNetworkBlock:
        """A relation network: the global vector of all pairs of ends of edges; nodes stay as they are."""
        ends = ("senders", "receivers")
        return cls(node_channels, 0, 0, out_channels, ends, None, ("edges",), **settings)

    @classmethod
    def deep_sets(
        cls, node_channels: int, global_channels: int, out_channels: int, **settings: Any
    ) -> GraphNetworkBlock:
        """Deep sets: nodes by themselves and the global vector of the set of them; edges are not used."""
        node_inputs = _those_of({"nodes": node_channels, "globals": global_channels})
        return cls(
            node_channels,
            0,
            global_channels,
            out_channels,
            None,
            node_inputs,
            ("nodes",),
            **settings,
        )

    @classmethod
    def independent(
        cls,
        node_channels: int,
        edge_channels: int,
        global_channels: int,
        out_channels: int,
        **settings: Any,
    ) -> GraphNetworkBlock:
        """Edges, nodes and global vectors each by themselves."""
        return cls(
            node_channels,
            edge_channels,
            global_channels,
            out_channels,
            _those_of({"edges": edge_channels}),
            _those_of({"nodes": node_channels}),
            _those_of({"globals": global_channels}),
            **settings,
        )

    def forward(
        self,
        nodes: Tensor | None,
        edges: Tensor | None,
        global_vectors: Tensor | None,
        edge_index: Tensor,
        layout: GraphLayout,
    ) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """Updates.

        Args:
            nodes: ``[N, node_channels]``, or None if they have no vectors.
            edges: ``[E, edge_channels]``, or None.
            global_vectors: ``[B, global_channels]``, or None.
            edge_index: ``[2, E]`` senders and receivers.
            layout: Where the B graphs lie; :func:`graphpe.nn.graph_layout` reads it from a batch. Graphs without nodes
                count, also at the end.

        Returns:
            The new nodes, edges and global vectors.
        """
        sender, receiver = edge_index
        graph_of_edge = layout.batch.index_select(0, receiver)
        if self.edge_update is not None:
            edges = self.edge_update(
                {
                    "edges": (edges, None),
                    "senders": (nodes, sender),
                    "receivers": (nodes, receiver),
                    "globals": (global_vectors, graph_of_edge),
                }
            )
        if self.node_update is not None:
            num_nodes = layout.num_nodes
            nodes = self.node_update(
                {
                    "nodes": (nodes, None),
                    "received_edges": _apply(self.received_edges, edges, receiver, num_nodes),
                    "sent_edges": _apply(self.sent_edges, edges, sender, num_nodes),
                    "globals": (global_vectors, layout.batch),
                }
            )
        if self.global_update is not None:
            num_graphs = layout.num_graphs
            global_vectors = self.global_update(
                {
                    "edges": _apply(self.graph_edges, edges, graph_of_edge, num_graphs),
                    "nodes": _apply(self.graph_nodes, nodes, layout.batch, num_graphs),
                    "globals": (global_vectors, None),
                }
            )
        return nodes, edges, global_vectors


class _Update(nn.Module):
    """A function of the concatenation of its inputs."""

    def __init__(
        self,
        widths: Mapping[str, int],
        out_channels: int,
        num_layers: int,
        norm: Normalization,
        build: Callable[[int, int], nn.Module] | None,
    ) -> None:
        super().__init__()
        self.inputs = list(widths)
        if build is not None:
            self.first, self.rest = None, build(sum(widths.values()), out_channels)
            return
        self.first = PartwiseLinear(list(widths.values()), out_channels)
        self.rest = nn.Sequential()
        for _ in range(num_layers - 1):
            self.rest.extend(
                [
                    normalization(norm, out_channels, "out_channels"),
                    nn.ReLU(),
                    nn.Linear(out_channels, out_channels),
                ]
            )

    def forward(self, inputs: Mapping[str, _Input]) -> Tensor:
        chosen = [inputs[name] for name in self.inputs]
        if self.first is None:
            return self.rest(torch.cat([_rows(rows, which) for rows, which in chosen], dim=1))
        total: Tensor | None = None
        for number, (rows, which) in enumerate(chosen):
            # Mapped before they are looked up: there are fewer nodes than edges.
            part = _rows(self.first.part(number, rows), which)
            total = part if total is None else total + part
        return self.rest(total)


def _rows(rows: Tensor, which: Tensor | None) -> Tensor:
    return rows if which is None else rows.index_select(0, which)


def _apply(
    aggregation: GroupAggregation | None, values: Tensor | None, group: Tensor, num_groups: int
) -> _Input | None:
    return None if aggregation is None else (aggregation(values, group, num_groups), None)


def _width_of(aggregation: GroupAggregation | None) -> int:
    return 0 if aggregation is None else aggregation.out_channels


def _those_of(widths: Mapping[str, int]) -> Any:
    """The inputs that are there; None, which means no update, if there are none."""
    return tuple(name for name, width in widths.items() if width) or None


def _check_inputs(name: str, inputs: Sequence[str], widths: Mapping[str, int]) -> None:
    choices = list(widths)
    is_list = isinstance(inputs, list | tuple) and all(key in choices for key in inputs)
    if not is_list or not inputs or len(set(inputs)) < len(inputs):
        raise ValueError(
            f"{name} is {inputs!r}; it must be a list of some of {choices}, or None for no update"
        )
    for key in inputs:
        if not widths[key]:
            raise ValueError(
                f"{name} has {key!r}, but there are no vectors of {key.replace('_', ' ')}; leave it out, or give them "
                "channels"
            )
