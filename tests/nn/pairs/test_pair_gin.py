"""PairGIN by groups of rows: the same numbers and gradients as layer after layer, with less memory."""

from __future__ import annotations

import pytest
import torch
from nn_batches import batch_of, largest_error
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphpe.nn.columns import NodeColumns, node_columns
from graphpe.nn.layout import NodePairs, graph_layout, node_pairs
from graphpe.nn.pairs import pair_gin
from graphpe.nn.pairs.pair_gin import PairGIN
from graphpe.nn.pairs.row_groups import row_groups

HIDDEN = 6


def graph(num_nodes: int, edges: list[tuple[int, int]]) -> Data:
    edge_index = torch.tensor(edges, dtype=torch.long).view(-1, 2).t().contiguous()
    return Data(num_nodes=num_nodes, edge_index=edge_index)


def cycle(n: int) -> Data:
    return graph(n, [(u, (u + step) % n) for u in range(n) for step in (1, n - 1)])


ONE_WAY = graph(
    4, [(0, 1), (0, 1), (1, 2), (3, 2), (2, 2), (2, 0)]
)  # with a loop and parallel edges
ZOO = {
    "no graph": [],
    "no node": [graph(0, []), cycle(3)],
    "only empty graphs": [graph(0, []), graph(0, [])],
    "one node": [graph(1, [])],
    "a loop": [graph(1, [(0, 0), (0, 0)]), cycle(4)],
    "no edge": [graph(5, []), graph(2, [])],
    "one-way": [ONE_WAY, graph(3, []), graph(2, [(1, 0)])],
    "one huge graph": [graph(1, []), cycle(40), ONE_WAY],
    "interleaved": [graph(9, [(u, (u + 3) % 9) for u in range(9)]), cycle(5)],
}
# Rows per group: one node's column at a time, a few graphs, all rows.
SIZES = [1, 7, 100, 10**6]


def pairs_of(name: str) -> tuple[NodePairs, Tensor]:
    graphs = ZOO[name]
    if not graphs:
        empty = torch.zeros(0, dtype=torch.long)
        return NodePairs(empty, empty, empty), torch.zeros(2, 0, dtype=torch.long)
    batch = Batch.from_data_list(graphs)
    return node_pairs(graph_layout(batch)), batch.edge_index


def set_group_size(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    monkeypatch.setattr(pair_gin, "_NUMBERS_IN_CACHE", rows * HIDDEN)


def layer_after_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PairGIN, "_by_groups", lambda gin, x: False)


def results(gin: PairGIN, x: Tensor, *arguments, mapped: bool = False) -> list[Tensor]:
    """The output and the gradients of x and of all parameters."""
    x = x.detach().requires_grad_()
    gin.zero_grad()
    output = gin.forward_mapped(x, *arguments) if mapped else gin(x, *arguments)
    weights = torch.linspace(-1, 2, output.numel(), dtype=output.dtype).view_as(output)
    (weights * output).sum().backward()
    skipped = [gin.first_weight] if mapped else []
    own = [p.grad for p in gin.parameters() if not any(p is other for other in skipped)]
    return [output.detach(), x.grad, *own]


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("norm", ["layer", "none"])
@pytest.mark.parametrize("num_layers", [1, 2, 5])
def test_same_as_layer_after_layer(num_layers: int, norm: str, mapped: bool, monkeypatch) -> None:
    gin = PairGIN(3, HIDDEN, 4, num_layers, norm).double()
    for parameter in gin.parameters():
        torch.nn.init.normal_(parameter, std=0.5)  # norms, too, have weights and biases
    for name in ZOO:
        pairs, edge_index = pairs_of(name)
        x = torch.randn(len(pairs), HIDDEN if mapped else 3, dtype=torch.float64)
        with monkeypatch.context() as patch:
            layer_after_layer(patch)
            expected = results(gin, x, pairs, edge_index, mapped=mapped)
        for size in SIZES:
            set_group_size(monkeypatch, size)
            got = results(gin, x, pairs, edge_index, mapped=mapped)
            for own, other in zip(got, expected, strict=True):
                assert largest_error(own, other) < 1e-10, (name, size)
            again = results(gin, x, pairs, edge_index, mapped=mapped)
            assert all(map(torch.equal, got, again)), (name, size)


