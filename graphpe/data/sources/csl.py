"""Circular skip link graphs."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch_geometric.data import Data

from graphpe.data.equivalent_graphs import CSL_NODES, CSL_SKIPS, circular_skip_link
from graphpe.data.folds import check_fold, fold_split
from graphpe.data.sources.base import GraphSource, SplitGraphs

_COPIES = 15


@dataclass(frozen=True)
class CSLSource(GraphSource):
    """Circular skip link graphs, 15 with permuted nodes of each of 10, which message passing cannot tell apart.

    The graph CSL(41, s) is a cycle of 41 nodes with further edges from each node to the one s places on; the classes
    ``y [1]`` are the s of `CSL_SKIPS`. Nodes and edges have no features. Of 5 stratified folds, three train, one
    validates and one tests; see `fold_split`. The graphs are made from the seed, not downloaded.

    Args:
        fold: The fold to test on, from 0.
        folds: Number of folds.
        seed: Of the permutations and of the division into folds.

    Reference: Murphy et al., Relational Pooling for Graph Representations (ICML 2019); Dwivedi et al., Benchmarking
    Graph Neural Networks (JMLR 2023), for the folds.
    """

    fold: int = 0
    folds: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        check_fold(self.folds, self.fold, self.seed)

    def load(self) -> SplitGraphs:
        generator = torch.Generator().manual_seed(self.seed)
        classes = torch.arange(len(CSL_SKIPS)).repeat_interleave(_COPIES)
        graphs = [_permuted(CSL_SKIPS[c], c, generator) for c in classes.tolist()]
        return SplitGraphs(graphs, fold_split(classes, self.folds, self.fold, self.seed))


def _permuted(skip: int, number: int, generator: torch.Generator) -> Data:
    graph = circular_skip_link(CSL_NODES, skip)
    permutation = torch.randperm(CSL_NODES, generator=generator)
    edges = permutation[graph.edge_index]
    order = (edges[0] * CSL_NODES + edges[1]).argsort()
    return Data(edge_index=edges[:, order], y=torch.tensor([number]), num_nodes=CSL_NODES)
