"""A learned function of distances, relative to the size of the graph."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.utils import scatter

from graphpe.checks import require_number
from graphpe.fields import Level
from graphpe.nn.blocks import check_positive, mlp
from graphpe.nn.encoders.base import FieldEncoder, FieldRequirement
from graphpe.nn.layout import graph_layout
from graphpe.nn.rows import apply_to_rows

_DEFAULT_FIELD = "effective_resistance_pe"


class FunctionalDistanceBias(FieldEncoder):
    r"""Maps the distance of each pair of nodes, relative to the largest in the graph, by a small perceptron (FIRE).

    .. math:: b_{ij} = f\left(\frac{\psi(d_{ij})}{\psi(\max(L, \tau))}\right) \ [\, + u\,], \qquad
        \psi(x) = \log(c x + 1), \qquad L = \max_{ij} d_{ij} \text{ in the graph of } i, j

    with c > 0 and the threshold τ > 0 learned. So f, a perceptron with one hidden layer and ReLU, only sees numbers
    from 0 to 1, however large the graph, which is what lets it be applied to graphs larger than those of training; the
    threshold keeps the distances of graphs smaller than τ apart; and ψ resolves small distances best.

    Where no path leads, the distance counts as 0 (also for L), and a learned vector u is added.

    Several distances of a pair are put into one f, each with its own c, L, τ and u.

    Time and memory grow with :math:`\sum n^2` over the graphs of a batch.

    Args:
        in_channels: Number of columns of the field. In a field of floats, each distance is followed by a column that
            is 1 where no path leads and else 0: as ``AddEffectiveResistancePE``, ``AddCommuteTimePE`` and
            ``AddShortestPathPE(weighted=True)`` write them.
        out_channels: Width of the output.
        field: Name of the pair field.
        transform: Name of the transform that writes the field, for error messages; known for the default field.
        hidden_channels: Width of the hidden layer.
        categories: For a field of integers, such as shortest paths, their number, ``cap + 2`` for
            ``AddShortestPathPE(cap)``: the last one stands for no path. Choose a cap that no graph reaches. None:
            floats.
        threshold: The threshold τ at first, in the unit of the distances.

    Raises:
        ValueError: For invalid settings; in :meth:`forward` if the field is missing or doesn't fit, for a distance that
            is negative or not finite, or an integer outside of 0 to ``categories - 1``.

    References:
        Li et al., "Functional Interpolation for Relative Positions Improves Long Context Transformers",
        https://arxiv.org/abs/2310.04418.
    """

    level: Level = "pair"

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        field: str = _DEFAULT_FIELD,
        transform: str | None = None,
        hidden_channels: int = 32,
        categories: int | None = None,
        threshold: float = 8.0,
    ) -> None:
        super().__init__()
        check_positive(
            in_channels=in_channels, out_channels=out_channels, hidden_channels=hidden_channels
        )
        require_number("threshold", threshold, 0.0, may_equal=False)
        if categories is not None:
            check_positive(categories=categories)
        elif in_channels % 2:
            raise ValueError(
                f"in_channels is {in_channels}, but in a field of floats each distance is followed by a column that "
                "says whether there is no path; give an even number, or categories for a field of integers"
            )
        if transform is None and field == _DEFAULT_FIELD:
            transform = "AddEffectiveResistancePE"
        kind = "float" if categories is None else "integer"
        self.requires = (FieldRequirement(field, "pair", in_channels, transform, kind),)
        self.out_channels = out_channels
        self.categories = categories
        distances = in_channels // 2 if categories is None else in_channels
        # By their logarithms both stay positive.
        self.log_slope = nn.Parameter(torch.zeros(distances))
        self.log_threshold = nn.Parameter(torch.full((distances,), math.log(threshold)))
        self.function = mlp([distances, hidden_channels, out_channels], "none")
        self.no_path = nn.Linear(distances, out_channels, bias=False)

    def forward(self, data: Data) -> Tensor:
        layout = graph_layout(data)
        (values,) = self.read(data, layout)
        distances, is_apart = self._split(values)
        graph = torch.repeat_interleave(layout.sizes.square())
        largest = scatter(distances, graph, dim_size=layout.num_graphs, reduce="max")
        slope = self.log_slope.exp()
        scale = torch.log1p(slope * torch.maximum(largest, self.log_threshold.exp()))
        # A tiny threshold may be 0 in float32, where all distances are 0 too. Gradients grow with the inverse.
        scale = scale.clamp(min=torch.finfo(scale.dtype).tiny ** 0.5)
        relative = torch.log1p(slope * distances) / scale[graph]
        bias = apply_to_rows(self.function, relative, mixes_rows=False)
        return bias + self.no_path(is_apart.to(relative.dtype))

    def _split(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """``[P, D]`` distances, 0 where no path leads, and ``[P, D]`` where that is."""
        name = self.requires[0].name
        if self.categories is None:
            distances, is_apart = values[:, 0::2], values[:, 1::2] != 0
            outside = ~((distances >= 0) & (distances < torch.inf))
            if bool(outside.any()):
                raise ValueError(
                    f"{name!r} has the distance {float(distances[outside][0])}; distances are finite numbers >= 0"
                )
        else:
            outside = (values < 0) | (values >= self.categories)
            if bool(outside.any()):
                raise ValueError(
                    f"{name!r} has the category {int(values[outside][0])}, but FunctionalDistanceBias was built for "
                    f"categories={self.categories}, 0 to {self.categories - 1}; change one of the two"
                )
            distances, is_apart = values.to(self.log_slope.dtype), values == self.categories - 1
        return distances.masked_fill(is_apart, 0), is_apart
