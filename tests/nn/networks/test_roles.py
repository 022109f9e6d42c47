"""Each network with encoders of each level and role: what it does with them, and what it refuses."""

from __future__ import annotations

import itertools

import pytest
import torch
from nn_batches import FEATURES, batch_of, graphs, largest_error
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from graphpe.nn import (
    GINE,
    PEG,
    PNA,
    EncodeProcessDecode,
    Encodings,
    FieldEncoder,
    FieldRequirement,
    GatedGCN,
    Graphormer,
    GraphTransformer,
    NodeMLP,
    PairEncoder,
    Transformer,
    graph_layout,
)
from graphpe.tasks import Features

NO_EDGES = Features(node_categories=(28,))
NETWORKS = {
    "GINE": lambda features, **s: GINE(features, 2, 16, 2, norm="layer", **s),
    "GatedGCN": lambda features, **s: GatedGCN(features, 2, 16, 2, norm="layer", **s),
    "PNA": lambda features, **s: PNA(features, 2, 16, 2, 8, 4, [1, 2, 3], "layer", **s),
    "GN": lambda features, **s: EncodeProcessDecode(features, 2, 16, 2, **s),
    "sparse": lambda features, **s: GraphTransformer(features, 2, 16, 2, 4, norm="layer", **s),
    "full": lambda features, **s: GraphTransformer(features, 2, 16, 2, 4, "full", "layer", **s),
    "NodeMLP": lambda features, **s: NodeMLP(features, 2, 16, 2, **s),
    "Transformer": lambda features, **s: Transformer(features, 2, 16, 2, 4, **s),
    "Transformer-virtual_node": lambda features, **s: Transformer(
        features, 2, 16, 2, 4, readout="virtual_node", **s
    ),
    "Transformer-structure": lambda features, **s: Transformer(
        features, 2, 16, 2, 4, structure_hops=1, **s
    ),
    "Graphormer": lambda features, **s: Graphormer(
        features, 2, 16, 2, 4, dropout=0.0, attention_dropout=0.0, **s
    ),
}
READ_EDGES = ("GINE", "GatedGCN", "PNA", "GN", "sparse")
LEVELS = ("graph", "edge", "pair")
USES = [
    ("node", "add"),
    ("node", "rotate"),
    ("node", "gate"),
    ("edge", "add"),
    ("edge", "gate"),
    ("edge", "rotate"),
    ("pair", "add"),
    ("pair", "gate"),
    ("pair", "rotate"),
    ("graph", "add"),
]


def is_taken(name: str, level: str, use: tuple[str, str]) -> bool:
    """What the table in the docstring of GraphNetwork says."""
    is_transformer = name.startswith("Transformer")
    return {
        ("node", "add"): True,
        ("node", "rotate"): is_transformer,
        ("pair", "add"): is_transformer or name in ("Graphormer", "full") or level == "pair",
        ("edge", "add"): name in READ_EDGES or level == "edge",
        ("edge", "gate"): name in READ_EDGES or level == "edge",
    }.get(use, False)


CASES = list(itertools.product(NETWORKS, LEVELS, USES))
TAKEN = [case for case in CASES if is_taken(*case)]
REFUSED = [case for case in CASES if not is_taken(*case)]
each_use = pytest.mark.parametrize(("name", "level", "use"), TAKEN)


class AnyEncoder(FieldEncoder):
    """A linear map of random numbers, of any level and role."""

    def __init__(self, level: str, role: str, width: int = 5) -> None:
        super().__init__()
        self.level, self.role = level, role
        widths = {("node", "add"): 16, ("node", "rotate"): 8}
        self.out_channels = widths.get((level, role), width)
        self.requires = (FieldRequirement(f"{level}_numbers", level, 3, "AddNumbers"),)
        self.linear = nn.Linear(3, self.out_channels)

    def forward(self, data: Data) -> Tensor:
        (values,) = self.read(data, graph_layout(data))
        return self.linear(values)


def network(name: str, level: str, use: tuple[str, str], features: Features = FEATURES):
    width = 4 if name == "Graphormer" else 5  # the number of heads, or any
    encoders = [AnyEncoder(*use, width), AnyEncoder(*use, width)]
    return NETWORKS[name](features, level=level, positional_encoders=encoders).double()


def with_numbers(graph: Data) -> Data:
    n = graph.num_nodes
    rows = {"node": n, "edge": graph.num_edges, "pair": n * n}
    for level, count in rows.items():
        graph[f"{level}_numbers"] = torch.randn(count, 3).double()
    return graph


def every_graph() -> list[Data]:
    return [with_numbers(graph) for graph in graphs().values()]


def rows_of(graph: Data, level: str) -> int:
    return {"graph": 1, "edge": graph.num_edges, "pair": graph.num_nodes**2}[level]


@each_use
def test_a_graph_alone_equals_the_graph_in_a_batch(name: str, level: str, use) -> None:
    model, every = network(name, level, use), every_graph()
    together = model(Batch.from_data_list(every)).split([rows_of(g, level) for g in every])
    for graph, expected in zip(every, together, strict=True):
        assert largest_error(model(Batch.from_data_list([graph])), expected) < 1e-12


