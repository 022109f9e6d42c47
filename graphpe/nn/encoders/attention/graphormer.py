"""The biases of Graphormer's attention: the distance of two nodes, and the edges on the way."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from graphpe.fields import Level
from graphpe.nn.blocks import check_not_negative, check_positive
from graphpe.nn.edges import read_edges
from graphpe.nn.encoders.base import FieldEncoder, FieldRequirement
from graphpe.nn.features import FeatureEmbedding, has_edge_features
from graphpe.nn.layout import GraphLayout, graph_layout, node_pairs
from graphpe.ragged import offsets_of
from graphpe.tasks import Features


class GraphormerBias(FieldEncoder):
    r"""Embeds the distance of each pair of nodes, and the features of the edges on a shortest path between them.

    .. math:: b_{ij} = E[s_{ij}] + \frac{1}{T_{ij}} \sum_{t=1}^{T_{ij}} W_t\, x(e_t)

    where :math:`s_{ij}` is the category of the distance (no path is a category of its own),
    :math:`e_1, e_2, \dots` are the edges of the path, of which the field gives the first :math:`T_{ij}` (for a node
    with itself, or where no path leads, there are none and the second term is 0), :math:`x(e)` embeds the features of
    an edge, and :math:`W_t` belongs to position t. The second term is there if features of edges are declared.

    :class:`~graphpe.nn.Graphormer` adds it to the logits of all layers (``out_channels=heads``); each layer of
    Transformer and GPS maps it to its heads by its own linear map. The degrees go through
    :class:`~graphpe.nn.EmbeddingEncoder`.

    Time and memory grow with :math:`\sum n^2` over the graphs of a batch.

    Args:
        out_channels: Width of the output; the published bias has one channel per head.
        categories: Number of categories of a distance: ``cap + 2`` for ``AddShortestPathPE(cap)``.
        columns: Number of columns of the distances, whose embeddings are summed: 2 for
            ``AddShortestPathPE(direction="both")``.
        edge_categories: Number of categories of each integer column of ``edge_attr``.
        edge_continuous: Number of float columns of ``edge_attr``.
        hidden_channels: Width of the embedding of the edges' features.
        max_distance: Number of edges of a path that the field gives.
        field: Name of the pair field of distances, integers.
        path_field: Name of the pair field of the positions of the edges in the edge list of their graph, −1 where
            there is none.

    Raises:
        ValueError: For invalid settings; in :meth:`forward` if a field is missing or doesn't fit, for a category out of
            range, or if the edges of the batch are not those that the paths are made of.

    References:
        Ying et al., "Do Transformers Really Perform Bad for Graph Representation?", https://arxiv.org/abs/2106.05234.
    """

    level: Level = "pair"

    def __init__(
        self,
        out_channels: int,
        categories: int = 22,
        columns: int = 1,
        edge_categories: Sequence[int] = (),
        edge_continuous: int = 0,
        hidden_channels: int = 32,
        max_distance: int = 5,
        field: str = "shortest_path_pe",
        path_field: str = "shortest_path_edge_pe",
    ) -> None:
        super().__init__()
        check_positive(
            out_channels=out_channels,
            categories=categories,
            columns=columns,
            hidden_channels=hidden_channels,
            max_distance=max_distance,
        )
        _check_edge_categories(edge_categories)
        check_not_negative(edge_continuous=edge_continuous)
        self.out_channels = out_channels
        self.categories = categories
        self.requires = (
            FieldRequirement(
                field, "pair", columns, f"AddShortestPathPE(cap={categories - 2})", "integer"
            ),
        )
        # One table in which each column has its own rows is one lookup instead of many.
        self.distance = nn.EmbeddingBag(columns * categories, out_channels, mode="sum")
        features = Features(edge_categories=tuple(edge_categories), edge_continuous=edge_continuous)
        self.path: _PathBias | None = None
        if has_edge_features(features):
            self.path = _PathBias(features, hidden_channels, out_channels, max_distance, path_field)
            transform = f"AddShortestPathEdgePE(max_distance={max_distance})"
            self.requires += (
                FieldRequirement(path_field, "pair", max_distance, transform, "integer"),
            )

    def forward(self, data: Data) -> Tensor:
        layout = graph_layout(data)
        distances, *paths = self.read(data, layout)
        outside = (distances < 0) | (distances >= self.categories)
        if bool(outside.any()):
            raise ValueError(
                f"{self.requires[0].name!r} has the category {int(distances[outside][0])}, but GraphormerBias was "
                f"built for categories={self.categories}, 0 to {self.categories - 1}; change one of the two"
            )
        first_row = self.categories * torch.arange(distances.size(1), device=distances.device)
        bias = self.distance(distances + first_row)
        return bias if self.path is None else bias + self.path(data, layout, paths[0])


def _check_edge_categories(categories: object) -> None:
    if isinstance(categories, str) or not isinstance(categories, Sequence):
        raise ValueError(
            f"edge_categories is {categories!r}; it must be a list of integers, one per column of edge_attr, such as "
            "(5, 6, 2)"
        )
    for number in categories:
        check_positive(edge_categories=number)


class _PathBias(nn.Module):
    """The mean over the edges of a path of what each adds at its position.

    Args:
        features: The features of edges.
        hidden_channels: Width of their embedding.
        out_channels: Width of the output.
        max_distance: Number of edges of a path.
        field: Name of the field of paths, for error messages.
    """

    def __init__(
        self,
        features: Features,
        hidden_channels: int,
        out_channels: int,
        max_distance: int,
        field: str,
    ) -> None:
        super().__init__()
        self.edge_embedding = FeatureEmbedding(features, hidden_channels, "edge")
        # The maps of all positions, one after the other.
        self.positions = nn.Linear(hidden_channels, max_distance * out_channels, bias=False)
        self.max_distance = max_distance
        self.field = field

    def forward(self, data: Data, layout: GraphLayout, paths: Tensor) -> Tensor:
        """Averages along the paths ``[P, max_distance]``; ``[P, out_channels]``."""
        edges = self._edges_of_batch(data, layout, paths)
        embedded = self.positions(self.edge_embedding(data))
        # One row per edge and position, and one of padding; in float32 in mixed precision, in which a bag has no
        # gradient.
        rows = embedded.unflatten(1, (self.max_distance, -1)).flatten(0, 1)
        rows = rows.to(self.positions.weight.dtype)
        padding = len(rows)
        position = torch.arange(self.max_distance, device=paths.device)
        chosen = torch.where(edges < 0, padding, edges * self.max_distance + position)
        rows = torch.cat([rows, rows.new_zeros(1, rows.size(1))])
        return nn.functional.embedding_bag(chosen, rows, mode="mean", padding_idx=padding)

    def _edges_of_batch(self, data: Data, layout: GraphLayout, paths: Tensor) -> Tensor:
        """From positions in the edge list of a graph to those in the list of the batch; −1 stays."""
        edge_index = read_edges(data, layout)
        graph = layout.batch[edge_index[0]]
        if bool((graph.diff() < 0).any()):
            raise ValueError(
                f"the edges of a graph do not lie together in 'edge_index', so {self.field!r} doesn't tell which they "
                "are; keep 'edge_index' as torch_geometric.data.Batch makes it"
            )
        counts = torch.bincount(graph, minlength=layout.num_graphs)
        graph_of_pair = torch.repeat_interleave(layout.sizes.square())
        outside = (paths < -1) | (paths >= counts[graph_of_pair, None])
        if bool(outside.any()):
            row, column = outside.nonzero()[0].tolist()
            number = int(graph_of_pair[row])
            raise ValueError(
                f"{self.field!r} has the edge {int(paths[row, column])} in graph {number}, which has "
                f"{int(counts[number])} edges; encode the graphs after their edges have been changed"
            )
        first = offsets_of(counts)[graph_of_pair, None]
        edges = torch.where(paths < 0, -1, paths + first)
        is_walk = _are_walks(edges, edge_index, layout)
        if not bool(is_walk.all()):
            number = int(graph_of_pair[(~is_walk).nonzero()[0, 0]])
            raise ValueError(
                f"the edges that {self.field!r} has in graph {number} are no paths between its nodes; encode the "
                "graphs after their edges have been changed"
            )
        return edges


def _are_walks(edges: Tensor, edge_index: Tensor, layout: GraphLayout) -> Tensor:
    """Whether edges ``[P, m]``, −1 behind the last, lead from node to node of each pair; ``[P]``.

    A list of m edges may end anywhere, as the first part of a path.
    """
    pairs = node_pairs(layout)
    # Edge -1 is the last of the list, which leads nowhere.
    source, target = nn.functional.pad(edge_index, (0, 1), value=-1)
    reached = torch.cat([pairs.source[:, None], target[edges]], dim=1)
    is_step = edges >= 0
    is_wrong = is_step & (source[edges] != reached[:, :-1])
    is_end = is_step[:, :-1] & ~is_step[:, 1:]
    is_wrong[:, :-1] |= is_end & (reached[:, 1:-1] != pairs.target[:, None])
    return ~is_wrong.any(1)
