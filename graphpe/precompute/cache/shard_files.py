"""One shard of an entry: a safetensors file that is whole or absent, and a receipt by which it is checked."""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import safetensors
import torch
import xxhash
from safetensors.torch import save_file
from torch import Tensor

from graphpe import files


class Receipt(NamedTuple):
    """What a shard must be.

    Args:
        file: Its name in the folder of the entry.
        start: Number of its first graph.
        stop: Number after that of its last graph.
        bytes: Size of the file.
        checksum: XXH3 of the file, 32 hexadecimal digits.
        failed: Numbers of the graphs that have no values, and why.
    """

    file: str
    start: int
    stop: int
    bytes: int
    checksum: str
    failed: dict[int, str]

    @classmethod
    def of_json(cls, content: dict[str, Any]) -> Receipt:
        """The receipt that ``_asdict`` was made of, and JSON of that."""
        receipt = cls(**content)
        return receipt._replace(
            failed={int(number): str(why) for number, why in receipt.failed.items()}
        )


def write_shard(
    path: Path, start: int, stop: int, fields: Mapping[str, Tensor], failed: Mapping[int, str]
) -> None:
    """Writes the fields of some graphs under a temporary name, flushes them to the disk and renames the file.

    The receipt follows in the same way.

    Args:
        path: The file.
        start: Number of the first graph.
        stop: Number after that of the last graph.
        fields: The values, by the names that they get in the file.
        failed: Numbers of the graphs that have no values, and why.

    Raises:
        ValueError: If the file cannot be written; nothing of it is left.
    """
    with files.workspace(path) as work:
        temporary = work / path.name
        try:
            save_file({name: _storable(value) for name, value in fields.items()}, temporary)
            size = temporary.stat().st_size
            receipt = Receipt(path.name, start, stop, size, checksum(temporary), dict(failed))
            flush(temporary)
            os.replace(temporary, path)
            receipt_file = work / receipt_path(path).name
            receipt_file.write_text(json.dumps(receipt._asdict()))
            flush(receipt_file)
            os.replace(receipt_file, receipt_path(path))
            flush(path.parent)
        except (OSError, safetensors.SafetensorError) as error:
            raise ValueError(
                f"could not write {path} ({files.one_line(error)}); is there enough space?"
            ) from error


def receipt_path(path: Path) -> Path:
    """Where the receipt of a shard is until the manifest has it."""
    return path.with_suffix(".json")


def read_receipt(path: Path) -> Receipt | None:
    """The receipt of a shard that was written before the manifest; None if there is none that can be read."""
    try:
        return Receipt.of_json(json.loads(receipt_path(path).read_text()))
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def fault(folder: Path, receipt: Receipt, content: bool) -> str | None:
    """What is wrong with a shard, None if nothing is.

    Args:
        folder: Where it is.
        receipt: What it must be.
        content: Whether to read it all for its checksum, and not to look at its size only.
    """
    path = folder / receipt.file
    try:
        size = path.stat().st_size
    except OSError:
        return f"{path} is missing"
    if size != receipt.bytes:
        return f"{path} has {size:,} bytes, not {receipt.bytes:,}"
    if content and checksum(path) != receipt.checksum:
        return f"{path} has another checksum than when it was written"
    return None


def read_shard(path: Path, fields: Mapping[str, torch.dtype]) -> dict[str, Tensor]:
    """The fields of a shard, mapped from the file."""
    with safetensors.safe_open(path, framework="pt") as file:
        return {name: _restored(file.get_tensor(name), dtype) for name, dtype in fields.items()}


def flush(path: Path) -> None:
    """Has the system put a file or the names in a folder on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _storable(value: Tensor) -> Tensor:
    """Complex numbers as pairs: safetensors has none in double precision."""
    return (torch.view_as_real(value) if value.is_complex() else value).contiguous()


def _restored(value: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.view_as_complex(value) if dtype.is_complex else value


def checksum(path: Path) -> str:
    """XXH3 of a file: finds damage at the speed of memory; it is no proof against forgers."""
    digest = xxhash.xxh3_128()
    with path.open("rb") as file:
        # An empty file can't be mapped.
        if path.stat().st_size:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                digest.update(content)
    return digest.hexdigest()
