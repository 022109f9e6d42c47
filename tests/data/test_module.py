"""GraphDataModule: loads, encodes once, and serves every graph."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import jsonargparse
import pytest
import torch
from lightning.pytorch import LightningModule, Trainer
from torch_geometric.data import Batch, Data, Dataset, InMemoryDataset

from graphpe import Features, encode
from graphpe.data import (
    ZINC,
    GraphDataModule,
    GraphSource,
    InMemorySource,
    OGBSource,
    SplitGraphs,
    ZINCSource,
)
from graphpe.nn import GINE, NodeEncoder
from graphpe.training.numbering import graph_order
from graphpe.transforms import AddLaplacianEigenvectorPE, AddRandomWalkPE

ENCODINGS = [AddLaplacianEigenvectorPE(4), AddRandomWalkPE(5)]


def path_graph(n: int, label: float = 0.0) -> Data:
    forward = torch.stack([torch.arange(n - 1), torch.arange(1, n)])
    return Data(
        x=torch.zeros(n, 1, dtype=torch.long),
        edge_index=torch.cat([forward, forward.flip(0)], dim=1),
        y=torch.tensor([[label]]),
    )


def paths(first: int, last: int) -> list[Data]:
    """Paths of n nodes with label n."""
    return [path_graph(n, float(n)) for n in range(first, last + 1)]


SOURCE = InMemorySource(train=paths(1, 10), valid=paths(11, 13), test=paths(14, 18))


def labels(loader) -> list[float]:
    return [label for batch in loader for label in batch.y.flatten().tolist()]


def test_every_graph_is_served_with_its_encodings() -> None:
    data = GraphDataModule(SOURCE, ENCODINGS, batch_size=3)
    data.prepare_data()
    data.setup()
    assert data.num_graphs == {"train": 10, "valid": 3, "test": 5}
    assert data.encoding_seconds > 0
    assert set(data.fields) == {
        "laplacian_eigenvector_pe",
        "laplacian_eigenvalue",
        "laplacian_eigenvector_count",
        "laplacian_eigenspace_cut",
        "random_walk_pe",
    }
    # No graph is dropped: not the last batch of one either.
    assert [batch.num_graphs for batch in data.train_dataloader()] == [3, 3, 3, 1]
    assert sorted(labels(data.train_dataloader())) == list(range(1, 11))
    assert labels(data.val_dataloader()) == [11, 12, 13]
    assert labels(data.test_dataloader()) == list(range(14, 19))
    assert labels(data.predict_dataloader()) == list(range(14, 19))
    for graph in next(iter(data.test_dataloader())).to_data_list():
        alone = path_graph(graph.num_nodes)
        for encoding in ENCODINGS:
            alone = encoding(alone)
        for name, field in data.fields.items():
            assert torch.equal(graph[name], alone[name])
            assert graph[name].shape[1] == field.width


def test_seed_determines_the_training_order() -> None:
    def orders(seed: int) -> list[list[float]]:
        data = GraphDataModule(SOURCE, batch_size=4, seed=seed)
        data.setup()
        loader = data.train_dataloader()
        return [labels(loader), labels(loader)]

    first, second = orders(0)
    assert first != second  # of two epochs
    assert orders(0) == [first, second]
    assert orders(1) != [first, second]


def test_setup_encodes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    data = GraphDataModule(SOURCE, ENCODINGS)
    for stage in ("fit", "test", None):
        data.setup(stage)
        if stage == "fit":
            parts = data.parts
            monkeypatch.setattr("graphpe.data.module.encode", None)
    assert data.parts is parts


def test_without_encodings() -> None:
    data = GraphDataModule(SOURCE)
    data.setup()
    assert (data.fields, data.encoding_seconds) == ({}, 0.0)
    assert len(data.parts["train"]) == 10


@pytest.mark.parametrize("num_workers", [0, 1])
def test_ogb_source(molesol: Path, num_workers: int) -> None:
    data = GraphDataModule(OGBSource("ogbg-molesol", molesol), ENCODINGS, num_workers=num_workers)
    data.prepare_data()
    assert (molesol / "ogbg_molesol" / "processed").is_dir()
    data.setup("fit")
    assert data.num_graphs == {"train": 902, "valid": 113, "test": 113}
    graphs, index = data.dataset.load()
    theirs = graphs[index["valid"]]
    (batch,) = data.val_dataloader()
    assert torch.equal(batch.x, torch.cat([graph.x for graph in theirs]))
    assert torch.equal(batch.y, torch.cat([graph.y for graph in theirs]))
    assert batch.random_walk_pe.shape == (batch.num_nodes, 5)
    assert batch.laplacian_eigenvalue.shape == (113, 4)


def test_zinc_source(shared_data: Path, tmp_path: Path) -> None:
    if not (shared_data / "zinc" / "raw").is_dir():
        pytest.skip(f"ZINC is not in {shared_data}")
    shutil.copytree(shared_data / "zinc" / "raw", tmp_path / "raw", copy_function=shutil.copyfile)
    # A small train part, for speed.
    (tmp_path / "raw" / "train.index").write_text(",".join(map(str, range(100))) + "\n")
    data = GraphDataModule(
        ZINCSource(tmp_path), ENCODINGS, features=Features((28,), edge_categories=(4,))
    )
    data.setup()
    assert data.num_graphs == {"train": 100, "valid": 1000, "test": 1000}
    test = ZINC(tmp_path)[1100:]
    assert torch.equal(
        torch.cat([batch.y for batch in data.test_dataloader()]),
        torch.cat([graph.y for graph in test]),
    )


def test_pyg_datasets_as_parts() -> None:
    """Also for GraphGPS#3 and the like: own data without a global configuration."""

    data = GraphDataModule(
        InMemorySource(Stored(paths(2, 5)), Stored(paths(6, 7)), Stored(paths(8, 9))), ENCODINGS
    )
    data.setup()
    assert labels(data.val_dataloader()) == [6, 7]
    assert next(iter(data.test_dataloader())).random_walk_pe.shape == (17, 5)


