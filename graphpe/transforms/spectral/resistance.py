"""Effective resistance and commute time: distances that count all paths, not only the shortest."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from scipy.sparse import csgraph
from torch import Tensor

from graphpe.blocks import Block, LargeGraph
from graphpe.checks import require_choice, require_number
from graphpe.fields import Field
from graphpe.linalg.large.edge_resistances import edge_resistances
from graphpe.transforms.core.undirected import UndirectedEncoding
from graphpe.transforms.spectral import shared


@dataclass(frozen=True, repr=False)
class _CappedDistance(UndirectedEncoding):
    """A distance of pairs or edges: its value, cut at ``cap``, and whether it is infinite."""

    level: Literal["pair", "edge"] = "pair"
    attr_name: str = ""
    cap: float = 1.0

    def __post_init__(self) -> None:
        require_choice("level", self.level, ("pair", "edge"))
        require_number("cap", self.cap, 0.0, may_equal=False, below=1e38)  # of float32
        super().__post_init__()

    @abstractmethod
    def distances(self, block: Block) -> Tensor:
        """``[b, n, n]``; anything between components."""

    @abstractmethod
    def large_distances(self, graph: LargeGraph) -> np.ndarray:
        """``[e]`` distances of the ends of the edges; infinite between components."""

    def fields(self) -> tuple[Field, ...]:
        return (Field(self.field_name, self.level, 2, self.torch_dtype),)

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        distance = self.distances(block)
        unreachable = ~block.shared(shared.same_component)
        if self.level == "edge":
            distance, unreachable = distance[block.edges], unreachable[block.edges]
        return (self._capped(distance, unreachable),)

    @property
    def has_sparse_form(self) -> bool:
        return self.level == "edge"

    def encode_large(self, graph: LargeGraph) -> tuple[Tensor, ...]:
        distance = torch.from_numpy(self.large_distances(graph))
        return (self._capped(distance, torch.isinf(distance)),)

    def _capped(self, distance: Tensor, unreachable: Tensor) -> Tensor:
        cap = float(self.cap)
        distance = distance.masked_fill(unreachable, cap).clamp_max(cap)
        return torch.stack([distance, unreachable.to(distance.dtype)], dim=-1)


@dataclass(frozen=True, repr=False)
class AddEffectiveResistancePE(_CappedDistance):
    r"""Adds the effective resistance between nodes, with edges as conductors.

    .. math:: R_{ij} = L^+_{ii} + L^+_{jj} - 2 L^+_{ij}, \qquad L = D - A

    It is infinite between connected components, 0 on the diagonal, and a metric. Over the edges of a graph of n nodes
    and c components :math:`\sum w R = n - c` (Foster). Self-loops are removed; parallel edges add up; ``edge_weight``
    is used if it is there, as a conductance. Each value is right to nearly all its digits, however the weights
    differ.

    Writes:
        ``attr_name``: ``[n * n, 2]``, row-major (pair level), or ``[e, 2]`` in the order of ``edge_index`` (edge
        level): the resistance, at most ``cap``, and 1 where it is infinite (the first column is ``cap`` there), else 0.

    Args:
        level: ``"pair"`` for all pairs of nodes, ``"edge"`` for the ends of the edges.
        attr_name: Name of the field.
        cap: Largest value that is stored. Without weights no finite resistance exceeds n − 1.
        directed: ``"symmetrize"`` or ``"error"``: what to do with a directed graph.
        dtype: Stored dtype, ``"float32"`` or ``"float64"``.
        dense_limit: Graphs with more nodes are factorised at edge level; pairs are always dense.

    Raises:
        ValueError: For invalid settings, weights or node numbers, a graph too large for the memory budget, or one
            at edge level whose factor would be too dense.

    References:
        Klein and Randić, "Resistance distance", Journal of Mathematical Chemistry 1993; Zhang et al., "Rethinking the
        Expressive Power of GNNs via Graph Biconnectivity", https://arxiv.org/abs/2301.09505.
    """

    attr_name: str = "effective_resistance_pe"
    cap: float = 1000.0

    cost: ClassVar[str] = "O(n³) per graph; sparse edges: a factorisation and a solve per edge"
    paper: ClassVar[str] = "Klein & Randić 1993; Zhang et al. 2023"
    sparse_alternative: ClassVar[str] = "take AddRandomWalkPE(16, samples=64) instead, or "

    def distances(self, block: Block) -> Tensor:
        return block.shared(shared.resistances)

    def large_distances(self, graph: LargeGraph) -> np.ndarray:
        return _large_resistances(graph)


@dataclass(frozen=True, repr=False)
class AddCommuteTimePE(_CappedDistance):
    r"""Adds the commute time between nodes: the expected number of steps of a random walk from i to j and back.

    .. math:: C_{ij} = \mathrm{vol} \cdot R_{ij}

    with the effective resistance :math:`R_{ij}` of `AddEffectiveResistancePE` and the volume :math:`\sum d` of the
    connected component. It does not change when all weights are scaled. It is infinite between components. Self-loops
    are removed; parallel edges add up; ``edge_weight`` is used if it is there.

    Writes:
        ``attr_name``: ``[n * n, 2]``, row-major (pair level), or ``[e, 2]`` in the order of ``edge_index`` (edge
        level): the commute time, at most ``cap``, and 1 where it is infinite (the first column is ``cap`` there),
        else 0.

    Args:
        level: ``"pair"`` for all pairs of nodes, ``"edge"`` for the ends of the edges.
        attr_name: Name of the field.
        cap: Largest value that is stored. The commute time of a tree is at most :math:`2 (n - 1)^2`.
        directed: ``"symmetrize"`` or ``"error"``: what to do with a directed graph.
        dtype: Stored dtype, ``"float32"`` or ``"float64"``.
        dense_limit: Graphs with more nodes are factorised at edge level; pairs are always dense.

    Raises:
        ValueError: For invalid settings, weights or node numbers, a graph too large for the memory budget, or one
            at edge level whose factor would be too dense.

    References:
        Chandra et al., "The electrical resistance of a graph captures its commute and cover times", STOC 1989.
    """

    attr_name: str = "commute_time_pe"
    cap: float = 1e6

    cost: ClassVar[str] = "O(n³) per graph; sparse edges: a factorisation and a solve per edge"
    paper: ClassVar[str] = "Chandra et al. 1989"
    sparse_alternative: ClassVar[str] = "take AddRandomWalkPE(16, samples=64) instead, or "

    def distances(self, block: Block) -> Tensor:
        degrees = block.shared(shared.simple_degrees)
        volumes = (block.shared(shared.same_component) * degrees.unsqueeze(-2)).sum(-1)
        return volumes.unsqueeze(-1) * block.shared(shared.resistances)

    def large_distances(self, graph: LargeGraph) -> np.ndarray:
        adjacency = graph.undirected_adjacency
        degrees = adjacency.sum(1) - adjacency.diagonal()
        _, labels = csgraph.connected_components(adjacency, directed=False)
        source, _ = graph.edges
        volumes, resistances = (
            np.bincount(labels, degrees)[labels][source],
            _large_resistances(graph),
        )
        # An edge of weight 0 from a node without others has volume 0 and infinite resistance.
        return np.multiply(volumes, resistances, out=resistances, where=np.isfinite(resistances))


def _large_resistances(graph: LargeGraph) -> np.ndarray:
    return edge_resistances(
        graph.undirected_adjacency,
        *graph.edges,
        memory_budget=graph.memory_budget,
        name=graph.name,
    )
