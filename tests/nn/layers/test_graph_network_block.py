"""The Graph Network block."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import SoftmaxAggregation

from graphpe._testing.small_graphs import small_directed_graphs, small_graphs
from graphpe.nn import GraphNetworkBlock, graph_layout
from graphpe.nn.layers.graph_network_block import EDGE_INPUTS, GLOBAL_INPUTS, NODE_INPUTS

NODE, EDGE, GLOBAL, OUT = 3, 4, 2, 5
REDUCE = {
    "sum": lambda rows: rows.sum(0),
    "mean": lambda rows: rows.mean(0),
    "max": lambda rows: rows.amax(0),
    "std": lambda rows: rows.std(0, correction=0),
}


def some_batch(*names: str) -> Batch:
    """Directed and undirected graphs; without nodes in the middle and at the end."""
    every = {**small_graphs(), **small_directed_graphs()}
    chosen = names or (
        "path",
        "no nodes",
        "one node",
        "no edges",
        "twins (one eigenvalue many times)",
    )
    names = (*chosen, "parallel edges", "two-way pairs and loops", "no nodes")
    return Batch.from_data_list([every[name] for name in names])


def vectors(batch: Data, widths=(NODE, EDGE, GLOBAL)) -> list[Tensor | None]:
    rows = (batch.num_nodes, batch.num_edges, getattr(batch, "num_graphs", 1))
    return [
        torch.randn(count, width, dtype=torch.float64) if width else None
        for count, width in zip(rows, widths, strict=True)
    ]


def run(block: GraphNetworkBlock, batch: Data, nodes, edges, globals_):
    return block(nodes, edges, globals_, batch.edge_index, graph_layout(batch))


def phi(update: nn.Module, parts: list[Tensor]) -> Tensor:
    """A perceptron of the concatenation."""
    hidden = torch.cat(parts)[None] @ update.first.weight.t() + update.first.bias
    return update.rest(hidden)[0]


def rho(kind: str | list[str], rows: list[Tensor], width: int) -> Tensor:
    names = [kind] if isinstance(kind, str) else kind
    if not rows:
        return torch.zeros(width * len(names), dtype=torch.float64)
    return torch.cat([REDUCE[name](torch.stack(rows)) for name in names])


def by_hand(block, batch, nodes, edges, globals_, reads, kinds):
    """Steps 1 to 3 of the paper, element by element."""
    edge_inputs, node_inputs, global_inputs = reads
    to_nodes, edges_to_globals, nodes_to_globals = kinds
    graph, ends = batch.batch.tolist(), batch.edge_index.t().tolist()
    new_edges = list(edges)
    if edge_inputs is not None:
        for k, (s, r) in enumerate(ends):
            values = {
                "edges": edges[k],
                "senders": nodes[s],
                "receivers": nodes[r],
                "globals": globals_[graph[r]],
            }
            parts = [values[name] for name in EDGE_INPUTS if name in edge_inputs]
            new_edges[k] = phi(block.edge_update, parts)
    width = EDGE if edge_inputs is None else OUT
    new_nodes = list(nodes)
    if node_inputs is not None:
        for i in range(len(nodes)):
            received = [new_edges[k] for k, (_, r) in enumerate(ends) if r == i]
            sent = [new_edges[k] for k, (s, _) in enumerate(ends) if s == i]
            values = {
                "nodes": nodes[i],
                "received_edges": rho(to_nodes, received, width),
                "sent_edges": rho(to_nodes, sent, width),
                "globals": globals_[graph[i]],
            }
            parts = [values[name] for name in NODE_INPUTS if name in node_inputs]
            new_nodes[i] = phi(block.node_update, parts)
    node_width = NODE if node_inputs is None else OUT
    new_globals = list(globals_)
    if global_inputs is not None:
        for b in range(len(globals_)):
            own_edges = [new_edges[k] for k, (_, r) in enumerate(ends) if graph[r] == b]
            own_nodes = [new_nodes[i] for i in range(len(nodes)) if graph[i] == b]
            values = {
                "edges": rho(edges_to_globals, own_edges, width),
                "nodes": rho(nodes_to_globals, own_nodes, node_width),
                "globals": globals_[b],
            }
            parts = [values[name] for name in GLOBAL_INPUTS if name in global_inputs]
            new_globals[b] = phi(block.global_update, parts)
    return torch.stack(new_nodes), torch.stack(new_edges), torch.stack(new_globals)


READS = [
    (EDGE_INPUTS, NODE_INPUTS, GLOBAL_INPUTS),
    (None, NODE_INPUTS, GLOBAL_INPUTS),
    (EDGE_INPUTS, None, GLOBAL_INPUTS),
    (EDGE_INPUTS, NODE_INPUTS, None),
    (("edges", "senders"), ("received_edges",), ("edges",)),
    (("receivers", "globals"), ("sent_edges", "globals"), ("nodes",)),
    (("globals", "edges"), ("globals", "nodes"), ("globals", "nodes")),
]
KINDS = [("sum", "sum", "sum"), ("max", "mean", "sum"), (["mean", "max"], "std", ["sum", "mean"])]


@pytest.mark.parametrize(("reads", "kinds"), list(itertools.product(READS, KINDS)))
def test_equals_a_loop(reads, kinds) -> None:
    """The node update sees the new edges, and the global update both."""
    block = GraphNetworkBlock(NODE, EDGE, GLOBAL, OUT, *reads, *kinds).double()
    batch = some_batch()
    given = vectors(batch)
    expected = by_hand(block, batch, *given, reads, kinds)
    for got, wanted in zip(run(block, batch, *given), expected, strict=True):
        torch.testing.assert_close(got, wanted)
    widths = block.node_out_channels, block.edge_out_channels, block.global_out_channels
    assert widths == tuple(wanted.size(1) for wanted in expected)


def test_what_is_not_updated_stays() -> None:
    block = GraphNetworkBlock(NODE, EDGE, GLOBAL, OUT, None, None, None).double()
    batch = some_batch()
    given = vectors(batch)
    assert all(a is b for a, b in zip(run(block, batch, *given), given, strict=True))
    assert not list(block.parameters())


@pytest.mark.parametrize("kind", ["sum", "softmax", "median", ["std", "max"]])
@pytest.mark.parametrize("norm", ["layer", "none"])
def test_order_of_nodes_and_edges_does_not_matter(kind: str | list[str], norm: str) -> None:
    block = GraphNetworkBlock(
        NODE, EDGE, GLOBAL, OUT, edges_to_nodes=kind, edges_to_globals=kind, norm=norm
    ).double()
    for graph in small_directed_graphs().values():
        nodes, edges, globals_ = vectors(graph)
        place, order = torch.randperm(graph.num_nodes), torch.randperm(graph.num_edges)
        permuted = Data(edge_index=place[graph.edge_index[:, order]], num_nodes=graph.num_nodes)
        moved = torch.empty_like(nodes)
        moved[place] = nodes
        expected = run(block, graph, nodes, edges, globals_)
        got = run(block, permuted, moved, edges[order], globals_)
        torch.testing.assert_close(got[0][place], expected[0])
        torch.testing.assert_close(got[1], expected[1][order])
        torch.testing.assert_close(got[2], expected[2])


def test_a_graph_alone_equals_the_graph_in_a_batch() -> None:
    """Trailing graphs without nodes count: PyG's MetaLayer takes their number from the batch vector."""
    block = GraphNetworkBlock(NODE, EDGE, GLOBAL, OUT, edges_to_nodes="median").double()
    batch = some_batch("complete", "grid, larger", "no nodes")
    nodes, edges, globals_ = vectors(batch)
    together = run(block, batch, nodes, edges, globals_)
    assert len(together[2]) == batch.num_graphs
    for number in range(batch.num_graphs):
        is_node = batch.batch == number
        is_edge = is_node[batch.edge_index[0]]
        own = nodes[is_node], edges[is_edge], globals_[number : number + 1]
        alone = run(block, batch[number], *own)
        torch.testing.assert_close(alone[0], together[0][is_node])
        torch.testing.assert_close(alone[1], together[1][is_edge])
        torch.testing.assert_close(alone[2], together[2][number : number + 1])


