"""`graphpe pretrain`, and a training that uses what it saves."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from graphpe.cli import main
from graphpe.nn import PretrainedEncoder
from graphpe.nn.encoders.pretrained import load_encoder
from graphpe.training import GraphPredictor

SMALL = ["--epochs", "1", "--encoder.hidden_channels", "8", "--encoder.num_layers", "1"]
ENCODINGS = json.dumps([{"class_path": "AddRandomWalkPE", "init_args": {"walk_length": 4}}])


@pytest.fixture
def card(experiment: dict, write_config: Callable[..., str]) -> str:
    """The card of the dataset alone."""
    data = {"dataset": experiment["data"]["dataset"]}
    kept = {name: experiment[name] for name in ("card", "task", "features")}
    return write_config({**kept, "data": data}, "card.yaml")


def test_pretrain_then_fit(
    card: str,
    experiment: dict,
    write_config: Callable[..., str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "encoders" / "molecules.safetensors"
    options = ["--config", card, "--encodings", ENCODINGS, "--out", str(path), *SMALL]
    assert main(["pretrain", *options, "--seed", "3", "--accelerator", "cpu"]) == 0
    shown = capsys.readouterr()
    assert "random_walk_pe" in shown.out
    assert f"saved {path}" in shown.out
    assert "epoch 1/1" in shown.err
    encoder, description = load_encoder(path)
    assert encoder.settings["hidden_channels"] == 8
    assert description["dataset"] == "ogbg-molesol"
    assert description["training"] == {"batch_size": 64, "epochs": 1, "lr": 0.003, "seed": 3}
    assert str(tmp_path) not in json.dumps(description)

    again = tmp_path / "again.safetensors"
    options[options.index(str(path))] = str(again)
    assert main(["pretrain", *options, "--seed", "3", "--accelerator", "cpu"]) == 0
    assert again.read_bytes() == path.read_bytes()

    network = experiment["model"]["network"]["init_args"]
    network["positional_encoders"] = [
        {"class_path": "PretrainedEncoder", "init_args": {"path": str(path), "out_channels": 8}}
    ]
    del experiment["data"]["encodings"]
    experiment["trainer"]["max_epochs"] = 1
    assert main(["fit", "--config", write_config(experiment)]) == 0
    checkpoint = tmp_path / "runs" / "small" / "version_0" / "checkpoints" / "best.ckpt"
    (trained,) = GraphPredictor.load_from_checkpoint(checkpoint).network.positional_encoders
    assert isinstance(trained, PretrainedEncoder)
    for name, value in trained.encoder.state_dict().items():
        assert torch.equal(value, encoder.state_dict()[name])


def test_encodings_may_stand_in_a_file(
    card: str, write_config: Callable[..., str], tmp_path: Path
) -> None:
    targets = write_config({"encodings": json.loads(ENCODINGS), "epochs": 1}, "targets.yaml")
    path = tmp_path / "encoder.safetensors"
    options = ["--config", card, "--config", targets, "--out", str(path), *SMALL[2:]]
    assert main(["pretrain", *options]) == 0
    assert path.is_file()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--out", "x"], "encodings"),
        (["--encodings", ENCODINGS], "out"),
        (
            ["--encodings", ENCODINGS, "--out", "."],
            "out: path is '.'; it must be the name of a file",
        ),
        (["--encodings", ENCODINGS, "--out", ".."], "out: '..' is a folder"),
        (["--encodings", ENCODINGS, "--out", "~nobody-of-this-name/a"], "there is no such user"),
        (["--encodings", ENCODINGS, "--out", "a" * 300], "File name too long"),
        (["--encodings", ENCODINGS, "--out", "/proc/x"], "out: can't write '/proc/x'"),
        (["--encodings", ENCODINGS, "--out", "x", "--epochs", "many"], "epochs is 'many'"),
        (["--encodings", ENCODINGS, "--out", "x", "--epoch", "1"], "did you mean 'epochs'"),
        (["--encodings", ENCODINGS, "--out", "x", "--encoder.norm", "group"], "encoder.norm"),
        (["--encodings", ENCODINGS, "--out", "x", "--encoder.num_layers", "0"], "num_layers is 0"),
        (
            ["--encodings", '[{"class_path": "AddRandomPE"}]', "--out", "x"],
            "no class 'AddRandomPE'",
        ),
    ],
)
def test_a_wrong_command_line_is_one_line(
    card: str,
    options: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["pretrain", "--config", card, *options]) == 2
    error = capsys.readouterr().err
    assert error.startswith("graphpe: error: ")
    assert error.count("\n") == 1
    assert message in error
    assert not (tmp_path / "x").exists()


def test_what_cannot_be_predicted_is_one_line(
    card: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x"
    pairs = json.dumps([{"class_path": "AddShortestPathPE"}])
    assert main(["pretrain", "--config", card, "--encodings", pairs, "--out", str(path)]) == 1
    error = capsys.readouterr().err
    assert "AddShortestPathPE writes 'shortest_path_pe', a pair field" in error
    assert error.count("\n") == 1
    assert not path.exists()


def test_a_folder_that_cannot_be_written_is_found_before_the_training(
    card: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    path = tmp_path / "file" / "x"
    options = ["--config", card, "--encodings", ENCODINGS, "--out", str(path)]
    assert main(["pretrain", *options]) == 2
    assert "x': its folder is a file" in capsys.readouterr().err


def test_an_unknown_accelerator_is_one_line(
    card: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "folder" / "x"
    options = ["--config", card, "--encodings", ENCODINGS, "--out", str(path)]
    assert main(["pretrain", *options, "--accelerator", "foo"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("graphpe: error: accelerator is 'foo'")
    assert error.count("\n") == 1
    assert not path.parent.exists()
