"""`GraphPredictor` under a Lightning trainer, without the command line."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import ClassVar

import pytest
import torch
from lightning.pytorch import seed_everything
from torch.utils.data import DataLoader as TorchLoader
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from training_graphs import FEATURES, REGRESSION, cycles, network, quiet_trainer

from graphpe.data import GraphDataModule, InMemorySource
from graphpe.fields import Field
from graphpe.nn import GINE, NodeEncoder, RandomFeaturePropagation
from graphpe.tasks import Task, TaskLevel
from graphpe.training import BestCheckpoint, GraphPredictor
from graphpe.transforms import AddRandomWalkPE

ENCODED = AddRandomWalkPE(4)


def _data_module(encodings: list | None = None, batch_size: int = 8) -> GraphDataModule:
    source = InMemorySource(cycles(24), cycles(9, seed=1), cycles(7, seed=2))
    return GraphDataModule(source, encodings, batch_size=batch_size, features=FEATURES)


def test_own_graphs_train_with_own_loaders_and_no_configuration(tmp_path: Path) -> None:
    """GraphGPS#3, #16, #31, #33: how do I use this on my own data without the global configuration?"""
    predictor = GraphPredictor(network(), REGRESSION, lr=0.02)
    before = _rmse(predictor, cycles(16, seed=1))
    trainer = quiet_trainer(tmp_path, max_epochs=15)
    loader = DataLoader(cycles(32), batch_size=8, shuffle=True)
    valid = DataLoader(cycles(16, seed=1), batch_size=8)
    trainer.fit(predictor, loader, valid)
    wanted = _rmse(predictor, cycles(16, seed=1))
    assert trainer.callback_metrics["valid/rmse"].item() == pytest.approx(wanted, rel=1e-5)
    assert wanted < before / 2


@torch.no_grad()
def _rmse(predictor: GraphPredictor, graphs: list[Data]) -> float:
    predictor.eval()
    errors = [float(predictor(graph) - graph.y) for graph in graphs]
    predictor.train()
    return math.sqrt(sum(error**2 for error in errors) / len(errors))


def test_training_is_reproducible_to_the_bit(tmp_path: Path) -> None:
    weights = []
    for _ in range(2):
        seed_everything(3, verbose=False)
        encoder = NodeEncoder(4, 8)
        predictor = GraphPredictor(network(encoders=[encoder]), REGRESSION)
        quiet_trainer(tmp_path).fit(predictor, _data_module([ENCODED]))
        weights.append(torch.cat([p.flatten() for p in predictor.parameters()]))
    assert torch.equal(*weights)


def test_a_resumed_training_draws_what_it_would_have_drawn(tmp_path: Path) -> None:
    """Dropout, random features and the order of graphs."""

    def train(epochs: int, start: Path | None = None) -> torch.Tensor:
        seed_everything(3, verbose=False)
        encoder = RandomFeaturePropagation(8, channels=2, steps=1, hidden_channels=4)
        model = GINE(FEATURES, 1, 8, 1, norm="layer", dropout=0.5, positional_encoders=[encoder])
        predictor = GraphPredictor(model, REGRESSION, schedule="constant")
        trainer = quiet_trainer(tmp_path, max_epochs=epochs)
        trainer.fit(predictor, _data_module(), ckpt_path=start)
        trainer.save_checkpoint(tmp_path / f"{epochs}.ckpt")
        return torch.cat([p.flatten() for p in predictor.parameters()])

    whole = train(3)
    train(1)
    assert torch.equal(train(3, tmp_path / "1.ckpt"), whole)


def test_a_missing_encoding_stops_the_training_before_it_starts(tmp_path: Path) -> None:
    """toenshoff/LRGB#2: a configuration silently lacked its encoding and lost half the score."""
    predictor = GraphPredictor(network(encoders=[NodeEncoder(4, 8)]), REGRESSION)
    with pytest.raises(ValueError, match=r"'random_walk_pe'.*AddRandomWalkPE"):
        quiet_trainer(tmp_path).fit(predictor, _data_module())


