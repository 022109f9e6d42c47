"""The values of an encoding on small graphs, and what checks say of them."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphpe._testing.contract.graphs import SmallGraph, has_simple_spectrum
from graphpe.fields import Field
from graphpe.transforms import Encoding

_TOLERANCE = 1e-4


class Broken(Exception):
    """A promise is broken.

    Args:
        promise: The promise, the same words for every graph.
        details: What was seen on this graph.
    """

    def __init__(self, promise: str, details: str) -> None:
        super().__init__(f"{promise}: {details}")
        self.promise = promise
        self.details = details


def keep(promise: str, kept: bool, details: str) -> None:
    """Raises `Broken` unless the promise is kept."""
    if not kept:
        raise Broken(promise, details)


class Values:
    """The fields of graphs, each computed once.

    Args:
        encoding: The encoding that computes them.
        device: Where.
    """

    def __init__(self, encoding: Encoding, device: str = "cpu") -> None:
        self.encoding = encoding
        self.device = device
        self._known: dict[SmallGraph, tuple[Tensor, ...]] = {}

    def of(self, graph: SmallGraph) -> tuple[Tensor, ...]:
        """The values of all fields of a graph."""
        if graph not in self._known:
            encoded = self.encoding(graph.data().to(self.device))
            self._known[graph] = fields_of(self.encoding, encoded)
        return self._known[graph]

    def compute(self, graphs: Iterable[SmallGraph]) -> None:
        """Computes many in two batches: faster, for an encoding that gives the same bytes in a batch."""
        new = [graph for graph in graphs if graph not in self._known]
        for is_weighted in (False, True):
            chosen = [graph for graph in new if (graph.weights is not None) == is_weighted]
            if not chosen:
                continue
            with suppress(Exception):  # comes again where the graph is looked at alone
                batch = Batch.from_data_list([graph.data() for graph in chosen])
                encoded = self.encoding(batch.to(self.device)).to_data_list()
                for graph, data in zip(chosen, encoded, strict=True):
                    self._known[graph] = fields_of(self.encoding, data)


def fields_of(encoding: Encoding, encoded: Data) -> tuple[Tensor, ...]:
    """The values of the fields on an encoded graph."""
    missing = [field.name for field in encoding.fields() if field.name not in encoded]
    keep("the declared fields are written", not missing, f"{missing} missing")
    return tuple(encoded[field.name] for field in encoding.fields())


def keep_agreement(
    promise: str, field: Field, graph: SmallGraph, got: Tensor, wanted: Tensor, when: str = ""
) -> None:
    """Raises `Broken` unless two values of a field of a graph are equal up to rounding and the field's symmetry.

    An orthogonal matrix in an eigenspace cannot be told from a fault without the eigenspaces, so fields with the
    symmetry "basis" or "phase" are compared only where all eigenspaces are lines.
    """
    if field.symmetry in ("basis", "phase") and not has_simple_spectrum(graph, field.level):
        return
    got = got.to(wanted.device, wanted.dtype)
    if field.symmetry != "none" and got.shape == wanted.shape:
        got = got * (got.conj() * wanted).sum(dim=0).sgn()
    error = _difference(got, wanted)
    up_to = "" if field.symmetry == "none" else f" up to its symmetry, {field.symmetry!r},"
    keep(promise, error <= _TOLERANCE, f"{field.name} differs{up_to} by {error:.2g}{when}")


def _difference(got: Tensor, wanted: Tensor) -> float:
    """The largest difference: of integers as it is, otherwise relative to the largest entry if that is over 1."""
    if got.shape != wanted.shape:
        return torch.inf
    if got.numel() == 0:
        return 0.0
    if not (wanted.is_floating_point() or wanted.is_complex()):
        return float((got.double() - wanted.double()).abs().max())
    return float((got - wanted).abs().max() / wanted.abs().max().clamp(min=1.0))
