"""A wrong name or value gives one line that names the valid ones, and no traceback."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from graphpe.cli import main

NETWORK = "model.network.init_args"
ENCODING = "data.encodings[0]"
_REMOVED = object()


def _changed(config: Any, path: str, value: Any) -> None:
    """Sets, or removes, the value at a path such as ``a.b[0].c``."""
    *parents, last = path.replace("[", ".").replace("]", "").split(".")
    for key in parents:
        config = config[int(key)] if isinstance(config, list) else config.setdefault(key, {})
    if value is _REMOVED:
        del config[last]
    else:
        config[last] = value


def _error(capsys: pytest.CaptureFixture[str]) -> str:
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.startswith("graphpe: error: ")
    return line.removeprefix("graphpe: error: ")


@pytest.mark.parametrize(
    ("path", "value", "wanted"),
    [
        # An unknown key, at every depth.
        ("modle", None, "no key 'modle'; did you mean 'model'? valid: card, ckpt_path, data"),
        (
            "model.lrr",
            1,
            "no key 'model.lrr'; did you mean 'lr'? valid: betas, lr, min_lr, network",
        ),
        (
            "data.batchsize",
            8,
            "did you mean 'batch_size'? valid: batch_size, bucket_by_size, cache_dir, dataset, encodings",
        ),
        (
            "task.metrik",
            "mae",
            "no key 'task.metrik'; did you mean 'metric'? valid: average, class_weights, end_penalty, kind",
        ),
        ("features.node_cat", [3], "did you mean 'node_categories'?"),
        ("card.titel", "x", "no key 'card.titel'; did you mean 'title'?"),
        ("experiment.nam", "x", "no key 'experiment.nam'; did you mean 'name'? valid: baselines"),
        ("trainer.max_epoch", 3, "no key 'trainer.max_epoch'; did you mean 'max_epochs'?"),
        (f"{NETWORK}.num_layer", 3, "did you mean 'num_layers'? valid: attention, dropout"),
        (f"{ENCODING}.init_args.walk_lenght", 3, "did you mean 'walk_length'? valid: attr_name"),
        (f"{NETWORK}.positional_encoders[0].init_args.width", 3, "valid: field, hidden_channels"),
        ("model.network.init_arg", {}, "did you mean 'init_args'? valid: class_path"),
        # An unknown class.
        ("model.network.class_path", "GraphTransfomer", "did you mean 'GraphTransformer'? valid"),
        ("model.network", "GIN", "no class 'GIN'; did you mean 'GINE'?"),
        (
            "model.network.class_path",
            "NodeEncoder",
            "no class 'NodeEncoder'; valid: EncodeProcessDecode, GINE",
        ),
        (f"{ENCODING}.class_path", "AddRandomWalk", "did you mean 'AddRandomWalkPE'? valid: Add"),
        ("data.dataset.class_path", "OGB", "no class 'OGB'; valid: "),
        ("data.dataset.class_path", "graphpe.data.OGBSorce", "did you mean 'OGBSource'? valid: "),
        ("model.network.class_path", "no.such.Network", "No module named 'no'"),
        # An unknown choice.
        ("task.metric", "rmsee", "task.metric is 'rmsee'; did you mean 'rmse'? valid: accuracy"),
        ("model.optimizer", "sgd", "model.optimizer is 'sgd'; valid: adam, adamw"),
        (f"{NETWORK}.norm", "batchnorm", "did you mean 'batch'? valid: batch, layer"),
        pytest.param(
            "trainer.accelerator",
            "gpu",
            "trainer.accelerator is 'gpu', which this machine lacks; use 'cpu' or 'auto'",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU"),
        ),
        ("trainer.accelerator", "cude", "accelerator='cude'`. Available names are: "),
        # A bad value.
        ("model.lr", "fast", "model.lr is 'fast'; it must be a number"),
        ("model.lr", -1, "lr is -1; it must be positive"),
        ("trainer.max_epochs", "many", "trainer.max_epochs is 'many'; it must be an integer or"),
        (f"{ENCODING}.init_args.walk_length", -8, "walk_length is -8; it must be an integer >= 1"),
        (f"{NETWORK}.positional_encoders[0].init_args.out_channels", 4, "hidden_channels=8"),
        ("trainer", [1], "trainer is [1]; it must be a mapping of options, max_epochs: 20 say"),
        ("trainer.max_epochs", 0, "nothing would be trained; set trainer.max_epochs"),
        ("trainer.limit_val_batches", 0, "the best checkpoint is chosen by the validation metric"),
        ("trainer.check_val_every_n_epoch", 9, "lower trainer.check_val_every_n_epoch"),
        ("experiment.threads", 0, "experiment.threads is 0; it must be at least 1, or null"),
        ("task.metric", "ap", "'ap' does not fit task.kind 'regression'"),
        # Something missing, or given twice.
        ("task", _REMOVED, "task.kind is not given; add the card of a dataset"),
        ("task.kind", _REMOVED, "task.kind is not given"),
        ("model", _REMOVED, "model.network; add an experiment such as --config experiments/zinc"),
        ("data.dataset", _REMOVED, "; add the card of a dataset such as --config"),
        ("data.dataset.init_args.name", _REMOVED, "name"),
        (f"{ENCODING}.init_args.walk_length", _REMOVED, "walk_length"),
        (f"{NETWORK}.out_channels", 3, "takes its value from `task`; give that instead"),
        ("model.task", {"kind": "binary"}, "takes its value from `task`; give that instead"),
    ],
)
def test_a_wrong_configuration(
    experiment: dict,
    write_config: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    path: str,
    value: Any,
    wanted: str,
) -> None:
    _changed(experiment, path, value)
    assert main(["fit", "--config", write_config(experiment)]) == 2
    assert wanted in _error(capsys)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (["--model.lrr", "3"], "no key 'model.lrr'; did you mean 'lr'?"),
        (["--model.lr=fast"], "model.lr is 'fast'; it must be a number"),
        (["--model.network", "GIN"], "no class 'GIN'; did you mean 'GINE'?"),
        (["--model.network.layers", "3"], "no key 'model.network.layers'; did you mean"),
        (["--model.network.init_args.nope=7"], "no key 'model.network.init_args.nope'; valid: att"),
        (["--confg", "a.yaml"], "no key 'confg'; did you mean 'config'?"),
        (["--config", "missing.yaml"], "can't read the configuration 'missing.yaml'"),
        (["--config"], "expected one argument"),
        (["surplus"], "arguments: surplus; write options as --NAME VALUE"),
        (["--ckpt_path", "missing.ckpt"], "there is no checkpoint 'missing.ckpt'"),
    ],
)
def test_wrong_options(
    experiment: dict,
    write_config: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    wanted: str,
) -> None:
    assert main(["fit", "--config", write_config(experiment), *options]) == 2
    assert wanted in _error(capsys)


@pytest.mark.parametrize("text", ["", "- a\n- b\n", "model: [\n", "\x00"])
def test_a_file_that_is_no_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    (tmp_path / "bad.yaml").write_text(text)
    assert main(["fit", "--config", str(tmp_path / "bad.yaml")]) == 2
    assert "bad.yaml" in _error(capsys)


def test_an_unknown_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fti"]) == 2
    assert "did you mean 'fit'? valid: benchmark, cache, encode, encodings, fit" in _error(capsys)
    assert main(["encodings", "--all"]) == 2
    assert "takes no options" in _error(capsys)


def test_evaluation_needs_a_checkpoint_of_this_network(
    experiment: dict,
    write_config: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    config = write_config(experiment)
    assert main(["test", "--config", config]) == 2
    assert "test needs a trained network; add --ckpt_path" in _error(capsys)
    assert main(["test", "--config", config, "--ckpt_path", config]) == 2
    assert "is not a checkpoint of graphpe" in _error(capsys)
    short = ["--trainer.max_epochs=1", "--trainer.limit_train_batches=1"]
    assert main(["fit", "--config", config, *short]) == 0
    capsys.readouterr()
    checkpoint = str(tmp_path / "runs" / "small" / "version_0" / "checkpoints" / "best.ckpt")
    assert main(["fit", "--config", config, "--ckpt_path", checkpoint]) == 2
    last = checkpoint.replace("best", "last")
    assert _error(capsys) == f"best.ckpt holds weights only; resume from {last}"
    assert main(["fit", "--config", config, "--ckpt_path", last, *short]) == 2
    wanted = f"{last} is of epoch 1, and trainer.max_epochs is 1; raise trainer.max_epochs"
    assert _error(capsys) == wanted
    assert [run.name for run in (tmp_path / "runs" / "small").iterdir()] == ["version_0"]
    wider = ["--ckpt_path", checkpoint, "--model.network.num_layers", "2"]
    assert main(["test", "--config", config, *wider]) == 2
    assert "is of another network: network.layers.1." in _error(capsys)


@pytest.mark.parametrize(
    ("path", "value", "wanted"),
    [
        ("data.dataset.init_args.name", "ogbg-molesoll", "did you mean 'ogbg-molesol'?"),
        ("features.node_categories", [3, 5, 12, 12, 10, 6, 6, 2, 2], "features.node_categories"),
        (f"{ENCODING}.init_args.attr_name", "walks", "NodeEncoder needs the field"),
        ("trainer.max_epochs", -1, "schedule 'cosine' ends after the last step"),
    ],
)
def test_a_run_that_fails_says_why_in_one_line(
    experiment: dict,
    write_config: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    path: str,
    value: Any,
    wanted: str,
) -> None:
    _changed(experiment, path, value)
    assert main(["fit", "--config", write_config(experiment)]) == 1
    assert wanted in _error(capsys)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("folder", ["config.yaml", "config.yaml/below"])
def test_a_folder_that_cant_be_made(
    experiment: dict,
    write_config: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    folder: str,
) -> None:
    experiment["experiment"]["folder"] = str(tmp_path / folder)
    assert main(["fit", "--config", write_config(experiment)]) == 2
    assert "can't make a folder for the run in experiment.folder" in _error(capsys)


@pytest.mark.parametrize(
    ("files", "key"),
    [
        (["experiments/directed/distance/experiment.yaml"], "data.dataset"),
        (
            ["datasets/directed-distance-dag.yaml", "experiments/directed/distance/multi_q.yaml"],
            "model.network",
        ),
    ],
    ids=["no card", "no experiment"],
)
def test_files_in_the_wrong_order(
    files: list[str], key: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", *(f"--config={repository / file}" for file in files)]) == 2
    assert _error(capsys) == (
        f"{key} has init_args, but no file or option before says its class_path; give the dataset's card first, then "
        "the experiment, then the encoding"
    )
