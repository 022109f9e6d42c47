"""In which batches, and by which process, graphs are trained on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DistributedSampler

from graphpe.checks import require_positive_integer

# The most of the padded nodes of an epoch that may be padding.
_MOST_PADDING = 0.2
# The same for a bucket. It is less, so that some buckets may be wider than that to have enough graphs.
_BUCKET_PADDING = 0.15


class GraphBatchSampler(DistributedSampler):
    """Random batches of graph numbers, each graph once per epoch, shared out among processes.

    A *global batch* is what all processes train on in one step. Every process draws the same global batches from the
    seed and the epoch, and takes every W-th graph of each, W being the number of processes. So no graph is repeated
    or left out, and all have equally many batches: none waits for the others at the end. For that each global batch
    has at least W graphs: a shorter rest gets some from the batch before. Where a global batch doesn't divide by W,
    some processes have one graph more than others in it. (DDP weights the processes alike all the same.)

    Without sizes, global batches have ``W * batch_size`` graphs, and the last one the rest. With sizes, the graphs are
    divided into *buckets* of similar size, and a batch is from one bucket: padding all graphs of a batch to its largest
    makes less than 20 % of the nodes of an epoch padding. The graphs of a bucket make batches of equal size (at most
    one graph more or less), smaller than ``batch_size`` where they don't divide. A bucket that would have less than
    half a batch takes in smaller graphs, as far as the 20 % allow. The batches of all buckets come in random order.

    The order depends on the seed and the epoch only. Without `set_epoch`, which Lightning calls, each pass is the next
    epoch. It counts as a ``DistributedSampler``, so that Lightning doesn't put one of its own in its place; give it to
    a loader as ``sampler`` with ``batch_size=None``.

    Args:
        num_graphs: Number of graphs.
        batch_size: Graphs per batch of a process. Batches are larger only if it is 1 and the graphs, or those of
            a bucket, don't divide by W.
        sizes: ``[num_graphs]`` nodes of each graph; None for batches of all sizes.
        seed: Of the order.
        num_replicas: W, the number of processes.
        rank: Which of them this is.

    Raises:
        ValueError: If there are fewer graphs than processes.
    """

    def __init__(
        self,
        num_graphs: int,
        batch_size: int,
        sizes: Tensor | None = None,
        seed: int = 0,
        num_replicas: int = 1,
        rank: int = 0,
    ) -> None:
        super().__init__(range(num_graphs), num_replicas, rank, shuffle=True, seed=seed)
        require_positive_integer("batch_size", batch_size)
        if num_graphs < num_replicas:
            raise ValueError(
                f"there are {num_graphs} graphs for {num_replicas} processes, but each needs one to train on; train "
                f"with at most {num_graphs} devices"
            )
        self.sizes = sizes
        full = batch_size * num_replicas
        if sizes is None:
            self._counts = [_full_batches(num_graphs, full, num_replicas)]
        else:
            buckets = bucket_counts(sizes, full // 2, num_replicas)
            self._counts = [_level_batches(count, full, num_replicas) for count in buckets]

    def __len__(self) -> int:
        return sum(map(len, self._counts))

    def __iter__(self) -> Iterator[list[int]]:
        batches = self._global_batches(self.epoch)
        self.epoch += 1
        for batch in batches:
            yield batch[self.rank :: self.num_replicas].tolist()

    def _global_batches(self, epoch: int) -> list[Tensor]:
        state = np.random.SeedSequence([self.seed, epoch]).generate_state(1, np.uint64)
        generator = torch.Generator().manual_seed(int(state[0]))
        graphs = torch.randperm(self.num_graphs, generator=generator)
        if self.sizes is None:
            return list(graphs.split(self._counts[0]))
        # Graphs of one size stay in random order.
        graphs = graphs[self.sizes[graphs].argsort(stable=True, descending=True)]
        batches: list[Tensor] = []
        for bucket, counts in zip(
            graphs.split(list(map(sum, self._counts))), self._counts, strict=True
        ):
            batches += bucket[torch.randperm(len(bucket), generator=generator)].split(counts)
        return [batches[number] for number in torch.randperm(len(batches), generator=generator)]

    @property
    def num_graphs(self) -> int:
        """Number of graphs of all processes."""
        return len(self.dataset)


def bucket_counts(sizes: Tensor, wanted: int, least: int) -> list[int]:
    """How many graphs are in each bucket, from the bucket of the largest graphs on.

    Args:
        sizes: ``[graphs]``
        wanted: The graphs that a bucket should have, unless that makes for too much padding.
        least: The graphs that a bucket must have.
    """
    ordered = sizes.sort(descending=True).values.double()
    while True:
        wanted = max(wanted, least)
        starts = _bucket_starts(ordered, wanted)
        counts = torch.tensor([*starts, len(ordered)]).diff()
        padded = float((ordered[starts] * counts).sum())
        if wanted == least or float(ordered.sum()) > (1 - _MOST_PADDING) * padded:
            return counts.tolist()
        wanted //= 2


def _bucket_starts(ordered: Tensor, least: int) -> list[int]:
    """Where buckets of at least so many graphs start."""
    total = torch.cat([ordered.new_zeros(1), ordered.cumsum(0)])
    starts, start = [], 0
    while start < len(ordered):
        starts.append(start)
        # The mean falls with each further graph.
        counts = torch.arange(1, len(ordered) - start + 1)
        real = total[start + 1 :] - total[start]
        fits = real >= (1 - _BUCKET_PADDING) * counts * ordered[start]
        start += max(int(fits.sum()), least)
        if len(ordered) - start < least:
            break
    return starts


def _full_batches(count: int, full: int, least: int) -> list[int]:
    """Sizes of batches of ``full`` graphs and the rest, none smaller than ``least``."""
    counts = [full] * (count // full)
    rest = count % full
    if rest >= least or (rest and not counts):
        counts.append(rest)
    elif rest and counts[-1] + rest >= 2 * least:
        counts[-1:] = [counts[-1] + rest - least, least]
    elif rest:
        counts[-1] += rest
    return counts


def _level_batches(count: int, full: int, least: int) -> list[int]:
    """Sizes of batches of at most ``full`` graphs that differ by one at most, none smaller than ``least``."""
    number = max(1, min(-(-count // full), count // least))
    return [count // number + (place < count % number) for place in range(number)]
