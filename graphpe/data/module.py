"""`GraphDataModule`: a dataset, its encodings and its batches, for Lightning."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from lightning.pytorch import LightningDataModule

from graphpe.checks import require_boolean, require_positive_integer, require_seed
from graphpe.data.feature_check import check_features
from graphpe.data.loading import (
    GraphBatches,
    GraphBatchSampler,
    GraphLoader,
    loader_in_order,
    loader_of,
)
from graphpe.data.sources import GraphSource, Part
from graphpe.data.storage import require_alike
from graphpe.fields import Field
from graphpe.precompute import encode
from graphpe.tasks import Features
from graphpe.transforms import Encoding
from graphpe.transforms.core.attach import written_fields
from graphpe.transforms.core.base import checked_encodings

_PARTS = ("train", "valid", "test")


class GraphDataModule(LightningDataModule):
    """Loads a dataset, encodes it once as a whole, and serves its parts in batches.

    Batches are those of PyG's loader, put together from collated storage where that can be done (`GraphBatches`).

    Under DDP each process loads and encodes the same graphs. In training each graph is in one batch of one process per
    epoch, and all processes have equally many batches, however the numbers divide (`GraphBatchSampler`, whatever
    ``Trainer(use_distributed_sampler=...)`` says). For evaluation Lightning gives each process its share.

    Args:
        dataset: Where the graphs come from.
        encodings: What to attach to the graphs.
        batch_size: Graphs per batch (per process). The last batch is smaller where the numbers don't divide.
        num_workers: Processes that make batches; 0 makes them in the main process.
        seed: Of the order in which graphs are trained on. Each epoch has an order of its own, the same on resuming.
        features: The input features that the network expects. The data are checked against them.
        bucket_by_size: Train on batches of graphs with similar numbers of nodes, so that attention pads little: less
            than 20 % of the nodes, were all graphs padded to the largest of their batch. Some batches are smaller then.
        cache_dir: Folder in which encodings are kept, and found by the next run; see `graphpe.encode`. Under DDP one
            process of each machine fills it, and all read from it. None: they are not kept.

    Attributes:
        fields: The fields of the graphs, by name: those that the encodings write and, where the graphs have been
            encoded before, those that they come with. A source that loads encoded graphs has these after `setup`.
        parts: After `setup`: the encoded graphs of ``"train"``, ``"valid"`` and ``"test"``.
        num_graphs: After `setup`: the number of graphs of each part.
        num_loaded_graphs: After `setup`: the number of graphs that the source gave. Those of one graph whose nodes are
            divided into parts are one, and some may be in no part.
        encodes_batches: Whether each batch is encoded when it is made: where ``dataset.encodes_batches``, and there is
            no cache.
        encoding_seconds: After `setup`: how long encoding took, or reading what the cache has; 0 where each batch is
            encoded.

    Raises:
        TypeError: If ``dataset`` or ``encodings`` is of another kind.
        ValueError: If a setting is out of range, two encodings write the same field, or (in `setup`) the data can't be
            loaded, can't be encoded, aren't alike, or aren't as ``features`` says.
    """

    def __init__(
        self,
        dataset: GraphSource,
        encodings: list[Encoding] | None = None,
        batch_size: int = 128,
        num_workers: int = 0,
        seed: int = 0,
        features: Features | None = None,
        bucket_by_size: bool = False,
        cache_dir: str | Path | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(dataset, GraphSource):
            raise TypeError(
                f"dataset is a {type(dataset).__name__}; it must be a GraphSource, such as OGBSource('ogbg-molhiv'), "
                "or InMemorySource(train, valid, test) for graphs of your own"
            )
        require_positive_integer("batch_size", batch_size)
        if num_workers < 0:
            raise ValueError(f"num_workers is {num_workers}; it must be 0 or more")
        require_seed("seed", seed)
        require_boolean("bucket_by_size", bucket_by_size)
        self.dataset = dataset
        self.encodings = checked_encodings([] if encodings is None else encodings)
        self.batch_size = batch_size
        self.num_workers = num_workers
        self.seed = seed
        self.features = features
        self.bucket_by_size = bucket_by_size
        self.cache_dir = cache_dir
        self.encodes_batches = dataset.encodes_batches and cache_dir is None
        self.fields: dict[str, Field] = {**dataset.fields, **written_fields(self.encodings)}
        self.parts: dict[str, Part] = {}
        self.num_graphs: dict[str, int] = {}
        self.num_loaded_graphs = 0
        self._batches: dict[str, GraphBatches] = {}
        self.encoding_seconds = 0.0

    def prepare_data(self) -> None:
        """Downloads and processes, and fills the cache; Lightning calls it in one process per machine."""
        self.dataset.prepare()
        if self.cache_dir is not None:
            # The other processes, which wait for this one, then find all in the cache; and what is wrong with the data
            # is said in each of them by `setup`, so that none waits for one that has ended.
            with suppress(ValueError, TypeError):
                self.setup()

    def setup(self, stage: str | None = None) -> None:
        """Loads and encodes the graphs, the first time it is called.

        Args:
            stage: Lightning's stage; all parts are there for each.
        """
        if self.parts:
            return
        graphs, index = self.dataset.load()
        absent = [part for part in _PARTS if part not in index]
        if absent:
            raise ValueError(
                f"{type(self.dataset).__name__}.load gives no split index for {absent[0]!r}; it must give train, valid "
                "and test"
            )
        self.num_loaded_graphs = len(graphs)
        if isinstance(graphs, list):
            require_alike(graphs)
        self.fields = {**getattr(graphs, "fields", {}), **self.fields}
        if self.features is not None:
            check_features(self.features, graphs)
        if self.encodings and not self.encodes_batches:
            start = time.perf_counter()
            is_main_process = self.trainer is None or self.trainer.is_global_zero
            graphs = encode(
                graphs, self.encodings, cache_dir=self.cache_dir, progress=is_main_process
            )
            self.encoding_seconds = time.perf_counter() - start
        parts = {part: self.dataset.part(graphs, index, part) for part in _PARTS}
        in_batches = self.encodings if self.encodes_batches else []
        storages: dict = {}  # of the parts that are parts of one list
        self._batches = {
            part: GraphBatches(graphs, in_batches, storages) for part, graphs in parts.items()
        }
        self.num_graphs = {part: len(graphs) for part, graphs in parts.items()}
        self.parts = parts

    def train_dataloader(self) -> GraphLoader:
        """Batches of the training graphs in a random order, which the seed and the epoch determine."""
        if self.trainer is not None and self.trainer.overfit_batches:
            return self.loader("train")  # the same few batches in each epoch
        graphs = self._part("train")
        # Which process this is; None where there is only one.
        place = None if self.trainer is None else self.trainer.distributed_sampler_kwargs
        sampler = GraphBatchSampler(
            len(graphs),
            self.batch_size,
            sizes=graphs.num_nodes() if self.bucket_by_size else None,
            seed=self.seed,
            **(place or {}),
        )
        return loader_of(graphs, sampler, self.num_workers)

    def val_dataloader(self) -> GraphLoader:
        """Batches of the validation graphs."""
        return self.loader("valid")

    def test_dataloader(self) -> GraphLoader:
        """Batches of the test graphs."""
        return self.loader("test")

    def predict_dataloader(self) -> GraphLoader:
        """Batches of the test graphs, in their order."""
        return self.loader("test")

    def loader(self, part: str) -> GraphLoader:
        """Batches of a part, ``"train"``, ``"valid"`` or ``"test"``, in the order of its graphs."""
        return loader_in_order(self._part(part), self.batch_size, self.num_workers)

    def _part(self, part: str) -> GraphBatches:
        if self.num_graphs.get(part) == 0:
            raise ValueError(f"the {part} part of {self.dataset} has no graphs; give at least one")
        return self._batches[part]
