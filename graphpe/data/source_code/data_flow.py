"""The data-flow graph of a function: its syntax tree, and how values go from node to node.

Edges, all in one direction and without repetitions or loops (u, u):

- *last write*: from a node that writes a variable to one that accesses it (reads, writes or deletes it), if that write
  may be the last one before;
- *computed from*: from the names in the value of an assignment to its targets, which are names, attributes or items;
  assignments are ``=``, ``+=`` and the like, and ``:=``;
- *calls*: from a call of a name to the definitions of functions that may be its last write, and for a recursive call
  (``f()`` in f, or ``self.f()`` in a method f, where self is its first argument) to the function itself;
- *returns to*: from the ``return`` statements of such a function to the call;
- *formal argument*: from the arguments of such a call to the formal arguments that they become; arguments after one
  with a star, and those with stars, have none;
- *control flow*: the order of statements, see `graphpe.data.source_code.control_flow`.

A variable is a name in a scope (`graphpe.data.source_code.scopes`). Attributes and items are not variables: ``a.b = c``
and ``a[b] = c`` read a, and calls change nothing. The nodes that write are names that are stored to, formal arguments,
definitions of functions and classes, aliases of imports, ``except ... as`` clauses, patterns that capture, and type
parameters. ``x += 1`` reads x and writes it, at the same node; ``x: int`` writes nothing; ``del x`` leaves no write.

Which write may be the last one (`graphpe.data.source_code.flow_graph`): conditions count as open, so

- after ``if``, ``match``, a conditional expression, ``and``, ``or`` and comparisons of several values, what any of the
  ways has written last;
- in and after a loop or comprehension also what its body, or a part of it up to ``continue`` or ``break``, has written;
  a loop may have no round at all, and its ``else`` follows unless there was a ``break``;
- an exception may come before the first and after each write of a ``try`` body, so its ``except`` clauses, and the
  ``finally`` of all of it, see each of them; elsewhere exceptions end the function. ``with`` suppresses none;
- after a ``finally`` all goes on that came into it, to where any of it was going;
- nothing follows a ``return``, ``raise``, ``break`` or ``continue``; code that can't be reached has no last writes;
- comprehensions and generator expressions run where they stand, and so do bodies of classes;
- bodies of inner functions and lambdas may run at any time: each sees all that others write of a variable that they
  share, and they all see what it writes.

All versions of the grammar from Python 3.10 on are covered; a construct that is not listed here is the sequence of its
parts.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator

from graphpe.data.source_code.collect import Function
from graphpe.data.source_code.control_flow import control_flow_edges
from graphpe.data.source_code.edges import Edge, EdgeKind, tree_edges
from graphpe.data.source_code.flow_graph import flow_graph
from graphpe.data.source_code.last_writes import Use, last_writes
from graphpe.data.source_code.syntax_tree import SyntaxTree

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def data_flow_edges(tree: SyntaxTree) -> list[Edge]:
    """All edges of the data-flow graph, with those of the syntax tree; some may occur twice."""
    uses = last_writes(flow_graph(tree))
    return [
        *tree_edges(tree),
        *(Edge(use.write, use.access, EdgeKind.LAST_WRITE) for use in uses),
        *_computed_from(tree),
        *_calls(tree, uses),
        *control_flow_edges(tree, uses),
    ]


def _computed_from(tree: SyntaxTree) -> Iterator[Edge]:
    for number, node in enumerate(tree.nodes):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.NamedExpr):
            below = tree.below(number)
            parts: dict[str, list[int]] = {"target": [], "targets": [], "value": []}
            part = ""
            for inner in below:
                if tree.parents[inner] == number:
                    part = tree.fields[inner]
                if part in parts:
                    parts[part].append(inner)
            yield from _from_names(tree, parts["value"], parts["targets"] + parts["target"])


def _from_names(tree: SyntaxTree, value: list[int], targets: list[int]) -> Iterator[Edge]:
    names = [
        number
        for number in value
        if isinstance(tree.nodes[number], ast.Name) and isinstance(tree.nodes[number].ctx, ast.Load)
    ]
    for target in targets:
        node = tree.nodes[target]
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) and isinstance(
            node.ctx, ast.Store
        ):
            for name in names:
                yield Edge(name, target, EdgeKind.COMPUTED_FROM)


def _calls(tree: SyntaxTree, uses: Iterable[Use]) -> Iterator[Edge]:
    definitions: dict[int, list[int]] = defaultdict(list)
    for use in uses:
        if isinstance(tree.nodes[use.write], _DEFINITIONS):
            definitions[use.access].append(use.write)
    returns = _returns(tree)
    numbers = {id(node): number for number, node in enumerate(tree.nodes)}
    for number, node in enumerate(tree.nodes):
        if not isinstance(node, ast.Call):
            continue
        for definition in definitions[numbers[id(node.func)]]:
            yield from _call(tree, numbers, number, definition, returns)
        if _calls_itself(tree, node.func):
            yield from _call(tree, numbers, number, 0, returns, bound=1)


def _call(
    tree: SyntaxTree,
    numbers: dict[int, int],
    call: int,
    definition: int,
    returns: dict[int, list[int]],
    bound: int = 0,
) -> Iterator[Edge]:
    """The edges between a call and a definition whose first ``bound`` formal arguments the call doesn't give."""
    yield Edge(call, definition, EdgeKind.CALLS)
    for number in returns[definition]:
        yield Edge(number, call, EdgeKind.RETURNS_TO)
    arguments = tree.nodes[definition].args
    for actual, formal in _matched(tree.nodes[call], arguments, bound):
        yield Edge(numbers[id(actual)], numbers[id(formal)], EdgeKind.FORMAL_ARGUMENT)


def _matched(
    call: ast.Call, arguments: ast.arguments, bound: int
) -> Iterator[tuple[ast.expr, ast.arg]]:
    """The arguments of a call, each with the formal argument that it becomes."""
    positional = [*arguments.posonlyargs, *arguments.args][bound:]
    for place, actual in enumerate(call.args):
        if isinstance(actual, ast.Starred):
            break
        formal = positional[place] if place < len(positional) else arguments.vararg
        if formal:
            yield actual, formal
    by_name = {formal.arg: formal for formal in (*arguments.args, *arguments.kwonlyargs)}
    for keyword in call.keywords:
        formal = by_name.get(keyword.arg, arguments.kwarg) if keyword.arg else None
        if formal:
            yield keyword.value, formal


def _calls_itself(tree: SyntaxTree, called: ast.expr) -> bool:
    """Whether a method calls itself by way of its first argument."""
    method: Function = tree.nodes[0]
    first = [*method.args.posonlyargs, *method.args.args][:1]
    return (
        tree.is_method
        and isinstance(called, ast.Attribute)
        and called.attr == method.name
        and isinstance(called.value, ast.Name)
        and [called.value.id] == [argument.arg for argument in first]
    )


def _returns(tree: SyntaxTree) -> dict[int, list[int]]:
    """The ``return`` statements of each function."""
    returns: dict[int, list[int]] = defaultdict(list)
    for number, node in enumerate(tree.nodes):
        if isinstance(node, ast.Return):
            function = number
            while not isinstance(tree.nodes[function], _DEFINITIONS):
                function = tree.parents[function]
            returns[function].append(number)
    return returns
