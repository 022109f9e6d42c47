"""The experiment on stability measures what it says, and its tables are those of the record."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Batch, Data

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY))

from experiments.reporting import with_tables  # noqa: E402
from experiments.stability import report, run  # noqa: E402
from experiments.stability.encoders import CASES  # noqa: E402
from experiments.stability.graphs import (  # noqa: E402
    gaps,
    jittered,
    laplacians,
    molecules,
    random_graphs,
    without_an_edge,
)
from experiments.stability.measure import (  # noqa: E402
    Subject,
    by_bin,
    changes_of_output,
    quantiles,
    usable,
)


def as_network(graph: Data) -> nx.Graph:
    network = nx.empty_graph(graph.num_nodes)
    for (u, v), weight in zip(graph.edge_index.T.tolist(), graph.edge_weight.tolist(), strict=True):
        network.add_edge(u, v, weight=weight)
    return network


@pytest.fixture(scope="module")
def graphs() -> list[Data]:
    return molecules(12)


def test_laplacians_are_those_of_networkx(graphs: list[Data]) -> None:
    for case in (graphs, jittered(graphs, 0.3).graphs, without_an_edge(graphs).graphs):
        found = laplacians(Batch.from_data_list(case))
        for graph, matrix in zip(case, found, strict=True):
            n = graph.num_nodes
            wanted = nx.normalized_laplacian_matrix(as_network(graph)).toarray()
            np.testing.assert_allclose(matrix[:n, :n], wanted, atol=1e-14)
            assert not matrix[n:].any()
            assert not matrix[:, n:].any()


def test_jitter_is_one_number_per_edge_and_grows_with_epsilon(graphs: list[Data]) -> None:
    small, large = jittered(graphs, 1e-4), jittered(graphs, 1e-2)
    assert bool(small.kept.all())
    for graph, one, other in zip(graphs, small.graphs, large.graphs, strict=True):
        assert nx.is_isomorphic(as_network(graph), as_network(one))
        matrix = torch.zeros(graph.num_nodes, graph.num_nodes, dtype=torch.float64)
        matrix[tuple(one.edge_index)] = one.edge_weight
        assert torch.equal(matrix, matrix.T)
        torch.testing.assert_close(
            (other.edge_weight - 1) / 100, one.edge_weight - 1, atol=1e-9, rtol=1e-6
        )
    weights = torch.cat([graph.edge_weight for graph in jittered(graphs, 10.0).graphs])
    assert weights.min() == 0.01


def test_one_edge_is_removed_in_both_directions(graphs: list[Data]) -> None:
    changed = without_an_edge(graphs)
    kept = changed.kept.split([graph.num_edges for graph in graphs])
    for graph, other, mask in zip(graphs, changed.graphs, kept, strict=True):
        assert other.num_nodes == graph.num_nodes
        assert other.is_undirected()
        assert as_network(other).number_of_edges() == as_network(graph).number_of_edges() - 1
        assert torch.equal(other.edge_index, graph.edge_index[:, mask])


def test_random_graphs_have_the_density_that_is_said() -> None:
    drawn = random_graphs(100)
    assert {graph.num_nodes for graph in drawn} == {20}
    assert sum(graph.num_edges for graph in drawn) / (100 * 380) == pytest.approx(0.2, abs=0.02)


@pytest.mark.parametrize(
    ("k", "cut", "inside"),
    [
        (1, [0.5, 2.0], [math.inf, math.inf]),
        (2, [0.0, math.inf], [0.5, 2.0]),
        (3, [1.0, math.inf], [0.0, 2.0]),
        (6, [math.inf, math.inf], [0.0, 2.0]),
        (9, [math.inf, math.inf], [0.0, 2.0]),
        (None, [math.inf, math.inf], [0.0, 2.0]),
    ],
)
def test_gaps_of_a_cycle_and_of_an_edge(k: int | None, cut: list, inside: list) -> None:
    """A cycle of six nodes has the eigenvalues 0, 1/2 (twice), 3/2 (twice) and 2; an edge has 0 and 2."""
    spectra = torch.tensor([[0, 0.5, 0.5, 1.5, 1.5, 2], [0, 2, 0, 0, 0, 0]], dtype=torch.float64)
    found = gaps(spectra, torch.tensor([6, 2]), k)
    assert [gap.tolist() for gap in found] == [cut, inside]


@torch.no_grad()
def test_the_change_of_a_linear_encoder_is_its_definition(graphs: list[Data]) -> None:
    """In units of the spread of the output, for each graph by itself."""
    subject = Subject(graphs, {"change": jittered(graphs, 0.1)}, 8)
    found = changes_of_output(CASES["walks"], subject, [5])["change"]
    assert found.shape == (1, len(graphs))
    torch.manual_seed(5)
    encoder = CASES["walks"].build(8).double()
    (walks, _) = CASES["walks"].encodings(8, 0)
    before = [encoder(walks(graph)) for graph in graphs]
    after = [encoder(walks(graph)) for graph in subject.changes["change"].graphs]
    everything = torch.cat(before)
    spread = (everything - everything.mean(0)).norm() / len(everything) ** 0.5
    for number, (one, other) in enumerate(zip(before, after, strict=True)):
        wanted = (other - one).norm() / len(one) ** 0.5 / spread
        assert float(found[0, number]) == pytest.approx(float(wanted), rel=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_nothing_changes_where_the_graph_does_not(name: str, graphs: list[Data]) -> None:
    """But signs are arbitrary, so that outputs that depend on them have nothing to do with each other."""
    subject = Subject(graphs, {"none": jittered(graphs, 0.0)}, 8)
    change = changes_of_output(CASES[name], subject, [0])["none"]
    if name == "eigenvectors-as-given":
        assert float(change.mean()) == pytest.approx(math.sqrt(2), abs=0.5)
    else:
        assert float(change.max()) < 1e-9


def test_peg_is_constant_from_all_eigenvectors(graphs: list[Data]) -> None:
    """All distances are √2, since the rows of an orthogonal matrix are orthonormal."""
    subject = Subject(graphs, {"removed": without_an_edge(graphs)}, None)
    assert changes_of_output(CASES["peg"], subject, [0]) is None
    assert changes_of_output(CASES["peg"], Subject(graphs, subject.changes, 8), [0]) is not None


def test_spe_is_stable_where_others_jump(graphs: list[Data]) -> None:
    """The claim of the experiment, on few molecules: with all eigenvectors SPE's change is in proportion to ε."""
    changes = {f"{epsilon}": jittered(graphs, epsilon) for epsilon in (1e-5, 1e-3)}
    subject = Subject(graphs, changes, None)

    def largest(name: str) -> list[float]:
        found = changes_of_output(CASES[name], subject, [0])
        return [float(change.max()) for change in found.values()]

    for stable in ("spe", "spe-constant", "spe-lipschitz", "walks", "heat"):
        small, large = largest(stable)
        assert small < 1e-3, stable
        assert large < 200 * small + 1e-9, stable
    for unstable in ("eigenvectors-canonical", "eigenvectors-absolute", "sign-net"):
        assert min(largest(unstable)) > 0.01, unstable
    assert largest("basis-net")[1] > 0.1  # at 1e-5 it still takes eigenvalues for equal