def test_encodings_that_no_encoder_reads_are_reported(tmp_path: Path) -> None:
    """toenshoff/LRGB#2, the other way round: the encoding is there and the network ignores it."""
    predictor = GraphPredictor(network(), REGRESSION)
    with pytest.warns(UserWarning, match=r"carry the fields \['random_walk_pe'\].*reads none"):
        quiet_trainer(tmp_path, fast_dev_run=True).fit(predictor, _data_module([ENCODED]))


def test_fields_that_graphs_carry_need_no_declaration(tmp_path: Path) -> None:
    """Transforms of PyG, ours among them, write attributes that nobody declares."""
    source = InMemorySource(*([ENCODED(graph) for graph in cycles(9, seed=s)] for s in range(3)))
    predictor = GraphPredictor(network(encoders=[NodeEncoder(4, 8)]), REGRESSION)
    quiet_trainer(tmp_path, fast_dev_run=True).fit(predictor, GraphDataModule(source))
    predictor = GraphPredictor(network(encoders=[NodeEncoder(3, 8)]), REGRESSION)
    with pytest.raises(ValueError, match="'random_walk_pe' has 4 columns"):
        quiet_trainer(tmp_path, fast_dev_run=True).fit(predictor, GraphDataModule(source))


class _SourceWithField(InMemorySource):
    fields: ClassVar = {"node_depth": Field("node_depth", "node", 1)}


def test_fields_that_come_with_the_dataset_are_no_reason_for_a_warning(tmp_path: Path) -> None:
    graphs = cycles(24)
    for graph in graphs:
        graph.node_depth = torch.zeros(graph.num_nodes, 1)
    source = _SourceWithField(graphs[:16], graphs[16:20], graphs[20:])

    def warned(encodings: list | None) -> list[str]:
        data = GraphDataModule(source, encodings, batch_size=8, features=FEATURES)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            trainer = quiet_trainer(tmp_path, fast_dev_run=True)
            trainer.fit(GraphPredictor(network(), REGRESSION), data)
        return [str(w.message) for w in caught if "carry the fields" in str(w.message)]

    assert warned(None) == []
    (message,) = warned([ENCODED])
    assert "['random_walk_pe']" in message


LONE_NODE = Data(
    x=torch.zeros(1, 1, dtype=torch.long),
    edge_index=torch.empty(2, 0, dtype=torch.long),
    y=torch.zeros(1, 1),
)


@pytest.mark.parametrize("last", [cycles(1)[0], LONE_NODE])
def test_a_last_batch_of_one_graph_trains(tmp_path: Path, last: Data) -> None:
    """pytorch_geometric#1408 and #829: batch normalisation fails when a batch is one graph."""
    predictor = GraphPredictor(network(norm="batch"), REGRESSION)
    loader = DataLoader([*cycles(8), last], batch_size=8)
    trainer = quiet_trainer(tmp_path, max_epochs=1)
    trainer.fit(predictor, loader, loader)
    assert trainer.global_step == 2
    assert math.isfinite(trainer.callback_metrics["train/loss"])


def test_a_checkpoint_is_plain_values_and_gives_the_same_predictions(tmp_path: Path) -> None:
    """B40: torch >= 2.6 loads a file only if there are no pickled classes in it."""
    predictor = GraphPredictor(network(), REGRESSION, lr=0.01)
    best = BestCheckpoint(REGRESSION)
    trainer = quiet_trainer(tmp_path, enable_checkpointing=True, callbacks=[best])
    data = _data_module()
    trainer.fit(predictor, data)
    torch.load(best.best_model_path, weights_only=True)
    again = GraphPredictor.load_from_checkpoint(
        best.best_model_path, network=network(), task=REGRESSION
    )
    assert again.hparams.lr == 0.01
    assert again.hparams.optimizer == "adamw"
    valid = trainer.validate(again, data, verbose=False)[0]["valid/rmse"]
    assert valid == best.best_model_score.item()


