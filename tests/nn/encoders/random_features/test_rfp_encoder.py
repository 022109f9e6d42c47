"""Random feature propagation inside the model."""

from __future__ import annotations

from itertools import pairwise
from typing import get_args

import networkx
import pytest
import torch
from graph_zoo import from_networkx, graph, zoo
from nn_batches import batch_of, largest_error
from torch_geometric.data import Batch, Data

from graphpe.linalg.walks.propagation import PropagationOperator
from graphpe.nn import RandomFeaturePropagation, graph_layout
from graphpe.transforms import AddRandomFeaturePropagation

OPERATORS = get_args(PropagationOperator)
STEPS, CHANNELS = 5, 4

GRAPHS = zoo() | {
    "complete bipartite (rank 2)": from_networkx(networkx.complete_bipartite_graph(3, 5)),
    "directed": graph(6, [(0, 1), (1, 2), (2, 0), (3, 2), (2, 3), (4, 4)], directed=True),
    "weighted": graph(5, [(0, 1), (1, 2), (2, 0), (3, 2)], [0.5, 2.0, 0.0, 3.0]),
    "weighted, directed": graph(4, [(0, 1), (1, 2), (2, 1), (3, 2)], [0.5, 2.0, 1.0, 3.0], True),
}


def small(**arguments) -> RandomFeaturePropagation:
    """A small encoder in float64."""
    sizes = {"channels": CHANNELS, "steps": STEPS, "hidden_channels": 8}
    return RandomFeaturePropagation(3, **(sizes | arguments)).double()


@pytest.mark.filterwarnings("ignore:.*some graphs are directed")
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("normalization", ["l2", "qr"])
def test_the_trajectory_is_that_of_the_transform(operator: str, normalization: str) -> None:
    transform = AddRandomFeaturePropagation(
        CHANNELS,
        STEPS,
        attr_name="field",
        operator=operator,
        normalization=normalization,
        trajectories=2,
        dtype="float64",
    )
    encoder = small(operators=(operator,), normalization=normalization, trajectories=2, heads=0)
    weighted = [g for g in GRAPHS.values() if "edge_weight" in g]
    for graphs in ([g for g in GRAPHS.values() if "edge_weight" not in g], weighted):
        encoded = [transform(graph.clone()) for graph in graphs]
        field = torch.cat([data.field for data in encoded])
        expected = field.unflatten(1, (2, -1))
        start = expected[..., :CHANNELS].flatten(1)[:, None]
        batch = Batch.from_data_list([graph.clone() for graph in graphs])
        got = encoder.trajectory(batch, graph_layout(batch), start)[:, 0]
        torch.testing.assert_close(got, expected, atol=1e-9, rtol=0)


