"""Graphormer as a whole; what it shares with the other networks is in test_networks.py."""

from __future__ import annotations

import math
import warnings

import pytest
import torch
from nn_batches import FEATURES, batch_of, featured, graphs, largest_error
from torch import Tensor
from torch.nn.functional import gelu
from torch_geometric.data import Batch, Data

from graphpe.nn import EmbeddingEncoder, Graphormer, GraphormerBias, NodeEncoder, PairEncoder
from graphpe.tasks import Features
from graphpe.transforms import AddDegreeSE, AddShortestPathEdgePE, AddShortestPathPE

CAP, LENGTH = 4, 3
ENCODINGS = [AddDegreeSE(6), AddShortestPathPE(CAP), AddShortestPathEdgePE(LENGTH)]
OPTIONS = {
    "virtual": {},
    "virtual, biased": {"biased": True},
    "mean, biased": {"biased": True, "readout": "mean"},
    "attention": {"readout": "attention"},
}
each_option = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
each_level = pytest.mark.parametrize("level", ["graph", "node", "edge", "pair"])


def centrality() -> EmbeddingEncoder:
    return EmbeddingEncoder(2, 7, 16)


def biases(heads: int = 4) -> GraphormerBias:
    return GraphormerBias(heads, CAP + 2, edge_categories=(4,), max_distance=LENGTH)


def graphormer(options: dict, level: str = "graph", **more) -> Graphormer:
    """In float64, without dropout; the bias of the virtual node is not 0."""
    options = {"dropout": 0.0, "attention_dropout": 0.0} | options | more
    if options.pop("biased", False):
        options["positional_encoders"] = [centrality(), biases()]
    network = Graphormer(FEATURES, 2, 16, 2, 4, level=level, **options).double()
    if network.virtual_bias is not None:
        torch.nn.init.normal_(network.virtual_bias)
    return network


def encoded(graph: Data) -> Data:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of degrees above the largest category
        for encoding in ENCODINGS:
            graph = encoding(graph)
    return graph


def every_graph() -> list[Data]:
    return [encoded(graph) for graph in graphs().values()]


def rows_of(graph: Data, level: str) -> int:
    n = graph.num_nodes
    return {"graph": 1, "node": n, "edge": graph.num_edges, "pair": n * n}[level]


def norm_by_hand(x: Tensor, norm: torch.nn.LayerNorm) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    spread = (centred.square().mean(-1, keepdim=True) + norm.eps).sqrt()
    return norm.weight * centred / spread + norm.bias


@torch.no_grad()
def network_by_hand(network: Graphormer, graph: Data) -> Tensor:
    """One graph, pair by pair: the prediction from the virtual node."""
    n, heads = graph.num_nodes, 4
    degrees, biases = network.positional_encoders
    x = network.node_embedding.embedding.weight[graph.x[:, 0]]
    h = []
    for i in range(n):
        incoming, outgoing = graph.degree_se[i].tolist()
        table = degrees.embedding.weight
        h.append(x[i] + table[incoming] + table[7 + outgoing])
    h = torch.stack([*h, network.virtual_node])

    bias = network.virtual_bias.repeat(n + 1, n + 1, 1)
    for i in range(n):
        for j in range(n):
            bias[i, j] = biases.distance.weight[graph.shortest_path_pe[i * n + j, 0]]
            path = [e for e in graph.shortest_path_edge_pe[i * n + j].tolist() if e >= 0]
            for place, e in enumerate(path):
                vector = biases.path.edge_embedding.embedding.weight[graph.edge_attr[e]]
                weight = biases.path.positions.weight.view(LENGTH, heads, -1)[place]
                bias[i, j] += weight @ vector / len(path)

    for layer in network.layers:
        normed = norm_by_hand(h, layer.attention_norm)
        query, key, value = (
            (normed @ w.t() + b).view(n + 1, heads, -1)
            for w, b in zip(
                layer.attention.project.weight.chunk(3),
                layer.attention.project.bias.chunk(3),
                strict=True,
            )
        )
        attended = torch.zeros(n + 1, heads, 4).double()
        for head in range(heads):
            for i in range(n + 1):
                logits = [
                    query[i, head] @ key[j, head] / math.sqrt(4) + bias[i, j, head]
                    for j in range(n + 1)
                ]
                weights = torch.stack(logits).exp()
                attended[i, head] = weights @ value[:, head] / weights.sum()
        out = layer.attention.output
        h = h + attended.flatten(1) @ out.weight.t() + out.bias
        first, _, second = layer.feed_forward
        hidden = gelu(norm_by_hand(h, layer.feed_forward_norm) @ first.weight.t() + first.bias)
        h = h + hidden @ second.weight.t() + second.bias
    return network.head.network(norm_by_hand(h, network.norm)[-1:])