@each_use
def test_order_of_nodes_and_edges_does_not_matter(name: str, level: str, use) -> None:
    model = network(name, level, use)
    for graph in every_graph():
        n = graph.num_nodes
        node, edge = torch.randperm(n), torch.randperm(graph.num_edges)
        pair = (node[:, None] * n + node).flatten()
        permuted = graph.clone()
        permuted.edge_index = node[graph.edge_index[:, edge]]
        for key in ("edge_attr", "edge_numbers"):
            permuted[key] = graph[key][edge]
        for key, place in (("x", node), ("node_numbers", node), ("pair_numbers", pair)):
            permuted[key] = torch.empty_like(graph[key])
            permuted[key][place] = graph[key]
        row = {"graph": slice(None), "edge": edge.argsort(), "pair": pair}[level]
        assert largest_error(model(permuted)[row], model(graph)) < 1e-12


@each_use
@pytest.mark.parametrize("features", [FEATURES, NO_EDGES], ids=["edge features", "none"])
def test_encoders_learn_and_matter(name: str, level: str, use, features: Features) -> None:
    model, batch = network(name, level, use, features), Batch.from_data_list(every_graph())
    out = model(batch)
    out.square().sum().backward()
    for parameter_name, parameter in model.named_parameters():
        if parameter.requires_grad:
            assert parameter.grad is not None, parameter_name
            assert parameter.grad.isfinite().all(), parameter_name
    for encoder in model.positional_encoders:
        assert encoder.linear.weight.grad.abs().sum() > 0
    changed = batch.clone()
    changed[f"{use[0]}_numbers"] = batch[f"{use[0]}_numbers"].flip(1)
    assert largest_error(model(changed), out) > 1e-6


@each_use
def test_mixed_precision(name: str, level: str, use) -> None:
    model, batch = network(name, level, use).float(), Batch.from_data_list(every_graph())
    with torch.autocast("cpu", torch.bfloat16):
        out = model(batch)
    out.float().square().sum().backward()
    assert out.isfinite().all()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.requires_grad)


