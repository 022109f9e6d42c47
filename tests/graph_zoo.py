"""Small graphs that break things, by name, and a hypothesis strategy for random ones."""

from __future__ import annotations

import networkx
import torch
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected


def graph(
    num_nodes: int,
    edges: list[tuple[int, int]] = (),
    weights: list[float] | None = None,
    directed: bool = False,
) -> Data:
    """A graph from its edge list, each edge in both directions unless ``directed``."""
    edge_index = torch.tensor(list(edges), dtype=torch.long).view(-1, 2).t().contiguous()
    weight = None if weights is None else torch.as_tensor(weights)
    if not directed:
        reverse = edge_index[:, edge_index[0] != edge_index[1]].flip(0)
        if weight is not None:
            weight = torch.cat([weight, weight[edge_index[0] != edge_index[1]]])
        edge_index = torch.cat([edge_index, reverse], dim=1)
    data = Data(edge_index=edge_index, num_nodes=num_nodes)
    if weight is not None:
        data.edge_weight = weight
    return data


def from_networkx(graph: networkx.Graph) -> Data:
    """An unweighted undirected graph."""
    graph = networkx.convert_node_labels_to_integers(graph)
    edges = torch.tensor(list(graph.edges), dtype=torch.long).view(-1, 2).t()
    return Data(edge_index=to_undirected(edges, num_nodes=len(graph)), num_nodes=len(graph))


def zoo() -> dict[str, Data]:
    """Undirected, unweighted graphs."""
    return {
        "no nodes": graph(0),
        "one node": graph(1),
        "one node with a loop": graph(1, [(0, 0)]),
        "two nodes": graph(2, [(0, 1)]),
        "two nodes, no edge": graph(2),
        "no edges": graph(5),
        "triangle": graph(3, [(0, 1), (1, 2), (2, 0)]),
        "path": from_networkx(networkx.path_graph(9)),
        "cycle (double eigenvalues)": from_networkx(networkx.cycle_graph(8)),
        "star (one eigenvalue many times)": from_networkx(networkx.star_graph(7)),
        "complete": from_networkx(networkx.complete_graph(6)),
        "hypercube": from_networkx(networkx.hypercube_graph(4)),
        "isolated nodes": graph(6, [(1, 2), (2, 4)]),
        "many components": graph(9, [(0, 1), (2, 3), (4, 5), (6, 7)]),
        "parallel edges": graph(4, [(0, 1), (0, 1), (0, 1), (1, 2), (2, 3)]),
        "loops": graph(4, [(0, 0), (0, 1), (1, 2), (2, 2), (2, 3)]),
        "large": from_networkx(networkx.random_regular_graph(4, 60, seed=0)),
    }


@st.composite
def random_graphs(
    draw: st.DrawFn, max_nodes: int = 40, weighted: bool | None = None, directed: bool = False
) -> Data:
    """Graphs of 1 to ``max_nodes`` nodes: often disconnected, with loops and parallel edges, maybe weighted."""
    n = draw(st.integers(1, max_nodes))
    node = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=3 * n))
    if weighted is None:
        weighted = draw(st.booleans())
    weights = None
    if weighted:
        weights = draw(st.lists(st.floats(0.01, 10.0), min_size=len(edges), max_size=len(edges)))
    return graph(n, edges, weights, directed)
