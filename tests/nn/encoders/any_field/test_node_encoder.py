"""A perceptron on a node field, and the normalisation before it."""

from __future__ import annotations

import pytest
import torch
from nn_batches import batch_of, largest_error
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphpe.nn import NodeEncoder
from graphpe.transforms import AddRandomWalkPE


def walks(*names: str, k: int = 5) -> Batch:
    """The small graphs of these names, or all, with return probabilities."""
    encoding = AddRandomWalkPE(k, dtype="float64")
    return Batch.from_data_list([encoding(graph) for graph in batch_of(*names).to_data_list()])


def normalized(x: Tensor, dim: int) -> Tensor:
    centered = x - x.mean(dim, keepdim=True)
    return centered / (centered.square().mean(dim, keepdim=True) + 1e-5).sqrt()


def perceptron(encoder: NodeEncoder, x: Tensor, norm: str) -> Tensor:
    for number, linear in enumerate(encoder.mlp.lins):
        if number and norm != "none":
            x = normalized(x, {"layer": 1, "batch": 0}[norm])
        if number:
            x = x.clamp(min=0)
        x = x @ linear.weight.t() + linear.bias
    return x


def test_one_linear_layer_by_default() -> None:
    batch = walks()
    encoder = NodeEncoder(5, 4).double()
    (linear,) = encoder.mlp.lins
    expected = batch.random_walk_pe @ linear.weight.t() + linear.bias
    assert largest_error(encoder(batch), expected) < 1e-12
    assert [tuple(p.shape) for p in encoder.parameters()] == [(4, 5), (4,)]


@pytest.mark.parametrize("raw_norm", ["none", "layer", "batch"])
@pytest.mark.parametrize("norm", ["none", "layer", "batch"])
@pytest.mark.parametrize("num_layers", [1, 2, 3])
def test_equals_the_formula(num_layers: int, norm: str, raw_norm: str) -> None:
    torch.manual_seed(0)
    batch = walks()
    encoder = NodeEncoder(
        5, 4, hidden_channels=6, num_layers=num_layers, norm=norm, raw_norm=raw_norm
    ).double()
    x = batch.random_walk_pe
    if raw_norm != "none":
        x = normalized(x, {"layer": 1, "batch": 0}[raw_norm])
    assert largest_error(encoder(batch), perceptron(encoder, x, norm)) < 1e-12
    mixes = raw_norm == "batch" or (norm == "batch" and num_layers > 1)
    assert encoder.mixes_graphs_in_training == mixes


def test_raw_batch_norm_learns_the_scale_of_each_column() -> None:
    """Evaluation uses what training has seen; columns of very different sizes and means come out alike."""
    torch.manual_seed(0)
    field = torch.randn(500, 3) * torch.tensor([0.1, 1.0, 1e3]) + torch.tensor([1.0, 0.0, -5.0])
    graph = Data(num_nodes=500, edge_index=torch.zeros(2, 0, dtype=torch.long), f=field)
    encoder = NodeEncoder(3, 3, "f", raw_norm="batch")
    for _ in range(100):
        encoder(graph)
    encoder.eval()
    out = encoder.raw_norm(field)
    assert (out.mean(0).abs() < 0.02).all()
    assert ((out.std(0) - 1).abs() < 0.1).all()
    assert torch.equal(encoder(graph), encoder(graph))


@pytest.mark.parametrize("name", ["no nodes", "one node"])
def test_training_on_a_single_row(name: str) -> None:
    """Batch normalisation of one row has no variance; torch's own raises an error."""
    batch = walks(name)
    for norm in ("layer", "batch", "none"):
        encoder = NodeEncoder(5, 4, num_layers=2, norm=norm, raw_norm=norm).double().train()
        out = encoder(batch)
        assert out.shape == (batch.num_nodes, 4)
        assert out.isfinite().all()
        out.sum().backward()
        assert all(buffer.isfinite().all() for buffer in encoder.buffers())


def test_bfloat16() -> None:
    batch = walks()
    encoder = NodeEncoder(5, 4, num_layers=2, norm="batch", raw_norm="batch")
    expected = encoder(batch)
    with torch.autocast("cpu", torch.bfloat16):
        got = encoder(batch)
    assert largest_error(got.float(), expected) < 0.05


def test_choices() -> None:
    for name in ("in_channels", "out_channels", "hidden_channels", "num_layers"):
        with pytest.raises(ValueError, match=f"^{name} is 0; it must be an integer >= 1$"):
            NodeEncoder(**{"in_channels": 4, "out_channels": 4, name: 0})
    with pytest.raises(
        ValueError, match=r"^raw_norm is 'BatchNorm'; it must be 'layer', 'batch' or 'none'$"
    ):
        NodeEncoder(4, 4, raw_norm="BatchNorm")
    with pytest.raises(
        ValueError, match=r"^raw_norm is 'layer', which makes a field of one column 0"
    ):
        NodeEncoder(1, 4, raw_norm="layer")
