"""`Suite`: what to compare, datasets × encodings × networks × seeds, read from a YAML file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from graphpe.benchmark.reading import (
    SuiteError,
    choices,
    inline_or_file,
    read_yaml,
    require_keys,
    require_list,
    require_mapping,
)

# Part of a configuration of `graphpe fit`, nested.
Settings = Mapping[str, Any]

# What is done with an encoding and a network: they are trained, or asked which graphs they tell apart.
Kind = Literal["training", "expressivity"]

_NAME = re.compile(r"[\w+-][\w.+-]*")  # names are names of folders


@dataclass(frozen=True)
class DatasetEntry:
    """A dataset of a suite.

    Args:
        name: Its name, of the card's file if none is given.
        card: The configuration in its card.
        transforms: Encodings that every run on it computes.
        encoders: Encoders that every run on it has.
        settings: What is different on this dataset.
    """

    name: str
    card: Settings
    transforms: tuple[Settings, ...] = ()
    encoders: tuple[Settings, ...] = ()
    settings: Settings = field(default_factory=dict)


@dataclass(frozen=True)
class EncodingEntry:
    """An encoding of a suite: what is computed of the graphs, and what learns from it.

    Args:
        name: Its name.
        transforms: Classes of `graphpe.transforms` with their arguments.
        encoders: Classes of `graphpe.nn` with their arguments.
        settings: What is different with this encoding.
    """

    name: str
    transforms: tuple[Settings, ...] = ()
    encoders: tuple[Settings, ...] = ()
    settings: Settings = field(default_factory=dict)


@dataclass(frozen=True)
class NetworkEntry:
    """A network of a suite.

    Args:
        name: Its name.
        class_path: A class of `graphpe.nn`.
        init_args: Its arguments.
        settings: What is different with this network.
    """

    name: str
    class_path: str
    init_args: Settings = field(default_factory=dict)
    settings: Settings = field(default_factory=dict)


@dataclass(frozen=True)
class GridEntry:
    """Some combinations of a suite: all of the datasets with all of the encodings and networks named.

    Args:
        datasets: Names of datasets.
        encodings: Names of encodings.
        networks: Names of networks.
        settings: What is different in these combinations.
    """

    datasets: tuple[str, ...]
    encodings: tuple[str, ...]
    networks: tuple[str, ...]
    settings: Settings = field(default_factory=dict)


@dataclass(frozen=True)
class Suite:
    """What to compare: every combination of the grid with every seed.

    Args:
        name: Its name; the results go to ``<folder>/<name>``.
        kind: What is done with a combination.
        datasets: Datasets, by name; a suite of kind ``"expressivity"`` has none.
        encodings: Encodings, by name.
        networks: Networks, by name.
        seeds: Seeds.
        settings: The configuration that all runs share; none of kind ``"expressivity"``.
        grid: Which combinations; without one, all of them.
    """

    name: str
    kind: Kind
    datasets: Mapping[str, DatasetEntry]
    encodings: Mapping[str, EncodingEntry]
    networks: Mapping[str, NetworkEntry]
    seeds: tuple[int, ...]
    settings: Settings
    grid: tuple[GridEntry, ...]


def read_suite(path: str | Path) -> Suite:
    """Reads a suite.

    Args:
        path: The YAML file; see ``docs/benchmarks.md`` for what it holds. Paths in it are relative to the working
            directory.

    Raises:
        SuiteError: If the file, or one that it names, is missing or says something that a suite can't say.
    """
    content = read_yaml(path, "--config")
    kind = _kind(content.get("kind", "training"))
    is_training = kind == "training"
    needed = ("name", *(["datasets"] if is_training else []), "encodings", "networks", "seeds")
    valid = (*needed, "kind", "grid", *(["settings"] if is_training else []))
    require_keys(content, valid, str(path) if is_training else f"{path}, of kind {kind!r}")
    for key in needed:
        if key not in content:
            raise SuiteError(
                f"{path} has no {key!r}; a suite of kind {kind!r} needs {', '.join(needed)}"
            )
    datasets = _datasets(content["datasets"]) if is_training else {}
    encodings = {
        name: _encoding(name, value)
        for name, value in _named(content["encodings"], "encodings").items()
    }
    networks = {
        name: _network(name, value)
        for name, value in _named(content["networks"], "networks").items()
    }
    every = {"datasets": datasets, "encodings": encodings, "networks": networks}
    suite = Suite(
        name=_name(content["name"], "name"),
        kind=kind,
        **every,
        seeds=_seeds(content["seeds"]),
        settings=_settings(content, ""),
        grid=_grid(content.get("grid"), every),
    )
    if not is_training:
        _require_no_settings(suite)
    return suite


def _kind(value: object) -> Kind:
    if value not in get_args(Kind):
        raise SuiteError(f"kind is {value!r}; {choices(str(value), get_args(Kind))}")
    return value


def _require_no_settings(suite: Suite) -> None:
    entries = {
        **{f"encodings.{name}": entry for name, entry in suite.encodings.items()},
        **{f"networks.{name}": entry for name, entry in suite.networks.items()},
        **{f"grid[{number}]": entry for number, entry in enumerate(suite.grid)},
    }
    for place, entry in entries.items():
        if entry.settings:
            raise SuiteError(
                f"{place} has settings, which are of trainings; a suite of kind 'expressivity' trains nothing"
            )


def _datasets(value: object) -> dict[str, DatasetEntry]:
    entries: dict[str, DatasetEntry] = {}
    for number, item in enumerate(require_list(value, "datasets")):
        place = f"datasets[{number}]"
        if isinstance(item, str):
            item = {"card": item}
        item = require_mapping(item, place)
        require_keys(item, ("card", "name", "transforms", "encoders", "settings"), place)
        if "card" not in item:
            raise SuiteError(
                f"{place} has no card; give the path of one, such as datasets/zinc.yaml"
            )
        card = item["card"]
        if "name" not in item and not isinstance(card, str):
            raise SuiteError(
                f"{place} has no name; a dataset whose card is written in place needs one"
            )
        name = _name(item.get("name", Path(str(card)).stem), f"{place}.name")
        if name in entries:
            raise SuiteError(f"{place}: there are two datasets {name!r}; give one another `name`")
        entries[name] = DatasetEntry(
            name=name,
            card=inline_or_file(card, f"{place}.card"),
            transforms=_classes(item, "transforms", place),
            encoders=_classes(item, "encoders", place),
            settings=_settings(item, place),
        )
    return _not_empty(entries, "datasets")


def _encoding(name: str, value: object) -> EncodingEntry:
    place = f"encodings.{name}"
    content = inline_or_file(value if value is not None else {}, place)
    require_keys(content, ("transforms", "encoders", "settings"), place)
    return EncodingEntry(
        name=name,
        transforms=_classes(content, "transforms", place),
        encoders=_classes(content, "encoders", place),
        settings=_settings(content, place),
    )


def _network(name: str, value: object) -> NetworkEntry:
    place = f"networks.{name}"
    content = inline_or_file(value, place)
    require_keys(content, ("class_path", "init_args", "settings"), place)
    _check_class(content, place)
    return NetworkEntry(
        name=name,
        class_path=content["class_path"],
        init_args=content.get("init_args") or {},
        settings=_settings(content, place),
    )


def _grid(value: object, every: Mapping[str, Mapping[str, Any]]) -> tuple[GridEntry, ...]:
    if value is None:
        return (GridEntry(**{kind: tuple(names) for kind, names in every.items()}),)
    entries = []
    for number, item in enumerate(require_list(value, "grid")):
        place = f"grid[{number}]"
        item = require_mapping(item, place)
        require_keys(item, (*every, "settings"), place)
        chosen = {}
        for kind, names in every.items():
            chosen[kind] = tuple(require_list(item.get(kind, list(names)), f"{place}.{kind}"))
            for name in chosen[kind]:
                if name not in names:
                    raise SuiteError(f"{place}.{kind}: no {name!r}; {choices(str(name), names)}")
        entries.append(GridEntry(**chosen, settings=_settings(item, place)))
    if not entries:
        raise SuiteError("grid is empty; name combinations, or leave it out for all of them")
    return tuple(entries)


def _seeds(value: object) -> tuple[int, ...]:
    seeds = require_list(value, "seeds")
    for seed in seeds:
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**32:
            raise SuiteError(f"seeds has {seed!r}; seeds are integers from 0 to 2**32 - 1")
    if not seeds or len(set(seeds)) < len(seeds):
        raise SuiteError(f"seeds is {seeds}; give at least one seed, and each once")
    return tuple(seeds)


def _settings(content: Mapping[str, Any], place: str) -> dict[str, Any]:
    name = f"{place}.settings" if place else "settings"
    return inline_or_file(content.get("settings") or {}, name)


def _classes(content: Mapping[str, Any], key: str, place: str) -> tuple[Settings, ...]:
    items = require_list(content.get(key) or [], f"{place}.{key}")
    for number, item in enumerate(items):
        name = f"{place}.{key}[{number}]"
        require_keys(require_mapping(item, name), ("class_path", "init_args"), name)
        _check_class(item, name)
    return tuple(items)


def _check_class(content: Mapping[str, Any], name: str) -> None:
    if not isinstance(content.get("class_path"), str):
        raise SuiteError(f"{name} has no class_path; name a class, such as class_path: GINE")
    require_mapping(content.get("init_args") or {}, f"{name}.init_args")


def _named(value: object, kind: str) -> dict[str, Any]:
    content = require_mapping(value, kind)
    for name in content:
        _name(name, kind)
    return _not_empty(content, kind)


def _not_empty(content: dict[str, Any], kind: str) -> dict[str, Any]:
    if not content:
        raise SuiteError(f"{kind} is empty; give at least one")
    return content


def _name(value: object, place: str) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise SuiteError(
            f"{place}: {value!r} is no name; names are of letters, digits and _ . + -, and don't begin with a dot"
        )
    return value
