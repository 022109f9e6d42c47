"""Component labels against networkx, and the zero modes by their definition."""

from __future__ import annotations

import networkx
import torch
from adjacency_zoo import random_adjacency
from hypothesis import given

from graphpe.linalg.spectra.connected_components import (
    component_labels,
    has_several_largest,
    zero_modes,
)


@given(random_adjacency())
def test_components_by_size_then_first_node(matrix):
    graph = networkx.from_numpy_array((matrix[0] > 0).double().numpy())
    expected = sorted(networkx.connected_components(graph), key=lambda c: (-len(c), min(c)))
    labels = component_labels(matrix)[0]
    for number, component in enumerate(expected):
        assert set((labels == number).nonzero().flatten().tolist()) == component


def test_each_graph_of_a_stack_counts_from_zero():
    stack = torch.zeros(3, 5, 5, dtype=torch.float64)
    stack[0, 3, 4] = 1.0  # one direction is enough
    stack[2, 0, 1] = stack[2, 2, 3] = stack[2, 3, 4] = 1e-300
    assert component_labels(stack).tolist() == [[1, 2, 3, 0, 0], [0, 1, 2, 3, 4], [1, 1, 0, 0, 0]]


def test_empty_stacks():
    assert component_labels(torch.zeros(0, 4, 4)).shape == (0, 4)
    assert component_labels(torch.zeros(3, 0, 0)).shape == (3, 0)


def test_several_largest_components():
    labels = torch.tensor([[0, 0, 1, 1, 2], [0, 1, 0, 0, 1], [0, 0, 0, 0, 0], [0, 1, 2, 3, 4]])
    assert has_several_largest(labels).tolist() == [[True], [False], [False], [True]]
    assert has_several_largest(torch.zeros(2, 1).long()).tolist() == [[False], [False]]
    assert has_several_largest(torch.zeros(2, 0).long()).tolist() == [[False], [False]]


def test_zero_modes_are_orthonormal_multiples_of_the_scale():
    labels = torch.tensor([[0, 1, 0, 2], [0, 0, 0, 0]])
    scale = torch.rand(2, 4, dtype=torch.float64) + 0.5
    modes = zero_modes(labels, scale)
    gram = modes.mT @ modes
    torch.testing.assert_close(gram[0], torch.diag(torch.tensor([1.0, 1, 1, 0])).double())
    torch.testing.assert_close(modes[1, :, 0], scale[1] / scale[1].norm())
    assert not modes[1, :, 1:].any()
    assert modes[0, 1].tolist() == [0, 1, 0, 0]
