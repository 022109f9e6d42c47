"""One entry of the cache: the fields of one encoding of one dataset, shard by shard."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from graphpe.precompute.cache.keys import key, settings_of
from graphpe.precompute.cache.manifest import NAME, Manifest, versions
from graphpe.precompute.cache.shard_files import (
    Receipt,
    fault,
    read_receipt,
    read_shard,
    receipt_path,
    write_shard,
)
from graphpe.transforms import Encoding

Shard = tuple[int, int]


class Entry:
    """Where the values of an encoding are kept, and which of them are there.

    An entry is finished when it has a manifest, which is written last. Until then each shard has a receipt beside it,
    so that a process that goes on knows which shards are whole.

    Args:
        cache_dir: The folder of the cache.
        graphs: Fingerprint of the graphs.
        encoding: The encoding.
        shards: First graph, and that after the last, of each shard.
    """

    def __init__(
        self, cache_dir: Path, graphs: str, encoding: Encoding, shards: Sequence[Shard]
    ) -> None:
        self.graphs = graphs
        self.encoding = encoding
        self.settings = settings_of(encoding)
        self.shards = tuple(shards)
        name = f"{type(encoding).__name__}-{key(graphs, self.settings)}"
        self.folder = cache_dir / graphs / name

    @property
    def is_finished(self) -> bool:
        """Whether the entry has a manifest."""
        return (self.folder / NAME).exists()

    def missing(self) -> list[tuple[int, str]]:
        """The numbers of the shards that have to be computed, and why, for those that are damaged."""
        missing = []
        for number, (shard, receipt) in enumerate(zip(self.shards, self._receipts(), strict=True)):
            if receipt is None or (receipt.start, receipt.stop) != shard:
                missing.append((number, ""))
                continue
            reason = fault(self.folder, receipt)
            if reason is not None:
                missing.append((number, reason))
        return missing

    def write(self, number: int, values: Sequence[Tensor]) -> None:
        """Writes a shard."""
        named = {f"field_{place}": value for place, value in enumerate(values)}
        write_shard(self._path(number), *self.shards[number], named)

    def finish(self) -> None:
        """Writes the manifest, once all shards are there."""
        receipts = self._receipts()
        if None in receipts:
            raise ValueError(
                f"{self._path(receipts.index(None))} has no receipt; encode again, and it is made"
            )
        Manifest(
            self.graphs,
            self.shards[-1][1],
            repr(self.encoding),
            self.settings,
            self.encoding.fields(),
            tuple(receipts),
            versions(),
        ).save(self.folder)
        for number in range(len(self.shards)):
            receipt_path(self._path(number)).unlink(missing_ok=True)

    def read(self) -> tuple[Tensor, ...]:
        """All values, ``[rows, *shape]`` for each field of the encoding."""
        fields = self.encoding.fields()
        dtypes = {f"field_{place}": field.dtype for place, field in enumerate(fields)}
        parts = [read_shard(self._path(number), dtypes) for number in range(len(self.shards))]
        return tuple(torch.cat([part[name] for part in parts]) for name in dtypes)

    def _receipts(self) -> list[Receipt | None]:
        """What each shard must be: by its own receipt, which is newer, or by the manifest."""
        named = {}
        if self.is_finished:
            named = {receipt.file: receipt for receipt in Manifest.load(self.folder).shards}
        paths = map(self._path, range(len(self.shards)))
        return [read_receipt(path) or named.get(path.name) for path in paths]

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:06d}.safetensors"
