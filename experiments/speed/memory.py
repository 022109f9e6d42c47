"""What this process has of the machine's memory, as the Linux kernel counts it.

``ru_maxrss`` would not do: it can't be reset, so that what loading the data took once would hide what comes after; and
it is inherited from the process that started this one.
"""

from __future__ import annotations

import resource
from pathlib import Path


def resident() -> int:
    """Bytes in use now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def reset_peak() -> None:
    """Makes `peak_resident` count from here."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_resident() -> int:
    """Most bytes in use at a time since `reset_peak`."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("the kernel does not report VmHWM")
