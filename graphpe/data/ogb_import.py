"""Importing `ogb` without its version check."""

from __future__ import annotations

import sys
from types import ModuleType


def import_ogb() -> ModuleType:
    """`ogb.graphproppred`, imported such that no thread asks the internet for a newer version.

    On import, ogb starts a thread that is waited for at exit: offline the interpreter then hangs until the connection
    times out, and the package `outdated` behind it warns about ``pkg_resources``. ogb does without where `outdated` is
    not installed, which is what it sees here.
    """
    if "ogb.version" not in sys.modules:
        hidden = sys.modules.get("outdated")
        sys.modules["outdated"] = None  # type: ignore[assignment]  # an import of it now fails
        try:
            import ogb.version
        finally:
            del sys.modules["outdated"]
            if hidden is not None:
                sys.modules["outdated"] = hidden
    import ogb.graphproppred

    return ogb.graphproppred
