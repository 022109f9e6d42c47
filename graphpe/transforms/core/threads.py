"""One thread per kernel: small matrices gain nothing from more, and rounding must not depend on their number."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from threadpoolctl import threadpool_limits

_lock = threading.Lock()
_torch_users = 0
_torch_threads = torch.get_num_threads()
_blas_users = 0
_blas_limits: threadpool_limits | None = None


@contextmanager
def single_threaded_torch() -> Iterator[None]:
    """Runs torch's kernels of the calling thread on one thread.

    Torch keeps the number per thread, and with it sets the default of threads to come. Uses may overlap in several
    threads, and a thread that began during one of them has 1: so the number to go back to is that of the main thread.
    """
    global _torch_users, _torch_threads
    with _lock:
        if _torch_users == 0 and threading.current_thread() is threading.main_thread():
            _torch_threads = torch.get_num_threads()
        _torch_users += 1
        torch.set_num_threads(1)
    try:
        yield
    finally:
        with _lock:
            _torch_users -= 1
            torch.set_num_threads(_torch_threads)


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Runs the BLAS of numpy and scipy on one thread in the whole process, until the last overlapping use ends."""
    global _blas_users, _blas_limits
    with _lock:
        if _blas_users == 0:
            _blas_limits = threadpool_limits(1, user_api="blas")
        _blas_users += 1
    try:
        yield
    finally:
        with _lock:
            _blas_users -= 1
            if _blas_users == 0:
                _blas_limits.restore_original_limits()
