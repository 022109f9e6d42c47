"""PyG's aggregations of rows by group, such as the edges of a node, for rows in any order and groups without rows."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch_geometric.nn import aggr
from torch_geometric.nn.resolver import aggregation_resolver

# What may be given for an aggregation.
AggregationKind = str | Sequence[str] | aggr.Aggregation

# The usual names, for messages.
_NAMES = ("max", "mean", "median", "min", "mul", "softmax", "std", "sum", "var")
# They take rows in any order and give 0 for a group without rows. Others want the rows of a group together, or fail or
# give something else for no rows.
_PLAIN = (
    aggr.SumAggregation,
    aggr.MeanAggregation,
    aggr.MaxAggregation,
    aggr.MinAggregation,
    aggr.VarAggregation,
    aggr.StdAggregation,
    aggr.SoftmaxAggregation,
    aggr.PowerMeanAggregation,
)
# What they give depends on the order of rows, or on the padding that other groups bring.
_NOT_OF_SETS = (
    aggr.LSTMAggregation,
    aggr.GRUAggregation,
    aggr.LCMAggregation,
    aggr.MLPAggregation,
    aggr.PatchTransformerAggregation,
)


class GroupAggregation(nn.Module):
    """Aggregates rows by group with an aggregation of PyG; a group without rows gets 0.

    Args:
        aggregation: A name of PyG (``"sum"``, ``"mean"``, ``"max"``, ``"min"``, ``"std"``, ``"softmax"``, ``"median"``,
            ...), a list of names, whose outputs are concatenated, or an ``Aggregation``, of which a copy is taken.
        channels: Width of the rows.
        name: The argument that gives ``aggregation``, for error messages.

    Attributes:
        out_channels: Width of the output.

    Raises:
        TypeError: If ``aggregation`` is of another kind.
        ValueError: If PyG can't make an aggregation of a name alone, or if it depends on the order of rows.
    """

    def __init__(self, aggregation: AggregationKind, channels: int, name: str) -> None:
        super().__init__()
        self.aggregation = _build(aggregation, name)
        parts = [part for part in self.aggregation.modules() if isinstance(part, aggr.Aggregation)]
        for part in parts:
            if isinstance(part, _NOT_OF_SETS):
                raise ValueError(
                    f"{name} is {type(part).__name__}, which depends on the order of rows or on other graphs; take an "
                    "aggregation of sets, such as 'sum', 'softmax' or SetTransformerAggregation(...)"
                )
        self.is_plain = all(isinstance(part, (*_PLAIN, aggr.MultiAggregation)) for part in parts)
        # In half precision a sum of many rows is wrong; parameters say in which precision they want them.
        self.widens = not any(True for _ in self.aggregation.parameters())
        self.out_channels = self._width_of_output(channels)

    def forward(self, values: Tensor, group: Tensor, num_groups: int) -> Tensor:
        """Aggregates.

        Args:
            values: ``[R, channels]``.
            group: ``[R]`` the group of each row.
            num_groups: Number of groups, G.

        Returns:
            ``[G, out_channels]`` in the dtype of the values.
        """
        wide = torch.promote_types(values.dtype, torch.float32) if self.widens else values.dtype
        aggregate = self._aggregate_plain if self.is_plain else self._aggregate_those_with_rows
        return aggregate(values.to(wide), group, num_groups).to(values.dtype)

    def _aggregate_plain(self, values: Tensor, group: Tensor, num_groups: int) -> Tensor:
        return self.aggregation(values, group, dim_size=num_groups)

    def _aggregate_those_with_rows(self, values: Tensor, group: Tensor, num_groups: int) -> Tensor:
        group, order = group.sort(stable=True)
        with_rows, place = group.unique_consecutive(return_inverse=True)
        values = values.index_select(0, order)
        if not len(
            values
        ):  # one row that nobody gets, so that parameters have gradients all the same
            values, place = values.new_zeros(1, values.size(1)), place.new_zeros(1)
        result = self.aggregation(values, place, dim_size=max(len(with_rows), 1))
        zeros = result.new_zeros(num_groups, result.size(1))
        return zeros.index_copy(0, with_rows, result[: len(with_rows)])

    def _width_of_output(self, channels: int) -> int:
        """What one row of zeros gives; without dropout, which would use up random numbers."""
        modes = [(part, part.training) for part in self.modules()]
        with torch.no_grad():
            width = self.eval()(torch.zeros(1, channels), torch.zeros(1, dtype=torch.long), 1).size(
                1
            )
        for part, mode in modes:
            part.training = mode
        return width


def _build(aggregation: AggregationKind, name: str) -> aggr.Aggregation:
    if isinstance(aggregation, aggr.Aggregation):
        return copy.deepcopy(aggregation)
    is_list = isinstance(aggregation, list | tuple)
    if not isinstance(aggregation, str) and not is_list:
        raise TypeError(
            f"{name} is a {type(aggregation).__name__}; it must be the name of a PyG aggregation, a list of names, or "
            "an Aggregation"
        )
    try:
        return aggregation_resolver(list(aggregation) if is_list else aggregation)
    except (TypeError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else "no reason given"
        # PyG would go on with the names of all its classes, in no order.
        reason = reason.partition(" among choices ")[0]
        raise ValueError(
            f"{name} is {aggregation!r}, which PyG can't make an aggregation of ({reason}); give a name ("
            f"{', '.join(map(repr, _NAMES))}), a list of names, or an Aggregation"
        ) from error
