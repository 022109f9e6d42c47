from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
import torch
from pretraining_graphs import sparse_graphs
from rich.console import Console
from safetensors.torch import load_file
from sklearn.metrics import r2_score
from torch_geometric.data import Batch, Data

from graphpe.data import GraphDataModule, InMemorySource
from graphpe.nn import GINE, PretrainedEncoder, StructuralEncoder
from graphpe.nn.encoders.pretrained import load_encoder
from graphpe.tasks import Features
from graphpe.training import Pretrained, pretrain
from graphpe.training.pretraining_module import _ColumnErrors, prediction_loss
from graphpe.transforms import AddLaplacianEigenvectorPE, AddRandomWalkPE, AddSpectralDensitySE

QUIET = {"progress": False, "accelerator": "cpu"}
ENCODINGS = [AddRandomWalkPE(6), AddSpectralDensitySE(4)]


def small(seed: int = 0) -> StructuralEncoder:
    torch.manual_seed(seed)
    return StructuralEncoder(16, 3, 8)


def short(seed: int = 0, **settings: object) -> Pretrained:
    settings = {"epochs": 2, "batch_size": 16, **settings}
    return pretrain(sparse_graphs(40), ENCODINGS, small(), seed=seed, **settings, **QUIET)


def test_predicts_graphs_that_it_has_not_seen_better_than_the_mean() -> None:
    source = InMemorySource(sparse_graphs(200), sparse_graphs(60, seed=1), sparse_graphs(1))
    encodings = [AddRandomWalkPE(6), AddLaplacianEigenvectorPE(3)]
    with pytest.warns(UserWarning, match="absolute values"):
        trained = pretrain(source, encodings, small(), epochs=25, batch_size=32, **QUIET)
    assert list(trained.r2) == [
        "random_walk_pe",
        "laplacian_eigenvector_pe",
        "laplacian_eigenvalue",
    ]
    assert trained.r2["random_walk_pe"] > 0.5
    assert trained.r2["laplacian_eigenvector_pe"] > 0.05
    assert trained.r2["laplacian_eigenvalue"] > 0.7
    assert not trained.encoder.training


def test_an_encoder_that_has_learned_helps_a_linear_map_on_other_graphs() -> None:
    def r2_of_a_linear_map(encoder: StructuralEncoder) -> float:
        parts = []
        for seed in (2, 3):
            batch = Batch.from_data_list(sparse_graphs(80, seed=seed))
            target = AddRandomWalkPE(6)(batch.clone()).random_walk_pe[:, 1:]
            hidden = encoder.eval()(batch).detach()
            parts.append((torch.cat([hidden, torch.ones(len(hidden), 1)], dim=1), target))
        (train, y_train), (test, y_test) = parts
        solution = torch.linalg.lstsq(train.double(), y_train.double()).solution
        error = (test.double() @ solution - y_test).square().sum(0)
        return float((1 - error / (y_test - y_test.mean(0)).square().sum(0)).mean())

    source = InMemorySource(sparse_graphs(200), sparse_graphs(20, seed=1), sparse_graphs(1))
    trained = pretrain(source, [AddRandomWalkPE(6)], small(), epochs=30, batch_size=32, **QUIET)
    assert r2_of_a_linear_map(trained.encoder) > r2_of_a_linear_map(small()) + 0.1


def test_the_seed_alone_determines_the_file(tmp_path: Path) -> None:
    graphs = sparse_graphs(20)
    source = InMemorySource(graphs[:16], graphs[16:], graphs[:1])
    contents = []
    for number, seed in enumerate((0, 0, 1)):
        torch.rand(number)  # other numbers in the default generator
        state = torch.get_rng_state()
        path = tmp_path / str(number)
        trained = pretrain(source, ENCODINGS, epochs=1, batch_size=16, seed=seed, **QUIET)
        assert torch.equal(torch.get_rng_state(), state)
        trained.save(path)
        contents.append(load_file(path)["input.weight"])
        contents.append(path.read_bytes())
    assert contents[1] == contents[3]
    assert not torch.equal(contents[0], contents[4])


def test_what_is_saved_says_where_it_comes_from(tmp_path: Path) -> None:
    trained = short()
    trained.save(tmp_path / "encoder.safetensors")
    encoder, description = load_encoder(tmp_path / "encoder.safetensors")
    for name, value in encoder.state_dict().items():
        assert torch.equal(value, trained.encoder.state_dict()[name])
    assert description == trained.description
    assert description["num_graphs"] == {"train": 36, "valid": 4}
    assert description["training"]["epochs"] == 2
    walks, density = description["targets"]
    assert walks["encoding"] == "AddRandomWalkPE(walk_length=6)"
    assert (walks["field"], walks["level"], walks["absolute"]) == ("random_walk_pe", "node", False)
    assert len(walks["mean"]) == len(walks["std"]) == 6
    assert walks["r2"] == trained.r2["random_walk_pe"]
    assert density["level"] == "graph"


