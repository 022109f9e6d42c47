"""What an entry stands for: the content of the graphs, and the settings of an encoding."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from graphpe.graphs import GraphBatch
from graphpe.transforms import Encoding

# Edges hashed in one go: bounds the copy of those that are scattered in a dataset.
_CHUNK = 1 << 20

# Settings that say how fields are called, not what is in them.
_NOT_IN_KEY = ("attr_name",)


class Fingerprint:
    """Stands for graphs: their sizes, edges in their order, weights.

    Neither where the graphs come from nor how they are stored counts, nor in how many pieces they are given: node
    numbers of any integer type, and weights of any float type, are hashed by their values.
    """

    def __init__(self) -> None:
        self._digests = {
            name: hashlib.blake2b(digest_size=16) for name in ("nodes", "counts", "edges", "weight")
        }
        self._weighted = False

    def add(self, graphs: GraphBatch) -> None:
        """Takes the next graphs into account."""
        digests = self._digests
        digests["nodes"].update(_bytes(graphs.num_nodes.long()))
        digests["counts"].update(_bytes(graphs.edge_count.long()))
        per_graph = max(1, int(graphs.edge_count.sum()) // max(1, len(graphs)))
        for numbers in torch.arange(len(graphs)).split(max(1, _CHUNK // per_graph)):
            _, column = graphs.edges_of(numbers)
            # Node by node of the edges, whatever the pieces.
            digests["edges"].update(_bytes(graphs.edge_index[:, column].t().long()))
            if graphs.edge_weight is not None:
                self._weighted = True
                digests["weight"].update(_bytes(graphs.edge_weight[column].double()))

    def of(self, invalid: Iterable[int] = ()) -> str:
        """32 hexadecimal digits.

        Args:
            invalid: Numbers of graphs that could not be read as they are, in ascending order.
        """
        parts = [digest.hexdigest() for digest in self._digests.values()]
        content = json.dumps([self._weighted, *parts, list(invalid)])
        return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


def fingerprint(graphs: GraphBatch) -> str:
    """The `Fingerprint` of graphs that are in one piece."""
    content = Fingerprint()
    content.add(graphs)
    return content.of()


def settings_of(encoding: Encoding) -> dict[str, Any]:
    """What decides the values of an encoding, as JSON has it: its class, its version and its settings.

    Raises:
        TypeError: If a setting is of a kind that has no place in a key.
        ValueError: If the source of a user's class can't be read.
    """
    own = type(encoding)
    given = {
        setting.name: _plain(getattr(encoding, setting.name))
        for setting in dataclasses.fields(encoding)
        if setting.name not in _NOT_IN_KEY
    }
    origin = {"class": f"{own.__module__}.{own.__qualname__}", "version": own.version}
    return {**origin, **_source(own), **given}


def key(graphs: str, settings: dict[str, Any]) -> str:
    """24 hexadecimal digits for the fingerprint of graphs and the settings of an encoding."""
    content = json.dumps([graphs, settings], sort_keys=True, allow_nan=False)
    return hashlib.blake2b(content.encode(), digest_size=12).hexdigest()


def _source(own: type[Encoding]) -> dict[str, str]:
    """A hash of the source of a user's class and its bases, who may change them without a thought of versions."""
    bases = own.__mro__[: own.__mro__.index(Encoding)]
    theirs = [base for base in bases if base.__module__.partition(".")[0] != "graphpe"]
    if not theirs:
        return {}
    try:
        source = "".join(map(inspect.getsource, theirs))
    except (OSError, TypeError) as error:
        raise ValueError(
            f"the source of {own.__name__} cannot be read, so that the cache could not tell its versions apart; define "
            "it in a file, or encode without cache_dir"
        ) from error
    return {"source": hashlib.blake2b(source.encode(), digest_size=8).hexdigest()}


def _bytes(values: Tensor) -> np.ndarray:
    """The bytes of the values in little-endian order."""
    array = values.contiguous().cpu().numpy()
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(-1).view(np.uint8)


def _plain(value: Any) -> Any:
    if isinstance(value, Encoding):
        return settings_of(value)
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(
        f"the setting {value!r} is a {type(value).__name__}, which has no place in a cache key; settings must be "
        "numbers, strings, tuples or encodings"
    )
