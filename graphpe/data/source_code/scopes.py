"""Which variable a name stands for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from graphpe.data.source_code.collect import Function
from graphpe.data.source_code.syntax_tree import SyntaxTree, children

_Placed = tuple[ast.AST, "_Scope"]


class Variable(NamedTuple):
    """A variable: the number of the scope that owns it, 0 for that of the module, and its name."""

    scope: int
    name: str


@dataclass(eq=False)
class _Scope:
    """Names of a function, lambda, class, comprehension, or list of type parameters."""

    number: int
    parent: _Scope | None
    is_class: bool = False
    is_comprehension: bool = False
    bound: set[str] = field(default_factory=set)
    of_module: set[str] = field(default_factory=set)
    of_outer: set[str] = field(default_factory=set)


def variables_of(tree: SyntaxTree) -> dict[int, Variable]:
    """The variable that each node reads or writes, by the ``id`` of the node; nodes that do neither have none.

    The rules are Python's: a name that is bound anywhere in a function is the function's own, unless declared
    ``global`` or ``nonlocal``; other names are looked for in the enclosing functions, but not in enclosing classes, and
    then belong to the module. Targets of a comprehension are its own, those of ``:=`` in it are not. Type parameters
    have a scope around that of their function, class or alias.

    The name of the function itself is a variable of the module, unless it is a method.
    """
    resolver = _Resolver(tree)
    waiting = [(tree.nodes[0], resolver.module)]
    while waiting:
        waiting += resolver.visit(*waiting.pop())
    return {id(node): _owner(scope, name) for node, name, scope in resolver.uses}


def parameters(arguments: ast.arguments) -> list[ast.arg]:
    """All formal arguments, in the order of the text."""
    positional = [*arguments.posonlyargs, *arguments.args, arguments.vararg]
    named = [*arguments.kwonlyargs, arguments.kwarg]
    return [argument for argument in positional + named if argument]


class _Resolver:
    """Finds the scope of each name; the scopes know what they own when all nodes have been visited."""

    def __init__(self, tree: SyntaxTree) -> None:
        self.module = _Scope(0, None)
        self.uses: list[tuple[ast.AST, str, _Scope]] = []
        self._method = tree.nodes[0] if tree.is_method else None
        self._scopes = 1

    def visit(self, node: ast.AST, scope: _Scope) -> Iterator[_Placed]:
        """Notes what the node itself uses; gives its children, each with its scope."""
        # By name, since older Pythons lack some types.
        match type(node).__name__:
            case "FunctionDef" | "AsyncFunctionDef" | "Lambda":
                yield from self._function(node, scope)
                return
            case "ClassDef":
                yield from self._class(node, scope)
                return
            case "TypeAlias":
                self._bind(node.name, node.name.id, scope)
                around = self._type_parameters(node, scope)
                yield from ((child, around) for child in (*node.type_params, node.value))
                return
            case "ListComp" | "SetComp" | "DictComp" | "GeneratorExp":
                inner = self._scope(scope, is_comprehension=True)
                first = node.generators[0]
                yield first.iter, scope
                yield from ((child, inner) for child in (first.target, *first.ifs))
                others = (child for _, child in children(node) if child is not first)
                yield from ((child, inner) for child in others)
                return
            case "NamedExpr":
                outer = scope
                while outer.is_comprehension:
                    outer = outer.parent
                yield node.target, outer
                yield node.value, scope
                return
            case "Global":
                scope.of_module.update(node.names)
            case "Nonlocal":
                scope.of_outer.update(node.names)
            case "Name" if isinstance(node.ctx, ast.Load):
                self.uses.append((node, node.id, scope))
            case _:
                name = _bound_name(node)
                if name is not None:
                    self._bind(node, name, scope)
        yield from ((child, scope) for _, child in children(node))

    def _function(self, node: Function | ast.Lambda, scope: _Scope) -> Iterator[_Placed]:
        around = scope
        if not isinstance(node, ast.Lambda):
            if node is not self._method:
                self._bind(node, node.name, scope)
            around = self._type_parameters(node, scope)
            yield from ((child, around) for child in getattr(node, "type_params", ()))
            yield from ((decorator, scope) for decorator in node.decorator_list)
            if node.returns:
                yield node.returns, around
        inner = self._scope(around)
        for argument in parameters(node.args):
            self._bind(argument, argument.arg, inner)
            if argument.annotation:
                yield argument.annotation, around
        defaults = (*node.args.defaults, *node.args.kw_defaults)
        yield from ((default, scope) for default in defaults if default)
        body = [node.body] if isinstance(node, ast.Lambda) else node.body
        yield from ((child, inner) for child in body)

    def _class(self, node: ast.ClassDef, scope: _Scope) -> Iterator[_Placed]:
        self._bind(node, node.name, scope)
        around = self._type_parameters(node, scope)
        yield from ((decorator, scope) for decorator in node.decorator_list)
        outside = (*getattr(node, "type_params", ()), *node.bases, *node.keywords)
        yield from ((child, around) for child in outside)
        inner = self._scope(around, is_class=True)
        yield from ((child, inner) for child in node.body)

    def _type_parameters(self, node: ast.AST, scope: _Scope) -> _Scope:
        return self._scope(scope) if getattr(node, "type_params", ()) else scope

    def _scope(self, parent: _Scope, **kind: bool) -> _Scope:
        self._scopes += 1
        return _Scope(self._scopes - 1, parent, **kind)

    def _bind(self, node: ast.AST, name: str, scope: _Scope) -> None:
        scope.bound.add(name)
        self.uses.append((node, name, scope))


def _bound_name(node: ast.AST) -> str | None:
    """The name that a node binds, other than definitions and formal arguments."""
    match type(node).__name__:
        case "Name":
            return node.id
        case "ExceptHandler" | "MatchAs" | "MatchStar" | "TypeVar" | "ParamSpec" | "TypeVarTuple":
            return node.name
        case "MatchMapping":
            return node.rest
        case "alias":
            return node.asname or node.name.split(".")[0]
    return None


def _owner(scope: _Scope, name: str) -> Variable:
    start: _Scope | None = scope
    at: _Scope | None = scope
    while at is not None and name not in at.of_module:
        visible = not at.is_class or at is start
        if visible and name in at.bound and name not in at.of_outer:
            return Variable(at.number, name)
        at = at.parent
    return Variable(0, name)
