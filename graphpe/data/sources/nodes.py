"""`NodeSource`: one graph, of whose nodes some are trained on, some choose the checkpoint and some are tested."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import combinations

import torch
from torch import Tensor
from torch.nn.functional import dropout
from torch_geometric.data import Data

from graphpe.checks import require_number
from graphpe.data.sources.base import GraphSource


@dataclass(frozen=True)
class NodeSource(GraphSource):
    """One graph whose nodes are divided into parts: a transductive task, with ``level: node``.

    Each part is the whole graph, and the parts share its memory: features, edges and encodings. They differ in ``y``,
    which is NaN for the nodes of other parts, so that loss and metrics leave these out and training never sees their
    labels.

    Subclass it for a graph of your own: `load` gives a list of one ``Data`` with ``y`` for all nodes (``[n]`` or
    ``[n, num_targets]``), and the numbers of the nodes of each part.

    Args:
        feature_dropout: Probability with which a feature of a node is zero in a step of training; the others are then
            larger by 1 / (1 - probability). With few labels it keeps networks from learning them by heart.

    Raises:
        ValueError: If a setting is out of range.
    """

    _: KW_ONLY
    feature_dropout: float = 0.0

    def __post_init__(self) -> None:
        require_number("feature_dropout", self.feature_dropout, 0.0, below=1.0)

    def part(
        self, graphs: Sequence[Data], index: Mapping[str, Tensor], name: str
    ) -> Sequence[Data]:
        (graph,) = graphs
        _check_split(type(self).__name__, graph, index)
        chosen = index[name]
        target = (
            graph.y.to(torch.get_default_dtype()) if not graph.y.is_floating_point() else graph.y
        )
        part = copy.copy(graph)
        part.y = torch.full_like(target, torch.nan)
        part.y[chosen] = target[chosen]
        if name == "train" and self.feature_dropout:
            return _DroppedFeatures(part, self.feature_dropout)
        return [part]


class _DroppedFeatures(Sequence[Data]):
    """One graph, some of whose features are zero, others each time."""

    def __init__(self, graph: Data, probability: float) -> None:
        x = graph.get("x")
        if not isinstance(x, Tensor) or not x.is_floating_point():
            got = "none" if x is None else str(x.dtype)
            raise ValueError(
                f"feature_dropout is {probability:g}, which needs float features of nodes, but the graph has {got}; "
                "set it to 0"
            )
        self.graph = graph
        self.probability = probability

    def __len__(self) -> int:
        return 1

    def __getitem__(self, number: int) -> Data:
        graph = copy.copy((self.graph,)[number])
        graph.x = dropout(graph.x, self.probability)
        return graph


def _check_split(source: str, graph: Data, index: Mapping[str, Tensor]) -> None:
    n = graph.num_nodes
    if not isinstance(graph.get("y"), Tensor) or len(graph.y) != n:
        got = f"has {len(graph.y)} rows" if isinstance(graph.get("y"), Tensor) else "is no tensor"
        raise ValueError(
            f"{source}: `y` of the graph {got}, but the graph has {n} nodes; give a row per node, NaN where the label "
            "is missing"
        )
    for part, nodes in index.items():
        if nodes.dtype != torch.long or nodes.dim() != 1:
            raise ValueError(
                f"{source}: the nodes of {part!r} are {nodes.dtype} {list(nodes.shape)}, but must be node numbers, "
                "int64 [nodes]; of a mask take mask.nonzero()[:, 0]"
            )
        if len(nodes) and not 0 <= int(nodes.min()) <= int(nodes.max()) < n:
            raise ValueError(
                f"{source}: the nodes of {part!r} have numbers from {int(nodes.min())} to {int(nodes.max())}, but the "
                f"graph has {n} nodes; split and graph are of different datasets"
            )
    for first, second in combinations(index, 2):
        shared = torch.isin(index[first], index[second])
        if shared.any():
            raise ValueError(
                f"{source}: node {int(index[first][shared][0])} is in both {first!r} and {second!r}; give each node to "
                "one part"
            )