class OnDisk(Dataset):
    """Paths, read one by one."""

    def len(self) -> int:
        return 9

    def get(self, idx: int) -> Data:
        return path_graph(idx + 1)


class Stored(InMemoryDataset):
    def __init__(self, graphs: list[Data]) -> None:
        super().__init__()
        self.data, self.slices = self.collate(graphs)


@dataclass(frozen=True)
class EncodedSource(GraphSource):
    """A source that encodes what it loads."""

    def load(self) -> SplitGraphs:
        parts = {"train": torch.arange(4), "valid": torch.tensor([4]), "test": torch.tensor([5])}
        return SplitGraphs(encode(Stored(paths(1, 6)), ENCODINGS[1:]), parts)


@pytest.mark.parametrize("graphs", [paths(1, 9), Stored(paths(1, 9)), OnDisk()])
def test_encoded_graphs_bring_their_fields(graphs) -> None:
    encoded = encode(graphs, ENCODINGS[1:])
    source = InMemorySource(encoded[:4], encoded[4:5], encoded[5:])
    expected = {"random_walk_pe": ENCODINGS[1].fields()[0]}
    assert GraphDataModule(source).fields == expected
    data = GraphDataModule(source, ENCODINGS[:1])
    assert data.fields.keys() == {
        "random_walk_pe",
        "laplacian_eigenvector_pe",
        "laplacian_eigenvalue",
        "laplacian_eigenvector_count",
        "laplacian_eigenspace_cut",
    }
    data.setup()
    batch = next(iter(data.val_dataloader()))
    for name, field in data.fields.items():
        assert batch[name].shape[1] == field.width
    GINE(
        Features((1,)),
        hidden_channels=8,
        positional_encoders=[NodeEncoder(5, 8)],
    ).check_fields(data.fields)


def test_a_source_that_encodes_brings_its_fields_with_setup() -> None:
    data = GraphDataModule(EncodedSource(), ENCODINGS[:1])
    assert "random_walk_pe" not in data.fields
    data.setup()
    assert data.fields["random_walk_pe"] == ENCODINGS[1].fields()[0]
    assert "laplacian_eigenvalue" in data.fields


def test_fields_are_those_of_all_parts() -> None:
    """A part without graphs lacks nothing."""
    encoded = encode(paths(1, 6), [AddRandomWalkPE(5)])
    other = encode(paths(1, 6), [AddRandomWalkPE(4)])
    assert set(InMemorySource(encoded, encoded, []).fields) == {"random_walk_pe"}
    assert InMemorySource(encoded, paths(1, 2), encoded).fields == {}
    assert InMemorySource(encoded, encoded, other).fields == {}
    assert InMemorySource([], [], []).fields == {}