def test_sent_edges_tell_the_direction() -> None:
    path = Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2)
    nodes, edges, globals_ = torch.ones(2, NODE), torch.ones(1, EDGE), torch.ones(1, GLOBAL)
    both = GraphNetworkBlock(NODE, EDGE, GLOBAL, OUT)
    sender, receiver = run(both, path, nodes, edges, globals_)[0]
    assert not torch.allclose(sender, receiver)


def test_another_function_reads_the_concatenation() -> None:
    sizes = []

    def build(inputs: int, outputs: int) -> nn.Module:
        sizes.append((inputs, outputs))
        return nn.Linear(inputs, outputs)

    block = GraphNetworkBlock(NODE, EDGE, GLOBAL, OUT, build_update=build).double()
    assert sizes == [
        (EDGE + 2 * NODE + GLOBAL, OUT),
        (NODE + 2 * OUT + GLOBAL, OUT),
        (2 * OUT + GLOBAL, OUT),
    ]
    same = GraphNetworkBlock(NODE, EDGE, GLOBAL, OUT, num_layers=1).double()
    for name in ("edge_update", "node_update", "global_update"):
        getattr(same, name).first.load_state_dict(getattr(block, name).rest.state_dict())
    batch = some_batch()
    given = vectors(batch)
    for got, wanted in zip(run(block, batch, *given), run(same, batch, *given), strict=True):
        torch.testing.assert_close(got, wanted)


def test_aggregations_are_copies_of_their_own() -> None:
    given = SoftmaxAggregation(learn=True)
    block = GraphNetworkBlock(NODE, EDGE, GLOBAL, OUT, edges_to_nodes=given)
    assert block.received_edges.aggregation.t is not block.sent_edges.aggregation.t
    assert block.received_edges.aggregation.t is not given.t