def test_bins_of_gaps() -> None:
    values = torch.tensor([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]])
    gap = usable(torch.tensor([0.0, 0.5, math.inf, 0.4]), torch.tensor([1.0, 1.0, 1.0, 0.0]))
    bins = by_bin(values, gap)
    assert bins[0] == {"graphs": 1, "median": 3.0, "90 %": 4.6, "largest": 5.0}
    assert bins[-1] == {"graphs": 1, "median": 4.0, "90 %": 5.6, "largest": 6.0}
    assert bins[1:-1] == [None] * (len(bins) - 2)
    assert quantiles(torch.tensor([[1.23456]]))["median"] == 1.23


def test_a_small_run_is_recorded_and_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "stability.json"
    words = ["--graphs", "4", "--seeds", "0", "--record", str(path), "--only"]
    run.main([*words, "walks", "peg"])
    first = json.loads(path.read_text())
    assert len(first["results"]) == 8
    assert first["results"]["random, all, peg"]["changes"] is None
    with monkeypatch.context() as patch:
        patch.setattr(run, "changes_of_output", None)
        run.main([*words, "walks", "peg"])  # nothing is left to do
    run.main([*words, "spe"])
    both = json.loads(path.read_text())
    assert first["results"].items() <= both["results"].items()
    assert "molecules, 8, spe" in both["results"]
    with pytest.raises(SystemExit, match="of other settings"):
        run.main([*words, "walks", "--seeds", "1"])
    page = tmp_path / "page.md"
    page.write_text("<!-- table: stability-molecules-all -->\n<!-- end -->")
    report.update_page(page, tmp_path, path)
    assert "| PEG | constant |  |  |  |  |  |" in page.read_text()
    figures = {
        name: (tmp_path / f"stability-{name}.svg").read_bytes() for name in ("gaps", "jitter")
    }
    report.update_page(page, tmp_path, path)
    assert all((tmp_path / f"stability-{n}.svg").read_bytes() == f for n, f in figures.items())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.4142, "1.4"),
        (0.1234, "0.12"),
        (12.34, "12"),
        (712.0, "712"),
        (4560.0, "4.6e3"),
        (1.6e-7, "1.6e-7"),
        (0.0, "0.0"),
    ],
)
def test_numbers_have_two_digits(value: float, text: str) -> None:
    assert report.number(value) == text


def test_every_encoder_has_results() -> None:
    record = json.loads(report.RECORD.read_text())
    wanted = {
        run.key(kind, k, name)
        for kind in ("molecules", "random")
        for k in (8, None)
        for name in CASES
    }
    assert set(record["results"]) == wanted


def test_the_tables_of_the_page_are_those_of_the_record() -> None:
    page = report.PAGE.read_text()
    tables = report.tables(json.loads(report.RECORD.read_text()))
    assert all(f"<!-- table: {name} -->" in page for name in tables)
    assert with_tables(page, tables) == page
    for name in ("stability-jitter", "stability-gaps"):
        assert f"figures/{name}.svg" in page
        assert (report.FIGURES / f"{name}.svg").exists()