def test_equals_the_published_network_by_hand() -> None:
    """Centrality, distances, edges on the paths and the virtual node; a graph without nodes has its virtual node."""
    network, every = graphormer({"biased": True}).eval(), every_graph()
    expected = torch.cat([network_by_hand(network, graph) for graph in every])
    torch.testing.assert_close(network(Batch.from_data_list(every)), expected)
    assert every[0].num_nodes == 0
    assert expected[0].abs().sum() > 0


def test_learns_from_graphs_without_nodes() -> None:
    network = graphormer({"biased": True})
    network(Batch.from_data_list([every_graph()[0]] * 2)).sum().backward()
    assert network.virtual_node.grad.abs().sum() > 0


@each_option
@each_level
def test_a_graph_alone_equals_the_graph_in_a_batch(options: dict, level: str) -> None:
    network = graphormer(options, level)
    every = every_graph()
    rows = [rows_of(graph, level) for graph in every]
    together = network(Batch.from_data_list(every)).split(rows)
    for graph, expected in zip(every, together, strict=True):
        assert largest_error(network(Batch.from_data_list([graph])), expected) < 1e-12


@each_option
@each_level
def test_order_of_nodes_and_edges_does_not_matter(options: dict, level: str) -> None:
    """Encoded anew, with as many shortest paths as one likes: of edges that all have the same features."""
    network = graphormer(options, level)
    for graph in graphs().values():
        n = graph.num_nodes
        graph.edge_attr.fill_(1)
        node, edge = torch.randperm(n), torch.randperm(graph.num_edges)
        permuted = graph.clone()
        permuted.edge_index = node[graph.edge_index[:, edge]]
        permuted.x = torch.empty_like(graph.x)
        permuted.x[node] = graph.x
        rows = {
            "graph": slice(None),
            "node": node,
            "edge": edge.argsort(),
            "pair": (node[:, None] * n + node).flatten(),
        }[level]
        got = network(encoded(permuted))[rows]
        assert largest_error(got, network(encoded(graph))) < 1e-12


@each_option
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_gradients_are_finite_and_reach_all_parameters(options: dict, dropout: float) -> None:
    network = graphormer(options, dropout=dropout, attention_dropout=dropout).float().train()
    every = every_graph()
    for chosen in [[graph] for graph in every] + [every]:
        network.zero_grad()
        out = network(Batch.from_data_list(chosen))
        assert out.isfinite().all()
        out.square().sum().backward()
        for name, parameter in network.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.isfinite().all(), name
    # Of the last batch, which has everything.
    for name, parameter in network.named_parameters():
        assert parameter.grad.abs().sum() > 0, name


@each_option
def test_mixed_precision(options: dict) -> None:
    network, batch = graphormer(options).float(), Batch.from_data_list(every_graph())
    expected = network(batch)
    with torch.autocast("cpu", torch.bfloat16):
        out = network(batch)
    assert largest_error(out.float(), expected) < 0.1
    out.float().sum().backward()
    assert all(p.grad.isfinite().all() for p in network.parameters())