def test_other_columns_than_nodes(monkeypatch) -> None:
    """More, fewer or no columns, each graph in groups of some columns."""
    batch = Batch.from_data_list([ONE_WAY, cycle(5), cycle(20), graph(2, [])])
    columns = node_columns(graph_layout(batch), torch.tensor([9, 0, 3, 1]))
    gin = PairGIN(3, HIDDEN, 4, 3, "layer").double()
    x = torch.randn(len(columns), 3, dtype=torch.float64)
    with monkeypatch.context() as patch:
        layer_after_layer(patch)
        expected = results(gin, x, columns, batch.edge_index)
    for size in SIZES:
        set_group_size(monkeypatch, size)
        for own, other in zip(results(gin, x, columns, batch.edge_index), expected, strict=True):
            assert largest_error(own, other) < 1e-10


def test_graphs_of_a_batch_do_not_mix(monkeypatch) -> None:
    set_group_size(monkeypatch, 30)
    gin = PairGIN(3, HIDDEN, 4, 3, "layer").double().train()
    pairs, edge_index = pairs_of("one huge graph")
    x = torch.randn(len(pairs), 3, dtype=torch.float64)
    together = gin(x, pairs, edge_index).split([1, 1600, 16])
    for own, rows, expected in zip(
        ZOO["one huge graph"], x.split([1, 1600, 16]), together, strict=True
    ):
        batch = Batch.from_data_list([own])
        alone = gin(rows, node_pairs(graph_layout(batch)), batch.edge_index)
        assert largest_error(alone, expected) < 1e-12


def test_float32_is_as_close_to_float64_as_layer_after_layer(monkeypatch) -> None:
    batch = batch_of()
    pairs = node_pairs(graph_layout(batch))
    gin = PairGIN(16, 64, 8, 8, "layer")
    x = torch.randn(len(pairs), 16)
    got = gin(x, pairs, batch.edge_index)
    layer_after_layer(monkeypatch)
    usual = gin(x, pairs, batch.edge_index)
    exact = gin.double()(x.double(), pairs, batch.edge_index)
    assert largest_error(got.double(), exact) < 4 * largest_error(usual.double(), exact) + 1e-6


def test_backward_twice_and_without_gradient(monkeypatch) -> None:
    set_group_size(monkeypatch, 30)
    gin = PairGIN(3, HIDDEN, 4, 2, "layer").double()
    pairs, edge_index = pairs_of("one-way")
    x = torch.randn(len(pairs), 3, dtype=torch.float64)
    output = gin(x, pairs, edge_index)
    with torch.no_grad():
        assert torch.equal(gin(x, pairs, edge_index), output)
    parameters = tuple(gin.parameters())
    first = torch.autograd.grad(output.square().sum(), parameters, retain_graph=True)
    second = torch.autograd.grad(output.square().sum(), parameters)
    assert all(map(torch.equal, first, second))


def test_frozen_parameters(monkeypatch) -> None:
    gin = PairGIN(3, HIDDEN, 4, 2, "layer").double()
    gin.first_weight.requires_grad_(False)
    pairs, edge_index = pairs_of("one-way")
    x = torch.randn(len(pairs), 3, dtype=torch.float64)
    gin(x, pairs, edge_index).sum().backward()
    assert gin.first_weight.grad is None
    assert gin.mlps[1].lins[0].weight.grad.abs().sum() > 0


@pytest.mark.parametrize("size", [30, 10**6])
def test_keeps_two_tensors_per_layer(size: int, monkeypatch) -> None:
    set_group_size(monkeypatch, size)
    layers = 5
    gin = PairGIN(3, HIDDEN, 4, layers, "layer")
    pairs, edge_index = pairs_of("one huge graph")
    x = torch.randn(len(pairs), 3)
    saved: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        saved[tensor.data_ptr()] = tensor.numel()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        gin(x, pairs, edge_index)
    weights = 3 * sum(parameter.numel() for parameter in gin.parameters())
    # The rows, in the order of the graphs and in that of the groups, and which is where.
    order = 2 * len(x) + x.numel()
    assert sum(saved.values()) <= 2 * layers * len(x) * HIDDEN + order + weights


