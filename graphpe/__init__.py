"""graphpe: positional and structural encodings of graphs, computed in bulk, learned from, and trained on."""

from __future__ import annotations

from graphpe.fields import Field
from graphpe.graphs import GraphBatch
from graphpe.precompute import encode
from graphpe.tasks import Features, Task

__all__ = ["Features", "Field", "GraphBatch", "Task", "encode"]

__version__ = "0.1.0"
