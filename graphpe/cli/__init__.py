"""The `graphpe` command. Each subcommand imports only what it needs, so that help comes at once."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from graphpe.cli.errors import choices, fail, is_first_process

_COMMANDS = {
    "fit": "train a network, test its best checkpoint, and write predictions",
    "validate": "compute the metric on the validation part",
    "test": "compute the metric on the test part and write predictions",
    "predict": "write predictions for the test part",
    "benchmark": "run a suite of trainings, go on with it after a kill, and make its table",
    "encode": "compute encodings of a dataset into a cache, with as many processes or machines as there are",
    "cache": "list, verify or remove what a cache of encodings holds",
    "pretrain": "train an encoder to predict encodings, to be used on any dataset",
    "encodings": "list the encodings: fields, symmetry, cost, paper; all about one: graphpe encodings NAME",
}

_HELP = """\
usage: graphpe COMMAND [options]

commands:
{commands}

  graphpe fit --config experiments/quickstart.yaml
  graphpe fit --config datasets/zinc.yaml --config experiments/zinc/graph_transformer.yaml
  graphpe test --config runs/NAME/version_0/config.yaml --ckpt_path runs/NAME/version_0/checkpoints/best.ckpt
  graphpe fit --config runs/NAME/version_0/config.yaml --ckpt_path runs/NAME/version_0/checkpoints/last.ckpt  (resume)

Configurations are merged from left to right, and options such as `--model.lr 0.001` come on top.
`graphpe COMMAND --help` lists all options."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line.

    Args:
        arguments: Words after ``graphpe``; None takes those of this process.

    Returns:
        The exit code: 0; 1 if the run failed; 2 if the command line or a configuration is wrong; 130 after Ctrl-C.
    """
    try:
        return _run(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt as interruption:
        if is_first_process():
            print(f"graphpe: {str(interruption) or 'interrupted'}", file=sys.stderr)
        return 130


def _run(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        commands = "\n".join(f"  {name:<10} {text}" for name, text in _COMMANDS.items())
        print(_HELP.format(commands=commands))
        return 0
    command, *options = arguments
    if command == "--version":
        from graphpe import __version__

        print(f"graphpe {__version__}")
        return 0
    if command not in _COMMANDS:
        return fail(2, f"no command {command!r}; {choices(command, _COMMANDS)}")
    if command == "encodings":
        from graphpe.cli.encodings import print_encodings

        return print_encodings(options)
    if command == "benchmark":
        from graphpe.cli.benchmark import run_benchmark

        return run_benchmark(options)
    if command == "pretrain":
        from graphpe.cli.pretrain import run_pretraining

        return run_pretraining(options)
    if command == "encode":
        from graphpe.cli.encode import run_encoding

        return run_encoding(options)
    if command == "cache":
        from graphpe.cli.cache import run_cache

        return run_cache(options)
    from graphpe.cli.experiment import run_experiment

    return run_experiment(command, options)
