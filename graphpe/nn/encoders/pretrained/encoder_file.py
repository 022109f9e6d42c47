"""The file of a pre-trained encoder: safetensors with what is needed to build the encoder again, as JSON."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from graphpe.nn.encoders.pretrained.structural_encoder import StructuralEncoder

_KEY = "graphpe.StructuralEncoder"
_VERSION = 1
_REMEDY = "make one by `graphpe pretrain` or graphpe.training.pretrain"


def save_encoder(path: str | Path, encoder: StructuralEncoder, description: dict[str, Any]) -> None:
    """Writes an encoder to one file, which is either whole or not there.

    The same encoder and description give the same bytes.

    Args:
        path: The file, ``.safetensors`` by custom; its folder is made if it isn't there.
        encoder: The encoder, compiled or not; its weights are stored in float32.
        description: Where it comes from, in plain values of JSON.

    Raises:
        TypeError: If ``encoder`` is something else.
        ValueError: If the weights are not finite, the description is no dict of plain values, or the file can't be
            written.
    """
    path = _file_path(path)
    encoder = getattr(encoder, "_orig_mod", encoder)  # of torch.compile
    if not isinstance(encoder, StructuralEncoder):
        raise TypeError(
            f"encoder is a {type(encoder).__name__}; it must be a StructuralEncoder (that of a PretrainedEncoder is "
            "its attribute 'encoder')"
        )
    tensors = {
        name: (value.float() if value.is_floating_point() else value).contiguous()
        for name, value in encoder.state_dict().items()
    }
    _check_tensors(tensors, _build(encoder.settings, "encoder").state_dict(), "encoder")
    tensors = {name: value.cpu() for name, value in tensors.items()}
    header = {
        "version": _VERSION,
        "settings": encoder.settings,
        "description": _plain(description),
    }
    header["sha256"] = _checksum(header, tensors)
    # One key: safetensors writes several in random order.
    content = save(tensors, metadata={_KEY: json.dumps(header, sort_keys=True)})
    unfinished = _unfinished(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_bytes(content)
        os.replace(unfinished, path)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        with suppress(OSError):
            unfinished.unlink()


def require_writable(path: str | Path) -> None:
    """Raises a ValueError where `save_encoder` couldn't write a file; leaves nothing behind."""
    path = _file_path(path)
    unfinished = _unfinished(path)
    made = []
    try:
        if path.is_dir():
            raise ValueError(f"{str(path)!r} is a folder; give the name of a file")
        made = [folder for folder in path.absolute().parents if not folder.exists()]
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            path.stat()  # raises another OSError where the name is too long
        unfinished.touch()
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        with suppress(OSError):
            unfinished.unlink()
        with suppress(OSError):
            for folder in made:  # the innermost first
                folder.rmdir()


def load_encoder(path: str | Path) -> tuple[StructuralEncoder, dict[str, Any]]:
    """Reads what `save_encoder` wrote: the encoder, on the CPU and in evaluation mode, and the description.

    Args:
        path: The file.

    Raises:
        ValueError: If there is no such file, or it is damaged, of another kind or of a version that isn't known.
    """
    path = _file_path(path)
    try:
        is_file = stat.S_ISREG(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        is_file = False
    except OSError as error:
        raise ValueError(f"can't read {str(path)!r}: {error.strerror}") from error
    if not is_file:
        raise ValueError(f"there is no file {str(path)!r} of a pre-trained encoder; {_REMEDY}")
    metadata, tensors = _read(path)
    if _KEY not in metadata:
        raise ValueError(f"{str(path)!r} is not a pre-trained encoder of graphpe; {_REMEDY}")
    try:
        header = json.loads(metadata[_KEY])
        version, settings, description = (
            header[key] for key in ("version", "settings", "description")
        )
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"the description in {str(path)!r} is damaged; {_REMEDY}") from error
    if version != _VERSION:
        raise ValueError(
            f"{str(path)!r} has version {version!r} of the file format, but this graphpe reads version {_VERSION}; "
            "use the graphpe that wrote it, or pre-train again"
        )
    num_layers = settings.get("num_layers") if isinstance(settings, dict) else None
    if isinstance(num_layers, int) and num_layers > len(tensors):
        # To build so many would take forever.
        raise ValueError(
            f"the settings in {str(path)!r} don't fit: it has too few weights for num_layers; {_REMEDY}"
        )
    encoder = _build(settings, repr(str(path)))
    _check_tensors(tensors, encoder.state_dict(), repr(str(path)))
    if header.pop("sha256", None) != _checksum(header, tensors):
        raise ValueError(
            f"{str(path)!r} is damaged: its content isn't what was written; take another copy, or {_REMEDY}"
        )
    encoder.load_state_dict(tensors, assign=True)
    return encoder.eval(), description


