"""Datasets of the Open Graph Benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from graphpe.data.downloaded.ogb import OGBGraphs
from graphpe.data.sources.base import GraphSource, SplitGraphs
from graphpe.data.subtokens import MOST_WORDS, SubtokenVocabulary

# OGB's example counts deeper nodes of a syntax tree as of this depth.
_LARGEST_DEPTH = 20


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


def _number_words(graphs: OGBGraphs, train: Tensor) -> None:
    """Makes the targets and depths of ogbg-code2 what `OGBSource` says."""
    data = graphs._data
    names = data.y
    training_names = (names[number] for number in train.tolist())
    data.y = SubtokenVocabulary.of(training_names, MOST_WORDS).encode(names)
    data.node_depth.clamp_(max=_LARGEST_DEPTH)
