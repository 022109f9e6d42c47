"""How many matrices of a stack to handle at a time, so that they stay in the cache of a CPU."""

from __future__ import annotations

from torch import Tensor

_CACHED_BYTES = 2**20  # about half of the second-level cache


def graphs_at_a_time(stack: Tensor) -> int:
    """Graphs of ``stack [b, ...]`` for one part: few on a CPU, all of them elsewhere."""
    if stack.device.type != "cpu" or stack.numel() == 0:
        return max(1, len(stack))
    return max(1, _CACHED_BYTES // stack[0].nbytes)
