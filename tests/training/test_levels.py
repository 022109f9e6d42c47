"""Tasks of nodes, of edges and of pairs of nodes, trained, evaluated and predicted."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from lightning.pytorch import seed_everything
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from training_graphs import FEATURES, cycles, quiet_trainer

from graphpe.nn import GINE
from graphpe.tasks import Task, TaskLevel
from graphpe.training import GraphPredictor
from graphpe.training.callbacks import PredictionWriter
from graphpe.training.losses import read_targets, task_loss
from graphpe.training.rows import row_places

NAN = math.nan


def _labelled(level: TaskLevel, count: int, seed: int = 0) -> list[Data]:
    """Cycles whose nodes, edges or pairs have the (summed) category as target, but for every third row."""
    graphs = cycles(count, seed=seed)
    for graph in graphs:
        x = graph.x.float()
        target = {
            "node": x,
            "edge": x[graph.edge_index].sum(0),
            "pair": (x + x.T).reshape(-1, 1),
        }[level]
        target[::3] = NAN
        graph.y = target
    return graphs


def _task(level: TaskLevel) -> Task:
    return Task(kind="regression", metric="rmse", loss="mse", level=level, average="graphs")


@pytest.mark.parametrize("level", ["node", "edge", "pair"])
def test_a_task_of_that_level_is_learned(level: TaskLevel, tmp_path: Path) -> None:
    seed_everything(0, verbose=False)
    task = _task(level)
    network = GINE(FEATURES, 1, hidden_channels=16, num_layers=1, norm="layer", level=level)
    predictor = GraphPredictor(network, task, lr=0.01)
    trainer = quiet_trainer(tmp_path, max_epochs=12)
    valid = _labelled(level, 9, seed=1)
    loaders = DataLoader(_labelled(level, 48), batch_size=4), DataLoader(valid, batch_size=4)
    trainer.fit(predictor, *loaders)
    found = trainer.callback_metrics["valid/rmse"].item()
    assert found < 0.4
    predictor.eval()
    with torch.no_grad():
        errors = [(predictor(Batch.from_data_list([graph])) - graph.y) ** 2 for graph in valid]
    wanted = sum(float(error.nanmean()) for error in errors) / len(valid)
    assert found == pytest.approx(math.sqrt(wanted), rel=1e-5)


def test_evaluation_keeps_labelled_rows_and_prediction_all(tmp_path: Path) -> None:
    task = _task("pair")
    network = GINE(FEATURES, 1, hidden_channels=8, num_layers=1, norm="layer", level="pair")
    predictor = GraphPredictor(network, task)
    graphs = _labelled("pair", 3)
    trainer = quiet_trainer(tmp_path)
    trainer.validate(predictor, DataLoader(graphs, batch_size=2), verbose=False)
    places = [
        [number, *divmod(row, graph.num_nodes)]
        for number, graph in enumerate(graphs)
        for row in range(graph.num_nodes**2)
    ]
    labels = torch.cat([graph.y for graph in graphs]).flatten()
    labelled = [place for place, label in zip(places, labels, strict=True) if not label.isnan()]
    assert predictor.evaluation().places.tolist() == labelled
    first, second = trainer.predict(predictor, DataLoader(graphs, batch_size=2))
    assert set(first) == {"graph", "source_node", "target_node", "prediction"}
    predicted = [
        list(row)
        for part in (first, second)
        for row in zip(
            *(part[name].tolist() for name in ("graph", "source_node", "target_node")), strict=True
        )
    ]
    assert predicted == places


def test_predictions_of_edges_are_in_the_order_of_the_edges(tmp_path: Path) -> None:
    """Also those of parallel edges, which have the same nodes."""
    edges = [
        torch.tensor([[2, 0, 2, 1], [0, 1, 0, 1]]),
        torch.zeros(2, 0, dtype=torch.long),
        torch.tensor([[1, 0], [0, 1]]),
    ]
    graphs = [
        Data(x=torch.zeros(3, 1, dtype=torch.long), edge_index=e, y=torch.zeros(e.size(1)))
        for e in edges
    ]
    graphs[0].y[1] = NAN
    network = GINE(FEATURES, 1, hidden_channels=8, num_layers=1, norm="layer", level="edge")
    writer = PredictionWriter(tmp_path / "predictions.csv")
    trainer = quiet_trainer(tmp_path, callbacks=[writer])
    predictor = GraphPredictor(network, _task("edge"))
    parts = trainer.predict(predictor, DataLoader(graphs, batch_size=2))
    assert list(parts[0]) == ["graph", "edge", "source_node", "target_node", "prediction"]
    head, *rows = (tmp_path / "predictions.csv").read_text().splitlines()
    assert head == "graph,edge,source_node,target_node,prediction_0"
    wanted = [
        [number, edge, *nodes]
        for number, graph in enumerate(graphs)
        for edge, nodes in enumerate(graph.edge_index.T.tolist())
    ]
    assert [[int(cell) for cell in row.split(",")[:4]] for row in rows] == wanted
    trainer.test(predictor, DataLoader(graphs, batch_size=2), verbose=False)
    head, *rows = (tmp_path / "predictions.csv").read_text().splitlines()
    assert head == "graph,edge,source_node,target_node,target_0,prediction_0"
    del wanted[1]  # without a target
    assert [[int(cell) for cell in row.split(",")[:4]] for row in rows] == wanted


def test_the_loss_of_graphs_counts_them_alike() -> None:
    """A graph with squared errors 1 and 9, one with 4, one without labels: (5 + 4) / 2."""
    task = _task("node")
    graphs = [
        Data(y=torch.tensor([[1.0], [3.0]]), num_nodes=2),
        Data(y=torch.tensor([[2.0], [NAN], [NAN]]), num_nodes=3),
        Data(y=torch.tensor([[NAN]]), num_nodes=1),
    ]
    batch = Batch.from_data_list(graphs)
    target = read_targets(task, batch)
    output = torch.zeros(6, 1, requires_grad=True)
    loss = task_loss(task, output, target, row_places(task, batch)[:, 0])
    assert float(loss.detach()) == pytest.approx(4.5)
    loss.backward()
    assert output.grad.flatten().tolist() == [-0.5, -1.5, -2.0, 0, 0, 0]
    nothing = task_loss(task, output, torch.full_like(target, NAN), row_places(task, batch)[:, 0])
    assert float(nothing.detach()) == 0


def test_the_loss_of_graphs_counts_those_with_few_edges_alike() -> None:
    """Squared errors 1, 1, 1 in one graph, 9 in another, and a graph without edges: (1 + 9) / 2."""
    edges = [torch.zeros(2, count, dtype=torch.long) for count in (3, 0, 1)]
    labels = [torch.ones(3), torch.ones(0), torch.tensor([3.0])]
    graphs = [Data(edge_index=e, y=y, num_nodes=2) for e, y in zip(edges, labels, strict=True)]
    task, batch = _task("edge"), Batch.from_data_list(graphs)
    target = read_targets(task, batch)
    loss = task_loss(task, torch.zeros(4, 1), target, row_places(task, batch)[:, 0])
    assert float(loss) == pytest.approx(5)


@pytest.mark.parametrize(("level", "rows"), [("node", "n"), ("edge", "edges"), ("pair", r"n \* n")])
def test_targets_of_another_level_are_refused(level: TaskLevel, rows: str) -> None:
    batch = Batch.from_data_list(cycles(3))
    with pytest.raises(ValueError, match=rf"must be a tensor \[{rows}, 1\]"):
        read_targets(_task(level), batch)


def test_the_number_of_rows_is_compared_with_that_of_edges() -> None:
    """Labels of bonds, each of which is two edges."""
    edge_index = torch.arange(50).repeat(2, 1)
    graphs = [Data(edge_index=edge_index, y=torch.zeros(25), num_nodes=50) for _ in range(5)]
    with pytest.raises(ValueError, match="`y` has 125 rows, but the 5 graphs have 250 edges; "):
        read_targets(_task("edge"), Batch.from_data_list(graphs))
    with pytest.raises(ValueError, match="`y` has 25 rows, but the graph has 50 nodes; "):
        read_targets(_task("node"), graphs[0])
    with pytest.raises(ValueError, match=r"`y` has shape \[50, 2\].*num_targets is 1"):
        read_targets(_task("edge"), Data(edge_index=edge_index, y=torch.zeros(50, 2), num_nodes=50))


def test_matrices_are_no_rows_of_pairs() -> None:
    """Graphs of equal sizes collate, and matrices have as many numbers as there are pairs."""
    task = _task("pair")
    y = torch.arange(9.0).view(3, 3)
    graphs = [Data(y=y, num_nodes=3), Data(y=-y, num_nodes=3)]
    with pytest.raises(ValueError, match=r"`y` has 6 rows, .* 18 pairs; .*\[n \* n, 1\]"):
        read_targets(task, Batch.from_data_list(graphs))
    for shape in ((9,), (9, 1)):
        right = [Data(y=graph.y.reshape(shape), num_nodes=3) for graph in graphs]
        read = read_targets(task, Batch.from_data_list(right))
        assert read.tolist() == torch.cat([y, -y]).view(-1, 1).tolist()


def test_two_targets_of_a_node_are_a_row() -> None:
    task = Task(kind="regression", metric="mae", num_targets=2, level="node")
    y = torch.arange(6.0).view(3, 2)
    assert torch.equal(read_targets(task, Data(y=y, num_nodes=3)), y)
    for wrong in (y.T, y.flatten()):
        with pytest.raises(ValueError, match=r"must be a tensor \[n, 2\]"):
            read_targets(task, Data(y=wrong, num_nodes=3))


def test_a_network_of_another_level_is_refused() -> None:
    with pytest.raises(ValueError, match="its level to 'node'"):
        task_loss(_task("node"), torch.zeros(3, 1), torch.zeros(5, 1))


@pytest.mark.parametrize(
    "setting", [{"level": "hop"}, {"average": "nodes"}, {"more_metrics": ["ap"]}]
)
def test_bad_tasks_are_refused(setting: dict) -> None:
    with pytest.raises(ValueError, match=r"task\."):
        Task(**{"kind": "regression", "metric": "mae", **setting})
