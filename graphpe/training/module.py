"""`GraphPredictor`: trains any graphpe network on a task of graphs, nodes, edges or pairs of nodes."""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import numpy as np
import torch
from lightning.pytorch import LightningModule
from lightning.pytorch.utilities.rank_zero import rank_zero_warn
from torch import Tensor
from torch.optim import Adam, AdamW, Optimizer
from torch.optim.lr_scheduler import LambdaLR, ReduceLROnPlateau
from torch.utils.data import DataLoader
from torch_geometric.data import Data

from graphpe.nn import GraphNetwork
from graphpe.nn.rows import take_rows
from graphpe.tasks import Task
from graphpe.training.collector import Evaluation, EvaluationCollector
from graphpe.training.losses import (
    check_output,
    read_targets,
    task_loss,
    task_prediction,
    what_counts,
)
from graphpe.training.metrics import scores, why_unscorable
from graphpe.training.numbering import graph_order
from graphpe.training.rows import (
    PLACES,
    labelled_rows,
    number_of_graphs,
    number_of_rows,
    row_graphs,
    row_places,
)
from graphpe.training.schedules import Schedule, set_rates, step_schedule

_OPTIMIZERS = {"adam": Adam, "adamw": AdamW}


class GraphPredictor(LightningModule):
    """A network with a task: loss, metric, optimiser and schedule.

    Logs ``train/loss``, ``lr``, and ``valid/<metric>`` and ``test/<metric>`` over whole splits, for all metrics of the
    task (NaN with a warning where a further one can't be scored); for yes/no targets also the ``positive_rate``. Weight
    decay leaves out biases. It works with any loader of PyG batches that carry ``y``, with or without graphpe's data
    module.

    A checkpoint that the command line made loads with ``GraphPredictor.load_from_checkpoint(path)``. One that a script
    made doesn't say how its network was built, so build it again:
    ``GraphPredictor.load_from_checkpoint(path, network=network, task=task)``.

    Args:
        network: Maps a batch to ``[R, task.out_channels]``, a row for each graph, node, edge or pair, as ``task.level``
            says.
        task: What is predicted, the loss and the metric.
        evaluator: Name of an OGB dataset whose official evaluator computes the metric, such as
            ``"ogbg-molhiv"``; None uses torchmetrics.
        optimizer: ``"adam"`` (weight decay is an L2 term of the loss) or ``"adamw"`` (decoupled).
        lr: Peak learning rate.
        weight_decay: Weight decay of all parameters but biases.
        schedule: ``"constant"``; ``"linear"`` or ``"cosine"`` to zero over all steps; ``"plateau"`` multiplies
            the rate by ``plateau_factor`` when the validation metric stops improving.
        warmup_steps: Optimiser steps over which the rate first rises linearly; not with ``"plateau"``.
        plateau_factor: Factor of ``"plateau"``.
        plateau_patience: Epochs without improvement that ``"plateau"`` waits for.
        min_lr: ``"plateau"`` stops the training when the rate falls below it.
        betas: How much the optimiser keeps of its running means of gradients and of their squares in a step.

    Raises:
        ValueError: If a setting is out of range, or the network has another level than the task.
    """

    def __init__(
        self,
        network: GraphNetwork,
        task: Task,
        evaluator: str | None = None,
        optimizer: Literal["adam", "adamw"] = "adamw",
        lr: float = 1e-3,
        weight_decay: float = 0.0,
        schedule: Schedule = "cosine",
        warmup_steps: int = 0,
        plateau_factor: float = 0.5,
        plateau_patience: int = 10,
        min_lr: float = 1e-6,
        betas: tuple[float, float] = (0.9, 0.999),
    ) -> None:
        super().__init__()
        if optimizer not in _OPTIMIZERS:
            raise ValueError(f"optimizer is {optimizer!r}; it must be one of {list(_OPTIMIZERS)}")
        if network.level != task.level:
            raise ValueError(
                f"the network has level {network.level!r}, but task.level is {task.level!r}; set the network's level "
                f"to {task.level!r}"
            )
        _check_settings(lr, weight_decay, schedule, warmup_steps, plateau_factor, betas)
        # Plain values only, so that a checkpoint loads without unpickling classes. The command line adds the
        # configuration of the network and the task.
        self.save_hyperparameters(ignore=["network", "task"], logger=False)
        self.network = network
        self.task = task
        self.evaluator = evaluator
        self._evaluated = EvaluationCollector(task)
        self._order: Tensor | None = None  # graph numbers in the order of evaluation
        self._seed = 0  # of dropout and whatever else is random in training
        self._unscorable: set[str] = set()  # metrics that a warning was given of

    def forward(self, batch: Data, rows: Tensor | None = None) -> Tensor:
        return self.network(batch, rows)

    def setup(self, stage: str) -> None:
        """Checks that the data carry every field that the network reads, and that it reads some of the encodings.

        Before training, a network that lacks statistics of the training graphs learns them.
        """
        fields = getattr(self.trainer.datamodule, "fields", None)
        if fields is None:
            return
        parts = getattr(self.trainer.datamodule, "parts", {})
        train = parts.get("train", ())
        self.network.check_fields(fields, train[0].keys() if len(train) else ())
        if stage == "fit" and "train" in parts and self.network.lacks_statistics:
            self.network.learn_statistics(parts["train"])
        # Fields that come with a dataset are no reason for a warning: nobody asked for them.
        encodings = getattr(self.trainer.datamodule, "encodings", ())
        written = sorted(field.name for encoding in encodings for field in encoding.fields())
        if written and not len(self.network.positional_encoders):
            rank_zero_warn(
                f"the graphs carry the fields {written}, but the network reads none of them; "
                "add a positional encoder to the network or remove the encodings"
            )

    # --- training --------------------------------------------------------------------------------------------

    def on_train_start(self) -> None:
        self._seed = torch.initial_seed()
        scheduler = self.lr_schedulers()
        if isinstance(scheduler, LambdaLR):
            set_rates(scheduler)

    def training_step(self, batch: Data, batch_number: int) -> Tensor:
        target = read_targets(self.task, batch)
        rows = labelled_rows(self.task, target)
        output, target = self(batch, rows), take_rows(target, rows)
        graph = None
        if self.task.average == "graphs":
            graph = take_rows(row_graphs(self.task, batch), rows)
        loss = task_loss(self.task, output, target, graph)
        self.log(
            "train/loss",
            loss,
            on_step=False,
            on_epoch=True,
            batch_size=number_of_graphs(batch),
            sync_dist=True,
        )
        return loss

    def on_train_epoch_start(self) -> None:
        # A training that is resumed draws what it would have drawn: checkpoints don't hold the states of generators.
        key = (self._seed, self.current_epoch, self.global_rank)
        torch.manual_seed(int(np.random.SeedSequence(key).generate_state(1, np.uint64)[0]))
        self.log("lr", self.optimizers().param_groups[0]["lr"], sync_dist=True)

    def configure_optimizers(self) -> dict[str, Any]:
        settings = self.hparams
        optimizer = self._optimizer()
        if settings.schedule == "plateau":
            scheduler = ReduceLROnPlateau(
                optimizer,
                mode=self.task.mode,
                factor=settings.plateau_factor,
                patience=settings.plateau_patience,
            )
            monitor = f"valid/{self.task.metric}"
            return {
                "optimizer": optimizer,
                "lr_scheduler": {"scheduler": scheduler, "monitor": monitor},
            }
        scheduler = step_schedule(
            optimizer,
            settings.schedule,
            warmup_steps=settings.warmup_steps,
            total_steps=self.trainer.estimated_stepping_batches,
        )
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": scheduler, "interval": "step"},
        }

    def _optimizer(self) -> Optimizer:
        trained = [(name, p) for name, p in self.named_parameters() if p.requires_grad]
        biases = [p for name, p in trained if name.endswith("bias")]
        others = [p for name, p in trained if not name.endswith("bias")]
        groups = [
            {"params": others, "weight_decay": self.hparams.weight_decay},
            {"params": biases, "weight_decay": 0.0},
        ]
        kind = _OPTIMIZERS[self.hparams.optimizer]
        settings = {"lr": self.hparams.lr, "betas": tuple(self.hparams.betas)}
        return kind([group for group in groups if group["params"]], **settings)

    def lr_scheduler_step(self, scheduler: Any, metric: Any) -> None:
        """Steps the schedule, and stops the training once ``"plateau"`` has lowered the rate below ``min_lr``."""
        super().lr_scheduler_step(scheduler, metric)
        if isinstance(scheduler, ReduceLROnPlateau):
            rate = scheduler.optimizer.param_groups[0]["lr"]
            self.trainer.should_stop |= rate < self.hparams.min_lr

    # --- evaluation ------------------------------------------------------------------------------------------

    def on_validation_epoch_start(self) -> None:
        self._start_evaluation(self.trainer.val_dataloaders)

    def on_test_epoch_start(self) -> None:
        self._start_evaluation(self.trainer.test_dataloaders)

    def on_predict_epoch_start(self) -> None:
        self._start_evaluation(self.trainer.predict_dataloaders)

    def validation_step(self, batch: Data, batch_number: int) -> None:
        self._evaluate(batch, read_targets(self.task, batch))

    def test_step(self, batch: Data, batch_number: int) -> None:
        self._evaluate(batch, read_targets(self.task, batch))

    def predict_step(self, batch: Data, batch_number: int) -> dict[str, Tensor]:
        """Predictions of a batch: ``"graph"`` numbers ``[R]`` and ``"prediction"`` ``[R, channels]``.

        For a task of nodes there is ``"node"`` ``[R]``, for one of pairs ``"source_node"`` and ``"target_node"``, and
        for one of edges these and ``"edge"``.
        """
        rows = number_of_rows(self.task, batch)
        unknown = torch.full((rows, self.task.num_targets), torch.nan)
        places, output = self._evaluate(batch, unknown)
        names = ("graph", *PLACES[self.task.level])
        return {
            **dict(zip(names, places.unbind(1), strict=True)),
            "prediction": task_prediction(self.task, output),
        }

    def on_validation_epoch_end(self) -> None:
        if not self.trainer.sanity_checking:  # a few batches may lack a class, which is no fault
            self._log_scores("valid")

    def on_test_epoch_end(self) -> None:
        self._log_scores("test")

    def evaluation(self) -> Evaluation:
        """Outputs and targets of the split that was last evaluated; every process must call it."""
        return self._evaluated.gather(self.device)

    def _start_evaluation(self, loader: Any) -> None:
        self._evaluated = EvaluationCollector(self.task)
        self._order = graph_order(loader) if isinstance(loader, DataLoader) else None

    def _evaluate(self, batch: Data, target: Tensor) -> tuple[Tensor, Tensor]:
        """Runs the network and keeps what counts of its outputs; returns the places of the rows and that."""
        rows = None if self.trainer.predicting else labelled_rows(self.task, target)
        output, target = self(batch, rows), take_rows(target, rows)
        check_output(self.task, output, len(target))
        output = what_counts(self.task, output).cpu()
        start, num_graphs = self._evaluated.num_graphs, number_of_graphs(batch)
        graphs = torch.arange(start, start + num_graphs)
        if self._order is not None:
            numbers = self._order[graphs]
        else:  # numbers that no other process gives
            numbers = graphs * self.trainer.world_size + self.trainer.global_rank
        places = take_rows(row_places(self.task, batch), rows).cpu()
        places = torch.cat([numbers[places[:, :1]], places[:, 1:]], dim=1)
        self._evaluated.add(places, output, target.cpu(), num_graphs)
        return places, output

    def _log_scores(self, split: str) -> None:
        evaluation = self.evaluation()
        for metric, value in scores(self.task, evaluation, self.evaluator).items():
            name = f"{split}/{metric}"
            self.log(name, value, sync_dist=True)
            if math.isnan(value) and name not in self._unscorable:
                self._unscorable.add(name)  # said once, not in every epoch
                rank_zero_warn(f"{name} is left out: {why_unscorable(metric, evaluation.target)}")
        if self.task.kind == "binary":  # without it an accuracy says little
            rate = float(evaluation.target.nanmean())
            self.log(f"{split}/positive_rate", rate, sync_dist=True)


def _check_settings(
    lr: float,
    weight_decay: float,
    schedule: Schedule,
    warmup_steps: int,
    plateau_factor: float,
    betas: tuple[float, float],
) -> None:
    """Raises a ValueError for a setting out of range."""
    if schedule not in get_args(Schedule):
        raise ValueError(f"schedule is {schedule!r}; it must be one of {list(get_args(Schedule))}")
    if lr <= 0:
        raise ValueError(f"lr is {lr:g}; it must be positive")
    if weight_decay < 0:
        raise ValueError(f"weight_decay is {weight_decay:g}; it must not be negative")
    if warmup_steps < 0:
        raise ValueError(f"warmup_steps is {warmup_steps}; it must not be negative")
    if schedule == "plateau" and warmup_steps:
        raise ValueError(
            f"schedule 'plateau' has no warm-up, but warmup_steps is {warmup_steps}; set it to 0"
        )
    if not 0 < plateau_factor < 1:
        raise ValueError(f"plateau_factor is {plateau_factor:g}; it must lie between 0 and 1")
    if not all(0 <= beta < 1 for beta in betas):
        raise ValueError(f"betas are {tuple(betas)}; they must lie between 0 and 1")
