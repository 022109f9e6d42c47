"""What is said and done about graphs that have no values."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from torch_geometric.data import Dataset

from graphpe.precompute.computing import OnError

# Graphs that a warning names; `failures` of the result has all.
_NAMED = 3


def report_failures(failures: Mapping[int, str], num_graphs: int, on_error: OnError) -> None:
    """Warns of the graphs that have no values."""
    if not failures:
        return
    named = "; ".join(why for _, why in list(failures.items())[:_NAMED])
    more = f"; and {len(failures) - _NAMED:,} more" if len(failures) > _NAMED else ""
    what = "are left out" if on_error == "skip" else "have NaN for values"
    warnings.warn(
        f"{len(failures):,} of {num_graphs:,} graphs {what} (all are in `failures`): {named}{more}",
        UserWarning,
        stacklevel=3,
    )


def without_failed(encoded: Any, failures: Mapping[int, str]) -> Any:
    """The dataset or list without the graphs that have no values."""
    kept = [number for number in range(len(encoded)) if number not in failures]
    if isinstance(encoded, Dataset):
        return encoded.index_select(kept)
    return type(encoded)((encoded[number] for number in kept), encoded.fields)
