"""The manifest of an entry: what it holds, by which settings and versions, and what each shard must be."""

from __future__ import annotations

import dataclasses
import platform
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from graphpe import files
from graphpe.fields import Field
from graphpe.precompute.cache import json_files
from graphpe.precompute.cache.shard_files import REMEDY, Receipt

NAME = "manifest.json"

# Raised when files are laid out in another way.
_LAYOUT = 3

_LIBRARIES = ("graphpe", "torch", "numpy", "scipy", "safetensors")


@dataclass(frozen=True)
class Manifest:
    """What ``manifest.json`` says.

    Args:
        graphs: Fingerprint of the graphs.
        num_graphs: Their number.
        encoding: The encoding, as Python writes it.
        settings: What decides its values.
        fields: The fields that the shards hold, in the order of the encoding.
        shards: What each shard must be, in the order of the graphs.
        versions: Of the libraries that computed the values.
    """

    graphs: str
    num_graphs: int
    encoding: str
    settings: dict[str, Any]
    fields: tuple[Field, ...]
    shards: tuple[Receipt, ...]
    versions: dict[str, str]

    def save(self, folder: Path) -> None:
        """Writes the manifest, whole or not at all."""
        content = {
            "layout": _LAYOUT,
            "graphs": self.graphs,
            "num_graphs": self.num_graphs,
            "encoding": self.encoding,
            "settings": self.settings,
            "fields": [_field_as_json(field) for field in self.fields],
            "shards": [shard._asdict() for shard in self.shards],
            "versions": self.versions,
        }
        files.save_text(json_files.as_text(content, indent=1), folder / NAME, REMEDY)

    @classmethod
    def load(cls, folder: Path) -> Manifest:
        """Reads the manifest of an entry.

        Raises:
            ValueError: If it is absent, broken, or of another layout.
        """
        path = folder / NAME
        try:
            content = json_files.of_text(path.read_text())
            layout = content.pop("layout")
            if layout == _LAYOUT:
                content["fields"] = tuple(map(_field_of_json, content["fields"]))
                content["shards"] = tuple(map(Receipt.of_json, content["shards"]))
                manifest = cls(**content)
                manifest._require_kinds()
                return manifest
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"{path} is broken ({files.one_line(error)})") from error
        raise ValueError(f"{path} has the layout {layout}, but this graphpe reads {_LAYOUT}")

    def _require_kinds(self) -> None:
        is_sound = (
            type(self.num_graphs) is int
            and 0 <= self.num_graphs < 1 << 63
            and isinstance(self.encoding, str)
            and isinstance(self.versions, dict)
        )
        if not is_sound:
            raise ValueError("it says something that no manifest says")


@cache
def versions() -> dict[str, str]:
    """Of Python and the libraries that values depend on."""
    return {"python": platform.python_version(), **{name: version(name) for name in _LIBRARIES}}


def _field_as_json(field: Field) -> dict[str, Any]:
    return {**dataclasses.asdict(field), "dtype": str(field.dtype).removeprefix("torch.")}


def _field_of_json(content: dict[str, Any]) -> Field:
    shape = None if content["shape"] is None else tuple(content["shape"])
    return Field(**{**content, "dtype": getattr(torch, content["dtype"]), "shape": shape})
