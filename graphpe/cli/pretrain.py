"""`graphpe pretrain`: trains an encoder to predict encodings, and saves it."""

from __future__ import annotations

import typing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jsonargparse import ActionConfigFile
from rich.console import Console

import graphpe.transforms  # noqa: F401  # short class names in configurations resolve to imported classes
from graphpe.cli.check import Group, check_names, read_options
from graphpe.cli.errors import ConfigError, fail, is_for_user
from graphpe.cli.parser import OneLineParser, essence, with_whole_key
from graphpe.cli.quiet import quieten
from graphpe.data import DatasetCard
from graphpe.data.sources import GraphSource
from graphpe.nn import StructuralEncoder
from graphpe.nn.encoders.pretrained.encoder_file import require_writable
from graphpe.tasks import Features, Task
from graphpe.training import pretrain
from graphpe.transforms import Encoding

_DESCRIPTION = (
    "Trains an encoder to predict encodings of the graphs of a dataset, prints how well it does on the validation "
    "part, and saves it for PretrainedEncoder."
)
_USAGE = (
    "graphpe pretrain --config datasets/NAME.yaml --encodings LIST --out FILE [--OPTION VALUE ...]"
)
_ENCODINGS_HELP = 'What to predict, such as \'[{"class_path": "AddRandomWalkPE", "init_args": {"walk_length": 16}}]\'.'

# Arguments of `pretrain` that the command line gives in another way.
_NOT_OPTIONS = {"data", "encodings", "encoder", "valid_fraction", "progress"}
_TRAINING = {
    name: hint
    for name, hint in typing.get_type_hints(pretrain).items()
    if name not in _NOT_OPTIONS | {"return"}
}


@dataclass(frozen=True)
class PretrainingData:
    """Which graphs are trained on.

    Args:
        dataset: Where the graphs come from.
    """

    dataset: GraphSource


_SECTIONS = {
    "card": DatasetCard,
    "task": Group(Task),
    "features": Group(Features),
    "data": Group(PretrainingData),
    "encodings": list[Encoding],
    "encoder": Group(StructuralEncoder),
    "out": str,
    **_TRAINING,
}


def run_pretraining(options: list[str]) -> int:
    """Pre-trains and saves an encoder.

    Args:
        options: The words after ``graphpe pretrain``.

    Returns:
        The exit code.
    """
    quieten()
    try:
        arguments = _read(options)
    except ConfigError as error:
        return fail(2, str(error))
    path = arguments.pop("out")
    try:
        trained = pretrain(**arguments)
        trained.save(path)
    except SystemExit as error:  # Lightning's answer to Ctrl-C
        raise KeyboardInterrupt("interrupted; nothing is saved") from error
    except Exception as error:
        if not is_for_user(error):
            raise
        return fail(1, str(error))
    console = Console(highlight=False)
    trained.show(console)
    # The path is not broken, so that it can be copied.
    console.print(f"saved {path}", soft_wrap=True, markup=False)
    return 0


def _read(options: list[str]) -> dict[str, Any]:
    """The arguments of `pretrain`, and the path ``"out"``."""
    for config, is_file in read_options(options):
        valid = _SECTIONS | ({} if is_file else {"config": Any})
        check_names(config, valid, {}, is_file)
    parser = _parser()
    try:
        config = parser.parse_args(options)
    except ConfigError as error:
        raise ConfigError(with_whole_key(str(error), options)) from error
    torch.manual_seed(config.seed)  # the encoder's initial weights
    try:
        objects = parser.instantiate_classes(config)
    except (ValueError, TypeError) as error:
        raise ConfigError(essence(str(error))) from error
    try:
        require_writable(config.out)  # before the training and not after it
    except ValueError as error:
        raise ConfigError(f"out: {error}") from error
    return {
        "data": objects.data.dataset,
        "encodings": objects.encodings,
        "encoder": objects.encoder,
        "out": Path(config.out).expanduser(),
        **{name: objects[name] for name in _TRAINING},
    }


def _parser() -> OneLineParser:
    parser = OneLineParser(prog="graphpe pretrain", description=_DESCRIPTION, usage=_USAGE)
    parser.add_argument(
        "-c", "--config", action=ActionConfigFile, help="A YAML file; may be given repeatedly."
    )
    parser.add_class_arguments(PretrainingData, "data", instantiate=False)
    parser.add_argument("--encodings", type=list[Encoding], required=True, help=_ENCODINGS_HELP)
    parser.add_argument("--out", type=str, required=True, help="The file to write, *.safetensors.")
    parser.add_class_arguments(StructuralEncoder, "encoder")
    parser.add_function_arguments(pretrain, skip=_NOT_OPTIONS, as_group=False)
    for section in ("card", "task", "features"):  # of the dataset's card, and not needed here
        parser.add_argument(f"--{section}", type=dict | None, default=None, help="Not used.")
    return parser
