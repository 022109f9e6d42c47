"""Names as sequences of words: the classes to learn, and the words that a network says.

``y [B, L]`` holds word numbers in their order, -1 after the end. The numbers below V are the vocabulary, class V is an
unknown word, and class V + 1 the end.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from graphpe.tasks import Task

NO_WORD = -1


def word_classes(task: Task, words: Tensor) -> Tensor:
    """The class at each position: ``[B, L]`` word numbers to ``[B, num_targets]`` classes."""
    unknown, end = task.num_classes - 2, task.num_classes - 1
    missing = max(task.num_targets - words.size(1), 0)
    words = functional.pad(words.long(), (0, missing), value=NO_WORD)[:, : task.num_targets]
    return torch.where(words == NO_WORD, end, words.clamp(max=unknown))


def require_padding_last(words: Tensor) -> None:
    """Raises a ValueError if a name goes on after -1."""
    goes_on = ((words[:, :-1] == NO_WORD) & (words[:, 1:] != NO_WORD)).any(dim=1)
    if goes_on.any():
        row = int(goes_on.nonzero()[0])
        raise ValueError(
            f"`y` of graph {row} of the batch is {words[row].long().tolist()}, with a word after -1, which ends a "
            "name; put all words before the first -1"
        )


def say_words(task: Task, output: Tensor) -> Tensor:
    """The words that a network says: the most likely class at each position, up to the first end.

    The penalties of the task are subtracted from the probabilities of "unknown" and "end" before.

    Args:
        task: What is predicted.
        output: Logits ``[B, num_targets * num_classes]``.

    Returns:
        int64 ``[B, num_targets]`` words of the vocabulary; -1 where nothing is said: an unknown word, or after the end.
    """
    unknown, end = task.num_classes - 2, task.num_classes - 1
    probability = output.float().view(-1, task.num_targets, task.num_classes).softmax(dim=-1)
    probability[..., unknown] -= task.unknown_penalty
    probability[..., end] -= task.end_penalty
    words = probability.argmax(dim=-1)
    over = (words == end).cummax(dim=1).values
    return torch.where(over | (words == unknown), NO_WORD, words)


def word_lists(words: Tensor) -> list[list[int]]:
    """Rows of word numbers as lists, without what is -1."""
    return [[int(word) for word in row if word != NO_WORD] for row in words.tolist()]
