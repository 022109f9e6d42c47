"""A perceptron on a pair field."""

from __future__ import annotations

import warnings

import pytest
import torch
from nn_batches import batch_of, largest_error
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch_geometric.data import Batch, Data

from graphpe._testing.small_graphs import small_directed_graphs, small_graphs
from graphpe.nn import PairEncoder
from graphpe.transforms import (
    AddDirectedRandomWalkPE,
    AddShortestPathPE,
    AddWalkProfilePE,
)

FIELD = "directed_random_walk_pe"


def graphs(encoding=None) -> list[Data]:
    encoding = encoding or AddDirectedRandomWalkPE(2, level="pair", dtype="float64")
    every = small_graphs() | small_directed_graphs()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [encoding(graph) for graph in every.values()]


def perceptron(network, x: Tensor) -> Tensor:
    """Linear, LayerNorm, ReLU, ..., Linear, by hand."""
    for number, linear in enumerate(network.lins):
        if number:
            norm = network.norms[number - 1]
            x = (x - x.mean()) / (x.var(unbiased=False) + norm.eps).sqrt()
            x = (x * norm.weight + norm.bias).clamp(min=0)
        x = linear.weight @ x + linear.bias
    return x


@pytest.mark.parametrize("num_layers", [1, 2, 3])
@pytest.mark.parametrize("level", ["pair", "node"])
def test_equals_the_formula_graph_by_graph(level: str, num_layers: int) -> None:
    torch.manual_seed(0)
    encoder = PairEncoder(4, 5, hidden_channels=6, num_layers=num_layers, level=level).double()
    every = graphs()
    got = encoder(Batch.from_data_list(every))
    expected = []
    for graph in every:
        n = graph.num_nodes
        field = graph[FIELD].view(n, n, 4)
        if level == "pair":
            expected += [perceptron(encoder.mlp, field[u, v]) for u in range(n) for v in range(n)]
            continue
        linear = encoder.message[0]
        for v in range(n):
            messages = [(linear.weight @ field[u, v] + linear.bias).clamp(min=0) for u in range(n)]
            expected.append(perceptron(encoder.mlp, torch.stack(messages).sum(0)))
    assert largest_error(got, torch.stack(expected)) < 1e-12


def test_nodes_are_targets() -> None:
    """On a path 0→1→2 one forward step ends at 1, at 2 and (the sink) at 2."""
    graph = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), num_nodes=3)
    graph = AddDirectedRandomWalkPE(1, level="pair")(graph)
    encoder = PairEncoder(2, 1, hidden_channels=2, num_layers=1, level="node", norm="none")
    with torch.no_grad():
        encoder.message[0].weight.copy_(torch.eye(2))
        encoder.message[0].bias.zero_()
        encoder.mlp.lins[0].weight.copy_(torch.tensor([[1.0, 0.0]]))
        encoder.mlp.lins[0].bias.zero_()
    assert encoder(graph).flatten().tolist() == [0, 1, 2]


@pytest.mark.parametrize("level", ["pair", "node"])
def test_categories_are_embedded(level: str) -> None:
    """Shortest paths are integers: each has its own column of the first matrix."""
    torch.manual_seed(0)
    every = graphs(AddShortestPathPE(cap=3, direction="both"))
    encoder = PairEncoder(
        2, 4, "shortest_path_pe", "AddShortestPathPE", 6, 2, level, "none", categories=5
    ).double()
    first = encoder.mlp.lins[0] if level == "pair" else encoder.message[0]
    got = encoder(Batch.from_data_list(every))
    expected = []
    for graph in every:
        n = graph.num_nodes
        rows = []
        for forward, backward in graph.shortest_path_pe.tolist():
            row = first.weight[:, forward] + first.weight[:, 5 + backward] + first.bias
            rows.append(row.clamp(min=0))
        hidden = torch.stack(rows) if rows else torch.zeros(0, 6).double()
        if level == "node":
            hidden = encoder.mlp.lins[0](hidden.view(n, n, 6).sum(0)).clamp(min=0)
        expected.append(encoder.mlp.lins[-1](hidden))
    assert largest_error(got, torch.cat(expected)) < 1e-12


