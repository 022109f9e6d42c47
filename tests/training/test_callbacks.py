"""Checkpoints, predictions, progress and the summary of a run."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from lightning.pytorch import Trainer
from lightning.pytorch.callbacks import Callback
from rich.console import Console
from torch_geometric.loader import DataLoader
from training_graphs import REGRESSION, cycles, network, quiet_trainer

from graphpe.data import (
    Baseline,
    GraphDataModule,
    GraphSource,
    InMemorySource,
    NodeSource,
    SplitGraphs,
)
from graphpe.tasks import Task
from graphpe.training import (
    BestCheckpoint,
    GraphPredictor,
    LastCheckpoint,
    PredictionWriter,
    RunSummary,
    TrainingProgress,
)
from graphpe.training.callbacks import write_predictions
from graphpe.training.collector import Evaluation
from graphpe.training.progress import loaded_line
from graphpe.transforms import AddRandomWalkPE


def _loaders() -> tuple[DataLoader, DataLoader]:
    return DataLoader(cycles(16), batch_size=8), DataLoader(cycles(8, seed=1), batch_size=8)


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def test_predictions_give_float32_back_exactly_and_leave_missing_targets_empty(
    tmp_path: Path,
) -> None:
    task = Task(kind="regression", metric="rmse", num_targets=2)
    output = torch.randn(3, 2)
    target = torch.tensor([[1.0, math.nan], [0.1, 2.0], [3.0, 4.0]])
    evaluation = Evaluation(torch.tensor([[4], [7], [2**30]]), output.double(), target.double())
    path = tmp_path / "new" / "predictions.csv"
    write_predictions(path, task, evaluation, with_targets=True)
    rows = _rows(path)
    assert list(rows[0]) == ["graph", "target_0", "target_1", "prediction_0", "prediction_1"]
    assert [row["graph"] for row in rows] == ["4", "7", str(2**30)]
    read = torch.tensor([[float(row[f"prediction_{i}"]) for i in (0, 1)] for row in rows])
    assert torch.equal(read, output)
    assert rows[0]["target_1"] == ""
    assert float(rows[1]["target_0"]) == pytest.approx(0.1)
    assert [file.name for file in path.parent.iterdir()] == ["predictions.csv"]


def test_classification_predictions_are_probabilities(tmp_path: Path) -> None:
    task = Task(kind="multiclass", metric="accuracy", num_classes=3)
    evaluation = Evaluation(torch.tensor([[0]]), torch.zeros(1, 3).double(), torch.ones(1, 1))
    write_predictions(tmp_path / "p.csv", task, evaluation, with_targets=False)
    assert _rows(tmp_path / "p.csv") == [
        {"graph": "0", **{f"prediction_{i}": "0.333333333" for i in range(3)}}
    ]


def test_a_test_run_writes_what_the_network_says(tmp_path: Path) -> None:
    predictor = GraphPredictor(network(), REGRESSION)
    graphs = cycles(11)
    trainer = quiet_trainer(tmp_path, callbacks=[PredictionWriter(tmp_path / "p.csv")])
    trainer.test(predictor, DataLoader(graphs, batch_size=4), verbose=False)
    with torch.no_grad():
        for number, row in enumerate(_rows(tmp_path / "p.csv")):
            assert int(row["graph"]) == number
            assert float(row["target_0"]) == pytest.approx(graphs[number].y.item())
            assert float(row["prediction_0"]) == pytest.approx(
                predictor(graphs[number]).item(), abs=1e-6
            )


class _StopAfter(Callback):
    def __init__(self, epochs: int) -> None:
        self.epochs = epochs

    def on_train_epoch_end(self, trainer: object, pl_module: object) -> None:
        trainer.should_stop = trainer.current_epoch + 1 == self.epochs


def test_a_resumed_run_ends_like_an_uninterrupted_one(tmp_path: Path) -> None:
    """Also where its folder is another one: the best value before the interruption counts."""

    def run(folder: str, *callbacks: Callback, checkpoint: str | None = None) -> tuple:
        torch.manual_seed(0)
        predictor = GraphPredictor(network(), REGRESSION, lr=0.05)
        best, last = BestCheckpoint(REGRESSION), LastCheckpoint()
        trainer = quiet_trainer(
            tmp_path / folder,
            max_epochs=6,
            enable_checkpointing=True,
            callbacks=[best, last, *callbacks],
        )
        trainer.fit(predictor, *_loaders(), ckpt_path=checkpoint)
        weights = torch.cat([p.detach().flatten() for p in predictor.parameters()])
        return weights, best, last

    whole, best_of_whole, _ = run("whole")
    _, best_of_part, last_of_part = run("part", _StopAfter(3))
    resumed, best_of_resumed, _ = run("resumed", checkpoint=last_of_part.best_model_path)
    assert torch.equal(resumed, whole)
    assert best_of_resumed.best_model_score == best_of_whole.best_model_score
    assert Path(best_of_part.best_model_path).is_file()
    assert Path(best_of_resumed.best_model_path).is_file()


def test_a_resumed_run_does_not_take_a_worse_epoch_for_the_best(tmp_path: Path) -> None:
    checkpoint = BestCheckpoint(REGRESSION)
    checkpoint.dirpath = str(tmp_path / "new")
    state = BestCheckpoint(REGRESSION).state_dict()
    state |= {"dirpath": str(tmp_path / "old"), "best_model_score": torch.tensor(0.25)}
    checkpoint.load_state_dict(state)
    assert checkpoint.best_model_score == 0.25


def test_the_best_checkpoint_follows_the_direction_of_the_metric() -> None:
    assert BestCheckpoint(REGRESSION).mode == "min"
    ranking = BestCheckpoint(Task(kind="binary", metric="rocauc"))
    assert (ranking.mode, ranking.monitor) == ("max", "valid/rocauc")


def _fit_with(console: Console | None, tmp_path: Path) -> None:
    trainer = quiet_trainer(
        tmp_path, max_epochs=3, enable_progress_bar=True, callbacks=[TrainingProgress(console)]
    )
    trainer.fit(GraphPredictor(network(), REGRESSION), *_loaders())


def test_without_a_terminal_progress_is_a_few_plain_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _fit_with(None, tmp_path)
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("epoch")]
    assert len(lines) == 2  # the first and the last, since the three take less than ten seconds
    assert lines[0].startswith("epoch 1/3: train/loss ")
    assert "valid/rmse" in lines[1]
    assert "(best " in lines[1]


class _EncodedInBatches(InMemorySource):
    encodes_batches = True


class _OneGraph(NodeSource):
    def load(self) -> SplitGraphs:
        (graph,) = cycles(1)
        graph.y = graph.x.float()
        parts = {"train": [0], "valid": [1], "test": [2]}
        return SplitGraphs(
            [graph], {part: torch.tensor(numbers) for part, numbers in parts.items()}
        )


@pytest.mark.parametrize(
    ("source", "encodings", "wanted"),
    [
        (
            InMemorySource(cycles(6), cycles(2), cycles(1)),
            [],
            r"loaded 9 graphs, training on 6",
        ),
        (
            InMemorySource(cycles(6), cycles(2), cycles(1)),
            [AddRandomWalkPE(4)],
            r"encoded 9 graphs in \d\.\d s, training on 6",
        ),
        (
            _EncodedInBatches(cycles(6), cycles(2), cycles(1)),
            [AddRandomWalkPE(4)],
            r"loaded 9 graphs, which are encoded in batches, training on 6",
        ),
        (_OneGraph(), [], r"loaded 1 graph, training on 1"),
    ],
)
def test_the_first_line_says_what_was_done_with_the_graphs(
    source: GraphSource, encodings: list, wanted: str
) -> None:
    data = GraphDataModule(source, encodings)
    data.setup()
    assert re.fullmatch(wanted, loaded_line(data))


def test_on_a_terminal_progress_is_one_bar(tmp_path: Path) -> None:
    screen = io.StringIO()
    _fit_with(Console(file=screen, force_terminal=True, width=120), tmp_path)
    assert "epoch 3/3" in screen.getvalue()
    assert "valid/rmse" in screen.getvalue()


def test_on_a_narrow_terminal_the_times_are_whole(tmp_path: Path) -> None:
    screen = io.StringIO()
    _fit_with(Console(file=screen, force_terminal=True, width=60), tmp_path)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue())
    assert re.search(
        r"epoch 3/3 .*valid/rmse \d\.\d{4} \(best \d\.\d{4}\) \d:\d\d:\d\d \d:\d\d:\d\d", text
    )


def test_evaluations_have_a_bar_of_their_own(tmp_path: Path) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=120)
    trainer = quiet_trainer(
        tmp_path, enable_progress_bar=True, callbacks=[TrainingProgress(console)]
    )
    predictor, (_, loader) = GraphPredictor(network(), REGRESSION), _loaders()
    trainer.validate(predictor, loader, verbose=False)
    trainer.test(predictor, loader, verbose=False)
    trainer.predict(predictor, loader)
    for word in ("validating", "testing", "predicting"):
        assert word in screen.getvalue()


BASELINES = (
    Baseline(model="the same without encoding", mean=1.5, std=0.1, reference="experiments/results"),
    Baseline(model="GIN", mean=1.173, std=None, reference="Hu et al."),
    Baseline(model="SPE", mean=0.0693, std=0.004, reference="Huang et al."),
    Baseline(model="GSN", mean=0.797, std=0.0129, reference="Bouritsas et al."),
)
SUMMARY = RunSummary(
    name="quickstart",
    metric="rmse",
    test=0.9871234,
    valid=0.9,
    best_epoch=12,
    num_parameters=1234567,
    encoding_seconds=0.31,
    training_seconds=83.0,
    seed=0,
    folder="runs/quickstart/version_0",
    checkpoint="runs/quickstart/version_0/checkpoints/best.ckpt",
    last_checkpoint="runs/quickstart/version_0/checkpoints/last.ckpt",
    predictions="runs/quickstart/version_0/predictions.csv",
    baselines=BASELINES,
)


def test_the_summary_shows_the_result_beside_the_baselines_and_where_things_are() -> None:
    screen = io.StringIO()
    SUMMARY.show(Console(file=screen, width=100))
    text = screen.getvalue()
    for wanted in (
        "0.9871",
        "1.500 ± 0.100",
        " 1.173 ",
        " 0.0693 ± 0.0040 ",
        " 0.7970 ± 0.0129 ",
        "0.9000 (epoch 12)",
        "1,234,567",
        "0.3 s",
        "1 min 23 s",
        SUMMARY.checkpoint,
        SUMMARY.predictions,
    ):
        assert wanted in text
    assert re.search(rf"^resume +{re.escape(SUMMARY.last_checkpoint)}$", text, re.MULTILINE)
    assert max(map(len, text.splitlines())) <= 100


def test_the_summary_is_kept_as_json(tmp_path: Path) -> None:
    SUMMARY.save(tmp_path / "summary.json")
    kept = json.loads((tmp_path / "summary.json").read_text())
    assert kept["test"] == 0.9871234
    assert kept["baselines"][0]["mean"] == 1.5
    assert [file.name for file in tmp_path.iterdir()] == ["summary.json"]


def test_a_metric_without_a_number_is_null_in_json_and_a_dash_in_the_table(tmp_path: Path) -> None:
    summary = replace(SUMMARY, more={"r2": math.nan, "mae": 0.5})
    summary.save(tmp_path / "summary.json")

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    kept = json.loads((tmp_path / "summary.json").read_text(), parse_constant=refuse)
    assert kept["more"] == {"r2": None, "mae": 0.5}
    screen = io.StringIO()
    summary.show(Console(file=screen, width=100))
    assert re.search(r"^test r2 +-$", screen.getvalue(), re.MULTILINE)


def test_with_more_epochs_a_resumed_run_has_the_rates_of_the_longer_schedule(
    tmp_path: Path,
) -> None:
    """The rates of the whole schedule from where it resumes, and not zero at first."""

    class Rates(Callback):
        def __init__(self) -> None:
            self.rates: list[float] = []
            self.logged: list[float] = []

        def on_train_batch_start(self, trainer: Trainer, *_: object) -> None:
            self.rates.append(trainer.optimizers[0].param_groups[0]["lr"])

        def on_train_epoch_end(self, trainer: Trainer, *_: object) -> None:
            self.logged.append(float(trainer.callback_metrics["lr"]))

    def rates(folder: str, max_epochs: int, checkpoint: str | None = None) -> tuple[Rates, str]:
        last, found = LastCheckpoint(), Rates()
        trainer = quiet_trainer(
            tmp_path / folder,
            max_epochs=max_epochs,
            enable_checkpointing=True,
            callbacks=[last, found],
        )
        predictor = GraphPredictor(network(), REGRESSION, lr=0.5, schedule="cosine")
        trainer.fit(predictor, *_loaders(), ckpt_path=checkpoint)
        return found, last.best_model_path

    whole, _ = rates("whole", 4)
    _, checkpoint = rates("part", 2)
    resumed, _ = rates("resumed", 4, checkpoint)
    assert len(whole.rates) == 8
    assert resumed.rates == pytest.approx(whole.rates[4:])
    assert resumed.logged == pytest.approx(whole.logged[2:])


def test_predictions_of_pairs_name_source_and_target(tmp_path: Path) -> None:
    task = Task(kind="regression", metric="mae", level="pair")
    places = torch.tensor([[3, 0, 1], [3, 1, 0]])
    evaluation = Evaluation(places, torch.tensor([[0.5], [2.0]]), torch.tensor([[1.0], [2.0]]))
    write_predictions(tmp_path / "p.csv", task, evaluation, with_targets=True)
    assert (tmp_path / "p.csv").read_text().split() == [
        "graph,source_node,target_node,target_0,prediction_0",
        "3,0,1,1,0.5",
        "3,1,0,2,2",
    ]
