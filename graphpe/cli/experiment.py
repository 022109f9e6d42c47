"""`graphpe fit|validate|test|predict`: LightningCLI with graphpe's data, networks and outputs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from jsonargparse import ActionConfigFile, Namespace
from lightning.pytorch import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback, Timer
from lightning.pytorch.cli import LightningArgumentParser, LightningCLI, SaveConfigCallback
from lightning.pytorch.utilities.exceptions import MisconfigurationException
from rich.console import Console

import graphpe.nn
import graphpe.transforms  # noqa: F401  # short class names in configurations resolve to imported classes
from graphpe.cli.check import check_names, read_options
from graphpe.cli.checkpoint import check_checkpoint, check_resumable, finished_epochs
from graphpe.cli.configuration import LINKED, Experiment, add_arguments, sections
from graphpe.cli.errors import ConfigError, fail, is_for_user, is_of_one_batch
from graphpe.cli.parser import OneLineParser, essence, with_whole_key
from graphpe.cli.quiet import quieten
from graphpe.cli.run_folder import RunFolder
from graphpe.data import DatasetCard, GraphDataModule
from graphpe.training import (
    BestCheckpoint,
    GraphPredictor,
    LastCheckpoint,
    PredictionWriter,
    RunSummary,
    TrainingProgress,
)

_DESCRIPTIONS = {
    "fit": "Trains a network, tests its best checkpoint, writes predictions, and prints a summary.",
    "validate": "Computes the metric of a checkpoint on the validation part.",
    "test": "Computes the metric of a checkpoint on the test part and writes predictions.",
    "predict": "Writes the predictions of a checkpoint for the test part.",
}
_CHECKPOINT_HELP = {
    "fit": "Path of a checkpoint to resume from: runs/NAME/version_N/checkpoints/last.ckpt.",
    "validate": "Path of a checkpoint, such as runs/NAME/version_N/checkpoints/best.ckpt.",
}
_TRAINER_DEFAULTS = {
    "max_epochs": 100,
    "enable_model_summary": False,  # the number of parameters is in the summary of the run
    "num_sanity_val_steps": 0,
    "log_every_n_steps": 1,  # everything is logged per epoch
    "deterministic": "warn",
}


class _ConfigInRunFolder(SaveConfigCallback):
    """Saves the configuration beside the logs, if there are logs."""

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        if trainer.loggers:
            super().setup(trainer, pl_module, stage)


class ExperimentCLI(LightningCLI):
    """One subcommand of `graphpe` that runs a trainer.

    Args:
        command: ``"fit"``, ``"validate"``, ``"test"`` or ``"predict"``.
        options: The words after it.
    """

    def __init__(self, command: str, options: list[str]) -> None:
        method_arguments = LightningCLI.subcommands()[command]
        self.subcommands = lambda: {command: method_arguments}  # only the parser that is needed
        super().__init__(
            model_class=GraphPredictor,
            datamodule_class=GraphDataModule,
            save_config_callback=_ConfigInRunFolder,
            parser_kwargs={
                "prog": "graphpe",
                command: {
                    "description": _DESCRIPTIONS[command],
                    "usage": f"graphpe {command} --config FILE [--config FILE ...] [--OPTION VALUE ...]",
                },
            },
            trainer_defaults=dict(_TRAINER_DEFAULTS),
            seed_everything_default=0,
            auto_configure_optimizers=False,
            args=[command, *options],
        )

    # --- configuration ---------------------------------------------------------------------------------------

    def init_parser(self, **settings: Any) -> LightningArgumentParser:
        parser = OneLineParser(**settings)
        parser.add_argument(
            "-c", "--config", action=ActionConfigFile, help="A YAML file; may be given repeatedly."
        )
        return parser

    def _prepare_subcommand_parser(
        self, klass: type, subcommand: str, **settings: Any
    ) -> LightningArgumentParser:
        parser = super()._prepare_subcommand_parser(klass, subcommand, **settings)
        for action in parser._actions:
            if (
                action.dest == "ckpt_path"
            ):  # Lightning's keywords, such as "best", have no meaning here
                action.help = _CHECKPOINT_HELP["fit" if subcommand == "fit" else "validate"]
        return parser

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        add_arguments(parser)

    def parse_arguments(self, parser: LightningArgumentParser, args: list[str]) -> None:
        command, *options = args
        for config, is_file in read_options(options):
            valid = sections(command) | ({} if is_file else {"config": Any})
            check_names(config, valid, LINKED, is_file)
        try:
            self.config = parser.parse_args(args)
        except ConfigError as error:
            raise ConfigError(with_whole_key(str(error), options)) from error

    def _parse_ckpt_path(self) -> None:
        """LightningCLI would replace the configuration of the model by the checkpoint's, without a word."""

    def instantiate_classes(self) -> None:
        checkpoint = self._get(self.config, "ckpt_path")
        if checkpoint is None and self.subcommand != "fit":
            raise ConfigError(
                f"{self.subcommand} needs a trained network; "
                "add --ckpt_path runs/NAME/version_N/checkpoints/best.ckpt"
            )
        if checkpoint is not None and not Path(checkpoint).is_file():
            raise ConfigError(f"there is no checkpoint {str(checkpoint)!r}")
        try:
            super().instantiate_classes()
        except (ValueError, TypeError, MisconfigurationException) as error:
            message = essence(str(error))
            if "No supported gpu backend" in message or "can not run on your system" in message:
                accelerator = self._get(self.config, "trainer").accelerator
                message = f"trainer.accelerator is {accelerator!r}, which this machine lacks; use 'cpu' or 'auto'"
            raise ConfigError(message) from error
        if checkpoint is not None:
            check_checkpoint(checkpoint, self.model)
        if self.subcommand == "fit":
            _check_epochs(self.trainer)
            if checkpoint is not None:
                check_resumable(checkpoint, self.trainer)

    def after_instantiate_classes(self) -> None:
        # What a checkpoint needs to build its network again, in plain values.
        self.model.hparams.update(self.config_dump["model"])
        if self.experiment.threads is not None:
            torch.set_num_threads(self.experiment.threads)

    def instantiate_trainer(self, **kwargs: Any) -> Trainer:
        self.experiment: Experiment = self._get(self.config_init, "experiment")
        self.best = BestCheckpoint(self.model.task)
        self.timer = Timer()
        self.predictions = PredictionWriter()
        settings = self._get(self.config_init, "trainer")
        if not isinstance(settings, Namespace):
            raise ConfigError(
                f"trainer is {settings!r}; it must be a mapping of options, max_epochs: 20 say"
            )
        callbacks: list[Callback] = [self.timer, self.predictions]
        self.last = LastCheckpoint()
        if self.subcommand == "fit" and settings.enable_checkpointing is not False:
            callbacks += [self.best, self.last]
        if settings.enable_progress_bar is not False:
            callbacks.append(TrainingProgress())
        if settings.fast_dev_run:  # a few steps are always within the warm-up
            warnings.filterwarnings("ignore", message="the training ends within the warm-up")
        self.has_own_logger = settings.logger not in (None, True, False)
        self.logs_nothing = settings.logger is False
        if not self.has_own_logger:
            kwargs["logger"] = False  # until the run has a folder
        self.trainer_defaults["callbacks"] = callbacks  # in addition to those of the user
        return super().instantiate_trainer(**kwargs)

    @contextmanager
    def _run_folder(self) -> Iterator[None]:
        """Works in a new folder, which is removed if the run fails before its first epoch has ended."""
        is_training = self.subcommand == "fit"
        folder = None
        if not self.has_own_logger and not self.trainer.fast_dev_run:
            kind = "version" if is_training else str(self.subcommand)
            folder = RunFolder(self.experiment.folder, self.experiment.name, kind)
            self.trainer.loggers = folder.loggers(is_training, self.logs_nothing)
        try:
            yield
        except BaseException as error:
            message = self._interruption()
            if folder is not None and self._epochs_here() <= 0:
                folder.remove()
            if isinstance(error, SystemExit):  # Lightning's answer to Ctrl-C
                raise KeyboardInterrupt(message) from error
            raise

    def _epochs_here(self) -> int:
        """How many epochs this process has trained, not counting those before it resumed."""
        if self.subcommand != "fit":
            return 0
        # The last checkpoint is written before Lightning counts the epoch.
        last = self._last_checkpoint()
        done = self.trainer.current_epoch if last is None else finished_epochs(last)
        checkpoint = self._get(self.config, "ckpt_path")
        return done - (0 if checkpoint is None else finished_epochs(checkpoint))

    def _last_checkpoint(self) -> str | None:
        path = self.last.best_model_path
        return path if Path(path).is_file() else None

    def _interruption(self) -> str:
        if self.subcommand != "fit":
            return "interrupted"
        last = self._last_checkpoint()
        if last is None:
            return "interrupted before the first epoch ended"
        return f"interrupted after epoch {finished_epochs(last)}; resume with --ckpt_path {last}"

    # --- subcommands -----------------------------------------------------------------------------------------

    def fit(self, **arguments: Any) -> None:
        """Trains, tests the best checkpoint, writes predictions, and prints the summary."""
        with self._run_folder():
            self.trainer.fit(**arguments)
        best = self.best.best_model_path or None
        self.trainer.test(self.model, datamodule=self.datamodule, ckpt_path=best, verbose=False)
        folder = self.trainer.log_dir  # all processes take part
        if self.trainer.is_global_zero and best is not None:
            summary = self._summary(best, str(folder))
            summary.save(Path(summary.folder) / "summary.json")
            summary.show(Console())

    def validate(self, **arguments: Any) -> None:
        """Prints the metric on the validation part."""
        self._evaluate(self.trainer.validate, **arguments)

    def test(self, **arguments: Any) -> None:
        """Prints the metric on the test part and writes predictions."""
        self._evaluate(self.trainer.test, **arguments)
        self._say_where_predictions_are()

    def predict(self, **arguments: Any) -> None:
        """Writes predictions for the test part."""
        with self._run_folder():
            self.trainer.predict(**{**arguments, "return_predictions": False})
        self._say_where_predictions_are()

    def _evaluate(self, run: Callable[..., Any], **arguments: Any) -> None:
        with self._run_folder():
            run(**{**arguments, "verbose": False})
        if self.trainer.is_global_zero:
            for name, value in self.trainer.callback_metrics.items():
                print(f"{name} {float(value):.4f}")

    def _say_where_predictions_are(self) -> None:
        if self.trainer.is_global_zero and self.predictions.path is not None:
            print(f"predictions {self.predictions.path}")

    def _summary(self, best: str, folder: str) -> RunSummary:
        metric = self.model.task.metric
        tested = {
            name.removeprefix("test/"): float(value)
            for name, value in self.trainer.callback_metrics.items()
            if name.startswith("test/")
        }
        card: DatasetCard | None = self._get(self.config_init, "card")
        return RunSummary(
            name=self.experiment.name,
            metric=metric,
            test=tested.pop(metric, None),
            valid=float(self.best.best_model_score),
            best_epoch=finished_epochs(best),
            num_parameters=sum(p.numel() for p in self.model.parameters()),
            encoding_seconds=self.datamodule.encoding_seconds,
            training_seconds=self.timer.time_elapsed("train"),
            seed=self._get(self.config_init, "seed_everything"),
            folder=folder,
            checkpoint=best,
            last_checkpoint=self.last.best_model_path,
            predictions=str(self.predictions.path),
            baselines=[*self.experiment.baselines, *(card.baselines if card else ())],
            more=tested,
        )


