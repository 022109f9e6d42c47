"""Fields: what a declaration may be, and rows that are not lists of columns."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from graph_zoo import graph, zoo
from torch import Tensor
from torch_geometric.data import Batch

from graphpe import Field
from graphpe.blocks import Block
from graphpe.testing import check_encoding
from graphpe.transforms import Encoding, To


@dataclass(frozen=True, repr=False)
class _Matrices(Encoding):
    """Matrices for nodes, pairs, edges and graphs, smaller than declared for small graphs."""

    attr_name: str | None = "matrices"

    def fields(self) -> tuple[Field, ...]:
        settings = {"width": 6, "dtype": self.torch_dtype, "padding": -1.0, "shape": (2, 3)}
        return tuple(
            Field(self.field_name if level == "node" else f"matrices_{level}", level, **settings)
            for level in ("node", "pair", "edge", "graph")
        )

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        columns = torch.arange(2.0 * min(block.n, 3)).view(2, -1)
        slot, source, _ = block.edges
        return (
            block.degree[..., None, None] + columns,
            block.adjacency[..., None, None] + columns,
            block.degree[slot, source][:, None, None] + columns,
            block.degree.sum(-1)[:, None, None] + columns,
        )


def test_rows_of_any_shape_keep_the_contract() -> None:
    check_encoding(_Matrices())


def test_rows_are_padded_in_each_dimension_and_split_again() -> None:
    graphs = [graph(2, [(0, 1)]), *zoo().values()]
    batch = _Matrices()(Batch.from_data_list(graphs))
    assert batch.matrices.shape == (batch.num_nodes, 2, 3)
    first = batch.to_data_list()[0]
    assert first.matrices[0].tolist() == [[1.0, 2.0, -1.0], [3.0, 4.0, -1.0]]
    assert first.matrices_pair.shape == (4, 2, 3)
    assert first.matrices_pair[1].tolist() == [[1.0, 2.0, -1.0], [3.0, 4.0, -1.0]]
    assert first.matrices_edge.shape == (2, 2, 3)
    assert first.matrices_graph.shape == (1, 2, 3)


def test_matrices_are_not_concatenated_or_moved() -> None:
    with pytest.raises(ValueError, match="writes matrices, which cannot be concatenated to x"):
        _Matrices(None)
    with pytest.raises(ValueError, match="matrices has a 2 x 3 matrix for each node"):
        To(_Matrices(), level="edge", reduce="difference")


def test_the_width_is_the_product() -> None:
    assert Field("a", "node", 6, shape=(2, 3)).row_shape == (2, 3)
    assert Field("a", "node", 6).row_shape == (6,)
    with pytest.raises(ValueError, match=r"field 'a' has width 5, but rows of shape \(2, 3\)"):
        Field("a", "node", 5, shape=(2, 3))
