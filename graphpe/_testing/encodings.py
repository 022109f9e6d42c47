"""`check_encoding`: the contract of an encoding as a callable test."""

from __future__ import annotations

import warnings

from graphpe._testing.contract.agreement import (
    SPARSE_LIMIT,
    check_devices,
    check_dtypes,
    check_sparse_agrees,
    sparse_form,
)
from graphpe._testing.contract.batches import check_batches
from graphpe._testing.contract.graphs import SmallGraph, all_graphs, generic_graph
from graphpe._testing.contract.report import check_graphs, is_refusal
from graphpe._testing.contract.settings import check_concatenation, check_copies, check_declaration
from graphpe._testing.contract.symmetry import (
    check_edge_order,
    check_node_order,
    other_edge_order,
    other_node_order,
)
from graphpe._testing.contract.values import Values
from graphpe._testing.contract.written import check_same_bytes, check_values
from graphpe.transforms import Encoding


def check_encoding(encoding: Encoding) -> None:
    """Tests the whole contract of an encoding.

    Runs it on two dozen small graphs: without nodes, with one or two, without edges, in several components, with
    parallel edges, loops, weights (0 among them), directed, with repeated eigenvalues, and random ones. Most have
    fewer nodes than an encoding usually has columns. Takes a second or two. The promises:

    - **Fields.** The first one is called ``attr_name``. What `fields` declares is written, with the declared level,
      width, dtype and categories. All values are finite.
    - **Any graph.** Every undirected graph is encoded. A directed one is, too, or is refused by a ``ValueError`` with
      the word "directed".
    - **Same bytes.** The same graph gives the same bytes; the input and the global random numbers stay as they are.
    - **Company.** Neither other graphs in a batch, nor other encodings, the memory budget or the number of threads
      change a byte, and the encoding does not change what others compute.
    - **Equivariance.** Renumbering the nodes renumbers the values, and reordering the edges reorders the rows of edge
      fields; up to the declared symmetry of a field ("basis" and "phase": on graphs without repeated eigenvalues).
      Not tested if ``is_equivariant`` is False.
    - **Forms.** ``dtype="float32"`` agrees with ``"float64"``, a CUDA device (if there is one) with the CPU, and the
      sparse form, if there is one, with the dense one.
    - **A value.** ``copy``, ``pickle`` and ``eval(repr(encoding))`` give an equal encoding that does the same.
    - **Concatenation.** ``attr_name=None`` puts a first field of nodes behind the columns of a float ``x`` and refuses
      an ``x`` of integers.

    Args:
        encoding: An instance. Test each class with a few settings.

    Raises:
        AssertionError: With the promise that is broken and a graph on which it is, as small as could be found, as code
            to paste.
        TypeError: If it is no encoding.
        ValueError: If the encoding has no ``attr_name``: its values would be mixed with ``x``.
    """
    if not isinstance(encoding, Encoding):
        raise TypeError(
            f"check_encoding takes an instance of a subclass of Encoding, AddRandomWalkPE(4) say; got {encoding!r}"
        )
    if encoding.attr_name is None:
        raise ValueError(
            "check_encoding needs an encoding with an attr_name; None is tested anyway"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # an encoding may warn
        _check(encoding)


def _check(encoding: Encoding) -> None:
    values, graphs = Values(encoding), all_graphs()
    check_graphs(check_declaration, values, [generic_graph()])
    graphs = _check_form(values, graphs)
    check_dtypes(values, graphs)
    check_devices(values, graphs)
    check_graphs(check_copies, values, [generic_graph()])
    check_graphs(check_concatenation, values, [generic_graph()])
    if (large := sparse_form(encoding)) is not None:
        sparse, graphs = Values(large), [g for g in graphs if g.num_nodes > SPARSE_LIMIT]
        _check_form(sparse, graphs)
        check_sparse_agrees(sparse, graphs)


def _check_form(values: Values, graphs: list[SmallGraph]) -> list[SmallGraph]:
    """Checks the dense or the sparse form; returns the graphs without the directed ones that it refuses."""
    check_graphs(check_values, values, graphs)
    graphs = [graph for graph in graphs if not _is_refused(values, graph)]
    check_graphs(check_same_bytes, values, graphs)
    check_batches(values, graphs)
    if values.encoding.is_equivariant:
        # The batches have been checked, so values may be computed in them.
        values.compute(graph.reordered(*other_edge_order(graph)) for graph in graphs)
        check_graphs(check_edge_order, values, graphs)
        values.compute(graph.reordered(*other_node_order(graph)) for graph in graphs)
        check_graphs(check_node_order, values, graphs)
    return graphs


def _is_refused(values: Values, graph: SmallGraph) -> bool:
    if not graph.is_directed:
        return False
    try:
        values.of(graph)
    except ValueError as error:
        return is_refusal(error)
    return False
