"""`check_encoding`: the contract of an encoding as a callable test."""

from __future__ import annotations

import copy
import dataclasses

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from graphpe.fields import Field
from graphpe.graphs import GraphBatch
from graphpe.transforms import AddLaplacianEigenvectorPE, AddRandomWalkPE, Encoding
from graphpe.transforms.core.engine import bytes_of_graph, compute_fields


def check_encoding(encoding: Encoding) -> None:
    """Tests the whole contract of an encoding on small graphs, degenerate ones among them.

    - The declared fields are written, with the declared level, width and dtype, and finite values.
    - Neither the input nor what other encodings share is changed, and the same input gives the same bytes.
    - A batch, any order of graphs, any memory budget and any number of threads give the bytes of one graph alone.
    - Renumbering the nodes renumbers the rows; where a field has a symmetry, up to that symmetry.
    - float64 agrees with float32, and the sparse form, if there is one, with the dense one.
    - ``attr_name=None`` concatenates the first field to a float ``x`` and refuses an integer ``x``.

    Args:
        encoding: An instance, with settings that suit small undirected graphs.

    Raises:
        AssertionError: Saying which promise is broken, and on which graph.
        ValueError: If the encoding has no ``attr_name``: its values would be mixed with ``x``.
    """
    if encoding.attr_name is None:
        raise ValueError(
            "check_encoding needs an encoding with an attr_name; None is tested anyway"
        )
    graphs = _graphs()
    for name, data in graphs.items():
        _check_fields(encoding, name, data)
    _check_batches(encoding, graphs)
    _check_company(encoding, graphs)
    _check_renumbering(encoding)
    _check_dtypes(encoding, graphs)
    _check_concatenation(encoding)
    if encoding.has_sparse_form:
        sparse = dataclasses.replace(encoding, dense_limit=3)
        for name, data in graphs.items():
            _check_fields(sparse, name, data)
        _check_batches(sparse, graphs)
        _check_renumbering(sparse)
        _check_sparse_agrees(encoding, sparse, graphs)


def _check_fields(encoding: Encoding, name: str, data: Data) -> None:
    before = copy.deepcopy(data).to_dict()
    first, second = encoding(data), encoding(data)
    unchanged = data.to_dict().keys() == before.keys() and all(
        torch.equal(torch.as_tensor(data[key]), torch.as_tensor(value))
        for key, value in before.items()
    )
    assert unchanged, f"{encoding} changes its input ({name})"
    rows = {"node": data.num_nodes, "edge": data.num_edges, "pair": data.num_nodes**2, "graph": 1}
    for field in encoding.fields():
        assert field.name in first, (
            f"{encoding} declares {field.name!r} but does not write it ({name})"
        )
        value = first[field.name]
        wanted = (rows[field.level], field.width)
        assert tuple(value.shape) == wanted, (
            f"{field.name} of {name} has shape {tuple(value.shape)}; declared as {field.level} field: {wanted}"
        )
        assert value.dtype == field.dtype, f"{field.name} is {value.dtype}, declared {field.dtype}"
        assert bool(torch.isfinite(value).all()), f"{field.name} of {name} is not finite"
        assert torch.equal(value, second[field.name]), (
            f"{field.name} of {name} differs between two calls"
        )


def _check_batches(encoding: Encoding, graphs: dict[str, Data]) -> None:
    alone = {name: encoding(data) for name, data in graphs.items()}
    for names in (list(graphs), list(graphs)[::-1]):
        batch = encoding(Batch.from_data_list([graphs[name] for name in names]))
        for name, data in zip(names, batch.to_data_list(), strict=True):
            for field in encoding.fields():
                assert torch.equal(data[field.name], alone[name][field.name]), (
                    f"{field.name} of {name} differs between a batch and the graph alone"
                )
    batch = GraphBatch.of(list(graphs.values()))
    reference = compute_fields(batch, [encoding])
    dense = [d.num_nodes for d in graphs.values() if d.num_nodes <= encoding.dense_limit]
    for options in (
        {"memory_budget": bytes_of_graph([encoding], max(dense))},
        {"workers": 2},
    ):
        values = compute_fields(batch, [encoding], **options)
        for field, got, wanted in zip(encoding.fields(), values[0], reference[0], strict=True):
            assert torch.equal(got, wanted), f"{field.name} depends on {options}"


def _check_company(encoding: Encoding, graphs: dict[str, Data]) -> None:
    """An encoding gets the operators of a block from those before it, and must leave them as they are."""
    batch = GraphBatch.of(list(graphs.values()))
    others = [AddLaplacianEigenvectorPE(3, normalization="none"), AddRandomWalkPE(3)]
    alone = compute_fields(batch, others)
    together = compute_fields(batch, [encoding, *others])[1:]
    for tensors, wanted in zip(together, alone, strict=True):
        for got, value in zip(tensors, wanted, strict=True):
            assert torch.equal(got, value), f"{encoding} changes what other encodings compute"


