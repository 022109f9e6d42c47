"""The other edges of the data-flow graph, by hand."""

from __future__ import annotations

from textwrap import indent

import pytest
from source_code_snippets import edges, tree_of, trees

from graphpe.data.source_code.data_flow import data_flow_edges
from graphpe.data.source_code.edges import EdgeKind


def expected(text: str) -> set[str]:
    return set(text.split(", ")) if text else set()


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("x = a + b.c", "1a > 1x, 1b > 1x"),
        ("x = y = a", "1a > 1x, 1a > 1y"),
        ("x, *y = a", "1a > 1x, 1a > 1y"),
        ("x += x * a", "1a > 1x, 1x' > 1x"),
        # The object that is changed is a target as a whole.
        ("x.y = a", "1a > 1Attribute"),
        ("x[i] = a", "1a > 1Subscript"),
        ("x: T = a", "1a > 1x"),
        ("x: T", ""),
        ("f(y := a)", "1a > 1y"),
        ("x = [y for y in a]", "1y > 1x, 1a > 1x"),
        ("x = 1", ""),
        ("for x in a: pass", ""),
    ],
)
def test_computed_from(code: str, text: str) -> None:
    assert edges(f"def f():\n    {code}", EdgeKind.COMPUTED_FROM) == expected(text)


INNER = """
    def f(a, b):
        def g(x, /, y=1, *args, z, **rest):
            if x:
                return y
            def h():
                return 5
            return h
        g(a, b, 3, z=4, w=6)
        g(*a, b)
        g(**b, y=a)
        return len(a)
    """


def test_calls_of_inner_functions() -> None:
    assert edges(INNER, EdgeKind.CALLS) == expected(
        "7Call > 1FunctionDef, 8Call > 1FunctionDef, 9Call > 1FunctionDef"
    )
    # Not the return of h, which isn't called.
    assert edges(INNER, EdgeKind.RETURNS_TO) == expected(
        "3Return > 7Call, 6Return > 7Call, 3Return > 8Call, 6Return > 8Call, 3Return > 9Call, 6Return > 9Call"
    )
    assert edges(INNER, EdgeKind.FORMAL_ARGUMENT) == expected(
        "7a > 1x, 7b > 1y, 7Constant > 1args, 7Constant' > 1z, 7Constant'' > 1rest, 9a > 1y"
    )


def test_a_call_goes_to_what_may_be_the_last_definition() -> None:
    code = """
        def f(c):
            def g(): pass
            def g(): pass
            if c:
                async def g(): pass
            g()
            g = len
            g()
        """
    assert edges(code, EdgeKind.CALLS) == expected(
        "5Call > 2FunctionDef, 5Call > 4AsyncFunctionDef"
    )


def test_recursion_of_a_function() -> None:
    code = """
        def f(x, *, y):
            return f(x, y=f)
        """
    assert edges(code, EdgeKind.CALLS) == {"1Call > 0FunctionDef"}
    assert edges(code, EdgeKind.RETURNS_TO) == {"1Return > 1Call"}
    assert edges(code, EdgeKind.FORMAL_ARGUMENT) == {"1x > 0x", "1f' > 0y"}


def test_recursion_of_a_method() -> None:
    code = """
        class A:
            def f(this, x):
                f(x)
                self.f(x)
                this.g(x)
                return this.f(x)
        """
    assert edges(code, EdgeKind.CALLS) == {"4Call > 0FunctionDef"}
    assert edges(code, EdgeKind.RETURNS_TO) == {"4Return > 4Call"}
    # The call doesn't give the first argument.
    assert edges(code, EdgeKind.FORMAL_ARGUMENT) == {"4x > 0x"}
    outside = tree_of("def f(this):\n    this.f()")
    assert edges("", EdgeKind.CALLS, outside) == set()


CONTROL_FLOW = {
    "independent statements": (
        "a = 1; b = 2; f(a); f(b)",
        "1Assign > 1Expr, 1Assign' > 1Expr'",
    ),
    "a barrier": (
        "a = 1; b = 2; assert a; f(b); f(a)",
        # No dependency across it.
        "1Assign > 1Assert, 1Assign' > 1Assert, 1Assert > 1Expr, 1Assert > 1Expr'",
    ),
    "between two barriers": (
        "yield; a = 1; b = a; c = a; yield a",
        "1Expr > 1Assign, 1Assign > 1Assign', 1Assign > 1Assign'', 1Assign > 1Expr', 1Assign' > 1Expr', "
        "1Assign'' > 1Expr'",
    ),
    "barriers in a row": ("yield a; yield from a; return", "1Expr > 1Expr', 1Expr' > 1Return"),
    "a second write is no dependency": ("a = 1; a = 2", ""),
    "nor is one of an earlier round": ("while c:\n    f(a)\n    a = 1", ""),
    "dependency of parts": (
        "if c:\n    a = 1\nelse:\n    b = 1\nfor i in c:\n    f(a)",
        "1If > 5For",
    ),
    "a barrier after a chain": ("a = 1; b = a; return b", "1Assign > 1Assign', 1Assign' > 1Return"),
    "augmented assignments read": ("a = 1; a += 2", "1Assign > 1AugAssign"),
    "if keeps errors": ("f(a)\nif c:\n    raise\nelse:\n    assert c\nf(b)", ""),
    "if does not keep return": (
        "f(a)\nif c:\n    return\nf(b)",
        "1Expr > 2If, 2If > 4Expr",
    ),
    "loop keeps break": (
        "f(a)\nfor i in c:\n    f(i)\n    if i:\n        break\n    f(b)\nf(b)",
        "3Expr > 4If, 4If > 6Expr",
    ),
    "loop does not keep errors": (
        "f(a)\nwhile c:\n    raise\nf(b)",
        "1Expr > 2While, 2While > 4Expr",
    ),
    "else belongs to the loop around": (
        "f(a)\nwhile c:\n    f(a)\n    for i in c:\n        pass\n    else:\n        break\n    f(b)",
        "3Expr > 4For, 4For > 8Expr",
    ),
    "functions keep all": (
        "f(a)\ndef g():\n    return 1\nh = lambda: (yield)\nf(b)",
        "",
    ),
    "case keeps errors": (
        "f(a)\nmatch c:\n    case 1:\n        raise\nf(b)",
        "",
    ),
    "case does not keep return": (
        "f(a)\nmatch c:\n    case 1:\n        f(a)\n        return",
        "1Expr > 2Match, 4Expr > 5Return",
    ),
    "try keeps nothing": (
        "try:\n    f(a)\n    raise\nexcept E:\n    a = 1\n    f(a)\nfinally:\n    f(a)\n    a = 2\nf(b)",
        "2Expr > 3Raise, 5Assign > 6Expr, 1Try > 10Expr",
    ),
}


@pytest.mark.parametrize("name", CONTROL_FLOW)
def test_order_of_statements(name: str) -> None:
    code, text = CONTROL_FLOW[name]
    assert edges(f"def f(c):\n{indent(code, '    ')}", EdgeKind.CONTROL_FLOW) == expected(text)


def test_edges_go_between_nodes_and_the_tree_is_among_them() -> None:
    for tree in trees(INNER):
        found = set(data_flow_edges(tree))
        assert all(0 <= edge.source < len(tree) and 0 <= edge.target < len(tree) for edge in found)
        assert all(edge.source != edge.target for edge in found)
        children = {(edge.source, edge.target) for edge in found if edge.kind is EdgeKind.CHILD}
        assert children == {(tree.parents[node], node) for node in range(1, len(tree))}
