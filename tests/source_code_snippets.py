"""Small functions, their trees, and their edges written as text."""

from __future__ import annotations

import ast
from textwrap import dedent

from graphpe.data.source_code.collect import parse_functions
from graphpe.data.source_code.data_flow import data_flow_edges
from graphpe.data.source_code.edges import EdgeKind
from graphpe.data.source_code.syntax_tree import SyntaxTree, attribute_of


def trees(code: str) -> list[SyntaxTree]:
    """The functions of a piece of code."""
    functions = parse_functions(dedent(code).encode())
    assert functions is not None
    return [SyntaxTree.of(function, is_method) for function, is_method in functions]


def tree_of(code: str) -> SyntaxTree:
    """The only function of a piece of code."""
    (tree,) = trees(code)
    return tree


def edges(code: str, kind: EdgeKind, tree: SyntaxTree | None = None) -> set[str]:
    """The edges of a kind of the only function, as ``"source > target"``.

    A node is the line where it begins, counted from that of the function as 0, and its attribute or type: ``2x`` is the
    name x on line 2, ``2Call`` the call. Equal ones of a line are told apart by primes, in the order of the tree.
    """
    tree = tree or tree_of(code)
    start = tree.nodes[0].lineno
    labels, seen = [], {}
    for node in tree.nodes:
        named = isinstance(node, ast.Name | ast.arg | ast.alias)
        text = attribute_of(node) if named else type(node).__name__
        label = f"{getattr(node, 'lineno', start) - start}{text}"
        seen[label] = seen.get(label, -1) + 1
        labels.append(label + "'" * seen[label])
    return {
        f"{labels[edge.source]} > {labels[edge.target]}"
        for edge in data_flow_edges(tree)
        if edge.kind is kind
    }
