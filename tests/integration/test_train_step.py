"""The benchmark of training steps runs, and compares networks of the same size."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import torch
from nn_batches import count_parameters
from torch_geometric.data import Batch

import graphpe.nn
from graphpe.nn import GraphNetwork, NodeMLP

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "experiments" / "speed"))

import train_step
from benchmark_graphs import dataset_of
from step_memory import step_memory
from train_step_cases import Size, attending_cases, layer_cases, made_graphs, network_cases
from train_step_table import PAGE, RECORD, markdown

SIZE = Size(channels=24, layers=2, heads=2)
GRAPHS = [23, 14, 40]


@pytest.fixture
def batch() -> Batch:
    return Batch.from_data_list(made_graphs(GRAPHS))


@pytest.fixture
def degrees(batch: Batch) -> torch.Tensor:
    return torch.bincount(torch.bincount(batch.edge_index[1]))


def test_every_network_has_a_case(degrees: torch.Tensor) -> None:
    networks = {
        member
        for member in vars(graphpe.nn).values()
        if isinstance(member, type) and issubclass(member, GraphNetwork)
    }
    cases = network_cases(SIZE, degrees)
    assert {type(case.ours()) for case in cases.values()} == networks - {GraphNetwork, NodeMLP}


def test_gps_has_the_parameters_of_pygs(degrees: torch.Tensor, batch: Batch) -> None:
    for cases in (network_cases(SIZE, degrees), layer_cases(SIZE, batch)):
        dense = [case for name, case in cases.items() if "dense" in name]
        assert len(dense) >= 2
        for case in dense:
            (theirs,) = case.theirs.values()
            assert count_parameters(case.ours()) == count_parameters(theirs())


def test_attention_keeps_no_weights(degrees: torch.Tensor, batch: Batch) -> None:
    """Of pairs, nothing is kept; with dropout a byte per weight of a layer, where PyG's keeps several numbers."""
    cases = attending_cases(SIZE, degrees)
    weights = SIZE.layers * SIZE.heads * sum(n * n for n in GRAPHS) / 2**20

    def kept(name: str, pyg: bool = False) -> float:
        torch.manual_seed(0)
        case = cases[name]
        network = next(iter(case.theirs.values()))() if pyg else case.ours()
        return step_memory(network.train(), batch, SIZE.channels // SIZE.heads)["kept_of_pairs_mib"]

    assert kept("GPS, dense") == 0
    assert kept("GPS, linear") == 0
    assert kept("GPS, dense, dropout of weights") <= 1.25 * weights
    assert kept("GPS, dense, dropout of weights", pyg=True) > 4 * weights


@pytest.mark.filterwarnings("ignore:AddDegreeSE")  # degrees larger than those of molecules
def test_the_benchmark_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        train_step, "ZINC", lambda root, subset, split: dataset_of(made_graphs(GRAPHS))
    )
    monkeypatch.setattr(train_step, "_mixtures", lambda molecules: {"mixed": made_graphs([30, 9])})
    out = tmp_path / "steps.json"
    options = "--zinc nowhere --steps 1 --batch-size 3 --channels 8 --layers 1 --heads 2"
    monkeypatch.setattr(sys, "argv", ["train_step.py", *options.split(), "--out", str(out)])
    threads = torch.get_num_threads()
    try:
        train_step.main()
    finally:
        torch.set_num_threads(threads)
    report = json.loads(out.read_text())
    assert report["size"] == {"channels": 8, "layers": 1, "heads": 2}
    assert set(train_step.PARTS) <= set(report)
    rows = {row["network"]: row for row in report["networks"]}
    assert rows["GPSConv, multihead"]["ratio"] > 0
    assert "ratio" not in rows["GPS, dense"]
    assert "GPS, dense" in capsys.readouterr().out


def test_parts_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["train_step.py", "speed", "--zinc", "nowhere"])
    with pytest.raises(SystemExit):
        train_step.main()


def test_the_page_has_the_table_of_the_record() -> None:
    text = markdown(json.loads(RECORD.read_text()))
    assert f"<!-- table: train-step -->\n{text}\n<!-- end -->" in PAGE.read_text()
