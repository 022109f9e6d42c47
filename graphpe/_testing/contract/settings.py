"""Checks of an encoding as a value: its copies, its ``repr``, and ``attr_name=None``."""

from __future__ import annotations

import copy
import dataclasses
import io
import pickle
import sys

import torch

import graphpe.transforms
from graphpe._testing.contract.graphs import SmallGraph
from graphpe._testing.contract.values import Values, fields_of, keep
from graphpe.transforms import Encoding


def check_declaration(values: Values, graph: SmallGraph) -> None:
    """The first field is called ``attr_name``, and the settings of the base class are checked."""
    encoding = values.encoding
    other = dataclasses.replace(encoding, attr_name="another_name")
    keep(
        "the first field is called attr_name",
        other.fields()[0].name == "another_name",
        f"with attr_name='another_name' it is called {other.fields()[0].name!r}; take self.field_name in fields()",
    )
    try:
        dataclasses.replace(encoding, dtype="int8")
    except ValueError:
        return
    keep(
        "settings are checked by the base class",
        False,
        "dtype='int8' raises nothing; call super().__post_init__() at the end of __post_init__",
    )


def check_copies(values: Values, graph: SmallGraph) -> None:
    """Copies, also those by pickle and by ``repr``, are equal and give the same bytes."""
    encoding = values.encoding
    for promise, make in (
        ("copy.copy copies the encoding", copy.copy),
        ("copy.deepcopy copies the encoding", copy.deepcopy),
        ("pickle copies the encoding", _pickled),
        ("repr is the call that makes the encoding", _from_repr),
    ):
        try:
            other = make(encoding)
        except Exception as error:
            keep(promise, False, f"{type(error).__name__}: {error}")
        same = other == encoding and hash(other) == hash(encoding)
        keep(promise, same, f"{encoding!r} has become {other!r}")
        same = all(map(torch.equal, fields_of(other, other(graph.data())), values.of(graph)))
        keep(promise, same, "the copy gives other values")


def _pickled(encoding: Encoding) -> Encoding:
    """Saved and loaded; classes stand for themselves, so that those defined in a function pass too."""
    classes = _classes(encoding)

    class Pickler(pickle.Pickler):
        def persistent_id(self, obj: object) -> int | None:
            return classes.index(obj) if obj in classes else None

    class Unpickler(pickle.Unpickler):
        def persistent_load(self, pid: int) -> type[Encoding]:
            return classes[pid]

    file = io.BytesIO()
    Pickler(file).dump(encoding)
    file.seek(0)
    return Unpickler(file).load()


def _from_repr(encoding: Encoding) -> Encoding:
    """What ``repr`` says, evaluated where graphpe's encodings and the classes of this one are known."""
    names = dict(vars(graphpe.transforms))
    for cls in _classes(encoding):
        names |= {**vars(sys.modules.get(cls.__module__, object)), cls.__name__: cls}
    return eval(repr(encoding), names)


def _classes(encoding: Encoding) -> list[type[Encoding]]:
    """The class of an encoding, and of those among its settings."""
    classes = [type(encoding)]
    for setting in dataclasses.fields(encoding):
        value = getattr(encoding, setting.name)
        if isinstance(value, Encoding):
            classes += _classes(value)
    return classes


def check_concatenation(values: Values, graph: SmallGraph) -> None:
    """``attr_name=None`` puts the first field, if it is one of nodes, behind the columns of ``x``."""
    encoding = values.encoding
    first = encoding.fields()[0]
    if first.level != "node":
        return
    if first.dtype.is_complex or first.shape is not None:
        try:
            dataclasses.replace(encoding, attr_name=None)
        except ValueError:
            return
        keep(
            "attr_name=None refuses a first field that is complex, or has rows of more than one dimension",
            False,
            "nothing is raised",
        )
    joining = dataclasses.replace(encoding, attr_name=None)
    data = graph.data()
    data.x = torch.ones(data.num_nodes, 2)
    x = joining(data).x
    wanted = torch.cat([data.x, values.of(graph)[0].to(data.x.dtype)], dim=1)
    keep(
        "attr_name=None concatenates the first field to x",
        torch.equal(x, wanted),
        "x is not the old x followed by the field",
    )
    data.x = torch.ones(data.num_nodes, 2, dtype=torch.long)
    try:
        joining(data)
    except ValueError:
        return
    keep(
        "attr_name=None refuses an x of integers, which cannot hold the values",
        False,
        "nothing is raised",
    )
