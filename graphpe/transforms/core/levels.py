"""Moving the values of a field from one level to another."""

from __future__ import annotations

import dataclasses
from typing import Literal, get_args

import torch
from torch import Tensor

from graphpe.fields import Field, Level

Pool = Literal["mean", "sum", "min", "max", "std", "statistics"]
Reduction = Literal[
    "diagonal",
    "entry",
    "difference",
    "concatenation",
    "copy",
    "mean",
    "sum",
    "min",
    "max",
    "std",
    "statistics",
]

_POOLS = get_args(Pool)
_MOVES: dict[tuple[str, str], tuple[str, ...]] = {
    ("pair", "node"): ("diagonal", *_POOLS),
    ("pair", "edge"): ("entry",),
    ("pair", "graph"): _POOLS,
    ("node", "edge"): ("difference", "concatenation"),
    ("node", "pair"): ("difference", "concatenation"),
    ("node", "graph"): _POOLS,
    ("edge", "node"): _POOLS,
    ("edge", "pair"): ("sum",),
    ("edge", "graph"): _POOLS,
    ("graph", "node"): ("copy",),
    ("graph", "edge"): ("copy",),
    ("graph", "pair"): ("copy",),
}
_KEEPS_CATEGORIES = ("diagonal", "entry", "concatenation", "copy")
_NOT_LINEAR = ("min", "max", "std", "statistics")
_STATISTICS: tuple[Reduction, ...] = ("mean", "std", "min", "max")
_WIDTHS = {"concatenation": 2, "statistics": 4}

# Which graph of the block, source and target of each edge.
Edges = tuple[Tensor, Tensor, Tensor]


def check_move(field: Field, level: Level, reduce: Reduction) -> None:
    """Raises a ValueError unless ``field`` can be moved to ``level`` by ``reduce``."""
    possible = _MOVES.get((field.level, level))
    if possible is None:
        wanted = ", ".join(repr(to) for source, to in _MOVES if source == field.level)
        raise ValueError(
            f"level is {level!r}; {field.name} is a {field.level} field and can be moved to {wanted}"
        )
    if field.shape is not None:
        raise ValueError(
            f"{field.name} has a {' x '.join(map(str, field.shape))} matrix for each {field.level}, and To moves only "
            "fields with columns; take an encoding that writes columns, such as one with a single q"
        )
    if reduce not in possible:
        raise ValueError(
            f"reduce is {reduce!r}; from {field.level} to {level} it must be one of {', '.join(map(repr, possible))}"
        )
    if field.categories is not None and reduce not in _KEEPS_CATEGORIES:
        raise ValueError(
            f"reduce is {reduce!r}, but {field.name} holds categories, of which there is no {reduce}; use one of "
            f"{', '.join(map(repr, _KEEPS_CATEGORIES))}, or an encoding that writes numbers"
        )
    if field.symmetry != "none" and reduce in _NOT_LINEAR:
        raise ValueError(
            f"reduce is {reduce!r}, but {field.name} is free up to its {field.symmetry}, on which the result would "
            "depend; use a linear reduction ('mean', 'sum', 'difference', 'concatenation')"
        )


def moved_field(field: Field, level: Level, reduce: Reduction, name: str | None) -> Field:
    """The declaration of a field after the move."""
    is_integer = not (field.dtype.is_floating_point or field.dtype.is_complex)
    keeps_dtype = reduce in _KEEPS_CATEGORIES or not is_integer
    padding = field.padding if reduce in (*_KEEPS_CATEGORIES, "mean", "min", "max") else 0.0
    return dataclasses.replace(
        field,
        name=_moved_name(field.name, level, reduce) if name is None else name,
        level=level,
        width=field.width * _WIDTHS.get(reduce, 1),
        dtype=field.dtype if keeps_dtype else torch.float32,
        padding=padding,
    )