def test_categories_outside_are_refused() -> None:
    batch = Batch.from_data_list(graphs(AddShortestPathPE(cap=3)))
    encoder = PairEncoder(1, 4, "shortest_path_pe", "AddShortestPathPE", categories=4)
    with pytest.raises(ValueError, match=r"'shortest_path_pe' has the category 4, .*categories=4"):
        encoder(batch)
    batch.shortest_path_pe.clamp_(max=3)
    encoder(batch)
    batch.shortest_path_pe[0] = -1
    with pytest.raises(ValueError, match="has the category -1"):
        encoder(batch)


@pytest.mark.parametrize(
    "encoding",
    [
        AddDirectedRandomWalkPE(3, level="pair", restart=0.05),
        AddWalkProfilePE(3),
        AddShortestPathPE(weighted=True),
    ],
    ids=lambda encoding: type(encoding).__name__,
)
def test_reads_the_fields_of_encodings(encoding) -> None:
    (field,) = encoding.fields()
    encoder = PairEncoder(field.width, 4, field.name, type(encoding).__name__)
    encoder.requires[0].check(field, "PairEncoder")
    graph = encoding(small_directed_graphs()["acyclic, larger"])
    assert encoder(graph).shape == (400, 4)


def test_a_missing_field_names_the_transform() -> None:
    graph = small_directed_graphs()["one edge"]
    with pytest.raises(
        ValueError,
        match=r"PairEncoder needs the field 'directed_random_walk_pe'.*"
        r"AddDirectedRandomWalkPE\(walk_length, level='pair'\)",
    ):
        PairEncoder(4, 4)(graph)
    node_field = AddDirectedRandomWalkPE(2).fields()[0]
    with pytest.raises(ValueError, match="as a pair field, but it is a node field"):
        PairEncoder(4, 4).requires[0].check(node_field, "PairEncoder")


def test_choices() -> None:
    with pytest.raises(ValueError, match="level is 'edge'; it must be 'pair' or 'node'"):
        PairEncoder(4, 4, level="edge")
    for name in ("in_channels", "out_channels", "hidden_channels", "num_layers", "categories"):
        with pytest.raises(ValueError, match=f"^{name} is 0; it must be an integer >= 1$"):
            PairEncoder(**{"in_channels": 4, "out_channels": 4, name: 0})


@pytest.mark.parametrize("norm", ["none", "batch"])
@pytest.mark.parametrize("level", ["pair", "node"])
@pytest.mark.parametrize("raw_norm", ["layer", "batch"])
def test_raw_norm_comes_first(raw_norm: str, level: str, norm: str) -> None:
    """It is that of the field, so an encoder without it gives the same on a field that is normalised already."""
    torch.manual_seed(0)
    encoder = PairEncoder(4, 5, hidden_channels=6, level=level, norm=norm, raw_norm=raw_norm)
    plain = PairEncoder(4, 5, hidden_channels=6, level=level, norm=norm)
    encoder, plain = encoder.double(), plain.double()
    state = {k: v for k, v in encoder.state_dict().items() if not k.startswith("raw_norm")}
    plain.load_state_dict(state)
    batch = Batch.from_data_list(graphs())
    dim = {"layer": 1, "batch": 0}[raw_norm]
    for training in (True, False):
        got = encoder.train(training)(batch)
        centered = batch[FIELD] - batch[FIELD].mean(dim, keepdim=True)
        variance = centered.square().mean(dim, keepdim=True)
        if not training and raw_norm == "batch":
            running = encoder.raw_norm.module
            assert largest_error(running.running_mean, 0.1 * batch[FIELD].mean(0)) < 1e-12
            centered, variance = batch[FIELD] - running.running_mean, running.running_var
        normalized = batch.clone()
        normalized[FIELD] = centered / (variance + 1e-5).sqrt()
        assert largest_error(got, plain.train(training)(normalized)) < 1e-12
    assert encoder.mixes_graphs_in_training == ("batch" in (raw_norm, norm))


def test_raw_norm_of_one_pair_or_none() -> None:
    for level in ("pair", "node"):
        encoder = PairEncoder(4, 5, level=level, norm="batch", raw_norm="batch").double().train()
        for n in (0, 1):
            edges = torch.zeros(2, 0, dtype=torch.long)
            graph = Data(num_nodes=n, edge_index=edges, **{FIELD: torch.rand(n, 4).double()})
            out = encoder(graph)
            assert out.shape == (n, 5)
            assert out.isfinite().all()


