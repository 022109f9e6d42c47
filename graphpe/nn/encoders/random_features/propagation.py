"""Random features that spread over the graph by fixed and learned operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import get_args

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.checks import require_choice
from graphpe.linalg.walks.propagation import (
    PropagationNormalization,
    PropagationOperator,
)
from graphpe.nn.blocks import Normalization, check_not_negative, check_positive, mlp
from graphpe.nn.encoders.random_features.base import Distribution, RandomFeatureEncoder
from graphpe.nn.encoders.random_features.learned_operators import AttentionOperators
from graphpe.nn.encoders.random_features.normalization import (
    map_graphs,
    negligible,
    orthonormal_columns,
    square_norms,
    unit_columns,
)
from graphpe.nn.encoders.random_features.operators import (
    SparseMatrix,
    check_operators,
    fixed_operator,
)
from graphpe.nn.encoders.random_features.trajectory_layer import TrajectoryLayer
from graphpe.nn.layout import GraphLayout
from graphpe.nn.rows import apply_to_rows
from graphpe.nn.stacks import stacks_of


class RandomFeaturePropagation(RandomFeatureEncoder):
    r"""Encodes random features and what becomes of them as they spread over the graph (RFP).

    .. math:: [R_0, R_1, \ldots, R_P], \qquad R_p = N(S R_{p-1})

    from independent :math:`R_0`, which are new at each forward pass. Each operator S makes its own
    :math:`R_1, \ldots, R_P`. There are fixed ones, as in ``AddRandomFeaturePropagation`` (of a directed graph all but
    ``"walk"`` take the symmetrised one; parallel edges add up; ``edge_weight`` is used), and learned ones, attention
    along the edges, see :class:`~graphpe.nn.encoders.random_features.learned_operators.AttentionOperators`.

    N divides each column by its L2 norm over the nodes of the graph (``"l2"``), or takes the thin Q of a QR
    decomposition with a positive diagonal of R (``"qr"``). A column that a step turns to zero, or with ``"qr"`` into a
    combination of those before it (always the case beyond n columns), is zero from then on.

    A perceptron embeds the concatenation, layers follow that see one trajectory and the mean of all B
    (:class:`~graphpe.nn.encoders.random_features.trajectory_layer.TrajectoryLayer`), and a linear layer maps the mean
    over the trajectories.

    Memory grows with ``N * channels * (steps + 1) * trajectories * (number of operators)``, in evaluation times
    ``eval_samples``; learned operators take as much per edge.

    Args:
        out_channels: Width of the output.
        channels: Number of random features of a trajectory.
        steps: Number of steps P.
        operators: Fixed operators, of ``"sym"``, ``"sym-loops"``, ``"laplacian"`` and ``"walk"``.
        heads: Number of learned operators.
        normalization: ``"l2"`` or ``"qr"``.
        distribution: Of the random features: ``"normal"`` or ``"rademacher"``.
        trajectories: Number B of independent starts.
        hidden_channels: Width of the perceptron and the layers.
        num_layers: Number of layers after the perceptron.
        norm: Normalisation in the perceptrons.
        eval_samples: Number of draws of which the mean is taken in evaluation.
        seed: Seed of the numbers in evaluation.

    Raises:
        ValueError: For invalid settings; in :meth:`forward` for invalid edge weights.

    References:
        Eliasof et al., "Graph Positional Encoding via Random Feature Propagation", https://arxiv.org/abs/2303.02918.
    """

    def __init__(
        self,
        out_channels: int,
        channels: int = 8,
        steps: int = 4,
        operators: Sequence[PropagationOperator] = ("sym-loops",),
        heads: int = 2,
        normalization: PropagationNormalization = "l2",
        distribution: Distribution = "normal",
        trajectories: int = 1,
        hidden_channels: int = 64,
        num_layers: int = 1,
        norm: Normalization = "layer",
        eval_samples: int = 1,
        seed: int = 0,
    ) -> None:
        check_positive(
            out_channels=out_channels,
            channels=channels,
            steps=steps,
            trajectories=trajectories,
            hidden_channels=hidden_channels,
        )
        check_not_negative(heads=heads, num_layers=num_layers)
        if isinstance(operators, str) or not isinstance(operators, Sequence):
            raise ValueError(
                f"operators is {operators!r}; give a tuple, such as ('sym-loops',), or () for learned operators alone"
            )
        check_operators(*operators)
        require_choice("normalization", normalization, get_args(PropagationNormalization))
        if not operators and not heads:
            raise ValueError("operators is empty and heads is 0; give at least one operator")
        super().__init__(trajectories * channels, distribution, eval_samples, seed)
        self.out_channels = out_channels
        self.channels = channels
        self.steps = steps
        self.trajectories = trajectories
        self.operators = tuple(operators)
        self.heads = heads
        self.normalization = normalization
        self.learned = AttentionOperators(channels, heads) if heads else None
        width = channels * (1 + steps * (len(self.operators) + heads))
        self.embedding = mlp([width, hidden_channels, hidden_channels], norm)
        self.layers = nn.ModuleList(
            TrajectoryLayer(hidden_channels, trajectories, norm) for _ in range(num_layers)
        )
        self.linear = nn.Linear(hidden_channels, out_channels)
        self.mixes_rows_in_training = norm == "batch"

    def encode(self, data: Data, layout: GraphLayout, features: Tensor) -> Tensor:
        # Normalised iterations amplify rounding errors.
        with torch.autocast(features.device.type, enabled=False):
            trajectory = self.trajectory(data, layout, features)
        shape = trajectory.shape[:3]
        mixes_rows = self.training and self.mixes_rows_in_training
        rows = trajectory.flatten(0, 2).to(self.linear.weight.dtype)
        x = apply_to_rows(self.embedding, rows, mixes_rows).unflatten(0, shape)
        for layer in self.layers:
            x = layer(x, data.edge_index)
        return self.linear(x.mean((1, 2)))

    def trajectory(self, data: Data, layout: GraphLayout, features: Tensor) -> Tensor:
        """Spreads random features.

        Args:
            data: The batch.
            layout: Where its graphs lie.
            features: ``[N, samples, trajectories * channels]``.

        Returns:
            ``[N, samples, trajectories, width]`` in at least float32: the columns of R_0, then those of R_1 to R_P of
            the first fixed operator, of the next one, and of each learned operator.
        """
        features = features.to(torch.promote_types(features.dtype, torch.float32))
        # Samples are as good as trajectories here: [N, t, k].
        start = features.unflatten(2, (self.trajectories, self.channels)).flatten(1, 2)
        normalize = self._normalization(layout)
        results = [start]
        for name in self.operators:
            matrix = fixed_operator(data, layout, name, start.dtype)
            results += self._spread(start, partial(_multiply, matrix), normalize, layout)
        if self.learned is not None:
            results += self._spread_learned(start, normalize, data, layout)
        return torch.cat(results, dim=2).unflatten(1, (-1, self.trajectories))

    def _spread(
        self,
        start: Tensor,
        propagate: Callable[[Tensor, int], Tensor],
        normalize: Callable[[Tensor, Tensor], Tensor],
        layout: GraphLayout,
    ) -> list[Tensor]:
        """R_1 to R_P, each ``[N, t, k]`` as ``start``."""
        results = [start]
        least = negligible(start.dtype) ** 2 * square_norms(start, layout)
        for step in range(self.steps):
            results.append(normalize(propagate(results[-1], step), least))
            # From now on they are unit vectors.
            least = torch.full_like(least, negligible(start.dtype) ** 2)
        return results[1:]

    def _spread_learned(
        self,
        start: Tensor,
        normalize: Callable[[Tensor, Tensor], Tensor],
        data: Data,
        layout: GraphLayout,
    ) -> list[Tensor]:
        """R_1 to R_P of each head, each ``[N, t, k]`` as ``start``."""
        entries = self.learned.entries(data, layout, start.dtype)
        # Unit vectors times √n have entries of size about 1, as R_0 has them.
        root = layout.sizes[layout.batch].to(start.dtype).sqrt()

        def propagate(x: Tensor, step: int) -> Tensor:
            by_head = x.unflatten(1, (-1, self.heads))
            scale = root if step else torch.ones_like(root)
            return self.learned(by_head, scale, entries).flatten(1, 2)

        results = self._spread(
            start.repeat_interleave(self.heads, dim=1), propagate, normalize, layout
        )
        by_head = [result.unflatten(1, (-1, self.heads)) for result in results]
        return [result[:, :, head] for head in range(self.heads) for result in by_head]

    def _normalization(self, layout: GraphLayout) -> Callable[[Tensor, Tensor], Tensor]:
        """N, from columns ``[N, t, k]`` and squares of norms ``[B, t, k]`` up to which they are zero."""
        if self.normalization == "l2":
            return lambda columns, least: unit_columns(columns, least, layout)
        stacks = stacks_of(layout)
        return lambda columns, least: map_graphs(
            orthonormal_columns, unit_columns(columns, least, layout), stacks
        )


def _multiply(matrix: SparseMatrix, x: Tensor, step: int) -> Tensor:
    """A fixed operator is the same in all steps."""
    return matrix @ x
