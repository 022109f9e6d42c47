"""The syntax tree of a function as a list of nodes.

The nodes are those of Python's ``ast``, operators such as ``Add`` included. Left out are the contexts ``Load``,
``Store`` and ``Del``, which follow from the place of a node, and docstrings, which often tell the name of the function.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from graphpe.data.source_code.collect import Function
from graphpe.data.source_code.grammar import NODE_TYPE_NUMBERS

# Stands for the name of the function, which is what is to be predicted.
MASK = "_mask_"
# Deeper nodes have this depth.
LARGEST_DEPTH = 20
_ATTRIBUTE_FIELDS = ("name", "arg", "value", "id", "attr")
_ATTRIBUTE_LENGTH = 100
# Python refuses to write larger numbers in decimal.
_DECIMAL_BITS = 4_000


@dataclass(frozen=True)
class SyntaxTree:
    """The nodes of a function's syntax tree, parents before children and these in the order of their fields.

    Args:
        nodes: The nodes, the function first. The ``ast`` may use one object for several operators.
        parents: Number of the parent of each node; -1 for the function.
        fields: The field of the parent that holds the node; empty for the function.
        depths: Distance from the function.
        is_method: Whether the function is a method of a class, whose name its own body doesn't see.
    """

    nodes: list[ast.AST]
    parents: list[int]
    fields: list[str]
    depths: list[int]
    is_method: bool

    @classmethod
    def of(cls, function: Function, is_method: bool = False) -> SyntaxTree:
        """The syntax tree of a function, of any depth."""
        tree = cls([], [], [], [], is_method)
        waiting: list[tuple[ast.AST, int, str, int]] = [(function, -1, "", 0)]
        while waiting:
            node, parent, field, depth = waiting.pop()
            number = len(tree.nodes)
            tree.nodes.append(node)
            tree.parents.append(parent)
            tree.fields.append(field)
            tree.depths.append(depth)
            inner = [(child, number, name, depth + 1) for name, child in children(node)]
            waiting += reversed(inner)
        return tree

    def __len__(self) -> int:
        return len(self.nodes)

    def below(self, number: int) -> range:
        """The numbers of all nodes below a node."""
        end = number + 1
        while end < len(self) and self.depths[end] > self.depths[number]:
            end += 1
        return range(number + 1, end)

    def types(self) -> list[int]:
        """The number of each node's type in ``NODE_TYPE_NUMBERS``."""
        return [NODE_TYPE_NUMBERS.get(type(node).__name__, 0) for node in self.nodes]

    def attributes(self) -> list[str | None]:
        """The attribute of each node, see `attribute_of`, with the name of the function masked.

        An attribute that holds the function's name as a whole word becomes ``"_mask_"``, so that neither the definition
        nor recursive calls, ``super().name()`` or a message tell it.
        """
        name = re.compile(rf"(?<!\w){re.escape(self.nodes[0].name)}(?!\w)")
        attributes = map(attribute_of, self.nodes)
        return [_masked(attribute, name) for attribute in attributes]


def children(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """The children of a node, each with the field that holds it."""
    for field in node._fields:
        value = getattr(node, field, None)
        if isinstance(value, list):
            for item in value[1:] if field == "body" and _has_docstring(node) else value:
                if isinstance(item, ast.AST):
                    yield field, item
        elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
            yield field, value


def attribute_of(node: ast.AST) -> str | None:
    """What a node says beside its type: a name or a constant, as text; None if there is nothing.

    The first of the fields ``name``, ``arg``, ``value``, ``id`` and ``attr``, otherwise of all fields, that is there
    and isn't a node. Several names, as in ``global``, are joined by commas.
    """
    if isinstance(node, ast.Constant | ast.MatchSingleton):
        return _text(node.value)
    for field in (*_ATTRIBUTE_FIELDS, *node._fields):
        value = getattr(node, field, None)
        if isinstance(value, list) and value and isinstance(value[0], str):
            return ",".join(value)
        if not (value is None or isinstance(value, list | ast.AST)):
            return _text(value)
    return None


def _text(value: object) -> str:
    is_huge = isinstance(value, int) and value.bit_length() > _DECIMAL_BITS
    return hex(value) if is_huge else str(value)


def _masked(attribute: str | None, name: re.Pattern[str]) -> str | None:
    if attribute is None:
        return None
    # Before the cut, which might leave most of the name.
    return MASK if name.search(attribute) else attribute[:_ATTRIBUTE_LENGTH]


def _has_docstring(node: ast.AST) -> bool:
    if not isinstance(node, Function | ast.ClassDef):
        return False
    first = node.body[0]
    return (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )
