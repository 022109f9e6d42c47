"""A training through the command line, from encoding to reloaded checkpoint."""

from __future__ import annotations

import csv
import json
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import yaml
from torch_geometric.loader import DataLoader

from graphpe import encode
from graphpe.cli import main
from graphpe.data import OGBGraphs
from graphpe.training import GraphPredictor
from graphpe.transforms import AddRandomWalkPE

WriteConfig = Callable[..., str]


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def _column(path: Path, name: str) -> torch.Tensor:
    return torch.tensor([float(row[name]) for row in _rows(path)])


def test_fit_trains_tests_and_leaves_everything_where_the_table_says(
    experiment: dict,
    write_config: WriteConfig,
    graphpe_process: Callable,
    tmp_path: Path,
    molecules: Path,
) -> None:
    finished = graphpe_process("fit", "--config", write_config(experiment))
    assert finished.returncode == 0, finished.stderr

    # Progress, and nothing that a user can't act on. Reading the graphs shows bars of its own, once.
    lines = [line for line in finished.stderr.splitlines() if not re.search(r"it/s|\d%\|", line)]
    first, *epochs = [line for line in lines if line.strip()]
    assert re.fullmatch(r"encoded 1,128 graphs in \d+\.\d s, training on 902", first)
    assert all(line.startswith("epoch ") for line in epochs), finished.stderr

    run = tmp_path / "runs" / "small" / "version_0"
    summary = json.loads((run / "summary.json").read_text())
    for shown in (
        f"{summary['test']:.4f}",
        "1.173 ± 0.057",
        f"{summary['valid']:.4f} (epoch {summary['best_epoch']})",
        "time for encoding",
        "time for training",
        str(run / "checkpoints" / "best.ckpt"),
        str(run / "checkpoints" / "last.ckpt"),
        str(run / "predictions.csv"),
    ):
        assert shown in finished.stdout
    assert (run / "checkpoints" / "last.ckpt").is_file()
    assert list(run.glob("events.out.tfevents.*"))
    metrics = _rows(run / "metrics.csv")
    assert sum(bool(row["valid/rmse"]) for row in metrics) == 2
    assert sum(bool(row["train/loss"]) for row in metrics) == 2

    # The figure in the table is OGB's metric of the predictions in the file.
    graphs = OGBGraphs("ogbg-molesol", molecules)
    test = graphs.get_idx_split()["test"]
    assert [int(row["graph"]) for row in _rows(run / "predictions.csv")] == sorted(test.tolist())
    target = _column(run / "predictions.csv", "target_0")
    assert torch.equal(target, graphs[test.sort().values].y.squeeze(1))
    prediction = _column(run / "predictions.csv", "prediction_0")
    error = (prediction - target).double().square().mean().sqrt()
    assert error.item() == pytest.approx(summary["test"], rel=1e-5)


