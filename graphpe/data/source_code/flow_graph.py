"""In which order a function may read and write its variables."""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import pairwise
from typing import NamedTuple

from graphpe.data.source_code.collect import Function
from graphpe.data.source_code.scopes import Variable, parameters, variables_of
from graphpe.data.source_code.syntax_tree import SyntaxTree, children


class Access(Enum):
    """What a node does to its variable."""

    READ = auto()
    WRITE = auto()
    DELETE = auto()
    # The end of an except clause, which deletes its name; not an access of the text.
    FORGET = auto()


class Event(NamedTuple):
    """A node that reads or writes a variable."""

    access: Access
    node: int
    variable: Variable


@dataclass
class Block:
    """Events that follow each other.

    Args:
        frame: Number of the function or lambda whose body it belongs to; 0 is what surrounds the whole function.
        events: In the order in which they happen.
        next: Numbers of the blocks that may come next.
    """

    frame: int
    events: list[Event] = field(default_factory=list)
    next: set[int] = field(default_factory=set)


def flow_graph(tree: SyntaxTree) -> list[Block]:
    """The blocks of a function; see `graphpe.data.source_code.data_flow` for what may follow what."""
    return _Builder(tree).build()


# A visit is a generator that yields the visits of children, so that no depth of nesting is too deep for Python's stack.
_Visit = Generator["_Visit", None, None]


@dataclass
class _Loop:
    """A loop around the current statement, and the blocks where ``continue`` and ``break`` go."""

    header: int
    after: int


@dataclass
class _Finally:
    """A ``finally`` around the current statement: the block where it begins, and the jumps that pass through it."""

    entry: int
    jumps: set[str] = field(default_factory=set)