def _check_sparse_agrees(dense: Encoding, sparse: Encoding, graphs: dict[str, Data]) -> None:
    for name, data in graphs.items():
        for field in dense.fields():
            if field.symmetry != "none":  # its freedom is tested by renumbering
                continue
            difference = _largest(dense(data)[field.name] - sparse(data)[field.name])
            assert difference < 1e-4, (
                f"{field.name} of {name} differs by {difference:.2g} between the dense and the sparse form"
            )


def _largest(difference: Tensor) -> float:
    return float(difference.abs().max()) if difference.numel() else 0.0


def _check_renumbering(encoding: Encoding) -> None:
    data = _generic_graph()
    order = torch.randperm(data.num_nodes, generator=torch.Generator().manual_seed(1))
    position = torch.argsort(order)
    renumbered = Data(edge_index=position[data.edge_index], num_nodes=data.num_nodes)
    before, after = encoding(data), encoding(renumbered)
    for field in encoding.fields():
        wanted = _renumber(before[field.name], field, order)
        got = after[field.name]
        if field.symmetry in ("sign", "basis", "phase"):  # all eigenvalues of the graph are simple
            wanted, got = _without_phase(wanted), _without_phase(got)
        difference = float((wanted - got).abs().max())
        assert difference < 1e-4, (
            f"{field.name} is not permutation equivariant: rows differ by {difference:.2g} after renumbering"
        )


def _renumber(value: Tensor, field: Field, order: Tensor) -> Tensor:
    if field.level == "node":
        return value[order]
    if field.level == "pair":
        n = len(order)
        return value.view(n, n, -1)[order][:, order].reshape(n * n, -1)
    return value  # graph level, and edges keep their place


def _without_phase(value: Tensor) -> Tensor:
    """Each column times a unit number that makes its entry of largest modulus positive."""
    largest = value.gather(0, value.abs().argmax(dim=0, keepdim=True))
    return value * largest.conj().sgn()


def _check_dtypes(encoding: Encoding, graphs: dict[str, Data]) -> None:
    single = dataclasses.replace(encoding, dtype="float32")
    double = dataclasses.replace(encoding, dtype="float64")
    for name, data in graphs.items():
        for low, high in zip(single.fields(), double.fields(), strict=True):
            difference = _largest(single(data)[low.name] - double(data)[high.name])
            assert difference < 1e-4, f"{low.name} of {name} differs between float32 and float64"


def _check_concatenation(encoding: Encoding) -> None:
    data = _generic_graph()
    field = encoding.fields()[0]
    if field.level != "node":
        return
    joining = dataclasses.replace(encoding, attr_name=None)
    data.x = torch.ones(data.num_nodes, 2)
    x = joining(data).x
    assert torch.equal(x[:, :2], data.x), "attr_name=None changes the columns of x"
    assert torch.equal(x[:, 2:], encoding(data)[field.name].to(x.dtype)), (
        "attr_name=None does not concatenate the encoding to x"
    )
    data.x = torch.ones(data.num_nodes, 2, dtype=torch.long)
    try:
        joining(data)
    except ValueError:
        return
    raise AssertionError("attr_name=None cuts the encoding to whole numbers in an integer x")


def _generic_graph() -> Data:
    """An asymmetric connected graph without repeated eigenvalues."""
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (1, 5), (2, 7), (7, 8), (0, 3), (8, 9)]
    edge_index = torch.tensor(edges).t()
    return Data(edge_index=torch.cat([edge_index, edge_index.flip(0)], dim=1), num_nodes=10)


def _undirected(num_nodes: int, edges: list[tuple[int, int]]) -> Data:
    edge_index = torch.tensor(edges, dtype=torch.long).view(-1, 2).t()
    loops = edge_index[0] == edge_index[1]
    edge_index = torch.cat([edge_index, edge_index[:, ~loops].flip(0)], dim=1)
    return Data(edge_index=edge_index, num_nodes=num_nodes)


def _graphs() -> dict[str, Data]:
    cycle = [(i, (i + 1) % 8) for i in range(8)]
    return {
        "a graph without nodes": _undirected(0, []),
        "a single node": _undirected(1, []),
        "two nodes": _undirected(2, [(0, 1)]),
        "a graph without edges": _undirected(4, []),
        "a cycle (repeated eigenvalues)": _undirected(8, cycle),
        "a star (repeated eigenvalues)": _undirected(6, [(0, i) for i in range(1, 6)]),
        "a graph with isolated nodes": _undirected(7, [(1, 2), (2, 5), (5, 1)]),
        "a graph of many components": _undirected(9, [(0, 1), (2, 3), (4, 5), (6, 7)]),
        "a graph with parallel edges": _undirected(4, [(0, 1), (0, 1), (1, 2), (2, 3)]),
        "a graph with loops": _undirected(4, [(0, 0), (0, 1), (1, 2), (2, 3), (3, 3)]),
        "a long path": _undirected(64, [(i, i + 1) for i in range(63)]),
        "a generic graph": _generic_graph(),
    }
