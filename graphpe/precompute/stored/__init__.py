"""The graphs of a dataset as they are read for encoding: in memory or from disk, a range at a time."""

from graphpe.precompute.stored.base import StoredGraphs
from graphpe.precompute.stored.in_memory import GraphsInMemory
from graphpe.precompute.stored.on_disk import GraphsOnDisk

__all__ = ["GraphsInMemory", "GraphsOnDisk", "StoredGraphs"]