def _check_epochs(trainer: Trainer) -> None:
    """Refuses a training without an epoch, or without the validation that chooses its checkpoint."""
    if trainer.max_epochs == 0 or trainer.max_steps == 0 or trainer.limit_train_batches == 0:
        raise ConfigError(
            "nothing would be trained; set trainer.max_epochs, trainer.max_steps and "
            "trainer.limit_train_batches to more than 0"
        )
    never = trainer.limit_val_batches == 0 or (
        trainer.max_epochs is not None
        and 0 < trainer.max_epochs < (trainer.check_val_every_n_epoch or 1)
    )
    if never and any(isinstance(callback, BestCheckpoint) for callback in trainer.callbacks):
        raise ConfigError(
            "the best checkpoint is chosen by the validation metric, which would never be computed; raise "
            "trainer.limit_val_batches, or lower trainer.check_val_every_n_epoch to at most trainer.max_epochs"
        )


def run_experiment(command: str, options: list[str]) -> int:
    """Runs a subcommand.

    Args:
        command: ``"fit"``, ``"validate"``, ``"test"`` or ``"predict"``.
        options: The words after it.

    Returns:
        The exit code.
    """
    quieten()
    try:
        ExperimentCLI(command, options)
    except ConfigError as error:
        return fail(2, str(error))
    except Exception as error:
        if not is_for_user(error):
            raise
        return fail(1, str(error), in_every_process=is_of_one_batch(error))
    return 0