def test_weight_decay_leaves_out_biases(tmp_path: Path) -> None:
    predictor = GraphPredictor(
        network(), REGRESSION, optimizer="adam", weight_decay=0.5, schedule="constant"
    )
    quiet_trainer(tmp_path, fast_dev_run=True).fit(predictor, _data_module())
    decayed, biases = predictor.optimizers().param_groups
    assert decayed["weight_decay"] == 0.5
    assert biases["weight_decay"] == 0
    expected = {id(p) for name, p in predictor.named_parameters() if name.endswith("bias")}
    assert {id(p) for p in biases["params"]} == expected
    assert len(decayed["params"]) + len(expected) == len(list(predictor.parameters()))


def test_frozen_parameters_are_not_given_to_the_optimiser(tmp_path: Path) -> None:
    predictor = GraphPredictor(network(), REGRESSION)
    for parameter in predictor.network.layers.parameters():
        parameter.requires_grad_(False)
    quiet_trainer(tmp_path, fast_dev_run=True).fit(predictor, _data_module())
    given = [p for group in predictor.optimizers().param_groups for p in group["params"]]
    assert all(p.requires_grad for p in given)


def test_plateau_halves_the_rate_and_stops_below_the_smallest(tmp_path: Path) -> None:
    """spec 3.3: factor 0.5 after `patience` epochs without improvement; stop when lr < min_lr."""
    predictor = GraphPredictor(
        network(), REGRESSION, lr=1e-3, schedule="plateau", plateau_patience=1, min_lr=2e-4
    )
    for parameter in predictor.network.parameters():
        parameter.register_hook(torch.zeros_like)  # nothing improves
    trainer = quiet_trainer(tmp_path, max_epochs=50)
    trainer.fit(predictor, _data_module())
    # The first epoch sets the best value; then each two epochs halve: 1e-3, 5e-4, 2.5e-4, 1.25e-4 < 2e-4.
    assert trainer.current_epoch == 1 + 3 * 2
    assert predictor.optimizers().param_groups[0]["lr"] == pytest.approx(1.25e-4)


def test_step_schedules_span_all_steps_of_the_training(tmp_path: Path) -> None:
    predictor = GraphPredictor(network(), REGRESSION, schedule="linear", warmup_steps=2)
    trainer = quiet_trainer(tmp_path, max_epochs=4)
    trainer.fit(predictor, _data_module())
    assert trainer.global_step == 12
    assert predictor.optimizers().param_groups[0]["lr"] == pytest.approx(0.0)


def test_ranking_metrics_survive_the_sanity_check_and_complain_in_earnest(tmp_path: Path) -> None:
    task = Task(kind="binary", metric="rocauc")
    graphs = cycles(12)
    for graph in graphs:
        graph.y = torch.ones(1, 1)
    loader = DataLoader(graphs, batch_size=4)
    trainer = quiet_trainer(tmp_path, num_sanity_val_steps=1)
    with pytest.raises(ValueError, match="at least one target with both classes"):
        trainer.fit(GraphPredictor(network(task), task), loader, loader)
    assert trainer.global_step == 3  # the sanity check passed, the first validation did not


