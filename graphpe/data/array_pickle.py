"""Checking that a pickle that others wrote holds nothing but arrays, sparse matrices and lists."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

# What arrays and sparse matrices are made of in a pickle, under old and new names.
_ALLOWED = {
    ("_codecs", "encode"),  # bytes, in pickles of Python 2
    ("__builtin__", "list"),
    ("builtins", "list"),
    ("builtins", "bytes"),
    ("collections", "defaultdict"),
    ("copy_reg", "_reconstructor"),
    ("copyreg", "_reconstructor"),
    ("__builtin__", "object"),
    ("builtins", "object"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("scipy.sparse.csr", "csr_matrix"),
    ("scipy.sparse._csr", "csr_matrix"),
}


def check_array_pickle(path: Path) -> None:
    """Refuses a pickle that ``pickle.load`` would run other code for than that which makes arrays.

    Raises:
        ValueError: If the file is broken or holds anything else.
    """
    try:
        with path.open("rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of SciPy, about its old names
            _ArrayUnpickler(file, encoding="latin1").load()
    except Exception as error:  # a broken pickle makes its classes raise anything
        raise ValueError(f"{path.name}: {error}") from error


class _ArrayUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _ALLOWED:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} is no part of an array")