# --- errors ---------------------------------------------------------------------------------------


def test_bad_settings() -> None:
    with pytest.raises(TypeError, match="dataset is a list; it must be a GraphSource"):
        GraphDataModule(paths(1, 2))
    with pytest.raises(ValueError, match="batch_size is 0"):
        GraphDataModule(SOURCE, batch_size=0)
    with pytest.raises(ValueError, match="batch_size is True"):
        GraphDataModule(SOURCE, batch_size=True)
    with pytest.raises(ValueError, match="num_workers is -1"):
        GraphDataModule(SOURCE, num_workers=-1)
    with pytest.raises(ValueError, match="seed is -1"):
        GraphDataModule(SOURCE, seed=-1)
    with pytest.raises(ValueError, match="bucket_by_size is 'yes'"):
        GraphDataModule(SOURCE, bucket_by_size="yes")
    with pytest.raises(ValueError, match="both write 'random_walk_pe'"):
        GraphDataModule(SOURCE, [AddRandomWalkPE(3), AddRandomWalkPE(4)])


@pytest.mark.parametrize(
    ("encodings", "message"),
    [
        (AddRandomWalkPE(2), "encodings is a AddRandomWalkPE; it must be a list"),
        ("AddRandomWalkPE", "encodings is a str"),
        (AddRandomWalkPE, "encodings is the class AddRandomWalkPE"),
        ([AddRandomWalkPE], r"encodings\[0\] is the class AddRandomWalkPE; give an instance"),
        ([AddRandomWalkPE(2), "x"], r"encodings\[1\] is a str; it must be an encoding such as"),
    ],
)
def test_what_is_no_list_of_encodings_is_refused(encodings: object, message: str) -> None:
    with pytest.raises(TypeError, match=message) as error:
        GraphDataModule(SOURCE, encodings)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        ((graph for graph in paths(1, 2)), "generator"),
        (None, "NoneType"),
        (path_graph(2), "Data"),
        (Batch.from_data_list(paths(1, 2)), "DataBatch"),
    ],
)
def test_what_is_no_sequence_of_graphs_is_refused(part: object, kind: str) -> None:
    for name in ("train", "valid", "test"):
        parts = {"train": paths(1, 2), "valid": paths(1, 2), "test": paths(1, 2), name: part}
        message = f"{name} is a {kind}; it must be a list of Data or a PyG dataset"
        with pytest.raises(TypeError, match=message) as error:
            InMemorySource(**parts)
        assert "\n" not in str(error.value)


def test_subsets_of_torch_are_sequences() -> None:
    halves = torch.utils.data.random_split(paths(1, 6), [3, 3])
    data = GraphDataModule(InMemorySource(halves[0], halves[1], paths(7, 7)))
    data.setup()
    assert data.num_graphs == {"train": 3, "valid": 3, "test": 1}


def test_features_are_checked() -> None:
    data = GraphDataModule(SOURCE, features=Features(node_categories=(1,)))
    data.setup()
    data = GraphDataModule(SOURCE, features=Features(node_categories=(1,), edge_categories=(2,)))
    with pytest.raises(ValueError, match="graph 0 has no edge_attr"):
        data.setup()


def test_empty_part_is_named() -> None:
    data = GraphDataModule(InMemorySource(train=[], valid=paths(1, 2), test=paths(3, 3)))
    data.setup()
    assert labels(data.val_dataloader()) == [1, 2]
    with pytest.raises(ValueError, match=r"the train part of InMemorySource.* has no graphs"):
        data.train_dataloader()


def test_bad_graph_is_named() -> None:
    wrong = path_graph(3)
    wrong.edge_index[0, 0] = 3
    data = GraphDataModule(InMemorySource(paths(1, 3), [wrong], paths(2, 2)), ENCODINGS)
    with pytest.raises(ValueError, match="edge_index of graph 3"):
        data.setup()


@dataclass(frozen=True)
class TwoParts(GraphSource):
    """A source that forgets a part."""

    def load(self) -> SplitGraphs:
        return SplitGraphs(paths(1, 2), {"train": torch.tensor([0]), "test": torch.tensor([1])})