@pytest.mark.filterwarnings("ignore")
def test_compiled() -> None:
    torch.compiler.reset()
    gin = PairGIN(3, HIDDEN, 4, 2, "layer").double()
    pairs, edge_index = pairs_of("one-way")
    x = torch.randn(len(pairs), 3, dtype=torch.float64)
    compiled = torch.compile(gin, backend="aot_eager")
    assert largest_error(compiled(x, pairs, edge_index), gin(x, pairs, edge_index)) < 1e-10


@pytest.mark.parametrize("name", list(ZOO))
@pytest.mark.parametrize("size", SIZES)
def test_groups_of_rows(name: str, size: int) -> None:
    pairs, edge_index = pairs_of(name)
    check_groups(pairs, edge_index, size)


@pytest.mark.parametrize("seed", range(20))
def test_groups_of_rows_of_random_graphs(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    graphs = []
    for number in torch.randint(0, 9, (12,), generator=generator).tolist():
        ends = torch.randint(0, max(number, 1), (2, number), generator=generator)
        graphs.append(Data(num_nodes=number, edge_index=ends))
    batch = Batch.from_data_list(graphs)
    counts = torch.randint(0, 6, (12,), generator=generator)
    columns = node_columns(graph_layout(batch), counts)
    check_groups(columns, batch.edge_index, 1 + 2 * seed)


def check_groups(pairs: NodePairs | NodeColumns, edge_index: Tensor, size: int) -> None:
    """Each row is in one group, and has the neighbours that the edges say, in that group."""
    found = row_groups(pairs, edge_index, size)
    num_rows = len(pairs)
    order = torch.arange(num_rows) if found.order is None else found.order
    assert found.restore(found.arrange(torch.arange(num_rows))).tolist() == list(range(num_rows))
    assert sorted(order.tolist()) == list(range(num_rows))

    ends, largest = 0, 0
    messages = []
    for group in found.groups:
        assert group.rows.start == ends
        ends = group.rows.stop
        own = order[group.rows]
        largest = max(largest, len(own))
        for sets, is_incoming in ((group.incoming, True), (group.outgoing, False)):
            assert len(sets.offsets) == len(own) + 1
            row = own.repeat_interleave(sets.offsets.diff())
            assert not len(row) or (int(sets.rows.min()) >= 0 and int(sets.rows.max()) < len(own))
            other = own[sets.rows]
            pair = (other, row) if is_incoming else (row, other)
            messages += [
                (is_incoming, *one) for one in zip(*(t.tolist() for t in pair), strict=True)
            ]
    assert ends == num_rows
    nodes = pairs.source.bincount(minlength=len(pairs.start)) > 0
    assert largest < 2 * max(size, int(nodes.sum()), 1) + 1

    expected = []
    source, target = edge_index.tolist()
    counts = pairs.source.bincount(minlength=len(pairs.start)).tolist()
    start = pairs.start.tolist()
    for u, v in zip(source, target, strict=True):
        for column in range(counts[u]):
            one = (start[u] + column, start[v] + column)
            expected += [(True, *one), (False, *one)]
    assert sorted(messages) == sorted(expected)


def test_many_small_graphs_make_groups_of_about_the_size() -> None:
    batch = Batch.from_data_list([cycle(5)] * 200)
    pairs = node_pairs(graph_layout(batch))
    found = row_groups(pairs, batch.edge_index, 500)
    sizes = [group.rows.stop - group.rows.start for group in found.groups]
    assert found.order is None
    assert sizes == [500] * 10


def test_a_large_graph_is_divided_into_columns() -> None:
    batch = Batch.from_data_list([cycle(50)])
    pairs = node_pairs(graph_layout(batch))
    found = row_groups(pairs, batch.edge_index, 500)
    assert [group.rows.stop - group.rows.start for group in found.groups] == [500] * 5
