"""Neighbors: the same lists from dense stacks and sparse matrices, without loops and weights."""

from __future__ import annotations

import networkx
import numpy as np
import scipy.sparse as sp
import torch

from graphpe.linalg.structure.neighbors import Neighbors


def stack_of(*graphs: networkx.Graph) -> torch.Tensor:
    return torch.stack([torch.from_numpy(networkx.to_numpy_array(graph)) for graph in graphs])


def test_lists_of_a_stack() -> None:
    path, star = networkx.path_graph(3), networkx.star_graph(2)
    neighbors = Neighbors.of_stack(stack_of(path, star))
    assert neighbors.num_nodes == 6
    assert neighbors.source.tolist() == [0, 1, 1, 2, 3, 3, 4, 5]
    assert neighbors.target.tolist() == [1, 0, 2, 1, 4, 5, 3, 3]
    assert neighbors.degree.tolist() == [1, 2, 1, 2, 1, 1]
    assert neighbors.of(torch.tensor([3, 1])).tolist() == [4, 5, 0, 2]
    assert neighbors.sum(torch.arange(6)).tolist() == [1, 2, 1, 9, 3, 3]


def test_loops_weights_and_stored_zeros_do_not_count() -> None:
    adjacency = np.array([[5.0, 0.25, 0.0], [0.25, 0.0, 3.0], [0.0, 3.0, 1.0]])
    sparse = sp.csr_array(adjacency)
    sparse.data[1] = 0.0  # the edge 0→1, stored
    dense = Neighbors.of_stack(torch.from_numpy(adjacency)[None])
    assert dense.target.tolist() == [1, 0, 2, 1]
    assert Neighbors.of_sparse(sparse).target.tolist() == [0, 2, 1]


def test_rows_of_a_sparse_matrix_need_not_be_sorted() -> None:
    matrix = sp.csr_array((np.ones(4), [2, 1, 0, 0], [0, 2, 3, 4]), shape=(3, 3))
    neighbors = Neighbors.of_sparse(matrix)
    assert neighbors.source.tolist() == [0, 0, 1, 2]
    assert neighbors.target.tolist() == [1, 2, 0, 0]


def test_no_nodes_and_no_edges() -> None:
    for n in (0, 1, 4):
        for neighbors in (
            Neighbors.of_stack(torch.zeros(1, n, n)),
            Neighbors.of_sparse(sp.csr_array((n, n))),
        ):
            assert neighbors.degree.tolist() == [0] * n
            assert neighbors.sum(torch.ones(n)).tolist() == [0.0] * n


def test_within_keeps_edges_between_chosen_nodes() -> None:
    neighbors = Neighbors.of_stack(stack_of(networkx.cycle_graph(4)))
    inside = neighbors.within(torch.tensor([True, True, True, False]))
    assert inside.num_nodes == 4
    assert inside.source.tolist() == [0, 1, 1, 2]
