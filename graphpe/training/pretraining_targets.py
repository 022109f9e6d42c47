"""What an encoder is pre-trained to predict: the fields of encodings, by node or by graph."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data

from graphpe.fields import Field
from graphpe.nn import graph_layout
from graphpe.nn.layout import GraphLayout
from graphpe.transforms import Encoding
from graphpe.transforms.core.attach import written_fields

# Settings that name a field which says something about the other fields of the encoding and is no target itself.
_ABOUT_OTHERS = ("count_name", "cut_name", "potential_name", "standard_error_name")

# A column that varies by less than this part of its size is constant up to float32's rounding.
_CONSTANT = 1e-5

_A_FIELD = {"pair": "a pair field", "edge": "an edge field"}


@dataclass(frozen=True)
class Target:
    """A field that is predicted.

    Args:
        field: The field, of nodes or graphs.
        encoding: The encoding that writes it.
        count_name: The graph field with the number of columns that are not padding; None where all are valid.
    """

    field: Field
    encoding: Encoding
    count_name: str | None

    @property
    def is_absolute(self) -> bool:
        """Whether absolute values are predicted, because the field is free up to signs or more."""
        return self.field.symmetry != "none"

    def read(self, batch: Data, layout: GraphLayout) -> tuple[Tensor, Tensor]:
        """The values of a batch ``[rows, width]``, float32, and which of them are no padding."""
        value = batch[self.field.name].flatten(1)
        value = (value.abs() if self.is_absolute else value).float()
        if self.count_name is None:
            return value, torch.ones_like(value, dtype=torch.bool)
        count = batch[self.count_name]
        if self.field.level == "node":
            count = count[layout.batch]
        # Several potentials, or the two sides of a singular value decomposition, have k columns each.
        column = torch.arange(value.size(1), device=value.device) % self.encoding.k
        return value, column < count


@dataclass(frozen=True)
class Statistics:
    """Mean and standard deviation of each column of a target, over the training part without padding.

    Args:
        mean: ``[width]`` float32.
        std: ``[width]`` float32; 1 for constant columns.
        varies: ``[width]`` whether a column is not constant; only such columns are learned.
    """

    mean: Tensor
    std: Tensor
    varies: Tensor


def targets_of(encodings: Sequence[Encoding]) -> list[Target]:
    """The fields that an encoder can be trained to predict.

    Warns where the field is free up to rotations of eigenspaces.

    Args:
        encodings: The encodings.

    Raises:
        ValueError: If there are none, or one writes something that can't be predicted from nodes: pairs, edges,
            categories, or what isn't determined by the graph; or two write the same field.
    """
    if not encodings:
        raise ValueError("encodings is empty; give what to predict, [AddRandomWalkPE(16)] say")
    written_fields(encodings)  # raises where two write the same
    targets = []
    for encoding in encodings:
        _require_predictable(encoding)
        about_others = {getattr(encoding, name, None) for name in _ABOUT_OTHERS}
        count_name = getattr(encoding, "count_name", None)
        targets += [
            Target(field, encoding, count_name)
            for field in encoding.fields()
            if field.name not in about_others
        ]
    _warn_of_bases(targets)
    return targets


def _require_predictable(encoding: Encoding) -> None:
    """Raises a ValueError for what can't be a target."""
    name = type(encoding).__name__
    if encoding.attr_name is None:
        raise ValueError(f"{name} has attr_name=None, which hides it in x; give it a name")
    if not encoding.is_equivariant:
        raise ValueError(
            f"{name} depends on the order of the nodes or on random draws, so it can't be predicted from the graph; "
            "leave it out"
        )
    for field in encoding.fields():
        if field.level not in ("node", "graph"):
            raise ValueError(
                f"{name} writes {field.name!r}, {_A_FIELD[field.level]}, but only fields of nodes and graphs can be "
                "predicted; leave it out, or take an encoding of nodes"
            )
        if field.categories is not None:
            raise ValueError(
                f"{name} writes {field.name!r}, which holds categories, but only numbers can be predicted; leave it out"
            )


def _warn_of_bases(targets: Iterable[Target]) -> None:
    names = [target.field.name for target in targets if target.field.symmetry == "basis"]
    if names:
        warnings.warn(
            f"absolute values of {', '.join(map(repr, names))} are predicted; where eigenvalues are equal, even these "
            "depend on the basis that the solver chose, which can't be learned",
            stacklevel=4,
        )


def statistics_of(targets: Sequence[Target], batches: Iterable[Data]) -> list[Statistics]:
    """Mean and standard deviation of each column of each target over the graphs of some batches."""
    sums = [torch.zeros(3, target.field.width, dtype=torch.float64) for target in targets]
    for batch in batches:
        layout = graph_layout(batch)
        for target, total in zip(targets, sums, strict=True):
            value, valid = target.read(batch, layout)
            value = torch.where(valid, value, 0).double()
            total += torch.stack([valid.double().sum(0), value.sum(0), value.square().sum(0)])
    return [_statistics(*total) for total in sums]


def _statistics(count: Tensor, total: Tensor, squares: Tensor) -> Statistics:
    count = count.clamp(min=1)
    mean, square = total / count, squares / count
    std = (square - mean.square()).clamp(min=0).sqrt()
    varies = std > _CONSTANT * square.sqrt()
    return Statistics(mean.float(), torch.where(varies, std, 1).float(), varies)
