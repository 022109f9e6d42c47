"""Where bulk encoding runs: threads of this process, processes of this machine, or a Dask cluster."""

from graphpe.precompute.executors.base import Executor
from graphpe.precompute.executors.choice import executor_of
from graphpe.precompute.executors.threads import ThreadsExecutor

__all__ = ["Executor", "ThreadsExecutor", "executor_of"]
