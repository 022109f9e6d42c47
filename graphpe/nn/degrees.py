"""How many edges come in at the nodes of graphs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor
from torch_geometric.data import Data, InMemoryDataset

from graphpe.ragged import offsets_of, ragged_arange
from graphpe.reading import check_edge_index, nodes_per_stored_graph


def in_degree_histogram(graphs: Iterable[Data]) -> Tensor:
    """Counts the nodes of each in-degree, as ``torch_geometric.nn.PNAConv`` wants them.

    An ``InMemoryDataset`` without a transform is read from its collated storage, other graphs one by one.

    Args:
        graphs: A PyG dataset, a loader, a list of ``Data``, or any other iterable of graphs or batches.

    Returns:
        ``[largest in-degree + 1]`` int64: entry d is the number of nodes with d incoming edges.

    Raises:
        TypeError: If ``graphs`` is no iterable of graphs.
        ValueError: If a graph has no ``edge_index``.
    """
    total = torch.zeros(1, dtype=torch.long)
    for degrees in _in_degrees(graphs):
        histogram = torch.bincount(degrees.cpu(), minlength=len(total))
        histogram[: len(total)] += total
        total = histogram
    return total


def _in_degrees(graphs: Iterable[Data]) -> Iterator[Tensor]:
    """The in-degrees of the nodes, of some or all of the graphs at a time."""
    if isinstance(graphs, InMemoryDataset) and graphs.transform is None and graphs.slices:
        yield _stored_in_degrees(graphs)
        return
    is_iterable = hasattr(graphs, "__iter__") or hasattr(graphs, "__getitem__")  # a Subset, say
    if isinstance(graphs, Data) or not is_iterable:
        raise TypeError(
            f"graphs is a {type(graphs).__name__}; it must be the training graphs: a PyG dataset, a loader or a list "
            "of Data"
        )
    for number, graph in enumerate(graphs):
        check_edge_index(graph, number)
        yield torch.bincount(graph.edge_index[1], minlength=graph.num_nodes)


def _stored_in_degrees(dataset: InMemoryDataset) -> Tensor:
    check_edge_index(dataset._data)
    chosen = torch.as_tensor(list(dataset.indices()), dtype=torch.long)
    sizes, edges = nodes_per_stored_graph(dataset)[chosen], dataset.slices["edge_index"]
    graph, place = ragged_arange(edges.diff()[chosen])
    column = edges[chosen][graph] + place
    first = offsets_of(sizes)  # node numbers in the storage start from 0 in each graph
    target = dataset._data.edge_index[1].cpu()[column] + first[graph]
    return torch.bincount(target, minlength=int(first[-1]))
