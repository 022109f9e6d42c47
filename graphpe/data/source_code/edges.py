"""Edges of functions' graphs: their kinds, and those of the syntax tree."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from graphpe.data.source_code.grammar import FIELD_NUMBERS
from graphpe.data.source_code.syntax_tree import SyntaxTree


class EdgeKind(IntEnum):
    """The first column of ``edge_attr``."""

    CHILD = 0
    LAST_WRITE = 1
    COMPUTED_FROM = 2
    CALLS = 3
    RETURNS_TO = 4
    FORMAL_ARGUMENT = 5
    CONTROL_FLOW = 6


class Edge(NamedTuple):
    """An edge between two nodes of a syntax tree.

    Args:
        source: Number of the node where it starts.
        target: Number of the node where it ends.
        kind: What it stands for.
        field: For an edge of the syntax tree the number of the field, otherwise 0.
    """

    source: int
    target: int
    kind: EdgeKind
    field: int = 0


def tree_edges(tree: SyntaxTree) -> list[Edge]:
    """From each node to its children."""
    return [
        Edge(parent, node, EdgeKind.CHILD, FIELD_NUMBERS.get(field, 0))
        for node, (parent, field) in enumerate(zip(tree.parents, tree.fields, strict=True))
        if parent >= 0
    ]
