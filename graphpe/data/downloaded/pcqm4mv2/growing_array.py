"""NumPy files that grow row by row, and their memory-mapped content."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import torch
from numpy.lib import format as npy
from torch import Tensor


class GrowingArray:
    """A ``.npy`` file that rows are appended to; its header says how many there are once it is closed.

    Args:
        path: The file. It is continued if it is there.
        dtype: Of the values.
        row_shape: Shape of a row.
        rows: How many rows are known to be complete; what follows them in the file is cut off.

    Raises:
        ValueError: If the file is shorter.
    """

    def __init__(
        self, path: Path, dtype: np.dtype, row_shape: tuple[int, ...], rows: int = 0
    ) -> None:
        self.dtype = np.dtype(dtype)
        self.row_shape = row_shape
        self.rows = rows
        self._file = path.open("r+b" if path.exists() else "w+b")
        # NumPy leaves room in the header for any number of rows, so that it keeps its size.
        self._write_header()
        row_bytes = self.dtype.itemsize * int(np.prod(row_shape, dtype=np.int64))
        end = self._file.tell() + rows * row_bytes
        if self._file.seek(0, os.SEEK_END) < end:
            self._file.close()
            raise ValueError(f"{path} is shorter than {rows} rows")
        self._file.truncate(end)
        self._file.seek(end)

    def append(self, values: np.ndarray) -> None:
        """Adds rows."""
        self._file.write(np.ascontiguousarray(values, dtype=self.dtype).data)
        self.rows += len(values)

    def flush(self) -> None:
        """Returns when all rows are on the disk."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Completes the file."""
        self._write_header()
        self.flush()
        self._file.close()

    def abandon(self) -> None:
        """Closes the file as it is, to be continued."""
        self._file.close()

    def _write_header(self) -> None:
        self._file.seek(0)
        header = {
            "descr": npy.dtype_to_descr(self.dtype),
            "fortran_order": False,
            "shape": (self.rows, *self.row_shape),
        }
        npy.write_array_header_1_0(self._file, header)


def mapped(path: Path) -> Tensor:
    """The array of a ``.npy`` file, of which only the parts that are used are read. Changes to it stay in memory.

    Raises:
        ValueError, OSError, EOFError: If the file is broken.
    """
    return torch.from_numpy(np.load(path, mmap_mode="c", allow_pickle=False))
