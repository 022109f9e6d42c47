"""Reading pickles that others wrote, as long as they hold nothing but tensors and plain Python values."""

from __future__ import annotations

import functools
import io
import pickle
from pathlib import Path
from typing import Any

import torch

# How torch, in its different versions, makes a tensor from a pickle.
_TENSOR_MAKERS = {
    ("_codecs", "encode"),  # bytes, in old pickles
    ("collections", "OrderedDict"),
    ("builtins", "bytearray"),
    ("torch._utils", "_rebuild_tensor"),
    ("torch._utils", "_rebuild_tensor_v2"),
    ("torch._C", "_VariableFunctionsClass"),
    *(
        ("torch", str(dtype).removeprefix("torch."))
        for dtype in (torch.uint8, torch.int64, torch.float32)
    ),
}
_TENSOR_FUNCTIONS = {"frombuffer", "reshape", "tensor"}


def load_tensor_pickle(path: Path) -> Any:
    """The content of a pickle of tensors; code in it is never run, unlike with ``pickle.load``.

    Raises:
        ValueError: If the file is broken, or holds anything else.
    """
    try:
        with path.open("rb") as file:
            return _TensorUnpickler(file).load()
    except (
        EOFError,
        pickle.UnpicklingError,
        RuntimeError,
        ValueError,
        LookupError,
        TypeError,
    ) as error:
        raise ValueError(str(error)) from error


class _TensorUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _TENSOR_MAKERS:
            return super().find_class(module, name)
        if (module, name) == ("torch.storage", "_load_from_bytes"):
            return _load_from_bytes
        if (module, name) == ("builtins", "getattr"):
            return _tensor_function
        if (module, name) == ("functools", "partial"):
            return functools.partial
        raise pickle.UnpicklingError(f"{module}.{name} is no part of a tensor")


def _load_from_bytes(content: bytes) -> Any:
    return torch.load(io.BytesIO(content), weights_only=True)


def _tensor_function(owner: Any, name: str) -> Any:
    if owner is not torch._C._VariableFunctionsClass or name not in _TENSOR_FUNCTIONS:
        raise pickle.UnpicklingError(f"{owner}.{name} is no part of a tensor")
    return getattr(owner, name)