def test_a_network_takes_it(tmp_path: Path) -> None:
    short().save(tmp_path / "encoder.safetensors")
    encoder = PretrainedEncoder(tmp_path / "encoder.safetensors", 8)
    graphs = [Data(x=torch.ones(g.num_nodes, 1), edge_index=g.edge_index) for g in sparse_graphs(3)]
    network = GINE(Features(node_continuous=1), 1, hidden_channels=8, positional_encoders=[encoder])
    network.check_fields({})
    assert network(Batch.from_data_list(graphs)).shape == (3, 1)


class _EncodedInBatches(InMemorySource):
    encodes_batches = True


def test_graphs_may_be_encoded_in_batches() -> None:
    parts = sparse_graphs(24), sparse_graphs(8, seed=1), sparse_graphs(1)
    ahead, in_batches = (
        pretrain(source(*parts), ENCODINGS, small(), epochs=1, batch_size=8, **QUIET)
        for source in (InMemorySource, _EncodedInBatches)
    )
    for one, other in zip(
        ahead.description["targets"], in_batches.description["targets"], strict=True
    ):
        assert one["mean"] == pytest.approx(other["mean"])
        assert one["std"] == pytest.approx(other["std"])


def test_the_table_shows_each_target() -> None:
    with pytest.warns(UserWarning, match="absolute values"):
        trained = pretrain(
            sparse_graphs(20), [AddLaplacianEigenvectorPE(2)], small(), epochs=1, **QUIET
        )
    console = Console(width=100, record=True, file=io.StringIO())
    trained.show(console)
    text = console.export_text()
    for shown in ("|laplacian_eigenvector_pe|", "laplacian_eigenvalue", "node", "graph", "R²"):
        assert shown in text


def test_graphs_of_all_sorts() -> None:
    empty = torch.empty(2, 0, dtype=torch.long)
    sorts = [Data(edge_index=empty, num_nodes=n) for n in (1, 2, 5)]
    loop = Data(edge_index=torch.tensor([[0, 0, 0, 1], [0, 1, 1, 0]]), num_nodes=2)
    graphs = [*sparse_graphs(12), *sorts, loop]
    trained = pretrain(graphs, ENCODINGS, small(), epochs=1, batch_size=1, **QUIET)
    assert all(bool(value.isfinite().all()) for value in trained.encoder.state_dict().values())


def test_takes_no_part_of_features_and_targets() -> None:
    plain = sparse_graphs(20)
    labelled = [
        Data(x=torch.randn(g.num_nodes, 2), edge_index=g.edge_index, y=torch.ones(1)) for g in plain
    ]
    settings = {"epochs": 1, "batch_size": 16, **QUIET}
    states = [
        pretrain(graphs, ENCODINGS, small(), **settings).encoder.state_dict()
        for graphs in (plain, labelled)
    ]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": 0}, "epochs is 0"),
        ({"batch_size": -1}, "batch_size is -1"),
        ({"lr": 0.0}, "lr is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"valid_fraction": 1.0}, "valid_fraction is 1"),
        ({"valid_fraction": 0.99}, "valid_fraction is 0.99, which leaves none of the 40 graphs"),
        ({"lr": 1e30}, "training diverged"),
    ],
)
def test_refuses_bad_settings(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        short(**settings)


@pytest.mark.parametrize("accelerator", ["foo", "tpu", 3, None])
def test_refuses_accelerators_that_are_not_there(accelerator: object) -> None:
    with pytest.raises(ValueError, match=r"^accelerator is .*; use 'cpu' or 'auto'$"):
        pretrain(sparse_graphs(3), ENCODINGS, accelerator=accelerator, progress=False)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_refuses_a_gpu_that_is_not_there() -> None:
    with pytest.raises(ValueError, match=r"^accelerator is 'gpu', which"):
        pretrain(sparse_graphs(3), ENCODINGS, accelerator="gpu", progress=False)


def test_refuses_other_kinds_of_progress() -> None:
    with pytest.raises(ValueError, match="progress is 'no'; it must be True or False"):
        pretrain(sparse_graphs(3), ENCODINGS, accelerator="cpu", progress="no")


def test_refuses_encoders_that_cannot_be_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        GraphDataModule, "setup", lambda *_: pytest.fail("encoded before the check")
    )
    for dtype in (torch.float64, torch.bfloat16):
        with pytest.raises(ValueError, match=rf"encoder is in {dtype}.*give encoder\.float\(\)"):
            pretrain(sparse_graphs(3), ENCODINGS, small().to(dtype), **QUIET)
    with pytest.raises(ValueError, match="all of encoder is frozen"):
        pretrain(sparse_graphs(3), ENCODINGS, small().requires_grad_(False), **QUIET)


