"""`pretrain`: trains an encoder to predict encodings, to be used on other datasets."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch_geometric
from lightning.pytorch import Trainer
from lightning.pytorch.utilities.exceptions import MisconfigurationException
from rich.console import Console
from rich.table import Table
from torch_geometric.data import Data, Dataset

from graphpe.checks import require_boolean, require_number, require_positive_integer, require_seed
from graphpe.data import GraphDataModule
from graphpe.data.sources import GraphSource, SplitGraphs
from graphpe.nn.encoders.pretrained import StructuralEncoder, save_encoder
from graphpe.training.pretraining_module import EncodingPredictor
from graphpe.training.pretraining_targets import Statistics, Target, statistics_of, targets_of
from graphpe.training.progress import TrainingProgress
from graphpe.transforms import Encoding

_GRADIENT_CLIP = 1.0


@dataclass(frozen=True)
class Pretrained:
    """A pre-trained encoder and how well it predicts.

    Args:
        encoder: The encoder, on the CPU and in evaluation mode.
        r2: For each predicted field the coefficient of determination on the validation part, averaged over its columns:
            1 is perfect, 0 no better than the mean; NaN where no column varies.
        description: What is saved with it, in plain values: targets with their means and standard deviations, dataset,
            settings and versions.
    """

    encoder: StructuralEncoder
    r2: dict[str, float]
    description: dict[str, Any]

    def save(self, path: str | Path) -> None:
        """Writes the encoder to a file for `graphpe.nn.PretrainedEncoder`.

        Args:
            path: The file, ``.safetensors`` by custom.

        Raises:
            ValueError: If the file can't be written.
        """
        save_encoder(path, self.encoder, self.description)

    def show(self, console: Console) -> None:
        """Prints a table of the targets."""
        table = Table(title=f"{self.description['dataset']}: validation R²", title_justify="left")
        for title in ("target", "level", "columns", "R²"):
            table.add_column(title, justify="right" if title in ("columns", "R²") else "left")
        for target in self.description["targets"]:
            r2 = target["r2"]
            table.add_row(
                f"|{target['field']}|" if target["absolute"] else target["field"],
                target["level"],
                str(len(target["mean"])),
                "-" if r2 is None else f"{r2:.4f}",
            )
        console.print(table)


def pretrain(
    data: GraphSource | Dataset | Sequence[Data],
    encodings: list[Encoding],
    encoder: StructuralEncoder | None = None,
    *,
    epochs: int = 50,
    batch_size: int = 64,
    lr: float = 3e-3,
    seed: int = 0,
    valid_fraction: float = 0.1,
    accelerator: str = "auto",
    progress: bool = True,
) -> Pretrained:
    """Trains an encoder to predict encodings of nodes and graphs from random inputs and edges alone.

    The encoder never sees ``x``, ``edge_attr`` or ``y``, so it can be used on other datasets, frozen or fine-tuned, by
    `graphpe.nn.PretrainedEncoder`. Of fields that are free up to signs, phases or rotations, such as eigenvectors,
    absolute values are predicted; where eigenvalues are equal these are arbitrary too, and a warning says so.

    Args:
        data: The graphs: a `GraphSource`, whose training part is trained on and whose validation part gives the R²;
            or a PyG dataset or list, of which a random part is the validation part.
        encodings: What to predict.
        encoder: What to train, changed in place; None makes a new `StructuralEncoder()`.
        epochs: Number of passes over the training part.
        batch_size: Graphs per batch.
        lr: Peak learning rate.
        seed: Of the initial weights of a new encoder, the random inputs, the order of graphs and the split. On a CPU
            the same seed and number of threads give the same weights.
        valid_fraction: Part of a dataset or list that is the validation part.
        accelerator: Lightning's: ``"auto"``, ``"cpu"``, ``"gpu"``, ...
        progress: Show a progress bar on stderr, or a line now and then where that is no terminal.

    Raises:
        TypeError: If an argument is of another kind.
        ValueError: If a setting is out of range, there is no such accelerator, the encoder is not in float32 or frozen,
            an encoding can't be predicted, no target varies, or the training diverges.

    References:
        Cantürk et al., "Graph Positional and Structural Encoder", https://arxiv.org/abs/2307.07107.
    """
    require_positive_integer("epochs", epochs)
    require_positive_integer("batch_size", batch_size)
    require_number("lr", lr, 0.0, may_equal=False)
    require_seed("seed", seed)
    require_boolean("progress", progress)
    # In a file there are no numbers of NumPy.
    epochs, batch_size, lr, seed = int(epochs), int(batch_size), float(lr), int(seed)
    if encoder is not None:
        _check_encoder(encoder)
    source = _source_of(data, valid_fraction, seed)
    module = GraphDataModule(source, encodings, batch_size=batch_size, seed=seed)
    targets = targets_of(module.encodings)
    trainer = _trainer(epochs, accelerator, progress)
    module.prepare_data()
    module.setup()
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        statistics = _statistics(module, targets)
        encoder = StructuralEncoder() if encoder is None else encoder
        # In float32, whatever torch's default is.
        predictor = EncodingPredictor(encoder, targets, statistics, lr).float()
        _fit(trainer, predictor, module)
    if not all(bool(value.isfinite().all()) for value in encoder.state_dict().values()):
        raise ValueError(
            f"the training diverged: the weights are not finite; lower lr, which is {lr:g}"
        )
    r2 = {target.field.name: value for target, value in zip(targets, predictor.r2, strict=True)}
    description = {
        "dataset": _name_of(data),
        "num_graphs": {part: module.num_graphs[part] for part in ("train", "valid")},
        "targets": [
            _describe(target, one, r2[target.field.name])
            for target, one in zip(targets, statistics, strict=True)
        ],
        "training": {"epochs": epochs, "batch_size": batch_size, "lr": lr, "seed": seed},
        "versions": _versions(),
    }
    return Pretrained(encoder.cpu().eval(), r2, description)


def _check_encoder(encoder: object) -> None:
    if not isinstance(encoder, StructuralEncoder):
        raise TypeError(f"encoder is a {type(encoder).__name__}; it must be a StructuralEncoder")
    parameters = list(encoder.parameters())
    dtype = next((p.dtype for p in parameters if p.dtype != torch.float32), None)
    if dtype is not None:
        raise ValueError(
            f"encoder is in {dtype}, but it is trained in float32; give encoder.float()"
        )
    if not any(parameter.requires_grad for parameter in parameters):
        raise ValueError(
            "all of encoder is frozen, so there is nothing to train; give encoder.requires_grad_()"
        )


def _statistics(module: GraphDataModule, targets: list[Target]) -> list[Statistics]:
    """Those of the training part; raises a ValueError where nothing varies."""
    statistics = statistics_of(targets, module.loader("train"))
    if not any(bool(one.varies.any()) for one in statistics):
        raise ValueError(
            "all targets are constant over the training part, so there is nothing to learn; take other encodings or "
            "more graphs"
        )
    return statistics


def _trainer(epochs: int, accelerator: str, progress: bool) -> Trainer:
    try:
        return Trainer(
            max_epochs=epochs,
            accelerator=accelerator,
            devices=1,
            logger=False,
            enable_checkpointing=False,
            enable_model_summary=False,
            enable_progress_bar=progress,
            callbacks=[TrainingProgress()] if progress else [],
            num_sanity_val_steps=0,
            gradient_clip_val=_GRADIENT_CLIP,
        )
    except (ValueError, TypeError, ImportError, MisconfigurationException) as error:
        raise ValueError(
            f"accelerator is {accelerator!r}, which isn't known or isn't there on this machine; use 'cpu' or 'auto'"
        ) from error


def _fit(trainer: Trainer, predictor: EncodingPredictor, module: GraphDataModule) -> None:
    with warnings.catch_warnings():
        # More processes that make batches cost more than they bring for graphs that are in memory.
        warnings.filterwarnings("ignore", message=r"The '\w+' does not have many workers")
        trainer.fit(predictor.train(), datamodule=module)


def _describe(target: Target, statistics: Statistics, r2: float) -> dict[str, Any]:
    return {
        "field": target.field.name,
        "level": target.field.level,
        "encoding": repr(target.encoding),
        "absolute": target.is_absolute,
        "mean": statistics.mean.tolist(),
        "std": statistics.std.tolist(),
        "r2": None if math.isnan(r2) else r2,
    }


def _versions() -> dict[str, str]:
    from graphpe import __version__

    return {
        "graphpe": __version__,
        "torch": str(torch.__version__),
        "torch_geometric": torch_geometric.__version__,
    }


@dataclass(frozen=True, eq=False)
class _RandomSplit(GraphSource):
    """Graphs with a random validation part.

    Args:
        graphs: The graphs.
        valid_fraction: Part of them that is the validation part.
        seed: Of the split.
    """

    graphs: Dataset | Sequence[Data]
    valid_fraction: float
    seed: int

    def load(self) -> SplitGraphs:
        count = len(self.graphs)
        num_valid = max(1, round(self.valid_fraction * count))
        if count < 2:
            raise ValueError(f"data has {count} graphs; give at least 2")
        if count <= num_valid:
            raise ValueError(
                f"valid_fraction is {self.valid_fraction:g}, which leaves none of the {count} graphs to train on; "
                "lower it"
            )
        order = torch.randperm(count, generator=torch.Generator().manual_seed(self.seed))
        valid, train = order.split([num_valid, count - num_valid])
        graphs = self.graphs if isinstance(self.graphs, Dataset) else list(self.graphs)
        return SplitGraphs(graphs, {"train": train, "valid": valid, "test": order[:0]})

    def prepare(self) -> None:
        pass


def _source_of(data: object, valid_fraction: float, seed: int) -> GraphSource:
    if isinstance(data, GraphSource):
        return data
    if isinstance(data, GraphDataModule):
        raise TypeError("data is a GraphDataModule; give its source, data.dataset")
    if isinstance(data, Data) or not (hasattr(data, "__len__") and hasattr(data, "__getitem__")):
        raise TypeError(
            f"data is a {type(data).__name__}; it must be a GraphSource, a PyG dataset or a list of Data"
        )
    require_number("valid_fraction", valid_fraction, 0.0, may_equal=False, below=1.0)
    return _RandomSplit(data, valid_fraction, seed)


def _name_of(data: object) -> str:
    """A name for people to read: OGB's, or that of the class."""
    name = getattr(data, "name", None)
    return name if isinstance(name, str) else type(data).__name__
