"""DeepSets and Transformer on the eigenpairs of a node."""

from __future__ import annotations

import pytest
import torch
from nn_batches import batch_of, graphs, largest_error, spectrum
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphpe.nn import EigenpairDeepSets, EigenpairTransformer

BOTH = pytest.mark.parametrize("cls", [EigenpairDeepSets, EigenpairTransformer])
SMALL = {"hidden_channels": 8}
VECTORS, VALUES = "laplacian_eigenvector_pe", "laplacian_eigenvalue"
COUNT = "laplacian_eigenvector_count"


def layer_norm(x: Tensor, norm=None) -> Tensor:
    x = (x - x.mean(-1, keepdim=True)) / (x.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    return x if norm is None else x * norm.weight + norm.bias


def perceptron(network, x: Tensor) -> Tensor:
    for number, linear in enumerate(network.lins):
        if number:
            x = layer_norm(x).clamp(min=0)
        x = linear.weight @ x + linear.bias
    return x


def attention(layer, x: Tensor) -> Tensor:
    """One Transformer layer on the rows of a node, head by head."""
    channels = x.size(1)
    width = channels // layer.heads
    query, key, value = (x @ layer.project.weight.t() + layer.project.bias).split(channels, dim=1)
    heads = []
    for start in range(0, channels, width):
        part = slice(start, start + width)
        logits = query[:, part] @ key[:, part].t() / width**0.5
        heads.append(logits.softmax(1) @ value[:, part])
    x = layer_norm(x + layer.output(torch.cat(heads, dim=1)), layer.attention_norm)
    return layer_norm(x + layer.feed_forward(x), layer.norm)


def by_the_formula(encoder, graph: Data) -> Tensor:
    """``[n, out_channels]``, node by node, without batching or padding."""
    count = int(graph[COUNT])
    rows = []
    for node in range(graph.num_nodes):
        pairs = torch.stack([graph[VECTORS][node, :count], graph[VALUES][0, :count]], dim=1)
        if isinstance(encoder, EigenpairDeepSets):
            total = torch.zeros(8, dtype=torch.float64)
            for pair in pairs:
                total += perceptron(encoder.phi[0], pair).clamp(min=0)
            rows.append(perceptron(encoder.rho.mlp, total))
            continue
        first, *layers = encoder.transformer.layers
        x = pairs @ first.weight.t() + first.bias
        for layer in layers:
            x = attention(layer, x)
        rows.append(perceptron(encoder.transformer.mlp, x.sum(0)))
    return torch.stack(rows) if rows else torch.zeros(0, encoder.out_channels).double()


@BOTH
@pytest.mark.parametrize("num_layers", [1, 3])
@pytest.mark.parametrize("post_layers", [1, 2])
@pytest.mark.parametrize("k", [1, 6, 40])
def test_equals_the_formula_node_by_node(cls, k: int, post_layers: int, num_layers: int) -> None:
    torch.manual_seed(0)
    encoder = cls(k, 5, 8, num_layers, post_layers=post_layers).double().eval()
    every = list(graphs(k).values())
    expected = torch.cat([by_the_formula(encoder, graph) for graph in every])
    assert largest_error(encoder(Batch.from_data_list(every)), expected) < 1e-11


@BOTH
def test_training_is_evaluation_on_random_signs_of_each_graph(cls) -> None:
    """B10: one draw per graph and column, not one per batch; the nodes of a graph share it."""
    torch.manual_seed(0)
    graph = spectrum(Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3), 3)
    encoder = cls(3, 4, **SMALL).double()
    many = Batch.from_data_list([graph] * 400)
    combinations = torch.cartesian_prod(*[torch.tensor([1.0, -1.0]).double()] * 3)
    flipped = []
    for signs in combinations:
        changed = graph.clone()
        changed[VECTORS] = graph[VECTORS] * signs
        flipped.append(encoder.eval()(changed))
    flipped = torch.stack(flipped)
    out = encoder.train()(many).view(400, 3, 4)
    distance = (out[:, None] - flipped).abs().amax((2, 3))
    nearest, which = distance.min(1)
    assert nearest.max() < 1e-10
    assert (distance.sort(1).values[:, 1] > 1e-6).all()  # the eight are different
    frequency = torch.bincount(which, minlength=8) / 400
    assert ((frequency - 1 / 8).abs() < 0.06).all()
    assert not torch.equal(encoder(many).view(400, 3, 4), out)
    encoder.eval()
    assert torch.equal(encoder(many), encoder(many))


@BOTH
@pytest.mark.parametrize("raw_norm", ["batch", "none"])
def test_padding_is_never_read(cls, raw_norm: str) -> None:
    encoder = cls(6, 4, raw_norm=raw_norm, **SMALL)
    batch = batch_of()
    padded = batch.clone()
    padding = torch.arange(6) >= batch[COUNT]
    padded[VALUES] = batch[VALUES].masked_fill(padding, float("nan"))
    padded[VECTORS] = batch[VECTORS].masked_fill(padding[batch.batch], float("nan"))
    for training in (True, False):
        encoder.train(training)
        torch.manual_seed(0)
        expected = encoder(batch)
        torch.manual_seed(0)
        assert torch.equal(encoder(padded), expected)


