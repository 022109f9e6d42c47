"""GraphBatch: every way to make one gives the same graphs; bad graphs are named."""

from __future__ import annotations

import pytest
import torch
from adjacency_oracle import adjacency_matrix
from graph_zoo import graph, zoo
from torch_geometric.data import Batch, Data, HeteroData, InMemoryDataset

from graphpe import GraphBatch


class InMemory(InMemoryDataset):
    def __init__(self, graphs: list[Data]) -> None:
        super().__init__()
        self.data, self.slices = self.collate(graphs)


def adjacencies(graphs: GraphBatch) -> list[torch.Tensor]:
    """Dense matrix of each graph, through blocks."""
    result = [None] * len(graphs)
    for block in graphs.blocks(dense_limit=100, memory_budget=2**20):
        for number, matrix in zip(block.numbers.tolist(), block.adjacency, strict=True):
            result[number] = matrix
    return result


def dense(data: Data) -> torch.Tensor:
    return torch.from_numpy(adjacency_matrix(data))


def shuffled_edges(batch: Batch) -> Batch:
    batch = batch.clone()
    batch.edge_index = batch.edge_index[:, torch.randperm(batch.num_edges)]
    return batch


GRAPHS = list(zoo().values())


@pytest.mark.parametrize(
    "make",
    [
        lambda graphs: GraphBatch.of(graphs),
        lambda graphs: GraphBatch.of(Batch.from_data_list(graphs)),
        lambda graphs: GraphBatch.of(shuffled_edges(Batch.from_data_list(graphs))),
        lambda graphs: GraphBatch.of(InMemory(graphs)),
    ],
    ids=["list", "batch", "batch with shuffled edges", "dataset"],
)
def test_every_source_gives_the_same_graphs(make) -> None:
    for got, data in zip(adjacencies(make(GRAPHS)), GRAPHS, strict=True):
        assert torch.equal(got, dense(data))


def test_a_subset_of_a_dataset_is_read_in_its_own_order() -> None:
    dataset = InMemory(GRAPHS)[[7, 3, 3, 0, 14]]
    for got, number in zip(adjacencies(GraphBatch.of(dataset)), [7, 3, 3, 0, 14], strict=True):
        assert torch.equal(got, dense(GRAPHS[number]))


def test_a_dataset_of_one_graph() -> None:
    assert torch.equal(adjacencies(GraphBatch.of(InMemory(GRAPHS[7:8])))[0], dense(GRAPHS[7]))


def test_collated_storage_is_not_copied() -> None:
    dataset = InMemory(GRAPHS)
    assert GraphBatch.of(dataset).edge_index.data_ptr() == dataset._data.edge_index.data_ptr()


def test_node_counts_of_stored_graphs_come_from_x() -> None:
    graphs = [Data(x=torch.ones(n, 1), edge_index=torch.tensor([[0], [0]])) for n in (3, 1, 2)]
    assert GraphBatch.of(InMemory(graphs)).num_nodes.tolist() == [3, 1, 2]


def test_node_counts_known_from_edges_only_warn_as_in_pyg() -> None:
    graphs = [
        Data(edge_index=torch.tensor([[0, 4], [1, 2]])),
        Data(edge_index=torch.tensor([[0], [1]])),
    ]
    with pytest.warns(UserWarning, match="accurately infer 'num_nodes'"):
        assert GraphBatch.of(InMemory(graphs)).num_nodes.tolist() == [5, 2]


def test_weights_add_up_over_parallel_edges() -> None:
    data = graph(3, [(0, 1), (0, 1), (1, 2)], [0.5, 2.0, 1.0])
    assert adjacencies(GraphBatch.of(data))[0][0, 1] == 2.5


