"""Attention biases that fall with the distance, carried over from sequences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from graphpe.blocks import Block
from graphpe.checks import require_number, require_positive_integer
from graphpe.fields import Field
from graphpe.transforms.core.base import Encoding
from graphpe.transforms.distances.lengths import hop_distances

# exp(-10,000) is 0 in any dtype, and half precision still holds the number.
_LOWEST = -1e4


@dataclass(frozen=True, repr=False)
class AddDistanceDecayPE(Encoding):
    r"""Adds biases for attention scores that fall with the distance between two nodes, one per head.

    .. math:: b^{(h)}_{ij} = -\left(\frac{d_{ij}}{\alpha_h}\right)^{\beta}, \qquad
        \alpha_h = 2^{8h/H}, \quad h = 1, \ldots, H

    where :math:`d_{ij}` is the number of edges of a shortest path. With the exponent :math:`\beta = 1` this is ALiBi,
    whose slopes are :math:`m_h = 1/\alpha_h`; another exponent makes it the logarithm of a generalised Gaussian, as
    in BAM. It was made for sequences longer than those seen in training, and is meant here for larger graphs.

    Paths follow directed edges, from the first node of the pair (the query) to the second (the key). Self-loops,
    parallel edges and weights change nothing; an edge of weight 0 is no edge. No bias is lower than −10⁴, at which
    nothing is left of a score.

    Writes:
        ``attr_name``: ``[n * n, heads]`` biases, 0 on the diagonal (pair level).

    Args:
        heads: Number of heads H.
        attr_name: Name of the field.
        exponent: :math:`\beta > 0`.
        scales: The distances :math:`\alpha_h > 0`, one per head; None takes those of ALiBi.
        cap: Distances beyond it count as it, and so do pairs that no path joins. None: distances are taken as they
            are, and pairs that no path joins have −10⁴.
        dtype: Stored dtype, ``"float32"`` or ``"float64"``.
        dense_limit: Of no effect: distances of all pairs are a dense matrix.

    Raises:
        ValueError: For invalid weights or node numbers, or a graph too large for the memory budget; the message names
            the graph.

    References:
        Press, Smith and Lewis, "Train Short, Test Long: Attention with Linear Biases Enables Input Length
        Extrapolation", https://arxiv.org/abs/2108.12409;
        Bianchessi et al., "Bayesian Attention Mechanism: A Probabilistic Framework for Positional Encoding and Context
        Length Extrapolation", https://arxiv.org/abs/2505.22842.
    """

    heads: int = 8
    attr_name: str | None = "distance_decay_pe"
    exponent: float = 1.0
    scales: tuple[float, ...] | None = None
    cap: float | None = None

    cost: ClassVar[str] = "O(n³) per graph"
    paper: ClassVar[str] = "Press et al. 2022"
    sparse_alternative: ClassVar[str] = "take AddLandmarkDistancePE instead, or "

    def __post_init__(self) -> None:
        require_positive_integer("heads", self.heads)
        require_number("exponent", self.exponent, 0.0, may_equal=False)
        if self.cap is not None:
            require_number("cap", self.cap, 0.0, may_equal=False, below=1e38)
        if self.scales is not None:
            object.__setattr__(self, "scales", _checked_scales(self.scales, self.heads))
        super().__post_init__()

    def fields(self) -> tuple[Field, ...]:
        return (Field(self.field_name, "pair", self.heads, self.torch_dtype),)

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        hops = block.shared(hop_distances).clamp(max=block.n).long()  # n where no path leads
        biases = self._biases(block.n).to(hops.device).index_select(0, hops.flatten())
        return (biases.view(*hops.shape, self.heads),)

    def _biases(self, n: int) -> Tensor:
        """``[n + 1, heads]`` for distances 0 to n − 1, and for no path."""
        distance = torch.arange(n + 1, dtype=torch.float64)
        distance[n] = torch.inf
        if self.cap is not None:
            distance.clamp_(max=float(self.cap))
        scales = self.scales or [2 ** (8 * h / self.heads) for h in range(1, self.heads + 1)]
        decay = (distance[:, None] / torch.tensor(scales, dtype=torch.float64)) ** self.exponent
        return decay.neg_().clamp_(min=_LOWEST).to(self.torch_dtype)  # lowest if infinite

    def workspace(self, n: int) -> int:
        return super().workspace(n) + 3 * n * n  # distances, and paths through one more node


def _checked_scales(scales: object, heads: int) -> tuple[float, ...]:
    if not isinstance(scales, list | tuple) or len(scales) != heads:
        raise ValueError(
            f"scales is {scales!r}; it must be a list of {heads} numbers, one per head"
        )
    for head, scale in enumerate(scales):
        require_number(f"scales[{head}]", scale, 0.0, may_equal=False)
    return tuple(scales)
