"""The experiments on directed graphs run, and their tables are those of the records."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from code2_folder import write_code2

from graphpe.cli import main

REPOSITORY = Path(__file__).resolve().parents[2]
DIRECTED = REPOSITORY / "experiments" / "directed"
sys.path.insert(0, str(DIRECTED))

from run import EXPERIMENTS  # noqa: E402
from tables import PAGE, markdown, with_tables  # noqa: E402

# Of the dataset: enough for one batch of each part.
SMALL = {
    "distance": {
        "train_size": 8,
        "valid_size": 8,
        "test_size": 8,
        **{f"{part}_nodes": [8, 9] for part in ("train", "valid", "test")},
    },
    "sorting": {
        "train_size": 8,
        "valid_size": 8,
        "test_size": 8,
        **{f"{part}_widths": [4, 5] for part in ("train", "valid", "test")},
    },
    "functions": {
        "sources": [str(Path(json.__file__).parent.parent / n) for n in ("json", "email", "http")]
    },
}
RUNS = [
    (name, file)
    for name in EXPERIMENTS
    for file in sorted((DIRECTED / name).glob("*.yaml"))
    if file.stem != "experiment"
]


@pytest.mark.parametrize(("name", "file"), RUNS, ids=lambda value: getattr(value, "stem", value))
def test_every_configuration_trains(name: str, file: Path, tmp_path: Path) -> None:
    """One batch of each part; those at the published size with small datasets."""
    files = [REPOSITORY / EXPERIMENTS[name].card]
    files += [] if file.stem.startswith("published") else [DIRECTED / name / "experiment.yaml"]
    options = [f"--data.dataset.init_args.root={tmp_path}"]
    options += [f"--data.dataset.init_args.{key}={value}" for key, value in SMALL[name].items()]
    options += ["--data.batch_size=4", "--trainer.fast_dev_run=true", "--trainer.accelerator=cpu"]
    configurations = [f"--config={path}" for path in (*files, file)]
    assert main(["fit", *configurations, *options, f"--experiment.folder={tmp_path}"]) == 0


@pytest.mark.parametrize("files", [("experiment", "single_q"), ("published",)], ids=lambda f: f[-1])
def test_the_configuration_of_functions_trains_on_ogbg_code2(
    files: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a made-up copy, through to OGB's F1 of the test part."""
    write_code2(tmp_path)
    paths = [REPOSITORY / "datasets" / "ogbg-code2.yaml"]
    paths += [DIRECTED / "functions" / f"{file}.yaml" for file in files]
    options = [
        *(f"--config={path}" for path in paths),
        f"--data.dataset.init_args.root={tmp_path}",
        f"--experiment.folder={tmp_path / 'runs'}",
        "--trainer.max_epochs=1",
        "--trainer.accelerator=cpu",
        "--trainer.enable_progress_bar=false",
    ]
    assert main(["fit", *options]) == 0
    assert "test f1" in capsys.readouterr().out
    (predictions,) = (tmp_path / "runs").rglob("predictions.csv")
    header, *rows = predictions.read_text().splitlines()
    assert header.startswith("graph,target_0,")
    assert header.endswith(",prediction_4")
    assert len(rows) == 2


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_encoding_has_a_configuration_and_results(name: str) -> None:
    files = {file.stem for file in (DIRECTED / name).glob("*.yaml")}
    assert set(EXPERIMENTS[name].encodings) <= files
    record = json.loads((REPOSITORY / f"experiments/results/directed-{name}.json").read_text())
    runs = {(run["encoding"], run["seed"]) for run in record["runs"]}
    assert runs >= {
        (encoding, seed) for encoding in EXPERIMENTS[name].encodings for seed in (0, 1, 2)
    }


def test_the_tables_of_the_page_are_those_of_the_records() -> None:
    page = PAGE.read_text()
    assert all(f"<!-- table: directed-{name} -->" in page for name in EXPERIMENTS)
    assert with_tables(page) == page


def test_a_table() -> None:
    runs = [
        {
            "encoding": encoding,
            "test": {"accuracy": value, "positive_rate": 0.3},
            "test_accuracy_by_group": {"11": value},
            "num_parameters": 1234,
            "encoding_seconds": 1.0,
            "training_seconds": 2.0,
        }
        for encoding, value in (("walks", 0.7), ("none", 0.5), ("walks", 0.8))
    ]
    assert markdown({"runs": runs}).splitlines() == [
        "| encoding | test accuracy | accuracy, 11 wires | parameters | encoding | training | seeds |",
        "| --- | --: | --: | --: | --: | --: | --: |",
        "| none | 0.500 | 0.500 | 1,234 | 1 s | 2 s | 1 |",
        "| directed walks | 0.750 ± 0.071 | 0.750 ± 0.071 | 1,234 | 1 s | 2 s | 2 |",
    ]
