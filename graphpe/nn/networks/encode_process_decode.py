"""A network of Graph Network blocks: embed, repeat the block, read out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.checks import require_boolean, require_choice
from graphpe.nn.blocks import Normalization, check_dropout, check_positive, mlp
from graphpe.nn.edge_vectors import EdgeVectors
from graphpe.nn.encoders import FieldEncoder
from graphpe.nn.encodings import Encodings
from graphpe.nn.layers.graph_network_block import (
    EDGE_INPUTS,
    GLOBAL_INPUTS,
    NODE_INPUTS,
    EdgeInput,
    GlobalInput,
    GraphNetworkBlock,
    NodeInput,
)
from graphpe.nn.layout import GraphLayout
from graphpe.nn.networks.base import GraphNetwork
from graphpe.nn.readout import TokenReadout
from graphpe.tasks import Features, TaskLevel

Part = Literal["edges", "nodes", "globals"]


class EncodeProcessDecode(GraphNetwork):
    r"""A network of Graph Network blocks, which update edges, nodes and a global vector of each graph.

    .. math:: (e, v, u) \leftarrow (e, v, u) + \mathrm{block}(e, v, u)

    ``num_layers`` times, see :class:`~graphpe.nn.layers.GraphNetworkBlock`. The global vector starts as a learned one.
    What the head doesn't depend on is neither updated nor built. The head has two linear layers, that of edges and
    that of pairs ``pair_layers``.

    Without ``"globals"`` in the inputs of edges and nodes, with ``global_inputs=None`` and a readout of nodes, it is a
    network of interaction networks; with ``edge_inputs=None``, ``node_inputs=["nodes", "globals"]`` and
    ``global_inputs=["nodes"]`` one of deep sets.

    Args:
        features: What the dataset offers; without edge features and encoders of edges all edges start alike.
        out_channels: Number of outputs per row.
        hidden_channels: Width of edges, nodes and global vectors.
        num_layers: How often the block is applied.
        shared_core: Whether it is the same block each time.
        edge_inputs: What the update of edges reads, of ``"edges"``, ``"senders"``, ``"receivers"`` and ``"globals"``;
            None: edges are not updated.
        node_inputs: What that of nodes reads, of ``"nodes"``, ``"received_edges"``, ``"sent_edges"`` and ``"globals"``.
        global_inputs: What that of global vectors reads, of ``"edges"``, ``"nodes"`` and ``"globals"``.
        edges_to_nodes: How the edges that a node receives, and those that it sends, are aggregated: one or several
            names of PyG's aggregations.
        edges_to_globals: How the edges of a graph are aggregated.
        nodes_to_globals: How the nodes of a graph are aggregated.
        norm: Normalisation in the perceptrons of the blocks and of the head.
        dropout: Probability of dropout of what a block adds.
        level: What a row of the output describes: a graph, a node, an edge, or an ordered pair of nodes.
        readout: How the nodes of a graph are pooled, for graphs, edges and pairs; ``"global"`` takes the global vector
            instead.
        pair_layers: Number of linear layers of the head of edges and of that of pairs.
        positional_encoders: Encoders of nodes, whose output is added to the embedded nodes; of edges, which are mapped
            and added to the vectors of edges that the first block reads, or multiply them; and of pairs, which the
            head of pairs reads.

    Raises:
        ValueError: If what the head reads doesn't depend on the nodes, or an argument is out of range.

    References:
        Battaglia et al., "Relational inductive biases, deep learning, and graph networks",
        https://arxiv.org/abs/1806.01261.
    """

    reads_edge_encodings: ClassVar[bool] = True

    def __init__(
        self,
        features: Features,
        out_channels: int = 1,
        hidden_channels: int = 64,
        num_layers: int = 8,
        shared_core: bool = False,
        edge_inputs: Sequence[EdgeInput] | None = EDGE_INPUTS,
        node_inputs: Sequence[NodeInput] | None = NODE_INPUTS,
        global_inputs: Sequence[GlobalInput] | None = GLOBAL_INPUTS,
        edges_to_nodes: str | Sequence[str] = "sum",
        edges_to_globals: str | Sequence[str] = "sum",
        nodes_to_globals: str | Sequence[str] = "sum",
        norm: Normalization = "layer",
        dropout: float = 0.0,
        level: TaskLevel = "graph",
        readout: Literal["mean", "sum", "max", "attention", "global"] = "global",
        pair_layers: int = 2,
        positional_encoders: list[FieldEncoder] | None = None,
    ) -> None:
        check_positive(
            out_channels=out_channels, hidden_channels=hidden_channels, num_layers=num_layers
        )
        require_boolean("shared_core", shared_core)
        check_dropout(dropout)
        require_choice("readout", readout, ("mean", "sum", "max", "attention", "global"))
        super().__init__(
            features,
            out_channels,
            hidden_channels,
            level,
            TokenReadout() if readout == "global" else readout,
            pair_layers,
            positional_encoders,
            head=lambda: mlp([hidden_channels] * 2 + [out_channels], norm),
        )
        self.reads_globals = readout == "global" and level != "node"
        self.num_layers = num_layers
        inputs = {"edges": edge_inputs, "nodes": node_inputs, "globals": global_inputs}
        updated, used = _what_counts(num_layers, inputs, _parts_of(level, self.reads_globals))
        if "nodes" not in used:
            raise ValueError(
                f"{global_inputs=}, {node_inputs=} and {readout=} make an output that doesn't depend on nodes; let "
                "globals read nodes or edges, or pool the nodes"
            )
        self.edge_vectors: EdgeVectors | None = None
        added, gates = (self.encoding_channels("edge", role) for role in ("add", "gate"))
        if "edges" in used:
            self.edge_vectors = EdgeVectors(features, hidden_channels, added, gates)
        elif (added or gates) and level != "edge":
            raise ValueError(
                f"{node_inputs=} and {global_inputs=} read no edges, but there are encoders of edges; let one of them "
                "read edges, or take an encoder of nodes"
            )
        has_globals = "globals" in used
        self.global_vector = nn.Parameter(torch.randn(hidden_channels)) if has_globals else None
        self.blocks = nn.ModuleList(
            GraphNetworkBlock(
                hidden_channels,
                hidden_channels * (self.edge_vectors is not None),
                hidden_channels * has_globals,
                hidden_channels,
                edge_inputs if "edges" in parts else None,
                node_inputs if "nodes" in parts else None,
                global_inputs if "globals" in parts else None,
                edges_to_nodes,
                edges_to_globals,
                nodes_to_globals,
                norm=norm,
            )
            for parts in (updated[:1] if shared_core else updated)
        )
        self.dropout = nn.Dropout(dropout)

    def propagate(self, x: Tensor, data: Data, layout: GraphLayout, encodings: Encodings) -> Tensor:
        edge = None if self.edge_vectors is None else self.edge_vectors(data, encodings)
        u = None
        if self.global_vector is not None:
            u = self.global_vector.to(x.dtype).expand(layout.num_graphs, -1)
        for number in range(self.num_layers):
            block = self.blocks[number % len(self.blocks)]
            new = block(x, edge, u, data.edge_index, layout)
            x, edge, u = (self._add(*pair) for pair in zip((x, edge, u), new, strict=True))
        return torch.cat([x, u]) if self.reads_globals else x

    def _add(self, old: Tensor | None, new: Tensor | None) -> Tensor | None:
        # Without old vectors the new ones are read inside their block alone. What isn't updated comes as it went.
        return old if old is None or new is old else old + self.dropout(new)


def _parts_of(level: TaskLevel, reads_globals: bool) -> set[Part]:
    """What the head reads."""
    if not reads_globals:
        return {"nodes"}
    return {"globals"} if level == "graph" else {"nodes", "globals"}


# What an update reads: the part, and whether it is read as this block has just made it.
_SOURCES: dict[Part, dict[str, tuple[Part, bool]]] = {
    "globals": {"edges": ("edges", True), "nodes": ("nodes", True), "globals": ("globals", False)},
    "nodes": {
        "nodes": ("nodes", False),
        "received_edges": ("edges", True),
        "sent_edges": ("edges", True),
        "globals": ("globals", False),
    },
    "edges": {
        "edges": ("edges", False),
        "senders": ("nodes", False),
        "receivers": ("nodes", False),
        "globals": ("globals", False),
    },
}


def _what_counts(
    num_layers: int, inputs: dict[Part, Sequence[str] | None], result: set[Part]
) -> tuple[list[set[Part]], set[Part]]:
    """Goes back from the head: which parts each block has to update, and which have to be there before the first."""
    updated: list[set[Part]] = []
    wanted = set(result)
    for _ in range(num_layers):
        new, old = set(wanted), set(wanted)  # a block adds to what was there
        for part, sources in _SOURCES.items():  # the last update of a block first
            if part not in new:
                continue
            if inputs[part] is None:
                new.remove(part)
                old.add(part)
                continue
            for name in inputs[part]:
                source, is_new = sources.get(name, (part, False))
                (new if is_new else old).add(source)
        updated.insert(0, new)
        wanted = old
    return updated, wanted
