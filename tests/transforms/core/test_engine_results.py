"""What the engine says about an encoding that returns something else than it declares, or is too large."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from graph_zoo import graph
from torch_geometric.data import Data

import graphpe
from graphpe import Field
from graphpe.blocks import Block
from graphpe.cli.widths import example
from graphpe.testing import check_encoding
from graphpe.transforms import (
    AddHeatKernelSE,
    AddLaplacianEigenvectorPE,
    AddRandomWalkPE,
    AddRelativeRandomWalkPE,
    AddShortestPathPE,
    Encoding,
    all_encodings,
)
from graphpe.transforms.core.engine import MOST_MEMORY_OF_A_GRAPH


@dataclass(frozen=True, repr=False)
class Returns(Encoding):
    """Returns what its setting says."""

    what: str
    attr_name: str | None = "returned"

    def fields(self) -> tuple[Field, ...]:
        return (Field(self.field_name, "node", 1, self.torch_dtype),)

    def encode_block(self, block: Block) -> object:
        value = block.degree.unsqueeze(-1)
        return {
            "no tuple": value,
            "two": (value, value),
            "array": (value.numpy(),),
            "no columns": (block.degree,),
            "too many columns": (value.expand(-1, -1, 2),),
            "right": (value,),
        }[self.what]


@pytest.mark.parametrize(
    ("what", "error", "message"),
    [
        ("no tuple", TypeError, "encode_block returned a Tensor; wanted a tuple with one tensor"),
        ("two", TypeError, "returned 2 values; wanted a tuple"),
        ("array", TypeError, "returned a ndarray for 'returned'; wanted a tensor"),
        ("no columns", ValueError, r"returned \[1, 3\] for 'returned'; wanted \[1, 3, 1\]"),
        (
            "too many columns",
            ValueError,
            r"returned \[1, 3, 2\] for 'returned'; wanted \[1, 3, 1\]",
        ),
    ],
)
def test_what_is_returned_is_checked(what: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Returns(what)(graph(3, [(0, 1)]))
    check_encoding(Returns("right"))


def test_a_graph_too_large_for_a_dense_form_is_refused_before_anything_is_allocated() -> None:
    graphs = [graph(3, [(0, 1)]), graph(40_000, [(0, 1)]), graph(50_000)]
    with pytest.raises(
        ValueError,
        match=r"graph 1 has 40,000 nodes \(and 1 more are too large\) and AddRelativeRandomWalkPE has only a "
        r"dense form, which would take .* GiB, over the limit of 2.0 GiB; take .* instead, or give "
        r"graphpe.encode a larger memory_budget",
    ):
        graphpe.encode(graphs, AddRelativeRandomWalkPE(8), progress=False)


def test_a_dense_only_encoding_takes_graphs_over_dense_limit() -> None:
    data = graph(30, [(i, i + 1) for i in range(29)])
    small = AddHeatKernelSE((1.0,), dense_limit=5)
    assert torch.equal(small(data).heat_kernel_se, AddHeatKernelSE((1.0,))(data).heat_kernel_se)
    assert MOST_MEMORY_OF_A_GRAPH == 2 * 2**30


def test_encodings_with_and_without_a_sparse_form_together() -> None:
    graphs = [graph(n, [(i, i + 1) for i in range(n - 1)]) for n in (4, 12, 9)]
    encodings = [
        AddRandomWalkPE(4, dense_limit=6),
        AddHeatKernelSE((1.0,)),
        AddRandomWalkPE(3, "w"),
    ]
    together = graphpe.encode(graphs, encodings, progress=False)
    for data, got in zip(graphs, together, strict=True):
        for encoding in encodings:
            name = encoding.fields()[0].name
            assert torch.equal(got[name], encoding(data)[name])


def test_numbers_of_numpy_are_numbers() -> None:
    encoding = AddLaplacianEigenvectorPE(np.int64(3))
    assert repr(encoding) == "AddLaplacianEigenvectorPE(k=3)"
    assert encoding(graph(3, [(0, 1)])).laplacian_eigenvector_pe.shape == (3, 3)
    options = {"memory_budget": np.int64(2**26), "workers": np.int64(2)}
    graphpe.encode([graph(3)], encoding, progress=False, **options)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: AddShortestPathPE(weighted="False"),
            "weighted is 'False'; it must be True or False",
        ),
        (lambda: AddHeatKernelSE(include_zero="no"), "include_zero is 'no'"),
        (lambda: AddRandomWalkPE(3, attr_name=5), "attr_name is 5; it must be a string"),
        (lambda: AddLaplacianEigenvectorPE(3, eigenvalue_name=None), "eigenvalue_name is None"),
        (lambda: AddShortestPathPE(attr_name="node_distance"), "contains 'node'"),
    ],
)
def test_settings_of_the_wrong_type(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32])
def test_any_integer_dtype_of_edge_index(dtype: torch.dtype) -> None:
    data = graph(5, [(0, 1), (1, 2), (2, 0), (3, 4)])
    other = Data(edge_index=data.edge_index.to(dtype), num_nodes=5)
    for cls in all_encodings():
        encoding = example(cls)
        for field in encoding.fields():
            assert torch.equal(encoding(other)[field.name], encoding(data)[field.name]), cls