def test_blocks_hold_graphs_of_one_size_within_the_budget() -> None:
    graphs = GraphBatch.of([graph(n) for n in (4, 7, 4, 4, 7, 0, 4)])
    one_matrix_set = 6 * 8 * 49
    blocks = list(graphs.blocks(dense_limit=10, memory_budget=one_matrix_set))
    assert [(block.n, block.numbers.tolist()) for block in blocks] == [
        (7, [1]),
        (7, [4]),
        (4, [0, 2, 3]),
        (4, [6]),
        (0, [5]),
    ]


def test_a_graph_over_the_budget_is_named_with_the_size_that_it_needs() -> None:
    graphs = GraphBatch.of([graph(3), graph(400)])
    with pytest.raises(
        ValueError, match=r"graph 1 has 400 nodes and needs 7.3 MiB .*raise memory_budget"
    ):
        list(graphs.blocks(dense_limit=500, memory_budget=2**20))


def test_large_graphs_are_apart() -> None:
    graphs = GraphBatch.of([graph(3), graph(50, [(0, 49), (0, 49)]), graph(9)])
    assert sum(len(block) for block in graphs.blocks(10, 2**20)) == 2
    (large,) = graphs.large(10, 2**20)
    assert (large.name, large.n) == ("graph 1", 50)
    assert large.adjacency[0, 49] == 2.0


def test_directed_graphs_are_symmetrised_by_the_stated_rule() -> None:
    unweighted = graph(2, [(0, 1)], directed=True)
    weighted = graph(2, [(0, 1)], [3.0], directed=True)
    for data, value in ((unweighted, 1.0), (weighted, 1.5)):
        (block,) = GraphBatch.of(data).blocks(10, 2**20)
        assert block.is_directed.tolist() == [True]
        assert block.undirected_adjacency[0].tolist() == [[0.0, value], [value, 0.0]]
        (large,) = GraphBatch.of(data).large(1, 2**20)
        assert large.is_directed
        assert large.undirected_adjacency.toarray().tolist() == [[0.0, value], [value, 0.0]]


def test_what_a_block_shares_is_computed_once() -> None:
    (block,) = GraphBatch.of(zoo()["path"]).blocks(10, 2**20)
    assert block.adjacency is block.adjacency
    assert block.degree is block.degree
    assert block.laplacian("rw") is block.laplacian("rw")
    assert block.eigenpairs("sym")[1] is block.eigenpairs("sym")[1]


@pytest.mark.parametrize("level", ["node", "edge", "pair", "graph"])
def test_offsets_are_computed_once(level: str) -> None:
    """They are asked for graph by graph: made anew each time, a list would take quadratic time."""
    graphs = GraphBatch.of(GRAPHS)
    assert graphs.rows(level) is graphs.rows(level)
    assert len(graphs.rows(level)) == len(GRAPHS) + 1


def test_a_data_with_a_batch_vector_is_several_graphs() -> None:
    """B38: graphs that are told apart only by ``batch``."""
    batch = Batch.from_data_list(GRAPHS[3:8])
    data = Data(edge_index=batch.edge_index, batch=batch.batch, num_nodes=batch.num_nodes)
    assert GraphBatch.of(data).num_nodes.tolist() == [g.num_nodes for g in GRAPHS[3:8]]


