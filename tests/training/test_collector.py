"""Every graph of a split is counted once, in whatever order and process it was evaluated."""

from __future__ import annotations

import math

import pytest
import torch
from torch.utils.data import DataLoader as TorchLoader
from torch.utils.data import DistributedSampler, RandomSampler, Subset
from torch_geometric.data import InMemoryDataset
from torch_geometric.loader import DataLoader
from training_graphs import cycles

from graphpe.tasks import Task
from graphpe.training.collector import EvaluationCollector
from graphpe.training.numbering import graph_order

CPU = torch.device("cpu")
_REGRESSION = Task(kind="regression", metric="mae", num_targets=2)


class _Cycles(InMemoryDataset):
    def __init__(self, count: int) -> None:
        super().__init__()
        self.data, self.slices = self.collate(cycles(count))


def test_rows_come_back_by_graph_number_and_once_each() -> None:
    collector = EvaluationCollector(Task(kind="multiclass", metric="accuracy"))
    output = torch.randn(4, 2)
    target = torch.tensor([[1.0], [math.nan], [3.0], [4.0]])
    collector.add(torch.tensor([[7], [2]]), output[:2], target[:2], 2)
    collector.add(torch.tensor([[5]]), output[2:3], target[2:3], 1)
    collector.add(torch.tensor([[7]]), output[3:], target[3:], 1)  # the sampler's repetition
    evaluation = collector.gather(CPU)
    assert collector.num_graphs == 4
    assert evaluation.numbers.tolist() == [2, 5, 7]
    assert torch.equal(evaluation.output.float(), output[[1, 2, 0]])
    assert evaluation.target.nan_to_num(-1).tolist() == [[-1.0], [3.0], [1.0]]


def test_nothing_collected_has_the_right_widths() -> None:
    evaluation = EvaluationCollector(_REGRESSION).gather(CPU)
    assert evaluation.numbers.shape == (0,)
    assert evaluation.output.shape == (0, 2)
    assert evaluation.target.shape == (0, 2)


def test_large_graph_numbers_are_exact() -> None:
    collector = EvaluationCollector(Task(kind="regression", metric="mae"))
    number = 2**40 + 1
    collector.add(torch.tensor([[number]]), torch.zeros(1, 1), torch.zeros(1, 1), 1)
    assert collector.gather(CPU).numbers.tolist() == [number]


def test_pairs_come_back_by_graph_source_and_target() -> None:
    """The pairs of a graph of two nodes, met twice, and the one pair of a graph of one node."""
    collector = EvaluationCollector(Task(kind="regression", metric="mae", level="pair"))
    pairs = torch.tensor([[0, 0], [0, 1], [1, 0], [1, 1]])
    for number in (6, 6):
        places = torch.cat([torch.full((4, 1), number), pairs], dim=1)
        collector.add(places, torch.arange(4.0)[:, None], torch.zeros(4, 1), 1)
    collector.add(torch.tensor([[3, 0, 0]]), torch.tensor([[9.0]]), torch.zeros(1, 1), 1)
    evaluation = collector.gather(CPU)
    assert evaluation.places.tolist() == [[3, 0, 0]] + [[6, *pair] for pair in pairs.tolist()]
    assert evaluation.output.flatten().tolist() == [9, 0, 1, 2, 3]
    assert evaluation.numbers.tolist() == [3, 6, 6, 6, 6]


def test_edges_of_a_large_graph_come_back_in_their_order() -> None:
    """One number for edge, source and target would be larger than 2^63."""
    collector = EvaluationCollector(Task(kind="regression", metric="mae", level="edge"))
    places = [[0, 2**30, 2**27, 5], [0, 2**30 - 1, 3, 2**27], [0, 0, 2**27, 2**27]]
    for _ in range(2):
        collector.add(torch.tensor(places), torch.arange(3.0)[:, None], torch.zeros(3, 1), 1)
    evaluation = collector.gather(CPU)
    assert evaluation.places.tolist() == places[::-1]
    assert evaluation.output.flatten().tolist() == [2, 1, 0]


def test_names_that_are_not_padded_alike_are_refused() -> None:
    task = Task(kind="subtokens", metric="f1", num_targets=3, num_classes=6)
    collector = EvaluationCollector(task)
    collector.add(torch.tensor([[0]]), torch.zeros(1, 3), torch.zeros(1, 4), 1)
    with pytest.raises(ValueError, match=r"has 2 columns .* and 4 .*pad all names.* with -1$"):
        collector.add(torch.tensor([[1]]), torch.zeros(1, 3), torch.zeros(1, 2), 1)


@pytest.mark.parametrize("make_loader", [DataLoader, TorchLoader])
def test_a_sequential_loader_has_the_positions(make_loader: type) -> None:
    assert graph_order(make_loader(cycles(5), batch_size=2)).tolist() == [0, 1, 2, 3, 4]


def test_a_part_of_a_dataset_has_the_numbers_of_the_dataset() -> None:
    part = _Cycles(10)[torch.tensor([8, 3, 5])]
    assert graph_order(DataLoader(part, batch_size=2)).tolist() == [8, 3, 5]
    assert graph_order(TorchLoader(Subset(cycles(10), [4, 9]))).tolist() == [4, 9]


def test_a_distributed_sampler_has_the_share_of_its_process_with_repetitions() -> None:
    graphs = cycles(5)
    shares = [
        graph_order(
            DataLoader(graphs, sampler=DistributedSampler(graphs, 2, rank, shuffle=False))
        ).tolist()
        for rank in (0, 1)
    ]
    assert shares == [[0, 2, 4], [1, 3, 0]]


def test_a_random_order_is_unknown() -> None:
    graphs = cycles(5)
    assert graph_order(DataLoader(graphs, sampler=RandomSampler(graphs))) is None
    assert graph_order(DataLoader(graphs, shuffle=True)) is None
    shuffled = DistributedSampler(graphs, 2, 0, shuffle=True)
    assert graph_order(DataLoader(graphs, sampler=shuffled)) is None
    assert graph_order(DataLoader(graphs, batch_sampler=[[3, 1], [2]])) is None
