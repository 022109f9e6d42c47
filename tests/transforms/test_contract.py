"""Every encoding keeps the contract; what the base class does for all of them."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from torch import Tensor

from graphpe import Field
from graphpe.blocks import Block
from graphpe.testing import check_encoding
from graphpe.transforms import (
    AddLaplacianEigenvectorPE,
    AddRandomWalkPE,
    Encoding,
    all_encodings,
)

INSTANCES = [
    AddLaplacianEigenvectorPE(1),
    AddLaplacianEigenvectorPE(4),
    AddLaplacianEigenvectorPE(12, normalization="none", drop_trivial="none"),
    AddLaplacianEigenvectorPE(5, normalization="rw", drop_trivial="none"),
    AddLaplacianEigenvectorPE(5, dense_limit=7),
    AddRandomWalkPE(1),
    AddRandomWalkPE(16),
    AddRandomWalkPE(9, dense_limit=7),
]


@pytest.mark.parametrize("encoding", INSTANCES, ids=repr)
def test_contract(encoding: Encoding) -> None:
    check_encoding(encoding)


def _classes_in_instances() -> set[str]:
    """The names in the lists called INSTANCES of all test files of encodings that run `check_encoding`."""
    names: set[str] = set()
    for path in Path(__file__).parent.rglob("test_*.py"):
        source = path.read_text()
        if "check_encoding(" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            targets = (
                node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            )
            if any(isinstance(target, ast.Name) and target.id == "INSTANCES" for target in targets):
                names |= {part.id for part in ast.walk(node.value) if isinstance(part, ast.Name)}
    return names


@pytest.mark.parametrize("cls", all_encodings(), ids=lambda cls: cls.__name__)
def test_every_encoding_is_tested_and_described(cls: type[Encoding]) -> None:
    assert cls.__name__ in _classes_in_instances(), (
        f"no file of tests/transforms has {cls.__name__} in a list INSTANCES that goes through check_encoding"
    )
    assert cls.cost
    assert cls.paper
    documentation = inspect.getdoc(cls)
    for part in ("Writes:", "Args:", "References:"):
        assert part in documentation
    for setting in dataclasses.fields(cls):
        assert re.search(rf"^ +(\w+, )*{setting.name}(, \w+)*:", documentation, re.MULTILINE), (
            f"the docstring of {cls.__name__} doesn't describe {setting.name}"
        )


@dataclass(frozen=True, repr=False)
class _Toy(Encoding):
    """Degree, in a dense form only."""

    attr_name: str | None = "toy"

    def fields(self) -> tuple[Field, ...]:
        return (Field(self.field_name, "node", 2, self.torch_dtype),)

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        return (block.degree[..., None],)


@dataclass(frozen=True, repr=False)
class _Levels(Encoding):
    """A field of every level, to test the plumbing of the base class."""

    attr_name: str | None = "levels_node"

    def fields(self) -> tuple[Field, ...]:
        return (
            Field(self.field_name, "node", 1, self.torch_dtype),
            Field("levels_edge", "edge", 1, self.torch_dtype),
            Field("levels_pair", "pair", 1, self.torch_dtype, padding=-1.0),
            Field("levels_graph", "graph", 3, torch.int64, padding=-7.0),
        )

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        slot, column = block.graphs.edges_of(block.numbers)
        source, target = block.graphs.edge_index[:, column]
        return (
            block.degree[..., None],
            (block.degree[slot, source] * 100 + block.degree[slot, target])[:, None],
            block.adjacency[..., None],
            torch.full((len(block), 1), block.n),
        )


def test_every_level_is_stored_by_its_declaration() -> None:
    check_encoding(_Levels())


def test_edge_fields_follow_edges_that_were_shuffled_after_batching() -> None:
    from graph_zoo import zoo
    from torch_geometric.data import Batch

    batch = Batch.from_data_list(list(zoo().values()))
    order = torch.randperm(batch.num_edges)
    expected = _Levels()(batch).levels_edge[order]
    batch.edge_index = batch.edge_index[:, order]
    assert torch.equal(_Levels()(batch).levels_edge, expected)


def test_padding_is_the_declared_value() -> None:
    from graph_zoo import zoo

    assert _Levels()(zoo()["path"]).levels_graph.tolist() == [[9, -7, -7]]


def test_a_dense_only_encoding_says_what_a_large_graph_would_take() -> None:
    from graph_zoo import graph

    with pytest.raises(
        ValueError, match=r"graph 0 has 9,000 nodes and _Toy has only a dense form, .* 3.6 GiB"
    ):
        _Toy()(graph(9000))


BAD_SETTINGS = [
    (lambda: AddLaplacianEigenvectorPE(0), "k is 0"),
    (lambda: AddLaplacianEigenvectorPE(2.5), "k is 2.5"),
    (lambda: AddLaplacianEigenvectorPE(True), "k is True"),
    (lambda: AddLaplacianEigenvectorPE(2, normalization="l2"), "normalization is 'l2'"),
    (lambda: AddLaplacianEigenvectorPE(2, drop_trivial="last"), "drop_trivial is 'last'"),
    (lambda: AddLaplacianEigenvectorPE(2, dtype="int8"), "dtype is 'int8'"),
    (lambda: AddLaplacianEigenvectorPE(2, dense_limit=0), "dense_limit is 0"),
    (lambda: AddLaplacianEigenvectorPE(2, attr_name="x"), "would write over 'x'"),
    (lambda: AddLaplacianEigenvectorPE(2, attr_name="num_edges"), "would write over 'num_edges'"),
    (lambda: AddLaplacianEigenvectorPE(2, attr_name=""), "not a valid attribute name"),
    (lambda: AddLaplacianEigenvectorPE(2, "a", eigenvalue_name="a"), "two fields called 'a'"),
    (lambda: AddLaplacianEigenvectorPE(2, attr_name="my_index"), "contains 'index'"),
    (lambda: AddLaplacianEigenvectorPE(2, attr_name="my pe"), "not a valid attribute name"),
    (lambda: AddRandomWalkPE(-1), "walk_length is -1"),
]


@pytest.mark.parametrize(("make", "message"), BAD_SETTINGS)
def test_bad_settings_are_refused_at_once(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_settings_are_values() -> None:
    one, other = AddLaplacianEigenvectorPE(4), AddLaplacianEigenvectorPE(k=4)
    assert one == other
    assert hash(one) == hash(other)
    assert one != AddLaplacianEigenvectorPE(5)
    assert repr(AddRandomWalkPE(3, None, dtype=torch.float64)) == (
        "AddRandomWalkPE(walk_length=3, attr_name=None, dtype='float64')"
    )
    for encoding in INSTANCES:
        assert eval(repr(encoding)) == encoding


def test_integers_of_numpy_are_integers() -> None:
    import numpy as np

    assert AddRandomWalkPE(np.int64(2)) == AddRandomWalkPE(2)


def test_a_transform_takes_one_graph_or_batch() -> None:
    with pytest.raises(
        TypeError, match=r"encodes one Data or Batch, got a list; .* use graphpe.encode"
    ):
        AddRandomWalkPE(2)([])


def test_values_that_overflow_the_stored_dtype_are_named() -> None:
    from graph_zoo import graph
    from torch_geometric.data import Batch

    batch = Batch.from_data_list([graph(2, [(0, 1)], [1.0]), graph(2, [(0, 1)], [3e38])])
    with pytest.raises(
        ValueError, match=r"laplacian_eigenvalue of graph 1 is not finite in torch.float32"
    ):
        AddLaplacianEigenvectorPE(1, normalization="none")(batch)
    encoded = AddLaplacianEigenvectorPE(1, normalization="none", dtype="float64")(batch)
    assert encoded.laplacian_eigenvalue[1, 0] == pytest.approx(6e38)


def test_dense_limit_is_the_users_choice_in_a_transform() -> None:
    from graph_zoo import graph

    encoded = AddRandomWalkPE(2, dense_limit=1300)(graph(1250, [(0, 1)]))
    assert encoded.random_walk_pe[0].tolist() == [0.0, 1.0]


def test_gradients_do_not_flow_into_encodings() -> None:
    from graph_zoo import graph

    data = graph(3, [(0, 1), (1, 2)], [1.0, 2.0])
    data.edge_weight.requires_grad_()
    for dense_limit in (1, 500):
        for transform in (
            AddRandomWalkPE(3, dense_limit=dense_limit),
            AddLaplacianEigenvectorPE(2, dense_limit=dense_limit),
        ):
            encoded = transform(data)
            assert not any(encoded[field.name].requires_grad for field in transform.fields())
