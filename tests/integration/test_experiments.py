"""The experiments and dataset cards of the repository are valid configurations."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import pytest
import yaml

from graphpe.cli import main

REPOSITORY = Path(__file__).resolve().parents[2]
CARDS = sorted((REPOSITORY / "datasets").glob("*.yaml"))
# Suites are none, and the others left out are parts of a configuration: their own tests compose them.
EXPERIMENTS = sorted(
    path
    for path in (REPOSITORY / "experiments").rglob("*.yaml")
    if not {"directed", "counting", "nodes", "suites"} & set(path.parts)
)
NETWORK = REPOSITORY / "experiments" / "ogb-mol" / "graph_transformer.yaml"


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda path: path.stem)
def test_every_experiment_trains(experiment: Path, molecules: Path, tmp_path: Path) -> None:
    """On the bundled molecules, whatever dataset it is for: one batch of each part."""
    card = REPOSITORY / "datasets" / "ogbg-molesol.yaml"
    if (
        experiment.stem == "graphormer"
    ):  # its encoder embeds bonds, which these molecules have more columns of
        settings = yaml.safe_load(experiment.read_text())
        *_, bias = settings["model"]["network"]["init_args"]["positional_encoders"]
        bias["init_args"]["edge_categories"] = yaml.safe_load(card.read_text())["features"][
            "edge_categories"
        ]
        experiment = tmp_path / "graphormer.yaml"
        experiment.write_text(yaml.safe_dump(settings))
    options = [
        f"--data.dataset.init_args.root={molecules}",
        f"--experiment.folder={tmp_path}",
        "--data.batch_size=8",
        "--trainer.fast_dev_run=true",
        "--trainer.accelerator=cpu",
    ]
    assert main(["fit", "--config", str(card), "--config", str(experiment), *options]) == 0


def test_the_quickstart_says_what_its_card_and_its_record_say() -> None:
    """It repeats them so as to be one readable file."""
    quickstart = _read("experiments/quickstart.yaml")
    card = _read("datasets/ogbg-molesol.yaml")
    for section in ("task", "features"):
        assert quickstart[section] == card[section]
    assert quickstart["data"]["dataset"] == card["data"]["dataset"]

    without_encoding, gin = quickstart["experiment"]["baselines"]
    assert (gin["mean"], gin["std"]) == tuple(
        card["card"]["baselines"][0][k] for k in ("mean", "std")
    )
    record = json.loads((REPOSITORY / "experiments" / "results" / "quickstart.json").read_text())
    results = [run["test_rmse"] for run in record["without_encoding"]["runs"]]
    assert without_encoding["mean"] == pytest.approx(statistics.mean(results), abs=5e-4)
    assert without_encoding["std"] == pytest.approx(statistics.stdev(results), abs=5e-4)


def _read(path: str) -> dict:
    return yaml.safe_load((REPOSITORY / path).read_text())


@pytest.mark.parametrize("card", CARDS, ids=lambda path: path.stem)
def test_every_card_composes_with_an_experiment(
    card: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configs = ["--config", str(card), "--config", str(NETWORK)]
    with pytest.raises(SystemExit) as exit_:
        main(["fit", *configs, "--print_config"])
    assert exit_.value.code == 0
    assert "metric:" in capsys.readouterr().out
