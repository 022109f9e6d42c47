"""Last writes: by hand for every construct, and against runs of random programs."""

from __future__ import annotations

import sys

import pytest
from source_code_snippets import edges

from graphpe.data.source_code.edges import EdgeKind

CASES = {
    "sequence": (
        """
        def f(a):
            x = a
            x = x
            return x
        """,
        # The right-hand side is read before the left-hand side is written, which follows the first write.
        "0a > 1a, 1x > 2x', 1x > 2x, 2x > 3x",
    ),
    "if": (
        """
        def f(c):
            x = 1
            if c:
                x = 2
            return x
        """,
        "0c > 2c, 1x > 3x, 1x > 4x, 3x > 4x",
    ),
    "if and else": (
        """
        def f(c):
            if c:
                x = 1
            else:
                x = 2
            return x
        """,
        "0c > 1c, 2x > 5x, 4x > 5x",
    ),
    "for": (
        """
        def f(c):
            x = 1
            for i in c:
                g(x, i)
                x = 2
            return x, i
        """,
        "0c > 2c, 1x > 3x, 4x > 3x, 2i > 3i, 1x > 4x, 1x > 5x, 4x > 5x, 2i > 5i",
    ),
    "while with break, continue and else": (
        """
        def f():
            x = 1
            while x:
                if a:
                    x = 2
                    break
                if b:
                    x = 3
                    continue
                x = 4
            else:
                x = x
            return x
        """,
        "1x > 2x, 7x > 2x, 9x > 2x, "
        "1x > 4x, 7x > 4x, 9x > 4x, 1x > 7x, 9x > 7x, 1x > 9x, 7x > 9x, "
        "1x > 11x', 7x > 11x', 9x > 11x', 1x > 11x, 7x > 11x, 9x > 11x, "
        "4x > 12x, 11x > 12x",
    ),
    "augmented": (
        """
        def f(x):
            x += x
            return x
        """,
        "0x > 1x, 0x > 1x', 1x > 2x",
    ),
    "attributes and items": (
        """
        def f(a, i):
            a.b = i
            a[i] += 1
            return a
        """,
        "0a > 1a, 0i > 1i, 0a > 2a, 0i > 2i, 0a > 3a",
    ),
    "annotated": (
        """
        def f():
            x: T = 1
            x: T
            return x
        """,
        "1x > 3x",
    ),
    "delete": (
        """
        def f(x):
            del x
            return x
        """,
        "0x > 1x",
    ),
    "targets": (
        """
        def f(y):
            a, *b = c = y
            with y as (d, e):
                return a, b, c, d, e
        """,
        "0y > 1y, 1a > 3a, 1b > 3b, 1c > 3c, 0y > 2y, 2d > 3d, 2e > 3e",
    ),
    "walrus and short circuits": (
        """
        def f(x):
            (x := 1) and (x := 2)
            (x := 3) if x else 4
            0 < x < (x := 5)
            return x
        """,
        # On line 2 the test comes first in the tree.
        "0x > 1x, 1x > 1x', 1x > 2x, 1x' > 2x, 1x > 2x', 1x' > 2x', 1x > 3x, 1x' > 3x, 2x' > 3x, 1x > 3x', "
        "1x' > 3x', 2x' > 3x', 1x > 4x, 1x' > 4x, 2x' > 4x, 3x' > 4x",
    ),
    "comprehension": (
        """
        def f(x, ys):
            a = [x for x in x for y in ys if (z := y)]
            return x, z, y
        """,
        # In the order of the tree: the element, the target, what is iterated over.
        "0x > 1x'', 1x' > 1x, 0ys > 1ys, 1y > 1y', 1z > 2z, 0x > 2x",
    ),
    "comprehension in a loop": (
        """
        def f(ys):
            return {y: (z, z := y) for y in ys}
        """,
        "0ys > 1ys, 1y'' > 1y, 1y'' > 1y', 1z' > 1z",
    ),
    "try": (
        """
        def f():
            x = 1
            try:
                x = 2
                x = 3
            except E as e:
                g(x, e)
            except F:
                x = 4
            else:
                x = 5
            return x, e
        """,
        # The name of the except clause is gone after it.
        "1x > 3x, 3x > 4x, 1x > 6x, 3x > 6x, 4x > 6x, 5ExceptHandler > 6e, 1x > 8x, 3x > 8x, 4x > 8x, 4x > 10x, "
        "1x > 11x, 3x > 11x, 4x > 11x, 8x > 11x, 10x > 11x",
    ),
    "finally": (
        """
        def f():
            x = 1
            try:
                x = 2
                return
            finally:
                g(x)
            return x
        """,
        "1x > 3x, 1x > 6x, 3x > 6x, 1x > 7x, 3x > 7x",
    ),
    "jump through finally": (
        """
        def f(c):
            for i in c:
                x = 1
                try:
                    break
                finally:
                    x = 2
            return x
        """,
        "0c > 1c, 2x > 6x, 6x > 2x, 6x > 7x",
    ),
    "raise": (
        """
        def f(x):
            if x:
                x = 1
                raise
            return x
        """,
        "0x > 1x, 0x > 2x, 0x > 4x",
    ),
    "assert": (
        """
        def f():
            assert (x := 1), (x := 2)
            return x
        """,
        "1x > 1x', 1x > 2x",
    ),
    "match": (
        """
        def f(x):
            match x:
                case [x, *y] if x:
                    pass
                case {"k": y, **z} | C(z, k=y) as w:
                    return y, z, w
            return x
        """,
        "0x > 1x, 0x > 2MatchAs, 2MatchAs > 2x, 2MatchStar > 4MatchAs', 2MatchStar > 4MatchAs''', "
        "4MatchAs' > 5y, 4MatchAs''' > 5y, 4MatchMapping > 5z, 4MatchAs'' > 5z, 4MatchAs > 5w, "
        "0x > 6x, 2MatchAs > 6x",
    ),
    "import": (
        """
        def f():
            import a.b, c as d
            from e import g
            return a, c, d, g
        """,
        "1a.b > 3a, 1c > 3d, 2g > 3g",
    ),
    "inner function": (
        """
        def f(x):
            def g(y=x):
                nonlocal z
                z = y
                return x, z
            z = 1
            x = 2
            return g, z
        """,
        # g may run at any time.
        "0x > 1x, 1y > 3y, 0x > 4x, 6x > 4x, 3z > 4z, 5z > 3z, 5z > 4z, 3z > 5z, 0x > 6x, 1FunctionDef > 7g, 3z > 7z, "
        "5z > 7z",
    ),
    "lambda": (
        """
        def f(x):
            g = lambda y: x + y
            x = 1
            return g
        """,
        "0x > 1x, 2x > 1x, 1y > 1y', 0x > 2x, 1g > 3g",
    ),
    "class": (
        """
        def f(x):
            class A(x):
                x = x
                y = x
                def g(self):
                    return x, y
            return A, x
        """,
        # The names in the body are the class's, and its functions don't see them.
        "0x > 1x, 2x > 3x, 0x > 5x, 1ClassDef > 6A, 0x > 6x",
    ),
    "global": (
        """
        def f(x):
            global y
            def g():
                y = x
                return y
            y = x
            return y
        """,
        "0x > 3x, 3y > 4y, 0x > 5x, 5y > 6y",
    ),
    "default of the same name": (
        """
        def f(x):
            def g(x=x):
                return x
            return g
        """,
        "0x > 1x', 1x > 2x, 1FunctionDef > 3g",
    ),
    "global in inner functions": (
        """
        def f():
            y = 1
            def g():
                global y, z
                y = z = 2
            def h():
                return z
            return y
        """,
        "4z > 6z, 1y > 7y",
    ),
    "walrus reads first": (
        """
        def f(x):
            (x := x + 1)
            return x
        """,
        "0x > 1x', 0x > 1x, 1x > 2x",
    ),
    "break through finally": (
        """
        def f(c):
            while c:
                try:
                    break
                finally:
                    x = 2
                x = 3
            else:
                x = 4
            return x
        """,
        # After a finally the next statement may follow too, whatever led there.
        "0c > 1c, 6x > 5x, 5x > 6x, 6x > 8x, 5x > 9x, 8x > 9x",
    ),
    "continue through two finally": (
        """
        def f(c):
            while c:
                try:
                    try:
                        continue
                    finally:
                        x = 2
                    x = 3
                finally:
                    y = 4
                x = 5
            return x
        """,
        "0c > 1c, 7x > 6x, 10x > 6x, 6x > 7x, 6x > 10x, 7x > 10x, 6x > 11x, 7x > 11x, 10x > 11x",
    ),
    "finally after except and else": (
        """
        def f():
            try:
                pass
            except E:
                x = 1
                x = 2
            else:
                x = 3
                x = 4
            finally:
                g(x)
        """,
        "4x > 5x, 7x > 8x, 4x > 10x, 5x > 10x, 7x > 10x, 8x > 10x",
    ),
    "except clause whose name is written again": (
        """
        def f():
            try:
                pass
            except E as e:
                e = 1
            return e
        """,
        "3ExceptHandler > 4e",
    ),
    "case without a guard": (
        """
        def f(x):
            match x:
                case [y]:
                    pass
                case _:
                    return y
            return y
        """,
        "0x > 1x, 2MatchAs > 6y",
    ),
    "condition of a comprehension": (
        """
        def f(ys):
            [(w := 1) for y in ys if (w := 2)]
            return w
        """,
        "0ys > 1ys, 1w > 1w', 1w' > 1w, 1w > 2w, 1w' > 2w",
    ),
    "async": (
        """
        async def f(x):
            async with x as y:
                async for z in y:
                    await z
            return [z async for z in x]
        """,
        "0x > 1x, 1y > 2y, 2z > 3z, 4z' > 4z, 0x > 4x",
    ),
    "recursion": (
        """
        def f(x):
            return f(x)
        """,
        "0FunctionDef > 1f, 0x > 1x",
    ),
    "arguments": (
        """
        def f(a, /, b, *c, d=e, **g):
            return a, b, c, d, g
        """,
        "0a > 1a, 0b > 1b, 0c > 1c, 0d > 1d, 0g > 1g",
    ),
}


