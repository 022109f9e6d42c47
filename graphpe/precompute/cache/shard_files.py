"""One shard of an entry: a safetensors file that is whole or absent, and a receipt by which it is checked."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import safetensors
import torch
import xxhash
from safetensors.torch import save_file
from torch import Tensor

from graphpe import files
from graphpe.precompute.cache import json_files

# Bytes that are read in one go.
_CHUNK = 1 << 20

# What to do where a file can't be written, for the error.
REMEDY = "make room or give another cache_dir, and encode again: what was written is kept"


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
    def of_json(cls, content: Any) -> Receipt:
        """The receipt that ``_asdict`` was made of, and JSON of that.

        Raises:
            ValueError, TypeError: If it is something else.
        """
        receipt = cls(**content)
        failed = {int(number): why for number, why in dict(receipt.failed).items()}
        numbers = (receipt.start, receipt.stop, receipt.bytes)
        is_sound = (
            all(type(number) is int and 0 <= number < 1 << 63 for number in numbers)
            and receipt.start < receipt.stop
            and receipt.file == shard_name(receipt.start)  # no other file is ever looked at
            and isinstance(receipt.checksum, str)
            and all(receipt.start <= number < receipt.stop for number in failed)
            and all(isinstance(why, str) for why in failed.values())
        )
        if not is_sound:
            raise ValueError("what it says of a shard is nothing that graphpe writes")
        return receipt._replace(failed=failed)


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
    with files.workspace(path, REMEDY) as work:
        shard, receipt = work / path.name, work / receipt_path(path).name
        try:
            save_file({name: _storable(value) for name, value in fields.items()}, shard)
            size = shard.stat().st_size
            content = Receipt(path.name, start, stop, size, checksum(shard), dict(failed))
            receipt.write_text(json_files.as_text(content._asdict()))
            shutil.copymode(receipt, shard)  # safetensors lets no one else read it
            files.flush(shard)
            files.flush(receipt)
            os.replace(shard, path)
            os.replace(receipt, receipt_path(path))
            files.flush(path.parent)
        except (OSError, safetensors.SafetensorError) as error:
            raise ValueError(
                f"could not write {path} ({files.one_line(error)}); {REMEDY}"
            ) from error


def shard_name(start: int) -> str:
    """The file of a shard, called by its first graph."""
    return f"{start:09d}.safetensors"


def receipt_path(path: Path) -> Path:
    """Where the receipt of a shard is until the manifest has it."""
    return path.with_suffix(".json")


def read_receipt(path: Path) -> Receipt | None:
    """The receipt of a shard that was written before the manifest; None if there is none that can be read."""
    try:
        receipt = Receipt.of_json(json_files.of_text(receipt_path(path).read_text()))
    except (OSError, ValueError, TypeError):
        return None
    return receipt if receipt.file == path.with_suffix(".safetensors").name else None


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
        if size != receipt.bytes:
            return f"{path} has {size:,} bytes, not {receipt.bytes:,}"
        if content and checksum(path) != receipt.checksum:
            return f"{path} has another checksum than when it was written"
    except FileNotFoundError:
        return f"{path} is missing"
    except OSError as error:
        return f"{path} can't be read ({error.strerror or files.one_line(error)})"
    return None


def read_shard(path: Path, fields: Mapping[str, torch.dtype]) -> dict[str, Tensor]:
    """The fields of a shard, mapped from the file."""
    with safetensors.safe_open(path, framework="pt") as file:
        return {name: _restored(file.get_tensor(name), dtype) for name, dtype in fields.items()}


def _storable(value: Tensor) -> Tensor:
    """Complex numbers as pairs: safetensors has none in double precision."""
    return (torch.view_as_real(value) if value.is_complex() else value).contiguous()


def _restored(value: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.view_as_complex(value) if dtype.is_complex else value


def checksum(path: Path) -> str:
    """XXH3 of a file: finds damage at the speed of memory; it is no proof against forgers."""
    digest = xxhash.xxh3_128()
    # Not mapped: to touch what the disk can't read would end the process.
    with path.open("rb", buffering=0) as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
