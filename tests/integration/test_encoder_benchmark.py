"""The benchmark of encoders runs, covers every encoder, and measures against the same mathematics."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from nn_batches import graphs, largest_error
from torch_geometric.data import Batch

from graphpe.nn import SPE, SignNet
from graphpe.nn.encoders import ENCODERS

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "experiments" / "speed"))

from encoder_cases import CASES
from encoders_table import markdown
from per_graph_encoders import OneGraphAtATime, PaddedSignNet, PaddedSPE

BENCHMARK = Path(__file__).resolve().parents[2] / "experiments" / "speed" / "encoders.py"

SMALL = {"out_channels": 7, "hidden_channels": 8, "num_layers": 2}
OTHERS = {
    **{
        f"SPE-{phi}-{k}": (SPE, PaddedSPE, {"k": k, "num_filters": 3, "phi": phi})
        for phi in ("mlp", "deepsets")
        for k in (4, 40)
    },
    **{
        f"SignNet-{rho}-{k}": (
            SignNet,
            PaddedSignNet,
            {"k": k, "phi_channels": 5, "rho": rho, "eigenvalues": False},
        )
        for rho in ("concatenate", "sum")
        for k in (4, 40)
    },
}


def test_every_encoder_has_a_case() -> None:
    assert {type(case.build()) for case in CASES.values()} == set(ENCODERS)


@pytest.mark.parametrize("one_by_one", [False, True], ids=["padded", "one by one"])
@pytest.mark.parametrize("name", OTHERS)
def test_the_loops_are_the_same_mathematics(name: str, one_by_one: bool) -> None:
    """Outputs and the gradients of all parameters, in float64, on graphs of all kinds but without nodes."""
    network, padded, settings = OTHERS[name]
    encoder = network(**settings, **SMALL).double()
    batch = Batch.from_data_list([g for g in graphs(settings["k"]).values() if g.num_nodes])
    other = OneGraphAtATime(padded(encoder)) if one_by_one else padded(encoder)

    results = []
    for module in (encoder, other):
        encoder.zero_grad()
        output = module(batch)
        weights = torch.linspace(-1, 1, output.numel(), dtype=torch.float64).view_as(output)
        (output * weights).sum().backward()
        results.append([output.detach(), *(p.grad for p in encoder.parameters())])
    for own, same in zip(*results, strict=True):
        assert largest_error(same, own) < 1e-11


def test_the_loops_take_none_of_what_is_measured_from_graphpe() -> None:
    """Messages, products and padding are their own: only layers and weights are the encoder's."""
    encoder = SPE(k=4, num_filters=3, **SMALL).double()
    encoder.forward = encoder.rho.forward = encoder.phi.forward = None
    batch = Batch.from_data_list([graphs(4)["path"]])
    assert PaddedSPE(encoder)(batch).shape == (batch.num_nodes, 7)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, molecules: Path) -> dict:
    """Of a small batch, as the program writes it."""
    out = tmp_path_factory.mktemp("record") / "record.json"
    options = ["--only", "SignNet-8", "--molesol", str(molecules), "--batch-size", "4"]
    options += ["--seconds", "0", "--steps", "2", "--out", str(out)]
    subprocess.run([sys.executable, str(BENCHMARK), *options], check=True, capture_output=True)
    return json.loads(out.read_text())


def test_what_a_record_says(report: dict) -> None:
    (row,) = report["rows"]
    assert (report["dataset"], report["batch"]["graphs"], report["threads"]) == (
        "ogbg-molesol",
        4,
        1,
    )
    assert row["class"] == "SignNet"
    assert row["settings"]["k"] == 8
    assert row["parameters"] == sum(p.numel() for p in CASES["SignNet-8"].build().parameters())
    assert list(row["methods"]) == ["graphpe", "published", "one by one"]
    for method, measured in row["methods"].items():
        assert len(measured["runs"]) == 2
        assert measured["seconds"] == min(measured["runs"]) <= measured["median_seconds"]
        assert measured["graphs_per_second"] == pytest.approx(4 / measured["seconds"])
        assert measured["peak_mib"] > 0
        assert ("difference" in measured) == (method != "graphpe")


def test_tables(report: dict) -> None:
    (row,) = report["rows"]
    fake = {name: {"16": {"graphs_per_second": 100.0}} for name in ("graphpe", "published")}
    row["methods"] = {
        name: {"seconds": factor / 100, "graphs_per_second": 400 / factor, "peak_mib": 10 * factor}
        for name, factor in (("graphpe", 2), ("published", 9), ("one by one", 6))
    }
    text = markdown({**report, "batch_sizes": [{"encoder": "SignNet-8", "methods": fake}]})
    every, others, sizes = text.split("\n\n")
    assert every.splitlines()[-1].endswith("| 20 ms | 200 | 20 MiB |")
    assert others.splitlines()[-1] == (
        "| SignNet-8 | 20 ms | 90 ms (4.5x) | 60 ms (3.0x) | 20 MiB | 90 MiB (4.5x) | 60 MiB (3.0x) |"
    )
    assert "| SignNet-8, as published | 10.0 ms |" in sizes
    for table in (every, others, sizes):
        assert len({line.count("|") for line in table.splitlines()}) == 1


def test_the_page_has_the_tables_of_the_record() -> None:
    repository = Path(__file__).resolve().parents[2]
    record = json.loads(
        (repository / "experiments" / "results" / "encoders-speed.json").read_text()
    )
    page = (repository / "docs" / "encoders.md").read_text()
    assert f"<!-- table: encoders-speed -->\n{markdown(record)}\n<!-- end -->" in page