def expected(text: str) -> set[str]:
    return set(text.split(", "))


@pytest.mark.parametrize("name", CASES)
def test_last_writes_by_hand(name: str) -> None:
    code, text = CASES[name]
    assert edges(code, EdgeKind.LAST_WRITE) == expected(text)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="except* is new in Python 3.11")
def test_exception_groups() -> None:
    code = """
        def f():
            x = 1
            try:
                x = 2
            except* E as e:
                g(x, e)
        """
    found = edges(code, EdgeKind.LAST_WRITE)
    assert found == expected("1x > 3x, 1x > 5x, 3x > 5x, 4ExceptHandler > 5e")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters are new in Python 3.12")
def test_type_parameters() -> None:
    code = """
        def f[T](x: T) -> T:
            type A[S] = (S, T)
            class B[T: A](T): pass
            return A, B, T
        """
    found = edges(code, EdgeKind.LAST_WRITE)
    assert found == expected(
        "0TypeVar > 0T, 0TypeVar > 0T', 1TypeVar > 1S, 0TypeVar > 1T, 1A > 2A, 2TypeVar > 2T, 1A > 3A, "
        "2ClassDef > 3B, 0TypeVar > 3T"
    )


def test_a_method_does_not_see_its_own_name() -> None:
    code = """
        class A:
            def f(x):
                return f
        """
    assert edges(code, EdgeKind.LAST_WRITE) == set()


def test_what_parses_but_can_not_be_compiled() -> None:
    code = """
        def f(x, x):
            nonlocal y
            y = x
            class A:
                return y
            try:
                break
            finally:
                continue
        """
    # The second argument writes what the first one wrote.
    assert edges(code, EdgeKind.LAST_WRITE) == expected("0x > 0x', 0x' > 2x, 2y > 4y")