@pytest.mark.parametrize(
    "name", ["star (one eigenvalue many times)", "complete bipartite (rank 2)"]
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dependent_columns_become_zero(name: str, dtype: torch.dtype) -> None:
    batch = Batch.from_data_list([GRAPHS[name]])
    layout = graph_layout(batch)
    encoder = small(operators=("sym",), normalization="qr", heads=0).to(dtype)
    got = encoder.trajectory(batch, layout, encoder.draw(layout))[:, 0, 0]
    for step in got.split(CHANNELS, dim=1)[1:]:
        assert (step != 0).any(0).tolist() == [True, True, False, False]
        torch.testing.assert_close(step[:, :2].T @ step[:, :2], torch.eye(2, dtype=dtype))


def test_orthonormal_in_float32() -> None:
    batch = Batch.from_data_list([GRAPHS["large"], GRAPHS["hypercube"], GRAPHS["path"]])
    layout = graph_layout(batch)
    encoder = small(normalization="qr", steps=20, channels=8, heads=2).float()
    trajectory = encoder.trajectory(batch, layout, encoder.draw(layout))[:, 0, 0]
    for columns in trajectory.split(8, dim=1)[1:]:
        for part in columns.split(layout.sizes.tolist()):
            gram = part.T @ part
            diagonal = gram.diagonal().round()
            assert float((gram - torch.diag(diagonal)).detach().abs().max()) < 1e-5
    assert trajectory.size(1) == 8 * (1 + 20 * 3)


def test_subspace_iteration_finds_eigenvectors() -> None:
    """With the spectrum of a path, whose eigenvalues differ."""
    batch = Batch.from_data_list([GRAPHS["path"]])
    layout = graph_layout(batch)
    encoder = small(operators=("laplacian",), normalization="qr", heads=0, steps=400)
    got = encoder.trajectory(batch, layout, encoder.draw(layout))[:, 0, 0, -CHANNELS:]
    matrix = torch.from_numpy(
        networkx.normalized_laplacian_matrix(networkx.path_graph(9)).toarray()
    )
    vectors = torch.linalg.eigh(matrix)[1].flip(1)[:, :CHANNELS]
    torch.testing.assert_close(
        (vectors.T @ got).abs(), torch.eye(CHANNELS, dtype=torch.float64), atol=1e-6, rtol=0
    )


def test_columns_of_the_trajectory() -> None:
    """Fixed operators, then heads, each with its steps."""
    batch = batch_of("path", "complete")
    layout = graph_layout(batch)
    encoder = small(operators=("sym", "walk"), heads=2)
    start = torch.randn(batch.num_nodes, 1, CHANNELS, dtype=torch.float64)
    got = encoder.trajectory(batch, layout, start)[:, 0, 0]
    parts = [got[:, :CHANNELS], *got[:, CHANNELS:].split(STEPS * CHANNELS, dim=1)]
    assert torch.equal(parts[0], start[:, 0])
    for name, part in zip(("sym", "walk"), parts[1:3], strict=True):
        alone = small(operators=(name,), heads=0).trajectory(batch, layout, start)[:, 0, 0]
        assert torch.equal(part, alone[:, CHANNELS:])

    entries = encoder.learned.entries(batch, layout, torch.float64)
    heads = start[:, :, None].expand(-1, 1, 2, -1)
    scale = torch.ones(batch.num_nodes, dtype=torch.float64)
    root = layout.sizes[layout.batch].double().sqrt()
    for step in range(STEPS):
        heads = encoder.learned(heads, scale, entries)
        norm = torch.cat(
            [p.norm(dim=0).expand(len(p), -1, -1, -1) for p in heads.split(layout.sizes.tolist())]
        )
        heads = heads / norm.view_as(heads)
        scale = root
        for head in range(2):
            torch.testing.assert_close(
                parts[3 + head][:, step * CHANNELS : (step + 1) * CHANNELS], heads[:, 0, head]
            )


@pytest.mark.parametrize("normalization", ["l2", "qr"])
def test_independent_of_the_batch(normalization: str) -> None:
    """One huge graph next to tiny ones."""
    encoder = small(normalization=normalization, eval_samples=2).float().eval()
    huge = from_networkx(networkx.random_regular_graph(3, 1500, seed=0))
    graphs = [graph(0), GRAPHS["triangle"], huge, graph(1), GRAPHS["path"]]
    together = encoder(Batch.from_data_list(graphs)).split([g.num_nodes for g in graphs])
    for data, got in zip(graphs, together, strict=True):
        assert largest_error(got, encoder(Batch.from_data_list([data]))) < 1e-5
    assert not together[0].numel()


def test_new_numbers_in_training_only() -> None:
    batch = batch_of("path", "complete")
    encoder = small()
    assert encoder.mixes_graphs_in_training
    assert not torch.equal(encoder(batch), encoder(batch))
    encoder.eval()
    assert torch.equal(encoder(batch), encoder(batch))


@pytest.mark.parametrize("arguments", [{"eval_samples": 16}, {"trajectories": 16}])
def test_means_lower_the_variance(arguments: dict) -> None:
    """Between nodes that a symmetry of the graph exchanges, only chance makes a difference."""
    batch = Batch.from_data_list([GRAPHS["cycle (double eigenvalues)"]] * 4)

    def variance(encoder: RandomFeaturePropagation) -> float:
        torch.manual_seed(0)
        encoder = encoder.eval()
        for parameter in encoder.parameters():
            torch.nn.init.normal_(parameter, std=0.3)
        seeds = []
        for seed in range(20):
            encoder.seed = seed
            seeds.append(encoder(batch))
        return float(torch.stack(seeds).detach().var(0).mean())

    sizes = {"num_layers": 0, "operators": ("sym",)}
    assert variance(small(**sizes, **arguments)) < 0.25 * variance(small(**sizes))


def test_mean_over_samples() -> None:
    batch = batch_of("path", "star (one eigenvalue many times)")
    layout = graph_layout(batch)
    encoder = small(eval_samples=3, trajectories=2, num_layers=2).eval()
    draws = encoder.draw(layout)
    single = [encoder.encode(batch, layout, draws[:, [sample]]) for sample in range(3)]
    torch.testing.assert_close(encoder(batch), torch.stack(single).mean(0))


def test_the_order_of_trajectories_has_no_meaning() -> None:
    batch = batch_of("path", "isolated nodes")
    layout = graph_layout(batch)
    encoder = small(trajectories=3, num_layers=2, normalization="qr")
    features = torch.randn(batch.num_nodes, 2, 3 * CHANNELS, dtype=torch.float64)
    permuted = features.unflatten(2, (3, CHANNELS))[:, :, [2, 0, 1]].flatten(2)
    got = encoder.encode(batch, layout, permuted)
    torch.testing.assert_close(got, encoder.encode(batch, layout, features))
    trajectory = encoder.trajectory(batch, layout, features)
    moved = encoder.trajectory(batch, layout, permuted)
    torch.testing.assert_close(moved, trajectory[:, :, [2, 0, 1]])


@pytest.mark.parametrize("normalization", ["l2", "qr"])
@pytest.mark.parametrize("distribution", ["normal", "rademacher"])
def test_finite_gradients(normalization: str, distribution: str) -> None:
    """Also of dependent and of zero columns, in float32 and under autocast."""
    everything = [g for g in GRAPHS.values() if "edge_weight" not in g]
    encoder = small(
        normalization=normalization,
        distribution=distribution,
        operators=OPERATORS,
        channels=6,
        trajectories=2,
    ).float()
    for graphs in ([everything[0]], [everything[1]], everything):
        for enabled in (False, True):
            encoder.zero_grad()
            with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
                output = encoder(Batch.from_data_list(graphs))
            output.float().square().sum().backward()
            assert bool(output.isfinite().all())
            for parameter in encoder.parameters():
                assert bool(parameter.grad.isfinite().all())


@pytest.mark.parametrize("normalization", ["l2", "qr"])
def test_gradient_through_the_steps(normalization: str) -> None:
    batch = batch_of("path")
    encoder = small(
        normalization=normalization, operators=(), steps=2, channels=2, num_layers=0
    ).eval()
    names = [name for name, _ in encoder.named_parameters()]

    def function(*values):
        return torch.func.functional_call(encoder, dict(zip(names, values, strict=True)), (batch,))

    assert torch.autograd.gradcheck(function, tuple(encoder.parameters()))


@pytest.mark.parametrize("normalization", ["l2", "qr"])
def test_the_trajectory_is_not_autocast(normalization: str) -> None:
    """Eight bits would not survive a QR decomposition."""
    batch = batch_of("path", "complete")
    encoder = small(normalization=normalization).float().eval()
    seen = []
    encoder.embedding.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    for enabled in (False, True):
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            encoder(batch)
    assert torch.equal(*seen)


@pytest.mark.parametrize("normalization", ["l2", "qr"])
@pytest.mark.parametrize("factor", [1e-12, 1e12])
def test_the_scale_of_the_features_has_no_influence_on_later_steps(
    normalization: str, factor: float
) -> None:
    batch = batch_of("path", "star (one eigenvalue many times)")
    layout = graph_layout(batch)
    encoder = small(normalization=normalization, operators=("sym",), heads=0)
    features = encoder.draw(layout)
    expected = encoder.trajectory(batch, layout, features)[..., CHANNELS:]
    got = encoder.trajectory(batch, layout, factor * features)[..., CHANNELS:]
    torch.testing.assert_close(got, expected)


def test_bfloat16_parameters() -> None:
    batch = batch_of("path", "complete")
    encoder = small(normalization="qr").bfloat16().eval()
    output = encoder(batch)
    assert output.dtype == torch.bfloat16
    assert bool(output.isfinite().all())


def test_weights_of_edges_reach_learned_operators() -> None:
    encoder = small(operators=()).eval()
    plain = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    weighted = plain.clone()
    weighted.edge_weight = torch.tensor([1.0, 1.0, 5.0, 5.0])
    assert largest_error(encoder(plain), encoder(weighted)) > 1e-4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"channels": 0}, "channels is 0"),
        ({"trajectories": True}, "trajectories is True"),
        ({"heads": -1}, "heads is -1"),
        ({"operators": ("rw",)}, "operator is 'rw'"),
        ({"operators": (), "heads": 0}, "give at least one operator"),
        ({"normalization": "rows"}, "normalization is 'rows'; it must be 'l2' or 'qr'"),
        ({"norm": "group"}, "norm is 'group'"),
    ],
)
def test_settings(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small(**arguments)


def test_widths() -> None:
    encoder = small(operators=("sym", "walk"), heads=3, trajectories=2)
    assert encoder.embedding.channel_list[0] == CHANNELS * (1 + 5 * STEPS)
    assert all(a == b == 8 for a, b in pairwise(encoder.embedding.channel_list[1:]))


@pytest.mark.parametrize("operators", [None, "sym", 5, {"sym"}])
def test_operators_are_a_list(operators: object) -> None:
    with pytest.raises(
        ValueError, match=r"^operators is .*; give a tuple, such as \('sym-loops',\)"
    ):
        RandomFeaturePropagation(8, operators=operators)