def test_a_further_metric_that_cannot_be_scored_does_not_end_the_training(tmp_path: Path) -> None:
    task = Task(kind="binary", metric="accuracy", more_metrics=("rocauc",))
    graphs = cycles(12)
    for graph in graphs:
        graph.y = torch.ones(1, 1)
    loader = DataLoader(graphs, batch_size=4)
    trainer = quiet_trainer(tmp_path, max_epochs=3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        trainer.fit(GraphPredictor(network(task), task), loader, loader)
    assert trainer.global_step == 9
    assert math.isnan(trainer.callback_metrics["valid/rocauc"])
    assert math.isfinite(trainer.callback_metrics["valid/accuracy"])
    (message,) = [str(w.message) for w in caught if "rocauc" in str(w.message)]
    assert message.startswith("valid/rocauc is left out: metric 'rocauc' needs at least one target")


_NODES = Task(kind="regression", metric="mae", level="node")


@pytest.mark.parametrize("method", ["validate", "test", "predict"])
@pytest.mark.parametrize(
    ("task", "out_channels"),
    [
        (_NODES, 2),
        (REGRESSION, 2),
        (Task(kind="multiclass", metric="accuracy", num_classes=3), 1),
        (Task(kind="subtokens", metric="f1", num_targets=2, num_classes=4), 4),
    ],
)
def test_outputs_of_another_shape_are_refused_in_evaluation_as_in_training(
    tmp_path: Path, method: str, task: Task, out_channels: int
) -> None:
    wrong = GINE(
        FEATURES, out_channels, hidden_channels=8, num_layers=1, norm="layer", level=task.level
    )
    graphs = cycles(4)
    for graph in graphs:
        graph.y = torch.zeros(graph.num_nodes if task.level == "node" else 1, 1)
    run = getattr(quiet_trainer(tmp_path), method)
    with pytest.raises(ValueError, match="the network returned shape") as error:
        run(GraphPredictor(wrong, task), DataLoader(graphs, batch_size=4))
    wanted = (
        f"set the network's out_channels to {task.out_channels} and its level to {task.level!r}"
    )
    assert wanted in str(error.value)


@pytest.mark.parametrize(("task", "level"), [(_NODES, "graph"), (REGRESSION, "pair")])
def test_a_network_of_another_level_is_refused(task: Task, level: TaskLevel) -> None:
    other = GINE(FEATURES, hidden_channels=8, num_layers=1, level=level)
    message = f"the network has level '{level}', but task.level is '{task.level}'; set the network"
    with pytest.raises(ValueError, match=message):
        GraphPredictor(other, task)


def test_a_loader_of_single_graphs_trains_and_evaluates(tmp_path: Path) -> None:
    """The networks take a graph that is no batch, and so does the training."""
    predictor = GraphPredictor(network(), REGRESSION)
    loader = TorchLoader(cycles(5), batch_size=None)
    trainer = quiet_trainer(tmp_path, max_epochs=1)
    trainer.fit(predictor, loader, loader)
    assert trainer.global_step == 5
    assert predictor.evaluation().numbers.tolist() == [0, 1, 2, 3, 4]


def test_unlabelled_graphs_are_predicted(tmp_path: Path) -> None:
    task = Task(kind="multiclass", metric="accuracy", num_classes=3)
    graphs = cycles(5)
    for graph in graphs:
        del graph.y
    predictor = GraphPredictor(network(task), task)
    batches = quiet_trainer(tmp_path).predict(predictor, DataLoader(graphs, batch_size=2))
    assert torch.cat([batch["graph"] for batch in batches]).tolist() == [0, 1, 2, 3, 4]
    probabilities = torch.cat([batch["prediction"] for batch in batches])
    assert torch.allclose(probabilities.sum(dim=1), torch.ones(5))


def test_a_missing_target_is_named(tmp_path: Path) -> None:
    graphs = cycles(5)
    for graph in graphs:
        del graph.y
    loader = DataLoader(graphs, batch_size=2)
    with pytest.raises(ValueError, match="carry no tensor `y`"):
        quiet_trainer(tmp_path).fit(GraphPredictor(network(), REGRESSION), loader, loader)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lr": 0.0}, "lr is 0; it must be positive"),
        ({"weight_decay": -1.0}, "weight_decay is -1"),
        ({"warmup_steps": -1}, "warmup_steps is -1"),
        ({"schedule": "plateau", "warmup_steps": 5}, "'plateau' has no warm-up"),
        ({"plateau_factor": 1.0}, "plateau_factor is 1; it must lie between 0 and 1"),
        ({"betas": (0.9, 1.0)}, r"betas are \(0.9, 1.0\); they must lie between 0 and 1"),
        ({"schedule": "cosin"}, "schedule is 'cosin'"),
        ({"optimizer": "sgd"}, "optimizer is 'sgd'"),
    ],
)
def test_bad_settings_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GraphPredictor(network(), REGRESSION, **settings)
