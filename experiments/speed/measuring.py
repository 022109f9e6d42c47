"""What the benchmarks here share: the clock, and what a record says about the machine."""

from __future__ import annotations

import datetime
import gc
import os
import platform
import sys
import time
from collections.abc import Callable

import torch
import torch_geometric

from graphpe.processes import available_cores


def seconds(function: Callable[[], object]) -> float:
    gc.collect()  # what the other method left is not counted here
    start = time.perf_counter()
    result = function()
    elapsed = time.perf_counter() - start
    del result  # what it takes to free it, graph by graph or as one, is not counted
    return elapsed


def circumstances() -> dict:
    """When, how and where a benchmark ran."""
    return {
        "command": " ".join(["python", *sys.argv]),
        "date": datetime.date.today().isoformat(),
        "cores": available_cores(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "torch_threads_of_pyg": torch.get_num_threads(),
        "processor": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "torch_geometric": torch_geometric.__version__,
    }
