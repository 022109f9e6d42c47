"""Outputs and targets of an evaluated split, gathered over processes with every row once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torchmetrics.utilities.distributed import gather_all_tensors

from graphpe.tasks import Task
from graphpe.training.rows import PLACES


@dataclass(frozen=True)
class Evaluation:
    """What a network said about a split.

    Args:
        places: int64 ``[R, 1 + p]``, ascending, each once: the number of the graph, and of its node, edge or nodes, of
            each row (see `graphpe.training.rows`).
        output: Network outputs ``[R, channels]``, float64; for ``"subtokens"`` the words that it says.
        target: Targets ``[R, num_targets]``, float64; NaN where a label is missing.
    """

    places: Tensor
    output: Tensor
    target: Tensor

    @property
    def numbers(self) -> Tensor:
        """Number of the graph of each row ``[R]``."""
        return self.places[:, 0]


class EvaluationCollector:
    """Collects the batches of one pass over a split.

    A distributed sampler repeats graphs until all processes have equally many. `gather` keeps each row once, so that
    none is counted twice.

    Args:
        task: What is predicted.
    """

    def __init__(self, task: Task) -> None:
        self.num_graphs = 0
        self._num_places = 1 + len(PLACES[task.level])
        self._num_outputs = task.num_targets if task.kind == "subtokens" else task.out_channels
        self._num_targets = task.num_targets
        self._rows: list[Tensor] = []

    def add(self, places: Tensor, output: Tensor, target: Tensor, num_graphs: int) -> None:
        """Adds one batch: ``[R, 1 + p]`` places, ``[R, channels]`` outputs, ``[R, num_targets]`` targets.

        Raises:
            ValueError: If the targets have another number of columns than those of earlier batches.
        """
        columns = (places, output.detach(), target)
        rows = torch.cat([column.cpu().double() for column in columns], dim=1)
        self._require_one_width([*self._rows[:1], rows])
        self._rows.append(rows)
        self.num_graphs += num_graphs

    def _require_one_width(self, parts: list[Tensor]) -> None:
        """Names may have another number of words in each batch, if they are not padded alike."""
        before = self._num_places + self._num_outputs
        widths = sorted({part.size(1) - before for part in parts})
        if len(widths) > 1:
            raise ValueError(
                f"`y` has {widths[0]} columns in one batch and {widths[-1]} in another; pad all names to one length "
                "with -1"
            )

    def gather(self, device: torch.device) -> Evaluation:
        """All rows of all processes, in the order of their places; every process must call it.

        Args:
            device: Device on which processes exchange tensors.

        Raises:
            ValueError: If the targets of two processes differ in their number of columns.
        """
        first, second = self._num_places, self._num_places + self._num_outputs
        if self._rows:
            rows = torch.cat([row.to(device) for row in self._rows])
        else:
            width = second + self._num_targets
            rows = torch.empty(0, width, dtype=torch.float64, device=device)
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            parts = gather_all_tensors(rows)
            # A process without any batch doesn't know how many words the longest name has.
            parts = [part for part in parts if len(part)] or parts[:1]
            self._require_one_width(parts)
            rows = torch.cat(parts)
        rows = rows.cpu()
        places = rows[:, :first].long()
        order = _first_of_each(places)
        return Evaluation(places[order], rows[order, first:second], rows[order, second:])


def _first_of_each(places: Tensor) -> Tensor:
    """The rows in the order of their places, without repetitions."""
    # The last key is the first to sort by. One number per place would not hold the edges of a large graph.
    order = torch.from_numpy(np.lexsort(places.T.flip(0).numpy()))
    places = places[order]
    is_first = torch.ones(len(places), dtype=torch.bool)
    is_first[1:] = (places[1:] != places[:-1]).any(dim=1)
    return order[is_first]
