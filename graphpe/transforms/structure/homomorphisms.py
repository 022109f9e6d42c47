"""Counts of homomorphisms from small rooted graphs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from graphpe.blocks import Block, LargeGraph
from graphpe.checks import require_positive_integer
from graphpe.fields import Field
from graphpe.linalg.structure.homomorphisms import (
    Tree,
    closed_walks,
    rooted_trees,
    sparse_closed_walks,
    tree_homomorphisms,
)
from graphpe.transforms.core.undirected import UndirectedEncoding
from graphpe.transforms.structure.cycles import checked_lengths
from graphpe.transforms.structure.simple_graph import (
    by_graph,
    simple_adjacency,
    simple_neighbors,
    simple_sparse_adjacency,
)

_MOST_TREE_NODES = (
    10  # there are 719 rooted trees with 10 nodes, and three times as many with each node more
)


_MANY_PRODUCTS = 10**9  # of nodes and entries of the adjacency matrix; about half a minute


@dataclass(frozen=True, repr=False)
class AddHomomorphismCountSE(UndirectedEncoding):
    r"""Adds the numbers of homomorphisms from small rooted graphs that take the root to each node.

    .. math:: \hom(F_r, G_v) = \#\{ \varphi : V(F) \to V(G) \mid \varphi(r) = v,\ ij \in E(F) \Rightarrow
        \varphi(i) \varphi(j) \in E(G) \}

    The patterns F are cycles, whose homomorphisms are closed walks, :math:`(A^k)_{vv}`, and all rooted trees up to a
    number of nodes: the part of MoSE's bases that costs no more than a walk. Unlike the counts of subgraphs, maps may
    take several nodes of F to one node of G.

    With a tree written as brackets, one pair for each node and the root outside, the columns are by default
    (`patterns` lists those of any setting):

    | columns | patterns |
    |---|---|
    | 0 to 5 | cycles with 3, 4, 5, 6, 7, 8 nodes |
    | 6 | the edge, ``(())``: the degree |
    | 7, 8 | trees with 3 nodes: ``(()())``, ``((()))`` |
    | 9 to 12 | with 4: ``(()()())``, ``(()(()))``, ``((()()))``, ``(((())))`` |
    | 13 to 21 | with 5: ``(()()()())``, ``(()()(()))``, ``(()(()()))``, ``(()((())))``, ``((())(()))``, \
``((()()()))``, ``((()(())))``, ``(((()())))``, ``((((()))))`` |

    Numbers grow like degrees to the power of the nodes of a pattern; they are exact up to 2⁵³ (float32, as stored by
    default, up to 2²⁴) and rounded above. Self-loops, parallel edges and weights do not count.

    Writes:
        ``attr_name``: ``[n, len(patterns)]`` numbers of homomorphisms (node level).

    Args:
        cycle_lengths: Numbers of nodes of the cycles, from 3 to 8; may be empty. Closed walks of a graph over
            ``dense_limit`` take time in proportion to nodes times edges, minutes for tens of thousands of nodes (with
            a warning); ``cycle_lengths=()`` leaves the trees, which take time in proportion to edges.
        max_tree_nodes: Trees have 2 to so many nodes, at most 10; with 1 there are none.
        attr_name: Name of the field; None concatenates it to ``x``.
        logarithm: Write log(1 + count), which networks learn from more easily than from numbers of many magnitudes.
        directed: What to do with a directed graph: ``"symmetrize"`` it with a warning, or ``"error"``.
        dtype: Stored dtype, ``"float32"`` or ``"float64"``.
        dense_limit: Graphs with more nodes are done in sparse form, closed walks by blocks of nodes.

    Raises:
        ValueError: For invalid weights or node numbers, a directed graph with ``directed="error"``, or counts too large
            for the dtype; the message names the graph.

    References:
        Bao et al., "Homomorphism Counts as Structural Encodings for Graph Learning" (MoSE),
        https://arxiv.org/abs/2410.18676.
    """

    cycle_lengths: tuple[int, ...] = (3, 4, 5, 6, 7, 8)
    max_tree_nodes: int = 5
    attr_name: str | None = "homomorphism_count_se"
    logarithm: bool = False

    cost: ClassVar[str] = "O(n³) per graph; sparse: O(n e) for cycles, O(e) for trees"
    paper: ClassVar[str] = "Bao et al. 2025"

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "cycle_lengths", checked_lengths("cycle_lengths", self.cycle_lengths)
        )
        require_positive_integer("max_tree_nodes", self.max_tree_nodes)
        if self.max_tree_nodes > _MOST_TREE_NODES:
            raise ValueError(
                f"max_tree_nodes is {self.max_tree_nodes}; it must be at most {_MOST_TREE_NODES}, for which there are "
                "1,204 trees"
            )
        if not self.patterns:
            raise ValueError(
                "cycle_lengths is empty and max_tree_nodes is 1, so there is nothing to count; "
                "give a cycle length, or max_tree_nodes=2"
            )
        super().__post_init__()

    @property
    def patterns(self) -> tuple[str, ...]:
        """What each column counts: ``"C5"`` is the cycle with 5 nodes, a tree is written as brackets."""
        cycles = tuple(f"C{length}" for length in self.cycle_lengths)
        return cycles + tuple(_brackets(tree) for tree in self._trees)

    @property
    def _trees(self) -> tuple[Tree, ...]:
        return tuple(tree for n in range(2, self.max_tree_nodes + 1) for tree in rooted_trees(n))

    def fields(self) -> tuple[Field, ...]:
        return (Field(self.field_name, "node", len(self.patterns), self.torch_dtype),)

    def encode_block(self, block: Block) -> tuple[Tensor, ...]:
        trees = by_graph(tree_homomorphisms(simple_neighbors(block), self._trees), block)
        if not self.cycle_lengths:
            return (self._scaled(trees),)
        walks = closed_walks(simple_adjacency(block), max(self.cycle_lengths))
        return (self._scaled(torch.cat([self._of_lengths(walks), trees], dim=-1)),)

    def encode_large(self, graph: LargeGraph) -> tuple[Tensor, ...]:
        trees = by_graph(tree_homomorphisms(simple_neighbors(graph), self._trees), graph)
        if not self.cycle_lengths:
            return (self._scaled(trees),)
        adjacency = simple_sparse_adjacency(graph)
        if graph.n * adjacency.nnz > _MANY_PRODUCTS:
            _warn_slow_cycles()
        walks = sparse_closed_walks(
            adjacency,
            max(self.cycle_lengths),
            memory_budget=graph.memory_budget,
        )
        walks = self._of_lengths(torch.from_numpy(walks)[None])
        return (self._scaled(torch.cat([walks, trees], dim=-1)),)

    def workspace(self, n: int) -> int:
        hanging = sum(len(rooted_trees(size)) for size in range(1, self.max_tree_nodes))
        return super().workspace(n) + (hanging + max(self.cycle_lengths, default=0)) * n

    def _scaled(self, counts: Tensor) -> Tensor:
        return counts.double().log1p() if self.logarithm else counts

    def _of_lengths(self, walks: Tensor) -> Tensor:
        return walks[..., [length - 1 for length in self.cycle_lengths]]


def _warn_slow_cycles() -> None:
    """Say what takes so long; trees alone take seconds."""
    warnings.warn(
        "AddHomomorphismCountSE: closed walks from all nodes of a large graph take time in proportion to nodes times "
        "edges, which may be minutes for some graphs here; cycle_lengths=() counts trees only, which is fast",
        UserWarning,
        stacklevel=2,
    )


def _brackets(tree: Tree) -> str:
    return f"({''.join(_brackets(child) for child in tree)})"
