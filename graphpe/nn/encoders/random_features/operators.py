"""Fixed operators by which features spread over the graphs of a batch, as sparse matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import coalesce, scatter

from graphpe.checks import require_choice
from graphpe.linalg.walks.propagation import PropagationOperator
from graphpe.nn.layout import GraphLayout


@dataclass(frozen=True)
class SparseMatrix:
    """A matrix S ``[N, N]`` by its entries; entries at the same place add up.

    Args:
        row: ``[E]`` row of each entry.
        column: ``[E]`` column of each entry.
        value: ``[E]`` value of each entry.
    """

    row: Tensor
    column: Tensor
    value: Tensor

    def __matmul__(self, x: Tensor) -> Tensor:
        """S x for ``[N, ...]``."""
        value = self.value.view(-1, *[1] * (x.dim() - 1))
        return scatter(value * x[self.column], self.row, dim=0, dim_size=x.size(0))


def check_operators(*operators: str) -> None:
    """Raises a ValueError unless all are operators of :func:`fixed_operator`."""
    for operator in operators:
        require_choice("operator", operator, get_args(PropagationOperator))


def edge_weights(data: Data) -> Tensor:
    """Returns the weight of each edge of a batch, ``[E]`` float64; 1 without ``edge_weight``.

    In float64, so that neither the sum of large float32 weights nor the inverse of a tiny one is infinite.

    Args:
        data: The batch.

    Raises:
        ValueError: If ``edge_weight`` is not one real number per edge, a weight is negative or not finite, or their sum
            is not finite.
    """
    weight = data.get("edge_weight")
    if weight is None:
        return torch.ones(data.num_edges, dtype=torch.float64, device=data.edge_index.device)
    if not isinstance(weight, Tensor):
        raise ValueError(
            f"'edge_weight' is a {type(weight).__name__}, no torch tensor; convert it by torch.as_tensor on each graph"
        )
    if weight.shape not in ((data.num_edges,), (data.num_edges, 1)):
        raise ValueError(
            f"'edge_weight' is {list(weight.shape)}, but there are {data.num_edges} edges; give one number per edge"
        )
    if weight.is_complex():
        raise ValueError(f"'edge_weight' is {weight.dtype}; give real numbers >= 0, its abs() say")
    weight = weight.flatten().double()
    if not bool(((weight >= 0) & weight.isfinite()).all()):
        raise ValueError(
            "'edge_weight' has negative or infinite entries or NaN; give finite weights >= 0"
        )
    if not bool(weight.sum().isfinite()):
        raise ValueError("the sum of 'edge_weight' is not finite; divide the weights by a number")
    return weight


def fixed_operator(
    data: Data, layout: GraphLayout, operator: PropagationOperator, dtype: torch.dtype
) -> SparseMatrix:
    """Builds an operator S of all graphs of a batch; block-diagonal.

    | operator | matrix |
    |---|---|
    | ``"sym"`` | D^{-1/2} A D^{-1/2} |
    | ``"sym-loops"`` | the same for A + I |
    | ``"laplacian"`` | I − D^{-1/2} A D^{-1/2}, self-loops removed, zero for a node without edges |
    | ``"walk"`` | D^{-1} A, along the edges of a directed graph |

    A has the summed weights of the edges u → v in row u and column v. Unless the operator is ``"walk"``, a directed A
    is symmetrised, A ∨ Aᵀ or, with weights, (A + Aᵀ)/2; as in the transforms.

    Args:
        data: The batch; ``edge_weight`` is used where there is one.
        layout: Where its graphs lie.
        operator: One of the four.
        dtype: Of the values.

    Raises:
        ValueError: If ``edge_weight`` doesn't fit.
    """
    row, column, weight = _adjacency(data, symmetric=operator != "walk")
    node = torch.arange(layout.num_nodes, device=row.device)
    if operator == "sym-loops":
        row, column = torch.cat([row, node]), torch.cat([column, node])
        weight = torch.cat([weight, weight.new_ones(len(node))])
    if operator == "laplacian":
        weight = torch.where(row == column, 0, weight)
    degree = scatter(weight, row, dim_size=len(node))
    has_edges = degree > 0
    degree = torch.where(has_edges, degree, 1)
    # One division after the other, since the inverse of a tiny degree would be infinite.
    if operator == "walk":
        return SparseMatrix(row, column, (weight / degree[row]).to(dtype))
    root = degree.sqrt()
    value = weight / root[row] / root[column]
    if operator == "laplacian":
        row, column = torch.cat([row, node]), torch.cat([column, node])
        value = torch.cat([-value, has_edges.to(value.dtype)])
    return SparseMatrix(row, column, value.to(dtype))


def _adjacency(data: Data, symmetric: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Row, column and weight of the entries of A, symmetrised if asked for; float64."""
    edge_index, weight = data.edge_index, edge_weights(data)
    if symmetric:
        transposed = edge_index.flip(0)
        if data.get("edge_weight") is not None:
            edge_index = torch.cat([edge_index, transposed], dim=1)
            weight = torch.cat([weight, weight]) / 2
        else:
            edge_index, weight = coalesce(edge_index, weight, data.num_nodes)
            edge_index, weight = coalesce(
                torch.cat([edge_index, edge_index.flip(0)], dim=1),
                torch.cat([weight, weight]),
                data.num_nodes,
                reduce="max",
            )
    return edge_index[0], edge_index[1], weight
