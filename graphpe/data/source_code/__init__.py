"""Graphs of Python source code."""

from __future__ import annotations

from graphpe.data.source_code.python_functions import PythonFunctions

__all__ = ["PythonFunctions"]
