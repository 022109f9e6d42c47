"""The edges of a batch, checked: torch takes node -1 for the last one, and rows of pairs for others."""

from __future__ import annotations

import copy

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphpe.nn.layout import GraphLayout


def read_edges(data: Data, layout: GraphLayout) -> Tensor:
    """Reads the edges of a batch for what looks up pairs of nodes.

    Args:
        data: The batch.
        layout: Where its graphs lie.

    Returns:
        ``[2, E]`` int64.

    Raises:
        ValueError: If there are none, not even ``[2, 0]``, if they have another shape or type, or if one has a node
            that isn't there or joins two graphs.
    """
    edge_index = data.edge_index
    if edge_index is None:
        raise ValueError("the batch has no 'edge_index'; a graph without edges has [2, 0]")
    if not isinstance(edge_index, Tensor):
        raise ValueError(
            f"'edge_index' is a {type(edge_index).__name__}, no torch tensor; it must be [2, edges] of int64"
        )
    is_integer = edge_index.dtype in (torch.int32, torch.int64)
    if not is_integer or edge_index.dim() != 2 or len(edge_index) != 2:
        dtype = str(edge_index.dtype).removeprefix("torch.")
        raise ValueError(
            f"'edge_index' is {list(edge_index.shape)} of {dtype}; it must be [2, edges] of int64"
        )
    edge_index = edge_index.long()
    if not edge_index.numel():
        return edge_index
    lowest, highest = torch.stack(edge_index.aminmax()).tolist()
    if lowest < 0 or highest >= layout.num_nodes:
        raise ValueError(
            f"'edge_index' has node {lowest if lowest < 0 else highest}, but the batch has {layout.num_nodes} nodes, "
            "numbered from 0; correct edge_index, or give 'x' a row for each node"
        )
    graph = layout.batch[edge_index]
    joins_graphs = graph[0] != graph[1]
    if bool(joins_graphs.any()):
        edge = int(joins_graphs.nonzero()[0])
        (source, target), (one, other) = edge_index[:, edge].tolist(), graph[:, edge].tolist()
        raise ValueError(
            f"edge {edge} of 'edge_index' joins node {source} of graph {one} and node {target} of graph {other}; "
            "edges stay inside a graph, as torch_geometric.data.Batch makes them"
        )
    return edge_index


def with_read_edges(data: Data, layout: GraphLayout) -> Data:
    """Returns the batch with the edges of :func:`read_edges`: itself, or a copy that shares its other tensors."""
    edge_index = read_edges(data, layout)
    if edge_index is data.edge_index:
        return data
    data = copy.copy(data)  # the caller's batch stays as it is
    data.edge_index = edge_index
    return data
