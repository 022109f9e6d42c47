"""The runs of a suite, each with the configuration that `graphpe fit` is given."""

from __future__ import annotations

import copy
import fnmatch
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any

import graphpe.nn
from graphpe.benchmark.reading import SuiteError
from graphpe.benchmark.suite import GridEntry, Suite

# Parses a configuration and builds what it names: gives it with all defaults, or raises a ValueError.
Resolve = Callable[[Mapping[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class Combination:
    """A dataset with an encoding and a network; what differs between its runs is the seed.

    Args:
        dataset: Name of the dataset.
        encoding: Name of the encoding.
        network: Name of the network.
        composed: The configuration as far as the suite gives it, without what is a run's own.
        resolve: Checks a configuration and fills in its defaults.
    """

    dataset: str
    encoding: str
    network: str
    composed: Mapping[str, Any] = field(repr=False, compare=False)
    resolve: Resolve = field(repr=False, compare=False)

    @property
    def name(self) -> str:
        """``dataset/encoding/network``."""
        return f"{self.dataset}/{self.encoding}/{self.network}"

    @cached_property
    def config(self) -> dict[str, Any]:
        """The configuration with all defaults, without what is a run's own.

        Raises:
            SuiteError: If the configuration is refused.
        """
        try:
            return self.resolve(self.composed)
        except ValueError as error:
            raise SuiteError(f"{self.name}: {error}") from error


@dataclass(frozen=True)
class Run:
    """One training of a suite.

    Args:
        combination: What is trained.
        seed: The seed.
    """

    combination: Combination
    seed: int

    @property
    def name(self) -> str:
        """``dataset/encoding/network/seed_<s>``, which is also the path of its folder."""
        return f"{self.combination.name}/seed_{self.seed}"

    @property
    def config(self) -> dict[str, Any]:
        """The whole configuration, but for where the run's files go."""
        config = copy.deepcopy(self.combination.config)
        config["seed_everything"] = self.seed
        config["experiment"]["name"] = self.name
        return config

    def matches(self, patterns: Sequence[str]) -> bool:
        """Whether its name, or the beginning of it up to a slash, fits one of the patterns (``*`` fits anything)."""
        parts = self.name.split("/")
        beginnings = ["/".join(parts[:length]) for length in range(1, len(parts) + 1)]
        return any(
            fnmatch.fnmatchcase(beginning, pattern)
            for pattern in patterns
            for beginning in beginnings
        )


def plan_runs(suite: Suite, resolve: Resolve, data_root: Path | None = None) -> list[Run]:
    """The runs of a suite: all combinations with the first seed, then all with the second.

    Args:
        suite: The suite.
        resolve: Checks a configuration and fills in its defaults.
        data_root: Takes the place of the folder ``data`` in the roots of datasets: ``data/ogb`` is ``ogb`` in it.

    Raises:
        SuiteError: If a combination is given twice. What else is wrong is found when its configuration is asked for.
    """
    combinations = list(_combinations(suite, resolve, data_root))
    return [Run(combination, seed) for seed in suite.seeds for combination in combinations]


def compose(
    suite: Suite, entry: GridEntry, dataset: str, encoding: str, network: str
) -> dict[str, Any]:
    """The configuration of a combination, as far as the suite gives it.

    Later settings replace earlier ones: of the card, the suite, the dataset, the encoding, the network, the entry of
    the grid. Mappings are merged, unless the later one names another class. Transforms and encoders of the dataset and
    the encoding are added to those that the settings name. An encoder without ``out_channels`` gets the network's
    ``hidden_channels``, one of angles half of them.

    Args:
        suite: The suite.
        entry: The entry of the grid that names the combination.
        dataset: Name of the dataset.
        encoding: Name of the encoding.
        network: Name of the network.
    """
    data, code, net = suite.datasets[dataset], suite.encodings[encoding], suite.networks[network]
    config: dict[str, Any] = {}
    model = {"network": {"class_path": net.class_path, "init_args": net.init_args}}
    for settings in (
        data.card,
        suite.settings,
        data.settings,
        code.settings,
        {"model": model, "experiment": {}},
        net.settings,
        entry.settings,
    ):
        _merge(config, settings)
    network_arguments = config["model"]["network"]["init_args"]
    # Copies: what is filled in below is for this combination alone.
    transforms, encoders = copy.deepcopy(
        ([*data.transforms, *code.transforms], [*data.encoders, *code.encoders])
    )
    _append(config.setdefault("data", {}), "encodings", transforms)
    _append(network_arguments, "positional_encoders", encoders)
    for encoder in encoders:
        fill_width(encoder, network_arguments, code.name)
    return config


def _combinations(suite: Suite, resolve: Resolve, data_root: Path | None) -> Iterator[Combination]:
    seen = set()
    for number, entry in enumerate(suite.grid):
        for dataset in entry.datasets:
            for encoding in entry.encodings:
                for network in entry.networks:
                    key = dataset, encoding, network
                    if key in seen:
                        raise SuiteError(f"grid[{number}]: {'/'.join(key)} is given twice")
                    seen.add(key)
                    config = compose(suite, entry, *key)
                    if data_root is not None:
                        _move_roots(config["data"].get("dataset"), data_root)
                    yield Combination(*key, config, resolve)


def _move_roots(dataset: Any, data_root: Path) -> None:
    """Puts a folder in the place of ``data`` in the root of a dataset, and in those of datasets that it takes from."""
    arguments = dataset.get("init_args") if isinstance(dataset, dict) else None
    for key, value in (arguments or {}).items():
        if key == "root" and isinstance(value, str) and PurePath(value).parts[:1] == ("data",):
            arguments[key] = str(data_root / PurePath(value).relative_to("data"))
        else:
            _move_roots(value, data_root)


def _merge(config: dict[str, Any], other: Mapping[str, Any]) -> None:
    """Puts the values of another configuration into one; mappings are merged, anything else is replaced.

    A mapping that names another class replaces the one that is there, whose arguments are no arguments of it.
    """
    for key, value in other.items():
        if isinstance(value, Mapping):
            there = config.get(key)
            if not isinstance(there, dict) or _names_another_class(there, value):
                config[key] = {}
            _merge(config[key], value)
        else:
            config[key] = copy.deepcopy(value)


def _names_another_class(there: Mapping[str, Any], value: Mapping[str, Any]) -> bool:
    first, second = there.get("class_path"), value.get("class_path")
    both = isinstance(first, str) and isinstance(second, str)
    return both and first.rpartition(".")[2] != second.rpartition(".")[2]


def _append(config: dict[str, Any], key: str, items: list[Any]) -> None:
    if items:
        config[key] = [*(config.get(key) or []), *items]


def fill_width(encoder: dict[str, Any], network: Mapping[str, Any], encoding: str) -> None:
    """Gives an encoder the width that the network needs, if it has none.

    Args:
        encoder: Class and arguments of the encoder, which are changed.
        network: The arguments of the network.
        encoding: Name of the encoding, for errors.

    Raises:
        SuiteError: If neither has a width.
    """
    arguments = encoder["init_args"] = encoder.get("init_args") or {}
    if "out_channels" in arguments:
        return
    width = network.get("hidden_channels")
    if not isinstance(width, int):
        raise SuiteError(
            f"encodings.{encoding}: {encoder['class_path']} has no out_channels, and the network no hidden_channels to "
            "take them from; give one of them"
        )
    cls = getattr(graphpe.nn, encoder["class_path"].rpartition(".")[2], None)
    arguments["out_channels"] = width // 2 if getattr(cls, "role", None) == "rotate" else width