def test_raw_norm_is_for_floats() -> None:
    with pytest.raises(ValueError, match="raw_norm is 'batch', but categories are not normalised"):
        PairEncoder(2, 4, categories=5, raw_norm="batch")
    with pytest.raises(
        ValueError, match="raw_norm is 'rms'; it must be 'layer', 'batch' or 'none'"
    ):
        PairEncoder(2, 4, raw_norm="rms")


def test_batch_norm_is_over_all_pairs_of_a_large_graph() -> None:
    """Rows are mapped in blocks, which batch normalisation must not see."""
    torch.manual_seed(0)
    edges = torch.zeros(2, 0, dtype=torch.long)
    field = torch.rand(70 * 70, 4).double().sort(dim=0).values
    graph = Data(num_nodes=70, edge_index=edges, **{FIELD: field})
    encoder = PairEncoder(4, 5, hidden_channels=6, norm="batch", raw_norm="batch").double()
    encoder(graph)
    first, *_ = encoder.mlp.lins
    hidden = first(encoder.raw_norm(field))
    (norm,) = encoder.mlp.norms
    assert norm.module.num_batches_tracked == 1
    assert largest_error(norm.module.running_mean, 0.1 * hidden.mean(0)) < 1e-12


@pytest.mark.parametrize("level", ["pair", "node"])
@pytest.mark.parametrize("num_layers", [1, 3])
@pytest.mark.parametrize("norm", ["layer", "batch"])
def test_categories_are_looked_up_as_one_hot_vectors_are_mapped(
    level: str, num_layers: int, norm: str
) -> None:
    batch = batch_of("path", "complete")
    batch.relation = torch.randint(0, 5, (36 + 25, 2))
    encoder = PairEncoder(
        2, 3, "relation", level=level, num_layers=num_layers, norm=norm, categories=5
    ).double()
    one_hot = torch.nn.functional.one_hot(batch.relation, 5).flatten(1).double()
    if level == "pair":
        expected = encoder.mlp(one_hot)
    else:
        messages = encoder.message(one_hot)
        target = torch.cat([torch.arange(6).repeat(6), 6 + torch.arange(5).repeat(5)])
        expected = encoder.mlp(torch.zeros(11, 64).double().index_add(0, target, messages))
    got = encoder(batch)
    torch.testing.assert_close(got, expected)
    parameters = list(encoder.parameters())
    gradients = torch.autograd.grad(got.square().sum(), parameters)
    for gradient, wanted in zip(
        gradients, torch.autograd.grad(expected.square().sum(), parameters), strict=True
    ):
        torch.testing.assert_close(gradient, wanted, atol=1e-9, rtol=1e-6)


def test_many_categories_take_no_memory_per_pair() -> None:
    """A one-hot vector per pair had categories * columns numbers, here 4 GB."""
    batch = Batch.from_data_list([Data(x=torch.zeros(100, 1), num_nodes=100)])
    batch.edge_index = torch.zeros(2, 0, dtype=torch.long)
    batch.relation = torch.randint(0, 100_000, (10_000, 1), dtype=torch.int32)
    largest = 0

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            nonlocal largest
            out = function(*args, **(kwargs or {}))
            if isinstance(out, torch.Tensor):
                largest = max(largest, out.numel())
            return out

    encoder = PairEncoder(1, 4, "relation", hidden_channels=8, categories=100_000)
    with Watch():
        encoder(batch).sum().backward()
    assert largest <= 8 * 100_000  # the weights


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_categories_in_half_precision(dtype: torch.dtype) -> None:
    batch = batch_of("path")
    batch.relation = torch.randint(0, 5, (36, 2))
    encoder = PairEncoder(2, 3, "relation", categories=5)
    expected = encoder(batch)
    half = encoder.to(dtype)
    out = half(batch)
    assert out.dtype == dtype
    torch.testing.assert_close(out.float(), expected, atol=0.05, rtol=0.05)
    out.float().sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in half.parameters())