def _moved_name(name: str, level: Level, reduce: Reduction) -> str:
    """A name for a moved field. The word "node" may be in the name of no other field, and a move may be moved."""
    return f"{name}_{reduce}" if level == "node" else f"{name}_{level}_{reduce}"


def move(
    value: Tensor,
    source: Level,
    target: Level,
    reduce: Reduction,
    size: tuple[int, int],
    edges: Edges,
) -> Tensor:
    """The values of ``b`` graphs of ``n`` nodes at another level.

    Args:
        value: ``[b, n, d]``, ``[b, n, n, d]``, ``[b, d]``, or ``[e, d]`` for edges.
        source: The level of ``value``.
        target: The level wanted.
        reduce: How.
        size: ``b`` and ``n``.
        edges: The edges of the graphs.

    Returns:
        The values, shaped in the same way.
    """
    _, n = size
    slot, tail, head = edges
    if reduce not in _KEEPS_CATEGORIES:
        value = value.to(torch.complex128 if value.is_complex() else torch.float64)
    if source == "graph":
        return _copy(value, target, n, slot)
    if source == "edge":
        return _from_edges(value, target, reduce, size, edges)
    if reduce == "diagonal":
        return value.diagonal(dim1=1, dim2=2).movedim(-1, 1)
    if reduce == "entry":
        return value[slot, tail, head]
    if reduce in ("difference", "concatenation"):
        if target == "edge":
            ends = value[slot, tail], value[slot, head]
        else:
            ends = (
                value.unsqueeze(2).expand(-1, -1, n, -1),
                value.unsqueeze(1).expand(-1, n, -1, -1),
            )
        return ends[1] - ends[0] if reduce == "difference" else torch.cat(ends, dim=-1)
    return _pool(value.flatten(1, -2) if target == "graph" else value, reduce)


def _copy(value: Tensor, target: Level, n: int, slot: Tensor) -> Tensor:
    if target == "edge":
        return value[slot]
    if target == "node":
        return value[:, None].expand(-1, n, -1)
    return value[:, None, None].expand(-1, n, n, -1)


def _pool(value: Tensor, reduce: Reduction) -> Tensor:
    """Over the dimension before the last."""
    if reduce == "statistics":
        return torch.cat([_pool(value, part) for part in _STATISTICS], dim=-1)
    if value.shape[-2] == 0:
        return value.sum(-2)
    if reduce == "mean":
        return value.mean(-2)
    if reduce == "sum":
        return value.sum(-2)
    if reduce == "std":
        return value.std(-2, correction=0)
    return value.amin(-2) if reduce == "min" else value.amax(-2)


def _from_edges(
    value: Tensor, target: Level, reduce: Reduction, size: tuple[int, int], edges: Edges
) -> Tensor:
    """Over the edges of each source, of each pair, or of each graph."""
    b, n = size
    slot, tail, head = edges
    group, shape = {
        "node": (slot * n + tail, (b, n)),
        "pair": ((slot * n + tail) * n + head, (b, n, n)),
        "graph": (slot, (b,)),
    }[target]
    pooled = _pool_groups(value, group, torch.Size(shape).numel(), reduce)
    return pooled.view(*shape, pooled.shape[-1])


def _pool_groups(value: Tensor, group: Tensor, count: int, reduce: Reduction) -> Tensor:
    """``[count, d]``: over the rows of each group; 0 for an empty one."""
    if reduce == "statistics":
        parts = [_pool_groups(value, group, count, part) for part in _STATISTICS]
        return torch.cat(parts, dim=-1)
    if reduce == "std":
        mean = _pool_groups(value, group, count, "mean")
        return _pool_groups((value - mean[group]) ** 2, group, count, "mean").sqrt()
    operation = {"min": "amin", "max": "amax"}.get(reduce, reduce)
    rows = group[:, None].expand(-1, value.shape[1])
    result = value.new_zeros(count, value.shape[1])
    return result.scatter_reduce_(0, rows, value, operation, include_self=False)