def test_forgotten_part_is_named() -> None:
    with pytest.raises(ValueError, match=r"TwoParts\.load gives no split index for 'valid'"):
        GraphDataModule(TwoParts()).setup()


# --- configuration, Lightning ---------------------------------------------------------------------


def test_configured_from_yaml(molesol: Path) -> None:
    parser = jsonargparse.ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(GraphDataModule, "data")
    config = parser.parse_string(
        f"""
data:
  dataset:
    class_path: graphpe.data.OGBSource
    init_args: {{name: ogbg-molesol, root: {molesol}}}
  encodings:
    - class_path: graphpe.transforms.AddLaplacianEigenvectorPE
      init_args: {{k: 4}}
    - class_path: graphpe.transforms.AddRandomWalkPE
      init_args: {{walk_length: 5}}
  batch_size: 32
"""
    )
    assert parser.parse_string(parser.dump(config)) == config
    data = parser.instantiate(config).data
    assert data.dataset == OGBSource("ogbg-molesol", molesol)
    assert data.encodings == ENCODINGS
    assert data.batch_size == 32


class Mean(LightningModule):
    """Predicts one number."""

    def __init__(self) -> None:
        super().__init__()
        self.mean = torch.nn.Parameter(torch.zeros(1))
        self.seen: list[float] = []

    def training_step(self, batch):
        return (self.mean - batch.y).abs().mean()

    def validation_step(self, batch) -> None:
        assert batch.random_walk_pe.shape[1] == 5

    def test_step(self, batch) -> None:
        self.seen += batch.y.flatten().tolist()

    def predict_step(self, batch):
        return batch.y

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)


@pytest.mark.filterwarnings("ignore:.*does not have many workers")
@pytest.mark.filterwarnings("ignore:.*GPU available but not used")
def test_with_a_trainer() -> None:
    trainer = Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    model, data = Mean(), GraphDataModule(SOURCE, ENCODINGS, batch_size=4)
    trainer.fit(model, datamodule=data)
    trainer.test(model, datamodule=data, verbose=False)
    predictions = trainer.predict(model, datamodule=data)
    assert model.seen == list(range(14, 19))
    assert torch.cat(predictions).flatten().tolist() == list(range(14, 19))


def trainer_of(folder: Path, **settings) -> Trainer:
    return Trainer(
        accelerator="cpu",
        default_root_dir=folder,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        **settings,
    )


class Recorder(Mean):
    """Writes down what it is trained on in each epoch."""

    def on_train_epoch_start(self) -> None:
        self.seen.append([])

    def training_step(self, batch):
        self.seen[-1] += batch.y.flatten().tolist()
        return super().training_step(batch)

    def configure_optimizers(self):
        assert self.trainer.estimated_stepping_batches  # asks for the loaders early
        return super().configure_optimizers()


@pytest.mark.filterwarnings("ignore:.*does not have many workers")
@pytest.mark.filterwarnings("ignore:.*GPU available but not used")
@pytest.mark.parametrize("num_workers", [0, 1])
@pytest.mark.parametrize("bucket_by_size", [False, True])
def test_a_resumed_training_has_the_order_of_its_epochs(
    tmp_path: Path, num_workers: int, bucket_by_size: bool
) -> None:
    def data() -> GraphDataModule:
        return GraphDataModule(
            SOURCE, ENCODINGS, 4, num_workers=num_workers, bucket_by_size=bucket_by_size
        )

    straight, first, second = Recorder(), Recorder(), Recorder()
    trainer_of(tmp_path, max_epochs=4, enable_checkpointing=False).fit(straight, datamodule=data())
    trainer = trainer_of(tmp_path, max_epochs=2)
    trainer.fit(first, datamodule=data())
    trainer.save_checkpoint(tmp_path / "after.ckpt")
    trainer = trainer_of(tmp_path, max_epochs=4, enable_checkpointing=False)
    trainer.fit(second, datamodule=data(), ckpt_path=tmp_path / "after.ckpt")
    assert first.seen + second.seen == straight.seen
    assert len({tuple(epoch) for epoch in straight.seen}) == 4
    assert sorted(straight.seen[3]) == list(range(1, 11))


