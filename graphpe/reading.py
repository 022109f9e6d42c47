"""What PyG objects say about their graphs, read with errors that name the graph."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data, HeteroData, InMemoryDataset
from torch_geometric.data.storage import N_KEYS


def check_single_graph(data: Any, number: int) -> None:
    """Raises unless ``data`` is one homogeneous graph with edges that can be read."""
    if isinstance(data, HeteroData):
        raise TypeError(
            f"graph {number} is a HeteroData; graphpe encodes homogeneous graphs: call data.to_homogeneous() first"
        )
    if not isinstance(data, Data):
        raise TypeError(f"graph {number} is a {type(data).__name__}; wanted a torch_geometric Data")
    if is_batch(data):
        raise ValueError(
            f"graph {number} is a batch of graphs; give its graphs (batch.to_data_list()), or call the encoding on it"
        )
    check_edge_index(data, number)
    weight = edge_weight_of(data, number)
    if weight is not None and len(weight) != data.edge_index.shape[1]:
        raise ValueError(
            f"edge_weight of graph {number} has {len(weight)} entries for {data.edge_index.shape[1]} edges; "
            "give one weight per edge"
        )


def is_batch(data: Data) -> bool:
    """Whether a ``Data`` holds several graphs."""
    return isinstance(data, Batch) or isinstance(data.get("batch"), Tensor)


def check_edge_index(data: Data, number: int | None = None) -> None:
    """Raises unless ``data.edge_index`` is an integer tensor ``[2, E]``."""
    edge_index, where = data.edge_index, _where(number)
    if edge_index is None:
        remedy = (
            "make one from adj_t: torch.stack(adj_t.t().coo()[:2])"
            if "adj_t" in data
            else "for a graph without edges set edge_index=torch.empty(2, 0, dtype=torch.long)"
        )
        raise ValueError(f"there is no edge_index{where}; {remedy}")
    is_tensor = isinstance(edge_index, Tensor)
    if not is_tensor or edge_index.dim() != 2 or edge_index.shape[0] != 2:
        got = tuple(edge_index.shape) if is_tensor else f"a {type(edge_index).__name__}"
        raise ValueError(f"edge_index{where} is {got}; wanted an integer tensor of shape [2, E]")
    if edge_index.is_floating_point() or edge_index.is_complex() or edge_index.dtype == torch.bool:
        raise TypeError(
            f"edge_index{where} has dtype {edge_index.dtype}; node numbers must be integers: "
            "use edge_index.long()"
        )


def edge_weight_of(data: Data, number: int | None = None) -> Tensor | None:
    """``[E]`` the weights without a gradient, or None if there are none."""
    weight = data.get("edge_weight")
    if weight is None:
        return None
    if not isinstance(weight, Tensor):
        raise TypeError(
            f"edge_weight{_where(number)} is a {type(weight).__name__}; wanted a tensor of one number per edge"
        )
    if weight.dim() == 2 and weight.shape[1] == 1:
        weight = weight[:, 0]
    if weight.dim() != 1 or weight.is_complex():
        raise ValueError(
            f"edge_weight{_where(number)} has shape {list(weight.shape)} and dtype {weight.dtype}; "
            "wanted one real number per edge"
        )
    return weight.detach()


def num_nodes_of(data: Data, number: int | None = None) -> int:
    """Number of nodes as PyG counts them, which warns where only the edges tell."""
    num_nodes = int(data.num_nodes or 0)
    if num_nodes < 0:
        raise ValueError(f"num_nodes{_where(number)} is {num_nodes}; it must not be negative")
    return num_nodes


def nodes_per_graph(batch: Data) -> Tensor:
    """``[B]`` from the ``ptr`` or the ``batch`` vector of a batch."""
    total = num_nodes_of(batch)
    ptr, assignment = batch.get("ptr"), batch.get("batch")
    if ptr is not None:
        if int(ptr[-1]) != total:
            raise ValueError(
                f"the batch has {total} nodes but its ptr ends at {int(ptr[-1])}: nodes were added or removed after "
                "batching; encode the graphs before batching, or rebuild the batch"
            )
        sizes = ptr.diff().cpu()
    elif assignment is None:
        raise ValueError(
            "the Batch has neither ptr nor a batch vector, so its graphs cannot be told apart; "
            "make it with Batch.from_data_list"
        )
    else:
        ordered = bool((assignment.diff() >= 0).all()) and not bool((assignment < 0).any())
        if assignment.numel() != total or not ordered:
            raise ValueError(
                f"batch must hold one graph number >= 0 per node ({total} nodes), in ascending order; "
                f"got {assignment.numel()} numbers{'' if ordered else ' that do not ascend from 0'}"
            )
        sizes = torch.bincount(assignment, minlength=int(getattr(batch, "num_graphs", 1))).cpu()
    if isinstance(batch, Batch) and batch.num_graphs != len(sizes):
        raise ValueError(
            f"the Batch was made of {batch.num_graphs} parts but holds {len(sizes)} graphs; "
            "give a Batch of single graphs, not of batches"
        )
    return sizes


def check_counts_of_weights(slices: dict[str, Tensor]) -> None:
    """Raises if a graph of a collated storage has another number of weights than of edges."""
    if "edge_weight" not in slices or "edge_index" not in slices:
        return
    weights, edges = slices["edge_weight"].diff(), slices["edge_index"].diff()
    wrong = (weights != edges).nonzero().flatten().tolist()
    if wrong:
        number = wrong[0]
        raise ValueError(
            f"edge_weight of graph {number} has {int(weights[number])} entries for {int(edges[number])} edges; "
            "give one weight per edge"
        )


def nodes_per_stored_graph(dataset: InMemoryDataset) -> Tensor:
    """``[number of stored graphs]``, by the same rules as ``dataset[i].num_nodes``."""
    storage, slices = dataset._data, dataset.slices
    explicit = getattr(storage, "_num_nodes", None)
    if explicit is not None:
        return torch.as_tensor(explicit).flatten().long()
    if "num_nodes" in slices:
        return storage["num_nodes"].flatten().long()
    telling = [key for key in storage.keys() if key in N_KEYS] or [  # noqa: SIM118  (a storage is no mapping)
        key
        for key, value in storage.to_dict().items()
        if "node" in key and isinstance(value, Tensor)
    ]
    if telling and isinstance(storage[telling[0]], Tensor):
        return slices[telling[0]].diff().long()
    # Not a tensor, or only the edges tell: ask PyG graph by graph, which warns about isolated nodes at the end.
    return torch.tensor([num_nodes_of(dataset.get(i), i) for i in range(dataset.len())])


def _where(number: int | None) -> str:
    return "" if number is None else f" of graph {number}"
