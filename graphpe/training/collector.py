"""Outputs and targets of an evaluated split, gathered over processes with every graph once."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torchmetrics.utilities.distributed import gather_all_tensors


@dataclass(frozen=True)
class Evaluation:
    """What a network said about a split.

    Args:
        numbers: Graph numbers ``[N]``, ascending, each once.
        output: Network outputs ``[N, out_channels]``, float64.
        target: Targets ``[N, num_targets]``, float64; NaN where a label is missing.
    """

    numbers: Tensor
    output: Tensor
    target: Tensor


class EvaluationCollector:
    """Collects the batches of one pass over a split.

    A distributed sampler repeats graphs until all processes have equally many. `gather` keeps each graph number
    once, so that no graph is counted twice.

    Args:
        out_channels: Number of outputs of the network.
        num_targets: Number of targets per graph.
    """

    def __init__(self, out_channels: int, num_targets: int) -> None:
        self.out_channels = out_channels
        self.num_targets = num_targets
        self._rows: list[Tensor] = []

    def __len__(self) -> int:
        return sum(len(rows) for rows in self._rows)

    def add(self, numbers: Tensor, output: Tensor, target: Tensor) -> None:
        """Adds one batch: graph numbers ``[B]``, outputs ``[B, out_channels]``, targets ``[B, num_targets]``."""
        columns = (numbers.unsqueeze(1), output.detach(), target)
        self._rows.append(torch.cat([column.cpu().double() for column in columns], dim=1))

    def gather(self, device: torch.device) -> Evaluation:
        """All graphs of all processes, by number; every process must call it.

        Args:
            device: Device on which processes exchange tensors.
        """
        width = 1 + self.out_channels + self.num_targets
        # The empty part gives a process without any batch a tensor of the right width.
        empty = torch.empty(0, width, dtype=torch.float64, device=device)
        rows = torch.cat([empty, *(row.to(device) for row in self._rows)])
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            rows = torch.cat(gather_all_tensors(rows))
        rows = rows.cpu()
        numbers, order = rows[:, 0].sort(stable=True)
        first = torch.ones(len(numbers), dtype=torch.bool)
        first[1:] = numbers[1:] != numbers[:-1]
        rows = rows[order[first]]
        return Evaluation(
            numbers=rows[:, 0].long(),
            output=rows[:, 1 : 1 + self.out_channels],
            target=rows[:, 1 + self.out_channels :],
        )
