"""Which executor an argument stands for."""

from __future__ import annotations

import sys
from typing import Any

from graphpe.precompute.executors.base import Executor
from graphpe.precompute.executors.threads import ThreadsExecutor
from graphpe.processes import available_cores


def executor_of(
    executor: Any, workers: int | None, device: str | None, has_cache: bool
) -> Executor:
    """The executor that the arguments of `graphpe.encode` stand for.

    Args:
        executor: ``"threads"``, ``"processes"``, or a ``distributed.Client``.
        workers: Number of threads or processes; None: all cores that this process may use.
        device: Where to compute.
        has_cache: Whether there is a cache, which all but threads need.

    Raises:
        TypeError, ValueError: If ``executor`` is of another kind, or the arguments don't fit together.
    """
    if isinstance(executor, str) and executor == "threads":
        return ThreadsExecutor(workers or available_cores())
    is_processes = isinstance(executor, str) and executor == "processes"
    distributed = sys.modules.get("distributed")
    is_client = distributed is not None and isinstance(executor, distributed.Client)
    if not is_processes and not is_client:
        raise ValueError(
            f"executor is {executor!r}; it must be 'threads', 'processes' or a distributed.Client"
        )
    if not has_cache:
        raise ValueError(
            "processes and Dask workers hand their values over in files; give cache_dir, or use executor='threads'"
        )
    if is_processes:
        from graphpe.precompute.executors.processes import ProcessesExecutor

        return ProcessesExecutor(workers, device)
    from graphpe.precompute.executors.dask import DaskExecutor

    if workers is not None:
        raise ValueError(f"workers is {workers}, but a Dask cluster has its own; leave it out")
    return DaskExecutor(executor)
