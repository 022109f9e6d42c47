"""Fields of the cache as tensors of which only what is asked for is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
        self._opened: dict[int, tuple[Tensor, ...]] = {}

    def shard(self, number: int) -> tuple[Tensor, ...]:
        """The values of a shard, ``[rows, *shape]`` for each field.

        Raises:
            ValueError: If it is damaged, and can't be made anew.
        """
        if number not in self._opened:
            self._check(number)
            entry = self.entry
            self._opened[number] = read(entry.folder, entry.shards[number], entry.encoding)
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
    """A field of all graphs; as a tensor it can be sliced and selected from along its rows.

    Args:
        entry: The entry.
        place: Which field of the encoding it is.
        sizes: How large each graph is.
    """

    device = torch.device("cpu")

    def __init__(self, entry: MappedEntry, place: int, sizes: Sizes) -> None:
        self._entry = entry
        self._place = place
        self.field: Field = entry.entry.encoding.fields()[place]
        rows = sizes.rows(self.field.level)
        stops = [shard.stop for shard in entry.entry.shards]
        # The first row of each shard, and the end of the last.
        self._starts = torch.cat([rows[:1], rows[torch.tensor(stops)]])
        self.dtype = self.field.dtype
        self.shape = torch.Size([int(self._starts[-1]), *self.field.row_shape])

    def __len__(self) -> int:
        return self.shape[0]

    def dim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def __getitem__(self, rows: slice) -> Tensor:
        """Some rows, one after the other; a view where one shard has them all."""
        start, stop, _ = rows.indices(len(self))
        if start >= stop:
            return torch.empty((0, *self.shape[1:]), dtype=self.dtype)
        first, last = torch.searchsorted(
            self._starts, torch.tensor([start, stop - 1]), right=True
        ).tolist()
        parts = []
        for number in range(first - 1, last):
            offset = int(self._starts[number])
            parts.append(self._shard(number)[max(start - offset, 0) : stop - offset])
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def index_select(self, dim: int, index: Tensor) -> Tensor:
        """The rows ``index`` ``[R]``, read from the shards that have them.

        Args:
            dim: 0.
            index: int64.
        """
        if dim != 0:
            raise ValueError(f"dim is {dim}; a field has its rows along dimension 0")
        out = torch.empty((len(index), *self.shape[1:]), dtype=self.dtype)
        shards = torch.searchsorted(self._starts, index, right=True) - 1
        for number in shards.unique().tolist():
            chosen = (shards == number).nonzero().flatten()
            own = index[chosen] - self._starts[number]
            if len(chosen) == len(index):
                return self._shard(number).index_select(0, own)
            out[chosen] = self._shard(number).index_select(0, own)
        return out

    def _shard(self, number: int) -> Tensor:
        return self._entry.shard(number)[self._place]
