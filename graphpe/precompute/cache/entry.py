"""One entry of the cache: the fields of one encoding of one dataset, shard by shard."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

from torch import Tensor

from graphpe.precompute.cache.keys import key, settings_of
from graphpe.precompute.cache.manifest import NAME, Manifest, versions
from graphpe.precompute.cache.plan import Range
from graphpe.precompute.cache.shard_files import (
    Receipt,
    fault,
    read_receipt,
    read_shard,
    receipt_path,
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
        return (self.folder / NAME).exists()

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
        """Writes the manifest if all shards are there, and says whether they are."""
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
            receipt_path(shard_path(self.folder, shard)).unlink(missing_ok=True)
        return True

    def has_new_shards(self) -> bool:
        """Whether a shard was made since the manifest was written."""
        return any(receipt_path(shard_path(self.folder, shard)).exists() for shard in self.shards)

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

    def _in_manifest(self) -> dict[str, Receipt]:
        try:
            return {receipt.file: receipt for receipt in Manifest.load(self.folder).shards}
        except ValueError as error:
            warnings.warn(f"{error}; its shards are computed anew", UserWarning, stacklevel=2)
            return {}


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
    """The file of a shard, called by its first graph."""
    return folder / f"{shard.start:09d}.safetensors"


def _name(place: int) -> str:
    return f"field_{place}"