@BOTH
def test_more_columns_than_any_graph_has_change_nothing(cls) -> None:
    """k is no size of a parameter: wider fields, with more padding, give the same."""
    narrow, wide = cls(40, 4, **SMALL).double().eval(), cls(60, 4, **SMALL).double().eval()
    wide.load_state_dict(narrow.state_dict())
    assert torch.equal(narrow(batch_of(k=40)), wide(batch_of(k=60)))


@BOTH
@pytest.mark.parametrize("norm", ["layer", "batch", "none"])
def test_nodes_without_eigenpairs(cls, norm: str) -> None:
    """As with drop_trivial='all' on a graph without edges; all keys of an attention would be masked."""
    batch = batch_of("no edges", "path", "no nodes", "one node")
    batch[COUNT][[0, 3]] = 0
    encoder = cls(6, 4, norm=norm, raw_norm="batch", post_layers=2, **SMALL).double()
    for training in (True, False):
        out = encoder.train(training)(batch)
        assert out.isfinite().all()
        assert largest_error(out[[1, 2, 3, -1]], out[0].expand(4, -1)) < 1e-12
    encoder.train()(batch).square().sum().backward()
    for name in ("no nodes", "one node", "no edges"):
        single = batch_of(name)
        single[COUNT].zero_()
        encoder(single).sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in encoder.parameters())


@BOTH
def test_raw_batch_norm_is_over_the_pairs_that_exist(cls) -> None:
    torch.manual_seed(0)
    batch = batch_of()
    encoder = cls(6, 4, raw_norm="batch", **SMALL).double().train()
    encoder(batch)
    valid = (torch.arange(6) < batch[COUNT])[batch.batch]
    entries, values = batch[VECTORS][valid], batch[VALUES][batch.batch][valid]
    running = encoder.raw_norm.module
    assert running.num_batches_tracked == 1
    # One step from mean 0 and variance 1; the mean of the entries depends on the signs.
    assert abs(running.running_mean[1] - 0.1 * values.mean()) < 1e-12
    assert abs(running.running_var[1] - (0.9 + 0.1 * values.var())) < 1e-12
    assert running.running_var[0] <= 0.9 + 0.1 * entries.square().sum() / (len(entries) - 1)
    plain = cls(6, 4, **SMALL).double().eval()
    state = {k: v for k, v in encoder.state_dict().items() if not k.startswith("raw_norm")}
    plain.load_state_dict(state)
    normalized = batch.clone()
    scale = (running.running_var + 1e-5).sqrt()
    normalized[VECTORS] = (batch[VECTORS] - running.running_mean[0]) / scale[0]
    normalized[VALUES] = (batch[VALUES] - running.running_mean[1]) / scale[1]
    assert largest_error(encoder.eval()(batch), plain(normalized)) < 1e-12


@BOTH
def test_eigenpairs_are_a_set(cls) -> None:
    batch = batch_of("complete", "grid, larger", k=5)
    encoder = cls(5, 4, **SMALL).double().eval()
    expected = encoder(batch)
    order = torch.tensor([3, 0, 4, 1, 2])
    batch[VECTORS], batch[VALUES] = batch[VECTORS][:, order], batch[VALUES][:, order]
    assert largest_error(encoder(batch), expected) < 1e-12


@BOTH
def test_bfloat16(cls) -> None:
    batch = batch_of()
    encoder = cls(6, 4, raw_norm="batch", **SMALL).eval()
    expected = encoder(batch)
    with torch.autocast("cpu", torch.bfloat16):
        got = encoder(batch)
        encoder.train()(batch).float().sum().backward()
    assert largest_error(got.float(), expected) < 0.1
    assert all(parameter.grad.isfinite().all() for parameter in encoder.parameters())


@BOTH
def test_what_it_declares(cls) -> None:
    encoder = cls(6, 4)
    assert encoder.mixes_graphs_in_training
    assert not cls.covers("sign")
    assert cls.learns("sign")
    assert not cls.learns("basis")
    assert [need.name for need in encoder.requires] == [VECTORS, COUNT, VALUES]
    names = ["k", "out_channels", "hidden_channels", "num_layers", "post_layers"]
    if cls is EigenpairTransformer:
        names.append("heads")
        with pytest.raises(ValueError, match="heads is 3, which does not divide"):
            cls(6, 4, 8, heads=3)
    for name in names:
        with pytest.raises(ValueError, match=f"^{name} is 0; it must be an integer >= 1$"):
            cls(**{"k": 6, "out_channels": 4, name: 0})
    with pytest.raises(ValueError, match="raw_norm is 'layer'; it must be 'batch' or 'none'"):
        cls(6, 4, raw_norm="layer")
