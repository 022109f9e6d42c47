"""Names as words: classes to learn, and what is said."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphpe.tasks import Task
from graphpe.training.losses import read_targets, task_loss
from graphpe.training.subtokens import say_words, word_classes, word_lists

# Words 0 to 3; class 4 is unknown and 5 the end.
TASK = Task(kind="subtokens", metric="f1", num_targets=3, num_classes=6)


def test_classes_of_words() -> None:
    words = torch.tensor([[0, 3, 9, 2], [1, -1, -1, -1], [-1, -1, -1, -1], [4, 0, -1, -1]])
    wanted = [[0, 3, 4], [1, 5, 5], [5, 5, 5], [4, 0, 5]]
    assert word_classes(TASK, words).tolist() == wanted
    assert word_classes(TASK, words[:, :2]).tolist() == [
        [0, 3, 5],
        [1, 5, 5],
        [5, 5, 5],
        [4, 0, 5],
    ]


def _logits(*classes: list[int]) -> torch.Tensor:
    return 5 * torch.nn.functional.one_hot(torch.tensor(classes), 6).flatten(1).float()


def test_what_is_said_ends_at_the_end_without_the_unknown() -> None:
    said = say_words(TASK, _logits([0, 4, 2], [1, 5, 3], [5, 0, 0]))
    assert said.tolist() == [[0, -1, 2], [1, -1, -1], [-1, -1, -1]]
    assert word_lists(said) == [[0, 2], [1], []]


def test_penalties_are_of_probabilities() -> None:
    """Unknown has probability 0.5, the end 0.3, word 1 0.2: penalties choose one after the other."""
    probability = torch.tensor([1e-9, 0.2, 1e-9, 1e-9, 0.5, 0.3])
    output = probability.log().repeat(1, 3)

    def said(**penalties: float) -> list[int]:
        task = Task(kind="subtokens", metric="f1", num_targets=3, num_classes=6, **penalties)
        return say_words(task, output)[0].tolist()

    assert said() == [-1, -1, -1]  # unknown
    assert said(unknown_penalty=0.35, end_penalty=0.05) == [-1, -1, -1]  # the end
    assert said(unknown_penalty=0.35, end_penalty=0.15) == [1, 1, 1]


def published_decoding(
    logits: list[Tensor], unknown: int, end: int, penalties: tuple[float, float]
) -> list[list[int]]:
    """Spec 1.7, position by position and name by name."""
    names = []
    for row in zip(*logits, strict=True):
        name = []
        for position in row:
            probability = position.double().softmax(0)
            probability[unknown] -= penalties[0]
            probability[end] -= penalties[1]
            name.append(int(probability.argmax()))
        if end in name:
            name = name[: name.index(end)]
        names.append([word for word in name if word != unknown])
    return names


@pytest.mark.parametrize("penalties", [(0.0, 0.0), (0.75, 0.45), (0.1, 0.3)])
def test_a_linear_head_is_the_published_list_of_classifiers(
    penalties: tuple[float, float],
) -> None:
    """One linear classifier per position on the pooled graph; the mean of their losses; their words (spec 1.7)."""
    torch.manual_seed(0)
    length, classes, names = 5, 12, 200
    task = Task(
        kind="subtokens",
        metric="f1",
        num_targets=length,
        num_classes=classes,
        unknown_penalty=penalties[0],
        end_penalty=penalties[1],
    )
    readout = torch.randn(names, 8)
    classifiers = [torch.nn.Linear(8, classes) for _ in range(length)]
    head = torch.nn.Linear(8, task.out_channels)
    with torch.no_grad():
        for parameter in ("weight", "bias"):
            each = [getattr(classifier, parameter) for classifier in classifiers]
            getattr(head, parameter).copy_(torch.cat(each))
    output = head(readout).detach()
    logits = [classifier(readout).detach() for classifier in classifiers]

    words = torch.randint(0, 15, (names, 7))
    words[torch.arange(7) >= torch.randint(0, 8, (names, 1))] = -1
    wanted = 0.0
    for position, column in enumerate(logits):
        word = words[:, position]
        label = torch.where(word < 0, classes - 1, word.clamp(max=classes - 2))
        wanted += torch.nn.functional.cross_entropy(column, label) / length
    assert float(task_loss(task, output, words.float())) == pytest.approx(float(wanted), rel=1e-5)

    decoded = published_decoding(logits, classes - 2, classes - 1, penalties)
    assert word_lists(say_words(task, output)) == decoded
    assert len({tuple(name) for name in decoded}) > names / 2


def test_loss_is_the_mean_over_all_positions() -> None:
    graphs = [
        Data(y=torch.tensor([[2, 7, -1, -1]]), num_nodes=1),
        Data(y=torch.tensor([[0, -1, -1, -1]]), num_nodes=1),
    ]
    target = read_targets(TASK, Batch.from_data_list(graphs))
    loss = task_loss(TASK, torch.zeros(2, 18), target)
    assert float(loss) == pytest.approx(math.log(6))
    right = task_loss(TASK, 20 * _logits([2, 4, 5], [0, 5, 5]), target)
    assert float(right) == pytest.approx(0, abs=1e-6)


def test_targets_that_are_no_words_are_refused() -> None:
    for y in (torch.tensor([[-2]]), torch.tensor([[0.5]])):
        batch = Batch.from_data_list([Data(y=y, num_nodes=1)])
        with pytest.raises(ValueError, match="word numbers"):
            read_targets(TASK, batch)
    with pytest.raises(ValueError, match=r"must be a tensor \[1, words\]"):
        read_targets(TASK, Batch.from_data_list([Data(y=torch.tensor([1, 2]), num_nodes=1)]))


def test_a_word_after_the_end_is_refused() -> None:
    names = ([[0, 1, -1]], [[2, -1, 3]], [[-1, -1, -1]])
    graphs = [Data(y=torch.tensor(name), num_nodes=1) for name in names]
    with pytest.raises(ValueError, match=r"graph 1 of the batch is \[2, -1, 3\].*after -1"):
        read_targets(TASK, Batch.from_data_list(graphs))


@pytest.mark.parametrize("settings", [{"level": "node"}, {"num_classes": 2}])
def test_impossible_tasks_are_refused(settings: dict) -> None:
    with pytest.raises(ValueError, match="subtokens task"):
        Task(**{"kind": "subtokens", "metric": "f1", "num_classes": 6, **settings})