@pytest.mark.filterwarnings("ignore:.*does not have many workers")
@pytest.mark.filterwarnings("ignore:.*GPU available but not used")
def test_overfitting_takes_the_same_batches_in_each_epoch(tmp_path: Path) -> None:
    trainer = trainer_of(tmp_path, max_epochs=2, overfit_batches=2, enable_checkpointing=False)
    model = Recorder()
    trainer.fit(model, datamodule=GraphDataModule(SOURCE, ENCODINGS, 3))
    assert model.seen == [[1, 2, 3, 4, 5, 6]] * 2


def test_batches_of_similar_sizes() -> None:
    graphs = [path_graph(n, float(i)) for i, n in enumerate([20] * 6 + [9] * 5)]
    data = GraphDataModule(
        InMemorySource(graphs, paths(1, 9), paths(1, 2)), batch_size=4, bucket_by_size=True
    )
    data.setup()
    loader = data.train_dataloader()
    assert sorted(labels(loader)) == list(range(11))
    for _ in range(5):
        sizes = [batch.ptr.diff() for batch in loader]
        assert len(sizes) == len(loader)
        assert sum(size.sum() for size in sizes) > 0.8 * sum(
            len(size) * size.max() for size in sizes
        )
    assert labels(data.val_dataloader()) == list(range(1, 10))  # in its order, in full batches
    assert [batch.num_graphs for batch in data.val_dataloader()] == [4, 4, 1]


class TooLarge(EncodedSource):
    """Graphs that have no room for their encodings."""

    encodes_batches = True

    def load(self) -> SplitGraphs:
        parts = {"train": torch.arange(4), "valid": torch.tensor([4]), "test": torch.tensor([5])}
        return SplitGraphs(Stored(paths(1, 6)), parts)


@pytest.mark.parametrize("num_workers", [0, 1])
def test_a_source_can_have_its_batches_encoded(
    monkeypatch: pytest.MonkeyPatch, num_workers: int
) -> None:
    ahead = encode(Stored(paths(1, 6)), ENCODINGS)
    monkeypatch.setattr("graphpe.data.module.encode", None)
    data = GraphDataModule(TooLarge(), ENCODINGS, batch_size=3, num_workers=num_workers)
    data.setup()
    assert "random_walk_pe" not in data.parts["train"][0]
    for loader in (data.train_dataloader(), data.test_dataloader()):
        for batch in loader:
            theirs = Batch.from_data_list([ahead[int(label) - 1] for label in batch.y])
            for name in data.fields:
                assert torch.equal(batch[name], theirs[name])
    assert data.encoding_seconds == 0.0


class Shuffled(GraphSource):
    """A list of graphs with a split in no particular order."""

    index: ClassVar = {
        "train": torch.tensor([5, 0, 3]),
        "valid": torch.tensor([2]),
        "test": torch.tensor([4, 1]),
    }

    def load(self) -> SplitGraphs:
        return SplitGraphs(paths(1, 6), self.index)


def test_parts_know_the_numbers_of_their_graphs_in_the_whole() -> None:
    """Predictions can be matched to the graphs also where these come as a list."""
    data = GraphDataModule(Shuffled(), ENCODINGS, batch_size=2)
    data.setup()
    for part, loader in (("valid", data.val_dataloader()), ("test", data.test_dataloader())):
        assert graph_order(loader).tolist() == Shuffled.index[part].tolist()
        assert labels(loader) == [number + 1.0 for number in Shuffled.index[part].tolist()]


@pytest.mark.parametrize(
    ("attribute", "value", "message"),
    [
        ("y", None, r"graph 4 has the attributes \['edge_index', 'x'\].*graph 0"),
        ("smiles", "C", r"graph 4 has the attributes \[.*'smiles'"),
        ("x", torch.rand(3, 2), r"x of graph 4 is .*\[any, 2\].*graph 0.*\[any, 1\]"),
    ],
)
def test_graphs_that_no_batch_could_hold_are_refused_at_once(attribute, value, message) -> None:
    """PyG fails in the middle of training, or drops the attribute, as the order of graphs has it."""
    edges = torch.tensor([[0, 1], [1, 2]])
    graphs = [Data(x=torch.rand(3, 1), edge_index=edges, y=torch.rand(1, 1)) for _ in range(6)]
    setattr(graphs[4], attribute, value)
    if value is None:
        del graphs[4][attribute]
    module = GraphDataModule(InMemorySource(graphs[:2], graphs[2:4], graphs[4:]))
    with pytest.raises(ValueError, match=message):
        module.setup()