@pytest.mark.parametrize(("name", "level", "use"), REFUSED)
def test_what_has_no_use_is_refused_in_one_line(name: str, level: str, use) -> None:
    with pytest.raises(ValueError, match="AnyEncoder") as error:
        network(name, level, use)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "use", "message"),
    [
        ("GINE", ("node", "rotate"), "rotates queries and keys, but a GINE has none.*Transformer"),
        (
            "NodeMLP",
            ("edge", "gate"),
            "encodes edges, but a NodeMLP.*'edge', GPS, GINE.*sparse attention",
        ),
        ("Transformer", ("edge", "add"), "encodes edges, but a Transformer .*'edge', GPS, GINE"),
        (
            "full",
            ("edge", "add"),
            "AnyEncoder encodes edges.* attention='full'.*'sparse', level 'edge', GPS, GINE",
        ),
        (
            "sparse",
            ("pair", "add"),
            "AnyEncoder encodes pairs.* attention='sparse'.*'full', level 'pair', GPS, GRIT",
        ),
        ("GINE", ("pair", "add"), "encodes pairs, but a GINE of level 'graph'.*full attention"),
        ("GINE", ("node", "gate"), "encodes nodes with the role 'gate', which no network uses"),
        ("GINE", ("graph", "add"), "encodes graphs with the role 'add', which no network uses"),
    ],
)
def test_messages_name_what_can(name: str, use: tuple[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        network(name, "graph", use)


def test_widths_of_angles() -> None:
    encoder = AnyEncoder("node", "rotate")
    with pytest.raises(
        ValueError, match=r"out_channels=8, but 16 angles .*hidden_channels=32; mak"
    ):
        Transformer(FEATURES, 2, 32, 2, 4, positional_encoders=[encoder])
    with pytest.raises(ValueError, match=r"heads is 16, .* 1 of hidden_channels=16.* even"):
        Transformer(FEATURES, 2, 16, 2, 16, positional_encoders=[encoder])
    Transformer(FEATURES, 2, 16, 2, 8, positional_encoders=[encoder])


def test_rotations_follow_each_other() -> None:
    """Two encoders of angles rotate by the sum."""
    both = network("Transformer", "graph", ("node", "rotate"))
    one = network("Transformer", "graph", ("node", "rotate"))
    one.positional_encoders = one.positional_encoders[:1]
    state = {key: value.clone() for key, value in both.state_dict().items()}
    for key in ("weight", "bias"):
        second = state.pop(f"positional_encoders.1.linear.{key}")
        state[f"positional_encoders.0.linear.{key}"] += second
    one.load_state_dict(state)
    batch = Batch.from_data_list(every_graph())
    torch.testing.assert_close(one(batch), both(batch))


@pytest.mark.parametrize("token", [False, True])
def test_a_shift_of_all_angles_matters_only_to_a_token(token: bool) -> None:
    name = "Transformer-virtual_node" if token else "Transformer"
    model, batch = (
        network(name, "graph", ("node", "rotate")),
        Batch.from_data_list(every_graph()[-4:]),
    )
    before = model(batch)
    with torch.no_grad():
        model.positional_encoders[0].linear.bias += 1
    assert (largest_error(model(batch), before) < 1e-12) != token


def test_tokens_have_angle_0() -> None:
    model, seen = network("Transformer-virtual_node", "graph", ("node", "rotate")), []
    model.layers[1].register_forward_pre_hook(lambda _, inputs: seen.append(inputs[1].angles))
    batch = Batch.from_data_list(every_graph())
    model(batch)
    expected = sum(encoder(batch) for encoder in model.positional_encoders)
    torch.testing.assert_close(seen[0][: batch.num_nodes], expected)
    assert torch.equal(seen[0][batch.num_nodes :], torch.zeros(batch.num_graphs, 8).double())


def test_rotary_attention_composes_with_biases_of_pairs() -> None:
    encoders = [AnyEncoder("node", "rotate"), AnyEncoder("pair", "add"), AnyEncoder("node", "add")]
    model = Transformer(FEATURES, 2, 16, 2, 4, positional_encoders=encoders).double()
    model(Batch.from_data_list(every_graph())).sum().backward()
    for encoder in encoders:
        assert encoder.linear.weight.grad.abs().sum() > 0


def test_gine_with_peg_is_the_published_network() -> None:
    """Spec 1.6: in every layer the embedding of an edge times its own function of the distance."""
    peg = PEG(6, 5, 8)
    model = GINE(FEATURES, 2, 16, 2, norm="layer", positional_encoders=[peg]).double().eval()
    batch = batch_of("path", "complete", "equal components")
    x, gate = model.node_embedding(batch), peg(batch)
    source, target = batch.edge_index
    for layer in model.layers:
        linear = layer.edge_encodings.gates[0]
        edge = layer.edge_embedding(batch) * (gate @ linear.weight.t() + linear.bias)
        message = (x[source] + edge).relu()
        total = (1 + layer.conv.eps) * x + torch.zeros_like(x).index_add(0, target, message)
        x = x + layer.conv.nn(total)
    torch.testing.assert_close(model(batch), model.head(x, batch, graph_layout(batch), Encodings()))
    assert model.layers[0].edge_encodings.gates[0] is not model.layers[1].edge_encodings.gates[0]


def test_sparse_attention_reads_edges_at_its_input() -> None:
    """The encodings move the vectors that the first layer reads; without edge features they are those vectors."""
    batch = Batch.from_data_list(every_graph())
    for features in (FEATURES, NO_EDGES):
        model = network("sparse", "graph", ("edge", "add"), features)
        seen = []
        model.layers[0].register_forward_pre_hook(lambda _, inputs, s=seen: s.append(inputs[2]))
        model(batch)
        added, encoders = model.edge_encodings.added, model.positional_encoders
        expected = sum(linear(e(batch)) for linear, e in zip(added, encoders, strict=True))
        if features is FEATURES:
            expected = expected + model.edge_embedding(batch)
        torch.testing.assert_close(seen[0], expected)


@pytest.mark.parametrize("features", [FEATURES, NO_EDGES], ids=["edge features", "none"])
def test_full_attention_reads_pairs_as_sparse_attention_reads_edges(features: Features) -> None:
    """Node i attends to node j by pair (i, j), as by the encoding of an edge from j to i of the complete graph."""
    full = network("full", "graph", ("pair", "add"), features)
    sparse = network("sparse", "graph", ("edge", "add"), features)
    sparse.load_state_dict(full.state_dict())
    batch = with_numbers(batch_of("complete"))
    batch.edge_attr = torch.zeros_like(batch.edge_attr)
    source, target = batch.edge_index
    batch.edge_numbers = batch.pair_numbers[target * batch.num_nodes + source]
    torch.testing.assert_close(full(batch), sparse(batch))


def test_relative_bias_of_any_pair_field() -> None:
    """One linear layer of a pair field, then one per layer of the Transformer: a relative bias per head."""
    encoder = PairEncoder(3, 4, "pair_numbers", "AddNumbers", num_layers=1)
    model = Transformer(FEATURES, 2, 16, 2, 4, positional_encoders=[encoder]).double()
    batch = with_numbers(batch_of("complete"))
    layer = model.layers[0]
    attention = layer.attention
    x = model.node_embedding(batch)
    query, key, value = (rows.view(5, 4, 4) for rows in attention.project(x).chunk(3, dim=1))
    logits = torch.einsum("ihd,jhd->hij", query, key) / 2
    pair = batch.pair_numbers @ encoder.mlp.lins[0].weight.t() + encoder.mlp.lins[0].bias
    logits = logits + (pair @ attention.pair_bias[0].weight.t()).view(5, 5, 4).permute(2, 0, 1)
    attended = torch.einsum("hij,jhd->ihd", logits.softmax(-1), value).flatten(1)
    z = layer.first_norm(x + attention.output(attended))
    expected = layer.second_norm(z + layer.feed_forward(z))
    seen = []
    layer.register_forward_hook(lambda *arguments: seen.append(arguments[-1]))
    model(batch)
    torch.testing.assert_close(seen[0], expected)