def _file_path(path: object) -> Path:
    """The path, without ``~``; raises a ValueError for what can't be the path of a file."""
    is_name = isinstance(path, str | Path) and Path(path).name and "\0" not in str(path)
    if not is_name:
        raise ValueError(f"path is {path!r}; it must be the name of a file")
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise ValueError(f"path is {str(path)!r}, but there is no such user") from error


def _unwritable(path: Path, error: OSError) -> ValueError:
    is_below_file = isinstance(error, FileExistsError | NotADirectoryError)
    reason = "its folder is a file" if is_below_file else error.strerror
    return ValueError(f"can't write {str(path)!r}: {reason}")


def _unfinished(path: Path) -> Path:
    """A file beside it that nobody else has; its name is short where that of the file may be as long as names go."""
    return path.with_name(f".{uuid.uuid4().hex}.partial")


def _plain(description: object) -> dict[str, Any]:
    """The description as it will be read; raises a ValueError where JSON has no such values."""
    try:
        plain = json.loads(json.dumps(description, sort_keys=True))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(
            f"description has a value that JSON doesn't have ({error}); give plain values, .item() of a tensor, say"
        ) from error
    if not isinstance(plain, dict):
        raise ValueError(f"description is {description!r:.60}; it must be a dict")
    return plain


def _build(settings: Any, of: str) -> StructuralEncoder:
    """An encoder without memory, in float32 whatever torch's default is."""
    try:
        with torch.device("meta"):
            return StructuralEncoder(**settings).float()
    except (ValueError, TypeError, RuntimeError) as error:  # the last for sizes beyond int64
        reason = str(error).partition("\n")[0]
        raise ValueError(f"the settings in {of} don't fit: {reason}") from error


def _checksum(header: dict[str, Any], tensors: dict[str, Tensor]) -> str:
    """SHA-256 of the description and of all weights, in the order of their names."""
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(name.encode())
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()


def _read(path: Path) -> tuple[dict[str, str], dict[str, Tensor]]:
    try:
        with safe_open(path, framework="pt") as file:
            names = file.keys()
            # Copies, so that they don't depend on the file any more.
            tensors = {name: file.get_tensor(name).clone() for name in names}
            return file.metadata() or {}, tensors
    except (SafetensorError, OSError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(
            f"{str(path)!r} is not a safetensors file, or it is damaged ({reason}); {_REMEDY}"
        ) from error


def _check_tensors(tensors: dict[str, Tensor], wanted: dict[str, Tensor], of: str) -> None:
    for name in [*wanted, *tensors]:
        there, needed = _kind(tensors.get(name)), _kind(wanted.get(name))
        if there != needed:
            raise ValueError(
                f"{of} doesn't fit its own settings: {name!r} is {there}, not {needed}; {_REMEDY}"
            )
        if tensors[name].is_meta:
            raise ValueError(f"{name!r} in {of} is on the device 'meta', without values")
        if not bool(tensors[name].isfinite().all()):
            raise ValueError(f"{name!r} in {of} is not finite; pre-train again, with a smaller lr")


def _kind(tensor: Tensor | None) -> str:
    if tensor is None:
        return "absent"
    return f"{list(tensor.shape)} of {str(tensor.dtype).removeprefix('torch.')}"
