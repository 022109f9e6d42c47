"""Splits by size: disjoint, complete, seeded, and larger graphs in the test."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from raw_graph_folders import cycle, write_tu
from torch_geometric.data import Data

from graphpe import Features, Task
from graphpe.data import (
    DatasetCard,
    GraphDataModule,
    GraphSource,
    InMemorySource,
    OGBSource,
    SizeSplit,
    SplitGraphs,
    TUSource,
)
from graphpe.transforms import AddRandomWalkPE


def source(sizes: list[int]) -> InMemorySource:
    """Cycles of these sizes, dealt to three parts."""
    graphs = [Data(edge_index=cycle(n), num_nodes=n, y=torch.tensor([float(n)])) for n in sizes]
    third = len(graphs) // 3
    return InMemorySource(graphs[:third], graphs[third : 2 * third], graphs[2 * third :])


@given(
    st.lists(st.integers(1, 12), min_size=8, max_size=40),
    st.floats(0.3, 0.9),
    st.floats(0.2, 0.8),
    st.integers(0, 2**63 - 1),
)
def test_parts_are_disjoint_and_complete(
    sizes: list[int], small: float, valid: float, seed: int
) -> None:
    nodes = torch.tensor(sizes)
    bound = next(b for b in range(1, 13) if (nodes <= b).double().mean() >= small)
    if bound >= max(sizes):
        return
    split = SizeSplit(source=source(sizes), small_fraction=small, valid_fraction=valid, seed=seed)
    graphs, index = split.load()
    assert [graph.num_nodes for graph in graphs] == sizes
    everything = torch.cat(list(index.values()))
    assert everything.sort().values.tolist() == list(range(len(sizes)))
    assert max(nodes[index["train"]].max(), nodes[index["valid"]].max()) <= bound
    assert nodes[index["test"]].min() > bound
    num_small = int((nodes <= bound).sum())
    assert len(index["valid"]) == round(valid * num_small)
    same = SizeSplit(
        source=source(sizes), largest_train_nodes=bound, valid_fraction=valid, seed=seed
    )
    for part, numbers in same.load().index.items():
        assert torch.equal(numbers, index[part])


def test_the_seed_decides() -> None:
    drawn = [
        SizeSplit(source=source([*range(1, 40)]), largest_train_nodes=30, seed=seed).load().index
        for seed in (1, 1, 2)
    ]
    assert torch.equal(drawn[0]["valid"], drawn[1]["valid"])
    assert not torch.equal(drawn[0]["valid"], drawn[2]["valid"])
    assert torch.equal(drawn[0]["test"], drawn[2]["test"])


def test_graphs_outside_the_parts_of_the_source_stay_outside() -> None:
    class Some(GraphSource):
        def load(self) -> SplitGraphs:
            parts = {"train": [8, 1, 5], "valid": [0, 9], "test": [2, 7]}
            graphs = source([*range(1, 11)]).load().graphs
            return SplitGraphs(graphs, {p: torch.tensor(n) for p, n in parts.items()})

    split = SizeSplit(source=Some(), largest_train_nodes=7, valid_fraction=0.5)
    index = split.load().index
    assert index["test"].tolist() == [7, 8, 9]
    assert torch.cat([index["train"], index["valid"]]).sort().values.tolist() == [0, 1, 2, 5]


def test_a_dataset_can_be_encoded_and_served(tmp_path: Path) -> None:
    write_tu(tmp_path, "SMALL", [3, 4, 5, 6, 7] * 4, graph_labels=[0, 1] * 10)
    split = SizeSplit(source=TUSource("SMALL", tmp_path), largest_train_nodes=5)
    module = GraphDataModule(split, [AddRandomWalkPE(4)], batch_size=100)
    module.prepare_data()
    module.setup()
    assert module.num_graphs == {"train": 11, "valid": 1, "test": 8}
    batch = next(iter(module.test_dataloader()))
    assert sorted(batch.ptr.diff().tolist()) == [6] * 4 + [7] * 4
    assert batch.random_walk_pe.shape == (52, 4)


def test_it_can_be_named_in_a_file(repository: Path) -> None:
    import jsonargparse

    parser = jsonargparse.ArgumentParser(exit_on_error=False)
    parser.add_class_arguments(DatasetCard, "card")
    parser.add_class_arguments(Task, "task")
    parser.add_class_arguments(Features, "features")
    parser.add_class_arguments(GraphDataModule, "data")
    parser.add_argument("--config", action="config")
    settings = (
        '{"class_path": "graphpe.data.SizeSplit", "init_args": {"small_fraction": 0.7, "source": '
        '{"class_path": "graphpe.data.OGBSource", "init_args": {"name": "ogbg-molesol"}}}}'
    )
    card = str(repository / "datasets" / "ogbg-molesol.yaml")
    arguments = parser.parse_args(["--config", card, "--data.dataset", settings])
    dataset = parser.instantiate(arguments).data.dataset
    assert dataset == SizeSplit(source=OGBSource("ogbg-molesol"), small_fraction=0.7)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "largest_train_nodes is None and small_fraction None; give one of them"),
        ({"largest_train_nodes": 3, "small_fraction": 0.5}, "give one of them"),
        ({"largest_train_nodes": 0}, "largest_train_nodes is 0; it must be an integer >= 1"),
        ({"small_fraction": 1.0}, "small_fraction is 1.0"),
        ({"small_fraction": 0.0}, "small_fraction is 0.0"),
        ({"largest_train_nodes": 3, "valid_fraction": 0.0}, "valid_fraction is 0.0"),
        ({"largest_train_nodes": 3, "seed": -1}, "seed is -1"),
    ],
)
def test_bad_settings(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        SizeSplit(source=source([1, 2, 3, 4]), **settings)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("bound", [1, 4, 9])
def test_an_empty_part_is_an_error(bound: int) -> None:
    """No training graphs beside the one for validation, none for validation, and none for the test."""
    split = SizeSplit(source=source([1, 2, 3, 4, 9]), largest_train_nodes=bound)
    with pytest.raises(
        ValueError, match=r"of 5 graphs with 1 to 9 nodes, \d have at most"
    ) as error:
        split.load()
    assert "each part needs one" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_source_that_cannot_be_split() -> None:
    class Nodes(GraphSource):
        def load(self) -> SplitGraphs:
            raise NotImplementedError

        def part(self, graphs: object, index: object, name: str) -> object:
            return graphs

    with pytest.raises(ValueError, match="source is a Nodes, whose parts are not told apart by"):
        SizeSplit(source=Nodes(), small_fraction=0.5)
    with pytest.raises(TypeError, match="source is a list; it must be a GraphSource"):
        SizeSplit(source=[Data()], small_fraction=0.5)
    empty = SizeSplit(source=InMemorySource([], [], []), small_fraction=0.5)
    with pytest.raises(ValueError, match="has no graphs"):
        empty.load()
