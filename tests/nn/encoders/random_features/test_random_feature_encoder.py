"""Where random encoders take their numbers from."""

from __future__ import annotations

import pytest
import torch
from nn_batches import batch_of
from torch_geometric.data import Batch, Data

from graphpe.nn import (
    RandomFeatureEncoder,
    RandomFeaturePropagation,
    RandomPEARL,
    StructuralEncoder,
    graph_layout,
)


class Identity(RandomFeatureEncoder):
    """Returns the mean of the numbers that it gets."""

    def __init__(self, num_features=3, distribution="normal", eval_samples=1, seed=0) -> None:
        super().__init__(num_features, distribution, eval_samples, seed)
        self.out_channels = num_features
        self.weight = torch.nn.Parameter(torch.ones(()))

    def encode(self, data, layout, features):
        return features.mean(1) * self.weight


def graph(n: int) -> Data:
    return Data(num_nodes=n, edge_index=torch.zeros(2, 0, dtype=torch.long))


def test_evaluation_depends_on_seed_sample_and_position_alone() -> None:
    encoder = Identity(eval_samples=4, seed=5).eval()
    alone = encoder.draw(graph_layout(graph(3)))
    assert alone.shape == (3, 4, 3)
    others = [graph(1000), graph(0), graph(3), graph(1)]
    together = encoder.draw(graph_layout(Batch.from_data_list(others)))
    assert torch.equal(together[1000:1003], alone)
    assert torch.equal(together[:3], alone)
    assert torch.equal(together[1003:], alone[:1])

    more = Identity(eval_samples=6, seed=5).eval().draw(graph_layout(graph(3)))
    assert torch.equal(more[:, :4], alone)
    wider = Identity(num_features=5, eval_samples=4, seed=5).eval().draw(graph_layout(graph(3)))
    assert torch.equal(wider[..., :3], alone)
    other_seed = Identity(eval_samples=4, seed=6).eval().draw(graph_layout(graph(3)))
    assert not (other_seed == alone).any()
    assert alone.unique().numel() == alone.numel()


def test_evaluation_leaves_the_generator_alone_and_training_uses_it() -> None:
    encoder = Identity()
    batch = batch_of("path", "complete")
    torch.manual_seed(1)
    state = torch.get_rng_state()
    encoder.eval()
    assert torch.equal(encoder(batch), encoder(batch))
    assert torch.equal(torch.get_rng_state(), state)
    encoder.train()
    first, second = encoder(batch), encoder(batch)
    assert not (first == second).any()
    torch.manual_seed(1)
    assert torch.equal(encoder(batch), first)


def test_equal_seeds_are_equal_numbers() -> None:
    layout = graph_layout(graph(4))
    first, second = Identity(seed=1).eval(), Identity(seed=1).eval()
    assert torch.equal(first.draw(layout), second.draw(layout))
    assert torch.equal(first.train()._fixed(layout), second.draw(layout))


@pytest.mark.parametrize("training", [False, True])
def test_distributions(training: bool) -> None:
    layout = graph_layout(graph(2000))
    normal = Identity(8).train(training).draw(layout)
    assert abs(float(normal.mean())) < 0.03
    assert abs(float(normal.var()) - 1) < 0.05
    signs = Identity(8, "rademacher").train(training).draw(layout)
    assert signs.dtype == torch.float32
    assert signs.unique().tolist() == [-1, 1]
    assert abs(float(signs.mean())) < 0.03
    covariance = normal[:, 0].T @ normal[:, 0] / 2000 - torch.eye(8)
    assert float(covariance.abs().max()) < 0.15


def test_dtype_of_the_parameters() -> None:
    for dtype in (torch.float64, torch.bfloat16):
        encoder = Identity().to(dtype)
        for training in (False, True):
            assert encoder.train(training).draw(graph_layout(graph(2))).dtype == dtype


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"distribution": "uniform"},
            "distribution is 'uniform'; it must be 'normal' or 'rademacher'",
        ),
        ({"eval_samples": 0}, "eval_samples is 0"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_settings(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Identity(**arguments)


@pytest.mark.parametrize(
    "encoder",
    [RandomPEARL(4, num_layers=1), RandomFeaturePropagation(4), StructuralEncoder(4, 1)],
    ids=lambda encoder: type(encoder).__name__,
)
def test_edges_are_read(encoder: RandomFeatureEncoder) -> None:
    """Node -1 was the last node of the batch, an edge between graphs mixed them, and int32 failed."""
    encoder.eval()
    batch = batch_of("path", "complete")
    expected = encoder(batch)
    for edge, message in (((0, -1), "has node -1"), ((0, 7), "joins node 0 of graph 0")):
        wrong = batch.clone()
        wrong.edge_index[:, 0] = torch.tensor(edge)
        with pytest.raises(ValueError, match=message):
            encoder(wrong)
    batch.edge_index = batch.edge_index.int()
    assert torch.equal(encoder(batch), expected)
    assert batch.edge_index.dtype == torch.int32
