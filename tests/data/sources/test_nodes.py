"""NodeSource: three parts of one graph, which share it, and whose targets are their own nodes' only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch
from lightning.pytorch import Trainer
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphpe import Features, Task
from graphpe.data import GraphDataModule, NodeSource, SplitGraphs
from graphpe.nn import GINE, NodeEncoder
from graphpe.training import GraphPredictor
from graphpe.training.callbacks import PredictionWriter
from graphpe.transforms import AddRandomWalkPE


@dataclass(frozen=True, eq=False)
class Ring(NodeSource):
    """A ring of 12 nodes, whose class is whether the number is odd, which is also its feature."""

    parts: Mapping[str, Tensor] = field(
        default_factory=lambda: {
            "train": torch.arange(6),
            "valid": torch.arange(6, 8),
            "test": torch.arange(8, 12),
        }
    )
    y: Tensor | None = field(default_factory=lambda: torch.arange(12) % 2)
    isolated: int = 0

    def load(self) -> SplitGraphs:
        nodes = torch.arange(12)
        edges = torch.stack([nodes, (nodes + 1) % 12])
        x = torch.arange(12 + self.isolated).view(-1, 1).float() % 2
        graph = Data(x=x, edge_index=torch.cat([edges, edges.flip(0)], dim=1), y=self.y)
        graph.num_nodes = 12 + self.isolated
        return SplitGraphs([graph], self.parts)


def parts_of(source: NodeSource) -> dict[str, Data]:
    graphs, index = source.load()
    parts = {name: source.part(graphs, index, name) for name in index}
    assert all(len(part) == 1 for part in parts.values())
    return {name: part[0] for name, part in parts.items()}


def test_targets_are_those_of_the_parts_own_nodes() -> None:
    source = Ring()
    (graph,), index = source.load()
    for name, part in parts_of(source).items():
        assert part.y.dtype == torch.float32
        assert torch.equal(~part.y.isnan(), torch.isin(torch.arange(12), index[name]))
        assert torch.equal(part.y[index[name]], graph.y[index[name]].float())
    assert graph.y.dtype == torch.long  # what `load` gave is as it was


def test_parts_share_the_memory_of_the_graph() -> None:
    graphs, index = Ring().load()
    parts = [Ring().part(graphs, index, name)[0] for name in index]
    for attribute in ("x", "edge_index"):
        wanted = graphs[0][attribute].data_ptr()
        assert {part[attribute].data_ptr() for part in parts} == {wanted}


def test_parts_share_the_memory_of_encodings_which_are_made_once() -> None:
    module = GraphDataModule(Ring(), [AddRandomWalkPE(3)])
    module.setup()
    parts = [module.parts[name][0] for name in ("train", "valid", "test")]
    assert len({part.random_walk_pe.data_ptr() for part in parts}) == 1
    assert parts[0].random_walk_pe.shape == (12, 3)


def test_a_missing_label_stays_missing() -> None:
    y = torch.arange(24.0).view(12, 2)
    y[2, 1] = torch.nan
    part = parts_of(Ring(y=y))["train"]
    assert part.y[2].isnan().tolist() == [False, True]
    assert torch.equal(part.y[3], y[3])


def test_empty_and_unused_nodes() -> None:
    parts = {"train": torch.tensor([3]), "valid": torch.arange(0), "test": torch.tensor([5])}
    found = parts_of(Ring(parts=parts))
    assert [(~part.y.isnan()).sum().item() for part in found.values()] == [1, 0, 1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"y": None}, "`y` of the graph is no tensor"),
        ({"isolated": 1}, "`y` of the graph has 12 rows, but the graph has 13 nodes"),
        ({"train": torch.ones(12, dtype=torch.bool)}, "torch.bool.*mask.nonzero"),
        ({"train": torch.arange(6).view(2, 3)}, r"int64 \[2, 3\]"),
        ({"train": torch.tensor([12])}, "numbers from 12 to 12, but the graph has 12 nodes"),
        ({"train": torch.tensor([-1])}, "numbers from -1 to -1"),
        ({"train": torch.tensor([0, 9])}, "node 9 is in both 'train' and 'test'"),
    ],
)
def test_what_is_no_split_is_one_line(settings: dict, message: str) -> None:
    if "train" in settings:
        settings = {"parts": {**Ring().parts, **settings}}
    source = Ring(**settings)
    graphs, index = source.load()
    with pytest.raises(ValueError, match=message) as error:
        source.part(graphs, index, "valid")
    assert "\n" not in str(error.value)
    assert str(error.value).startswith("Ring: ")


def test_training_does_not_see_the_labels_of_other_parts(tmp_path: Path) -> None:
    """Other labels of the other nodes leave the trained weights as they are."""
    weights = []
    for y in (torch.arange(12) % 2, torch.where(torch.arange(12) < 6, torch.arange(12) % 2, 1)):
        torch.manual_seed(0)
        network = GINE(Features(node_continuous=1), 2, 8, 1, level="node")
        train(network, Ring(y=y), tmp_path, max_epochs=3)
        weights.append(torch.cat([p.detach().flatten() for p in network.parameters()]))
    assert torch.equal(*weights)


def test_trains_and_writes_the_predictions_of_the_test_nodes(tmp_path: Path) -> None:
    torch.manual_seed(0)
    network = GINE(
        Features(node_continuous=1),
        2,
        16,
        2,
        level="node",
        positional_encoders=[NodeEncoder(in_channels=3, out_channels=16)],
    )
    trainer, model, data = train(network, Ring(), tmp_path, max_epochs=30)
    (found,) = trainer.test(model, data, verbose=False)
    assert found["test/accuracy"] == 1.0
    lines = (tmp_path / "predictions.csv").read_text().splitlines()
    assert lines[0] == "graph,node,target_0,prediction_0,prediction_1"
    assert [line.split(",")[:3] for line in lines[1:]] == [
        ["0", str(node), str(node % 2)] for node in range(8, 12)
    ]
    (predicted,) = trainer.predict(model, data)
    assert predicted["node"].tolist() == list(range(12))


def train(
    network: GINE, source: NodeSource, folder: Path, max_epochs: int
) -> tuple[Trainer, GraphPredictor, GraphDataModule]:
    task = Task(kind="multiclass", metric="accuracy", num_classes=2, level="node")
    encodings = [AddRandomWalkPE(3)] if len(network.positional_encoders) else []
    data = GraphDataModule(source, encodings)
    model = GraphPredictor(network, task, lr=0.02)
    trainer = Trainer(
        max_epochs=max_epochs,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=folder,
        accelerator="cpu",
        callbacks=[PredictionWriter(folder / "predictions.csv")],
    )
    trainer.fit(model, data)
    return trainer, model, data


def test_feature_dropout_is_new_in_each_step_of_training_and_nowhere_else() -> None:
    module = GraphDataModule(Ring(feature_dropout=0.5))
    module.setup()
    x = module.parts["valid"][0].x
    seen = [next(iter(module.train_dataloader())).x for _ in range(20)]
    assert set(torch.cat(seen).flatten().tolist()) == {0.0, 2.0}
    assert len({tuple(part.flatten().tolist()) for part in seen}) > 10
    assert all((part[x == 0] == 0).all() for part in seen)
    for loader in (module.val_dataloader(), module.test_dataloader(), module.predict_dataloader()):
        assert torch.equal(next(iter(loader)).x, x)
    assert torch.equal(module.parts["valid"][0].x, Ring().load().graphs[0].x)


@pytest.mark.parametrize("probability", [1.0, -0.1, float("nan"), "0.5"])
def test_feature_dropout_out_of_range(probability: object) -> None:
    with pytest.raises(ValueError, match="feature_dropout is"):
        Ring(feature_dropout=probability)


def test_feature_dropout_needs_float_features() -> None:
    graph = Data(x=torch.arange(12).view(-1, 1), y=torch.arange(12))
    with pytest.raises(ValueError, match=r"feature_dropout is 0\.5.*torch\.int64; set it to 0"):
        Ring(feature_dropout=0.5).part([graph], Ring().parts, "train")


def test_a_batch_holds_no_mask_and_no_other_label() -> None:
    module = GraphDataModule(Ring())
    module.setup()
    (batch,) = module.train_dataloader()
    assert isinstance(batch, Batch)
    assert set(batch.keys()) == {"x", "edge_index", "y", "num_nodes", "batch", "ptr"}
    assert batch.y[6:].isnan().all()
