"""The experiment on counting runs, and its tables are those of the records."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from torch_geometric.data import Batch, Data

import graphpe.nn
import graphpe.transforms
from graphpe import Features
from graphpe.cli import main
from graphpe.data import CycleCounting

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY))

from experiments.counting import report, run  # noqa: E402
from experiments.counting.graph_file import RandomGraphFile  # noqa: E402
from experiments.reporting import save_record, with_tables  # noqa: E402

FOLDER = REPOSITORY / "experiments" / "counting"
SMALL = {"train_size": 8, "valid_size": 4, "test_size": 4}


@pytest.mark.parametrize("encoding", [*run.ENCODINGS, "published"])
def test_every_configuration_trains(encoding: str, tmp_path: Path) -> None:
    """One batch of each part."""
    files = [REPOSITORY / "datasets" / "cycle-counting.yaml"]
    files += [] if encoding == "published" else [FOLDER / "experiment.yaml"]
    options = [f"--data.dataset.init_args.root={tmp_path}"]
    options += [f"--data.dataset.init_args.{key}={value}" for key, value in SMALL.items()]
    options += ["--data.batch_size=4", "--trainer.fast_dev_run=true", "--trainer.accelerator=cpu"]
    configurations = [f"--config={path}" for path in (*files, FOLDER / f"{encoding}.yaml")]
    assert main(["fit", *configurations, *options, f"--experiment.folder={tmp_path}"]) == 0


def configured(encoding: str) -> tuple[list[Any], graphpe.nn.GINE]:
    """The encodings and the untrained network of a configuration."""
    base = yaml.safe_load((FOLDER / "experiment.yaml").read_text())
    own = yaml.safe_load((FOLDER / f"{encoding}.yaml").read_text())
    encodings = [
        getattr(graphpe.transforms, part["class_path"])(**part["init_args"])
        for part in own["data"]["encodings"]
    ]
    settings = own.get("model", {}).get("network", {}).get("init_args", {})
    encoders = [
        getattr(graphpe.nn, part["class_path"])(**part["init_args"])
        for part in settings.get("positional_encoders", ())
    ]
    arguments = base["model"]["network"]["init_args"]
    network = graphpe.nn.GINE(Features(), 4, **arguments, positional_encoders=encoders)
    return encodings, network.eval()


def cycles(*lengths: int) -> Data:
    edges, start = [], 0
    for length in lengths:
        edges += [(start + i, start + (i + 1) % length) for i in range(length)]
        start += length
    edge_index = torch.tensor([*edges, *((v, u) for u, v in edges)]).T.contiguous()
    return Data(edge_index=edge_index, num_nodes=start)


@pytest.mark.parametrize("encoding", run.ENCODINGS)
def test_only_the_control_confuses_graphs_that_colour_refinement_confuses(encoding: str) -> None:
    """A cycle of six nodes and two of three: every encoding tells them apart, and no encoding does not."""
    encodings, network = configured(encoding)
    batch = Batch.from_data_list([cycles(6), cycles(3, 3)])
    for transform in encodings:
        batch = transform(batch)
    with torch.no_grad():
        one, other = network(batch)
    assert torch.allclose(one, other, atol=1e-5) == (encoding == "none")


def test_the_file_of_graphs_is_read_as_generated_graphs_are(tmp_path: Path) -> None:
    path = tmp_path / "graphs.npz"
    dataset = CycleCounting(root=tmp_path, train_size=30, valid_size=2, test_size=3)
    generated, index = dataset.load()
    forward = [g.edge_index[:, g.edge_index[0] < g.edge_index[1]].T for g in generated]
    np.savez(
        path,
        num_nodes=np.full(35, 10, dtype=np.int16),
        edge_ptr=np.cumsum([0, *map(len, forward)]),
        edges=torch.cat(forward).numpy().astype(np.int16),
        train_idx=index["train"].numpy(),
        val_idx=index["valid"].numpy(),
        test_idx=index["test"].numpy(),
    )
    read, parts = RandomGraphFile(path).load()
    assert {part: numbers.tolist() for part, numbers in parts.items()} == {
        part: numbers.tolist() for part, numbers in index.items()
    }
    for one, other in zip(read, generated, strict=True):
        torch.testing.assert_close(one.y, other.y)
        assert set(map(tuple, one.edge_index.T.tolist())) == set(
            map(tuple, other.edge_index.T.tolist())
        )


def test_a_missing_or_incomplete_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"there is no file .*leave out --graphs"):
        RandomGraphFile(tmp_path / "graphs.npz").load()
    np.savez(tmp_path / "graphs.npz", edges=np.zeros((0, 2)))
    with pytest.raises(ValueError, match="has no array 'edge_ptr'"):
        RandomGraphFile(tmp_path / "graphs.npz").load()


def test_triangles_of_the_published_graphs_are_those_of_their_file(shared_data: Path) -> None:
    path = shared_data / "substructure_counting" / "dataset1_er.npz"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    graphs, index = RandomGraphFile(path, lengths=(3,)).load()
    with np.load(path) as file:
        triangles = torch.from_numpy(file["triangle"]).double()
    train = triangles[index["train"]]
    wanted = (triangles - train.mean()) / train.std(correction=0)
    torch.testing.assert_close(
        torch.cat([g.y[0] for g in graphs]).double(), wanted, atol=1e-5, rtol=0
    )


def test_a_run_and_its_record(tmp_path: Path, shared_data: Path) -> None:
    """Of the published graphs, with one step of training; what is there is not run again."""
    path = shared_data / "substructure_counting" / "dataset1_er.npz"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    options = ["--trainer.max_epochs=1", "--trainer.limit_train_batches=1"]
    result = run.fit(
        "none", 3, path, runs=tmp_path, options=[*options, "--trainer.accelerator=cpu"]
    )
    assert set(result["test_mae"]) == {"3", "4", "5", "6"}
    mean = sum(result["test_mae"].values()) / 4
    assert mean == pytest.approx(result["mean_test_mae"], rel=1e-5)
    record = run.Record(path, tmp_path)
    assert not record.has("none", 3)
    assert record.add(result).startswith("none seed 3: 3: ")
    assert run.Record(path, tmp_path).has("none", 3)
    assert not run.Record(None, tmp_path).has("none", 3)


def made_up() -> dict:
    runs = [
        {
            "encoding": encoding,
            "test_mae": {"3": mae, "4": 0.01},
            "num_parameters": 1234,
            "training_seconds": 10.0,
        }
        for encoding, mae in (("spe", 0.1), ("none", 1.0), ("spe", 0.01))
    ]
    return {"runs": runs}


def test_a_table() -> None:
    assert report.markdown(made_up()).splitlines() == [
        "| encoding | 3-cycles | 4-cycles | parameters | time | seeds |",
        "| --- | --: | --: | --: | --: | --: |",
        "| none | 0.00 | -2.00 | 1,234 | 10 s | 1 |",
        "| SPE | -1.50 ± 0.71 | -2.00 ± 0.00 | 1,234 | 10 s | 2 |",
    ]


def test_page_and_figure_are_made_from_the_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    save_record(made_up(), tmp_path / "counting.json")
    page = tmp_path / "page.md"
    page.write_text("<!-- table: counting -->\n<!-- end -->\n<!-- table: other -->\n<!-- end -->")
    report.update_page(page, tmp_path)
    assert "| SPE |" in page.read_text()
    assert page.read_text().endswith("<!-- table: other -->\n<!-- end -->")
    first = (tmp_path / "counting.svg").read_bytes()
    report.update_page(page, tmp_path)
    assert (tmp_path / "counting.svg").read_bytes() == first


def test_every_encoding_has_results() -> None:
    record = json.loads(
        (REPOSITORY / "experiments/results/counting-published-graphs.json").read_text()
    )
    runs = {(found["encoding"], found["seed"]) for found in record["runs"]}
    assert runs >= {(encoding, seed) for encoding in run.ENCODINGS for seed in (0, 1, 2)}


def test_the_tables_of_the_page_are_those_of_the_records() -> None:
    page = report.PAGE.read_text()
    found = report.records()
    assert found
    for name in found:
        assert f"<!-- table: {name} -->" in page
        assert f"figures/{name}.svg" in page
        assert (report.FIGURES / f"{name}.svg").exists()
    tables = {name: report.markdown(record) for name, record in found.items()}
    assert with_tables(page, tables) == page
