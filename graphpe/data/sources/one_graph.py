"""Node classification on graphs of citations, web pages and workers, as PyG has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.transforms import NormalizeFeatures
from torch_geometric.utils import to_undirected

from graphpe.checks import require_choice
from graphpe.data.downloaded.one_graph import (
    DirectedCitations,
    HeterophilousGraph,
    OneGraph,
    Planetoid,
    WebKB,
    WikipediaNetwork,
)
from graphpe.data.sources.base import SplitGraphs
from graphpe.data.sources.nodes import NodeSource

# Of the splits that Geom-GCN and the heterophilous graphs come with.
_NUM_SPLITS = 10


@dataclass(frozen=True)
class PlanetoidSource(NodeSource):
    """The citation graphs Cora, CiteSeer and PubMed with their public split; undirected.

    Args:
        name: ``"Cora"``, ``"CiteSeer"`` or ``"PubMed"``.
        root: Folder that holds the dataset's folder; downloaded into it if absent.
        normalize_features: Divide the features of each node by their sum, as PyG's ``NormalizeFeatures`` does.
        feature_dropout: See `NodeSource`.

    Reference: Yang et al., Revisiting Semi-Supervised Learning with Graph Embeddings (ICML 2016).
    """

    name: str
    root: Path = Path("data/planetoid")
    normalize_features: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("name", self.name, Planetoid.names)

    def load(self) -> SplitGraphs:
        dataset = Planetoid(self.root, self.name)
        return _split(dataset, _masks(dataset), self.normalize_features)


@dataclass(frozen=True)
class WebKBSource(NodeSource):
    """Web pages of a computer science department and the links between them, with a split of Geom-GCN.

    Args:
        name: ``"texas"``, ``"wisconsin"`` or ``"cornell"``.
        root: Folder that holds the dataset's folder; downloaded into it if absent.
        split: Number of the split, 0 to 9. Published results are means over all ten.
        undirected: Add the reverse of each link.
        normalize_features: Divide the features of each node by their sum, as PyG's ``NormalizeFeatures`` does.
        feature_dropout: See `NodeSource`.

    Reference: Pei et al., Geom-GCN: Geometric Graph Convolutional Networks (ICLR 2020).
    """

    name: str
    root: Path = Path("data/webkb")
    split: int = 0
    undirected: bool = False
    normalize_features: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("name", self.name, WebKB.names)
        _require_split(self.split)

    def load(self) -> SplitGraphs:
        dataset = WebKB(self.root, self.name)
        return _split(
            dataset, _masks(dataset, self.split), self.normalize_features, self.undirected
        )


@dataclass(frozen=True)
class WikipediaSource(NodeSource):
    """Pages of Wikipedia on a topic and the links between them, in five classes of traffic, with a split of Geom-GCN.

    Both graphs hold duplicate nodes (Platonov et al., ICLR 2023), of which some are in the training and the test part.

    Args:
        name: ``"chameleon"`` or ``"squirrel"``.
        root: Folder that holds the dataset's folder; downloaded into it if absent.
        split: Number of the split, 0 to 9. Published results are means over all ten.
        undirected: Add the reverse of each link.
        normalize_features: Divide the features of each node by their sum, as PyG's ``NormalizeFeatures`` does.
        feature_dropout: See `NodeSource`.

    Reference: Pei et al., Geom-GCN: Geometric Graph Convolutional Networks (ICLR 2020).
    """

    name: str
    root: Path = Path("data/wikipedia")
    split: int = 0
    undirected: bool = False
    normalize_features: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("name", self.name, WikipediaNetwork.names)
        _require_split(self.split)

    def load(self) -> SplitGraphs:
        dataset = WikipediaNetwork(self.root, self.name)
        return _split(
            dataset, _masks(dataset, self.split), self.normalize_features, self.undirected
        )


@dataclass(frozen=True)
class HeterophilousSource(NodeSource):
    """Graphs in which neighbours are often of different classes, without duplicates, with one of their splits.

    Args:
        name: ``"tolokers"`` or ``"minesweeper"``.
        root: Folder that holds the dataset's folder; downloaded into it if absent.
        split: Number of the split, 0 to 9. Published results are means over all ten.
        feature_dropout: See `NodeSource`.

    Reference: Platonov et al., A Critical Look at the Evaluation of GNNs under Heterophily: Are We Really Making
    Progress? (ICLR 2023).
    """

    name: str
    root: Path = Path("data/heterophilous")
    split: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("name", self.name, HeterophilousGraph.names)
        _require_split(self.split)

    def load(self) -> SplitGraphs:
        dataset = HeterophilousGraph(self.root, self.name)
        return _split(dataset, _masks(dataset, self.split))


@dataclass(frozen=True)
class DirectedCitationSource(NodeSource):
    """The citation graphs Cora_ML and CiteSeer with directed edges: 20 random nodes of each class, 500, and the rest.

    These are the numbers that papers on directed graphs use. Their nodes are drawn anew here, from ``seed``.

    Args:
        name: ``"Cora_ML"`` or ``"CiteSeer"``.
        root: Folder that holds the dataset's folder; downloaded into it if absent.
        seed: Of the split.
        normalize_features: Divide the features of each node by their sum, as PyG's ``NormalizeFeatures`` does.
        feature_dropout: See `NodeSource`.

    Reference: Bojchevski and Günnemann, Deep Gaussian Embedding of Graphs (ICLR 2018).
    """

    name: str
    root: Path = Path("data/directed")
    seed: int = 0
    normalize_features: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("name", self.name, DirectedCitations.names)

    def load(self) -> SplitGraphs:
        dataset = DirectedCitations(self.root, self.name)
        masks = _random_masks(dataset.y, self.seed)
        return _split(dataset, masks, self.normalize_features)


def _split(
    dataset: OneGraph,
    masks: Mapping[str, Tensor],
    normalize_features: bool = False,
    undirected: bool = False,
) -> SplitGraphs:
    data = dataset[0]
    edges = (
        to_undirected(data.edge_index, num_nodes=data.num_nodes) if undirected else data.edge_index
    )
    graph = Data(x=data.x, edge_index=edges, y=data.y)  # and not the masks
    if normalize_features:
        graph = NormalizeFeatures()(graph)
    return SplitGraphs([graph], {part: mask.nonzero()[:, 0] for part, mask in masks.items()})


def _masks(dataset: OneGraph, split: int | None = None) -> dict[str, Tensor]:
    """The nodes of each part: of the only split, or of one of several."""
    data = dataset[0]
    masks = {"train": data.train_mask, "valid": data.val_mask, "test": data.test_mask}
    return masks if split is None else {part: mask[:, split] for part, mask in masks.items()}


def _random_masks(classes: Tensor, seed: int) -> dict[str, Tensor]:
    """20 nodes of each class to train on, 500 that choose the checkpoint, and all others to test."""
    order = torch.randperm(len(classes), generator=torch.Generator().manual_seed(seed))
    is_train = torch.zeros(len(classes), dtype=torch.bool)
    for number in classes.unique():
        is_train[order[classes[order] == number][:20]] = True
    is_valid = torch.zeros_like(is_train)
    is_valid[order[~is_train[order]][:500]] = True
    return {"train": is_train, "valid": is_valid, "test": ~(is_train | is_valid)}


def _require_split(split: object) -> None:
    if isinstance(split, bool) or not isinstance(split, int) or not 0 <= split < _NUM_SPLITS:
        raise ValueError(f"split is {split!r}; it must be a number from 0 to {_NUM_SPLITS - 1}")