class _Builder:
    def __init__(self, tree: SyntaxTree) -> None:
        self._root = tree.nodes[0]
        self._numbers = {id(node): number for number, node in enumerate(tree.nodes)}
        self._variables = variables_of(tree)
        self._blocks: list[Block] = []
        self._bodies: list[Function | ast.Lambda] = []

    def build(self) -> list[Block]:
        """Visits the whole function."""
        self._begin_frame(0)
        _run(self._visit(self._root))
        for frame, function in enumerate(self._bodies, 1):  # grows on the way
            self._begin_frame(frame)
            for argument in parameters(function.args):
                self._event(Access.WRITE, argument)
            is_lambda = isinstance(function, ast.Lambda)
            _run(self._visit_all([function.body] if is_lambda else function.body))
        return self._blocks

    # Blocks.

    def _begin_frame(self, frame: int) -> None:
        self._frame = frame
        self._around: list[_Loop | _Finally] = []
        # How many parts of try statements are around, in which each write may be followed by an exception.
        self._guarded = 0
        self._current = self._block()

    def _block(self) -> int:
        self._blocks.append(Block(self._frame))
        return len(self._blocks) - 1

    def _link(self, start: int, end: int) -> None:
        self._blocks[start].next.add(end)

    def _branch(self, *starts: int) -> int:
        """Goes on in a new block, which follows some others."""
        self._current = self._block()
        for start in starts:
            self._link(start, self._current)
        return self._current

    def _event(self, access: Access, node: ast.AST) -> None:
        variable = self._variables.get(id(node))
        if variable is None:
            return
        event = Event(access, self._numbers[id(node)], variable)
        self._blocks[self._current].events.append(event)
        if self._guarded and access is not Access.READ:
            self._branch(self._current)

    def _jump(self, kind: str, start: int) -> None:
        """Links a block to where a ``break`` or ``continue`` goes next."""
        around = self._around[-1] if self._around else None
        if around is None:  # which parses, but means nothing
            return
        if isinstance(around, _Finally):
            around.jumps.add(kind)
            self._link(start, around.entry)
        else:
            self._link(start, around.header if kind == "continue" else around.after)

    # Visits.

    def _visit(self, node: ast.AST) -> _Visit:
        # By name, since older Pythons lack some types.
        visit: Callable[[ast.AST], _Visit] = getattr(
            self, f"_visit_{type(node).__name__}", self._visit_children
        )
        return visit(node)

    def _visit_children(self, node: ast.AST) -> _Visit:
        for _, child in children(node):
            yield self._visit(child)

    def _visit_all(self, nodes: Iterable[ast.AST | None]) -> _Visit:
        for node in nodes:
            if node is not None:
                yield self._visit(node)

    def _visit_and_write(self, node: ast.AST) -> _Visit:
        yield self._visit_children(node)
        self._event(Access.WRITE, node)

    _visit_alias = _visit_MatchAs = _visit_MatchStar = _visit_MatchMapping = _visit_and_write
    _visit_TypeVar = _visit_ParamSpec = _visit_TypeVarTuple = _visit_and_write

    def _visit_Name(self, node: ast.Name) -> _Visit:
        accesses = {ast.Load: Access.READ, ast.Store: Access.WRITE, ast.Del: Access.DELETE}
        self._event(accesses[type(node.ctx)], node)
        yield from ()

    def _visit_Assign(self, node: ast.Assign) -> _Visit:
        yield self._visit_all([node.value, *node.targets])

    def _visit_AnnAssign(self, node: ast.AnnAssign) -> _Visit:
        yield self._visit_all([node.annotation, node.value])
        if node.value or not isinstance(node.target, ast.Name):
            yield self._visit(node.target)

    def _visit_AugAssign(self, node: ast.AugAssign) -> _Visit:
        if isinstance(node.target, ast.Name):
            self._event(Access.READ, node.target)
            yield self._visit(node.value)
            self._event(Access.WRITE, node.target)
        else:
            yield self._visit_all([node.target, node.value])

    def _visit_NamedExpr(self, node: ast.NamedExpr) -> _Visit:
        yield self._visit_all([node.value, node.target])

    def _visit_TypeAlias(self, node: ast.AST) -> _Visit:
        yield self._visit_all([*node.type_params, node.value, node.name])

    def _visit_Dict(self, node: ast.Dict) -> _Visit:
        yield self._visit_all(
            part for pair in zip(node.keys, node.values, strict=True) for part in pair
        )

    # Definitions.

    def _visit_FunctionDef(self, node: Function) -> _Visit:
        yield self._visit_all(node.decorator_list)
        yield self._visit_all(getattr(node, "type_params", ()))
        yield self._visit_arguments(node.args)
        yield self._visit_all([node.returns])
        self._event(Access.WRITE, node)
        self._bodies.append(node)

    _visit_AsyncFunctionDef = _visit_FunctionDef

    def _visit_Lambda(self, node: ast.Lambda) -> _Visit:
        yield self._visit_arguments(node.args)
        self._bodies.append(node)

    def _visit_arguments(self, node: ast.arguments) -> _Visit:
        yield self._visit_all([*node.defaults, *node.kw_defaults])
        yield self._visit_all(argument.annotation for argument in parameters(node))

    def _visit_ClassDef(self, node: ast.ClassDef) -> _Visit:
        yield self._visit_all(node.decorator_list)
        yield self._visit_all(getattr(node, "type_params", ()))
        yield self._visit_all([*node.bases, *node.keywords, *node.body])
        self._event(Access.WRITE, node)

    # Branches.

    def _visit_either(self, alternatives: Iterable[Iterable[ast.AST]]) -> _Visit:
        """Each alternative starts from here, and goes on after all of them."""
        start, ends = self._current, []
        for alternative in alternatives:
            self._branch(start)
            yield self._visit_all(alternative)
            ends.append(self._current)
        self._branch(*ends)

    def _visit_If(self, node: ast.If) -> _Visit:
        yield self._visit(node.test)
        yield self._visit_either([node.body, node.orelse])

    def _visit_IfExp(self, node: ast.IfExp) -> _Visit:
        yield self._visit(node.test)
        yield self._visit_either([[node.body], [node.orelse]])

    def _visit_MatchOr(self, node: ast.MatchOr) -> _Visit:
        yield self._visit_either([pattern] for pattern in node.patterns)

    def _visit_until(self, always: Iterable[ast.AST], perhaps: Iterable[ast.AST]) -> _Visit:
        """All of ``perhaps`` in their order, or only some first of them."""
        yield self._visit_all(always)
        ends = []
        for node in perhaps:
            ends.append(self._current)
            self._branch(self._current)
            yield self._visit(node)
        self._branch(self._current, *ends)

    def _visit_BoolOp(self, node: ast.BoolOp) -> _Visit:
        yield self._visit_until(node.values[:1], node.values[1:])

    def _visit_Compare(self, node: ast.Compare) -> _Visit:
        yield self._visit_until([node.left, *node.comparators[:1]], node.comparators[1:])

    def _visit_Match(self, node: ast.Match) -> _Visit:
        yield self._visit(node.subject)
        ends = []
        for case in node.cases:
            start = self._current
            self._branch(start)
            yield self._visit_all([case.pattern, case.guard])
            matched = self._current
            self._branch(matched)
            yield self._visit_all(case.body)
            ends.append(self._current)
            self._branch(start, *([matched] if case.guard else []))
        self._branch(self._current, *ends)

    # Loops.

    def _visit_For(self, node: ast.For | ast.AsyncFor) -> _Visit:
        yield self._visit(node.iter)
        header = self._branch(self._current)
        yield self._visit_loop(node, header, [node.target, *node.body])

    _visit_AsyncFor = _visit_For

    def _visit_While(self, node: ast.While) -> _Visit:
        header = self._branch(self._current)
        yield self._visit(node.test)
        yield self._visit_loop(node, header, node.body)

    def _visit_loop(self, node: ast.AST, header: int, body: Iterable[ast.AST]) -> _Visit:
        decision, after = self._current, self._block()
        self._around.append(_Loop(header, after))
        self._branch(decision)
        yield self._visit_all(body)
        self._link(self._current, header)
        self._around.pop()
        self._branch(decision)
        yield self._visit_all(node.orelse)
        self._branch(self._current, after)

    def _visit_generators(self, node: ast.ListComp | ast.DictComp) -> _Visit:
        headers = []
        for generator in node.generators:
            yield self._visit(generator.iter)
            headers.append(self._branch(self._current))
            self._branch(headers[-1])
            yield self._visit(generator.target)
            for condition in generator.ifs:
                yield self._visit(condition)
                self._link(self._current, headers[-1])
                self._branch(self._current)
        is_dict = isinstance(node, ast.DictComp)
        yield self._visit_all([node.key, node.value] if is_dict else [node.elt])
        self._link(self._current, headers[-1])
        for outer, inner in pairwise(headers):
            self._link(inner, outer)
        self._branch(headers[0])

    _visit_ListComp = _visit_SetComp = _visit_DictComp = _visit_GeneratorExp = _visit_generators

    # Jumps and exceptions.

    def _visit_Return(self, node: ast.Return) -> _Visit:
        # A finally around follows all blocks of its try statement anyway.
        yield self._visit_all([node.value])
        self._branch()

    def _visit_Break(self, node: ast.Break) -> _Visit:
        self._jump("break", self._current)
        self._branch()
        yield from ()

    def _visit_Continue(self, node: ast.Continue) -> _Visit:
        self._jump("continue", self._current)
        self._branch()
        yield from ()

    def _visit_Raise(self, node: ast.Raise) -> _Visit:
        yield self._visit_all([node.exc, node.cause])
        self._branch()

    def _visit_Assert(self, node: ast.Assert) -> _Visit:
        yield self._visit(node.test)
        passed = self._current
        if node.msg:
            self._branch(passed)
            yield self._visit(node.msg)
        self._branch(passed)

    def _visit_Try(self, node: ast.Try) -> _Visit:
        last = _Finally(self._block()) if node.finalbody else None
        if last:
            self._around.append(last)
            self._guarded += 1
        start = self._current
        first = self._branch(start)
        self._guarded += 1
        yield self._visit_all(node.body)
        self._guarded -= 1
        raising = [start, *range(first, len(self._blocks))]
        self._branch(self._current)
        yield self._visit_all(node.orelse)
        ends = [self._current]
        self._branch(*raising)
        for handler in node.handlers:
            yield self._visit_all([handler.type])
            matching = self._current
            self._branch(matching)
            self._event(Access.WRITE, handler)
            yield self._visit_all(handler.body)
            self._event(Access.FORGET, handler)
            ends.append(self._current)
            self._branch(matching)
        # Here the exception goes on.
        if last:
            self._around.pop()
            self._guarded -= 1
            for block in [start, *range(first, len(self._blocks)), *ends]:
                self._link(block, last.entry)
            self._current = last.entry
            yield self._visit_all(node.finalbody)
            for kind in sorted(last.jumps):
                self._jump(kind, self._current)
            ends = [self._current]
        self._branch(*ends)

    _visit_TryStar = _visit_Try


def _run(visit: _Visit) -> None:
    """Runs a visit with all that it yields, depth first."""
    running = [visit]
    while running:
        deeper = next(running[-1], None)
        if deeper is None:
            running.pop()
        else:
            running.append(deeper)
