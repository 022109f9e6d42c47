"""The GPS layer."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from nn_batches import batch_of
from torch import nn
from torch.nn.parameter import is_lazy
from torch_geometric.nn import (
    CGConv,
    ChebConv,
    FAConv,
    GATConv,
    GATv2Conv,
    GCNConv,
    GENConv,
    GINEConv,
    GPSConv,
    GraphConv,
    MessagePassing,
    ResGatedGraphConv,
    RGCNConv,
    SAGEConv,
    TransformerConv,
)

from graphpe.nn import DenseAttention, GatedGCNLayer, GPSLayer, LinearAttention, graph_layout
from graphpe.nn.attention import AttentionPlaces
from graphpe.nn.layers.gine_conv import GINEConvolution
from graphpe.nn.layers.local_conv import LocalConv
from graphpe.nn.stacks import stacks_of

C = 8


def perceptron() -> nn.Sequential:
    return nn.Sequential(nn.Linear(C, C), nn.ReLU(), nn.Linear(C, C))


class TwoOutputs(GCNConv):
    """Returns more than nodes."""

    def forward(self, x, edge_index):
        return super().forward(x, edge_index), edge_index


def places_of(batch) -> AttentionPlaces:
    layout = graph_layout(batch)
    return AttentionPlaces(layout, stacks=stacks_of(layout))


@pytest.mark.parametrize("norm", ["batch", "layer", "none"])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("with_conv", [False, True])
def test_equals_the_layer_of_pyg(norm: str, training: bool, with_conv: bool) -> None:
    ours = GPSLayer(C, GINEConvolution(C) if with_conv else None, DenseAttention(C, 2), norm)
    kinds = {"batch": "batch_norm", "layer": "layer_norm", "none": None}
    more = {"norm_kwargs": {"mode": "node"}} if norm == "layer" else {}
    conv = GINEConv(perceptron()) if with_conv else None
    theirs = GPSConv(C, conv, heads=2, norm=kinds[norm], **more)
    with torch.no_grad():
        theirs.attn.in_proj_weight.copy_(ours.attention.project.weight)
        theirs.attn.in_proj_bias.copy_(ours.attention.project.bias)
        theirs.attn.out_proj.load_state_dict(ours.attention.output.state_dict())
        theirs.mlp.load_state_dict(ours.feed_forward.state_dict())
        pairs = [(theirs.norm2, ours.attention_norm), (theirs.norm3, ours.norm)]
        if with_conv:
            pairs.append((theirs.norm1, ours.conv_norm))
            conv.nn.load_state_dict(ours.conv.mlp.state_dict())
        if norm != "none":
            for target, source in pairs:
                for parameter in source.parameters():
                    nn.init.normal_(parameter)
                target.load_state_dict(source.state_dict())
    batch = batch_of()
    x = torch.randn(batch.num_nodes, C, requires_grad=True)
    edge = torch.randn(batch.num_edges, C, requires_grad=True)
    ours.train(training)
    theirs.train(training)
    got, _ = ours(x, batch.edge_index, edge, places_of(batch))
    given = {"edge_attr": edge} if with_conv else {}
    expected = theirs(x, batch.edge_index, batch.batch, **given)
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-5)
    inputs, towards = [x, edge] if with_conv else [x], torch.randn_like(got)
    for mine, other in zip(
        torch.autograd.grad(got, inputs, towards),
        torch.autograd.grad(expected, inputs, towards),
        strict=True,
    ):
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-4)


def test_gine_convolution_equals_that_of_pyg() -> None:
    batch = batch_of()
    ours, theirs = GINEConvolution(C).double(), GINEConv(perceptron()).double()
    theirs.nn.load_state_dict(ours.mlp.state_dict())
    x = torch.randn(batch.num_nodes, C).double()
    edge = torch.randn(batch.num_edges, C).double()
    expected = theirs(x, batch.edge_index, edge)
    torch.testing.assert_close(ours(x, batch.edge_index, edge), expected)


def test_sums_of_many_neighbours_in_half_precision() -> None:
    """In bfloat16, 256 + 1 is 256."""
    conv = GINEConvolution(1)
    conv.mlp = nn.Identity()
    n = 3000
    edge_index = torch.stack([torch.arange(1, n), torch.zeros(n - 1, dtype=torch.long)])
    out = conv(torch.ones(n, 1).bfloat16(), edge_index, torch.zeros(n - 1, 1).bfloat16())
    assert abs(out[0].item() - n) < 16


def test_gated_gcn_has_its_own_residual_and_updates_edges() -> None:
    batch, conv = batch_of(), GatedGCNLayer(C)
    layer = GPSLayer(C, conv, DenseAttention(C, 2)).eval()
    x, edge = torch.randn(batch.num_nodes, C), torch.randn(batch.num_edges, C)
    places = places_of(batch)
    local, expected_edge = conv(x, batch.edge_index, edge)
    h = layer.conv_norm(local) + layer.attention_norm(x + layer.attention(x, places))
    expected = layer.norm(h + layer.feed_forward(h))
    got, new_edge = layer(x, batch.edge_index, edge, places)
    torch.testing.assert_close(got, expected)
    assert torch.equal(new_edge, expected_edge)
    assert not torch.equal(new_edge, edge)
    assert layer(x, batch.edge_index, edge, places, update_edges=False)[1] is edge


def test_dropout_is_where_it_should_be() -> None:
    layer = GPSLayer(C, GINEConvolution(C), DenseAttention(C, 2, dropout=0.25), dropout=0.5)
    dropouts = [m.p for m in layer.modules() if isinstance(m, nn.Dropout)]
    assert dropouts == [0.5] * 3  # one for both terms, two in the feed-forward network
    assert layer.attention.dropout == 0.25


CONVS: dict[str, tuple[Callable[[], MessagePassing], bool]] = {
    "GCN": (lambda: GCNConv(C, C), False),
    "SAGE": (lambda: SAGEConv(C, C), False),
    "Graph": (lambda: GraphConv(C, C), False),
    "Cheb": (lambda: ChebConv(C, C, 2), False),
    "GAT": (lambda: GATConv(C, C // 2, heads=2, edge_dim=C), True),
    "GAT without edges": (lambda: GATConv(C, C), False),
    "GATv2": (lambda: GATv2Conv(C, C, heads=2, concat=False, edge_dim=C), True),
    "Transformer": (lambda: TransformerConv(C, C, edge_dim=C), True),
    "Transformer without edges": (lambda: TransformerConv(C, C), False),
    "ResGated": (lambda: ResGatedGraphConv(C, C, edge_dim=C), True),
    "GEN": (lambda: GENConv(C, C), True),
    "CG": (lambda: CGConv(C, dim=C), True),
    "GINE": (lambda: GINEConv(perceptron()), True),
    "lazy": (lambda: SAGEConv(-1, C), False),
}


@pytest.mark.parametrize("name", CONVS)
@pytest.mark.parametrize("weighted", [False, True])
def test_any_convolution_of_pyg(name: str, weighted: bool) -> None:
    build, reads = CONVS[name]
    batch, conv = batch_of(), build()
    x, edge = torch.randn(batch.num_nodes, C), torch.randn(batch.num_edges, C)
    weight = torch.rand(batch.num_edges) if weighted else None
    layer = GPSLayer(C, conv, LinearAttention(C, 2)).eval()
    assert layer.conv.reads_edges == reads
    got = layer.conv(x, batch.edge_index, edge, weight)
    given = [edge] if reads else [weight] if name in ("GCN", "Graph", "Cheb") else []
    torch.testing.assert_close(got, conv(x, batch.edge_index, *given))
    out, _ = layer(x, batch.edge_index, edge, places_of(batch), weight)
    assert out.shape == x.shape
    assert out.isfinite().all()


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: nn.Linear(C, C), TypeError, "conv is a Linear; it must be a convolution of torch"),
        (lambda: FAConv(C), ValueError, "conv is a FAConv, whose forward needs 'x_0'"),
        (lambda: GCNConv(C, C, cached=True), ValueError, "GCNConv with cached=True"),
        (lambda: GATConv(C, C, edge_dim=3), ValueError, "GATConv for edges of width 3.*make it 8"),
        (lambda: GATConv(C, C, heads=2), ValueError, r"GATConv that returns 16 channels.*heads 8"),
        (
            lambda: SAGEConv(3, C),
            ValueError,
            "a SAGEConv that fails on nodes of width 8 .*build it",
        ),
        (
            lambda: GINEConv(perceptron(), edge_dim=3),
            ValueError,
            r"GINEConv that fails on nodes and edges of width 8 .*\(edge_dim=8, say\)",
        ),
        (lambda: CGConv(C), ValueError, "CGConv that fails on nodes and edges of width 8"),
        (
            lambda: RGCNConv(C, C, 4),
            ValueError,
            "RGCNConv that fails .*gets no edge_type.*needs no",
        ),
        (lambda: TwoOutputs(C, C), ValueError, "TwoOutputs that returns a tuple"),
    ],
)
def test_convolutions_that_do_not_fit(build: Callable, error: type, message: str) -> None:
    with pytest.raises(error, match=message) as raised:
        LocalConv(build(), C)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", [*CONVS, "with statistics"])
def test_the_trial_leaves_no_trace(name: str) -> None:
    """Neither in the convolution, of which a lazy one has no weights yet, nor in the random numbers."""
    mlp = nn.Sequential(nn.Linear(C, C), nn.BatchNorm1d(C), nn.Dropout(0.5))
    conv = GINEConv(mlp) if name == "with statistics" else CONVS[name][0]()
    modes = [part.training for part in conv.modules()]
    before = {key: value.clone() for key, value in buffers_and_weights(conv)}
    state = torch.get_rng_state()
    local = LocalConv(conv, C)
    assert torch.equal(torch.get_rng_state(), state)
    assert local.conv is conv
    assert [part.training for part in conv.modules()] == modes
    after = dict(buffers_and_weights(conv))
    assert after.keys() == before.keys()
    for (
        key,
        value,
    ) in before.items():  # the bias of a lazy layer is not filled yet, and may hold NaN
        torch.testing.assert_close(after[key], value, rtol=0, atol=0, equal_nan=True)


def buffers_and_weights(conv: nn.Module) -> list[tuple[str, torch.Tensor]]:
    every = [*conv.named_parameters(), *conv.named_buffers()]
    return [(key, value) for key, value in every if not is_lazy(value)]


def test_lazy_layers_draw_weights_of_their_own() -> None:
    batch = batch_of("path")
    first, second = (LocalConv(SAGEConv(-1, C), C) for _ in range(2))
    assert is_lazy(first.conv.lin_l.weight)
    for conv in (first, second):
        conv(torch.randn(batch.num_nodes, C), batch.edge_index)
    assert not torch.equal(first.conv.lin_l.weight, second.conv.lin_l.weight)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_convolutions_of_another_dtype_are_tried_in_it(dtype: torch.dtype) -> None:
    LocalConv(GATConv(C, C).to(dtype), C)
    with pytest.raises(ValueError, match="fails on nodes of width 8"):
        LocalConv(GATConv(3, C).to(dtype), C)


def test_convolutions_without_memory_are_not_tried() -> None:
    with torch.device("meta"):
        assert LocalConv(GATConv(C, C), C).conv.lin.weight.is_meta


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((C, None, None), "conv and attention are both 'none'"),
        ((C, None, LinearAttention(C, 2), "group"), "norm is 'group'"),
        ((C, None, LinearAttention(C, 2), "batch", 1.0), "dropout is 1.0"),
        ((0, None, LinearAttention(C, 2)), "channels is 0"),
    ],
)
def test_bad_arguments(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GPSLayer(*arguments)
