"""One entry of the cache: the fields of one encoding of one dataset, shard by shard."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from torch import Tensor

from graphpe import files
from graphpe.precompute.cache.keys import key, settings_of
from graphpe.precompute.cache.manifest import NAME, Manifest, versions
from graphpe.precompute.cache.plan import Range
from graphpe.precompute.cache.shard_files import (
    Receipt,
    fault,
    read_receipt,
    read_shard,
    receipt_path,
    shard_name,
    write_shard,
)
from graphpe.transforms import Encoding


class Entry:
    """Where the values of an encoding are kept, and which of them are there.

    An entry is finished when it has a manifest, which is written last. Until then each shard has a receipt beside it,
    so that a process that goes on knows which shards are whole. A shard that is made again has one, too, until the
    manifest is written anew.

    Args:
        cache_dir: The folder of the cache.
        graphs: Fingerprint of the graphs.
        encoding: The encoding.
        shards: The shards, one after the other.
    """

    def __init__(
        self, cache_dir: Path, graphs: str, encoding: Encoding, shards: Sequence[Range]
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
        return os.path.exists(self.folder / NAME)  # where Path.exists() raises, one may not look

    @property
    def is_tidy(self) -> bool:
        """Whether nothing is left of a process that wrote to it: a receipt, or a folder in which it made a file."""
        names = os.listdir(self.folder)
        return not self._has_receipts() and not any(name.endswith(".partial") for name in names)

    def lacking(self, verify: bool, retry_failed: bool) -> list[tuple[Range, str]]:
        """The shards that have to be computed, and what is wrong with those that are damaged.

        Args:
            verify: Whether to read all shards for their checksums, and not to look at their sizes only.
            retry_failed: Whether shards with graphs that have no values count as lacking.
        """
        lacking = []
        for shard, receipt in zip(self.shards, self.receipts(), strict=True):
            if receipt is None or (receipt.failed and retry_failed):
                lacking.append((shard, ""))
                continue
            reason = fault(self.folder, receipt, verify)
            if reason is not None:
                lacking.append((shard, reason))
        return lacking

    def finish(self) -> bool:
        """Writes the manifest if all shards are there, and removes what killed processes left.

        Returns:
            Whether all shards are there.
        """
        files.remove_leftovers(
            self.folder, {NAME, *(shard_name(each.start) for each in self.shards)}
        )
        if self.is_finished and not self._has_receipts():
            return True
        receipts = self.receipts()
        if None in receipts:
            return False
        Manifest(
            self.graphs,
            self.shards[-1].stop,
            repr(self.encoding),
            self.settings,
            self.encoding.fields(),
            tuple(receipts),
            versions(),
        ).save(self.folder)
        for shard in self.shards:
            with suppress(OSError):  # gone already, or for the next run to remove
                receipt_path(shard_path(self.folder, shard)).unlink()
        return True

    def receipts(self) -> list[Receipt | None]:
        """What each shard must be: by its own receipt, which is newer, or by the manifest."""
        paths = [shard_path(self.folder, shard) for shard in self.shards]
        found = [read_receipt(path) for path in paths]
        if (
            None in found and self.is_finished
        ):  # in this order: receipts go when the manifest is there
            named = self._in_manifest()
            found = [
                receipt or named.get(path.name) for receipt, path in zip(found, paths, strict=True)
            ]
        return [
            receipt if receipt is not None and (receipt.start, receipt.stop) == shard else None
            for shard, receipt in zip(self.shards, found, strict=True)
        ]

    def _has_receipts(self) -> bool:
        """Whether a shard was made since the manifest was written."""
        receipts = {receipt_path(shard_path(self.folder, shard)).name for shard in self.shards}
        return not receipts.isdisjoint(os.listdir(self.folder))

    def _in_manifest(self) -> dict[str, Receipt]:
        try:
            manifest = Manifest.load(self.folder)
            if (manifest.graphs, manifest.settings) != (self.graphs, self.settings):
                raise ValueError(f"{self.folder / NAME} is that of another entry")
        except ValueError as error:
            warnings.warn(f"{error}; its shards are computed anew", UserWarning, stacklevel=2)
            return {}
        return {receipt.file: receipt for receipt in manifest.shards}


def write(
    folder: Path,
    shard: Range,
    values: Sequence[Tensor],
    failed: Mapping[int, str],
) -> None:
    """Writes a shard of an entry, and its receipt.

    Args:
        folder: The folder of the entry.
        shard: Which graphs.
        values: ``[rows, *shape]`` for each field.
        failed: Numbers of the graphs that have no values, and why.
    """
    named = {_name(place): value for place, value in enumerate(values)}
    write_shard(shard_path(folder, shard), shard.start, shard.stop, named, failed)


def read(folder: Path, shard: Range, encoding: Encoding) -> tuple[Tensor, ...]:
    """The values of a shard, mapped from its file; ``[rows, *shape]`` for each field."""
    dtypes = {_name(place): field.dtype for place, field in enumerate(encoding.fields())}
    return tuple(read_shard(shard_path(folder, shard), dtypes).values())


def shard_path(folder: Path, shard: Range) -> Path:
    """The file of a shard."""
    return folder / shard_name(shard.start)


def _name(place: int) -> str:
    return f"field_{place}"