BAD = {
    "node number too large": (
        [graph(2, [(0, 1)]), Data(edge_index=torch.tensor([[0], [5]]), num_nodes=3)],
        ValueError,
        r"edge_index of graph 1 has the edge \[0, 5\], but its nodes are 0 to 2",
    ),
    "negative node number": (
        [Data(edge_index=torch.tensor([[0], [-1]]), num_nodes=3)],
        ValueError,
        r"graph 0 has the edge \[0, -1\]",
    ),
    "float node numbers": (
        [graph(2), Data(edge_index=torch.tensor([[0.0], [1.0]]), num_nodes=2)],
        TypeError,
        r"edge_index of graph 1 has dtype torch.float32; .*edge_index.long\(\)",
    ),
    "wrong shape": (
        [Data(edge_index=torch.zeros(4, 2, dtype=torch.long), num_nodes=2)],
        ValueError,
        r"edge_index of graph 0 is \(4, 2\); wanted .*\[2, E\]",
    ),
    "no edge_index": (
        [Data(num_nodes=2)],
        ValueError,
        "there is no edge_index of graph 0; for a graph without edges set",
    ),
    "negative weight (B6)": (
        [graph(2, [(0, 1)], [1.0]), graph(2, [(0, 1)], [-2.0])],
        ValueError,
        r"edge_weight of graph 1 is -2.0 at the edge \[0, 1\]; weights must be 0 or between",
    ),
    "weight NaN": (
        [graph(2, [(0, 1)], [float("nan")])],
        ValueError,
        "edge_weight of graph 0 is nan at",
    ),
    "weight inf": (
        [graph(2, [(0, 1)], [float("inf")])],
        ValueError,
        "edge_weight of graph 0 is inf at",
    ),
    "weights on some graphs": (
        [graph(2, [(0, 1)], [1.0]), graph(2, [(0, 1)])],
        ValueError,
        "graph 1 has no edge_weight but graph 0 has",
    ),
    "too few weights": (
        [Data(edge_index=torch.tensor([[0, 1], [1, 0]]), edge_weight=torch.ones(1), num_nodes=2)],
        ValueError,
        "edge_weight of graph 0 has 1 entries for 2 edges",
    ),
    "two weights per edge": (
        [Data(edge_index=torch.tensor([[0], [1]]), edge_weight=torch.ones(1, 2), num_nodes=2)],
        ValueError,
        "wanted one real number per edge",
    ),
    "weights of a graph given to its neighbour": (
        [graph(3, [(0, 1), (1, 2)], [1.0, 1.0]), graph(3, [(0, 1), (1, 2)], [1.0, 1.0])],
        ValueError,
        "edge_weight of graph 0 has 3 entries for 4 edges",
    ),
    "huge weight": (
        [graph(2, [(0, 1)], [1.0]), graph(2, [(0, 1)], torch.tensor([1e300], dtype=torch.float64))],
        ValueError,
        r"edge_weight of graph 1 is 1e\+300 .* between 1e-100 and 1e\+100",
    ),
    "numpy weights": (
        [Data(edge_index=torch.tensor([[0], [1]]), edge_weight=torch.ones(1).numpy(), num_nodes=2)],
        TypeError,
        "edge_weight of graph 0 is a ndarray; wanted a tensor",
    ),
    "complex node numbers": (
        [Data(edge_index=torch.zeros(2, 1, dtype=torch.complex128), num_nodes=2)],
        TypeError,
        "edge_index of graph 0 has dtype torch.complex128",
    ),
    "negative number of nodes": (
        [Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=-1)],
        ValueError,
        "num_nodes of graph 0 is -1",
    ),
    "adj_t instead of edge_index": (
        [Data(adj_t=torch.eye(2).to_sparse_csr(), num_nodes=2)],
        ValueError,
        "no edge_index of graph 0; make one from adj_t",
    ),
    "a batch in a list": (
        [Batch.from_data_list([graph(2), graph(3)])],
        ValueError,
        r"graph 0 is a batch of graphs; give its graphs \(batch.to_data_list\(\)\)",
    ),
    "empty list": ([], ValueError, "empty list of graphs"),
    "not a graph": ([graph(1), 3], TypeError, "graph 1 is a int"),
    "heterogeneous": (HeteroData(), TypeError, "to_homogeneous"),
    "something else": (3, TypeError, "got int; wanted"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named_in_one_line(name: str) -> None:
    graphs, error, message = BAD[name]
    if "neighbour" in name:  # as many weights as edges, but not in each graph
        graphs[0].edge_weight, graphs[1].edge_weight = torch.ones(3), torch.ones(5)
        for other in (InMemory(graphs), Batch.from_data_list(graphs)):
            with pytest.raises(error, match=message):
                GraphBatch.of(other)
    with pytest.raises(error, match=message) as caught:
        GraphBatch.of(graphs)
    assert "\n" not in str(caught.value)


def test_bad_graphs_are_named_in_a_dataset_and_in_a_batch() -> None:
    good, bad = graph(3, [(0, 1)]), graph(3, [(0, 1)])
    bad.edge_index[0, 0] = 7
    with pytest.raises(ValueError, match=r"graph 1 has the edge \[7, 1\]"):
        GraphBatch.of(InMemory([good, bad, good]))
    batch = Batch.from_data_list([good, good])
    batch.edge_index[1, 0] = 4  # an edge from one graph into another
    with pytest.raises(
        ValueError, match=r"edge 0 of the batch, \[0, 4\], joins graph 0 and graph 1"
    ):
        GraphBatch.of(batch)
    batch.edge_index[0, 0] = 60
    with pytest.raises(
        ValueError, match=r"edge 0 of the batch is \[60, 4\], but the batch has nodes 0 to 5"
    ):
        GraphBatch.of(batch)


def test_a_batch_of_batches_is_refused() -> None:
    inner = Batch.from_data_list([graph(2), graph(3)])
    with pytest.raises(ValueError, match="made of 2 parts but holds 3 graphs"):
        GraphBatch.of(Batch.from_data_list([inner, Batch.from_data_list([graph(1)])]))


def test_node_counts_of_stored_graphs_follow_the_rules_of_pyg() -> None:
    """An attribute with "node" in its name tells the number of nodes only if nothing else does."""
    edges = torch.tensor([[0, 1], [1, 2]])
    for other in (
        {"num_node_types": 4},
        {"node_count": torch.tensor([3])},
        {"node_names": ["a", "b"]},
    ):
        stored = [Data(edge_index=edges, **other, x=torch.ones(n, 1)) for n in (3, 5)]
        assert GraphBatch.of(InMemory(stored)).num_nodes.tolist() == [3, 5]


def test_weights_that_are_learned_leave_no_gradient() -> None:
    data = graph(3, [(0, 1), (1, 2)], [1.0, 2.0])
    data.edge_weight.requires_grad_()
    assert not GraphBatch.of(data).edge_weight.requires_grad


def test_the_order_of_parallel_edges_does_not_make_a_graph_directed() -> None:
    weights = torch.tensor([0.1, 0.2, 0.3, 0.3, 0.2, 0.1], dtype=torch.float64)
    edges = torch.tensor([[0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0]])
    graphs = GraphBatch.of(Data(edge_index=edges, edge_weight=weights, num_nodes=2))
    (block,) = graphs.blocks(10, 2**20)
    assert block.adjacency[0, 0, 1] != block.adjacency[0, 1, 0]
    assert block.is_directed.tolist() == [False]
    assert torch.equal(block.undirected_adjacency, block.undirected_adjacency.mT)
    (large,) = graphs.large(1, 2**20)
    assert not large.is_directed


def test_a_batch_without_its_batch_vector_is_refused() -> None:
    """B38: attention or walks over the whole mini-batch must not happen silently."""
    with pytest.raises(ValueError, match="neither ptr nor a batch vector"):
        GraphBatch.of(Batch(edge_index=torch.tensor([[0], [1]]), num_nodes=2))


def test_an_unsorted_batch_vector_is_refused() -> None:
    data = Data(edge_index=torch.tensor([[0], [1]]), batch=torch.tensor([1, 0]), num_nodes=2)
    with pytest.raises(ValueError, match="ascending order"):
        GraphBatch.of(data)


def test_a_stale_ptr_is_refused() -> None:
    """B33: nodes added after batching."""
    batch = Batch.from_data_list([graph(2), graph(3)])
    batch.num_nodes = 7
    with pytest.raises(ValueError, match="7 nodes but its ptr ends at 5"):
        GraphBatch.of(batch)