def test_the_default_dtype_does_not_matter() -> None:
    graphs = sparse_graphs(12)
    torch.set_default_dtype(torch.float64)
    try:
        trained = pretrain(graphs, ENCODINGS, epochs=1, **QUIET)
    finally:
        torch.set_default_dtype(torch.float32)
    assert {parameter.dtype for parameter in trained.encoder.parameters()} == {torch.float32}


def test_numbers_of_numpy(tmp_path: Path) -> None:
    settings = {"epochs": np.int64(1), "batch_size": np.int64(8), "seed": np.int64(3)}
    trained = pretrain(
        sparse_graphs(12), ENCODINGS, small(), lr=np.float32(0.01), **settings, **QUIET
    )
    trained.save(tmp_path / "encoder")
    assert load_encoder(tmp_path / "encoder")[1]["training"]["seed"] == 3


def test_refuses_what_is_no_data() -> None:
    with pytest.raises(TypeError, match="data is a Data; it must be a GraphSource, a PyG dataset"):
        pretrain(sparse_graphs(1)[0], ENCODINGS, **QUIET)
    graphs = sparse_graphs(3)
    module = GraphDataModule(InMemorySource(graphs, graphs, graphs))
    with pytest.raises(
        TypeError, match=r"data is a GraphDataModule; give its source, data\.dataset"
    ):
        pretrain(module, ENCODINGS, **QUIET)
    with pytest.raises(ValueError, match="data has 1 graphs; give at least 2"):
        pretrain(graphs[:1], ENCODINGS, **QUIET)
    with pytest.raises(TypeError, match="encoder is a Linear; it must be a StructuralEncoder"):
        pretrain(graphs, ENCODINGS, torch.nn.Linear(2, 2), **QUIET)
    with pytest.raises(TypeError, match="encodings is a AddRandomWalkPE"):
        pretrain(graphs, AddRandomWalkPE(4), **QUIET)


def test_refuses_targets_that_are_all_constant() -> None:
    with pytest.raises(ValueError, match="all targets are constant"):
        pretrain([sparse_graphs(1)[0]] * 4, [AddSpectralDensitySE(4)], small(), **QUIET)


def test_the_loss_is_the_formula_over_what_is_valid() -> None:
    output, target = torch.randn(5, 3), torch.randn(5, 3)
    valid = torch.tensor([[1, 1, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [1, 1, 0]]).bool()
    cosines = [
        torch.cosine_similarity(output[valid[:, c], c], target[valid[:, c], c], dim=0)
        for c in (0, 1)  # nothing is valid in the last column
    ]
    expected = (output - target).abs()[valid].mean() + 1 - sum(cosines) / 2
    assert float(prediction_loss(output, target, valid)) == pytest.approx(float(expected), rel=1e-5)
    other = torch.where(valid, output, 1e6)
    assert float(prediction_loss(other, target, valid)) == pytest.approx(float(expected), rel=1e-5)


def test_the_loss_has_finite_gradients_everywhere() -> None:
    for rows, is_valid in ((4, True), (4, False), (0, True)):
        output = torch.zeros(rows, 2, requires_grad=True)
        target = torch.randn(rows, 2)
        prediction_loss(output, target, torch.full((rows, 2), is_valid)).backward()
        assert bool(output.grad.isfinite().all())
    perfect = torch.randn(4, 2)
    assert float(prediction_loss(perfect, perfect, torch.ones(4, 2).bool())) < 1e-6


def test_r2_is_that_of_scikit_learn_over_columns_that_vary() -> None:
    output, target = torch.randn(20, 3), torch.randn(20, 3)
    target[:, 2] = 4
    valid = torch.rand(20, 3) < 0.7
    errors = _ColumnErrors(3)
    for rows in range(0, 20, 6):
        part = slice(rows, rows + 6)
        errors.add(output[part], target[part], valid[part])
    expected = [r2_score(target[valid[:, c], c], output[valid[:, c], c]) for c in (0, 1)]
    assert errors.r2() == pytest.approx(sum(expected) / 2, rel=1e-5)
    assert _ColumnErrors(2).r2() != _ColumnErrors(2).r2()  # NaN