def test_a_bad_graph_does_not_spoil_others() -> None:
    network = graphormer({"positional_encoders": [NodeEncoder(2, 16, "p"), PairEncoder(3, 4, "r")]})
    good, large, bad = list(graphs().values())[-4:-1]
    for graph in (good, large, bad):
        n = graph.num_nodes
        graph.p, graph.r = torch.randn(n, 2).double(), torch.randn(n * n, 3).double()
    bad.p[0] = bad.r[0] = torch.nan
    expected = network(Batch.from_data_list([good, large]))
    together = network(Batch.from_data_list([good, bad, large]))
    assert largest_error(together[[0, 2]], expected) < 1e-12
    assert together[1].isnan().all()


def test_the_bias_is_the_sum_of_all_encodings_and_the_same_in_all_layers() -> None:
    network = graphormer({"positional_encoders": [PairEncoder(3, 4, "r"), PairEncoder(2, 4, "s")]})
    batch = batch_of("path", "complete")
    batch.r, batch.s = torch.randn(61, 3).double(), torch.randn(61, 2).double()
    seen = []
    for layer in network.layers:
        layer.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[1]))
    network(batch)
    first, second = network.positional_encoders
    torch.testing.assert_close(seen[0].pair_encodings[0], first(batch) + second(batch))
    assert seen[0] is seen[1]


def test_only_a_network_with_a_virtual_node_reads_out_from_it() -> None:
    assert graphormer({"biased": True}).virtual_bias.shape == (4,)
    assert graphormer({}).virtual_bias is None
    assert graphormer({"readout": "mean"}).virtual_node is None
    network, batch = graphormer({"readout": "mean"}), batch_of("path", "complete")
    whole = graphormer({"readout": "mean"}, "node")
    whole.load_state_dict(network.state_dict())
    rows = whole(batch)
    expected = torch.stack([rows[:6].mean(0), rows[6:].mean(0)])
    torch.testing.assert_close(network(batch), expected)


def test_b18_a_node_of_the_largest_degree_has_a_row_of_the_table() -> None:
    """B18: the table overflowed at exactly the largest degree; higher ones share its row, with a warning."""
    leaves = torch.arange(1, 8)
    hub = torch.zeros_like(leaves)
    edge_index = torch.cat([torch.stack([hub, leaves]), torch.stack([leaves, hub])], 1)
    star = featured(Data(edge_index=edge_index, num_nodes=8))
    encoding = AddDegreeSE.for_dataset([star])
    assert encoding.max_degree == 7
    network = Graphormer(FEATURES, 1, 16, 1, 4, positional_encoders=[EmbeddingEncoder(2, 8, 16)])
    network = network.eval()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = network(encoding(star.clone()))
    assert expected.isfinite().all()
    with pytest.warns(UserWarning, match=r"1 nodes .* degrees up to 7, above max_degree=6"):
        capped = AddDegreeSE(6)(star.clone())
    assert capped.degree_se.max() == 6
    assert not torch.equal(network(capped), expected)


def test_b19_all_pairs_are_announced_where_they_are_made(monkeypatch) -> None:
    """B19: a large batch ran out of memory without a word; attention without encodings of pairs makes no pairs."""
    monkeypatch.setattr("graphpe.nn.layout._MANY_PAIRS", 30)
    batch = Batch.from_data_list(every_graph())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graphormer({})(batch)
    with pytest.warns(UserWarning, match="the batch has about .* pairs of nodes, which take"):
        graphormer({"biased": True})(batch)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"readout": "cls"}, "readout is 'cls'"),
        ({"heads": 7}, "heads is 7, which does not divide the 80 channels.*hidden_channels"),
        ({"heads": 0}, "heads is 0"),
        ({"num_layers": 0}, "num_layers is 0"),
        ({"hidden_channels": 1, "heads": 1}, "hidden_channels is 1, and LayerNorm"),
        ({"dropout": 1.0}, "dropout is 1.0"),
        ({"attention_dropout": 1.0}, "attention_dropout is 1.0"),
        (
            {"positional_encoders": [biases(4)]},
            "GraphormerBias has out_channels=4, but it is added to the logits of heads=8; make it 8",
        ),
    ],
)
def test_bad_arguments(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        Graphormer(Features((28,)), **arguments)
    assert "\n" not in str(error.value)
