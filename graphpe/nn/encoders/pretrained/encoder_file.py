"""The file of a pre-trained encoder: safetensors with what is needed to build the encoder again, as JSON."""

from __future__ import annotations

import hashlib
import json
import os
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
        encoder: The encoder; its weights are stored in float32.
        description: Where it comes from, in plain values.

    Raises:
        ValueError: If the file can't be written.
    """
    path = Path(path).expanduser()
    header = {"version": _VERSION, "settings": encoder.settings, "description": description}
    tensors = {
        name: (value.float() if value.is_floating_point() else value).cpu().contiguous()
        for name, value in encoder.state_dict().items()
    }
    header["sha256"] = _checksum(header, tensors)
    # One key: safetensors writes several in random order.
    content = save(tensors, metadata={_KEY: json.dumps(header, sort_keys=True)})
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_bytes(content)
        os.replace(unfinished, path)
    except OSError as error:
        raise ValueError(f"can't write {str(path)!r}: {error.strerror}") from error
    finally:
        with suppress(OSError):
            unfinished.unlink()


def load_encoder(path: str | Path) -> tuple[StructuralEncoder, dict[str, Any]]:
    """Reads what `save_encoder` wrote: the encoder, on the CPU and in evaluation mode, and the description.

    Args:
        path: The file.

    Raises:
        ValueError: If there is no such file, or it is damaged, of another kind or of a version that isn't known.
    """
    path = Path(path).expanduser()
    if not path.is_file():
        raise ValueError(f"there is no file {str(path)!r} of a pre-trained encoder; {_REMEDY}")
    metadata, tensors = _read(path)
    if _KEY not in metadata:
        raise ValueError(f"{str(path)!r} is not a pre-trained encoder of graphpe; {_REMEDY}")
    try:
        header = json.loads(metadata[_KEY])
        version, settings, description = (
            header[key] for key in ("version", "settings", "description")
        )
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"the description in {str(path)!r} is damaged; {_REMEDY}") from error
    if version != _VERSION:
        raise ValueError(
            f"{str(path)!r} has version {version!r} of the file format, but this graphpe reads version {_VERSION}; "
            "use the graphpe that wrote it, or pre-train again"
        )
    try:
        # Without memory: the weights come from the file.
        with torch.device("meta"):
            encoder = StructuralEncoder(**settings).float()  # whatever torch's default dtype is
    except (ValueError, TypeError) as error:
        raise ValueError(f"the settings in {str(path)!r} don't fit: {error}") from error
    _check_tensors(tensors, encoder.state_dict(), path)
    if header.pop("sha256", None) != _checksum(header, tensors):
        raise ValueError(
            f"{str(path)!r} is damaged: its content isn't what was written; take another copy, or {_REMEDY}"
        )
    encoder.load_state_dict(tensors, assign=True)
    return encoder.eval(), description


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


def _check_tensors(tensors: dict[str, Tensor], wanted: dict[str, Tensor], path: Path) -> None:
    for name in [*wanted, *tensors]:
        there, needed = _kind(tensors.get(name)), _kind(wanted.get(name))
        if there != needed:
            raise ValueError(
                f"{str(path)!r} doesn't fit its own settings: {name!r} is {there}, not {needed}; {_REMEDY}"
            )
        if not bool(tensors[name].isfinite().all()):
            raise ValueError(
                f"{name!r} in {str(path)!r} is not finite; pre-train again, with a smaller lr"
            )


def _kind(tensor: Tensor | None) -> str:
    if tensor is None:
        return "absent"
    return f"{list(tensor.shape)} of {str(tensor.dtype).removeprefix('torch.')}"