def test_the_checkpoint_gives_the_same_predictions_through_predict_test_and_python(
    experiment: dict,
    write_config: WriteConfig,
    tmp_path: Path,
    molecules: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["fit", "--config", write_config(experiment)]) == 0
    runs = tmp_path / "runs" / "small"
    checkpoint = str(runs / "version_0" / "checkpoints" / "best.ckpt")
    saved = str(runs / "version_0" / "config.yaml")
    wanted = _column(runs / "version_0" / "predictions.csv", "prediction_0")
    result = json.loads((runs / "version_0" / "summary.json").read_text())

    assert main(["predict", "--config", saved, "--ckpt_path", checkpoint]) == 0
    assert torch.equal(_column(runs / "predict_0" / "predictions.csv", "prediction_0"), wanted)

    capsys.readouterr()
    assert main(["test", "--config", saved, "--ckpt_path", checkpoint]) == 0
    assert f"test/rmse {result['test']:.4f}" in capsys.readouterr().out
    assert main(["validate", "--config", saved, "--ckpt_path", checkpoint]) == 0
    assert f"valid/rmse {result['valid']:.4f}" in capsys.readouterr().out
    # A training can be told from an evaluation, which leaves only what it found.
    kinds = sorted(folder.name for folder in runs.iterdir())
    assert kinds == ["predict_0", "test_0", "validate_0", "version_0"]
    files = sorted(file.name for file in (runs / "test_0").iterdir())
    # Lightning 2.5 writes an empty hparams.yaml with the metrics.
    assert set(files) - {"hparams.yaml"} == {"config.yaml", "metrics.csv", "predictions.csv"}

    torch.load(checkpoint, weights_only=True)  # nothing pickled
    predictor = GraphPredictor.load_from_checkpoint(checkpoint).eval()
    graphs = encode(OGBGraphs("ogbg-molesol", molecules), [AddRandomWalkPE(4)], progress=False)
    test = graphs[graphs.get_idx_split()["test"].sort().values]
    with torch.no_grad():
        alone = torch.cat([predictor(batch) for batch in DataLoader(test, batch_size=16)])
    torch.testing.assert_close(alone.squeeze(1), wanted, rtol=1e-4, atol=1e-5)


def test_the_same_seed_gives_the_same_numbers_and_another_seed_others(
    experiment: dict, write_config: WriteConfig, tmp_path: Path
) -> None:
    config = write_config(experiment)
    for seed in ("1", "1", "2"):
        short = ["--trainer.max_epochs", "1", "--seed_everything", seed]
        assert main(["fit", "--config", config, *short]) == 0
    first, second, other = (
        (tmp_path / "runs" / "small" / f"version_{i}" / "predictions.csv").read_bytes()
        for i in range(3)
    )
    assert first == second
    assert first != other


def test_configurations_and_options_are_merged_from_left_to_right(
    experiment: dict, write_config: WriteConfig, tmp_path: Path
) -> None:
    """A dataset's card and an experiment are two files; options come on top."""
    dataset = {key: experiment.pop(key) for key in ("card", "task", "features")}
    dataset["data"] = {"dataset": experiment["data"].pop("dataset")}
    configs = ["--config", write_config(dataset, "dataset.yaml")]
    configs += ["--config", write_config(experiment, "experiment.yaml")]
    options = ["--trainer.max_epochs", "1", "--model.lr=0.02", "--trainer.limit_train_batches=2"]
    assert main(["fit", *configs, *options]) == 0
    saved = tmp_path / "runs" / "small" / "version_0" / "config.yaml"
    config = yaml.safe_load(saved.read_text())
    assert config["model"]["lr"] == 0.02
    assert config["trainer"]["max_epochs"] == 1
    assert config["data"]["batch_size"] == 64
    assert config["task"]["metric"] == "rmse"


def test_training_resumes_from_the_last_checkpoint(
    experiment: dict, write_config: WriteConfig, tmp_path: Path
) -> None:
    config = write_config(experiment)
    runs = tmp_path / "runs" / "small"
    assert main(["fit", "--config", config, "--trainer.max_epochs", "1"]) == 0
    last = str(runs / "version_0" / "checkpoints" / "last.ckpt")
    assert main(["fit", "--config", config, "--ckpt_path", last]) == 0
    epochs = [row["epoch"] for row in _rows(runs / "version_1" / "metrics.csv") if row["lr"]]
    assert epochs == ["1"]


def test_a_fast_dev_run_leaves_no_files_and_gives_no_warning(
    experiment: dict,
    write_config: WriteConfig,
    tmp_path: Path,
    graphpe_process: Callable,
) -> None:
    before = {write_config(experiment), str(tmp_path)}
    options = ["--trainer.fast_dev_run=true", "--model.warmup_steps=100"]
    finished = graphpe_process("fit", "--config", write_config(experiment), *options)
    assert finished.returncode == 0, finished.stderr
    assert "warning" not in finished.stderr
    assert {str(path) for path in tmp_path.iterdir()} <= before


