"""Work divided among processes: in order, no faster than it is used, and with one line for a lost process."""

from __future__ import annotations

import math
import os

import pytest

from graphpe.processes import in_processes


@pytest.mark.parametrize("workers", [1, 2])
def test_results_are_in_order_and_items_are_taken_as_they_are_needed(workers: int) -> None:
    taken = []

    def items():
        for number in range(60):
            taken.append(number)
            yield number

    results = in_processes(math.sqrt, items(), workers, "computes roots")
    assert [next(results) for _ in range(4)] == [0, 1, math.sqrt(2), math.sqrt(3)]
    assert len(taken) < 20
    assert list(results) == [math.sqrt(number) for number in range(4, 60)]


def test_an_error_of_the_function_is_raised_as_it_is() -> None:
    with pytest.raises(ValueError, match=r"math domain error|nonnegative"):
        list(in_processes(math.sqrt, [4, -1, 4], 2, "computes roots"))


def test_a_lost_process_is_one_line() -> None:
    with pytest.raises(ValueError, match=r"a process that exits ended early.*workers=1") as error:
        list(in_processes(os._exit, [3], 2, "exits"))
    assert "\n" not in str(error.value)
