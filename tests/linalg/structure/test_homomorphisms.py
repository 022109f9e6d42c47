"""Homomorphism counts by brute force; rooted trees as many as there are."""

from __future__ import annotations

import itertools

import networkx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

from graphpe.linalg.structure.homomorphisms import (
    Tree,
    closed_walks,
    rooted_trees,
    sparse_closed_walks,
    tree_homomorphisms,
)
from graphpe.linalg.structure.neighbors import Neighbors


def edges_of(tree: Tree) -> list[tuple[int, int]]:
    """The edges of a rooted tree, its nodes numbered from the root, 0."""
    edges: list[tuple[int, int]] = []

    def add(tree: Tree, node: int) -> int:
        free = node + 1
        for child in tree:
            edges.append((node, free))
            free = add(child, free)
        return free

    add(tree, 0)
    return edges


def brute_force(adjacency: np.ndarray, edges: list[tuple[int, int]], nodes: int) -> np.ndarray:
    """Of all maps from ``nodes`` nodes, those that keep the edges, by the image of node 0."""
    n = len(adjacency)
    images = np.array(list(itertools.product(range(n), repeat=nodes))).reshape(-1, nodes)
    kept = np.ones(len(images))
    for a, b in edges:
        kept *= adjacency[images[:, a], images[:, b]]
    return np.bincount(images[:, 0], weights=kept, minlength=n)


@given(st.integers(1, 5), st.floats(0.0, 1.0), st.integers(0, 10**6))
def test_trees_by_brute_force(n: int, p: float, seed: int) -> None:
    adjacency = networkx.to_numpy_array(networkx.gnp_random_graph(n, p, seed=seed))
    trees = [tree for nodes in range(1, 6) for tree in rooted_trees(nodes)]
    counts = tree_homomorphisms(Neighbors.of_stack(torch.from_numpy(adjacency)[None]), trees)
    for column, tree in zip(counts.T, trees, strict=True):
        edges = edges_of(tree)
        np.testing.assert_array_equal(column, brute_force(adjacency, edges, len(edges) + 1))


@given(st.integers(1, 5), st.floats(0.0, 1.0), st.integers(0, 10**6))
def test_cycles_by_brute_force(n: int, p: float, seed: int) -> None:
    adjacency = networkx.to_numpy_array(networkx.gnp_random_graph(n, p, seed=seed))
    counts = closed_walks(torch.from_numpy(adjacency)[None], 6)[0]
    for length in range(3, 7):
        edges = [(i, (i + 1) % length) for i in range(length)]
        np.testing.assert_array_equal(counts[:, length - 1], brute_force(adjacency, edges, length))


@pytest.mark.parametrize("longest", [1, 2, 3, 8])
@pytest.mark.parametrize("budget", [1, 2000, 2**26])
def test_sparse_walks_are_the_dense_ones(longest: int, budget: int) -> None:
    adjacency = networkx.to_numpy_array(networkx.gnp_random_graph(30, 0.2, seed=1))
    dense = closed_walks(torch.from_numpy(adjacency)[None], longest)[0]
    sparse = sparse_closed_walks(sp.csr_array(adjacency), longest, memory_budget=budget)
    np.testing.assert_array_equal(sparse, dense)


def test_walks_of_a_complete_graph() -> None:
    adjacency = torch.ones(1, 7, 7, dtype=torch.float64) - torch.eye(7, dtype=torch.float64)
    wanted = [(6**k + 6 * (-1) ** k) / 7 for k in range(1, 9)]
    assert closed_walks(adjacency, 8)[0, 3].tolist() == wanted


def test_numbers_of_rooted_trees() -> None:
    """OEIS A000081."""
    assert [len(rooted_trees(n)) for n in range(1, 11)] == [1, 1, 2, 4, 9, 20, 48, 115, 286, 719]
    assert all(len(set(rooted_trees(n))) == len(rooted_trees(n)) for n in range(1, 9))


def test_no_trees() -> None:
    neighbors = Neighbors.of_stack(torch.ones(1, 3, 3))
    assert tree_homomorphisms(neighbors, []).shape == (3, 0)
