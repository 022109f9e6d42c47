"""The LightningModule that trains an encoder to predict encodings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from lightning.pytorch import LightningModule
from torch import Tensor, nn
from torch.optim import AdamW
from torch_geometric.data import Data
from torch_geometric.utils import scatter

from graphpe.nn import graph_layout
from graphpe.nn.blocks import mlp
from graphpe.nn.encoders.pretrained import StructuralEncoder
from graphpe.nn.layout import GraphLayout
from graphpe.tasks import Task
from graphpe.training.pretraining_targets import Statistics, Target
from graphpe.training.schedules import step_schedule

# The part of the steps over which the learning rate rises.
_WARMUP = 0.05


class EncodingPredictor(LightningModule):
    r"""An encoder with a perceptron per target, trained to predict the targets of `targets_of`.

    A perceptron sees the nodes, or their mean for a graph field. The loss is, averaged over the targets,

    .. math::
        \mathrm{mean}\, |z - y| \;+\; 1 - \mathrm{mean}_c \cos(z_{\cdot c}, y_{\cdot c})

    with y standardised by the training part; the cosine is that of a column over the rows of a batch. Padding and
    columns that are constant in the training part count nowhere.

    Logs ``train/loss`` and ``valid/r2``, the mean over the targets.

    Args:
        encoder: The encoder.
        targets: What is predicted.
        statistics: Of each target, over the training part.
        lr: Peak learning rate of AdamW; it rises over the first 5 % of the steps and falls to 0 by a cosine.

    Attributes:
        r2: After each validation: the coefficient of determination of each target, the mean over its columns; NaN
            where none of them varies.
    """

    def __init__(
        self,
        encoder: StructuralEncoder,
        targets: Sequence[Target],
        statistics: Sequence[Statistics],
        lr: float,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.targets = list(targets)
        self.lr = lr
        # What the progress bar shows.
        self.task = Task(
            kind="regression", metric="r2", num_targets=sum(t.field.width for t in targets)
        )
        channels = encoder.out_channels
        self.heads = nn.ModuleList(
            mlp([channels, channels, target.field.width], "none") for target in targets
        )
        for number, (mean, std, varies) in enumerate(
            (one.mean, one.std, one.varies) for one in statistics
        ):
            self.register_buffer(f"mean_{number}", mean)
            self.register_buffer(f"std_{number}", std)
            self.register_buffer(f"varies_{number}", varies)
        self.r2: list[float] = []
        self._errors: list[_ColumnErrors] = []

    def _predict(self, batch: Data, layout: GraphLayout) -> list[Tensor]:
        """The standardised predictions, ``[rows, width]`` for each target."""
        nodes = self.encoder(batch)
        graphs = scatter(nodes, layout.batch, dim_size=layout.num_graphs, reduce="mean")
        rows = {"node": nodes, "graph": graphs}
        return [
            head(rows[target.field.level])
            for head, target in zip(self.heads, self.targets, strict=True)
        ]

    def _read(self, batch: Data, layout: GraphLayout) -> list[tuple[Tensor, Tensor]]:
        """The standardised targets and which of their entries count."""
        read = []
        for number, target in enumerate(self.targets):
            value, valid = target.read(batch, layout)
            mean, std = self.get_buffer(f"mean_{number}"), self.get_buffer(f"std_{number}")
            read.append(((value - mean) / std, valid & self.get_buffer(f"varies_{number}")))
        return read

    # --- training --------------------------------------------------------------------------------------------

    def training_step(self, batch: Data, batch_number: int) -> Tensor:
        layout = graph_layout(batch)
        outputs, targets = self._predict(batch, layout), self._read(batch, layout)
        losses = [
            prediction_loss(output, value, valid)
            for output, (value, valid) in zip(outputs, targets, strict=True)
        ]
        loss = torch.stack(losses).mean()
        self.log("train/loss", loss, on_step=False, on_epoch=True, batch_size=layout.num_graphs)
        return loss

    def configure_optimizers(self) -> dict[str, Any]:
        optimizer = AdamW(self.parameters(), lr=self.lr, weight_decay=0.0)
        total = int(self.trainer.estimated_stepping_batches)
        scheduler = step_schedule(
            optimizer, "cosine", warmup_steps=int(_WARMUP * total), total_steps=total
        )
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": scheduler, "interval": "step"},
        }

    # --- evaluation ------------------------------------------------------------------------------------------

    def on_validation_epoch_start(self) -> None:
        self._errors = [_ColumnErrors(target.field.width) for target in self.targets]

    def validation_step(self, batch: Data, batch_number: int) -> None:
        layout = graph_layout(batch)
        outputs, targets = self._predict(batch, layout), self._read(batch, layout)
        for errors, output, (value, valid) in zip(self._errors, outputs, targets, strict=True):
            errors.add(output, value, valid)

    def on_validation_epoch_end(self) -> None:
        self.r2 = [errors.r2() for errors in self._errors]
        self.log("valid/r2", float(torch.tensor(self.r2).nanmean()))


def prediction_loss(output: Tensor, target: Tensor, valid: Tensor) -> Tensor:
    """Mean absolute error plus one minus the mean cosine of the columns, over valid entries; ``[R, width]`` each.

    Columns in which nothing is valid, or all is zero, have no cosine and are left out of its mean.
    """
    error = torch.where(valid, output - target, 0)
    distance = error.abs().sum() / valid.sum().clamp(min=1)
    output, target = torch.where(valid, output, 0), torch.where(valid, target, 0)
    target_norm = target.square().sum(0)
    # The bound keeps the gradient finite where all outputs are zero.
    norms = (output.square().sum(0).clamp(min=1e-12) * target_norm.clamp(min=1e-12)).sqrt()
    has_cosine = target_norm > 0
    away = torch.where(has_cosine, 1 - (output * target).sum(0) / norms, 0)
    return distance + away.sum() / has_cosine.sum().clamp(min=1)


class _ColumnErrors:
    """Sums over a validation from which follows how well each column is predicted.

    Args:
        width: Number of columns.
    """

    def __init__(self, width: int) -> None:
        self._sums = torch.zeros(4, width, dtype=torch.float64)

    def add(self, output: Tensor, target: Tensor, valid: Tensor) -> None:
        """Adds a batch, ``[R, width]`` each."""
        output, target, valid = output.cpu().double(), target.cpu().double(), valid.cpu()
        error = torch.where(valid, output - target, 0).square()
        target = torch.where(valid, target, 0)
        parts = [valid.double(), target, target.square(), error]
        self._sums += torch.stack([part.sum(0) for part in parts])

    def r2(self) -> float:
        """One minus the squared error over the variance, averaged over the columns that vary."""
        count, total, squares, error = self._sums
        spread = squares - total.square() / count.clamp(min=1)
        varies = spread > 1e-9 * squares
        return float((1 - error[varies] / spread[varies]).mean())
