"""Attention along the edges of a graph and of a random expander on its nodes."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from graphpe.nn.attention.base import AttentionPlaces, GlobalAttention, check_heads
from graphpe.nn.attention.expander_edges import expander_edges
from graphpe.nn.attention.sparse import (
    SoftmaxKind,
    check_softmax,
    softmax_by_group,
    weighted_sum,
)
from graphpe.nn.blocks import check_dropout, check_not_negative, check_positive
from graphpe.nn.layout import GraphLayout

# Rows of the table of vectors of edges that have none of their own.
_EDGE, _EXPANDER, _TO_GLOBAL, _FROM_GLOBAL = range(4)


class ExpanderAttention(GlobalAttention):
    r"""Sparse global attention (Exphormer): along edges, along those of a random expander, and through virtual nodes.

    For each head, with :math:`d` channels per head, over the edges :math:`j \to i` of all kinds:

    .. math::
        a_{ij} = \mathrm{softmax}_j\, \Big(\tfrac{1}{\sqrt{d}} \sum_c \big(Q x_i \odot K x_j \odot E e_{ij}\big)_c\Big),
        \qquad y_i = O \sum_j a_{ij} V x_j

    where :math:`e_{ij}` is the vector of the edge, and one learned vector for each kind of edge that has none: edges
    of the graph without features, those of the expander (see :func:`expander_edges`), those to and those from virtual
    nodes. An edge of the graph that is one of the expander too counts twice. Q, K, V, E have no bias. A token of a
    graph is joined with all of its nodes, both ways.

    Each of the ``virtual_nodes`` :math:`u` has a learned vector; it attends to all nodes of the graph by the same
    formula, and the nodes then attend to :math:`u + \sum_j a_{uj} V x_j`. (Those of the published code see in a layer
    what the nodes were one layer before.)

    Time and memory grow linearly with nodes and edges. The expander depends on the numbering of the nodes, so the
    output is not equivariant to it: another numbering is like another ``seed``.

    Args:
        channels: Width of the nodes.
        heads: Number of heads; must divide ``channels``.
        edge_channels: Width of the vectors of edges; 0: there are none.
        dropout: Probability of dropout of attention weights.
        degree: Degree of the expander, an even number.
        virtual_nodes: Number of virtual nodes of each graph.
        softmax: ``"clamp"``: of logits that are clamped to ±5, as published. ``"max"``: of the logits as they are.
        seed: Seed of the expander.

    Raises:
        ValueError: If a size is not a positive integer, ``heads`` does not divide ``channels``, ``degree`` is odd,
            ``dropout`` is no probability less than 1, or for another ``softmax``.

    References:
        Shirzad et al., "Exphormer: Sparse Transformers for Graphs", https://arxiv.org/abs/2303.06147.
    """

    def __init__(
        self,
        channels: int,
        heads: int,
        edge_channels: int = 0,
        dropout: float = 0.0,
        degree: int = 6,
        virtual_nodes: int = 0,
        softmax: SoftmaxKind = "clamp",
        seed: int = 0,
    ) -> None:
        super().__init__()
        check_heads(channels, heads)
        check_positive(degree=degree)
        check_not_negative(edge_channels=edge_channels, virtual_nodes=virtual_nodes, seed=seed)
        check_dropout(dropout)
        check_softmax(softmax)
        if degree % 2:
            raise ValueError(
                f"degree is {degree}; it must be even, since the expander is made of cycles"
            )
        self.heads = heads
        self.degree = degree
        self.softmax = softmax
        self.seed = seed
        self.query = nn.Linear(channels, channels, bias=False)
        self.key = nn.Linear(channels, channels, bias=False)
        self.value = nn.Linear(channels, channels, bias=False)
        self.has_edge_vectors = edge_channels > 0
        self.edge = nn.Linear(edge_channels or channels, channels, bias=False)
        self.kinds = nn.Parameter(torch.randn(4, edge_channels or channels))
        self.virtual = nn.Parameter(torch.randn(virtual_nodes, channels)) if virtual_nodes else None
        self.output = nn.Linear(channels, channels)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, places: AttentionPlaces) -> Tensor:
        layout = places.layout
        query, key, value = self.query(x), self.key(x), self.value(x)
        expander = expander_edges(layout, self.degree, self.seed)
        edges = [self._graph_edges(places), self._of_kind(_EXPANDER, expander)]
        if places.tokens:
            nodes = torch.arange(layout.num_nodes, device=x.device)
            to_token = torch.stack([nodes, layout.num_nodes + layout.batch])
            edges.append(self._of_kind(_TO_GLOBAL, to_token))
            edges.append(self._of_kind(_FROM_GLOBAL, to_token.flip(0)))
        if self.virtual is not None:
            to_virtual = self._to_virtual_nodes(layout)
            virtual = self.virtual.repeat(layout.num_graphs, 1)
            edge_index, factor = self._of_kind(_TO_GLOBAL, to_virtual)
            virtual = virtual + self._attend(self.query(virtual), key, value, edge_index, factor)
            # They follow the rows of x.
            key = torch.cat([key, self.key(virtual)])
            value = torch.cat([value, self.value(virtual)])
            node, number = to_virtual
            edges.append(self._of_kind(_FROM_GLOBAL, torch.stack([len(x) + number, node])))
        edge_index = torch.cat([index for index, _ in edges], dim=1)
        factor = torch.cat([factor for _, factor in edges])
        return self.output(self._attend(query, key, value, edge_index, factor))

    def _graph_edges(self, places: AttentionPlaces) -> tuple[Tensor, Tensor]:
        """The edges of the graphs, and the factor E e of each."""
        if self.has_edge_vectors:
            return places.edge_index, self.edge(places.edge)
        return self._of_kind(_EDGE, places.edge_index)

    def _of_kind(self, kind: int, edge_index: Tensor) -> tuple[Tensor, Tensor]:
        """Edges without vectors of their own, and the factor E e of each."""
        factor = self.edge(self.kinds[kind])
        return edge_index, factor.expand(edge_index.size(1), -1)

    def _to_virtual_nodes(self, layout: GraphLayout) -> Tensor:
        """Each node with each virtual node of its graph, ``[2, N * virtual_nodes]``."""
        per_graph = len(self.virtual)
        node = torch.arange(layout.num_nodes, device=layout.batch.device)
        number = layout.batch[:, None] * per_graph + torch.arange(per_graph, device=node.device)
        return torch.stack([node.repeat_interleave(per_graph), number.flatten()])

    def _attend(
        self, query: Tensor, key: Tensor, value: Tensor, edge_index: Tensor, factor: Tensor
    ) -> Tensor:
        """Attention of the rows of ``query`` along edges (j, i), ``[rows, channels]``."""
        source, target = edge_index
        scores = query.index_select(0, target) * key.index_select(0, source) * factor
        logits = scores.unflatten(-1, (self.heads, -1)).sum(-1)
        logits = logits / (query.size(1) // self.heads) ** 0.5
        weights = self.dropout(softmax_by_group(logits, target, len(query), self.softmax))
        return weighted_sum(weights, value.index_select(0, source), target, len(query))
