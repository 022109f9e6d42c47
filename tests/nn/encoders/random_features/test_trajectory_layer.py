"""Layers on several trajectories."""

from __future__ import annotations

import pytest
import torch

from graphpe.nn.encoders.random_features.trajectory_layer import TrajectoryLayer

EDGES = torch.tensor([[0, 0, 1, 3, 2, 2], [1, 1, 2, 2, 2, 0]])


@pytest.mark.parametrize("trajectories", [1, 3])
@pytest.mark.parametrize("norm", ["layer", "batch"])
def test_formula(trajectories: int, norm: str) -> None:
    torch.manual_seed(0)
    layer = TrajectoryLayer(4, trajectories, norm).double()
    torch.nn.init.normal_(layer.epsilon)
    x = torch.randn(5, 2, trajectories, 4, dtype=torch.float64)
    adjacency = torch.zeros(5, 5, dtype=torch.float64)
    for u, v in EDGES.t().tolist():
        adjacency[v, u] += 1
    gathered = (1 + layer.epsilon) * x + torch.einsum("vu,usbc->vsbc", adjacency, x)
    layer.eval()
    expected = layer.each(gathered.flatten(0, 2)).view_as(x)
    if trajectories > 1:
        mean = layer.mean(gathered.mean(2).flatten(0, 1)).view(5, 2, 1, 4)
        expected = expected + mean
    torch.testing.assert_close(layer(x, EDGES), expected)


def test_equivariant_to_permutations_of_trajectories() -> None:
    layer = TrajectoryLayer(4, 3, "layer").double()
    x = torch.randn(5, 1, 3, 4, dtype=torch.float64)
    order = [2, 0, 1]
    torch.testing.assert_close(layer(x[:, :, order], EDGES), layer(x, EDGES)[:, :, order])
    other = x.clone()
    other[:, :, 1] += 1
    assert (layer(other, EDGES)[:, :, 0] - layer(x, EDGES)[:, :, 0]).abs().max() > 1e-3


def test_one_trajectory_has_no_second_network() -> None:
    assert TrajectoryLayer(4, 1, "layer").mean is None
