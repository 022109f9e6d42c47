"""Where the graphs of a `GraphDataModule` come from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from torch_geometric.data import Data, Dataset

from graphpe.data.ogb import OGBGraphs
from graphpe.data.subtokens import MOST_WORDS, SubtokenVocabulary
from graphpe.data.zinc import ZINC
from graphpe.fields import Field

# OGB's example counts deeper nodes of a syntax tree as of this depth.
_LARGEST_DEPTH = 20


class SplitGraphs(NamedTuple):
    """Graphs and which of them are in which part.

    Args:
        graphs: All graphs: a PyG dataset or a list of ``Data``.
        index: The graph numbers of ``"train"``, ``"valid"`` and ``"test"``, int64.
    """

    graphs: Dataset | list[Data]
    index: Mapping[str, Tensor]


class GraphSource(ABC):
    """Settings from which a dataset can be loaded, in each process on its own.

    Subclass it to train on your own data: it needs `load`. A subclass can be named in a configuration file by
    ``class_path`` and ``init_args``.
    """

    @abstractmethod
    def load(self) -> SplitGraphs:
        """The graphs and their split."""

    def prepare(self) -> None:
        """Downloads and processes, so that `load` needs only to read; called once per machine."""
        self.load()

    @property
    def fields(self) -> dict[str, Field]:
        """The fields that the graphs come with, as far as known without loading them."""
        return {}


@dataclass(frozen=True)
class OGBSource(GraphSource):
    """A graph-level dataset of the Open Graph Benchmark with its official split; see `OGBGraphs`.

    The function names that ogbg-code2 asks for come as the targets of a ``"subtokens"`` task: ``y [1, words of the
    longest name]`` has the numbers that `SubtokenVocabulary` gives to the words, from the training names (words that
    these lack are numbered from 1,000,000 on). Depths in ``node_depth`` above 20 are 20, as in OGB's example.

    Args:
        name: OGB's name, e.g. ``"ogbg-molhiv"``.
        root: Folder that holds the dataset's folder; downloaded into it if absent.
    """

    name: str
    root: Path = Path("data/ogb")

    def load(self) -> SplitGraphs:
        graphs = OGBGraphs(self.name, self.root)
        index = graphs.get_idx_split()
        if graphs.task_type == "subtoken prediction":
            _number_words(graphs, index["train"])
        return SplitGraphs(graphs, index)


@dataclass(frozen=True)
class ZINCSource(GraphSource):
    """The ZINC molecules with their official split; see `ZINC`.

    Args:
        root: Folder with ``raw/``; downloaded into it if absent.
        subset: The 12,000 molecules of the benchmark instead of all 249,456.
    """

    root: Path = Path("data/zinc")
    subset: bool = True

    def load(self) -> SplitGraphs:
        graphs = ZINC(self.root, self.subset)
        return SplitGraphs(graphs, graphs.get_idx_split())


@dataclass(frozen=True, eq=False)
class InMemorySource(GraphSource):
    """Graphs that the program already has: three lists of ``Data``, or three PyG datasets.

    They may be parts of what `graphpe.encode` returns; the fields that all parts have are known then.

    Args:
        train: Graphs to train on.
        valid: Graphs that choose the checkpoint.
        test: Graphs of the reported result.

    Raises:
        TypeError: If a part is not a sequence of graphs.
    """

    train: Sequence[Data] = field(repr=False)
    valid: Sequence[Data] = field(repr=False)
    test: Sequence[Data] = field(repr=False)

    def __post_init__(self) -> None:
        for name, part in self._parts().items():
            is_sequence = hasattr(part, "__len__") and hasattr(part, "__getitem__")
            if isinstance(part, Data) or not is_sequence:
                raise TypeError(
                    f"{name} is a {type(part).__name__}; it must be a list of Data or a PyG dataset, such as "
                    "list(graphs), [data] or batch.to_data_list()"
                )

    def load(self) -> SplitGraphs:
        parts = self._parts()
        graphs = [graph for part in parts.values() for graph in part]
        numbers = torch.arange(len(graphs)).split([len(part) for part in parts.values()])
        return SplitGraphs(graphs, dict(zip(parts, numbers, strict=True)))

    def prepare(self) -> None:
        pass

    @property
    def fields(self) -> dict[str, Field]:
        declared = [getattr(part, "fields", {}) for part in self._parts().values() if len(part)]
        first, *others = declared or [{}]
        return {
            name: field
            for name, field in first.items()
            if all(fields.get(name) == field for fields in others)
        }

    def _parts(self) -> dict[str, Sequence[Data]]:
        return {"train": self.train, "valid": self.valid, "test": self.test}


def _number_words(graphs: OGBGraphs, train: Tensor) -> None:
    """Makes the targets and depths of ogbg-code2 what `OGBSource` says."""
    data = graphs._data
    names = data.y
    training_names = (names[number] for number in train.tolist())
    data.y = SubtokenVocabulary.of(training_names, MOST_WORDS).encode(names)
    data.node_depth.clamp_(max=_LARGEST_DEPTH)