def test_a_run_without_logs_has_its_folder_all_the_same(
    experiment: dict,
    write_config: WriteConfig,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert main(["fit", "--config", write_config(experiment), "--trainer.logger=false"]) == 0
    assert not list((tmp_path / "here").iterdir())
    run = tmp_path / "runs" / "small" / "version_0"
    files = sorted(file.name for file in run.iterdir())
    assert files == ["checkpoints", "config.yaml", "predictions.csv", "summary.json"]


def test_ctrl_c_says_how_to_resume(
    experiment: dict,
    write_config: WriteConfig,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupt_in_epoch(number: int) -> None:
        def start(self: GraphPredictor) -> None:
            if self.current_epoch + 1 == number:
                raise KeyboardInterrupt

        monkeypatch.setattr(GraphPredictor, "on_train_epoch_start", start)

    handler = signal.getsignal(signal.SIGINT)
    config, runs = write_config(experiment), tmp_path / "runs" / "small"
    try:
        interrupt_in_epoch(2)
        assert main(["fit", "--config", config]) == 130
        last = str(runs / "version_0" / "checkpoints" / "last.ckpt")
        wanted = f"graphpe: interrupted after epoch 1; resume with --ckpt_path {last}"
        assert capsys.readouterr().err.splitlines()[-1] == wanted
        # Nothing was trained: nothing is left, also where a resumed training has made steps before.
        assert main(["fit", "--config", config, "--ckpt_path", last]) == 130
        assert capsys.readouterr().err.splitlines()[-1] == wanted
        interrupt_in_epoch(1)
        assert main(["fit", "--config", config]) == 130
        assert "interrupted before the first epoch ended" in capsys.readouterr().err
        assert [run.name for run in runs.iterdir()] == ["version_0"]
    finally:
        signal.signal(signal.SIGINT, handler)  # Lightning ignores it after the first one


def test_ctrl_c_before_the_training(
    experiment: dict,
    write_config: WriteConfig,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("graphpe.cli.experiment.check_names", interrupt)
    assert main(["fit", "--config", write_config(experiment)]) == 130
    assert capsys.readouterr().err == "graphpe: interrupted\n"


def test_callbacks_of_the_user_come_in_addition(
    experiment: dict, write_config: WriteConfig, tmp_path: Path
) -> None:
    stopping = {"monitor": "valid/rmse", "patience": 0, "stopping_threshold": 1000.0}
    experiment["trainer"]["callbacks"] = [
        {"class_path": "EarlyStopping", "init_args": stopping},
    ]
    assert main(["fit", "--config", write_config(experiment)]) == 0
    run = tmp_path / "runs" / "small" / "version_0"
    assert sum(bool(row["valid/rmse"]) for row in _rows(run / "metrics.csv")) == 1
    assert (run / "checkpoints" / "best.ckpt").is_file()


def test_help_and_the_table_of_encodings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "graphpe fit --config experiments/quickstart.yaml" in (help_ := capsys.readouterr().out)
    assert "last.ckpt  (resume)" in help_
    assert main(["encodings"]) == 0
    table = capsys.readouterr().out
    for wanted in (
        "AddLaplacianEigenvectorPE(k)",
        "laplacian_eigenvalue",
        "AddRandomWalkPE(walk_length)",
        "random_walk_pe",
        "basis",
        "Dwivedi",
    ):
        assert wanted in table


@pytest.mark.parametrize("command", ["fit", "predict"])
def test_the_options_of_a_command_are_listed(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit_:
        main([command, "--help"])
    assert exit_.value.code == 0
    text = capsys.readouterr().out
    assert text.startswith(f"usage: graphpe {command} --config FILE")
    assert "'hpc'" not in text  # Lightning's keywords
    assert f"checkpoints/{'last' if command == 'fit' else 'best'}.ckpt" in text
    assert "--model.lr" in text
