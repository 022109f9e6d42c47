"""Fields of the cache as tensors of which only what is asked for is read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from graphpe.fields import Field
from graphpe.precompute.cache.entry import Entry, read
from graphpe.precompute.cache.shard_files import fault
from graphpe.precompute.sizes import Sizes


class MappedEntry:
    """The shards of an entry, each mapped from its file and checked when it is first used in a process.

    Args:
        entry: The entry, finished.
        repair: Makes the shards that are damaged anew.
    """

    def __init__(self, entry: Entry, repair: Callable[[], object]) -> None:
        self.entry = entry
        self._repair = repair
        self._receipts = entry.receipts()
        self._opened: dict[int, tuple[np.ndarray, ...]] = {}

    def shard(self, number: int) -> tuple[np.ndarray, ...]:
        """The bytes of a shard: uint8 ``[rows, bytes of a row]`` for each field.

        As arrays, since of these a row is taken several times faster than of a tensor.

        Raises:
            ValueError: If it is damaged, and can't be made anew.
        """
        if number not in self._opened:
            self._check(number)
            entry = self.entry
            values = read(entry.folder, entry.shards[number], entry.encoding)
            self._opened[number] = tuple(
                value.flatten(1).view(torch.uint8).numpy() for value in values
            )
        return self._opened[number]

    def failures(self) -> dict[int, str]:
        """Numbers of the graphs that have no values, and why."""
        return {graph: why for receipt in self._receipts for graph, why in receipt.failed.items()}

    def _check(self, number: int) -> None:
        folder = self.entry.folder
        if fault(folder, self._receipts[number], content=True) is None:
            return
        self._repair()  # which says what is wrong
        self._receipts = self.entry.receipts()
        receipt = self._receipts[number]
        reason = "it is gone" if receipt is None else fault(folder, receipt, content=True)
        if reason is not None:
            raise ValueError(f"a shard in {folder} can't be read, even made anew: {reason}")

    def __getstate__(self) -> dict[str, Any]:
        # Another process maps the files itself.
        return {**self.__dict__, "_opened": {}}


class MappedField:
    """A field of all graphs, of which some rows, or the rows of some graphs, can be had as a tensor.

    Args:
        entry: The entry.
        place: Which field of the encoding it is.
        sizes: How large each graph is.
    """

    def __init__(self, entry: MappedEntry, place: int, sizes: Sizes) -> None:
        self._entry = entry
        self._place = place
        self.field: Field = entry.entry.encoding.fields()[place]
        self._rows = sizes.rows(self.field.level)
        self._first_graphs = torch.tensor([shard.start for shard in entry.entry.shards])
        self._starts = self._rows[self._first_graphs].tolist()
        self.dtype = self.field.dtype
        self.shape = torch.Size([int(self._rows[-1]), *self.field.row_shape])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> Tensor:
        """Some rows, one after the other; a view where one shard has them all.

        Raises:
            ValueError: If the rows are not one after the other.
        """
        start, stop, step = rows.indices(len(self))
        if step != 1:
            raise ValueError(
                f"the rows of {self.field.name!r} are taken in steps of {step}; take each"
            )
        pieces = []
        number = bisect_right(self._starts, start) - 1
        while start < stop:
            own = self._bytes(number)[start - self._starts[number] : stop - self._starts[number]]
            pieces.append(own)
            start += len(own)
            number += 1
        return self._values(pieces[0] if len(pieces) == 1 else self._joined(pieces))

    def of_graphs(self, numbers: Tensor) -> Tensor:
        """The rows of some graphs, one graph after the other; a copy.

        Args:
            numbers: int64 ``[B]``, in any order.
        """
        shards = torch.searchsorted(self._first_graphs, numbers, right=True) - 1
        before = self._rows[self._first_graphs[shards]]
        starts, stops = self._rows[numbers] - before, self._rows[numbers + 1] - before
        slices = zip(shards.tolist(), starts.tolist(), stops.tolist(), strict=True)
        # A copy of each graph's rows as they lie is faster than a selection row by row, shard by shard.
        return self._values(
            self._joined([self._bytes(shard)[start:stop] for shard, start, stop in slices])
        )

    def _bytes(self, shard: int) -> np.ndarray:
        return self._entry.shard(shard)[self._place]

    def _joined(self, pieces: Sequence[np.ndarray]) -> np.ndarray:
        width = self.field.width * self.dtype.itemsize
        return np.concatenate([np.empty((0, width), np.uint8), *pieces])

    def _values(self, rows: np.ndarray) -> Tensor:
        shape = (len(rows), *self.field.row_shape)
        if not rows.size:  # whose strides PyTorch can't view as those of another dtype
            return torch.empty(shape, dtype=self.dtype)
        return torch.from_numpy(rows).view(self.dtype).view(shape)
