"""When two configurations give the same run."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

# What a run is called, where its files and those of its dataset and cache are, what is shown, and how fast it is.
_IRRELEVANT = (
    "card",
    "ckpt_path",
    "weights_only",
    "experiment.name",
    "experiment.folder",
    "experiment.baselines",
    "experiment.threads",
    "data.dataset.init_args.root",
    "data.dataset.init_args.source.init_args.root",
    "data.num_workers",
    "data.cache_dir",
    "trainer.enable_progress_bar",
    "trainer.enable_model_summary",
)

_ABSENT = object()


def relevant(config: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a configuration, given with all defaults, that decides what comes out of the run."""
    kept = copy.deepcopy(dict(config))
    for path in _IRRELEVANT:
        *parents, last = path.split(".")
        place: Any = kept
        for key in parents:
            place = place.get(key) if isinstance(place, dict) else None
        if isinstance(place, dict):
            place.pop(last, None)
    return json.loads(json.dumps(kept, sort_keys=True))  # tuples are lists


def fingerprint(config: Mapping[str, Any]) -> str:
    """Twelve digits that are the same for configurations that give the same run."""
    return hashlib.sha256(json.dumps(relevant(config), sort_keys=True).encode()).hexdigest()[:12]


class Difference(NamedTuple):
    """A setting that two configurations have different.

    Args:
        path: The setting, such as ``"model.lr"``.
        old: Its value in the first, as text.
        new: Its value in the second.
    """

    path: str
    old: str
    new: str


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Difference]:
    """What is different in configurations that don't give the same run.

    Args:
        old: A configuration with all defaults.
        new: Another one.
    """
    return list(_differences(relevant(old), relevant(new), ""))


def _differences(old: Any, new: Any, path: str) -> Iterator[Difference]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            inner = f"{path}.{key}" if path else key
            yield from _differences(old.get(key, _ABSENT), new.get(key, _ABSENT), inner)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, pair in enumerate(zip(old, new, strict=True)):
            yield from _differences(*pair, f"{path}[{number}]")
    elif old != new:
        yield Difference(path, _shown(old), _shown(new))


def _shown(value: Any) -> str:
    text = "not given" if value is _ABSENT else json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
