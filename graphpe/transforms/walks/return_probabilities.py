"""Probabilities that a random walk comes back to its start."""

from __future__ import annotations

import operator
import warnings
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from graphpe import linalg
from graphpe.blocks import Block, LargeGraph
from graphpe.checks import require_number, require_positive_integer, require_seed
from graphpe.fields import Field
from graphpe.linalg.large.estimated_return_probabilities import estimate_return_probabilities
from graphpe.transforms.core.base import Encoding


@dataclass(frozen=True, repr=False)
class AddRandomWalkPE(Encoding):
    r"""Adds the probabilities that a random walk is back at its start after 1, 2, ..., K steps.

    .. math:: p_i = \left((P^k)_{ii} \, k^{s/2}\right)_{k = 1, \ldots, K}, \qquad P = D^{-1} A

    with the space dimension :math:`s`, 0 by default.

    A drop-in for ``torch_geometric.transforms.AddRandomWalkPE`` that is also right for edge weights (the
    probabilities of the steps from a node sum to one), parallel edges (they add up) and batches. Self-loops are
    kept. A walk follows directed edges and ends at a node without outgoing ones; an isolated node has zeros (and 1
    after 0 steps).

    Also known as RWSE, RWPE.

    Writes:
        - ``attr_name``: ``[n, K]`` return probabilities (node level).
        - ``standard_error_name``, with ``samples`` only: ``[n, K]`` standard errors of these; 0 where they are exact
          (node level).

    Args:
        walk_length: Number of steps K; None if ``steps`` are chosen.
        attr_name: Name of the field; None concatenates it to ``x``.
        steps: The numbers of steps k, one per column, in place of 1 to ``walk_length``. 0 steps have probability 1.
        space_dimension: The dimension s of the space that the graph resembles, in which return probabilities fall as
            :math:`k^{-s/2}`: the factor :math:`k^{s/2}` makes up for it, as in GraphGPS (``ksteps`` and
            ``space_dim``); for s > 0 it is 0 after 0 steps.
        samples: Estimate graphs over ``dense_limit`` from so many random vectors (at least 2), without bias, where
            exact probabilities would take too long. None: all are exact. Graphs up to ``dense_limit`` always are.
        seed: Seed of these vectors.
        standard_error_name: Name of the standard errors.
        dtype: Stored dtype, ``"float32"`` or ``"float64"``; dense walks are computed in it.
        dense_limit: Graphs with more nodes are done by blocks of columns of the sparse matrix, or by ``samples``.

    Raises:
        ValueError: For invalid weights or node numbers; the message names the graph.

    References:
        Dwivedi et al., "Graph Neural Networks with Learnable Structural and Positional Representations",
        https://arxiv.org/abs/2110.07875; Rampášek et al., "Recipe for a General, Powerful, Scalable Graph
        Transformer", https://arxiv.org/abs/2205.12454 (chosen steps, space dimension).
    """

    walk_length: int | None = None
    attr_name: str | None = "random_walk_pe"
    steps: tuple[int, ...] | None = None
    space_dimension: float = 0.0
    samples: int | None = None
    seed: int = 0
    standard_error_name: str = "random_walk_pe_standard_error"

    cost: ClassVar[str] = "O(n³ K) per graph; sparse: O(n e K), with samples O(e K) each"
    paper: ClassVar[str] = "Dwivedi et al. 2022"

    def __post_init__(self) -> None:
        if (self.walk_length is None) == (self.steps is None):
            given = "neither" if self.steps is None else "both"
            raise ValueError(
                f"AddRandomWalkPE takes walk_length or steps, got {given}; give one of the two"
            )
        if self.steps is None:
            require_positive_integer("walk_length", self.walk_length)
        else:
            object.__setattr__(self, "steps", _checked_steps(self.steps))
        require_number("space_dimension", self.space_dimension, 0.0)
        if self.samples is not None:
            require_positive_integer("samples", self.samples)
            if self.samples < 2:
                raise ValueError("samples is 1; it must be at least 2 to have a standard error")
        require_seed("seed", self.seed)
        super().__post_init__()

    def fields(self) -> tuple[Field, ...]:
        width = len(self._steps)
        probabilities = Field(self.field_name, "node", width, self.torch_dtype)
        if self.samples is None:
            return (probabilities,)
        return (probabilities, Field(self.standard_error_name, "node", width, self.torch_dtype))

    @property
    def is_equivariant(self) -> bool:
        return self.samples is None  # each node has its own random numbers

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        probabilities = linalg.return_probabilities(
            block.adjacency, max(self._steps), self.torch_dtype
        )
        no_returns = ~probabilities.flatten(1).any(dim=1)
        if bool(no_returns.any()) and bool((no_returns & block.is_directed).any()):
            self._warn_no_return()
        chosen = self._choose(probabilities)
        return (chosen,) if self.samples is None else (chosen, torch.zeros_like(chosen))

    def encode_large(self, graph: LargeGraph) -> tuple[Tensor, ...]:
        longest = max(self._steps)
        if self.samples is None:
            results = (
                linalg.sparse_return_probabilities(
                    graph.adjacency, longest, memory_budget=graph.memory_budget
                ),
            )
        else:
            results = estimate_return_probabilities(
                graph.adjacency,
                longest,
                samples=self.samples,
                seed=self.seed,
                memory_budget=graph.memory_budget,
            )
        if graph.is_directed and not results[0].any():
            self._warn_no_return()
        probabilities, *errors = (torch.from_numpy(result)[None] for result in results)
        return (self._choose(probabilities), *(self._choose(error, 0.0) for error in errors))

    def workspace(self, n: int) -> int:
        return super().workspace(n) + n * max(self._steps)  # all steps, of which some are chosen

    @property
    def _steps(self) -> tuple[int, ...]:
        return tuple(range(1, self.walk_length + 1)) if self.steps is None else self.steps

    def _choose(self, values: Tensor, value_of_step_0: float = 1.0) -> Tensor:
        """The columns of the chosen steps out of those of steps 1, 2, ..., with their factors."""
        if self.steps is not None:
            step_0 = torch.full_like(values[..., :1], value_of_step_0)
            values = torch.cat([step_0, values], dim=-1)[..., list(self.steps)]
        if self.space_dimension > 0:
            steps = torch.tensor(self._steps, dtype=values.dtype, device=values.device)
            values = values * steps ** (self.space_dimension / 2)
        return values

    def _warn_no_return(self) -> None:
        """Say that an acyclic graph has an encoding of zeros, which is right but carries nothing."""
        warnings.warn(
            f"AddRandomWalkPE: some directed graphs have no walk of up to {max(self._steps)} steps back to any node, "
            "as a directed acyclic graph has none at all, so their encoding is zero; take AddDirectedRandomWalkPE or "
            "AddMagneticLaplacianPE, or apply ToUndirected() first if directions do not matter",
            UserWarning,
            stacklevel=2,
        )


def _checked_steps(steps: object) -> tuple[int, ...]:
    """Numbers of steps as a tuple; raises a ValueError unless they are integers >= 0, each once."""
    if not isinstance(steps, list | tuple | range) or len(steps) == 0:
        raise ValueError(f"steps is {steps!r}; it must be a list of integers >= 0")
    for position, step in enumerate(steps):
        is_integer = hasattr(step, "__index__") and not isinstance(step, bool)
        if not is_integer or operator.index(step) < 0:
            raise ValueError(f"steps[{position}] is {step!r}; it must be an integer >= 0")
    if len(set(steps)) < len(steps):
        raise ValueError(f"steps is {steps!r}, with a number twice; give each number of steps once")
    return tuple(operator.index(step) for step in steps)
