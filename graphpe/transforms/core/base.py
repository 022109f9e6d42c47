"""The base class of all encodings: declare fields, compute them for a dense block; the rest is here.

A subclass is a frozen dataclass. Its fields are the settings, so it has a readable ``repr``, compares by value, and can
be given in a YAML file.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data, HeteroData
from torch_geometric.transforms import BaseTransform, Compose

from graphpe.blocks import Block, LargeGraph
from graphpe.checks import require_boolean, require_choice, require_positive_integer
from graphpe.fields import Field
from graphpe.graphs import GraphBatch
from graphpe.transforms.core.attach import attach, check_concatenation
from graphpe.transforms.core.engine import compute_fields
from graphpe.transforms.core.hetero import (
    attach_hetero,
    check_hetero_concatenation,
    homogenise,
)


@dataclass(frozen=True, repr=False)
class Encoding(BaseTransform):
    """A positional or structural encoding as a PyG transform.

    Works on a ``Data``, on a ``Batch`` (each graph on its own) and, through `graphpe.encode`, on a whole dataset, with
    the same values to the bit. The result is on the device of the graph. A ``HeteroData`` is encoded as one graph of
    all its nodes and edges; `PerEdgeType` takes its edge types one by one.

    A subclass declares `fields` and implements `encode_block`, and `encode_large` where a sparse form makes sense. It
    has an ``attr_name``: the name of its first field, or None to concatenate that field to ``x``.

    Args:
        dtype: Stored dtype of floating-point fields, ``"float32"`` or ``"float64"``. Operators and spectra are
            computed in float64 whatever it is.
        dense_limit: Graphs with more nodes go through `encode_large`, if there is one. Without it graphs of any size
            are done densely, if the memory budget allows.
    """

    # By keyword only, so that the settings of a subclass come first. (A KW_ONLY marker would do the same, but
    # typing.get_type_hints of Python 3.10 fails on it.)
    dtype: Literal["float32", "float64"] = dataclasses.field(default="float32", kw_only=True)
    dense_limit: int = dataclasses.field(default=500, kw_only=True)

    if TYPE_CHECKING:  # a setting of every subclass, which puts it where PyG has it
        attr_name: str | None

    # Raised when the same settings give other values than before, so that cached ones are computed anew.
    version: ClassVar[int] = 1

    # Shown by `graphpe encodings`.
    cost: ClassVar[str]
    paper: ClassVar[str]

    # For an encoding that has only a dense form: what to take for a large graph, as in
    # "take AddLandmarkDistancePE instead, or ".
    sparse_alternative: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if isinstance(self.dtype, torch.dtype):  # accepted as well: what a PyTorch user writes
            object.__setattr__(self, "dtype", str(self.dtype).removeprefix("torch."))
        require_choice("dtype", self.dtype, ("float32", "float64"))
        require_positive_integer("dense_limit", self.dense_limit)
        for setting in dataclasses.fields(self):
            value = _plain(getattr(self, setting.name))
            object.__setattr__(self, setting.name, value)
            if setting.type in ("bool", bool):
                require_boolean(setting.name, value)
            is_attr_name = setting.name == "attr_name"
            allowed = (str, type(None)) if is_attr_name else str
            is_name = is_attr_name or setting.type in ("str", str)
            if is_name and not isinstance(value, allowed):
                raise ValueError(f"{setting.name} is {value!r}; it must be a string")
        names = [field.name for field in self.fields()]
        for name in names:
            if hasattr(Data, name):
                raise ValueError(
                    f"{type(self).__name__} would write over {name!r} of the graph; choose another name, or "
                    "attr_name=None to concatenate the encoding to x"
                )
            if names.count(name) > 1:
                raise ValueError(
                    f"{type(self).__name__} would write two fields called {name!r}; give each a name of its own"
                )

        first = self.fields()[0]
        if self.attr_name is None and first.level != "node":
            raise ValueError(
                f"attr_name is None, but {type(self).__name__} describes {first.level}s, which cannot be "
                "concatenated to x; give it a name"
            )
        if self.attr_name is None and (first.dtype.is_complex or first.shape is not None):
            kind = "complex numbers" if first.dtype.is_complex else "matrices"
            raise ValueError(
                f"attr_name is None, but {type(self).__name__} writes {kind}, which cannot be concatenated to x; give "
                "it a name"
            )

    # --- what a subclass gives -------------------------------------------------------------------------------------

    @abstractmethod
    def fields(self) -> tuple[Field, ...]:
        """The fields that are written, the one called ``attr_name`` first."""

    @abstractmethod
    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        """The values of `fields` for ``b`` graphs of ``n`` nodes.

        Node fields are ``[b, n, d]``, graph fields ``[b, d]``, pair fields ``[b, n, n, d]``, edge fields ``[e, d]`` in
        the order of ``block.graphs.edges_of(block.numbers)``. ``d`` may be smaller than the declared width: the rest
        is padded. A field with a ``shape`` has that (or less of it) in place of ``d``.
        """

    def encode_large(self, graph: LargeGraph) -> tuple[Tensor, ...]:
        """The values of `fields` for one sparse graph, shaped as for a block of one."""
        raise NotImplementedError(f"{type(self).__name__} has no sparse form")

    def check(self, part: Block | LargeGraph) -> None:
        """Looks at graphs before they are encoded; raises or warns where the encoding is not meant for them."""

    def workspace(self, n: int) -> int:
        """Float64 numbers that `encode_block` holds at once for a graph of n nodes.

        Counts what is beyond the adjacency and the few n x n matrices that any kernel needs; here the results, twice.
        A subclass that needs more adds it.
        """
        rows = {"node": n, "pair": n * n, "graph": 1, "edge": 0}
        return 2 * sum(rows[field.level] * field.width for field in self.fields())

    @property
    def has_sparse_form(self) -> bool:
        """Whether graphs over ``dense_limit`` are encoded in sparse form."""
        return type(self).encode_large is not Encoding.encode_large

    @property
    def is_equivariant(self) -> bool:
        """Whether renumbering the nodes just renumbers the values (up to the symmetry of the fields).

        Not so where values depend on the order in which nodes are given, or are drawn at random for each node.
        """
        return True

    # --- what every encoding has -----------------------------------------------------------------------------------

    @property
    def field_name(self) -> str:
        """Name of the first field: ``attr_name``, or its default where the field goes to ``x``."""
        if self.attr_name is None:
            return type(self).__dataclass_fields__["attr_name"].default or type(self).__name__
        return self.attr_name

    @property
    def torch_dtype(self) -> torch.dtype:
        """``dtype`` as torch has it."""
        return getattr(torch, self.dtype)

    def __repr__(self) -> str:
        """The call that makes it, settings at their defaults left out."""
        settings = [
            f"{setting.name}={getattr(self, setting.name)!r}"
            for setting in sorted(dataclasses.fields(self), key=lambda setting: setting.kw_only)
            if getattr(self, setting.name) != setting.default
        ]
        return f"{type(self).__name__}({', '.join(settings)})"

    def forward(self, data: Data | HeteroData) -> Data | HeteroData:
        if not isinstance(data, Data | HeteroData):
            raise TypeError(
                f"{type(self).__name__} encodes one Data or Batch, got a {type(data).__name__}; "
                "for a dataset or a list use graphpe.encode"
            )
        if isinstance(data, HeteroData):
            check_hetero_concatenation([self], data)
            homogenised = homogenise(data)
            attach_hetero(data, [self], compute_fields(homogenised.graphs, [self]), homogenised)
            return data
        graphs = GraphBatch.of(data)
        check_concatenation([self], data)
        values = compute_fields(graphs, [self])
        attach(data, [self], values, graphs)
        return data


def _plain(value: object) -> object:
    """A setting as plain Python has it: numbers of NumPy are turned into int, float or bool, also in tuples."""
    if isinstance(value, np.generic):
        return value.item()
    return tuple(map(_plain, value)) if type(value) is tuple else value


def checked_encodings(encodings: object) -> list[Encoding]:
    """A list of encodings as a list; a TypeError for anything else."""
    if not isinstance(encodings, list | tuple):
        remedy = _remedy(encodings) or "it must be a list, [AddRandomWalkPE(16)] say"
        raise TypeError(f"encodings is {kind_of(encodings)}; {remedy}")
    for number, encoding in enumerate(encodings):
        if not isinstance(encoding, Encoding):
            remedy = _remedy(encoding) or "it must be an encoding such as AddRandomWalkPE(16)"
            raise TypeError(f"encodings[{number}] is {kind_of(encoding)}; {remedy}")
    return list(encodings)


def kind_of(value: object) -> str:
    """How messages call a value of the wrong type."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, BaseTransform) and not isinstance(value, Encoding):
        # PyG has some of the names of graphpe.
        return f"a {type(value).__name__} of {type(value).__module__}"
    return f"a {type(value).__name__}"


def _remedy(value: object) -> str | None:
    """What to do about some values that are taken for encodings."""
    if isinstance(value, type) and issubclass(value, Encoding):
        return f"give an instance, {value.__name__}(...)"
    if isinstance(value, Compose):
        return "give the list in it, .transforms"
    if isinstance(value, BaseTransform) and not isinstance(value, Encoding):
        return "encodings are those of graphpe.transforms; apply other transforms to the dataset"
    return None