class TestSpecialCases:
    batch = some_batch()

    def run(self, block: GraphNetworkBlock, *widths: int):
        given = vectors(self.batch, widths)
        return given, run(block.double(), self.batch, *given)

    def test_message_passing(self) -> None:
        block = GraphNetworkBlock.message_passing(NODE, EDGE, OUT)
        given, (nodes, edges, globals_) = self.run(block, NODE, EDGE, 0)
        reads = (EDGE_INPUTS[:3], NODE_INPUTS[:2], ("nodes",))
        given[2] = torch.zeros(self.batch.num_graphs, 0)
        expected = by_hand(block, self.batch, *given, reads, ("sum",) * 3)
        for got, wanted in zip((nodes, edges, globals_), expected, strict=True):
            torch.testing.assert_close(got, wanted)

    @pytest.mark.parametrize("edge_channels", [0, EDGE])
    def test_interaction_network(self, edge_channels: int) -> None:
        block = GraphNetworkBlock.interaction_network(NODE, edge_channels, OUT)
        _, (nodes, edges, globals_) = self.run(block, NODE, edge_channels, 0)
        assert nodes.shape == (self.batch.num_nodes, OUT)
        assert edges.shape == (self.batch.num_edges, OUT)
        assert globals_ is None

    def test_relation_network(self) -> None:
        block = GraphNetworkBlock.relation_network(NODE, OUT, edges_to_globals="mean")
        given, (nodes, _, globals_) = self.run(block, NODE, 0, 0)
        assert nodes is given[0]
        parts = [
            phi(block.edge_update, [given[0][s], given[0][r]])
            for s, r in self.batch[0].edge_index.t().tolist()
        ]
        expected = phi(block.global_update, [torch.stack(parts).mean(0)])
        torch.testing.assert_close(globals_[0], expected)

    @pytest.mark.parametrize("global_channels", [0, GLOBAL])
    def test_deep_sets(self, global_channels: int) -> None:
        block = GraphNetworkBlock.deep_sets(NODE, global_channels, OUT)
        _, (nodes, edges, globals_) = self.run(block, NODE, 0, global_channels)
        assert edges is None
        total = nodes[self.batch.batch == 0].sum(0)
        torch.testing.assert_close(globals_[0], phi(block.global_update, [total]))

    @pytest.mark.parametrize("widths", [(NODE, EDGE, GLOBAL), (NODE, 0, 0)])
    def test_independent(self, widths: tuple[int, int, int]) -> None:
        block = GraphNetworkBlock.independent(*widths, OUT)
        given, new = self.run(block, *widths)
        updates = block.node_update, block.edge_update, block.global_update
        for update, before, after in zip(updates, given, new, strict=True):
            if before is None:
                assert after is None
            else:
                torch.testing.assert_close(after[0], phi(update, [before[0]]))


@pytest.mark.parametrize(
    "which", ["no nodes", "one node", "one node with a loop", "no edges", "two nodes"]
)
@pytest.mark.parametrize("kind", ["sum", "max", "median", "std", "softmax", "mul"])
@pytest.mark.parametrize("norm", ["batch", "layer", "none"])
def test_gradients_on_small_graphs(which: str, kind: str, norm: str) -> None:
    block = GraphNetworkBlock(
        NODE, EDGE, GLOBAL, OUT, *READS[0], kind, kind, kind, 2, norm
    ).double()
    new = run(block.train(), small_graphs()[which], *vectors(small_graphs()[which]))
    sum(part.square().sum() for part in new).backward()
    assert all(part.isfinite().all() for part in new)
    assert all(p.grad is not None and p.grad.isfinite().all() for p in block.parameters())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"edge_inputs": ("nodes",)}, r"edge_inputs is \('nodes',\); it must be a list of some of"),
        ({"edge_inputs": ()}, r"edge_inputs is \(\); .* or None for no update"),
        ({"node_inputs": "nodes"}, "node_inputs is 'nodes'; it must be a list"),
        ({"global_inputs": ["edges", "edges"]}, "global_inputs is"),
        ({"edge_channels": 0}, "edge_inputs has 'edges', but there are no vectors of edges; leave"),
        ({"node_channels": 0}, "edge_inputs has 'senders', but there are no vectors of senders"),
        (
            {"edge_channels": 0, "edge_inputs": None},
            "node_inputs has 'received_edges', but there are no vectors of received edges",
        ),
        ({"global_channels": 0}, "edge_inputs has 'globals', but there are no vectors of globals"),
        ({"out_channels": 0}, "out_channels is 0"),
        ({"out_channels": 1}, "out_channels is 1, and LayerNorm makes"),
        ({"num_layers": 0}, "num_layers is 0"),
        ({"edge_channels": -1}, "edge_channels is -1"),
        ({"edges_to_nodes": "nothing"}, "edges_to_nodes is 'nothing', which PyG can't"),
        ({"norm": "group"}, "norm is 'group'"),
    ],
)
def test_bad_arguments(settings: dict, message: str) -> None:
    sizes = {"node_channels": 3, "edge_channels": 4, "global_channels": 2, "out_channels": 5}
    with pytest.raises(ValueError, match=message) as error:
        GraphNetworkBlock(**{**sizes, **settings})
    assert "\n" not in str(error.value)
