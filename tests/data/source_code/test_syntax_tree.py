"""Syntax trees: their nodes, in their order, and what is said about the name of the function."""

from __future__ import annotations

import ast
import sys

import pytest
from source_code_snippets import tree_of, trees

from graphpe.data.source_code.data_flow import data_flow_edges
from graphpe.data.source_code.edges import EdgeKind, tree_edges
from graphpe.data.source_code.grammar import FIELD_NUMBERS, NODE_TYPE_NUMBERS
from graphpe.data.source_code.syntax_tree import MASK, attribute_of


def test_nodes_by_hand() -> None:
    tree = tree_of(
        """
        def f(a, *, b=1):
            "What it does."
            return a + b.c
        """
    )
    # Number of the parent, field, type, depth, attribute.
    assert list(
        zip(
            tree.parents,
            tree.fields,
            [type(node).__name__ for node in tree.nodes],
            tree.depths,
            tree.attributes(),
            strict=True,
        )
    ) == [
        (-1, "", "FunctionDef", 0, MASK),
        (0, "args", "arguments", 1, None),
        (1, "args", "arg", 2, "a"),
        (1, "kwonlyargs", "arg", 2, "b"),
        (1, "kw_defaults", "Constant", 2, "1"),
        (0, "body", "Return", 1, None),
        (5, "value", "BinOp", 2, None),
        (6, "left", "Name", 3, "a"),
        (6, "op", "Add", 3, None),
        (6, "right", "Attribute", 3, "c"),
        (9, "value", "Name", 4, "b"),
    ]
    assert list(tree.below(6)) == [7, 8, 9, 10]
    assert list(tree.below(5)) == [6, 7, 8, 9, 10]


def test_nodes_are_those_of_ast_without_contexts() -> None:
    code = "def f(x):\n    y = [-x for x in (1, 2) if x]\n    del y[0]\n    return f'{x!r:>{y}}'"
    everything = ast.walk(ast.parse(code).body[0])
    expected = sorted(
        type(node).__name__ for node in everything if not isinstance(node, ast.expr_context)
    )
    assert sorted(type(node).__name__ for node in tree_of(code).nodes) == expected


def test_edges_are_a_tree_from_the_root() -> None:
    tree = tree_of("def f(x):\n    if x:\n        return [x, x]")
    edges = tree_edges(tree)
    assert [edge.target for edge in edges] == list(range(1, len(tree)))
    assert all(edge.source < edge.target for edge in edges)  # so there is no cycle
    assert all(edge.kind is EdgeKind.CHILD and edge.field for edge in edges)


def test_docstrings_are_left_out() -> None:
    tree = tree_of(
        '''
        def f():
            """Docstring"""
            class A:
                """Docstring"""
                async def g():
                    "Docstring"
            "not one"
            lambda: "nor this"
        '''
    )
    texts = [attribute_of(node) for node in tree.nodes if isinstance(node, ast.Constant)]
    assert texts == ["not one", "nor this"]


@pytest.mark.parametrize(
    ("code", "attribute"),
    [
        ("x.y", "y"),
        ("g(y=x)", "y"),
        ("return 'text'", "text"),
        ("None", "None"),
        ("b'x'", "b'x'"),
        ("...", "Ellipsis"),
        ("import a.b as c", "a.b"),
        ("from .. import a", "2"),
        ("global a, b", "a,b"),
        ("try: 0\nexcept E as e: 0", "e"),
        ("match x:\n    case {1: y, **z}: 0", "z"),
        ("match x:\n    case A(b=1, c=2): 0", "b,c"),
        ("match x:\n    case None: 0", "None"),
    ],
)
def test_attributes(code: str, attribute: str) -> None:
    body = "\n".join("    " + line for line in code.splitlines())
    assert attribute in tree_of(f"def f():\n{body}").attributes()


def test_attributes_are_cut_and_huge_numbers_are_written() -> None:
    tree = tree_of(f"def f():\n    return '{'x' * 200}', {'0x' + 'f' * 5000}, {10**30}")
    constants = [text for text in tree.attributes() if text and text != MASK]
    assert constants == ["x" * 100, "0x" + "f" * 98, str(10**30)]


def test_the_name_is_masked_wherever_it_is() -> None:
    tree = trees(
        """
        class A(B):
            def load(self, load=None, *, loader, reload):
                if not load:
                    super().load(load=1)
                    return self.load() + load(self.loader) + "can't load: %s" + 'downloads'
                from load import load as x
                raise E("%s in the rest, which is cut: load" % ("x" * 3))
        """
    )[0]
    attributes = tree.attributes()
    assert attributes[0] == MASK
    assert attributes.count(MASK) == 11
    names = {text for text in attributes if text}
    assert not [text for text in names if "load" in text.split()]
    assert {"loader", "reload", "downloads"} <= names


def test_what_lies_beyond_the_cut_is_masked_too() -> None:
    tree = tree_of(f"def load():\n    return '{'x' * 97} load'")
    assert tree.attributes().count(MASK) == 2


def test_names_of_patterns_are_no_patterns() -> None:
    tree = tree_of("def größe_1(x):\n    return größe_1(größe_11)")
    assert tree.attributes().count(MASK) == 2


def test_all_types_and_fields_of_this_python_have_numbers() -> None:
    kinds, waiting = [], [ast.stmt, ast.expr, ast.operator, ast.unaryop, ast.cmpop, ast.boolop]
    waiting += [ast.pattern, ast.comprehension, ast.excepthandler, ast.arguments, ast.arg]
    waiting += [ast.keyword, ast.alias, ast.withitem, ast.match_case]
    waiting += [ast.type_param] if sys.version_info >= (3, 12) else []
    while waiting:
        kind = waiting.pop()
        below = [sub for sub in kind.__subclasses__() if sub.__module__ in ("ast", "_ast")]
        waiting += below
        kinds += [] if below else [kind]
    deprecated = {"Num", "Str", "Bytes", "NameConstant", "Ellipsis", "Index", "ExtSlice"}
    names = {kind.__name__ for kind in kinds} - deprecated
    assert len(names) > 95
    assert names <= set(NODE_TYPE_NUMBERS)
    assert sorted(NODE_TYPE_NUMBERS.values()) == list(range(1, 106))
    assert sorted(FIELD_NUMBERS.values()) == list(range(1, 60))


def test_no_depth_is_too_deep() -> None:
    deep = 90  # Python's parser goes no deeper in parentheses
    nested = "(" * deep + "x" + ",)" * deep
    long = " + ".join(["x"] * 900)
    chain = "\n".join(f"    elif x == {i}:\n        y = f(y)" for i in range(400))
    tree = tree_of(
        f"def f(x):\n    y = {nested}, {long}\n    if x:\n        pass\n{chain}\n    return y"
    )
    assert max(tree.depths) > 900
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(200)
        edges = data_flow_edges(tree)
    finally:
        sys.setrecursionlimit(limit)
    assert len(edges) > len(tree)
