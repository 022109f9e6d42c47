"""Runs checks, and reports a broken promise with the smallest graph that shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from graphpe._testing.contract.graphs import SmallGraph
from graphpe._testing.contract.reduction import reduce
from graphpe._testing.contract.values import Broken, Values
from graphpe.transforms import Encoding

# Looks at one graph and raises `Broken` if the encoding of the values breaks a promise there.
Check = Callable[[Values, SmallGraph], None]


def check_graphs(check: Check, values: Values, graphs: Iterable[SmallGraph]) -> None:
    """Runs a check on graphs; the first that fails is made small and reported.

    Raises:
        AssertionError: With the promise and the smallest graph found.
    """
    for graph in graphs:
        if (broken := failure(check, values, graph)) is None:
            continue
        smallest = reduce(graph, partial(_fails_alike, check, values, broken.promise))
        broken = failure(check, values, smallest) or broken
        raise report(values.encoding, broken, f"Smallest graph found: {smallest}")


def report(encoding: Encoding, broken: Broken, where: str) -> AssertionError:
    """The error that a user sees."""
    error = AssertionError(
        f"{encoding!r} breaks a promise.\nPromise: {broken.promise}.\nSeen: {broken.details}.\n{where}"
    )
    error.__cause__ = broken.__cause__
    return error


def failure(check: Check, values: Values, graph: SmallGraph) -> Broken | None:
    """How a check fails on a graph; None if it doesn't, or if the graph is directed and refused as such."""
    broken = failure_of(partial(check, values, graph))
    if broken is not None and graph.is_directed and is_refusal(broken.__cause__):
        return None
    return broken


def failure_of(attempt: Callable[[], None]) -> Broken | None:
    """The `Broken` that a call raises, or one made of any other error; None if it raises nothing."""
    try:
        attempt()
    except Broken as broken:
        return broken
    except Exception as error:  # whatever the code of the encoding raises
        broken = Broken(_promise_of(error), f"{type(error).__name__}: {error}")
        broken.__cause__ = error
        return broken
    return None


def is_refusal(error: BaseException | None) -> bool:
    """Whether an error says that directed graphs are not accepted."""
    return isinstance(error, ValueError) and "directed" in str(error)


def _promise_of(error: Exception) -> str:
    if isinstance(error, ValueError) and "not finite" in str(error):
        return "every value is finite"
    return (
        "every graph is encoded, but a directed one may be refused by a ValueError with that word"
    )


def _fails_alike(check: Check, values: Values, promise: str, graph: SmallGraph) -> bool:
    broken = failure(check, values, graph)
    return broken is not None and broken.promise == promise
