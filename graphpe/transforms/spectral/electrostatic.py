"""Graphs as electrical networks: the potential at one node of a charge at another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from graphpe.blocks import Block
from graphpe.checks import require_choice
from graphpe.fields import Field
from graphpe.linalg import transition_matrix, without_self_loops
from graphpe.transforms.core.undirected import UndirectedEncoding
from graphpe.transforms.spectral import shared


def potentials(block: Block) -> Tensor:
    """``[b, n, n]``: V_ij = G_ij − G_jj with G = L⁺ of each component; 0 between components.

    As L⁺ is −R/2 with the means of rows and columns taken off, V_ij = (r_i − r_j − R_ij) / 2, where r are the
    means of R over the component.
    """
    resistance = block.shared(shared.resistances)
    means = resistance.sum(-1) / block.shared(shared.component_sizes)
    potential = (means.unsqueeze(-1) - means.unsqueeze(-2)).sub_(resistance).div_(2)
    return shared.within_components(block, potential)


@dataclass(frozen=True, repr=False)
class AddElectrostaticPE(UndirectedEncoding):
    r"""Adds the potential at each node i of a unit charge at each node j, grounded at j.

    .. math:: V_{ij} = G_{ij} - G_{jj}, \qquad G = (D - A)^+

    with the pseudo-inverse of each connected component. Nodes of different components do not interact: 0. Inside
    one, :math:`V_{ij} < 0` for :math:`i \ne j`. Self-loops are removed; ``edge_weight`` is used if it is there, as a
    conductance.

    Writes:
        ``attr_name``: ``[n * n, 1]``, row-major (i, j) (pair level).

    Args:
        attr_name: Name of the field.
        directed: ``"symmetrize"`` or ``"error"``: what to do with a directed graph.
        dtype: Stored dtype, ``"float32"`` or ``"float64"``.
        dense_limit: Of no effect, as there is only a dense form.

    Raises:
        ValueError: For invalid weights or node numbers, or a graph too large for the memory budget.

    References:
        Kreuzer et al., "Rethinking Graph Transformers with Spectral Attention", https://arxiv.org/abs/2106.03893.
    """

    attr_name: str = "electrostatic_pe"

    cost: ClassVar[str] = "O(n³) per graph"
    paper: ClassVar[str] = "Kreuzer et al. 2021"
    sparse_alternative: ClassVar[str] = "take AddRandomWalkPE(16, samples=64) instead, or "

    def fields(self) -> tuple[Field, ...]:
        return (Field(self.field_name, "pair", 1, self.torch_dtype),)

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        return (block.shared(potentials).unsqueeze(-1),)


@dataclass(frozen=True, repr=False)
class AddElectrostaticSE(UndirectedEncoding):
    r"""Adds ten statistics of the potentials :math:`V_{ij}` of `AddElectrostaticPE` to each node.

    Of node v, in this order: minimum, maximum, mean and standard deviation of the column :math:`V_{\cdot v}`, the
    same of the row :math:`V_{v \cdot}`, and the sums over neighbours :math:`\sum_i P_{iv} V_{iv}` and
    :math:`\sum_j P_{vj} V_{vj}` with :math:`P = D^{-1} A`. Statistics are taken over the connected component of the
    node, itself included; the standard deviation is the unbiased one, 0 for a single node. Self-loops are removed;
    ``edge_weight`` is used if it is there, as a conductance.

    Also known as ElstaticSE in GraphGPS.

    Writes:
        ``attr_name``: ``[n, 10]`` (node level).

    Args:
        attr_name: Name of the field; None concatenates it to ``x``.
        compat: None, or ``"graphgps"`` for the numbers of GraphGPS: its sixth repeats the second (the maximum of the
            column), and a charge grounds the other components as well (:math:`V_{ij} = -G_{jj}` there), over which
            its statistics are taken, too. The two agree on connected graphs.
        directed: ``"symmetrize"`` or ``"error"``: what to do with a directed graph.
        dtype: Stored dtype, ``"float32"`` or ``"float64"``.
        dense_limit: Of no effect, as there is only a dense form.

    Raises:
        ValueError: For invalid settings, weights or node numbers, or a graph too large for the memory budget.

    References:
        Kreuzer et al., "Rethinking Graph Transformers with Spectral Attention", https://arxiv.org/abs/2106.03893;
        Rampášek et al., "Recipe for a General, Powerful, Scalable Graph Transformer",
        https://arxiv.org/abs/2205.12454 (ElstaticSE).
    """

    attr_name: str | None = "electrostatic_se"
    compat: Literal["graphgps"] | None = None

    cost: ClassVar[str] = "O(n³) per graph"
    paper: ClassVar[str] = "Kreuzer et al. 2021; Rampášek et al. 2022"
    sparse_alternative: ClassVar[str] = "take AddRandomWalkPE(16, samples=64) instead, or "

    def __post_init__(self) -> None:
        require_choice("compat", self.compat, (None, "graphgps"))
        super().__post_init__()

    def fields(self) -> tuple[Field, ...]:
        return (Field(self.field_name, "node", 10, self.torch_dtype),)

    def workspace(self, n: int) -> int:
        return super().workspace(n) + 6 * n * n

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        if block.n == 0:
            return (torch.zeros(len(block), 0, 10, dtype=torch.float64),)
        potential = block.shared(potentials)
        sizes, others = block.shared(shared.component_sizes), None
        if bool(block.component_labels.any()):
            others = ~block.shared(shared.same_component)
            if self.compat == "graphgps":
                potential = torch.where(others, -_green_diagonal(block).unsqueeze(-2), potential)
                sizes, others = torch.full_like(sizes, block.n), None
        transposed = potential.mT.contiguous()
        step = transition_matrix(without_self_loops(block.undirected_adjacency))

        columns = _statistics(transposed, potential, sizes, others)
        rows = _statistics(potential, transposed, sizes, others)
        if self.compat == "graphgps":
            rows[1] = columns[1]
        exchange = step * potential
        neighbours = [exchange.mT.contiguous().sum(-1), exchange.sum(-1)]
        return (torch.stack([*columns, *rows, *neighbours], dim=-1),)


def _green_diagonal(block: Block) -> Tensor:
    """``[b, n]``: G_jj = r_j − r/2, with the means of R over the component."""
    resistance = block.shared(shared.resistances)
    reachable = block.shared(shared.same_component).double()
    means = resistance.sum(-1) / reachable.sum(-1)
    return means - (reachable * means.unsqueeze(-2)).sum(-1) / reachable.sum(-1) / 2


def _statistics(
    rows: Tensor, transposed: Tensor, sizes: Tensor, others: Tensor | None
) -> list[Tensor]:
    """Minimum, maximum, mean and standard deviation of each row of potentials over its component, each ``[b, n]``.

    Args:
        rows: ``[b, n, n]``; 0 where ``others``, and on the diagonal.
        transposed: The same with rows as columns, of which extrema are found faster.
        sizes: ``[b, n]`` number of nodes of the component.
        others: ``[b, n, n]`` which nodes are not in the component; None if all are.
    """
    mean = rows.sum(-1) / sizes
    deviation = rows - mean.unsqueeze(-1)
    if others is not None:
        deviation.masked_fill_(others, 0.0)
    variance = deviation.square_().sum(-1) / (sizes - 1).clamp_min(1)
    # Of others there is a 0 only, as of the node itself.
    return [transposed.amin(-2), transposed.amax(-2), mean, variance.sqrt_()]
